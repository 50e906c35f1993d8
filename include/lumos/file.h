/* Where a report, a stream or a verdict goes, for programs that use the library: functions that write text take a
 * struct lumos_text, which a file has.
 *
 *   struct lumos_file *file = lumos_file_open("report.html", &error);
 *   bool good = file != NULL && lumos_report(job, &options, lumos_file_text(file), &error) && lumos_file_commit(file,
 *     &error);
 *   lumos_file_close(file);
 */
#ifndef LUMOS_FILE_H
#define LUMOS_FILE_H

#include <lumos/error.h>
#include <stddef.h>

struct lumos_text;
struct lumos_file;

/* A file that appears whole on commit, or not at all; compressed where its name ends in ".gz" or ".zst". "-": standard
 * output. NULL with an error where it cannot be written. */
struct lumos_file *lumos_file_open(const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
/* One that stays in memory. */
struct lumos_file *lumos_file_in_memory(void);
/* To be written to until commit or close. */
struct lumos_text *lumos_file_text(struct lumos_file *file);
/* What was written to a file in memory, with a NUL behind it that is not counted; valid until more is written. */
const char *lumos_file_bytes(struct lumos_file *file, size_t *length);
/* False where it could not be written; the file that was there before is then still there. */
bool lumos_file_commit(struct lumos_file *file, struct lumos_error *error) LUMOS_MUST_CHECK;
/* Without a commit before, nothing was written. NULL is allowed. */
void lumos_file_close(struct lumos_file *file);

#endif
