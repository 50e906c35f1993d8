/* Writing the diagnosis. */
#include "report/diagnosis/json.h"

#include "report/diagnosis/first_screen.h"
#include "report/diagnosis/gains.h"
#include "report/diagnosis/reason.h"
#include "report/diagnosis/remedy.h"
#include "report/text/script.h"

typedef void putting(const struct report_result *result, struct lumos_text *out);

static void put_text(const struct lumos_text *text, struct lumos_text *out) {
  lumos_text_script_string(out, text->bytes, text->length);
}

static void put_sentences(const struct report_result *result, struct lumos_text *out) {
  static putting *const sentences[] = {diagnosis_put_sentence, diagnosis_put_remedy};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++) {
    sentences[i](result, &text);
    if (text.length > 0) {
      lumos_text_put(out, i == 0 ? "" : ",");
      put_text(&text, out);
    }
    text.length = 0;
  }
  lumos_text_free(&text);
}

static void put_string(const struct report_result *result, const char *name, lumos_string_id id,
                       struct lumos_text *out) {
  if (id != LUMOS_NO_STRING) {
    lumos_text_format(out, ",\"%s\":", name);
    lumos_text_script_string(out, lumos_string(result->job->strings, id),
                             lumos_string_length(result->job->strings, id));
  }
}

static void put_ranks(const struct report_result *result, const struct lumos_finding *finding, struct lumos_text *out) {
  lumos_text_put(out, ",\"ranks\":[");
  for (uint32_t i = 0; i < finding->rank_count; i++) {
    lumos_text_format(out, "%s{\"rank\":%d,\"time\":", i == 0 ? "" : ",",
                      result->job->ranks.items[finding->ranks[i]].rank);
    lumos_text_integer(out, finding->rank_times[i]);
    lumos_text_char(out, '}');
  }
  lumos_text_char(out, ']');
}

static void put_finding(const struct report_result *result, const struct lumos_finding *finding,
                        struct lumos_text *out) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(out, "{\"cause\":\"%s\",\"time\":", lumos_cause_name(finding->cause));
  lumos_text_integer(out, finding->time);
  lumos_text_put(out, ",\"share\":");
  lumos_text_decimal(out, finding->share, 6);
  put_ranks(result, finding, out);
  if (finding->stage != LUMOS_ABSENT_INT) {
    lumos_text_format(out, ",\"stage\":%d", finding->stage);
  }
  if (finding->layers != LUMOS_ABSENT_INT) {
    lumos_text_format(out, ",\"layers\":%d,\"split\":[", finding->layers);
    for (int32_t s = 0; s < finding->stages; s++) {
      lumos_text_format(out, "%s%d", s == 0 ? "" : ",", finding->split[s]);
    }
    lumos_text_char(out, ']');
  }
  if (finding->waiting > 0) {
    lumos_text_format(out, ",\"waiting\":%lld", (long long)finding->waiting);
  }
  if (finding->part != 0) {
    lumos_text_format(out, ",\"part\":\"%s\"", lumos_part_name(finding->part));
  }
  if (finding->part_ratio != LUMOS_ABSENT) {
    lumos_text_put(out, ",\"part_ratio\":");
    lumos_text_decimal(out, finding->part_ratio, 6);
  }
  if (finding->cause == LUMOS_CAUSE_IMBALANCE) {
    lumos_text_format(out, ",\"idle_stages\":%d", finding->idle);
  }
  if (finding->ratio != LUMOS_ABSENT) {
    lumos_text_put(out, ",\"ratio\":");
    lumos_text_decimal(out, finding->ratio, 6);
  }
  put_string(result, "group",
             finding->group != LUMOS_NONE ? result->job->groups.items[finding->group].id : LUMOS_NO_STRING, out);
  put_string(result, "op", finding->op, out);
  lumos_text_put(out, finding->before_op ? ",\"before_op\":true" : "");
  put_string(result, "annotation", finding->annotation, out);
  if (finding->op_time != LUMOS_ABSENT) {
    lumos_text_put(out, ",\"op_time\":");
    lumos_text_integer(out, finding->op_time);
  }
  lumos_text_put(out, ",\"text\":");
  diagnosis_put_finding(result, finding, &text);
  put_text(&text, out);
  lumos_text_char(out, '}');
  lumos_text_free(&text);
}

/* What the page predicts; null: nothing. */
static void put_best_gain(const struct report_result *result, struct lumos_text *out) {
  struct diagnosis_gain gain = diagnosis_best_gain(result);
  if (gain.share == LUMOS_ABSENT) {
    lumos_text_put(out, "null");
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(out, "{\"change\":");
  diagnosis_put_changing(result, &gain, &text);
  put_text(&text, out);
  lumos_text_put(out, ",\"step_time\":");
  lumos_text_integer(out, gain.time);
  lumos_text_put(out, ",\"share\":");
  lumos_text_decimal(out, diagnosis_told_share(result, &gain), 6);
  lumos_text_put(out, gain.at_most ? ",\"at_most\":true}" : ",\"at_most\":false}");
  lumos_text_free(&text);
}

void diagnosis_put_json(const struct report_result *result, struct lumos_text *out) {
  const struct lumos_diagnosis *diagnosis = &result->diagnosis;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(out, "{\"sentences\":[");
  put_sentences(result, out);
  lumos_text_put(out, "],\"findings\":[");
  for (size_t i = 0; i < diagnosis->count; i++) {
    lumos_text_put(out, i == 0 ? "\n" : ",\n");
    put_finding(result, &diagnosis->findings[i], out);
  }
  lumos_text_format(out,
                    "],\"confidence\":{\"grade\":\"%s\",\"reason\":", lumos_confidence_name(diagnosis->confidence));
  diagnosis_put_confidence(result, &text);
  put_text(&text, out);
  lumos_text_put(out, "},\"best_gain\":");
  put_best_gain(result, out);
  lumos_text_char(out, '}');
  lumos_text_free(&text);
}
