/* The types of records, from their rows, and walks over all records. */
#include "job/schema_rows.h"

#define NAME(type) \
  .name = (type), .opening = "{\"type\":\"" type "\"", .opening_length = sizeof("{\"type\":\"" type "\"") - 1
#define RECORD(type, table, record, ...)                                                                 \
  {                                                                                                      \
    NAME(type), .fields = (table), .count = LUMOS_ROWS(table), .sizes = {sizeof(struct lumos_##record)}, \
                .empty = {&lumos_##record##_empty}, __VA_ARGS__                                          \
  }

const struct lumos_record_type lumos_schema[RECORD_KINDS] = {
    [RECORD_HEADER] = {NAME("lumos"), .fields = header_fields, .count = LUMOS_ROWS(header_fields)},
    [RECORD_RANK] = RECORD("rank", rank_fields, rank, ),
    [RECORD_GROUP] = RECORD("group", group_fields, group, ),
    [RECORD_LANE] = RECORD("lane", lane_fields, lane, ),
    [RECORD_SPAN] = RECORD("span", span_fields, span, ),
    [RECORD_TASK] = {NAME("task"), .fields = task_fields, .count = LUMOS_ROWS(task_fields),
                     .sizes = {sizeof(struct lumos_task), sizeof(struct lumos_timing), sizeof(struct lumos_run),
                               sizeof(struct lumos_detail)},
                     .empty = {&lumos_task_empty, &lumos_timing_empty, &lumos_run_empty, &lumos_detail_empty}},
    [RECORD_DEP] = RECORD("dep", dep_fields, dep, .by = LUMOS_STAGE_GRAPH),
    [RECORD_COLLECTIVE] = RECORD("collective", collective_fields, collective, .by = LUMOS_STAGE_GRAPH),
    [RECORD_MODEL] = RECORD("model", model_fields, model_description, .by = LUMOS_STAGE_GRAPH),
    [RECORD_METRIC] = RECORD("metric", metric_fields, metric, .by = LUMOS_STAGE_GRAPH),
    [RECORD_NOTE] = RECORD("note", note_fields, note, ),
    [RECORD_END] = {NAME("end"), .fields = end_fields, .count = LUMOS_ROWS(end_fields)},
};

_Static_assert(LUMOS_ROWS(task_fields) <= 64, "the reader keeps one bit a field");
_Static_assert(offsetof(struct lumos_detail, from_id) == offsetof(struct lumos_detail, from_rank) + 4, "FIELD_ORIGIN");
_Static_assert(offsetof(struct lumos_rank, window_end) == offsetof(struct lumos_rank, window_start) + 8,
               "FIELD_WINDOW");
_Static_assert(offsetof(struct lumos_comm, peer_count) == offsetof(struct lumos_comm, peer_first) + 4, "FIELD_PEERS");
_Static_assert(offsetof(struct lumos_group, member_count) == offsetof(struct lumos_group, member_first) + 4,
               "FIELD_RANKS");
_Static_assert(offsetof(struct lumos_collective, member_count) == offsetof(struct lumos_collective, member_first) + 4,
               "FIELD_MEMBERS");

void *lumos_part_items(const struct lumos_job *job, enum lumos_record_kind kind, int part, size_t *count) {
#define ITEMS(vector) (*count = job->vector.count, (void *)job->vector.items)
  switch (kind) {
    case RECORD_RANK:
      return ITEMS(ranks);
    case RECORD_GROUP:
      return ITEMS(groups);
    case RECORD_LANE:
      return ITEMS(lanes);
    case RECORD_SPAN:
      return ITEMS(spans);
    case RECORD_TASK:
      return part == PART_MAIN     ? ITEMS(tasks)
             : part == PART_TIMING ? ITEMS(timings)
             : part == PART_RUN    ? ITEMS(runs)
                                   : ITEMS(details);
    case RECORD_DEP:
      return ITEMS(deps);
    case RECORD_COLLECTIVE:
      return ITEMS(collectives);
    case RECORD_MODEL:
      return ITEMS(models);
    case RECORD_METRIC:
      return ITEMS(metrics);
    case RECORD_NOTE:
      return ITEMS(notes);
    default:
      *count = 0;
      return NULL;
  }
#undef ITEMS
}

static void visit_part(struct lumos_job *job, enum lumos_record_kind kind, const struct lumos_field *fields,
                       size_t count, uint32_t kinds, lumos_visit *visit, void *context) {
  for (size_t i = 0; i < count; i++) {
    const struct lumos_field *field = &fields[i];
    if (field->kind == FIELD_OBJECT) {
      visit_part(job, kind, field->members, field->member_count, kinds, visit, context);
    } else if ((kinds & LUMOS_KIND_BIT(field->kind)) != 0) {
      size_t records = 0;
      char *slot = lumos_part_items(job, kind, field->part, &records);
      for (size_t record = 0; record < records; record++) {
        visit(field, slot + field->offset, context);
        slot += lumos_schema[kind].sizes[field->part];
      }
    }
  }
}

void lumos_visit_slots(struct lumos_job *job, uint32_t kinds, lumos_visit *visit, void *context) {
  for (int kind = RECORD_RANK; kind < RECORD_END; kind++) {
    visit_part(job, (enum lumos_record_kind)kind, lumos_schema[kind].fields, lumos_schema[kind].count, kinds, visit,
               context);
  }
}
