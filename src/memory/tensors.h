/* What ops take in: tensors, read from the recorded texts, each distinct pair of texts once. */
#ifndef LUMOS_MEMORY_TENSORS_H
#define LUMOS_MEMORY_TENSORS_H

#include "base/numbering.h"

#include <lumos/job.h>

/* Number formats in the order in which an operation on two of them takes the higher one; the size in the low byte. */
enum memory_format {
  FORMAT_NONE = 0, /* no tensor, or one of unknown format */
  FORMAT_BOOL = 0x001,
  FORMAT_INTEGER = 0x100, /* | size */
  FORMAT_FLOAT = 0x200
};
enum { FORMAT_SIZE = 0xff, FORMAT_FP32 = FORMAT_FLOAT | 4 };
static inline int64_t memory_format_size(uint16_t format) { return format & FORMAT_SIZE; }

enum { KNOWN_SIZES = 6 };

struct memory_tensor {
  int64_t sizes[KNOWN_SIZES]; /* of the first dimensions */
  int64_t count;              /* of numbers; of none 0 */
  int64_t last, previous;     /* sizes of the last two dimensions; 1 where there are none */
  int64_t first;
  uint32_t shape; /* of all sizes a hash; never 0 */
  uint32_t rows;  /* the same with 1 as the last size */
  uint16_t format;
  uint8_t dimensions;
  bool listed; /* one of a list of tensors */
};

/* The hash that tensors of these sizes have: of none SHAPE_OF_NONE, then one size after another. */
enum { SHAPE_OF_NONE = 1 };
uint32_t memory_shape_of(uint32_t shape, int64_t size);

struct memory_inputs {
  uint32_t first, count; /* in memory_shapes.tensors */
};

struct memory_shapes {
  const struct lumos_job *job;
  struct lumos_numbering numbering; /* of shapes and dtypes */
  LUMOS_VECTOR(struct memory_inputs) inputs;
  LUMOS_VECTOR(struct memory_tensor) tensors;
};

/* The tensors among the inputs of an op, in order, those of lists one by one. Valid until the next call. Amortised
 * O(inputs). */
struct memory_inputs memory_inputs_of(struct memory_shapes *shapes, const struct lumos_span *span);
/* May it be a part of `whole`, cut along one dimension, or with one left out? */
bool memory_is_part(const struct memory_tensor *tensor, const struct memory_tensor *whole);
/* May it be `whole`, repeated along dimensions of size 1? */
bool memory_is_spread(const struct memory_tensor *tensor, const struct memory_tensor *whole);
void memory_shapes_free(struct memory_shapes *shapes);

#endif
