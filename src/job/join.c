/* Jobs of different ranks become one. Each is brought to stage parse, its references to groups and its indices are
 * moved behind those of the job that takes it in, and its times to the common epoch; then what several say about one
 * thing is united, and the whole is put in order.
 */
#include <lumos/stream.h>

#include "job/belong.h"
#include "job/date.h"
#include "job/groups.h"
#include "job/merge.h"
#include "job/order.h"
#include "job/schema.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const int64_t too_large = INT64_C(1) << 53U;

/* How the slots of a job change on its way into another. */
struct move {
  const struct lumos_job *from;
  struct lumos_job *to;
  lumos_string_id *strings; /* from its ids to the other's; 0: not yet moved */
  uint32_t ranks, groups, group_ranks, lanes, spans, tasks, details, timings, peers; /* where its elements will begin */
};

static lumos_string_id move_string(struct move *move, lumos_string_id string) {
  if (string != LUMOS_NO_STRING && move->strings[string] == LUMOS_NO_STRING) {
    move->strings[string] = lumos_intern(move->to->strings, lumos_string(move->from->strings, string),
                                         lumos_string_length(move->from->strings, string));
  }
  return move->strings[string];
}

static void move_index(uint32_t *index, uint32_t first) {
  if (*index != LUMOS_NONE) {
    *index += first;
  }
}

static void move_slot(const struct lumos_field *field, void *slot, void *context) {
  struct move *move = context;
  switch (field->kind) {
    case FIELD_STRING:
    case FIELD_UNKNOWN:
      *(lumos_string_id *)slot = move_string(move, *(const lumos_string_id *)slot);
      break;
    case FIELD_GROUP: /* index + 1 */
      *(uint32_t *)slot += *(const uint32_t *)slot == 0 ? 0 : move->groups;
      break;
    case FIELD_LANE:
      move_index(slot, move->lanes);
      break;
    case FIELD_SPAN:
      move_index(slot, move->spans);
      break;
    case FIELD_TASK:
    case FIELD_ANY_TASK:
      move_index(slot, move->tasks);
      break;
    case FIELD_RANKS:
      *(uint32_t *)slot += move->group_ranks;
      break;
    case FIELD_PEERS:
      *(uint32_t *)slot += move->peers;
      break;
    default:
      break;
  }
}

static const uint32_t moved_kinds =
    LUMOS_KIND_BIT(FIELD_STRING) | LUMOS_KIND_BIT(FIELD_UNKNOWN) | LUMOS_KIND_BIT(FIELD_GROUP) |
    LUMOS_KIND_BIT(FIELD_LANE) | LUMOS_KIND_BIT(FIELD_SPAN) | LUMOS_KIND_BIT(FIELD_TASK) |
    LUMOS_KIND_BIT(FIELD_ANY_TASK) | LUMOS_KIND_BIT(FIELD_RANKS) | LUMOS_KIND_BIT(FIELD_PEERS);

/* What the schema does not say: the rank of a record, the place of a detail, and what is no slot. */
static void move_rest(struct lumos_job *job, struct move *move) {
  for (size_t i = 0; i < job->groups.count; i++) {
    job->groups.items[i].rank += move->ranks;
  }
  for (size_t i = 0; i < job->lanes.count; i++) {
    job->lanes.items[i].rank += move->ranks;
  }
  for (size_t i = 0; i < job->spans.count; i++) {
    job->spans.items[i].rank += move->ranks;
  }
  for (size_t i = 0; i < job->tasks.count; i++) {
    move_index(&job->tasks.items[i].detail, move->details);
    move_index(&job->tasks.items[i].timing, move->timings);
  }
  for (size_t i = 0; i < job->history.count; i++) {
    struct lumos_history *entry = &job->history.items[i];
    entry->tool = move_string(move, entry->tool);
    entry->version = move_string(move, entry->version);
    entry->args = move_string(move, entry->args);
    entry->input_first += (uint32_t)move->to->inputs.count;
  }
  for (size_t i = 0; i < job->inputs.count; i++) {
    job->inputs.items[i] = move_string(move, job->inputs.items[i]);
  }
  for (size_t i = 0; i < job->foreign.count; i++) {
    job->foreign.items[i].type = move_string(move, job->foreign.items[i].type);
    job->foreign.items[i].line = move_string(move, job->foreign.items[i].line);
  }
  job->unknown = move_string(move, job->unknown);
}

#define APPEND(vector)                                                   \
  do {                                                                   \
    lumos_vector_reserve(&job->vector, other->vector.count);             \
    if (other->vector.count > 0) {                                       \
      memcpy(job->vector.items + job->vector.count, other->vector.items, \
             other->vector.count * sizeof *job->vector.items);           \
    }                                                                    \
    job->vector.count += other->vector.count;                            \
    lumos_vector_free(&other->vector);                                   \
  } while (0)

static void append(struct lumos_job *job, struct lumos_job *other) {
  APPEND(history);
  APPEND(inputs);
  APPEND(ranks);
  APPEND(groups);
  APPEND(group_ranks);
  APPEND(lanes);
  APPEND(spans);
  APPEND(tasks);
  APPEND(details);
  APPEND(timings);
  APPEND(peers);
  APPEND(notes);
  APPEND(foreign);
  /* Of the header's unknown fields one wins, the same in any order. */
  if (other->unknown != LUMOS_NO_STRING &&
      (job->unknown == LUMOS_NO_STRING || lumos_compare_bytes(job->strings, other->unknown, job->unknown) < 0)) {
    job->unknown = other->unknown;
  }
}

static void take_in(struct lumos_job *job, struct lumos_job *other) {
  struct move move = {
      .from = other,
      .to = job,
      .strings = lumos_allocate_zeroed(lumos_strings_count(other->strings) + 1U, sizeof *move.strings),
      .ranks = (uint32_t)job->ranks.count,
      .groups = (uint32_t)job->groups.count,
      .group_ranks = (uint32_t)job->group_ranks.count,
      .lanes = (uint32_t)job->lanes.count,
      .spans = (uint32_t)job->spans.count,
      .tasks = (uint32_t)job->tasks.count,
      .details = (uint32_t)job->details.count,
      .timings = (uint32_t)job->timings.count,
      .peers = (uint32_t)job->peers.count,
  };
  lumos_visit_slots(other, moved_kinds, move_slot, &move);
  move_rest(other, &move);
  free(move.strings);
  append(job, other);
}

struct rebase {
  int64_t shift;
  bool overflow; /* a time does not fit */
};

static void rebase_instant(struct rebase *rebase, int64_t *instant) {
  int64_t moved = 0;
  if (*instant != LUMOS_ABSENT) {
    rebase->overflow |= __builtin_add_overflow(*instant, rebase->shift, &moved) || moved >= too_large;
    *instant = moved;
  }
}

static void rebase_slot(const struct lumos_field *field, void *slot, void *context) {
  rebase_instant(context, slot);
  if (field->kind == FIELD_WINDOW) {
    rebase_instant(context, (int64_t *)slot + 1);
  }
}

/* Let all times of a job count from `epoch`, which is not later than its own. */
static bool rebase(struct lumos_job *job, int64_t epoch, struct lumos_error *error) {
  struct rebase rebase = {job->epoch - epoch, false};
  job->epoch = epoch;
  if (rebase.shift > 0) {
    lumos_visit_slots(job, LUMOS_KIND_BIT(FIELD_INSTANT) | LUMOS_KIND_BIT(FIELD_WINDOW), rebase_slot, &rebase);
  }
  return !rebase.overflow ||
         lumos_fail(error,
                    "rank %d was recorded %" PRId64 " days after another; ranks of one job are recorded together",
                    job->ranks.items[0].rank, rebase.shift / INT64_C(86400000000000));
}

static bool refuse_edited(struct lumos_job *const *jobs, size_t count, struct lumos_error *error) {
  for (size_t i = 0; i < count; i++) {
    if (lumos_job_edited(jobs[i])) {
      return lumos_fail(error, "a job that lumos-transform has changed cannot be joined; join first, then transform");
    }
  }
  return true;
}

/* Indices are 32 bits. */
static bool refuse_too_much(struct lumos_job *const *jobs, size_t count, struct lumos_error *error) {
  size_t most = 0;
  size_t sums[9] = {0};
  for (size_t i = 0; i < count; i++) {
    const size_t counts[9] = {jobs[i]->tasks.count,   jobs[i]->spans.count,  jobs[i]->lanes.count,
                              jobs[i]->details.count, jobs[i]->peers.count,  jobs[i]->group_ranks.count,
                              jobs[i]->groups.count,  jobs[i]->inputs.count, jobs[i]->timings.count};
    for (size_t sum = 0; sum < 9; sum++) {
      sums[sum] += counts[sum];
      most = sums[sum] > most ? sums[sum] : most;
    }
  }
  return most < LUMOS_NONE ||
         lumos_fail(error, "together these are more than 2^32-2 records of one type; join fewer ranks");
}

static int compare_jobs(const void *a, const void *b) {
  const struct lumos_job *left = *(struct lumos_job *const *)a;
  const struct lumos_job *right = *(struct lumos_job *const *)b;
  int64_t left_rank = left->ranks.count == 0 ? -1 : left->ranks.items[0].rank;
  int64_t right_rank = right->ranks.count == 0 ? -1 : right->ranks.items[0].rank;
  return left_rank < right_rank ? -1 : left_rank > right_rank;
}

/* Bring every job to the same stage, epoch and form of references. Sorted by rank, what is appended comes in order. */
static bool prepare(struct lumos_job **jobs, size_t count, struct lumos_error *error) {
  int64_t epoch = INT64_MAX;
  lumos_date_jobs(jobs, count);
  for (size_t i = 0; i < count; i++) {
    epoch = jobs[i]->epoch < epoch ? jobs[i]->epoch : epoch;
    if (count > 1) {
      lumos_job_rewind(jobs[i], LUMOS_STAGE_PARSE);
    }
  }
  for (size_t i = 0; i < count; i++) {
    if (!rebase(jobs[i], epoch, error) || !lumos_groups_to_indices(jobs[i], error)) {
      return false;
    }
  }
  qsort(jobs, count, sizeof(struct lumos_job *), compare_jobs);
  return true;
}

/* One form for the same content. */
static bool unite(struct lumos_job *job, struct lumos_error *error) {
  lumos_groups_unite(job);
  if (!lumos_job_arrange(job, error)) {
    return false;
  }
  if (job->stage == LUMOS_STAGE_PARSE) {
    lumos_merge_history(job);
    lumos_note_belonging(job);
    lumos_merge_notes(job);
    lumos_sort_foreign(job);
  }
  return true;
}

struct lumos_job *lumos_job_join(struct lumos_job **jobs, size_t count, struct lumos_error *error) {
  bool good = (count == 1 || (refuse_edited(jobs, count, error) && lumos_ranks_belong(jobs, count, error))) &&
              refuse_too_much(jobs, count, error) && prepare(jobs, count, error);
  for (size_t i = 1; i < count && good; i++) {
    take_in(jobs[0], jobs[i]);
    lumos_job_free(jobs[i]);
    jobs[i] = NULL;
  }
  if (good && unite(jobs[0], error)) {
    return jobs[0];
  }
  for (size_t i = 0; i < count; i++) {
    lumos_job_free(jobs[i]);
  }
  return NULL;
}
