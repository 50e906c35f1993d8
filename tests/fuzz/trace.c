/* Fuzzer: the trace reader over any bytes but the first, which chooses options: traces, parted by lines of a byte 0, as
 * the files of one job. Whatever it accepts is a sound job, in which no time of a thread is lost; a small window gives
 * the same rows as a large one.
 */
#include "fuzz.h"

#include "trace/scan.h"
#include <lumos/trace.h>

/* What a scan through windows of this size found. */
struct found {
  bool good, recognised, truncated;
  size_t host, device, sync;
  int64_t events, skipped;
};

static struct found scan(const char *path, const struct trace_scan_options *options) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct found found = {.good = false};
  struct lumos_input *input = lumos_input_open(path, &error);
  if (input == NULL) {
    return found;
  }
  struct lumos_strings *strings = lumos_strings_new();
  struct trace trace;
  lumos_trace_init(&trace, strings);
  found.good = lumos_trace_scan(&trace, input, "t", options, &error);
  found.recognised = trace.recognised;
  found.truncated = trace.truncated;
  found.host = trace.host.count;
  found.device = trace.device.count;
  found.sync = trace.sync.count;
  found.events = trace.events;
  found.skipped = trace.skipped.count;
  lumos_trace_clear(&trace);
  lumos_strings_free(strings);
  lumos_input_close(input);
  return found;
}

/* A scan with a small window may skip what does not fit in it, but not otherwise. */
static void compare_windows(const char *path, size_t size, bool stacks) {
  const struct trace_scan_options large = {.stacks = stacks};
  const struct trace_scan_options small = {.stacks = stacks, .window = 4096, .window_limit = 1024 * 1024};
  struct found one = scan(path, &large);
  struct found other = scan(path, &small);
  if (size < 512 * 1024 && (one.good != other.good || one.recognised != other.recognised || one.host != other.host ||
                            one.device != other.device || one.sync != other.sync || one.events != other.events)) {
    fuzz_fail("the size of the window changes nothing", "the rows differ");
  }
}

enum { MOST_FILES = 4 };
#define SEPARATOR "\n\0\n"

static void expect_threads(const struct lumos_job *job) {
  for (size_t i = 0; i + 1 < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task[1].lane == task->lane && !lumos_on_stream(job, task) &&
        task->start + task->dur + task[1].lag != task[1].start) {
      fuzz_fail("a thread's task starts where the one before ends, and its lag later",
                lumos_string(job->strings, task[1].name));
    }
  }
}

/* With a list of the files in the place of their names, or with ranks or a run that is chosen, as its high bits say. */
static void parse(const char *const *paths, size_t count, uint8_t choice) {
  static const int32_t ranks[MOST_FILES] = {3, 0, 2, 1};
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_text list = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < count; i++) {
    lumos_text_format(&list, "%s\r\n", paths[i]);
  }
  struct fuzz_file file = fuzz_file(list.bytes, list.length);
  const char *lists[] = {file.path};
  bool listed = (choice & 128U) != 0, parsed = false;
  struct lumos_trace_options options = {
      .steps = choice % 3 == 0   ? LUMOS_STEPS_COMPLETE
               : choice % 3 == 1 ? LUMOS_STEPS_LAST
                                 : LUMOS_STEPS_RANGE,
      .first_step = choice / 16,
      .last_step = choice / 8,
      .stacks = (choice & 4U) != 0,
      .strict = (choice & 8U) != 0,
      .run = (choice & 16U) == 0   ? 0
             : (choice & 32U) != 0 ? LUMOS_RUN_LAST
                                   : 1,
      .ranks = (choice & 64U) == 0 ? ranks : NULL,
      .rank_count = (choice & 64U) == 0 ? count : 0,
      .lists = lists,
      .list_count = listed,
      .threads = 1,
  };
  struct lumos_job *job = (choice & 32U) != 0 ? lumos_trace_open(paths, listed ? 0 : count, &options, &parsed, &error)
                                              : lumos_trace_parse(paths, listed ? 0 : count, &options, &error);
  if (job == NULL) {
    fuzz_expect_reason(&error);
  } else {
    fuzz_expect_sound(job);
    expect_threads(job);
  }
  lumos_job_free(job);
  lumos_text_free(&list);
  (void)close(file.descriptor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_file files[MOST_FILES];
  const char *paths[MOST_FILES];
  size_t count = 0;
  for (size_t at = 1; at < size && count < MOST_FILES; count++) {
    const uint8_t *end = count + 1 < MOST_FILES ? memmem(data + at, size - at, SEPARATOR, sizeof SEPARATOR - 1) : NULL;
    size_t length = end == NULL ? size - at : (size_t)(end - (data + at));
    files[count] = fuzz_file(data + at, length);
    compare_windows(files[count].path, length, (data[0] & 4U) != 0);
    at += length + sizeof SEPARATOR - 1;
  }
  for (size_t i = 0; i < count; i++) {
    paths[i] = files[i].path;
  }
  if (count > 0) {
    parse(paths, count, data[0]);
  }
  for (size_t i = 0; i < count; i++) {
    (void)close(files[i].descriptor);
  }
  return 0;
}
