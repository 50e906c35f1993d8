/* Property: whatever slot of the schema is a reference, each place that rewrites references rewrites it.
 *
 * Jobs hold four of each record, and every reference of every record names the second, index 1. A field that is added
 * to the schema takes part by itself; a kind of field that is added has to be placed in lumos_target_of, and what it
 * refers to in `expected` below.
 */
#include "job/remap.h"
#include "job/schema.h"
#include "stream/reader.h"
#include "stream_unit.h"

enum { COUNT = 4, REFERRED = 1, LIST = 100, FIRST_ID = 50, FIRST_RANK = 30 };

/* ---- every reference of a job ---- */

typedef void act_on_slot(struct lumos_job *job, const struct lumos_field *field, uint32_t *slot, size_t record);

static void each_of_rows(struct lumos_job *job, enum lumos_record_kind kind, const struct lumos_field *rows,
                         size_t count, act_on_slot *act) {
  for (size_t i = 0; i < count; i++) {
    if (rows[i].kind == FIELD_OBJECT) {
      each_of_rows(job, kind, rows[i].members, rows[i].member_count, act);
    } else if (lumos_target_of((enum lumos_field_kind)rows[i].kind) > TARGET_STRINGS) {
      size_t records = 0;
      char *items = lumos_part_items(job, kind, rows[i].part, &records);
      for (size_t record = 0; record < records; record++) {
        char *slot = items + record * lumos_schema[kind].sizes[rows[i].part] + rows[i].offset;
        act(job, &rows[i], (uint32_t *)(void *)slot, record);
      }
    }
  }
}

static void each_reference(struct lumos_job *job, act_on_slot *act) {
  for (int kind = RECORD_HEADER; kind < RECORD_END; kind++) {
    const struct lumos_record_type *type = &lumos_schema[kind];
    each_of_rows(job, (enum lumos_record_kind)kind, type->fields, type->count, act);
    each_of_rows(job, (enum lumos_record_kind)kind, type->links, type->link_count, act);
  }
}

static lumos_string_id group_id(struct lumos_job *job, size_t index) {
  char id[8];
  (void)snprintf(id, sizeof id, "g%zu", index);
  return lumos_intern_text(job->strings, id);
}

static lumos_string_id common_error_id(struct lumos_job *job, size_t index) {
  char id[8];
  (void)snprintf(id, sizeof id, "e%zu", index);
  return lumos_intern_text(job->strings, id);
}

static bool is_range(enum lumos_target target) {
  return target == TARGET_GROUP_RANKS || target == TARGET_PEERS || target == TARGET_MEMBERS || target == TARGET_INPUTS;
}

/* The second element, or the list of that alone. */
static void refer(struct lumos_job *job, const struct lumos_field *field, uint32_t *slot, size_t record) {
  (void)record;
  enum lumos_target target = lumos_target_of((enum lumos_field_kind)field->kind);
  slot[0] = target == TARGET_GROUPS          ? group_id(job, REFERRED)
            : target == TARGET_COMMON_ERRORS ? common_error_id(job, REFERRED)
                                             : REFERRED;
  if (is_range(target)) {
    slot[1] = 1;
  }
}

/* Elements of lists are 100, 101 and so on, members tasks. */
static struct lumos_job *new_job(void) {
  struct lumos_job *job = lumos_job_new();
  for (uint32_t i = 0; i < COUNT; i++) {
    struct lumos_group group = lumos_group_empty;
    struct lumos_common_error error = lumos_common_error_empty;
    struct lumos_rank rank = lumos_rank_empty;
    struct lumos_task task = lumos_task_empty;
    struct lumos_span span = lumos_span_empty;
    group.id = group_id(job, i);
    error.id = common_error_id(job, i);
    rank.rank = FIRST_RANK + (int32_t)i;
    task.id = span.id = FIRST_ID + i;
    lumos_vector_push(&job->groups, group);
    lumos_vector_push(&job->ranks, rank);
    lumos_vector_push(&job->tasks, task);
    lumos_vector_push(&job->spans, span);
    lumos_vector_push(&job->lanes, lumos_lane_empty);
    lumos_vector_push(&job->details, lumos_detail_empty);
    lumos_vector_push(&job->timings, lumos_timing_empty);
    lumos_vector_push(&job->deps, lumos_dep_empty);
    lumos_vector_push(&job->collectives, lumos_collective_empty);
    lumos_vector_push(&job->models, lumos_model_description_empty);
    lumos_vector_push(&job->common_errors, error);
    lumos_vector_push(&job->metrics, lumos_metric_empty);
    lumos_vector_push(&job->notes, lumos_note_empty);
    lumos_vector_push(&job->history, ((struct lumos_history){0}));
    lumos_vector_push(&job->inputs, lumos_intern_text(job->strings, i == REFERRED ? "referred" : "other"));
    lumos_vector_push(&job->group_ranks, (int32_t)(LIST + i));
    lumos_vector_push(&job->peers, ((struct lumos_peer){(int32_t)(LIST + i), 0, 0}));
    lumos_vector_push(&job->members, i);
  }
  each_reference(job, refer);
  return job;
}

/* ---- what each is to be ---- */

static uint32_t expected[LUMOS_TARGETS]; /* by target: the index that each reference to one is to have */

static void expect_slot(struct lumos_job *job, const struct lumos_field *field, uint32_t *slot, size_t record) {
  enum lumos_target target = lumos_target_of((enum lumos_field_kind)field->kind);
  (void)record;
  switch (target) {
    case TARGET_GROUPS:
      assert_string_equal(lumos_string(job->strings, *slot), "g1");
      break;
    case TARGET_COMMON_ERRORS:
      assert_string_equal(lumos_string(job->strings, *slot), "e1");
      break;
    case TARGET_GROUP_RANKS:
      assert_int_equal(job->group_ranks.items[slot[0]], LIST + REFERRED);
      break;
    case TARGET_PEERS:
      assert_int_equal(job->peers.items[slot[0]].rank, LIST + REFERRED);
      break;
    case TARGET_INPUTS:
      assert_string_equal(lumos_string(job->strings, job->inputs.items[slot[0]]), "referred");
      break;
    case TARGET_MEMBERS:
      assert_int_equal(slot[1], 1);
      assert_int_equal(job->members.items[slot[0]], expected[TARGET_TASKS]);
      break;
    default:
      if (*slot != expected[target]) {
        fail_msg("%.*s is %u instead of %u", field->length, field->key + 2, *slot, expected[target]);
      }
  }
}

static void expect_all(uint32_t index) {
  for (int target = 0; target < LUMOS_TARGETS; target++) {
    expected[target] = index;
  }
}

static void records_that_move_are_followed(void **state) {
  (void)state;
  static const uint32_t back[COUNT] = {3, 2, 1, 0};
  const struct lumos_remap remap = {back, back, back, back, back};
  struct lumos_job *job = new_job();
  lumos_job_remap(job, &remap);
  expect_all(COUNT - 1 - REFERRED);
  expected[TARGET_DETAILS] = expected[TARGET_TIMINGS] = REFERRED;
  each_reference(job, expect_slot);
  lumos_job_free(job);
}

static void records_behind_one_that_goes_are_followed(void **state) {
  (void)state;
  static const uint32_t without_first[COUNT] = {LUMOS_NONE, 0, 1, 2};
  const struct lumos_remap remap = {without_first, without_first, without_first, without_first, without_first};
  struct lumos_job *job = new_job();
  lumos_job_remap(job, &remap);
  expect_all(REFERRED - 1);
  each_reference(job, expect_slot);
  assert_int_equal(job->details.count, 1); /* all tasks had the second one */
  assert_int_equal(job->timings.count, 1);
  lumos_job_free(job);
}

/* ---- one job behind the other ---- */

static void to_group_index(struct lumos_job *job, const struct lumos_field *field, uint32_t *slot, size_t record) {
  (void)job;
  (void)record;
  if (lumos_target_of((enum lumos_field_kind)field->kind) == TARGET_GROUPS) {
    *slot = REFERRED + 1;
  }
}

static void expect_appended(struct lumos_job *job, const struct lumos_field *field, uint32_t *slot, size_t record) {
  enum lumos_target target = lumos_target_of((enum lumos_field_kind)field->kind);
  uint32_t before = record < COUNT ? 0 : COUNT;
  if (is_range(target) || target == TARGET_COMMON_ERRORS) {
    expect_slot(job, field, slot, record);
  } else {
    uint32_t index = REFERRED + before + (target == TARGET_GROUPS);
    if (*slot != index) {
      fail_msg("%.*s of record %zu is %u instead of %u", field->length, field->key + 2, record, *slot, index);
    }
  }
}

static void a_job_behind_another_keeps_its_references(void **state) {
  (void)state;
  struct lumos_job *jobs[2] = {new_job(), new_job()};
  for (int i = 0; i < 2; i++) {
    struct lumos_foreign line = {lumos_intern_text(jobs[i]->strings, i == 0 ? "x" : "y"), LUMOS_NO_STRING};
    line.line = lumos_intern_text(jobs[i]->strings, i == 0 ? "{x}" : "{y}");
    each_reference(jobs[i], to_group_index);
    lumos_vector_push(&jobs[i]->foreign, line);
    jobs[i]->deps.count = jobs[i]->collectives.count = jobs[i]->members.count = jobs[i]->models.count =
        jobs[i]->common_errors.count = jobs[i]->metrics.count = 0;
  }
  jobs[1]->unknown = lumos_intern_text(jobs[1]->strings, "\"new\":1");
  jobs[1]->history.items[0].tool = lumos_intern_text(jobs[1]->strings, "lumos-new");
  lumos_job_append(jobs[0], jobs[1]);
  assert_int_equal(jobs[0]->tasks.count, 2 * COUNT);
  assert_int_equal(jobs[1]->tasks.count, 0);
  each_reference(jobs[0], expect_appended);
  assert_string_equal(lumos_string(jobs[0]->strings, jobs[0]->foreign.items[1].line), "{y}");
  assert_string_equal(lumos_string(jobs[0]->strings, jobs[0]->history.items[COUNT].tool), "lumos-new");
  assert_string_equal(lumos_string(jobs[0]->strings, jobs[0]->unknown), "\"new\":1");
  lumos_job_free(jobs[0]);
  lumos_job_free(jobs[1]);
}

/* ---- what lines named ---- */

/* As read.c leaves it: the number of a rank, the id of a task or a span, an index of `far`, a place of a lane. */
static void name(struct lumos_job *job, const struct lumos_field *field, uint32_t *slot, size_t record) {
  (void)job;
  switch (lumos_target_of((enum lumos_field_kind)field->kind)) {
    case TARGET_RANKS:
      *slot = FIRST_RANK + REFERRED;
      break;
    case TARGET_SPANS:
      *slot = FIRST_ID + REFERRED;
      break;
    case TARGET_TASKS:
      *slot = field->kind == FIELD_TASK ? FIRST_ID + REFERRED : 0;
      break;
    case TARGET_LANES:
      *slot = REFERRED + 1; /* the first place is none of a lane */
      break;
    case TARGET_DETAILS: /* of each its own: what two had would be resolved twice */
    case TARGET_TIMINGS:
    case TARGET_MEMBERS:
      *slot = (uint32_t)record;
      break;
    default:
      break;
  }
}

static void what_lines_named_becomes_an_index(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_reader *reader = calloc(1, sizeof *reader);
  struct lumos_far far = {FIRST_RANK + REFERRED, FIRST_ID + REFERRED};
  assert_non_null(reader);
  reader->job = new_job();
  reader->name = "job.jsonl";
  reader->error = &error;
  each_reference(reader->job, name);
  for (uint32_t i = 0; i < COUNT; i++) {
    reader->job->members.items[i] = 0;
    lumos_vector_push(&reader->lane_given, i > 0);
  }
  lumos_vector_push(&reader->far, far);
  if (!lumos_reader_resolve(reader)) {
    fail_msg("refused: %s", error.text);
  }
  expect_all(REFERRED);
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_int_equal(reader->job->tasks.items[i].detail, i);
    assert_int_equal(reader->job->tasks.items[i].timing, i);
    reader->job->tasks.items[i].detail = reader->job->tasks.items[i].timing = REFERRED;
  }
  each_reference(reader->job, expect_slot);
  lumos_job_free(reader->job);
  lumos_vector_free(&reader->lane_given);
  lumos_vector_free(&reader->far);
  free(reader);
}

/* ---- what points nowhere ---- */

static size_t seen[FIELD_KINDS];

static void expect_checked(struct lumos_job *job, const struct lumos_field *field, uint32_t *slot, size_t record) {
  struct lumos_error error = {0};
  uint32_t kept = *slot;
  (void)record;
  if (lumos_slot_absent(field, slot)) {
    return;
  }
  seen[field->kind]++;
  *slot = LUMOS_NONE - 1;
  if (lumos_job_check(job, &error)) {
    fail_msg("%.*s points nowhere, and the check lets it pass", field->length, field->key + 2);
  }
  *slot = kept;
}

static void the_check_refuses_every_reference_to_nothing(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = stream_good(full_stream);
  each_reference(job, expect_checked);
  for (int kind = 0; kind < FIELD_KINDS; kind++) {
    bool refers = lumos_target_of((enum lumos_field_kind)kind) > TARGET_STRINGS;
    assert_int_equal(seen[kind] > 0, refers);
  }
  assert_true(lumos_job_check(job, &error));
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(records_that_move_are_followed),
      cmocka_unit_test(records_behind_one_that_goes_are_followed),
      cmocka_unit_test(a_job_behind_another_keeps_its_references),
      cmocka_unit_test(what_lines_named_becomes_an_index),
      cmocka_unit_test(the_check_refuses_every_reference_to_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
