#include "transform/estimates.h"

#include "base/text.h"
#include "job/stretch.h"
#include "sim/scaling.h"
#include <math.h>

/* Of a normal distribution 90 % lie within so many standard deviations; and nothing gets shorter than a tenth (chosen).
 */
static const double WITHIN = 1.645, MOST_SHORTER = 0.9;

static int32_t millionths(double share) {
  return share < 1000 ? (int32_t)lround(share * LUMOS_SCALING_UNIT) : INT32_MAX;
}

static int64_t rounded(double ns) {
  return ns < 1 ? 1 : ns < (double)LUMOS_SCALING_LIMIT ? llround(ns) : LUMOS_SCALING_LIMIT - 1;
}

void lumos_estimate_task(struct lumos_job *job, uint32_t task, struct lumos_duration duration, lumos_string_id common) {
  struct lumos_task *of = &job->tasks.items[task];
  int64_t ns = of->dur == 0 ? 0 : rounded(duration.ns);
  if (ns == of->dur) {
    return;
  }
  struct lumos_detail *detail = lumos_task_detail(job, of);
  detail->was = detail->was == LUMOS_ABSENT ? of->dur : detail->was;
  double before = detail->dur_error.units == LUMOS_ABSENT ? 0 : lumos_decimal_value(detail->dur_error);
  detail->dur_error = (struct lumos_decimal){millionths(hypot(duration.own, before)), 6};
  detail->common_error = common;
  of->dur_source = LUMOS_MODELLED;
  lumos_set_own_times(job, of, (struct lumos_times){ns, lumos_own_times(job, task).lag});
}

/* ---- Kernels ---- */

/* Words for what a kind is, as common errors name it. */
static lumos_string_id name_error(struct lumos_job *job, int kind, double share, const char *id, const char *where,
                                  const char *source) {
  struct lumos_text key = LUMOS_TEXT_BUFFER, name = LUMOS_TEXT_BUFFER;
  const char *word = lumos_task_kind_name((enum lumos_task_kind)kind);
  lumos_text_format(&key, "%s.%s", id, word);
  lumos_text_char(&key, '\0');
  lumos_text_format(&name, "work of kind %s %s", word, where);
  lumos_text_char(&name, '\0');
  lumos_string_id common = lumos_job_common_error(job, key.bytes, name.bytes, millionths(share), source);
  lumos_text_free(&key);
  lumos_text_free(&name);
  return common;
}

void lumos_estimate_kernels(struct lumos_job *job, const struct lumos_duration *durations, const char *id,
                            const char *where, const char *source) {
  struct {
    double sum, time; /* of common errors by time */
  } errors[LUMOS_TASK_KINDS] = {{0, 0}};
  lumos_string_id common[LUMOS_TASK_KINDS] = {0};
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (durations[t].source != LUMOS_NO_DURATION) {
      errors[job->tasks.items[t].kind].sum += durations[t].common * durations[t].ns;
      errors[job->tasks.items[t].kind].time += durations[t].ns;
    }
  }
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    if (errors[kind].time > 0) {
      common[kind] = name_error(job, kind, errors[kind].sum / errors[kind].time, id, where, source);
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (durations[t].source != LUMOS_NO_DURATION) {
      lumos_estimate_task(job, t, durations[t], common[job->tasks.items[t].kind]);
    }
  }
}

/* ---- Communication ---- */

struct communication {
  struct lumos_job *job;
  const struct lumos_transfers *transfers;
  const struct lumos_nodes *nodes;
  const struct lumos_communication_change *change;
  lumos_string_id common;
  uint8_t *decided; /* by task: its collective's transfer decides its end */
  struct lumos_lones lones;
  bool changed;
  double largest; /* common error */
};

static struct lumos_duration changed(struct communication *all, int64_t ns, const struct lumos_transfer_shape *was,
                                     const struct lumos_transfer_shape *now) {
  struct lumos_duration duration =
      lumos_transfer_changed(all->transfers, ns, was, now, all->change->network, all->change->device);
  all->changed = true;
  all->largest = fmax(all->largest, duration.common);
  return duration;
}

static int64_t resized(const struct communication *all, int64_t bytes, uint32_t task) {
  const double *factors = all->change->factors;
  return bytes == LUMOS_ABSENT || factors == NULL ? bytes : rounded((double)bytes * factors[task]);
}

static const char *op_now(const struct communication *all, const char *op, uint32_t task) {
  const lumos_string_id *ops = all->change->ops;
  return ops == NULL || ops[task] == LUMOS_NO_STRING ? op : lumos_string(all->job->strings, ops[task]);
}

static void change_transfer(struct communication *all, struct lumos_collective *collective) {
  struct lumos_transfer_shape was = lumos_transfer_shape_of(lumos_transfers_placing(all->transfers), collective),
                              now = was;
  now.nodes = lumos_transfer_nodes(lumos_transfers_placing(all->transfers), collective, all->nodes);
  now.bytes = resized(all, was.bytes, all->job->members.items[collective->member_first]);
  now.op = op_now(all, was.op, all->job->members.items[collective->member_first]);
  struct lumos_duration duration = changed(all, collective->transfer, &was, &now);
  int64_t ns = collective->transfer == 0 ? 0 : rounded(duration.ns);
  double factor = collective->transfer > 0 ? duration.ns / (double)collective->transfer : 1;
  for (uint32_t m = 0; m < collective->member_count; m++) {
    uint32_t task = all->job->members.items[collective->member_first + m];
    if (collective->rule != LUMOS_ROOTED && collective->rule != LUMOS_CUSTOM) {
      lumos_stretch_end(all->job, task, factor);
      all->decided[task] = 1;
    } else { /* of some members the transfer does not decide the end */
      struct lumos_duration of_member = duration;
      of_member.ns = (double)all->job->tasks.items[task].dur * factor;
      lumos_estimate_task(all->job, task, of_member, all->common);
      all->decided[task] = 1;
    }
  }
  if (ns != collective->transfer) {
    double own = duration.own * duration.ns;
    double before = collective->transfer_error == LUMOS_ABSENT ? 0 : (double)collective->transfer_error;
    collective->was = collective->was == LUMOS_ABSENT ? collective->transfer : collective->was;
    collective->transfer = ns;
    collective->transfer_error = rounded(hypot(own, before * factor));
    collective->common_error = all->common;
    collective->dur_source = LUMOS_MODELLED;
  }
}

/* Of a kernel whose members have no trace only the transfer changes, and the waiting stays. */
static bool change_kernel(struct communication *all, uint32_t task) {
  struct lumos_transfer_shape was = lumos_transfer_shape_of_kernel(lumos_transfers_placing(all->transfers), task),
                              now = was;
  bool resizes = all->change->factors != NULL || all->change->ops != NULL;
  bool guesses = lumos_transfers_are_alone(all->transfers) && !resizes;
  if (was.size < 2 || (was.bytes == LUMOS_ABSENT && !guesses)) {
    return false;
  }
  now.nodes = lumos_transfer_nodes_of_kernel(lumos_transfers_placing(all->transfers), task, all->nodes);
  now.bytes = resized(all, was.bytes, task);
  now.op = op_now(all, was.op, task);
  const struct lumos_lone lone = {task,
                                  lumos_transfer_changed_alone(all->transfers, all->job->tasks.items[task].dur, &was,
                                                               &now, all->change->network, all->change->device)};
  lumos_vector_push(&all->lones, lone);
  return true;
}

/* Relative to a duration: what it may be longer by, and shorter. */
static lumos_string_id name_waiting(struct lumos_job *job, double up, double shorter) {
  static const char id[] = "communication.waiting";
  double down = fmin(shorter, MOST_SHORTER);
  lumos_string_id common = lumos_job_common_error(
      job, id, "transfers of which the trace shows no other member", millionths(down / (1 - down)),
      "how much of a communication kernel is transfer and how much waiting: "
      "from what its links can do to what the shortest of its kind took");
  for (size_t i = 0; i < job->common_errors.count; i++) {
    struct lumos_common_error *error = &job->common_errors.items[i];
    bool wider = error->id == common && (error->up.units == LUMOS_ABSENT || lumos_decimal_value(error->up) < up);
    error->up = wider ? (struct lumos_decimal){millionths(up), 6} : error->up;
  }
  return common;
}

void lumos_estimate_lones(struct lumos_job *job, const struct lumos_lones *lones, lumos_string_id common) {
  double longer = 0, shorter = 0, squares = 0, time = 0;
  for (size_t i = 0; i < lones->count; i++) {
    const struct lumos_lone_duration *of = &lones->items[i].of;
    longer += of->longer;
    shorter += of->shorter;
    squares += of->duration.common * of->duration.common * of->duration.ns;
    time += of->duration.ns;
  }
  if (longer + shorter > 0) {
    double model = sqrt(squares / time);
    common = name_waiting(job, hypot(longer / time / WITHIN, model), hypot(shorter / time / WITHIN, model));
  }
  for (size_t i = 0; i < lones->count; i++) {
    lumos_estimate_task(job, lones->items[i].task, lones->items[i].of.duration, common);
  }
}

int64_t lumos_estimate_communication(struct lumos_job *job, const struct lumos_transfers *transfers,
                                     const struct lumos_nodes *nodes, const struct lumos_communication_change *change,
                                     const char *id, const char *name) {
  struct communication all = {.job = job,
                              .transfers = transfers,
                              .nodes = nodes,
                              .change = change,
                              .decided = lumos_allocate_zeroed(job->tasks.count + 1, 1)};
  static const char source[] = "leaving out shapes of the trace's own transfers in turn";
  int64_t kept = 0;
  all.common = lumos_intern_text(job->strings, id);
  for (size_t c = 0; c < job->collectives.count; c++) {
    if (job->collectives.items[c].transfer != LUMOS_ABSENT) {
      change_transfer(&all, &job->collectives.items[c]);
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_on_stream(job, task) && lumos_is_communication(task->kind) && all.decided[t] == 0) {
      kept += !change_kernel(&all, t);
    }
  }
  for (size_t i = 0; i < all.lones.count; i++) {
    all.changed = true;
    all.largest = fmax(all.largest, all.lones.items[i].of.duration.common);
  }
  lumos_estimate_lones(job, &all.lones, all.common);
  lumos_vector_free(&all.lones);
  if (all.changed) {
    (void)lumos_job_common_error(job, id, name, millionths(all.largest), source);
  }
  free(all.decided);
  return kept;
}
