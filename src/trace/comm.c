/* Collectives: names and types as the stream spells them, payload, peers, and the process groups that they name. */
#include "trace/comm.h"

#include <stdlib.h>
#include <string.h>

struct spelling {
  const char *recorded;
  const char *op;
};

/* torch.distributed's names of operations, and those that NCCL's annotations and kernels carry; compared up to the
 * length given here. */
static const struct spelling recorded_ops[] = {
    {"allreduce", "all_reduce"},
    {"all_reduce", "all_reduce"},
    {"_allgather", "all_gather"},
    {"allgather", "all_gather"},
    {"_all_gather", "all_gather"},
    {"all_gather", "all_gather"},
    {"_reduce_scatter", "reduce_scatter"},
    {"reduce_scatter", "reduce_scatter"},
    {"reducescatter", "reduce_scatter"},
    {"alltoall", "all_to_all"},
    {"all_to_all", "all_to_all"},
    {"all2all", "all_to_all"},
    {"broadcast", "broadcast"},
    {"_broadcast", "broadcast"},
    {"reduce", "reduce"},
    {"_reduce", "reduce"},
    {"gather", "gather"},
    {"scatter", "scatter"},
    {"barrier", "barrier"},
    {"sendrecv", "send_recv"},
    {"send", "send"},
    {"recv", "recv"},
};

static const struct {
  const char *name;
  int64_t bytes;
} element_sizes[] = {
    {"Byte", 1},           {"Char", 1},          {"Bool", 1},        {"Short", 2},           {"Int", 4},
    {"Long", 8},           {"Half", 2},          {"BFloat16", 2},    {"Float", 4},           {"Double", 8},
    {"UInt16", 2},         {"UInt32", 4},        {"UInt64", 8},      {"ComplexHalf", 4},     {"ComplexFloat", 8},
    {"ComplexDouble", 16}, {"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}, {"Float8_e4m3fnuz", 1}, {"Float8_e5m2fnuz", 1},
    {"Float8_e8m0fnu", 1},
};

static const char *spelled_op(const char *recorded) {
  for (size_t i = 0; i < sizeof recorded_ops / sizeof *recorded_ops; i++) {
    if (strncasecmp(recorded, recorded_ops[i].recorded, strlen(recorded_ops[i].recorded)) == 0) {
      return recorded_ops[i].op;
    }
  }
  return "other";
}

/* The operation in the name of a kernel of NCCL or its like: ncclDevKernel_AllReduce_..., ncclKernel_SendRecv_...,
 * oneccl_allgather_..., xccl::allreduce. */
static const char *op_of_kernel(const char *name) {
  const char *library = strstr(name, "ccl");
  const char *end = library != NULL && library - name <= 3 ? strpbrk(library, "_:") : NULL;
  return end != NULL ? spelled_op(end + strspn(end, "_:")) : "other";
}

static int64_t element_size(const char *dtype) {
  for (size_t i = 0; i < sizeof element_sizes / sizeof *element_sizes; i++) {
    if (strcmp(element_sizes[i].name, dtype) == 0) {
      return element_sizes[i].bytes;
    }
  }
  return LUMOS_ABSENT;
}

static int64_t payload(const struct trace_comm *args, const char *dtype) {
  int64_t elements = args->in_elements > args->out_elements ? args->in_elements : args->out_elements;
  int64_t size = element_size(dtype);
  int64_t bytes = 0;
  bool known = elements >= 0 && size != LUMOS_ABSENT && !__builtin_mul_overflow(elements, size, &bytes);
  return known && bytes < INT64_C(1) << 53U ? bytes : LUMOS_ABSENT;
}

/* Member ranks of a list such as "[0, 1, 2]"; returns where it stops: at its end, or at what is no rank. */
static const char *add_members(struct lumos_job *job, const char *ranks) {
  ranks += strspn(ranks, "[ \"");
  while (*ranks != ']') {
    char *end = NULL;
    long rank = strtol(ranks, &end, 10);
    if (end == ranks || rank < 0 || rank > INT32_MAX) {
      break;
    }
    lumos_vector_push(&job->group_ranks, (int32_t)rank);
    ranks = end + strspn(end, ", \"");
  }
  return ranks;
}

/* Complete the ranks behind `first` by their even spacing, where it gives all that are listed: the first ones, and the
 * last behind "...". */
static bool fill_members(struct lumos_job *job, size_t first, const char *dots, const struct trace_group_facts *facts) {
  enum { MOST_RANKS = 1 << 22 }; /* of all groups: a number in a trace is no reason to run out of memory */
  int64_t listed = (int64_t)(job->group_ranks.count - first);
  int64_t last = 0;
  if (facts->start < 0 || facts->stride <= 0 || facts->size < listed || facts->size > MOST_RANKS - (int64_t)first ||
      __builtin_mul_overflow(facts->size - 1, facts->stride, &last) ||
      __builtin_add_overflow(facts->start, last, &last) || last > INT32_MAX) {
    return false;
  }
  const char *tail = dots + strspn(dots, "., \"");
  char *end = NULL;
  if (strtol(tail, &end, 10) != last && end != tail) {
    return false;
  }
  for (int64_t i = 0; i < listed; i++) {
    if (job->group_ranks.items[first + (size_t)i] != facts->start + i * facts->stride) {
      return false;
    }
  }
  for (int64_t i = listed; i < facts->size; i++) {
    lumos_vector_push(&job->group_ranks, (int32_t)(facts->start + i * facts->stride));
  }
  return true;
}

static int compare_ranks(const void *a, const void *b) {
  int32_t left = *(const int32_t *)a;
  int32_t right = *(const int32_t *)b;
  return LUMOS_ORDER(left, right);
}

/* The group's members, where they are known for sure: complete, distinct, and as many as the group is large. */
static void set_members(struct lumos_job *job, struct lumos_group *group, const struct trace_group_facts *facts) {
  size_t first = job->group_ranks.count;
  const char *end = add_members(job, facts->ranks);
  bool listed = *end == ']' && job->group_ranks.count > first;
  bool complete = listed || fill_members(job, first, end, facts);
  size_t count = job->group_ranks.count - first;
  if (count > 0) {
    int32_t *members = job->group_ranks.items + first;
    qsort(members, count, sizeof *members, compare_ranks);
    for (size_t i = 1; i < count; i++) {
      complete = complete && members[i] != members[i - 1];
    }
  }
  if (!complete || count == 0 || (group->size > 0 && count != (size_t)group->size)) {
    job->group_ranks.count = first;
    return;
  }
  group->size = (int32_t)count;
  group->member_first = (uint32_t)first;
  group->member_count = (uint32_t)count;
}

uint32_t lumos_trace_group(struct trace_build *build, const struct trace_group_facts *facts) {
  struct lumos_job *job = build->job;
  while (build->group_of.count <= facts->name) {
    lumos_vector_push(&build->group_of, ((struct trace_known_group){LUMOS_NONE, false}));
  }
  struct trace_known_group *known = &build->group_of.items[facts->name];
  bool complete_it = !known->spaced && facts->stride > 0;
  known->spaced = known->spaced || complete_it;
  if (known->index != LUMOS_NONE) {
    struct lumos_group *group = &job->groups.items[known->index];
    if (complete_it && group->member_count == 0) {
      set_members(job, group, facts);
    }
    return known->index;
  }
  struct lumos_group group = lumos_group_empty;
  group.rank = 0;
  group.id = facts->name;
  group.name = facts->description;
  group.size = facts->size > 0 && facts->size <= INT32_MAX ? (int32_t)facts->size : 0;
  set_members(job, &group, facts);
  if (group.size == 0) {
    return LUMOS_NONE; /* a group of which nothing is known */
  }
  known->index = (uint32_t)job->groups.count;
  lumos_vector_push(&job->groups, group);
  return known->index;
}

/* What a kernel's arguments say of its group; how the ranks are spaced only the op around its call says. */
static struct trace_group_facts group_of(const struct trace_build *build, const struct trace_comm *args,
                                         const struct trace_call_detail *call) {
  const struct trace_comm *op = call->comm != LUMOS_NONE ? &build->trace->comms.items[call->comm] : args;
  bool same = op->group == args->group;
  return (struct trace_group_facts){
      .name = args->group,
      .description = args->description,
      .ranks = lumos_string(build->job->strings, args->ranks),
      .size = args->group_size,
      .start = same ? op->rank_start : LUMOS_ABSENT,
      .stride = same ? op->rank_stride : LUMOS_ABSENT,
  };
}

/* Of a batch, those of its first part. */
static const struct trace_comm *arguments_of(const struct trace_build *build, const struct trace_device *row,
                                             const struct trace_call_detail *call) {
  uint32_t index = row->comm;
  if (index == LUMOS_NONE) {
    index = call->comm == LUMOS_NONE && call->batch_count > 0 ? build->batched.items[call->batch_first] : call->comm;
  }
  return index != LUMOS_NONE ? &build->trace->comms.items[index] : NULL;
}

static const char *choose_op(const struct trace_build *build, const struct trace_comm *args,
                             const struct trace_device *row, const struct trace_call_detail *call) {
  const struct lumos_strings *strings = build->job->strings;
  const char *op = args != NULL ? spelled_op(lumos_string(strings, args->collective)) : "other";
  if (strcmp(op, "other") == 0 && call->collective != LUMOS_NO_STRING) {
    op = spelled_op(lumos_string(strings, call->collective) + sizeof "nccl:" - 1);
  }
  return strcmp(op, "other") == 0 ? op_of_kernel(lumos_string(strings, row->name)) : op;
}

static const int64_t MOST_BYTES = (INT64_C(1) << 53U) - 1; /* that every reader of JSON keeps */

static void add_bytes(int64_t *total, int64_t bytes) {
  *total = bytes < MOST_BYTES - *total ? *total + bytes : MOST_BYTES;
}

/* Each rank once, with what goes both ways. */
static void add_peer(struct lumos_job *job, struct lumos_comm *comm, int64_t rank, bool sends, int64_t bytes) {
  if (rank < 0 || rank > INT32_MAX || bytes == LUMOS_ABSENT) {
    return;
  }
  if (comm->peer_count == 0) {
    comm->peer_first = (uint32_t)job->peers.count;
  }
  size_t at = comm->peer_first;
  while (at < job->peers.count && job->peers.items[at].rank != rank) {
    at++;
  }
  if (at == job->peers.count) {
    lumos_vector_push(&job->peers, ((struct lumos_peer){(int32_t)rank, 0, 0}));
    comm->peer_count++;
  }
  add_bytes(sends ? &job->peers.items[at].send : &job->peers.items[at].recv, bytes);
}

/* `total`: of what is sent, and of what is received; LUMOS_ABSENT where one is not known. */
static void add_pair(struct trace_build *build, struct lumos_comm *comm, const struct trace_comm *args,
                     int64_t total[2]) {
  const struct lumos_strings *strings = build->job->strings;
  bool sends = strcmp(spelled_op(lumos_string(strings, args->collective)), "send") == 0;
  int64_t bytes = payload(args, lumos_string(strings, args->dtype));
  add_peer(build->job, comm, sends ? args->target : args->source, sends, bytes);
  if (bytes == LUMOS_ABSENT || total[sends] == LUMOS_ABSENT) {
    total[sends] = LUMOS_ABSENT;
  } else {
    add_bytes(&total[sends], bytes);
  }
}

/* The peers as Lumos writes them: "[[rank,sent,received],...]"; up to what is none. */
static void add_listed_peers(struct lumos_job *job, struct lumos_comm *comm, const char *list) {
  const char *place = list + (*list == '[');
  while (*place == '[') {
    int64_t parts[3] = {LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT};
    for (size_t i = 0; i < 3; i++) {
      char *end = NULL;
      parts[i] = strtoll(++place, &end, 10);
      if (end == place || *end != (i < 2 ? ',' : ']') || parts[i] < 0) {
        return;
      }
      place = end;
    }
    add_peer(job, comm, parts[0], true, parts[1]);
    add_peer(job, comm, parts[0], false, parts[2]);
    place += place[1] == ',' ? 2 : 1;
  }
}

/* The sends and receives of a batch, and as its payload the larger of both sums. */
static void add_batch(struct trace_build *build, struct lumos_comm *comm, const struct trace_call_detail *call) {
  int64_t total[2] = {0, 0};
  for (uint32_t i = 0; i < call->batch_count; i++) {
    uint32_t part = build->batched.items[call->batch_first + i];
    add_pair(build, comm, &build->trace->comms.items[part], total);
  }
  bool known = total[0] != LUMOS_ABSENT && total[1] != LUMOS_ABSENT;
  comm->bytes = !known ? LUMOS_ABSENT : total[0] > total[1] ? total[0] : total[1];
}

void lumos_trace_fill_comm(struct trace_build *build, const struct trace_device *row,
                           const struct trace_call *launched_by, struct lumos_comm *comm) {
  struct lumos_job *job = build->job;
  const struct trace_call_detail call = lumos_trace_detail_of_call(build, launched_by);
  const struct trace_comm *args = arguments_of(build, row, &call);
  uint32_t batched = row->comm == LUMOS_NONE && call.comm == LUMOS_NONE ? call.batch_count : 0;
  const char *op = choose_op(build, batched > 1 ? NULL : args, row, &call);
  comm->op = lumos_intern_text(job->strings, op);
  if (args == NULL) {
    return;
  }
  comm->id = args->comms_id;
  comm->seq = args->sequence;
  comm->dtype = args->dtype;
  comm->bytes = payload(args, lumos_string(job->strings, args->dtype));
  if (args->group != LUMOS_NO_STRING) {
    const struct trace_group_facts facts = group_of(build, args, &call);
    comm->group = lumos_trace_group(build, &facts) != LUMOS_NONE ? args->group : LUMOS_NO_STRING;
  }
  comm->bytes = args->bytes != LUMOS_ABSENT ? args->bytes : comm->bytes;
  if (args->peers != LUMOS_NO_STRING) {
    add_listed_peers(job, comm, lumos_string(job->strings, args->peers));
  } else if (batched > 0) {
    add_batch(build, comm, &call);
  } else if (strcmp(op, "send") == 0) {
    add_peer(job, comm, args->target, true, comm->bytes);
  } else if (strcmp(op, "recv") == 0) {
    add_peer(job, comm, args->source, false, comm->bytes);
  }
}

bool lumos_trace_is_p2p(const struct lumos_job *job, lumos_string_id op) {
  const char *name = lumos_string(job->strings, op);
  return strcmp(name, "send") == 0 || strcmp(name, "recv") == 0 || strcmp(name, "send_recv") == 0;
}
