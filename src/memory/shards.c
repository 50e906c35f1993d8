#include "memory/shards.h"

#include "program/sharded.h"
#include <math.h>
#include <stdlib.h>

enum { NO_LAYER = -1, ANY = INT32_MIN };

/* ---- what happens ---- */

static int compare_events(const void *left, const void *right) {
  const struct memory_shard *a = left, *b = right;
  return LUMOS_ORDER(a->place, b->place);
}

static void add_event(struct memory_walk *walk, enum memory_shard_kind kind, uint32_t place,
                      const struct lumos_task *task) {
  lumos_vector_push(&walk->shards, ((struct memory_shard){.kind = (uint8_t)kind,
                                                          .phase = (uint8_t)task->phase,
                                                          .place = place,
                                                          .micro_batch = task->micro_batch,
                                                          .layer = task->layer < 0 ? NO_LAYER : task->layer}));
}

/* By span of the rank: its place + 1; 0: none. */
static uint32_t *places_of_spans(const struct memory_walk *walk) {
  const struct lumos_rank *rank = &walk->job->ranks.items[walk->memory->rank];
  uint32_t *places = lumos_allocate_zeroed(rank->span_count + 1U, sizeof *places);
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    places[op_at(walk, i)->span - rank->span_first] = i + 1;
  }
  return places;
}

/* Bytes that no stream claims in earnest would make sums too large. */
static bool is_sized(const struct lumos_comm *comm, const struct lumos_group *of) {
  return comm->bytes >= 0 && comm->bytes <= INT64_C(1) << 44 && of->size > 0;
}

static void add_collectives(struct memory_walk *walk) {
  const struct lumos_job *job = walk->job;
  const struct lumos_rank *rank = &job->ranks.items[walk->memory->rank];
  uint32_t *places = places_of_spans(walk);
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t span = task->call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[task->call].span;
    uint32_t place = span == LUMOS_NONE ? 0 : places[span - rank->span_first];
    bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD;
    if (task->step != walk->memory->step || place == 0 || !passes) {
      continue;
    }
    const struct lumos_group *gathers = program_replicas_of(job, task, "all_gather");
    const struct lumos_group *of = gathers != NULL ? gathers : program_replicas_of(job, task, "reduce_scatter");
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    if (of != NULL && is_sized(comm, of)) {
      add_event(walk, gathers != NULL ? SHARD_GATHERED : SHARD_SCATTERED, place - 1, task);
      struct memory_shard *event = &walk->shards.items[walk->shards.count - 1];
      event->bytes = comm->bytes;
      event->replicas = of->size;
      event->format = comm->dtype;
    }
  }
  free(places);
}

/* ---- finding one another ---- */

/* The next event of a kind from `from` on, of a micro-batch where it is given; their count: none. */
static size_t next_event(const struct memory_walk *walk, size_t from, enum memory_shard_kind kind,
                         int32_t micro_batch) {
  size_t i = from;
  while (i < walk->shards.count && (walk->shards.items[i].kind != kind ||
                                    (micro_batch != ANY && walk->shards.items[i].micro_batch != micro_batch))) {
    i++;
  }
  return i;
}

/* Sizes of a changed job are rounded. */
static bool is_as_large(const struct memory_shard *unit, const struct memory_shard *other) {
  enum { CLOSE = 256 };
  return fabs(unit->size - other->size) <= unit->size / CLOSE;
}

/* The next of the same unit in the same micro-batch: by layer, or where that is not known, by size. */
static size_t next_of_unit(const struct memory_walk *walk, size_t of, enum memory_shard_kind kind) {
  const struct memory_shard *unit = &walk->shards.items[of];
  size_t i = of;
  bool is = false;
  while (!is && i < walk->shards.count) {
    i = next_event(walk, i + 1, kind, unit->micro_batch);
    const struct memory_shard *other = i < walk->shards.count ? &walk->shards.items[i] : unit;
    is = unit->layer != NO_LAYER && other->layer != NO_LAYER ? unit->layer == other->layer : is_as_large(unit, other);
  }
  return i;
}

/* What is gathered is split, and what is put together scattered, each in its turn: so that all have the unit's size, in
 * bytes of gradients. */
static void size_units(struct memory_walk *walk) {
  size_t scatter = next_event(walk, 0, SHARD_SCATTERED, ANY);
  int32_t micro_batch = scatter < walk->shards.count ? walk->shards.items[scatter].micro_batch : ANY;
  int64_t gathered = 0, scattered = 0; /* in a micro-batch, of every unit */
  for (size_t i = 0; i < walk->shards.count; i++) {
    const struct memory_shard *event = &walk->shards.items[i];
    bool counts = event->micro_batch == micro_batch;
    gathered += counts && event->kind == SHARD_GATHERED && event->phase == LUMOS_FORWARD ? event->bytes : 0;
    scattered += counts && event->kind == SHARD_SCATTERED ? event->bytes : 0;
  }
  size_t split = 0, chunked = 0;
  for (size_t i = 0; i < walk->shards.count; i++) {
    struct memory_shard *event = &walk->shards.items[i];
    bool gathers = event->kind == SHARD_GATHERED;
    size_t *other = gathers ? &split : &chunked;
    if (!gathers && event->kind != SHARD_SCATTERED) {
      continue;
    }
    event->size = (double)event->bytes * (gathers && gathered > 0 ? (double)scattered / (double)gathered : 1);
    *other = next_event(walk, *other, gathers ? SHARD_SPLIT : SHARD_CHUNKED, ANY);
    if (*other < walk->shards.count) {
      walk->shards.items[(*other)++].size = event->size;
    }
  }
}

void memory_find_shards(struct memory_walk *walk) {
  if (!program_rank_is_sharded(walk->job, walk->memory->rank)) {
    return;
  }
  walk->memory->sharded = true;
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    if (is_op(walk, i, "fsdp::split_with_sizes_copy")) {
      add_event(walk, SHARD_SPLIT, i, task_at(walk, i));
    } else if (is_op(walk, i, "fsdp::chunk_cat")) {
      add_event(walk, SHARD_CHUNKED, i, task_at(walk, i));
    }
  }
  add_collectives(walk);
  lumos_vector_sort(&walk->shards, compare_events);
  size_units(walk);
}

static size_t first_behind(const struct memory_walk *walk) {
  size_t low = 0, high = walk->shards.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (walk->shards.items[middle].place <= walk->at) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Of those that may be the unit's, the first behind the walk's place with its layer; else, of those of no layer, the
 * first for what is of a layer, and the last for what is not. */
static uint32_t scattered(const struct memory_walk *walk, int32_t micro_batch) {
  int32_t layer = task_at(walk, walk->at)->layer;
  uint32_t found = LUMOS_NONE;
  for (size_t i = first_behind(walk); i < walk->shards.count; i++) {
    const struct memory_shard *event = &walk->shards.items[i];
    if (event->kind != SHARD_CHUNKED || (micro_batch != ANY && event->micro_batch != micro_batch)) {
      continue;
    }
    if (layer >= 0 && event->layer == layer) {
      return event->place;
    }
    found = event->layer == NO_LAYER && (layer < 0 || found == LUMOS_NONE) ? event->place : found;
  }
  return found;
}

uint32_t memory_scattered_with(const struct memory_walk *walk) {
  return scattered(walk, task_at(walk, walk->at)->micro_batch);
}

uint32_t memory_scattered_later(const struct memory_walk *walk) { return scattered(walk, ANY); }

/* The last op of each micro-batch's forward pass, and of each layer's. */
struct ends {
  struct lumos_numbering numbering;
  LUMOS_VECTOR(uint32_t) last;
};

static uint64_t end_key(int32_t micro_batch, int32_t layer) {
  return lumos_key_pair((uint32_t)micro_batch, (uint32_t)layer);
}

static void find_ends(const struct memory_walk *walk, struct ends *ends) {
  for (uint32_t i = 0; i < walk->memory->ops.count; i++) {
    const struct lumos_task *task = task_at(walk, i);
    const int32_t layers[] = {ANY, task->layer};
    for (int k = 0; k < 2 && task->phase == LUMOS_FORWARD; k++) {
      uint32_t number = lumos_number_of(&ends->numbering, end_key(task->micro_batch, layers[k]));
      if (number >= ends->last.count) {
        lumos_vector_push(&ends->last, i);
      }
      ends->last.items[number] = i;
    }
  }
}

static uint32_t last_forward(const struct ends *ends, int32_t micro_batch, int32_t layer) {
  uint32_t number = lumos_known_number(&ends->numbering, end_key(micro_batch, layer));
  return number < ends->last.count ? ends->last.items[number] : 0;
}

/* ---- pieces ---- */

static void add_piece(struct memory_walk *walk, enum lumos_memory_part part, int64_t bytes, uint32_t begin,
                      uint32_t end) {
  walk->at = begin;
  uint32_t piece = memory_add_piece(walk, bytes, part);
  walk->memory->pieces.items[piece].end = end > begin ? end : begin;
}

static uint32_t before(const struct memory_walk *walk, size_t event, uint32_t otherwise) {
  return event < walk->shards.count && walk->shards.items[event].place > 0 ? walk->shards.items[event].place - 1
                                                                           : otherwise;
}

/* A unit's parameters, from where they are split to the end of its pass, or of its backward pass. */
static void add_parameters(struct memory_walk *walk, const struct ends *ends, size_t split, int64_t bytes) {
  const struct memory_shard at = walk->shards.items[split];
  uint32_t end = before(walk, next_of_unit(walk, split, SHARD_CHUNKED), (uint32_t)walk->memory->ops.count);
  if (at.phase == LUMOS_FORWARD && next_of_unit(walk, split, SHARD_SPLIT) < walk->shards.count) {
    end = at.layer == NO_LAYER ? before(walk, next_event(walk, split + 1, SHARD_SPLIT, at.micro_batch), end)
                               : last_forward(ends, at.micro_batch, at.layer);
  }
  add_piece(walk, LUMOS_MEMORY_PARAMETERS, bytes, at.place, end);
}

/* What was gathered is split in its turn. */
static void add_gathered(struct memory_walk *walk, const struct ends *ends) {
  size_t split = next_event(walk, 0, SHARD_SPLIT, ANY), scatter = next_event(walk, 0, SHARD_SCATTERED, ANY);
  for (size_t g = next_event(walk, 0, SHARD_GATHERED, ANY); g < walk->shards.count;
       g = next_event(walk, g + 1, SHARD_GATHERED, ANY)) {
    const struct memory_shard gathered = walk->shards.items[g];
    if (scatter < walk->shards.count && gathered.format != walk->shards.items[scatter].format) {
      add_piece(walk, LUMOS_MEMORY_TEMPORARY, gathered.bytes / gathered.replicas, gathered.place, gathered.place);
    }
    uint32_t end = gathered.place;
    if (split < walk->shards.count) {
      const struct memory_shard at = walk->shards.items[split];
      size_t next = next_event(walk, split + 1, SHARD_SPLIT, at.micro_batch);
      bool forward = next < walk->shards.count && walk->shards.items[next].phase == LUMOS_FORWARD;
      end = at.phase != LUMOS_FORWARD ? at.place
            : forward                 ? before(walk, next, at.place)
                                      : last_forward(ends, at.micro_batch, ANY);
      add_parameters(walk, ends, split, gathered.bytes);
      split = next_event(walk, split + 1, SHARD_SPLIT, ANY);
    }
    add_piece(walk, LUMOS_MEMORY_PARAMETERS, gathered.bytes, gathered.place, end);
  }
}

/* Shares of gradients stay from the first micro-batch that has them; those of others are added to them. */
static void add_scattered(struct memory_walk *walk) {
  size_t chunked = next_event(walk, 0, SHARD_CHUNKED, ANY), first = next_event(walk, 0, SHARD_SCATTERED, ANY);
  for (size_t s = first; s < walk->shards.count && chunked < walk->shards.count;
       s = next_event(walk, s + 1, SHARD_SCATTERED, ANY)) {
    const struct memory_shard scattered = walk->shards.items[s];
    uint32_t begin = walk->shards.items[chunked].place;
    size_t next = next_event(walk, chunked + 1, SHARD_CHUNKED, scattered.micro_batch);
    bool stays = scattered.micro_batch == walk->shards.items[first].micro_batch;
    int64_t share = scattered.bytes / scattered.replicas;
    add_piece(walk, LUMOS_MEMORY_GRADIENTS, scattered.bytes, begin, before(walk, next, scattered.place));
    add_piece(walk, LUMOS_MEMORY_GRADIENTS, share, scattered.place,
              stays ? (uint32_t)walk->memory->ops.count : scattered.place);
    walk->memory->share_bytes += stays ? rounded(share) : 0;
    chunked = next_event(walk, chunked + 1, SHARD_CHUNKED, ANY);
  }
}

void memory_add_shards(struct memory_walk *walk) {
  if (next_event(walk, 0, SHARD_SPLIT, ANY) < walk->shards.count) {
    struct ends ends = {0};
    find_ends(walk, &ends);
    add_gathered(walk, &ends);
    add_scattered(walk);
    lumos_numbering_free(&ends.numbering);
    lumos_vector_free(&ends.last);
  }
}
