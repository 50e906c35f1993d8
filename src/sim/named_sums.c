#include "sim/named_sums.h"

#include "sim/metrics.h"
#include <string.h>

enum { MOST_ROWS = 200 }; /* of a step. Chosen: it bounds a report, as those of kernels and ops are bounded */

void lumos_named_begin(struct lumos_named_sums *sums, struct lumos_job *job, const struct lumos_timeline *timeline) {
  *sums = (struct lumos_named_sums){.job = job, .timeline = timeline};
}

void lumos_named_free(struct lumos_named_sums *sums) {
  lumos_vector_free(&sums->rows);
  lumos_numbering_free(&sums->numbering);
}

void lumos_named_add(struct lumos_named_sums *sums, uint32_t step, lumos_string_id name, int figure, int64_t value,
                     int64_t weight) {
  uint64_t key = lumos_key_pair(step, name);
  if (sums->rows.count == 0 || key != sums->last_key) {
    sums->last_key = key;
    sums->last = lumos_number_of(&sums->numbering, key);
  }
  if (sums->last == sums->rows.count) {
    lumos_vector_push(&sums->rows, ((struct lumos_named_row){.step = step, .name = name}));
  }
  int64_t *sum = &sums->rows.items[sums->last].of[figure];
  int64_t product = 0;
  if (__builtin_mul_overflow(value, weight, &product) || __builtin_add_overflow(*sum, product, sum)) {
    *sum = INT64_MAX;
  }
}

/* Names by their bytes: what number a string has depends on what was read before it. */
static int compare_rows(const void *left, const void *right, void *strings) {
  const struct lumos_named_row *a = left, *b = right;
  if (a->step != b->step) {
    return LUMOS_ORDER(a->step, b->step);
  }
  return a->of[0] != b->of[0] ? LUMOS_ORDER(b->of[0], a->of[0])
                              : strcmp(lumos_string(strings, a->name), lumos_string(strings, b->name));
}

void lumos_named_sort(struct lumos_named_sums *sums) {
  lumos_vector_sort_by(&sums->rows, compare_rows, sums->job->strings);
  size_t kept = 0;
  size_t of_step = 0;
  for (size_t i = 0; i < sums->rows.count; i++) {
    of_step = i > 0 && sums->rows.items[i].step == sums->rows.items[i - 1].step ? of_step + 1 : 0;
    if (of_step < MOST_ROWS) {
      sums->rows.items[kept++] = sums->rows.items[i];
    }
  }
  sums->rows.count = kept;
}

bool lumos_named_counts(const struct lumos_named_sums *sums, uint32_t step) {
  return step > 0 || !lumos_first_step_is_left_out(sums->timeline->job.count, lumos_job_edited(sums->job));
}

void lumos_named_write(const struct lumos_named_sums *sums, const struct lumos_named_row *row, const char *metric,
                       int figure) {
  struct lumos_scope scope = lumos_everywhere;
  scope.step = sums->timeline->job.items[row->step].step;
  scope.name = row->name;
  lumos_metric_add(sums->job, metric, &scope, sums->timeline->source, (struct lumos_decimal){row->of[figure], 0});
}
