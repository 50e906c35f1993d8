/* Passes, their order, and what is bubble, of stages whose every task is given. */
#include "unit/report_job.h"

#include "report/content/pipeline.h"
#include "report/content/schedule.h"
#include "report/text/numbers.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { STEP = 0, LENGTH = 1000 };

/* A stage of a pipeline: its rank, with a stream for kernels and one for communication. */
static uint32_t add_stage(struct lumos_job *job, int32_t number, int32_t stage) {
  uint32_t rank = add_rank(job, number);
  job->ranks.items[rank].has_parallel = stage != LUMOS_ABSENT_INT;
  job->ranks.items[rank].parallel.pp = stage;
  return rank;
}

static uint32_t add_work(struct lumos_job *job, uint32_t lane, enum lumos_task_kind kind, uint8_t phase,
                         int32_t micro_batch, int32_t layer, int64_t start, int64_t end) {
  uint32_t task = add_task(job, lane, kind, "work", start, end - start);
  job->tasks.items[task].step = STEP;
  job->tasks.items[task].phase = phase;
  job->tasks.items[task].micro_batch = micro_batch;
  job->tasks.items[task].layer = layer;
  return task;
}

#define NONE LUMOS_ABSENT_INT

static struct lumos_passes read_passes(struct lumos_job *job) {
  struct report_boundary step = {STEP, 0, LENGTH};
  struct report_boundaries steps = {.items = &step, .count = 1};
  struct lumos_report_options options = {0};
  struct lumos_passes passes;
  finish_job(job);
  report_passes_read(job, &steps, &options, &passes);
  return passes;
}

/* ---- Schedules ---- */

enum { MOST_STAGES = 4 };

struct written {
  const char *name; /* NULL: none */
  int stages;
  const char *orders[MOST_STAGES];
  int64_t bubble; /* in theory, millionths */
};

static const struct written schedules[] = {
    {"GPipe", 2, {"F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2"}, 250000},
    {"GPipe", 2, {"F0 F1 F2 B2 B1 B0", "F0 F1 F2 B2 B1 B0"}, 250000},
    {"1F1B", 3, {"F0 F1 F2 B0 F3 B1 B2 B3", "F0 F1 B0 F2 B1 F3 B2 B3", "F0 B0 F1 B1 F2 B2 F3 B3"}, 333333},
    {"1F1B", 4, {"F0 F1 B0 B1", "F0 F1 B0 B1", "F0 F1 B0 B1", "F0 B0 F1 B1"}, 600000},
    {"Interleaved 1F1B",
     2,
     {"F0a F1a F0b F1b F2a B0b F3a B1b F2b B0a F3b B1a B2b B3b B2a B3a",
      "F0a F1a F0b B0b F1b B1b F2a B0a F3a B1a F2b B2b F3b B3b B2a B3a"},
     111111},
    {"Zero bubble (ZB-H1)",
     2,
     {"F0 F1 B0 W0 F2 B1 W1 B2 W2", "F0 B0 F1 B1 W0 F2 B2 W1 W2"},
     100000}, /* 1 of 3 x 3 + 1 */
    {NULL, 2, {"F0 F1 B0 F2 B1 B2", "F0 F1 B0 B1 F2 B2"}, LUMOS_ABSENT},
    {NULL, 2, {"F0 F1 B1 F2 B0 B2", "F0 B0 F1 B1 F2 B2"}, LUMOS_ABSENT},
};

/* The passes of a row, back to back; layer c * stages + s is of chunk c. */
static void add_order(struct lumos_job *job, const struct written *schedule, int stage) {
  uint32_t rank = add_stage(job, stage, stage);
  uint32_t lane = add_lane(job, rank, "s7", LUMOS_STREAM);
  int64_t start = 5 * stage;
  for (const char *at = schedule->orders[stage]; *at != '\0'; start += 10) {
    uint8_t phase = *at == 'F' ? LUMOS_FORWARD : *at == 'B' ? LUMOS_BACKWARD : LUMOS_WEIGHT;
    char *end = NULL;
    long micro_batch = strtol(at + 1, &end, 10);
    int chunk = *end == 'b';
    add_work(job, lane, LUMOS_GEMM, phase, (int32_t)micro_batch, chunk * schedule->stages + stage, start, start + 10);
    at = end + strspn(end, "ab ");
  }
}

static void schedules_are_named(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof schedules / sizeof schedules[0]; i++) {
    const struct written *written = &schedules[i];
    struct lumos_job *job = lumos_job_new();
    for (int stage = 0; stage < written->stages; stage++) {
      add_order(job, written, stage);
    }
    struct lumos_passes passes = read_passes(job);
    enum lumos_recovered_schedule schedule = lumos_schedule_of(&passes);
    const char *name = report_schedule_name(schedule);
    assert_string_equal(name != NULL ? name : "", written->name != NULL ? written->name : "");
    assert_int_equal(lumos_schedule_bubble(schedule, &passes), written->bubble);
    assert_int_equal(passes.stages.count, written->stages);
    for (size_t stage = 0; stage < passes.stages.count; stage++) {
      struct lumos_text text = LUMOS_TEXT_BUFFER;
      report_put_order(&passes, &passes.stages.items[stage], LENGTH, &text);
      lumos_text_char(&text, '\0');
      assert_string_equal(text.bytes, written->orders[stage]);
      lumos_text_free(&text);
    }
    lumos_passes_free(&passes);
    lumos_job_free(job);
  }
}

/* Of the first stage alone nobody can tell. */
static void half_a_pipeline_has_no_name(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  add_order(job, &schedules[3], 0);
  struct lumos_model_description model = lumos_model_description_empty;
  model.sizes.pp = 4;
  lumos_vector_push(&job->models, model);
  struct lumos_passes passes = read_passes(job);
  assert_int_equal(passes.pipeline, 4);
  assert_int_equal(lumos_schedule_of(&passes), LUMOS_SCHEDULE_UNNAMED);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_pipeline_reading(&passes, &text);
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes, "Of 3\xC2\xA0stages no rank is in the traces."));
  lumos_text_free(&text);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

/* ---- Stretches ---- */

static void assert_pass(const struct lumos_passes *passes, size_t number, int phase, int32_t micro_batch, int64_t start,
                        int64_t end) {
  assert_true(number < passes->list.count);
  const struct lumos_pass_interval *pass = &passes->list.items[number];
  assert_int_equal(pass->phase, phase);
  assert_int_equal(pass->micro_batch, micro_batch);
  assert_int_equal(pass->start, start);
  assert_int_equal(pass->end, end);
}

/* A step from 0 to 1000 on the second of two stages; more than 10 without work is a wait.
 *
 *   s7   optimizer 0-100             (from -50 on; what is not within the step does not count)
 *        forward 0: 150-200, 205-300, and behind a collective of its own (300-360) 360-400
 *        forward 1: 400-450, interrupted by backward 0 450-500, on it goes 500-520
 *        nobody knows what: 530-550
 *        optimizer: 600-610, then the norm of the gradients is waited for, 900-1020
 *   s9   that collective; sums of gradients 540-580, in a group of the stage; the norm 610-890, in one of both stages;
 *        a receive 100-150
 */
static struct lumos_job *second_stage(void) {
  struct lumos_job *job = lumos_job_new();
  uint32_t first = add_stage(job, 0, 0);
  uint32_t lane = add_lane(job, first, "s7", LUMOS_STREAM);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 0, 0, 10, 20);
  uint32_t rank = add_stage(job, 1, 1);
  lane = add_lane(job, rank, "s7", LUMOS_STREAM);
  add_work(job, lane, LUMOS_OPTIMIZER, LUMOS_OPTIMIZER_PHASE, NONE, NONE, -50, 100);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 0, 1, 150, 200);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 0, 2, 205, 300);
  add_work(job, lane, LUMOS_NORM, LUMOS_FORWARD, 0, NONE, 360, 400);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 1, 1, 400, 450);
  add_work(job, lane, LUMOS_GEMM, LUMOS_BACKWARD, 0, 2, 450, 500);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 1, 2, 500, 520);
  add_work(job, lane, LUMOS_REDUCTION, 0, NONE, NONE, 530, 550);
  add_work(job, lane, LUMOS_OPTIMIZER, LUMOS_OPTIMIZER_PHASE, NONE, NONE, 600, 610);
  add_work(job, lane, LUMOS_OPTIMIZER, LUMOS_OPTIMIZER_PHASE, NONE, NONE, 900, 1020);
  lane = add_lane(job, rank, "s9", LUMOS_STREAM);
  lumos_string_id within = lumos_intern_text(job->strings, "within");
  lumos_string_id across = lumos_intern_text(job->strings, "across");
  add_work(job, lane, LUMOS_P2P, LUMOS_FORWARD, 0, NONE, 100, 150);
  uint32_t tasks[] = {add_work(job, lane, LUMOS_COLLECTIVE, LUMOS_FORWARD, 0, 2, 300, 360),
                      add_work(job, lane, LUMOS_COLLECTIVE, LUMOS_BACKWARD, 1, NONE, 540, 580),
                      add_work(job, lane, LUMOS_COLLECTIVE, LUMOS_OPTIMIZER_PHASE, NONE, NONE, 610, 890)};
  for (int i = 0; i < 3; i++) {
    lumos_task_detail(job, &job->tasks.items[tasks[i]])->comm.group = i < 2 ? within : across;
  }
  struct lumos_group groups[] = {lumos_group_empty, lumos_group_empty};
  for (uint32_t i = 0; i < 2; i++) {
    groups[i].rank = i == 0 ? 1 : 0;
    groups[i].id = i == 0 ? within : across;
    groups[i].size = 2;
    groups[i].member_first = 2 * i;
    groups[i].member_count = 2;
    lumos_vector_push(&job->groups, groups[i]);
  }
  static const int32_t members[] = {1, 3, 0, 1};
  for (int i = 0; i < 4; i++) {
    lumos_vector_push(&job->group_ranks, members[i]);
  }
  return job;
}

static void a_step_by_hand(void **state) {
  (void)state;
  struct lumos_job *job = second_stage();
  struct lumos_passes passes = read_passes(job);
  assert_int_equal(passes.stages.count, 2);
  const struct lumos_pipeline_stage *stage = &passes.stages.items[1];
  assert_int_equal(stage->stage, 1);
  assert_int_equal(stage->tracks, 1);
  size_t at = stage->first;
  assert_pass(&passes, at++, LUMOS_OPTIMIZER_PHASE, NONE, 0, 100);
  assert_pass(&passes, at++, LUMOS_FORWARD, 0, 150, 400);
  assert_pass(&passes, at++, LUMOS_FORWARD, 1, 400, 450);
  assert_pass(&passes, at++, LUMOS_BACKWARD, 0, 450, 500);
  assert_pass(&passes, at++, LUMOS_FORWARD, 1, 500, 520);
  assert_pass(&passes, at++, LUMOS_OTHER_PHASE, NONE, 530, 550);
  assert_pass(&passes, at++, LUMOS_EXCHANGE, NONE, 550, 580);
  assert_pass(&passes, at++, LUMOS_OPTIMIZER_PHASE, NONE, 600, 610);
  assert_pass(&passes, at++, LUMOS_OPTIMIZER_PHASE, NONE, 900, 1000);
  assert_int_equal(at, stage->first + stage->count);
  assert_int_equal(stage->busy[LUMOS_FORWARD], 250 + 50 + 20);
  assert_int_equal(stage->busy[LUMOS_BACKWARD], 50);
  assert_int_equal(stage->busy[LUMOS_OPTIMIZER_PHASE], 210);
  assert_int_equal(stage->busy[LUMOS_EXCHANGE], 30);
  assert_int_equal(stage->busy[LUMOS_OTHER_PHASE], 20);
  assert_int_equal(stage->bubble, 50 + 10 + 20 + 290);
  assert_int_equal(stage->micro_batches, 2);
  assert_int_equal(passes.list.items[stage->first + 1].layer_first, 1);
  assert_int_equal(passes.list.items[stage->first + 1].layer_last, 2);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

/* What a group is said to be for decides before its ranks do; without either its size does. */
static void groups_reach_as_far_as_they_do(void **state) {
  (void)state;
  static const struct {
    uint8_t role;
    int32_t size, world;
    uint32_t members;
    int64_t exchange; /* of 280 that the collective of both stages leaves empty */
  } cases[] = {{0, 2, 4, 2, 30},  {LUMOS_DATA, 2, 4, 2, 310}, {LUMOS_PIPELINE, 2, 4, 0, 30},
               {0, 2, 4, 0, 310}, {0, 3, 4, 0, 30},           {0, 3, NONE, 0, 310}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct lumos_job *job = second_stage();
    struct lumos_group *across = &job->groups.items[1];
    across->role = cases[i].role;
    across->size = cases[i].size;
    across->member_count = cases[i].members;
    job->ranks.items[0].world = cases[i].world;
    struct lumos_passes passes = read_passes(job);
    assert_int_equal(passes.stages.items[1].busy[LUMOS_EXCHANGE], cases[i].exchange);
    lumos_passes_free(&passes);
    lumos_job_free(job);
  }
}

/* Three ranks of one stage and one of the next: the lowest that works stands for its stage. Without places every rank
 * stands for itself, up to what there is room for. */
static void a_stage_has_one_row(void **state) {
  (void)state;
  for (int placed = 0; placed < 2; placed++) {
    struct lumos_job *job = lumos_job_new();
    for (int32_t number = 0; number < 4; number++) {
      uint32_t rank = add_stage(job, number, placed ? number / 3 : NONE);
      uint32_t lane = add_lane(job, rank, "s7", LUMOS_STREAM);
      if (number > 0) {
        add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 0, 0, 10, 20);
      }
    }
    struct lumos_passes passes = read_passes(job);
    assert_int_equal(passes.stages.count, placed ? 2 : 3);
    assert_int_equal(passes.stages.items[0].rank, 1);
    assert_int_equal(passes.stages.items[0].stage, placed ? 0 : NONE);
    assert_int_equal(passes.stages.items[placed ? 1 : 2].rank, 3);
    lumos_passes_free(&passes);
    lumos_job_free(job);
  }
}

static void many_ranks_are_counted(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  for (int32_t number = 0; number < REPORT_ALIKE + 5; number++) {
    uint32_t lane = add_lane(job, add_stage(job, number, NONE), "s7", LUMOS_STREAM);
    add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 0, 0, 10, 20);
  }
  struct lumos_passes passes = read_passes(job);
  assert_int_equal(passes.stages.count, REPORT_ALIKE);
  assert_int_equal(passes.left_out, 5);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_pipeline_reading(&passes, &text);
  lumos_text_char(&text, '\0');
  assert_non_null(strstr(text.bytes, "Not shown: 5\xC2\xA0more ranks."));
  lumos_text_free(&text);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

/* Two streams of passes at once are two tracks; a copy on the side is none. */
static void streams_at_once_are_tracks(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t rank = add_stage(job, 0, NONE);
  uint32_t lane = add_lane(job, rank, "s7", LUMOS_STREAM);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 1, 0, 100, 500);
  lane = add_lane(job, rank, "s8", LUMOS_STREAM);
  add_work(job, lane, LUMOS_GEMM, LUMOS_BACKWARD, 0, 0, 300, 450);
  add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 1, 0, 450, 550);
  add_work(job, lane, LUMOS_GEMM, LUMOS_BACKWARD, 0, 0, 550, 700);
  lane = add_lane(job, rank, "s9", LUMOS_STREAM);
  add_work(job, lane, LUMOS_COPY, LUMOS_FORWARD, 1, NONE, 90, 95);
  struct lumos_passes passes = read_passes(job);
  assert_int_equal(passes.stages.items[0].tracks, 2);
  assert_int_equal(passes.stages.items[0].bubble, 400);
  assert_int_equal(passes.stages.items[0].busy[LUMOS_FORWARD], 450);
  assert_int_equal(passes.stages.items[0].busy[LUMOS_BACKWARD], 300);
  assert_int_equal(passes.elsewhere, 5);
  assert_int_equal(passes.list.items[1].track, 1);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

/* A layer that was not found parts nothing; layers of another stage between them do. */
static void chunks_are_parted_by_other_stages(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  static const int32_t layers[2][3] = {{0, 2, 9}, {5, 6, 12}};
  for (int32_t stage = 0; stage < 2; stage++) {
    uint32_t lane = add_lane(job, add_stage(job, stage, stage), "s7", LUMOS_STREAM);
    for (int i = 0; i < 3; i++) {
      add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, 0, layers[stage][i], 10 * i, 10 * i + 10);
    }
  }
  struct lumos_passes passes = read_passes(job);
  assert_int_equal(passes.stages.items[0].chunks, 2);
  assert_pass(&passes, 0, LUMOS_FORWARD, 0, 0, 20);
  assert_pass(&passes, 1, LUMOS_FORWARD, 0, 20, 30);
  struct report_table table;
  report_pipeline_table(&passes, &(struct report_facts){.job = job}, &table);
  const struct report_cell *cell = &table.cells.items[1];
  assert_int_equal(cell->length, strlen("0 to 2, 9"));
  assert_memory_equal(cell->bytes, "0 to 2, 9", cell->length);
  report_table_free(&table);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

/* ---- The picture ---- */

static size_t count_marks(const struct report_scene *scene, enum report_mark_kind kind, enum report_paint paint) {
  size_t count = 0;
  for (size_t i = 0; i < scene->marks.count; i++) {
    count += scene->marks.items[i].kind == kind && scene->marks.items[i].paint == paint;
  }
  return count;
}

static void boxes_are_numbered(void **state) {
  (void)state;
  struct lumos_job *job = second_stage();
  struct lumos_passes passes = read_passes(job);
  struct report_scene scene;
  assert_true(report_pipeline_scene(&passes, &(struct report_facts){.job = job}, &scene));
  assert_int_equal(count_marks(&scene, MARK_BOX, PAINT_FORWARD), 4);
  assert_int_equal(count_marks(&scene, MARK_BOX, PAINT_BACKWARD), 1);
  assert_int_equal(count_marks(&scene, MARK_BOX, PAINT_UPDATE), 3);
  assert_int_equal(count_marks(&scene, MARK_BOX, PAINT_COMMUNICATION), 1);
  assert_int_equal(count_marks(&scene, MARK_TEXT, PAINT_BACKWARD), 1);
  for (size_t i = 0; i < scene.marks.count; i++) {
    const struct report_mark *mark = &scene.marks.items[i];
    if (mark->kind == MARK_TEXT && mark->paint == PAINT_BACKWARD) {
      assert_int_equal(mark->text_length, 1);
      assert_int_equal(scene.texts.bytes[mark->text_first], '0');
    }
  }
  bool shown[PAINT_COUNT] = {false};
  report_pipeline_paints(&passes, shown);
  assert_true(shown[PAINT_FORWARD] && shown[PAINT_NO_PASS] && !shown[PAINT_WEIGHT]);
  report_scene_free(&scene);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

/* A thousand micro-batches on each of eight stages take no more room than the picture has pixels. */
static void many_passes_are_a_raster(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  for (int32_t stage = 0; stage < 8; stage++) {
    uint32_t lane = add_lane(job, add_stage(job, stage, stage), "s7", LUMOS_STREAM);
    for (int32_t i = 0; i < LENGTH; i++) {
      add_work(job, lane, LUMOS_GEMM, i % 2 == 0 ? LUMOS_FORWARD : LUMOS_BACKWARD, i / 2, stage, i, i + 1);
    }
  }
  struct lumos_passes passes = read_passes(job);
  struct report_scene scene;
  assert_true(report_pipeline_is_dense(&passes));
  assert_true(report_pipeline_scene(&passes, &(struct report_facts){.job = job}, &scene));
  assert_int_equal(count_marks(&scene, MARK_BOX, PAINT_FORWARD), 0);
  assert_true(scene.marks.count < 200);
  assert_true(scene.runs.count > 0 && scene.runs.count <= 8 * LENGTH);
  report_scene_free(&scene);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

/* Numbers that no job has, and nothing at all. */
static void hostile_numbers_are_borne(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  static const int32_t numbers[] = {INT32_MAX, 0, INT32_MAX - 1, 1000000007};
  for (int32_t i = 0; i < 4; i++) {
    uint32_t lane = add_lane(job, add_stage(job, i, numbers[i]), "s7", LUMOS_STREAM);
    add_work(job, lane, LUMOS_GEMM, LUMOS_FORWARD, numbers[i], numbers[i], -100, INT64_MAX / 4);
    add_work(job, lane, LUMOS_GEMM, LUMOS_BACKWARD, numbers[3 - i], INT32_MAX - i, 500, 500);
    add_work(job, lane, LUMOS_GEMM, LUMOS_BACKWARD, numbers[3 - i], i, INT64_MAX / 4, INT64_MAX / 2);
  }
  struct lumos_passes passes = read_passes(job);
  struct report_table table;
  struct report_scene scene;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_pipeline_table(&passes, &(struct report_facts){.job = job}, &table);
  report_put_pipeline_finding(&passes, &(struct report_facts){.job = job}, &text);
  assert_true(report_pipeline_scene(&passes, &(struct report_facts){.job = job}, &scene));
  report_scene_free(&scene);
  report_table_free(&table);
  lumos_text_free(&text);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

static void without_passes_there_is_nothing(void **state) {
  (void)state;
  struct lumos_job *job = lumos_job_new();
  uint32_t lane = add_lane(job, add_stage(job, 0, 0), "s7", LUMOS_STREAM);
  add_work(job, lane, LUMOS_GEMM, 0, NONE, NONE, 0, 500);
  add_work(job, lane, LUMOS_OPTIMIZER, LUMOS_OPTIMIZER_PHASE, NONE, NONE, 500, 900);
  struct lumos_passes passes = read_passes(job);
  struct report_scene scene;
  struct report_table table;
  assert_int_equal(passes.stages.count, 0);
  assert_false(report_pipeline_scene(&passes, &(struct report_facts){.job = job}, &scene));
  report_pipeline_table(&passes, &(struct report_facts){.job = job}, &table);
  assert_int_equal(report_table_rows(&table), 0);
  report_table_free(&table);
  lumos_passes_free(&passes);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(schedules_are_named),
      cmocka_unit_test(half_a_pipeline_has_no_name),
      cmocka_unit_test(a_step_by_hand),
      cmocka_unit_test(groups_reach_as_far_as_they_do),
      cmocka_unit_test(a_stage_has_one_row),
      cmocka_unit_test(many_ranks_are_counted),
      cmocka_unit_test(streams_at_once_are_tracks),
      cmocka_unit_test(chunks_are_parted_by_other_stages),
      cmocka_unit_test(boxes_are_numbered),
      cmocka_unit_test(many_passes_are_a_raster),
      cmocka_unit_test(hostile_numbers_are_borne),
      cmocka_unit_test(without_passes_there_is_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
