/* Reading what a report says. */
#include "report/content/content.h"

#include "base/parallel.h"
#include "report/content/breakdown.h"
#include "report/content/change.h"
#include "report/content/configuration.h"
#include "report/content/gantt.h"
#include "report/content/pipeline.h"
#include "report/content/tables.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

#define MIDDLE_DOT " \xC2\xB7 "

/* "4 steps (2 to 5)" */
static void put_steps(const struct report_facts *facts, struct lumos_text *out) {
  const struct report_rows *rows = facts->job_steps.count > 0 ? &facts->job_steps : &facts->steps;
  if (rows->count == 0) {
    return;
  }
  int32_t first = rows->items[0].step;
  int32_t last = first;
  for (size_t i = 0; i < rows->count; i++) {
    first = rows->items[i].step < first ? rows->items[i].step : first;
    last = rows->items[i].step > last ? rows->items[i].step : last;
  }
  lumos_text_put(out, MIDDLE_DOT);
  if (first == last) {
    lumos_text_format(out, "step %d", first);
  } else {
    lumos_text_format(out, "steps %d to %d", first, last);
  }
}

const char *report_title(const struct report_content *content) {
  const char *title = content->options->title;
  return title != NULL && title[0] != '\0' ? title : NULL;
}

/* "DP 8 x TP 1 x PP 1", where it is known how the job is spread. */
static void put_sizes(const struct lumos_job *job, struct lumos_text *out) {
  if (job->models.count == 0) {
    return;
  }
  const struct lumos_parallel *sizes = &job->models.items[0].sizes;
  if (sizes->dp != LUMOS_ABSENT_INT && sizes->tp != LUMOS_ABSENT_INT && sizes->pp != LUMOS_ABSENT_INT) {
    lumos_text_format(out, MIDDLE_DOT "DP\xC2\xA0%d \xC3\x97 TP\xC2\xA0%d \xC3\x97 PP\xC2\xA0%d", sizes->dp, sizes->tp,
                      sizes->pp);
    if (sizes->cp > 1) {
      lumos_text_format(out, " \xC3\x97 CP\xC2\xA0%d", sizes->cp);
    }
    if (sizes->ep > 1) {
      lumos_text_format(out, ", EP\xC2\xA0%d", sizes->ep);
    }
  }
}

/* "8 ranks · NVIDIA H100 80GB HBM3 · DP 8 x TP 1 x PP 1 · steps 2 to 5": what the page is about. */
void report_put_subject(const struct report_content *content, struct lumos_text *out) {
  const struct lumos_job *job = content->job;
  int64_t ranks = lumos_job_weight(job);
  int64_t world = report_world(job);
  bool one = ranks == 1 && job->ranks.count == 1 && world != LUMOS_ABSENT && world != ranks;
  if (one) {
    lumos_text_format(out, "rank %d", job->ranks.items[0].rank); /* which one it is, counted from 0 */
  } else {
    report_put_counted(out, ranks, "rank");
  }
  if (world != LUMOS_ABSENT && world != ranks) {
    lumos_text_put(out, one ? ", one of " : " of ");
    report_put_count(out, world);
  }
  lumos_string_id shown = LUMOS_NO_STRING;
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_string_id device = job->ranks.items[i].device_name;
    if (device != LUMOS_NO_STRING && device != shown) {
      lumos_text_put(out, shown == LUMOS_NO_STRING ? MIDDLE_DOT : ", ");
      report_put_cut(out, lumos_string(job->strings, device), lumos_string_length(job->strings, device), 60);
      if (shown != LUMOS_NO_STRING) {
        break; /* two names say that they differ; the table of ranks has all */
      }
      shown = device;
    }
  }
  put_sizes(job, out);
  put_steps(&content->result.facts, out);
}

bool report_compares_pipelines(const struct report_content *content) {
  bool both = content->recorded.stages.count > 0 && content->passes.stages.count > 0;
  return both && (content->recorded.pipeline > 1 || content->passes.pipeline > 1);
}

/* The page has a switch for them, a picture alone only what was asked for. */
static bool shows_marks(const struct report_content *content) {
  enum lumos_report_format format = content->options->format;
  return content->options->marks || format == LUMOS_REPORT_UNKNOWN || format == LUMOS_REPORT_HTML;
}

/* A layout costs more than all tables: it is made where the graph is drawn. */
static bool draws_graph(const struct lumos_report_options *options) {
  return options->format == LUMOS_REPORT_UNKNOWN || options->format == LUMOS_REPORT_HTML ||
         options->format == LUMOS_REPORT_PDF ||
         (options->view == LUMOS_VIEW_GRAPH && options->format != LUMOS_REPORT_CSV);
}

static bool tells_dependencies(const struct lumos_report_options *options) {
  return draws_graph(options) || options->view == LUMOS_VIEW_GRAPH || options->format == LUMOS_REPORT_MARKDOWN ||
         options->format == LUMOS_REPORT_JSON;
}

/* A picture of the timeline, which has the critical path on it; without GPU work it is the one that nobody named. */
static bool draws_timeline(const struct report_content *content) {
  const struct lumos_report_options *options = content->options;
  bool chosen =
      options->view == LUMOS_VIEW_GANTT || (options->view == LUMOS_VIEW_DEFAULT && !content->result.facts.has_streams);
  return chosen && options->format != LUMOS_REPORT_CSV;
}

/* What held every task, and what the timeline marks. A stream whose simulated times were edited says nothing of it. */
static void find_bindings(struct report_content *content) {
  const struct lumos_job *job = content->job;
  struct lumos_doubts *doubts = &content->timelines.doubts;
  bool known = lumos_doubts_find(job, job->bindings == NULL ? &content->found : NULL, doubts, &content->unknown);
  content->bindings = !known ? NULL : job->bindings != NULL ? job->bindings : &content->found;
  if (content->bindings == NULL || !shows_marks(content)) {
    lumos_vector_free(doubts);
  }
  if (content->bindings != NULL) {
    report_routes_read(job, content->bindings, content->timelines.steps.items, content->timelines.steps.count,
                       &content->timelines.routes);
  }
}

/* The simulation may have to run again, once or twice: only where the form shows it. */
static bool read_dependencies(struct report_content *content, struct lumos_error *error) {
  const struct lumos_report_options *options = content->options;
  bool told = tells_dependencies(options);
  if (told || shows_marks(content) || draws_timeline(content)) {
    find_bindings(content);
  }
  const struct report_dependencies_source source = {
      content->job, content->bindings,        content->unknown.text, &content->timelines.steps,
      options,      &content->timelines.roles};
  return told ? report_dependencies_read(&source, &content->dependencies, error)
              : report_dependencies_check(source.steps, options, error);
}

static void read_tables(struct report_content *content) {
  const struct lumos_job *job = content->job;
  struct report_table *tables = content->tables;
  report_breakdown_tables(&content->result.facts, &tables[TABLE_BREAKDOWN], &tables[TABLE_STEPS]);
  report_change_table(&content->result.facts, &tables[TABLE_CHANGE]);
  report_opportunities_table(&content->result.facts, &content->result.opportunities, &tables[TABLE_OPPORTUNITIES]);
  report_improvements_table(&content->result.opportunities, &tables[TABLE_IMPROVEMENTS]);
  report_gantt_table(&content->timelines, &tables[TABLE_LANES]);
  report_busy_read(&content->result.facts, &content->timelines, &content->busy);
  report_busy_table(&content->busy, &tables[TABLE_BUSY]);
  report_allocated_table(&content->allocated, &tables[TABLE_ALLOCATED]);
  report_table_collectives(job, &tables[TABLE_COLLECTIVES]);
  report_table_kernels(&content->result.facts, &tables[TABLE_KERNELS]);
  report_table_ops(&content->result.facts, &tables[TABLE_OPS_DEVICE], &tables[TABLE_OPS_HOST]);
  report_table_ranks(job, content->options->details, &tables[TABLE_RANKS]);
  report_table_clocks(job, &tables[TABLE_CLOCKS]);
  report_table_model(job, &tables[TABLE_MODEL]);
  report_passes_read(job, &content->timelines.steps, content->options, &content->passes);
  report_pipeline_table(&content->passes, &content->result.facts, &tables[TABLE_PIPELINE]);
  report_recorded_passes_read(&content->result.facts, &content->recorded);
  report_recorded_pipeline_table(&content->recorded, &tables[TABLE_RECORDED_PIPELINE]);
  report_configuration_table(&content->result.facts, &content->recorded, &content->passes,
                             &tables[TABLE_CONFIGURATION]);
  report_layers_read(&content->result.facts, &content->layers);
  report_layers_table(&content->layers, &tables[TABLE_LAYERS]);
  for (int i = 0; i < METRIC_TABLES; i++) {
    report_metric_table(&content->result.facts, (enum report_metric_table)i, &tables[TABLE_METRICS + i]);
  }
}

/* What is read of the facts and timelines, in two halves that take about as long. */
struct reading {
  struct report_content *content;
  struct lumos_error *error; /* of the first half */
};

static bool read_half(void *context, size_t half, bool callers) {
  const struct reading *reading = context;
  (void)callers;
  if (half == 0) {
    return read_dependencies(reading->content, reading->error);
  }
  read_tables(reading->content);
  return true;
}

/* A picture of ranks that are not there would be of nothing. */
static bool check_ranks(const struct lumos_job *job, const struct report_timeline_choice *choice,
                        struct lumos_error *error) {
  for (size_t i = 0; i < choice->rank_count; i++) {
    if (lumos_job_rank(job, choice->ranks[i]) == LUMOS_NONE) {
      return lumos_fail(error, "there is no rank %d; the lowest is %d, the highest %d", (int)choice->ranks[i],
                        (int)job->ranks.items[0].rank, (int)job->ranks.items[job->ranks.count - 1].rank);
    }
  }
  return true;
}

/* Nor of a time at which nothing ran. */
static bool check_span(const struct report_timelines *timelines, const struct report_timeline_choice *choice,
                       struct lumos_error *error) {
  if (!choice->has_span || timelines->from < timelines->end) {
    return true;
  }
  struct lumos_text end = LUMOS_TEXT_BUFFER;
  report_put_time(&end, timelines->end - report_timelines_origin(timelines));
  bool good =
      lumos_fail(error, "option --span: nothing ran then; the timeline ends at %.*s", (int)end.length, end.bytes);
  lumos_text_free(&end);
  return good;
}

bool report_content_read(const struct lumos_job *job, const struct lumos_report_options *options,
                         struct report_content *content, struct lumos_error *error) {
  *content = (struct report_content){.job = job, .options = options};
  report_result_read(job, &content->result);
  const struct report_timeline_choice choice = {options->ranks, options->rank_count, options->has_span,
                                                options->span_from, options->span_until};
  if (!check_ranks(job, &choice, error)) {
    return false;
  }
  report_timelines_read(job, &choice, &content->timelines);
  if (!check_span(&content->timelines, &choice, error)) {
    return false;
  }
  report_allocated_read(&content->result.facts, &content->timelines, &choice, &content->allocated);
  struct reading reading = {content, error};
  if (lumos_parallel(2, job->threads, read_half, &reading) < 2) {
    return false;
  }
  if (draws_graph(options)) { /* by a child, which belongs to the thread that begins it */
    report_dependencies_lay_out(&content->dependencies, report_layout_graphviz, REPORT_LAYOUT_LIMIT);
  }
  report_dependencies_table(&content->dependencies, &content->tables[TABLE_DEPENDENCIES]);
  return true;
}

void report_content_free(struct report_content *content) {
  report_result_free(&content->result);
  report_timelines_free(&content->timelines);
  report_busy_free(&content->busy);
  report_allocated_free(&content->allocated);
  lumos_held_free(&content->found);
  report_dependencies_free(&content->dependencies);
  lumos_passes_free(&content->passes);
  lumos_passes_free(&content->recorded);
  report_layers_free(&content->layers);
  for (int i = 0; i < TABLES; i++) {
    report_table_free(&content->tables[i]);
  }
}
