/* Grouping rows by their first members. */
#include "report/content/alike.h"

#include <stdlib.h>

enum { TOLERANCE = 20 }; /* one part in so many of the whole: what a reader sees at once in bars of 900 pixels */

/* The largest difference of two rows in one column. */
static int64_t distance(const struct report_matrix *matrix, size_t left, size_t right) {
  const int64_t *a = matrix->values + left * matrix->columns, *b = matrix->values + right * matrix->columns;
  int64_t most = 0;
  for (size_t i = 0; i < matrix->columns; i++) {
    int64_t apart = 0;
    bool far = __builtin_sub_overflow(a[i], b[i], &apart) || apart == INT64_MIN;
    int64_t size = far ? INT64_MAX : llabs(apart);
    most = size > most ? size : most;
  }
  return most;
}

/* Every row goes to the first leader that it is like, or leads a group. False: there are too many groups. */
static bool assign(const struct report_matrix *matrix, int64_t tolerance, size_t *group_of,
                   size_t leaders[REPORT_GROUPS], size_t *count) {
  *count = 0;
  for (size_t row = 0; row < matrix->rows; row++) {
    size_t group = 0;
    while (group < *count && distance(matrix, row, leaders[group]) > tolerance) {
      group++;
    }
    if (group == REPORT_GROUPS) {
      return false;
    }
    if (group == *count) {
      leaders[(*count)++] = row;
    }
    group_of[row] = group;
  }
  return true;
}

struct place {
  size_t group;
  int64_t distance; /* from the largest group */
};

static int by_distance(const void *left, const void *right) {
  const struct place *a = left, *b = right;
  if (a->distance != b->distance) {
    return a->distance > b->distance ? -1 : 1;
  }
  return a->group < b->group ? -1 : a->group > b->group;
}

/* The order of groups; the largest is at distance 0, and the last. */
static void arrange(const struct report_matrix *matrix, const size_t *group_of, const size_t *leaders, size_t count,
                    struct place *places) {
  size_t sizes[REPORT_GROUPS] = {0}, largest = 0;
  for (size_t row = 0; row < matrix->rows; row++) {
    sizes[group_of[row]]++;
  }
  for (size_t i = 1; i < count; i++) {
    largest = sizes[i] > sizes[largest] ? i : largest;
  }
  for (size_t i = 0; i < count; i++) {
    places[i] = (struct place){i, i == largest ? -1 : distance(matrix, leaders[i], leaders[largest])};
  }
  if (count > 1 && sizes[largest] > 1) {
    qsort(places, count, sizeof *places, by_distance);
  }
}

void report_groups_find(const struct report_matrix *matrix, int64_t whole, struct report_groups *groups) {
  *groups = (struct report_groups){0};
  size_t leaders[REPORT_GROUPS] = {0};
  size_t *group_of = lumos_allocate((matrix->rows + 1) * sizeof *group_of);
  int64_t tolerance = whole / TOLERANCE > 0 ? whole / TOLERANCE : 1;
  while (!assign(matrix, tolerance, group_of, leaders, &groups->count)) {
    tolerance = tolerance > INT64_MAX / 2 ? INT64_MAX : 2 * tolerance;
  }
  struct place places[REPORT_GROUPS];
  arrange(matrix, group_of, leaders, groups->count, places);
  for (size_t i = 0; i < groups->count; i++) {
    groups->first[i] = groups->members.count;
    for (size_t row = 0; row < matrix->rows; row++) {
      if (group_of[row] == places[i].group) {
        lumos_vector_push(&groups->members, row);
      }
    }
  }
  groups->first[groups->count] = groups->members.count;
  free(group_of);
}

void report_groups_free(struct report_groups *groups) { lumos_vector_free(&groups->members); }

void report_put_runs(struct lumos_text *out, const int32_t *numbers, size_t count) {
  enum { MOST_RUNS = 4 };
  size_t runs = 0;
  for (size_t i = 0; i < count; runs++) {
    size_t end = i + 1;
    while (end < count && numbers[end] == numbers[end - 1] + 1) {
      end++;
    }
    if (runs == MOST_RUNS) {
      lumos_text_put(out, " and more");
      return;
    }
    lumos_text_format(out, "%s%d", i == 0 ? "" : ", ", numbers[i]);
    if (end - i > 1) {
      lumos_text_format(out, "%s%d", end - i > 2 ? "-" : ", ", numbers[end - 1]);
    }
    i = end;
  }
}
