/* See tool.h. */
#include "tools/tool.h"

#include "base/utf8.h"
#include "tools/places.h"
#include "tools/versions.h"
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <lumos/stream.h>
#include <lumos/trace.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { WARNINGS_SHOWN = 5 };

#define ERROR_COLOUR "\033[1;31m"
#define WARNING_COLOUR "\033[1;33m"

/* A closed descriptor 0, 1 or 2 would be taken by the next file opened, and messages would land in a report. Something
 * that can neither be written to nor says anything stands in for it. */
static void hold_standard_descriptors(void) {
  int descriptor = -1;
  do {
    descriptor = open("/dev/null", O_RDONLY);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) {
    (void)close(descriptor);
  }
}

bool tool_wants_colour(int descriptor) {
  const char *terminal = getenv("TERM");
  const char *plain = getenv("NO_COLOR");
  return isatty(descriptor) && terminal != NULL && strcmp(terminal, "dumb") != 0 && (plain == NULL || *plain == '\0');
}

/* "name: text", the name in the colour; `text` is printable. */
static void say(const char *name, const char *colour, const char *text) {
  bool coloured = tool_wants_colour(STDERR_FILENO);
  (void)fprintf(stderr, "%s%s:%s %s\n", coloured ? colour : "", name, coloured ? "\033[0m" : "", text);
}

void tool_say(const char *name, const char *what, const char *of) {
  (void)fprintf(stderr, "%s: %s%s\n", name, what, of);
}

/* The first touch of a page costs more than most of what is done with it, so what is freed stays for the next array,
 * and the heap lies in large pages, which have to be asked for before it grows into them. Of the largest arrays, which
 * outlive what is made of them, the memory goes back to the system. All of it is a wish: nothing depends on it. */
void tool_keep_memory(void) {
  enum { AHEAD = 1 << 30, RETURNED_FROM = 32 << 20, ANY = 1 << 20 }; /* bytes */
  (void)mallopt(M_MMAP_THRESHOLD, RETURNED_FROM);
  (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
  (void)mallopt(M_ARENA_MAX, 1); /* threads take their memory in large chunks, so they seldom wait for each other */
  (void)mallopt(M_TOP_PAD, AHEAD);
  char *before = sbrk(0);
  void *volatile grown = malloc(ANY); /* volatile: or both calls are left out */
  free(grown);
  char *after = sbrk(0);
  (void)mallopt(M_TOP_PAD, RETURNED_FROM);
  if (after > before) {
    size_t within = (uintptr_t)before % 4096;
    (void)madvise(before - within, (size_t)(after - before) + within, MADV_HUGEPAGE);
  }
}

int tool_main(const struct lumos_command *given, int argc, char **argv, tool_body *body, void *options) {
  struct lumos_command with_versions = *given;
  with_versions.add_versions = tool_add_versions;
  const struct lumos_command *command = &with_versions;
  hold_standard_descriptors();
  tool_keep_memory();
  cJSON_Hooks hooks = {.malloc_fn = lumos_allocate,
                       .free_fn = free}; /* or it would take a lack of memory for bad JSON */
  cJSON_InitHooks(&hooks);
  (void)signal(SIGPIPE, SIG_IGN); /* a write to a closed pipe fails instead, and base/output.h counts it as done */
  struct lumos_operands operands;
  struct lumos_error error = {.status = LUMOS_DONE};
  bool exit_now = false;
  bool good = lumos_options_parse(command, argc, argv, &operands, &exit_now, &error) &&
              (exit_now || (tool_check_places(command, &operands, &error) && body(&operands, options, &error)));
  if (!good) {
    say(command->name, ERROR_COLOUR, error.text);
  }
  lumos_options_free(command, &operands);
  return good ? LUMOS_DONE : (int)error.status;
}

bool tool_input_given(const struct lumos_operands *operands, const char *expected, struct lumos_error *error) {
  return operands->count > 0 || !isatty(STDIN_FILENO) || lumos_fail(error, "nothing to read: %s", expected);
}

struct lumos_job *tool_read(const struct lumos_operands *operands, const struct tool_input *input,
                            struct lumos_progress *progress, enum lumos_stage *before, struct lumos_error *error) {
  if (!tool_input_given(
          operands,
          "name a stream, traces or a folder of traces, or pipe a stream in, as in 'lumos-parse rank*.json.gz | ...'; "
          "--help says more",
          error)) {
    return NULL;
  }
  lumos_progress_begin(progress);
  const struct lumos_trace_options options = {
      .edited = input->edited, .threads = (size_t)input->threads, .watcher = lumos_progress_watcher(progress)};
  bool parsed = false;
  struct lumos_job *job = lumos_trace_open(operands->items, operands->count, &options, &parsed, error);
  if (job == NULL) {
    lumos_progress_wipe(progress);
    return NULL;
  }
  *before = parsed ? (enum lumos_stage)0 : job->stage;
  job->watcher = options.watcher;
  job->threads = options.threads;
  return job;
}

/* Whoever watches a tool's job is its progress line. */
void tool_wipe(const struct lumos_job *job) {
  if (job->watcher.look != NULL) {
    lumos_progress_wipe(job->watcher.context);
  }
}

void tool_close(struct lumos_job *job) {
  if (job != NULL) {
    tool_wipe(job);
  }
  lumos_job_free(job);
}

bool tool_write(const struct lumos_job *job, const char *path, struct lumos_error *error) {
  struct lumos_output output;
  tool_wipe(job);
  if (!lumos_output_open(&output, path, error)) {
    return false;
  }
  lumos_stream_write(job, &output.text);
  return lumos_output_commit(&output, error);
}

/* Was the note left by a stage after `before`, or by the report? Its code begins with the stage's name and a point. */
static bool is_news(const char *code, enum lumos_stage before) {
  if (strncmp(code, "report.", strlen("report.")) == 0) {
    return true;
  }
  for (int stage = (int)before + 1; stage <= LUMOS_STAGE_SIM; stage++) {
    const char *name = lumos_stage_name((enum lumos_stage)stage);
    size_t length = strlen(name);
    if (strncmp(code, name, length) == 0 && code[length] == '.') {
      return true;
    }
  }
  return false;
}

/* Notes that differ only in their scope and count are told as one. */
static bool is_alike(const struct lumos_note *a, const struct lumos_note *b) {
  return a->code == b->code && a->text == b->text;
}

/* The first note of its like, at `index`, with how many ranks and how often in all. */
static void say_note(const struct lumos_job *job, const char *name, size_t index) {
  const struct lumos_note *note = &job->notes.items[index];
  size_t notes = 0;
  int64_t count = 0;
  for (size_t i = index; i < job->notes.count; i++) {
    const struct lumos_note *other = &job->notes.items[i];
    if (is_alike(note, other)) {
      notes++;
      count += other->count == LUMOS_ABSENT ? 0 : other->count;
    }
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "warning: ");
  if (notes > 1) {
    lumos_text_format(&text, "in %zu places: ", notes);
  } else if (note->scope.rank != LUMOS_ABSENT_INT) {
    lumos_text_format(&text, "rank %d: ", (int)note->scope.rank);
  }
  lumos_text_put(&text, lumos_string(job->strings, note->text));
  if (count > 0) {
    lumos_text_format(&text, " (%" PRId64 ")", count);
  }
  if (note->cure != LUMOS_NO_STRING) {
    lumos_text_format(&text, "; %s", lumos_string(job->strings, note->cure));
  }
  lumos_utf8_make_printable(text.bytes, text.length);
  lumos_text_char(&text, '\0');
  say(name, WARNING_COLOUR, text.bytes);
  lumos_text_free(&text);
}

static bool is_first_of_its_like(const struct lumos_job *job, size_t index) {
  for (size_t i = 0; i < index; i++) {
    if (is_alike(&job->notes.items[i], &job->notes.items[index])) {
      return false;
    }
  }
  return true;
}

void tool_warn(const struct lumos_job *job, const char *name, enum lumos_stage before) {
  size_t found = 0;
  tool_wipe(job);
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (note->level >= LUMOS_WARNING && is_news(lumos_string(job->strings, note->code), before) &&
        is_first_of_its_like(job, i) && found++ < WARNINGS_SHOWN) {
      say_note(job, name, i);
    }
  }
  if (found > WARNINGS_SHOWN) {
    char text[64];
    (void)snprintf(text, sizeof text, "and %zu more warnings in the report", found - WARNINGS_SHOWN);
    say(name, WARNING_COLOUR, text);
  }
}

bool tool_stream_body(const struct lumos_operands *operands, void *options, struct lumos_error *error) {
  const struct tool_stream *stream = options;
  struct lumos_progress progress;
  enum lumos_stage before = (enum lumos_stage)0;
  if (!lumos_output_try(stream->output, error) || (stream->check != NULL && !stream->check(stream, error))) {
    return false;
  }
  struct lumos_job *job = tool_read(operands, &stream->input, &progress, &before, error);
  if (job == NULL) {
    return false;
  }
  bool good = stream->change(job, stream, error);
  if (good) {
    tool_warn(job, stream->name, before);
  }
  good = good && (stream->write == NULL ? tool_write(job, stream->output, error) : stream->write(job, stream, error));
  tool_close(job);
  return good;
}
