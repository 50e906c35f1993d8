/* Grouping rows around those that most others are like. */
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

/* While rows are assigned to groups. */
struct search {
  const struct report_matrix *matrix;
  int64_t tolerance;
  size_t *group_of; /* by row; UNASSIGNED */
  size_t left;      /* rows without a group */
  size_t leaders[REPORT_GROUPS];
};
#define UNASSIGNED SIZE_MAX

static bool is_like(const struct search *search, size_t row, size_t leader) {
  return search->group_of[row] == UNASSIGNED && distance(search->matrix, row, leader) <= search->tolerance;
}

/* The row that most others are like, of equal ones the first. Of many rows it is looked for among some. */
static size_t find_leader(const struct search *search) {
  enum { CANDIDATES = 64 };
  size_t every = search->left / CANDIDATES + 1, seen = 0, best = 0, most = 0;
  for (size_t row = 0; row < search->matrix->rows; row++) {
    if (search->group_of[row] != UNASSIGNED || seen++ % every != 0) {
      continue;
    }
    size_t alike = 0;
    for (size_t other = 0; other < search->matrix->rows; other++) {
      alike += is_like(search, other, row);
    }
    best = alike > most ? row : best;
    most = alike > most ? alike : most;
  }
  return best;
}

/* Returns how many groups there are; beyond REPORT_GROUPS: too many. */
static size_t assign(struct search *search) {
  size_t count = 0;
  search->left = search->matrix->rows;
  for (size_t row = 0; row < search->matrix->rows; row++) {
    search->group_of[row] = UNASSIGNED;
  }
  for (; search->left > 0 && count < REPORT_GROUPS; count++) {
    size_t leader = search->leaders[count] = find_leader(search);
    for (size_t row = 0; row < search->matrix->rows; row++) {
      if (row != leader && is_like(search, row, leader)) {
        search->group_of[row] = count;
        search->left--;
      }
    }
    search->group_of[leader] = count;
    search->left--;
  }
  return search->left > 0 ? REPORT_GROUPS + 1 : count;
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

/* The order of groups; the largest is the last, without one the order is that of their first rows. */
static void arrange(const struct search *search, size_t count, struct place *places) {
  size_t sizes[REPORT_GROUPS] = {0}, largest = 0;
  for (size_t row = 0; row < search->matrix->rows; row++) {
    sizes[search->group_of[row]]++;
  }
  for (size_t i = 1; i < count; i++) {
    largest = sizes[i] > sizes[largest] ? i : largest;
  }
  for (size_t i = 0; i < count; i++) {
    int64_t apart = distance(search->matrix, search->leaders[i], search->leaders[largest]);
    places[i] = (struct place){i, i == largest ? -1 : apart};
  }
  if (count > 1 && sizes[largest] > 1) {
    qsort(places, count, sizeof *places, by_distance);
  }
}

void report_groups_find(const struct report_matrix *matrix, int64_t whole, struct report_groups *groups) {
  *groups = (struct report_groups){0};
  size_t *group_of = lumos_allocate((matrix->rows + 1) * sizeof *group_of);
  struct search search = {
      .matrix = matrix, .tolerance = whole / TOLERANCE > 0 ? whole / TOLERANCE : 1, .group_of = group_of};
  while ((groups->count = assign(&search)) > REPORT_GROUPS) {
    search.tolerance = search.tolerance > INT64_MAX / 2 ? INT64_MAX : 2 * search.tolerance;
  }
  struct place places[REPORT_GROUPS] = {{0}};
  arrange(&search, groups->count, places);
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
