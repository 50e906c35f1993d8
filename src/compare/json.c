/* See json.h. Every number is as it is in memory: times in ns, counts with up to three decimals. */
#include "compare/json.h"

#include <inttypes.h>

enum { JSON_FORMAT = 1, COUNT_DECIMALS = 3 };

static void put_string(const struct lumos_comparison *comparison, lumos_string_id id, struct lumos_text *out) {
  if (id == LUMOS_NO_STRING) {
    lumos_text_put(out, "null");
  } else {
    lumos_text_script_string(out, lumos_string(comparison->strings, id), lumos_string_length(comparison->strings, id));
  }
}

static void put_number(int64_t value, struct lumos_text *out) {
  if (value == LUMOS_ABSENT) {
    lumos_text_put(out, "null");
  } else {
    lumos_text_integer(out, value);
  }
}

static const char *truth(bool value) { return value ? "true" : "false"; }

static void put_diagnosis(const struct lumos_comparison *comparison, int side, struct lumos_text *out) {
  const struct lumos_compared_diagnosis *diagnosis = &comparison->diagnoses[side];
  lumos_text_put(out, ",\n\"diagnosis\":");
  if (diagnosis->grade == LUMOS_NO_STRING) {
    lumos_text_put(out, "null");
    return;
  }
  lumos_text_put(out, "{\"sentence\":");
  put_string(comparison, diagnosis->sentence, out);
  lumos_text_put(out, ",\"remedy\":");
  put_string(comparison, diagnosis->remedy, out);
  lumos_text_put(out, ",\"confidence\":");
  put_string(comparison, diagnosis->grade, out);
  lumos_text_put(out, ",\"reason\":");
  put_string(comparison, diagnosis->reason, out);
  lumos_text_char(out, '}');
}

static void put_job(const struct lumos_comparison *comparison, int side, struct lumos_text *out) {
  const struct lumos_compared_job *job = &comparison->jobs[side];
  lumos_text_format(out, "\"%s\":{\"steps_recorded\":%u,\"steps\":%u,\"ranks\":%" PRId64 ",\"device\":",
                    side == 0 ? "a" : "b", job->steps_recorded, job->steps, job->ranks);
  put_string(comparison, job->device, out);
  lumos_text_format(out, ",\"step\":%" PRId64 ",\"shortest\":%" PRId64 ",\"longest\":%" PRId64 ",\"gpu_time\":%" PRId64,
                    job->step, job->shortest, job->longest, job->gpu_time);
  lumos_text_put(out, ",\"damage\":");
  put_string(comparison, job->damage, out);
  lumos_text_put(out, ",\"matched\":{");
  for (int level = 0; level < LUMOS_MATCHES; level++) {
    lumos_text_format(out, "%s\"%s\":%" PRId64, level == 0 ? "" : ",", lumos_match_name((enum lumos_match)level),
                      job->matched[level]);
  }
  lumos_text_char(out, '}');
  put_diagnosis(comparison, side, out);
  lumos_text_put(out, "},\n");
}

static void put_parts(const struct lumos_comparison *comparison, const char *name,
                      const struct lumos_compared_parts *parts, struct lumos_text *out) {
  lumos_text_format(out, "\"%s\":[", name);
  for (size_t i = 0; i < parts->count; i++) {
    const struct lumos_compared_part *part = &parts->items[i];
    lumos_text_put(out, i == 0 ? "\n{\"part\":" : ",\n{\"part\":");
    put_string(comparison, part->label, out);
    lumos_text_format(out, ",\"a\":%" PRId64 ",\"b\":%" PRId64 "}", part->time[0], part->time[1]);
  }
  lumos_text_put(out, "],\n");
}

static void put_layer(int32_t layer, struct lumos_text *out) {
  put_number(layer == LUMOS_ABSENT_INT ? LUMOS_ABSENT : layer, out);
}

/* Parts of the model; null: none that is known. */
static void put_places(uint8_t parts, struct lumos_text *out) {
  lumos_text_put(out, ",\"parts\":[");
  const char *between = "";
  for (unsigned part = 0; part <= LUMOS_PART_OPTIMIZER; part++) {
    if (parts & LUMOS_COMPARE_PART(part)) {
      lumos_text_format(out, part == 0 ? "%snull" : "%s\"%s\"", between, lumos_part_name((enum lumos_part)part));
      between = ",";
    }
  }
  lumos_text_char(out, ']');
}

static void put_work(const struct lumos_comparison *comparison, const struct lumos_compared_row *row, int side,
                     struct lumos_text *out) {
  const struct lumos_compared_work *work = &row->work[side];
  lumos_text_put(out, side == 0 ? "\"a\":" : ",\"b\":");
  if (work->count == 0 && work->time == 0 && work->step == 0) {
    lumos_text_put(out, "null");
    return;
  }
  lumos_text_put(out, "{\"op\":");
  put_string(comparison, work->op, out);
  lumos_text_put(out, ",\"name\":");
  put_string(comparison, work->name, out);
  lumos_text_put(out, ",\"shapes\":");
  put_string(comparison, work->shapes, out);
  lumos_text_put(out, ",\"first_layer\":");
  put_layer(work->first_layer, out);
  lumos_text_put(out, ",\"last_layer\":");
  put_layer(work->last_layer, out);
  lumos_text_format(out, ",\"layers\":%d", (int)work->layers);
  put_places(work->parts, out);
  lumos_text_put(out, ",\"count\":");
  lumos_text_decimal(out, work->count, COUNT_DECIMALS);
  lumos_text_format(out, ",\"time\":%" PRId64 ",\"step\":%" PRId64 "}", work->time, work->step);
}

static void put_rows(const struct lumos_comparison *comparison, const char *name,
                     const struct lumos_compared_rows *rows, struct lumos_text *out) {
  lumos_text_format(out, "\"%s\":[", name);
  for (size_t i = 0; i < rows->count; i++) {
    const struct lumos_compared_row *row = &rows->items[i];
    lumos_text_format(out, "%s\n{\"match\":\"%s\",\"kind\":\"%s\",\"phase\":", i == 0 ? "" : ",",
                      lumos_match_name(row->match), lumos_task_kind_name((enum lumos_task_kind)row->kind));
    if (row->phase == 0) {
      lumos_text_put(out, "null");
    } else {
      lumos_text_format(out, "\"%s\"", lumos_phase_name((enum lumos_phase)row->phase));
    }
    lumos_text_put(out, ",\"noise\":");
    put_number(row->noise, out);
    lumos_text_format(out, ",\"time_differs\":%s,\"count_differs\":%s,", truth(row->time_differs),
                      truth(row->count_differs));
    put_work(comparison, row, 0, out);
    put_work(comparison, row, 1, out);
    lumos_text_char(out, '}');
  }
  lumos_text_put(out, "]");
}

static void put_carrier(const struct lumos_comparison *comparison, struct lumos_text *out) {
  const struct lumos_compared_rank *carrier = &comparison->carrier;
  if (carrier->rank == LUMOS_ABSENT_INT) {
    lumos_text_put(out, "\"carrier\":null,\n");
    return;
  }
  lumos_text_format(out, "\"carrier\":{\"rank\":%d,\"own\":%" PRId64 ",\"others_wait\":%s,\"kind\":\"%s\",",
                    (int)carrier->rank, carrier->own, truth(carrier->others_wait),
                    carrier->kind == 0 ? "idle" : lumos_task_kind_name((enum lumos_task_kind)carrier->kind));
  lumos_text_format(out, "\"kind_change\":%" PRId64 "},\n", carrier->kind_change);
}

void compare_begin_json(const struct lumos_comparison *comparison, struct lumos_text *out) {
  struct lumos_text verdict = LUMOS_TEXT_BUFFER;
  lumos_comparison_verdict(comparison, &verdict);
  lumos_text_format(out, "{\"format\":%d,\n\"verdict\":", JSON_FORMAT);
  lumos_text_script_string(out, verdict.bytes, verdict.length);
  lumos_text_free(&verdict);
  lumos_text_format(out, ",\n\"simulated\":%s,\n", truth(comparison->simulated));
  put_job(comparison, 0, out);
  put_job(comparison, 1, out);
  lumos_text_put(out, "\"noise\":");
  put_number(comparison->noise, out);
  lumos_text_format(out, ",\n\"step_differs\":%s,\n\"outcome\":\"%s\",\n", truth(comparison->step_differs),
                    lumos_compare_outcome_name(comparison->outcome));
  put_parts(comparison, "classes", &comparison->classes, out);
  put_parts(comparison, "kinds", &comparison->kinds, out);
  put_parts(comparison, "layers", &comparison->layers, out);
  put_parts(comparison, "ranks", &comparison->ranks, out);
  put_carrier(comparison, out);
  put_rows(comparison, "rows", &comparison->rows, out);
  lumos_text_put(out, ",\n");
  put_rows(comparison, "calls", &comparison->calls, out);
}

void compare_put_json(const struct lumos_comparison *comparison, struct lumos_text *out) {
  compare_begin_json(comparison, out);
  lumos_text_put(out, "}\n");
}
