/* --remove and --fuse: a job without some of its work (job/remove.h says what follows from that). */
#include "job/remove.h"

#include "base/text.h"
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

/* The job loses its measured starts, so what was measured is written before. */
static void take_out(struct lumos_job *job, const uint8_t *gone, const char *code, const char *what) {
  int64_t counts[2];
  count_gone(job, gone, counts);
  if (lumos_job_measured(job)) {
    lumos_measure(job);
  }
  lumos_job_remove(job, gone);
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

static bool remove_chosen(struct lumos_job *job, uint8_t *chosen, const char *argument, struct lumos_error *error) {
  lumos_job_take_along(job, chosen);
  if (leaves_nothing(job, chosen)) {
    return lumos_fail(error, "--remove '%s' would leave no task; select less", argument);
  }
  take_out(job, chosen, "transform.removed", "removed work");
  return true;
}

bool lumos_transform_remove(struct lumos_job *job, const char *selector, struct lumos_error *error) {
  return transform(job, "--remove", selector, remove_chosen, error);
}

/* ---- --fuse ---- */

/* By task: what a stream waits for, or what waits for it. A kernel cannot be cut there. */
enum edge { AWAITS = 1, AWAITED = 2 };

static uint8_t *find_edges(const struct lumos_job *job) {
  uint8_t *edges = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t i = 0; i < job->deps.count; i++) {
    const struct lumos_dep *dep = &job->deps.items[i];
    if (dep->kind == LUMOS_DEP_EVENT || dep->kind == LUMOS_HOST_WAIT || dep->kind == LUMOS_OTHER_DEP) {
      edges[dep->dst] |= AWAITS;
      edges[dep->src == LUMOS_NONE ? dep->dst : dep->src] |= dep->src == LUMOS_NONE ? 0 : AWAITED;
    }
  }
  return edges;
}

static bool is_fusible(const struct lumos_task *task) {
  return !lumos_is_communication(task->kind) && task->kind != LUMOS_COPY && task->kind != LUMOS_MEMSET;
}

/* Does the thread do nothing between two of its calls that waits, or speaks of events? Then it launches one after the
 * other without looking. */
static bool launched_together(const struct lumos_job *job, uint32_t first, uint32_t second) {
  uint32_t from = job->tasks.items[first].call, to = job->tasks.items[second].call;
  if (from == LUMOS_NONE || to == LUMOS_NONE || job->tasks.items[from].lane != job->tasks.items[to].lane || to < from) {
    return false;
  }
  for (uint32_t t = from + 1; t <= to; t++) {
    const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[t]);
    if (detail->wait.on != 0 || detail->event_op != 0) {
      return false;
    }
  }
  return true;
}

static bool follows(const struct lumos_job *job, const uint8_t *chosen, const uint8_t *edges, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t], *last = task - 1;
  return chosen[t - 1] && chosen[t] && lumos_on_stream(job, task) && task->lane == last->lane &&
         task->step == last->step && is_fusible(task) && is_fusible(last) && (edges[t] & AWAITS) == 0 &&
         (edges[t - 1] & AWAITED) == 0 && launched_together(job, t - 1, t);
}

/* One kernel for the tasks [first, end): it moves what the largest of them moves, so it takes what that takes. */
static void fuse_run(struct lumos_job *job, uint32_t first, uint32_t end, uint8_t *gone) {
  struct lumos_task *task = &job->tasks.items[first];
  int64_t dur = 0;
  for (uint32_t t = first; t < end; t++) {
    dur = job->tasks.items[t].dur > dur ? job->tasks.items[t].dur : dur;
    gone[t] = t > first;
  }
  struct lumos_detail *detail = lumos_task_detail(job, task);
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_format(&name, "%u fused, the first: ", end - first);
  lumos_text_add(&name, lumos_string(job->strings, task->name), lumos_string_length(job->strings, task->name));
  detail->was = detail->was == LUMOS_ABSENT ? task->dur : detail->was;
  task->dur = dur;
  task->dur_source = LUMOS_MODELLED;
  task->name = lumos_intern(job->strings, name.bytes, name.length);
  lumos_text_free(&name);
}

struct run {
  uint32_t first, end;
};
LUMOS_VECTOR_TYPE(runs, struct run);

static void find_runs(const struct lumos_job *job, const uint8_t *chosen, struct runs *runs) {
  uint8_t *edges = find_edges(job);
  for (uint32_t first = 0, end = 0; first < job->tasks.count; first = end) {
    end = first + 1;
    while (end < job->tasks.count && follows(job, chosen, edges, end)) {
      end++;
    }
    if (end - first > 1) {
      lumos_vector_push(runs, ((struct run){first, end}));
    }
  }
  free(edges);
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
  struct runs runs = {0};
  (void)error; /* nothing can fail */
  find_runs(job, chosen, &runs);
  if (runs.count == 0) {
    note_nothing_fused(job, argument);
    return true;
  }
  uint8_t *gone = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t i = 0; i < runs.count; i++) {
    fuse_run(job, runs.items[i].first, runs.items[i].end, gone);
  }
  lumos_job_take_along(job, gone);
  take_out(job, gone, "transform.fused", "a fused kernel takes as long as the longest of its parts, a lower bound");
  free(gone);
  lumos_vector_free(&runs);
  return true;
}

bool lumos_transform_fuse(struct lumos_job *job, const char *selector, struct lumos_error *error) {
  return transform(job, "--fuse", selector, fuse_chosen, error);
}
