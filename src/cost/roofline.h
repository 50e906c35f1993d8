/* The least that work takes on a GPU, by what it multiplies and what it moves. ns throughout. */
#ifndef LUMOS_COST_ROOFLINE_H
#define LUMOS_COST_ROOFLINE_H

#include "cost/hardware.h"

#include <stdint.h>

struct lumos_tile {
  int32_t rows, columns; /* of the output that a block computes; 0: unknown */
};
/* As a kernel's name tells: "256x128_64x4", "tilesize128x256x64", "MT128x128x64". */
struct lumos_tile lumos_tile_of_kernel(const char *name);

struct lumos_product_shape {
  int64_t rows, inner, columns, batches; /* rows 0: only the operations are known */
  double flops, bytes;                   /* bytes 0: unknown */
  enum lumos_dtype dtype;
};
/* Of a matrix product: `tile` unknown: the best of those that libraries have. Without a kernel's floor. */
double lumos_product_time(const struct lumos_device *device, const struct lumos_product_shape *shape,
                          struct lumos_tile tile);
/* Of products in one kernel whose rows another input groups, as PyTorch's aten::_grouped_mm does them. */
double lumos_grouped_time(const struct lumos_device *device, const struct lumos_product_shape *shape);
/* Of attention in one kernel, whose operations are counted. */
double lumos_attention_time(const struct lumos_device *device, const struct lumos_product_shape *shape);
/* Of what only moves. */
double lumos_moving_time(const struct lumos_device *device, double bytes);

/* Operations a ns that the best product reaches. A format that the device does not have is multiplied in the next wider
 * one that it has. 0: none is known. */
double lumos_reached_peak(const struct lumos_device *device, enum lumos_dtype dtype);

#endif
