/* Fuzzer: any bytes as a selector, over one small job. It is refused with a reason, or chooses tasks: 0 or 1 for each,
 * as many as it says, the members of a collective together.
 */
#include "fuzz.h"

#include <lumos/transform.h>

enum { TASKS = 6 };

/* On a thread an op, a launch and a wait within a span; on a stream a product, and two members of one collective. */
static struct lumos_job *fixed_job(void) {
  static const struct {
    const char *name;
    uint8_t kind;
    uint32_t lane;
  } rows[TASKS] = {
      {"aten::mm", LUMOS_OP, 0},
      {"cudaLaunchKernel", LUMOS_LAUNCH, 0},
      {"cudaDeviceSynchronize", LUMOS_SYNC, 0},
      {"ampere_bf16_s16816gemm<int, 4>", LUMOS_GEMM, 1},
      {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", LUMOS_COLLECTIVE, 1},
      {"ncclDevKernel_AllReduce_Sum_bf16_TREE_LL", LUMOS_COLLECTIVE, 1},
  };
  struct lumos_job *job = lumos_job_new();
  struct lumos_rank rank = lumos_rank_empty;
  struct lumos_group group = lumos_group_empty;
  struct lumos_span span = lumos_span_empty;
  rank.rank = 3;
  group.rank = 0;
  span.rank = 0;
  group.id = lumos_intern_text(job->strings, "world@3");
  group.name = lumos_intern_text(job->strings, "default_pg");
  span.kind = LUMOS_SPAN_OP;
  span.name = lumos_intern_text(job->strings, "aten::linear");
  lumos_vector_push(&job->ranks, rank);
  lumos_vector_push(&job->groups, group);
  lumos_vector_push(&job->spans, span);
  for (int kind = LUMOS_THREAD; kind <= LUMOS_STREAM; kind++) {
    struct lumos_lane lane = lumos_lane_empty;
    lane.rank = 0;
    lane.kind = (uint8_t)kind;
    lane.native = lane.lane = lumos_intern_text(job->strings, kind == LUMOS_THREAD ? "t1" : "s7");
    lumos_vector_push(&job->lanes, lane);
  }
  for (uint32_t i = 0; i < TASKS; i++) {
    struct lumos_task task = lumos_task_empty;
    task.id = task.seq = i;
    task.lane = rows[i].lane;
    task.kind = rows[i].kind;
    task.name = lumos_intern_text(job->strings, rows[i].name);
    task.span = i < 2 ? 0 : LUMOS_NONE;
    task.call = i == 3 ? 1 : LUMOS_NONE;
    lumos_vector_push(&job->tasks, task);
    if (task.kind == LUMOS_COLLECTIVE) {
      lumos_task_detail(job, &job->tasks.items[i])->comm.group = group.id;
      lumos_vector_push(&job->members, i);
    }
  }
  struct lumos_collective collective = lumos_collective_empty;
  collective.member_count = (uint32_t)job->members.count;
  lumos_vector_push(&job->collectives, collective);
  return job;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_selector *selector = lumos_selector_parse((const char *)data, size, &error);
  if (selector == NULL) {
    fuzz_expect_reason(&error);
    return 0;
  }
  struct lumos_job *job = fixed_job();
  uint8_t chosen[TASKS];
  memset(chosen, 0x5A, sizeof chosen);
  size_t count = lumos_selector_apply(selector, job, chosen);
  size_t found = 0;
  for (size_t t = 0; t < TASKS; t++) {
    found += chosen[t] == 1;
    if (chosen[t] > 1) {
      fuzz_fail("every task is chosen or not", lumos_string(job->strings, job->tasks.items[t].name));
    }
  }
  if (found != count || chosen[TASKS - 1] != chosen[TASKS - 2]) {
    fuzz_fail("the count is that of the chosen; a collective is chosen whole", (const char[2]){(char)('0' + count), 0});
  }
  lumos_job_free(job);
  lumos_selector_free(selector);
  return 0;
}
