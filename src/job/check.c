/* The invariants of job.h and stream.h. Here: what the schema says of every field, alone. Then order (arrange.c) and
 * what holds between records (relations.c), which may follow every index because of what was checked here.
 */
#include "job/check.h"

#include "base/parallel.h"
#include <lumos/stream.h>

#include <stdlib.h>

static const int64_t too_large = INT64_C(1) << 53U;

static const char *fault_of_number(const struct lumos_field *field, int64_t value) {
  static const char *const faults[] = {[LEAST_ZERO] = "is negative", [LEAST_ONE] = "is less than 1"};
  if (value <= -too_large || value >= too_large) {
    return "is not below 2^53";
  }
  return field->least != LEAST_ANY && value < (field->least == LEAST_ONE) ? faults[field->least] : NULL;
}

static const char *fault_of_decimal(const struct lumos_field *field, const struct lumos_decimal *value) {
  int64_t whole = value->units;
  if (value->decimals < 0 || value->decimals > 6) {
    return "has more than 6 decimals";
  }
  for (int i = 0; i < value->decimals; i++) {
    whole /= 10;
  }
  return field->least == LEAST_ZERO && value->units < 0 ? "is negative" : fault_of_number(field, whole);
}

/* A reference by index, or a list. */
static const char *fault_of_reference(const struct lumos_job *job, const struct lumos_field *field,
                                      const uint32_t *slot) {
  enum lumos_target target = lumos_target_of(field->kind);
  size_t count = lumos_target_count(job, target);
  if (target == TARGET_GROUP_RANKS || target == TARGET_PEERS || target == TARGET_MEMBERS || target == TARGET_INPUTS) {
    return (uint64_t)slot[0] + slot[1] > count ? "points outside of its list" : NULL;
  }
  return target != TARGET_NONE && *slot >= count ? "points to a record that is not there" : NULL;
}

static const char *fault_of_string(const struct lumos_check *check, const struct lumos_field *field,
                                   lumos_string_id string) {
  if (string > lumos_strings_count(check->job->strings)) {
    return "is not a string";
  }
  if (field->kind == FIELD_GROUP && check->is_group[string] == 0) {
    return "names a group that has no record";
  }
  return field->kind == FIELD_COMMON_ERROR && check->is_common_error[string] == 0
             ? "names a common error that has no record"
             : NULL;
}

/* What is wrong with a value that is there; NULL: nothing. */
static const char *fault_of(const struct lumos_check *check, const struct lumos_field *field, const void *slot) {
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
      return fault_of_number(field, *(const int64_t *)slot);
    case FIELD_SMALL:
    case FIELD_MILLIONTHS:
      return fault_of_number(field, *(const int32_t *)slot);
    case FIELD_WINDOW: {
      const int64_t *window = slot;
      const char *fault = fault_of_number(field, window[0]);
      fault = fault != NULL ? fault : fault_of_number(field, window[1]);
      return fault == NULL && window[1] < window[0] ? "ends before it starts" : fault;
    }
    case FIELD_DECIMAL:
      return fault_of_decimal(field, slot);
    case FIELD_STRING:
    case FIELD_GROUP:
    case FIELD_COMMON_ERROR:
    case FIELD_UNKNOWN:
      return fault_of_string(check, field, *(const lumos_string_id *)slot);
    case FIELD_NAME:
      return *(const uint8_t *)slot >= field->names->count ? "has no name" : NULL;
    case FIELD_ID:
    case FIELD_ORDINAL:
    case FIELD_COLLECTIVE_ID:
      return *(const uint32_t *)slot == LUMOS_NONE ? "is above 2^32-2" : NULL;
    case FIELD_ORIGIN:
      return *(const int32_t *)slot < 0 ? "has no rank" : NULL;
    default:
      return fault_of_reference(check->job, field, slot);
  }
}

/* One field of one record. *there: has it a value? */
static bool check_field(const struct lumos_check *check, enum lumos_record_kind kind, size_t index,
                        const struct lumos_field *field, const void *slot, bool *there) {
  const char *fault = NULL;
  *there = !lumos_slot_absent(field, slot);
  if (*there) {
    fault = fault_of(check, field, slot);
    if (fault == NULL && field->by > (uint8_t)check->job->stage) {
      fault = "belongs to a later stage than the job is at";
    }
  }
  return fault == NULL ||
         lumos_check_fail(check, kind, index, "%.*s %s", field->length == UINT8_MAX ? 7 : field->length,
                          field->length == UINT8_MAX ? "unknown" : field->key + 2, fault);
}

static bool fail_missing(const struct lumos_check *check, enum lumos_record_kind kind, size_t index,
                         const struct lumos_field *field) {
  return lumos_check_fail(check, kind, index, "%.*s is missing", (int)field->length, field->key + 2);
}

/* An object is whole or absent: once one member has a value, the required ones must. */
static bool check_object(const struct lumos_check *check, enum lumos_record_kind kind, size_t index,
                         const struct lumos_field *object, const struct lumos_record *record) {
  bool present = object->required;
  const struct lumos_field *missing = NULL;
  if (object->flag != 0) {
    present = *((const bool *)record->parts[object->part] + object->flag);
    if (!present) {
      return true;
    }
    if (object->by > (uint8_t)check->job->stage) {
      return lumos_check_fail(check, kind, index, "%.*s belongs to a later stage than the job is at",
                              (int)object->length, object->key + 2);
    }
  }
  for (size_t i = 0; i < object->member_count; i++) {
    const struct lumos_field *field = &object->members[i];
    bool there = false;
    if (!check_field(check, kind, index, field, lumos_slot(record, field), &there)) {
      return false;
    }
    present = present || there;
    missing = missing == NULL && field->required && !there ? field : missing;
  }
  return !present || missing == NULL || fail_missing(check, kind, index, missing);
}

static bool check_record(const struct lumos_check *check, enum lumos_record_kind kind, size_t index,
                         const struct lumos_record *record) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  for (size_t i = 1; i < type->count; i++) {
    const struct lumos_field *field = &type->fields[i];
    bool there = false;
    if (record->parts[field->part] == NULL) {
      continue;
    }
    if (field->kind == FIELD_OBJECT) {
      if (!check_object(check, kind, index, field, record)) {
        return false;
      }
    } else if (!check_field(check, kind, index, field, lumos_slot(record, field), &there)) {
      return false;
    } else if (field->required && !there) {
      return fail_missing(check, kind, index, field);
    }
  }
  return true;
}

/* ---- many records at once ---- */

enum { BATCH = 64 }; /* records: a bit each. Their fields are looked at one after the other */

struct batch {
  uint64_t there, bad; /* by record: has the field a value, and a wrong one? */
};

/* `is_there` and `is_good` speak of `slot`, as a `type`. */
#define LOOK(type, is_there, is_good)                  \
  do {                                                 \
    for (size_t i = 0; i < count; i++, at += size) {   \
      type const *slot = (const void *)at;             \
      bool has = (is_there);                           \
      batch.there |= (uint64_t)has << i;               \
      batch.bad |= (uint64_t)(has && !(is_good)) << i; \
    }                                                  \
  } while (0)

/* One field of `count` records, of which the first has it at `at`, and the next `size` bytes further on. */
static struct batch look_at_field(const struct lumos_check *check, const struct lumos_field *field, const char *at,
                                  size_t size, size_t count) {
  const int64_t least = field->least == LEAST_ANY ? 1 - too_large : field->least == LEAST_ONE;
  struct batch batch = {0, 0};
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
      LOOK(int64_t, *slot != LUMOS_ABSENT, *slot >= least && *slot < too_large);
      break;
    case FIELD_SMALL:
    case FIELD_MILLIONTHS:
      LOOK(int32_t, *slot != LUMOS_ABSENT_INT, *slot >= least);
      break;
    case FIELD_NAME: {
      const size_t names = field->names->count;
      const bool zero = field->names->names[0][0] != '\0';
      LOOK(uint8_t, *slot != 0 || zero, *slot < names);
      break;
    }
    case FIELD_STRING:
    case FIELD_UNKNOWN: {
      const uint32_t strings = lumos_strings_count(check->job->strings);
      LOOK(lumos_string_id, *slot != LUMOS_NO_STRING, *slot <= strings);
      break;
    }
    case FIELD_LANE:
    case FIELD_TASK:
    case FIELD_SPAN:
    case FIELD_ANY_TASK:
    case LINK_DETAIL:
    case LINK_TIMING: {
      const size_t targets = lumos_target_count(check->job, lumos_target_of(field->kind));
      LOOK(uint32_t, *slot != LUMOS_NONE, *slot < targets);
      break;
    }
    case FIELD_ID:
    case FIELD_ORDINAL:
      LOOK(uint32_t, true, *slot != LUMOS_NONE);
      break;
    default:
      LOOK(char, !lumos_slot_absent(field, slot), fault_of(check, field, slot) == NULL);
  }
  batch.bad |= field->by > (uint8_t)check->job->stage ? batch.there : 0;
  return batch;
}

/* Is nothing wrong with those of these fields that lie in a part, in `count` records? An object of which they are the
 * members is whole or absent; `whole`: it is there. False also where it cannot tell. */
static bool is_clean_batch(const struct lumos_check *check, const struct lumos_field *fields, size_t field_count,
                           int part, const char *records, size_t size, size_t count, bool whole) {
  uint64_t there = 0, missing = 0, all = count == BATCH ? UINT64_MAX : (UINT64_C(1) << count) - 1;
  for (size_t f = 0; f < field_count; f++) {
    const struct lumos_field *field = &fields[f];
    if (field->kind == FIELD_OBJECT) {
      bool good = field->part != part ||
                  (field->flag == 0 && !field->required &&
                   is_clean_batch(check, field->members, field->member_count, part, records, size, count, false));
      if (!good) {
        return false;
      }
    } else if (field->part == part) {
      struct batch batch = look_at_field(check, field, records + field->offset, size, count);
      if (batch.bad != 0) {
        return false;
      }
      there |= batch.there;
      missing |= field->required ? all & ~batch.there : 0;
    }
  }
  return ((whole ? all : there) & missing) == 0;
}

/* Records of a part, of which there may be many: pieces of them are looked at side by side. */
struct looked {
  const struct lumos_check *check;
  const struct lumos_field *fields;
  size_t field_count;
  int part;
  const char *items;
  size_t size, count;
};
enum { PIECE = BATCH << 12 };

static bool is_clean_piece(void *context, size_t index, bool callers) {
  const struct looked *looked = context;
  size_t first = index * PIECE, end = looked->count - first < PIECE ? looked->count : first + PIECE;
  (void)callers; /* nobody is told */
  for (size_t i = first; i < end; i += BATCH) {
    size_t records = end - i < BATCH ? end - i : BATCH;
    if (!is_clean_batch(looked->check, looked->fields, looked->field_count, looked->part,
                        looked->items + i * looked->size, looked->size, records, true)) {
      return false;
    }
  }
  return true;
}

static bool is_clean_part(const struct lumos_check *check, enum lumos_record_kind kind, int part,
                          const struct lumos_field *fields, size_t field_count) {
  struct looked looked = {.check = check,
                          .fields = fields,
                          .field_count = field_count,
                          .part = part,
                          .size = lumos_schema[kind].sizes[part]};
  looked.items = lumos_part_items(check->job, kind, part, &looked.count);
  size_t pieces = (looked.count + PIECE - 1) / PIECE;
  return lumos_parallel(pieces, check->job->threads, is_clean_piece, &looked) == pieces;
}

/* Is nothing wrong with any field of the records of a kind, each part taken for itself? */
static bool is_clean(const struct lumos_check *check, enum lumos_record_kind kind) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  bool clean = true;
  for (int part = 0; part < LUMOS_PARTS && type->sizes[part] > 0; part++) {
    clean = clean && is_clean_part(check, kind, part, type->fields + 1, type->count - 1);
  }
  return clean;
}

/* ---- all records ---- */

static bool check_tasks(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  for (size_t i = 0; i < job->tasks.count; i++) {
    struct lumos_task *task = &job->tasks.items[i];
    struct lumos_record record = {{
        task,
        task->timing == LUMOS_NONE ? NULL : &job->timings.items[task->timing],
        job->runs.count == 0 ? NULL : &job->runs.items[i],
        task->detail == LUMOS_NONE ? NULL : &job->details.items[task->detail],
    }};
    if (!check_record(check, RECORD_TASK, i, &record)) {
      return false;
    }
  }
  return true;
}

static bool check_fields(const struct lumos_check *check) {
  for (int kind = RECORD_RANK; kind < RECORD_END; kind++) {
    size_t count = 0;
    char *items = lumos_part_items(check->job, (enum lumos_record_kind)kind, PART_MAIN, &count);
    if (count > 0 && lumos_schema[kind].by > (uint8_t)check->job->stage) {
      return lumos_fail(check->error,
                        "there are %s records, which belong to a later stage than %s; make the stream again",
                        lumos_schema[kind].name, lumos_stage_name(check->job->stage));
    }
    bool clean = is_clean(check, (enum lumos_record_kind)kind);
    for (size_t i = 0; kind != RECORD_TASK && i < count && !clean; i++) {
      struct lumos_record record = {{items + i * lumos_schema[kind].sizes[PART_MAIN]}};
      if (!check_record(check, (enum lumos_record_kind)kind, i, &record)) {
        return false;
      }
    }
  }
  return is_clean(check, RECORD_TASK) || check_tasks(check);
}

/* The links of all records: before their parts are looked at. */
static bool check_links(const struct lumos_check *check) {
  for (int kind = RECORD_HEADER; kind < RECORD_END; kind++) {
    for (size_t i = 0; i < lumos_schema[kind].link_count; i++) {
      const struct lumos_field *link = &lumos_schema[kind].links[i];
      size_t count = 0;
      const char *slot = lumos_part_items(check->job, (enum lumos_record_kind)kind, link->part, &count);
      bool clean = is_clean_part(check, (enum lumos_record_kind)kind, link->part, link, 1);
      for (size_t record = 0; record < count && !clean; record++) {
        const char *at = slot + record * lumos_schema[kind].sizes[link->part] + link->offset;
        bool there = false;
        if (!check_field(check, (enum lumos_record_kind)kind, record, link, at, &there)) {
          return false;
        }
        if (link->required && !there) {
          return fail_missing(check, (enum lumos_record_kind)kind, record, link);
        }
      }
    }
  }
  return true;
}

/* What is no field: the arrays that run parallel to tasks, the members of collectives, the header. */
static bool check_frame(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  bool run = job->stage >= LUMOS_STAGE_SIM;
  if (job->stage < LUMOS_STAGE_PARSE || job->stage > LUMOS_STAGE_SIM || job->epoch < 0) {
    return lumos_fail(check->error, "the job has no valid stage or epoch; make the stream again");
  }
  if (job->runs.count != (run ? job->tasks.count : 0)) {
    return lumos_fail(check->error, "not every task has what stage %s writes; make the stream again",
                      lumos_stage_name(job->stage));
  }
  for (size_t i = 0; i < job->members.count; i++) {
    if (job->members.items[i] >= job->tasks.count) {
      return lumos_fail(check->error, "a member of a collective is not there; make the stream again");
    }
  }
  return true;
}

bool lumos_job_check(const struct lumos_job *job, struct lumos_error *error) {
  struct lumos_check check = {.job = job, .error = error};
  uint32_t strings = lumos_strings_count(job->strings);
  check.is_group = lumos_allocate_zeroed(strings + 1U, 1);
  for (size_t i = 0; i < job->groups.count; i++) {
    if (job->groups.items[i].id <= strings) {
      check.is_group[job->groups.items[i].id] = 1;
    }
  }
  check.is_common_error = lumos_allocate_zeroed(strings + 1U, 1);
  for (size_t i = 0; i < job->common_errors.count; i++) {
    if (job->common_errors.items[i].id <= strings) {
      check.is_common_error[job->common_errors.items[i].id] = 1;
    }
  }
  bool good = check_frame(&check) && check_links(&check) && check_fields(&check) && lumos_check_order(&check) &&
              lumos_check_relations(&check);
  free(check.is_group);
  free(check.is_common_error);
  return good;
}
