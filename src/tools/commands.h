/* The tools as commands of `lumos`: lumos-sim is the command sim. They lie beside this executable, or else in the
 * folders of PATH; any executable lumos-NAME is one, so a tool is added by being there.
 */
#ifndef LUMOS_TOOLS_COMMANDS_H
#define LUMOS_TOOLS_COMMANDS_H

#include <lumos/memory.h>

struct tool_command {
  const char *name; /* sim */
  const char *path;
};

/* All of them in the first folder that has any, in the order of the pipe, others behind by name. */
struct tool_commands {
  struct lumos_arena *arena;
  LUMOS_VECTOR(struct tool_command) list;
};
void tool_commands_find(struct tool_commands *commands);
void tool_commands_free(struct tool_commands *commands);

/* The executable of one command, or NULL; malloc'ed for the caller. */
char *tool_command_path(const char *name);

/* What stands on the first lines of `PATH --help` behind "lumos-NAME - ", as one printable line in the arena of
 * `commands`; "" where that tool says nothing of the kind. */
const char *tool_command_summary(struct tool_commands *commands, const struct tool_command *command);

/* The name of the command that `word` was meant to be, or NULL where none is near. */
const char *tool_commands_nearest(const struct tool_commands *commands, const char *word);

/* The man page lumos-NAME in the share folder beside that of this executable, or NULL; malloc'ed for the caller. */
char *tool_manual_path(const char *name);

#endif
