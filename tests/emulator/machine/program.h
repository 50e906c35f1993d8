/* What a host thread does: a list of instructions, written by the training program block by block, carried out by the
 * machine. There are no dependencies in it, only calls: who waits for what comes out when the calls are carried out.
 */
#ifndef EMULATOR_PROGRAM_H
#define EMULATOR_PROGRAM_H

#include "work.h"
#include <stddef.h>

enum thread { THREAD_MAIN, THREAD_AUTOGRAD, THREADS };

/* Streams of a device. Communication has one for every kind of group, as PyTorch gives each communicator its own; NCCL
 * keeps another beside each, on which nothing ever runs: a kernel of the communicator waits for it, and it for that
 * kernel. */
enum stream {
  STREAM_COMPUTE,
  STREAM_TENSOR,
  STREAM_DATA,
  STREAM_EMBEDDING, /* tied embeddings */
  STREAM_MODEL,     /* the norm of the gradients */
  STREAM_SEND_NEXT, /* point-to-point, where sends and receives are apart */
  STREAM_SEND_PREVIOUS,
  STREAM_RECEIVE_NEXT,
  STREAM_RECEIVE_PREVIOUS,
  STREAM_P2P,    /* where they are batched */
  STREAM_COPY,   /* input data */
  STREAM_GATHER, /* shares of parameters, before they are gathered; and gradients, behind their sum */
  STREAM_REDUCE,
  STREAM_CONTEXT,     /* keys and values of a sequence that ranks share */
  STREAM_EXPERT,      /* tokens, to the experts that they take and back */
  STREAM_EXPERT_DATA, /* gradients of experts, where ranks share these */
  WORKING_STREAMS,
  NCCL_BESIDE = WORKING_STREAMS - STREAM_TENSOR, /* + a stream of communication: NCCL's */
  STREAMS = NCCL_BESIDE + STREAM_EXPERT_DATA + 1
};

enum frame { FRAME_OP, FRAME_ANNOTATION, FRAME_PYTHON, FRAME_MODULE };

/* What shape recording and the autograd engine tell of an op. All strings live as long as the program. */
struct op_facts {
  /* As "bf16[8,4] float[4,8|1,4] (int64[8];int64[8]) =1 =[2,3] -": tensors by type and dimensions, behind a bar the
   * strides of one that is not dense; a list of tensors; a scalar, a list of scalars; nothing. NULL: not recorded. */
  const char *inputs;
  int64_t elements;              /* in place of inputs: of the one vector of float32; 0: none */
  int64_t sequence;              /* autograd number, -1: none */
  uint8_t forward_thread;        /* of a backward op: the thread that made the node of that number, from 1; else 0 */
  const struct message *message; /* of an op or annotation around a communication call; NULL: none */
};

enum call {
  CALL_LAUNCH,        /* cudaLaunchKernel */
  CALL_LAUNCH_EXC,    /* cudaLaunchKernelExC: xmma, NCCL before 2.18 */
  CALL_LAUNCH_DRIVER, /* cuLaunchKernel: Triton */
  CALL_LAUNCH_EX,     /* cuLaunchKernelEx: nvjet */
  CALL_LAUNCH_NCCL,   /* the same, which takes NCCL longer */
  CALL_MEMCPY,        /* cudaMemcpyAsync */
  CALL_MEMSET,        /* cudaMemsetAsync */
  CALL_EVENT_RECORD,
  CALL_EVENT_RECORD_FLAGS, /* cudaEventRecordWithFlags */
  CALL_STREAM_WAIT,
  CALL_EVENT_QUERY,
  CALL_EVENT_SYNC,
  CALL_STREAM_SYNC,
  CALL_DEVICE_SYNC,
  CALL_IS_CAPTURING, /* cudaStreamIsCapturing, and so on: time only */
  CALL_CAPTURE_INFO,
  CALL_CAPTURE_INFO_3, /* of CUDA 13 */
  CALL_FIND_FUNCTION,
  CALL_GRAPH_LAUNCH, /* cudaGraphLaunch */
  CALL_MALLOC,       /* cudaMalloc */
  CALL_FREE,         /* cudaFree; with DO_SYNC_STREAM behind a wait that no row tells of */
  CALLS
};

/* What of a program is left out here. It has its places all the same: what comes behind it draws the chances, and has
 * the numbers, that it has where all is done. */
struct skipped {
  uint32_t instructions; /* but those that begin or end a frame of Python */
  uint32_t frames, calls;
  int communicator; /* of whose collectives it is one, -1: none */
};

/* A graph: so many instructions behind its launch, of which so many launch. */
struct graph {
  uint32_t number, length, nodes; /* number: from 1, the same wherever it is launched again */
};

/* A piece of work for another thread. The training program gives it its meaning. */
struct job {
  int kind, micro_batch, chunk, step;
};

enum instruction_kind {
  DO_ENTER,        /* a frame begins: frame, name, facts */
  DO_LEAVE,        /* the innermost frame ends */
  DO_SPEND,        /* host time: `time`, nominal */
  DO_SLEEP,        /* in an annotation the thread waits for another process: frame, name, facts, `time` */
  DO_LAUNCH,       /* a call that enqueues work: call, stream, work */
  DO_LAUNCH_GRAPH, /* a call that enqueues what is captured: stream, graph. Its launches, records and waits follow */
  DO_RECORD,       /* cudaEventRecord, call says with flags or without: event, on stream */
  DO_WAIT, /* cudaStreamWaitEvent: stream waits for the latest record of event; nothing if it was never recorded */
  DO_SYNC_EVENT, /* the thread waits: for the latest record of event, for stream, for the device */
  DO_SYNC_STREAM,
  DO_SYNC_DEVICE,
  DO_QUERY,    /* cudaEventQuery: has the latest record of event come? */
  DO_CALL,     /* a call that only takes time: call */
  DO_POST,     /* job: the autograd thread is to do it */
  DO_AWAIT,    /* until the autograd thread has done all that was posted */
  DO_STEP,     /* a step begins: `time` is its number */
  DO_PROFILE,  /* recording starts (`time` 1) or stops (0) */
  DO_ALLOCATE, /* the allocator gives out `time` bytes, or takes them back: less than 0; in no time */
  DO_SKIP,     /* nothing: skipped; `name` is of the last op that is left out, NULL: none */
};

enum { MOST_EVENTS = 288 }; /* of a rank */

struct instruction {
  uint8_t kind, frame, call, stream;
  uint16_t event;
  int64_t time;
  const char *name;
  union {
    struct op_facts facts;
    uint32_t work; /* index into the block's works */
    struct job job;
    struct graph graph;
    struct skipped skipped;
  } of;
};

/* A block of instructions. The machine empties it before it has it filled again, and keeps nothing of it but copies. */
struct program {
  struct instruction *instructions;
  size_t count, room;
  struct work *works;
  size_t work_count, work_room;
  struct message *messages[64]; /* owned: chunks of them, so that they do not move */
  size_t message_count;
};

void program_clear(struct program *program);
void program_free(struct program *program);

/* Append. Times are nominal: the machine makes them irregular. */
void program_enter(struct program *program, enum frame frame, const char *name, struct op_facts facts);
void program_leave(struct program *program);
void program_spend(struct program *program, int64_t ns);
void program_sleep(struct program *program, const char *name, int64_t ns); /* name: of the annotation */
void program_launch(struct program *program, enum call call, enum stream stream, struct work work);
/* Capture what was appended from instruction `first` on: its launches, records and waits become the body of a graph,
 * one call on `stream` launches them, and all else of it is gone, as it is where a graph is replayed. Whatever it waits
 * for it records, and `stream` waits for all others of its streams before it ends. */
void program_capture(struct program *program, size_t first, enum stream stream, uint32_t number);
void program_record(struct program *program, enum call call, int event, enum stream stream);
void program_wait(struct program *program, enum stream stream, int event);
void program_sync(struct program *program, enum instruction_kind kind, int event, enum stream stream);
/* The allocator frees memory that work on the stream still uses: it waits for that first, and nothing records the
 * wait. */
void program_free_used(struct program *program, enum stream stream);
void program_query(struct program *program, int event);
void program_call(struct program *program, enum call call);
void program_allocate(struct program *program, int64_t bytes);
void program_post(struct program *program, struct job job);
void program_await(struct program *program);
void program_mark(struct program *program, enum instruction_kind kind, int64_t number); /* DO_STEP, DO_PROFILE */
/* A message that lives as long as the block. */
const struct message *program_message(struct program *program, struct message message);

/* Who writes the blocks. */
struct software {
  void *self;
  /* The main thread's next block; false: it has ended. */
  bool (*next)(void *self, int rank, struct program *block);
  /* The autograd thread's block for a job. */
  void (*serve)(void *self, int rank, struct job job, struct program *block);
};

#endif
