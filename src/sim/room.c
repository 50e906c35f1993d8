/* A kernel that was seen to wait for SMs (graph/resource.c) waits in a simulation while the other one's stream is
 * occupied when it is ready. */
#include "sim/room.h"

#include "graph/graph.h"
#include "graph/resource.h"
#include "sim/notes.h"

__extension__ typedef __int128 wide_integer;

static int64_t later(int64_t left, int64_t right) { return left > right ? left : right; }

int64_t lumos_room_lag(struct lumos_room room, int64_t length) {
  if (room.lag >= 0 || room.of <= 0 || length == room.of) {
    return room.lag;
  }
  wide_integer lag = (wide_integer)room.lag * length / room.of;
  return lag < -length ? -length : (int64_t)lag;
}

static bool occupies(const struct lumos_engine *engine, uint32_t n) {
  return lumos_occupies(&engine->job->tasks.items[engine->nodes[n]]);
}

/* Is it from the end of the kernel that runs more than TIMES as far to the last wave of the occupant as the task was
 * seen to wait, kernels taking what they took then? Who comes a little earlier than recorded waits for the same
 * kernel. */
static bool is_far(const struct lumos_engine *engine, uint32_t runs, const struct lumos_special *special) {
  enum { TIMES = 5 }; /* chosen: replays are then the same as without a limit */
  if (special->room_wait == LUMOS_ABSENT || runs >= special->occupant) {
    return false;
  }
  double between = engine->lengths_before[special->occupant + 1] - engine->lengths_before[runs + 1];
  return between + (double)special->room_lag > TIMES * (double)special->room_wait;
}

/* `runs`, the last task of the other stream that has started, runs when n is ready: n waits until that is over, or
 * where the one is reached that it was seen to wait for, or a later one, until its last wave makes room. Where that one
 * is too far, the one that runs makes room. */
static bool is_occupied(struct lumos_engine *engine, uint32_t n, uint32_t runs, const struct lumos_special *special,
                        struct lumos_look *look) {
  if (runs == LUMOS_NONE) {
    return false;
  }
  const struct lumos_task_state *other = &engine->states[runs];
  int64_t now = engine->states[n].start;
  uint32_t start = lumos_instant_of(engine->nodes[n], LUMOS_START),
           end = lumos_instant_of(engine->nodes[runs], LUMOS_END);
  lumos_note_unclear(engine, other->progress != LUMOS_ENDED || !occupies(engine, runs) || other->start > now);
  if (other->progress != LUMOS_ENDED || !occupies(engine, runs) || other->end <= now) {
    lumos_note_order(engine, end, start, 0, LUMOS_LINK_OVER);
    return false;
  }
  look->last = runs >= special->occupant || is_far(engine, runs, special);
  struct lumos_room room = {look->last ? special->room_lag : 0, special->room_of};
  look->until = other->end + lumos_room_lag(room, other->end - other->start);
  look->by = (struct lumos_binding){runs, LUMOS_HELD_BY_RESOURCE, LUMOS_END, LUMOS_INFERRED};
  if (engine->notes.order != NULL) {
    lumos_vector_push(&engine->notes.order->rooms, room);
  }
  lumos_note_order(engine, end, start, 0, LUMOS_LINK_ROOM);
  return true;
}

/* The next one there comes as good as now. One that may itself have to wait for SMs does not count: two would wait for
 * each other. */
static bool is_about_to_be(struct lumos_engine *engine, uint32_t n, uint32_t next, struct lumos_look *look) {
  if (next == LUMOS_NONE) {
    return false;
  }
  const struct lumos_task_state *other = &engine->states[next];
  int64_t now = engine->states[n].start;
  uint32_t start = lumos_instant_of(engine->nodes[n], LUMOS_START);
  bool waits = other->special != LUMOS_NONE;
  bool soon = other->progress == LUMOS_READY && other->start <= now + LUMOS_QUEUE_GAP;
  lumos_note_unclear(engine, soon && (waits || !occupies(engine, next)));
  if (!soon || waits || !occupies(engine, next)) {
    lumos_note_order(engine, lumos_instant_of(engine->nodes[next], LUMOS_END), start, 0, LUMOS_LINK_NO_ROOM);
    return false;
  }
  look->until = later(other->start, now) + 1; /* when it surely runs */
  look->by = (struct lumos_binding){next, LUMOS_HELD_BY_RESOURCE, LUMOS_START, LUMOS_INFERRED};
  lumos_note_order(engine, lumos_instant_of(engine->nodes[next], LUMOS_START), start, 1, LUMOS_LINK_NEXT);
  return true;
}

bool lumos_has_room(struct lumos_engine *engine, uint32_t n, const struct lumos_special *special,
                    struct lumos_look *look) {
  uint32_t l = engine->facts[special->occupant].lane;
  const struct lumos_lane_state *lane = &engine->lanes[l];
  uint32_t runs = lane->started == 0 ? LUMOS_NONE : lane->order.items[lane->started - 1];
  uint32_t next = lane->started == lane->order.count ? LUMOS_NONE : lane->order.items[lane->started];
  *look = (struct lumos_look){.last = false};
  lumos_note_unclear(engine, next == LUMOS_NONE ? lane->order.count < engine->job->lanes.items[l].task_count
                                                : engine->facts[next].own.lag < 0); /* may start before */
  return !is_occupied(engine, n, runs, special, look) && !is_about_to_be(engine, n, next, look);
}
