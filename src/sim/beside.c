#include "sim/beside.h"

#include <math.h>
#include <stdlib.h>

struct weighed {
  double lost, weight;
  double squares; /* of errors that were measured, of kernels that have nothing to do with each other */
  double assumed; /* errors of what was measured elsewhere: all of them may be off together */
};

static void weigh(struct weighed *sum, const struct lumos_loss *loss, double weight) {
  sum->lost += weight * loss->share;
  sum->weight += weight;
  sum->squares += loss->evidence > 0 ? pow(weight * loss->error, 2) : 0;
  sum->assumed += loss->evidence > 0 ? 0 : weight * loss->error;
}

struct times { /* of kernels of one class, ns */
  double beside, all;
};

static void add_times(const struct lumos_job *job, const int64_t *beside, struct times *times) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind)) {
      double weight = (double)lumos_rank_weight(&job->ranks.items[lumos_rank_of(job, task)]);
      struct times *of = &times[lumos_contended_of(task)];
      of->beside += weight * (double)beside[t];
      of->all += weight * (double)task->dur;
    }
  }
}

struct lumos_beside lumos_beside_of(const struct lumos_job *job) {
  struct lumos_beside found = {.kept = true};
  struct weighed beside = {0}, all = {0};
  struct lumos_run *runs = lumos_measured_runs(job);
  const struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_placing placing = lumos_placing_of(job, &nodes);
  uint8_t *computing = lumos_find_computing(job);
  for (int with = 0; with < LUMOS_CONTENDERS; with++) {
    uint8_t *communication = lumos_find_contender(job, with);
    struct times times[LUMOS_CONTENDED] = {{0}};
    lumos_contention_fit(&found.with[with], &placing, communication);
    int64_t *lengths = lumos_times_beside(job, runs, NULL, computing, communication);
    add_times(job, lengths, times);
    for (int of = 0; of < LUMOS_CONTENDED; of++) {
      weigh(&beside, &found.with[with].losses[of], times[of].beside);
      weigh(&all, &found.with[with].losses[of], times[of].all);
    }
    free(lengths);
    free(communication);
  }
  free(computing);
  free(runs);
  lumos_placing_free(&placing);
  const struct weighed *sum = beside.weight > 0 ? &beside : &all;
  found.lost = sum->weight > 0 ? sum->lost / sum->weight : 0;
  found.error = sum->weight > 0 ? sqrt(sum->squares + sum->assumed * sum->assumed) / sum->weight : 0;
  return found;
}

struct kernels { /* of a rank: sums over its steps, measured and simulated */
  double alone[2], beside[2];
  int64_t steps[2];
};

/* As much of the kernels beside communication as of all of them. */
static double more_beside(const struct kernels *kernels) {
  double was = (kernels->alone[0] + kernels->beside[0]) / (double)kernels->steps[0],
         is = (kernels->alone[1] + kernels->beside[1]) / (double)kernels->steps[1];
  double before = kernels->beside[0] / (double)kernels->steps[0],
         after = kernels->beside[1] / (double)kernels->steps[1];
  return was > 0 ? after - before * is / was : after;
}

struct lumos_overlap lumos_overlap_changed(const struct lumos_job *job, const int32_t first[2], bool by_rank) {
  lumos_string_id alone = lumos_intern_text(job->strings, "exposed_compute"),
                  beside = lumos_intern_text(job->strings, "overlapped");
  struct kernels *kernels = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *kernels);
  struct lumos_overlap most = {0, 0};
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    struct lumos_scope rest = metric->scope;
    size_t at = rest.rank == LUMOS_ABSENT_INT ? job->ranks.count : lumos_job_rank(job, rest.rank);
    int when = metric->source == (uint8_t)LUMOS_METRIC_SIMULATED;
    rest.rank = LUMOS_ABSENT_INT;
    bool counts = at != LUMOS_NONE && (at < job->ranks.count) == by_rank && rest.step != LUMOS_ABSENT_INT &&
                  rest.step != first[when] && lumos_scope_is_whole(&rest);
    if (counts && metric->name == alone) {
      kernels[at].alone[when] += lumos_decimal_value(metric->value);
      kernels[at].steps[when]++;
    } else if (counts && metric->name == beside) {
      kernels[at].beside[when] += lumos_decimal_value(metric->value);
    }
  }
  for (size_t r = 0; r <= job->ranks.count; r++) {
    if (kernels[r].steps[0] > 0 && kernels[r].steps[1] > 0) {
      double more = more_beside(&kernels[r]);
      most.come = fmax(most.come, more);
      most.gone = fmax(most.gone, -more);
    }
  }
  free(kernels);
  return most;
}
