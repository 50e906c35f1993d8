/* Thresholds: a document that a person writes, so a member that is not known is a fault. */
#include "base/duration.h"
#include "base/nearest.h"
#include "base/object.h"
#include "base/utf8.h"
#include "gate/gate.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GATE_FORMAT = 1, MOST_METRICS = 1000 };
#define LARGEST 1e18 /* of all amounts: in ns 31 years */
static const char example[] = "{\"format\": 1, \"metrics\": [{\"metric\": \"step_time\", \"relative\": 0.02}]}";

/* Rates and shares of use: less of them is worse. All others are times, errors and counts. */
static bool is_lower_worse(const char *name) {
  static const char *const names[] = {
      "mfu",         "hfu",        "gpu_busy",    "occupancy",      "occupancy_time",          "flops_rate",
      "flops_share", "bytes_rate", "bytes_share", "copy_bandwidth", "collective_bus_bandwidth"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

static bool find_metric(const cJSON *value, struct gate_metric *metric, struct lumos_error *error) {
  if (!cJSON_IsString(value)) {
    return lumos_fail(error, "\"metric\" is not a name in quotes");
  }
  metric->definition = lumos_metric_definition(value->valuestring);
  if (metric->definition != NULL) {
    metric->lower_is_worse = is_lower_worse(metric->definition->name);
    return true;
  }
  size_t count = 0;
  const struct lumos_metric_definition *all = lumos_metric_definitions(&count);
  struct lumos_nearest nearest = {.word = value->valuestring};
  for (size_t i = 0; i < count; i++) {
    lumos_nearest_offer(&nearest, all[i].name);
  }
  return lumos_fail(error, "there is no metric '%.60s'%s%s%s; lumos-sim(1) lists them", value->valuestring,
                    nearest.best == NULL ? "" : "; was '", nearest.best == NULL ? "" : nearest.best,
                    nearest.best == NULL ? "" : "' meant?");
}

/* A number, or of a metric in ns a duration such as "1.5ms". */
static bool read_amount(const struct gate_metric *metric, const cJSON *value, double *amount) {
  const char *at = cJSON_IsString(value) ? value->valuestring : NULL;
  int64_t nanoseconds = 0;
  if (at != NULL && !metric->relative && strcmp(metric->definition->unit, "ns") == 0 &&
      lumos_duration_read(&at, &nanoseconds) && *at == '\0') {
    *amount = (double)nanoseconds;
    return nanoseconds >= 0 && nanoseconds < (int64_t)LARGEST;
  }
  *amount = cJSON_IsNumber(value) ? value->valuedouble : -1;
  return isfinite(*amount) && *amount >= 0 && *amount <= LARGEST;
}

static bool read_limit(const cJSON *item, struct gate_metric *metric, struct lumos_error *error) {
  const cJSON *relative = cJSON_GetObjectItemCaseSensitive(item, "relative");
  const cJSON *absolute = cJSON_GetObjectItemCaseSensitive(item, "absolute");
  const cJSON *noise = cJSON_GetObjectItemCaseSensitive(item, "noise");
  if ((relative == NULL) == (absolute == NULL)) {
    return lumos_fail(error, "give \"relative\" (0.02 is 2 %%) or \"absolute\", and not both");
  }
  metric->relative = relative != NULL;
  if (!read_amount(metric, relative != NULL ? relative : absolute, &metric->limit)) {
    return lumos_fail(error, "\"%s\" is not a number from 0 to 1e18%s", relative != NULL ? "relative" : "absolute",
                      relative != NULL ? "" : ", nor of a time a duration such as \"1.5ms\"");
  }
  metric->floor = -1;
  return noise == NULL || read_amount(metric, noise, &metric->floor) ||
         lumos_fail(error, "\"noise\" is not an amount like the threshold");
}

/* One of two words; *second where it is that. */
static bool read_word(const cJSON *item, const char *name, const char *one, const char *other, bool *given,
                      bool *second, struct lumos_error *error) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(item, name);
  *given = value != NULL;
  if (value == NULL) {
    return true;
  }
  bool is_other = cJSON_IsString(value) && strcmp(value->valuestring, other) == 0;
  *second = is_other;
  return is_other || (cJSON_IsString(value) && strcmp(value->valuestring, one) == 0) ||
         lumos_fail(error, "\"%s\" is neither \"%s\" nor \"%s\"", name, one, other);
}

/* UTF-8 without control bytes, which no form of the gate may hold. */
static bool is_text(const char *text) {
  bool good = lumos_utf8_valid(text, strlen(text));
  for (; good && *text != '\0'; text++) {
    good = (unsigned char)*text >= ' ' && *text != 0x7F;
  }
  return good;
}

static bool read_scope(const cJSON *scope, struct gate_metric *metric, struct lumos_error *error) {
  if (scope != NULL && !cJSON_IsObject(scope)) {
    return lumos_fail(error, "\"scope\" is not an object such as {\"kind\": \"gemm\"}");
  }
  const cJSON *member = NULL;
  cJSON_ArrayForEach(member, scope) {
    bool whole = cJSON_IsNumber(member) && member->valuedouble == floor(member->valuedouble) &&
                 fabs(member->valuedouble) < (double)INT32_MAX;
    bool text = cJSON_IsString(member) && is_text(member->valuestring);
    if (metric->scope_count == GATE_SCOPE_MEMBERS || (!text && !whole) || !is_text(member->string) ||
        strcmp(member->string, "step") == 0) {
      return lumos_fail(error,
                        "\"scope\": '%.40s' is not a text or whole number of a metric's scope; steps are averaged",
                        member->string);
    }
    struct gate_member *to = &metric->scope[metric->scope_count++];
    *to = (struct gate_member){.name = lumos_copied(member->string, strlen(member->string) + 1, 1),
                               .number = whole ? (int64_t)member->valuedouble : 0};
    to->text = whole ? NULL : lumos_copied(member->valuestring, strlen(member->valuestring) + 1, 1);
  }
  return true;
}

static bool knows_members(const cJSON *object, const char *const *names, size_t count, struct lumos_error *error) {
  const cJSON *member = NULL;
  cJSON_ArrayForEach(member, object) {
    bool known = false;
    for (size_t i = 0; i < count; i++) {
      known |= strcmp(member->string, names[i]) == 0;
    }
    if (!known) {
      return lumos_fail(error, "there is no member \"%.40s\" here", member->string);
    }
    for (const cJSON *other = object->child; other != member; other = other->next) {
      if (strcmp(other->string, member->string) == 0) {
        return lumos_fail(error, "the member \"%.40s\" stands here twice; leave one out", member->string);
      }
    }
  }
  return true;
}

static bool read_metric(const cJSON *item, struct gate_metric *metric, struct lumos_error *error) {
  static const char *const names[] = {"metric", "relative", "absolute", "noise", "worse", "source", "scope"};
  if (!cJSON_IsObject(item)) {
    return lumos_fail(error, "is not an object such as {\"metric\": \"step_time\", \"relative\": 0.02}");
  }
  bool given = false, second = false;
  bool good = knows_members(item, names, sizeof names / sizeof *names, error) &&
              find_metric(cJSON_GetObjectItemCaseSensitive(item, "metric"), metric, error) &&
              read_limit(item, metric, error) && read_word(item, "worse", "higher", "lower", &given, &second, error);
  metric->lower_is_worse = good && given ? second : metric->lower_is_worse;
  good = good && read_word(item, "source", "measured", "simulated", &metric->has_source, &second, error);
  metric->source = second ? GATE_SIMULATED : GATE_MEASURED;
  return good && read_scope(cJSON_GetObjectItemCaseSensitive(item, "scope"), metric, error);
}

static bool same_member(const struct gate_member *one, const struct gate_member *other) {
  return strcmp(one->name, other->name) == 0 && (one->text == NULL) == (other->text == NULL) &&
         (one->text == NULL ? one->number == other->number : strcmp(one->text, other->text) == 0);
}

/* Of one value of a report: whatever the order of their scopes. */
static bool same_value(const struct gate_metric *one, const struct gate_metric *other) {
  bool same = one->definition == other->definition && one->scope_count == other->scope_count &&
              one->has_source == other->has_source && (!one->has_source || one->source == other->source);
  for (size_t i = 0; same && i < one->scope_count; i++) {
    size_t k = 0;
    while (k < other->scope_count && !same_member(&one->scope[i], &other->scope[k])) {
      k++;
    }
    same = k < other->scope_count;
  }
  return same;
}

/* Two thresholds of one value would contradict each other, or hide a slip of the pen. */
static bool is_new(const struct lumos_gate *gate, struct lumos_error *error) {
  const struct gate_metric *last = &gate->metrics.items[gate->metrics.count - 1];
  for (size_t i = 0; i + 1 < gate->metrics.count; i++) {
    if (same_value(last, &gate->metrics.items[i])) {
      return lumos_fail(error, "threshold %zu is of the same metric, %s, with the same scope; leave one out", i + 1,
                        last->definition->name);
    }
  }
  return true;
}

static bool read_document(const cJSON *document, struct lumos_gate *gate, struct lumos_error *error) {
  static const char *const names[] = {"format", "metrics"};
  const cJSON *format = cJSON_GetObjectItemCaseSensitive(document, "format");
  const cJSON *metrics = cJSON_GetObjectItemCaseSensitive(document, "metrics");
  if (!cJSON_IsNumber(format) || format->valuedouble != GATE_FORMAT) {
    return lumos_fail(error, "\"format\" is not %d, which this version reads", GATE_FORMAT);
  }
  int count = cJSON_IsArray(metrics) ? cJSON_GetArraySize(metrics) : 0;
  if (count == 0 || count > MOST_METRICS) {
    return lumos_fail(error, "\"metrics\" is not a list of 1 to %d thresholds, as in %s", MOST_METRICS, example);
  }
  if (!knows_members(document, names, sizeof names / sizeof *names, error)) {
    return false;
  }
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, metrics) {
    lumos_vector_push(&gate->metrics, ((struct gate_metric){.limit = 0}));
    if (!read_metric(item, &gate->metrics.items[gate->metrics.count - 1], error) || !is_new(gate, error)) {
      char place[40];
      (void)snprintf(place, sizeof place, "threshold %zu", gate->metrics.count);
      return lumos_fail_prefix(error, place);
    }
  }
  return true;
}

struct lumos_gate *lumos_gate_open(const char *path, struct lumos_error *error) {
  cJSON *document = lumos_object_read(path, "a list of thresholds", example, error);
  if (document == NULL) {
    return NULL;
  }
  struct lumos_gate *gate = lumos_allocate_zeroed(1, sizeof *gate);
  bool good = read_document(document, gate, error);
  cJSON_Delete(document);
  if (!good) {
    (void)lumos_fail_prefix(error, path);
    lumos_gate_close(gate);
    return NULL;
  }
  return gate;
}

void lumos_gate_close(struct lumos_gate *gate) {
  for (size_t i = 0; gate != NULL && i < gate->metrics.count; i++) {
    struct gate_metric *metric = &gate->metrics.items[i];
    for (size_t k = 0; k < metric->scope_count; k++) {
      free(metric->scope[k].name);
      free(metric->scope[k].text);
    }
    lumos_vector_free(&metric->baseline);
  }
  if (gate != NULL) {
    lumos_vector_free(&gate->metrics);
    lumos_vector_free(&gate->known);
    free(gate);
  }
}
