/* Recognising a schedule: what each stage does must be, pass by pass, what the schedule would have it do. */
#include "report/content/schedule.h"

#include "report/text/numbers.h"
#include <stdlib.h>

/* A pass of a stage, whatever number of stretches it has. */
struct turn {
  int64_t start;
  int32_t micro_batch, chunk;
  uint8_t phase;
};
LUMOS_VECTOR_TYPE(turns, struct turn);

static int compare_turns(const void *left, const void *right) {
  const struct turn *a = left;
  const struct turn *b = right;
  if (a->phase != b->phase) {
    return a->phase < b->phase ? -1 : 1;
  }
  if (a->micro_batch != b->micro_batch) {
    return a->micro_batch < b->micro_batch ? -1 : 1;
  }
  if (a->chunk != b->chunk) {
    return a->chunk < b->chunk ? -1 : 1;
  }
  return a->start < b->start ? -1 : a->start > b->start;
}

static int compare_starts(const void *left, const void *right) {
  const struct turn *a = left;
  const struct turn *b = right;
  if (a->start != b->start) {
    return a->start < b->start ? -1 : 1;
  }
  return compare_turns(left, right);
}

/* The stage's passes of the step, each once, in the order of their starts. */
static void read_turns(const struct report_passes *passes, const struct report_stage *stage, struct turns *turns) {
  for (size_t i = stage->first; i < stage->first + stage->count; i++) {
    const struct report_pass *pass = &passes->list.items[i];
    if (report_is_pass(pass->phase) && pass->step == passes->step.step) {
      struct turn turn = {pass->start, pass->micro_batch, pass->chunk, pass->phase};
      lumos_vector_push(turns, turn);
    }
  }
  if (turns->count == 0) {
    return;
  }
  qsort(turns->items, turns->count, sizeof turns->items[0], compare_turns);
  size_t kept = 1;
  for (size_t i = 1; i < turns->count; i++) {
    const struct turn *turn = &turns->items[i];
    const struct turn *last = &turns->items[kept - 1];
    if (turn->phase != last->phase || turn->micro_batch != last->micro_batch || turn->chunk != last->chunk) {
      turns->items[kept++] = *turn;
    }
  }
  turns->count = kept;
  qsort(turns->items, turns->count, sizeof turns->items[0], compare_starts);
}

/* Weight gradients go wherever there is room: they are no part of an order. */
static void drop_weight(struct turns *turns) {
  size_t kept = 0;
  for (size_t i = 0; i < turns->count; i++) {
    if (turns->items[i].phase != LUMOS_WEIGHT) {
      turns->items[kept++] = turns->items[i];
    }
  }
  turns->count = kept;
}

/* The n-th pass forward or backward of a stage that works in rounds of p micro-batches over its chunks, backward over the last chunk
 * first. With one chunk: the n-th micro-batch. */
static struct turn nth_pass(int64_t n, uint8_t phase, int64_t pipeline, int64_t chunks) {
  int64_t round = n / (pipeline * chunks);
  int64_t within = n % (pipeline * chunks);
  int64_t chunk = within / pipeline;
  return (struct turn){.micro_batch = (int32_t)(round * pipeline + within % pipeline),
                       .chunk = (int32_t)(phase == LUMOS_FORWARD ? chunk : chunks - 1 - chunk),
                       .phase = phase};
}

/* After `ahead` passes forward a pass forward and one backward take turns, and what is left follows. */
static bool alternates(const struct turns *turns, int64_t ahead, int64_t pipeline, int64_t chunks) {
  int64_t all = (int64_t)turns->count / 2;
  int64_t forward = 0;
  int64_t backward = 0;
  ahead = ahead < all ? ahead : all;
  for (size_t i = 0; i < turns->count; i++) {
    bool is_forward = forward < all && forward - backward <= ahead;
    struct turn wanted = is_forward ? nth_pass(forward, LUMOS_FORWARD, pipeline, chunks)
                                    : nth_pass(backward, LUMOS_BACKWARD, pipeline, chunks);
    const struct turn *seen = &turns->items[i];
    if (seen->phase != wanted.phase || seen->micro_batch != wanted.micro_batch || seen->chunk != wanted.chunk) {
      return false;
    }
    forward += is_forward;
    backward += !is_forward;
  }
  return turns->count % 2 == 0;
}

/* Passes backward follow when all passes forward are done. */
static bool all_forward_first(const struct turns *turns) {
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

static void look_at(const struct report_passes *passes, const struct report_stage *stage, struct evidence *evidence) {
  struct turns turns = {0};
  read_turns(passes, stage, &turns);
  evidence->weight |= stage->busy[LUMOS_WEIGHT] > 0;
  evidence->chunks = stage->chunks > evidence->chunks ? stage->chunks : evidence->chunks;
  drop_weight(&turns);
  int64_t behind = passes->pipeline - 1 - stage->stage;
  int64_t chunks = stage->chunks;
  int64_t ahead = chunks == 1 ? behind : 2 * behind + (chunks - 1) * passes->pipeline;
  evidence->by_turns = evidence->by_turns && alternates(&turns, ahead, passes->pipeline, chunks);
  evidence->forward_first = evidence->forward_first && all_forward_first(&turns);
  lumos_vector_free(&turns);
}

enum report_schedule report_schedule_of(const struct report_passes *passes) {
  if (passes->pipeline <= 1 || passes->micro_batches < 2 || passes->stages.count == 0) {
    return SCHEDULE_NONE;
  }
  struct evidence evidence = {true, true, false, 1};
  for (size_t i = 0; i < passes->stages.count; i++) {
    look_at(passes, &passes->stages.items[i], &evidence);
  }
  /* Early stages alone may do under 1F1B what they would under GPipe. */
  if (evidence.by_turns && !evidence.forward_first) {
    return evidence.chunks > 1 ? SCHEDULE_INTERLEAVED : evidence.weight ? SCHEDULE_ZERO_BUBBLE : SCHEDULE_1F1B;
  }
  bool gpipe = evidence.forward_first && !evidence.by_turns && evidence.chunks == 1 && !evidence.weight;
  return gpipe ? SCHEDULE_GPIPE : SCHEDULE_UNNAMED;
}

const char *report_schedule_name(enum report_schedule schedule) {
  static const char *const names[] = {[SCHEDULE_NONE] = NULL,
                                      [SCHEDULE_UNNAMED] = NULL,
                                      [SCHEDULE_GPIPE] = "GPipe",
                                      [SCHEDULE_1F1B] = "1F1B",
                                      [SCHEDULE_INTERLEAVED] = "Interleaved 1F1B",
                                      [SCHEDULE_ZERO_BUBBLE] = "Zero bubble (ZB-H1)"};
  return names[schedule];
}

int64_t report_schedule_bubble(enum report_schedule schedule, const struct report_passes *passes) {
  int64_t chunks = 1;
  for (size_t i = 0; i < passes->stages.count; i++) {
    chunks = passes->stages.items[i].chunks > chunks ? passes->stages.items[i].chunks : chunks;
  }
  int64_t behind = passes->pipeline - 1;
  bool known = schedule == SCHEDULE_GPIPE || schedule == SCHEDULE_1F1B || schedule == SCHEDULE_INTERLEAVED;
  return known ? report_share(behind, chunks * passes->micro_batches + behind) : LUMOS_ABSENT;
}

void report_put_chunk(const struct report_stage *stage, int32_t chunk, struct lumos_text *out) {
  if (stage->chunks > 1 && stage->chunks <= 26 && chunk >= 0 && chunk < 26) {
    lumos_text_char(out, (char)('a' + chunk));
  }
}

void report_put_order(const struct report_passes *passes, const struct report_stage *stage, size_t limit,
                      struct lumos_text *out) {
  static const char letters[REPORT_PHASES] = {[LUMOS_FORWARD] = 'F', [LUMOS_BACKWARD] = 'B', [LUMOS_WEIGHT] = 'W'};
  struct turns turns = {0};
  read_turns(passes, stage, &turns);
  size_t before = out->length;
  for (size_t i = 0; i < turns.count; i++) {
    if (out->length - before > limit) {
      lumos_text_put(out, " \xE2\x80\xA6");
      break;
    }
    const struct turn *turn = &turns.items[i];
    lumos_text_put(out, i > 0 ? " " : "");
    lumos_text_char(out, letters[turn->phase]);
    if (turn->micro_batch != LUMOS_ABSENT_INT) {
      lumos_text_integer(out, turn->micro_batch);
    }
    report_put_chunk(stage, turn->chunk, out);
  }
  lumos_vector_free(&turns);
}
