/* A job written anew: two steps of a model of two layers, on one GPU, worked out on paper; times in nanoseconds.
 *
 * A step begins at 1000 s and takes a thread t1 for two layers forward (100 each, of which the launch 10) and, when t2
 * has gone back through them (150 each), for the optimizer (50). Every launch puts a kernel on s7, which has no lag: F
 * 60, B 90, O 40 long. t1 hands over to t2 behind `go`, and t2 hands back when `backward 0` has ended; both take 5.
 *
 *   t1  forward 0 0-100, forward 1 100-200, go 200-210                                 update 520-570
 *   t2                                           backward 1 215-365, backward 0 365-515
 */
#include "job_text.h"

#include "rebuild/blocks.h"
#include "rebuild/templates.h"
#include <lumos/rebuild.h>
#include <lumos/transform.h>
#include <stdlib.h>

enum { STEPS = 3, PERIOD = 1000 };

struct writer {
  struct lumos_text threads[2], stream, deps;
  int id, seq[3];
  char last[2][16]; /* of each thread */
};

/* Two tasks: the op, and its launch in its last 10 ns. */
static void write_op(struct writer *writer, int thread, int step, int start, int dur, const char *labels, int kernel) {
  int op = writer->id, begin = step * PERIOD + start;
  int lag = writer->seq[thread] == 0 ? 0 : begin - atoi(writer->last[thread]);
  lumos_text_format(
      &writer->threads[thread],
      "{'type':'task','id':'0:%d','rank':0,'lane':'t%d','seq':%d,'kind':'op','name':'op','start':%d,'dur':%d,"
      "'lag':%d,'step':%d%s}\n",
      op, thread + 1, writer->seq[thread]++, begin, kernel > 0 ? dur - 10 : dur, lag, step, labels);
  if (kernel > 0) {
    lumos_text_format(
        &writer->threads[thread],
        "{'type':'task','id':'0:%d','rank':0,'lane':'t%d','seq':%d,'kind':'launch','name':'launch','start':%d,"
        "'dur':10,'lag':0,'step':%d%s}\n",
        op + 1, thread + 1, writer->seq[thread]++, begin + dur - 10, step, labels);
    lumos_text_format(
        &writer->stream,
        "{'type':'task','id':'0:%d','rank':0,'lane':'s7','seq':%d,'kind':'gemm','name':'kernel','start':%d,"
        "'dur':%d,'lag':0,'gap':0,'step':%d,'origin':'launched','call':'0:%d','launch_lag':0,'residual':0%s}\n",
        op + 2, writer->seq[2]++, begin + dur, kernel, step, op + 1, labels);
  }
  (void)snprintf(writer->last[thread], sizeof writer->last[thread], "%d", begin + dur);
  writer->id += 3;
}

static void write_hand_over(struct writer *writer, int src, int dst) {
  lumos_text_format(
      &writer->deps,
      "{'type':'dep','src':'0:%d','dst':'0:%d','kind':'handover','from':'end','to':'start','lag':5,'covers':%d,"
      "'evidence':'recorded','mode':'fixed'}\n",
      src, dst, 0);
}

#define LAYER(phase, layer) ",'phase':'" phase "','micro_batch':0,'layer':" #layer ",'part':'layer'"

static void write_step(struct writer *writer, int step) {
  write_op(writer, 0, step, 0, 100, LAYER("forward", 0), 60);
  write_op(writer, 0, step, 100, 100, LAYER("forward", 1), 60);
  int go = writer->id;
  write_op(writer, 0, step, 200, 10, ",'phase':'optimizer'", 0);
  int back = writer->id;
  write_op(writer, 1, step, 215, 150, LAYER("backward", 1), 90);
  int last = writer->id + 1;
  write_op(writer, 1, step, 365, 150, LAYER("backward", 0), 90);
  int update = writer->id;
  write_op(writer, 0, step, 520, 50, ",'phase':'optimizer'", 40);
  write_hand_over(writer, go, back);
  write_hand_over(writer, last, update);
}

/* The own lags behind hand-overs are none: what is before is explained. */
static struct lumos_job *model_job(void) {
  struct writer writer = {
      .threads = {LUMOS_TEXT_BUFFER, LUMOS_TEXT_BUFFER}, .stream = LUMOS_TEXT_BUFFER, .deps = LUMOS_TEXT_BUFFER};
  for (int step = 0; step < STEPS; step++) {
    write_step(&writer, step);
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, JOB_TEXT_HEADER "{'type':'rank','rank':0,'window':[0,9000],'base':0," JOB_TEXT_COVERAGE "}\n"
                                        "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n"
                                        "{'type':'lane','rank':0,'lane':'t2','kind':'thread','native':'2'}\n"
                                        "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n");
  struct lumos_text *parts[] = {&writer.threads[0], &writer.threads[1], &writer.stream, &writer.deps};
  for (int i = 0; i < 4; i++) {
    lumos_text_add(&text, parts[i]->bytes, parts[i]->length);
    lumos_text_free(parts[i]);
  }
  lumos_text_put(&text, "{'type':'model','layers':2,'micro_batches':1,'parallel':{'tp':1,'pp':1,'dp':1}}\n");
  lumos_text_char(&text, '\0');
  struct lumos_job *job = job_from_text(text.bytes);
  lumos_text_free(&text);
  for (size_t d = 0; d < job->deps.count; d++) {
    lumos_task_detail(job, &job->tasks.items[job->deps.items[d].dst])->own_lag = 0;
  }
  return job;
}

/* ---- blocks ---- */

static void a_step_is_cut_by_what_it_is_for_and_where_threads_hand_over(void **state) {
  (void)state;
  static const struct {
    uint8_t phase, part;
    int32_t layer;
    uint32_t tasks, kernels;
  } expected[] = {{LUMOS_FORWARD, LUMOS_PART_LAYER, 0, 2, 1},        {LUMOS_FORWARD, LUMOS_PART_LAYER, 1, 2, 1},
                  {LUMOS_BACKWARD, 0, LUMOS_ABSENT_INT, 1, 0}, /* go: it is for what it hands over to */
                  {LUMOS_BACKWARD, LUMOS_PART_LAYER, 1, 2, 1},       {LUMOS_BACKWARD, LUMOS_PART_LAYER, 0, 2, 1},
                  {LUMOS_OPTIMIZER_PHASE, 0, LUMOS_ABSENT_INT, 2, 1}};
  enum { BLOCKS = sizeof expected / sizeof *expected };
  struct lumos_job *job = model_job();
  struct rebuild_blocks blocks;
  rebuild_blocks_cut(&blocks, job, REBUILD_WEIGHTS_STAY, false);
  assert_int_equal(blocks.items.count, STEPS * BLOCKS);
  for (uint32_t b = 0; b < blocks.items.count; b++) {
    const struct rebuild_block *block = &blocks.items.items[b];
    assert_int_equal(block->step, b / BLOCKS);
    assert_int_equal(block->phase, expected[b % BLOCKS].phase);
    assert_int_equal(block->part, expected[b % BLOCKS].part);
    assert_int_equal(block->layer, expected[b % BLOCKS].layer);
    assert_int_equal(block->count, expected[b % BLOCKS].tasks);
    assert_int_equal(block->device_count, expected[b % BLOCKS].kernels);
  }
  rebuild_blocks_free(&blocks);
  lumos_job_free(job);
}

static void a_template_has_the_blocks_of_a_place_in_all_steps(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct rebuild_blocks blocks;
  struct rebuild_templates templates;
  rebuild_blocks_cut(&blocks, job, REBUILD_WEIGHTS_STAY, false);
  rebuild_templates_make(&templates, &blocks);
  uint32_t each = (uint32_t)blocks.items.count / STEPS;
  assert_int_equal(templates.count, each);
  for (uint32_t b = 0; b < blocks.items.count; b++) {
    assert_int_equal(templates.of[b], templates.of[b % each]);
    uint32_t drawn = rebuild_draw(&templates, b, 1), last = each * (STEPS - 1);
    bool begins =
        b >= last && (b == last || b == last + 3); /* what follows is the first of a thread: the one behind it */
    assert_int_equal(drawn, (b + each) % blocks.items.count + (begins ? each : 0));
  }
  rebuild_templates_free(&templates);
  rebuild_blocks_free(&blocks);
  lumos_job_free(job);
}

/* What a block does differs, so it is of another template. */
static void another_kernel_makes_another_template(void **state) {
  (void)state;
  struct lumos_job *job = model_job();
  struct rebuild_blocks blocks;
  struct rebuild_templates templates;
  uint32_t kernel = job->lanes.items[2].task_first + 5; /* the first of step 1 */
  job->tasks.items[kernel].kind = LUMOS_NORM;
  rebuild_blocks_cut(&blocks, job, REBUILD_WEIGHTS_STAY, false);
  rebuild_templates_make(&templates, &blocks);
  uint32_t odd = blocks.of_task[kernel];
  for (uint32_t b = 0; b < blocks.items.count; b++) {
    assert_int_equal(templates.of[b] == templates.of[odd], b == odd);
  }
  rebuild_templates_free(&templates);
  rebuild_blocks_free(&blocks);
  lumos_job_free(job);
}

/* ---- what is built ---- */

static int64_t value_of(const struct lumos_job *job, const char *name, int32_t step, enum lumos_source source) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (reads(job, metric->name, name) && metric->scope.step == step && metric->scope.rank == LUMOS_ABSENT_INT &&
        metric->source == source) {
      return metric->value.units;
    }
  }
  return LUMOS_ABSENT;
}

static struct lumos_job *rebuilt(const struct lumos_rebuild *asked) {
  struct lumos_job *job = model_job();
  struct lumos_error error = {0};
  if (!lumos_rebuild(job, asked, &error) || !lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

static int count_layers(const struct lumos_job *job, uint8_t phase, int32_t step, int32_t layer) {
  int count = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    count += lumos_on_stream(job, task) && task->phase == phase && task->step == step && task->layer == layer;
  }
  return count;
}

static void the_recorded_job_takes_as_long_as_was_measured(void **state) {
  (void)state;
  const struct lumos_rebuild asked = {0};
  struct lumos_job *job = rebuilt(&asked);
  assert_false(lumos_job_measured(job));
  assert_int_equal(value_of(job, "rebuild_error", LUMOS_ABSENT_INT, LUMOS_METRIC_MEASURED), 0);
  for (int32_t step = 1; step < STEPS; step++) {
    assert_int_equal(value_of(job, "step_time", step, LUMOS_METRIC_SIMULATED), PERIOD);
  }
  lumos_job_free(job);
}

/* Steps end with their last kernels: 610, 1610, 2610. The first does not count, and of the others, which are alike, the
 * later is shown. Its first kernel forward runs from 2100 to 2160, 490 behind its start. */
static void what_was_recorded_is_kept_beside_what_is_built(void **state) {
  (void)state;
  const struct lumos_rebuild asked = {.layers = 4, .micro_batches = 2};
  struct lumos_job *job = rebuilt(&asked);
  const struct lumos_recorded_sizes *recorded = &job->models.items[0].recorded;
  assert_int_equal(recorded->ranks, 1);
  assert_int_equal(recorded->layers, 2);
  assert_int_equal(recorded->micro_batches, 1);
  assert_int_equal(recorded->sizes.dp, 1);
  assert_int_equal(job->models.items[0].layers, 4);
  bool back = false;
  for (size_t i = 0; i < job->recorded_passes.count; i++) {
    const struct lumos_recorded_pass *pass = &job->recorded_passes.items[i];
    assert_int_equal(pass->step, 2);
    assert_int_equal(pass->rank, 0);
    assert_int_equal(pass->stage, LUMOS_ABSENT_INT);
    back |= pass->phase == LUMOS_BACKWARD && pass->micro_batch == 0;
  }
  assert_true(back);
  const struct lumos_recorded_pass *first = &job->recorded_passes.items[0];
  assert_int_equal(first->phase, LUMOS_FORWARD);
  assert_int_equal(first->start, 490);
  assert_int_equal(first->dur, 60);
  lumos_job_free(job);
}

/* The first layer of step 2 runs another kernel, as where every other step does something else. */
static void steps_that_do_something_else_still_do(void **state) {
  (void)state;
  const struct lumos_rebuild asked = {.layers = 3};
  struct lumos_job *job = model_job();
  struct lumos_error error = {0};
  job->tasks.items[job->lanes.items[2].task_first + 10].kind = LUMOS_NORM; /* five kernels a step */
  if (!lumos_rebuild(job, &asked, &error)) {
    fail_msg("%s", error.text);
  }
  int norms[STEPS] = {0};
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    norms[task->kind == LUMOS_NORM ? task->step : 0] += task->kind == LUMOS_NORM;
  }
  for (int32_t step = 0; step < STEPS; step++) {
    assert_int_equal(norms[step], step == 2);
  }
  lumos_job_free(job);
}

/* The optimizer's kernel begins 100 after its launch and the one before it. In the middle of the recording that is how long
 * work outside of it takes, however fast the job is. */
static void what_lies_outside_takes_its_time_in_a_job_that_was_edited(void **state) {
  (void)state;
  enum { KERNELS = 5, OUTSIDE = 100 };
  const struct lumos_rebuild asked = {0};
  struct lumos_job *job = model_job();
  struct lumos_error error = {0};
  for (uint32_t step = 0; step < STEPS; step++) {
    uint32_t update = job->lanes.items[2].task_first + step * KERNELS + KERNELS - 1;
    struct lumos_dep outside = lumos_dep_empty;
    outside.dst = update;
    outside.at = job->tasks.items[update].start += OUTSIDE;
    outside.covers = OUTSIDE;
    outside.kind = LUMOS_BOUNDARY;
    outside.from = outside.to = LUMOS_START;
    outside.evidence = LUMOS_INFERRED;
    outside.mode = LUMOS_FIXED;
    lumos_vector_push(&job->deps, outside);
  }
  if (!lumos_transform_scale(job, "host=0.5", &error) || !lumos_rebuild(job, &asked, &error) ||
      !lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  int updates = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && task->phase == LUMOS_OPTIMIZER_PHASE) {
      const struct lumos_run *run = &job->runs.items[t], *call = &job->runs.items[task->call];
      int64_t launched = call->start + call->dur, free = run[-1].start + run[-1].dur;
      assert_int_equal(run->start - (launched > free ? launched : free), OUTSIDE);
      updates++;
    }
  }
  assert_int_equal(updates, STEPS);
  lumos_job_free(job);
}

/* Each layer more takes 100 forward and 150 back. */
static void a_deeper_model_takes_its_layers_longer(void **state) {
  (void)state;
  for (int32_t layers = 1; layers <= 5; layers++) {
    const struct lumos_rebuild asked = {.layers = layers};
    struct lumos_job *job = rebuilt(&asked);
    assert_int_equal(value_of(job, "step_time", 1, LUMOS_METRIC_SIMULATED), PERIOD + (layers - 2) * 250);
    for (int32_t layer = 0; layer < 6; layer++) {
      assert_int_equal(count_layers(job, LUMOS_FORWARD, 1, layer), layer < layers);
      assert_int_equal(count_layers(job, LUMOS_BACKWARD, 1, layer), layer < layers);
    }
    assert_int_equal(job->models.items[0].layers, layers);
    lumos_job_free(job);
  }
}

/* Forward 200, go 10, and 430 before the first layer, as between the steps, while t2 goes back: there is no other
 * example. */
static void more_micro_batches_go_forward_and_back_in_turn(void **state) {
  (void)state;
  const struct lumos_rebuild asked = {.micro_batches = 3};
  struct lumos_job *job = rebuilt(&asked);
  assert_int_equal(value_of(job, "step_time", 1, LUMOS_METRIC_SIMULATED), PERIOD + 2 * (200 + 10 + 430));
  for (int32_t layer = 0; layer < 2; layer++) {
    assert_int_equal(count_layers(job, LUMOS_FORWARD, 1, layer), 3);
    assert_int_equal(count_layers(job, LUMOS_BACKWARD, 1, layer), 3);
  }
  lumos_job_free(job);
}

static void what_the_recording_lacks_is_refused(void **state) {
  (void)state;
  static const struct {
    struct lumos_rebuild asked;
    const char *expected;
  } cases[] = {
      {{.stages = 2}, "no example of what a stage would send"},
      {{.replicas = 2}, "which gradients a rank has is not known"},
      {{.layers = 3, .stages = 2}, "--layers 2 or 4"},
      {{.layers = 3, .stages = 4}, "--pp 3 or --layers 4"},
      {{.chunks = 2}, "give --vp with --schedule interleaved"},
      {{.stages = 2, .schedule = LUMOS_INTERLEAVED}, "say how many with --vp"},
      {{.chunks = 2, .schedule = LUMOS_INTERLEAVED}, "the nearest is --pp 2"},
      {{.stages = 3, .chunks = 2, .micro_batches = 8, .schedule = LUMOS_INTERLEAVED}, "--micro-batches 6 or 9"},
      {{.layers = 9, .stages = 2, .chunks = 2, .micro_batches = 8, .schedule = LUMOS_INTERLEAVED}, "--layers 8 or 12"},
      {{.layers = 9,
        .stages = 2,
        .chunks = 2,
        .micro_batches = 8,
        .schedule = LUMOS_INTERLEAVED,
        .split_count = 2,
        .split = {4, 5}},
       "5 layers of stage 1 cannot be spread evenly over 2 chunks; the nearest are 4 or 6"},
      {{.layers = 3, .split_count = 1, .split = {2}}, "--split gives 2 layers, and the model has 3"},
      {{.layers = LUMOS_MOST_STAGES + 1, .stages = LUMOS_MOST_STAGES + 1}, "1025 stages are more than the 1024"},
      {{.layers = 5000}, "more than two thousand times the parameters"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct lumos_job *job = model_job();
    struct lumos_error error = {0};
    assert_false(lumos_rebuild(job, &cases[i].asked, &error));
    if (strstr(error.text, cases[i].expected) == NULL) {
      fail_msg("'%s' lacks '%s'", error.text, cases[i].expected);
    }
    lumos_job_free(job);
  }
}

static void a_pipeline_of_which_a_stage_was_not_recorded_is_refused(void **state) {
  (void)state;
  const struct lumos_rebuild asked = {.layers = 4};
  struct lumos_job *job = model_job();
  struct lumos_error error = {0};
  job->models.items[0].sizes.pp = 2;
  job->ranks.items[0].has_parallel = true;
  job->ranks.items[0].parallel = (struct lumos_parallel){0, 1, 0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
  assert_false(lumos_rebuild(job, &asked, &error));
  assert_non_null(strstr(error.text, "no rank of stage 0 was recorded"));
  lumos_job_free(job);
}

/* Numbers as high as a stream may have them: nothing runs over. */
static void the_highest_numbers_are_rebuilt_or_refused(void **state) {
  (void)state;
  const struct lumos_rebuild as_recorded = {0}, asked = {.layers = 3};
  struct lumos_error error = {0};
  struct lumos_job *job = model_job();
  for (size_t t = 0; t < job->tasks.count; t++) {
    job->tasks.items[t].step += INT32_MAX - STEPS;
  }
  assert_true(lumos_rebuild(job, &as_recorded, &error));
  lumos_job_free(job);
  job = model_job();
  for (size_t t = 0; t < job->tasks.count; t++) {
    job->tasks.items[t].micro_batch = job->tasks.items[t].micro_batch == 0 ? INT32_MAX : LUMOS_ABSENT_INT;
  }
  assert_false(lumos_rebuild(job, &asked, &error));
  assert_non_null(strstr(error.text, "no pass forward and back of micro-batch 0"));
  lumos_job_free(job);
  job = model_job();
  job->models.items[0].sizes = (struct lumos_parallel){INT32_MAX, 1, INT32_MAX, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT};
  assert_false(lumos_rebuild(job, &asked, &error));
  assert_non_null(strstr(error.text, "ranks are more than"));
  lumos_job_free(job);
}

/* Only threads hand over, and what no call of the recording launched is in no block. */
static void what_a_stream_hands_over_is_passed_over(void **state) {
  (void)state;
  const struct lumos_rebuild asked = {0};
  struct lumos_error error = {0};
  struct lumos_job *job = model_job();
  uint32_t first = job->lanes.items[2].task_first;
  job->tasks.items[first].call = LUMOS_NONE;
  lumos_task_timing(job, &job->tasks.items[first])->origin = LUMOS_FREE;
  job->deps.items[0].src = first;
  if (!lumos_rebuild(job, &asked, &error)) {
    fail_msg("%s", error.text);
  }
  lumos_job_free(job);
}

static void what_is_asked_is_read(void **state) {
  (void)state;
  struct lumos_rebuild asked = {0};
  struct lumos_error error = {0};
  assert_true(lumos_rebuild_ask(&asked, "layers", "12", &error));
  assert_true(lumos_rebuild_ask(&asked, "split", "3,4,5", &error));
  assert_true(lumos_rebuild_ask(&asked, "schedule", "gpipe", &error));
  assert_true(lumos_rebuild_ask(&asked, "rebuild", NULL, &error));
  assert_int_equal(asked.layers, 12);
  assert_int_equal(asked.split_count, 3);
  assert_int_equal(asked.split[2], 5);
  assert_int_equal(asked.schedule, LUMOS_GPIPE);
  assert_true(lumos_rebuild_ask(&asked, "schedule", "zb-h1", &error));
  assert_int_equal(asked.schedule, LUMOS_ZB_H1);
  assert_true(lumos_rebuild_ask(&asked, "schedule", "interleaved", &error));
  assert_true(lumos_rebuild_ask(&asked, "vp", "2", &error));
  assert_int_equal(asked.schedule, LUMOS_INTERLEAVED);
  assert_int_equal(asked.chunks, 2);
  static const char *const bad[][2] = {{"layers", "0"},    {"layers", ""},           {"pp", "2,"},
                                       {"dp", "-1"},       {"split", "1,,2"},        {"split", "1,2,"},
                                       {"schedule", "no"}, {"layers", "99999999999"}};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    assert_false(lumos_rebuild_ask(&asked, bad[i][0], bad[i][1], &error));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_is_cut_by_what_it_is_for_and_where_threads_hand_over),
      cmocka_unit_test(a_template_has_the_blocks_of_a_place_in_all_steps),
      cmocka_unit_test(another_kernel_makes_another_template),
      cmocka_unit_test(the_recorded_job_takes_as_long_as_was_measured),
      cmocka_unit_test(what_was_recorded_is_kept_beside_what_is_built),
      cmocka_unit_test(steps_that_do_something_else_still_do),
      cmocka_unit_test(what_lies_outside_takes_its_time_in_a_job_that_was_edited),
      cmocka_unit_test(a_deeper_model_takes_its_layers_longer),
      cmocka_unit_test(more_micro_batches_go_forward_and_back_in_turn),
      cmocka_unit_test(what_the_recording_lacks_is_refused),
      cmocka_unit_test(a_pipeline_of_which_a_stage_was_not_recorded_is_refused),
      cmocka_unit_test(the_highest_numbers_are_rebuilt_or_refused),
      cmocka_unit_test(what_a_stream_hands_over_is_passed_over),
      cmocka_unit_test(what_is_asked_is_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
