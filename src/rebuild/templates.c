#include "rebuild/templates.h"

#include "rebuild/label.h"
#include <stdlib.h>

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

/* The end of the members of one step that begin at `from`. */
static uint32_t end_of_step(const struct rebuild_templates *templates, uint32_t from, uint32_t end) {
  const struct rebuild_block *blocks = templates->blocks->items.items;
  uint32_t to = from;
  while (to < end && blocks[templates->members[to]].step == blocks[templates->members[from]].step) {
    to++;
  }
  return to;
}

static void chain_members(struct rebuild_templates *templates, uint32_t template) {
  uint32_t first = templates->first[template], end = templates->first[template + 1];
  for (uint32_t from = first, to = first; from < end; from = to) {
    to = end_of_step(templates, from, end);
    uint32_t next = to == end ? first : to, count = end_of_step(templates, next, end) - next;
    for (uint32_t i = from; i < to; i++) {
      templates->next[templates->members[i]] = templates->members[next + (i - from + 1) % count];
    }
  }
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
  for (uint32_t template = 0; template < templates->count; template++) {
    chain_members(templates, template);
  }
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
