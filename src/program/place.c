/* Backward passes run under autograd's engine, which gives every node it evaluates a span; older recordings have only
 * the nodes' own, which are called ...Backward. The engine's threads also launch between the nodes, as
 * DistributedDataParallel does with its last gradients. What a host launches later in the step than the last node comes
 * behind the backward passes: gradients that are not overlapped, the optimizer.
 */
#include "program/place.h"

#include <stdlib.h>
#include <string.h>

enum { NOT_BACKWARD = 1, IS_BACKWARD = 2 };

static bool is_backward_name(const char *name) {
  static const char engine[] = "autograd::engine::evaluate_function";
  return strncmp(name, engine, sizeof engine - 1) == 0 || strstr(name, "Backward") != NULL;
}

void program_places_begin(struct program_places *places, const struct lumos_job *job) {
  uint32_t strings = lumos_strings_count(job->strings);
  *places = (struct program_places){.job = job,
                                    .backward = lumos_allocate_zeroed(job->spans.count + 1, 1),
                                    .names = lumos_allocate_zeroed(strings + 1U, 1),
                                    .threads = lumos_allocate_zeroed(job->lanes.count + 1, sizeof *places->threads)};
  for (size_t i = 0; i < job->spans.count; i++) {
    places->names[job->spans.items[i].name] = 2; /* to be looked at */
  }
  for (uint32_t string = 0; string <= strings; string++) {
    places->names[string] = places->names[string] == 2 && is_backward_name(lumos_string(job->strings, string));
  }
}

void program_places_free(struct program_places *places) {
  free(places->backward);
  free(places->names);
  free(places->threads);
  lumos_vector_free(&places->steps);
}

/* What is found is kept for all spans on the way up, so that each is looked at once. */
bool program_span_in_backward(struct program_places *places, uint32_t span) {
  const struct lumos_span *spans = places->job->spans.items;
  uint8_t found = NOT_BACKWARD;
  for (uint32_t at = span; at != LUMOS_NONE && found == NOT_BACKWARD; at = spans[at].parent) {
    if (places->backward[at] != 0) {
      found = places->backward[at];
      break;
    }
    found = spans[at].kind == LUMOS_SPAN_OP && places->names[spans[at].name] ? IS_BACKWARD : NOT_BACKWARD;
  }
  for (uint32_t at = span; at != LUMOS_NONE && places->backward[at] == 0; at = spans[at].parent) {
    places->backward[at] = found;
    if (found == IS_BACKWARD && spans[at].kind == LUMOS_SPAN_OP && places->names[spans[at].name]) {
      break; /* what is around it need not be */
    }
  }
  return found == IS_BACKWARD;
}

static int compare_steps(const void *left, const void *right) {
  const struct program_step *a = left, *b = right;
  return LUMOS_ORDER(a->step, b->step);
}

/* Each step once. */
static void unite_steps(struct program_places *places) {
  size_t kept = 0;
  lumos_vector_sort(&places->steps, compare_steps);
  for (size_t i = 0; i < places->steps.count; i++) {
    struct program_step step = places->steps.items[i];
    struct program_step *last = kept == 0 ? NULL : &places->steps.items[kept - 1];
    if (last == NULL || last->step != step.step) {
      places->steps.items[kept++] = step;
    } else if (last->last_backward < step.last_backward) {
      last->last_backward = step.last_backward;
    }
  }
  places->steps.count = kept;
}

static bool in_backward(const struct program_places *places, const struct lumos_task *task) {
  return task->span != LUMOS_NONE && places->backward[task->span] == IS_BACKWARD;
}

/* A thread of the engine launches more in nodes than between them, and no product of matrices outside of them: forward
 * passes have those. The spans of the rank's host tasks have been looked at. */
static void find_threads(struct program_places *places, const struct lumos_rank *of) {
  const struct lumos_job *job = places->job;
  for (uint32_t i = of->task_first; i < of->task_first + of->task_count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    const struct lumos_task *call = task->call == LUMOS_NONE ? NULL : &job->tasks.items[task->call];
    if (call != NULL && call->step != LUMOS_ABSENT_INT && places->threads[call->lane] != INT32_MIN) {
      int32_t *thread = &places->threads[call->lane];
      *thread = in_backward(places, call) ? *thread + 1 : task->kind == LUMOS_GEMM ? INT32_MIN : *thread - 1;
    }
  }
}

void program_places_of_rank(struct program_places *places, uint32_t rank) {
  const struct lumos_job *job = places->job;
  const struct lumos_rank *of = &job->ranks.items[rank];
  places->rank = rank;
  places->steps.count = 0;
  places->has_backward = false;
  for (uint32_t i = of->task_first; i < of->task_first + of->task_count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task->step == LUMOS_ABSENT_INT || lumos_on_stream(job, task)) {
      continue;
    }
    size_t count = places->steps.count;
    if (count == 0 || places->steps.items[count - 1].step != task->step) {
      lumos_vector_push(&places->steps, ((struct program_step){task->step, INT64_MIN}));
      count++;
    }
    struct program_step *step = &places->steps.items[count - 1];
    if (task->span != LUMOS_NONE && program_span_in_backward(places, task->span)) {
      places->has_backward = true;
      step->last_backward = task->start > step->last_backward ? task->start : step->last_backward;
    }
  }
  unite_steps(places);
  find_threads(places, of);
}

enum program_place program_place_of(const struct program_places *places, const struct lumos_task *task) {
  const struct lumos_job *job = places->job;
  const struct lumos_task *call = task->call == LUMOS_NONE ? NULL : &job->tasks.items[task->call];
  struct program_step key = {.step = task->step};
  if (call == NULL || task->step == LUMOS_ABSENT_INT || places->steps.count == 0) {
    return PLACES;
  }
  if (places->threads[call->lane] > 0 || in_backward(places, call)) {
    return PLACE_BACKWARD; /* the call is a host task, so its span was looked at */
  }
  const struct program_step *step = bsearch(&key, places->steps.items, places->steps.count, sizeof key, compare_steps);
  bool behind = step != NULL && step->last_backward != INT64_MIN && call->start > step->last_backward;
  return behind ? PLACE_END : PLACE_FORWARD;
}
