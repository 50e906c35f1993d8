/* What a run notes for others: what bounds what and, for a retiming, in which order it reads and changes what. Mostly
 * nobody asks. */
#ifndef LUMOS_SIM_NOTES_H
#define LUMOS_SIM_NOTES_H

#include "sim/engine.h"

/* Its own; with an order links tell nodes in place of tasks, which notes.c sees to. */
static inline uint32_t lumos_instant_of(uint32_t task, enum lumos_end end) { return 2 * task + (end == LUMOS_END); }

/* Asked for or not. */
void lumos_links_add(struct lumos_engine *engine, uint32_t src, uint32_t dst, int64_t bound, enum lumos_link_of of);
void lumos_touches_add(struct lumos_engine *engine, uint32_t instant, uint32_t what);

static inline void lumos_note_link(struct lumos_engine *engine, uint32_t src, uint32_t dst, int64_t bound,
                                   enum lumos_link_of of) {
  if (engine->notes.links != NULL) {
    lumos_links_add(engine, src, dst, bound, of);
  }
}

/* What is of interest only with an order. */
static inline void lumos_note_order(struct lumos_engine *engine, uint32_t src, uint32_t dst, int64_t bound,
                                    enum lumos_link_of of) {
  if (engine->notes.order != NULL) {
    lumos_note_link(engine, src, dst, bound, of);
  }
}

static inline void lumos_note_transfer(struct lumos_engine *engine, uint32_t src, uint32_t dst, int64_t bound,
                                       uint32_t collective) {
  if (engine->notes.order != NULL) {
    lumos_vector_push(&engine->notes.order->transfers, collective);
  }
  lumos_note_link(engine, src, dst, bound, LUMOS_LINK_TRANSFER);
}

/* A call reads or changes a lane or, behind all lanes, an event; LUMOS_NONE: there is no such. */
static inline void lumos_note_touch(struct lumos_engine *engine, uint32_t instant, uint32_t what) {
  if (engine->notes.order != NULL && instant != LUMOS_NONE && what != LUMOS_NONE) {
    lumos_touches_add(engine, instant, what);
  }
}

static inline void lumos_note_event(struct lumos_engine *engine, uint32_t instant, uint32_t slot) {
  lumos_note_touch(engine, instant, slot == LUMOS_NONE ? LUMOS_NONE : (uint32_t)engine->job->lanes.count + slot);
}

static inline void lumos_note_unclear(const struct lumos_engine *engine, bool unclear) {
  if (engine->notes.order != NULL && unclear) {
    engine->notes.order->unclear = true;
  }
}

#endif
