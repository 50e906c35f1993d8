/* What leaves a simulated job beside its stream and the report: timelines, and critical paths.
 *
 * Timelines: the measured and the simulated one of a job side by side, for Perfetto, chrome://tracing and everything
 * else that reads Chrome's trace format.
 *
 * One file holds all ranks. A process is a rank's host process or its device, and each of its threads and streams is
 * two lanes, as measured and as simulated. Counters of each device show how many streams run, the queue and bandwidth.
 * The measured rows are written as Kineto writes them, so lumos-parse finds
 * the same tasks in the file; the simulated ones have the category lumos_simulated, which it skips.
 *
 * Ranks lie in job time. A measured row is shifted by whole nanoseconds, the same for all rows of a rank's host (or
 * device): what its clock is off at the start of the recording. The document "lumos_timelines" before the events says
 * by how much, and what else a reader needs to undo it: see src/trace/timelines.h.
 */
#ifndef LUMOS_EXPORT_H
#define LUMOS_EXPORT_H

#include <lumos/error.h>
#include <lumos/job.h>

/* Write a job of stage `sim` to `path`, compressed where that ends in ".gz"; "-": standard output. The file appears
 * whole or not at all. Same job, same bytes. O(tasks log calls), and the engine runs once more to say what held every
 * task; memory: 40 bytes a task beside the job, and 32 for each on a device. */
bool lumos_timelines_write(const struct lumos_job *job, const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;

/* A job of a file of several. */
struct lumos_timelines_job {
  const struct lumos_job *job; /* of stage `sim` */
  const char *prefix;          /* of the names of its processes, "A: "; NULL: none */
  int64_t align;               /* the job time that stands where those of the others do */
};
/* The same of several jobs, one or more, each with processes of its own; lumos-parse reads no such file of more than
 * one. */
bool lumos_timelines_write_several(const struct lumos_timelines_job *jobs, size_t count, const char *path,
                                   struct lumos_error *error) LUMOS_MUST_CHECK;

/* The critical path of every step of a simulated job, part by part, what it consists of, and the slack of all tasks:
 * one JSON document, which lumos-sim(1) describes. Written as the timelines are. O(tasks + parts), and the engine runs
 * once more. */
bool lumos_critical_path_write(const struct lumos_job *job, const char *path,
                               struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
