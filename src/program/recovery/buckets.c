/* Communication that belongs to no layer: gradients, reduced bucket by bucket while the last micro-batch goes back. It
 * shows by missing in other passes of the same kind, or by where it runs: what layers share in the pass back they share
 * forward, too, on the same stream or in the same group. Where every layer's parameters are gathered forward, their
 * gradients are summed up and spread layer by layer, on a stream of their own: as often as something is gathered. What
 * is launched only right before such communication prepares it, and is of no layer either. */
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

struct use {                 /* of a place, in collectives */
  uint32_t forward, gathers; /* in forward passes; all_gather among them */
  uint32_t back, scatters;   /* in passes back; reduce_scatter among them */
};

static struct use *count_uses(const struct lumos_program *program, size_t places) {
  const struct lumos_job *job = program->job;
  struct use *uses = lumos_allocate_zeroed(places, sizeof *uses);
  lumos_string_id gather = lumos_interned(job->strings, "all_gather", 10);
  lumos_string_id scatter = lumos_interned(job->strings, "reduce_scatter", 14);
  for (size_t i = 0; i < program->elements.count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    if (element->pass == LUMOS_NONE || !is_collective(program, element)) {
      continue;
    }
    struct use *use = &uses[place_of(program, element)];
    uint8_t phase = program->passes.items[element->pass].phase;
    lumos_string_id op = lumos_detail_of(job, lumos_element_task(program, element))->comm.op;
    use->forward += phase == LUMOS_FORWARD;
    use->gathers += phase == LUMOS_FORWARD && op != LUMOS_NO_STRING && op == gather;
    use->back += phase == LUMOS_BACKWARD;
    use->scatters += phase == LUMOS_BACKWARD && op != LUMOS_NO_STRING && op == scatter;
  }
  return uses;
}

/* By place: do forward passes share anything there, or gather elsewhere as often as passes back spread sums there? */
static bool *shared_forward(const struct lumos_program *program) {
  size_t places = program->job->lanes.count + lumos_strings_count(program->job->strings) + 1;
  struct use *uses = count_uses(program, places);
  bool *shared = lumos_allocate_zeroed(places, sizeof *shared);
  uint32_t gathered = 0; /* where nothing else is done forward */
  for (size_t i = 0; i < places; i++) {
    gathered = uses[i].gathers == uses[i].forward && uses[i].gathers > gathered ? uses[i].gathers : gathered;
  }
  for (size_t i = 0; i < places; i++) {
    bool spreads = uses[i].back > 0 && uses[i].scatters == uses[i].back && uses[i].scatters == gathered;
    shared[i] = uses[i].forward > 0 || spreads;
  }
  free(uses);
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
