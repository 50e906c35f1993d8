/* What is emulated: the model, how it is spread over ranks, the machine, its irregularities, and what is recorded of
 * it.
 *
 * Made once by setup_read from the command line, then read by everybody and changed by nobody. Sizes are in elements or
 * bytes, times in nanoseconds.
 */
#ifndef EMULATOR_SETUP_H
#define EMULATOR_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct model {
  int layers, hidden, ffn, heads, head_dim, sequence, vocabulary;
  int experts, top_k; /* feed-forward blocks of a layer, each as wide as ffn, 0: one for all; that a token takes */
  int micro_batch;    /* sequences in one micro-batch */
  int micro_batches;  /* of one replica, in one step */
};

enum schedule { SCHEDULE_1F1B, SCHEDULE_GPIPE, SCHEDULE_INTERLEAVED, SCHEDULE_ZERO_BUBBLE, SCHEDULES };

/* What the backward pass computes again: nothing, whole layers, or their core attention alone. */
enum recompute { RECOMPUTE_NONE, RECOMPUTE_FULL, RECOMPUTE_SELECTIVE, RECOMPUTES };

/* What is captured in graphs. */
enum graphs { GRAPHS_OFF, GRAPHS_LAYERS, GRAPHS_PASSES, GRAPHS };

struct parallelism {
  int tensor, pipeline, data;
  int context; /* ranks that share a sequence */
  int expert;  /* data-parallel ranks in a row that share the experts of a layer */
  int chunks;  /* model chunks of a rank (virtual stages); over 1 only with SCHEDULE_INTERLEAVED */
  enum schedule schedule;
  bool sequence_parallel;
  bool distributed_optimizer;
  bool fully_sharded; /* replicas spread parameters, gather them layer by layer, and scatter their gradients */
  enum recompute recompute;
  bool overlap_gradients; /* buckets are reduced during the last micro-batch's backward pass; else after it */
  bool prepares_inputs;   /* on the copy stream: a memset and a kernel beside the copy */
  bool batched_p2p;       /* a send and a receive side by side are one kernel */
  int64_t bucket_bytes;   /* of gradients, at most, but for one parameter's */
};

/* Everything that makes the machine other than ideal, each to be switched off alone. What each is stands in
 * README.md. */
enum mechanism {
  MECHANISM_HOST,            /* host work takes time */
  MECHANISM_HOST_JITTER,     /* it varies, and sometimes pauses */
  MECHANISM_LATENCY,         /* launches, events, collectives' ends and back-to-back kernels need a moment */
  MECHANISM_KERNEL_JITTER,   /* the same kernel takes not always the same time */
  MECHANISM_VARIETY,         /* autotuning and split-K choose other kernels for some layers */
  MECHANISM_WAVES,           /* a last wave of blocks that does not fill the device takes as long as a full one */
  MECHANISM_LAUNCH_QUEUE,    /* a stream holds only so many launches */
  MECHANISM_CONTENTION,      /* compute and communication at once slow each other down */
  MECHANISM_FREE_SMS,        /* a kernel waits for the last wave of another stream's kernel that fills the device */
  MECHANISM_SHARED_LINKS,    /* collectives of different groups on one link share it */
  MECHANISM_THROTTLE,        /* clocks fall after long stretches of matrix products */
  MECHANISM_COLLECTIVE_SKEW, /* members of a collective do not end at the same nanosecond */
  MECHANISM_PROFILER,        /* recording costs host time */
  MECHANISM_CLOCKS,          /* hosts' and devices' clocks are off and drift */
  MECHANISMS
};

/* What --scale can act on. */
enum scaled {
  SCALED_HOST,          /* all host time but waiting */
  SCALED_DEVICE,        /* every kernel, copy and memset but communication */
  SCALED_COMMUNICATION, /* transfers of every kind */
  SCALED_GEMM,
  SCALED_ATTENTION,
  SCALED_ELEMENTWISE,
  SCALED_NORM,
  SCALED_REDUCTION,
  SCALED_OPTIMIZER,
  SCALED_EMBEDDING,
  SCALED_COPY,
  SCALED_MEMSET,
  SCALED_ALL_REDUCE,
  SCALED_ALL_GATHER,
  SCALED_REDUCE_SCATTER,
  SCALED_BROADCAST,
  SCALED_P2P,
  SCALED_ALL_TO_ALL,
  /* device work of the model's first part, and its last, whatever its kind, communication excepted */
  SCALED_PART_EMBEDDING,
  SCALED_PART_HEAD,
  SCALED_PART_OPTIMIZER,
  SCALED
};

/* What --leave-out can leave out of the program. */
enum left_out {
  LEFT_OUT_ELEMENTWISE,
  LEFT_OUT_NORM,
  LEFT_OUT_REDUCTION,
  LEFT_OUT_OPTIMIZER,
  LEFT_OUT_EMBEDDING,
  LEFT_OUT_COPY,
  LEFT_OUT_MEMSET,
  LEFT_OUT_ALL_REDUCE, /* of every group */
  LEFT_OUT_GRADIENTS,  /* what replicas sum of them, all-reduced or reduced and scattered */
  LEFT_OUT
};
enum { MOST_LEFT_OUT_OPS = 16 };

/* What a trace tells: as Kineto did in that year; in 2024 without numbers of collectives, in 2022 without a word of
 * them; or of CUDA's activity alone, without ops. */
enum form { FORM_2026, FORM_2024, FORM_2022, FORM_CUDA, FORMS };

/* Transfers between two ranks, or all of one (both are it), and of every group that has both, take so many times as
 * long. */
struct slow_link {
  int ranks[2];
  double factor;
};
enum { MOST_SLOW = 64 }; /* times that an option about a rank is given */

enum recorded {
  RECORD_SHAPES = 1,
  RECORD_SYNC = 2,
  RECORD_STACKS = 4, /* python_function rows: stacks and modules */
  RECORD_ANNOTATIONS = 8,
  RECORD_COLLECTIVES = 16
};
enum { RECORDED = 5 }; /* bits */

struct setup {
  struct model model;
  struct parallelism parallel;
  const struct gpu *gpu;           /* of hardware.h */
  const struct nccl_version *nccl; /* of nccl_version.h */
  struct network {
    int node_size;        /* GPUs in a node */
    double nic_bandwidth; /* bytes a ns, one direction, a GPU */
    int64_t nic_latency;  /* ns, one hop between nodes */
  } network;
  bool mechanisms[MECHANISMS];
  bool scarce_memory; /* the allocator waits for the device and frees memory before a head's logits */
  bool pageable;      /* copies from and to the host pass through their calls */
  bool sm_queue;      /* communication needs SMs for all its blocks at once, and the stream that had them comes first */
  double scale[SCALED];            /* 1: as it is */
  double *slow_device, *slow_host; /* a factor a rank */
  int64_t *slow_data;              /* ns that a rank waits for the data of each step */
  struct slow_link slow_links[MOST_SLOW];
  int slow_link_count;
  int read_back;     /* values of each layer's output that the host reads in the forward pass */
  int *stage_layers; /* of each stage; NULL: as many in each */
  bool leave_out[LEFT_OUT];
  char *leave_out_ops[MOST_LEFT_OUT_OPS]; /* op=NAME: ops that are left out with all inside them */
  int leave_out_op_count;
  bool fuse[LEFT_OUT]; /* kernels of these kinds in a row are one; up to LEFT_OUT_EMBEDDING */
  enum graphs graphs;
  enum form form;
  int sample;                 /* one kernel of so many is recorded */
  int queue_depth;            /* launches that a stream holds */
  double contention_compute;  /* a kernel takes so much longer while its device transfers: 0.15 is 15 % */
  double contention_transfer; /* a transfer takes so much longer while all its devices compute */
  double jitter;              /* 1: spreads as measured on real traces; 2: twice as wide */
  int64_t device_early;       /* ns by which device rows stand too early */
  uint64_t seed;
  int warmup, steps;     /* steps before the recording, and in it */
  unsigned recorded;     /* bits of enum recorded */
  bool *record_rank;     /* a flag a rank: its trace is written */
  const char *folder;    /* for rankN.json.gz and truth.json */
  const char *arguments; /* the command line without the folder, for truth.json */
  bool unseen;           /* what was launched before the recording is not in it, and awaited in its first step */
  bool memory;           /* memory events of the allocator are recorded */
  bool once;             /* the job is not run without the profiler, too */
  bool quiet, plain;     /* no summary; rankN.json, not compressed */
};

int setup_ranks(const struct setup *setup); /* tensor * context * data * pipeline */

int setup_stage_layers(const struct setup *setup, int stage);

/* Coordinates of a rank: tensor runs fastest, then context, data, pipeline, as Megatron-LM lays ranks out. */
struct coordinates {
  int tensor, context, data, stage;
};
struct coordinates setup_coordinates(const struct setup *setup, int rank);
int setup_rank_at(const struct setup *setup, struct coordinates at);

/* Names for the command line and truth.json. */
const char *setup_mechanism_name(enum mechanism mechanism);
const char *setup_form_name(enum form form);
const char *setup_graphs_name(enum graphs graphs);
const char *setup_recompute_name(enum recompute recompute);
const char *setup_schedule_name(enum schedule schedule);
const char *setup_scaled_name(enum scaled scaled);
const char *setup_left_out_name(enum left_out left_out);
const char *setup_recorded_name(int bit);

/* Read the command line. Returns false after a message on stderr; *done: --help or --version was all that was wanted.
 * The caller frees with setup_free. */
bool setup_read(struct setup *setup, int count, char **arguments, bool *done);
void setup_free(struct setup *setup);

#endif
