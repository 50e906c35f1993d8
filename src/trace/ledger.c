/* Reasons are added up apart from what is kept, so that a row that is lost between them shows: in any build, for the
 * page must not claim what the trace does not say.
 */
#include "trace/ledger.h"

#include "base/text.h"
#include <assert.h>
#include <inttypes.h>

struct ledger {
  struct lumos_text reasons;
  int64_t left;
};

static void add_reason(struct ledger *ledger, int64_t count, const char *reason) {
  if (count > 0) {
    lumos_text_format(&ledger->reasons, "%s%" PRId64 " %s", ledger->left > 0 ? ", " : "", count, reason);
    ledger->left += count;
  }
}

/* What Chrome's format has beside complete events. */
static const struct {
  const char *phases, *one, *many;
} others[] = {
    {"stf", "end of a flow", "ends of flows"},
    {"BE", "begin or end of an event that is in two pieces", "begins and ends of events that are in two pieces"},
    {"bneSTpF", "piece of an asynchronous event", "pieces of asynchronous events"},
    {"iIR", "instant", "instants"},
    {"C", "counter", "counters"},
    {"M", "name or place of a process or thread", "names and places of processes and threads"},
    {"PNODvVca()", "other mark", "other marks"},
};

static int64_t add_others(struct ledger *ledger, const struct trace *trace) {
  int64_t all = 0;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    int64_t count = 0;
    for (const char *phase = others[i].phases; *phase != '\0'; phase++) {
      count += trace->others[(unsigned char)*phase];
    }
    add_reason(ledger, count, count == 1 ? others[i].one : others[i].many);
    all += count;
  }
  return all;
}

static void add_categories(struct ledger *ledger, const struct trace *trace) {
  for (size_t i = 0; i < trace->categories.count; i++) {
    const struct trace_category *category = &trace->categories.items[i];
    const char *name = lumos_string(trace->strings, category->name);
    add_reason(ledger, category->left, category->name != LUMOS_NO_STRING ? name : "of further categories");
  }
  add_reason(ledger, trace->python_left, "python_function (--stacks keeps them)");
  add_reason(ledger, (int64_t)trace->sessions.count, "Trace");
}

static void add_rows(struct ledger *ledger, const struct trace_build *build) {
  int64_t sync = (int64_t)build->trace->sync.count;
  const struct {
    int64_t count;
    const char *one, *many;
  } rows[] = {
      {build->used_sync, "cuda_sync that says what a call waits for", "cuda_sync that say what calls wait for"},
      {sync - build->used_sync, "cuda_sync whose call is not kept", "cuda_sync whose call is not kept"},
      {build->outside_host, "CPU row that begins outside of every step", "CPU rows that begin outside of every step"},
      {build->left_host - build->outside_host, "CPU row of a step that is left out",
       "CPU rows of steps that are left out"},
      {build->outside_steps, "GPU row launched outside of every step", "GPU rows launched outside of every step"},
      {build->left_device - build->outside_steps, "GPU row of a step that is left out",
       "GPU rows of steps that are left out"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    add_reason(ledger, rows[i].count, rows[i].count == 1 ? rows[i].one : rows[i].many);
  }
}

/* Events that are neither kept nor left out for a reason (negative: that are both), which is an error of this
 * program. */
static void note_unaccounted(struct lumos_job *job, int64_t count, const struct lumos_scope *scope) {
  if (count != 0) {
    lumos_job_note(job, "parse.unaccounted", LUMOS_WARNING, count < 0 ? -count : count, scope,
                   "events are neither kept nor left out for a known reason, or are both; this is an error in Lumos",
                   "report the error, with the trace if you can");
  }
  assert(count == 0);
}

void lumos_trace_note_ledger(const struct trace_build *build, const struct trace_clock *clock) {
  const struct trace *trace = build->trace;
  struct lumos_job *job = build->job;
  struct ledger ledger = {LUMOS_TEXT_BUFFER, 0};
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_scope scope = lumos_everywhere;
  int64_t memory = (int64_t)job->memory.count;
  int64_t all = trace->events - clock->absurd + memory + add_others(&ledger, trace);
  int64_t devices = (int64_t)(job->tasks.count - build->first_device_task);
  int64_t kept = (int64_t)job->spans.count + build->kept_calls + devices + memory;
  add_categories(&ledger, trace);
  add_rows(&ledger, build);
  scope.rank = job->ranks.items[0].rank;
  if (ledger.left > 0) {
    lumos_text_format(&text, "%" PRId64 " of %" PRId64 " events became tasks%s and spans. The others: ", kept, all,
                      memory > 0 ? ", memory records" : "");
    lumos_text_add(&text, ledger.reasons.bytes, ledger.reasons.length);
    lumos_text_add(&text, "", 1);
    lumos_job_note(job, "parse.left_out", LUMOS_INFO, ledger.left, &scope, text.bytes, NULL);
  }
  note_unaccounted(job, all - kept - ledger.left, &scope);
  lumos_text_free(&ledger.reasons);
  lumos_text_free(&text);
}
