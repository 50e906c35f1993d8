#include "rebuild/replan.h"

#include "rebuild/exchange.h"
#include "rebuild/parameters.h"
#include "rebuild/passes.h"
#include "rebuild/schedule.h"
#include <stdlib.h>
#include <string.h>

struct replan {
  const struct rebuild_blocks *blocks;
  const struct lumos_job *job;
  struct rebuild_plan *plan;
  struct rebuild_steps steps;
  int32_t base;                  /* the recorded step that is planned from */
  struct rebuild_passes *passes; /* by recorded rank */
  uint8_t *exchanges;            /* by block of that step: enum rebuild_transfer, added up; 0: none */
  bool sharded;                  /* every replica updates a part of the parameters, and gathers the others */
  bool joint;                    /* a neighbour is sent to and received from at once */
  int32_t stages, replicas, micro_batches, layers; /* recorded */
  struct lumos_rebuild to;                         /* nothing open */
};

/* A stage that is planned. */
struct stage {
  int32_t number, layers, first_layer;
  bool first, last;
};

/* ---- the recording ---- */

static struct lumos_parallel at(const struct lumos_rank *rank) {
  struct lumos_parallel at = rank->has_parallel ? rank->parallel : (struct lumos_parallel){0};
  at.tp = at.tp > 0 ? at.tp : 0;
  at.pp = at.pp > 0 ? at.pp : 0;
  at.dp = at.dp > 0 ? at.dp : 0;
  return at;
}

static bool has_known(const struct lumos_parallel *sizes) {
  return (sizes->cp == LUMOS_ABSENT_INT || sizes->cp <= 1) && (sizes->ep == LUMOS_ABSENT_INT || sizes->ep <= 1);
}

static int32_t at_least_one(int32_t size) { return size > 0 ? size : 1; }

static uint32_t count_layers(const struct rebuild_passes *passes, const struct rebuild_pass *pass) {
  uint32_t layers = 0;
  for (uint32_t i = 0; pass != NULL && i < pass->count; i++) {
    layers += passes->pieces.items[pass->first + i].part == LUMOS_PART_LAYER;
  }
  return layers;
}

static void look_at_blocks(struct replan *replan) {
  replan->exchanges = lumos_allocate_zeroed(replan->blocks->items.count, 1);
  for (uint32_t b = 0; b < replan->blocks->items.count; b++) {
    const struct rebuild_block *block = &replan->blocks->items.items[b];
    if (block->transfers && block->step == replan->base) {
      replan->exchanges[b] = (uint8_t)rebuild_exchange_of_block(replan->blocks, b);
      unsigned next = replan->exchanges[b] & (REBUILD_TO_NEXT | REBUILD_FROM_NEXT);
      unsigned previous = replan->exchanges[b] & (REBUILD_TO_PREVIOUS | REBUILD_FROM_PREVIOUS);
      replan->joint = replan->joint || (next & (next - 1)) != 0 || (previous & (previous - 1)) != 0;
    }
  }
}

/* Gradients are spread over replicas, or parameters gathered from them. */
static void look_at_optimizer(struct replan *replan) {
  const struct lumos_job *job = replan->job;
  for (size_t t = 0; t < job->tasks.count && !replan->sharded; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const char *op = lumos_string(job->strings, lumos_detail_of(job, task)->comm.op);
    replan->sharded = task->phase == LUMOS_OPTIMIZER_PHASE && task->kind == LUMOS_COLLECTIVE &&
                      (strcmp(op, "all_gather") == 0 || strcmp(op, "reduce_scatter") == 0);
  }
}

static void look_at_passes(struct replan *replan) {
  size_t ranks = replan->job->ranks.count;
  replan->passes = lumos_allocate_zeroed(ranks, sizeof *replan->passes);
  for (uint32_t r = 0; r < ranks; r++) {
    rebuild_passes_find(&replan->passes[r], replan->blocks, r, replan->base);
    for (size_t i = 0; i < replan->passes[r].items.count; i++) {
      int32_t micro_batch = replan->passes[r].items.items[i].micro_batch;
      int32_t count = micro_batch < INT32_MAX ? micro_batch + 1 : micro_batch;
      replan->micro_batches = count > replan->micro_batches ? count : replan->micro_batches;
    }
  }
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

/* Every rank goes forward and back with every micro-batch, through layers in a row, and that is all. */
static bool check_passes(const struct replan *replan, const struct rebuild_passes *passes, struct lumos_error *error) {
  int32_t rank = replan->job->ranks.items[passes->rank].rank;
  for (int32_t m = 0; m < replan->micro_batches; m++) {
    if (rebuild_pass_of(passes, LUMOS_FORWARD, m) == NULL || rebuild_pass_of(passes, LUMOS_BACKWARD, m) == NULL) {
      return lumos_fail(error,
                        "rank %d has no pass forward and back of micro-batch %d in step %d; record whole steps of "
                        "training",
                        rank, m, passes->step);
    }
  }
  for (size_t i = 0; i < passes->items.count; i++) {
    const struct rebuild_pass *pass = &passes->items.items[i];
    if (pass->phase == LUMOS_WEIGHT) {
      return lumos_fail(error,
                        "rank %d puts gradients of weights off, and such a schedule cannot be planned anew yet; "
                        "record it with 1F1B or GPipe",
                        rank);
    }
    if (!is_in_order(passes, pass)) {
      return lumos_fail(error,
                        "the passes of rank %d go through several chunks of layers, and such a schedule cannot be "
                        "planned anew yet; record it with 1F1B or GPipe",
                        rank);
    }
  }
  return true;
}

static bool check_all_passes(const struct replan *replan, struct lumos_error *error) {
  for (size_t r = 0; r < replan->job->ranks.count; r++) {
    if (!check_passes(replan, &replan->passes[r], error)) {
      return false;
    }
  }
  return true;
}

static bool look(struct replan *replan, struct lumos_error *error) {
  const struct lumos_model_description *model =
      replan->job->models.count > 0 ? &replan->job->models.items[0] : &lumos_model_description_empty;
  rebuild_steps_list(&replan->steps, replan->blocks);
  replan->base = replan->steps.items[replan->steps.count > 1];
  replan->stages = at_least_one(model->sizes.pp);
  replan->replicas = at_least_one(model->sizes.dp);
  replan->layers = model->layers;
  replan->plan->model = *model;
  look_at_blocks(replan);
  look_at_passes(replan);
  look_at_optimizer(replan);
  if (!has_known(&model->sizes)) {
    return lumos_fail(error, "a job with context or expert parallelism cannot be planned anew yet");
  }
  if (replan->micro_batches == 0 || replan->layers <= 0) {
    return lumos_fail(error,
                      "nothing in the recording shows the passes and layers of a training step; record the names of "
                      "modules (with_modules=True), or CPU activities");
  }
  return check_all_passes(replan, error);
}

/* ---- which recorded rank is a pattern ---- */

static uint32_t rank_at(const struct replan *replan, int32_t stage, const struct lumos_parallel *like) {
  uint32_t found = LUMOS_NONE;
  for (uint32_t r = 0; r < replan->job->ranks.count; r++) {
    struct lumos_parallel own = at(&replan->job->ranks.items[r]);
    if (own.pp == stage && own.tp == like->tp && own.dp == like->dp) {
      return r;
    }
    found = own.pp == stage && found == LUMOS_NONE ? r : found;
  }
  return found;
}

/* Ends are like ends, what is between like what was recorded between, or like the last. */
static int32_t stage_like(const struct replan *replan, const struct stage *stage) {
  if (stage->first) {
    return 0;
  }
  return stage->last || replan->stages < 3 ? replan->stages - 1 : 1 + (stage->number - 1) % (replan->stages - 2);
}

/* Of `count` in a row the one that is like number `number` of `wanted`: ends like ends; `otherwise` where there is none
 * between. */
static int32_t place_like(int32_t number, int32_t wanted, int32_t count, int32_t otherwise) {
  if (number == 0) {
    return 0;
  }
  if (number == wanted - 1) {
    return count - 1;
  }
  return count > 2 ? 1 + (number - 1) % (count - 2) : otherwise;
}

/* Weights are converted in the first pass forward, gradients summed up over replicas in the last pass back. */
static int32_t micro_batch_like(const struct replan *replan, uint8_t phase, int32_t micro_batch) {
  int32_t last = replan->micro_batches - 1;
  if (replan->to.micro_batches == 1) {
    return phase == LUMOS_FORWARD ? 0 : last;
  }
  return place_like(micro_batch, replan->to.micro_batches, replan->micro_batches, phase == LUMOS_FORWARD ? last : 0);
}

/* ---- one rank, one step ---- */

struct writer {
  const struct replan *replan;
  const struct stage *stage;
  struct rebuild_rank *rank;
  int32_t step;
  uint32_t turns;
  int32_t kernels, transfers; /* of what is done by parameters: as of items */
};

static void add(const struct writer *writer, uint32_t block, const struct rebuild_slot *slot, int32_t layer) {
  rebuild_plan_add(writer->rank, (struct rebuild_item){.like = block,
                                                       .turns = writer->turns,
                                                       .step = writer->step,
                                                       .micro_batch = slot->micro_batch,
                                                       .layer = layer,
                                                       .chunk = slot->chunk,
                                                       .phase = slot->phase,
                                                       .exchange = slot->transfers});
}

static bool is_for_replicas(const struct lumos_job *job, const struct lumos_task *task) {
  lumos_string_id group = lumos_detail_of(job, task)->comm.group;
  uint8_t role = 0;
  for (size_t g = 0; g < job->groups.count; g++) {
    role = job->groups.items[g].id == group ? job->groups.items[g].role : role;
  }
  return task->kind == LUMOS_COLLECTIVE && role != LUMOS_TENSOR && role != LUMOS_PIPELINE;
}

/* A sum over replicas, for which a pass is interrupted. */
static bool sums_up(const struct rebuild_blocks *blocks, const struct rebuild_block *block) {
  bool sums = false;
  for (uint32_t i = 0; i < block->device_count && block->part == 0 && block->phase == LUMOS_BACKWARD; i++) {
    sums = sums || is_for_replicas(blocks->job, &blocks->job->tasks.items[blocks->devices[block->device_first + i]]);
  }
  return sums;
}

/* Where the only recorded pass back is the last, gradients are summed up in the last that is built alone. */
static void add_piece(const struct writer *writer, const struct rebuild_passes *passes,
                      const struct rebuild_piece *piece, const struct rebuild_slot *slot, int32_t layer) {
  bool last = slot->micro_batch == writer->replan->to.micro_batches - 1 || writer->replan->micro_batches > 1;
  for (uint32_t i = 0; i < piece->count; i++) {
    uint32_t block = passes->blocks.items[piece->first + i];
    if (!last && sums_up(writer->replan->blocks, &writer->replan->blocks->items.items[block])) {
      continue;
    }
    bool of_layer = writer->replan->blocks->items.items[block].layer != LUMOS_ABSENT_INT;
    add(writer, block, slot, of_layer ? layer : LUMOS_ABSENT_INT);
  }
}

/* The piece of a part, of that rank, or for want of it of another one. */
static const struct rebuild_piece *find_part(const struct replan *replan, uint32_t rank, uint8_t phase,
                                             int32_t micro_batch, uint8_t part, const struct rebuild_passes **of) {
  for (uint32_t i = 0; i < replan->job->ranks.count; i++) {
    *of = &replan->passes[(rank + i) % replan->job->ranks.count];
    const struct rebuild_pass *pass = rebuild_pass_of(*of, phase, micro_batch);
    for (uint32_t p = 0; pass != NULL && p < pass->count; p++) {
      if ((*of)->pieces.items[pass->first + p].part == part) {
        return &(*of)->pieces.items[pass->first + p];
      }
    }
  }
  return NULL;
}

static void add_part(const struct writer *writer, const struct rebuild_slot *slot, uint8_t part) {
  const struct rebuild_passes *of;
  int32_t like = micro_batch_like(writer->replan, slot->phase, slot->micro_batch);
  const struct rebuild_piece *piece = find_part(writer->replan, writer->rank->like, slot->phase, like, part, &of);
  if (piece != NULL) {
    add_piece(writer, of, piece, slot, LUMOS_ABSENT_INT);
  }
}

static void add_layers(const struct writer *writer, const struct rebuild_slot *slot,
                       const struct rebuild_passes *passes, const struct rebuild_pass *pass) {
  const struct stage *stage = writer->stage;
  int32_t count = (int32_t)count_layers(passes, pass);
  for (int32_t i = 0; i < stage->layers && count > 0; i++) {
    int32_t wanted = place_like(i, stage->layers, count, count - 1), layer = -1;
    uint32_t p = pass->first;
    while (layer < wanted) {
      layer += passes->pieces.items[p++].part == LUMOS_PART_LAYER;
    }
    bool forward = slot->phase == LUMOS_FORWARD;
    add_piece(writer, passes, &passes->pieces.items[p - 1], slot,
              stage->first_layer + (forward ? i : stage->layers - 1 - i));
  }
}

/* What the pass begins with, then the parts of the model that the stage has. */
static void add_pass(const struct writer *writer, const struct rebuild_slot *slot) {
  const struct rebuild_passes *passes = &writer->replan->passes[writer->rank->like];
  const struct rebuild_pass *pass =
      rebuild_pass_of(passes, slot->phase, micro_batch_like(writer->replan, slot->phase, slot->micro_batch));
  const struct rebuild_piece *begin = &passes->pieces.items[pass->first];
  bool forward = slot->phase == LUMOS_FORWARD;
  if (begin->part == 0) {
    add_piece(writer, passes, begin, slot, LUMOS_ABSENT_INT);
  }
  if (forward ? writer->stage->first : writer->stage->last) {
    add_part(writer, slot, forward ? LUMOS_PART_EMBEDDING : LUMOS_PART_HEAD);
  }
  add_layers(writer, slot, passes, pass);
  if (forward ? writer->stage->last : writer->stage->first) {
    add_part(writer, slot, forward ? LUMOS_PART_HEAD : LUMOS_PART_EMBEDDING);
  }
}

/* A recorded block that sends and receives just that, of that rank, or for want of it of another one. */
static uint32_t find_transfer(const struct replan *replan, uint32_t rank, uint8_t transfers) {
  for (uint32_t i = 0; i < replan->job->ranks.count; i++) {
    uint32_t r = (rank + i) % (uint32_t)replan->job->ranks.count;
    for (uint32_t b = replan->blocks->rank_first[r]; b < replan->blocks->rank_first[r + 1]; b++) {
      if (replan->exchanges[b] == transfers) {
        return b;
      }
    }
  }
  return LUMOS_NONE;
}

/* What only comes before the first pass or behind the last is done by parameters, and there are other ones. */
static void add_frame(const struct writer *writer, const uint32_t *blocks, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const struct rebuild_block *block = &writer->replan->blocks->items.items[blocks[i]];
    struct rebuild_item item = {.like = blocks[i],
                                .turns = writer->turns,
                                .step = writer->step,
                                .micro_batch = block->micro_batch,
                                .layer = block->layer,
                                .phase = block->phase};
    if (block->phase == LUMOS_OPTIMIZER_PHASE) {
      item.kernels = writer->kernels;
      item.transfers = writer->transfers;
    }
    rebuild_plan_add(writer->rank, item);
  }
}

/* How many parameters there are for one that there were, in millionths; more than can be planned are INT32_MAX. */
static int64_t find_scale(const struct replan *replan, const struct stage *stage, uint32_t like) {
  const struct lumos_model_description *model = &replan->plan->model;
  const struct rebuild_passes *passes = &replan->passes[like];
  int32_t was = at(&replan->job->ranks.items[like]).pp;
  int32_t layers = (int32_t)count_layers(passes, rebuild_pass_of(passes, LUMOS_FORWARD, 0));
  __int128 before = rebuild_parameters(model, layers, was == 0, was == replan->stages - 1);
  __int128 now = rebuild_parameters(model, stage->layers, stage->first, stage->last);
  __int128 scale = before <= 0 ? 1000000 : now * 1000000 / before;
  return scale < 1 ? 1 : scale < INT32_MAX ? (int64_t)scale : INT32_MAX;
}

static bool add_step(const struct writer *writer, const struct rebuild_slots *slots, struct lumos_error *error) {
  const struct rebuild_passes *passes = &writer->replan->passes[writer->rank->like];
  add_frame(writer, passes->before.items, passes->before.count);
  for (size_t i = 0; i < slots->count; i++) {
    const struct rebuild_slot *slot = &slots->items[i];
    uint32_t transfer =
        slot->transfers == 0 ? LUMOS_NONE : find_transfer(writer->replan, writer->rank->like, slot->transfers);
    if (slot->transfers == 0) {
      add_pass(writer, slot);
    } else if (transfer == LUMOS_NONE) {
      return lumos_fail(error, "the recorded job has no example of what a stage would send and receive there; name the "
                               "recorded order of passes with --schedule, or record a pipeline of at least two stages");
    } else {
      add(writer, transfer, slot, LUMOS_ABSENT_INT);
    }
  }
  add_frame(writer, passes->behind.items, passes->behind.count);
  return true;
}

/* ---- ranks ---- */

/* `place`: of the recorded rank that it is like; `real`: its own. */
static bool add_rank(struct replan *replan, const struct stage *stage, const struct lumos_parallel *place,
                     const struct lumos_parallel *real, int32_t number, uint32_t turns, struct lumos_error *error) {
  uint32_t like = rank_at(replan, stage_like(replan, stage), place);
  if (like == LUMOS_NONE || replan->passes[like].items.count == 0) {
    return lumos_fail(error, "no rank of stage %d was recorded; record one of every stage at least",
                      stage_like(replan, stage));
  }
  int64_t scale = find_scale(replan, stage, like);
  int64_t kernels = replan->sharded ? scale * replan->replicas / replan->to.replicas : scale;
  if (scale >= INT32_MAX || kernels >= INT32_MAX) {
    return lumos_fail(error,
                      "a stage of so many layers has more than two thousand times the parameters of a recorded one; "
                      "record a model that is closer to it");
  }
  struct rebuild_rank rank = {.like = like, .number = number, .at = *real};
  struct rebuild_slots slots = {0};
  rebuild_schedule_make(&slots, &replan->plan->pipeline, stage->number);
  size_t count = rebuild_steps_built(&replan->steps);
  bool done = true;
  for (uint32_t i = 0; i < count && done; i++) {
    struct writer writer = {.replan = replan,
                            .stage = stage,
                            .rank = &rank,
                            .step = rebuild_step_at(&replan->steps, i),
                            .turns = turns + i + (uint32_t)replan->steps.count - 1,
                            .kernels = kernels == 1000000 ? 0
                                       : kernels < 1      ? 1
                                                          : (int32_t)kernels,
                            .transfers = scale == 1000000 ? 0 : (int32_t)scale};
    done = add_step(&writer, &slots, error);
  }
  lumos_vector_free(&slots);
  lumos_vector_push(&replan->plan->ranks, rank);
  return done;
}

static struct stage stage_at(const struct replan *replan, int32_t number) {
  const struct lumos_rebuild *to = &replan->to;
  struct stage stage = {.number = number, .first = number == 0, .last = number == to->stages - 1};
  for (int32_t s = 0; s < number; s++) {
    stage.first_layer += to->split[s];
  }
  stage.layers = to->split[number];
  return stage;
}

/* Every recorded rank of the first stage stands for a column of the pipeline; numbers rise along stages last, as those of
 * Megatron-LM do. */
static bool add_ranks(struct replan *replan, struct lumos_error *error) {
  const struct lumos_parallel *sizes = &replan->plan->model.sizes;
  int32_t tensor = sizes->tp, replicas = sizes->dp;
  bool done = true;
  for (int32_t s = 0; s < replan->to.stages && done; s++) {
    struct stage stage = stage_at(replan, s);
    for (int32_t d = 0; d < replicas && done; d++) {
      for (int32_t t = 0; t < tensor && done; t++) {
        struct lumos_parallel place = {t, s, d, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
        int32_t number = (s * replicas + d) * tensor + t;
        uint32_t round = (uint32_t)(d / replan->replicas);
        place.dp = d % replan->replicas;
        struct lumos_parallel real = place;
        real.dp = d;
        done = add_rank(replan, &stage, &place, &real, number, round, error);
      }
    }
  }
  return done;
}

/* ---- what is asked for ---- */

static bool split_layers(struct replan *replan, struct lumos_error *error) {
  struct lumos_rebuild *to = &replan->to;
  int64_t sum = 0;
  if (to->split_count == 0 && to->layers % to->stages != 0) {
    return lumos_fail(error, "%d layers cannot be spread evenly over %d stages; say how with --split", to->layers,
                      to->stages);
  }
  for (int32_t s = 0; s < to->stages && to->split_count == 0; s++) {
    to->split[s] = to->layers / to->stages;
  }
  if (to->split_count != 0 && to->split_count != to->stages) {
    return lumos_fail(error, "--split gives %d stages, and there are %d", to->split_count, to->stages);
  }
  for (int32_t s = 0; s < to->stages; s++) {
    sum += to->split[s];
  }
  return sum == to->layers ||
         lumos_fail(error, "--split gives %lld layers, and the model has %d", (long long)sum, to->layers);
}

/* The recording's own sizes may be more than any job's, too. */
static bool check_sizes(const struct replan *replan, struct lumos_error *error) {
  enum { MOST_RANKS = 1 << 20 }; /* chosen */
  const struct lumos_parallel *sizes = &replan->plan->model.sizes;
  if (sizes->pp > LUMOS_MOST_STAGES) {
    return lumos_fail(error, "%d stages are more than the %d that can be planned", sizes->pp, LUMOS_MOST_STAGES);
  }
  return (int64_t)sizes->pp * sizes->dp <= MOST_RANKS / sizes->tp ||
         lumos_fail(error, "%d x %d x %d ranks are more than the %d that can be planned", sizes->tp, sizes->pp,
                    sizes->dp, MOST_RANKS);
}

static bool settle(struct replan *replan, const struct lumos_rebuild *asked, struct lumos_error *error) {
  struct lumos_rebuild *to = &replan->to;
  *to = *asked;
  to->layers = to->layers > 0 ? to->layers : replan->layers;
  to->micro_batches = to->micro_batches > 0 ? to->micro_batches : replan->micro_batches;
  to->stages = to->stages > 0 ? to->stages : replan->stages;
  to->replicas = to->replicas > 0 ? to->replicas : replan->replicas;
  if (to->schedule == LUMOS_INTERLEAVED || to->schedule == LUMOS_ZB_H1 || to->chunks > 1) {
    return lumos_fail(error, "interleaved and zero-bubble schedules cannot be planned yet; plan 1f1b or gpipe");
  }
  replan->plan->pipeline = (struct rebuild_pipeline){to->schedule != 0 ? to->schedule : LUMOS_1F1B, to->stages, 1,
                                                     to->micro_batches, replan->joint};
  if (replan->replicas == 1 && to->replicas > 1) {
    return lumos_fail(error,
                      "the recorded job has one replica, and so no example of how gradients are summed up; record "
                      "it with two");
  }
  struct lumos_model_description *model = &replan->plan->model;
  model->layers = to->layers;
  model->micro_batches = to->micro_batches;
  model->sizes.tp = at_least_one(model->sizes.tp);
  model->sizes.pp = to->stages;
  model->sizes.dp = to->replicas;
  return check_sizes(replan, error) && split_layers(replan, error);
}

static void close(struct replan *replan) {
  for (size_t r = 0; replan->passes != NULL && r < replan->job->ranks.count; r++) {
    rebuild_passes_free(&replan->passes[r]);
  }
  free(replan->passes);
  free(replan->exchanges);
  lumos_vector_free(&replan->steps);
}

bool rebuild_replan(struct rebuild_plan *plan, const struct rebuild_templates *templates,
                    const struct lumos_rebuild *asked, struct lumos_error *error) {
  struct replan replan = {.blocks = templates->blocks, .job = templates->blocks->job, .plan = plan};
  *plan = (struct rebuild_plan){0};
  bool done = look(&replan, error) && settle(&replan, asked, error) && add_ranks(&replan, error);
  close(&replan);
  return done;
}
