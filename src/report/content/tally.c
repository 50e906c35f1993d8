/* Names are interned, so a name's rows are found through an array. */
#include "report/content/tally.h"

#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

void report_tallies_begin(struct report_tallies *tallies, const struct lumos_strings *strings) {
  *tallies = (struct report_tallies){.strings = strings};
  size_t count = (size_t)lumos_strings_count(strings) + 1;
  tallies->first = lumos_allocate(count * sizeof tallies->first[0]);
  memset(tallies->first, 0xFF, count * sizeof tallies->first[0]);
}

void report_tallies_free(struct report_tallies *tallies) {
  free(tallies->first);
  tallies->first = NULL;
  lumos_vector_free(&tallies->rows);
}

struct report_tally *report_tally_of(struct report_tallies *tallies, lumos_string_id name, uint32_t kind) {
  for (uint32_t i = tallies->first[name]; i != LUMOS_NONE; i = tallies->rows.items[i].next) {
    if (tallies->rows.items[i].kind == kind) {
      return &tallies->rows.items[i];
    }
  }
  struct report_tally row = {.name = name, .kind = kind, .next = tallies->first[name]};
  tallies->first[name] = (uint32_t)tallies->rows.count;
  lumos_vector_push(&tallies->rows, row);
  return &tallies->rows.items[tallies->rows.count - 1];
}

void report_tally_add(struct report_tallies *tallies, lumos_string_id name, uint32_t kind, int64_t duration,
                      int64_t times) {
  struct report_tally *row = report_tally_of(tallies, name, kind);
  int64_t whole = report_product(duration, times);
  row->count += times;
  row->total = report_sum(row->total, whole);
  row->longest = duration > row->longest ? duration : row->longest;
  tallies->count += times;
  tallies->total = report_sum(tallies->total, whole);
}

static int compare_names(const struct lumos_strings *strings, lumos_string_id left, lumos_string_id right) {
  size_t left_length = lumos_string_length(strings, left);
  size_t right_length = lumos_string_length(strings, right);
  size_t shorter = left_length < right_length ? left_length : right_length;
  int order = memcmp(lumos_string(strings, left), lumos_string(strings, right), shorter);
  return order != 0 ? order : left_length < right_length ? -1 : left_length > right_length;
}

static int compare_rows(const void *left, const void *right, void *context) {
  const struct report_tally *a = left, *b = right;
  if (a->total != b->total) {
    return a->total > b->total ? -1 : 1;
  }
  int order = compare_names(context, a->name, b->name);
  return order != 0 ? order : a->kind < b->kind ? -1 : a->kind > b->kind;
}

void report_tallies_sort(struct report_tallies *tallies) {
  lumos_vector_sort_by(&tallies->rows, compare_rows, (void *)tallies->strings);
}
