/* A damaged value must not take its whole document along: the rank stands in the same one as a dozen figures that
 * nobody needs. */
#include "trace/envelope.h"

#include "base/ascii.h"
#include "base/text.h"
#include "base/utf8.h"
#include "trace/event.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

static const struct {
  const char *key;
  enum trace_fact fact;
} keys[] = {
    {"baseTimeNanoseconds", TRACE_FACT_BASE},
    {"deviceProperties", TRACE_FACT_DEVICES},
    {"computeProperties", TRACE_FACT_DEVICES}, /* until 2021 */
    {"distributedInfo", TRACE_FACT_DISTRIBUTED},
    {"host_name", TRACE_FACT_HOST},
    {"cuda_runtime_version", TRACE_FACT_CUDA},
    {"hip_runtime_version", TRACE_FACT_HIP},
    {"PT_PROFILER_JOB_NAME", TRACE_FACT_JOB_NAME},
    {"PT_PROFILER_JOB_VERSION", TRACE_FACT_JOB_VERSION},
    {"PT_PROFILER_JOB_ATTEMPT_INDEX", TRACE_FACT_JOB_ATTEMPT},
    {"lumos_recorder", TRACE_FACT_RECORDER},
    {"lumos_timelines", TRACE_FACT_TIMELINES},
    {"schemaVersion", TRACE_FACTS},
    {"displayTimeUnit", TRACE_FACTS},
    {"traceName", TRACE_FACTS},
    {"trace_id", TRACE_FACTS},
};

bool lumos_trace_envelope_key(const struct lumos_slice *key, enum trace_fact *fact) {
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    if (strlen(keys[i].key) == key->length && memcmp(keys[i].key, key->bytes, key->length) == 0) {
      *fact = keys[i].fact;
      return true;
    }
  }
  return false;
}

/* How long the word at `place` is that stands for a number and is none; 0 when there is no such word. */
static size_t word_length(const char *place, const char *end) {
  static const char *const words[] = {"-Infinity", "Infinity", "NaN", "-nan", "-inf", "nan", "inf"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    size_t length = strlen(words[i]);
    if ((size_t)(end - place) >= length && memcmp(place, words[i], length) == 0) {
      return length;
    }
  }
  return 0;
}

/* The text with null for such words. */
static void replace_words(struct lumos_text *out, const struct lumos_slice *value, unsigned *remarks) {
  const char *end = value->bytes + value->length;
  bool in_string = false;
  for (const char *place = value->bytes; place < end; place++) {
    size_t word = in_string ? 0 : word_length(place, end);
    if (word > 0) {
      lumos_text_put(out, "null");
      *remarks |= TRACE_LOST;
      place += word - 1;
      continue;
    }
    if (in_string && *place == '\\' && place + 1 < end) {
      lumos_text_char(out, *place++);
    } else if (*place == '"') {
      in_string = !in_string;
    }
    lumos_text_char(out, *place);
  }
}

/* Does it hold a number that no 64 bits hold? */
static bool holds_excess(const cJSON *value) {
  static const double limit = 18446744073709551616.0;
  if (cJSON_IsNumber(value)) {
    return !(fabs(value->valuedouble) < limit);
  }
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, value) {
    if (holds_excess(item)) {
      return true;
    }
  }
  return false;
}

static bool is_out_of(const cJSON *number, double low, double high) {
  return cJSON_IsNumber(number) && !(number->valuedouble >= low && number->valuedouble <= high);
}

/* A number that is none for what it is to tell? */
static bool is_out_of_range(enum trace_fact fact, const cJSON *value, const char *text) {
  int64_t base = 0;
  switch (fact) {
    case TRACE_FACT_BASE:
      return (cJSON_IsNumber(value) || (text[0] == '"' && lumos_is_digit(text[1]))) &&
             !lumos_json_scaled(&text, 0, &base);
    case TRACE_FACT_DISTRIBUTED:
      return is_out_of(cJSON_GetObjectItemCaseSensitive(value, "rank"), 0, INT32_MAX) ||
             is_out_of(cJSON_GetObjectItemCaseSensitive(value, "world_size"), 1, INT32_MAX);
    default:
      return false;
  }
}

/* Does a key stand twice in the object, with two values? Of its first members, which those that count are among. */
static bool is_repeated(const cJSON *object) {
  enum { MOST_MEMBERS = 64 };
  const cJSON *first = cJSON_IsObject(object) ? object->child : NULL;
  int count = 0;
  for (const cJSON *member = first; member != NULL && count < MOST_MEMBERS; member = member->next, count++) {
    for (const cJSON *before = first; before != member; before = before->next) {
      if (strcmp(before->string, member->string) == 0 && !cJSON_Compare(before, member, true)) {
        return true;
      }
    }
  }
  return false;
}

char *lumos_trace_envelope_value(enum trace_fact fact, const struct lumos_slice *value, unsigned *remarks) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  *remarks = 0;
  replace_words(&text, value, remarks);
  lumos_text_char(&text, '\0');
  if (!lumos_utf8_valid(text.bytes, text.length)) {
    struct lumos_text valid = LUMOS_TEXT_BUFFER;
    lumos_text_valid_utf8(&valid, text.bytes, text.length - 1);
    lumos_text_char(&valid, '\0');
    lumos_text_free(&text);
    text = valid;
    *remarks |= TRACE_REPLACED;
  }
  cJSON *parsed = cJSON_Parse(text.bytes);
  if (holds_excess(parsed) || is_out_of_range(fact, parsed, text.bytes)) {
    *remarks |= TRACE_LOST;
  }
  if (is_repeated(parsed)) {
    *remarks |= TRACE_REPEATED;
  }
  char *kept = parsed != NULL ? lumos_copied_text(text.bytes) : NULL;
  cJSON_Delete(parsed);
  lumos_text_free(&text);
  return kept;
}

/* Behind the colon of the key, which is written with its quotes; NULL when it is not there. */
static const char *value_of(const char *begin, const char *end, const char *key) {
  const char *place = memmem(begin, (size_t)(end - begin), key, strlen(key));
  place = place != NULL ? lumos_json_blank(place + strlen(key)) : NULL;
  return place != NULL && *place == ':' ? lumos_json_blank(place + 1) : NULL;
}

char *lumos_trace_envelope_salvage(const char *begin, const char *end) {
  static const char *const numbers[] = {"\"rank\"", "\"world_size\""};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    const char *place = value_of(begin, end, numbers[i]);
    int64_t number = 0;
    if (place != NULL && lumos_json_integer(&place, &number) && place < end && strchr(" \t\r\n,}", *place) != NULL &&
        number >= 0 && number <= INT32_MAX) {
      lumos_text_format(&text, "%s%s:%d", text.length == 0 ? "{" : ",", numbers[i], (int)number);
    }
  }
  char *kept = NULL;
  if (text.length > 0) {
    lumos_text_add(&text, "}", 2);
    kept = lumos_copied_text(text.bytes);
  }
  lumos_text_free(&text);
  return kept;
}
