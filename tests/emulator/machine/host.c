/* Threads: each carries out its block's instructions, one after the other, in its own time. It runs ahead of the
 * devices, but never of its rank's other thread, so that what both do comes about in order; what it waits for wakes it.
 */
#include "machine_state.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* How far a thread runs ahead at once. Any length gives the same times; a longer one finds more of the rank's data in
 * the cache. */
enum { AHEAD = 1000000 };

void thread_start(struct machine *machine, struct device *device, enum thread which) {
  struct thread_state *thread = &device->threads[which];
  thread->actor = (uint32_t)(device->rank * THREADS + (int)which);
  thread->thread = (uint8_t)which;
  thread->step = -1;
  thread->place = chance_place(device->place, which);
  thread->pace = device->host_factor;
  thread->cost = 1;
  thread->waiting = WAITING_JOB;
  if (which == THREAD_MAIN)
    thread_wake(machine, thread, 0);
}

void thread_free(struct thread_state *thread) {
  program_free(&thread->block);
  free(thread->frames);
}

void thread_wake(struct machine *machine, struct thread_state *thread, int64_t time) {
  thread->waiting = WAITING_NOT;
  thread->awaited_until = time;
  alarm_set(&machine->alarms, thread->actor, thread->time > time ? thread->time : time);
}

/* ---- irregular time ---- */

/* Slow stretches and slow steps: host work that follows itself is slow or quick together. */
static void set_pace(const struct machine *machine, const struct device *device, struct thread_state *thread) {
  uint64_t stretch = chance_place(thread->place, (uint64_t)(thread->instructions / irregularities.stretch_length));
  uint64_t step = chance_place(device->place, (uint64_t)thread->step);
  thread->pace = device->host_factor;
  thread->pace *= ratio(machine, MECHANISM_HOST_JITTER, &irregularities.host_stretch, stretch, CHANCE_STRETCH);
  thread->pace *= ratio(machine, MECHANISM_HOST_JITTER, &irregularities.host_step, step, CHANCE_STEP);
}

/* Ops differ far more than nominal times say: each name has a cost of its own, the same in every job. */
static double cost_of(const struct machine *machine, const char *name) {
  uint64_t place = 0;
  for (const char *at = name; *at != '\0'; at++)
    place = (place ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
  return ratio(machine, MECHANISM_HOST_JITTER, &irregularities.op_cost, chance_place(0, place), CHANCE_OP);
}

static uint64_t instruction_place(const struct thread_state *thread) {
  return chance_place(thread->place, (uint64_t)thread->instructions);
}

/* A stall, on average one in pause_interval. */
static int64_t pause(const struct machine *machine, double spent, uint64_t place) {
  double chance = spent * machine->setup->jitter / irregularities.pause_interval;
  if (chance_uniform(chance_place(place, CHANCE_PAUSE)) >= chance)
    return 0;
  return whole_ns(spread_draw(&irregularities.pause, chance_place(place, CHANCE_PAUSE_LENGTH)));
}

static int64_t spent(const struct machine *machine, const struct thread_state *thread, int64_t nominal) {
  if (!has(machine, MECHANISM_HOST))
    return 0;
  double time = (double)nominal * thread->pace * thread->cost;
  if (!has(machine, MECHANISM_HOST_JITTER))
    return whole_ns(time);
  uint64_t place = instruction_place(thread);
  time *= ratio(machine, MECHANISM_HOST_JITTER, &irregularities.host_ratio, place, CHANCE_HOST);
  return whole_ns(time) + pause(machine, time, place);
}

static int64_t irregular_host(const struct machine *machine, const struct thread_state *thread,
                              const struct spread *spread, enum chance chance) {
  if (!has(machine, MECHANISM_HOST))
    return 0;
  double time = spread_median(spread);
  if (has(machine, MECHANISM_HOST_JITTER))
    time = spread_draw_wide(spread, machine->setup->jitter, spread->at[0] / 2,
                            chance_place(instruction_place(thread), chance));
  return whole_ns(time * thread->pace);
}

static int64_t profiler_time(const struct machine *machine, const struct device *device,
                             const struct thread_state *thread, int64_t time) {
  if (!device->profiling || !has(machine, MECHANISM_PROFILER) || !has(machine, MECHANISM_HOST))
    return 0;
  return whole_ns((double)time * ratio(machine, MECHANISM_HOST_JITTER, &irregularities.profiled_ratio,
                                       instruction_place(thread), CHANCE_PROFILER));
}

/* The same of a frame of Python, of which many follow each other without an instruction between. */
static int64_t python_time(const struct machine *machine, const struct device *device,
                           const struct thread_state *thread, int64_t time, int64_t frame) {
  if (!device->profiling || !has(machine, MECHANISM_PROFILER) || !has(machine, MECHANISM_HOST))
    return 0;
  uint64_t place = chance_place(instruction_place(thread), (uint64_t)frame);
  return whole_ns((double)time *
                  ratio(machine, MECHANISM_HOST_JITTER, &irregularities.profiled_ratio, place, CHANCE_PROFILER));
}

/* ---- frames ---- */

static bool is_python(int frame) { return frame == FRAME_PYTHON || frame == FRAME_MODULE; }

static const struct frame_open *innermost(const struct thread_state *thread) {
  return thread->depth > 0 ? &thread->frames[thread->depth - 1] : NULL;
}

static bool is_seen(const struct machine *machine, const struct device *device) {
  return device->recorded && machine->witness->host;
}

static void enter(struct machine *machine, struct device *device, struct thread_state *thread,
                  const struct instruction *instruction) {
  if (thread->depth == thread->frame_room) {
    thread->frame_room = thread->frame_room ? 2 * thread->frame_room : 16;
    thread->frames = memory_grown(thread->frames, thread->frame_room, sizeof *thread->frames);
  }
  bool python = is_python(instruction->frame);
  int64_t number = ++device->frames;
  thread->time += python ? python_time(machine, device, thread, irregularities.profiled_python_begin, number)
                         : profiler_time(machine, device, thread, irregularities.profiled_frame_begin);
  const struct frame_open *around = innermost(thread);
  struct frame_open *frame = &thread->frames[thread->depth++];
  frame->start = thread->time;
  if (python)
    thread->time += python_time(machine, device, thread, irregularities.profiled_python_inside, number);
  frame->number = number;
  frame->parent = around ? around->number : 0;
  frame->op = instruction->frame == FRAME_OP ? frame->number : around ? around->op : 0;
  frame->name = instruction->name;
  frame->step = thread->step;
  frame->frame = instruction->frame;
  frame->has_facts = instruction->frame == FRAME_OP || instruction->of.facts.message;
  if (instruction->frame == FRAME_OP)
    thread->cost = cost_of(machine, instruction->name);
  frame->cost = thread->cost;
  if (!is_seen(machine, device))
    return;
  /* The block may be gone before the frame ends. */
  frame->facts = instruction->of.facts;
  if (frame->facts.message)
    frame->message = *frame->facts.message;
}

static void leave(struct machine *machine, struct device *device, struct thread_state *thread) {
  if (thread->depth == 0) {
    machine_fail(machine, "rank %d: a frame ends that has not begun", device->rank);
    return;
  }
  struct frame_open *frame = &thread->frames[--thread->depth];
  if (is_seen(machine, device)) {
    if (frame->facts.message)
      frame->facts.message = &frame->message;
    struct host_record record = {.rank = device->rank,
                                 .step = frame->step,
                                 .thread = (enum thread)thread->thread,
                                 .frame = (enum frame)frame->frame,
                                 .name = frame->name,
                                 .start = frame->start,
                                 .end = thread->time,
                                 .number = frame->number,
                                 .parent = frame->parent,
                                 .facts = frame->has_facts ? &frame->facts : NULL};
    machine->witness->host(machine->witness->self, &record);
  }
  if (frame->frame == FRAME_OP && thread->depth > 0)
    thread->cost = innermost(thread)->cost;
  thread->time += is_python(frame->frame)
                      ? python_time(machine, device, thread, irregularities.profiled_python_end, frame->number)
                      : profiler_time(machine, device, thread, irregularities.profiled_frame_end);
}

/* What another process does takes no host time, however slow the host is. Drawn by the step: a wait takes no place, so
 * that nothing else draws other chances where there is one. */
static void sleep_through(struct machine *machine, struct device *device, struct thread_state *thread,
                          const struct instruction *instruction) {
  uint64_t place = chance_place(device->place, (uint64_t)thread->step);
  enter(machine, device, thread, instruction);
  thread->time += whole_ns((double)instruction->time *
                           ratio(machine, MECHANISM_HOST_JITTER, &irregularities.sleep, place, CHANCE_SLEEP));
  leave(machine, device, thread);
}

/* ---- calls ---- */

/* A thread that has to wait in a call comes here again: the call began the first time. */
static void call_begin(struct device *device, struct thread_state *thread) {
  if (thread->begun)
    return;
  thread->begun = true;
  thread->call_start = thread->awaited_until = thread->time;
  thread->correlation = ++device->calls;
}

static int64_t call_length(const struct machine *machine, const struct thread_state *thread, enum call call) {
  return irregular_host(machine, thread, &irregularities.call[call], CHANCE_HOST);
}

/* Ends at `end`. What is special about the call stands in `record`. */
static void call_over(struct machine *machine, struct device *device, struct thread_state *thread, int64_t end,
                      struct host_record record) {
  thread->begun = false;
  thread->time = end;
  if (is_seen(machine, device)) {
    const struct frame_open *around = innermost(thread);
    record.rank = device->rank;
    record.step = thread->step;
    record.thread = (enum thread)thread->thread;
    record.is_call = true;
    record.start = thread->call_start;
    record.end = end;
    record.number = around ? around->op : 0;
    record.parent = around ? around->number : 0;
    record.correlation = thread->correlation;
    machine->witness->host(machine->witness->self, &record);
  }
  thread->time += profiler_time(machine, device, thread, irregularities.profiled_call);
}

static void wait_for(struct thread_state *thread, enum waiting waiting) { thread->waiting = (uint8_t)waiting; }

/* False: the stream holds all the launches that it can, and the thread waits. */
static bool has_room(const struct machine *machine, struct device *device, struct thread_state *thread, int stream) {
  if (!has(machine, MECHANISM_LAUNCH_QUEUE) || device->streams[stream].queued < (uint32_t)machine->setup->queue_depth)
    return true;
  wait_for(thread, WAITING_QUEUE);
  thread->waiting_stream = (uint8_t)stream;
  device->awaited |= stream_bit(stream);
  return false;
}

/* True once the commands that the stream held when the call began are done. */
static bool stream_is_done(struct device *device, struct thread_state *thread, int stream) {
  if (device->streams[stream].done >= thread->goals[stream])
    return true;
  wait_for(thread, WAITING_STREAM);
  thread->waiting_stream = (uint8_t)stream;
  thread->waiting_count = thread->goals[stream];
  device->awaited |= stream_bit(stream);
  return false;
}

/* ---- copies that pass through their calls ---- */

static bool is_staged(const struct machine *machine, const struct work *work) {
  return machine->setup->pageable && (work->kind == WORK_COPY_TO_DEVICE || work->kind == WORK_COPY_TO_HOST);
}

/* Now and then what the call waits for before it may read the memory, which the device does not see, takes long. */
static int64_t staging(const struct machine *machine, const struct thread_state *thread) {
  uint64_t place = chance_place(instruction_place(thread), CHANCE_IS_STAGING);
  if (!has(machine, MECHANISM_HOST_JITTER) || chance_uniform(place) >= irregularities.staging_share)
    return 0;
  return irregular_host(machine, thread, &irregularities.staging, CHANCE_STAGING);
}

static void enqueue_staged(struct machine *machine, struct device *device, struct thread_state *thread,
                           const struct instruction *instruction, const struct work *work) {
  struct stream_state *stream = &device->streams[instruction->stream];
  const struct frame_open *around = innermost(thread);
  uint64_t place = instruction_place(thread);
  struct command command = {
      .call_end = thread->awaited_until + call_length(machine, thread, CALL_MEMCPY),
      .place = place,
      .launch_delay = (int32_t)delay(machine, &irregularities.staged, 0, place, CHANCE_LAUNCH),
      .correlation = thread->correlation,
      .subject = catalogue_add(&machine->catalogue, work),
      .op = around ? (uint32_t)around->op : 0,
      .step = thread->step,
      .kind = COMMAND_TASK,
      .label = work->label,
  };
  stream_push(machine, stream, &command);
  thread->goals[instruction->stream] = stream->pushed;
  thread->copying = true;
}

/* The device begins as soon as if the call took no longer than others do. To the host it copies while the call
 * lasts. */
static bool copy_staged(struct machine *machine, struct device *device, struct thread_state *thread,
                        const struct instruction *instruction, const struct work *work) {
  call_begin(device, thread);
  if (!thread->copying) {
    if (!has_room(machine, device, thread, instruction->stream))
      return false;
    enqueue_staged(machine, device, thread, instruction, work);
  }
  bool to_host = work->kind == WORK_COPY_TO_HOST;
  if (to_host && !stream_is_done(device, thread, instruction->stream))
    return false;
  thread->copying = false;
  int64_t end = thread->call_start + call_length(machine, thread, CALL_MEMCPY) + staging(machine, thread),
          back = thread->awaited_until;
  if (to_host)
    back += delay(machine, &irregularities.sync_return, 0, instruction_place(thread), CHANCE_SYNC);
  call_over(machine, device, thread, end > back ? end : back,
            (struct host_record){.call = (enum call)instruction->call, .stream = (enum stream)instruction->stream});
  return true;
}

/* ---- launches ---- */

static bool launch(struct machine *machine, struct device *device, struct thread_state *thread,
                   const struct instruction *instruction) {
  struct stream_state *stream = &device->streams[instruction->stream];
  const struct work *work = &thread->block.works[instruction->of.work];
  if (is_staged(machine, work))
    return copy_staged(machine, device, thread, instruction, work);
  call_begin(device, thread);
  if (!has_room(machine, device, thread, instruction->stream))
    return false;
  enum call call = (enum call)instruction->call;
  int64_t begin = thread->awaited_until > thread->call_start ? thread->awaited_until : thread->call_start;
  int64_t length = call_length(machine, thread, call);
  const struct frame_open *around = innermost(thread);
  struct command command = {.call_end = begin + length,
                            .place = instruction_place(thread),
                            .correlation = thread->correlation,
                            .subject = catalogue_add(&machine->catalogue, work),
                            .op = around ? (uint32_t)around->op : 0,
                            .step = thread->step,
                            .kind = COMMAND_TASK,
                            .label = work->label};
  /* The device may be quicker than the call, but not than its beginning. */
  command.launch_delay =
      (int32_t)delay(machine, &irregularities.launch_delay, -(double)length, command.place, CHANCE_LAUNCH);
  if (work->message)
    command.match = network_launch(machine, device, work);
  stream_push(machine, stream, &command);
  call_over(machine, device, thread, command.call_end,
            (struct host_record){.call = call, .stream = (enum stream)instruction->stream});
  return true;
}

/* ---- captured graphs ---- */

/* One node, or an edge between nodes: as a call of its own would have enqueued it, but for what calls cost. */
static void enqueue_captured(struct machine *machine, struct device *device, const struct thread_state *thread,
                             const struct instruction *instruction, struct command command) {
  enum stream stream = (enum stream)instruction->stream;
  uint32_t *latest = &device->events[instruction->kind == DO_LAUNCH ? 0 : instruction->event];
  command.captured = true;
  if (instruction->kind == DO_LAUNCH) {
    const struct work *work = &thread->block.works[instruction->of.work];
    command.correlation = ++device->calls;
    command.node = command.correlation - thread->correlation;
    command.subject = catalogue_add(&machine->catalogue, work);
    command.label = work->label;
    command.kind = COMMAND_TASK;
    if (work->message)
      command.match = network_launch(machine, device, work);
  } else if (instruction->kind == DO_RECORD) {
    command.kind = COMMAND_RECORD;
    command.subject = stamp_new(machine, stream, 0);
    if (*latest != NOBODY)
      stamp_leave(machine, *latest);
    *latest = command.subject;
    stamp_use(machine, *latest);
  } else {
    if (*latest == NOBODY)
      return;
    command.kind = COMMAND_WAIT;
    command.subject = *latest;
    stamp_use(machine, *latest);
  }
  stream_push(machine, &device->streams[stream], &command);
}

/* The call tells the device of one node after the other; the first may start long before it returns. */
static bool launch_graph(struct machine *machine, struct device *device, struct thread_state *thread,
                         const struct instruction *instruction) {
  const struct graph *graph = &instruction->of.graph;
  call_begin(device, thread);
  if (!has_room(machine, device, thread, instruction->stream))
    return false;
  int64_t begin = thread->awaited_until > thread->call_start ? thread->awaited_until : thread->call_start;
  int64_t length = call_length(machine, thread, CALL_GRAPH_LAUNCH);
  uint64_t place = instruction_place(thread);
  double nodes = (double)irregularities.graph_node * graph->nodes * thread->pace *
                 ratio(machine, MECHANISM_HOST_JITTER, &irregularities.graph_ratio, place, CHANCE_GRAPH);
  int64_t telling = has(machine, MECHANISM_HOST) ? whole_ns(nodes) : 0;
  const struct frame_open *around = innermost(thread);
  struct command command = {.call_end = begin + length + whole_ns((double)telling * irregularities.graph_start),
                            .op = around ? (uint32_t)around->op : 0,
                            .step = thread->step};
  command.launch_delay = (int32_t)delay(machine, &irregularities.launch_delay, -(double)length, place, CHANCE_LAUNCH);
  for (uint32_t i = 1; i <= graph->length; i++) {
    command.place = chance_place(place, i);
    command.graph = graph->number;
    enqueue_captured(machine, device, thread, instruction + i, command);
  }
  call_over(machine, device, thread, begin + length + telling,
            (struct host_record){
                .call = CALL_GRAPH_LAUNCH, .stream = (enum stream)instruction->stream, .nodes = graph->nodes});
  thread->next += graph->length;
  return true;
}

static void record_event(struct machine *machine, struct device *device, struct thread_state *thread,
                         const struct instruction *instruction) {
  enum stream stream = (enum stream)instruction->stream;
  enum call call = (enum call)instruction->call;
  call_begin(device, thread);
  struct command command = {.call_end = thread->time + call_length(machine, thread, call),
                            .correlation = thread->correlation,
                            .subject = stamp_new(machine, stream, thread->correlation),
                            .kind = COMMAND_RECORD};
  uint32_t *latest = &device->events[instruction->event];
  if (*latest != NOBODY)
    stamp_leave(machine, *latest);
  *latest = command.subject;
  stamp_use(machine, *latest);
  stream_push(machine, &device->streams[stream], &command);
  call_over(machine, device, thread, command.call_end,
            (struct host_record){.call = call, .stream = stream, .event = instruction->event});
}

static void wait_event(struct machine *machine, struct device *device, struct thread_state *thread,
                       const struct instruction *instruction) {
  enum stream stream = (enum stream)instruction->stream;
  call_begin(device, thread);
  int64_t end = thread->time + call_length(machine, thread, CALL_STREAM_WAIT);
  struct host_record record = {.call = CALL_STREAM_WAIT, .stream = stream, .event = instruction->event};
  uint32_t stamp = device->events[instruction->event];
  if (stamp != NOBODY) {
    record.awaited = machine->stamps[stamp].correlation;
    record.awaited_stream = (enum stream)machine->stamps[stamp].stream;
    stamp_use(machine, stamp);
    struct command command = {.call_end = end,
                              .place = instruction_place(thread),
                              .correlation = thread->correlation,
                              .subject = stamp,
                              .kind = COMMAND_WAIT};
    stream_push(machine, &device->streams[stream], &command);
  }
  call_over(machine, device, thread, end, record);
}

static void query_event(struct machine *machine, struct device *device, struct thread_state *thread,
                        const struct instruction *instruction) {
  call_begin(device, thread);
  struct host_record record = {.call = CALL_EVENT_QUERY, .event = instruction->event};
  uint32_t stamp = device->events[instruction->event];
  if (stamp != NOBODY) {
    record.awaited = machine->stamps[stamp].correlation;
    record.awaited_stream = (enum stream)machine->stamps[stamp].stream;
  }
  call_over(machine, device, thread, thread->time + call_length(machine, thread, CALL_EVENT_QUERY), record);
}

/* ---- calls that wait for the device ---- */

static bool streams_are_done(struct device *device, struct thread_state *thread,
                             const struct instruction *instruction) {
  if (instruction->kind == DO_SYNC_STREAM)
    return stream_is_done(device, thread, instruction->stream);
  for (int stream = 0; stream < STREAMS; stream++)
    if (!stream_is_done(device, thread, stream))
      return false;
  return true;
}

static bool event_is_reached(struct machine *machine, struct thread_state *thread) {
  uint32_t stamp = thread->waiting_stamp;
  if (stamp == NOBODY || machine->stamps[stamp].reached)
    return true;
  wait_for(thread, WAITING_EVENT);
  stamp_await(machine, stamp, thread->actor);
  return false;
}

/* What the call waits for is what was enqueued when it began. */
static void synchronise_begin(struct machine *machine, struct device *device, struct thread_state *thread,
                              const struct instruction *instruction) {
  if (thread->begun)
    return;
  for (int stream = 0; stream < STREAMS; stream++)
    thread->goals[stream] = device->streams[stream].pushed;
  thread->waiting_stamp = instruction->kind == DO_SYNC_EVENT ? device->events[instruction->event] : NOBODY;
  if (thread->waiting_stamp != NOBODY)
    stamp_use(machine, thread->waiting_stamp);
}

static bool synchronise(struct machine *machine, struct device *device, struct thread_state *thread,
                        const struct instruction *instruction) {
  synchronise_begin(machine, device, thread, instruction);
  call_begin(device, thread);
  bool over = instruction->kind == DO_SYNC_EVENT ? event_is_reached(machine, thread)
                                                 : streams_are_done(device, thread, instruction);
  if (!over)
    return false;
  enum call call = (enum call)instruction->call;
  int64_t length = call_length(machine, thread, call), end = thread->call_start + length;
  if (thread->awaited_until > thread->call_start) {
    int64_t back =
        thread->awaited_until + delay(machine, &irregularities.sync_return, 0, instruction_place(thread), CHANCE_SYNC);
    end = end > back ? end : back;
    if (call == CALL_FREE) { /* its row begins behind the wait */
      thread->call_start = back;
      end = back + length;
    }
  }
  struct host_record record = {.call = call, .stream = (enum stream)instruction->stream, .event = instruction->event};
  uint32_t stamp = thread->waiting_stamp;
  if (stamp != NOBODY) {
    record.awaited = machine->stamps[stamp].correlation;
    record.awaited_stream = (enum stream)machine->stamps[stamp].stream;
    stamp_leave(machine, stamp);
  }
  call_over(machine, device, thread, end, record);
  return true;
}

/* ---- the other thread ---- */

static void post(struct machine *machine, struct device *device, const struct thread_state *thread, struct job job) {
  if (device->job_count == device->job_room) {
    /* What was taken makes room first. */
    device->job_count -= device->first_job;
    if (device->job_count > 0)
      memmove(device->jobs, device->jobs + device->first_job, device->job_count * sizeof *device->jobs);
    device->first_job = 0;
    if (2 * device->job_count >= device->job_room) {
      device->job_room = device->job_room ? 2 * device->job_room : 16;
      device->jobs = memory_grown(device->jobs, device->job_room, sizeof *device->jobs);
    }
  }
  device->jobs[device->job_count++] = (struct posted){job, thread->time};
  struct thread_state *other = &device->threads[THREAD_AUTOGRAD];
  if (other->waiting == WAITING_JOB) {
    if (other->time < thread->time)
      other->time = thread->time;
    thread_wake(machine, other, thread->time);
  }
}

static bool await(struct machine *machine, struct device *device, struct thread_state *thread) {
  if (device->serving || device->first_job < device->job_count) {
    wait_for(thread, WAITING_AWAIT);
    thread->begun = true;
    return false;
  }
  if (thread->begun) {
    if (thread->time < thread->awaited_until)
      thread->time = thread->awaited_until;
    thread->time += irregular_host(machine, thread, &irregularities.hand_back, CHANCE_HAND_OVER);
  }
  thread->begun = false;
  return true;
}

/* The autograd thread has done its block: the next job, if there is one. */
static bool serve(struct machine *machine, struct device *device, struct thread_state *thread) {
  device->serving = false;
  if (device->first_job == device->job_count) {
    struct thread_state *other = &device->threads[THREAD_MAIN];
    wait_for(thread, WAITING_JOB);
    if (other->waiting == WAITING_AWAIT)
      thread_wake(machine, other, thread->time);
    return false;
  }
  struct posted posted = device->jobs[device->first_job++];
  device->serving = true;
  if (thread->time <= posted.time) /* it was idle */
    thread->time = posted.time + irregular_host(machine, thread, &irregularities.hand_over, CHANCE_HAND_OVER);
  thread->step = posted.job.step;
  set_pace(machine, device, thread);
  machine->software->serve(machine->software->self, device->rank, posted.job, &thread->block);
  return true;
}

/* ---- all instructions ---- */

static bool fill(struct machine *machine, struct device *device, struct thread_state *thread) {
  program_clear(&thread->block);
  thread->next = 0;
  if (thread->thread == THREAD_AUTOGRAD)
    return serve(machine, device, thread);
  if (machine->software->next(machine->software->self, device->rank, &thread->block))
    return true;
  activity_mark(device, -1, thread->time);
  wait_for(thread, WAITING_ENDED);
  return false;
}

static void step_begins(struct machine *machine, struct device *device, struct thread_state *thread, int step) {
  activity_mark(device, step, thread->time);
  thread->step = step;
  set_pace(machine, device, thread);
  if (has(machine, MECHANISM_HOST) && has(machine, MECHANISM_HOST_JITTER)) {
    uint64_t place = chance_place(chance_place(device->place, (uint64_t)step), CHANCE_DATA);
    double stall = spread_draw_wide(&irregularities.data_stall, machine->setup->jitter, 0, place);
    thread->time += whole_ns(stall * device->host_factor);
  }
}

/* A profiler that starts walks the stack: frames that are open begin when it notes them, one after the other. */
static void walk_stack(const struct machine *machine, struct device *device, struct thread_state *thread) {
  for (uint32_t i = 0; i < thread->depth; i++) {
    struct frame_open *frame = &thread->frames[i];
    if (!is_python(frame->frame))
      continue;
    frame->start = thread->time;
    thread->time += python_time(machine, device, thread, irregularities.profiled_python_walk, frame->number);
  }
}

static void profile(const struct machine *machine, struct device *device, struct thread_state *thread, bool start) {
  if (!machine->profiled)
    return;
  device->profiling = start; /* of all ranks, whosesoever traces are written */
  if (machine->witness->profile)
    machine->witness->profile(machine->witness->self, device->rank, start, thread->time);
  if (start)
    walk_stack(machine, device, thread);
}

static void allocate(const struct machine *machine, struct device *device, const struct thread_state *thread,
                     int64_t bytes) {
  device->allocated += bytes;
  const struct memory_record record = {.rank = device->rank,
                                       .thread = (enum thread)thread->thread,
                                       .time = thread->time,
                                       .bytes = bytes,
                                       .allocated = device->allocated};
  if (machine->witness->memory)
    machine->witness->memory(machine->witness->self, &record);
}

/* Behind an op that no other is around, the host is as slow as in it: behind one that is left out, too. */
static void skip(struct machine *machine, struct device *device, struct thread_state *thread,
                 const struct instruction *instruction) {
  const struct skipped *skipped = &instruction->of.skipped;
  device->frames += skipped->frames;
  device->calls += skipped->calls;
  if (skipped->communicator >= 0)
    network_skip(machine, device, skipped->communicator);
  if (instruction->name && thread->depth == 0)
    thread->cost = cost_of(machine, instruction->name);
}

/* False: the thread waits, and comes to this instruction again. */
static bool carry_out(struct machine *machine, struct device *device, struct thread_state *thread,
                      const struct instruction *instruction) {
  switch ((enum instruction_kind)instruction->kind) {
    case DO_ENTER:
      enter(machine, device, thread, instruction);
      return true;
    case DO_LEAVE:
      leave(machine, device, thread);
      return true;
    case DO_SPEND:
      thread->time += spent(machine, thread, instruction->time);
      return true;
    case DO_SLEEP:
      sleep_through(machine, device, thread, instruction);
      return true;
    case DO_LAUNCH:
      return launch(machine, device, thread, instruction);
    case DO_LAUNCH_GRAPH:
      return launch_graph(machine, device, thread, instruction);
    case DO_RECORD:
      record_event(machine, device, thread, instruction);
      return true;
    case DO_WAIT:
      wait_event(machine, device, thread, instruction);
      return true;
    case DO_SYNC_EVENT:
    case DO_SYNC_STREAM:
    case DO_SYNC_DEVICE:
      return synchronise(machine, device, thread, instruction);
    case DO_QUERY:
      query_event(machine, device, thread, instruction);
      return true;
    case DO_CALL:
      call_begin(device, thread);
      call_over(machine, device, thread, thread->time + call_length(machine, thread, (enum call)instruction->call),
                (struct host_record){.call = (enum call)instruction->call});
      return true;
    case DO_POST:
      post(machine, device, thread, instruction->of.job);
      return true;
    case DO_AWAIT:
      return await(machine, device, thread);
    case DO_STEP:
      step_begins(machine, device, thread, (int)instruction->time);
      return true;
    case DO_PROFILE:
      profile(machine, device, thread, instruction->time == 1);
      return true;
    case DO_ALLOCATE:
      allocate(machine, device, thread, instruction->time);
      return true;
    case DO_SKIP:
      skip(machine, device, thread, instruction);
      return true;
  }
  return true;
}

/* How many places it takes among those of which each draws its own chances. None, where it begins or ends a frame that
 * is there only to be recorded: what is recorded must not change what is drawn. */
static uint32_t places_of(const struct thread_state *thread, const struct instruction *instruction) {
  const struct frame_open *around = innermost(thread);
  if (instruction->kind == DO_SKIP)
    return instruction->of.skipped.instructions;
  if (instruction->kind == DO_SLEEP || instruction->kind == DO_ALLOCATE)
    return 0;
  int frame = instruction->kind == DO_ENTER             ? instruction->frame
              : instruction->kind == DO_LEAVE && around ? around->frame
                                                        : FRAME_OP;
  return !is_python(frame);
}

static void count_places(const struct machine *machine, const struct device *device, struct thread_state *thread,
                         uint32_t places) {
  int64_t stretch = thread->instructions / irregularities.stretch_length;
  thread->instructions += places;
  if (thread->instructions / irregularities.stretch_length != stretch)
    set_pace(machine, device, thread);
}

/* Until when it may run on: not past the other thread's next instruction, which may be due as soon as the device goes
 * on. */
static int64_t limit_of(const struct machine *machine, const struct device *device, const struct thread_state *thread) {
  const struct thread_state *other = &device->threads[!thread->thread];
  int64_t limit = machine->now + AHEAD, due;
  if (other->waiting == WAITING_QUEUE || other->waiting == WAITING_STREAM || other->waiting == WAITING_EVENT)
    return machine->now;
  if (alarm_is_set(&machine->alarms, other->actor, &due) && due < limit)
    limit = due;
  return limit;
}

void thread_run(struct machine *machine, struct device *device, struct thread_state *thread) {
  int64_t limit = limit_of(machine, device, thread);
  while (thread->waiting == WAITING_NOT && !machine->failed) {
    if (thread->time > limit) {
      alarm_set(&machine->alarms, thread->actor, thread->time);
      return;
    }
    if (thread->next == thread->block.count) {
      fill(machine, device, thread);
      continue;
    }
    const struct instruction *instruction = &thread->block.instructions[thread->next];
    uint32_t places = places_of(thread, instruction);
    if (!carry_out(machine, device, thread, instruction))
      return;
    thread->next++;
    count_places(machine, device, thread, places);
    if (instruction->kind == DO_POST)
      limit = limit_of(machine, device, thread);
  }
}
