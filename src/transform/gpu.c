/* --gpu: the same program on another GPU. What every kernel takes there follows from the ratio of what the models of
 * both say of its work (cost/kernels.h), copies from their links, communication within nodes from the links between
 * GPUs; the network between nodes stays, and so does what the CPU takes.
 */
#include "base/nearest.h"
#include "base/text.h"
#include "cost/kernels.h"
#include "cost/roofline.h"
#include "transform/contend.h"
#include "transform/edit.h"
#include "transform/estimates.h"
#include "transform/network.h"

#include <lumos/transform.h>
#include <math.h>
#include <string.h>

struct edit {
  struct lumos_job *job;
  const struct lumos_device *to;
  const struct lumos_kernels *kernels;
};

static void refuse(const struct lumos_hardware *hardware, const char *name, struct lumos_error *error) {
  struct lumos_text several = LUMOS_TEXT_BUFFER;
  struct lumos_nearest nearest = {.word = name};
  size_t begin = lumos_hardware_beginning(hardware, name, &several);
  lumos_hardware_offer(hardware, &nearest);
  lumos_text_char(&several, '\0');
  if (begin > 1) {
    (void)lumos_fail(error, "--gpu '%.60s' may be any of %.200s; name one of them", name, several.bytes);
  } else {
    (void)lumos_fail(error,
                     "--gpu '%.60s' is not in the table of GPUs%s%.60s%s; name one of them, or write NAME@FILE "
                     "with a table of your own (lumos-transform(1))",
                     name, nearest.best == NULL ? "" : ", which has '", nearest.best == NULL ? "" : nearest.best,
                     nearest.best == NULL ? "" : "'");
  }
  lumos_text_free(&several);
}

static const struct lumos_device *find(const struct lumos_hardware *hardware, const char *name,
                                       struct lumos_error *error) {
  const struct lumos_device *device = lumos_hardware_named(hardware, name);
  if (device == NULL) {
    refuse(hardware, name, error);
    return NULL;
  }
  if (!(device->bandwidth > 0) || !(lumos_reached_peak(device, LUMOS_NO_DTYPE) > 0)) {
    (void)lumos_fail(error, "--gpu '%.60s': the table lacks its memory_bandwidth or its bf16 or fp16 peak; add them",
                     name);
    return NULL;
  }
  return device;
}

static bool check_devices(const struct edit *edit, struct lumos_error *error) {
  for (uint32_t r = 0; r < edit->job->ranks.count; r++) {
    const struct lumos_device *device = lumos_kernels_device(edit->kernels, r);
    const struct lumos_rank *rank = &edit->job->ranks.items[r];
    if (device == NULL || !(device->bandwidth > 0) || !(lumos_reached_peak(device, LUMOS_NO_DTYPE) > 0)) {
      return lumos_fail(error,
                        "--gpu cannot compare with the GPU of rank %d, '%.60s': the table of GPUs lacks it, or its "
                        "memory_bandwidth and peaks; write NAME@FILE with a table that has both",
                        rank->rank, lumos_string(edit->job->strings, rank->device_name));
    }
  }
  return true;
}

static void change_kernels(struct edit *edit) {
  struct lumos_job *job = edit->job;
  struct lumos_duration *durations = lumos_allocate(job->tasks.count * sizeof *durations + 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool computes = lumos_on_stream(job, task) && !lumos_is_communication(task->kind);
    durations[t] =
        computes ? lumos_kernel_on(edit->kernels, t, edit->to) : (struct lumos_duration){.source = LUMOS_NO_DURATION};
  }
  lumos_estimate_kernels(job, durations, "gpu", "on another GPU",
                         "assumed: data sheets and what products are measured to reach");
  free(durations);
}

static void name_devices(struct edit *edit) {
  for (size_t r = 0; r < edit->job->ranks.count; r++) {
    struct lumos_rank *rank = &edit->job->ranks.items[r];
    rank->device_name = lumos_intern_text(edit->job->strings, edit->to->name);
    rank->device_sms = edit->to->sms > 0 ? (int64_t)edit->to->sms : LUMOS_ABSENT;
    rank->device_memory = LUMOS_ABSENT;
  }
}

/* Communication holds as many SMs on either GPU, and takes of the memory's bandwidth what its links move. Several GPUs
 * are taken to be like the first. */
static void contend_elsewhere(const struct edit *edit, struct lumos_contend *contend) {
  const struct lumos_device *from = lumos_kernels_device(edit->kernels, 0), *to = edit->to;
  if (from == NULL) {
    return;
  }
  contend->is.sms = to->sms;
  contend->is.device = to;
  if (from->sms > 0 && to->sms > 0) {
    contend->factors[LUMOS_CONTENDED_PRODUCTS] = from->sms / to->sms;
  }
  double links = lumos_links_of(to).within / lumos_links_of(from).within;
  if (links > 0 && isfinite(links)) {
    contend->factors[LUMOS_CONTENDED_OTHERS] = links * from->bandwidth / to->bandwidth;
  }
}

static bool change(struct lumos_job *job, const struct lumos_hardware *hardware, const char *name,
                   struct lumos_error *error) {
  struct edit edit = {.job = job, .to = find(hardware, name, error)};
  if (edit.to == NULL || !lumos_edit_begin(job, error)) {
    return false;
  }
  struct lumos_kernels *kernels = lumos_kernels_fit(job, hardware);
  edit.kernels = kernels;
  bool known = check_devices(&edit, error);
  if (known) {
    struct lumos_contend contend;
    lumos_contend_begin(&contend, job);
    contend_elsewhere(&edit, &contend);
    struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
    struct lumos_transfers *transfers = lumos_transfers_fit(job, hardware, &nodes);
    change_kernels(&edit);
    const struct lumos_communication_change change = {.device = edit.to};
    int64_t kept = lumos_estimate_communication(job, transfers, &nodes, &change, "gpu.communication",
                                                "communication between other GPUs");
    lumos_transfers_free(transfers);
    lumos_note_kept_communication(job, kept);
    lumos_contend_end(&contend, job, NULL);
    name_devices(&edit);
  }
  lumos_kernels_free(kernels);
  return known;
}

bool lumos_transform_gpu(struct lumos_job *job, const char *specification, struct lumos_error *error) {
  const char *at = strchr(specification, '@');
  size_t length = at == NULL ? strlen(specification) : (size_t)(at - specification);
  struct lumos_hardware *hardware = lumos_hardware_read(at == NULL ? NULL : at + 1, error);
  if (hardware == NULL) {
    return lumos_fail_prefix(error, "--gpu");
  }
  char *name = lumos_allocate(length + 1);
  memcpy(name, specification, length);
  name[length] = '\0';
  bool done = change(job, hardware, name, error);
  free(name);
  lumos_hardware_free(hardware);
  if (done) {
    lumos_edit_commit(job);
    lumos_edit_record(job, "gpu", specification);
  }
  return done;
}
