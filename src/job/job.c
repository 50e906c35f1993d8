/* A job's life, what its records look like when nothing is known, and the small questions that every stage asks. */
#include <lumos/job.h>
#include <lumos/path.h>

#include "job/schema.h"
#include <stdlib.h>
#include <string.h>

#define NO_SCOPE                                                                                       \
  {                                                                                                    \
    .rank = LUMOS_ABSENT_INT, .step = LUMOS_ABSENT_INT, .layer = LUMOS_ABSENT_INT, .lane = LUMOS_NONE, \
    .task = LUMOS_NONE, .stage = LUMOS_ABSENT_INT, .peer = LUMOS_ABSENT_INT                            \
  }
#define NO_DECIMAL \
  { .units = LUMOS_ABSENT }

#define NO_SIZES \
  { LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT }

const struct lumos_scope lumos_everywhere = NO_SCOPE;

const struct lumos_rank lumos_rank_empty = {
    .world = LUMOS_ABSENT_INT,
    .represents = LUMOS_ABSENT_INT,
    .from = LUMOS_ABSENT_INT,
    .parallel = NO_SIZES,
    .device_sms = LUMOS_ABSENT,
    .device_memory = LUMOS_ABSENT,
    .coverage = {.collectives = LUMOS_ABSENT,
                 .joined = LUMOS_ABSENT,
                 .python = LUMOS_ABSENT,
                 .sync = LUMOS_ABSENT,
                 .graph_nodes = LUMOS_ABSENT},
    .runtime_offset = LUMOS_ABSENT,
    .runtime_doubt = LUMOS_ABSENT,
    .unprofiled_steps = LUMOS_ABSENT,
    .unprofiled_dur = LUMOS_ABSENT,
    .hta = {.extent = LUMOS_ABSENT, .cut_extent = LUMOS_ABSENT},
    .profiler = {LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT, LUMOS_ABSENT_INT},
    .clock = {.error = LUMOS_ABSENT},
    .base_lag = LUMOS_ABSENT,
};
const struct lumos_group lumos_group_empty = {.rank = LUMOS_NONE};
const struct lumos_lane lumos_lane_empty = {.rank = LUMOS_NONE, .queue_depth = LUMOS_ABSENT_INT};
const struct lumos_span lumos_span_empty = {
    .sequence = LUMOS_ABSENT,
    .rank = LUMOS_NONE,
    .lane = LUMOS_NONE,
    .parent = LUMOS_NONE,
    .forward = LUMOS_NONE,
};
const struct lumos_task lumos_task_empty = {
    .start = LUMOS_ABSENT,
    .lane = LUMOS_NONE,
    .span = LUMOS_NONE,
    .call = LUMOS_NONE,
    .step = LUMOS_ABSENT_INT,
    .micro_batch = LUMOS_ABSENT_INT,
    .layer = LUMOS_ABSENT_INT,
    .detail = LUMOS_NONE,
    .timing = LUMOS_NONE,
    .from_rank = LUMOS_ABSENT_INT,
    .from_id = LUMOS_NONE,
};
const struct lumos_timing lumos_timing_empty = {
    .gap = LUMOS_ABSENT,
    .launch_lag = LUMOS_ABSENT,
    .residual = LUMOS_ABSENT,
    .end_residual = LUMOS_ABSENT,
    .flops = LUMOS_ABSENT,
    .occupancy = LUMOS_ABSENT_INT,
};
const struct lumos_run lumos_run_empty = {LUMOS_ABSENT, LUMOS_ABSENT};
const struct lumos_detail lumos_detail_empty = {
    .bytes = LUMOS_ABSENT,
    .was = LUMOS_ABSENT,
    .own_dur = LUMOS_ABSENT,
    .own_lag = LUMOS_ABSENT,
    .dur_error = NO_DECIMAL,
    .first_segment = LUMOS_NONE,
    .event_lane = LUMOS_NONE,
    .wait = {.lane = LUMOS_NONE, .record = LUMOS_NONE, .residual = LUMOS_ABSENT},
    .comm = {.seq = LUMOS_ABSENT, .bytes = LUMOS_ABSENT},
};
const struct lumos_dep lumos_dep_empty = {
    .src = LUMOS_NONE, .at = LUMOS_ABSENT, .dst = LUMOS_NONE, .covers = LUMOS_ABSENT};
const struct lumos_collective lumos_collective_empty = {
    .root = LUMOS_ABSENT_INT,
    .bytes = LUMOS_ABSENT,
    .transfer = LUMOS_ABSENT,
    .transfer_error = LUMOS_ABSENT,
    .was = LUMOS_ABSENT,
    .wait = LUMOS_ABSENT,
    .waited_for = LUMOS_ABSENT_INT,
    .algorithm_bandwidth = NO_DECIMAL,
    .bus_bandwidth = NO_DECIMAL,
};
const struct lumos_model_description lumos_model_description_empty = {
    .layers = LUMOS_ABSENT_INT,
    .hidden = LUMOS_ABSENT_INT,
    .heads = LUMOS_ABSENT_INT,
    .kv_heads = LUMOS_ABSENT_INT,
    .head_dim = LUMOS_ABSENT_INT,
    .ffn = LUMOS_ABSENT_INT,
    .ffn_matrices = LUMOS_ABSENT_INT,
    .sequence = LUMOS_ABSENT_INT,
    .vocabulary = LUMOS_ABSENT_INT,
    .micro_batch = LUMOS_ABSENT_INT,
    .micro_batches = LUMOS_ABSENT_INT,
    .sizes = NO_SIZES,
    .bucket_bytes = LUMOS_ABSENT,
    .recorded = {LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, LUMOS_ABSENT_INT, NO_SIZES},
};
const struct lumos_common_error lumos_common_error_empty = {.sigma = NO_DECIMAL, .up = NO_DECIMAL};
const struct lumos_memory_event lumos_memory_event_empty = {.reserved = LUMOS_ABSENT};
const struct lumos_recorded_pass lumos_recorded_pass_empty = {.stage = LUMOS_ABSENT_INT,
                                                              .micro_batch = LUMOS_ABSENT_INT};
const struct lumos_metric lumos_metric_empty = {.low = NO_DECIMAL, .high = NO_DECIMAL, .scope = NO_SCOPE};
const struct lumos_note lumos_note_empty = {.count = LUMOS_ABSENT, .scope = NO_SCOPE};

struct lumos_job *lumos_job_new(void) {
  struct lumos_job *job = lumos_allocate_zeroed(1, sizeof *job);
  job->strings = lumos_strings_new();
  job->stage = LUMOS_STAGE_PARSE;
  job->edited = LUMOS_ABSENT_INT;
  return job;
}

void lumos_job_free(struct lumos_job *job) {
  if (job == NULL) {
    return;
  }
  lumos_strings_free(job->strings);
  lumos_vector_free(&job->history);
  lumos_vector_free(&job->inputs);
  lumos_vector_free(&job->ranks);
  lumos_vector_free(&job->groups);
  lumos_vector_free(&job->group_ranks);
  lumos_vector_free(&job->lanes);
  lumos_vector_free(&job->spans);
  lumos_vector_free(&job->tasks);
  lumos_vector_free(&job->timings);
  lumos_vector_free(&job->runs);
  lumos_vector_free(&job->details);
  lumos_vector_free(&job->peers);
  lumos_vector_free(&job->deps);
  lumos_vector_free(&job->collectives);
  lumos_vector_free(&job->members);
  lumos_vector_free(&job->models);
  lumos_vector_free(&job->common_errors);
  lumos_vector_free(&job->memory);
  lumos_vector_free(&job->recorded_passes);
  lumos_vector_free(&job->metrics);
  lumos_vector_free(&job->notes);
  lumos_vector_free(&job->foreign);
  lumos_job_forget_run(job);
  free(job);
}

void lumos_job_forget_run(struct lumos_job *job) {
  lumos_held_free(job->bindings);
  free(job->bindings);
  free(job->holds);
  job->bindings = NULL;
  job->holds = NULL;
  job->hold_count = 0;
}

struct lumos_detail *lumos_task_detail(struct lumos_job *job, struct lumos_task *task) {
  if (task->detail == LUMOS_NONE) {
    task->detail = (uint32_t)job->details.count;
    lumos_vector_push(&job->details, lumos_detail_empty);
  }
  return &job->details.items[task->detail];
}

/* `own` of `time`, becoming `changed`. */
static void set_own(int64_t *time, int64_t *own, int64_t changed) {
  if (*own == LUMOS_ABSENT) {
    *time = changed;
  } else {
    *time += changed - *own;
    *own = changed;
  }
}

void lumos_set_own_times(struct lumos_job *job, struct lumos_task *task, struct lumos_times times) {
  struct lumos_detail none = lumos_detail_empty;
  struct lumos_detail *detail = task->detail == LUMOS_NONE ? &none : &job->details.items[task->detail];
  set_own(&task->dur, &detail->own_dur, times.dur);
  set_own(&task->lag, &detail->own_lag, times.lag);
}

struct lumos_timing *lumos_task_timing(struct lumos_job *job, struct lumos_task *task) {
  if (task->timing == LUMOS_NONE) {
    task->timing = (uint32_t)job->timings.count;
    lumos_vector_push(&job->timings, lumos_timing_empty);
  }
  return &job->timings.items[task->timing];
}

extern inline const struct lumos_detail *lumos_detail_of(const struct lumos_job *job, const struct lumos_task *task);

bool lumos_rank_recorded(const struct lumos_job *job, const struct lumos_rank *rank, int64_t *start, int64_t *end) {
  static const int64_t year_2001 = INT64_C(1000000000000000000); /* what counts from a program's start is far below */
  bool fits = !__builtin_add_overflow(job->epoch, rank->window_start, start) &&
              !__builtin_add_overflow(job->epoch, rank->window_end, end);
  return fits && job->epoch >= year_2001 && *start > 0;
}

uint32_t lumos_job_rank(const struct lumos_job *job, int32_t rank) {
  size_t low = 0;
  size_t high = job->ranks.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (job->ranks.items[middle].rank < rank) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < job->ranks.count && job->ranks.items[low].rank == rank ? (uint32_t)low : LUMOS_NONE;
}

int64_t lumos_job_weight(const struct lumos_job *job) {
  int64_t sum = 0;
  for (size_t i = 0; i < job->ranks.count; i++) {
    sum += lumos_rank_weight(&job->ranks.items[i]);
  }
  return sum;
}

bool lumos_ranks_weigh_alike(const struct lumos_job *job) {
  bool alike = true;
  for (size_t i = 1; i < job->ranks.count && alike; i++) {
    alike = lumos_rank_weight(&job->ranks.items[i]) == lumos_rank_weight(&job->ranks.items[0]);
  }
  return alike;
}

int64_t lumos_collective_weight(const struct lumos_job *job, const struct lumos_collective *collective) {
  int64_t sum = 0;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    sum += lumos_task_weight(job, &job->tasks.items[job->members.items[collective->member_first + m]]);
  }
  return sum;
}

static bool same_scope(const struct lumos_scope *a, const struct lumos_scope *b) {
  return a->rank == b->rank && a->step == b->step && a->layer == b->layer && a->lane == b->lane && a->task == b->task &&
         a->kind == b->kind && a->group == b->group && a->stage == b->stage && a->peer == b->peer && a->op == b->op &&
         a->module == b->module && a->name == b->name && a->phase == b->phase;
}

bool lumos_scope_is_whole(const struct lumos_scope *scope) {
  struct lumos_scope whole = lumos_everywhere;
  whole.rank = scope->rank;
  whole.step = scope->step;
  return same_scope(scope, &whole);
}

bool lumos_job_has_note(const struct lumos_job *job, const char *code) {
  for (size_t i = 0; i < job->notes.count; i++) {
    if (strcmp(lumos_string(job->strings, job->notes.items[i].code), code) == 0) {
      return true;
    }
  }
  return false;
}

bool lumos_job_is_untied(const struct lumos_job *job) {
  return lumos_job_has_note(job, LUMOS_NOTE_UNTIED_COMMUNICATION) || lumos_job_has_note(job, LUMOS_NOTE_UNTIED_THREADS);
}

void lumos_job_note(struct lumos_job *job, const char *code, enum lumos_level level, int64_t count,
                    const struct lumos_scope *scope, const char *text, const char *cure) {
  struct lumos_note note = lumos_note_empty;
  note.code = lumos_intern_text(job->strings, code);
  note.level = (uint8_t)level;
  note.text = lumos_intern_text(job->strings, text);
  note.cure = cure == NULL ? LUMOS_NO_STRING : lumos_intern_text(job->strings, cure);
  note.count = count;
  note.scope = scope == NULL ? lumos_everywhere : *scope;
  for (size_t i = 0; i < job->notes.count; i++) {
    struct lumos_note *old = &job->notes.items[i];
    if (old->code == note.code && old->text == note.text && same_scope(&old->scope, &note.scope)) {
      if (count != LUMOS_ABSENT) {
        old->count = old->count == LUMOS_ABSENT ? count : old->count + count;
      }
      return;
    }
  }
  lumos_vector_push(&job->notes, note);
}

double lumos_decimal_value(struct lumos_decimal decimal) {
  double value = (double)decimal.units;
  for (int i = 0; i < decimal.decimals; i++) {
    value /= 10;
  }
  return value;
}

const struct lumos_common_error *lumos_common_error_of(const struct lumos_job *job, lumos_string_id id) {
  for (size_t i = 0; i < job->common_errors.count; i++) {
    if (job->common_errors.items[i].id == id) {
      return &job->common_errors.items[i];
    }
  }
  return NULL;
}

lumos_string_id lumos_job_common_error(struct lumos_job *job, const char *id, const char *name, int32_t sigma,
                                       const char *source) {
  struct lumos_common_error added = lumos_common_error_empty;
  added.id = lumos_intern_text(job->strings, id);
  added.name = lumos_intern_text(job->strings, name);
  added.sigma = (struct lumos_decimal){sigma, 6};
  added.source = lumos_intern_text(job->strings, source);
  for (size_t i = 0; i < job->common_errors.count; i++) {
    struct lumos_common_error *old = &job->common_errors.items[i];
    if (old->id == added.id) {
      old->sigma = lumos_decimal_value(old->sigma) < lumos_decimal_value(added.sigma) ? added.sigma : old->sigma;
      return added.id;
    }
  }
  lumos_vector_push(&job->common_errors, added);
  return added.id;
}

void lumos_job_only_shorter(struct lumos_job *job, lumos_string_id id) {
  for (size_t i = 0; i < job->common_errors.count; i++) {
    if (job->common_errors.items[i].id == id) {
      job->common_errors.items[i].up = (struct lumos_decimal){0, 0};
    }
  }
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? path : slash + 1;
}

static int compare_base_names(const void *a, const void *b) {
  return strcmp(base_name(*(const char *const *)a), base_name(*(const char *const *)b));
}

void lumos_job_history(struct lumos_job *job, const char *tool, const char *args, const char *const *inputs,
                       size_t input_count) {
  struct lumos_history entry = {
      .tool = lumos_intern_text(job->strings, tool),
      .version = lumos_intern_text(job->strings, LUMOS_VERSION),
      .args = lumos_intern_text(job->strings, args),
      .input_first = (uint32_t)job->inputs.count,
  };
  const char **sorted = lumos_reallocate(NULL, input_count, sizeof *sorted);
  if (input_count > 0) {
    memcpy(sorted, inputs, input_count * sizeof *sorted);
    qsort(sorted, input_count, sizeof *sorted, compare_base_names);
  }
  for (size_t i = 0; i < input_count; i++) {
    lumos_string_id input = lumos_intern_text(job->strings, base_name(sorted[i]));
    if (entry.input_count == 0 || job->inputs.items[job->inputs.count - 1] != input) {
      lumos_vector_push(&job->inputs, input);
      entry.input_count++;
    }
  }
  free(sorted);
  lumos_vector_push(&job->history, entry);
}

/* The stage whose tool made a history entry; 0: no tool of ours. */
static int stage_of_tool(const struct lumos_job *job, const struct lumos_history *entry) {
  static const char prefix[] = "lumos-";
  const char *tool = lumos_string(job->strings, entry->tool);
  if (strncmp(tool, prefix, sizeof prefix - 1) != 0) {
    return 0;
  }
  int stage = lumos_names_find(&lumos_stage_names, tool + sizeof prefix - 1, strlen(tool) - (sizeof prefix - 1));
  return stage < 0 ? 0 : stage;
}

bool lumos_job_has_tool(const struct lumos_job *job, enum lumos_stage stage) {
  for (size_t i = 0; i < job->history.count; i++) {
    if (stage_of_tool(job, &job->history.items[i]) == (int)stage) {
      return true;
    }
  }
  return false;
}

bool lumos_job_measured(const struct lumos_job *job) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    if (job->tasks.items[t].start != LUMOS_ABSENT) {
      return true;
    }
  }
  return false;
}

bool lumos_job_edited(const struct lumos_job *job) { return job->edited > 0; }
