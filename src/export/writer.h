/* What the parts of an export share: where everything stands on the screen, and how an event is written. */
#ifndef LUMOS_EXPORT_WRITER_H
#define LUMOS_EXPORT_WRITER_H

#include "base/output.h"
#include "base/text.h"
#include <lumos/job.h>
#include <lumos/path.h>

/* What is known of a task. */
enum {
  EXPORT_PART = 1,              /* a segment of a call, but for the last, which stands for the call */
  EXPORT_LAUNCHES = 2,          /* something was launched by it */
  EXPORT_INFERRED = 4,          /* what it waits for was not recorded */
  EXPORT_BESIDE = 8,            /* of work on a stream: it stands on the lane's second row as measured, */
  EXPORT_BESIDE_SIMULATED = 16, /* or as simulated */
};

/* A process on the screen: a process of a rank's host, or one of its devices. */
struct export_process {
  uint32_t rank;
  uint32_t lane; /* its first; LUMOS_NONE: it has none */
};

/* The number of a stream's device, as text. The stream of records has it in the lane's name, where a rank has several;
 * of one alone it does not say the number, and any will do. */
enum { EXPORT_DEVICE_TEXT = 32 };
void lumos_export_device(const struct lumos_job *job, const struct lumos_lane *lane, char text[EXPORT_DEVICE_TEXT]);
bool lumos_export_names_device(const struct lumos_job *job, const struct lumos_lane *lane);

struct export_writer {
  const struct lumos_job *job;
  struct lumos_text *text;              /* what is in work; it leaves between two events */
  struct lumos_text *out;               /* where it goes */
  int64_t zero;                         /* the job time that is 0 in the file */
  const char *prefix;                   /* of names of processes, "A: "; NULL: none */
  uint32_t first_process, first_thread; /* numbers of them that jobs before this one have taken, */
  int64_t first_flow;                   /* and of arrows */
  bool any;                             /* an event has been written */
  LUMOS_VECTOR(struct export_process) processes;
  uint32_t *process_of_lane; /* index in processes */
  uint32_t *process_of_rank; /* its first */
  int64_t *shift;            /* [lane]: ns from its own clock to the file's */
  int64_t *host_shift;       /* [rank] */
  uint32_t *correlation;     /* [task]: of a call its own, of work on a stream that of its call; 0: none */
  uint8_t *flags;            /* [task]: EXPORT_... */
  uint8_t *beside;           /* [lane]: EXPORT_BESIDE... of any of its tasks */
  struct lumos_held held;    /* in the simulation */
};

/* ---- export.c ---- */

/* A file that leaves piece by piece, and appears whole or not at all. */
struct export_file {
  struct lumos_output output;
  struct lumos_text work;
};
bool lumos_export_open_file(struct export_writer *writer, struct export_file *file, const char *path,
                            struct lumos_error *error) LUMOS_MUST_CHECK;
bool lumos_export_close_file(struct export_writer *writer, struct export_file *file,
                             struct lumos_error *error) LUMOS_MUST_CHECK;

/* ---- places.c ---- */

void lumos_export_place(struct export_writer *writer);
void lumos_export_unplace(struct export_writer *writer);
/* How many numbers of threads the job takes. */
uint32_t lumos_export_threads(const struct export_writer *writer);

/* A lane of the screen. */
struct export_place {
  uint32_t process, thread;
};
enum export_timeline { EXPORT_MEASURED, EXPORT_SIMULATED };
struct export_place lumos_export_lane(const struct export_writer *writer, uint32_t lane, enum export_timeline timeline);
/* Work of one stream may overlap, as a kernel that is launched before its predecessor ends, and Perfetto drops a row
 * that crosses another of its lane: such work stands on a second row. Needs `flags`. */
void lumos_export_settle_rows(struct export_writer *writer);
/* Has the lane that second row, and where? */
bool lumos_export_is_beside(const struct export_writer *writer, uint32_t lane, enum export_timeline timeline);
struct export_place lumos_export_beside(const struct export_writer *writer, uint32_t lane,
                                        enum export_timeline timeline);
/* Where a task stands. */
struct export_place lumos_export_row(const struct export_writer *writer, uint32_t task, enum export_timeline timeline);
/* Where the recording itself is shown, and what is of no lane. */
struct export_place lumos_export_recording(const struct export_writer *writer, uint32_t rank);
/* Names and order of processes and threads. */
void lumos_export_names(struct export_writer *writer);

/* ---- document.c ---- */

/* The member "lumos_timelines". */
void lumos_export_document(struct export_writer *writer);

/* ---- calls.c ---- */

/* Fill `correlation` and `flags`. */
void lumos_export_number_calls(struct export_writer *writer);

/* ---- flows.c: and a task's interval on a timeline in the file's time ---- */

struct export_interval {
  int64_t start, end; /* start LUMOS_ABSENT: it is not there */
};
struct export_interval lumos_export_interval(const struct export_writer *writer, uint32_t task,
                                             enum export_timeline timeline);

/* ---- measured.c, simulated.c, flows.c, counters.c: rows of all ranks ---- */

void lumos_export_measured(struct export_writer *writer);
void lumos_export_simulated(struct export_writer *writer);
void lumos_export_flows(struct export_writer *writer);
void lumos_export_counters(struct export_writer *writer);

/* ---- event.c ---- */

/* {"ph":PHASE,"pid":..,"tid":..,"ts":..,"name":.. `time` in ns of the file's time; LUMOS_ABSENT: none. Close with
 * export_close. */
void lumos_export_open(struct export_writer *writer, char phase, struct export_place place, int64_t time,
                       const char *name);
void lumos_export_close(struct export_writer *writer);
/* Send away what is in work; or only where that is much. */
void lumos_export_drain(struct export_writer *writer);
void lumos_export_drain_full(struct export_writer *writer);
/* ns as microseconds with three decimals. */
void lumos_export_time(struct export_writer *writer, const char *key, int64_t ns);
void lumos_export_string(struct export_writer *writer, const char *key, const char *value);
void lumos_export_integer(struct export_writer *writer, const char *key, int64_t value);
/* A text that was recorded as a number or as JSON is written so again; nothing is written of an empty one. */
void lumos_export_recorded(struct export_writer *writer, const char *key, const char *text);
/* "args":{ ... } */
void lumos_export_open_arguments(struct export_writer *writer);
void lumos_export_close_arguments(struct export_writer *writer);

/* The measured start of a task on the file's clock. */
int64_t lumos_export_measured_start(const struct export_writer *writer, uint32_t task);
/* How long it was measured to take, before any change. */
static inline int64_t export_measured_dur(const struct lumos_job *job, uint32_t task) {
  const struct lumos_task *record = &job->tasks.items[task];
  int64_t was = lumos_detail_of(job, record)->was;
  return was == LUMOS_ABSENT ? record->dur : was;
}
static inline bool export_is_call(const struct lumos_job *job, const struct lumos_task *task) {
  return !lumos_on_stream(job, task) && task->kind != LUMOS_OP;
}
/* The first segment of a call; the task itself where it was not cut. */
static inline uint32_t export_first_segment(const struct lumos_job *job, uint32_t task) {
  uint32_t first = lumos_detail_of(job, &job->tasks.items[task])->first_segment;
  return first == LUMOS_NONE ? task : first;
}

#endif
