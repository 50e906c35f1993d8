/* Many configurations of one recorded job, each predicted: which would be best? */
#ifndef LUMOS_SWEEP_H
#define LUMOS_SWEEP_H

#include <lumos/error.h>
#include <lumos/job.h>
#include <stddef.h>

struct lumos_text;

/* `grid`: axes parted by blanks, each NAME=VALUE,VALUE..., such as "dp=8,16 pp=2,4 schedule=1f1b,zb-h1". A name is that
 * of an option of lumos-transform that takes one value: tp, cp, ep, pp, dp, vp, schedule, layers, micro-batches,
 * bucket-mb, overlap-gradients, distributed-optimizer, recompute, sequence-parallel, and the sizes hidden, ffn, heads,
 * kv-heads, head-dim, seq, micro-batch, vocab; or global-batch, the sequences of a step. Every combination is one,
 * but those that differ from another only in what a pipeline of one stage does not have, and interleaved schedules of
 * one chunk.
 *
 * What no axis names stays as recorded, with two exceptions. With `gpus` there are as many replicas as these GPUs hold,
 * unless dp is an axis. And the global batch stays: where another number of replicas or sequences of a micro-batch is
 * asked for, and micro-batches is not an axis, a replica does as many micro-batches as that takes.
 *
 * grid NULL or "auto": tensor-parallel, context-parallel and expert-parallel ranks by powers of two up to 8 where
 * several were recorded, stages by powers of two, schedules 1f1b, zb-h1 and interleaved with two chunks, sequences of a
 * micro-batch by factors of two up to twice the recorded ones where shapes were recorded. Axes behind "auto" are added,
 * or stand in the place of its own. */
struct lumos_sweep {
  const char *grid;
  int32_t gpus;         /* of every configuration; 0: as many as it takes */
  size_t processes;     /* that predict at a time; 0: one for each core */
  int32_t part, parts;  /* every parts-th configuration, from the part-th on (from 1); parts 0: all of them */
  bool all;             /* predict those, too, that cannot be the best */
  bool page;            /* a page, self-contained, in the place of lines */
  const char *hardware; /* as of struct lumos_simulation */
};

/* Before lumos_sweep: bring the job to stage transform, and find how wrong the model is about the recording. Without
 * this every configuration finds that again. Runs the engine once. */
bool lumos_sweep_begin(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Write a page, or one line of JSON for each configuration, behind a line that says what they are of: those that were
 * predicted first, the most tokens a second and GPU first (the shortest step, where tokens are not known), then those
 * that cannot be the best, then the others with why not. The least that a step takes is found first
 * (lumos_rebuild_least). What takes more than another one that fits does at the upper end of its range is not
 * predicted, unless `all`. Fields:
 *   type "sweep", format 1, grid, gpus?, part?, parts?, configurations (of all parts), predicted, skipped, refused
 *   type "configuration", place (from 1), number (in the grid, from 1), the axes by name (blanks and dashes of names
 *     become _), gpus, global_batch?, step_time, low?, high? (ns, 90 %), tokens_per_second_per_gpu?, at_least? (ns: of
 *     a step; not with `all`, nor of grids of two), tokens_per_second_per_gpu_at_most? (with that), mfu? (a share), bubble? (a share of the step), memory?
 *     and memory_capacity? (bytes: of the rank that needs most of its GPU's; footprint.h), fits (whether the one is
 *     within the other; such that do not fit come behind all that do), could_be_best (its range reaches that of the
 *     first)
 *   type "skipped", number, the axes, at_least, tokens_per_second_per_gpu_at_most?
 *   type "refused", number, the axes, why, at_least?, tokens_per_second_per_gpu_at_most?
 * The job, at stage graph or later, is not changed: each configuration is predicted by a process of its own, so what
 * one needs is gone with it. Bytes do not depend on how many there are at a time. LUMOS_UNUSABLE for a bad grid, and
 * where nothing can be predicted. */
bool lumos_sweep(const struct lumos_job *job, const struct lumos_sweep *sweep, struct lumos_text *out,
                 struct lumos_error *error) LUMOS_MUST_CHECK;

/* The lines, or the page, of a sweep whose parts were written to these files (none: standard input, parts one behind
 * the other): the bytes that lumos_sweep would write of the whole. Of `sweep` only `page` is read. LUMOS_UNUSABLE where
 * a configuration is missing or there twice, or a file is none of these. */
bool lumos_sweep_join(const char *const *paths, size_t count, const struct lumos_sweep *sweep, struct lumos_text *out,
                      struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
