/* The schema of the stream as data: one row a field, in the order in which fields are written.
 *
 * The reader, the writer, the checks, the join and the rewind all walk these tables, so a field is named in one place.
 * A record lies in up to four structs, its parts (a task: itself, its timing, its run, its detail); a row says in which
 * one and where. References that only memory holds, such as a task's to its detail, are rows as well: a type's links.
 */
#ifndef LUMOS_JOB_SCHEMA_H
#define LUMOS_JOB_SCHEMA_H

#include "job/names.h"
#include <lumos/job.h>

/* What a slot holds in memory, and with it how it looks in the stream. */
enum lumos_field_kind {
  FIELD_TYPE,          /* the record's type: no slot */
  FIELD_INTEGER,       /* int64_t */
  FIELD_INSTANT,       /* int64_t, counts from the epoch */
  FIELD_WINDOW,        /* two adjacent instants: [start,end] */
  FIELD_SMALL,         /* int32_t */
  FIELD_ORDINAL,       /* uint32_t */
  FIELD_DECIMAL,       /* struct lumos_decimal */
  FIELD_MILLIONTHS,    /* int32_t: a decimal */
  FIELD_STRING,        /* lumos_string_id */
  FIELD_NAME,          /* uint8_t, by a table of names */
  FIELD_RANK,          /* number of the rank that the record belongs to: no slot, the lane or the struct has it */
  FIELD_ID,            /* uint32_t: the N of the record's own "RANK:N" */
  FIELD_COLLECTIVE_ID, /* uint32_t: the N of "c:N" */
  FIELD_LANE,          /* index of a lane of the record's rank: its name */
  FIELD_TASK,          /* index of a task of the record's rank: T */
  FIELD_SPAN,          /* index of a span of the record's rank: S */
  FIELD_ANY_TASK,      /* index of a task of any rank: T */
  FIELD_GROUP,         /* lumos_string_id: the id of a group */
  FIELD_COMMON_ERROR,  /* lumos_string_id: the id of a common error */
  FIELD_ORIGIN,        /* int32_t rank number and uint32_t N, adjacent: a T that need not exist any more */
  FIELD_RANKS,         /* first and count, adjacent, in job->group_ranks: [number...] */
  FIELD_MEMBERS,       /* first and count in job->members: [T...] */
  FIELD_PEERS,         /* first and count in job->peers: [{rank send recv}...] */
  FIELD_OBJECT,        /* fields of an inner object: no slot */
  FIELD_FORMAT,        /* of the header: no slot */
  FIELD_STAGE,         /* enum lumos_stage */
  FIELD_EPOCH,         /* int64_t as a string */
  FIELD_HISTORY,       /* job->history: no slot */
  FIELD_COUNTS,        /* lines of each type: no slot */
  FIELD_UNKNOWN,       /* lumos_string_id: members that the schema does not know; the last row */
  /* Of links: uint32_t, an index. */
  LINK_RANK,
  LINK_DETAIL,
  LINK_TIMING,
  LINK_INPUTS, /* first and count in job->inputs */
  FIELD_KINDS
};
_Static_assert(FIELD_KINDS <= 64, "a set of kinds is 64 bits");
#define LUMOS_KIND_BIT(kind) (UINT64_C(1) << (unsigned)(kind))

/* What a slot refers to: an array of the job, or its string table. Of a range (RANKS, MEMBERS, PEERS, INPUTS) the first
 * one. */
enum lumos_target {
  TARGET_NONE, /* the slot is no reference */
  TARGET_STRINGS,
  TARGET_INPUTS,
  TARGET_RANKS,
  TARGET_GROUPS, /* by id: a string; while ranks are joined by index + 1 (job/groups.h) */
  TARGET_GROUP_RANKS,
  TARGET_COMMON_ERRORS, /* by id: a string; only changed jobs have them, and those are never joined */
  TARGET_LANES,
  TARGET_SPANS,
  TARGET_TASKS,
  TARGET_DETAILS,
  TARGET_TIMINGS,
  TARGET_PEERS,
  TARGET_MEMBERS,
  LUMOS_TARGETS
};
static inline enum lumos_target lumos_target_of(enum lumos_field_kind kind) {
  switch (kind) { /* no default: a new kind has to be placed */
    case FIELD_STRING:
    case FIELD_UNKNOWN:
      return TARGET_STRINGS;
    case FIELD_GROUP:
      return TARGET_GROUPS;
    case FIELD_COMMON_ERROR:
      return TARGET_COMMON_ERRORS;
    case FIELD_LANE:
      return TARGET_LANES;
    case FIELD_SPAN:
      return TARGET_SPANS;
    case FIELD_TASK:
    case FIELD_ANY_TASK:
      return TARGET_TASKS;
    case FIELD_RANKS:
      return TARGET_GROUP_RANKS;
    case FIELD_MEMBERS:
      return TARGET_MEMBERS;
    case FIELD_PEERS:
      return TARGET_PEERS;
    case LINK_RANK:
      return TARGET_RANKS;
    case LINK_DETAIL:
      return TARGET_DETAILS;
    case LINK_TIMING:
      return TARGET_TIMINGS;
    case LINK_INPUTS:
      return TARGET_INPUTS;
    case FIELD_TYPE:
    case FIELD_INTEGER:
    case FIELD_INSTANT:
    case FIELD_WINDOW:
    case FIELD_SMALL:
    case FIELD_ORDINAL:
    case FIELD_DECIMAL:
    case FIELD_MILLIONTHS:
    case FIELD_NAME:
    case FIELD_RANK:
    case FIELD_ID:
    case FIELD_COLLECTIVE_ID:
    case FIELD_ORIGIN:
    case FIELD_OBJECT:
    case FIELD_FORMAT:
    case FIELD_STAGE:
    case FIELD_EPOCH:
    case FIELD_HISTORY:
    case FIELD_COUNTS:
    case FIELD_KINDS:
      break;
  }
  return TARGET_NONE;
}

/* The kinds of field that refer to a target, as bits. */
uint64_t lumos_kinds_to(enum lumos_target target);
/* How many elements the array has; 0 for the string table. */
size_t lumos_target_count(const struct lumos_job *job, enum lumos_target target);

/* The least value of a number. */
enum lumos_least { LEAST_ANY, LEAST_ZERO, LEAST_ONE };

enum { PART_MAIN, PART_TIMING, PART_RUN, PART_DETAIL, LUMOS_PARTS };
enum { PART_HISTORY = 1, PART_INPUTS, PART_FOREIGN }; /* of the header, whose main part is the job */

enum { LUMOS_KEY_ROOM = 24 }; /* bytes of lumos_field.key: all can be copied at once */

struct lumos_field {
  char key[LUMOS_KEY_ROOM]; /* as written, with comma, quotes and colon; the bare name starts at key + 2 */
  uint8_t length;           /* of the bare name; UINT8_MAX for FIELD_UNKNOWN, which has none */
  uint8_t kind, part;
  uint8_t by; /* the first stage that writes it; 0: parse */
  uint8_t least;
  bool required;
  uint16_t offset;
  uint16_t flag;        /* FIELD_OBJECT: offset of the bool that says it is there; 0: it is there when a member is */
  uint8_t member_count; /* FIELD_OBJECT */
  const struct lumos_field *members; /* FIELD_OBJECT */
  const struct lumos_names *names;   /* FIELD_NAME, FIELD_STAGE */
};

enum lumos_record_kind {
  RECORD_HEADER,
  RECORD_RANK,
  RECORD_GROUP,
  RECORD_LANE,
  RECORD_SPAN,
  RECORD_TASK,
  RECORD_MEMORY,
  RECORD_DEP,
  RECORD_COLLECTIVE,
  RECORD_MODEL,
  RECORD_COMMON_ERROR,
  RECORD_PASS,
  RECORD_METRIC,
  RECORD_NOTE,
  RECORD_END,
  RECORD_KINDS
};

struct lumos_record_type {
  const char *name;
  const char *opening; /* how its lines begin: {"type":"NAME" */
  uint8_t opening_length;
  uint8_t by;                       /* the first stage that writes such records; 0: parse */
  const struct lumos_field *fields; /* at most 64, the type first and FIELD_UNKNOWN last */
  size_t count;
  const struct lumos_field *links; /* references that are not in the stream */
  size_t link_count;
  size_t sizes[LUMOS_PARTS];      /* of the structs; 0: no such part */
  const void *empty[LUMOS_PARTS]; /* records with every optional field absent */
};
extern const struct lumos_record_type lumos_schema[RECORD_KINDS];
extern const struct lumos_run lumos_run_empty;

/* The structs of one record, by part. */
struct lumos_record {
  void *parts[LUMOS_PARTS];
};
static inline void *lumos_slot(const struct lumos_record *record, const struct lumos_field *field) {
  return (char *)record->parts[field->part] + field->offset;
}

/* The array in which a part of a kind of record lies; NULL and count 0 where there is none. */
void *lumos_part_items(const struct lumos_job *job, enum lumos_record_kind kind, int part, size_t *count);

/* Is the slot's value absent? (Objects, and what has no slot, never are.) */
static inline bool lumos_slot_absent(const struct lumos_field *field, const void *slot) {
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
      return *(const int64_t *)slot == LUMOS_ABSENT;
    case FIELD_SMALL:
    case FIELD_MILLIONTHS:
      return *(const int32_t *)slot == LUMOS_ABSENT_INT;
    case FIELD_DECIMAL:
      return ((const struct lumos_decimal *)slot)->units == LUMOS_ABSENT;
    case FIELD_STRING:
    case FIELD_GROUP:
    case FIELD_COMMON_ERROR:
    case FIELD_UNKNOWN:
      return *(const lumos_string_id *)slot == LUMOS_NO_STRING;
    case FIELD_NAME:
      return *(const uint8_t *)slot == 0 && field->names->names[0][0] == '\0';
    case FIELD_LANE:
    case FIELD_TASK:
    case FIELD_SPAN:
    case FIELD_ANY_TASK:
    case LINK_RANK:
    case LINK_DETAIL:
    case LINK_TIMING:
      return *(const uint32_t *)slot == LUMOS_NONE;
    case FIELD_ORIGIN:
      return ((const uint32_t *)slot)[1] == LUMOS_NONE;
    case FIELD_RANKS:
    case FIELD_PEERS:
    case LINK_INPUTS:
      return ((const uint32_t *)slot)[1] == 0;
    default:
      return false;
  }
}

/* Call `visit` for every slot in the job, links included, whose kind is in `kinds` (bits made by LUMOS_KIND_BIT),
 * absent ones too. */
typedef void lumos_visit(const struct lumos_field *field, void *slot, void *context);
void lumos_visit_slots(struct lumos_job *job, uint64_t kinds, lumos_visit *visit, void *context);

#endif
