/* Links fitted to transfers, of which some show nothing (src/cost/transfers.c). */
#include "graph_job.h"

#include "cost/transfers.h"
#include <math.h>

enum { SIZES = 4 };

/* Two ranks of one node gather some tensors, in so many times what the model says of the data sheet's links. */
static struct lumos_job *gathering(double times) {
  struct lumos_job *job = new_job();
  struct lumos_links sheet = lumos_links_of(NULL);
  uint32_t streams[2];
  for (int32_t r = 0; r < 2; r++) {
    streams[r] = add_stream(job, add_rank(job, r), "7");
  }
  for (uint32_t i = 0; i < 2 * SIZES; i++) {
    int64_t bytes = INT64_C(50000000) * (i % SIZES + 1);
    int64_t transfer = llround(times * lumos_nccl_time(&sheet, LUMOS_GATHERING, (double)bytes, 2, 1));
    uint32_t kernel = add_kernel(job, streams[i / SIZES], (i % SIZES) * 10000000, transfer, LUMOS_NONE);
    job->tasks.items[kernel].kind = LUMOS_COLLECTIVE;
    struct lumos_comm *comm = &detail(job, kernel)->comm;
    comm->op = word(job, "all_gather");
    comm->bytes = bytes;
  }
  for (uint32_t i = 0; i < SIZES; i++) {
    struct lumos_collective collective = lumos_collective_empty;
    collective.op = word(job, "all_gather");
    collective.rule = LUMOS_SYMMETRIC;
    collective.size = 2;
    collective.member_first = (uint32_t)job->members.count;
    collective.member_count = 2;
    collective.bytes = lumos_detail_of(job, &job->tasks.items[i])->comm.bytes;
    collective.transfer = job->tasks.items[i].dur;
    lumos_vector_push(&job->members, i);
    lumos_vector_push(&job->members, i + SIZES);
    lumos_vector_push(&job->collectives, collective);
  }
  struct lumos_error error = {0};
  assert_true(lumos_job_arrange(job, &error));
  job->stage = LUMOS_STAGE_GRAPH;
  return job;
}

static struct lumos_links fitted(const struct lumos_job *job) {
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_transfers *transfers = lumos_transfers_fit(job, NULL, &nodes);
  struct lumos_links links = *lumos_transfers_links(transfers);
  lumos_transfers_free(transfers);
  return links;
}

static bool is_near(double one, double other, double by) { return fabs(one / other - 1) < by; }

/* Transfers within the node take 8 % longer than the model says: links that nothing shows, too. */
static void what_nothing_shows_is_as_slow_as_what_transfers_show(void **state) {
  (void)state;
  struct lumos_job *job = gathering(1.08);
  struct lumos_links links = fitted(job), sheet = lumos_links_of(NULL);
  assert_true(is_near(links.within, sheet.within / 1.08, 0.02));
  assert_true(is_near(links.between, sheet.between / 1.08, 0.02));
  assert_true(is_near(links.pair_between, sheet.pair_between, 1e-9)); /* no message shows how those are */
  lumos_job_free(job);
}

/* Twice as long: no NVLink, say, which tells nothing of the network. */
static void another_link_than_the_data_sheet_s_says_nothing_of_others(void **state) {
  (void)state;
  struct lumos_job *job = gathering(2);
  struct lumos_links links = fitted(job), sheet = lumos_links_of(NULL);
  assert_true(links.within / sheet.within < 0.6);
  assert_true(is_near(links.between, sheet.between, 1e-9));
  lumos_job_free(job);
}

static void what_is_told_stays_as_it_is_told(void **state) {
  (void)state;
  struct lumos_job *job = gathering(1.08);
  struct lumos_network network = lumos_network_unknown;
  network.inter.bandwidth = 20;
  lumos_tell_network(job, &network);
  assert_true(is_near(fitted(job).between, 20, 1e-9));
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_nothing_shows_is_as_slow_as_what_transfers_show),
      cmocka_unit_test(another_link_than_the_data_sheet_s_says_nothing_of_others),
      cmocka_unit_test(what_is_told_stays_as_it_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
