/* Lanes of the job, and kinds remembered by name. */
#include "trace/build.h"

#include "trace/order.h"
#include <lumos/trace.h>
#include <stdlib.h>
#include <string.h>

void lumos_trace_build_init(struct trace_build *build, struct trace *trace, struct trace_steps *steps,
                            struct lumos_job *job) {
  *build = (struct trace_build){.trace = trace, .steps = steps, .job = job, .rank = &job->ranks.items[0]};
  build->job_lane = lumos_allocate(trace->lanes.count * sizeof *build->job_lane);
  for (size_t i = 0; i < trace->lanes.count; i++) {
    build->job_lane[i] = LUMOS_NONE;
  }
  build->kind_keys = lumos_strings_new();
}

void lumos_trace_build_clear(struct trace_build *build) {
  free(build->job_lane);
  lumos_vector_free(&build->calls);
  lumos_vector_free(&build->call_details);
  lumos_vector_free(&build->batched);
  lumos_vector_free(&build->gradients);
  lumos_vector_free(&build->call_rules);
  lumos_strings_free(build->kind_keys);
  lumos_vector_free(&build->kinds);
  lumos_vector_free(&build->group_of);
}

/* Numbers by size, before all else by bytes. */
static int compare_natural(const char *left, const char *right) {
  size_t left_digits = strspn(left, "0123456789");
  size_t right_digits = strspn(right, "0123456789");
  bool left_number = left_digits > 0 && left[left_digits] == '\0';
  bool right_number = right_digits > 0 && right[right_digits] == '\0';
  if (left_number != right_number) {
    return left_number ? -1 : 1;
  }
  if (left_number && left_digits != right_digits) {
    return left_digits < right_digits ? -1 : 1;
  }
  return strcmp(left, right);
}

static bool lane_before(const void *rows, uint32_t a, uint32_t b) {
  const struct trace *trace = rows;
  const struct trace_lane *left = &trace->lanes.items[a];
  const struct trace_lane *right = &trace->lanes.items[b];
  if (left->kind != right->kind) {
    return left->kind < right->kind;
  }
  int order = compare_natural(lumos_string(trace->strings, left->native), lumos_string(trace->strings, right->native));
  order = order != 0 ? order
                     : compare_natural(lumos_string(trace->strings, left->process),
                                       lumos_string(trace->strings, right->process));
  return order < 0;
}

uint32_t *lumos_trace_sorted_lanes(const struct trace *trace) {
  uint32_t *lanes = lumos_allocate(trace->lanes.count * sizeof *lanes);
  for (size_t i = 0; i < trace->lanes.count; i++) {
    lanes[i] = (uint32_t)i;
  }
  lumos_trace_sort(lanes, trace->lanes.count, lane_before, trace);
  return lanes;
}

uint32_t lumos_trace_job_lane(struct trace_build *build, uint32_t lane) {
  if (build->job_lane[lane] == LUMOS_NONE) {
    const struct trace_lane *recorded = &build->trace->lanes.items[lane];
    struct lumos_lane made = lumos_lane_empty;
    made.rank = 0;
    made.kind = (uint8_t)recorded->kind;
    made.lane = lumos_trace_lane_label(build->trace, lane);
    made.native = recorded->native;
    made.process = recorded->kind == LUMOS_THREAD ? recorded->process : LUMOS_NO_STRING;
    made.name = lumos_trace_lane_name(build->trace, recorded);
    build->job_lane[lane] = (uint32_t)build->job->lanes.count;
    lumos_vector_push(&build->job->lanes, made);
  }
  return build->job_lane[lane];
}

const struct trace_call_rule *lumos_trace_rule_of(struct trace_build *build, lumos_string_id name) {
  while (build->call_rules.count <= name) {
    lumos_vector_push(&build->call_rules, ((struct trace_known_rule){NULL}));
  }
  struct trace_known_rule *known = &build->call_rules.items[name];
  if (known->rule == NULL) {
    known->rule = lumos_trace_call_rule(lumos_string(build->job->strings, name));
  }
  return known->rule;
}

enum lumos_task_kind lumos_trace_device_kind(struct trace_build *build, const struct trace_device *row,
                                             lumos_string_id op) {
  static const char *const categories[] = {[TRACE_KERNEL] = "kernel",
                                           [TRACE_COMMAND] = "mtia_ccp_events",
                                           [TRACE_MEMCPY] = "gpu_memcpy",
                                           [TRACE_MEMSET] = "gpu_memset"};
  if (row->class == TRACE_UNKNOWN) {
    return LUMOS_OTHER_DEVICE;
  }
  uint32_t key[3] = {row->class, row->name, op};
  uint32_t index = lumos_intern(build->kind_keys, (const char *)key, sizeof key) - 1;
  if (index == build->kinds.count) {
    const struct lumos_strings *strings = build->job->strings;
    enum lumos_task_kind kind =
        lumos_classify_device(categories[row->class], lumos_string(strings, row->name), lumos_string(strings, op));
    lumos_vector_push(&build->kinds, (uint8_t)kind);
  }
  return build->kinds.items[index];
}
