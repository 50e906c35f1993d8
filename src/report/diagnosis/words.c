/* Sentences. A share is of the step unless it says of what, and equals the time beside it over the step. */
#include "report/diagnosis/words.h"

#include "base/ascii.h"
#include "report/content/advice.h"
#include "report/diagnosis/figures.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum {
  MOST_RANKS_NAMED = 4,
  LARGE_SHARE = 50000, /* millionths: an overhead that is told beside the first one */
  WAITS_FOR = 2,       /* a rank waits for the late one if it waits for at least one in so many ns of its delay */
  TEN = 10,
  HUNDRED_THOUSAND = 100000,
};

/* ---- Small parts ---- */

/* "990 ms (90.5 %)"; of a job that the profiler slows "22.4 ms (81.5 % of the unprofiled step)". */
static void put_cost(const struct diagnosis_story *story, int64_t time, struct lumos_text *out) {
  bool slowed = diagnosis_is_slowed(story);
  report_put_time(out, time);
  lumos_text_put(out, " (");
  report_put_share(out, report_share(time, slowed ? story->facts->unprofiled_step : story->diagnosis->step_time));
  lumos_text_put(out, slowed ? " of the unprofiled step)" : ")");
}

/* "1.4 times" of millionths */
static void put_ratio(int64_t ratio, struct lumos_text *out) {
  report_put_fixed(out, ratio, 6, ratio < TEN * INT64_C(1000000) ? 1 : 0);
  lumos_text_put(out, " times");
}

static bool is_large_ratio(int64_t ratio) { return ratio != LUMOS_ABSENT && ratio >= 1000000 + HUNDRED_THOUSAND; }

/* How many ranks a finding names, those that one stands for included. */
static int64_t count_ranks(const struct diagnosis_story *story, const struct lumos_finding *finding) {
  int64_t count = 0;
  for (uint32_t i = 0; i < finding->rank_count; i++) {
    count += lumos_rank_weight(&story->job->ranks.items[finding->ranks[i]]);
  }
  return count;
}

/* "rank 2", "ranks 2, 5 and 7", "8 ranks (2, 5, 7, 9 ...)"; "16 ranks like rank 2" where it stands for them */
static void put_ranks(const struct diagnosis_story *story, const struct lumos_finding *finding,
                      struct lumos_text *out) {
  const struct lumos_rank *ranks = story->job->ranks.items;
  uint32_t shown = finding->rank_count < MOST_RANKS_NAMED ? finding->rank_count : MOST_RANKS_NAMED;
  int64_t count = count_ranks(story, finding);
  if (count > finding->rank_count) {
    report_put_counted(out, count, "rank");
    lumos_text_put(out, " like ");
  }
  if (shown < finding->rank_count) {
    lumos_text_format(out, "%s%u ranks (", finding->rank_count == LUMOS_FINDING_RANKS ? "at least " : "",
                      finding->rank_count);
  } else {
    lumos_text_put(out, shown == 1 ? "rank " : "ranks ");
  }
  for (uint32_t i = 0; i < shown; i++) {
    bool last = i + 1 == shown && shown == finding->rank_count;
    lumos_text_put(out, i == 0 ? "" : last ? " and " : ", ");
    lumos_text_format(out, "%d", ranks[finding->ranks[i]].rank);
  }
  lumos_text_put(out, shown < finding->rank_count ? " \xE2\x80\xA6)" : "");
}

/* A name as recorded, in typographic quotes, cut where it is long. */
static void put_name(const struct diagnosis_story *story, lumos_string_id name, struct lumos_text *out) {
  enum { LONGEST = 60 };
  lumos_text_put(out, "\xE2\x80\x9C");
  report_put_cut(out, lumos_string(story->job->strings, name), lumos_string_length(story->job->strings, name), LONGEST);
  lumos_text_put(out, "\xE2\x80\x9D");
}

/* "the other 7 ranks wait": as many as wait for most of it. */
static void put_waiting_ranks(const struct diagnosis_story *story, const struct lumos_finding *finding,
                              struct lumos_text *out) {
  const struct report_facts *facts = story->facts;
  enum report_timeline timeline = report_facts_spoken(facts);
  int64_t waiting = 0;
  for (size_t i = 0; i < facts->ranks.count; i++) {
    const struct report_row *row = &facts->ranks.items[i];
    int64_t waits = report_sum(report_sum(report_row_mean(row, timeline, FIGURE_COMMUNICATION_WAIT), 0),
                               report_sum(report_row_mean(row, timeline, FIGURE_PIPELINE_BUBBLE), 0));
    bool blamed = false;
    for (uint32_t r = 0; r < finding->rank_count; r++) {
      blamed |= finding->ranks[r] == row->rank;
    }
    if (!blamed && waits != LUMOS_ABSENT && waits >= finding->time / WAITS_FOR) {
      waiting += lumos_rank_weight(&story->job->ranks.items[row->rank]);
    }
  }
  int64_t others = lumos_job_weight(story->job) - count_ranks(story, finding);
  if (waiting == 0) {
    return;
  }
  lumos_text_put(out, ", and ");
  if (waiting == others && others == 1) {
    lumos_text_put(out, "the other rank waits");
  } else {
    lumos_text_put(out, waiting == others ? "the other " : "");
    report_put_counted(out, waiting, "rank");
    lumos_text_put(out, waiting == 1 ? " waits" : " wait");
  }
}

/* ---- Findings ---- */

static bool is_doubtful(const struct diagnosis_story *story) { return story->diagnosis->confidence == LUMOS_POOR; }

/* "990 ms late (90.5 %)": what the first rank is late by, of which others may feel less. */
static void put_time_late(const struct diagnosis_story *story, const struct lumos_finding *finding,
                          struct lumos_text *out) {
  int64_t late =
      finding->rank_count > 0 && finding->rank_times[0] > finding->time ? finding->rank_times[0] : finding->time;
  report_put_time(out, late);
  lumos_text_put(out, " late (");
  report_put_share(out, report_share(late, story->diagnosis->step_time));
  lumos_text_char(out, ')');
}

/* "rank 2's CPU is 990 ms late (90.5 %), and the other 3 ranks wait"; whose: NULL: the rank itself is late. */
static void put_late(const struct diagnosis_story *story, const struct lumos_finding *finding, const char *whose,
                     struct lumos_text *out) {
  bool several = count_ranks(story, finding) > 1;
  if (several) {
    if (whose != NULL) {
      lumos_text_format(out, "the %ss of ", whose);
    }
    put_ranks(story, finding, out);
    lumos_text_put(out, is_doubtful(story) ? " seem up to " : " are up to ");
  } else {
    put_ranks(story, finding, out);
    if (whose != NULL) {
      lumos_text_format(out, "\xE2\x80\x99s %s", whose);
    }
    lumos_text_put(out, is_doubtful(story) ? " seems " : " is ");
  }
  put_time_late(story, finding, out);
  put_waiting_ranks(story, finding, out);
}

static void put_imbalance(const struct diagnosis_story *story, const struct lumos_finding *finding,
                          struct lumos_text *out) {
  lumos_text_format(out, "stage %d (", finding->stage);
  put_ranks(story, finding, out);
  lumos_text_put(out, ") has ");
  put_ratio(finding->ratio, out);
  lumos_text_put(out, " the work of other stages");
  if (finding->part != 0) {
    bool layers = finding->part == LUMOS_PART_LAYER;
    lumos_text_format(out, ", because it holds %s,",
                      layers                                  ? "more layers"
                      : finding->part == LUMOS_PART_HEAD      ? "the output head"
                      : finding->part == LUMOS_PART_EMBEDDING ? "the embedding"
                                                              : "more of the optimizer");
  }
  lumos_text_put(out, " and the imbalance costs ");
  put_cost(story, finding->time, out);
}

static void put_link(const struct diagnosis_story *story, const struct lumos_finding *finding, struct lumos_text *out) {
  lumos_text_put(out, "transfers between ");
  put_ranks(story, finding, out);
  lumos_text_put(out, " take ");
  put_ratio(finding->ratio, out);
  lumos_text_put(out, " as long as the same ones elsewhere, which costs ");
  put_cost(story, finding->time, out);
}

/* The subject of a plain finding, of several GPUs and of one; its cost follows. */
static const struct {
  const char *several, *one; /* NULL: the same */
} subjects[LUMOS_CAUSES] = {
    [LUMOS_CAUSE_COMPUTE] = {"the GPUs compute for ", "the GPU computes for "},
    [LUMOS_CAUSE_BUBBLE] = {"the pipeline bubble costs ", NULL},
    [LUMOS_CAUSE_WAITING] = {"ranks wait for each other by turns for ", NULL},
    [LUMOS_CAUSE_COMMUNICATION] = {"exposed communication takes ", NULL},
    [LUMOS_CAUSE_CPU_BOUND] = {"the GPUs wait for the CPUs to launch work for ",
                               "the GPU waits for the CPU to launch work for "},
    [LUMOS_CAUSE_SYNCHRONIZATION] = {"CPU synchronizations leave the GPUs without work for ",
                                     "CPU synchronizations leave the GPU without work for "},
    [LUMOS_CAUSE_DATA_LOADER] = {"the GPUs wait for the data loader for ", "the GPU waits for the data loader for "},
    [LUMOS_CAUSE_COPIES] = {"exposed copies take ", NULL},
    [LUMOS_CAUSE_IDLE] = {"the GPUs are idle for ", "the GPU is idle for "},
    [LUMOS_CAUSE_NOT_RECORDED] = {"the recording does not show what the GPUs wait for during ",
                                  "the recording does not show what the GPU waits for during "},
    [LUMOS_CAUSE_UNSPLIT] = {"communication with ranks that were not recorded takes ", NULL},
    [LUMOS_CAUSE_PROFILER] = {"GPUs wait for CPUs that the profiler slows for ",
                              "the GPU waits for a CPU that the profiler slows for "},
};

static const char unmatched[] = "communication that could not be matched between ranks takes ";

/* Are all ranks of the job there? Then communication is unsplit for other reasons. */
static bool has_all_ranks(const struct lumos_job *job) {
  int32_t world = job->ranks.count > 0 ? job->ranks.items[0].world : LUMOS_ABSENT_INT;
  return world != LUMOS_ABSENT_INT && lumos_job_weight(job) >= world;
}

static const char *subject_of(const struct diagnosis_story *story, enum lumos_cause cause) {
  if (cause == LUMOS_CAUSE_UNSPLIT && has_all_ranks(story->job)) {
    return unmatched;
  }
  bool one = lumos_job_weight(story->job) == 1 && subjects[cause].one != NULL;
  return one ? subjects[cause].one : subjects[cause].several;
}

/* What unequal stages add to the bubble is a finding of its own. */
static void put_rest_of_bubble(const struct diagnosis_story *story, struct lumos_text *out) {
  for (size_t i = 0; i < story->diagnosis->count; i++) {
    if (story->diagnosis->findings[i].cause == LUMOS_CAUSE_IMBALANCE) {
      lumos_text_put(out, " beside what unequal stages cost");
      return;
    }
  }
}

/* ", most of all for rank 7's (62.8 % of the critical path)": of several, the one that most of the path is on. */
static void put_slowest_cpu(const struct diagnosis_story *story, struct lumos_text *out) {
  const struct lumos_job *job = story->job;
  int64_t all = 0, most = 0;
  int32_t slowest = LUMOS_ABSENT_INT;
  int64_t *times = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *times);
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    uint32_t rank = strcmp(lumos_string(job->strings, metric->name), "critical_path_rank") == 0
                        ? lumos_job_rank(job, metric->scope.rank)
                        : LUMOS_NONE;
    if (rank != LUMOS_NONE && report_step_counts(story->facts, metric->scope.step)) {
      int64_t time = report_decimal_as(metric->value, 0);
      times[rank] = report_sum(times[rank], time);
      all = report_sum(all, time);
    }
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    slowest = times[r] > most ? job->ranks.items[r].rank : slowest;
    most = times[r] > most ? times[r] : most;
  }
  free(times);
  if (most > all / 2 && lumos_job_weight(job) > 1) {
    lumos_text_format(out, ", most of all for rank %d\xE2\x80\x99s (", slowest);
    report_put_share(out, report_share(most, all));
    lumos_text_put(out, " of the critical path)");
  }
}

void diagnosis_put_finding(const struct diagnosis_story *story, const struct lumos_finding *finding,
                           struct lumos_text *out) {
  switch (finding->cause) {
    case LUMOS_CAUSE_SLOW_CPU:
      put_late(story, finding, "CPU", out);
      return;
    case LUMOS_CAUSE_SLOW_GPU:
      put_late(story, finding, "GPU", out);
      return;
    case LUMOS_CAUSE_UNRECORDED_RANK: /* the recording does not show what of it is */
      put_late(story, finding, NULL, out);
      return;
    case LUMOS_CAUSE_IMBALANCE:
      put_imbalance(story, finding, out);
      return;
    case LUMOS_CAUSE_SLOW_LINK:
      put_link(story, finding, out);
      return;
    default:
      if (finding->cause == LUMOS_CAUSE_DATA_LOADER && finding->rank_count > 0) {
        put_late(story, finding, "data loader", out);
        return;
      }
      lumos_text_put(out, subject_of(story, finding->cause));
      put_cost(story, finding->time, out);
      if (finding->cause == LUMOS_CAUSE_BUBBLE) {
        put_rest_of_bubble(story, out);
      } else if (finding->with_waiting) {
        put_slowest_cpu(story, out);
      }
  }
}

/* ---- The sentence ---- */

bool diagnosis_is_slowed(const struct diagnosis_story *story) {
  int64_t cost = diagnosis_recording_cost(story->facts);
  return report_share(cost, story->diagnosis->step_time) >= LARGE_SHARE;
}

/* "A step takes 41.8 ms", or "After the change a step takes 38.2 ms instead of 41.8 ms (-8.6 %)". */
static void put_step(const struct diagnosis_story *story, struct lumos_text *out) {
  const struct report_facts *facts = story->facts;
  int64_t time = story->diagnosis->step_time;
  int64_t before = facts->edited ? report_facts_step_time(facts, MEASURED) : LUMOS_ABSENT;
  bool several = facts->job_all.steps > 1 || facts->steps.count > facts->ranks.count;
  lumos_text_put(out, facts->edited ? "After the change " : "");
  lumos_text_put(out, facts->edited ? (several ? "a step " : "the step ") : (several ? "A step " : "The step "));
  lumos_text_put(out, before == time ? "still takes " : "takes ");
  if (before == LUMOS_ABSENT || before == time) {
    report_put_time(out, time);
    if (diagnosis_is_slowed(story)) {
      lumos_text_put(out, " with the profiler and ");
      report_put_time_beside(out, facts->unprofiled_step, time);
      lumos_text_put(out, " without it");
    }
    return;
  }
  report_put_time_beside(out, time, before);
  lumos_text_put(out, " instead of ");
  report_put_time_beside(out, before, time);
  lumos_text_put(out, time > before ? " (+" : " (");
  report_put_share(out, report_share(time - before, before));
  lumos_text_char(out, ')');
}

/* Of what is not recorded nothing can be said, so that the reader must know where it is much. */
static void put_not_recorded(const struct diagnosis_story *story, const struct lumos_finding *first,
                             struct lumos_text *out) {
  const struct report_facts *facts = story->facts;
  enum report_timeline timeline = report_facts_spoken(facts);
  int64_t share = report_row_share(facts, report_facts_whole(facts, timeline), timeline, FIGURE_NOT_RECORDED);
  if (first->cause != LUMOS_CAUSE_NOT_RECORDED && share >= LARGE_SHARE) {
    lumos_text_put(out, "; ");
    report_put_share(out, share);
    lumos_text_put(out, " of the step lies outside the recording");
  }
}

static bool has_culprit(const struct lumos_finding *finding) {
  return finding->rank_count > 0 && finding->share >= LARGE_SHARE;
}

/* ", and no overhead is above 5 %": idle time may be, for it has several causes. */
static void put_no_overhead(const struct diagnosis_story *story, struct lumos_text *out) {
  const struct report_facts *facts = story->facts;
  enum report_timeline timeline = report_facts_spoken(facts);
  int64_t idle = report_row_share(facts, report_facts_whole(facts, timeline), timeline, FIGURE_IDLE);
  if (story->diagnosis->count <= 1) {
    return;
  }
  lumos_text_put(out, ", and no ");
  if (idle >= LARGE_SHARE) {
    lumos_text_put(out, diagnosis_is_slowed(story) ? "other " : "");
    lumos_text_put(out, lumos_job_weight(story->job) == 1 ? "cause of its idle time (" : "cause of their idle time (");
    report_put_share(out, idle);
    lumos_text_char(out, ')');
  } else {
    lumos_text_put(out, diagnosis_is_slowed(story) ? "other overhead" : "overhead");
  }
  lumos_text_put(out, " is above 5\xC2\xA0%");
}

void diagnosis_put_sentence(const struct diagnosis_story *story, struct lumos_text *out) {
  const struct lumos_diagnosis *diagnosis = story->diagnosis;
  if (diagnosis->step_time == LUMOS_ABSENT) {
    lumos_text_put(out, "The recording holds no complete step.");
    return;
  }
  if (diagnosis->step_time <= 0) {
    lumos_text_put(out, "The recording holds no work whose step is known, so no step can be timed.");
    return;
  }
  put_step(story, out);
  if (diagnosis->count == 0) {
    lumos_text_put(out, " on the CPU; no GPU work was recorded.");
    return;
  }
  const struct lumos_finding *first = &diagnosis->findings[0];
  lumos_text_put(out, ": ");
  diagnosis_put_finding(story, first, out);
  if (first->cause == LUMOS_CAUSE_COMPUTE) {
    put_no_overhead(story, out);
  } else if (first->cause == LUMOS_CAUSE_NOT_RECORDED && diagnosis->count > 1 && has_culprit(&diagnosis->findings[1])) {
    lumos_text_put(out, "; ");
    diagnosis_put_finding(story, &diagnosis->findings[1], out);
  }
  put_not_recorded(story, first, out);
  lumos_text_char(out, '.');
}

/* ---- What to do ---- */

/* In the imperative; what is behind it is the cause's own. */
static const char *const actions[LUMOS_CAUSES] = {
    [LUMOS_CAUSE_SLOW_CPU] =
        "Give that rank\xE2\x80\x99s process CPU cores of its own and look for other work on its host",
    [LUMOS_CAUSE_SLOW_GPU] = "Check that GPU\xE2\x80\x99s clock, temperature and power limit, or the input it gets",
    [LUMOS_CAUSE_UNRECORDED_RANK] = "Record more steps, and check whether another process uses that GPU",
    [LUMOS_CAUSE_DATA_LOADER] = "Use more data loader workers or a larger prefetch factor",
    [LUMOS_CAUSE_SLOW_LINK] = "Check that link or its network adapter, or place the group elsewhere",
    [LUMOS_CAUSE_IMBALANCE] = "Move layers from that stage to the others",
    [LUMOS_CAUSE_BUBBLE] = "Use more micro-batches",
    [LUMOS_CAUSE_WAITING] = "Even out the work of ranks, or reduce how often they meet",
    [LUMOS_CAUSE_CPU_BOUND] = ", or fuse kernels so that fewer are launched", /* behind the advice about graphs */
    [LUMOS_CAUSE_SYNCHRONIZATION] = "Remove synchronizations such as .item() and .cpu() from the step",
    [LUMOS_CAUSE_IDLE] = "Look at the critical path for what the GPUs wait for",
    [LUMOS_CAUSE_NOT_RECORDED] = "Record more steps, on all ranks, with CPU and CUDA activities",
    [LUMOS_CAUSE_UNSPLIT] = "Record all ranks, so that waiting can be split from transfer",
    [LUMOS_CAUSE_PROFILER] = "Record without stacks, shapes and memory where they are not needed",
};

/* "Look at what rank 2 does before "aten::foo": it spends 990 ms more there in a step than similar ranks." */
static void put_where(const struct diagnosis_story *story, const struct lumos_finding *finding,
                      struct lumos_text *out) {
  int32_t rank = story->job->ranks.items[finding->ranks[0]].rank;
  if (finding->before_op) {
    lumos_text_format(out, "Look at what rank %d does before ", rank);
    put_name(story, finding->op, out);
    lumos_text_put(out, ", where no op was recorded (with_stack=True would show more): ");
  } else {
    lumos_text_put(out, "Look at ");
    put_name(story, finding->op, out);
    lumos_text_format(out, " on rank %d: ", rank);
  }
  lumos_text_put(out, "it spends ");
  report_put_time(out, finding->op_time);
  lumos_text_put(out, " more there than similar ranks in each step");
}

/* "Move 2 of the stage's 4 layers to other stages (lumos-transform --split 5,5,4,2 predicts what that saves)"; false: nothing is to be moved. */
static bool put_split(const struct lumos_finding *finding, struct lumos_text *out) {
  int32_t surplus = finding->layers != LUMOS_ABSENT_INT ? finding->layers - finding->split[finding->stage] : 0;
  bool divide = surplus == 0 && finding->layers != LUMOS_ABSENT_INT && finding->part == LUMOS_PART_HEAD;
  if (surplus > 0) {
    lumos_text_format(out, "Move %d of the stage\xE2\x80\x99s %d layers to other stages (lumos-transform --split ",
                      surplus, finding->layers);
    for (int32_t s = 0; s < finding->stages; s++) {
      lumos_text_format(out, "%s%d", s == 0 ? "" : ",", finding->split[s]);
    }
    lumos_text_put(out, " predicts what that saves)");
  } else if (divide) {
    lumos_text_put(out, "Moving whole layers does not help: divide the output head over more ranks");
  }
  return surplus > 0 || divide;
}

/* Schedules with a smaller bubble than the one that the job has, where that is known. */
static void put_other_schedule(const struct lumos_job *job, struct lumos_text *out) {
  const char *schedule = "";
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    bool named = strcmp(lumos_string(job->strings, metric->name), "bubble_theory") == 0;
    schedule = named ? lumos_string(job->strings, metric->scope.kind) : schedule;
  }
  if (strcmp(schedule, "zb-h1") != 0) {
    lumos_text_put(out, strcmp(schedule, "interleaved") == 0 ? ", or a zero-bubble schedule"
                                                             : ", or an interleaved or zero-bubble schedule");
  }
}

/* What the job does not do already. */
static void put_what_is_left(const struct diagnosis_story *story, const struct lumos_finding *finding,
                             struct lumos_text *out) {
  const char *kind = finding->cause == LUMOS_CAUSE_COPIES          ? "copy"
                     : finding->cause == LUMOS_CAUSE_COMMUNICATION ? "communication"
                                                                   : NULL;
  const char *op = finding->op != LUMOS_NO_STRING ? lumos_string(story->job->strings, finding->op) : "";
  if (kind != NULL) {
    (void)report_put_advice(&story->opportunities->practice, kind, out);
    out->length--; /* its full stop */
  } else if (finding->cause == LUMOS_CAUSE_DATA_LOADER && strstr(op, "_SingleProcess") != NULL) {
    lumos_text_put(out, "Load data in worker processes: DataLoader(num_workers=\xE2\x80\xA6)");
  } else if (finding->cause == LUMOS_CAUSE_NOT_RECORDED && has_all_ranks(story->job)) {
    lumos_text_put(out, "Record more steps, with CPU and CUDA activities");
  } else if (finding->cause == LUMOS_CAUSE_UNSPLIT && has_all_ranks(story->job)) {
    lumos_text_put(out, "Record with a PyTorch that writes sequence numbers of collectives (Seq), so that waiting can "
                        "be split from transfer");
  } else {
    lumos_text_put(out, actions[finding->cause]);
  }
}

static void put_action(const struct diagnosis_story *story, const struct lumos_finding *finding,
                       struct lumos_text *out) {
  bool late = finding->cause == LUMOS_CAUSE_SLOW_CPU || finding->cause == LUMOS_CAUSE_SLOW_GPU;
  if (late && finding->op != LUMOS_NO_STRING && finding->rank_count > 0) {
    put_where(story, finding, out);
    return;
  }
  if (finding->cause == LUMOS_CAUSE_IMBALANCE && put_split(finding, out)) {
    return;
  }
  if (finding->cause == LUMOS_CAUSE_CPU_BOUND) {
    report_put_graphs_advice(&story->opportunities->practice, out);
  }
  put_what_is_left(story, finding, out);
  if (finding->cause == LUMOS_CAUSE_BUBBLE) {
    put_other_schedule(story->job, out);
  } else if (late && is_large_ratio(finding->ratio)) {
    lumos_text_put(out, finding->cause == LUMOS_CAUSE_SLOW_CPU ? ": its threads take " : ": its kernels take ");
    put_ratio(finding->ratio, out);
    lumos_text_put(out, " as long as those of similar ranks");
  } else if (finding->cause == LUMOS_CAUSE_COMMUNICATION && finding->op != LUMOS_NO_STRING) {
    lumos_text_put(out, "; most of it is ");
    lumos_text_put(out, lumos_string(story->job->strings, finding->op));
    const struct lumos_group *group = finding->group != LUMOS_NONE ? &story->job->groups.items[finding->group] : NULL;
    if (group != NULL && group->role != 0) {
      lumos_text_format(out, " of the %s group", lumos_role_name(group->role));
    }
  } else if (finding->cause == LUMOS_CAUSE_CPU_BOUND && finding->op != LUMOS_NO_STRING &&
             finding->op_time > finding->time / TEN) {
    lumos_text_put(out, "; the op that costs most is ");
    put_name(story, finding->op, out);
  } else if (finding->cause == LUMOS_CAUSE_SYNCHRONIZATION && finding->op != LUMOS_NO_STRING) {
    lumos_text_put(out, "; most blocking is in ");
    put_name(story, finding->op, out);
  }
}

/* What a cure is tried by: a change that was simulated, or else a kind of work with half of its time; both NULL: by what
 * the finding costs, at most. */
static const struct {
  const char *condition; /* of the change, or of all that the finding costs; NULL: no cure is tried so */
  const char *doing;     /* the same as a subject */
  const char *change, *kind;
} cures[LUMOS_CAUSES] = {
    [LUMOS_CAUSE_SLOW_CPU] = {"without that delay", "Removing that delay", "no_straggler", NULL},
    [LUMOS_CAUSE_SLOW_GPU] = {"without that delay", "Removing that delay", "no_straggler", NULL},
    [LUMOS_CAUSE_DATA_LOADER] = {"without that wait", "Removing that wait", NULL, NULL},
    [LUMOS_CAUSE_SLOW_LINK] = {"with transfers as fast as elsewhere", "Bringing that link to the speed of others", NULL,
                               NULL},
    [LUMOS_CAUSE_IMBALANCE] = {"with equal stages", "Giving every stage the same work", "balanced_stages", NULL},
    [LUMOS_CAUSE_SYNCHRONIZATION] = {"without these gaps", "Removing these gaps", NULL, NULL},
    [LUMOS_CAUSE_BUBBLE] = {"without that bubble", "Removing that bubble", NULL, NULL},
    [LUMOS_CAUSE_WAITING] = {"without that waiting", "Removing that waiting", NULL, NULL},
    [LUMOS_CAUSE_COMMUNICATION] = {"with gradients reduced beside the backward pass",
                                   "Reducing gradients beside the backward pass", "overlapped_gradients",
                                   "communication"},
    [LUMOS_CAUSE_CPU_BOUND] = {"with CUDA graphs", "Launching each pass as a CUDA graph", "cuda_graphs", "host"},
    [LUMOS_CAUSE_COPIES] = {NULL, NULL, NULL, "copy"},
};

/* Whose cost a change alone can tell what part would be saved of: what others wait for besides is not known. */
static bool needs_change(enum lumos_cause cause) {
  return cause == LUMOS_CAUSE_SLOW_CPU || cause == LUMOS_CAUSE_SLOW_GPU;
}

/* NULL: it is not on the list. */
static const struct report_opportunity *named(const struct diagnosis_story *story,
                                              const struct report_opportunity_list *list, const char *kind) {
  for (size_t i = 0; kind != NULL && i < list->count; i++) {
    const struct report_opportunity *one = &list->items[i];
    if (one->kind != LUMOS_NO_STRING && strcmp(lumos_string(story->job->strings, one->kind), kind) == 0) {
      return one;
    }
  }
  return NULL;
}

bool diagnosis_predicts(const struct lumos_diagnosis *diagnosis) {
  return diagnosis->count > 0 && diagnosis->confidence != LUMOS_POOR &&
         diagnosis->findings[0].cause != LUMOS_CAUSE_NOT_RECORDED;
}

static const struct diagnosis_gain no_gain = {
    .time = LUMOS_ABSENT, .share = LUMOS_ABSENT, .range = {LUMOS_ABSENT, LUMOS_ABSENT}, .cause = LUMOS_CAUSE_COMPUTE};

/* Of a change, or of half of a kind of work. */
static struct diagnosis_gain simulated_gain(const struct diagnosis_story *story, const struct report_opportunity *one,
                                            bool is_change, enum lumos_cause cause) {
  struct diagnosis_gain gain = {.time = one->half,
                                .share = report_opportunity_gain_share(story->opportunities, one->half),
                                .range = one->range,
                                .is_change = is_change,
                                .cause = cause,
                                .opportunity = one};
  bool may_be_recording = diagnosis_is_slowed(story) && one->half >= story->facts->unprofiled_step;
  return report_opportunity_gain(story->opportunities, one->half) > 0 && !may_be_recording ? gain : no_gain;
}

struct diagnosis_gain diagnosis_cure(const struct diagnosis_story *story) {
  if (!diagnosis_predicts(story->diagnosis)) {
    return no_gain;
  }
  const struct lumos_finding *first = &story->diagnosis->findings[0];
  const struct report_opportunity *change = named(story, &story->opportunities->changes, cures[first->cause].change);
  if (change != NULL || needs_change(first->cause)) {
    return change != NULL ? simulated_gain(story, change, true, first->cause) : no_gain;
  }
  if (cures[first->cause].kind != NULL) {
    const struct report_opportunity *one = named(story, &story->opportunities->list, cures[first->cause].kind);
    return one != NULL ? simulated_gain(story, one, false, first->cause) : no_gain;
  }
  struct diagnosis_gain gain = no_gain;
  gain.time = story->diagnosis->step_time - first->time;
  gain.share = first->share;
  gain.at_most = true;
  gain.cause = first->cause;
  return cures[first->cause].condition != NULL ? gain : no_gain;
}

/* What CPUs take may be the profiler's. */
static const struct report_opportunity *best_opportunity(const struct diagnosis_story *story) {
  const struct report_opportunity_list *list = &story->opportunities->list;
  for (size_t i = 0; diagnosis_is_slowed(story) && i < list->count; i++) {
    const char *kind = lumos_string(story->job->strings, list->items[i].kind);
    if (strcmp(kind, "host") != 0 && strcmp(kind, "launch") != 0) {
      return report_opportunity_gain(story->opportunities, list->items[i].half) > 0 ? &list->items[i] : NULL;
    }
  }
  return report_best_opportunity(story->opportunities);
}

struct diagnosis_gain diagnosis_best_work(const struct diagnosis_story *story) {
  const struct report_opportunity *best = best_opportunity(story);
  return best != NULL && diagnosis_predicts(story->diagnosis) ? simulated_gain(story, best, false, LUMOS_CAUSE_COMPUTE)
                                                              : no_gain;
}

/* Half of a kind of work is no change that anybody can make, unless GEMMs can run in a format that is more than twice
 * as fast, or there is no overhead to remove instead. */
static bool counts_as_change(const struct diagnosis_story *story, const struct diagnosis_gain *work) {
  const char *kind = lumos_string(story->job->strings, work->opportunity->kind);
  return story->diagnosis->findings[0].cause == LUMOS_CAUSE_COMPUTE ||
         (strcmp(kind, "gemm") == 0 && report_practice_multiplies_wide(&story->opportunities->practice));
}

struct diagnosis_gain diagnosis_best_gain(const struct diagnosis_story *story) {
  const struct report_opportunity_list *changes = &story->opportunities->changes;
  struct diagnosis_gain best = diagnosis_cure(story), work = diagnosis_best_work(story);
  if (changes->count > 0 && diagnosis_predicts(story->diagnosis)) {
    struct diagnosis_gain change = simulated_gain(story, &changes->items[0], true, LUMOS_CAUSE_COMPUTE);
    best = change.share > best.share ? change : best;
  }
  bool of_work = best.share == LUMOS_ABSENT || (work.share > best.share && counts_as_change(story, &work));
  return of_work ? work : best;
}

static bool only_computes(const struct diagnosis_story *story) {
  return story->diagnosis->count > 0 && story->diagnosis->findings[0].cause == LUMOS_CAUSE_COMPUTE;
}

struct diagnosis_gain diagnosis_headline_gain(const struct diagnosis_story *story) {
  return only_computes(story) ? diagnosis_best_gain(story) : diagnosis_cure(story);
}

bool diagnosis_same_gain(const struct diagnosis_gain *gain, const struct diagnosis_gain *other) {
  return gain->share == other->share && gain->opportunity == other->opportunity && gain->time == other->time;
}

int64_t diagnosis_gain_base(const struct diagnosis_story *story) {
  return diagnosis_is_slowed(story) ? story->facts->unprofiled_step : story->opportunities->step;
}

int64_t diagnosis_row_gain(const struct diagnosis_story *story, int64_t time) {
  int64_t base = diagnosis_gain_base(story);
  return time == LUMOS_ABSENT ? LUMOS_ABSENT : report_share(report_sum(base, -time), base);
}

void diagnosis_put_row_gain(const struct diagnosis_story *story, int64_t time, struct lumos_text *out) {
  int64_t share = diagnosis_row_gain(story, time);
  bool slowed = diagnosis_is_slowed(story);
  if (slowed && share <= 0) {
    lumos_text_put(out, "no gain known");
    return;
  }
  lumos_text_put(out, slowed ? "at least \xE2\x88\x92" : share > 0 ? "\xE2\x88\x92" : "");
  report_put_share(out, share);
}

void diagnosis_put_changing(const struct diagnosis_story *story, const struct diagnosis_gain *gain,
                            struct lumos_text *out) {
  size_t start = out->length;
  if (gain->cause != LUMOS_CAUSE_COMPUTE && (gain->is_change || gain->at_most)) {
    bool rest = gain->cause == LUMOS_CAUSE_CPU_BOUND && report_practice_uses_graphs(&story->opportunities->practice);
    lumos_text_put(out, rest ? "Launching the rest of each pass in CUDA graphs" : cures[gain->cause].doing);
  } else {
    (gain->is_change ? report_put_improving : report_put_halving_of)(story->opportunities, gain->opportunity, out);
  }
  out->bytes[start] = lumos_ascii_upper(out->bytes[start]);
}

int64_t diagnosis_unslowed_gain(const struct diagnosis_story *story, const struct diagnosis_gain *gain) {
  int64_t step = story->facts->unprofiled_step;
  bool known = diagnosis_is_slowed(story) && gain->opportunity != NULL && gain->time < step;
  return known ? report_share(step - gain->time, step) : LUMOS_ABSENT;
}

/* "; at least -62.6 % without the profiler", some of which may be in the predicted step. */
static void put_unslowed_gain(const struct diagnosis_story *story, const struct diagnosis_gain *gain,
                              struct lumos_text *out) {
  int64_t share = diagnosis_unslowed_gain(story, gain);
  if (share != LUMOS_ABSENT) {
    lumos_text_put(out, "; at least \xE2\x88\x92");
    report_put_share(out, share);
    lumos_text_put(out, " without the profiler");
  }
}

void diagnosis_put_gain(const struct diagnosis_story *story, const struct diagnosis_gain *gain,
                        struct lumos_text *out) {
  size_t start = out->length;
  int64_t step = gain->at_most ? story->diagnosis->step_time : story->opportunities->step;
  bool whole = gain->is_change || gain->at_most, several = story->facts->job_all.steps > 1;
  if (gain->is_change && gain->cause == LUMOS_CAUSE_COMPUTE) {
    report_put_improvement(story->opportunities, gain->opportunity, out);
    out->length--; /* its bracket */
    put_unslowed_gain(story, gain, out);
    lumos_text_char(out, ')');
    return;
  }
  if (whole) {
    lumos_text_put(out, cures[gain->cause].condition);
  } else {
    report_put_halving_of(story->opportunities, gain->opportunity, out);
  }
  lumos_text_put(out, !whole ? (several ? " would cut a step to " : " would cut the step to ")
                             : (several ? " a step would take " : " it would take "));
  lumos_text_put(out, gain->at_most ? "at least " : "");
  report_put_time_beside(out, gain->time, step);
  lumos_text_put(out, " (\xE2\x88\x92");
  report_put_share(out, gain->share);
  put_unslowed_gain(story, gain, out);
  lumos_text_char(out, ')');
  out->bytes[start] = lumos_ascii_upper(out->bytes[start]);
}

void diagnosis_put_step_of(const struct diagnosis_story *story, const struct diagnosis_gain *gain,
                           struct lumos_text *out) {
  diagnosis_put_changing(story, gain, out);
  lumos_text_put(out, gain->at_most ? ": a step of at least " : ": a step of ");
  report_put_time_beside(out, gain->time, gain->at_most ? story->diagnosis->step_time : diagnosis_gain_base(story));
  if (report_range_known(gain->range)) {
    lumos_text_put(out, "; 90\xC2\xA0% range ");
    report_put_time_range(out, gain->range.low, gain->range.high);
  }
}

/* "CPUs then limit the step (87.2 % of the critical path)": the largest of its places, where they were
 * looked for. */
static void put_next_limit(const struct lumos_job *job, struct lumos_text *out) {
  static const struct {
    const char *kind, *words;
  } places[] = {{"cpu", "CPUs then limit"},
                {"gpu", "GPU work then limits"},
                {"communication", "communication then limits"},
                {"other", "delays between tasks then limit"}};
  int64_t all = 0, most = 0;
  const char *where = NULL;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    bool found = metric->scope.kind != LUMOS_NO_STRING &&
                 strcmp(lumos_string(job->strings, metric->name), "straggler_free_path") == 0;
    int64_t time = found ? report_decimal_as(metric->value, 0) : 0;
    time = time > 0 ? time : 0;
    for (size_t k = 0; found && time > most && k < sizeof places / sizeof places[0]; k++) {
      bool here = strcmp(lumos_string(job->strings, metric->scope.kind), places[k].kind) == 0;
      where = here ? places[k].words : where;
      most = here ? time : most;
    }
    all = report_sum(all, time);
  }
  if (where == NULL) {
    lumos_text_put(out, "something else then limits the step");
    return;
  }
  lumos_text_format(out, "%s the step (", where);
  report_put_share(out, report_share(most, all));
  lumos_text_put(out, " of the critical path)");
}

/* Why a cure gains less than what it cures costs; nothing where it does not. */
static void put_less(const struct diagnosis_story *story, const struct diagnosis_gain *gain, struct lumos_text *out) {
  enum { MOST = 90 }; /* per cent of the delay: a gain of more needs no explanation */
  const struct lumos_finding *first = &story->diagnosis->findings[0];
  bool whole = gain->is_change && needs_change(gain->cause);
  int64_t saved = whole ? report_opportunity_gain(story->opportunities, gain->time) : LUMOS_ABSENT;
  if (saved != LUMOS_ABSENT && saved < first->time / 100 * MOST) {
    lumos_text_put(out, "; less than the delay, because ");
    put_next_limit(story->job, out);
  }
}

void diagnosis_put_own_delay(const struct diagnosis_story *story, struct lumos_text *out) {
  const struct lumos_finding *first = story->diagnosis->count > 0 ? &story->diagnosis->findings[0] : NULL;
  if (first != NULL && first->cause == LUMOS_CAUSE_IMBALANCE) {
    lumos_text_put(out, " What the imbalance costs is a part of the bubble.");
  } else if (first != NULL && first->cause == LUMOS_CAUSE_CPU_BOUND && diagnosis_is_slowed(story)) {
    lumos_text_put(out, " Idle time in the bars contains what the profiler costs; the headline leaves that out.");
  } else if (first != NULL && first->with_waiting) {
    lumos_text_put(out, " The headline adds waiting for other ranks, whose CPUs are behind, too.");
  } else if (first != NULL && first->cause == LUMOS_CAUSE_SYNCHRONIZATION) {
    lumos_text_put(out, " The headline adds what is CPU-bound because a synchronization had stopped the CPU before.");
  }
  for (size_t i = 0; first != NULL && i < story->diagnosis->count && i < 2; i++) {
    const struct lumos_finding *finding = first + i;
    bool late = finding->cause == LUMOS_CAUSE_SLOW_CPU || finding->cause == LUMOS_CAUSE_SLOW_GPU ||
                finding->cause == LUMOS_CAUSE_UNRECORDED_RANK;
    if (late && finding->rank_count > 0 && (i == 0 || has_culprit(finding))) {
      lumos_text_put(
          out,
          " The delay in the headline is the late rank\xE2\x80\x99s alone; the first bar is the mean of all ranks.");
      return;
    }
  }
}

/* The action behind a gain that is no cure of the first finding. */
static void put_action_of(const struct diagnosis_story *story, const struct diagnosis_gain *gain,
                          struct lumos_text *out) {
  (gain->is_change ? report_put_improvement_action : report_put_opportunity_action)(story->opportunities,
                                                                                    gain->opportunity, out);
}

void diagnosis_put_action(const struct diagnosis_story *story, struct lumos_text *out) {
  struct diagnosis_gain best = diagnosis_best_gain(story);
  if (only_computes(story)) {
    if (best.opportunity != NULL) {
      put_action_of(story, &best, out);
    }
  } else if (story->diagnosis->count > 0) {
    put_action(story, &story->diagnosis->findings[0], out);
    lumos_text_char(out, '.');
  }
}

/* "; without that delay a step would take 33.0 ms (-21.6 %)." behind what to do. */
static void put_gain_of_action(const struct diagnosis_story *story, const struct diagnosis_gain *gain, size_t start,
                               struct lumos_text *out) {
  bool goes_on = out->length > start && out->bytes[out->length - 1] == '.';
  out->length -= goes_on;
  lumos_text_put(out, goes_on ? "; " : "");
  size_t clause = out->length;
  diagnosis_put_gain(story, gain, out);
  put_less(story, gain, out);
  if (goes_on) {
    out->bytes[clause] = lumos_ascii_lower(out->bytes[clause]);
  }
  lumos_text_char(out, '.');
}

/* " Launching each pass as a CUDA graph would help more (-21.6 %)." Twice as much, or the reader need not choose. */
static void put_better(const struct diagnosis_story *story, const struct diagnosis_gain *cure, struct lumos_text *out) {
  struct diagnosis_gain best = diagnosis_best_gain(story);
  int64_t least = diagnosis_unslowed_gain(story, &best);
  if (best.share == LUMOS_ABSENT || best.share < LARGE_SHARE || cure->share == LUMOS_ABSENT ||
      best.share / 2 < cure->share) {
    return;
  }
  lumos_text_char(out, ' ');
  diagnosis_put_changing(story, &best, out);
  lumos_text_put(out,
                 least != LUMOS_ABSENT ? " would help more (at least \xE2\x88\x92" : " would help more (\xE2\x88\x92");
  report_put_share(out, least != LUMOS_ABSENT ? least : best.share);
  lumos_text_put(out, ").");
}

void diagnosis_put_remedy(const struct diagnosis_story *story, struct lumos_text *out) {
  struct diagnosis_gain gain = diagnosis_headline_gain(story);
  size_t start = out->length;
  diagnosis_put_action(story, out);
  if (gain.share != LUMOS_ABSENT) {
    put_gain_of_action(story, &gain, start, out);
    put_better(story, &gain, out);
  }
}

/* ---- How sure ---- */

/* Means over steps; the worst stand in the details. */
static void put_errors(const struct diagnosis_story *story, struct lumos_text *out) {
  int64_t error = story->diagnosis->limit_share;
  if (error == 0) {
    lumos_text_put(out, "The model reproduces the measured step exactly");
  } else {
    lumos_text_put(out, "The model misses the measured step by ");
    report_put_fine_share(out, error);
    lumos_text_put(out, " on average");
  }
  if (story->facts->transplant_error != LUMOS_ABSENT) {
    lumos_text_put(out, ", and one step predicted from another by ");
    report_put_fine_share(out, llabs(story->facts->transplant_error));
    lumos_text_put(out, " on average");
  }
}

void diagnosis_put_confidence(const struct diagnosis_story *story, struct lumos_text *out) {
  static const char *const before[LUMOS_LIMITS] = {
      [LUMOS_LIMIT_NOTHING_MEASURED] = "There is no measured step to compare the model with",
      [LUMOS_LIMIT_CHANGED] = "The replay error is known for the unchanged job only",
      [LUMOS_LIMIT_REBUILD] = "Rebuilt in its recorded configuration, the job misses its measured step by ",
      [LUMOS_LIMIT_REPLAY] = "The model misses the measured step by ",
      [LUMOS_LIMIT_CROSS_STEP] = "The model predicts one step from another with an error of ",
      [LUMOS_LIMIT_NO_GPU] = "No GPU work was recorded on ",
      [LUMOS_LIMIT_NOT_RECORDED] = "The recording does not show what GPUs wait for during ",
      [LUMOS_LIMIT_BOUNDARY] = "Kernels wait for work outside the recording for ",
      [LUMOS_LIMIT_UNEXPLAINED] = "Unexplained delays of kernels add up to ",
      [LUMOS_LIMIT_UNSPLIT] = "Communication with ranks that were not recorded takes ",
      [LUMOS_LIMIT_UNJOINED] = "Communication that could not be joined with other ranks\xE2\x80\x99 takes ",
      [LUMOS_LIMIT_VARIATION] = "Similar steps differ by ",
      [LUMOS_LIMIT_BLAMED_UNKNOWN] = "Who is late is known, but not why: no op was recorded in ",
      [LUMOS_LIMIT_CPU_UNKNOWN] = "Gaps and unusually long calls on the CPU take ",
      [LUMOS_LIMIT_PROFILER] = "The profiler itself takes up to ",
      [LUMOS_LIMIT_RECORDING] = "Recorded steps are longer than steps without the profiler by ",
      [LUMOS_LIMIT_UNLAUNCHED] = "No launch was recorded for ",
      [LUMOS_LIMIT_UNTIED] = "Who waits for whom is partly unknown, so that waiting stays as measured",
  };
  enum lumos_limit limit = story->diagnosis->limit;
  if (limit == LUMOS_LIMIT_NONE) {
    put_errors(story, out);
    lumos_text_char(out, '.');
    return;
  }
  bool of_changed = report_has_note(story->job, "transform.rebuild_of_changed");
  if (limit == LUMOS_LIMIT_CHANGED && story->diagnosis->limit_share != LUMOS_ABSENT) {
    lumos_text_put(out, of_changed
                            ? "Rebuilt in its recorded configuration, the changed job takes its simulated step within "
                            : "Rebuilt in its recorded configuration, the job takes its measured step within ");
    report_put_fine_share(out, story->diagnosis->limit_share);
    lumos_text_put(out, report_range_known(story->facts->step_range)
                            ? ". The range covers the error in another configuration."
                            : ". The error in another configuration is unknown.");
    return;
  }
  if (limit == LUMOS_LIMIT_UNSPLIT && has_all_ranks(story->job)) {
    lumos_text_put(out, "C");
    lumos_text_put(out, unmatched + 1);
  } else {
    lumos_text_put(out, of_changed && limit == LUMOS_LIMIT_REBUILD
                            ? "Rebuilt in its recorded configuration, the changed job misses its simulated step by "
                            : before[limit]);
  }
  if (story->diagnosis->limit_share != LUMOS_ABSENT) {
    bool error = limit == LUMOS_LIMIT_REPLAY || limit == LUMOS_LIMIT_CROSS_STEP || limit == LUMOS_LIMIT_REBUILD;
    (error ? report_put_fine_share : report_put_share)(out, story->diagnosis->limit_share);
    lumos_text_put(out, error || limit == LUMOS_LIMIT_VARIATION || limit == LUMOS_LIMIT_RECORDING ? ""
                        : limit == LUMOS_LIMIT_UNLAUNCHED     ? " of the kernels and copies"
                        : limit == LUMOS_LIMIT_NO_GPU         ? " of the ranks"
                        : limit == LUMOS_LIMIT_BLAMED_UNKNOWN ? " of that time"
                                                              : " of the step");
  }
  lumos_text_char(out, '.');
}
