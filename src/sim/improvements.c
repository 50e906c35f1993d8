#include "sim/improvements.h"

#include "job/remove.h"
#include "sim/captured.h"
#include "sim/fused.h"
#include "sim/ranges.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- CUDA graphs ---- */

static bool capture_passes(struct lumos_improving *improving) {
  int64_t graphs = 0;
  uint8_t *captured = lumos_find_captured(improving->job, &graphs);
  if (captured == NULL) {
    return false;
  }
  struct lumos_times *times = lumos_improve_times(improving);
  for (size_t t = 0; t < improving->job->tasks.count; t++) {
    times[t] = captured[t] ? (struct lumos_times){0, 0} : times[t];
  }
  free(captured);
  improving->improved->assumed.longer = LUMOS_GRAPHS_LOSE * improving->of->overlapped;
  improving->improved->assumed.keeps_kernels = true;
  improving->improved->variant.threads = true;
  return true;
}

/* ---- fused kernels ---- */

static bool moves_memory(const struct lumos_task *task) {
  return task->kind == LUMOS_ELEMENTWISE || task->kind == LUMOS_NORM;
}

/* The first kernel has the time of all, less the gaps that are between them, which a variant keeps. Returns whether
 * kernels take less. */
static bool fuse(struct lumos_improving *improving, struct lumos_fused_run run, int64_t fused, uint8_t *gone) {
  struct lumos_times *times = lumos_improve_times(improving);
  int64_t gaps = 0, whole = 0;
  for (uint32_t t = run.first; t < run.end; t++) {
    int64_t gap = lumos_timing_of(improving->job, t)->gap;
    whole += times[t].dur;
    gaps += t == run.first ? 0 : times[t].lag + (gap == LUMOS_ABSENT ? 0 : gap);
    times[t].dur = 0;
    gone[t] = t > run.first;
  }
  times[run.first].dur = fused > gaps ? fused - gaps : 0;
  return fused < whole;
}

static bool fuse_kernels(struct lumos_improving *improving) {
  const struct lumos_job *job = improving->job;
  struct lumos_fused_runs runs = {0};
  uint8_t *gone = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    gone[t] =
        lumos_on_stream(job, lumos_improving_task(improving, t)) && moves_memory(lumos_improving_task(improving, t));
  }
  lumos_find_fused_runs(job, gone, &runs);
  memset(gone, 0, job->tasks.count);
  int64_t *fused = lumos_fused_times(job, &runs);
  bool shorter = false;
  for (size_t i = 0; i < runs.count; i++) {
    shorter |= fuse(improving, runs.items[i], fused[i], gone);
  }
  if (runs.count > 0) {
    lumos_job_take_along(job, gone);
    for (uint32_t t = 0; t < job->tasks.count; t++) {
      bool launched = gone[t] && !lumos_on_stream(job, lumos_improving_task(improving, t));
      improving->improved->times[t] = launched ? (struct lumos_times){0, 0} : improving->improved->times[t];
    }
    improving->improved->variant.threads = improving->improved->variant.streams = true;
    improving->improved->assumed.of_gain = LUMOS_ANYTHING; /* some of it cannot be one */
    improving->improved->assumed.launches_alone = improving->improved->assumed.keeps_kernels = !shorter;
  }
  free(fused);
  free(gone);
  bool any = runs.count > 0;
  lumos_vector_free(&runs);
  return any;
}

/* ---- slow ranks ---- */

static bool even_stragglers(struct lumos_improving *improving) {
  const struct lumos_times *medians = improving->of->medians;
  const uint8_t *slow = improving->of->slow;
  if (medians == NULL || memchr(slow, 1, improving->job->ranks.count) == NULL) {
    return false;
  }
  struct lumos_times *times = lumos_improve_times(improving);
  for (uint32_t t = 0; t < improving->job->tasks.count; t++) {
    times[t] = slow[lumos_rank_of(improving->job, lumos_improving_task(improving, t))] ? medians[t] : times[t];
  }
  improving->improved->variant.threads = improving->improved->variant.streams = true;
  return true;
}

/* ---- all ---- */

static const struct {
  const char *name;
  bool (*make)(struct lumos_improving *improving);
} changes[LUMOS_IMPROVEMENTS] = {
    [LUMOS_IMPROVE_LAUNCHES] = {"cuda_graphs", capture_passes},
    [LUMOS_IMPROVE_KERNELS] = {"fused_kernels", fuse_kernels},
    [LUMOS_IMPROVE_NETWORK] = {"faster_network", lumos_improve_network},
    [LUMOS_IMPROVE_STRAGGLER] = {"no_straggler", even_stragglers},
    [LUMOS_IMPROVE_GRADIENTS] = {"overlapped_gradients", lumos_improve_gradients},
    [LUMOS_IMPROVE_STAGES] = {"balanced_stages", lumos_improve_stages},
};

const char *lumos_improvement_name(enum lumos_improvement improvement, const struct lumos_assumed *assumed) {
  return assumed->launches_alone ? "fused_launches"
         : assumed->moves_layers ? "moved_layers"
                                 : changes[improvement].name;
}

static double mean_or_0(const struct lumos_job *job, const char *name) {
  double mean = lumos_mean_step(job, name, LUMOS_METRIC_SIMULATED);
  return isnan(mean) ? 0 : mean;
}

static uint8_t *find_stragglers(const struct lumos_job *job) {
  lumos_string_id name = lumos_intern_text(job->strings, "straggler");
  uint8_t *slow = lumos_allocate_zeroed(job->ranks.count + 1, 1);
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    for (size_t r = 0; metric->name == name && r < job->ranks.count; r++) {
      slow[r] |= job->ranks.items[r].rank == metric->scope.rank;
    }
  }
  return slow;
}

void lumos_improvements_open(struct lumos_improvements *improvements, const struct lumos_job *job,
                             const struct lumos_steps_list *steps, const struct lumos_times *medians) {
  *improvements = (struct lumos_improvements){.job = job,
                                              .steps = steps,
                                              .medians = medians,
                                              .overlapped = mean_or_0(job, "overlapped"),
                                              .exposed = mean_or_0(job, "exposed_communication"),
                                              .slow = find_stragglers(job)};
}

void lumos_improvements_close(struct lumos_improvements *improvements) { free(improvements->slow); }

bool lumos_improve(struct lumos_improved *improved, const struct lumos_improvements *of,
                   enum lumos_improvement improvement) {
  *improved = (struct lumos_improved){.variant = {.context = improved}};
  struct lumos_improving improving = {.of = of, .job = of->job, .improved = improved};
  return changes[improvement].make(&improving);
}

void lumos_improved_free(struct lumos_improved *improved) {
  free(improved->times);
  free(improved->transfers);
}
