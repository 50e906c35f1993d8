/* Sums by name over one rank and over those like it, and the name in which they differ most. */
#include "report/diagnosis/excess.h"

#include "base/numbering.h"
#include "report/diagnosis/blocked.h"
#include "report/text/numbers.h"
#include "sim/layer_split.h"
#include <stdlib.h>

struct entry {
  int64_t own, others; /* summed over steps, and over ranks */
};

struct sums {
  const struct diagnosis_figures *figures;
  struct lumos_numbering keys; /* a name, and whether the time is before it */
  LUMOS_VECTOR(struct entry) entries;
  int64_t own_steps, other_steps; /* rank-steps that were added up */
};

/* Of other ranks, as often as they count; OWN: of the rank itself. */
typedef void adding(struct sums *sums, const struct lumos_lane *lane, int64_t weight);
enum { OWN = 0 };

static bool is_stage_mate(const struct lumos_job *job, uint32_t rank, uint32_t other) {
  const struct lumos_rank *a = &job->ranks.items[rank], *b = &job->ranks.items[other];
  bool known = a->has_parallel && b->has_parallel && a->parallel.pp >= 0 && b->parallel.pp >= 0;
  return rank != other && (!known || a->parallel.pp == b->parallel.pp);
}

/* Are there like ranks that are no stragglers? */
static bool has_regular_mates(const struct diagnosis_figures *figures, uint32_t rank) {
  for (uint32_t other = 0; other < figures->job->ranks.count; other++) {
    if (is_stage_mate(figures->job, rank, other) && figures->ranks[other].steps > 0 &&
        !figures->ranks[other].straggler) {
      return true;
    }
  }
  return false;
}

static void add(struct sums *sums, lumos_string_id name, bool before, int64_t time, int64_t weight) {
  if (time <= 0) {
    return;
  }
  uint32_t number = lumos_number_of(&sums->keys, lumos_key_pair(name, before));
  if (number == sums->entries.count) {
    struct entry entry = {0, 0};
    lumos_vector_push(&sums->entries, entry);
  }
  int64_t *of = weight == OWN ? &sums->entries.items[number].own : &sums->entries.items[number].others;
  *of = report_sum(*of, report_product(time, weight == OWN ? 1 : weight));
}

static void add_thread(struct sums *sums, const struct lumos_lane *lane, int64_t weight) {
  const struct lumos_job *job = sums->figures->job;
  if (!lumos_lane_launches(job, lane)) {
    return;
  }
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (!diagnosis_counts_step(sums->figures, task->step)) {
      continue;
    }
    struct lumos_times times = lumos_own_times(job, t);
    lumos_string_id name = task->span != LUMOS_NONE ? job->spans.items[task->span].name : task->name;
    add(sums, name, true, times.lag, weight);
    if (lumos_detail_of(job, task)->wait.on == 0) {
      add(sums, name, false, times.dur, weight);
    }
  }
}

static void add_stream(struct sums *sums, const struct lumos_lane *lane, int64_t weight) {
  const struct lumos_job *job = sums->figures->job;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (!lumos_is_communication(task->kind) && diagnosis_counts_step(sums->figures, task->step)) {
      add(sums, task->name, false, task->dur, weight);
    }
  }
}

static void add_rank(struct sums *sums, uint32_t rank, uint8_t lanes, adding *add_lane, bool own) {
  const struct lumos_job *job = sums->figures->job;
  const struct lumos_rank *of = &job->ranks.items[rank];
  int64_t weight = lumos_rank_weight(of);
  for (uint32_t l = of->lane_first; l < of->lane_first + of->lane_count; l++) {
    if (job->lanes.items[l].kind == lanes) {
      add_lane(sums, &job->lanes.items[l], own ? OWN : weight);
    }
  }
  int64_t *steps = own ? &sums->own_steps : &sums->other_steps;
  *steps = report_sum(*steps, report_product(sums->figures->ranks[rank].steps, own ? 1 : weight));
}

static int64_t more(const struct sums *sums, const struct entry *entry) {
  return entry->own / sums->own_steps - entry->others / sums->other_steps;
}

static struct diagnosis_excess excess_of(const struct sums *sums) {
  struct diagnosis_excess excess = {.name = LUMOS_NO_STRING, .annotation = LUMOS_NO_STRING};
  if (sums->own_steps == 0 || sums->other_steps == 0) {
    return excess;
  }
  for (size_t i = 0; i < sums->entries.count; i++) {
    const struct entry *entry = &sums->entries.items[i];
    excess.own = report_sum(excess.own, entry->own / sums->own_steps);
    excess.others = report_sum(excess.others, entry->others / sums->other_steps);
    if (more(sums, entry) > excess.time) {
      excess.time = more(sums, entry);
      excess.name = (lumos_string_id)(sums->keys.keys.items[i] >> 32U);
      excess.before = (sums->keys.keys.items[i] & 1U) != 0;
    }
  }
  return excess;
}

/* The innermost annotation around the longest time before an op of this name. */
static lumos_string_id annotation_before(const struct diagnosis_figures *figures, uint32_t rank, lumos_string_id name) {
  const struct lumos_job *job = figures->job;
  const struct lumos_rank *of = &job->ranks.items[rank];
  lumos_string_id found = LUMOS_NO_STRING;
  int64_t longest = 0;
  for (uint32_t l = of->lane_first; l < of->lane_first + of->lane_count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      uint32_t span = lane->kind == LUMOS_THREAD ? task->span : LUMOS_NONE;
      if (span == LUMOS_NONE || job->spans.items[span].name != name || lumos_own_times(job, t).lag <= longest) {
        continue;
      }
      longest = lumos_own_times(job, t).lag;
      found = LUMOS_NO_STRING;
      for (; span != LUMOS_NONE && found == LUMOS_NO_STRING; span = job->spans.items[span].parent) {
        const struct lumos_span *around = &job->spans.items[span];
        bool open = around->kind == LUMOS_SPAN_ANNOTATION && around->start <= task->start - longest;
        found = open ? around->name : LUMOS_NO_STRING;
      }
    }
  }
  return found;
}

static struct diagnosis_excess find_excess(const struct diagnosis_figures *figures, uint32_t rank, uint8_t lanes,
                                           adding *add_lane) {
  struct sums sums = {.figures = figures};
  bool regular = has_regular_mates(figures, rank);
  add_rank(&sums, rank, lanes, add_lane, true);
  for (uint32_t other = 0; other < figures->job->ranks.count; other++) {
    if (is_stage_mate(figures->job, rank, other) && figures->ranks[other].steps > 0 &&
        !(regular && figures->ranks[other].straggler)) {
      add_rank(&sums, other, lanes, add_lane, false);
    }
  }
  struct diagnosis_excess excess = excess_of(&sums);
  lumos_numbering_free(&sums.keys);
  lumos_vector_free(&sums.entries);
  return excess;
}

struct diagnosis_excess diagnosis_thread_excess(const struct diagnosis_figures *figures, uint32_t rank) {
  struct diagnosis_excess excess = find_excess(figures, rank, LUMOS_THREAD, add_thread);
  if (excess.before) {
    excess.annotation = annotation_before(figures, rank, excess.name);
  }
  return excess;
}

struct diagnosis_excess diagnosis_kernel_excess(const struct diagnosis_figures *figures, uint32_t rank) {
  return find_excess(figures, rank, LUMOS_STREAM, add_stream);
}
