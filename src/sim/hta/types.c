/* What kind of kernel a name is. */
#include "sim/hta/rows.h"

#include <string.h>

const char *const hta_type_names[HTA_TYPES] = {
    [HTA_COMPUTATION] = "COMPUTATION",
    [HTA_COMMUNICATION] = "COMMUNICATION",
    [HTA_MEMORY] = "MEMORY",
    [HTA_OTHER] = "OTHER",
};

static bool starts_with_one_of(const char *name, const char *const *starts) {
  for (; *starts != NULL; starts++) {
    if (strncmp(name, *starts, strlen(*starts)) == 0) {
      return true;
    }
  }
  return false;
}

static bool contains_one_of(const char *name, const char *const *parts) {
  for (; *parts != NULL; parts++) {
    if (strstr(name, *parts) != NULL) {
      return true;
    }
  }
  return false;
}

/* In this order, so a copy of HIP is communication. */
enum hta_type hta_type_of(const char *name) {
  static const char *const communicating[] = {"nccl", "hip", "hccl", NULL};
  static const char *const communication[] = {"ncclKernel", NULL};
  static const char *const copying[] = {"Memcpy", "Memset", "hipMemcpy", "hipMemset", "dma", NULL};
  static const char *const elsewhere[] = {"nccl",
                                          "Stream Wait Event",
                                          "hip",
                                          "runFunction",
                                          "hccl",
                                          "job_exe",
                                          "packet",
                                          "pe_exe",
                                          "cpum_exe_subgraph",
                                          "collective_subgraph_execution",
                                          NULL};
  static const char *const no_kernel[] = {"Memcpy", "Memset", "dma", "Sync", NULL};
  if (starts_with_one_of(name, communicating) || contains_one_of(name, communication)) {
    return HTA_COMMUNICATION;
  }
  if (starts_with_one_of(name, copying)) {
    return HTA_MEMORY;
  }
  bool launches = strncmp(name, "cuda", 4) == 0 && strstr(name, "LaunchKernel") != NULL;
  bool other = starts_with_one_of(name, elsewhere) || contains_one_of(name, no_kernel) || launches;
  return other ? HTA_OTHER : HTA_COMPUTATION;
}
