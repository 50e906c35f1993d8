/* Temporal breakdown: idle, compute and everything else of the time from the first row to the last; and how much of
 * communication runs beside compute. */
#include "sim/hta/rows.h"

static void put_time(const struct hta_rank *rank, const char *time_name, const char *share_name, int64_t time,
                     int64_t whole) {
  struct lumos_scope scope = hta_scope(rank);
  hta_put_time(rank->job, time_name, &scope, time);
  hta_put(rank->job, share_name, &scope, hta_rounded(100 * ((double)time / (double)whole), 2));
}

void hta_write_temporal(const struct hta_rank *rank) {
  const struct hta_intervals *all = &rank->united[HTA_TYPES];
  struct lumos_scope scope = hta_scope(rank);
  int64_t whole = all->items[all->count - 1].end - all->items[0].start;
  int64_t idle = whole - hta_length(all);
  int64_t compute = hta_length(&rank->united[HTA_COMPUTATION]);
  put_time(rank, "hta_idle_time", "hta_idle_time_pctg", idle, whole);
  put_time(rank, "hta_compute_time", "hta_compute_time_pctg", compute, whole);
  put_time(rank, "hta_non_compute_time", "hta_non_compute_time_pctg", whole - compute - idle, whole);
  hta_put_time(rank->job, "hta_kernel_time", &scope, whole);
}

void hta_write_overlap(const struct hta_rank *rank) {
  const struct hta_intervals *const lists[] = {&rank->united[HTA_COMMUNICATION], &rank->united[HTA_COMPUTATION]};
  struct hta_levels levels;
  struct lumos_scope scope = hta_scope(rank);
  hta_sweep(lists, (const int[]){1, 2}, 2, false, &levels);
  double share = (double)levels.time[HTA_NONE + 3] / (double)hta_length(lists[0]);
  hta_put(rank->job, "hta_comp_comm_overlap_pctg", &scope, hta_rounded(100 * share, 2));
}
