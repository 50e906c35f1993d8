/* The file: a document for lumos-parse, names, then the rows of both timelines and the arrows between them. It leaves piece by piece. */
#include <lumos/export.h>

#include "base/output.h"
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
  lumos_export_drain(writer);
}

static bool is_gzip(const char *path) {
  size_t length = strlen(path);
  return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

bool lumos_timelines_write(const struct lumos_job *job, const char *path, struct lumos_error *error) {
  struct lumos_output output;
  struct export_writer writer = {.job = job};
  writer.held = lumos_allocate((job->tasks.count + 1) * sizeof *writer.held);
  if (!lumos_bindings_find(job, writer.held, NULL, NULL, error) || !lumos_output_open(&output, path, error)) {
    free(writer.held);
    return false;
  }
  struct lumos_text work = LUMOS_TEXT_BUFFER;
  writer.text = &work;
  writer.out = &output.text;
  writer.deflater = is_gzip(path) ? lumos_deflater_new(&output.text) : NULL;
  writer.correlation = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *writer.correlation);
  writer.flags = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *writer.flags);
  lumos_export_place(&writer);
  lumos_export_number_calls(&writer);
  put_file(&writer);
  if (writer.deflater != NULL) {
    lumos_deflater_finish(writer.deflater);
  }
  lumos_text_free(&work);
  lumos_export_unplace(&writer);
  free(writer.correlation);
  free(writer.flags);
  free(writer.held);
  return lumos_output_commit(&output, error);
}
