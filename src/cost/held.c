#include "cost/held.h"

#include <stdlib.h>

/* ---- how many a kernel holds ---- */

static double channels_of(const struct lumos_links *links, const struct lumos_transfer_shape *shape) {
  bool known = shape->bytes != LUMOS_ABSENT && shape->bytes > 0 && shape->size > 1;
  return known ? lumos_nccl_channels(links, lumos_transfer_form_of(shape->op), (double)shape->bytes, shape->size,
                                     shape->nodes)
               : 0;
}

double *lumos_held_sms(const struct lumos_placing *placing, const struct lumos_links *links) {
  const struct lumos_job *job = placing->job;
  double *sms = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *sms);
  uint8_t *joined = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    const uint32_t *members = &job->members.items[collective->member_first];
    struct lumos_transfer_shape shape = {.size = 0};
    if (collective->member_count > 0 && job->tasks.items[members[0]].kind == LUMOS_COLLECTIVE) {
      shape = lumos_transfer_shape_of(placing, collective);
    }
    for (uint32_t m = 0; m < collective->member_count; m++) {
      joined[members[m]] = 1;
      sms[members[m]] = shape.size > 0 ? channels_of(links, &shape) : 0;
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (!joined[t] && task->kind == LUMOS_COLLECTIVE && lumos_on_stream(job, task)) {
      struct lumos_transfer_shape shape = lumos_transfer_shape_of_kernel(placing, t);
      sms[t] = channels_of(links, &shape);
    }
  }
  free(joined);
  return sms;
}

/* ---- what that makes of the time of others ---- */

struct turn { /* when a rank's held SMs change */
  uint32_t rank;
  int64_t at;
  double change;
  double held, sum; /* from then on; and SMs times ns up to then */
};
LUMOS_VECTOR_TYPE(turns, struct turn);

/* At one time more come before fewer do, so that no level is below 0. */
static int by_time(const void *left, const void *right) {
  const struct turn *a = left, *b = right;
  return a->rank != b->rank ? LUMOS_ORDER(a->rank, b->rank)
         : a->at != b->at   ? LUMOS_ORDER(a->at, b->at)
                            : LUMOS_ORDER(b->change, a->change);
}

static void find_turns(struct turns *turns, const struct lumos_job *job, const struct lumos_run *runs,
                       const double *sms) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (sms[t] > 0 && runs[t].start != LUMOS_ABSENT && runs[t].dur > 0) {
      uint32_t rank = lumos_rank_of(job, &job->tasks.items[t]);
      lumos_vector_push(turns, ((struct turn){.rank = rank, .at = runs[t].start, .change = sms[t]}));
      lumos_vector_push(turns, ((struct turn){.rank = rank, .at = runs[t].start + runs[t].dur, .change = -sms[t]}));
    }
  }
  lumos_vector_sort(turns, by_time);
  for (size_t i = 0; i < turns->count; i++) {
    struct turn *turn = &turns->items[i], *last = i > 0 && turn[-1].rank == turn->rank ? turn - 1 : NULL;
    turn->held = turn->change + (last == NULL ? 0 : last->held);
    turn->sum = last == NULL ? 0 : last->sum + last->held * (double)(turn->at - last->at);
  }
}

/* SMs times ns of a rank, up to an instant. */
static double held_until(const struct turns *turns, uint32_t rank, int64_t at) {
  size_t low = 0, high = turns->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct turn *turn = &turns->items[middle];
    if (turn->rank < rank || (turn->rank == rank && turn->at <= at)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const struct turn *turn = low == 0 ? NULL : &turns->items[low - 1];
  return turn == NULL || turn->rank != rank ? 0 : turn->sum + turn->held * (double)(at - turn->at);
}

double *lumos_held_beside(const struct lumos_job *job, const struct lumos_run *runs, const double *sms) {
  double *held = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *held);
  struct turns turns = {0};
  find_turns(&turns, job, runs, sms);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool computes = lumos_on_stream(job, task) && !lumos_is_communication(task->kind) && !lumos_is_copy(task->kind);
    if (computes && runs[t].start != LUMOS_ABSENT) {
      uint32_t rank = lumos_rank_of(job, task);
      held[t] = held_until(&turns, rank, runs[t].start + runs[t].dur) - held_until(&turns, rank, runs[t].start);
    }
  }
  lumos_vector_free(&turns);
  return held;
}
