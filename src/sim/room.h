/* Waiting for SMs that kernels of another stream take. */
#ifndef LUMOS_SIM_ROOM_H
#define LUMOS_SIM_ROOM_H

#include "sim/engine.h"

/* What a look at the other stream says of a task for which there is no room. */
struct lumos_look {
  int64_t until; /* when to look again, or to start */
  struct lumos_binding by;
  bool last; /* then there is room */
};

/* Is there room for a node that is ready, and special for it was seen to wait for its occupant? Not: *look. */
bool lumos_has_room(struct lumos_engine *engine, uint32_t node, const struct lumos_special *special,
                    struct lumos_look *look);

/* The lag if it takes `length`: the last wave is the same share of it, at most all; what starts behind the end does so
 * as long behind it. */
int64_t lumos_room_lag(struct lumos_room room, int64_t length);

#endif
