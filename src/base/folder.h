/* What lies directly in a folder. */
#ifndef LUMOS_BASE_FOLDER_H
#define LUMOS_BASE_FOLDER_H

#include <lumos/error.h>
#include <lumos/memory.h>
#include <stdbool.h>

LUMOS_VECTOR_TYPE(lumos_file_names, char *);

/* The names in it that do not begin with a dot, in the order of their bytes; free them in any case. */
bool lumos_folder_list(const char *folder, struct lumos_file_names *names, struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_names_free(struct lumos_file_names *names);
/* Is it among them? O(log names). */
bool lumos_names_hold(const struct lumos_file_names *names, const char *name);

/* "folder/name", for the caller to free; `folder` as it is given, "" is none. */
char *lumos_path_join(const char *folder, const char *name);
bool lumos_ends_with(const char *text, const char *ending); /* and is longer */
/* Whatever a link leads to. */
bool lumos_is_folder(const char *path);
bool lumos_is_file(const char *path);

#endif
