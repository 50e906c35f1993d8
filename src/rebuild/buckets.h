/* How gradients are put into the buckets that replicas reduce at once. */
#ifndef LUMOS_REBUILD_BUCKETS_H
#define LUMOS_REBUILD_BUCKETS_H

#include "rebuild/gradients.h"

struct rebuild_bucket {
  int64_t elements, bytes;
  size_t turn;            /* which gradient comes last */
  uint32_t after, kernel; /* of that; LUMOS_NONE: no kernel */
  uint32_t done, task;    /* for whoever reduces it */
  bool of_experts;        /* which fewer replicas have */
};
LUMOS_VECTOR_TYPE(rebuild_buckets, struct rebuild_bucket);

struct rebuild_filling {
  int64_t bucket_bytes;    /* 0: as PyTorch, or Megatron-LM, does by itself */
  bool before;             /* a bucket is closed before it holds more than that, not once it holds as much */
  bool megatron, overlaps; /* overlaps: buckets are reduced one by one */
  bool tied;               /* the head's weights are the embedding's */
  int32_t replicas;        /* that reduce them */
  int64_t recorded_bytes, recorded_elements; /* of a recorded rank; 0: gradients are as large as their numbers are */
  /* The recorded bytes were changed with the model's sizes: of a bucket of several gradients they are an estimate. */
  bool resized;
  enum rebuild_filled {
    REBUILD_FILL_ALL,
    REBUILD_FILL_OTHERS,
    REBUILD_FILL_EXPERTS
  } of; /* all but experts', or these */
};

/* Of gradients of a rank's step, in the order in which they are there, buckets in the order in which they are full.
 * Each chunk of a stage's layers has buckets of its own. They are added to those there are. O(count log count). */
void rebuild_buckets_fill(const struct rebuild_filling *filling, const struct rebuild_gradient *gradients, size_t count,
                          struct rebuild_buckets *buckets);

/* What was recorded of a step: bytes of buckets, in order; of experts that ranks share apart. */
struct rebuild_recorded_buckets {
  const int64_t *others, *experts;
  size_t other_count, expert_count;
};

/* Sets `bucket_bytes` and `before` so that the gradients come to the recorded buckets: as they are set, else to what
 * the library does by itself, else to what the buckets show. Where nothing comes to these, to the smallest but the
 * last. Of resized ones most have to come to it. O(count x buckets). */
void rebuild_filling_find(struct rebuild_filling *filling, const struct rebuild_gradient *gradients, size_t count,
                          const struct rebuild_recorded_buckets *recorded);

/* Bytes of one gradient. */
int64_t rebuild_gradient_bytes(const struct rebuild_filling *filling, const struct rebuild_gradient *gradient);

#endif
