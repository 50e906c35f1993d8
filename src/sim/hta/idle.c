/* Idle-time breakdown: on each stream the gap before every row, by what the row waited for. */
#include "sim/hta/rows.h"

#include <stdlib.h>

/* A shorter gap is the device's own. HTA's consecutive_kernel_delay, documented there as ns but compared with us. */
enum { KERNEL_DELAY = 30 };

enum cause { HOST_WAIT, KERNEL_WAIT, OTHER_WAIT, CAUSES };

struct stream {
  int64_t number;
  int64_t before; /* end of its last row; LUMOS_ABSENT */
  int64_t time[CAUSES];
  bool seen[CAUSES];
};

static void add_row(struct stream *stream, const struct hta_row *row) {
  int64_t gap = stream->before == LUMOS_ABSENT ? 0 : row->start - stream->before;
  enum cause cause = OTHER_WAIT;
  if (stream->before != LUMOS_ABSENT) {
    bool host = row->called != LUMOS_ABSENT && row->called > stream->before;
    cause = host ? HOST_WAIT : gap < KERNEL_DELAY ? KERNEL_WAIT : OTHER_WAIT;
  }
  stream->time[cause] += gap;
  stream->seen[cause] = true;
  stream->before = row->end;
}

static void put_stream(const struct hta_rank *rank, const struct stream *stream) {
  static const char *const causes[CAUSES] = {"host_wait", "kernel_wait", "other"};
  int64_t whole = stream->time[HOST_WAIT] + stream->time[KERNEL_WAIT] + stream->time[OTHER_WAIT];
  for (int cause = 0; cause < CAUSES; cause++) {
    if (stream->seen[cause]) {
      struct lumos_scope scope = hta_stream_scope(rank, stream->number);
      scope.kind = lumos_intern_text(rank->job->strings, causes[cause]);
      hta_put_time(rank->job, "hta_idle_breakdown_time", &scope, stream->time[cause]);
      hta_put(rank->job, "hta_idle_breakdown_ratio", &scope,
              hta_rounded((double)stream->time[cause] / (double)whole, 2));
    }
  }
}

/* The work of each stream behind that of the one before, in the order of the file: of stream i from first[i] on. */
static struct hta_placed *place_work(const struct hta_rank *rank, const struct hta_streams *streams, size_t *first) {
  struct hta_placed *placed = lumos_allocate((rank->rows.count + 1) * sizeof *placed);
  for (size_t i = 0; i < rank->rows.count; i++) {
    uint32_t class = rank->rows.items[i].class;
    first[streams->of_class[class] + 2] += rank->classes.items[class].work;
  }
  for (size_t i = 1; i < streams->count + 2; i++) {
    first[i] += first[i - 1];
  }
  for (size_t i = 0; i < rank->rows.count; i++) {
    const struct hta_row *row = &rank->rows.items[i];
    if (rank->classes.items[row->class].work) {
      placed[first[streams->of_class[row->class] + 1]++] = (struct hta_placed){row->start, (uint32_t)i};
    }
  }
  return placed;
}

void hta_write_idle(const struct hta_rank *rank) {
  struct hta_streams streams;
  hta_find_streams(rank, &streams);
  size_t *first = lumos_allocate_zeroed(streams.count + 2, sizeof *first);
  struct hta_placed *placed = place_work(rank, &streams, first);
  for (size_t i = 0; i < streams.count; i++) {
    struct stream stream = {.number = streams.numbers[i], .before = LUMOS_ABSENT};
    hta_sort(placed + first[i], first[i + 1] - first[i]);
    for (size_t k = first[i]; k < first[i + 1]; k++) {
      add_row(&stream, &rank->rows.items[placed[k].item]);
    }
    put_stream(rank, &stream);
  }
  free(first);
  free(placed);
  hta_free_streams(&streams);
}
