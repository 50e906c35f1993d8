/* A table's forms. */
#include "report/content/table.h"

#include "base/utf8.h"
#include "report/draw/palette.h"
#include "report/text/escape.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <inttypes.h>
#include <string.h>

void report_table_begin(struct report_table *table, const char *name, const struct report_column *columns,
                        size_t column_count) {
  *table = (struct report_table){.name = name, .columns = columns, .column_count = column_count, .whole = LUMOS_ABSENT};
  table->finding = LUMOS_TEXT_BUFFER;
  table->caption = LUMOS_TEXT_BUFFER;
  table->rest = LUMOS_TEXT_BUFFER;
}

void report_table_begin_own(struct report_table *table, const char *name, const struct report_column *columns,
                            size_t column_count) {
  report_table_begin(table, name, NULL, column_count);
  table->texts = lumos_arena_new();
  struct report_column *own = lumos_arena_take(table->texts, column_count * sizeof *own);
  memcpy(own, columns, column_count * sizeof *own);
  table->columns = own;
}

void report_table_free(struct report_table *table) {
  lumos_vector_free(&table->cells);
  lumos_arena_free(table->texts);
  lumos_text_free(&table->finding);
  lumos_text_free(&table->caption);
  lumos_text_free(&table->rest);
}

void report_table_number(struct report_table *table, int64_t value) {
  struct report_cell cell = {.value = value};
  lumos_vector_push(&table->cells, cell);
}

void report_table_text(struct report_table *table, const char *bytes, size_t length) {
  struct report_cell cell = {.bytes = bytes, .length = length};
  lumos_vector_push(&table->cells, cell);
}

void report_table_word(struct report_table *table, const char *nul_terminated) {
  report_table_text(table, nul_terminated, strlen(nul_terminated));
}

void report_table_string(struct report_table *table, const struct lumos_strings *strings, uint32_t id) {
  report_table_text(table, lumos_string(strings, id), lumos_string_length(strings, id));
}

static const char *keep(struct report_table *table, const struct lumos_text *text) {
  if (table->texts == NULL) {
    table->texts = lumos_arena_new();
  }
  return lumos_arena_copy(table->texts, text->bytes == NULL ? "" : text->bytes, text->length);
}

void report_table_copy(struct report_table *table, struct lumos_text *text) {
  report_table_text(table, keep(table, text), text->length);
  text->length = 0;
}

void report_table_shown(struct report_table *table, struct lumos_text *html) {
  struct report_cell *cell = &table->cells.items[table->cells.count - 1];
  cell->shown = keep(table, html);
  cell->shown_length = html->length;
  html->length = 0;
}

size_t report_table_rows(const struct report_table *table) {
  return table->column_count == 0 ? 0 : table->cells.count / table->column_count;
}

int64_t report_table_value(const struct report_table *table, size_t row, size_t column) {
  return table->cells.items[row * table->column_count + column].value;
}

/* The rows that a page has room for. */
static size_t shown_rows(const struct report_table *table) {
  size_t rows = report_table_rows(table);
  return rows < REPORT_ROWS ? rows : REPORT_ROWS;
}

static int64_t left_out(const struct report_table *table) {
  return (int64_t)(report_table_rows(table) - shown_rows(table));
}

static const char *unit_of(enum report_column_kind kind) {
  switch (kind) {
    case COLUMN_MS:
      return "ms";
    case COLUMN_US:
      return "\xC2\xB5s";
    case COLUMN_SHARE:
    case COLUMN_BAR:
      return "%";
    case COLUMN_TFLOP:
      return "TFLOP";
    case COLUMN_TFLOPS:
      return "TFLOP/s";
    case COLUMN_GBS:
      return "GB/s";
    case COLUMN_NAME:
    case COLUMN_TEXT:
    case COLUMN_PAINT:
    case COLUMN_COUNT:
    case COLUMN_BYTES:
    case COLUMN_MEAN:
      break;
  }
  return NULL;
}

/* How many decimals a number of that kind has in the data. */
static int decimals_of(enum report_column_kind kind) {
  switch (kind) {
    case COLUMN_SHARE:
    case COLUMN_BAR:
      return 6;
    case COLUMN_MEAN:
    case COLUMN_TFLOP:
    case COLUMN_TFLOPS:
    case COLUMN_GBS:
      return 3;
    default:
      return 0;
  }
}

static bool is_text(enum report_column_kind kind) {
  return kind == COLUMN_NAME || kind == COLUMN_TEXT || kind == COLUMN_PAINT;
}

/* What is not known is said. A name alone may be empty: it is then the trace's. */
#define UNKNOWN "\xE2\x80\x93"
static bool is_unknown(const struct report_column *column, const struct report_cell *cell) {
  return column->kind == COLUMN_TEXT ? cell->length == 0 && cell->shown == NULL
                                     : !is_text(column->kind) && cell->value == LUMOS_ABSENT;
}

static void put_heading(const struct report_column *column, struct lumos_text *out) {
  lumos_text_put(out, is_text(column->kind) ? "<th scope=\"col\" class=\"text\">" : "<th scope=\"col\">");
  if (column->term != NULL) {
    lumos_text_format(out, "<a href=\"#term-%s\">%s</a>", column->term, column->heading);
  } else {
    lumos_text_put(out, column->heading);
  }
  if (unit_of(column->kind) != NULL) {
    lumos_text_format(out, " <small>%s</small>", unit_of(column->kind));
  }
  lumos_text_put(out, "</th>");
}

/* Three digits; whole numbers of more have all, whole numbers no decimals. */
static void put_thousandths(int64_t value, struct lumos_text *out) {
  int64_t size = value < 0 ? -value : value;
  int decimals = size % 1000 == 0 || size >= 99950 ? 0 : size >= 9995 ? 1 : size >= 1000 ? 2 : 3;
  report_put_fixed(out, value, 3, decimals);
}

static void put_percent(int64_t millionths, struct lumos_text *out) {
  if (millionths > 0 && millionths < 500) {
    lumos_text_put(out, "<0.1");
  } else {
    report_put_fixed(out, millionths, 4, 1);
  }
}

static void put_number(const struct report_column *column, int64_t value, struct lumos_text *out) {
  if (value == LUMOS_ABSENT) {
    lumos_text_put(out, UNKNOWN);
    return;
  }
  switch (column->kind) {
    case COLUMN_COUNT:
      report_put_count(out, value);
      break;
    case COLUMN_MS:
      report_put_fixed(out, value, 6, 3);
      break;
    case COLUMN_US:
      report_put_fixed(out, value, 3, 1);
      break;
    case COLUMN_BYTES:
      report_put_bytes(out, value);
      break;
    case COLUMN_SHARE:
    case COLUMN_BAR:
      put_percent(value, out);
      break;
    case COLUMN_MEAN:
    case COLUMN_TFLOP:
    case COLUMN_TFLOPS:
    case COLUMN_GBS:
      put_thousandths(value, out);
      break;
    case COLUMN_NAME:
    case COLUMN_TEXT:
    case COLUMN_PAINT:
      break;
  }
}

static void put_number_html(const struct report_column *column, int64_t value, struct lumos_text *out) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_number(column, value, &text);
  lumos_text_html(out, text.bytes, text.length);
  lumos_text_free(&text);
}

/* The largest number of a column; at least 0. */
static int64_t largest_of(const struct report_table *table, size_t column) {
  int64_t largest = 0;
  for (size_t row = 0; row < report_table_rows(table); row++) {
    int64_t value = report_table_value(table, row, column);
    largest = value > largest ? value : largest;
  }
  return largest;
}

/* A bar as long as the share is of the whole, in every table alike; of shares beyond that, beside the largest. */
static void open_bar(int64_t value, int64_t largest, struct lumos_text *out) {
  enum { WHOLE = 1000000 };
  int64_t length = report_share(value, largest > WHOLE ? largest : WHOLE);
  lumos_text_put(out, "<td class=\"bar\" style=\"--bar-length:");
  lumos_text_decimal(out, length < 0 ? 0 : length / 1000, 3);
  lumos_text_put(out, "\">");
}

static void put_text(const struct report_cell *cell, struct lumos_text *out) {
  if (cell->shown != NULL) {
    lumos_text_add(out, cell->shown, cell->shown_length);
  } else {
    report_put_name(out, cell->bytes, cell->length);
  }
}

static void put_cell(const struct report_column *column, const struct report_cell *cell, int64_t largest,
                     struct lumos_text *out) {
  switch (column->kind) {
    case COLUMN_NAME:
      lumos_text_put(out, "<th scope=\"row\" class=\"name\">");
      put_text(cell, out);
      lumos_text_put(out, "</th>");
      return;
    case COLUMN_TEXT:
      lumos_text_put(out, "<td class=\"text\">");
      if (is_unknown(column, cell)) {
        lumos_text_put(out, UNKNOWN);
      } else {
        put_text(cell, out);
      }
      break;
    case COLUMN_PAINT: {
      const struct report_paint_row *row = report_paint_row((enum report_paint)cell->value);
      lumos_text_format(out, "<td class=\"text swatch %s\">%s", row->css, row->label);
      break;
    }
    case COLUMN_BAR:
      open_bar(cell->value, largest, out);
      put_number_html(column, cell->value, out);
      break;
    case COLUMN_SHARE:
    case COLUMN_COUNT:
    case COLUMN_MS:
    case COLUMN_US:
    case COLUMN_BYTES:
    case COLUMN_MEAN:
    case COLUMN_TFLOP:
    case COLUMN_TFLOPS:
    case COLUMN_GBS:
      lumos_text_put(out, "<td>");
      put_number_html(column, cell->value, out);
      break;
  }
  lumos_text_put(out, "</td>");
}

static bool continues(const struct report_table *table, size_t row) {
  if (row == 0 || !table->grouped) {
    return false;
  }
  const struct report_cell *cell = &table->cells.items[row * table->column_count];
  const struct report_cell *above = cell - table->column_count;
  return cell->length == above->length && memcmp(cell->bytes, above->bytes, cell->length) == 0;
}

static void put_rows(const struct report_table *table, size_t first, size_t end, struct lumos_text *out) {
  int64_t largest[REPORT_COLUMNS] = {0};
  for (size_t column = 0; column < table->column_count; column++) {
    largest[column] = table->columns[column].kind == COLUMN_BAR ? largest_of(table, column) : 0;
  }
  lumos_text_put(out, "<thead><tr>");
  for (size_t column = 0; column < table->column_count; column++) {
    put_heading(&table->columns[column], out);
  }
  lumos_text_put(out, "</tr></thead>\n<tbody>\n");
  for (size_t row = first; row < end; row++) {
    lumos_text_put(out, row > first && continues(table, row) ? "<tr class=\"again\">" : "<tr>");
    for (size_t column = 0; column < table->column_count; column++) {
      put_cell(&table->columns[column], &table->cells.items[row * table->column_count + column], largest[column], out);
    }
    lumos_text_put(out, "</tr>\n");
  }
  lumos_text_put(out, "</tbody>");
}

/* How many rows stand open: not the first of a group alone. */
static size_t open_rows(const struct report_table *table) {
  size_t rows = shown_rows(table);
  size_t open = rows <= REPORT_OPEN_ROWS + REPORT_OPEN_ROWS / 4 ? rows : REPORT_OPEN_ROWS;
  while (open < rows && continues(table, open)) {
    open++;
  }
  return open;
}

/* The other rows, which the script joins to the table above. */
static void put_folded(const struct report_table *table, size_t open, struct lumos_text *out) {
  lumos_text_format(out, "<details class=\"more\" data-more=\"%s\"><summary>Show all ", table->name);
  report_put_count(out, (int64_t)shown_rows(table));
  lumos_text_format(out,
                    "</summary>\n<div class=\"scroll\" role=\"region\" tabindex=\"0\" "
                    "aria-labelledby=\"table-%s\"><table aria-describedby=\"table-%s\">",
                    table->name, table->name);
  put_rows(table, open, shown_rows(table), out);
  lumos_text_put(out, "</table></div>\n</details>\n");
}

static void put_paragraph(const char *class, const struct lumos_text *text, struct lumos_text *out) {
  if (text->length > 0) {
    lumos_text_format(out, "<p class=\"%s\">", class);
    lumos_text_html(out, text->bytes, text->length);
    lumos_text_put(out, "</p>\n");
  }
}

/* The caption stands outside the part that scrolls, so that it can be read on a narrow screen. */
void report_table_html(const struct report_table *table, struct lumos_text *out) {
  if (!table->told) {
    put_paragraph("finding", &table->finding, out);
  }
  lumos_text_format(out, "<p class=\"caption\" id=\"table-%s\">", table->name);
  lumos_text_html(out, table->caption.bytes, table->caption.length);
  lumos_text_put(out, "</p>\n");
  if (report_table_rows(table) == 0) {
    lumos_text_put(out, "<p class=\"rest\">Nothing of the kind was recorded.</p>\n");
    return;
  }
  lumos_text_format(out, "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-labelledby=\"table-%s\">",
                    table->name);
  lumos_text_format(out, "<table aria-labelledby=\"table-%s\">", table->name);
  size_t open = open_rows(table);
  put_rows(table, 0, open, out);
  lumos_text_put(out, "</table></div>\n");
  if (open < shown_rows(table)) {
    put_folded(table, open, out);
  }
  put_paragraph("rest", &table->rest, out);
  if (left_out(table) > 0) {
    lumos_text_put(out, "<p class=\"rest\">and ");
    report_put_count(out, left_out(table));
    lumos_text_put(out, " more rows: the stream that this page was made from has them all</p>\n");
  }
}

static void put_markdown_cell(const struct report_table *table, size_t row, size_t column, struct lumos_text *out) {
  enum { LONGEST = 90 };
  const struct report_cell *cell = &table->cells.items[row * table->column_count + column];
  const struct report_column *kind = &table->columns[column];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (kind->kind == COLUMN_PAINT) {
    lumos_text_put(&text, report_paint_row((enum report_paint)cell->value)->label);
  } else if (!is_text(kind->kind)) {
    put_number(kind, cell->value, &text);
  } else if (is_unknown(kind, cell)) {
    lumos_text_put(&text, UNKNOWN);
  } else if (column > 0 || !continues(table, row)) {
    report_put_cut(&text, cell->bytes, cell->length, LONGEST);
  }
  lumos_text_put(out, column == 0 ? "| " : " ");
  report_put_markdown(out, text.bytes, text.length);
  lumos_text_put(out, " |");
  lumos_text_free(&text);
}

static void put_markdown_head(const struct report_table *table, struct lumos_text *out) {
  for (size_t column = 0; column < table->column_count; column++) {
    const char *unit = unit_of(table->columns[column].kind);
    lumos_text_format(out, "%s %s%s%s |", column == 0 ? "|" : "", table->columns[column].heading,
                      unit != NULL ? ", " : "", unit != NULL ? unit : "");
  }
  lumos_text_char(out, '\n');
  for (size_t column = 0; column < table->column_count; column++) {
    lumos_text_put(out, column == 0 ? "|" : "");
    lumos_text_put(out, is_text(table->columns[column].kind) ? ":--|" : "--:|");
  }
  lumos_text_char(out, '\n');
}

static void put_markdown_line(const struct lumos_text *text, const char *after, struct lumos_text *out) {
  if (text->length > 0) {
    report_put_markdown(out, text->bytes, text->length);
    lumos_text_put(out, after);
  }
}

void report_table_markdown(const struct report_table *table, struct lumos_text *out) {
  enum { OPEN_ROWS = 8 };
  size_t rows = report_table_rows(table);
  size_t shown = rows < REPORT_MARKDOWN_ROWS ? rows : REPORT_MARKDOWN_ROWS;
  bool folded = rows > OPEN_ROWS;
  if (!table->told) {
    put_markdown_line(&table->finding, "\n\n", out);
  }
  if (folded) { /* inside mark-up of HTML there is no Markdown */
    lumos_text_put(out, "<details>\n<summary>");
    lumos_text_html(out, table->caption.bytes, table->caption.length);
    lumos_text_put(out, "</summary>\n\n");
  } else {
    put_markdown_line(&table->caption, "\n\n", out);
  }
  if (rows == 0) {
    lumos_text_put(out, "Nothing of the kind was recorded.\n");
    return;
  }
  put_markdown_head(table, out);
  for (size_t row = 0; row < shown; row++) {
    for (size_t column = 0; column < table->column_count; column++) {
      put_markdown_cell(table, row, column, out);
    }
    lumos_text_char(out, '\n');
  }
  lumos_text_put(out, table->rest.length > 0 ? "\n" : "");
  put_markdown_line(&table->rest, "\n", out);
  if (rows > shown) {
    lumos_text_put(out, "\nand ");
    report_put_counted(out, (int64_t)(rows - shown), "more row");
    lumos_text_put(out, ": the page has them\n");
  }
  lumos_text_put(out, folded ? "\n</details>\n" : "");
}

/* ---- For a terminal ---- */

/* The cell as it is shown, printable, and how many columns of a terminal it takes, a character each. */
static size_t put_plain_cell(const struct report_table *table, size_t row, size_t column, struct lumos_text *out) {
  enum { LONGEST = 64 };
  const struct report_cell *cell = &table->cells.items[row * table->column_count + column];
  const struct report_column *kind = &table->columns[column];
  size_t begin = out->length;
  if (kind->kind == COLUMN_PAINT) {
    lumos_text_put(out, report_paint_row((enum report_paint)cell->value)->label);
  } else if (!is_text(kind->kind)) {
    put_number(kind, cell->value, out);
  } else if (is_unknown(kind, cell)) {
    lumos_text_put(out, UNKNOWN);
  } else if (column > 0 || !continues(table, row)) {
    report_put_cut(out, cell->bytes, cell->length, LONGEST);
  }
  if (out->length > begin) {
    lumos_utf8_make_printable(out->bytes + begin, out->length - begin);
  }
  size_t width = 0;
  for (size_t i = begin; i < out->length; i++) {
    width += ((unsigned char)out->bytes[i] & 0xC0U) != 0x80U;
  }
  return width;
}

static size_t put_plain_heading(const struct report_column *column, struct lumos_text *out) {
  size_t begin = out->length;
  const char *unit = unit_of(column->kind);
  lumos_text_format(out, "%s%s%s", column->heading, unit != NULL ? ", " : "", unit != NULL ? unit : "");
  size_t width = 0;
  for (size_t i = begin; i < out->length; i++) {
    width += ((unsigned char)out->bytes[i] & 0xC0U) != 0x80U;
  }
  return width;
}

/* Texts stand at the left of their column, numbers at the right; nothing stands behind a line's last text. */
static void put_aligned(const struct report_table *table, size_t column, const struct lumos_text *cell, size_t width,
                        size_t widest, struct lumos_text *out) {
  bool left = is_text(table->columns[column].kind);
  bool last = column + 1 == table->column_count;
  lumos_text_put(out, "  ");
  for (size_t i = width; !left && i < widest; i++) {
    lumos_text_char(out, ' ');
  }
  lumos_text_add(out, cell->bytes, cell->length);
  for (size_t i = width; left && !last && i < widest; i++) {
    lumos_text_char(out, ' ');
  }
}

static void put_plain_line(const struct lumos_text *text, struct lumos_text *out) {
  if (text->length > 0) {
    size_t begin = out->length;
    lumos_text_add(out, text->bytes, text->length);
    lumos_utf8_make_printable(out->bytes + begin, out->length - begin);
    lumos_text_char(out, '\n');
  }
}

void report_table_plain(const struct report_table *table, struct lumos_text *out) {
  size_t rows = report_table_rows(table), widest[REPORT_COLUMNS] = {0};
  struct lumos_text cell = LUMOS_TEXT_BUFFER;
  put_plain_line(&table->finding, out);
  put_plain_line(&table->caption, out);
  for (size_t column = 0; column < table->column_count; column++) {
    cell.length = 0;
    widest[column] = put_plain_heading(&table->columns[column], &cell);
    for (size_t row = 0; row < rows; row++) {
      cell.length = 0;
      size_t width = put_plain_cell(table, row, column, &cell);
      widest[column] = width > widest[column] ? width : widest[column];
    }
  }
  for (size_t line = 0; rows > 0 && line <= rows; line++) {
    for (size_t column = 0; column < table->column_count; column++) {
      cell.length = 0;
      size_t width = line == 0 ? put_plain_heading(&table->columns[column], &cell)
                               : put_plain_cell(table, line - 1, column, &cell);
      put_aligned(table, column, &cell, width, widest[column], out);
    }
    lumos_text_char(out, '\n');
  }
  put_plain_line(&table->rest, out);
  lumos_text_free(&cell);
}

static void put_json_value(const struct report_column *column, const struct report_cell *cell, struct lumos_text *out) {
  if (column->kind == COLUMN_PAINT) {
    lumos_text_format(out, "\"%s\"", report_paint_row((enum report_paint)cell->value)->css);
  } else if (is_unknown(column, cell)) {
    lumos_text_put(out, "null");
  } else if (is_text(column->kind)) {
    struct lumos_text cut = LUMOS_TEXT_BUFFER;
    report_put_cut(&cut, cell->bytes, cell->length, REPORT_LONG);
    lumos_text_script_string(out, cut.bytes == NULL ? "" : cut.bytes, cut.length);
    lumos_text_free(&cut);
  } else {
    lumos_text_decimal(out, cell->value, decimals_of(column->kind));
  }
}

static void put_csv_value(const struct report_column *column, const struct report_cell *cell, struct lumos_text *out) {
  if (column->kind == COLUMN_PAINT) {
    lumos_text_put(out, report_paint_row((enum report_paint)cell->value)->css);
  } else if (is_text(column->kind)) {
    report_put_csv(out, cell->bytes, cell->length);
  } else if (!is_unknown(column, cell)) {
    put_json_value(column, cell, out);
  }
}

void report_table_csv(const struct report_table *table, struct lumos_text *out) {
  for (size_t column = 0; column < table->column_count; column++) {
    lumos_text_format(out, "%s%s", column == 0 ? "" : ",", table->columns[column].name);
  }
  lumos_text_char(out, '\n');
  for (size_t row = 0; row < report_table_rows(table); row++) {
    for (size_t column = 0; column < table->column_count; column++) {
      lumos_text_put(out, column == 0 ? "" : ",");
      put_csv_value(&table->columns[column], &table->cells.items[row * table->column_count + column], out);
    }
    lumos_text_char(out, '\n');
  }
}

static void put_json_text(const char *name, const struct lumos_text *text, struct lumos_text *out) {
  if (text->length > 0) {
    lumos_text_format(out, "\"%s\":", name);
    lumos_text_script_string(out, text->bytes, text->length);
    lumos_text_char(out, ',');
  }
}

void report_table_json(const struct report_table *table, struct lumos_text *out) {
  lumos_text_char(out, '{');
  put_json_text("finding", &table->finding, out);
  put_json_text("caption", &table->caption, out);
  if (table->whole != LUMOS_ABSENT) {
    lumos_text_format(out, "\"whole\":%" PRId64 ",", table->whole);
  }
  put_json_text("rest", &table->rest, out);
  if (left_out(table) > 0) {
    lumos_text_format(out, "\"left_out\":%" PRId64 ",", left_out(table));
  }
  lumos_text_put(out, "\"columns\":[");
  for (size_t column = 0; column < table->column_count; column++) {
    lumos_text_format(out, "%s\"%s\"", column == 0 ? "" : ",", table->columns[column].name);
  }
  lumos_text_put(out, "],\"rows\":[");
  for (size_t row = 0; row < shown_rows(table); row++) {
    lumos_text_put(out, row == 0 ? "[" : ",\n[");
    for (size_t column = 0; column < table->column_count; column++) {
      lumos_text_put(out, column == 0 ? "" : ",");
      put_json_value(&table->columns[column], &table->cells.items[row * table->column_count + column], out);
    }
    lumos_text_char(out, ']');
  }
  lumos_text_put(out, "]}");
}
