/* Sentences made from figures. What dominates is what is largest; no threshold decides what is good. */
#include "report/content/verdict.h"

#include "report/text/numbers.h"
#include <stdlib.h>

/* In millionths: what no rule explains and is larger than this is told with a prediction. */
enum { LARGE_SHARE = 50000, WHOLE_STEP = 1000000 };

/* What is lost of a step, and how the verdict says so. */
struct loss {
  enum report_figure figure;
  const char *label;     /* of its tile */
  const char *as_state;  /* "the GPUs are idle for 63 % of it" */
  const char *as_object; /* "the largest loss is ..., 18 %" */
};

static const struct loss losses[] = {
    {FIGURE_IDLE, "Idle", "idle", "idle time"},
    {FIGURE_EXPOSED_COMMUNICATION, "Exposed communication", "only communicating",
     "communication that no computation hides"},
    {FIGURE_EXPOSED_COPY, "Exposed copies", "only copying", "copies that nothing hides"},
};

/* Which has another cure than communication that takes long. */
static const struct loss waits[] = {
    {FIGURE_COMMUNICATION_WAIT, "Waiting for other ranks", "waiting for other ranks", "waiting for other ranks"},
    {FIGURE_PIPELINE_BUBBLE, "Pipeline bubble", "waiting for other pipeline stages", "the pipeline bubble"},
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

static int64_t compute_share(const struct report_facts *facts, enum report_timeline timeline) {
  const int64_t *of = report_facts_whole(facts, timeline)->figures[timeline].of;
  return report_share(report_sum(of[FIGURE_EXPOSED_COMPUTE], of[FIGURE_OVERLAPPED]), of[FIGURE_STEP_TIME]);
}

static int64_t relative_change(int64_t after, int64_t before) {
  bool known = after != LUMOS_ABSENT && before != LUMOS_ABSENT;
  return known ? report_share(report_sum(after, -before), before) : LUMOS_ABSENT;
}

/* "A step takes 41.83 ms", or for an edited job "After the change a step takes 38.2 ms instead of 41.83 ms (−8.6
 * %)". */
static void put_step_time(const struct report_facts *facts, enum report_timeline timeline, struct lumos_text *out) {
  int64_t time = report_facts_step_time(facts, timeline);
  int64_t before = report_facts_step_time(facts, MEASURED);
  int64_t change = facts->edited ? relative_change(time, before) : LUMOS_ABSENT;
  bool several = facts->job_all.steps > 1 || facts->steps.count > facts->ranks.count;
  if (facts->edited) {
    lumos_text_put(out, several ? "After the change a step " : "After the change the step ");
    lumos_text_put(out, change == 0 ? "still takes " : "takes ");
  } else {
    lumos_text_put(out, several ? "A step takes " : "The step takes ");
  }
  report_put_time_beside(out, time, facts->edited ? before : time);
  if (change != LUMOS_ABSENT && change != 0) {
    lumos_text_put(out, " instead of ");
    report_put_time_beside(out, before, time);
    lumos_text_put(out, change > 0 ? " (+" : " (");
    report_put_share(out, change);
    lumos_text_char(out, ')');
  }
}

/* What stands on no rule, where it is large: how it follows a change is a guess, either way. The sentence is read
 * without the page. Shares are of the step, added up over streams and threads, so they may exceed it. */
static void put_doubt(const struct report_facts *facts, struct lumos_text *out) {
  static const struct {
    enum report_figure figure;
    const char *name;
  } doubts[] = {
      {FIGURE_UNEXPLAINED_LAG, "GPU starts that no rule explains add up to "},
      {FIGURE_BOUNDARY, "Waiting for work outside the recording adds up to "},
      {FIGURE_KEPT_WAIT, "Communication not joined with other ranks adds up to "},
      {FIGURE_HOST_UNKNOWN, "Host time that nothing explains adds up to "},
  };
  size_t largest = 0;
  for (size_t i = 1; i < sizeof doubts / sizeof doubts[0]; i++) {
    if (report_trust(facts, doubts[i].figure) > report_trust(facts, doubts[largest].figure)) {
      largest = i;
    }
  }
  int64_t share = report_trust(facts, doubts[largest].figure);
  if (share >= LARGE_SHARE) {
    lumos_text_format(out, " %s", doubts[largest].name);
    if (share > WHOLE_STEP) {
      lumos_text_put(out, "more than the step");
    } else {
      report_put_share(out, share);
      lumos_text_put(out, " of the step");
    }
    lumos_text_put(out, ", so the true effect may be smaller or larger.");
  }
}

/* "; with half of the time in GEMM kernels a step would take 36.9 ms, 12.3 % less": less than simulated, which is said
 * where that differs. */
static void put_best(const struct report_facts *facts, const struct report_opportunities *opportunities,
                     struct lumos_text *out) {
  enum { ALIKE = 1000 };
  const struct report_opportunity *best = report_best_opportunity(opportunities);
  if (best == NULL) {
    return;
  }
  int64_t spoken = report_facts_step_time(facts, report_facts_spoken(facts));
  int64_t apart = relative_change(opportunities->step, spoken);
  lumos_text_put(out, "; with ");
  report_put_half_of(opportunities, best, out);
  lumos_text_put(out, facts->job_all.steps > 1 ? " a step would take " : " it would take ");
  report_put_time_beside(out, best->half, spoken);
  lumos_text_put(out, ", ");
  report_put_share(out, report_opportunity_gain_share(opportunities, best->half));
  lumos_text_put(out, apart != LUMOS_ABSENT && llabs(apart) < ALIKE ? " less" : " less than simulated now");
}

/* Of what is not recorded nothing is said, so that the reader must know where it is much. */
static void put_not_recorded(const struct report_facts *facts, enum report_timeline timeline, struct lumos_text *out) {
  int64_t share = report_row_share(report_facts_whole(facts, timeline), timeline, FIGURE_NOT_RECORDED);
  if (share >= LARGE_SHARE) {
    lumos_text_char(out, ' ');
    report_put_share(out, share);
    lumos_text_put(out, " of the step is not recorded: the GPU shows nothing, and waits for what lies outside the "
                        "recording.");
  }
}

void report_put_verdict(const struct report_facts *facts, const struct report_opportunities *opportunities,
                        struct lumos_text *out) {
  enum report_timeline timeline = report_facts_spoken(facts);
  int64_t time = report_facts_step_time(facts, timeline);
  if (time == LUMOS_ABSENT) {
    lumos_text_put(out, "The recording holds no complete step.");
    return;
  }
  if (time == 0) {
    lumos_text_put(out, "The recording holds no work whose step is known, so no step can be timed.");
    return;
  }
  put_step_time(facts, timeline, out);
  if (!facts->has_streams) {
    lumos_text_put(out, " on the host; no GPU work was recorded.");
    return;
  }
  const char *gpus = lumos_job_weight(facts->job) > 1 ? "the GPUs are" : "the GPU is";
  const struct loss *loss = largest_loss(facts, timeline);
  int64_t computing = compute_share(facts, timeline);
  int64_t lost = report_row_share(report_facts_whole(facts, timeline), timeline, loss->figure);
  if (computing >= lost) {
    lumos_text_format(out, ": %s computing for ", gpus);
    report_put_share(out, computing);
    if (lost > 0) {
      lumos_text_format(out, " of it, and the largest loss is %s, ", loss->as_object);
      report_put_share(out, lost);
    } else {
      lumos_text_put(out, " of it");
    }
  } else {
    lumos_text_format(out, ": %s %s for ", gpus, loss->as_state);
    report_put_share(out, lost);
    lumos_text_put(out, " of it, and computing for ");
    report_put_share(out, computing);
  }
  put_best(facts, opportunities, out);
  lumos_text_char(out, '.');
  put_not_recorded(facts, timeline, out);
  if (facts->edited) {
    put_doubt(facts, out);
  }
}

static void set_tile(struct report_scope *scope, const char *section, const char *label, const char *term,
                     struct lumos_text *figure, struct lumos_text *evidence) {
  struct report_scope *item = report_section_item(scope, section);
  report_set_text(item, "label", label);
  report_set_text(item, "term", term);
  report_set_take(item, "figure", figure);
  report_set_take(item, "evidence", evidence);
}

/* "8 steps, 38.1 ms to 48.2 ms; the first step, 51.0 ms, which begins as it was recorded, is left out" */
static void put_step_range(const struct report_facts *facts, enum report_timeline timeline, struct lumos_text *out) {
  const struct report_rows *rows = facts->job_steps.count > 0 ? &facts->job_steps : &facts->steps;
  int64_t least = LUMOS_ABSENT, most = LUMOS_ABSENT, left_out = LUMOS_ABSENT, steps = 0;
  for (size_t i = 0; i < rows->count; i++) {
    int64_t time = rows->items[i].figures[timeline].of[FIGURE_STEP_TIME];
    if (rows->items[i].left_out) {
      left_out = time > left_out ? time : left_out;
      continue;
    }
    steps++;
    least = time != LUMOS_ABSENT && (least == LUMOS_ABSENT || time < least) ? time : least;
    most = time > most ? time : most;
  }
  if (rows->count < 2 || least == LUMOS_ABSENT) {
    return;
  }
  report_put_counted(out, steps, facts->job_steps.count > 0 ? "step" : "rank-step");
  lumos_text_put(out, ", ");
  report_put_time(out, least);
  if (steps > 1) {
    lumos_text_put(out, " to ");
    report_put_time(out, most);
  }
  if (left_out != LUMOS_ABSENT) {
    lumos_text_put(out, "; the first step, ");
    report_put_time(out, left_out);
    lumos_text_put(out, ", begins as it was recorded and is left out");
  }
}

static void fill_step_tile(const struct report_facts *facts, struct report_scope *scope) {
  enum report_timeline timeline = report_facts_spoken(facts);
  enum report_timeline other = timeline == MEASURED ? SIMULATED : MEASURED;
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  int64_t time = report_facts_step_time(facts, timeline);
  int64_t beside = report_facts_step_time(facts, other);
  if (facts->edited) {
    report_put_time_beside(&figure, time, beside);
  } else {
    report_put_time(&figure, time);
  }
  if (beside != LUMOS_ABSENT) {
    lumos_text_put(&evidence, timeline == MEASURED ? "simulated " : "measured before the change ");
    report_put_time_beside(&evidence, beside, facts->edited ? time : beside);
  }
  size_t before = evidence.length;
  lumos_text_put(&evidence, before > 0 ? "; " : "");
  size_t separated = evidence.length;
  put_step_range(facts, timeline, &evidence);
  evidence.length = evidence.length == separated ? before : evidence.length;
  set_tile(scope, "tiles", timeline == MEASURED ? "Step time, measured" : "Step time, simulated", "step_time", &figure,
           &evidence);
}

static void fill_loss_tile(const struct report_facts *facts, struct report_scope *scope) {
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct loss *loss = largest_loss(facts, timeline);
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  report_put_share(&figure, report_row_share(report_facts_whole(facts, timeline), timeline, loss->figure));
  report_put_time(&evidence, report_row_mean(report_facts_whole(facts, timeline), timeline, loss->figure));
  lumos_text_put(&evidence, " of a step; GPU busy for ");
  report_put_share(&evidence, report_row_share(report_facts_whole(facts, timeline), timeline, FIGURE_GPU_BUSY));
  set_tile(scope, "tiles", loss->label, report_figure_name(loss->figure), &figure, &evidence);
}

/* The first place that has the figure: the job's simulated steps, then the ranks', then measured ones. */
static const struct report_figures *carrier(const struct report_facts *facts, enum report_figure figure) {
  const struct report_row *rows[] = {&facts->all, &facts->job_all};
  for (int timeline = TIMELINES - 1; timeline >= 0; timeline--) {
    for (int i = 0; i < 2; i++) {
      if (rows[i]->figures[timeline].of[figure] != LUMOS_ABSENT) {
        return &rows[i]->figures[timeline];
      }
    }
  }
  return NULL;
}

int64_t report_trust(const struct report_facts *facts, enum report_figure figure) {
  const struct report_figures *figures = carrier(facts, figure);
  if (figures == NULL) {
    return LUMOS_ABSENT;
  }
  return report_figure_is_share(figure) ? figures->of[figure]
                                        : report_share(figures->of[figure], figures->of[FIGURE_STEP_TIME]);
}

/* Not where nobody looked for one. */
static void fill_opportunity_tile(const struct report_opportunities *opportunities, struct report_scope *scope) {
  const struct report_opportunity *best = report_best_opportunity(opportunities);
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  if (best == NULL && !opportunities->none) {
    return;
  }
  if (best == NULL) {
    report_put_share(&figure, 0);
    lumos_text_put(&evidence, "no kind of work alone would shorten the step by 0.5 %");
  } else {
    lumos_text_put(&figure, "\xE2\x88\x92");
    report_put_share(&figure, report_opportunity_gain_share(opportunities, best->half));
    lumos_text_put(&evidence, "with ");
    report_put_half_of(opportunities, best, &evidence);
    lumos_text_put(&evidence, ": ");
    report_put_time_beside(&evidence, best->half, opportunities->step);
    lumos_text_put(&evidence, " of the simulated ");
    report_put_time_beside(&evidence, opportunities->step, best->half);
  }
  set_tile(scope, "tiles", "Would help most, predicted", "opportunity_half", &figure, &evidence);
}

static void fill_error(const struct report_facts *facts, struct report_scope *scope) {
  int64_t worst = report_trust(facts, FIGURE_REPLAY_ERROR);
  int64_t mean = facts->mean_error != LUMOS_ABSENT ? facts->mean_error : worst;
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  report_put_fine_share(&figure, mean);
  if (mean == LUMOS_ABSENT) {
    lumos_text_put(&evidence,
                   facts->edited ? "known for the unchanged job only" : "there is no measured step to compare with");
  } else {
    lumos_text_put(&evidence, "of the measured step");
    if (facts->steps.count > 1) {
      lumos_text_put(&evidence, ", mean size; worst ");
      report_put_fine_share(&evidence, worst);
    }
  }
  set_tile(scope, "trust", "self-replay error", "replay_error", &figure, &evidence);
}

struct report_coverage report_coverage_of(const struct lumos_job *job) {
  struct report_coverage sum = {LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT};
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_coverage *coverage = &job->ranks.items[i].coverage;
    int64_t weight = lumos_rank_weight(&job->ranks.items[i]);
    sum.device_tasks = report_sum(sum.device_tasks, report_product(coverage->device_tasks, weight));
    sum.launched = report_sum(sum.launched, report_product(coverage->launched, weight));
    sum.collectives = report_sum(sum.collectives, report_product(coverage->collectives, weight));
    sum.joined = report_sum(sum.joined, report_product(coverage->joined, weight));
  }
  return sum;
}

struct trust_row {
  enum report_figure figure;
  const char *label, *evidence;
};

static void fill_trust(const struct report_facts *facts, struct report_scope *scope) {
  static const struct trust_row rows[] = {
      {FIGURE_UNEXPLAINED_LAG, "unexplained lag", "GPU starts that no rule explains"},
      {FIGURE_BOUNDARY, "boundary", "fixed by what is not recorded"},
      {FIGURE_RESOURCE_WAIT, "waiting for SMs", "behind a kernel that fills the GPU"},
      {FIGURE_KEPT_WAIT, "kept waiting", "in communication on its own"},
      {FIGURE_HOST_GAP, "host gap", "thread time without an event"},
      {FIGURE_PROFILER_TIME, "profiler", "on threads, at most"},
      {FIGURE_HOST_UNKNOWN, "host unknown", "long gaps and calls, kept"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct lumos_text figure = LUMOS_TEXT_BUFFER;
    struct lumos_text evidence = LUMOS_TEXT_BUFFER;
    bool optional = rows[i].figure == FIGURE_RESOURCE_WAIT || rows[i].figure == FIGURE_PROFILER_TIME;
    if (optional && report_trust(facts, rows[i].figure) == LUMOS_ABSENT) {
      continue; /* streams of older versions have none, and not every recording shows what it takes */
    }
    report_put_share(&figure, report_trust(facts, rows[i].figure));
    lumos_text_put(&evidence, rows[i].evidence);
    set_tile(scope, "trust", rows[i].label, report_figure_name(rows[i].figure), &figure, &evidence);
  }
}

static void fill_host_error(const struct report_facts *facts, struct report_scope *scope) {
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  report_put_fine_share(&figure, report_trust(facts, FIGURE_HOST_REPLAY_ERROR));
  lumos_text_put(&evidence, "of the host's side, worst step");
  set_tile(scope, "trust", "host replay error", "host_replay_error", &figure, &evidence);
}

/* Where there are like steps: how well the graph of one tells the time of the other, and what would be off without
 * it. */
static void fill_transplant(const struct report_facts *facts, struct report_scope *scope) {
  if (facts->transplant_error == LUMOS_ABSENT) {
    return;
  }
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  report_put_fine_share(&figure, facts->transplant_error);
  lumos_text_put(&evidence, "mean size, worst ");
  report_put_fine_share(&evidence, report_trust(facts, FIGURE_TRANSPLANT_ERROR));
  set_tile(scope, "trust", "transplant error", "transplant_error", &figure, &evidence);
  report_put_fine_share(&figure, facts->step_spread);
  lumos_text_put(&evidence, "between like steps, mean size");
  set_tile(scope, "trust", "step spread", "step_spread", &figure, &evidence);
  report_put_share(&figure, report_trust(facts, FIGURE_TRANSPLANT_MATCHED));
  lumos_text_put(&evidence, "of GPU tasks, worst step");
  set_tile(scope, "trust", "steps matched", "transplant_matched", &figure, &evidence);
}

/* "2,912 of 2,917" as a share, with the counts as evidence. */
static void fill_coverage(struct report_scope *scope, const char *label, const char *term, int64_t part, int64_t whole,
                          const char *noun) {
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  report_put_share(&figure, report_share(part, whole));
  report_put_part(&evidence, part, whole, noun);
  set_tile(scope, "trust", label, term, &figure, &evidence);
}

/* Known where the recorder timed steps without the profiler; else nothing is said. */
static void fill_profiling_cost(const struct report_facts *facts, struct report_scope *scope) {
  if (facts->profiling_cost == LUMOS_ABSENT || facts->unprofiled_step == LUMOS_ABSENT) {
    return;
  }
  struct lumos_text figure = LUMOS_TEXT_BUFFER;
  struct lumos_text evidence = LUMOS_TEXT_BUFFER;
  report_put_share(&figure, facts->profiling_cost);
  report_put_time(&evidence, facts->unprofiled_step);
  lumos_text_put(&evidence, " a step without the profiler");
  set_tile(scope, "trust", "profiling cost", "profiling_cost", &figure, &evidence);
}

static void put_trust(const struct report_facts *facts, struct lumos_text *out) {
  int64_t error = facts->mean_error != LUMOS_ABSENT ? facts->mean_error : report_trust(facts, FIGURE_REPLAY_ERROR);
  if (error == LUMOS_ABSENT) {
    lumos_text_put(out, facts->edited ? "A changed job has no measured step to be replayed against: simulate it "
                                        "unchanged to see the error. What is "
                                        "carried over stands on no rule, so how it would move with the change is not "
                                        "known: the larger it is, the "
                                        "less sure the result."
                                      : "There is no measured step to replay against.");
  } else if (error == 0) {
    lumos_text_put(out, "Replayed without what no rule explains, a step takes exactly as long as measured.");
  } else {
    lumos_text_put(out, "Replayed without what no rule explains, a step is off by ");
    report_put_fine_share(out, llabs(error));
    lumos_text_put(out, facts->steps.count > 1 ? " on average." : ".");
  }
  if (error == LUMOS_ABSENT) {
    return;
  }
  if (facts->transplant_error == LUMOS_ABSENT) {
    lumos_text_put(out, " No two steps are alike enough to try the graph of one with the times of the other.");
  } else {
    lumos_text_put(out, " The graph of one step with the times of another is off from that one by ");
    report_put_fine_share(out, facts->transplant_error);
    lumos_text_put(out, " on average; the steps themselves are ");
    report_put_fine_share(out, facts->step_spread);
    lumos_text_put(out, " apart.");
  }
}

void report_fill_verdict(const struct report_facts *facts, const struct report_opportunities *opportunities,
                         struct report_scope *scope) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_verdict(facts, opportunities, &text);
  report_set_take(scope, "verdict", &text);
  fill_step_tile(facts, scope);
  if (facts->has_streams) {
    fill_loss_tile(facts, scope);
  }
  fill_opportunity_tile(opportunities, scope);
  put_trust(facts, &text);
  report_set_take(scope, "trust_sentence", &text);
  fill_error(facts, scope);
  fill_trust(facts, scope);
  fill_host_error(facts, scope);
  fill_transplant(facts, scope);
  struct report_coverage coverage = report_coverage_of(facts->job);
  if (coverage.device_tasks > 0) {
    fill_coverage(scope, "launches found", "coverage", coverage.launched, coverage.device_tasks, "GPU task");
  }
  if (coverage.collectives > 0) {
    fill_coverage(scope, "collectives joined", "joined", coverage.joined, coverage.collectives, "collective");
  }
  fill_profiling_cost(facts, scope);
}

void report_put_breakdown_finding(const struct report_facts *facts, struct lumos_text *out) {
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct loss *loss = largest_loss(facts, timeline);
  const struct report_row *least = NULL;
  const struct report_row *most = NULL;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    const struct report_row *row = &facts->ranks.items[i];
    int64_t share = report_row_share(row, timeline, loss->figure);
    if (share != LUMOS_ABSENT) {
      least = least == NULL || share < report_row_share(least, timeline, loss->figure) ? row : least;
      most = most == NULL || share > report_row_share(most, timeline, loss->figure) ? row : most;
    }
  }
  lumos_text_format(out, "%s: ", loss->label);
  report_put_share(out, report_row_share(report_facts_whole(facts, timeline), timeline, loss->figure));
  lumos_text_put(out, " of the step");
  if (least != most) {
    const struct lumos_rank *ranks = facts->job->ranks.items;
    lumos_text_put(out, ", from ");
    report_put_share(out, report_row_share(least, timeline, loss->figure));
    lumos_text_format(out, " on rank %d to ", ranks[least->rank].rank);
    report_put_share(out, report_row_share(most, timeline, loss->figure));
    lumos_text_format(out, " on rank %d", ranks[most->rank].rank);
  }
}

void report_put_timeline_finding(const struct report_facts *facts, struct lumos_text *out) {
  int64_t measured = report_facts_step_time(facts, MEASURED);
  int64_t simulated = report_facts_step_time(facts, SIMULATED);
  int64_t change = relative_change(simulated, measured);
  if (change == LUMOS_ABSENT) {
    lumos_text_put(out, "What ran when");
    return;
  }
  lumos_text_put(out, "A simulated step takes ");
  report_put_time(out, simulated);
  if (change == 0) {
    lumos_text_put(out, ", as long as the measured one");
    return;
  }
  lumos_text_put(out, ", ");
  report_put_fine_share(out, llabs(change));
  lumos_text_put(out, simulated > measured ? " more than " : " less than ");
  lumos_text_put(out, facts->edited ? "measured before the change" : "measured");
}
