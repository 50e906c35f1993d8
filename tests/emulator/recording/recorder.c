/* Looks on while the machine runs, and keeps what a profiler would see: host rows that begin within the window, device
 * rows that start within it, whoever launched them; which of these the trace shows is known when it is written
 * (rows.h). Of Python frames it keeps those that reach into the window: the profiler walks the stack when it starts.
 */
#include "recorder.h"

#include "chance.h"
#include "rows.h"

#include <stdlib.h>
#include <string.h>

static uint32_t add_name(struct recorder *recorder, const char *name) {
  return name == NULL ? NONE : pool_add(&recorder->names, name, strlen(name) + 1);
}

/* A copy whose gaps are zero, so that equal messages are equal bytes. */
static uint32_t add_message(struct recorder *recorder, const struct message *message) {
  if (message == NULL) {
    return NONE;
  }
  struct message copy;
  memset(&copy, 0, sizeof copy);
  copy.communicator = message->communicator;
  copy.collective = message->collective;
  copy.float32 = message->float32;
  copy.integers = message->integers;
  copy.elements_in = message->elements_in;
  copy.elements_out = message->elements_out;
  copy.inner[0] = message->inner[0];
  copy.inner[1] = message->inner[1];
  copy.split = message->split;
  copy.bytes = message->bytes;
  copy.root = message->root;
  copy.parts = message->parts;
  copy.follows = message->follows;
  for (int i = 0; i < message->parts; i++) {
    copy.part[i].peer = message->part[i].peer;
    copy.part[i].send = message->part[i].send;
    copy.part[i].bytes = message->part[i].bytes;
  }
  return pool_add(&recorder->messages, &copy, sizeof copy);
}

static uint32_t add_shape(struct recorder *recorder, const struct work *work) {
  bool moves = work->kind >= WORK_COPY_TO_DEVICE && work->kind <= WORK_MEMSET;
  struct shape shape;
  memset(&shape, 0, sizeof shape);
  shape.bytes = moves ? work->bytes : 0;
  shape.name = add_name(recorder, work->name != NULL ? work->name : "");
  shape.kind = work->kind;
  shape.registers = work->registers;
  shape.shared_memory = work->shared_memory;
  shape.threads = work->threads;
  for (int i = 0; i < 3; i++) {
    shape.grid[i] = work->grid[i];
  }
  return pool_add(&recorder->shapes, &shape, sizeof shape);
}

static struct rank_rows *rows_of(const struct recorder *recorder, int rank) {
  return recorder->place[rank] < 0 ? NULL : &recorder->rows[recorder->place[rank]];
}

int communicator_place(const struct communicator *communicator, int rank) {
  int place = 0;
  while (place < communicator->size - 1 && communicator->ranks[place] != rank) {
    place++;
  }
  return place;
}

static bool within(const struct rank_rows *rows, int64_t time) { return time >= rows->start && time < rows->stop; }

/* ---- the witness ---- */

static struct recorder *recorder_of(void *self) { return ((struct run *)self)->recorder; }

/* Steps, loaders' iterators and NCCL's operations are always annotated; what the program adds, where that is
 * recorded. */
static bool keeps_frame(const struct recorder *recorder, const struct host_record *record) {
  unsigned recorded = recorder->setup->recorded;
  enum form form = recorder->setup->form;
  if (form == FORM_CUDA) {
    return false;
  }
  switch (record->frame) {
    case FRAME_OP:
      return form != FORM_2022 || strcmp(record->name, "record_param_comms") != 0;
    case FRAME_ANNOTATION:
      return (recorded & RECORD_ANNOTATIONS) != 0 || strncmp(record->name, "ProfilerStep#", 13) == 0 ||
             strncmp(record->name, "nccl:", 5) == 0 || strncmp(record->name, "enumerate(DataLoader)#", 22) == 0;
    case FRAME_PYTHON:
    case FRAME_MODULE:
      return (recorded & RECORD_STACKS) != 0;
  }
  return false;
}

/* The annotation of a send or receive names both ranks, by their places in the group. */
static uint32_t add_title(struct recorder *recorder, const struct host_record *record) {
  const struct message *message = record->facts != NULL ? record->facts->message : NULL;
  if (record->frame != FRAME_ANNOTATION || message == NULL || message->collective != SEND_RECEIVE) {
    return add_name(recorder, record->name);
  }
  const struct communicator *communicator = &recorder->communicators[message->communicator];
  char title[64];
  snprintf(title, sizeof title, "%s %d%s%d", record->name, communicator_place(communicator, record->rank),
           message->part[0].send ? "->" : "<-", communicator_place(communicator, message->part[0].peer));
  return add_name(recorder, title);
}

static uint32_t add_inputs(struct recorder *recorder, const struct op_facts *facts) {
  if (facts == NULL || (recorder->setup->recorded & RECORD_SHAPES) == 0) {
    return NONE;
  }
  if (facts->elements > 0) {
    char vector[32];
    snprintf(vector, sizeof vector, "float[%lld]", (long long)facts->elements);
    return add_name(recorder, vector);
  }
  return add_name(recorder, facts->inputs);
}

static void see_frame(struct recorder *recorder, struct rank_rows *rows, const struct host_record *record) {
  bool reaches_in = record->frame >= FRAME_PYTHON && record->start < rows->stop && record->end > rows->start;
  if (!keeps_frame(recorder, record) || !(reaches_in || within(rows, record->start))) {
    return;
  }
  const struct op_facts *facts = record->facts;
  PUSH(rows->frames, (struct frame_row){
                         .start = record->start > rows->start ? record->start : rows->start,
                         .end = record->end < rows->stop ? record->end : rows->stop,
                         .sequence = facts != NULL ? facts->sequence : -1,
                         .name = add_title(recorder, record),
                         .number = (uint32_t)record->number,
                         .inputs = add_inputs(recorder, facts),
                         .message = facts != NULL ? add_message(recorder, facts->message) : NONE,
                         .thread = (uint8_t)record->thread,
                         .frame = (uint8_t)record->frame,
                         .forward_thread = facts != NULL ? facts->forward_thread : 0,
                     });
}

static void see_host(void *self, const struct host_record *record) {
  struct recorder *recorder = recorder_of(self);
  struct rank_rows *rows = rows_of(recorder, record->rank);
  if (rows == NULL) {
    return;
  }
  if (!record->is_call) {
    see_frame(recorder, rows, record);
  } else if (within(rows, record->start)) {
    PUSH(rows->calls, (struct call_row){
                          .start = record->start,
                          .end = record->end,
                          .op = (uint32_t)record->number,
                          .correlation = record->correlation,
                          .awaited = record->awaited,
                          .nodes = record->nodes,
                          .event = (uint16_t)record->event,
                          .thread = (uint8_t)record->thread,
                          .call = (uint8_t)record->call,
                          .stream = (uint8_t)record->stream,
                          .awaited_stream = (uint8_t)record->awaited_stream,
                      });
  }
}

/* Work that was launched before the recording, and all kernels but a sample, where setup says so. */
static bool is_unseen(const struct recorder *recorder, const struct rank_rows *rows,
                      const struct device_record *record) {
  const struct setup *setup = recorder->setup;
  bool is_kernel = record->work->kind < WORK_COPY_TO_DEVICE || record->work->kind > WORK_MEMSET;
  uint64_t place = chance_place(chance_place(setup->seed, (uint64_t)record->rank), record->correlation);
  return (setup->unseen && record->call_end < rows->start) ||
         (is_kernel && setup->sample > 1 && chance_uniform(chance_place(place, 's')) * setup->sample >= 1);
}

static void see_device(void *self, const struct device_record *record) {
  struct recorder *recorder = recorder_of(self);
  struct rank_rows *rows = rows_of(recorder, record->rank);
  if (rows == NULL) {
    return;
  }
  const struct work *work = record->work;
  if (is_unseen(recorder, rows, record)) {
    return;
  }
  if (within(rows, record->start) || is_shown(rows, record->start, record->end)) {
    PUSH(rows->device, (struct device_row){
                           .ready = record->ready,
                           .start = record->start,
                           .end = record->end,
                           .sequence = record->sequence,
                           .correlation = record->correlation,
                           .graph = record->graph,
                           .node = record->node,
                           .op = (uint32_t)record->op,
                           .shape = add_shape(recorder, work),
                           .message = add_message(recorder, work->message),
                           .micro_batch = work->label.micro_batch,
                           .layer = work->label.layer,
                           .stream = (uint8_t)record->stream,
                           .phase = work->label.phase,
                           .part = work->label.part,
                       });
  } else if (work->kind == WORK_P2P && record->start < rows->start) {
    rows->p2p_before[work->message->communicator]++;
  }
}

static void see_reach(void *self, int rank, enum stream stream, uint32_t correlation, int64_t time) {
  const struct recorder *recorder = recorder_of(self);
  struct rank_rows *rows = rows_of(recorder, rank);
  if (rows != NULL && (recorder->setup->recorded & RECORD_SYNC) != 0 && within(rows, time)) {
    PUSH(rows->reaches, (struct reach_row){time, correlation, (uint8_t)stream});
  }
}

/* Kept if a recorded rank's part of it is. */
static void see_transfer(void *self, const struct transfer_record *record) {
  struct recorder *recorder = recorder_of(self);
  bool seen = false;
  for (int i = 0; i < record->members; i++) {
    const struct rank_rows *rows = rows_of(recorder, record->ranks[i]);
    seen = seen ||
           (rows != NULL && (within(rows, record->starts[i]) || is_shown(rows, record->starts[i], record->ends[i])));
  }
  if (!seen) {
    return;
  }
  PUSH(recorder->transfers, (struct transfer_row){
                                .communicator = record->communicator,
                                .source = record->source,
                                .destination = record->destination,
                                .step = record->step,
                                .collective = (uint8_t)record->collective,
                                .sequence = record->sequence,
                                .bytes = record->bytes,
                                .begin = record->begin,
                                .end = record->end,
                                .first = recorder->member_ranks.count,
                                .members = (size_t)record->members,
                            });
  for (int i = 0; i < record->members; i++) {
    PUSH(recorder->member_ranks, record->ranks[i]);
    PUSH(recorder->member_starts, record->starts[i]);
    PUSH(recorder->member_ends, record->ends[i]);
    PUSH(recorder->member_correlations, record->correlations[i]);
    PUSH(recorder->member_nodes, record->nodes[i]);
  }
}

static void see_edge(void *self, const struct edge_record *record) {
  struct rank_rows *rows = rows_of(recorder_of(self), record->rank);
  if (rows != NULL && rows->start != INT64_MAX) {
    PUSH(rows->edges, (struct edge_row){record->from, record->to, record->binding});
  }
}

static void see_step(void *self, const struct step_record *record) {
  const struct run *run = self;
  PUSH(run->recorder->steps[run->number], *record);
}

static void see_memory(void *self, const struct memory_record *record) {
  struct rank_rows *rows = rows_of(recorder_of(self), record->rank);
  if (rows != NULL && within(rows, record->time)) {
    PUSH(rows->memory, (struct memory_row){record->time, record->bytes, record->allocated, (uint8_t)record->thread});
  }
}

static void see_profile(void *self, int rank, bool start, int64_t time) {
  struct rank_rows *rows = rows_of(recorder_of(self), rank);
  if (rows != NULL) {
    *(start ? &rows->start : &rows->stop) = time;
  }
}

/* ---- the recorder ---- */

struct recorder *recorder_new(const struct setup *setup, const struct communicator *communicators,
                              int communicator_count) {
  struct recorder *recorder = memory_new(1, sizeof *recorder);
  recorder->setup = setup;
  recorder->communicators = communicators;
  recorder->communicator_count = communicator_count;
  recorder->ranks = setup_ranks(setup);
  recorder->place = memory_new((size_t)recorder->ranks, sizeof *recorder->place);
  for (int rank = 0; rank < recorder->ranks; rank++) {
    recorder->place[rank] = setup->record_rank[rank] ? recorder->recorded++ : -1;
  }
  recorder->rows = memory_new((size_t)recorder->recorded, sizeof *recorder->rows);
  for (int rank = 0; rank < recorder->ranks; rank++) {
    struct rank_rows *rows = rows_of(recorder, rank);
    if (rows != NULL) {
      rows->rank = rank;
      rows->clock = clock_of(setup, rank);
      rows->start = rows->stop = INT64_MAX;
      rows->p2p_before = memory_new((size_t)communicator_count, sizeof *rows->p2p_before);
    }
  }
  for (int run = 0; run < RUNS; run++) {
    recorder->runs[run] = (struct run){recorder, run};
  }
  return recorder;
}

void recorder_free(struct recorder *recorder) {
  if (recorder == NULL) {
    return;
  }
  for (int i = 0; i < recorder->recorded; i++) {
    struct rank_rows *rows = &recorder->rows[i];
    free(rows->frames.items);
    free(rows->calls.items);
    free(rows->device.items);
    free(rows->reaches.items);
    free(rows->edges.items);
    free(rows->memory.items);
    free(rows->p2p_before);
  }
  pool_free(&recorder->names);
  pool_free(&recorder->shapes);
  pool_free(&recorder->messages);
  free(recorder->transfers.items);
  free(recorder->member_ranks.items);
  free(recorder->member_starts.items);
  free(recorder->member_ends.items);
  free(recorder->member_correlations.items);
  free(recorder->member_nodes.items);
  for (int run = 0; run < RUNS; run++) {
    free(recorder->steps[run].items);
  }
  free(recorder->rows);
  free(recorder->place);
  free(recorder);
}

struct witness recorder_witness(struct recorder *recorder, bool profiled) {
  struct witness witness = {.self = &recorder->runs[profiled ? PROFILED : UNPROFILED], .step = see_step};
  if (profiled) {
    witness.host = see_host;
    witness.device = see_device;
    witness.reach = see_reach;
    witness.transfer = see_transfer;
    witness.edge = see_edge;
    witness.profile = see_profile;
    witness.memory = see_memory;
  }
  return witness;
}

bool recorder_write(const struct recorder *recorder) {
  for (int i = 0; i < recorder->recorded; i++) {
    if (!kineto_write(recorder, &recorder->rows[i])) {
      return false;
    }
  }
  return truth_write(recorder);
}

void recorder_tell(const struct recorder *recorder, FILE *file) { truth_tell(recorder, file); }
