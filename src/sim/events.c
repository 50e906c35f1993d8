/* Which calls speak of the same event, settled once before the run. */
#include "sim/events.h"

#include <stdlib.h>

struct named_event {
  uint32_t rank, detail;
  lumos_string_id id;
};
LUMOS_VECTOR_TYPE(named_events, struct named_event);

static int by_rank_and_id(const void *left_item, const void *right_item) {
  const struct named_event *left = left_item, *right = right_item;
  return left->rank != right->rank ? LUMOS_ORDER(left->rank, right->rank)
         : left->id != right->id   ? LUMOS_ORDER(left->id, right->id)
                                   : LUMOS_ORDER(left->detail, right->detail);
}

/* Calls with a recorded event id: one slot an id. Returns how many slots. */
static uint32_t name_slots(struct lumos_events *events, const struct lumos_job *job, const uint32_t *calls,
                           uint32_t count) {
  struct named_events named = {0};
  for (uint32_t i = 0; i < count; i++) {
    const struct lumos_task *task = &job->tasks.items[calls[i]];
    if (task->detail != LUMOS_NONE && job->details.items[task->detail].event_id != LUMOS_NO_STRING) {
      struct named_event event = {lumos_rank_of(job, task), task->detail, job->details.items[task->detail].event_id};
      lumos_vector_push(&named, event);
    }
  }
  lumos_vector_sort(&named, by_rank_and_id);
  uint32_t slots = 0;
  for (size_t i = 0; i < named.count; i++) {
    const struct named_event *event = &named.items[i];
    slots += i == 0 || event->rank != event[-1].rank || event->id != event[-1].id;
    events->slot[event->detail] = slots - 1;
  }
  lumos_vector_free(&named);
  return slots;
}

/* A wait that names its record takes the record's event, and gives it its own id where it has one and the record has
 * none; where the record does not say on which stream it stands the wait does. */
static uint32_t follow_record(struct lumos_events *events, const struct lumos_job *job, const struct lumos_task *task,
                              uint32_t slots) {
  const struct lumos_wait *wait = &job->details.items[task->detail].wait;
  uint32_t record = job->tasks.items[wait->record].detail;
  if (record == LUMOS_NONE) {
    return slots;
  }
  if (events->slot[record] == LUMOS_NONE) {
    events->slot[record] = events->slot[task->detail] == LUMOS_NONE ? slots++ : events->slot[task->detail];
  }
  events->slot[task->detail] = events->slot[record];
  if (events->lane[record] == LUMOS_NONE) {
    events->lane[record] = wait->lane;
  }
  return slots;
}

void lumos_events_make(struct lumos_events *events, const struct lumos_job *job, const uint32_t *calls,
                       uint32_t count) {
  size_t details = job->details.count;
  events->slot = lumos_allocate(details * sizeof *events->slot);
  events->lane = lumos_allocate(details * sizeof *events->lane);
  for (size_t d = 0; d < details; d++) {
    events->slot[d] = LUMOS_NONE;
    events->lane[d] = job->details.items[d].event_lane;
  }
  uint32_t slots = name_slots(events, job, calls, count);
  for (int named = 1; named >= 0; named--) { /* waits with an id first: they know what the event is called */
    for (uint32_t i = 0; i < count; i++) {
      const struct lumos_task *task = &job->tasks.items[calls[i]];
      const struct lumos_detail *detail = task->detail == LUMOS_NONE ? NULL : &job->details.items[task->detail];
      bool follows = detail != NULL && detail->wait.on != 0 && detail->wait.record != LUMOS_NONE;
      if (follows && (detail->event_id != LUMOS_NO_STRING) == (named != 0)) {
        slots = follow_record(events, job, task, slots);
      }
    }
  }
  events->slots = slots;
}

void lumos_events_reset(struct lumos_events *events) {
  for (uint32_t slot = 0; slot < events->slots; slot++) {
    events->latest[slot] = events->waits[slot] = LUMOS_NONE;
  }
}

void lumos_events_free(struct lumos_events *events) {
  free(events->slot);
  free(events->lane);
}
