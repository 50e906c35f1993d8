/* Folders in, jobs of nights out. */
#include "base/folder.h"
#include "base/input.h"
#include "history/history.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 28, LONGEST_MESSAGE = 4096 }; /* bytes: of 1,000 ranks a report has some 100 MB */

/* Not one byte of a document is kept but what is shown. */
static void read_document(const char *path, struct lumos_arena *arena, struct history_night *night) {
  struct lumos_error error = {LUMOS_DONE, ""};
  size_t length = 0;
  bool is_file = lumos_is_file(path) || lumos_fail(&error, "is not a file, or leads to none");
  char *document = is_file ? lumos_input_slurp(path, LARGEST, &length, &error) : NULL;
  bool good = document != NULL && history_night_read(document, arena, night, &error);
  free(document);
  if (!good) {
    int64_t day = night->day;
    bool cut = night->cut;
    history_night_clear(night);
    night->day = day;
    night->cut = cut;
    night->state = HISTORY_BROKEN;
    night->problem = lumos_arena_copy(arena, error.text, strlen(error.text));
  }
}

static void read_problem(const char *path, struct lumos_arena *arena, struct history_night *night) {
  struct lumos_error error = {LUMOS_DONE, ""};
  size_t length = 0;
  char *text = lumos_is_file(path) ? lumos_input_slurp(path, LONGEST_MESSAGE, &length, &error) : NULL;
  while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) {
    length--;
  }
  night->problem = lumos_arena_copy(arena, text == NULL ? "" : text, length);
  free(text);
}

static void read_message(const char *path, struct lumos_arena *arena, struct history_night *night) {
  night->state = HISTORY_FAILED;
  read_problem(path, arena, night);
}

static char *sibling(const char *folder, const char *stem, const char *ending) {
  struct lumos_text name = LUMOS_TEXT_BUFFER;
  lumos_text_put(&name, stem);
  lumos_text_put(&name, ending);
  lumos_text_char(&name, '\0');
  char *path = lumos_path_join(folder, name.bytes);
  lumos_text_free(&name);
  return path;
}

/* Where a name with another ending is beside it. */
static bool has_sibling(const struct lumos_file_names *names, const char *stem, const char *ending) {
  char *name = sibling("", stem, ending);
  bool there = lumos_names_hold(names, name);
  free(name);
  return there;
}

struct place {
  const char *path, *folder; /* the latter as links have it */
  const struct lumos_file_names *names;
  int64_t forgotten; /* as of history_night */
};

/* Who removes old nights writes the last one's name into this file. */
static int64_t forgotten_of(const char *path, const struct lumos_file_names *names) {
  static const char name[] = "forgotten";
  struct lumos_error unread = {LUMOS_DONE, ""};
  size_t length = 0;
  char *file = lumos_names_hold(names, name) ? lumos_path_join(path, name) : NULL;
  char *text = file != NULL && lumos_is_file(file) ? lumos_input_slurp(file, LONGEST_MESSAGE, &length, &unread) : NULL;
  int64_t day = text == NULL ? LUMOS_ABSENT : history_day_of(text);
  free(text);
  free(file);
  return day;
}

static void read_night(struct lumos_nights *history, const struct place *place, const char *stem, bool failed) {
  struct history_night night = {
      .name = stem, .folder = place->folder, .day = history_day_of(stem), .forgotten = place->forgotten};
  char *path = sibling(place->path, stem, failed ? ".failed" : ".json");
  struct lumos_error unread = {LUMOS_DONE, ""};
  history_night_clear(&night);
  (failed ? read_message : read_document)(path, history->arena, &night);
  free(path);
  night.has_page = has_sibling(place->names, stem, ".html");
  if (night.state == HISTORY_GOOD && has_sibling(place->names, stem, ".gate.json")) {
    path = sibling(place->path, stem, ".gate.json");
    (void)(lumos_is_file(path) && history_night_read_gate(path, history->arena, &night, &unread));
    free(path);
  }
  if (night.state == HISTORY_GOOD && has_sibling(place->names, stem, ".failed")) {
    path = sibling(place->path, stem, ".failed");
    read_problem(path, history->arena, &night);
    night.failed_again = true;
    free(path);
  }
  lumos_vector_push(&history->nights, night);
}

static const char *stem_of(const struct lumos_nights *history, const char *name, const char *ending) {
  return lumos_arena_copy(history->arena, name, strlen(name) - strlen(ending));
}

static void read_nights(struct lumos_nights *history, const struct place *place) {
  for (size_t i = 0; i < place->names->count; i++) {
    const char *name = place->names->items[i];
    if (lumos_ends_with(name, ".json") && !lumos_ends_with(name, ".gate.json")) {
      read_night(history, place, stem_of(history, name, ".json"), false);
    } else if (lumos_ends_with(name, ".failed")) {
      const char *stem = stem_of(history, name, ".failed");
      if (!has_sibling(place->names, stem, ".json")) {
        read_night(history, place, stem, true);
      }
    }
  }
}

/* ---- Jobs ---- */

/* Nights without a report are of the folder's first job. */
static void settle_titles(struct lumos_nights *history, size_t first) {
  const char *title = NULL;
  for (size_t i = first; i < history->nights.count && title == NULL; i++) {
    const struct history_night *night = &history->nights.items[i];
    title = night->state == HISTORY_GOOD ? night->title : NULL;
  }
  for (size_t i = first; i < history->nights.count; i++) {
    struct history_night *night = &history->nights.items[i];
    night->title = night->state == HISTORY_GOOD || title == NULL ? night->title : title;
  }
}

static int by_job(const struct history_night *a, const struct history_night *b) {
  int order = strcmp(a->folder, b->folder);
  return order != 0 ? order : strcmp(a->title, b->title);
}

static int by_job_and_name(const void *left, const void *right) {
  const struct history_night *a = left, *b = right;
  int order = by_job(a, b);
  return order != 0 ? order : strcmp(a->name, b->name);
}

static int by_day(const void *left, const void *right) {
  const struct history_night *a = left, *b = right;
  return a->day != b->day ? LUMOS_ORDER(a->day, b->day) : strcmp(a->name, b->name);
}

static bool all_dated(const struct history_night *nights, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (nights[i].day == LUMOS_ABSENT) {
      return false;
    }
  }
  return true;
}

static void add_job(struct lumos_nights *history, size_t first, size_t end) {
  struct history_night *nights = &history->nights.items[first];
  size_t count = end - first, left_out = count > HISTORY_MOST ? count - HISTORY_MOST : 0;
  if (all_dated(nights, count)) {
    qsort(nights, count, sizeof *nights, by_day);
  }
  struct history_job job = {.nights = nights + left_out, .count = count - left_out, .left_out = left_out};
  job.name = nights->folder[0] == '\0' ? nights->title : nights->folder;
  bool same_folder = (first > 0 && strcmp(nights[-1].folder, nights->folder) == 0) ||
                     (end < history->nights.count && strcmp(nights[count].folder, nights->folder) == 0);
  if (same_folder && nights->folder[0] != '\0' && nights->title[0] != '\0') {
    struct lumos_text name = LUMOS_TEXT_BUFFER;
    lumos_text_format(&name, "%s: %s", nights->folder, nights->title);
    job.name = lumos_arena_copy(history->arena, name.bytes, name.length);
    lumos_text_free(&name);
  }
  job.name = job.name[0] == '\0' ? "The job" : job.name;
  lumos_vector_push(&history->jobs, job);
}

void history_settle(struct lumos_nights *history) {
  lumos_vector_sort(&history->nights, by_job_and_name);
  for (size_t i = 0, first = 0; i < history->nights.count; i++) {
    const struct history_night *night = &history->nights.items[i];
    if (i + 1 == history->nights.count || by_job(night, night + 1) != 0) {
      add_job(history, first, i + 1);
      first = i + 1;
    }
  }
  history_find_trends(history);
}

static void read_folder(struct lumos_nights *history, const char *path, const char *folder,
                        const struct lumos_file_names *names) {
  size_t first = history->nights.count;
  read_nights(history, &(struct place){path, folder, names, forgotten_of(path, names)});
  settle_titles(history, first);
}

/* What is no folder, or belongs to others, is passed over. */
static bool read_below(struct lumos_nights *history, const char *path, const char *folder, struct lumos_error *error) {
  struct lumos_file_names names;
  bool listed = lumos_folder_list(path, &names, error);
  bool good = listed || !lumos_is_folder(path) || access(path, R_OK | X_OK) != 0;
  if (listed) {
    read_folder(history, path, lumos_arena_copy(history->arena, folder, strlen(folder)), &names);
  }
  lumos_names_free(&names);
  return good;
}

struct lumos_nights *lumos_nights_read(const char *folder, struct lumos_error *error) {
  struct lumos_file_names names;
  if (!lumos_folder_list(folder, &names, error)) {
    return NULL;
  }
  struct lumos_nights *history = lumos_allocate_zeroed(1, sizeof *history);
  history->arena = lumos_arena_new();
  read_folder(history, folder, "", &names);
  bool good = true;
  for (size_t i = 0; i < names.count && good; i++) {
    char *path = lumos_path_join(folder, names.items[i]);
    good = lumos_is_file(path) || read_below(history, path, names.items[i], error);
    free(path);
  }
  lumos_names_free(&names);
  if (!good) {
    lumos_nights_free(history);
    return NULL;
  }
  if (history->nights.count == 0) {
    (void)lumos_fail(error,
                     "%s: holds no night of a history; write summaries into it, or into a folder of it, as "
                     "lumos-report TRACES --summary %s/JOB/2026-07-01.json",
                     folder, folder);
    lumos_nights_free(history);
    return NULL;
  }
  history_settle(history);
  return history;
}

void lumos_nights_free(struct lumos_nights *history) {
  if (history == NULL) {
    return;
  }
  for (size_t i = 0; i < history->jobs.count; i++) {
    struct history_job *job = &history->jobs.items[i];
    lumos_vector_free(&job->slots);
    for (int series = 0; series < HISTORY_SERIES; series++) {
      lumos_vector_free(&job->trends[series].changes);
    }
  }
  lumos_vector_free(&history->jobs);
  lumos_vector_free(&history->nights);
  lumos_arena_free(history->arena);
  free(history);
}
