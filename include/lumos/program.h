/* The program behind the tasks: what is trained and how it is spread over the ranks. What is not known stays absent. */
#ifndef LUMOS_PROGRAM_H
#define LUMOS_PROGRAM_H

#include <lumos/error.h>
#include <lumos/job.h>

/* How the job is spread: the role of every group, the coordinates of every rank (rank.parallel), and the sizes of the
 * axes (the model record's parallel, made when there is none). The job must be at stage graph; it may lack ranks, and
 * what it knew before is forgotten. Evidence, in this order: what groups are called; what is communicated in them
 * (activations between pipeline stages, sums within layers, gradients at the end of a step) and which numbers their
 * ranks have. What contradicts itself, such as sizes whose product is not the world, is left absent, and a note
 * graph.parallel says what was found. O(tasks log tasks). */
bool lumos_program_parallel(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* What each task is for: phase, micro_batch, layer and part of every task, as far as they show. The job must be at
 * stage graph, its ranks' `parallel` found: layers are numbered over the stages of the pipeline, from 0 at the first;
 * where a rank's stage is unknown, over its own. Where a trace has several kinds of evidence the first decides: names
 * of modules and annotations; autograd's sequence numbers, which tie backward work to forward work; the repetition of
 * what is launched, which needs none of them. Layers and micro-batches go to the model record, too. A note
 * graph.program says how much of GPU time was assigned, and by what. What has no layers, or trains nothing,
 * gets none: its tasks are `other`. O(tasks log tasks). */
bool lumos_program_recover(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* What is trained: fills the model record from the shapes that spans carry, where they were recorded. Needs the sizes
 * that lumos_program_parallel finds. Leaves `layers` and `micro_batches` as they are. O(spans). */
bool lumos_program_model(struct lumos_job *job, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Read a model description: a JSON object with any of the numbers of the model record. Its type, parallel and evidence
 * may be there, too, so that a record of another stream can be given, but are not used. What the object lacks is absent
 * in *model. False, with LUMOS_UNUSABLE, where the file cannot be read, is not such an object, has another member, or a
 * value that is not a whole number from 1 to 2^31-1. */
bool lumos_program_model_read(const char *path, struct lumos_model_description *model,
                              struct lumos_error *error) LUMOS_MUST_CHECK;

/* Let what was read override what was found in a job at stage graph. `name`: of the file, for evidence and the job's
 * history. */
void lumos_program_model_give(struct lumos_job *job, const struct lumos_model_description *model, const char *name);

#endif
