/* Titles of pictures, from figures: what dominates is what is largest. */
#include "report/content/losses.h"

#include "report/content/breakdown.h"
#include "report/text/numbers.h"
#include <stdlib.h>

/* What is lost of a step, and how a sentence about it begins. */
struct loss {
  enum report_figure figure;
  const char *label;
};

static const struct loss losses[] = {
    {FIGURE_IDLE, "Idle time takes"},
    {FIGURE_EXPOSED_COMMUNICATION, "Exposed communication takes"},
    {FIGURE_EXPOSED_COPY, "Exposed copies take"},
    {FIGURE_NOT_RECORDED, "What lies outside the recording takes"},
};

/* Which has another cure than communication that takes long. */
static const struct loss waits[] = {
    {FIGURE_COMMUNICATION_WAIT, "Waiting for other ranks takes"},
    {FIGURE_PIPELINE_BUBBLE, "The pipeline bubble takes"},
};

/* Where most of the exposed communication is waiting of one sort, that. */
static const struct loss *largest_loss(const struct report_facts *facts, enum report_timeline timeline) {
  const int64_t *of = report_facts_whole(facts, timeline)->figures[timeline].of;
  const struct loss *largest = &losses[0];
  for (size_t i = 1; i < sizeof losses / sizeof losses[0]; i++) {
    largest = of[losses[i].figure] > of[largest->figure] ? &losses[i] : largest;
  }
  int64_t communication = of[FIGURE_EXPOSED_COMMUNICATION];
  for (size_t i = 0; i < sizeof waits / sizeof waits[0] && largest->figure == FIGURE_EXPOSED_COMMUNICATION; i++) {
    largest = of[waits[i].figure] > communication / 2 ? &waits[i] : largest;
  }
  return largest;
}

enum report_figure report_largest_loss(const struct report_facts *facts) {
  return largest_loss(facts, report_facts_spoken(facts))->figure;
}

static int64_t relative_change(int64_t after, int64_t before) {
  bool known = after != LUMOS_ABSENT && before != LUMOS_ABSENT;
  return known ? report_share(report_sum(after, -before), before) : LUMOS_ABSENT;
}

/* As the rank's bar has it. */
static int64_t share_of_row(const struct report_facts *facts, const struct report_row *row,
                            enum report_timeline timeline, enum report_figure figure) {
  int64_t share = report_row_share(facts, row, timeline, figure);
  int64_t rest = figure == FIGURE_NOT_RECORDED ? report_rest_of_step(facts, row, timeline) : 0;
  return rest > 0 ? report_sum(share, report_share(rest, report_facts_step_time(facts, timeline))) : share;
}

void report_put_breakdown_finding(const struct report_facts *facts, struct lumos_text *out) {
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct loss *loss = largest_loss(facts, timeline);
  const struct report_row *least = NULL;
  const struct report_row *most = NULL;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    const struct report_row *row = &facts->ranks.items[i];
    int64_t share = share_of_row(facts, row, timeline, loss->figure);
    if (share != LUMOS_ABSENT) {
      least = least == NULL || share < share_of_row(facts, least, timeline, loss->figure) ? row : least;
      most = most == NULL || share > share_of_row(facts, most, timeline, loss->figure) ? row : most;
    }
  }
  lumos_text_format(out, "%s ", loss->label);
  report_put_share(out, report_row_share(facts, report_facts_whole(facts, timeline), timeline, loss->figure));
  lumos_text_put(out, " of the step");
  if (least != most) {
    const struct lumos_rank *ranks = facts->job->ranks.items;
    lumos_text_put(out, ": from ");
    report_put_share(out, share_of_row(facts, least, timeline, loss->figure));
    lumos_text_format(out, " on rank %d to ", ranks[least->rank].rank);
    report_put_share(out, share_of_row(facts, most, timeline, loss->figure));
    lumos_text_format(out, " on rank %d", ranks[most->rank].rank);
  }
}

/* "GPUs compute for 69.7 % of the step" */
static void put_computing(const struct report_facts *facts, struct lumos_text *out) {
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct report_row *whole = report_facts_whole(facts, timeline);
  int64_t time = report_sum(report_row_mean(whole, timeline, FIGURE_EXPOSED_COMPUTE),
                            report_row_mean(whole, timeline, FIGURE_OVERLAPPED));
  int64_t share = report_share(time, report_row_mean(whole, timeline, FIGURE_STEP_TIME));
  if (share == LUMOS_ABSENT || !facts->has_streams) {
    lumos_text_put(out, "What ran when");
    return;
  }
  lumos_text_put(out, lumos_job_weight(facts->job) > 1 ? "GPUs compute for " : "The GPU computes for ");
  report_put_share(out, share);
  lumos_text_put(out, " of the step");
}

void report_put_timeline_finding(const struct report_facts *facts, struct lumos_text *out) {
  int64_t measured = report_facts_step_time(facts, MEASURED);
  int64_t simulated = report_facts_step_time(facts, SIMULATED);
  int64_t change = relative_change(simulated, measured);
  if (change == LUMOS_ABSENT || change == 0) {
    put_computing(facts, out);
    return;
  }
  lumos_text_put(out, "A simulated step takes ");
  report_put_time(out, simulated);
  lumos_text_put(out, ", ");
  report_put_fine_share(out, llabs(change));
  lumos_text_put(out, simulated > measured ? " more than " : " less than ");
  lumos_text_put(out, facts->edited ? "measured before the change" : "measured");
}
