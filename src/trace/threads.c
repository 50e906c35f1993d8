/* A thread's rows nest: annotations, modules and ops enclose each other and the calls. The walk keeps the rows that are
 * open on a stack and cuts the thread's time into exclusive segments of the innermost op or call; each is a task. Rows
 * that cross instead of nesting are repaired by the smallest change, so segments never overlap, and lag + dur along a
 * thread give every start again.
 */
#include "trace/build.h"
#include "trace/order.h"
#include <assert.h>
#include <lumos/trace.h>
#include <stdlib.h>
#include <string.h>

/* A row on the stack. */
struct open {
  const struct trace_host *row;
  int64_t start, end; /* as repaired */
  int64_t mark;       /* the step it starts in */
  int64_t segment;    /* op or call: where its running segment starts */
  size_t worker;      /* depth of the innermost op or call, this one included; NO_WORKER */
  uint32_t span;      /* its own, or of the row around it (calls); valid in the written part of the stack */
  uint32_t first_task, last_task;
  uint32_t pieces;    /* segments cut so far, wanted or not */
  lumos_string_id op; /* the innermost op, this one included */
  uint32_t comm;
  lumos_string_id collective;        /* the innermost row called nccl:SOMETHING, this one included */
  uint32_t batch_first, batch_count; /* of the innermost batch, this row included */
};
static const size_t NO_WORKER = SIZE_MAX;

struct thread {
  struct trace_build *build;
  uint32_t lane; /* in the trace */
  LUMOS_VECTOR(struct open) stack;
  size_t written;   /* rows at the bottom of the stack whose spans are in the job */
  int64_t last_end; /* of the last task; LUMOS_ABSENT before the first */
  uint32_t next_seq;
  int64_t mark, mark_start, mark_end; /* the last answer of trace_mark_at, which holds in [mark_start, mark_end) */
  size_t batch_first;                 /* sends and receives whose launch has not come: from here on in build->batched */
};

static bool works(const struct trace_host *row) {
  return row->class == TRACE_OP || row->class == TRACE_CALL || row->alone;
}

static struct open *top_of(struct thread *thread) {
  return thread->stack.count > 0 ? &thread->stack.items[thread->stack.count - 1] : NULL;
}

static enum lumos_span_kind span_kind(uint8_t class) {
  switch (class) {
    case TRACE_STEP:
      return LUMOS_SPAN_STEP;
    case TRACE_ANNOTATION:
      return LUMOS_SPAN_ANNOTATION;
    case TRACE_PYTHON:
      return LUMOS_SPAN_PYTHON;
    case TRACE_MODULE:
      return LUMOS_SPAN_MODULE;
    default:
      return LUMOS_SPAN_OP;
  }
}

/* Write the spans of the lowest `depth` rows that have none yet. */
static void write_spans(struct thread *thread, size_t depth) {
  struct lumos_job *job = thread->build->job;
  for (; thread->written < depth; thread->written++) {
    struct open *open = &thread->stack.items[thread->written];
    uint32_t parent = thread->written > 0 ? open[-1].span : LUMOS_NONE;
    open->span = parent;
    if (open->row->class == TRACE_CALL) {
      continue;
    }
    struct lumos_span span = lumos_span_empty;
    span.kind = (uint8_t)span_kind(open->row->class);
    span.rank = 0;
    span.lane = lumos_trace_job_lane(thread->build, thread->lane);
    span.name = open->row->name;
    span.start = open->start;
    span.parent = parent;
    span.shapes = open->row->shapes;
    span.dtypes = open->row->dtypes;
    open->span = (uint32_t)job->spans.count;
    span.id = open->span;
    if (open->row->class == TRACE_OP && open->row->key != LUMOS_ABSENT) {
      span.sequence = open->row->key;
      lumos_vector_push(&thread->build->gradients,
                        ((struct trace_gradient){open->row->key, open->start, open->span, open->row->forward_thread}));
    }
    lumos_vector_push(&job->spans, span);
  }
}

/* trace_mark_at, which the segment before nearly always knows. */
static int64_t mark_of(struct thread *thread, int64_t time) {
  if (time < thread->mark_start || time >= thread->mark_end) {
    const struct trace_steps *steps = thread->build->steps;
    thread->mark = trace_mark_at(steps, time);
    thread->mark_start = thread->mark_end =
        time; /* before the first mark and behind the last one no stretch is known */
    if (thread->mark >= 0 && thread->mark < (int64_t)steps->marks.count) {
      thread->mark_start = steps->marks.items[thread->mark].start;
      thread->mark_end = steps->marks.items[thread->mark].end;
    }
  }
  return thread->mark;
}

static void extend_mark(struct trace_steps *steps, int64_t mark, int64_t start, int64_t end) {
  if (mark < 0 || mark >= (int64_t)steps->marks.count) {
    return;
  }
  struct trace_mark *held = &steps->marks.items[mark];
  held->host_start = held->host_start == LUMOS_ABSENT || start < held->host_start ? start : held->host_start;
  held->host_end = held->host_end == LUMOS_ABSENT || end > held->host_end ? end : held->host_end;
}

/* What a call's name says, if it is known to be a call. */
static const struct trace_call_rule *call_rule(struct trace_build *build, const struct trace_host *row) {
  static const struct trace_call_rule other = {"", LUMOS_OTHER_HOST, 0, 0};
  return row->other ? &other : lumos_trace_rule_of(build, row->name);
}

/* The segment [open->segment, end) of the row at `depth` becomes a task, where its step is wanted. */
static void emit(struct thread *thread, size_t depth, int64_t end) {
  struct open *open = &thread->stack.items[depth];
  struct trace_build *build = thread->build;
  struct lumos_job *job = build->job;
  bool is_call = open->row->class == TRACE_CALL;
  int64_t mark = is_call ? open->mark : mark_of(thread, open->segment); /* a call stays whole */
  open->pieces++;
  extend_mark(build->steps, mark, open->segment, end);
  if (!trace_mark_wanted(build->steps, mark)) {
    return;
  }
  write_spans(thread, depth + 1);
  open->last_task = (uint32_t)job->tasks.count;
  open->first_task = open->first_task == LUMOS_NONE ? open->last_task : open->first_task;
  lumos_vector_push(&job->tasks, lumos_task_empty);
  struct lumos_task *task = &job->tasks.items[open->last_task];
  task->id = open->last_task;
  task->start = open->segment;
  task->dur = end - open->segment;
  task->lag = thread->last_end == LUMOS_ABSENT ? 0 : open->segment - thread->last_end;
  assert(task->lag >= 0);
  task->lane = lumos_trace_job_lane(build, thread->lane);
  task->seq = thread->next_seq++;
  task->kind = (uint8_t)(is_call ? call_rule(build, open->row)->kind : LUMOS_OP);
  task->name = open->row->name;
  task->step = (int32_t)build->steps->marks.items[mark].number;
  task->span = open->span;
  thread->last_end = end;
}

/* The running segment of the innermost op or call up to `depth` ends at `at`: something begins inside it. A call shows
 * its first segment even when that is empty, so that it starts where it started. */
static void cut_worker(struct thread *thread, size_t depth, int64_t at) {
  size_t worker = thread->stack.items[depth].worker;
  if (worker == NO_WORKER) {
    return;
  }
  struct open *open = &thread->stack.items[worker];
  if (at > open->segment || (open->row->class == TRACE_CALL && open->pieces == 0)) {
    emit(thread, worker, at);
  }
  thread->stack.items[worker].segment = at;
}

static uint32_t keep_detail(struct trace_build *build, const struct open *open) {
  if (open->comm == LUMOS_NONE && open->collective == LUMOS_NO_STRING && open->batch_count == 0 && !open->row->other) {
    return LUMOS_NONE;
  }
  lumos_vector_push(&build->call_details, ((struct trace_call_detail){open->comm, open->collective, open->batch_first,
                                                                      open->batch_count, open->row->other}));
  return (uint32_t)(build->call_details.count - 1);
}

struct trace_call_detail lumos_trace_detail_of_call(const struct trace_build *build, const struct trace_call *call) {
  return call != NULL && call->detail != LUMOS_NONE ? build->call_details.items[call->detail]
                                                    : (struct trace_call_detail){.comm = LUMOS_NONE};
}

/* What a call's last segment knows beside the others: where the call began, and what its name says that it waits
 * for. */
static void finish_call(struct thread *thread, const struct open *open) {
  struct trace_build *build = thread->build;
  struct lumos_job *job = build->job;
  const struct trace_call_rule *rule = call_rule(build, open->row);
  bool cut = open->last_task != open->first_task;
  if (open->last_task != LUMOS_NONE && (cut || rule->wait != 0 || rule->event != 0)) {
    struct lumos_detail *detail = lumos_task_detail(job, &job->tasks.items[open->last_task]);
    detail->first_segment = cut ? open->first_task : LUMOS_NONE;
    detail->wait.on = (uint8_t)rule->wait;
    detail->event_op = (uint8_t)rule->event;
  }
  if (open->row->key != LUMOS_ABSENT) {
    lumos_vector_push(&build->calls, ((struct trace_call){open->row->key, open->start, (int32_t)open->mark,
                                                          open->last_task, open->op, keep_detail(build, open)}));
  }
}

/* The row that is closed became a task or a span, or is left out. */
static void count_row(const struct thread *thread, const struct open *open) {
  struct trace_build *build = thread->build;
  bool is_call = open->row->class == TRACE_CALL;
  if (is_call ? open->last_task != LUMOS_NONE : thread->written >= thread->stack.count) {
    build->kept_calls += is_call;
    return;
  }
  build->left_host++;
  build->outside_host += open->mark < 0 || open->mark >= (int64_t)build->steps->marks.count;
}

/* The innermost row ends. A call always shows its last segment. */
static void close_top(struct thread *thread) {
  size_t depth = thread->stack.count - 1;
  struct open *open = top_of(thread);
  int64_t end = open->end;
  if (works(open->row)) {
    if (end > open->segment || open->row->class == TRACE_CALL) {
      emit(thread, depth, end);
    }
    if (open->row->class == TRACE_CALL) {
      finish_call(thread, open);
    }
  }
  count_row(thread, open);
  if (thread->written > depth) {
    thread->written = depth;
    if (open->row->class != TRACE_CALL) {
      thread->build->job->spans.items[open->span].dur = end - open->start;
    }
  }
  bool worked = works(open->row);
  thread->stack.count--;
  if (worked && depth > 0 && thread->stack.items[depth - 1].worker != NO_WORKER) {
    thread->stack.items[thread->stack.items[depth - 1].worker].segment = end;
  }
}

static bool names_collective(const struct thread *thread, const struct trace_host *row) {
  return (row->class == TRACE_ANNOTATION || row->class == TRACE_OP) &&
         strncmp(lumos_string(thread->build->job->strings, row->name), "nccl:", 5) == 0;
}

static bool starts_with(const struct thread *thread, lumos_string_id text, const char *start) {
  return strncmp(lumos_string(thread->build->job->strings, text), start, strlen(start)) == 0;
}

/* Batched sends and receives are recorded one by one, but launched together behind them, in an annotation of its own
 * and no op. One that has an annotation inside it is not of a batch: it launches by itself. */
static void note_batch(struct thread *thread, struct open *open) {
  struct trace_build *build = thread->build;
  const struct trace_host *row = open->row;
  if (row->class == TRACE_OP && row->comm != LUMOS_NONE) {
    lumos_string_id collective = build->trace->comms.items[row->comm].collective;
    if (starts_with(thread, collective, "send") || starts_with(thread, collective, "recv")) {
      lumos_vector_push(&build->batched, row->comm);
    }
  } else if (open->collective == row->name && starts_with(thread, row->name, "nccl:coalesced")) {
    open->batch_first = (uint32_t)thread->batch_first;
    open->batch_count = (uint32_t)(build->batched.count - thread->batch_first);
    thread->batch_first = build->batched.count;
  } else if (open->collective == row->name && build->batched.count > thread->batch_first &&
             build->batched.items[build->batched.count - 1] == open->comm) {
    build->batched.count--;
  }
}

static void push_row(struct thread *thread, const struct trace_host *row, int64_t start, int64_t end) {
  size_t depth = thread->stack.count;
  const struct open *below = top_of(thread);
  struct open open = {
      .row = row,
      .start = start,
      .end = end,
      .mark = mark_of(thread, start),
      .segment = start,
      .worker = works(row)      ? depth
                : below != NULL ? below->worker
                                : NO_WORKER,
      .span = LUMOS_NONE,
      .first_task = LUMOS_NONE,
      .last_task = LUMOS_NONE,
      .op = row->class == TRACE_OP ? row->name
            : below != NULL        ? below->op
                                   : LUMOS_NO_STRING,
      .comm = row->comm != LUMOS_NONE ? row->comm
              : below != NULL         ? below->comm
                                      : LUMOS_NONE,
      .collective = names_collective(thread, row) ? row->name
                    : below != NULL               ? below->collective
                                                  : LUMOS_NO_STRING,
      .batch_first = below != NULL ? below->batch_first : 0,
      .batch_count = below != NULL ? below->batch_count : 0,
  };
  note_batch(thread, &open);
  if (works(row) && depth > 0) {
    cut_worker(thread, depth - 1, start);
  }
  lumos_vector_push(&thread->stack, open);
  if (trace_mark_wanted(thread->build->steps, open.mark)) {
    write_spans(thread, depth + (row->class != TRACE_CALL));
  }
}

/* Does `open` hold a row that starts at `start`? Instants at the end of an op belong to it: microseconds are
 * rounded. */
static bool holds(const struct open *open, const struct trace_host *row, int64_t start, int64_t end) {
  if (start != open->end) {
    return start < open->end;
  }
  return start == end && open->row->class != TRACE_CALL && (open->start < open->end || open->row->class < row->class);
}

static void close_until(struct thread *thread, const struct trace_host *row, int64_t start, int64_t end) {
  while (thread->stack.count > 0 && !holds(top_of(thread), row, start, end)) {
    close_top(thread);
  }
}

/* A call in which nothing has begun yet. */
static bool is_fresh_call(const struct open *open) { return open->row->class == TRACE_CALL && open->pieces == 0; }

/* Take a fresh call off the stack as if it had not come. */
static void take_top(struct thread *thread) {
  thread->stack.count--;
  thread->written = thread->written < thread->stack.count ? thread->written : thread->stack.count;
}

/* The op that a call cut before it was taken off was not cut: its last segment runs on. */
static void undo_cut(struct thread *thread) {
  struct lumos_job *job = thread->build->job;
  const struct open *top = top_of(thread);
  struct open *open = top != NULL && top->worker != NO_WORKER ? &thread->stack.items[top->worker] : NULL;
  if (open == NULL || open->row->class != TRACE_OP || open->last_task == LUMOS_NONE ||
      open->last_task + 1 != job->tasks.count) {
    return;
  }
  const struct lumos_task *task = &job->tasks.items[open->last_task];
  if (task->start + task->dur == open->segment) {
    open->segment = task->start;
    open->pieces--;
    open->first_task = open->first_task == open->last_task ? LUMOS_NONE : open->first_task;
    open->last_task = LUMOS_NONE;
    thread->next_seq = task->seq;
    thread->last_end = task->seq == 0 ? LUMOS_ABSENT : task->start - task->lag;
    job->tasks.count--;
  }
}

/* Is `row` a call of no length at the very start of the call `open`? Then it came first: microseconds are rounded. */
static bool begins_with(const struct open *open, const struct trace_host *row, int64_t end) {
  return open != NULL && is_fresh_call(open) && row->class == TRACE_CALL && row->start == end &&
         open->start == row->start && open->end > open->start;
}

/* A row crosses the end of the innermost open one: what is the smallest change that makes them nest? */
enum repair { CUT_OPEN, CUT_ROW, MOVE_CALL_INSIDE };

static enum repair choose_repair(const struct open *open, const struct trace_host *row, bool may_move) {
  int64_t shared = open->end - row->start;
  int64_t beyond = row->end - open->end;
  if (may_move && row->class == TRACE_OP && is_fresh_call(open) && row->start - open->start < shared) {
    return MOVE_CALL_INSIDE; /* an op holds its calls, never the reverse */
  }
  bool yields = !works(open->row) && works(row); /* annotations give way to work */
  return yields || shared <= beyond ? CUT_OPEN : CUT_ROW;
}

/* The row joins the stack, once nothing on it is crossed any more. */
static void add_row(struct thread *thread, const struct trace_host *row) {
  struct lumos_coverage *coverage = &thread->build->rank->coverage;
  const struct trace_host *moved = NULL; /* a call that goes inside the row */
  int64_t moved_end = 0;
  int64_t end = row->end;
  for (;;) {
    close_until(thread, row, row->start, end);
    struct open *open = top_of(thread);
    if (open == NULL || end <= open->end) {
      break;
    }
    coverage->crossing++;
    coverage->repaired++;
    switch (choose_repair(open, row, moved == NULL)) {
      case CUT_OPEN:
        open->end = row->start;
        break;
      case CUT_ROW:
        end = open->end;
        break;
      case MOVE_CALL_INSIDE:
        moved = open->row;
        moved_end = open->end;
        take_top(thread);
        undo_cut(thread);
        break;
    }
  }
  if (begins_with(top_of(thread), row, end)) {
    const struct open call = *top_of(thread);
    take_top(thread);
    push_row(thread, row, row->start, end);
    close_top(thread);
    push_row(thread, call.row, call.start, call.end);
    return;
  }
  push_row(thread, row, row->start, end);
  if (moved != NULL) {
    push_row(thread, moved, row->start, moved_end < end ? moved_end : end);
  }
}

/* The first row, up to `end`, that is still needed: one that is open, or none. */
static struct trace_host *first_open(const struct thread *thread, struct trace_host *end) {
  size_t first = (size_t)(end - thread->build->trace->host.items);
  for (size_t i = 0; i < thread->stack.count; i++) {
    size_t row = (size_t)(thread->stack.items[i].row - thread->build->trace->host.items);
    first = row < first ? row : first;
  }
  return &thread->build->trace->host.items[first];
}

/* Many rows are given back as tasks are made of them, lest both be in memory; few serve again as they are. */
static void build_thread(struct trace_build *build, uint32_t lane) {
  const struct trace *trace = build->trace;
  struct trace_host *end = trace->host.items + trace->host_order.first[lane + 1];
  struct trace_host *kept = trace->host.items + trace->host_order.first[lane];
  struct thread thread = {.build = build, .lane = lane, .last_end = LUMOS_ABSENT, .batch_first = build->batched.count};
  for (struct trace_host *row = kept; row < end; row++) {
    add_row(&thread, row);
    if ((row + 1 - kept) % TRACE_GIVEN_BACK_AT_ONCE == 0) {
      struct trace_host *needed = first_open(&thread, row + 1);
      lumos_release(kept, needed);
      kept = needed;
    }
  }
  while (thread.stack.count > 0) {
    close_top(&thread);
  }
  if (end - kept >= TRACE_GIVEN_BACK_AT_ONCE) {
    lumos_release(kept, end);
  }
  lumos_vector_free(&thread.stack);
}

static bool called_before(const void *rows, uint32_t a, uint32_t b) {
  const struct trace_build *build = rows;
  const struct trace_call *left = &build->calls.items[a];
  const struct trace_call *right = &build->calls.items[b];
  if (left->correlation != right->correlation) {
    return left->correlation < right->correlation;
  }
  bool right_other = lumos_trace_detail_of_call(build, right).other;
  if (lumos_trace_detail_of_call(build, left).other != right_other) {
    return right_other;
  }
  return left->start != right->start ? left->start < right->start : left->task < right->task;
}

/* Ids rise with time, so the calls of a thread come in order, or nearly. */
static void sort_calls(struct trace_build *build) {
  size_t count = build->calls.count;
  size_t in_order = 1;
  while (in_order < count && !called_before(build, (uint32_t)in_order, (uint32_t)in_order - 1)) {
    in_order++;
  }
  if (in_order >= count) {
    return;
  }
  uint32_t *order = lumos_allocate(count * sizeof *order);
  for (size_t i = 0; i < count; i++) {
    order[i] = (uint32_t)i;
  }
  lumos_trace_sort(order, count, called_before, build);
  struct trace_call *sorted = lumos_allocate(count * sizeof *sorted);
  for (size_t i = 0; i < count; i++) {
    sorted[i] = build->calls.items[order[i]];
  }
  free(order);
  lumos_vector_free(&build->calls);
  build->calls.items = sorted;
  build->calls.count = build->calls.capacity = count;
}

/* Room for what the rows become, so that it is not moved as it grows: a row is cut once by most of what it holds. What
 * is not needed is never touched. */
static void make_room(struct trace_build *build) {
  const struct trace *trace = build->trace;
  size_t spans = 0;
  for (size_t i = 0; i < trace->host.count; i++) {
    spans += trace->host.items[i].class != TRACE_CALL;
  }
  lumos_vector_reserve(&build->job->spans, spans);
  lumos_vector_reserve(&build->job->tasks, 2 * trace->host.count + trace->device.count);
  lumos_vector_reserve(&build->calls, trace->host.count - spans);
}

void lumos_trace_build_threads(struct trace_build *build, const uint32_t *sorted_lanes) {
  build->first_work = INT64_MAX;
  for (size_t i = 0; i < build->trace->host.count; i++) {
    const struct trace_host *row = &build->trace->host.items[i];
    build->first_work = works(row) && row->start < build->first_work ? row->start : build->first_work;
  }
  make_room(build);
  lumos_trace_settle_host(build->trace);
  for (size_t i = 0; i < build->trace->lanes.count; i++) {
    if (build->trace->lanes.items[sorted_lanes[i]].kind == LUMOS_THREAD) {
      build_thread(build, sorted_lanes[i]);
    }
  }
  sort_calls(build);
}

const struct trace_call *lumos_trace_call_up_to(const struct trace_build *build, int64_t correlation) {
  size_t low = 0;
  size_t high = build->calls.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (build->calls.items[middle].correlation < correlation) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool found = low < build->calls.count && build->calls.items[low].correlation == correlation;
  return found ? &build->calls.items[low] : low > 0 ? &build->calls.items[low - 1] : NULL;
}

/* Has the call behind it the same id, and is of a known category? Then the id tells of neither. */
static bool shares_id(const struct trace_build *build, const struct trace_call *call) {
  const struct trace_call *next = call + 1;
  return next < build->calls.items + build->calls.count && next->correlation == call->correlation &&
         !lumos_trace_detail_of_call(build, next).other;
}

const struct trace_call *lumos_trace_find_call(const struct trace_build *build, int64_t correlation) {
  const struct trace_call *call = lumos_trace_call_up_to(build, correlation);
  bool found = call != NULL && call->correlation == correlation && !shares_id(build, call);
  return found ? call : NULL;
}
