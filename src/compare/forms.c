/* A comparison as text for a terminal and as Markdown: the same sentences and tables. */
#include "base/utf8.h"
#include "compare/diagnoses.h"
#include "compare/json.h"
#include "compare/sentences.h"
#include "compare/tables.h"
#include "report/text/escape.h"

struct form {
  const struct lumos_comparison *comparison;
  bool markdown, full;
  struct lumos_text *out;
};

/* ---- Sentences ---- */

static void put_line(const struct form *form, struct lumos_text *text) {
  if (form->markdown) {
    report_put_markdown(form->out, text->bytes, text->length);
    lumos_text_put(form->out, "\n\n");
  } else {
    lumos_utf8_make_printable(text->bytes, text->length);
    lumos_text_add(form->out, text->bytes, text->length);
    lumos_text_char(form->out, '\n');
  }
  text->length = 0;
}

/* One line of a text that another function writes. */
typedef void put_text(const struct lumos_comparison *comparison, struct lumos_text *out);

static void put_told(const struct form *form, put_text *put) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put(form->comparison, &text);
  put_line(form, &text);
  lumos_text_free(&text);
}

static void put_job(const struct form *form, int side) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s: ", form->comparison->names[side]);
  compare_put_job(form->comparison, side, &text);
  put_line(form, &text);
  lumos_text_free(&text);
}

static void put_diagnosis(const struct form *form, int side) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  compare_put_diagnosis(form->comparison, side, &text);
  put_line(form, &text);
  lumos_text_free(&text);
}

/* ---- Tables ---- */

/* Nothing of a table without rows. */
static void put_table(const struct form *form, enum compare_table_number number) {
  struct report_table made, *table = &made;
  compare_make_table(form->comparison, number, form->full ? SIZE_MAX : COMPARE_FIRST_ROWS, table);
  if (report_table_rows(table) == 0) {
    report_table_free(table);
    return;
  }
  lumos_text_char(form->out, '\n');
  if (form->markdown) {
    report_table_markdown(table, form->out);
  } else {
    report_table_plain(table, form->out);
  }
  report_table_free(table);
}

/* ---- All together ---- */

static void put_readable(const struct form *form) {
  put_told(form, lumos_comparison_verdict);
  lumos_text_put(form->out, form->markdown ? "" : "\n");
  put_job(form, 0);
  put_job(form, 1);
  put_told(form, compare_put_matched);
  put_told(form, compare_put_noise);
  for (int side = 0; side < 2; side++) {
    if (compare_is_diagnosed(form->comparison, side)) {
      put_diagnosis(form, side);
    }
  }
  for (int number = 0; number < COMPARE_TABLES; number++) {
    if (compare_table_says(form->comparison, (enum compare_table_number)number)) {
      put_table(form, (enum compare_table_number)number);
    }
  }
}

void lumos_comparison_write(const struct lumos_comparison *comparison, enum lumos_compare_format format, bool full,
                            struct lumos_text *out) {
  if (format == LUMOS_COMPARE_JSON) {
    compare_put_json(comparison, out);
  } else {
    const struct form form = {comparison, format == LUMOS_COMPARE_MARKDOWN, full, out};
    put_readable(&form);
  }
}
