/* Which files a command line means: paths, the traces in folders, names that hold a rank. */
#ifndef LUMOS_TRACE_INPUTS_H
#define LUMOS_TRACE_INPUTS_H

#include <lumos/error.h>
#include <lumos/memory.h>
#include <lumos/trace.h>
#include <stdint.h>

LUMOS_VECTOR_TYPE(trace_paths, char *);

/* Every path, then every line of the files options->lists, a folder replaced by the traces directly in it, by name;
 * neither path nor list: standard input, which can be named once only. */
bool lumos_trace_list_paths(const char *const *paths, size_t count, const struct lumos_trace_options *options,
                            struct trace_paths *list, struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_trace_free_paths(struct trace_paths *list);

/* The part behind the last slash. */
const char *lumos_trace_base_name(const char *path);

/* The number behind "rank" in a file's name (rank3, rank-3, RANK_3, "rank 3"), LUMOS_ABSENT_INT when there is none. */
int32_t lumos_trace_rank_in_name(const char *base_name);

#endif
