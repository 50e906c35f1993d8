/* The job written anew: what a training job would do in another configuration, out of blocks of what was recorded. */
#ifndef LUMOS_REBUILD_H
#define LUMOS_REBUILD_H

#include <lumos/error.h>
#include <lumos/job.h>

enum { LUMOS_MOST_STAGES = 1024 };
/* In which order a stage of a pipeline does its passes. */
enum lumos_schedule {
  LUMOS_1F1B = 1,    /* forward and backward in turn */
  LUMOS_GPIPE,       /* all forward, then all backward */
  LUMOS_INTERLEAVED, /* forward and backward in turn, over several chunks of layers a stage */
  LUMOS_ZB_H1        /* 1F1B with the gradients of weights put off: stage s by s micro-batches */
};

/* Which activations the backward pass computes again: all of a layer but its input, none, or those within core
 * attention, whose inputs are kept. */
enum lumos_recompute { LUMOS_RECOMPUTE_FULL = 1, LUMOS_RECOMPUTE_NONE, LUMOS_RECOMPUTE_SELECTIVE };

enum lumos_switch { LUMOS_SWITCH_ON = 1, LUMOS_SWITCH_OFF };

/* 0: as recorded. */
struct lumos_rebuild {
  int32_t layers;        /* of the model */
  int32_t micro_batches; /* of a replica, in a step */
  int32_t stages;        /* of the pipeline */
  int32_t chunks;        /* of layers on each stage */
  int32_t replicas;
  int32_t shards;   /* tensor-parallel ranks */
  int32_t contexts; /* context-parallel ranks, each of which has a part of every sequence */
  int32_t experts;  /* expert-parallel ranks: ranks of a stage that share the experts of each layer */
  enum lumos_switch sequence_parallel; /* between the halves of layers each of them has a part of the sequence */
  int32_t bucket_mb;                   /* of gradients that replicas reduce at once, in 10^6 bytes */
  enum lumos_switch
      overlap_gradients; /* a bucket is reduced as soon as it is full; off: after the last backward pass */
  enum lumos_switch distributed_optimizer; /* each replica updates its share of the parameters, and all gather them */
  enum lumos_schedule schedule;
  enum lumos_recompute recompute;
  const char *learn_from; /* a selector (transform.h): templates are made of blocks whose tasks on threads it takes all;
                             NULL: of all */
  int32_t split_count;    /* 0: layers are spread evenly */
  int32_t split[LUMOS_MOST_STAGES]; /* else the layers of each stage, or of each chunk in the order of the model */
};

/* Take one thing that is asked for, by the name of the option of lumos-transform: "rebuild" (nothing, argument NULL),
 * "layers", "micro-batches", "pp", "vp", "dp", "tp", "cp", "ep", "bucket-mb" (numbers), "schedule" ("1f1b", "gpipe",
 * "interleaved", "zb-h1"), "recompute" ("full", "selective", "none"), "split" (numbers joined by commas),
 * "overlap-gradients", "distributed-optimizer", "sequence-parallel" ("on", "off"), "learn-from" (a selector, which is
 * kept by reference). False where the argument is none of these. */
bool lumos_rebuild_ask(struct lumos_rebuild *asked, const char *name, const char *argument,
                       struct lumos_error *error) LUMOS_MUST_CHECK;

/* Write a job anew, as `asked` says: one with measured starts, or one that was changed, of what is simulated of it.
 * What that leaves open stays as it was recorded: so does the number of micro-batches of a replica when the number of
 * replicas or stages changes. All open: the recorded configuration.
 *
 * The job is then at stage transform, edited, and without measured starts; what was measured stays beside it as
 * metrics, with rebuild_error: how far the recorded configuration, when it was first built in the same way, is from
 * what was measured. It has as many steps as were recorded, three where that is one; the first one only settles. Of
 * replicas that would do the same one is built and represents the others (lumos_rank_weight). A note transform.rebuilt
 * says what it was built from.
 *
 * LUMOS_UNUSABLE, with what to do, where the recording lacks what that needs. Runs the engine up to six times.
 * O(tasks built x log tasks). */
bool lumos_rebuild(struct lumos_job *job, const struct lumos_rebuild *asked,
                   struct lumos_error *error) LUMOS_MUST_CHECK;

/* What rebuilds of one job begin with, found once: the sizes of its tasks, its blocks, how far the recorded
 * configuration is off, and what its kernels lose to communication. It is for processes that each have a copy of the
 * job at the same address, as after fork, and each rebuild it once, as one of asked[0..count) says. These all ask for
 * the same shards, contexts, experts and sequence_parallel, and all or none for several stages where one was recorded;
 * their learn_from is NULL. The job, at stage graph or later, has those sizes then, and is for lumos_rebuild_from
 * alone. NULL, and the job as it was: count is 0, or nothing says which passes its steps are, as of an inference. What
 * fails here lumos_rebuild_from reports. The caller frees it. Runs the engine up to ten times. */
struct lumos_rebuild_base;
struct lumos_rebuild_base *lumos_rebuild_prepare(struct lumos_job *job, const struct lumos_rebuild *asked,
                                                 size_t count);
void lumos_rebuild_base_free(struct lumos_rebuild_base *base); /* NULL is allowed */

/* As lumos_rebuild, to the same bytes, but what `base` holds is not found again. NULL: nothing was prepared. After a
 * rebuild nothing of the base is used. */
bool lumos_rebuild_from(const struct lumos_rebuild_base *base, struct lumos_job *job, const struct lumos_rebuild *asked,
                        struct lumos_error *error) LUMOS_MUST_CHECK;

/* least[i]: the least that a step of what asked[i] asks for can take, in ns; LUMOS_ABSENT: not known, as where it
 * cannot be built, or is the recorded configuration. What lumos_rebuild makes of it takes no less when it is simulated:
 * that is what a GPU computes, and waits for others of its pipeline, with no communication, or for how long a thread
 * launches that; of the GPU or thread that takes longest. All ask for the same as in
 * lumos_rebuild_prepare. The job, which must be one that was not rebuilt, is spoilt. Runs the engine up to three times.
 * O(count x blocks planned + tasks log tasks). */
void lumos_rebuild_least(struct lumos_job *job, const struct lumos_rebuild *asked, size_t count, int64_t *least);

#endif
