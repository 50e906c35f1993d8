/* Stages of a pipeline that are slow.
 *
 * A whole stage may be slow, and no collective within it shows that. So ranks of several stages whose layers do the
 * same work in a step, by kinds and shapes or else by names, in any order, are compared: by what its kernels take, and
 * by what threads take from each launch to the next, as far as the GPU was idle before these kernels.
 */
#include "sim/stages.h"

#include "base/hash.h"
#include "program/reach.h"
#include "sim/clock.h"
#include "sim/metrics.h"
#include "sim/origin.h"
#include "sim/reference.h"
#include <stdlib.h>

int64_t lumos_launched_at(const struct lumos_job *job, const struct lumos_run *runs, uint32_t task) {
  uint32_t call = job->tasks.items[task].call;
  int64_t start = 0, end = 0;
  return call != LUMOS_NONE && lumos_task_interval(job, runs, call, &start, &end) ? end : LUMOS_ABSENT;
}

struct search {
  const struct lumos_job *job;
  const struct lumos_timeline *timeline;
  const struct lumos_host_waits *waits;
  struct lumos_delays *delays;
};

/* What the kernels of layers take in a rank's step, how long nothing ran before them, and what threads took from the
 * launch before to theirs. */
struct shift {
  uint64_t set; /* of these kernels */
  int32_t step, stage;
  uint32_t place; /* index of the rank's step */
  int64_t busy, idle, host, weight;
};
LUMOS_VECTOR_TYPE(shifts, struct shift);

struct spell {
  int64_t start, end;
  int64_t launched; /* LUMOS_ABSENT: not known */
  uint32_t task;
  uint32_t place; /* index of the rank's step, if the task is a layer's; LUMOS_NONE */
};
LUMOS_VECTOR_TYPE(spells, struct spell);

static int compare_times(int64_t a, int64_t b, uint32_t first, uint32_t second) {
  if (a != b) {
    return a < b ? -1 : 1;
  }
  return first < second ? -1 : first > second;
}

static int by_start(const void *left, const void *right) {
  const struct spell *a = left;
  const struct spell *b = right;
  return compare_times(a->start, b->start, a->task, b->task);
}

static int by_launch(const void *left, const void *right) {
  const struct spell *a = left;
  const struct spell *b = right;
  return compare_times(a->launched, b->launched, a->task, b->task);
}

/* All that runs on a rank's streams. */
static void find_spells(const struct search *search, uint32_t r, struct spells *spells) {
  const struct lumos_job *job = search->job;
  const struct lumos_rank *rank = &job->ranks.items[r];
  uint32_t guess = 0;
  spells->count = 0;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    struct spell spell = {
        .task = t, .launched = lumos_launched_at(job, search->timeline->runs, t), .place = LUMOS_NONE};
    if (!lumos_on_stream(job, task) || !lumos_task_interval(job, search->timeline->runs, t, &spell.start, &spell.end)) {
      continue;
    }
    if (task->layer != LUMOS_ABSENT_INT && !lumos_is_communication(task->kind)) {
      spell.place = lumos_step_index(&search->timeline->steps, r, task->step, &guess);
    }
    lumos_vector_push(spells, spell);
  }
}

/* The same for the same work: libraries choose kernels for a product by more than its shapes. */
static uint64_t work_of(const struct lumos_job *job, const struct lumos_task *task) {
  uint32_t span = lumos_launch_span(job, task);
  lumos_string_id shapes = span != LUMOS_NONE ? job->spans.items[span].shapes : LUMOS_NO_STRING;
  return shapes != LUMOS_NO_STRING ? lumos_hash_mix(lumos_hash_mix(3, task->kind), shapes)
                                   : lumos_hash_mix(4, task->name);
}

/* A rank has few steps. */
static struct shift *shift_at(const struct search *search, struct shifts *shifts, size_t first, uint32_t place) {
  for (size_t i = shifts->count; i-- > first;) {
    if (shifts->items[i].place == place) {
      return &shifts->items[i];
    }
  }
  const struct lumos_step *step = &search->timeline->steps.items[place];
  const struct lumos_rank *rank = &search->job->ranks.items[step->rank];
  lumos_vector_push(
      shifts, ((struct shift){
                  .step = step->step, .stage = rank->parallel.pp, .place = place, .weight = lumos_rank_weight(rank)}));
  return &shifts->items[shifts->count - 1];
}

static void add_work(const struct search *search, struct spells *spells, struct shifts *shifts, size_t first) {
  qsort(spells->items, spells->count, sizeof spells->items[0], by_start);
  int64_t busy_until = spells->items[0].start;
  for (size_t i = 0; i < spells->count; i++) {
    const struct spell *spell = &spells->items[i];
    if (spell->place != LUMOS_NONE) {
      struct shift *shift = shift_at(search, shifts, first, spell->place);
      shift->set += work_of(search->job, &search->job->tasks.items[spell->task]); /* a sum: in any order */
      shift->busy += spell->end - spell->start;
      shift->idle += spell->start > busy_until ? spell->start - busy_until : 0;
    }
    busy_until = spell->end > busy_until ? spell->end : busy_until;
  }
}

static void add_launches(const struct search *search, uint32_t rank, struct spells *spells, struct shifts *shifts,
                         size_t first) {
  qsort(spells->items, spells->count, sizeof spells->items[0], by_launch);
  for (size_t i = 1; i < spells->count; i++) {
    const struct spell *spell = &spells->items[i];
    if (spell->place != LUMOS_NONE && spell[-1].launched != LUMOS_ABSENT) {
      int64_t waited = lumos_host_waited(search->waits, rank, spell->launched) -
                       lumos_host_waited(search->waits, rank, spell[-1].launched);
      shift_at(search, shifts, first, spell->place)->host += spell->launched - spell[-1].launched - waited;
    }
  }
}

static void add_shifts(const struct search *search, uint32_t rank, struct spells *spells, struct shifts *shifts) {
  size_t first = shifts->count;
  find_spells(search, rank, spells);
  if (spells->count > 0) {
    add_work(search, spells, shifts, first);
    add_launches(search, rank, spells, shifts, first);
  }
}

static int compare_shifts(const void *left, const void *right) {
  const struct shift *a = left;
  const struct shift *b = right;
  if (a->step != b->step) {
    return a->step < b->step ? -1 : 1;
  }
  if (a->set != b->set) {
    return a->set < b->set ? -1 : 1;
  }
  return a->place < b->place ? -1 : a->place > b->place;
}

static void compare_with_reference(const struct search *search, const struct shift *shifts, size_t count,
                                   struct lumos_contenders *contenders) {
  contenders->count = 0;
  bool several = false;
  for (size_t i = 0; i < count; i++) {
    several = several || shifts[i].stage != shifts[0].stage;
    const struct shift *shift = &shifts[i];
    __int128 time = (__int128)shift->busy + (shift->host < shift->idle ? shift->host : shift->idle);
    lumos_vector_push(contenders, ((struct lumos_contender){time, shift->weight, i}));
  }
  if (!several) {
    return;
  }
  const struct shift *reference = &shifts[lumos_reference_of(contenders, 1)];
  for (size_t i = 0; i < count; i++) {
    int64_t compute = shifts[i].busy - reference->busy;
    int64_t host = lumos_within(shifts[i].host - reference->host, 0, shifts[i].idle);
    struct lumos_delay delay = {
        .set = shifts[i].set, .place = shifts[i].place, .late = compute + host, .compute = compute, .host = host};
    lumos_vector_push(search->delays, delay);
  }
}

void lumos_compare_stages(const struct lumos_job *job, const struct lumos_timeline *timeline,
                          const struct lumos_host_waits *waits, struct lumos_delays *delays) {
  const struct search whole = {job, timeline, waits, delays}, *search = &whole;
  struct spells spells = {0};
  struct shifts shifts = {0};
  struct lumos_contenders contenders = {0};
  bool pipeline = lumos_pipeline_length(job) > 1;
  for (uint32_t r = 0; r < job->ranks.count && pipeline; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    if (rank->has_parallel && rank->parallel.pp >= 0) {
      add_shifts(search, r, &spells, &shifts);
    }
  }
  if (shifts.count > 0) {
    qsort(shifts.items, shifts.count, sizeof shifts.items[0], compare_shifts);
  }
  for (size_t first = 0, end = 0; first < shifts.count; first = end) {
    const struct shift *one = &shifts.items[first];
    for (end = first + 1;
         end < shifts.count && shifts.items[end].step == one->step && shifts.items[end].set == one->set;) {
      end++;
    }
    compare_with_reference(search, one, end - first, &contenders);
  }
  lumos_vector_free(&spells);
  lumos_vector_free(&shifts);
  lumos_vector_free(&contenders);
}
