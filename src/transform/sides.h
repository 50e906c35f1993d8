/* Which gradient a matrix product of the backward pass is for: autograd's node of a linear layer multiplies twice,
 * first for the gradient of its input, then for that of its weight. In a node of more, as compilers make, they take
 * turns behind the first whose sizes say which it is. */
#ifndef LUMOS_TRANSFORM_SIDES_H
#define LUMOS_TRANSFORM_SIDES_H

#include <lumos/job.h>

enum lumos_side { LUMOS_ANY_SIDE, LUMOS_OF_INPUT, LUMOS_OF_WEIGHT };

/* By span: enum lumos_side of a product in a node that has two or more; LUMOS_OF_WEIGHT, too, of an op that copies or
 * adds to what has three dimensions, where a weight that gets a gradient has these: experts have one together. Else
 * LUMOS_ANY_SIDE. The caller frees it. O(spans x depth). */
uint8_t *lumos_sides_find(const struct lumos_job *job);

#endif
