#include "rebuild/unison.h"

#include "base/hash.h"
#include "rebuild/axes.h"
#include "rebuild/label.h"
#include <stdlib.h>
#include <string.h>

struct voice {         /* of a rank, in what it has in common with others along some axes */
  uint64_t operations; /* all of them, in order */
  uint32_t count;
  int32_t rank;
};
LUMOS_VECTOR_TYPE(voices, struct voice);

struct unison {
  const struct rebuild_plan *plan;
  const struct rebuild_blocks *blocks;
  uint8_t *axes; /* by task of the recording: along which its collective is; 0: it is none, or between two stages */
  bool used[REBUILD_AXES]; /* some collective is along these */
  struct lumos_numbering labels, numbers;
  struct voices first; /* by number of a place along all other axes: the rank that comes first there */
};

static uint8_t *find_axes(const struct lumos_job *job) {
  uint8_t *axes = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    unsigned along = rebuild_is_pair(collective) ? 0 : rebuild_axes_of_collective(job, collective);
    for (uint32_t m = 0; m < collective->member_count; m++) {
      axes[job->members.items[collective->member_first + m]] |= (uint8_t)along;
    }
  }
  return axes;
}

/* What ranks tell each other one by one may be more or less from each. */
static bool is_even(const struct lumos_job *job, lumos_string_id op) {
  static const char *const even[] = {"all_reduce", "reduce_scatter", "all_gather"};
  bool is = false;
  for (size_t i = 0; i < sizeof even / sizeof *even; i++) {
    is = is || strcmp(lumos_string(job->strings, op), even[i]) == 0;
  }
  return is;
}

static void sing(const struct unison *unison, const struct rebuild_item *item, struct voice *voices) {
  const struct lumos_job *job = unison->blocks->job;
  const struct rebuild_block *block = &unison->blocks->items.items[item->like];
  for (uint32_t i = 0; i < block->device_count; i++) {
    uint32_t task = unison->blocks->devices[block->device_first + i];
    const struct lumos_comm *comm = &lumos_detail_of(job, &job->tasks.items[task])->comm;
    struct voice *voice = &voices[unison->axes[task]];
    if (unison->axes[task] != 0) {
      voice->operations = lumos_hash_mix(voice->operations, lumos_key_pair(comm->op, (uint32_t)item->step));
      voice->operations = lumos_hash_mix(voice->operations, is_even(job, comm->op) ? (uint64_t)comm->bytes : 0);
      voice->count++;
    }
  }
}

static uint32_t place_of(struct unison *unison, const struct lumos_parallel *at, unsigned axes) {
  uint32_t label[1 + REBUILD_PLACES] = {axes};
  rebuild_axes_place(&unison->plan->model.sizes, at, axes, label + 1);
  return lumos_number_of(&unison->numbers, rebuild_label(&unison->labels, label, sizeof label / sizeof *label));
}

static bool check_rank(struct unison *unison, const struct rebuild_rank *rank, struct lumos_error *error) {
  struct voice voices[REBUILD_AXES] = {0};
  for (size_t i = 0; i < rank->items.count; i++) {
    sing(unison, &rank->items.items[i], voices);
  }
  for (unsigned axes = 1; axes < REBUILD_AXES; axes++) {
    if (!unison->used[axes] || rebuild_axes_count(unison->plan, &rank->at, axes) < 2) {
      continue;
    }
    uint32_t place = place_of(unison, &rank->at, axes);
    voices[axes].rank = rank->number;
    if (place == unison->first.count) {
      lumos_vector_push(&unison->first, voices[axes]);
    }
    const struct voice *first = &unison->first.items[place];
    if (first->count != voices[axes].count || first->operations != voices[axes].operations) {
      return lumos_fail(error,
                        "the plan is not legal: rank %d would take part in other collectives (%u) than rank %d of its "
                        "group (%u); record all ranks of a replica, and whole steps",
                        rank->number, voices[axes].count, first->rank, first->count);
    }
  }
  return true;
}

/* ---- places ---- */

static int by_number(const void *left, const void *right) {
  const int32_t *a = left, *b = right;
  return LUMOS_ORDER(*a, *b);
}

/* All ranks of a stage together stand for as many as it has. */
static bool check_stage(const struct rebuild_plan *plan, int32_t stage, struct lumos_error *error) {
  const struct lumos_parallel *sizes = &plan->model.sizes;
  int64_t sum = 0, all = (int64_t)sizes->tp * rebuild_copies_of(sizes);
  for (size_t r = 0; r < plan->ranks.count; r++) {
    const struct rebuild_rank *rank = &plan->ranks.items[r];
    sum += rank->at.pp != stage ? 0 : rank->represents > 0 ? rank->represents : 1;
  }
  return sum == all || lumos_fail(error, "the plan is not legal: ranks of stage %d stand for %lld, not for %lld", stage,
                                  (long long)sum, (long long)all);
}

static bool check_places(const struct rebuild_plan *plan, struct lumos_error *error) {
  const struct lumos_parallel *sizes = &plan->model.sizes;
  LUMOS_VECTOR(int32_t) numbers = {0};
  int32_t wrong = LUMOS_ABSENT_INT;
  for (size_t r = 0; r < plan->ranks.count; r++) {
    const struct rebuild_rank *rank = &plan->ranks.items[r];
    const struct lumos_parallel *at = &rank->at;
    bool there = at->tp >= 0 && at->tp < sizes->tp && at->pp >= 0 && at->pp < sizes->pp && at->dp >= 0 &&
                 at->dp < sizes->dp && at->cp < rebuild_contexts_of(sizes) &&
                 rank->number == rebuild_number_at(sizes, at);
    wrong = there ? wrong : rank->number;
    lumos_vector_push(&numbers, rank->number);
  }
  lumos_vector_sort(&numbers, by_number);
  for (size_t r = 1; r < numbers.count; r++) {
    wrong = numbers.items[r] == numbers.items[r - 1] ? numbers.items[r] : wrong;
  }
  lumos_vector_free(&numbers);
  bool legal = wrong == LUMOS_ABSENT_INT ||
               lumos_fail(error, "the plan is not legal: rank %d stands at no place of its own", wrong);
  for (int32_t stage = 0; stage < sizes->pp && legal; stage++) {
    legal = check_stage(plan, stage, error);
  }
  return legal;
}

bool rebuild_check_unison(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                          struct lumos_error *error) {
  struct unison unison = {.plan = plan, .blocks = templates->blocks, .axes = find_axes(templates->blocks->job)};
  bool legal = check_places(plan, error);
  for (size_t t = 0; t < templates->blocks->job->tasks.count; t++) {
    unison.used[unison.axes[t]] = true;
  }
  for (size_t r = 0; r < plan->ranks.count && legal; r++) {
    legal = check_rank(&unison, &plan->ranks.items[r], error);
  }
  free(unison.axes);
  lumos_vector_free(&unison.first);
  lumos_numbering_free(&unison.labels);
  lumos_numbering_free(&unison.numbers);
  return legal;
}
