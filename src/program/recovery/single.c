/* A pass that goes through one layer alone repeats nothing. Its layer is like those of other passes, where these have several; else it is what
 * passes of different stages have in common, for only the first has the embedding and only the last the head. */
#include "program/recovery/recovery.h"

#include <stdlib.h>

struct template { /* one layer */
  struct lumos_view view;
  struct lumos_sequence sequence;
};

static bool is_single(const struct lumos_pass *pass, uint8_t phase) {
  return pass->phase == phase && pass->layers == 0 && pass->count > 0;
}

/* A layer of a pass that has several. */
static bool from_several(const struct lumos_recovery *recovery, uint8_t phase, struct template *layer) {
  for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
    const struct lumos_program *program = &recovery->programs[r];
    for (size_t p = 0; p < program->passes.count; p++) {
      const struct lumos_pass *pass = &program->passes.items[p];
      if (pass->phase != phase || pass->layers == 0) {
        continue;
      }
      layer->view = lumos_view_open(program, pass);
      uint32_t first = 0, end = 0;
      while (program->elements.items[layer->view.elements[first]].layer != 1) {
        first++;
      }
      for (end = first; end < layer->view.count && program->elements.items[layer->view.elements[end]].layer == 1;) {
        end++;
      }
      layer->sequence = (struct lumos_sequence){layer->view.symbols + first, layer->view.weights + first, end - first};
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
  layer->view = lumos_view_open(&recovery->programs[rank], pass);
  struct lumos_view other_view = lumos_view_open(&recovery->programs[other_rank], other);
  struct lumos_sequence whole = lumos_view_sequence(&layer->view), rest = lumos_view_sequence(&other_view);
  bool common = lumos_layers_common(&whole, &rest, &start, &end);
  lumos_view_close(&other_view);
  if (!common) {
    lumos_view_close(&layer->view);
    return false;
  }
  layer->sequence = (struct lumos_sequence){whole.symbols + start, whole.weights + start, end - start};
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
      struct lumos_view view = lumos_view_open(program, pass);
      struct lumos_sequence sequence = lumos_view_sequence(&view);
      uint32_t starts[2];
      if (lumos_layers_place(&sequence, &layer->sequence, &starts[0], &starts[1])) {
        lumos_set_layers(program, pass, &view, starts, 1);
      }
      lumos_view_close(&view);
    }
  }
}

void lumos_program_single_layers(struct lumos_recovery *recovery) {
  static const uint8_t phases[] = {LUMOS_FORWARD, LUMOS_BACKWARD};
  for (size_t i = 0; i < sizeof phases; i++) {
    uint32_t rank;
    struct template layer;
    bool any = recovery->stages > 1 && shortest(recovery, phases[i], LUMOS_ABSENT_INT, &rank) != NULL;
    if (any && (from_several(recovery, phases[i], &layer) || from_common(recovery, phases[i], &layer))) {
      place_layers(recovery, phases[i], &layer);
      lumos_view_close(&layer.view);
    }
  }
}
