/* Drawing stacked bars. */
#include "report/content/stack.h"

#include "report/draw/look.h"
#include "report/text/numbers.h"

/* Tenths of a pixel. */
enum {
  BAR = 160,
  BAR_GAP = 20,
  ROW_GAP = 120,
  TOP = 20,
  SHARE_WIDTH = 460, /* a share is written where the part is at least this wide */
};

const struct report_stack_shape report_stack_wide = {11800, 1700, 900, 0};
const struct report_stack_shape report_stack_narrow = {3500, 0, 0, 180};

/* `part` of `whole` along `length`; what a stream claims beyond the whole ends with it. */
static int32_t along(int64_t part, int64_t whole, int32_t length) {
  int64_t share = report_share(part, whole);
  int64_t shown = share == LUMOS_ABSENT || share <= 0 ? 0 : share < 1000000 ? share : 1000000;
  return (int32_t)(shown * length / 1000000);
}

static void add_tooltip(struct report_scene *scene, const struct report_stack_bar *bar,
                        const struct report_stack_part *part) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%s%s%s: ", bar->kind, bar->kind[0] != '\0' ? ", " : "", part->label);
  report_put_time(&text, part->time);
  lumos_text_put(&text, " (");
  report_put_share(&text, part->share);
  lumos_text_char(&text, ')');
  report_scene_tooltip(scene, &text);
  lumos_text_free(&text);
}

/* What there is room for: "GEMM 41.2 %", "41.2 %" or nothing. */
static void label_part(const struct report_stack *stack, const struct report_stack_bar *bar,
                       const struct report_stack_part *part, int32_t x, int32_t width) {
  enum { SIDES = 120 };
  const struct report_paint_row *paint = report_paint_row(part->paint);
  if (width < SHARE_WIDTH || paint->ink.light == NULL) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  if (bar->named) {
    lumos_text_format(&text, "%s ", part->label);
  }
  report_put_share(&text, part->share);
  if (bar->named && report_text_width(STYLE_ON_PAINT, text.bytes, text.length) + SIDES > width) {
    text.length = 0;
    report_put_share(&text, part->share);
  }
  if (paint->fill == FILL_HATCHED || paint->fill == FILL_CROSSED) {
    int32_t room = report_text_width(STYLE_ON_PAINT, text.bytes, text.length) + 40;
    report_scene_plate(stack->scene, part->paint, x + 30, stack->y + 15, room < width - 30 ? room : width - 30,
                       BAR - 30);
  }
  report_scene_text(stack->scene, STYLE_ON_PAINT, part->paint, ANCHOR_START, x + 60, stack->y + BAR - 43, &text);
  lumos_text_free(&text);
}

/* The whole, and which kind of bar it is: beside the bar, or above it. `name`: of the row. */
static void label_bar(const struct report_stack *stack, const struct report_stack_bar *bar, int32_t end,
                      const struct lumos_text *name) {
  const struct report_stack_shape *shape = stack->shape;
  enum report_paint paint = bar->muted ? PAINT_MUTED : PAINT_TEXT;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_time(&text, bar->whole);
  if (shape->head == 0) {
    report_scene_text(stack->scene, STYLE_PLAIN, paint, ANCHOR_START, end + 80, stack->y + BAR - 38, &text);
  } else {
    report_scene_text(stack->scene, STYLE_PLAIN, paint, ANCHOR_END, shape->width, stack->y - 40, &text);
    report_scene_text(stack->scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, stack->y - 40, name);
  }
  text.length = 0;
  lumos_text_put(&text, bar->kind);
  if (text.length > 0 && shape->head == 0) {
    report_scene_text(stack->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_END, shape->labels - 80, stack->y + BAR - 43,
                      &text);
  } else if (text.length > 0) {
    int32_t x = name->length == 0 ? 0 : report_text_width(STYLE_STRONG, name->bytes, name->length) + 80;
    report_scene_text(stack->scene, STYLE_SMALL, PAINT_MUTED, ANCHOR_START, x, stack->y - 40, &text);
  }
  lumos_text_free(&text);
}

static void draw_parts(const struct report_stack *stack, const struct report_stack_bar *bar, int32_t room) {
  int64_t before = 0;
  for (size_t i = 0; i < bar->part_count; i++) {
    const struct report_stack_part *part = &bar->parts[i];
    if (part->time == LUMOS_ABSENT || part->time <= 0) {
      continue;
    }
    int32_t from = along(before, stack->longest, room);
    before = report_sum(before, part->time);
    int32_t width = along(before, stack->longest, room) - from;
    if (width > 0) {
      report_scene_box(stack->scene, part->paint, stack->shape->labels + from, stack->y, width, BAR);
      add_tooltip(stack->scene, bar, part);
      label_part(stack, bar, part, stack->shape->labels + from, width);
    }
  }
}

struct report_stack report_stack_begin(struct report_scene *scene, const struct report_stack_shape *shape,
                                       int64_t longest) {
  return (struct report_stack){scene, shape, longest, TOP};
}

void report_stack_add(struct report_stack *stack, const struct report_stack_bar *bar, struct lumos_text *name) {
  const struct report_stack_shape *shape = stack->shape;
  const int32_t room = shape->width - shape->labels - shape->figures;
  if (shape->head == 0 && name->length > 0) {
    report_scene_text(stack->scene, STYLE_STRONG, PAINT_TEXT, ANCHOR_START, 0, stack->y + BAR - 38, name);
  }
  stack->y += shape->head;
  draw_parts(stack, bar, room);
  label_bar(stack, bar, shape->labels + along(bar->whole, stack->longest, room), name);
  stack->y += BAR + BAR_GAP;
  name->length = 0;
}

void report_stack_end_row(struct report_stack *stack) {
  stack->y += ROW_GAP;
  stack->scene->height = stack->y;
}
