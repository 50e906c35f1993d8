#include "rebuild/ports.h"

#include "base/hash.h"
#include "rebuild/label.h"
#include <stdlib.h>

/* ---- kinds and their order ---- */

static uint32_t place_of_lane(const struct lumos_job *job, uint32_t lane) {
  return lane - job->ranks.items[job->lanes.items[lane].rank].lane_first;
}

static void label_kinds(struct rebuild_kinds *kinds) {
  const struct rebuild_blocks *blocks = kinds->blocks;
  struct lumos_numbering labels = {0}, numbers = {0};
  for (size_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    const uint32_t label[] = {place_of_lane(blocks->job, block->lane), block->phase, block->part,
                              rebuild_block_use(block)};
    kinds->of[b] = lumos_number_of(&numbers, rebuild_label(&labels, label, sizeof label / sizeof *label));
  }
  kinds->count = (uint32_t)numbers.keys.count;
  lumos_numbering_free(&labels);
  lumos_numbering_free(&numbers);
}

void rebuild_order_make(struct rebuild_order *order, const struct rebuild_kinds *kinds, const uint32_t *list,
                        uint32_t count) {
  uint32_t *first = lumos_allocate_zeroed(kinds->count + 2U, sizeof *first);
  order->positions = lumos_allocate(count * sizeof *order->positions);
  for (uint32_t i = 0; i < count; i++) {
    first[kinds->of[list[i]] + 2]++;
  }
  for (uint32_t k = 2; k < kinds->count + 2; k++) {
    first[k] += first[k - 1];
  }
  for (uint32_t i = 0; i < count; i++) {
    order->positions[first[kinds->of[list[i]] + 1]++] = i;
  }
  order->first = first;
}

void rebuild_order_free(struct rebuild_order *order) {
  free(order->first);
  free(order->positions);
}

void rebuild_kinds_make(struct rebuild_kinds *kinds, const struct rebuild_blocks *blocks) {
  *kinds = (struct rebuild_kinds){.blocks = blocks};
  kinds->of = lumos_allocate(blocks->items.count * sizeof *kinds->of);
  label_kinds(kinds);
  kinds->recorded = lumos_allocate(blocks->job->ranks.count * sizeof *kinds->recorded);
  uint32_t *list = lumos_allocate(blocks->items.count * sizeof *list);
  for (uint32_t b = 0; b < blocks->items.count; b++) {
    list[b] = b;
  }
  for (size_t r = 0; r < blocks->job->ranks.count; r++) {
    uint32_t first = blocks->rank_first[r];
    rebuild_order_make(&kinds->recorded[r], kinds, list + first, blocks->rank_first[r + 1] - first);
  }
  free(list);
}

void rebuild_kinds_free(struct rebuild_kinds *kinds) {
  for (size_t r = 0; r < kinds->blocks->job->ranks.count; r++) {
    rebuild_order_free(&kinds->recorded[r]);
  }
  free(kinds->recorded);
  free(kinds->of);
}

/* How many of a kind stand before a position. */
static uint32_t count_before(const struct rebuild_order *order, uint32_t kind, uint32_t position) {
  uint32_t low = order->first[kind], high = order->first[kind + 1];
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (order->positions[middle] < position) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low - order->first[kind];
}

/* How many of the kind of block `to`, itself included, stand from it up to block `from` of its rank; below 1: it comes
 * later. */
static int64_t count_back(const struct rebuild_kinds *kinds, uint32_t from, uint32_t to) {
  uint32_t rank = kinds->blocks->items.items[from].rank, first = kinds->blocks->rank_first[rank], kind = kinds->of[to];
  const struct rebuild_order *recorded = &kinds->recorded[rank];
  return (int64_t)count_before(recorded, kind, from - first) - count_before(recorded, kind, to - first);
}

uint32_t rebuild_find_block(const struct rebuild_kinds *kinds, const struct rebuild_order *order, uint32_t position,
                            uint32_t from, uint32_t to) {
  if (from == to) {
    return position;
  }
  uint32_t kind = kinds->of[to];
  int64_t index = (int64_t)count_before(order, kind, position) - count_back(kinds, from, to);
  bool found = index >= 0 && index < order->first[kind + 1] - order->first[kind];
  return found ? order->positions[order->first[kind] + (uint32_t)index] : LUMOS_NONE;
}

/* The order of references does not count: a sum. */
static void add_port(const struct rebuild_kinds *kinds, uint64_t *hashes, uint32_t from, uint32_t to) {
  const struct rebuild_block *blocks = kinds->blocks->items.items;
  uint32_t own = kinds->blocks->of_task[from], other = kinds->blocks->of_task[to];
  if (own != LUMOS_NONE && other != LUMOS_NONE && own != other && blocks[own].rank == blocks[other].rank) {
    hashes[own] += lumos_hash_mix(lumos_hash_mix(0, kinds->of[other]), (uint64_t)count_back(kinds, own, other));
  }
}

uint64_t *rebuild_hash_ports(const struct rebuild_blocks *blocks) {
  const struct lumos_job *job = blocks->job;
  struct rebuild_kinds kinds;
  rebuild_kinds_make(&kinds, blocks);
  uint64_t *hashes = lumos_allocate_zeroed(blocks->items.count, sizeof *hashes);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t record = lumos_detail_of(job, &job->tasks.items[t])->wait.record;
    if (record != LUMOS_NONE) {
      add_port(&kinds, hashes, t, record);
    }
  }
  for (size_t d = 0; d < job->deps.count; d++) {
    if (job->deps.items[d].src != LUMOS_NONE) {
      add_port(&kinds, hashes, job->deps.items[d].dst, job->deps.items[d].src);
    }
  }
  rebuild_kinds_free(&kinds);
  return hashes;
}

/* ---- places ---- */

struct range {           /* tasks of a block, on its thread or on streams */
  const uint32_t *tasks; /* NULL: one after the other from `first` */
  uint32_t first, count;
};

static struct range range_of(const struct rebuild_blocks *blocks, uint32_t b, bool streams) {
  const struct rebuild_block *block = &blocks->items.items[b];
  return streams ? (struct range){blocks->devices + block->device_first, 0, block->device_count}
                 : (struct range){NULL, block->first, block->count};
}

static uint32_t task_at(const struct range *range, uint32_t i) {
  return range->tasks != NULL ? range->tasks[i] : range->first + i;
}

/* Is it on such a lane, of such a kind, and on threads of such a name? Kernels of one place may have other names. */
static bool is_alike(const struct lumos_job *job, uint32_t left, uint32_t right) {
  const struct lumos_task *a = &job->tasks.items[left], *b = &job->tasks.items[right];
  return a->kind == b->kind && place_of_lane(job, a->lane) == place_of_lane(job, b->lane) &&
         (lumos_on_stream(job, a) || a->name == b->name);
}

static uint32_t nth_alike(const struct lumos_job *job, uint32_t task, const struct range *own,
                          const struct range *other) {
  uint32_t before = 0, last = LUMOS_NONE;
  for (uint32_t i = 0; task_at(own, i) != task; i++) {
    before += is_alike(job, task_at(own, i), task);
  }
  for (uint32_t i = 0; i < other->count; i++) {
    uint32_t t = task_at(other, i);
    bool same_lane = place_of_lane(job, job->tasks.items[t].lane) == place_of_lane(job, job->tasks.items[task].lane);
    if (is_alike(job, t, task) && before-- == 0) {
      return t;
    }
    last = same_lane ? t : last;
  }
  return last;
}

uint32_t rebuild_find_task(const struct rebuild_blocks *blocks, uint32_t task, uint32_t in) {
  uint32_t of = blocks->of_task[task];
  bool streams = lumos_on_stream(blocks->job, &blocks->job->tasks.items[task]);
  if (of == in) {
    return task;
  }
  struct range own = range_of(blocks, of, streams), other = range_of(blocks, in, streams);
  bool same = blocks->items.items[of].structure == blocks->items.items[in].structure && own.count == other.count;
  if (same) {
    uint32_t found = task_at(&other, blocks->place[task]);
    if (is_alike(blocks->job, task, found)) {
      return found;
    }
  }
  return nth_alike(blocks->job, task, &own, &other);
}
