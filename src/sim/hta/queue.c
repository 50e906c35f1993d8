/* Queue length: how many launches of a stream have not started yet, after each launch and each start. */
#include "sim/hta/rows.h"

#include <math.h>
#include <stdlib.h>

enum { FULL = 1024 }; /* launches: HTA's length of a full queue (trace_counters.py) */

/* They go up and down by one from one end to the other, so none between is missing. */
static void sort_lengths(int64_t *lengths, size_t count) {
  int64_t least = lengths[0];
  int64_t most = lengths[0];
  for (size_t i = 1; i < count; i++) {
    least = lengths[i] < least ? lengths[i] : least;
    most = lengths[i] > most ? lengths[i] : most;
  }
  size_t *times = lumos_allocate_zeroed((size_t)(most - least) + 1, sizeof *times);
  for (size_t i = 0; i < count; i++) {
    times[lengths[i] - least]++;
  }
  size_t place = 0;
  for (int64_t length = least; length <= most; length++) {
    for (size_t left = times[length - least]; left > 0; left--) {
      lengths[place++] = length;
    }
  }
  free(times);
}

/* From the sum, as exact as an integer is, and the squares around the mean. */
static void put_summary(const struct hta_rank *rank, int64_t stream, int64_t *lengths, size_t count) {
  struct lumos_job *job = rank->job;
  struct lumos_scope scope = hta_stream_scope(rank, stream);
  int64_t sum = 0;
  double squares = 0;
  for (size_t i = 0; i < count; i++) {
    sum += lengths[i];
  }
  double mean = (double)sum / (double)count;
  for (size_t i = 0; i < count; i++) {
    squares += (mean - (double)lengths[i]) * (mean - (double)lengths[i]);
  }
  sort_lengths(lengths, count);
  hta_put_time(job, "hta_queue_length_count", &scope, (int64_t)count);
  hta_put(job, "hta_queue_length_mean", &scope, hta_number(mean));
  hta_put(job, "hta_queue_length_std", &scope, hta_number(sqrt(squares / (double)(count - 1))));
  hta_put_time(job, "hta_queue_length_min", &scope, lengths[0]);
  hta_put(job, "hta_queue_length_p25", &scope, hta_number(hta_quantile(lengths, count, 0.25)));
  hta_put(job, "hta_queue_length_p50", &scope, hta_number(hta_quantile(lengths, count, 0.5)));
  hta_put(job, "hta_queue_length_p75", &scope, hta_number(hta_quantile(lengths, count, 0.75)));
  hta_put_time(job, "hta_queue_length_max", &scope, lengths[count - 1]);
}

/* The last stream that was full has the say. */
struct full {
  int64_t stream, time; /* time LUMOS_ABSENT: none was */
};

struct change {
  int64_t time;
  int64_t length; /* of the queue from then on */
};
LUMOS_VECTOR_TYPE(change_list, struct change);

static void write_stream(const struct hta_rank *rank, int64_t stream, const struct change_list *changes,
                         struct full *full) {
  size_t count = changes->count;
  int64_t *lengths = lumos_allocate(count * sizeof *lengths);
  int64_t time = LUMOS_ABSENT;
  for (size_t i = 0; i < count; i++) {
    lengths[i] = changes->items[i].length;
    if (lengths[i] >= FULL) {
      time =
          (time == LUMOS_ABSENT ? 0 : time) + (i + 1 < count ? changes->items[i + 1].time - changes->items[i].time : 0);
    }
  }
  if (time != LUMOS_ABSENT) {
    *full = (struct full){stream, time};
  }
  put_summary(rank, stream, lengths, count);
  free(lengths);
}

static int compare_places(const void *a, const void *b) {
  const struct hta_placed *left = a, *right = b;
  return left->time != right->time ? (left->time < right->time ? -1 : 1)
                                   : (left->item > right->item) - (left->item < right->item);
}

/* Of all streams together by their time: launches as they stand in the file are put in before starts. Their items are
 * 2 * row and that + 1. */
static size_t sort_changes(const struct hta_rank *rank, struct hta_placed *changes) {
  const struct hta_row *rows = rank->rows.items;
  size_t launches = 0;
  bool in_order = true;
  for (size_t i = 0; i < rank->rows.count; i++) {
    if (rows[i].enqueued != LUMOS_ABSENT) {
      in_order = in_order && (launches == 0 || changes[launches - 1].time <= rows[i].place);
      changes[launches++] = (struct hta_placed){rows[i].place, (uint32_t)(2 * i)};
    }
  }
  for (size_t i = 0; i < launches; i++) {
    uint32_t row = changes[i].item / 2;
    changes[launches + i] = (struct hta_placed){rows[row].start, 2 * row + 1};
  }
  if (!in_order) {
    qsort(changes, launches, sizeof *changes, compare_places);
  }
  for (size_t i = 0; i < launches; i++) {
    changes[i].time = rows[changes[i].item / 2].enqueued;
  }
  hta_sort(changes, 2 * launches);
  return 2 * launches;
}

void hta_write_queue(const struct hta_rank *rank) {
  struct hta_placed *sorted = lumos_allocate((2 * rank->rows.count + 1) * sizeof *sorted);
  size_t count = rank->queue_pairs ? sort_changes(rank, sorted) : 0;
  struct hta_streams streams;
  struct change_list *changes = NULL;
  struct full full = {0, LUMOS_ABSENT};
  hta_find_streams(rank, &streams);
  changes = lumos_allocate_zeroed(streams.count + 1, sizeof *changes);
  for (size_t i = 0; i < count; i++) {
    struct change_list *list = &changes[streams.of_class[rank->rows.items[sorted[i].item / 2].class]];
    int64_t before = list->count == 0 ? 0 : list->items[list->count - 1].length;
    lumos_vector_push(list, ((struct change){sorted[i].time, sorted[i].item % 2 == 0 ? before + 1 : before - 1}));
  }
  for (size_t i = 0; i < streams.count; i++) {
    if (changes[i].count > 0) {
      write_stream(rank, streams.numbers[i], &changes[i], &full);
    }
    lumos_vector_free(&changes[i]);
  }
  if (full.time != LUMOS_ABSENT) {
    struct lumos_scope scope = hta_stream_scope(rank, full.stream);
    hta_put_time(rank->job, "hta_full_queue_time", &scope, full.time);
    if (rank->extent != LUMOS_ABSENT) {
      hta_put(rank->job, "hta_full_queue_ratio", &scope, hta_number((double)full.time / (double)rank->extent));
    }
  }
  free(sorted);
  free(changes);
  hta_free_streams(&streams);
}
