/* --remove and --fuse: a job without some of its work (job/remove.h says what follows from that). */
#include "job/remove.h"

#include "base/text.h"
#include "sim/fused.h"
#include "transform/contend.h"
#include "transform/edit.h"
#include <lumos/sim.h>
#include <lumos/transform.h>
#include <stdlib.h>
#include <string.h>

/* ---- both ---- */

static void count_gone(const struct lumos_job *job, const uint8_t *gone, int64_t counts[2]) {
  counts[0] = counts[1] = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    counts[lumos_on_stream(job, &job->tasks.items[t])] += gone[t];
  }
}

static void note_gone(struct lumos_job *job, const char *code, const char *what, const int64_t counts[2]) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s removed %lld tasks on streams and %lld on threads", what, (long long)counts[1],
                    (long long)counts[0]);
  lumos_text_char(&text, '\0');
  lumos_job_note(job, code, LUMOS_INFO, counts[0] + counts[1], NULL, text.bytes, NULL);
  lumos_text_free(&text);
}

/* By task that stays, in order: what it was. The caller frees it. */
static uint32_t *list_kept(const struct lumos_job *job, const uint8_t *gone) {
  uint32_t *kept = lumos_allocate(job->tasks.count * sizeof *kept + 1), count = 0;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    kept[count] = t;
    count += !gone[t];
  }
  return kept;
}

/* The job loses its measured starts, so what was measured is written before. */
static void take_out(struct lumos_job *job, const uint8_t *gone, const char *code, const char *what) {
  int64_t counts[2];
  count_gone(job, gone, counts);
  if (lumos_job_measured(job)) {
    lumos_measure(job);
  }
  struct lumos_contend contend;
  lumos_contend_begin(&contend, job);
  uint32_t *kept = list_kept(job, gone);
  lumos_job_remove(job, gone);
  lumos_contend_end(&contend, job, kept);
  free(kept);
  note_gone(job, code, what, counts);
  lumos_edit_commit(job);
}

typedef bool edit(struct lumos_job *job, uint8_t *chosen, const char *argument, struct lumos_error *error);

static bool transform(struct lumos_job *job, const char *verb, const char *argument, edit *apply,
                      struct lumos_error *error) {
  struct lumos_selector *selector = lumos_selector_parse(argument, strlen(argument), error);
  if (selector == NULL) {
    return lumos_fail_prefix(error, verb);
  }
  bool done = lumos_edit_begin(job, error);
  if (done) {
    uint8_t *chosen = lumos_allocate_zeroed(job->tasks.count, 1);
    done = !lumos_edit_select(job, selector, verb + 2, argument, chosen) || apply(job, chosen, argument, error);
    free(chosen);
  }
  lumos_selector_free(selector);
  if (done) {
    lumos_edit_record(job, verb + 2, argument);
  }
  return done;
}

/* ---- --remove ---- */

static bool leaves_nothing(const struct lumos_job *job, const uint8_t *gone) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (!gone[t]) {
      return false;
    }
  }
  return true;
}

/* A thread that waits for its GPU no more gets ahead of it, step by step. */
static void note_waits(struct lumos_job *job, const uint8_t *gone) {
  int64_t waits = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    waits += gone[t] && lumos_detail_of(job, &job->tasks.items[t])->wait.on != 0;
  }
  if (waits > 0) {
    lumos_job_note(job, LUMOS_NOTE_WAITS_GONE, LUMOS_INFO, waits, NULL,
                   "calls that waited for the GPU are gone, so CPUs may get further ahead with every step; the "
                   "prediction is as unsure as its steps then differ",
                   NULL);
  }
}

static bool remove_chosen(struct lumos_job *job, uint8_t *chosen, const char *argument, struct lumos_error *error) {
  lumos_job_take_along(job, chosen);
  if (leaves_nothing(job, chosen)) {
    return lumos_fail(error, "--remove '%s' would leave no task; select less", argument);
  }
  note_waits(job, chosen);
  take_out(job, chosen, "transform.removed", "removed work");
  return true;
}

bool lumos_transform_remove(struct lumos_job *job, const char *selector, struct lumos_error *error) {
  return transform(job, "--remove", selector, remove_chosen, error);
}

/* ---- --fuse ---- */

static void fuse_run(struct lumos_job *job, struct lumos_fused_run run, int64_t dur, uint8_t *gone) {
  struct lumos_task *task = &job->tasks.items[run.first];
  memset(gone + run.first + 1, 1, run.end - run.first - 1);
  struct lumos_detail *detail = lumos_task_detail(job, task);
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_format(&name, "%u fused, the first: ", run.end - run.first);
  lumos_text_add(&name, lumos_string(job->strings, task->name), lumos_string_length(job->strings, task->name));
  detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
  task->dur = dur;
  task->dur_source = LUMOS_MODELLED;
  task->name = lumos_intern(job->strings, name.bytes, name.length);
  lumos_text_free(&name);
}

static void note_nothing_fused(struct lumos_job *job, const char *argument) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "--fuse '%s' found no two kernels side by side and changed nothing", argument);
  lumos_text_char(&text, '\0');
  lumos_job_note(job, "transform.nothing_fused", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                 "kernels are fused where they follow each other on a stream and nothing waits between them");
  lumos_text_free(&text);
}

static bool fuse_chosen(struct lumos_job *job, uint8_t *chosen, const char *argument, struct lumos_error *error) {
  struct lumos_fused_runs runs = {0};
  (void)error; /* nothing can fail */
  lumos_find_fused_runs(job, chosen, &runs);
  if (runs.count == 0) {
    note_nothing_fused(job, argument);
    return true;
  }
  uint8_t *gone = lumos_allocate_zeroed(job->tasks.count, 1);
  int64_t *fused = lumos_fused_times(job, &runs);
  for (size_t i = 0; i < runs.count; i++) {
    fuse_run(job, runs.items[i], fused[i], gone);
  }
  free(fused);
  lumos_job_take_along(job, gone);
  take_out(job, gone, "transform.fused",
           "a fused kernel does not move what one of its parts writes and the next reads, as far as shapes are "
           "recorded; this");
  free(gone);
  lumos_vector_free(&runs);
  return true;
}

bool lumos_transform_fuse(struct lumos_job *job, const char *selector, struct lumos_error *error) {
  return transform(job, "--fuse", selector, fuse_chosen, error);
}
