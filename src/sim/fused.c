#include "sim/fused.h"

#include "cost/moved.h"
#include <math.h>
#include <stdlib.h>

/* ---- which ---- */

/* By task: what a stream waits for, or what waits for it. A kernel cannot be cut there. */
enum edge { AWAITS = 1, AWAITED = 2 };

static uint8_t *find_edges(const struct lumos_job *job) {
  uint8_t *edges = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_DEP_EVENT || dep->kind == LUMOS_HOST_WAIT || dep->kind == LUMOS_OTHER_DEP) {
      edges[dep->dst] |= AWAITS;
      edges[dep->src == LUMOS_NONE ? dep->dst : dep->src] |= dep->src == LUMOS_NONE ? 0 : AWAITED;
    }
  }
  return edges;
}

static bool is_fusible(const struct lumos_task *task) {
  return !lumos_is_communication(task->kind) && task->kind != LUMOS_COPY && task->kind != LUMOS_MEMSET;
}

/* Does the thread do nothing between two of its calls that waits, or speaks of events? Then it launches one after the
 * other without looking. */
static bool launched_together(const struct lumos_job *job, uint32_t first, uint32_t second) {
  uint32_t from = job->tasks.items[first].call, to = job->tasks.items[second].call;
  if (from == LUMOS_NONE || to == LUMOS_NONE || job->tasks.items[from].lane != job->tasks.items[to].lane || to < from) {
    return false;
  }
  for (uint32_t t = from + 1; t <= to; t++) {
    const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[t]);
    if (detail->wait.on != 0 || detail->event_op != 0) {
      return false;
    }
  }
  return true;
}

static bool follows(const struct lumos_job *job, const uint8_t *chosen, const uint8_t *edges, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t], *last = task - 1;
  return chosen[t - 1] && chosen[t] && lumos_on_stream(job, task) && task->lane == last->lane &&
         task->step == last->step && is_fusible(task) && is_fusible(last) && (edges[t] & AWAITS) == 0 &&
         (edges[t - 1] & AWAITED) == 0 && launched_together(job, t - 1, t);
}

void lumos_find_fused_runs(const struct lumos_job *job, const uint8_t *chosen, struct lumos_fused_runs *runs) {
  uint8_t *edges = find_edges(job);
  for (uint32_t first = 0, end = 0; first < job->tasks.count; first = end) {
    end = first + 1;
    while (end < job->tasks.count && follows(job, chosen, edges, end)) {
      end++;
    }
    if (end - first > 1) {
      lumos_vector_push(runs, ((struct lumos_fused_run){first, end}));
    }
  }
  free(edges);
}

/* ---- how long ---- */

/* By span: how many kernels its op launches. Of an op that launches several, its inputs do not say what each moves. */
static uint32_t *count_kernels(const struct lumos_job *job) {
  uint32_t *counts = lumos_allocate_zeroed(job->spans.count + 1, sizeof *counts);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t span = lumos_on_stream(job, task) ? lumos_shaped_op(job, task) : LUMOS_NONE;
    counts[span == LUMOS_NONE ? job->spans.count : span]++;
  }
  return counts;
}

static struct lumos_traffic traffic_of(const struct lumos_job *job, const uint32_t *counts, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t];
  uint32_t span = lumos_shaped_op(job, task);
  if (span == LUMOS_NONE || counts[span] != 1) {
    return (struct lumos_traffic){0, 0};
  }
  const struct lumos_span *op = &job->spans.items[span];
  return lumos_bytes_moved((enum lumos_task_kind)task->kind, lumos_string(job->strings, op->name),
                           lumos_string(job->strings, op->shapes), lumos_string(job->strings, op->dtypes));
}

static int64_t fused_time(const struct lumos_job *job, const uint32_t *counts, struct lumos_fused_run run) {
  double bytes = 0, saved = 0, written = 0;
  int64_t whole = 0, longest = 0;
  bool known = true;
  for (uint32_t t = run.first; t < run.end; t++) {
    int64_t dur = job->tasks.items[t].dur;
    whole += dur;
    longest = dur > longest ? dur : longest;
    struct lumos_traffic traffic = known ? traffic_of(job, counts, t) : (struct lumos_traffic){0, 0};
    known = traffic.read + traffic.written > 0;
    bytes += traffic.read + traffic.written;
    saved += 2 * fmin(written, traffic.read); /* neither written nor read again */
    written = traffic.written;
  }
  int64_t left = known ? llround((double)whole * (1 - saved / bytes)) : whole;
  return left > longest ? left : longest;
}

int64_t *lumos_fused_times(const struct lumos_job *job, const struct lumos_fused_runs *runs) {
  int64_t *times = lumos_allocate(runs->count * sizeof *times + 1);
  uint32_t *counts = count_kernels(job);
  for (size_t i = 0; i < runs->count; i++) {
    times[i] = fused_time(job, counts, runs->items[i]);
  }
  free(counts);
  return times;
}
