/* Names of schedules, and orders as text. */
#include "report/content/schedule.h"

const char *report_schedule_name(enum lumos_recovered_schedule schedule) {
  static const char *const names[] = {[LUMOS_SCHEDULE_NONE] = NULL,
                                      [LUMOS_SCHEDULE_UNNAMED] = NULL,
                                      [LUMOS_SCHEDULE_GPIPE] = "GPipe",
                                      [LUMOS_SCHEDULE_1F1B] = "1F1B",
                                      [LUMOS_SCHEDULE_INTERLEAVED] = "Interleaved 1F1B",
                                      [LUMOS_SCHEDULE_ZERO_BUBBLE] = "Zero bubble (ZB-H1)"};
  return names[schedule];
}

void report_put_chunk(const struct lumos_pipeline_stage *stage, int32_t chunk, struct lumos_text *out) {
  if (stage->chunks > 1 && stage->chunks <= 26 && chunk >= 0 && chunk < 26) {
    lumos_text_char(out, (char)('a' + chunk));
  }
}

void report_put_order(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage, size_t limit,
                      struct lumos_text *out) {
  static const char letters[LUMOS_PASS_PHASES] = {[LUMOS_FORWARD] = 'F', [LUMOS_BACKWARD] = 'B', [LUMOS_WEIGHT] = 'W'};
  struct lumos_pass_turns turns = {0};
  lumos_turns_read(passes, stage, &turns);
  size_t before = out->length;
  for (size_t i = 0; i < turns.count; i++) {
    if (out->length - before > limit) {
      lumos_text_put(out, " \xE2\x80\xA6");
      break;
    }
    const struct lumos_pass_turn *turn = &turns.items[i];
    lumos_text_put(out, i > 0 ? " " : "");
    lumos_text_char(out, letters[turn->phase]);
    if (turn->micro_batch != LUMOS_ABSENT_INT) {
      lumos_text_integer(out, turn->micro_batch);
    }
    report_put_chunk(stage, turn->chunk, out);
  }
  lumos_vector_free(&turns);
}
