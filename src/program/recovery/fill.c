/* What says nothing of layers itself. A kernel that only adds up the parts of a product belongs to the product before
 * it; a copy to the layer that launched before and behind it; what hooks of fully sharded replicas launch before a
 * layer goes back to the layer behind them.
 */
#include "program/recovery/recovery.h"

static bool is_placed(const struct lumos_element *element) {
  return element->layer != LUMOS_NO_LAYER || element->part != 0;
}

static void fill_hooks(struct lumos_program *program, const struct lumos_pass *pass) {
  struct lumos_element *elements = program->elements.items;
  const struct lumos_element *behind = NULL; /* the nearest, of those that have a place */
  for (uint32_t i = pass->first + pass->count; i-- > pass->first;) {
    if (elements[i].apart) {
      continue;
    }
    if (is_placed(&elements[i])) {
      behind = &elements[i];
    } else if (behind != NULL && lumos_is_before_back(program, &elements[i])) {
      elements[i].layer = behind->layer;
      elements[i].part = behind->part;
    }
  }
}

static void fill_copies_and_sums(struct lumos_program *program, const struct lumos_pass *pass) {
  struct lumos_element *elements = program->elements.items;
  uint32_t end = pass->first + pass->count;
  for (uint32_t i = pass->first + 1; i < end; i++) {
    bool copies = lumos_is_copy(lumos_element_task(program, &elements[i])->kind);
    if (elements[i].apart || elements[i].layer != LUMOS_NO_LAYER || (elements[i].symbol != 0 && !copies)) {
      continue;
    }
    uint32_t behind = i + 1;
    while (behind < end &&
           (elements[behind].apart || lumos_is_copy(lumos_element_task(program, &elements[behind])->kind))) {
      behind++;
    }
    bool within = behind < end && elements[behind].layer == elements[i - 1].layer &&
                  elements[behind].part == elements[i - 1].part;
    if (!copies || within) {
      elements[i].layer = elements[i - 1].layer;
      elements[i].part = elements[i - 1].part;
    }
  }
}

void lumos_program_fill(struct lumos_program *program) {
  for (size_t p = 0; p < program->passes.count; p++) {
    const struct lumos_pass *pass = &program->passes.items[p];
    if (pass->layers > 0) {
      fill_hooks(program, pass);
      fill_copies_and_sums(program, pass);
    }
  }
}
