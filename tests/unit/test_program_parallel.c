/* How ranks are spread: what names of groups say, what use says, and what contradicts itself. */
#include "program/axis.h"
#include "unit/graph_job.h"

#include <lumos/program.h>
#include <lumos/stream.h>

static void names_say_roles_and_axes(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int role, axis;
  } expected[] = {
      {"TENSOR_MODEL_PARALLEL_GROUP", LUMOS_TENSOR, AXIS_TENSOR},
      {"tensor_model_parallel_group", LUMOS_TENSOR, AXIS_TENSOR},
      {"PIPELINE_MODEL_PARALLEL_GROUP", LUMOS_PIPELINE, AXIS_PIPELINE},
      {"DATA_PARALLEL_GROUP", LUMOS_DATA, AXIS_DATA},
      {"DATA_PARALLEL_GROUP_GLOO", LUMOS_DATA, AXIS_DATA},
      {"DATA_PARALLEL_GROUP_WITH_CP", LUMOS_DATA, AXIS_NONE},
      {"CONTEXT_PARALLEL_GROUP", LUMOS_CONTEXT, AXIS_CONTEXT},
      {"EXPERT_MODEL_PARALLEL_GROUP", LUMOS_EXPERT, AXIS_EXPERT},
      {"EXPERT_DATA_PARALLEL_GROUP", LUMOS_DATA, AXIS_NONE},
      {"MODEL_PARALLEL_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
      {"EMBEDDING_GROUP", LUMOS_OTHER_ROLE, AXIS_NONE},
      {"mesh_tp", LUMOS_TENSOR, AXIS_TENSOR},
      {"mesh_pp", LUMOS_PIPELINE, AXIS_PIPELINE},
      {"mesh_dp_shard", LUMOS_DATA, AXIS_SHARD},
      {"mesh_dp_replicate", LUMOS_DATA, AXIS_REPLICATE},
      {"mesh_dp_shard_cp", LUMOS_DATA, AXIS_NONE},
      {"mesh_ep", LUMOS_EXPERT, AXIS_EXPERT},
      {"dp", LUMOS_DATA, AXIS_DATA},
      {"mesh_dim_0", 0, AXIS_NONE},
      {"mesh_", 0, AXIS_NONE},
      {"default_pg", 0, AXIS_NONE},
      {"undefined", 0, AXIS_NONE},
      {"_gloo", 0, AXIS_NONE},
      {"", 0, AXIS_NONE},
  };
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
    enum program_axis axis = AXIS_TENSOR;
    int role = program_role_of_name(expected[i].name, &axis);
    if (role != expected[i].role || (int)axis != expected[i].axis) {
      fail_msg("%s: role %d, axis %d", expected[i].name, role, (int)axis);
    }
  }
}

/* --- Jobs whose groups have names, in which nothing happens --- */

/* Add a group of the ranks first, first + stride and so on, under the lowest. */
static void add_group(struct lumos_job *job, const char *id, const char *name, int32_t first, int32_t stride,
                      int32_t size) {
  struct lumos_group group = lumos_group_empty;
  group.rank = lumos_job_rank(job, first);
  group.rank = group.rank == LUMOS_NONE ? 0 : group.rank;
  group.id = word(job, id);
  group.name = name == NULL ? LUMOS_NO_STRING : word(job, name);
  group.size = size;
  group.member_first = (uint32_t)job->group_ranks.count;
  group.member_count = (uint32_t)size;
  for (int32_t i = 0; i < size; i++) {
    lumos_vector_push(&job->group_ranks, first + i * stride);
  }
  lumos_vector_push(&job->groups, group);
}

static void add_idle_rank(struct lumos_job *job, int32_t number, int32_t world) {
  uint32_t rank = add_rank(job, number);
  job->ranks.items[rank].world = world;
  (void)add_thread(job, rank, "1");
}

static struct lumos_job *job_of(int32_t world, int32_t present) {
  struct lumos_job *job = new_job();
  for (int32_t rank = 0; rank < present; rank++) {
    add_idle_rank(job, rank, world);
  }
  return job;
}

static void build_sound(struct lumos_job *job) {
  struct lumos_error error = {0};
  build(job);
  if (!lumos_job_check(job, &error)) {
    fail_msg("%s", error.text);
  }
}

static const struct lumos_parallel *sizes_of(const struct lumos_job *job) {
  static const struct lumos_model_description none = {.sizes = {0}};
  return job->models.count == 0 ? &none.sizes : &job->models.items[0].sizes;
}

static void expect_sizes(const struct lumos_job *job, int32_t tp, int32_t pp, int32_t dp) {
  const struct lumos_parallel *sizes = sizes_of(job);
  assert_int_equal(sizes->tp, tp);
  assert_int_equal(sizes->pp, pp);
  assert_int_equal(sizes->dp, dp);
}

static void expect_place(const struct lumos_job *job, uint32_t rank, int32_t tp, int32_t pp, int32_t dp) {
  const struct lumos_parallel *place = &job->ranks.items[rank].parallel;
  assert_int_equal(place->tp, tp);
  assert_int_equal(place->pp, pp);
  assert_int_equal(place->dp, dp);
}

static bool contradicts(const struct lumos_job *job, const char *text) {
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (strcmp(lumos_string(job->strings, note->code), "graph.parallel") == 0) {
      return strstr(lumos_string(job->strings, note->text), text) != NULL;
    }
  }
  return false;
}

static void one_rank_of_many_knows_its_place(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  add_idle_rank(job, 11, 16); /* of tp 2, pp 2, dp 4: tensor 1, data 1, second stage */
  add_group(job, "1", "TENSOR_MODEL_PARALLEL_GROUP", 10, 1, 2);
  add_group(job, "2", "DATA_PARALLEL_GROUP", 9, 2, 4);
  add_group(job, "3", "PIPELINE_MODEL_PARALLEL_GROUP", 3, 8, 2);
  build_sound(job);
  expect_sizes(job, 2, 2, 4);
  expect_place(job, 0, 1, 1, 1);
  assert_int_equal(job->groups.items[0].role, LUMOS_TENSOR);
  assert_int_equal(job->groups.items[1].role, LUMOS_DATA);
  assert_int_equal(job->groups.items[2].role, LUMOS_PIPELINE);
  const struct lumos_model_evidence *evidence = &job->models.items[0].evidence;
  assert_string_equal(lumos_string(job->strings, evidence->tp), "names: TENSOR_MODEL_PARALLEL_GROUP of 2 ranks");
  lumos_job_free(job);
}

/* 8 ranks, tp 2 and dp 4, of which `stride` apart share experts in fours or twos; rank 5's group of these is not known.
 * What experts it has: -1 is absent. */
static int32_t expert_of_rank_5(int32_t shared, int32_t stride) {
  static const char *const ids[] = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"};
  struct lumos_job *job = job_of(8, 8);
  int at = 0;
  for (int32_t i = 0; i < 4; i++) {
    add_group(job, ids[at++], "TENSOR_MODEL_PARALLEL_GROUP", 2 * i, 1, 2);
  }
  for (int32_t i = 0; i < 2; i++) {
    add_group(job, ids[at++], "DATA_PARALLEL_GROUP", i, 2, 4);
  }
  for (int32_t first = 0; first < 8; first++) {
    bool begins = stride == 1 ? first % shared == 0 : first % (shared * stride) < stride;
    bool unknown = first <= 5 && 5 < first + shared * stride && (5 - first) % stride == 0;
    if (begins && !unknown) {
      add_group(job, ids[at++], "EXPERT_MODEL_PARALLEL_GROUP", first, stride, shared);
    }
  }
  build_sound(job);
  expect_sizes(job, 2, 1, 4);
  assert_int_equal(sizes_of(job)->ep, shared);
  int32_t place = job->ranks.items[5].parallel.ep;
  lumos_job_free(job);
  return place == LUMOS_ABSENT_INT ? -1 : place;
}

/* Where ranks in a row share experts, tensor-parallel ones among them, a number tells a place; where those do that have
 * the same part of tensors (expert tensor parallelism), it does not. */
static void numbers_tell_experts_in_rows(void **state) {
  (void)state;
  assert_int_equal(expert_of_rank_5(2, 1), 1);
  assert_int_equal(expert_of_rank_5(4, 1), 1);
  assert_int_equal(expert_of_rank_5(2, 2), -1);
}

static void names_say_what_of_experts(void **state) {
  (void)state;
  assert_int_equal(program_experts_of_name("EXPERT_MODEL_PARALLEL_GROUP"), PROGRAM_SHARED_EXPERTS);
  assert_int_equal(program_experts_of_name("EXPERT_DATA_PARALLEL_GROUP"), PROGRAM_SAME_EXPERTS);
  assert_int_equal(program_experts_of_name("EXPERT_TENSOR_MODEL_PIPELINE_PARALLEL_GROUP"), PROGRAM_ALL_EXPERTS);
  assert_int_equal(program_experts_of_name("DATA_PARALLEL_GROUP"), PROGRAM_NO_EXPERTS);
  assert_int_equal(program_experts_of_name(""), PROGRAM_NO_EXPERTS);
}

static void shards_and_replicas_are_one_axis(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  add_idle_rank(job, 6, 8);
  add_group(job, "1", "mesh_dp_shard", 4, 1, 4);
  add_group(job, "2", "mesh_dp_replicate", 2, 4, 2);
  build_sound(job);
  expect_sizes(job, 1, 1, 8);
  expect_place(job, 0, 0, 0, 6);
  lumos_job_free(job);
}

static void what_names_leave_of_the_world_is_data(void **state) {
  (void)state;
  struct lumos_job *job = job_of(8, 8);
  for (int32_t rank = 0; rank < 8; rank += 2) {
    char id[4] = {'t', (char)('0' + rank), '\0'};
    add_group(job, id, "mesh_tp", rank, 1, 2);
  }
  build_sound(job);
  expect_sizes(job, 2, 1, 4);
  expect_place(job, 5, 1, 0, 2);
  lumos_job_free(job);
}

static void contradictions_are_said_and_nothing_else(void **state) {
  (void)state;
  struct lumos_job *job = job_of(8, 2); /* 2 x 2 x 4 are 16 */
  add_group(job, "1", "mesh_tp", 0, 1, 2);
  add_group(job, "2", "mesh_dp", 0, 2, 4);
  add_group(job, "3", "mesh_pp", 0, 8, 2);
  build_sound(job);
  assert_true(contradicts(job, "they give tp 2 x pp 2 x dp 4"));
  assert_int_equal(job->models.count, 0);
  assert_false(job->ranks.items[0].has_parallel);
  assert_int_equal(job->groups.items[0].role, LUMOS_TENSOR);
  lumos_job_free(job);

  job = job_of(6, 2); /* groups of an axis differ */
  add_group(job, "1", "mesh_dp", 0, 2, 3);
  add_group(job, "2", "mesh_dp", 1, 2, 2);
  build_sound(job);
  assert_true(contradicts(job, "data-parallel groups have both 3 and 2 ranks"));
  assert_int_equal(job->models.count, 0);
  lumos_job_free(job);

  job = job_of(6, 1); /* one rank, two groups of an axis */
  add_group(job, "1", "mesh_tp", 0, 1, 2);
  add_group(job, "2", "mesh_tensor", 0, 2, 2);
  build_sound(job);
  assert_true(contradicts(job, "rank 0 has two groups that both seem to be tensor-parallel"));
  lumos_job_free(job);
}

static void nothing_known_is_nothing_said(void **state) {
  (void)state;
  struct lumos_job *job = job_of(4, 4);
  add_group(job, "0", "default_pg", 0, 1, 4);
  build_sound(job);
  assert_int_equal(job->models.count, 0);
  assert_int_equal(job->notes.count, 0);
  assert_false(job->ranks.items[0].has_parallel);
  assert_int_equal(job->groups.items[0].role, 0);
  lumos_job_free(job);

  job = job_of(1, 1); /* a rank alone is spread along no axis */
  build_sound(job);
  expect_sizes(job, 1, 1, 1);
  expect_place(job, 0, 0, 0, 0);
  lumos_job_free(job);
}

/* --- Jobs that communicate. Every rank: one step; forward from 0, backward from 1000, of it between autograd's nodes
 * from 1500 to 1599, behind it from 2000 --- */

enum { BACKWARD = 1000, BETWEEN = 15 /* hundreds */ };

struct message {
  int at;
  enum lumos_task_kind kind;
  const char *op, *group;
  int64_t bytes;
  int32_t from, to; /* of a transfer; -1: none */
};

static uint32_t add_op(struct lumos_job *job, uint32_t lane, const char *name, int64_t start, int64_t dur) {
  struct lumos_span span = lumos_span_empty;
  span.rank = job->lanes.items[lane].rank;
  span.lane = lane;
  span.kind = LUMOS_SPAN_OP;
  span.name = word(job, name);
  span.start = start;
  span.dur = dur;
  for (size_t i = 0; i < job->spans.count; i++) {
    span.id += job->spans.items[i].rank == span.rank;
  }
  lumos_vector_push(&job->spans, span);
  return (uint32_t)job->spans.count - 1;
}

static void describe(struct lumos_job *job, uint32_t kernel, const struct message *message) {
  struct lumos_comm *comm = &detail(job, kernel)->comm;
  comm->op = word(job, message->op);
  comm->group = message->group == NULL ? LUMOS_NO_STRING : word(job, message->group);
  comm->bytes = message->bytes;
  comm->peer_first = (uint32_t)job->peers.count;
  if (message->to >= 0) {
    lumos_vector_push(&job->peers, ((struct lumos_peer){message->to, message->bytes, 0}));
  }
  if (message->from >= 0) {
    lumos_vector_push(&job->peers, ((struct lumos_peer){message->from, 0, message->bytes}));
  }
  comm->peer_count = (uint32_t)(job->peers.count - comm->peer_first);
}

/* Launches on the thread of their place, all in one op where that is the backward pass, then the kernels. */
static void train(struct lumos_job *job, int32_t number, int32_t world, const struct message *messages, size_t count) {
  enum { MOST = 16 };
  uint32_t calls[MOST];
  uint32_t rank = add_rank(job, number);
  job->ranks.items[rank].world = world;
  uint32_t threads[] = {add_thread(job, rank, "1"), add_thread(job, rank, "2")};
  uint32_t stream = add_stream(job, rank, "7");
  for (int backward = 0; backward < 2; backward++) {
    uint32_t op = backward ? add_op(job, threads[1], "autograd::engine::evaluate_function: Mm", BACKWARD, 900) : 0;
    for (size_t i = 0; i < count; i++) {
      bool here = (messages[i].at / BACKWARD == 1) == (backward == 1);
      if (here) {
        calls[i] = add_launch(job, threads[backward], messages[i].at, 1);
        job->tasks.items[calls[i]].span = backward && messages[i].at / 100 != BETWEEN ? op : LUMOS_NONE;
      }
    }
    if (backward) { /* there always is one */
      uint32_t last = add_task(job, threads[1], LUMOS_OP, "mm", BACKWARD + 900, 1);
      job->tasks.items[last].span = op;
    }
  }
  for (size_t i = 0; i < count; i++) {
    uint32_t kernel = add_task(job, stream, messages[i].kind, "ncclDevKernel", messages[i].at + 2, 5);
    job->tasks.items[kernel].call = calls[i];
    if (messages[i].op != NULL) {
      describe(job, kernel, &messages[i]);
    }
  }
}

#define SUM(at, group, bytes) \
  { at, LUMOS_COLLECTIVE, "all_reduce", group, bytes, -1, -1 }
#define OP(at, op, group) \
  { at, LUMOS_COLLECTIVE, op, group, 1 << 20, -1, -1 }
#define PRODUCT(at) \
  { at, LUMOS_GEMM, NULL, NULL, 0, -1, -1 }
#define SEND(at, to) \
  { at, LUMOS_P2P, "send", "p", 4096, -1, to }
#define RECEIVE(at, from) \
  { at, LUMOS_P2P, "recv", "p", 4096, from, -1 }
#define COUNT(array) (sizeof(array) / sizeof *(array))

enum { MEGABYTE = 1 << 20 };

/* The role of the group "g" of ranks 0 and 1 in which rank 0 does this. */
static int role_by_use(const struct message *messages, size_t count, bool attention) {
  struct lumos_job *job = new_job();
  train(job, 0, 2, messages, count);
  if (attention) {
    uint32_t stream = (uint32_t)job->lanes.count - 1;
    uint32_t kernel = add_task(job, stream, LUMOS_ATTENTION, "flash", 4000, 5);
    job->tasks.items[kernel].call = 0;
  }
  add_group(job, "g", "undefined", 0, 1, 2);
  add_group(job, "p", "undefined", 0, 1, 2);
  build_sound(job);
  int role = job->groups.items[0].role;
  lumos_job_free(job);
  return role;
}
#define EXPECT_ROLE(role, attention, ...)                                      \
  do {                                                                         \
    static const struct message messages[] = {__VA_ARGS__};                    \
    assert_int_equal(role_by_use(messages, COUNT(messages), attention), role); \
  } while (0)

static void use_says_roles(void **state) {
  (void)state;
  EXPECT_ROLE(LUMOS_TENSOR, false, SUM(10, "g", MEGABYTE), SUM(20, "g", MEGABYTE), SUM(1010, "g", MEGABYTE));
  /* Sequence parallelism scatters and gathers instead. */
  EXPECT_ROLE(LUMOS_TENSOR, false, OP(10, "all_gather", "g"), OP(20, "reduce_scatter", "g"), OP(30, "all_gather", "g"),
              OP(40, "reduce_scatter", "g"), OP(1010, "all_gather", "g"));
  /* A loss in every micro-batch is little. */
  EXPECT_ROLE(LUMOS_DATA, false, SUM(10, "g", 4), SUM(20, "g", 4), SUM(1010, "g", MEGABYTE));
  EXPECT_ROLE(LUMOS_DATA, false, SUM(1010, "g", MEGABYTE));
  /* Autograd's thread launches some of the sums of gradients between its nodes: fewer than in them, and no products. */
  EXPECT_ROLE(LUMOS_DATA, false, SUM(1010, "g", MEGABYTE), PRODUCT(1020), PRODUCT(1030), SUM(1510, "g", MEGABYTE),
              SUM(1520, "g", MEGABYTE));
  EXPECT_ROLE(LUMOS_TENSOR, false, SUM(1010, "g", MEGABYTE), PRODUCT(1020), PRODUCT(1030), SUM(1510, "g", MEGABYTE),
              SUM(1520, "g", MEGABYTE), PRODUCT(1530));
  EXPECT_ROLE(LUMOS_TENSOR, false, SUM(1010, "g", MEGABYTE), SUM(1510, "g", MEGABYTE), SUM(1520, "g", MEGABYTE));
  EXPECT_ROLE(LUMOS_DATA, false, SUM(2010, "g", MEGABYTE));
  EXPECT_ROLE(LUMOS_OTHER_ROLE, false, SUM(2010, "g", 4)); /* a norm of gradients */
  EXPECT_ROLE(0, false, SUM(2010, "g", LUMOS_ABSENT));
  /* Weights in shards are gathered for every layer. */
  EXPECT_ROLE(LUMOS_DATA, false, OP(10, "all_gather", "g"), OP(20, "all_gather", "g"), OP(1010, "all_gather", "g"),
              OP(1020, "reduce_scatter", "g"));
  EXPECT_ROLE(LUMOS_DATA, false, OP(2010, "reduce_scatter", "g"), OP(2020, "all_gather", "g"));
  EXPECT_ROLE(LUMOS_OTHER_ROLE, false, OP(10, "broadcast", "g"));
  EXPECT_ROLE(LUMOS_EXPERT, true, OP(10, "all_to_all", "g"), OP(20, "all_to_all", "g"), OP(1010, "all_to_all", "g"),
              OP(1020, "all_to_all", "g"));
  /* Embedding tables of a recommender are exchanged the same way. */
  EXPECT_ROLE(0, false, OP(10, "all_to_all", "g"), OP(20, "all_to_all", "g"), OP(1010, "all_to_all", "g"),
              OP(1020, "all_to_all", "g"));
  /* Gathering alone may be anything. */
  EXPECT_ROLE(0, false, OP(10, "all_gather", "g"));
}

static void transfers_of_layers_are_no_pipeline(void **state) {
  (void)state;
  static const struct message ring[] = {SEND(10, 1), RECEIVE(20, 1), SEND(1010, 1), RECEIVE(1020, 1)};
  struct lumos_job *job = new_job();
  train(job, 0, 2, ring, COUNT(ring));
  add_group(job, "p", "undefined", 0, 1, 2);
  build_sound(job);
  assert_int_equal(job->groups.items[0].role, LUMOS_CONTEXT);
  lumos_job_free(job);
}

/* Three ranks of one pipeline: the middle one in number may be first. `first`, `second`, `third`: ranks by stage. */
static struct lumos_job *pipeline(int32_t first, int32_t second, int32_t third) {
  const struct message by_stage[3][4] = {
      {SEND(10, second), RECEIVE(500, second)},
      {RECEIVE(10, first), SEND(20, third), RECEIVE(500, third), SEND(2010, first)},
      {RECEIVE(10, second), SEND(500, second)},
  };
  const size_t counts[] = {2, 4, 2};
  const int32_t ranks[] = {first, second, third};
  struct lumos_job *job = new_job();
  for (int32_t rank = 0; rank < 3; rank++) {
    for (int stage = 0; stage < 3; stage++) {
      if (ranks[stage] == rank) {
        train(job, rank, 3, by_stage[stage], counts[stage]);
      }
    }
  }
  add_group(job, "p", "undefined", 0, 1, 3);
  build_sound(job);
  return job;
}

static void stages_are_in_the_order_in_which_activations_go(void **state) {
  (void)state;
  struct lumos_job *job = pipeline(0, 1, 2);
  expect_sizes(job, 1, 3, 1);
  for (uint32_t rank = 0; rank < 3; rank++) {
    expect_place(job, rank, 0, (int32_t)rank, 0);
  }
  lumos_job_free(job);
  job = pipeline(2, 1, 0);
  for (uint32_t rank = 0; rank < 3; rank++) {
    expect_place(job, rank, 0, 2 - (int32_t)rank, 0);
  }
  lumos_job_free(job);
  /* Neither up nor down the group's list: stages are left open, the sizes hold. */
  job = pipeline(1, 0, 2);
  expect_sizes(job, 1, 3, 1);
  for (uint32_t rank = 0; rank < 3; rank++) {
    expect_place(job, rank, 0, LUMOS_ABSENT_INT, 0);
  }
  lumos_job_free(job);
}

/* Gradients are scattered among shards and summed over replicas: two groups, one axis, whose size is what the world
 * leaves. */
static void two_groups_of_gradients_are_one_axis(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  for (int32_t rank = 0; rank < 4; rank++) {
    const char *shards = rank < 2 ? "s0" : "s1";
    const char *replicas = rank % 2 == 0 ? "r0" : "r1";
    const struct message messages[] = {OP(10, "all_gather", shards), OP(1010, "all_gather", shards),
                                       OP(1020, "reduce_scatter", shards), SUM(1030, replicas, MEGABYTE)};
    train(job, rank, 4, messages, COUNT(messages));
  }
  add_group(job, "s0", "undefined", 0, 1, 2);
  add_group(job, "s1", "undefined", 2, 1, 2);
  add_group(job, "r0", "undefined", 0, 2, 2);
  add_group(job, "r1", "undefined", 1, 2, 2);
  build_sound(job);
  expect_sizes(job, 1, 1, 4);
  for (uint32_t rank = 0; rank < 4; rank++) {
    expect_place(job, rank, 0, 0, (int32_t)rank);
  }
  assert_false(contradicts(job, ""));
  lumos_job_free(job);
}

/* First and last stage share an embedding, whose gradients they sum: that is no data parallelism. */
static void a_shared_embedding_is_not_data_parallel(void **state) {
  (void)state;
  static const struct message first[] = {SEND(10, 1), RECEIVE(500, 1), SUM(2010, "g", 64 * MEGABYTE)};
  static const struct message last[] = {RECEIVE(10, 0), SEND(500, 0), SUM(2010, "g", 64 * MEGABYTE)};
  for (int32_t present = 1; present <= 2; present++) {
    struct lumos_job *job = new_job();
    train(job, 0, 2, first, COUNT(first));
    if (present == 2) {
      train(job, 1, 2, last, COUNT(last));
    }
    add_group(job, "g", "undefined", 0, 1, 2);
    add_group(job, "p", "undefined", 0, 1, 2);
    build_sound(job);
    expect_sizes(job, 1, 2, 1);
    assert_int_equal(job->groups.items[0].role, LUMOS_OTHER_ROLE);
    assert_int_equal(job->groups.items[1].role, LUMOS_PIPELINE);
    lumos_job_free(job);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_say_roles_and_axes),
      cmocka_unit_test(one_rank_of_many_knows_its_place),
      cmocka_unit_test(numbers_tell_experts_in_rows),
      cmocka_unit_test(names_say_what_of_experts),
      cmocka_unit_test(shards_and_replicas_are_one_axis),
      cmocka_unit_test(what_names_leave_of_the_world_is_data),
      cmocka_unit_test(contradictions_are_said_and_nothing_else),
      cmocka_unit_test(nothing_known_is_nothing_said),
      cmocka_unit_test(use_says_roles),
      cmocka_unit_test(transfers_of_layers_are_no_pipeline),
      cmocka_unit_test(stages_are_in_the_order_in_which_activations_go),
      cmocka_unit_test(two_groups_of_gradients_are_one_axis),
      cmocka_unit_test(a_shared_embedding_is_not_data_parallel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
