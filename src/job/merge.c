/* Sorting and uniting by content: bytes of strings, never ids, for ids depend on who came first. */
#include "job/merge.h"

#include "job/order.h"
#include <stdlib.h>
#include <string.h>

static int compare_entries(const struct lumos_job *job, const struct lumos_history *a, const struct lumos_history *b) {
  int order = lumos_compare_bytes(job->strings, a->tool, b->tool);
  order = order != 0 ? order : lumos_compare_bytes(job->strings, a->version, b->version);
  return order != 0 ? order : lumos_compare_bytes(job->strings, a->args, b->args);
}

static int sort_entries(const void *a, const void *b, void *context) { return compare_entries(context, a, b); }

static int sort_strings(const void *a, const void *b, void *context) {
  const struct lumos_job *job = context;
  return lumos_compare_bytes(job->strings, *(const lumos_string_id *)a, *(const lumos_string_id *)b);
}

/* Sort inputs[first..) and drop repeats; how many are left. */
static uint32_t unique_inputs(struct lumos_job *job, lumos_string_id *inputs, uint32_t count) {
  uint32_t kept = 0;
  if (count > 1) {
    qsort_r(inputs, count, sizeof *inputs, sort_strings, job);
  }
  for (uint32_t i = 0; i < count; i++) {
    if (kept == 0 || inputs[kept - 1] != inputs[i]) {
      inputs[kept++] = inputs[i];
    }
  }
  return kept;
}

void lumos_merge_history(struct lumos_job *job) {
  size_t count = job->history.count;
  struct lumos_history *entries = job->history.items;
  lumos_string_id *inputs = lumos_reallocate(NULL, job->inputs.count, sizeof *inputs);
  uint32_t filled = 0;
  size_t kept = 0;
  if (count > 1) {
    qsort_r(entries, count, sizeof *entries, sort_entries, job);
  }
  for (size_t i = 0; i < count;) {
    struct lumos_history merged = entries[i];
    merged.input_first = filled;
    for (; i < count && compare_entries(job, &merged, &entries[i]) == 0; i++) {
      for (uint32_t input = 0; input < entries[i].input_count; input++) {
        inputs[filled++] = job->inputs.items[entries[i].input_first + input];
      }
    }
    merged.input_count = unique_inputs(job, inputs + merged.input_first, filled - merged.input_first);
    filled = merged.input_first + merged.input_count;
    entries[kept++] = merged;
  }
  job->history.count = kept;
  free(job->inputs.items);
  job->inputs.items = inputs;
  job->inputs.capacity = job->inputs.count;
  job->inputs.count = filled;
}

/* Absent before any index. */
static int compare_indices(uint32_t a, uint32_t b) {
  return LUMOS_ORDER(a == LUMOS_NONE ? -1 : (int64_t)a, b == LUMOS_NONE ? -1 : (int64_t)b);
}

static int compare_notes(const void *a, const void *b, void *context) {
  const struct lumos_job *job = context;
  const struct lumos_note *left = a, *right = b;
  const struct lumos_scope *one = &left->scope;
  const struct lumos_scope *other = &right->scope;
  int order = LUMOS_ORDER(one->rank, other->rank);
  order = order != 0 ? order : lumos_compare_bytes(job->strings, left->code, right->code);
  order = order != 0 ? order : lumos_compare_bytes(job->strings, left->text, right->text);
  order = order != 0 ? order : LUMOS_ORDER(one->step, other->step);
  order = order != 0 ? order : LUMOS_ORDER(one->layer, other->layer);
  order = order != 0 ? order : compare_indices(one->lane, other->lane);
  order = order != 0 ? order : compare_indices(one->task, other->task);
  order = order != 0 ? order : lumos_compare_bytes(job->strings, one->kind, other->kind);
  order = order != 0 ? order : lumos_compare_bytes(job->strings, one->group, other->group);
  order = order != 0 ? order : LUMOS_ORDER(left->level, right->level);
  order = order != 0 ? order : lumos_compare_bytes(job->strings, left->cure, right->cure);
  return order != 0 ? order : lumos_compare_bytes(job->strings, left->unknown, right->unknown);
}

/* Counts stay below 2^53, as every number does. */
static int64_t add_counts(int64_t a, int64_t b) {
  static const int64_t most = (INT64_C(1) << 53U) - 1;
  if (a == LUMOS_ABSENT || b == LUMOS_ABSENT) {
    return a == LUMOS_ABSENT ? b : a;
  }
  return a > most - b ? most : a + b;
}

void lumos_merge_notes(struct lumos_job *job) {
  struct lumos_note *notes = job->notes.items;
  size_t kept = 0;
  if (job->notes.count > 1) {
    qsort_r(notes, job->notes.count, sizeof *notes, compare_notes, job);
  }
  for (size_t i = 0; i < job->notes.count; i++) {
    if (kept > 0 && compare_notes(&notes[kept - 1], &notes[i], job) == 0) {
      notes[kept - 1].count = add_counts(notes[kept - 1].count, notes[i].count);
    } else {
      notes[kept++] = notes[i];
    }
  }
  job->notes.count = kept;
}

static int compare_foreign(const void *a, const void *b, void *context) {
  const struct lumos_job *job = context;
  return lumos_compare_bytes(job->strings, ((const struct lumos_foreign *)a)->line,
                             ((const struct lumos_foreign *)b)->line);
}

void lumos_sort_foreign(struct lumos_job *job) { lumos_vector_sort_by(&job->foreign, compare_foreign, job); }
