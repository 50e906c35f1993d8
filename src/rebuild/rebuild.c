/* A job written anew out of what was recorded of it. */
#include "base/parallel.h"
#include "program/parameters.h"
#include "program/sharded.h"
#include "rebuild/accumulate.h"
#include "rebuild/again.h"
#include "rebuild/alone.h"
#include "rebuild/ask.h"
#include "rebuild/contended.h"
#include "rebuild/conversions.h"
#include "rebuild/emit.h"
#include "rebuild/error.h"
#include "rebuild/fold.h"
#include "rebuild/gradients.h"
#include "rebuild/hosts.h"
#include "rebuild/kept.h"
#include "rebuild/learn.h"
#include "rebuild/least.h"
#include "rebuild/legal.h"
#include "rebuild/lone.h"
#include "rebuild/notes.h"
#include "rebuild/outside.h"
#include "rebuild/reduce.h"
#include "rebuild/replan.h"
#include "rebuild/roles.h"
#include "rebuild/shards.h"
#include "rebuild/slowest.h"
#include "rebuild/supply.h"
#include "rebuild/unison.h"
#include "sim/clock.h"
#include "sim/engine.h"
#include "transform/edit.h"
#include "transform/experts.h"
#include "transform/parts.h"
#include "transform/reshape.h"
#include <lumos/sim.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A job that was built before has no starts but those of its simulation: they say in which order its blocks come. */
static bool simulate_starts(struct lumos_job *job, struct lumos_error *error) {
  const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
  struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
  bool done = lumos_engine_run(job, &options, runs, error);
  for (size_t t = 0; t < job->tasks.count && done; t++) {
    job->tasks.items[t].start = runs[t].start;
  }
  free(runs);
  return done;
}

static bool check_recording(const struct lumos_job *job, struct lumos_error *error) {
  if (job->models.count > 0 && !rebuild_check_ranks(&job->models.items[0].sizes, error)) {
    return false;
  }
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD && job->lanes.items[l].task_count > 0) {
      return true;
    }
  }
  return lumos_fail(error, "a job can be rebuilt only where threads were recorded; record CPU activities, too");
}

static int32_t shards_asked(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  int32_t were = job->models.count == 0 ? 1 : job->models.items[0].sizes.tp;
  return asked->shards > 0 ? asked->shards : were > 0 ? were : 1;
}

static int32_t contexts_asked(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  int32_t were = job->models.count == 0 ? 1 : rebuild_contexts_of(&job->models.items[0].sizes);
  return asked->contexts > 0 ? asked->contexts : were;
}

static int32_t experts_asked(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  int32_t were = job->models.count == 0 ? 1 : rebuild_experts_of(&job->models.items[0].sizes);
  return asked->experts > 0 ? asked->experts : were;
}

static struct lumos_spread spread_asked(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  return (struct lumos_spread){contexts_asked(job, asked), shards_asked(job, asked)};
}

/* In how many parts tensor-parallel ranks will have a sequence between halves of layers. */
static int32_t sequence_parts(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  enum lumos_switch will = asked->sequence_parallel != 0 ? asked->sequence_parallel : lumos_parts_recorded(job);
  return will == LUMOS_SWITCH_ON ? shards_asked(job, asked) : 1;
}

static struct lumos_job *build_recorded(const struct rebuild_templates *templates, size_t more,
                                        struct rebuild_plan *plan, struct lumos_error *error) {
  rebuild_plan_recorded(plan, templates, more);
  return rebuild_emit(templates, plan, error);
}

/* How far the recorded configuration is off. A step more, so that each recorded one counts. */
static bool find_deviation(const struct rebuild_templates *templates, struct lumos_decimal *deviation,
                           struct lumos_error *error) {
  struct rebuild_plan plan;
  struct lumos_job *built = build_recorded(templates, 1, &plan, error);
  bool done = built != NULL && rebuild_error(templates, &plan, built, deviation, error);
  lumos_job_free(built);
  rebuild_plan_free(&plan);
  return done;
}

/* A second time where the slowest of all replicas is slower than those that are built. */
static struct lumos_job *build_folded(const struct rebuild_templates *templates, struct rebuild_plan *plan,
                                      struct lumos_error *error) {
  struct lumos_job *built = rebuild_emit(templates, plan, error);
  const struct lumos_job *job = templates->blocks->job;
  const struct lumos_parallel *recorded =
      job->models.count > 0 ? &job->models.items[0].sizes : &lumos_model_description_empty.sizes;
  bool slowed = false, done = built != NULL && rebuild_await_slowest(plan, built, recorded, &slowed, error);
  if (done && !slowed) {
    return built;
  }
  lumos_job_free(built);
  return done ? rebuild_emit(templates, plan, error) : NULL;
}

static struct lumos_job *build_asked(const struct rebuild_templates *templates, const struct lumos_rebuild *asked,
                                     bool untied, struct lumos_error *error) {
  struct rebuild_plan plan;
  if (rebuild_is_as_recorded(asked)) {
    struct lumos_job *recorded = build_recorded(templates, 0, &plan, error);
    rebuild_plan_free(&plan);
    return recorded;
  }
  bool planned = rebuild_replan(&plan, templates, asked, untied, error) &&
                 rebuild_check_plan(&plan, templates, error) && rebuild_check_unison(&plan, templates, error);
  struct lumos_job *built = planned ? build_folded(templates, &plan, error) : NULL;
  if (built != NULL && plan.unsure > 0) {
    (void)lumos_job_common_error(built, LUMOS_ERROR_REPLICAS, "GPUs of replicas that were not recorded",
                                 (int32_t)lround(fmin(plan.unsure, 1) * LUMOS_WHOLE_SHARE),
                                 "how far recorded replicas differ; of one, what others measured");
  }
  rebuild_plan_free(&plan);
  return built;
}

/* What is asked for, and beside it how far the recorded configuration is off. */
struct both {
  const struct rebuild_templates *templates;
  const struct lumos_rebuild *asked;
  bool untied; /* the head's weights are not the embedding's, in the recording */
  struct lumos_job *built;
  struct lumos_decimal deviation;
  bool deviates; /* the deviation is known */
  struct lumos_error errors[2];
};

/* What is planned begins with its first step; what was recorded, behind work that was launched before. */
static void begin_at_once(struct lumos_job *built) {
  for (size_t r = 0; r < built->ranks.count; r++) {
    struct lumos_rank *rank = &built->ranks.items[r];
    rank->base -= lumos_device_job_time(rank, rank->base);
    rank->base_lag = LUMOS_ABSENT;
  }
}

static double off_by(struct lumos_decimal deviation) {
  return deviation.units == LUMOS_ABSENT ? 0 : fabs(lumos_decimal_value(deviation));
}

static bool shows_layers(const struct rebuild_templates *templates) {
  bool shows = false;
  for (size_t b = 0; b < templates->blocks->items.count && !shows; b++) {
    shows = templates->blocks->items.items[b].part == LUMOS_PART_LAYER;
  }
  return shows;
}

/* Where no layers show which blocks belong together, a plan of the recorded configuration has to come to the recorded
 * step: by how much it does not is what the plan is off by, if that is more. */
static bool try_plan(struct both *both, struct lumos_error *error) {
  static const double MOST = 0.1; /* chosen: a prediction that is off by more is none */
  const struct rebuild_templates *templates = both->templates;
  const struct lumos_rebuild as_recorded = {.layers = 0};
  struct lumos_decimal deviation;
  struct rebuild_plan plan;
  bool planned = rebuild_replan(&plan, templates, &as_recorded, both->untied, error);
  struct lumos_job *built = planned ? rebuild_emit(templates, &plan, error) : NULL;
  if (built != NULL) {
    begin_at_once(built);
  }
  bool done = built != NULL && rebuild_error(templates, &plan, built, &deviation, error);
  rebuild_plan_free(&plan);
  lumos_job_free(built);
  if (done && off_by(deviation) > MOST + off_by(both->deviation)) {
    return lumos_fail(error,
                      "nothing in the recording shows the layers of the model, and without them the recorded step "
                      "itself, planned anew, is %.0f %% off; record the names of modules (with_modules=True)",
                      100 * off_by(deviation));
  }
  if (done && off_by(deviation) > off_by(both->deviation)) {
    both->deviation = deviation;
  }
  return done;
}

static bool build_one(void *context, size_t index, bool callers) {
  struct both *both = context;
  (void)callers;
  if (index == 0) {
    both->built = build_asked(both->templates, both->asked, both->untied, &both->errors[0]);
    return both->built != NULL;
  }
  return find_deviation(both->templates, &both->deviation, &both->errors[1]);
}

static bool build_both(struct both *both, struct lumos_error *error) {
  size_t count = both->deviates ? 1 : 2;
  size_t failed = lumos_parallel(count, both->templates->blocks->job->threads, build_one, both);
  if (failed < count) {
    *error = both->errors[failed];
    lumos_job_free(both->built);
  }
  return failed == count;
}

/* Where gradients of weights are put off that were not in the recording, or the other way round, blocks are cut at
 * them. */
static enum rebuild_weights weights_for(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  bool were = false, will = asked->schedule == LUMOS_ZB_H1;
  for (size_t t = 0; t < job->tasks.count && !were; t++) {
    were = job->tasks.items[t].phase == LUMOS_WEIGHT;
  }
  return asked->schedule == 0 || were == will ? REBUILD_WEIGHTS_STAY
         : will                               ? REBUILD_WEIGHTS_PART
                                              : REBUILD_WEIGHTS_JOIN;
}

static bool lacks_transfers(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  return asked->stages > 1 && (job->models.count == 0 || job->models.items[0].sizes.pp <= 1);
}

/* What was recorded, cut into blocks, and what these are copies of. */
struct cut {
  struct rebuild_blocks blocks;
  struct rebuild_templates templates;
};

static bool cut(struct cut *cut, const struct lumos_job *job, enum rebuild_weights weights, bool attention,
                const char *learn_from, struct lumos_error *error) {
  struct rebuild_templates *templates = &cut->templates;
  rebuild_blocks_cut(&cut->blocks, job, weights, attention);
  rebuild_templates_make(templates, &cut->blocks);
  templates->delays = rebuild_outside(job);
  return learn_from == NULL || rebuild_learn(templates, learn_from, error);
}

static bool cuts_attention(const struct lumos_rebuild *asked) { return asked->recompute == LUMOS_RECOMPUTE_SELECTIVE; }

static bool cut_for(struct cut *own, const struct lumos_job *job, const struct lumos_rebuild *asked,
                    struct lumos_error *error) {
  return cut(own, job, weights_for(job, asked), cuts_attention(asked), asked->learn_from, error);
}

/* In which way a job is cut for what is asked for. */
enum { CUTS = REBUILD_WEIGHTS_KINDS * 2 };
static int way_of(const struct lumos_job *job, const struct lumos_rebuild *asked) {
  return (int)weights_for(job, asked) * 2 + cuts_attention(asked);
}

static void free_cut(struct cut *cut) {
  rebuild_templates_free(&cut->templates);
  rebuild_blocks_free(&cut->blocks);
}

/* A job as it was cut for some of what is asked for, and how far the recorded configuration, built of that, is off. */
struct prepared {
  bool tried, done, supplied;
  struct cut cut;
  struct lumos_decimal deviation;
  struct lumos_error error; /* why it is not done */
};

static bool supply_examples(struct lumos_job *job, const struct rebuild_blocks *blocks,
                            const struct lumos_rebuild *asked, struct lumos_error *error) {
  struct rebuild_steps steps;
  rebuild_steps_list(&steps, blocks);
  int32_t step = steps.count == 0 ? 0 : steps.items[steps.count > 1];
  lumos_vector_free(&steps);
  return rebuild_supply_transfers(job, step, sequence_parts(job, asked), error);
}

/* Examples of what the recording lacks are put into it, and blocks are cut anew. How far the recorded configuration is
 * off is found before. */
static bool supply(struct both *both, struct lumos_job *job, struct cut *own, struct lumos_error *error) {
  if (!both->deviates && !find_deviation(both->templates, &both->deviation, error)) {
    return false;
  }
  both->deviates = true;
  if (!supply_examples(job, both->templates->blocks, both->asked, error)) {
    return false;
  }
  if (own->blocks.job != NULL) {
    free_cut(own);
  }
  both->templates = &own->templates;
  return cut_for(own, job, both->asked, error);
}

/* The plan has put in what is to be computed again, and knows nothing of what was. */
static void change_again(struct lumos_job *built, const struct lumos_job *job, enum lumos_recompute will) {
  bool other = will != 0 && will != rebuild_computes_again(job);
  if (other || will == LUMOS_RECOMPUTE_NONE) { /* norms may be computed again where products are not */
    rebuild_strip_again(built, job);
  }
  if (will == LUMOS_RECOMPUTE_FULL) {
    rebuild_gather_once(built, job);
    if (!rebuild_is_megatron(job)) {
      rebuild_stop_early(built, job);
    }
  }
}

static struct lumos_job *build(struct lumos_job *job, const struct prepared *prepared,
                               const struct lumos_rebuild *asked, bool untied, struct lumos_error *error) {
  struct cut own = {.blocks = {.job = NULL}};
  struct rebuild_kept kept;
  rebuild_kept_read(&kept, job);
  struct both both = {.asked = asked, .untied = untied};
  bool done = true;
  if (prepared != NULL) {
    both.templates = &prepared->cut.templates;
    both.deviation = prepared->deviation;
    both.deviates = true;
  } else {
    both.templates = &own.templates;
    done = cut_for(&own, job, asked, error) && (!lacks_transfers(job, asked) || supply(&both, job, &own, error));
  }
  done = done && build_both(&both, error);
  if (done && !shows_layers(both.templates) && !rebuild_is_as_recorded(asked) && !try_plan(&both, error)) {
    lumos_job_free(both.built);
    done = false;
  }
  if (done && !rebuild_is_as_recorded(asked)) {
    begin_at_once(both.built);
    rebuild_place_ranks(both.built, job);
    rebuild_strip_alone(both.built, job);
    change_again(both.built, job, asked->recompute);
  }
  if (done && (!rebuild_shards(both.built, job, asked->sequence_parallel, error) ||
               !rebuild_accumulate(both.built, job, error) || !rebuild_reduce(both.built, job, asked, error) ||
               !rebuild_resize_lone(both.built, job, error))) {
    lumos_job_free(both.built);
    done = false;
  }
  if (done) {
    rebuild_doubt_conversions(both.built, job);
    rebuild_kept_put(&kept, both.built);
    rebuild_put_notes(both.built, both.templates, asked, both.deviation);
  }
  rebuild_kept_free(&kept);
  if (own.blocks.job != NULL) {
    free_cut(&own);
  }
  return done ? both.built : NULL;
}

/* What is known of the recorded job alone. */
struct beginning {
  bool untied;                        /* the head's weights are not the embedding's */
  bool parted;                        /* ranks shared tensors or sequences that share none any more */
  bool inference;                     /* its steps are passes forward, which are labelled as such while it is rebuilt */
  struct rebuild_contended contended; /* unless it is to be built as it was recorded */
};

struct lumos_rebuild_base {
  bool begun;
  struct beginning beginning;
  struct lumos_error error; /* why it is not begun */
  struct prepared prepared[CUTS];
};

static void record(struct lumos_job *job, const struct lumos_rebuild *asked) {
  struct lumos_text args = LUMOS_TEXT_BUFFER;
  rebuild_tell(asked, &args);
  lumos_text_char(&args, '\0');
  lumos_job_history(job, "lumos-transform", args.bytes, NULL, 0);
  lumos_text_free(&args);
}

/* What norms and the like work on between the halves of layers. */
static bool change_sequence(struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  int32_t shards = shards_asked(job, asked);
  bool on = asked->sequence_parallel == LUMOS_SWITCH_ON;
  if (on && shards <= 1) {
    return lumos_fail(error,
                      "--sequence-parallel=on: there is one tensor-parallel rank; give --tp, too, such as --tp 2");
  }
  const struct lumos_rebuild as_recorded = {.shards = 0};
  enum lumos_switch were = lumos_parts_recorded(job);
  bool whole = shards > 1 && shards_asked(job, &as_recorded) == 1 && lumos_experts_are_whole(job);
  if (whole && !on) {
    return lumos_fail(
        error,
        "--tp %d: the model has experts, which tensor-parallel ranks send their parts of sequences to, as "
        "in Megatron-LM with --expert-tensor-parallel-size 1; add --sequence-parallel=on",
        shards);
  }
  if (whole || asked->sequence_parallel == 0 || shards <= 1 || were == asked->sequence_parallel) {
    return true;
  }
  if (were == 0) {
    return lumos_fail(
        error, "--sequence-parallel: the recording does not show what tensor-parallel ranks exchange in layers, so "
               "whether each has a part of the sequence is not known; record the arguments of collectives "
               "with a later PyTorch, and kernels launched one by one, not as CUDA graphs");
  }
  return lumos_reshape_sequence(job, spread_asked(job, asked), on, error);
}

/* What shows how ranks share a sequence is a job in which they do. */
static bool change_contexts(struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  const struct lumos_rebuild as_recorded = {.contexts = 0};
  int32_t were = contexts_asked(job, &as_recorded), will = contexts_asked(job, asked);
  if (were == 1 && will > 1) {
    return lumos_fail(
        error,
        "--cp %d: no context-parallel group was recovered from the recording, so what its ranks would exchange "
        "is not known; record a job with --context-parallel-size 2 (cp_comm_type=all_gather)",
        will);
  }
  return were == will || lumos_reshape_contexts(job, will, error);
}

/* The same of experts; how tokens come to them shows where ranks exchange these. */
static bool change_experts(struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  const struct lumos_rebuild as_recorded = {.experts = 0};
  int32_t were = experts_asked(job, &as_recorded), will = experts_asked(job, asked);
  if (were == 1 && will > 1) {
    return lumos_fail(error,
                      "--ep %d: no expert-parallel group was recovered from the recording, so what its ranks would "
                      "exchange is not known; record a run with expert groups (--expert-model-parallel-size 2, "
                      "--moe-token-dispatcher-type alltoall)",
                      will);
  }
  return were == will || lumos_reshape_experts(job, spread_asked(job, asked), will, error);
}

/* Without a way back there are no gradients, and nothing that is kept for them. */
static bool check_inference(const struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  const char *option = asked->stages > 1                   ? "--pp"
                       : asked->recompute != 0             ? "--recompute"
                       : asked->bucket_mb > 0              ? "--bucket-mb"
                       : asked->overlap_gradients != 0     ? "--overlap-gradients"
                       : asked->distributed_optimizer != 0 ? "--distributed-optimizer"
                                                           : NULL;
  return option == NULL || rebuild_goes_back(job) ||
         lumos_fail(error,
                    "%s: the recording has no backward pass, as that of an inference, and what this changes is of "
                    "training; record steps of training",
                    option);
}

/* Where there is one stage, fully sharded replicas gather parameters for each pass and scatter gradients behind it. In a
 * pipeline PyTorch gathers them once a step and scatters in the last micro-batch (torch/distributed/pipelining/stage.py;
 * torchtitan leaves parameters whole between passes), of which the recording has no example. */
static bool check_stages(const struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  int32_t were = job->models.count == 0 ? 1 : job->models.items[0].sizes.pp;
  return asked->stages <= 0 || asked->stages == were || !program_is_fully_sharded(job) ||
         lumos_fail(error,
                    "--pp %d: the recorded replicas spread their parameters (FSDP), and when those of other stages "
                    "would gather theirs is not known; record a job with --pp %d, or leave --pp out",
                    (int)asked->stages, (int)asked->stages);
}

/* All that a step of an inference does is a pass forward. Without layers nothing says that it is one. */
static bool lacks_phases(const struct lumos_job *job) {
  bool labelled = job->models.count == 0 || job->models.items[0].layers <= 0;
  for (size_t t = 0; t < job->tasks.count && !labelled; t++) {
    uint8_t phase = job->tasks.items[t].phase;
    labelled = phase != 0 && phase != LUMOS_OTHER_PHASE;
  }
  return !labelled;
}

static bool label_inference(struct lumos_job *job) {
  bool lacks = lacks_phases(job);
  for (size_t t = 0; t < job->tasks.count && lacks; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    if (task->step != LUMOS_ABSENT_INT) {
      task->phase = LUMOS_FORWARD;
      task->micro_batch = task->micro_batch == LUMOS_ABSENT_INT ? 0 : task->micro_batch;
    }
  }
  return lacks;
}

/* As other inferences have none. */
static void unlabel_inference(struct lumos_job *job, const struct lumos_rebuild *asked) {
  struct lumos_model_description *model = &job->models.items[0];
  model->micro_batches = asked->micro_batches > 0 ? model->micro_batches : LUMOS_ABSENT_INT;
  for (size_t t = 0; t < job->tasks.count; t++) {
    job->tasks.items[t].phase = 0;
  }
}

/* Of one layer the gathers and scatters are the model's own, which come once a step: nothing shows how a layer between
 * others gathers ahead of its passes, nor how the only one does without others. */
static bool check_sharded_layers(const struct lumos_job *job, const struct lumos_rebuild *asked,
                                 struct lumos_error *error) {
  int32_t were = job->models.count == 0 ? 0 : job->models.items[0].layers;
  return asked->layers <= 0 || asked->layers == were || (asked->layers > 1 && were > 1) ||
         !program_is_fully_sharded(job) ||
         lumos_fail(error,
                    "--layers %d: the recorded replicas spread their parameters (FSDP), and what one layer alone "
                    "gathers does not show what each of several gathers, nor the other way round; %s",
                    (int)asked->layers,
                    were > 1 ? "give --layers 2 at least" : "record a model of two layers at least");
}

static bool check_asked(const struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  return check_inference(job, asked, error) && check_stages(job, asked, error) &&
         check_sharded_layers(job, asked, error);
}

/* What every rebuild begins with: sizes are those that are asked for then, and the job has starts. `anew`: something is
 * to be built other than it was recorded. */
static bool begin_sizes(struct lumos_job *job, const struct lumos_rebuild *asked, bool anew,
                        struct beginning *beginning, struct lumos_error *error) {
  if (lumos_job_measured(job)) {
    lumos_measure(job);
  } else if (!simulate_starts(job, error)) {
    return false;
  }
  beginning->inference = !rebuild_is_as_recorded(asked) && label_inference(job);
  const struct lumos_rebuild as_recorded = {.shards = 0};
  bool whole_tensors = shards_asked(job, asked) == 1 && shards_asked(job, &as_recorded) > 1;
  bool whole_sequences = contexts_asked(job, asked) == 1 && contexts_asked(job, &as_recorded) > 1;
  /* Told by sizes that the shards have now. */
  beginning->untied = program_is_untied(job);
  beginning->parted = whole_tensors || whole_sequences;
  if (anew) {
    rebuild_contended_begin(&beginning->contended, job);
  }
  if (!change_contexts(job, asked, error) ||
      (asked->shards > 0 && !lumos_reshape_shards(job, contexts_asked(job, asked), asked->shards, error))) {
    return false;
  }
  return change_sequence(job, asked, error) && change_experts(job, asked, error);
}

static bool begin(struct lumos_job *job, const struct lumos_rebuild *asked, bool anew, struct beginning *beginning,
                  struct lumos_error *error) {
  return lumos_edit_begin(job, error) && check_recording(job, error) && check_asked(job, asked, error) &&
         begin_sizes(job, asked, anew, beginning, error);
}

/* ---- what rebuilds of one job have in common ---- */

static bool supply_alone(struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  struct rebuild_blocks blocks;
  rebuild_blocks_cut(&blocks, job, REBUILD_WEIGHTS_STAY, false);
  bool done = supply_examples(job, &blocks, asked, error);
  rebuild_blocks_free(&blocks);
  return done;
}

/* Where the recording lacks transfers, blocks are cut again with examples of them. */
static bool supply_all(struct lumos_rebuild_base *base, struct lumos_job *job, const struct lumos_rebuild *asked,
                       size_t count, struct lumos_error *error) {
  if (!supply_alone(job, &asked[0], error)) {
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    struct prepared *prepared = &base->prepared[way_of(job, &asked[i])];
    if (prepared->done && !prepared->supplied) {
      free_cut(&prepared->cut);
      prepared->done = cut_for(&prepared->cut, job, &asked[i], &prepared->error);
      prepared->supplied = true;
    }
  }
  return true;
}

struct lumos_rebuild_base *lumos_rebuild_prepare(struct lumos_job *job, const struct lumos_rebuild *asked,
                                                 size_t count) {
  if (count == 0 || lacks_phases(job)) {
    return NULL;
  }
  struct lumos_rebuild_base *base = lumos_allocate_zeroed(1, sizeof *base);
  base->begun = lumos_edit_begin(job, &base->error) && check_recording(job, &base->error) &&
                begin_sizes(job, &asked[0], true, &base->beginning, &base->error);
  for (size_t i = 0; i < count && base->begun; i++) {
    struct prepared *prepared = &base->prepared[way_of(job, &asked[i])];
    if (!prepared->tried) {
      prepared->tried = true;
      prepared->done = cut_for(&prepared->cut, job, &asked[i], &prepared->error) &&
                       find_deviation(&prepared->cut.templates, &prepared->deviation, &prepared->error);
    }
  }
  base->begun = base->begun && (!lacks_transfers(job, &asked[0]) || supply_all(base, job, asked, count, &base->error));
  return base;
}

void lumos_rebuild_base_free(struct lumos_rebuild_base *base) {
  for (int i = 0; base != NULL && i < CUTS; i++) {
    if (base->prepared[i].tried) {
      free_cut(&base->prepared[i].cut);
    }
  }
  if (base != NULL) {
    rebuild_contended_free(&base->beginning.contended);
  }
  free(base);
}

/* What was prepared for it; NULL: it cannot be built, as the error says. */
static const struct prepared *find_prepared(const struct lumos_rebuild_base *base, const struct lumos_job *job,
                                            const struct lumos_rebuild *asked, struct lumos_error *error) {
  if (!check_asked(job, asked, error)) {
    return NULL;
  }
  const struct prepared *prepared = &base->prepared[way_of(job, asked)];
  if (!base->begun || !prepared->done) {
    *error = base->begun ? prepared->error : base->error;
    return NULL;
  }
  return prepared;
}

/* ---- the rebuild ---- */

bool lumos_rebuild(struct lumos_job *job, const struct lumos_rebuild *asked, struct lumos_error *error) {
  return lumos_rebuild_from(NULL, job, asked, error);
}

bool lumos_rebuild_from(const struct lumos_rebuild_base *base, struct lumos_job *job, const struct lumos_rebuild *asked,
                        struct lumos_error *error) {
  struct beginning own = {.untied = false};
  const struct beginning *beginning = base == NULL ? &own : &base->beginning;
  const struct prepared *prepared = base == NULL ? NULL : find_prepared(base, job, asked, error);
  bool anew = !rebuild_is_as_recorded(asked);
  bool begun = base == NULL ? begin(job, asked, anew, &own, error) : prepared != NULL;
  struct lumos_job *built = begun ? build(job, prepared, asked, beginning->untied, error) : NULL;
  if (built != NULL && anew) {
    rebuild_contended_apply(&beginning->contended, job, built);
  }
  rebuild_contended_free(&own.contended);
  if (built == NULL) {
    return false;
  }
  if (beginning->inference) {
    unlabel_inference(built, asked);
  }
  struct lumos_job was = *job;
  *job = *built;
  job->watcher = was.watcher;
  job->threads = was.threads;
  *built = was;
  lumos_job_free(built);
  record(job, asked);
  return true;
}

/* ---- what a rebuild takes at least ---- */

/* A job as it was cut for some of what is asked for. What is computed again may go, so it counts only where nothing
 * else is asked. */
enum { AS_RECORDED, OTHER_AGAIN, OTHER_ATTENTION, AGAINS };
struct bounding {
  bool tried;
  struct cut cut;
  struct rebuild_busy *busy; /* NULL: it cannot be cut */
};
struct boundings {
  struct bounding of[REBUILD_WEIGHTS_KINDS][AGAINS];
  const struct rebuild_contended *contended;
  enum rebuild_counts counts;
};

static const struct bounding *bounding_for(struct boundings *all, const struct lumos_job *job,
                                           const struct lumos_rebuild *asked) {
  int again = asked->recompute == 0 ? AS_RECORDED : cuts_attention(asked) ? OTHER_ATTENTION : OTHER_AGAIN;
  struct bounding *own = &all->of[weights_for(job, asked)][again];
  struct lumos_error error = {0};
  if (!own->tried && cut_for(&own->cut, job, asked, &error)) {
    uint8_t *left_out = again == AS_RECORDED ? lumos_allocate_zeroed(job->tasks.count + 1, 1) : rebuild_find_again(job);
    own->busy = rebuild_busy_find(&own->cut.blocks, all->contended, all->counts, left_out);
    free(left_out);
  }
  own->tried = true;
  return own;
}

static int64_t bound(const struct bounding *bounding, const struct lumos_rebuild *asked, bool untied) {
  struct rebuild_plan plan;
  struct lumos_error error = {0};
  if (bounding->busy == NULL || rebuild_is_as_recorded(asked)) {
    return LUMOS_ABSENT;
  }
  const struct rebuild_templates *templates = &bounding->cut.templates;
  bool planned = rebuild_replan(&plan, templates, asked, untied, &error) &&
                 rebuild_check_plan(&plan, templates, &error) && rebuild_check_unison(&plan, templates, &error);
  int64_t least = planned ? rebuild_least(&plan, templates, bounding->busy) : LUMOS_ABSENT;
  rebuild_plan_free(&plan);
  return least;
}

static void bound_all(const struct lumos_job *job, const struct lumos_rebuild *asked, size_t count,
                      const struct beginning *beginning, int64_t *least) {
  struct boundings *all = lumos_allocate_zeroed(1, sizeof *all);
  all->counts = beginning->parted ? REBUILD_COUNTS_PRODUCTS : REBUILD_COUNTS_KERNELS;
  all->contended = &beginning->contended;
  for (size_t i = 0; i < count; i++) {
    if (asked[i].learn_from == NULL) {
      least[i] = bound(bounding_for(all, job, &asked[i]), &asked[i], beginning->untied);
    }
  }
  for (size_t i = 0; i < sizeof all->of / sizeof **all->of; i++) {
    struct bounding *own = &all->of[i / AGAINS][i % AGAINS];
    if (own->tried) {
      free_cut(&own->cut);
    }
    free(own->busy);
  }
  free(all);
}

void lumos_rebuild_least(struct lumos_job *job, const struct lumos_rebuild *asked, size_t count, int64_t *least) {
  struct lumos_error error = {0};
  struct beginning beginning = {.untied = false};
  for (size_t i = 0; i < count; i++) {
    least[i] = LUMOS_ABSENT;
  }
  if (count > 0 && begin(job, &asked[0], true, &beginning, &error) &&
      (!lacks_transfers(job, &asked[0]) || supply_alone(job, &asked[0], &error))) {
    bound_all(job, asked, count, &beginning, least);
  }
  rebuild_contended_free(&beginning.contended);
}
