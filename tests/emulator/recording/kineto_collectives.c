/* A collective's arguments. Sequence numbers and communicator ids are there since 2026; the id mixes the group, the
 * number, and whether it is a pair, so that it is the same on all members of a collective. A pair's numbers count the
 * rank's own, and its ids say nothing in groups of more than two: as in PyTorch.
 */
#include "kineto.h"

#include "chance.h"

#include <stdio.h>

enum { MOST_RANKS_LISTED = 30 };

static const char *collective_name(const struct message *message) {
  static const char *const names[] = {
      [ALL_REDUCE] = "allreduce", [ALL_GATHER] = "_allgather_base", [REDUCE_SCATTER] = "_reduce_scatter_base",
      [BROADCAST] = "broadcast",  [ALL_TO_ALL] = "all_to_allv",     [WAIT] = "wait"};
  if (message->collective != SEND_RECEIVE) {
    return names[message->collective];
  }
  return message->part[0].send ? "send" : "recv";
}

/* "[0, 1, 2]"; of many, the first and the last. */
static void put_ranks(struct writer *out, const struct communicator *communicator) {
  PUT(out, "\"[");
  for (int i = 0; i < communicator->size; i++) {
    if (communicator->size > MOST_RANKS_LISTED && i == MOST_RANKS_LISTED - 1) {
      PUT(out, ", ...");
      i = communicator->size - 1;
    }
    put_number(out, i == 0 ? "" : ", ", communicator->ranks[i]);
  }
  PUT(out, "]\"");
}

/* What an all-to-all gives each member, "[4, 4]"; of many, the first and the last. */
static void put_splits(struct writer *out, const char *key, const struct communicator *communicator, int64_t split) {
  put_text(out, key);
  for (int i = 0; split > 0 && i < communicator->size; i++) {
    if (communicator->size > MOST_RANKS_LISTED && i == MOST_RANKS_LISTED - 1) {
      PUT(out, ", ...");
      i = communicator->size - 1;
    }
    put_number(out, i == 0 ? "" : ", ", split);
  }
  PUT(out, "]\"");
}

/* On the op and on its kernel alike. */
void put_message(const struct trace *trace, const struct message *message, int64_t sequence) {
  const struct communicator *communicator = &trace->recorder->communicators[message->communicator];
  struct writer *out = trace->out;
  bool pair = message->collective == SEND_RECEIVE, waits = message->collective == WAIT;
  PUT(out, ", \"Collective name\": \"");
  put_text(out, collective_name(message));
  put_number(out, "\", \"In msg nelems\": ", message->elements_in);
  put_number(out, ", \"Out msg nelems\": ", message->elements_out);
  put_number(out, ", \"Group size\": ", waits ? 1 : communicator->size);
  PUT(out, ", \"dtype\": \"");
  put_text(out, waits ? "Byte" : message->integers ? "Long" : message->float32 ? "Float" : "BFloat16");
  put_splits(out, "\", \"In split size\": \"[", communicator, message->split);
  put_splits(out, ", \"Out split size\": \"[", communicator, message->split);
  PUT(out, ", \"Process Group Name\": ");
  put_string(out, communicator->name);
  PUT(out, ", \"Process Group Description\": ");
  put_string(out, communicator->description);
  PUT(out, ", \"Process Group Ranks\": ");
  if (waits) {
    PUT(out, "\"[]\"");
  } else {
    put_ranks(out, communicator);
  }
  if (pair) {
    put_number(out, message->part[0].send ? ", \"Dst Rank\": " : ", \"Src Rank\": ", message->part[0].peer);
  }
  if (sequence >= 0 && is_new(trace)) {
    put_number(out, ", \"Seq\": ", sequence);
    PUT(out, ", \"Comms Id\": ");
    put_unsigned(out, chance_place(chance_place(communicator->id, (uint64_t)sequence), pair));
  }
}

/* The rank that an op names: its peer, the root, or itself; by its place in the group. */
static int named_place(const struct trace *trace, const struct message *message) {
  int rank = message->collective == SEND_RECEIVE ? message->part[0].peer
             : message->collective == BROADCAST  ? message->root
                                                 : trace->rows->rank;
  return communicator_place(&trace->recorder->communicators[message->communicator], rank);
}

/* How far apart the group's ranks are, 0 if not evenly. */
static int stride_of(const struct communicator *communicator) {
  int stride = communicator->size > 1 ? communicator->ranks[1] - communicator->ranks[0] : 1;
  for (int i = 1; i < communicator->size; i++) {
    if (communicator->ranks[i] - communicator->ranks[i - 1] != stride) {
      return 0;
    }
  }
  return stride;
}

/* What only the op has. */
void put_message_of_op(const struct trace *trace, const struct message *message) {
  const struct communicator *communicator = &trace->recorder->communicators[message->communicator];
  int stride = stride_of(communicator);
  put_number(trace->out, ", \"Rank\": ", named_place(trace, message));
  if (stride > 0 && message->collective != WAIT) {
    put_number(trace->out, ", \"Global rank start\": ", communicator->ranks[0]);
    put_number(trace->out, ", \"Global rank stride\": ", stride);
  }
  PUT(trace->out, ", \"Is asynchronized op\": 1");
}

/* "bf16[4096,2,1024]", as many elements; in parentheses where the op takes a list. */
static int tensor_text(char *text, size_t room, const struct message *message, int64_t elements, bool list) {
  int64_t inner = 1;
  char dims[2][16] = {"", ""};
  for (int i = 0; i < 2; i++) {
    if (message->inner[i] > 0) {
      inner *= message->inner[i];
      snprintf(dims[i], sizeof dims[i], ",%d", message->inner[i]);
    }
  }
  const char *type = message->integers ? "int64" : message->float32 ? "float" : "bf16";
  return snprintf(text, room, "%s%s[%lld%s%s]%s", list ? "(" : "", type, (long long)(elements / inner), dims[0],
                  dims[1], list ? ")" : "");
}

/* "=[4,4]", as many as PyTorch writes of a list; where nothing is split "=[]". */
static void split_text(char *text, size_t room, int64_t split, int size) {
  int count = split == 0 ? 0 : size < MOST_RANKS_LISTED ? size : MOST_RANKS_LISTED;
  int length = snprintf(text, room, "=[");
  for (int i = 0; i < count; i++) {
    length += snprintf(text + length, room - (size_t)length, "%s%lld", i == 0 ? "" : ",", (long long)split);
  }
  snprintf(text + length, room - (size_t)length, "]");
}

/* As the schemas of kineto_inputs.c have them. */
void put_inputs_of_message(const struct trace *trace, const char *op, const struct message *message) {
  const struct communicator *communicator = &trace->recorder->communicators[message->communicator];
  if (message->collective == WAIT) {
    char rank[16];
    snprintf(rank, sizeof rank, "=%d", named_place(trace, message));
    put_inputs(trace->out, op, rank);
    return;
  }
  int stride = stride_of(communicator);
  bool list =
      message->collective != ALL_GATHER && message->collective != REDUCE_SCATTER && message->collective != ALL_TO_ALL;
  char handed[96], output[96], input[96], splits[768], inputs[1280];
  split_text(splits, sizeof splits, message->split, communicator->size);
  tensor_text(handed, sizeof handed, message, message->elements_in, list);
  tensor_text(output, sizeof output, message, message->elements_out, false);
  tensor_text(input, sizeof input, message, message->elements_in, false);
  snprintf(inputs, sizeof inputs, "%s %s =%d =%d =%d =%d %s %s", handed, output, named_place(trace, message),
           stride > 0 ? communicator->ranks[0] : -1, stride > 0 ? stride : -1, communicator->size, input, splits);
  put_inputs(trace->out, op, inputs);
}

bool tells_collectives(const struct trace *trace) {
  return (trace->recorder->setup->recorded & RECORD_COLLECTIVES) != 0 && trace->recorder->setup->form <= FORM_2024;
}

bool is_member(const struct communicator *communicator, int rank) {
  return communicator->ranks[communicator_place(communicator, rank)] == rank;
}
