#include "sim/notes.h"

/* As it is noted: with an order by node. */
static uint32_t noted(const struct lumos_engine *engine, uint32_t instant) {
  uint32_t met = (uint32_t)(2 * engine->job->tasks.count);
  if (engine->notes.order == NULL || instant == LUMOS_NONE) {
    return instant;
  }
  return instant >= met ? instant - met + 2 * engine->node_count : 2 * engine->node_of[instant / 2] + instant % 2;
}

void lumos_links_add(struct lumos_engine *engine, uint32_t src, uint32_t dst, int64_t bound, enum lumos_link_of of) {
  struct lumos_bound link = {bound, noted(engine, src), noted(engine, dst), (uint8_t)of};
  lumos_vector_push(engine->notes.links, link);
}

void lumos_touches_add(struct lumos_engine *engine, uint32_t instant, uint32_t what) {
  lumos_vector_push(&engine->notes.order->touches, ((struct lumos_touch){what, noted(engine, instant)}));
}
