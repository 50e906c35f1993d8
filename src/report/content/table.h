/* A table as data: the page shows it as HTML and embeds the same cells as JSON, Markdown has them too, so that the
 * forms cannot differ. */
#ifndef LUMOS_REPORT_TABLE_H
#define LUMOS_REPORT_TABLE_H

#include "base/text.h"
#include <lumos/memory.h>
#include <lumos/strings.h>
#include <stdbool.h>
#include <stdint.h>

enum report_column_kind {
  COLUMN_NAME,  /* a name from the trace; may be long */
  COLUMN_TEXT,  /* a word or two of ours, or a short name */
  COLUMN_PAINT, /* a kind or part, with its colour */
  COLUMN_COUNT,
  COLUMN_MS, /* ns, shown in milliseconds */
  COLUMN_US, /* ns, shown in microseconds */
  COLUMN_BYTES,
  COLUMN_MEAN,   /* a mean of counts; it and those that follow are in thousandths, shown with three digits */
  COLUMN_TFLOP,  /* TFLOP */
  COLUMN_TFLOPS, /* TFLOP/s */
  COLUMN_GBS,    /* GB/s */
  COLUMN_SHARE,  /* millionths of the table's denominator, shown as per cent */
  COLUMN_BAR,    /* the same with a bar that compares it with the column's largest */
};

enum {
  REPORT_COLUMNS = 16,   /* at most, in a table */
  REPORT_ROWS = 2000,    /* at most, of it on a page: the stream has them all */
  REPORT_OPEN_ROWS = 20, /* of a longer table the others are folded */
  REPORT_MARKDOWN_ROWS = 25,
};

struct report_column {
  const char *name;    /* in the summary: "total" */
  const char *heading; /* in the page: "total, ms" */
  const char *term;    /* the definition that the heading leads to, or NULL */
  enum report_column_kind kind;
};

struct report_cell {
  int64_t value;     /* numbers, or a paint; LUMOS_ABSENT: a dash */
  const char *bytes; /* texts: of the job, literal, or the table's own */
  size_t length;
  const char *shown; /* of a text: HTML of ours that a page shows in its place; NULL: there is none */
  size_t shown_length;
};

struct report_table {
  const char *name; /* in the summary and, after "table-", as the id: "kernels" */
  const struct report_column *columns;
  size_t column_count;
  bool grouped; /* a row with the name of the one above it belongs to it, and its name is not shown again */
  LUMOS_VECTOR(struct report_cell) cells; /* row by row */
  struct lumos_arena *texts;              /* made when it is needed */
  int64_t whole;             /* what its shares are of, in ns; LUMOS_ABSENT: each row has its own, or none */
  struct lumos_text finding; /* what it says, in a line; may be empty */
  bool told; /* the finding stands beside the picture that shows the same: only the summary has it here, too */
  struct lumos_text caption; /* what it shows, with its denominator */
  struct lumos_text rest;    /* what was left out, as plain text: "and 212 more, 41.2 ms together"; may be empty */
};

void report_table_begin(struct report_table *table, const char *name, const struct report_column *columns,
                        size_t column_count);
/* The same with a copy of the columns. */
void report_table_begin_own(struct report_table *table, const char *name, const struct report_column *columns,
                            size_t column_count);
void report_table_free(struct report_table *table);

/* The cells of a row are pushed from left to right. */
void report_table_number(struct report_table *table, int64_t value);
void report_table_text(struct report_table *table, const char *bytes, size_t length);
void report_table_word(struct report_table *table, const char *nul_terminated);
void report_table_string(struct report_table *table, const struct lumos_strings *strings, uint32_t id);
/* A copy of `text`, which is emptied. */
void report_table_copy(struct report_table *table, struct lumos_text *text);
/* What a page shows in the place of the text that was pushed last: a copy of `html`, which is emptied. */
void report_table_shown(struct report_table *table, struct lumos_text *html);
size_t report_table_rows(const struct report_table *table);
/* The number in a cell; row and column are in range. */
int64_t report_table_value(const struct report_table *table, size_t row, size_t column);

void report_table_html(const struct report_table *table, struct lumos_text *out);
/* A row a line under the columns' names; the values of report_table_json, all rows. */
void report_table_csv(const struct report_table *table, struct lumos_text *out);
/* For GitHub: the first REPORT_MARKDOWN_ROWS, folded where they are many, with an empty line behind. */
void report_table_markdown(const struct report_table *table, struct lumos_text *out);
/* For a terminal: all rows, in columns, under the caption; names are cut, and nothing in them steers a terminal. */
void report_table_plain(const struct report_table *table, struct lumos_text *out);
/* {"finding","caption","whole","rest","left_out","columns":[...],"rows":[[...]]}, of the first five those that there
 * are: values as they are, times in ns, shares in fractions; safe inside <script>. */
void report_table_json(const struct report_table *table, struct lumos_text *out);

#endif
