#include "rebuild/templates.h"

#include "rebuild/label.h"
#include "rebuild/ports.h"
#include <stdlib.h>
#include <string.h>

/* Where a micro-batch stands among those of its step. */
enum standing { NO_MICRO_BATCH, FIRST, BETWEEN, LAST, ONLY };

/* By rank: the highest micro-batch of each step would be more exact; steps of a job have as many. */
static int32_t highest_micro_batch(const struct rebuild_blocks *blocks, uint32_t rank) {
  int32_t highest = -1;
  for (uint32_t b = blocks->rank_first[rank]; b < blocks->rank_first[rank + 1]; b++) {
    int32_t micro_batch = blocks->items.items[b].micro_batch;
    highest = micro_batch > highest ? micro_batch : highest;
  }
  return highest;
}

static enum standing standing_of(int32_t micro_batch, int32_t highest) {
  if (micro_batch == LUMOS_ABSENT_INT) {
    return NO_MICRO_BATCH;
  }
  if (highest == 0) {
    return ONLY;
  }
  return micro_batch == 0 ? FIRST : micro_batch == highest ? LAST : BETWEEN;
}

static void label_rank(struct rebuild_templates *templates, struct lumos_numbering *labels, uint32_t rank) {
  const struct rebuild_blocks *blocks = templates->blocks;
  int32_t highest = highest_micro_batch(blocks, rank);
  for (uint32_t b = blocks->rank_first[rank]; b < blocks->rank_first[rank + 1]; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    templates->standing[b] = (uint8_t)standing_of(block->micro_batch, highest);
    const uint32_t label[] = {block->lane,
                              block->phase,
                              block->part,
                              rebuild_block_use(block),
                              (uint32_t)block->layer,
                              block->turn,
                              templates->standing[b],
                              (uint32_t)(block->structure >> 32U),
                              (uint32_t)block->structure};
    templates->of[b] = rebuild_label(labels, label, sizeof label / sizeof *label);
  }
}

/* Labels are numbers with gaps: the templates have them in the order in which they come. */
static void number_templates(struct rebuild_templates *templates) {
  struct lumos_numbering numbers = {0};
  for (size_t b = 0; b < templates->blocks->items.count; b++) {
    templates->of[b] = lumos_number_of(&numbers, templates->of[b]);
  }
  templates->count = (uint32_t)numbers.keys.count;
  lumos_numbering_free(&numbers);
}

static void list_members(struct rebuild_templates *templates) {
  size_t blocks = templates->blocks->items.count;
  uint32_t *first = lumos_allocate_zeroed(templates->count + 2U, sizeof *first);
  for (size_t b = 0; b < blocks; b++) {
    first[templates->of[b] + 2]++;
  }
  for (uint32_t i = 2; i < templates->count + 2; i++) {
    first[i] += first[i - 1];
  }
  for (uint32_t b = 0; b < blocks; b++) {
    templates->members[first[templates->of[b] + 1]++] = b;
  }
  templates->first = first;
}

/* ---- which step comes next ---- */

struct share { /* of a step in a template */
  uint32_t template, blocks;
};
LUMOS_VECTOR_TYPE(shares, struct share);

/* Members of a template of one step. */
struct group {
  uint32_t first, end;
};

/* The first group from `from` on. */
static struct group group_at(const struct rebuild_templates *templates, uint32_t from, uint32_t end) {
  const struct rebuild_block *blocks = templates->blocks->items.items;
  struct group group = {from, from};
  while (group.end < end && blocks[templates->members[group.end]].step == blocks[templates->members[from]].step) {
    group.end++;
  }
  return group;
}

/* By index of a step: which templates it has blocks of, ascending. */
static struct shares *list_shares(const struct rebuild_templates *templates, const struct rebuild_steps *steps) {
  struct shares *shares = lumos_allocate_zeroed(steps->count, sizeof *shares);
  struct group group;
  for (uint32_t template = 0; template <templates->count; template ++) {
    for (uint32_t from = templates->first[template]; from < templates->first[template + 1]; from = group.end) {
      group = group_at(templates, from, templates->first[template + 1]);
      int32_t step = templates->blocks->items.items[templates->members[from]].step;
      struct share share = {template, group.end - from};
      lumos_vector_push(&shares[rebuild_step_index(steps, step)], share);
    }
  }
  return shares;
}

/* How many blocks of a step have one of their template in the other. */
static uint32_t count_alike(const struct shares *step, const struct shares *other) {
  uint32_t alike = 0;
  for (size_t i = 0, k = 0; i < step->count && k < other->count; i++) {
    while (k < other->count && other->items[k].template <step->items[i].template) {
      k++;
    }
    alike += k < other->count && other->items[k].template == step->items[i].template ? step->items[i].blocks : 0;
  }
  return alike;
}

/* Of those behind a step, and then those from the first on, the one that is most like it. */
static uint32_t next_step(const struct shares *shares, uint32_t count, uint32_t step) {
  enum { CANDIDATES = 64 }; /* are looked at, none further away. Chosen: what repeats in a job does so sooner */
  uint32_t whole = count_alike(&shares[step], &shares[step]), most = 0, next = step;
  for (uint32_t i = 1; i < count && i <= CANDIDATES && (most < whole || i == 1); i++) {
    uint32_t other = (step + i) % count, alike = count_alike(&shares[step], &shares[other]);
    next = i == 1 || alike > most ? other : next;
    most = alike > most ? alike : most;
  }
  return next;
}

static uint32_t *find_next_steps(const struct rebuild_templates *templates, const struct rebuild_steps *steps) {
  uint32_t count = (uint32_t)steps->count, *next = lumos_allocate(count * sizeof *next);
  struct shares *shares = list_shares(templates, steps);
  for (uint32_t s = 0; s < count; s++) {
    next[s] = next_step(shares, count, s);
  }
  for (uint32_t s = 0; s < count; s++) {
    lumos_vector_free(&shares[s]);
  }
  free(shares);
  return next;
}

bool rebuild_steps_alike(const struct rebuild_templates *templates) {
  struct rebuild_steps steps;
  rebuild_steps_list(&steps, templates->blocks);
  struct shares *shares = list_shares(templates, &steps);
  bool alike = true;
  for (size_t s = 2; s < steps.count; s++) {
    uint32_t whole = count_alike(&shares[s], &shares[s]), first = count_alike(&shares[1], &shares[1]);
    alike &= count_alike(&shares[s], &shares[1]) == whole && count_alike(&shares[1], &shares[s]) == first;
  }
  for (size_t s = 0; s < steps.count; s++) {
    lumos_vector_free(&shares[s]);
  }
  free(shares);
  lumos_vector_free(&steps);
  return alike;
}

/* ---- which block comes next ---- */

/* By index of a step: the first group of a template that is of it. */
static void list_groups(const struct rebuild_templates *templates, struct group all, const struct rebuild_steps *steps,
                        struct group *groups) {
  struct group group;
  for (uint32_t from = all.first; from < all.end; from = group.end) {
    group = group_at(templates, from, all.end);
    uint32_t step = rebuild_step_index(steps, templates->blocks->items.items[templates->members[from]].step);
    groups[step] = groups[step].end == 0 ? group : groups[step];
  }
}

/* What is sent or received goes with what a neighbour does, and stays in its place. Of all else, of another step: the
 * next micro-batch's, or a later one's, that refers to the same blocks around it; else the one at the same place. */
static uint32_t next_of(const struct rebuild_templates *templates, const uint64_t *ports, uint32_t block,
                        uint32_t place, struct group next) {
  uint32_t count = next.end - next.first;
  bool stays = templates->blocks->items.items[block].transfers;
  for (uint32_t i = 1; i < count && !stays; i++) {
    uint32_t other = templates->members[next.first + (place + i) % count];
    if (ports[other] == ports[block]) {
      return other;
    }
  }
  return templates->members[next.first + place % count];
}

/* Behind the group of a step comes that of the next step; where there is none, the one behind it, or the first. */
static void chain_members(struct rebuild_templates *templates, const uint64_t *ports, struct group all,
                          const struct rebuild_steps *steps, const uint32_t *next_steps, const struct group *groups) {
  struct group group;
  for (uint32_t from = all.first; from < all.end; from = group.end) {
    group = group_at(templates, from, all.end);
    uint32_t step = rebuild_step_index(steps, templates->blocks->items.items[templates->members[from]].step);
    struct group next = groups[next_steps[step]];
    next = next.end != 0 ? next : group_at(templates, group.end == all.end ? all.first : group.end, all.end);
    for (uint32_t i = from; i < group.end; i++) {
      uint32_t block = templates->members[i];
      templates->next[block] = next_of(templates, ports, block, i - from, next);
    }
  }
}

static void chain(struct rebuild_templates *templates) {
  uint64_t *ports = rebuild_hash_ports(templates->blocks);
  struct rebuild_steps steps;
  rebuild_steps_list(&steps, templates->blocks);
  uint32_t *next_steps = find_next_steps(templates, &steps);
  struct group *groups = lumos_allocate_zeroed(steps.count, sizeof *groups); /* none: end is 0 */
  for (uint32_t template = 0; template <templates->count; template ++) {
    struct group all = {templates->first[template], templates->first[template + 1]};
    list_groups(templates, all, &steps, groups);
    chain_members(templates, ports, all, &steps, next_steps, groups);
    for (uint32_t i = all.first; i < all.end; i++) {
      groups[rebuild_step_index(&steps, templates->blocks->items.items[templates->members[i]].step)] =
          (struct group){0};
    }
  }
  free(groups);
  free(next_steps);
  free(ports);
  lumos_vector_free(&steps);
}

/* Whatever is drawn first, what is drawn later comes again at some point. */
static void find_circles(struct rebuild_templates *templates) {
  size_t blocks = templates->blocks->items.count, filled = 0;
  uint32_t *walk = lumos_allocate_zeroed(blocks, sizeof *walk); /* by block: the walk that came by first, from 1 */
  templates->circle = lumos_allocate(blocks * sizeof *templates->circle);
  templates->turns = lumos_allocate_zeroed(blocks, sizeof *templates->turns);
  for (uint32_t b = 0; b < blocks; b++) {
    uint32_t at = b, first = (uint32_t)filled;
    for (; walk[at] == 0; at = templates->next[at]) {
      walk[at] = b + 1;
    }
    for (bool met = walk[at] == b + 1; met && templates->turns[at].count == 0; at = templates->next[at]) {
      templates->turns[at] = (struct rebuild_turn){first, 1, (uint32_t)filled - first};
      templates->circle[filled++] = at;
    }
    for (size_t i = first; i < filled; i++) {
      templates->turns[templates->circle[i]].count = (uint32_t)filled - first;
    }
  }
  free(walk);
}

void rebuild_templates_make(struct rebuild_templates *templates, const struct rebuild_blocks *blocks) {
  struct lumos_numbering labels = {0};
  *templates = (struct rebuild_templates){.blocks = blocks};
  templates->of = lumos_allocate(blocks->items.count * sizeof *templates->of);
  templates->next = lumos_allocate(blocks->items.count * sizeof *templates->next);
  templates->standing = lumos_allocate(blocks->items.count);
  templates->members = lumos_allocate(blocks->items.count * sizeof *templates->members);
  for (uint32_t rank = 0; rank < blocks->job->ranks.count; rank++) {
    label_rank(templates, &labels, rank);
  }
  lumos_numbering_free(&labels);
  number_templates(templates);
  list_members(templates);
  chain(templates);
  find_circles(templates);
}

void rebuild_templates_free(struct rebuild_templates *templates) {
  free(templates->of);
  free(templates->next);
  free(templates->first);
  free(templates->members);
  free(templates->circle);
  free(templates->turns);
  free(templates->standing);
  free(templates->delays);
  free(templates->instead);
}

/* How long a thread was silent before its first block is not recorded. */
static bool begins_thread(const struct rebuild_blocks *blocks, uint32_t b) {
  const struct rebuild_block *block = &blocks->items.items[b];
  return block->first == blocks->job->lanes.items[block->lane].task_first;
}

uint32_t rebuild_draw(const struct rebuild_templates *templates, uint32_t like, uint32_t turns) {
  uint32_t drawn = like;
  for (; turns > 0 && templates->turns[drawn].count == 0; turns--) {
    drawn = templates->next[drawn];
  }
  const struct rebuild_turn *turn = &templates->turns[drawn];
  if (turns > 0) {
    drawn = templates->circle[turn->first + ((uint64_t)turn->place + turns) % turn->count];
  }
  return begins_thread(templates->blocks, drawn) ? templates->next[drawn] : drawn;
}
