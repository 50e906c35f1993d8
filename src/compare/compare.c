/* See compare.h. */
#include "compare/carrier.h"
#include "compare/rows.h"
#include "compare/verdict.h"
#include "compare/waterfall.h"

#include <lumos/graph.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *lumos_match_name(enum lumos_match match) {
  static const char *const names[] = {"exact",     "module", "kernel", "shapes", "op",
                                      "elsewhere", "name",   "layer",  "phase",  "none"};
  return match <= LUMOS_MATCH_NONE ? names[match] : NULL;
}

const char *lumos_compare_outcome_name(enum lumos_compare_outcome outcome) {
  static const char *const names[] = {"unknown", "alike", "inconclusive", "different"};
  return outcome <= LUMOS_COMPARE_DIFFERENT ? names[outcome] : NULL;
}

/* ---- The jobs ---- */

const char *lumos_compared_name(size_t job) {
  static const char letters[LUMOS_COMPARE_JOBS][2] = {"A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M",
                                                      "N", "O", "P", "Q", "R", "S", "T", "U", "V", "W", "X", "Y", "Z"};
  return letters[job];
}

/* The GPU that all compared ranks have. */
static lumos_string_id device_of(const struct compare_side *side, struct lumos_strings *strings) {
  lumos_string_id found = LUMOS_NO_STRING;
  for (size_t rank = 0; rank < side->job->ranks.count; rank++) {
    lumos_string_id name = side->job->ranks.items[rank].device_name;
    if (side->has_gpu[rank] && (name == LUMOS_NO_STRING || (found != LUMOS_NO_STRING && name != found))) {
      return LUMOS_NO_STRING;
    }
    found = side->has_gpu[rank] ? name : found;
  }
  return found == LUMOS_NO_STRING ? found : lumos_intern_text(strings, lumos_string(side->job->strings, found));
}

static lumos_string_id damage_of(const struct lumos_job *job, struct lumos_strings *strings) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_job_put_damage(job, &text);
  lumos_string_id damage = text.length == 0 ? LUMOS_NO_STRING : lumos_intern(strings, text.bytes, text.length);
  lumos_text_free(&text);
  return damage;
}

static void find_typical(const struct compare_side *side, struct lumos_compared_job *job) {
  const struct lumos_step *typical = lumos_typical_step(&side->windows, 0); /* all of which count */
  if (typical != NULL) {
    job->typical = typical->step;
    job->typical_start = typical->start;
    job->typical_end = typical->end;
  }
}

static struct lumos_compared_job describe_job(const struct compare_side *side, const struct compare_items *items,
                                              const uint8_t *match, struct lumos_strings *strings) {
  struct lumos_compared_job job = {.steps_recorded = (uint32_t)side->timeline.job.count,
                                   .steps = (uint32_t)side->windows.count,
                                   .ranks = side->weight,
                                   .device = device_of(side, strings),
                                   .damage = damage_of(side->job, strings),
                                   .shortest = INT64_MAX};
  __int128 sum = 0, gpu_time = 0, matched[LUMOS_MATCH_NONE + 1] = {0};
  for (size_t k = 0; k < side->windows.count; k++) {
    int64_t length = side->windows.items[k].end - side->windows.items[k].start;
    sum += length;
    job.shortest = length < job.shortest ? length : job.shortest;
    job.longest = length > job.longest ? length : job.longest;
  }
  job.step = job.steps == 0 ? 0 : (int64_t)(sum / job.steps);
  find_typical(side, &job);
  for (size_t i = 0; i < items->items.count; i++) {
    gpu_time += items->items.items[i].time;
    matched[match[i]] += items->items.items[i].time;
  }
  struct compare_rounding rounding = {0}; /* so that what is not matched is the rest, and not below 0 */
  for (int level = 0; level < LUMOS_MATCHES; level++) {
    job.matched[level] = compare_rounded(&rounding, side, matched[level]);
  }
  job.gpu_time = (int64_t)(gpu_time / compare_divisor(side));
  return job;
}

/* Do the parts of a list add up to both steps? */
static bool adds_up(const struct lumos_comparison *comparison, const struct lumos_compared_parts *parts) {
  int64_t sums[2] = {0, 0};
  for (size_t i = 0; i < parts->count; i++) {
    sums[0] += parts->items[i].time[0];
    sums[1] += parts->items[i].time[1];
  }
  return sums[0] == comparison->jobs[0].step && sums[1] == comparison->jobs[1].step;
}

/* ---- Whether steps differ ---- */

static struct compare_sample sample_of_steps(const struct compare_side *side) {
  double count = (double)side->windows.count, mean = 0, squares = 0;
  for (size_t k = 0; k < side->windows.count; k++) {
    mean += (double)(side->windows.items[k].end - side->windows.items[k].start) / count;
  }
  for (size_t k = 0; k < side->windows.count; k++) {
    double off = (double)(side->windows.items[k].end - side->windows.items[k].start) - mean;
    squares += off * off;
  }
  return (struct compare_sample){count, count > 1 ? squares / (count - 1) : 0};
}

/* What durations are counted in: whole microseconds, where there is nothing else; ns. */
static double grain_of(const struct lumos_job *job) {
  enum { MICROSECOND = 1000 };
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].dur % MICROSECOND != 0) {
      return 1;
    }
  }
  return MICROSECOND;
}

/* Are both simulated from the same steps of one recording? It is known by the windows of its ranks, to the
 * nanosecond. */
static bool are_of_one_recording(const struct lumos_comparison *comparison, const struct compare_side sides[2]) {
  const struct lumos_job *a = sides[0].job, *b = sides[1].job;
  bool same = comparison->simulated && a->epoch == b->epoch && a->ranks.count == b->ranks.count &&
              sides[0].windows.count == sides[1].windows.count;
  for (size_t i = 0; same && i < a->ranks.count; i++) {
    const struct lumos_rank *one = &a->ranks.items[i], *other = &b->ranks.items[i];
    same = one->rank == other->rank && one->window_start == other->window_start && one->window_end == other->window_end;
  }
  for (size_t i = 0; same && i < sides[0].windows.count; i++) {
    same = sides[0].windows.items[i].step == sides[1].windows.items[i].step;
  }
  return same;
}

static void test_steps(struct lumos_comparison *comparison, const struct compare_side sides[2], double level,
                       const double grains[2]) {
  struct compare_sample a = sample_of_steps(&sides[0]), b = sample_of_steps(&sides[1]);
  struct compare_variance variance = compare_pooled(&a, &b);
  double grain = fmax(grains[0], grains[1]);
  variance.variance = fmax(variance.variance, grain * grain / 12);
  double noise = comparison->one_recording ? 0 : compare_noise(a.count, b.count, variance, level);
  comparison->noise = noise >= 0 && noise < (double)INT64_MAX / 2 ? (int64_t)ceil(noise) : LUMOS_ABSENT;
  int64_t longer = comparison->jobs[1].step - comparison->jobs[0].step;
  comparison->step_differs = comparison->noise != LUMOS_ABSENT && llabs(longer) > comparison->noise;
}

/* Where steps vary too much to say: changed rows, and what one job alone does, say it where they account for half. */
static bool rows_show_it(const struct lumos_comparison *comparison) {
  int64_t longer = comparison->jobs[1].step - comparison->jobs[0].step, shown = 0;
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    if (row->time_differs || row->count_differs) {
      shown += row->work[1].step - row->work[0].step;
    }
  }
  return comparison->noise != LUMOS_ABSENT && longer != 0 && (longer < 0) == (shown < 0) &&
         llabs(shown) >= llabs(longer) - llabs(longer) / 2;
}

/* Noise of few steps is large because they are few, so what it hides may well be a difference. Not so where it is small
 * all the same. */
static enum lumos_compare_outcome find_outcome(const struct lumos_comparison *comparison) {
  enum {
    FEW = 12,         /* steps of both together. Chosen: noise is 1.5 times that of as many as one likes */
    SMALL_PERCENT = 2 /* of a step. Chosen: what a comparison has to find */
  };
  const struct lumos_compared_job *a = &comparison->jobs[0], *b = &comparison->jobs[1];
  if (compare_hides_work(comparison)) {
    return LUMOS_COMPARE_INCONCLUSIVE;
  }
  if (comparison->noise == LUMOS_ABSENT) {
    return LUMOS_COMPARE_UNKNOWN;
  }
  if (comparison->step_differs) {
    return LUMOS_COMPARE_DIFFERENT;
  }
  bool few = a->steps + b->steps < FEW, small = comparison->noise <= a->step / 100 * SMALL_PERCENT;
  return few && !small && a->step != b->step ? LUMOS_COMPARE_INCONCLUSIVE : LUMOS_COMPARE_ALIKE;
}

/* ---- Order ---- */

static int compare_names(const struct lumos_strings *strings, const struct lumos_compared_work *a,
                         const struct lumos_compared_work *b) {
  const lumos_string_id left[] = {a->op, a->name, a->shapes}, right[] = {b->op, b->name, b->shapes};
  for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
    int order = strcmp(lumos_string(strings, left[i]), lumos_string(strings, right[i]));
    if (order != 0) {
      return order;
    }
  }
  return 0;
}

static int by_name(const struct lumos_strings *strings, const struct lumos_compared_row *a,
                   const struct lumos_compared_row *b) {
  int order = compare_names(strings, &a->work[0], &b->work[0]);
  order = order != 0 ? order : compare_names(strings, &a->work[1], &b->work[1]);
  order = order != 0 ? order : LUMOS_ORDER(a->match, b->match);
  order = order != 0 ? order : LUMOS_ORDER(a->phase, b->phase);
  return order != 0 ? order : LUMOS_ORDER(a->kind, b->kind);
}

static int by_step(const void *left, const void *right, void *strings) {
  const struct lumos_compared_row *a = left, *b = right;
  int64_t change_a = llabs(a->work[1].step - a->work[0].step), change_b = llabs(b->work[1].step - b->work[0].step);
  if (change_a != change_b) {
    return change_a > change_b ? -1 : 1;
  }
  change_a = llabs(a->work[1].time - a->work[0].time);
  change_b = llabs(b->work[1].time - b->work[0].time);
  return change_a != change_b ? (change_a > change_b ? -1 : 1) : by_name(strings, a, b);
}

static int by_count(const void *left, const void *right, void *strings) {
  const struct lumos_compared_row *a = left, *b = right;
  int64_t change_a = llabs(a->work[1].count - a->work[0].count), change_b = llabs(b->work[1].count - b->work[0].count);
  return change_a != change_b ? (change_a > change_b ? -1 : 1) : by_step(left, right, strings);
}

/* ---- All together ---- */

/* Idle time is no row of work. */
static void drop_idle(struct lumos_compared_rows *rows) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->items[i].kind != 0) {
      rows->items[kept++] = rows->items[i];
    }
  }
  rows->count = kept;
}

static void compare_sides(struct lumos_comparison *comparison, const struct compare_side sides[2]) {
  enum { LEAST = 2000 }; /* of a job's GPU time one such part is asked whether it changed. Chosen: less is no cause */
  struct compare_items gpu[2], calls[2];
  struct compare_matching gpu_matching, call_matching;
  struct compare_table gpu_table, call_table;
  for (int side = 0; side < 2; side++) {
    compare_items_of_gpu(&gpu[side], &sides[side], comparison->strings);
    compare_items_of_calls(&calls[side], &sides[side], comparison->strings);
  }
  compare_match_gpu(&gpu_matching, gpu);
  compare_match_calls(&call_matching, calls);
  for (int side = 0; side < 2; side++) {
    comparison->jobs[side] = describe_job(&sides[side], &gpu[side], gpu_matching.match[side], comparison->strings);
  }
  compare_rows_fill(&gpu_table, &comparison->rows, &gpu_matching, sides, gpu);
  compare_rows_fill(&call_table, &comparison->calls, &call_matching, sides, calls);
  compare_calls_name(&comparison->calls, &call_matching, sides, calls);
  int64_t more = comparison->jobs[0].gpu_time > comparison->jobs[1].gpu_time ? comparison->jobs[0].gpu_time
                                                                             : comparison->jobs[1].gpu_time;
  /* One half of the level is the step's, the other that of all rows together. */
  double questions =
      (double)(compare_rows_questions(&gpu_table, more / LEAST) + compare_rows_questions(&call_table, more / LEAST));
  const double grains[2] = {grain_of(sides[0].job), grain_of(sides[1].job)};
  comparison->one_recording = are_of_one_recording(comparison, sides);
  gpu_table.exact = call_table.exact = comparison->one_recording;
  test_steps(comparison, sides, LUMOS_COMPARE_LEVEL / 2, grains);
  compare_rows_test(&gpu_table, more / LEAST, LUMOS_COMPARE_LEVEL / 2 / questions, grains);
  compare_rows_test(&call_table, more / LEAST, LUMOS_COMPARE_LEVEL / 2 / questions, grains);
  comparison->step_differs = comparison->step_differs || rows_show_it(comparison);
  comparison->outcome = find_outcome(comparison);
  compare_waterfalls(comparison, sides, gpu);
  compare_find_carrier(comparison, sides);
  drop_idle(&comparison->rows);
  lumos_vector_sort_by(&comparison->rows, by_step, comparison->strings);
  lumos_vector_sort_by(&comparison->calls, by_count, comparison->strings);
  compare_table_free(&gpu_table);
  compare_table_free(&call_table);
  compare_matching_free(&gpu_matching);
  compare_matching_free(&call_matching);
  for (int side = 0; side < 2; side++) {
    compare_items_free(&gpu[side]);
    compare_items_free(&calls[side]);
  }
}

struct lumos_comparison *lumos_compare(struct lumos_job *a, struct lumos_job *b,
                                       const struct lumos_compare_options *options, struct lumos_error *error) {
  struct lumos_job *const jobs[2] = {a, b};
  struct lumos_comparison *comparison = lumos_allocate_zeroed(1, sizeof *comparison);
  struct compare_side sides[2] = {{0}, {0}};
  comparison->strings = lumos_strings_new();
  comparison->names[0] = lumos_compared_name(0);
  comparison->names[1] = lumos_compared_name(options->other == 0 ? 1 : options->other);
  comparison->simulated = options->simulated;
  bool good = true, changed = options->changed || lumos_job_edited(a) || lumos_job_edited(b);
  for (int side = 0; good && side < 2; side++) {
    good = jobs[side]->stage >= LUMOS_STAGE_GRAPH || lumos_graph_build(jobs[side], error);
    comparison->simulated |= changed || !lumos_job_measured(jobs[side]);
  }
  for (int side = 0; good && side < 2; side++) {
    good = compare_side_open(&sides[side], jobs[side], comparison->names[side], comparison->simulated, changed, options,
                             (size_t)side, error);
  }
  if (good) {
    compare_sides(comparison, sides);
    good =
        (adds_up(comparison, &comparison->classes) && adds_up(comparison, &comparison->kinds) &&
         adds_up(comparison, &comparison->layers) && adds_up(comparison, &comparison->ranks)) ||
        lumos_fail(error, "parts of the compared steps do not add up, which is a fault of this program; please report "
                          "it");
  }
  compare_side_free(&sides[0]);
  compare_side_free(&sides[1]);
  if (!good) {
    lumos_comparison_free(comparison);
    return NULL;
  }
  return comparison;
}

void lumos_comparison_free(struct lumos_comparison *comparison) {
  if (comparison != NULL) {
    lumos_vector_free(&comparison->classes);
    lumos_vector_free(&comparison->kinds);
    lumos_vector_free(&comparison->layers);
    lumos_vector_free(&comparison->ranks);
    lumos_vector_free(&comparison->rows);
    lumos_vector_free(&comparison->calls);
    lumos_strings_free(comparison->strings);
    free(comparison);
  }
}
