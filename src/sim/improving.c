#include "sim/improving.h"

#include <lumos/memory.h>

static struct lumos_times new_times(void *context, uint32_t task, struct lumos_times own) {
  (void)own;
  return ((const struct lumos_improved *)context)->times[task];
}

static int64_t new_transfer(void *context, uint32_t collective, int64_t own) {
  (void)own;
  return ((const struct lumos_improved *)context)->transfers[collective];
}

struct lumos_times *lumos_improve_times(struct lumos_improving *improving) {
  struct lumos_improved *improved = improving->improved;
  if (improved->times == NULL) {
    improved->times = lumos_allocate(improving->job->tasks.count * sizeof *improved->times + 1);
    for (uint32_t t = 0; t < improving->job->tasks.count; t++) {
      improved->times[t] = lumos_own_times(improving->job, t);
    }
    improved->variant.times = new_times;
  }
  return improved->times;
}

int64_t *lumos_improve_transfers(struct lumos_improving *improving) {
  struct lumos_improved *improved = improving->improved;
  if (improved->transfers == NULL) {
    improved->transfers = lumos_allocate(improving->job->collectives.count * sizeof *improved->transfers + 1);
    for (size_t c = 0; c < improving->job->collectives.count; c++) {
      improved->transfers[c] = improving->job->collectives.items[c].transfer;
    }
    improved->variant.transfer = new_transfer;
  }
  return improved->transfers;
}
