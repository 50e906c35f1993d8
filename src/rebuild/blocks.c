#include "rebuild/blocks.h"

#include "base/hash.h"
#include "program/sharded.h"
#include "rebuild/attention.h"
#include "rebuild/label.h"
#include "rebuild/transfers.h"
#include <stdlib.h>
#include <string.h>

/* ---- cutting ---- */

static bool is_called_like(const struct rebuild_block *block, const struct lumos_task *task, bool transfers) {
  bool same = block->transfers == transfers && block->step == task->step && block->phase == task->phase &&
              block->micro_batch == task->micro_batch;
  return same && (transfers || (block->layer == task->layer && block->part == task->part));
}

/* By task - lane.task_first: the last task of the call that this is a segment of, or the task itself. */
static uint32_t *find_calls(const struct lumos_job *job, const struct lumos_lane *lane) {
  uint32_t *last = lumos_allocate(lane->task_count * sizeof *last);
  for (uint32_t i = lane->task_count; i-- > 0;) {
    uint32_t t = lane->task_first + i, first = lumos_detail_of(job, &job->tasks.items[t])->first_segment;
    last[i] = t;
    for (uint32_t s = first; first != LUMOS_NONE && first >= lane->task_first && s < t; s++) {
      last[s - lane->task_first] = t;
    }
  }
  return last;
}

/* By task: a thread hands over to another behind it, or goes on with it when another hands over. */
enum handing { HANDS_OVER = 1, IS_HANDED = 2 };

static bool is_hand_over(const struct lumos_job *job, const struct lumos_dep *dep) {
  return dep->kind == LUMOS_HANDOVER && dep->src != LUMOS_NONE && !lumos_on_stream(job, &job->tasks.items[dep->src]) &&
         !lumos_on_stream(job, &job->tasks.items[dep->dst]);
}

static uint8_t *find_hand_overs(const struct lumos_job *job) {
  uint8_t *handing = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    if (is_hand_over(job, dep)) {
      handing[dep->src] |= HANDS_OVER;
      handing[dep->dst] |= IS_HANDED;
    }
  }
  return handing;
}

/* By task: does a block begin there, whatever it is for? What gathers a layer's parameters comes before all else of its
 * way back, also before what is computed again there. */
static uint8_t *find_cuts(const struct lumos_job *job, const uint8_t *handing) {
  uint8_t *cuts = lumos_allocate_zeroed(job->tasks.count + 1, 1);
  bool gathers = false, sharded = program_is_fully_sharded(job);
  for (uint32_t t = 0; t < job->tasks.count && sharded; t++) {
    bool before = gathers;
    gathers = !lumos_on_stream(job, &job->tasks.items[t]) && program_gathers_before_back(job, t);
    cuts[t] = gathers != before;
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    cuts[t] |= (handing[t] & IS_HANDED) != 0;
    cuts[t + 1] |= (handing[t] & HANDS_OVER) != 0;
  }
  return cuts;
}

struct cutter {
  struct rebuild_blocks *blocks;
  const uint8_t *cuts, *weights, *attention; /* by task */
  const uint32_t *transfers;
};

static void begin_block(const struct cutter *cutter, uint32_t first, uint32_t like, bool transfers) {
  const struct lumos_task *task = &cutter->blocks->job->tasks.items[like];
  struct rebuild_block block = {.rank = lumos_rank_of(cutter->blocks->job, task),
                                .lane = task->lane,
                                .first = first,
                                .step = task->step,
                                .micro_batch = task->micro_batch,
                                .layer = transfers ? LUMOS_ABSENT_INT : task->layer,
                                .phase = task->phase,
                                .part = transfers ? 0 : task->part,
                                .transfers = transfers,
                                .weights = !transfers && cutter->weights[like] != 0,
                                .attention = !transfers && cutter->attention[like] != 0};
  lumos_vector_push(&cutter->blocks->items, block);
}

/* What is sent or received by another launch than the task before. */
static bool is_next_transfer(const struct cutter *cutter, uint32_t t, const struct rebuild_block *block) {
  return block->transfers && block->first < t && cutter->transfers[t] != cutter->transfers[t - 1] &&
         cutter->transfers[t] != LUMOS_NONE && cutter->transfers[t - 1] != LUMOS_NONE;
}

/* What a call is for is what its last segment is for. */
static void cut_thread(const struct cutter *cutter, uint32_t l) {
  struct rebuild_blocks *blocks = cutter->blocks;
  const struct lumos_lane *lane = &blocks->job->lanes.items[l];
  uint32_t *last = find_calls(blocks->job, lane);
  for (uint32_t i = 0; i < lane->task_count; i++) {
    uint32_t t = lane->task_first + i, launch = cutter->transfers[last[i]];
    bool transfers = launch != LUMOS_NONE;
    uint32_t like = transfers ? launch : last[i];
    const struct rebuild_block *block = i == 0 ? NULL : &blocks->items.items[blocks->items.count - 1];
    bool weights = !transfers && cutter->weights[like] != 0, attention = !transfers && cutter->attention[like] != 0;
    if (block == NULL || cutter->cuts[t] || block->weights != weights || block->attention != attention ||
        is_next_transfer(cutter, t, block) || !is_called_like(block, &blocks->job->tasks.items[like], transfers)) {
      begin_block(cutter, t, like, transfers);
    }
    blocks->items.items[blocks->items.count - 1].count++;
  }
  free(last);
}

static int by_time(const void *left_item, const void *right_item, void *context) {
  const struct rebuild_block *left = left_item, *right = right_item;
  const struct lumos_task *tasks = context;
  int64_t begins = tasks[left->first].start, other = tasks[right->first].start;
  return left->rank != right->rank ? LUMOS_ORDER(left->rank, right->rank)
         : begins != other         ? LUMOS_ORDER(begins, other)
                                   : LUMOS_ORDER(left->first, right->first);
}

static void find_ranks(struct rebuild_blocks *blocks) {
  size_t ranks = blocks->job->ranks.count;
  blocks->rank_first = lumos_allocate_zeroed(ranks + 2, sizeof *blocks->rank_first);
  for (size_t b = 0; b < blocks->items.count; b++) {
    blocks->rank_first[blocks->items.items[b].rank + 1]++;
  }
  for (size_t r = 0; r < ranks; r++) {
    blocks->rank_first[r + 1] += blocks->rank_first[r];
  }
}

/* What a thread does before it hands over, if it launches nothing, is for what it hands over to. */
static void name_hand_overs(struct rebuild_blocks *blocks) {
  const struct lumos_job *job = blocks->job;
  for (size_t d = 0; d < job->deps.count; d++) {
    const struct lumos_dep *dep = &job->deps.items[d];
    if (is_hand_over(job, dep)) {
      struct rebuild_block *block = &blocks->items.items[blocks->of_task[dep->src]];
      const struct rebuild_block *next = &blocks->items.items[blocks->of_task[dep->dst]];
      if (block->device_count == 0 && block->first + block->count == dep->src + 1 && block->step == next->step) {
        block->phase = next->phase;
        block->micro_batch = next->micro_batch;
        block->layer = LUMOS_ABSENT_INT;
        block->part = 0;
      }
    }
  }
}

static void number_turns(struct rebuild_blocks *blocks) {
  struct lumos_numbering labels = {0};
  LUMOS_VECTOR(uint32_t) turns = {0};
  for (size_t b = 0; b < blocks->items.count; b++) {
    struct rebuild_block *block = &blocks->items.items[b];
    const uint32_t label[] = {block->lane,
                              (uint32_t)block->step,
                              block->phase,
                              block->part,
                              (uint32_t)block->micro_batch,
                              (uint32_t)block->layer,
                              rebuild_block_use(block)};
    uint32_t number = rebuild_label(&labels, label, sizeof label / sizeof *label);
    while (turns.count <= number) {
      lumos_vector_push(&turns, 0);
    }
    block->turn = turns.items[number]++;
  }
  lumos_vector_free(&turns);
  lumos_numbering_free(&labels);
}

/* ---- what they put on streams ---- */

static void take_threads(struct rebuild_blocks *blocks) {
  for (uint32_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    for (uint32_t t = block->first; t < block->first + block->count; t++) {
      blocks->of_task[t] = b;
      blocks->place[t] = t - block->first;
    }
  }
}

/* What no call of the recording launched comes with what is before it on its stream. */
static uint32_t block_of_device(const struct rebuild_blocks *blocks, uint32_t t) {
  const struct lumos_task *task = &blocks->job->tasks.items[t];
  if (task->call != LUMOS_NONE) {
    return blocks->of_task[task->call];
  }
  bool first = t == blocks->job->lanes.items[task->lane].task_first;
  return first || task->step == LUMOS_ABSENT_INT ? LUMOS_NONE : blocks->of_task[t - 1];
}

static void take_streams(struct rebuild_blocks *blocks) {
  for (uint32_t t = 0; t < blocks->job->tasks.count; t++) {
    if (lumos_on_stream(blocks->job, &blocks->job->tasks.items[t])) {
      blocks->of_task[t] = block_of_device(blocks, t);
      if (blocks->of_task[t] != LUMOS_NONE) {
        blocks->items.items[blocks->of_task[t]].device_count++;
      }
    }
  }
}

static void take_tasks(struct rebuild_blocks *blocks) {
  size_t tasks = blocks->job->tasks.count;
  blocks->of_task = lumos_allocate(tasks * sizeof *blocks->of_task);
  blocks->place = lumos_allocate_zeroed(tasks, sizeof *blocks->place);
  for (size_t t = 0; t < tasks; t++) {
    blocks->of_task[t] = LUMOS_NONE;
  }
  take_threads(blocks);
  take_streams(blocks);
}

static void list_devices(struct rebuild_blocks *blocks) {
  const struct lumos_job *job = blocks->job;
  uint32_t sum = 0;
  for (size_t b = 0; b < blocks->items.count; b++) {
    blocks->items.items[b].device_first = sum;
    sum += blocks->items.items[b].device_count;
    blocks->items.items[b].device_count = 0;
  }
  blocks->devices = lumos_allocate(sum * sizeof *blocks->devices);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (lumos_on_stream(job, &job->tasks.items[t]) && blocks->of_task[t] != LUMOS_NONE) {
      struct rebuild_block *block = &blocks->items.items[blocks->of_task[t]];
      blocks->place[t] = block->device_count;
      blocks->devices[block->device_first + block->device_count++] = t;
    }
  }
}

/* ---- their structure ---- */

static uint32_t place_of_lane(const struct lumos_job *job, uint32_t lane) {
  return lane == LUMOS_NONE ? LUMOS_NONE : lane - job->ranks.items[job->lanes.items[lane].rank].lane_first;
}

static uint64_t hash_device(const struct rebuild_blocks *blocks, const uint8_t *joined, uint64_t hash, uint32_t t) {
  const struct lumos_task *task = &blocks->job->tasks.items[t];
  hash = lumos_hash_mix(hash, lumos_key_pair(place_of_lane(blocks->job, task->lane), task->kind));
  return lumos_hash_mix(hash, lumos_key_pair(lumos_detail_of(blocks->job, task)->comm.op, joined[t]));
}

static uint64_t hash_partners(const struct rebuild_blocks *blocks, uint64_t hash, uint32_t t) {
  const struct lumos_comm *comm = &lumos_detail_of(blocks->job, &blocks->job->tasks.items[t])->comm;
  hash = lumos_hash_mix(hash, comm->group);
  for (uint32_t p = 0; p < comm->peer_count; p++) {
    const struct lumos_peer *peer = &blocks->job->peers.items[comm->peer_first + p];
    hash = lumos_hash_mix(hash, lumos_key_pair((uint32_t)peer->rank, peer->send > 0));
  }
  return hash;
}

static uint64_t hash_call(const struct rebuild_blocks *blocks, uint64_t hash, uint32_t t) {
  const struct lumos_detail *detail = lumos_detail_of(blocks->job, &blocks->job->tasks.items[t]);
  if (detail->event_op == 0 && detail->wait.on == 0) {
    return hash;
  }
  hash = lumos_hash_mix(hash, lumos_key_pair(detail->event_op, detail->wait.on));
  return lumos_hash_mix(hash, lumos_key_pair(place_of_lane(blocks->job, detail->event_lane),
                                             place_of_lane(blocks->job, detail->wait.lane)));
}

static void find_structures(struct rebuild_blocks *blocks, const uint8_t *handing) {
  const struct lumos_job *job = blocks->job;
  uint8_t *joined = lumos_allocate_zeroed(job->tasks.count, 1);
  for (size_t m = 0; m < job->members.count; m++) {
    joined[job->members.items[m]] = 1;
  }
  for (size_t b = 0; b < blocks->items.count; b++) {
    struct rebuild_block *block = &blocks->items.items[b];
    uint64_t hash =
        lumos_hash_mix(handing[block->first] & IS_HANDED, handing[block->first + block->count - 1] & HANDS_OVER);
    for (uint32_t i = 0; i < block->device_count; i++) {
      hash = hash_device(blocks, joined, hash, blocks->devices[block->device_first + i]);
    }
    for (uint32_t t = block->first; t < block->first + block->count; t++) {
      hash = hash_call(blocks, hash, t);
    }
    block->shape = hash;
    for (uint32_t i = 0; i < block->device_count; i++) {
      hash = hash_partners(blocks, hash, blocks->devices[block->device_first + i]);
    }
    block->structure = hash;
  }
  free(joined);
}

/* ---- all together ---- */

static void cut_threads(struct rebuild_blocks *blocks, const uint8_t *handing, enum rebuild_weights how,
                        bool at_attention) {
  const struct lumos_job *job = blocks->job;
  uint8_t *cuts = find_cuts(job, handing), *weights = rebuild_find_weights(job, how, cuts);
  uint32_t *transfers = rebuild_find_transfers(job, cuts);
  uint8_t *attention = at_attention ? rebuild_find_attention(job) : lumos_allocate_zeroed(job->tasks.count + 1, 1);
  const struct cutter cutter = {blocks, cuts, weights, attention, transfers};
  for (uint32_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      cut_thread(&cutter, l);
    }
  }
  free(cuts);
  free(weights);
  free(attention);
  free(transfers);
}

void rebuild_blocks_cut(struct rebuild_blocks *blocks, const struct lumos_job *job, enum rebuild_weights weights,
                        bool attention) {
  uint8_t *handing = find_hand_overs(job);
  *blocks = (struct rebuild_blocks){.job = job};
  cut_threads(blocks, handing, weights, attention);
  lumos_vector_sort_by(&blocks->items, by_time, job->tasks.items);
  find_ranks(blocks);
  take_tasks(blocks);
  list_devices(blocks);
  name_hand_overs(blocks);
  number_turns(blocks);
  find_structures(blocks, handing);
  free(handing);
}

void rebuild_blocks_free(struct rebuild_blocks *blocks) {
  lumos_vector_free(&blocks->items);
  free(blocks->rank_first);
  free(blocks->of_task);
  free(blocks->devices);
  free(blocks->place);
}

static bool is_for_replicas(const struct lumos_job *job, const struct lumos_task *task) {
  if (task->kind != LUMOS_COLLECTIVE) {
    return false;
  }
  lumos_string_id group = lumos_detail_of(job, task)->comm.group;
  uint8_t role = 0;
  for (size_t g = 0; g < job->groups.count; g++) {
    role = job->groups.items[g].id == group ? job->groups.items[g].role : role;
  }
  return role != LUMOS_TENSOR && role != LUMOS_PIPELINE && role != LUMOS_CONTEXT && role != LUMOS_EXPERT;
}

uint32_t rebuild_block_sum(const struct rebuild_blocks *blocks, const struct rebuild_block *block) {
  bool back = block->phase == LUMOS_BACKWARD || block->phase == LUMOS_WEIGHT;
  for (uint32_t i = 0; i < block->device_count && block->part == 0 && back; i++) {
    uint32_t task = blocks->devices[block->device_first + i];
    const char *op =
        lumos_string(blocks->job->strings, lumos_detail_of(blocks->job, &blocks->job->tasks.items[task])->comm.op);
    if (is_for_replicas(blocks->job, &blocks->job->tasks.items[task]) && strcmp(op, "all_gather") != 0) {
      return task;
    }
  }
  return LUMOS_NONE;
}

static int by_number(const void *left, const void *right) {
  int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;
  return LUMOS_ORDER(a, b);
}

void rebuild_steps_list(struct rebuild_steps *steps, const struct rebuild_blocks *blocks) {
  *steps = (struct rebuild_steps){0};
  for (size_t b = 0; b < blocks->items.count; b++) {
    if (b == 0 || blocks->items.items[b].step != blocks->items.items[b - 1].step) {
      lumos_vector_push(steps, blocks->items.items[b].step);
    }
  }
  lumos_vector_sort(steps, by_number);
  size_t kept = 0;
  for (size_t i = 0; i < steps->count; i++) {
    if (kept == 0 || steps->items[i] != steps->items[kept - 1]) {
      steps->items[kept++] = steps->items[i];
    }
  }
  steps->count = kept;
}

uint32_t rebuild_step_index(const struct rebuild_steps *steps, int32_t step) {
  const int32_t *found = bsearch(&step, steps->items, steps->count, sizeof step, by_number);
  return (uint32_t)(found - steps->items);
}
