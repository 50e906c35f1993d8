/* Both jobs in one file for Perfetto: the compared steps that are nearest to the mean begin at one instant. */
#include <lumos/compare.h>

#include <lumos/export.h>
#include <lumos/sim.h>

bool lumos_comparison_timelines(const struct lumos_comparison *comparison, struct lumos_job *a, struct lumos_job *b,
                                const char *path, struct lumos_error *error) {
  struct lumos_job *const jobs[2] = {a, b};
  static const char *const prefixes[2] = {"A: ", "B: "};
  struct lumos_timelines_job of[2];
  for (int side = 0; side < 2; side++) {
    if (jobs[side]->stage < LUMOS_STAGE_SIM && !lumos_simulate(jobs[side], error)) {
      return false;
    }
    of[side] = (struct lumos_timelines_job){jobs[side], prefixes[side], comparison->jobs[side].typical_start};
  }
  return lumos_timelines_write_several(of, 2, path, error);
}
