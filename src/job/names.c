/* Enumerations and their names: a new value is a word in its table. */
#include "job/names.h"

#include <lumos/job.h>
#include <string.h>

static const char *name_of(const struct lumos_names *names, unsigned value) {
  return value < names->count ? names->names[value] : "";
}

/* The table and the public function that reads it. */
#define NAMES(what, type, ...)                                                                                \
  static const char what##_table[][LUMOS_NAME_ROOM] = {"", __VA_ARGS__};                                      \
  const struct lumos_names lumos_##what##_names = {what##_table, sizeof what##_table / sizeof *what##_table}; \
  const char *lumos_##what##_name(enum type value) { return name_of(&lumos_##what##_names, (unsigned)value); }

NAMES(stage, lumos_stage, "parse", "graph", "transform", "sim")
NAMES(lane_kind, lumos_lane_kind, "thread", "stream")
NAMES(span_kind, lumos_span_kind, "op", "module", "annotation", "step", "python")
NAMES(task_kind, lumos_task_kind, "gemm", "attention", "elementwise", "norm", "reduction", "optimizer", "embedding",
      "copy", "memset", "collective", "p2p", "other", "op", "launch", "sync", "event", "alloc", "other")
NAMES(end, lumos_end, "start", "end")
NAMES(event_op, lumos_event_op, "record", "wait")
NAMES(wait_on, lumos_wait_on, "stream", "device", "event", "self")
NAMES(phase, lumos_phase, "forward", "backward", "weight", "optimizer", "other")
NAMES(part, lumos_part, "embedding", "layer", "head", "optimizer")
NAMES(dur_source, lumos_dur_source, "measured", "scaled", "modelled")
NAMES(role, lumos_role, "tensor", "pipeline", "data", "expert", "context", "other")
NAMES(task_origin, lumos_task_origin, "launched", "before_recording", "not_recorded", "free")
NAMES(dep_kind, lumos_dep_kind, "handover", "event", "host_wait", "queue", "resource", "boundary", "other")
NAMES(evidence, lumos_evidence, "recorded", "ordered", "inferred", "unexplained")
NAMES(mode, lumos_mode, "fixed", "run_time")
NAMES(rule, lumos_rule, "symmetric", "pair", "batched", "rooted", "custom")
NAMES(matched, lumos_matched, "comms_id", "seq", "order", "pair_order")
NAMES(label, lumos_label, "transfer", "arrival_skew", "mixed", "inconclusive")
NAMES(level, lumos_level, "info", "warning", "error")
NAMES(source, lumos_source, "measured", "simulated", "predicted")

_Static_assert(sizeof task_kind_table / sizeof *task_kind_table == LUMOS_TASK_KINDS, "a name for every kind of task");

static const char clock_evidence_table[][LUMOS_NAME_ROOM] = {"none", "collectives"};
const struct lumos_names lumos_clock_evidence_names = {clock_evidence_table, 2};

int lumos_names_find(const struct lumos_names *names, const char *bytes, size_t length) {
  for (size_t i = 0; i < names->count; i++) {
    const char *name = names->names[i];
    bool fits = length > 0 && length < LUMOS_NAME_ROOM && name[length - 1] != '\0' && name[length] == '\0';
    if (fits && memcmp(name, bytes, length) == 0) {
      return (int)i;
    }
  }
  return -1;
}
