/* The cure of the first finding, or what helps at least twice as much. */
#include "report/diagnosis/remedy.h"

#include "base/ascii.h"
#include "report/content/advice.h"
#include "report/diagnosis/gains.h"
#include "report/diagnosis/imbalance.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <string.h>

enum { TEN = 10, HUNDRED_THOUSAND = 100000 };

static bool is_doubtful(const struct report_result *result) { return result->diagnosis.confidence == LUMOS_POOR; }

/* A name as recorded, in typographic quotes, cut where it is long. */
static void put_name(const struct report_result *result, lumos_string_id name, struct lumos_text *out) {
  enum { LONGEST = 60 };
  lumos_text_put(out, "\xE2\x80\x9C");
  report_put_cut(out, lumos_string(result->job->strings, name), lumos_string_length(result->job->strings, name),
                 LONGEST);
  lumos_text_put(out, "\xE2\x80\x9D");
}

static bool is_large_ratio(int64_t ratio) { return ratio != LUMOS_ABSENT && ratio >= 1000000 + HUNDRED_THOUSAND; }

/* In the imperative; what is behind it is the cause's own. */
static const char *const actions[LUMOS_CAUSES] = {
    [LUMOS_CAUSE_SLOW_CPU] = " process CPU cores of its own and look for other work on its host", /* "Give rank 1's" */
    [LUMOS_CAUSE_SLOW_GPU] = " GPU, or the input it gets", /* "Check ... rank 1's" */
    [LUMOS_CAUSE_UNRECORDED_RANK] = "Record more steps, and check whether another process uses that GPU",
    [LUMOS_CAUSE_DATA_LOADER] = "Use more data loader workers or a larger prefetch factor",
    [LUMOS_CAUSE_SLOW_LINK] = "Check that link or its network adapter, or place the group elsewhere",
    [LUMOS_CAUSE_IMBALANCE] = "Move layers from that stage to the others",
    [LUMOS_CAUSE_BUBBLE] = "Use more micro-batches",
    [LUMOS_CAUSE_WAITING] = "Even out the work of ranks, or reduce how often they meet",
    [LUMOS_CAUSE_IDLE] = "Look at the critical path for what the GPUs wait for",
    [LUMOS_CAUSE_NOT_RECORDED] = "Record more steps, on all ranks, with CPU and CUDA activities",
    [LUMOS_CAUSE_UNSPLIT] = "Record all ranks, so that waiting can be split from transfer",
    [LUMOS_CAUSE_PROFILER] = "Record without stacks, shapes and memory where they are not needed",
};

/* "Look at what rank 2 does before "aten::foo": it spends 990 ms more there in a step than similar ranks." */
static void put_where(const struct report_result *result, const struct lumos_finding *finding, struct lumos_text *out) {
  int32_t rank = result->job->ranks.items[finding->ranks[0]].rank;
  if (finding->before_op) {
    lumos_text_format(out, "Look at what rank %d does ", rank);
    if (finding->annotation != LUMOS_NO_STRING) {
      lumos_text_put(out, "in ");
      put_name(result, finding->annotation, out);
      lumos_text_char(out, ' ');
    }
    lumos_text_put(out, "before ");
    put_name(result, finding->op, out);
    lumos_text_put(out, ", where no op was recorded (with_stack=True would show more): ");
  } else {
    lumos_text_put(out, "Look at ");
    put_name(result, finding->op, out);
    lumos_text_format(out, " on rank %d: ", rank);
  }
  lumos_text_put(out, "it spends ");
  report_put_time(out, finding->op_time);
  lumos_text_put(out, " more there than similar ranks in each step");
}

/* "Move 2 of the stage's 4 layers to other stages (simulated by lumos-transform --split 5,5,4,2)"; false: nothing is to
 * be moved. */
static bool put_split(const struct lumos_finding *finding, bool edited, struct lumos_text *out) {
  int32_t surplus = diagnosis_moves_layers(finding) ? finding->layers - finding->split[finding->stage] : 0;
  bool divide = surplus == 0 && finding->layers != LUMOS_ABSENT_INT && finding->part == LUMOS_PART_HEAD;
  if (surplus > 0) {
    lumos_text_format(out, "Move %d of the stage\xE2\x80\x99s %d layers to %s (simulated %s --split ", surplus,
                      finding->layers, finding->stages == 2 ? "the other stage" : "other stages",
                      edited ? "with the same change and" : "by lumos-transform");
    for (int32_t s = 0; s < finding->stages; s++) {
      lumos_text_format(out, "%s%d", s == 0 ? "" : ",", finding->split[s]);
    }
    lumos_text_put(out, finding->split[finding->stage] == 1 ? "; a stage keeps at least one layer)" : ")");
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
static void put_what_is_left(const struct report_result *result, const struct lumos_finding *finding,
                             struct lumos_text *out) {
  const char *kind = finding->cause == LUMOS_CAUSE_COPIES          ? "copy"
                     : finding->cause == LUMOS_CAUSE_COMMUNICATION ? "communication"
                                                                   : NULL;
  const char *op = finding->op != LUMOS_NO_STRING ? lumos_string(result->job->strings, finding->op) : "";
  if (finding->cause == LUMOS_CAUSE_BUBBLE && diagnosis_lacks_stages(result->job)) {
    lumos_text_put(out, "Record all pipeline stages, to see what the others wait for");
  } else if (kind != NULL) {
    (void)report_put_advice(&result->opportunities.practice, kind, out);
    out->length--; /* its full stop */
  } else if (finding->cause == LUMOS_CAUSE_DATA_LOADER && strstr(op, "_SingleProcess") != NULL) {
    lumos_text_put(out, "Load data in worker processes: DataLoader(num_workers=\xE2\x80\xA6)");
  } else if (finding->cause == LUMOS_CAUSE_SYNCHRONIZATION) {
    lumos_text_put(out, strstr(op, "DeviceSynchronize") != NULL /* cuda's and hip's */
                            ? "Remove torch.cuda.synchronize() from the step"
                            : "Remove synchronizations such as .item() and .cpu() from the step");
  } else if (finding->cause == LUMOS_CAUSE_NOT_RECORDED && diagnosis_has_all_ranks(result->job)) {
    lumos_text_put(out, finding->waiting > 0 ? "Record several steps, beginning with the same one on all ranks"
                                             : "Record more steps, with CPU and CUDA activities");
  } else if (finding->cause == LUMOS_CAUSE_UNSPLIT && diagnosis_has_all_ranks(result->job)) {
    lumos_text_put(out, "Record with a PyTorch that writes sequence numbers of collectives (Seq), so that waiting can "
                        "be split from transfer");
  } else {
    bool of_rank = finding->cause == LUMOS_CAUSE_SLOW_CPU || finding->cause == LUMOS_CAUSE_SLOW_GPU;
    lumos_text_put(out, !of_rank                                 ? ""
                        : finding->cause == LUMOS_CAUSE_SLOW_CPU ? "Give "
                                                                 : "Check clock, temperature and power limit of ");
    if (of_rank && finding->rank_count == 1) {
      lumos_text_format(out, "rank %d\xE2\x80\x99s", result->job->ranks.items[finding->ranks[0]].rank);
    } else {
      lumos_text_put(out, of_rank ? "each late rank\xE2\x80\x99s" : "");
    }
    lumos_text_put(out, actions[finding->cause]);
  }
}

/* CUDA graphs, unless one op is to blame or most of the CPU's time is unknown; and fewer kernels, where that saves
 * anything. */
static void put_cpu_action(const struct report_result *result, const struct lumos_finding *finding,
                           struct lumos_text *out) {
  bool known = finding->op != LUMOS_NO_STRING && finding->op_time > finding->time / TEN;
  if (diagnosis_blames_op(result, finding)) {
    lumos_text_put(out, "Look at what the CPU does in ");
    put_name(result, finding->op, out);
    lumos_text_put(out, ": it takes ");
    report_put_time(out, finding->op_time);
    lumos_text_put(out, " of that time");
    return;
  }
  if (!known && result->diagnosis.limit == LUMOS_LIMIT_CPU_UNKNOWN && is_doubtful(result)) {
    lumos_text_put(out, "Record with with_stack=True, to see what the CPU does in gaps and unusually long calls");
    return;
  }
  report_put_graphs_advice(&result->opportunities.practice, out);
  bool fuses = result->opportunities.changes.count == 0 &&
               !diagnosis_fusing_is_idle(result) && /* else it has its own gain */
               !result->opportunities.practice.launches_nothing;
  lumos_text_put(out, fuses ? ", or fuse kernels so that fewer are launched" : "");
  if (known) {
    lumos_text_put(out, "; the op that costs most is ");
    put_name(result, finding->op, out);
    lumos_text_put(out, ", ");
    report_put_time(out, finding->op_time);
    lumos_text_put(out, " of that time");
  }
}

/* What a rank was late by as recorded, for the cause of the finding, of a mean step. */
static int64_t recorded_delay(const struct report_result *result, enum lumos_cause cause, uint32_t rank) {
  const struct lumos_job *job = result->job;
  const char *wanted = cause == LUMOS_CAUSE_SLOW_GPU ? "compute" : "host";
  int64_t sum = 0, steps = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->source == LUMOS_METRIC_MEASURED && metric->scope.rank == job->ranks.items[rank].rank &&
        metric->scope.kind != LUMOS_NO_STRING &&
        strcmp(lumos_string(job->strings, metric->name), "late_arrival") == 0 &&
        strcmp(lumos_string(job->strings, metric->scope.kind), wanted) == 0) {
      sum = report_sum(sum, report_decimal_as(metric->value, 0));
      steps++;
    }
  }
  return steps > 0 && sum > 0 ? sum / steps : 0;
}

static int64_t most_recorded(const struct report_result *result, const struct lumos_finding *finding) {
  int64_t most = 0;
  for (uint32_t i = 0; i < finding->rank_count; i++) {
    int64_t delay = recorded_delay(result, finding->cause, finding->ranks[i]);
    most = delay > most ? delay : most;
  }
  return most;
}

/* Ranks that are late mostly since the job was changed have no fault to look for. */
static bool is_late_by_change(const struct report_result *result, const struct lumos_finding *finding) {
  return result->facts.edited && finding->rank_count > 0 &&
         most_recorded(result, finding) < diagnosis_time_late(finding) / 2;
}

/* "The change makes the difference: as recorded, rank 1's GPU was 726 us late" */
static void put_change_of_delay(const struct report_result *result, const struct lumos_finding *finding,
                                struct lumos_text *out) {
  const char *part = finding->cause == LUMOS_CAUSE_SLOW_GPU ? "GPU" : "CPU";
  int64_t recorded = most_recorded(result, finding);
  bool one = finding->rank_count == 1;
  lumos_text_put(out, "The change makes the difference: as recorded, ");
  if (one) {
    lumos_text_format(out, "rank %d\xE2\x80\x99s %s was ", result->job->ranks.items[finding->ranks[0]].rank, part);
  } else {
    lumos_text_format(out, "their %ss were ", part);
  }
  if (recorded > 0) {
    lumos_text_put(out, one ? "" : "up to ");
    report_put_time(out, recorded);
    lumos_text_put(out, " late");
  } else {
    lumos_text_put(out, "not late");
  }
}

static void put_action(const struct report_result *result, const struct lumos_finding *finding,
                       struct lumos_text *out) {
  bool late = finding->cause == LUMOS_CAUSE_SLOW_CPU || finding->cause == LUMOS_CAUSE_SLOW_GPU;
  if (late && is_late_by_change(result, finding)) {
    put_change_of_delay(result, finding, out);
    return;
  }
  if (late && finding->op != LUMOS_NO_STRING && finding->rank_count > 0) {
    put_where(result, finding, out);
    return;
  }
  if (finding->cause == LUMOS_CAUSE_IMBALANCE && put_split(finding, result->facts.edited, out)) {
    return;
  }
  if (finding->cause == LUMOS_CAUSE_CPU_BOUND) {
    put_cpu_action(result, finding, out);
    return;
  }
  put_what_is_left(result, finding, out);
  if (finding->cause == LUMOS_CAUSE_UNRECORDED_RANK && finding->cpu_time >= finding->time / 2) {
    lumos_text_put(out, ": ");
    report_put_time(out, finding->cpu_time);
    lumos_text_put(out, " of the delay pass on the CPU, while the GPU waits for work that was not recorded");
  } else if (finding->cause == LUMOS_CAUSE_BUBBLE && !diagnosis_lacks_stages(result->job)) {
    put_other_schedule(result->job, out);
  } else if (late && is_large_ratio(finding->ratio)) {
    lumos_text_put(out, finding->cause == LUMOS_CAUSE_SLOW_CPU ? ": its threads take " : ": its kernels take ");
    diagnosis_put_ratio(finding->ratio, out);
    lumos_text_put(out, " as long as those of similar ranks");
  } else if (finding->cause == LUMOS_CAUSE_COMMUNICATION && finding->op != LUMOS_NO_STRING) {
    lumos_text_put(out, "; most of it is ");
    lumos_text_put(out, lumos_string(result->job->strings, finding->op));
    const struct lumos_group *group = finding->group != LUMOS_NONE ? &result->job->groups.items[finding->group] : NULL;
    if (group != NULL && group->role != 0) {
      lumos_text_format(out, " of the %s group", lumos_role_name(group->role));
    }
  } else if (finding->cause == LUMOS_CAUSE_SYNCHRONIZATION && finding->op != LUMOS_NO_STRING) {
    lumos_text_put(out, "; most blocking is in ");
    put_name(result, finding->op, out);
  }
}

/* Where the critical path lies without late ranks; the words are of all ranks, and of one that has most of it. */
static const struct {
  const char *kind, *all, *one;
} places[] = {{"cpu", "CPUs", "CPU"},
              {"gpu", "GPU work", "GPU work"},
              {"communication", "communication", NULL},
              {"other", "delays between tasks", NULL}};
enum { PLACES = sizeof places / sizeof places[0] };

struct next_limit {
  size_t place;      /* PLACES: it was not looked for */
  int64_t time, all; /* there, and anywhere */
  int32_t rank;      /* that has most of the path there; LUMOS_ABSENT_INT */
};

/* The place on a metric's path; PLACES: it is no such metric. */
static size_t place_on_path(const struct lumos_job *job, const struct lumos_metric *metric) {
  if (metric->scope.kind == LUMOS_NO_STRING ||
      strcmp(lumos_string(job->strings, metric->name), "straggler_free_path") != 0) {
    return PLACES;
  }
  size_t k = 0;
  while (k < PLACES && strcmp(lumos_string(job->strings, metric->scope.kind), places[k].kind) != 0) {
    k++;
  }
  return k;
}

static struct next_limit find_next_limit(const struct lumos_job *job) {
  struct next_limit next = {PLACES, 0, 0, LUMOS_ABSENT_INT};
  int64_t times[PLACES] = {0}, longest = 0;
  for (int again = 0; again < 2; again++) { /* the place, then its rank */
    for (size_t i = 0; i < job->metrics.count; i++) {
      const struct lumos_metric *metric = &job->metrics.items[i];
      size_t place = place_on_path(job, metric);
      int64_t time = place < PLACES ? report_decimal_as(metric->value, 0) : 0;
      if (time > 0 && again == 0) {
        times[place] = report_sum(times[place], time);
        next.all = report_sum(next.all, time);
      } else if (time > longest && place == next.place && metric->scope.rank != LUMOS_ABSENT_INT) {
        longest = time;
        next.rank = metric->scope.rank;
      }
    }
    for (size_t k = 0; again == 0 && k < PLACES; k++) {
      next.place = times[k] > next.time ? k : next.place;
      next.time = times[k] > next.time ? times[k] : next.time;
    }
  }
  bool alone = longest > next.all / 2 && next.place < PLACES && places[next.place].one != NULL;
  next.rank = alone ? next.rank : LUMOS_ABSENT_INT;
  next.time = alone ? longest : next.time;
  return next;
}

/* "rank 0's CPU then limits the step (87.2 % of the critical path)": the largest of the places, where they were looked
 * for; the share only where it is asked for, and the rank with it, which is nothing without. */
static void put_next_limit(const struct lumos_job *job, const char *then, bool with_share, struct lumos_text *out) {
  struct next_limit next = find_next_limit(job);
  bool known = next.place < PLACES, one = with_share && next.rank != LUMOS_ABSENT_INT;
  if (one) {
    lumos_text_format(out, "rank %d\xE2\x80\x99s ", next.rank);
  }
  lumos_text_put(out, !known ? "something else" : one ? places[next.place].one : places[next.place].all);
  bool several = known && !one && strcmp(places[next.place].kind, "cpu") == 0;
  several |= known && strcmp(places[next.place].kind, "other") == 0;
  lumos_text_format(out, "%s %s the step", then, several ? "limit" : "limits");
  if (with_share && known) {
    lumos_text_put(out, " (");
    report_put_share(out, report_share(next.time, next.all));
    lumos_text_put(out, " of the critical path)");
  }
}

static bool limits_cpus(const struct lumos_job *job) {
  size_t place = find_next_limit(job).place;
  return place < PLACES && strcmp(places[place].kind, "cpu") == 0;
}

/* Does the cure of a delay gain clearly less than the delay? Then something else is nearly as late. */
static bool gains_less(const struct report_result *result, const struct diagnosis_gain *cure) {
  enum { MOST = 90 }; /* per cent of the delay: a gain of more needs no explanation */
  bool whole = cure->is_change && diagnosis_needs_change(cure->cause);
  int64_t saved = whole ? report_opportunity_gain(&result->opportunities, cure->time) : LUMOS_ABSENT;
  return saved != LUMOS_ABSENT && saved < diagnosis_time_late(&result->diagnosis.findings[0]) / 100 * MOST;
}

/* The gain of something else is what the remedy is about. */
static bool is_outdone(const struct report_result *result, const struct diagnosis_gain *cure) {
  struct diagnosis_gain gain = diagnosis_headline_gain(result);
  return !diagnosis_only_computes(result) && !diagnosis_same_gain(&gain, cure);
}

void diagnosis_put_next_late(const struct report_result *result, struct lumos_text *out) {
  struct diagnosis_gain cure = diagnosis_cure(result);
  if (is_outdone(result, &cure) && gains_less(result, &cure)) {
    lumos_text_put(out, "; without that delay, ");
    bool still = result->diagnosis.findings[0].cause == LUMOS_CAUSE_SLOW_CPU && limits_cpus(result->job);
    put_next_limit(result->job, still ? " still" : "", false, out);
  }
}

/* The action behind a gain that is no cure of the first finding. */
static void put_action_of(const struct report_result *result, const struct diagnosis_gain *gain,
                          struct lumos_text *out) {
  (gain->is_change ? report_put_improvement_action : report_put_opportunity_action)(&result->opportunities,
                                                                                    gain->opportunity, out);
}

/* Nothing was recorded on any GPU. */
static void put_recording_gpus(const struct report_result *result, struct lumos_text *out) {
  if (result->diagnosis.step_time > 0) {
    lumos_text_put(out, "If the job uses GPUs, record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].");
  }
}

void diagnosis_put_action(const struct report_result *result, struct lumos_text *out) {
  struct diagnosis_gain best = diagnosis_best_gain(result);
  if (diagnosis_only_computes(result)) {
    if (best.opportunity != NULL) {
      put_action_of(result, &best, out);
    }
  } else if (result->diagnosis.count > 0) {
    put_action(result, &result->diagnosis.findings[0], out);
    lumos_text_char(out, '.');
  } else {
    put_recording_gpus(result, out);
  }
}

/* "; without that delay a step would take 33.0 ms (-21.6 %)" behind what to do. */
static void put_gain_of_action(const struct report_result *result, const struct diagnosis_gain *gain, size_t start,
                               struct lumos_text *out) {
  bool goes_on = out->length > start && out->bytes[out->length - 1] == '.';
  out->length -= goes_on;
  lumos_text_put(out, goes_on ? "; " : "");
  size_t clause = out->length;
  diagnosis_put_gain(result, gain, out);
  if (goes_on) {
    out->bytes[clause] = lumos_ascii_lower(out->bytes[clause]);
  }
}

/* ", while removing that delay alone would save 1.5 %" */
static void put_outdone(const struct report_result *result, const struct diagnosis_gain *cure, struct lumos_text *out) {
  lumos_text_put(out, ", while ");
  size_t clause = out->length;
  diagnosis_put_changing(result, cure, out);
  out->bytes[clause] = lumos_ascii_lower(out->bytes[clause]);
  lumos_text_put(out, cure->at_most ? " alone would save up to " : " alone would save ");
  report_put_share(out, diagnosis_told_share(result, cure));
}

void diagnosis_put_remedy(const struct report_result *result, struct lumos_text *out) {
  struct diagnosis_gain gain = diagnosis_headline_gain(result), cure = diagnosis_cure(result);
  bool outdone = is_outdone(result, &cure);
  size_t start = out->length;
  bool after = diagnosis_asks_to_record(result) && gain.share != LUMOS_ABSENT;
  if (after) { /* one order of both */
    lumos_text_put(out, "First ");
    diagnosis_put_action(result, out);
    out->bytes[start + sizeof "First " - 1] = lumos_ascii_lower(out->bytes[start + sizeof "First " - 1]);
    lumos_text_put(out, " Then ");
    size_t then = out->length;
    put_action_of(result, &gain, out);
    out->bytes[then] = lumos_ascii_lower(out->bytes[then]);
    outdone = false;
  } else if (outdone) {
    put_action_of(result, &gain, out);
  } else {
    diagnosis_put_action(result, out);
  }
  if (gain.share == LUMOS_ABSENT) {
    return;
  }
  put_gain_of_action(result, &gain, start, out);
  if (outdone) {
    put_outdone(result, &cure, out);
  } else if (gains_less(result, &gain)) {
    lumos_text_put(out, "; less than the delay, because ");
    put_next_limit(result->job, " then", true, out);
  }
  lumos_text_char(out, '.');
}
