/* A damaged value must not take its whole document along: the rank stands in the same one as a dozen figures that nobody needs. */
#include "trace/envelope.h"

#include "base/text.h"
#include "base/utf8.h"
#include "trace/event.h"
#include <cjson/cJSON.h>
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

char *lumos_trace_envelope_value(const struct lumos_slice *value, unsigned *remarks) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  *remarks = 0;
  replace_words(&text, value, remarks);
  lumos_text_char(&text, '\0');
  if (!lumos_utf8_valid(text.bytes, text.length)) {
    struct lumos_text valid = LUMOS_TEXT_BUFFER;
    lumos_text_valid_utf8(&valid, text.bytes, text.length);
    lumos_text_free(&text);
    text = valid;
    *remarks |= TRACE_REPLACED;
  }
  cJSON *parsed = cJSON_Parse(text.bytes);
  char *kept = parsed != NULL ? strdup(text.bytes) : NULL;
  cJSON_Delete(parsed);
  lumos_text_free(&text);
  return kept;
}
