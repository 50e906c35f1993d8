/* What the tools that write a report share: the options that say which form it takes and where it goes, the check of
 * them before any work is done, and the writing. To add an option: a row here, and a field of struct
 * lumos_report_options or of struct tool_rendering.
 */
#ifndef LUMOS_TOOLS_RENDERING_H
#define LUMOS_TOOLS_RENDERING_H

#include "tools/picturing.h"
#include "tools/simulating.h"
#include <lumos/report.h>

struct tool_rendering {
  const char *output, *format, *view, *step, *graph_nodes, *detail, *summary; /* as given */
  bool verdict;
  bool names_file; /* set by the tool: on a terminal a report without -o goes to report.FORMAT */
  char named[16];  /* that name, which `output` then points to */
  struct tool_picturing picturing;
  struct tool_simulating simulating;  /* of what is not simulated yet */
  struct lumos_report_options report; /* complete once tool_rendering_check has seen it */
};

/* The rows, for a `struct tool_rendering *`: where the report goes and in which form, what pictures show, how much is
 * shown. */
#define TOOL_RENDERING_OPTIONS(rendering)                                                                            \
  TOOL_GROUP("Output"),                                                                                              \
      TOOL_TEXT_ROW('o', "output", "FILE", &(rendering)->output,                                                     \
                    "Write the report to FILE instead of standard output. FILE appears whole or not at all. Its "    \
                    "ending chooses the format."),                                                                   \
      TOOL_TEXT_ROW('f', "format", "html|svg|png|pdf|md|json|csv", &(rendering)->format,                             \
                    "The format where no ending chooses it: html (the default: one page that needs nothing else), "  \
                    "svg, png or pdf (pictures alone), md (a comment for GitHub), json (its "                        \
                    "numbers) or csv (the metrics, one a row; with --view the table of that picture)."),             \
      TOOL_FLAG_ROW("verdict", &(rendering)->verdict,                                                                \
                    "Print the verdict to standard output, one line; the report itself is written only with -o."),   \
      TOOL_TEXT_ROW(0, "summary", "FILE", &(rendering)->summary,                                                     \
                    "Write the summary to FILE, a small JSON document for a history (lumos-render --index); the "    \
                    "report itself is written only with -o."),                                                       \
      TOOL_FLAG_ROW("full", &(rendering)->report.full,                                                               \
                    "Write every table and note in Markdown. By default it is a comment of at most 40 lines."),      \
      TOOL_TEXT_ROW(0, "title", "TEXT", &(rendering)->report.title,                                                  \
                    "A title above the verdict; without one the verdict is the title."),                             \
      TOOL_TEXT_ROW('t', "template", "DIR", &(rendering)->report.template_folder,                                    \
                    "Use the templates in DIR instead of those compiled in."),                                       \
      TOOL_GROUP("Pictures"),                                                                                        \
      TOOL_TEXT_ROW(                                                                                                 \
          0, "view", "breakdown|change|opportunities|gantt|busy|memory|pipeline|layers|graph", &(rendering)->view,   \
          "The picture to show alone: breakdown (where the step went, the default), change (of a changed "           \
          "job: from the measured step to the predicted one), opportunities (what would help most), gantt "          \
          "(the timeline), busy (how busy GPUs are over time, in bins of 1 ms), memory (what a GPU has allocated), " \
          "pipeline (forward and backward passes by stage and micro-batch), layers (GPU time by layer) "             \
          "or graph (the critical path). A PDF without --view has all of them, one a page."),                        \
      TOOL_TEXT_ROW(0, "step", "N", &(rendering)->step,                                                              \
                    "The step whose dependencies and passes are shown; the default is the one nearest to the mean "  \
                    "step time."),                                                                                   \
      TOOL_TEXT_ROW(0, "graph-nodes", "N", &(rendering)->graph_nodes,                                                \
                    "Most boxes in the graph of dependencies, up to 500; the default is 80, with --size 24."),       \
      TOOL_PICTURING_OPTIONS(&(rendering)->picturing, &(rendering)->report), TOOL_GROUP("Details"),                  \
      TOOL_TEXT_ROW(0, "detail", "FROM-TO", &(rendering)->detail,                                                    \
                    "Add every task between FROM and TO to the page (up to 20,000), beside the longest ones: times " \
                    "on the timeline's axis, such as 10ms-25ms."),                                                   \
      TOOL_FLAG_ROW("marks", &(rendering)->report.marks,                                                             \
                    "Mark uncertain waits on the timeline: unexplained delays, waits for free SMs and for work "     \
                    "outside the recording. The page has a switch for it."),                                         \
      TOOL_FLAG_ROW("details", &(rendering)->report.details,                                                         \
                    "Show the names of hosts, users, folders and traces as recorded. By default they are left out, " \
                    "so that the report can be shared.")

/* Can the report be written as it is asked for, where it is asked to go? To be called before any work is done. */
bool tool_rendering_check(struct tool_rendering *rendering, struct lumos_error *error) LUMOS_MUST_CHECK;

/* Simulate what is not simulated, tell a person of the warnings that the stages after `before` have left, and write. */
bool tool_rendering_write(struct lumos_job *job, const char *name, enum lumos_stage before,
                          const struct tool_rendering *rendering, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
