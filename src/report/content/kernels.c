/* Kernels and ops. Every share has the denominator that the table's caption names. */
#include "report/content/tables.h"

#include "report/content/tally.h"
#include "report/draw/palette.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* A parent chain longer than this is no call stack. */
enum { SPAN_DEPTH = 1000 };

/* What a table of names adds up, and how its sentences speak of it. */
struct subject {
  const char *noun;  /* "2 names make up" */
  const char *rows;  /* "GPU time by kernel" */
  const char *whole; /* "51 % of the GPU time" */
  const char *over;  /* "added up over streams" */
};
static const struct subject kernels = {"name", "GPU time by kernel, copy and memset", "GPU time", "streams"};
static const struct subject ops_on_device = {"op", "GPU time by the op that launched it", "GPU time", "streams"};
static const struct subject ops_on_host = {"op", "CPU time by op, without the ops in it", "CPU time", "threads"};

static bool on_stream(const struct lumos_job *job, const struct lumos_task *task) {
  return job->lanes.items[task->lane].kind == LUMOS_STREAM;
}

void report_put_which_durations(const struct lumos_job *job, struct lumos_text *out) {
  lumos_text_put(out, lumos_job_edited(job) ? ". Durations: after the change" : "");
}

/* A sum over all steps and ranks as a mean of theirs; of counts in thousandths. */
static int64_t mean_time(const struct report_facts *facts, int64_t sum) { return sum / report_rank_steps(facts); }
static int64_t mean_count(const struct report_facts *facts, int64_t sum) {
  return report_product(sum, 1000) / report_rank_steps(facts);
}

/* "7 ops make up 52.7 % of the GPU time; for 15.5 % of it no op was recorded": as few as make up half of it, if any do.
 * The rows are the largest first; the one without a name is what no op is known of. */
static void put_finding(const struct report_tallies *tallies, const struct subject *subject, struct lumos_text *out) {
  int64_t sum = 0;
  int64_t unknown = 0;
  int64_t names = 0;
  for (size_t i = 0; i < tallies->rows.count; i++) {
    const struct report_tally *row = &tallies->rows.items[i];
    if (row->name == LUMOS_NO_STRING) {
      unknown = row->total;
    } else if (sum < tallies->total - sum) {
      sum = report_sum(sum, row->total);
      names++;
    }
  }
  if (names > 0) {
    report_put_counted(out, names, subject->noun);
    lumos_text_put(out, names == 1 ? " makes up " : " make up ");
    report_put_share(out, report_share(sum, tallies->total));
    lumos_text_format(out, " of the %s", subject->whole);
  } else if (unknown == 0) {
    lumos_text_format(out, "No %s was recorded", subject->whole);
  }
  if (unknown > 0) {
    lumos_text_put(out, names > 0 ? "; for " : "For ");
    report_put_share(out, report_share(unknown, tallies->total));
    lumos_text_format(out, " of %s%s no op was recorded", names > 0 ? "it" : "the ", names > 0 ? "" : subject->whole);
  }
}

/* "GPU time by kernel, the mean per step and rank. Share: of 41.2 ms of GPU time, added up over streams" */
static void describe(const struct report_facts *facts, const struct report_tallies *tallies,
                     const struct subject *subject, struct report_table *table) {
  table->whole = mean_time(facts, tallies->total);
  put_finding(tallies, subject, &table->finding);
  lumos_text_format(&table->caption, "%s, added up over %s, the mean per step and rank. Share: of the %s, ",
                    subject->rows, subject->over, subject->whole);
  report_put_time(&table->caption, table->whole);
  report_put_which_durations(facts->job, &table->caption);
}

/* The tasks that a table counts, in order: those of steps that are in means, with the durations of the timeline that
 * GPU times are of everywhere. */
struct walk {
  const struct report_facts *facts;
  const struct lumos_run *runs; /* NULL: as recorded */
  int32_t step;
  bool counts;
  size_t next;
};

static struct walk walk_begin(const struct report_facts *facts) {
  const struct lumos_job *job = facts->job;
  bool simulated = (lumos_job_edited(job) || !lumos_job_measured(job)) && job->runs.count == job->tasks.count;
  return (struct walk){.facts = facts, .runs = simulated ? job->runs.items : NULL, .step = LUMOS_ABSENT_INT};
}

static const struct lumos_task *walk_next(struct walk *walk, int64_t *duration) {
  const struct lumos_job *job = walk->facts->job;
  while (walk->next < job->tasks.count) {
    size_t number = walk->next++;
    const struct lumos_task *task = &job->tasks.items[number];
    if (task->step != walk->step) {
      walk->step = task->step;
      walk->counts = task->step != LUMOS_ABSENT_INT && report_step_counts(walk->facts, task->step);
    }
    if (walk->counts) {
      *duration = walk->runs == NULL ? task->dur : walk->runs[number].dur;
      return task;
    }
  }
  return NULL;
}

void report_table_kernels(const struct report_facts *facts, struct report_table *table) {
  static const struct report_column columns[] = {
      {"name", "kernel, copy or memset", NULL, COLUMN_NAME},
      {"kind", "kind", "kind", COLUMN_PAINT},
      {"count", "count", NULL, COLUMN_MEAN},
      {"time", "GPU time", "gpu_time", COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},
      {"mean", "mean", NULL, COLUMN_US},
      {"longest", "longest", NULL, COLUMN_US},
  };
  const struct lumos_job *job = facts->job;
  report_table_begin(table, "kernels", columns, sizeof columns / sizeof columns[0]);
  struct report_tallies tallies;
  report_tallies_begin(&tallies, job->strings);
  struct walk walk = walk_begin(facts);
  int64_t duration = 0;
  for (const struct lumos_task *task; (task = walk_next(&walk, &duration)) != NULL;) {
    if (on_stream(job, task)) {
      report_tally_add(&tallies, task->name, task->kind, duration, lumos_task_weight(job, task));
    }
  }
  report_tallies_sort(&tallies);
  describe(facts, &tallies, &kernels, table);
  for (size_t i = 0; i < tallies.rows.count; i++) {
    const struct report_tally *row = &tallies.rows.items[i];
    report_table_string(table, job->strings, row->name);
    report_table_number(table, report_paint_of_kind((uint8_t)row->kind));
    report_table_number(table, mean_count(facts, row->count));
    report_table_number(table, mean_time(facts, row->total));
    report_table_number(table, report_share(row->total, tallies.total));
    report_table_number(table, row->total / row->count);
    report_table_number(table, row->longest);
  }
  report_tallies_free(&tallies);
}

/* The name of the innermost op around a task: its own span's, or the nearest op above it. */
static lumos_string_id op_of(const struct lumos_job *job, const struct lumos_task *task) {
  uint32_t span = task->span;
  for (int depth = 0; span != LUMOS_NONE && depth < SPAN_DEPTH; depth++) {
    if (job->spans.items[span].kind == LUMOS_SPAN_OP) {
      return job->spans.items[span].name;
    }
    span = job->spans.items[span].parent;
  }
  return LUMOS_NO_STRING;
}

/* How often every op was called. */
static void count_calls(const struct lumos_job *job, struct report_tallies *calls) {
  for (size_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    if (span->kind == LUMOS_SPAN_OP) {
      report_tally_add(calls, span->name, 0, 0, lumos_rank_weight(&job->ranks.items[span->rank]));
    }
  }
}

/* Spans are of no step: calls are means over all steps, those that are in no sum, too. */
static int64_t mean_calls(const struct report_facts *facts, int64_t calls) {
  int64_t steps = 0;
  for (size_t i = 0; i < facts->steps.count; i++) {
    uint32_t rank = facts->steps.items[i].rank;
    steps += lumos_rank_weight(&facts->job->ranks.items[rank]);
  }
  return report_product(calls, 1000) / (steps > 0 ? steps : 1);
}

static void put_op_rows(const struct report_facts *facts, const struct report_tallies *tallies,
                        struct report_tallies *calls, struct report_table *table) {
  static const char unknown[] = "(no op recorded)";
  for (size_t i = 0; i < tallies->rows.count; i++) {
    const struct report_tally *row = &tallies->rows.items[i];
    if (row->name == LUMOS_NO_STRING) {
      report_table_word(table, unknown);
      report_table_number(table, LUMOS_ABSENT);
    } else {
      report_table_string(table, facts->job->strings, row->name);
      report_table_number(table, mean_calls(facts, report_tally_of(calls, row->name, 0)->count));
    }
    report_table_number(table, mean_count(facts, row->count));
    report_table_number(table, mean_time(facts, row->total));
    report_table_number(table, report_share(row->total, tallies->total));
    report_table_number(table, row->longest);
  }
}

static void fill_ops(const struct report_facts *facts, struct report_tallies *tallies, struct report_tallies *calls,
                     const struct subject *subject, struct report_table *table) {
  report_tallies_sort(tallies);
  describe(facts, tallies, subject, table);
  put_op_rows(facts, tallies, calls, table);
  report_tallies_free(tallies);
}

void report_table_ops(const struct report_facts *facts, struct report_table *by_device, struct report_table *by_host) {
  static const struct report_column device_columns[] = {
      {"name", "op", "op", COLUMN_NAME},           {"calls", "calls", NULL, COLUMN_MEAN},
      {"launched", "launched", NULL, COLUMN_MEAN}, {"time", "GPU time", "gpu_time", COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},        {"longest", "longest", NULL, COLUMN_US},
  };
  static const struct report_column host_columns[] = {
      {"name", "op", "op", COLUMN_NAME},       {"calls", "calls", NULL, COLUMN_MEAN},
      {"tasks", "tasks", "task", COLUMN_MEAN}, {"time", "self CPU time", "self_time", COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},    {"longest", "longest", NULL, COLUMN_US},
  };
  const struct lumos_job *job = facts->job;
  report_table_begin(by_device, "opsdevice", device_columns, sizeof device_columns / sizeof device_columns[0]);
  report_table_begin(by_host, "opshost", host_columns, sizeof host_columns / sizeof host_columns[0]);
  struct report_tallies calls;
  struct report_tallies device;
  struct report_tallies host;
  report_tallies_begin(&calls, job->strings);
  report_tallies_begin(&device, job->strings);
  report_tallies_begin(&host, job->strings);
  count_calls(job, &calls);
  struct walk walk = walk_begin(facts);
  int64_t duration = 0;
  for (const struct lumos_task *task; (task = walk_next(&walk, &duration)) != NULL;) {
    if (on_stream(job, task)) {
      const struct lumos_task *caller = task->call == LUMOS_NONE ? task : &job->tasks.items[task->call];
      report_tally_add(&device, op_of(job, caller), 0, duration, lumos_task_weight(job, task));
    } else {
      report_tally_add(&host, op_of(job, task), 0, duration, lumos_task_weight(job, task));
    }
  }
  fill_ops(facts, &device, &calls, &ops_on_device, by_device);
  fill_ops(facts, &host, &calls, &ops_on_host, by_host);
  report_tallies_free(&calls);
}
