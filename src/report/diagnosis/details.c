/* Figures in groups by what they are of; in a group those that lower the grade come first, the worst of them at the
 * top, and groups by their worst figure. */
#include "report/diagnosis/details.h"

#include "report/diagnosis/confidence.h"
#include "report/text/numbers.h"

enum group { OF_MODEL, OF_STARTS, OF_CPU, OF_RECORDING, GROUPS };

static const char *const group_names[GROUPS] = {
    "How far the model is off", "Delays of GPU starts, copied from the trace", "CPU time, copied from the trace",
    "What the recording shows and lacks"};

struct detail {
  enum group group;
  const char *label, *term;
  struct lumos_text figure, evidence;
  const struct lumos_limit_size *limit; /* NULL: the grade does not depend on it */
  bool counts_found;                    /* and the limit, what was not found */
  bool exceeds;                         /* it may be more than the whole */
  bool unmeasured;                      /* that it is not known lowers the grade to fair, whatever its limit */
  size_t order;
};
LUMOS_VECTOR_TYPE(detail_list, struct detail);

struct details {
  const struct report_facts *facts;
  const struct lumos_diagnosis *diagnosis;
  struct detail_list list;
};

/* To be filled by the caller. LUMOS_LIMIT_NONE: the grade does not depend on it; label NULL: the limit's name. */
static struct detail *add(struct details *details, enum group group, const char *label, const char *term,
                          enum lumos_limit limit) {
  const struct lumos_limit_size *size = &details->diagnosis->limits[limit];
  struct detail detail = {group,
                          label != NULL ? label : diagnosis_limit_name(limit),
                          term,
                          LUMOS_TEXT_BUFFER,
                          LUMOS_TEXT_BUFFER,
                          limit != LUMOS_LIMIT_NONE && size->size != LUMOS_ABSENT ? size : NULL,
                          limit == LUMOS_LIMIT_UNLAUNCHED,
                          limit == LUMOS_LIMIT_RECORDING,
                          false,
                          details->list.count};
  lumos_vector_push(&details->list, detail);
  return &details->list.items[details->list.count - 1];
}

/* ---- What there is ---- */

static void add_replay_error(struct details *details) {
  const struct report_facts *facts = details->facts;
  int64_t worst = report_trust(facts, FIGURE_REPLAY_ERROR);
  int64_t mean = facts->mean_error != LUMOS_ABSENT ? facts->mean_error : worst;
  struct detail *detail = add(details, OF_MODEL, NULL, "replay_error", LUMOS_LIMIT_REPLAY);
  report_put_fine_share(&detail->figure, mean);
  if (facts->edited) {
    detail->unmeasured = true;
    lumos_text_put(&detail->evidence, "the changed job was never measured; fair at best");
  } else if (mean == LUMOS_ABSENT) {
    lumos_text_put(&detail->evidence, "there is no measured step to compare with");
  } else {
    lumos_text_put(&detail->evidence, "of the measured step");
    if (facts->steps.count > 1) {
      lumos_text_put(&detail->evidence, ", mean size; worst ");
      report_put_fine_share(&detail->evidence, worst);
    }
  }
}

/* Told by the limit itself, where it is not zero. */
static void add_limits(struct details *details) {
  static const struct {
    enum lumos_limit limit;
    enum group group;
    const char *label, *term, *evidence;
  } rows[] = {
      {LUMOS_LIMIT_REBUILD, OF_MODEL, NULL, "rebuild_error", "of the measured step, in the recorded configuration"},
      {LUMOS_LIMIT_NO_GPU, OF_RECORDING, NULL, "coverage", "of the ranks: their CPUs alone were recorded"},
      {LUMOS_LIMIT_NOT_RECORDED, OF_RECORDING, NULL, "not_recorded", "of the step, and what others wait for that"},
      {LUMOS_LIMIT_UNSPLIT, OF_RECORDING, NULL, "communication_unsplit", "of the step: unknown which"},
      {LUMOS_LIMIT_BLAMED_UNKNOWN, OF_CPU, NULL, "straggler_delay", "of the late rank\xE2\x80\x99s own delay"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t size = details->diagnosis->limits[rows[i].limit].size;
    if (size != LUMOS_ABSENT && size > 0) {
      struct detail *detail = add(details, rows[i].group, rows[i].label, rows[i].term, rows[i].limit);
      (rows[i].limit == LUMOS_LIMIT_REBUILD ? report_put_fine_share : report_put_share)(&detail->figure, size);
      bool of_changed = rows[i].limit == LUMOS_LIMIT_REBUILD &&
                        lumos_job_has_note(details->facts->job, "transform.rebuild_of_changed");
      lumos_text_put(&detail->evidence, of_changed
                                            ? "of the changed job\xE2\x80\x99s simulated step, as it was recorded"
                                            : rows[i].evidence);
    }
  }
}

static void add_model_figures(struct details *details) {
  static const struct {
    enum report_figure figure;
    enum group group;
    const char *label, *evidence;
    enum lumos_limit limit;
    bool optional; /* streams of older versions have none, and not every recording shows what it takes */
  } rows[] = {
      {FIGURE_UNEXPLAINED_LAG, OF_STARTS, NULL, "of GPU starts, against the model", LUMOS_LIMIT_UNEXPLAINED, false},
      {FIGURE_BOUNDARY, OF_STARTS, NULL, "kernels and copies that other work holds", LUMOS_LIMIT_BOUNDARY, false},
      {FIGURE_RESOURCE_WAIT, OF_STARTS, "waiting for SMs", "behind a kernel that fills the GPU", LUMOS_LIMIT_NONE,
       true},
      {FIGURE_KEPT_WAIT, OF_RECORDING, NULL, "not matched with other ranks\xE2\x80\x99; overlapped or exposed",
       LUMOS_LIMIT_UNJOINED, false},
      {FIGURE_HOST_GAP, OF_CPU, "CPU gaps", "time on threads without an event", LUMOS_LIMIT_NONE, false},
      {FIGURE_PROFILER_TIME, OF_CPU, NULL, "at most, between rows on threads", LUMOS_LIMIT_PROFILER, true},
      {FIGURE_HOST_UNKNOWN, OF_CPU, NULL, "unusually long gaps and calls", LUMOS_LIMIT_CPU_UNKNOWN, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t share = report_trust(details->facts, rows[i].figure);
    if (!rows[i].optional || share != LUMOS_ABSENT) {
      struct detail *detail =
          add(details, rows[i].group, rows[i].label, report_figure_name(rows[i].figure), rows[i].limit);
      report_put_share(&detail->figure, share);
      lumos_text_put(&detail->evidence, rows[i].evidence);
    }
  }
}

static void add_cpu_error(struct details *details) {
  struct detail *detail = add(details, OF_MODEL, "replay error of the CPU", "host_replay_error", LUMOS_LIMIT_NONE);
  report_put_fine_share(&detail->figure, report_trust(details->facts, FIGURE_HOST_REPLAY_ERROR));
  lumos_text_put(&detail->evidence, "of its time, worst step");
}

/* Where there are like steps: how well the graph of one tells the time of the other, and what would be off without
 * it. */
static void add_cross_step(struct details *details) {
  const struct report_facts *facts = details->facts;
  if (facts->transplant_error == LUMOS_ABSENT) {
    return;
  }
  struct detail *detail = add(details, OF_MODEL, NULL, "transplant_error", LUMOS_LIMIT_CROSS_STEP);
  report_put_fine_share(&detail->figure, facts->transplant_error);
  lumos_text_put(&detail->evidence, "mean size, worst ");
  report_put_fine_share(&detail->evidence, report_trust(facts, FIGURE_TRANSPLANT_ERROR));
  detail = add(details, OF_MODEL, NULL, "step_spread", LUMOS_LIMIT_VARIATION);
  report_put_fine_share(&detail->figure, facts->step_spread);
  lumos_text_put(&detail->evidence, "between similar steps, mean size");
  detail = add(details, OF_MODEL, "tasks matched across steps", "transplant_matched", LUMOS_LIMIT_NONE);
  report_put_share(&detail->figure, report_trust(facts, FIGURE_TRANSPLANT_MATCHED));
  lumos_text_put(&detail->evidence, "of kernels and copies, worst step");
}

/* "2,912 of 2,917" as a share, with the counts as evidence. */
static void put_part(struct detail *detail, int64_t part, int64_t whole, const char *nouns) {
  report_put_share(&detail->figure, report_share(part, whole));
  report_put_part(&detail->evidence, part, whole, nouns);
}

static void add_coverage(struct details *details) {
  struct report_coverage coverage = report_coverage_of(details->facts->job);
  if (coverage.device_tasks > 0) {
    put_part(add(details, OF_RECORDING, "launches found", "coverage", LUMOS_LIMIT_UNLAUNCHED), coverage.launched,
             coverage.device_tasks, "kernels and copies of the whole recording");
  }
  if (coverage.collectives > 0) {
    put_part(add(details, OF_RECORDING, "collectives joined", "joined", LUMOS_LIMIT_NONE), coverage.joined,
             coverage.collectives, "collectives of the whole recording");
  }
}

/* Known where the recorder timed steps without the profiler; else nothing is said. */
static void add_profiling_cost(struct details *details) {
  const struct report_facts *facts = details->facts;
  if (facts->profiling_cost == LUMOS_ABSENT || facts->unprofiled_step == LUMOS_ABSENT) {
    return;
  }
  struct detail *detail = add(details, OF_CPU, NULL, "profiling_cost", LUMOS_LIMIT_RECORDING);
  report_put_share(&detail->figure, facts->profiling_cost);
  lumos_text_put(&detail->evidence, "than ");
  report_put_time(&detail->evidence, facts->unprofiled_step);
  lumos_text_put(&detail->evidence, " without the profiler");
}

/* ---- What it does to the grade ---- */

/* "; fair above 1 %, poor above 5 %"; of launches that were found it is the other way round. */
static void put_thresholds(struct detail *detail) {
  enum { ALL = 1000000, PER_CENT = 4 };
  for (int i = 0; detail->limit != NULL && i < 2; i++) {
    int64_t threshold = i == 0 ? detail->limit->fair : detail->limit->poor;
    if (threshold < ALL || (threshold == ALL && detail->exceeds)) {
      lumos_text_format(&detail->evidence, "%s%s ", i == 0 ? "; fair " : ", poor ",
                        detail->counts_found ? "below" : "above");
      report_put_fixed(&detail->evidence, detail->counts_found ? ALL - threshold : threshold, PER_CENT, 0);
      lumos_text_put(&detail->evidence, "\xC2\xA0%");
    }
  }
}

/* The grade depends on it in this job. */
static bool counts(const struct detail *detail) {
  return detail->unmeasured || (detail->limit != NULL && detail->limit->fair < INT64_MAX);
}

static enum lumos_confidence grade_of(const struct detail *detail) {
  return detail->unmeasured ? LUMOS_FAIR : detail->limit != NULL ? diagnosis_grade_of(detail->limit) : LUMOS_GOOD;
}

/* By grade, then by how far over its limit it is; the others as they come. */
static int worst_first(const void *left, const void *right) {
  const struct detail *a = left, *b = right;
  enum lumos_confidence grade = grade_of(a), other = grade_of(b);
  if (a->unmeasured != b->unmeasured && grade == other) {
    return a->unmeasured ? 1 : -1;
  }
  if (grade != other || grade == LUMOS_GOOD || a->unmeasured) {
    return grade != other ? LUMOS_ORDER(grade, other) : LUMOS_ORDER(a->order, b->order);
  }
  __int128 far = (__int128)a->limit->size * b->limit->fair, other_far = (__int128)b->limit->size * a->limit->fair;
  return far != other_far ? LUMOS_ORDER(other_far, far) : LUMOS_ORDER(a->order, b->order);
}

void diagnosis_fill_details(const struct report_facts *facts, const struct lumos_diagnosis *diagnosis,
                            struct report_scope *scope) {
  struct details details = {.facts = facts, .diagnosis = diagnosis};
  add_replay_error(&details);
  add_limits(&details);
  add_model_figures(&details);
  add_cpu_error(&details);
  add_cross_step(&details);
  add_coverage(&details);
  add_profiling_cost(&details);
  lumos_vector_sort(&details.list, worst_first);
  struct report_scope *groups[GROUPS] = {NULL};
  for (size_t i = 0; i < details.list.count; i++) {
    struct detail *detail = &details.list.items[i];
    if (groups[detail->group] == NULL) {
      groups[detail->group] = report_section_item(scope, "trust_groups");
      report_set_text(groups[detail->group], "name", group_names[detail->group]);
    }
    struct report_scope *item = report_section_item(groups[detail->group], "trust");
    put_thresholds(detail);
    lumos_text_put(&detail->evidence, detail->limit != NULL && !counts(detail)
                                          ? "; not graded, as neither cause nor best gain is on the CPU"
                                          : "");
    report_set_text(item, "label", detail->label);
    report_set_text(item, "term", detail->term);
    report_set_text(item, "grade", counts(detail) ? lumos_confidence_name(grade_of(detail)) : "");
    report_set_take(item, "figure", &detail->figure);
    report_set_take(item, "evidence", &detail->evidence);
  }
  lumos_vector_free(&details.list);
}
