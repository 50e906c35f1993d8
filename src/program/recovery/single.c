/* A pass that goes through one layer alone repeats nothing. Its layer is like those of other passes, where these have
 * several; else it is what passes of different stages have in common, for only the first has the embedding and only the
 * last the head. A model of one layer on one stage has three norms: before attention, before what follows it, and
 * before the head. Its layer lies from the first to the third. */
#include "program/recovery/recovery.h"

#include <stdlib.h>

struct template { /* one layer */
  struct lumos_view view;
  struct lumos_sequence sequence;
};

/* Layers begin and end with computing: without communication, which may come at the same place in stages that share
 * nothing else there. */
static struct lumos_view open_computing(const struct lumos_program *program, const struct lumos_pass *pass) {
  struct lumos_view view = lumos_view_open(program, pass);
  uint32_t count = 0;
  for (uint32_t i = 0; i < view.count; i++) {
    const struct lumos_element *element = &program->elements.items[view.elements[i]];
    if (lumos_is_compute(lumos_element_task(program, element)->kind)) {
      view.elements[count] = view.elements[i];
      view.symbols[count] = view.symbols[i];
      view.weights[count++] = view.weights[i];
    }
  }
  view.count = count;
  return view;
}

static uint32_t place_in(const struct lumos_view *view, uint32_t element) {
  uint32_t place = 0;
  while (view->elements[place] != element) {
    place++;
  }
  return place;
}

/* The layer of a pass, from and to these places of what it computes, with the communication between them. */
static void set_layer(struct lumos_program *program, struct lumos_pass *pass, const struct lumos_view *computing,
                      uint32_t start, uint32_t end) {
  struct lumos_view view = lumos_view_open(program, pass);
  uint32_t starts[2] = {place_in(&view, computing->elements[start]), place_in(&view, computing->elements[end - 1]) + 1};
  lumos_set_layers(program, pass, &view, starts, 1);
  lumos_view_close(&view);
}

static bool is_single(const struct lumos_pass *pass, uint8_t phase) {
  return pass->phase == phase && pass->layers == 0 && pass->count > 0;
}

/* A layer of a pass that has several. */
static bool from_several(const struct lumos_recovery *recovery, uint8_t phase, struct template *layer) {
  for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
    const struct lumos_program *program = &recovery->programs[r];
    for (size_t p = 0; p < program->passes.count; p++) {
      const struct lumos_pass *pass = &program->passes.items[p];
      if (pass->phase != phase || pass->layers < 2) {
        continue;
      }
      layer->view = open_computing(program, pass);
      uint32_t first = 0, end = 0;
      while (program->elements.items[layer->view.elements[first]].layer != 1) {
        first++;
      }
      for (end = first; end < layer->view.count && program->elements.items[layer->view.elements[end]].layer == 1;) {
        end++;
      }
      layer->sequence = (struct lumos_sequence){
          .symbols = layer->view.symbols + first, .weights = layer->view.weights + first, .count = end - first};
      return true;
    }
  }
  return false;
}

static const struct lumos_pass *shortest(const struct lumos_recovery *recovery, uint8_t phase, int32_t but_stage,
                                         uint32_t *rank) {
  const struct lumos_pass *found = NULL;
  for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
    const struct lumos_program *program = &recovery->programs[r];
    for (size_t p = 0; p < program->passes.count && program->stage != but_stage; p++) {
      const struct lumos_pass *pass = &program->passes.items[p];
      if (is_single(pass, phase) && (found == NULL || pass->count < found->count)) {
        found = pass;
        *rank = r;
      }
    }
  }
  return found;
}

/* The shortest pass, cut down to what it shares with the shortest of another stage. */
static bool from_common(const struct lumos_recovery *recovery, uint8_t phase, struct template *layer) {
  uint32_t rank, other_rank, start, end;
  const struct lumos_pass *pass = shortest(recovery, phase, LUMOS_ABSENT_INT, &rank);
  if (pass == NULL) {
    return false;
  }
  const struct lumos_pass *other = shortest(recovery, phase, recovery->programs[rank].stage, &other_rank);
  if (other == NULL) {
    return false;
  }
  layer->view = open_computing(&recovery->programs[rank], pass);
  struct lumos_view other_view = open_computing(&recovery->programs[other_rank], other);
  struct lumos_sequence whole = lumos_view_sequence(&layer->view), rest = lumos_view_sequence(&other_view);
  bool common = lumos_layers_common(&whole, &rest, &start, &end);
  lumos_view_close(&other_view);
  if (!common) {
    lumos_view_close(&layer->view);
    return false;
  }
  layer->sequence =
      (struct lumos_sequence){.symbols = whole.symbols + start, .weights = whole.weights + start, .count = end - start};
  return true;
}

static void place_layers(struct lumos_recovery *recovery, uint8_t phase, const struct template *layer) {
  for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
    struct lumos_program *program = &recovery->programs[r];
    for (size_t p = 0; p < program->passes.count; p++) {
      struct lumos_pass *pass = &program->passes.items[p];
      if (!is_single(pass, phase)) {
        continue;
      }
      struct lumos_view view = open_computing(program, pass);
      struct lumos_sequence sequence = lumos_view_sequence(&view);
      uint32_t start, end;
      if (lumos_layers_place(&sequence, &layer->sequence, &start, &end)) {
        set_layer(program, pass, &view, start, end);
      }
      lumos_view_close(&view);
    }
  }
}

/* ---- a model of one layer ---- */

enum { NORMS = 3, NORMS_AGAIN = 5 /* where the pass back computes forward work again */ };

static uint8_t kind_at(const struct lumos_program *program, const struct lumos_view *view, uint32_t place) {
  return lumos_element_task(program, &program->elements.items[view->elements[place]])->kind;
}

/* Where norms begin, several kernels in a row being one; how many there are, or more than fit. */
static uint32_t find_norms(const struct lumos_program *program, const struct lumos_view *view,
                           uint32_t begins[NORMS_AGAIN]) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < view->count; i++) {
    if (kind_at(program, view, i) == LUMOS_NORM && (i == 0 || kind_at(program, view, i - 1) != LUMOS_NORM)) {
      if (count < NORMS_AGAIN) {
        begins[count] = i;
      }
      count++;
    }
  }
  return count;
}

static uint32_t count_kind(const struct lumos_program *program, const struct lumos_view *view, uint32_t from,
                           uint32_t to, uint8_t kind) {
  uint32_t count = 0;
  for (uint32_t i = from; i < to; i++) {
    count += kind_at(program, view, i) == kind;
  }
  return count;
}

/* The one layer between an embedding, which multiplies nothing, and a head. Back, what adds up gradients behind the
 * layer's last norm is the layer's as far as it also comes behind the norm before. */
static bool between_norms(const struct lumos_program *program, const struct lumos_pass *pass,
                          const struct lumos_view *view, uint32_t *start, uint32_t *end) {
  uint32_t norms[NORMS_AGAIN], count = find_norms(program, view, norms);
  if (count != NORMS && (count != NORMS_AGAIN || pass->phase != LUMOS_BACKWARD)) {
    return false;
  }
  uint32_t last = norms[count - 1];
  if (count_kind(program, view, 0, norms[0], LUMOS_GEMM) > 0 ||
      count_kind(program, view, norms[0], norms[1], LUMOS_ATTENTION) == 0 ||
      count_kind(program, view, norms[1], norms[2], LUMOS_ATTENTION) > 0 ||
      count_kind(program, view, last, view->count, LUMOS_GEMM) == 0) {
    return false;
  }
  uint32_t shared = 0;
  while (pass->phase == LUMOS_BACKWARD && shared < norms[0] &&
         view->symbols[norms[0] - shared - 1] == view->symbols[norms[1] - shared - 1]) {
    shared++;
  }
  *start = norms[0] - shared;
  *end = last;
  return true;
}

static bool has_layers(const struct lumos_recovery *recovery) {
  for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
    for (size_t p = 0; p < recovery->programs[r].passes.count; p++) {
      if (recovery->programs[r].passes.items[p].layers > 0) {
        return true;
      }
    }
  }
  return false;
}

static void place_between_norms(struct lumos_program *program) {
  for (size_t p = 0; p < program->passes.count; p++) {
    struct lumos_pass *pass = &program->passes.items[p];
    uint32_t start, end;
    if (!is_single(pass, LUMOS_FORWARD) && !is_single(pass, LUMOS_BACKWARD)) {
      continue;
    }
    struct lumos_view view = open_computing(program, pass);
    if (between_norms(program, pass, &view, &start, &end)) {
      set_layer(program, pass, &view, start, end);
      pass->evidence = LUMOS_BY_NORMS;
    }
    lumos_view_close(&view);
  }
}

void lumos_program_single_layers(struct lumos_recovery *recovery) {
  if (recovery->stages == 1) {
    bool several = has_layers(recovery);
    for (uint32_t r = 0; !several && r < recovery->job->ranks.count; r++) {
      place_between_norms(&recovery->programs[r]);
    }
    return;
  }
  static const uint8_t phases[] = {LUMOS_FORWARD, LUMOS_BACKWARD};
  for (size_t i = 0; i < sizeof phases; i++) {
    uint32_t rank;
    struct template layer;
    bool any = shortest(recovery, phases[i], LUMOS_ABSENT_INT, &rank) != NULL;
    if (any && (from_several(recovery, phases[i], &layer) || from_common(recovery, phases[i], &layer))) {
      place_layers(recovery, phases[i], &layer);
      lumos_view_close(&layer.view);
    }
  }
}
