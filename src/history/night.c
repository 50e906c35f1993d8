/* Two walks over a document: the gate's, for metrics, and one for what else is shown. */
#include "history/night.h"

#include "base/ascii.h"
#include "base/json.h"
#include "base/object.h"
#include "report/text/numbers.h"
#include <math.h>
#include <string.h>

/* ---- Days ---- */

static bool read_digits(const char *text, size_t count, int64_t *number) {
  *number = 0;
  for (size_t i = 0; i < count; i++) {
    if (!lumos_is_digit(text[i])) {
      return false;
    }
    *number = *number * 10 + (text[i] - '0');
  }
  return true;
}

/* Of the Gregorian calendar, by years that begin with March: the day that leap years add is their last. */
static int64_t days_until(int64_t year, int64_t month, int64_t day) {
  int64_t from_march = (month + 9) % 12, years = month < 3 ? year - 1 : year;
  enum { UNTIL_1970 = 719468 }; /* days from the first of March of the year 0 */
  return 365 * years + years / 4 - years / 100 + years / 400 + (153 * from_march + 2) / 5 + day - 1 - UNTIL_1970;
}

static void find_date(int64_t days, int64_t *year, int64_t *month, int64_t *day) {
  for (*year = 1970 + days / 366; days_until(*year + 1, 1, 1) <= days; ++*year) {
  }
  for (*month = 1; *month < 12 && days_until(*year, *month + 1, 1) <= days; ++*month) {
  }
  *day = days - days_until(*year, *month, 1) + 1;
}

int64_t history_day_of(const char *text) {
  enum { LAST_YEAR = 2199 }; /* chosen: what is later is no date of a night, and would have all others missing */
  int64_t year = 0, month = 0, day = 0, again[3];
  if (!read_digits(text, 4, &year) || text[4] != '-' || !read_digits(text + 5, 2, &month) || text[7] != '-' ||
      !read_digits(text + 8, 2, &day) || year < 1970 || year > LAST_YEAR || month < 1 || month > 12) {
    return LUMOS_ABSENT;
  }
  int64_t days = days_until(year, month, day);
  find_date(days, &again[0], &again[1], &again[2]);
  return again[0] == year && again[1] == month && again[2] == day ? days : LUMOS_ABSENT;
}

/* ---- Values ---- */

static const struct {
  const char *metric, *kind; /* kind NULL: of the whole job */
  enum history_series series;
} sources[] = {
    {"step_time", NULL, HISTORY_STEP},
    {"exposed_communication", NULL, HISTORY_COMMUNICATION},
    {"mfu", "model", HISTORY_MFU},  /* as report_mfu in report/content/facts.h: by the model's formula, */
    {"mfu", "shapes", HISTORY_MFU}, /* else by shapes */
};
enum { SOURCES = sizeof sources / sizeof *sources };

void history_night_clear(struct history_night *night) {
  night->problem = night->title = night->verdict = night->regressed = "";
  night->cause = LUMOS_CAUSES;
  night->confidence = LUMOS_CONFIDENCE_UNKNOWN;
  night->ranks = night->world = LUMOS_ABSENT;
  night->has_gate = night->failed_again = night->cut = false;
  for (int i = 0; i < HISTORY_SERIES; i++) {
    night->values[i] = night->limits[i] = NAN;
  }
}

static bool read_values(const char *document, struct history_night *night, struct lumos_error *error) {
  struct gate_metric metrics[SOURCES] = {0};
  char kind[] = "kind", names[SOURCES][16];
  struct gate_mean means[SOURCES];
  for (size_t i = 0; i < SOURCES; i++) {
    metrics[i].definition = lumos_metric_definition(sources[i].metric);
    if (sources[i].kind != NULL) {
      memcpy(names[i], sources[i].kind, strlen(sources[i].kind) + 1);
      metrics[i].scope[metrics[i].scope_count++] = (struct gate_member){.name = kind, .text = names[i]};
    }
  }
  const struct lumos_gate gate = {.metrics = {metrics, SOURCES, SOURCES}};
  struct gate_origin origin;
  bool good = gate_read_means(&gate, document, means, &origin, error);
  if (good && origin.damage[0] != '\0') {
    night->cut = true;
    return lumos_fail(error, "%s", origin.damage);
  }
  for (size_t i = 0; good && i < SOURCES; i++) {
    if (means[i].count > 0 && isnan(night->values[sources[i].series])) {
      night->values[sources[i].series] = means[i].mean;
      good = means[i].mean >= 0 || lumos_fail(error, "%s is below 0; write the report again", sources[i].metric);
    }
  }
  return good;
}

/* ---- What else is shown ---- */

static const char *copy_text(const struct lumos_slice *slice, struct lumos_arena *arena) {
  char *text = lumos_arena_take(arena, slice->length + 1);
  text[lumos_json_decode(slice, text, NULL)] = '\0';
  return text;
}

/* Of another type: skipped, and as it was. */
static bool read_text(const char **cursor, struct lumos_arena *arena, const char **text) {
  struct lumos_slice slice;
  if (**cursor != '"') {
    return lumos_json_skip(cursor, NULL);
  }
  bool good = lumos_json_string(cursor, &slice);
  *text = good ? copy_text(&slice, arena) : *text;
  return good;
}

static bool read_count(const char **cursor, int64_t *count) {
  if (lumos_json_integer(cursor, count)) {
    *count = *count < 0 ? LUMOS_ABSENT : *count;
    return true;
  }
  return lumos_json_skip(cursor, NULL);
}

static bool read_share(const char **cursor, double *share) {
  int64_t millionths = 0;
  if (**cursor != '"' && lumos_json_scaled(cursor, 6, &millionths)) {
    *share = (double)millionths / 1e6;
    return true;
  }
  return lumos_json_skip(cursor, NULL);
}

static enum lumos_cause cause_named(const char *name) {
  int cause = 0;
  while (cause < LUMOS_CAUSES && strcmp(name, lumos_cause_name((enum lumos_cause)cause)) != 0) {
    cause++;
  }
  return (enum lumos_cause)cause;
}

static enum lumos_confidence confidence_named(const char *name) {
  int grade = LUMOS_GOOD;
  while (grade > LUMOS_CONFIDENCE_UNKNOWN && strcmp(name, lumos_confidence_name((enum lumos_confidence)grade)) != 0) {
    grade--;
  }
  return (enum lumos_confidence)grade;
}

/* The worst comes first, but where it is how much GPUs compute or what recording costs, which is no overhead of the
 * job. */
static bool is_overhead(enum lumos_cause cause) {
  return cause != LUMOS_CAUSE_COMPUTE && cause != LUMOS_CAUSE_PROFILER && cause != LUMOS_CAUSES;
}

static bool read_finding(const char **cursor, struct lumos_arena *arena, struct history_night *night) {
  struct lumos_json_members members;
  struct lumos_slice key;
  const char *name = "";
  double share = NAN;
  int more = 0;
  bool good = lumos_json_open(cursor, '{', &members);
  while (good && (more = lumos_json_key(cursor, &members, &key)) > 0) {
    good = lumos_json_is(&key, "cause")   ? read_text(cursor, arena, &name)
           : lumos_json_is(&key, "share") ? read_share(cursor, &share)
                                          : lumos_json_skip(cursor, NULL);
  }
  enum lumos_cause cause = cause_named(name);
  if (night->cause == LUMOS_CAUSES && is_overhead(cause)) {
    night->cause = cause;
    night->values[HISTORY_OVERHEAD] = share;
  }
  return good && more == 0;
}

static bool read_findings(const char **cursor, struct lumos_arena *arena, struct history_night *night) {
  struct lumos_json_members items;
  int more = 0;
  bool good = lumos_json_open(cursor, '[', &items);
  while (good && (more = lumos_json_item(cursor, &items)) > 0) {
    good = **cursor == '{' ? read_finding(cursor, arena, night) : lumos_json_skip(cursor, NULL);
  }
  return good && more == 0;
}

static bool read_confidence(const char **cursor, struct lumos_arena *arena, struct history_night *night) {
  struct lumos_json_members members;
  struct lumos_slice key;
  const char *grade = "";
  int more = 0;
  bool good = lumos_json_open(cursor, '{', &members);
  while (good && (more = lumos_json_key(cursor, &members, &key)) > 0) {
    good = lumos_json_is(&key, "grade") ? read_text(cursor, arena, &grade) : lumos_json_skip(cursor, NULL);
  }
  night->confidence = confidence_named(grade);
  return good && more == 0;
}

static bool read_diagnosis(const char **cursor, struct lumos_arena *arena, struct history_night *night) {
  struct lumos_json_members members;
  struct lumos_slice key;
  int more = 0;
  bool good = lumos_json_open(cursor, '{', &members);
  while (good && (more = lumos_json_key(cursor, &members, &key)) > 0) {
    good = lumos_json_is(&key, "findings") && **cursor == '['     ? read_findings(cursor, arena, night)
           : lumos_json_is(&key, "confidence") && **cursor == '{' ? read_confidence(cursor, arena, night)
                                                                  : lumos_json_skip(cursor, NULL);
  }
  return good && more == 0;
}

static bool read_member(const struct lumos_slice *key, const char **cursor, struct lumos_arena *arena,
                        const char **recorded, struct history_night *night) {
  return lumos_json_is(key, "title")                          ? read_text(cursor, arena, &night->title)
         : lumos_json_is(key, "verdict")                      ? read_text(cursor, arena, &night->verdict)
         : lumos_json_is(key, "recorded")                     ? read_text(cursor, arena, recorded)
         : lumos_json_is(key, "ranks")                        ? read_count(cursor, &night->ranks)
         : lumos_json_is(key, "world")                        ? read_count(cursor, &night->world)
         : lumos_json_is(key, "diagnosis") && **cursor == '{' ? read_diagnosis(cursor, arena, night)
                                                              : lumos_json_skip(cursor, NULL);
}

bool history_night_read(const char *document, struct lumos_arena *arena, struct history_night *night,
                        struct lumos_error *error) {
  struct lumos_json_members members;
  struct lumos_slice key;
  const char *cursor = lumos_json_blank(document), *recorded = "";
  int more = 0;
  if (!read_values(document, night, error)) {
    return false;
  }
  bool good = lumos_json_open(&cursor, '{', &members);
  while (good && (more = lumos_json_key(&cursor, &members, &key)) > 0) {
    good = read_member(&key, &cursor, arena, &recorded, night);
  }
  night->day = night->day == LUMOS_ABSENT ? history_day_of(recorded) : night->day;
  return (good && more == 0) || lumos_fail(error, "byte %td: is not a report in JSON", cursor - document);
}

/* ---- The gate ---- */

static double number_of(const cJSON *item, const char *name) {
  const cJSON *number = cJSON_GetObjectItemCaseSensitive(item, name);
  return cJSON_IsNumber(number) && isfinite(number->valuedouble) ? number->valuedouble : NAN;
}

static const char *text_of(const cJSON *item, const char *name) {
  const cJSON *text = cJSON_GetObjectItemCaseSensitive(item, name);
  return cJSON_IsString(text) ? text->valuestring : "";
}

/* The series that a threshold is of; HISTORY_SERIES: of none. */
static enum history_series series_of(const cJSON *item) {
  const cJSON *scope = cJSON_GetObjectItemCaseSensitive(item, "scope");
  for (size_t i = 0; i < SOURCES; i++) {
    const char *kind = sources[i].kind;
    bool fits = kind == NULL ? cJSON_GetArraySize(scope) == 0
                             : cJSON_GetArraySize(scope) == 1 && strcmp(text_of(scope, "kind"), kind) == 0;
    if (fits && strcmp(text_of(item, "metric"), sources[i].metric) == 0) {
      return sources[i].series;
    }
  }
  return HISTORY_SERIES;
}

/* "step time +12.9 %" */
static void put_regression(const cJSON *item, struct lumos_text *out) {
  const double most = 1e6; /* of the baseline: beyond it nobody compares */
  const struct lumos_metric_definition *definition = lumos_metric_definition(text_of(item, "metric"));
  const cJSON *scope = cJSON_GetObjectItemCaseSensitive(item, "scope"), *member = NULL;
  double base = number_of(item, "baseline"), change = number_of(item, "change");
  lumos_text_put(out, out->length > 0 ? ", " : "");
  lumos_text_put(out, definition != NULL ? definition->term : text_of(item, "metric"));
  cJSON_ArrayForEach(member, scope) {
    if (cJSON_IsString(member)) {
      lumos_text_format(out, " (%s)", member->valuestring);
    }
  }
  double share = change / fabs(base);
  if (fabs(share) < most) {
    lumos_text_put(out, share > 0 ? " +" : " ");
    report_put_share(out, llround(share * 1e6));
  }
}

static bool read_verdict(const char *name, enum lumos_gate_verdict *verdict) {
  for (int i = LUMOS_GATE_NEUTRAL; i <= LUMOS_GATE_REGRESSION; i++) {
    if (strcmp(name, lumos_gate_verdict_name((enum lumos_gate_verdict)i)) == 0) {
      *verdict = (enum lumos_gate_verdict)i;
      return true;
    }
  }
  return false;
}

bool history_night_read_gate(const char *path, struct lumos_arena *arena, struct history_night *night,
                             struct lumos_error *error) {
  static const char example[] =
      "lumos-render --gate thresholds.json --baseline before.json now.json -o night.gate.json";
  cJSON *document = lumos_object_read(path, "what the gate found", example, error);
  const cJSON *item = NULL;
  struct lumos_text regressed = LUMOS_TEXT_BUFFER;
  night->has_gate = document != NULL && read_verdict(text_of(document, "verdict"), &night->gate);
  const cJSON *metrics = cJSON_GetObjectItemCaseSensitive(document, "metrics");
  cJSON_ArrayForEach(item, metrics) {
    enum history_series series = series_of(item);
    double allowed = number_of(item, "allowed");
    if (series != HISTORY_SERIES) {
      allowed = strcmp(text_of(item, "worse"), "lower") == 0 ? -allowed : allowed;
      night->limits[series] = number_of(item, "baseline") + allowed;
    }
    if (strcmp(text_of(item, "verdict"), "regression") == 0) {
      put_regression(item, &regressed);
    }
  }
  night->regressed = lumos_arena_copy(arena, regressed.length == 0 ? "" : regressed.bytes, regressed.length);
  lumos_text_free(&regressed);
  bool read = document != NULL;
  cJSON_Delete(document);
  return night->has_gate || (read && lumos_fail(error, "%s: has no verdict", path));
}
