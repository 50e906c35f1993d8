/* The job: how it is spread and what it trains, as far as that is known, with the evidence of each number. */
#include "report/content/tables.h"

#include "report/text/numbers.h"
#include <stddef.h>

/* A row of the table, where its number is known. */
static const struct {
  const char *name;
  size_t value, evidence; /* offsets in the description */
} rows[] = {
#define ROW(name, field, from) \
  { name, offsetof(struct lumos_model_description, field), offsetof(struct lumos_model_description, evidence.from) }
    ROW("tensor-parallel size", sizes.tp, tp),
    ROW("pipeline stages", sizes.pp, pp),
    ROW("data-parallel size", sizes.dp, dp),
    ROW("context-parallel size", sizes.cp, cp),
    ROW("expert-parallel size", sizes.ep, ep),
    ROW("layers", layers, layers),
    ROW("hidden size", hidden, hidden),
    ROW("attention heads", heads, heads),
    ROW("heads of keys and values", kv_heads, kv_heads),
    ROW("head size", head_dim, head_dim),
    ROW("feed-forward size", ffn, ffn),
    ROW("feed-forward matrices", ffn_matrices, ffn_matrices),
    ROW("vocabulary", vocabulary, vocabulary),
    ROW("sequence length", sequence, sequence),
    ROW("sequences in a micro-batch", micro_batch, micro_batch),
    ROW("micro-batches in a step", micro_batches, micro_batches),
#undef ROW
};

/* "2 pipeline stages, 4 tensor-parallel ranks in each, 8 data-parallel replicas of all" */
static void put_model_finding(const struct lumos_parallel *sizes, struct lumos_text *out) {
  if (sizes->tp == LUMOS_ABSENT_INT || sizes->pp == LUMOS_ABSENT_INT || sizes->dp == LUMOS_ABSENT_INT) {
    lumos_text_put(out, "The parallel layout is only partly known");
    return;
  }
  report_put_counted(out, sizes->pp, "pipeline stage");
  lumos_text_put(out, ", ");
  report_put_counted(out, sizes->tp, "tensor-parallel rank");
  lumos_text_put(out, " in each, ");
  if (sizes->cp > 1) {
    report_put_counted(out, sizes->cp, "context-parallel rank");
    lumos_text_put(out, " for every sequence, ");
  }
  report_put_counted(out, sizes->dp, "data-parallel replica");
  lumos_text_put(out, " of all");
  if (sizes->ep > 1) {
    lumos_text_format(out, ", each %d in a row sharing the experts", sizes->ep);
  }
}

void report_table_model(const struct lumos_job *job, struct report_table *table) {
  static const struct report_column columns[] = {
      {"field", "of the job", NULL, COLUMN_NAME},
      {"value", "number", NULL, COLUMN_COUNT},
      {"evidence", "found in", NULL, COLUMN_TEXT},
  };
  report_table_begin(table, "model", columns, sizeof columns / sizeof columns[0]);
  if (job->models.count == 0) {
    return;
  }
  const struct lumos_model_description *model = &job->models.items[0];
  put_model_finding(&model->sizes, &table->finding);
  lumos_text_put(
      &table->caption,
      "The parallel layout and the model, as far as known. Figures are of the whole model, whatever part a rank holds");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int32_t value = *(const int32_t *)((const char *)model + rows[i].value);
    if (value != LUMOS_ABSENT_INT) {
      report_table_word(table, rows[i].name);
      report_table_number(table, value);
      report_table_string(table, job->strings, *(const lumos_string_id *)((const char *)model + rows[i].evidence));
    }
  }
}
