#include "rebuild/gradients.h"

#include "base/numbering.h"
#include "cost/dtype.h"
#include "job/order.h"
#include "program/checkpoint.h"
#include "program/parameters.h"
#include "program/shapes.h"
#include "rebuild/plan.h"
#include "rebuild/roles.h"
#include "transform/experts.h"
#include <stdlib.h>
#include <string.h>

#define ACCUMULATES PROGRAM_ACCUMULATES

/* ---- what is like what ---- */

uint32_t *rebuild_find_likes(const struct lumos_job *built, const struct lumos_job *from) {
  uint32_t *likes = lumos_allocate(built->tasks.count * sizeof *likes), rank, id;
  struct lumos_id_map *ids;
  bool once = lumos_map_tasks(from, &ids, &rank, &id); /* as every job that was read is */
  for (size_t t = 0; t < built->tasks.count; t++) {
    const struct lumos_task *task = &built->tasks.items[t];
    uint32_t of = task->from_id == LUMOS_NONE || !once ? LUMOS_NONE : lumos_job_rank(from, task->from_rank);
    likes[t] = of == LUMOS_NONE ? LUMOS_NONE : lumos_id_map_find(&ids[of], task->from_id);
  }
  lumos_id_maps_free(ids, from->ranks.count);
  return likes;
}

/* ---- looking through a job ---- */

struct search {
  struct rebuild_gradients *gradients;
  const struct lumos_job *job, *from;
  const uint32_t *likes; /* NULL: the job is `from` */
  uint32_t *kernels;     /* by task: the last kernel on its rank's compute stream that it launches; LUMOS_NONE */
  int32_t first, last;   /* micro-batches */
  int64_t experts;       /* of a layer on a rank; 0: there are none */
};

static bool is_asked_for(const struct search *search, const struct lumos_task *task) {
  return (task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT) && task->micro_batch >= search->first &&
         task->micro_batch <= search->last;
}

/* The outermost span around the task that is about one gradient, and the shapes that are recorded with it or within. */
static uint32_t gradient_around(const struct search *search, uint32_t t, uint32_t *with_shapes) {
  const struct lumos_job *from = search->from;
  uint32_t like = search->likes == NULL ? t : search->likes[t], found = LUMOS_NONE;
  uint32_t span = like == LUMOS_NONE ? LUMOS_NONE : from->tasks.items[like].span;
  for (; span != LUMOS_NONE; span = from->spans.items[span].parent) {
    const char *name = lumos_string(from->strings, from->spans.items[span].name);
    found = strstr(name, ACCUMULATES) != NULL ? span : found;
    *with_shapes = strcmp(name, ACCUMULATES) == 0 ? span : *with_shapes;
  }
  return found;
}

/* Experts have one weight together, or two. */
static bool is_of_experts(const struct search *search, uint32_t span) {
  const struct lumos_job *from = search->from;
  struct program_dimensions inputs[SHAPE_INPUTS];
  if (search->experts == 0 || span == LUMOS_NONE || from->spans.items[span].shapes == LUMOS_NO_STRING) {
    return false;
  }
  program_shape_read(lumos_string(from->strings, from->spans.items[span].shapes), inputs);
  return inputs[0].count == 3 && inputs[0].of[0] == search->experts;
}

static int64_t elements_of(const struct lumos_job *from, uint32_t span) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  int64_t elements = 1;
  if (span == LUMOS_NONE || from->spans.items[span].shapes == LUMOS_NO_STRING) {
    return 0;
  }
  program_shape_read(lumos_string(from->strings, from->spans.items[span].shapes), inputs);
  for (int i = 0; i < inputs[0].count; i++) {
    bool fits = inputs[0].of[i] >= 0 && inputs[0].of[i] < INT64_C(1) << 40 && elements < INT64_C(1) << 40;
    elements = fits ? (int64_t)((__int128)elements * inputs[0].of[i] % (INT64_C(1) << 50)) : 0;
  }
  return inputs[0].count == 0 ? 0 : elements;
}

static void add_gradient(const struct search *search, uint32_t t, uint32_t kernel, uint32_t shapes, uint8_t part) {
  const struct lumos_task *task = &search->job->tasks.items[t];
  int size = 0;
  if (shapes != LUMOS_NONE) {
    (void)lumos_dtype_recorded(lumos_string(search->from->strings, search->from->spans.items[shapes].dtypes), 0, &size);
  }
  struct rebuild_gradient gradient = {.rank = lumos_rank_of(search->job, task),
                                      .after = t,
                                      .kernel = kernel,
                                      .step = task->step,
                                      .layer = task->layer,
                                      .elements = elements_of(search->from, shapes),
                                      .part = part,
                                      .number_size = size,
                                      .of_experts = is_of_experts(search, shapes)};
  lumos_vector_push(&search->gradients->items, gradient);
}

/* A gradient ends where the thread goes on to something else. */
static void search_thread(const struct search *search, const struct lumos_lane *lane) {
  uint32_t open = LUMOS_NONE, shapes = LUMOS_NONE, kernel = LUMOS_NONE;
  uint8_t part = 0;
  for (uint32_t t = lane->task_first; t <= lane->task_first + lane->task_count; t++) {
    bool end = t == lane->task_first + lane->task_count;
    uint32_t with = LUMOS_NONE;
    uint32_t span = end ? LUMOS_NONE : gradient_around(search, t, &with);
    bool woven = !end && open != LUMOS_NONE && search->likes != NULL && search->likes[t] == LUMOS_NONE;
    span = woven ? open : span; /* into it */
    /* What else is done in the midst of it, such as a reduction that it completes, belongs to it. */
    bool goes_on = span != LUMOS_NONE && (span == open || is_asked_for(search, &search->job->tasks.items[t]));
    span = goes_on ? span : LUMOS_NONE;
    bool of_input = shapes != LUMOS_NONE && program_accumulates_input(search->from, shapes);
    if (span != open && open != LUMOS_NONE && !of_input) {
      add_gradient(search, t - 1, kernel, shapes, part);
    }
    part = span != open && span != LUMOS_NONE ? search->job->tasks.items[t].part : part;
    shapes = span != open ? with : with != LUMOS_NONE ? with : shapes;
    open = span;
    kernel = !end && search->kernels[t] != LUMOS_NONE ? search->kernels[t] : kernel;
  }
}

/* ---- without ops of gradients: layers ---- */

static int64_t parameters_of(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_model_description *model = &job->models.items[0];
  int32_t shards = model->sizes.tp > 0 ? model->sizes.tp : 1;
  bool embedding = task->part == LUMOS_PART_EMBEDDING;
  int32_t words = embedding || task->part == LUMOS_PART_HEAD;
  __int128 parameters = program_parameters(model, task->part == LUMOS_PART_LAYER, words, embedding);
  return (int64_t)(parameters / shards);
}

static void search_layers(const struct search *search, const struct lumos_lane *lane) {
  uint32_t last = LUMOS_NONE, kernel = LUMOS_NONE;
  for (uint32_t t = lane->task_first; t <= lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task =
        t == lane->task_first + lane->task_count ? &lumos_task_empty : &search->job->tasks.items[t];
    const struct lumos_task *before = last == LUMOS_NONE ? NULL : &search->job->tasks.items[last];
    bool belongs = is_asked_for(search, task) && task->part != 0;
    if (before != NULL && (!belongs || task->part != before->part || task->layer != before->layer)) {
      add_gradient(search, last, kernel, LUMOS_NONE, before->part);
      search->gradients->items.items[search->gradients->items.count - 1].elements = parameters_of(search->job, before);
    }
    last = belongs ? t : LUMOS_NONE;
    kernel = belongs && search->kernels[t] != LUMOS_NONE ? search->kernels[t] : kernel;
  }
}

/* ---- ops of gradients without shapes, and no layers: the description of the model, evenly ---- */

static void search_threads(const struct search *search,
                           void (*look)(const struct search *, const struct lumos_lane *)) {
  for (size_t l = 0; l < search->job->lanes.count; l++) {
    if (search->job->lanes.items[l].kind == LUMOS_THREAD) {
      look(search, &search->job->lanes.items[l]);
    }
  }
}

/* Behind the gradients of a rank's step. */
static size_t end_of_step(const struct rebuild_gradients *gradients, size_t first) {
  const struct rebuild_gradient *items = gradients->items.items;
  size_t end = first;
  while (end < gradients->items.count && items[end].rank == items[first].rank && items[end].step == items[first].step) {
    end++;
  }
  return end;
}

static void spread_parameters(const struct search *search) {
  const struct lumos_model_description *model = &search->job->models.items[0];
  int32_t shards = model->sizes.tp > 0 ? model->sizes.tp : 1;
  int64_t all = model->layers > 0 ? (int64_t)(program_parameters(model, model->layers, 1, true) / shards) : 0;
  size_t end;
  for (size_t first = 0; first < search->gradients->items.count; first = end) {
    end = end_of_step(search->gradients, first);
    for (size_t i = first; i < end; i++) {
      search->gradients->items.items[i].elements = all / (int64_t)(end - first);
    }
  }
  search->gradients->items.count = all > 0 ? search->gradients->items.count : 0;
}

/* Sizes that no shape tells. */
static void search_described(const struct search *search) {
  bool known = search->job->models.count > 0 && program_parameters_known(&search->job->models.items[0]);
  search->gradients->items.count = 0;
  search->gradients->recorded = false;
  if (known) {
    search_threads(search, search_layers);
  }
  if (known && search->gradients->items.count == 0) {
    search_threads(search, search_thread);
    spread_parameters(search);
  }
}

/* ---- all together ---- */

static uint32_t *find_kernels(const struct lumos_job *job) {
  uint32_t *kernels = lumos_allocate(job->tasks.count * sizeof *kernels);
  for (size_t t = 0; t < job->tasks.count; t++) {
    kernels[t] = LUMOS_NONE;
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    uint32_t compute = rebuild_compute_stream(job, r);
    for (uint32_t i = 0; compute != LUMOS_NONE && i < job->lanes.items[compute].task_count; i++) {
      uint32_t t = job->lanes.items[compute].task_first + i, call = job->tasks.items[t].call;
      if (call != LUMOS_NONE) {
        kernels[call] = t;
      }
    }
  }
  return kernels;
}

static uint32_t stage_of(struct lumos_numbering *stages, const struct lumos_job *job, uint32_t rank) {
  const struct lumos_parallel *at = &job->ranks.items[rank].parallel;
  return lumos_number_of(stages, lumos_key_pair((uint32_t)at->pp, (uint32_t)at->tp));
}

/* Replicas of a stage have equally many gradients in every step. Where passes were told apart at another place than
 * elsewhere, the first are of the micro-batch before. */
static void drop_leftovers(struct rebuild_gradients *gradients, const struct lumos_job *job) {
  struct lumos_numbering stages = {0};
  LUMOS_VECTOR(size_t) fewest = {0};
  size_t kept = 0, end;
  for (size_t first = 0; first < gradients->items.count; first = end) {
    uint32_t stage = stage_of(&stages, job, gradients->items.items[first].rank);
    end = end_of_step(gradients, first);
    if (stage >= fewest.count) {
      lumos_vector_push(&fewest, end - first);
    }
    fewest.items[stage] = end - first < fewest.items[stage] ? end - first : fewest.items[stage];
  }
  for (size_t first = 0; first < gradients->items.count; first = end) {
    size_t count = fewest.items[stage_of(&stages, job, gradients->items.items[first].rank)];
    end = end_of_step(gradients, first);
    memmove(gradients->items.items + kept, gradients->items.items + end - count,
            count * sizeof *gradients->items.items);
    kept += count;
  }
  gradients->items.count = kept;
  lumos_vector_free(&fewest);
  lumos_numbering_free(&stages);
}

static void search_job(struct rebuild_gradients *gradients, const struct lumos_job *job, const struct lumos_job *from,
                       const uint32_t *likes, enum rebuild_gradients_of of) {
  struct search search = {gradients, job, from, likes, find_kernels(job), 1, -1, 0};
  if (from->models.count > 0) {
    search.experts = lumos_experts_find(from, from->models.items[0].hidden, 0).count;
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    int32_t micro_batch = job->tasks.items[t].micro_batch;
    search.last = micro_batch > search.last ? micro_batch : search.last;
  }
  search.first = of == REBUILD_LAST_MICRO_BATCH ? search.last : search.first;
  gradients->recorded = true;
  search_threads(&search, search_thread);
  int64_t sum = 0;
  for (size_t i = 0; i < gradients->items.count; i++) {
    sum += gradients->items.items[i].elements;
  }
  if (sum == 0) {
    search_described(&search);
  }
  free(search.kernels);
  drop_leftovers(gradients, job);
}

/* In numbers of two or four bytes. Of a job whose sizes were changed bytes and shapes agree within what tensor-parallel
 * ranks do not share: a hundredth. */
static bool is_cleared_at_once(const struct lumos_job *job, uint32_t rank, int64_t elements) {
  enum { TOLERANCE = 100 };
  const struct lumos_rank *record = &job->ranks.items[rank];
  int64_t most = lumos_job_edited(job) ? elements / TOLERANCE : 0;
  for (uint32_t t = record->task_first; t < record->task_first + record->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t bytes = lumos_detail_of(job, task)->bytes;
    if (task->kind == LUMOS_MEMSET && (llabs(bytes / 4 - elements) <= most || llabs(bytes / 2 - elements) <= most)) {
      return true;
    }
  }
  return false;
}

/* PyTorch has one gradient of weights that are shared; some write it twice, once for each use. Then a buffer of
 * gradients that is cleared has room for one. */
static void look_at_recorded(struct rebuild_gradients *gradients, const struct lumos_job *from) {
  struct rebuild_gradients recorded = {0};
  int64_t sum = 0, head = 0, embedding = 0;
  bool shared = from->models.count > 0 && rebuild_experts_apart(from, &from->models.items[0].sizes);
  search_job(&recorded, from, from, NULL, REBUILD_LAST_MICRO_BATCH);
  for (size_t i = 0; i < recorded.items.count; i++) {
    const struct rebuild_gradient *gradient = &recorded.items.items[i];
    const struct rebuild_gradient *first = &recorded.items.items[0];
    if (gradient->rank == first->rank && gradient->step == first->step) {
      lumos_vector_push(&gradients->like, *gradient);
      sum += shared && gradient->of_experts ? 0 : gradient->elements;
      head = gradient->part == LUMOS_PART_HEAD && gradient->elements > head ? gradient->elements : head;
      embedding =
          gradient->part == LUMOS_PART_EMBEDDING && gradient->elements > embedding ? gradient->elements : embedding;
    }
  }
  bool twice = head > 0 && head == embedding;
  bool tied = recorded.items.count > 0 && recorded.recorded &&
              (twice ? is_cleared_at_once(from, recorded.items.items[0].rank, sum - head) : head < embedding);
  gradients->tied = recorded.recorded ? tied : true;
  gradients->elements = sum - (gradients->tied && twice ? head : 0);
  lumos_vector_free(&recorded.items);
}

bool rebuild_experts_apart(const struct lumos_job *from, const struct lumos_parallel *sizes) {
  return rebuild_experts_of(sizes) > 1 || (sizes->tp > 1 && lumos_experts_are_whole(from));
}

void rebuild_gradients_find(struct rebuild_gradients *gradients, const struct lumos_job *built,
                            const struct lumos_job *from, enum rebuild_gradients_of of) {
  uint32_t *likes = rebuild_find_likes(built, from);
  *gradients = (struct rebuild_gradients){0};
  search_job(gradients, built, from, likes, of);
  look_at_recorded(gradients, from);
  free(likes);
}
