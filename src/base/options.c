/* Options by hand instead of getopt_long, which keeps its state in globals and prints its own messages. */
#include "base/options.h"

#include "base/nearest.h"
#include "base/text.h"
#include <errno.h>
#include <lumos/memory.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LUMOS_VERSION
#define LUMOS_VERSION "unknown"
#endif

/* Every command has these two; a command's own rows come first and may use their letters. */
enum { COMMON = 2 };
static const struct lumos_option common_options[] = {
    {LUMOS_OPTION_FLAG, 'h', "help", NULL, NULL, "Print this help and exit."},
    {LUMOS_OPTION_FLAG, 'V', "version", NULL, NULL, "Print the version and those of libraries, and exit."},
    {LUMOS_OPTION_END, 0, NULL, NULL, NULL, NULL},
};

/* What one call works on. */
struct parsing {
  const struct lumos_command *command;
  char **arguments;
  int count;
  int next; /* index of the next argument */
  struct lumos_error *error;
  const struct lumos_option *asked; /* --help or --version, once seen */
};

static bool usage_error(const struct parsing *parsing, const char *before, const char *what, const char *after) {
  return lumos_fail(parsing->error, "%s%s%s; try '%s --help'", before, what, after, parsing->command->name);
}

/* The option behind `option`, those of the command first (start with NULL); NULL at the end. */
static const struct lumos_option *next_option(const struct lumos_command *command, const struct lumos_option *option) {
  static const struct lumos_option *const last = &common_options[COMMON];
  option = option == NULL ? command->options : option + 1;
  while (option->kind == LUMOS_OPTION_GROUP || (option->kind == LUMOS_OPTION_END && option != last)) {
    option = option->kind == LUMOS_OPTION_END ? common_options : option + 1;
  }
  return option == last ? NULL : option;
}

static const struct lumos_option *find_letter(const struct lumos_command *command, char letter) {
  const struct lumos_option *option = NULL;
  while ((option = next_option(command, option)) != NULL && option->letter != letter) {
  }
  return option;
}

/* The option with this name, or the only one that begins so. *matches counts the latter. */
static const struct lumos_option *find_name(const struct lumos_command *command, const char *name, size_t length,
                                            int *matches) {
  const struct lumos_option *found = NULL;
  *matches = 0;
  for (const struct lumos_option *option = NULL; (option = next_option(command, option)) != NULL;) {
    if (length == 0 || strncmp(option->name, name, length) != 0) {
      continue;
    }
    if (option->name[length] == '\0') {
      *matches = 1;
      return option;
    }
    found = option;
    ++*matches;
  }
  return found;
}

static bool read_number(const char *text, int64_t *out) {
  int64_t value = 0;
  if (text == NULL || *text == '\0') {
    return false;
  }
  for (; *text != '\0'; text++) {
    if (*text < '0' || *text > '9' || __builtin_mul_overflow(value, INT64_C(10), &value) ||
        __builtin_add_overflow(value, (int64_t)(*text - '0'), &value)) {
      return false;
    }
  }
  *out = value;
  return true;
}

static bool is_common(const struct lumos_option *option) { return option->target == NULL; }

/* Store a value; `shown` is the option as the user wrote it, for messages. */
static bool store(struct parsing *parsing, const struct lumos_option *option, const char *shown, const char *value) {
  if (is_common(option)) {
    parsing->asked = parsing->asked == NULL ? option : parsing->asked;
    return true;
  }
  switch (option->kind) {
    case LUMOS_OPTION_FLAG:
      *(bool *)option->target = true;
      return true;
    case LUMOS_OPTION_TEXT:
      *(const char **)option->target = value;
      return true;
    case LUMOS_OPTION_LIST: {
      struct lumos_option_list *list = option->target;
      list->items = lumos_reallocate(list->items, list->count + 1, sizeof *list->items);
      list->items[list->count++] = (struct lumos_given){option->name, value};
      return true;
    }
    case LUMOS_OPTION_NUMBER:
      return read_number(value, option->target) ||
             lumos_fail(parsing->error, "option %s: '%s' is not a non-negative whole number; try '%s --help'", shown,
                        value, parsing->command->name);
    default:
      return usage_error(parsing, "option ", shown, " has no kind");
  }
}

/* The option's argument: what is attached to it, else the next of argv. */
static bool store_with_argument(struct parsing *parsing, const struct lumos_option *option, const char *shown,
                                const char *attached) {
  if (attached == NULL) {
    if (parsing->next == parsing->count) {
      return usage_error(parsing, "option ", shown, " needs an argument");
    }
    attached = parsing->arguments[parsing->next++];
  }
  return store(parsing, option, shown, attached);
}

static bool fail_unknown(const struct parsing *parsing, const char *name) {
  struct lumos_nearest nearest = {.word = name};
  for (const struct lumos_option *option = NULL; (option = next_option(parsing->command, option)) != NULL;) {
    lumos_nearest_offer(&nearest, option->name);
  }
  return nearest.best == NULL
             ? lumos_fail(parsing->error, "unknown option --%s; try '%s --help'", name, parsing->command->name)
             : lumos_fail(parsing->error, "unknown option --%s; did you mean --%s? '%s --help' shows all", name,
                          nearest.best, parsing->command->name);
}

static bool fail_ambiguous(const struct parsing *parsing, const char *name) {
  struct lumos_text names = LUMOS_TEXT_BUFFER;
  for (const struct lumos_option *option = NULL; (option = next_option(parsing->command, option)) != NULL;) {
    if (strncmp(option->name, name, strlen(name)) == 0) {
      lumos_text_format(&names, "%s--%s", names.length > 0 ? ", " : "", option->name);
    }
  }
  lumos_text_char(&names, '\0');
  (void)lumos_fail(parsing->error, "option --%s is ambiguous: %s; try '%s --help'", name, names.bytes,
                   parsing->command->name);
  lumos_text_free(&names);
  return false;
}

static bool parse_long(struct parsing *parsing, const char *argument) {
  const char *name = argument + 2;
  const char *equals = strchr(name, '=');
  size_t length = equals == NULL ? strlen(name) : (size_t)(equals - name);
  int matches = 0;
  const struct lumos_option *option = find_name(parsing->command, name, length, &matches);
  if (matches != 1) {
    char typed[201];
    (void)snprintf(typed, sizeof typed, "%.*s", (int)(length < sizeof typed ? length : sizeof typed - 1), name);
    return matches == 0 ? fail_unknown(parsing, typed) : fail_ambiguous(parsing, typed);
  }
  char shown[64] = "--";
  strncat(shown, option->name, sizeof shown - 3);
  if (option->argument != NULL) {
    return store_with_argument(parsing, option, shown, equals == NULL ? NULL : equals + 1);
  }
  if (equals != NULL) {
    return usage_error(parsing, "option ", shown, " takes no argument");
  }
  return store(parsing, option, shown, NULL);
}

static bool parse_letters(struct parsing *parsing, const char *argument) {
  for (const char *letter = argument + 1; *letter != '\0'; letter++) {
    char shown[3] = {'-', *letter, '\0'};
    const struct lumos_option *option = find_letter(parsing->command, *letter);
    if (option == NULL) {
      return usage_error(parsing, "unknown option ", shown, "");
    }
    if (option->argument != NULL) {
      return store_with_argument(parsing, option, shown, letter[1] == '\0' ? NULL : letter + 1);
    }
    if (!store(parsing, option, shown, NULL)) {
      return false;
    }
  }
  return true;
}

enum { HELP_COLUMNS = 80, HELP_INDENT = 26 };

/* Add words of `text` wrapped at the right margin; the first line starts at `column`, the others at `indent`. */
static void add_wrapped(struct lumos_text *out, const char *text, size_t column, size_t indent) {
  bool first_word = true;
  while (*text != '\0') {
    size_t length = strcspn(text, " ");
    if (!first_word && column + 1 + length > HELP_COLUMNS) {
      lumos_text_format(out, "\n%*s", (int)indent, "");
      column = indent;
    } else if (!first_word) {
      lumos_text_char(out, ' ');
      column++;
    }
    lumos_text_add(out, text, length);
    column += length;
    first_word = false;
    text += length;
    text += strspn(text, " ");
  }
  lumos_text_char(out, '\n');
}

static void add_option(struct lumos_text *out, const struct lumos_option *option) {
  size_t start = out->length;
  if (option->letter != 0) {
    lumos_text_format(out, "  -%c, --%s", option->letter, option->name);
  } else {
    lumos_text_format(out, "      --%s", option->name);
  }
  if (option->argument != NULL) {
    lumos_text_format(out, "=%s", option->argument);
  }
  size_t width = out->length - start;
  if (width + 2 > HELP_INDENT) {
    lumos_text_char(out, '\n');
    width = 0;
  }
  lumos_text_format(out, "%*s", (int)(HELP_INDENT - width), "");
  add_wrapped(out, option->help, HELP_INDENT, HELP_INDENT);
}

/* Headings stand between "Options:" and the next section, one column in, so that a script finds all options in one
 * place. */
static void add_options(struct lumos_text *out, const struct lumos_command *command) {
  bool grouped = command->options->kind == LUMOS_OPTION_GROUP;
  lumos_text_put(out, "\nOptions:\n");
  for (const struct lumos_option *option = command->options; option->kind != LUMOS_OPTION_END; option++) {
    if (option->kind == LUMOS_OPTION_GROUP) {
      lumos_text_format(out, "%s %s:\n", option == command->options ? "" : "\n", option->help);
    } else {
      add_option(out, option);
    }
  }
  lumos_text_put(out, grouped ? "\n Help:\n" : "");
  for (const struct lumos_option *option = common_options; option->kind != LUMOS_OPTION_END; option++) {
    add_option(out, option);
  }
}

enum { COMMAND_INDENT = 14 };

static void add_commands(struct lumos_text *out, const char *const *commands) {
  lumos_text_put(out, "\nCommands:\n");
  for (; commands[0] != NULL && commands[1] != NULL; commands += 2) {
    lumos_text_format(out, "  %-*s", COMMAND_INDENT - 3, commands[0]);
    lumos_text_char(out, ' ');
    add_wrapped(out, commands[1], COMMAND_INDENT, COMMAND_INDENT);
  }
}

static void add_help(struct lumos_text *out, const struct lumos_command *command) {
  lumos_text_format(out, "%s - ", command->name);
  add_wrapped(out, command->summary, strlen(command->name) + 3, strlen(command->name) + 3);
  lumos_text_format(out, "\nUsage: %s %s\n", command->name, command->usage);
  if (command->description != NULL) {
    lumos_text_char(out, '\n');
    add_wrapped(out, command->description, 0, 0);
  }
  if (command->commands != NULL && command->commands[0] != NULL) {
    add_commands(out, command->commands);
  }
  add_options(out, command);
  if (command->examples != NULL && command->examples[0] != NULL) {
    lumos_text_put(out, "\nExamples:\n");
    for (const char *const *example = command->examples; example[0] != NULL && example[1] != NULL; example += 2) {
      lumos_text_format(out, "  # %s\n  %s\n", example[0], example[1]);
    }
  }
}

static bool print_asked(const struct parsing *parsing) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  if (strcmp(parsing->asked->name, "help") == 0) {
    add_help(&out, parsing->command);
  } else {
    lumos_text_format(&out, "%s %s\n", parsing->command->name, LUMOS_VERSION);
    if (parsing->command->add_versions != NULL) {
      parsing->command->add_versions(&out);
    }
  }
  out.descriptor = STDOUT_FILENO;
  bool good = lumos_text_flush(&out) || out.failure == EPIPE;
  int reason = out.failure;
  lumos_text_free(&out);
  return good || lumos_fail(parsing->error, "standard output: cannot write: %s", strerror(reason));
}

bool lumos_options_parse(const struct lumos_command *command, int argc, char **argv, struct lumos_operands *operands,
                         bool *exit_now, struct lumos_error *error) {
  struct parsing parsing = {.command = command, .arguments = argv, .count = argc, .next = 1, .error = error};
  *operands = (struct lumos_operands){NULL, 0};
  *exit_now = false;
  operands->items = lumos_allocate_zeroed((size_t)(argc > 0 ? argc : 0) + 1, sizeof *operands->items);
  bool options_ended = false;
  while (parsing.next < argc) {
    const char *argument = argv[parsing.next++];
    if (options_ended || argument[0] != '-' || argument[1] == '\0') {
      operands->items[operands->count++] = argument;
    } else if (strcmp(argument, "--") == 0) {
      options_ended = true;
    } else if (!(argument[1] == '-' ? parse_long(&parsing, argument) : parse_letters(&parsing, argument))) {
      return false;
    }
    if (parsing.asked != NULL) {
      *exit_now = true;
      return print_asked(&parsing);
    }
  }
  return true;
}

void lumos_options_free(const struct lumos_command *command, struct lumos_operands *operands) {
  for (const struct lumos_option *option = command->options; option->kind != LUMOS_OPTION_END; option++) {
    if (option->kind == LUMOS_OPTION_LIST && option->target != NULL) {
      struct lumos_option_list *list = option->target;
      free(list->items);
      *list = (struct lumos_option_list){NULL, 0};
    }
  }
  free(operands->items);
  *operands = (struct lumos_operands){NULL, 0};
}
