/* What must hold between records. */
#include "job/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool on_thread(const struct lumos_job *job, uint32_t task) {
  return !lumos_on_stream(job, &job->tasks.items[task]);
}

static uint32_t rank_of(const struct lumos_job *job, uint32_t task) {
  return lumos_rank_of(job, &job->tasks.items[task]);
}

/* Beyond a tenth, and long before time would run backwards, it is no clock. */
static const int64_t most_drift_ppb = 100000000;

static bool check_clocks(const struct lumos_check *check) {
  for (size_t i = 0; i < check->job->ranks.count; i++) {
    const struct lumos_clock *clock = &check->job->ranks.items[i].clock;
    if (clock->known && (clock->drift_ppb > most_drift_ppb || clock->drift_ppb < -most_drift_ppb)) {
      return lumos_check_fail(check, RECORD_RANK, i, "drift_ppb is above a tenth");
    }
  }
  return true;
}

static bool check_groups(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  uint8_t *seen = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  bool good = true;
  for (size_t i = 0; i < job->groups.count && good; i++) {
    const struct lumos_group *group = &job->groups.items[i];
    good = seen[group->id]++ == 0 ||
           lumos_check_fail(check, RECORD_GROUP, i, "id %s is given twice", lumos_string(job->strings, group->id));
    for (uint32_t member = 0; member < group->member_count && good; member++) {
      good = job->group_ranks.items[group->member_first + member] >= 0 ||
             lumos_check_fail(check, RECORD_GROUP, i, "a rank in ranks is negative");
    }
  }
  free(seen);
  return good;
}

/* A walk up the parents must end. Every span is passed once: a walk stops where an earlier one has been. */
static bool check_parents(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  uint32_t *walk = lumos_allocate_zeroed(job->spans.count, sizeof *walk);
  bool good = true;
  for (size_t i = 0; i < job->spans.count && good; i++) {
    uint32_t span = (uint32_t)i;
    while (span != LUMOS_NONE && walk[span] == 0) {
      walk[span] = (uint32_t)i + 1;
      span = job->spans.items[span].parent;
    }
    good = span == LUMOS_NONE || walk[span] != (uint32_t)i + 1 ||
           lumos_check_fail(check, RECORD_SPAN, i, "its parents go in a circle");
  }
  free(walk);
  return good;
}

static bool check_spans(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  for (size_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    bool apart = (span->parent != LUMOS_NONE && job->spans.items[span->parent].rank != span->rank) ||
                 (span->forward != LUMOS_NONE && job->spans.items[span->forward].rank != span->rank) ||
                 (span->lane != LUMOS_NONE && job->lanes.items[span->lane].rank != span->rank);
    if (apart) {
      return lumos_check_fail(check, RECORD_SPAN, i, "lane, parent or forward are of another rank");
    }
  }
  return check_parents(check);
}

static bool check_wait(const struct lumos_check *check, size_t index, const struct lumos_detail *detail) {
  const struct lumos_job *job = check->job;
  const struct lumos_wait *wait = &detail->wait;
  uint32_t rank = rank_of(job, (uint32_t)index);
  if ((detail->event_op != 0 || wait->on != 0) && !on_thread(job, (uint32_t)index)) {
    return lumos_check_fail(check, RECORD_TASK, index, "only calls on threads have event or wait");
  }
  const uint32_t lanes[] = {detail->event_lane, wait->lane};
  for (int i = 0; i < 2; i++) {
    if (lanes[i] != LUMOS_NONE &&
        (job->lanes.items[lanes[i]].rank != rank || job->lanes.items[lanes[i]].kind != LUMOS_STREAM)) {
      return lumos_check_fail(check, RECORD_TASK, index, "the lane of its event or wait is not a stream of its rank");
    }
  }
  if (wait->record != LUMOS_NONE && (rank_of(job, wait->record) != rank || !on_thread(job, wait->record))) {
    return lumos_check_fail(check, RECORD_TASK, index, "the record that it waits for is not a call of its rank");
  }
  return true;
}

static bool check_detail(const struct lumos_check *check, size_t index, const struct lumos_detail *detail) {
  const struct lumos_job *job = check->job;
  const struct lumos_task *task = &job->tasks.items[index];
  if (detail->own_dur > task->dur || detail->own_lag > task->lag) { /* what is absent is less than all */
    return lumos_check_fail(check, RECORD_TASK, index, "%s is more than %s, of which it is a part",
                            detail->own_dur > task->dur ? "own_dur" : "own_lag",
                            detail->own_dur > task->dur ? "dur" : "lag");
  }
  if (detail->first_segment != LUMOS_NONE) {
    const struct lumos_task *first = &job->tasks.items[detail->first_segment];
    if (first->lane != job->tasks.items[index].lane || detail->first_segment >= index) {
      return lumos_check_fail(check, RECORD_TASK, index, "first_segment is not an earlier task of its lane");
    }
  }
  for (uint32_t i = 0; i < detail->comm.peer_count; i++) {
    const struct lumos_peer *peer = &job->peers.items[detail->comm.peer_first + i];
    if (peer->rank < 0 || peer->send < 0 || peer->recv < 0) {
      return lumos_check_fail(check, RECORD_TASK, index, "a number in comm.peers is negative");
    }
  }
  return check_wait(check, index, detail);
}

static bool check_task(const struct lumos_check *check, size_t index, uint8_t *detail_used) {
  const struct lumos_job *job = check->job;
  const struct lumos_task *task = &job->tasks.items[index];
  const struct lumos_lane *lane = &job->lanes.items[task->lane];
  bool stream = lane->kind == LUMOS_STREAM;
  if ((task->kind <= LUMOS_OTHER_DEVICE) != stream) {
    return lumos_check_fail(check, RECORD_TASK, index, "kind %s does not fit a %s",
                            lumos_task_kind_name((enum lumos_task_kind)task->kind), stream ? "stream" : "thread");
  }
  if (stream ? task->lag > 0 : task->lag < 0) {
    return lumos_check_fail(check, RECORD_TASK, index,
                            stream ? "lag is above 0 on a stream" : "lag is below 0 on a thread");
  }
  if (task->span != LUMOS_NONE && job->spans.items[task->span].rank != lane->rank) {
    return lumos_check_fail(check, RECORD_TASK, index, "its span is of another rank");
  }
  if (task->call != LUMOS_NONE && (!stream || !on_thread(job, task->call) || rank_of(job, task->call) != lane->rank)) {
    return lumos_check_fail(check, RECORD_TASK, index,
                            "call is for tasks on streams, and names a call of the same rank");
  }
  if (stream && job->stage >= LUMOS_STAGE_GRAPH) {
    uint8_t origin = lumos_timing_of(job, (uint32_t)index)->origin;
    if (origin == 0) {
      return lumos_check_fail(check, RECORD_TASK, index, "it has no origin: nothing says how it comes to its stream");
    }
    if (origin != LUMOS_FREE && (origin == LUMOS_LAUNCHED) != (task->call != LUMOS_NONE)) {
      return lumos_check_fail(check, RECORD_TASK, index, "its origin is %s, but it has %s call",
                              lumos_task_origin_name((enum lumos_task_origin)origin),
                              task->call == LUMOS_NONE ? "no" : "a");
    }
  }
  if (task->detail == LUMOS_NONE) {
    return true;
  }
  if (detail_used[task->detail]++ != 0) {
    return lumos_check_fail(check, RECORD_TASK, index, "it shares its detail with another task");
  }
  return check_detail(check, index, &job->details.items[task->detail]);
}

static bool check_tasks(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  uint8_t *detail_used = lumos_allocate_zeroed(job->details.count, 1);
  bool good = true;
  for (size_t i = 0; i < job->tasks.count && good; i++) {
    good = check_task(check, i, detail_used);
  }
  free(detail_used);
  return good;
}

static bool check_deps(const struct lumos_check *check) {
  for (size_t i = 0; i < check->job->deps.count; i++) {
    const struct lumos_dep *dep = &check->job->deps.items[i];
    if ((dep->kind == LUMOS_BOUNDARY) != (dep->at != LUMOS_ABSENT) ||
        (dep->src == LUMOS_NONE) != (dep->at != LUMOS_ABSENT)) {
      return lumos_check_fail(check, RECORD_DEP, i, "a boundary has `at`, everything else `src`, and never both");
    }
    if (dep->src == dep->dst) {
      return lumos_check_fail(check, RECORD_DEP, i, "src and dst are the same task");
    }
  }
  return true;
}

static bool check_collectives(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    const uint32_t *members = job->members.items + collective->member_first;
    if (i > 0 && collective->id <= collective[-1].id) {
      return lumos_check_fail(check, RECORD_COLLECTIVE, i, "ids do not ascend");
    }
    if (collective->member_count == 0) {
      return lumos_check_fail(check, RECORD_COLLECTIVE, i, "it has no members");
    }
    for (uint32_t member = 0; member < collective->member_count; member++) {
      if (member > 0 && members[member] <= members[member - 1]) {
        return lumos_check_fail(check, RECORD_COLLECTIVE, i, "members are not in the order of tasks, each once");
      }
      if (!lumos_is_communication(job->tasks.items[members[member]].kind)) {
        return lumos_check_fail(check, RECORD_COLLECTIVE, i, "a member is not communication");
      }
    }
  }
  return true;
}

static bool check_scope(const struct lumos_check *check, enum lumos_record_kind kind, size_t index,
                        const struct lumos_scope *scope) {
  const struct lumos_job *job = check->job;
  if (scope->lane != LUMOS_NONE && scope->rank != job->ranks.items[job->lanes.items[scope->lane].rank].rank) {
    return lumos_check_fail(check, kind, index, "the lane in scope is none of the rank in scope");
  }
  return true;
}

static bool within_size(int32_t coordinate, int32_t size) {
  return coordinate == LUMOS_ABSENT_INT || size == LUMOS_ABSENT_INT || coordinate < size;
}

/* The coordinates of every rank lie within the sizes of the axes. */
static bool check_models(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  if (job->models.count > 1) {
    return lumos_check_fail(check, RECORD_MODEL, 1, "a job has one model at most");
  }
  for (size_t i = 0; job->models.count == 1 && i < job->ranks.count; i++) {
    const struct lumos_parallel *at = &job->ranks.items[i].parallel;
    const struct lumos_parallel *sizes = &job->models.items[0].sizes;
    if (!within_size(at->tp, sizes->tp) || !within_size(at->pp, sizes->pp) || !within_size(at->dp, sizes->dp) ||
        !within_size(at->cp, sizes->cp) || !within_size(at->ep, sizes->ep)) {
      return lumos_check_fail(check, RECORD_RANK, i, "parallel has a coordinate beyond the size that the model says");
    }
  }
  return true;
}

static bool check_common_errors(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  uint8_t *seen = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  bool good = true;
  for (size_t i = 0; i < job->common_errors.count && good; i++) {
    lumos_string_id id = job->common_errors.items[i].id;
    good = seen[id]++ == 0 ||
           lumos_check_fail(check, RECORD_COMMON_ERROR, i, "id %.60s is given twice", lumos_string(job->strings, id));
  }
  free(seen);
  return good;
}

static bool check_metrics(const struct lumos_check *check) {
  for (size_t i = 0; i < check->job->metrics.count; i++) {
    const struct lumos_metric *metric = &check->job->metrics.items[i];
    if ((metric->low.units == LUMOS_ABSENT) != (metric->high.units == LUMOS_ABSENT)) {
      return lumos_check_fail(check, RECORD_METRIC, i, "low and high come together");
    }
    if (!check_scope(check, RECORD_METRIC, i, &metric->scope)) {
      return false;
    }
  }
  return true;
}

/* A code is the stage that wrote the note, a point, and a name. */
static bool check_notes(const struct lumos_check *check) {
  const struct lumos_job *job = check->job;
  for (size_t i = 0; i < job->notes.count; i++) {
    const char *code = lumos_string(job->strings, job->notes.items[i].code);
    size_t stage = strcspn(code, ".");
    if (lumos_names_find(&lumos_stage_names, code, stage) < 0 || code[stage] == '\0' || code[stage + 1] == '\0') {
      return lumos_check_fail(check, RECORD_NOTE, i, "code %.60s does not begin with a stage and a point", code);
    }
    if (!check_scope(check, RECORD_NOTE, i, &job->notes.items[i].scope)) {
      return false;
    }
  }
  return true;
}

bool lumos_check_relations(const struct lumos_check *check) {
  return check_clocks(check) && check_groups(check) && check_spans(check) && check_tasks(check) && check_deps(check) &&
         check_collectives(check) && check_models(check) && check_common_errors(check) && check_metrics(check) &&
         check_notes(check);
}
