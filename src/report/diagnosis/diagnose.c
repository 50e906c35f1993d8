/* The diagnosis: each cause with what it costs, the worst first.
 *
 * Ranks that are late, a stage with more work and a slow link come first: what others wait for them is theirs and no
 * longer waiting. What is left of every part of the step is a finding of its own kind, so that nothing counts twice
 * among ranks of one step.
 */
#include <lumos/diagnosis.h>

#include "report/content/tally.h"
#include "report/diagnosis/blocked.h"
#include "report/diagnosis/confidence.h"
#include "report/diagnosis/excess.h"
#include "report/diagnosis/figures.h"
#include "report/diagnosis/imbalance.h"
#include "report/diagnosis/links.h"
#include "report/diagnosis/pace.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum {
  /* Chosen: what a reader would look into. Smaller overheads are listed, but are no diagnosis. */
  LEAST_SHARE = 50000, /* millionths of the step */
  LISTED_SHARE = 10000,
  MOST_OF = 2, /* an op is named where at least one in so many ns of the excess is its own */
};

LUMOS_VECTOR_TYPE(findings, struct lumos_finding);

struct diagnosing {
  const struct lumos_job *job;
  struct diagnosis_figures figures;
  struct diagnosis_parts left; /* of the step, what no finding has yet */
  int64_t unknown_starts;      /* what of left.not_recorded is waiting for ranks that are late for an unknown cause */
  struct findings findings;
};

static const struct lumos_finding empty = {.stage = LUMOS_ABSENT_INT,
                                           .layers = LUMOS_ABSENT_INT,
                                           .ratio = LUMOS_ABSENT,
                                           .part_ratio = LUMOS_ABSENT,
                                           .next = LUMOS_ABSENT_INT,
                                           .group = LUMOS_NONE,
                                           .op = LUMOS_NO_STRING,
                                           .annotation = LUMOS_NO_STRING,
                                           .op_time = LUMOS_ABSENT,
                                           .cpu_time = LUMOS_ABSENT};

static int64_t at_most(int64_t value, int64_t limit) { return value < limit ? value : limit; }
static int64_t at_least_zero(int64_t value) { return value > 0 ? value : 0; }

static void add_finding(struct diagnosing *search, struct lumos_finding finding) {
  finding.share = report_share(finding.time, search->figures.step);
  if (finding.time > 0 && finding.share >= LISTED_SHARE) {
    lumos_vector_push(&search->findings, finding);
  }
}

/* Take from what is left; what is not there is not taken. */
static void take(int64_t *part, int64_t time) { *part -= at_most(at_least_zero(time), *part); }

/* What the ranks that are not to blame wait for those that are, on the mean of all: no waiting any more. */
static void take_waiting(struct diagnosing *search, const struct lumos_finding *finding) {
  const struct lumos_job *job = search->job;
  __int128 waits = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    bool blamed = false;
    for (uint32_t i = 0; i < finding->rank_count; i++) {
      blamed |= finding->ranks[i] == r;
    }
    int64_t wait = blamed ? 0 : at_most(search->figures.ranks[r].waits, finding->time);
    waits += (__int128)wait * lumos_rank_weight(&job->ranks.items[r]);
  }
  int64_t mean = (int64_t)(waits / search->figures.weight);
  int64_t of_bubble = at_least_zero(mean - search->left.wait);
  take(&search->left.wait, mean);
  take(&search->left.bubble, of_bubble);
}

/* ---- The network ---- */

static void find_slow_link(struct diagnosing *search) {
  struct diagnosis_link link = diagnosis_slow_link(&search->figures);
  if (link.collective == LUMOS_NONE) {
    return;
  }
  const struct lumos_job *job = search->job;
  const struct lumos_collective *collective = &job->collectives.items[link.collective];
  struct lumos_finding finding = empty;
  finding.cause = LUMOS_CAUSE_SLOW_LINK;
  finding.time = at_most(link.excess, search->figures.step); /* transfers beside each other add up to more */
  finding.ratio = link.ratio;
  finding.op = collective->op;
  finding.op_time = link.excess;
  for (uint32_t m = 0; m < collective->member_count && finding.rank_count < LUMOS_FINDING_RANKS; m++) {
    const struct lumos_task *member = &job->tasks.items[job->members.items[collective->member_first + m]];
    finding.rank_times[finding.rank_count] = link.excess;
    finding.ranks[finding.rank_count++] = lumos_rank_of(job, member);
  }
  take(&search->left.transfer, (int64_t)((__int128)link.excess * finding.rank_count / search->figures.weight));
  take_waiting(search, &finding);
  add_finding(search, finding);
}

/* ---- Late ranks ---- */

static bool has_slow_kernels(const struct diagnosis_rank *rank) {
  return rank->pace != LUMOS_ABSENT && rank->pace >= DIAGNOSIS_SLOW_PACE;
}

/* A straggler's kernels need not be slow by as much as those of a rank that is known by them alone. */
static bool has_slower_kernels(const struct diagnosis_rank *rank) {
  return rank->pace != LUMOS_ABSENT && rank->pace >= (rank->straggler ? DIAGNOSIS_SLOWER_PACE : DIAGNOSIS_SLOW_PACE);
}

/* A rank that does what no other does meets nobody who would be earlier: what its kernels take longer is known all the
 * same. */
static int64_t lateness(const struct diagnosis_rank *rank) {
  if (!rank->straggler && has_slow_kernels(rank)) {
    return rank->compute - (int64_t)((__int128)rank->compute * 1000000 / rank->pace);
  }
  return at_least_zero(report_sum(rank->late_compute, rank->late_host));
}

/* The median over other ranks is not needed: a late rank stands out, or it is not this. */
static bool is_unrecorded(const struct diagnosis_figures *figures, uint32_t rank) {
  int64_t least = INT64_MAX;
  for (uint32_t r = 0; r < figures->job->ranks.count; r++) {
    least = figures->ranks[r].steps > 0 ? at_most(figures->ranks[r].not_recorded, least) : least;
  }
  return figures->ranks[rank].not_recorded - least > lateness(&figures->ranks[rank]) / MOST_OF;
}

static enum lumos_cause cause_of(const struct diagnosis_figures *figures, uint32_t rank) {
  const struct diagnosis_rank *late = &figures->ranks[rank];
  if (is_unrecorded(figures, rank)) {
    return LUMOS_CAUSE_UNRECORDED_RANK;
  }
  /* Compute that is late where kernels are not slow was launched late. */
  bool slow = late->pace == LUMOS_ABSENT ? late->late_compute > late->late_host
                                         : has_slower_kernels(late) && late->late_compute >= late->late_host;
  return slow ? LUMOS_CAUSE_SLOW_GPU : LUMOS_CAUSE_SLOW_CPU;
}

static void name_op(struct lumos_finding *finding, const struct diagnosis_excess *excess) {
  if (excess->name != LUMOS_NO_STRING && excess->time > finding->time / MOST_OF) {
    finding->op = excess->name;
    finding->before_op = excess->before;
    finding->annotation = excess->annotation;
    finding->op_time = excess->time;
  }
}

/* Most of what the rank is late by is what it waits for data longer than on the mean. */
static void explain_by_loader(const struct diagnosis_figures *figures, struct lumos_finding *finding) {
  struct diagnosis_blocked own = diagnosis_blocked_by_loader(figures, finding->ranks[0]);
  struct diagnosis_blocked mean = diagnosis_blocked_by_loader(figures, LUMOS_NONE);
  if (own.time - mean.time > finding->time / MOST_OF) {
    finding->cause = LUMOS_CAUSE_DATA_LOADER;
    finding->op = own.op;
    finding->before_op = false;
    finding->annotation = LUMOS_NO_STRING;
    finding->op_time = own.op_time;
  }
}

/* Why the first of its ranks is late. */
static void explain(const struct diagnosis_figures *figures, struct lumos_finding *finding) {
  if (finding->cause == LUMOS_CAUSE_SLOW_GPU) {
    struct diagnosis_excess excess = diagnosis_kernel_excess(figures, finding->ranks[0]);
    name_op(finding, &excess);
    finding->ratio = report_share(excess.own, excess.others);
  } else if (finding->cause == LUMOS_CAUSE_SLOW_CPU) {
    struct diagnosis_excess excess = diagnosis_thread_excess(figures, finding->ranks[0]);
    name_op(finding, &excess);
    finding->ratio = report_share(excess.own, excess.others);
    explain_by_loader(figures, finding);
  } else if (finding->cause == LUMOS_CAUSE_UNRECORDED_RANK) {
    finding->cpu_time = at_most(at_least_zero(figures->ranks[finding->ranks[0]].late_host), finding->rank_times[0]);
  }
}

static int64_t longest_wait(const struct diagnosis_figures *figures) {
  int64_t longest = 0;
  for (uint32_t r = 0; r < figures->job->ranks.count; r++) {
    longest = figures->ranks[r].waits > longest ? figures->ranks[r].waits : longest;
  }
  return longest;
}

/* Neither its kernels nor its threads take longer than others': the rank waits for somebody itself, beside whose
 * communication its kernels run. */
static bool has_ordinary_kernels(const struct diagnosis_rank *late, int64_t ratio) {
  return late->pace != LUMOS_ABSENT && !has_slower_kernels(late) && late->late_compute > late->late_host &&
         ratio < DIAGNOSIS_SLOW_PACE;
}

static bool waits_for_data(const struct diagnosis_figures *figures, uint32_t rank) {
  int64_t own = diagnosis_blocked_by_loader(figures, rank).time;
  return own - diagnosis_blocked_by_loader(figures, LUMOS_NONE).time > lateness(&figures->ranks[rank]) / MOST_OF;
}

/* Its threads take hardly longer than those of similar ranks, it is late by no more than that can make of a step, and
 * no op stands out: where CPUs set the pace some rank is always the latest, and nothing is wrong with it. */
static bool has_ordinary_threads(const struct diagnosis_figures *figures, uint32_t rank,
                                 const struct diagnosis_excess *threads, int64_t ratio) {
  int64_t late = at_most(lateness(&figures->ranks[rank]), at_least_zero(figures->ranks[rank].late_always));
  return cause_of(figures, rank) == LUMOS_CAUSE_SLOW_CPU && ratio < DIAGNOSIS_SLOW_CPU &&
         report_share(late, figures->step) < DIAGNOSIS_SLOW_CPU - 1000000 && threads->time <= late / MOST_OF &&
         !waits_for_data(figures, rank);
}

/* Over every step, be it left out of means: more steps say better what comes again. */
static bool is_excused(const struct diagnosis_figures *figures, uint32_t rank) {
  struct diagnosis_figures always = *figures;
  size_t count = figures->job->ranks.count;
  always.every = true;
  always.ranks = lumos_allocate(count * sizeof *always.ranks);
  for (size_t r = 0; r < count; r++) {
    always.ranks[r] = figures->ranks[r];
    always.ranks[r].steps = figures->ranks[r].late_steps > 0 ? figures->ranks[r].late_steps : figures->ranks[r].steps;
  }
  struct diagnosis_excess threads = diagnosis_thread_excess(&always, rank);
  free(always.ranks);
  int64_t ratio = report_share(threads.own, threads.others);
  return ratio != LUMOS_ABSENT &&
         (has_ordinary_kernels(&figures->ranks[rank], ratio) || has_ordinary_threads(figures, rank, &threads, ratio));
}

/* The latest straggler for this cause that no finding has; LUMOS_NONE. */
static uint32_t latest(const struct diagnosis_figures *figures, const bool *named, enum lumos_cause cause) {
  uint32_t found = LUMOS_NONE;
  for (uint32_t r = 0; r < figures->job->ranks.count; r++) {
    bool late = figures->ranks[r].straggler || has_slow_kernels(&figures->ranks[r]);
    if (late && !named[r] && cause_of(figures, r) == cause &&
        (found == LUMOS_NONE || lateness(&figures->ranks[r]) > lateness(&figures->ranks[found]))) {
      found = r;
    }
  }
  return found;
}

/* The stragglers of one cause; they are late side by side, so that the latest is what they cost. */
static void find_late(struct diagnosing *search, enum lumos_cause cause, bool *named) {
  const struct diagnosis_figures *figures = &search->figures;
  struct lumos_finding finding = empty;
  finding.cause = cause;
  uint32_t rank = 0;
  while (finding.rank_count < LUMOS_FINDING_RANKS && (rank = latest(figures, named, cause)) != LUMOS_NONE) {
    named[rank] = true;
    finding.rank_times[finding.rank_count] = lateness(&figures->ranks[rank]);
    finding.ranks[finding.rank_count++] = rank;
  }
  if (finding.rank_count > 0) {
    finding.time = at_most(finding.rank_times[0], longest_wait(figures));
    explain(figures, &finding);
    take_waiting(search, &finding);
    const struct lumos_rank *first = &search->job->ranks.items[finding.ranks[0]];
    __int128 late = (__int128)figures->ranks[finding.ranks[0]].late_host * lumos_rank_weight(first);
    int64_t own = (int64_t)(late / figures->weight);
    take(cause == LUMOS_CAUSE_UNRECORDED_RANK ? &search->left.not_recorded : &search->left.idle_host,
         cause == LUMOS_CAUSE_SLOW_GPU ? 0 : own);
    add_finding(search, finding);
  }
}

/* Kernels beside a transfer are slower, so that those of a slow link's ranks are, too. */
static void excuse_ranks_of_links(const struct diagnosing *search, bool *named) {
  for (size_t i = 0; i < search->findings.count; i++) {
    const struct lumos_finding *link = &search->findings.items[i];
    for (uint32_t r = 0; r < link->rank_count; r++) {
      const struct diagnosis_rank *rank = &search->figures.ranks[link->ranks[r]];
      named[link->ranks[r]] |= rank->late_compute > rank->late_host && lateness(rank) < link->time;
    }
  }
}

static void find_late_ranks(struct diagnosing *search) {
  static const enum lumos_cause causes[] = {LUMOS_CAUSE_SLOW_CPU, LUMOS_CAUSE_SLOW_GPU, LUMOS_CAUSE_UNRECORDED_RANK};
  bool *named = lumos_allocate_zeroed(search->job->ranks.count + 1, sizeof *named);
  excuse_ranks_of_links(search, named);
  for (uint32_t r = 0; r < search->job->ranks.count; r++) {
    named[r] |= search->figures.ranks[r].straggler && is_excused(&search->figures, r);
  }
  for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
    find_late(search, causes[i], named);
  }
  free(named);
}

/* A rank that is late for a cause that was not recorded, as where its recording begins later, is late by nothing that
 * its CPU is known to do: those that are there before it wait for what is not recorded. */
static void take_waiting_for_unknown(struct diagnosing *search) {
  const struct lumos_job *job = search->job;
  const struct diagnosis_rank *ranks = search->figures.ranks;
  int64_t latest_by = 0;
  __int128 waits = 0;
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    latest_by = ranks[r].late_unknown > latest_by ? ranks[r].late_unknown : latest_by;
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    int64_t wait = at_most(ranks[r].waits, latest_by - at_least_zero(ranks[r].late_unknown));
    waits += (__int128)wait * lumos_rank_weight(&job->ranks.items[r]);
  }
  search->unknown_starts = at_most((int64_t)(waits / search->figures.weight), search->left.wait);
  take(&search->left.wait, search->unknown_starts);
  search->left.not_recorded = report_sum(search->left.not_recorded, search->unknown_starts);
}

/* ---- The pipeline ---- */

static void find_imbalance(struct diagnosing *search) {
  struct diagnosis_imbalance imbalance = diagnosis_find_imbalance(&search->figures);
  if (imbalance.stage == LUMOS_ABSENT_INT) {
    return;
  }
  struct lumos_finding finding = empty;
  finding.cause = LUMOS_CAUSE_IMBALANCE;
  finding.time = at_most(imbalance.cost, search->left.bubble);
  finding.stage = imbalance.stage;
  finding.ratio = imbalance.ratio;
  finding.layers = imbalance.layers;
  finding.stages = imbalance.stages;
  finding.idle = imbalance.idle;
  finding.next = imbalance.next;
  memcpy(finding.split, imbalance.split, sizeof finding.split);
  if (imbalance.part != 0) {
    finding.part = imbalance.part;
    finding.op_time = imbalance.part_time;
    finding.part_ratio = imbalance.part_ratio;
  }
  for (uint32_t r = 0; r < search->job->ranks.count && finding.rank_count < LUMOS_FINDING_RANKS; r++) {
    const struct lumos_rank *rank = &search->job->ranks.items[r];
    if (rank->has_parallel && rank->parallel.pp == finding.stage && search->figures.ranks[r].steps > 0) {
      finding.rank_times[finding.rank_count] = search->figures.ranks[r].compute;
      finding.ranks[finding.rank_count++] = r;
    }
  }
  take(&search->left.bubble, finding.time);
  add_finding(search, finding);
}

/* ---- What is left ---- */

/* The op at which threads are while most GPUs are idle; LUMOS_NO_STRING. */
static lumos_string_id longest_op(const struct diagnosing *search, int64_t *time) {
  const struct lumos_job *job = search->job;
  struct report_tallies ops;
  report_tallies_begin(&ops, job->strings);
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    lumos_string_id op = metric->scope.op;
    if (op != LUMOS_NO_STRING && strcmp(lumos_string(job->strings, metric->name), "idle_at_op") == 0 &&
        lumos_string(job->strings, op)[0] != '(' && diagnosis_counts_step(&search->figures, metric->scope.step)) {
      report_tally_add(&ops, op, 0, at_least_zero(report_decimal_as(metric->value, 0)), 1);
    }
  }
  report_tallies_sort(&ops);
  bool any = ops.rows.count > 0 && ops.rows.items[0].total > 0;
  lumos_string_id longest = any ? ops.rows.items[0].name : LUMOS_NO_STRING;
  *time = any ? ops.rows.items[0].total / search->figures.steps : 0;
  report_tallies_free(&ops);
  return longest;
}

static void find_loader(struct diagnosing *search) {
  struct diagnosis_blocked loader = diagnosis_blocked_by_loader(&search->figures, LUMOS_NONE);
  struct lumos_finding finding = empty;
  finding.cause = LUMOS_CAUSE_DATA_LOADER;
  finding.time = at_most(loader.time, search->left.idle_host);
  finding.op = loader.op;
  finding.op_time = loader.op_time;
  take(&search->left.idle_host, finding.time);
  add_finding(search, finding);
}

/* Do threads' own pace and calls take most of the critical path? Then ranks wait for each other's CPUs. */
static bool cpus_set_the_pace(const struct diagnosing *search) {
  static const char *const kinds[] = {"op", "launch", "host_gap", "event", "handover", "other_host"};
  const struct lumos_job *job = search->job;
  int64_t all = 0, host = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (strcmp(lumos_string(job->strings, metric->name), "critical_path_kind") != 0 ||
        !diagnosis_counts_step(&search->figures, metric->scope.step)) {
      continue;
    }
    int64_t value = at_least_zero(report_decimal_as(metric->value, 0));
    all = report_sum(all, value);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
      host += strcmp(lumos_string(job->strings, metric->scope.kind), kinds[k]) == 0 ? value : 0;
    }
  }
  return host > all - host;
}

/* What recording takes is on threads, and so in what GPUs wait for them. */
static void find_profiler(struct diagnosing *search) {
  struct diagnosis_parts *left = &search->left;
  struct lumos_finding finding = empty;
  finding.cause = LUMOS_CAUSE_PROFILER;
  finding.time =
      at_most(diagnosis_recording_cost(search->figures.facts), report_sum(left->idle_host, left->idle_launch));
  if (finding.time > 0) {
    int64_t of_launches = at_least_zero(finding.time - left->idle_host);
    take(&left->idle_host, finding.time);
    take(&left->idle_launch, of_launches);
    add_finding(search, finding);
  }
}

/* A CPU that is blocked for some time of a step could have been ahead of its GPU by as much, so that the GPU is idle
 * for the synchronization's sake; what is idle beyond that is the CPU's own pace. */
static void find_idle(struct diagnosing *search) {
  struct diagnosis_parts *left = &search->left;
  find_profiler(search);
  struct diagnosis_blocked blocked = diagnosis_blocked_by_gpu(&search->figures);
  int64_t starved = report_sum(left->idle_host, left->idle_launch);
  int64_t avoidable = at_most(starved, at_least_zero(blocked.time - left->idle_sync));
  struct lumos_finding finding = empty;
  finding.cause = LUMOS_CAUSE_SYNCHRONIZATION;
  finding.time = report_sum(left->idle_sync, avoidable);
  finding.op = blocked.op;
  finding.op_time = blocked.op_time;
  add_finding(search, finding);
  finding.cause = LUMOS_CAUSE_CPU_BOUND;
  finding.time = starved - avoidable;
  if (cpus_set_the_pace(search)) {
    finding.time = report_sum(finding.time, left->wait);
    finding.waiting = left->wait;
    left->wait = 0;
  }
  finding.op = longest_op(search, &finding.op_time);
  add_finding(search, finding);
}

/* Whom others wait for while it is late for a cause that was not recorded, the latest first. */
static void name_unknown_ranks(const struct diagnosing *search, struct lumos_finding *finding) {
  enum { NEARLY = 80 }; /* per cent of the latest: as of stragglers */
  const struct lumos_job *job = search->job;
  const struct diagnosis_rank *ranks = search->figures.ranks;
  bool *named = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *named);
  for (size_t i = 0; i < search->findings.count; i++) {
    for (uint32_t r = 0; r < search->findings.items[i].rank_count; r++) {
      named[search->findings.items[i].ranks[r]] = true;
    }
  }
  while (finding->rank_count < LUMOS_FINDING_RANKS) {
    uint32_t latest = LUMOS_NONE;
    for (uint32_t r = 0; r < job->ranks.count; r++) {
      bool later = latest == LUMOS_NONE || ranks[r].late_unknown > ranks[latest].late_unknown;
      latest = !named[r] && ranks[r].last && ranks[r].late_unknown > 0 && later ? r : latest;
    }
    if (latest == LUMOS_NONE || ranks[latest].late_unknown / NEARLY < finding->rank_times[0] / 100) {
      break;
    }
    named[latest] = true;
    finding->rank_times[finding->rank_count] = ranks[latest].late_unknown;
    finding->ranks[finding->rank_count++] = latest;
  }
  free(named);
}

static void find_rest(struct diagnosing *search) {
  const struct diagnosis_parts *left = &search->left;
  const struct {
    enum lumos_cause cause;
    int64_t time;
  } rest[] = {
      {LUMOS_CAUSE_WAITING, left->wait},           {LUMOS_CAUSE_BUBBLE, left->bubble},
      {LUMOS_CAUSE_COMMUNICATION, left->transfer}, {LUMOS_CAUSE_COPIES, left->copies},
      {LUMOS_CAUSE_IDLE, left->idle_other},        {LUMOS_CAUSE_NOT_RECORDED, left->not_recorded},
      {LUMOS_CAUSE_UNSPLIT, left->unsplit},
  };
  for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
    struct lumos_finding finding = empty;
    finding.cause = rest[i].cause;
    finding.time = rest[i].time;
    finding.waiting = rest[i].cause == LUMOS_CAUSE_NOT_RECORDED ? search->unknown_starts : 0;
    add_finding(search, finding);
  }
}

/* The group and operation that most of the exposed transfer may be of: the longest transfers. */
static void name_communication(struct diagnosing *search) {
  const struct lumos_job *job = search->job;
  int64_t longest = 0;
  struct lumos_finding named = empty;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    int64_t value = at_least_zero(report_decimal_as(metric->value, 0));
    if (metric->scope.group != LUMOS_NO_STRING && metric->scope.op != LUMOS_NO_STRING && value > longest &&
        diagnosis_is_spoken(&search->figures, metric) && diagnosis_counts_step(&search->figures, metric->scope.step) &&
        strcmp(lumos_string(job->strings, metric->name), "collective_transfer") == 0) {
      longest = value;
      named.op = metric->scope.op;
      for (uint32_t g = 0; g < job->groups.count; g++) {
        named.group = job->groups.items[g].id == metric->scope.group ? g : named.group;
      }
    }
  }
  for (size_t i = 0; i < search->findings.count; i++) {
    if (search->findings.items[i].cause == LUMOS_CAUSE_COMMUNICATION) {
      search->findings.items[i].op = named.op;
      search->findings.items[i].group = named.group;
    }
  }
}

static int by_time(const void *left, const void *right) {
  const struct lumos_finding *a = left, *b = right;
  bool profiler = a->cause == LUMOS_CAUSE_PROFILER, other = b->cause == LUMOS_CAUSE_PROFILER;
  if (profiler != other) {
    return profiler ? 1 : -1;
  }
  return a->time != b->time ? LUMOS_ORDER(b->time, a->time) : LUMOS_ORDER(a->cause, b->cause);
}

/* A rank of whom it is known how late it is goes before what else was not recorded, unless that is most of both. */
static void put_unrecorded_rank_first(struct diagnosing *search) {
  struct lumos_finding *items = search->findings.items;
  for (size_t i = 1; i < search->findings.count && items[0].cause == LUMOS_CAUSE_NOT_RECORDED; i++) {
    if (items[i].cause == LUMOS_CAUSE_UNRECORDED_RANK && items[i].time >= items[0].time / MOST_OF) {
      struct lumos_finding late = items[i];
      memmove(&items[1], &items[0], i * sizeof late);
      items[0] = late;
    }
  }
}

/* Nobody is accused beside what is known, nor for little. */
static void name_first_unknown(struct diagnosing *search) {
  struct lumos_finding *first = search->findings.items;
  if (search->findings.count > 0 && first->cause == LUMOS_CAUSE_NOT_RECORDED &&
      report_share(first->waiting, search->figures.step) >= LEAST_SHARE) {
    name_unknown_ranks(search, first);
  }
}

/* Where nothing is large the GPUs compute, which is then what there is to say. */
static void find_compute(struct diagnosing *search) {
  struct findings *findings = &search->findings;
  struct lumos_finding finding = empty;
  finding.cause = LUMOS_CAUSE_COMPUTE;
  finding.time = search->figures.parts.compute;
  finding.share = report_share(finding.time, search->figures.step);
  bool alone = findings->count == 0 || findings->items[0].cause == LUMOS_CAUSE_PROFILER;
  size_t last = findings->count;
  last -= last > 0 && findings->items[last - 1].cause == LUMOS_CAUSE_PROFILER;
  size_t at = alone || findings->items[0].share < LEAST_SHARE ? 0 : last;
  lumos_vector_push(findings, finding);
  memmove(&findings->items[at + 1], &findings->items[at], (findings->count - 1 - at) * sizeof finding);
  findings->items[at] = finding;
}

void lumos_diagnose(const struct lumos_job *job, struct lumos_diagnosis *diagnosis) {
  struct report_facts facts;
  report_facts_read(job, &facts);
  struct diagnosing search = {.job = job};
  *diagnosis = (struct lumos_diagnosis){.step_time = LUMOS_ABSENT, .edited = facts.edited};
  if (diagnosis_figures_read(&facts, &search.figures)) {
    diagnosis_read_paces(&search.figures);
    search.left = search.figures.parts;
    find_slow_link(&search);
    find_late_ranks(&search);
    take_waiting_for_unknown(&search);
    find_imbalance(&search);
    find_loader(&search);
    find_idle(&search);
    find_rest(&search);
    name_communication(&search);
    lumos_vector_sort(&search.findings, by_time);
    put_unrecorded_rank_first(&search);
    name_first_unknown(&search);
    find_compute(&search);
    diagnosis->findings = search.findings.items;
    diagnosis->count = search.findings.count;
  }
  diagnosis->step_time = search.figures.step;
  diagnosis->cpus_set_pace = diagnosis->count > 0 && cpus_set_the_pace(&search);
  diagnosis_judge(&search.figures, diagnosis);
  diagnosis_figures_free(&search.figures);
  report_facts_free(&facts);
}

void lumos_diagnosis_free(struct lumos_diagnosis *diagnosis) {
  free(diagnosis->findings);
  diagnosis->findings = NULL;
  diagnosis->count = 0;
}

static const char *const names[LUMOS_CAUSES] = {
    "compute",   "slow_cpu", "slow_gpu",     "unrecorded_rank", "data_loader", "slow_link",
    "imbalance", "bubble",   "waiting",      "communication",   "cpu_bound",   "synchronization",
    "copies",    "idle",     "not_recorded", "unsplit",         "profiler"};

const char *lumos_cause_name(enum lumos_cause cause) { return names[cause]; }
