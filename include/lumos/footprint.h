/* How much of the GPU's memory a rank's training step needs, and what for: allocated bytes, as PyTorch's allocator
 * counts them (torch.cuda.max_memory_allocated), in multiples of 512 a tensor.
 *
 * The figures follow from the job's own ops, in the order in which threads do them: what each op allocates, what
 * autograd keeps of its inputs and outputs for the backward pass, and when that is freed, from recorded shapes and
 * number formats. So they hold for any model whose ops are recorded, and for a job that was changed: its ops have other
 * shapes then, or another order. What a step finds there (parameters, the optimizer's state) follows from the gradients
 * and the optimizer's ops; of Megatron-LM's replicas from the buffer of gradients that they clear (memory/held.h); of
 * fully sharded replicas from what they gather and scatter, for as long as PyTorch's fully_shard holds it
 * (memory/shards.h).
 */
#ifndef LUMOS_FOOTPRINT_H
#define LUMOS_FOOTPRINT_H

#include <lumos/hardware.h>
#include <lumos/job.h>

enum lumos_memory_part {
  LUMOS_MEMORY_PARAMETERS,
  LUMOS_MEMORY_GRADIENTS,
  LUMOS_MEMORY_OPTIMIZER,   /* its state, master weights included */
  LUMOS_MEMORY_ACTIVATIONS, /* what forward passes keep for backward passes */
  LUMOS_MEMORY_HEAD,        /* the same, and what is at work, in the head and the loss */
  LUMOS_MEMORY_TEMPORARY,   /* what ops use and free again; gradients of activations */
  LUMOS_MEMORY_LIBRARIES,   /* workspaces of cuBLAS */
  LUMOS_MEMORY_PARTS
};
const char *lumos_memory_part_name(enum lumos_memory_part part); /* "parameters"; the kind of a metric */

enum lumos_memory_state {
  LUMOS_MEMORY_KNOWN,
  LUMOS_MEMORY_NO_SHAPES,    /* ops have none: record shapes */
  LUMOS_MEMORY_NO_GRADIENTS, /* no parameter's gradient is recorded, so that parameters are not known */
  LUMOS_MEMORY_NO_OPTIMIZER, /* no op shows what it keeps */
  LUMOS_MEMORY_CAPTURED,     /* passes run as CUDA graphs, whose ops are not recorded */
  LUMOS_MEMORY_COMPILED,     /* passes are compiled: what they keep between them is not recorded */
  LUMOS_MEMORY_SHARDED,      /* replicas gather parameters for each pass: how long they keep them no op shows */
  LUMOS_MEMORY_FOREIGN,      /* forward passes compute in a library's functions, and what those keep is not known */
  LUMOS_MEMORY_STATES
};

/* Of a rank (index), in one step. */
struct lumos_footprint {
  enum lumos_memory_state state;     /* else all below are 0 */
  int32_t step;                      /* number */
  int64_t peak;                      /* bytes: the most that is allocated at once */
  int64_t parts[LUMOS_MEMORY_PARTS]; /* of the peak, to which they add up */
  int64_t micro_batch;               /* most bytes that one micro-batch's forward pass keeps, head included */
  int32_t in_flight;                 /* most micro-batches of which something is kept at once */
  uint32_t at;                       /* task at which the peak is reached */
  int64_t parameters;                /* how many there are */
  bool sharded;     /* replicas have shares of parameters alone: the more there are, the less each needs */
  uint32_t assumed; /* ops of no known rule: they were taken to allocate one output like their inputs */
};

/* Of the rank's last step. Needs the program (stage graph or later); a job without measured starts needs runs (stage
 * sim). O(the rank's tasks x log). */
void lumos_footprint_of(const struct lumos_job *job, uint32_t rank, const struct lumos_hardware *hardware,
                        struct lumos_footprint *footprint);

/* The memory of the rank's GPU in bytes, as recorded, or else by the table; LUMOS_ABSENT: not known. */
int64_t lumos_memory_capacity(const struct lumos_job *job, uint32_t rank, const struct lumos_hardware *hardware);

#endif
