/* Every public set is parsed, passes its checks, and is the same after a way through the stream. The expected counts
 * are those that the sets' own description gives. Skipped where the traces are not at hand (environment LUMOS_TRACES).
 */
#include "base/input.h"
#include "property/damage.h"
#include "trace_text.h"
#include <dirent.h>
#include <sys/stat.h>

struct set {
  const char *path; /* below the folder of traces */
  int ranks;
  int communication[2]; /* least and most communication kernels of a rank */
};

static const struct set sets[] = {
    {"nanogpt-8xH100-ddp", 8, {76, 84}},
    {"megatron-tp2-V100", 2, {13, 13}},
    {"torchrec-4xV100-lateRank2", 4, {12, 13}},
    {"dlrm-8xV100", 8, {8, 8}},
    {"hta-cuda-sync-A100/alexnet-benchmark_result_2869224_1695835535_trace.json.gz", 1, {0, 0}},
    {"hta-cuda-sync-A100/cuda_event_sync-event_sync_trace.json.gz", 1, {0, 0}},
    {"hta-cuda-sync-A100/cuda_event_sync_multi_stream-event_sync_trace.json.gz", 1, {0, 0}},
    {"hta-nccl-params-A100", 1, {21, 21}},
    {"ao-vit-cudagraph-A100", 1, {0, 0}},
    {"ao-ep-moe-2xB200", 1, {30, 30}},
    {"tracelens-qwen-H100-vs-MI300/h100-Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 1, {0, 0}},
    {"tracelens-qwen-H100-vs-MI300/mi300-Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz", 1, {0, 0}},
    {"tracelens-resnet-8xMI300-rank0", 1, {17, 17}},
    {"kineto-tb-old-format", 1, {0, 0}},
    {"hta-cpu-only-gloo", 1, {0, 0}},
    {"hta-epoch-float-ts-V100", 1, {0, 0}},
    {"df-index-V100x2-216k", 1, {2020, 2020}},
    {"hta-diff-A100-8rank-109k", 1, {60, 60}},
    {"emulated-tp2pp2dp2", 8, {0, 1000}},
    {"emulated-pp4", 4, {0, 1000}},
    {"emulated-dp2", 2, {27, 27}},
};

static char *text_of(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_stream_write(job, &text);
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

/* Written, read, written again: the same bytes. */
static void expect_same_after_a_stream(const struct lumos_job *job) {
  struct lumos_error error = {LUMOS_DONE, ""};
  char *folder = unit_folder_new();
  char *path = unit_path(folder, "job.jsonl");
  char *text = text_of(job);
  unit_write_file(path, text, strlen(text));
  struct lumos_input *input = lumos_input_open(path, &error);
  assert_non_null(input);
  const struct lumos_read_options options = {.edited = false};
  struct lumos_job *again = lumos_stream_read(input, path, &options, &error);
  if (again == NULL) {
    fail_msg("%s", error.text);
  }
  char *text_again = text_of(again);
  assert_true(strcmp(text, text_again) == 0);
  lumos_job_free(again);
  lumos_input_close(input);
  free(text);
  free(text_again);
  free(path);
  unit_folder_remove(folder);
}

/* lag + dur along a thread give every start again. */
static void expect_exact_threads(const struct lumos_job *job) {
  for (size_t i = 0; i + 1 < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task[1].lane == task->lane && !lumos_on_stream(job, task)) {
      assert_int_equal(task->start + task->dur + task[1].lag, task[1].start);
    }
  }
}

static void expect_communication(const struct lumos_job *job, const struct set *set) {
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_rank *rank = &job->ranks.items[i];
    int count = 0;
    for (uint32_t t = 0; t < rank->task_count; t++) {
      count += lumos_is_communication(job->tasks.items[rank->task_first + t].kind);
    }
    assert_in_range(count, set->communication[0], set->communication[1]);
    assert_int_equal(rank->coverage.skipped, 0);
  }
}

static char *read_text(const char *path, size_t *length) {
  struct lumos_error error = {LUMOS_DONE, ""};
  char *text = lumos_input_slurp(path, (size_t)1 << 30U, length, &error);
  if (text == NULL) {
    fail_msg("%s", error.text);
  }
  return text;
}

/* How many events there are, counted without the reader. */
static int64_t count_events(const char *path) {
  size_t length = 0;
  char *text = read_text(path, &length);
  struct document document = take_apart(text, length);
  int64_t count = (int64_t)document.count;
  free_document(&document);
  return count;
}

/* Calls, each of which is one task or several. */
static int64_t count_calls(const struct lumos_job *job) {
  int64_t calls = 0;
  bool *earlier = calloc(job->tasks.count + 1, sizeof *earlier);
  assert_non_null(earlier);
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    uint32_t first = lumos_detail_of(job, task)->first_segment;
    for (uint32_t piece = first; first != LUMOS_NONE && piece < i; piece++) {
      earlier[piece] = earlier[piece] || job->tasks.items[piece].name == task->name;
    }
  }
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    calls += !lumos_on_stream(job, task) && task->kind != LUMOS_OP && !earlier[i];
  }
  free(earlier);
  return calls;
}

static void expect_sum_of_file(const char *folder, const char *name) {
  struct lumos_error error = {LUMOS_DONE, ""};
  char *path = unit_path(folder, name);
  const char *const paths[] = {path};
  const struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_job *job = lumos_trace_parse(paths, 1, &options, &error);
  assert_non_null(job);
  int64_t left = 0;
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    left += strcmp(string_of(job, note->code), "parse.left_out") == 0 ? note->count : 0;
  }
  int64_t kept = (int64_t)job->spans.count + (int64_t)job->memory.count + count_calls(job);
  for (size_t i = 0; i < job->tasks.count; i++) {
    kept += lumos_on_stream(job, &job->tasks.items[i]);
  }
  assert_int_equal(kept + left, count_events(path));
  lumos_job_free(job);
  free(path);
}

/* Every event of a file is a task or a span, or counted among those that are left out. */
static void no_event_vanishes(void **state) {
  (void)state;
  const char *folder = unit_traces();
  assert_non_null(folder);
  size_t files = 0;
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    char *path = unit_path(folder, sets[i].path);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    DIR *listing = S_ISDIR(about.st_mode) ? opendir(path) : NULL;
    if (listing == NULL) {
      expect_sum_of_file(folder, sets[i].path);
      files++;
    }
    const struct dirent *entry = NULL;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
      if (strstr(entry->d_name, ".json") != NULL && strcmp(entry->d_name, "truth.json") != 0) {
        expect_sum_of_file(path, entry->d_name);
        files++;
      }
    }
    if (listing != NULL) {
      (void)closedir(listing);
    }
    free(path);
  }
  print_message("%zu files\n", files);
  assert_true(files >= 40);
}

static struct lumos_job *parse_set(const char *folder, const struct set *set) {
  struct lumos_error error = {LUMOS_DONE, ""};
  char *path = unit_path(folder, set->path);
  const char *const paths[] = {path};
  const struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_job *job = lumos_trace_parse(paths, 1, &options, &error);
  free(path);
  bool good = job != NULL && lumos_job_check(job, &error);
  if (!good) {
    fail_msg("%s: %s", set->path, error.text);
  }
  return job;
}

static void every_set_is_parsed(void **state) {
  (void)state;
  const char *folder = unit_traces();
  assert_non_null(folder);
  for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
    struct lumos_job *job = parse_set(folder, &sets[i]);
    print_message("%-60.60s %2zu ranks %7zu tasks\n", sets[i].path, job->ranks.count, job->tasks.count);
    assert_int_equal(job->ranks.count, sets[i].ranks);
    expect_communication(job, &sets[i]);
    expect_exact_threads(job);
    expect_same_after_a_stream(job);
    lumos_job_free(job);
  }
}

/* Folders that hold several runs are refused, and each of the runs can be chosen. */
static void several_runs_are_told_apart(void **state) {
  (void)state;
  static const struct {
    const char *folder;
    int64_t runs;
  } folders[] = {{"hta-cuda-sync-A100", 3}, {"tracelens-qwen-H100-vs-MI300", 2}};
  const char *folder = unit_traces();
  assert_non_null(folder);
  for (size_t i = 0; i < 2; i++) {
    struct lumos_error error = {LUMOS_DONE, ""};
    char *path = unit_path(folder, folders[i].folder);
    const char *const paths[] = {path};
    struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
    assert_null(lumos_trace_parse(paths, 1, &options, &error));
    assert_int_equal(error.status, LUMOS_UNUSABLE);
    assert_non_null(strstr(error.text, "--run"));
    for (options.run = 1; options.run <= folders[i].runs; options.run++) {
      struct lumos_job *job = lumos_trace_parse(paths, 1, &options, &error);
      assert_non_null(job);
      assert_int_equal(job->ranks.count, 1);
      lumos_job_free(job);
    }
    assert_null(lumos_trace_parse(paths, 1, &options, &error));
    free(path);
  }
}

int main(void) {
  enum { CTEST_SKIPPED = 77 };
  if (unit_traces() == NULL) {
    (void)puts("SKIPPED: the public traces are not here (LUMOS_TRACES)");
    return CTEST_SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_set_is_parsed),
      cmocka_unit_test(no_event_vanishes),
      cmocka_unit_test(several_runs_are_told_apart),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
