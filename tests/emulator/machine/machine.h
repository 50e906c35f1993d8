/* The machine: threads carry out instructions, streams run what was enqueued in order, links are shared. Time goes
 * forward in one queue of alarms, one for every thread, stream and transfer; nothing in here knows what depends on
 * what.
 *
 * Threads run ahead of the devices until they have to wait; that is exact, since all that they learn from a device is a
 * time after which they go on. Everything random is drawn by place (chance.h), so that two runs differ only where their
 * setups do.
 */
#ifndef EMULATOR_MACHINE_H
#define EMULATOR_MACHINE_H

#include "program.h"
#include "setup.h"

struct communicator {
  const char *name;        /* process group's name, as PyTorch numbers them */
  const char *description; /* TENSOR_MODEL_PARALLEL_GROUP */
  int size, nodes;         /* nodes that it spans */
  int *ranks;              /* ascending */
  uint64_t id;             /* below 2^63 */
};

/* A host row that has ended. */
struct host_record {
  int rank, step;
  enum thread thread;
  bool is_call;
  enum frame frame; /* of a frame */
  enum call call;   /* of a call */
  const char *name; /* of a frame */
  int64_t start, end;
  int64_t number;       /* of a frame: in the order of the rank's starts, from 1; of a call: of its op, 0: none */
  int64_t parent;       /* of a frame: the number of the one around it, 0: none */
  uint32_t correlation; /* of a call, from 1 */
  uint32_t nodes;       /* of a graph's launch: how many; they have the numbers behind its correlation */
  const struct op_facts *facts; /* of an op or a message, else NULL; not kept by the witness */
  /* of waits and records */
  enum stream stream;
  int event;
  uint32_t awaited; /* correlation of the record call that a wait binds to, 0: none */
  enum stream awaited_stream;
};

/* A device row that has ended. */
struct device_record {
  int rank, step; /* the launch's */
  enum stream stream;
  uint32_t correlation; /* its number; of a node of a graph the launch's correlation is that less `node` */
  uint32_t graph, node; /* of a node: its graph, and its place in that from 1; else 0 */
  int64_t call_end, ready, start, end; /* ready: it started then, or when SMs were free for it */
  int64_t op;                          /* number of the op that launched it, 0: none */
  const struct work *work;             /* with its message; valid during the call only */
  int64_t sequence;                    /* of communication: the communicator's count on this rank, from 1; of p2p -1 */
};

/* A collective or a pair that is over. Times of a pair: of its own transfer. */
struct transfer_record {
  int communicator;
  enum collective collective;
  int64_t sequence, bytes;
  int source, destination; /* ranks, of a pair; else -1 */
  int members;
  const int *ranks;             /* [members] */
  const int64_t *starts, *ends; /* [members]: of their kernels; a pair's ends are those of the transfer */
  const uint32_t *correlations; /* [members]: numbers, as device records have them */
  const uint32_t *nodes;        /* [members] */
  int step;
  int64_t begin, end; /* of the transfer: from the last start on */
};

/* An edge between streams that came about: the later task started behind a wait for an event that was recorded behind
 * the earlier. */
struct edge_record {
  int rank;
  uint32_t from, to; /* correlations of device tasks */
  bool binding;      /* without the wait the task would have been ready earlier; it may have waited for SMs behind it */
};

/* What a device was busy with, summed since the machine began; ns. */
enum activity {
  ACTIVITY_COMPUTE,    /* alone */
  ACTIVITY_OVERLAPPED, /* compute and communication */
  ACTIVITY_TRANSFER,   /* exposed: some communication moves bytes */
  ACTIVITY_WAITING,    /* exposed: a collective within a stage waits for a member, and none moves bytes */
  ACTIVITY_BUBBLE,     /* exposed: what waits is point-to-point or a collective across stages */
  ACTIVITY_COPY,       /* copies and memsets alone */
  ACTIVITY_IDLE,
  ACTIVITIES
};

/* A rank's step: from the end of its device work of the step before to that of its own. */
struct step_record {
  int rank, step;
  int64_t start, end;
  int64_t activity[ACTIVITIES]; /* sums to end - start */
  double flops;                 /* that its kernels did */
  int64_t host_start, host_end; /* of the main thread's step mark */
};

/* PyTorch's allocator has given memory of a device out, or taken it back. */
struct memory_record {
  int rank;
  enum thread thread;
  int64_t time, bytes, allocated; /* bytes: negative where it was taken back; allocated: from then on */
};

/* Who looks on. Any function may be NULL. host, reach and edge are called for ranks of setup.record_rank only. */
struct witness {
  void *self;
  void (*host)(void *self, const struct host_record *record);
  void (*device)(void *self, const struct device_record *record);
  /* A stream has come to the record of an event; by the correlation of the call. */
  void (*reach)(void *self, int rank, enum stream stream, uint32_t correlation, int64_t time);
  void (*transfer)(void *self, const struct transfer_record *record);
  void (*edge)(void *self, const struct edge_record *record);
  void (*step)(void *self, const struct step_record *record); /* after the run, by rank and step */
  void (*profile)(void *self, int rank, bool start, int64_t time);
  void (*memory)(void *self, const struct memory_record *record);
};

/* Run the software to its end. `profiled`: DO_PROFILE counts, and recording costs what MECHANISM_PROFILER says. Returns
 * false, with a message on stderr that names ranks, threads and streams, if nothing can go on although something is
 * left to do. Time O(n log ranks) in the number of instructions and tasks; memory: what is enqueued and not yet run. */
bool machine_run(const struct setup *setup, const struct software *software, const struct communicator *communicators,
                 int communicator_count, bool profiled, const struct witness *witness);

#endif
