/* The glossary: the metrics, from the whole to the parts, then all other terms. */
#include "report/content/definitions.h"

#include <lumos/metric.h>
#include <string.h>

static const struct report_definition definitions[] = {
    {"measured", "measured", "What the recording says happened. Times are the profiler's, so its own cost is in them."},
    {"simulated", "simulated",
     "What the simulator makes of the execution graph: every task starts when all it depends on is done and its lane "
     "is free. After a change, it is the prediction, of the job as it runs with the profiler unless that was taken "
     "out."},
    {"step", "step",
     "One training iteration, as the profiler marks it. On a rank step k ends with its last GPU task and begins where "
     "step k-1 ended. The job's step ends with its last rank's."},
    {"phase", "phase",
     "What a task does for the model: forward, backward, weight gradients where they are computed apart, or the "
     "optimizer. Recovered from spans, from the sequence numbers of ops, or from what repeats."},
    {"micro_batch", "micro-batch",
     "The samples that go through the model at once; a step has one or several, which are numbered from 0."},
    {"pass", "pass",
     "What a rank computes of one phase of one micro-batch, on one chunk of its layers. It lasts from the first start "
     "to the last end of its kernels, communication within it included; where another pass or a wait interrupts it, in "
     "parts."},
    {"weight", "weight gradient",
     "The part of the backward pass that computes gradients of weights, where a schedule does it later than the rest."},
    {"stage", "stage",
     "The ranks of a pipeline that hold the same layers. They are numbered in the order of the forward pass."},
    {"chunk", "chunk", "Layers of a stage that follow one another; with an interleaved schedule a stage has several."},
    {"schedule", "schedule",
     "The order of a stage\xE2\x80\x99s passes. GPipe: all forward, then all backward. 1F1B: stage s of p runs p - 1 - "
     "s forward passes ahead, then one forward and one backward by turns. Interleaved: the same over several chunks. "
     "Zero bubble: 1F1B with weight gradients apart. It has a name here when all shown stages keep to it pass by "
     "pass."},
    {"exchange", "exposed communication of a stage",
     "Communication among ranks of one stage while no pass runs, such as gradient all-reduces."},
    {"no_pass", "unassigned work",
     "Work on a stream of passes that was not recognized as part of one, while none runs."},
    {"layer", "layer", "A block that repeats through the model, numbered from 0 over all stages."},
    {"binding", "binding constraint",
     "Of all that a task must wait for, what allowed it last: the call that launches it, the task before it on its "
     "lane, an event, the work that a call waits for, the last rank of a collective. Without it the task had started, "
     "or ended, earlier."},
    {"chain", "critical path of a step",
     "The binding constraints of a step, followed back in the simulated timeline from the step's end to its start, "
     "through ranks, threads and streams. What its tasks run and the lags between them add up to the step."},
    {"neighbour", "neighbor",
     "A constraint on a task of the critical path that is not critical: it would be, had it come later by its slack."},
    {"slack", "slack", "How much later a constraint may come before it binds."},
    {"lag", "lag",
     "Time between the end of what blocked a task and the start or end of what it held: on a thread CPU time without "
     "an event, on a "
     "stream the gap after the work before it, after a call the launch, after a wait its return."},
    {"evidence", "evidence",
     "How a constraint is known. Recorded: the trace names it, or it is the order on a thread or stream. Ordered: it "
     "follows from the order of calls. Inferred: concluded from times. Unexplained: most of the delay is more than any "
     "rule allows."},
    {"rank", "rank",
     "One process of the job, with one GPU. Its number comes from the trace, else from the file's name."},
    {"lane", "lane", "A CPU thread or a GPU stream: tasks on it run one after another."},
    {"task", "task",
     "A piece of work on a lane: a kernel, copy or memset on a stream; a call, or a stretch of an op in which nothing "
     "else runs, on a thread."},
    {"kind", "kind",
     "What a task does, by its category, its name and the op that launched it. Each kind has one color."},
    {"op", "op",
     "An operation of the framework on the CPU, such as aten::mm. Work counts for the innermost op around it."},
    {"self_time", "self time",
     "Time of the op's own segments and of the calls that it makes, without the ops inside it."},
    {"gpu_time", "GPU time", "Durations of kernels, copies and memsets, added up. What runs at once counts twice."},
    {"joined", "joined",
     "Communication kernels that were recognized as one collective on several ranks, by what the recording names."},
    {"label", "label of a collective",
     "What the time of its kernels, on all ranks together, goes to. Transfer: at most a third is waiting. Arrival "
     "skew: "
     "at least two thirds are waiting for ranks that arrive late. Mixed: between. Inconclusive: that is not known, or "
     "the "
     "clocks of the ranks leave more than a third uncertain."},
    {"recorded", "recorded",
     "From the first to the last instant of the rank's recording, steps that are not shown included."},
    {"before_recording", "launched before",
     "GPU tasks whose launch was before the recording began, so that no call is known."},
    {"crossing", "crossing",
     "Host events that cross another one's edge where they should nest; they were cut to nest."},
    {"repaired", "repaired", "Events whose fields were wrong in a way that could be put right."},
    {"skipped", "skipped", "Events that could not be used at all."},
    {"collective", "collectives", "Communication kernels: those of collective operations, and of sends and receives."},
    {"runtime_clock", "clock of calls",
     "What was added to the times of CUDA or HIP calls so that they lie within the ops that make them; uncertainty: by "
     "how "
     "much less or more they would still do so."},
    {"gpu_clock", "GPU clock",
     "What was added to the GPU's times so that no kernel starts before its launch and no wait returns before its work "
     "is done."},
    {"rank_clock", "clock offset",
     "What was added to all of the rank's times so that collectives end together on their ranks; the error is the 95th "
     "percentile of what remains."},
};
enum { DEFINITIONS = sizeof definitions / sizeof definitions[0] };

static struct report_definition of_metric(const struct lumos_metric_definition *metric) {
  return (struct report_definition){metric->name, metric->term, metric->text};
}

bool report_definition(const char *key, struct report_definition *found) {
  const struct lumos_metric_definition *metric = lumos_metric_definition(key);
  for (size_t i = 0; metric == NULL && i < DEFINITIONS; i++) {
    if (strcmp(definitions[i].key, key) == 0) {
      *found = definitions[i];
      return true;
    }
  }
  if (metric != NULL) {
    *found = of_metric(metric);
  }
  return metric != NULL;
}

bool report_table_leads_to(const struct report_table *table, const char *key) {
  for (size_t i = 0; i < table->column_count && report_table_rows(table) > 0; i++) {
    if (table->columns[i].term != NULL && strcmp(table->columns[i].term, key) == 0) {
      return true;
    }
  }
  return false;
}

/* A metric's unit and what a share of it is a share of stand behind its text, as the page shows its values only. */
static void add_measure(struct lumos_text *out, const struct lumos_metric_definition *metric) {
  const struct lumos_metric_definition *of = metric->of == NULL ? NULL : lumos_metric_definition(metric->of);
  lumos_text_format(out, " Unit: %s", metric->unit);
  if (metric->of != NULL) {
    lumos_text_put(out, strcmp(metric->unit, "share") == 0 ? " of " : ", of ");
    lumos_text_put(out, of != NULL ? of->term : "GPU tasks"); /* else a count of rank.coverage: device_tasks */
  }
  lumos_text_put(out, ".");
}

static struct report_scope *fill(struct report_scope *scope, const struct report_definition *definition) {
  struct report_scope *item = report_section_item(scope, "definitions");
  report_set_text(item, "key", definition->key);
  report_set_text(item, "name", definition->name);
  return item;
}

static void fill_metric(struct report_scope *scope, const struct lumos_metric_definition *metric) {
  struct report_definition definition = of_metric(metric);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, definition.text);
  add_measure(&text, metric);
  report_set_take(fill(scope, &definition), "text", &text);
}

void report_fill_definitions(struct report_scope *scope, report_wants_term *wanted, const void *context) {
  size_t metrics = 0;
  const struct lumos_metric_definition *all = lumos_metric_definitions(&metrics);
  report_section(scope, "definitions");
  for (size_t i = 0; i < metrics; i++) {
    if (wanted == NULL || wanted(context, all[i].name)) {
      fill_metric(scope, &all[i]);
    }
  }
  for (size_t i = 0; i < DEFINITIONS; i++) {
    if (wanted == NULL || wanted(context, definitions[i].key)) {
      report_set_text(fill(scope, &definitions[i]), "text", definitions[i].text);
    }
  }
}
