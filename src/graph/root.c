/* Who is the root of a broadcast, scatter, reduce or gather, which traces do not say.
 *
 * Of a group's operations of one kind times tell it. Where no member was ever through before another came, all wait for
 * each other, as they do when the bytes are more than buffers hold: then the rule is that of a symmetric one. Else the
 * root is the only rank that fits all of them: of a broadcast or scatter nobody ends before it has started, and of a
 * reduce or gather it does not end before anybody has. Where several ranks fit, or none, it stays unknown.
 */
#include "graph/graph.h"

#include <stdlib.h>

/* Matches of one group and operation. */
struct family {
  const struct lumos_job *job;
  struct lumos_matches *matches;
  const uint32_t *places; /* in matches->items */
  size_t count;
};

struct named {
  lumos_string_id group, op;
  uint32_t place;
};

static int compare_named(const void *left, const void *right) {
  const struct named *a = left, *b = right;
  return a->group != b->group ? LUMOS_ORDER(a->group, b->group)
         : a->op != b->op     ? LUMOS_ORDER(a->op, b->op)
                              : LUMOS_ORDER(a->place, b->place);
}

/* Is a member through before another has started, by more than clocks can err? */
static bool is_before(const struct lumos_job *job, uint32_t ended, uint32_t started) {
  return lumos_graph_job_end(job, ended) + lumos_graph_clock_doubt(job, ended) + lumos_graph_clock_doubt(job, started) <
         lumos_graph_job_start(job, started);
}

/* Does everybody wait for `member` (from the root), or it for everybody? */
static bool fits_as_root(const struct lumos_job *job, const uint32_t *members, uint32_t count, uint32_t member,
                         bool from_root) {
  for (uint32_t i = 0; i < count; i++) {
    if (from_root ? is_before(job, members[i], member) : is_before(job, member, members[i])) {
      return false;
    }
  }
  return true;
}

/* In all of the family, the rank of the members at `place` fits. Members stand in the same places: all have the same
 * ranks. */
static bool place_fits(const struct family *family, uint32_t place, bool from_root) {
  for (size_t i = 0; i < family->count; i++) {
    const struct lumos_joined *match = &family->matches->items.items[family->places[i]];
    const uint32_t *members = family->matches->members.items + match->member_first;
    if (place >= match->member_count ||
        !fits_as_root(family->job, members, match->member_count, members[place], from_root)) {
      return false;
    }
  }
  return true;
}

static void find_root(const struct family *family) {
  const struct lumos_job *job = family->job;
  struct lumos_joined *items = family->matches->items.items;
  const struct lumos_joined *first = &items[family->places[0]];
  bool from_root = lumos_graph_operation(job, lumos_graph_comm(job, first->lowest)) == LUMOS_OPERATION_FROM_ROOT;
  uint32_t fitting = 0, root = 0;
  for (uint32_t place = 0; place < first->member_count; place++) {
    if (place_fits(family, place, from_root)) {
      fitting++;
      root = place;
    }
  }
  for (size_t i = 0; i < family->count; i++) {
    struct lumos_joined *match = &items[family->places[i]];
    uint32_t member = family->matches->members.items[match->member_first + root];
    if (fitting == first->member_count) {
      match->rule = LUMOS_SYMMETRIC;
    } else if (fitting == 1) {
      match->root = job->ranks.items[lumos_rank_of(job, &job->tasks.items[member])].rank;
    }
  }
}

void lumos_graph_find_roots(const struct lumos_job *job, struct lumos_matches *matches) {
  LUMOS_VECTOR(struct named) names = {0};
  LUMOS_VECTOR(uint32_t) places = {0};
  for (uint32_t i = 0; i < matches->items.count; i++) {
    const struct lumos_joined *match = &matches->items.items[i];
    if (match->rule == LUMOS_ROOTED && match->root == LUMOS_ABSENT_INT && match->complete) {
      const struct lumos_comm *comm = lumos_graph_comm(job, match->lowest);
      struct named named = {comm->group, comm->op, i};
      lumos_vector_push(&names, named);
    }
  }
  lumos_vector_sort(&names, compare_named);
  for (size_t first = 0, end; first < names.count; first = end) {
    places.count = 0;
    for (end = first; end < names.count && names.items[end].group == names.items[first].group &&
                      names.items[end].op == names.items[first].op;
         end++) {
      lumos_vector_push(&places, names.items[end].place);
    }
    const struct family family = {job, matches, places.items, places.count};
    find_root(&family);
  }
  lumos_vector_free(&names);
  lumos_vector_free(&places);
}
