#include "sim/work.h"

#include <stdlib.h>
#include <string.h>

struct lumos_work_time {
  lumos_string_id group;
  int64_t time;
};

static void add_kinds(const struct lumos_job *job, struct lumos_works *works) {
  bool seen[LUMOS_TASK_KINDS] = {false};
  bool communicates = false;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool communication = lumos_is_communication(task->kind);
    communicates = communicates || communication;
    seen[task->kind] = seen[task->kind] || (!communication && lumos_on_stream(job, task));
  }
  for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    if (seen[kind]) {
      lumos_vector_push(works, ((struct lumos_work){.subject = LUMOS_WORK_KIND, .kind = (uint8_t)kind}));
    }
  }
  if (communicates) {
    lumos_vector_push(works, ((struct lumos_work){.subject = LUMOS_WORK_COMMUNICATION}));
  }
}

/* By their bytes: what number a string has depends on what was read before it. */
static int compare_ids(const void *left, const void *right, void *strings) {
  lumos_string_id a = *(const lumos_string_id *)left, b = *(const lumos_string_id *)right;
  return a == b ? 0 : strcmp(lumos_string(strings, a), lumos_string(strings, b));
}

static void add_groups(const struct lumos_job *job, struct lumos_works *works) {
  LUMOS_VECTOR(lumos_string_id) groups = {0};
  for (size_t i = 0; i < job->details.count; i++) {
    lumos_string_id group = job->details.items[i].comm.group;
    if (job->details.items[i].comm.op != LUMOS_NO_STRING && group != LUMOS_NO_STRING) {
      lumos_vector_push(&groups, group);
    }
  }
  lumos_vector_sort_by(&groups, compare_ids, job->strings);
  for (size_t i = 0; i < groups.count; i++) {
    if (groups.items[0] != groups.items[groups.count - 1] && (i == 0 || groups.items[i] != groups.items[i - 1])) {
      lumos_vector_push(works, ((struct lumos_work){.subject = LUMOS_WORK_GROUP, .group = groups.items[i]}));
    }
  }
  lumos_vector_free(&groups);
}

void lumos_find_works(const struct lumos_job *job, bool has_stragglers, struct lumos_works *works) {
  lumos_vector_push(works, ((struct lumos_work){.subject = LUMOS_WORK_HOST}));
  lumos_vector_push(works, ((struct lumos_work){.subject = LUMOS_WORK_LAUNCHES}));
  add_kinds(job, works);
  add_groups(job, works);
  if (has_stragglers) {
    lumos_vector_push(works, ((struct lumos_work){.subject = LUMOS_WORK_STRAGGLERS}));
  }
}

bool lumos_work_has(const struct lumos_job *job, const struct lumos_work *work, uint32_t task) {
  const struct lumos_task *of = &job->tasks.items[task];
  switch (work->subject) {
    case LUMOS_WORK_HOST:
      return !lumos_on_stream(job, of);
    case LUMOS_WORK_KIND:
      return of->kind == work->kind && lumos_on_stream(job, of);
    case LUMOS_WORK_COMMUNICATION:
      return lumos_is_communication(of->kind);
    case LUMOS_WORK_GROUP:
      return lumos_is_communication(of->kind) && lumos_detail_of(job, of)->comm.group == work->group;
    default:
      return false;
  }
}

struct sums { /* what a chain has of each work */
  int64_t host, launches, kinds[LUMOS_TASK_KINDS], communication, stragglers;
  LUMOS_VECTOR(struct lumos_work_time) groups; /* by group, once they are sorted */
};

/* How much shorter a part is than the work in it: a residual below 0 counts back. */
static int64_t hidden_by(int64_t residual) { return residual != LUMOS_ABSENT && residual < 0 ? -residual : 0; }

/* Of a part of that length what is more than the median. */
static void add_more(struct sums *sums, int64_t more, int64_t length) {
  sums->stragglers += more < length ? more : length;
}

static void add_run(struct sums *sums, const struct lumos_job *job, const struct lumos_times *medians,
                    const struct lumos_path_part *part) {
  const struct lumos_task *task = &job->tasks.items[part->task];
  int64_t length = part->to - part->from;
  add_more(sums, medians == NULL ? 0 : lumos_own_times(job, part->task).dur - medians[part->task].dur, length);
  if (!lumos_on_stream(job, task)) {
    sums->host += length;
  } else if (!lumos_is_communication(task->kind)) {
    sums->kinds[task->kind] += length;
  } else {
    length += part->kind == LUMOS_HELD_BY_COLLECTIVE ? hidden_by(lumos_timing_of(job, part->task)->end_residual) : 0;
    sums->communication += length;
    lumos_string_id group = lumos_detail_of(job, task)->comm.group;
    if (group != LUMOS_NO_STRING) {
      lumos_vector_push(&sums->groups, ((struct lumos_work_time){group, length}));
    }
  }
}

static int compare_times(const void *left, const void *right) {
  const struct lumos_work_time *a = left, *b = right;
  return LUMOS_ORDER(a->group, b->group);
}

static int64_t time_of_group(const struct sums *sums, lumos_string_id group) {
  size_t low = 0, high = sums->groups.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sums->groups.items[middle].group < group) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  int64_t time = 0;
  for (; low < sums->groups.count && sums->groups.items[low].group == group; low++) {
    time += sums->groups.items[low].time;
  }
  return time;
}

static int64_t time_of(const struct sums *sums, const struct lumos_work *work) {
  switch (work->subject) {
    case LUMOS_WORK_HOST:
      return sums->host;
    case LUMOS_WORK_LAUNCHES:
      return sums->launches;
    case LUMOS_WORK_KIND:
      return sums->kinds[work->kind];
    case LUMOS_WORK_COMMUNICATION:
      return sums->communication;
    case LUMOS_WORK_GROUP:
      return time_of_group(sums, work->group);
    default:
      return sums->stragglers;
  }
}

void lumos_works_on_path(const struct lumos_job *job, const struct lumos_works *works,
                         const struct lumos_times *medians, const struct lumos_path_parts *chain, int64_t *times) {
  struct sums sums = {0};
  for (size_t i = 0; i < chain->count; i++) {
    const struct lumos_path_part *part = &chain->items[i];
    bool on_stream = lumos_on_stream(job, &job->tasks.items[part->task]);
    if (part->what == LUMOS_PATH_RUN) {
      add_run(&sums, job, medians, part);
    } else if (part->what == LUMOS_PATH_LAG && part->kind == LUMOS_HELD_BY_LAUNCH) {
      sums.launches += part->to - part->from + hidden_by(lumos_timing_of(job, part->task)->residual);
    } else if (part->what == LUMOS_PATH_LAG && !on_stream) {
      sums.host += part->to - part->from;
      add_more(&sums, medians == NULL ? 0 : lumos_own_times(job, part->task).lag - medians[part->task].lag,
               part->to - part->from);
    }
  }
  lumos_vector_sort(&sums.groups, compare_times);
  for (size_t i = 0; i < works->count; i++) {
    times[i] = time_of(&sums, &works->items[i]);
  }
  lumos_vector_free(&sums.groups);
}

const char *lumos_work_name(const struct lumos_work *work) {
  static const char *const names[] = {[LUMOS_WORK_HOST] = "host",
                                      [LUMOS_WORK_LAUNCHES] = "launch",
                                      [LUMOS_WORK_COMMUNICATION] = "communication",
                                      [LUMOS_WORK_GROUP] = NULL,
                                      [LUMOS_WORK_STRAGGLERS] = "stragglers"};
  return work->subject == LUMOS_WORK_KIND ? lumos_task_kind_name((enum lumos_task_kind)work->kind)
                                          : names[work->subject];
}
