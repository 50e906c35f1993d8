#include "cost/calibration.h"

#include <math.h>
#include <string.h>

static double ratio_of(const struct lumos_measured_shape *shape) { return log(shape->measured / shape->model); }

/* Between the next smaller and the next larger shape of the family, evenly by the size's logarithm; beyond the last one
 * as there. */
struct between {
  double below, above; /* distance in logarithms; negative: none */
  double ratio_below, ratio_above;
};

static void offer(struct between *between, double distance, double ratio) {
  if (distance <= 0 && (between->below < 0 || -distance < between->below)) {
    between->below = -distance;
    between->ratio_below = ratio;
  }
  if (distance >= 0 && (between->above < 0 || distance < between->above)) {
    between->above = distance;
    between->ratio_above = ratio;
  }
}

static double interpolate(const struct between *between) {
  if (between->below < 0) {
    return between->ratio_above;
  }
  double span = between->below + between->above;
  return between->above < 0 || !(span > 0)
             ? between->ratio_below
             : (between->ratio_below * between->above + between->ratio_above * between->below) / span;
}

/* Ratios of like shapes, each of which counts the less the further its size is from that asked for. */
struct weighted {
  double ratio, weight;
};
LUMOS_VECTOR_TYPE(weighted_list, struct weighted);

static void add(struct weighted_list *list, double distance, double ratio) {
  static const double FOLD = 4; /* a shape four times as large counts 0.6 times as much. Chosen */
  double scaled = distance / log(FOLD);
  lumos_vector_push(list, ((struct weighted){ratio, exp(-scaled * scaled / 2) + 1e-6}));
}

static int by_ratio(const void *left, const void *right) {
  const struct weighted *a = left, *b = right;
  return LUMOS_ORDER(a->ratio, b->ratio);
}

/* The median: some shapes say nothing of what their kernels do. */
static double middle_of(struct weighted_list *list) {
  double all = 0, sum = 0;
  size_t at = 0;
  lumos_vector_sort(list, by_ratio);
  for (size_t i = 0; i < list->count; i++) {
    all += list->items[i].weight;
  }
  for (; at + 1 < list->count && sum + list->items[at].weight < all / 2; at++) {
    sum += list->items[at].weight;
  }
  return list->items[at].ratio;
}

static const struct lumos_measured_shape *find_own(const struct lumos_calibration *calibration,
                                                   const struct lumos_measured_shape *of) {
  for (size_t i = 0; i < calibration->shapes.count; i++) {
    const struct lumos_measured_shape *shape = &calibration->shapes.items[i];
    if (shape->shape == of->shape && shape->family == of->family) {
      return shape;
    }
  }
  return NULL;
}

struct asked {
  const struct lumos_measured_shape *of;
  bool except;  /* without its shape, whatever family measured it */
  bool strange; /* without all of its family */
};

static bool is_left_out(const struct asked *asked, const struct lumos_measured_shape *shape) {
  return (asked->except && shape->shape == asked->of->shape) || (asked->strange && shape->family == asked->of->family);
}

static struct lumos_duration by_family(const struct lumos_calibration *calibration, const struct asked *asked) {
  struct between family = {.below = -1, .above = -1};
  const struct lumos_measured_shape *of = asked->of;
  for (size_t i = 0; i < calibration->shapes.count; i++) {
    const struct lumos_measured_shape *shape = &calibration->shapes.items[i];
    if (shape->family == of->family && !is_left_out(asked, shape)) {
      offer(&family, log(shape->model / of->model), ratio_of(shape));
    }
  }
  bool found = family.below >= 0 || family.above >= 0;
  return found ? (struct lumos_duration){.ns = of->model * exp(interpolate(&family)), .source = LUMOS_OF_FAMILY}
               : (struct lumos_duration){.ns = of->model, .source = LUMOS_OF_CONSTANTS};
}

static struct lumos_duration by_like_shapes(const struct lumos_calibration *calibration, const struct asked *asked) {
  struct weighted_list class = {0}, all = {0};
  const struct lumos_measured_shape *of = asked->of;
  struct lumos_duration found = {.ns = of->model, .source = LUMOS_OF_CONSTANTS};
  for (size_t i = 0; i < calibration->shapes.count; i++) {
    const struct lumos_measured_shape *shape = &calibration->shapes.items[i];
    if (!is_left_out(asked, shape)) {
      double distance = log(shape->model / of->model), ratio = ratio_of(shape);
      if (shape->class == of->class) {
        add(&class, distance, ratio);
      }
      add(&all, distance, ratio);
    }
  }
  if (all.count > 0) {
    double ratio = middle_of(class.count > 0 ? &class : &all);
    found = (struct lumos_duration){.ns = of->model * exp(ratio), .source = LUMOS_OF_MODEL};
  }
  lumos_vector_free(&class);
  lumos_vector_free(&all);
  return found;
}

static struct lumos_duration predict(const struct lumos_calibration *calibration, struct lumos_measured_shape of,
                                     bool except, bool strange) {
  const struct asked asked = {&of, except, strange};
  const struct lumos_measured_shape *own = except ? NULL : find_own(calibration, &of);
  if (own != NULL) {
    return (struct lumos_duration){.ns = of.model * exp(ratio_of(own)), .source = LUMOS_OF_SHAPE};
  }
  struct lumos_duration found = by_family(calibration, &asked);
  return found.source == LUMOS_OF_FAMILY ? found : by_like_shapes(calibration, &asked);
}

struct lumos_duration lumos_calibrated_duration(const struct lumos_calibration *calibration,
                                                struct lumos_measured_shape of) {
  struct lumos_duration found = predict(calibration, of, false, false);
  found.common = calibration->errors[found.source].common;
  found.own = calibration->errors[found.source].own;
  return found;
}

/* ---- How far off ---- */

struct misses {
  double sum, squares;
  uint32_t count;
};

static void miss(struct misses *misses, double error) {
  misses->sum += error;
  misses->squares += error * error;
  misses->count++;
}

/* By more than a factor of e nothing is known, by whatever factor some shape is off: one that its op does not go
 * through. */
static double known_part(double off) { return fmin(off, 1); }

/* What all misses have in common is their mean, as far as so few tell it; the rest averages out. */
enum { FEW = 3, MOST_STRANGE = 500 };
static struct lumos_duration errors_of(const struct misses *misses, struct lumos_duration assumed) {
  if (misses->count < FEW) {
    return assumed;
  }
  double count = misses->count, mean = misses->sum / count;
  double variance = fmax(misses->squares - count * mean * mean, 0) / (count - 1);
  return (struct lumos_duration){.common = known_part(sqrt(mean * mean + variance / count)),
                                 .own = known_part(sqrt(variance))};
}

void lumos_calibration_judge(struct lumos_calibration *calibration,
                             const struct lumos_duration assumed[LUMOS_DURATION_SOURCES]) {
  struct misses misses[LUMOS_DURATION_SOURCES] = {{0, 0, 0}};
  double spread = 0, squares = 0, time = 0;
  uint32_t told = 0;                                           /* shapes that others tell of */
  size_t apart = calibration->shapes.count / MOST_STRANGE + 1; /* one in so many, for each sorts all */
  for (size_t i = 0; i < calibration->shapes.count; i++) {
    struct lumos_measured_shape shape = calibration->shapes.items[i];
    struct lumos_duration found = predict(calibration, shape, true, false);
    calibration->shapes.items[i].left_out = found.ns;
    calibration->shapes.items[i].left_out_source = found.source;
    miss(&misses[found.source], log(found.ns / shape.measured));
    miss(&misses[LUMOS_OF_CONSTANTS], log(shape.model / shape.measured));
    double error = log(found.ns / shape.measured),
           of = found.source < LUMOS_OF_CONSTANTS ? shape.count * shape.measured : 0;
    squares += of * error * error;
    time += of;
    told += of > 0;
    if (found.source == LUMOS_OF_FAMILY && i % apart == 0) { /* what it would be if its family had not been measured */
      found = predict(calibration, shape, true, true);
      miss(&misses[LUMOS_OF_MODEL], log(found.ns / shape.measured));
    }
    spread += shape.spread * shape.spread;
  }
  for (int source = LUMOS_OF_FAMILY; source < LUMOS_DURATION_SOURCES; source++) {
    calibration->errors[source] = errors_of(&misses[source], assumed[source]);
  }
  calibration->off = told >= FEW ? known_part(sqrt(squares / time)) : assumed[LUMOS_OF_MODEL].own;
  calibration->errors[LUMOS_OF_SHAPE] = assumed[LUMOS_OF_SHAPE];
  if (calibration->shapes.count > 0) {
    calibration->errors[LUMOS_OF_SHAPE].own = sqrt(spread / (double)calibration->shapes.count);
  }
}

void lumos_calibration_free(struct lumos_calibration *calibration) { lumos_vector_free(&calibration->shapes); }

/* ---- Medians ---- */

static int by_shape_and_time(const void *left, const void *right) {
  const struct lumos_observation *a = left, *b = right;
  return a->shape != b->shape ? LUMOS_ORDER(a->shape, b->shape) : LUMOS_ORDER(a->ns, b->ns);
}

void lumos_calibration_observe(struct lumos_calibration *calibration, struct lumos_observations *observations) {
  lumos_vector_sort(observations, by_shape_and_time);
  for (size_t i = 0, end = 0; i < observations->count; i = end) {
    const struct lumos_observation *first = &observations->items[i];
    for (end = i; end < observations->count && observations->items[end].shape == first->shape; end++) {
    }
    struct lumos_measured_shape *shape = &calibration->shapes.items[first->shape];
    size_t count = end - i;
    shape->count = (uint32_t)count;
    int64_t twice = first[(count - 1) / 2].ns + first[count / 2].ns;
    /* The way between the 16th and the 84th percentile, which is two sigma of what is normal. */
    int64_t way = first[(count - 1) * 84 / 100].ns - first[(count - 1) * 16 / 100].ns;
    shape->measured = (double)twice / 2;
    shape->spread = (double)way / (double)twice;
  }
}
