/* The layers of forward passes by the modules, or annotations, that ran: of those that have the same name but for a
 * number at the end, and ran side by side in one outer module, the ones in which most of the pass was done. A model of
 * one layer has no second one beside it: then the innermost module called layer or block counts that most matrix
 * products of the pass were launched in.
 */
#include "program/recovery/recovery.h"

#include "base/hash.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct family { /* spans of one name but for the number, in one outer module and one pass */
  lumos_string_id name;
  uint32_t outer, pass;
  uint32_t members, products; /* spans; matrix products launched in them */
  int64_t work;
};

struct search {
  struct lumos_program *program;
  const struct lumos_rank *rank;
  uint32_t *family; /* by span - span_first: in families, or LUMOS_NONE */
  LUMOS_VECTOR(struct family) families;
  size_t first;     /* family of the pass at hand */
  uint32_t *places; /* [capacity]: a hash table, of families or LUMOS_NONE */
  size_t capacity;
};

/* The name without its number; LUMOS_NO_STRING: it has none, or is no layer's. */
static lumos_string_id family_name(const struct lumos_job *job, const struct lumos_span *span) {
  const char *name = lumos_string(job->strings, span->name);
  size_t length = strlen(name);
  while (length > 0 && isdigit((unsigned char)name[length - 1])) {
    length--;
  }
  bool named =
      span->kind == LUMOS_SPAN_MODULE || (span->kind == LUMOS_SPAN_ANNOTATION && strncmp(name, "nccl:", 5) != 0);
  return !named || name[length] == '\0' || length == 0 ? LUMOS_NO_STRING : lumos_intern(job->strings, name, length);
}

/* The module or annotation around a span: operators, a checkpoint's for example, may lie between. */
static uint32_t outer_of(const struct lumos_job *job, const struct lumos_span *span) {
  uint32_t outer = span->parent;
  while (outer != LUMOS_NONE &&
         (job->spans.items[outer].kind == LUMOS_SPAN_OP || job->spans.items[outer].kind == LUMOS_SPAN_PYTHON)) {
    outer = job->spans.items[outer].parent;
  }
  return outer;
}

/* Where a family is in the table, or goes. */
static uint32_t *place_of(const struct search *search, const struct family *like) {
  uint64_t hash = lumos_hash_mix(lumos_hash_mix(like->pass, like->outer), like->name);
  size_t at = (size_t)(hash >> 32) & (search->capacity - 1);
  for (; search->places[at] != LUMOS_NONE; at = (at + 1) & (search->capacity - 1)) {
    const struct family *family = &search->families.items[search->places[at]];
    if (family->name == like->name && family->outer == like->outer && family->pass == like->pass) {
      break;
    }
  }
  return &search->places[at];
}

static void grow(struct search *search) {
  search->capacity = search->capacity == 0 ? 64 : search->capacity * 2;
  free(search->places);
  search->places = lumos_allocate(search->capacity * sizeof *search->places);
  memset(search->places, 0xFF, search->capacity * sizeof *search->places);
  for (uint32_t i = 0; i < search->families.count; i++) {
    *place_of(search, &search->families.items[i]) = i;
  }
}

static uint32_t find_family(struct search *search, uint32_t pass, const struct lumos_span *span) {
  const struct lumos_job *job = search->program->job;
  struct family family = {.name = family_name(job, span), .pass = pass};
  if (family.name == LUMOS_NO_STRING) {
    return LUMOS_NONE;
  }
  family.outer = outer_of(job, span);
  if (search->families.count * 2 >= search->capacity) {
    grow(search);
  }
  uint32_t *place = place_of(search, &family);
  if (*place == LUMOS_NONE) {
    *place = (uint32_t)search->families.count;
    lumos_vector_push(&search->families, family);
  }
  return *place;
}

static uint32_t span_of(const struct lumos_program *program, const struct lumos_element *element) {
  const struct lumos_task *tasks = program->job->tasks.items;
  return tasks[tasks[element->task].call].span;
}

static void find_families(struct search *search, uint32_t index) {
  const struct lumos_program *program = search->program;
  const struct lumos_pass *pass = &program->passes.items[index];
  search->first = search->families.count;
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    const struct lumos_task *task = lumos_element_task(program, element);
    for (uint32_t span = span_of(program, element); span != LUMOS_NONE; span = program->job->spans.items[span].parent) {
      uint32_t *family = &search->family[span - search->rank->span_first];
      if (*family == LUMOS_NONE) {
        *family = find_family(search, index, &program->job->spans.items[span]);
        if (*family < search->families.count) {
          search->families.items[*family].members++;
        }
      }
      if (*family < search->families.count) {
        search->families.items[*family].work += lumos_is_compute(task->kind) ? task->dur : 0;
        search->families.items[*family].products += lumos_is_of_layers(program, element);
      }
    }
  }
}

static bool is_called_layer(const struct lumos_job *job, lumos_string_id name) {
  const char *text = lumos_string(job->strings, name);
  size_t length = strlen(text);
  while (length > 0 && !isalpha((unsigned char)text[length - 1])) {
    length--;
  }
  return length >= 5 && (strncmp(text + length - 5, "Layer", 5) == 0 || strncmp(text + length - 5, "Block", 5) == 0);
}

static uint32_t best_family(const struct search *search) {
  uint32_t best = LUMOS_NONE;
  uint32_t most = 0;
  for (uint32_t i = (uint32_t)search->first; i < search->families.count; i++) {
    const struct family *family = &search->families.items[i];
    bool several = family->members >= 2 && family->products >= 2 * family->members;
    if (several && (best == LUMOS_NONE || family->work > search->families.items[best].work)) {
      best = i;
    }
    most = family->products > most ? family->products : most;
  }
  for (uint32_t i = (uint32_t)search->first; i < search->families.count && best == LUMOS_NONE;
       i++) { /* inner ones come first */
    const struct family *family = &search->families.items[i];
    bool alone = family->members == 1 && family->products * 2 > most;
    best = alone && is_called_layer(search->program->job, family->name) ? i : best;
  }
  return best;
}

/* A layer begins where the next span of the family does. */
static void set_layers(const struct search *search, struct lumos_pass *pass, uint32_t chosen) {
  const struct lumos_program *program = search->program;
  uint32_t last = LUMOS_NONE;
  int32_t layer = LUMOS_NO_LAYER;
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    struct lumos_element *element = &program->elements.items[i];
    uint32_t span = span_of(program, element);
    while (span != LUMOS_NONE && search->family[span - search->rank->span_first] != chosen) {
      span = program->job->spans.items[span].parent;
    }
    layer += span != LUMOS_NONE && span != last;
    last = span != LUMOS_NONE ? span : last;
    element->layer = span == LUMOS_NONE ? LUMOS_NO_LAYER : layer;
    bool computes = lumos_is_compute(lumos_element_task(program, element)->kind);
    element->part = span != LUMOS_NONE   ? LUMOS_PART_LAYER
                    : !computes          ? 0
                    : last == LUMOS_NONE ? LUMOS_PART_EMBEDDING
                                         : LUMOS_PART_HEAD;
  }
  pass->layers = (uint32_t)(layer + 1);
  pass->evidence = LUMOS_BY_MODULES;
}

void lumos_program_modules(struct lumos_program *program) {
  const struct lumos_rank *rank = &program->job->ranks.items[program->rank];
  struct search search = {
      .program = program, .rank = rank, .family = lumos_allocate(rank->span_count * sizeof(uint32_t))};
  memset(search.family, 0xFF, rank->span_count * sizeof(uint32_t));
  for (uint32_t i = 0; i < program->passes.count; i++) {
    struct lumos_pass *pass = &program->passes.items[i];
    if (pass->phase == LUMOS_FORWARD || pass->phase == LUMOS_OTHER_PHASE) {
      find_families(&search, i);
      uint32_t chosen = best_family(&search);
      if (chosen != LUMOS_NONE) {
        set_layers(&search, pass, chosen);
      }
    }
  }
  lumos_vector_free(&search.families);
  free(search.family);
  free(search.places);
}
