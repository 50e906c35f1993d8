/* Weight gradients that a zero-bubble schedule puts off are computed in the order in which they were put off: those of
 * the head first, as many as the same micro-batch's pass back has products there, then layer by layer, the last layer
 * first. */
#include "program/recovery/recovery.h"

static const struct lumos_pass *backward_of(const struct lumos_program *program, const struct lumos_pass *weights) {
  for (const struct lumos_pass *pass = weights; pass-- > program->passes.items;) {
    if (pass->step != weights->step || pass->round != weights->round) {
      return NULL;
    }
    if (pass->phase == LUMOS_BACKWARD && pass->micro_batch == weights->micro_batch && pass->chunk == weights->chunk) {
      return pass;
    }
  }
  return NULL;
}

/* Products outside of layers, all of which must come before the first layer; LUMOS_NONE: they do not. */
static uint32_t count_of_head(const struct lumos_program *program, const struct lumos_pass *back) {
  uint32_t count = 0;
  bool layers = false;
  for (uint32_t i = back->first; i < back->first + back->count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    bool outside = element->layer == LUMOS_NO_LAYER;
    layers = layers || !outside;
    if (outside && lumos_is_product(program, element)) {
      if (layers) {
        return LUMOS_NONE;
      }
      count++;
    }
  }
  return count;
}

static uint32_t count_products(const struct lumos_program *program, const struct lumos_pass *pass) {
  uint32_t count = 0;
  for (uint32_t i = pass->first; i < pass->first + pass->count; i++) {
    count += lumos_is_product(program, &program->elements.items[i]);
  }
  return count;
}

void lumos_program_weights(struct lumos_program *program) {
  for (size_t p = 0; p < program->passes.count; p++) {
    const struct lumos_pass *weights = &program->passes.items[p];
    const struct lumos_pass *back = weights->phase == LUMOS_WEIGHT ? backward_of(program, weights) : NULL;
    uint32_t of_head = back == NULL ? LUMOS_NONE : count_of_head(program, back);
    uint32_t all = count_products(program, weights);
    if (of_head >= all || back->layers == 0 || (all - of_head) % back->layers != 0) {
      continue;
    }
    uint32_t each = (all - of_head) / back->layers, product = 0;
    for (uint32_t i = weights->first; i < weights->first + weights->count; i++) {
      struct lumos_element *element = &program->elements.items[i];
      if (element->apart) {
        continue;
      }
      product += lumos_is_product(program, element);
      bool ahead = product == 0 || lumos_is_communication(lumos_element_task(program, element)->kind);
      uint32_t of = product + (ahead && product < all); /* communication is for the next product */
      bool head = of <= of_head;
      element->part = head ? LUMOS_PART_HEAD : LUMOS_PART_LAYER;
      element->layer = head ? LUMOS_NO_LAYER : (int32_t)(back->layers - 1 - (of - of_head - 1) / each);
    }
  }
}
