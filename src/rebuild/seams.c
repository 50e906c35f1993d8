/* Means over recorded blocks that begin with the same op, or else over all. */
#include "rebuild/seams.h"

#include "graph/typical.h"
#include <stdlib.h>

LUMOS_VECTOR_TYPE(samples, struct rebuild_times);

static void add(struct lumos_numbering *numbering, struct samples *samples, uint64_t key, int64_t value) {
  uint32_t number = lumos_number_of(numbering, key);
  if (number >= samples->count) {
    lumos_vector_push(samples, (struct rebuild_times){0});
  }
  lumos_vector_push(&samples->items[number], value);
}

/* By number. */
static void take_means(struct samples *samples, struct rebuild_times *means) {
  for (size_t i = 0; i < samples->count; i++) {
    lumos_vector_push(means, lumos_trimmed_mean(samples->items[i].items, samples->items[i].count));
    lumos_vector_free(&samples->items[i]);
  }
  lumos_vector_free(samples);
}

/* ---- on one thread ---- */

static bool is_hand_over(const struct lumos_job *job, const struct lumos_dep *dep) {
  return dep->kind == LUMOS_HANDOVER && dep->src != LUMOS_NONE && !lumos_on_stream(job, &job->tasks.items[dep->src]) &&
         !lumos_on_stream(job, &job->tasks.items[dep->dst]);
}

static void find_handed(struct rebuild_seams *seams) {
  const struct lumos_job *job = seams->blocks->job;
  seams->handed = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    seams->handed[dep->dst] |= is_hand_over(job, dep);
  }
}

static void find_leads(struct rebuild_seams *seams) {
  const struct rebuild_blocks *blocks = seams->blocks;
  seams->leads = lumos_allocate_zeroed(blocks->job->lanes.count + 1, 1);
  for (size_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    seams->leads[block->lane] |= block->phase == LUMOS_FORWARD && block->device_count > 0;
  }
}

static const struct rebuild_block *block_before(const struct rebuild_seams *seams, const struct rebuild_block *block) {
  bool first = block->first == seams->blocks->job->lanes.items[block->lane].task_first;
  return first ? NULL : &seams->blocks->items.items[seams->blocks->of_task[block->first - 1]];
}

/* What its thread did between two steps is no part of a pass. */
static bool begins_step(const struct rebuild_seams *seams, const struct rebuild_block *block) {
  const struct rebuild_block *before = block_before(seams, block);
  return before == NULL || before->step != block->step;
}

static bool is_of_pass(const struct rebuild_block *block) {
  return block->micro_batch != LUMOS_ABSENT_INT && !block->transfers;
}

static bool same_pass(const struct rebuild_block *block, const struct rebuild_block *before) {
  return before->step == block->step && before->phase == block->phase && before->micro_batch == block->micro_batch;
}

enum rebuild_seam rebuild_seam_of(const struct rebuild_seams *seams, const struct rebuild_block *block) {
  const struct rebuild_block *before = block_before(seams, block);
  if (seams->handed[block->first]) {
    return REBUILD_SEAM_HANDED;
  }
  bool passes = before != NULL && is_of_pass(block) && is_of_pass(before);
  return passes && !same_pass(block, before) ? REBUILD_SEAM_BEGINS : REBUILD_SEAM_GOES_ON;
}

/* Another part of the model, in the same pass, as the thread's block before it. */
static bool is_piece(const struct rebuild_block *block, const struct rebuild_block *before) {
  return is_of_pass(block) && is_of_pass(before) && same_pass(block, before) &&
         (before->part != block->part || before->layer != block->layer);
}

enum kind {
  PIECE,
  ANYWHERE,
  OF_ALL,
  KINDS
}; /* a piece of a pass; whatever is before it; a piece, whatever it begins with */

static uint64_t kind_of(const struct rebuild_seams *seams, const struct rebuild_block *block, enum kind kind) {
  lumos_string_id name = seams->blocks->job->tasks.items[block->first].name;
  return lumos_key_pair(block->phase * (unsigned)KINDS + (unsigned)kind, kind == OF_ALL ? LUMOS_NO_STRING : name);
}

static void find_lags(struct rebuild_seams *seams) {
  const struct rebuild_blocks *blocks = seams->blocks;
  struct samples samples = {0};
  for (size_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b], *before = block_before(seams, block);
    if (begins_step(seams, block) || rebuild_seam_of(seams, block) != REBUILD_SEAM_GOES_ON) {
      continue;
    }
    int64_t lag = lumos_own_times(blocks->job, block->first).lag;
    add(&seams->kinds, &samples, kind_of(seams, block, ANYWHERE), lag);
    if (is_piece(block, before)) {
      add(&seams->kinds, &samples, kind_of(seams, block, PIECE), lag);
      add(&seams->kinds, &samples, kind_of(seams, block, OF_ALL), lag);
    }
  }
  take_means(&samples, &seams->lags);
}

static int64_t lag_of(const struct rebuild_seams *seams, const struct rebuild_block *block, enum kind kind) {
  uint32_t number = lumos_known_number(&seams->kinds, kind_of(seams, block, kind));
  return number == LUMOS_NO_NUMBER ? LUMOS_ABSENT : seams->lags.items[number];
}

/* ---- from one thread to another ---- */

/* Without what the block takes before it begins, whoever is before it. */
static int64_t wake_of(const struct rebuild_seams *seams, const struct lumos_dep *dep) {
  int64_t own = lag_of(seams, &seams->blocks->items.items[seams->blocks->of_task[dep->dst]], ANYWHERE);
  return own == LUMOS_ABSENT ? dep->lag : own < dep->lag ? dep->lag - own : 0;
}

static void find_wakes(struct rebuild_seams *seams) {
  const struct lumos_job *job = seams->blocks->job;
  struct samples samples = {0};
  for (uint32_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    if (is_hand_over(job, dep)) {
      uint64_t pair = lumos_key_pair(job->tasks.items[dep->src].lane, job->tasks.items[dep->dst].lane);
      if (lumos_known_number(&seams->pairs, pair) == LUMOS_NO_NUMBER) {
        lumos_vector_push(&seams->deps, d);
      }
      add(&seams->pairs, &samples, pair, wake_of(seams, dep));
    }
  }
  take_means(&samples, &seams->wakes);
}

bool rebuild_seam_wake(const struct rebuild_seams *seams, uint32_t from, uint32_t to, int64_t *wake, uint32_t *like) {
  uint32_t pair = lumos_known_number(&seams->pairs, lumos_key_pair(from, to));
  if (pair != LUMOS_NO_NUMBER) {
    *wake = seams->wakes.items[pair];
    *like = seams->deps.items[pair];
  }
  return pair != LUMOS_NO_NUMBER;
}

/* There and back between a thread that goes back through the model and the one that calls it; 0: not known. */
static int64_t find_round(const struct rebuild_seams *seams, const struct rebuild_block *block) {
  const struct lumos_rank *rank = &seams->blocks->job->ranks.items[block->rank];
  uint32_t lane = seams->leads[block->lane] ? rank->lane_first + rank->lane_count : rank->lane_first;
  for (; lane < rank->lane_first + rank->lane_count && is_of_pass(block); lane++) {
    int64_t there = 0, again = 0;
    uint32_t like = LUMOS_NONE;
    if (rebuild_seam_wake(seams, block->lane, lane, &there, &like) &&
        rebuild_seam_wake(seams, lane, block->lane, &again, &like)) {
      return there + again;
    }
  }
  return 0;
}

int64_t rebuild_seam_lag(const struct rebuild_seams *seams, const struct rebuild_block *block, enum rebuild_seam seam) {
  enum rebuild_seam was = rebuild_seam_of(seams, block);
  int64_t own = lumos_own_times(seams->blocks->job, block->first).lag, lag = LUMOS_ABSENT;
  if (was == seam || (seam == REBUILD_SEAM_HANDED && begins_step(seams, block))) {
    return LUMOS_ABSENT;
  }
  for (enum kind kind = PIECE; kind <= OF_ALL && lag == LUMOS_ABSENT; kind++) {
    lag = lag_of(seams, block, kind);
  }
  lag = was == REBUILD_SEAM_GOES_ON || lag == LUMOS_ABSENT ? own : lag;
  return seam == REBUILD_SEAM_BEGINS ? lag + find_round(seams, block) : lag;
}

void rebuild_seams_find(struct rebuild_seams *seams, const struct rebuild_blocks *blocks) {
  *seams = (struct rebuild_seams){.blocks = blocks};
  find_handed(seams);
  find_leads(seams);
  find_lags(seams);
  find_wakes(seams);
}

void rebuild_seams_free(struct rebuild_seams *seams) {
  free(seams->handed);
  free(seams->leads);
  lumos_numbering_free(&seams->kinds);
  lumos_vector_free(&seams->lags);
  lumos_numbering_free(&seams->pairs);
  lumos_vector_free(&seams->wakes);
  lumos_vector_free(&seams->deps);
}
