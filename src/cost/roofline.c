#include "cost/roofline.h"

#include "base/ascii.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where nobody measured the best product of a GPU: the mean of those of A100, H100, B200. */
static const double BEST_PRODUCT = 0.82;
/* What large elementwise kernels reach of the data sheet's bandwidth. Chosen: it is the same for all
 * GPUs here, so that a ratio of two does not depend on it. */
static const double BEST_BANDWIDTH = 0.88;
/* Some SMs, where nothing is known. */
enum { SOME_SMS = 108 };

double lumos_reached_peak(const struct lumos_device *device, enum lumos_dtype dtype) {
  static const enum lumos_dtype wider[LUMOS_DTYPES] = {
      [LUMOS_NO_DTYPE] = LUMOS_BF16, [LUMOS_FP4] = LUMOS_FP8,   [LUMOS_FP8] = LUMOS_FP16,  [LUMOS_INT8] = LUMOS_FP16,
      [LUMOS_BF16] = LUMOS_FP16,     [LUMOS_FP16] = LUMOS_FP32, [LUMOS_TF32] = LUMOS_FP32, [LUMOS_FP32] = LUMOS_FP64};
  double best = device->best_product > 0 ? device->best_product : BEST_PRODUCT;
  while (!(device->peaks[dtype] > 0) && wider[dtype] != LUMOS_NO_DTYPE) {
    dtype = wider[dtype];
  }
  return best * device->peaks[dtype];
}

double lumos_moving_time(const struct lumos_device *device, double bytes) {
  return device->bandwidth > 0 ? bytes / (BEST_BANDWIDTH * device->bandwidth) : 0;
}

/* ---- Tiles ---- */

static bool read_pair(const char *text, struct lumos_tile *tile) {
  enum { SMALLEST = 16, LARGEST = 512, GRAIN = 8 };
  char *end = NULL;
  long rows = strtol(text, &end, 10);
  if (*end != 'x' || !lumos_is_digit(end[1])) {
    return false;
  }
  long columns = strtol(end + 1, NULL, 10);
  *tile = (struct lumos_tile){(int32_t)rows, (int32_t)columns};
  return rows >= SMALLEST && rows <= LARGEST && columns >= SMALLEST && columns <= LARGEST && rows % GRAIN == 0 &&
         columns % GRAIN == 0;
}

struct lumos_tile lumos_tile_of_kernel(const char *name) {
  struct lumos_tile tile = {0, 0};
  const char *marked = strstr(name, "MT");
  if (marked != NULL && read_pair(marked + 2, &tile)) {
    return tile;
  }
  for (const char *at = name; *at != '\0'; at++) {
    bool begins = lumos_is_digit(*at) && (at == name || !lumos_is_digit(at[-1]));
    if (begins && read_pair(at, &tile)) {
      return tile;
    }
  }
  return (struct lumos_tile){0, 0};
}

/* ---- Products ---- */

/* A tile loads rows + columns for every rows x columns that it multiplies, so small ones reach less; by how much is
 * chosen. */
static double tile_share(struct lumos_tile tile) {
  static const double LOADS = 32;
  double area = (double)tile.rows * tile.columns;
  return area / (area + LOADS * (tile.rows + tile.columns) / 2);
}

static double blocks_of(const struct lumos_product_shape *shape, struct lumos_tile tile) {
  return ceil((double)shape->rows / tile.rows) * ceil((double)shape->columns / tile.columns) * (double)shape->batches;
}

/* Until a tile's pipeline of loads is full its multipliers wait: for so much of the inner dimension; and before its
 * first load a kernel sets up more than one that moves numbers does. On an H100 the products of 70 jobs, each predicted
 * from those of another job, were off by 3.2 % (median; 5.1 without both), and a job's products together by 3.6 % (6.0)
 * on average; 128 to 192 and 3 us with the floor did best. */
enum { PIPELINE = 128 };
static const double PRODUCT_START = 1800; /* ns */

/* With the inner dimension in so many parts, whose sums another kernel adds up: as libraries do where few tiles would
 * leave SMs idle. Libraries count columns first. */
static double time_in_parts(const struct lumos_device *device, const struct lumos_product_shape *shape,
                            struct lumos_tile tile, int parts) {
  static const struct lumos_tile best = {256, 128}; /* the best product's */
  enum { SUM = 4 /* bytes */ };
  struct lumos_tile turned = {tile.columns, tile.rows};
  double sms = device->sms > 0 ? device->sms : SOME_SMS;
  double blocks = parts * fmin(blocks_of(shape, tile), blocks_of(shape, turned));
  double inner = (double)shape->inner / parts;
  inner += fmin(inner, PIPELINE);
  double done = ceil(blocks / sms) * sms * tile.rows * tile.columns * 2 * inner;
  double results = (double)shape->rows * (double)shape->columns * (double)shape->batches;
  double sums = parts > 1 ? lumos_moving_time(device, 2 * SUM * parts * results) : 0;
  return done / (lumos_reached_peak(device, shape->dtype) * tile_share(tile) / tile_share(best)) + sums;
}

static double time_of_tile(const struct lumos_device *device, const struct lumos_product_shape *shape,
                           struct lumos_tile tile) {
  enum { MOST_PARTS = 64, LEAST_INNER = 128 }; /* chosen: shorter parts are not worth their sums */
  double best = time_in_parts(device, shape, tile, 1);
  for (int parts = 2; parts <= MOST_PARTS && shape->inner / parts >= LEAST_INNER; parts *= 2) {
    best = fmin(best, time_in_parts(device, shape, tile, parts));
  }
  return best;
}

double lumos_product_time(const struct lumos_device *device, const struct lumos_product_shape *shape,
                          struct lumos_tile tile) {
  static const struct lumos_tile tiles[] = {{256, 128}, {192, 128}, {128, 128}, {256, 64},
                                            {128, 64},  {64, 64},   {64, 32},   {32, 32}};
  double arithmetic = shape->flops / fmax(lumos_reached_peak(device, shape->dtype), 1e-9);
  if (shape->rows > 0 && tile.rows > 0) {
    arithmetic = time_of_tile(device, shape, tile);
  } else if (shape->rows > 0) {
    arithmetic = INFINITY;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
      arithmetic = fmin(arithmetic, time_of_tile(device, shape, tiles[i]));
    }
  }
  return PRODUCT_START + fmax(arithmetic, lumos_moving_time(device, shape->bytes));
}

/* A kernel has one tile, by the size of a group, whether it fills the device or not, and divides no inner dimension
 * (ATen/native/cuda/GroupMM.cu: dispatch_bf16_grouped_kernel_on_tile_size). */
double lumos_grouped_time(const struct lumos_device *device, const struct lumos_product_shape *shape) {
  enum { SMALL_GROUP = 128 };
  static const struct lumos_tile small = {64, 128}, large = {128, 256};
  bool few = shape->rows <= SMALL_GROUP || shape->columns <= SMALL_GROUP;
  return PRODUCT_START +
         fmax(time_in_parts(device, shape, few ? small : large, 1), lumos_moving_time(device, shape->bytes));
}

/* Attention reaches less than a product does, by as much on all GPUs: that is what calibration shows. Few blocks leave
 * SMs idle; those on the diagonal of a causal mask are half empty; and for every score there is an exponential,
 * whatever the head's dimension, which takes as long as EXPONENTIAL dimensions do: of large shapes drawn on an H100
 * cuDNN's kernels reached 450 TFLOP/s with heads of 64 and 600 to 735 with heads of 128, so 64 to 220 of them. */
double lumos_attention_time(const struct lumos_device *device, const struct lumos_product_shape *shape) {
  enum { ROWS = 128, EXPONENTIAL = 64 }; /* of a block: FlashAttention's */
  double busy = 1, more = 1;
  if (shape->rows > 0 && device->sms > 0) {
    double blocks = ceil((double)shape->rows / ROWS) * (double)shape->batches;
    busy = fmin(blocks / device->sms, 1);
  }
  int64_t longer = shape->rows > shape->columns ? shape->rows : shape->columns;
  int64_t shorter = shape->rows + shape->columns - longer;
  if (shorter > 0 &&
      longer % shorter == 0) { /* or a part of the queries, which has as much of the diagonal as it has of all */
    more += (double)ROWS / (double)longer;
  }
  if (shape->inner > 0) {
    more *= 1 + (double)EXPONENTIAL / (double)shape->inner;
  }
  double arithmetic = more * shape->flops / fmax(lumos_reached_peak(device, shape->dtype) * busy, 1e-9);
  return fmax(arithmetic, lumos_moving_time(device, shape->bytes));
}
