/* The queue of times: a heap of four children a node, ordered by time, then by actor. The heap holds the times
 * themselves, so that comparing children reads one line of the cache.
 */
#include "machine_state.h"
#include <stdlib.h>

enum { CHILDREN = 4 };

static inline bool earlier(struct alarm a, struct alarm b) {
  return a.time != b.time ? a.time < b.time : a.actor < b.actor;
}

static inline void put(struct alarms *alarms, uint32_t place, struct alarm alarm) {
  alarms->heap[place] = alarm;
  alarms->place[alarm.actor] = place;
}

static void rise(struct alarms *alarms, uint32_t place, struct alarm alarm) {
  while (place > 0) {
    uint32_t parent = (place - 1) / CHILDREN;
    if (!earlier(alarm, alarms->heap[parent]))
      break;
    put(alarms, place, alarms->heap[parent]);
    place = parent;
  }
  put(alarms, place, alarm);
}

static void sink(struct alarms *alarms, uint32_t place, struct alarm alarm) {
  for (;;) {
    uint32_t first = place * CHILDREN + 1, least = first;
    if (first >= alarms->count)
      break;
    for (uint32_t child = first + 1; child < first + CHILDREN && child < alarms->count; child++)
      if (earlier(alarms->heap[child], alarms->heap[least]))
        least = child;
    if (!earlier(alarms->heap[least], alarm))
      break;
    put(alarms, place, alarms->heap[least]);
    place = least;
  }
  put(alarms, place, alarm);
}

void alarms_add(struct alarms *alarms, uint32_t actors) {
  if (alarms->actors + actors > alarms->room) {
    uint32_t room = alarms->room + actors > 2 * alarms->room ? alarms->room + actors : 2 * alarms->room;
    alarms->heap = memory_grown(alarms->heap, room, sizeof *alarms->heap);
    alarms->place = memory_grown(alarms->place, room, sizeof *alarms->place);
    alarms->room = room;
  }
  for (uint32_t i = 0; i < actors; i++)
    alarms->place[alarms->actors + i] = NOBODY;
  alarms->actors += actors;
}

void alarms_free(struct alarms *alarms) {
  free(alarms->heap);
  free(alarms->place);
}

void alarm_set(struct alarms *alarms, uint32_t actor, int64_t time) {
  struct alarm alarm = {time, actor};
  uint32_t place = alarms->place[actor];
  alarms->set_anew |= actor == alarms->ringing;
  if (place == NOBODY)
    rise(alarms, alarms->count++, alarm);
  else if (time < alarms->heap[place].time)
    rise(alarms, place, alarm);
  else
    sink(alarms, place, alarm);
}

void alarm_off(struct alarms *alarms, uint32_t actor) {
  uint32_t place = alarms->place[actor];
  if (place == NOBODY)
    return;
  alarms->place[actor] = NOBODY;
  struct alarm last = alarms->heap[--alarms->count];
  if (place == alarms->count)
    return;
  if (place > 0 && earlier(last, alarms->heap[(place - 1) / CHILDREN]))
    rise(alarms, place, last);
  else
    sink(alarms, place, last);
}

bool alarms_next(struct alarms *alarms, struct alarm *next) {
  if (alarms->ringing != NOBODY && !alarms->set_anew)
    alarm_off(alarms, alarms->ringing);
  alarms->set_anew = false;
  alarms->ringing = NOBODY;
  if (alarms->count == 0)
    return false;
  *next = alarms->heap[0];
  alarms->ringing = next->actor;
  return true;
}
