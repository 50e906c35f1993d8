/* What traces call number formats. A new name is a row. */
#include "cost/dtype.h"

#include <stdbool.h>
#include <string.h>

static const char *const names[LUMOS_DTYPES] = {
    [LUMOS_NO_DTYPE] = "", [LUMOS_FP64] = "fp64", [LUMOS_FP32] = "fp32", [LUMOS_TF32] = "tf32", [LUMOS_FP16] = "fp16",
    [LUMOS_BF16] = "bf16", [LUMOS_FP8] = "fp8",   [LUMOS_FP4] = "fp4",   [LUMOS_INT8] = "int8"};

const char *lumos_dtype_name(enum lumos_dtype dtype) { return names[dtype]; }

enum lumos_dtype lumos_dtype_find(const char *name) {
  for (int dtype = LUMOS_NO_DTYPE + 1; dtype < LUMOS_DTYPES; dtype++) {
    if (strcmp(names[dtype], name) == 0) {
      return (enum lumos_dtype)dtype;
    }
  }
  return LUMOS_NO_DTYPE;
}

/* Types as the profiler records them: by how they begin. */
static const struct {
  const char *begins;
  enum lumos_dtype dtype;
  int size;
} recorded[] = {
    {"double", LUMOS_FP64, 8},        {"float", LUMOS_FP32, 4},         {"c10::Half", LUMOS_FP16, 2},
    {"c10::BFloat16", LUMOS_BF16, 2}, {"c10::Float8", LUMOS_FP8, 1},    {"c10::Float4", LUMOS_FP4, 1},
    {"signed char", LUMOS_INT8, 1},   {"unsigned char", LUMOS_INT8, 1}, {"long", LUMOS_NO_DTYPE, 8},
    {"int", LUMOS_NO_DTYPE, 4},       {"bool", LUMOS_NO_DTYPE, 1},
};

enum lumos_dtype lumos_dtype_recorded(const char *dtypes, int input, int *size) {
  const char *text = strchr(dtypes, '"');
  *size = 0;
  for (int i = 0; text != NULL; i++) {
    text++;
    if (i == input) {
      for (size_t row = 0; row < sizeof recorded / sizeof *recorded; row++) {
        if (strncmp(text, recorded[row].begins, strlen(recorded[row].begins)) == 0) {
          *size = recorded[row].size;
          return recorded[row].dtype;
        }
      }
      return LUMOS_NO_DTYPE;
    }
    text = strchr(text, '"');
    text = text == NULL ? NULL : strchr(text + 1, '"');
  }
  return LUMOS_NO_DTYPE;
}

/* Parts of kernels' names, the most telling first: a name may say what it accumulates in, too. cuBLAS's nvjet says with
 * three letters what goes in, what is added up in, and what comes out, behind the architecture where it names one; an
 * s1688 of CUTLASS without a type beside it multiplies TF32. */
static const struct {
  const char *part;
  enum lumos_dtype dtype;
} parts[] = {
    {"nvjet_qq", LUMOS_FP8},    {"nvjet_oo", LUMOS_FP8},   {"e4m3", LUMOS_FP8},      {"e5m2", LUMOS_FP8},
    {"float8", LUMOS_FP8},      {"_f8", LUMOS_FP8},        {"nvjet_t", LUMOS_BF16},  {"nvjet_h", LUMOS_FP16},
    {"bf16", LUMOS_BF16},       {"bfloat16", LUMOS_BF16},  {"tf32", LUMOS_TF32},     {"fp16", LUMOS_FP16},
    {"_f16", LUMOS_FP16},       {"gemm_f16", LUMOS_FP16},  {"h884gemm", LUMOS_FP16}, {"h1688gemm", LUMOS_FP16},
    {"h16816gemm", LUMOS_FP16}, {"s884gemm", LUMOS_FP16},  {"half_t", LUMOS_FP16},   {"__half", LUMOS_FP16},
    {"hgemm", LUMOS_FP16},      {"s1688gemm", LUMOS_TF32}, {"sgemm", LUMOS_FP32},    {"gemmSN", LUMOS_FP32},
    {"dgemm", LUMOS_FP64},      {"d884gemm", LUMOS_FP64},  {"_i8816", LUMOS_INT8},   {"imma", LUMOS_INT8},
    {"_BBS_BH", LUMOS_BF16},    {"_B_BS_BH", LUMOS_BF16},  {"_HHS_BH", LUMOS_FP16},  {"_H_HS_BH", LUMOS_FP16},
    {"_SB_", LUMOS_FP32},       {"_S_B_", LUMOS_FP32},
};

/* "nvjet_sm90_tst_..." is looked up as "nvjet_tst_...". */
static bool has_part(const char *name, const char *part) {
  static const char family[] = "nvjet_";
  enum { LENGTH = sizeof family - 1 };
  const char *at = strncmp(part, family, LENGTH) == 0 ? strstr(name, "nvjet_sm") : NULL;
  if (at == NULL) {
    return strstr(name, part) != NULL;
  }
  at = strchr(at + LENGTH, '_');
  return at != NULL && strncmp(at + 1, part + LENGTH, strlen(part) - LENGTH) == 0;
}

int lumos_output_of_kernel(const char *name) {
  bool wider = has_part(name, "nvjet_tss") || has_part(name, "nvjet_hss");
  return !wider ? 1 : strstr(name, "_badd") != NULL ? 4 : 2;
}

enum lumos_dtype lumos_dtype_of_kernel(const char *name) {
  for (size_t row = 0; row < sizeof parts / sizeof *parts; row++) {
    if (has_part(name, parts[row].part)) {
      return parts[row].dtype;
    }
  }
  return LUMOS_NO_DTYPE;
}
