/* Command-line options from a table: the same table parses, prints --help and (later) feeds man pages and
 * completions. */
#ifndef LUMOS_BASE_OPTIONS_H
#define LUMOS_BASE_OPTIONS_H

#include <lumos/error.h>
#include <stdbool.h>
#include <stddef.h>

struct lumos_text;

enum lumos_option_kind {
  LUMOS_OPTION_END,    /* last row */
  LUMOS_OPTION_GROUP,  /* no option: `help` is the heading of the rows that follow */
  LUMOS_OPTION_FLAG,   /* bool *  */
  LUMOS_OPTION_TEXT,   /* const char **  : last one wins */
  LUMOS_OPTION_LIST,   /* struct lumos_option_list * : repeatable, in order; several options may share one */
  LUMOS_OPTION_NUMBER, /* int64_t * : a non-negative integer */
};

struct lumos_given {
  const char *option;   /* its long name */
  const char *argument; /* a slice of argv; NULL: it takes none */
};
struct lumos_option_list {
  struct lumos_given *items; /* freed with lumos_options_free */
  size_t count;
};

struct lumos_option {
  enum lumos_option_kind kind;
  char letter;          /* 0: none */
  const char *name;     /* without dashes; NULL: the row is a heading */
  const char *argument; /* as shown in help, such as "FILE"; NULL: it takes none */
  void *target;
  const char *help; /* one sentence or two, no line breaks */
};

struct lumos_command {
  const char *name;            /* lumos-parse */
  const char *summary;         /* one line */
  const char *usage;           /* "[OPTION...] TRACE..." */
  const char *description;     /* a paragraph, may be NULL */
  const char *const *examples; /* pairs: comment, command line; NULL-terminated */
  const struct lumos_option *options;
  const char *const *commands; /* pairs: name, summary, for a command that runs others; NULL-terminated, may be NULL */
  void (*add_versions)(struct lumos_text *); /* lines behind the version; may be NULL */
};

struct lumos_operands {
  const char **items; /* what is left of argv, in order; items points into one malloc'ed block: free(items) */
  size_t count;
};

/* --help and --version are handled here: printed to standard output with exit status 0 in *exit_now (true). A usage
 * error fails with a text that names the option, the one that was probably meant, and "try 'NAME --help'". "--" ends
 * the options; "-" is an operand. Long options may be given as --name=value or --name value, and may be shortened when
 * unambiguous. */
bool lumos_options_parse(const struct lumos_command *command, int argc, char **argv, struct lumos_operands *operands,
                         bool *exit_now, struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_options_free(const struct lumos_command *command, struct lumos_operands *operands);

#endif
