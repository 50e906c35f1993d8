/* Whose model of training a run follows: which of the dependencies found at run time bind.
 *
 * The graph is one and the same, and so is all that is fixed in it: thread order, hand-overs between threads, launches,
 * boundaries, and stream order. A model leaves kinds of dependency out, so what its error is above that of the full
 * model is what they are worth.
 */
#ifndef LUMOS_SIM_MODEL_H
#define LUMOS_SIM_MODEL_H

#include <lumos/sim.h>

struct lumos_model_rules {
  const char *name;
  bool between_streams; /* streams wait for each other: for events, or for free SMs */
  bool host_waits;      /* a call that synchronises returns when what it waits for is over */
  bool members;         /* a collective begins with its last member */
};

const struct lumos_model_rules *lumos_model_rules(enum lumos_model model);

/* A job says in its history by which model it was simulated, and with which table of GPUs (a file's base name, or
 * NULL). */
void lumos_model_write(struct lumos_job *job, enum lumos_model model, const char *hardware);
enum lumos_model lumos_model_of(const struct lumos_job *job);

#endif
