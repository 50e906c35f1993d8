/* What the pipeline says in words and as a table. */
#include "report/content/pipeline.h"

#include "report/content/metric_tables.h"
#include "report/content/schedule.h"
#include "report/text/numbers.h"

enum { LITTLE = 1000 }; /* the part of the step that is not worth a word */

#define NO_BREAK "\xC2\xA0"

/* Of another job than the one at hand, which was rebuilt from it. */
static bool is_recorded(const struct lumos_passes *passes) {
  return passes->stages.count > 0 && passes->stages.items[0].rank == LUMOS_NONE;
}

static bool is_pipeline(const struct lumos_passes *passes) { return passes->pipeline > 1; }

void report_put_stage(const struct lumos_pipeline_stage *stage, struct lumos_text *out) {
  if (stage->stage != LUMOS_ABSENT_INT) {
    lumos_text_format(out, "stage %d, rank %d", stage->stage, stage->number);
  } else {
    lumos_text_format(out, "rank %d", stage->number);
  }
}

int64_t report_stage_bubble(const struct report_facts *facts, int32_t stage) {
  struct report_metric_entries entries;
  int64_t share = LUMOS_ABSENT;
  report_metric_entries(facts, METRICS_BUBBLES, &entries);
  for (size_t i = 0; i < entries.count && share == LUMOS_ABSENT; i++) {
    if (entries.items[i].keys[0] == stage) {
      share = report_share(entries.items[i].value, report_facts_step_time(facts, report_facts_spoken(facts)));
    }
  }
  lumos_vector_free(&entries);
  return share;
}

/* Sums over the shown stages; without a pipeline over ranks, each as often as it stands for one. */
struct sums {
  int64_t busy[LUMOS_PASS_PHASES];
  int64_t empty, whole;
};

static struct sums add_up(const struct lumos_passes *passes) {
  struct sums sums = {.empty = 0};
  for (size_t i = 0; i < passes->stages.count; i++) {
    const struct lumos_pipeline_stage *stage = &passes->stages.items[i];
    bool one = is_pipeline(passes) || stage->rank == LUMOS_NONE;
    int64_t weight = one ? 1 : lumos_rank_weight(&passes->job->ranks.items[stage->rank]);
    for (int phase = 0; phase < LUMOS_PASS_PHASES; phase++) {
      sums.busy[phase] = report_sum(sums.busy[phase], report_product(stage->busy[phase], weight));
    }
    sums.empty = report_sum(sums.empty, report_product(stage->bubble, weight));
    sums.whole = report_sum(sums.whole, report_product(lumos_passes_window(passes), weight));
  }
  return sums;
}

static void put_share_of(const char *before, int64_t part, int64_t whole, struct lumos_text *out) {
  lumos_text_put(out, before);
  report_put_share(out, report_share(part, whole));
}

/* What the model does not call micro-batches may be passes through chunks of a stage. */
static void put_micro_batches(const struct lumos_passes *passes, struct lumos_text *out) {
  const struct lumos_job *job = passes->job;
  bool unknown = job->models.count == 0 || job->models.items[0].micro_batches == LUMOS_ABSENT_INT;
  report_put_count(out, passes->micro_batches);
  lumos_text_put(out, unknown ? NO_BREAK "forward pass" : NO_BREAK "micro-batch");
  lumos_text_put(out, passes->micro_batches == 1 ? "" : "es");
}

/* "1F1B over 4 stages, 8 micro-batches" */
static void put_schedule(const struct lumos_passes *passes, enum lumos_recovered_schedule schedule,
                         struct lumos_text *out) {
  const char *name = report_schedule_name(schedule);
  if (name != NULL) {
    lumos_text_format(out, "%s over ", name);
  } else if (schedule == LUMOS_SCHEDULE_UNNAMED) {
    lumos_text_put(out, "An order of its own over ");
  }
  report_put_counted(out, passes->pipeline, "stage");
  lumos_text_put(out, ", ");
  put_micro_batches(passes, out);
}

/* "the bubble takes 26.8 % of the step, 20.0 % in a step of equal passes and nothing else": the breakdown's. Where
 * waiting cannot be told from transfer, only that no pass runs. */
static void put_pipeline(const struct lumos_passes *passes, const struct report_facts *facts, struct lumos_text *out) {
  enum report_timeline spoken = report_facts_spoken(facts);
  enum lumos_recovered_schedule schedule = lumos_schedule_of(passes);
  int64_t bubble = report_row_share(facts, report_facts_whole(facts, spoken), spoken, FIGURE_PIPELINE_BUBBLE);
  put_schedule(passes, schedule, out);
  if (bubble > 0) {
    lumos_text_put(out, ": the bubble takes ");
    report_put_share(out, bubble);
    lumos_text_put(out, " of the step");
  } else {
    struct sums sums = add_up(passes);
    put_share_of(": no pass runs for ", sums.empty, sums.whole, out);
    lumos_text_format(out, " of step %d", passes->step.step);
  }
  int64_t theory = lumos_schedule_bubble(schedule, passes);
  if (theory != LUMOS_ABSENT) {
    lumos_text_put(out, ", ");
    report_put_share(out, theory);
    lumos_text_put(out, " in a step of equal passes and nothing else");
  }
}

/* "2 micro-batches: forward passes span 30 % of step 4, backward 58 %, the optimizer 8 %; in 4 % no pass runs" */
static void put_phases(const struct lumos_passes *passes, struct lumos_text *out) {
  static const char *const names[LUMOS_PASS_PHASES] = {[LUMOS_EXCHANGE] = "exposed communication",
                                                       [LUMOS_FORWARD] = "forward",
                                                       [LUMOS_BACKWARD] = "backward",
                                                       [LUMOS_WEIGHT] = "weight gradients",
                                                       [LUMOS_OPTIMIZER_PHASE] = "the optimizer",
                                                       [LUMOS_OTHER_PHASE] = "unassigned work"};
  struct sums sums = add_up(passes);
  if (passes->micro_batches > 0) {
    put_micro_batches(passes, out);
    lumos_text_put(out, ": ");
  }
  bool first = true;
  for (int i = 1; i <= LUMOS_PASS_PHASES; i++) {
    int phase = i % LUMOS_PASS_PHASES; /* communication last */
    bool told = phase == LUMOS_OTHER_PHASE ? sums.busy[phase] > sums.whole / LITTLE : sums.busy[phase] > 0;
    if (told) {
      lumos_text_format(out, "%s%s", first ? "" : ", ", names[phase]);
      put_share_of(first ? " spans " : " ", sums.busy[phase], sums.whole, out);
      if (first) {
        lumos_text_format(out, " of step %d", passes->step.step);
      }
      first = false;
    }
  }
  put_share_of("; in ", sums.empty, sums.whole, out);
  lumos_text_put(out, " no pass runs");
}

void report_put_pipeline(const struct lumos_passes *passes, struct lumos_text *out) {
  if (is_pipeline(passes)) {
    put_schedule(passes, lumos_schedule_of(passes), out);
  } else {
    put_micro_batches(passes, out);
  }
}

void report_put_pipelines_finding(const struct lumos_passes *recorded, const struct lumos_passes *passes,
                                  struct lumos_text *out) {
  struct sums before = add_up(recorded), after = add_up(passes);
  put_share_of("No pass runs for ", before.empty, before.whole, out);
  lumos_text_format(out, " of the recorded step %d, and for ", recorded->step.step);
  put_share_of("", after.empty, after.whole, out);
  lumos_text_format(out, " of the predicted step %d", passes->step.step);
}

void report_put_pipeline_finding(const struct lumos_passes *passes, const struct report_facts *facts,
                                 struct lumos_text *out) {
  if (passes->stages.count == 0) {
    return;
  }
  if (is_pipeline(passes)) {
    put_pipeline(passes, facts, out);
  } else {
    put_phases(passes, out);
  }
}

static void put_which(const struct lumos_passes *passes, struct lumos_text *out) {
  lumos_text_format(out, "Step %d, %s", passes->step.step, is_recorded(passes) ? "as recorded" : "simulated");
  if (is_pipeline(passes)) {
    lumos_text_put(out, ", a row for each stage: of its ranks in the traces the one with the lowest number. ");
  } else {
    lumos_text_put(out, ", a row for each rank. ");
  }
}

static void put_left_out(const struct lumos_passes *passes, struct lumos_text *out) {
  if (passes->left_out > 0) {
    lumos_text_put(out, " Not shown: ");
    report_put_counted(out, (int64_t)passes->left_out, is_pipeline(passes) ? "more stage" : "more rank");
    lumos_text_char(out, '.');
  }
  int64_t missing =
      is_pipeline(passes) ? passes->pipeline - (int64_t)passes->stages.count - (int64_t)passes->left_out : 0;
  if (missing > 0) {
    lumos_text_put(out, " Of ");
    report_put_counted(out, missing, "stage");
    lumos_text_put(out, " no rank is in the traces.");
  }
  if (passes->elsewhere > add_up(passes).whole / LITTLE) {
    lumos_text_put(out, " Passes have another ");
    report_put_time(out, passes->elsewhere);
    lumos_text_put(out, " of work on streams that are not drawn.");
  }
}

static bool has_chunks(const struct lumos_passes *passes) {
  for (size_t i = 0; i < passes->stages.count; i++) {
    if (passes->stages.items[i].chunks > 1) {
      return true;
    }
  }
  return false;
}

static void put_boxes(const struct lumos_passes *passes, struct lumos_text *out) {
  if (report_pipeline_is_dense(passes)) {
    lumos_text_put(out, "There are too many passes for a box each. A column has the color of what takes most of it. "
                        "Its height shows how full it is, in quarters");
    return;
  }
  lumos_text_put(out, "A box is work on one micro-batch. Its number, from 0, is in it where there is room");
  if (has_chunks(passes)) {
    lumos_text_put(out, ", with a letter for the chunk of the stage\xE2\x80\x99s layers");
  }
}

void report_put_pipeline_reading(const struct lumos_passes *passes, struct lumos_text *out) {
  put_which(passes, out);
  put_boxes(passes, out);
  lumos_text_put(out, is_pipeline(passes)
                          ? ". Where a row is pale, no pass runs. Bubble: of the job\xE2\x80\x99s mean step."
                          : ". Where a row is pale, no pass runs.");
  put_left_out(passes, out);
}

void report_put_pipelines_reading(const struct lumos_passes *recorded, const struct lumos_passes *passes,
                                  struct lumos_text *out) {
  lumos_text_put(out, "Both on one time axis. ");
  put_boxes(report_pipeline_is_dense(recorded) ? recorded : passes, out);
  lumos_text_put(out, ". Where a row is pale, no pass runs. No pass: of the step that is drawn.");
  put_left_out(passes, out);
}

/* ---- The table ---- */

/* "0 to 3", by chunks "0 to 1, 8 to 9": a stage's layers. */
static void put_layers(const struct lumos_passes *passes, uint32_t number, struct lumos_text *out) {
  const struct lumos_layer_owners *owners = &passes->owners;
  for (size_t i = 0; i < owners->count;) {
    const struct lumos_layer_owner *first = &owners->items[i];
    size_t end = i + 1;
    while (end < owners->count && owners->items[end].stage == first->stage &&
           owners->items[end].chunk == first->chunk) {
      end++;
    }
    if (first->stage == number) {
      lumos_text_format(out, "%s%d", out->length > 0 ? ", " : "", first->layer);
      if (end - i > 1) {
        lumos_text_format(out, " to %d", owners->items[end - 1].layer);
      }
    }
    i = end;
  }
}

static void put_row(const struct lumos_passes *passes, uint32_t number, int64_t theory, struct report_table *table) {
  enum { LONGEST_ORDER = 2000 };
  const struct lumos_pipeline_stage *stage = &passes->stages.items[number];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_stage(stage, &text);
  report_table_copy(table, &text);
  if (is_pipeline(passes)) {
    put_layers(passes, number, &text);
    report_table_copy(table, &text);
  }
  report_table_number(table, stage->micro_batches > 0 ? stage->micro_batches : LUMOS_ABSENT);
  for (int i = 1; i <= LUMOS_PASS_PHASES; i++) {
    int phase = i % LUMOS_PASS_PHASES; /* communication last */
    report_table_number(table, stage->busy[phase] > 0 ? stage->busy[phase] : LUMOS_ABSENT);
  }
  report_table_number(table, stage->bubble);
  report_table_number(table, report_share(stage->bubble, lumos_passes_window(passes)));
  if (is_pipeline(passes)) {
    report_table_number(table, theory);
  }
  report_put_order(passes, stage, LONGEST_ORDER, &text);
  report_table_copy(table, &text);
  lumos_text_free(&text);
}

#define PHASE_COLUMNS                                                                                         \
  {"micro_batches", "micro-batches", "micro_batch", COLUMN_COUNT}, {"forward", "forward", "pass", COLUMN_MS}, \
      {"backward", "backward", "pass", COLUMN_MS}, {"weight", "weight gradient", "weight", COLUMN_MS},        \
      {"optimizer", "optimizer", NULL, COLUMN_MS}, {"other", "unassigned", "no_pass", COLUMN_MS}, {           \
    "communication", "exposed communication", "exchange", COLUMN_MS                                           \
  }

static void fill_table(const struct lumos_passes *passes, const char *name, struct report_table *table) {
  static const struct report_column by_stage[] = {{"where", "where", "stage", COLUMN_NAME},
                                                  {"layers", "layers", "layer", COLUMN_TEXT},
                                                  PHASE_COLUMNS,
                                                  {"empty", "no pass", "pass_gap", COLUMN_MS},
                                                  {"empty_share", "no pass", "pass_gap", COLUMN_SHARE},
                                                  {"bubble_theory", "in theory", "bubble_theory", COLUMN_SHARE},
                                                  {"order", "order", "schedule", COLUMN_TEXT}};
  static const struct report_column by_rank[] = {{"where", "where", "rank", COLUMN_NAME},
                                                 PHASE_COLUMNS,
                                                 {"empty", "no pass", "pass_gap", COLUMN_MS},
                                                 {"empty_share", "no pass", "pass_gap", COLUMN_SHARE},
                                                 {"order", "order", "schedule", COLUMN_TEXT}};
  if (is_pipeline(passes)) {
    report_table_begin(table, name, by_stage, sizeof by_stage / sizeof by_stage[0]);
  } else {
    report_table_begin(table, name, by_rank, sizeof by_rank / sizeof by_rank[0]);
  }
  if (passes->stages.count == 0) {
    return;
  }
  table->whole = lumos_passes_window(passes);
  put_which(passes, &table->caption);
  lumos_text_put(&table->caption, "Share: of the ");
  report_put_time(&table->caption, table->whole);
  lumos_text_put(&table->caption, " that the step takes. Order: F forward, B backward, W weight gradient, with the "
                                  "number of the micro-batch");
  lumos_text_put(&table->caption, has_chunks(passes) ? " and the letter of the chunk" : "");
  int64_t theory = lumos_schedule_bubble(lumos_schedule_of(passes), passes);
  for (uint32_t i = 0; i < passes->stages.count; i++) {
    put_row(passes, i, theory, table);
  }
  if (passes->left_out > 0) {
    lumos_text_put(&table->rest, "and ");
    report_put_counted(&table->rest, (int64_t)passes->left_out, is_pipeline(passes) ? "more stage" : "more rank");
  }
}

void report_pipeline_table(const struct lumos_passes *passes, const struct report_facts *facts,
                           struct report_table *table) {
  fill_table(passes, "pipeline", table);
  report_put_pipeline_finding(passes, facts, &table->finding);
  table->told = true;
}

void report_recorded_pipeline_table(const struct lumos_passes *passes, struct report_table *table) {
  fill_table(passes, "recorded_pipeline", table);
  if (passes->stages.count > 0) {
    report_put_pipeline(passes, &table->finding);
    table->told = true;
  }
}
