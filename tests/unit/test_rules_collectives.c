/* The rules of collectives: each on traces of two or three ranks by hand, with every member, transfer, deviation and
 * simulated time listed, as recorded and after a change that only this rule passes on.
 *
 * All clocks agree: members of symmetric collectives end at the same instant unless it is said. Communication shows no
 * launch lag, so its start 2 us after the call is a residual.
 */
#include "rule_trace.h"

/* Traces are laid out with an event a line. */
/* clang-format off */

#define WORK_AND_LAUNCH(work, correlation) OP_ON(1, "work", 0, work) "," LAUNCH(1, correlation, work, 10)
#define GROUP(ranks, size) \
  ",\"Process Group Name\":\"g\",\"Group size\":" #size ",\"Process Group Ranks\":\"" ranks "\""
#define COMM(op, more) \
  ",\"Collective name\":\"" op "\",\"In msg nelems\":8,\"Out msg nelems\":8,\"dtype\":\"Float\"" more
#define NCCL(op, name, stream, correlation, ts, dur, more) \
  ON_DEVICE("kernel", "ncclDevKernel_" name, stream, correlation, ts, dur, COMM(op, more))
#define HOST(rank, work, ends)                               \
  rank "/work 0-" work " <- outside the recording, recorded\n"            \
  rank "/cudaLaunchKernel " work "-" ends " <- " rank "/work end, thread order, recorded\n"

/* --- Symmetric --- */

/* Rank 0 comes at 22, rank 1 at 52; both end at 70: the transfer takes 18. */
#define ALL_REDUCE(rank, work, starts, dur, more) \
  OF_RANK(rank, 2, WORK_AND_LAUNCH(work, 1) "," NCCL("allreduce", "AllReduce", 7, 1, starts, dur, GROUP("[0, 1]", 2) more ""))

static void expect_symmetric(const char *const *traces, const char *way, const char *evidence) {
  struct lumos_job *job = graph_of_ranks(traces, 2);
  char expected[1024];
  (void)snprintf(expected, sizeof expected,
      "0/ncclDevKernel_AllReduce, launched by 0/cudaLaunchKernel end +0, residual 2, end residual 0\n"
      "1/ncclDevKernel_AllReduce, launched by 1/cudaLaunchKernel end +0, residual 2, end residual 0\n"
      "boundary: 0 -> 0/work start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "symmetric all_reduce by %s: 0/ncclDevKernel_AllReduce 1/ncclDevKernel_AllReduce of 2, transfer 18\n", way);
  expect_graph(job, expected);
  (void)snprintf(expected, sizeof expected,
      HOST("0", "20", "30")
      "0/ncclDevKernel_AllReduce 32-110 <- 0/cudaLaunchKernel end, launch, recorded; end <- 1/ncclDevKernel_AllReduce start, collective, %s\n"
      HOST("1", "80", "90")
      "1/ncclDevKernel_AllReduce 92-110 <- 1/cudaLaunchKernel end, launch, recorded; end <- 1/ncclDevKernel_AllReduce start, collective, %s\n",
      evidence, evidence);
  expect_scaled_run(job, "name~work=2", expected);
  /* Both at once, and the transfer twice: 12 + 36. */
  (void)snprintf(expected, sizeof expected,
      HOST("0", "0", "10")
      "0/ncclDevKernel_AllReduce 12-48 <- 0/cudaLaunchKernel end, launch, recorded; end <- %s, collective, %s\n"
      HOST("1", "0", "10")
      "1/ncclDevKernel_AllReduce 12-48 <- 1/cudaLaunchKernel end, launch, recorded; end <- 1/ncclDevKernel_AllReduce start, collective, %s\n",
      "1/ncclDevKernel_AllReduce start", evidence, evidence);
  struct lumos_error error = {LUMOS_DONE, ""};
  assert_true(lumos_transform_scale(job, "name~work=0", &error));
  expect_scaled_run(job, "kind=collective=2", expected);
  lumos_job_free(job);
}

static void members_end_together_after_the_last_has_come(void **state) {
  (void)state;
  expect_symmetric((const char *const[]){ALL_REDUCE(0, 10, 22, 48, ",\"Seq\":4"), ALL_REDUCE(1, 40, 52, 18, ",\"Seq\":4")},
                   "seq", "recorded");
  expect_symmetric((const char *const[]){ALL_REDUCE(0, 10, 22, 48, ",\"Comms Id\":77"), ALL_REDUCE(1, 40, 52, 18, ",\"Comms Id\":77")},
                   "comms_id", "recorded");
}

/* Without numbers the order of ends joins them, where enough are alike. Of four, rank 1 is late for the first. */
#define ONE_OF_FOUR(correlation, launch, starts, dur) \
  LAUNCH(1, correlation, launch, 10) "," NCCL("allreduce", "AllReduce", 7, correlation, starts, dur, GROUP("[0, 1]", 2))

static void without_numbers_members_are_joined_by_the_order_of_their_ends(void **state) {
  (void)state;
  const char *const traces[] = {
      OF_RANK(0, 2, ONE_OF_FOUR(1, 0, 10, 90) "," ONE_OF_FOUR(2, 200, 210, 30) "," ONE_OF_FOUR(3, 500, 510, 30) ","
                    ONE_OF_FOUR(4, 900, 910, 30)),
      OF_RANK(1, 2, OP_ON(1, "work", 0, 60) "," ONE_OF_FOUR(1, 60, 70, 30) "," ONE_OF_FOUR(2, 200, 210, 30) ","
                    ONE_OF_FOUR(3, 500, 510, 30) "," ONE_OF_FOUR(4, 900, 910, 30))};
  struct lumos_job *job = graph_of_ranks(traces, 2);
  expect_graph(job,
      "0/cudaLaunchKernel@200, lag 190\n"
      "0/cudaLaunchKernel@500, lag 290\n"
      "0/cudaLaunchKernel@900, lag 390\n"
      "0/ncclDevKernel_AllReduce@10, launched by 0/cudaLaunchKernel@0 end +0, end residual 0\n"
      "0/ncclDevKernel_AllReduce@210, launched by 0/cudaLaunchKernel@200 end +0, end residual 0\n"
      "0/ncclDevKernel_AllReduce@510, launched by 0/cudaLaunchKernel@500 end +0, end residual 0\n"
      "0/ncclDevKernel_AllReduce@910, launched by 0/cudaLaunchKernel@900 end +0, end residual 0\n"
      "1/cudaLaunchKernel@200, lag 130\n"
      "1/cudaLaunchKernel@500, lag 290\n"
      "1/cudaLaunchKernel@900, lag 390\n"
      "1/ncclDevKernel_AllReduce@70, launched by 1/cudaLaunchKernel@60 end +0, end residual 0\n"
      "1/ncclDevKernel_AllReduce@210, launched by 1/cudaLaunchKernel@200 end +0, end residual 0\n"
      "1/ncclDevKernel_AllReduce@510, launched by 1/cudaLaunchKernel@500 end +0, end residual 0\n"
      "1/ncclDevKernel_AllReduce@910, launched by 1/cudaLaunchKernel@900 end +0, end residual 0\n"
      "boundary: 0 -> 0/cudaLaunchKernel@0 start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "symmetric all_reduce by order: 0/ncclDevKernel_AllReduce@10 1/ncclDevKernel_AllReduce@70 of 2, transfer 30\n"
      "symmetric all_reduce by order: 0/ncclDevKernel_AllReduce@210 1/ncclDevKernel_AllReduce@210 of 2, transfer 30\n"
      "symmetric all_reduce by order: 0/ncclDevKernel_AllReduce@510 1/ncclDevKernel_AllReduce@510 of 2, transfer 30\n"
      "symmetric all_reduce by order: 0/ncclDevKernel_AllReduce@910 1/ncclDevKernel_AllReduce@910 of 2, transfer 30\n");
  /* Rank 1 is 60 later at each. */
#define LAUNCHED_BY(launch, last) " <- " launch " end, launch, recorded; end <- " last " start, collective, ordered\n"
  expect_scaled_run(job, "name~work=2",
      "0/cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "0/cudaLaunchKernel@200 200-210 <- 0/cudaLaunchKernel@0 end, thread order, recorded\n"
      "0/cudaLaunchKernel@500 500-510 <- 0/cudaLaunchKernel@200 end, thread order, recorded\n"
      "0/cudaLaunchKernel@900 900-910 <- 0/cudaLaunchKernel@500 end, thread order, recorded\n"
      "0/ncclDevKernel_AllReduce@10 10-160" LAUNCHED_BY("0/cudaLaunchKernel@0", "1/ncclDevKernel_AllReduce@70")
      "0/ncclDevKernel_AllReduce@210 210-300" LAUNCHED_BY("0/cudaLaunchKernel@200", "1/ncclDevKernel_AllReduce@210")
      "0/ncclDevKernel_AllReduce@510 510-600" LAUNCHED_BY("0/cudaLaunchKernel@500", "1/ncclDevKernel_AllReduce@510")
      "0/ncclDevKernel_AllReduce@910 910-1000" LAUNCHED_BY("0/cudaLaunchKernel@900", "1/ncclDevKernel_AllReduce@910")
      "1/work 0-120 <- outside the recording, recorded\n"
      "1/cudaLaunchKernel@60 120-130 <- 1/work end, thread order, recorded\n"
      "1/cudaLaunchKernel@200 260-270 <- 1/cudaLaunchKernel@60 end, thread order, recorded\n"
      "1/cudaLaunchKernel@500 560-570 <- 1/cudaLaunchKernel@200 end, thread order, recorded\n"
      "1/cudaLaunchKernel@900 960-970 <- 1/cudaLaunchKernel@500 end, thread order, recorded\n"
      "1/ncclDevKernel_AllReduce@70 130-160" LAUNCHED_BY("1/cudaLaunchKernel@60", "1/ncclDevKernel_AllReduce@70")
      "1/ncclDevKernel_AllReduce@210 270-300" LAUNCHED_BY("1/cudaLaunchKernel@200", "1/ncclDevKernel_AllReduce@210")
      "1/ncclDevKernel_AllReduce@510 570-600" LAUNCHED_BY("1/cudaLaunchKernel@500", "1/ncclDevKernel_AllReduce@510")
      "1/ncclDevKernel_AllReduce@910 970-1000" LAUNCHED_BY("1/cudaLaunchKernel@900", "1/ncclDevKernel_AllReduce@910"));
  lumos_job_free(job);
}

/* --- Pair --- */

#define SEND(more) COMM("send", ",\"Dst Rank\":1" GROUP("[0, 1]", 2) more "")
#define RECEIVE(more) COMM("recv", ",\"Src Rank\":0" GROUP("[0, 1]", 2) more "")
#define P2P(rank, work, starts, dur, more) \
  OF_RANK(rank, 2, WORK_AND_LAUNCH(work, 1) "," \
          ON_DEVICE("kernel", "ncclDevKernel_SendRecv", 7, 1, starts, dur, more))

/* The sender comes at 22, the receiver at 52. They end at 70 and 71, so the transfer takes 19, and the sender is
 * through 1 us early. */
static void a_send_and_its_receive_end_together(void **state) {
  (void)state;
  const char *const traces[] = {P2P(0, 10, 22, 48, SEND(",\"Seq\":3")), P2P(1, 40, 52, 19, RECEIVE(",\"Seq\":3"))};
  struct lumos_job *job = graph_of_ranks(traces, 2);
  expect_graph(job,
      "0/ncclDevKernel_SendRecv, launched by 0/cudaLaunchKernel end +0, residual 2, end residual -1\n"
      "1/ncclDevKernel_SendRecv, launched by 1/cudaLaunchKernel end +0, residual 2, end residual 0\n"
      "boundary: 0 -> 0/work start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "pair send by seq: 0/ncclDevKernel_SendRecv 1/ncclDevKernel_SendRecv of 2, transfer 19\n");
#define SENT(rank, times) rank "/ncclDevKernel_SendRecv " times " <- " rank "/cudaLaunchKernel end, launch, recorded"
#define TIED(last, evidence) "; end <- " last "/ncclDevKernel_SendRecv start, collective, " evidence "\n"
  expect_scaled_run(job, "name~work=2",
      HOST("0", "20", "30") SENT("0", "32-110") TIED("1", "recorded")
      HOST("1", "80", "90") SENT("1", "92-111") TIED("1", "recorded"));
  /* Now the sender comes last, at 212. */
  expect_scaled_run(job, "rank=0,name~work=10",
      HOST("0", "200", "210") SENT("0", "212-230") TIED("0", "recorded")
      HOST("1", "80", "90") SENT("1", "92-231") TIED("0", "recorded"));
  lumos_job_free(job);
}

/* The sender has left at 30, before the receiver comes at 52: the message fits a buffer, and nobody waits for the
 * receiver. Without numbers transfers are joined by their order. */
static void a_small_send_leaves_at_once(void **state) {
  (void)state;
  const char *const traces[] = {P2P(0, 10, 22, 8, SEND("")), P2P(1, 40, 52, 19, RECEIVE(""))};
  struct lumos_job *job = graph_of_ranks(traces, 2);
  expect_graph(job,
      "0/ncclDevKernel_SendRecv, launched by 0/cudaLaunchKernel end +0, residual 2\n"
      "1/ncclDevKernel_SendRecv, launched by 1/cudaLaunchKernel end +0, residual 2, end residual 0\n"
      "boundary: 0 -> 0/work start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "rooted send by pair_order: 0/ncclDevKernel_SendRecv 1/ncclDevKernel_SendRecv of 2, root 0, transfer 19\n");
  expect_scaled_run(job, "name~work=2",
      HOST("0", "20", "30") SENT("0", "32-40") "\n"
      HOST("1", "80", "90") SENT("1", "92-111") TIED("1", "ordered"));
  expect_scaled_run(job, "rank=0,name~work=10",
      HOST("0", "200", "210") SENT("0", "212-220") "\n"
      HOST("1", "80", "90") SENT("1", "92-231") TIED("0", "ordered"));
  lumos_job_free(job);
}

/* --- Batched --- */

#define BATCH(rank, work, starts, dur, peers) \
  OF_RANK(rank, 3, WORK_AND_LAUNCH(work, 1) "," \
          NCCL("sendrecv", "SendRecv", 7, 1, starts, dur, GROUP("[0, 1, 2]", 3) ",\"Lumos peers\":\"" peers "\""))

/* Rank 1 receives from rank 0, which comes at 22, and sends to rank 2, which comes at 62; either takes 20. So it could
 * leave at 82, and does 3 later. */
static void a_batch_ends_with_the_last_of_its_transfers(void **state) {
  (void)state;
  const char *const traces[] = {BATCH(0, 10, 22, 20, "[[1,32,0]]"), BATCH(1, 5, 17, 68, "[[0,0,32],[2,32,0]]"),
                                BATCH(2, 50, 62, 20, "[[1,0,32]]")};
  struct lumos_job *job = graph_of_ranks(traces, 3);
  expect_graph(job,
      "0/ncclDevKernel_SendRecv, launched by 0/cudaLaunchKernel end +0, residual 2, end residual 0\n"
      "1/ncclDevKernel_SendRecv, launched by 1/cudaLaunchKernel end +0, residual 2, end residual 3\n"
      "2/ncclDevKernel_SendRecv, launched by 2/cudaLaunchKernel end +0, residual 2, end residual 0\n"
      "boundary: 0 -> 0/work start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "boundary: 0 -> 2/work start +0, recorded, fixed\n"
      "batched send_recv by pair_order: 0/ncclDevKernel_SendRecv 1/ncclDevKernel_SendRecv of 2, transfer 20\n"
      "batched send_recv by pair_order: 1/ncclDevKernel_SendRecv 2/ncclDevKernel_SendRecv of 2, transfer 20\n");
  expect_scaled_run(job, "rank=2,name~work=2",
      HOST("0", "10", "20") SENT("0", "22-42") TIED("0", "ordered")
      HOST("1", "5", "15") SENT("1", "17-135") TIED("2", "ordered")
      HOST("2", "100", "110") SENT("2", "112-132") TIED("2", "ordered"));
  expect_scaled_run(job, "rank=0,name~work=20",
      HOST("0", "200", "210") SENT("0", "212-232") TIED("0", "ordered")
      HOST("1", "5", "15") SENT("1", "17-235") TIED("0", "ordered")
      HOST("2", "100", "110") SENT("2", "112-132") TIED("2", "ordered"));
  lumos_job_free(job);
}

/* --- Rooted --- */

#define ROOTED(op, name, seq, launch, starts, dur) \
  LAUNCH(1, seq, launch, 10) "," NCCL(op, name, 7, seq, starts, dur, GROUP("[0, 1, 2]", 3) ",\"Seq\":" #seq)
/* Two operations a rank, and the host before, between and behind their launches. */
#define TWICE(rank, op, name, work, starts, dur, second, second_starts, second_dur) \
  OF_RANK(rank, 3, OP_ON(1, "work", 0, work) "," ROOTED(op, name, 1, work, starts, dur) "," \
                   ROOTED(op, name, 2, second, second_starts, second_dur))
#define HOST_TWICE(rank, work, first, ends, second, second_ends)                                                     \
  rank "/work 0-" work " <- outside the recording, recorded\n"                                                                    \
  rank "/cudaLaunchKernel@" first " " work "-" ends " <- " rank "/work end, thread order, recorded\n"                \
  rank "/cudaLaunchKernel@" second " " second_ends " <- " rank "/cudaLaunchKernel@" first " end, thread order, recorded\n"
#define RAN(rank, name, at, times, launch) \
  rank "/ncclDevKernel_" name "@" at " " times " <- " rank "/cudaLaunchKernel@" launch " end, launch, recorded"
#define UNTIL(rank, name, at) "; end <- " rank "/ncclDevKernel_" name "@" at " start, collective, recorded\n"

/* Rank 1 sends. First it comes at 50, when rank 2 has waited since 20 and goes on at 60; rank 0 comes at 100 and takes
 * 2 us more. Then it comes at 250 and is gone when rank 2 comes, so that rank 2 cannot be who sends. */
static void receivers_wait_for_who_sends_and_for_nobody_else(void **state) {
  (void)state;
  const char *const traces[] = {TWICE(0, "broadcast", "Broadcast", 90, 100, 12, 190, 200, 59),
                                TWICE(1, "broadcast", "Broadcast", 40, 50, 20, 240, 250, 10),
                                TWICE(2, "broadcast", "Broadcast", 10, 20, 40, 290, 300, 9)};
  struct lumos_job *job = graph_of_ranks(traces, 3);
  expect_graph(job,
      "0/cudaLaunchKernel@190, lag 90\n"
      "0/ncclDevKernel_Broadcast@100, launched by 0/cudaLaunchKernel@90 end +0, end residual 2\n"
      "0/ncclDevKernel_Broadcast@200, launched by 0/cudaLaunchKernel@190 end +0, end residual 0\n"
      "1/cudaLaunchKernel@240, lag 190\n"
      "1/ncclDevKernel_Broadcast@50, launched by 1/cudaLaunchKernel@40 end +0\n"
      "1/ncclDevKernel_Broadcast@250, launched by 1/cudaLaunchKernel@240 end +0\n"
      "2/cudaLaunchKernel@290, lag 270\n"
      "2/ncclDevKernel_Broadcast@20, launched by 2/cudaLaunchKernel@10 end +0, end residual 0\n"
      "2/ncclDevKernel_Broadcast@300, launched by 2/cudaLaunchKernel@290 end +0, end residual 0\n"
      "boundary: 0 -> 0/work start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "boundary: 0 -> 2/work start +0, recorded, fixed\n"
      "rooted broadcast by seq: 0/ncclDevKernel_Broadcast@100 1/ncclDevKernel_Broadcast@50 2/ncclDevKernel_Broadcast@20"
      " of 3, root 1, transfer 10\n"
      "rooted broadcast by seq: 0/ncclDevKernel_Broadcast@200 1/ncclDevKernel_Broadcast@250 2/ncclDevKernel_Broadcast@300"
      " of 3, root 1, transfer 9\n");
  /* Rank 2 is done at 60, long before rank 0 comes, and the sender keeps its own length. */
  expect_run(job,
      HOST_TWICE("0", "90", "90", "100", "190", "190-200")
      RAN("0", "Broadcast", "100", "100-112", "90") UNTIL("0", "Broadcast", "100")
      RAN("0", "Broadcast", "200", "200-259", "190") UNTIL("1", "Broadcast", "250")
      HOST_TWICE("1", "40", "40", "50", "240", "240-250")
      RAN("1", "Broadcast", "50", "50-70", "40") "\n"
      RAN("1", "Broadcast", "250", "250-260", "240") "\n"
      HOST_TWICE("2", "10", "10", "20", "290", "290-300")
      RAN("2", "Broadcast", "20", "20-60", "10") UNTIL("1", "Broadcast", "50")
      RAN("2", "Broadcast", "300", "300-309", "290") UNTIL("2", "Broadcast", "300"));
  /* Rank 1 comes at 130, and 80 later the second time. */
  expect_scaled_run(job, "rank=1,name~work=3",
      HOST_TWICE("0", "90", "90", "100", "190", "190-200")
      RAN("0", "Broadcast", "100", "100-142", "90") UNTIL("1", "Broadcast", "50")
      RAN("0", "Broadcast", "200", "200-339", "190") UNTIL("1", "Broadcast", "250")
      HOST_TWICE("1", "120", "40", "130", "240", "320-330")
      RAN("1", "Broadcast", "50", "130-150", "40") "\n"
      RAN("1", "Broadcast", "250", "330-340", "240") "\n"
      HOST_TWICE("2", "10", "10", "20", "290", "290-300")
      RAN("2", "Broadcast", "20", "20-140", "10") UNTIL("1", "Broadcast", "50")
      RAN("2", "Broadcast", "300", "300-339", "290") UNTIL("1", "Broadcast", "250"));
  lumos_job_free(job);
}

/* To rank 2, which is there at 20 and waits for rank 1, until 100, then for rank 0, until 400; who brings leaves when
 * it likes. */
static void who_receives_waits_for_all_and_the_others_for_nobody(void **state) {
  (void)state;
  const char *const traces[] = {TWICE(0, "reduce", "Reduce", 10, 20, 10, 390, 400, 10),
                                TWICE(1, "reduce", "Reduce", 90, 100, 10, 310, 320, 8),
                                TWICE(2, "reduce", "Reduce", 10, 20, 95, 310, 320, 92)};
  struct lumos_job *job = graph_of_ranks(traces, 3);
  expect_graph(job,
      "0/cudaLaunchKernel@390, lag 370\n"
      "0/ncclDevKernel_Reduce@20, launched by 0/cudaLaunchKernel@10 end +0\n"
      "0/ncclDevKernel_Reduce@400, launched by 0/cudaLaunchKernel@390 end +0\n"
      "1/cudaLaunchKernel@310, lag 210\n"
      "1/ncclDevKernel_Reduce@100, launched by 1/cudaLaunchKernel@90 end +0\n"
      "1/ncclDevKernel_Reduce@320, launched by 1/cudaLaunchKernel@310 end +0\n"
      "2/cudaLaunchKernel@310, lag 290\n"
      "2/ncclDevKernel_Reduce@20, launched by 2/cudaLaunchKernel@10 end +0, end residual 0\n"
      "2/ncclDevKernel_Reduce@320, launched by 2/cudaLaunchKernel@310 end +0, end residual 0\n"
      "boundary: 0 -> 0/work start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "boundary: 0 -> 2/work start +0, recorded, fixed\n"
      "rooted reduce by seq: 0/ncclDevKernel_Reduce@20 1/ncclDevKernel_Reduce@100 2/ncclDevKernel_Reduce@20"
      " of 3, root 2, transfer 15\n"
      "rooted reduce by seq: 0/ncclDevKernel_Reduce@400 1/ncclDevKernel_Reduce@320 2/ncclDevKernel_Reduce@320"
      " of 3, root 2, transfer 12\n");
  /* Rank 1 comes at 190, and then at 410, after rank 0. */
  expect_scaled_run(job, "rank=1,name~work=2",
      HOST_TWICE("0", "10", "10", "20", "390", "390-400")
      RAN("0", "Reduce", "20", "20-30", "10") "\n"
      RAN("0", "Reduce", "400", "400-410", "390") "\n"
      HOST_TWICE("1", "180", "90", "190", "310", "400-410")
      RAN("1", "Reduce", "100", "190-200", "90") "\n"
      RAN("1", "Reduce", "320", "410-418", "310") "\n"
      HOST_TWICE("2", "10", "10", "20", "310", "310-320")
      RAN("2", "Reduce", "20", "20-205", "10") UNTIL("1", "Reduce", "100")
      RAN("2", "Reduce", "320", "320-422", "310") UNTIL("1", "Reduce", "320"));
  lumos_job_free(job);
}

/* --- What stays on its own --- */

#define ALONE(rank, work, name, starts, dur, more)                                        \
  OF_RANK(rank, 2, WORK_AND_LAUNCH(work, 1) ","                                           \
          ON_DEVICE("kernel", name, 7, 1, starts, dur, more))

/* Rank 1 comes 40 later than it did, and rank 0 does not wait for it: both keep the length that they had. */
static void expect_lengths_kept(const char *const *traces, const char *name, const char *collective, const char *note) {
  struct lumos_job *job = graph_of_ranks(traces, 2);
  char expected[1024];
  (void)snprintf(expected, sizeof expected,
      "0/%s, launched by 0/cudaLaunchKernel end +0, residual 2\n"
      "1/%s, launched by 1/cudaLaunchKernel end +0, residual 2\n"
      "boundary: 0 -> 0/work start +0, recorded, fixed\n"
      "boundary: 0 -> 1/work start +0, recorded, fixed\n"
      "%s"
      "%s 1\n%s 1\n", name, name, collective, note, note);
  expect_graph(job, expected);
  (void)snprintf(expected, sizeof expected,
      HOST("0", "10", "20") "0/%s 22-142 <- 0/cudaLaunchKernel end, launch, recorded\n"
      HOST("1", "80", "90") "1/%s 92-182 <- 1/cudaLaunchKernel end, launch, recorded\n", name, name);
  expect_scaled_run(job, "rank=1,name~work=2", expected);
  lumos_job_free(job);
}

/* Nobody knows what these kernels do for each other, unless the profiler says it. */
static void kernels_of_other_libraries_are_not_joined_by_order(void **state) {
  (void)state;
  const char *const traces[] = {ALONE(0, 10, "deep_ep::dispatch", 22, 120, ""),
                                ALONE(1, 40, "deep_ep::dispatch", 52, 90, "")};
  expect_lengths_kept(traces, "deep_ep::dispatch", "", "graph.unjoined_collectives");
}

/* Rank 2 has no trace: what it was that rank 0 waited for is not known. */
static void members_without_a_trace_leave_waiting_as_it_was(void **state) {
  (void)state;
  const char *const traces[] = {
      ALONE(0, 10, "ncclDevKernel_AllReduce", 22, 120, COMM("allreduce", GROUP("[0, 1, 2]", 3) ",\"Seq\":4")),
      ALONE(1, 40, "ncclDevKernel_AllReduce", 52, 90, COMM("allreduce", GROUP("[0, 1, 2]", 3) ",\"Seq\":4"))};
  expect_lengths_kept(traces, "ncclDevKernel_AllReduce",
      "symmetric all_reduce by seq: 0/ncclDevKernel_AllReduce 1/ncclDevKernel_AllReduce of 3, transfer unknown\n",
      "graph.absent_members");
}

/* The profiler says that these belong together, three times. Rank 1 ends 0, 200 and 400 us after rank 0, so its clock
 * is taken to be 200 ahead, and two of three still end 200 apart: more than any do that wait for each other. */
#define DISPATCH(correlation, launch, starts, dur)  \
  LAUNCH(1, correlation, launch, 10) ","            \
  ON_DEVICE("kernel", "deep_ep::dispatch", 7, correlation, starts, dur, COMM("alltoall", GROUP("[0, 1]", 2) ",\"Seq\":" #correlation))

static void what_does_not_end_together_is_not_tied(void **state) {
  (void)state;
  const char *const traces[] = {
      OF_RANK(0, 2, DISPATCH(1, 0, 10, 100) "," DISPATCH(2, 1000, 1010, 100) "," DISPATCH(3, 2000, 2010, 100)),
      OF_RANK(1, 2, DISPATCH(1, 0, 10, 100) "," DISPATCH(2, 1000, 1010, 300) "," DISPATCH(3, 2000, 2010, 500))};
  struct lumos_job *job = graph_of_ranks(traces, 2);
  expect_graph(job,
      "0/cudaLaunchKernel@1000, lag 990\n"
      "0/cudaLaunchKernel@2000, lag 990\n"
      "0/deep_ep::dispatch@10, launched by 0/cudaLaunchKernel@0 end +0\n"
      "0/deep_ep::dispatch@1010, launched by 0/cudaLaunchKernel@1000 end +0\n"
      "0/deep_ep::dispatch@2010, launched by 0/cudaLaunchKernel@2000 end +0\n"
      "1/cudaLaunchKernel@1000, lag 990\n"
      "1/cudaLaunchKernel@2000, lag 990\n"
      "1/deep_ep::dispatch@10, launched by 1/cudaLaunchKernel@0 end +0\n"
      "1/deep_ep::dispatch@1010, launched by 1/cudaLaunchKernel@1000 end +0\n"
      "1/deep_ep::dispatch@2010, launched by 1/cudaLaunchKernel@2000 end +0\n"
      "boundary: 0 -> 0/cudaLaunchKernel@0 start +0, recorded, fixed\n"
      "boundary: 0 -> 1/cudaLaunchKernel@0 start +0, recorded, fixed\n"
      "graph.uncoupled_collectives 3\n"
      "graph.uncoupled_collectives 3\n");
  /* In job time rank 1 is 200 earlier. */
  expect_scaled_run(job, "rank=1,kind=collective=2",
      "0/cudaLaunchKernel@0 0-10 <- outside the recording, recorded\n"
      "0/cudaLaunchKernel@1000 1000-1010 <- 0/cudaLaunchKernel@0 end, thread order, recorded\n"
      "0/cudaLaunchKernel@2000 2000-2010 <- 0/cudaLaunchKernel@1000 end, thread order, recorded\n"
      "0/deep_ep::dispatch@10 10-110 <- 0/cudaLaunchKernel@0 end, launch, recorded\n"
      "0/deep_ep::dispatch@1010 1010-1110 <- 0/cudaLaunchKernel@1000 end, launch, recorded\n"
      "0/deep_ep::dispatch@2010 2010-2110 <- 0/cudaLaunchKernel@2000 end, launch, recorded\n"
      "1/cudaLaunchKernel@0 -200--190 <- outside the recording, recorded\n"
      "1/cudaLaunchKernel@1000 800-810 <- 1/cudaLaunchKernel@0 end, thread order, recorded\n"
      "1/cudaLaunchKernel@2000 1800-1810 <- 1/cudaLaunchKernel@1000 end, thread order, recorded\n"
      "1/deep_ep::dispatch@10 -190-10 <- 1/cudaLaunchKernel@0 end, launch, recorded\n"
      "1/deep_ep::dispatch@1010 810-1410 <- 1/cudaLaunchKernel@1000 end, launch, recorded\n"
      "1/deep_ep::dispatch@2010 1810-2810 <- 1/cudaLaunchKernel@2000 end, launch, recorded\n");
  lumos_job_free(job);
}

/* clang-format on */

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(members_end_together_after_the_last_has_come),
      cmocka_unit_test(without_numbers_members_are_joined_by_the_order_of_their_ends),
      cmocka_unit_test(a_send_and_its_receive_end_together),
      cmocka_unit_test(a_small_send_leaves_at_once),
      cmocka_unit_test(a_batch_ends_with_the_last_of_its_transfers),
      cmocka_unit_test(receivers_wait_for_who_sends_and_for_nobody_else),
      cmocka_unit_test(who_receives_waits_for_all_and_the_others_for_nobody),
      cmocka_unit_test(kernels_of_other_libraries_are_not_joined_by_order),
      cmocka_unit_test(members_without_a_trace_leave_waiting_as_it_was),
      cmocka_unit_test(what_does_not_end_together_is_not_tied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
