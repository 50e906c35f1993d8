/* The layers of every pass. Most repeat themselves; where a pass goes through one layer alone, the layer is what passes
 * of different stages have in common. */
#include "program/recovery/recovery.h"

#include <stdlib.h>
#include <string.h>

struct lumos_view lumos_view_open(const struct lumos_program *program, const struct lumos_pass *pass) {
  struct lumos_view view = {.elements = lumos_allocate(pass->count * sizeof *view.elements),
                            .symbols = lumos_allocate(pass->count * sizeof *view.symbols),
                            .weights = lumos_allocate(pass->count * sizeof *view.weights),
                            .kinds = lumos_allocate(pass->count * sizeof *view.kinds),
                            /* with a gate, and of each back the gradients of both sides */
                            .products = pass->phase == LUMOS_BACKWARD ? 6 : 3};
  for (uint32_t i = 0; i < pass->count; i++) {
    uint32_t place = pass->phase == LUMOS_BACKWARD ? pass->first + pass->count - 1 - i : pass->first + i;
    const struct lumos_element *element = &program->elements.items[place];
    const struct lumos_task *task = lumos_element_task(program, element);
    if (element->symbol == 0 || lumos_is_copy(task->kind) || lumos_is_before_back(program, element)) {
      continue;
    }
    view.elements[view.count] = place;
    view.symbols[view.count] = element->symbol;
    view.kinds[view.count] = task->kind == LUMOS_ATTENTION ? LUMOS_LAUNCH_ATTENTION
                             : task->kind == LUMOS_GEMM    ? LUMOS_LAUNCH_PRODUCT
                                                           : LUMOS_LAUNCH_OTHER;
    view.weights[view.count++] = lumos_is_communication(task->kind) ? 0 : task->dur; /* that may be waiting */
  }
  return view;
}

void lumos_view_close(struct lumos_view *view) {
  free(view->elements);
  free(view->symbols);
  free(view->weights);
  free(view->kinds);
}

struct lumos_sequence lumos_view_sequence(const struct lumos_view *view) {
  return (struct lumos_sequence){.symbols = view->symbols,
                                 .weights = view->weights,
                                 .kinds = view->kinds,
                                 .products = view->products,
                                 .count = view->count};
}

static void set_part(struct lumos_program *program, const struct lumos_view *view, uint32_t from, uint32_t to,
                     uint8_t part) {
  for (uint32_t i = from; i < to; i++) {
    struct lumos_element *element = &program->elements.items[view->elements[i]];
    uint8_t kind = lumos_element_task(program, element)->kind;
    element->part = lumos_is_compute(kind) ? part : 0;
  }
}

void lumos_set_layers(struct lumos_program *program, struct lumos_pass *pass, const struct lumos_view *view,
                      const uint32_t *starts, uint32_t count) {
  pass->layers = count;
  pass->evidence = LUMOS_BY_REPETITION;
  for (uint32_t k = 0; k < count; k++) {
    for (uint32_t i = starts[k]; i < starts[k + 1]; i++) {
      program->elements.items[view->elements[i]].layer = (int32_t)k;
      program->elements.items[view->elements[i]].part = LUMOS_PART_LAYER;
    }
  }
  set_part(program, view, 0, starts[0], LUMOS_PART_EMBEDDING);
  set_part(program, view, starts[count], view->count, LUMOS_PART_HEAD);
}

static uint32_t count_symbol(const struct lumos_view *view, uint32_t from, uint32_t to, uint32_t symbol) {
  uint32_t count = 0;
  for (uint32_t i = from; i < to; i++) {
    count += view->symbols[i] == symbol;
  }
  return count;
}

/* Does communication of this symbol come as often in every layer, or nowhere? Or as often as that, but each time one
 * layer ahead, as parameters are gathered for the next layer back: then what an end lacks comes before the other
 * one. */
static bool is_even(const struct lumos_view *view, const struct lumos_layers *layers, uint32_t symbol) {
  uint32_t all = count_symbol(view, 0, view->count, symbol), most = 0, lacking = 0, last = layers->count - 1;
  for (uint32_t k = 0; k < layers->count; k++) {
    uint32_t count = count_symbol(view, layers->starts[k], layers->starts[k + 1], symbol);
    most = count > most ? count : most;
  }
  for (uint32_t k = 0; k < layers->count; k++) {
    lacking += count_symbol(view, layers->starts[k], layers->starts[k + 1], symbol) != most;
  }
  bool first_lacks = count_symbol(view, layers->starts[0], layers->starts[1], symbol) == 0;
  bool last_lacks = count_symbol(view, layers->starts[last], layers->starts[layers->count], symbol) == 0;
  bool ahead = lacking == 1 && first_lacks != last_lacks && all == most * layers->count;
  return (lacking == 0 && (most > 0 || all == 0)) || ahead;
}

static void drop(struct lumos_program *program, uint32_t symbol) {
  for (size_t i = 0; i < program->elements.count; i++) {
    if (program->elements.items[i].symbol == symbol) {
      lumos_set_apart(&program->elements.items[i]);
    }
  }
}

/* Drop communication that belongs to no layer; false: there is none. */
static bool drop_uneven(struct lumos_program *program, const struct lumos_view *view,
                        const struct lumos_layers *layers) {
  bool dropped = false;
  LUMOS_VECTOR(uint32_t) even = {0}; /* symbols: as few as streams and operations */
  for (uint32_t i = 0; i < view->count; i++) {
    const struct lumos_element *element = &program->elements.items[view->elements[i]];
    bool known = element->symbol == 0 || lumos_element_task(program, element)->kind != LUMOS_COLLECTIVE;
    for (size_t k = 0; k < even.count && !known; k++) {
      known = even.items[k] == element->symbol;
    }
    if (known) {
      continue;
    }
    if (is_even(view, layers, element->symbol)) {
      lumos_vector_push(&even, element->symbol);
    } else {
      drop(program, element->symbol);
      dropped = true;
    }
  }
  lumos_vector_free(&even);
  return dropped;
}

/* false: communication was dropped, and preparations for it may have to be, too. */
static bool find_layers(struct lumos_program *program, struct lumos_pass *pass, uint32_t wanted) {
  struct lumos_view view = lumos_view_open(program, pass);
  struct lumos_sequence sequence = lumos_view_sequence(&view);
  struct lumos_layers layers = lumos_layers_find(&sequence, wanted);
  bool dropped = layers.count > 0 && drop_uneven(program, &view, &layers);
  if (layers.count > 0 && !dropped) {
    lumos_set_layers(program, pass, &view, layers.starts, layers.count);
  }
  lumos_layers_free(&layers);
  lumos_view_close(&view);
  return !dropped;
}

/* Layers of a model multiply matrices, and more than one. */
static bool multiplies(const struct lumos_program *program, const struct lumos_pass *pass) {
  uint32_t products = 0;
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    products += element->layer != LUMOS_NO_LAYER && lumos_is_of_layers(program, element);
  }
  return products >= 2 * pass->layers;
}

/* Two layers that do not both attend, where something does, are the halves of one. */
static bool are_halves(const struct lumos_program *program, const struct lumos_pass *pass) {
  bool attends[2] = {false, false}, any = false;
  for (uint32_t i = pass->first; pass->layers == 2 && i < pass->first + pass->count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    if (lumos_element_task(program, element)->kind == LUMOS_ATTENTION) {
      any = true;
      attends[element->layer == 1] |= element->layer != LUMOS_NO_LAYER;
    }
  }
  return any && !(attends[0] && attends[1]);
}

/* Without training nothing tells a model's layers from the same thing done again and again, but what a model has beside
 * layers. */
static bool is_repetition(const struct lumos_program *program, const struct lumos_pass *pass) {
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    uint8_t kind = lumos_element_task(program, element)->kind;
    if (element->layer == LUMOS_NO_LAYER && (lumos_is_product(program, element) || kind == LUMOS_EMBEDDING)) {
      return false;
    }
  }
  return true;
}

static void forget_layers(struct lumos_program *program, struct lumos_pass *pass) {
  pass->layers = 0;
  pass->evidence = LUMOS_BY_NOTHING;
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    program->elements.items[i].layer = LUMOS_NO_LAYER;
    program->elements.items[i].part = 0;
  }
}

void lumos_pass_layers(struct lumos_program *program, struct lumos_pass *pass, uint32_t wanted) {
  forget_layers(program, pass);
  while (!find_layers(program, pass, wanted)) {
    lumos_program_preparations(program);
  }
  if (!multiplies(program, pass) || are_halves(program, pass) ||
      (pass->phase == LUMOS_OTHER_PHASE && is_repetition(program, pass))) {
    forget_layers(program, pass);
  }
}

void lumos_program_layers(struct lumos_program *program) {
  lumos_program_preparations(program);
  for (size_t i = 0; i < program->passes.count; i++) {
    struct lumos_pass *pass = &program->passes.items[i];
    if (pass->phase != LUMOS_OPTIMIZER_PHASE && pass->phase != LUMOS_WEIGHT && pass->evidence == LUMOS_BY_NOTHING) {
      lumos_pass_layers(program, pass, 0);
    }
  }
}
