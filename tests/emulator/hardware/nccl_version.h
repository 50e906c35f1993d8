/* What a version of NCCL's host side calls around a kernel, and the CUDA that it came with: what a trace of it looks
 * like. */
#ifndef EMULATOR_NCCL_VERSION_H
#define EMULATOR_NCCL_VERSION_H

#include <stdbool.h>

struct nccl_version {
  const char *name;
  bool launches_by_driver; /* cudaGetFuncBySymbol and cuLaunchKernelEx; else cudaLaunchKernelExC */
  int capture_infos;       /* it asks so often whether the stream is being captured */
  int cuda, driver, cupti; /* versions as their libraries tell them */
};

const struct nccl_version *nccl_version_find(const char *name); /* NULL: unknown */

#endif
