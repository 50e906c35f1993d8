/* The types of records, from their rows, and walks over all records. */
#include "job/schema_rows.h"

#define NAME(type) \
  .name = (type), .opening = "{\"type\":\"" type "\"", .opening_length = sizeof("{\"type\":\"" type "\"") - 1
#define RECORD(type, table, record, ...)                                                                 \
  {                                                                                                      \
    NAME(type), .fields = (table), .count = LUMOS_ROWS(table), .sizes = {sizeof(struct lumos_##record)}, \
                .empty = {&lumos_##record##_empty}, __VA_ARGS__                                          \
  }

#define LINKS(table) .links = (table), .link_count = LUMOS_ROWS(table)

const struct lumos_record_type lumos_schema[RECORD_KINDS] = {
    [RECORD_HEADER] = {NAME("lumos"), .fields = header_fields, .count = LUMOS_ROWS(header_fields), LINKS(header_links),
                       .sizes = {sizeof(struct lumos_job), sizeof(struct lumos_history), sizeof(lumos_string_id),
                                 sizeof(struct lumos_foreign)}},
    [RECORD_RANK] = RECORD("rank", rank_fields, rank, ),
    [RECORD_GROUP] = RECORD("group", group_fields, group, LINKS(group_links)),
    [RECORD_LANE] = RECORD("lane", lane_fields, lane, LINKS(lane_links)),
    [RECORD_SPAN] = RECORD("span", span_fields, span, LINKS(span_links)),
    [RECORD_TASK] = {NAME("task"), .fields = task_fields, .count = LUMOS_ROWS(task_fields), LINKS(task_links),
                     .sizes = {sizeof(struct lumos_task), sizeof(struct lumos_timing), sizeof(struct lumos_run),
                               sizeof(struct lumos_detail)},
                     .empty = {&lumos_task_empty, &lumos_timing_empty, &lumos_run_empty, &lumos_detail_empty}},
    [RECORD_MEMORY] = RECORD("memory", memory_fields, memory_event, ),
    [RECORD_DEP] = RECORD("dep", dep_fields, dep, .by = LUMOS_STAGE_GRAPH),
    [RECORD_COLLECTIVE] = RECORD("collective", collective_fields, collective, .by = LUMOS_STAGE_GRAPH),
    [RECORD_MODEL] = RECORD("model", model_fields, model_description, .by = LUMOS_STAGE_GRAPH),
    [RECORD_COMMON_ERROR] = RECORD("common_error", common_error_fields, common_error, .by = LUMOS_STAGE_TRANSFORM),
    [RECORD_PASS] = RECORD("pass", pass_fields, recorded_pass, .by = LUMOS_STAGE_TRANSFORM),
    [RECORD_METRIC] = RECORD("metric", metric_fields, metric, .by = LUMOS_STAGE_GRAPH),
    [RECORD_NOTE] = RECORD("note", note_fields, note, ),
    [RECORD_END] = {NAME("end"), .fields = end_fields, .count = LUMOS_ROWS(end_fields)},
};

_Static_assert(LUMOS_ROWS(task_fields) <= 64, "the reader keeps one bit a field");
_Static_assert(offsetof(struct lumos_task, from_id) == offsetof(struct lumos_task, from_rank) + 4, "FIELD_ORIGIN");
_Static_assert(offsetof(struct lumos_rank, window_end) == offsetof(struct lumos_rank, window_start) + 8,
               "FIELD_WINDOW");
_Static_assert(offsetof(struct lumos_comm, peer_count) == offsetof(struct lumos_comm, peer_first) + 4, "FIELD_PEERS");
_Static_assert(offsetof(struct lumos_group, member_count) == offsetof(struct lumos_group, member_first) + 4,
               "FIELD_RANKS");
_Static_assert(offsetof(struct lumos_collective, member_count) == offsetof(struct lumos_collective, member_first) + 4,
               "FIELD_MEMBERS");
_Static_assert(offsetof(struct lumos_history, input_count) == offsetof(struct lumos_history, input_first) + 4,
               "LINK_INPUTS");

uint64_t lumos_kinds_to(enum lumos_target target) {
  uint64_t kinds = 0;
  for (int kind = 0; kind < FIELD_KINDS; kind++) {
    kinds |= lumos_target_of((enum lumos_field_kind)kind) == target ? LUMOS_KIND_BIT(kind) : 0;
  }
  return kinds;
}

size_t lumos_target_count(const struct lumos_job *job, enum lumos_target target) {
#define COUNT(member) offsetof(struct lumos_job, member)
  static const size_t counts[LUMOS_TARGETS] = {
      [TARGET_INPUTS] = COUNT(inputs.count),
      [TARGET_RANKS] = COUNT(ranks.count),
      [TARGET_GROUPS] = COUNT(groups.count),
      [TARGET_GROUP_RANKS] = COUNT(group_ranks.count),
      [TARGET_COMMON_ERRORS] = COUNT(common_errors.count),
      [TARGET_LANES] = COUNT(lanes.count),
      [TARGET_SPANS] = COUNT(spans.count),
      [TARGET_TASKS] = COUNT(tasks.count),
      [TARGET_DETAILS] = COUNT(details.count),
      [TARGET_TIMINGS] = COUNT(timings.count),
      [TARGET_PEERS] = COUNT(peers.count),
      [TARGET_MEMBERS] = COUNT(members.count),
  };
#undef COUNT
  return counts[target] == 0 ? 0 : *(const size_t *)(const void *)((const char *)job + counts[target]);
}

void *lumos_part_items(const struct lumos_job *job, enum lumos_record_kind kind, int part, size_t *count) {
#define ITEMS(vector) (*count = job->vector.count, (void *)job->vector.items)
  switch (kind) {
    case RECORD_HEADER:
      *count = 1;
      return part == PART_MAIN      ? (void *)(uintptr_t)job
             : part == PART_HISTORY ? ITEMS(history)
             : part == PART_INPUTS  ? ITEMS(inputs)
                                    : ITEMS(foreign);
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
    case RECORD_MEMORY:
      return ITEMS(memory);
    case RECORD_DEP:
      return ITEMS(deps);
    case RECORD_COLLECTIVE:
      return ITEMS(collectives);
    case RECORD_MODEL:
      return ITEMS(models);
    case RECORD_COMMON_ERROR:
      return ITEMS(common_errors);
    case RECORD_PASS:
      return ITEMS(recorded_passes);
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
                       size_t count, uint64_t kinds, lumos_visit *visit, void *context) {
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

void lumos_visit_slots(struct lumos_job *job, uint64_t kinds, lumos_visit *visit, void *context) {
  for (int kind = RECORD_HEADER; kind < RECORD_END; kind++) {
    const struct lumos_record_type *type = &lumos_schema[kind];
    visit_part(job, (enum lumos_record_kind)kind, type->fields, type->count, kinds, visit, context);
    visit_part(job, (enum lumos_record_kind)kind, type->links, type->link_count, kinds, visit, context);
  }
}
