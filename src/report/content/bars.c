/* Drawing bars of ranks. */
#include "report/content/bars.h"

#include "report/content/alike.h"
#include "report/content/stack.h"
#include "report/draw/look.h"
#include "report/text/numbers.h"
#include <stdlib.h>

enum { LABEL_ROOM = 1050 }; /* tenths of a pixel, beside which "512 alike" has room */

/* The picture while it is drawn. */
struct canvas {
  const struct report_bars *bars;
  const struct report_rows *rows; /* that are grouped */
  struct report_groups groups;
  struct report_row sums[REPORT_GROUPS];
  struct report_stack stack;
};

const char *report_part_label(const struct report_part *part) {
  return part->label != NULL ? part->label : report_paint_row(part->paint)->label;
}

/* Of a job of one rank a bar is a step; of one rank of several it is that rank's. */
static bool has_ranks(const struct report_facts *facts) {
  return facts->ranks.count > 1 || facts->job->ranks.count > facts->ranks.count;
}

int64_t report_rest_of_step(const struct report_facts *facts, const struct report_row *row,
                            enum report_timeline timeline) {
  int64_t step = report_facts_step_time(facts, timeline), own = report_row_mean(row, timeline, FIGURE_STEP_TIME);
  bool known = facts->job_steps.count > 0 && facts->ranks.count > 1 && step != LUMOS_ABSENT && own != LUMOS_ABSENT;
  return known && own < step ? step - own : 0;
}

void report_put_row_label(const struct report_facts *facts, const struct report_row *row, struct lumos_text *text) {
  if (row->rank == LUMOS_NONE) {
    lumos_text_put(text, has_ranks(facts) ? "all ranks" : "all steps");
    return;
  }
  bool ranked = has_ranks(facts) || row->step == LUMOS_ABSENT_INT;
  if (ranked) {
    lumos_text_format(text, "rank %d", facts->job->ranks.items[row->rank].rank);
  }
  if (row->step != LUMOS_ABSENT_INT) {
    lumos_text_format(text, "%sstep %d", ranked ? ", " : "", row->step);
  }
}

/* ---- Groups ---- */

static void find_groups(struct canvas *canvas) {
  const struct report_bars *bars = canvas->bars;
  const struct report_rows *rows = canvas->rows;
  int64_t *values = lumos_allocate((rows->count + 1) * bars->part_count * sizeof *values);
  for (size_t row = 0; row < rows->count; row++) {
    for (size_t part = 0; part < bars->part_count; part++) {
      int64_t mean = report_row_mean(&rows->items[row], bars->timeline, bars->parts[part].figure);
      values[row * bars->part_count + part] = mean == LUMOS_ABSENT ? 0 : mean;
    }
  }
  const struct report_matrix matrix = {values, rows->count, bars->part_count};
  report_groups_find(&matrix, report_facts_step_time(bars->facts, bars->timeline), &canvas->groups);
  free(values);
}

static const struct report_row *member(const struct canvas *canvas, size_t number) {
  return &canvas->rows->items[canvas->groups.members.items[number]];
}

static bool by_rank(const struct canvas *canvas) { return canvas->rows == &canvas->bars->facts->ranks; }

/* A rank counts as often as it stands for one. */
static int64_t weight_of(const struct canvas *canvas, const struct report_row *row) {
  return by_rank(canvas) ? lumos_rank_weight(&canvas->bars->facts->job->ranks.items[row->rank]) : 1;
}

static void sum_groups(struct canvas *canvas) {
  for (size_t group = 0; group < canvas->groups.count; group++) {
    struct report_row *sum = &canvas->sums[group];
    *sum = report_row_empty(LUMOS_NONE, LUMOS_ABSENT_INT);
    for (size_t i = canvas->groups.first[group]; i < canvas->groups.first[group + 1]; i++) {
      report_row_add(sum, member(canvas, i), weight_of(canvas, member(canvas, i)));
    }
  }
}

/* "ranks 0, 2-7", "step 4", "rank 4 and 31 more". Returns for how many it stands, where it does not say so. */
static int64_t put_group_label(const struct canvas *canvas, size_t group, struct lumos_text *text) {
  LUMOS_VECTOR(int32_t) numbers = {0};
  int64_t weight = 0;
  for (size_t i = canvas->groups.first[group]; i < canvas->groups.first[group + 1]; i++) {
    const struct report_row *row = member(canvas, i);
    lumos_vector_push(&numbers, by_rank(canvas) ? canvas->bars->facts->job->ranks.items[row->rank].rank : row->step);
    weight = report_sum(weight, weight_of(canvas, row));
  }
  lumos_text_format(text, "%s%s ", by_rank(canvas) ? "rank" : "step", numbers.count > 1 ? "s" : "");
  report_put_runs(text, numbers.items, numbers.count);
  if (report_text_width(STYLE_STRONG, text->bytes, text->length) > LABEL_ROOM && numbers.count > 1) {
    text->length = 0; /* all numbers go before the word for them */
    report_put_runs(text, numbers.items, numbers.count);
  }
  if (report_text_width(STYLE_STRONG, text->bytes, text->length) > LABEL_ROOM && numbers.count > 0) {
    text->length = 0; /* beside "simulated" there is no room for the word */
    bool word = !canvas->bars->both || canvas->bars->facts->edited;
    lumos_text_format(text, "%s%d and ", !word ? "" : by_rank(canvas) ? "rank " : "step ", numbers.items[0]);
    report_put_count(text, weight - 1);
    lumos_text_put(text, " more");
    weight = 1;
  }
  lumos_vector_free(&numbers);
  return weight;
}

/* ---- Bars ---- */

static bool is_drawn(const struct report_bars *bars, const struct report_row *row, enum report_timeline timeline) {
  return (bars->both || timeline == bars->timeline) && row->figures[timeline].of[bars->whole] != LUMOS_ABSENT;
}

static void draw_bar(struct canvas *canvas, const struct report_row *row, enum report_timeline timeline,
                     const char *kind, struct lumos_text *name) {
  const struct report_bars *bars = canvas->bars;
  struct report_stack_part parts[REPORT_BAR_PARTS];
  int64_t rest = bars->whole == FIGURE_STEP_TIME ? report_rest_of_step(bars->facts, row, timeline) : 0;
  for (size_t i = 0; i < bars->part_count; i++) {
    const struct report_part *part = &bars->parts[i];
    int64_t more = part->figure == FIGURE_NOT_RECORDED ? rest : 0;
    int64_t time = report_sum(report_row_mean(row, timeline, part->figure), more);
    parts[i] = (struct report_stack_part){
        part->paint, report_part_label(part), time,
        report_sum(report_row_share(bars->facts, row, timeline, part->figure),
                   more > 0 ? report_share(more, report_facts_step_time(bars->facts, timeline)) : 0)};
  }
  const struct report_stack_bar bar = {.kind = kind,
                                       .muted = timeline != bars->timeline,
                                       .named = bars->named,
                                       .whole = report_sum(report_row_mean(row, timeline, bars->whole), rest),
                                       .parts = parts,
                                       .part_count = bars->part_count};
  report_stack_add(&canvas->stack, &bar, name);
}

/* Of a changed job only one of the two is of it as it is now. */
static const char *timeline_word(const struct report_facts *facts, enum report_timeline timeline) {
  return !facts->edited ? report_timeline_name(timeline) : timeline == MEASURED ? "before" : "after";
}

/* A row is its label and a bar for every timeline that is drawn. */
static void draw_row(struct canvas *canvas, const struct report_row *row, int64_t alike, struct lumos_text *name) {
  struct lumos_text kind = LUMOS_TEXT_BUFFER;
  if (alike > 1) {
    report_put_count(&kind, alike);
    lumos_text_put(&kind, " alike");
  }
  lumos_text_char(&kind, '\0');
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    if (is_drawn(canvas->bars, row, (enum report_timeline)timeline)) {
      draw_bar(canvas, row, (enum report_timeline)timeline,
               canvas->bars->both ? timeline_word(canvas->bars->facts, (enum report_timeline)timeline) : kind.bytes,
               name);
    }
  }
  report_stack_end_row(&canvas->stack);
  lumos_text_free(&kind);
}

static int64_t longest_of(const struct report_bars *bars, const struct report_row *row, int64_t longest) {
  for (int timeline = 0; timeline < TIMELINES; timeline++) {
    int64_t mean = report_row_mean(row, (enum report_timeline)timeline, bars->whole);
    longest = is_drawn(bars, row, (enum report_timeline)timeline) && mean > longest ? mean : longest;
  }
  return longest;
}

/* All, then the groups where there are several. */
static void draw_rows(struct canvas *canvas, const struct report_row *whole) {
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  int64_t weight = put_group_label(canvas, 0, &name);
  if (canvas->rows->count > 1) {
    name.length = 0;
    report_put_row_label(canvas->bars->facts, whole, &name);
    draw_row(canvas, whole, canvas->groups.count > 1 ? 1 : weight, &name);
  } else {
    draw_row(canvas, &canvas->sums[0], weight, &name);
  }
  for (size_t group = 0; group < canvas->groups.count && canvas->groups.count > 1; group++) {
    weight = put_group_label(canvas, group, &name);
    draw_row(canvas, &canvas->sums[group], weight, &name);
  }
  lumos_text_free(&name);
}

bool report_bars_scene(const struct report_bars *bars, const char *name, bool narrow, struct report_scene *scene) {
  const struct report_facts *facts = bars->facts;
  const struct report_stack_shape *shape = narrow ? &report_stack_narrow : &report_stack_wide;
  const struct report_row *whole = report_facts_whole(facts, bars->timeline);
  struct canvas canvas = {.bars = bars, .rows = has_ranks(facts) ? &facts->ranks : &facts->steps};
  if (canvas.rows->count == 0) {
    return false;
  }
  find_groups(&canvas);
  sum_groups(&canvas);
  int64_t longest = longest_of(bars, whole, 0);
  for (size_t group = 0; group < canvas.groups.count; group++) {
    longest = longest_of(bars, &canvas.sums[group], longest);
  }
  if (longest > 0) {
    report_scene_begin(scene, name, shape->width);
    canvas.stack = report_stack_begin(scene, shape, longest);
    draw_rows(&canvas, whole);
  }
  report_groups_free(&canvas.groups);
  return longest > 0;
}
