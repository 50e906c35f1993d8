/* lumos-sim: execution graph in, simulated timeline and metrics out. */
#include "tools/simulating.h"

#include "base/text.h"
#include <lumos/export.h>
#include <lumos/report.h>
#include <lumos/sweep.h>
#include <lumos/transform.h>
#include <stdlib.h>
#include <string.h>

struct simulating {
  const char *model;         /* NULL: ours */
  const char *trace;         /* where the timelines go; NULL: nowhere */
  const char *critical_path; /* where critical paths go */
  const char *sweep;         /* configurations to predict instead; NULL: none */
  int64_t gpus;              /* of each of them; 0: as many as it takes */
  const char *part;          /* which of them, "3/16"; NULL: all */
  bool all;                  /* those, too, that cannot be the best */
  bool join;                 /* the operands are parts of a sweep */
  struct tool_stream *stream;
  struct tool_simulating simulating;
};

static bool is_standard_output(const char *path) { return path == NULL || strcmp(path, "-") == 0; }

/* What goes to standard output goes there alone; of files tools/places.h says so. */
static bool check_outputs(const struct simulating *simulating, const struct tool_stream *stream,
                          struct lumos_error *error) {
  bool stream_there = is_standard_output(stream->output);
  bool trace_there = simulating->trace != NULL && is_standard_output(simulating->trace);
  bool path_there = simulating->critical_path != NULL && is_standard_output(simulating->critical_path);
  if (trace_there && stream_there) {
    return lumos_fail(error, "--trace -: the stream goes to standard output, too; send one of them to a file");
  }
  if (path_there && stream_there) {
    return lumos_fail(error, "--critical-path -: the stream goes to standard output, too; send one of them to a file");
  }
  if (path_there && trace_there) {
    return lumos_fail(error, "--critical-path -: the timelines go to standard output, too; send one of them to a file");
  }
  return true;
}

static bool is_page(const char *path) { return path != NULL && lumos_report_format_of_path(path) == LUMOS_REPORT_HTML; }

static bool read_part(const char *text, struct lumos_sweep *sweep, struct lumos_error *error) {
  enum { MOST = 100000 };
  char *end = NULL;
  long part = text == NULL ? 1 : strtol(text, &end, 10),
       parts = text == NULL || *end != '/' ? 0 : strtol(end + 1, &end, 10);
  sweep->part = (int32_t)part;
  sweep->parts = (int32_t)parts;
  return text == NULL || (*end == '\0' && part >= 1 && part <= parts && parts <= MOST) ||
         lumos_fail(error, "option --part: '%.40s' does not read PART/PARTS, such as 3/16", text);
}

static bool check(const struct tool_stream *stream, struct lumos_error *error) {
  const struct simulating *simulating = stream->context;
  enum lumos_model model = LUMOS_MODEL_LUMOS;
  if (simulating->model != NULL && !lumos_model_find(simulating->model, &model)) {
    return lumos_fail(error, "option --model: '%s' is not a model; use lumos, dpro or daydream", simulating->model);
  }
  const char *of_sweep = simulating->gpus != 0      ? "gpus"
                         : simulating->part != NULL ? "part"
                         : simulating->all          ? "all"
                                                    : NULL;
  if (simulating->sweep == NULL && of_sweep != NULL) {
    return lumos_fail(error, "option --%s: it belongs to --sweep, such as --sweep auto", of_sweep);
  }
  struct lumos_sweep sweep = {0};
  if (!read_part(simulating->part, &sweep, error)) {
    return false;
  }
  if (simulating->gpus > INT32_MAX) {
    return lumos_fail(error, "option --gpus: %lld is more than there can be", (long long)simulating->gpus);
  }
  if (simulating->sweep != NULL &&
      (simulating->model != NULL || simulating->trace != NULL || simulating->critical_path != NULL)) {
    return lumos_fail(
        error, "option --sweep: it writes a line for each configuration, without --model, --trace or --critical-path");
  }
  if (simulating->sweep != NULL && simulating->simulating.hta) {
    return lumos_fail(error, "option --hta: a sweep has no such figures");
  }
  return check_outputs(simulating, stream, error) && tool_simulating_check(&simulating->simulating, error) &&
         lumos_output_try(simulating->trace, error) && lumos_output_try(simulating->critical_path, error);
}

static bool simulate(struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  const struct simulating *simulating = stream->context;
  enum lumos_model model = LUMOS_MODEL_LUMOS;
  if (simulating->sweep != NULL) {
    return lumos_sweep_begin(job, error); /* each configuration is simulated by itself */
  }
  return (simulating->model == NULL || lumos_model_find(simulating->model, &model)) &&
         tool_simulate(job, model, &simulating->simulating, error) &&
         (simulating->trace == NULL || lumos_timelines_write(job, simulating->trace, error)) &&
         (simulating->critical_path == NULL || lumos_critical_path_write(job, simulating->critical_path, error));
}

/* Parts of a sweep in the place of a job. */
static bool join(const struct lumos_operands *operands, const struct simulating *simulating,
                 struct lumos_error *error) {
  const struct lumos_sweep sweep = {.page = is_page(simulating->stream->output)};
  struct lumos_output output;
  if (!tool_input_given(operands, "name the files of all parts, or pipe a sweep in", error) ||
      !lumos_output_open(&output, simulating->stream->output, error)) {
    return false;
  }
  if (!lumos_sweep_join(operands->items, operands->count, &sweep, &output.text, error)) {
    lumos_output_discard(&output);
    return false;
  }
  return lumos_output_commit(&output, error);
}

static bool body(const struct lumos_operands *operands, void *options, struct lumos_error *error) {
  const struct simulating *simulating = options;
  if (!simulating->join) {
    return tool_stream_body(operands, simulating->stream, error);
  }
  bool alone = simulating->sweep == NULL && simulating->gpus == 0 && simulating->part == NULL && !simulating->all &&
               simulating->model == NULL && simulating->trace == NULL && simulating->critical_path == NULL;
  return alone ? join(operands, simulating, error)
               : lumos_fail(error, "option --join-sweep: it goes with -o alone; the parts say what they are of");
}

static bool write(const struct lumos_job *job, const struct tool_stream *stream, struct lumos_error *error) {
  const struct simulating *simulating = stream->context;
  if (simulating->sweep == NULL) {
    return tool_write(job, stream->output, error);
  }
  struct lumos_sweep sweep = {.grid = simulating->sweep,
                              .gpus = (int32_t)simulating->gpus,
                              .processes = (size_t)stream->input.threads,
                              .all = simulating->all,
                              .page = is_page(stream->output),
                              .hardware = simulating->simulating.hardware};
  struct lumos_output output;
  if (!read_part(simulating->part, &sweep, error)) {
    return false;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER; /* so that nothing is left of a sweep that is ended */
  bool done = lumos_sweep(job, &sweep, &text, error) && lumos_output_open(&output, stream->output, error);
  if (done) {
    lumos_text_add(&output.text, text.bytes, text.length);
    done = lumos_output_commit(&output, error);
  }
  lumos_text_free(&text);
  return done;
}

static const char *const examples[] = {
    "From traces to a page",
    "lumos-parse rank*.json.gz | lumos-sim | lumos-render -o report.html",
    "The metrics as a table",
    "lumos-sim job.graph | jq -r 'select(.type==\"metric\") | [.name, .source, .value, .unit] | @tsv'",
    "How large is the replay error without waits between streams and calls that wait?",
    "lumos-sim --model dpro job.graph | jq 'select(.name==\"replay_error\" and .scope=={}).value'",
    "Which kind of work would help most at half its time?",
    "lumos-sim job.graph | jq -c 'select(.name==\"opportunity_half\") | [.value, .scope]' | sort -V",
    "The longest part of each step's critical path",
    "lumos-sim job.graph -o job.sim --critical-path - | jq -c '.steps[].parts | max_by(.until - .from)'",
    "HTA's kernel table: each kernel's sum in microseconds",
    "lumos-sim --hta job.graph | jq -c 'select(.name==\"hta_kernel_sum\") | [.scope.name, .value]'",
    "The best of several pipelines on 8 GPUs, without another recording",
    "lumos-sim --sweep 'pp=1,2 global-batch=16' --gpus 8 job.graph | jq -c 'select(.type==\"configuration\")'",
    "All pipelines of up to 4 stages, also those that cannot be the best, as a page",
    "lumos-sim --sweep 'pp=1,2,4' --all job.graph | lumos-sim --join-sweep -o sweep.html",
    "Both timelines side by side, to look at in Perfetto",
    "lumos-sim job.graph --trace timelines.json.gz -o job.sim",
    NULL,
};

int main(int argc, char **argv) {
  struct simulating simulating = {0};
  struct tool_stream stream = {
      .name = "lumos-sim", .check = check, .change = simulate, .write = write, .context = &simulating};
  const struct lumos_option options[] = {
      {LUMOS_OPTION_TEXT, 0, "model", "lumos|dpro|daydream", &simulating.model,
       "Which dependencies the simulation follows: lumos, the default, all of them. dpro leaves out waits between "
       "streams "
       "and calls that wait for the GPU. daydream leaves out waits between streams and between ranks. The difference "
       "shows what these dependencies are worth."},
      TOOL_SIMULATING_OPTIONS(&simulating.simulating),
      TOOL_OUTPUT_OPTION(&stream.output),
      {LUMOS_OPTION_TEXT, 0, "trace", "FILE", &simulating.trace,
       "Write the measured and the simulated timeline of all ranks, side by side, to FILE, for Perfetto "
       "(ui.perfetto.dev) or chrome://tracing, with counters of each GPU. It is compressed where the name ends in .gz. "
       "lumos-parse reads the measured tasks from it. Several jobs side by side: lumos-compare A B --trace FILE."},
      {LUMOS_OPTION_TEXT, 0, "critical-path", "FILE", &simulating.critical_path,
       "Write the critical path of every step, part by part, and each task's slack to FILE, as JSON. Slack is how much "
       "later a task could run without delaying a step. The file is compressed where the name ends in .gz."},
      {LUMOS_OPTION_TEXT, 0, "sweep", "GRID", &simulating.sweep,
       "Predict many configurations instead, and write a line of JSON for each, the best first. GRID is auto, or axes "
       "such as 'dp=8,16 pp=2,4 "
       "schedule=1f1b,zb-h1', of which all combinations are predicted: tp, cp, ep, pp, dp, vp, schedule, layers, "
       "micro-batches, micro-batch, "
       "global-batch, bucket-mb, overlap-gradients, distributed-optimizer, recompute, sequence-parallel, hidden, ffn, "
       "heads, kv-heads, head-dim, "
       "seq, vocab. The global batch "
       "stays as recorded unless micro-batches or global-batch is an axis."},
      {LUMOS_OPTION_NUMBER, 0, "gpus", "N", &simulating.gpus,
       "With --sweep: every configuration runs on N GPUs, with as many replicas as they hold."},
      {LUMOS_OPTION_TEXT, 0, "part", "PART/PARTS", &simulating.part,
       "With --sweep: predict every PARTS-th configuration from the PART-th on, as 3/16; other machines predict the "
       "others."},
      {LUMOS_OPTION_FLAG, 0, "all", NULL, &simulating.all,
       "With --sweep: predict also what cannot be the best, because a GPU or a thread of it is busy for longer than "
       "another "
       "configuration takes."},
      {LUMOS_OPTION_FLAG, 0, "join-sweep", NULL, &simulating.join,
       "Join the lines that the parts of a sweep wrote, which the operands name or standard input has, into those of "
       "the "
       "whole. With -o FILE.html they, or a sweep, become a page."},
      TOOL_INPUT_OPTIONS(&stream.input),
      TOOL_LAST_OPTION,
  };
  const struct lumos_command command = {
      .name = stream.name,
      .summary = "Simulate the execution graph and measure where every step goes.",
      .usage = "[OPTION]... [STREAM|TRACE|FOLDER]...",
      .description = "Reads a stream of lumos-parse, lumos-graph or lumos-transform, or the traces themselves, runs "
                     "the stages that are missing, and adds simulated times and metrics. Several inputs are the ranks "
                     "of one job; without any it reads standard input.",
      .examples = examples,
      .options = options,
  };
  simulating.stream = &stream;
  return tool_main(&command, argc, argv, body, &simulating);
}
