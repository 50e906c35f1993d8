/* Who is late: by what a rank did before a collective, not by how long it was in it.
 *
 * All members of a symmetric collective leave it together, so that what delays the next one of the same ranks is what
 * each did since. Members are compared with one of them, the reference: over a step and its collectives of these ranks,
 * the member that a quarter of the others come before, of up to four the earliest. So three slow ranks of four are
 * found, and one of eight that is fast makes nobody slow. A member is late by what it arrived after the reference,
 * early by what it arrived before, and over a step both add up: small irregularities, in which now one and now another
 * is last, even out. Of its lateness its own is what it took longer than the reference:
 *   compute  its streams computed or copied for longer;
 *   host     its streams ran nothing for longer, as far as the recording shows; where its kernel started as soon as it
 *            was launched that counts only as far as its threads took longer from the launch before to this one,
 *            waiting for the device left out;
 *   inherited  all else: it was itself held up in other communication, or its host was late already, which delays the
 *              same step again and again without being slow;
 *   unknown  before the first collective of a set of ranks in the recording: what they did since the one before it is
 *            not recorded. Such a step says nothing of who is slow, unless there is no other.
 * Collectives across stages are left out: there ranks come one after the other by design. A rank that is late to
 * collectives of several sets of ranks is late to each for the same reason; the set counts to which it is late most.
 * A member that stands for several ranks is as many members. Stages of a pipeline are compared, too (stages.c).
 */
#include "base/hash.h"
#include "base/text.h"
#include "program/reach.h"
#include "sim/arrival.h"
#include "sim/clock.h"
#include "sim/collectives.h"
#include "sim/metrics.h"
#include "sim/reference.h"
#include "sim/stages.h"
#include <stdlib.h>

enum {
  HELD_BY_LAUNCH = 20000, /* ns from a launch to a kernel's start, below which nothing else held it. As
                             LUMOS_REACTION_WINDOW (graph/graph.h) */
  /* Chosen: what a user would look into; small irregularities stay below. */
  LEAST_SHARE = 10,      /* a straggler's own delay is at least so many per cent of the step, */
  MOST_STEPS = 3,        /* on average and in all but one of so many steps; */
  LEAST_SHARE_ONCE = 25, /* where there is one step, so many. */
  NEARLY = 80,           /* A rank is one, too, with so many per cent of the largest own delay of one, and of this
                            share in its steps. */
};

/* A collective that all ranks of a set take part in. */
struct meeting {
  uint64_t set; /* of its ranks */
  int64_t latest;
  uint32_t collective;
};
LUMOS_VECTOR_TYPE(meetings, struct meeting);

/* A member in a collective, and in the one before. */
struct visit {
  uint32_t task, rank, before; /* before: LUMOS_NONE, there is none */
  int64_t start, left;         /* when it left the one before */
  int64_t weight;              /* as how many ranks it counts */
};
LUMOS_VECTOR_TYPE(visits, struct visit);

/* An instant at which a rank's activity is asked for, and what it has done until then. */
struct mark {
  int64_t time;
  uint32_t rank;
  int64_t busy, idle; /* computing or copying; nothing */
};
LUMOS_VECTOR_TYPE(marks, struct mark);

struct search {
  struct lumos_job *job;
  const struct lumos_coupling *coupling;
  const struct lumos_timeline *timeline;
  struct meetings meetings;
  struct visits visits; /* of one meeting, */
  size_t reference;     /* with whom they are compared */
  struct marks marks;
  struct lumos_host_waits waits;
  struct lumos_delays delays;
};

/* ---- Which collectives ---- */

static uint64_t set_of(const struct lumos_job *job, const struct lumos_collective *collective) {
  bool replicas = lumos_collective_weight(job, collective) > collective->member_count;
  uint64_t hash = replicas ? lumos_hash_mix(1, (uint32_t)collective->size) : 0; /* sets may differ in those alone */
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t member = job->members.items[collective->member_first + m];
    hash = lumos_hash_mix(hash, lumos_rank_of(job, &job->tasks.items[member]));
  }
  return hash;
}

/* By themselves, or by ranks that stand for them. */
static bool all_are_there(const struct lumos_job *job, const struct lumos_collective *collective) {
  int64_t members = lumos_collective_weight(job, collective);
  return members > 1 && members >= collective->size;
}

static int compare_meetings(const void *left, const void *right) {
  const struct meeting *a = left, *b = right;
  return a->set != b->set         ? LUMOS_ORDER(a->set, b->set)
         : a->latest != b->latest ? LUMOS_ORDER(a->latest, b->latest)
                                  : LUMOS_ORDER(a->collective, b->collective);
}

/* Collectives of which it is not known who came when. */
struct unknown {
  int64_t clocks,
      ranks; /* for their members' clocks are not known to agree; for not all of their ranks were recorded */
};

static struct unknown find_meetings(struct search *search) {
  const struct lumos_job *job = search->job;
  struct lumos_reaches reaches;
  lumos_reaches_read(job, &reaches);
  struct unknown unknown = {0, 0};
  for (uint32_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    if (collective->rule != LUMOS_SYMMETRIC || lumos_crosses_stages(job, &reaches, collective)) {
      continue;
    }
    if (!all_are_there(job, collective)) {
      unknown.ranks += collective->size > 1;
      continue;
    }
    if (!lumos_is_coupled(job, collective)) {
      continue;
    }
    struct lumos_arrival arrival = lumos_arrival_of(job, search->timeline->runs, collective);
    unknown.clocks += !arrival.comparable;
    if (arrival.comparable) {
      struct meeting meeting = {set_of(job, collective), arrival.latest, i};
      lumos_vector_push(&search->meetings, meeting);
    }
  }
  lumos_reaches_free(&reaches);
  lumos_vector_sort(&search->meetings, compare_meetings);
  return unknown;
}

/* ---- Who came when ---- */

static struct visit visit_of(const struct search *search, const struct lumos_collective *collective, uint32_t place,
                             const struct lumos_collective *before) {
  const struct lumos_job *job = search->job;
  struct visit visit = {.task = job->members.items[collective->member_first + place], .before = LUMOS_NONE};
  visit.rank = lumos_rank_of(job, &job->tasks.items[visit.task]);
  visit.weight = lumos_rank_weight(&job->ranks.items[visit.rank]);
  int64_t end = 0;
  (void)lumos_task_interval(job, search->timeline->runs, visit.task, &visit.start, &end);
  if (before != NULL && place < before->member_count) {
    uint32_t task = job->members.items[before->member_first + place];
    int64_t start = 0;
    if (lumos_rank_of(job, &job->tasks.items[task]) == visit.rank &&
        lumos_task_interval(job, search->timeline->runs, task, &start, &visit.left) && visit.left <= visit.start) {
      visit.before = task;
    }
  }
  return visit;
}

/* All members of a meeting. */
static void find_visits(struct search *search, size_t number) {
  const struct meeting *meeting = &search->meetings.items[number];
  const struct lumos_collective *collectives = search->job->collectives.items;
  const struct lumos_collective *collective = &collectives[meeting->collective];
  bool first = number == 0 || meeting[-1].set != meeting->set;
  const struct lumos_collective *before = first ? NULL : &collectives[meeting[-1].collective];
  search->visits.count = 0;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    struct visit visit = visit_of(search, collective, m, before);
    lumos_vector_push(&search->visits, visit);
  }
}

/* ---- What its streams did ---- */

static void mark_visits(struct search *search) {
  for (size_t i = 0; i < search->meetings.count; i++) {
    find_visits(search, i);
    for (size_t m = 0; m < search->visits.count; m++) {
      const struct visit *visit = &search->visits.items[m];
      if (visit->before != LUMOS_NONE) {
        struct mark left = {.time = visit->left, .rank = visit->rank};
        struct mark came = {.time = visit->start, .rank = visit->rank};
        lumos_vector_push(&search->marks, left);
        lumos_vector_push(&search->marks, came);
      }
    }
  }
}

static int compare_marks(const void *left, const void *right) {
  const struct mark *a = left, *b = right;
  return a->rank != b->rank ? LUMOS_ORDER(a->rank, b->rank) : LUMOS_ORDER(a->time, b->time);
}

/* The parts of the time between marks, added up from each rank's first one. */
static void add_activity(struct search *search) {
  struct marks *marks = &search->marks;
  if (marks->count == 0) {
    return;
  }
  struct lumos_steps_list between = {0};
  for (size_t i = 0; i < marks->count; i++) {
    const struct mark *mark = &marks->items[i];
    bool follows = i > 0 && marks->items[i - 1].rank == mark->rank;
    struct lumos_step step = {mark->rank, 0, follows ? marks->items[i - 1].time : mark->time, mark->time};
    lumos_vector_push(&between, step);
  }
  struct lumos_partition *parts = lumos_allocate(between.count * sizeof *parts);
  const struct lumos_steps_parts list = {&between, parts};
  lumos_partition_lists(search->job, search->timeline->runs, search->coupling, &list, 1, NULL);
  for (size_t i = 1; i < marks->count; i++) {
    struct mark *mark = &marks->items[i];
    if (mark[-1].rank == mark->rank) {
      mark->busy = mark[-1].busy + parts[i].exposed_compute + parts[i].overlapped + parts[i].exposed_copy;
      mark->idle = mark[-1].idle + parts[i].idle;
    }
  }
  free(parts);
  lumos_vector_free(&between);
}

static const struct mark *mark_at(const struct search *search, uint32_t rank, int64_t time) {
  const struct mark wanted = {.time = time, .rank = rank};
  return bsearch(&wanted, search->marks.items, search->marks.count, sizeof wanted, compare_marks);
}

/* ---- What its threads did ---- */

static int64_t launched(const struct search *search, uint32_t task) {
  return lumos_launched_at(search->job, search->timeline->runs, task);
}

/* What threads took from the launch before to this one; LUMOS_ABSENT. */
static int64_t host_time(const struct search *search, const struct visit *visit) {
  int64_t from = visit->before == LUMOS_NONE ? LUMOS_ABSENT : launched(search, visit->before);
  int64_t to = launched(search, visit->task);
  if (from == LUMOS_ABSENT || to == LUMOS_ABSENT) {
    return LUMOS_ABSENT;
  }
  return to - from -
         (lumos_host_waited(&search->waits, visit->rank, to) - lumos_host_waited(&search->waits, visit->rank, from));
}

/* ---- Whose fault ---- */

/* A quantity of a visit; LUMOS_ABSENT: not known. */
typedef int64_t quantity(const struct search *search, const struct visit *visit);

static int64_t busy_time(const struct search *search, const struct visit *visit) {
  return mark_at(search, visit->rank, visit->start)->busy - mark_at(search, visit->rank, visit->left)->busy;
}

static int64_t idle_time(const struct search *search, const struct visit *visit) {
  return mark_at(search, visit->rank, visit->start)->idle - mark_at(search, visit->rank, visit->left)->idle;
}

/* What a visit has more than the reference; 0: not known of both. */
static int64_t more(const struct search *search, quantity *of, size_t visit) {
  int64_t own = of(search, &search->visits.items[visit]);
  int64_t reference = of(search, &search->visits.items[search->reference]);
  return own == LUMOS_ABSENT || reference == LUMOS_ABSENT ? 0 : own - reference;
}

/* Could it have started earlier, had it been launched earlier? */
static bool held_by_launch(const struct search *search, const struct visit *visit) {
  int64_t launch = launched(search, visit->task);
  return launch != LUMOS_ABSENT && visit->start - launch < HELD_BY_LAUNCH;
}

/* Is it not known of all members what each did before? */
static bool is_first(const struct search *search) {
  bool known = true;
  for (size_t m = 0; m < search->visits.count; m++) {
    known = known && search->visits.items[m].before != LUMOS_NONE;
  }
  return !known;
}

/* What of each member's lateness is its own. */
static void divide(const struct search *search, struct lumos_delay *delays) {
  const struct visit *visits = search->visits.items;
  for (size_t m = 0; m < search->visits.count; m++) {
    int64_t most = delays[m].late < 0 ? -delays[m].late : delays[m].late;
    int64_t compute = more(search, busy_time, m);
    int64_t rest = more(search, held_by_launch(search, &visits[m]) ? host_time : idle_time, m);
    delays[m].compute = lumos_within(compute, -most, most);
    delays[m].host = lumos_within(compute + rest, -most, most) - delays[m].compute;
  }
}

static void add_meeting(struct search *search, size_t number) {
  find_visits(search, number);
  size_t first = search->delays.count;
  size_t last = 0;
  uint32_t guess = 0;
  const struct visit *visits = search->visits.items;
  for (size_t m = 0; m < search->visits.count; m++) {
    int32_t step = search->job->tasks.items[visits[m].task].step;
    struct lumos_delay delay = {.set = search->meetings.items[number].set, .met = 1};
    delay.place = lumos_step_index(&search->timeline->steps, visits[m].rank, step, &guess);
    delay.late = visits[m].start - visits[search->reference].start;
    lumos_vector_push(&search->delays, delay);
    last = visits[m].start > visits[last].start ? m : last;
  }
  search->delays.items[first + last].last = 1;
  if (!is_first(search)) {
    divide(search, search->delays.items + first);
    return;
  }
  for (size_t m = first; m < search->delays.count; m++) {
    search->delays.items[m].first = 1;
    search->delays.items[m].unknown = search->delays.items[m].late;
  }
}

/* ---- Collectives of one set of ranks in one step ---- */

static int32_t step_of(const struct search *search, size_t number) {
  const struct lumos_collective *collective =
      &search->job->collectives.items[search->meetings.items[number].collective];
  return search->job->tasks.items[search->job->members.items[collective->member_first]].step;
}

static size_t end_of_round(const struct search *search, size_t first) {
  size_t end = first + 1;
  while (end < search->meetings.count && search->meetings.items[end].set == search->meetings.items[first].set &&
         step_of(search, end) == step_of(search, first)) {
    end++;
  }
  return end;
}

/* By when they come to all of the round together. */
static size_t find_reference(struct search *search, size_t first, size_t end, struct lumos_contenders *contenders) {
  contenders->count = 0;
  for (size_t i = first; i < end; i++) {
    find_visits(search, i);
    for (size_t m = 0; m < search->visits.count; m++) {
      const struct visit *visit = &search->visits.items[m];
      if (m == contenders->count) {
        lumos_vector_push(contenders, ((struct lumos_contender){0, visit->weight, m}));
      }
      contenders->items[m].time += visit->start;
    }
  }
  const struct lumos_collective *collectives = search->job->collectives.items;
  return lumos_reference_of(
      contenders, lumos_collective_count(search->job, &collectives[search->meetings.items[first].collective]));
}

static void add_meetings(struct search *search) {
  struct lumos_contenders contenders = {0};
  for (size_t first = 0, end = 0; first < search->meetings.count; first = end) {
    end = end_of_round(search, first);
    search->reference = find_reference(search, first, end, &contenders);
    for (size_t i = first; i < end; i++) {
      add_meeting(search, i);
    }
  }
  lumos_vector_free(&contenders);
}

/* ---- Sums ---- */

static int compare_delays(const void *left, const void *right) {
  const struct lumos_delay *a = left, *b = right;
  return a->place != b->place ? LUMOS_ORDER(a->place, b->place) : LUMOS_ORDER(a->set, b->set);
}

/* Those of one rank's step and set become one; those of no step go. */
static void add_up(struct lumos_delays *delays) {
  size_t kept = 0;
  for (size_t i = 0; i < delays->count && delays->items[i].place != LUMOS_NONE; i++) { /* which sort last */
    const struct lumos_delay *delay = &delays->items[i];
    if (kept == 0 || compare_delays(&delays->items[kept - 1], delay) != 0) {
      delays->items[kept++] = *delay;
      continue;
    }
    struct lumos_delay *sum = &delays->items[kept - 1];
    sum->met += delay->met;
    sum->last += delay->last;
    sum->first += delay->first;
    sum->unknown += delay->unknown;
    sum->late += delay->late;
    sum->compute += delay->compute;
    sum->host += delay->host;
  }
  delays->count = kept;
}

static void find_delays(struct search *search) {
  add_meetings(search);
  lumos_compare_stages(search->job, search->timeline, &search->waits, &search->delays);
  if (search->delays.count > 0) {
    lumos_vector_sort(&search->delays, compare_delays);
    add_up(&search->delays);
  }
}

/* A rank's lateness in a step. */
struct lateness {
  int64_t whole, compute, host, unknown;
  uint32_t met, last, first;
  bool known; /* it was compared with others */
};

/* Taking longer here and less long there evens out: a rank that is late all the time is not slow for that. */
static struct lateness lateness_of(const struct lumos_delay *delay) {
  struct lateness late = {.whole = delay->late > 0 ? delay->late : 0};
  late.compute = lumos_within(delay->compute, 0, late.whole);
  late.host = lumos_within(delay->host, 0, late.whole - late.compute);
  late.unknown = lumos_within(delay->unknown, 0, late.whole - late.compute - late.host);
  return late;
}

static int64_t own_delay(const struct lateness *late) { return late->compute + late->host; }

/* Of a rank's step, by the set of ranks that it delays most by itself, of equals at all. */
static struct lateness worst_of(const struct lumos_delay *delays, size_t count) {
  struct lateness worst = {0};
  uint32_t met = 0;
  uint32_t last = 0;
  uint32_t first_ones = 0;
  for (size_t i = 0; i < count; i++) {
    struct lateness late = lateness_of(&delays[i]);
    bool worse =
        own_delay(&late) > own_delay(&worst) || (own_delay(&late) == own_delay(&worst) && late.whole > worst.whole);
    worst = worse ? late : worst;
    met += delays[i].met;
    last += delays[i].last;
    first_ones += delays[i].first;
  }
  worst.known = true;
  worst.met = met;
  worst.last = last;
  worst.first = first_ones;
  return worst;
}

/* ---- What is told ---- */

static void write_lateness(const struct search *search, uint32_t index, const struct lateness *late) {
  struct lumos_job *job = search->job;
  const struct lumos_step *step = &search->timeline->steps.items[index];
  struct lumos_metric_place place = lumos_place_of(job, search->timeline, step);
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = place.rank;
  scope.step = place.step;
  const struct {
    const char *kind;
    int64_t value;
  } parts[] = {{"compute", late->compute},
               {"host", late->host},
               {"unknown", late->unknown},
               {"inherited", late->whole - own_delay(late) - late->unknown}};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    scope.kind = lumos_intern_text(job->strings, parts[i].kind);
    lumos_metric_add(job, "late_arrival", &scope, search->timeline->source, (struct lumos_decimal){parts[i].value, 0});
  }
  scope.kind = LUMOS_NO_STRING;
  if (late->met > 0) {
    lumos_metric_add(job, "last_arrivals", &scope, search->timeline->source, (struct lumos_decimal){late->last, 0});
  }
}

/* The job's steps that means are over. */
struct job_steps {
  int64_t time, count;
  int32_t left_out; /* LUMOS_ABSENT_INT */
};

static struct job_steps steps_of(const struct search *search) {
  const struct lumos_timeline *timeline = search->timeline;
  bool changed = timeline->runs != NULL && lumos_job_edited(search->job);
  bool leaves_out = lumos_first_step_is_left_out(timeline->job.count, changed);
  struct job_steps steps = {.left_out = leaves_out ? timeline->job.items[0].step : LUMOS_ABSENT_INT};
  for (size_t k = leaves_out; k < timeline->job.count; k++) {
    steps.time += timeline->job.items[k].end - timeline->job.items[k].start;
    steps.count++;
  }
  return steps;
}

static int64_t job_step_time(const struct lumos_timeline *timeline, int32_t step) {
  for (size_t k = 0; k < timeline->job.count; k++) {
    if (timeline->job.items[k].step == step) {
      return timeline->job.items[k].end - timeline->job.items[k].start;
    }
  }
  return 0;
}

/* A rank over the steps in which it was compared with others, the first one, too, for it may show that a delay does not
 * come again; and what is told, its own delay over the job's steps that count, and their time. */
struct verdict {
  uint32_t rank;
  int64_t own, compute, time, told, told_of;
  uint32_t steps, late_steps, nearly_late_steps, met, last;
};
LUMOS_VECTOR_TYPE(verdicts, struct verdict);

static bool is_share(int64_t part, int64_t whole, int64_t per_cent) {
  return (__int128)part * 100 >= (__int128)whole * per_cent;
}

static void add_step(struct verdict *verdict, const struct lateness *late, int64_t time) {
  int64_t own = own_delay(late);
  verdict->steps++;
  verdict->own += own;
  verdict->compute += late->compute;
  verdict->time += time;
  verdict->late_steps += is_share(own, time, LEAST_SHARE);
  verdict->nearly_late_steps += is_share(own, time, LEAST_SHARE * NEARLY / 100);
  verdict->met += late->met;
  verdict->last += late->last;
}

static void tell_straggler(struct search *search, const struct verdict *verdict) {
  struct lumos_job *job = search->job;
  struct job_steps steps = steps_of(search);
  if (steps.time <= 0) {
    return;
  }
  struct lumos_metric_place place = {search->timeline->source, job->ranks.items[verdict->rank].rank, LUMOS_ABSENT_INT};
  lumos_metric_share(job, "straggler", place, verdict->told, steps.time);
  if (search->timeline->runs == NULL) {
    return; /* told once, of the job as it is */
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int64_t thousandths = (verdict->told + steps.count * INT64_C(500)) / (steps.count * INT64_C(1000));
  lumos_text_put(&text, "a straggler: it delays others by ");
  lumos_text_decimal(&text, thousandths, 3);
  lumos_text_put(&text, " ms a step (");
  lumos_text_decimal(&text, (int64_t)(((__int128)verdict->told * 1000 + steps.time / 2) / steps.time), 1);
  lumos_text_format(&text, " %% of it), mostly through its %s",
                    verdict->compute * 2 > verdict->own ? "GPU work" : "CPU time");
  if (verdict->met > 0) {
    lumos_text_format(&text, ". It is the last to arrive at %u of %u collectives", verdict->last, verdict->met);
  }
  lumos_text_char(&text, '\0');
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = place.rank;
  lumos_job_note(job, "sim.straggler", LUMOS_INFO, LUMOS_ABSENT, &scope, text.bytes, NULL);
  lumos_text_free(&text);
}

static bool is_often(const struct verdict *verdict, uint32_t late_steps) {
  return verdict->steps > 0 && (verdict->steps - late_steps) * MOST_STEPS <= verdict->steps;
}

/* Of one step nothing shows that it comes again, so that more is asked. */
static bool is_straggler(const struct verdict *verdict) {
  int64_t least = verdict->steps > 1 ? LEAST_SHARE : LEAST_SHARE_ONCE;
  return is_often(verdict, verdict->late_steps) && is_share(verdict->own, verdict->time, least) &&
         is_share(verdict->told, verdict->told_of, least);
}

/* Does its own delay come near that of a straggler? */
static bool is_nearly(const struct verdict *verdict, const struct verdict *straggler) {
  return is_often(verdict, verdict->nearly_late_steps) &&
         is_share(verdict->told, verdict->told_of, LEAST_SHARE * NEARLY / 100) &&
         (__int128)verdict->own * straggler->time * 100 >= (__int128)straggler->own * verdict->time * NEARLY;
}

/* Over the steps of which all is known or, where there are none, over all. A rank's steps are in a row. */
static void find_verdicts(const struct search *search, const struct lateness *late, struct verdicts *verdicts) {
  const struct lumos_steps_list *steps = &search->timeline->steps;
  struct job_steps counted = steps_of(search);
  for (size_t first = 0, i = 0; first < steps->count; first = i) {
    struct verdict whole = {.rank = steps->items[first].rank}, all = whole;
    int64_t told = 0;
    for (i = first; i < steps->count && steps->items[i].rank == whole.rank; i++) {
      int64_t time = job_step_time(search->timeline, steps->items[i].step);
      if (late[i].known && time > 0) {
        add_step(&all, &late[i], time);
        told += steps->items[i].step == counted.left_out ? 0 : own_delay(&late[i]);
      }
      if (late[i].known && late[i].first == 0 && time > 0) {
        add_step(&whole, &late[i], time);
      }
    }
    struct verdict verdict = whole.steps > 0 ? whole : all;
    verdict.told = told;
    verdict.told_of = counted.time;
    lumos_vector_push(verdicts, verdict);
  }
}

static void judge(struct search *search, const struct lateness *late) {
  struct verdicts verdicts = {0};
  find_verdicts(search, late, &verdicts);
  const struct verdict *worst = NULL;
  for (size_t i = 0; i < verdicts.count; i++) {
    const struct verdict *verdict = &verdicts.items[i];
    if (is_straggler(verdict) &&
        (worst == NULL || (__int128)verdict->own * worst->time > (__int128)worst->own * verdict->time)) {
      worst = verdict;
    }
  }
  for (size_t i = 0; i < verdicts.count && worst != NULL; i++) {
    if (is_straggler(&verdicts.items[i]) || is_nearly(&verdicts.items[i], worst)) {
      tell_straggler(search, &verdicts.items[i]);
    }
  }
  lumos_vector_free(&verdicts);
}

static void write_delays(struct search *search) {
  size_t steps = search->timeline->steps.count;
  struct lateness *late = lumos_allocate_zeroed(steps + 1, sizeof *late);
  for (size_t first = 0, end = 0; first < search->delays.count; first = end) {
    const struct lumos_delay *delays = &search->delays.items[first];
    for (end = first; end < search->delays.count && search->delays.items[end].place == delays->place;) {
      end++;
    }
    late[delays->place] = worst_of(delays, end - first);
    write_lateness(search, delays->place, &late[delays->place]);
  }
  int64_t *whole = lumos_allocate((steps + 1) * sizeof *whole);
  int64_t *own = lumos_allocate((steps + 1) * sizeof *own);
  for (size_t i = 0; i < steps; i++) {
    whole[i] = late[i].known ? late[i].whole : LUMOS_ABSENT;
    own[i] = late[i].known ? own_delay(&late[i]) : LUMOS_ABSENT;
  }
  lumos_metric_by_step(search->job, "late_arrival", search->timeline, whole);
  lumos_metric_by_step(search->job, "straggler_delay", search->timeline, own);
  judge(search, late);
  free(whole);
  free(own);
  free(late);
}

/* Said once. */
static void tell_unknown(struct search *search, struct unknown unknown) {
  if (search->timeline->runs == NULL) {
    return;
  }
  if (unknown.clocks > 0) {
    lumos_job_note(search->job, "sim.unknown_stragglers", LUMOS_INFO, unknown.clocks, NULL,
                   "collectives do not show which rank arrived late, because their ranks' clocks could not be aligned",
                   NULL);
  }
  if (unknown.ranks > 0 && search->job->ranks.count > 1) {
    lumos_job_note(search->job, "sim.unrecorded_ranks", LUMOS_INFO, unknown.ranks, NULL,
                   "collectives do not show which rank arrived late, because some of their ranks were not recorded",
                   NULL);
  }
}

void lumos_write_stragglers(struct lumos_job *job, const struct lumos_coupling *coupling,
                            const struct lumos_timeline *timeline) {
  struct search search = {.job = job, .coupling = coupling, .timeline = timeline};
  struct unknown unknown = find_meetings(&search);
  mark_visits(&search);
  lumos_vector_sort(&search.marks, compare_marks);
  lumos_host_waits_find(&search.waits, job, timeline->runs);
  add_activity(&search);
  find_delays(&search);
  write_delays(&search);
  tell_unknown(&search, unknown);
  lumos_vector_free(&search.meetings);
  lumos_vector_free(&search.visits);
  lumos_vector_free(&search.marks);
  lumos_vector_free(&search.delays);
  lumos_host_waits_free(&search.waits);
}
