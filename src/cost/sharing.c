#include "cost/sharing.h"

#include "base/hash.h"
#include "base/numbering.h"
#include "cost/contention.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what passes which links ---- */

enum links { WITHIN_OUT = 1, WITHIN_IN = 2, NETWORK_OUT = 4, NETWORK_IN = 8 };

/* A communication kernel's transfer on its rank; it ends with the kernel, for a kernel waits first. */
struct passage {
  uint32_t rank, task;
  int64_t start, end;
  uint8_t links;
};
LUMOS_VECTOR_TYPE(passages, struct passage);

struct sharing {
  const struct lumos_placing *placing;
  const struct lumos_job *job;
  const struct lumos_run *runs;
  int64_t *lengths; /* by task, of the transfer; 0: no communication */
  uint8_t *links;   /* by task */
  struct passages passages;
  size_t *first;    /* by rank: its passages; one more stands behind the last */
  int64_t *longest; /* by rank */
};

/* Rings pass NVLink between members of a node, and the network between nodes (NCCL); a message one of both, one way. */
static uint8_t links_of(const char *op, int32_t size, int32_t nodes) {
  unsigned way = strcmp(op, "send") == 0   ? WITHIN_OUT | NETWORK_OUT
                 : strcmp(op, "recv") == 0 ? WITHIN_IN | NETWORK_IN
                                           : WITHIN_OUT | WITHIN_IN | NETWORK_OUT | NETWORK_IN;
  unsigned link = nodes <= 1     ? WITHIN_OUT | WITHIN_IN
                  : size > nodes ? WITHIN_OUT | WITHIN_IN | NETWORK_OUT | NETWORK_IN
                                 : NETWORK_OUT | NETWORK_IN;
  return (uint8_t)(way & link);
}

static const char *op_of(const struct sharing *sharing, uint32_t task) {
  const struct lumos_comm *comm = &lumos_detail_of(sharing->job, &sharing->job->tasks.items[task])->comm;
  return comm->op == LUMOS_NO_STRING ? "" : lumos_string(sharing->job->strings, comm->op);
}

static void look_at_collectives(struct sharing *sharing) {
  const struct lumos_job *job = sharing->job;
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    struct lumos_transfer_shape shape = lumos_transfer_shape_of(sharing->placing, collective);
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t t = job->members.items[collective->member_first + m];
      int64_t transfer = collective->transfer == LUMOS_ABSENT ? 0 : collective->transfer;
      sharing->lengths[t] = transfer > sharing->lengths[t] ? transfer : sharing->lengths[t];
      sharing->links[t] |= links_of(op_of(sharing, t), shape.size, shape.nodes);
    }
  }
}

/* Of kernels whose members have no trace a part is waiting: the transfer is taken to be their median, of one operation and size. */
struct lone {
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

static void look_at_lone_kernels(struct sharing *sharing) {
  const struct lumos_job *job = sharing->job;
  struct lones lones = {0};
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool lone = lumos_is_communication(task->kind) && lumos_on_stream(job, task) && sharing->links[t] == 0;
    if (lone && sharing->runs[t].start != LUMOS_ABSENT) {
      struct lumos_transfer_shape shape = lumos_transfer_shape_of_kernel(sharing->placing, t);
      sharing->links[t] = links_of(op_of(sharing, t), shape.size, shape.nodes);
      uint64_t key = lumos_hash_mix(lumos_hash_text(op_of(sharing, t)), (uint64_t)shape.bytes);
      key = lumos_hash_mix(key, lumos_key_pair((uint32_t)shape.size, (uint32_t)shape.nodes));
      lumos_vector_push(&lones, ((struct lone){key, sharing->runs[t].dur, t}));
    }
  }
  lumos_vector_sort(&lones, by_key);
  for (size_t first = 0, end = 0; first < lones.count; first = end) {
    for (end = first; end < lones.count && lones.items[end].key == lones.items[first].key; end++) {
    }
    for (size_t i = first; i < end; i++) {
      sharing->lengths[lones.items[i].task] = lones.items[first + (end - first) / 2].dur;
    }
  }
  lumos_vector_free(&lones);
}

static int by_start(const void *left, const void *right) {
  const struct passage *a = left, *b = right;
  return a->rank != b->rank     ? LUMOS_ORDER(a->rank, b->rank)
         : a->start != b->start ? LUMOS_ORDER(a->start, b->start)
                                : LUMOS_ORDER(a->task, b->task);
}

static struct passage passage_of(const struct sharing *sharing, uint32_t task, int64_t transfer) {
  struct lumos_run run = sharing->runs[task];
  int64_t length = transfer < run.dur ? transfer : run.dur;
  return (struct passage){.rank = lumos_rank_of(sharing->job, &sharing->job->tasks.items[task]),
                          .task = task,
                          .start = run.start + run.dur - length,
                          .end = run.start + run.dur,
                          .links = sharing->links[task]};
}

static void list_passages(struct sharing *sharing) {
  const struct lumos_job *job = sharing->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (sharing->lengths[t] > 0 && sharing->runs[t].start != LUMOS_ABSENT) {
      lumos_vector_push(&sharing->passages, passage_of(sharing, t, sharing->lengths[t]));
    }
  }
  lumos_vector_sort(&sharing->passages, by_start);
  for (size_t i = 0; i < sharing->passages.count; i++) {
    const struct passage *passage = &sharing->passages.items[i];
    int64_t *longest = &sharing->longest[passage->rank], length = passage->end - passage->start;
    *longest = length > *longest ? length : *longest;
    sharing->first[passage->rank + 1] = i + 1;
  }
  for (size_t r = 0; r < job->ranks.count; r++) {
    sharing->first[r + 1] = sharing->first[r + 1] > sharing->first[r] ? sharing->first[r + 1] : sharing->first[r];
  }
}

/* ---- how much of a transfer is shared ---- */

struct piece { /* of a transfer, from its start */
  int64_t from, to;
};
LUMOS_VECTOR_TYPE(pieces, struct piece);

static int by_from(const void *left, const void *right) {
  const struct piece *a = left, *b = right;
  return a->from != b->from ? LUMOS_ORDER(a->from, b->from) : LUMOS_ORDER(a->to, b->to);
}

/* The first passage of a rank that begins no earlier. */
static size_t passage_from(const struct sharing *sharing, uint32_t rank, int64_t at) {
  size_t low = sharing->first[rank], high = sharing->first[rank + 1];
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (sharing->passages.items[middle].start < at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void add_pieces(const struct sharing *sharing, const struct passage *own, struct pieces *pieces) {
  size_t i = passage_from(sharing, own->rank, own->start - sharing->longest[own->rank]);
  for (; i < sharing->first[own->rank + 1] && sharing->passages.items[i].start < own->end; i++) {
    const struct passage *other = &sharing->passages.items[i];
    if (other->task != own->task && (other->links & own->links) != 0 && other->end > own->start) {
      int64_t from = other->start > own->start ? other->start : own->start;
      int64_t to = other->end < own->end ? other->end : own->end;
      lumos_vector_push(pieces, ((struct piece){from - own->start, to - own->start}));
    }
  }
}

static double united(struct pieces *pieces) {
  int64_t sum = 0, end = 0;
  lumos_vector_sort(pieces, by_from);
  for (size_t i = 0; i < pieces->count; i++) {
    int64_t from = pieces->items[i].from > end ? pieces->items[i].from : end;
    sum += pieces->items[i].to > from ? pieces->items[i].to - from : 0;
    end = pieces->items[i].to > end ? pieces->items[i].to : end;
  }
  return (double)sum;
}

static double share_of(const struct sharing *sharing, const struct lumos_collective *collective,
                       struct pieces *pieces) {
  uint32_t present = 0;
  pieces->count = 0;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t t = sharing->job->members.items[collective->member_first + m];
    if (sharing->runs[t].start != LUMOS_ABSENT) {
      struct passage own = passage_of(sharing, t, collective->transfer);
      add_pieces(sharing, &own, pieces);
      present++;
    }
  }
  double share = fmin(united(pieces) / (double)collective->transfer, 1);
  /* Were all members at it at times of their own, all would be free for as often the product of what each is. */
  return collective->size > (int32_t)present && present > 0 ? 1 - pow(1 - share, (double)collective->size / present)
                                                            : share;
}

double *lumos_shares_of_transfers(const struct lumos_placing *placing, const struct lumos_run *runs) {
  const struct lumos_job *job = placing->job;
  struct sharing sharing = {.placing = placing, .job = job, .runs = runs};
  struct pieces pieces = {0};
  double *shares = lumos_allocate_zeroed(job->collectives.count + 1, sizeof *shares);
  sharing.lengths = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *sharing.lengths);
  sharing.links = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *sharing.links);
  sharing.first = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *sharing.first);
  sharing.longest = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *sharing.longest);
  look_at_collectives(&sharing);
  look_at_lone_kernels(&sharing);
  list_passages(&sharing);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    if (collective->transfer != LUMOS_ABSENT && collective->transfer > 0) {
      shares[c] = share_of(&sharing, collective, &pieces);
    }
  }
  lumos_vector_free(&pieces);
  lumos_vector_free(&sharing.passages);
  free(sharing.longest);
  free(sharing.first);
  free(sharing.links);
  free(sharing.lengths);
  return shares;
}

/* ---- what that costs ---- */

static int by_shape(const void *left, const void *right) {
  const struct lumos_shared_transfer *a = left, *b = right;
  return a->shape != b->shape ? LUMOS_ORDER(a->shape, b->shape)
         : a->ns != b->ns     ? LUMOS_ORDER(a->ns, b->ns)
                              : LUMOS_ORDER(a->share, b->share);
}

/* Sums of squares about the mean of each shape, of logarithms and of shares. A shape counts by the time that it takes: a short transfer
 * is all latency, which shares nothing. */
struct scatter {
  double of_times, of_shares;
  int64_t transfers, shapes; /* that there are several of */
};

/* Of what transfers would take alone, if they lose this part of the time that they share. */
static struct scatter scatter_of(const struct lumos_shared_transfers *transfers, double part) {
  struct scatter scatter = {0, 0, 0, 0};
  for (size_t first = 0, end = 0; first < transfers->count; first = end) {
    double sum = 0, squares = 0, shares = 0, share_squares = 0, time = 0;
    for (end = first; end < transfers->count && transfers->items[end].shape == transfers->items[first].shape; end++) {
      const struct lumos_shared_transfer *transfer = &transfers->items[end];
      double alone = log(transfer->ns * (1 - part * transfer->share));
      sum += alone;
      time += transfer->ns;
      squares += alone * alone;
      shares += transfer->share;
      share_squares += transfer->share * transfer->share;
    }
    double count = (double)(end - first);
    if (count > 1) {
      scatter.of_times += time / count * (squares - sum * sum / count);
      scatter.of_shares += time / count * (share_squares - shares * shares / count);
      scatter.transfers += (int64_t)(end - first);
      scatter.shapes++;
    }
  }
  return scatter;
}

struct lumos_sharing lumos_sharing_fit(struct lumos_shared_transfers *transfers) {
  enum { LEAST = 12, STEPS = 80, SURE = 3 }; /* chosen: fewer transfers, or less than three errors, are chance */
  static const double STEP = 0.01;           /* to 0.8: who shares a link with four others loses as much */
  struct lumos_sharing sharing = {0, 0, 0};
  lumos_vector_sort(transfers, by_shape);
  struct scatter best = scatter_of(transfers, 0);
  for (int i = 1; i <= STEPS; i++) {
    struct scatter scatter = scatter_of(transfers, i * STEP);
    if (scatter.of_times < best.of_times) {
      best = scatter;
      sharing.part = i * STEP;
    }
  }
  int64_t freedom = best.transfers - best.shapes - 1;
  if (best.transfers < LEAST || freedom < 1 || !(best.of_shares > 0)) {
    return (struct lumos_sharing){0, 0, 0};
  }
  sharing.error = sqrt(fmax(best.of_times, 0) / (double)freedom / best.of_shares);
  sharing.evidence = best.transfers;
  return sharing.part > SURE * sharing.error ? sharing : (struct lumos_sharing){0, 0, 0};
}

struct lumos_sharing lumos_sharing_of(const struct lumos_placing *placing) {
  const struct lumos_job *job = placing->job;
  struct lumos_run *runs = lumos_measured_runs(job);
  double *shares = lumos_shares_of_transfers(placing, runs);
  struct lumos_shared_transfers shared = {0};
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    struct lumos_transfer_shape shape = lumos_transfer_shape_of(placing, collective);
    bool known = collective->transfer != LUMOS_ABSENT && collective->transfer > 0 && shape.bytes != LUMOS_ABSENT;
    if (known && collective->member_count > 0) {
      uint64_t key = lumos_hash_mix(lumos_transfer_class(shape.op), (uint64_t)shape.bytes);
      key = lumos_hash_mix(key, lumos_key_pair((uint32_t)shape.size, (uint32_t)shape.nodes));
      lumos_vector_push(&shared, ((struct lumos_shared_transfer){key, (double)collective->transfer, shares[c]}));
    }
  }
  struct lumos_sharing sharing = lumos_sharing_fit(&shared);
  lumos_vector_free(&shared);
  free(shares);
  free(runs);
  return sharing;
}
