/* The names of enumerations as the stream writes them, one table each, and the way back from a name to its value. */
#ifndef LUMOS_JOB_NAMES_H
#define LUMOS_JOB_NAMES_H

#include <stddef.h>

/* A name with zeros behind it, at least one: it is copied and compared whole. */
enum { LUMOS_NAME_ROOM = 20 };

struct lumos_names {
  const char (*names)[LUMOS_NAME_ROOM]; /* names[value]; names[0] is empty where 0 means absent */
  size_t count;
};

extern const struct lumos_names lumos_stage_names, lumos_lane_kind_names, lumos_span_kind_names, lumos_task_kind_names,
    lumos_end_names, lumos_event_op_names, lumos_wait_on_names, lumos_phase_names, lumos_part_names,
    lumos_dur_source_names, lumos_task_origin_names, lumos_role_names, lumos_dep_kind_names, lumos_evidence_names,
    lumos_mode_names, lumos_rule_names, lumos_matched_names, lumos_label_names, lumos_level_names, lumos_source_names;
extern const struct lumos_names lumos_clock_evidence_names; /* of lumos_clock.from_collectives */

static inline size_t lumos_name_length(const char name[LUMOS_NAME_ROOM]) {
  size_t length = 0;
  while (name[length] != '\0') {
    length++;
  }
  return length;
}

/* The value of a name, or -1. For task kinds "other" gives LUMOS_OTHER_DEVICE: the lane tells which. */
int lumos_names_find(const struct lumos_names *names, const char *bytes, size_t length);

#endif
