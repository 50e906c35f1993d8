/* lumos: one name for all tools. `lumos sim ARGUMENT...` becomes lumos-sim: the process is replaced, so that status,
 * signals and pipes are the tool's own.
 */
#include "tools/commands.h"
#include "tools/tool.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* argv of what this process becomes; it takes over all that it points to. */
LUMOS_VECTOR_TYPE(arguments, const char *);

/* Does not return where it succeeds. */
static void become(const char *path, struct arguments *arguments) {
  lumos_vector_push(arguments, NULL);
  (void)signal(SIGPIPE, SIG_DFL); /* as it was before tool_main; a signal that is ignored stays so across exec */
  (void)execvp(path, (char *const *)(uintptr_t)arguments->items);
  (void)signal(SIGPIPE, SIG_IGN);
}

static bool fail_unknown(const char *name, struct lumos_error *error) {
  struct tool_commands commands;
  tool_commands_find(&commands);
  const char *nearest = tool_commands_nearest(&commands, name);
  if (access(name, F_OK) == 0) {
    (void)lumos_fail(error, "'%s' is a file or folder, not a command; 'lumos report %s' makes its report", name, name);
  } else if (nearest != NULL) {
    (void)lumos_fail(error, "unknown command '%s'; did you mean '%s'? 'lumos --help' shows all", name, nearest);
  } else {
    (void)lumos_fail(error, "unknown command '%s'; 'lumos --help' shows all", name);
  }
  tool_commands_free(&commands);
  return false;
}

/* `arguments` stand behind the command's name. */
static bool run_tool(const char *name, const char *const *arguments, size_t count, struct lumos_error *error) {
  char *path = tool_command_path(name);
  if (path == NULL) {
    return fail_unknown(name, error);
  }
  struct arguments all = {0};
  lumos_vector_push(&all, path);
  for (size_t i = 0; i < count; i++) {
    lumos_vector_push(&all, arguments[i]);
  }
  become(path, &all);
  (void)lumos_fail(error, "%s: cannot run: %s", path, strerror(errno));
  lumos_vector_free(&all);
  free(path);
  return false;
}

/* The man page where there is one and a program to show it, else what the tool itself says. */
static bool show_help(const char *name, struct lumos_error *error) {
  static const char *const help[] = {"--help"};
  char *page = tool_manual_path(name);
  if (page != NULL) {
    struct arguments all = {0};
    lumos_vector_push(&all, "man");
    lumos_vector_push(&all, "-l");
    lumos_vector_push(&all, page);
    become("man", &all);
    lumos_vector_free(&all);
    free(page);
  }
  return run_tool(name, help, 1, error);
}

static bool run(const struct lumos_operands *operands, void *options, struct lumos_error *error) {
  (void)options;
  if (operands->count == 0) {
    return lumos_fail(error, "a command is missing; 'lumos --help' shows all");
  }
  const char *name = operands->items[0];
  if (strcmp(name, "help") == 0) {
    return show_help(operands->items[1], error);
  }
  return run_tool(name, operands->items + 1, operands->count - 1, error);
}

/* Pairs for the help text: every command with its summary. */
static const char **describe(struct tool_commands *commands) {
  const char **pairs = lumos_allocate_zeroed(commands->list.count * 2 + 3, sizeof *pairs);
  size_t count = 0;
  for (size_t i = 0; i < commands->list.count; i++) {
    pairs[count++] = commands->list.items[i].name;
    pairs[count++] = tool_command_summary(commands, &commands->list.items[i]);
  }
  pairs[count++] = "help";
  pairs[count++] = "Show the man page of a command.";
  return pairs;
}

/* lumos itself is asked for something: no command, one of its options, or help on nothing. */
static bool is_own(int argc, char **argv) {
  return argc < 2 || (argv[1][0] == '-' && argv[1][1] != '\0') || (argc == 2 && strcmp(argv[1], "help") == 0);
}

int main(int argc, char **argv) {
  const struct lumos_option options[] = {TOOL_LAST_OPTION};
  static const char *const examples[] = {
      "From traces to a page",
      "lumos report rank*.json.gz -o report.html",
      "The same as a pipe, and what if matrix products took half the time?",
      "lumos parse rank*.json.gz | lumos transform -s kind=gemm=0.5 | lumos sim | lumos render -o whatif.html",
      NULL,
  };
  struct lumos_command command = {
      .name = "lumos",
      .summary = "Say where the steps of a training job went and what would make them shorter.",
      .usage = "COMMAND [ARGUMENT]...",
      .description = "Runs the tool lumos-COMMAND with the arguments. 'lumos COMMAND --help' shows its options.",
      .examples = examples,
      .options = options,
  };
  if (!is_own(argc, argv)) {
    /* What stands behind the command is its own business. */
    const char **all = lumos_allocate_zeroed((size_t)argc + 2, sizeof *all);
    all[0] = argv[0];
    all[1] = "--";
    memcpy(all + 2, argv + 1, (size_t)(argc - 1) * sizeof *all);
    int status = tool_main(&command, argc + 1, (char **)(uintptr_t)all, run, NULL);
    free(all);
    return status;
  }
  struct tool_commands commands;
  tool_commands_find(&commands);
  const char **pairs = describe(&commands);
  command.commands = pairs;
  bool asked = argc >= 2 && argv[1][0] == '-';
  char *own[] = {argv[0], asked ? argv[1] : (char *)(uintptr_t) "--help", NULL};
  int status = tool_main(&command, 2, own, run, NULL);
  free(pairs);
  tool_commands_free(&commands);
  return status;
}
