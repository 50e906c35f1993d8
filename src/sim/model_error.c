/* How wrong the graph is about the recording itself, noted before the first change as common errors of the whole step,
 * for afterwards nothing measured is left to hold a simulation against:
 *
 *   replay  the root mean square, over the job's steps but the first of several, of how far each is from the measured
 *           one when no unexplained delay is carried over;
 *   steps   how far the means of two recordings of so many steps lie apart when nothing differs but chance: the
 *           standard deviation of the measured steps times the root of 2 by their number, and as much more as Student's
 *           distribution is wider than the normal one with so few. What is usual counts as much as one more pair of
 *           steps;
 *   beside  what kernels lose to communication beside them, as a share of the time that they run there (beside.h).
 */
#include "sim/beside.h"
#include "sim/metrics.h"

#include <math.h>
#include <stdlib.h>

enum { MILLION = 1000000 };

static double length(const struct lumos_step *step) { return (double)(step->end - step->start); }

/* What is beyond a number of a stream is no error but nonsense. */
static void add(struct lumos_job *job, const char *id, const char *name, double sigma, const char *source) {
  if (isfinite(sigma) && sigma * MILLION < INT32_MAX) {
    (void)lumos_job_common_error(job, id, name, (int32_t)lround(sigma * MILLION), source);
  }
}

static double replay_error(const struct lumos_timeline *measured, const struct lumos_timeline *replayed) {
  double sum = 0;
  size_t first = measured->job.count > 1, count = measured->job.count - first;
  if (count == 0 || replayed->job.count != measured->job.count) {
    return NAN;
  }
  for (size_t k = first; k < measured->job.count; k++) {
    double whole = length(&measured->job.items[k]);
    double off = whole > 0 ? length(&replayed->job.items[k]) / whole - 1 : 0;
    sum += off * off;
  }
  return sqrt(sum / (double)count);
}

/* Student's t at 95 % by degrees of freedom, from 1, over that of the normal distribution, 1.645; beyond
 * 10 its expansion, 1 + (1.645^2 + 1) / (4 n). */
static double student(size_t degrees) {
  static const double ratios[] = {3.838, 1.775, 1.431, 1.296, 1.225, 1.181, 1.152, 1.131, 1.114, 1.102};
  size_t count = sizeof ratios / sizeof *ratios;
  return degrees <= count ? ratios[degrees - 1] : 1 + 0.93 / (double)degrees;
}

/* Two or three steps say little of how much steps differ: two that happen to be alike would promise too much, one that
 * took long would make a range that begins at nothing. So what is usual is counted as one more degree of freedom, which
 * makes Student's distribution of a scaled inverse chi-squared one. Both numbers fit best (by likelihood, 0.0045 and 1
 * or a little less) to 164 recordings, most of small models on one GPU, of which half have steps that differ by less
 * than 0.5 %, one in ten by more than 6 %. */
static const double USUAL_SPREAD = 0.0045;

double lumos_steps_error(const double *lengths, size_t count) {
  double sum = 0, squares = 0;
  for (size_t k = 0; k < count; k++) {
    sum += lengths[k];
  }
  double mean = count > 0 ? sum / (double)count : 0;
  for (size_t k = 0; k < count; k++) {
    squares += (lengths[k] - mean) * (lengths[k] - mean);
  }
  if (!(mean > 0)) {
    return NAN;
  }
  double variance = (squares / (mean * mean) + USUAL_SPREAD * USUAL_SPREAD) / (double)count;
  return student(count) * sqrt(2 * variance / (double)count);
}

static double steps_error(const struct lumos_timeline *measured) {
  size_t first = measured->job.count > 1, count = measured->job.count - first;
  double *lengths = lumos_allocate(count * sizeof *lengths + 1);
  for (size_t k = 0; k < count; k++) {
    lengths[k] = length(&measured->job.items[first + k]);
  }
  double error = lumos_steps_error(lengths, count);
  free(lengths);
  return error;
}

void lumos_note_another_recording(struct lumos_job *job, double off) {
  double usual = 2 * USUAL_SPREAD * USUAL_SPREAD; /* of a difference; as sure as one more */
  add(job, LUMOS_ERROR_STEPS, "differences between steps", student(2) * sqrt((off * off + usual) / 2),
      "steps with the profiler and without it");
}

struct lumos_model_errors lumos_model_errors_of(const struct lumos_timeline *measured,
                                                const struct lumos_timeline *replayed) {
  return (struct lumos_model_errors){.replay = replayed == NULL ? NAN : replay_error(measured, replayed),
                                     .steps = steps_error(measured)};
}

void lumos_note_model_errors(struct lumos_job *job) {
  struct lumos_engine engine;
  struct lumos_stretches stretches, ends;
  struct lumos_timeline measured;
  struct lumos_replay replay = {0};
  struct lumos_error error = {0};
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&measured, job, NULL, &stretches);
  if (measured.job.count > 0) {
    lumos_engine_prepare(&engine, job, LUMOS_MODEL_LUMOS);
    ends = stretches;
    ends.places = engine.unordered ? NULL : engine.node_of;
    bool replayed = lumos_replay(job, &engine, &ends, &measured, &replay, &error); /* else it is not known */
    struct lumos_model_errors errors = lumos_model_errors_of(&measured, replayed ? &replay.timeline : NULL);
    add(job, LUMOS_ERROR_REPLAY, "delays that the model does not explain", errors.replay,
        "replay of the recorded steps");
    add(job, LUMOS_ERROR_STEPS, "differences between steps", errors.steps, "measured steps");
    add(job, LUMOS_ERROR_BESIDE, "kernels beside communication", lumos_beside_of(job).lost,
        "kernels of one shape beside communication and alone");
    lumos_replay_free(&replay);
    lumos_engine_free(&engine);
  }
  lumos_timeline_free(&measured);
  lumos_vector_free(&stretches);
}
