/* How far what was measured lies from what a model says, shape by shape, and what that says of other shapes.
 *
 * A model gives a time for every shape; what was measured is that times a ratio, which changes slowly with size and
 * differs between families (the kernels of one name; an operation in groups of one size). For a new shape the ratio is
 * that of its own, or lies between those of the next shapes of its family, or is the mean of like ones. How well that
 * does is known by leaving out each shape in turn.
 */
#ifndef LUMOS_COST_CALIBRATION_H
#define LUMOS_COST_CALIBRATION_H

#include "cost/duration.h"

#include <lumos/memory.h>
#include <stdbool.h>

struct lumos_measured_shape {
  uint64_t shape, family, class; /* keys; a class holds families that are alike */
  double model, measured;        /* ns, above 0; measured: the median */
  double spread;                 /* relative, of one standard deviation */
  uint32_t count;                /* how often it was measured */
  double left_out;               /* ns that the others give it; of lumos_calibration_judge */
  enum lumos_duration_source left_out_source;
};

struct lumos_calibration {
  LUMOS_VECTOR(struct lumos_measured_shape) shapes;     /* filled by the caller, then lumos_calibration_judge */
  struct lumos_duration errors[LUMOS_DURATION_SOURCES]; /* by source; without ns */
  double off; /* of shapes that are left out, root mean square by their time */
};

/* A shape that the model gives `model` ns (of shape, family, class and model). O(shapes). */
struct lumos_duration lumos_calibrated_duration(const struct lumos_calibration *calibration,
                                                struct lumos_measured_shape of);

/* Set the errors: those of shapes left out in turn, by source; where there are too few, `assumed`. What
 * a family is worth is known by leaving out the whole of it, too, for some hundreds of shapes. O(shapes squared). */
void lumos_calibration_judge(struct lumos_calibration *calibration,
                             const struct lumos_duration assumed[LUMOS_DURATION_SOURCES]);
void lumos_calibration_free(struct lumos_calibration *calibration);

/* Medians of what is measured: gather, then read. */
struct lumos_observation {
  uint32_t shape; /* index */
  int64_t ns;
};
LUMOS_VECTOR_TYPE(lumos_observations, struct lumos_observation);
/* Sets measured, spread and count of every shape. Moves the observations. */
void lumos_calibration_observe(struct lumos_calibration *calibration, struct lumos_observations *observations);

#endif
