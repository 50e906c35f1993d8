/* The machine from inside: what its parts know of each other.
 *
 *   alarms.c     the queue of times: every actor (a thread, a stream, a transfer) has at most one alarm
 *   host.c       threads, which carry out instructions and put commands into streams
 *   stream.c     streams: commands in order; records of events and waits for them
 *   device.c     what runs on a device: kernels and their speed, SMs, clocks
 *   network.c    members that meet, transfers, links
 *   activity.c   what a device was busy with, step by step
 *   catalogue.c  the distinct pieces of work, so that a command is small
 *   lookup.c     indexes by hash
 *   irregularities.c  figures of all that varies
 *
 * A handler of an alarm never calls another actor's handler: it sets that actor's alarm. So nothing is re-entered, and
 * what happens at one time happens in the order of the actors' numbers.
 */
#ifndef EMULATOR_MACHINE_STATE_H
#define EMULATOR_MACHINE_STATE_H

#include "irregularities.h"
#include "machine.h"
#include "memory.h"

#define NOBODY UINT32_MAX /* no actor, no index */

/* Salts of what is drawn at one place. */
enum chance {
  CHANCE_HOST,
  CHANCE_PAUSE,
  CHANCE_PAUSE_LENGTH,
  CHANCE_STRETCH,
  CHANCE_STEP,
  CHANCE_HAND_OVER,
  CHANCE_LAUNCH,
  CHANCE_GAP,
  CHANCE_EVENT,
  CHANCE_SYNC,
  CHANCE_KERNEL,
  CHANCE_KERNEL_STEP,
  CHANCE_CHIP,
  CHANCE_CONTENTION,
  CHANCE_TRANSFER,
  CHANCE_SKEW,
  CHANCE_OP,
  CHANCE_DATA,
  CHANCE_PROFILER,
  CHANCE_GRAPH,
  CHANCE_TURN,
  CHANCE_STAGING,
  CHANCE_IS_STAGING,
  CHANCE_SLEEP,
};

/* A job is over by then: 104 days, the longest time that all who read JSON read exactly. */
static const int64_t latest_time = INT64_C(1) << 53;

/* A duration that is not negative, in whole ns. Cut at a length that no job reaches, so that times always can be
 * added. */
static inline int64_t whole_ns(double ns) {
  double longest = (double)(4 * latest_time);
  return (int64_t)((ns < longest ? ns : longest) + 0.5);
}

/* ---- alarms.c ---- */

struct alarm {
  int64_t time;
  uint32_t actor;
};

struct alarms {
  struct alarm *heap;
  uint32_t *place; /* of an actor in the heap, or NOBODY */
  uint32_t count, actors, room;
  uint32_t ringing; /* whose alarm is being handled: it stays in the heap until that is over */
  bool set_anew;
};

void alarms_add(struct alarms *alarms, uint32_t actors); /* so many more actors */
void alarms_free(struct alarms *alarms);
void alarm_set(struct alarms *alarms, uint32_t actor, int64_t time);
void alarm_off(struct alarms *alarms, uint32_t actor);
/* The earliest alarm, of the lowest actor where several are: it is off unless it is set anew before the next. */
bool alarms_next(struct alarms *alarms, struct alarm *next);
static inline bool alarm_is_set(const struct alarms *alarms, uint32_t actor, int64_t *time) {
  if (alarms->place[actor] == NOBODY)
    return false;
  *time = alarms->heap[alarms->place[actor]].time;
  return true;
}

/* ---- lookup.c: an index by hash; whoever owns the array says what is the same ---- */

struct lookup {
  struct lookup_slot {
    uint32_t hash, index;
  } * slots;
  uint32_t count, room; /* a power of two */
};

uint32_t lookup_find(const struct lookup *lookup, uint64_t hash,
                     bool (*same)(const void *owner, uint32_t index, const void *key), const void *owner,
                     const void *key);
void lookup_add(struct lookup *lookup, uint64_t hash, uint32_t index);
void lookup_free(struct lookup *lookup);

/* ---- catalogue.c ---- */

struct catalogue {
  struct work *works; /* without labels; their messages are the catalogue's */
  struct message **messages;
  uint32_t *message_of; /* a work's, or NOBODY */
  uint32_t count, room, message_count, message_room;
  struct lookup work_index, message_index;
};

uint32_t catalogue_add(struct catalogue *catalogue, const struct work *work);
void catalogue_free(struct catalogue *catalogue);

/* ---- streams ---- */

static inline uint32_t stream_bit(int stream) { return UINT32_C(1) << stream; }
_Static_assert(STREAMS <= 32, "a stream has a bit");

enum command_kind { COMMAND_TASK, COMMAND_RECORD, COMMAND_WAIT };

struct command {
  int64_t call_end;
  uint64_t place;       /* of what is drawn for it */
  int32_t launch_delay; /* behind call_end */
  uint32_t correlation;
  uint32_t graph, node; /* of a task in a graph, else 0 */
  uint32_t subject;     /* of a task: its work in the catalogue; else a stamp */
  uint32_t match;       /* of a collective: the member's count; of a point-to-point kernel: its exchange */
  uint32_t op;
  int32_t step;
  uint8_t kind;
  bool captured; /* in a graph */
  struct label label;
};

/* One record of an event: when the stream came to it, and behind what it stood. */
struct stamp {
  bool reached;
  uint8_t stream;
  uint32_t sources, decided; /* bits by stream: tasks that it stood behind; those whose end it waited for */
  uint32_t correlation /* 0: in a graph */, users, waiters /* first actor */, next_free;
  uint32_t from[WORKING_STREAMS]; /* correlations */
  int64_t time;
};

/* Tasks of other streams that the next task stands behind. */
struct behind {
  uint32_t sources;
  uint32_t from[WORKING_STREAMS];
  int64_t passed[WORKING_STREAMS]; /* when the wait that this decided was over, or -1 */
};

struct stream_state {
  uint32_t actor;
  struct command *ring;
  uint32_t first, count, room; /* room: a power of two */
  uint32_t queued;             /* tasks in the ring */
  int64_t pushed, done;        /* commands */
  int64_t head_time;           /* when the first command is due by its own stream and launch, or -1: not known yet */
  int64_t head_ready; /* when the first command, a task, could start as far as all but SMs goes, or -1: not yet */
  bool held;          /* the first command is a wait that had to wait */
  struct behind behind;
  int64_t last_end;
  uint32_t last_correlation;

  /* What runs. */
  bool running;
  int64_t ready; /* when it could have started as far as all but SMs goes */
  struct command command;
  int64_t start, settled; /* `left` is as of `settled` */
  double left, last_wave; /* ns at full speed */
  double rate, slowdown;  /* slowdown: beside a transfer */
  bool needs_sms;         /* it slows down with the SMs that communication kernels hold */
  /* Of communication. */
  uint8_t parts_left, parts_moving;
  int64_t parts_end;
};

/* ---- threads ---- */

enum waiting { WAITING_NOT, WAITING_QUEUE, WAITING_STREAM, WAITING_EVENT, WAITING_AWAIT, WAITING_JOB, WAITING_ENDED };

struct frame_open {
  int64_t start, number, parent, op; /* op: the innermost, this one included */
  const char *name;
  int step;
  double cost; /* of the op, where the frame is one */
  uint8_t frame;
  bool has_facts;
  struct op_facts facts;
  struct message message;
};

struct thread_state {
  uint32_t actor;
  uint8_t thread; /* enum thread */
  int64_t time;
  int step;
  struct program block;
  size_t next; /* instruction */
  /* What is drawn: by the number of the instruction, and by stretches of them. */
  uint64_t place;
  int64_t instructions;
  double pace, cost; /* cost: of the op at hand, or of the last */
  struct frame_open *frames;
  uint32_t depth, frame_room;
  /* The instruction began before, and had to wait. */
  bool begun, copying; /* copying: in a copy that is enqueued */
  int64_t call_start;
  uint32_t correlation;
  int64_t awaited_until; /* when what it waited for came about */
  uint8_t waiting, waiting_stream;
  int64_t waiting_count; /* commands of the stream that have to be done */
  int64_t goals[STREAMS];
  uint32_t waiting_stamp;
};

struct posted {
  struct job job;
  int64_t time;
};

/* ---- devices ---- */

enum link { NVLINK_OUT = 1, NVLINK_IN = 2, NIC_OUT = 4, NIC_IN = 8 };
enum { LINKS = 4 };

/* A transfer that moves bytes over a device's links. */
struct passage {
  struct flight *flight;
  uint8_t links;
};

struct window {
  int64_t end, sums[ACTIVITIES];
  double flops;
  int64_t host_start, host_end;
  bool ran, marked;
};

struct device {
  int rank;
  struct thread_state threads[THREADS];
  struct stream_state streams[STREAMS];
  uint32_t events[MOST_EVENTS]; /* the stamp of the latest record, or NOBODY */
  uint32_t calls, frames;
  bool recorded, profiling;
  double host_factor, kernel_factor;
  int kernel_step; /* that this factor belongs to */
  double kernel_step_factor;
  uint64_t place;
  struct posted *jobs; /* not taken yet: from first_job on */
  size_t first_job, job_count, job_room;
  bool serving;
  int64_t allocated; /* bytes */

  /* Bits by stream. */
  uint32_t computing, filling, hot, communicating, waiting_group, waiting_pipeline, copying;
  uint32_t short_of_sms; /* a kernel is due that has no room */
  uint32_t awaited;      /* a thread waits for it */

  struct passage *passages;
  uint32_t passage_count, passage_room;
  uint32_t load[LINKS]; /* transfers on a link */
  int64_t turn;         /* when those that wait for SMs may take what the last kernel that filled the device left */
  int held_sms;         /* by communication kernels, moving bytes or waiting */
  double heat;
  int64_t heat_time;
  int64_t summed_to, sums[ACTIVITIES];
  struct window *windows; /* by step + 1: the first is what came before the first mark */
  int window_count, window_room;
};

/* ---- network ---- */

/* A collective or a pair, from the first member on. */
struct flight {
  uint32_t actor, index, next; /* next: in its communicator's list */
  int communicator;
  uint8_t collective;
  bool pair, free;
  int step;
  int64_t sequence, bytes;
  int members, arrived;
  const int *ranks;
  const uint8_t *links;
  int pair_ranks[2];
  uint8_t pair_links[2];
  int64_t begin, bytes_from; /* bytes count from there on */
  int64_t settled;
  double left, rate;
  int computing; /* members whose device computes */
  uint32_t load; /* of its busiest link */
  int64_t *starts, *ends;
  uint32_t *correlations, *nodes;
  uint8_t *streams;
  bool *finished; /* members that did not wait for the transfer */
};

/* A point-to-point kernel's parts. */
struct exchange {
  uint32_t flights[MOST_P2P], next_free;
};

struct group {
  uint8_t *links;    /* of a member */
  int64_t *launched; /* collectives that a member has launched */
  uint32_t flights;  /* collectives in the air */
  bool spans_stages; /* to wait in it is to wait for the pipeline */
  uint32_t free_flights;
};

/* Pairs of one direction between two ranks of a communicator, as they are launched. */
struct channel {
  int communicator, source, destination;
  int64_t sequence;
  uint32_t first, last; /* pairs of which one side is launched */
  bool receiver_ahead;
};

struct plan {
  int collective, size, nodes;
  int64_t bytes, latency, transfer;
};

struct machine {
  const struct setup *setup;
  const struct software *software;
  const struct communicator *communicators;
  const struct witness *witness;
  int ranks, communicator_count;
  bool profiled, failed;
  bool latency; /* mechanisms that are asked for often */
  int64_t now;
  uint64_t network_place;
  struct alarms alarms;
  struct device *devices;
  uint32_t *next_waiter; /* of threads and streams: behind it in a stamp's list */
  uint32_t first_stream, first_flight;
  double scale[WORK_KINDS][PARTS];
  double scale_transfer[COLLECTIVES];
  struct catalogue catalogue;
  struct stamp *stamps;
  uint32_t stamp_count, stamp_room, free_stamps;

  struct group *groups;
  struct flight **flights;
  uint32_t flight_count, flight_room, free_pairs;
  struct exchange *exchanges;
  uint32_t exchange_count, exchange_room, free_exchanges;
  struct channel *channels;
  uint32_t channel_count, channel_room;
  struct plan *plans;
  uint32_t plan_count, plan_room;
  struct lookup channel_index, plan_index;
};

static inline bool has(const struct machine *machine, enum mechanism mechanism) {
  return machine->setup->mechanisms[mechanism];
}

static inline int64_t delay(const struct machine *machine, const struct spread *spread, double least, uint64_t place,
                            enum chance chance) {
  return machine->latency ? irregular_time(spread, machine->setup->jitter, least, chance_place(place, chance)) : 0;
}

/* A ratio against 1 that is not below a tenth; 1 where the mechanism is off. */
static inline double ratio(const struct machine *machine, enum mechanism mechanism, const struct spread *spread,
                           uint64_t place, enum chance chance) {
  return has(machine, mechanism) ? spread_draw_wide(spread, machine->setup->jitter, 0.1, chance_place(place, chance))
                                 : 1;
}

/* Something that no order of events could repair, such as members that call different collectives: said, and the run
 * ends. */
void machine_fail(struct machine *machine, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The stream that an actor is, and its device. */
struct stream_state *machine_stream(struct machine *machine, uint32_t actor, struct device **device);

const char *machine_stream_name(enum stream stream);
const char *machine_collective_name(enum collective collective);

/* ---- host.c ---- */
void thread_start(struct machine *machine, struct device *device, enum thread which);
void thread_run(struct machine *machine, struct device *device, struct thread_state *thread);
/* What it waited for came about at `time`. */
void thread_wake(struct machine *machine, struct thread_state *thread, int64_t time);
void thread_free(struct thread_state *thread);

/* ---- stream.c ---- */
void stream_push(struct machine *machine, struct stream_state *stream, const struct command *command);
/* Go on with what is due. */
void stream_run(struct machine *machine, struct device *device, struct stream_state *stream);
/* A command is over. */
void stream_done(struct machine *machine, struct device *device, struct stream_state *stream);
static inline int stream_number(const struct device *device, const struct stream_state *stream) {
  return (int)(stream - device->streams);
}
uint32_t stamp_new(struct machine *machine, enum stream stream, uint32_t correlation);
void stamp_use(struct machine *machine, uint32_t stamp);
void stamp_leave(struct machine *machine, uint32_t stamp);
void stamp_await(struct machine *machine, uint32_t stamp, uint32_t actor);

/* ---- device.c ---- */
void device_scales(struct machine *machine);
/* Start the stream's first command, a task. False: there is no room on the SMs yet. */
bool device_start(struct machine *machine, struct device *device, struct stream_state *stream);
void device_end(struct machine *machine, struct device *device, struct stream_state *stream);
/* Transfers have begun or ended on the device: kernels change their speed. */
void device_speed(struct machine *machine, struct device *device);

/* ---- network.c ---- */
void network_start(struct machine *machine);
void network_free(struct machine *machine);
/* A member enqueues a communication kernel: returns what the command keeps of it. */
uint32_t network_launch(struct machine *machine, const struct device *device, const struct work *work);
/* A member leaves one of its collectives out. */
void network_skip(struct machine *machine, const struct device *device, int communicator);
/* Its kernel has started. */
void network_arrive(struct machine *machine, struct device *device, struct stream_state *stream,
                    const struct work *work);
void network_transfer_end(struct machine *machine, struct flight *flight);
/* A device begins to compute (1) or ceases to (-1). */
void network_computes(struct machine *machine, struct device *device, int change);
int network_member(const struct communicator *communicator, int rank); /* its place, or -1 */

/* ---- activity.c ---- */
/* Book the time until now as what ran; called before that changes. */
void activity_advance(const struct machine *machine, struct device *device);
void activity_task_end(const struct machine *machine, struct device *device, int step, double flops);
/* The main thread's mark: the step before it ends, this one begins; -1: the program has ended. */
void activity_mark(struct device *device, int step, int64_t time);
void activity_report(const struct machine *machine);
void activity_free(struct device *device);

#endif
