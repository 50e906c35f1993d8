/* The matrix of waiting: reading it, and its HTML. */
#include "report/content/waits.h"

#include "report/content/metric_tables.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* ---- Reading ---- */

struct waiter {
  int32_t rank;
  size_t place; /* its row and column; REPORT_WAIT_RANKS: that of all others */
  int64_t time; /* that it waits or is waited for */
};
LUMOS_VECTOR_TYPE(waiters, struct waiter);

static int by_rank(const void *left, const void *right) {
  const struct waiter *a = left, *b = right;
  return LUMOS_ORDER(a->rank, b->rank);
}

static int by_time(const void *left, const void *right) {
  const struct waiter *a = left, *b = right;
  return a->time != b->time ? (a->time > b->time ? -1 : 1) : by_rank(left, right);
}

static bool is_rank(int64_t key) { return key >= 0 && key <= INT32_MAX; }

/* Every rank that waits or is waited for, once, by number. */
static void find_waiters(const struct report_metric_entries *entries, struct waiters *waiters) {
  for (size_t i = 0; i < entries->count; i++) {
    for (int end = 0; end < 2; end++) {
      int64_t key = entries->items[i].keys[end];
      if (is_rank(key)) {
        struct waiter waiter = {(int32_t)key, REPORT_WAIT_RANKS, entries->items[i].value};
        lumos_vector_push(waiters, waiter);
      }
    }
  }
  lumos_vector_sort(waiters, by_rank);
  size_t kept = 0;
  for (size_t i = 0; i < waiters->count; i++) {
    if (kept > 0 && waiters->items[kept - 1].rank == waiters->items[i].rank) {
      waiters->items[kept - 1].time = report_sum(waiters->items[kept - 1].time, waiters->items[i].time);
    } else {
      waiters->items[kept++] = waiters->items[i];
    }
  }
  waiters->count = kept;
}

static void choose_ranks(struct waiters *waiters, struct report_waits *waits) {
  waits->count = waiters->count < REPORT_WAIT_RANKS ? waiters->count : REPORT_WAIT_RANKS;
  waits->left_out = waiters->count - waits->count;
  if (waits->count == 0) {
    return;
  }
  lumos_vector_sort(waiters, by_time);
  qsort(waiters->items, waits->count, sizeof waiters->items[0], by_rank);
  for (size_t i = 0; i < waits->count; i++) {
    waiters->items[i].place = i;
    waits->ranks[i] = waiters->items[i].rank;
  }
}

static size_t place_of(const struct report_waits *waits, int64_t key) {
  for (size_t i = 0; i < waits->count; i++) {
    if (key == waits->ranks[i]) {
      return i;
    }
  }
  return waits->count;
}

void report_waits_read(const struct report_facts *facts, struct report_waits *waits) {
  struct report_metric_entries entries;
  struct waiters waiters = {0};
  *waits = (struct report_waits){0};
  report_metric_entries(facts, METRICS_WAITS, &entries);
  find_waiters(&entries, &waiters);
  choose_ranks(&waiters, waits);
  for (size_t i = 0; i < entries.count && waits->count > 0; i++) {
    const struct report_metric_entry *entry = &entries.items[i];
    size_t row = place_of(waits, entry->keys[0]);
    size_t column = place_of(waits, entry->keys[1]);
    if (entry->value != LUMOS_ABSENT && entry->value > 0) {
      int64_t *time = &waits->times[row][column];
      *time = report_sum(*time, entry->value);
      waits->others = waits->others || column == waits->count;
      bool named = row < waits->count && column < waits->count;
      waits->largest = named && *time > waits->largest ? *time : waits->largest;
    }
  }
  waits->count = waits->largest > 0 ? waits->count : 0;
  lumos_vector_free(&waiters);
  lumos_vector_free(&entries);
}

/* ---- HTML ---- */

/* The unit in which the largest number of the matrix has three digits or four. */
struct unit {
  const char *name;
  int exponent, decimals; /* of ns */
};

static struct unit unit_of(const struct report_waits *waits) {
  static const struct {
    int64_t from; /* ns */
    struct unit unit;
  } units[] = {{10000000000, {"s", 9, 1}},
               {1000000000, {"ms", 6, 0}},
               {100000000, {"ms", 6, 1}},
               {100000, {"ms", 6, 2}},
               {0, {"\xC2\xB5s", 3, 1}}};
  size_t i = 0;
  while (waits->largest < units[i].from) {
    i++;
  }
  return units[i].unit;
}

/* "0": nothing at all; "<0.1": less than can be written. */
static void put_value(const struct unit *unit, int64_t time, struct lumos_text *out) {
  if (time == 0) {
    lumos_text_char(out, '0');
    return;
  }
  int64_t least = 1; /* what rounds up to the last digit */
  for (int i = unit->decimals; i < unit->exponent; i++) {
    least *= 10;
  }
  if (time < least - least / 2) {
    lumos_text_put(out, "&lt;");
    time = least;
  }
  report_put_fixed(out, time, unit->exponent, unit->decimals);
}

static int64_t sum_of_row(const struct report_waits *waits, size_t row) {
  int64_t sum = 0;
  for (size_t column = 0; column <= waits->count; column++) {
    sum = report_sum(sum, waits->times[row][column]);
  }
  return sum;
}

static int64_t sum_of_column(const struct report_waits *waits, size_t column) {
  int64_t sum = 0;
  for (size_t row = 0; row <= waits->count; row++) {
    sum = report_sum(sum, waits->times[row][column]);
  }
  return sum;
}

static void put_place(const struct report_waits *waits, size_t place, struct lumos_text *out) {
  if (place < waits->count) {
    lumos_text_format(out, "rank %d", (int)waits->ranks[place]);
  } else {
    lumos_text_put(out, "others");
  }
}

static void put_cell(const struct report_waits *waits, const struct unit *unit, size_t row, size_t column,
                     struct lumos_text *out) {
  int64_t time = waits->times[row][column];
  if (row == column && row < waits->count && time == 0) {
    lumos_text_put(out, "<td class=\"self\"></td>");
    return;
  }
  if (time == 0) {
    lumos_text_put(out, "<td class=\"none\">0</td>");
    return;
  }
  bool named = row < waits->count && column < waits->count; /* sums of several have no colour */
  lumos_text_put(out, named ? "<td style=\"--heat:" : "<td");
  if (named) {
    lumos_text_decimal(out, report_share(time, waits->largest) / 1000, 3);
    lumos_text_char(out, '"');
  }
  lumos_text_put(out, " title=\"");
  put_place(waits, row, out);
  lumos_text_put(out, row < waits->count ? " waits " : " wait ");
  report_put_time(out, time);
  lumos_text_put(out, " for ");
  put_place(waits, column, out);
  lumos_text_put(out, ", ");
  struct lumos_text share = LUMOS_TEXT_BUFFER;
  report_put_share(&share, report_share(time, sum_of_row(waits, row)));
  lumos_text_html(out, share.bytes, share.length);
  lumos_text_free(&share);
  lumos_text_put(out, row < waits->count ? " of its waiting\">" : " of their waiting\">");
  put_value(unit, time, out);
  lumos_text_put(out, "</td>");
}

static void put_row(const struct report_waits *waits, const struct unit *unit, size_t row, size_t columns,
                    struct lumos_text *out) {
  lumos_text_put(out, "<tr><th scope=\"row\">");
  put_place(waits, row, out);
  lumos_text_put(out, "</th>");
  for (size_t column = 0; column < columns; column++) {
    put_cell(waits, unit, row, column, out);
  }
  lumos_text_put(out, "<td class=\"sum\">");
  put_value(unit, sum_of_row(waits, row), out);
  lumos_text_put(out, "</td></tr>\n");
}

static void put_caption(const struct report_waits *waits, const struct unit *unit, struct lumos_text *out) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(
      &text,
      "How long the rank of the row waits in communication for the rank of the column, the last to arrive. "
      "Times are in %s per step, the mean over the job\xE2\x80\x99s steps. The stronger the color, the longer. The "
      "strongest is ",
      unit->name);
  report_put_time(&text, waits->largest);
  lumos_text_put(
      &text,
      ". A row adds up to the rank\xE2\x80\x99s waiting, overlapped or exposed. Waits at the same time each count.");
  if (waits->has_late) {
    lumos_text_put(&text, " The delay in the title leaves out what other ranks cause, and subtracts where the rank "
                          "arrives early.");
  }
  if (waits->left_out > 0) {
    lumos_text_put(&text, " Ranks that wait and are waited for longest; others: ");
    report_put_counted(&text, (int64_t)waits->left_out, "more rank");
    lumos_text_put(&text, ", added up.");
  } else if (waits->others) {
    lumos_text_put(&text, " Others: those that a rank waits for least, added up.");
  }
  lumos_text_put(out, "<p class=\"caption\" id=\"matrix-waits\">");
  lumos_text_html(out, text.bytes, text.length);
  lumos_text_put(out, "</p>\n");
  lumos_text_free(&text);
}

void report_waits_html(const struct report_waits *waits, struct lumos_text *out) {
  if (waits->count == 0) {
    return;
  }
  struct unit unit = unit_of(waits);
  size_t places = waits->count + (waits->others);
  put_caption(waits, &unit, out);
  lumos_text_put(out,
                 "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"matrix-waits\">"
                 "<table class=\"matrix\" aria-labelledby=\"matrix-waits\"><thead><tr><th scope=\"col\">waits for");
  lumos_text_format(out, " <small>%s</small></th>", unit.name);
  for (size_t column = 0; column < places; column++) {
    lumos_text_put(out, "<th scope=\"col\">");
    put_place(waits, column, out);
    lumos_text_put(out, "</th>");
  }
  lumos_text_put(out, "<th scope=\"col\">all</th></tr></thead>\n<tbody>\n");
  for (size_t row = 0; row < waits->count + (waits->left_out > 0); row++) {
    put_row(waits, &unit, row, places, out);
  }
  lumos_text_put(out, "<tr class=\"sum\"><th scope=\"row\">all</th>");
  int64_t all = 0;
  for (size_t column = 0; column < places; column++) {
    int64_t sum = sum_of_column(waits, column);
    all = report_sum(all, sum);
    lumos_text_put(out, "<td>");
    put_value(&unit, sum, out);
    lumos_text_put(out, "</td>");
  }
  lumos_text_put(out, "<td>");
  put_value(&unit, all, out);
  lumos_text_put(out, "</td></tr>\n</tbody></table></div>\n");
}
