#include "rebuild/replan.h"

#include "program/parameters.h"
#include "rebuild/again.h"
#include "rebuild/fold.h"
#include "rebuild/roles.h"
#include "rebuild/step.h"
#include "transform/experts.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct replan {
  const struct rebuild_recorded *recorded;
  struct rebuild_plan *plan;
  struct lumos_rebuild to;  /* nothing open; split: of every chunk, in the order of the model */
  enum lumos_recompute was; /* what the recorded job computes again; 0: none is asked for */
  /* By place of a recorded step: what that step is, where steps do not all do the same, as where every other one
   * updates other parameters; NULL: they do. One without blocks is planned like the second step: that one itself, one
   * that cannot be read, or one with another order of passes. */
  struct rebuild_recorded *by_step;
  bool whole;                                /* tensor-parallel ranks have whole experts */
  bool untied;                               /* the head's weights are not the embedding's */
  struct lumos_model_description counted[2]; /* what a rank has; and all that share experts, with its replicas */
};

/* ---- ranks ---- */

static uint32_t rank_at(const struct replan *replan, int32_t stage, const struct lumos_parallel *like) {
  const struct lumos_job *job = replan->recorded->job;
  uint32_t found = LUMOS_NONE;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    struct lumos_parallel own = rebuild_coordinates(&job->ranks.items[r]);
    if (own.pp == stage && own.tp == like->tp && own.dp == like->dp && own.cp == like->cp) {
      return r;
    }
    found = own.pp == stage && found == LUMOS_NONE ? r : found;
  }
  return found;
}

/* Ends are like ends, what is between like what was recorded between, or like the last. */
static int32_t stage_like(const struct replan *replan, int32_t stage) {
  int32_t recorded = replan->recorded->pipeline.stages;
  if (stage == 0) {
    return 0;
  }
  return stage == replan->to.stages - 1 || recorded < 3 ? recorded - 1 : 1 + (stage - 1) % (recorded - 2);
}

static int32_t count_recorded(const struct rebuild_recorded *recorded, uint32_t rank) {
  int32_t layers = 0;
  for (int32_t chunk = 0; chunk < recorded->pipeline.chunks; chunk++) {
    const struct rebuild_passes *passes = &recorded->passes[rank];
    layers += (int32_t)rebuild_count_layers(passes, rebuild_pass_of(passes, LUMOS_FORWARD, 0, chunk));
  }
  return layers;
}

static int32_t count_built(const struct rebuild_chunk *chunks, int32_t count) {
  int32_t layers = 0;
  for (int32_t c = 0; c < count; c++) {
    layers += chunks[c].layers;
  }
  return layers;
}

/* Where the model is not described well enough, layers are all that counts. */
static __int128 count_parameters(const struct replan *replan, int32_t layers, bool first, bool last, bool all) {
  const struct lumos_model_description *model = &replan->counted[all];
  int32_t words = replan->untied ? first + last : first || last;
  return program_parameters_known(model) ? program_parameters(model, layers, words, first) : layers;
}

/* How many parameters there are for one that there were, in millionths; more than can be planned are INT32_MAX. `were`,
 * `are`: of all that share experts together, of which replicas have shares. */
static int64_t find_scale(const struct replan *replan, const struct rebuild_chunk *chunks, uint32_t like, bool were,
                          bool are) {
  const struct rebuild_recorded *recorded = replan->recorded;
  int32_t was = rebuild_coordinates(&recorded->job->ranks.items[like]).pp, count = replan->to.chunks;
  __int128 before =
      count_parameters(replan, count_recorded(recorded, like), was == 0, was == recorded->pipeline.stages - 1, were);
  __int128 now = count_parameters(replan, count_built(chunks, count), chunks[0].first, chunks[count - 1].last, are);
  __int128 scale = before <= 0 ? 1000000 : now * 1000000 / before;
  return scale < 1 ? 1 : scale < INT32_MAX ? (int64_t)scale : INT32_MAX;
}

static bool add_steps(const struct replan *replan, struct rebuild_writer *writer, uint32_t turns, int32_t stage,
                      struct lumos_error *error) {
  const struct rebuild_steps *steps = &replan->recorded->steps;
  struct rebuild_slots slots = {0};
  bool done = true;
  rebuild_schedule_make(&slots, &replan->plan->pipeline, stage);
  for (uint32_t i = 0; i < rebuild_steps_built(steps) && done; i++) {
    const struct rebuild_recorded *own = replan->by_step == NULL ? NULL : &replan->by_step[i];
    bool apart = own != NULL && own->blocks != NULL;
    writer->recorded = apart ? own : replan->recorded;
    writer->step = rebuild_step_at(steps, i);
    writer->turns = apart ? turns : turns + i + (uint32_t)steps->count - 1;
    done = rebuild_step_write(writer, &slots, error);
  }
  lumos_vector_free(&slots);
  return done;
}

/* The last stage has the loss: a single stage ends its steps as that does. */
static uint32_t rank_behind(const struct replan *replan, uint32_t like, const struct lumos_parallel *place) {
  int32_t stages = replan->recorded->pipeline.stages;
  uint32_t last = replan->to.stages == 1 && stages > 1 ? rank_at(replan, stages - 1, place) : LUMOS_NONE;
  return last == LUMOS_NONE || replan->recorded->passes[last].items.count == 0 ? like : last;
}

static bool scale_frame(const struct replan *replan, const struct rebuild_chunk *chunks, struct rebuild_frame *frame,
                        struct lumos_error *error) {
  const struct rebuild_recorded *recorded = replan->recorded;
  const struct lumos_rebuild *to = &replan->to;
  bool shards = to->distributed_optimizer == 0 ? recorded->sharded : to->distributed_optimizer == LUMOS_SWITCH_ON;
  int64_t scale = find_scale(replan, chunks, frame->like, false, false);
  int64_t updated = find_scale(replan, chunks, frame->like, recorded->sharded, shards);
  int64_t were = recorded->sharded ? (int64_t)recorded->replicas * recorded->contexts : 1;
  int64_t kernels = updated * were / (shards ? (int64_t)to->replicas * to->contexts : 1);
  if (scale >= INT32_MAX || updated >= INT32_MAX || kernels >= INT32_MAX) {
    return lumos_fail(error,
                      "a stage of so many layers has more than two thousand times the parameters of a recorded one; "
                      "record a model that is closer to it");
  }
  frame->kernels = kernels == LUMOS_WHOLE_SHARE ? 0 : kernels < 1 ? 1 : (int32_t)kernels;
  frame->transfers = scale == LUMOS_WHOLE_SHARE ? 0 : (int32_t)scale;
  return true;
}

/* `place`: of the recorded rank that it is like; `real`: its own. */
static bool add_rank(struct replan *replan, const struct rebuild_chunk *chunks, const struct lumos_parallel *place,
                     const struct lumos_parallel *real, int32_t represents, uint32_t turns, struct lumos_error *error) {
  const struct rebuild_recorded *recorded = replan->recorded;
  int32_t stage = stage_like(replan, real->pp);
  uint32_t like = rank_at(replan, stage, place);
  if (like == LUMOS_NONE || recorded->passes[like].items.count == 0) {
    return lumos_fail(error, "no rank of stage %d was recorded; record one of every stage at least", stage);
  }
  struct rebuild_rank rank = {.like = like, .represents = represents, .at = *real};
  rank.number = rebuild_number_at(&replan->plan->model.sizes, real);
  struct rebuild_writer writer = {.recorded = recorded,
                                  .to = &replan->plan->pipeline,
                                  .chunks = chunks,
                                  .rank = &rank,
                                  .before.like = like,
                                  .again = replan->to.recompute == replan->was ? 0 : replan->to.recompute,
                                  .same_layers = replan->to.layers == recorded->layers};
  writer.behind.like = rank_behind(replan, like, place);
  if (!scale_frame(replan, chunks, &writer.before, error) || !scale_frame(replan, chunks, &writer.behind, error)) {
    return false;
  }
  bool done = add_steps(replan, &writer, turns, real->pp, error);
  lumos_vector_push(&replan->plan->ranks, rank);
  return done;
}

/* Chunk c of stage s of p is c * p + s in the order of the model. */
static void find_chunks(const struct replan *replan, int32_t stage, struct rebuild_chunk *chunks) {
  int32_t stages = replan->to.stages, all = stages * replan->to.chunks, first = 0;
  for (int32_t i = 0; i < all; i++) {
    if (i % stages == stage) {
      chunks[i / stages] = (struct rebuild_chunk){replan->to.split[i], first, i == 0, i == all - 1};
    }
    first += replan->to.split[i];
  }
}

struct folds { /* ranks of a stage */
  struct rebuild_fold replicas, contexts, shards;
};

/* The ranks of one round are like one recorded rank each, at their recorded step; no other round of any axis has that
 * step, as far as there are as many. */
static size_t round_of(const struct rebuild_fold *fold, int32_t place) { return (size_t)place / fold->shown.count; }
static size_t rounds_of(const struct rebuild_fold *fold) { return round_of(fold, fold->built - 1) + 1; }

/* The one built at these places; where sequences are not shared it has none along contexts. */
static bool add_folded(struct replan *replan, const struct rebuild_chunk *chunks, const struct folds *folds,
                       struct lumos_parallel real, struct lumos_error *error) {
  const struct rebuild_fold *replicas = &folds->replicas, *contexts = &folds->contexts, *shards = &folds->shards;
  struct lumos_parallel place = real;
  size_t turns = round_of(replicas, real.dp);
  turns = turns * rounds_of(contexts) + round_of(contexts, real.cp);
  turns = turns * rounds_of(shards) + round_of(shards, real.tp);
  int32_t represents = rebuild_fold_share(replicas, real.dp) * rebuild_fold_share(contexts, real.cp) *
                       rebuild_fold_share(shards, real.tp);
  place.tp = shards->shown.items[(size_t)real.tp % shards->shown.count];
  place.cp = contexts->shown.items[(size_t)real.cp % contexts->shown.count];
  place.dp = replicas->shown.items[(size_t)real.dp % replicas->shown.count];
  const struct lumos_parallel *sizes = &replan->plan->model.sizes;
  real.cp = sizes->cp > 0 ? real.cp : LUMOS_ABSENT_INT;
  real.ep = sizes->ep > 0 ? rebuild_place_in_stage(sizes, &real) % rebuild_experts_of(sizes) : LUMOS_ABSENT_INT;
  return add_rank(replan, chunks, &place, &real, represents, (uint32_t)turns, error);
}

static bool add_stage(struct replan *replan, int32_t stage, const struct folds *folds,
                      const struct rebuild_chunk *chunks, struct lumos_error *error) {
  bool done = true;
  for (int32_t d = 0; d < folds->replicas.built && done; d++) {
    for (int32_t c = 0; c < folds->contexts.built && done; c++) {
      for (int32_t t = 0; t < folds->shards.built && done; t++) {
        done = add_folded(replan, chunks, folds, (struct lumos_parallel){t, stage, d, c, LUMOS_ABSENT_INT}, error);
      }
    }
  }
  return done;
}

/* Every recorded rank of the first stage stands for a column of the pipeline. */
static bool add_ranks(struct replan *replan, struct lumos_error *error) {
  const struct rebuild_recorded *recorded = replan->recorded;
  const struct lumos_parallel *sizes = &replan->plan->model.sizes;
  struct folds folds = {rebuild_fold_replicas(recorded->job, recorded->steps.count, sizes->dp),
                        rebuild_fold_contexts(recorded->job, recorded->steps.count, rebuild_contexts_of(sizes)),
                        rebuild_fold_shards(recorded->job, recorded->steps.count, sizes->tp)};
  struct rebuild_chunk *chunks = lumos_allocate((size_t)replan->to.chunks * sizeof *chunks);
  bool done = true;
  for (int32_t s = 0; s < replan->to.stages && done; s++) {
    find_chunks(replan, s, chunks);
    done = add_stage(replan, s, &folds, chunks, error);
  }
  lumos_vector_free(&folds.replicas.shown);
  lumos_vector_free(&folds.contexts.shown);
  lumos_vector_free(&folds.shards.shown);
  free(chunks);
  return done;
}

/* ---- what is asked for ---- */

/* The multiples of `of` next to a number: "8 or 12"; the lower is left out where it is none. */
static const char *nearest(int32_t number, int32_t of, char *text, size_t size) {
  int32_t below = number / of * of;
  if (below > 0) {
    (void)snprintf(text, size, "%d or %lld", below, (long long)below + of);
  } else {
    (void)snprintf(text, size, "%lld", (long long)below + of);
  }
  return text;
}

/* --split may have an entry a stage, spread evenly over its chunks, or one a chunk. */
static bool spread_split(struct replan *replan, struct lumos_error *error) {
  struct lumos_rebuild *to = &replan->to;
  int32_t all = to->stages * to->chunks;
  if (to->split_count == all) {
    return true;
  }
  if (to->split_count != to->stages) {
    return lumos_fail(error, "--split has %d numbers, not one for each of %d stages%s", to->split_count, to->stages,
                      to->chunks > 1 ? ", or of their chunks" : "");
  }
  for (int32_t stage = 0; stage < to->stages; stage++) {
    if (to->split[stage] % to->chunks != 0) {
      char text[48];
      return lumos_fail(error, "%d layers of stage %d cannot be spread evenly over %d chunks; the nearest are %s",
                        to->split[stage], stage, to->chunks, nearest(to->split[stage], to->chunks, text, sizeof text));
    }
  }
  for (int32_t i = all; i-- > 0;) {
    to->split[i] = to->split[i % to->stages] / to->chunks;
  }
  return true;
}

static bool split_layers(struct replan *replan, struct lumos_error *error) {
  struct lumos_rebuild *to = &replan->to;
  int32_t all = to->stages * to->chunks;
  int64_t sum = 0;
  if (replan->recorded->layers == 0) {
    return true;
  }
  if (to->layers < all) {
    return lumos_fail(error, "%d layers are too few for %d %s; the nearest are --pp %d or --layers %d", to->layers, all,
                      to->chunks > 1 ? "chunks" : "stages", to->layers / to->chunks > 0 ? to->layers / to->chunks : 1,
                      all);
  }
  if (to->split_count == 0 && to->layers % all != 0) {
    char text[48];
    return lumos_fail(error,
                      "%d layers cannot be spread evenly over %d %s; say how with --split, or take the nearest: "
                      "--layers %s",
                      to->layers, all, to->chunks > 1 ? "chunks" : "stages",
                      nearest(to->layers, all, text, sizeof text));
  }
  for (int32_t i = 0; i < all && to->split_count == 0; i++) {
    to->split[i] = to->layers / all;
  }
  if (to->split_count != 0 && !spread_split(replan, error)) {
    return false;
  }
  for (int32_t i = 0; i < all; i++) {
    sum += to->split[i];
  }
  return sum == to->layers || lumos_fail(error, "--split gives %lld layers, and the model has %d; add --layers %lld",
                                         (long long)sum, to->layers, (long long)sum);
}

bool rebuild_check_ranks(const struct lumos_parallel *sizes, struct lumos_error *error) {
  enum { MOST_RANKS = 1 << 20 }; /* chosen */
  int32_t tp = sizes->tp > 0 ? sizes->tp : 1, pp = sizes->pp > 0 ? sizes->pp : 1, dp = sizes->dp > 0 ? sizes->dp : 1;
  int32_t contexts = rebuild_contexts_of(sizes);
  return ((int64_t)pp * dp <= MOST_RANKS / tp && (int64_t)pp * dp * tp <= MOST_RANKS / contexts) ||
         lumos_fail(error, "%d x %d x %d%s ranks are more than the %d that can be planned", tp, pp, dp,
                    contexts > 1 ? ", times those of context groups," : "", MOST_RANKS);
}

/* The recording's own sizes may be more than any job's, too. */
static bool check_sizes(const struct replan *replan, struct lumos_error *error) {
  const struct lumos_parallel *sizes = &replan->plan->model.sizes;
  if (sizes->pp > LUMOS_MOST_STAGES || replan->to.chunks > LUMOS_MOST_STAGES / sizes->pp) {
    return lumos_fail(error, "%d stages%s are more than the %d that can be planned", sizes->pp,
                      replan->to.chunks > 1 ? " of so many chunks" : "", LUMOS_MOST_STAGES);
  }
  return rebuild_check_ranks(sizes, error);
}

static int32_t chosen(int32_t asked, int32_t recorded) { return asked > 0 ? asked : recorded; }

/* The recorded schedule is kept, but that a single stage has none to interleave. */
static bool settle_schedule(struct replan *replan, struct lumos_error *error) {
  const struct rebuild_pipeline *was = &replan->recorded->pipeline;
  struct lumos_rebuild *to = &replan->to;
  bool alone = to->stages == 1 && was->schedule == LUMOS_INTERLEAVED && to->chunks <= 1;
  to->schedule = to->schedule != 0 ? to->schedule : alone ? LUMOS_1F1B : was->schedule;
  if (to->schedule == 0) {
    return lumos_fail(error,
                      "the recorded order of passes is that of no schedule that Lumos knows; name the one to plan "
                      "with --schedule 1f1b, gpipe, interleaved or zb-h1");
  }
  if (to->schedule == LUMOS_ZB_H1 && !replan->recorded->apart && !replan->recorded->parts) {
    return lumos_fail(error,
                      "nothing in the recording shows which matrix products are for the gradients of weights, which "
                      "zb-h1 puts off; record operators (CPU activities) without compiling the backward pass, or "
                      "record the job with zb-h1");
  }
  if (to->schedule != LUMOS_INTERLEAVED) {
    return to->chunks <= 1 ||
           lumos_fail(error, "only an interleaved schedule has several chunks a stage; give --vp with "
                             "--schedule interleaved");
  }
  to->chunks = chosen(to->chunks, was->chunks);
  if (to->chunks < 2) {
    return lumos_fail(error, "an interleaved schedule has at least two chunks a stage; say how many with --vp, such as "
                             "--vp 2");
  }
  if (to->stages < 2) {
    return lumos_fail(error, "an interleaved schedule has at least two stages; the nearest is --pp 2");
  }
  char text[48];
  return to->micro_batches % to->stages == 0 ||
         lumos_fail(error,
                    "an interleaved schedule takes a multiple of its %d stages as micro-batches, not %d; the nearest "
                    "are --micro-batches %s",
                    to->stages, to->micro_batches, nearest(to->micro_batches, to->stages, text, sizeof text));
}

static bool check_attention(const struct replan *replan, struct lumos_error *error) {
  bool asks = replan->to.recompute == LUMOS_RECOMPUTE_SELECTIVE && replan->was != LUMOS_RECOMPUTE_SELECTIVE;
  return !asks || replan->recorded->attends ||
         lumos_fail(error, "--recompute=selective: the recording does not show attention in each pass through each "
                           "layer; record operators (CPU activities), and kernels launched one by one, not as CUDA "
                           "graphs");
}

/* Experts are shared by ranks of a stage in a row, and by no others. How tensor-parallel ranks send parts of their
 * tokens shows a job in which they do. */
static bool check_experts(const struct replan *replan, struct lumos_error *error) {
  const struct lumos_rebuild *to = &replan->to;
  const struct lumos_parallel *sizes = &replan->plan->model.sizes;
  char text[48];
  int32_t of_replica = to->shards * to->contexts, all = of_replica * to->replicas, multiple = 1;
  if (all % to->experts != 0) {
    while (of_replica * multiple % to->experts != 0) {
      multiple++;
    }
    return lumos_fail(error,
                      "%d ranks of a stage cannot be divided by the %d that share experts; the nearest are --dp %s, or "
                      "say how many share them with --ep",
                      all, to->experts, nearest(to->replicas, multiple, text, sizeof text));
  }
  bool shared = to->experts > 1 || replan->recorded->experts > 1;
  return !shared || to->shards == 1 || replan->whole ||
         lumos_fail(error,
                    "--tp %d: the recorded ranks share experts and no tensors, so how they would share both is not "
                    "known; record a job with --tensor-model-parallel-size 2, --sequence-parallel and "
                    "--expert-tensor-parallel-size 1",
                    sizes->tp);
}

/* What a rank's share of the parameters is of the recorded one. */
static int32_t share_of(const struct rebuild_recorded *recorded, const struct lumos_rebuild *to) {
  int64_t were = (int64_t)recorded->replicas * recorded->contexts, are = (int64_t)to->replicas * to->contexts;
  int64_t share = LUMOS_WHOLE_SHARE * were / are;
  return are == were ? 0 : share < 1 ? 1 : share < INT32_MAX ? (int32_t)share : INT32_MAX;
}

/* Tables of embeddings, or experts, that replicas share in a way that other numbers of them would change. */
static bool check_exchanges(const struct rebuild_recorded *recorded, const struct lumos_rebuild *asked,
                            struct lumos_error *error) {
  const struct lumos_job *job = recorded->job;
  bool others = asked->replicas > 0 && asked->replicas != recorded->replicas, exchanges = false;
  for (size_t t = 0; t < job->tasks.count && recorded->replicas > 1 && !exchanges; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD;
    uint8_t role = rebuild_role_of(job, t);
    exchanges = task->kind == LUMOS_COLLECTIVE && passes && (role == 0 || role == LUMOS_DATA) &&
                strncmp(lumos_string(job->strings, lumos_detail_of(job, task)->comm.op), "all_to_all", 10) == 0;
  }
  return !exchanges || (!others && job->ranks.count == 1) ||
         lumos_fail(error, "replicas exchange activations in their passes (all_to_all), as those do that share tables "
                           "of embeddings or experts; how others would share them is not known, so their number and "
                           "passes stay as recorded: leave --dp and the like out");
}

/* A job can have passes of which nothing tells the layers: then they stay as they are. */
static bool check_layers(const struct rebuild_recorded *recorded, const struct lumos_rebuild *asked,
                         struct lumos_error *error) {
  const char *option = asked->layers > 0                               ? "--layers"
                       : asked->stages > 1                             ? "--pp"
                       : asked->chunks > 1                             ? "--vp"
                       : asked->split_count > 0                        ? "--split"
                       : asked->recompute == LUMOS_RECOMPUTE_FULL      ? "--recompute=full"
                       : asked->recompute == LUMOS_RECOMPUTE_SELECTIVE ? "--recompute=selective"
                                                                       : NULL;
  return recorded->layers > 0 || option == NULL ||
         lumos_fail(error,
                    "%s: nothing in the recording shows the layers of the model; record the names of modules "
                    "(with_modules=True), and kernels launched one by one, not as CUDA graphs",
                    option);
}

static bool settle(struct replan *replan, const struct lumos_rebuild *asked, struct lumos_error *error) {
  const struct rebuild_recorded *recorded = replan->recorded;
  struct lumos_rebuild *to = &replan->to;
  if (!check_layers(recorded, asked, error) || !check_exchanges(recorded, asked, error)) {
    return false;
  }
  *to = *asked;
  to->layers = chosen(to->layers, recorded->layers);
  to->micro_batches = chosen(to->micro_batches, recorded->pipeline.micro_batches);
  to->stages = chosen(to->stages, recorded->pipeline.stages);
  to->replicas = chosen(to->replicas, recorded->replicas);
  to->shards = chosen(to->shards, chosen(replan->plan->model.sizes.tp, 1));
  to->contexts = chosen(to->contexts, recorded->contexts);
  to->experts = chosen(to->experts, recorded->experts);
  if (!settle_schedule(replan, error)) {
    return false;
  }
  to->chunks = chosen(to->chunks, 1);
  struct lumos_model_description *model = &replan->plan->model;
  model->layers = asked->layers > 0 || model->layers <= 0 ? to->layers : model->layers;
  model->layers = model->layers > 0 ? model->layers : LUMOS_ABSENT_INT;
  model->micro_batches = to->micro_batches;
  model->sizes.tp = to->shards;
  model->sizes.pp = to->stages;
  model->sizes.dp = to->replicas;
  model->sizes.cp = model->sizes.cp > 0 ? to->contexts : model->sizes.cp;
  model->sizes.ep = model->sizes.ep > 0 ? to->experts : model->sizes.ep;
  replan->plan->pipeline = (struct rebuild_pipeline){.schedule = to->schedule,
                                                     .stages = to->stages,
                                                     .chunks = to->chunks,
                                                     .micro_batches = to->micro_batches,
                                                     .inference = recorded->pipeline.inference,
                                                     .joint = recorded->pipeline.joint};
  replan->plan->shares = share_of(recorded, to);
  return check_sizes(replan, error) && check_experts(replan, error) && split_layers(replan, error);
}

/* Examples of transfers, where the recording has none, are in one step alone. */
static void read_steps(struct replan *replan, const struct rebuild_templates *templates) {
  size_t count = replan->recorded->steps.count;
  bool supplied = replan->to.stages > 1 && replan->recorded->pipeline.stages == 1;
  if (count < 3 || supplied || rebuild_steps_alike(templates)) {
    return;
  }
  replan->by_step = lumos_allocate_zeroed(count, sizeof *replan->by_step);
  for (size_t s = 0; s < count; s++) {
    struct rebuild_recorded *step = &replan->by_step[s];
    struct lumos_error error = {0};
    if (!rebuild_recorded_read(step, templates->blocks, s, &error) || !rebuild_recorded_alike(step, replan->recorded)) {
      rebuild_recorded_free(step);
      *step = (struct rebuild_recorded){.blocks = NULL};
    }
  }
}

static void free_steps(struct replan *replan) {
  for (size_t s = 0; replan->by_step != NULL && s < replan->recorded->steps.count; s++) {
    if (replan->by_step[s].blocks != NULL) {
      rebuild_recorded_free(&replan->by_step[s]);
    }
  }
  free(replan->by_step);
}

bool rebuild_replan(struct rebuild_plan *plan, const struct rebuild_templates *templates,
                    const struct lumos_rebuild *asked, bool untied, struct lumos_error *error) {
  const struct lumos_job *job = templates->blocks->job;
  struct rebuild_recorded recorded;
  struct replan replan = {.recorded = &recorded, .plan = plan};
  *plan = (struct rebuild_plan){.model = job->models.count > 0 ? job->models.items[0] : lumos_model_description_empty};
  replan.untied = untied;
  replan.whole = lumos_experts_are_whole(job);
  if (asked->recompute != 0 && rebuild_hides_again(job)) {
    return lumos_fail(
        error,
        "--recompute: the compiled backward pass computes part of the forward pass again, and the recording does "
        "not show which part; record the model without torch.compile, or compiled with and without checkpoints");
  }
  replan.was = asked->recompute == 0 ? 0 : rebuild_computes_again(job);
  struct rebuild_steps steps;
  rebuild_steps_list(&steps, templates->blocks);
  bool done = rebuild_recorded_read(&recorded, templates->blocks, steps.count > 1, error) &&
              settle(&replan, asked, error) && check_attention(&replan, error);
  lumos_vector_free(&steps);
  if (done) {
    int32_t shards = replan.to.shards; /* of all else */
    replan.counted[false] = lumos_experts_as_one(job, shards);
    replan.counted[true] = lumos_experts_as_one(job, replan.to.experts * (replan.whole ? 1 : shards));
    read_steps(&replan, templates);
    done = add_ranks(&replan, error);
    free_steps(&replan);
  }
  rebuild_recorded_free(&recorded);
  return done;
}
