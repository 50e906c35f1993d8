/* Notes of several ranks that say the same are shown once, with the ranks. */
#include "report/content/notes.h"

#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

enum {
  MOST_RANKS = 12, /* named behind a note */
  MOST_NOTES = 200,
  MOST_HISTORY = 100,
  MOST_INPUTS = 1000, /* named of one run */
};

struct merged {
  const struct lumos_note *note; /* the first */
  int64_t count;
  size_t rank_first, rank_count; /* in the list's ranks; none: everywhere */
};
struct merged_notes {
  LUMOS_VECTOR(struct merged) items;
  LUMOS_VECTOR(int32_t) ranks;
};

static int compare_strings(const struct lumos_job *job, lumos_string_id left, lumos_string_id right) {
  return left == right ? 0 : strcmp(lumos_string(job->strings, left), lumos_string(job->strings, right));
}

/* The worst first, then by code and text, then by rank. */
static int compare_notes(const void *left, const void *right, void *context) {
  const struct lumos_job *job = context;
  const struct lumos_note *a = *(const struct lumos_note *const *)left;
  const struct lumos_note *b = *(const struct lumos_note *const *)right;
  int order = (int)b->level - (int)a->level;
  order = order != 0 ? order : compare_strings(job, a->code, b->code);
  order = order != 0 ? order : compare_strings(job, a->text, b->text);
  order = order != 0 ? order : compare_strings(job, a->cure, b->cure);
  if (order != 0) {
    return order;
  }
  return a->scope.rank != b->scope.rank ? LUMOS_ORDER(a->scope.rank, b->scope.rank)
                                        : LUMOS_ORDER(a->scope.step, b->scope.step);
}

static bool same_note(const struct lumos_note *left, const struct lumos_note *right) {
  return left->level == right->level && left->code == right->code && left->text == right->text &&
         left->cure == right->cure;
}

/* Of all ranks that the note's one stands for. */
static int64_t count_of(const struct lumos_job *job, const struct lumos_note *note) {
  uint32_t rank = note->scope.rank == LUMOS_ABSENT_INT ? LUMOS_NONE : lumos_job_rank(job, note->scope.rank);
  return report_product(note->count, rank == LUMOS_NONE ? 1 : lumos_rank_weight(&job->ranks.items[rank]));
}

/* The notes from `first` on that are one; returns the next after them. */
static size_t merge_same(const struct lumos_job *job, const struct lumos_note *const *notes, size_t first, size_t count,
                         struct merged_notes *merged) {
  struct merged one = {.note = notes[first], .count = LUMOS_ABSENT, .rank_first = merged->ranks.count};
  int32_t last_rank = LUMOS_ABSENT_INT;
  size_t next = first;
  for (; next < count && same_note(notes[first], notes[next]); next++) {
    one.count = report_sum(one.count, count_of(job, notes[next]));
    int32_t rank = notes[next]->scope.rank;
    if (rank != LUMOS_ABSENT_INT && rank != last_rank) {
      lumos_vector_push(&merged->ranks, rank);
      one.rank_count++;
      last_rank = rank;
    }
  }
  lumos_vector_push(&merged->items, one);
  return next;
}

static struct merged_notes merge_notes(const struct lumos_job *job) {
  struct merged_notes merged = {0};
  const size_t pointer = sizeof(const struct lumos_note *);
  const struct lumos_note **notes = lumos_allocate((job->notes.count + 1) * pointer);
  for (size_t i = 0; i < job->notes.count; i++) {
    notes[i] = &job->notes.items[i];
  }
  qsort_r(notes, job->notes.count, pointer, compare_notes, (void *)job);
  for (size_t next = 0; next < job->notes.count;) {
    next = merge_same(job, notes, next, job->notes.count, &merged);
  }
  free(notes);
  return merged;
}

static void free_notes(struct merged_notes *merged) {
  lumos_vector_free(&merged->items);
  lumos_vector_free(&merged->ranks);
}

/* "rank 3", "ranks 0, 1, 5", "64 ranks" */
static void put_where(const struct merged_notes *merged, const struct merged *note, struct lumos_text *out) {
  if (note->rank_count == 0) {
    return;
  }
  if (note->rank_count > MOST_RANKS) {
    report_put_counted(out, (int64_t)note->rank_count, "rank");
    return;
  }
  lumos_text_put(out, note->rank_count == 1 ? "rank " : "ranks ");
  for (size_t i = 0; i < note->rank_count; i++) {
    lumos_text_format(out, "%s%d", i == 0 ? "" : ", ", merged->ranks.items[note->rank_first + i]);
  }
}

static void put_string(const struct lumos_job *job, lumos_string_id id, struct lumos_text *out) {
  report_put_cut(out, lumos_string(job->strings, id), lumos_string_length(job->strings, id), REPORT_LONG);
}

static void set_string(const struct lumos_job *job, struct report_scope *item, const char *name, lumos_string_id id) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_string(job, id, &text);
  report_set_take(item, name, &text);
}

/* A name of a file may be that of a host or a person, so that the report withholds it: the reader learns where it
 * is. */
static void put_where_named(const struct lumos_job *job, const struct lumos_note *note, struct lumos_text *out) {
  if (strcmp(lumos_string(job->strings, note->code), "parse.not_a_trace") == 0) {
    lumos_text_put(out, out->length > 0 ? "; " : "");
    lumos_text_put(out, "reports leave out file names: --details shows them");
  }
}

static void fill_note(const struct lumos_job *job, const struct merged_notes *merged, const struct merged *note,
                      bool details, struct report_scope *item) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_set_text(item, "level", lumos_level_name((enum lumos_level)note->note->level));
  set_string(job, item, "code", note->note->code);
  set_string(job, item, "text", note->note->text);
  if (note->count != LUMOS_ABSENT) {
    report_put_count(&text, note->count);
  }
  report_section_if(item, "has_count", note->count != LUMOS_ABSENT);
  report_set_take(item, "count", &text);
  put_where(merged, note, &text);
  report_section_if(item, "has_where", note->rank_count > 0);
  report_set_take(item, "where", &text);
  if (note->note->cure != LUMOS_NO_STRING) {
    put_string(job, note->note->cure, &text);
  }
  if (!details) {
    put_where_named(job, note->note, &text);
  }
  report_section_if(item, "has_cure", text.length > 0);
  report_set_take(item, "cure", &text);
}

/* "of 3 inputs", or with details "of 3 inputs: a.json.gz, b.json.gz, c.json.gz" */
static void put_inputs(const struct lumos_job *job, const struct lumos_history *entry, bool details,
                       struct lumos_text *out) {
  if (entry->input_count == 0) {
    return;
  }
  lumos_text_put(out, "of ");
  report_put_counted(out, entry->input_count, "input");
  for (uint32_t i = 0; details && i < entry->input_count && i < MOST_INPUTS; i++) {
    lumos_text_put(out, i == 0 ? ": " : ", ");
    put_string(job, job->inputs.items[entry->input_first + i], out);
  }
  lumos_text_put(out, details && entry->input_count > MOST_INPUTS ? ", ..." : "");
}

static void fill_history(const struct lumos_job *job, const struct lumos_history *entry, bool details,
                         struct report_scope *scope) {
  struct report_scope *item = report_section_item(scope, "history");
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  set_string(job, item, "tool", entry->tool);
  set_string(job, item, "version", entry->version);
  set_string(job, item, "args", entry->args);
  put_inputs(job, entry, details, &text);
  report_set_take(item, "inputs", &text);
}

/* What was asked for, in one line, in the order in which it was done. */
static void fill_changes(const struct lumos_job *job, struct report_scope *scope) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (size_t i = 0; i < job->history.count && i < MOST_HISTORY; i++) {
    const struct lumos_history *entry = &job->history.items[i];
    if (strcmp(lumos_string(job->strings, entry->tool), "lumos-transform") == 0) {
      lumos_text_put(&text, text.length > 0 ? " " : "");
      lumos_text_add(&text, lumos_string(job->strings, entry->args), lumos_string_length(job->strings, entry->args));
    }
  }
  report_section(scope, "changes");
  if (text.length > 0) {
    report_set_take(report_section_item(scope, "changes"), "args", &text);
  }
  lumos_text_free(&text);
}

/* The worst come first; what is beyond these is counted only. */
static size_t shown_notes(const struct merged_notes *merged) {
  return merged->items.count < MOST_NOTES ? merged->items.count : MOST_NOTES;
}

/* "4 notes, 2 of them warnings" */
static void put_finding(const struct merged_notes *merged, struct lumos_text *out) {
  int64_t warnings = 0;
  for (size_t i = 0; i < merged->items.count; i++) {
    warnings += merged->items.items[i].note->level >= LUMOS_WARNING;
  }
  if (merged->items.count == 0) {
    lumos_text_put(out, "Nothing was skipped, repaired or inferred");
    return;
  }
  report_put_counted(out, (int64_t)merged->items.count, "note");
  if (warnings > 0) {
    lumos_text_put(out, ", ");
    report_put_count(out, warnings);
    lumos_text_put(out, warnings == 1 ? " of them a warning" : " of them warnings");
  }
  if (merged->items.count > MOST_NOTES) {
    lumos_text_format(out, "; here are the first %d", MOST_NOTES);
  }
}

/* The first warnings stand open, what is folded is counted. */
static void fill_notes(const struct lumos_job *job, const struct merged_notes *merged, bool details, size_t warnings,
                       struct report_scope *scope) {
  struct report_scope *folded = NULL;
  size_t open = 0;
  report_section(scope, "notes");
  report_section(scope, "folded_notes");
  for (size_t i = 0; i < shown_notes(merged); i++) {
    const struct merged *note = &merged->items.items[i];
    bool is_open = warnings == REPORT_ALL_NOTES || (note->note->level >= LUMOS_WARNING && i < warnings);
    open += is_open;
    if (!is_open && folded == NULL) {
      folded = report_section_item(scope, "folded_notes");
    }
    fill_note(job, merged, note, details, report_section_item(is_open ? scope : folded, "notes"));
  }
  if (folded != NULL) {
    struct lumos_text count = LUMOS_TEXT_BUFFER;
    if (open > 0) {
      report_put_counted(&count, (int64_t)(shown_notes(merged) - open), "more note");
    } else {
      lumos_text_put(&count, "Show all");
    }
    report_set_take(folded, "folded_count", &count);
  }
}

void report_fill_notes(const struct lumos_job *job, bool details, size_t warnings, struct report_scope *scope) {
  report_section(scope, "history");
  fill_changes(job, scope);
  struct merged_notes merged = merge_notes(job);
  struct lumos_text finding = LUMOS_TEXT_BUFFER;
  put_finding(&merged, &finding);
  report_set_take(scope, "notes_finding", &finding);
  fill_notes(job, &merged, details, warnings, scope);
  free_notes(&merged);
  for (size_t i = 0; i < job->history.count && i < MOST_HISTORY; i++) {
    fill_history(job, &job->history.items[i], details, scope);
  }
  struct lumos_text more = LUMOS_TEXT_BUFFER;
  size_t count = job->history.count > MOST_HISTORY ? job->history.count - MOST_HISTORY : 0;
  report_put_counted(&more, (int64_t)count, "more run");
  report_section_if(scope, "has_more_history", count > 0);
  report_set_take(scope, "more_history", &more);
}

void report_fill_assumptions(const struct lumos_job *job, struct report_scope *scope) {
  static const char stage[] = "transform.";
  struct merged_notes merged = merge_notes(job);
  struct report_scope *section = NULL;
  report_section(scope, "assumptions");
  for (size_t i = 0; i < shown_notes(&merged); i++) {
    const struct lumos_note *note = merged.items.items[i].note;
    if (strncmp(lumos_string(job->strings, note->code), stage, sizeof stage - 1) == 0) {
      section = section == NULL ? report_section_item(scope, "assumptions") : section;
      set_string(job, report_section_item(section, "list"), "text", note->text);
    }
  }
  free_notes(&merged);
}

static void put_json_string(const struct lumos_job *job, const char *name, lumos_string_id id, struct lumos_text *out) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_string(job, id, &text);
  lumos_text_format(out, ",\"%s\":", name);
  lumos_text_script_string(out, text.bytes == NULL ? "" : text.bytes, text.length);
  lumos_text_free(&text);
}

void report_notes_json(const struct lumos_job *job, struct lumos_text *out) {
  struct merged_notes merged = merge_notes(job);
  lumos_text_char(out, '[');
  for (size_t i = 0; i < shown_notes(&merged); i++) {
    const struct merged *note = &merged.items.items[i];
    lumos_text_format(out, "%s{\"level\":\"%s\"", i == 0 ? "" : ",\n",
                      lumos_level_name((enum lumos_level)note->note->level));
    put_json_string(job, "code", note->note->code, out);
    put_json_string(job, "text", note->note->text, out);
    if (note->count != LUMOS_ABSENT) {
      lumos_text_put(out, ",\"count\":");
      lumos_text_integer(out, note->count);
    }
    for (size_t rank = 0; rank < note->rank_count; rank++) {
      lumos_text_format(out, "%s%d", rank == 0 ? ",\"ranks\":[" : ",", merged.ranks.items[note->rank_first + rank]);
    }
    lumos_text_put(out, note->rank_count > 0 ? "]" : "");
    if (note->note->cure != LUMOS_NO_STRING) {
      put_json_string(job, "cure", note->note->cure, out);
    }
    lumos_text_char(out, '}');
  }
  lumos_text_char(out, ']');
  free_notes(&merged);
}
