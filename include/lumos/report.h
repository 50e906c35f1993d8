/* The report: what a job at stage `sim` says, as one self-contained page, as pictures, or as text and data. */
#ifndef LUMOS_REPORT_H
#define LUMOS_REPORT_H

#include <lumos/error.h>
#include <lumos/job.h>

struct lumos_text;

enum lumos_report_format {
  LUMOS_REPORT_UNKNOWN,  /* as an option: HTML */
  LUMOS_REPORT_HTML,     /* everything */
  LUMOS_REPORT_SVG,      /* one picture; text stays text */
  LUMOS_REPORT_PNG,      /* one picture, two device pixels to a CSS pixel */
  LUMOS_REPORT_PDF,      /* one picture, or all of them, each on a page of its own */
  LUMOS_REPORT_MARKDOWN, /* a comment of at most 40 lines and 4 kB; `full`: every table and note */
  LUMOS_REPORT_JSON,     /* the numbers of the page, every metric, and what metrics mean */
  LUMOS_REPORT_CSV,      /* the metrics, one a row; of a view: its table */
};

/* The pictures, each with its table. */
enum lumos_report_view {
  LUMOS_VIEW_DEFAULT, /* of one picture: the breakdown (the Gantt chart where there are no streams); of a PDF: all */
  LUMOS_VIEW_BREAKDOWN,
  LUMOS_VIEW_GANTT,
  LUMOS_VIEW_GRAPH,         /* the dependency graph */
  LUMOS_VIEW_PIPELINE,      /* passes by stage and micro-batch */
  LUMOS_VIEW_LAYERS,        /* GPU time by layer */
  LUMOS_VIEW_OPPORTUNITIES, /* what would help most */
  LUMOS_VIEW_BUSY,          /* how busy GPUs are over time */
  LUMOS_VIEW_MEMORY,        /* how much memory a GPU has allocated over time */
  LUMOS_VIEW_CHANGE,        /* of a changed job: from the measured step to the predicted one */
};

/* All zero is the default. */
struct lumos_report_options {
  enum lumos_report_format format;
  enum lumos_report_view view;
  const char *title;           /* NULL: the verdict is the title */
  const char *template_folder; /* NULL: the templates compiled in */
  const char *picture;         /* of brief Markdown: the address of a picture of `view` that it shows; NULL: none */
  const int32_t *ranks;        /* numbers of the ranks whose rows and lanes a picture alone shows; the caller's */
  size_t rank_count;           /* 0: all */
  /* Spans of time, ns on the axis of the timeline: from the start of the first step. */
  int64_t detail_from, detail_until; /* with has_detail: every task that runs then is on the page, beside the longest */
  int64_t span_from, span_until;     /* with has_span: what a picture of the timeline alone shows */
  /* with has_step: the step whose dependencies and passes are shown; else the one nearest to the mean step time */
  int32_t step;
  int32_t graph_nodes;   /* at most so many nodes in the dependency graph, up to 500; 0: 80, of a given size 24 */
  int32_t width, height; /* of a picture alone: pixels of a PNG, CSS pixels of SVG and PDF; 0: as large as the picture
                            is, but no taller than wide */
  bool is_ratio;         /* these two are a ratio: as wide as the picture is */
  bool no_verdict;       /* a picture alone without the diagnosis under its title */
  bool full;             /* Markdown with all tables and notes */
  bool summary; /* JSON for a history: without tables, notes, definitions, and all that is of a rank or a part */
  bool details; /* show host names, trace files and paths as recorded; false: fit to be handed on */
  bool has_step, has_detail, has_span;
  bool marks; /* uncertain waits are marked on the timeline; on the page, which has a switch for them, from the start */
};

/* "html", "svg", "png", "pdf", "md", "json", "csv", which is also a file's ending; NULL for an unknown format. */
const char *lumos_report_format_name(enum lumos_report_format format);
/* The format of that name, or that a path's ending asks for; LUMOS_REPORT_UNKNOWN. */
enum lumos_report_format lumos_report_format_named(const char *name);
enum lumos_report_format lumos_report_format_of_path(const char *path);
/* Lines for people and scripts, without control bytes: it may be written to a terminal. */
bool lumos_report_format_is_text(enum lumos_report_format format);

/* It holds one picture, or a picture's numbers, so that a view can be chosen. */
bool lumos_report_format_has_views(enum lumos_report_format format);
/* "breakdown", "gantt", "busy", "graph", "pipeline", "layers", "opportunities", "memory", "change"; NULL for an unknown
 * view. */
const char *lumos_report_view_name(enum lumos_report_view view);
/* The view of that name, or LUMOS_VIEW_DEFAULT. */
enum lumos_report_view lumos_report_view_named(const char *name);

/* Write the report. Runs the missing stages first. No network, everything escaped, same job and options same bytes (PDF
 * without dates). Fails when a view has nothing to show (a breakdown without streams), when the step is not there, on a
 * bad template. Runs the simulation once more where dependencies are shown. */
bool lumos_report(struct lumos_job *job, const struct lumos_report_options *options, struct lumos_text *out,
                  struct lumos_error *error) LUMOS_MUST_CHECK;

/* The JSON schema (draft 2020-12) of LUMOS_REPORT_JSON. */
bool lumos_report_schema(struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;
/* That of the thresholds that lumos_gate_open reads. */
bool lumos_thresholds_schema(struct lumos_text *out, struct lumos_error *error) LUMOS_MUST_CHECK;

/* The page's first sentence as plain text, without a line end: what quickstart prints. */
bool lumos_report_verdict(const struct lumos_job *job, struct lumos_text *out,
                          struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
