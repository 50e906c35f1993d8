/* The matrix products: a table of tiles for every architecture, the time of a product with each, and the choice among
 * them.
 *
 * Names are those of cuBLAS 12: nvjet on Hopper and Blackwell ("tst": bfloat16 in and out; "tss_..._badd": added to
 * float32), beside the older xmma; ampere_... and CUTLASS on A100. A tile's efficiency is its share of what the best
 * matrix product reaches when every SM has one.
 */
#include "chance.h"
#include "hardware.h"
#include "kernels.h"
#include <math.h>
#include <string.h>

enum { LAYOUTS = 3, MOST_SPLITS = 16, SHORTEST_SPLIT = 1024 };

struct tile {
  int m, n;
  double efficiency;
  int shared_memory, registers, threads;
  bool persistent;                  /* a block an SM, which takes tile after tile */
  const char *names[2][2][LAYOUTS]; /* accumulates, split, layout */
};

#define NVJET_LAYOUTS(before, last) \
  { before "TN" last, before "NN" last, before "NT" last }
#define NVJET(prefix, shape, group, last)                                   \
  {                                                                         \
    {NVJET_LAYOUTS(prefix "tst_" shape "_bz" group "_", last),              \
     NVJET_LAYOUTS(prefix "tst_" shape "_bz" group "_splitK_", last)},      \
    {                                                                       \
      NVJET_LAYOUTS(prefix "tss_" shape "_badd" group "_", last),           \
          NVJET_LAYOUTS(prefix "tss_" shape "_badd" group "_splitK_", last) \
    }                                                                       \
  }

#define XMMA_LAYOUTS(types, rest)                                                                         \
  {                                                                                                       \
    "sm90_xmma_gemm_" types "_f32_tn_n_tilesize" rest, "sm90_xmma_gemm_" types "_f32_nn_n_tilesize" rest, \
        "sm90_xmma_gemm_" types "_f32_nt_n_tilesize" rest                                                 \
  }
#define XMMA_SPLITS(types, shape)                                          \
  {                                                                        \
    XMMA_LAYOUTS(types, shape "_execute_segment_k_off_kernel__5x_cublas"), \
        XMMA_LAYOUTS(types, shape "_execute_split_k_kernel__5x_cublas")    \
  }
#define XMMA(shape) \
  { XMMA_SPLITS("bf16bf16_bf16f32", shape), XMMA_SPLITS("bf16f32_bf16f32", shape) }

#define CUTLASS_LAYOUT(name) "void cutlass::Kernel2<" name ">(" name "::Params)"
#define CUTLASS_LAYOUTS(before)                                     \
  {                                                                 \
    CUTLASS_LAYOUT("cutlass_80_tensorop_" before "_tn_align8"),     \
        CUTLASS_LAYOUT("cutlass_80_tensorop_" before "_nn_align8"), \
        CUTLASS_LAYOUT("cutlass_80_tensorop_" before "_nt_align8")  \
  }
#define AMPERE_LAYOUTS(shape)                                                               \
  {                                                                                         \
    "ampere_bf16_s16816gemm_bf16_" shape "_tn", "ampere_bf16_s16816gemm_bf16_" shape "_nn", \
        "ampere_bf16_s16816gemm_bf16_" shape "_nt"                                          \
  }
/* A split product of theirs has the name of a whole one. Sums in float32 are CUTLASS's. */
#define CUTLASS(shape)                                                                                            \
  {                                                                                                               \
    {CUTLASS_LAYOUTS("bf16_s16816gemm_relu_bf16_" shape), CUTLASS_LAYOUTS("bf16_s16816gemm_relu_bf16_" shape)}, { \
      CUTLASS_LAYOUTS("s16816gemm_bf16_" shape), CUTLASS_LAYOUTS("s16816gemm_bf16_" shape)                        \
    }                                                                                                             \
  }
#define AMPERE(shape, cutlass_shape)                                                                       \
  {                                                                                                        \
    {AMPERE_LAYOUTS(shape), AMPERE_LAYOUTS(shape)}, {                                                      \
      CUTLASS_LAYOUTS("s16816gemm_bf16_" cutlass_shape), CUTLASS_LAYOUTS("s16816gemm_bf16_" cutlass_shape) \
    }                                                                                                      \
  }

static const struct tile hopper[] = {
    {256, 128, 0.93, 213148, 168, 384, true, NVJET("nvjet_", "256x128_64x4_1x2_h", "_coopA", "T")},
    {128, 256, 0.93, 213148, 168, 384, true, NVJET("nvjet_", "128x256_64x4_2x1_v", "_coopA", "N")},
    {192, 192, 0.92, 213148, 168, 384, true, NVJET("nvjet_", "192x192_64x4_2x1_v", "_coopB", "N")},
    {128, 320, 0.90, 188588, 168, 384, true, NVJET("nvjet_", "128x320_64x3_2x1_v", "_coopB", "N")},
    {320, 128, 0.90, 188588, 168, 384, true, NVJET("nvjet_", "320x128_64x3_1x2_h", "_coopA", "T")},
    {192, 160, 0.90, 196764, 168, 384, true, NVJET("nvjet_", "192x160_64x4_2x1_v", "_coopB", "T")},
    {128, 192, 0.88, 221340, 168, 384, true, NVJET("nvjet_", "128x192_64x5_2x1_v", "_coopB", "N")},
    {192, 128, 0.88, 221340, 168, 384, true, NVJET("nvjet_", "192x128_64x5_1x2_h", "_coopB", "T")},
    {128, 160, 0.84, 221364, 168, 384, true, NVJET("nvjet_", "128x160_64x5_2x1_v", "", "T")},
    {128, 128, 0.80, 213196, 168, 384, true, NVJET("nvjet_", "128x128_64x6_2x1_v", "", "T")},
    {64, 128, 0.66, 213244, 168, 384, true, NVJET("nvjet_", "64x128_64x8_2x1_v", "", "N")},
    {128, 64, 0.66, 213244, 168, 384, true, NVJET("nvjet_", "128x64_64x8_1x2_h", "", "T")},
    {64, 64, 0.50, 229628, 168, 384, true, NVJET("nvjet_", "64x64_64x13_2x1_v", "", "T")},
    {128, 256, 0.88, 214016, 168, 384, false, XMMA("128x256x64_warpgroupsize2x1x1")},
    {128, 128, 0.77, 164864, 168, 256, false, XMMA("128x128x64_warpgroupsize1x1x1")},
    {64, 128, 0.62, 132096, 168, 256, false, XMMA("64x128x64_warpgroupsize1x1x1")},
};

static const struct tile blackwell[] = {
    {256, 256, 0.93, 214528, 255, 256, true, NVJET("nvjet_sm100_", "256x256_64x4_2x2_2cta_h", "", "T")},
    {256, 240, 0.93, 210432, 255, 256, true, NVJET("nvjet_sm100_", "256x240_64x4_2x1_2cta_v", "", "T")},
    {256, 224, 0.92, 206336, 255, 256, true, NVJET("nvjet_sm100_", "256x224_64x4_2x2_2cta_h", "", "T")},
    {192, 288, 0.91, 231168, 255, 256, true, NVJET("nvjet_sm100_", "192x288_64x5_2x1_2cta_v", "", "T")},
    {128, 256, 0.90, 214528, 255, 256, true, NVJET("nvjet_sm100_", "128x256_64x6_2x1_2cta_v", "", "T")},
    {256, 128, 0.90, 222720, 255, 256, true, NVJET("nvjet_sm100_", "256x128_64x5_2x2_2cta_h", "", "T")},
    {192, 128, 0.85, 214528, 255, 256, true, NVJET("nvjet_sm100_", "192x128_64x6_2x2_2cta_h", "", "T")},
    {128, 192, 0.85, 222720, 255, 256, true, NVJET("nvjet_sm100_", "128x192_64x5_4x1_v", "", "T")},
    {256, 96, 0.80, 212480, 255, 256, true, NVJET("nvjet_sm100_", "256x96_64x5_2x1_2cta_v", "", "T")},
    {128, 128, 0.78, 214528, 255, 256, true, NVJET("nvjet_sm100_", "128x128_64x8_2x2_2cta_h", "", "T")},
    {256, 64, 0.66, 222720, 255, 256, true, NVJET("nvjet_sm100_", "256x64_64x5_4x1_v", "", "T")},
    {128, 64, 0.60, 214528, 255, 256, true, NVJET("nvjet_sm100_", "128x64_64x8_2x1_v", "", "T")},
    {64, 64, 0.45, 230912, 255, 256, true, NVJET("nvjet_sm100_", "64x64_64x13_2x1_v", "", "N")},
};

static const struct tile ampere[] = {
    {128, 256, 0.93, 147456, 254, 256, false, AMPERE("128x256_ldg8_f2f_stages_64x3", "128x256_64x3")},
    {256, 128, 0.93, 147456, 238, 256, false, AMPERE("256x128_ldg8_f2f_stages_64x3", "256x128_64x3")},
    {256, 128, 0.90, 73728, 238, 256, false, AMPERE("256x128_ldg8_f2f_stages_32x3", "256x128_32x3")},
    {128, 128, 0.87, 98304, 246, 128, false, AMPERE("128x128_ldg8_f2f_stages_64x3", "128x128_64x3")},
    {256, 64, 0.81, 122880, 190, 128, false, AMPERE("256x64_ldg8_f2f_stages_64x3", "256x64_64x3")},
    {128, 64, 0.73, 98304, 158, 128, false, AMPERE("128x64_ldg8_f2f_stages_64x4", "128x64_64x4")},
    {64, 64, 0.56, 98304, 146, 128, false, AMPERE("64x64_sliced1x2_ldg8_f2f_stages_64x6", "64x64_64x6")},
    {256, 128, 0.88, 73728, 234, 256, false, CUTLASS("256x128_32x3")},
    {128, 256, 0.88, 73728, 234, 256, false, CUTLASS("128x256_32x3")},
    {64, 256, 0.80, 81920, 202, 128, false, CUTLASS("64x256_32x4")},
    {128, 128, 0.84, 81920, 230, 128, false, CUTLASS("128x128_32x5")},
    {64, 128, 0.72, 73728, 168, 128, false, CUTLASS("64x128_32x6")},
    {64, 64, 0.55, 81920, 118, 128, false, CUTLASS("64x64_32x10")},
};

struct family {
  const struct tile *tiles;
  int count;
  int64_t start; /* ns before the first multiplication and after the last */
};
#define FAMILY(tiles, start) \
  { (tiles), sizeof(tiles) / sizeof *(tiles), (start) }

static const struct family *family_of(const struct gpu *gpu) {
  static const struct family on_ampere = FAMILY(ampere, 3500), on_hopper = FAMILY(hopper, 3000),
                             on_blackwell = FAMILY(blackwell, 3000);
  return gpu->major >= 10 ? &on_blackwell : gpu->major == 9 ? &on_hopper : &on_ampere;
}

static int64_t divided_up(int64_t number, int64_t by) { return (number + by - 1) / by; }

static int64_t tile_count(struct gemm gemm, const struct tile *tile) {
  return divided_up(gemm.m, tile->m) * divided_up(gemm.n, tile->n);
}

static int64_t memory_time(const struct gpu *gpu, int64_t bytes) {
  return llround((double)bytes / (gpu->bandwidth * gpu->reached_bandwidth));
}

/* Both factors are read and the result written; a sum is read first; parts of a split product are float32. */
static int64_t product_bytes(struct gemm gemm, int splits) {
  int64_t written = splits > 1 ? 4 * splits : gemm.accumulates ? 8 : 2;
  return 2 * gemm.k * (gemm.m + gemm.n) + written * gemm.m * gemm.n;
}

static int64_t reduction_bytes(struct gemm gemm, int splits) {
  return (4 * splits + (gemm.accumulates ? 8 : 2)) * gemm.m * gemm.n;
}

static double waves(const struct gpu *gpu, struct gemm gemm, const struct tile *tile, int splits, bool whole) {
  double count = (double)(tile_count(gemm, tile) * splits) / gpu->sms;
  return whole ? ceil(count) : count;
}

static int64_t product_time(const struct gpu *gpu, struct gemm gemm, const struct tile *tile, int splits, bool whole) {
  double flops = waves(gpu, gemm, tile, splits, whole) * gpu->sms * tile->m * tile->n * 2.0 * (double)gemm.k / splits;
  int64_t arithmetic = llround(flops / (gpu->flops * gpu->reached_flops * tile->efficiency));
  int64_t memory = memory_time(gpu, product_bytes(gemm, splits));
  return (arithmetic > memory ? arithmetic : memory) + family_of(gpu)->start;
}

static int64_t reduction_time(const struct gpu *gpu, struct gemm gemm, int splits) {
  const int64_t start = 2000;
  return splits > 1 ? memory_time(gpu, reduction_bytes(gemm, splits)) + start : 0;
}

struct choice {
  const struct tile *tile;
  int splits;
  int64_t time; /* of all kernels, with whole waves */
};

/* The best that a tile can do: whole, or split along K as long as that leaves SMs without work and its parts long
 * enough. */
static struct choice best_with(const struct setup *setup, struct gemm gemm, const struct tile *tile) {
  const struct gpu *gpu = setup->gpu;
  struct choice best = {tile, 1, product_time(gpu, gemm, tile, 1, true)};
  if (!setup->mechanisms[MECHANISM_VARIETY]) {
    return best;
  }
  for (int splits = 2;
       splits <= MOST_SPLITS && gemm.k / splits >= SHORTEST_SPLIT && tile_count(gemm, tile) * splits <= gpu->sms;
       splits++) {
    int64_t time = product_time(gpu, gemm, tile, splits, true) + reduction_time(gpu, gemm, splits);
    if (time < best.time) {
      best = (struct choice){tile, splits, time};
    }
  }
  return best;
}

/* The three fastest, in order; of equals the table's first. */
static struct choice choose(const struct setup *setup, struct gemm gemm, uint64_t place) {
  enum { RANKED = 3 };
  const struct family *family = family_of(setup->gpu);
  struct choice ranked[RANKED + 1];
  int count = 0;
  for (int i = 0; i < family->count; i++) {
    struct choice choice = best_with(setup, gemm, &family->tiles[i]);
    int at = count;
    for (; at > 0 && choice.time < ranked[at - 1].time; at--) {
      ranked[at] = ranked[at - 1];
    }
    ranked[at] = choice;
    count = count < RANKED ? count + 1 : RANKED;
  }
  if (!setup->mechanisms[MECHANISM_VARIETY]) {
    return ranked[0];
  }
  /* Autotuning times candidates, and noise lets a slower one win now and then, if it is close. */
  const double second = 0.04, third = 0.015, close = 1.15;
  double chance = chance_uniform(chance_place(chance_place(setup->seed, 'g'), place));
  int at = chance < third ? 2 : chance < third + second ? 1 : 0;
  while ((double)ranked[at].time > close * (double)ranked[0].time) {
    at--;
  }
  return ranked[at];
}

static void fill_grid(const struct gpu *gpu, struct gemm gemm, struct choice choice, int grid[3]) {
  int64_t tiles = tile_count(gemm, choice.tile) * choice.splits;
  if (choice.tile->persistent) { /* in pairs that share what they load */
    int64_t blocks = tiles < gpu->sms ? tiles : gpu->sms;
    memcpy(grid, (int[3]){2, (int)divided_up(blocks, 2), 1}, 3 * sizeof *grid);
  } else {
    memcpy(grid,
           (int[3]){(int)divided_up(gemm.m, choice.tile->m), (int)divided_up(gemm.n, choice.tile->n), choice.splits},
           3 * sizeof *grid);
  }
}

/* Of so many that run at once, those that the last wave leaves free. */
static int free_sms(int64_t at_once, int64_t blocks) {
  return blocks % at_once == 0 ? 0 : (int)(at_once - blocks % at_once);
}

static struct work product(const struct setup *setup, struct gemm gemm, struct choice choice) {
  const struct gpu *gpu = setup->gpu;
  const struct tile *tile = choice.tile;
  bool whole = setup->mechanisms[MECHANISM_WAVES];
  double count = waves(gpu, gemm, tile, choice.splits, whole);
  struct work work = {.name = tile->names[gemm.accumulates][choice.splits > 1][gemm.layout],
                      .kind = WORK_GEMM,
                      .label = {.phase = PHASE_OTHER, .part = PART_OTHER, .micro_batch = -1, .layer = -1},
                      .fills_device = tile_count(gemm, tile) * choice.splits > gpu->sms,
                      .registers = tile->registers,
                      .shared_memory = tile->shared_memory,
                      .threads = tile->threads,
                      .duration = product_time(gpu, gemm, tile, choice.splits, whole),
                      .bytes = product_bytes(gemm, choice.splits),
                      .flops = 2.0 * (double)gemm.m * (double)gemm.n * (double)gemm.k};
  work.last_wave = llround((double)work.duration / fmax(1, count));
  work.free_sms = free_sms(gpu->sms, tile_count(gemm, tile) * choice.splits);
  fill_grid(gpu, gemm, choice, work.grid);
  return work;
}

#define REDUCTION(out, types)                                                                                \
  "void cublasLt::splitKreduce_kernel<32, 16, int, float, " types                                            \
  ", true, false, false>(cublasLt::cublasSplitKParams<float>, "                                              \
  "float const*, " out " const*, " out "*, float const*, float const*, " out " const*, " out " const*, " out \
  "*, void*, long, float*, int*)"

static struct work reduction(const struct setup *setup, struct gemm gemm, int splits) {
  enum { THREADS = 512, OF_BLOCK = 4 * THREADS };
  int64_t blocks = divided_up(gemm.m * gemm.n, OF_BLOCK), time = reduction_time(setup->gpu, gemm, splits);
  int64_t at_once = setup->gpu->sms * (2048 / THREADS);
  return (struct work){.name = gemm.accumulates ? REDUCTION("float", "float, float, float")
                                                : REDUCTION("__nv_bfloat16", "__nv_bfloat16, float, __nv_bfloat16"),
                       .kind = WORK_GEMM,
                       .label = {.phase = PHASE_OTHER, .part = PART_OTHER, .micro_batch = -1, .layer = -1},
                       .fills_device = blocks > at_once,
                       .registers = 32,
                       .threads = THREADS,
                       .grid = {(int)blocks, 1, 1},
                       .duration = time,
                       .last_wave = blocks > at_once ? llround((double)(time * at_once) / (double)blocks) : time,
                       .free_sms = free_sms(at_once, blocks) / (int)(at_once / setup->gpu->sms),
                       .bytes = reduction_bytes(gemm, splits)};
}

int kernels_gemm(const struct setup *setup, struct gemm gemm, uint64_t place, struct work works[2]) {
  struct choice choice = choose(setup, gemm, place);
  works[0] = product(setup, gemm, choice);
  if (choice.splits == 1) {
    return 1;
  }
  works[1] = reduction(setup, gemm, choice.splits);
  return 2;
}
