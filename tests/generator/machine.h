/* The machine that the example job runs on: host threads that nest operators, streams that run in order, events between
 * streams, and one communicator over all ranks.
 *
 * A program (model.c) calls the functions below as it would call PyTorch; they advance the thread's clock and note a row for
 * the trace. Device work is only queued; machine_settle gives it times, all ranks side by side, because a collective ends on
 * every rank at once. All arithmetic is in whole nanoseconds, so that the same seed gives the same bytes everywhere.
 */
#ifndef GENERATOR_MACHINE_H
#define GENERATOR_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANKS = 2 };
enum thread { MAIN_THREAD, BACKWARD_THREAD, THREADS };
enum stream { COMPUTE_STREAM, COMMUNICATION_STREAM, STREAMS };
enum category { CPU_OP, USER_ANNOTATION, CUDA_RUNTIME, CUDA_DRIVER };
enum { DEEPEST = 12 };

/* A kind of device work and what the trace says of its launch. */
struct kernel {
  const char *name;
  int registers, shared_memory, threads; /* threads in a block */
};

/* What a collective moves, as the trace describes it. */
struct message {
  const char *name; /* "allreduce" */
  const char *dtype;
  int64_t elements, bytes;
  int sequence;
};

struct host_row {
  enum category category;
  enum thread thread;
  const char *name;
  int64_t start, end;
  int external;       /* its own id; of a call: the innermost operator's, 0 where there is none */
  int64_t sequence;   /* autograd number; 0: none */
  bool backward;      /* the sequence names the forward operator */
  int flow;           /* forward to backward; 0: none */
  const char *inputs; /* as "bf16[8,4] int64[8] =1 -"; NULL: not recorded */
  const struct message *message;
  int cbid, correlation; /* of a call */
  bool starts_flow;      /* the call has an arrow to its device row */
};

enum device_kind { KERNEL, COPY_TO_DEVICE, COPY_TO_HOST, COLLECTIVE, RECORD, WAIT, STREAM_SYNC, CONTEXT_SYNC };

struct device_row {
  enum device_kind kind;
  enum stream stream;
  int call; /* index of the host row that asked for it */
  const struct kernel *kernel;
  int64_t work;   /* ns of its own; of a collective: of the transfer */
  int64_t blocks; /* of the grid */
  int64_t bytes;  /* of a copy */
  const struct message *message;
  int event;          /* WAIT: index of the RECORD */
  int64_t start, end; /* of a RECORD: when what it follows has ended */
};

struct rank {
  int number;
  uint64_t random;
  int64_t clock[THREADS];
  enum thread thread; /* the one that runs now */
  int open[THREADS][DEEPEST], depth[THREADS];
  struct host_row *host;
  size_t host_count, host_capacity;
  struct device_row *device;
  size_t device_count, device_capacity, settled;
  int64_t stream_free[STREAMS], stream_barrier[STREAMS];
  int next_external, next_correlation, next_flow, next_message;
  int64_t next_sequence;
  int64_t recording_start, recording_end;
};

void rank_begin(struct rank *rank, int number, uint64_t seed, int64_t start);
void rank_free(struct rank *rank);

/* Let the running thread pass about `ns` of time that no row covers. */
void spend(struct rank *rank, int64_t ns);
/* The same range of times everywhere: `ns` plus or minus `percent`. */
int64_t varied(struct rank *rank, int64_t ns, int percent);

/* An operator or annotation that holds what is called until its end; `inputs` NULL or a format. Returns its row. */
int begin_op(struct rank *rank, const char *name, const char *inputs, ...) __attribute__((format(printf, 3, 4)));
int begin_annotation(struct rank *rank, const char *name);
void end(struct rank *rank);
/* An operator that calls nothing and takes about `ns`. */
void leaf(struct rank *rank, const char *name, int64_t ns);

/* Runtime calls. */
void call(struct rank *rank, const char *name, int cbid, int64_t ns);
void launch(struct rank *rank, const struct kernel *kernel, int64_t work, int64_t blocks);
void launch_collective(struct rank *rank, const struct kernel *kernel, int64_t transfer, const struct message *message);
void copy_to_device(struct rank *rank, int64_t bytes);
void copy_to_host(struct rank *rank, int64_t bytes);
int record_event(struct rank *rank, enum stream stream);
void wait_event(struct rank *rank, enum stream stream, int event);

/* A call that waits on the device: begin on every rank, settle, end on every rank. */
void begin_stream_sync(struct rank *rank);
void begin_device_sync(struct rank *rank);
void end_sync(struct rank *rank);

/* Give times to all work queued so far. Every rank must have queued the same collectives. */
void machine_settle(struct rank ranks[RANKS]);

#endif
