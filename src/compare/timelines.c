/* All jobs in one file for Perfetto: the compared steps that are nearest to the mean begin at one instant. */
#include <lumos/compare.h>

#include <lumos/export.h>
#include <lumos/sim.h>
#include <stdio.h>

bool lumos_comparison_timelines(const struct lumos_compared *compared, const char *path, struct lumos_error *error) {
  enum { PREFIX = 4 };
  struct lumos_timelines_job of[LUMOS_COMPARE_JOBS];
  char prefixes[LUMOS_COMPARE_JOBS][PREFIX];
  for (size_t i = 0; i <= compared->count; i++) {
    const struct lumos_compared_job *job =
        i == 0 ? &compared->comparisons[0]->jobs[0] : &compared->comparisons[i - 1]->jobs[1];
    if (compared->jobs[i]->stage < LUMOS_STAGE_SIM && !lumos_simulate(compared->jobs[i], error)) {
      return false;
    }
    (void)snprintf(prefixes[i], PREFIX, "%s: ", lumos_compared_name(i));
    of[i] = (struct lumos_timelines_job){compared->jobs[i], prefixes[i], job->typical_start};
  }
  return lumos_timelines_write_several(of, compared->count + 1, path, error);
}
