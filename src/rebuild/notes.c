#include "rebuild/notes.h"

#include "program/sharded.h"
#include "rebuild/again.h"
#include "rebuild/ask.h"
#include "rebuild/census.h"
#include "rebuild/fold.h"
#include "rebuild/plan.h"
#include "transform/parts.h"
#include <stdlib.h>
#include <string.h>

/* By string of a job: is it the id of a group? The caller frees it. */
static uint8_t *find_groups(const struct lumos_job *job) {
  uint8_t *groups = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, 1);
  groups[LUMOS_NO_STRING] = 1;
  for (size_t g = 0; g < job->groups.count; g++) {
    groups[job->groups.items[g].id] = 1;
  }
  return groups;
}

/* Of single lanes and tasks what was measured means nothing in what is built, nor of groups that are there no
 * longer. */
static bool keeps_meaning(const struct lumos_scope *scope, const uint8_t *groups) {
  return scope->lane == LUMOS_NONE && scope->task == LUMOS_NONE && groups[scope->group];
}

/* What was measured stays beside what is built. */
static void keep_metrics(struct lumos_job *built, const struct lumos_job *job, const uint8_t *groups) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    if (metric->source == LUMOS_METRIC_MEASURED && keeps_meaning(&metric->scope, groups)) {
      lumos_vector_push(&built->metrics, *metric);
    }
  }
}

static void keep_notes(struct lumos_job *built, const struct lumos_job *job, const uint8_t *groups) {
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (keeps_meaning(&note->scope, groups)) {
      lumos_vector_push(&built->notes, *note);
    }
  }
}

/* Of a job that was built before the first stays, which is against what was measured. */
static bool has_error(const struct lumos_job *job) {
  for (size_t i = 0; i < job->metrics.count; i++) {
    if (strcmp(lumos_string(job->strings, job->metrics.items[i].name), "rebuild_error") == 0) {
      return true;
    }
  }
  return false;
}

static void put_error(struct lumos_job *job, struct lumos_decimal deviation) {
  struct lumos_metric metric = lumos_metric_empty;
  metric.name = lumos_intern_text(job->strings, "rebuild_error");
  metric.unit = lumos_intern_text(job->strings, "share");
  metric.of = lumos_intern_text(job->strings, "step_time");
  metric.value = deviation;
  metric.source = LUMOS_METRIC_MEASURED;
  if (deviation.units != LUMOS_ABSENT && !has_error(job)) {
    lumos_vector_push(&job->metrics, metric);
  }
}

/* Edits before the rebuild leave no measured step to compare with. */
static void note_changed(struct lumos_job *built, const struct lumos_job *from) {
  if (lumos_job_edited(from) && !has_error(from)) {
    lumos_job_note(built, "transform.rebuild_of_changed", LUMOS_INFO, LUMOS_ABSENT, NULL,
                   "the job was changed before the rebuild, so the rebuild error is against its simulated step", NULL);
  }
}

static double percent(int64_t part, int64_t whole) { return whole == 0 ? 0 : 100.0 * (double)part / (double)whole; }

/* Sequences in a step; 0: not known. */
static int64_t global_batch(const struct lumos_job *job) {
  const struct lumos_model_description *model =
      job->models.count > 0 ? &job->models.items[0] : &lumos_model_description_empty;
  int64_t replicas = model->sizes.dp > 0 ? model->sizes.dp : 1;
  bool known = model->micro_batch > 0 && model->micro_batches > 0;
  __int128 sequences = (__int128)model->micro_batch * model->micro_batches * replicas;
  return known && sequences < INT64_C(1) << 53U ? (int64_t)sequences : 0;
}

static void tell_batch(struct lumos_job *built, const struct lumos_job *job) {
  int64_t was = global_batch(job), now = global_batch(built);
  if (was > 0 && now > 0 && was != now) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_text_format(&text, "the global batch changes from %lld to %lld sequences in a step", (long long)was,
                      (long long)now);
    lumos_text_char(&text, '\0');
    lumos_job_note(built, "transform.global_batch", LUMOS_INFO, LUMOS_ABSENT, NULL, text.bytes, NULL);
    lumos_text_free(&text);
  }
}

/* `changed`: before it was rebuilt. */
static void put_note(struct lumos_job *job, const struct rebuild_census *census, struct lumos_decimal deviation,
                     bool changed) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(
      &text,
      "the job was rebuilt from %u recorded blocks (%u templates). They hold %.1f %% of GPU time and %.1f "
      "%% of CPU time in passes, transfers and the optimizer. %u blocks differ from most at their place",
      census->blocks, census->templates, percent(census->device, census->all_devices),
      percent(census->thread, census->all_threads), census->odd);
  if (deviation.units != LUMOS_ABSENT) {
    lumos_text_format(&text, ". Rebuilt in its recorded configuration, it is %+.2f %% off the %s step",
                      (double)deviation.units / 1e4, changed ? "simulated" : "measured");
  }
  lumos_text_char(&text, '\0');
  lumos_job_note(job, "transform.rebuilt", LUMOS_INFO, census->blocks, NULL, text.bytes, NULL);
  lumos_text_free(&text);
}

static void tell_learned(struct lumos_job *job, const struct lumos_rebuild *asked,
                         const struct rebuild_templates *templates) {
  if (templates->instead == NULL) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%u of %zu recorded blocks were learned from (%s)", templates->learned,
                    templates->blocks->items.count, asked->learn_from);
  if (templates->unlike > 0) {
    lumos_text_format(&text, ". %u others do what none of these does, and stay as recorded", templates->unlike);
  }
  lumos_text_char(&text, '\0');
  lumos_job_note(job, "transform.learned", LUMOS_INFO, templates->learned, NULL, text.bytes, NULL);
  lumos_text_free(&text);
}

/* Ranks that stand for others, and what is known of how far these differ. */
static void put_folded(struct lumos_job *job, const struct lumos_job *from) {
  int64_t all = lumos_job_weight(job);
  struct rebuild_fold recorded = rebuild_fold_replicas(from, 1, 1);
  bool several = job->models.count > 0 && job->models.items[0].sizes.dp > 1,
       unknown = several && recorded.shown.count <= 1;
  lumos_vector_free(&recorded.shown);
  if (all == (int64_t)job->ranks.count) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "%zu %s for all %lld of the job; %s", job->ranks.count,
                    job->ranks.count == 1 ? "rank stands" : "ranks stand", (long long)all,
                    !several ? "they differ as recorded ranks and steps do, and others are taken to be like them"
                    : unknown
                        ? "how far replicas differ was not recorded, so none waits for a slower one"
                        : "how much later the slowest replica is than these was estimated from how far they differ");
  lumos_text_char(&text, '\0');
  lumos_job_note(job, "transform.folded", unknown ? LUMOS_WARNING : LUMOS_INFO, all, NULL, text.bytes,
                 unknown ? "record ranks of several replicas" : NULL);
  lumos_text_free(&text);
}

static void tell_left_out(struct lumos_job *job, const struct lumos_job *from, const struct lumos_rebuild *asked) {
  struct rebuild_fold fold = rebuild_fold_replicas(from, 1, 1);
  lumos_vector_free(&fold.shown);
  if (fold.left_out > 0 && !rebuild_is_as_recorded(asked)) {
    lumos_job_note(job, "transform.left_out", LUMOS_INFO, fold.left_out, NULL,
                   "replicas of which some pipeline stages were not recorded are left out: the job is built from the "
                   "others",
                   "add the traces of their other stages");
  }
}

static void tell_recompute(struct lumos_job *built, const struct lumos_job *job, const struct lumos_rebuild *asked) {
  static const char *const kept[] = {
      [LUMOS_RECOMPUTE_FULL] =
          "the recorded backward passes compute layers again already, so --recompute=full changes nothing",
      [LUMOS_RECOMPUTE_NONE] = "the recorded backward passes compute nothing again, as far as their ops show it, so "
                               "--recompute=none changes nothing",
      [LUMOS_RECOMPUTE_SELECTIVE] =
          "the recorded backward passes compute attention again already, and no other part of "
          "layers, so --recompute=selective changes nothing"};
  if (asked->recompute != 0 && rebuild_computes_again(job) == asked->recompute) {
    lumos_job_note(built, "transform.recompute_kept", LUMOS_WARNING, LUMOS_ABSENT, NULL, kept[asked->recompute], NULL);
  }
}

/* Without their hooks nothing says which work belongs to gathering, or is done on a share. */
static void tell_hooks(struct lumos_job *built, const struct lumos_job *job, const struct lumos_rebuild *asked) {
  bool again = asked->recompute == LUMOS_RECOMPUTE_FULL, replicas = asked->replicas != 0;
  if ((again || replicas) && program_is_fully_sharded(job) && !program_names_hooks(job)) {
    lumos_job_note(built, "transform.hooks_unnamed", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   again ? "the recording does not name the hooks of its fully sharded replicas, so layers that are "
                           "computed again gather "
                           "their parameters again, which PyTorch does not"
                         : "the recording does not name the hooks of its fully sharded replicas, so kernels on a "
                           "replica's share of the "
                           "parameters keep their time",
                   "record CPU activities with a PyTorch that writes user annotations");
  }
}

static void tell_sequence(struct lumos_job *built, const struct lumos_job *job, const struct lumos_rebuild *asked) {
  bool on = asked->sequence_parallel == LUMOS_SWITCH_ON;
  if (asked->sequence_parallel != 0 && lumos_parts_recorded(job) == asked->sequence_parallel) {
    lumos_job_note(built, "transform.sequence_kept", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                   on ? "the recorded job has sequence parallelism already, so --sequence-parallel=on changes nothing"
                      : "the recorded job has no sequence parallelism, so --sequence-parallel=off changes nothing",
                   NULL);
  }
}

void rebuild_put_notes(struct lumos_job *built, const struct rebuild_templates *templates,
                       const struct lumos_rebuild *asked, struct lumos_decimal deviation) {
  const struct lumos_job *job = templates->blocks->job;
  struct rebuild_census census = rebuild_census_take(templates);
  uint8_t *groups = find_groups(built);
  keep_notes(built, job, groups);
  keep_metrics(built, job, groups);
  free(groups);
  put_error(built, deviation);
  note_changed(built, job);
  put_note(built, &census, deviation, lumos_job_edited(job));
  tell_learned(built, asked, templates);
  tell_left_out(built, job, asked);
  tell_batch(built, job);
  tell_recompute(built, job, asked);
  tell_hooks(built, job, asked);
  tell_sequence(built, job, asked);
  put_folded(built, job);
}
