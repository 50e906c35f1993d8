/* What edits of communication share. */
#ifndef LUMOS_TRANSFORM_NETWORK_H
#define LUMOS_TRANSFORM_NETWORK_H

#include <lumos/job.h>

/* Say that so many communication kernels keep their time; nothing where it is none. */
void lumos_note_kept_communication(struct lumos_job *job, int64_t kept);

#endif
