#include "sim/copies.h"

#include "cost/hardware.h"
#include "sim/clock.h"
#include "sim/metrics.h"
#include "sim/named_sums.h"
#include <string.h>

/* TIMED: of the copies whose bytes are known. */
enum { TIME, COUNT, BYTES, TIMED };

static void add_copy(struct lumos_named_sums *sums, uint32_t step, uint32_t index) {
  const struct lumos_job *job = sums->job;
  const struct lumos_task *task = &job->tasks.items[index];
  int64_t time = sums->timeline->runs == NULL ? task->dur : sums->timeline->runs[index].dur;
  int64_t weight = lumos_task_weight(job, task);
  int64_t bytes = lumos_detail_of(job, task)->bytes;
  lumos_named_add(sums, step, task->name, TIME, time, weight);
  lumos_named_add(sums, step, task->name, COUNT, 1, weight);
  if (bytes != LUMOS_ABSENT) {
    lumos_named_add(sums, step, task->name, BYTES, bytes, weight);
    lumos_named_add(sums, step, task->name, TIMED, time, weight);
  }
}

static void add_all(struct lumos_named_sums *sums, const struct lumos_stretches *stretches) {
  const struct lumos_job *job = sums->job;
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    uint32_t step = lumos_job_step(sums->timeline, stretch->step);
    if (step == LUMOS_NONE || job->lanes.items[stretch->lane].kind != LUMOS_STREAM) {
      continue;
    }
    for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
      if (lumos_is_copy(job->tasks.items[t].kind)) {
        add_copy(sums, step, t);
      }
    }
  }
}

/* The device of all ranks; NULL where they differ or it is not in the table. */
static const struct lumos_device *common_device(const struct lumos_job *job, const struct lumos_hardware *hardware) {
  const struct lumos_device *common = NULL;
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_string_id name = job->ranks.items[i].device_name;
    const struct lumos_device *device =
        name == LUMOS_NO_STRING ? NULL : lumos_hardware_find(hardware, lumos_string(job->strings, name));
    if (device == NULL || (common != NULL && device != common)) {
      return NULL;
    }
    common = device;
  }
  return common;
}

/* Bytes a ns, by the direction that Kineto names. A copy within the memory reads and writes each byte, so it moves half
 * of what the memory can. 0: not known, as between two GPUs. */
static double link_of(const struct lumos_device *device, const char *name) {
  if (strstr(name, "HtoD") != NULL || strstr(name, "DtoH") != NULL) {
    return device->host_link;
  }
  return strstr(name, "DtoD") != NULL ? device->bandwidth / 2 : strstr(name, "Memset") != NULL ? device->bandwidth : 0;
}

static void write_rate(const struct lumos_named_sums *sums, lumos_string_id name, const char *metric,
                       __int128 millionths) {
  struct lumos_scope scope = lumos_everywhere;
  scope.name = name;
  struct lumos_decimal rate = {millionths < LUMOS_TIME_LIMIT ? (int64_t)millionths : LUMOS_TIME_LIMIT - 1, 6};
  lumos_metric_add(sums->job, metric, &scope, sums->timeline->source, rate);
}

/* Over all steps that count, what a name achieves and what it could. */
static void write_rates(const struct lumos_named_sums *sums, lumos_string_id name, const struct lumos_device *device) {
  __int128 bytes = 0, time = 0;
  for (size_t i = 0; i < sums->rows.count; i++) {
    const struct lumos_named_row *row = &sums->rows.items[i];
    if (row->name == name && lumos_named_counts(sums, row->step)) {
      bytes += row->of[BYTES];
      time += row->of[TIMED];
    }
  }
  if (time > 0) {
    write_rate(sums, name, "copy_bandwidth", (bytes * 1000000 + time / 2) / time);
  }
  double link = device == NULL ? 0 : link_of(device, lumos_string(sums->job->strings, name));
  if (link > 0) {
    write_rate(sums, name, "copy_link", (__int128)(link * 1e6 + 0.5));
  }
}

static bool is_first_of_name(const struct lumos_named_sums *sums, size_t number) {
  size_t i = 0;
  while (sums->rows.items[i].name != sums->rows.items[number].name) {
    i++;
  }
  return i == number;
}

static void write_row(const struct lumos_named_sums *sums, const struct lumos_named_row *row) {
  lumos_named_write(sums, row, "copy_time", TIME);
  lumos_named_write(sums, row, "copy_count", COUNT);
  if (row->of[TIMED] > 0 && row->of[BYTES] < LUMOS_TIME_LIMIT) { /* a stream may claim more than there is */
    lumos_named_write(sums, row, "copy_bytes", BYTES);
  }
}

void lumos_write_copies(struct lumos_job *job, const struct lumos_timeline *timeline,
                        const struct lumos_stretches *stretches, const struct lumos_hardware *hardware) {
  struct lumos_named_sums sums;
  lumos_named_begin(&sums, job, timeline);
  add_all(&sums, stretches);
  lumos_named_sort(&sums);
  const struct lumos_device *device = common_device(job, hardware);
  for (size_t i = 0; i < sums.rows.count; i++) {
    write_row(&sums, &sums.rows.items[i]);
    if (is_first_of_name(&sums, i)) {
      write_rates(&sums, sums.rows.items[i].name, device);
    }
  }
  lumos_named_free(&sums);
}
