/* Kernels beside communication that a change moves, and transfers beside kernels and beside others on the same links:
 * those that lose it get faster, those that get it slower. */
#ifndef LUMOS_TRANSFORM_CONTEND_H
#define LUMOS_TRANSFORM_CONTEND_H

#include "cost/hardware.h"
#include "cost/sharing.h"
#include "sim/beside.h"

struct lumos_overlaps {             /* of a job as simulated */
  double *shares[LUMOS_CONTENDERS]; /* by task: how much of it runs beside communication; NULL: the job cannot run */
  double *transferring[LUMOS_CONTENDERS]; /* by task: beside communication that transfers */
  double *held;                           /* by task: SMs that collectives hold while it runs beside them, mean */
  struct lumos_slowed *slowed;            /* by collective: its transfer */
};

struct lumos_contending {            /* where a job runs */
  int32_t node_size;                 /* GPUs */
  double sms;                        /* of a GPU; 0: not known */
  const struct lumos_device *device; /* NULL: not known */
};

struct lumos_contend {
  struct lumos_hardware *hardware; /* of which `was` is; NULL: it cannot be read */
  struct lumos_beside beside;      /* before the change */
  double factors[LUMOS_CONTENDED]; /* by how much more of a kernel is lost after it; 1 but on another GPU */
  struct lumos_contending was, is; /* before the change and after it; alike unless set */
  double typical;                  /* SMs that a collective holds in the recording; 0: not known */
  double held;                     /* SMs held beside products, of which the loss is known; 0: not known */
  struct lumos_overlaps overlaps;  /* before the change */
  struct lumos_sharing sharing;    /* of transfers */
  uint32_t *collective_of;         /* by task, LUMOS_NONE: of none */
};

/* Before the change, then behind it: kernels take as much longer or shorter as more or less of them runs beside
 * communication, and transfers as more or less of them is slowed down, as the recording shows what that costs
 * (cost/contention.h, cost/sharing.h). Products lose as many SMs as collectives hold, of those recorded and of those
 * that come (cost/held.h); what else is lost, to memory that they share, is lost beside transfers, not beside
 * communication that waits. What comes is lost as unevenly as the recording's kernels lose
 * (cost/uneven.h). A change that moves nothing changes nothing. `likes`: by task of the changed job, the one
 * of the job before that it is like, or LUMOS_NONE, which ran beside none; NULL: tasks are the same. The begin runs the
 * engine, the end up to four times, until next to nothing changes. */
void lumos_contend_begin(struct lumos_contend *contend, const struct lumos_job *job);
void lumos_contend_end(struct lumos_contend *contend, struct lumos_job *job, const uint32_t *likes);
/* The end in two parts, for several jobs that are made of one. */
void lumos_contend_apply(const struct lumos_contend *contend, struct lumos_job *job, const uint32_t *likes);
/* How fast a task of the job before the change, where it was the n-th (`at`), ran beside what it overlapped; alone it
 * takes its time times this. 1: the job cannot run. O(1). */
double lumos_contend_speed(const struct lumos_contend *contend, const struct lumos_task *task, uint32_t at);
void lumos_contend_free(struct lumos_contend *contend);

#endif
