/* The glossary: the metrics, from the whole to the parts, then all other terms. */
#include "report/content/definitions.h"

#include <lumos/metric.h>
#include <string.h>

static const struct report_definition definitions[] = {
    {"measured", "measured", "As the trace recorded it. The times contain the profiler overhead."},
    {"simulated", "simulated",
     "The simulated execution graph: every task starts when its dependencies are done and its lane is free. After a "
     "change this is the prediction, with the profiler overhead unless that was removed."},
    {"range", "range",
     "What a recording of the changed job, with as many steps, would show with a chance of 90 %. It covers durations "
     "from models, delays copied from the trace, kernels that run beside others than before, and step-to-step "
     "variation."},
    {"step", "step",
     "One training iteration, as the profiler marks it. On a rank step k ends with its last kernel or copy and "
     "begins where step k-1 ended. The job's step ends with its last rank's."},
    {"phase", "phase",
     "Forward, backward, deferred weight gradients, or the optimizer. Recovered from spans, from autograd's sequence "
     "numbers, or from repetition."},
    {"micro_batch", "micro-batch",
     "The samples that go through the model at once. A step has one or several, numbered from 0."},
    {"pass", "pass",
     "A forward or backward pass: a rank's work on one phase of one micro-batch and one chunk of its layers. It "
     "lasts from the first start to the last end of its kernels, communication included. It is split where another "
     "pass or a wait interrupts it."},
    {"weight", "weight gradient",
     "The part of the backward pass that computes weight gradients, where a schedule defers it."},
    {"stage", "stage",
     "The ranks of a pipeline that hold the same layers. They are numbered in the order of the forward pass."},
    {"chunk", "chunk",
     "Layers of a stage that follow one another. With an interleaved schedule a stage has several chunks."},
    {"schedule", "schedule",
     "The order of a stage\xE2\x80\x99s passes. GPipe: all forward, then all backward. 1F1B: stage s of p runs p - 1 - "
     "s forward passes ahead, then one forward and one backward by turns. Interleaved: the same over several chunks. "
     "Zero bubble: 1F1B with weight gradients apart. It has a name here when all shown stages keep to it pass by "
     "pass."},
    {"exchange", "exposed communication of a stage",
     "Communication among ranks of one stage while no pass runs, such as gradient all-reduces."},
    {"no_pass", "unassigned work", "Work that belongs to no known pass, on a stream of passes, while none runs."},
    {"layer", "layer", "A block that repeats through the model, numbered from 0 over all stages."},
    {"binding", "critical constraint",
     "The last constraint that a task waits for. That may be its launch, the previous task on its lane, or an event. "
     "It may also be the work that a call waits for, or the last rank of a collective. Without it the task would "
     "start, or end, earlier."},
    {"neighbour", "neighbor",
     "A constraint on a task of the critical path that is not critical. A delay as long as its slack would make it "
     "critical."},
    {"slack", "slack", "How much later a constraint can be met before it becomes critical."},
    {"lag", "lag",
     "Time between a critical constraint and the start or end of the task that it held. On a thread it is a CPU gap "
     "or the return of a wait. On a stream it is the launch after a call, or the gap after the previous task."},
    {"evidence", "evidence",
     "How a constraint is known. Recorded: the trace names it, or it is the order on a thread or stream. Ordered: "
     "implied by program order. Inferred: from times. Unexplained: most of the delay has no known cause."},
    {"rank", "rank",
     "One process of the job, with one GPU. Its number comes from the trace, else from the file's name."},
    {"lane", "lane", "A CPU thread or a GPU stream. Its tasks run one after another."},
    {"task", "task",
     "A piece of work on a lane. On a stream it is a kernel, copy or memset. On a thread it is a call, or a stretch "
     "of an op in which nothing else runs."},
    {"kind", "kind",
     "The kind of work, from the task's category, its name and the op that launched it. Each kind has one color."},
    {"op", "op",
     "An operation of the framework on the CPU, such as aten::mm. Work counts for the innermost op around it."},
    {"self_time", "self time",
     "Time of the op's own segments and of the calls that it makes, without the ops inside it."},
    {"gpu_time", "GPU time",
     "The sum of the durations of kernels, copies and memsets. Tasks that run at once count twice."},
    {"joined", "joined", "Communication kernels identified as one collective on several ranks, from the recording."},
    {"best_gain", "best predicted gain",
     "The most that one simulated change saves of the step. Where none removes what the headline names, half of that "
     "kind of work counts, or all that it costs as a bound. Where the headline names no loss, half of any kind of work "
     "counts. So it does where GEMMs could run in a format more than twice as fast."},
    {"label", "label of a collective",
     "Where the time of its kernels goes, on all ranks together. Transfer: at most a third is waiting. Arrival skew: "
     "at least two thirds are waiting for late ranks. Mixed: between. Inconclusive: unknown, or the clock error "
     "exceeds a third."},
    {"recorded", "recorded",
     "From the first to the last instant of the rank's recording, steps that are not shown included."},
    {"before_recording", "launched before",
     "Kernels and copies whose launch was before the recording began, so that no call is known."},
    {"crossing", "crossing", "CPU events that overlapped instead of nesting. Lumos cut them to nest."},
    {"repaired", "repaired", "Events with wrong fields that Lumos could correct."},
    {"skipped", "skipped", "Unusable events."},
    {"collective", "collectives", "Communication kernels: those of collective operations, and of sends and receives."},
    {"runtime_clock", "clock of calls",
     "Lumos adds this to the times of CUDA or HIP calls so that they lie within the ops that make them. The error is "
     "how far the offset could change while they still do."},
    {"gpu_clock", "GPU clock",
     "Lumos adds this to the GPU's times so that no kernel starts before its launch and no wait returns before its "
     "work is done."},
    {"rank_clock", "clock offset",
     "Lumos adds this to all of the rank's times so that collectives end together on their ranks. The error is the "
     "95th percentile of the remaining differences."},
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
    lumos_text_put(out, of != NULL ? of->term : "kernels and copies"); /* else a count of rank.coverage: device_tasks */
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
