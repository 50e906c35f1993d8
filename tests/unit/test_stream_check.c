/* Every invariant of a job broken once, by name. */
#include "stream_unit.h"

typedef void break_job(struct lumos_job *job);

static struct lumos_task *task_of(struct lumos_job *job, size_t index) { return &job->tasks.items[index]; }
static struct lumos_detail *detail_of(struct lumos_job *job, size_t index) {
  return lumos_task_detail(job, task_of(job, index));
}

/* The full stream's tasks, by index: 0:0 0:1 0:7 0:2 0:3 0:6 | 0:4 0:5 | 1:0; lanes: p77.t9 t10 s7 | s7. */
enum { T_OP, T_LAUNCH, T_LAST_SEGMENT, T_RECORD, T_SYNC, T_FREE, T_BEFORE, T_COLLECTIVE, T_OTHER_RANK };

static void stage(struct lumos_job *job) { job->stage = (enum lumos_stage)0; }
static void epoch(struct lumos_job *job) { job->epoch = -1; }
static void timings(struct lumos_job *job) { job->tasks.items[T_COLLECTIVE].timing = (uint32_t)job->timings.count; }
static void runs(struct lumos_job *job) { job->runs.count = 0; }
static void later_field(struct lumos_job *job) {
  job->stage = LUMOS_STAGE_PARSE;
  job->runs.count = 0;
}
static void later_record(struct lumos_job *job) {
  lumos_job_rewind(job, LUMOS_STAGE_PARSE);
  lumos_vector_push(&job->deps, lumos_dep_empty);
}
static void group_rank(struct lumos_job *job) { job->groups.items[0].rank = 2; }
static void lane_rank(struct lumos_job *job) { job->lanes.items[1].rank = 7; }
static void span_rank(struct lumos_job *job) { job->spans.items[1].rank = 7; }
static void member(struct lumos_job *job) { job->members.items[0] = 9; }
static void negative(struct lumos_job *job) { task_of(job, T_OP)->dur = -1; }
static void large(struct lumos_job *job) { task_of(job, T_OP)->lag = INT64_C(1) << 53; }
static void world(struct lumos_job *job) { job->ranks.items[0].world = 0; }
static void drift(struct lumos_job *job) {
  job->ranks.items[0].clock = (struct lumos_clock){.known = true, .drift_ppb = -100000001, .error = LUMOS_ABSENT};
}
static void window(struct lumos_job *job) { job->ranks.items[0].window_end = -6; }
static void string(struct lumos_job *job) { task_of(job, T_OP)->name = 100000; }
static void no_name(struct lumos_job *job) { task_of(job, T_OP)->name = LUMOS_NO_STRING; }
static void kind(struct lumos_job *job) { task_of(job, T_OP)->kind = LUMOS_TASK_KINDS; }
static void no_kind(struct lumos_job *job) { task_of(job, T_OP)->kind = 0; }
static void id(struct lumos_job *job) { task_of(job, T_OP)->id = LUMOS_NONE; }
static void span_index(struct lumos_job *job) { task_of(job, T_OP)->span = 3; }
static void lane_index(struct lumos_job *job) { task_of(job, T_OP)->lane = 4; }
static void call_index(struct lumos_job *job) { task_of(job, T_COLLECTIVE)->call = 9; }
static void detail_index(struct lumos_job *job) { task_of(job, T_OP)->detail = (uint32_t)job->details.count; }
static void decimals(struct lumos_job *job) { job->metrics.items[1].value.decimals = 7; }
static void list(struct lumos_job *job) { job->groups.items[0].member_count = 3; }
static void peers(struct lumos_job *job) { detail_of(job, T_COLLECTIVE)->comm.peer_first = 1; }
static void half_event(struct lumos_job *job) { detail_of(job, T_RECORD)->event_op = 0; }
static void unknown_group(struct lumos_job *job) { detail_of(job, T_COLLECTIVE)->comm.group = task_of(job, 0)->name; }
static void no_collective_members(struct lumos_job *job) { job->collectives.items[0].member_count = 0; }
static void rank_order(struct lumos_job *job) { job->ranks.items[1].rank = 0; }
static void lane_order(struct lumos_job *job) { job->lanes.items[0].native = lumos_intern_text(job->strings, "11"); }
static void lane_twice(struct lumos_job *job) { job->lanes.items[1].lane = job->lanes.items[0].lane; }
static void span_order(struct lumos_job *job) { job->spans.items[1].id = 4; }
static void task_order(struct lumos_job *job) { task_of(job, T_LAUNCH)->seq = 0; }
static void task_twice(struct lumos_job *job) { task_of(job, T_FREE)->id = 4; }
static void rank_range(struct lumos_job *job) { job->ranks.items[0].task_count--; }
static void lane_range(struct lumos_job *job) { job->lanes.items[2].task_first++; }
static void unknown_common_error(struct lumos_job *job) {
  detail_of(job, T_COLLECTIVE)->common_error = task_of(job, 0)->name;
}
static void unknown_common_error_of_transfer(struct lumos_job *job) {
  job->collectives.items[0].common_error = task_of(job, 0)->name;
}
static void common_error_twice(struct lumos_job *job) {
  lumos_vector_push(&job->common_errors, job->common_errors.items[0]);
}
static void negative_sigma(struct lumos_job *job) { job->common_errors.items[0].sigma.units = -1; }
static void group_twice(struct lumos_job *job) {
  struct lumos_group group = job->groups.items[0];
  group.rank = 1;
  lumos_vector_push(&job->groups, group);
  job->ranks.items[1].group_count = 1;
}
static void negative_member(struct lumos_job *job) { job->group_ranks.items[0] = -1; }
static void parents(struct lumos_job *job) { job->spans.items[0].parent = 1; }
static void own_parent(struct lumos_job *job) { job->spans.items[2].parent = 2; }
static void foreign_span_lane(struct lumos_job *job) { job->spans.items[0].lane = 3; }
static void thread_kind(struct lumos_job *job) { task_of(job, T_OP)->kind = LUMOS_GEMM; }
static void stream_kind(struct lumos_job *job) { task_of(job, T_OTHER_RANK)->kind = LUMOS_OTHER_HOST; }
static void thread_lag(struct lumos_job *job) { task_of(job, T_OP)->lag = -1; }
static void stream_lag(struct lumos_job *job) { task_of(job, T_BEFORE)->lag = 1; }
static void own_lag(struct lumos_job *job) {
  struct lumos_task *task = task_of(job, T_OP);
  lumos_task_detail(job, task)->own_lag = task->lag + 1;
}
static void own_dur(struct lumos_job *job) {
  struct lumos_task *task = task_of(job, T_OP);
  lumos_task_detail(job, task)->own_dur = task->dur + 1;
}
static void foreign_span(struct lumos_job *job) { task_of(job, T_OTHER_RANK)->span = 0; }
static void foreign_call(struct lumos_job *job) { task_of(job, T_OTHER_RANK)->call = T_LAUNCH; }
static void called_call(struct lumos_job *job) { task_of(job, T_OP)->call = T_LAUNCH; }
static void shared_detail(struct lumos_job *job) { task_of(job, T_OP)->detail = task_of(job, T_RECORD)->detail; }
static void first_segment(struct lumos_job *job) { detail_of(job, T_LAST_SEGMENT)->first_segment = T_RECORD; }
static void first_elsewhere(struct lumos_job *job) { detail_of(job, T_SYNC)->first_segment = T_OP; }
static void negative_peer(struct lumos_job *job) { job->peers.items[0].send = -1; }
static void stream_waits(struct lumos_job *job) { detail_of(job, T_BEFORE)->wait.on = LUMOS_WAIT_DEVICE; }
static void wait_for_thread(struct lumos_job *job) { detail_of(job, T_SYNC)->wait.lane = 0; }
static void wait_for_other(struct lumos_job *job) { detail_of(job, T_SYNC)->wait.lane = 3; }
static void wait_for_kernel(struct lumos_job *job) { detail_of(job, T_SYNC)->wait.record = T_BEFORE; }
static void boundary(struct lumos_job *job) { job->deps.items[0].src = T_OP; }
static void sourceless(struct lumos_job *job) { job->deps.items[1].src = LUMOS_NONE; }
static void loop(struct lumos_job *job) { job->deps.items[1].src = job->deps.items[1].dst; }
static void members_order(struct lumos_job *job) { job->members.items[0] = T_OTHER_RANK; }
static void member_kind(struct lumos_job *job) { job->members.items[0] = T_BEFORE; }
static void collective_twice(struct lumos_job *job) {
  struct lumos_collective again = job->collectives.items[0];
  lumos_vector_push(&job->collectives, again);
}
static void second_model(struct lumos_job *job) {
  struct lumos_model_description again = job->models.items[0];
  lumos_vector_push(&job->models, again);
}
static void beyond_size(struct lumos_job *job) { job->ranks.items[0].parallel.ep = 5; }
static void low_alone(struct lumos_job *job) { job->metrics.items[1].high.units = LUMOS_ABSENT; }
static void scope_lane(struct lumos_job *job) { job->metrics.items[1].scope.lane = 3; }
static void scope_task(struct lumos_job *job) { job->notes.items[0].scope.task = 9; }
static void code(struct lumos_job *job) { job->notes.items[0].code = lumos_intern_text(job->strings, "skipped"); }
static void code_stage(struct lumos_job *job) {
  job->notes.items[0].code = lumos_intern_text(job->strings, "render.x");
}

static const struct {
  break_job *break_it;
  const char *message;
} faults[] = {
    {stage, "no valid stage"},
    {epoch, "no valid stage or epoch"},
    {timings, "timing points to a record that is not there"},
    {runs, "not every task has what stage sim writes"},
    {later_field, "belongs to a later stage"},
    {later_record, "there are dep records, which belong to a later stage than parse"},
    {group_rank, "group record 1: rank points to a record that is not there"},
    {lane_rank, "lane record 2: rank points to a record that is not there"},
    {span_rank, "span -1:3: rank points to a record that is not there"},
    {member, "a member of a collective is not there"},
    {negative, "task 0:0: dur is negative"},
    {large, "task 0:0: lag is not below 2^53"},
    {world, "rank 0: world is less than 1"},
    {drift, "rank 0: drift_ppb is above a tenth"},
    {window, "rank 0: window ends before it starts"},
    {string, "task 0:0: name is not a string"},
    {no_name, "task 0:0: name is missing"},
    {kind, "task 0:0: kind has no name"},
    {no_kind, "task 0:0: kind is missing"},
    {id, "id is above 2^32-2"},
    {span_index, "task 0:0: span points to a record that is not there"},
    {lane_index, "lane points to a record that is not there"},
    {call_index, "task 0:5: call points to a record that is not there"},
    {detail_index, "task 0:0: detail points to a record that is not there"},
    {decimals, "metric record 2: value has more than 6 decimals"},
    {list, "group record 1: ranks points outside of its list"},
    {peers, "task 0:5: peers points outside of its list"},
    {half_event, "task 0:2: op is missing"},
    {unknown_group, "task 0:5: group names a group that has no record"},
    {no_collective_members, "collective c:4: it has no members"},
    {rank_order, "rank 0: it is out of order, or there twice"},
    {lane_order, "lane record 2: it is out of order"},
    {lane_twice, "rank 0: lane p77.t9 is given twice"},
    {span_order, "span 0:4: it is out of order, or there twice"},
    {task_order, "task 0:1: it is out of order, or there twice"},
    {task_twice, "task 0:4 is given twice"},
    {rank_range, "rank 0: its ranges are not those of its records"},
    {lane_range, "lane record 3: its range is not that of its tasks"},
    {unknown_common_error, "task 0:5: common_error names a common error that has no record"},
    {unknown_common_error_of_transfer, "collective c:4: common_error names a common error that has no record"},
    {common_error_twice, "common_error record 2: id gpu.copy is given twice"},
    {negative_sigma, "common_error record 1: sigma is negative"},
    {group_twice, "group record 2: id tp@0 is given twice"},
    {negative_member, "a rank in ranks is negative"},
    {parents, "its parents go in a circle"},
    {own_parent, "span 0:4: its parents go in a circle"},
    {foreign_span_lane, "span 0:0: lane, parent or forward are of another rank"},
    {thread_kind, "task 0:0: kind gemm does not fit a thread"},
    {stream_kind, "task 1:0: kind other does not fit a stream"},
    {thread_lag, "task 0:0: lag is below 0 on a thread"},
    {stream_lag, "task 0:4: lag is above 0 on a stream"},
    {own_lag, "task 0:0: own_lag is more than lag, of which it is a part"},
    {own_dur, "task 0:0: own_dur is more than dur, of which it is a part"},
    {foreign_span, "task 1:0: its span is of another rank"},
    {foreign_call, "task 1:0: call is for tasks on streams"},
    {called_call, "task 0:0: call is for tasks on streams"},
    {shared_detail, "shares its detail with another task"},
    {first_segment, "task 0:7: first_segment is not an earlier task of its lane"},
    {first_elsewhere, "task 0:3: first_segment is not an earlier task of its lane"},
    {negative_peer, "task 0:5: a number in comm.peers is negative"},
    {stream_waits, "task 0:4: only calls on threads have event or wait"},
    {wait_for_thread, "task 0:3: the lane of its event or wait is not a stream of its rank"},
    {wait_for_other, "task 0:3: the lane of its event or wait is not a stream of its rank"},
    {wait_for_kernel, "task 0:3: the record that it waits for is not a call of its rank"},
    {boundary, "dep record 1: a boundary has `at`"},
    {sourceless, "dep record 2: a boundary has `at`"},
    {loop, "dep record 2: src and dst are the same task"},
    {members_order, "collective c:4: members are not in the order of tasks"},
    {member_kind, "collective c:4: a member is not communication"},
    {collective_twice, "collective c:4: ids do not ascend"},
    {second_model, "model record 2: a job has one model at most"},
    {beyond_size, "rank 0: parallel has a coordinate beyond the size"},
    {low_alone, "metric record 2: low and high come together"},
    {scope_lane, "metric record 2: the lane in scope is none of the rank in scope"},
    {scope_task, "note record 1: task points to a record that is not there"},
    {code, "note record 1: code skipped does not begin with a stage"},
    {code_stage, "note record 1: code render.x does not begin with a stage"},
};

static void every_broken_invariant_is_named(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    struct lumos_error error = {0};
    struct lumos_job *job = stream_good(full_stream);
    faults[i].break_it(job);
    bool good = lumos_job_check(job, &error);
    if (good || strstr(error.text, faults[i].message) == NULL) {
      fail_msg("fault %zu: expected \"%s\", got \"%s\"", i, faults[i].message, error.text);
    }
    lumos_job_free(job);
  }
}

static void an_empty_job_is_whole(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = lumos_job_new();
  assert_true(lumos_job_arrange(job, &error));
  assert_true(lumos_job_check(job, &error));
  expect_stream(job, "{\"type\":\"lumos\",\"format\":1,\"stage\":\"parse\",\"epoch\":\"0\",\"history\":[]}\n"
                     "{\"type\":\"end\",\"counts\":{\"lumos\":1,\"end\":1}}\n");
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_broken_invariant_is_named),
      cmocka_unit_test(an_empty_job_is_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
