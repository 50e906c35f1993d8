#include "rebuild/recorded.h"

#include "program/axis.h"
#include "program/sharded.h"
#include "rebuild/axes.h"
#include "rebuild/exchange.h"
#include "rebuild/roles.h"
#include <stdlib.h>
#include <string.h>

struct lumos_parallel rebuild_coordinates(const struct lumos_rank *rank) {
  struct lumos_parallel at = rank->has_parallel ? rank->parallel : (struct lumos_parallel){0};
  at.tp = at.tp > 0 ? at.tp : 0;
  at.pp = at.pp > 0 ? at.pp : 0;
  at.dp = at.dp > 0 ? at.dp : 0;
  at.cp = at.cp > 0 ? at.cp : 0;
  return at;
}

/* Ranks that pass keys on to each other do so while they attend, in another order of kernels for each of them. */
static bool passes_on(const struct lumos_job *job) {
  bool passes = false;
  for (size_t t = 0; t < job->tasks.count && !passes; t++) {
    passes = job->tasks.items[t].kind == LUMOS_P2P && rebuild_role_of(job, t) == LUMOS_CONTEXT;
  }
  return passes;
}

static bool is_row(const struct lumos_job *job, const struct lumos_group *group, int32_t shared) {
  const int32_t *ranks = job->group_ranks.items + group->member_first;
  bool row = group->member_count == (uint32_t)shared && ranks[0] % shared == 0;
  for (uint32_t i = 1; i < group->member_count; i++) {
    row = row && ranks[i] == ranks[i - 1] + 1;
  }
  return row;
}

/* Is every group that exchanges what experts work on one of ranks in a row, as in Megatron-LM where no tensor-parallel
 * rank has a part of an expert? */
static bool shares_in_rows(const struct lumos_job *job, const struct lumos_parallel *sizes) {
  bool alone = sizes->tp <= 1 && rebuild_contexts_of(sizes) == 1, rows = rebuild_experts_of(sizes) == sizes->ep;
  for (size_t c = 0; c < job->collectives.count && rows; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    bool exchanges = strcmp(lumos_string(job->strings, collective->op), "all_to_all") == 0;
    rows = !exchanges || rebuild_axes_of_collective(job, collective) == REBUILD_EXPERT;
  }
  for (size_t g = 0; g < job->groups.count && rows && !alone; g++) {
    const struct lumos_group *group = &job->groups.items[g];
    rows = group->role != LUMOS_EXPERT || is_row(job, group, sizes->ep);
  }
  return rows;
}

/* Of the same ranks may be those that sum the gradients of experts and those that sum all others: names alone say which
 * are which. */
static bool names_replicas(const struct lumos_job *job, const struct lumos_parallel *sizes) {
  bool named = true;
  enum program_axis axis;
  for (size_t g = 0; g < job->groups.count && (sizes->tp > 1 || rebuild_contexts_of(sizes) > 1); g++) {
    const struct lumos_group *group = &job->groups.items[g];
    named = named && (group->role != LUMOS_DATA || group->size == 1 ||
                      program_role_of_name(lumos_string(job->strings, group->name), &axis) != 0);
  }
  return named;
}

static bool check_axes(const struct lumos_job *job, const struct lumos_parallel *sizes, struct lumos_error *error) {
  bool shared = sizes->ep != LUMOS_ABSENT_INT && sizes->ep > 1;
  if (shared && !shares_in_rows(job, sizes)) {
    return lumos_fail(error,
                      "a job with expert parallelism can be planned anew where ranks of a stage in a row share the "
                      "experts, and each has whole ones; record a job with --expert-tensor-parallel-size 1");
  }
  if (shared && !names_replicas(job, sizes)) {
    return lumos_fail(error,
                      "which groups sum the gradients of experts is not known, for some that replicas sum in have no "
                      "name; record with PyTorch 2.4 or later, which records names of groups (pg_desc)");
  }
  return rebuild_contexts_of(sizes) == 1 || !passes_on(job) ||
         lumos_fail(error,
                    "ranks of a context group pass keys and values on to each other, which cannot be planned anew; "
                    "record a job that gathers them (cp_comm_type=all_gather)");
}

enum { MOST_LAYERS = 1 << 20 }; /* chosen: more than any model has */

static int32_t at_least_one(int32_t size) { return size > 0 ? size : 1; }

uint32_t rebuild_count_layers(const struct rebuild_passes *passes, const struct rebuild_pass *pass) {
  uint32_t layers = 0;
  for (uint32_t i = 0; pass != NULL && i < pass->count; i++) {
    layers += passes->pieces.items[pass->first + i].part == LUMOS_PART_LAYER;
  }
  return layers;
}

static void look_at_blocks(struct rebuild_recorded *recorded) {
  const struct rebuild_blocks *blocks = recorded->blocks;
  recorded->exchanges = lumos_allocate_zeroed(blocks->items.count, 1);
  for (uint32_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    if (block->transfers && block->step == recorded->base) {
      unsigned exchange = rebuild_exchange_of_block(blocks, b);
      recorded->exchanges[b] = (uint8_t)exchange;
      recorded->pipeline.joint = recorded->pipeline.joint || (exchange & (exchange - 1)) != 0;
    }
  }
}

/* Gradients are spread over replicas, or parameters gathered from them. */
static void look_at_optimizer(struct rebuild_recorded *recorded) {
  const struct lumos_job *job = recorded->job;
  for (size_t t = 0; t < job->tasks.count && !recorded->sharded; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const char *op = lumos_string(job->strings, lumos_detail_of(job, task)->comm.op);
    bool gathers = strcmp(op, "all_gather") == 0;
    bool updates = task->phase == LUMOS_OPTIMIZER_PHASE && (gathers || strcmp(op, "reduce_scatter") == 0);
    bool spreads = task->phase == LUMOS_FORWARD && gathers && rebuild_role_of(job, t) == LUMOS_DATA;
    recorded->sharded = task->kind == LUMOS_COLLECTIVE && (updates || spreads);
  }
  recorded->gathers = program_is_fully_sharded(job);
}

/* What several stages sum is the gradient of the embedding, which is the head's, too. */
static void look_at_ends(struct rebuild_recorded *recorded) {
  const struct lumos_job *job = recorded->job;
  for (size_t c = 0; c < job->collectives.count && recorded->pipeline.stages > 1 && recorded->shared_bytes == 0; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    bool large = !rebuild_is_pair(collective) && rebuild_shares_ends(REBUILD_PIPELINE, collective->bytes);
    bool ends = large && (rebuild_axes_of_collective(job, collective) & REBUILD_ENDS) != 0;
    recorded->shared_bytes = ends ? collective->bytes : 0;
  }
}

/* ---- passes ---- */

/* By layer of the model, the stage that has it, as recorded: -1: none has. */
static int32_t *find_owners(const struct rebuild_recorded *recorded) {
  int32_t *owners = lumos_allocate((size_t)recorded->layers * sizeof *owners);
  for (int32_t layer = 0; layer < recorded->layers; layer++) {
    owners[layer] = -1;
  }
  for (size_t b = 0; b < recorded->blocks->items.count; b++) {
    const struct rebuild_block *block = &recorded->blocks->items.items[b];
    if (block->step == recorded->base && block->phase == LUMOS_FORWARD && block->layer >= 0 &&
        block->layer < recorded->layers) {
      owners[block->layer] = rebuild_coordinates(&recorded->job->ranks.items[block->rank]).pp;
    }
  }
  return owners;
}

/* By layer: which of the chunks of its stage has it. A stage's chunks are its layers between those of others. */
static int32_t *find_chunks(const struct rebuild_recorded *recorded) {
  int32_t *owners = find_owners(recorded);
  int32_t *chunks = lumos_allocate((size_t)recorded->layers * sizeof *chunks);
  int32_t *begun = lumos_allocate_zeroed((size_t)recorded->pipeline.stages, sizeof *begun);
  for (int32_t layer = 0; layer < recorded->layers; layer++) {
    int32_t stage = owners[layer];
    bool known = stage >= 0 && stage < recorded->pipeline.stages;
    begun[known ? stage : 0] += known && (layer == 0 || owners[layer - 1] != stage);
    chunks[layer] = known ? begun[stage] - 1 : 0;
  }
  free(owners);
  free(begun);
  return chunks;
}

static int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }

static bool is_for_weights(const struct rebuild_block *block) { return block->weights; }
static bool is_attention(const struct rebuild_block *block) { return block->attention; }

/* Does every layer of every pass of a phase show such a block? */
static bool shows(const struct rebuild_recorded *recorded, const struct rebuild_passes *passes, uint8_t phase,
                  bool (*is_such)(const struct rebuild_block *)) {
  for (size_t i = 0; i < passes->items.count; i++) {
    const struct rebuild_pass *pass = &passes->items.items[i];
    for (uint32_t p = 0; pass->phase == phase && p < pass->count; p++) {
      const struct rebuild_piece *piece = &passes->pieces.items[pass->first + p];
      bool found = piece->part != LUMOS_PART_LAYER;
      for (uint32_t b = 0; b < piece->count; b++) {
        found = found || is_such(&recorded->blocks->items.items[passes->blocks.items[piece->first + b]]);
      }
      if (!found) {
        return false;
      }
    }
  }
  return true;
}

static void look_at_passes(struct rebuild_recorded *recorded) {
  size_t ranks = recorded->job->ranks.count;
  int32_t *chunks = find_chunks(recorded);
  recorded->passes = lumos_allocate_zeroed(ranks, sizeof *recorded->passes);
  bool layers = false; /* a thread launches a captured pass in one call, for none */
  recorded->parts = recorded->attends = true;
  for (uint32_t r = 0; r < ranks; r++) {
    struct rebuild_passes *passes = &recorded->passes[r];
    rebuild_passes_find(passes, recorded->blocks, r, recorded->base, chunks, recorded->layers);
    for (size_t i = 0; i < passes->items.count; i++) {
      int32_t micro_batch = passes->items.items[i].micro_batch;
      int32_t count = micro_batch < INT32_MAX ? micro_batch + 1 : micro_batch;
      recorded->pipeline.micro_batches = most(recorded->pipeline.micro_batches, count);
      recorded->pipeline.chunks = most(recorded->pipeline.chunks, passes->items.items[i].chunk + 1);
      recorded->apart = recorded->apart || passes->items.items[i].phase == LUMOS_WEIGHT;
      layers = layers || rebuild_count_layers(passes, &passes->items.items[i]) > 0;
    }
    recorded->parts = recorded->parts && shows(recorded, passes, LUMOS_BACKWARD, is_for_weights);
    recorded->attends = recorded->attends && shows(recorded, passes, LUMOS_FORWARD, is_attention) &&
                        shows(recorded, passes, LUMOS_BACKWARD, is_attention);
  }
  recorded->attends = recorded->attends && layers;
  free(chunks);
}

static bool is_in_order(const struct rebuild_passes *passes, const struct rebuild_pass *pass) {
  int32_t before = LUMOS_ABSENT_INT, way = pass->phase == LUMOS_FORWARD ? 1 : -1;
  for (uint32_t i = 0; i < pass->count; i++) {
    const struct rebuild_piece *piece = &passes->pieces.items[pass->first + i];
    if (piece->part == LUMOS_PART_LAYER) {
      if (before != LUMOS_ABSENT_INT && piece->layer != (int64_t)before + way) {
        return false;
      }
      before = piece->layer;
    }
  }
  return true;
}

/* Gradients of weights that are put off are so in every layer of every micro-batch. */
static bool check_weights(const struct rebuild_recorded *recorded, const struct rebuild_passes *passes,
                          struct lumos_error *error) {
  for (int32_t m = 0; m < recorded->pipeline.micro_batches && recorded->apart; m++) {
    const struct rebuild_pass *back = rebuild_pass_of(passes, LUMOS_BACKWARD, m, 0);
    const struct rebuild_pass *weights = rebuild_pass_of(passes, LUMOS_WEIGHT, m, 0);
    if (weights == NULL || rebuild_count_layers(passes, weights) != rebuild_count_layers(passes, back)) {
      return lumos_fail(error,
                        "rank %d puts the gradients of weights off, and step %d does not show those of micro-batch %d "
                        "by layer; record whole steps, with the shapes of inputs (record_shapes=True)",
                        recorded->job->ranks.items[passes->rank].rank, passes->step, m);
    }
  }
  return true;
}

/* Every rank goes forward and back with every micro-batch, through layers in a row, and that is all. */
static bool check_passes(const struct rebuild_recorded *recorded, const struct rebuild_passes *passes,
                         struct lumos_error *error) {
  int32_t rank = recorded->job->ranks.items[passes->rank].rank, micro_batches = recorded->pipeline.micro_batches;
  for (int64_t i = 0; i < (int64_t)micro_batches * recorded->pipeline.chunks; i++) {
    int32_t micro_batch = (int32_t)(i % micro_batches), chunk = (int32_t)(i / micro_batches);
    bool back = recorded->pipeline.inference || rebuild_pass_of(passes, LUMOS_BACKWARD, micro_batch, chunk) != NULL;
    if (rebuild_pass_of(passes, LUMOS_FORWARD, micro_batch, chunk) == NULL || !back) {
      return lumos_fail(error,
                        "rank %d has no pass forward and back of micro-batch %d in step %d; record whole steps of "
                        "training",
                        rank, micro_batch, passes->step);
    }
  }
  if (!check_weights(recorded, passes, error)) {
    return false;
  }
  for (size_t i = 0; i < passes->items.count; i++) {
    const struct rebuild_pass *pass = &passes->items.items[i];
    if (!is_in_order(passes, pass)) {
      return lumos_fail(error,
                        "the layers of a pass of rank %d are not in order in the recording, so that it cannot be "
                        "planned anew; record the names of modules (with_modules=True)",
                        rank);
    }
  }
  return true;
}

static bool check_all_passes(const struct rebuild_recorded *recorded, struct lumos_error *error) {
  for (size_t r = 0; r < recorded->job->ranks.count; r++) {
    if (!check_passes(recorded, &recorded->passes[r], error)) {
      return false;
    }
  }
  return true;
}

/* ---- schedules ---- */

/* Gradients of weights go wherever there is room: they are no part of an order. */
static size_t next_of_order(const struct rebuild_slot *slots, size_t count, size_t from) {
  while (from < count && (slots[from].transfers != 0 || slots[from].phase == LUMOS_WEIGHT)) {
    from++;
  }
  return from;
}

static bool follows(const struct rebuild_passes *passes, const struct rebuild_slots *slots) {
  size_t at = next_of_order(slots->items, slots->count, 0);
  for (size_t i = 0; i < passes->items.count; i++) {
    const struct rebuild_pass *pass = &passes->items.items[i];
    if (pass->phase == LUMOS_WEIGHT) {
      continue;
    }
    const struct rebuild_slot *slot = &slots->items[at];
    if (at == slots->count || slot->phase != pass->phase || slot->micro_batch != pass->micro_batch ||
        slot->chunk != pass->chunk) {
      return false;
    }
    at = next_of_order(slots->items, slots->count, at + 1);
  }
  return at == slots->count;
}

static bool all_follow(const struct rebuild_recorded *recorded, enum lumos_schedule schedule) {
  struct rebuild_pipeline pipeline = recorded->pipeline;
  struct rebuild_slots slots = {0};
  bool same = true;
  pipeline.schedule = schedule;
  for (uint32_t r = 0; r < recorded->job->ranks.count && same; r++) {
    rebuild_schedule_make(&slots, &pipeline, rebuild_coordinates(&recorded->job->ranks.items[r]).pp);
    same = follows(&recorded->passes[r], &slots);
  }
  lumos_vector_free(&slots);
  return same;
}

static enum lumos_schedule find_schedule(const struct rebuild_recorded *recorded) {
  if (recorded->pipeline.chunks > 1) {
    return all_follow(recorded, LUMOS_INTERLEAVED) ? LUMOS_INTERLEAVED : 0;
  }
  if (recorded->apart) {
    return all_follow(recorded, LUMOS_ZB_H1) ? LUMOS_ZB_H1 : 0;
  }
  return all_follow(recorded, LUMOS_1F1B) ? LUMOS_1F1B : all_follow(recorded, LUMOS_GPIPE) ? LUMOS_GPIPE : 0;
}

/* Would a stage send and receive in one kernel at times, if it did so at all? */
static bool would_join(const struct rebuild_recorded *recorded) {
  struct rebuild_pipeline pipeline = recorded->pipeline;
  struct rebuild_slots slots = {0};
  bool joins = pipeline.schedule == 0;
  pipeline.joint = true;
  for (int32_t stage = 0; stage < pipeline.stages && !joins; stage++) {
    rebuild_schedule_make(&slots, &pipeline, stage);
    for (size_t i = 0; i < slots.count; i++) {
      joins = joins || (slots.items[i].transfers & (slots.items[i].transfers - 1)) != 0;
    }
  }
  lumos_vector_free(&slots);
  return joins;
}

/* Does one stream send and receive? */
static bool shares_streams(const struct rebuild_recorded *recorded) {
  enum { SENDS = REBUILD_TO_NEXT | REBUILD_TO_PREVIOUS, RECEIVES = REBUILD_FROM_NEXT | REBUILD_FROM_PREVIOUS };
  const struct rebuild_blocks *blocks = recorded->blocks;
  uint8_t *does = lumos_allocate_zeroed(recorded->job->lanes.count, 1);
  bool shares = false;
  for (size_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    for (uint32_t i = 0; i < block->device_count && recorded->exchanges[b] != 0; i++) {
      uint32_t lane = recorded->job->tasks.items[blocks->devices[block->device_first + i]].lane;
      does[lane] |= recorded->exchanges[b];
      shares = shares || ((does[lane] & SENDS) != 0 && (does[lane] & RECEIVES) != 0);
    }
  }
  free(does);
  return shares;
}

/* ---- all ---- */

static void look_at_sums(struct rebuild_recorded *recorded) {
  const struct lumos_job *job = recorded->job;
  int64_t more = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool back = task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
    if (task->kind == LUMOS_COLLECTIVE && task->step == recorded->base && back) {
      more += task->micro_batch == recorded->pipeline.micro_batches - 1;
      more -= task->micro_batch == 0;
    }
  }
  recorded->sums = more > 0;
}

/* What is described may be more than what passes show: of a single stage its layers are those of a pass. */
static int32_t count_shown(const struct rebuild_recorded *recorded) {
  uint32_t most = 0;
  for (size_t r = 0; r < recorded->job->ranks.count; r++) {
    const struct rebuild_passes *passes = &recorded->passes[r];
    for (size_t i = 0; i < passes->items.count; i++) {
      uint32_t layers = rebuild_count_layers(passes, &passes->items.items[i]);
      most = layers > most ? layers : most;
    }
  }
  bool whole = recorded->pipeline.stages == 1 && recorded->pipeline.chunks == 1;
  return most == 0 || (whole && most <= MOST_LAYERS) ? (int32_t)most : recorded->layers;
}

/* Without layers nothing tells what a stage of several does. */
static bool check_stages(const struct rebuild_recorded *recorded, struct lumos_error *error) {
  const struct lumos_job *job = recorded->job;
  bool several = recorded->pipeline.stages > 1;
  for (size_t t = 0; t < job->tasks.count && !several; t++) {
    several = job->tasks.items[t].kind == LUMOS_P2P;
  }
  return recorded->layers > 0 || !several ||
         lumos_fail(error,
                    "ranks send to each other, and nothing in the recording shows which layers of the model they have; "
                    "record the names of modules (with_modules=True)");
}

/* Within what autograd does where it has a gradient? */
static bool accumulates(const struct lumos_job *job, const struct lumos_task *task) {
  uint32_t span = task->call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[task->call].span;
  while (span != LUMOS_NONE &&
         strcmp(lumos_string(job->strings, job->spans.items[span].name), "torch::autograd::AccumulateGrad") != 0) {
    span = job->spans.items[span].parent;
  }
  return span != LUMOS_NONE;
}

static void look_at_additions(struct rebuild_recorded *recorded) {
  enum { MUCH = 50 }; /* one in so many of what computes. Chosen: biases and norms take less */
  const struct lumos_job *job = recorded->job;
  __int128 adding = 0, all = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool back = task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
    if (back && task->step == recorded->base && task->micro_batch == recorded->pipeline.micro_batches - 1 &&
        lumos_on_stream(job, task) && !lumos_is_communication(task->kind)) {
      all += task->dur;
      adding += accumulates(job, task) ? task->dur : 0;
    }
  }
  recorded->adds = adding * MUCH > all;
}

bool rebuild_recorded_alike(const struct rebuild_recorded *recorded, const struct rebuild_recorded *other) {
  const struct rebuild_pipeline *a = &recorded->pipeline, *b = &other->pipeline;
  return recorded->layers == other->layers && a->stages == b->stages && a->chunks == b->chunks &&
         a->micro_batches == b->micro_batches && a->schedule == b->schedule && recorded->apart == other->apart;
}

bool rebuild_recorded_read(struct rebuild_recorded *recorded, const struct rebuild_blocks *blocks, size_t step,
                           struct lumos_error *error) {
  const struct lumos_job *job = blocks->job;
  const struct lumos_model_description *model =
      job->models.count > 0 ? &job->models.items[0] : &lumos_model_description_empty;
  *recorded = (struct rebuild_recorded){
      .blocks = blocks,
      .job = job,
      .pipeline = {.stages = at_least_one(model->sizes.pp), .chunks = 1, .inference = !rebuild_goes_back(job)},
      .replicas = at_least_one(model->sizes.dp),
      .contexts = rebuild_contexts_of(&model->sizes),
      .experts = rebuild_experts_of(&model->sizes),
      .layers = model->layers > 0 ? model->layers : 0};
  rebuild_steps_list(&recorded->steps, blocks);
  recorded->base = recorded->steps.items[step];
  if (!check_axes(job, &model->sizes, error)) {
    return false;
  }
  if (recorded->layers > MOST_LAYERS || recorded->pipeline.stages > LUMOS_MOST_STAGES) {
    return lumos_fail(error, "a recording of %d layers on %d stages is more than can be planned from", recorded->layers,
                      recorded->pipeline.stages);
  }
  look_at_blocks(recorded);
  look_at_passes(recorded);
  recorded->layers = count_shown(recorded);
  look_at_optimizer(recorded);
  look_at_ends(recorded);
  if (recorded->pipeline.micro_batches == 0) {
    return lumos_fail(error,
                      "nothing in the recording shows passes through a model's layers, which are what is planned "
                      "anew; record steps of training with CPU activities, or an inference with the names of "
                      "modules (with_modules=True)");
  }
  if (!check_stages(recorded, error) || !check_all_passes(recorded, error)) {
    return false;
  }
  look_at_sums(recorded);
  look_at_additions(recorded);
  recorded->pipeline.schedule = find_schedule(recorded);
  recorded->pipeline.joint = recorded->pipeline.joint || (!would_join(recorded) && shares_streams(recorded));
  return true;
}

void rebuild_recorded_free(struct rebuild_recorded *recorded) {
  for (size_t r = 0; recorded->passes != NULL && r < recorded->job->ranks.count; r++) {
    rebuild_passes_free(&recorded->passes[r]);
  }
  free(recorded->passes);
  free(recorded->exchanges);
  lumos_vector_free(&recorded->steps);
}
