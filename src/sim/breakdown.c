/* step_time and where it went, as metric records, for either timeline. */
#include "sim/metrics.h"
#include "sim/pipeline/bubble.h"

#include <stddef.h>
#include <stdlib.h>

/* The parts that add up to a step, in order; those of communication stand together. */
static const struct part {
  const char *name;
  size_t offset;
  bool communication;
} parts[] = {
    {"exposed_compute", offsetof(struct lumos_partition, exposed_compute), false},
    {"overlapped", offsetof(struct lumos_partition, overlapped), false},
    {"communication_transfer", offsetof(struct lumos_partition, communication_transfer), true},
    {"communication_wait", offsetof(struct lumos_partition, communication_wait), true},
    {"pipeline_bubble", offsetof(struct lumos_partition, pipeline_bubble), true},
    {"communication_unsplit", offsetof(struct lumos_partition, communication_unsplit), true},
    {"exposed_copy", offsetof(struct lumos_partition, exposed_copy), false},
    {"not_recorded", offsetof(struct lumos_partition, not_recorded), false},
    {"idle", offsetof(struct lumos_partition, idle), false}, /* the last: idle.c rounds its parts behind all others */
};
enum { PARTS = sizeof parts / sizeof *parts };

static int64_t *part_of(struct lumos_partition *partition, int part) {
  return (int64_t *)(void *)((char *)partition + parts[part].offset);
}

/* Where communication is not split there may be a bubble in it: 0 would say that there is none. */
static bool may_be_unsplit(const struct lumos_partition *partition, int part) {
  return parts[part].offset == offsetof(struct lumos_partition, pipeline_bubble) && partition->pipeline_bubble == 0 &&
         partition->communication_unsplit > 0;
}

static void write_partition(struct lumos_job *job, struct lumos_metric_place place, struct lumos_partition *partition) {
  for (int part = 0; part < PARTS; part++) {
    if (!parts[part].communication) {
      lumos_metric_time(job, parts[part].name, place, *part_of(partition, part));
      continue;
    }
    if (part == 0 || !parts[part - 1].communication) {
      lumos_metric_time(job, "exposed_communication", place, partition->exposed_communication);
    }
    if (!may_be_unsplit(partition, part)) {
      lumos_metric_time(job, parts[part].name, place, *part_of(partition, part));
    }
  }
  lumos_metric_time(job, "gpu_busy", place, partition->gpu_busy);
}

/* A partition that counts, and for how many ranks. */
struct weighted {
  struct lumos_partition *partition;
  int64_t weight;
};

/* The mean over partitions of intervals of one length. Rounding the running sum of the parts, not each part, keeps
 * their sum. */
static struct lumos_partition mean_partition(const struct weighted *listed, size_t count) {
  struct lumos_partition mean = {0};
  __int128 before = 0;
  int64_t ranks = 0;
  for (size_t i = 0; i < count; i++) {
    ranks += listed[i].weight;
  }
  for (int part = 0; part < PARTS; part++) {
    __int128 after = before;
    for (size_t i = 0; i < count; i++) {
      after += (__int128)*part_of(listed[i].partition, part) * listed[i].weight;
    }
    *part_of(&mean, part) = (int64_t)(after / ranks - before / ranks);
    mean.exposed_communication += parts[part].communication ? *part_of(&mean, part) : 0;
    before = after;
  }
  mean.gpu_busy = (int64_t)(before / ranks) - mean.idle - mean.not_recorded;
  return mean;
}

/* The intervals of the job's steps, for every rank that has the step: parallel to timeline->steps. */
static void find_shared_steps(const struct lumos_timeline *timeline, struct lumos_steps_list *shared) {
  *shared = (struct lumos_steps_list){0};
  for (size_t i = 0; i < timeline->steps.count; i++) {
    lumos_vector_push(shared, timeline->steps.items[i]);
  }
  for (size_t k = 0; k < timeline->job.count; k++) {
    for (uint32_t i = timeline->sharers_first[k]; i < timeline->sharers_first[k + 1]; i++) {
      shared->items[timeline->sharers[i]].start = timeline->job.items[k].start;
      shared->items[timeline->sharers[i]].end = timeline->job.items[k].end;
    }
  }
}

static void write_job_steps(struct lumos_job *job, const struct lumos_timeline *timeline,
                            struct lumos_partition *shared) {
  struct weighted *listed = lumos_allocate(timeline->steps.count * sizeof *listed);
  for (size_t k = 0; k < timeline->job.count; k++) {
    const struct lumos_step *step = &timeline->job.items[k];
    struct lumos_metric_place place = lumos_place_of(job, timeline, step);
    size_t count = 0;
    for (uint32_t i = timeline->sharers_first[k]; i < timeline->sharers_first[k + 1]; i++) {
      uint32_t sharer = timeline->sharers[i], rank = timeline->steps.items[sharer].rank;
      if (lumos_has_device(job, rank)) {
        listed[count++] = (struct weighted){&shared[sharer], lumos_rank_weight(&job->ranks.items[rank])};
      }
    }
    lumos_metric_time(job, "step_time", place, step->end - step->start);
    if (count > 0) {
      struct lumos_partition mean = mean_partition(listed, count);
      write_partition(job, place, &mean);
    }
  }
  free(listed);
}

void lumos_breakdown_open(struct lumos_breakdown *breakdown, const struct lumos_job *job, size_t steps) {
  lumos_coupling_make(&breakdown->coupling, job);
  breakdown->kept = lumos_allocate(steps * sizeof *breakdown->kept);
  breakdown->idle = lumos_allocate(steps * sizeof *breakdown->idle);
  breakdown->unrecorded = lumos_unrecorded_open(job);
}

void lumos_breakdown_close(struct lumos_breakdown *breakdown) {
  lumos_unrecorded_close(breakdown->unrecorded);
  lumos_coupling_free(&breakdown->coupling);
  free(breakdown->kept);
  free(breakdown->idle);
}

void lumos_write_timeline(struct lumos_job *job, const struct lumos_coupling *coupling,
                          const struct lumos_timeline *timeline, int64_t *kept, struct lumos_idle *idle,
                          struct lumos_unrecorded *unrecorded) {
  size_t count = timeline->steps.count;
  struct lumos_partition *own = lumos_allocate(count * sizeof *own), *jobs = lumos_allocate(count * sizeof *jobs);
  struct lumos_steps_list shared;
  find_shared_steps(timeline, &shared);
  const struct lumos_steps_parts lists[] = {{&timeline->steps, own}, {&shared, jobs}};
  bool several = job->ranks.count > 1; /* of one rank the job's steps are its own */
  lumos_partition_lists(job, timeline->runs, coupling, lists, several ? 2 : 1, unrecorded);
  for (size_t i = 0; i < count; i++) {
    const struct lumos_step *step = &timeline->steps.items[i];
    struct lumos_metric_place place = lumos_place_of(job, timeline, step);
    kept[i] = own[i].communication_kept;
    idle[i] = (struct lumos_idle){LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT};
    lumos_metric_time(job, "step_time", place, step->end - step->start);
    if (lumos_has_device(job, step->rank)) {
      write_partition(job, place, &own[i]);
      const struct lumos_partition *job_part = several ? &jobs[i] : &own[i];
      idle[i] = (struct lumos_idle){own[i].idle, job_part->idle, own[i].not_recorded, job_part->not_recorded};
    }
  }
  write_job_steps(job, timeline, several ? jobs : own);
  lumos_write_bubbles(job, timeline, own);
  lumos_vector_free(&shared);
  free(own);
  free(jobs);
}
