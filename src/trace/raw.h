/* What the scanner keeps of one trace: compact rows in file order, and the facts that stand beside the events.
 *
 * Times are nanoseconds as recorded (baseTimeNanoseconds not yet added) until clock.c makes them count from the epoch.
 * Rows are freed as they become tasks and spans.
 */
#ifndef LUMOS_TRACE_RAW_H
#define LUMOS_TRACE_RAW_H

#include <lumos/job.h>
#include <lumos/memory.h>
#include <lumos/strings.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a row is. Host rows are ordered from what encloses to what is enclosed: rows of equal extent nest in this
 * order. */
enum trace_class {
  TRACE_UNKNOWN, /* of a category that the table does not name: kept as other work where it says where it ran */
  TRACE_OVERLAY, /* lies over other rows and is no work of its own: not kept */
  TRACE_UNREAD,  /* tells of other accelerators what is not understood: not kept */
  TRACE_STEP,    /* host rows: ProfilerStep#N */
  TRACE_ANNOTATION,
  TRACE_PYTHON,
  TRACE_MODULE, /* nn.Module rows of the Python tracer */
  TRACE_OP,
  TRACE_CALL,    /* runtime and driver calls */
  TRACE_KERNEL,  /* device rows */
  TRACE_COMMAND, /* of MTIA's queues: a kernel, a copy, or waiting for an event, as its name says */
  TRACE_MEMCPY,
  TRACE_MEMSET,
  TRACE_SYNC,    /* cuda_sync rows */
  TRACE_MOMENT,  /* instants of the CPU, of which "[memory]" is kept: what the allocator holds */
  TRACE_SESSION, /* the profiler's own row, as long as the recording */
};

struct trace_host {
  int64_t start, end;
  int64_t key; /* call: correlation; op: sequence number; step: its number; LUMOS_ABSENT */
  lumos_string_id name;
  uint32_t lane;
  lumos_string_id shapes, dtypes;
  uint32_t comm; /* index in comms or LUMOS_NONE */
  /* of an op that runs another op's gradient: which thread ran that, as PyTorch counts threads; else 0 */
  int32_t forward_thread;
  uint8_t class;
  bool unfinished; /* a step mark that the profiler closed by its own stop */
  bool alone;      /* a step mark that works as an op, for its step has nothing else */
  bool other;      /* a call of a category that nobody knows */
};

struct trace_device {
  int64_t start, end;
  int64_t correlation; /* LUMOS_ABSENT */
  int64_t bytes;       /* LUMOS_ABSENT */
  lumos_string_id name;
  uint32_t lane;
  uint32_t comm;     /* index in comms or LUMOS_NONE */
  int32_t occupancy; /* millionths or LUMOS_ABSENT_INT */
  uint8_t class;
  bool in_graph;  /* names the node of a graph that it is */
  int32_t stream; /* as recorded; LUMOS_ABSENT_INT */
};

/* The arguments of a collective, as recorded. */
struct trace_comm {
  lumos_string_id collective, group, description, ranks, comms_id, dtype;
  int64_t in_elements, out_elements, group_size, sequence; /* LUMOS_ABSENT */
  int64_t source, target;                                  /* ranks, LUMOS_ABSENT */
  int64_t rank_start, rank_stride; /* the group's ranks, where they are evenly spaced; LUMOS_ABSENT */
  /* What Lumos writes: the payload, LUMOS_ABSENT, and of a batch "[[rank,sent,received],...]". */
  int64_t bytes;
  lumos_string_id peers;
};

struct trace_sync {
  int64_t correlation, record_correlation; /* LUMOS_ABSENT */
  int64_t device, stream, wait_stream;     /* LUMOS_ABSENT */
  lumos_string_id kind, event;
};

/* What of a row is neither a task nor a span, but read by another tool as work of a stream or as a step mark; see
 * hta.h. */
struct trace_hta_row {
  size_t device_before; /* rows in trace.device that stand before it in the file */
  int64_t start, dur;
  int64_t correlation, stream; /* LUMOS_ABSENT */
  lumos_string_id name;
  uint8_t class;
};

struct trace_lane {
  enum lumos_lane_kind kind;
  lumos_string_id process, native; /* of a stream: its device and its number */
  bool shared_number;              /* another process or device has a lane of the same number */
};

/* What the allocator of a GPU holds from then on. */
struct trace_memory {
  int64_t start, allocated, reserved; /* reserved: LUMOS_ABSENT */
  int64_t place;                      /* in the file, among its like */
  int32_t device;
};

struct trace_interval {
  int64_t start, end;
};

/* Metadata that stands beside the events, as JSON text. */
enum trace_fact {
  TRACE_FACT_BASE,
  TRACE_FACT_DEVICES,
  TRACE_FACT_DISTRIBUTED,
  TRACE_FACT_HOST,
  TRACE_FACT_CUDA,
  TRACE_FACT_HIP,
  TRACE_FACT_JOB_NAME,
  TRACE_FACT_JOB_VERSION,
  TRACE_FACT_JOB_ATTEMPT,
  TRACE_FACT_RECORDER,  /* what examples/record/lumos_record.py adds */
  TRACE_FACT_TIMELINES, /* what lumos-sim --trace adds; see timelines.h */
  TRACE_FACTS,
};

/* Rows of one category that are not all read as their category says. */
enum { TRACE_MOST_CATEGORIES = 32 };
struct trace_category {
  lumos_string_id name; /* LUMOS_NO_STRING: all others, behind the first ones */
  uint8_t class;        /* TRACE_UNKNOWN, TRACE_OVERLAY or TRACE_UNREAD */
  int64_t left, kept;
};

/* Rows by lane, in the order of time. */
struct trace_order {
  uint32_t *rows; /* indices of rows; NULL once these stand in this order themselves */
  size_t *first;  /* [lane]: its first place; one more entry than there are lanes */
};

/* Places in the text where something is wrong in the same way: all are counted, the first ones and the longest kept. */
enum { TRACE_PLACES = 8 };
struct trace_place {
  uint64_t begin, end; /* bytes of the text */
  const char *what;    /* a literal; NULL: all are alike */
};
struct trace_places {
  int64_t count;
  struct trace_place first[TRACE_PLACES], longest;
};

/* How far a text is a trace. */
enum trace_text {
  TRACE_TEXT_EMPTY,
  TRACE_TEXT_OTHER,   /* it does not begin as JSON does, and holds no event */
  TRACE_TEXT_JSON,    /* without a list of events */
  TRACE_TEXT_LISTING, /* it has traceEvents, perhaps without an event */
};

/* What a text is that is no trace, and what to do about it. */
struct trace_foreign {
  const char *what, *cure;
};

struct trace {
  struct lumos_strings *strings;   /* the job's */
  struct lumos_strings *lane_keys; /* id - 1 is the index in lanes */
  char *facts[TRACE_FACTS];        /* NULL: absent */
  LUMOS_VECTOR(struct trace_host) host;
  LUMOS_VECTOR(struct trace_device) device;
  LUMOS_VECTOR(struct trace_sync) sync;
  LUMOS_VECTOR(struct trace_comm) comms;
  LUMOS_VECTOR(struct trace_lane) lanes;
  struct lumos_strings *name_keys; /* id - 1 is the index in names: what "thread_name" events call a lane */
  LUMOS_VECTOR(lumos_string_id) names;
  LUMOS_VECTOR(struct trace_interval) sessions;
  LUMOS_VECTOR(struct trace_memory) memory;    /* in file order */
  struct trace_order host_order, device_order; /* made by order.c */
  LUMOS_VECTOR(struct trace_hta_row) hta_rows; /* in file order */
  LUMOS_VECTOR(int64_t) hta_starts;            /* of rows that are kept nowhere else */
  bool hta_known;                              /* these are of one recording, not written by Lumos, and are asked for */
  int64_t first_start;                         /* of the list's first event, where that is a row; LUMOS_ABSENT */
  int64_t first_correlation;                   /* the same where it names a stream; LUMOS_ABSENT */
  int64_t record_end;                          /* the instant "Record Window End", LUMOS_ABSENT */
  LUMOS_VECTOR(struct trace_category) categories;

  bool recognised;                  /* there was an event */
  int64_t events;                   /* complete events with a duration */
  int64_t python;                   /* those of Python functions and modules, kept or not */
  int64_t python_left;              /* those of them that are not kept */
  int64_t others[128];              /* [phase]: events that are no complete ones */
  struct trace_places skipped;      /* no valid event: nothing of it is kept */
  struct trace_places facts_lost;   /* the same of the metadata */
  struct trace_places lost;         /* events kept without some value */
  struct trace_places replaced;     /* events kept with a name that is no valid text: some of it is replaced */
  struct trace_places second_lists; /* further lists of events, */
  int64_t second_events;            /* of which so many events are not kept */
  bool truncated;
  uint64_t truncated_at;
  uint64_t cut_event; /* where the event begins that the cut goes through; truncated_at when there is none */
  bool resumed;       /* ... and the text goes on behind the damage */
  enum trace_text text;
  const struct trace_foreign *foreign; /* what the text is, where it is none that we read; NULL */
  char damage[96];                     /* why, where the compressed data are damaged */

  struct trace_timelines *timelines; /* the ranks of a file that Lumos wrote, which have all rows; else NULL */
  /* Of such a rank, what a file of its selected steps alone would not show; LUMOS_ABSENT in every other trace. */
  int64_t base, steps_end;               /* when the first step starts and the last one ends */
  int64_t runtime_offset, runtime_doubt; /* the shift that its runtime rows have already had */
};

void lumos_trace_init(struct trace *trace, struct lumos_strings *strings);
/* All that a trace holds; its own: without what is in its timelines. */
void lumos_trace_clear(struct trace *trace); /* timelines.c */
void lumos_trace_clear_own(struct trace *trace);

/* The lane of these names, added when new. */
uint32_t lumos_trace_lane(struct trace *trace, enum lumos_lane_kind kind, lumos_string_id process,
                          lumos_string_id native);
/* The same, but LUMOS_NONE when there is none. */
uint32_t lumos_trace_known_lane(const struct trace *trace, enum lumos_lane_kind kind, lumos_string_id process,
                                lumos_string_id native);
/* What a "thread_name" event calls the lane of these names, in either kind; LUMOS_NO_STRING when none did. */
void lumos_trace_name_lane(struct trace *trace, lumos_string_id process, lumos_string_id native, lumos_string_id name);
lumos_string_id lumos_trace_lane_name(const struct trace *trace, const struct trace_lane *lane);

/* Find lanes that share their number (see trace_lane), once all are known. */
void lumos_trace_mark_shared(struct trace *trace);
/* What the stream calls a lane: "t1382", "p77.t1382", "s7", "d1.s7". */
lumos_string_id lumos_trace_lane_label(struct trace *trace, uint32_t lane);

/* Count a row of this category, which is not read as its category says. */
void lumos_trace_count_category(struct trace *trace, lumos_string_id name, enum trace_class class, bool kept);
/* Count a place. */
void lumos_trace_place(struct trace_places *places, uint64_t begin, uint64_t end, const char *what);

#endif
