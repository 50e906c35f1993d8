/* The page of a comparison, and that of several with one first job: what both are made of. */
#ifndef LUMOS_COMPARE_PAGE_H
#define LUMOS_COMPARE_PAGE_H

#include "compare/tables.h"
#include "report/text/template.h"

struct compare_page {
  const struct lumos_compared *compared;
  const struct lumos_compare_page *options;
  struct report_model *model;
  const struct lumos_job *jobs[LUMOS_COMPARE_JOBS]; /* as they are shown */
  struct report_table (*tables)[COMPARE_TABLES];    /* by comparison, with all rows */
  struct lumos_text *out_tables;                    /* of the page alone, as members of the summary's tables */
};

static inline bool compare_page_of_several(const struct compare_page *page) { return page->compared->count > 1; }
/* The first job stands in every comparison: its number and the side there. */
static inline const struct lumos_comparison *compare_page_comparison(const struct compare_page *page, size_t job) {
  return page->compared->comparisons[job == 0 ? 0 : job - 1];
}
static inline int compare_page_side(size_t job) { return job == 0 ? 0 : 1; }
static inline const struct lumos_compared_job *compare_page_job(const struct compare_page *page, size_t job) {
  return &compare_page_comparison(page, job)->jobs[compare_page_side(job)];
}
/* What tells names of a comparison's tables and pictures from those of the next: "c"; of two jobs "". */
const char *compare_page_suffix(const struct compare_page *page, size_t comparison);

/* What parts of both pages write. */
void compare_add_contents(const struct compare_page *page, const char *id, const char *name);
struct report_scope *compare_add_tile(struct report_scope *root, const char *label, struct lumos_text *figure,
                                      struct lumos_text *evidence);
/* Values `verdict`, which is emptied, and `title`: the verdict where no other was given. */
void compare_set_verdict(const struct compare_page *page, struct report_scope *root, struct lumos_text *verdict);
void compare_put_signed(struct lumos_text *out, int64_t time);
/* "4.7 % more than A. Noise floor 1.98 ms" */
void compare_put_difference_evidence(const struct lumos_comparison *comparison, struct lumos_text *out);

/* Of a comparison: values `splits_finding`, `changes_finding`, sections `splits`, `changes`. */
void compare_fill_splits(const struct compare_page *page, size_t number, struct report_scope *scope);
void compare_fill_changes(const struct compare_page *page, size_t number, struct report_scope *scope);
/* Of all jobs: sections `jobs`, and `timelines` with the tasks that the script draws. */
void compare_fill_jobs(const struct compare_page *page, struct report_scope *root);
void compare_fill_timelines(const struct compare_page *page, struct report_scope *root);
/* Of several comparisons: the first screen, the section `overview`, and a section `others` with the parts of each. */
void compare_fill_several(const struct compare_page *page, struct report_scope *root);

#endif
