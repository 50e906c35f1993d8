/* One row a version, as traces show them: an A100 job of 2023, an H100 job of 2025, a B200 job of 2026. The first came
 * with an older CUDA, which knew nothing of what else is emulated.
 */
#include "nccl_version.h"

#include <stddef.h>
#include <string.h>

static const struct nccl_version versions[] = {
    {.name = "2.17.1", .capture_infos = 1, .cuda = 12080, .driver = 12080, .cupti = 26},
    {.name = "2.28.9", .launches_by_driver = true, .capture_infos = 1, .cuda = 12080, .driver = 12080, .cupti = 26},
    {.name = "2.29.7", .launches_by_driver = true, .capture_infos = 2, .cuda = 13000, .driver = 13000, .cupti = 130001},
};

const struct nccl_version *nccl_version_find(const char *name) {
  for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
    if (strcmp(versions[i].name, name) == 0) {
      return &versions[i];
    }
  }
  return NULL;
}
