/* Beside communication some kernels lose much and most lose little. Where each lost what they lose on average, ranks
 * would come to a collective together; as it is, the one whose kernel lost most is waited for. */
#ifndef LUMOS_COST_UNEVEN_H
#define LUMOS_COST_UNEVEN_H

#include <lumos/memory.h>
#include <stddef.h>
#include <stdint.h>

enum { LUMOS_UNEVEN = 16 }; /* Chosen: a group of eight ranks sees its slowest in one of them */

struct lumos_uneven {
  double ratios[LUMOS_UNEVEN]; /* of what is lost on average, from those that lose least; 1 on average */
};

/* Of a kernel, ns. */
struct lumos_uneven_loss {
  double lost;  /* how much longer it took than its kind beside nothing; may be below 0 */
  double alone; /* of its time beside communication what is left without that. Above 0 */
};
LUMOS_VECTOR_TYPE(lumos_uneven_losses, struct lumos_uneven_loss);

/* Equal parts, by time alone, of kernels in the order of what they lost for it, less what the like parts of kernels
 * beside nothing differ: that is no loss. Of few kernels, or of such as lose nothing: all 1. Sorts them. O(n log n). */
void lumos_uneven_find(struct lumos_uneven *uneven, struct lumos_uneven_losses *beside,
                       struct lumos_uneven_losses *alone);

/* Which of the ratios the `nth` kernel of a name on a rank has: each once in LUMOS_UNEVEN, in an order of its own. O(1).
 */
size_t lumos_uneven_draw(uint64_t rank, uint64_t name, uint64_t nth);

#endif
