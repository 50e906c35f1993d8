/* Reading rank.hta (stream.h), which anybody may have written. */
#include "sim/hta/rows.h"

#include "base/ascii.h"
#include "sim/clock.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_COPIES = 1000 }; /* of all rows together, beyond four a row. Chosen: more were no recording */

/* Of all rows together, in microseconds: 2^53 ns. So no sum of them, nor of the gaps between them, overflows. */
#define MOST_TIME (INT64_C(1) << 43U)

struct reading {
  struct hta_rank *rank;
  const char *text;
  int64_t time;  /* of the rows so far */
  int64_t start; /* of the row before */
  int64_t place; /* of the launch of the last row that had one */
  size_t copies;
  bool cut;
};

static bool read_number(const char **place, int64_t *out) {
  const char *text = *place;
  bool negative = *text == '-';
  int64_t value = 0;
  text += negative;
  const char *first = text;
  for (; lumos_is_digit(*text) && text - first < 16; text++) {
    value = 10 * value + (*text - '0');
  }
  *out = negative ? -value : value;
  *place = text;
  return text > first && !lumos_is_digit(*text) && value < LUMOS_TIME_LIMIT;
}

static bool take(const char **place, char byte) {
  bool there = **place == byte;
  *place += there;
  return there;
}

static bool read_classes(struct hta_rank *rank, const char *place) {
  while (*place != '\0') {
    struct hta_class class = {.work = *place == 'k' || *place == 'm' || *place == 's'};
    if (!class.work && *place != 'o') {
      return false;
    }
    place++;
    class.host = take(&place, 'h');
    if (!take(&place, ' ') || !read_number(&place, &class.stream) || !take(&place, ' ')) {
      return false;
    }
    size_t length = strcspn(place, "\n");
    class.name = lumos_intern(rank->job->strings, place, length);
    class.type = (uint8_t)hta_type_of(lumos_string(rank->job->strings, class.name));
    place += length;
    lumos_vector_push(&rank->classes, class);
    if (!take(&place, '\n')) {
      break;
    }
  }
  return *place == '\0';
}

/* [,LAG[,LAG]] behind a row, and how its launch counts. */
static bool read_launch(struct reading *reading, struct hta_row *row) {
  int64_t lag = 0;
  if (!take(&reading->text, ',')) {
    return true;
  }
  if (!read_number(&reading->text, &lag)) {
    return false;
  }
  row->called = row->enqueued = row->start - lag;
  if (take(&reading->text, ',')) {
    if (!read_number(&reading->text, &lag)) {
      return false;
    }
    row->enqueued = row->start - lag;
  } else if (take(&reading->text, '~')) {
    row->enqueued = LUMOS_ABSENT;
  }
  return true;
}

/* [^N]: launches stand in the file as their rows do, but for this. */
static bool read_place(struct reading *reading, struct hta_row *row) {
  int64_t step = 1;
  if (take(&reading->text, '^') && !read_number(&reading->text, &step)) {
    return false;
  }
  row->place = reading->place;
  if (row->enqueued != LUMOS_ABSENT) {
    row->place = reading->place += step;
  }
  return reading->place < LUMOS_TIME_LIMIT && reading->place > -LUMOS_TIME_LIMIT;
}

/* Add the row so many times; false where no recording has as much. */
static bool add_copies(struct reading *reading, const struct hta_row *row, int64_t copies, bool unpaired) {
  struct hta_rank *rank = reading->rank;
  int64_t time = 0;
  reading->copies += (size_t)copies;
  if (__builtin_mul_overflow(llabs(row->end - row->start), copies, &time) || time >= MOST_TIME - reading->time) {
    return false;
  }
  reading->time += time;
  rank->queue_pairs = rank->queue_pairs && (!unpaired || copies == 0);
  if (reading->copies > 4 * (rank->rows.count + 1) + MOST_COPIES) {
    return false;
  }
  for (; copies > 0; copies--) {
    lumos_vector_push(&rank->rows, *row);
  }
  return true;
}

static bool read_row(struct reading *reading) {
  struct hta_rank *rank = reading->rank;
  struct hta_row row = {.called = LUMOS_ABSENT, .enqueued = LUMOS_ABSENT};
  int64_t class = 0;
  int64_t delta = 0;
  int64_t dur = 0;
  int64_t copies = 1;
  if (!read_number(&reading->text, &class) || class < 0 || (size_t) class >= rank->classes.count ||
      !take(&reading->text, ',') || !read_number(&reading->text, &delta) || !take(&reading->text, ',') ||
      !read_number(&reading->text, &dur)) {
    return false;
  }
  reading->start += delta;
  row.start = reading->start;
  row.end = row.start + dur;
  row.class = (uint32_t) class;
  if (row.start >= LUMOS_TIME_LIMIT || row.start <= -LUMOS_TIME_LIMIT || !read_launch(reading, &row)) {
    return false;
  }
  bool unpaired = take(&reading->text, '!');
  if (!read_place(reading, &row)) {
    return false;
  }
  if (take(&reading->text, '*')) {
    if (!read_number(&reading->text, &copies) || copies < 1) {
      return false;
    }
  } else {
    copies = !take(&reading->text, '-');
  }
  return add_copies(reading, &row, reading->cut ? copies : 1, unpaired);
}

static bool read_rows(struct reading *reading) {
  if (*reading->text == '\0') {
    return true;
  }
  do {
    if (!read_row(reading)) {
      return false;
    }
  } while (take(&reading->text, ' '));
  return *reading->text == '\0' && reading->rank->rows.count < UINT32_MAX / 4;
}

/* To leave out a step, that tool takes the device's rows first and the host's behind them. */
static void put_host_behind(struct hta_rank *rank) {
  size_t count = rank->rows.count;
  struct hta_row *host = lumos_allocate(count * sizeof *host);
  size_t device_count = 0;
  size_t host_count = 0;
  for (size_t i = 0; i < count; i++) {
    const struct hta_row row = rank->rows.items[i];
    if (rank->classes.items[row.class].host) {
      host[host_count++] = row;
    } else {
      rank->rows.items[device_count++] = row;
    }
  }
  if (host_count > 0) {
    memcpy(rank->rows.items + device_count, host, host_count * sizeof *host);
  }
  free(host);
}

bool hta_read(struct lumos_job *job, uint32_t rank, bool cut, struct hta_rank *out, struct lumos_error *error) {
  const struct lumos_hta_rows *hta = &job->ranks.items[rank].hta;
  *out = (struct hta_rank){.job = job,
                           .number = job->ranks.items[rank].rank,
                           .index = rank,
                           .queue_pairs = true,
                           .extent = cut ? hta->cut_extent : hta->extent};
  struct reading reading = {.rank = out, .text = lumos_string(job->strings, hta->rows), .cut = cut};
  if (!read_classes(out, lumos_string(job->strings, hta->classes)) || !read_rows(&reading)) {
    hta_free(out);
    return lumos_fail(error, "rank %d: hta is not as lumos-parse writes it; parse the recording again",
                      (int)job->ranks.items[rank].rank);
  }
  if (cut) {
    put_host_behind(out);
  }
  hta_unite(out);
  return true;
}

void hta_free(struct hta_rank *rank) {
  lumos_vector_free(&rank->classes);
  lumos_vector_free(&rank->rows);
  for (int type = 0; type <= HTA_TYPES; type++) {
    lumos_vector_free(&rank->united[type]);
  }
}

static int compare_numbers(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return LUMOS_ORDER(left, right);
}

void hta_find_streams(const struct hta_rank *rank, struct hta_streams *out) {
  size_t classes = rank->classes.count;
  *out = (struct hta_streams){lumos_allocate((classes + 1) * sizeof *out->numbers), 0,
                              lumos_allocate((classes + 1) * sizeof *out->of_class)};
  for (size_t i = 0; i < classes; i++) {
    out->numbers[i] = rank->classes.items[i].stream;
  }
  qsort(out->numbers, classes, sizeof *out->numbers, compare_numbers);
  for (size_t i = 0; i < classes; i++) {
    if (i == 0 || out->numbers[i] != out->numbers[out->count - 1]) {
      out->numbers[out->count++] = out->numbers[i];
    }
  }
  for (size_t i = 0; i < classes; i++) {
    const int64_t *found =
        bsearch(&rank->classes.items[i].stream, out->numbers, out->count, sizeof *out->numbers, compare_numbers);
    out->of_class[i] = found == NULL ? 0 : (uint32_t)(found - out->numbers);
  }
}

void hta_free_streams(struct hta_streams *streams) {
  free(streams->numbers);
  free(streams->of_class);
}
