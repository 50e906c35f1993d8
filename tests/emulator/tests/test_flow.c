/* Nobody waits for ever: programs are carried out without times, streams in order, waits for events, collectives for
 * their members and messages for their counterparts; hosts run ahead until the program has them wait for their device.
 * With every schedule, batched or not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpt.h"
#include "program_text.h"

enum { MOST_RANKS = 16, MOST_COMMUNICATORS = 64 };

/* What a stream is to do. */
struct item {
  enum { ITEM_COLLECTIVE, ITEM_P2P, ITEM_RECORD, ITEM_WAIT } kind;
  int number;  /* record; of a collective: its count on the rank */
  bool posted; /* of communication: it has begun */
  struct message message;
  int places[MOST_P2P]; /* in the queue of its pair */
};
struct queue {
  struct item *items;
  size_t begin, end, room;
};

struct rank_state {
  struct queue streams[STREAMS];
  int latest[MOST_EVENTS]; /* record; 0: none */
  int records;
  bool *recorded; /* [record] */
  size_t record_room;
  int collectives[MOST_COMMUNICATORS];
  bool synchronises, ended;
};

struct flow {
  struct setup setup;
  struct gpt *gpt;
  struct software software;
  struct reader reader;
  const struct communicator *communicators;
  int reading; /* the rank */
  struct rank_state ranks[MOST_RANKS];
  int *arrived[MOST_COMMUNICATORS]; /* [count of the collective] */
  int arrived_room[MOST_COMMUNICATORS];
  int sent[MOST_RANKS][MOST_RANKS], received[MOST_RANKS][MOST_RANKS]; /* posted, [source][destination] */
};

static void *grow(void *array, size_t *room, size_t wanted, size_t size) {
  size_t before = *room;
  while (*room < wanted)
    *room = *room ? 2 * *room : 64;
  if (*room == before)
    return array;
  char *larger = realloc(array, *room * size);
  assert_non_null(larger);
  memset(larger + before * size, 0, (*room - before) * size);
  return larger;
}

static void enqueue(struct queue *queue, struct item item) {
  queue->items = grow(queue->items, &queue->room, queue->end + 1, sizeof *queue->items);
  queue->items[queue->end++] = item;
}

static void enqueue_work(struct rank_state *rank, int stream, const struct work *work) {
  if (!work->message)
    return; /* runs in no time */
  struct item item = {.kind = work->kind == WORK_P2P ? ITEM_P2P : ITEM_COLLECTIVE, .message = *work->message};
  if (item.kind == ITEM_COLLECTIVE)
    item.number = rank->collectives[item.message.communicator]++;
  enqueue(&rank->streams[stream], item);
}

static void take(void *self, enum thread thread, const struct instruction *instruction, const struct work *work) {
  (void)thread;
  struct flow *flow = self;
  struct rank_state *rank = &flow->ranks[flow->reading];
  struct queue *stream = &rank->streams[instruction->stream % STREAMS];
  switch ((enum instruction_kind)instruction->kind) {
    case DO_LAUNCH:
      enqueue_work(rank, instruction->stream, work);
      break;
    case DO_RECORD:
      rank->latest[instruction->event] = ++rank->records;
      rank->recorded = grow(rank->recorded, &rank->record_room, (size_t)rank->records + 1, sizeof *rank->recorded);
      enqueue(stream, (struct item){.kind = ITEM_RECORD, .number = rank->records});
      break;
    case DO_WAIT:
      enqueue(stream, (struct item){.kind = ITEM_WAIT, .number = rank->latest[instruction->event]});
      break;
    case DO_SYNC_STREAM:
    case DO_SYNC_DEVICE:
    case DO_SYNC_EVENT:
      rank->synchronises = true;
      break;
    case DO_ENTER:
    case DO_LEAVE:
    case DO_SPEND:
    case DO_SLEEP:
    case DO_QUERY:
    case DO_CALL:
    case DO_POST:
    case DO_AWAIT:
    case DO_STEP:
    case DO_PROFILE:
    case DO_ALLOCATE:
    case DO_SKIP:
    case DO_LAUNCH_GRAPH: /* what it launches follows */
      break;
  }
}

/* ---- carrying out ---- */

static bool collective_over(struct flow *flow, struct item *item) {
  int index = item->message.communicator;
  size_t room = (size_t)flow->arrived_room[index];
  flow->arrived[index] = grow(flow->arrived[index], &room, (size_t)item->number + 1, sizeof **flow->arrived);
  flow->arrived_room[index] = (int)room;
  if (!item->posted)
    flow->arrived[index][item->number]++;
  item->posted = true;
  return flow->arrived[index][item->number] == flow->communicators[index].size;
}

/* The n-th message from one rank to another is received by the n-th receive. */
static bool messages_over(struct flow *flow, int rank, struct item *item) {
  bool over = true;
  for (int i = 0; i < item->message.parts; i++) {
    const struct p2p *part = &item->message.part[i];
    int *own = part->send ? &flow->sent[rank][part->peer] : &flow->received[part->peer][rank];
    const int *other = part->send ? &flow->received[rank][part->peer] : &flow->sent[part->peer][rank];
    if (!item->posted)
      item->places[i] = (*own)++;
    over = over && *other > item->places[i];
  }
  item->posted = true;
  return over;
}

static bool is_over(struct flow *flow, int index, struct item *item) {
  struct rank_state *rank = &flow->ranks[index];
  switch (item->kind) {
    case ITEM_COLLECTIVE:
      return collective_over(flow, item);
    case ITEM_P2P:
      return messages_over(flow, index, item);
    case ITEM_RECORD:
      rank->recorded[item->number] = true;
      return true;
    case ITEM_WAIT:
      return !item->number || rank->recorded[item->number];
  }
  return false;
}

static bool is_idle(const struct rank_state *rank) {
  for (int stream = 0; stream < STREAMS; stream++)
    if (rank->streams[stream].begin < rank->streams[stream].end)
      return false;
  return true;
}

/* The next block, unless the host waits for its device. */
static bool run_host(struct flow *flow, int index) {
  struct rank_state *rank = &flow->ranks[index];
  if (rank->ended || (rank->synchronises && !is_idle(rank)))
    return false;
  rank->synchronises = false;
  flow->reading = index;
  rank->ended = !read_next(&flow->reader, &flow->software, index);
  return true;
}

static bool run_streams(struct flow *flow, int index) {
  bool moved = false;
  for (int stream = 0; stream < STREAMS; stream++) {
    struct queue *queue = &flow->ranks[index].streams[stream];
    while (queue->begin < queue->end) {
      bool before = queue->items[queue->begin].posted;
      if (!is_over(flow, index, &queue->items[queue->begin])) {
        moved = moved || before != queue->items[queue->begin].posted;
        break;
      }
      queue->begin++;
      moved = true;
    }
    if (queue->begin == queue->end)
      queue->begin = queue->end = 0;
  }
  return moved;
}

static void free_flow(struct flow *flow) {
  for (int i = 0; i < MOST_RANKS; i++) {
    for (int stream = 0; stream < STREAMS; stream++)
      free(flow->ranks[i].streams[stream].items);
    free(flow->ranks[i].recorded);
  }
  for (int i = 0; i < MOST_COMMUNICATORS; i++)
    free(flow->arrived[i]);
  gpt_free(flow->gpt);
  reader_free(&flow->reader);
  setup_free(&flow->setup);
  free(flow);
}

static void run_to_the_end(const char *text) {
  struct flow *flow = calloc(1, sizeof *flow);
  assert_non_null(flow);
  char line[512];
  snprintf(line, sizeof line, "--layers 8 --hidden 64 --heads 4 --seq 64 --vocab 256 --warmup 1 --steps 1 %s", text);
  assert_true(setup_of_line(&flow->setup, line));
  flow->gpt = gpt_new(&flow->setup);
  flow->software = gpt_software(flow->gpt);
  flow->reader = (struct reader){.self = flow, .read = take};
  int count, ranks = setup_ranks(&flow->setup);
  flow->communicators = gpt_communicators(flow->gpt, &count);
  assert_true(ranks <= MOST_RANKS && count <= MOST_COMMUNICATORS);
  for (bool moved = true; moved;) {
    moved = false;
    for (int rank = 0; rank < ranks; rank++) {
      moved = run_host(flow, rank) || moved;
      moved = run_streams(flow, rank) || moved;
    }
  }
  for (int rank = 0; rank < ranks; rank++)
    if (!flow->ranks[rank].ended || !is_idle(&flow->ranks[rank])) {
      print_error("%s: rank %d waits for ever\n", text, rank);
      fail();
    }
  free_flow(flow);
}

static void nobody_waits_for_ever(void **state) {
  (void)state;
  static const char *const schedules[] = {
      "--pp 2 --micro-batches 1",
      "--pp 2 --micro-batches 5",
      "--pp 4 --micro-batches 2",
      "--pp 4 --micro-batches 7",
      "--pp 8 --micro-batches 9",
      "--pp 4 --micro-batches 6 --schedule gpipe",
      "--pp 2 --micro-batches 1 --schedule zb-h1",
      "--pp 4 --micro-batches 9 --schedule zb-h1",
      "--pp 8 --micro-batches 5 --schedule zb-h1",
      "--pp 2 --vp 2 --micro-batches 2 --schedule interleaved",
      "--pp 2 --vp 4 --micro-batches 6 --schedule interleaved",
      "--pp 4 --vp 2 --micro-batches 4 --schedule interleaved",
      "--pp 4 --vp 2 --micro-batches 12 --schedule interleaved",
      "--tp 2 --pp 2 --dp 2 --micro-batches 3 --sequence-parallel on --distributed-optimizer on",
      "--tp 2 --pp 2 --dp 2 --micro-batches 3 --recompute full --overlap-gradients off",
      "--tp 2 --pp 2 --dp 2 --vp 2 --micro-batches 4 --schedule interleaved --bucket-mb 0.1",
      "--tp 2 --pp 2 --micro-batches 3 --sequence-parallel on --graphs layers",
      "--tp 2 --dp 2 --micro-batches 3 --distributed-optimizer on --recompute full --graphs passes",
      "--tp 2 --pp 2 --micro-batches 3 --schedule zb-h1 --graphs passes",
  };
  for (size_t i = 0; i < sizeof schedules / sizeof *schedules; i++)
    for (int batched = 0; batched < 2; batched++) {
      char line[400];
      snprintf(line, sizeof line, "%s --batched-p2p %s", schedules[i], batched ? "on" : "off");
      run_to_the_end(line);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_waits_for_ever)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
