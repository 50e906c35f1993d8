/* Metadata documents are small, so cJSON reads them. It keeps numbers as doubles: what is taken from them here is far
 * below 2^53, and what is not is read as text elsewhere.
 */
#include "trace/facts.h"

#include "base/text.h"
#include "trace/comm.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *member(const cJSON *object, const char *name) {
  return cJSON_GetObjectItemCaseSensitive(object, name);
}

/* A whole number, quoted or not, or LUMOS_ABSENT. */
static int64_t whole(const cJSON *value) {
  double number = NAN;
  if (cJSON_IsNumber(value)) {
    number = value->valuedouble;
  } else if (cJSON_IsString(value)) {
    char *end = NULL;
    number = (double)strtoll(value->valuestring, &end, 10); /* strtod would ask the locale for its comma */
    number = end != value->valuestring && *end == '\0' ? number : NAN;
  }
  bool exact = number > -9007199254740992.0 && number < 9007199254740992.0 && number == floor(number);
  return exact ? (int64_t)number : LUMOS_ABSENT;
}

static int64_t whole_between(const cJSON *value, int64_t low, int64_t high) {
  int64_t number = whole(value);
  return number >= low && number <= high ? number : LUMOS_ABSENT;
}

static lumos_string_id text_of(struct lumos_strings *strings, const cJSON *value) {
  return cJSON_IsString(value) && value->valuestring[0] != '\0' ? lumos_intern_text(strings, value->valuestring)
                                                                : LUMOS_NO_STRING;
}

static cJSON *parse_fact(const struct trace *trace, enum trace_fact fact) {
  return trace->facts[fact] != NULL ? cJSON_Parse(trace->facts[fact]) : NULL;
}

int32_t lumos_trace_own_rank(const struct trace *trace) {
  cJSON *info = parse_fact(trace, TRACE_FACT_DISTRIBUTED);
  int64_t rank = whole_between(member(info, "rank"), 0, INT32_MAX);
  cJSON_Delete(info);
  return rank == LUMOS_ABSENT ? LUMOS_ABSENT_INT : (int32_t)rank;
}

/* Ranks as text, from a list of numbers or a string; the caller frees. */
static char *ranks_text(const cJSON *ranks) {
  if (cJSON_IsString(ranks)) {
    return lumos_copied_text(ranks->valuestring);
  }
  char *text = cJSON_IsArray(ranks) ? cJSON_PrintUnformatted(ranks) : NULL;
  return text != NULL ? text : lumos_copied_text("");
}

static void take_groups(struct trace_build *build, const cJSON *groups) {
  struct lumos_strings *strings = build->job->strings;
  const cJSON *group = NULL;
  cJSON_ArrayForEach(group, groups) {
    lumos_string_id name = text_of(strings, member(group, "pg_name"));
    build->lost_groups += name == LUMOS_NO_STRING;
    if (name != LUMOS_NO_STRING) {
      char *ranks = ranks_text(member(group, "ranks"));
      const struct trace_group_facts facts = {
          .name = name,
          .description = text_of(strings, member(group, "pg_desc")),
          .ranks = ranks,
          .size = whole_between(member(group, "pg_size"), 1, INT32_MAX),
          .start = LUMOS_ABSENT,
          .stride = LUMOS_ABSENT,
      };
      build->lost_groups += lumos_trace_group(build, &facts) == LUMOS_NONE;
      free(ranks);
    }
  }
}

static void take_distributed(struct trace_build *build) {
  cJSON *info = parse_fact(build->trace, TRACE_FACT_DISTRIBUTED);
  int64_t world = whole_between(member(info, "world_size"), 1, INT32_MAX);
  build->rank->world = world == LUMOS_ABSENT ? LUMOS_ABSENT_INT : (int32_t)world;
  lumos_string_id nccl = text_of(build->job->strings, member(info, "nccl_version"));
  if (nccl != LUMOS_NO_STRING && strcmp(lumos_string(build->job->strings, nccl), "unknown") != 0) {
    build->rank->nccl = nccl;
  }
  take_groups(build, member(info, "pg_config"));
  cJSON_Delete(info);
}

/* The device that most rows ran on, as recorded; LUMOS_ABSENT when none did. */
static int64_t device_used(const struct trace *trace) {
  size_t *rows = lumos_allocate_zeroed(trace->lanes.count, sizeof *rows);
  for (size_t i = 0; i < trace->device.count; i++) {
    rows[trace->device.items[i].lane]++;
  }
  size_t most = 0;
  const char *device = NULL;
  for (size_t i = 0; i < trace->lanes.count; i++) {
    if (rows[i] > most) {
      most = rows[i];
      device = lumos_string(trace->strings, trace->lanes.items[i].process);
    }
  }
  free(rows);
  char *end = NULL;
  long long number = device != NULL ? strtoll(device, &end, 10) : 0;
  return device != NULL && end != device && *end == '\0' ? number : LUMOS_ABSENT;
}

/* The properties of the device of this id; without one, those that all devices share. */
static const cJSON *choose_device(const cJSON *devices, int64_t id) {
  const cJSON *device = NULL;
  bool alike = true;
  cJSON_ArrayForEach(device, devices) {
    if (whole(member(device, "id")) == id) {
      return device;
    }
    const cJSON *first = devices->child;
    alike = alike && cJSON_Compare(member(device, "name"), member(first, "name"), true) &&
            cJSON_Compare(member(device, "numSms"), member(first, "numSms"), true) &&
            cJSON_Compare(member(device, "totalGlobalMem"), member(first, "totalGlobalMem"), true);
  }
  return alike && devices != NULL ? devices->child : NULL;
}

static void take_device(struct trace_build *build) {
  int64_t used = device_used(build->trace);
  if (used == LUMOS_ABSENT) {
    return;
  }
  cJSON *devices = parse_fact(build->trace, TRACE_FACT_DEVICES);
  const cJSON *device = choose_device(devices, used);
  build->rank->device_name = text_of(build->job->strings, member(device, "name"));
  const cJSON *sms = member(device, "numSms");
  sms = sms != NULL ? sms : member(device, "multiProcessorCount"); /* until 2021 */
  build->rank->device_sms = whole_between(sms, 1, INT32_MAX);
  build->rank->device_memory = whole_between(member(device, "totalGlobalMem"), 1, INT64_MAX);
  cJSON_Delete(devices);
}

/* 12060 is CUDA 12.6. */
static void take_cuda_version(struct trace_build *build) {
  cJSON *value = parse_fact(build->trace, TRACE_FACT_CUDA);
  int64_t version = whole_between(value, 1000, 999999);
  cJSON_Delete(value);
  if (version == LUMOS_ABSENT) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%d.%d", (int)(version / 1000), (int)(version % 1000 / 10));
  build->rank->cuda = lumos_intern(build->job->strings, text.bytes, text.length);
  lumos_text_free(&text);
}

/* 60443483 is HIP 6.4.43483. */
static void take_hip_version(struct trace_build *build) {
  cJSON *value = parse_fact(build->trace, TRACE_FACT_HIP);
  int64_t version = whole_between(value, 10000000, INT32_MAX);
  if (version != LUMOS_ABSENT) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "%d.%d.%d", (int)(version / 10000000), (int)(version / 100000 % 100),
                      (int)(version % 100000));
    build->rank->hip = lumos_intern(build->job->strings, text.bytes, text.length);
    lumos_text_free(&text);
  }
  cJSON_Delete(value);
}

/* A text, or a number as it is written. */
static lumos_string_id take_word(struct trace_build *build, enum trace_fact fact) {
  cJSON *value = parse_fact(build->trace, fact);
  lumos_string_id word = cJSON_IsNumber(value) ? lumos_intern_text(build->job->strings, build->trace->facts[fact])
                                               : text_of(build->job->strings, value);
  cJSON_Delete(value);
  return word;
}

/* What our own recorder says: PyTorch's version, and how long so many steps took before the profiler was there. */
static void take_recorder(struct trace_build *build) {
  cJSON *recorder = parse_fact(build->trace, TRACE_FACT_RECORDER);
  build->rank->torch = text_of(build->job->strings, member(recorder, "torch"));
  const cJSON *unprofiled = member(recorder, "unprofiled");
  int64_t steps = whole_between(member(unprofiled, "steps"), 1, INT32_MAX);
  int64_t dur = whole_between(member(unprofiled, "dur"), 1, INT64_MAX);
  if (steps != LUMOS_ABSENT && dur != LUMOS_ABSENT) {
    build->rank->unprofiled_steps = steps;
    build->rank->unprofiled_dur = dur;
  }
  cJSON_Delete(recorder);
}

void lumos_trace_take_facts(struct trace_build *build) {
  take_distributed(build);
  take_device(build);
  take_cuda_version(build);
  take_hip_version(build);
  take_recorder(build);
  build->rank->job_name = take_word(build, TRACE_FACT_JOB_NAME);
  build->rank->job_version = take_word(build, TRACE_FACT_JOB_VERSION);
  build->rank->job_attempt = take_word(build, TRACE_FACT_JOB_ATTEMPT);
  cJSON *host = parse_fact(build->trace, TRACE_FACT_HOST);
  build->rank->host = text_of(build->job->strings, host);
  cJSON_Delete(host);
}
