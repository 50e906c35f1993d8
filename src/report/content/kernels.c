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
  const char *rows;  /* "The 20 largest of 214 names of GPU work" */
  const char *whole; /* "51 % of the GPU time" */
  const char *parts; /* "the 1.2 s that all GPU work takes" */
};
static const struct subject kernels = {"name", "names of GPU work", "GPU time",
                                       "that all GPU work takes, added up over streams and ranks"};
static const struct subject ops_on_device = {"op", "ops by the GPU work that they launch", "GPU time",
                                             "that all GPU work takes, added up over streams and ranks"};
static const struct subject ops_on_host = {"op", "ops by their own time on the host", "host time",
                                           "that all host work takes, added up over threads and ranks"};

static bool on_stream(const struct lumos_job *job, const struct lumos_task *task) {
  return job->lanes.items[task->lane].kind == LUMOS_STREAM;
}

void report_put_which_durations(const struct lumos_job *job, struct lumos_text *out) {
  lumos_text_put(out, lumos_job_edited(job) ? ". Durations: after the change" : "");
}

static size_t shown_rows(const struct report_tallies *tallies) {
  return tallies->rows.count < REPORT_TOP ? tallies->rows.count : REPORT_TOP;
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

/* "The 20 largest of 214 names of GPU work. Share: of the 1.23 s that ..." */
static void put_caption(const struct report_tallies *tallies, const struct subject *subject, struct lumos_text *out) {
  if (tallies->rows.count > REPORT_TOP) {
    lumos_text_format(out, "The %d largest of ", REPORT_TOP);
    report_put_count(out, (int64_t)tallies->rows.count);
    lumos_text_format(out, " %s", subject->rows);
  } else {
    lumos_text_format(out, "All %s", subject->rows);
  }
  lumos_text_put(out, ". Share: of the ");
  report_put_time(out, tallies->total);
  lumos_text_format(out, " %s", subject->parts);
}

/* "and 212 more names, 41.2 ms together" */
static void put_rest(const struct report_tallies *tallies, const struct subject *subject, struct lumos_text *out) {
  if (tallies->rows.count > REPORT_TOP) {
    struct report_tally rest = report_tallies_rest(tallies, REPORT_TOP);
    int64_t more = (int64_t)(tallies->rows.count - REPORT_TOP);
    lumos_text_put(out, "and ");
    report_put_count(out, more);
    lumos_text_format(out, " more %s%s, ", subject->noun, more == 1 ? "" : "s");
    report_put_time(out, rest.total);
    lumos_text_put(out, " together");
  }
}

static void describe(const struct lumos_job *job, const struct report_tallies *tallies, const struct subject *subject,
                     struct report_table *table) {
  table->whole = tallies->total;
  put_finding(tallies, subject, &table->finding);
  put_caption(tallies, subject, &table->caption);
  report_put_which_durations(job, &table->caption);
  put_rest(tallies, subject, &table->rest);
}

void report_table_kernels(const struct lumos_job *job, struct report_table *table) {
  static const struct report_column columns[] = {
      {"name", "kernel, copy or memset", NULL, COLUMN_NAME},
      {"kind", "kind", "kind", COLUMN_PAINT},
      {"count", "count", NULL, COLUMN_COUNT},
      {"total", "total", NULL, COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},
      {"mean", "mean", NULL, COLUMN_US},
      {"longest", "longest", NULL, COLUMN_US},
  };
  report_table_begin(table, "kernels", columns, sizeof columns / sizeof columns[0]);
  struct report_tallies tallies;
  report_tallies_begin(&tallies, job->strings);
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (on_stream(job, task)) {
      report_tally_add(&tallies, task->name, task->kind, task->dur, lumos_task_weight(job, task));
    }
  }
  report_tallies_sort(&tallies);
  describe(job, &tallies, &kernels, table);
  for (size_t i = 0; i < shown_rows(&tallies); i++) {
    const struct report_tally *row = &tallies.rows.items[i];
    report_table_string(table, job->strings, row->name);
    report_table_number(table, report_paint_of_kind((uint8_t)row->kind));
    report_table_number(table, row->count);
    report_table_number(table, row->total);
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

static void put_op_rows(const struct lumos_job *job, const struct report_tallies *tallies, struct report_tallies *calls,
                        struct report_table *table) {
  static const char unknown[] = "(no op recorded)";
  for (size_t i = 0; i < shown_rows(tallies); i++) {
    const struct report_tally *row = &tallies->rows.items[i];
    if (row->name == LUMOS_NO_STRING) {
      report_table_word(table, unknown);
      report_table_number(table, LUMOS_ABSENT);
    } else {
      report_table_string(table, job->strings, row->name);
      report_table_number(table, report_tally_of(calls, row->name, 0)->count);
    }
    report_table_number(table, row->count);
    report_table_number(table, row->total);
    report_table_number(table, report_share(row->total, tallies->total));
    report_table_number(table, row->longest);
  }
}

static void fill_ops(const struct lumos_job *job, struct report_tallies *tallies, struct report_tallies *calls,
                     const struct subject *subject, struct report_table *table) {
  report_tallies_sort(tallies);
  describe(job, tallies, subject, table);
  put_op_rows(job, tallies, calls, table);
  report_tallies_free(tallies);
}

void report_table_ops(const struct lumos_job *job, struct report_table *by_device, struct report_table *by_host) {
  static const struct report_column device_columns[] = {
      {"name", "op", "op", COLUMN_NAME},
      {"calls", "calls", NULL, COLUMN_COUNT},
      {"launched", "launched", NULL, COLUMN_COUNT},
      {"total", "GPU time", "gpu_time", COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},
      {"longest", "longest", NULL, COLUMN_US},
  };
  static const struct report_column host_columns[] = {
      {"name", "op", "op", COLUMN_NAME},        {"calls", "calls", NULL, COLUMN_COUNT},
      {"tasks", "tasks", "task", COLUMN_COUNT}, {"total", "self time", "self_time", COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},     {"longest", "longest", NULL, COLUMN_US},
  };
  report_table_begin(by_device, "opsdevice", device_columns, sizeof device_columns / sizeof device_columns[0]);
  report_table_begin(by_host, "opshost", host_columns, sizeof host_columns / sizeof host_columns[0]);
  struct report_tallies calls;
  struct report_tallies device;
  struct report_tallies host;
  report_tallies_begin(&calls, job->strings);
  report_tallies_begin(&device, job->strings);
  report_tallies_begin(&host, job->strings);
  count_calls(job, &calls);
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (on_stream(job, task)) {
      const struct lumos_task *caller = task->call == LUMOS_NONE ? task : &job->tasks.items[task->call];
      report_tally_add(&device, op_of(job, caller), 0, task->dur, lumos_task_weight(job, task));
    } else {
      report_tally_add(&host, op_of(job, task), 0, task->dur, lumos_task_weight(job, task));
    }
  }
  fill_ops(job, &device, &calls, &ops_on_device, by_device);
  fill_ops(job, &host, &calls, &ops_on_host, by_host);
  report_tallies_free(&calls);
}
