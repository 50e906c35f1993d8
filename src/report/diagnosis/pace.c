/* Numbering kernels by their place in a layer, and medians. */
#include "report/diagnosis/pace.h"

#include "base/numbering.h"
#include "report/text/numbers.h"

enum { PHASE_BITS = 8 };

/* One rank's kernels of one place. */
struct sample {
  uint32_t place, rank;
  int64_t time, count;
  int64_t ratio; /* to the reference, in millionths; LUMOS_ABSENT */
};
LUMOS_VECTOR_TYPE(samples, struct sample);

struct reading {
  const struct diagnosis_figures *figures;
  struct lumos_numbering places; /* name, phase and how many-th in its pass */
  struct lumos_numbering passes, steps, counted;
  LUMOS_VECTOR(uint32_t) counts; /* by number in `counted` */
  struct samples samples;
  struct lumos_numbering owners; /* place and rank: numbers of samples */
};

static int by_place(const void *left, const void *right) {
  const struct sample *a = left, *b = right;
  int64_t x = a->time / a->count, y = b->time / b->count;
  return a->place != b->place ? LUMOS_ORDER(a->place, b->place)
         : x != y             ? LUMOS_ORDER(x, y)
                              : LUMOS_ORDER(a->rank, b->rank);
}

static int by_rank(const void *left, const void *right) {
  const struct sample *a = left, *b = right;
  return a->rank != b->rank     ? LUMOS_ORDER(a->rank, b->rank)
         : a->ratio != b->ratio ? LUMOS_ORDER(a->ratio, b->ratio)
                                : LUMOS_ORDER(a->place, b->place);
}

static bool is_counted(const struct diagnosis_figures *figures, const struct lumos_task *task) {
  return !lumos_is_communication(task->kind) && task->part == LUMOS_PART_LAYER && task->layer != LUMOS_ABSENT_INT &&
         task->dur > 0 && diagnosis_counts_step(figures, task->step);
}

static void add_task(struct reading *reading, uint32_t rank, const struct lumos_task *task) {
  uint32_t step = lumos_number_of(&reading->steps, lumos_key_pair((uint32_t)task->step, (uint32_t)task->layer));
  uint32_t pass =
      lumos_number_of(&reading->passes, lumos_key_pair(step << PHASE_BITS | task->phase, (uint32_t)task->micro_batch));
  uint32_t counted = lumos_number_of(&reading->counted, lumos_key_pair(pass, task->name));
  if (counted == reading->counts.count) {
    lumos_vector_push(&reading->counts, 0);
  }
  uint32_t nth = reading->counts.items[counted]++;
  uint32_t place = lumos_number_of(&reading->places, lumos_key_pair(task->name, nth << PHASE_BITS | task->phase));
  uint32_t owner = lumos_number_of(&reading->owners, lumos_key_pair(place, rank));
  if (owner == reading->samples.count) {
    struct sample sample = {place, rank, 0, 0, LUMOS_ABSENT};
    lumos_vector_push(&reading->samples, sample);
  }
  struct sample *sample = &reading->samples.items[owner];
  sample->time = report_sum(sample->time, task->dur);
  sample->count++;
}

static void read_rank(struct reading *reading, uint32_t index) {
  const struct lumos_job *job = reading->figures->job;
  const struct lumos_rank *rank = &job->ranks.items[index];
  lumos_numbering_clear(&reading->steps);
  lumos_numbering_clear(&reading->passes);
  lumos_numbering_clear(&reading->counted);
  reading->counts.count = 0;
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    for (uint32_t t = lane->task_first; lane->kind == LUMOS_STREAM && t < lane->task_first + lane->task_count; t++) {
      if (is_counted(reading->figures, &job->tasks.items[t])) {
        add_task(reading, index, &job->tasks.items[t]);
      }
    }
  }
}

/* Samples of one place, by their mean, against the one that a quarter of the ranks come before, as late arrivals are
 * (sim/stragglers.c): so three slow ranks of four are found, and one that is fast makes nobody slow. */
static void compare(const struct lumos_job *job, struct sample *samples, size_t count) {
  int64_t ranks = 0, before = 0;
  for (size_t i = 0; i < count; i++) {
    ranks = report_sum(ranks, lumos_rank_weight(&job->ranks.items[samples[i].rank]));
  }
  size_t reference = 0;
  for (; reference + 1 < count; reference++) {
    before = report_sum(before, lumos_rank_weight(&job->ranks.items[samples[reference].rank]));
    if (before > (ranks - 1) / 4) {
      break;
    }
  }
  for (size_t i = 0; i < count && count > 1; i++) {
    const struct sample *other = &samples[reference];
    samples[i].ratio = report_share(samples[i].time / samples[i].count, other->time / other->count);
  }
}

/* The ratios of one rank, ascending. */
static int64_t median_of(const struct sample *samples, size_t count) {
  int64_t all = 0, before = 0;
  for (size_t i = 0; i < count; i++) {
    all = report_sum(all, samples[i].ratio != LUMOS_ABSENT ? samples[i].time : 0);
  }
  for (size_t i = 0; i < count; i++) {
    before = report_sum(before, samples[i].ratio != LUMOS_ABSENT ? samples[i].time : 0);
    if (samples[i].ratio != LUMOS_ABSENT && before >= all - before) {
      return samples[i].ratio;
    }
  }
  return LUMOS_ABSENT;
}

void diagnosis_read_paces(struct diagnosis_figures *figures) {
  struct reading reading = {.figures = figures};
  for (uint32_t r = 0; r < figures->job->ranks.count; r++) {
    figures->ranks[r].pace = LUMOS_ABSENT;
    read_rank(&reading, r);
  }
  struct samples *samples = &reading.samples;
  lumos_vector_sort(samples, by_place);
  for (size_t first = 0, end = 0; first < samples->count; first = end) {
    for (end = first + 1; end < samples->count && samples->items[end].place == samples->items[first].place;) {
      end++;
    }
    compare(figures->job, &samples->items[first], end - first);
  }
  lumos_vector_sort(samples, by_rank);
  for (size_t first = 0, end = 0; first < samples->count; first = end) {
    for (end = first + 1; end < samples->count && samples->items[end].rank == samples->items[first].rank;) {
      end++;
    }
    figures->ranks[samples->items[first].rank].pace = median_of(&samples->items[first], end - first);
  }
  lumos_numbering_free(&reading.places);
  lumos_numbering_free(&reading.passes);
  lumos_numbering_free(&reading.steps);
  lumos_numbering_free(&reading.counted);
  lumos_numbering_free(&reading.owners);
  lumos_vector_free(&reading.counts);
  lumos_vector_free(samples);
}
