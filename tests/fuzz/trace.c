/* Fuzzer: the trace reader over any bytes but the first, which chooses options. Whatever it accepts is a sound job, in
 * which no time of a thread is lost; a small window gives the same rows as a large one.
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

static void parse(const char *path, uint8_t choice) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_trace_options options = {
      .steps = choice % 3 == 0   ? LUMOS_STEPS_COMPLETE
               : choice % 3 == 1 ? LUMOS_STEPS_LAST
                                 : LUMOS_STEPS_RANGE,
      .first_step = choice / 16,
      .last_step = choice / 8,
      .stacks = (choice & 4U) != 0,
      .strict = (choice & 8U) != 0,
  };
  struct lumos_job *job = lumos_trace_parse(&path, 1, &options, &error);
  if (job == NULL) {
    fuzz_expect_reason(&error);
    return;
  }
  fuzz_expect_sound(job);
  for (size_t i = 0; i + 1 < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task[1].lane == task->lane && !lumos_on_stream(job, task) &&
        task->start + task->dur + task[1].lag != task[1].start) {
      fuzz_fail("a thread's task starts where the one before ends, and its lag later",
                lumos_string(job->strings, task[1].name));
    }
  }
  lumos_job_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) {
    return 0;
  }
  struct fuzz_file file = fuzz_file(data + 1, size - 1);
  compare_windows(file.path, size, (data[0] & 4U) != 0);
  parse(file.path, data[0]);
  (void)close(file.descriptor);
  return 0;
}
