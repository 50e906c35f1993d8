#include "rebuild/library.h"

#include "base/text.h"
#include "cost/transfers.h"
#include "graph/typical.h"
#include <math.h>
#include <string.h>

/* ---- costs ---- */

/* ns, on the library's host: an eight-GPU H100 server that trains with DistributedDataParallel, PyTorch 2.x, NCCL 2.28,
 * under the profiler; medians over 56 collectives of a rank. */
enum { RECORD = 660, WAIT = 1030, LAUNCH = 6890, COLLECTIVE_OP = 85700 };
/* ns, medians of the same job: a kernel on an idle stream, behind another one, and behind an event of another
 * stream. */
enum { LAUNCH_LAG = 1100, GAP = 1540, EVENT_LAG = 2500 };
/* Thousandths of what NCCL's model says, where no transfer was recorded: reduce-scatters and all-gathers of 77 and 151
 * MB among the eight GPUs of that server took 3 to 25 % longer. */
enum { OPTIMISM = 1150 };
enum { ENOUGH = 3 }; /* samples for a mean; chosen */

LUMOS_VECTOR_TYPE(times, int64_t);

struct samples {
  struct times record, wait, launch, send, launch_lag, gap, event_lag, collective_op;
};

static int64_t mean_of(struct times *times, int64_t otherwise) {
  int64_t mean = times->count < ENOUGH ? otherwise : lumos_trimmed_mean(times->items, times->count);
  lumos_vector_free(times);
  return mean;
}

static int64_t own_dur(const struct lumos_job *job, const struct lumos_task *task) {
  int64_t own = lumos_detail_of(job, task)->own_dur;
  return own == LUMOS_ABSENT ? task->dur : own;
}

static void sample_call(const struct lumos_job *job, const struct lumos_task *task, struct samples *samples) {
  const struct lumos_detail *detail = lumos_detail_of(job, task);
  const char *name = lumos_string(job->strings, task->name);
  if (detail->event_op == LUMOS_EVENT_RECORD) {
    lumos_vector_push(&samples->record, task->dur);
  } else if (detail->event_op == LUMOS_EVENT_WAIT) {
    lumos_vector_push(&samples->wait, task->dur);
  } else if (task->kind == LUMOS_LAUNCH && strncmp(name, "cudaLaunchKernel", 16) == 0) {
    lumos_vector_push(&samples->launch, own_dur(job, task));
  }
}

static void sample_device(const struct lumos_job *job, uint32_t t, struct samples *samples) {
  uint32_t call = job->tasks.items[t].call;
  if (call != LUMOS_NONE && job->tasks.items[t].kind == LUMOS_COLLECTIVE) {
    lumos_vector_push(&samples->send, own_dur(job, &job->tasks.items[call]));
  }
  const struct lumos_timing *timing = lumos_timing_of(job, t);
  if (timing->launch_lag != LUMOS_ABSENT && timing->launch_from != LUMOS_START) {
    lumos_vector_push(&samples->launch_lag, timing->launch_lag);
  }
  if (timing->gap != LUMOS_ABSENT) {
    lumos_vector_push(&samples->gap, timing->gap);
  }
}

static void sample_all(const struct lumos_job *job, struct samples *samples) {
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task)) {
      sample_device(job, t, samples);
    } else {
      sample_call(job, task, samples);
    }
  }
  for (size_t d = 0; d < job->deps.count; d++) {
    if (job->deps.items[d].kind == LUMOS_DEP_EVENT) {
      lumos_vector_push(&samples->event_lag, job->deps.items[d].lag);
    }
  }
  for (size_t s = 0; s < job->spans.count; s++) {
    const struct lumos_span *span = &job->spans.items[s];
    if (span->kind == LUMOS_SPAN_OP && strncmp(lumos_string(job->strings, span->name), "c10d::all", 9) == 0) {
      lumos_vector_push(&samples->collective_op, span->dur);
    }
  }
}

/* So that no product of it runs over. */
static int64_t at_most_a_second(int64_t ns) { return ns < 1000000000 ? ns : 1000000000; }

void rebuild_costs_find(struct rebuild_costs *costs, const struct lumos_job *job) {
  struct samples samples = {0};
  sample_all(job, &samples);
  int64_t launch = at_most_a_second(mean_of(&samples.launch, 0));
  int64_t op = at_most_a_second(mean_of(&samples.collective_op, 0));
  int64_t pace = op > 0 ? op * 1000000 / COLLECTIVE_OP : launch > 0 ? launch * 1000000 / LAUNCH : 1000000;
  costs->pace = pace;
  costs->launch = launch > 0 ? launch : LAUNCH * pace / 1000000;
  costs->send = mean_of(&samples.send, costs->launch);
  costs->record = mean_of(&samples.record, RECORD * pace / 1000000);
  costs->wait = mean_of(&samples.wait, WAIT * pace / 1000000);
  costs->launch_lag = mean_of(&samples.launch_lag, LAUNCH_LAG);
  costs->gap = mean_of(&samples.gap, GAP);
  costs->event_lag = mean_of(&samples.event_lag, EVENT_LAG);
}

void rebuild_library_time(struct rebuild_operation *operation, const struct lumos_transfers *transfers,
                          const struct lumos_transfer_shape *shape) {
  struct lumos_duration duration = lumos_transfer_duration(transfers, shape);
  bool pair = lumos_transfer_form_of(shape->op) == LUMOS_PAIRING;
  double longer = duration.source == LUMOS_OF_CONSTANTS && !pair ? OPTIMISM / 1000.0 : 1;
  operation->dur = llround(duration.ns * longer);
  operation->common = fmin(duration.common, 1);
  operation->own = fmin(duration.own, 1);
}

/* ---- programs ---- */

enum does { SPENDS, RECORDS_COMPUTE, AWAITS_COMPUTE, LAUNCHES, RECORDS_DONE };

/* What an asynchronous collective does, and where its time goes on the library's host (ns); %: NCCL's name of it. */
static const struct {
  const char *name;
  enum does does;
  int32_t takes; /* what only spends time */
} start_program[] = {
    {"c10d", SPENDS, 11500},
    {"record_param_comms", SPENDS, 4600},
    {"cudaEventRecord", RECORDS_COMPUTE, 0},
    {"record_param_comms", SPENDS, 2400},
    {"cudaStreamWaitEvent", AWAITS_COMPUTE, 0},
    {"nccl", SPENDS, 18400},
    {"cudaLaunchKernelExC", LAUNCHES, 0},
    {"nccl", SPENDS, 5100},
    {"cudaEventRecord", RECORDS_DONE, 0},
    {"nccl", SPENDS, 19500},
    {"record_param_comms", SPENDS, 12500},
};

/* Before and behind the call that makes the stream wait; ns there. */
enum { BEFORE_WAIT = 4500, BEHIND_WAIT = 9000, BEFORE_KERNEL = 9000, BEHIND_KERNEL = 4000 };

static struct lumos_task task_on(const struct rebuild_library_writer *writer, uint32_t lane, uint8_t kind,
                                 const char *name, int64_t dur) {
  struct lumos_task task = writer->label;
  task.lane = lane;
  task.kind = kind;
  task.name = lumos_intern_text(writer->weave->job->strings, name);
  task.dur = dur;
  task.span = lane == writer->thread ? writer->op : LUMOS_NONE;
  return task;
}

static uint32_t call(struct rebuild_library_writer *writer, uint8_t kind, const char *name, int64_t dur) {
  return rebuild_weave_task(writer->weave, task_on(writer, writer->thread, kind, name, dur), writer->after);
}

static void spend(struct rebuild_library_writer *writer, const char *name, int64_t takes) {
  (void)call(writer, LUMOS_OP, name, takes * writer->costs->pace / 1000000);
}

static struct lumos_detail *detail_at(const struct rebuild_library_writer *writer, uint32_t task) {
  return lumos_task_detail(writer->weave->job, &writer->weave->job->tasks.items[task]);
}

static uint32_t record(struct rebuild_library_writer *writer, uint32_t lane) {
  uint32_t made = call(writer, LUMOS_EVENT, "cudaEventRecord", writer->costs->record);
  struct lumos_detail *detail = detail_at(writer, made);
  detail->event_op = LUMOS_EVENT_RECORD;
  detail->event_lane = lane;
  return made;
}

static void await(struct rebuild_library_writer *writer, uint32_t waiting, uint32_t recorded) {
  uint32_t made = call(writer, LUMOS_EVENT, "cudaStreamWaitEvent", writer->costs->wait);
  uint32_t awaited = detail_at(writer, recorded)->event_lane;
  struct lumos_detail *detail = detail_at(writer, made);
  detail->event_op = LUMOS_EVENT_WAIT;
  detail->event_lane = waiting;
  detail->wait =
      (struct lumos_wait){.on = LUMOS_WAIT_EVENT, .lane = awaited, .record = recorded, .residual = LUMOS_ABSENT};
}

static uint32_t launch(struct rebuild_library_writer *writer, uint32_t lane, const struct rebuild_operation *operation,
                       uint32_t after) {
  struct lumos_job *job = writer->weave->job;
  int64_t takes = lumos_is_communication(operation->kind) ? writer->costs->send : writer->costs->launch;
  uint32_t by = call(writer, LUMOS_LAUNCH, "cudaLaunchKernelExC", takes);
  struct lumos_task task = task_on(writer, lane, operation->kind, operation->kernel, operation->dur);
  task.call = by;
  task.dur_source = LUMOS_MODELLED;
  uint32_t made = rebuild_weave_task(writer->weave, task, after);
  struct lumos_timing *timing = lumos_task_timing(job, &job->tasks.items[made]);
  timing->origin = LUMOS_LAUNCHED;
  timing->launch_lag = writer->costs->launch_lag;
  timing->gap = writer->costs->gap;
  if (lumos_is_communication(operation->kind)) {
    struct lumos_comm *comm = &detail_at(writer, made)->comm;
    comm->op = lumos_intern_text(job->strings, operation->op);
    comm->group = operation->group;
    comm->bytes = operation->bytes;
  }
  return made;
}

void rebuild_library_hold(const struct rebuild_library_writer *writer, uint32_t awaited, uint32_t awaiting,
                          enum lumos_evidence evidence) {
  struct lumos_dep dep = lumos_dep_empty;
  dep.src = awaited;
  dep.dst = awaiting;
  dep.lag = writer->costs->event_lag;
  dep.kind = LUMOS_DEP_EVENT;
  dep.from = LUMOS_END;
  dep.to = LUMOS_START;
  dep.evidence = (uint8_t)evidence;
  dep.mode = LUMOS_RUN_TIME;
  lumos_vector_push(&writer->weave->job->deps, dep);
}

/* What follows belongs to an op of its own, and goes where all goes that it launches, or waits for. */
static void open_op(struct rebuild_library_writer *writer, const char *kind, const char *name) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, kind);
  lumos_text_put(&text, name);
  lumos_text_char(&text, '\0');
  writer->op = rebuild_weave_op(writer->weave, writer->thread, text.bytes, writer->label.start);
  lumos_text_free(&text);
}

uint32_t rebuild_library_start(struct rebuild_library_writer *writer, const struct rebuild_operation *operation,
                               uint32_t computed, uint32_t *done) {
  uint32_t ready = LUMOS_NONE, made = LUMOS_NONE;
  open_op(writer, "c10d::", operation->op);
  if (writer->before > 0) {
    spend(writer, "torch.distributed", writer->before);
  }
  for (size_t i = 0; i < sizeof start_program / sizeof *start_program; i++) {
    switch (start_program[i].does) {
      case SPENDS:
        spend(writer, start_program[i].name, start_program[i].takes);
        break;
      case RECORDS_COMPUTE:
        ready = record(writer, writer->compute);
        break;
      case AWAITS_COMPUTE:
        await(writer, writer->stream, ready);
        break;
      case LAUNCHES:
        made = launch(writer, writer->stream, operation, LUMOS_NONE);
        break;
      case RECORDS_DONE:
        *done = record(writer, writer->stream);
        break;
    }
  }
  if (computed != LUMOS_NONE) {
    rebuild_library_hold(writer, computed, made, LUMOS_RECORDED);
  }
  return made;
}

void rebuild_library_wait(struct rebuild_library_writer *writer, uint32_t done) {
  open_op(writer, "record_param_comms", "");
  spend(writer, "record_param_comms", BEFORE_WAIT);
  await(writer, writer->compute, done);
  spend(writer, "record_param_comms", BEHIND_WAIT + writer->behind);
}

uint32_t rebuild_library_run(struct rebuild_library_writer *writer, const struct rebuild_operation *operation,
                             uint32_t behind) {
  open_op(writer, operation->op, "");
  spend(writer, operation->op, BEFORE_KERNEL);
  uint32_t made = launch(writer, writer->compute, operation, behind);
  spend(writer, operation->op, BEHIND_KERNEL);
  return made;
}

void rebuild_library_join(struct lumos_job *job, const struct rebuild_operation *operation, const uint32_t *members,
                          uint32_t count, int32_t size, enum lumos_rule rule) {
  struct lumos_collective collective = lumos_collective_empty;
  size_t last = job->collectives.count;
  collective.id = last == 0 ? 0 : job->collectives.items[last - 1].id + 1;
  collective.op = lumos_intern_text(job->strings, operation->op);
  collective.group = operation->group;
  collective.rule = (uint8_t)rule;
  collective.matched = rule == LUMOS_SYMMETRIC ? LUMOS_BY_ORDER : LUMOS_BY_PAIR_ORDER;
  collective.size = size;
  collective.bytes = operation->bytes;
  collective.transfer = operation->dur;
  collective.dur_source = LUMOS_MODELLED;
  if (operation->common > 0) {
    collective.common_error =
        lumos_job_common_error(job, REBUILD_LIBRARY_ERROR, REBUILD_LIBRARY_NAME,
                               (int32_t)lround(operation->common * LUMOS_WHOLE_SHARE), REBUILD_LIBRARY_SOURCE);
    collective.transfer_error = llround(operation->own * (double)operation->dur);
  }
  collective.member_first = (uint32_t)job->members.count;
  collective.member_count = count;
  for (uint32_t m = 0; m < count; m++) {
    lumos_vector_push(&job->members, members[m]);
  }
  lumos_vector_push(&job->collectives, collective);
}
