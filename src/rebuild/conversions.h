/* Weights that a forward pass converts to numbers of two bytes, as autocast does. The distributed optimizer of
 * Megatron-LM keeps them so: each replica converts its share behind the update, and all gather what comes of it. */
#ifndef LUMOS_REBUILD_CONVERSIONS_H
#define LUMOS_REBUILD_CONVERSIONS_H

#include <lumos/job.h>

struct rebuild_conversions {
  double pace;          /* ns that an element takes; 0: there are none */
  lumos_string_id name; /* of such a kernel */
};

/* Take them out of a job that is built of blocks of `from`, with their ops. O(tasks + spans). */
struct rebuild_conversions rebuild_strip_conversions(struct lumos_job *built, const struct lumos_job *from);

/* Where `from` shows one micro-batch and `built` has more: does each one convert weights, as where every forward pass
 * enters an autocast of its own, or the first one alone, as in one autocast around all? It is built so that each does;
 * here what the later ones take becomes doubtful, and a note says so. O(tasks + spans). */
void rebuild_doubt_conversions(struct lumos_job *built, const struct lumos_job *from);

#endif
