#include "rebuild/buckets.h"

#include <stdlib.h>

/* Bytes. Megatron-LM sums gradients in 4 bytes, in buckets of 40 million parameters, or a million a replica
 * (DistributedDataParallelConfig.bucket_size), all at once where nothing overlaps; PyTorch fills buckets of 25 MiB, and
 * first one of 1 MiB (DistributedDataParallel.bucket_cap_mb). Both close a bucket once it holds as much; DeepSpeed
 * closes it before it would hold more (reduce_bucket_size). */
enum { MEGATRON_NUMBER = 4, MEGATRON_PARAMETERS = 40000000, MEGATRON_A_REPLICA = 1000000 };
enum { PYTORCH_BUCKET = 25 << 20, PYTORCH_FIRST_BUCKET = 1 << 20 };

/* Of two or four bytes, whichever is nearer. */
static int64_t number_size(const struct rebuild_filling *filling) {
  return filling->recorded_bytes > 3 * filling->recorded_elements ? 4 : 2;
}

/* Where replicas were recorded all gradients together are as many bytes as there. */
int64_t rebuild_gradient_bytes(const struct rebuild_filling *filling, const struct rebuild_gradient *gradient) {
  bool recorded = filling->recorded_bytes > 0 && filling->recorded_elements > 0;
  if (recorded && filling->resized) {
    return gradient->elements * number_size(filling);
  }
  if (recorded) {
    return (int64_t)((__int128)gradient->elements * filling->recorded_bytes / filling->recorded_elements);
  }
  bool sized = !filling->megatron && gradient->number_size > 0;
  return gradient->elements * (sized ? gradient->number_size : MEGATRON_NUMBER);
}

static int64_t limit_of(const struct rebuild_filling *filling, size_t buckets) {
  if (filling->bucket_bytes > 0) {
    return filling->bucket_bytes;
  }
  if (!filling->megatron) {
    return buckets == 0 ? PYTORCH_FIRST_BUCKET : PYTORCH_BUCKET;
  }
  int64_t parameters = (int64_t)MEGATRON_A_REPLICA * filling->replicas;
  parameters = parameters > MEGATRON_PARAMETERS ? parameters : MEGATRON_PARAMETERS;
  return filling->overlaps ? parameters * MEGATRON_NUMBER : INT64_MAX;
}

/* Gradients come from the last layer of a chunk to its first. */
static bool begins_chunk(const struct rebuild_gradient *gradient, int32_t before) {
  return gradient->layer >= 0 && before >= 0 && (gradient->layer > before || gradient->layer < before - 1);
}

static int64_t shared_elements(const struct rebuild_filling *filling, const struct rebuild_gradient *gradients,
                               size_t count) {
  int64_t shared = 0;
  for (size_t i = 0; i < count && filling->tied; i++) {
    bool larger = gradients[i].part == LUMOS_PART_EMBEDDING && gradients[i].elements > shared;
    shared = larger ? gradients[i].elements : shared;
  }
  return shared;
}

/* Gradients in the order in which their weights stand in buckets, from the end of the model to its beginning: that in
 * which they are there, but that the embedding's is the last also where weights of layers are put off behind it. */
static size_t *list_turns(const struct rebuild_gradient *gradients, size_t count) {
  size_t *turns = lumos_allocate(count * sizeof *turns), at = 0;
  for (int embeds = 0; embeds <= 1; embeds++) {
    for (size_t i = 0; i < count; i++) {
      if ((gradients[i].part == LUMOS_PART_EMBEDDING) == embeds) {
        turns[at++] = i;
      }
    }
  }
  return turns;
}

static bool is_filled(const struct rebuild_filling *filling, const struct rebuild_gradient *gradient) {
  return filling->of == REBUILD_FILL_ALL || gradient->of_experts == (filling->of == REBUILD_FILL_EXPERTS);
}

static void add_gradient(struct rebuild_bucket *open, const struct rebuild_gradient *gradient, int64_t bytes,
                         size_t turn) {
  open->elements += gradient->elements;
  open->bytes += bytes;
  if (open->after == LUMOS_NONE || turn > open->turn) {
    open->turn = turn;
    open->after = gradient->after;
    open->kernel = gradient->kernel;
  }
}

static void close_bucket(struct rebuild_buckets *buckets, struct rebuild_bucket *open) {
  if (open->after != LUMOS_NONE) {
    lumos_vector_push(buckets, *open);
    *open = (struct rebuild_bucket){.after = LUMOS_NONE};
  }
}

static int by_turn(const void *left, const void *right) {
  const struct rebuild_bucket *a = left, *b = right;
  return LUMOS_ORDER(a->turn, b->turn);
}

/* Of weights that both ends of one stage share, the gradient is there with the embedding's. */
void rebuild_buckets_fill(const struct rebuild_filling *filling, const struct rebuild_gradient *gradients, size_t count,
                          struct rebuild_buckets *buckets) {
  struct rebuild_bucket open = {.after = LUMOS_NONE};
  size_t *turns = list_turns(gradients, count);
  int64_t shared = shared_elements(filling, gradients, count);
  int32_t layer = LUMOS_ABSENT_INT;
  for (size_t i = 0; i < count; i++) {
    const struct rebuild_gradient *gradient = &gradients[turns[i]];
    if (!is_filled(filling, gradient) || (gradient->part == LUMOS_PART_HEAD && gradient->elements == shared)) {
      continue;
    }
    int64_t bytes = rebuild_gradient_bytes(filling, gradient), limit = limit_of(filling, buckets->count);
    if (begins_chunk(gradient, layer) || (filling->before && open.bytes > limit - bytes)) {
      close_bucket(buckets, &open);
    }
    layer = gradient->layer >= 0 ? gradient->layer : layer;
    add_gradient(&open, gradient, bytes, turns[i]);
    open.of_experts = filling->of == REBUILD_FILL_EXPERTS;
    if (!filling->before && open.bytes >= limit) {
      close_bucket(buckets, &open);
    }
  }
  close_bucket(buckets, &open);
  free(turns);
  lumos_vector_sort(buckets, by_turn);
}

/* ---- how the recorded ones were filled ---- */

/* Buckets are padded, so that replicas have equal shares: bytes. */
static int64_t padding_of(int64_t recorded) {
  enum { PADDING = 65536, FEW = 256, MANY = 16 }; /* bytes, and parts of a bucket; chosen */
  int64_t most = recorded / MANY;
  return recorded / FEW > PADDING ? recorded / FEW : most < PADDING ? most : PADDING;
}

static bool is_as_large(int64_t bytes, int64_t recorded) { return llabs(bytes - recorded) <= padding_of(recorded); }

static bool come_to(const struct rebuild_filling *filling, enum rebuild_filled of,
                    const struct rebuild_gradient *gradients, size_t count, const int64_t *recorded,
                    size_t recorded_count) {
  struct rebuild_buckets buckets = {0};
  struct rebuild_filling own = *filling;
  own.of = of;
  rebuild_buckets_fill(&own, gradients, count, &buckets);
  size_t same = 0;
  for (size_t i = 0; i < recorded_count && buckets.count == recorded_count; i++) {
    same += is_as_large(buckets.items[i].bytes, recorded[i]);
  }
  bool comes =
      buckets.count == recorded_count && (filling->resized ? 2 * same > recorded_count : same == recorded_count);
  lumos_vector_free(&buckets);
  return comes;
}

static bool try_limit(struct rebuild_filling *filling, int64_t bytes, bool before,
                      const struct rebuild_gradient *gradients, size_t count,
                      const struct rebuild_recorded_buckets *recorded) {
  filling->bucket_bytes = bytes;
  filling->before = before;
  return come_to(filling, filling->of, gradients, count, recorded->others, recorded->other_count) &&
         (recorded->expert_count == 0 ||
          come_to(filling, REBUILD_FILL_EXPERTS, gradients, count, recorded->experts, recorded->expert_count));
}

/* As those of one kind show. */
static bool try_sizes(struct rebuild_filling *filling, const int64_t *sizes, size_t size_count,
                      const struct rebuild_gradient *gradients, size_t count,
                      const struct rebuild_recorded_buckets *recorded) {
  enum { MOST = 256 }; /* sizes that are tried; chosen: more buckets are as large as some of these */
  for (int before = 0; before <= 1; before++) {
    for (size_t i = 0; i < (size_count < MOST ? size_count : MOST); i++) {
      int64_t limit = sizes[i] + (before ? padding_of(sizes[i]) : -padding_of(sizes[i]));
      if (try_limit(filling, limit, before, gradients, count, recorded)) {
        return true;
      }
    }
  }
  return false;
}

static bool try_all(struct rebuild_filling *filling, int64_t likely, const struct rebuild_gradient *gradients,
                    size_t count, const struct rebuild_recorded_buckets *recorded) {
  for (int before = 0; before <= 1; before++) {
    if (likely != 0 && try_limit(filling, likely, before, gradients, count, recorded)) {
      return true;
    }
  }
  return try_limit(filling, 0, false, gradients, count, recorded) ||
         try_sizes(filling, recorded->others, recorded->other_count, gradients, count, recorded) ||
         try_sizes(filling, recorded->experts, recorded->expert_count, gradients, count, recorded);
}

/* Of resized ones all may come to it, as where no more than experts changed. */
void rebuild_filling_find(struct rebuild_filling *filling, const struct rebuild_gradient *gradients, size_t count,
                          const struct rebuild_recorded_buckets *recorded) {
  int64_t smallest = 0, likely = filling->bucket_bytes;
  bool resized = filling->resized;
  filling->resized = false;
  bool found = try_all(filling, likely, gradients, count, recorded);
  filling->resized = resized;
  if (found || (resized && try_all(filling, likely, gradients, count, recorded))) {
    return;
  }
  for (size_t i = 0; i + 1 < recorded->other_count; i++) {
    smallest = smallest == 0 || recorded->others[i] < smallest ? recorded->others[i] : smallest;
  }
  filling->bucket_bytes = smallest;
  filling->before = false;
}
