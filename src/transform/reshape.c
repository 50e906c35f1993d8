/* --hidden, --seq and the like: the same program with a model of other sizes.
 *
 * Every op keeps its place, and the CPU its time. The shapes of ops change (dimensions.h), and with them what their
 * kernels multiply and move: each takes its time by the ratio of what the trace's own kernels say of both shapes
 * (cost/kernels.h). Communication moves as many times as many bytes as its tensors have elements. What shapes do not
 * show goes by what it works on: the parameters, if it is the optimizer's, else the activations.
 */
#include "transform/reshape.h"

#include "base/numbering.h"
#include "base/text.h"
#include "cost/kernel_cost.h"
#include "cost/kernels.h"
#include "cost/moved.h"
#include "cost/operation.h"
#include "program/parameters.h"
#include "program/shapes.h"
#include "program/sharded.h"
#include "transform/dimensions.h"
#include "transform/edit.h"
#include "transform/estimates.h"
#include "transform/experts.h"
#include "transform/network.h"
#include "transform/parts.h"

#include <lumos/hardware.h>
#include <lumos/transform.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a product or attention, before and after. */
struct shape {
  double flops;
  int64_t rows, inner, columns, batches;
  double bytes; /* of one whose rows are grouped: only the ratio of two times says anything; 0: of any other */
  enum lumos_dtype dtype;
};

/* What a task's change is known by. */
enum basis { NOTHING, LIKE_KERNELS, SHAPES, STRANGE_SHAPES };

struct reshaping {
  struct lumos_job *job;
  struct lumos_sizes sizes;
  lumos_string_id *shapes; /* by span: as they were */
  uint8_t *strange;        /* by span: some tensor is of no known form */
  uint8_t *basis;          /* by task: enum basis */
  uint8_t *roles;          /* by string: of the group with this id, enum lumos_role */
  double *parameters;      /* by rank: how many times as many it has */
  double of_layers;        /* the same, of layers alone */
  double of_words;         /* and of embedding and head */
  double activations;      /* the same, of tokens x hidden */
  double *factors;         /* by task on a stream: how many times as much it moves */
  struct shape *were;      /* by task: products and attention; flops 0: none */
  bool trains;             /* it has backward passes: what is of no pass may be the optimizer's */
  bool parts_known;        /* the recording shows in how many parts shards have a sequence */
  lumos_string_id *ops;    /* by task: what its communication becomes (parts.h); NULL: all stays */
  int64_t unknown, all; /* ns of computing kernels: with shapes that are not understood, or without any; and of all */
  int64_t unshaped;     /* of the unknown: without any */
  bool sharded;         /* replicas are fully sharded, and then: */
  struct lumos_numbering units; /* how many parameters a layer has, and a replica's share of it */
};

/* ---- Parameters ---- */

/* By span: do kernels of a layer come from it? */
static uint8_t *find_layered(const struct lumos_job *job) {
  uint8_t *layered = lumos_allocate_zeroed(job->spans.count + 1, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t span =
        lumos_on_stream(job, &job->tasks.items[t]) ? lumos_shaped_op(job, &job->tasks.items[t]) : LUMOS_NONE;
    if (span != LUMOS_NONE && job->tasks.items[t].part == LUMOS_PART_LAYER) {
      layered[span] = 1;
    }
  }
  return layered;
}

/* How many matrices of vocabulary x hidden a rank has. */
static int32_t count_words(const struct lumos_job *job, const struct lumos_rank *rank, bool untied) {
  bool embeds = false, heads = false;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    embeds |= job->tasks.items[t].part == LUMOS_PART_EMBEDDING;
    heads |= job->tasks.items[t].part == LUMOS_PART_HEAD;
  }
  return untied ? embeds + heads : embeds || heads;
}

/* Parameters of a rank that has the layers of a pipeline stage. `shares`: of what replicas have shares of, all experts
 * are divided among all ranks that have some. */
static double parameters_of(const struct reshaping *reshaping, bool after, int32_t layers, int32_t words, bool shares) {
  const struct lumos_sizes *sizes = &reshaping->sizes;
  const int64_t *of = after ? sizes->now : sizes->was;
  struct lumos_model_description model = lumos_sizes_model(reshaping->job, sizes, after);
  double shards = (double)(after ? sizes->shards : sizes->shards_were), experts = 0;
  if (sizes->experts > 0) {
    double owners = shares ? 1 : (double)(after ? sizes->owners : sizes->owners_were);
    model.ffn = LUMOS_ABSENT_INT;
    experts = (double)(layers * sizes->ffn_matrices * sizes->experts) * (double)of[LUMOS_HIDDEN] *
              (double)of[LUMOS_FFN] / owners / (sizes->whole_experts && !shares ? 1 : shards);
  }
  return (double)program_parameters(&model, layers, words, false) / shards + experts;
}

/* How many times as many parameters a rank has. */
static double growth(const struct reshaping *reshaping, int32_t layers, int32_t words, bool shares) {
  double before = parameters_of(reshaping, false, layers, words, shares);
  double after = parameters_of(reshaping, true, layers, words, shares);
  return before > 0 ? after / before : 1;
}

/* Are there fewer or more experts on a rank, or of all else? */
static bool changes_owners(const struct lumos_sizes *sizes) {
  return sizes->owners != sizes->owners_were || (sizes->whole_experts && sizes->shards != sizes->shards_were);
}

/* Do replicas update shares of the parameters, which they gather then? What fewer of them have of more experts is as
 * much. */
static bool updates_shares(const struct reshaping *reshaping) {
  const struct lumos_job *job = reshaping->job;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    if (task->kind == LUMOS_COLLECTIVE && task->phase == LUMOS_OPTIMIZER_PHASE &&
        reshaping->roles[comm->group] == LUMOS_DATA &&
        strcmp(lumos_string(job->strings, comm->op), "all_gather") == 0) {
      return true;
    }
  }
  return false;
}

/* A layer's unit is told by what is gathered, split, put together and scattered in a layer: single vectors. */
static void find_units(struct reshaping *reshaping) {
  const struct lumos_job *job = reshaping->job;
  uint8_t *layered = find_layered(job);
  for (uint32_t s = 0; s < job->spans.count; s++) {
    struct program_dimensions inputs[SHAPE_INPUTS];
    if (layered[s] == 0 || job->spans.items[s].shapes == LUMOS_NO_STRING) {
      continue;
    }
    program_shape_read(lumos_string(job->strings, job->spans.items[s].shapes), inputs);
    for (int i = 0; i < SHAPE_INPUTS; i++) {
      if (inputs[i].count == 1) {
        (void)lumos_number_of(&reshaping->units, (uint64_t)inputs[i].of[0]);
      }
    }
  }
  free(layered);
}

static void find_parameters(struct reshaping *reshaping) {
  const struct lumos_job *job = reshaping->job;
  const struct lumos_model_description *model = &job->models.items[0];
  enum { MOST_STAGES = 1 << 20 };
  int32_t stages = model->sizes.pp > 0 && model->sizes.pp < MOST_STAGES ? model->sizes.pp : 1;
  bool untied = program_is_untied(job), shares = changes_owners(&reshaping->sizes) && updates_shares(reshaping);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    int32_t words = count_words(job, &job->ranks.items[r], untied);
    /* A stage's share of the layers, times the stages */
    reshaping->parameters[r] = growth(reshaping, model->layers > 0 ? model->layers : stages, words * stages, shares);
  }
  reshaping->of_layers = growth(reshaping, 1, 0, false);
  reshaping->of_words = growth(reshaping, 0, 1, false);
}

static double ratio(const struct lumos_sizes *sizes, enum lumos_size size) {
  return sizes->was[size] == LUMOS_ABSENT ? 1 : (double)sizes->now[size] / (double)sizes->was[size];
}

/* ---- Shapes ---- */

enum { SIDES = 3 };

/* What its dimensions may be: of a layer's work first of all no vocabulary, which may be as many as its rows; where
 * experts work, rows that these get. */
struct place {
  const struct lumos_dimensions *anywhere, *of_layer; /* of_layer NULL: the work is of no layer */
  enum lumos_side side;
  uint32_t number; /* of all that dimensions depend on but the op */
};

/* Distinct shapes are changed once. */
struct cache {
  struct lumos_numbering named, typed, ranked; /* ranked: class of ranks and side, too */
  LUMOS_VECTOR(lumos_string_id) changed;
  LUMOS_VECTOR(uint8_t) strange;
};

static bool change_text(const struct reshaping *reshaping, const struct lumos_dimensions *dimensions,
                        const struct lumos_span *span, enum lumos_side side, struct lumos_text *text) {
  const struct lumos_strings *strings = reshaping->job->strings;
  text->length = 0;
  return dimensions != NULL &&
         lumos_dimensions_change(dimensions, lumos_string(strings, span->name), lumos_string(strings, span->shapes),
                                 lumos_string(strings, span->dtypes), side, text);
}

static void change_span(struct reshaping *reshaping, const struct place *place, struct cache *cache, uint32_t number) {
  struct lumos_job *job = reshaping->job;
  struct lumos_span *span = &job->spans.items[number];
  uint32_t named = lumos_number_of(&cache->named, lumos_key_pair(span->name, span->shapes));
  uint32_t typed = lumos_number_of(&cache->typed, lumos_key_pair(named, span->dtypes));
  uint32_t entry = lumos_number_of(&cache->ranked, lumos_key_pair(typed, place->number));
  if (entry == cache->changed.count) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    bool known = change_text(reshaping, place->of_layer, span, place->side, &text) ||
                 change_text(reshaping, place->anywhere, span, place->side, &text);
    lumos_vector_push(&cache->changed, lumos_intern_text(job->strings, text.bytes));
    lumos_vector_push(&cache->strange, !known);
    lumos_text_free(&text);
  }
  span->shapes = cache->changed.items[entry];
  reshaping->strange[number] = cache->strange.items[entry];
}

/* Of ranks with as many parameters before and after; returns how many spans have shapes. */
static size_t change_shapes(struct reshaping *reshaping) {
  enum { LEAST = 16 }; /* times hidden: a stretch of parameters is longer than any dimension of an activation */
  struct lumos_job *job = reshaping->job;
  struct lumos_dimensions dimensions, of[2][2]; /* where experts work, or else; of a layer */
  struct lumos_numbering classes = {0};         /* of ranks: by how many parameters they have */
  struct cache cache = {0};
  uint8_t *sides = lumos_sides_find(job), *layered = find_layered(job), *around = lumos_experts_around(job),
          *exchanged = reshaping->ops == NULL ? NULL : lumos_parts_exchanged(job);
  bool divides = reshaping->sizes.experts > 0 && reshaping->sizes.parts != reshaping->sizes.parts_were;
  size_t count = 0;
  lumos_dimensions_open(&dimensions, &reshaping->sizes);
  if (reshaping->sizes.was[LUMOS_HIDDEN] != LUMOS_ABSENT) {
    dimensions.least = LEAST * reshaping->sizes.was[LUMOS_HIDDEN];
  }
  dimensions.of_layers = reshaping->of_layers;
  dimensions.units = reshaping->sharded ? &reshaping->units : NULL;
  for (int layer = 0; layer <= 1; layer++) {
    of[false][layer] = layer ? lumos_dimensions_of_layer(&dimensions) : dimensions;
    of[true][layer] = lumos_dimensions_of_experts(&of[false][layer]);
  }
  for (uint32_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    reshaping->shapes[s] = span->shapes;
    if (span->shapes != LUMOS_NO_STRING && (exchanged == NULL || exchanged[s] == 0)) {
      bool routes =
          divides && layered[s] != 0 && lumos_dimensions_route(&dimensions, lumos_string(job->strings, span->shapes));
      struct lumos_dimensions *own = of[(around[s] != 0 && reshaping->sizes.experts > 0) || routes];
      own[0].parameters = own[1].parameters =
          reshaping->sharded ? reshaping->of_words : reshaping->parameters[span->rank];
      uint64_t key = (uint64_t)llround(fmin(own[0].parameters, 1e9) * 1e6);
      uint32_t class = 4 * lumos_number_of(&classes, key) + 2U * (own == of[true]) + layered[s];
      const struct place place = {.anywhere = &own[0],
                                  .of_layer = layered[s] != 0 ? &own[1] : NULL,
                                  .side = (enum lumos_side)sides[s],
                                  .number = class * SIDES + sides[s]};
      change_span(reshaping, &place, &cache, s);
      count++;
    }
  }
  free(sides);
  free(layered);
  free(around);
  free(exchanged);
  lumos_numbering_free(&classes);
  lumos_numbering_free(&cache.named);
  lumos_numbering_free(&cache.typed);
  lumos_numbering_free(&cache.ranked);
  lumos_vector_free(&cache.changed);
  lumos_vector_free(&cache.strange);
  return count;
}

/* ---- What tasks move ---- */

/* Elements of all tensors, or of the largest. */
static double elements_of(const char *shapes, bool largest) {
  double sum = 0;
  for (const char *at = strpbrk(shapes, "0123456789"); at != NULL; at = strpbrk(at, "0123456789")) {
    double product = 1;
    for (; *at != ']' && *at != '\0' && *at != '['; at += strspn(at, ", ")) {
      char *behind = NULL;
      product *= (double)strtoll(at, &behind, 10);
      if (behind == at) {
        return 0;
      }
      at = behind;
    }
    sum = !largest ? sum + product : product > sum ? product : sum;
  }
  return sum;
}

static double over(double now, double was) { return was > 0 && now > 0 ? now / was : 1; }

/* Of lists of tensors, which foreach ops take, the profiler records no shapes. */
static bool is_told(const struct lumos_job *job, const struct lumos_span *span) {
  return strstr(lumos_string(job->strings, span->dtypes), "TensorList") == NULL ||
         strpbrk(lumos_string(job->strings, span->shapes), "0123456789") != NULL;
}

/* By the shapes of the op around it. */
static double factor_of_span(const struct reshaping *reshaping, const struct lumos_task *task, uint32_t number) {
  const struct lumos_job *job = reshaping->job;
  const struct lumos_span *span = &job->spans.items[number];
  const char *was = lumos_string(job->strings, reshaping->shapes[number]);
  const char *now = lumos_string(job->strings, span->shapes);
  if (!lumos_is_communication(task->kind) && !lumos_is_copy(task->kind)) {
    const char *op = lumos_string(job->strings, span->name), *dtypes = lumos_string(job->strings, span->dtypes);
    struct lumos_traffic before = lumos_bytes_moved((enum lumos_task_kind)task->kind, op, was, dtypes);
    struct lumos_traffic after = lumos_bytes_moved((enum lumos_task_kind)task->kind, op, now, dtypes);
    if (before.read + before.written > 0) {
      return over(after.read + after.written, before.read + before.written);
    }
  }
  bool largest = lumos_is_communication(task->kind); /* of what all have and what each has */
  return over(elements_of(now, largest), elements_of(was, largest));
}

/* Where the shape is what a rank sends: its part of what all then have. */
static double gathered_by_all(const struct reshaping *reshaping, const struct lumos_task *task, uint32_t span) {
  const struct lumos_job *job = reshaping->job;
  const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
  const struct lumos_sizes *sizes = &reshaping->sizes;
  uint8_t role = reshaping->roles[comm->group];
  bool gathers = (role == LUMOS_TENSOR || role == LUMOS_CONTEXT || role == LUMOS_EXPERT) &&
                 strcmp(lumos_string(job->strings, comm->op), "all_gather") == 0 &&
                 strcmp(lumos_string(job->strings, job->spans.items[span].name), "record_param_comms") == 0;
  return !gathers               ? 1
         : role == LUMOS_TENSOR ? (double)sizes->shards / (double)sizes->shards_were
         : role == LUMOS_EXPERT ? (double)sizes->owners / (double)sizes->owners_were
                                : (double)sizes->contexts / (double)sizes->contexts_were;
}

/* Without shapes that are understood. */
static double factor_without(const struct reshaping *reshaping, const struct lumos_task *task) {
  enum { FEW = 4096 }; /* bytes: counts and flags do not grow */
  const struct lumos_detail *detail = lumos_detail_of(reshaping->job, task);
  int64_t bytes = lumos_is_communication(task->kind) ? detail->comm.bytes : detail->bytes;
  if (bytes != LUMOS_ABSENT && bytes <= FEW) {
    return 1;
  }
  bool optimizer = task->kind == LUMOS_OPTIMIZER || task->part == LUMOS_PART_OPTIMIZER ||
                   task->phase == LUMOS_OPTIMIZER_PHASE || (task->phase == LUMOS_OTHER_PHASE && reshaping->trains) ||
                   reshaping->roles[detail->comm.group] == LUMOS_DATA; /* what replicas exchange are gradients */
  /* Stages send each other what a rank has between halves of layers. */
  double parts = task->kind == LUMOS_P2P && reshaping->parts_known
                     ? over((double)reshaping->sizes.parts_were, (double)reshaping->sizes.parts)
                     : 1;
  return optimizer ? reshaping->parameters[lumos_rank_of(reshaping->job, task)] : reshaping->activations * parts;
}

static void find_factors(struct reshaping *reshaping) {
  const struct lumos_job *job = reshaping->job;
  for (size_t t = 0; t < job->tasks.count && !reshaping->trains; t++) {
    reshaping->trains = job->tasks.items[t].phase == LUMOS_BACKWARD;
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    reshaping->factors[t] = 1;
    if (!lumos_on_stream(job, task)) {
      continue;
    }
    uint32_t span = lumos_shaped_op(job, task);
    span = span != LUMOS_NONE && is_told(job, &job->spans.items[span]) ? span : LUMOS_NONE;
    bool strange = span != LUMOS_NONE && reshaping->strange[span] != 0;
    reshaping->basis[t] = span == LUMOS_NONE ? NOTHING : strange ? STRANGE_SHAPES : SHAPES;
    reshaping->factors[t] = reshaping->basis[t] == SHAPES
                                ? factor_of_span(reshaping, task, span) * gathered_by_all(reshaping, task, span)
                                : factor_without(reshaping, task);
  }
}

/* ---- Products and attention ---- */

/* How many rows count is not known, as groups may be filled up, but not that their share changes with sizes. */
static void find_grouped(const struct lumos_job *job, uint32_t t, struct shape *shape) {
  const struct lumos_task *task = &job->tasks.items[t];
  uint32_t number = task->kind == LUMOS_GEMM && !(shape->flops > 0) ? lumos_shaped_op(job, task) : LUMOS_NONE;
  struct lumos_product_shape grouped;
  if (number == LUMOS_NONE) {
    return;
  }
  const struct lumos_span *span = &job->spans.items[number];
  if (lumos_grouped_shape(lumos_string(job->strings, span->name), lumos_string(job->strings, span->shapes),
                          lumos_string(job->strings, span->dtypes), &grouped)) {
    *shape = (struct shape){grouped.flops,   grouped.rows,  grouped.inner, grouped.columns,
                            grouped.batches, grouped.bytes, grouped.dtype};
  }
}

static double grouped_time(const struct lumos_device *device, const struct shape *shape) {
  const struct lumos_product_shape product = {shape->rows,  shape->inner, shape->columns, shape->batches,
                                              shape->flops, shape->bytes, shape->dtype};
  return lumos_grouped_time(device, &product);
}

static void find_products(const struct reshaping *reshaping, struct shape *shapes) {
  struct lumos_kernel_costs costs;
  lumos_kernel_costs_find(reshaping->job, &costs);
  for (size_t i = 0; i < costs.list.count; i++) {
    const struct lumos_kernel_cost *cost = &costs.list.items[i];
    if (!cost->helper && cost->flops != LUMOS_ABSENT) {
      shapes[cost->task] =
          (struct shape){(double)cost->flops, cost->rows, cost->inner, cost->columns, cost->batches, 0, 0};
    }
  }
  lumos_vector_free(&costs.list);
  for (uint32_t t = 0; t < reshaping->job->tasks.count; t++) {
    find_grouped(reshaping->job, t, &shapes[t]);
  }
}

/* ---- Times ---- */

static bool computes(const struct lumos_job *job, const struct lumos_task *task) {
  return lumos_on_stream(job, task) && !lumos_is_communication(task->kind);
}

/* Kernels that were launched before the recording have no shapes: they take as many times as long as others of their
 * name. */
static void follow_like(struct reshaping *reshaping, struct lumos_duration *durations) {
  struct like {
    double was, now, common, own;
  } *likes = lumos_allocate_zeroed(lumos_strings_count(reshaping->job->strings) + 1U, sizeof *likes);
  const struct lumos_job *job = reshaping->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (computes(job, task) && reshaping->basis[t] == SHAPES) {
      bool changes = durations[t].source != LUMOS_NO_DURATION;
      struct like *like = &likes[task->name];
      like->was += (double)task->dur;
      like->now += changes ? durations[t].ns : (double)task->dur;
      like->common = fmax(like->common, changes ? durations[t].common : 0);
      like->own = fmax(like->own, changes ? durations[t].own : 0);
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    const struct like *like = &likes[task->name];
    if (computes(job, task) && reshaping->basis[t] == NOTHING && like->was > 0) {
      durations[t] =
          (struct lumos_duration){(double)task->dur * like->now / like->was, like->common, like->own, LUMOS_OF_FAMILY};
      reshaping->basis[t] = LIKE_KERNELS;
    }
  }
  free(likes);
}

static void count_unknown(struct reshaping *reshaping) {
  for (uint32_t t = 0; t < reshaping->job->tasks.count; t++) {
    const struct lumos_task *task = &reshaping->job->tasks.items[t];
    if (computes(reshaping->job, task)) { /* communication has its bytes */
      bool known =
          reshaping->basis[t] == SHAPES || reshaping->basis[t] == LIKE_KERNELS || task->kind == LUMOS_OPTIMIZER;
      reshaping->all += task->dur;
      reshaping->unknown += known ? 0 : task->dur;
      reshaping->unshaped += known || reshaping->basis[t] != NOTHING ? 0 : task->dur;
    }
  }
}

static void change_kernels(struct reshaping *reshaping, const struct lumos_kernels *kernels) {
  struct lumos_job *job = reshaping->job;
  struct lumos_duration *durations = lumos_allocate(job->tasks.count * sizeof *durations + 1);
  struct shape *are = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *are);
  find_products(reshaping, are);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    durations[t] = (struct lumos_duration){.source = LUMOS_NO_DURATION};
    const struct shape *was = &reshaping->were[t], *now = &are[t];
    bool strange = reshaping->basis[t] == STRANGE_SHAPES;
    bool unshaped = reshaping->basis[t] == NOTHING && !(was->flops > 0);
    double moved = reshaping->factors[t], flops = strange || unshaped ? moved : over(now->flops, was->flops);
    const struct lumos_device *device = lumos_kernels_device(kernels, lumos_rank_of(job, task));
    bool grouped = was->bytes > 0 && now->bytes > 0 && !strange;
    flops = grouped && device != NULL ? grouped_time(device, now) / grouped_time(device, was) : flops;
    double bytes = grouped ? flops : moved;
    bool changes = fabs(flops - 1) > 1e-9 || fabs(bytes - 1) > 1e-9;
    if (changes && computes(job, task)) {
      bool assumed = strange || (reshaping->basis[t] == NOTHING && task->kind != LUMOS_OPTIMIZER);
      struct lumos_resized resized = {flops, bytes, assumed, now->rows, now->inner, now->columns, now->batches};
      resized.rows = strange || grouped ? 0 : resized.rows;
      durations[t] = lumos_kernel_resized(kernels, t, &resized);
    }
  }
  follow_like(reshaping, durations);
  count_unknown(reshaping);
  lumos_estimate_kernels(job, durations, "sizes", "in another shape", "leaving out the trace's own shapes in turn");
  free(durations);
  free(are);
}

static int64_t times(int64_t bytes, double factor) {
  double result = (double)bytes * factor;
  return bytes == LUMOS_ABSENT || result > (double)(INT64_C(1) << 52) ? bytes : llround(result);
}

/* Bytes as records have them. */
static void change_bytes(struct reshaping *reshaping) {
  struct lumos_job *job = reshaping->job;
  for (size_t c = 0; c < job->collectives.count; c++) {
    struct lumos_collective *collective = &job->collectives.items[c];
    collective->bytes = times(collective->bytes, reshaping->factors[job->members.items[collective->member_first]]);
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t source = lumos_on_stream(job, task) ? (uint32_t)t : LUMOS_NONE;
    if (source != LUMOS_NONE && task->detail != LUMOS_NONE) {
      struct lumos_detail *detail = &job->details.items[task->detail];
      detail->bytes = times(detail->bytes, reshaping->factors[source]);
      detail->comm.bytes = times(detail->comm.bytes, reshaping->factors[source]);
      for (uint32_t p = 0; p < detail->comm.peer_count; p++) {
        struct lumos_peer *peer = &job->peers.items[detail->comm.peer_first + p];
        peer->send = times(peer->send, reshaping->factors[source]);
        peer->recv = times(peer->recv, reshaping->factors[source]);
      }
    }
  }
}

static int64_t change_communication(struct reshaping *reshaping, const struct lumos_hardware *hardware) {
  struct lumos_nodes nodes = lumos_nodes_of(reshaping->job, NULL);
  struct lumos_transfers *transfers = lumos_transfers_fit(reshaping->job, hardware, &nodes);
  const struct lumos_communication_change change = {.factors = reshaping->factors, .ops = reshaping->ops};
  int64_t kept = lumos_estimate_communication(reshaping->job, transfers, &nodes, &change, "sizes.communication",
                                              "communication of other sizes");
  lumos_transfers_free(transfers);
  return kept;
}

/* ---- What is told ---- */

static void note_unknown(const struct reshaping *reshaping) {
  enum { TELLING = 100 }; /* one in so many */
  if (!lumos_job_has_note(reshaping->job, "transform.unknown_shapes") && reshaping->all > 0 &&
      reshaping->unknown > reshaping->all / TELLING) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text,
                      "%.1f %% of the time of computing kernels is work whose shapes are not known, or not understood: "
                      "it goes with the "
                      "activations, or the parameters where it is the optimizer's",
                      100 * (double)reshaping->unknown / (double)reshaping->all);
    lumos_text_char(&text, '\0');
    bool lacking = reshaping->unshaped > reshaping->unknown / 2; /* else recording more would not help */
    lumos_job_note(reshaping->job, "transform.unknown_shapes", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                   lacking ? "record with record_shapes=True" : NULL);
    lumos_text_free(&text);
  }
}

/* Then all work of a pass does as many times as much, whatever its shapes. */
static bool changes_sequences_alone(const struct lumos_sizes *sizes) {
  bool others = sizes->shards != sizes->shards_were || sizes->contexts != sizes->contexts_were || changes_owners(sizes);
  for (int size = 0; size < LUMOS_SIZES && !others; size++) {
    others = size != LUMOS_MICRO_BATCH && sizes->now[size] != sizes->was[size];
  }
  return !others;
}

/* What has no shapes cannot be divided among ranks, nor be told what another model makes of it. */
static bool check_shapes(const struct reshaping *reshaping, struct lumos_error *error) {
  enum { MOST_DIVIDED = 3, MOST = 2 }; /* one in so many. Chosen */
  const struct lumos_sizes *sizes = &reshaping->sizes;
  bool contexts = sizes->contexts != sizes->contexts_were, shards = sizes->shards != sizes->shards_were;
  bool owners = changes_owners(sizes);
  bool sequence = reshaping->ops != NULL && !contexts && !shards && !owners;
  int64_t most = reshaping->all / (contexts || owners || shards ? MOST_DIVIDED : MOST);
  if (changes_sequences_alone(sizes) || sequence || reshaping->unknown <= most) {
    return true;
  }
  return lumos_fail(error,
                    "%.0f %% of the time of computing kernels is work whose shapes are not known, or not those of the "
                    "model's layers, so %s is not known; record a transformer with record_shapes=True and kernels "
                    "launched one by one, not as CUDA graphs, or describe it with --model-file",
                    100 * (double)reshaping->unknown / (double)reshaping->all,
                    contexts ? "how context-parallel ranks divide it"
                    : owners ? "how expert-parallel ranks divide it"
                    : shards ? "how tensor-parallel ranks divide it"
                             : "what another size of the model changes");
}

/* Frameworks fill buckets up to a size, so that more parameters make more of them; fully sharded replicas have none. */
static void note_buckets(const struct reshaping *reshaping) {
  const struct lumos_job *job = reshaping->job;
  bool reduces = false, changes = false;
  for (size_t c = 0; c < job->collectives.count && !reduces; c++) {
    const char *op = lumos_string(job->strings, job->collectives.items[c].op);
    bool sums = strcmp(op, "all_reduce") == 0 || strcmp(op, "reduce_scatter") == 0;
    reduces = sums && reshaping->roles[job->collectives.items[c].group] == LUMOS_DATA;
  }
  for (size_t r = 0; r < job->ranks.count; r++) {
    changes |= fabs(reshaping->parameters[r] - 1) > 0.01;
  }
  if (reduces && changes && !changes_owners(&reshaping->sizes) && !reshaping->sharded) {
    lumos_job_note(reshaping->job, "transform.buckets_kept", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "gradients are reduced in as many buckets as recorded, each of another size",
                   "add --bucket-mb with the size that buckets are filled to");
  }
}

/* ---- Widths that are alike ---- */

static bool differ(int64_t was, int64_t now, int64_t other_was, int64_t other_now) {
  return (__int128)was * other_now != (__int128)now * other_was;
}

/* Does a product give so many columns on a shard? */
static bool has_columns(const struct reshaping *reshaping, int64_t columns) {
  const struct lumos_job *job = reshaping->job;
  for (uint32_t s = 0; s < job->spans.count; s++) {
    const struct lumos_operation_rule *rule =
        lumos_operation_rule(lumos_string(job->strings, job->spans.items[s].name));
    struct program_dimensions inputs[SHAPE_INPUTS];
    if (rule != NULL && rule->form == LUMOS_PRODUCT && reshaping->shapes[s] != LUMOS_NO_STRING) {
      program_shape_read(lumos_string(job->strings, reshaping->shapes[s]), inputs);
      const struct program_dimensions *weight = &inputs[rule->second];
      if (weight->count == 2 && columns % reshaping->sizes.shards_were == 0 &&
          weight->of[1] == columns / reshaping->sizes.shards_were) {
        return true;
      }
    }
  }
  return false;
}

/* A tensor is told by its sizes alone: where two widths of the recorded model are the same number, and change by
 * different factors, it may be taken for the wrong one. */
static void note_alike(const struct reshaping *reshaping) {
  const int64_t *was = reshaping->sizes.was, *now = reshaping->sizes.now;
  bool known = was[LUMOS_HEADS] != LUMOS_ABSENT && was[LUMOS_KV_HEADS] != LUMOS_ABSENT &&
               was[LUMOS_HEAD_DIM] != LUMOS_ABSENT && was[LUMOS_FFN] != LUMOS_ABSENT;
  if (!known) {
    return;
  }
  int64_t all_were = (was[LUMOS_HEADS] + 2 * was[LUMOS_KV_HEADS]) * was[LUMOS_HEAD_DIM];
  int64_t all_are = (now[LUMOS_HEADS] + 2 * now[LUMOS_KV_HEADS]) * now[LUMOS_HEAD_DIM];
  bool apart = was[LUMOS_KV_HEADS] == was[LUMOS_HEADS] &&
               differ(was[LUMOS_HEADS], now[LUMOS_HEADS], was[LUMOS_KV_HEADS], now[LUMOS_KV_HEADS]) &&
               !has_columns(reshaping, all_were);
  bool fused = was[LUMOS_FFN] == all_were && differ(was[LUMOS_FFN], now[LUMOS_FFN], all_were, all_are);
  if (apart || fused) {
    lumos_job_note(reshaping->job, "transform.alike", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   apart ? "keys and values are projected to as many features as queries, so shapes do not show which "
                           "projections are theirs: those keep the width of queries in the prediction"
                         : "the feed-forward block is as wide as queries, keys and values together, so shapes do not "
                           "show which is which: both are taken for the feed-forward block",
                   "record a model in which these widths differ");
  }
}

/* A line of the history for each size that was given. */
static void record(struct lumos_job *job, const char *argument) {
  for (const char *at = argument; *at != '\0';) {
    const char *equals = strchr(at, '='), *end = strchrnul(at, ',');
    struct lumos_text verb = LUMOS_TEXT_BUFFER, value = LUMOS_TEXT_BUFFER;
    lumos_text_add(&verb, at, (size_t)(equals - at));
    lumos_text_char(&verb, '\0');
    lumos_text_add(&value, equals + 1, (size_t)(end - equals) - 1);
    lumos_text_char(&value, '\0');
    lumos_edit_record(job, verb.bytes, value.bytes);
    lumos_text_free(&verb);
    lumos_text_free(&value);
    at = *end == ',' ? end + 1 : end;
  }
}

/* In how many parts shards have a sequence; where that is not known they may have one each. False: it cannot be divided
 * so. */
static bool find_parts(struct reshaping *reshaping, struct lumos_error *error) {
  struct lumos_sizes *sizes = &reshaping->sizes;
  if (reshaping->ops == NULL && sizes->shards_were > 1 && lumos_parts_recorded(reshaping->job) != LUMOS_SWITCH_OFF) {
    sizes->parts_were = sizes->shards_were;
    sizes->parts = sizes->shards;
  }
  int64_t sequence = sizes->now[LUMOS_SEQUENCE];
  bool divides = sizes->parts != sizes->parts_were;
  reshaping->parts_known = reshaping->ops != NULL || divides || lumos_parts_recorded(reshaping->job) == LUMOS_SWITCH_ON;
  return !reshaping->parts_known || sequence == LUMOS_ABSENT || sequence % (sizes->parts * sizes->contexts) == 0 ||
         lumos_fail(error,
                    "a sequence of %lld tokens cannot be divided by the %lld ranks of a tensor-parallel group, each of "
                    "which has a part of it (--sequence-parallel)",
                    (long long)(sequence / sizes->contexts), (long long)sizes->parts);
}

/* Of all that a change of sizes may change, ns: each part of it grows, or each shrinks, but by chance. */
static __int128 sum_of_times(const struct lumos_job *job) {
  __int128 sum = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    sum += lumos_on_stream(job, &job->tasks.items[t]) ? job->tasks.items[t].dur : 0;
  }
  for (size_t c = 0; c < job->collectives.count; c++) {
    sum += job->collectives.items[c].transfer == LUMOS_ABSENT ? 0 : job->collectives.items[c].transfer;
  }
  return sum;
}

/* A head that was not recorded is no larger with more words. */
static void note_unchanged(const struct reshaping *reshaping, __int128 before) {
  bool others = false;
  for (int size = 0; size < LUMOS_SIZES; size++) {
    others = others || reshaping->sizes.now[size] != reshaping->sizes.was[size];
  }
  if (others && sum_of_times(reshaping->job) == before) {
    lumos_job_note(reshaping->job, "transform.no_work_changed", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   "the recording shows no work that depends on the size that was given, so the prediction is the job "
                   "as it was",
                   "compare the model record that lumos-graph writes with the model");
  }
}

static bool change(struct reshaping *reshaping, const struct lumos_hardware *hardware, struct lumos_error *error) {
  struct lumos_job *job = reshaping->job;
  __int128 before = sum_of_times(job);
  struct lumos_kernels *kernels = lumos_kernels_fit(job, hardware); /* of the shapes as they were */
  find_products(reshaping, reshaping->were);
  reshaping->sharded = program_is_fully_sharded(job);
  if (reshaping->sharded) {
    find_units(reshaping);
  }
  find_parameters(reshaping);
  reshaping->activations = ratio(&reshaping->sizes, LUMOS_SEQUENCE) * ratio(&reshaping->sizes, LUMOS_MICRO_BATCH) *
                           ratio(&reshaping->sizes, LUMOS_HIDDEN) * (double)reshaping->sizes.contexts_were /
                           (double)reshaping->sizes.contexts;
  bool shaped = change_shapes(reshaping) > 0, alone = changes_sequences_alone(&reshaping->sizes);
  if (shaped || alone) {
    lumos_sizes_keep(job, &reshaping->sizes);
    find_factors(reshaping);
    int64_t kept = change_communication(reshaping, hardware);
    change_kernels(reshaping, kernels);
    change_bytes(reshaping);
    lumos_note_kept_communication(job, kept);
    note_unknown(reshaping);
    note_unchanged(reshaping, before);
    note_alike(reshaping);
    note_buckets(reshaping);
  } else {
    (void)lumos_fail(error, "no shapes were recorded, so what another size of the model changes is not known, but for "
                            "--micro-batch; record with record_shapes=True");
  }
  lumos_kernels_free(kernels);
  return (shaped || alone) && check_shapes(reshaping, error);
}

/* ops: what communication becomes; NULL: it stays, and each tensor-parallel rank has what it had of the sequence. */
static bool reshape(struct lumos_job *job, const struct lumos_sizes *sizes, lumos_string_id *ops,
                    struct lumos_error *error) {
  struct reshaping reshaping = {.job = job, .sizes = *sizes, .ops = ops};
  if (job->models.count == 0) {
    return lumos_fail(error,
                      "the recording does not show the sizes of a model, so what others change is not known; record "
                      "with record_shapes=True%s",
                      lumos_sizes_recorded(job) ? ", or describe the model with --model-file" : "");
  }
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, error);
  if (hardware == NULL) {
    return false;
  }
  reshaping.roles = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  for (size_t g = 0; g < job->groups.count; g++) {
    reshaping.roles[job->groups.items[g].id] = job->groups.items[g].role;
  }
  reshaping.shapes = lumos_allocate(job->spans.count * sizeof *reshaping.shapes + 1);
  reshaping.strange = lumos_allocate_zeroed(job->spans.count + 1, 1);
  reshaping.basis = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  reshaping.parameters = lumos_allocate(job->ranks.count * sizeof *reshaping.parameters + 1);
  reshaping.factors = lumos_allocate(job->tasks.count * sizeof *reshaping.factors + 1);
  reshaping.were = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *reshaping.were);
  bool done = find_parts(&reshaping, error) && change(&reshaping, hardware, error);
  free(reshaping.roles);
  free(reshaping.shapes);
  free(reshaping.strange);
  free(reshaping.basis);
  free(reshaping.parameters);
  lumos_numbering_free(&reshaping.units);
  free(reshaping.factors);
  free(reshaping.were);
  lumos_hardware_free(hardware);
  if (done) {
    lumos_edit_commit(job);
  }
  return done;
}

bool lumos_transform_sizes(struct lumos_job *job, const char *argument, struct lumos_error *error) {
  struct lumos_sizes sizes;
  bool done = lumos_edit_begin(job, error) && lumos_sizes_read(job, argument, &sizes, error) &&
              reshape(job, &sizes, NULL, error);
  if (done) {
    record(job, argument);
  }
  return done;
}

bool lumos_reshape_sequence(struct lumos_job *job, struct lumos_spread spread, bool on, struct lumos_error *error) {
  struct lumos_sizes sizes;
  if (!lumos_sizes_in_parts(job, spread, on, &sizes, error)) {
    return false;
  }
  lumos_string_id *ops = lumos_parts_ops(job, on);
  bool done = reshape(job, &sizes, ops, error);
  if (done) {
    lumos_parts_rename(job, ops);
  }
  free(ops);
  return done;
}

bool lumos_reshape_contexts(struct lumos_job *job, int32_t contexts, struct lumos_error *error) {
  struct lumos_sizes sizes;
  return lumos_sizes_in_contexts(job, contexts, &sizes, error) &&
         (sizes.contexts == sizes.contexts_were || reshape(job, &sizes, NULL, error));
}

bool lumos_reshape_experts(struct lumos_job *job, struct lumos_spread spread, int32_t ranks,
                           struct lumos_error *error) {
  struct lumos_sizes sizes;
  return lumos_sizes_on_owners(job, spread, ranks, &sizes, error) &&
         (!changes_owners(&sizes) || reshape(job, &sizes, NULL, error));
}

bool lumos_reshape_shards(struct lumos_job *job, int32_t contexts, int32_t shards, struct lumos_error *error) {
  struct lumos_sizes sizes;
  if (!lumos_sizes_on_shards(job, contexts, shards, &sizes, error)) {
    return false;
  }
  if (sizes.shards == sizes.shards_were) {
    return true;
  }
  return reshape(job, &sizes, NULL, error);
}
