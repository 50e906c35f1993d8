#include "sim/host_waits.h"

#include "sim/clock.h"
#include "sim/steps.h"
#include <stdlib.h>

static int compare_waits(const void *left, const void *right) {
  const struct lumos_host_wait *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : LUMOS_ORDER(a->end, b->end);
}

static void find_waits_of(struct lumos_host_waits *waits, const struct lumos_rank *rank) {
  const struct lumos_job *job = waits->job;
  size_t first = waits->all.count;
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    struct lumos_host_wait wait = {0};
    if (job->tasks.items[t].kind == LUMOS_SYNC && lumos_task_interval(job, waits->runs, t, &wait.start, &wait.end)) {
      lumos_vector_push(&waits->all, wait);
    }
  }
  size_t count = waits->all.count - first;
  if (count == 0) {
    return;
  }
  struct lumos_host_wait *own = waits->all.items + first;
  qsort(own, count, sizeof *own, compare_waits);
  size_t kept = 1;
  for (size_t i = 1; i < count; i++) {
    struct lumos_host_wait *last = &own[kept - 1];
    if (own[i].start <= last->end) {
      last->end = own[i].end > last->end ? own[i].end : last->end;
    } else {
      own[kept] = own[i];
      own[kept++].before = last->before + (last->end - last->start);
    }
  }
  waits->all.count = first + kept;
}

void lumos_host_waits_find(struct lumos_host_waits *waits, const struct lumos_job *job, const struct lumos_run *runs) {
  *waits = (struct lumos_host_waits){.job = job, .runs = runs};
  waits->first = lumos_allocate((job->ranks.count + 1) * sizeof *waits->first);
  for (size_t r = 0; r < job->ranks.count; r++) {
    waits->first[r] = (uint32_t)waits->all.count;
    find_waits_of(waits, &job->ranks.items[r]);
  }
  waits->first[job->ranks.count] = (uint32_t)waits->all.count;
}

int64_t lumos_host_waited(const struct lumos_host_waits *waits, uint32_t rank, int64_t time) {
  uint32_t low = waits->first[rank];
  uint32_t high = waits->first[rank + 1];
  uint32_t first = low;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (waits->all.items[middle].start <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == first) {
    return 0;
  }
  const struct lumos_host_wait *wait = &waits->all.items[low - 1];
  return wait->before + ((time < wait->end ? time : wait->end) - wait->start);
}

void lumos_host_waits_free(struct lumos_host_waits *waits) {
  lumos_vector_free(&waits->all);
  free(waits->first);
}
