/* Communication as ProcessGroupNCCL issues it: the group's stream waits for what was computed so far, runs the kernel,
 * and an event tells when it is done. Whoever needs the result lets the compute stream wait for that event, at once or
 * after work that may run meanwhile.
 *
 * NCCL has a stream of its own beside the group's, on which communicators that share memory take turns: the kernel
 * waits for what that one has come to, and it waits for the kernel. With one communicator a stream this orders nothing
 * that was not in order.
 */
#include "gpt_state.h"
#include "nccl_version.h"

/* From one call to the next, as between rows of an H100 job. */
enum {
  NS_DISPATCH = 4200,
  NS_PARAMS = 1600,
  NS_SYNC = 1500, /* before and behind the wait for the input */
  NS_ANNOTATE = 1800,
  NS_ENQUEUE = 4500,
  NS_PLAN = 5500,
  NS_ARGUMENTS = 900,
  NS_LAUNCHED = 1700,
  NS_MARK = 6000,
  NS_FINISH = 5500,
  NS_JOIN = 900,
  NS_WAIT = 1000,
  NS_WAITED = 6500,
};

static const struct {
  const char *op, *annotation;
} names[] = {
    [ALL_REDUCE] = {"c10d::allreduce_", "nccl:all_reduce"},
    [ALL_GATHER] = {"c10d::_allgather_base_", "nccl:_all_gather_base"},
    [REDUCE_SCATTER] = {"c10d::_reduce_scatter_base_", "nccl:_reduce_scatter_base"},
    [BROADCAST] = {"c10d::broadcast_", "nccl:broadcast"},
    [ALL_TO_ALL] = {"c10d::alltoall_base_", "nccl:all_to_all"},
};

bool has_group(const struct block *to, enum role role) { return to->gpt->roles[to->rank][role] >= 0; }

struct message message_of(const struct block *to, enum role role, enum collective collective, int64_t elements,
                          bool float32) {
  int index = to->gpt->roles[to->rank][role];
  const struct communicator *communicator = &to->gpt->communicators[index];
  int64_t shard = elements / communicator->size;
  return (struct message){.communicator = index,
                          .collective = (uint8_t)collective,
                          .float32 = float32,
                          .elements_in = collective == ALL_GATHER ? shard : elements,
                          .elements_out = collective == REDUCE_SCATTER ? shard : elements,
                          .bytes = elements * (float32 ? 4 : 2),
                          .root = collective == BROADCAST ? communicator->ranks[0] : -1};
}

/* Up to where the group's stream waits for the input. */
static void begin(const struct block *to, enum stream input, enum stream stream, const char *op,
                  const struct message *message) {
  op_enter_with(to, op, (struct op_facts){.sequence = -1, .message = message});
  spend(to, NS_DISPATCH);
  record_enter(to, "record_param_comms", message);
  spend(to, NS_PARAMS);
  program_call(to->program, CALL_IS_CAPTURING);
  spend(to, NS_SYNC);
  event_record(to, stream_event(EVENT_READY, stream), input);
  spend(to, NS_SYNC);
  event_wait(to, stream, stream_event(EVENT_READY, stream));
  spend(to, NS_ANNOTATE);
}

/* What NCCL does when its group of operations ends. */
static void launch_nccl(const struct block *to, enum stream stream, const struct work *work) {
  const struct nccl_version *version = to->setup->nccl;
  enum stream own = (enum stream)(NCCL_BESIDE + (int)stream);
  int free = stream_event(EVENT_NCCL_FREE, stream), done = stream_event(EVENT_NCCL_DONE, stream);
  for (int i = 0; i < version->capture_infos; i++)
    program_call(to->program, version->cuda < 13000 ? CALL_CAPTURE_INFO : CALL_CAPTURE_INFO_3);
  spend(to, NS_PLAN);
  if (!to->captured) { /* a graph keeps the order of its stream */
    program_record(to->program, CALL_EVENT_RECORD, free, own);
    program_wait(to->program, stream, free);
  }
  spend(to, NS_ARGUMENTS);
  if (version->launches_by_driver)
    program_call(to->program, CALL_FIND_FUNCTION);
  launch_on(to, stream, work);
  if (!to->captured) {
    program_record(to->program, CALL_EVENT_RECORD, done, stream);
    program_wait(to->program, own, done);
  }
}

/* `message`: the annotation's, NULL where it has no inputs. */
static void enqueue(const struct block *to, enum stream stream, const char *annotation, const struct message *message,
                    const struct work *work, int done_event) {
  annotate_message(to, annotation, message);
  spend(to, NS_ENQUEUE);
  launch_nccl(to, stream, work);
  spend(to, NS_LAUNCHED);
  event_record(to, done_event, stream);
  spend(to, NS_MARK);
  program_record(to->program, CALL_EVENT_RECORD, stream_event(EVENT_FUTURE, stream), stream);
  spend(to, NS_FINISH);
  op_leave(to);
}

static void end(const struct block *to) {
  op_leave(to);
  spend(to, NS_SYNC);
  op_leave(to);
}

static void start_from(const struct block *to, enum stream input, enum stream stream, const char *op,
                       const char *annotation, const struct work *work, int done_event) {
  begin(to, input, stream, op, work->message);
  enqueue(to, stream, annotation, work->message, work, done_event);
  end(to);
}

static void start(const struct block *to, enum stream stream, const char *op, const char *annotation,
                  const struct work *work, int done_event) {
  start_from(to, STREAM_COMPUTE, stream, op, annotation, work, done_event);
}

void collective_start_from(const struct block *to, enum stream input, enum stream stream, struct message message,
                           int done_event) {
  const struct message *kept = program_message(to->program, message);
  const struct communicator *communicator = &to->gpt->communicators[message.communicator];
  struct work work = kernels_communication(to->setup, kept, communicator->size, communicator->nodes);
  start_from(to, input, stream, names[message.collective].op, names[message.collective].annotation, &work, done_event);
}

void collective_start(const struct block *to, enum stream stream, struct message message, int done_event) {
  collective_start_from(to, STREAM_COMPUTE, stream, message, done_event);
}

static void wait_for(const struct block *to, int communicator, int done_event) {
  const struct message message = {.communicator = communicator, .collective = WAIT, .root = -1};
  record_enter(to, "record_param_comms", program_message(to->program, message));
  spend(to, NS_WAIT);
  event_wait(to, STREAM_COMPUTE, done_event);
  spend(to, NS_WAITED);
  op_leave(to);
}

void collective_wait(const struct block *to, enum role role, int done_event) {
  wait_for(to, to->gpt->roles[to->rank][role], done_event);
}

void collective_run(const struct block *to, enum stream stream, struct message message) {
  int done = stream_event(EVENT_DONE, stream);
  collective_start(to, stream, message, done);
  wait_for(to, message.communicator, done);
}

void gpt_make_tensor_collectives(struct gpt *gpt) {
  gpt->tensor_collectives = memory_new((size_t)gpt->communicator_count, sizeof *gpt->tensor_collectives);
  for (int rank = 0; rank < setup_ranks(gpt->setup); rank++) {
    struct block to = {.gpt = gpt, .setup = gpt->setup, .rank = rank};
    int index = gpt->roles[rank][ROLE_TENSOR];
    if (index < 0)
      continue;
    const struct communicator *communicator = &gpt->communicators[index];
    for (int i = 0; i < TENSOR_COLLECTIVES && communicator->ranks[0] == rank; i++) {
      int64_t elements = gpt->tokens * gpt->setup->model.hidden;
      struct tensor_collective *kept = &gpt->tensor_collectives[index][i];
      kept->message = message_of(&to, ROLE_TENSOR, (enum collective)i, elements, false);
      kept->message.inner[0] = gpt->setup->model.micro_batch;
      kept->message.inner[1] = gpt->setup->model.hidden;
      kept->work = kernels_communication(gpt->setup, &kept->message, communicator->size, communicator->nodes);
    }
  }
}

void tensor_start(const struct block *to, enum collective collective) {
  const struct tensor_collective *kept =
      &to->gpt->tensor_collectives[to->gpt->roles[to->rank][ROLE_TENSOR]][collective];
  start(to, STREAM_TENSOR, names[collective].op, names[collective].annotation, &kept->work, EVENT_DONE + STREAM_TENSOR);
}

void tensor_wait(const struct block *to) { collective_wait(to, ROLE_TENSOR, EVENT_DONE + STREAM_TENSOR); }

void tensor_run(const struct block *to, enum collective collective) {
  tensor_start(to, collective);
  tensor_wait(to);
}

void context_run(const struct block *to, enum collective collective) {
  const struct model *model = &to->setup->model;
  int64_t width = (int64_t)model->heads / to->setup->parallel.tensor * model->head_dim;
  int64_t elements = (int64_t)model->micro_batch * model->sequence * width;
  struct message message = message_of(to, ROLE_CONTEXT, collective, elements, false);
  message.inner[0] = model->micro_batch;
  message.inner[1] = (int)width;
  collective_run(to, STREAM_CONTEXT, message);
}

/* Every rank has as many tokens for each. */
void expert_exchange(const struct block *to) {
  if (!has_group(to, ROLE_EXPERT))
    return;
  int64_t rows = gpt_expert_rows(to->setup);
  int hidden = to->setup->model.hidden;
  struct message message = message_of(to, ROLE_EXPERT, ALL_TO_ALL, rows * hidden, false);
  message.inner[0] = hidden;
  message.split = rows / to->setup->parallel.expert;
  collective_run(to, STREAM_EXPERT, message);
}

void expert_counts(const struct block *to) {
  if (!has_group(to, ROLE_EXPERT))
    return;
  int64_t all = (int64_t)to->setup->model.experts * to->setup->parallel.expert;
  struct message message = message_of(to, ROLE_EXPERT, ALL_GATHER, all, false);
  message.integers = true;
  message.bytes = 8 * all;
  collective_run(to, STREAM_EXPERT, message);
}

/* ---- between stages ---- */

static int peer_of(const struct block *to, bool next) {
  struct coordinates at = to->at;
  int stages = to->setup->parallel.pipeline;
  at.stage = (at.stage + (next ? 1 : stages - 1)) % stages;
  return setup_rank_at(to->setup, at);
}

/* Apart, every direction has its stream; but two stages are one pair of ranks, whose messages must keep their order. */
static enum stream exchange_stream(const struct setup *setup, uint8_t part) {
  bool next = (part & TO_NEXT) || setup->parallel.pipeline == 2;
  if (setup->parallel.batched_p2p)
    return STREAM_P2P;
  if (part & SEND)
    return next ? STREAM_SEND_NEXT : STREAM_SEND_PREVIOUS;
  return next ? STREAM_RECEIVE_NEXT : STREAM_RECEIVE_PREVIOUS;
}

static struct message exchange_message(const struct block *to, const struct exchange *exchange, int *nodes) {
  int64_t elements = to->gpt->tokens * to->setup->model.hidden / gpt_sequence_shards(to->setup);
  struct message message = {.communicator = to->gpt->roles[to->rank][ROLE_PIPELINE],
                            .collective = SEND_RECEIVE,
                            .inner = {to->setup->model.micro_batch, to->setup->model.hidden},
                            .root = -1,
                            .parts = exchange->count};
  *nodes = 1;
  for (int i = 0; i < exchange->count; i++) {
    bool send = exchange->parts[i] & SEND;
    int peer = peer_of(to, exchange->parts[i] & TO_NEXT);
    message.part[i] = (struct p2p){peer, send, 2 * elements};
    message.bytes += 2 * elements;
    message.elements_in += send || exchange->count == 1 ? elements : 0;
    message.elements_out += !send || exchange->count == 1 ? elements : 0;
    if (peer / to->setup->network.node_size != to->rank / to->setup->network.node_size)
      *nodes = 2;
  }
  return message;
}

/* One part as its own op records it: the tensor is both input and output, and what goes out in one kernel has one
 * number. */
static struct message part_message(const struct message *whole, int part) {
  struct message message = *whole;
  message.bytes = whole->part[part].bytes;
  message.elements_in = message.elements_out = message.bytes / 2;
  message.part[0] = whole->part[part];
  message.parts = 1;
  message.follows = part > 0;
  return message;
}

static const char *part_op(bool send) { return send ? "c10d::send" : "c10d::recv_"; }

/* Sends and receives of a batch only join NCCL's group, each in its own op; what they share is enqueued when the group
 * ends, behind all of them and in none. */
static void start_batch(const struct block *to, const struct work *work, int done_event) {
  const struct message *whole = work->message;
  frame_enter(to, "torch/distributed/distributed_c10d.py(2616): batch_isend_irecv");
  for (int i = 0; i < whole->parts; i++) {
    begin(to, STREAM_COMPUTE, STREAM_P2P, part_op(whole->part[i].send),
          program_message(to->program, part_message(whole, i)));
    spend(to, NS_JOIN);
    end(to);
  }
  frame_enter(to, "<built-in method _end_coalescing of PyCapsule object at 0x7f6a97d1c4b0>");
  enqueue(to, STREAM_P2P, "nccl:coalesced", NULL, work, done_event);
  frame_leave(to);
  frame_leave(to);
}

static void start_exchange(const struct block *to, const struct exchange *exchange, int done_event) {
  const struct pass *first = &to->plan->passes[exchange->passes[0]];
  struct block labelled = *to;
  labelled.label =
      (struct label){.phase = first->phase, .part = PART_OTHER, .micro_batch = first->micro_batch, .layer = -1};
  int nodes;
  const struct message *message = program_message(to->program, exchange_message(to, exchange, &nodes));
  struct work work = kernels_communication(to->setup, message, 2, nodes);
  bool send = exchange->parts[0] & SEND;
  if (to->setup->parallel.batched_p2p)
    start_batch(&labelled, &work, done_event);
  else
    start(&labelled, exchange_stream(to->setup, exchange->parts[0]), part_op(send), send ? "nccl:send" : "nccl:recv",
          &work, done_event);
}

static int exchange_event(int index) { return EVENT_EXCHANGE + index % EXCHANGE_EVENTS; }

#define EXCHANGE_FRAME "megatron/core/pipeline_parallel/p2p_communication.py(269): _communicate"

void exchanges_start(const struct block *to, int after) {
  for (int i = to->plan->posts[after + 1]; i < to->plan->posts[after + 2]; i++) {
    frame_enter(to, EXCHANGE_FRAME);
    held_exchange(to, &to->plan->exchanges[i], false);
    start_exchange(to, &to->plan->exchanges[i], exchange_event(i));
    frame_leave(to);
  }
}

void exchanges_wait(const struct block *to, int before) {
  for (int i = to->plan->wait_starts[before]; i < to->plan->wait_starts[before + 1]; i++) {
    collective_wait(to, ROLE_PIPELINE, exchange_event(to->plan->waits[i]));
    held_exchange(to, &to->plan->exchanges[to->plan->waits[i]], true);
  }
}
