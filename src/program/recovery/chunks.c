/* Which micro-batch and which chunk of a stage's layers a pass is for, over all ranks.
 *
 * The n-th forward pass of a round is micro-batch n, and so is the n-th backward one, however often it is interrupted,
 * in every schedule that gives a stage one chunk. With more, as interleaved schedules do, passes take turns: as many
 * micro-batches as there are stages go through one chunk, then through the next; backward from the last chunk on. How
 * many chunks there are shows at the ends of the pipeline: only the first chunk of the first stage begins with the
 * embedding, only the last of the last ends with the head.
 */
#include "program/recovery/recovery.h"

#include <stdlib.h>

/* ---- stages ---- */

static bool begins_with_embedding(const struct lumos_program *program, uint32_t index) {
  const struct lumos_pass *pass = &program->passes.items[index];
  for (uint32_t i = pass->first; pass->layers > 0 && i < pass->first + pass->count; i++) {
    const struct lumos_element *element = &program->elements.items[i];
    if (element->layer != LUMOS_NO_LAYER) {
      return false;
    }
    if (element->part == LUMOS_PART_EMBEDDING) {
      return true;
    }
  }
  return false;
}

static bool ends_with_head(const struct lumos_program *program, uint32_t index) {
  const struct lumos_pass *pass = &program->passes.items[index];
  for (uint32_t i = pass->first + pass->count; pass->layers > 0 && i > pass->first; i--) {
    const struct lumos_element *element = &program->elements.items[i - 1];
    if (element->layer != LUMOS_NO_LAYER) {
      return false;
    }
    if (element->part == LUMOS_PART_HEAD) {
      return true;
    }
  }
  return false;
}

static uint32_t count_forward(const struct lumos_program *program,
                              bool (*which)(const struct lumos_program *, uint32_t)) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < program->passes.count; i++) {
    count += program->passes.items[i].phase == LUMOS_FORWARD && (which == NULL || which(program, i));
  }
  return count;
}

static bool has_transfers(const struct lumos_job *job) {
  for (size_t i = 0; i < job->tasks.count; i++) {
    if (job->tasks.items[i].kind == LUMOS_P2P) {
      return true;
    }
  }
  return false;
}

/* Where nothing tells, the only one. */
void lumos_program_stages(struct lumos_recovery *recovery) {
  const struct lumos_job *job = recovery->job;
  int32_t known = job->models.count > 0 ? job->models.items[0].sizes.pp : LUMOS_ABSENT_INT;
  recovery->stages = known > 1 ? known : 1;
  recovery->unplaced = known == LUMOS_ABSENT_INT && has_transfers(job);
  for (uint32_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_rank *rank = &job->ranks.items[i];
    int32_t stage = rank->has_parallel && rank->parallel.pp > 0 ? rank->parallel.pp : 0;
    recovery->programs[i].stage = stage;
    recovery->stages = stage + 1 > recovery->stages ? stage + 1 : recovery->stages;
  }
}

/* From the first and last stages: all forward passes, by those of the first or last chunk. */
static void find_chunks(struct lumos_recovery *recovery) {
  recovery->chunks = 1;
  for (uint32_t i = 0; i < recovery->job->ranks.count && recovery->stages > 1; i++) {
    const struct lumos_program *program = &recovery->programs[i];
    bool first = program->stage == 0, last = program->stage == recovery->stages - 1;
    if (first || last) {
      uint32_t all = count_forward(program, NULL);
      uint32_t some = count_forward(program, first ? begins_with_embedding : ends_with_head);
      if (some > 0 && all % some == 0) {
        recovery->chunks = (int32_t)(all / some);
        return;
      }
    }
  }
}

/* ---- passes ---- */

static void number_pass(const struct lumos_recovery *recovery, struct lumos_pass *pass, int32_t n) {
  int32_t turn = recovery->stages * recovery->chunks;
  pass->chunk = n % turn / recovery->stages;
  pass->micro_batch = n / turn * recovery->stages + n % recovery->stages;
  if (recovery->chunks == 1) {
    pass->chunk = 0;
    pass->micro_batch = n;
  }
  if (pass->phase != LUMOS_FORWARD) {
    pass->chunk = recovery->chunks - 1 - pass->chunk;
  }
}

/* Is it the rest of the pass back before it, which other work of the program's own thread has interrupted? Another
 * micro-batch goes back after something was received for it, or after its own work forward. */
static bool goes_on(const struct lumos_program *program, const struct lumos_pass *before,
                    const struct lumos_pass *pass) {
  bool back = before->phase == LUMOS_BACKWARD && pass->phase == LUMOS_BACKWARD;
  for (uint32_t i = before->first + before->count; back && i < pass->first; i++) {
    back = lumos_element_task(program, &program->elements.items[i])->kind != LUMOS_P2P;
  }
  return back;
}

static void number_passes(const struct lumos_recovery *recovery, struct lumos_program *program) {
  int32_t next[LUMOS_OTHER_PHASE + 1] = {0};
  const struct lumos_pass *before = NULL;
  for (size_t i = 0; i < program->passes.count; i++) {
    struct lumos_pass *pass = &program->passes.items[i];
    if (before != NULL && (pass->round != before->round || pass->step != before->step)) {
      for (int phase = 0; phase <= LUMOS_OTHER_PHASE; phase++) {
        next[phase] = 0;
      }
    }
    next[LUMOS_BACKWARD] -= before != NULL && next[LUMOS_BACKWARD] > 0 && goes_on(program, before, pass);
    before = pass;
    if (pass->phase == LUMOS_FORWARD || pass->phase == LUMOS_BACKWARD || pass->phase == LUMOS_WEIGHT) {
      number_pass(recovery, pass, next[pass->phase]++);
    }
  }
}

/* ---- layers ---- */

static int compare_numbers(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return LUMOS_ORDER(a, b);
}

/* The smallest of those that are there most often; 0 of none. Sorts. */
static uint32_t most_frequent(uint32_t *numbers, size_t count) {
  if (count > 0) {
    qsort(numbers, count, sizeof *numbers, compare_numbers);
  }
  size_t most = 0, first = 0;
  uint32_t best = 0;
  for (size_t i = 0; i < count; i++) {
    first = numbers[i] == numbers[first] ? first : i;
    if (i - first + 1 > most) {
      most = i - first + 1;
      best = numbers[i];
    }
  }
  return best;
}

/* What most forward passes of a chunk have. */
static void count_layers(struct lumos_recovery *recovery) {
  int32_t chunks = recovery->stages * recovery->chunks;
  LUMOS_VECTOR(uint32_t) found = {0};
  for (int32_t c = 0; c < chunks; c++) {
    found.count = 0;
    for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
      const struct lumos_program *program = &recovery->programs[r];
      for (size_t i = 0; i < program->passes.count; i++) {
        const struct lumos_pass *pass = &program->passes.items[i];
        bool forward = pass->phase == LUMOS_FORWARD || pass->phase == LUMOS_OTHER_PHASE;
        if (forward && pass->layers > 0 && pass->chunk * recovery->stages + program->stage == c) {
          lumos_vector_push(&found, pass->layers);
        }
      }
    }
    recovery->layers[c] = (int32_t)most_frequent(found.items, found.count);
  }
  lumos_vector_free(&found);
}

/* A pass in which another number of layers was found than in most of its chunk is looked at again; layers that show
 * backward alone are none. */
static void agree_on_layers(struct lumos_recovery *recovery) {
  for (uint32_t r = 0; r < recovery->job->ranks.count; r++) {
    struct lumos_program *program = &recovery->programs[r];
    for (size_t i = 0; i < program->passes.count; i++) {
      struct lumos_pass *pass = &program->passes.items[i];
      int32_t layers = recovery->layers[pass->chunk * recovery->stages + program->stage];
      bool works = pass->phase == LUMOS_FORWARD || pass->phase == LUMOS_BACKWARD;
      if (works && layers != 1 && pass->evidence != LUMOS_BY_MODULES && pass->layers != (uint32_t)layers) {
        lumos_pass_layers(program, pass, layers == 0 ? LUMOS_NONE : (uint32_t)layers);
      }
    }
  }
}

/* A stage that was not recorded has as many as those that were. */
int32_t lumos_first_layer(const struct lumos_recovery *recovery, int32_t stage, int32_t chunk) {
  int32_t usual = 0, first = 0, end = chunk * recovery->stages + stage;
  for (int32_t i = 0; i < recovery->stages * recovery->chunks; i++) {
    usual = recovery->layers[i] > usual ? recovery->layers[i] : usual;
  }
  for (int32_t i = 0; i < end; i++) {
    first += recovery->layers[i] > 0 ? recovery->layers[i] : usual;
  }
  return first;
}

void lumos_program_chunks(struct lumos_recovery *recovery) {
  find_chunks(recovery);
  recovery->layers =
      lumos_allocate_zeroed((size_t)recovery->stages * (size_t)recovery->chunks, sizeof *recovery->layers);
  for (uint32_t i = 0; i < recovery->job->ranks.count; i++) {
    number_passes(recovery, &recovery->programs[i]);
  }
  count_layers(recovery);
  agree_on_layers(recovery);
}
