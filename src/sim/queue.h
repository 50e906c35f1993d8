/* The simulator's queue: what happens next, a binary heap over at most a few events a lane.
 *
 * Earliest first. Events of one instant take turns, so that a wait sees everything up to and including its instant.
 * Then the earlier measured start (none is last), then the place among such ties (ties.h), where there are any, or the
 * id.
 */
#ifndef LUMOS_SIM_QUEUE_H
#define LUMOS_SIM_QUEUE_H

#include <lumos/job.h>

enum lumos_turn {
  LUMOS_TURN_EFFECT, /* a call's launches or its record become visible */
  LUMOS_TURN_WAIT,   /* a stream's wait becomes visible */
  LUMOS_TURN_COPY,   /* a blocking copy starts and becomes visible, after what its thread did before it */
  LUMOS_TURN_START,  /* a task starts */
  LUMOS_TURN_LOOK,   /* a call that waits starts, and sees what it waits for */
};

struct lumos_event {
  int64_t time;
  uint32_t node;   /* of the engine's */
  uint8_t turn;    /* enum lumos_turn */
  uint8_t earlier; /* it is of the task so many before the node: 0 or 1 */
};

struct lumos_queue {
  const struct lumos_job *job;
  const uint32_t *tasks; /* by node */
  const uint32_t *ties;  /* by task, or NULL */
  LUMOS_VECTOR(struct lumos_event) heap;
  bool taken; /* the first has been, and its place is kept for what comes next, as mostly something does at once */
};

void lumos_queue_empty(struct lumos_queue *queue);
/* Both O(log size). pop: the first; false: there is none. */
void lumos_queue_push(struct lumos_queue *queue, struct lumos_event event);
bool lumos_queue_pop(struct lumos_queue *queue, struct lumos_event *event);

#endif
