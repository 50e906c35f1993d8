/* What was found on every rank, and its clocks. */
#include "report/content/tables.h"

#include "report/text/numbers.h"

enum { PRIVATE_COLUMNS = 2 }; /* the last ones: host and trace */

static void put_rank(const struct lumos_job *job, const struct lumos_rank *rank, bool details,
                     struct report_table *table) {
  const struct lumos_coverage *coverage = &rank->coverage;
  report_table_number(table, rank->rank);
  report_table_string(table, job->strings, rank->device_name);
  report_table_number(table, rank->window_end - rank->window_start);
  report_table_number(table, coverage->events);
  report_table_number(table, coverage->device_tasks);
  report_table_number(table, report_share(coverage->launched, coverage->device_tasks));
  report_table_number(table, report_share(coverage->opped, coverage->device_tasks));
  report_table_number(table, coverage->before_recording);
  report_table_number(table, coverage->crossing);
  report_table_number(table, coverage->repaired);
  report_table_number(table, coverage->skipped);
  report_table_number(table, coverage->collectives);
  report_table_number(table, coverage->joined);
  if (details) {
    report_table_string(table, job->strings, rank->host);
    report_table_string(table, job->strings, rank->source);
  }
}

/* "26,600 of 32,932 kernels and copies come with the call that launched them" */
static void put_ranks_finding(const struct lumos_job *job, struct lumos_text *out) {
  struct report_coverage coverage = report_coverage_of(job);
  if (coverage.device_tasks == LUMOS_ABSENT || coverage.device_tasks == 0) {
    lumos_text_put(out, "No kernel or copy was recorded");
    return;
  }
  report_put_part(out, coverage.launched, coverage.device_tasks, "kernels and copies");
  lumos_text_put(out, " come with the call that launched them");
}

void report_table_ranks(const struct lumos_job *job, bool details, struct report_table *table) {
  static const struct report_column columns[] = {
      {"rank", "rank", "rank", COLUMN_COUNT},
      {"gpu", "GPU", NULL, COLUMN_TEXT},
      {"recorded", "recorded", "recorded", COLUMN_MS},
      {"events", "events", NULL, COLUMN_COUNT},
      {"device_tasks", "kernels and copies", "task", COLUMN_COUNT},
      {"launched", "with call", "coverage", COLUMN_SHARE},
      {"opped", "with op", "coverage", COLUMN_SHARE},
      {"before_recording", "launched before", "before_recording", COLUMN_COUNT},
      {"crossing", "crossing", "crossing", COLUMN_COUNT},
      {"repaired", "repaired", "repaired", COLUMN_COUNT},
      {"skipped", "skipped", "skipped", COLUMN_COUNT},
      {"collectives", "collectives", "collective", COLUMN_COUNT},
      {"joined", "joined", "joined", COLUMN_COUNT},
      {"host", "host", NULL, COLUMN_TEXT},
      {"trace", "trace", NULL, COLUMN_TEXT},
  };
  const size_t count = sizeof columns / sizeof columns[0];
  report_table_begin(table, "ranks", columns, details ? count : count - PRIVATE_COLUMNS);
  put_ranks_finding(job, &table->finding);
  lumos_text_put(&table->caption, "What was found on every rank. Shares: of the rank's kernels and copies");
  int64_t left_out = lumos_job_weight(job) - (int64_t)job->ranks.count;
  if (left_out > 0) {
    lumos_text_put(&table->caption, ". Left out: ");
    report_put_counted(&table->caption, left_out, "rank");
    lumos_text_put(&table->caption, " like one of these, which counts for them in all sums and means");
  }
  for (size_t i = 0; i < job->ranks.count; i++) {
    put_rank(job, &job->ranks.items[i], details, table);
  }
}

static void put_clock(const struct lumos_rank *rank, struct report_table *table) {
  const struct lumos_clock *clock = &rank->clock;
  bool aligned = clock->known && clock->from_collectives;
  report_table_number(table, rank->rank);
  report_table_number(table, rank->runtime_offset);
  report_table_number(table, rank->runtime_doubt);
  report_table_number(table, clock->known ? clock->device_offset : LUMOS_ABSENT);
  report_table_number(table, aligned ? clock->offset : LUMOS_ABSENT);
  report_table_number(table, aligned ? clock->drift_ppb : LUMOS_ABSENT);
  report_table_number(table, aligned ? clock->error : LUMOS_ABSENT);
}

void report_table_clocks(const struct lumos_job *job, struct report_table *table) {
  static const struct report_column columns[] = {
      {"rank", "rank", "rank", COLUMN_COUNT},
      {"runtime_offset", "calls", "runtime_clock", COLUMN_US},
      {"runtime_doubt", "error", "runtime_clock", COLUMN_US},
      {"device_offset", "GPU", "gpu_clock", COLUMN_US},
      {"offset", "rank", "rank_clock", COLUMN_US},
      {"drift_ppb", "drift, ns a second", "rank_clock", COLUMN_COUNT},
      {"clock_error", "error", "rank_clock", COLUMN_US},
  };
  report_table_begin(table, "clocks", columns, sizeof columns / sizeof columns[0]);
  lumos_text_put(&table->caption, "Clock offsets that Lumos adds to the times of each rank's calls, of its GPU, and of "
                                  "the whole rank. A dash: unknown");
  for (size_t i = 0; i < job->ranks.count; i++) {
    put_clock(&job->ranks.items[i], table);
  }
}
