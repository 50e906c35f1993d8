/* Sentences behind the first one (verdict.h): what is compared, how much of it matches, and what is noise. What they
 * write is not escaped. */
#ifndef LUMOS_COMPARE_SENTENCES_H
#define LUMOS_COMPARE_SENTENCES_H

#include "base/text.h"
#include <lumos/compare.h>

/* "41.1 ms a step, 41.0 ms to 41.2 ms in 2 steps of 3, 1 rank, NVIDIA H100" */
void compare_put_job(const struct lumos_comparison *comparison, int side, struct lumos_text *out);
/* The same without the time of a step. */
void compare_put_job_evidence(const struct lumos_comparison *comparison, int side, struct lumos_text *out);
/* Of the GPU time of both jobs, in millionths. */
int64_t compare_matched_share(const struct lumos_comparison *comparison);
/* The same in words: ">99.9 %" where it would be rounded to all, and is not. */
void compare_put_matched_share(const struct lumos_comparison *comparison, struct lumos_text *out);
/* "94.1 % by layer, op, shapes and kernel, 2.0 % with another kernel" */
void compare_put_matched_levels(const struct lumos_comparison *comparison, struct lumos_text *out);
void compare_put_matched(const struct lumos_comparison *comparison, struct lumos_text *out);
void compare_put_noise(const struct lumos_comparison *comparison, struct lumos_text *out);

#endif
