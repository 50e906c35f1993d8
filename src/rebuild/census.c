#include "rebuild/census.h"

#include "rebuild/label.h"
#include <stdlib.h>

static bool is_named(const struct rebuild_block *block) {
  return block->transfers || (block->phase != 0 && block->phase != LUMOS_OTHER_PHASE);
}

static void add_times(const struct rebuild_blocks *blocks, struct rebuild_census *census) {
  const struct lumos_job *job = blocks->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t block = blocks->of_task[t];
    if (lumos_on_stream(job, task)) {
      census->all_devices += task->dur;
      census->device += block != LUMOS_NONE ? task->dur : 0;
    } else {
      struct lumos_times own = lumos_own_times(job, t);
      census->all_threads += own.dur + own.lag;
      census->thread += is_named(&blocks->items.items[block]) ? own.dur + own.lag : 0;
    }
  }
}

/* By block the number of its place in the program: its thread, phase, part, layer, turn and micro-batch. */
static uint32_t *find_places(const struct rebuild_blocks *blocks, uint32_t *count) {
  struct lumos_numbering labels = {0}, numbers = {0};
  uint32_t *places = lumos_allocate(blocks->items.count * sizeof *places);
  for (uint32_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    const uint32_t label[] = {block->lane,
                              block->phase,
                              block->part,
                              rebuild_block_use(block),
                              (uint32_t)block->micro_batch,
                              (uint32_t)block->layer,
                              block->turn};
    places[b] = lumos_number_of(&numbers, rebuild_label(&labels, label, sizeof label / sizeof *label));
  }
  *count = (uint32_t)numbers.keys.count;
  lumos_numbering_free(&labels);
  lumos_numbering_free(&numbers);
  return places;
}

/* At each place all but those of its commonest template. */
static uint32_t count_odd(const struct rebuild_templates *templates) {
  uint32_t blocks = (uint32_t)templates->blocks->items.count, count, odd = blocks;
  uint32_t *places = find_places(templates->blocks, &count);
  uint32_t *most = lumos_allocate_zeroed(count, sizeof *most);
  uint32_t *alike = lumos_allocate_zeroed(blocks, sizeof *alike); /* by place and template */
  struct lumos_numbering pairs = {0};
  for (uint32_t b = 0; b < blocks; b++) {
    uint32_t here = ++alike[lumos_number_of(&pairs, lumos_key_pair(places[b], templates->of[b]))];
    most[places[b]] = here > most[places[b]] ? here : most[places[b]];
  }
  for (uint32_t place = 0; place < count; place++) {
    odd -= most[place];
  }
  lumos_numbering_free(&pairs);
  free(alike);
  free(most);
  free(places);
  return odd;
}

struct rebuild_census rebuild_census_take(const struct rebuild_templates *templates) {
  struct rebuild_census census = {.blocks = (uint32_t)templates->blocks->items.count, .templates = templates->count};
  add_times(templates->blocks, &census);
  census.odd = count_odd(templates);
  return census;
}
