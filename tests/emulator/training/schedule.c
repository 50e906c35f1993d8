/* The orders, written down one schedule a function. */
#include "schedule.h"
#include "memory.h"

struct order {
  struct pass *passes;
  int count;
};

static void add(struct order *order, enum phase phase, int micro_batch, int chunk) {
  order->passes[order->count++] =
      (struct pass){.phase = (uint8_t)phase, .micro_batch = (int16_t)micro_batch, .chunk = (int16_t)chunk};
}

static int least(int a, int b) { return a < b ? a : b; }

static void gpipe(struct order *order, int micro_batches) {
  for (int i = 0; i < micro_batches; i++)
    add(order, PHASE_FORWARD, i, 0);
  for (int i = 0; i < micro_batches; i++)
    add(order, PHASE_BACKWARD, i, 0);
}

/* With weights apart (zero-bubble), those of micro-batch i follow the backward pass of i + delay. */
static void one_forward_one_backward(struct order *order, int micro_batches, int warmup, bool weights_apart,
                                     int delay) {
  for (int i = 0; i < warmup; i++)
    add(order, PHASE_FORWARD, i, 0);
  for (int i = 0; i < micro_batches; i++) {
    if (warmup + i < micro_batches)
      add(order, PHASE_FORWARD, warmup + i, 0);
    add(order, PHASE_BACKWARD, i, 0);
    if (weights_apart && i >= delay)
      add(order, PHASE_WEIGHT, i - delay, 0);
  }
  for (int i = micro_batches > delay ? micro_batches - delay : 0; weights_apart && i < micro_batches; i++)
    add(order, PHASE_WEIGHT, i, 0);
}

/* The k-th forward pass goes through the chunks in turn, each for as many micro-batches as there are stages; backward
 * passes take the same way with the chunks from the last to the first. */
static void interleaved_pass(struct order *order, enum phase phase, int k, int stages, int chunks) {
  int round = k / (stages * chunks), place = k % (stages * chunks);
  int chunk = place / stages;
  add(order, phase, round * stages + place % stages, phase == PHASE_FORWARD ? chunk : chunks - 1 - chunk);
}

static void interleaved(struct order *order, int micro_batches, int stages, int chunks, int stage) {
  int total = micro_batches * chunks;
  int warmup = least(2 * (stages - 1 - stage) + (chunks - 1) * stages, total);
  for (int k = 0; k < warmup; k++)
    interleaved_pass(order, PHASE_FORWARD, k, stages, chunks);
  for (int k = 0; k < total; k++) {
    if (warmup + k < total)
      interleaved_pass(order, PHASE_FORWARD, warmup + k, stages, chunks);
    interleaved_pass(order, PHASE_BACKWARD, k, stages, chunks);
  }
}

int schedule_passes(const struct setup *setup, int stage, struct pass **passes) {
  int micro_batches = setup->model.micro_batches, stages = setup->parallel.pipeline, chunks = setup->parallel.chunks;
  struct order order = {memory_new((size_t)micro_batches * (size_t)chunks * 3, sizeof(struct pass)), 0};
  int warmup = least(stages - 1 - stage, micro_batches);
  switch (setup->parallel.schedule) {
    case SCHEDULE_GPIPE:
      gpipe(&order, micro_batches);
      break;
    case SCHEDULE_INTERLEAVED:
      interleaved(&order, micro_batches, stages, chunks, stage);
      break;
    case SCHEDULE_1F1B:
    case SCHEDULE_ZERO_BUBBLE:
    case SCHEDULES:
      one_forward_one_backward(&order, micro_batches, warmup, setup->parallel.schedule == SCHEDULE_ZERO_BUBBLE, stage);
      break;
  }
  *passes = order.passes;
  return order.count;
}
