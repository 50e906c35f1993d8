/* Number formats, as far as they decide how fast a GPU multiplies. */
#ifndef LUMOS_COST_DTYPE_H
#define LUMOS_COST_DTYPE_H

#include <stddef.h>

enum lumos_dtype {
  LUMOS_NO_DTYPE, /* unknown, or none that is multiplied */
  LUMOS_FP64,
  LUMOS_FP32,
  LUMOS_TF32,
  LUMOS_FP16,
  LUMOS_BF16,
  LUMOS_FP8,
  LUMOS_FP4,
  LUMOS_INT8,
  LUMOS_DTYPES
};

const char *lumos_dtype_name(enum lumos_dtype dtype); /* "bf16"; "" for none */
enum lumos_dtype lumos_dtype_find(const char *name);  /* LUMOS_NO_DTYPE: no such name */

/* Of the n-th input in a text such as ["c10::BFloat16", "float"]; its size in bytes in *size, 0 where it is unknown. */
enum lumos_dtype lumos_dtype_recorded(const char *dtypes, int input, int *size);

/* What the name of a matrix product's or an attention's kernel says of what it multiplies: "nvjet_tst_...", "sgemm",
 * "_bf16_". */
enum lumos_dtype lumos_dtype_of_kernel(const char *name);

/* And what it moves of an element of the output, in elements of its inputs: 1 where the name does not say else; of
 * numbers of half the width that are multiplied into whole ones 2, and 4 where these are added to, as gradients of
 * weights are over micro-batches. */
int lumos_output_of_kernel(const char *name);

#endif
