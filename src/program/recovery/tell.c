/* What the recovery found, in a note, and in the record of the model. */
#include "program/recovery/recovery.h"

#include <stdio.h>

static const char *const words[] = {[LUMOS_BY_NOTHING] = "a similar step's end, for work launched before the recording",
                                    [LUMOS_BY_MODULES] = "names of modules and annotations",
                                    [LUMOS_BY_NUMBERS] = "autograd's sequence numbers",
                                    [LUMOS_BY_REPETITION] = "repetition of launches",
                                    [LUMOS_BY_NORMS] = "the norms around one layer"};
enum { WAYS = sizeof words / sizeof *words };

/* Device time. */
struct share {
  int64_t all, phase, layer; /* all; of a phase; of a layer */
  int64_t by[WAYS];          /* of a layer, by what tells its pass's layers; 0: as the end of another step */
};

static struct share measure(const struct lumos_recovery *recovery) {
  const struct lumos_job *job = recovery->job;
  struct share share = {0};
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (lumos_on_stream(job, task)) {
      share.all += task->dur;
      share.phase += task->phase != 0 && task->phase != LUMOS_OTHER_PHASE ? task->dur : 0;
      share.layer += task->layer != LUMOS_ABSENT_INT ? task->dur : 0;
    }
  }
  for (uint32_t r = 0; r < job->ranks.count && !recovery->unplaced; r++) {
    const struct lumos_program *program = &recovery->programs[r];
    for (size_t i = 0; i < program->elements.count; i++) {
      const struct lumos_element *element = &program->elements.items[i];
      if (element->pass != LUMOS_NONE && element->layer != LUMOS_NO_LAYER) {
        share.by[program->passes.items[element->pass].evidence] += lumos_element_task(program, element)->dur;
      }
    }
  }
  share.by[LUMOS_BY_NOTHING] = share.layer;
  for (size_t i = 1; i < WAYS; i++) {
    share.by[LUMOS_BY_NOTHING] -= share.by[i];
  }
  return share;
}

static int32_t count_micro_batches(const struct lumos_recovery *recovery) {
  int32_t most = -1;
  for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
    const struct lumos_program *program = &recovery->programs[r];
    for (size_t i = 0; i < program->passes.count; i++) {
      const struct lumos_pass *pass = &program->passes.items[i];
      most = pass->phase == LUMOS_FORWARD && pass->micro_batch > most ? pass->micro_batch : most;
    }
  }
  return most + 1;
}

static double percent(int64_t part, int64_t whole) { return whole == 0 ? 0 : 100.0 * (double)part / (double)whole; }

static void put_note(const struct lumos_recovery *recovery, const struct share *share, int32_t layers,
                     int32_t micro_batches) {
  char text[768];
  int length = snprintf(text, sizeof text, "%.1f %% of GPU time has a phase, %.1f %% a layer",
                        percent(share->phase, share->all), percent(share->layer, share->all));
  if (micro_batches > 0) {
    length += snprintf(text + length, sizeof text - (size_t)length, ". %s per step: %d",
                       recovery->unplaced ? "Forward passes of a rank" : "Micro-batches", (int)micro_batches);
  }
  if (layers > 0) {
    length += snprintf(text + length, sizeof text - (size_t)length, ". Layers: %d", (int)layers);
  }
  const char *between = ", by ";
  for (size_t i = 1; i <= WAYS; i++) {
    size_t way = i % WAYS; /* those without evidence of their own come last */
    if (share->by[way] > 0) {
      length += snprintf(text + length, sizeof text - (size_t)length, "%s%s (%.0f %% of their time)", between,
                         words[way], percent(share->by[way], share->layer));
      between = ", ";
    }
  }
  if (recovery->unplaced) {
    snprintf(text + length, sizeof text - (size_t)length,
             ". The pipeline stage of a rank is unknown, so layers have no number, and how many passes make a "
             "micro-batch is "
             "unknown. Sends and receives have no pass");
  }
  lumos_job_note(recovery->job, "graph.program", LUMOS_INFO, LUMOS_ABSENT, NULL, text, NULL);
}

static void put_model(struct lumos_job *job, const struct share *share, int32_t layers, int32_t micro_batches) {
  if (job->models.count == 0 && (layers > 0 || micro_batches > 0)) {
    lumos_vector_push(&job->models, lumos_model_description_empty);
  }
  if (layers > 0) { /* numbers only carry over what is known of forward work */
    const char *by = words[share->by[LUMOS_BY_MODULES] > 0 ? LUMOS_BY_MODULES
                           : share->by[LUMOS_BY_NORMS] > 0 ? LUMOS_BY_NORMS
                                                           : LUMOS_BY_REPETITION];
    job->models.items[0].layers = layers;
    job->models.items[0].evidence.layers = lumos_intern_text(job->strings, by);
  }
  if (micro_batches > 0) {
    job->models.items[0].micro_batches = micro_batches;
    job->models.items[0].evidence.micro_batches =
        lumos_intern_text(job->strings, "forward and backward passes in turn");
  }
}

static bool is_recorded(const struct lumos_recovery *recovery, int32_t stage) {
  uint32_t rank = 0;
  while (rank < recovery->job->ranks.count && recovery->programs[rank].stage != stage) {
    rank++;
  }
  return rank < recovery->job->ranks.count;
}

/* Of all stages; the last may hold the head alone. 0: not known, for those of a stage are not all. */
static int32_t count_layers(const struct lumos_recovery *recovery) {
  int32_t last = recovery->stages - 1, chunk = recovery->chunks - 1;
  if (recovery->unplaced) {
    return 0;
  }
  if (!is_recorded(recovery, last)) {
    return lumos_first_layer(recovery, last + 1, chunk);
  }
  return lumos_first_layer(recovery, last, chunk) + recovery->layers[chunk * recovery->stages + last];
}

void lumos_program_tell(const struct lumos_recovery *recovery) {
  struct share share = measure(recovery);
  int32_t layers = count_layers(recovery), micro_batches = count_micro_batches(recovery);
  if (share.phase + share.layer > 0) {
    put_note(recovery, &share, layers, micro_batches);
    put_model(recovery->job, &share, layers, recovery->unplaced ? 0 : micro_batches);
  }
}
