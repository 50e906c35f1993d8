/* Copies, and kernels that only add up the parts of a product, say nothing of layers themselves. What adds up parts
 * belongs to the product before it; a copy to the layer that launched before and behind it. */
#include "program/recovery/recovery.h"

void lumos_program_fill(struct lumos_program *program) {
  struct lumos_element *elements = program->elements.items;
  for (size_t p = 0; p < program->passes.count; p++) {
    const struct lumos_pass *pass = &program->passes.items[p];
    uint32_t end = pass->first + pass->count;
    for (uint32_t i = pass->first + 1; i < end && pass->layers > 0; i++) {
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
}
