/* What the rooms of the recovery share: a rank's device work in the order in which the program launched it, cut into
 * passes.
 *
 * An element is a device task that has a call. A pass is what one micro-batch launches at once: through the layers of a
 * stage forward, or back. Everything is of one rank until micro-batches and layers are numbered over the job.
 */
#ifndef LUMOS_PROGRAM_RECOVERY_H
#define LUMOS_PROGRAM_RECOVERY_H

#include "program/recovery/layers.h"
#include "program/sharded.h"
#include <lumos/job.h>

enum { LUMOS_NO_LAYER = -1 };
/* What names around a call tell, beside phases. */
enum { LUMOS_SAYS_ZERO = LUMOS_OTHER_PHASE + 1 /* gradients are set to zero */, LUMOS_SAYS_SEND, LUMOS_SAYS_RECEIVE };

/* What says where the layers of a pass are. */
enum lumos_layer_evidence { LUMOS_BY_NOTHING, LUMOS_BY_MODULES, LUMOS_BY_NUMBERS, LUMOS_BY_REPETITION, LUMOS_BY_NORMS };

struct lumos_element {
  int64_t at; /* when its call began, on the rank's host clock */
  uint32_t task;
  uint32_t thread; /* lane of its call */
  /* what it does: equal for the same work in other layers, micro-batches and ranks; 0: says nothing of layers */
  uint32_t symbol;
  uint32_t pass;  /* index or LUMOS_NONE */
  int32_t layer;  /* of its pass, from 0, or LUMOS_NO_LAYER */
  uint8_t part;   /* enum lumos_part */
  bool convolves; /* within an operator that does */
  bool apart;     /* communication of no layer, or what prepares it: symbol 0, too */
  uint8_t
      says; /* enum lumos_phase or LUMOS_SAYS_...: what the innermost telling name around its call tells; 0: nothing */
};

struct lumos_pass {
  uint32_t first, count; /* elements; a few before or behind may belong to it, too */
  uint32_t forward;      /* of a backward pass: the forward pass of the same micro-batch, or LUMOS_NONE */
  int32_t step;
  uint32_t round;      /* from one update of the parameters to the next */
  uint8_t phase;       /* enum lumos_phase */
  int32_t micro_batch; /* or LUMOS_ABSENT_INT */
  int32_t chunk;       /* of the layers of its stage */
  uint32_t layers;     /* found in it */
  uint8_t evidence;    /* enum lumos_layer_evidence */
};

struct lumos_program { /* of a rank */
  struct lumos_job *job;
  uint32_t rank;
  int32_t stage;                               /* of the pipeline */
  LUMOS_VECTOR(struct lumos_element) elements; /* in order of launch */
  LUMOS_VECTOR(struct lumos_pass) passes;      /* in order of launch */
};

/* What all ranks are parts of. */
struct lumos_recovery {
  struct lumos_job *job;
  struct lumos_program *programs; /* by rank */
  int32_t stages, chunks;         /* of the pipeline; of the layers of a stage */
  bool unplaced; /* some kernels send from rank to rank, but nothing says of which stage of a pipeline a rank is */
  /* [stages * chunks]: of chunk c of stage s at c * stages + s, which is their order in the model; 0: unknown */
  int32_t *layers;
};

/* Symbols of all ranks. */
struct lumos_symbols;
struct lumos_symbols *lumos_symbols_new(const struct lumos_job *job);
void lumos_symbols_free(struct lumos_symbols *symbols);

/* sequence.c: fill elements of program->rank. O(tasks log tasks). */
void lumos_program_sequence(struct lumos_program *program, struct lumos_symbols *symbols);

/* passes.c: cut them into passes with a phase each. O(elements log tasks). */
void lumos_program_passes(struct lumos_program *program);

/* pass_layers.c: the layers of every pass, by repetition. Communication that does not come as often in every layer is
 * of none. */
void lumos_program_layers(struct lumos_program *program);
/* The same for one pass that should have so many. */
void lumos_pass_layers(struct lumos_program *program, struct lumos_pass *pass, uint32_t wanted);

/* modules.c: the layers of forward passes by names; passes without such names are left as they are. */
void lumos_program_modules(struct lumos_program *program);

/* buckets.c: symbol 0 for collectives that some passes back lack; for what is only launched right before such ones. */
void lumos_program_buckets(struct lumos_program *program);
void lumos_program_preparations(struct lumos_program *program);

/* Is it launched by a hook of fully sharded replicas before a module goes back (program/sharded.h)? An element is of a
 * task with a call. */
static inline bool lumos_is_before_back(const struct lumos_program *program, const struct lumos_element *element) {
  return program_gathers_before_back(program->job, program->job->tasks.items[element->task].call);
}

/* links.c: backward work to the layer, and its pass to the pass, of the forward op that autograd numbers say. */
void lumos_program_links(struct lumos_program *program);

/* chunks.c: the stage of every rank. */
void lumos_program_stages(struct lumos_recovery *recovery);
/* chunks.c: chunks of a stage, and how many layers each has; the chunk and micro-batch of every pass. */
void lumos_program_chunks(struct lumos_recovery *recovery);
/* The number in the model of the first layer of a chunk of a stage. */
int32_t lumos_first_layer(const struct lumos_recovery *recovery, int32_t stage, int32_t chunk);

/* The elements of a pass that say something about layers, in the order of the layers: those of a symbol, but for copies
 * and for what hooks of fully sharded replicas launch before a layer goes back. */
struct lumos_view {
  uint32_t *elements, *symbols; /* [count]: index in program->elements; its symbol */
  int64_t *weights;             /* [count]: ns of computing */
  uint8_t *kinds;               /* [count]: enum lumos_sequence_kind */
  uint32_t products;            /* of a feed-forward block, at most */
  uint32_t count;
};
struct lumos_view lumos_view_open(const struct lumos_program *program, const struct lumos_pass *pass);
void lumos_view_close(struct lumos_view *view);
struct lumos_sequence lumos_view_sequence(const struct lumos_view *view);
/* Layer k of the pass is [starts[k], starts[k + 1]) of its view. */
void lumos_set_layers(struct lumos_program *program, struct lumos_pass *pass, const struct lumos_view *view,
                      const uint32_t *starts, uint32_t count);

/* single.c: the layer of passes that go through one alone; needs stages. */
void lumos_program_single_layers(struct lumos_recovery *recovery);

/* fill.c: elements that say nothing themselves, to the layer of their neighbours; needs links. */
void lumos_program_fill(struct lumos_program *program);

/* weights.c: the layers of weight gradients that were put off; needs chunks and micro-batches. */
void lumos_program_weights(struct lumos_program *program);

/* transfers.c: sends and receives to the passes they are for. */
void lumos_program_transfers(struct lumos_recovery *recovery, struct lumos_program *program);

/* host.c: what threads did to what they then launched; needs the device tasks'. */
void lumos_program_host(const struct lumos_program *program);

/* tell.c: note graph.program, and layers and micro-batches of the model record. */
void lumos_program_tell(const struct lumos_recovery *recovery);

/* before.c: what was launched before the recording, by the end of a step that it is like. */
void lumos_program_before(struct lumos_job *job, uint32_t rank);

static inline const struct lumos_task *lumos_element_task(const struct lumos_program *program,
                                                          const struct lumos_element *element) {
  return &program->job->tasks.items[element->task];
}

static inline void lumos_set_apart(struct lumos_element *element) {
  element->symbol = 0;
  element->apart = true;
}

/* What layers of a model are made of. Networks of convolutions have stages, which are no layers: each does something
 * else. */
static inline bool lumos_is_of_layers(const struct lumos_program *program, const struct lumos_element *element) {
  uint8_t kind = lumos_element_task(program, element)->kind;
  return (kind == LUMOS_GEMM || kind == LUMOS_ATTENTION) && !element->convolves;
}

/* A matrix product, but not what only adds up its parts. */
static inline bool lumos_is_product(const struct lumos_program *program, const struct lumos_element *element) {
  return element->symbol != 0 && lumos_element_task(program, element)->kind == LUMOS_GEMM;
}

#endif
