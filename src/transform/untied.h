#ifndef LUMOS_TRANSFORM_UNTIED_H
#define LUMOS_TRANSFORM_UNTIED_H

#include <lumos/job.h>

/* Say once, in a note, in how many ranks of a changed job threads move each by itself. O(tasks). */
void lumos_note_untied_threads(struct lumos_job *job);

/* Say once, in a note, how many communication kernels of a changed job of several ranks are tied to no other rank,
 * where they take much of its time. O(tasks). */
void lumos_note_untied_communication(struct lumos_job *job);

#endif
