#include "cost/sharing.h"

#include "base/hash.h"
#include "base/numbering.h"
#include "cost/contention.h"
#include "cost/passages.h"
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
  int64_t *lengths; /* by task (cost/passages.h) */
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

static void find_links(struct sharing *sharing) {
  const struct lumos_job *job = sharing->job;
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    struct lumos_transfer_shape shape = lumos_transfer_shape_of(sharing->placing, collective);
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t t = job->members.items[collective->member_first + m];
      sharing->links[t] |= links_of(op_of(sharing, t), shape.size, shape.nodes);
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (sharing->lengths[t] > 0 && sharing->links[t] == 0) {
      struct lumos_transfer_shape shape = lumos_transfer_shape_of_kernel(sharing->placing, t);
      sharing->links[t] = links_of(op_of(sharing, t), shape.size, shape.nodes);
    }
  }
}

static int by_start(const void *left, const void *right) {
  const struct passage *a = left, *b = right;
  return a->rank != b->rank     ? LUMOS_ORDER(a->rank, b->rank)
         : a->start != b->start ? LUMOS_ORDER(a->start, b->start)
                                : LUMOS_ORDER(a->task, b->task);
}

static struct passage passage_of(const struct sharing *sharing, uint32_t task, int64_t transfer) {
  struct lumos_run run = lumos_passage(sharing->runs[task], transfer);
  return (struct passage){.rank = lumos_rank_of(sharing->job, &sharing->job->tasks.items[task]),
                          .task = task,
                          .start = run.start,
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

/* By collective: how much of its members' transfers their GPUs compute, mean. */
static void find_computing(const struct sharing *sharing, struct lumos_slowed *slowed) {
  const struct lumos_job *job = sharing->job;
  uint8_t *communication = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t m = 0; m < job->members.count; m++) {
    communication[job->members.items[m]] = 1;
  }
  uint8_t *computing = lumos_find_computing(job);
  int64_t *beside = lumos_times_beside(job, sharing->runs, sharing->lengths, communication, computing);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    double sum = 0, length = 0;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t t = job->members.items[collective->member_first + m];
      struct lumos_run passage = lumos_passage(sharing->runs[t], sharing->lengths[t]);
      bool runs_there = passage.start != LUMOS_ABSENT;
      sum += runs_there ? (double)beside[t] : 0;
      length += runs_there ? (double)passage.dur : 0;
    }
    slowed[c].computing = length > 0 ? sum / length : 0;
  }
  free(beside);
  free(computing);
  free(communication);
}

/* What slows a transfer down makes the part in which data pass longer, not its latency. One that takes less than the
 * model says has links that are faster throughout. */
static void leave_out_latency(const struct lumos_placing *placing, const struct lumos_links *links,
                              struct lumos_slowed *slowed) {
  for (size_t c = 0; c < placing->job->collectives.count; c++) {
    const struct lumos_collective *collective = &placing->job->collectives.items[c];
    struct lumos_transfer_shape shape = lumos_transfer_shape_of(placing, collective);
    enum lumos_transfer_form form = lumos_transfer_form_of(shape.op);
    if (shape.size > 1 && shape.bytes != LUMOS_ABSENT && shape.bytes >= 0) {
      double bytes = (double)shape.bytes, latency = lumos_nccl_latency(links, form, bytes, shape.size, shape.nodes);
      double alone = lumos_nccl_time(links, form, bytes, shape.size, shape.nodes);
      double passes = 1 - latency / fmax(alone, (double)collective->transfer);
      slowed[c].shared *= passes;
      slowed[c].computing *= passes;
    }
  }
}

double lumos_slowed_speed(const struct lumos_sharing *sharing, struct lumos_slowed slowed) {
  return (1 - sharing->part * slowed.shared) * (1 - sharing->computing_part * slowed.computing);
}

struct lumos_slowed *lumos_slowed_transfers(const struct lumos_placing *placing, const struct lumos_links *links,
                                            const struct lumos_run *runs) {
  const struct lumos_job *job = placing->job;
  struct sharing sharing = {.placing = placing, .job = job, .runs = runs};
  struct pieces pieces = {0};
  struct lumos_slowed *slowed = lumos_allocate_zeroed(job->collectives.count + 1, sizeof *slowed);
  sharing.lengths = lumos_transfer_lengths(placing, runs);
  sharing.links = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *sharing.links);
  sharing.first = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *sharing.first);
  sharing.longest = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *sharing.longest);
  find_links(&sharing);
  list_passages(&sharing);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    if (collective->transfer != LUMOS_ABSENT && collective->transfer > 0) {
      slowed[c].shared = share_of(&sharing, collective, &pieces);
    }
  }
  find_computing(&sharing, slowed);
  leave_out_latency(placing, links, slowed);
  lumos_vector_free(&pieces);
  lumos_vector_free(&sharing.passages);
  free(sharing.longest);
  free(sharing.first);
  free(sharing.links);
  free(sharing.lengths);
  return slowed;
}

/* ---- what that costs ---- */

static int by_shape(const void *left, const void *right) {
  const struct lumos_shared_transfer *a = left, *b = right;
  return a->shape != b->shape                   ? LUMOS_ORDER(a->shape, b->shape)
         : a->ns != b->ns                       ? LUMOS_ORDER(a->ns, b->ns)
         : a->slowed.shared != b->slowed.shared ? LUMOS_ORDER(a->slowed.shared, b->slowed.shared)
                                                : LUMOS_ORDER(a->slowed.computing, b->slowed.computing);
}

/* Sums of squares and products about the mean of each shape, of logarithms of times alone, shared parts, and parts
 * beside kernels. A shape counts by the time that it takes: a short transfer is all latency, which shares nothing. */
struct scatter {
  double of_times, of_shared, of_computing, of_both;
  int64_t transfers, shapes; /* that there are several of */
};

struct sums { /* of one shape */
  double time, alone, alone_squares, shared, shared_squares, computing, computing_squares, both;
};

static void add_shape(const struct sums *sums, size_t transfers, struct scatter *scatter) {
  double count = (double)transfers, weight = sums->time / count;
  if (transfers > 1) {
    scatter->of_times += weight * (sums->alone_squares - sums->alone * sums->alone / count);
    scatter->of_shared += weight * (sums->shared_squares - sums->shared * sums->shared / count);
    scatter->of_computing += weight * (sums->computing_squares - sums->computing * sums->computing / count);
    scatter->of_both += weight * (sums->both - sums->shared * sums->computing / count);
    scatter->transfers += (int64_t)transfers;
    scatter->shapes++;
  }
}

/* Of what transfers would take alone, if they lose these parts. */
static struct scatter scatter_of(const struct lumos_shared_transfers *transfers, const struct lumos_sharing *sharing) {
  struct scatter scatter = {0, 0, 0, 0, 0, 0};
  for (size_t first = 0, end = 0; first < transfers->count; first = end) {
    struct sums sums = {0, 0, 0, 0, 0, 0, 0, 0};
    for (end = first; end < transfers->count && transfers->items[end].shape == transfers->items[first].shape; end++) {
      const struct lumos_shared_transfer *transfer = &transfers->items[end];
      double alone = log(transfer->ns * lumos_slowed_speed(sharing, transfer->slowed));
      double shared = transfer->slowed.shared, computing = transfer->slowed.computing;
      sums.time += transfer->ns;
      sums.alone += alone;
      sums.alone_squares += alone * alone;
      sums.shared += shared;
      sums.shared_squares += shared * shared;
      sums.computing += computing;
      sums.computing_squares += computing * computing;
      sums.both += shared * computing;
    }
    add_shape(&sums, end - first, &scatter);
  }
  return scatter;
}

/* The part, one of the two in `sharing`, with which times alone scatter least. */
static void search_part(const struct lumos_shared_transfers *transfers, struct lumos_sharing *sharing, double *part) {
  enum { STEPS = 80 };
  static const double STEP = 0.01; /* to 0.8: who shares a link with four others loses as much */
  double best = 0, least = 0;
  for (int i = 0; i <= STEPS; i++) {
    *part = i * STEP;
    double scatter = scatter_of(transfers, sharing).of_times;
    if (i == 0 || scatter < least) {
      best = *part;
      least = scatter;
    }
  }
  *part = best;
}

/* One standard deviation of a part, of whose regressor there is so much that the other does not explain. */
static double error_of(const struct scatter *scatter, double of, double of_other) {
  double own = of_other > 0 ? of - scatter->of_both * scatter->of_both / of_other : of;
  double freedom = (double)(scatter->transfers - scatter->shapes - 2);
  return own > 0 && freedom > 0 ? sqrt(fmax(scatter->of_times, 0) / freedom / own) : INFINITY;
}

struct lumos_sharing lumos_sharing_fit(struct lumos_shared_transfers *transfers) {
  enum { LEAST = 12, SURE = 3, TURNS = 3 }; /* chosen: fewer transfers, or less than three errors, are chance */
  struct lumos_sharing sharing = {0, 0, 0, 0};
  lumos_vector_sort(transfers, by_shape);
  for (int i = 0; i < TURNS; i++) {
    search_part(transfers, &sharing, &sharing.part);
    search_part(transfers, &sharing, &sharing.computing_part);
  }
  struct scatter best = scatter_of(transfers, &sharing);
  if (best.transfers < LEAST) {
    return (struct lumos_sharing){0, 0, 0, 0};
  }
  if (sharing.computing_part <= SURE * error_of(&best, best.of_computing, best.of_shared)) {
    sharing.computing_part = 0;
    search_part(transfers, &sharing, &sharing.part);
    best = scatter_of(transfers, &sharing);
    best.of_both = 0;
  }
  sharing.error = error_of(&best, best.of_shared, best.of_computing);
  sharing.evidence = best.transfers;
  if (sharing.part <= SURE * sharing.error) {
    sharing.part = sharing.error = 0;
    if (sharing.computing_part > 0) {
      search_part(transfers, &sharing, &sharing.computing_part);
    }
  }
  return sharing;
}

struct lumos_sharing lumos_sharing_of(const struct lumos_placing *placing, const struct lumos_slowed *slowed) {
  const struct lumos_job *job = placing->job;
  struct lumos_shared_transfers shared = {0};
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    struct lumos_transfer_shape shape = lumos_transfer_shape_of(placing, collective);
    bool known = collective->transfer != LUMOS_ABSENT && collective->transfer > 0 && shape.bytes != LUMOS_ABSENT;
    if (known && collective->member_count > 0) {
      uint64_t key = lumos_hash_mix(lumos_transfer_class(shape.op), (uint64_t)shape.bytes);
      key = lumos_hash_mix(key, lumos_key_pair((uint32_t)shape.size, (uint32_t)shape.nodes));
      lumos_vector_push(&shared, ((struct lumos_shared_transfer){key, (double)collective->transfer, slowed[c]}));
    }
  }
  struct lumos_sharing sharing = lumos_sharing_fit(&shared);
  lumos_vector_free(&shared);
  return sharing;
}
