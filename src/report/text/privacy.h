/* What a report that is handed on does not show: on which machines a job ran, who ran it, where files lay and how
 * traces were called.
 *
 * One place decides. The report reads the job with strings that have been through report_privacy_put, so that whatever
 * is written from them, as a table, a picture, a note or JSON, is fit to be handed on; only --details leaves them as
 * they were recorded.
 *
 * Paths lose their folders, but for those within the program ("torch/nn/modules/module.py"). Names that the job gives
 * away are replaced wherever they stand as words: hosts (the ranks' own, their first label, and those in the file names
 * that PyTorch's profiler makes) by "(host)", users (by their home folders, and as user@host) by "(user)", traces by
 * "an input file". Words that say nothing about anybody ("root", "localhost", "max") stay, and so does what the report
 * reads as a keyword: names of metrics, codes of notes.
 */
#ifndef LUMOS_REPORT_PRIVACY_H
#define LUMOS_REPORT_PRIVACY_H

#include "base/text.h"
#include "report/text/private_names.h"
#include <lumos/job.h>

/* The names that a job gives away. Reads every string of it once. */
struct report_private_names *report_private_names_of(const struct lumos_job *job);

/* A text without what is private. Linear in its length. Not escaped. */
void report_privacy_put(const struct report_private_names *names, const char *bytes, size_t length,
                        struct lumos_text *out);

/* The job's strings without what is private, under the same ids; a view: lumos_strings_free it before the job. */
struct lumos_strings *report_privacy_strings(const struct lumos_job *job);

#endif
