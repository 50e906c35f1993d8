/* Backward work to the layers of the forward work that it belongs to: autograd's numbers tie its operators to those
 * that ran forward.
 *
 * What a forward operator launched says in which pass and layer it was; one that launched nothing was where its
 * neighbours in time were, if they agree. Backward work outside of tied operators (gradients are accumulated, say)
 * belongs where the work before it does. A backward pass is for the micro-batch of the forward pass that most of its
 * work is tied to.
 */
#include "program/recovery/recovery.h"

#include <stdlib.h>

enum { UNKNOWN = LUMOS_NO_LAYER - 1, SEVERAL = LUMOS_NO_LAYER - 2 };
enum { LEAST_TIED = 4 }; /* one element in so many, or the numbers are of no use */

struct origin { /* of what was launched under a span */
  uint32_t pass;
  int32_t layer; /* or LUMOS_NO_LAYER, UNKNOWN, SEVERAL */
  uint8_t part;
};

struct linker {
  struct lumos_program *program;
  const struct lumos_rank *rank;
  struct origin *origins; /* by span - span_first */
};

static const struct origin unknown = {.pass = LUMOS_NONE, .layer = UNKNOWN};

static bool equal(struct origin a, struct origin b) {
  return a.pass == b.pass && a.layer == b.layer && a.part == b.part;
}

static struct origin origin_of_element(const struct lumos_element *element) {
  return (struct origin){.pass = element->pass, .layer = element->layer, .part = element->part};
}

static uint32_t span_of(const struct linker *linker, const struct lumos_element *element) {
  const struct lumos_job *job = linker->program->job;
  return job->tasks.items[job->tasks.items[element->task].call].span;
}

static bool is_forward(const struct lumos_program *program, const struct lumos_element *element) {
  return element->pass != LUMOS_NONE && program->passes.items[element->pass].phase == LUMOS_FORWARD;
}

/* What all spans around forward work launched. */
static void find_origins(struct linker *linker) {
  const struct lumos_program *program = linker->program;
  for (size_t i = 0; i < program->elements.count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    if (!is_forward(program, element) || element->symbol == 0) {
      continue;
    }
    struct origin origin = origin_of_element(element);
    for (uint32_t span = span_of(linker, element); span != LUMOS_NONE; span = program->job->spans.items[span].parent) {
      struct origin *known = &linker->origins[span - linker->rank->span_first];
      if (known->layer == SEVERAL || equal(*known, origin)) {
        break;
      }
      *known = known->layer == UNKNOWN ? origin : (struct origin){.pass = origin.pass, .layer = SEVERAL};
      origin = *known;
    }
  }
}

/* The first element launched at `at` or later. */
static size_t first_from(const struct lumos_program *program, int64_t at) {
  size_t low = 0;
  for (size_t high = program->elements.count; low < high;) {
    size_t middle = low + (high - low) / 2;
    if (program->elements.items[middle].at < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Of a forward span that launched nothing: what was launched before and behind it, if that is one. */
static struct origin between(const struct linker *linker, uint32_t span) {
  const struct lumos_program *program = linker->program;
  size_t behind = first_from(program, program->job->spans.items[span].start);
  if (behind == 0 || behind == program->elements.count) {
    return unknown;
  }
  const struct lumos_element *a = &program->elements.items[behind - 1], *b = &program->elements.items[behind];
  bool one = is_forward(program, a) && equal(origin_of_element(a), origin_of_element(b));
  return one ? origin_of_element(a) : unknown;
}

/* Of backward work: by the innermost operator around it that is tied to forward work of one layer. */
static struct origin origin_of(const struct linker *linker, const struct lumos_element *element) {
  const struct lumos_span *spans = linker->program->job->spans.items;
  for (uint32_t span = span_of(linker, element); span != LUMOS_NONE; span = spans[span].parent) {
    uint32_t forward = spans[span].forward;
    if (forward == LUMOS_NONE) {
      continue;
    }
    struct origin origin = linker->origins[forward - linker->rank->span_first];
    origin = origin.layer == UNKNOWN ? between(linker, forward) : origin;
    if (origin.layer != UNKNOWN) {
      return origin;
    }
  }
  return unknown;
}

/* The forward pass of a backward one, by most of its elements, and how many those are. */
static uint32_t forward_pass(const struct linker *linker, const struct lumos_pass *pass, uint32_t *tied) {
  uint32_t chosen = LUMOS_NONE, votes = 0;
  *tied = 0;
  for (int turn = 0; turn < 2; turn++) { /* the majority's candidate, then its votes */
    for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
      uint32_t of = origin_of(linker, &linker->program->elements.items[i]).pass;
      if (of == LUMOS_NONE) {
        continue;
      }
      if (turn == 1) {
        *tied += of == chosen;
      } else if (votes == 0 || of == chosen) {
        chosen = of;
        votes++;
      } else {
        votes--;
      }
    }
  }
  return chosen;
}

static bool is_known(struct origin origin, uint32_t forward) {
  return origin.pass == forward && origin.layer != SEVERAL && origin.layer != UNKNOWN;
}

/* Communication goes by its own tie, or stays where repetition has put it. */
static void link_element(struct linker *linker, uint32_t i, bool known, struct origin origin) {
  struct lumos_element *element = &linker->program->elements.items[i];
  if (!element->apart && (known || !lumos_is_communication(lumos_element_task(linker->program, element)->kind))) {
    element->layer = origin.layer;
    element->part = origin.part;
  }
}

static void link_layers(struct linker *linker, struct lumos_pass *pass) {
  const struct lumos_element *elements = linker->program->elements.items;
  struct origin last = {.pass = pass->forward, .layer = LUMOS_NO_LAYER, .part = LUMOS_PART_HEAD};
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    struct origin origin = origin_of(linker, &elements[i]);
    bool known = is_known(origin, pass->forward);
    last = known ? origin : last;
    if (known || !lumos_is_before_back(linker->program, &elements[i])) { /* which fill.c places */
      link_element(linker, i, known, last);
    }
  }
}

static void link_pass(struct linker *linker, struct lumos_pass *pass) {
  uint32_t tied, known = 0;
  pass->forward = forward_pass(linker, pass, &tied);
  if (pass->forward == LUMOS_NONE || tied * LEAST_TIED < pass->count) {
    pass->forward = LUMOS_NONE;
    return;
  }
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    known += is_known(origin_of(linker, &linker->program->elements.items[i]), pass->forward);
  }
  const struct lumos_pass *source = &linker->program->passes.items[pass->forward];
  if (source->layers > 0 && known * LEAST_TIED >= pass->count) {
    pass->layers = source->layers;
    pass->evidence = LUMOS_BY_NUMBERS;
    link_layers(linker, pass);
  }
}

void lumos_program_links(struct lumos_program *program) {
  const struct lumos_rank *rank = &program->job->ranks.items[program->rank];
  struct linker linker = {
      .program = program, .rank = rank, .origins = lumos_allocate((size_t)rank->span_count * sizeof *linker.origins)};
  for (uint32_t i = 0; i < rank->span_count; i++) {
    linker.origins[i] = unknown;
  }
  find_origins(&linker);
  for (size_t i = 0; i < program->passes.count; i++) {
    if (program->passes.items[i].phase == LUMOS_BACKWARD) {
      link_pass(&linker, &program->passes.items[i]);
    }
  }
  free(linker.origins);
}
