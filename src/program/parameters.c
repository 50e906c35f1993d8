#include "program/parameters.h"

#include "base/numbering.h"
#include "program/shapes.h"
#include <stdlib.h>
#include <string.h>

/* As much as any model has, or more: products of them fit into what they are multiplied in. */
bool program_parameters_known(const struct lumos_model_description *model) {
  enum { MOST = 1 << 24, MOST_MATRICES = 1 << 10 }; /* chosen */
  const int32_t sizes[] = {model->hidden, model->heads, model->head_dim, model->ffn, model->vocabulary};
  bool known = model->kv_heads <= MOST && model->ffn_matrices <= MOST_MATRICES && model->sequence <= MOST;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    known = known && sizes[i] > 0 && sizes[i] <= MOST;
  }
  return known;
}

/* Not more than any model has, so that products fit. */
static int64_t or_none(int32_t size) {
  enum { MOST = 1 << 26 };
  return size > MOST ? MOST : size > 0 ? size : 0;
}

/* Attention's four products, the feed-forward's. */
static __int128 of_layer(const struct lumos_model_description *model) {
  int64_t hidden = or_none(model->hidden), heads = or_none(model->heads);
  int64_t keys = model->kv_heads > 0 ? or_none(model->kv_heads) : heads;
  int64_t matrices = model->ffn_matrices > 0 ? or_none(model->ffn_matrices) : 2;
  return (__int128)2 * hidden * or_none(model->head_dim) * (heads + keys) +
         (__int128)matrices * hidden * or_none(model->ffn);
}

__int128 program_parameters(const struct lumos_model_description *model, int32_t layers, int32_t words, bool places) {
  int64_t hidden = or_none(model->hidden);
  __int128 all = layers * of_layer(model) + (__int128)words * or_none(model->vocabulary) * hidden;
  return all + (places ? (__int128)or_none(model->sequence) * hidden : 0);
}

/* ---- weights of its own for the head ---- */

/* The rank that is looked at. Tensor-parallel shards hold a part of what the model has. */
struct holder {
  const struct lumos_job *job;
  const struct lumos_model_description *model;
  const struct lumos_rank *rank;
  __int128 tied, untied; /* parameters, if so */
};

/* The first rank with embedding and head; false: there is none. */
static bool find_holder(struct holder *holder) {
  const struct lumos_job *job = holder->job;
  for (size_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    bool embeds = false, heads = false;
    for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
      embeds |= job->tasks.items[t].part == LUMOS_PART_EMBEDDING;
      heads |= job->tasks.items[t].part == LUMOS_PART_HEAD;
    }
    if (embeds && heads) {
      int32_t layers = holder->model->layers > 0 ? holder->model->layers : 0;
      holder->rank = rank;
      holder->tied = program_parameters(holder->model, layers, 1, false);
      holder->untied = program_parameters(holder->model, layers, 2, false);
      return true;
    }
  }
  return false;
}

/* +1: untied, -1: tied, 0: so many parameters are neither. */
static int judge(const struct holder *holder, __int128 parameters) {
  enum { PART = 50 }; /* of what they are: norms, biases and positions, and padding. Chosen */
  __int128 from_tied = parameters > holder->tied ? parameters - holder->tied : holder->tied - parameters;
  __int128 from_untied = parameters > holder->untied ? parameters - holder->untied : holder->untied - parameters;
  __int128 nearer = from_untied < from_tied ? from_untied : from_tied;
  return nearer * PART > parameters ? 0 : from_untied < from_tied ? 1 : -1;
}

static int by_stretches(const struct holder *holder) {
  const struct lumos_job *job = holder->job;
  int64_t shards = holder->model->sizes.tp > 0 ? holder->model->sizes.tp : 1, stretch = 0;
  uint32_t rank = (uint32_t)(holder->rank - job->ranks.items);
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    const char *text = span->rank == rank ? lumos_string(job->strings, span->shapes) : "";
    text += strspn(text, "[");
    char *behind = NULL;
    long long size = strtoll(text, &behind, 10);
    stretch = behind != text && *behind == ']' && size > stretch ? size : stretch;
  }
  int told = judge(holder, (__int128)stretch * shards);
  for (uint32_t t = holder->rank->task_first; told == 0 && t < holder->rank->task_first + holder->rank->task_count;
       t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t bytes = task->kind == LUMOS_MEMSET ? lumos_detail_of(job, task)->bytes : LUMOS_ABSENT;
    for (int64_t size = 4; told == 0 && bytes != LUMOS_ABSENT && size >= 2; size /= 2) { /* of a number */
      told = judge(holder, (__int128)(bytes / size) * shards);
    }
  }
  return told;
}

static bool is_words(const struct lumos_model_description *model, const char *shapes) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  int64_t shards = model->sizes.tp > 0 ? model->sizes.tp : 1;
  program_shape_read(shapes, inputs);
  return inputs[0].count == 2 && inputs[0].of[1] == model->hidden && model->vocabulary > 0 &&
         (inputs[0].of[0] == model->vocabulary || inputs[0].of[0] * shards == model->vocabulary);
}

static int64_t elements_of(const struct lumos_job *job, const struct lumos_span *span) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  program_shape_read(lumos_string(job->strings, span->shapes), inputs);
  int64_t elements = inputs[0].count > 0 ? 1 : 0;
  for (int i = 0; i < inputs[0].count; i++) {
    bool fits = inputs[0].of[i] > 0 && inputs[0].of[i] < INT32_MAX && elements < INT64_C(1) << 32;
    elements = fits ? elements * inputs[0].of[i] : 0;
  }
  return elements;
}

/* What a step clears in rows, as gradients' buffers are, against the gradients of a backward pass, of which one is of
 * the vocabulary's size where there are two of one weight. As judge(). */
static int by_buffers(const struct holder *holder) {
  const struct lumos_job *job = holder->job;
  uint32_t rank = (uint32_t)(holder->rank - job->ranks.items);
  struct lumos_numbering passes = {0}, steps = {0};
  __int128 cleared = 0, gradients = 0, words = 0;
  int64_t heads = 0;
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    const char *name =
        span->rank == rank && span->shapes != LUMOS_NO_STRING ? lumos_string(job->strings, span->name) : "";
    const char *shapes = lumos_string(job->strings, span->shapes);
    bool adds = strcmp(name, "torch::autograd::AccumulateGrad") == 0;
    bool row = strcmp(name, "aten::zero_") == 0 && strchr(shapes, ',') == NULL;
    cleared += row ? elements_of(job, span) : 0;
    gradients += adds ? elements_of(job, span) : 0;
    bool of_words = adds && is_words(holder->model, shapes);
    words += of_words ? elements_of(job, span) : 0;
    heads += of_words;
  }
  for (uint32_t t = holder->rank->task_first; t < holder->rank->task_first + holder->rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->phase == LUMOS_BACKWARD && task->micro_batch >= 0 && task->step != LUMOS_ABSENT_INT) {
      (void)lumos_number_of(&passes, lumos_key_pair((uint32_t)task->step, (uint32_t)task->micro_batch));
      (void)lumos_number_of(&steps, (uint64_t)(uint32_t)task->step);
    }
  }
  int64_t count = (int64_t)passes.keys.count, recorded = (int64_t)steps.keys.count;
  lumos_numbering_free(&passes);
  lumos_numbering_free(&steps);
  if (count == 0 || cleared == 0 || heads < 2 * count) { /* with one of them the buffer tells nothing */
    return 0;
  }
  struct holder both = *holder;
  both.untied = gradients / count;
  both.tied = both.untied - words / count / 2;
  return judge(&both, cleared / recorded);
}

/* The gradients of the vocabulary's size, and the backward passes. */
static bool by_gradients(const struct holder *holder) {
  const struct lumos_job *job = holder->job;
  uint32_t rank = (uint32_t)(holder->rank - job->ranks.items);
  struct lumos_numbering passes = {0};
  size_t gradients = 0, count = 0;
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    gradients += span->rank == rank && span->shapes != LUMOS_NO_STRING &&
                 strcmp(lumos_string(job->strings, span->name), "torch::autograd::AccumulateGrad") == 0 &&
                 is_words(holder->model, lumos_string(job->strings, span->shapes));
  }
  for (uint32_t t = holder->rank->task_first; t < holder->rank->task_first + holder->rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->phase == LUMOS_BACKWARD && task->micro_batch >= 0 && task->step != LUMOS_ABSENT_INT) {
      uint32_t number = lumos_number_of(&passes, lumos_key_pair((uint32_t)task->step, (uint32_t)task->micro_batch));
      count = number >= count ? number + 1U : count;
    }
  }
  lumos_numbering_free(&passes);
  return count > 0 && gradients >= 2 * count && holder->model->ffn != holder->model->vocabulary;
}

bool program_is_untied(const struct lumos_job *job) {
  struct holder holder = {.job = job};
  if (job->models.count == 0) {
    return false;
  }
  holder.model = &job->models.items[0];
  if (!find_holder(&holder)) {
    return false;
  }
  int told = by_stretches(&holder);
  told = told != 0 ? told : by_buffers(&holder);
  return told != 0 ? told > 0 : by_gradients(&holder);
}
