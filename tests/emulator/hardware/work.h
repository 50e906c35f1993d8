/* A piece of device work: a kernel, a copy or a memset, as a program describes it when it launches it. */
#ifndef EMULATOR_WORK_H
#define EMULATOR_WORK_H

#include <stdbool.h>
#include <stdint.h>

enum work_kind {
  WORK_GEMM,
  WORK_ATTENTION,
  WORK_ELEMENTWISE,
  WORK_NORM,
  WORK_REDUCTION,
  WORK_OPTIMIZER,
  WORK_EMBEDDING,
  WORK_COPY_TO_DEVICE,
  WORK_COPY_TO_HOST,
  WORK_COPY_ON_DEVICE,
  WORK_MEMSET,
  WORK_COLLECTIVE,
  WORK_P2P,
  WORK_KINDS
};

enum phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_WEIGHT, PHASE_OPTIMIZER, PHASE_OTHER, PHASES };
enum part { PART_EMBEDDING, PART_LAYER, PART_HEAD, PART_OPTIMIZER, PART_OTHER, PARTS };

/* Where a piece of work belongs: what a reader of the trace has to find out, and truth.json tells. */
struct label {
  uint8_t phase, part;
  int16_t micro_batch, layer; /* -1: none; layers count through the whole model */
};

/* WAIT moves nothing: the host's side of one that was begun. */
enum collective {
  ALL_REDUCE,
  ALL_GATHER,
  REDUCE_SCATTER,
  BROADCAST,
  SEND_RECEIVE,
  ALL_TO_ALL,
  COLLECTIVES,
  WAIT = COLLECTIVES
};

/* One direction of a point-to-point exchange. */
struct p2p {
  int peer; /* rank */
  bool send;
  int64_t bytes;
};
enum { MOST_P2P = 4 };

/* What a communication kernel moves. */
struct message {
  int communicator; /* index; see machine.h */
  uint8_t collective;
  bool float32; /* else bfloat16; int64 where `integers` */
  bool integers;
  int64_t elements_in, elements_out; /* of this rank's tensors */
  int inner[2];                      /* the last of their dimensions; 0: there is none but the first */
  int64_t split;                     /* of an all-to-all: rows that each member gets of the rank, and the rank of it */
  int64_t bytes; /* S of nccl-tests: of all-gather and reduce-scatter the whole, of p2p the sum of both directions */
  int root;      /* of a broadcast, a rank; else -1 */
  int parts;     /* of a point-to-point kernel */
  bool follows;  /* of one part of such a kernel: it is not the first */
  struct p2p part[MOST_P2P];
};

struct work {
  const char *name; /* lives as long as the program */
  uint8_t kind;
  struct label label;
  bool fills_device;                     /* more blocks than the device holds at once */
  int registers, shared_memory, threads; /* of a thread, a block, a block */
  int grid[3];
  int64_t duration;  /* ns, alone on an ideal device; 0 for communication */
  int64_t last_wave; /* ns of it in which SMs become free */
  int free_sms;      /* that many */
  int64_t bytes;     /* of a copy or memset: moved; of a kernel: read and written */
  double flops;
  const struct message *message; /* of communication, else NULL; copied by whoever keeps the work */
};

#endif
