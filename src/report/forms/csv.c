/* Metrics as rows, and tables of pictures. Numbers are as in the stream: times in ns, shares as fractions. */
#include "report/forms/csv.h"

#include "report/forms/pictures.h"
#include "report/text/escape.h"
#include <inttypes.h>

static void put_string(const struct lumos_job *job, lumos_string_id id, struct lumos_text *out) {
  lumos_text_char(out, ',');
  report_put_csv(out, lumos_string(job->strings, id), lumos_string_length(job->strings, id));
}

static void put_small(int32_t number, struct lumos_text *out) {
  lumos_text_char(out, ',');
  if (number != LUMOS_ABSENT_INT) {
    lumos_text_integer(out, number);
  }
}

static void put_decimal(const struct lumos_decimal *number, struct lumos_text *out) {
  lumos_text_char(out, ',');
  if (number->units != LUMOS_ABSENT) {
    lumos_text_decimal(out, number->units, number->decimals);
  }
}

/* "RANK:N" */
static void put_task(const struct lumos_job *job, uint32_t number, struct lumos_text *out) {
  lumos_text_char(out, ',');
  if (number != LUMOS_NONE) {
    const struct lumos_task *task = &job->tasks.items[number];
    int rank = job->ranks.items[job->lanes.items[task->lane].rank].rank;
    lumos_text_format(out, "%d:%" PRIu32, rank, (uint32_t)task->id);
  }
}

static void put_row(const struct lumos_job *job, const struct lumos_metric *metric, struct lumos_text *out) {
  const struct lumos_scope *scope = &metric->scope;
  report_put_csv(out, lumos_string(job->strings, metric->name), lumos_string_length(job->strings, metric->name));
  put_decimal(&metric->value, out);
  put_string(job, metric->unit, out);
  put_string(job, metric->of, out);
  lumos_text_char(out, ',');
  lumos_text_put(out, lumos_source_name((enum lumos_source)metric->source));
  put_small(scope->rank, out);
  put_small(scope->step, out);
  put_string(job, scope->lane != LUMOS_NONE ? job->lanes.items[scope->lane].lane : LUMOS_NO_STRING, out);
  put_string(job, scope->kind, out);
  put_string(job, scope->group, out);
  put_small(scope->layer, out);
  put_task(job, scope->task, out);
  put_decimal(&metric->low, out);
  put_decimal(&metric->high, out);
  put_small(scope->stage, out);
  put_small(scope->peer, out);
  put_string(job, scope->op, out);
  put_string(job, scope->module, out);
  put_string(job, scope->name, out);
  lumos_text_char(out, ',');
  lumos_text_put(out, scope->phase == 0 ? "" : lumos_phase_name((enum lumos_phase)scope->phase));
  lumos_text_char(out, '\n');
}

static void put_metrics(const struct lumos_job *job, struct lumos_text *out) {
  lumos_text_put(out, "name,value,unit,of,source,rank,step,lane,kind,group,layer,task,low,high,stage,peer,op,module,"
                      "scope_name,phase\n");
  for (size_t i = 0; i < job->metrics.count; i++) {
    put_row(job, &job->metrics.items[i], out);
  }
}

bool report_csv_write(struct report_content *content, struct lumos_text *out, struct lumos_error *error) {
  const struct report_picture *picture = report_picture_of(content->options->view);
  if (picture == NULL) {
    put_metrics(content->job, out);
    return true;
  }
  const struct report_table *table = &content->tables[picture->table];
  if (report_table_rows(table) == 0) {
    return lumos_fail(error, "there is nothing to show: %s", picture->none);
  }
  report_table_csv(table, out);
  return true;
}
