/* What the reader's files share: values.c reads values, record.c takes one line apart, read.c files its record in the
 * job, resolve.c turns ids into indices, failure.c says what is wrong.
 *
 * References may point forward, so while lines are read a slot holds what was written, and resolve.c replaces it by an
 * index:
 *   task and span references of the record's own rank   N
 *   task references to any rank (FIELD_ANY_TASK, members)  an index in `far`
 *   lanes                                                an index in job->lanes, where a lane that was only mentioned
 *                                                        has a place as well
 *   rank of groups, lanes and spans                      the rank's number
 */
#ifndef LUMOS_STREAM_READER_H
#define LUMOS_STREAM_READER_H

#include "base/ahead.h"
#include "base/json.h"
#include "base/numbering.h"
#include "base/text.h"
#include "job/schema.h"
#include "stream/lines.h"
#include <lumos/stream.h>

enum { NO_RANK = -1, LANE_REFERENCES = 4 };

struct lumos_far { /* a reference to a task of any rank */
  int32_t rank;
  uint32_t id;
};

struct lumos_type_count {
  lumos_string_id type;
  int64_t count;
};

/* A short text to compare with: its bytes as two numbers, and which of their bits count. None has no byte 0xFF. */
struct lumos_probe {
  uint64_t bytes[2], bits[2];
};

/* What values turned out to be: most are the same as one before. Texts stand as in the stream, between their quotes. */
enum { NAMES_REMEMBERED = 64, STRINGS_REMEMBERED = 512 };
struct lumos_remembered {
  struct lumos_probe lane; /* the last one, quotes included */
  lumos_string_id lane_name;
  size_t lane_length;
  struct lumos_probe id_start; /* the quote, the rank and the colon of the last id */
  size_t id_start_length;
  int32_t id_rank;
  struct {
    const struct lumos_names *names;
    int value;
  } names[NAMES_REMEMBERED];
  struct {
    const char *bytes;
    uint32_t length;
    lumos_string_id id;
  } strings[STRINGS_REMEMBERED];
  struct lumos_strings *escaped;       /* texts with escapes, */
  LUMOS_VECTOR(lumos_string_id) meant; /* and what they mean: by the number in `escaped` */
};

struct lumos_reader {
  struct lumos_job *job;
  const char *name; /* of the input */
  bool edited;      /* --edited */
  struct lumos_error *error;
  struct lumos_watcher watcher;
  size_t threads;
  struct lumos_ahead *ahead; /* of the job's largest arrays, once they are large */
  struct lumos_lines lines;

  /* The line at hand. */
  const struct lumos_record_type *type;
  const char *within; /* the key of the inner object at hand, or NULL */
  struct lumos_record record;
  int32_t rank;           /* "rank" of the record; NO_RANK until it is seen */
  int32_t reference_rank; /* RANK of its id and references to its own rank */
  struct {
    uint32_t *slot;
    lumos_string_id lane;
  } lanes[LANE_REFERENCES];
  size_t lane_count;
  struct lumos_remembered remembered;
  LUMOS_VECTOR(struct lumos_slice) unknown_keys;
  struct lumos_text unknown, unknown_inner;
  LUMOS_VECTOR(char) decoded;

  /* Where records are put together. A detail is filed only when the line has such a field. */
  struct lumos_task task;
  struct lumos_timing timing;
  struct lumos_run run;
  struct lumos_detail detail;
  union {
    struct lumos_rank rank;
    struct lumos_group group;
    struct lumos_lane lane;
    struct lumos_span span;
    struct lumos_dep dep;
    struct lumos_collective collective;
    struct lumos_model_description model;
    struct lumos_common_error common_error;
    struct lumos_memory_event memory;
    struct lumos_recorded_pass pass;
    struct lumos_metric metric;
    struct lumos_note note;
  } other;
  unsigned parts_seen;      /* bits of parts that the line has fields of */
  unsigned task_parts_used; /* the same of the last task */
  uint64_t required[RECORD_KINDS];

  /* The stream so far. */
  bool header_seen, end_seen;
  uint8_t latest_stage;    /* the latest stage that wrote something in the stream, */
  uint64_t latest_line;    /* the first line that shows it, */
  const char *latest_what; /* and by which field or type */
  int latest_length;
  uint64_t counts[RECORD_KINDS];
  LUMOS_VECTOR(struct lumos_type_count) stated; /* by the end record */
  LUMOS_VECTOR(struct lumos_far) far;
  LUMOS_VECTOR(uint8_t) lane_given;    /* for every lane of the job: is there a record, or was it only mentioned? */
  struct lumos_numbering lane_numbers; /* of their ranks and names, as they stand in the job */
  uint32_t last_lane;                  /* of the last task */

  /* What --edited made of it. */
  int64_t recounted;  /* types whose count in the end record is not what was there */
  int64_t dropped;    /* records */
  int64_t references; /* that pointed nowhere */
};

/* Fail with the input's name and the line's number before the text; returns false. */
bool lumos_reader_fail(struct lumos_reader *reader, const char *format, ...) LUMOS_FORMAT(2, 3);

bool lumos_reader_fail_syntax(struct lumos_reader *reader);

/* What to do about a stream whose parts disagree. */
#define LUMOS_EDITED_CURE \
  "make the stream again, or give --edited to use what is left of a stream that was changed on purpose"

/* A string without its escapes; valid until the next call. */
struct lumos_slice lumos_reader_decode(struct lumos_reader *reader, const struct lumos_slice *escaped);

/* Read the value of a field at the cursor into its slot: by kind of field, none for the type and for objects. False
 * with an error. */
typedef bool lumos_value_reader(struct lumos_reader *reader, const struct lumos_field *field, void *slot,
                                const char **cursor);
extern lumos_value_reader *const lumos_value_readers[FIELD_KINDS];

/* Nothing is remembered yet. */
void lumos_remembered_begin(struct lumos_remembered *remembered);
void lumos_remembered_finish(struct lumos_remembered *remembered);

/* Take the record in `line`, a line of lines.h, apart into the reader's structs. False with an error. *foreign: its
 * type, when we do not know it. */
bool lumos_record_read(struct lumos_reader *reader, const char *line, size_t length,
                       lumos_string_id *foreign) LUMOS_MUST_CHECK;

/* Turn what slots hold into indices; with --edited drop what points nowhere, else refuse it. False with an error. */
bool lumos_reader_resolve(struct lumos_reader *reader) LUMOS_MUST_CHECK;

#endif
