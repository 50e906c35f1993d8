/* Reading a chain: it is walked with the bindings of all tasks; then one more run of the simulation tells every
 * constraint on its own. */
#include "report/content/chain.h"

#include "sim/steps.h"
#include <stdlib.h>

bool report_chain_step(const struct report_boundaries *steps, const struct lumos_report_options *options, bool changed,
                       struct report_boundary *step) {
  struct lumos_steps_list list = {0};
  const struct lumos_step *found = NULL;
  for (size_t i = 0; i < steps->count; i++) {
    const struct report_boundary *one = &steps->items[i];
    lumos_vector_push(&list, ((struct lumos_step){LUMOS_NONE, one->step, one->start, one->end}));
  }
  if (!options->has_step) {
    found = lumos_typical_step(&list, lumos_first_step_is_left_out(list.count, changed));
  }
  for (size_t i = 0; options->has_step && i < list.count; i++) {
    found = list.items[i].step == options->step ? &list.items[i] : found;
  }
  if (found != NULL) {
    *step = (struct report_boundary){found->step, found->start, found->end};
  }
  lumos_vector_free(&list);
  return found != NULL;
}

enum { PASSES_START = 1, PASSES_END = 2 };

/* Which ends of its task the chain passes with this part. */
static uint8_t passes(const struct lumos_path_part *part) {
  bool by_end = part->kind == LUMOS_HELD_BY_WAIT || part->kind == LUMOS_HELD_BY_COLLECTIVE;
  if (part->what == LUMOS_PATH_RUN && !by_end) {
    return PASSES_START | PASSES_END;
  }
  return by_end ? PASSES_END : PASSES_START;
}

static struct lumos_binding binding_of(const struct lumos_held *bindings, const struct lumos_path_part *part) {
  return passes(part) & PASSES_START ? lumos_held_of(bindings, part->task).start
                                     : lumos_held_of(bindings, part->task).end;
}

/* Where the constraints on one end of a task begin to delay it: at the latest of them, or where its own time does. */
static int64_t limit_of(const struct report_chain *chain, const struct lumos_held *bindings,
                        const struct lumos_constraint *own, size_t count, int to) {
  const struct lumos_job *job = chain->job;
  uint32_t task = own->dst;
  if (to == LUMOS_END && lumos_held_of(bindings, task).end.kind == LUMOS_HELD_BY_ITSELF) {
    const struct lumos_run *run = &job->runs.items[task];
    return lumos_detail_of(job, &job->tasks.items[task])->wait.on != 0 ? run->start : run->start + run->dur;
  }
  int64_t latest = INT64_MIN;
  for (size_t i = 0; i < count; i++) {
    latest = own[i].to == to && own[i].bound > latest ? own[i].bound : latest;
  }
  return latest;
}

static bool binds(const struct lumos_constraint *constraint, const struct lumos_held *bindings) {
  const struct lumos_bindings own = lumos_held_of(bindings, constraint->dst);
  const struct lumos_binding *by = constraint->to == LUMOS_START ? &own.start : &own.end;
  return by->src == constraint->src && by->kind == constraint->kind && by->from == constraint->from;
}

/* The constraints on one task. */
static void add_slacks(struct report_chain *chain, const struct lumos_held *bindings, uint8_t passed,
                       const struct lumos_constraint *own, size_t count) {
  int64_t limits[LUMOS_END + 1] = {0};
  for (int to = LUMOS_START; to <= LUMOS_END; to++) {
    limits[to] = limit_of(chain, bindings, own, count, to);
  }
  for (size_t i = 0; i < count; i++) {
    bool counts = passed & (own[i].to == LUMOS_START ? PASSES_START : PASSES_END);
    if (counts && own[i].src != LUMOS_NONE && !binds(&own[i], bindings)) {
      int64_t slack = limits[own[i].to] - own[i].bound;
      struct report_slack found = {own[i], slack < 0 ? 0 : slack};
      lumos_vector_push(&chain->slacks, found);
    }
  }
}

static int compare_slacks(const void *left_item, const void *right_item) {
  const struct report_slack *left = left_item, *right = right_item;
  if (left->slack != right->slack) {
    return left->slack < right->slack ? -1 : 1;
  }
  const struct lumos_constraint *a = &left->constraint;
  const struct lumos_constraint *b = &right->constraint;
  if (a->dst != b->dst) {
    return a->dst < b->dst ? -1 : 1;
  }
  if (a->src != b->src) {
    return a->src < b->src ? -1 : 1;
  }
  int by_kind = a->kind - b->kind;
  return by_kind != 0 ? by_kind : a->to - b->to;
}

static bool read_slacks(struct report_chain *chain, const struct lumos_held *bindings, const uint8_t *passed,
                        const uint8_t *watched, struct lumos_error *error) {
  struct lumos_constraints all = {0};
  bool found = lumos_bindings_find(chain->job, NULL, watched, &all, error);
  for (size_t first = 0, i = 1; found && first < all.count; i++) {
    if (i == all.count || all.items[i].dst != all.items[first].dst) {
      add_slacks(chain, bindings, passed[all.items[first].dst], &all.items[first], i - first);
      first = i;
    }
  }
  lumos_vector_sort(&chain->slacks, compare_slacks);
  lumos_vector_free(&all);
  return found;
}

static void walk(struct report_chain *chain, const struct lumos_held *bindings, uint8_t *passed, uint8_t *watched) {
  lumos_path_walk(chain->job, bindings, chain->from, chain->until, &chain->parts);
  for (size_t i = 0; i < chain->parts.count; i++) {
    const struct lumos_path_part *part = &chain->parts.items[i];
    passed[part->task] |= passes(part);
    watched[part->task] = 1;
    lumos_vector_push(&chain->bindings, binding_of(bindings, part));
  }
}

bool report_chain_read(const struct lumos_job *job, const struct lumos_held *bindings,
                       const struct report_boundary *step, struct report_chain *chain, struct lumos_error *error) {
  *chain = (struct report_chain){.job = job, .step = step->step, .from = step->start, .until = step->end};
  uint8_t *passed = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  uint8_t *watched = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  walk(chain, bindings, passed, watched);
  bool found = read_slacks(chain, bindings, passed, watched, error);
  free(passed);
  free(watched);
  return found;
}

void report_chain_free(struct report_chain *chain) {
  lumos_vector_free(&chain->parts);
  lumos_vector_free(&chain->bindings);
  lumos_vector_free(&chain->slacks);
}
