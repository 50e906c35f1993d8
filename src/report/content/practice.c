/* Names are looked at once each. */
#include "report/content/practice.h"

#include "cost/hardware.h"
#include "cost/kernel_cost.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

/* ---- What names say ---- */

enum trait {
  COMPILED = 1 << 0,
  FUSED = 1 << 1, /* of attention, optimizers and embeddings */
  OLD = 1 << 2,
  CONVERTS = 1 << 3,
  OF_LOSS = 1 << 4,
  PAGEABLE = 1 << 5,
  WITHIN = 1 << 6,
  SEEN = 1 << 7
};

static const struct {
  const char *part;
  uint8_t kind; /* 0: any */
  uint8_t traits;
} traits[] = {
    {"triton_", 0, COMPILED},
    {"flash", LUMOS_ATTENTION, FUSED},
    {"Flash", LUMOS_ATTENTION, FUSED},
    {"fmha", LUMOS_ATTENTION, FUSED},
    {"sdpa", LUMOS_ATTENTION, FUSED},
    {"fused_attention", LUMOS_ATTENTION, FUSED},
    {"mem_eff", LUMOS_ATTENTION, FUSED},
    {"attn_fwd", LUMOS_ATTENTION, FUSED},
    {"attn_bwd", LUMOS_ATTENTION, FUSED},
    {"flash_fwd_kernel", LUMOS_ATTENTION, OLD}, /* FlashAttention-3 names its kernels FlashAttnFwdSm90 and the like */
    {"flash_bwd_dq_dk_dv", LUMOS_ATTENTION, OLD},
    {"Fused", LUMOS_OPTIMIZER, FUSED},
    {"fused", LUMOS_OPTIMIZER, FUSED},
    {"AdamFunctor", LUMOS_OPTIMIZER, FUSED}, /* Apex and Transformer Engine */
    {"AdamCapturable", LUMOS_OPTIMIZER, FUSED},
    {"SGDFunctor", LUMOS_OPTIMIZER, FUSED},
    {"LAMBStage", LUMOS_OPTIMIZER, FUSED},
    {"split_embedding", LUMOS_EMBEDDING, FUSED}, /* FBGEMM's, of several tables at once */
    {"embedding_codegen", LUMOS_EMBEDDING, FUSED},
    {"copy_kernel", LUMOS_ELEMENTWISE, CONVERTS},
    {"LogSoftMax", LUMOS_REDUCTION, OF_LOSS},
    {"nll_loss", LUMOS_REDUCTION, OF_LOSS},
    {"cross_entropy", LUMOS_REDUCTION, OF_LOSS},
    {"Pageable", LUMOS_COPY, PAGEABLE},
    {"DtoD", LUMOS_COPY, WITHIN},
    {"Device -> Device", LUMOS_COPY, WITHIN},
};

struct reading {
  const struct lumos_job *job;
  struct report_practice *practice;
  const struct lumos_device *device; /* NULL: unknown */
  uint8_t *traits, *formats;         /* by string */
  int64_t *by_name;                  /* time of GEMMs and attention */
};

static uint8_t traits_of(struct reading *reading, const struct lumos_task *task) {
  uint8_t *known = &reading->traits[task->name];
  if (*known == 0) {
    const char *name = lumos_string(reading->job->strings, task->name);
    *known = SEEN;
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++) {
      bool fits = (traits[i].kind == 0 || traits[i].kind == task->kind) && strstr(name, traits[i].part) != NULL;
      *known |= fits ? traits[i].traits : 0;
    }
    reading->formats[task->name] = task->kind == LUMOS_GEMM ? (uint8_t)lumos_dtype_of_kernel(name) : 0;
  }
  return *known;
}

static void add(int64_t *sum, int64_t time, bool counts) { *sum = counts ? report_sum(*sum, time) : *sum; }

static bool is_replayed(const struct lumos_job *job, const struct lumos_task *task) {
  return task->call != LUMOS_NONE &&
         strstr(lumos_string(job->strings, job->tasks.items[task->call].name), "GraphLaunch") != NULL;
}

static void count_launch(struct reading *reading, const struct lumos_task *task, int64_t weight) {
  struct report_practice *practice = reading->practice;
  bool replayed = is_replayed(reading->job, task);
  uint8_t phase = task->phase <= LUMOS_OTHER_PHASE ? task->phase : 0;
  add(&practice->replayed, weight, replayed);
  add(&practice->single[phase], weight, !replayed && task->call != LUMOS_NONE);
}

static bool is_in_span(const struct lumos_job *job, const struct lumos_task *task, const char *prefix) {
  size_t length = strlen(prefix);
  for (uint32_t s = task->span; s != LUMOS_NONE; s = job->spans.items[s].parent) {
    if (strncmp(lumos_string(job->strings, job->spans.items[s].name), prefix, length) == 0) {
      return true;
    }
  }
  return false;
}

static void count_task(struct reading *reading, const struct lumos_task *task) {
  struct report_practice *practice = reading->practice;
  uint8_t has = traits_of(reading, task);
  int64_t weight = lumos_task_weight(reading->job, task);
  int64_t time = report_product(task->dur, weight);
  bool old = (has & OLD) != 0 && reading->device != NULL && reading->device->architecture == LUMOS_HOPPER;
  add(&practice->time[task->kind], time, true);
  add(&practice->compiled[task->kind], time, (has & COMPILED) != 0);
  add(&practice->formats[reading->formats[task->name]], time, task->kind == LUMOS_GEMM);
  add(&practice->fused_attention, time, task->kind == LUMOS_ATTENTION && (has & (FUSED | COMPILED)) != 0);
  add(&practice->old_attention, time, task->kind == LUMOS_ATTENTION && old);
  add(&practice->fused_optimizer, time, task->kind == LUMOS_OPTIMIZER && (has & (FUSED | COMPILED)) != 0);
  add(&practice->fused_embedding, time, task->kind == LUMOS_EMBEDDING && (has & FUSED) != 0);
  add(&practice->conversions, time, (has & CONVERTS) != 0);
  add(&practice->of_loss, time, (has & OF_LOSS) != 0);
  add(&practice->pageable, time, (has & PAGEABLE) != 0);
  add(&practice->within, time, (has & WITHIN) != 0);
  add(&practice->of_zero_grad, time,
      task->kind == LUMOS_MEMSET && is_in_span(reading->job, task, "Optimizer.zero_grad"));
  add(&reading->by_name[task->name], time, lumos_is_product(task->kind));
  if (!lumos_is_copy(task->kind) && !lumos_is_communication(task->kind)) {
    count_launch(reading, task, weight);
  }
}

/* What a thread is at: a pass that has launched kernels is cut in two by what makes the thread wait for its GPU. */
struct thread_pass {
  uint32_t lane;
  int32_t step, micro_batch;
  uint8_t phase;
  bool launched;
};

static void count_wait(struct reading *reading, const struct lumos_task *task, struct thread_pass *pass) {
  const struct lumos_job *job = reading->job;
  bool same = pass->lane == task->lane && pass->step == task->step && pass->micro_batch == task->micro_batch &&
              pass->phase == task->phase;
  *pass = same ? *pass : (struct thread_pass){task->lane, task->step, task->micro_batch, task->phase, false};
  bool blocks = lumos_detail_of(job, task)->wait.on == LUMOS_WAIT_SELF ||
                (task->kind == LUMOS_SYNC && lumos_detail_of(job, task)->wait.on != 0);
  bool in_pass = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD;
  int64_t time = report_product(task->dur, lumos_task_weight(job, task));
  add(&reading->practice->blocked, time, blocks && in_pass && pass->launched);
  pass->launched |= task->kind == LUMOS_LAUNCH && strstr(lumos_string(job->strings, task->name), "aunchKernel") !=
                                                      NULL; /* cuLaunchKernel, hipLaunchKernel */
}

static void count_tasks(struct reading *reading, const struct report_facts *facts) {
  const struct lumos_job *job = reading->job;
  struct thread_pass pass = {LUMOS_NONE, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, 0, false};
  int32_t step = LUMOS_ABSENT_INT;
  bool counts = false;
  reading->practice->launches_nothing = facts->edited;
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (task->step != step) {
      step = task->step;
      counts = step != LUMOS_ABSENT_INT && report_step_counts(facts, step);
    }
    reading->practice->launches_nothing &= task->kind != LUMOS_LAUNCH;
    if (counts && lumos_on_stream(job, task)) {
      count_task(reading, task);
    } else if (counts) {
      count_wait(reading, task, &pass);
    }
  }
}

/* ---- What shapes say ---- */

static bool is_aligned(const struct lumos_kernel_cost *cost) {
  enum { MULTIPLE = 64 }; /* elements: 128 bytes in 16 bits, which tensor cores read at once */
  return cost->rows % MULTIPLE == 0 && cost->inner % MULTIPLE == 0 && cost->columns % MULTIPLE == 0;
}

static void read_shapes(struct reading *reading, const struct report_facts *facts) {
  const struct lumos_job *job = reading->job;
  struct report_practice *practice = reading->practice;
  struct lumos_kernel_costs costs;
  lumos_kernel_costs_find(job, &costs);
  for (size_t i = 0; i < costs.list.count; i++) {
    const struct lumos_kernel_cost *cost = &costs.list.items[i];
    const struct lumos_task *task = &job->tasks.items[cost->task];
    if (task->kind != LUMOS_GEMM || task->step == LUMOS_ABSENT_INT || !report_step_counts(facts, task->step)) {
      continue;
    }
    int64_t time = report_product(task->dur, lumos_task_weight(job, task));
    bool unnamed = reading->formats[task->name] == LUMOS_NO_DTYPE && cost->dtype < LUMOS_DTYPES;
    add(&practice->formats[cost->dtype], time, unnamed);
    add(&practice->formats[LUMOS_NO_DTYPE], -time, unnamed);
    add(&practice->sized, time, cost->rows > 0);
    add(&practice->aligned, time, cost->rows > 0 && is_aligned(cost));
    add(&practice->again, time, cost->again);
  }
  lumos_vector_free(&costs.list);
}

/* ---- What they reach ---- */

struct reached {
  int64_t share, steps;
};

/* Of kernels whose share of the peak is known: its mean over their time. */
static int64_t mean_reached(const struct reading *reading, const struct reached *reached, const uint8_t *kinds,
                            uint8_t kind) {
  __int128 sum = 0, time = 0;
  for (uint32_t name = 0; name < lumos_strings_count(reading->job->strings); name++) {
    if (reached[name].steps > 0 && kinds[name] == kind) {
      sum += (__int128)reading->by_name[name] * (reached[name].share / reached[name].steps);
      time += reading->by_name[name];
    }
  }
  return time > 0 ? (int64_t)(sum / time) : LUMOS_ABSENT;
}

static void read_peaks(struct reading *reading, const struct report_facts *facts) {
  const struct lumos_job *job = reading->job;
  uint32_t strings = lumos_strings_count(job->strings);
  bool measured = report_facts_spoken(facts) == MEASURED;
  struct reached *reached = lumos_allocate_zeroed(strings + 1U, sizeof *reached);
  uint8_t *kinds = lumos_allocate_zeroed(strings + 1U, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    kinds[task->name] = lumos_is_product(task->kind) ? task->kind : kinds[task->name];
  }
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->scope.name != LUMOS_NO_STRING && (metric->source == LUMOS_METRIC_MEASURED) == measured &&
        strcmp(lumos_string(job->strings, metric->name), "flops_share") == 0 &&
        report_step_counts(facts, metric->scope.step)) {
      struct reached *of = &reached[metric->scope.name];
      of->share = report_sum(of->share, report_decimal_as(metric->value, 6));
      of->steps++;
    }
  }
  reading->practice->gemm_peak = mean_reached(reading, reached, kinds, LUMOS_GEMM);
  reading->practice->attention_peak = mean_reached(reading, reached, kinds, LUMOS_ATTENTION);
  free(reached);
  free(kinds);
}

/* ---- What is known of the job ---- */

static bool is_narrow(const char *dtype) {
  static const char *const wide[] = {"float", "Float", "double", "Double", "fp32", "Float32"};
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++) {
    if (strcmp(dtype, wide[i]) == 0) {
      return false;
    }
  }
  return dtype[0] != '\0';
}

/* What replicas do with their gradients. */
static void read_replicas(struct reading *reading) {
  const struct lumos_job *job = reading->job;
  struct report_practice *practice = reading->practice;
  int64_t wide = 0, narrow = 0;
  bool *of_data = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *of_data);
  for (size_t g = 0; g < job->groups.count; g++) {
    of_data[job->groups.items[g].id] |= job->groups.items[g].role == LUMOS_DATA;
  }
  for (size_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (!lumos_is_communication(task->kind)) {
      continue;
    }
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    const char *op = comm->op != LUMOS_NO_STRING ? lumos_string(job->strings, comm->op) : "";
    bool scatters = strcmp(op, "reduce_scatter") == 0;
    bool reduces = (scatters || strcmp(op, "all_reduce") == 0) && of_data[comm->group];
    practice->shards_optimizer |= reduces && scatters;
    practice->gathers |= strcmp(op, "all_gather") == 0 && of_data[comm->group];
    add(is_narrow(comm->dtype != LUMOS_NO_STRING ? lumos_string(job->strings, comm->dtype) : "") ? &narrow : &wide,
        comm->bytes, reduces && comm->bytes > 0);
  }
  free(of_data);
  practice->has_replicas = job->models.count > 0 && job->models.items[0].sizes.dp > 1;
  practice->narrow_gradients = narrow > wide;
}

/* What simulations gain, and what ranks are late by. */
static void read_metrics(struct reading *reading, const struct report_facts *facts) {
  const struct lumos_job *job = reading->job;
  struct report_practice *practice = reading->practice;
  bool asked = false, measured = report_facts_spoken(facts) == MEASURED;
  practice->hides_gradients = practice->balances_stages = true;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const char *name = lumos_string(job->strings, metric->name);
    const char *kind = metric->scope.kind != LUMOS_NO_STRING ? lumos_string(job->strings, metric->scope.kind) : "";
    bool change = strcmp(name, "opportunity_change") == 0;
    bool late = strcmp(name, "late_arrival") == 0 && (metric->source == LUMOS_METRIC_MEASURED) == measured &&
                report_step_counts(facts, metric->scope.step);
    asked |= change || strcmp(name, "opportunity_half") == 0;
    practice->hides_gradients &= !change || strcmp(kind, "overlapped_gradients") != 0;
    practice->balances_stages &= !change || (strcmp(kind, "balanced_stages") != 0 && strcmp(kind, "moved_layers") != 0);
    int64_t value = late ? report_decimal_as(metric->value, 0) : 0;
    add(&practice->late_cpu, value, late && value > 0 && strcmp(kind, "host") == 0);
    add(&practice->late_gpu, value, late && value > 0 && strcmp(kind, "compute") == 0);
  }
  practice->edited = facts->edited;
  practice->assumes_graphs = lumos_job_has_note(job, "transform.graphs");
  practice->hides_gradients &= asked;
  practice->balances_stages &= asked;
  enum report_timeline timeline = report_facts_spoken(facts);
  const struct report_row *whole = report_facts_whole(facts, timeline);
  practice->overlapped = report_sum(report_row_mean(whole, timeline, FIGURE_OVERLAPPED), 0);
  practice->exposed = report_sum(report_row_mean(whole, timeline, FIGURE_COMMUNICATION_TRANSFER), 0);
}

/* The first rank's GPU, as the table that Lumos brings has it. */
static struct lumos_hardware *read_hardware(struct reading *reading) {
  const struct lumos_job *job = reading->job;
  struct lumos_error error = {LUMOS_DONE, ""};
  lumos_string_id name = job->ranks.count > 0 ? job->ranks.items[0].device_name : LUMOS_NO_STRING;
  struct lumos_hardware *hardware = name == LUMOS_NO_STRING ? NULL : lumos_hardware_read(NULL, &error);
  if (hardware != NULL) {
    reading->device = lumos_hardware_find(hardware, lumos_string(job->strings, name));
  }
  return hardware;
}

void report_practice_read(const struct report_facts *facts, bool with_shapes, struct report_practice *practice) {
  const struct lumos_job *job = facts->job;
  uint32_t strings = lumos_strings_count(job->strings);
  *practice =
      (struct report_practice){.gemm_peak = LUMOS_ABSENT, .attention_peak = LUMOS_ABSENT, .best_product = LUMOS_ABSENT};
  struct reading reading = {.job = job,
                            .practice = practice,
                            .traits = lumos_allocate_zeroed(strings + 1U, 1),
                            .formats = lumos_allocate_zeroed(strings + 1U, 1),
                            .by_name = lumos_allocate_zeroed(strings + 1U, sizeof(int64_t))};
  struct lumos_hardware *hardware = read_hardware(&reading);
  if (reading.device != NULL) {
    practice->has_fp8 = reading.device->peaks[LUMOS_FP8] > 0;
    practice->best_product =
        reading.device->best_product > 0 ? (int64_t)(reading.device->best_product * 1e6) : LUMOS_ABSENT;
  }
  count_tasks(&reading, facts);
  read_replicas(&reading);
  read_metrics(&reading, facts);
  if (with_shapes) {
    read_shapes(&reading, facts);
    read_peaks(&reading, facts);
  }
  lumos_hardware_free(hardware);
  free(reading.traits);
  free(reading.formats);
  free(reading.by_name);
}
