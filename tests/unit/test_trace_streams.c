/* Streams: order, overlaps, launches, what was launched before the recording, collectives, and what synchronisation
 * rows add to calls. */
#include "trace_text.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

#define DEVICE_ROW(category, name, device, stream, correlation, ts, dur, more)                                       \
  "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"pid\":" #device ",\"tid\":" #stream ",\"ts\":" #ts \
  ",\"dur\":" #dur ",\"args\":{\"device\":" #device ",\"stream\":" #stream ",\"correlation\":" #correlation more "}}"
#define SYNC(kind, correlation, stream, more)                                                                          \
  "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"" kind "\",\"pid\":0,\"tid\":" #stream                               \
  ",\"ts\":1,\"dur\":1,\"args\":{\"cuda_sync_kind\":\"" kind "\",\"stream\":" #stream ",\"correlation\":" #correlation \
  ",\"device\":0" more "}}"
#define ON_EVENT(stream, record, id) \
  ",\"wait_on_stream\":" #stream ",\"wait_on_cuda_event_record_corr_id\":" #record ",\"wait_on_cuda_event_id\":" #id

static const struct lumos_detail *detail_of(const struct lumos_job *job, const char *name, int n) {
  return lumos_detail_of(job, find_task(job, name, n));
}

/* The second kernel starts 2 us before the first ends. The third has no call: launched before the recording. */
static void streams_keep_order_and_overlap(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaLaunchKernel", 1, 10, 5) ","
      CALL("cudaLaunchKernel", 2, 16, 5) ","
      KERNEL("second", 7, 2, 28, 6) ","
      KERNEL("first", 7, 1, 20, 10) ","
      KERNEL("early", 7, 99, 0, 4) ","
      KERNEL("other", 12, 1, 21, 1)), NULL);
  expect_tasks(job, "t10 cudaLaunchKernel 10000+5000\n"
                    "t10 cudaLaunchKernel 16000+5000 lag 1000\n"
                    "s7 early 0+4000\n"
                    "s7 first 20000+10000\n"
                    "s7 second 28000+6000 lag -2000\n"
                    "s12 other 21000+1000\n");
  assert_int_equal(job->tasks.items[2].call, LUMOS_NONE);
  assert_int_equal(job->tasks.items[2].step, LUMOS_ABSENT_INT);
  assert_int_equal(job->tasks.items[3].call, 0);
  assert_int_equal(job->tasks.items[4].call, 1);
  assert_int_equal(job->tasks.items[5].call, 0);
  assert_int_equal(job->tasks.items[5].step, 0);
  const struct lumos_coverage *coverage = &job->ranks.items[0].coverage;
  assert_int_equal(coverage->events, 6);
  assert_int_equal(coverage->device_tasks, 4);
  assert_int_equal(coverage->launched, 3);
  assert_int_equal(coverage->opped, 0);
  assert_int_equal(coverage->before_recording, 1);
  assert_int_equal(job->ranks.items[0].base, 4000); /* the end of what was launched before */
  assert_int_equal(find_note(job, "parse.before_recording")->count, 1);
  lumos_job_free(job);
}

static void one_graph_launch_has_many_tasks(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      OP("replay", 0, 9) ","
      CALL("cudaGraphLaunch", 4, 2, 5) ","
      KERNEL("a", 7, 4, 10, 1) ","
      KERNEL("b", 7, 4, 12, 1) ","
      KERNEL("c", 8, 4, 11, 1)), NULL);
  const struct lumos_task *launch = find_task(job, "cudaGraphLaunch", 0);
  assert_int_equal(launch->kind, LUMOS_LAUNCH);
  for (int i = 0; i < 3; i++) {
    static const char *const names[] = {"a", "b", "c"};
    assert_int_equal(find_task(job, names[i], 0)->call, index_of(job, launch));
  }
  assert_int_equal(job->ranks.items[0].coverage.opped, 3);
  lumos_job_free(job);
}

/* An id that two calls have says of neither kernel which launched it: to guess may put a launch behind what waits for
 * its kernel. What a category that nobody knows says of a call is no second one. */
static void an_id_of_two_calls_tells_of_neither(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaLaunchKernel", 4, 2, 1) ","
      CALL("cudaLaunchKernel", 5, 4, 1) ","
      CALL("cudaLaunchKernel", 4, 6, 1) ","
      "{\"ph\":\"X\",\"cat\":\"mirror\",\"name\":\"launch\",\"pid\":1,\"tid\":10,\"ts\":4,\"dur\":1,"
      "\"args\":{\"correlation\":5}},"
      KERNEL("a", 7, 4, 10, 1) ","
      KERNEL("b", 7, 5, 12, 1) ","
      KERNEL("c", 7, 4, 14, 1)), NULL);
  assert_int_equal(find_task(job, "a", 0)->call, LUMOS_NONE);
  assert_int_not_equal(find_task(job, "b", 0)->call, LUMOS_NONE);
  assert_int_equal(find_task(job, "c", 0)->call, LUMOS_NONE);
  assert_int_equal(find_note(job, "parse.lost_calls")->count, 2);
  assert_int_equal(job->ranks.items[0].coverage.launched, 1);
  lumos_job_free(job);
}

/* What counts is the category: a Triton launcher has a stream among its arguments and is a host row all the same. */
static void categories_decide_what_is_on_a_device(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      EVENT("cpu_op", "triton_poi_fused_0", 10, 0, 5, "\"stream\":7,\"grid\":\"grid(1,)\"") ","
      DEVICE_ROW("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 1, 7, 8, 10, 2, ",\"bytes\":4096") ","
      DEVICE_ROW("gpu_memset", "Memset (Device)", 1, 7, 9, 20, 2, ",\"bytes\":-1") ","
      DEVICE_ROW("Kernel", "old", 0, 7, 9, 30, 2, ",\"est. achieved occupancy %\":37.5") ","
      "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy PtoP\",\"pid\":0,\"tid\":\"stream 9\",\"ts\":40,"
      "\"dur\":1,\"args\":{\"fromDevice\":1,\"inDevice\":0,\"stream\":9,\"bytes\":5}}"), NULL);
  assert_string_equal(string_of(job, job->lanes.items[0].lane), "t10");
  assert_string_equal(string_of(job, job->lanes.items[1].lane), "d0.s7");
  assert_string_equal(string_of(job, job->lanes.items[2].lane), "d1.s7");
  assert_string_equal(string_of(job, job->lanes.items[3].lane), "d0.s9");
  assert_string_equal(string_of(job, job->lanes.items[3].native), "9");
  assert_int_equal(detail_of(job, "Memcpy HtoD (Pinned -> Device)", 0)->bytes, 4096);
  assert_int_equal(detail_of(job, "Memset (Device)", 0)->bytes, LUMOS_ABSENT);
  assert_int_equal(lumos_timing_of(job, (uint32_t)(find_task(job, "old", 0) - job->tasks.items))->occupancy, 375000);
  assert_int_equal(find_task(job, "Memset (Device)", 0)->kind, LUMOS_MEMSET);
  assert_int_equal(find_task(job, "Memcpy PtoP", 0)->kind, LUMOS_COPY);
  lumos_job_free(job);
}

#define COLLECTIVE_ARGS                                                                                               \
  ",\"Collective name\":\"_allgather_base\",\"In msg nelems\":8,\"Out msg nelems\":16,\"Group "                       \
  "size\":2,\"dtype\":\"BFloat16\","                                                                                  \
  "\"Process Group Name\":\"5\",\"Process Group Description\":\"DATA_PARALLEL_GROUP\",\"Process Group Ranks\":\"[0, " \
  "4]\","                                                                                                             \
  "\"Seq\":255,\"Comms Id\":18446744073709551615"

static void collectives_say_what_was_recorded(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cuLaunchKernelEx", 3, 0, 5) ","
      DEVICE_ROW("kernel", "ncclDevKernel_AllGather_RING_LL(x)", 0, 20, 3, 9, 2, COLLECTIVE_ARGS)), NULL);
  const struct lumos_task *task = find_task(job, "ncclDevKernel_AllGather_RING_LL(x)", 0);
  const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
  assert_int_equal(task->kind, LUMOS_COLLECTIVE);
  assert_string_equal(string_of(job, comm->op), "all_gather");
  assert_string_equal(string_of(job, comm->group), "5");
  assert_string_equal(string_of(job, comm->id), "18446744073709551615");
  assert_string_equal(string_of(job, comm->dtype), "BFloat16");
  assert_int_equal(comm->seq, 255);
  assert_int_equal(comm->bytes, 32); /* the larger of 8 and 16 elements, two bytes each */
  assert_int_equal(comm->peer_count, 0);
  assert_int_equal(job->groups.count, 1);
  const struct lumos_group *group = &job->groups.items[0];
  assert_string_equal(string_of(job, group->name), "DATA_PARALLEL_GROUP");
  assert_int_equal(group->role, 0); /* that is for the graph to say */
  assert_int_equal(group->size, 2);
  assert_int_equal(group->member_count, 2);
  assert_int_equal(job->group_ranks.items[group->member_first + 1], 4);
  lumos_job_free(job);
}

/* Arguments on the op around the call, an annotation around it, or nothing but the kernel's name. */
static void collectives_fall_back(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      EVENT("cpu_op", "record_param_comms", 10, 0, 20, "\"x\":0" COLLECTIVE_ARGS) ","
      CALL("cudaLaunchKernel", 1, 5, 5) ","
      ANNOTATION("nccl:all_to_all", 30, 20) ","
      CALL("cudaLaunchKernel", 2, 35, 5) ","
      KERNEL("ncclKernel_AllGather_x", 7, 1, 11, 4) ","
      KERNEL("ncclDevKernel_SendRecv(x)", 7, 2, 41, 4) ","
      KERNEL("ncclDevKernel_SendRecv(y)", 7, 77, 1, 4) ","
      KERNEL("ncclDevKernel_Generic(x)", 7, 78, 6, 1) ","
      KERNEL("_combine_all_to_all_" "kernel", 7, 79, 8, 1) ","
      KERNEL("add", 7, 1, 16, 1)), NULL);
  const struct lumos_comm *inherited = &detail_of(job, "ncclKernel_AllGather_x", 0)->comm;
  assert_string_equal(string_of(job, inherited->op), "all_gather");
  assert_int_equal(inherited->bytes, 32);
  assert_string_equal(string_of(job, inherited->group), "5");
  assert_string_equal(string_of(job, detail_of(job, "ncclDevKernel_SendRecv(x)", 0)->comm.op), "all_to_all");
  assert_int_equal(find_task(job, "ncclDevKernel_SendRecv(x)", 0)->kind, LUMOS_COLLECTIVE);
  assert_string_equal(string_of(job, detail_of(job, "ncclDevKernel_SendRecv(y)", 0)->comm.op), "send_recv");
  assert_int_equal(find_task(job, "ncclDevKernel_SendRecv(y)", 0)->kind, LUMOS_P2P);
  assert_int_equal(detail_of(job, "ncclDevKernel_SendRecv(y)", 0)->comm.bytes, LUMOS_ABSENT);
  assert_string_equal(string_of(job, detail_of(job, "ncclDevKernel_Generic(x)", 0)->comm.op), "other");
  assert_int_equal(find_task(job, "_combine_all_to_all_kernel", 0)->kind, LUMOS_COLLECTIVE);
  assert_int_equal(find_task(job, "add", 0)->detail, LUMOS_NONE); /* launched beside the collective, is none */
  lumos_job_free(job);
}

#define P2P_ARGS(op, side, rank) \
  ",\"Collective name\":\"" op "\",\"In msg nelems\":4,\"Out msg nelems\":4,\"dtype\":\"Float\",\"" side "\":" #rank

static void peers_of_point_to_point(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      DEVICE_ROW("kernel", "ncclDevKernel_SendRecv(a)", 0, 7, 1, 0, 1, P2P_ARGS("send", "Dst Rank", 6)) ","
      DEVICE_ROW("kernel", "ncclDevKernel_SendRecv(b)", 0, 7, 2, 2, 1, P2P_ARGS("recv", "Src Rank", 3))), NULL);
  const struct lumos_comm *send = &detail_of(job, "ncclDevKernel_SendRecv(a)", 0)->comm;
  const struct lumos_comm *receive = &detail_of(job, "ncclDevKernel_SendRecv(b)", 0)->comm;
  assert_int_equal(send->peer_count, 1);
  assert_int_equal(job->peers.items[send->peer_first].rank, 6);
  assert_int_equal(job->peers.items[send->peer_first].send, 16);
  assert_int_equal(job->peers.items[send->peer_first].recv, 0);
  assert_int_equal(job->peers.items[receive->peer_first].rank, 3);
  assert_int_equal(job->peers.items[receive->peer_first].recv, 16);
  assert_int_equal(find_task(job, "ncclDevKernel_SendRecv(a)", 0)->kind, LUMOS_P2P);
  lumos_job_free(job);
}

#define P2P_OP(ts, op, side, rank) \
  EVENT("cpu_op", "record_param_comms", 10, ts, 4, "\"x\":0,\"Process Group Name\":\"9\",\"Group size\":4" P2P_ARGS(op, side, rank))

/* Batched, they are launched together behind their ops. What launches by itself is of no batch, and no batch is
 * launched twice. */
static void peers_of_batches(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      P2P_OP(0, "send", "Dst Rank", 5) ","
      ANNOTATION("nccl:send 0->5", 1, 3) ","
      CALL("cudaLaunchKernel", 1, 2, 1) ","
      P2P_OP(10, "send", "Dst Rank", 3) ","
      P2P_OP(15, "recv", "Src Rank", 3) ","
      P2P_OP(20, "recv", "Src Rank", 1) ","
      ANNOTATION("nccl:coalesced", 30, 8) ","
      CALL("cudaLaunchKernel", 2, 32, 2) ","
      ANNOTATION("nccl:coalesced", 40, 8) ","
      CALL("cudaLaunchKernel", 3, 42, 2) ","
      P2P_OP(50, "recv", "Src Rank", 1) ","
      ANNOTATION("nccl:coalesced", 55, 8) ","
      CALL("cudaLaunchKernel", 4, 57, 2) ","
      KERNEL("ncclDevKernel_SendRecv(alone)", 7, 1, 100, 4) ","
      KERNEL("ncclDevKernel_SendRecv(three)", 7, 2, 110, 4) ","
      KERNEL("ncclDevKernel_SendRecv(none)", 7, 3, 120, 4) ","
      KERNEL("ncclDevKernel_SendRecv(one)", 7, 4, 130, 4)), NULL);
  const struct lumos_comm *alone = &detail_of(job, "ncclDevKernel_SendRecv(alone)", 0)->comm;
  assert_string_equal(string_of(job, alone->op), "send");
  assert_int_equal(alone->peer_count, 1);
  assert_int_equal(job->peers.items[alone->peer_first].rank, 5);
  const struct lumos_comm *three = &detail_of(job, "ncclDevKernel_SendRecv(three)", 0)->comm;
  assert_string_equal(string_of(job, three->op), "send_recv");
  assert_string_equal(string_of(job, three->group), "9");
  assert_int_equal(three->bytes, 32); /* two are received, one is sent */
  assert_int_equal(three->peer_count, 2);
  const struct lumos_peer *peers = &job->peers.items[three->peer_first];
  assert_int_equal(peers[0].rank, 3);
  assert_int_equal(peers[0].send, 16);
  assert_int_equal(peers[0].recv, 16);
  assert_int_equal(peers[1].rank, 1);
  assert_int_equal(peers[1].send, 0);
  assert_int_equal(peers[1].recv, 16);
  const struct lumos_comm *none = &detail_of(job, "ncclDevKernel_SendRecv(none)", 0)->comm;
  assert_int_equal(none->peer_count, 0);
  assert_int_equal(none->bytes, LUMOS_ABSENT);
  const struct lumos_comm *one = &detail_of(job, "ncclDevKernel_SendRecv(one)", 0)->comm;
  assert_string_equal(string_of(job, one->op), "recv");
  assert_int_equal(one->peer_count, 1);
  assert_int_equal(job->peers.items[one->peer_first].recv, 16);
  lumos_job_free(job);
}

static void groups_of_the_metadata(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(
      "{\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":3,\"world_size\":8,\"nccl_version\":\"2.28.9\","
      "\"pg_config\":["
      "{\"pg_name\":\"0\",\"pg_desc\":\"default_pg\",\"pg_size\":8,\"ranks\":[0,1,2,3,4,5,6,7]},"
      "{\"pg_name\":\"1\",\"pg_desc\":\"TENSOR_MODEL_PARALLEL_GROUP\",\"pg_size\":2,\"ranks\":\"[2, 3]\"},"
      "{\"pg_name\":\"2\",\"pg_desc\":\"PIPELINE_MODEL_PARALLEL_GROUP\",\"pg_size\":4,\"ranks\":\"[1, 3, ..., 7]\"},"
      "{\"pg_name\":\"3\",\"pg_desc\":\"TENSOR_AND_DATA_PARALLEL_GROUP\",\"pg_size\":3,\"ranks\":[3]},"
      "{\"pg_name\":\"4\"},"
      "{\"pg_name\":\"5\",\"pg_size\":2,\"ranks\":[3,3]},"
      "{\"pg_name\":\"6\",\"pg_size\":2,\"ranks\":\"[2, 3, ...\"},"
      "{\"pg_name\":\"7\",\"ranks\":[3,1]}]},"
      "\"cuda_runtime_version\":12060,\"host_name\":\"node7\",\"deviceProperties\":["
      "{\"id\":0,\"name\":\"X\",\"numSms\":9},"
      "{\"id\":2,\"name\":\"NVIDIA H100\",\"numSms\":132,\"totalGlobalMem\":85028372480}],"
      "\"traceEvents\":[" DEVICE_ROW("kernel", "k", 2, 7, 1, 0, 1, "") "]}", NULL);
  const struct lumos_rank *rank = &job->ranks.items[0];
  assert_int_equal(rank->rank, 3);
  assert_int_equal(rank->world, 8);
  assert_string_equal(string_of(job, rank->nccl), "2.28.9");
  assert_string_equal(string_of(job, rank->cuda), "12.6");
  assert_string_equal(string_of(job, rank->host), "node7");
  assert_string_equal(string_of(job, rank->device_name), "NVIDIA H100");
  assert_int_equal(rank->device_sms, 132);
  assert_int_equal(rank->device_memory, INT64_C(85028372480));
  assert_string_equal(string_of(job, rank->source), "rank0.json");
  static const struct {
    const char *id;
    int size;
    unsigned members;
  } expected[] = {{"0", 8, 8},
                  {"1", 2, 2},
                  {"2", 4, 0},
                  {"3", 3, 0},
                  {"5", 2, 0},
                  {"6", 2, 0},
                  {"7", 2, 2}};
  assert_int_equal(job->groups.count, 7);
  for (size_t i = 0; i < 7; i++) {
    assert_string_equal(string_of(job, job->groups.items[i].id), expected[i].id);
    assert_int_equal(job->groups.items[i].size, expected[i].size);
    assert_int_equal(job->groups.items[i].member_count, expected[i].members);
  }
  lumos_job_free(job);
}

/* Without recorded synchronisation a call knows what its name says. */
static void calls_wait_as_their_names_say(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaStreamSynchronize", 1, 0, 1) ","
      CALL("cudaDeviceSynchronize", 2, 2, 1) ","
      CALL("cudaEventSynchronize", 3, 4, 1) ","
      CALL("cudaMemcpy", 4, 6, 1) ","
      CALL("cudaMemcpyAsync", 5, 8, 1) ","
      CALL("cudaEventRecordWithFlags", 6, 10, 1) ","
      CALL("cudaStreamWaitEvent", 7, 12, 1) ","
      CALL("cudaEventQuery", 8, 14, 1) ","
      CALL("hipMemcpyWithStream", 9, 16, 1)), NULL);
  static const int waits[] = {LUMOS_WAIT_STREAM, LUMOS_WAIT_DEVICE, LUMOS_WAIT_EVENT, LUMOS_WAIT_SELF, 0, 0, 0, 0,
                              LUMOS_WAIT_SELF};
  static const int events[] = {0, 0, 0, 0, 0, LUMOS_EVENT_RECORD, LUMOS_EVENT_WAIT, 0, 0};
  for (size_t i = 0; i < 9; i++) {
    const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[i]);
    assert_int_equal(detail->wait.on, waits[i]);
    assert_int_equal(detail->wait.lane, LUMOS_NONE);
    assert_int_equal(detail->event_op, events[i]);
  }
  lumos_job_free(job);
}

/* A copy to pageable memory blocks its call; to pinned memory, or from the host, it does not. */
static void a_copy_to_pageable_memory_blocks_its_call(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaMemcpyAsync", 1, 0, 9) ","
      CALL("cudaMemcpyAsync", 2, 10, 9) ","
      CALL("cudaMemcpyAsync", 3, 20, 9) ","
      DEVICE_ROW("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 0, 7, 1, 2, 3, "") ","
      DEVICE_ROW("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 0, 7, 2, 12, 3, "") ","
      DEVICE_ROW("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 0, 7, 3, 22, 3, "")), NULL);
  static const int waits[] = {LUMOS_WAIT_SELF, 0, 0};
  for (size_t i = 0; i < 3; i++) {
    assert_int_equal(lumos_detail_of(job, &job->tasks.items[i])->wait.on, waits[i]);
  }
  lumos_job_free(job);
}

/* Stream 8 waits for what stream 7 held when call 2 recorded event 4; so does the host in call 5. */
static void synchronisation_rows_say_who_waits(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      CALL("cudaLaunchKernel", 1, 0, 1) ","
      CALL("cudaEventRecord", 2, 2, 1) ","
      CALL("cudaStreamWaitEvent", 3, 4, 1) ","
      CALL("cudaLaunchKernel", 4, 6, 1) ","
      CALL("cudaEventSynchronize", 5, 8, 1) ","
      CALL("cudaEventQuery", 6, 10, 1) ","
      CALL("cudaStreamSynchronize", 7, 12, 1) ","
      CALL("cudaFree", 8, 14, 1) ","
      CALL("cudaEventSynchronize", 9, 16, 1) ","
      KERNEL("a", 7, 1, 3, 1) ","
      KERNEL("b", 8, 4, 9, 1) ","
      SYNC("Stream Wait Event", 3, 8, ON_EVENT(7, 2, 4)) ","
      SYNC("Event Sync", 5, -1, ON_EVENT(7, 2, 4)) ","
      SYNC("Event Sync", 6, -1, ON_EVENT(7, 2, 4)) ","
      SYNC("Stream Sync", 7, 8, "") ","
      SYNC("Context Sync", 8, 4294967295, "") ","
      SYNC("Event Sync", 9, -1, ON_EVENT(33, -1, 6)) ","
      SYNC("Stream Sync", 1234, 7, "") ","
      CALL("cudaStreamQuery", 10, 18, 1) ","
      SYNC("Stream Sync", 10, 8, "")), NULL);
  uint32_t s7 = 1;
  uint32_t s8 = 2;
  assert_string_equal(string_of(job, job->lanes.items[s8].lane), "s8");
  const struct lumos_detail *record = detail_of(job, "cudaEventRecord", 0);
  assert_int_equal(record->event_op, LUMOS_EVENT_RECORD);
  assert_int_equal(record->event_lane, s7);
  assert_string_equal(string_of(job, record->event_id), "4");
  const struct lumos_detail *wait = detail_of(job, "cudaStreamWaitEvent", 0);
  assert_int_equal(wait->event_op, LUMOS_EVENT_WAIT);
  assert_int_equal(wait->event_lane, s8);
  assert_int_equal(wait->wait.on, LUMOS_WAIT_EVENT);
  assert_int_equal(wait->wait.lane, s7);
  assert_int_equal(wait->wait.record, 1);
  const struct lumos_detail *blocked = detail_of(job, "cudaEventSynchronize", 0);
  assert_int_equal(blocked->event_op, 0);
  assert_int_equal(blocked->wait.on, LUMOS_WAIT_EVENT);
  assert_int_equal(blocked->wait.lane, s7);
  assert_int_equal(blocked->wait.record, 1);
  assert_int_equal(detail_of(job, "cudaEventQuery", 0)->wait.on, 0);
  assert_int_equal(detail_of(job, "cudaStreamSynchronize", 0)->wait.lane, s8);
  assert_int_equal(detail_of(job, "cudaFree", 0)->wait.on, LUMOS_WAIT_DEVICE);
  assert_int_equal(detail_of(job, "cudaStreamQuery", 0)->wait.on, 0);
  const struct lumos_detail *unknown = detail_of(job, "cudaEventSynchronize", 1);
  assert_int_equal(unknown->wait.on, LUMOS_WAIT_EVENT);
  assert_int_equal(unknown->wait.lane, LUMOS_NONE); /* no work on stream 33 */
  assert_int_equal(unknown->wait.record, LUMOS_NONE);
  lumos_job_free(job);
}

/* Ids rise with time, so a row whose id is above a recorded call's was launched after it, though its own call is
 * missing: it is no work from before the recording, and the first step does not begin with its end. */
static void a_lost_call_has_the_step_of_the_one_before(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(
      ANNOTATION("ProfilerStep#7", 10, 40) ","
      ANNOTATION("ProfilerStep#8", 50, 40) ","
      CALL("cudaLaunchKernel", 20, 12, 5) ","
      CALL("cudaLaunchKernel", 30, 52, 5) ","
      CALL("cudaLaunchKernel", 40, 95, 1) ","
      KERNEL("early", 7, 9, 11, 4) ","
      KERNEL("first", 7, 20, 20, 10) ","
      KERNEL("lost", 9, 25, 44, 4) ","
      KERNEL("last", 7, 30, 60, 5) ","
      KERNEL("lost too", 9, 31, 66, 5)), NULL);
  assert_int_equal(find_task(job, "early", 0)->step, LUMOS_ABSENT_INT);
  assert_int_equal(find_task(job, "lost", 0)->step, 7);
  assert_int_equal(find_task(job, "lost", 0)->call, LUMOS_NONE);
  assert_int_equal(find_task(job, "lost too", 0)->step, 8);
  const struct lumos_coverage *coverage = &job->ranks.items[0].coverage;
  assert_int_equal(coverage->device_tasks, 5);
  assert_int_equal(coverage->launched, 2);
  assert_int_equal(coverage->before_recording, 1);
  assert_int_equal(job->ranks.items[0].base, 5000); /* 15 us, counted from the first row at 10 us */
  assert_int_equal(find_note(job, "parse.lost_calls")->count, 2);
  lumos_job_free(job);
}

/* An id that says nothing does not make a kernel work from before the recording: behind launches of its stream it has
 * the step of the one before it, and the first step begins where it began. */
static void a_kernel_without_an_id_moves_no_step(void **state) {
  (void)state;
  static const char *const ids[] = {"", ",\"correlation\":null", ",\"correlation\":0", ",\"correlation\":-1",
                                    ",\"correlation\":NaN", ",\"correlation\":99999999999999999999",
                                    ",\"correlation\":4294967295", ",\"correlation\":\"none\"", ",\"correlation\":3"};
  for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_put(&text, "{\"traceEvents\":["
        ANNOTATION("ProfilerStep#7", 10, 40) ","
        ANNOTATION("ProfilerStep#8", 50, 40) ","
        CALL("cudaLaunchKernel", 20, 12, 5) ","
        CALL("cudaLaunchKernel", 30, 52, 5) ","
        CALL("cudaLaunchKernel", 40, 95, 1) ","
        KERNEL("early", 7, 9, 11, 3) ","
        KERNEL("first", 7, 20, 20, 10) ","
        KERNEL("last", 7, 30, 60, 5) ",");
    lumos_text_format(&text, "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"odd\",\"pid\":0,\"tid\":7,\"ts\":70,"
                             "\"dur\":9,\"args\":{\"device\":0,\"stream\":7%s}}]}", ids[i]);
    lumos_text_add(&text, "", 1);
    struct lumos_job *job = parse_good(text.bytes, NULL);
    lumos_text_free(&text);
    const struct lumos_coverage *coverage = &job->ranks.items[0].coverage;
    assert_int_equal(find_task(job, "odd", 0)->step, 8);
    assert_int_equal(find_task(job, "odd", 0)->call, LUMOS_NONE);
    assert_int_equal(job->ranks.items[0].base, 4000); /* the end of "early", 14 us, counted from the first row at 10 us */
    assert_int_equal(coverage->before_recording, 1);
    assert_int_equal(find_note(job, "parse.lost_calls")->count, 1);
    assert_int_equal(find_note(job, "parse.lost_calls")->level, LUMOS_WARNING);
    lumos_job_free(job);
  }
}

/* The first launch of the recording is lost: what an idle device starts behind the first recorded call was not waiting
 * since before the recording. A collective may have been, if its id says so. */
static void a_lost_first_call_moves_no_step(void **state) {
  (void)state;
#define FIRST_IS(kernel) TRACE(                 \
      ANNOTATION("ProfilerStep#7", 10, 400) "," \
      OP("aten::mm", 12, 9) ","                 \
      CALL("cudaEventQuery", 18, 14, 1) ","     \
      CALL("cudaLaunchKernel", 20, 100, 5) ","  \
      kernel "," KERNEL("second", 7, 20, 120, 10) "," OP("tail", 500, 1))
  struct lumos_job *job = parse_good(FIRST_IS(KERNEL("first", 7, 16, 30, 80)), NULL);
  assert_int_equal(find_task(job, "first", 0)->step, 7);
  assert_int_equal(job->ranks.items[0].base, 2000);
  assert_int_equal(job->ranks.items[0].coverage.before_recording, 0);
  assert_int_equal(find_note(job, "parse.lost_calls")->count, 1);
  lumos_job_free(job);
  job = parse_good(FIRST_IS(KERNEL("ncclDevKernel_SendRecv(x)", 20, 16, 30, 60)), NULL);
  assert_int_equal(job->ranks.items[0].coverage.before_recording, 1);
  assert_int_equal(job->ranks.items[0].base, 80000);
  lumos_job_free(job);
  job = parse_good(FIRST_IS(KERNEL("backlog", 9, 15, 11, 50) "," KERNEL("beside it", 8, 16, 60, 30)), NULL);
  assert_int_equal(job->ranks.items[0].coverage.before_recording, 2); /* the device had work in hand all the time */
  assert_int_equal(job->ranks.items[0].base, 80000);
  lumos_job_free(job);
}

/* A recording of the device alone is one step. */
static void devices_alone_are_step_0(void **state) {
  (void)state;
  struct lumos_job *job = parse_good(TRACE(KERNEL("a", 7, 1, 100, 5) "," KERNEL("b", 7, 2, 110, 5)), NULL);
  assert_int_equal(job->tasks.items[1].step, 0);
  assert_int_equal(job->ranks.items[0].base, 0);
  assert_int_equal(job->ranks.items[0].coverage.before_recording, 0);
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(streams_keep_order_and_overlap),
      cmocka_unit_test(one_graph_launch_has_many_tasks),
      cmocka_unit_test(an_id_of_two_calls_tells_of_neither),
      cmocka_unit_test(categories_decide_what_is_on_a_device),
      cmocka_unit_test(collectives_say_what_was_recorded),
      cmocka_unit_test(collectives_fall_back),
      cmocka_unit_test(peers_of_point_to_point),
      cmocka_unit_test(peers_of_batches),
      cmocka_unit_test(groups_of_the_metadata),
      cmocka_unit_test(calls_wait_as_their_names_say),
      cmocka_unit_test(a_copy_to_pageable_memory_blocks_its_call),
      cmocka_unit_test(synchronisation_rows_say_who_waits),
      cmocka_unit_test(a_lost_call_has_the_step_of_the_one_before),
      cmocka_unit_test(a_kernel_without_an_id_moves_no_step),
      cmocka_unit_test(a_lost_first_call_moves_no_step),
      cmocka_unit_test(devices_alone_are_step_0),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
