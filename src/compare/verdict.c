/* The first sentence: how much longer or shorter a step is, and the largest cause of just that.
 *
 * A cause is work that only one job does, where that is at least half of the difference; else the kind of work, or idle
 * time, that accounts for most of it, and of it the row that does.
 */
#include "compare/verdict.h"

#include "compare/words.h"
#include "program/shapes.h"
#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 80 }; /* of a kernel or op in a sentence */

static int64_t change_of(const struct lumos_compared_row *row) { return row->work[1].step - row->work[0].step; }

/* How far a change goes the way of the whole difference; negative: against it. */
static int64_t toward(int64_t difference, int64_t change) { return difference < 0 ? -change : change; }

static const struct lumos_compared_work *longer_work(const struct lumos_compared_row *row) {
  return row->work[0].time > row->work[1].time ? &row->work[0] : &row->work[1];
}

static bool is_only(const struct lumos_compared_row *row, int64_t difference) {
  return row->match == LUMOS_MATCH_NONE && toward(difference, change_of(row)) > 0;
}

/* ---- Words ---- */

void compare_put_layers(struct lumos_text *out, int32_t first, int32_t last) {
  if (first != LUMOS_ABSENT_INT && first == last) {
    lumos_text_format(out, "layer %d", (int)first);
  } else if (first != LUMOS_ABSENT_INT) {
    lumos_text_format(out, "layers %d-%d", (int)first, (int)last);
  }
}

/* "layers 0-3", "2 of layers 0-3" */
static void put_some_layers(struct lumos_text *out, const struct lumos_compared_work *work) {
  if (work->layers < work->last_layer - work->first_layer + 1) {
    lumos_text_format(out, "%d of ", (int)work->layers);
  }
  compare_put_layers(out, work->first_layer, work->last_layer);
}

/* "layers 0-3", "embedding, layers 0-3 and head"; nothing where no place is known, and of the optimizer's phase where
 * it says all. */
static void put_parts(struct lumos_text *out, const struct lumos_compared_row *row,
                      const struct lumos_compared_work *work) {
  static const struct {
    uint8_t part;
    const char *words;
  } order[] = {{LUMOS_PART_EMBEDDING, "embedding"},
               {LUMOS_PART_LAYER, NULL},
               {LUMOS_PART_HEAD, "head"},
               {LUMOS_PART_OPTIMIZER, "optimizer"},
               {0, "no known part"}};
  unsigned parts = work->parts;
  if (work->first_layer == LUMOS_ABSENT_INT) {
    parts &= ~LUMOS_COMPARE_PART(LUMOS_PART_LAYER);
  }
  if (parts == LUMOS_COMPARE_PART(0) ||
      (row->phase == LUMOS_OPTIMIZER_PHASE && parts == LUMOS_COMPARE_PART(LUMOS_PART_OPTIMIZER))) {
    return;
  }
  for (size_t i = 0, seen = 0; i < sizeof order / sizeof *order; i++) {
    unsigned part = LUMOS_COMPARE_PART(order[i].part);
    if (parts & part) {
      parts &= ~part;
      lumos_text_put(out, seen++ == 0 ? "" : parts == 0 ? " and " : ", ");
      if (order[i].words == NULL) {
        put_some_layers(out, work);
      } else {
        lumos_text_put(out, order[i].words);
      }
    }
  }
}

void compare_put_place(struct lumos_text *out, const struct lumos_compared_row *row) {
  const struct lumos_compared_work *work = longer_work(row);
  const char *phase = compare_phase_words(row->phase);
  struct lumos_text parts = LUMOS_TEXT_BUFFER;
  put_parts(&parts, row, work);
  lumos_text_put(out, phase);
  lumos_text_put(out, *phase != '\0' && parts.length > 0 ? ", " : "");
  lumos_text_add(out, parts.bytes, parts.length);
  lumos_text_free(&parts);
}

void compare_put_name(struct lumos_text *out, const struct lumos_comparison *comparison, lumos_string_id id,
                      size_t limit) {
  report_put_cut(out, lumos_string(comparison->strings, id), lumos_string_length(comparison->strings, id), limit);
}

/* It is all of a kind that found no closer match. */
static bool is_of_kind(const struct lumos_compared_row *row) {
  return row->match == LUMOS_MATCH_LAYER || row->match == LUMOS_MATCH_PHASE;
}

void compare_put_work(struct lumos_text *out, const struct lumos_comparison *comparison,
                      const struct lumos_compared_row *row, size_t limit) {
  const struct lumos_compared_work *work = longer_work(row);
  if (is_of_kind(row)) {
    lumos_text_format(out, "all other %s", compare_kind_words(row->kind));
  } else {
    compare_put_name(out, comparison, work->op == LUMOS_NO_STRING ? work->name : work->op, limit);
  }
}

/* ---- Sizes ---- */

static int64_t elements_of(const struct program_dimensions *dimensions) {
  int64_t elements = dimensions->count > 0;
  for (int i = 0; i < dimensions->count; i++) {
    elements = report_product(elements, dimensions->of[i]);
  }
  return elements;
}

static bool same_dimensions(const struct program_dimensions *a, const struct program_dimensions *b) {
  bool same = a->count == b->count;
  for (int i = 0; same && i < a->count; i++) {
    same = a->of[i] == b->of[i];
  }
  return same;
}

/* "8192x2048" */
static void put_dimensions(struct lumos_text *out, const struct program_dimensions *dimensions) {
  for (int i = 0; i < dimensions->count; i++) {
    lumos_text_put(out, i == 0 ? "" : "x");
    lumos_text_integer(out, dimensions->of[i]);
  }
}

bool compare_put_sizes(struct lumos_text *out, const struct lumos_comparison *comparison,
                       const struct lumos_compared_row *row) {
  struct program_dimensions inputs[2][SHAPE_INPUTS];
  int found = -1;
  int64_t most = 0;
  for (int side = 0; row->sized && side < 2; side++) {
    program_shape_read(lumos_string(comparison->strings, row->work[side].shapes), inputs[side]);
  }
  for (int i = 0; row->sized && i < SHAPE_INPUTS; i++) {
    const struct program_dimensions *a = &inputs[0][i], *b = &inputs[1][i];
    int64_t elements = elements_of(a) > elements_of(b) ? elements_of(a) : elements_of(b);
    if (a->count > 0 && b->count > 0 && !same_dimensions(a, b) && elements > most) {
      most = elements;
      found = i;
    }
  }
  if (found >= 0) {
    put_dimensions(out, &inputs[0][found]);
    lumos_text_put(out, " became ");
    put_dimensions(out, &inputs[1][found]);
  }
  return found >= 0;
}

/* Of a row whose shapes have no single counterpart: what became of others of its op, where that is known. */
static const struct lumos_compared_row *find_sized(const struct lumos_comparison *comparison,
                                                   const struct lumos_compared_row *row) {
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *other = &comparison->rows.items[i];
    if (other->sized && other->work[0].op == row->work[0].op && row->work[0].op != LUMOS_NO_STRING) {
      return other;
    }
  }
  return NULL;
}

/* "8192x2048 became 8192x4096", "other shapes, as 8192x2048 became 8192x4096", "another kernel" */
static void put_other(struct lumos_text *out, const struct lumos_comparison *comparison,
                      const struct lumos_compared_row *row) {
  struct lumos_text sizes = LUMOS_TEXT_BUFFER;
  if (row->match == LUMOS_MATCH_KERNEL) {
    lumos_text_put(out, "another kernel");
  } else if (!compare_put_sizes(out, comparison, row)) {
    const struct lumos_compared_row *sized = find_sized(comparison, row);
    lumos_text_put(out, "other shapes");
    if (sized != NULL && compare_put_sizes(&sizes, comparison, sized)) {
      lumos_text_put(out, ", as ");
      lumos_text_add(out, sizes.bytes, sizes.length);
    }
  }
  lumos_text_free(&sizes);
}

/* What else changed in a matched row: nothing, or "8192x2048 became 8192x4096; 4 to 8 a step". */
static void put_change(struct lumos_text *out, const struct lumos_comparison *comparison,
                       const struct lumos_compared_row *row) {
  if (row->match == LUMOS_MATCH_KERNEL || row->match == LUMOS_MATCH_SHAPES) {
    lumos_text_put(out, out->length > 0 ? "; " : "");
    put_other(out, comparison, row);
  }
  enum { NOTABLE = 20 }; /* of as many, one more: what a reader would ask about. Chosen */
  int64_t a = row->work[0].count, b = row->work[1].count;
  if (row->match != LUMOS_MATCH_NONE && row->count_differs && llabs(b - a) >= (a > b ? a : b) / NOTABLE) {
    lumos_text_put(out, out->length > 0 ? "; " : "");
    compare_put_count(out, row->work[0].count);
    lumos_text_put(out, " to ");
    compare_put_count(out, row->work[1].count);
    lumos_text_put(out, " a step");
  }
}

/* "aten::mm (backward pass, layers 0-3; 4 to 8 a step)" */
static void put_row(struct lumos_text *out, const struct lumos_comparison *comparison,
                    const struct lumos_compared_row *row, bool layers) {
  struct lumos_text place = LUMOS_TEXT_BUFFER;
  compare_put_work(out, comparison, row, NAME_BYTES);
  if (layers) {
    compare_put_place(&place, row);
  } else {
    lumos_text_put(&place, compare_phase_words(row->phase));
  }
  put_change(&place, comparison, row);
  if (place.length > 0) {
    lumos_text_put(out, " (");
    lumos_text_add(out, place.bytes, place.length);
    lumos_text_char(out, ')');
  }
  lumos_text_free(&place);
}

void compare_put_count(struct lumos_text *out, int64_t thousandths) {
  if (thousandths % 1000 == 0) {
    report_put_count(out, thousandths / 1000);
  } else {
    report_put_fixed(out, thousandths, 3, 1);
  }
}

/* ---- Causes ---- */

/* All that only the job does whose step is longer; and the layers that it is in, where all of it is in layers. */
struct lone {
  int64_t time;
  int32_t first_layer, last_layer;
  bool all_in_layers;
};

static struct lone find_lone(const struct lumos_comparison *comparison, int64_t difference) {
  struct lone lone = {0, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, true};
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    if (is_only(row, difference)) {
      const struct lumos_compared_work *work = longer_work(row);
      lone.time = report_sum(lone.time, toward(difference, change_of(row)));
      lone.all_in_layers &= work->parts == LUMOS_COMPARE_PART(LUMOS_PART_LAYER);
      if (work->first_layer == LUMOS_ABSENT_INT) {
        continue;
      }
      bool first = lone.first_layer == LUMOS_ABSENT_INT || work->first_layer < lone.first_layer;
      lone.first_layer = first ? work->first_layer : lone.first_layer;
      lone.last_layer = work->last_layer > lone.last_layer ? work->last_layer : lone.last_layer;
    }
  }
  return lone;
}

/* The row that goes furthest the same way: of a kind, or with NULL of those that only one job does. NULL: none does. */
static const struct lumos_compared_row *find_row(const struct lumos_comparison *comparison, int64_t difference,
                                                 const char *kind) {
  const struct lumos_compared_row *found = NULL;
  for (size_t i = 0; i < comparison->rows.count; i++) {
    const struct lumos_compared_row *row = &comparison->rows.items[i];
    bool fits = kind == NULL ? is_only(row, difference) : strcmp(compare_kind_words(row->kind), kind) == 0;
    int64_t least = found == NULL ? 0 : toward(difference, change_of(found));
    if (fits && toward(difference, change_of(row)) > least) {
      found = row;
    }
  }
  return found;
}

static void put_lone(struct lumos_text *out, const struct lumos_comparison *comparison, int64_t difference,
                     const struct lone *lone) {
  const struct lumos_compared_row *row = find_row(comparison, difference, NULL);
  const char *name = comparison->names[difference > 0];
  if (lone->time > llabs(difference)) { /* other work goes the other way */
    lumos_text_format(out, "work that only %s does alone would make it ", name);
    report_put_time(out, lone->time);
    lumos_text_put(out, difference < 0 ? " less" : " longer");
  } else {
    report_put_time(out, lone->time);
    lumos_text_format(out, " of it is work that only %s does", name);
  }
  bool all = lone->all_in_layers && lone->first_layer != LUMOS_ABSENT_INT;
  if (all) {
    lumos_text_put(out, " in ");
    compare_put_layers(out, lone->first_layer, lone->last_layer);
  }
  lumos_text_format(out, ", most of all %s: ", compare_kind_words(row->kind));
  put_row(out, comparison, row, !all);
}

/* What the CPU does more, or less, where the GPU idles more, or less. */
static void put_calls_beside_idle(struct lumos_text *out, const struct lumos_comparison *comparison,
                                  int64_t difference) {
  for (size_t i = 0; i < comparison->calls.count; i++) {
    const struct lumos_compared_row *row = &comparison->calls.items[i];
    if (row->count_differs && toward(difference, row->work[1].count - row->work[0].count) > 0) {
      lumos_text_put(out, ", beside ");
      compare_put_calls(out, comparison, row);
      return;
    }
  }
}

/* Of a kind of work, or of idle time: what it is most of all. */
static void put_most(struct lumos_text *out, const struct lumos_comparison *comparison, int64_t difference,
                     const char *kind) {
  const struct lumos_compared_row *row = find_row(comparison, difference, kind);
  if (row != NULL && is_of_kind(row)) {
    struct lumos_text place = LUMOS_TEXT_BUFFER;
    compare_put_place(&place, row);
    put_change(&place, comparison, row);
    lumos_text_put(out, place.length > 0 ? ", most of all in the " : "");
    lumos_text_add(out, place.bytes, place.length);
    lumos_text_free(&place);
  } else if (row != NULL) {
    lumos_text_put(out, ", most of all ");
    put_row(out, comparison, row, true);
  } else {
    put_calls_beside_idle(out, comparison, difference);
  }
}

static void put_kind(struct lumos_text *out, const struct lumos_comparison *comparison, int64_t difference) {
  const struct lumos_compared_part *found = NULL;
  int64_t most = 0;
  for (size_t i = 0; i < comparison->kinds.count; i++) {
    const struct lumos_compared_part *part = &comparison->kinds.items[i];
    int64_t change = toward(difference, part->time[1] - part->time[0]);
    if (change > most) {
      most = change;
      found = part;
    }
  }
  if (found == NULL) {
    return;
  }
  const char *kind = lumos_string(comparison->strings, found->label);
  lumos_text_put(out, "; ");
  if (most > llabs(difference)) { /* other kinds go the other way */
    lumos_text_format(out, "%s alone would make it ", kind);
    report_put_time(out, most);
    lumos_text_put(out, difference < 0 ? " less" : " longer");
  } else {
    report_put_time(out, most);
    lumos_text_format(out, " of it is %s", kind);
  }
  put_most(out, comparison, difference, kind);
}

/* ": rank 1 takes 9.7 ms longer, and the other 3 ranks wait for it; 9.1 ms of that is matrix products" */
static void put_carrier(struct lumos_text *out, const struct lumos_comparison *comparison, int64_t difference) {
  const struct lumos_compared_rank *carrier = &comparison->carrier;
  bool longer = difference > 0;
  lumos_text_format(out, ": rank %d takes ", (int)carrier->rank);
  report_put_time(out, llabs(carrier->own));
  lumos_text_put(out, longer ? " longer" : " less");
  if (carrier->others_wait) {
    lumos_text_put(out, longer ? ", and " : ", for which ");
    if (carrier->others == 1) {
      lumos_text_put(out, longer ? "the other rank waits" : "the other rank waited");
    } else {
      lumos_text_put(out, "the other ");
      report_put_counted(out, carrier->others, "rank");
      lumos_text_put(out, longer ? " wait" : " waited");
    }
    lumos_text_put(out, longer ? " for it" : "");
  }
  if (carrier->kind_change != 0) {
    lumos_text_put(out, carrier->kind == 0 ? "; its GPU idles " : "; ");
    report_put_time(out, llabs(carrier->kind_change));
    if (carrier->kind == 0) {
      lumos_text_put(out, longer ? " longer" : " less");
    } else {
      lumos_text_format(out, " of that is %s", compare_kind_words(carrier->kind));
    }
    put_most(out, comparison, difference, compare_kind_words(carrier->kind));
  }
}

static void put_cause(struct lumos_text *out, const struct lumos_comparison *comparison, int64_t difference) {
  struct lone lone = find_lone(comparison, difference);
  if (comparison->carrier.rank != LUMOS_ABSENT_INT) {
    put_carrier(out, comparison, difference);
  } else if (lone.time >= llabs(difference) / 2 && lone.time > 0) {
    lumos_text_put(out, "; ");
    put_lone(out, comparison, difference, &lone);
  } else {
    put_kind(out, comparison, difference);
  }
}

/* ---- Sentences ---- */

size_t compare_changed_rows(const struct lumos_compared_rows *rows) {
  size_t changed = 0;
  for (size_t i = 0; i < rows->count; i++) {
    changed += rows->items[i].time_differs || rows->items[i].count_differs;
  }
  return changed;
}

static const struct lumos_compared_row *first_changed(const struct lumos_compared_rows *rows) {
  size_t i = 0;
  while (i < rows->count && !rows->items[i].time_differs && !rows->items[i].count_differs) {
    i++;
  }
  return i < rows->count ? &rows->items[i] : NULL;
}

/* "3 rows of work changed, most of all aten::mm (backward pass; 4 to 8 a step) by +1.20 ms" */
static void put_changed(struct lumos_text *out, const struct lumos_comparison *comparison, const char *before) {
  size_t rows = compare_changed_rows(&comparison->rows), calls = compare_changed_rows(&comparison->calls);
  const struct lumos_compared_row *row = first_changed(&comparison->rows);
  if (rows > 0) {
    lumos_text_put(out, before);
    report_put_counted(out, (int64_t)rows, "row");
    lumos_text_put(out, " of work changed, most of all ");
    put_row(out, comparison, row, true);
    int64_t longer = row->work[1].time - row->work[0].time;
    if (row->time_differs || row->match == LUMOS_MATCH_NONE) {
      lumos_text_put(out, longer < 0 ? " by \xE2\x88\x92" : " by +");
      report_put_time(out, llabs(longer));
    }
  } else if (calls > 0) {
    row = first_changed(&comparison->calls);
    lumos_text_format(out, "%scalls changed: ", before);
    compare_put_calls(out, comparison, row);
  }
}

/* "1.20 ms (12.0 %)" of A's step */
static void put_of_step(struct lumos_text *out, const struct lumos_comparison *comparison, int64_t time) {
  report_put_time(out, time);
  if (comparison->jobs[0].step > 0) {
    lumos_text_put(out, " (");
    report_put_share(out, report_share(time, comparison->jobs[0].step));
    lumos_text_char(out, ')');
  }
}

/* Steps that do not differ beyond noise, or not at all. */
static void put_alike(struct lumos_text *out, const struct lumos_comparison *comparison) {
  const struct lumos_compared_job *a = &comparison->jobs[0], *b = &comparison->jobs[1];
  bool changed = compare_changed_rows(&comparison->rows) + compare_changed_rows(&comparison->calls) > 0;
  if (a->step == b->step) {
    lumos_text_put(out, changed ? "No difference in step time: a step takes " : "No difference: a step takes ");
  } else {
    lumos_text_put(out, changed ? "No difference in step time beyond noise: a step takes "
                                : "No difference beyond noise: a step takes ");
  }
  report_put_time_beside(out, a->step, b->step);
  lumos_text_format(out, " in %s and ", comparison->names[0]);
  report_put_time_beside(out, b->step, a->step);
  lumos_text_format(out, " in %s", comparison->names[1]);
  if (comparison->noise == LUMOS_ABSENT) {
    lumos_text_put(out, ", of one step each, so noise is unknown");
  } else if (a->step != b->step) {
    lumos_text_put(out, ", and up to ");
    put_of_step(out, comparison, comparison->noise);
    lumos_text_put(out, " is noise");
  }
  put_changed(out, comparison, "; but ");
}

/* "Inconclusive: B takes 1.20 ms (12.0 %) longer a step than A, but with 3 and 4 steps up to 3.10 ms (31.0 %) may be
 * noise" */
static void put_inconclusive(struct lumos_text *out, const struct lumos_comparison *comparison) {
  const struct lumos_compared_job *a = &comparison->jobs[0], *b = &comparison->jobs[1];
  lumos_text_format(out, "Inconclusive: %s takes ", comparison->names[1]);
  put_of_step(out, comparison, llabs(b->step - a->step));
  lumos_text_format(out, " %s a step than %s, but with %u and %u steps up to ", b->step < a->step ? "less" : "longer",
                    comparison->names[0], a->steps, b->steps);
  put_of_step(out, comparison, comparison->noise);
  lumos_text_put(out, " may be noise");
  put_changed(out, comparison, "; ");
}

bool compare_hides_work(const struct lumos_comparison *comparison) {
  return !comparison->one_recording &&
         (comparison->jobs[0].damage != LUMOS_NO_STRING || comparison->jobs[1].damage != LUMOS_NO_STRING);
}

/* "Inconclusive: steps of B may lack work (rank 0: the trace is cut at byte 3017). As read, a step takes 1.20 ms in A
 * and 900 us in B" */
static void put_hidden(struct lumos_text *out, const struct lumos_comparison *comparison) {
  const struct lumos_compared_job *jobs = comparison->jobs;
  bool both = jobs[0].damage != LUMOS_NO_STRING && jobs[1].damage != LUMOS_NO_STRING;
  lumos_text_put(out, "Inconclusive: steps of ");
  for (int side = 0; side < 2; side++) {
    lumos_text_put(out, jobs[side].damage == LUMOS_NO_STRING ? "" : comparison->names[side]);
    lumos_text_put(out, both && side == 0 ? " and " : "");
  }
  lumos_text_put(out, " may lack work (");
  for (int side = 0; side < 2; side++) {
    lumos_text_put(out, both ? (side == 0 ? "in A " : "; in ") : "");
    lumos_text_put(out, both && side == 1 ? comparison->names[1] : "");
    lumos_text_put(out, both && side == 1 ? " " : "");
    if (jobs[side].damage != LUMOS_NO_STRING) {
      compare_put_name(out, comparison, jobs[side].damage, NAME_BYTES);
    }
  }
  lumos_text_put(out, "). As read, a step takes ");
  report_put_time_beside(out, jobs[0].step, jobs[1].step);
  lumos_text_format(out, " in %s and ", comparison->names[0]);
  report_put_time_beside(out, jobs[1].step, jobs[0].step);
  lumos_text_format(out, " in %s", comparison->names[1]);
}

void compare_put_calls(struct lumos_text *out, const struct lumos_comparison *comparison,
                       const struct lumos_compared_row *row) {
  compare_put_name(out, comparison, longer_work(row)->name, NAME_BYTES);
  if (row->count_differs) {
    lumos_text_char(out, ' ');
    compare_put_count(out, row->work[0].count);
    lumos_text_put(out, " to ");
    compare_put_count(out, row->work[1].count);
    lumos_text_put(out, " calls a step");
  }
}

static void put_different(struct lumos_text *out, const struct lumos_comparison *comparison) {
  const struct lumos_compared_job *a = &comparison->jobs[0], *b = &comparison->jobs[1];
  int64_t difference = b->step - a->step;
  lumos_text_format(out, "%s takes ", comparison->names[1]);
  put_of_step(out, comparison, llabs(difference));
  lumos_text_format(out, " %s a step than %s", difference < 0 ? "less" : "longer", comparison->names[0]);
  if (a->device != LUMOS_NO_STRING && b->device != LUMOS_NO_STRING && a->device != b->device) {
    lumos_text_put(out, ", on another GPU");
  }
  if (comparison->outcome == LUMOS_COMPARE_UNKNOWN) {
    lumos_text_put(out, ", of one step each, so noise is unknown");
  }
  put_cause(out, comparison, difference);
}

/* Of calls that both make: the one whose number changed most, where it doubled or halved. NULL: none did. */
static const struct lumos_compared_row *find_changed_calls(const struct lumos_comparison *comparison) {
  enum { FEWEST = 10000, TIMES = 2 }; /* thousandths of calls. Chosen: of fewer nobody asks */
  for (size_t i = 0; i < comparison->calls.count; i++) {
    const struct lumos_compared_row *row = &comparison->calls.items[i];
    int64_t a = row->work[0].count, b = row->work[1].count;
    if (row->count_differs && a > 0 && b > 0 && llabs(b - a) >= FEWEST && (a >= TIMES * b || b >= TIMES * a)) {
      return row;
    }
  }
  return NULL;
}

/* " cudaMemcpyAsync goes from 38 to 802 calls a step.", unless the text behind `from` names them. */
static void put_changed_calls(struct lumos_text *out, const struct lumos_comparison *comparison, size_t from) {
  const struct lumos_compared_row *row = find_changed_calls(comparison);
  lumos_string_id name = row == NULL ? LUMOS_NO_STRING : longer_work(row)->name;
  if (row != NULL && memmem(out->bytes + from, out->length - from, lumos_string(comparison->strings, name),
                            lumos_string_length(comparison->strings, name)) == NULL) {
    lumos_text_char(out, ' ');
    compare_put_name(out, comparison, name, NAME_BYTES);
    lumos_text_put(out, " goes from ");
    compare_put_count(out, row->work[0].count);
    lumos_text_put(out, " to ");
    compare_put_count(out, row->work[1].count);
    lumos_text_put(out, " calls a step.");
  }
}

void lumos_comparison_verdict(const struct lumos_comparison *comparison, struct lumos_text *out) {
  size_t from = out->length;
  if (compare_hides_work(comparison)) {
    put_hidden(out, comparison);
    lumos_text_char(out, '.');
    return; /* what else differs may be what is missing */
  }
  if (comparison->outcome == LUMOS_COMPARE_ALIKE || comparison->jobs[0].step == comparison->jobs[1].step) {
    put_alike(out, comparison);
  } else if (comparison->outcome == LUMOS_COMPARE_INCONCLUSIVE) {
    put_inconclusive(out, comparison);
  } else {
    put_different(out, comparison);
  }
  lumos_text_char(out, '.');
  put_changed_calls(out, comparison, from);
}
