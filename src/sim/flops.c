/* What ran is counted kernel by kernel, from recorded shapes (cost/kernel_cost.h); what the model needs is that without
 * what was computed again and what is no part of it (the optimizer), or a formula on the model's description. Each
 * figure stands beside the share of the kernels that it knows, and where it knows too few there is none.
 */
#include "sim/flops.h"

#include "base/numbering.h"
#include "base/text.h"
#include "cost/formula.h"
#include "cost/hardware.h"
#include "cost/kernel_cost.h"
#include "sim/metrics.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MILLION = 1000000, LONGEST = 200 }; /* LONGEST: kernels of a step. Chosen: it bounds a report */
/* Millionths of the products' time whose operations must be known. Chosen: little is then left out. */
static const int64_t ENOUGH = 950000;

/* A step of the job. */
struct sums {
  __int128 flops, model_flops, assumed; /* assumed: of attention that was taken for causal */
  __int128 by_dtype[LUMOS_DTYPES];      /* model_flops */
  __int128 named[LUMOS_DTYPES];         /* time of products by what their names say */
  __int128 products, known;             /* time of products, and of those whose operations are known */
  bool trains;
};

/* A kernel's name in a step. */
struct kernel {
  uint32_t step;
  lumos_string_id name;
  __int128 time, flops, bytes;
  __int128 timed_bytes; /* time of those whose bytes are known */
  const struct lumos_device *device;
  uint8_t dtype;
  bool mixed; /* in devices or formats */
};

struct flops {
  struct lumos_job *job;
  const struct lumos_timeline *timeline;
  const struct lumos_device **devices; /* by rank; NULL: none that is known */
  uint8_t *dtypes;                     /* by string, of names of kernels: + 1; 0: not asked yet */
  struct sums *steps;
  struct lumos_kernel_costs costs;
  struct lumos_numbering numbering;
  bool mfu_of_first; /* is there one of the first step? */
  LUMOS_VECTOR(struct kernel) kernels;
};

static enum lumos_dtype dtype_of_name(struct flops *flops, lumos_string_id name) {
  if (flops->dtypes[name] == 0) {
    flops->dtypes[name] = (uint8_t)(lumos_dtype_of_kernel(lumos_string(flops->job->strings, name)) + 1);
  }
  return (enum lumos_dtype)(flops->dtypes[name] - 1);
}

/* Numbers of 32 bits may be multiplied as TF32, which only the kernel's name says, where the device can do that. Where
 * no format is recorded, that name may say it, too. */
static enum lumos_dtype dtype_of(struct flops *flops, const struct lumos_kernel_cost *cost,
                                 const struct lumos_task *task, const struct lumos_device *device) {
  if (cost->dtype != LUMOS_FP32 && cost->dtype != LUMOS_NO_DTYPE) {
    return (enum lumos_dtype)cost->dtype;
  }
  enum lumos_dtype named = dtype_of_name(flops, task->name);
  if (cost->dtype == LUMOS_NO_DTYPE) {
    return named;
  }
  if (named == LUMOS_TF32 || named == LUMOS_FP32) {
    return named;
  }
  return device == NULL || device->peaks[LUMOS_TF32] > 0 ? LUMOS_NO_DTYPE : LUMOS_FP32;
}

static int64_t time_of(const struct flops *flops, uint32_t task) {
  return flops->timeline->runs == NULL ? flops->job->tasks.items[task].dur : flops->timeline->runs[task].dur;
}

/* ---- Counting ---- */

static uint32_t step_of(const struct flops *flops, int32_t number) {
  const struct lumos_steps_list *steps = &flops->timeline->job;
  size_t low = 0;
  size_t high = steps->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (steps->items[middle].step < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < steps->count && steps->items[low].step == number ? (uint32_t)low : LUMOS_NONE;
}

/* Everything that is a product, whether its operations are known or not. */
static void count_products(struct flops *flops, const struct lumos_stretches *stretches) {
  const struct lumos_job *job = flops->job;
  for (size_t i = 0; i < stretches->count; i++) {
    const struct lumos_stretch *stretch = &stretches->items[i];
    uint32_t step = step_of(flops, stretch->step);
    if (step == LUMOS_NONE || job->lanes.items[stretch->lane].kind != LUMOS_STREAM) {
      continue;
    }
    struct sums *sums = &flops->steps[step];
    int64_t weight = lumos_task_weight(job, &job->tasks.items[stretch->first]);
    for (uint32_t t = stretch->first; t < stretch->first + stretch->count; t++) {
      const struct lumos_task *task = &job->tasks.items[t];
      sums->trains = sums->trains || task->phase == LUMOS_BACKWARD;
      if (lumos_is_product(task->kind)) {
        __int128 *named = &sums->named[dtype_of_name(flops, task->name)];
        sums->products = lumos_weighted_sum(sums->products, time_of(flops, t), weight);
        *named = lumos_weighted_sum(*named, time_of(flops, t), weight);
      }
    }
  }
}

static void count_kernel(struct flops *flops, uint32_t step, const struct lumos_kernel_cost *cost,
                         enum lumos_dtype dtype, const struct lumos_device *device) {
  lumos_string_id name = flops->job->tasks.items[cost->task].name;
  uint32_t number = lumos_number_of(&flops->numbering, lumos_key_pair(step, name));
  if (number == flops->kernels.count) {
    lumos_vector_push(&flops->kernels,
                      ((struct kernel){.step = step, .name = name, .device = device, .dtype = (uint8_t)dtype}));
  }
  struct kernel *kernel = &flops->kernels.items[number];
  int64_t time = time_of(flops, cost->task);
  int64_t weight = lumos_task_weight(flops->job, &flops->job->tasks.items[cost->task]);
  kernel->mixed = kernel->mixed || kernel->dtype != dtype || kernel->device != device;
  kernel->time = lumos_weighted_sum(kernel->time, time, weight);
  kernel->flops = lumos_weighted_sum(kernel->flops, cost->flops, weight);
  if (cost->bytes != LUMOS_ABSENT) {
    kernel->bytes = lumos_weighted_sum(kernel->bytes, cost->bytes, weight);
    kernel->timed_bytes = lumos_weighted_sum(kernel->timed_bytes, time, weight);
  }
}

static void count_kernels(struct flops *flops) {
  const struct lumos_job *job = flops->job;
  for (size_t i = 0; i < flops->costs.list.count; i++) {
    const struct lumos_kernel_cost *cost = &flops->costs.list.items[i];
    const struct lumos_task *task = &job->tasks.items[cost->task];
    uint32_t step = task->step == LUMOS_ABSENT_INT ? LUMOS_NONE : step_of(flops, task->step);
    if (step == LUMOS_NONE) {
      continue;
    }
    struct sums *sums = &flops->steps[step];
    int64_t weight = lumos_task_weight(job, task);
    if (lumos_is_product(task->kind)) {
      sums->known = lumos_weighted_sum(sums->known, time_of(flops, cost->task), weight);
    }
    if (cost->helper) {
      continue;
    }
    const struct lumos_device *device = flops->devices[lumos_rank_of(job, task)];
    enum lumos_dtype dtype = dtype_of(flops, cost, task, device);
    int64_t of_model = task->phase == LUMOS_OPTIMIZER_PHASE ? 0 : cost->model_flops;
    lumos_task_timing(flops->job, &flops->job->tasks.items[cost->task])->flops = cost->flops;
    sums->flops = lumos_weighted_sum(sums->flops, cost->flops, weight);
    sums->model_flops = lumos_weighted_sum(sums->model_flops, of_model, weight);
    sums->by_dtype[dtype] = lumos_weighted_sum(sums->by_dtype[dtype], of_model, weight);
    sums->assumed = lumos_weighted_sum(sums->assumed, cost->assumed ? of_model : 0, weight);
    count_kernel(flops, step, cost, dtype, device);
  }
}

/* ---- Peaks ---- */

/* What most of the model's operations are done in. */
static enum lumos_dtype main_dtype(const struct sums *sums, bool from_shapes) {
  int best = LUMOS_NO_DTYPE;
  for (int dtype = 0; dtype < LUMOS_DTYPES; dtype++) {
    bool more = from_shapes ? sums->by_dtype[dtype] > sums->by_dtype[best] : sums->named[dtype] > sums->named[best];
    best = more ? dtype : best;
  }
  return (enum lumos_dtype)best;
}

/* Operations a ns that the ranks of a step can do together; `all`: as many ranks as the job has, those that are missing
 * like the others. 0: unknown. */
static double peak_of(const struct flops *flops, size_t step, enum lumos_dtype dtype, bool all) {
  const struct lumos_timeline *timeline = flops->timeline;
  double sum = 0;
  int64_t ranks = 0;
  int32_t world = LUMOS_ABSENT_INT;
  for (uint32_t i = timeline->sharers_first[step]; i < timeline->sharers_first[step + 1]; i++) {
    uint32_t rank = timeline->steps.items[timeline->sharers[i]].rank;
    const struct lumos_device *device = flops->devices[rank];
    if (device == NULL || !(device->peaks[dtype] > 0)) {
      return 0;
    }
    int64_t weight = lumos_rank_weight(&flops->job->ranks.items[rank]);
    sum += device->peaks[dtype] * (double)weight;
    ranks += weight;
    world = flops->job->ranks.items[rank].world;
  }
  return all && world != LUMOS_ABSENT_INT && ranks > 0 ? sum / (double)ranks * world : sum;
}

/* ---- Writing ---- */

static int64_t rounded(__int128 numerator, __int128 denominator) {
  __int128 value = (numerator + denominator / 2) / denominator;
  return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static struct lumos_scope scope_of(const struct flops *flops, size_t step) {
  struct lumos_scope scope = lumos_everywhere;
  scope.step = flops->timeline->job.items[step].step;
  return scope;
}

/* TFLOP with as many decimals as fit a number of the stream. */
static void write_tflop(struct flops *flops, const char *name, const struct lumos_scope *scope, __int128 value) {
  __int128 one = MILLION; /* the last decimal's size */
  int decimals = 6;
  for (; decimals > 0 && value / one >= INT64_C(1) << 52; decimals--) {
    one *= 10;
  }
  if (value / one < INT64_C(1) << 52) {
    lumos_metric_add(flops->job, name, scope, flops->timeline->source,
                     (struct lumos_decimal){rounded(value, one), decimals});
  }
}

static void write_share(struct flops *flops, const char *name, const struct lumos_scope *scope, __int128 part,
                        __int128 whole) {
  if (whole > 0) {
    lumos_metric_add(flops->job, name, scope, flops->timeline->source,
                     (struct lumos_decimal){rounded(part * MILLION, whole), 6});
  }
}

/* A model's operations from one source, and what that is of the peak. */
static void write_model(struct flops *flops, size_t step, const char *source, __int128 value) {
  const struct lumos_step *record = &flops->timeline->job.items[step];
  bool from_shapes = strcmp(source, "shapes") == 0;
  struct lumos_scope scope = scope_of(flops, step);
  scope.kind = lumos_intern_text(flops->job->strings, source);
  write_tflop(flops, "model_flops", &scope, value);
  enum lumos_dtype dtype = main_dtype(&flops->steps[step], flops->steps[step].model_flops > 0);
  double peak = peak_of(flops, step, dtype, !from_shapes);
  double most = peak * (double)(record->end - record->start);
  if (most >= 1 && most < 1e30) {
    write_tflop(flops, "peak_flops", &scope, (__int128)most);
    write_share(flops, "mfu", &scope, value, (__int128)most);
    flops->mfu_of_first = flops->mfu_of_first || step == 0;
    if (from_shapes) {
      write_share(flops, "hfu", &scope, flops->steps[step].flops, (__int128)most);
    }
  }
}

/* Longest first, then by name. */
static int compare_kernels(const void *left, const void *right, void *context) {
  const struct kernel *a = left, *b = right;
  const struct lumos_strings *strings = context;
  return a->step != b->step   ? LUMOS_ORDER(a->step, b->step)
         : a->time != b->time ? LUMOS_ORDER(b->time, a->time)
                              : strcmp(lumos_string(strings, a->name), lumos_string(strings, b->name));
}

static void note_above(struct flops *flops, const struct kernel *kernel) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text,
                    "kernels exceed the peak of their GPU, such as %.80s: their recorded shapes or formats, or the "
                    "peak of %s, are wrong",
                    lumos_string(flops->job->strings, kernel->name), kernel->device->name);
  lumos_text_char(&text, '\0');
  lumos_job_note(flops->job, "sim.above_peak", LUMOS_WARNING, 1, NULL, text.bytes,
                 "give the GPU's peaks in a file for lumos-sim --hardware");
  lumos_text_free(&text);
}

static bool write_kernel(struct flops *flops, const struct kernel *kernel) {
  struct lumos_scope scope = scope_of(flops, kernel->step);
  const struct lumos_device *device = kernel->mixed ? NULL : kernel->device;
  scope.name = kernel->name;
  lumos_metric_add(flops->job, "flops_rate", &scope, flops->timeline->source,
                   (struct lumos_decimal){rounded(kernel->flops, kernel->time), 3}); /* a ns: 10^-3 TFLOP/s */
  __int128 most = device == NULL ? 0 : (__int128)(device->peaks[kernel->dtype] * (double)kernel->time);
  write_share(flops, "flops_share", &scope, kernel->flops, most);
  if (kernel->timed_bytes > 0) {
    lumos_metric_add(flops->job, "bytes_rate", &scope, flops->timeline->source,
                     (struct lumos_decimal){rounded(kernel->bytes * 1000, kernel->timed_bytes), 3});
    __int128 moved = device == NULL ? 0 : (__int128)(device->bandwidth * (double)kernel->timed_bytes);
    write_share(flops, "bytes_share", &scope, kernel->bytes, moved);
  }
  return most == 0 || kernel->flops <= most;
}

static void write_kernels(struct flops *flops) {
  lumos_vector_sort_by(&flops->kernels, compare_kernels, flops->job->strings);
  const struct kernel *above = NULL;
  uint32_t written = 0;
  for (size_t i = 0; i < flops->kernels.count; i++) {
    const struct kernel *kernel = &flops->kernels.items[i];
    written = i > 0 && kernel->step != kernel[-1].step ? 0 : written;
    if (kernel->time > 0 && written++ < LONGEST && !write_kernel(flops, kernel)) {
      above = above == NULL || kernel->time > above->time ? kernel : above;
    }
  }
  if (above != NULL && !lumos_job_edited(flops->job)) { /* a change may ask for what no GPU does */
    note_above(flops, above);
  }
}

/* By the model's description. Where sequences are packed, the length that shapes show is that of several, and only a
 * user knows theirs. */
static int64_t formula_of(const struct flops *flops, size_t step, const char **missing) {
  const struct lumos_job *job = flops->job;
  int64_t formula = lumos_model_step_flops(job, flops->steps[step].trains, missing);
  if (formula != LUMOS_ABSENT && flops->costs.packed &&
      strncmp(lumos_string(job->strings, job->models.items[0].evidence.sequence), "file:", 5) != 0) {
    *missing = "sequence (of attention over packed sequences, whose lengths are not recorded)";
    return LUMOS_ABSENT;
  }
  return formula;
}

static void write_step(struct flops *flops, size_t step) {
  const struct sums *sums = &flops->steps[step];
  struct lumos_scope scope = scope_of(flops, step);
  const char *missing = NULL;
  if (sums->products <= 0) {
    return;
  }
  lumos_metric_add(flops->job, "product_time", &scope, flops->timeline->source,
                   (struct lumos_decimal){rounded(sums->products, 1), 0});
  write_share(flops, "product_coverage", &scope, sums->known, sums->products);
  bool enough = sums->known * MILLION >= sums->products * ENOUGH;
  if (enough) {
    write_tflop(flops, "hardware_flops", &scope, sums->flops);
  }
  if (enough && sums->model_flops > 0) {
    write_model(flops, step, "shapes", sums->model_flops);
  }
  int64_t formula = formula_of(flops, step, &missing);
  if (formula != LUMOS_ABSENT) {
    write_model(flops, step, "model", formula);
  }
}

/* ---- What is to be known of the figures ---- */

/* Is there a trace of every rank of the job, or of one like it? Only then are shapes those of the whole model. */
static bool is_complete(const struct lumos_job *job) {
  return job->ranks.count > 0 && job->ranks.items[0].world != LUMOS_ABSENT_INT &&
         job->ranks.items[0].world == lumos_job_weight(job);
}

static void note_sources(struct flops *flops, size_t step, int64_t formula) {
  const struct sums *sums = &flops->steps[step];
  if (formula == LUMOS_ABSENT || !is_complete(flops->job) || sums->model_flops <= 0 ||
      sums->known * MILLION < sums->products * ENOUGH) {
    return;
  }
  __int128 off = sums->model_flops > formula ? sums->model_flops - formula : formula - sums->model_flops;
  if (off * 50 > formula) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text,
                      "model FLOPs from recorded shapes and from the model's description differ by %.1f %%; which is "
                      "right is unknown",
                      100.0 * (double)off / (double)formula);
    lumos_text_char(&text, '\0');
    lumos_job_note(flops->job, "sim.flops_differ", LUMOS_WARNING, 1, NULL, text.bytes,
                   "compare the model record's evidence with the model; lumos-graph --model-file says what it is");
    lumos_text_free(&text);
  }
}

static void note_unknown(struct flops *flops, size_t step, const char *missing) {
  const struct sums *sums = &flops->steps[step];
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_text cure = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text,
                    "model FLOPs and MFU are unknown: shapes cover %.1f %% of the time of matrix products and "
                    "attention, and 95 %% are needed",
                    100.0 * (double)sums->known / (double)sums->products);
  lumos_text_put(&cure, "record with shapes (record_shapes=True), or describe the model in a file for lumos-graph "
                        "--model-file");
  if (missing != NULL && flops->job->models.items[0].hidden != LUMOS_ABSENT_INT) {
    lumos_text_format(&cure, ". The description lacks %s", missing);
  }
  lumos_text_char(&text, '\0');
  lumos_text_char(&cure, '\0');
  lumos_job_note(flops->job, "sim.flops_unknown", LUMOS_INFO, LUMOS_ABSENT, NULL, text.bytes, cure.bytes);
  lumos_text_free(&text);
  lumos_text_free(&cure);
}

static void note_devices(struct flops *flops) {
  for (size_t r = 0; r < flops->job->ranks.count; r++) {
    const struct lumos_rank *rank = &flops->job->ranks.items[r];
    if (flops->devices[r] == NULL && rank->device_name != LUMOS_NO_STRING) {
      struct lumos_text text = LUMOS_TEXT_BUFFER;
      lumos_text_format(&text, "the peaks of the GPU %.60s are unknown, so MFU and shares of peak are left out",
                        lumos_string(flops->job->strings, rank->device_name));
      lumos_text_char(&text, '\0');
      lumos_job_note(flops->job, "sim.gpu_unknown", LUMOS_INFO, 1, NULL, text.bytes,
                     "give them in a file for lumos-sim --hardware");
      lumos_text_free(&text);
    }
  }
}

/* From when the first rank begins the job's first step to when the last one does. All ranks begin a later step at
 * once. */
static int64_t first_spread(const struct lumos_timeline *timeline) {
  int64_t first = INT64_MAX;
  int64_t last = INT64_MIN;
  for (uint32_t i = timeline->sharers_first[0]; i < timeline->sharers_first[1]; i++) {
    int64_t start = timeline->steps.items[timeline->sharers[i]].start;
    first = start < first ? start : first;
    last = start > last ? start : last;
  }
  return last > first ? last - first : 0;
}

static void note_first(struct flops *flops) {
  const struct lumos_step *step = &flops->timeline->job.items[0];
  int64_t spread = first_spread(flops->timeline);
  if (!flops->mfu_of_first || spread * 1000 < step->end - step->start) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text,
                    "MFU of step %d is up to %.1f %% too low: ranks begin the recording's first step %.1f ms apart",
                    (int)step->step, 100.0 * (double)spread / (double)(step->end - step->start), (double)spread / 1e6);
  lumos_text_char(&text, '\0');
  lumos_job_note(flops->job, "sim.mfu_first_step", LUMOS_INFO, 1, NULL, text.bytes,
                 flops->timeline->job.count > 1 ? "use a later step's" : "record more than one step");
  lumos_text_free(&text);
}

/* What no peak is known for, though the GPU's are. */
static void note_format(struct flops *flops, const struct sums *sums) {
  if (sums->model_flops > 0 && main_dtype(sums, true) == LUMOS_NO_DTYPE) {
    lumos_job_note(flops->job, "sim.format_unknown", LUMOS_INFO, 1, NULL,
                   "MFU is unknown: neither recorded types nor kernel names give the number format of most of the "
                   "model's operations",
                   "record with shapes (record_shapes=True), which records types as well");
  }
}

/* Notes are of the last step: that which is least disturbed by how a recording begins. */
static void write_notes(struct flops *flops) {
  size_t steps = flops->timeline->job.count;
  if (steps == 0 || flops->steps[steps - 1].products <= 0) {
    return;
  }
  const struct sums *sums = &flops->steps[steps - 1];
  const char *missing = NULL;
  int64_t formula = formula_of(flops, steps - 1, &missing);
  bool enough = sums->known * MILLION >= sums->products * ENOUGH;
  note_devices(flops);
  note_first(flops);
  if (enough) {
    note_format(flops, sums);
  }
  note_sources(flops, steps - 1, formula);
  if (!enough && formula == LUMOS_ABSENT && flops->job->spans.count > 0) { /* without ops more is missing than shapes */
    note_unknown(flops, steps - 1, missing);
  }
  if (enough && sums->assumed > 0) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text,
                      "Lumos takes self-attention for causal, which counts half. If it is not, the model does %.1f %% "
                      "more operations",
                      100.0 * (double)sums->assumed / (double)sums->model_flops);
    lumos_text_char(&text, '\0');
    lumos_job_note(flops->job, "sim.flops_causal", LUMOS_INFO, LUMOS_ABSENT, NULL, text.bytes, NULL);
    lumos_text_free(&text);
  }
}

void lumos_write_flops(struct lumos_job *job, const struct lumos_timeline *timeline,
                       const struct lumos_stretches *stretches, const struct lumos_hardware *hardware) {
  struct flops flops = {.job = job, .timeline = timeline};
  flops.devices = lumos_allocate_zeroed(job->ranks.count + 1, sizeof(struct lumos_device *));
  flops.dtypes = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  flops.steps = lumos_allocate_zeroed(timeline->job.count + 1, sizeof *flops.steps);
  for (size_t r = 0; r < job->ranks.count; r++) {
    lumos_string_id name = job->ranks.items[r].device_name;
    flops.devices[r] = name == LUMOS_NO_STRING ? NULL : lumos_hardware_find(hardware, lumos_string(job->strings, name));
  }
  lumos_kernel_costs_find(job, &flops.costs);
  count_products(&flops, stretches);
  count_kernels(&flops);
  for (size_t step = 0; step < timeline->job.count; step++) {
    write_step(&flops, step);
  }
  write_kernels(&flops);
  write_notes(&flops);
  free(flops.devices);
  free(flops.dtypes);
  free(flops.steps);
  lumos_vector_free(&flops.costs.list);
  lumos_vector_free(&flops.kernels);
  lumos_numbering_free(&flops.numbering);
}
