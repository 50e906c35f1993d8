/* The values of the thresholds' metrics in a report in JSON: one walk over its metrics. */
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "gate/gate.h"
#include "sim/steps.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPORT_FORMAT = 1, NAME_BYTES = 64 };

/* Of one report, by threshold: what it has of each source. */
struct found {
  struct gate_values of[GATE_SOURCES];
};

struct reading {
  const struct lumos_gate *gate;
  struct found *found;
  bool edited, has_metrics;
  struct gate_fingerprint fingerprints[GATE_SOURCES];
  struct gate_origin *origin;
};

/* A metric's record, as slices of the report. */
struct record {
  struct lumos_slice name;
  const char *scope; /* its brace; NULL: it has none */
  double value, low, high;
  bool has_value, has_range[2];
  enum gate_source source;
};

/* Up to six decimals, which is what reports have; whole numbers beyond that room. */
static bool read_number(const char **cursor, double *number) {
  enum { DECIMALS = 6 };
  int64_t scaled = 0;
  if (lumos_json_scaled(cursor, DECIMALS, &scaled)) {
    *number = (double)scaled / 1e6;
    return true;
  }
  if (lumos_json_scaled(cursor, 0, &scaled)) {
    *number = (double)scaled;
    return true;
  }
  return false;
}

static bool same_text(const struct lumos_slice *slice, const char *text) {
  char decoded[NAME_BYTES * 4];
  if (slice->length >= sizeof decoded) {
    return false;
  }
  size_t length = lumos_json_decode(slice, decoded, NULL);
  return length == strlen(text) && memcmp(decoded, text, length) == 0;
}

/* ---- Scopes ---- */

static const struct gate_member *member_named(const struct gate_metric *metric, const struct lumos_slice *key) {
  for (size_t i = 0; i < metric->scope_count; i++) {
    if (same_text(key, metric->scope[i].name)) {
      return &metric->scope[i];
    }
  }
  return NULL;
}

static bool member_fits(const struct gate_member *wanted, const char **cursor) {
  struct lumos_slice text;
  int64_t number = 0;
  if (wanted == NULL) {
    return false;
  }
  if (**cursor == '"') {
    return lumos_json_string(cursor, &text) && wanted->text != NULL && same_text(&text, wanted->text);
  }
  return lumos_json_integer(cursor, &number) && wanted->text == NULL && number == wanted->number;
}

/* Is the scope that of the threshold, but for the step, which it tells? */
static bool scope_fits(const struct gate_metric *metric, const char *scope, int64_t *step) {
  struct lumos_json_members members;
  struct lumos_slice key;
  size_t fitting = 0;
  int more = 0;
  *step = GATE_STEP_NONE;
  if (scope == NULL) {
    return metric->scope_count == 0;
  }
  if (!lumos_json_open(&scope, '{', &members)) {
    return false;
  }
  while ((more = lumos_json_key(&scope, &members, &key)) > 0) {
    if (lumos_json_is(&key, "step")) {
      if (!lumos_json_integer(&scope, step)) {
        return false;
      }
    } else if (!member_fits(member_named(metric, &key), &scope)) {
      return false;
    } else {
      fitting++;
    }
  }
  return more == 0 && fitting == metric->scope_count;
}

/* ---- Records ---- */

/* Is the step all that the scope says? */
static bool is_of_step(const char *scope) {
  static const struct gate_metric whole = {.scope_count = 0};
  int64_t step = GATE_STEP_NONE;
  return scope != NULL && scope_fits(&whole, scope, &step) && step != GATE_STEP_NONE;
}

/* Records come in any order, so their hashes are added up. */
static void add_to_fingerprint(struct reading *reading, const struct record *record) {
  if (record->has_value && is_of_step(record->scope)) {
    struct gate_fingerprint *fingerprint = &reading->fingerprints[record->source];
    const char *scope = record->scope;
    struct lumos_slice text;
    uint64_t hash = 0, bits = 0;
    memcpy(&bits, &record->value, sizeof bits);
    for (size_t i = 0; i < record->name.length; i++) {
      hash = lumos_hash_mix(hash, (unsigned char)record->name.bytes[i]);
    }
    for (size_t i = 0; lumos_json_skip(&scope, &text) && i < text.length; i++) {
      hash = text.bytes[i] > ' ' ? lumos_hash_mix(hash, (unsigned char)text.bytes[i]) : hash;
    }
    fingerprint->hash += lumos_hash_mix(hash, bits);
    fingerprint->values++;
  }
}

static void take_record(struct reading *reading, const struct record *record) {
  for (size_t i = 0; record->has_value && i < reading->gate->metrics.count; i++) {
    const struct gate_metric *metric = &reading->gate->metrics.items[i];
    struct gate_value value = {.value = record->value};
    if (same_text(&record->name, metric->definition->name) && scope_fits(metric, record->scope, &value.step)) {
      bool ranged = record->has_range[0] && record->has_range[1];
      value.half = ranged ? fmax(record->high - record->value, record->value - record->low) : 0;
      value.half = fmax(value.half, 0);
      lumos_vector_push(&reading->found[i].of[record->source], value);
    }
  }
}

static bool read_member(const struct lumos_slice *key, const char **cursor, struct record *record) {
  struct lumos_slice text;
  if (lumos_json_is(key, "name")) {
    return lumos_json_string(cursor, &record->name);
  }
  if (lumos_json_is(key, "value")) {
    record->has_value = read_number(cursor, &record->value);
    return record->has_value;
  }
  if (lumos_json_is(key, "low") || lumos_json_is(key, "high")) {
    bool low = lumos_json_is(key, "low");
    record->has_range[!low] = read_number(cursor, low ? &record->low : &record->high);
    return record->has_range[!low];
  }
  if (lumos_json_is(key, "source")) {
    bool good = lumos_json_string(cursor, &text);
    record->source = good && lumos_json_is(&text, "measured") ? GATE_MEASURED : GATE_SIMULATED;
    return good;
  }
  record->scope = lumos_json_is(key, "scope") && **cursor == '{' ? *cursor : record->scope;
  return lumos_json_skip(cursor, NULL);
}

static bool read_metrics(struct reading *reading, const char **cursor) {
  struct lumos_json_members items, members;
  struct lumos_slice key;
  int more = 0;
  reading->has_metrics = true;
  if (!lumos_json_open(cursor, '[', &items)) {
    return false;
  }
  while ((more = lumos_json_item(cursor, &items)) > 0) {
    struct record record = {.scope = NULL};
    int inside = 0;
    if (!lumos_json_open(cursor, '{', &members)) {
      return false;
    }
    while ((inside = lumos_json_key(cursor, &members, &key)) > 0) {
      if (!read_member(&key, cursor, &record)) {
        return false;
      }
    }
    if (inside < 0 || record.name.bytes == NULL) {
      return false;
    }
    take_record(reading, &record);
    add_to_fingerprint(reading, &record);
  }
  return more == 0;
}

/* Null, or a text: printable, and as much of it as there is room. */
static bool read_damage(const char **cursor, struct gate_origin *origin) {
  struct lumos_slice text;
  if (**cursor != '"') {
    return lumos_json_skip(cursor, NULL);
  }
  if (!lumos_json_string(cursor, &text)) {
    return false;
  }
  char *decoded = lumos_allocate(text.length + 1);
  size_t length = lumos_json_decode(&text, decoded, NULL);
  if (length >= sizeof origin->damage) {
    for (length = sizeof origin->damage - 1; length > 0 && ((unsigned char)decoded[length] & 0xC0) == 0x80; length--) {
    }
  }
  lumos_utf8_make_printable(decoded, length);
  memcpy(origin->damage, decoded, length);
  origin->damage[length] = '\0';
  free(decoded);
  return true;
}

static bool read_report(struct reading *reading, const char *report, struct lumos_error *error) {
  static const char other[] = "is not a report in JSON; write one with lumos-render -o report.json";
  struct lumos_json_members members;
  struct lumos_slice key, value;
  const char *cursor = lumos_json_blank(report);
  int64_t format = 0;
  int more = 0;
  if (!lumos_json_open(&cursor, '{', &members)) {
    return lumos_fail(error, "%s", other);
  }
  while ((more = lumos_json_key(&cursor, &members, &key)) > 0) {
    bool good = true;
    if (lumos_json_is(&key, "format")) {
      good = lumos_json_integer(&cursor, &format);
    } else if (lumos_json_is(&key, "metrics")) {
      good = read_metrics(reading, &cursor);
    } else if (lumos_json_is(&key, "damage")) {
      good = read_damage(&cursor, reading->origin);
    } else {
      good = lumos_json_skip(&cursor, &value);
      reading->edited |= good && lumos_json_is(&key, "edited") && lumos_json_is(&value, "true");
    }
    if (!good) {
      return lumos_fail(error, "byte %td: %s", cursor - report, other);
    }
  }
  if (more < 0 || format < 1 || !reading->has_metrics) {
    return lumos_fail(error, "byte %td: %s", cursor - report, other);
  }
  return format == REPORT_FORMAT ||
         lumos_fail(error,
                    "is a report of format %lld, and this version reads format %d; use the same version for both",
                    (long long)format, REPORT_FORMAT);
}

/* ---- Means ---- */

static int by_step(const void *left, const void *right) {
  const struct gate_value *a = left, *b = right;
  return a->step != b->step ? LUMOS_ORDER(a->step, b->step) : LUMOS_ORDER(a->value, b->value);
}

/* A step has one value, or one of each rank. */
static struct gate_mean mean_of(struct gate_values *values, bool changed) {
  size_t steps = 0, of_first = 0, first = 0;
  struct gate_mean mean = {.count = 0};
  lumos_vector_sort(values, by_step);
  for (size_t i = 0; i < values->count; i++) {
    steps += i == 0 || values->items[i].step != values->items[i - 1].step;
    of_first += steps == 1;
  }
  if (values->count > 0 && values->items[0].step != GATE_STEP_NONE && lumos_first_step_is_left_out(steps, changed)) {
    first = of_first;
  }
  mean.count = values->count - first;
  for (size_t i = first; i < values->count; i++) {
    mean.mean += values->items[i].value / (double)mean.count;
    mean.half += values->items[i].half / (double)mean.count;
  }
  for (size_t i = first; i < values->count && mean.count > 1; i++) {
    double off = values->items[i].value - mean.mean;
    mean.variance += off * off / (double)(mean.count - 1);
  }
  return mean;
}

static struct gate_mean choose(const struct gate_metric *metric, struct found *found, bool edited) {
  enum gate_source source = edited ? GATE_SIMULATED : GATE_MEASURED;
  if (metric->has_source) {
    source = metric->source;
  } else if (found->of[source].count == 0) {
    source = source == GATE_MEASURED ? GATE_SIMULATED : GATE_MEASURED;
  }
  return mean_of(&found->of[source], edited && source == GATE_SIMULATED);
}

bool gate_read_means(const struct lumos_gate *gate, const char *report, struct gate_mean *means,
                     struct gate_origin *origin, struct lumos_error *error) {
  struct reading reading = {.gate = gate, .origin = origin};
  *origin = (struct gate_origin){.damage = ""};
  reading.found = lumos_allocate_zeroed(gate->metrics.count + 1, sizeof *reading.found);
  bool good = read_report(&reading, report, error);
  for (size_t i = 0; i < gate->metrics.count; i++) {
    if (good) {
      means[i] = choose(&gate->metrics.items[i], &reading.found[i], reading.edited);
    }
    lumos_vector_free(&reading.found[i].of[GATE_MEASURED]);
    lumos_vector_free(&reading.found[i].of[GATE_SIMULATED]);
  }
  /* Changes of one recording have its measured values. */
  bool measured = !reading.edited && reading.fingerprints[GATE_MEASURED].values > 0;
  origin->fingerprint = reading.fingerprints[measured ? GATE_MEASURED : GATE_SIMULATED];
  free(reading.found);
  return good;
}

bool lumos_gate_is_report(const char *bytes, size_t length) {
  static const char *const begins[] = {"{", "\"format\"", ":"}; /* and blanks between them, as jq writes them */
  const char *end = bytes + length;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
    while (bytes < end && strchr(" \t\r\n", *bytes) != NULL) {
      bytes++;
    }
    size_t needed = strlen(begins[i]);
    if ((size_t)(end - bytes) < needed || memcmp(bytes, begins[i], needed) != 0) {
      return false;
    }
    bytes += needed;
  }
  return true;
}

static bool is_same(struct gate_fingerprint one, struct gate_fingerprint other) {
  return one.values > 0 && one.values == other.values && one.hash == other.hash;
}

bool lumos_gate_test(struct lumos_gate *gate, const char *report, struct lumos_error *error) {
  struct gate_mean *means = lumos_allocate_zeroed(gate->metrics.count + 1, sizeof *means);
  struct gate_origin origin;
  bool good = gate_read_means(gate, report, means, &origin, error);
  gate->tested = origin.fingerprint;
  memcpy(gate->damage, origin.damage, sizeof gate->damage);
  for (size_t i = 0; good && i < gate->metrics.count; i++) {
    gate->metrics.items[i].tested = means[i];
  }
  free(means);
  return good;
}

/* Of a recording that is not there yet. */
static void add_baseline(struct lumos_gate *gate, struct gate_fingerprint fingerprint, const struct gate_mean *means) {
  for (size_t i = 0; i < gate->known.count; i++) {
    if (is_same(fingerprint, gate->known.items[i])) {
      gate->copies++;
      return;
    }
  }
  for (size_t i = 0; i < gate->metrics.count; i++) {
    if (means[i].count > 0) {
      lumos_vector_push(&gate->metrics.items[i].baseline, means[i]);
    }
  }
  lumos_vector_push(&gate->known, fingerprint);
  gate->reports++;
}

bool lumos_gate_baseline(struct lumos_gate *gate, const char *report, struct lumos_error *error) {
  struct gate_mean *means = lumos_allocate_zeroed(gate->metrics.count + 1, sizeof *means);
  struct gate_origin origin;
  bool good = gate_read_means(gate, report, means, &origin, error);
  if (good && is_same(origin.fingerprint, gate->tested)) {
    gate->itself++;
  } else if (good && origin.damage[0] != '\0') {
    gate->damaged++;
  } else if (good) {
    add_baseline(gate, origin.fingerprint, means);
  }
  free(means);
  return good;
}

bool lumos_gate_has_baseline(const struct lumos_gate *gate, struct lumos_error *error) {
  if (gate->reports == 0 && gate->damaged > 0) {
    return lumos_fail(error,
                      "a trace of the baseline is cut or damaged, so its steps may lack work; name the report of "
                      "a whole recording behind --baseline");
  }
  return gate->reports > 0 || lumos_fail(error, "the baseline is the tested recording itself, so that no regression "
                                                "would show; name the report of another one behind --baseline");
}
