/* CUDA events while the simulation runs: a wait binds to the latest record of its event.
 *
 * What names an event is its recorded id within the rank; a record that only a wait's `record` points at is an event of
 * its own. Every call that records or awaits an event gets a slot; the slot holds what the latest record preceded.
 * What its stream waited for by then, and nothing had followed, is awaited with it.
 */
#ifndef LUMOS_SIM_EVENTS_H
#define LUMOS_SIM_EVENTS_H

#include <lumos/job.h>

struct lumos_events {
  uint32_t *slot;   /* by detail: the event that the call records or awaits, or LUMOS_NONE */
  uint32_t *lane;   /* by detail: the stream that a record stands on, or LUMOS_NONE */
  uint32_t *latest; /* by slot: the last task on that stream at the latest record; LUMOS_NONE: none */
  uint32_t *waits;  /* by slot: that stream's waits behind it by then, a list of the engine's, or LUMOS_NONE */
  uint32_t slots;
};

/* `calls`: tasks, among them all that record, await or wait; ascending. O(details + calls + event calls log event
 * calls). */
void lumos_events_make(struct lumos_events *events, const struct lumos_job *job, const uint32_t *calls, uint32_t count);
/* Nothing has been recorded yet. */
void lumos_events_reset(struct lumos_events *events);
/* But `latest` and `waits`: what runs change is the engine's to free. */
void lumos_events_free(struct lumos_events *events);

#endif
