/* What communication costs: on every collective's record, by group and operation, and who waits for whom.
 *
 * A membership is a kernel in one collective. It waits from its start to that of the last member that it waits for, and
 * transfers from then on; a kernel of a batch is a membership in each of its pairs. So waiting adds up alike by
 * collective, by group and operation, and by rank and the rank waited for, which is checked.
 *
 * A membership of a rank that stands for several counts as so many. Where those of a collective are more than its size,
 * its record stands for others like it, of the replicas that are left out; where they are as many, for one that its
 * members' replicas have part in.
 */
#include "sim/collectives.h"

#include "sim/arrival.h"
#include "sim/clock.h"
#include "sim/metrics.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  /* Chosen: they bound a report's length; the rest is added up. */
  MOST_ROWS = 200, /* pairs of a group and an operation with metrics of their own */
  MOST_PEERS = 16, /* of a rank in a step */
};

/* ---- Bandwidth and label ---- */

/* The factors are those of nccl-tests (doc/PERFORMANCE.md). */
enum factor { FACTOR_ONE, FACTOR_ONCE, FACTOR_TWICE }; /* (n - 1) / n, and twice that */

double lumos_bus_factor(const char *op, int32_t size) {
  static const struct {
    const char *op;
    enum factor factor;
  } factors[] = {
      {"all_reduce", FACTOR_TWICE}, {"all_gather", FACTOR_ONCE}, {"reduce_scatter", FACTOR_ONCE},
      {"all_to_all", FACTOR_ONCE},  {"gather", FACTOR_ONCE},     {"scatter", FACTOR_ONCE},
      {"broadcast", FACTOR_ONE},    {"reduce", FACTOR_ONE},      {"send", FACTOR_ONE},
      {"recv", FACTOR_ONE},         {"send_recv", FACTOR_ONE},
  };
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
    if (strcmp(op, factors[i].op) == 0 && size > 1) {
      double once = (size - 1.0) / size;
      return factors[i].factor == FACTOR_ONE ? 1 : factors[i].factor == FACTOR_ONCE ? once : 2 * once;
    }
  }
  return -1;
}

/* Thirds are chosen: most of the time, little of it, or neither. */
enum lumos_label lumos_collective_label(int64_t wait, int64_t time, int64_t doubt) {
  if (time <= 0 || doubt > time / 3) {
    return LUMOS_INCONCLUSIVE;
  }
  return wait >= time - time / 3 ? LUMOS_ARRIVAL_SKEW : wait <= time / 3 ? LUMOS_TRANSFERS : LUMOS_MIXED;
}

/* Bytes in a nanosecond are GB/s. Absent where it is not known, or no number of a stream. */
static struct lumos_decimal bandwidth(double bytes, int64_t time) {
  enum { DECIMALS = 6, UNITS = 1000000 };
  struct lumos_decimal none = {LUMOS_ABSENT, 0};
  double units = time > 0 && bytes >= 0 ? bytes * UNITS / (double)time : INFINITY;
  return units < (double)LUMOS_TIME_LIMIT ? (struct lumos_decimal){llround(units), DECIMALS} : none;
}

/* ---- Reading ---- */

/* What a collective, or a kernel that is in none, adds to its group and operation. */
struct cost {
  lumos_string_id group, op;
  int32_t step;
  int64_t count, time, transfer, wait, unsplit;
  int64_t bytes;               /* LUMOS_ABSENT: not known */
  int64_t bus_bytes, bus_time; /* of those whose bandwidth is known: bytes on the bus, and transfer */
};
LUMOS_VECTOR_TYPE(costs, struct cost);

/* A rank's waiting for another one. */
struct waiting {
  uint32_t rank, peer; /* indices */
  int32_t step;
  int64_t wait;
};
LUMOS_VECTOR_TYPE(waitings, struct waiting);

struct survey {
  struct lumos_job *job;
  const struct lumos_timeline *timeline;
  struct costs costs;
  struct waitings waitings;
  uint8_t *joined;           /* by task: it is in a collective */
  lumos_string_id send_recv; /* what a send with its receive is called */
};

/* A pair is listed under the operation of either side. */
static lumos_string_id op_of(const struct survey *survey, const struct lumos_collective *collective) {
  return collective->rule == LUMOS_PAIR || collective->rule == LUMOS_BATCHED ? survey->send_recv : collective->op;
}

/* Of the members that have a step the latest. */
static int32_t step_of(const struct lumos_job *job, const struct lumos_collective *collective) {
  int32_t step = LUMOS_ABSENT_INT;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    int32_t own = job->tasks.items[job->members.items[collective->member_first + m]].step;
    step = own > step ? own : step;
  }
  return step;
}

/* The transfer that this timeline has: a change is not in the measured one. */
static int64_t transfer_of(const struct survey *survey, const struct lumos_collective *collective) {
  bool before = survey->timeline->runs == NULL && collective->was != LUMOS_ABSENT;
  return before ? collective->was : collective->transfer;
}

int64_t lumos_collective_count(const struct lumos_job *job, const struct lumos_collective *collective) {
  int64_t count = collective->size > 0 ? lumos_collective_weight(job, collective) / collective->size : 1;
  return count > 1 ? count : 1;
}

/* How far all members of one collective together may be off. */
static int64_t doubt_of(const struct lumos_job *job, const struct lumos_collective *collective) {
  int64_t error = 0;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t task = job->members.items[collective->member_first + m];
    int64_t own = job->ranks.items[lumos_rank_of(job, &job->tasks.items[task])].clock.error;
    error = own != LUMOS_ABSENT && own > error ? own : error;
  }
  int64_t members = lumos_collective_weight(job, collective) / lumos_collective_count(job, collective);
  return error < LUMOS_TIME_LIMIT / (members + 1) ? error * members : LUMOS_TIME_LIMIT;
}

/* Waiting of one member. */
static int64_t wait_of(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t member,
                       int64_t latest, int64_t start, int64_t end) {
  int64_t until = latest < end ? latest : end;
  return until > start && lumos_member_waits(job, collective, member) ? until - start : 0;
}

static void survey_members(struct survey *survey, const struct lumos_collective *collective,
                           const struct lumos_arrival *arrival, bool split, struct cost *cost) {
  const struct lumos_job *job = survey->job;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t member = job->members.items[collective->member_first + m];
    int64_t start = 0;
    int64_t end = 0;
    survey->joined[member] = 1;
    if (!lumos_task_interval(job, survey->timeline->runs, member, &start, &end)) {
      continue;
    }
    int64_t weight = lumos_task_weight(job, &job->tasks.items[member]);
    cost->time = lumos_time_sum(cost->time, lumos_time_product(end - start, weight));
    if (!split) {
      continue;
    }
    struct waiting waiting = {.rank = lumos_rank_of(job, &job->tasks.items[member]),
                              .peer = lumos_rank_of(job, &job->tasks.items[arrival->last]),
                              .step = cost->step,
                              .wait = wait_of(job, collective, member, arrival->latest, start, end)};
    cost->wait = lumos_time_sum(cost->wait, lumos_time_product(waiting.wait, weight));
    if (cost->step != LUMOS_ABSENT_INT) {
      lumos_vector_push(&survey->waitings, waiting);
    }
  }
}

static void write_record(struct survey *survey, struct lumos_collective *collective,
                         const struct lumos_arrival *arrival, bool split, const struct cost *cost) {
  const struct lumos_job *job = survey->job;
  double factor = lumos_bus_factor(lumos_string(job->strings, op_of(survey, collective)), collective->size);
  bool rated = collective->bytes != LUMOS_ABSENT && collective->transfer != LUMOS_ABSENT && factor >= 0;
  struct lumos_decimal none = {LUMOS_ABSENT, 0};
  collective->algorithm_bandwidth = rated ? bandwidth((double)collective->bytes, collective->transfer) : none;
  collective->bus_bandwidth = rated ? bandwidth((double)collective->bytes * factor, collective->transfer) : none;
  collective->wait = split ? cost->wait / cost->count : LUMOS_ABSENT;
  collective->waited_for =
      split ? job->ranks.items[lumos_rank_of(job, &job->tasks.items[arrival->last])].rank : LUMOS_ABSENT_INT;
  bool coupled = lumos_is_coupled(job, collective);
  enum lumos_label label = LUMOS_INCONCLUSIVE;
  if (split) {
    label = lumos_collective_label(cost->wait / cost->count, cost->time / cost->count, doubt_of(job, collective));
  }
  collective->label = coupled ? (uint8_t)label : 0;
}

static void survey_collective(struct survey *survey, struct lumos_collective *collective) {
  const struct lumos_job *job = survey->job;
  struct lumos_arrival arrival = lumos_arrival_of(job, survey->timeline->runs, collective);
  bool split = lumos_is_coupled(job, collective) && arrival.comparable && arrival.last != LUMOS_NONE;
  struct cost cost = {.group = collective->group,
                      .op = op_of(survey, collective),
                      .step = step_of(job, collective),
                      .count = lumos_collective_count(job, collective),
                      .bytes = collective->bytes};
  survey_members(survey, collective, &arrival, split, &cost);
  cost.transfer = split ? cost.time - cost.wait : 0;
  cost.unsplit = split ? 0 : cost.time;
  int64_t transfer = transfer_of(survey, collective);
  double factor = lumos_bus_factor(lumos_string(job->strings, cost.op), collective->size);
  if (cost.bytes != LUMOS_ABSENT && transfer != LUMOS_ABSENT && transfer > 0 && factor >= 0) {
    cost.bus_bytes = lumos_time_product(llround((double)cost.bytes * factor), cost.count);
    cost.bus_time = lumos_time_product(transfer, cost.count);
  }
  cost.bytes = cost.bytes == LUMOS_ABSENT ? LUMOS_ABSENT : lumos_time_product(cost.bytes, cost.count);
  if (survey->timeline->runs != NULL) {
    write_record(survey, collective, &arrival, split, &cost);
  }
  if (cost.step != LUMOS_ABSENT_INT) {
    lumos_vector_push(&survey->costs, cost);
  }
}

/* Kernels that are joined with no others: nothing of them can be split. */
static void survey_alone(struct survey *survey) {
  const struct lumos_job *job = survey->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    int64_t start = 0;
    int64_t end = 0;
    if (!lumos_is_communication(task->kind) || survey->joined[t] || task->step == LUMOS_ABSENT_INT ||
        !lumos_on_stream(job, task) || !lumos_task_interval(job, survey->timeline->runs, t, &start, &end)) {
      continue;
    }
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    bool sized = comm->op != LUMOS_NO_STRING && comm->bytes != LUMOS_ABSENT;
    int64_t weight = lumos_task_weight(job, task), time = lumos_time_product(end - start, weight);
    struct cost cost = {.group = comm->group,
                        .op = comm->op,
                        .step = task->step,
                        .count = weight,
                        .time = time,
                        .unsplit = time,
                        .bytes = sized ? lumos_time_product(comm->bytes, weight) : LUMOS_ABSENT};
    lumos_vector_push(&survey->costs, cost);
  }
}

/* ---- By group and operation ---- */

static int compare_pairs(const struct cost *a, const struct cost *b) {
  return a->group != b->group ? LUMOS_ORDER(a->group, b->group) : LUMOS_ORDER(a->op, b->op);
}

static int compare_costs(const void *left, const void *right) {
  const struct cost *a = left, *b = right;
  int pair = compare_pairs(a, b);
  return pair != 0 ? pair : a->step < b->step ? -1 : a->step > b->step;
}

static void add_cost(struct cost *sum, const struct cost *cost) {
  sum->count += cost->count;
  sum->time = lumos_time_sum(sum->time, cost->time);
  sum->transfer = lumos_time_sum(sum->transfer, cost->transfer);
  sum->wait = lumos_time_sum(sum->wait, cost->wait);
  sum->unsplit = lumos_time_sum(sum->unsplit, cost->unsplit);
  if (cost->bytes != LUMOS_ABSENT) {
    sum->bytes = lumos_time_sum(sum->bytes == LUMOS_ABSENT ? 0 : sum->bytes, cost->bytes);
  }
  sum->bus_bytes = lumos_time_sum(sum->bus_bytes, cost->bus_bytes);
  sum->bus_time = lumos_time_sum(sum->bus_time, cost->bus_time);
}

/* One of a kind, which is sorted; returns how many there are. */
static size_t unite_costs(struct costs *costs) {
  size_t kept = 0;
  lumos_vector_sort(costs, compare_costs);
  for (size_t i = 0; i < costs->count; i++) {
    if (kept > 0 && compare_costs(&costs->items[kept - 1], &costs->items[i]) == 0) {
      add_cost(&costs->items[kept - 1], &costs->items[i]);
    } else {
      costs->items[kept++] = costs->items[i];
    }
  }
  return kept;
}

/* The steps of a group and an operation. */
struct pair {
  size_t first, count;
  int64_t time;
};
LUMOS_VECTOR_TYPE(pairs, struct pair);

static void find_pairs(const struct costs *costs, struct pairs *pairs) {
  for (size_t i = 0; i < costs->count; i++) {
    if (i == 0 || compare_pairs(&costs->items[i - 1], &costs->items[i]) != 0) {
      struct pair pair = {.first = i};
      lumos_vector_push(pairs, pair);
    }
    struct pair *last = &pairs->items[pairs->count - 1];
    last->count++;
    last->time = lumos_time_sum(last->time, costs->items[i].time);
  }
}

/* The longest first, then by name: what number a string has depends on what was read before. */
static int compare_times(const void *left, const void *right, void *context) {
  const struct survey *survey = context;
  const struct lumos_strings *strings = survey->job->strings;
  const struct pair *a = left;
  const struct pair *b = right;
  if (a->time != b->time) {
    return a->time > b->time ? -1 : 1;
  }
  const struct cost *one = &survey->costs.items[a->first];
  const struct cost *other = &survey->costs.items[b->first];
  int group = strcmp(lumos_string(strings, one->group), lumos_string(strings, other->group));
  return group != 0 ? group : strcmp(lumos_string(strings, one->op), lumos_string(strings, other->op));
}

static void write_cost(struct survey *survey, const struct cost *cost, bool rest) {
  struct lumos_job *job = survey->job;
  enum lumos_source source = survey->timeline->source;
  struct lumos_scope scope = lumos_everywhere;
  scope.step = cost->step;
  if (rest) {
    scope.kind = lumos_intern_text(job->strings, "rest");
  } else {
    scope.group = cost->group;
    scope.op = cost->op;
  }
  const struct {
    const char *name;
    int64_t value;
    bool known;
  } values[] = {
      {"collective_count", cost->count, true},
      {"collective_time", cost->time, true},
      {"collective_transfer", cost->transfer, cost->unsplit < cost->time},
      {"collective_wait", cost->wait, cost->unsplit < cost->time},
      {"collective_unsplit", cost->unsplit, true},
      {"collective_bytes", cost->bytes, cost->bytes != LUMOS_ABSENT},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    if (values[i].known && values[i].value < LUMOS_TIME_LIMIT) {
      lumos_metric_add(job, values[i].name, &scope, source, (struct lumos_decimal){values[i].value, 0});
    }
  }
  struct lumos_decimal rate = bandwidth((double)cost->bus_bytes, cost->bus_time);
  if (rate.units != LUMOS_ABSENT) {
    lumos_metric_add(job, "collective_bus_bandwidth", &scope, source, rate);
  }
}

static int compare_steps(const void *left, const void *right) {
  const struct cost *a = left, *b = right;
  return LUMOS_ORDER(a->step, b->step);
}

/* What has no row of its own, step by step. */
static void write_rest(struct survey *survey, const struct costs *costs, const struct pairs *pairs) {
  struct costs rest = {0};
  for (size_t i = MOST_ROWS; i < pairs->count; i++) {
    for (size_t k = 0; k < pairs->items[i].count; k++) {
      lumos_vector_push(&rest, costs->items[pairs->items[i].first + k]);
    }
  }
  lumos_vector_sort(&rest, compare_steps);
  for (size_t i = 0; i < rest.count;) {
    struct cost sum = rest.items[i++];
    for (; i < rest.count && rest.items[i].step == sum.step; i++) {
      add_cost(&sum, &rest.items[i]);
    }
    write_cost(survey, &sum, true);
  }
  lumos_vector_free(&rest);
}

static void write_costs(struct survey *survey) {
  struct costs *costs = &survey->costs;
  struct pairs pairs = {0};
  costs->count = unite_costs(costs);
  find_pairs(costs, &pairs);
  lumos_vector_sort_by(&pairs, compare_times, survey);
  for (size_t i = 0; i < pairs.count && i < MOST_ROWS; i++) {
    for (size_t k = 0; k < pairs.items[i].count; k++) {
      write_cost(survey, &costs->items[pairs.items[i].first + k], false);
    }
  }
  write_rest(survey, costs, &pairs);
  lumos_vector_free(&pairs);
}

/* ---- Who waits for whom ---- */

static int compare_cells(const struct waiting *a, const struct waiting *b) {
  return a->rank != b->rank ? LUMOS_ORDER(a->rank, b->rank) : a->step != b->step ? LUMOS_ORDER(a->step, b->step) : 0;
}

static int compare_waitings(const void *left, const void *right) {
  const struct waiting *a = left, *b = right;
  int cell = compare_cells(a, b);
  return cell != 0 ? cell : a->peer < b->peer ? -1 : a->peer > b->peer;
}

static int compare_waits(const void *left, const void *right) {
  const struct waiting *a = left, *b = right;
  return a->wait != b->wait ? LUMOS_ORDER(b->wait, a->wait) : compare_waitings(left, right);
}

static size_t unite_waitings(struct waitings *waitings) {
  size_t kept = 0;
  lumos_vector_sort(waitings, compare_waitings);
  for (size_t i = 0; i < waitings->count; i++) {
    if (kept > 0 && compare_waitings(&waitings->items[kept - 1], &waitings->items[i]) == 0) {
      waitings->items[kept - 1].wait = lumos_time_sum(waitings->items[kept - 1].wait, waitings->items[i].wait);
    } else {
      waitings->items[kept++] = waitings->items[i];
    }
  }
  return kept;
}

/* A rank's step: a metric for each of those that it waits for longest, and one for all others. */
static int64_t write_row(struct survey *survey, struct waiting *row, size_t count) {
  struct lumos_job *job = survey->job;
  int64_t sum = 0;
  int64_t rest = 0;
  qsort(row, count, sizeof *row, compare_waits);
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = job->ranks.items[row->rank].rank;
  scope.step = row->step;
  for (size_t i = 0; i < count && row[i].wait > 0; i++) {
    sum = lumos_time_sum(sum, row[i].wait);
    if (i < MOST_PEERS) {
      scope.peer = job->ranks.items[row[i].peer].rank;
      lumos_metric_add(job, "wait_for", &scope, survey->timeline->source, (struct lumos_decimal){row[i].wait, 0});
    } else {
      rest = lumos_time_sum(rest, row[i].wait);
    }
  }
  if (rest > 0) {
    scope.peer = LUMOS_ABSENT_INT;
    scope.kind = lumos_intern_text(job->strings, "rest");
    lumos_metric_add(job, "wait_for", &scope, survey->timeline->source, (struct lumos_decimal){rest, 0});
  }
  return sum;
}

/* The waiting of every rank in every step; returns its sum over all that they stand for. */
static int64_t write_matrix(struct survey *survey) {
  const struct lumos_timeline *timeline = survey->timeline;
  struct waitings *waitings = &survey->waitings;
  waitings->count = unite_waitings(waitings);
  int64_t *values = lumos_allocate(timeline->steps.count * sizeof *values);
  for (size_t i = 0; i < timeline->steps.count; i++) {
    values[i] = LUMOS_ABSENT;
  }
  int64_t all = 0;
  uint32_t guess = 0;
  for (size_t first = 0, end = 0; first < waitings->count; first = end) {
    struct waiting *row = &waitings->items[first];
    for (end = first + 1; end < waitings->count && compare_cells(row, &waitings->items[end]) == 0;) {
      end++;
    }
    uint32_t rank = row->rank;
    int32_t step = row->step;
    int64_t sum = write_row(survey, row, end - first);
    uint32_t place = lumos_step_index(&timeline->steps, rank, step, &guess);
    if (place != LUMOS_NONE) {
      values[place] = sum;
    }
    int64_t weight = lumos_rank_weight(&survey->job->ranks.items[rank]);
    all = lumos_time_sum(all, lumos_time_product(sum, weight));
  }
  for (size_t i = 0; i < timeline->steps.count; i++) {
    if (values[i] != LUMOS_ABSENT) {
      lumos_metric_time(survey->job, "collective_wait",
                        lumos_place_of(survey->job, timeline, &timeline->steps.items[i]), values[i]);
    }
  }
  free(values);
  return all;
}

void lumos_write_collectives(struct lumos_job *job, const struct lumos_timeline *timeline) {
  size_t first = job->metrics.count;
  struct survey survey = {.job = job, .timeline = timeline};
  survey.joined = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  survey.send_recv = lumos_intern_text(job->strings, "send_recv");
  for (size_t i = 0; i < job->collectives.count; i++) {
    survey_collective(&survey, &job->collectives.items[i]);
  }
  survey_alone(&survey);
  int64_t waited = 0;
  for (size_t i = 0; i < survey.costs.count; i++) {
    waited = lumos_time_sum(waited, survey.costs.items[i].wait);
  }
  write_costs(&survey);
  if (write_matrix(&survey) != waited) {
    lumos_metrics_drop(job, first, "waiting by collective and by rank");
  }
  lumos_vector_free(&survey.costs);
  lumos_vector_free(&survey.waitings);
  free(survey.joined);
}
