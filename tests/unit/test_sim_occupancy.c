/* Occupancy of a step, worked out on paper.
 *
 * Rank 0 runs A for 100 ns at 0.5 and B for 300 ns at 0.25, rank 1 A for 100 ns at 0.5 and C for 50 ns at 0, which
 * says nothing; in step 2 nothing is known of anything.
 */
#include "metric_text.h"

#include <lumos/sim.h>

/* clang-format off */
#define LANES(rank) \
  "{'type':'rank','rank':" rank ",'window':[0,900],'base':0," JOB_TEXT_COVERAGE "}\n" \
  "{'type':'lane','rank':" rank ",'lane':'s7','kind':'stream','native':'7'}\n"
#define KERNEL(rank, seq, name, start, dur, step, more) \
  "{'type':'task','id':'" rank ":" #seq "','rank':" rank ",'lane':'s7','seq':" #seq ",'kind':'gemm','name':'" name "'" \
  ",'start':" #start ",'dur':" #dur ",'lag':0,'gap':0,'step':" #step ",'residual':0" more "}\n" \
  "{'type':'dep','at':" #start ",'dst':'" rank ":" #seq "','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
static const char job_text[] = JOB_TEXT_HEADER
    LANES("0") LANES("1")
    KERNEL("0", 0, "A", 0, 100, 1, ",'occupancy':0.5")
    KERNEL("0", 1, "B", 100, 300, 1, ",'occupancy':0.25")
    KERNEL("0", 2, "C", 500, 50, 2, "")
    KERNEL("1", 0, "A", 0, 100, 1, ",'occupancy':0.5")
    KERNEL("1", 1, "C", 100, 50, 1, ",'occupancy':0");
/* clang-format on */

static void kernels_count_by_their_time(void **state) {
  (void)state;
  struct lumos_job *job = simulated(job_text);
  expect_metric(job, "occupancy rank=0 step=1", 312500); /* (50 + 75) / 400 */
  expect_metric(job, "occupancy rank=1 step=1", 500000);
  expect_metric(job, "occupancy step=1", 350000); /* (125 + 50) / 500 */
  expect_metric(job, "occupancy_time step=1", 500);
  lumos_job_free(job);
}

static void where_nothing_is_known_nothing_is_told(void **state) {
  (void)state;
  struct lumos_job *job = simulated(job_text);
  expect_metric(job, "occupancy rank=0 step=2", LUMOS_ABSENT);
  expect_metric(job, "occupancy step=2", LUMOS_ABSENT);
  expect_metric(job, "occupancy_time step=2", LUMOS_ABSENT);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(kernels_count_by_their_time),
      cmocka_unit_test(where_nothing_is_known_nothing_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
