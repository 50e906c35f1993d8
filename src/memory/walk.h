/* The walk through the ops of a step (lifetimes.h) as its parts share it: where it stands, the tensors that ops may
 * take in, and what autograd keeps.
 */
#ifndef LUMOS_MEMORY_WALK_H
#define LUMOS_MEMORY_WALK_H

#include "memory/lifetimes.h"
#include "memory/rules.h"
#include "memory/tensors.h"

#include "base/numbering.h"
#include "program/checkpoint.h"
#include <string.h>

enum memory_view {
  WHOLE,
  PART,
  SPREAD
}; /* all numbers of a piece; fewer; the same ones again and again. How many is not known */

struct memory_handle { /* a tensor that an op may take in */
  int64_t count;
  uint32_t piece;
  uint32_t shape;      /* hash of its sizes; 0: not known */
  uint32_t of;         /* what it is a view of, a tensor of the shapes */
  int32_t micro_batch; /* or negative */
  uint32_t before;     /* the one before it of as many numbers in the same format, or LUMOS_NONE */
  uint16_t format;
  uint8_t view; /* enum memory_view */
  bool made;    /* here the piece was made */
  bool pending; /* a gradient that no op has taken yet */
};

struct memory_kept {    /* a piece that autograd keeps */
  uint32_t piece, next; /* next: of the same op, or LUMOS_NONE */
  int32_t micro_batch, layer;
  bool released; /* or never kept after all */
};

struct memory_made_again { /* an op of a checkpointed region, whose gradient is known by its key */
  uint64_t key;
  uint32_t place;
};

struct memory_places {
  uint32_t first, last;
};

/* What a changed job computes again (again.c), by region, which is a layer of a micro-batch, or its attention. */
struct memory_again {
  uint32_t *of; /* by place: of an op that was put in, where it was computed first; NULL: none was */
  struct lumos_numbering regions;
  LUMOS_VECTOR(struct memory_places) first_runs; /* by region: where what is computed again was computed first */
  uint32_t region, handles;                      /* that runs again, and the handles before it */
  bool runs;                                     /* the op here does */
};

struct memory_walk {
  struct memory_step *memory;
  const struct lumos_job *job;
  struct memory_shapes shapes;
  const struct memory_rule **rules; /* by place; NULL: none */
  uint8_t *traits;                  /* by place */
  uint32_t *inside;                 /* by place: the op that this one is a detail of, or LUMOS_NONE */
  LUMOS_VECTOR(struct memory_handle) handles;
  LUMOS_VECTOR(struct memory_kept) keeps;
  struct lumos_numbering sizes;   /* of handles */
  LUMOS_VECTOR(uint32_t) latest;  /* handle, by size */
  struct lumos_numbering keys;    /* of keeps */
  LUMOS_VECTOR(uint32_t) heads;   /* by key: the latest keep */
  LUMOS_VECTOR(uint32_t) regions; /* indices in repeatable */
  LUMOS_VECTOR(struct memory_made_again) repeatable;
  uint32_t at, node, node_handles;          /* the place; the gradient's op that is open, and the handles before it */
  uint32_t chunk_node, chunk_next;          /* where ops are done again, and the next that was done first */
  struct lumos_numbering gradients;         /* by numbers and format */
  LUMOS_VECTOR(uint32_t) left;              /* by gradient: how many come that are first ones */
  int64_t gradient_numbers, gradient_bytes; /* of all in a micro-batch */
  struct lumos_numbering halves;            /* sizes of those that are no float32 */
  bool copies;                              /* weights are copied from float32 (held.h) */
  uint32_t copies_until;                    /* where those go; LUMOS_NONE: with their micro-batch's backward pass */
  LUMOS_VECTOR(struct memory_shard) shards; /* by place */
  uint8_t pass_phase;                       /* of the pass at hand */
  int32_t pass_micro_batch;
  bool receives; /* the rank is a stage of several (received.h) */
  struct memory_again again;
  bool measured;
};

/* What replicas do about the shares that they have of a unit's parameters (shards.h). */
enum memory_shard_kind { SHARD_GATHERED, SHARD_SPLIT, SHARD_CHUNKED, SHARD_SCATTERED };
struct memory_shard {
  uint32_t place;
  int32_t micro_batch, layer; /* layer: of the unit, negative where it is none */
  int64_t bytes;              /* of a collective: of all shares together */
  double size;                /* of the unit */
  int64_t replicas;
  lumos_string_id format;
  uint8_t kind, phase;
};

enum { CALLS_OTHERS = 1, MAKES_NODE = 2, DONE = 4, REPEATED = 8, UNKEPT = 16, GRADIENT = 32, KEPT_AROUND = 64 };
enum {
  LOOK_BACK = 512,
  LOOK_AHEAD = 64,
  RECENT = 64,
  NEARBY = 24
}; /* handles, ops. Chosen: what is used was made not long before */

/* ---- ops ---- */

static inline const struct memory_op *op_at(const struct memory_walk *walk, uint32_t place) {
  return &walk->memory->ops.items[place];
}
static inline const struct lumos_span *span_at(const struct memory_walk *walk, uint32_t place) {
  return &walk->job->spans.items[op_at(walk, place)->span];
}
static inline const char *name_at(const struct memory_walk *walk, uint32_t place) {
  return lumos_string(walk->job->strings, span_at(walk, place)->name);
}
static inline const struct lumos_task *task_at(const struct memory_walk *walk, uint32_t place) {
  return &walk->job->tasks.items[op_at(walk, place)->task];
}
static inline bool is_op(const struct memory_walk *walk, uint32_t place, const char *name) {
  return strcmp(name_at(walk, place), name) == 0;
}

static inline bool is_accumulation(const struct memory_walk *walk, uint32_t place) {
  return is_op(walk, place, PROGRAM_ACCUMULATES) && !program_accumulates_input(walk->job, op_at(walk, place)->span);
}

/* In the forward pass, or where that is done again. */
static inline bool is_forward(const struct memory_walk *walk, uint32_t place) {
  return op_at(walk, place)->node == LUMOS_NONE ||
         (walk->rules[place] != NULL && span_at(walk, place)->sequence != LUMOS_ABSENT &&
          (walk->traits[place] & GRADIENT) == 0);
}

/* Does the op here keep something for its gradient? */
static inline bool keeps_here(const struct memory_walk *walk) { return (walk->traits[walk->at] & MAKES_NODE) != 0; }

/* By which the gradient's op is found: autograd's number, of a step that was built once for each pass and layer. */
static inline uint64_t key_of(const struct memory_walk *walk, const struct lumos_task *task, int64_t sequence) {
  uint32_t place =
      walk->measured ? 0 : ((uint32_t)task->micro_batch & 0xffffU) << 16U | ((uint32_t)task->layer & 0xffffU);
  return lumos_key_pair((uint32_t)sequence, place);
}

/* As PyTorch's allocator does. */
static inline int64_t rounded(int64_t bytes) {
  return (bytes + ALLOCATION_UNIT - 1) / ALLOCATION_UNIT * ALLOCATION_UNIT;
}

static inline uint64_t size_key(int64_t count, uint16_t format) { return (uint64_t)count << 16U | format; }

static inline struct memory_piece *piece_of(const struct memory_walk *walk, uint32_t handle) {
  return &walk->memory->pieces.items[walk->handles.items[handle].piece];
}

/* ---- handles.c ---- */

/* A piece of memory that begins here; its index. */
uint32_t memory_add_piece(struct memory_walk *walk, int64_t bytes, enum lumos_memory_part part);
void memory_add_handle(struct memory_walk *walk, struct memory_handle handle);

/* Which handle is looked for: the latest that fits and is not below `lowest`, nor among `taken`. */
struct memory_search {
  const struct memory_tensor *tensor;
  size_t lowest;
  const uint32_t *taken;
  size_t taken_count;
  bool pending, apart; /* apart: nor of the same pieces as these */
  bool whole, exact;   /* no parts; only of sizes that are known to be the same */
  bool alive;          /* kept, or not used yet */
  bool reshaped;       /* of other sizes, too, and not used yet: a view in between shows in no op */
  int32_t micro_batch; /* and of no other; negative: of any */
};

/* LUMOS_NONE: there is none. */
uint32_t memory_find_handle(const struct memory_walk *walk, const struct memory_search *search);

/* ---- ops.c ---- */

/* What the op here takes in, makes and keeps. */
void memory_do_op(struct memory_walk *walk, const struct memory_rule *rule);
/* Of an op within another: the memory that that one has reserved shows where it is filled. */
void memory_do_inner(struct memory_walk *walk);

/* ---- again.c ---- */

void memory_find_again(struct memory_walk *walk);
/* Where the op was computed first; where it was put in by nobody, its own place. */
uint32_t memory_first_run(const struct memory_walk *walk, uint32_t place);
/* Is the op here one that was put in? Then its first run keeps less. */
bool memory_begin_again(struct memory_walk *walk);
void memory_again_free(struct memory_again *again);

/* ---- backward.c ---- */

/* How many gradients of each size there are to come. */
void memory_count_gradients(struct memory_walk *walk);
/* A gradient's op takes what others have handed on. */
void memory_take_gradients(struct memory_walk *walk);
/* The first micro-batch's gradient stays; those of others are added to it. */
void memory_accumulate(struct memory_walk *walk);
/* The gradient's op that is open ends. */
void memory_close_node(struct memory_walk *walk);
/* What no gradient has released is free behind the last of its layer, or of its micro-batch. */
void memory_release_rest(struct memory_walk *walk);

#endif
