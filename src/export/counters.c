/* Tracks of numbers under each device, of the measured and of the simulated timeline: how many of its streams run, how
 * many kernels and copies are launched and have not started, and at which rate running copies and communication move
 * bytes. A number stands until the next one of its track, so that numbers times their times add up to what the rows
 * say.
 */
#include "export/writer.h"

enum counter { STREAMS, QUEUE, COPIES, COMMUNICATION, COUNTERS };

static const struct {
  const char *names[2], *unit; /* of the measured and of the simulated timeline */
  int decimals;
} counters[COUNTERS] = {
    [STREAMS] = {{"GPU busy", "GPU busy (simulated)"}, "running streams", 0},
    [QUEUE] = {{"queue length", "queue length (simulated)"}, "launched, not started", 0},
    [COPIES] = {{"copy bandwidth", "copy bandwidth (simulated)"}, "GB/s", 3},
    [COMMUNICATION] = {{"communication bandwidth", "communication bandwidth (simulated)"}, "GB/s", 3},
};

/* From an instant on the number is another one. */
struct edge {
  int64_t time, change;
};
LUMOS_VECTOR_TYPE(export_edges, struct edge);

static void add(struct export_edges *edges, int64_t from, int64_t until, int64_t value) {
  if (from < until && value != 0) {
    lumos_vector_push(edges, ((struct edge){from, value}));
    lumos_vector_push(edges, ((struct edge){until, -value}));
  }
}

/* MB/s of so many bytes, of which thousandths of GB/s are made; 0: unknown. */
static int64_t rate_of(int64_t bytes, int64_t dur) {
  return bytes > 0 && dur > 0 && bytes < INT64_MAX / 1000 ? bytes * 1000 / dur : 0;
}

static void add_task(const struct export_writer *writer, uint32_t t, enum export_timeline timeline,
                     enum counter counter, struct export_edges *edges) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_detail *detail = lumos_detail_of(job, task);
  struct export_interval own = lumos_export_interval(writer, t, timeline);
  if (own.start == LUMOS_ABSENT) {
    return;
  }
  int64_t dur = own.end - own.start;
  if (counter == STREAMS) {
    add(edges, own.start, own.end, 1);
  } else if (counter == COPIES && task->kind == LUMOS_COPY) {
    add(edges, own.start, own.end, rate_of(detail->bytes, dur));
  } else if (counter == COMMUNICATION && lumos_is_communication(task->kind)) {
    add(edges, own.start, own.end, rate_of(detail->comm.bytes, dur));
  } else if (counter == QUEUE && task->call != LUMOS_NONE) {
    uint32_t call = timeline == EXPORT_MEASURED ? export_first_segment(job, task->call) : task->call;
    int64_t launched = lumos_export_interval(writer, call, timeline).start;
    add(edges, launched == LUMOS_ABSENT ? own.start : launched, own.start, 1);
  }
}

static int by_time(const void *a, const void *b) {
  const struct edge *left = a, *right = b;
  return (left->time > right->time) - (left->time < right->time);
}

static void put_value(struct export_writer *writer, uint32_t process, enum export_timeline timeline,
                      enum counter counter, struct edge edge) {
  lumos_export_open(writer, 'C', (struct export_place){process + 1, 0}, edge.time, counters[counter].names[timeline]);
  lumos_export_open_arguments(writer);
  lumos_text_format(writer->text, "\"%s\":", counters[counter].unit);
  lumos_text_decimal(writer->text, edge.change, counters[counter].decimals);
  lumos_export_close_arguments(writer);
  lumos_export_close(writer);
}

/* One number for every instant at which it changes. */
static void put_track(struct export_writer *writer, uint32_t process, enum export_timeline timeline,
                      enum counter counter, struct export_edges *edges) {
  int64_t value = 0, told = 0;
  lumos_vector_sort(edges, by_time);
  for (size_t i = 0; i < edges->count; i++) {
    value += edges->items[i].change;
    bool last = i + 1 == edges->count || edges->items[i + 1].time != edges->items[i].time;
    if (last && value != told) {
      put_value(writer, process, timeline, counter, (struct edge){edges->items[i].time, value});
      told = value;
    }
  }
}

static void collect(const struct export_writer *writer, uint32_t process, enum export_timeline timeline,
                    enum counter counter, struct export_edges *edges) {
  const struct lumos_job *job = writer->job;
  const struct lumos_rank *rank = &job->ranks.items[writer->processes.items[process].rank];
  edges->count = 0;
  for (uint32_t l = rank->lane_first; l < rank->lane_first + rank->lane_count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    bool here = lane->kind == LUMOS_STREAM && writer->process_of_lane[l] == process;
    for (uint32_t t = lane->task_first; here && t < lane->task_first + lane->task_count; t++) {
      add_task(writer, t, timeline, counter, edges);
    }
  }
}

void lumos_export_counters(struct export_writer *writer) {
  struct export_edges edges = {0};
  for (uint32_t process = 0; process < writer->processes.count; process++) {
    for (int timeline = EXPORT_MEASURED; timeline <= EXPORT_SIMULATED; timeline++) {
      for (int counter = 0; counter < COUNTERS; counter++) {
        collect(writer, process, (enum export_timeline)timeline, (enum counter)counter, &edges);
        put_track(writer, process, (enum export_timeline)timeline, (enum counter)counter, &edges);
      }
    }
  }
  lumos_vector_free(&edges);
}
