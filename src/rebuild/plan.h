/* A plan: what every rank of a job that is to be built does, in order, block by block. */
#ifndef LUMOS_REBUILD_PLAN_H
#define LUMOS_REBUILD_PLAN_H

#include "rebuild/schedule.h"
#include "rebuild/templates.h"

struct rebuild_item {
  uint32_t like;                    /* a recorded block */
  uint32_t turns;                   /* which of its template is drawn: rebuild_draw */
  int32_t step, micro_batch, layer; /* of what is built */
  int32_t chunk;                    /* of the layers of its stage */
  uint8_t phase;                    /* of what is built: weights' gradients may be put off, or no longer */
  uint8_t exchange; /* what it sends and receives in its place: enum rebuild_transfer, added up; 0: nothing */
  int32_t kernels,
      transfers;   /* how long kernels take, and how much replicas tell each other or clear, in millionths; 0: as
                     recorded */
  bool again;      /* a block of the forward pass, in the backward pass, */
  uint32_t thread; /* on this thread: a recorded lane */
  int32_t slower;  /* by how much longer all but communication takes, in millionths */
};
LUMOS_VECTOR_TYPE(rebuild_items, struct rebuild_item);

struct rebuild_rank {
  uint32_t like;            /* a recorded rank: its lanes, its clock and all else that is said of ranks */
  int32_t number;           /* of what is built */
  int32_t represents;       /* ranks that do the same, itself included; 0: it alone */
  struct lumos_parallel at; /* its coordinates, in a configuration that was not recorded */
  struct rebuild_items items;
};

struct rebuild_plan {
  bool recorded;                        /* the configuration is the recorded one: who takes part in what is as it was */
  struct lumos_model_description model; /* else: what is trained, and how it is spread */
  struct rebuild_pipeline pipeline;     /* else: in which order */
  bool begins_as_recorded; /* with what was launched before the recording, and threads when they began in it */
  int32_t
      shares; /* how long kernels take that go through a replica's share of parameters, in millionths; 0: as recorded */
  double unsure; /* how unsure the slowest of all replicas is: a share of the step (slowest.h) */
  LUMOS_VECTOR(struct rebuild_rank) ranks;
};

/* Ranks that share each sequence; 1: each has whole ones. */
static inline int32_t rebuild_contexts_of(const struct lumos_parallel *sizes) { return sizes->cp > 0 ? sizes->cp : 1; }

/* Ranks with the same parameters but for experts, which sum their gradients; at least 1. */
static inline int32_t rebuild_copies_of(const struct lumos_parallel *sizes) {
  return (sizes->dp > 0 ? sizes->dp : 1) * rebuild_contexts_of(sizes);
}

static inline int32_t rebuild_stage_ranks(const struct lumos_parallel *sizes) {
  return (sizes->tp > 0 ? sizes->tp : 1) * rebuild_copies_of(sizes);
}

/* Ranks of a stage in a row that share the experts of layers; 1: each has all. */
static inline int32_t rebuild_experts_of(const struct lumos_parallel *sizes) {
  return sizes->ep > 0 && sizes->dp > 0 && rebuild_stage_ranks(sizes) % sizes->ep == 0 ? sizes->ep : 1;
}

/* Where a rank stands in its stage: along tensors, then contexts, then replicas. */
static inline int32_t rebuild_place_in_stage(const struct lumos_parallel *sizes, const struct lumos_parallel *at) {
  return (at->dp * rebuild_contexts_of(sizes) + (at->cp > 0 ? at->cp : 0)) * sizes->tp + at->tp;
}

/* The number of a rank: they rise along stages, as those of Megatron-LM do. */
static inline int32_t rebuild_number_at(const struct lumos_parallel *sizes, const struct lumos_parallel *at) {
  return at->pp * sizes->dp * rebuild_contexts_of(sizes) * sizes->tp + rebuild_place_in_stage(sizes, at);
}

/* Add a block to what a rank does. */
static inline void rebuild_plan_add(struct rebuild_rank *rank, struct rebuild_item item) {
  lumos_vector_push(&rank->items, item);
}

/* How many steps a job is built with: as many as were recorded, so that each has its measured one beside it; three
 * where that is one: behind a change the second may still settle. */
static inline size_t rebuild_steps_built(const struct rebuild_steps *recorded) {
  return recorded->count == 1 ? 3 : recorded->count;
}

/* The number of a built step: on from the first recorded one, or from 0 where that has none, or a very high one. */
static inline int32_t rebuild_step_at(const struct rebuild_steps *recorded, size_t index) {
  enum { HIGHEST = 1 << 30 };
  int32_t first = recorded->items[0];
  return (first >= 0 && first < HIGHEST ? first : 0) + (int32_t)index;
}

/* What was recorded: its steps in order, and then from the first again, `more` than rebuild_steps_built. */
void rebuild_plan_recorded(struct rebuild_plan *plan, const struct rebuild_templates *templates, size_t more);
void rebuild_plan_free(struct rebuild_plan *plan);

#endif
