/* See sentences.h. */
#include "compare/sentences.h"

#include "compare/verdict.h"
#include "report/text/numbers.h"
#include <stdlib.h>

enum { LONGEST = 80 }; /* bytes of a name */

void compare_put_job(const struct lumos_comparison *comparison, int side, struct lumos_text *out) {
  report_put_time(out, comparison->jobs[side].step);
  lumos_text_put(out, comparison->simulated ? " a step (simulated), " : " a step, ");
  compare_put_job_evidence(comparison, side, out);
}

void compare_put_job_evidence(const struct lumos_comparison *comparison, int side, struct lumos_text *out) {
  const struct lumos_compared_job *job = &comparison->jobs[side];
  if (job->steps > 1) {
    report_put_time_range(out, job->shortest, job->longest);
    lumos_text_put(out, " in ");
  }
  report_put_counted(out, job->steps, "step");
  if (job->steps < job->steps_recorded) {
    lumos_text_format(out, " of %u", job->steps_recorded);
  }
  lumos_text_put(out, ", ");
  report_put_counted(out, job->ranks, "rank");
  if (job->device != LUMOS_NO_STRING) {
    lumos_text_put(out, ", ");
    compare_put_name(out, comparison, job->device, LONGEST);
  }
  if (job->damage != LUMOS_NO_STRING) {
    lumos_text_put(out, "; steps may lack work: ");
    compare_put_name(out, comparison, job->damage, LONGEST);
  }
}

static int64_t matched_time(const struct lumos_comparison *comparison, int level) {
  return report_sum(comparison->jobs[0].matched[level], comparison->jobs[1].matched[level]);
}

/* ">99.9 %" where it would be rounded to all, and is not: what only one job does, however little, is listed. */
static void put_part(struct lumos_text *out, int64_t part, int64_t whole) {
  enum { HUNDRED = 999500 }; /* millionths: from here on a share is rounded to 100 % */
  int64_t share = report_share(part, whole);
  bool hides = part < whole && share >= HUNDRED;
  lumos_text_put(out, hides ? ">" : "");
  report_put_share(out, hides ? HUNDRED - 500 : share);
}

static int64_t whole_time(const struct lumos_comparison *comparison) {
  return report_sum(comparison->jobs[0].gpu_time, comparison->jobs[1].gpu_time);
}

static int64_t all_matched(const struct lumos_comparison *comparison) {
  int64_t matched = 0;
  for (int level = 0; level < LUMOS_MATCHES; level++) {
    matched = report_sum(matched, matched_time(comparison, level));
  }
  return matched;
}

int64_t compare_matched_share(const struct lumos_comparison *comparison) {
  return report_share(all_matched(comparison), whole_time(comparison));
}

void compare_put_matched_share(const struct lumos_comparison *comparison, struct lumos_text *out) {
  put_part(out, all_matched(comparison), whole_time(comparison));
}

void compare_put_matched_levels(const struct lumos_comparison *comparison, struct lumos_text *out) {
  static const char *const words[LUMOS_MATCHES] = {[LUMOS_MATCH_EXACT] = "by layer, op, shapes and kernel",
                                                   [LUMOS_MATCH_MODULE] = "the same in another module",
                                                   [LUMOS_MATCH_KERNEL] = "with another kernel",
                                                   [LUMOS_MATCH_SHAPES] = "with other shapes",
                                                   [LUMOS_MATCH_OP] = "with another op",
                                                   [LUMOS_MATCH_ELSEWHERE] = "in another layer",
                                                   [LUMOS_MATCH_NAME] = "by phase and kernel",
                                                   [LUMOS_MATCH_LAYER] = "by layer and kind of kernel",
                                                   [LUMOS_MATCH_PHASE] = "by phase and kind of kernel"};
  for (int level = 0, shown = 0; level < LUMOS_MATCHES; level++) {
    if (matched_time(comparison, level) > 0) {
      lumos_text_put(out, shown++ == 0 ? "" : ", ");
      put_part(out, matched_time(comparison, level), whole_time(comparison));
      lumos_text_format(out, " %s", words[level]);
    }
  }
}

void compare_put_matched(const struct lumos_comparison *comparison, struct lumos_text *out) {
  lumos_text_put(out, "Matched: ");
  compare_put_matched_share(comparison, out);
  lumos_text_put(out, " of the GPU time of both");
  lumos_text_put(out, compare_matched_share(comparison) > 0 ? ": " : "");
  compare_put_matched_levels(comparison, out);
}

void compare_put_noise(const struct lumos_comparison *comparison, struct lumos_text *out) {
  if (comparison->one_recording) {
    lumos_text_put(out, "Noise floor: none, for both are simulated from the same steps of one recording.");
  } else if (comparison->noise == LUMOS_ABSENT) {
    lumos_text_put(out, "Noise floor: unknown, for each job has one step here. Record several steps.");
  } else {
    lumos_text_put(out, "Noise floor: ");
    report_put_time(out, comparison->noise);
    lumos_text_put(out, " a step, from how steps vary within each recording; two recordings of one job may differ by "
                        "more.");
    int64_t longer = comparison->jobs[1].step - comparison->jobs[0].step;
    if (compare_hides_work(comparison)) {
      lumos_text_put(out, " It does not cover what is missing from a trace.");
    } else if (comparison->outcome == LUMOS_COMPARE_INCONCLUSIVE) {
      lumos_text_put(out, " It is this large because the steps are few: compare more steps.");
    } else if (comparison->step_differs && llabs(longer) <= comparison->noise) {
      lumos_text_put(out, " The step differs by less, but the work below changed beyond noise.");
    }
  }
}
