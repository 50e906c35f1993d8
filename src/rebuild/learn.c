#include "rebuild/learn.h"

#include "rebuild/label.h"
#include "rebuild/ports.h"
#include "rebuild/recorded.h"
#include <lumos/transform.h>
#include <stdlib.h>
#include <string.h>

/* In what a block may differ from the one it is built like; the higher, the less gladly. */
enum difference { LAYER = 1, MICRO_BATCH = 2, PORTS = 4, RANK = 8, STEP = 16, ALL_DIFFERENCES = 31 };

struct learning {
  struct rebuild_templates *templates;
  const struct rebuild_blocks *blocks;
  uint8_t *learned; /* by block */
  uint64_t *ports;  /* likewise */
  struct rebuild_steps steps;
  uint32_t open; /* blocks that are built like none yet */
};

/* Blocks that are learned from, by label. */
struct lists {
  struct lumos_numbering labels, numbers;
  uint32_t *first, *blocks; /* by number, and one more; blocks in their order */
  uint32_t *taken;          /* by number: how many were built like them */
};

static uint32_t unless(bool ignored, uint32_t value) { return ignored ? 0 : value; }

/* Ranks that are built like one are so from one step after the other, so that what ranks do at once varies as between
 * its steps; but for the first, which only settles. */
static uint32_t step_of(const struct learning *learning, const struct rebuild_block *block, unsigned differences) {
  uint32_t count = (uint32_t)learning->steps.count, at = rebuild_step_index(&learning->steps, block->step);
  if ((differences & STEP) != 0) {
    return 0;
  }
  return at == 0 || (differences & RANK) == 0 ? at : 1 + (at + block->rank) % (count - 1);
}

static uint32_t label_of(const struct learning *learning, struct lumos_numbering *labels, uint32_t b,
                         unsigned differences) {
  const struct rebuild_block *block = &learning->blocks->items.items[b];
  bool elsewhere = (differences & RANK) != 0;
  uint32_t first = learning->blocks->job->ranks.items[block->rank].lane_first;
  uint64_t structure = elsewhere ? block->shape : block->structure;
  uint64_t ports = (differences & PORTS) != 0 ? 0 : learning->ports[b];
  const uint32_t label[] = {elsewhere ? block->lane - first : block->lane,
                            (uint32_t)rebuild_coordinates(&learning->blocks->job->ranks.items[block->rank]).pp,
                            block->phase,
                            block->part,
                            rebuild_block_use(block),
                            block->turn,
                            unless((differences & LAYER) != 0 && block->layer >= 0, (uint32_t)block->layer),
                            unless((differences & MICRO_BATCH) != 0, learning->templates->standing[b]),
                            step_of(learning, block, differences),
                            (uint32_t)(structure >> 32U),
                            (uint32_t)structure,
                            (uint32_t)(ports >> 32U),
                            (uint32_t)ports};
  return rebuild_label(labels, label, sizeof label / sizeof *label);
}

static void list_learned(const struct learning *learning, struct lists *lists, unsigned differences) {
  uint32_t count = (uint32_t)learning->blocks->items.count;
  uint32_t *number = lumos_allocate(count * sizeof *number);
  for (uint32_t b = 0; b < count; b++) {
    number[b] = learning->learned[b]
                    ? lumos_number_of(&lists->numbers, label_of(learning, &lists->labels, b, differences))
                    : LUMOS_NO_NUMBER;
  }
  size_t numbers = lists->numbers.keys.count;
  lists->first = lumos_allocate_zeroed(numbers + 2, sizeof *lists->first);
  lists->taken = lumos_allocate_zeroed(numbers + 1, sizeof *lists->taken);
  lists->blocks = lumos_allocate(count * sizeof *lists->blocks);
  for (uint32_t b = 0; b < count; b++) {
    lists->first[number[b] == LUMOS_NO_NUMBER ? 0 : number[b] + 2] += number[b] != LUMOS_NO_NUMBER;
  }
  for (size_t i = 2; i < numbers + 2; i++) {
    lists->first[i] += lists->first[i - 1];
  }
  for (uint32_t b = 0; b < count; b++) {
    if (number[b] != LUMOS_NO_NUMBER) {
      lists->blocks[lists->first[number[b] + 1]++] = b;
    }
  }
  free(number);
}

/* Blocks that are left out take turns among those that are learned from, in their order: so neighbors are built like
 * neighbors, and mean and spread stay. */
static void build_like_learned(struct learning *learning, unsigned differences) {
  uint32_t *instead = learning->templates->instead;
  struct lists lists = {0};
  list_learned(learning, &lists, differences);
  for (uint32_t b = 0; b < learning->blocks->items.count; b++) {
    if (instead[b] != LUMOS_NONE) {
      continue;
    }
    uint32_t number = lumos_known_number(&lists.numbers, label_of(learning, &lists.labels, b, differences));
    if (number != LUMOS_NO_NUMBER) {
      uint32_t count = lists.first[number + 1] - lists.first[number];
      instead[b] = lists.blocks[lists.first[number] + lists.taken[number]++ % count];
      learning->open--;
    }
  }
  lumos_numbering_free(&lists.labels);
  lumos_numbering_free(&lists.numbers);
  free(lists.first);
  free(lists.blocks);
  free(lists.taken);
}

/* How long a thread was silent before its first block is not recorded, so nothing is learned from that. */
static bool is_learned(const struct rebuild_blocks *blocks, const struct rebuild_block *block, const uint8_t *chosen) {
  return block->first != blocks->job->lanes.items[block->lane].task_first &&
         memchr(chosen + block->first, 0, block->count) == NULL;
}

static uint32_t choose(struct learning *learning, const struct lumos_selector *selector) {
  const struct rebuild_blocks *blocks = learning->blocks;
  uint8_t *chosen = lumos_allocate_zeroed(blocks->job->tasks.count, 1);
  uint32_t learned = 0;
  (void)lumos_selector_apply(selector, blocks->job, chosen);
  for (uint32_t b = 0; b < blocks->items.count; b++) {
    learning->learned[b] = is_learned(blocks, &blocks->items.items[b], chosen);
    learning->templates->instead[b] = learning->learned[b] ? b : LUMOS_NONE;
    learned += learning->learned[b];
  }
  free(chosen);
  return learned;
}

bool rebuild_learn(struct rebuild_templates *templates, const char *selector, struct lumos_error *error) {
  struct lumos_selector *parsed = lumos_selector_parse(selector, strlen(selector), error);
  if (parsed == NULL) {
    return false;
  }
  uint32_t count = (uint32_t)templates->blocks->items.count;
  struct learning learning = {.templates = templates,
                              .blocks = templates->blocks,
                              .learned = lumos_allocate_zeroed(count, 1),
                              .ports = rebuild_hash_ports(templates->blocks)};
  templates->instead = lumos_allocate(count * sizeof *templates->instead);
  templates->learned = choose(&learning, parsed);
  rebuild_steps_list(&learning.steps, templates->blocks);
  learning.open = count - templates->learned;
  for (unsigned differences = 0; differences <= ALL_DIFFERENCES && learning.open > 0; differences++) {
    build_like_learned(&learning, differences);
  }
  for (uint32_t b = 0; b < count; b++) {
    templates->instead[b] = templates->instead[b] == LUMOS_NONE ? b : templates->instead[b];
  }
  templates->unlike = learning.open;
  lumos_selector_free(parsed);
  lumos_vector_free(&learning.steps);
  free(learning.learned);
  free(learning.ports);
  return templates->learned > 0 ||
         lumos_fail(error, "--learn-from '%s' takes no recorded block; take more than that", selector);
}
