/* Temporal breakdown: idle, compute and everything else of the time from the first row to the last; and how much of
 * communication runs beside compute. */
#include "sim/hta/rows.h"

#include "base/text.h"

void hta_add_temporal(const struct hta_rank *rank, struct hta_temporal *temporal) {
  const struct hta_intervals *all = &rank->united[HTA_TYPES];
  struct hta_temporal_row row = {.rank = rank->number, .compute = hta_length(&rank->united[HTA_COMPUTATION])};
  const char *failure = "has no rows with a stream";
  if (all->count > 0) {
    row.whole = all->items[all->count - 1].end - all->items[0].start;
    row.idle = row.whole - hta_length(all);
    bool fits = row.idle <= row.whole && row.compute <= row.whole && row.compute + row.idle <= row.whole;
    failure = fits ? NULL : "has rows of -1 us, with which the parts exceed the total";
  }
  if (failure != NULL && temporal->failure == NULL) {
    temporal->failure = failure;
    temporal->failed = rank->number;
  }
  lumos_vector_push(&temporal->rows, row);
}

static void put_time(struct lumos_job *job, const char *time_name, const char *share_name,
                     const struct lumos_scope *scope, int64_t time, int64_t whole) {
  hta_put_time(job, time_name, scope, time);
  hta_put(job, share_name, scope, hta_rounded(100 * ((double)time / (double)whole), 2));
}

static void tell_failure(struct lumos_job *job, const struct hta_temporal *temporal) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = temporal->failed;
  lumos_text_format(&text, "HTA's get_temporal_breakdown fails, so its figures are left out: a rank %s",
                    temporal->failure);
  lumos_job_note(job, "sim.hta_fails", LUMOS_INFO, LUMOS_ABSENT, &scope, text.bytes, NULL);
  lumos_text_free(&text);
}

void hta_write_temporal(struct lumos_job *job, const struct hta_temporal *temporal) {
  if (temporal->failure != NULL) {
    tell_failure(job, temporal);
    return;
  }
  for (size_t i = 0; i < temporal->rows.count; i++) {
    const struct hta_temporal_row *row = &temporal->rows.items[i];
    struct lumos_scope scope = lumos_everywhere;
    scope.rank = row->rank;
    put_time(job, "hta_idle_time", "hta_idle_time_pctg", &scope, row->idle, row->whole);
    put_time(job, "hta_compute_time", "hta_compute_time_pctg", &scope, row->compute, row->whole);
    put_time(job, "hta_non_compute_time", "hta_non_compute_time_pctg", &scope, row->whole - row->compute - row->idle,
             row->whole);
    hta_put_time(job, "hta_kernel_time", &scope, row->whole);
  }
}

void hta_write_overlap(const struct hta_rank *rank, const struct hta_levels *levels) {
  enum { BOTH = 1 << HTA_COMPUTATION | 1 << HTA_COMMUNICATION };
  struct lumos_scope scope = hta_scope(rank);
  double share = (double)levels->time[HTA_NONE + BOTH] / (double)hta_length(&rank->united[HTA_COMMUNICATION]);
  hta_put(rank->job, "hta_comp_comm_overlap_pctg", &scope, hta_rounded(100 * share, 2));
}
