/* The program behind a job: rank by rank its passes and their layers, then micro-batches and layers numbered over
 * all. */
#include <lumos/program.h>

#include "program/recovery/recovery.h"
#include <stdlib.h>

static void recover_rank(struct lumos_program *program, struct lumos_symbols *symbols) {
  lumos_program_sequence(program, symbols);
  lumos_program_passes(program);
  lumos_program_buckets(program);
  lumos_program_modules(program);
  lumos_program_layers(program);
}

static void assign(const struct lumos_recovery *recovery, const struct lumos_program *program) {
  for (size_t i = 0; i < program->elements.count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    if (element->pass == LUMOS_NONE) {
      continue;
    }
    const struct lumos_pass *pass = &program->passes.items[element->pass];
    struct lumos_task *task = &recovery->job->tasks.items[element->task];
    task->phase = pass->phase;
    task->micro_batch = pass->micro_batch;
    task->part = element->part;
    if (element->layer != LUMOS_NO_LAYER && !recovery->unplaced) {
      task->layer = lumos_first_layer(recovery, program->stage, pass->chunk) + element->layer;
    }
  }
}

bool lumos_program_recover(struct lumos_job *job, struct lumos_error *error) {
  (void)error;
  struct lumos_recovery recovery = {.job = job,
                                    .programs = lumos_allocate_zeroed(job->ranks.count, sizeof(struct lumos_program))};
  struct lumos_symbols *symbols = lumos_symbols_new(job);
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    recovery.programs[rank] = (struct lumos_program){.job = job, .rank = rank};
    recover_rank(&recovery.programs[rank], symbols);
  }
  lumos_program_stages(&recovery);
  lumos_program_single_layers(&recovery);
  lumos_program_chunks(&recovery);
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    struct lumos_program *program = &recovery.programs[rank];
    lumos_program_links(program);
    lumos_program_fill(program);
    lumos_program_weights(program);
    if (!recovery.unplaced) { /* else nothing says which way they go */
      lumos_program_transfers(&recovery, program);
    }
    assign(&recovery, program);
    lumos_program_before(job, rank);
    lumos_program_host(program);
  }
  lumos_program_tell(&recovery);
  for (uint32_t rank = 0; rank < job->ranks.count; rank++) {
    lumos_vector_free(&recovery.programs[rank].elements);
    lumos_vector_free(&recovery.programs[rank].passes);
  }
  lumos_symbols_free(symbols);
  free(recovery.programs);
  free(recovery.layers);
  return true;
}
