/* One rank's trace while it is written: kineto.c says what Kineto's form is, each of its other parts writes a kind of
 * row. */
#ifndef EMULATOR_KINETO_H
#define EMULATOR_KINETO_H

#include "rows.h"

/* What is known of a frame besides its row. */
struct link {
  uint32_t id;         /* External id, of ops and annotations */
  uint32_t parent;     /* Python id of the Python frame around a Python frame; 0: none */
  uint32_t forward;    /* of a backward op: the frame row of the op that made it, or NONE */
  uint32_t flow;       /* fwdbwd, 0: none */
  uint32_t annotation; /* index into spans, of annotations */
  int64_t sequence;    /* of what the op launched, -1: unknown */
};

/* From the first to the last of what a thread launched under an annotation, on one stream. */
struct span {
  int64_t first, last;
};

struct trace {
  const struct recorder *recorder;
  const struct rank_rows *rows;
  struct writer *out;
  struct order order;
  struct clock clock;
  int process, device;
  uint32_t annotations;
  struct link *links; /* by frame row */
  struct span *spans; /* [annotations][STREAMS] */
  /* Streams with work; those of which a row tells; that a row tells of the device as a whole. */
  bool used_streams[STREAMS], shown_streams[STREAMS], shows_device;
  bool named_syncs[STREAMS];
};

/* Fills links, spans and what is shown of streams and of the device. */
void kineto_find_links(struct trace *trace);

/* ---- reading rows ---- */

enum { DEVICE_THREAD = 1 }; /* of the device as a whole: Kineto has -1, and writes no negative thread */

/* The start of the period that Kineto counts times from, in nanoseconds since 1970: every 7889238 seconds one
 * begins. */
#define KINETO_BASE_TIME (INT64_C(225) * 7889238 * 1000000000)

const struct frame_row *frame_at(const struct trace *trace, uint32_t row);
const char *name_at(const struct trace *trace, uint32_t name);
const struct message *message_at(const struct trace *trace, uint32_t message);
bool is_python(const struct frame_row *row);
/* Of the ops around a collective the one that has its arguments. */
bool tells_message(const struct trace *trace, const struct frame_row *row);
int thread_of(const struct trace *trace, uint8_t thread);
int stream_number(int stream);
/* As the clock shows it, from KINETO_BASE_TIME. */
int64_t host_time(const struct trace *trace, int64_t time);
int64_t device_time(const struct trace *trace, int64_t time);

/* ---- parts of rows ---- */

void put_row_start(struct writer *out, const char *category, const char *name, int process, int thread, int64_t start,
                   int64_t duration);
void kineto_put_memory(const struct trace *trace);
void put_row_end(struct writer *out);
void put_flow(struct writer *out, bool starts, const char *category, uint32_t id, int process, int thread,
              int64_t time);
/* The op's id, if the op was recorded. */
void put_external(const struct trace *trace, uint32_t op);
/* The same, else the row's own. */
void put_external_or(const struct trace *trace, uint32_t op, uint32_t own);
void put_meta(struct writer *out, const char *name, int64_t time, int process, int thread, const char *key);
void put_meta_number(struct writer *out, const char *name, int64_t time, int process, int thread, int number);
void put_stream_name(const struct trace *trace, int thread, int stream, const char *after, int64_t time);
/* From "bf16[8,4] =1 -", as struct op_facts has it. */
void put_inputs(struct writer *out, const char *op, const char *inputs);

/* The form is that of 2026. */
bool is_new(const struct trace *trace);

/* A collective's arguments: those on the op and on its kernel alike, those that only the op has, and the inputs of all
 * ops around it. */
bool tells_collectives(const struct trace *trace);
void put_message(const struct trace *trace, const struct message *message, int64_t sequence);
void put_message_of_op(const struct trace *trace, const struct message *message);
void put_inputs_of_message(const struct trace *trace, const char *op, const struct message *message);
bool is_member(const struct communicator *communicator, int rank);

/* ---- rows ---- */

void kineto_put_frames(const struct trace *trace);
void kineto_put_call(const struct trace *trace, const struct call_row *call);
void kineto_put_device(const struct trace *trace, const struct device_row *row);
/* Is there a row of synchronisation for the call? Of a stream, or of the device as a whole. */
bool kineto_shows_wait(const struct trace *trace, const struct call_row *call);
bool kineto_is_of_stream(const struct call_row *call);
/* Nothing for a call that has no such row. */
void kineto_put_wait(struct trace *trace, const struct call_row *call);
/* Nothing for one whose call was not recorded. */
void kineto_put_event(const struct trace *trace, const struct reach_row *row);
void kineto_put_device_annotations(const struct trace *trace);

#endif
