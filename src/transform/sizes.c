#include "transform/sizes.h"

#include "base/ascii.h"
#include "base/text.h"
#include "transform/experts.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1 << 26 }; /* Chosen: more than any model's */

/* By enum lumos_size: as the options and the model's description name them, and where the model has them and how they
 * are known. */
static const struct {
  const char *name, *of_model;
  size_t offset, evidence;
} members[LUMOS_SIZES] = {
    {"hidden", "hidden", offsetof(struct lumos_model_description, hidden),
     offsetof(struct lumos_model_description, evidence.hidden)},
    {"ffn", "ffn", offsetof(struct lumos_model_description, ffn),
     offsetof(struct lumos_model_description, evidence.ffn)},
    {"heads", "heads", offsetof(struct lumos_model_description, heads),
     offsetof(struct lumos_model_description, evidence.heads)},
    {"kv-heads", "kv_heads", offsetof(struct lumos_model_description, kv_heads),
     offsetof(struct lumos_model_description, evidence.kv_heads)},
    {"head-dim", "head_dim", offsetof(struct lumos_model_description, head_dim),
     offsetof(struct lumos_model_description, evidence.head_dim)},
    {"seq", "sequence", offsetof(struct lumos_model_description, sequence),
     offsetof(struct lumos_model_description, evidence.sequence)},
    {"micro-batch", "micro_batch", offsetof(struct lumos_model_description, micro_batch),
     offsetof(struct lumos_model_description, evidence.micro_batch)},
    {"vocab", "vocabulary", offsetof(struct lumos_model_description, vocabulary),
     offsetof(struct lumos_model_description, evidence.vocabulary)},
};

static int32_t *member_of(struct lumos_model_description *model, int size) {
  return (int32_t *)(void *)((char *)model + members[size].offset);
}

/* Feed-forward blocks of which each token takes some: one product of several weights, of which the model record says
 * nothing. */
static void read_experts(const struct lumos_job *job, struct lumos_sizes *sizes) {
  const int64_t *was = sizes->was;
  if (was[LUMOS_FFN] != LUMOS_ABSENT || was[LUMOS_HIDDEN] == LUMOS_ABSENT) {
    return;
  }
  bool known = was[LUMOS_SEQUENCE] != LUMOS_ABSENT && was[LUMOS_MICRO_BATCH] != LUMOS_ABSENT;
  sizes->whole_experts = lumos_experts_are_whole(job);
  int64_t spread = sizes->contexts_were * (sizes->whole_experts ? sizes->shards_were : 1);
  int64_t shards = sizes->whole_experts ? 1 : sizes->shards_were;
  struct lumos_experts experts =
      lumos_experts_find(job, was[LUMOS_HIDDEN], known ? was[LUMOS_SEQUENCE] * was[LUMOS_MICRO_BATCH] / spread : 0);
  if (experts.chosen > 0 && experts.ffn <= LARGEST / shards && experts.count <= LARGEST &&
      experts.chosen <= experts.count * sizes->owners_were) {
    sizes->experts = experts.count * sizes->owners_were;
    sizes->chosen = experts.chosen;
    sizes->ffn_matrices = experts.gate ? 3 : 2;
    sizes->was[LUMOS_FFN] = sizes->now[LUMOS_FFN] = experts.ffn * shards;
  }
}

static int64_t at_least_one(int32_t size) { return size > 0 && size <= LARGEST ? size : 1; }

static struct lumos_spread recorded_spread(const struct lumos_job *job) {
  const struct lumos_parallel *sizes =
      job->models.count > 0 ? &job->models.items[0].sizes : &lumos_model_description_empty.sizes;
  return (struct lumos_spread){(int32_t)at_least_one(sizes->cp), (int32_t)at_least_one(sizes->tp)};
}

/* Of shapes that are spread so. */
static void read_model(const struct lumos_job *job, struct lumos_spread spread, struct lumos_sizes *sizes) {
  struct lumos_model_description model = job->models.count > 0 ? job->models.items[0] : lumos_model_description_empty;
  for (int i = 0; i < LUMOS_SIZES; i++) {
    int32_t value = *member_of(&model, i);
    sizes->was[i] = value == LUMOS_ABSENT_INT || value < 1 || value > LARGEST ? LUMOS_ABSENT : value;
    sizes->now[i] = sizes->was[i];
  }
  sizes->shards = sizes->shards_were = spread.shards;
  sizes->ffn_matrices = model.ffn_matrices == 3 ? 3 : 2;
  sizes->parts_were = sizes->parts = 1;
  sizes->contexts = sizes->contexts_were = spread.contexts;
  sizes->owners = sizes->owners_were = at_least_one(model.sizes.ep);
  sizes->experts = sizes->chosen = 0;
  sizes->whole_experts = false;
  read_experts(job, sizes);
}

/* "hidden=4096" at *at, which moves behind it and a comma. */
static bool read_one(const char **at, bool recorded, struct lumos_sizes *sizes, bool given[LUMOS_SIZES],
                     struct lumos_error *error) {
  const char *equals = strchr(*at, '=');
  size_t length = equals == NULL ? 0 : (size_t)(equals - *at);
  int size = 0;
  while (size < LUMOS_SIZES &&
         (strlen(members[size].name) != length || strncmp(members[size].name, *at, length) != 0)) {
    size++;
  }
  if (equals == NULL || size == LUMOS_SIZES) {
    return lumos_fail(error, "'%.60s' does not begin with a size of the model and '=', such as hidden=4096", *at);
  }
  char *behind = NULL;
  long number = lumos_is_digit(equals[1]) ? strtol(equals + 1, &behind, 10) : 0;
  if (number < 1 || number > LARGEST || (*behind != '\0' && *behind != ',')) {
    return lumos_fail(error, "option --%s: '%.60s' is not a whole number from 1 to %d", members[size].name, equals + 1,
                      LARGEST);
  }
  *at = *behind == ',' ? behind + 1 : behind;
  if (sizes->was[size] == LUMOS_ABSENT) {
    bool helps = recorded || size == LUMOS_MICRO_BATCH;
    return lumos_fail(error,
                      "option --%s: the recording does not show the size that it would replace; record with "
                      "record_shapes=True%s%s%s",
                      members[size].name, helps ? ", or describe the model with lumos-graph --model-file, by its " : "",
                      helps ? members[size].of_model : "", helps ? " at least" : "");
  }
  sizes->now[size] = number;
  given[size] = true;
  return true;
}

static bool known(const int64_t *sizes, int a, int b) { return sizes[a] != LUMOS_ABSENT && sizes[b] != LUMOS_ABSENT; }

/* Keep the ratio of a size to another that has changed; false: it is no whole number. */
static bool follow(struct lumos_sizes *sizes, int size, int64_t was, int64_t now) {
  if (sizes->was[size] == LUMOS_ABSENT || was == now) {
    return true;
  }
  sizes->now[size] = sizes->was[size] * now / was;
  return sizes->was[size] * now % was == 0 && sizes->now[size] > 0;
}

/* What attention is as wide as keeps its ratio to hidden: by more heads, or, where those are given, by larger ones. */
static bool follow_width(struct lumos_sizes *sizes, const bool given[LUMOS_SIZES]) {
  if (!known(sizes->was, LUMOS_HEADS, LUMOS_HEAD_DIM) || (given[LUMOS_HEADS] && given[LUMOS_HEAD_DIM])) {
    return true;
  }
  __int128 wanted = (__int128)sizes->was[LUMOS_HEADS] * sizes->was[LUMOS_HEAD_DIM] * sizes->now[LUMOS_HIDDEN];
  int other = given[LUMOS_HEADS] ? LUMOS_HEAD_DIM : LUMOS_HEADS;
  __int128 by = (__int128)sizes->was[LUMOS_HIDDEN] * sizes->now[given[LUMOS_HEADS] ? LUMOS_HEADS : LUMOS_HEAD_DIM];
  sizes->now[other] = wanted / by > LARGEST ? LARGEST + INT64_C(1) : (int64_t)(wanted / by);
  return wanted % by == 0 && sizes->now[other] > 0;
}

static bool fail_ratio(int size, struct lumos_error *error) {
  return lumos_fail(error, "%s keeps its ratio to the other sizes, and would be no whole number; give --%s, too",
                    members[size].name, members[size].name);
}

static bool derive(struct lumos_sizes *sizes, const bool given[LUMOS_SIZES], struct lumos_error *error) {
  int64_t *was = sizes->was, *now = sizes->now;
  bool hidden = was[LUMOS_HIDDEN] != LUMOS_ABSENT;
  if (hidden && !given[LUMOS_FFN] && !follow(sizes, LUMOS_FFN, was[LUMOS_HIDDEN], now[LUMOS_HIDDEN])) {
    return fail_ratio(LUMOS_FFN, error);
  }
  bool widens = given[LUMOS_HIDDEN] || given[LUMOS_HEADS] || given[LUMOS_HEAD_DIM];
  if (hidden && widens && !follow_width(sizes, given)) {
    return fail_ratio(given[LUMOS_HEADS] ? LUMOS_HEAD_DIM : LUMOS_HEADS, error);
  }
  if (was[LUMOS_HEADS] != LUMOS_ABSENT && !given[LUMOS_KV_HEADS] &&
      !follow(sizes, LUMOS_KV_HEADS, was[LUMOS_HEADS], now[LUMOS_HEADS])) {
    return fail_ratio(LUMOS_KV_HEADS, error);
  }
  return true;
}

/* Each rank of a context group has an early and a late piece of a sequence, so that attention is as much for all of
 * them. */
static bool in_pieces(int64_t sequence, int64_t contexts) { return contexts == 1 || sequence % (2 * contexts) == 0; }

static bool fail_pieces(const struct lumos_sizes *sizes, struct lumos_error *error) {
  int64_t multiple = 2 * sizes->contexts;
  return lumos_fail(
      error,
      "a sequence of %lld tokens cannot be divided into two pieces for each of the %lld ranks of a context "
      "group (--cp); give a multiple of %lld",
      (long long)sizes->now[LUMOS_SEQUENCE], (long long)sizes->contexts, (long long)multiple);
}

/* What tensor parallelism divides must go up in its ranks; one key-value head may be on several. */
static bool check(const struct lumos_sizes *sizes, struct lumos_error *error) {
  static const int divided[] = {LUMOS_FFN, LUMOS_HEADS, LUMOS_VOCABULARY, LUMOS_SEQUENCE};
  for (size_t i = 0; i < sizeof divided / sizeof *divided; i++) {
    int64_t was = sizes->was[divided[i]], value = sizes->now[divided[i]];
    bool whole = divided[i] == LUMOS_FFN && sizes->whole_experts;
    int64_t rest = value == LUMOS_ABSENT || whole || was % sizes->shards != 0 ? 0 : value % sizes->shards;
    int64_t nearest = value + (2 * rest <= sizes->shards && value > rest ? -rest : sizes->shards - rest);
    if (rest != 0) {
      return lumos_fail(error,
                        "--%s=%lld cannot be divided by the %lld ranks of a tensor-parallel group; the nearest that "
                        "can is %lld",
                        members[divided[i]].name, (long long)value, (long long)sizes->shards, (long long)nearest);
    }
  }
  const int64_t *now = sizes->now;
  if (now[LUMOS_SEQUENCE] != LUMOS_ABSENT && !in_pieces(now[LUMOS_SEQUENCE], sizes->contexts)) {
    return fail_pieces(sizes, error);
  }
  if (known(now, LUMOS_HEADS, LUMOS_KV_HEADS) && now[LUMOS_HEADS] % now[LUMOS_KV_HEADS] != 0) {
    return lumos_fail(error, "%lld heads cannot share %lld key-value heads evenly; give another --heads or --kv-heads",
                      (long long)now[LUMOS_HEADS], (long long)now[LUMOS_KV_HEADS]);
  }
  for (int i = 0; i < LUMOS_SIZES; i++) {
    if (now[i] != LUMOS_ABSENT && now[i] > LARGEST) {
      return lumos_fail(error, "--%s would be %lld, more than the %d that any model has", members[i].name,
                        (long long)now[i], LARGEST);
    }
  }
  return true;
}

bool lumos_sizes_recorded(const struct lumos_job *job) {
  bool recorded = false;
  for (size_t s = 0; s < job->spans.count && !recorded; s++) {
    recorded = job->spans.items[s].shapes != LUMOS_NO_STRING;
  }
  return recorded;
}

bool lumos_sizes_read(const struct lumos_job *job, const char *argument, struct lumos_sizes *sizes,
                      struct lumos_error *error) {
  bool given[LUMOS_SIZES] = {false}, recorded = lumos_sizes_recorded(job);
  read_model(job, recorded_spread(job), sizes);
  for (const char *at = argument; *at != '\0';) {
    if (!read_one(&at, recorded, sizes, given, error)) {
      return false;
    }
  }
  return derive(sizes, given, error) && check(sizes, error);
}

static int64_t common_divisor(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

bool lumos_sizes_in_contexts(const struct lumos_job *job, int32_t contexts, struct lumos_sizes *sizes,
                             struct lumos_error *error) {
  read_model(job, recorded_spread(job), sizes);
  int64_t sequence = sizes->was[LUMOS_SEQUENCE];
  sizes->contexts = contexts;
  if (sequence == LUMOS_ABSENT) {
    return lumos_fail(error,
                      "--cp %d: the recording does not show how long sequences are, so what is divided is not known; "
                      "record with record_shapes=True, and gather keys and values (cp_comm_type=all_gather)",
                      contexts);
  }
  return in_pieces(sequence, contexts) || fail_pieces(sizes, error);
}

/* The nearest number of ranks that can share so many experts. */
static int64_t nearest_owners(int64_t experts, int64_t owners) {
  int64_t below = owners < experts ? owners : experts, above = owners;
  while (experts % below != 0) {
    below--;
  }
  while (above < experts && experts % above != 0) {
    above++;
  }
  return above <= experts && above - owners < owners - below ? above : below;
}

bool lumos_sizes_on_owners(const struct lumos_job *job, struct lumos_spread spread, int32_t owners,
                           struct lumos_sizes *sizes, struct lumos_error *error) {
  read_model(job, spread, sizes);
  sizes->owners = owners;
  if (sizes->experts == 0) {
    return lumos_fail(error,
                      "--ep %d: the recording does not show the experts of layers, so what is divided is not known; "
                      "record with record_shapes=True, and grouped products (aten::_grouped_mm)",
                      owners);
  }
  return sizes->experts % owners == 0 ||
         lumos_fail(error, "--ep %d: %lld experts cannot be divided by so many ranks; the nearest is --ep %lld", owners,
                    (long long)sizes->experts, (long long)nearest_owners(sizes->experts, owners));
}

bool lumos_sizes_on_shards(const struct lumos_job *job, int32_t contexts, int32_t shards, struct lumos_sizes *sizes,
                           struct lumos_error *error) {
  static const int divided[] = {LUMOS_FFN, LUMOS_HEADS, LUMOS_VOCABULARY};
  int64_t all = 0; /* what divides all of them divides this */
  read_model(job, (struct lumos_spread){contexts, recorded_spread(job).shards}, sizes);
  for (size_t i = 0; i < sizeof divided / sizeof *divided; i++) {
    bool whole = divided[i] == LUMOS_FFN && sizes->whole_experts;
    int64_t size = whole ? LUMOS_ABSENT : sizes->was[divided[i]];
    all = size == LUMOS_ABSENT ? all : common_divisor(size, all);
  }
  sizes->shards = shards;
  if (sizes->whole_experts && sizes->shards_were == 1) { /* ranks send their parts of sequences to experts */
    sizes->parts = shards;
  }
  if (all == 0 || all % shards == 0) {
    return true;
  }
  int64_t below = shards, above = shards;
  while (all % below != 0) {
    below--;
  }
  while (above < all && all % above != 0) {
    above++;
  }
  return lumos_fail(
      error,
      "--tp %d does not divide the model's feed-forward block, heads and vocabulary; the nearest that does is %lld",
      shards, (long long)(above <= all && above - shards < shards - below ? above : below));
}

bool lumos_sizes_in_parts(const struct lumos_job *job, struct lumos_spread spread, bool on, struct lumos_sizes *sizes,
                          struct lumos_error *error) {
  read_model(job, spread, sizes);
  sizes->parts_were = on ? 1 : spread.shards;
  sizes->parts = on ? spread.shards : 1;
  if (sizes->whole_experts && sizes->experts > 0) {
    return lumos_fail(error, "--sequence-parallel: tensor-parallel ranks send their parts of sequences to experts, so "
                             "each goes on having one; leave --sequence-parallel out, or take --tp 1");
  }
  return sizes->experts == 0 ||
         lumos_fail(error,
                    "--sequence-parallel: the model has experts, and which of their tokens ranks would have a part of "
                    "is not known; record a job with --tensor-model-parallel-size 2, --sequence-parallel and "
                    "--expert-tensor-parallel-size 1");
}

struct lumos_model_description lumos_sizes_model(const struct lumos_job *job, const struct lumos_sizes *sizes,
                                                 bool after) {
  struct lumos_model_description model = job->models.count > 0 ? job->models.items[0] : lumos_model_description_empty;
  const int64_t *values = after ? sizes->now : sizes->was;
  for (int i = 0; i < LUMOS_SIZES; i++) {
    *member_of(&model, i) = values[i] == LUMOS_ABSENT ? LUMOS_ABSENT_INT : (int32_t)values[i];
  }
  return model;
}

void lumos_sizes_keep(struct lumos_job *job, const struct lumos_sizes *sizes) {
  for (int i = 0; i < LUMOS_SIZES && job->models.count > 0; i++) {
    bool of_experts = i == LUMOS_FFN && sizes->experts > 0; /* what the model record has no word for */
    if (sizes->now[i] != sizes->was[i] && !of_experts) {
      struct lumos_text text = LUMOS_TEXT_BUFFER;
      lumos_text_format(&text, "changed from %lld", (long long)sizes->was[i]);
      lumos_text_char(&text, '\0');
      *member_of(&job->models.items[0], i) = (int32_t)sizes->now[i];
      lumos_string_id evidence = lumos_intern_text(job->strings, text.bytes);
      memcpy((char *)&job->models.items[0] + members[i].evidence, &evidence, sizeof evidence);
      lumos_text_free(&text);
    }
  }
}
