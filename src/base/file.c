#include <lumos/file.h>

#include "base/output.h"
#include <lumos/memory.h>

struct lumos_file {
  struct lumos_output output;
};

struct lumos_file *lumos_file_open(const char *path, struct lumos_error *error) {
  struct lumos_file *file = lumos_allocate_zeroed(1, sizeof *file);
  if (!lumos_output_open(&file->output, path, error)) {
    free(file);
    return NULL;
  }
  return file;
}

struct lumos_file *lumos_file_in_memory(void) {
  struct lumos_file *file = lumos_allocate_zeroed(1, sizeof *file);
  file->output.text = LUMOS_TEXT_BUFFER;
  return file;
}

struct lumos_text *lumos_file_text(struct lumos_file *file) {
  return &file->output.text;
}

const char *lumos_file_bytes(struct lumos_file *file, size_t *length) {
  *lumos_text_room(&file->output.text, 1) = '\0';
  *length = file->output.text.length;
  return file->output.text.bytes;
}

bool lumos_file_commit(struct lumos_file *file, struct lumos_error *error) {
  return lumos_output_commit(&file->output, error);
}

void lumos_file_close(struct lumos_file *file) {
  if (file != NULL) {
    lumos_output_discard(&file->output);
    free(file);
  }
}
