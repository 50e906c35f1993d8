/* What a device was busy with. Time is booked whenever what runs is about to change; a step's share is what was booked
 * between the ends of two steps' work. The sums are looked at whenever a task of a step ends, so that the last look is
 * the one at the step's end.
 */
#include "machine_state.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

static enum activity busy_with(const struct device *device) {
  if (device->computing)
    return device->communicating ? ACTIVITY_OVERLAPPED : ACTIVITY_COMPUTE;
  if (device->communicating & ~(device->waiting_group | device->waiting_pipeline))
    return ACTIVITY_TRANSFER;
  if (device->waiting_group)
    return ACTIVITY_WAITING;
  if (device->communicating)
    return ACTIVITY_BUBBLE;
  return device->copying ? ACTIVITY_COPY : ACTIVITY_IDLE;
}

void activity_advance(const struct machine *machine, struct device *device) {
  device->sums[busy_with(device)] += machine->now - device->summed_to;
  device->summed_to = machine->now;
}

static struct window *window_of(struct device *device, int step) {
  int place = step + 1;
  assert(place >= 0);
  if (place >= device->window_room) {
    int room = place + 1 > 2 * device->window_room ? place + 1 : 2 * device->window_room;
    device->windows = memory_grown(device->windows, (size_t)room, sizeof *device->windows);
    device->window_room = room;
  }
  while (device->window_count <= place)
    device->windows[device->window_count++] = (struct window){0};
  return &device->windows[place];
}

void activity_task_end(const struct machine *machine, struct device *device, int step, double flops) {
  assert(device->summed_to == machine->now);
  struct window *window = window_of(device, step);
  window->ran = true;
  window->end = machine->now;
  memcpy(window->sums, device->sums, sizeof window->sums);
  window->flops += flops;
}

void activity_mark(struct device *device, int step, int64_t time) {
  int before = device->threads[THREAD_MAIN].step;
  if (before >= 0)
    window_of(device, before)->host_end = time;
  if (step < 0)
    return;
  struct window *window = window_of(device, step);
  window->marked = true;
  window->host_start = time;
}

static void report(const struct machine *machine, const struct device *device) {
  struct window nothing = {0};
  const struct window *before = &nothing;
  for (int place = 0; place < device->window_count; place++) {
    const struct window *window = &device->windows[place];
    /* Work of an earlier step may end later: then this step ends with it. */
    const struct window *after = window->ran && window->end >= before->end ? window : before;
    if (window->marked) {
      struct step_record record = {.rank = device->rank,
                                   .step = place - 1,
                                   .start = before->end,
                                   .end = after->end,
                                   .flops = window->flops,
                                   .host_start = window->host_start,
                                   .host_end = window->host_end};
      int64_t sum = 0;
      for (int i = 0; i < ACTIVITIES; i++)
        sum += record.activity[i] = after->sums[i] - before->sums[i];
      assert(sum == record.end - record.start);
      (void)sum;
      machine->witness->step(machine->witness->self, &record);
    }
    before = after;
  }
}

void activity_report(const struct machine *machine) {
  if (machine->witness->step)
    for (int rank = 0; rank < machine->ranks; rank++)
      report(machine, &machine->devices[rank]);
}

void activity_free(struct device *device) { free(device->windows); }
