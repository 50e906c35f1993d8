/* Small parts of sentences. */
#include "report/diagnosis/story.h"

#include "report/diagnosis/figures.h"
#include "report/text/numbers.h"

enum { TEN = 10 };

const char diagnosis_unmatched[] = "communication that could not be matched between ranks takes ";

bool diagnosis_is_slowed(const struct report_result *result) {
  int64_t cost = diagnosis_recording_cost(&result->facts);
  return report_share(cost, result->diagnosis.step_time) >= DIAGNOSIS_LARGE_SHARE;
}

bool diagnosis_moves_layers(const struct lumos_finding *finding) {
  return finding->layers != LUMOS_ABSENT_INT && finding->layers > finding->split[finding->stage];
}

void diagnosis_put_ratio(int64_t ratio, struct lumos_text *out) {
  report_put_fixed(out, ratio, 6, ratio < TEN * INT64_C(1000000) ? 1 : 0);
  lumos_text_put(out, " times");
}

int64_t diagnosis_time_late(const struct lumos_finding *finding) {
  return finding->rank_count > 0 && finding->rank_times[0] > finding->time ? finding->rank_times[0] : finding->time;
}

bool diagnosis_has_all_ranks(const struct lumos_job *job) {
  int32_t world = job->ranks.count > 0 ? job->ranks.items[0].world : LUMOS_ABSENT_INT;
  return world != LUMOS_ABSENT_INT && lumos_job_weight(job) >= world;
}
