/* The file: a document for lumos-parse, names, then the rows of both timelines and the arrows between them. It leaves
 * piece by piece. */
#include <lumos/export.h>

#include "export/writer.h"
#include <stdlib.h>
#include <string.h>

static void put_file(struct export_writer *writer) {
  lumos_text_put(writer->text, "{\"schemaVersion\":1,");
  lumos_export_document(writer);
  lumos_text_put(writer->text, "\"traceEvents\":[");
  lumos_export_names(writer);
  lumos_export_measured(writer);
  lumos_export_simulated(writer);
  lumos_export_flows(writer);
  lumos_text_put(writer->text, "\n]}\n");
}

static bool is_gzip(const char *path) {
  size_t length = strlen(path);
  return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

bool lumos_export_open_file(struct export_writer *writer, struct export_file *file, const char *path,
                            struct lumos_error *error) {
  if (!lumos_output_open(&file->output, path, error)) {
    return false;
  }
  file->work = LUMOS_TEXT_BUFFER;
  writer->text = &file->work;
  writer->out = &file->output.text;
  writer->deflater = is_gzip(path) ? lumos_deflater_new(writer->out) : NULL;
  return true;
}

bool lumos_export_close_file(struct export_writer *writer, struct export_file *file, struct lumos_error *error) {
  lumos_export_drain(writer);
  if (writer->deflater != NULL) {
    lumos_deflater_finish(writer->deflater);
  }
  lumos_text_free(&file->work);
  return lumos_output_commit(&file->output, error);
}

bool lumos_timelines_write(const struct lumos_job *job, const char *path, struct lumos_error *error) {
  struct export_file file;
  struct export_writer writer = {.job = job};
  if (!lumos_bindings_find(job, &writer.held, NULL, NULL, error) ||
      !lumos_export_open_file(&writer, &file, path, error)) {
    lumos_held_free(&writer.held);
    return false;
  }
  writer.correlation = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *writer.correlation);
  writer.flags = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *writer.flags);
  lumos_export_place(&writer);
  lumos_export_number_calls(&writer);
  put_file(&writer);
  lumos_export_unplace(&writer);
  free(writer.correlation);
  free(writer.flags);
  lumos_held_free(&writer.held);
  return lumos_export_close_file(&writer, &file, error);
}
