#include "rebuild/axes.h"

unsigned rebuild_axes_of_role(uint8_t role) {
  return role == LUMOS_TENSOR     ? REBUILD_TENSOR
         : role == LUMOS_PIPELINE ? REBUILD_PIPELINE
         : role == LUMOS_DATA     ? REBUILD_DATA
                                  : 0;
}

unsigned rebuild_axes_of(const struct lumos_job *job, const int32_t *ranks, uint32_t count, uint8_t role) {
  const struct lumos_parallel *first = NULL;
  uint32_t known = 0;
  unsigned axes = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t rank = lumos_job_rank(job, ranks[i]);
    if (rank != LUMOS_NONE && job->ranks.items[rank].has_parallel) {
      const struct lumos_parallel *at = &job->ranks.items[rank].parallel;
      first = first == NULL ? at : first;
      axes |= at->tp != first->tp ? REBUILD_TENSOR : 0U;
      axes |= at->pp != first->pp ? REBUILD_PIPELINE : 0U;
      axes |= at->dp != first->dp ? REBUILD_DATA : 0U;
      known++;
    }
  }
  return axes | (known < count || count == 1 ? rebuild_axes_of_role(role) : 0U);
}

static bool is_at_end(const struct rebuild_plan *plan, const struct lumos_parallel *at) {
  return at->pp == 0 || at->pp == plan->model.sizes.pp - 1;
}

int32_t rebuild_axes_count(const struct rebuild_plan *plan, const struct lumos_parallel *at, unsigned axes) {
  const struct lumos_parallel *sizes = &plan->model.sizes;
  int32_t stages = (axes & REBUILD_ENDS) != 0 && sizes->pp > 1 ? 2 : sizes->pp;
  if ((axes & REBUILD_ENDS) != 0 && !is_at_end(plan, at)) {
    return 0;
  }
  return ((axes & REBUILD_TENSOR) != 0 ? sizes->tp : 1) * ((axes & REBUILD_PIPELINE) != 0 ? stages : 1) *
         ((axes & REBUILD_DATA) != 0 ? sizes->dp : 1);
}

void rebuild_axes_list(const struct rebuild_plan *plan, const struct lumos_parallel *at, unsigned axes,
                       struct rebuild_numbers *numbers) {
  const struct lumos_parallel *sizes = &plan->model.sizes;
  bool along[] = {(axes & REBUILD_TENSOR) != 0, (axes & REBUILD_PIPELINE) != 0, (axes & REBUILD_DATA) != 0};
  numbers->count = 0;
  for (int32_t p = along[1] ? 0 : at->pp; p < (along[1] ? sizes->pp : at->pp + 1); p++) {
    bool here = (axes & REBUILD_ENDS) == 0 || p == 0 || p == sizes->pp - 1;
    for (int32_t d = along[2] ? 0 : at->dp; here && d < (along[2] ? sizes->dp : at->dp + 1); d++) {
      for (int32_t t = along[0] ? 0 : at->tp; t < (along[0] ? sizes->tp : at->tp + 1); t++) {
        lumos_vector_push(numbers, rebuild_number_at(sizes, t, p, d));
      }
    }
  }
}
