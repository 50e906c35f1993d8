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
    const uint32_t label[] = {block->lane,
                              block->phase,
                              block->part,
                              block->transfers,
                              (uint32_t)block->layer,
                              block->turn,
                              standing_of(block->micro_batch, highest),
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

static uint32_t index_of(const struct rebuild_steps *steps, int32_t step) {
  uint32_t index = 0;
  while (steps->items[index] != step) {
    index++;
  }
  return index;
}

/* By pair of steps: how many blocks of the first have one of their template in the other. */
static uint32_t *count_alike(const struct rebuild_templates *templates, const struct rebuild_steps *steps) {
  size_t count = steps->count;
  uint32_t *alike = lumos_allocate_zeroed(count * count, sizeof *alike);
  uint32_t *here = lumos_allocate_zeroed(count, sizeof *here); /* members of a template, by step */
  for (uint32_t template = 0; template <templates->count; template ++) {
    for (uint32_t i = templates->first[template]; i < templates->first[template + 1]; i++) {
      here[index_of(steps, templates->blocks->items.items[templates->members[i]].step)]++;
    }
    for (size_t s = 0; s < count; s++) {
      for (size_t other = 0; other < count; other++) {
        alike[s * count + other] += here[other] > 0 ? here[s] : 0;
      }
    }
    memset(here, 0, count * sizeof *here);
  }
  free(here);
  return alike;
}

/* By index of a step: of those behind it, and then those from the first on, the one that is most like it. */
static uint32_t *find_next_steps(const struct rebuild_templates *templates, const struct rebuild_steps *steps) {
  uint32_t count = (uint32_t)steps->count;
  uint32_t *alike = count_alike(templates, steps), *next = lumos_allocate(count * sizeof *next);
  for (uint32_t s = 0; s < count; s++) {
    next[s] = (s + 1) % count;
    for (uint32_t i = 2; i < count; i++) {
      uint32_t other = (s + i) % count;
      next[s] = alike[s * count + other] > alike[s * count + next[s]] ? other : next[s];
    }
  }
  free(alike);
  return next;
}

/* ---- which block comes next ---- */

struct group { /* members of a template of one step */
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

/* Those of a step; where there are none, those behind `group`, or the first. */
static struct group group_of_step(const struct rebuild_templates *templates, struct group all, struct group group,
                                  int32_t step) {
  struct group found = group_at(templates, group.end == all.end ? all.first : group.end, all.end), other;
  for (uint32_t from = all.first; from < all.end; from = other.end) {
    other = group_at(templates, from, all.end);
    if (templates->blocks->items.items[templates->members[from]].step == step) {
      return other;
    }
  }
  return found;
}

/* What is sent or received goes with what a neighbour does, and stays in its place. Of all else, of another step: the next micro-batch's, or a later one's, that refers to the same blocks around it; else the one
 * at the same place. */
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

static void chain_members(struct rebuild_templates *templates, const uint64_t *ports, uint32_t template,
                          const struct rebuild_steps *steps, const uint32_t *next_steps) {
  struct group all = {templates->first[template], templates->first[template + 1]}, group;
  for (uint32_t from = all.first; from < all.end; from = group.end) {
    group = group_at(templates, from, all.end);
    uint32_t step = index_of(steps, templates->blocks->items.items[templates->members[from]].step);
    struct group next = group_of_step(templates, all, group, steps->items[next_steps[step]]);
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
  for (uint32_t template = 0; template <templates->count; template ++) {
    chain_members(templates, ports, template, &steps, next_steps);
  }
  free(next_steps);
  free(ports);
  lumos_vector_free(&steps);
}

void rebuild_templates_make(struct rebuild_templates *templates, const struct rebuild_blocks *blocks) {
  struct lumos_numbering labels = {0};
  *templates = (struct rebuild_templates){.blocks = blocks};
  templates->of = lumos_allocate(blocks->items.count * sizeof *templates->of);
  templates->next = lumos_allocate(blocks->items.count * sizeof *templates->next);
  templates->members = lumos_allocate(blocks->items.count * sizeof *templates->members);
  for (uint32_t rank = 0; rank < blocks->job->ranks.count; rank++) {
    label_rank(templates, &labels, rank);
  }
  lumos_numbering_free(&labels);
  number_templates(templates);
  list_members(templates);
  chain(templates);
}

void rebuild_templates_free(struct rebuild_templates *templates) {
  free(templates->of);
  free(templates->next);
  free(templates->first);
  free(templates->members);
}

/* How long a thread was silent before its first block is not recorded. */
static bool begins_thread(const struct rebuild_blocks *blocks, uint32_t b) {
  const struct rebuild_block *block = &blocks->items.items[b];
  return block->first == blocks->job->lanes.items[block->lane].task_first;
}

uint32_t rebuild_draw(const struct rebuild_templates *templates, uint32_t like, uint32_t turns) {
  uint32_t drawn = like;
  for (uint32_t i = 0; i < turns; i++) {
    drawn = templates->next[drawn];
  }
  return begins_thread(templates->blocks, drawn) ? templates->next[drawn] : drawn;
}
