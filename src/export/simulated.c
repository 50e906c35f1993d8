/* The simulated rows: every task where the simulation put it, and why there. */
#include "export/writer.h"

static void put_id(struct export_writer *writer, const char *key, uint32_t t) {
  const struct lumos_job *job = writer->job;
  struct lumos_text id = LUMOS_TEXT_BUFFER;
  lumos_text_integer(&id, job->ranks.items[lumos_rank_of(job, &job->tasks.items[t])].rank);
  lumos_text_char(&id, ':');
  lumos_text_integer(&id, job->tasks.items[t].id);
  lumos_text_char(&id, '\0');
  lumos_export_string(writer, key, id.bytes);
  lumos_text_free(&id);
}

static void put_binding(struct export_writer *writer, const char *key, const char *key_of_source,
                        struct lumos_binding by) {
  lumos_export_string(writer, key, lumos_constraint_kind_name((enum lumos_constraint_kind)by.kind));
  if (by.src != LUMOS_NONE) {
    put_id(writer, key_of_source, by.src);
  }
}

static void put_ns(struct export_writer *writer, const char *key, int64_t ns) {
  if (ns != LUMOS_ABSENT && ns != 0) {
    lumos_export_integer(writer, key, ns);
  }
}

static void put_arguments(struct export_writer *writer, uint32_t t) {
  const struct lumos_job *job = writer->job;
  const struct lumos_task *task = &job->tasks.items[t];
  const struct lumos_timing *timing = lumos_timing_of(job, t);
  lumos_export_open_arguments(writer);
  put_id(writer, "task", t);
  lumos_export_string(writer, "kind", lumos_task_kind_name((enum lumos_task_kind)task->kind));
  if (task->step != LUMOS_ABSENT_INT) {
    lumos_export_integer(writer, "step", task->step);
  }
  if (lumos_on_stream(job, task)) {
    lumos_export_recorded(writer, "stream", lumos_string(job->strings, job->lanes.items[task->lane].native));
  }
  if (writer->correlation[t] != 0) {
    lumos_export_integer(writer, "correlation", writer->correlation[t]);
  }
  put_binding(writer, "held by", "held by task", lumos_held_of(&writer->held, t).start);
  if (lumos_held_of(&writer->held, t).end.kind != LUMOS_HELD_BY_ITSELF) {
    put_binding(writer, "end held by", "end held by task", lumos_held_of(&writer->held, t).end);
  }
  put_ns(writer, "lag ns", task->lag);
  put_ns(writer, "launch lag ns", timing->launch_lag);
  put_ns(writer, "unexplained ns", timing->residual);
  lumos_export_close_arguments(writer);
}

void lumos_export_simulated(struct export_writer *writer) {
  const struct lumos_job *job = writer->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_run *run = &job->runs.items[t];
    if (run->start == LUMOS_ABSENT || run->dur == LUMOS_ABSENT) {
      continue;
    }
    lumos_export_open(writer, 'X', lumos_export_row(writer, t, EXPORT_SIMULATED), run->start - writer->zero,
                      lumos_string(job->strings, task->name));
    lumos_export_string(writer, "cat", "lumos_simulated");
    lumos_export_time(writer, "dur", run->dur);
    put_arguments(writer, t);
    lumos_export_close(writer);
  }
}
