/* Jobs of different ranks become one. Each is brought to stage parse and its times to the common epoch, and all are put
 * one behind the other (job/remap.h); then what several say about one thing is united, and the whole is put in order.
 */
#include <lumos/stream.h>

#include "job/belong.h"
#include "job/date.h"
#include "job/groups.h"
#include "job/merge.h"
#include "job/remap.h"
#include "job/schema.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const int64_t too_large = INT64_C(1) << 53U;

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
  for (int target = 0; target < LUMOS_TARGETS; target++) {
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
      sum += lumos_target_count(jobs[i], (enum lumos_target)target);
    }
    most = sum > most ? sum : most;
  }
  return most < LUMOS_NONE ||
         lumos_fail(error, "together these are more than 2^32-2 records of one type; join fewer ranks");
}

static int compare_jobs(const void *a, const void *b) {
  const struct lumos_job *left = *(struct lumos_job *const *)a;
  const struct lumos_job *right = *(struct lumos_job *const *)b;
  int64_t left_rank = left->ranks.count == 0 ? -1 : left->ranks.items[0].rank;
  int64_t right_rank = right->ranks.count == 0 ? -1 : right->ranks.items[0].rank;
  return LUMOS_ORDER(left_rank, right_rank);
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
    lumos_job_append(jobs[0], jobs[i]);
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
