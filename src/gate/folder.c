/* A history as the baseline. */
#include "base/folder.h"
#include "base/input.h"
#include <lumos/gate.h>
#include <stdlib.h>

/* What cannot be read is no report: a history has broken nights. */
static bool add(struct lumos_gate *gate, const char *path) {
  enum { LARGEST = 1 << 28 }; /* bytes, as of one baseline */
  struct lumos_error unread = {LUMOS_DONE, ""};
  char begin[LUMOS_INPUT_PEEK];
  struct lumos_input *input = lumos_is_file(path) ? lumos_input_open(path, &unread) : NULL;
  size_t length = input == NULL ? 0 : lumos_input_peek(input, begin, sizeof begin);
  lumos_input_close(input);
  char *report = lumos_gate_is_report(begin, length) ? lumos_input_slurp(path, LARGEST, &length, &unread) : NULL;
  bool added = report != NULL && lumos_gate_baseline(gate, report, &unread);
  free(report);
  return added;
}

bool lumos_gate_baseline_folder(struct lumos_gate *gate, const char *folder, size_t *added, struct lumos_error *error) {
  struct lumos_file_names names;
  *added = 0;
  if (!lumos_is_folder(folder)) {
    return true;
  }
  bool good = lumos_folder_list(folder, &names, error);
  for (size_t i = 0; good && i < names.count; i++) {
    const char *name = names.items[i];
    if (lumos_ends_with(name, ".json")) {
      char *path = lumos_path_join(folder, name);
      *added += add(gate, path);
      free(path);
    }
  }
  lumos_names_free(&names);
  return good;
}
