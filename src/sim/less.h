/* A job with less of a kind of work, simulated: what a factor changes is what --scale changes (transform/scaling.h).
 *
 * Whoever runs again and again keeps one of these: an engine, and a copy of what works change, each made when it is
 * first needed. Several of them, of one job, run side by side.
 */
#ifndef LUMOS_SIM_LESS_H
#define LUMOS_SIM_LESS_H

#include "sim/engine.h"
#include "sim/work.h"

struct lumos_less {
  const struct lumos_job *job;
  const struct lumos_times *usual; /* by task, of stragglers; NULL: there are none */
  struct lumos_engine engine;      /* shares with the one that it was opened with */
  struct lumos_job changed;        /* shares with the job what is not copied here */
  struct lumos_times *times;       /* by task */
  struct lumos_run *runs;
  uint8_t *chosen; /* by task */
};

/* chosen[t]: is the task of the work, as a whole, or with others of its collective? False: no member of a collective
 * is. */
bool lumos_less_choose(const struct lumos_job *job, const struct lumos_work *work, uint8_t *chosen);

/* `engine`: prepared for the job; it has to outlive this one. */
void lumos_less_open(struct lumos_less *less, const struct lumos_engine *engine, const struct lumos_times *usual);
void lumos_less_close(struct lumos_less *less);

/* Fills less->runs: the job with so many millionths of the work. False where its tasks then wait for each other, or
 * take too long. */
bool lumos_less_run(struct lumos_less *less, const struct lumos_work *work, int64_t millionths) LUMOS_MUST_CHECK;

#endif
