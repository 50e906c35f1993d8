/* The summary. Times are integer nanoseconds, shares fractions of one, unknown is null or absent. A row that is left
 * out is in no sum or mean (facts.h). */
#include "report/forms/summary.h"

#include "job/date.h"
#include "report/content/gantt.h"
#include "report/content/losses.h"
#include "report/content/notes.h"
#include "report/diagnosis/first_screen.h"
#include "report/diagnosis/json.h"
#include "report/text/numbers.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

/* Each row has two timelines, as in the table of steps. */
enum { SUMMARY_FORMAT = 1, MOST_ROWS = REPORT_ROWS / TIMELINES };

static void put_integer(struct lumos_text *out, int64_t value) {
  if (value == LUMOS_ABSENT) {
    lumos_text_put(out, "null");
  } else {
    lumos_text_integer(out, value);
  }
}

static void put_fraction(struct lumos_text *out, int64_t millionths) {
  if (millionths == LUMOS_ABSENT) {
    lumos_text_put(out, "null");
  } else {
    lumos_text_decimal(out, millionths, 6);
  }
}

static void put_range(struct report_range range, struct lumos_text *out) {
  lumos_text_put(out, ",\"low\":");
  put_integer(out, range.low);
  lumos_text_put(out, ",\"high\":");
  put_integer(out, range.high);
}

static void put_figures(const struct lumos_job *job, const struct report_row *row, enum report_timeline timeline,
                        struct lumos_text *out) {
  lumos_text_char(out, '{');
  if (row->rank != LUMOS_NONE) {
    lumos_text_format(out, "\"rank\":%d,", job->ranks.items[row->rank].rank);
  }
  lumos_text_format(out, "\"step\":%d,\"timeline\":\"%s\"", row->step, report_timeline_name(timeline));
  lumos_text_put(out, (timeline == SIMULATED ? row->left_out : row->left_out_too) ? ",\"left_out\":true" : "");
  for (int i = 0; i < FIGURE_COUNT; i++) {
    int64_t value = row->figures[timeline].of[i];
    if (value != LUMOS_ABSENT) {
      lumos_text_format(out, ",\"%s\":", report_figure_name((enum report_figure)i));
      lumos_text_decimal(out, value, report_figure_is_share((enum report_figure)i) ? 6 : 0);
    }
  }
  lumos_text_char(out, '}');
}

static bool has_figures(const struct report_row *row, enum report_timeline timeline) {
  for (int i = 0; i < FIGURE_COUNT; i++) {
    if (row->figures[timeline].of[i] != LUMOS_ABSENT) {
      return true;
    }
  }
  return false;
}

/* "rank_steps":[...], and how many there are beyond what a page has room for. */
static void put_rows(const struct lumos_job *job, const char *name, const struct report_rows *rows,
                     struct lumos_text *out) {
  bool first = true;
  size_t shown = rows->count < MOST_ROWS ? rows->count : MOST_ROWS;
  lumos_text_format(out, ",\n\"%s_left_out\":%zu,\"%s\":[", name, rows->count - shown, name);
  for (size_t i = 0; i < shown; i++) {
    for (int timeline = 0; timeline < TIMELINES; timeline++) {
      if (has_figures(&rows->items[i], (enum report_timeline)timeline)) {
        lumos_text_put(out, first ? "" : ",\n");
        put_figures(job, &rows->items[i], (enum report_timeline)timeline, out);
        first = false;
      }
    }
  }
  lumos_text_char(out, ']');
}

static void put_trust(const struct report_facts *facts, struct lumos_text *out) {
  static const enum report_figure figures[] = {FIGURE_HOST_REPLAY_ERROR, FIGURE_UNEXPLAINED_LAG, FIGURE_BOUNDARY,
                                               FIGURE_RESOURCE_WAIT,     FIGURE_KEPT_WAIT,       FIGURE_HOST_GAP,
                                               FIGURE_HOST_UNKNOWN,      FIGURE_PROFILER_TIME};
  lumos_text_put(out, "{\"replay_error\":");
  put_fraction(out, facts->mean_error);
  lumos_text_put(out, ",\"replay_error_worst\":");
  put_fraction(out, report_trust(facts, FIGURE_REPLAY_ERROR));
  for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
    lumos_text_format(out, ",\"%s\":", report_figure_name(figures[i]));
    put_fraction(out, report_trust(facts, figures[i]));
  }
  lumos_text_put(out, ",\"transplant_error\":");
  put_fraction(out, facts->transplant_error);
  lumos_text_put(out, ",\"transplant_error_worst\":");
  put_fraction(out, report_trust(facts, FIGURE_TRANSPLANT_ERROR));
  lumos_text_put(out, ",\"transplant_matched\":");
  put_fraction(out, report_trust(facts, FIGURE_TRANSPLANT_MATCHED));
  lumos_text_put(out, ",\"step_spread\":");
  put_fraction(out, facts->step_spread);
  struct report_coverage coverage = report_coverage_of(facts->job);
  lumos_text_put(out, ",\"device_tasks\":");
  put_integer(out, coverage.device_tasks);
  lumos_text_put(out, ",\"launched\":");
  put_integer(out, coverage.launched);
  lumos_text_put(out, ",\"launched_share\":");
  put_fraction(out, report_share(coverage.launched, coverage.device_tasks));
  lumos_text_put(out, ",\"collectives\":");
  put_integer(out, coverage.collectives);
  lumos_text_put(out, ",\"joined\":");
  put_integer(out, coverage.joined);
  lumos_text_put(out, ",\"joined_share\":");
  put_fraction(out, report_share(coverage.joined, coverage.collectives));
  lumos_text_put(out, ",\"unprofiled_step_time\":");
  put_integer(out, facts->unprofiled_step);
  lumos_text_put(out, ",\"profiling_cost\":");
  put_fraction(out, facts->profiling_cost);
  lumos_text_char(out, '}');
}

/* The figure of the second tile. */
static void put_loss(const struct report_facts *facts, struct lumos_text *out) {
  enum report_timeline timeline = report_facts_spoken(facts);
  enum report_figure figure = report_largest_loss(facts);
  lumos_text_format(out, "{\"name\":\"%s\",\"share\":", report_figure_name(figure));
  put_fraction(out, report_row_share(facts, report_facts_whole(facts, timeline), timeline, figure));
  lumos_text_put(out, ",\"time\":");
  put_integer(out, report_row_mean(report_facts_whole(facts, timeline), timeline, figure));
  lumos_text_char(out, '}');
}

/* The figure of the third tile. */
static void put_best(const struct report_opportunities *opportunities, struct lumos_text *out) {
  const struct report_opportunity *best = report_best_opportunity(opportunities);
  if (best == NULL) {
    lumos_text_put(out, "null");
    return;
  }
  struct lumos_text work = LUMOS_TEXT_BUFFER;
  report_put_opportunity(opportunities, best, &work);
  lumos_text_put(out, "{\"work\":");
  lumos_text_script_string(out, work.bytes, work.length);
  lumos_text_free(&work);
  lumos_text_put(out, ",\"half\":");
  put_integer(out, best->half);
  put_range(best->range, out);
  lumos_text_put(out, ",\"gain\":");
  put_integer(out, report_opportunity_gain(opportunities, best->half));
  lumos_text_put(out, ",\"share\":");
  put_fraction(out, report_opportunity_gain_share(opportunities, best->half));
  lumos_text_char(out, '}');
}

static void put_timeline(const struct report_timelines *timelines, struct lumos_text *out) {
  lumos_text_put(out, "{\"column\":");
  put_integer(out, report_gantt_column(timelines));
  lumos_text_format(out, ",\"open\":%zu,\"folded\":%zu,\"left_out\":%zu}", timelines->open.count,
                    timelines->folded.count, timelines->left_out);
}

static void put_string(struct lumos_text *out, const char *name, const char *bytes, size_t length) {
  lumos_text_format(out, "\"%s\":", name);
  lumos_text_script_string(out, bytes, length);
}

static void put_tables(const struct report_table *tables, struct lumos_text *out) {
  lumos_text_char(out, '{');
  for (size_t i = 0; i < TABLES; i++) {
    lumos_text_format(out, "%s\"%s\":", i == 0 ? "" : ",\n", tables[i].name);
    report_table_json(&tables[i], out);
  }
  lumos_text_char(out, '}');
}

/* {"format","title" */
static void begin(const struct report_content *content, struct lumos_text *out) {
  const char *title = report_title(content);
  lumos_text_format(out, "{\"format\":%d,", SUMMARY_FORMAT);
  if (title != NULL) {
    put_string(out, "title", title, strlen(title));
    lumos_text_char(out, ',');
  }
}

/* What is missing of the traces, or null: whoever compares with such a report must know. */
static void put_damage(const struct lumos_job *job, struct lumos_text *out) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_job_put_damage(job, &text);
  lumos_text_put(out, ",\"damage\":");
  if (text.length == 0) {
    lumos_text_put(out, "null");
  } else {
    lumos_text_script_string(out, text.bytes, text.length);
  }
  lumos_text_free(&text);
}

/* "verdict","diagnosis","edited","world","damage","step_time","loss" */
static void put_head(const struct report_content *content, struct lumos_text *out) {
  const struct report_facts *facts = &content->result.facts;
  const struct report_result *result = &content->result;
  struct lumos_text verdict = LUMOS_TEXT_BUFFER;
  report_put_diagnosis(result, &verdict);
  put_string(out, "verdict", verdict.bytes, verdict.length);
  lumos_text_free(&verdict);
  lumos_text_put(out, ",\n\"diagnosis\":");
  diagnosis_put_json(result, out);
  lumos_text_format(out, ",\n\"edited\":%s,\"world\":", facts->edited ? "true" : "false");
  put_integer(out, report_world(facts->job));
  put_damage(facts->job, out);
  lumos_text_put(out, ",\"step_time\":{\"measured\":");
  put_integer(out, report_facts_step_time(facts, MEASURED));
  lumos_text_put(out, ",\"simulated\":");
  put_integer(out, report_facts_step_time(facts, SIMULATED));
  put_range(facts->step_range, out);
  lumos_text_put(out, "},\n\"loss\":");
  put_loss(facts, out);
}

void report_summary_begin(const struct report_content *content, struct lumos_text *out) {
  const struct report_facts *facts = &content->result.facts;
  begin(content, out);
  put_head(content, out);
  lumos_text_put(out, ",\n\"best\":");
  put_best(&content->result.opportunities, out);
  lumos_text_put(out, ",\n\"trust\":");
  put_trust(facts, out);
  lumos_text_put(out, ",\n\"timeline\":");
  put_timeline(&content->timelines, out);
  put_rows(facts->job, "rank_steps", &facts->steps, out);
  put_rows(facts->job, "job_steps", &facts->job_steps, out);
  lumos_text_put(out, ",\n\"tables\":");
  put_tables(content->tables, out);
  lumos_text_put(out, ",\n\"notes\":");
  report_notes_json(facts->job, out);
}

/* When the job was recorded, in UTC. */
static void put_recorded(const struct lumos_job *job, struct lumos_text *out) {
  struct lumos_dates dates;
  struct tm date;
  lumos_text_put(out, ",\"recorded\":");
  if (!lumos_job_dates(job, &dates)) {
    lumos_text_put(out, "null");
    return;
  }
  time_t seconds = (time_t)(dates.start / INT64_C(1000000000));
  (void)gmtime_r(&seconds, &date); /* the years of ns in int64_t are 1678 to 2262 */
  lumos_text_format(out, "\"%04d-%02d-%02dT%02d:%02d:%02dZ\"", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday,
                    date.tm_hour, date.tm_min, date.tm_sec);
}

void report_summary_begin_brief(const struct report_content *content, struct lumos_text *out) {
  const struct lumos_job *job = content->result.facts.job;
  begin(content, out);
  lumos_text_put(out, "\"summary\":true");
  put_recorded(job, out);
  lumos_text_format(out, ",\"ranks\":%" PRId64 ",\n", lumos_job_weight(job));
  put_head(content, out);
  lumos_text_put(out, ",\n\"trust\":");
  put_trust(&content->result.facts, out);
}

void report_summary(const struct report_content *content, struct lumos_text *out) {
  report_summary_begin(content, out);
  lumos_text_put(out, "}\n");
}
