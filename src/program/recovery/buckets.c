/* Communication that belongs to no layer: gradients, reduced bucket by bucket while the last micro-batch goes back. It shows by missing in
 * other passes of the same kind, or by where it runs: what layers share in the pass back they share forward, too, on the same stream or in the
 * same group. What is launched only right before such communication prepares it, and is of no layer either. */
#include "program/recovery/recovery.h"

#include <stdlib.h>

struct census {              /* of a symbol */
  uint32_t passes, last;     /* backward passes that have it; the last of them, from 1 */
  uint32_t count, preparing; /* launches; those right before communication of no layer */
};

static uint32_t most_symbol(const struct lumos_program *program) {
  uint32_t most = 0;
  for (size_t i = 0; i < program->elements.count; i++) {
    most = program->elements.items[i].symbol > most ? program->elements.items[i].symbol : most;
  }
  return most;
}

static bool is_collective(const struct lumos_program *program, const struct lumos_element *element) {
  return lumos_element_task(program, element)->kind == LUMOS_COLLECTIVE;
}

/* Where a collective runs: its group, if the trace names it, else its stream. */
static uint32_t place_of(const struct lumos_program *program, const struct lumos_element *element) {
  const struct lumos_task *task = lumos_element_task(program, element);
  lumos_string_id group = lumos_detail_of(program->job, task)->comm.group;
  return group != LUMOS_NO_STRING ? (uint32_t)program->job->lanes.count + group : task->lane;
}

/* By place: do forward passes share anything there? */
static bool *shared_forward(const struct lumos_program *program) {
  const struct lumos_job *job = program->job;
  bool *shared = lumos_allocate_zeroed(job->lanes.count + lumos_strings_count(job->strings) + 1, sizeof *shared);
  for (size_t i = 0; i < program->elements.count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    uint8_t phase = element->pass == LUMOS_NONE ? 0 : program->passes.items[element->pass].phase;
    if (phase == LUMOS_FORWARD && is_collective(program, element)) {
      shared[place_of(program, element)] = true;
    }
  }
  return shared;
}

void lumos_program_buckets(struct lumos_program *program) {
  struct lumos_element *elements = program->elements.items;
  struct census *census = lumos_allocate_zeroed((size_t)most_symbol(program) + 1, sizeof *census);
  bool *shared = shared_forward(program);
  uint32_t passes = 0;
  for (size_t p = 0; p < program->passes.count; p++) {
    const struct lumos_pass *pass = &program->passes.items[p];
    passes += pass->phase == LUMOS_BACKWARD;
    for (uint32_t i = pass->first; i < pass->first + pass->count && pass->phase == LUMOS_BACKWARD; i++) {
      struct census *of = &census[elements[i].symbol];
      of->passes += of->last != p + 1;
      of->last = (uint32_t)p + 1;
    }
  }
  for (size_t i = 0; i < program->elements.count; i++) {
    if (elements[i].pass == LUMOS_NONE || !is_collective(program, &elements[i])) {
      continue;
    }
    const struct census *of = &census[elements[i].symbol];
    uint8_t phase = program->passes.items[elements[i].pass].phase;
    bool missing = of->passes > 0 && of->passes < passes;
    bool back = phase == LUMOS_BACKWARD || phase == LUMOS_WEIGHT;
    if (missing || (back && !shared[place_of(program, &elements[i])])) {
      lumos_set_apart(&elements[i]);
    }
  }
  free(census);
  free(shared);
}

void lumos_program_preparations(struct lumos_program *program) {
  struct lumos_element *elements = program->elements.items;
  struct census *census = lumos_allocate_zeroed((size_t)most_symbol(program) + 1, sizeof *census);
  for (size_t i = 0; i < program->elements.count; i++) {
    bool last = i + 1 == program->elements.count;
    bool prepares = !last && elements[i + 1].apart && is_collective(program, &elements[i + 1]) &&
                    elements[i].pass == elements[i + 1].pass;
    census[elements[i].symbol].count++;
    census[elements[i].symbol].preparing += prepares;
  }
  for (size_t i = 0; i < program->elements.count; i++) {
    const struct census *of = &census[elements[i].symbol];
    if (elements[i].symbol != 0 && of->preparing == of->count) {
      lumos_set_apart(&elements[i]);
    }
  }
  free(census);
}
