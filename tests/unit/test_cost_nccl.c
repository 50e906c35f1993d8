/* NCCL's model against values worked out by hand from its formulas. */
#include "cost/nccl.h"
#include "unit.h"

#include <math.h>

static void expect_us(double ns, double us) {
  if (fabs(ns / 1000 - us) > 0.01 * us) {
    fail_msg("%.2f us, not %.2f", ns / 1000, us);
  }
}

/* 8.4 + 14 x 3.4 us, and 2^28 bytes x 14 / 8 at 480 GB/s; as the reference prints it, 1035 us. */
static void a_ring_on_one_node(void **state) {
  (void)state;
  struct lumos_links links = lumos_links_of(NULL);
  links.architecture = LUMOS_AMPERE;
  links.within = 480;
  expect_us(lumos_nccl_time(&links, LUMOS_ALL_REDUCING, 1 << 28, 8, 1), 1034.7);
  /* Half of the steps and of the data: 8.4 + 7 x 3.4, and 2^28 x 7 / 8. */
  expect_us(lumos_nccl_time(&links, LUMOS_GATHERING, 1 << 28, 8, 1), 32.2 + 489.3);
  expect_us(lumos_nccl_latency(&links, LUMOS_ALL_REDUCING, 1 << 28, 8, 1), 56);
  expect_us(lumos_nccl_latency(&links, LUMOS_GATHERING, 1 << 28, 8, 1), 32.2);
}

/* 64 bytes: LL, 6.6 us and 2 x 7 steps of 0.6 in a ring, 6.8 and the same in a tree. */
static void a_short_message(void **state) {
  (void)state;
  struct lumos_links links = lumos_links_of(NULL);
  links.architecture = LUMOS_AMPERE;
  expect_us(lumos_nccl_time(&links, LUMOS_ALL_REDUCING, 64, 8, 1), 15.0);
  expect_us(lumos_nccl_latency(&links, LUMOS_ALL_REDUCING, 64, 8, 1), 15.0);
}

/* Eight GPUs on two nodes: four network cards of 25 GB/s a node are the ring's 100; 8.4 us, 6 steps of 14 + 2 x 5 us
 * between nodes as NCCL counts all-gathers (one), 6 of 3.4 within. */
static void a_ring_over_nodes(void **state) {
  (void)state;
  struct lumos_links links = lumos_links_of(NULL);
  links.architecture = LUMOS_AMPERE;
  links.within = 240;
  links.between = 25;
  links.hop_between = 5;
  double data = (double)(1 << 28) * 7 / 8 / 100 / 1000;
  expect_us(lumos_nccl_time(&links, LUMOS_GATHERING, 1 << 28, 8, 2), 8.4 + 6 * 3.4 + 24 + data);
}

/* A message between two: nothing but its latency and its bytes. */
static void a_pair(void **state) {
  (void)state;
  struct lumos_links links = lumos_links_of(NULL);
  links.pair_latency_between = 30;
  links.pair_between = 20;
  expect_us(lumos_nccl_time(&links, LUMOS_PAIRING, 2e6, 2, 2), 130);
  expect_us(lumos_nccl_latency(&links, LUMOS_PAIRING, 2e6, 2, 2), 30);
}

/* Of eight H100s as a public trace shows them (nanogpt): 24 blocks for all-gathers of 75 MB, one for those of 2 kB. As
 * NCCL prints them: 16 for what the switch adds up, which it does from three on; two for every network card of a
 * node. */
static void channels(void **state) {
  (void)state;
  struct lumos_links links = lumos_links_of(NULL);
  links.architecture = LUMOS_HOPPER;
  links.within = 360;
  assert_int_equal(lumos_nccl_channels(&links, LUMOS_GATHERING, 75497472, 8, 1), 24);
  assert_int_equal(lumos_nccl_channels(&links, LUMOS_GATHERING, 2304, 8, 1), 1);
  assert_int_equal(lumos_nccl_channels(&links, LUMOS_ALL_REDUCING, 1e8, 2, 1), 24);
  assert_int_equal(lumos_nccl_channels(&links, LUMOS_ALL_REDUCING, 1e8, 4, 1), 16);
  assert_int_equal(lumos_nccl_channels(&links, LUMOS_GATHERING, 1e8, 8, 4), 4);
  assert_int_equal(lumos_nccl_channels(&links, LUMOS_PAIRING, 1e8, 2, 1), 0);
}

static void longer_with_more(void **state) {
  (void)state;
  struct lumos_links links = lumos_links_of(NULL);
  for (int architecture = LUMOS_NO_ARCHITECTURE; architecture < LUMOS_ARCHITECTURES; architecture++) {
    links.architecture = (enum lumos_architecture)architecture;
    for (int form = LUMOS_ALL_REDUCING; form <= LUMOS_PAIRING; form++) {
      for (int32_t nodes = 1; nodes <= 4; nodes *= 2) {
        double last = 0;
        for (int64_t bytes = 1; bytes < INT64_C(1000000000000); bytes *= 4) {
          double now = lumos_nccl_time(&links, (enum lumos_transfer_form)form, (double)bytes, 16, nodes);
          assert_true(isfinite(now) && now > 0 && now >= 0.8 * last); /* trees have dents */
          last = now;
        }
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_ring_on_one_node), cmocka_unit_test(a_short_message),
      cmocka_unit_test(a_ring_over_nodes),  cmocka_unit_test(a_pair),
      cmocka_unit_test(longer_with_more),   cmocka_unit_test(channels),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
