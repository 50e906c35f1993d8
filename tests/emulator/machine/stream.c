/* Streams: commands in the order in which they were enqueued. The first is looked at when all before it are done; a
 * record marks that the stream came this far, a wait holds the stream until the record that was the event's latest at
 * its call is reached.
 */
#include "machine_state.h"
#include <stdlib.h>

enum { FIRST_ROOM = 64 };

/* Edges are told of recorded ranks only. */
static inline bool edges_are_seen(const struct machine *machine, const struct device *device) {
  return device->recorded && machine->witness->edge;
}

/* ---- the ring ---- */

static inline struct command *head_of(const struct stream_state *stream) { return &stream->ring[stream->first]; }

/* When the first command is due as far as its launch and its own stream go. */
static int64_t head_due(const struct machine *machine, const struct stream_state *stream) {
  const struct command *head = head_of(stream);
  if (head->kind != COMMAND_TASK)
    return head->call_end;
  int64_t arrived = head->call_end + head->launch_delay;
  if (stream->last_correlation == 0)
    return arrived;
  int64_t free = stream->last_end + delay(machine, &irregularities.task_gap, 0, head->place, CHANCE_GAP);
  return arrived > free ? arrived : free;
}

static void grow(struct stream_state *stream) {
  uint32_t room = stream->room ? 2 * stream->room : FIRST_ROOM;
  struct command *ring = memory_new(room, sizeof *ring);
  for (uint32_t i = 0; i < stream->count; i++)
    ring[i] = stream->ring[(stream->first + i) & (stream->room - 1)];
  free(stream->ring);
  stream->ring = ring;
  stream->first = 0;
  stream->room = room;
}

void stream_push(struct machine *machine, struct stream_state *stream, const struct command *command) {
  if (stream->count == stream->room)
    grow(stream);
  stream->ring[(stream->first + stream->count) & (stream->room - 1)] = *command;
  stream->pushed++;
  stream->queued += command->kind == COMMAND_TASK;
  if (stream->count++ > 0 || stream->running)
    return;
  stream->head_time = head_due(machine, stream);
  alarm_set(&machine->alarms, stream->actor, stream->head_time);
}

static void pop(struct stream_state *stream) {
  stream->first = (stream->first + 1) & (stream->room - 1);
  stream->count--;
  stream->head_time = stream->head_ready = -1;
  stream->held = false;
}

/* Threads that wait for room in the stream's queue, or until its commands are done. */
static void wake_threads(struct machine *machine, struct device *device, const struct stream_state *stream) {
  int number = stream_number(device, stream);
  if (!(device->awaited & stream_bit(number)))
    return;
  bool awaited = false;
  for (int i = 0; i < THREADS; i++) {
    struct thread_state *thread = &device->threads[i];
    if (thread->waiting_stream != number || (thread->waiting != WAITING_QUEUE && thread->waiting != WAITING_STREAM))
      continue;
    bool goes_on = thread->waiting == WAITING_QUEUE ? stream->queued < (uint32_t)machine->setup->queue_depth
                                                    : stream->done >= thread->waiting_count;
    if (goes_on)
      thread_wake(machine, thread, machine->now);
    else
      awaited = true;
  }
  if (!awaited)
    device->awaited &= ~stream_bit(number);
}

void stream_done(struct machine *machine, struct device *device, struct stream_state *stream) {
  stream->done++;
  wake_threads(machine, device, stream);
}

/* ---- records of events ---- */

uint32_t stamp_new(struct machine *machine, enum stream stream, uint32_t correlation) {
  uint32_t index = machine->free_stamps;
  if (index != NOBODY) {
    machine->free_stamps = machine->stamps[index].next_free;
  } else {
    if (machine->stamp_count == machine->stamp_room) {
      machine->stamp_room = machine->stamp_room ? 2 * machine->stamp_room : 1024;
      machine->stamps = memory_grown(machine->stamps, machine->stamp_room, sizeof *machine->stamps);
    }
    index = machine->stamp_count++;
  }
  struct stamp *stamp = &machine->stamps[index];
  stamp->reached = false;
  stamp->stream = (uint8_t)stream;
  stamp->sources = stamp->decided = 0;
  stamp->correlation = correlation;
  stamp->users = 1;
  stamp->waiters = NOBODY;
  return index;
}

void stamp_use(struct machine *machine, uint32_t stamp) { machine->stamps[stamp].users++; }

void stamp_leave(struct machine *machine, uint32_t stamp) {
  if (--machine->stamps[stamp].users > 0)
    return;
  machine->stamps[stamp].next_free = machine->free_stamps;
  machine->free_stamps = stamp;
}

void stamp_await(struct machine *machine, uint32_t stamp, uint32_t actor) {
  machine->next_waiter[actor] = machine->stamps[stamp].waiters;
  machine->stamps[stamp].waiters = actor;
}

/* From the record to the end of a wait for it. To NCCL's own stream and back is no longer than to another: in traces
 * its kernels follow each other as those of other streams do. Within a graph it is an edge, and no event. */
static int64_t event_delay(const struct machine *machine, const struct device *device,
                           const struct stream_state *stream) {
  if (stream_number(device, stream) >= WORKING_STREAMS)
    return 0;
  const struct spread *spread = head_of(stream)->captured ? &irregularities.graph_edge : &irregularities.event_delay;
  return delay(machine, spread, 0, head_of(stream)->place, CHANCE_EVENT);
}

static void wake_waiters(struct machine *machine, struct stamp *stamp) {
  while (stamp->waiters != NOBODY) {
    uint32_t actor = stamp->waiters;
    struct device *device;
    stamp->waiters = machine->next_waiter[actor];
    if (actor < machine->first_stream) {
      device = &machine->devices[actor / THREADS];
      thread_wake(machine, &device->threads[actor % THREADS], machine->now);
      continue;
    }
    struct stream_state *stream = machine_stream(machine, actor, &device);
    stream->head_time = machine->now + event_delay(machine, device, stream);
    alarm_set(&machine->alarms, actor, stream->head_time);
  }
}

/* The record stands behind the stream's last task, and behind what the stream has waited for since. */
static void note_sources(const struct machine *machine, const struct device *device, const struct stream_state *stream,
                         struct stamp *stamp) {
  const struct behind *behind = &stream->behind;
  int own = stream_number(device, stream);
  if (!edges_are_seen(machine, device))
    return;
  for (unsigned left = behind->sources; left; left &= left - 1) {
    int source = __builtin_ctz(left);
    stamp->from[source] = behind->from[source];
    stamp->sources |= stream_bit(source);
    if (behind->passed[source] == machine->now)
      stamp->decided |= stream_bit(source);
  }
  if (stream->last_correlation == 0)
    return;
  stamp->from[own] = stream->last_correlation;
  stamp->sources |= stream_bit(own);
  if (stream->last_end == machine->now)
    stamp->decided |= stream_bit(own);
}

static void reach_record(struct machine *machine, struct device *device, struct stream_state *stream) {
  uint32_t index = head_of(stream)->subject;
  struct stamp *stamp = &machine->stamps[index];
  stamp->reached = true;
  if (device->recorded && machine->witness->reach && stamp->correlation != 0)
    machine->witness->reach(machine->witness->self, device->rank, (enum stream)stamp->stream, stamp->correlation,
                            machine->now);
  note_sources(machine, device, stream, stamp);
  wake_waiters(machine, stamp);
  pop(stream);
  stamp_leave(machine, index);
  stream_done(machine, device, stream);
}

/* ---- waits for events ---- */

/* The tasks that the record stood behind are those that the next task stands behind; of two of one stream, the
 * later. */
static void stand_behind(struct stream_state *stream, int own, const struct stamp *stamp, int64_t now) {
  struct behind *behind = &stream->behind;
  for (unsigned left = (unsigned)stamp->sources & ~(1U << own); left; left &= left - 1) {
    int source = __builtin_ctz(left);
    bool known = behind->sources & stream_bit(source);
    if (known && behind->from[source] > stamp->from[source])
      continue;
    if (!known || behind->from[source] < stamp->from[source])
      behind->passed[source] = -1;
    if (stream->held && (stamp->decided & stream_bit(source)))
      behind->passed[source] = now;
    behind->from[source] = stamp->from[source];
    behind->sources |= stream_bit(source);
  }
}

/* False: the stream is held. */
static bool pass_wait(struct machine *machine, struct device *device, struct stream_state *stream) {
  uint32_t index = head_of(stream)->subject;
  if (!machine->stamps[index].reached) {
    stream->held = true;
    stamp_await(machine, index, stream->actor);
    return false;
  }
  if (edges_are_seen(machine, device))
    stand_behind(stream, stream_number(device, stream), &machine->stamps[index], machine->now);
  pop(stream);
  stamp_leave(machine, index);
  stream_done(machine, device, stream);
  return true;
}

/* The task that starts has its edges: a wait decided if the task would have been ready earlier without it. */
static void tell_edges(const struct machine *machine, const struct device *device, struct stream_state *stream,
                       int64_t due_without, int64_t ready) {
  struct behind *behind = &stream->behind;
  for (unsigned left = behind->sources; left; left &= left - 1) {
    int source = __builtin_ctz(left);
    struct edge_record record = {.rank = device->rank,
                                 .from = behind->from[source],
                                 .to = stream->command.correlation,
                                 .binding = behind->passed[source] == ready && due_without < ready};
    machine->witness->edge(machine->witness->self, &record);
  }
  behind->sources = 0;
}

static bool start_task(struct machine *machine, struct device *device, struct stream_state *stream) {
  if (stream->head_ready < 0)
    stream->head_ready = machine->now; /* it may have to wait for SMs all the same */
  if (!device_start(machine, device, stream))
    return false;
  int64_t due = stream->head_time, ready = stream->head_ready;
  pop(stream);
  stream->queued--;
  tell_edges(machine, device, stream, due, ready);
  wake_threads(machine, device, stream);
  return true;
}

void stream_run(struct machine *machine, struct device *device, struct stream_state *stream) {
  while (!stream->running && stream->count > 0 && !machine->failed) {
    if (stream->head_time < 0)
      stream->head_time = head_due(machine, stream);
    if (stream->head_time > machine->now) {
      alarm_set(&machine->alarms, stream->actor, stream->head_time);
      return;
    }
    switch ((enum command_kind)head_of(stream)->kind) {
      case COMMAND_RECORD:
        reach_record(machine, device, stream);
        break;
      case COMMAND_WAIT:
        if (!pass_wait(machine, device, stream))
          return;
        break;
      case COMMAND_TASK:
        if (!start_task(machine, device, stream))
          return;
        break;
    }
  }
}
