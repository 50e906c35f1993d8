/* Adding up what blocks threads. */
#include "report/diagnosis/blocked.h"

#include "base/numbering.h"
#include "report/text/numbers.h"
#include "sim/layer_split.h"
#include <string.h>

struct sums {
  struct lumos_numbering ops;
  LUMOS_VECTOR(int64_t) times;
  int64_t all;
};

static void add(struct sums *sums, lumos_string_id op, int64_t time) {
  uint32_t number = lumos_number_of(&sums->ops, op);
  if (number == sums->times.count) {
    lumos_vector_push(&sums->times, 0);
  }
  sums->times.items[number] = report_sum(sums->times.items[number], time);
  sums->all = report_sum(sums->all, time);
}

/* Per step and rank, and free. */
static struct diagnosis_blocked result_of(struct sums *sums, int64_t rank_steps) {
  struct diagnosis_blocked blocked = {0, LUMOS_NO_STRING, 0};
  for (size_t i = 0; i < sums->times.count && rank_steps > 0; i++) {
    if (sums->times.items[i] / rank_steps > blocked.op_time) {
      blocked.op_time = sums->times.items[i] / rank_steps;
      blocked.op = (lumos_string_id)sums->ops.keys.items[i];
    }
  }
  blocked.time = rank_steps > 0 ? sums->all / rank_steps : 0;
  lumos_numbering_free(&sums->ops);
  lumos_vector_free(&sums->times);
  return blocked;
}

/* The op around a call that waits, or the call itself: a step's mark is around all of them. */
static lumos_string_id op_around(const struct lumos_job *job, const struct lumos_task *task) {
  bool op = task->span != LUMOS_NONE && job->spans.items[task->span].kind == LUMOS_SPAN_OP;
  return op ? job->spans.items[task->span].name : task->name;
}

static void add_waits(const struct diagnosis_figures *figures, const struct lumos_lane *lane, int64_t weight,
                      struct sums *sums) {
  const struct lumos_job *job = figures->job;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint8_t on = lumos_detail_of(job, task)->wait.on;
    if (on != 0 && diagnosis_counts_step(figures, task->step)) {
      add(sums, op_around(job, task), report_product(task->dur, weight));
    }
  }
}

struct diagnosis_blocked diagnosis_blocked_by_gpu(const struct diagnosis_figures *figures) {
  const struct lumos_job *job = figures->job;
  struct sums sums = {0};
  int64_t rank_steps = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    int64_t weight = lumos_rank_weight(&job->ranks.items[r]);
    rank_steps = report_sum(rank_steps, report_product(figures->ranks[r].steps, weight));
  }
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    if (lane->kind == LUMOS_THREAD && figures->ranks[lane->rank].steps > 0 && lumos_lane_launches(job, lane)) {
      add_waits(figures, lane, lumos_rank_weight(&job->ranks.items[lane->rank]), &sums);
    }
  }
  return result_of(&sums, rank_steps);
}

static bool is_loader(const struct lumos_job *job, const struct lumos_span *span) {
  static const char name[] = "enumerate(DataLoader)#";
  bool counts = span->kind == LUMOS_SPAN_OP || span->kind == LUMOS_SPAN_ANNOTATION;
  return counts && strncmp(lumos_string(job->strings, span->name), name, sizeof name - 1) == 0;
}

struct diagnosis_blocked diagnosis_blocked_by_loader(const struct diagnosis_figures *figures, uint32_t rank) {
  const struct lumos_job *job = figures->job;
  struct sums sums = {0};
  int64_t rank_steps = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    if (rank == LUMOS_NONE || rank == r) {
      int64_t weight = lumos_rank_weight(&job->ranks.items[r]);
      rank_steps = report_sum(rank_steps, report_product(figures->ranks[r].steps, weight));
    }
  }
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    bool outermost = span->parent == LUMOS_NONE || !is_loader(job, &job->spans.items[span->parent]);
    if ((rank == LUMOS_NONE || rank == span->rank) && is_loader(job, span) && outermost) {
      add(&sums, span->name, report_product(span->dur, lumos_rank_weight(&job->ranks.items[span->rank])));
    }
  }
  return result_of(&sums, rank_steps);
}
