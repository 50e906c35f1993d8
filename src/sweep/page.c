/* Parts are written into the model, and templates/sweep.html puts them in their places. */
#include "sweep/page.h"

#include "base/ascii.h"
#include "report/content/table.h"
#include "report/draw/look.h"
#include "report/draw/ticks.h"
#include "report/forms/page_parts.h"
#include "report/text/numbers.h"
#include <cjson/cJSON.h>
#include <lumos/job.h>
#include <math.h>
#include <string.h>

enum { SHOWN = 20 }; /* configurations in the picture */

/* ---- Words ---- */

static cJSON *members_of(const struct sweep_row *row) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "{%s}", row->axes);
  lumos_text_char(&text, '\0');
  cJSON *members = cJSON_Parse(text.bytes);
  lumos_text_free(&text);
  return members;
}

/* What is the same of all configurations, or follows from the others. */
static bool says_nothing(const char *name) { return strcmp(name, "gpus") == 0 || strcmp(name, "global_batch") == 0; }

/* "pp" is "PP"; "micro_batch" is "micro-batch" */
static void put_name(const char *name, struct lumos_text *out) {
  bool axis = strlen(name) == 2;
  for (; *name != '\0'; name++) {
    char byte = *name;
    if (axis) {
      byte = lumos_ascii_upper(byte);
    } else if (byte == '_') {
      byte = '-';
    }
    lumos_text_char(out, byte);
  }
}

/* "PP 2, DP 4, zb-h1, micro-batch 8" */
static void put_label(const struct sweep_row *row, struct lumos_text *out) {
  cJSON *members = members_of(row);
  const cJSON *member = NULL;
  size_t before = out->length;
  cJSON_ArrayForEach(member, members) {
    if (says_nothing(member->string)) {
      continue;
    }
    lumos_text_put(out, out->length > before ? ", " : "");
    bool word = cJSON_IsString(member) && strcmp(member->string, "schedule") == 0;
    put_name(word ? "" : member->string, out);
    lumos_text_put(out, word ? "" : " ");
    if (cJSON_IsString(member)) {
      lumos_text_put(out, member->valuestring);
    } else {
      lumos_text_integer(out, llround(member->valuedouble));
    }
  }
  lumos_text_put(out, out->length == before ? "as recorded" : "");
  cJSON_Delete(members);
}

static int64_t member_of(const struct sweep_row *row, const char *name) {
  cJSON *members = members_of(row);
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(members, name);
  int64_t value = cJSON_IsNumber(member) ? llround(member->valuedouble) : LUMOS_ABSENT;
  cJSON_Delete(members);
  return value;
}

static void put_rate(int64_t rate, struct lumos_text *out) {
  enum { THOUSAND = 1000 };
  report_put_count(out, (rate + THOUSAND / 2) / THOUSAND);
  lumos_text_put(out, "\xC2\xA0tokens/s per GPU");
}

static size_t count_rivals(const struct sweep_rows *rows) {
  size_t count = 0;
  for (size_t i = 1; i < sweep_rows_predicted(rows); i++) {
    count += sweep_row_could_be_best(rows, i);
  }
  return count;
}

static void put_verdict(const struct sweep_rows *rows, struct lumos_text *out) {
  size_t predicted = sweep_rows_predicted(rows), rivals = count_rivals(rows);
  if (predicted == 0) {
    lumos_text_put(out, "None of the configurations can be predicted");
    return;
  }
  const struct sweep_row *best = &rows->items.items[0];
  bool fits = !sweep_row_is_too_large(best);
  lumos_text_format(
      out, fits ? "Of %zu configurations, " : "None of %zu configurations fits in the GPUs\xE2\x80\x99 memory; ",
      predicted + (fits ? sweep_rows_skipped(rows) : 0));
  put_label(best, out);
  lumos_text_put(out, fits ? " is predicted to be best: a step takes " : " would be the fastest: a step would take ");
  report_put_time(out, best->step);
  if (best->rate != LUMOS_ABSENT) {
    lumos_text_put(out, ", for ");
    put_rate(best->rate, out);
  }
  lumos_text_put(out, !fits         ? "."
                      : rivals == 0 ? ". No other one reaches it within its range."
                                    : ". Within their ranges ");
  if (fits && rivals > 0) {
    report_put_counted(out, (int64_t)rivals, "other one");
    lumos_text_put(out, " could be as good.");
  }
}

/* ---- The picture ---- */

/* Tenths of a pixel. */
enum { BAR = 160, ROW_GAP = 90, TOP = 20, TICK = 80, WIDTH = 11800, LABELS = 4600, FIGURES = 2600 };

/* How good: tokens a second and GPU, or else steps a day, so that longer is better; `step`: instead of the row's
 * own. */
static double worth(const struct sweep_row *row, int64_t step) {
  double slower = (double)row->step / (double)step;
  return (row->rate != LUMOS_ABSENT ? (double)row->rate : 1e15 / (double)row->step) * slower;
}

static int32_t along(double value, double most) {
  double share = value <= 0 ? 0 : value < most ? value / most : 1;
  return (int32_t)lround(share * (WIDTH - LABELS - FIGURES));
}

static void draw_row(const struct sweep_rows *rows, size_t at, double most, int32_t y, struct report_scene *scene) {
  const struct sweep_row *row = &rows->items.items[at];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int32_t end = LABELS + along(worth(row, row->step), most);
  put_label(row, &text);
  report_scene_text(scene, STYLE_PLAIN, PAINT_TEXT, ANCHOR_END, LABELS - 80, y + BAR - 38, &text);
  report_scene_box(scene, sweep_row_could_be_best(rows, at) ? report_paint_of_kind(LUMOS_GEMM) : PAINT_NONE, LABELS, y,
                   end > LABELS + 10 ? end - LABELS : 10, BAR);
  lumos_text_put(&text, ": a step takes ");
  report_put_time(&text, row->step);
  if (row->low != LUMOS_ABSENT) {
    lumos_text_put(&text, " (");
    report_put_time_range(&text, row->low, row->high);
    lumos_text_put(&text, ")");
  }
  report_scene_tooltip(scene, &text);
  if (row->low != LUMOS_ABSENT && row->low > 0) {
    int32_t low = LABELS + along(worth(row, row->high), most), high = LABELS + along(worth(row, row->low), most);
    int32_t middle = y + BAR + TICK / 2;
    report_scene_line(scene, PAINT_TEXT, low, middle, high - low, 0, STROKE_SOLID);
    report_scene_line(scene, PAINT_TEXT, low, middle - TICK / 2, 0, TICK, STROKE_SOLID);
    report_scene_line(scene, PAINT_TEXT, high, middle - TICK / 2, 0, TICK, STROKE_SOLID);
    end = high > end ? high : end;
  }
  text.length = 0;
  report_put_time(&text, row->step);
  report_scene_text(scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, end + 80, y + BAR - 38, &text);
  if (row->rate != LUMOS_ABSENT) {
    int32_t behind = report_text_width(STYLE_STRONG, text.bytes, text.length) + 60;
    text.length = 0;
    report_put_count(&text, (row->rate + 500) / 1000);
    lumos_text_put(&text, " tokens/s");
    report_scene_text(scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, end + 80 + behind, y + BAR - 38, &text);
  }
  lumos_text_free(&text);
}

static void draw(const struct sweep_rows *rows, struct report_scene *scene) {
  size_t predicted = sweep_rows_predicted(rows);
  double most = 1;
  int32_t y = TOP;
  report_scene_begin(scene, "sweep", WIDTH);
  for (size_t i = 0; i < predicted && i < SHOWN; i++) {
    const struct sweep_row *row = &rows->items.items[i];
    most = fmax(most, worth(row, row->low != LUMOS_ABSENT && row->low > 0 ? row->low : row->step));
  }
  for (size_t i = 0; i < predicted && i < SHOWN; i++) {
    draw_row(rows, i, most, y, scene);
    y += BAR + ROW_GAP;
  }
  scene->height = y;
  lumos_text_put(&scene->title, "The best configurations");
  lumos_text_put(&scene->description,
                 "A bar for each configuration, the best first: the longer, the better. A line "
                 "below the bar spans the range. The table below the picture holds the same numbers.");
}

/* ---- Time against memory ---- */

enum {
  CLOUD_HEIGHT = 3600,
  CLOUD_LEFT = 1300,
  CLOUD_RIGHT = 400,
  CLOUD_TOP = 300,
  CLOUD_BOTTOM = 700,
  POINT = 70,
  LONGEST_FRONTIER = 64
};

struct cloud {
  const struct sweep_rows *rows;
  struct report_scene *scene;
  double most_memory, least_step, most_step;
};

/* Bytes to the right, the step's time upwards. */
static struct report_point point_of(const struct cloud *cloud, const struct sweep_row *row) {
  double right = (double)row->memory / cloud->most_memory;
  double span = cloud->most_step - cloud->least_step;
  double up = span > 0 ? ((double)row->step - cloud->least_step) / span : 0.5;
  return (struct report_point){CLOUD_LEFT + (int32_t)lround(right * (WIDTH - CLOUD_LEFT - CLOUD_RIGHT)),
                               CLOUD_TOP + (int32_t)lround((1 - up) * (CLOUD_HEIGHT - CLOUD_TOP - CLOUD_BOTTOM))};
}

/* Of predicted configurations with a known memory. False: fewer than two have one. */
static bool measure_cloud(struct cloud *cloud) {
  size_t known = 0;
  cloud->least_step = INFINITY;
  for (size_t i = 0; i < sweep_rows_predicted(cloud->rows); i++) {
    const struct sweep_row *row = &cloud->rows->items.items[i];
    if (row->memory != LUMOS_ABSENT && row->memory > 0) {
      known++;
      cloud->most_memory = fmax(cloud->most_memory, (double)row->memory);
      cloud->least_step = fmin(cloud->least_step, (double)row->step);
      cloud->most_step = fmax(cloud->most_step, (double)row->step);
    }
  }
  cloud->most_memory *= 1.05;
  return known > 1;
}

static void draw_point(const struct cloud *cloud, size_t at) {
  const struct sweep_row *row = &cloud->rows->items.items[at];
  struct report_point point = point_of(cloud, row);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  enum report_paint paint = sweep_row_is_too_large(row)                ? PAINT_IDLE
                            : sweep_row_could_be_best(cloud->rows, at) ? report_paint_of_kind(LUMOS_GEMM)
                                                                       : PAINT_NONE;
  report_scene_box(cloud->scene, paint, point.x - POINT, point.y - POINT, 2 * POINT, 2 * POINT);
  put_label(row, &text);
  lumos_text_put(&text, ": ");
  report_put_time(&text, row->step);
  lumos_text_put(&text, ", ");
  report_put_bytes(&text, row->memory);
  lumos_text_put(&text, sweep_row_is_too_large(row) ? ", which does not fit" : "");
  report_scene_tooltip(cloud->scene, &text);
  lumos_text_free(&text);
}

static int by_memory(const void *left, const void *right, void *context) {
  const struct sweep_rows *rows = context;
  const struct sweep_row *a = &rows->items.items[*(const uint32_t *)left];
  const struct sweep_row *b = &rows->items.items[*(const uint32_t *)right];
  return a->memory != b->memory ? LUMOS_ORDER(a->memory, b->memory) : LUMOS_ORDER(a->step, b->step);
}

/* Through those to which no other has both less memory and a shorter step, each with its place. */
static void draw_frontier(const struct cloud *cloud) {
  LUMOS_VECTOR(uint32_t) order = {0};
  struct report_point points[LONGEST_FRONTIER];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  size_t count = 0;
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < sweep_rows_predicted(cloud->rows); i++) {
    if (cloud->rows->items.items[i].memory != LUMOS_ABSENT) {
      lumos_vector_push(&order, (uint32_t)i);
    }
  }
  lumos_vector_sort_by(&order, by_memory, (void *)(uintptr_t)cloud->rows);
  for (size_t i = 0; i < order.count && count < LONGEST_FRONTIER; i++) {
    const struct sweep_row *row = &cloud->rows->items.items[order.items[i]];
    if (row->step < least) {
      least = row->step;
      points[count] = point_of(cloud, row);
      text.length = 0;
      lumos_text_format(&text, "%zu", (size_t)order.items[i] + 1);
      report_scene_text(cloud->scene, STYLE_SMALL, PAINT_TEXT, ANCHOR_END, points[count].x - POINT - 40,
                        points[count].y + POINT + 100, &text);
      count++;
    }
  }
  if (count > 1) {
    report_scene_polyline(cloud->scene, PAINT_MUTED, STROKE_DASHED, false, points, count);
  }
  lumos_text_free(&text);
  lumos_vector_free(&order);
}

static void draw_axes(const struct cloud *cloud) {
  int32_t bottom = CLOUD_HEIGHT - CLOUD_BOTTOM + 2 * POINT, left = CLOUD_LEFT;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_scene_line(cloud->scene, PAINT_RULE, left, bottom, WIDTH - CLOUD_RIGHT - left, 0, STROKE_SOLID);
  int64_t distance = report_tick_distance((int64_t)cloud->most_memory);
  for (int64_t at = 0; distance > 0 && (double)at < cloud->most_memory; at += distance) {
    int32_t x = left + (int32_t)lround((double)at / cloud->most_memory * (WIDTH - CLOUD_LEFT - CLOUD_RIGHT));
    report_scene_line(cloud->scene, PAINT_RULE, x, bottom, 0, 60, STROKE_SOLID);
    text.length = 0;
    report_put_bytes(&text, at);
    report_scene_text(cloud->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_MIDDLE, x, bottom + 210, &text);
  }
  double span = cloud->most_step - cloud->least_step;
  distance = 2 * report_tick_distance((int64_t)span);
  int64_t first = distance > 0 ? ((int64_t)cloud->least_step + distance - 1) / distance * distance : 0;
  for (int64_t at = first; distance > 0 && (double)at <= cloud->most_step; at += distance) {
    const struct sweep_row of = {.memory = 0, .step = at};
    struct report_point point = point_of(cloud, &of);
    report_scene_line(cloud->scene, PAINT_RULE, left, point.y, WIDTH - CLOUD_RIGHT - left, 0, STROKE_DOTTED);
    text.length = 0;
    report_put_time(&text, at);
    report_scene_text(cloud->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, left - 80, point.y + 35, &text);
  }
  lumos_text_free(&text);
}

/* False: there is nothing to draw. */
static bool draw_cloud(const struct sweep_rows *rows, struct report_scene *scene) {
  struct cloud cloud = {.rows = rows, .scene = scene};
  if (!measure_cloud(&cloud)) {
    return false;
  }
  report_scene_begin(scene, "memory", WIDTH);
  scene->height = CLOUD_HEIGHT;
  draw_axes(&cloud);
  draw_frontier(&cloud);
  for (size_t i = 0; i < sweep_rows_predicted(rows); i++) {
    if (rows->items.items[i].memory != LUMOS_ABSENT) {
      draw_point(&cloud, i);
    }
  }
  lumos_text_put(&scene->title, "Step time against memory");
  lumos_text_put(&scene->description,
                 "A box for each configuration: to the right the memory that a GPU needs, upwards how long a step "
                 "takes. A line joins those to which no other has both a shorter step and less memory, with their "
                 "places. The table holds the same numbers.");
  return true;
}

/* ---- Tables ---- */

static void put_text(struct report_table *table, struct lumos_text *text) { report_table_copy(table, text); }

static void list_predicted(const struct sweep_rows *rows, struct report_table *table) {
  static const struct report_column columns[] = {
      {"place", "place", NULL, COLUMN_COUNT},
      {"configuration", "configuration", NULL, COLUMN_TEXT},
      {"gpus", "GPUs", NULL, COLUMN_COUNT},
      {"global_batch", "sequences in a step", NULL, COLUMN_COUNT},
      {"step", "step", NULL, COLUMN_MS},
      {"low", "low", NULL, COLUMN_MS},
      {"high", "high", NULL, COLUMN_MS},
      {"tokens_per_second", "tokens/s per GPU", NULL, COLUMN_COUNT},
      {"mfu", "MFU", NULL, COLUMN_SHARE},
      {"bubble", "bubble", NULL, COLUMN_SHARE},
      {"memory", "memory of a GPU", NULL, COLUMN_BYTES},
      {"fits", "fits", NULL, COLUMN_TEXT},
      {"could_be_best", "could be best", NULL, COLUMN_TEXT},
  };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_begin(table, "configurations", columns, sizeof columns / sizeof *columns);
  for (size_t i = 0; i < sweep_rows_predicted(rows); i++) {
    const struct sweep_row *row = &rows->items.items[i];
    report_table_number(table, (int64_t)i + 1);
    put_label(row, &text);
    put_text(table, &text);
    report_table_number(table, member_of(row, "gpus"));
    report_table_number(table, member_of(row, "global_batch"));
    report_table_number(table, row->step);
    report_table_number(table, row->low);
    report_table_number(table, row->high);
    report_table_number(table, row->rate == LUMOS_ABSENT ? LUMOS_ABSENT : (row->rate + 500) / 1000);
    report_table_number(table, row->mfu);
    report_table_number(table, row->bubble);
    report_table_number(table, row->memory);
    report_table_word(table, row->memory == LUMOS_ABSENT || row->capacity == LUMOS_ABSENT ? "\xE2\x80\x93"
                             : sweep_row_is_too_large(row)                                ? "no"
                                                                                          : "yes");
    report_table_word(table, sweep_row_could_be_best(rows, i) ? "yes" : "no");
  }
  lumos_text_free(&text);
  lumos_text_put(&table->caption,
                 "Predicted times of a step with their 90 % range. A configuration could be best where its range "
                 "reaches that of the first. MFU is of the GPUs\xE2\x80\x99 peak, the bubble of the step. "
                 "Memory is the most that is allocated at once on the GPU that has least left.");
}

static void list_skipped(const struct sweep_rows *rows, struct report_table *table) {
  static const struct report_column columns[] = {
      {"configuration", "configuration", NULL, COLUMN_TEXT},
      {"gpus", "GPUs", NULL, COLUMN_COUNT},
      {"at_least", "step at least", NULL, COLUMN_MS},
      {"tokens_per_second_at_most", "tokens/s per GPU at most", NULL, COLUMN_COUNT},
  };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  size_t first = sweep_rows_predicted(rows);
  report_table_begin(table, "skipped", columns, sizeof columns / sizeof *columns);
  for (size_t i = first; i < first + sweep_rows_skipped(rows); i++) {
    const struct sweep_row *row = &rows->items.items[i];
    put_label(row, &text);
    put_text(table, &text);
    report_table_number(table, member_of(row, "gpus"));
    report_table_number(table, row->least);
    report_table_number(table, row->most_rate == LUMOS_ABSENT ? LUMOS_ABSENT : (row->most_rate + 500) / 1000);
  }
  lumos_text_free(&text);
  lumos_text_put(&table->caption,
                 "Configurations that were not predicted: what a GPU computes, and waits for in its pipeline, or what "
                 "a thread does, "
                 "takes more time than one that was predicted takes at the upper end of its range. --all predicts "
                 "them, too.");
}

static void list_refused(const struct sweep_rows *rows, struct report_table *table) {
  static const struct report_column columns[] = {
      {"configuration", "configuration", NULL, COLUMN_TEXT},
      {"why", "why not", NULL, COLUMN_NAME},
  };
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_begin(table, "refused", columns, sizeof columns / sizeof *columns);
  for (size_t i = sweep_rows_predicted(rows) + sweep_rows_skipped(rows); i < rows->items.count; i++) {
    put_label(&rows->items.items[i], &text);
    put_text(table, &text);
    report_table_text(table, rows->items.items[i].why, strlen(rows->items.items[i].why));
  }
  lumos_text_free(&text);
  lumos_text_put(&table->caption, "Configurations that cannot be built, or divided.");
}

/* ---- The page ---- */

static void add_tile(struct report_scope *root, const char *label, struct lumos_text *figure,
                     struct lumos_text *evidence) {
  struct report_scope *item = report_section_item(root, "tiles");
  report_set_text(item, "label", label);
  report_set_take(item, "figure", figure);
  report_set_take(item, "evidence", evidence);
}

static void fill_tiles(const struct sweep_rows *rows, struct report_scope *root) {
  const struct sweep_row *best = &rows->items.items[0];
  struct lumos_text figure = LUMOS_TEXT_BUFFER, evidence = LUMOS_TEXT_BUFFER;
  size_t predicted = sweep_rows_predicted(rows);
  report_section(root, "tiles");
  if (predicted > 0) {
    report_put_time(&figure, best->step);
    if (best->low != LUMOS_ABSENT) {
      report_put_time_range(&evidence, best->low, best->high);
    }
    add_tile(root, "Step of the best", &figure, &evidence);
    report_put_share(&figure, best->mfu);
    lumos_text_put(&evidence, best->mfu == LUMOS_ABSENT ? "Not known" : "Of the GPUs\xE2\x80\x99 peak");
    add_tile(root, "MFU of the best", &figure, &evidence);
    report_put_count(&figure, (int64_t)count_rivals(rows));
    lumos_text_put(&evidence, "Their ranges reach that of the best");
    add_tile(root, "Others that could be best", &figure, &evidence);
  }
  report_put_count(&figure, (int64_t)predicted);
  lumos_text_put(&evidence, "Of ");
  report_put_counted(&evidence, (int64_t)rows->items.count, "configuration");
  if (sweep_rows_skipped(rows) > 0) {
    lumos_text_put(&evidence, "; ");
    report_put_count(&evidence, (int64_t)sweep_rows_skipped(rows));
    lumos_text_put(&evidence, " cannot be best");
  }
  add_tile(root, "Predicted", &figure, &evidence);
}

static void set_table(struct report_scope *root, const char *name, struct report_table *table,
                      struct lumos_text *summary) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_table_html(table, &text);
  report_set_take(root, name, &text);
  lumos_text_format(summary, "%s\"%s\":", summary->length > 16 ? ",\n" : "", table->name);
  report_table_json(table, summary);
  report_table_free(table);
}

static void fill_model(const struct sweep_rows *rows, const struct report_page_files *files,
                       struct report_model *model) {
  struct report_scope *root = report_model_root(model);
  struct lumos_text text = LUMOS_TEXT_BUFFER, summary = LUMOS_TEXT_BUFFER;
  struct report_table table;
  struct report_scene scene;
  report_page_files_fill(files, root);
  put_verdict(rows, &text);
  report_set_take(root, "title", &text);
  lumos_text_format(&text, "Grid: %s", rows->grid);
  if (rows->gpus != LUMOS_ABSENT) {
    lumos_text_format(&text, ", on %lld GPUs", (long long)rows->gpus);
  }
  if (rows->parts > 1) {
    lumos_text_format(&text, ". Part %lld of %lld alone: what the others found is not here", (long long)rows->part,
                      (long long)rows->parts);
  }
  report_set_take(root, "grid", &text);
  bool rated = rows->items.count > 0 && rows->items.items[0].rate != LUMOS_ABSENT;
  report_set_text(root, "longer",
                  rated ? "The longer the bar, the more tokens a second and GPU."
                        : "The longer the bar, the shorter the step.");
  fill_tiles(rows, root);
  draw(rows, &scene);
  report_set_scene(root, &scene, "picture");
  bool has_cloud = draw_cloud(rows, &scene);
  report_section_if(root, "memory", has_cloud);
  if (has_cloud) {
    report_set_scene(root, &scene, "cloud");
  }
  lumos_text_put(&summary, "{\"tables\":{");
  list_predicted(rows, &table);
  set_table(root, "table", &table, &summary);
  report_section_if(root, "skipped", sweep_rows_skipped(rows) > 0);
  list_skipped(rows, &table);
  set_table(root, "skipped_table", &table, &summary);
  report_section_if(root, "refused", sweep_rows_predicted(rows) + sweep_rows_skipped(rows) < rows->items.count);
  list_refused(rows, &table);
  set_table(root, "refused_table", &table, &summary);
  lumos_text_put(&summary, "}}\n");
  report_set_take(root, "summary", &summary);
}

bool sweep_page(const struct sweep_rows *rows, struct lumos_text *out, struct lumos_error *error) {
  struct report_page_files files;
  bool done = report_page_files_load(NULL, "sweep.html", &files, error);
  if (done) {
    struct report_model *model = report_model_new();
    fill_model(rows, &files, model);
    done = report_page_files_render(&files, model, out, error);
    report_model_free(model);
  }
  report_page_files_release(&files);
  return done;
}
