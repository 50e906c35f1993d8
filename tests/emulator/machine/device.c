/* What runs on a device. A kernel has work left and a speed: when a transfer begins or ends beside it the speed
 * changes, and its end moves. All that makes a kernel longer or shorter than its description comes together in
 * kernel_time.
 */
#include "hardware.h"
#include "machine_state.h"

/* ---- how long ---- */

static const enum scaled kind_scales[WORK_KINDS] = {
    [WORK_GEMM] = SCALED_GEMM,           [WORK_ATTENTION] = SCALED_ATTENTION, [WORK_ELEMENTWISE] = SCALED_ELEMENTWISE,
    [WORK_NORM] = SCALED_NORM,           [WORK_REDUCTION] = SCALED_REDUCTION, [WORK_OPTIMIZER] = SCALED_OPTIMIZER,
    [WORK_EMBEDDING] = SCALED_EMBEDDING, [WORK_COPY_TO_DEVICE] = SCALED_COPY, [WORK_COPY_TO_HOST] = SCALED_COPY,
    [WORK_COPY_ON_DEVICE] = SCALED_COPY, [WORK_MEMSET] = SCALED_MEMSET};
static const enum scaled part_scales[PARTS] = {[PART_EMBEDDING] = SCALED_PART_EMBEDDING,
                                               [PART_LAYER] = SCALED,
                                               [PART_HEAD] = SCALED_PART_HEAD,
                                               [PART_OPTIMIZER] = SCALED_PART_OPTIMIZER,
                                               [PART_OTHER] = SCALED};
static const enum scaled collective_scales[COLLECTIVES] = {
    [ALL_REDUCE] = SCALED_ALL_REDUCE, [ALL_GATHER] = SCALED_ALL_GATHER, [REDUCE_SCATTER] = SCALED_REDUCE_SCATTER,
    [BROADCAST] = SCALED_BROADCAST,   [SEND_RECEIVE] = SCALED_P2P,      [ALL_TO_ALL] = SCALED_ALL_TO_ALL};

void device_scales(struct machine *machine) {
  const double *scale = machine->setup->scale;
  for (int kind = 0; kind < WORK_COLLECTIVE; kind++)
    for (int part = 0; part < PARTS; part++) {
      double of_part = part_scales[part] == SCALED ? 1 : scale[part_scales[part]];
      machine->scale[kind][part] = scale[SCALED_DEVICE] * scale[kind_scales[kind]] * of_part;
    }
  for (int collective = 0; collective < COLLECTIVES; collective++)
    machine->scale_transfer[collective] = scale[SCALED_COMMUNICATION] * scale[collective_scales[collective]];
}

static bool is_copy(const struct work *work) { return work->kind >= WORK_COPY_TO_DEVICE && work->kind <= WORK_MEMSET; }

static bool is_hot(const struct work *work) { return work->kind == WORK_GEMM || work->kind == WORK_ATTENTION; }

/* The heat follows the load of matrix products and attention. */
static void follow_heat(const struct machine *machine, struct device *device) {
  double passed = (double)(machine->now - device->heat_time);
  double target = device->hot ? 1 : 0;
  device->heat += passed / (passed + irregularities.throttle_time) * (target - device->heat);
  device->heat_time = machine->now;
}

/* A hot device lowers the clock of its SMs; what waits for memory does not notice. */
static double throttle(const struct machine *machine, const struct device *device, const struct work *work) {
  double from = irregularities.throttle_from;
  if (!has(machine, MECHANISM_THROTTLE) || !is_hot(work) || device->heat <= from)
    return 1;
  return 1 + irregularities.throttle_most * (device->heat - from) / (1 - from);
}

static double step_factor(const struct machine *machine, struct device *device, int step) {
  if (device->kernel_step != step) {
    device->kernel_step = step;
    device->kernel_step_factor = ratio(machine, MECHANISM_KERNEL_JITTER, &irregularities.kernel_step,
                                       chance_place(device->place, (uint64_t)step), CHANCE_KERNEL_STEP);
  }
  return device->kernel_step_factor;
}

/* ns at full speed. */
static double kernel_time(const struct machine *machine, struct device *device, const struct work *work,
                          const struct command *command) {
  double time = (double)work->duration * machine->scale[work->kind][command->label.part];
  const struct spread *spreads =
      work->duration < irregularities.short_kernel ? irregularities.kernel_short : irregularities.kernel_long;
  time *= ratio(machine, MECHANISM_KERNEL_JITTER, &spreads[work->kind], command->place, CHANCE_KERNEL);
  if (is_copy(work))
    return time;
  return time * device->kernel_factor * step_factor(machine, device, command->step) * throttle(machine, device, work);
}

/* How much longer it takes beside a transfer. */
static double contention(const struct machine *machine, const struct work *work, const struct command *command) {
  if (!has(machine, MECHANISM_CONTENTION))
    return 1;
  double share = 1;
  if (has(machine, MECHANISM_KERNEL_JITTER))
    share = spread_draw_wide(&irregularities.contention[work->kind], machine->setup->jitter, 0,
                             chance_place(command->place, CHANCE_CONTENTION));
  return 1 + machine->setup->contention_compute * share;
}

/* ---- kernels ---- */

static void settle(const struct machine *machine, struct stream_state *stream) {
  stream->left -= (double)(machine->now - stream->settled) * stream->rate;
  if (stream->left < 0)
    stream->left = 0;
  stream->settled = machine->now;
}

static void set_end(struct machine *machine, const struct device *device, struct stream_state *stream) {
  stream->rate = device->passage_count > 0 ? 1 / stream->slowdown : 1;
  if (stream->needs_sms && has(machine, MECHANISM_CONTENTION)) {
    int sms = machine->setup->gpu->sms;
    int held = device->held_sms < sms / 2 ? device->held_sms : sms / 2; /* kernels go on, however many communicate */
    stream->rate *= (double)(sms - held) / sms;
  }
  alarm_set(&machine->alarms, stream->actor, machine->now + whole_ns(stream->left / stream->rate));
}

/* Kernels that wait for SMs look again. */
static void look_for_room(struct machine *machine, struct device *device) {
  for (unsigned left = device->short_of_sms; left; left &= left - 1)
    alarm_set(&machine->alarms, device->streams[__builtin_ctz(left)].actor, machine->now);
}

void device_speed(struct machine *machine, struct device *device) {
  if (!has(machine, MECHANISM_CONTENTION))
    return;
  for (unsigned left = device->computing; left; left &= left - 1) {
    struct stream_state *stream = &device->streams[__builtin_ctz(left)];
    settle(machine, stream);
    set_end(machine, device, stream);
  }
  look_for_room(machine, device);
}

/* Copies have engines of their own. Memsets are kernels, which shows where SMs have a queue. */
static bool takes_sms(const struct machine *machine, const struct work *work) {
  return !is_copy(work) || (machine->setup->sm_queue && work->kind == WORK_MEMSET);
}

/* Blocks of communication wait for each other: with a queue they start together, once there is an SM for each. */
static bool fits_last_wave(const struct machine *machine, const struct stream_state *other, const struct work *work) {
  const struct work *running = &machine->catalogue.works[other->command.subject];
  return !machine->setup->sm_queue || running->free_sms >= (work->message ? work->grid[0] : 1);
}

/* When the kernels of other streams that fill the device will have come to their last waves: SMs become free. Where
 * they have a queue, all may be taken in the last wave still, and at its end the SMs go to the next kernel of that
 * stream, if there is one: whoever waits then stands behind that. */
static int64_t room_at(const struct machine *machine, struct device *device, const struct stream_state *stream,
                       const struct work *work) {
  int64_t at = machine->now;
  if (!has(machine, MECHANISM_FREE_SMS))
    return at;
  bool waits = device->short_of_sms & stream_bit(stream_number(device, stream));
  if (machine->setup->sm_queue && waits && device->turn > at)
    at = device->turn;
  for (unsigned left = device->filling; left; left &= left - 1) {
    struct stream_state *other = &device->streams[__builtin_ctz(left)];
    if (other == stream)
      continue;
    settle(machine, other);
    double until = (other->left - (fits_last_wave(machine, other, work) ? other->last_wave : 0)) / other->rate;
    int64_t free = machine->now + (until > 0 ? whole_ns(until) : 0);
    if (free > at)
      at = free;
  }
  return at;
}

static void start_kernel(struct machine *machine, struct device *device, struct stream_state *stream,
                         const struct work *work) {
  uint32_t bit = stream_bit(stream_number(device, stream));
  follow_heat(machine, device);
  stream->settled = machine->now;
  stream->left = kernel_time(machine, device, work, &stream->command);
  stream->last_wave = work->duration > 0 ? (double)work->last_wave * (stream->left / (double)work->duration) : 0;
  stream->slowdown = contention(machine, work, &stream->command);
  stream->needs_sms = is_hot(work);
  if (!device->computing)
    network_computes(machine, device, 1);
  device->computing |= bit;
  if (work->fills_device)
    device->filling |= bit;
  if (is_hot(work))
    device->hot |= bit;
  set_end(machine, device, stream);
}

static void end_kernel(struct machine *machine, struct device *device, const struct command *command, uint32_t bit) {
  follow_heat(machine, device);
  if (device->filling & bit)
    device->turn = machine->now + delay(machine, &irregularities.sm_turn, 0, command->place, CHANCE_TURN);
  device->computing &= ~bit;
  device->filling &= ~bit;
  device->hot &= ~bit;
  if (!device->computing)
    network_computes(machine, device, -1);
  look_for_room(machine, device);
}

/* A communication kernel keeps its SMs from the others even while it waits: each of its blocks holds one. */
static void hold_sms(struct machine *machine, struct device *device, const struct work *work, int sign) {
  device->held_sms += sign * work->grid[0];
  device_speed(machine, device);
}

/* ---- tasks ---- */

bool device_start(struct machine *machine, struct device *device, struct stream_state *stream) {
  const struct command *command = &stream->ring[stream->first];
  const struct work *work = &machine->catalogue.works[command->subject];
  uint32_t bit = stream_bit(stream_number(device, stream));
  if (takes_sms(machine, work)) {
    int64_t at = room_at(machine, device, stream, work);
    if (at > machine->now) {
      device->short_of_sms |= bit;
      alarm_set(&machine->alarms, stream->actor, at);
      return false;
    }
    device->short_of_sms &= ~bit;
  }
  activity_advance(machine, device);
  stream->running = true;
  stream->command = *command;
  stream->ready = stream->head_ready;
  stream->start = machine->now;
  if (work->message) {
    device->communicating |= bit;
    hold_sms(machine, device, work, 1);
    network_arrive(machine, device, stream, work);
  } else if (is_copy(work)) {
    device->copying |= bit;
    alarm_set(&machine->alarms, stream->actor,
              machine->now + whole_ns(kernel_time(machine, device, work, &stream->command)));
  } else {
    start_kernel(machine, device, stream, work);
  }
  return true;
}

static void tell(const struct machine *machine, const struct device *device, const struct stream_state *stream) {
  if (!machine->witness->device)
    return;
  const struct command *command = &stream->command;
  struct work work = machine->catalogue.works[command->subject];
  work.label = command->label;
  int64_t sequence = 0;
  if (work.message)
    sequence = work.message->collective == SEND_RECEIVE ? -1 : (int64_t)command->match;
  struct device_record record = {.rank = device->rank,
                                 .step = command->step,
                                 .stream = (enum stream)stream_number(device, stream),
                                 .correlation = command->correlation,
                                 .graph = command->graph,
                                 .node = command->node,
                                 .call_end = command->call_end,
                                 .ready = stream->ready,
                                 .start = stream->start,
                                 .end = machine->now,
                                 .op = command->op,
                                 .work = &work,
                                 .sequence = sequence};
  machine->witness->device(machine->witness->self, &record);
}

void device_end(struct machine *machine, struct device *device, struct stream_state *stream) {
  uint32_t bit = stream_bit(stream_number(device, stream));
  activity_advance(machine, device);
  if (device->computing & bit)
    end_kernel(machine, device, &stream->command, bit);
  if (device->communicating & bit)
    hold_sms(machine, device, &machine->catalogue.works[stream->command.subject], -1);
  device->communicating &= ~bit;
  device->waiting_group &= ~bit;
  device->waiting_pipeline &= ~bit;
  device->copying &= ~bit;
  stream->running = false;
  stream->last_end = machine->now;
  stream->last_correlation = stream->command.correlation;
  activity_task_end(machine, device, stream->command.step, machine->catalogue.works[stream->command.subject].flops);
  tell(machine, device, stream);
  stream_done(machine, device, stream);
}
