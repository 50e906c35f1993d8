/* Configurations of one size and one kind of pipeline are a group. A process for each group brings the job to that size
 * and finds what its predictions have in common; of it, one for each configuration parts, which then has all of that.
 * Groups that may have the best configuration begin first. Each has one process at a time at least, and takes more out
 * of `slots` while others have ended. */
#include "sweep/predict_all.h"

#include "sweep/pool.h"
#include <lumos/watch.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What all processes see, and write into. */
struct shared {
  _Atomic double most; /* that the best so far takes, for comparison */
  _Atomic size_t done; /* predicted, or skipped */
  struct sweep_answer {
    bool given;
    struct sweep_figures figures;
  } answers[]; /* by configuration */
};

/* So many of `asked` in a row. */
struct members {
  uint32_t first, count;
  double least; /* of all of them, for comparison */
};

struct predicting {
  struct sweeping *sweeping;
  LUMOS_VECTOR(uint32_t) asked; /* configurations that can be predicted, by group, those first that may be the best */
  LUMOS_VECTOR(struct members) groups;
  struct shared *shared;
  int64_t *least; /* by configuration, as in `sweeping`, but shared */
  int slots[2];
  size_t processes;
  struct lumos_watcher watcher;
  const struct members *members; /* of the group that this process is for */
  struct sweep_start start;
};

struct sweep_row sweep_figures_row(const struct sweeping *sweeping, uint32_t at) {
  const struct sweep_figures *figures = &sweeping->figures[at];
  int64_t least = sweeping->least[at];
  bool known = least != LUMOS_ABSENT;
  return (struct sweep_row){.number = (int64_t)at + 1,
                            .predicted = figures->predicted,
                            .step = figures->step,
                            .low = figures->low,
                            .high = figures->high,
                            .rate = figures->rate,
                            .least = least,
                            .most_rate =
                                known ? sweep_rate(sweeping->job, &sweeping->all.items[at], &sweeping->plans[at], least)
                                      : LUMOS_ABSENT,
                            .mfu = figures->mfu,
                            .bubble = figures->bubble,
                            .memory = figures->memory,
                            .capacity = figures->capacity};
}

/* Memory that processes which part from this one write into for it to read; zeroed. */
static void *share(size_t size) {
  void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    lumos_out_of_memory(size);
  }
  return memory;
}

static size_t size_of_shared(const struct predicting *predicting) {
  return sizeof(struct shared) + predicting->sweeping->all.count * sizeof(struct sweep_answer);
}

static size_t size_of_least(const struct predicting *predicting) {
  return (predicting->sweeping->all.count + 1) * sizeof(int64_t);
}

/* This process's copy, of which nobody watches what is done with it. */
static struct lumos_job *own_job(const struct predicting *predicting) {
  struct lumos_job *own = (struct lumos_job *)(uintptr_t)predicting->sweeping->job;
  own->watcher = (struct lumos_watcher){NULL, NULL};
  return own;
}

/* ---- One group ---- */

static struct sweep_group group_of(const struct predicting *predicting, const struct members *members) {
  const struct sweeping *sweeping = predicting->sweeping;
  return (struct sweep_group){sweeping->all.items, sweeping->plans, predicting->asked.items + members->first,
                              members->count};
}

static uint32_t member(const struct predicting *predicting, size_t index) {
  return predicting->asked.items[predicting->members->first + index];
}

/* Can it not be the best any more? */
static bool skip(void *context, size_t index) {
  struct predicting *predicting = context;
  uint32_t at = member(predicting, index);
  const struct sweep_row row = sweep_figures_row(predicting->sweeping, at);
  if (predicting->sweeping->sweep->all || !sweep_row_exceeds(&row, atomic_load(&predicting->shared->most))) {
    return false;
  }
  predicting->shared->answers[at] = (struct sweep_answer){.given = true, .figures = {.skipped = true}};
  atomic_fetch_add(&predicting->shared->done, 1);
  return true;
}

static void predict(void *context, size_t index, void *answer) {
  const struct predicting *predicting = context;
  const struct sweeping *sweeping = predicting->sweeping;
  uint32_t at = member(predicting, index);
  predicting->shared->answers[at].figures = sweep_predict(own_job(predicting), &predicting->start, sweeping->sweep,
                                                          &sweeping->all.items[at], &sweeping->plans[at]);
  *(char *)answer = 1;
}

static void lose(struct predicting *predicting, uint32_t at, int signal) {
  struct sweep_answer *lost = &predicting->shared->answers[at];
  const char *cure = predicting->processes > 1 ? "give it more memory, or -j 1" : "give it more memory";
  *lost = (struct sweep_answer){.given = true};
  if (signal != 0) {
    (void)snprintf(lost->figures.why, sizeof lost->figures.why, "its process was ended by signal %d; %s", signal, cure);
  } else {
    (void)snprintf(lost->figures.why, sizeof lost->figures.why, "its process ended before it was predicted; %s", cure);
  }
}

static void lose_member(void *context, size_t index, int signal, void *answer) {
  (void)answer;
  lose(context, member(context, index), signal);
}

static void take_member(void *context, size_t index, size_t done) {
  struct predicting *predicting = context;
  uint32_t at = member(predicting, index);
  struct sweep_answer *answer = &predicting->shared->answers[at];
  (void)done;
  answer->given = true;
  predicting->sweeping->figures[at] = answer->figures;
  const struct sweep_row row = sweep_figures_row(predicting->sweeping, at);
  double most = sweep_row_most(&row), best = atomic_load(&predicting->shared->most);
  while (most < best && !atomic_compare_exchange_weak(&predicting->shared->most, &best, most)) {
  }
  atomic_fetch_add(&predicting->shared->done, 1);
}

/* In a process of its own. */
static void predict_group(void *context, size_t index, void *answer) {
  struct predicting *predicting = context;
  struct lumos_error error = {0};
  predicting->members = &predicting->groups.items[index];
  const struct sweep_group group = group_of(predicting, predicting->members);
  sweep_start(&predicting->start, own_job(predicting), &group);
  char *ends = lumos_allocate_zeroed(group.count, 1);
  const struct sweep_pool pool = {.count = group.count,
                                  .processes = predicting->processes,
                                  .slots = predicting->slots,
                                  .size = 1,
                                  .piece = predict,
                                  .skip = skip,
                                  .lost = lose_member,
                                  .step = take_member,
                                  .context = predicting};
  bool done = sweep_pool_run(&pool, ends, &error);
  for (size_t i = 0; i < group.count && !done; i++) {
    struct sweep_answer *lost = &predicting->shared->answers[group.indices[i]];
    if (!lost->given) {
      *lost = (struct sweep_answer){.given = true};
      memcpy(lost->figures.why, error.text, sizeof lost->figures.why);
    }
  }
  *(char *)answer = 1;
  lumos_rebuild_base_free(predicting->start.base);
  free(ends);
}

/* ---- All groups ---- */

static void lose_group(void *context, size_t index, int signal, void *answer) {
  struct predicting *predicting = context;
  const struct members *members = &predicting->groups.items[index];
  (void)answer;
  for (uint32_t i = members->first; i < members->first + members->count; i++) {
    uint32_t at = predicting->asked.items[i];
    if (!predicting->shared->answers[at].given) {
      lose(predicting, at, signal);
    }
  }
}

static void look(void *context) {
  const struct predicting *predicting = context;
  lumos_watch(&predicting->watcher, "sweep", LUMOS_WATCH_CONFIGURATIONS, atomic_load(&predicting->shared->done),
              predicting->asked.count);
}

/* Where no group is left to begin, what this one had is free for the others. */
static void end_group(void *context, size_t index, size_t done) {
  struct predicting *predicting = context;
  (void)index;
  if (predicting->groups.count - done < predicting->processes) {
    sweep_slots_add(predicting->slots, 1);
  }
}

static bool predict_groups(struct predicting *predicting, struct lumos_error *error) {
  size_t groups = predicting->groups.count;
  char *answers = lumos_allocate_zeroed(groups + 1, 1);
  size_t free_slots = groups < predicting->processes ? predicting->processes - groups : 0;
  atomic_store(&predicting->shared->most, INFINITY);
  if (!sweep_slots_open(predicting->slots, free_slots)) {
    free(answers);
    return lumos_fail(error, "no pipe could be opened for a sweep; close what has files open, or allow more of them");
  }
  const struct sweep_pool pool = {.count = groups,
                                  .processes = predicting->processes,
                                  .size = 1,
                                  .piece = predict_group,
                                  .lost = lose_group,
                                  .step = end_group,
                                  .look = look,
                                  .context = predicting};
  bool done = sweep_pool_run(&pool, answers, error);
  for (size_t i = 0; i < predicting->asked.count && done; i++) {
    uint32_t at = predicting->asked.items[i];
    predicting->sweeping->figures[at] = predicting->shared->answers[at].figures;
  }
  (void)close(predicting->slots[0]);
  (void)close(predicting->slots[1]);
  free(answers);
  return done;
}

/* ---- What they take at least, and the order that it makes ---- */

/* Of a group, in a process of its own; what cannot be found is not known. */
static void bound(void *context, size_t index, void *answer) {
  const struct predicting *predicting = context;
  const struct sweep_group group = group_of(predicting, &predicting->groups.items[index]);
  sweep_least(own_job(predicting), &group, predicting->least);
  *(char *)answer = 1;
}

static void lose_bounds(void *context, size_t index, int signal, void *answer) {
  (void)context;
  (void)index;
  (void)signal;
  (void)answer;
}

static double least_of(const struct predicting *predicting, uint32_t at) {
  const struct sweep_row row = sweep_figures_row(predicting->sweeping, at);
  return sweep_row_least(&row);
}

static int by_group(const void *left, const void *right, void *context) {
  const struct sweeping *sweeping = ((const struct predicting *)context)->sweeping;
  const uint32_t *a = left, *b = right;
  int order = sweep_compare_groups(sweeping->job, &sweeping->all.items[*a], &sweeping->all.items[*b]);
  return order != 0 ? order : LUMOS_ORDER(*a, *b);
}

/* Those of which nothing is known first, for they are predicted in any case. */
static int by_group_and_least(const void *left, const void *right, void *context) {
  const struct sweeping *sweeping = ((const struct predicting *)context)->sweeping;
  const uint32_t *a = left, *b = right;
  int order = sweep_compare_groups(sweeping->job, &sweeping->all.items[*a], &sweeping->all.items[*b]);
  double first = least_of(context, *a), second = least_of(context, *b);
  return order != 0 ? order : first < second ? -1 : first > second ? 1 : LUMOS_ORDER(*a, *b);
}

static int by_least(const void *left, const void *right, void *context) {
  const struct members *a = left, *b = right;
  (void)context;
  return a->least < b->least ? -1 : a->least > b->least ? 1 : LUMOS_ORDER(a->first, b->first);
}

static void list_groups(struct predicting *predicting) {
  const struct sweeping *sweeping = predicting->sweeping;
  lumos_vector_sort_by(&predicting->asked, by_group, predicting);
  for (uint32_t i = 0; i < predicting->asked.count; i++) {
    const uint32_t *asked = &predicting->asked.items[i];
    if (i == 0 ||
        sweep_compare_groups(sweeping->job, &sweeping->all.items[asked[-1]], &sweeping->all.items[*asked]) != 0) {
      lumos_vector_push(&predicting->groups, ((struct members){.first = i}));
    }
    predicting->groups.items[predicting->groups.count - 1].count++;
  }
}

/* Find what each takes at least, and put those first that take the least. */
static bool bound_all(struct predicting *predicting, struct lumos_error *error) {
  struct sweeping *sweeping = predicting->sweeping;
  char *answers = lumos_allocate_zeroed(predicting->groups.count + 1, 1);
  const struct sweep_pool pool = {.count = predicting->groups.count,
                                  .processes = predicting->processes,
                                  .size = 1,
                                  .piece = bound,
                                  .lost = lose_bounds,
                                  .look = look,
                                  .context = predicting};
  bool done = sweep_pool_run(&pool, answers, error);
  free(answers);
  memcpy(sweeping->least, predicting->least, sweeping->all.count * sizeof *sweeping->least);
  lumos_vector_sort_by(&predicting->asked, by_group_and_least, predicting);
  for (size_t g = 0; g < predicting->groups.count; g++) {
    struct members *members = &predicting->groups.items[g];
    members->least = least_of(predicting, predicting->asked.items[members->first]);
  }
  lumos_vector_sort_by(&predicting->groups, by_least, predicting);
  return done;
}

/* ---- All of it ---- */

bool sweep_is_of_part(const struct lumos_sweep *sweep, uint32_t at) {
  return sweep->parts <= 1 || at % (uint32_t)sweep->parts == (uint32_t)sweep->part - 1;
}

static void plan_all(struct predicting *predicting) {
  struct sweeping *sweeping = predicting->sweeping;
  int64_t passes = sweep_passes(sweeping->job);
  for (uint32_t i = 0; i < sweeping->all.count; i++) {
    struct lumos_error error = {0};
    if (!sweep_is_of_part(sweeping->sweep, i)) {
      continue;
    }
    if (sweep_plan_make(&sweeping->plans[i], sweeping->job, sweeping->sweep, passes, &sweeping->all.items[i], &error)) {
      lumos_vector_push(&predicting->asked, i);
    } else {
      memcpy(sweeping->figures[i].why, error.text, sizeof error.text);
    }
  }
}

bool sweep_predict_all(struct sweeping *sweeping, struct lumos_error *error) {
  enum { FEW = 2 }; /* of a grid of so many too few can be skipped to pay for bounds */
  struct predicting *predicting = lumos_allocate_zeroed(1, sizeof *predicting);
  predicting->sweeping = sweeping;
  predicting->processes = sweep_pool_processes(sweeping->sweep->processes);
  predicting->watcher = sweeping->job->watcher;
  predicting->shared = share(size_of_shared(predicting));
  predicting->least = share(size_of_least(predicting));
  memcpy(predicting->least, sweeping->least, sweeping->all.count * sizeof *sweeping->least);
  plan_all(predicting);
  list_groups(predicting);
  if (predicting->processes > predicting->asked.count) { /* more have nothing to do, and need no slots */
    predicting->processes = predicting->asked.count;
  }
  bool bounded = !sweeping->sweep->all && sweeping->all.count > FEW;
  bool done = (!bounded || bound_all(predicting, error)) && predict_groups(predicting, error);
  (void)munmap(predicting->shared, size_of_shared(predicting));
  (void)munmap(predicting->least, size_of_least(predicting));
  lumos_vector_free(&predicting->asked);
  lumos_vector_free(&predicting->groups);
  free(predicting);
  return done;
}
