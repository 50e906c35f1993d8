/* How well the models of durations do on a job: every measured shape is left out in turn, and predicted from the
 * others.
 */
#ifndef LUMOS_MODELS_H
#define LUMOS_MODELS_H

#include <lumos/error.h>
#include <lumos/job.h>

struct lumos_models_row {
  const char *kind;         /* "gemm", ..., "collective", "p2p" */
  int64_t kernels, shapes;  /* that were measured; of communication transfers */
  int64_t left_out;         /* shapes that the others could predict */
  double median, ninetieth; /* errors of these, relative; -1: there is none */
};
enum { LUMOS_MODELS_ROWS = 9 };
struct lumos_models_check {
  struct lumos_models_row rows[LUMOS_MODELS_ROWS];
  int count; /* kinds of which there are shapes */
};

/* Of a job of stage graph or later; `hardware`: a table of GPUs before the library's own, or NULL. */
bool lumos_models_check(const struct lumos_job *job, const char *hardware, struct lumos_models_check *check,
                        struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
