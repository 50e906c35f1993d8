/* Gradients reduced beside the backward pass. Of all reductions of a rank's step as much is hidden as the kernels of
 * the last micro-batch's backward pass take, for before it no gradient is whole; what does not fit beside them is left
 * of each. */
#include "sim/improving.h"

#include "sim/clock.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pass {               /* of a rank's step; ns */
  int32_t last;             /* the last micro-batch that goes backward: before it no gradient is whole */
  int64_t backward;         /* what its kernels take */
  int64_t reduced, longest; /* all reductions of gradients, and the longest */
};

static struct pass *pass_of(const struct lumos_improving *improving, struct pass *passes, uint32_t t, uint32_t *guess) {
  const struct lumos_task *task = lumos_improving_task(improving, t);
  uint32_t index = lumos_step_index(improving->of->steps, lumos_rank_of(improving->job, task), task->step, guess);
  return index == LUMOS_NONE ? NULL : &passes[index];
}

static void find_backward(const struct lumos_improving *improving, struct pass *passes) {
  uint32_t guess = 0;
  for (uint32_t t = 0; t < improving->job->tasks.count; t++) {
    const struct lumos_task *task = lumos_improving_task(improving, t);
    struct pass *pass = lumos_improving_backward(task) && lumos_improving_computes(improving, t)
                            ? pass_of(improving, passes, t, &guess)
                            : NULL;
    if (pass != NULL) {
      pass->backward = task->micro_batch > pass->last ? 0 : pass->backward;
      pass->last = task->micro_batch > pass->last ? task->micro_batch : pass->last;
      pass->backward += task->micro_batch == pass->last ? task->dur : 0;
    }
  }
}

static bool reduces_gradients(const struct lumos_improving *improving, const uint8_t *data,
                              const struct lumos_collective *of) {
  const char *op = lumos_string(improving->job->strings, of->op);
  return of->transfer != LUMOS_ABSENT && of->transfer > 0 && data[of->group] &&
         (strcmp(op, "all_reduce") == 0 || strcmp(op, "reduce_scatter") == 0);
}

/* By string: is it the id of a group of replicas? */
static uint8_t *find_replicas(const struct lumos_job *job) {
  uint8_t *data = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  for (size_t g = 0; g < job->groups.count; g++) {
    data[job->groups.items[g].id] |= job->groups.items[g].role == LUMOS_DATA;
  }
  return data;
}

static void find_reductions(const struct lumos_improving *improving, const uint8_t *data, struct pass *passes) {
  uint32_t guess = 0;
  for (size_t c = 0; c < improving->job->collectives.count; c++) {
    const struct lumos_collective *of = &improving->job->collectives.items[c];
    for (uint32_t m = 0; m < of->member_count && reduces_gradients(improving, data, of); m++) {
      struct pass *pass = pass_of(improving, passes, improving->job->members.items[of->member_first + m], &guess);
      if (pass != NULL) {
        pass->reduced = lumos_time_sum(pass->reduced, of->transfer);
        pass->longest = of->transfer > pass->longest ? of->transfer : pass->longest;
      }
    }
  }
}

/* What is left of a reduction: as much of it as of all of them does not fit beside the backward pass, on the rank on
 * which the most is left. */
static double left_of(const struct lumos_improving *improving, struct pass *passes, const struct lumos_collective *of) {
  uint32_t guess = 0;
  double left = 0;
  for (uint32_t m = 0; m < of->member_count; m++) {
    const struct pass *pass = pass_of(improving, passes, improving->job->members.items[of->member_first + m], &guess);
    bool known = pass != NULL && pass->reduced > 0;
    left = fmax(left, known ? 1 - (double)pass->backward / (double)pass->reduced : 1);
  }
  return left;
}

/* The last bucket is whole only when the pass is over: it may stay. */
static void doubt_overlap(struct lumos_improving *improving, const struct pass *passes) {
  double longest = 0, hidden = 0;
  for (size_t i = 0; i < improving->of->steps->count; i++) {
    longest += (double)passes[i].longest;
    hidden += fmin((double)passes[i].reduced, (double)passes[i].backward);
  }
  double count = lumos_improving_steps(improving);
  improving->improved->assumed.longer = LUMOS_ANYTHING * longest / count;
  improving->improved->assumed.beside = fmin(hidden / count, improving->of->exposed);
}

bool lumos_improve_gradients(struct lumos_improving *improving) {
  const struct lumos_job *job = improving->job;
  struct pass *passes = lumos_allocate_zeroed(improving->of->steps->count + 1, sizeof *passes);
  uint8_t *data = find_replicas(job);
  bool any = false;
  for (size_t i = 0; i < improving->of->steps->count; i++) {
    passes[i].last = INT32_MIN;
  }
  find_backward(improving, passes);
  find_reductions(improving, data, passes);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *of = &job->collectives.items[c];
    double left = reduces_gradients(improving, data, of) ? left_of(improving, passes, of) : 1;
    if (left < 1) {
      lumos_improve_transfers(improving)[c] = llround(left * (double)of->transfer);
      any = true;
    }
  }
  doubt_overlap(improving, passes);
  free(passes);
  free(data);
  return any;
}
