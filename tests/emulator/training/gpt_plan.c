/* What the ranks of a stage do in a step, worked out once: their passes, what is sent and received between them, their
 * parameters and the buckets of their gradients.
 */
#include "gpt_state.h"
#include <stdlib.h>

enum { GRADIENT_BYTES = 4 };

/* ---- parameters ---- */

/* Of one rank. */
static int64_t block_width(const struct setup *setup) {
  return setup->model.ffn / (setup->model.experts > 0 ? 1 : setup->parallel.tensor);
}

int64_t gpt_linear_inputs(const struct setup *setup, enum linear linear) {
  const struct model *model = &setup->model;
  switch (linear) {
    case LINEAR_PROJECTION:
      return (int64_t)model->heads * model->head_dim / setup->parallel.tensor;
    case LINEAR_FC2:
      return block_width(setup);
    case LINEAR_QKV:
    case LINEAR_FC1:
    case LINEAR_HEAD:
    case LINEAR_ROUTER:
    case LINEARS:
      break;
  }
  return model->hidden;
}

int64_t gpt_linear_outputs(const struct setup *setup, enum linear linear) {
  const struct model *model = &setup->model;
  switch (linear) {
    case LINEAR_QKV:
      return (int64_t)3 * model->heads * model->head_dim / setup->parallel.tensor;
    case LINEAR_FC1:
      return block_width(setup);
    case LINEAR_HEAD:
      return model->vocabulary / setup->parallel.tensor;
    case LINEAR_ROUTER:
      return model->experts;
    case LINEAR_PROJECTION:
    case LINEAR_FC2:
    case LINEARS:
      break;
  }
  return model->hidden;
}

int gpt_sequence(const struct setup *setup) { return setup->model.sequence / setup->parallel.context; }

int gpt_experts(const struct setup *setup) { return setup->model.experts / setup->parallel.expert; }

bool gpt_experts_apart(const struct setup *setup) {
  return setup->model.experts > 0 && (setup->parallel.expert > 1 || setup->parallel.tensor > 1);
}

int64_t gpt_shard_tokens(const struct setup *setup) {
  return (int64_t)setup->model.micro_batch * gpt_sequence(setup) / gpt_sequence_shards(setup);
}

int64_t gpt_expert_rows(const struct setup *setup) { return gpt_shard_tokens(setup) * setup->model.top_k; }

int gpt_sequence_shards(const struct setup *setup) {
  return setup->parallel.sequence_parallel ? setup->parallel.tensor : 1;
}

static int64_t weight(const struct setup *setup, enum linear linear) {
  return gpt_linear_inputs(setup, linear) * gpt_linear_outputs(setup, linear);
}

int chunk_slots(const struct chunk *chunk) { return FIRST_LAYER_SLOT + chunk->layers * LAYER_SLOTS + 1; }

static int64_t layer_slot_parameters(const struct setup *setup, enum layer_slot slot) {
  static const struct {
    enum linear linear;
    bool bias;
  } slots[LAYER_SLOTS] = {
      [SLOT_FC2_BIAS] = {LINEAR_FC2, true},
      [SLOT_FC2] = {LINEAR_FC2, false},
      [SLOT_FC1_BIAS] = {LINEAR_FC1, true},
      [SLOT_FC1] = {LINEAR_FC1, false},
      [SLOT_ROUTER] = {LINEAR_ROUTER, false},
      [SLOT_PROJECTION_BIAS] = {LINEAR_PROJECTION, true},
      [SLOT_PROJECTION] = {LINEAR_PROJECTION, false},
      [SLOT_QKV_BIAS] = {LINEAR_QKV, true},
      [SLOT_QKV] = {LINEAR_QKV, false},
  };
  if (slot == SLOT_NORM_1 || slot == SLOT_NORM_2)
    return (int64_t)2 * setup->model.hidden;
  if (setup->model.experts > 0 && (slot == SLOT_FC1 || slot == SLOT_FC2))
    return gpt_experts(setup) * weight(setup, slots[slot].linear);
  if (setup->model.experts > 0 && (slot == SLOT_FC1_BIAS || slot == SLOT_FC2_BIAS))
    return 0;
  return slots[slot].bias ? gpt_linear_outputs(setup, slots[slot].linear) : weight(setup, slots[slot].linear);
}

/* 0: the chunk has no such parameter. Where one stage has both ends, the head's weight is the embedding's. */
static int64_t slot_parameters(const struct setup *setup, const struct chunk *chunk, int slot) {
  if (slot == SLOT_HEAD)
    return chunk->has_head && setup->parallel.pipeline > 1 ? weight(setup, LINEAR_HEAD) : 0;
  if (slot == SLOT_FINAL_NORM)
    return chunk->has_head ? (int64_t)2 * setup->model.hidden : 0;
  if (slot == chunk_slots(chunk) - 1)
    return chunk->embeds ? weight(setup, LINEAR_HEAD) : 0;
  return layer_slot_parameters(setup, (enum layer_slot)((slot - FIRST_LAYER_SLOT) % LAYER_SLOTS));
}

/* Of experts that others sum than the rest. */
static bool is_shared_out(const struct setup *setup, const struct chunk *chunk, int slot) {
  int of_layer = (slot - FIRST_LAYER_SLOT) % LAYER_SLOTS;
  return gpt_experts_apart(setup) && slot >= FIRST_LAYER_SLOT && slot < chunk_slots(chunk) - 1 &&
         (of_layer == SLOT_FC1 || of_layer == SLOT_FC2);
}

static struct chunk chunk_at(const struct setup *setup, int stage, int index) {
  int stages = setup->parallel.pipeline, chunks = setup->parallel.chunks, place = index * stages + stage;
  int layers = setup_stage_layers(setup, stage) / chunks, first = place * layers;
  if (setup->stage_layers) {
    first = 0;
    for (int before = 0; before < stage; before++)
      first += setup->stage_layers[before];
  }
  return (struct chunk){
      .first_layer = first, .layers = layers, .embeds = place == 0, .has_head = place == stages * chunks - 1};
}

static int64_t chunk_parameters(const struct setup *setup, const struct chunk *chunk) {
  int64_t sum = 0;
  for (int slot = 0; slot < chunk_slots(chunk); slot++)
    sum += slot_parameters(setup, chunk, slot);
  return sum;
}

double gpt_model_flops(const struct setup *setup) {
  const struct model *model = &setup->model;
  double sequences = (double)model->micro_batch * model->micro_batches * setup->parallel.data;
  double tokens = sequences * model->sequence, width = (double)model->heads * model->head_dim;
  double chosen = model->experts > 0 ? model->top_k : 1;
  double products = model->layers * (4 * model->hidden * width + chosen * 2 * model->hidden * model->ffn +
                                     (double)model->hidden * model->experts) +
                    (double)model->hidden * model->vocabulary;
  double attention = model->layers * width * model->sequence * model->sequence * sequences;
  return 6 * tokens * products + 6 * attention;
}

/* ---- buckets ---- */

/* A bucket takes parameters until the next would be too much for it. Those of experts that others sum have buckets of
 * their own. */
static void fill_buckets(const struct setup *setup, struct chunk *chunk, bool shared_out) {
  int slots = chunk_slots(chunk), last = -1;
  int64_t held = 0;
  for (int slot = 0; slot < slots; slot++) {
    int64_t parameters = slot_parameters(setup, chunk, slot);
    if (!parameters || is_shared_out(setup, chunk, slot) != shared_out)
      continue;
    if (held && (held + parameters) * GRADIENT_BYTES > setup->parallel.bucket_bytes) {
      chunk->closes[last] = chunk->bucket_count;
      chunk->buckets[chunk->bucket_count++] = held;
      held = 0;
    }
    held += parameters;
    last = slot;
  }
  if (last < 0)
    return;
  chunk->closes[last] = chunk->bucket_count;
  chunk->buckets[chunk->bucket_count++] = held;
}

static void make_buckets(const struct setup *setup, struct chunk *chunk, int first_bucket) {
  int slots = chunk_slots(chunk);
  chunk->first_bucket = first_bucket;
  chunk->parameters = chunk_parameters(setup, chunk);
  chunk->buckets = memory_new((size_t)slots, sizeof *chunk->buckets);
  chunk->closes = memory_new((size_t)slots, sizeof *chunk->closes);
  for (int slot = 0; slot < slots; slot++) {
    chunk->closes[slot] = -1;
    chunk->expert_parameters += is_shared_out(setup, chunk, slot) ? slot_parameters(setup, chunk, slot) : 0;
  }
  fill_buckets(setup, chunk, false);
  chunk->expert_buckets = -chunk->bucket_count;
  fill_buckets(setup, chunk, true);
  chunk->expert_buckets += chunk->bucket_count;
}

/* Units of fully sharded replicas are buckets: the layers, the last first, and all else. */
static void make_units(const struct setup *setup, struct chunk *chunk) {
  int slots = chunk_slots(chunk);
  chunk->parameters = chunk_parameters(setup, chunk);
  chunk->bucket_count = chunk->layers + 1;
  chunk->buckets = memory_new((size_t)chunk->bucket_count, sizeof *chunk->buckets);
  chunk->closes = memory_new((size_t)slots, sizeof *chunk->closes);
  for (int slot = 0; slot < slots; slot++) {
    bool of_layer = slot >= FIRST_LAYER_SLOT && slot < slots - 1;
    chunk->closes[slot] = -1;
    chunk->buckets[of_layer ? (slot - FIRST_LAYER_SLOT) / LAYER_SLOTS : chunk->layers] +=
        slot_parameters(setup, chunk, slot);
  }
}

/* ---- sends and receives ---- */

struct planner {
  const struct setup *setup;
  struct plan *plan;
  int stage;
};

static bool at_end(const struct planner *planner, int stage, const struct pass *pass, int chunk) {
  return planner->stage == stage && pass->chunk == chunk;
}

static bool receives(const struct planner *planner, const struct pass *pass) {
  int last_stage = planner->setup->parallel.pipeline - 1, last_chunk = planner->setup->parallel.chunks - 1;
  return pass->phase == PHASE_FORWARD ? !at_end(planner, 0, pass, 0)
                                      : pass->phase == PHASE_BACKWARD && !at_end(planner, last_stage, pass, last_chunk);
}

static bool sends(const struct planner *planner, const struct pass *pass) {
  int last_stage = planner->setup->parallel.pipeline - 1, last_chunk = planner->setup->parallel.chunks - 1;
  return pass->phase == PHASE_FORWARD ? !at_end(planner, last_stage, pass, last_chunk)
                                      : pass->phase == PHASE_BACKWARD && !at_end(planner, 0, pass, 0);
}

/* The first pass of a phase behind another; the count: none. PHASES: of any but the weights' phase. */
static int next_pass(const struct plan *plan, int after, enum phase phase) {
  int i = after + 1;
  while (i < plan->count && (phase == PHASES ? plan->passes[i].phase == PHASE_WEIGHT : plan->passes[i].phase != phase))
    i++;
  return i;
}

static struct exchange *open_exchange(struct plan *plan, int after, int before) {
  plan->exchanges[plan->exchange_count] = (struct exchange){.after = after, .before = before};
  return &plan->exchanges[plan->exchange_count++];
}

static void add_part(const struct plan *plan, struct exchange *exchange, int pass, bool send) {
  bool to_next = send == (plan->passes[pass].phase == PHASE_FORWARD);
  exchange->passes[exchange->count] = pass;
  exchange->parts[exchange->count++] = (uint8_t)((send ? SEND : 0) | (to_next ? TO_NEXT : 0));
}

static void add_one(const struct planner *planner, int after, int before, int pass_index, bool send) {
  if (pass_index < 0 || pass_index >= planner->plan->count)
    return;
  const struct pass *pass = &planner->plan->passes[pass_index];
  if (send ? sends(planner, pass) : receives(planner, pass))
    add_part(planner->plan, open_exchange(planner->plan, after, before), pass_index, send);
}

/* Between a pass and the next that is not the weights': its tensor out, the next one's in. They are one kernel where
 * both belong to different directions and are batched; weight passes run beside them. */
static void exchange_between(const struct planner *planner, int pass) {
  struct plan *plan = planner->plan;
  int next = next_pass(plan, pass, PHASES);
  bool turns = pass >= 0 && next < plan->count && plan->passes[pass].phase != plan->passes[next].phase;
  if (planner->setup->parallel.batched_p2p && turns && sends(planner, &plan->passes[pass]) &&
      receives(planner, &plan->passes[next])) {
    struct exchange *both = open_exchange(plan, pass, next);
    add_part(plan, both, pass, true);
    add_part(plan, both, next, false);
    return;
  }
  add_one(planner, pass, next, pass, true);
  add_one(planner, pass, next, next, false);
}

/* Interleaved, one by one: each direction has its own stream and runs beside the passes of the other. */
static void exchange_apart(const struct planner *planner, int pass) {
  struct plan *plan = planner->plan;
  int next = next_pass(plan, pass, pass < 0 ? PHASE_FORWARD : (enum phase)plan->passes[pass].phase);
  int first_backward = next_pass(plan, -1, PHASE_BACKWARD);
  add_one(planner, pass, next, pass, true);
  if (pass == first_backward - 1)
    add_one(planner, pass, first_backward, first_backward, false);
  add_one(planner, pass, next, next, false);
}

/* Interleaved and batched: a forward and a backward pass are one unit but in the beginning and at the end; all that
 * goes out of a unit and into the next is one kernel. */
static int unit_end(const struct planner *planner, int begin) {
  const struct plan *plan = planner->plan;
  int forwards = planner->setup->model.micro_batches * planner->setup->parallel.chunks;
  bool steady = next_pass(plan, -1, PHASE_BACKWARD) < forwards;
  bool two = steady && begin + 1 < plan->count && plan->passes[begin].phase == PHASE_FORWARD &&
             plan->passes[begin + 1].phase == PHASE_BACKWARD;
  return begin + 1 + two;
}

static void exchange_units(const struct planner *planner, int begin, int end) {
  struct plan *plan = planner->plan;
  struct exchange *exchange = open_exchange(plan, end - 1, end);
  for (int i = begin; i < end; i++)
    if (sends(planner, &plan->passes[i]))
      add_part(plan, exchange, i, true);
  for (int i = end; end < plan->count && i < unit_end(planner, end); i++)
    if (receives(planner, &plan->passes[i]))
      add_part(plan, exchange, i, false);
  plan->exchange_count -= !exchange->count;
}

/* Where those begin that follow a pass (at [pass + 1]) and those that a pass waits for. */
static void index_exchanges(struct plan *plan) {
  plan->posts = memory_new((size_t)plan->count + 2, sizeof *plan->posts);
  plan->wait_starts = memory_new((size_t)plan->count + 2, sizeof *plan->wait_starts);
  plan->waits = memory_new((size_t)plan->exchange_count, sizeof *plan->waits);
  for (int pass = -1, i = 0; pass <= plan->count; pass++) {
    while (i < plan->exchange_count && plan->exchanges[i].after < pass)
      i++;
    plan->posts[pass + 1] = i;
  }
  for (int i = 0; i < plan->exchange_count; i++)
    plan->wait_starts[plan->exchanges[i].before + 1]++;
  for (int pass = 0; pass <= plan->count; pass++)
    plan->wait_starts[pass + 1] += plan->wait_starts[pass];
  int *next = memory_new((size_t)plan->count + 1, sizeof *next);
  for (int i = 0; i < plan->exchange_count; i++) {
    int before = plan->exchanges[i].before;
    plan->waits[plan->wait_starts[before] + next[before]++] = i;
  }
  free(next);
}

static void exchange_all(const struct planner *planner) {
  struct plan *plan = planner->plan;
  /* A pass sends and receives at most once. */
  plan->exchanges = memory_new(2 * (size_t)plan->count + 2, sizeof *plan->exchanges);
  bool interleaved = planner->setup->parallel.schedule == SCHEDULE_INTERLEAVED;
  if (interleaved && planner->setup->parallel.batched_p2p) {
    exchange_units(planner, 0, 0);
    for (int begin = 0, end; begin < plan->count; begin = end)
      exchange_units(planner, begin, end = unit_end(planner, begin));
    return;
  }
  for (int pass = -1; pass < plan->count; pass++)
    if (pass < 0 || plan->passes[pass].phase != PHASE_WEIGHT)
      (interleaved ? exchange_apart : exchange_between)(planner, pass);
}

/* ---- plans ---- */

static void find_passes(const struct setup *setup, struct plan *plan) {
  size_t most = (size_t)setup->parallel.chunks * (size_t)setup->model.micro_batches;
  plan->forward_at = memory_new(most, sizeof *plan->forward_at);
  plan->backward_at = memory_new(most, sizeof *plan->backward_at);
  for (int i = 0; i < plan->count; i++) {
    const struct pass *pass = &plan->passes[i];
    int place = pass->chunk * setup->model.micro_batches + pass->micro_batch;
    if (pass->phase == PHASE_FORWARD)
      plan->forward_at[place] = i;
    else if (pass->phase == PHASE_BACKWARD)
      plan->backward_at[place] = i;
  }
}

static void make_plan(const struct setup *setup, int stage, struct plan *plan) {
  plan->count = schedule_passes(setup, stage, &plan->passes);
  find_passes(setup, plan);
  plan->chunks = memory_new((size_t)setup->parallel.chunks, sizeof *plan->chunks);
  for (int i = 0; i < setup->parallel.chunks; i++) {
    struct chunk *chunk = &plan->chunks[i];
    *chunk = chunk_at(setup, stage, i);
    if (setup->parallel.fully_sharded)
      make_units(setup, chunk);
    else
      make_buckets(setup, chunk, i ? chunk[-1].first_bucket + chunk[-1].bucket_count : 0);
    plan->parameters += chunk->parameters;
    /* Two norms and two biases of row-parallel products in a layer, the final norm at the end; before experts, which
     * have no biases, the router. */
    int of_layer = setup->model.experts > 0 ? 5 + setup->model.experts : 6;
    plan->shared_parameters += (int64_t)setup->model.hidden * (of_layer * chunk->layers + (chunk->has_head ? 2 : 0));
  }
  exchange_all(&(struct planner){setup, plan, stage});
  index_exchanges(plan);
}

void gpt_make_plans(struct gpt *gpt) {
  gpt->plans = memory_new((size_t)gpt->setup->parallel.pipeline, sizeof *gpt->plans);
  for (int stage = 0; stage < gpt->setup->parallel.pipeline; stage++)
    make_plan(gpt->setup, stage, &gpt->plans[stage]);
}

void gpt_free_plans(struct gpt *gpt) {
  for (int stage = 0; stage < gpt->setup->parallel.pipeline; stage++) {
    struct plan *plan = &gpt->plans[stage];
    for (int i = 0; i < gpt->setup->parallel.chunks; i++) {
      free(plan->chunks[i].buckets);
      free(plan->chunks[i].closes);
    }
    free(plan->chunks);
    free(plan->exchanges);
    free(plan->posts);
    free(plan->wait_starts);
    free(plan->waits);
    free(plan->forward_at);
    free(plan->backward_at);
    free(plan->numbers);
    free(plan->recomputed);
    free(plan->passes);
  }
  free(gpt->plans);
}
