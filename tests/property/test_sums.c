/* Property: whatever a trace says, what is told of it adds up: no check of a sum fails, in the simulation of a trace
 * and of a change to it.
 *
 * Random traces of one to three ranks, which no program could have left: kernels within kernels on a stream, kernels
 * that nothing launched, launches of nothing, one launch of several kernels, waits for whatever is there, collectives
 * of some ranks only, steps that cut through all of it.
 *
 * LUMOS_SEED chooses other traces.
 */
#include "unit/trace_files.h"

#include <lumos/sim.h>
#include <lumos/transform.h>
#include <unistd.h>

enum { TRIALS = 400, MOST_RANKS = 3, MOST_ROWS = 14, LENGTH = 4000 };

static uint64_t random_state;

static int64_t pick(int64_t bound) { /* 0 .. bound - 1; xorshift */
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return (int64_t)(random_state >> 11) % bound;
}

/* Mostly short, some longer than all steps, some of no length. */
static int64_t any_length(void) {
  int64_t what = pick(8);
  return what == 0 ? pick(4 * LENGTH) : what == 1 ? 0 : pick(LENGTH / 10);
}

static void add_row(struct lumos_text *text, const char *category, const char *name, int64_t thread, int64_t start,
                    int64_t length) {
  lumos_text_format(
      text, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d.%03d,\"dur\":%d", category,
      name, category[0] == 'k' || category[0] == 'g', (int)thread, (int)start, (int)pick(1000), (int)length);
}

static void add_marks(struct lumos_text *text) {
  int64_t start = pick(300);
  for (int64_t step = pick(3), count = pick(5); count > 0; step++, count--) {
    char name[32];
    int64_t length = 50 + pick(LENGTH / 4);
    (void)snprintf(name, sizeof name, "ProfilerStep#%d", (int)step);
    add_row(text, "user_annotation", name, 10, start, length);
    lumos_text_put(text, "}");
    start += length + pick(2) * pick(100);
  }
}

static void add_call(struct lumos_text *text) {
  static const char *const names[] = {"cudaLaunchKernel",      "cudaLaunchKernel",    "cudaMemcpyAsync",
                                      "cudaDeviceSynchronize", "cudaEventRecord",     "cudaStreamWaitEvent",
                                      "cudaStreamSynchronize", "cudaEventSynchronize"};
  if (pick(4) == 0) {
    add_row(text, "cpu_op", "aten::mm", 10 + pick(2), pick(LENGTH), any_length());
    lumos_text_put(text, "}");
    return;
  }
  add_row(text, "cuda_runtime", names[pick(sizeof names / sizeof *names)], 10 + pick(2), pick(LENGTH), pick(60));
  lumos_text_format(text, ",\"args\":{\"correlation\":%d,\"stream\":%d,\"event\":%d}}", (int)pick(MOST_ROWS) + 1,
                    7 + (int)pick(3), (int)pick(2));
}

static void add_kernel(struct lumos_text *text, int ranks) {
  static const char *const names[] = {"sgemm", "vectorized_elementwise_kernel", "ncclDevKernel_AllReduce_Sum_f32_RING"};
  int64_t what = pick(5);
  int64_t stream = 7 + pick(3);
  if (what > 2) {
    add_row(text, what == 3 ? "gpu_memcpy" : "gpu_memset", "Memcpy HtoD (Pageable -> Device)", stream, pick(LENGTH),
            any_length());
  } else {
    add_row(text, "kernel", names[what], stream, pick(LENGTH), any_length());
  }
  lumos_text_format(text, ",\"args\":{\"device\":0,\"stream\":%d,\"correlation\":%d", (int)stream,
                    (int)pick(MOST_ROWS) + (pick(3) == 0 ? 1000 : 1));
  if (what == 2) {
    lumos_text_format(
        text,
        ",\"Collective name\":\"allreduce\",\"In msg nelems\":64,\"Out msg nelems\":64,"
        "\"Group size\":%d,\"dtype\":\"Float\",\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[%s]\"",
        ranks,
        ranks == 1   ? "0"
        : ranks == 2 ? "0, 1"
                     : "0, 1, 2");
  }
  lumos_text_put(text, "}}");
}

static void write_trace(struct lumos_text *text, int rank, int ranks) {
  lumos_text_format(text,
                    "{\"schemaVersion\":1,\"baseTimeNanoseconds\":1700000000000000000,\"distributedInfo\":{\"backend\":"
                    "\"nccl\",\"rank\":%d,\"world_size\":%d},\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":"
                    "\"t\",\"pid\":0,\"tid\":0,\"ts\":0,\"dur\":9}",
                    rank, ranks);
  add_marks(text);
  for (int64_t rows = pick(MOST_ROWS); rows > 0; rows--) {
    add_call(text);
  }
  for (int64_t rows = pick(MOST_ROWS); rows > 0; rows--) {
    add_kernel(text, ranks);
  }
  lumos_text_put(text, "]}");
  lumos_text_char(text, '\0');
}

/* NULL where nothing of the traces can be used. */
static struct lumos_job *random_traces(const char *folder) {
  struct lumos_error error = {LUMOS_DONE, ""};
  const struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE, .threads = 1};
  int ranks = 1 + (int)pick(MOST_RANKS);
  char *paths[MOST_RANKS];
  for (int rank = 0; rank < ranks; rank++) {
    char name[32];
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    (void)snprintf(name, sizeof name, "rank%d.json", rank);
    write_trace(&text, rank, ranks);
    paths[rank] = unit_path(folder, name);
    unit_write_file(paths[rank], text.bytes, strlen(text.bytes));
    lumos_text_free(&text);
  }
  struct lumos_job *job = lumos_trace_parse((const char *const *)paths, (size_t)ranks, &options, &error);
  for (int rank = 0; rank < ranks; rank++) {
    free(paths[rank]);
  }
  return job;
}

/* False where the job cannot run at all, as in a deadlock. */
static bool simulate(struct lumos_job *job, uint64_t trial) {
  struct lumos_error error = {LUMOS_DONE, ""};
  if (!lumos_simulate(job, &error)) {
    return false;
  }
  const struct lumos_note *note = find_note(job, "sim.check_failed");
  if (note != NULL) {
    fail_msg("trial %llu: %s", (unsigned long long)trial, string_of(job, note->text));
  }
  return true;
}

static void change_and_simulate(struct lumos_job *job, uint64_t trial) {
  static const char *const changes[] = {"host=0", "host=3", "device=0", "kind=gemm=2.5", "kind=collective=0"};
  struct lumos_error error = {LUMOS_DONE, ""};
  if (lumos_transform_scale(job, changes[pick(sizeof changes / sizeof *changes)], &error)) {
    (void)simulate(job, trial);
  }
}

static void whatever_a_trace_says_adds_up(void **state) {
  (void)state;
  const char *seed = getenv("LUMOS_SEED");
  uint64_t first = seed == NULL ? 1 : strtoull(seed, NULL, 10);
  char *folder = unit_folder_new();
  int simulated = 0;
  for (uint64_t trial = first; trial < first + TRIALS; trial++) {
    random_state = trial * UINT64_C(0x9E3779B97F4A7C15);
    struct lumos_job *job = random_traces(folder);
    if (job != NULL && simulate(job, trial)) {
      simulated++;
      change_and_simulate(job, trial);
    }
    lumos_job_free(job);
  }
  unit_folder_remove(folder);
  print_message("%d of %d traces were simulated\n", simulated, TRIALS);
  assert_true(2 * simulated > TRIALS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(whatever_a_trace_says_adds_up)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
