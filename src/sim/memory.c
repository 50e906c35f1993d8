#include "sim/memory.h"

#include "base/parallel.h"
#include "base/text.h"
#include "sim/clock.h"
#include "sim/metrics.h"
#include <lumos/footprint.h>
#include <stdlib.h>

struct work {
  const struct lumos_job *job;
  const struct lumos_hardware *hardware;
  struct lumos_footprint *footprints; /* by rank */
};

static bool do_rank(void *context, size_t rank, bool callers) {
  struct work *work = context;
  lumos_footprint_of(work->job, (uint32_t)rank, work->hardware, &work->footprints[rank]);
  (void)callers; /* nobody is told */
  return true;
}

static void add(struct lumos_job *job, const char *name, uint32_t rank, const char *kind, int64_t value) {
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = job->ranks.items[rank].rank;
  scope.kind = kind == NULL ? LUMOS_NO_STRING : lumos_intern_text(job->strings, kind);
  int64_t most = LUMOS_TIME_LIMIT - 1; /* a stream may claim more than there is */
  lumos_metric_add(job, name, &scope, LUMOS_METRIC_SIMULATED, (struct lumos_decimal){value < most ? value : most, 0});
}

static void write_rank(struct lumos_job *job, uint32_t rank, const struct lumos_footprint *footprint,
                       int64_t capacity) {
  add(job, "memory_peak", rank, NULL, footprint->peak);
  for (int part = 0; part < LUMOS_MEMORY_PARTS; part++) {
    add(job, "memory_part", rank, lumos_memory_part_name((enum lumos_memory_part)part), footprint->parts[part]);
  }
  add(job, "memory_micro_batch", rank, NULL, footprint->micro_batch);
  add(job, "memory_in_flight", rank, NULL, footprint->in_flight);
  if (capacity != LUMOS_ABSENT) {
    add(job, "memory_capacity", rank, NULL, capacity);
  }
}

/* Why nothing is known of jobs whose ops have shapes; without shapes, sim.flops_unknown says what to record. */
static void note_unknown(struct lumos_job *job, enum lumos_memory_state state, int64_t ranks) {
  static const char *const reasons[] = {
      [LUMOS_MEMORY_NO_OPTIMIZER] = "no op shows what its optimizer keeps",
      [LUMOS_MEMORY_CAPTURED] = "CUDA graphs run its passes, and the ops in them are not recorded",
      [LUMOS_MEMORY_COMPILED] = "its passes are compiled, and what they keep is not recorded"};
  if (state > LUMOS_MEMORY_NO_GRADIENTS && ranks > 0) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "how much memory the job needs is unknown: %s", reasons[state]);
    lumos_job_note(job, "sim.memory_unknown", LUMOS_INFO, ranks, NULL, text.bytes, NULL);
    lumos_text_free(&text);
  }
}

void lumos_write_memory(struct lumos_job *job, const struct lumos_hardware *hardware) {
  struct work work = {
      .job = job, .hardware = hardware, .footprints = lumos_allocate_zeroed(job->ranks.count, sizeof *work.footprints)};
  int64_t states[LUMOS_MEMORY_COMPILED + 1] = {0};
  (void)lumos_parallel(job->ranks.count, job->threads, do_rank, &work);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    if (work.footprints[r].state == LUMOS_MEMORY_KNOWN) {
      write_rank(job, r, &work.footprints[r], lumos_memory_capacity(job, r, hardware));
    }
    states[work.footprints[r].state]++;
  }
  for (int state = 0; state <= LUMOS_MEMORY_COMPILED; state++) {
    note_unknown(job, (enum lumos_memory_state)state, states[state]);
  }
  free(work.footprints);
}
