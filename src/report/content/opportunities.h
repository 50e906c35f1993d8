/* What would help most: the step without a kind of work, and with half of it, and with single changes, as the
 * simulation says. Ranked by what half of it saves, and changes by what each saves.
 *
 * Times are means over the job's simulated steps; of those that count, as everywhere (facts.h).
 */
#ifndef LUMOS_REPORT_OPPORTUNITIES_H
#define LUMOS_REPORT_OPPORTUNITIES_H

#include "report/content/facts.h"
#include "report/content/practice.h"
#include "report/content/table.h"
#include "report/draw/scene.h"

struct report_opportunity {
  lumos_string_id kind, group; /* one of the two */
  int64_t half, free;          /* a step would take; LUMOS_ABSENT */
  struct report_range range;   /* of half */
};
LUMOS_VECTOR_TYPE(report_opportunity_list, struct report_opportunity);

struct report_opportunities {
  const struct lumos_job *job;
  struct report_opportunity_list list; /* the best first */
  /* Changes, the best first: `half` is the step with it. */
  struct report_opportunity_list changes;
  int64_t step; /* as simulated; LUMOS_ABSENT */
  bool none;    /* they were looked for, and nothing would help */
  struct report_practice practice;
};

/* None where all work is the host's. */
void report_opportunities_read(const struct report_facts *facts, struct report_opportunities *opportunities);
void report_opportunities_free(struct report_opportunities *opportunities);

/* The one that half would save most of; NULL: there is none that would shorten a step. */
const struct report_opportunity *report_best_opportunity(const struct report_opportunities *opportunities);
/* What a step is shorter by, in ns and in millionths of the simulated step; LUMOS_ABSENT. */
int64_t report_opportunity_gain(const struct report_opportunities *opportunities, int64_t time);
int64_t report_opportunity_gain_share(const struct report_opportunities *opportunities, int64_t time);

/* What a step is shorter by at least and at most, in ns. */
struct report_range report_opportunity_gain_range(const struct report_opportunities *opportunities,
                                                  const struct report_opportunity *opportunity);

/* "GEMM kernels", "communication of tensor group 0-3" */
void report_put_opportunity(const struct report_opportunities *opportunities,
                            const struct report_opportunity *opportunity, struct lumos_text *out);
/* "halving CPU time", "halving the time in GEMM kernels" */
void report_put_halving_of(const struct report_opportunities *opportunities,
                           const struct report_opportunity *opportunity, struct lumos_text *out);

/* What to do that the job does not do already, in the imperative: a sentence with its full stop. */
void report_put_opportunity_action(const struct report_opportunities *opportunities,
                                   const struct report_opportunity *opportunity, struct lumos_text *out);

void report_put_opportunities_finding(const struct report_opportunities *opportunities, struct lumos_text *out);
void report_put_opportunities_reading(const struct report_opportunities *opportunities, struct lumos_text *out);
void report_opportunities_table(const struct report_facts *facts, const struct report_opportunities *opportunities,
                                struct report_table *table);

/* "Capturing each pass in a CUDA graph cuts the step to 33.0 ms (-21.6 %)", and what to do: a sentence. */
/* "Capturing each pass in a CUDA graph", the subject of a sentence. */
void report_put_improving(const struct report_opportunities *opportunities, const struct report_opportunity *change,
                          struct lumos_text *out);
/* "CUDA graphs"; and "Capturing each pass in a CUDA graph cuts the step to 33.0 ms (-21.6 %)". */
void report_put_improvement_name(const struct report_opportunities *opportunities,
                                 const struct report_opportunity *change, struct lumos_text *out);
void report_put_improvement(const struct report_opportunities *opportunities, const struct report_opportunity *change,
                            struct lumos_text *out);
void report_put_improvement_action(const struct report_opportunities *opportunities,
                                   const struct report_opportunity *change, struct lumos_text *out);
void report_improvements_table(const struct report_opportunities *opportunities, struct report_table *table);
enum report_paint report_paint_of_improvement(const struct report_opportunities *opportunities,
                                              const struct report_opportunity *change);

/* The picture alone; the page has a list instead. False: there is nothing to show; the scene is not begun. */
bool report_opportunities_scene(const struct report_opportunities *opportunities, struct report_scene *scene);
enum report_paint report_paint_of_opportunity(const struct report_opportunities *opportunities,
                                              const struct report_opportunity *opportunity);

#endif
