#include "report/content/configuration.h"

#include "report/content/schedule.h"
#include "report/text/numbers.h"

struct configuration {
  const char *where;
  const struct lumos_passes *passes;
  const struct lumos_parallel *sizes;
  int64_t gpus, layers, micro_batches, step;
};

static int64_t wide(int32_t number) { return number == LUMOS_ABSENT_INT ? LUMOS_ABSENT : number; }

/* NULL: the job was not rebuilt. */
static const struct lumos_model_description *rebuilt_model(const struct lumos_job *job) {
  const struct lumos_model_description *model = job->models.count > 0 ? &job->models.items[0] : NULL;
  return model != NULL && model->recorded.ranks != LUMOS_ABSENT_INT ? model : NULL;
}

static struct configuration recorded_configuration(const struct report_facts *facts,
                                                   const struct lumos_model_description *model) {
  const struct lumos_recorded_sizes *recorded = &model->recorded;
  return (struct configuration){.where = "recorded",
                                .sizes = &recorded->sizes,
                                .gpus = recorded->ranks,
                                .layers = wide(recorded->layers),
                                .micro_batches = wide(recorded->micro_batches),
                                .step = report_facts_step_time(facts, MEASURED)};
}

static struct configuration predicted_configuration(const struct report_facts *facts,
                                                    const struct lumos_model_description *model) {
  int64_t world = report_world(facts->job);
  return (struct configuration){.where = "predicted",
                                .sizes = &model->sizes,
                                .gpus = world != LUMOS_ABSENT ? world : lumos_job_weight(facts->job),
                                .layers = wide(model->layers),
                                .micro_batches = wide(model->micro_batches),
                                .step = report_facts_step_time(facts, SIMULATED)};
}

/* Products of what is known; LUMOS_ABSENT where a factor is not, or beyond what a number holds. */
static int64_t product(int64_t left, int64_t right) {
  int64_t result = 0;
  bool known = left != LUMOS_ABSENT && right != LUMOS_ABSENT && !__builtin_mul_overflow(left, right, &result);
  return known ? result : LUMOS_ABSENT;
}

/* Sequences in a step of all replicas. */
static int64_t global_batch(const struct lumos_model_description *model, const struct configuration *of) {
  return product(product(wide(model->micro_batch), of->micro_batches), wide(of->sizes->dp));
}

static int64_t tokens_per_second(const struct lumos_model_description *model, const struct configuration *of) {
  enum { SECOND = 1000000000 };
  int64_t tokens = product(global_batch(model, of), wide(model->sequence));
  if (tokens == LUMOS_ABSENT || of->step <= 0 || of->gpus <= 0) {
    return LUMOS_ABSENT;
  }
  __int128 time = (__int128)of->step * of->gpus;
  __int128 rate = ((__int128)tokens * SECOND + time / 2) / time;
  return rate < INT64_MAX ? (int64_t)rate : LUMOS_ABSENT;
}

enum { COMMON = 11 }; /* columns: that of ranks that share sequences, or experts, comes last, where some do */

static void add_row(const struct lumos_model_description *model, const struct configuration *of, bool experts,
                    struct report_table *table) {
  const char *schedule = report_schedule_name(lumos_schedule_of(of->passes));
  report_table_word(table, of->where);
  report_table_number(table, wide(of->sizes->dp));
  report_table_number(table, wide(of->sizes->tp));
  report_table_number(table, wide(of->sizes->pp));
  report_table_number(table, of->gpus);
  report_table_number(table, of->layers);
  report_table_word(table, schedule != NULL ? schedule : "\xE2\x80\x93");
  report_table_number(table, of->micro_batches);
  report_table_number(table, global_batch(model, of));
  report_table_number(table, of->step);
  report_table_number(table, tokens_per_second(model, of));
  if (table->column_count > COMMON) {
    report_table_number(table, wide(experts ? of->sizes->ep : of->sizes->cp));
  }
}

void report_configuration_table(const struct report_facts *facts, const struct lumos_passes *recorded,
                                const struct lumos_passes *passes, struct report_table *table) {
  const struct lumos_model_description *model = rebuilt_model(facts->job);
  bool contexts = model != NULL && (model->sizes.cp > 1 || model->recorded.sizes.cp > 1);
  bool experts = !contexts && model != NULL && (model->sizes.ep > 1 || model->recorded.sizes.ep > 1);
  const struct report_column columns[] = {
      {"configuration", "configuration", NULL, COLUMN_TEXT},
      {"dp", "DP", NULL, COLUMN_COUNT},
      {"tp", "TP", NULL, COLUMN_COUNT},
      {"pp", "PP", NULL, COLUMN_COUNT},
      {"gpus", "GPUs", "rank", COLUMN_COUNT},
      {"layers", "layers", "layer", COLUMN_COUNT},
      {"schedule", "schedule", "schedule", COLUMN_TEXT},
      {"micro_batches", "micro-batches of a replica", "micro_batch", COLUMN_COUNT},
      {"global_batch", "sequences in a step", NULL, COLUMN_COUNT},
      {"step", "step", "step_time", COLUMN_MS},
      {"tokens_per_second", "tokens/s per GPU", NULL, COLUMN_COUNT},
      {experts ? "ep" : "cp", experts ? "EP" : "CP", NULL, COLUMN_COUNT},
  };
  report_table_begin_own(table, "configuration", columns, (size_t)COMMON + (contexts || experts));
  if (model == NULL) {
    return;
  }
  struct configuration before = recorded_configuration(facts, model), after = predicted_configuration(facts, model);
  before.passes = recorded;
  after.passes = passes;
  add_row(model, &before, experts, table);
  add_row(model, &after, experts, table);
}

/* Of other numbers of GPUs the times of steps do not say which is better. */
static void put_rates(const struct lumos_model_description *model, const struct configuration *before,
                      const struct configuration *after, struct lumos_text *out) {
  int64_t was = tokens_per_second(model, before), is = tokens_per_second(model, after);
  if (was == LUMOS_ABSENT || is == LUMOS_ABSENT || before->gpus == after->gpus) {
    return;
  }
  lumos_text_put(out, out->length > 0 ? " " : "");
  lumos_text_put(out, "Each of ");
  report_put_counted(out, after->gpus, "GPU");
  lumos_text_put(out, " processes ");
  report_put_count(out, is);
  lumos_text_put(out, " tokens/s; in the recorded configuration ");
  report_put_count(out, was);
  lumos_text_put(out, before->gpus == 1 ? ", on one GPU." : ", on each of ");
  if (before->gpus != 1) {
    report_put_counted(out, before->gpus, "GPU");
    lumos_text_char(out, '.');
  }
}

void report_put_batch_reading(const struct report_facts *facts, struct lumos_text *out) {
  const struct lumos_model_description *model = rebuilt_model(facts->job);
  if (model == NULL) {
    return;
  }
  struct configuration before = recorded_configuration(facts, model), after = predicted_configuration(facts, model);
  int64_t was = product(before.micro_batches, wide(before.sizes->dp));
  int64_t is = product(after.micro_batches, wide(after.sizes->dp));
  if (was != LUMOS_ABSENT && is != LUMOS_ABSENT && was != is) {
    lumos_text_put(out, "The global batch goes from ");
    report_put_count(out, was);
    lumos_text_put(out, " to ");
    report_put_count(out, is);
    lumos_text_put(out, " micro-batches, so the two steps do different amounts of work.");
  }
  put_rates(model, &before, &after, out);
}
