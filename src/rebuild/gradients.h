/* When the gradients of a built job are there: one by one, in the order in which its threads get them. */
#ifndef LUMOS_REBUILD_GRADIENTS_H
#define LUMOS_REBUILD_GRADIENTS_H

#include <lumos/job.h>

struct rebuild_gradient {
  uint32_t rank, after; /* indices; after: the last task that a thread does for it */
  uint32_t kernel;      /* of those that the thread launched, the last on the rank's busiest stream; LUMOS_NONE: none */
  int32_t step, layer;  /* layer: LUMOS_ABSENT_INT */
  int64_t elements;
  uint8_t part;
  int number_size; /* bytes of a number of it; 0: not known */
  bool of_experts; /* of a weight of all experts that a rank has in a layer */
};

struct rebuild_gradients {
  LUMOS_VECTOR(struct rebuild_gradient) items; /* by rank, step and time */
  LUMOS_VECTOR(struct rebuild_gradient) like;  /* of the first recorded rank and step that has some */
  bool tied;                                   /* the head's weights are the embedding's */
  int64_t elements; /* that a recorded rank reduces with all replicas in a step, what is shared once */
  bool recorded;    /* sizes come from recorded shapes; else from the model description */
};

enum rebuild_gradients_of { REBUILD_LAST_MICRO_BATCH, REBUILD_LATER_MICRO_BATCHES }; /* later: all but the first */

/* Of these micro-batches of every step: in what PyTorch's AccumulateGrad does, with the shapes of `from`, of which the
 * job is built; where no such op was recorded, of each layer at its end, with the sizes of the model description; where
 * ops without shapes are of no layers, that is spread over them evenly. Items are empty where nothing tells. The caller
 * frees both lists. O(tasks). */
void rebuild_gradients_find(struct rebuild_gradients *gradients, const struct lumos_job *built,
                            const struct lumos_job *from, enum rebuild_gradients_of of);

/* Of ranks that are spread so: have others the same experts than have the same of all else? Then their gradients are
 * reduced apart. `from` shows whether tensor-parallel ranks have whole experts. O(groups). */
bool rebuild_experts_apart(const struct lumos_job *from, const struct lumos_parallel *sizes);

/* By task of a built job: what it is like in `from`; LUMOS_NONE: nothing. The caller frees it. */
uint32_t *rebuild_find_likes(const struct lumos_job *built, const struct lumos_job *from);

#endif
