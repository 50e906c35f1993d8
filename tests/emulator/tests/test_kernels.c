/* Chance, kernels and NCCL's plans, held against values worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chance.h"
#include "hardware.h"
#include "kernels.h"
#include "nccl.h"

/* A machine without irregularities. */
static struct setup ideal(const char *gpu) {
  struct setup setup = {.gpu = gpu_find(gpu), .network = {.node_size = 8, .nic_bandwidth = 50, .nic_latency = 2000}};
  assert_non_null(setup.gpu);
  return setup;
}

static void assert_near(int64_t value, int64_t wanted, int64_t allowed) {
  if (llabs(value - wanted) > allowed) {
    print_error("%lld, not %lld\n", (long long)value, (long long)wanted);
    fail();
  }
}

static struct work product(const struct setup *setup, int64_t m, int64_t n, int64_t k) {
  struct work works[2];
  assert_int_equal(kernels_gemm(setup, (struct gemm){m, n, k, GEMM_TN, false}, 1, works), 1);
  return works[0];
}

/* --- GPUs --- */

/* Dense bfloat16 in TFLOP/s, memory in GB/s, NVLink in one direction in GB/s, SMs and memory in GiB, rounded up: of the
 * eight-GPU servers' data sheets. */
static void gpus_are_those_of_the_data_sheets(void **state) {
  (void)state;
  static const struct {
    const char *label, *name;
    int sms, major;
    double flops, bandwidth, nvlink, memory;
  } wanted[] = {{"a100", "NVIDIA A100-SXM4-80GB", 108, 8, 312, 2039, 300, 80},
                {"h100", "NVIDIA H100 80GB HBM3", 132, 9, 989, 3350, 450, 80},
                {"h200", "NVIDIA H200", 132, 9, 989, 4800, 450, 141},
                {"b200", "NVIDIA B200", 148, 10, 2250, 8000, 900, 180}};
  enum { WANTED = sizeof wanted / sizeof *wanted };
  for (int i = 0; i < WANTED; i++) {
    const struct gpu *gpu = gpu_find(wanted[i].label);
    assert_non_null(gpu);
    assert_string_equal(gpu->name, wanted[i].name);
    assert_int_equal(gpu->sms, wanted[i].sms);
    assert_int_equal(gpu->major, wanted[i].major);
    assert_near((int64_t)gpu->flops, (int64_t)(1000 * wanted[i].flops), 500);
    assert_near((int64_t)gpu->bandwidth, (int64_t)wanted[i].bandwidth, 1);
    assert_near((int64_t)gpu->nvlink, (int64_t)wanted[i].nvlink, 0);
    assert_near((int64_t)((double)gpu->memory / (1 << 30) + 0.999), (int64_t)wanted[i].memory, 1);
  }
}

/* --- chance --- */

static void chance_is_of_its_place(void **state) {
  (void)state;
  assert_true(chance_place(1, 2) == chance_place(1, 2));
  assert_true(chance_uniform(chance_place(1, 2)) == chance_uniform(chance_place(1, 2)));
  uint64_t places[] = {chance_place(1, 2), chance_place(2, 1), chance_place(0, 0),
                       chance_place(0, 1), chance_place(1, 0), chance_place(chance_place(0, 0), 1)};
  enum { PLACES = sizeof places / sizeof *places };
  for (int i = 0; i < PLACES; i++) {
    for (int j = 0; j < i; j++) {
      assert_true(places[i] != places[j]);
      assert_true(chance_uniform(places[i]) != chance_uniform(places[j]));
    }
  }
  /* The same on every machine. */
  assert_true(chance_place(0, 0) == UINT64_C(0x48218226FF3CD4BF));
  assert_true(chance_place(1, 2) == UINT64_C(0x081A5C1377856B73));
  assert_true(chance_uniform(chance_place(1, 2)) == 0.72814514674908259);
}

/* Neighbouring places tell nothing of each other. */
static void chance_is_independent(void **state) {
  (void)state;
  enum { DRAWS = 100000 };
  double sum = 0, product_of_neighbours = 0, last = 0.5;
  for (int i = 0; i < DRAWS; i++) {
    double drawn = chance_uniform(chance_place(7, (uint64_t)i));
    assert_true(drawn >= 0 && drawn < 1);
    sum += drawn;
    product_of_neighbours += (drawn - 0.5) * (last - 0.5);
    last = drawn;
  }
  assert_true(sum / DRAWS > 0.495 && sum / DRAWS < 0.505);
  assert_true(product_of_neighbours / DRAWS > -0.002 && product_of_neighbours / DRAWS < 0.002);
}

static const struct spread steps = {{10, 20, 30, 50, 60, 100, 200, 400, 1000}};

static void spread_has_its_quantiles(void **state) {
  (void)state;
  enum { DRAWS = 200000 };
  int below[QUANTILES] = {0};
  double sum = 0;
  for (int i = 0; i < DRAWS; i++) {
    double drawn = spread_draw(&steps, chance_place(11, (uint64_t)i));
    assert_true(drawn >= steps.at[0] && drawn <= steps.at[QUANTILES - 1]);
    sum += drawn;
    for (int q = 0; q < QUANTILES; q++) {
      below[q] += drawn <= steps.at[q];
    }
  }
  for (int q = 0; q < QUANTILES; q++) { /* four deviations of the median's share */
    assert_near(below[q], (int64_t)(quantile_shares[q] * DRAWS), 900);
  }
  /* 0.01*15 + 0.04*25 + 0.2*40 + 0.25*55 + 0.25*80 + 0.2*150 + 0.04*300 + 0.01*700 */
  assert_near((int64_t)(1000 * sum / DRAWS), 91900, 900);
}

static void spread_widens_from_its_median(void **state) {
  (void)state;
  for (uint64_t place = 0; place < 1000; place++) {
    double drawn = spread_draw(&steps, place);
    assert_true(spread_draw_wide(&steps, 1, 0, place) == 60 + (drawn - 60));
    assert_true(spread_draw_wide(&steps, 0, 0, place) == 60);
    double wide = spread_draw_wide(&steps, 2, 15, place), doubled = 60 + 2 * (drawn - 60);
    assert_true(wide == (doubled < 15 ? 15 : doubled));
  }
}

static void spread_without_width_is_its_value(void **state) {
  (void)state;
  const struct spread flat = {{5, 5, 5, 5, 5, 5, 5, 5, 5}};
  for (uint64_t place = 0; place < 100; place++) {
    assert_true(spread_draw(&flat, place) == 5);
  }
}

/* --- matrix products --- */

/* 98 tiles of 128 x 256 on the 108 SMs of A100 are one wave: 108 * 32768 * 2 * 1792 operations at 0.869 * 0.93 of 312
 * TFLOP/s, and the start. */
static int64_t a100_time(double waves, double efficiency) {
  return (int64_t)(50301.9 * waves * 0.93 / efficiency) + 3500;
}

static void product_takes_waves(void **state) {
  (void)state;
  struct setup setup = ideal("a100");
  setup.mechanisms[MECHANISM_WAVES] = true;
  struct work one = product(&setup, 1792, 1792, 1792);
  assert_int_equal(one.grid[0] * one.grid[1] * one.grid[2], 98);
  assert_false(one.fills_device);
  assert_near(one.duration, a100_time(1, 0.93), 1);
  assert_true(one.last_wave == one.duration);

  /* One row and column more are 120 tiles, two waves; a heuristic does better with smaller tiles, though not by much:
   * 435 of 128 x 64 would take five waves of a quarter each at 0.73 instead of 0.93; 225 of 128 x 128 take three of a
   * half each at 0.87. */
  struct work more = product(&setup, 1793, 1793, 1792);
  assert_int_equal(more.grid[0] * more.grid[1] * more.grid[2], 15 * 29);
  assert_near(more.duration, a100_time(5 / 4.0, 0.73), 2);
  assert_true(more.fills_device);
  assert_near(more.last_wave, more.duration / 5, 1);

  /* 216 tiles are two waves exactly; one row more makes 434 tiles of 128 x 128, five waves of a half. */
  assert_near(product(&setup, 27648, 256, 1792).duration, a100_time(2, 0.93), 1);
  struct work five = product(&setup, 27649, 256, 1792);
  assert_near(five.duration, a100_time(5 / 2.0, 0.87), 2);
  assert_near(five.last_wave, five.duration / 5, 1);
}

/* Without waves the same kernels run, and 434 tiles take 434 / 108 of a wave. */
static void product_without_waves_is_proportional(void **state) {
  (void)state;
  struct setup setup = ideal("a100"), with = setup;
  with.mechanisms[MECHANISM_WAVES] = true;
  struct work smooth = product(&setup, 27649, 256, 1792), whole = product(&with, 27649, 256, 1792);
  assert_string_equal(smooth.name, whole.name);
  assert_near(smooth.duration, a100_time(434 / 108.0 / 2, 0.87), 2);
  assert_near(product(&setup, 1792, 1792, 1792).duration, a100_time(98 / 108.0, 0.93), 2);
}

/* Hopper's kernels stay on their SMs, in pairs that share what they load: 66 pairs on 132 SMs, as real traces show; a
 * pair for two tiles where there are fewer. */
static void persistent_products_come_in_pairs(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  struct work many = product(&setup, 8192, 8192, 8192), few = product(&setup, 1280, 2048, 8192);
  assert_int_equal(many.grid[0], 2);
  assert_int_equal(many.grid[1], 66);
  assert_int_equal(many.grid[2], 1);
  assert_int_equal(few.grid[0], 2);
  assert_in_range(few.grid[1], 5 * 8 / 2, 65); /* no tile is larger than 256 rows or columns of either */
  assert_int_equal(many.threads, 384);
}

static void product_counts_its_operations(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  struct work work = product(&setup, 2048, 12288, 4096);
  assert_true(work.flops == 2.0 * 2048 * 12288 * 4096);
  assert_true(work.bytes == 2 * (2048L * 4096 + 4096L * 12288 + 2048L * 12288));
  assert_int_equal(work.kind, WORK_GEMM);
  struct work works[2];
  assert_int_equal(kernels_gemm(&setup, (struct gemm){4096, 12288, 2048, GEMM_NT, true}, 1, works), 1);
  assert_true(works[0].bytes == 2 * (2048L * 4096 + 2048L * 12288) + 8 * 4096L * 12288);
}

static void product_is_linear_in_k(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  setup.mechanisms[MECHANISM_WAVES] = true;
  enum { START = 3000 };
  int64_t once = product(&setup, 4096, 4096, 4096).duration - START;
  assert_near(product(&setup, 4096, 4096, 8192).duration - START, 2 * once, 1);
  assert_near(product(&setup, 4096, 4096, 16384).duration - START, 4 * once, 2);
}

/* Sixteen rows: the weights' bytes take longer than any tile's operations. */
static void product_is_not_faster_than_its_bytes(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  struct work thin = product(&setup, 16, 16384, 16384);
  int64_t bytes = 2 * (16 * 16384L + 16384L * 16384 + 16 * 16384L);
  assert_true(thin.bytes == bytes);
  assert_near(thin.duration, (int64_t)((double)bytes / (3350 * 0.9)) + 3000, 1);
  struct work thick = product(&setup, 4096, 16384, 16384);
  assert_true(thick.duration > 2 * (int64_t)((double)thick.bytes / (3350 * 0.9)));
}

static void product_without_many_tiles_is_split(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  setup.mechanisms[MECHANISM_WAVES] = true;
  struct work whole = product(&setup, 256, 256, 65536), works[2];
  setup.mechanisms[MECHANISM_VARIETY] = true;
  assert_int_equal(kernels_gemm(&setup, (struct gemm){256, 256, 65536, GEMM_TN, false}, 1, works), 2);
  assert_true(works[0].duration + works[1].duration < whole.duration / 4);
  assert_non_null(strstr(works[0].name, "splitK"));
  assert_non_null(strstr(works[1].name, "cublasLt::splitKreduce_kernel"));
  assert_true(works[0].flops == 2.0 * 256 * 256 * 65536 && works[1].flops == 0);
  /* Only what leaves SMs idle is split, and no further than they are. */
  for (int64_t m = 256; m <= 8192; m += 256) {
    if (kernels_gemm(&setup, (struct gemm){m, 2048, 65536, GEMM_TN, false}, 1, works) == 2) {
      assert_false(works[0].fills_device);
    }
  }
  /* Tiles enough: nothing is split, whatever the place. */
  for (uint64_t place = 0; place < 100; place++) {
    assert_int_equal(kernels_gemm(&setup, (struct gemm){8192, 8192, 65536, GEMM_TN, false}, place, works), 1);
  }
}

static void product_varies_by_place(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  setup.mechanisms[MECHANISM_WAVES] = true;
  struct gemm gemm = {8192, 8192, 8192, GEMM_TN, false};
  struct work best = product(&setup, 8192, 8192, 8192), works[2], again[2];
  setup.mechanisms[MECHANISM_VARIETY] = true;
  enum { PLACES = 20000 };
  int firsts = 0, thirds = 0, different_seed = 0;
  for (uint64_t place = 0; place < PLACES; place++) {
    assert_int_equal(kernels_gemm(&setup, gemm, place, works), 1);
    assert_int_equal(kernels_gemm(&setup, gemm, place, again), 1);
    assert_ptr_equal(works[0].name, again[0].name);
    assert_true(works[0].duration >= best.duration && works[0].duration <= best.duration * 115 / 100);
    firsts += strcmp(works[0].name, best.name) == 0;
    thirds += works[0].duration > best.duration; /* the second is as fast as the first */
    setup.seed = 1;
    assert_int_equal(kernels_gemm(&setup, gemm, place, again), 1);
    different_seed += works[0].name != again[0].name;
    setup.seed = 0;
  }
  assert_near(firsts, PLACES * 945 / 1000, 150); /* 4 % the second, 1.5 % the third */
  assert_near(thirds, PLACES * 15 / 1000, 80);
  assert_true(different_seed > PLACES / 20 && different_seed < PLACES / 5);
}

/* One tile of 64 x 64, K too short to split: one of 64 x 128 takes a third longer, and no place chooses it. */
static void product_does_not_vary_far(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  setup.mechanisms[MECHANISM_WAVES] = true;
  int64_t best = product(&setup, 64, 64, 2040).duration;
  setup.mechanisms[MECHANISM_VARIETY] = true;
  for (uint64_t place = 0; place < 1000; place++) {
    struct work works[2];
    assert_int_equal(kernels_gemm(&setup, (struct gemm){64, 64, 2040, GEMM_TN, false}, place, works), 1);
    assert_true(works[0].duration == best);
  }
}

static void products_have_the_names_of_their_layouts(void **state) {
  (void)state;
  static const struct {
    const char *gpu, *part[3], *sum;
  } cases[] = {{"h100", {"_TN", "_NN", "_NT"}, "nvjet_tss_"},
               {"b200", {"_TN", "_NN", "_NT"}, "nvjet_sm100_tss_"},
               {"a100", {"_tn", "_nn", "_nt"}, "cutlass_80_tensorop_s16816gemm_bf16_"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct setup setup = ideal(cases[i].gpu);
    for (int layout = GEMM_TN; layout <= GEMM_NT; layout++) {
      struct work works[2];
      struct gemm gemm = {8192, 8192, 8192, (enum gemm_layout)layout, layout == GEMM_NT};
      assert_int_equal(kernels_gemm(&setup, gemm, 1, works), 1);
      assert_non_null(strstr(works[0].name, cases[i].part[layout]));
      assert_int_equal(strstr(works[0].name, cases[i].sum) != NULL, gemm.accumulates);
    }
  }
}

/* The products of a GPT reach what they are seen to reach on real H100s. */
static void products_reach_plausible_shares(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  setup.mechanisms[MECHANISM_WAVES] = true;
  for (int64_t hidden = 4096; hidden <= 12288; hidden += 4096) {
    for (int tensor = 1; tensor <= 8; tensor *= 2) {
      struct work work = product(&setup, 4096, 4 * hidden / tensor, hidden);
      double share = work.flops / (double)work.duration / setup.gpu->flops;
      assert_true(share > 0.60 && share < 0.75);
    }
  }
}

/* --- kernels that move memory --- */

static void memory_kernels_take_their_bytes(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  /* Two read and one written, of two bytes: 1,610,612,736 bytes at 3,015 a ns. */
  struct work work = kernels_run(&setup, KERNEL_ADD, 1 << 28, 0);
  assert_true(work.bytes == 6L << 28);
  assert_near(work.duration, 534200 + 1800, 1);
  assert_true(work.fills_device);
  assert_int_equal(work.grid[0], 1 << 18);
  /* Blocks of 128 threads with 34 registers, for which 40 are set aside: 12 on each of 132 SMs. */
  assert_near(work.last_wave, work.duration * (12 * 132) / (1 << 18), 1);
  struct work small = kernels_run(&setup, KERNEL_ADD, 1, 0);
  assert_near(small.duration, 1800, 1);
  assert_false(small.fills_device);
  assert_true(small.last_wave == small.duration);
  /* Adam reads gradient, weight and two moments, writes all but the gradient. */
  assert_true(kernels_run(&setup, KERNEL_ADAM, 1000, 0).bytes == 28000);
}

static void every_kernel_has_its_row(void **state) {
  (void)state;
  static const char *const labels[] = {"a100", "h100", "h200", "b200"};
  for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
    struct setup setup = ideal(labels[i]);
    for (int kernel = 0; kernel < KERNELS; kernel++) {
      struct work work = kernels_run(&setup, (enum kernel)kernel, 123456, 0);
      assert_non_null(work.name);
      assert_true(work.duration >= 1500 && work.duration < 20000);
      assert_true(work.bytes > 0 && work.grid[0] > 0 && work.grid[1] == 1 && work.grid[2] == 1);
      assert_true(work.threads >= 128 && work.threads <= 1024 && work.threads % 32 == 0);
      assert_true(work.threads * work.registers <= 65536 && work.shared_memory <= setup.gpu->shared_memory);
      assert_true(work.kind < WORK_COPY_TO_DEVICE && work.kind != WORK_GEMM);
      assert_true(work.label.layer == -1 && work.label.micro_batch == -1);
    }
  }
  assert_null(gpu_find("h1"));
}

static void attention_is_causal(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  struct work forward = kernels_attention(&setup, 1, 32, 4096, 4096, 128, false);
  struct work backward = kernels_attention(&setup, 1, 32, 4096, 4096, 128, true);
  assert_true(forward.flops == 2.0 * 32 * 4096 * 4096 * 128);
  assert_true(backward.flops == 2.5 * forward.flops);
  assert_near(forward.duration, (int64_t)(forward.flops / (989e3 * 0.68 * 4096 / 4608)) + 4000, 1);
  double share = forward.flops / (double)forward.duration / setup.gpu->flops;
  assert_true(share > 0.5 && share < 0.6);
  assert_true(backward.duration > 2 * forward.duration);
  /* Four heads of 16 blocks leave half of the SMs idle, where that is emulated. */
  int64_t smooth = kernels_attention(&setup, 1, 4, 2048, 2048, 128, false).duration - 4000;
  setup.mechanisms[MECHANISM_WAVES] = true;
  assert_near(kernels_attention(&setup, 1, 4, 2048, 2048, 128, false).duration - 4000, smooth * 132 / 64, 3);
  assert_non_null(strstr(forward.name, "sm90_flash_fprop"));
  setup.gpu = gpu_find("a100");
  assert_non_null(strstr(kernels_attention(&setup, 1, 4, 2048, 2048, 128, true).name, "flash_bwd_dq_dk_dv_loop"));
}

/* Short sequences do few operations on what they read and write: queries, keys, values and the output, of two bytes;
 * backward those, the gradient, and three gradients, that of the queries in float32. 64 * 32 heads of 128 * 128 are
 * 2^25 elements, at 3,015 bytes a ns. */
static void short_attention_takes_its_bytes(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  struct work forward = kernels_attention(&setup, 64, 32, 128, 128, 128, false);
  struct work backward = kernels_attention(&setup, 64, 32, 128, 128, 128, true);
  assert_true(forward.bytes == 8L << 25 && backward.bytes == 18L << 25);
  assert_near(forward.duration, 89033 + 4000, 1);
  assert_near(backward.duration, 200325 + 5000, 1);
}

/* Kernels are written for heads of at most 64 and of more; their names say so last. */
static void attention_is_that_of_its_heads(void **state) {
  (void)state;
  static const struct {
    const char *gpu, *small, *large;
  } cases[] = {{"h100", "64x128x64_", "64x128x128_"},
               {"b200", "128x128x64_", "128x128x128_"},
               {"a100", "Flash_fwd_kernel_traits<64,", "Flash_fwd_kernel_traits<128,"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct setup setup = ideal(cases[i].gpu);
    for (int dim = 32; dim <= 128; dim += 32) {
      struct work work = kernels_attention(&setup, 1, 16, 2048, 2048, dim, false);
      assert_non_null(strstr(work.name, dim <= 64 ? cases[i].small : cases[i].large));
    }
  }
}

static void copies_take_their_bytes(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  assert_near(kernels_copy(&setup, WORK_COPY_TO_DEVICE, 52000000).duration, 1000000 + 1200, 0);
  assert_near(kernels_copy(&setup, WORK_COPY_ON_DEVICE, 30150000).duration, 20000 + 1200, 0);
  assert_near(kernels_copy(&setup, WORK_MEMSET, 30150000).duration, 10000 + 1200, 0);
  assert_string_equal(kernels_copy(&setup, WORK_MEMSET, 1).name, "Memset (Device)");
}

/* --- NCCL --- */

static void plan_is(struct nccl_plan plan, const char *algorithm, const char *protocol, int64_t latency,
                    int64_t transfer) {
  assert_string_equal(plan.algorithm, algorithm);
  assert_string_equal(plan.protocol, protocol);
  assert_near(plan.latency, latency, 1);
  assert_near(plan.transfer, transfer, 1);
}

/* Eight GPUs without a switch that reduces, 480 bytes a ns: 256 MiB take 56 us of steps and 2^28 / (480 * 8 / 14), 1035
 * us in all. */
static void ring_moves_large_messages(void **state) {
  (void)state;
  struct setup setup = ideal("a100");
  struct gpu fast = *setup.gpu;
  fast.channel_bandwidth = 20;
  setup.gpu = &fast;
  struct nccl_plan plan = nccl_plan(&setup, ALL_REDUCE, 1 << 28, 8, 1);
  plan_is(plan, "RING", "SIMPLE", 56000, 978671);
  assert_near(plan.latency + plan.transfer, 1035000, 500);
  assert_int_equal(plan.channels, 24);
  /* Half the steps and half the bytes each. */
  plan_is(nccl_plan(&setup, ALL_GATHER, 1 << 28, 8, 1), "RING", "SIMPLE", 32200, 489335);
  plan_is(nccl_plan(&setup, REDUCE_SCATTER, 1 << 28, 8, 1), "RING", "SIMPLE", 32200, 489335);
  plan_is(nccl_plan(&setup, BROADCAST, 1 << 28, 8, 1), "RING", "SIMPLE", 11800, 559241);
}

static void small_messages_take_the_latency(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  /* 14 steps of 0.6 us, at the least of 141 and half of 360 bytes a ns. */
  plan_is(nccl_plan(&setup, ALL_REDUCE, 1024, 8, 1), "RING", "LL", 15000, 13);
  assert_int_equal(nccl_plan(&setup, ALL_REDUCE, 1024, 8, 1).channels, 1);
  plan_is(nccl_plan(&setup, ALL_REDUCE, 0, 8, 1), "RING", "LL", 15000, 0);
  plan_is(nccl_plan(&setup, ALL_REDUCE, 8, 2, 1), "RING", "LL", 7800, 0);
  plan_is(nccl_plan(&setup, ALL_REDUCE, 1 << 20, 1, 1), "RING", "LL", 0, 0);
}

/* The switch reduces: 16 channels of 20 * 0.85 * 15 / 16 * 2 * 8 / 14. */
static void switch_reduces_where_there_is_one(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  plan_is(nccl_plan(&setup, ALL_REDUCE, 1 << 30, 8, 1), "NVLS", "SIMPLE", 25000, 3684407);
  assert_int_equal(nccl_plan(&setup, ALL_REDUCE, 1 << 30, 8, 1).channels, 16);
  plan_is(nccl_plan(&setup, ALL_REDUCE, 1 << 30, 2, 1), "RING", "SIMPLE", 15200, 2982616);
  plan_is(nccl_plan(&setup, ALL_GATHER, 1 << 30, 8, 1), "RING", "SIMPLE", 32200, 2609789);
}

/* The choice goes from LL to SIMPLE with the size, and time never falls. */
static void choice_follows_the_size(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  static const char *const order[] = {"LL", "LL128", "SIMPLE"};
  for (int nodes = 1; nodes <= 4; nodes *= 2) {
    int at = 0;
    int64_t last = 0;
    for (int64_t bytes = 1; bytes <= 1L << 32; bytes *= 2) {
      struct nccl_plan plan = nccl_plan(&setup, REDUCE_SCATTER, bytes, 8 * nodes, nodes);
      while (at < 2 && strcmp(plan.protocol, order[at]) != 0) {
        at++;
      }
      assert_string_equal(plan.protocol, order[at]);
      assert_true(plan.latency + plan.transfer >= last);
      last = plan.latency + plan.transfer;
    }
    assert_int_equal(at, 2);
  }
}

/* All talk to all: what leaves each card is 7 of 8 parts at 0.8 of 450 bytes a ns; base and step, and 0.8 us a peer
 * from the second on. */
static void all_to_all_passes_all_links_at_once(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  struct nccl_plan plan = nccl_plan(&setup, ALL_TO_ALL, 8 << 20, 8, 1);
  assert_int_equal(plan.latency, 8400 + 3400 + 6 * 800);
  assert_int_equal(plan.transfer, 20389); /* 7 MiB / 360 */
  assert_int_equal(nccl_plan(&setup, ALL_TO_ALL, 8 << 20, 2, 1).transfer, 11651);
  /* On two nodes half of it passes the network, at 50 bytes a ns: 4 MiB; three parts pass NVLink meanwhile. */
  plan = nccl_plan(&setup, ALL_TO_ALL, 8 << 20, 8, 2);
  assert_int_equal(plan.latency, 8400 + 14000 + 2000 + 6 * 800);
  assert_int_equal(plan.transfer, 83886);
}

/* Four products of 512 rows, 4096 columns, 1024 deep: 4 * 4 * 16 tiles of 128 x 256, two waves of 132 SMs. */
static void grouped_products_are_tiles_of_all_groups(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  setup.mechanisms[MECHANISM_WAVES] = true;
  struct gemm gemm = {.m = 512, .n = 4096, .k = 1024, .layout = GEMM_TN};
  struct work work = kernels_grouped(&setup, gemm, 4);
  double wave = 132.0 * 2 * 128 * 256 * 1024 / (setup.gpu->flops * setup.gpu->reached_flops * 0.78);
  assert_near(work.duration, 6000 + llround(2 * wave), 1);
  assert_true(work.fills_device);
  assert_int_equal(work.free_sms, 132 - (256 - 132));
  assert_int_equal(work.grid[0], 132);
  assert_true(work.flops == 4.0 * 2 * 512 * 4096 * 1024);
  assert_int_equal(work.bytes, 4 * 2 * (512 * 1024 + 1024 * 4096 + 512 * 4096));
}

static void nodes_are_further_apart(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  /* 16 ranks on two nodes: 14 steps within, 3.4 us, and one between, 14 us and two hops of 2; a ring of 360 bytes a ns,
   * 15 steps. */
  plan_is(nccl_plan(&setup, ALL_GATHER, 1 << 30, 16, 2), "RING", "SIMPLE", 74000, 2796203);
  /* One rank a node has one card: 50 bytes a ns. */
  plan_is(nccl_plan(&setup, ALL_GATHER, 1 << 30, 2, 2), "RING", "SIMPLE", 26400, 10737418);
  assert_int_equal(nccl_plan(&setup, ALL_GATHER, 1 << 30, 2, 2).channels, 2);
  plan_is(nccl_plan(&setup, ALL_GATHER, 32768, 2, 2), "RING", "LL", 13600, 655);
  /* Six steps of 18 us and the base, 1.4 times as long with full buffers; 50 * 4 / 6 bytes a ns. */
  plan_is(nccl_plan(&setup, ALL_REDUCE, 1 << 30, 4, 4), "RING", "SIMPLE", 162960, 32212255);
  /* Four nodes of eight, a small sum: a tree's 7 steps of 1 us within (the host's overhead) and 2 of 7 between, up and
   * down. */
  plan_is(nccl_plan(&setup, ALL_REDUCE, 64, 32, 4), "TREE", "LL", 48800, 6);
  /* 32 KiB reach 0.7 of the half of 20.4 bytes a ns. */
  plan_is(nccl_plan(&setup, ALL_REDUCE, 32768, 32, 4), "TREE", "LL", 48800, 4589);
  plan_is(nccl_plan(&setup, ALL_REDUCE, 1 << 30, 32, 4), "NVLS_TREE", "SIMPLE", 124600, 5778819);
}

static void pairs_take_one_hop(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
  struct nccl_plan within = nccl_plan(&setup, SEND_RECEIVE, 1 << 26, 2, 1);
  struct nccl_plan between = nccl_plan(&setup, SEND_RECEIVE, 1 << 26, 2, 2);
  assert_null(within.algorithm);
  assert_null(within.protocol);
  assert_near(within.latency, 11800, 0);
  assert_near(within.transfer, 169467, 0);
  assert_near(between.latency, 24400, 0);
  assert_near(between.transfer, 1342177, 0);
  assert_near(nccl_plan(&setup, SEND_RECEIVE, 1024, 2, 1).latency, 7200, 0);
  /* Up to 16 KiB with a flag for every 4 bytes: at half the speed, of 396 and of 50. A channel for every 128 KiB, up to
   * 16 within a node and 4 between. */
  assert_near(nccl_plan(&setup, SEND_RECEIVE, 16384, 2, 1).transfer, 83, 0);
  assert_near(nccl_plan(&setup, SEND_RECEIVE, 16384, 2, 2).transfer, 655, 0);
  assert_near(nccl_plan(&setup, SEND_RECEIVE, 16385, 2, 2).transfer, 328, 0);
  static const int channels[][3] = {
      {1, 1, 1}, {1 << 17, 1, 1}, {(1 << 17) + 1, 2, 2}, {5 << 17, 5, 4}, {1 << 26, 16, 4}};
  for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
    assert_int_equal(nccl_plan(&setup, SEND_RECEIVE, channels[i][0], 2, 1).channels, channels[i][1]);
    assert_int_equal(nccl_plan(&setup, SEND_RECEIVE, channels[i][0], 2, 2).channels, channels[i][2]);
  }
}

static void communication_has_its_names(void **state) {
  (void)state;
  struct setup setup = ideal("h100");
#define NAME(name) "ncclDevKernel_" name "(ncclDevKernelArgsStorage<4096ul>)"
  const struct {
    struct message message;
    int size, nodes;
    const char *name;
    int blocks, threads;
  } cases[] = {
      {{.collective = ALL_REDUCE, .bytes = 1 << 30}, 8, 1, NAME("AllReduce_Sum_bf16_RING_LL"), 16, 544},
      {{.collective = ALL_REDUCE, .bytes = 64, .float32 = true}, 32, 4, NAME("AllReduce_Sum_f32_TREE_LL"), 1, 128},
      {{.collective = ALL_REDUCE, .bytes = 64, .integers = true}, 8, 1, NAME("AllReduce_Sum_u64_RING_LL"), 1, 128},
      {{.collective = REDUCE_SCATTER, .bytes = 1 << 30, .float32 = true},
       8,
       1,
       NAME("ReduceScatter_Sum_f32_RING_LL"),
       24,
       544},
      {{.collective = ALL_GATHER, .bytes = 1 << 30}, 8, 1, NAME("AllGather_RING_LL"), 24, 544},
      {{.collective = BROADCAST, .bytes = 1 << 20}, 8, 1, NAME("Broadcast_RING_LL"), 24, 512},
      {{.collective = SEND_RECEIVE, .bytes = 1 << 21, .parts = 2, .part = {{1, true, 1 << 20}, {1, false, 1 << 20}}},
       2,
       1,
       NAME("SendRecv"),
       8,
       544},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct work work = kernels_communication(&setup, &cases[i].message, cases[i].size, cases[i].nodes);
    assert_string_equal(work.name, cases[i].name);
    assert_int_equal(work.grid[0], cases[i].blocks);
    assert_int_equal(work.threads, cases[i].threads);
    assert_int_equal(work.duration, 0);
    assert_int_equal(work.kind, cases[i].message.collective == SEND_RECEIVE ? WORK_P2P : WORK_COLLECTIVE);
    assert_ptr_equal(work.message, &cases[i].message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gpus_are_those_of_the_data_sheets),
      cmocka_unit_test(chance_is_of_its_place),
      cmocka_unit_test(chance_is_independent),
      cmocka_unit_test(spread_has_its_quantiles),
      cmocka_unit_test(spread_widens_from_its_median),
      cmocka_unit_test(spread_without_width_is_its_value),
      cmocka_unit_test(product_takes_waves),
      cmocka_unit_test(product_without_waves_is_proportional),
      cmocka_unit_test(persistent_products_come_in_pairs),
      cmocka_unit_test(product_counts_its_operations),
      cmocka_unit_test(product_is_linear_in_k),
      cmocka_unit_test(product_is_not_faster_than_its_bytes),
      cmocka_unit_test(product_without_many_tiles_is_split),
      cmocka_unit_test(product_varies_by_place),
      cmocka_unit_test(product_does_not_vary_far),
      cmocka_unit_test(products_have_the_names_of_their_layouts),
      cmocka_unit_test(products_reach_plausible_shares),
      cmocka_unit_test(memory_kernels_take_their_bytes),
      cmocka_unit_test(every_kernel_has_its_row),
      cmocka_unit_test(attention_is_causal),
      cmocka_unit_test(short_attention_takes_its_bytes),
      cmocka_unit_test(attention_is_that_of_its_heads),
      cmocka_unit_test(copies_take_their_bytes),
      cmocka_unit_test(ring_moves_large_messages),
      cmocka_unit_test(small_messages_take_the_latency),
      cmocka_unit_test(switch_reduces_where_there_is_one),
      cmocka_unit_test(choice_follows_the_size),
      cmocka_unit_test(all_to_all_passes_all_links_at_once),
      cmocka_unit_test(grouped_products_are_tiles_of_all_groups),
      cmocka_unit_test(nodes_are_further_apart),
      cmocka_unit_test(pairs_take_one_hop),
      cmocka_unit_test(communication_has_its_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
