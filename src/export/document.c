/* What a reader needs to find each rank's own recording in the file again. */
#include "export/writer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_string(struct export_writer *writer, const char *key, lumos_string_id value) {
  if (value != LUMOS_NO_STRING) {
    lumos_export_string(writer, key, lumos_string(writer->job->strings, value));
  }
}

static void put_integer(struct export_writer *writer, const char *key, int64_t value) {
  if (value != LUMOS_ABSENT) {
    lumos_export_integer(writer, key, value);
  }
}

static void open_member(struct export_writer *writer, const char *key, char bracket) {
  lumos_text_format(writer->text, ",\"%s\":%c", key, bracket);
}

/* Does a rank's own recording know the group? */
static bool knows_group(const struct lumos_job *job, uint32_t rank, const struct lumos_group *group,
                        const uint8_t *used) {
  bool found = group->rank == rank || used[group - job->groups.items] != 0;
  for (uint32_t i = 0; i < group->member_count; i++) {
    found = found || job->group_ranks.items[group->member_first + i] == job->ranks.items[rank].rank;
  }
  return found;
}

/* Groups that the rank's communication names. */
static void mark_used(const struct lumos_job *job, const struct lumos_rank *rank, uint8_t *used) {
  memset(used, 0, job->groups.count);
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    lumos_string_id id = lumos_detail_of(job, &job->tasks.items[t])->comm.group;
    for (size_t i = 0; id != LUMOS_NO_STRING && i < job->groups.count; i++) {
      used[i] |= job->groups.items[i].id == id;
    }
  }
}

static void put_group(struct export_writer *writer, const struct lumos_group *group) {
  const struct lumos_job *job = writer->job;
  char last = writer->text->bytes[writer->text->length - 1];
  lumos_text_put(writer->text, last == '[' ? "{" : ",{");
  put_string(writer, "pg_name", group->id);
  put_string(writer, "pg_desc", group->name);
  lumos_export_integer(writer, "pg_size", group->size);
  if (group->member_count > 0) {
    open_member(writer, "ranks", '[');
    for (uint32_t i = 0; i < group->member_count; i++) {
      lumos_text_format(writer->text, "%s%d", i > 0 ? "," : "", (int)job->group_ranks.items[group->member_first + i]);
    }
    lumos_text_char(writer->text, ']');
  }
  lumos_text_char(writer->text, '}');
}

static void put_distributed(struct export_writer *writer, uint32_t index, uint8_t *used) {
  const struct lumos_job *job = writer->job;
  const struct lumos_rank *rank = &job->ranks.items[index];
  mark_used(job, rank, used);
  open_member(writer, "distributedInfo", '{');
  lumos_export_integer(writer, "rank", rank->rank);
  if (rank->world != LUMOS_ABSENT_INT) {
    lumos_export_integer(writer, "world_size", rank->world);
  }
  put_string(writer, "nccl_version", rank->nccl);
  open_member(writer, "pg_config", '[');
  for (size_t i = 0; i < job->groups.count; i++) {
    if (knows_group(job, index, &job->groups.items[i], used)) {
      put_group(writer, &job->groups.items[i]);
    }
  }
  lumos_text_put(writer->text, "]}");
}

static void put_devices(struct export_writer *writer, uint32_t index) {
  const struct lumos_rank *rank = &writer->job->ranks.items[index];
  if (rank->device_name == LUMOS_NO_STRING && rank->device_sms == LUMOS_ABSENT) {
    return;
  }
  open_member(writer, "deviceProperties", '[');
  lumos_text_char(writer->text, '{'); /* without an id it is any device's */
  put_string(writer, "name", rank->device_name);
  put_integer(writer, "numSms", rank->device_sms);
  put_integer(writer, "totalGlobalMem", rank->device_memory);
  lumos_text_put(writer->text, "}]");
}

/* "12.6" is 12060 of CUDA: the sum of its parts times their weights, of which the last is followed by 0. */
static void put_version(struct export_writer *writer, const char *key, lumos_string_id version,
                        const int64_t *weights) {
  const char *place = lumos_string(writer->job->strings, version);
  int64_t number = 0;
  for (size_t i = 0; weights[i] != 0; i++) {
    char *end = NULL;
    long part = strtol(place, &end, 10);
    bool last = weights[i + 1] == 0;
    if (version == LUMOS_NO_STRING || end == place || *end != (last ? '\0' : '.') || part < 0 || part > 99999) {
      return;
    }
    number += part * weights[i];
    place = end + 1;
  }
  lumos_export_integer(writer, key, number);
}

static void put_recorder(struct export_writer *writer, const struct lumos_rank *rank) {
  if (rank->torch == LUMOS_NO_STRING && rank->unprofiled_steps == LUMOS_ABSENT) {
    return;
  }
  open_member(writer, "lumos_recorder", '{');
  put_string(writer, "torch", rank->torch);
  if (rank->unprofiled_steps != LUMOS_ABSENT) {
    lumos_text_put(writer->text, rank->torch != LUMOS_NO_STRING ? ",\"unprofiled\":{" : "\"unprofiled\":{");
    put_integer(writer, "steps", rank->unprofiled_steps);
    put_integer(writer, "dur", rank->unprofiled_dur);
    lumos_text_char(writer->text, '}');
  }
  lumos_text_char(writer->text, '}');
}

/* Just behind what the host did last: the last step lasted longer than its mark. */
static int64_t steps_end(const struct lumos_job *job, const struct lumos_rank *rank) {
  int64_t last = LUMOS_ABSENT;
  for (uint32_t i = rank->span_first; i < rank->span_first + rank->span_count; i++) {
    last = job->spans.items[i].start > last ? job->spans.items[i].start : last;
  }
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    last = !lumos_on_stream(job, task) && task->start > last ? task->start : last;
  }
  return last == LUMOS_ABSENT ? LUMOS_ABSENT : last + 1 - rank->window_start;
}

static void put_rank(struct export_writer *writer, uint32_t index, bool base_known, uint8_t *used) {
  const struct lumos_job *job = writer->job;
  const struct lumos_rank *rank = &job->ranks.items[index];
  lumos_text_put(writer->text, index > 0 ? ",\n{" : "\n{");
  lumos_export_integer(writer, "base", rank->base - rank->window_start);
  put_integer(writer, "steps_end", steps_end(job, rank));
  put_integer(writer, "runtime_offset", rank->runtime_offset);
  put_integer(writer, "runtime_doubt", rank->runtime_doubt);
  if (base_known) { /* as text: it is larger than what a double holds */
    lumos_text_format(writer->text, ",\"baseTimeNanoseconds\":\"%" PRId64 "\"", job->epoch);
  }
  put_string(writer, "host_name", rank->host);
  put_version(writer, "cuda_runtime_version", rank->cuda, (const int64_t[]){1000, 10, 0});
  put_version(writer, "hip_runtime_version", rank->hip, (const int64_t[]){10000000, 100000, 1, 0});
  put_string(writer, "PT_PROFILER_JOB_NAME", rank->job_name);
  put_string(writer, "PT_PROFILER_JOB_VERSION", rank->job_version);
  put_string(writer, "PT_PROFILER_JOB_ATTEMPT_INDEX", rank->job_attempt);
  put_devices(writer, index);
  put_recorder(writer, rank);
  put_distributed(writer, index, used);
  lumos_text_char(writer->text, '}');
}

static void open_place(struct export_writer *writer, struct export_place place, uint32_t rank, int64_t shift,
                       bool first) {
  lumos_text_put(writer->text, first ? "\n{" : ",\n{");
  lumos_export_integer(writer, "pid", place.process);
  lumos_export_integer(writer, "tid", place.thread);
  lumos_export_integer(writer, "timeline", rank);
  lumos_export_integer(writer, "shift", shift - writer->zero);
}

static void put_lane(struct export_writer *writer, uint32_t index, struct export_place place) {
  const struct lumos_lane *lane = &writer->job->lanes.items[index];
  open_place(writer, place, lane->rank, writer->shift[index], false);
  lumos_export_string(writer, "kind", lumos_lane_kind_name((enum lumos_lane_kind)lane->kind));
  put_string(writer, "native", lane->native);
  if (lane->kind == LUMOS_STREAM) {
    char device[EXPORT_DEVICE_TEXT];
    lumos_export_device(writer->job, lane, device);
    lumos_export_string(writer, "process", device);
  } else {
    put_string(writer, "process", lane->process);
  }
  put_string(writer, "name", lane->name);
  char first = *lumos_string(writer->job->strings, lane->lane);
  lumos_text_put(writer->text, first == 'p' || first == 'd' ? ",\"shared\":true}" : "}");
}

void lumos_export_document(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  int64_t from = 0;
  int64_t to = 0;
  bool base_known = job->ranks.count > 0 && lumos_rank_recorded(job, &job->ranks.items[0], &from, &to);
  uint8_t *used = lumos_allocate_zeroed(job->groups.count + 1, 1);
  if (base_known) {
    lumos_text_format(writer->text, "\"baseTimeNanoseconds\":%" PRId64 ",", job->epoch + writer->zero);
  }
  lumos_text_put(writer->text, "\"lumos_timelines\":{\"version\":1,\"ranks\":[");
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    put_rank(writer, i, base_known, used);
  }
  lumos_text_put(writer->text, "],\"lanes\":[");
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    open_place(writer, lumos_export_recording(writer, i), i, writer->host_shift[i], i == 0);
    lumos_text_char(writer->text, '}');
  }
  for (uint32_t i = 0; i < job->lanes.count; i++) {
    put_lane(writer, i, lumos_export_lane(writer, i, EXPORT_MEASURED));
    if (lumos_export_is_beside(writer, i, EXPORT_MEASURED)) {
      put_lane(writer, i, lumos_export_beside(writer, i, EXPORT_MEASURED));
    }
  }
  lumos_text_put(writer->text, "]},\n");
  free(used);
}
