/* What kernels lose to communication that runs beside them on their GPU, which holds SMs and, while it transfers,
 * memory: fitted to the trace's own overlaps. */
#ifndef LUMOS_COST_CONTENTION_H
#define LUMOS_COST_CONTENTION_H

#include "cost/placing.h"
#include "cost/uneven.h"

enum lumos_contended { LUMOS_CONTENDED_PRODUCTS, LUMOS_CONTENDED_OTHERS, LUMOS_CONTENDED };

/* Of time beside communication no more is lost to it: more is something else. */
#define LUMOS_MOST_LOST 0.6

struct lumos_contention {
  struct lumos_loss {
    double share;               /* how much longer a kernel takes while all of it runs beside communication */
    double error;               /* of that share, one standard deviation */
    double transferring;        /* for how much of that time the communication transferred; it waited else. Above 0 */
    int64_t evidence;           /* kernels that show it; 0: none do, and it is what others measured */
    struct lumos_uneven uneven; /* of those that ran beside communication that transferred */
  } losses[LUMOS_CONTENDED];    /* matrix products and attention; all others */
};

/* The trace's own: kernels of one name, shape, phase and rank that ran beside this communication (a byte a task),
 * against the median of those that ran beside none. Where less than three such show it, of products those of the same
 * size in either pass, and else what was measured elsewhere. O(tasks log tasks). */
void lumos_contention_fit(struct lumos_contention *contention, const struct lumos_placing *placing,
                          const uint8_t *communication);

/* Of a task on a stream that computes. */
enum lumos_contended lumos_contended_of(const struct lumos_task *task);
const struct lumos_loss *lumos_loss_of(const struct lumos_contention *contention, const struct lumos_task *task);

/* A kernel is never left less of its speed beside communication: none was seen to be ten times as long there. */
#define LUMOS_LEAST_SPEED 0.1
/* By task: how fast a kernel that computes ran, as measured, beside collectives and messages, whose average cost this
 * trace shows: alone it takes its time times this. 1: it ran alone, or is none. The caller frees it. O(tasks log
 * tasks). */
double *lumos_measured_speeds(const struct lumos_job *job);

/* By task, a byte: is it on a stream and computes? The caller frees it. O(tasks). */
uint8_t *lumos_find_computing(const struct lumos_job *job);
/* The same of what kernels run beside. */
enum { LUMOS_CONTENDERS = 2 }; /* collectives, and messages between two, which hold fewer SMs */
uint8_t *lumos_find_contender(const struct lumos_job *job, int with);
/* By task, how long those `of` run beside `others` on their rank: a byte a task each, what computes and communication,
 * or the other way round. `runs`: start and duration by task, on one clock for each rank. `lengths`: of communication
 * only what it transfers counts (cost/passages.h); NULL: all of it. The caller frees it. O(tasks log tasks). */
int64_t *lumos_times_beside(const struct lumos_job *job, const struct lumos_run *runs, const int64_t *lengths,
                            const uint8_t *of, const uint8_t *others);
/* Of tasks on streams, as measured, before any change; those of others are 0. The caller frees them. */
struct lumos_run *lumos_measured_runs(const struct lumos_job *job);

#endif
