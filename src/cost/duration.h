/* What work takes that was not recorded so: a time, where it comes from, and how sure it is.
 *
 * Errors are relative, of one standard deviation. `own` is what averages out over many tasks; `common` is what all
 * tasks of the kind have in common, for they are estimated from the same figures.
 */
#ifndef LUMOS_COST_DURATION_H
#define LUMOS_COST_DURATION_H

enum lumos_duration_source { /* from the surest on */
                             LUMOS_NO_DURATION,
                             LUMOS_OF_SHAPE, /* measured on the same shape */
                             LUMOS_OF_FAMILY, /* between measured shapes of the same family: a kernel; an operation in groups of one size and span */
                             LUMOS_OF_MODEL,     /* of a model that other work of the kind calibrates */
                             LUMOS_OF_CONSTANTS, /* of a model and published figures alone */
                             LUMOS_DURATION_SOURCES
};

struct lumos_duration {
  double ns, common, own;
  enum lumos_duration_source source;
};

#endif
