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

static void add_from(struct lumos_job *job, const char *name, uint32_t rank, const char *kind, int64_t value,
                     enum lumos_source source) {
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = job->ranks.items[rank].rank;
  scope.kind = kind == NULL ? LUMOS_NO_STRING : lumos_intern_text(job->strings, kind);
  int64_t most = LUMOS_TIME_LIMIT - 1; /* a stream may claim more than there is */
  lumos_metric_add(job, name, &scope, source, (struct lumos_decimal){value < most ? value : most, 0});
}

static void add(struct lumos_job *job, const char *name, uint32_t rank, const char *kind, int64_t value) {
  add_from(job, name, rank, kind, value, LUMOS_METRIC_SIMULATED);
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
      [LUMOS_MEMORY_COMPILED] = "its passes are compiled, and what they keep is not recorded",
      [LUMOS_MEMORY_SHARDED] = "its replicas gather parameters for each pass, and no op shows for how long",
      [LUMOS_MEMORY_FOREIGN] = "its passes run functions of a library of which it is not known what they keep"};
  if (state > LUMOS_MEMORY_NO_GRADIENTS && ranks > 0) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "how much memory the job needs is unknown: %s", reasons[state]);
    lumos_job_note(job, "sim.memory_unknown", LUMOS_INFO, ranks, NULL, text.bytes, NULL);
    lumos_text_free(&text);
  }
}

/* --- What does not fit --- */

static void put_gigabytes(struct lumos_text *text, int64_t bytes) {
  int64_t tenths = (bytes + 50000000) / 100000000;
  lumos_text_format(text, "%lld.%lld GB", (long long)(tenths / 10), (long long)(tenths % 10));
}

static const char *const part_words[LUMOS_MEMORY_PARTS] = {[LUMOS_MEMORY_PARAMETERS] = "parameters",
                                                           [LUMOS_MEMORY_GRADIENTS] = "gradients",
                                                           [LUMOS_MEMORY_OPTIMIZER] = "the optimizer's state",
                                                           [LUMOS_MEMORY_ACTIVATIONS] = "activations",
                                                           [LUMOS_MEMORY_HEAD] = "the head with the loss",
                                                           [LUMOS_MEMORY_TEMPORARY] = "temporary tensors",
                                                           [LUMOS_MEMORY_LIBRARIES] = "libraries"};

/* What tokens take, of the peak. */
static int64_t of_tokens(const struct lumos_footprint *footprint) {
  return footprint->parts[LUMOS_MEMORY_ACTIVATIONS] + footprint->parts[LUMOS_MEMORY_HEAD] +
         footprint->parts[LUMOS_MEMORY_TEMPORARY];
}

/* The most sequences of a micro-batch with which it fits, where what tokens take shrinks with them; else recomputation,
 * which leaves the activations of one layer, if that is enough; else more GPUs. */
static void put_cure(const struct lumos_job *job, const struct lumos_footprint *footprint, int64_t capacity,
                     struct lumos_text *text) {
  const struct lumos_model_description *model =
      job->models.count > 0 ? &job->models.items[0] : &lumos_model_description_empty;
  int64_t tokens = of_tokens(footprint), rest = footprint->peak - tokens;
  for (int32_t sequences = model->micro_batch - 1; sequences >= 1 && tokens > 0; sequences--) {
    int64_t peak = rest + (int64_t)((__int128)tokens * sequences / model->micro_batch);
    if (peak <= capacity) {
      lumos_text_format(text, "with %d instead of %d sequences in a micro-batch it needs about ", (int)sequences,
                        (int)model->micro_batch);
      put_gigabytes(text, peak);
      lumos_text_format(text, ": --micro-batch %d", (int)sequences);
      return;
    }
  }
  lumos_text_format(text,
                    "%sspread the model over more %s or tensor-parallel ranks; lumos-sim --sweep auto says what fits",
                    rest <= capacity ? "recompute activations in the backward pass, or " : "",
                    footprint->sharded ? "data-parallel" : "pipeline stages");
}

static void note_overflow(struct lumos_job *job, uint32_t rank, const struct lumos_footprint *footprint,
                          int64_t capacity) {
  struct lumos_text text = LUMOS_TEXT_BUFFER, cure = LUMOS_TEXT_BUFFER;
  int largest = 0;
  for (int part = 1; part < LUMOS_MEMORY_PARTS; part++) {
    largest = footprint->parts[part] > footprint->parts[largest] ? part : largest;
  }
  lumos_text_format(&text, "the job does not fit in memory: rank %d needs ", (int)job->ranks.items[rank].rank);
  put_gigabytes(&text, footprint->peak);
  lumos_text_put(&text, ", and its GPU has ");
  put_gigabytes(&text, capacity);
  lumos_text_format(&text, "; most of it, ");
  put_gigabytes(&text, footprint->parts[largest]);
  lumos_text_format(&text, ", is for %s", part_words[largest]);
  put_cure(job, footprint, capacity, &cure);
  lumos_job_note(job, "sim.memory_exceeded", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes, cure.bytes);
  lumos_text_free(&text);
  lumos_text_free(&cure);
}

/* --- What was recorded --- */

/* Of a rank that has several GPUs the one that most is allocated on. Of a changed job nothing is known. */
struct recorded {
  int64_t allocated, reserved; /* LUMOS_ABSENT: nothing was */
  int32_t device;
};

static void write_recorded(struct lumos_job *job) {
  if (lumos_job_edited(job)) {
    return;
  }
  struct recorded *peaks = lumos_allocate(job->ranks.count * sizeof *peaks + 1);
  for (size_t r = 0; r < job->ranks.count; r++) {
    peaks[r] = (struct recorded){LUMOS_ABSENT, LUMOS_ABSENT, 0};
  }
  for (size_t i = 0; i < job->memory.count; i++) {
    const struct lumos_memory_event *event = &job->memory.items[i];
    uint32_t r = lumos_job_rank(job, event->rank);
    if (r != LUMOS_NONE && event->allocated > peaks[r].allocated) { /* LUMOS_ABSENT is below all */
      peaks[r] = (struct recorded){event->allocated, LUMOS_ABSENT, event->device};
    }
  }
  for (size_t i = 0; i < job->memory.count; i++) {
    const struct lumos_memory_event *event = &job->memory.items[i];
    uint32_t r = lumos_job_rank(job, event->rank);
    if (r != LUMOS_NONE && event->device == peaks[r].device && event->reserved > peaks[r].reserved) {
      peaks[r].reserved = event->reserved;
    }
  }
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    if (peaks[r].allocated != LUMOS_ABSENT) {
      add_from(job, "memory_recorded_peak", r, NULL, peaks[r].allocated, LUMOS_METRIC_MEASURED);
    }
    if (peaks[r].reserved != LUMOS_ABSENT) {
      add_from(job, "memory_reserved_peak", r, NULL, peaks[r].reserved, LUMOS_METRIC_MEASURED);
    }
  }
  free(peaks);
}

void lumos_write_memory(struct lumos_job *job, const struct lumos_hardware *hardware) {
  struct work work = {
      .job = job, .hardware = hardware, .footprints = lumos_allocate_zeroed(job->ranks.count, sizeof *work.footprints)};
  int64_t states[LUMOS_MEMORY_STATES] = {0};
  uint32_t fullest = LUMOS_NONE;
  (void)lumos_parallel(job->ranks.count, job->threads, do_rank, &work);
  for (uint32_t r = 0; r < job->ranks.count; r++) {
    if (work.footprints[r].state == LUMOS_MEMORY_KNOWN) {
      int64_t capacity = lumos_memory_capacity(job, r, hardware);
      write_rank(job, r, &work.footprints[r], capacity);
      bool exceeds = capacity != LUMOS_ABSENT && work.footprints[r].peak > capacity;
      bool most = fullest == LUMOS_NONE || work.footprints[r].peak > work.footprints[fullest].peak;
      fullest = exceeds && most ? r : fullest;
    }
    states[work.footprints[r].state] += lumos_rank_weight(&job->ranks.items[r]);
  }
  for (int state = 0; state < LUMOS_MEMORY_STATES; state++) {
    note_unknown(job, (enum lumos_memory_state)state, states[state]);
  }
  write_recorded(job);
  if (fullest != LUMOS_NONE) {
    note_overflow(job, fullest, &work.footprints[fullest], lumos_memory_capacity(job, fullest, hardware));
  }
  free(work.footprints);
}
