/* Jobs for tests, written as the records of a stream: single quotes stand for double ones, and the end line is counted
 * here. */
#ifndef LUMOS_TESTS_JOB_TEXT_H
#define LUMOS_TESTS_JOB_TEXT_H

#include "stream_unit.h"
#include <lumos/sim.h>

enum { JOB_TEXT_TYPES = 16 };

struct job_text_count {
  char type[32];
  int lines;
};

static inline void job_text_count_line(struct job_text_count *counts, const char *line) {
  static const char head[] = "{'type':'";
  const char *type = line + sizeof head - 1;
  size_t length = strcspn(type, "'");
  for (int i = 0; i < JOB_TEXT_TYPES; i++) {
    if (counts[i].lines == 0) {
      (void)snprintf(counts[i].type, sizeof counts[i].type, "%.*s", (int)length, type);
    }
    if (strlen(counts[i].type) == length && memcmp(counts[i].type, type, length) == 0) {
      counts[i].lines++;
      return;
    }
  }
}

/* The job of these lines, each ended by '\n'. */
static inline struct lumos_job *job_from_text(const char *lines) {
  struct job_text_count counts[JOB_TEXT_TYPES] = {0};
  for (const char *line = lines; *line != '\0'; line += strcspn(line, "\n") + 1) {
    job_text_count_line(counts, line);
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, lines);
  lumos_text_put(&text, "{'type':'end','counts':{");
  for (int i = 0; i < JOB_TEXT_TYPES && counts[i].lines > 0; i++) {
    lumos_text_format(&text, "'%s':%d,", counts[i].type, counts[i].lines);
  }
  lumos_text_put(&text, "'end':1}}\n");
  for (size_t i = 0; i < text.length; i++) {
    if (text.bytes[i] == '\'') {
      text.bytes[i] = '"';
    }
  }
  lumos_text_char(&text, '\0');
  struct lumos_job *job = stream_good(text.bytes);
  lumos_text_free(&text);
  return job;
}

/* The job of the text, simulated. */
static inline struct lumos_job *simulated(const char *lines) {
  struct lumos_job *job = job_from_text(lines);
  struct lumos_error error = {0};
  if (!lumos_simulate(job, &error)) {
    fail_msg("%s", error.text);
  }
  return job;
}

static inline bool reads(const struct lumos_job *job, lumos_string_id id, const char *text) {
  return strcmp(lumos_string(job->strings, id), text) == 0;
}

/* The only task of that name. */
static inline uint32_t task_named(const struct lumos_job *job, const char *name) {
  uint32_t found = LUMOS_NONE;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    if (strcmp(lumos_string(job->strings, job->tasks.items[t].name), name) == 0) {
      assert_int_equal(found, LUMOS_NONE);
      found = t;
    }
  }
  assert_int_not_equal(found, LUMOS_NONE);
  return found;
}

#define JOB_TEXT_HEADER "{'type':'lumos','format':1,'stage':'graph','epoch':'0','history':[]}\n"
#define JOB_TEXT_COVERAGE                                                                                          \
  "'coverage':{'events':0,'device_tasks':0,'launched':0,'opped':0,'before_recording':0,'crossing':0,'skipped':0,'" \
  "repaired':0}"

#endif
