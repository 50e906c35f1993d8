/* The machine's life: start, the queue of alarms, the end, and the report when nothing can go on. */
#include "machine_state.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Roots of what is drawn. */
enum { PLACE_DEVICES = 1, PLACE_NETWORK = 2 };

void machine_fail(struct machine *machine, const char *format, ...) {
  if (machine->failed)
    return;
  machine->failed = true;
  va_list arguments;
  va_start(arguments, format);
  fputs("emulated-cluster: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

const char *machine_stream_name(enum stream stream) {
  static const char *const names[WORKING_STREAMS] = {[STREAM_COMPUTE] = "compute",
                                                     [STREAM_TENSOR] = "tensor",
                                                     [STREAM_DATA] = "data",
                                                     [STREAM_EMBEDDING] = "embedding",
                                                     [STREAM_MODEL] = "model",
                                                     [STREAM_SEND_NEXT] = "send to next",
                                                     [STREAM_SEND_PREVIOUS] = "send to previous",
                                                     [STREAM_RECEIVE_NEXT] = "receive from next",
                                                     [STREAM_RECEIVE_PREVIOUS] = "receive from previous",
                                                     [STREAM_P2P] = "point-to-point",
                                                     [STREAM_COPY] = "copy",
                                                     [STREAM_GATHER] = "gather",
                                                     [STREAM_REDUCE] = "reduce",
                                                     [STREAM_CONTEXT] = "context",
                                                     [STREAM_EXPERT] = "expert",
                                                     [STREAM_EXPERT_DATA] = "expert data"};
  return stream < WORKING_STREAMS ? names[stream] : "NCCL's own";
}

const char *machine_collective_name(enum collective collective) {
  static const char *const names[COLLECTIVES] = {
      [ALL_REDUCE] = "all-reduce", [ALL_GATHER] = "all-gather",         [REDUCE_SCATTER] = "reduce-scatter",
      [BROADCAST] = "broadcast",   [SEND_RECEIVE] = "send and receive", [ALL_TO_ALL] = "all-to-all"};
  return names[collective];
}

struct stream_state *machine_stream(struct machine *machine, uint32_t actor, struct device **device) {
  uint32_t place = actor - machine->first_stream;
  *device = &machine->devices[place / STREAMS];
  return &(*device)->streams[place % STREAMS];
}

/* ---- start ---- */

static void start_device(struct machine *machine, int rank) {
  const struct setup *setup = machine->setup;
  struct device *device = &machine->devices[rank];
  device->rank = rank;
  device->place = chance_place(chance_place(setup->seed, PLACE_DEVICES), (uint64_t)rank);
  device->recorded = setup->record_rank && setup->record_rank[rank];
  device->host_factor = setup->scale[SCALED_HOST] * (setup->slow_host ? setup->slow_host[rank] : 1);
  device->kernel_factor = setup->slow_device ? setup->slow_device[rank] : 1;
  device->kernel_factor *= ratio(machine, MECHANISM_KERNEL_JITTER, &irregularities.chip, device->place, CHANCE_CHIP);
  device->kernel_step = -2; /* none */
  for (int i = 0; i < MOST_EVENTS; i++)
    device->events[i] = NOBODY;
  for (int i = 0; i < STREAMS; i++) {
    device->streams[i].actor = machine->first_stream + (uint32_t)(rank * STREAMS + i);
    device->streams[i].head_time = device->streams[i].head_ready = -1;
  }
  for (int i = 0; i < THREADS; i++)
    thread_start(machine, device, (enum thread)i);
}

static void start(struct machine *machine) {
  uint32_t actors = (uint32_t)machine->ranks * (THREADS + STREAMS);
  machine->first_stream = (uint32_t)machine->ranks * THREADS;
  machine->first_flight = actors;
  machine->latency = has(machine, MECHANISM_LATENCY);
  machine->network_place = chance_place(machine->setup->seed, PLACE_NETWORK);
  machine->free_stamps = NOBODY;
  machine->alarms.ringing = NOBODY;
  machine->next_waiter = memory_new(actors, sizeof *machine->next_waiter);
  machine->devices = memory_new((size_t)machine->ranks, sizeof *machine->devices);
  alarms_add(&machine->alarms, actors);
  device_scales(machine);
  network_start(machine);
  for (int rank = 0; rank < machine->ranks; rank++)
    start_device(machine, rank);
}

static void end(struct machine *machine) {
  for (int rank = 0; rank < machine->ranks; rank++) {
    struct device *device = &machine->devices[rank];
    for (int i = 0; i < THREADS; i++)
      thread_free(&device->threads[i]);
    for (int i = 0; i < STREAMS; i++)
      free(device->streams[i].ring);
    free(device->jobs);
    free(device->passages);
    activity_free(device);
  }
  network_free(machine);
  catalogue_free(&machine->catalogue);
  alarms_free(&machine->alarms);
  free(machine->devices);
  free(machine->next_waiter);
  free(machine->stamps);
}

/* ---- what is left when no alarm is ---- */

enum { MOST_LINES = 24 };

struct complaint {
  const struct machine *machine;
  int lines; /* over MOST_LINES: counted only */
};

static bool has_line(struct complaint *complaint) {
  if (complaint->lines++ == 0)
    fprintf(stderr, "emulated-cluster: deadlock: nothing goes on after %.6f ms, and this waits:\n",
            (double)complaint->machine->now / 1e6);
  return complaint->lines <= MOST_LINES;
}

static void complain_of_thread(struct complaint *complaint, const struct device *device,
                               const struct thread_state *thread) {
  const char *name = thread->thread == THREAD_MAIN ? "main" : "autograd";
  const char *stream = machine_stream_name((enum stream)thread->waiting_stream);
  const struct machine *machine = complaint->machine;
  enum waiting waiting = (enum waiting)thread->waiting;
  if (waiting == WAITING_JOB || waiting == WAITING_ENDED || !has_line(complaint))
    return;
  fprintf(stderr, "  rank %d, %s thread: ", device->rank, name);
  if (waiting == WAITING_QUEUE)
    fprintf(stderr, "for room in the queue of stream %s\n", stream);
  else if (waiting == WAITING_STREAM)
    fprintf(stderr, "for stream %s to be done\n", stream);
  else if (waiting == WAITING_EVENT)
    fprintf(stderr, "for an event recorded on stream %s\n",
            machine_stream_name((enum stream)machine->stamps[thread->waiting_stamp].stream));
  else
    fputs("for the autograd thread\n", stderr);
}

static void name_absent(const struct flight *flight) {
  enum { MOST_NAMED = 8 };
  int absent = 0;
  for (int i = 0; i < flight->members; i++)
    if (flight->starts[i] < 0 && absent++ < MOST_NAMED)
      fprintf(stderr, " %d", flight->ranks[i]);
  if (absent > MOST_NAMED)
    fprintf(stderr, " and %d more", absent - MOST_NAMED);
}

/* The transfers that a running kernel waits for. */
static void complain_of_kernel(struct complaint *complaint, const struct device *device, int stream) {
  const struct machine *machine = complaint->machine;
  for (uint32_t i = 0; i < machine->flight_count; i++) {
    const struct flight *flight = machine->flights[i];
    for (int member = 0; member < flight->members; member++) {
      bool waits = flight->ranks[member] == device->rank && flight->streams[member] == stream &&
                   flight->starts[member] >= 0 && !flight->finished[member] && !flight->free &&
                   flight->arrived < flight->members;
      if (!waits || !has_line(complaint))
        continue;
      fprintf(stderr, "  rank %d, stream %s: %s %lld of communicator %s, for rank", device->rank,
              machine_stream_name((enum stream)stream), machine_collective_name((enum collective)flight->collective),
              (long long)flight->sequence, machine->communicators[flight->communicator].name);
      name_absent(flight);
      fputc('\n', stderr);
    }
  }
}

static void complain_of_stream(struct complaint *complaint, const struct device *device, int number) {
  const struct stream_state *stream = &device->streams[number];
  if (stream->running) {
    complain_of_kernel(complaint, device, number);
  } else if (stream->held && has_line(complaint)) {
    const struct stamp *stamp = &complaint->machine->stamps[stream->ring[stream->first].subject];
    fprintf(stderr, "  rank %d, stream %s: for an event recorded on stream %s\n", device->rank,
            machine_stream_name((enum stream)number), machine_stream_name((enum stream)stamp->stream));
  }
}

/* True if all is done. */
static bool all_done(const struct machine *machine) {
  struct complaint complaint = {.machine = machine};
  for (int rank = 0; rank < machine->ranks; rank++) {
    const struct device *device = &machine->devices[rank];
    for (int i = 0; i < THREADS; i++)
      complain_of_thread(&complaint, device, &device->threads[i]);
    for (int i = 0; i < STREAMS; i++)
      complain_of_stream(&complaint, device, i);
  }
  if (complaint.lines > MOST_LINES)
    fprintf(stderr, "  and %d more\n", complaint.lines - MOST_LINES);
  return complaint.lines == 0;
}

/* ---- the queue ---- */

static void ring(struct machine *machine, uint32_t actor) {
  if (actor >= machine->first_flight) {
    network_transfer_end(machine, machine->flights[actor - machine->first_flight]);
  } else if (actor >= machine->first_stream) {
    struct device *device;
    struct stream_state *stream = machine_stream(machine, actor, &device);
    if (stream->running)
      device_end(machine, device, stream);
    stream_run(machine, device, stream);
  } else {
    struct device *device = &machine->devices[actor / THREADS];
    thread_run(machine, device, &device->threads[actor % THREADS]);
  }
}

bool machine_run(const struct setup *setup, const struct software *software, const struct communicator *communicators,
                 int communicator_count, bool profiled, const struct witness *witness) {
  struct machine machine = {.setup = setup,
                            .software = software,
                            .communicators = communicators,
                            .witness = witness,
                            .ranks = setup_ranks(setup),
                            .communicator_count = communicator_count,
                            .profiled = profiled};
  start(&machine);
  struct alarm alarm;
  while (!machine.failed && alarms_next(&machine.alarms, &alarm)) {
    machine.now = alarm.time;
    if (machine.now > latest_time)
      machine_fail(&machine, "the job takes longer than 104 days");
    else
      ring(&machine, alarm.actor);
  }
  bool done = !machine.failed && all_done(&machine);
  if (done)
    activity_report(&machine);
  end(&machine);
  return done;
}
