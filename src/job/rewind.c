/* Going back to an earlier stage: what later stages have written is dropped, told by the schema's column `by`. */
#include <lumos/job.h>

#include "base/text.h"
#include "job/unknown.h"
#include <string.h>

static size_t slot_size(const struct lumos_field *field) {
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
    case FIELD_ORIGIN:
      return 8;
    case FIELD_DECIMAL:
      return sizeof(struct lumos_decimal);
    case FIELD_NAME:
      return 1;
    default:
      return 4;
  }
}

/* Make a field absent in every record of a part. */
static void clear_field(char *records, size_t count, size_t size, const char *empty, const struct lumos_field *field) {
  for (size_t i = 0; i < count; i++) {
    memcpy(records + i * size + field->offset, empty + field->offset, slot_size(field));
  }
}

/* The kept members of an inner object go with it, or it would be written for their sake. */
static lumos_string_id without_members_of(struct lumos_job *job, lumos_string_id unknown,
                                          const struct lumos_field *object) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const char *cursor = lumos_string(job->strings, unknown);
  struct lumos_slice key;
  struct lumos_slice member;
  bool found = false;
  while (lumos_unknown_next(&cursor, &key, &member)) {
    if (lumos_unknown_is_of(object, &key)) {
      found = true;
    } else {
      lumos_text_put(&text, text.length > 0 ? "," : "");
      lumos_text_add(&text, member.bytes, member.length);
    }
  }
  if (found) {
    unknown = text.length > 0 ? lumos_intern(job->strings, text.bytes, text.length) : LUMOS_NO_STRING;
  }
  lumos_text_free(&text);
  return unknown;
}

static void clear_object(struct lumos_job *job, enum lumos_record_kind kind, const struct lumos_field *object) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  const struct lumos_field *last = &type->fields[type->count - 1];
  size_t records = 0;
  char *items = lumos_part_items(job, kind, object->part, &records);
  for (size_t record = 0; object->flag != 0 && record < records; record++) {
    *(bool *)(items + record * type->sizes[object->part] + object->flag) = false;
  }
  items = lumos_part_items(job, kind, last->part, &records);
  for (size_t record = 0; record < records; record++) {
    lumos_string_id *unknown = (lumos_string_id *)(items + record * type->sizes[last->part] + last->offset);
    *unknown = *unknown == LUMOS_NO_STRING ? *unknown : without_members_of(job, *unknown, object);
  }
}

/* The fields of `table` that are later than `stage`; `later`: the object around them is. */
static void clear_fields(struct lumos_job *job, enum lumos_record_kind kind, const struct lumos_field *table,
                         size_t count, enum lumos_stage stage, bool later) {
  const struct lumos_record_type *type = &lumos_schema[kind];
  for (size_t i = 0; i < count; i++) {
    const struct lumos_field *field = &table[i];
    bool drop = later || field->by > (uint8_t)stage;
    size_t records = 0;
    char *items = lumos_part_items(job, kind, field->part, &records);
    if (field->kind == FIELD_OBJECT) {
      clear_fields(job, kind, field->members, field->member_count, stage, drop);
      if (drop) {
        clear_object(job, kind, field);
      }
    } else if (drop) {
      clear_field(items, records, type->sizes[field->part], type->empty[field->part], field);
    }
  }
}

/* A note belongs to the stage that its code begins with; to parse, when to none. */
static int stage_of_note(const struct lumos_job *job, const struct lumos_note *note) {
  const char *code = lumos_string(job->strings, note->code);
  int stage = lumos_names_find(&lumos_stage_names, code, strcspn(code, "."));
  return stage < 0 ? LUMOS_STAGE_PARSE : stage;
}

static void drop_notes(struct lumos_job *job, enum lumos_stage stage) {
  size_t kept = 0;
  for (size_t i = 0; i < job->notes.count; i++) {
    if (stage_of_note(job, &job->notes.items[i]) <= (int)stage) {
      job->notes.items[kept++] = job->notes.items[i];
    }
  }
  job->notes.count = kept;
}

/* What graph and sim did is done anew, so their lines go; what transform did to durations stays, and its line with
 * it. */
static void drop_history(struct lumos_job *job, enum lumos_stage stage) {
  size_t kept = 0;
  for (size_t i = 0; i < job->history.count; i++) {
    const char *tool = lumos_string(job->strings, job->history.items[i].tool);
    bool drop = (stage < LUMOS_STAGE_GRAPH && strcmp(tool, "lumos-graph") == 0) ||
                (stage < LUMOS_STAGE_TRANSFORM && job->edited == 0 && strcmp(tool, "lumos-transform") == 0) ||
                (stage < LUMOS_STAGE_SIM && strcmp(tool, "lumos-sim") == 0);
    if (!drop) {
      job->history.items[kept++] = job->history.items[i];
    }
  }
  job->history.count = kept;
}

/* Lanes that graph found out for waits that did not name one: an inferred host_wait edge stands beside each. */
static void forget_inferred_lanes(struct lumos_job *job) {
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    uint32_t detail = job->tasks.items[dep->dst].detail;
    if (dep->kind == LUMOS_HOST_WAIT && dep->evidence == LUMOS_INFERRED && detail != LUMOS_NONE) {
      job->details.items[detail].wait.lane = LUMOS_NONE;
    }
  }
}

/* Of a job that lost its measured starts transform has kept what was measured before; a parsed one has no metrics. */
static void drop_metrics(struct lumos_job *job, enum lumos_stage stage) {
  size_t kept = 0;
  bool keeps = stage >= LUMOS_STAGE_GRAPH && lumos_job_edited(job) && !lumos_job_measured(job);
  for (size_t i = 0; keeps && i < job->metrics.count; i++) {
    if (job->metrics.items[i].source == LUMOS_METRIC_MEASURED) {
      job->metrics.items[kept++] = job->metrics.items[i];
    }
  }
  job->metrics.count = kept;
}

void lumos_job_rewind(struct lumos_job *job, enum lumos_stage stage) {
  if (job->stage <= stage) {
    return;
  }
  if (stage < LUMOS_STAGE_SIM) {
    lumos_vector_free(&job->runs);
    lumos_job_forget_run(job);
    drop_metrics(job, stage);
  }
  if (stage < LUMOS_STAGE_TRANSFORM) {
    job->common_errors.count = 0;
    job->recorded_passes.count = 0;
  }
  if (stage < LUMOS_STAGE_GRAPH) {
    forget_inferred_lanes(job);
    job->deps.count = 0;
    job->collectives.count = 0;
    job->members.count = 0;
    job->models.count = 0;
  }
  for (int kind = RECORD_RANK; kind < RECORD_END; kind++) {
    clear_fields(job, (enum lumos_record_kind)kind, lumos_schema[kind].fields, lumos_schema[kind].count, stage, false);
  }
  drop_notes(job, stage);
  drop_history(job, stage);
  if (stage < LUMOS_STAGE_TRANSFORM && !lumos_job_edited(job)) {
    job->edited = LUMOS_ABSENT_INT;
  }
  job->stage = stage;
}
