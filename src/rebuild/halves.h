/* Where the halves of layers begin and end in a built job: attention, and the feed-forward block. At their ends
 * tensor-parallel ranks sum what each has a part of; where each has a part of the sequence between halves, they gather
 * it where one begins. */
#ifndef LUMOS_REBUILD_HALVES_H
#define LUMOS_REBUILD_HALVES_H

#include <lumos/job.h>

enum rebuild_end_of { REBUILD_INPUT, REBUILD_EMBEDDING, REBUILD_HALF, REBUILD_LOGITS, REBUILD_BEGIN };

struct rebuild_end {
  uint8_t of;      /* enum rebuild_end_of */
  bool forward;    /* of a pass forward, also where that is computed again */
  uint32_t after;  /* task on a thread: behind it the result has been asked for */
  uint32_t kernel; /* that has it; of a beginning: that needs it */
  uint32_t
      beside; /* the task behind which the product for the weight's gradient has been asked for, too; else `after`. Of a
                 beginning: the one behind which the thread lets the compute stream wait */
  uint64_t place; /* orders those of a rank as its compute stream does */
};

struct rebuild_ends {
  LUMOS_VECTOR(struct rebuild_end) items; /* by place */
  int64_t unknown;                        /* passes through a layer that do not show their ends */
  int64_t unbegun;                        /* passes that do not show where halves begin */
};

/* In the forward pass, and where the backward pass computes it again: behind the first product after attention, and
 * behind the last product of the layer; behind the look-up of the embedding; behind the head's product. In the backward
 * pass: behind the gradient of the input of the first product of a half, which comes last, and of the head's. A half
 * begins before its first product: in the backward pass that is the one of its last weight; before the gradient of its
 * first weight its input is needed again. The backward pass of the embedding needs what comes to it whole. From the ops
 * of `from`, of which the job is built; likes: by task, what it is like there. The caller frees the items. O(tasks x
 * depth of ops). */
void rebuild_ends_find(struct rebuild_ends *ends, const struct lumos_job *built, const struct lumos_job *from,
                       const uint32_t *likes);

#endif
