#include "job/builder.h"

#include "base/ahead.h"
#include "base/numbering.h"
#include <lumos/stream.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is open of a task. */
enum port { ORIGIN = 1, SEGMENT = 2, RECORD = 4, COLLECTIVE = 8, EVENT_LANE = 16, WAIT_LANE = 32 };

struct lumos_builder {
  const struct lumos_job *from;
  struct lumos_job *job;
  uint8_t *joined;                  /* by task of `from`: it is a member of a collective */
  LUMOS_VECTOR(uint32_t) likes;     /* by task that is built */
  LUMOS_VECTOR(uint8_t) open;       /* by task that is built: ports, added up */
  struct lumos_numbering lane_keys; /* a rank that is built, and a lane of `from` */
  LUMOS_VECTOR(uint32_t) lane_of;   /* by number of such a key: the lane */
  struct lumos_ahead *ahead;        /* in the room for what is expected */
};

struct lumos_builder *lumos_builder_new(const struct lumos_job *from) {
  struct lumos_builder *builder = lumos_allocate_zeroed(1, sizeof *builder);
  struct lumos_job *job = lumos_job_new();
  lumos_strings_free(job->strings);
  job->strings = lumos_strings_copied(from->strings); /* ids stay, so that records can be copied as they are */
  job->stage = LUMOS_STAGE_TRANSFORM;
  job->epoch = from->epoch;
  job->threads = from->threads;
  job->edited = from->edited <= 0 ? 1 : from->edited + (from->edited < INT32_MAX);
  for (size_t i = 0; i < from->history.count; i++) {
    lumos_vector_push(&job->history, from->history.items[i]);
  }
  for (size_t i = 0; i < from->inputs.count; i++) {
    lumos_vector_push(&job->inputs, from->inputs.items[i]);
  }
  for (size_t i = 0; i < from->models.count; i++) {
    lumos_vector_push(&job->models, from->models.items[i]);
  }
  for (size_t i = 0; i < from->common_errors.count; i++) {
    lumos_vector_push(&job->common_errors, from->common_errors.items[i]);
  }
  builder->from = from;
  builder->job = job;
  builder->joined = lumos_allocate_zeroed(from->tasks.count, 1);
  for (size_t m = 0; m < from->members.count; m++) {
    builder->joined[from->members.items[m]] = 1;
  }
  return builder;
}

#define EXPECT(index, vector, more)    \
  (lumos_vector_reserve(vector, more), \
   lumos_ahead_tell(builder->ahead, index, (vector)->items, (more) * sizeof *(vector)->items))

void lumos_builder_expect(struct lumos_builder *builder, const struct lumos_builder_counts *counts) {
  enum { MANY = 1 << 20 }; /* tasks */
  struct lumos_job *job = builder->job;
  builder->ahead = counts->tasks < MANY ? NULL : lumos_ahead_begin(job->threads);
  EXPECT(0, &job->tasks, counts->tasks);
  EXPECT(1, &job->details, counts->details);
  EXPECT(2, &job->timings, counts->timings);
  EXPECT(3, &job->spans, counts->spans);
  EXPECT(4, &builder->likes, counts->tasks);
  EXPECT(5, &builder->open, counts->tasks);
}

void lumos_builder_free(struct lumos_builder *builder) {
  if (builder != NULL) {
    lumos_ahead_end(builder->ahead);
    lumos_job_free(builder->job);
    free(builder->joined);
    lumos_vector_free(&builder->likes);
    lumos_vector_free(&builder->open);
    lumos_vector_free(&builder->lane_of);
    lumos_numbering_free(&builder->lane_keys);
    free(builder);
  }
}

/* ---- ranks and lanes ---- */

struct lumos_built_rank lumos_build_rank(struct lumos_builder *builder, uint32_t like, int32_t number) {
  struct lumos_rank rank = builder->from->ranks.items[like];
  rank.from = rank.rank == number ? rank.from : rank.rank;
  rank.rank = number;
  lumos_vector_push(&builder->job->ranks, rank);
  return (struct lumos_built_rank){(uint32_t)builder->job->ranks.count - 1};
}

void lumos_build_group(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank, const int32_t *ranks,
                       uint32_t count) {
  struct lumos_job *job = builder->job;
  struct lumos_group group = builder->from->groups.items[like];
  group.rank = rank.number;
  group.size = count > 0 ? (int32_t)count : group.size; /* its ranks need not be known */
  group.member_first = (uint32_t)job->group_ranks.count;
  group.member_count = count;
  for (uint32_t i = 0; i < count; i++) {
    lumos_vector_push(&job->group_ranks, ranks[i]);
  }
  lumos_vector_push(&job->groups, group);
}

static lumos_string_id decimal(struct lumos_builder *builder, uint32_t number) {
  char digits[12];
  int length = snprintf(digits, sizeof digits, "%u", number);
  return lumos_intern(builder->job->strings, digits, (size_t)length);
}

lumos_string_id lumos_build_group_id(struct lumos_builder *builder, uint32_t id) {
  struct lumos_job *job = builder->job;
  job->groups.items[job->groups.count - 1].id = decimal(builder, id);
  return job->groups.items[job->groups.count - 1].id;
}

void lumos_build_represents(struct lumos_builder *builder, struct lumos_built_rank rank, int32_t represents) {
  builder->job->ranks.items[rank.number].represents = represents > 1 ? represents : LUMOS_ABSENT_INT;
}

struct lumos_built_lane lumos_build_lane(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank) {
  struct lumos_lane lane = builder->from->lanes.items[like];
  uint32_t number = (uint32_t)builder->job->lanes.count;
  lane.rank = rank.number;
  lane.task_first = lane.task_count = 0;
  lumos_vector_push(&builder->job->lanes, lane);
  lumos_build_lane_for(builder, like, rank, (struct lumos_built_lane){number});
  return (struct lumos_built_lane){number};
}

void lumos_build_lane_for(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank,
                          struct lumos_built_lane lane) {
  uint32_t key = lumos_number_of(&builder->lane_keys, lumos_key_pair(rank.number, like));
  if (key == builder->lane_of.count) {
    lumos_vector_push(&builder->lane_of, lane.number);
  }
}

/* The lane of a rank that is like that lane; LUMOS_NONE where there is none yet. */
static uint32_t lane_like(const struct lumos_builder *builder, uint32_t rank, uint32_t like) {
  uint32_t key = lumos_known_number(&builder->lane_keys, lumos_key_pair(rank, like));
  return key == LUMOS_NO_NUMBER ? LUMOS_NONE : builder->lane_of.items[key];
}

void lumos_build_coordinates(struct lumos_builder *builder, struct lumos_built_rank rank,
                             const struct lumos_parallel *parallel, int32_t world) {
  struct lumos_rank *record = &builder->job->ranks.items[rank.number];
  record->has_parallel = true;
  record->parallel = *parallel;
  record->world = world;
}

struct lumos_built_span lumos_build_span(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank,
                                         struct lumos_built_span parent, struct lumos_built_span forward) {
  struct lumos_job *job = builder->job;
  struct lumos_span span = builder->from->spans.items[like];
  span.rank = rank.number;
  span.id = (uint32_t)job->spans.count;
  span.parent = parent.number;
  span.forward = forward.number;
  if (span.lane != LUMOS_NONE) {
    span.lane = lane_like(builder, rank.number, span.lane);
  }
  lumos_vector_push(&job->spans, span);
  return (struct lumos_built_span){span.id};
}

void lumos_build_stretch(struct lumos_builder *builder, struct lumos_built_span span, int64_t count) {
  char shapes[32];
  (void)snprintf(shapes, sizeof shapes, "[[%lld]]", (long long)count);
  builder->job->spans.items[span.number].shapes = lumos_intern_text(builder->job->strings, shapes);
}

/* ---- tasks ---- */

static void copy_peers(struct lumos_builder *builder, struct lumos_comm *comm) {
  uint32_t first = comm->peer_first;
  comm->peer_first = (uint32_t)builder->job->peers.count;
  for (uint32_t i = 0; i < comm->peer_count; i++) {
    lumos_vector_push(&builder->job->peers, builder->from->peers.items[first + i]);
  }
}

/* Returns the ports that are open. */
static unsigned copy_detail(struct lumos_builder *builder, const struct lumos_detail *like, uint32_t rank,
                            struct lumos_detail *detail) {
  unsigned open = 0;
  *detail = *like;
  detail->own_dur = detail->own_lag = LUMOS_ABSENT;
  open |= detail->first_segment != LUMOS_NONE ? SEGMENT : 0U;
  open |= detail->wait.record != LUMOS_NONE ? RECORD : 0U;
  detail->first_segment = detail->wait.record = LUMOS_NONE;
  if (detail->event_lane != LUMOS_NONE) {
    detail->event_lane = lane_like(builder, rank, detail->event_lane);
    open |= detail->event_lane == LUMOS_NONE ? EVENT_LANE : 0U;
  }
  if (detail->wait.lane != LUMOS_NONE) {
    detail->wait.lane = lane_like(builder, rank, detail->wait.lane);
    open |= detail->wait.lane == LUMOS_NONE ? WAIT_LANE : 0U;
  }
  copy_peers(builder, &detail->comm);
  return open;
}

struct lumos_built_task lumos_build_task(struct lumos_builder *builder, uint32_t like, struct lumos_built_lane lane,
                                         struct lumos_times own, int32_t step) {
  struct lumos_job *job = builder->job;
  const struct lumos_task *template = &builder->from->tasks.items[like];
  struct lumos_lane *on = &job->lanes.items[lane.number];
  struct lumos_task task = *template;
  unsigned open = builder->joined[like] ? COLLECTIVE : 0U;
  task.start = LUMOS_ABSENT;
  task.dur = own.dur;
  task.lag = own.lag;
  task.id = (uint32_t)job->tasks.count; /* until the end: where it stands among those that are built */
  task.lane = lane.number;
  task.seq = on->task_count++;
  task.span = task.call = LUMOS_NONE;
  task.step = step;
  task.detail = task.timing = LUMOS_NONE;
  task.from_rank = builder->from->ranks.items[lumos_rank_of(builder->from, template)].rank;
  task.from_id = template->id;
  if (template->detail != LUMOS_NONE) {
    struct lumos_detail detail;
    open |= copy_detail(builder, &builder->from->details.items[template->detail], on->rank, &detail);
    *lumos_task_detail(job, &task) = detail;
  }
  if (template->timing != LUMOS_NONE || on->kind == LUMOS_STREAM) {
    *lumos_task_timing(job, &task) = *lumos_timing_of(builder->from, like);
  }
  if (on->kind == LUMOS_STREAM) {
    job->timings.items[task.timing].origin = 0;
    open |= ORIGIN;
  }
  lumos_vector_push(&job->tasks, task);
  lumos_vector_push(&builder->likes, like);
  lumos_vector_push(&builder->open, (uint8_t)open);
  return (struct lumos_built_task){task.id};
}

void lumos_build_residual(struct lumos_builder *builder, struct lumos_built_task task, int64_t residual) {
  lumos_task_timing(builder->job, &builder->job->tasks.items[task.number])->residual = residual;
}

int64_t lumos_build_end(struct lumos_builder *builder, struct lumos_built_task task, int64_t later, double factor) {
  struct lumos_timing *timing = lumos_task_timing(builder->job, &builder->job->tasks.items[task.number]);
  int64_t was = timing->end_residual == LUMOS_ABSENT ? 0 : timing->end_residual;
  timing->end_residual = llround((double)(was + later) * factor);
  return timing->end_residual;
}

static struct lumos_comm *comm_of(struct lumos_builder *builder, struct lumos_built_task task) {
  return &lumos_task_detail(builder->job, &builder->job->tasks.items[task.number])->comm;
}

void lumos_build_comm_group(struct lumos_builder *builder, struct lumos_built_task task, lumos_string_id group) {
  struct lumos_comm *comm = comm_of(builder, task);
  comm->group = group;
  comm->id = LUMOS_NO_STRING;
  comm->seq = LUMOS_ABSENT;
  comm->peer_count = 0;
}

void lumos_build_communicator(struct lumos_builder *builder, struct lumos_built_task task, uint32_t id, int64_t seq) {
  struct lumos_comm *comm = comm_of(builder, task);
  comm->id = decimal(builder, id);
  comm->seq = seq;
}

void lumos_build_peer(struct lumos_builder *builder, struct lumos_built_task task, const struct lumos_peer *peer) {
  struct lumos_comm *comm = comm_of(builder, task);
  comm->peer_first = comm->peer_count == 0 ? (uint32_t)builder->job->peers.count : comm->peer_first;
  comm->peer_count++;
  lumos_vector_push(&builder->job->peers, *peer);
}

static void close_port(struct lumos_builder *builder, struct lumos_built_task task, enum port port) {
  builder->open.items[task.number] &= (uint8_t)~port;
}

void lumos_build_span_of(struct lumos_builder *builder, struct lumos_built_task task, struct lumos_built_span span) {
  builder->job->tasks.items[task.number].span = span.number;
}

void lumos_build_place(struct lumos_builder *builder, struct lumos_built_task task, int32_t micro_batch,
                       int32_t layer) {
  struct lumos_task *record = &builder->job->tasks.items[task.number];
  record->micro_batch = micro_batch;
  record->layer = layer;
  if (record->detail != LUMOS_NONE) {
    builder->job->details.items[record->detail].event_id = LUMOS_NO_STRING;
  }
}

void lumos_build_phase(struct lumos_builder *builder, struct lumos_built_task task, uint8_t phase) {
  builder->job->tasks.items[task.number].phase = phase;
}

void lumos_build_origin(struct lumos_builder *builder, struct lumos_built_task task, enum lumos_task_origin origin,
                        struct lumos_built_task call) {
  struct lumos_task *record = &builder->job->tasks.items[task.number];
  record->call = call.number;
  lumos_task_timing(builder->job, record)->origin = (uint8_t)origin;
  close_port(builder, task, ORIGIN);
}

void lumos_build_segment(struct lumos_builder *builder, struct lumos_built_task call, struct lumos_built_task first) {
  lumos_task_detail(builder->job, &builder->job->tasks.items[call.number])->first_segment = first.number;
  close_port(builder, call, SEGMENT);
}

void lumos_build_record(struct lumos_builder *builder, struct lumos_built_task wait, struct lumos_built_task record) {
  lumos_task_detail(builder->job, &builder->job->tasks.items[wait.number])->wait.record = record.number;
  close_port(builder, wait, RECORD);
}

void lumos_build_dep(struct lumos_builder *builder, uint32_t like, struct lumos_built_task src, int64_t at,
                     struct lumos_built_task dst) {
  struct lumos_dep dep = builder->from->deps.items[like];
  dep.src = src.number;
  dep.at = src.number == LUMOS_NONE ? at : LUMOS_ABSENT;
  dep.dst = dst.number;
  /* How long a task waits, for others or for what is outside, holds of a copy, too. */
  if (dep.kind != LUMOS_RESOURCE && dep.kind != LUMOS_BOUNDARY) {
    dep.covers = LUMOS_ABSENT;
  }
  lumos_vector_push(&builder->job->deps, dep);
}

void lumos_build_hand_over(struct lumos_builder *builder, uint32_t like, struct lumos_built_task src, int64_t lag,
                           struct lumos_built_task dst) {
  lumos_build_dep(builder, like, src, LUMOS_ABSENT, dst);
  builder->job->deps.items[builder->job->deps.count - 1].lag = lag;
}

struct lumos_dep lumos_dep_of_room(const struct lumos_job *job, uint32_t occupant, int32_t share, int64_t behind,
                                   uint32_t task) {
  int64_t length = job->tasks.items[occupant].dur;
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = occupant;
  dep.dst = task;
  dep.kind = LUMOS_RESOURCE;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.lag = -(int64_t)((__int128)length * share / LUMOS_WHOLE_SHARE);
  dep.covers = behind == LUMOS_ABSENT ? LUMOS_ABSENT : length + dep.lag + behind;
  dep.evidence = LUMOS_INFERRED;
  dep.mode = LUMOS_RUN_TIME;
  return dep;
}

void lumos_build_room(struct lumos_builder *builder, struct lumos_built_task occupant, int32_t share, int64_t behind,
                      struct lumos_built_task task) {
  lumos_vector_push(&builder->job->deps, lumos_dep_of_room(builder->job, occupant.number, share, behind, task.number));
}

void lumos_build_collective(struct lumos_builder *builder, uint32_t like, const struct lumos_built_task *members,
                            uint32_t count, int32_t size) {
  struct lumos_job *job = builder->job;
  struct lumos_collective collective = builder->from->collectives.items[like];
  collective.id = (uint32_t)job->collectives.count;
  collective.size = size;
  collective.member_first = (uint32_t)job->members.count;
  collective.member_count = count;
  if (collective.group != LUMOS_NO_STRING && count > 0) {
    collective.group = comm_of(builder, members[0])->group;
  }
  for (uint32_t m = 0; m < count; m++) {
    lumos_vector_push(&job->members, members[m].number);
    close_port(builder, members[m], COLLECTIVE);
  }
  lumos_vector_push(&job->collectives, collective);
}

void lumos_build_alone(struct lumos_builder *builder, struct lumos_built_task task) {
  close_port(builder, task, COLLECTIVE);
}

void lumos_build_transfer(struct lumos_builder *builder, int64_t transfer) {
  struct lumos_collective *collective = &builder->job->collectives.items[builder->job->collectives.count - 1];
  if (collective->transfer != transfer) {
    collective->was = collective->was == LUMOS_ABSENT ? collective->transfer : collective->was;
    collective->transfer = transfer;
    collective->dur_source = LUMOS_MODELLED;
  }
}

void lumos_build_bytes(struct lumos_builder *builder, int64_t bytes) {
  builder->job->collectives.items[builder->job->collectives.count - 1].bytes = bytes;
}

void lumos_build_rule(struct lumos_builder *builder, enum lumos_rule rule, int32_t root) {
  struct lumos_collective *collective = &builder->job->collectives.items[builder->job->collectives.count - 1];
  collective->rule = (uint8_t)rule;
  collective->root = root;
}

void lumos_build_model(struct lumos_builder *builder, const struct lumos_model_description *model) {
  builder->job->models.count = 0;
  lumos_vector_push(&builder->job->models, *model);
}

lumos_string_id lumos_build_common_error(struct lumos_builder *builder, const char *id, const char *name, int32_t sigma,
                                         const char *source) {
  return lumos_job_common_error(builder->job, id, name, sigma, source);
}

void lumos_build_transfer_error(struct lumos_builder *builder, int64_t error, lumos_string_id common) {
  struct lumos_collective *collective = &builder->job->collectives.items[builder->job->collectives.count - 1];
  collective->transfer_error = error;
  collective->common_error = common;
}

/* ---- the end ---- */

static bool refuse_open_port(const struct lumos_builder *builder, struct lumos_error *error) {
  static const char *const ports[] = {"how it comes to its stream", "its first segment",
                                      "the record that it awaits",  "its collective",
                                      "the lane of its event",      "the lane that it awaits"};
  for (size_t t = 0; t < builder->open.count; t++) {
    if (builder->open.items[t] != 0) {
      const struct lumos_job *from = builder->from;
      const struct lumos_task *like = &from->tasks.items[builder->likes.items[t]];
      return lumos_fail(error, "a task like %d:%u is built without %s",
                        from->ranks.items[lumos_rank_of(from, like)].rank, like->id,
                        ports[__builtin_ctz(builder->open.items[t])]);
    }
  }
  return true;
}

/* Ids rise through a rank in the order of its tasks, and of its spans. */
static void number(struct lumos_job *job) {
  for (size_t r = 0; r < job->ranks.count; r++) {
    const struct lumos_rank *rank = &job->ranks.items[r];
    for (uint32_t i = 0; i < rank->task_count; i++) {
      job->tasks.items[rank->task_first + i].id = i;
    }
    for (uint32_t i = 0; i < rank->span_count; i++) {
      job->spans.items[rank->span_first + i].id = i;
    }
  }
}

struct lumos_job *lumos_builder_finish(struct lumos_builder *builder, struct lumos_error *error) {
  struct lumos_job *job = builder->job;
  lumos_ahead_end(builder->ahead);
  builder->ahead = NULL;
  if (!refuse_open_port(builder, error) || !lumos_job_arrange(job, error)) {
    return NULL;
  }
  number(job);
  if (!lumos_job_check(job, error)) {
    return NULL;
  }
  builder->job = NULL;
  return job;
}
