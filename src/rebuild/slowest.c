#include "rebuild/slowest.h"

#include "base/numbering.h"
#include "rebuild/fold.h"
#include "sim/engine.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct apart { /* replicas, where ranks that do the same in them communicate */
  double late[REBUILD_MOST_REPLICAS];
  double mean, variance; /* of when they come there */
};

struct survey {
  const struct lumos_job *built;
  const struct lumos_run *runs;
  int32_t replicas;              /* that are built */
  struct lumos_numbering places; /* a step, and the first rank that communicates */
  LUMOS_VECTOR(struct apart) worst;
};

struct step_apart {
  int32_t step;
  uint32_t places;
  double late[REBUILD_MOST_REPLICAS];
  double mean;
};
LUMOS_VECTOR_TYPE(steps_apart, struct step_apart);

static bool is_elsewhere(const struct lumos_parallel *one, const struct lumos_parallel *other) {
  return one->tp != other->tp || one->pp != other->pp;
}

/* False: it is no communication of one rank of each replica, or of those that share its sequences, with the others. */
static bool measure(const struct survey *survey, const struct lumos_collective *collective, struct apart *apart) {
  const struct lumos_job *job = survey->built;
  int32_t there[REBUILD_MOST_REPLICAS] = {0}, of_each = (int32_t)collective->member_count / survey->replicas;
  const struct lumos_parallel *first = NULL;
  *apart = (struct apart){.mean = 0};
  if (collective->member_count != (uint32_t)of_each * (uint32_t)survey->replicas) {
    return false;
  }
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t task = job->members.items[collective->member_first + m];
    const struct lumos_parallel *at = &job->ranks.items[lumos_rank_of(job, &job->tasks.items[task])].parallel;
    first = first == NULL ? at : first;
    if (at->dp < 0 || at->dp >= survey->replicas || there[at->dp]++ == of_each || is_elsewhere(at, first) ||
        survey->runs[task].start == LUMOS_ABSENT) {
      return false;
    }
    apart->late[at->dp] = fmax(apart->late[at->dp], (double)survey->runs[task].start);
  }
  for (int32_t r = 0; r < survey->replicas; r++) {
    apart->mean += apart->late[r] / survey->replicas;
  }
  for (int32_t r = 0; r < survey->replicas; r++) {
    apart->late[r] -= apart->mean;
    apart->variance += apart->late[r] * apart->late[r] / (survey->replicas - 1);
  }
  return true;
}

/* Of each step and each rank what it does when replicas are furthest apart. */
static void find_worst(struct survey *survey) {
  const struct lumos_job *job = survey->built;
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    struct apart apart;
    if (!measure(survey, collective, &apart)) {
      continue;
    }
    const struct lumos_task *first = &job->tasks.items[job->members.items[collective->member_first]];
    uint32_t place = lumos_number_of(&survey->places, lumos_key_pair((uint32_t)first->step, lumos_rank_of(job, first)));
    if (place == survey->worst.count) {
      lumos_vector_push(&survey->worst, apart);
    } else if (apart.variance > survey->worst.items[place].variance) {
      survey->worst.items[place] = apart;
    }
  }
}

static int by_step(const void *left, const void *right) {
  const struct step_apart *a = left, *b = right;
  return LUMOS_ORDER(a->step, b->step);
}

/* Of each step the mean over ranks of a replica, ascending. */
static void find_steps(const struct survey *survey, struct steps_apart *steps) {
  size_t kept = 0;
  for (size_t i = 0; i < survey->worst.count; i++) {
    const struct apart *apart = &survey->worst.items[i];
    struct step_apart step = {.step = (int32_t)(survey->places.keys.items[i] >> 32U), .places = 1, .mean = apart->mean};
    memcpy(step.late, apart->late, sizeof step.late);
    lumos_vector_push(steps, step);
  }
  lumos_vector_sort(steps, by_step);
  for (size_t i = 0; i < steps->count; i++) {
    struct step_apart *step = kept > 0 ? &steps->items[kept - 1] : NULL;
    if (step == NULL || step->step != steps->items[i].step) {
      steps->items[kept++] = steps->items[i];
      continue;
    }
    step->places++;
    step->mean += steps->items[i].mean;
    for (int32_t r = 0; r < survey->replicas; r++) {
      step->late[r] += steps->items[i].late[r];
    }
  }
  steps->count = kept;
  for (size_t i = 0; i < steps->count; i++) {
    steps->items[i].mean /= steps->items[i].places;
    for (int32_t r = 0; r < survey->replicas; r++) {
      steps->items[i].late[r] /= steps->items[i].places;
    }
  }
}

/* The standard deviation of lateness, over steps; the first one only settles. */
static double find_sigma(const struct steps_apart *steps, int32_t replicas) {
  double sum = 0;
  for (size_t i = 1; i < steps->count; i++) {
    for (int32_t r = 0; r < replicas; r++) {
      sum += steps->items[i].late[r] * steps->items[i].late[r] / (replicas - 1);
    }
  }
  return steps->count > 1 ? sqrt(sum / (double)(steps->count - 1)) : 0;
}

/* By how many standard deviations the largest of so many normally distributed numbers is expected to be above their
 * mean: Blom's approximation. */
static double expected_maximum(int32_t count) {
  double share = (count - 0.375) / (count + 0.25), low = 0, high = 8;
  for (int i = 0; i < 60; i++) {
    double middle = (low + high) / 2;
    if (erfc(-middle / sqrt(2)) / 2 < share) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return count > 1 ? low : 0;
}

static int32_t last_of(const struct step_apart *step, int32_t replicas) {
  int32_t last = 0;
  for (int32_t r = 1; r < replicas; r++) {
    last = step->late[r] > step->late[last] ? r : last;
  }
  return last;
}

static void slow(struct rebuild_plan *plan, int32_t replica, int32_t step, int32_t slower) {
  for (size_t r = 0; r < plan->ranks.count; r++) {
    struct rebuild_rank *rank = &plan->ranks.items[r];
    for (size_t i = 0; i < rank->items.count && rank->at.dp == replica; i++) {
      struct rebuild_item *item = &rank->items.items[i];
      item->slower = item->step == step ? slower : item->slower;
    }
  }
}

/* GPUs of one kind were found to differ by 8 % from the slowest to the fastest that is no outlier, which are 5.4
 * standard deviations of a normal distribution apart ("Not All GPUs Are Created Equal", SC 2022). */
static const double GPUS_DIFFER = 0.08 / 5.4;

/* What was found of `recorded` replicas says of the slowest of `all`, in standard deviations of their lateness: that
 * deviation itself is known as well as from so few, and the largest of some numbers lies 0.6 about where it is expected
 * (Blom). */
static double doubt_of(int32_t recorded, int32_t all) {
  static const double OF_LARGEST = 0.6;
  double further = expected_maximum(all) - expected_maximum(recorded);
  return hypot(further / sqrt(2.0 * (recorded - 1)), OF_LARGEST);
}

/* From one such communication to that of the next step a replica falls behind. */
static bool slow_steps(struct rebuild_plan *plan, const struct steps_apart *steps, int32_t replicas, int32_t recorded) {
  double sigma = find_sigma(steps, replicas);
  double behind = sigma * (expected_maximum(plan->model.sizes.dp) - expected_maximum(replicas));
  double whole = steps->count > 1 ? steps->items[steps->count - 1].mean - steps->items[0].mean : 0;
  plan->unsure = whole > 0 ? sigma * doubt_of(recorded, plan->model.sizes.dp) * (double)(steps->count - 1) / whole : 0;
  bool slowed = false;
  for (size_t i = 1; i < steps->count; i++) {
    double period = steps->items[i].mean - steps->items[i - 1].mean;
    double slower = period > 0 ? behind / period * LUMOS_WHOLE_SHARE : 0;
    if (slower >= 1 && slower <= LUMOS_WHOLE_SHARE) {
      slow(plan, last_of(&steps->items[i], replicas), steps->items[i].step, (int32_t)slower);
      slowed = true;
    }
  }
  return slowed;
}

static int32_t count_replicas(const struct rebuild_plan *plan) {
  int32_t count = 0;
  for (size_t r = 0; r < plan->ranks.count; r++) {
    int32_t dp = plan->ranks.items[r].at.dp;
    count = dp >= count ? dp + 1 : count;
  }
  return count;
}

/* More ranks than were recorded that wait for each other in every layer, as those do that share sequences, or experts,
 * wait for GPUs of which nothing was measured. */
static double unsure_of_sharing(int32_t all, int32_t recorded) {
  static const double OF_LARGEST = 0.6; /* as above */
  return all <= recorded ? 0 : GPUS_DIFFER * hypot(expected_maximum(all) - expected_maximum(recorded), OF_LARGEST);
}

static bool await_replicas(struct rebuild_plan *plan, const struct lumos_job *built, int32_t recorded, bool *slowed,
                           struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct survey survey = {.built = built, .replicas = count_replicas(plan)};
  *slowed = false;
  plan->unsure = recorded < 2 ? GPUS_DIFFER * expected_maximum(plan->model.sizes.dp) : 0;
  if (recorded < 2 || survey.replicas < 2 || recorded >= plan->model.sizes.dp ||
      survey.replicas > REBUILD_MOST_REPLICAS) {
    return true;
  }
  struct lumos_run *runs = lumos_allocate(built->tasks.count * sizeof *runs);
  bool done = lumos_engine_run(built, &options, runs, error);
  if (done) {
    struct steps_apart steps = {0};
    survey.runs = runs;
    find_worst(&survey);
    find_steps(&survey, &steps);
    *slowed = slow_steps(plan, &steps, survey.replicas, recorded);
    lumos_vector_free(&steps);
  }
  lumos_vector_free(&survey.worst);
  lumos_numbering_free(&survey.places);
  free(runs);
  return done;
}

bool rebuild_await_slowest(struct rebuild_plan *plan, const struct lumos_job *built,
                           const struct lumos_parallel *recorded, bool *slowed, struct lumos_error *error) {
  bool done = await_replicas(plan, built, recorded->dp > 0 ? recorded->dp : 1, slowed, error);
  const struct lumos_parallel *sizes = &plan->model.sizes;
  plan->unsure = hypot(plan->unsure, unsure_of_sharing(rebuild_contexts_of(sizes), rebuild_contexts_of(recorded)));
  plan->unsure = hypot(plan->unsure, unsure_of_sharing(rebuild_experts_of(sizes), rebuild_experts_of(recorded)));
  return done;
}
