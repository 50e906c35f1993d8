/* A kernel's operations are those of the innermost op around its launch that has a rule (operation.c); an op around
 * that one is the same work seen from outside, and counts nothing more. Shapes are interned texts: each distinct one is
 * read once.
 */
#include "cost/kernel_cost.h"

#include "base/numbering.h"
#include "cost/operation.h"
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 1000 };

/* A name with shapes, and what they say. */
struct entry {
  lumos_string_id name;
  struct lumos_op_cost operation;
  struct program_dimensions input, weight; /* of convolutions */
  bool settled;                            /* a forward convolution has been compared with the backward ones */
};

/* An op that has kernels of its own. */
struct owner {
  uint32_t span;
  uint8_t causal; /* enum lumos_causal */
  bool strong;    /* one of its kernels is a product or attention: only such count then */
  bool again;
  __int128 dur, done; /* of its kernels; of those that have got their share */
  struct lumos_op_cost operation;
};

struct counting {
  const struct lumos_job *job;
  const struct lumos_operation_rule **rules; /* by string */
  uint8_t *backward;                         /* by string: is it the name of a backward node? */
  uint8_t *helpers;                          /* by string: is it the name of a kernel that does not multiply? */
  uint8_t *copiers;                          /* by string: is it the name of an op that only copies? */
  struct lumos_tokens tokens;
  bool packed;
  bool built;          /* the job may have been written anew */
  uint32_t *owners_of; /* by span: index + 1; 0: none */
  uint8_t *covered;    /* by span: an op within it has the kernels */
  uint32_t *kernels;   /* by task of the rank: owner + 1 */
  LUMOS_VECTOR(struct owner) owners;
  LUMOS_VECTOR(struct entry) entries;
  struct lumos_numbering shaped; /* names with shapes, */
  struct lumos_numbering typed;  /* and these with dtypes: the entries */
};

/* ---- What shapes say, each once ---- */

static void keep_dimensions(const struct lumos_operation_rule *rule, const char *shapes, struct entry *entry) {
  struct program_dimensions all[SHAPE_INPUTS];
  bool back = rule->form == LUMOS_CONVOLUTION_BACKWARD;
  if (back || rule->form == LUMOS_CONVOLUTION) {
    program_shape_read(shapes, all);
    entry->input = all[back ? rule->second : rule->first];
    entry->weight = all[back ? rule->third : rule->second];
  }
}

static struct entry *entry_of(struct counting *counting, const struct lumos_span *span) {
  struct entry wanted = {.name = span->name};
  uint32_t shaped = lumos_number_of(&counting->shaped, lumos_key_pair(span->name, span->shapes));
  uint32_t number = lumos_number_of(&counting->typed, lumos_key_pair(shaped, span->dtypes));
  if (number == counting->entries.count) {
    const struct lumos_strings *strings = counting->job->strings;
    const struct lumos_operation_rule *rule = counting->rules[span->name];
    const char *shapes = lumos_string(strings, span->shapes);
    wanted.operation = lumos_operation_of(rule, shapes, lumos_string(strings, span->dtypes), &counting->tokens);
    counting->packed = counting->packed || lumos_operation_is_packed(rule, shapes);
    keep_dimensions(rule, shapes, &wanted);
    lumos_vector_push(&counting->entries, wanted);
  }
  return &counting->entries.items[number];
}

/* ---- Which op a kernel belongs to ---- */

/* The innermost op around a span that has a rule and something to read for it, itself included; LUMOS_NONE: none. */
static uint32_t counted_around(const struct counting *counting, uint32_t span) {
  const struct lumos_span *spans = counting->job->spans.items;
  for (int depth = 0; span != LUMOS_NONE && depth < DEEPEST; depth++, span = spans[span].parent) {
    const struct lumos_operation_rule *rule = counting->rules[spans[span].name];
    bool readable = spans[span].shapes != LUMOS_NO_STRING || spans[span].forward != LUMOS_NONE;
    if (spans[span].kind == LUMOS_SPAN_OP && rule != NULL && readable) {
      return span;
    }
  }
  return LUMOS_NONE;
}

/* Forward work within a backward node: an op that autograd counts, which it does not do with what a node itself calls;
 * or all that a checkpoint's node holds but further nodes. What --recompute puts into a backward pass (`back`) is in no
 * node. */
static bool is_again(const struct counting *counting, uint32_t span, bool back) {
  const struct lumos_span *spans = counting->job->spans.items;
  bool counts = false;
  for (int depth = 0; span != LUMOS_NONE && depth < DEEPEST; depth++, span = spans[span].parent) {
    if (spans[span].forward != LUMOS_NONE || counting->backward[spans[span].name] != 0) {
      return counts || strstr(lumos_string(counting->job->strings, spans[span].name), "Checkpoint") != NULL;
    }
    counts = counts || (spans[span].kind == LUMOS_SPAN_OP && spans[span].sequence != LUMOS_ABSENT);
  }
  return counts && back;
}

/* What is around a span is the same work seen from outside. */
static void cover(struct counting *counting, uint32_t span) {
  const struct lumos_span *spans = counting->job->spans.items;
  uint32_t around = counted_around(counting, spans[span].parent);
  for (int depth = 0; around != LUMOS_NONE && counting->covered[around] == 0 && depth < DEEPEST; depth++) {
    counting->covered[around] = 1;
    around = counted_around(counting, spans[around].parent);
  }
}

static struct owner *owner_of(struct counting *counting, uint32_t span, const struct lumos_task *task) {
  if (counting->owners_of[span] == 0) {
    bool back = counting->built && task->phase == LUMOS_BACKWARD;
    lumos_vector_push(&counting->owners, ((struct owner){.span = span, .again = is_again(counting, span, back)}));
    counting->owners_of[span] = (uint32_t)counting->owners.count;
    cover(counting, span);
  }
  return &counting->owners.items[counting->owners_of[span] - 1];
}

/* Does it multiply? */
static bool is_strong(const struct counting *counting, const struct lumos_task *task) {
  return lumos_is_product(task->kind) && counting->helpers[task->name] == 0;
}

/* Autocast converts the inputs of a product in copies within the product's op. Where a checkpoint stops computing again
 * as soon as it has what it needs, the last op has launched nothing else. */
static bool is_copied(const struct counting *counting, uint32_t span) {
  return counting->copiers[counting->job->spans.items[span].name] != 0;
}

/* Products and attention first, so that what else an op launches does not count where it has such. */
static void assign(struct counting *counting, const struct lumos_lane *lane, bool strong) {
  const struct lumos_job *job = counting->job;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t span = task->call != LUMOS_NONE ? job->tasks.items[task->call].span : task->span;
    if (is_strong(counting, task) != strong || !lumos_is_compute(task->kind) || span == LUMOS_NONE ||
        (!strong && is_copied(counting, span))) {
      continue;
    }
    uint32_t counted = counted_around(counting, span);
    bool had = counted != LUMOS_NONE && counting->owners_of[counted] != 0;
    if (counted == LUMOS_NONE || (!strong && !had && counting->covered[counted] != 0)) {
      continue;
    }
    struct owner *owner = owner_of(counting, counted, task);
    bool helps = !strong && owner->strong;
    if (helps && !lumos_is_product(task->kind)) {
      continue;
    }
    owner->strong = owner->strong || strong;
    owner->dur += helps ? 0 : task->dur;
    counting->kernels[t] = counting->owners_of[counted];
    if (owner->causal == LUMOS_CAUSAL_UNKNOWN && task->kind == LUMOS_ATTENTION) {
      owner->causal = (uint8_t)lumos_causal_of_kernel(lumos_string(job->strings, task->name));
    }
  }
}

/* ---- What an op does ---- */

static void scale(struct lumos_op_cost *operation, int64_t factor) {
  int64_t *const numbers[] = {&operation->flops, &operation->model_flops, &operation->bytes};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    *numbers[i] = *numbers[i] == LUMOS_ABSENT ? LUMOS_ABSENT : *numbers[i] * factor;
  }
}

static bool same_dimensions(const struct program_dimensions *a, const struct program_dimensions *b) {
  return a->count == b->count && memcmp(a->of, b->of, (size_t)a->count * sizeof a->of[0]) == 0;
}

/* A convolution's stride is not in its inputs. Its backward pass, which is twice as much, shows what came of it; where
 * two of the same inputs differ, it does not. */
static struct lumos_op_cost convolution_of(const struct counting *counting, struct entry *forward) {
  enum { MOST_ENTRIES = 4096 }; /* a model has few */
  struct lumos_op_cost found = forward->operation;
  bool settled = forward->settled;
  forward->settled = true;
  for (size_t i = 0; !settled && i < counting->entries.count && i < MOST_ENTRIES; i++) {
    const struct entry *entry = &counting->entries.items[i];
    bool back = counting->rules[entry->name]->form == LUMOS_CONVOLUTION_BACKWARD;
    if (!back || entry->operation.flops == LUMOS_ABSENT || !same_dimensions(&entry->input, &forward->input) ||
        !same_dimensions(&entry->weight, &forward->weight)) {
      continue;
    }
    if (found.flops != LUMOS_ABSENT && found.flops != entry->operation.flops / 2) {
      return forward->operation;
    }
    found.flops = found.model_flops = entry->operation.flops / 2;
    found.bytes = entry->operation.bytes == LUMOS_ABSENT ? LUMOS_ABSENT : entry->operation.bytes / 2;
  }
  forward->operation = found;
  return found;
}

/* Of a node: as much as the op whose gradient it is, for each of the gradients that it computes. */
static struct lumos_op_cost gradient_of(struct counting *counting, const struct lumos_span *node, int64_t gradients) {
  struct lumos_op_cost operation = {.flops = LUMOS_ABSENT, .model_flops = LUMOS_ABSENT, .bytes = LUMOS_ABSENT};
  uint32_t forward = node->forward == LUMOS_NONE ? LUMOS_NONE : counted_around(counting, node->forward);
  if (forward != LUMOS_NONE && counting->job->spans.items[forward].shapes != LUMOS_NO_STRING &&
      counting->rules[counting->job->spans.items[forward].name]->form == LUMOS_LINEAR) {
    operation = entry_of(counting, &counting->job->spans.items[forward])->operation;
    scale(&operation, gradients);
    operation.rows = 0; /* the gradients' products have other sides */
  }
  return operation;
}

static void halve(struct lumos_op_cost *operation) {
  operation->flops = operation->flops == LUMOS_ABSENT ? LUMOS_ABSENT : operation->flops / 2;
  operation->model_flops = operation->model_flops == LUMOS_ABSENT ? LUMOS_ABSENT : operation->model_flops / 2;
}

static void finish_owner(struct counting *counting, struct owner *owner) {
  const struct lumos_span *span = &counting->job->spans.items[owner->span];
  enum lumos_operation_form form = counting->rules[span->name]->form;
  if (form == LUMOS_LINEAR_BACKWARD || form == LUMOS_WEIGHT_GRADIENT) {
    owner->operation = gradient_of(counting, span, form == LUMOS_LINEAR_BACKWARD ? 2 : 1);
  } else if (form == LUMOS_CONVOLUTION) {
    owner->operation = convolution_of(counting, entry_of(counting, span));
  } else if (span->shapes != LUMOS_NO_STRING) {
    owner->operation = entry_of(counting, span)->operation;
  } else {
    owner->operation.flops = LUMOS_ABSENT;
  }
  if (counting->covered[owner->span] != 0 && form != LUMOS_WEIGHT_GRADIENT) {
    owner->operation.flops = LUMOS_ABSENT; /* an op within it is counted */
  }
  bool attention = form == LUMOS_ATTENTION_FORWARD || form == LUMOS_ATTENTION_BACKWARD;
  if (attention && owner->causal == LUMOS_WINDOW) {
    owner->operation.flops = LUMOS_ABSENT;
  } else if (attention && owner->causal == LUMOS_NOT_CAUSAL) {
    owner->operation.square = false;
  } else if (attention && (owner->operation.square || owner->causal == LUMOS_CAUSAL)) {
    halve(&owner->operation);
  }
}

/* The strides of all convolutions are known before any of them is counted. */
static void read_convolutions(struct counting *counting) {
  for (size_t i = 0; i < counting->owners.count; i++) {
    const struct lumos_span *span = &counting->job->spans.items[counting->owners.items[i].span];
    enum lumos_operation_form form = counting->rules[span->name]->form;
    if (form == LUMOS_CONVOLUTION_BACKWARD && span->shapes != LUMOS_NO_STRING) {
      (void)entry_of(counting, span);
    }
  }
}

/* ---- Shares ---- */

/* Of `whole`, what lies between `from` and `to` of `all`: shares of neighbours add up to the whole. */
static int64_t share_of(int64_t whole, __int128 from, __int128 to, __int128 all) {
  return (int64_t)(whole * to / all - whole * from / all);
}

static void add_kernel(struct counting *counting, uint32_t index, struct lumos_kernel_costs *costs) {
  const struct lumos_task *task = &counting->job->tasks.items[index];
  struct owner *owner = &counting->owners.items[counting->kernels[index] - 1];
  const struct lumos_op_cost *operation = &owner->operation;
  if (operation->flops == LUMOS_ABSENT || owner->dur <= 0) {
    return;
  }
  if (is_strong(counting, task) != owner->strong) {
    lumos_vector_push(&costs->list, ((struct lumos_kernel_cost){.task = index, .helper = true}));
    return;
  }
  __int128 from = owner->done;
  owner->done += task->dur;
  struct lumos_kernel_cost cost = {.task = index, .dtype = (uint8_t)operation->dtype, .again = owner->again};
  cost.assumed = operation->square && owner->causal == LUMOS_CAUSAL_UNKNOWN;
  cost.flops = share_of(operation->flops, from, owner->done, owner->dur);
  cost.model_flops = owner->again ? 0 : share_of(operation->model_flops, from, owner->done, owner->dur);
  cost.span = owner->span;
  if (task->dur == owner->dur) {
    cost.rows = operation->rows;
    cost.inner = operation->inner;
    cost.columns = operation->columns;
    cost.batches = operation->batches;
  }
  cost.bytes =
      operation->bytes == LUMOS_ABSENT ? LUMOS_ABSENT : share_of(operation->bytes, from, owner->done, owner->dur);
  lumos_vector_push(&costs->list, cost);
}

/* Of the model record; a number that was read from attention says nothing of how attention is recorded. */
static int64_t known_size(const struct lumos_job *job, int32_t value, lumos_string_id evidence) {
  const char *text = lumos_string(job->strings, evidence);
  bool from_attention =
      strncmp(text, "shapes: ", 8) == 0 && (strcasestr(text, "attn") != NULL || strcasestr(text, "attention") != NULL);
  return value == LUMOS_ABSENT_INT || from_attention ? LUMOS_ABSENT : value;
}

static struct lumos_tokens tokens_of(const struct lumos_job *job) {
  if (job->models.count == 0) {
    return (struct lumos_tokens){LUMOS_ABSENT, LUMOS_ABSENT, false};
  }
  const struct lumos_model_description *model = &job->models.items[0];
  return (struct lumos_tokens){known_size(job, model->sequence, model->evidence.sequence),
                               known_size(job, model->micro_batch, model->evidence.micro_batch), model->sizes.cp > 1};
}

static void begin(struct counting *counting, const struct lumos_job *job) {
  uint32_t strings = lumos_strings_count(job->strings);
  *counting = (struct counting){.job = job, .tokens = tokens_of(job), .built = lumos_job_edited(job)};
  counting->rules = lumos_allocate_zeroed(strings + 1U, sizeof(struct lumos_operation_rule *));
  counting->backward = lumos_allocate_zeroed(strings + 1U, 1);
  counting->helpers = lumos_allocate_zeroed(strings + 1U, 1);
  counting->copiers = lumos_allocate_zeroed(strings + 1U, 1);
  uint8_t *seen = lumos_allocate_zeroed(strings + 1U, 1);
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (lumos_is_product(task->kind) && seen[task->name] == 0) {
      seen[task->name] = 1;
      counting->helpers[task->name] = lumos_is_helper_kernel(lumos_string(job->strings, task->name));
    }
  }
  memset(seen, 0, strings + 1U);
  for (size_t i = 0; i < job->spans.count; i++) {
    lumos_string_id name = job->spans.items[i].name;
    if (seen[name] == 0) {
      seen[name] = 1;
      const char *text = lumos_string(job->strings, name);
      counting->rules[name] = lumos_operation_rule(text);
      counting->backward[name] = strstr(text, "Backward") != NULL;
      counting->copiers[name] = strcmp(text, "aten::copy_") == 0;
    }
  }
  free(seen);
  counting->owners_of = lumos_allocate_zeroed(job->spans.count + 1, sizeof *counting->owners_of);
  counting->covered = lumos_allocate_zeroed(job->spans.count + 1, 1);
  counting->kernels = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *counting->kernels);
}

void lumos_kernel_costs_find(const struct lumos_job *job, struct lumos_kernel_costs *costs) {
  struct counting counting;
  *costs = (struct lumos_kernel_costs){0};
  begin(&counting, job);
  for (int strong = 1; strong >= 0; strong--) {
    for (size_t lane = 0; lane < job->lanes.count; lane++) {
      if (job->lanes.items[lane].kind == LUMOS_STREAM) {
        assign(&counting, &job->lanes.items[lane], strong == 1);
      }
    }
  }
  read_convolutions(&counting);
  for (size_t i = 0; i < counting.owners.count; i++) {
    finish_owner(&counting, &counting.owners.items[i]);
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (counting.kernels[t] != 0) {
      add_kernel(&counting, t, costs);
    }
  }
  free(counting.rules);
  costs->packed = counting.packed;
  free(counting.backward);
  free(counting.helpers);
  free(counting.copiers);
  free(counting.owners_of);
  free(counting.covered);
  free(counting.kernels);
  lumos_numbering_free(&counting.shaped);
  lumos_numbering_free(&counting.typed);
  lumos_vector_free(&counting.owners);
  lumos_vector_free(&counting.entries);
}
