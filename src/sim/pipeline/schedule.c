/* Recognising a schedule: what each stage does must be, pass by pass, what the schedule would have it do. */
#include "sim/pipeline/schedule.h"

#include "sim/clock.h"
#include <stdlib.h>

static int compare_turns(const void *left, const void *right) {
  const struct lumos_pass_turn *a = left, *b = right;
  return a->phase != b->phase               ? LUMOS_ORDER(a->phase, b->phase)
         : a->micro_batch != b->micro_batch ? LUMOS_ORDER(a->micro_batch, b->micro_batch)
         : a->chunk != b->chunk             ? LUMOS_ORDER(a->chunk, b->chunk)
                                            : LUMOS_ORDER(a->start, b->start);
}

static int compare_starts(const void *left, const void *right) {
  const struct lumos_pass_turn *a = left, *b = right;
  return a->start != b->start ? LUMOS_ORDER(a->start, b->start) : compare_turns(left, right);
}

void lumos_turns_read(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage,
                      struct lumos_pass_turns *turns) {
  for (size_t i = stage->first; i < stage->first + stage->count; i++) {
    const struct lumos_pass_interval *pass = &passes->list.items[i];
    if (lumos_is_pass(pass->phase) && pass->step == passes->step.step) {
      struct lumos_pass_turn turn = {pass->start, pass->micro_batch, pass->chunk, pass->phase};
      lumos_vector_push(turns, turn);
    }
  }
  if (turns->count == 0) {
    return;
  }
  lumos_vector_sort(turns, compare_turns);
  size_t kept = 1;
  for (size_t i = 1; i < turns->count; i++) {
    const struct lumos_pass_turn *turn = &turns->items[i];
    const struct lumos_pass_turn *last = &turns->items[kept - 1];
    if (turn->phase != last->phase || turn->micro_batch != last->micro_batch || turn->chunk != last->chunk) {
      turns->items[kept++] = *turn;
    }
  }
  turns->count = kept;
  lumos_vector_sort(turns, compare_starts);
}

/* Weight gradients go wherever there is room: they are no part of an order. */
static void drop_weight(struct lumos_pass_turns *turns) {
  size_t kept = 0;
  for (size_t i = 0; i < turns->count; i++) {
    if (turns->items[i].phase != LUMOS_WEIGHT) {
      turns->items[kept++] = turns->items[i];
    }
  }
  turns->count = kept;
}

/* The n-th pass forward or backward of a stage that works in rounds of p micro-batches over its chunks, backward over
 * the last chunk first. With one chunk: the n-th micro-batch. */
static struct lumos_pass_turn nth_pass(int64_t n, uint8_t phase, int64_t pipeline, int64_t chunks) {
  int64_t round = n / (pipeline * chunks);
  int64_t within = n % (pipeline * chunks);
  int64_t chunk = within / pipeline;
  return (struct lumos_pass_turn){.micro_batch = (int32_t)(round * pipeline + within % pipeline),
                                  .chunk = (int32_t)(phase == LUMOS_FORWARD ? chunk : chunks - 1 - chunk),
                                  .phase = phase};
}

/* After `ahead` passes forward a pass forward and one backward take turns, and what is left follows. */
static bool alternates(const struct lumos_pass_turns *turns, int64_t ahead, int64_t pipeline, int64_t chunks) {
  int64_t all = (int64_t)turns->count / 2;
  int64_t forward = 0;
  int64_t backward = 0;
  ahead = ahead < all ? ahead : all;
  for (size_t i = 0; i < turns->count; i++) {
    bool is_forward = forward < all && forward - backward <= ahead;
    struct lumos_pass_turn wanted = is_forward ? nth_pass(forward, LUMOS_FORWARD, pipeline, chunks)
                                               : nth_pass(backward, LUMOS_BACKWARD, pipeline, chunks);
    const struct lumos_pass_turn *seen = &turns->items[i];
    if (seen->phase != wanted.phase || seen->micro_batch != wanted.micro_batch || seen->chunk != wanted.chunk) {
      return false;
    }
    forward += is_forward;
    backward += !is_forward;
  }
  return turns->count % 2 == 0;
}

/* Passes backward follow when all passes forward are done. */
static bool all_forward_first(const struct lumos_pass_turns *turns) {
  bool backward = false;
  for (size_t i = 0; i < turns->count; i++) {
    if (backward && turns->items[i].phase == LUMOS_FORWARD) {
      return false;
    }
    backward |= turns->items[i].phase == LUMOS_BACKWARD;
  }
  return backward;
}

/* What all stages looked at so far agree with. */
struct evidence {
  bool by_turns; /* 1F1B, over one chunk or several */
  bool forward_first;
  bool weight;
  int32_t chunks;
};

static void look_at(const struct lumos_passes *passes, const struct lumos_pipeline_stage *stage,
                    struct evidence *evidence) {
  struct lumos_pass_turns turns = {0};
  lumos_turns_read(passes, stage, &turns);
  evidence->weight |= stage->busy[LUMOS_WEIGHT] > 0;
  evidence->chunks = stage->chunks > evidence->chunks ? stage->chunks : evidence->chunks;
  drop_weight(&turns);
  int64_t behind = (int64_t)passes->pipeline - 1 - stage->stage;
  int64_t chunks = stage->chunks;
  int64_t ahead = chunks == 1 ? behind : 2 * behind + (chunks - 1) * passes->pipeline;
  evidence->by_turns = evidence->by_turns && alternates(&turns, ahead, passes->pipeline, chunks);
  evidence->forward_first = evidence->forward_first && all_forward_first(&turns);
  lumos_vector_free(&turns);
}

enum lumos_recovered_schedule lumos_schedule_of(const struct lumos_passes *passes) {
  if (passes->pipeline <= 1 || passes->micro_batches < 2 || passes->stages.count == 0) {
    return LUMOS_SCHEDULE_NONE;
  }
  struct evidence evidence = {true, true, false, 1};
  for (size_t i = 0; i < passes->stages.count; i++) {
    look_at(passes, &passes->stages.items[i], &evidence);
  }
  /* Early stages alone may do under 1F1B what they would under GPipe. */
  if (evidence.by_turns && !evidence.forward_first) {
    return evidence.chunks > 1 ? LUMOS_SCHEDULE_INTERLEAVED
           : evidence.weight   ? LUMOS_SCHEDULE_ZERO_BUBBLE
                               : LUMOS_SCHEDULE_1F1B;
  }
  bool gpipe = evidence.forward_first && !evidence.by_turns && evidence.chunks == 1 && !evidence.weight;
  return gpipe ? LUMOS_SCHEDULE_GPIPE : LUMOS_SCHEDULE_UNNAMED;
}

/* In millionths, rounded. */
static int64_t bubble_share(__int128 bubble, __int128 busy) {
  enum { WHOLE = 1000000 };
  __int128 all = bubble + busy;
  return all > 0 ? (int64_t)((bubble * WHOLE + all / 2) / all) : LUMOS_ABSENT;
}

/* Where weight gradients fill the bubbles, which they do from p micro-batches on: by the time of passes. */
static int64_t zero_bubble_share(const struct lumos_passes *passes, int64_t behind) {
  int64_t filled = 0;
  int64_t all = 0;
  for (size_t i = 0; i < passes->stages.count; i++) {
    const int64_t *busy = passes->stages.items[i].busy;
    int64_t both = lumos_time_sum(busy[LUMOS_FORWARD], busy[LUMOS_BACKWARD]);
    filled = lumos_time_sum(filled, both - busy[LUMOS_WEIGHT]);
    all = lumos_time_sum(all, lumos_time_sum(both, busy[LUMOS_WEIGHT]));
  }
  bool known = filled >= 0 && passes->micro_batches >= passes->pipeline;
  return known ? bubble_share((__int128)behind * filled, (__int128)passes->micro_batches * all) : LUMOS_ABSENT;
}

int64_t lumos_schedule_bubble(enum lumos_recovered_schedule schedule, const struct lumos_passes *passes) {
  int64_t chunks = 1;
  for (size_t i = 0; i < passes->stages.count; i++) {
    chunks = passes->stages.items[i].chunks > chunks ? passes->stages.items[i].chunks : chunks;
  }
  int64_t behind = (int64_t)passes->pipeline - 1;
  switch (schedule) {
    case LUMOS_SCHEDULE_GPIPE:
    case LUMOS_SCHEDULE_1F1B:
    case LUMOS_SCHEDULE_INTERLEAVED:
      return bubble_share(behind, (__int128)chunks * passes->micro_batches);
    case LUMOS_SCHEDULE_ZERO_BUBBLE:
      return zero_bubble_share(passes, behind);
    case LUMOS_SCHEDULE_NONE:
    case LUMOS_SCHEDULE_UNNAMED:
      break;
  }
  return LUMOS_ABSENT;
}

const char *lumos_schedule_option(enum lumos_recovered_schedule schedule) {
  static const char *const names[] = {[LUMOS_SCHEDULE_NONE] = NULL,
                                      [LUMOS_SCHEDULE_UNNAMED] = NULL,
                                      [LUMOS_SCHEDULE_GPIPE] = "gpipe",
                                      [LUMOS_SCHEDULE_1F1B] = "1f1b",
                                      [LUMOS_SCHEDULE_INTERLEAVED] = "interleaved",
                                      [LUMOS_SCHEDULE_ZERO_BUBBLE] = "zb-h1"};
  return names[schedule];
}
