#include "rebuild/accumulate.h"

#include "cost/hardware.h"
#include "program/sharded.h"
#include "rebuild/gradients.h"
#include "rebuild/library.h"
#include "rebuild/roles.h"
#include <stdlib.h>
#include <string.h>

/* Two inputs and a result of each number. */
enum { MOVED = 3, NUMBER = 4 /* bytes, where not recorded */ };
/* What additions of 17 to 67 million numbers reach of an H100's data sheet, and what a short one takes
 * (examples/pairs). */
enum { REACHED_PERCENT = 88, LEAST = 1500 /* ns */ };

/* A gradient's first one is kept as it is, with a shape and without a kernel; the next ones are added to it. */
static bool keeps_gradients(const struct lumos_job *job) {
  bool some = false, kernels = false,
       unshaped = true; /* without any shapes nothing says that they are kept otherwise */
  for (size_t s = 0; s < job->spans.count && unshaped; s++) {
    unshaped = job->spans.items[s].shapes == LUMOS_NO_STRING;
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    uint32_t span = task->call == LUMOS_NONE ? task->span : job->tasks.items[task->call].span;
    for (; span != LUMOS_NONE; span = job->spans.items[span].parent) {
      const struct lumos_span *of = &job->spans.items[span];
      bool accumulates = strcmp(lumos_string(job->strings, of->name), "torch::autograd::AccumulateGrad") == 0;
      some |= accumulates && (unshaped || of->shapes != LUMOS_NO_STRING);
      kernels |= accumulates && task->call != LUMOS_NONE;
    }
  }
  return some && !kernels;
}

static bool lacks_additions(const struct lumos_job *built, const struct lumos_job *from) {
  bool known = from->models.count > 0 && built->models.count > 0;
  bool more = known && from->models.items[0].micro_batches == 1 && built->models.items[0].micro_batches > 1;
  return more && keeps_gradients(from);
}

/* Bytes a ns of the GPU's memory; 0: not known. */
static bool find_bandwidth(const struct lumos_job *from, double *bandwidth, struct lumos_error *error) {
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, error);
  if (hardware == NULL) {
    return false;
  }
  const struct lumos_device *device =
      lumos_hardware_find(hardware, lumos_string(from->strings, from->ranks.items[0].device_name));
  *bandwidth = device == NULL ? 0 : device->bandwidth * REACHED_PERCENT / 100;
  lumos_hardware_free(hardware);
  return true;
}

static void add(struct rebuild_weave *weave, const struct rebuild_costs *costs, const struct rebuild_gradient *gradient,
                double bandwidth) {
  const struct lumos_job *job = weave->job;
  int64_t bytes = gradient->elements * (gradient->number_size > 0 ? gradient->number_size : NUMBER) * MOVED;
  int64_t dur = (int64_t)((double)bytes / bandwidth);
  struct lumos_task label = lumos_task_empty;
  label.start = LUMOS_ABSENT;
  label.step = gradient->step;
  label.phase = job->tasks.items[gradient->after].phase;
  label.micro_batch = job->tasks.items[gradient->after].micro_batch;
  label.layer = gradient->layer;
  label.part = gradient->part;
  struct rebuild_library_writer writer = {.weave = weave,
                                          .costs = costs,
                                          .thread = job->tasks.items[gradient->after].lane,
                                          .after = gradient->after,
                                          .compute = job->tasks.items[gradient->kernel].lane,
                                          .label = label};
  const struct rebuild_operation operation = {
      .op = "aten::add_", .kernel = "elementwise_kernel", .kind = LUMOS_ELEMENTWISE, .dur = dur > LEAST ? dur : LEAST};
  (void)rebuild_library_run(&writer, &operation, gradient->kernel);
}

static bool weave_all(struct lumos_job *built, const struct lumos_job *from, double bandwidth, int64_t *added,
                      struct lumos_error *error) {
  struct rebuild_gradients gradients;
  struct rebuild_costs costs;
  struct rebuild_weave weave;
  rebuild_gradients_find(&gradients, built, from, REBUILD_LATER_MICRO_BATCHES);
  rebuild_costs_find(&costs, from);
  rebuild_weave_begin(&weave, built);
  for (size_t i = 0; i < gradients.items.count; i++) {
    const struct rebuild_gradient *gradient = &gradients.items.items[i];
    if (gradient->kernel != LUMOS_NONE && gradient->elements > 0) {
      add(&weave, &costs, gradient, bandwidth);
      ++*added;
    }
  }
  lumos_vector_free(&gradients.items);
  lumos_vector_free(&gradients.like);
  return rebuild_weave_end(&weave, error);
}

bool rebuild_accumulate(struct lumos_job *built, const struct lumos_job *from, struct lumos_error *error) {
  double bandwidth = 0;
  int64_t added = 0;
  if (!rebuild_goes_back(from) || !lacks_additions(built, from)) {
    return true;
  }
  bool shares = program_is_fully_sharded(from); /* they add up shares, of which nothing is recorded */
  if (!find_bandwidth(from, &bandwidth, error) ||
      (bandwidth > 0 && !shares && !weave_all(built, from, bandwidth, &added, error))) {
    return false;
  }
  if (added > 0) {
    lumos_job_note(built, "transform.gradients_added", LUMOS_INFO, added, NULL,
                   "adding up the gradients of micro-batches was put in: the recorded step has one micro-batch, so "
                   "nothing is added there. The additions take what the memory's bandwidth says",
                   "record a step of two micro-batches");
  } else {
    lumos_job_note(
        built, "transform.gradients_kept", LUMOS_WARNING, LUMOS_ABSENT, NULL,
        shares ? "the time to add up the gradients of micro-batches is missing from the prediction: the "
                 "recorded step has one micro-batch, and fully sharded replicas add up shares of gradients"
               : "the time to add up the gradients of micro-batches is missing from the prediction: the recorded "
                 "step has one micro-batch, and shapes of gradients or the bandwidth of its GPU are not known",
        "record a step of two micro-batches");
  }
  return true;
}
