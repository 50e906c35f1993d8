/* When nights should have been, and where their values changed. */
#include "history/history.h"
#include <math.h>
#include <string.h>

/* ---- Missing nights ---- */

static int by_size(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return LUMOS_ORDER(*a, *b);
}

/* Days from one night to the next, as a rule; LUMOS_ABSENT: nights are not dated, or too few. */
static int64_t usual_distance(const struct history_job *job) {
  LUMOS_VECTOR(int64_t) distances = {0};
  bool dated = true;
  for (size_t i = 0; i < job->count; i++) {
    dated &= job->nights[i].day != LUMOS_ABSENT;
    if (i > 0 && dated && job->nights[i].day > job->nights[i - 1].day) {
      lumos_vector_push(&distances, job->nights[i].day - job->nights[i - 1].day);
    }
  }
  lumos_vector_sort(&distances, by_size);
  int64_t usual = dated && distances.count > 1 ? distances.items[(distances.count - 1) / 2] : LUMOS_ABSENT;
  lumos_vector_free(&distances);
  return usual;
}

/* Between the night and the one before it. */
static int64_t missing_before(const struct history_night *night, int64_t usual) {
  if (usual == LUMOS_ABSENT) {
    return 0;
  }
  int64_t from = night->forgotten < night->day && night->forgotten > night[-1].day ? night->forgotten : night[-1].day;
  int64_t distance = night->day - from;
  return 2 * distance <= 3 * usual ? 0 : (2 * distance + usual) / (2 * usual) - 1;
}

static void add_gap(struct history_job *job, int64_t missing) {
  if (missing > 0) {
    lumos_vector_push(&job->slots, ((struct history_slot){HISTORY_MISSING, missing}));
    job->missing += missing;
  }
}

/* `newest`: the last day of any job. */
static void find_slots(struct history_job *job, int64_t newest) {
  int64_t usual = usual_distance(job);
  for (size_t i = 0; i < job->count; i++) {
    add_gap(job, i == 0 ? 0 : missing_before(&job->nights[i], usual));
    lumos_vector_push(&job->slots, ((struct history_slot){.night = i}));
  }
  if (usual != LUMOS_ABSENT) {
    int64_t since = newest - job->nights[job->count - 1].day;
    add_gap(job, since / usual);
  }
}

/* ---- Changes ---- */

static void spread(struct history_trend *trend, double value) {
  if (!isnan(value)) {
    trend->least = isnan(trend->least) ? value : fmin(trend->least, value);
    trend->most = isnan(trend->most) ? value : fmax(trend->most, value);
  }
}

static void find_trend(struct history_job *job, enum history_series series) {
  struct history_trend *trend = &job->trends[series];
  double *values = lumos_allocate(job->count * sizeof *values);
  size_t *nights = lumos_allocate(job->count * sizeof *nights);
  trend->least = trend->most = NAN;
  for (size_t i = 0; i < job->count; i++) {
    double value = job->nights[i].values[series];
    spread(trend, value);
    spread(trend, job->nights[i].limits[series]);
    if (!isnan(value)) {
      values[trend->known] = value;
      nights[trend->known++] = i;
    }
  }
  history_find_changes(values, trend->known, &trend->changes);
  for (size_t i = 0; i < trend->changes.count; i++) {
    struct history_change *change = &trend->changes.items[i];
    change->at = nights[change->at];
    change->first = nights[change->first];
    change->last = nights[change->last];
  }
  free(values);
  free(nights);
}

void history_find_trends(struct lumos_nights *history) {
  enum {
    MOST_NIGHTS = 300,
    MOST_NIGHTS_OF_JOB = 120
  }; /* chosen: a hundred bytes for each, and wide enough to point at */
  int64_t newest = INT64_MIN;
  for (size_t i = 0; i < history->nights.count; i++) {
    int64_t day = history->nights.items[i].day;
    newest = day != LUMOS_ABSENT && day > newest ? day : newest;
  }
  for (size_t i = 0; i < history->jobs.count; i++) {
    struct history_job *job = &history->jobs.items[i];
    find_slots(job, newest);
    job->detailed = history->nights.count <= MOST_NIGHTS && job->slots.count <= MOST_NIGHTS_OF_JOB;
    for (int series = 0; series < HISTORY_SERIES; series++) {
      find_trend(job, (enum history_series)series);
    }
  }
}

const struct history_night *history_last_good(const struct history_job *job) {
  for (size_t i = job->count; i > 0; i--) {
    if (job->nights[i - 1].state == HISTORY_GOOD) {
      return &job->nights[i - 1];
    }
  }
  return NULL;
}
