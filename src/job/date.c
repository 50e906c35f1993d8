/* A trace that lost its baseTimeNanoseconds (which used to stand behind the events, where a cut takes it) still counts
 * from it. The base is the same for all that starts in one period of three months, so what was recorded at the same
 * time counts from the same; else nothing better is known than that ranks of one job begin together.
 */
#include "job/date.h"

#include "base/text.h"
#include <string.h>

/* Kineto rounds the time down to a multiple of this. */
static const int64_t base_period = INT64_C(7889238000000000);

static void widen(struct lumos_dates *dates, const struct lumos_dates *other, bool first) {
  dates->start = first || other->start < dates->start ? other->start : dates->start;
  dates->end = first || other->end > dates->end ? other->end : dates->end;
}

bool lumos_job_dates(const struct lumos_job *job, struct lumos_dates *dates) {
  bool dated = false;
  for (size_t i = 0; i < job->ranks.count; i++) {
    struct lumos_dates recorded;
    if (lumos_rank_recorded(job, &job->ranks.items[i], &recorded.start, &recorded.end)) {
      widen(dates, &recorded, !dated);
      dated = true;
    }
  }
  return dated;
}

/* How long its recordings are, from its epoch. */
static int64_t length_of(const struct lumos_job *job) {
  int64_t length = 0;
  for (size_t i = 0; i < job->ranks.count; i++) {
    int64_t end = job->ranks.items[i].window_end;
    length = end > length ? end : length;
  }
  return length;
}

bool lumos_dated_by_base(const struct lumos_job *job, const struct lumos_dates *others, int64_t *epoch) {
  int64_t base = others->start - others->start % base_period;
  int64_t end = 0;
  return !__builtin_add_overflow(base, job->epoch, epoch) && !__builtin_add_overflow(*epoch, length_of(job), &end) &&
         *epoch <= others->end + LUMOS_RUN_GAP && end >= others->start - LUMOS_RUN_GAP;
}

static bool is_note(const struct lumos_job *job, const struct lumos_note *note, const char *code) {
  return strcmp(lumos_string(job->strings, note->code), code) == 0;
}

static bool was_cut(const struct lumos_job *job, int32_t rank) {
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (note->scope.rank == rank && is_note(job, note, "parse.truncated")) {
      return true;
    }
  }
  return false;
}

/* That its clock is unknown was said before, as if it stood alone. */
static void drop_unknown_clock(struct lumos_job *job) {
  size_t kept = 0;
  for (size_t i = 0; i < job->notes.count; i++) {
    if (!is_note(job, &job->notes.items[i], "parse.unknown_clock")) {
      job->notes.items[kept++] = job->notes.items[i];
    }
  }
  job->notes.count = kept;
}

static void note_date(struct lumos_job *job, const struct lumos_rank *rank, bool by_base) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_scope scope = lumos_everywhere;
  scope.rank = rank->rank;
  lumos_text_format(&text, "%s does not say when its times count from%s; ", lumos_string(job->strings, rank->source),
                    was_cut(job, rank->rank) ? ", for it was cut before its baseTimeNanoseconds" : "");
  lumos_text_put(&text, by_base ? "Lumos lets them count from where the others' do, which puts it beside them"
                                : "Lumos lets it begin with the first of the others, until collectives align it");
  lumos_text_add(&text, "", 1);
  lumos_job_note(job, "parse.assumed_clock", LUMOS_WARNING, LUMOS_ABSENT, &scope, text.bytes,
                 "copy or record the file again");
  lumos_text_free(&text);
}

static void date_job(struct lumos_job *job, const struct lumos_dates *others) {
  int64_t epoch = 0;
  bool by_base = lumos_dated_by_base(job, others, &epoch);
  job->epoch = by_base ? epoch : others->start;
  drop_unknown_clock(job);
  for (size_t i = 0; i < job->ranks.count; i++) {
    note_date(job, &job->ranks.items[i], by_base);
  }
}

void lumos_date_jobs(struct lumos_job *const *jobs, size_t count) {
  struct lumos_dates all = {0, 0};
  bool dated = false;
  struct lumos_dates own;
  for (size_t i = 0; i < count; i++) {
    if (lumos_job_dates(jobs[i], &own)) {
      widen(&all, &own, !dated);
      dated = true;
    }
  }
  for (size_t i = 0; i < count && dated; i++) {
    if (!lumos_job_dates(jobs[i], &own)) {
      date_job(jobs[i], &all);
    }
  }
}
