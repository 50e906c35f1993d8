#include "cost/passages.h"

#include "base/hash.h"
#include "base/numbering.h"
#include <stdlib.h>

struct lone { /* a kernel whose members have no trace */
  uint64_t key;
  int64_t dur;
  uint32_t task;
};
LUMOS_VECTOR_TYPE(lones, struct lone);

static int by_key(const void *left, const void *right) {
  const struct lone *a = left, *b = right;
  return a->key != b->key   ? LUMOS_ORDER(a->key, b->key)
         : a->dur != b->dur ? LUMOS_ORDER(a->dur, b->dur)
                            : LUMOS_ORDER(a->task, b->task);
}

static uint64_t key_of(const struct lumos_placing *placing, uint32_t task, struct lumos_transfer_shape shape) {
  const struct lumos_job *job = placing->job;
  const struct lumos_comm *comm = &lumos_detail_of(job, &job->tasks.items[task])->comm;
  uint64_t op = lumos_transfer_class(comm->op == LUMOS_NO_STRING ? "" : lumos_string(job->strings, comm->op));
  return lumos_hash_mix(lumos_hash_mix(op, (uint64_t)shape.bytes),
                        lumos_key_pair((uint32_t)shape.size, (uint32_t)shape.nodes));
}

/* Of all kernels that are in no collective. */
static void find_lone_lengths(const struct lumos_placing *placing, const struct lumos_run *runs, const uint8_t *joined,
                              int64_t *lengths) {
  const struct lumos_job *job = placing->job;
  struct lones lones = {0};
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (!joined[t] && lumos_is_communication(task->kind) && lumos_on_stream(job, task) &&
        runs[t].start != LUMOS_ABSENT) {
      struct lumos_transfer_shape shape = lumos_transfer_shape_of_kernel(placing, t);
      if (shape.bytes != LUMOS_ABSENT) { /* else it may be of any size */
        lumos_vector_push(&lones, ((struct lone){key_of(placing, t, shape), runs[t].dur, t}));
      }
    }
  }
  lumos_vector_sort(&lones, by_key);
  for (size_t first = 0, end = 0; first < lones.count; first = end) {
    for (end = first; end < lones.count && lones.items[end].key == lones.items[first].key; end++) {
    }
    for (size_t i = first; i < end; i++) {
      lengths[lones.items[i].task] = lones.items[first + (end - first) / 2].dur;
    }
  }
  lumos_vector_free(&lones);
}

int64_t *lumos_transfer_lengths(const struct lumos_placing *placing, const struct lumos_run *runs) {
  const struct lumos_job *job = placing->job;
  int64_t *lengths = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *lengths);
  uint8_t *joined = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    int64_t transfer = collective->transfer == LUMOS_ABSENT ? 0 : collective->transfer;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t t = job->members.items[collective->member_first + m];
      lengths[t] = transfer > lengths[t] ? transfer : lengths[t];
      joined[t] = 1;
    }
  }
  find_lone_lengths(placing, runs, joined, lengths);
  free(joined);
  return lengths;
}
