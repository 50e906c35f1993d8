#include "job/remove.h"

#include "job/own.h"
#include "job/remap.h"
#include <stdlib.h>
#include <string.h>

/* ---- what goes along ---- */

static uint32_t first_segment(const struct lumos_job *job, uint32_t call) {
  uint32_t first = lumos_detail_of(job, &job->tasks.items[call])->first_segment;
  return first == LUMOS_NONE ? call : first;
}

/* What is free no call launches, though it may come behind one. */
static uint32_t launching_call(const struct lumos_job *job, uint32_t t) {
  return lumos_timing_of(job, t)->origin == LUMOS_FREE ? LUMOS_NONE : job->tasks.items[t].call;
}

/* By call, whether something it launches stays, or goes. */
enum launches { LAUNCHES_STAY = 1, LAUNCHES_GO = 2 };

static uint8_t *find_launches(const struct lumos_job *job, const uint8_t *gone) {
  uint8_t *launches = lumos_allocate_zeroed(job->tasks.count, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = launching_call(job, t);
    if (call != LUMOS_NONE) {
      launches[call] |= gone[t] ? LAUNCHES_GO : LAUNCHES_STAY;
    }
  }
  return launches;
}

/* A call with all its segments, and what is nested in it; but not a nested call that launches what stays. */
static void take_calls(const struct lumos_job *job, const uint8_t *launches, uint8_t *gone) {
  for (uint32_t call = 0; call < job->tasks.count; call++) {
    if (launches[call] != LAUNCHES_GO) {
      continue;
    }
    for (uint32_t t = first_segment(job, call); t <= call; t++) {
      gone[t] |= (launches[t] & LAUNCHES_STAY) == 0;
    }
  }
}

/* Work of an op and of those around it, of ops inside, too: what it launches, or what it makes a stream wait for. */
struct counts {
  uint32_t stay, go;
};

static void count(const struct lumos_job *job, uint32_t span, bool goes, struct counts *counts) {
  for (size_t depth = 0; span != LUMOS_NONE && depth <= job->spans.count; depth++) {
    counts[span].stay += !goes;
    counts[span].go += goes;
    span = job->spans.items[span].parent;
  }
}

static struct counts *count_launches(const struct lumos_job *job, const uint8_t *gone) {
  struct counts *counts = lumos_allocate_zeroed(job->spans.count, sizeof *counts);
  for (size_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = launching_call(job, (uint32_t)t);
    count(job, call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[call].span, gone[t] != 0, counts);
  }
  return counts;
}

/* A stream need not wait for a record that goes. */
static void count_waits(const struct lumos_job *job, uint8_t *gone, struct counts *counts) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[t]);
    if (detail->event_op == LUMOS_EVENT_WAIT) {
      bool goes = detail->wait.record != LUMOS_NONE && gone[detail->wait.record];
      count(job, job->tasks.items[t].span, goes, counts);
      gone[t] |= goes;
    }
  }
}

enum answer { UNASKED, NO, YES };

/* Is a span, or one around it, an op all of whose work goes? A ring of spans ends where it meets its own NO. */
static bool is_inside_gone(const struct lumos_job *job, const struct counts *counts, uint8_t *answers, uint32_t span) {
  uint32_t s = span;
  while (s != LUMOS_NONE && answers[s] == UNASKED) {
    bool goes = job->spans.items[s].kind == LUMOS_SPAN_OP && counts[s].go > 0 && counts[s].stay == 0;
    answers[s] = goes ? YES : NO;
    if (goes) {
      break;
    }
    s = job->spans.items[s].parent;
  }
  if (s == LUMOS_NONE || answers[s] == NO) {
    return false;
  }
  for (uint32_t inner = span; inner != s; inner = job->spans.items[inner].parent) {
    answers[inner] = YES;
  }
  return true;
}

/* First ops that launch nothing but what goes, then those whose streams only wait for what went with them. */
static void take_ops(const struct lumos_job *job, const uint8_t *launches, uint8_t *gone) {
  for (int waits = 0; waits < 2; waits++) {
    struct counts *counts = count_launches(job, gone);
    if (waits) {
      count_waits(job, gone, counts);
    }
    uint8_t *answers = lumos_allocate_zeroed(job->spans.count + 1, 1);
    for (uint32_t t = 0; t < job->tasks.count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      gone[t] |= !lumos_on_stream(job, task) && task->span != LUMOS_NONE && (launches[t] & LAUNCHES_STAY) == 0 &&
                 is_inside_gone(job, counts, answers, task->span);
    }
    free(counts);
    free(answers);
  }
}

static bool is_inside(const struct lumos_job *job, uint32_t task, uint32_t op) {
  uint32_t span = job->tasks.items[task].span;
  for (size_t depth = 0; span != LUMOS_NONE && span != op && depth <= job->spans.count; depth++) {
    span = job->spans.items[span].parent;
  }
  return span == op && job->tasks.items[task].span != op;
}

/* What an op that stays does between two ops inside it is how it comes to the second, and goes with that: as the lag of
 * a task that goes does where there is no op around it. */
static void take_ways(const struct lumos_job *job, uint8_t *gone) {
  for (uint32_t t = 2; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t], *way = task - 1;
    bool thread = way->lane == task->lane && task[-2].lane == task->lane && !lumos_on_stream(job, task);
    gone[t - 1] |= thread && gone[t] && !gone[t - 1] && way->kind == LUMOS_OP && way->span != LUMOS_NONE &&
                   is_inside(job, t, way->span) && is_inside(job, t - 2, way->span);
  }
}

void lumos_job_take_along(const struct lumos_job *job, uint8_t *gone) {
  uint8_t *launches = find_launches(job, gone);
  take_calls(job, launches, gone);
  take_ops(job, launches, gone);
  take_ways(job, gone);
  free(launches);
}

/* ---- removal ---- */

struct removal {
  struct lumos_job *job;
  const uint8_t *gone;
  uint32_t *before, *after; /* of what goes: the nearest of its lane that stays, or LUMOS_NONE */
};

static void find_neighbors(struct removal *removal) {
  const struct lumos_job *job = removal->job;
  for (size_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    uint32_t last = LUMOS_NONE, next = LUMOS_NONE;
    for (uint32_t n = 0; n < lane->task_count; n++) {
      uint32_t t = lane->task_first + n, back = lane->task_first + lane->task_count - 1 - n;
      removal->before[t] = last;
      removal->after[back] = next;
      last = removal->gone[t] ? last : t;
      next = removal->gone[back] ? next : back;
    }
  }
}

/* What a run finds anew needs no tie of its own, but where an inferred edge says what a stream waits for. */
static bool ties(const struct lumos_dep *dep) { return dep->mode == LUMOS_FIXED || dep->kind == LUMOS_DEP_EVENT; }

/* From the work before it. An edge of a full queue says how long the call takes to notice, wherever it starts. */
static void retie_src(const struct removal *removal, struct lumos_dep *dep) {
  uint32_t src = removal->before[dep->src];
  bool queue = dep->kind == LUMOS_QUEUE;
  dep->src = queue && src == LUMOS_NONE ? removal->after[dep->src] : src;
  dep->from = queue ? dep->from : LUMOS_END;
  dep->dst = dep->src == LUMOS_NONE || !(queue || ties(dep)) ? LUMOS_NONE : dep->dst;
}

/* To the next task, which follows what has gone after its own lag. */
static void retie_dst(const struct removal *removal, struct lumos_dep *dep) {
  const struct lumos_job *job = removal->job;
  uint32_t dst = removal->after[dep->dst];
  if (dst == LUMOS_NONE || !ties(dep)) {
    dep->dst = LUMOS_NONE;
    return;
  }
  bool stream = lumos_on_stream(job, &job->tasks.items[dst]);
  dep->dst = dst;
  dep->to = LUMOS_START;
  dep->lag += stream ? 0 : lumos_own_times(job, dst).lag;
}

static void retie_deps(const struct removal *removal) {
  struct lumos_job *job = removal->job;
  size_t kept = 0;
  for (size_t i = 0; i < job->deps.count; i++) {
    struct lumos_dep dep = job->deps.items[i];
    bool src = dep.src != LUMOS_NONE && removal->gone[dep.src], dst = removal->gone[dep.dst];
    if (src) {
      retie_src(removal, &dep);
    }
    if (dst && dep.dst != LUMOS_NONE) {
      retie_dst(removal, &dep);
    }
    if (src || dst) {
      dep.covers = LUMOS_ABSENT; /* in the recording it explained another lag */
    }
    if (dep.dst != LUMOS_NONE && dep.dst != dep.src) {
      job->deps.items[kept++] = dep;
    }
  }
  job->deps.count = kept;
}

/* The first of a stream that no task launches begins no earlier than the first step does. */
static void hold_at_base(struct lumos_job *job, uint32_t t) {
  struct lumos_dep dep = lumos_dep_empty;
  dep.dst = t;
  dep.at = job->ranks.items[lumos_rank_of(job, &job->tasks.items[t])].base;
  dep.kind = LUMOS_BOUNDARY;
  dep.from = dep.to = LUMOS_START;
  dep.evidence = LUMOS_INFERRED;
  dep.mode = LUMOS_FIXED;
  lumos_vector_push(&job->deps, dep);
}

/* A graph's launch holds the first of its nodes on a stream; the others follow that one. */
static void pass_on_launches(const struct removal *removal) {
  struct lumos_job *job = removal->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call, next = removal->gone[t] ? removal->after[t] : LUMOS_NONE;
    bool follows =
        t > 0 && job->tasks.items[t - 1].lane == job->tasks.items[t].lane && job->tasks.items[t - 1].call == call;
    if (call != LUMOS_NONE && next != LUMOS_NONE && !follows && job->tasks.items[next].call == call) {
      struct lumos_timing *timing = lumos_task_timing(job, &job->tasks.items[next]);
      timing->launch_lag = lumos_timing_of(job, t)->launch_lag;
      timing->launch_from = lumos_timing_of(job, t)->launch_from;
    }
  }
}

/* A kernel without its call needs none: it is there when the thread comes to where the call was. */
static void retie_launches(const struct removal *removal) {
  struct lumos_job *job = removal->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_task *task = &job->tasks.items[t];
    if (removal->gone[t] || task->call == LUMOS_NONE || !removal->gone[task->call]) {
      continue;
    }
    struct lumos_timing *timing = lumos_task_timing(job, task);
    task->call = removal->before[task->call];
    timing->origin = LUMOS_FREE;
    timing->launch_lag = task->call == LUMOS_NONE ? LUMOS_ABSENT : 0;
    timing->launch_from = 0;
    if (task->call == LUMOS_NONE && removal->before[t] == LUMOS_NONE) {
      hold_at_base(job, t);
    }
  }
}

/* A call that is cut begins with the first segment that is left. (A wait whose record goes awaits nothing: the
 * remap.) */
static void retie_details(const struct removal *removal) {
  struct lumos_job *job = removal->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    struct lumos_detail *detail =
        job->tasks.items[t].detail == LUMOS_NONE ? NULL : &job->details.items[job->tasks.items[t].detail];
    if (removal->gone[t] || detail == NULL) {
      continue;
    }
    if (detail->first_segment != LUMOS_NONE && removal->gone[detail->first_segment]) {
      uint32_t first = removal->after[detail->first_segment];
      detail->first_segment = first == t ? LUMOS_NONE : first;
    }
  }
}

/* The lag of the first task of a step is what the thread does between two steps: the next task has it. */
static void keep_lags_between_steps(const struct removal *removal) {
  struct lumos_job *job = removal->job;
  for (uint32_t t = 1; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t next = removal->after[t];
    if (removal->gone[t] && !lumos_on_stream(job, task) && task[-1].lane == task->lane && task[-1].step != task->step &&
        next != LUMOS_NONE) {
      struct lumos_times times = lumos_own_times(job, next);
      times.lag += lumos_own_times(job, t).lag;
      lumos_set_own_times(job, &job->tasks.items[next], times);
    }
  }
}

static void strip_starts(struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    job->tasks.items[t].start = LUMOS_ABSENT;
  }
}

/* Where nothing is left of what ran before the first step, that begins when the first that is left was measured to, on
 * the clock of base. */
static void move_bases(struct lumos_job *job) {
  for (size_t r = 0; r < job->ranks.count; r++) {
    struct lumos_rank *rank = &job->ranks.items[r];
    bool before = rank->base_lag == LUMOS_ABSENT;
    int64_t first = LUMOS_ABSENT;
    for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count && !before; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      bool stream = lumos_on_stream(job, task);
      int64_t start = task->start == LUMOS_ABSENT || stream ? task->start : task->start - rank->clock.device_offset;
      before = stream && task->step == LUMOS_ABSENT_INT;
      first = first == LUMOS_ABSENT || (start != LUMOS_ABSENT && start < first) ? start : first;
    }
    if (!before) {
      rank->base_lag = LUMOS_ABSENT;
      rank->base = first == LUMOS_ABSENT ? rank->base : first;
    }
  }
}

static uint32_t *places(const struct lumos_job *job, const uint8_t *gone) {
  uint32_t *to = lumos_allocate(job->tasks.count * sizeof *to), kept = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    to[t] = gone[t] ? LUMOS_NONE : kept++;
  }
  return to;
}

void lumos_job_remove(struct lumos_job *job, const uint8_t *gone) {
  lumos_job_keep_bases(job);
  struct removal removal = {.job = job, .gone = gone};
  removal.before = lumos_allocate(job->tasks.count * sizeof *removal.before);
  removal.after = lumos_allocate(job->tasks.count * sizeof *removal.after);
  find_neighbors(&removal);
  retie_deps(&removal);
  pass_on_launches(&removal);
  retie_launches(&removal);
  retie_details(&removal);
  keep_lags_between_steps(&removal);
  free(removal.before);
  free(removal.after);
  uint32_t *to = places(job, gone);
  lumos_job_remap(job, &(struct lumos_remap){.tasks = to});
  free(to);
  lumos_job_set_ranges(job);
  move_bases(job);
  strip_starts(job);
}
