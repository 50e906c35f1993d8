/* How many parameters a stage of a pipeline has. */
#ifndef LUMOS_REBUILD_PARAMETERS_H
#define LUMOS_REBUILD_PARAMETERS_H

#include <lumos/job.h>

/* Are its sizes described? */
bool rebuild_parameters_known(const struct lumos_model_description *model);

/* Of a stage with so many layers; relative to others of the same model only. Where the model is not described well enough,
 * layers are all that counts. */
__int128 rebuild_parameters(const struct lumos_model_description *model, int32_t layers, bool first, bool last);

#endif
