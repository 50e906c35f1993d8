/* See checking.h. */
#include "tools/checking.h"

#include "base/utf8.h"
#include "report/text/numbers.h"
#include <string.h>

enum { WIDTH = 100, MARGIN = 10 }; /* the first column holds grades and headings */

/* The colour of each grade. */
static const char *const colours[] = {
    [LUMOS_GRADE_A] = "\033[1;32m", [LUMOS_GRADE_B] = "\033[1;32m", [LUMOS_GRADE_C] = "\033[1;33m",
    [LUMOS_GRADE_D] = "\033[1;31m", [LUMOS_GRADE_F] = "\033[1;31m",
};

static void put_coloured(struct lumos_text *text, enum lumos_grade grade, const char *words, bool coloured) {
  lumos_text_format(text, "%s%s%s", coloured ? colours[grade] : "", words, coloured ? "\033[0m" : "");
}

/* "3 of 8 UNIT", and how many of those missing were launched before the recording. */
static void put_share(struct lumos_text *text, const struct lumos_checkup_row *finding) {
  report_put_count(text, finding->have);
  lumos_text_put(text, " of ");
  report_put_count(text, finding->of);
  lumos_text_format(text, "%s%s", finding->unit[0] != '\0' ? " " : "", finding->unit);
  if (finding->before > 0) {
    lumos_text_put(text, " (");
    report_put_count(text, finding->before);
    lumos_text_put(text, " launched earlier)");
  }
}

/* "rank 3", "8 ranks", and of how many. */
static void put_ranks(struct lumos_text *text, const struct lumos_job *job, const struct lumos_checkup *checkup) {
  if (checkup->ranks == 1) {
    lumos_text_format(text, "rank %d", (int)job->ranks.items[0].rank);
  } else {
    report_put_counted(text, checkup->ranks, "rank");
  }
  if (checkup->world != LUMOS_ABSENT) {
    lumos_text_put(text, " of ");
    report_put_count(text, checkup->world);
  }
  lumos_string_id device = checkup->ranks > 0 ? job->ranks.items[0].device_name : LUMOS_NO_STRING;
  if (device != LUMOS_NO_STRING) {
    size_t start = text->length;
    lumos_text_format(text, ", %s", lumos_string(job->strings, device));
    lumos_utf8_make_printable(text->bytes + start, text->length - start);
  }
}

/* "30 kernels and copies on 2 streams" */
static void put_work(struct lumos_text *text, int64_t tasks, const char *nouns, int64_t lanes, const char *lane) {
  report_put_count(text, tasks);
  lumos_text_put(text, nouns);
  if (lanes > 0) {
    lumos_text_put(text, " on ");
    report_put_counted(text, lanes, lane);
  }
}

static void put_holdings(struct lumos_text *text, const struct lumos_job *job, const struct lumos_checkup *checkup) {
  lumos_text_put(text, "holds     ");
  put_ranks(text, job, checkup);
  lumos_text_put(text, ": ");
  if (checkup->steps > 0) {
    report_put_counted(text, checkup->steps, "step");
  } else {
    lumos_text_put(text, checkup->idle_steps ? "step marks without work" : "no step marks");
  }
  lumos_text_put(text, " in a recording of ");
  report_put_time(text, checkup->duration);
  lumos_text_put(text, "\n          ");
  put_work(text, checkup->device_tasks, " kernels and copies", checkup->streams, "stream");
  if (checkup->communication > 0) {
    lumos_text_put(text, ", ");
    report_put_count(text, checkup->communication);
    lumos_text_put(text, " of them communication");
  }
  lumos_text_put(text, "; ");
  put_work(text, checkup->host_tasks, " CPU tasks", checkup->threads, "thread");
  lumos_text_char(text, '\n');
}

/* What nothing is missing of, as one list that is broken where a line is full. */
static void put_recorded(struct lumos_text *text, const struct lumos_checkup *checkup) {
  size_t column = 0;
  for (size_t i = 0; i < checkup->count; i++) {
    const struct lumos_checkup_row *finding = &checkup->findings[i];
    if (finding->cost != NULL) {
      continue;
    }
    struct lumos_text item = LUMOS_TEXT_BUFFER;
    lumos_text_format(&item, "%s ", finding->name);
    put_share(&item, finding);
    bool first = column == 0;
    bool full = column + item.length + 2 > WIDTH;
    lumos_text_put(text, first ? "recorded  " : full ? ",\n          " : ", ");
    column = first || full ? MARGIN : column + 2;
    lumos_text_add(text, item.bytes, item.length);
    column += item.length;
    lumos_text_free(&item);
  }
  lumos_text_put(text, column > 0 ? "\n" : "");
}

/* Names from a trace, made fit for a terminal and cut to a line. */
static void put_names(struct lumos_text *text, const char *names) {
  size_t start = text->length;
  size_t length = strlen(names);
  size_t most = WIDTH - 4;
  while (length > most && most > 0 && ((unsigned char)names[most] & 0xC0U) == 0x80) {
    most--;
  }
  lumos_text_add(text, names, length > most ? most : length);
  lumos_text_put(text, length > most ? "..." : "");
  lumos_utf8_make_printable(text->bytes + start, text->length - start);
}

static void put_gap(struct lumos_text *text, const struct lumos_checkup_row *finding, bool coloured) {
  put_coloured(text, finding->grade, lumos_grade_name(finding->grade), coloured);
  lumos_text_format(text, "  %s: ", finding->name);
  put_share(text, finding);
  lumos_text_format(text, "; %s\n     %s\n", finding->cost, finding->cure);
  if (finding->names != NULL) {
    lumos_text_put(text, "     categories: ");
    put_names(text, finding->names);
    lumos_text_char(text, '\n');
  }
}

/* The worst first; those of one grade in the order of the table. */
static size_t put_gaps(struct lumos_text *text, const struct lumos_checkup *checkup, bool coloured) {
  size_t gaps = 0;
  for (int grade = LUMOS_GRADE_F; grade > LUMOS_GRADE_A; grade--) {
    for (size_t i = 0; i < checkup->count; i++) {
      if ((int)checkup->findings[i].grade == grade) {
        put_gap(text, &checkup->findings[i], coloured);
        gaps++;
      }
    }
  }
  return gaps;
}

static void put_optional(struct lumos_text *text, const struct lumos_checkup *checkup) {
  for (size_t i = 0; i < checkup->count; i++) {
    const struct lumos_checkup_row *finding = &checkup->findings[i];
    if (finding->cost != NULL && !lumos_is_gap(finding)) {
      lumos_text_format(text, "optional  %s: %s; %s\n", finding->name, finding->cost, finding->cure);
    }
  }
}

static void put_next(struct lumos_text *text, const struct lumos_checkup *checkup, size_t gaps) {
  if (checkup->grade == LUMOS_GRADE_F) {
    lumos_text_put(text,
                   "next      record again: profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], ...)\n");
  } else {
    lumos_text_format(text, "next      %slumos report TRACE... -o report.html\n",
                      gaps > 0 ? "record again with the lines above, or take it as it is: " : "");
  }
}

/* Numbers come with no-break spaces, for pages; here they are in the way of grep. */
static void add_plain(struct lumos_text *text, const struct lumos_text *from) {
  size_t done = 0;
  for (size_t i = 0; i + 1 < from->length; i++) {
    if (memcmp(from->bytes + i, "\xC2\xA0", 2) == 0) {
      lumos_text_add(text, from->bytes + done, i - done);
      lumos_text_char(text, ' ');
      done = i + 2;
    }
  }
  lumos_text_add(text, from->bytes + done, from->length - done);
}

void tool_write_checkup(const struct lumos_job *job, const struct lumos_checkup *checkup, bool coloured,
                        struct lumos_text *text) {
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  lumos_text_put(&page, "grade ");
  put_coloured(&page, checkup->grade, lumos_grade_name(checkup->grade), coloured);
  lumos_text_format(&page, "   %s\n", lumos_grade_meaning(checkup->grade));
  put_holdings(&page, job, checkup);
  put_recorded(&page, checkup);
  size_t gaps = put_gaps(&page, checkup, coloured);
  put_optional(&page, checkup);
  put_next(&page, checkup, gaps);
  add_plain(text, &page);
  lumos_text_free(&page);
}

static void put_member(struct lumos_text *text, const char *name, const char *value) {
  lumos_text_format(text, ",\"%s\":", name);
  lumos_text_json_string(text, value, strlen(value));
}

static void put_count_member(struct lumos_text *text, const char *name, int64_t value) {
  if (value != LUMOS_ABSENT) {
    bool first = text->bytes[text->length - 1] == '{';
    lumos_text_format(text, "%s\"%s\":", first ? "" : ",", name);
    lumos_text_integer(text, value);
  }
}

static void put_finding(struct lumos_text *text, const struct lumos_checkup_row *finding) {
  lumos_text_put(text, "{\"code\":");
  lumos_text_json_string(text, finding->code, strlen(finding->code));
  put_count_member(text, "have", finding->have);
  put_count_member(text, "of", finding->of);
  put_count_member(text, "before", finding->before);
  put_member(text, "grade", lumos_grade_name(finding->grade));
  put_member(text, "name", finding->name);
  put_member(text, "unit", finding->unit);
  if (finding->cost != NULL) {
    put_member(text, "cost", finding->cost);
    put_member(text, "cure", finding->cure);
  }
  if (finding->names != NULL) {
    put_member(text, "names", finding->names);
  }
  lumos_text_char(text, '}');
}

static void put_rank_member(struct lumos_text *text, const struct lumos_job *job, const struct lumos_rank *rank) {
  lumos_text_format(text, "{\"rank\":%d", (int)rank->rank);
  put_member(text, "source", lumos_string(job->strings, rank->source));
  if (rank->device_name != LUMOS_NO_STRING) {
    put_member(text, "device", lumos_string(job->strings, rank->device_name));
  }
  if (rank->host != LUMOS_NO_STRING) {
    put_member(text, "host", lumos_string(job->strings, rank->host));
  }
  lumos_text_char(text, '}');
}

/* What the stream's notes warn of. */
static void put_warnings(struct lumos_text *text, const struct lumos_job *job) {
  bool first = true;
  lumos_text_put(text, ",\"warnings\":[");
  for (size_t i = 0; i < job->notes.count; i++) {
    const struct lumos_note *note = &job->notes.items[i];
    if (note->level == LUMOS_INFO) {
      continue;
    }
    lumos_text_format(text, "%s{\"code\":", first ? "" : ",");
    first = false;
    lumos_text_json_string(text, lumos_string(job->strings, note->code), lumos_string_length(job->strings, note->code));
    put_member(text, "text", lumos_string(job->strings, note->text));
    put_count_member(text, "count", note->count);
    if (note->scope.rank != LUMOS_ABSENT_INT) {
      put_count_member(text, "rank", note->scope.rank);
    }
    if (note->cure != LUMOS_NO_STRING) {
      put_member(text, "cure", lumos_string(job->strings, note->cure));
    }
    lumos_text_char(text, '}');
  }
  lumos_text_char(text, ']');
}

void tool_write_checkup_json(const struct lumos_job *job, const struct lumos_checkup *checkup,
                             struct lumos_text *text) {
  lumos_text_format(text, "{\"grade\":\"%s\"", lumos_grade_name(checkup->grade));
  put_member(text, "meaning", lumos_grade_meaning(checkup->grade));
  lumos_text_put(text, ",\"holds\":{");
  put_count_member(text, "ranks", checkup->ranks);
  put_count_member(text, "world", checkup->world);
  put_count_member(text, "steps", checkup->steps);
  put_count_member(text, "duration", checkup->duration);
  put_count_member(text, "events", checkup->events);
  put_count_member(text, "device_tasks", checkup->device_tasks);
  put_count_member(text, "streams", checkup->streams);
  put_count_member(text, "communication", checkup->communication);
  put_count_member(text, "host_tasks", checkup->host_tasks);
  put_count_member(text, "threads", checkup->threads);
  lumos_text_put(text, "},\"findings\":[");
  for (size_t i = 0; i < checkup->count; i++) {
    lumos_text_put(text, i > 0 ? "," : "");
    put_finding(text, &checkup->findings[i]);
  }
  lumos_text_put(text, "],\"ranks\":[");
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_text_put(text, i > 0 ? "," : "");
    put_rank_member(text, job, &job->ranks.items[i]);
  }
  lumos_text_char(text, ']');
  put_warnings(text, job);
  lumos_text_put(text, "}\n");
}
