/* Arrows: from every call to what it launched, on both timelines, and from what held a task to the task where that is
 * of another lane (an event, a hand-over, a wait, a collective's last member). What held is known of the simulation; of
 * an unchanged job it is drawn between the measured tasks, too.
 */
#include "export/writer.h"

struct flow {
  const char *category, *name;
  int64_t id;
};

/* An arrow ends inside of a row, so at an end it stands a nanosecond before it. */
static int64_t instant_of(const struct export_interval *interval, uint8_t end) {
  return end == LUMOS_START || interval->end == interval->start ? interval->start : interval->end - 1;
}

static void put_end(struct export_writer *writer, const struct flow *flow, char phase, uint32_t t,
                    enum export_timeline timeline, int64_t time) {
  struct export_place place = lumos_export_row(writer, t, timeline);
  lumos_export_open(writer, phase, place, time, flow->name);
  lumos_export_string(writer, "cat", flow->category);
  lumos_export_integer(writer, "id", writer->first_flow + flow->id);
  if (phase == 'f') {
    lumos_export_string(writer, "bp", "e");
  }
  lumos_export_close(writer);
}

static void put_flow(struct export_writer *writer, const struct flow *flow, enum export_timeline timeline,
                     struct lumos_binding by, uint32_t dst, uint8_t to) {
  struct export_interval from = lumos_export_interval(writer, by.src, timeline);
  struct export_interval until = lumos_export_interval(writer, dst, timeline);
  if (from.start != LUMOS_ABSENT && until.start != LUMOS_ABSENT) {
    int64_t begin = instant_of(&from, by.from), end = instant_of(&until, to);
    /* A kernel may be recorded microseconds before its call, and Perfetto drops an arrow that leads back in time: it
     * ends further on in the row, where that is long enough. */
    end = end < begin && begin < until.end ? begin : end;
    put_end(writer, flow, 's', by.src, timeline, begin);
    put_end(writer, flow, 'f', dst, timeline, end);
  }
}

/* As Kineto draws them: from the call's start. */
static void put_launch(struct export_writer *writer, uint32_t t, enum export_timeline timeline) {
  static const char *const categories[] = {"ac2g", "lumos_launch"};
  const struct lumos_job *job = writer->job;
  const struct flow flow = {categories[timeline], "launch", t};
  uint32_t call = job->tasks.items[t].call;
  if (call != LUMOS_NONE) {
    uint32_t src = timeline == EXPORT_MEASURED ? export_first_segment(job, call) : call;
    const struct lumos_binding by = {.src = src, .from = LUMOS_START};
    put_flow(writer, &flow, timeline, by, t, LUMOS_START);
  }
}

static bool crosses_lanes(uint8_t kind) {
  return kind == LUMOS_HELD_BY_WAIT || kind == LUMOS_HELD_BY_COLLECTIVE || kind == LUMOS_HELD_BY_EVENT ||
         kind == LUMOS_HELD_BY_HANDOVER || kind == LUMOS_HELD_BY_OTHER;
}

static void put_held(struct export_writer *writer, uint32_t t, struct lumos_binding by, uint8_t to,
                     enum export_timeline timeline) {
  static const char *const categories[] = {"lumos_dependency", "lumos_simulated_dependency"};
  const struct flow flow = {categories[timeline], lumos_constraint_kind_name((enum lumos_constraint_kind)by.kind),
                            2 * (int64_t)t + (to == LUMOS_END)};
  if (by.src != LUMOS_NONE && by.src != t && crosses_lanes(by.kind)) {
    put_flow(writer, &flow, timeline, by, t, to);
  }
}

void lumos_export_flows(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  bool edited = lumos_job_edited(job);
  for (int timeline = EXPORT_MEASURED; timeline <= EXPORT_SIMULATED; timeline++) {
    for (uint32_t t = 0; t < job->tasks.count; t++) {
      put_launch(writer, t, (enum export_timeline)timeline);
      if (timeline == EXPORT_SIMULATED || !edited) {
        put_held(writer, t, lumos_held_of(&writer->held, t).start, LUMOS_START, (enum export_timeline)timeline);
        put_held(writer, t, lumos_held_of(&writer->held, t).end, LUMOS_END, (enum export_timeline)timeline);
      }
    }
  }
}
