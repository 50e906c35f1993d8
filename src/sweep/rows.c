#include "sweep/rows.h"

#include "base/input.h"
#include "sweep/grid.h"
#include <cjson/cJSON.h>
#include <lumos/job.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT = 1 };

void sweep_rows_free(struct sweep_rows *rows) {
  for (size_t i = 0; i < rows->items.count; i++) {
    free(rows->items.items[i].axes);
    free(rows->items.items[i].why);
  }
  lumos_vector_free(&rows->items);
  free(rows->grid);
  rows->grid = NULL;
}

char *sweep_copy(const char *text) {
  char *copy = lumos_allocate(strlen(text) + 1);
  memcpy(copy, text, strlen(text) + 1);
  return copy;
}

/* ---- Order ---- */

/* Time in the units in which configurations are compared: of a token on a GPU, or of a step. */
static double cost(const struct sweep_row *row, int64_t step) {
  return row->rate != LUMOS_ABSENT ? (double)step / ((double)row->step * (double)row->rate) : (double)step;
}

bool sweep_row_is_too_large(const struct sweep_row *row) {
  return row->memory != LUMOS_ABSENT && row->capacity != LUMOS_ABSENT && row->memory > row->capacity;
}

double sweep_row_least(const struct sweep_row *row) {
  return row->least == LUMOS_ABSENT       ? -INFINITY
         : row->most_rate != LUMOS_ABSENT ? 1 / (double)row->most_rate
                                          : (double)row->least;
}

double sweep_row_most(const struct sweep_row *row) {
  bool counts = row->predicted && !sweep_row_is_too_large(row);
  return counts ? cost(row, row->high != LUMOS_ABSENT ? row->high : row->step) : INFINITY;
}

bool sweep_row_exceeds(const struct sweep_row *row, double most) { return sweep_row_least(row) > most; }

/* Times of a step and those of a token cannot be compared. */
static bool is_comparable(const struct sweep_row *row, bool rated) {
  return row->least != LUMOS_ABSENT && (row->most_rate != LUMOS_ABSENT) == rated;
}

void sweep_rows_skip(struct sweep_rows *rows) {
  double most = INFINITY;
  bool rated = false;
  for (size_t i = 0; i < rows->items.count; i++) {
    most = fmin(most, sweep_row_most(&rows->items.items[i]));
    rated = rated || (rows->items.items[i].predicted && rows->items.items[i].rate != LUMOS_ABSENT);
  }
  for (size_t i = 0; i < rows->items.count; i++) {
    struct sweep_row *row = &rows->items.items[i];
    bool holds = !row->predicted || row->step >= row->least; /* a bound that does not hold skips nothing */
    row->skipped = row->skipped || (holds && is_comparable(row, rated) && sweep_row_exceeds(row, most));
    row->predicted = row->predicted && !row->skipped;
  }
}

/* Behind which others a row always stands. */
static int rank_of(const struct sweep_row *row) {
  return row->predicted ? sweep_row_is_too_large(row) : row->skipped ? 2 : 3;
}

static double worth_of(const struct sweep_row *row) {
  return row->predicted ? cost(row, row->step) : row->skipped ? sweep_row_least(row) : 0;
}

static int by_worth(const void *left, const void *right) {
  const struct sweep_row *a = left, *b = right;
  if (rank_of(a) != rank_of(b)) {
    return LUMOS_ORDER(rank_of(a), rank_of(b));
  }
  double one = worth_of(a), other = worth_of(b);
  return one < other ? -1 : one > other ? 1 : LUMOS_ORDER(a->number, b->number);
}

void sweep_rows_sort(struct sweep_rows *rows) { lumos_vector_sort(&rows->items, by_worth); }

size_t sweep_rows_predicted(const struct sweep_rows *rows) {
  size_t count = 0;
  while (count < rows->items.count && rows->items.items[count].predicted) {
    count++;
  }
  return count;
}

size_t sweep_rows_skipped(const struct sweep_rows *rows) {
  size_t count = 0;
  for (size_t i = 0; i < rows->items.count; i++) {
    count += rows->items.items[i].skipped;
  }
  return count;
}

bool sweep_row_could_be_best(const struct sweep_rows *rows, size_t at) {
  const struct sweep_row *row = &rows->items.items[at], *best = &rows->items.items[0];
  bool known = row->low != LUMOS_ABSENT && best->high != LUMOS_ABSENT && rank_of(row) == rank_of(best);
  return !sweep_row_is_too_large(row) && (at == 0 || (known && cost(row, row->low) <= cost(best, best->high)));
}

/* ---- Lines out ---- */

static void put_integer(struct lumos_text *out, const char *name, int64_t value) {
  if (value != LUMOS_ABSENT) {
    lumos_text_format(out, ",\"%s\":%lld", name, (long long)value);
  }
}

static void put_decimal(struct lumos_text *out, const char *name, int64_t units, int decimals) {
  if (units != LUMOS_ABSENT) {
    lumos_text_format(out, ",\"%s\":", name);
    lumos_text_decimal(out, units, decimals);
  }
}

static void put_least(struct lumos_text *out, const struct sweep_row *row) {
  put_integer(out, "at_least", row->least);
  put_decimal(out, "tokens_per_second_per_gpu_at_most", row->most_rate, 3);
}

static void put_row(const struct sweep_rows *rows, size_t at, struct lumos_text *out) {
  const struct sweep_row *row = &rows->items.items[at];
  if (row->skipped) {
    lumos_text_format(out, "{\"type\":\"skipped\",\"number\":%lld,%s", (long long)row->number, row->axes);
    put_least(out, row);
    lumos_text_put(out, "}\n");
    return;
  }
  if (!row->predicted) {
    lumos_text_format(out, "{\"type\":\"refused\",\"number\":%lld,%s,\"why\":", (long long)row->number, row->axes);
    lumos_text_json_string(out, row->why, strlen(row->why));
    put_least(out, row);
    lumos_text_put(out, "}\n");
    return;
  }
  lumos_text_format(out, "{\"type\":\"configuration\",\"place\":%zu,\"number\":%lld,%s", at + 1, (long long)row->number,
                    row->axes);
  put_integer(out, "step_time", row->step);
  put_integer(out, "low", row->low);
  put_integer(out, "high", row->high);
  put_decimal(out, "tokens_per_second_per_gpu", row->rate, 3);
  put_least(out, row);
  put_decimal(out, "mfu", row->mfu, 6);
  put_decimal(out, "bubble", row->bubble, 6);
  put_integer(out, "memory", row->memory);
  put_integer(out, "memory_capacity", row->capacity);
  if (row->memory != LUMOS_ABSENT && row->capacity != LUMOS_ABSENT) {
    lumos_text_format(out, ",\"fits\":%s", sweep_row_is_too_large(row) ? "false" : "true");
  }
  lumos_text_format(out, ",\"could_be_best\":%s}\n", sweep_row_could_be_best(rows, at) ? "true" : "false");
}

void sweep_rows_put(const struct sweep_rows *rows, struct lumos_text *out) {
  size_t predicted = sweep_rows_predicted(rows);
  lumos_text_format(out, "{\"type\":\"sweep\",\"format\":%d,\"grid\":", FORMAT);
  lumos_text_json_string(out, rows->grid, strlen(rows->grid));
  put_integer(out, "gpus", rows->gpus);
  if (rows->parts > 1) {
    lumos_text_format(out, ",\"part\":%lld,\"parts\":%lld", (long long)rows->part, (long long)rows->parts);
  }
  put_integer(out, "configurations", rows->configurations);
  size_t skipped = sweep_rows_skipped(rows);
  lumos_text_format(out, ",\"predicted\":%zu,\"skipped\":%zu,\"refused\":%zu}\n", predicted, skipped,
                    rows->items.count - predicted - skipped);
  for (size_t i = 0; i < rows->items.count; i++) {
    put_row(rows, i, out);
  }
}

/* ---- Lines in ---- */

/* A number with so many decimals, in units of the last; LUMOS_ABSENT: there is none, or none that can be. */
static int64_t number_of(const cJSON *object, const char *name, double units) {
  static const double MOST = 9007199254740992.0; /* from here on doubles skip whole numbers */
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
  double value = cJSON_IsNumber(member) ? member->valuedouble * units : NAN;
  return value >= 0 && value < MOST ? llround(value) : LUMOS_ABSENT;
}

static const char *text_of(const cJSON *object, const char *name) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
  return text == NULL ? "" : text;
}

/* An object, of no more members than a line can have, and none twice. */
static bool has_each_once(const cJSON *line) {
  enum { MOST_MEMBERS = 64 };
  int count = 0;
  if (!cJSON_IsObject(line)) {
    return false;
  }
  for (const cJSON *member = line->child; member != NULL; member = member->next) {
    for (const cJSON *other = line->child; other != member; other = other->next) {
      if (strcmp(other->string, member->string) == 0) {
        return false;
      }
    }
    if (++count == MOST_MEMBERS) {
      return false;
    }
  }
  return true;
}

/* As sweep.c writes it. */
static bool is_axis(const char *name) {
  for (int axis = 0; axis < SWEEP_AXES; axis++) {
    const char *own = sweep_axis_name((enum sweep_axis)axis), *at = name;
    for (; *own != '\0' && *at == (*own == '-' ? '_' : *own); own++) {
      at++;
    }
    if (*own == '\0' && *at == '\0') {
      return true;
    }
  }
  return strcmp(name, "gpus") == 0;
}

/* What stands between the number and the figures: names and values of the grid. False: something else does. */
static bool read_axes(const cJSON *line, struct lumos_text *axes) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(line, "number");
  for (member = member == NULL ? NULL : member->next; member != NULL; member = member->next) {
    if (strcmp(member->string, "step_time") == 0 || strcmp(member->string, "at_least") == 0 ||
        strcmp(member->string, "why") == 0) {
      return axes->length > 0;
    }
    if (!is_axis(member->string)) {
      return false;
    }
    lumos_text_put(axes, axes->length > 0 ? "," : "");
    lumos_text_json_string(axes, member->string, strlen(member->string));
    lumos_text_char(axes, ':');
    if (cJSON_IsString(member)) {
      lumos_text_json_string(axes, member->valuestring, strlen(member->valuestring));
    } else if (cJSON_IsNumber(member) && fabs(member->valuedouble) < 1e15) {
      lumos_text_integer(axes, llround(member->valuedouble));
    } else {
      return false;
    }
  }
  return false;
}

static bool read_row(struct sweep_rows *rows, const cJSON *line) {
  const char *type = text_of(line, "type");
  bool predicted = strcmp(type, "configuration") == 0, skipped = strcmp(type, "skipped") == 0;
  struct lumos_text axes = LUMOS_TEXT_BUFFER;
  struct sweep_row row = {.predicted = predicted,
                          .skipped = skipped,
                          .least = number_of(line, "at_least", 1),
                          .most_rate = number_of(line, "tokens_per_second_per_gpu_at_most", 1000),
                          .number = number_of(line, "number", 1),
                          .step = number_of(line, "step_time", 1),
                          .low = number_of(line, "low", 1),
                          .high = number_of(line, "high", 1),
                          .rate = number_of(line, "tokens_per_second_per_gpu", 1000),
                          .mfu = number_of(line, "mfu", 1000000),
                          .bubble = number_of(line, "bubble", 1000000),
                          .memory = number_of(line, "memory", 1),
                          .capacity = number_of(line, "memory_capacity", 1)};
  bool good = has_each_once(line) && (predicted || skipped || strcmp(type, "refused") == 0) && row.number > 0 &&
              row.number <= rows->configurations && (!predicted || (row.step > 0 && row.rate != 0)) &&
              (!skipped || row.least != LUMOS_ABSENT) && row.most_rate != 0 &&
              (row.low == LUMOS_ABSENT) == (row.high == LUMOS_ABSENT) && read_axes(line, &axes);
  if (good) {
    lumos_text_char(&axes, '\0');
    row.axes = sweep_copy(axes.bytes);
    row.why = predicted || skipped ? NULL : sweep_copy(text_of(line, "why"));
    lumos_vector_push(&rows->items, row);
  }
  lumos_text_free(&axes);
  return good;
}

static bool read_head(struct sweep_rows *rows, const cJSON *line, struct lumos_error *error) {
  const char *grid = text_of(line, "grid");
  int64_t gpus = number_of(line, "gpus", 1), configurations = number_of(line, "configurations", 1);
  if (!has_each_once(line) || strcmp(text_of(line, "type"), "sweep") != 0 || number_of(line, "format", 1) != FORMAT ||
      !cJSON_IsString(cJSON_GetObjectItemCaseSensitive(line, "grid")) || configurations < 1) {
    return lumos_fail(error, "is not a sweep; write one with lumos-sim --sweep GRID -o FILE");
  }
  if (rows->grid == NULL) {
    rows->grid = sweep_copy(grid);
    rows->gpus = gpus;
    rows->configurations = configurations;
    rows->part = rows->parts = 1;
  }
  return (strcmp(rows->grid, grid) == 0 && rows->gpus == gpus && rows->configurations == configurations) ||
         lumos_fail(error, "is of another sweep, of '%.200s'; join parts of one", grid);
}

static bool read_lines(struct sweep_rows *rows, const char *text, struct lumos_error *error) {
  bool head = true;
  int64_t number = 1;
  for (const char *at = text; *at != '\0'; number++) {
    size_t length = strcspn(at, "\n");
    cJSON *line = cJSON_ParseWithLength(at, length);
    bool begins =
        head || strcmp(text_of(line, "type"), "sweep") == 0; /* parts may come one behind the other, as of cat */
    bool good = begins ? read_head(rows, line, error)
                       : read_row(rows, line) ||
                             lumos_fail(error, "line %lld: is not a configuration of a sweep", (long long)number);
    cJSON_Delete(line);
    if (!good) {
      return false;
    }
    head = false;
    at += length + (at[length] == '\n');
  }
  return !head || lumos_fail(error, "is empty; write a sweep with lumos-sim --sweep GRID -o FILE");
}

bool sweep_rows_read(struct sweep_rows *rows, const char *path, struct lumos_error *error) {
  enum { LIMIT = 1 << 28 }; /* bytes */
  size_t length = 0;
  char *text = lumos_input_slurp(path, LIMIT, &length, error);
  bool good = text != NULL && read_lines(rows, text, error);
  if (text != NULL && !good) {
    (void)lumos_fail_prefix(error, strcmp(path, "-") == 0 ? "standard input" : path);
  }
  free(text);
  return good;
}

static int by_number(const void *left, const void *right) {
  const struct sweep_row *a = left, *b = right;
  return LUMOS_ORDER(a->number, b->number);
}

bool sweep_rows_whole(struct sweep_rows *rows, struct lumos_error *error) {
  lumos_vector_sort(&rows->items, by_number);
  for (size_t i = 0; i < rows->items.count; i++) {
    int64_t number = rows->items.items[i].number;
    if (number < (int64_t)i + 1) {
      return lumos_fail(error, "configuration %lld is there twice; give each part once", (long long)number);
    }
    if (number > (int64_t)i + 1) {
      return lumos_fail(error, "configuration %zu of %lld is missing; add the part that has it", i + 1,
                        (long long)rows->configurations);
    }
  }
  return (int64_t)rows->items.count == rows->configurations ||
         lumos_fail(error, "configuration %zu of %lld is missing; add the part that has it", rows->items.count + 1,
                    (long long)rows->configurations);
}
