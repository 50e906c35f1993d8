/* The file: a document for lumos-parse, names, then the rows of both timelines, the arrows between them, and counters.
 * It leaves piece by piece. */
#include <lumos/export.h>

#include "export/writer.h"
#include <stdlib.h>

static void put_events(struct export_writer *writer) {
  lumos_export_names(writer);
  lumos_export_measured(writer);
  lumos_export_simulated(writer);
  lumos_export_flows(writer);
  lumos_export_counters(writer);
}

bool lumos_export_open_file(struct export_writer *writer, struct export_file *file, const char *path,
                            struct lumos_error *error) {
  if (!lumos_output_open(&file->output, path, error)) {
    return false;
  }
  file->work = LUMOS_TEXT_BUFFER;
  writer->text = &file->work;
  writer->out = &file->output.text;
  return true;
}

bool lumos_export_close_file(struct export_writer *writer, struct export_file *file, struct lumos_error *error) {
  lumos_export_drain(writer);
  lumos_text_free(&file->work);
  return lumos_output_commit(&file->output, error);
}

/* The writer's own time of the job; `before`: of the job before it in the file, or NULL. */
static bool open_job(struct export_writer *writer, const struct export_writer *before, struct lumos_error *error) {
  if (!lumos_bindings_find(writer->job, &writer->held, NULL, NULL, error)) {
    return false;
  }
  writer->correlation = lumos_allocate_zeroed(writer->job->tasks.count + 1, sizeof *writer->correlation);
  writer->flags = lumos_allocate_zeroed(writer->job->tasks.count + 1, sizeof *writer->flags);
  lumos_export_place(writer);
  lumos_export_number_calls(writer);
  lumos_export_settle_rows(writer);
  if (before != NULL) {
    writer->first_process = before->first_process + (uint32_t)before->processes.count;
    writer->first_thread = before->first_thread + lumos_export_threads(before);
    writer->first_flow = before->first_flow + 2 * (int64_t)before->job->tasks.count;
  }
  return true;
}

static void close_job(struct export_writer *writer) {
  if (writer->correlation != NULL) {
    lumos_export_unplace(writer);
  }
  free(writer->correlation);
  free(writer->flags);
  lumos_held_free(&writer->held);
}

/* What each aligns stands at the same instant, and nothing before 0. */
static void align(const struct lumos_timelines_job *jobs, struct export_writer *writers, size_t count) {
  int64_t lead = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    int64_t own = jobs[i].align - writers[i].zero;
    lead = own > lead ? own : lead;
  }
  for (size_t i = 0; i < count; i++) {
    writers[i].zero = jobs[i].align - lead;
  }
}

/* lumos-parse finds no ranks in a file of several jobs, rather than take them for one. */
static void put_file(const struct lumos_timelines_job *jobs, struct export_writer *writers, size_t count,
                     struct export_file *file) {
  lumos_text_put(writers[0].text, "{\"schemaVersion\":1,");
  if (count == 1) {
    lumos_export_document(&writers[0]);
  } else {
    align(jobs, writers, count);
    lumos_text_put(writers[0].text, "\"lumos_timelines\":{\"version\":1,\"ranks\":[],\"lanes\":[]},\n");
  }
  lumos_text_put(writers[0].text, "\"traceEvents\":[");
  for (size_t i = 0; i < count; i++) {
    writers[i].text = &file->work;
    writers[i].out = writers[0].out;
    writers[i].any = i > 0;
    put_events(&writers[i]);
  }
  lumos_text_put(writers[0].text, "\n]}\n");
}

bool lumos_timelines_write_several(const struct lumos_timelines_job *jobs, size_t count, const char *path,
                                   struct lumos_error *error) {
  struct export_file file;
  struct export_writer *writers = lumos_allocate_zeroed(count, sizeof *writers);
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    writers[i].job = jobs[i].job;
    writers[i].prefix = jobs[i].prefix;
    good = open_job(&writers[i], i > 0 ? &writers[i - 1] : NULL, error);
  }
  good = good && lumos_export_open_file(&writers[0], &file, path, error);
  if (good) {
    put_file(jobs, writers, count, &file);
  }
  for (size_t i = 0; i < count; i++) {
    close_job(&writers[i]);
  }
  good = good && lumos_export_close_file(&writers[0], &file, error);
  free(writers);
  return good;
}

bool lumos_timelines_write(const struct lumos_job *job, const char *path, struct lumos_error *error) {
  return lumos_timelines_write_several(&(struct lumos_timelines_job){.job = job}, 1, path, error);
}
