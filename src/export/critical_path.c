/* Critical paths out: for every step of the job the chain of what bound, in order, its composition as the metrics have
 * it, and how much later each task could come. One object, a part a line.
 */
#include <lumos/export.h>

#include "export/writer.h"
#include "sim/critical.h"
#include "sim/origin.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CRITICAL_PATH_FORMAT = 1 };

struct document {
  struct export_writer writer;
  const struct lumos_job *job;
  const struct lumos_held *bindings;
  const struct lumos_slack *slacks;
  struct lumos_origins origins;
  struct lumos_path_parts parts;
  LUMOS_VECTOR(size_t) metrics; /* indices: critical_path and all that begins so */
};

static void put(struct document *document, const char *text) { lumos_text_put(document->writer.text, text); }

static void put_string_id(struct document *document, const char *key, lumos_string_id id) {
  if (id != LUMOS_NO_STRING) {
    lumos_export_string(&document->writer, key, lumos_string(document->job->strings, id));
  }
}

/* --- Parts --- */

static void put_task(struct document *document, uint32_t t) {
  const struct lumos_job *job = document->job;
  const struct lumos_task *task = &job->tasks.items[t];
  int32_t rank = job->ranks.items[lumos_rank_of(job, task)].rank;
  char id[32];
  (void)snprintf(id, sizeof id, "%d:%u", (int)rank, (unsigned)task->id);
  lumos_export_string(&document->writer, "task", id);
  lumos_export_integer(&document->writer, "rank", rank);
  put_string_id(document, "lane", job->lanes.items[task->lane].lane);
  put_string_id(document, "name", task->name);
}

static void put_place(struct document *document, const struct lumos_task *task) {
  uint32_t span = lumos_launch_span(document->job, task);
  if (task->phase != 0) {
    lumos_export_string(&document->writer, "phase", lumos_phase_name((enum lumos_phase)task->phase));
  }
  if (task->layer != LUMOS_ABSENT_INT) {
    lumos_export_integer(&document->writer, "layer", task->layer);
  } else if (task->part != 0) {
    lumos_export_string(&document->writer, "part", lumos_part_name((enum lumos_part)task->part));
  }
  if (span != LUMOS_NONE) {
    struct lumos_origin origin = lumos_origin_of(&document->origins, span);
    put_string_id(document, "op", origin.op);
    if (origin.module != 0) {
      put_string_id(document, "module", lumos_module_path(&document->origins, document->job, origin.module));
    }
  }
}

static void put_part(struct document *document, const struct lumos_path_part *part, bool first) {
  struct export_writer *writer = &document->writer;
  put(document, first ? "\n{" : ",\n{");
  lumos_export_integer(writer, "from", part->from);
  lumos_export_integer(writer, "until", part->to);
  lumos_export_string(writer, "what", lumos_path_what_name((enum lumos_path_what)part->what));
  lumos_export_string(writer, "kind", lumos_path_part_kind(document->job, part));
  put_task(document, part->task);
  put_place(document, &document->job->tasks.items[part->task]);
  lumos_export_string(writer, "held_by", lumos_constraint_kind_name((enum lumos_constraint_kind)part->kind));
  lumos_export_string(writer, "evidence", lumos_evidence_name((enum lumos_evidence)part->evidence));
  put(document, "}");
  lumos_export_drain_full(writer);
}

/* --- What it consists of --- */

/* "critical_path_kind" and the like, by the member of the document that they become. */
static const struct level {
  const char *metric, *member;
} levels[] = {
    {"critical_path_kind", "by_kind"},     {"critical_path_phase", "by_phase"}, {"critical_path_op", "by_op"},
    {"critical_path_module", "by_module"}, {"critical_path_layer", "by_layer"}, {"critical_path_rank", "by_rank"},
};
enum { LEVELS = sizeof levels / sizeof *levels };

static bool is_named(const struct document *document, const struct lumos_metric *metric, const char *name) {
  return strcmp(lumos_string(document->job->strings, metric->name), name) == 0;
}

static void find_metrics(struct document *document) {
  static const char prefix[] = "critical_path";
  for (size_t i = 0; i < document->job->metrics.count; i++) {
    const struct lumos_metric *metric = &document->job->metrics.items[i];
    if (strncmp(lumos_string(document->job->strings, metric->name), prefix, sizeof prefix - 1) == 0) {
      lumos_vector_push(&document->metrics, i);
    }
  }
}

static void put_scope(struct document *document, const struct lumos_scope *scope) {
  struct export_writer *writer = &document->writer;
  put_string_id(document, "kind", scope->kind);
  put_string_id(document, "op", scope->op);
  put_string_id(document, "module", scope->module);
  if (scope->phase != 0) {
    lumos_export_string(writer, "phase", lumos_phase_name((enum lumos_phase)scope->phase));
  }
  if (scope->layer != LUMOS_ABSENT_INT) {
    lumos_export_integer(writer, "layer", scope->layer);
  }
  if (scope->rank != LUMOS_ABSENT_INT) {
    lumos_export_integer(writer, "rank", scope->rank);
  }
  put_string_id(document, "name", scope->name); /* of a phase or a layer: none, or what is no layer */
}

static void put_level(struct document *document, const struct level *level, int32_t step) {
  struct export_writer *writer = &document->writer;
  bool first = true;
  lumos_text_format(writer->text, ",\n\"%s\":[", level->member);
  for (size_t i = 0; i < document->metrics.count; i++) {
    const struct lumos_metric *metric = &document->job->metrics.items[document->metrics.items[i]];
    if (metric->scope.step == step && is_named(document, metric, level->metric)) {
      put(document, first ? "{" : ",{");
      put_scope(document, &metric->scope);
      lumos_export_integer(writer, "time", metric->value.units);
      put(document, "}");
      first = false;
    }
  }
  put(document, "]");
}

static void put_crossings(struct document *document, const struct lumos_crossings *crossings) {
  struct export_writer *writer = &document->writer;
  bool first = true;
  put(document, ",\n\"crossings\":[");
  for (int kind = 0; kind < LUMOS_CONSTRAINT_KINDS; kind++) {
    for (int evidence = LUMOS_RECORDED; evidence <= LUMOS_UNEXPLAINED; evidence++) {
      const struct lumos_crossing *crossing = &crossings->of[kind][evidence];
      if (crossing->count > 0) {
        put(document, first ? "{" : ",{");
        lumos_export_string(writer, "held_by", lumos_constraint_kind_name((enum lumos_constraint_kind)kind));
        lumos_export_string(writer, "evidence", lumos_evidence_name((enum lumos_evidence)evidence));
        lumos_export_integer(writer, "count", crossing->count);
        lumos_export_integer(writer, "time", crossing->time);
        put(document, "}");
        first = false;
      }
    }
  }
  put(document, "]");
}

static void put_step(struct document *document, const struct lumos_step *step, uint32_t last) {
  struct lumos_crossings crossings = {0};
  lumos_path_of_step(document->job, document->bindings, step, last, &document->parts, &crossings);
  lumos_export_integer(&document->writer, "step", step->step);
  lumos_export_integer(&document->writer, "start", step->start);
  lumos_export_integer(&document->writer, "end", step->end);
  put(document, ",\"parts\":[");
  for (size_t i = 0; i < document->parts.count; i++) {
    put_part(document, &document->parts.items[i], i == 0);
  }
  put(document, "]");
  for (int level = 0; level < LEVELS; level++) {
    put_level(document, &levels[level], step->step);
  }
  put_crossings(document, &crossings);
}

static void put_steps(struct document *document) {
  const struct lumos_job *job = document->job;
  struct lumos_stretches stretches;
  struct lumos_timeline timeline;
  lumos_find_stretches(job, &stretches);
  lumos_timeline_make(&timeline, job, job->runs.items, &stretches);
  uint32_t *last = lumos_allocate((timeline.job.count + 1) * sizeof *last);
  lumos_find_last_tasks(job, &timeline, &stretches, last);
  put(document, ",\"steps\":[");
  for (size_t k = 0; k < timeline.job.count; k++) {
    put(document, k == 0 ? "\n{" : ",\n{");
    put_step(document, &timeline.job.items[k], last[k]);
    put(document, "}");
  }
  put(document, "]");
  free(last);
  lumos_timeline_free(&timeline);
  lumos_vector_free(&stretches);
}

/* --- Slack --- */

enum column { TASK, START, END, COLUMNS };

static bool has_slack(const struct lumos_slack *slack) {
  return slack->start != LUMOS_ABSENT || slack->end != LUMOS_ABSENT;
}

/* A column of the tasks of a rank: they are many, so each is a number in each column. */
static void put_column(struct document *document, const struct lumos_rank *rank, enum column column) {
  static const char *const names[COLUMNS] = {"task", "start", "end"};
  struct lumos_text *text = document->writer.text;
  bool first = true;
  lumos_text_format(text, ",\n\"%s\":[", names[column]);
  for (uint32_t t = rank->task_first; t < rank->task_first + rank->task_count; t++) {
    const struct lumos_slack *slack = &document->slacks[t];
    if (!has_slack(slack)) {
      continue;
    }
    int64_t value = column == TASK ? document->job->tasks.items[t].id : column == START ? slack->start : slack->end;
    if (!first) {
      lumos_text_char(text, ',');
    }
    first = false;
    if (value == LUMOS_ABSENT) {
      lumos_text_put(text, "null");
    } else {
      lumos_text_integer(text, value);
    }
    lumos_export_drain_full(&document->writer);
  }
  put(document, "]");
}

static void put_slacks(struct document *document) {
  put(document, ",\"slack\":[");
  for (size_t r = 0; r < document->job->ranks.count; r++) {
    const struct lumos_rank *rank = &document->job->ranks.items[r];
    put(document, r == 0 ? "\n{" : ",\n{");
    lumos_export_integer(&document->writer, "rank", rank->rank);
    for (int column = 0; column < COLUMNS; column++) {
      put_column(document, rank, (enum column)column);
    }
    put(document, "}");
  }
  put(document, "]");
}

static void put_document(struct document *document) {
  char epoch[32];
  (void)snprintf(epoch, sizeof epoch, "%lld", (long long)document->job->epoch);
  put(document, "{");
  lumos_export_string(&document->writer, "document", "critical_path");
  lumos_export_integer(&document->writer, "format", CRITICAL_PATH_FORMAT);
  lumos_export_string(&document->writer, "unit", "ns");
  lumos_export_string(&document->writer, "epoch", epoch);
  put_steps(document);
  put_slacks(document);
  put(document, "}\n");
}

bool lumos_critical_path_write(const struct lumos_job *job, const char *path, struct lumos_error *error) {
  struct document document = {.writer = {.job = job}, .job = job};
  struct lumos_held bindings = {0};
  struct lumos_slack *slacks = lumos_allocate((job->tasks.count + 1) * sizeof *slacks);
  struct export_file file;
  bool done =
      lumos_slack_find(job, &bindings, slacks, error) && lumos_export_open_file(&document.writer, &file, path, error);
  if (done) {
    document.bindings = &bindings;
    document.slacks = slacks;
    lumos_origins_begin(&document.origins, job);
    find_metrics(&document);
    put_document(&document);
    lumos_origins_free(&document.origins);
    lumos_vector_free(&document.parts);
    lumos_vector_free(&document.metrics);
    done = lumos_export_close_file(&document.writer, &file, error);
  }
  lumos_held_free(&bindings);
  free(slacks);
  return done;
}
