/* The product of several matrices in one kernel, each with its own part of the rows (aten::_grouped_mm): as PyTorch has
 * it of CUTLASS, persistent blocks that take tile after tile of all groups. A group's last tiles are as long as full
 * ones.
 */
#include "hardware.h"
#include "kernels.h"
#include <math.h>

#define KERNEL(architecture, loop, schedule)                                                                     \
  "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_" architecture                             \
  "<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> >, "        \
  "cutlass::gemm::collective::CollectiveMma<cutlass::gemm::" loop "<" schedule "> > > >(cutlass::gemm::kernel::" \
  "GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> > >::Params)"

static const char hopper[] = KERNEL("sm9x", "MainloopSm90ArrayTmaGmmaWarpSpecialized",
                                    "cutlass::gemm::KernelPtrArrayTmaWarpSpecializedCooperative"),
                  blackwell[] = KERNEL("sm10x", "MainloopSm100ArrayTmaUmmaWarpSpecialized",
                                       "cutlass::gemm::KernelPtrArrayTmaWarpSpecialized2SmSm100");

/* PyTorch's tile for all but small matrices; its share of what the best matrix product reaches is assumed. */
enum { TILE_M = 128, TILE_N = 256, START = 6000 /* ns: blocks read where the groups lie first */ };
static const double efficiency = 0.78;

static int64_t divided_up(int64_t number, int64_t by) { return (number + by - 1) / by; }

struct work kernels_grouped(const struct setup *setup, struct gemm gemm, int groups) {
  const struct gpu *gpu = setup->gpu;
  int64_t tiles = groups * divided_up(gemm.m, TILE_M) * divided_up(gemm.n, TILE_N);
  double waves = (double)tiles / gpu->sms, flops = 2.0 * TILE_M * TILE_N * (double)gemm.k;
  waves = setup->mechanisms[MECHANISM_WAVES] ? ceil(waves) : waves;
  double arithmetic = waves * gpu->sms * flops / (gpu->flops * gpu->reached_flops * efficiency);
  int64_t bytes = 2 * groups * (gemm.k * (gemm.m + gemm.n) + gemm.m * gemm.n);
  double memory = (double)bytes / (gpu->bandwidth * gpu->reached_bandwidth);
  int64_t left = tiles % gpu->sms;
  struct work work = {.name = gpu->major >= 10 ? blackwell : hopper,
                      .kind = WORK_GEMM,
                      .label = {.phase = PHASE_OTHER, .part = PART_OTHER, .micro_batch = -1, .layer = -1},
                      .fills_device = tiles > gpu->sms,
                      .registers = 168,
                      .shared_memory = 213148,
                      .threads = 384,
                      .grid = {tiles < gpu->sms ? (int)tiles : gpu->sms, 1, 1},
                      .duration = START + llround(fmax(arithmetic, memory)),
                      .free_sms = left > 0 ? (int)(gpu->sms - left) : 0,
                      .bytes = bytes,
                      .flops = 2.0 * groups * (double)gemm.m * (double)gemm.n * (double)gemm.k};
  work.last_wave = llround((double)work.duration / fmax(1, waves));
  return work;
}
