/* The stages that are measured, and their floors: what the same bytes or tasks cost when only looked at.
 *
 *   memchr            one pass over the bytes of the traces
 *   tokenizer         base/json.h from the first value to the last, which is what any reader of JSON must do
 *   inflate_*         lumos_input_read to the end
 *   stream_tokenizer  the tokenizer over the lines of a stream; stream_copy: their bytes copied
 *   walk              every task looked at once
 *
 * Of the peers each reads the same trace as lumos-parse does, which writes a stream of it: jq writes its events, Python
 * only loads them.
 */
#include "bench.h"

#include "base/input.h"
#include "base/json.h"
#include "base/text.h"
#include <fcntl.h>
#include <lumos/graph.h>
#include <lumos/rebuild.h>
#include <lumos/report.h>
#include <lumos/sim.h>
#include <lumos/stream.h>
#include <lumos/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW = 1 << 20 };

static const char *const endings[] = {[BENCH_PLAIN] = "", [BENCH_GZIP] = ".gz", [BENCH_ZSTD] = ".zst"};

/* --- What stages work on --- */

static char *joined(const char *first, const char *second, const char *third) {
  char *text = NULL;
  if (asprintf(&text, "%s%s%s", first, second, third) < 0) {
    abort();
  }
  return text;
}

static int64_t file_bytes(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 ? about.st_size : 0;
}

static int64_t plain_bytes(const struct bench_input *input) {
  int64_t bytes = 0;
  for (size_t i = 0; i < input->count; i++) {
    bytes += file_bytes(input->paths[i]);
  }
  return bytes;
}

/* Append a whole file to work->bytes, read into its place: a copy of gigabytes would not fit beside them. */
static bool load(struct bench_work *work, const char *path) {
  size_t length = (size_t)file_bytes(path);
  work->bytes = lumos_reallocate(work->bytes, work->length + length + 1, 1);
  struct lumos_input *input = lumos_input_open(path, &work->error);
  int64_t count = input == NULL ? -1 : 1;
  for (size_t end = work->length + length; count > 0 && work->length < end; work->length += (size_t)count) {
    count = lumos_input_read(input, work->bytes + work->length, end - work->length, &work->error);
  }
  lumos_input_close(input);
  work->bytes[work->length] = '\0';
  return count > 0 || (count == 0 && lumos_fail(&work->error, "%s: is shorter than it was", path));
}

static bool load_traces(struct bench_work *work) {
  bool good = true;
  for (size_t i = 0; good && i < work->input->count; i++) {
    good = load(work, work->input->paths[i]);
  }
  return good;
}

static bool load_stream(struct bench_work *work) {
  char *path = joined(work->input->work, "/", "parse");
  bool good = load(work, path);
  free(path);
  return good;
}

static struct lumos_job *read_stream(struct bench_work *work, const char *name) {
  char *path = joined(work->input->work, "/", name);
  const char *const paths[] = {path};
  const struct lumos_read_options options = {.edited = false};
  struct lumos_job *job = lumos_streams_open(paths, 1, &options, &work->error);
  free(path);
  work->handled = job == NULL ? 0 : (int64_t)job->tasks.count;
  return job;
}

static bool read_parsed(struct bench_work *work) { return (work->job = read_stream(work, "parse")) != NULL; }
static bool read_graph(struct bench_work *work) { return (work->job = read_stream(work, "graph")) != NULL; }
static bool read_simulated(struct bench_work *work) { return (work->job = read_stream(work, "sim")) != NULL; }

/* --- Bytes --- */

static bool run_memchr(struct bench_work *work) {
  work->sum += memchr(work->bytes, '\x01', work->length) != NULL;
  work->handled = (int64_t)work->length;
  return true;
}

static bool pull(const char **cursor, uint64_t *sum);

static bool pull_object(const char **cursor, uint64_t *sum) {
  struct lumos_json_members members;
  struct lumos_slice key;
  int more = lumos_json_open(cursor, '{', &members) ? 1 : -1;
  while (more == 1 && (more = lumos_json_key(cursor, &members, &key)) == 1) {
    *sum += key.length;
    more = pull(cursor, sum) ? 1 : -1;
  }
  return more == 0;
}

static bool pull_array(const char **cursor, uint64_t *sum) {
  struct lumos_json_members members;
  int more = lumos_json_open(cursor, '[', &members) ? 1 : -1;
  while (more == 1 && (more = lumos_json_item(cursor, &members)) == 1) {
    more = pull(cursor, sum) ? 1 : -1;
  }
  return more == 0;
}

/* One value: containers member by member, leaves passed over. */
static bool pull(const char **cursor, uint64_t *sum) {
  if (**cursor == '{') {
    return pull_object(cursor, sum);
  }
  if (**cursor == '[') {
    return pull_array(cursor, sum);
  }
  struct lumos_slice leaf;
  bool good = lumos_json_skip(cursor, &leaf);
  *sum += leaf.length;
  return good;
}

/* Values in a row: a trace is one, a stream has one a line. */
static bool run_tokenizer(struct bench_work *work) {
  const char *cursor = lumos_json_blank(work->bytes);
  while (*cursor != '\0') {
    if (!pull(&cursor, &work->sum)) {
      return lumos_fail(&work->error, "byte %zu is no JSON", (size_t)(cursor - work->bytes));
    }
    cursor = lumos_json_blank(cursor);
  }
  work->handled = (int64_t)work->length;
  return true;
}

static bool inflate(struct bench_work *work, enum bench_form form) {
  char *window = lumos_allocate(WINDOW);
  bool good = true;
  for (size_t i = 0; good && i < work->input->count; i++) {
    char *path = joined(work->input->paths[i], endings[form], "");
    struct lumos_input *input = lumos_input_open(path, &work->error);
    int64_t count = input == NULL ? -1 : 1;
    while (count > 0) {
      count = lumos_input_read(input, window, WINDOW, &work->error);
      work->handled += count > 0 ? count : 0;
    }
    good = count == 0;
    lumos_input_close(input);
    free(path);
  }
  free(window);
  return good;
}

static bool run_inflate_gzip(struct bench_work *work) { return inflate(work, BENCH_GZIP); }
static bool run_inflate_zstd(struct bench_work *work) { return inflate(work, BENCH_ZSTD); }

/* --- Parse --- */

static bool parse(struct bench_work *work, enum bench_form form) {
  const struct bench_input *input = work->input;
  const char **paths = lumos_allocate(input->count * sizeof *paths);
  for (size_t i = 0; i < input->count; i++) {
    paths[i] = joined(input->paths[i], endings[form], "");
  }
  const struct lumos_trace_options options = {.steps = LUMOS_STEPS_COMPLETE};
  work->job = lumos_trace_parse(paths, input->count, &options, &work->error);
  for (size_t i = 0; i < input->count; i++) {
    free((void *)(uintptr_t)paths[i]);
  }
  free(paths);
  return work->job != NULL;
}

static bool run_parse_form(struct bench_work *work, enum bench_form form) {
  bool good = parse(work, form);
  work->handled = plain_bytes(work->input);
  return good;
}

static bool run_parse(struct bench_work *work) { return run_parse_form(work, BENCH_PLAIN); }
static bool run_parse_gzip(struct bench_work *work) { return run_parse_form(work, BENCH_GZIP); }
static bool run_parse_zstd(struct bench_work *work) { return run_parse_form(work, BENCH_ZSTD); }

/* --- Streams --- */

static bool run_stream_copy(struct bench_work *work) {
  char *window = lumos_allocate(WINDOW);
  for (size_t at = 0; at < work->length; at += WINDOW) {
    size_t length = work->length - at < WINDOW ? work->length - at : WINDOW;
    memcpy(window, work->bytes + at, length);
    work->sum += (unsigned char)window[work->sum % length];
  }
  free(window);
  work->handled = (int64_t)work->length;
  return true;
}

static bool run_stream_write(struct bench_work *work) {
  int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  struct lumos_text text = LUMOS_TEXT_TO(nowhere);
  lumos_stream_write(work->job, &text);
  bool good = lumos_text_flush(&text);
  lumos_text_free(&text);
  (void)close(nowhere);
  return good || lumos_fail(&work->error, "/dev/null cannot be written");
}

static bool run_stream_read(struct bench_work *work) { return read_parsed(work); }

/* --- Tasks --- */

static bool run_walk(struct bench_work *work) {
  for (size_t i = 0; i < work->job->tasks.count; i++) {
    const struct lumos_task *task = &work->job->tasks.items[i];
    work->sum += (uint64_t)task->start + (uint64_t)task->dur + (uint64_t)task->lag + task->seq + task->kind;
    work->sum += task->call == LUMOS_NONE ? 0 : (uint64_t)work->job->tasks.items[task->call].start;
  }
  return true;
}

static bool run_graph(struct bench_work *work) { return lumos_graph_build(work->job, &work->error); }

/* One run of the simulator, without what stage sim does beside it: a second run for the replay error, and the
 * metrics. */
static bool run_engine(struct bench_work *work) {
  const struct lumos_sim_options options = {.drop_residuals = false};
  struct lumos_run *runs = lumos_allocate(work->job->tasks.count * sizeof *runs);
  bool good = lumos_engine_run(work->job, &options, runs, &work->error);
  free(runs);
  return good;
}

static bool run_simulate(struct bench_work *work) { return lumos_simulate(work->job, &work->error); }

/* The recorded configuration, written anew out of its blocks. */
static bool run_rebuild(struct bench_work *work) {
  const struct lumos_rebuild asked = {.layers = 0};
  return lumos_rebuild(work->job, &asked, &work->error);
}

static bool run_render(struct bench_work *work, enum lumos_report_format format) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  const struct lumos_report_options options = {.format = format};
  bool good = lumos_report(work->job, &options, &text, &work->error);
  work->sum += text.length;
  lumos_text_free(&text);
  return good;
}

static bool run_render_html(struct bench_work *work) { return run_render(work, LUMOS_REPORT_HTML); }
static bool run_render_png(struct bench_work *work) { return run_render(work, LUMOS_REPORT_PNG); }
static bool run_render_pdf(struct bench_work *work) { return run_render(work, LUMOS_REPORT_PDF); }

/* --- The tools --- */

/* Run a command line of the shell with the traces as its arguments and the tools' folder and the page as $BIN and
 * $PAGE. */
static bool run_tools(struct bench_work *work, enum bench_form form, const char *command) {
  struct lumos_text line = LUMOS_TEXT_BUFFER;
  lumos_text_format(&line, "BIN='%s' PAGE='%s/page.html'; set --", work->input->bin, work->input->work);
  for (size_t i = 0; i < work->input->count; i++) {
    lumos_text_format(&line, " '%s%s'", work->input->paths[i], endings[form]);
  }
  lumos_text_format(&line, "; %s", command);
  lumos_text_char(&line, '\0');
  int status = system(line.bytes); /* the paths are run.sh's own, without quotes in them */
  lumos_text_free(&line);
  work->handled = plain_bytes(work->input);
  return status == 0 || lumos_fail(&work->error, "the tools failed");
}

static bool run_pipe(struct bench_work *work) {
  return run_tools(work, BENCH_GZIP,
                   "\"$BIN\"/lumos-parse \"$@\" 2>/dev/null | "
                   "\"$BIN\"/lumos-sim 2>/dev/null | \"$BIN\"/lumos-render -o \"$PAGE\" 2>/dev/null");
}

static bool run_report(struct bench_work *work) {
  return run_tools(work, BENCH_GZIP, "\"$BIN\"/lumos-report \"$@\" -o \"$PAGE\" 2>/dev/null");
}

static bool run_lumos_parse(struct bench_work *work) {
  return run_tools(work, BENCH_PLAIN, "\"$BIN\"/lumos-parse \"$@\" >/dev/null 2>/dev/null");
}

static bool run_jq(struct bench_work *work) {
  return run_tools(work, BENCH_PLAIN, "jq -c '.traceEvents[]' \"$@\" >/dev/null");
}

static bool run_python(struct bench_work *work) {
  return run_tools(work, BENCH_PLAIN,
                   "for trace; do python3 -c 'import json, sys; json.load(sys.stdin)' <\"$trace\"; done");
}

/* In an order in which a floor stands before what is measured against it. */
const struct bench_stage bench_stages[] = {
    {"memchr", NULL, {NULL}, BENCH_READING, false, false, load_traces, run_memchr},
    {"tokenizer", NULL, {"memchr"}, BENCH_READING, false, false, load_traces, run_tokenizer},
    {"inflate_gzip", ".gz", {"memchr"}, BENCH_READING, false, false, NULL, run_inflate_gzip},
    {"inflate_zstd", ".zst", {"memchr"}, BENCH_READING, false, false, NULL, run_inflate_zstd},
    {"parse", NULL, {"tokenizer"}, BENCH_READING, false, false, NULL, run_parse},
    {"parse_gzip", ".gz", {"inflate_gzip", "parse"}, BENCH_READING, false, false, NULL, run_parse_gzip},
    {"parse_zstd", ".zst", {"inflate_zstd", "parse"}, BENCH_READING, false, false, NULL, run_parse_zstd},
    {"stream_copy", NULL, {NULL}, BENCH_BEHIND, false, false, load_stream, run_stream_copy},
    {"stream_tokenizer", NULL, {NULL}, BENCH_BEHIND, false, false, load_stream, run_tokenizer},
    {"stream_write", NULL, {"stream_copy"}, BENCH_BEHIND, true, false, read_parsed, run_stream_write},
    {"stream_read", NULL, {"stream_tokenizer"}, BENCH_BEHIND, true, false, NULL, run_stream_read},
    {"walk", NULL, {NULL}, BENCH_BEHIND, true, false, read_parsed, run_walk},
    {"graph", NULL, {"walk"}, BENCH_BEHIND, true, false, read_parsed, run_graph},
    {"engine", NULL, {"walk"}, BENCH_BEHIND, true, false, read_graph, run_engine},
    {"sim", NULL, {"walk"}, BENCH_BEHIND, true, false, read_graph, run_simulate},
    {"rebuild", NULL, {"walk"}, BENCH_BEHIND, true, false, read_graph, run_rebuild},
    {"render_html", NULL, {NULL}, BENCH_BEHIND, true, false, read_simulated, run_render_html},
    {"render_png", NULL, {NULL}, BENCH_BEHIND, true, false, read_simulated, run_render_png},
    {"render_pdf", NULL, {NULL}, BENCH_BEHIND, true, false, read_simulated, run_render_pdf},
    {"in_process", ".gz", {"parse_gzip", "graph", "sim", "render_html"}, BENCH_BEHIND, false, true, NULL, run_report},
    {"pipe", ".gz", {"in_process"}, BENCH_BEHIND, false, true, NULL, run_pipe},
    {"lumos_parse", NULL, {"parse"}, BENCH_PEERS, false, true, NULL, run_lumos_parse},
    {"jq", "jq", {"lumos_parse"}, BENCH_PEERS, false, true, NULL, run_jq},
    {"python_json", "python3", {"lumos_parse"}, BENCH_PEERS, false, true, NULL, run_python},
};
const size_t bench_stage_count = sizeof bench_stages / sizeof bench_stages[0];

static bool is_installed(const char *program) {
  char *command = joined("command -v ", program, " >/dev/null");
  int status = system(command); /* a name of the table */
  free(command);
  return status == 0;
}

bool bench_possible(const struct bench_stage *stage, const struct bench_input *input) {
  bool possible = (stage->group & input->groups) != 0;
  if (!possible || stage->needs == NULL) {
    return possible;
  }
  if (stage->needs[0] != '.') {
    return is_installed(stage->needs);
  }
  for (size_t i = 0; i < input->count; i++) {
    char *path = joined(input->paths[i], stage->needs, "");
    possible = possible && access(path, R_OK) == 0;
    free(path);
  }
  return possible;
}

static bool write_stream(const struct bench_work *work, const char *name) {
  char *path = joined(work->input->work, "/", name);
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  struct lumos_text text = LUMOS_TEXT_TO(file);
  lumos_stream_write(work->job, &text);
  bool good = file >= 0 && lumos_text_flush(&text);
  lumos_text_free(&text);
  (void)close(file);
  free(path);
  return good;
}

static bool write_streams(struct bench_work *work) {
  return write_stream(work, "parse") && run_graph(work) && write_stream(work, "graph") && run_simulate(work) &&
         write_stream(work, "sim");
}

bool bench_make_streams(const struct bench_input *input, struct bench_size *size, struct lumos_error *error) {
  struct bench_work work = {.input = input};
  bool good = parse(&work, BENCH_PLAIN) && ((input->groups & BENCH_BEHIND) == 0 || write_streams(&work));
  if (good) {
    *size = (struct bench_size){.bytes = plain_bytes(input), .tasks = (int64_t)work.job->tasks.count};
    for (uint32_t id = 1; id <= lumos_strings_count(work.job->strings); id++) {
      size->strings += (int64_t)lumos_string_length(work.job->strings, id);
    }
  } else {
    *error = work.error;
    if (error->text[0] == '\0') {
      (void)lumos_fail(error, "%s: a stream cannot be written there", input->work);
    }
  }
  lumos_job_free(work.job);
  return good;
}
