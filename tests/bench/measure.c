/* One run of a stage in a process of its own: its memory is that process's peak, and nothing is warm but the file
 * system's cache. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is done apart, and what the process tells its parent. */
struct task {
  const struct bench_stage *stage; /* NULL: make the streams */
  const struct bench_input *input;
};
struct message {
  bool good;
  struct bench_sample sample;
  struct bench_size size;
  struct lumos_error error;
};

static double seconds_of(const struct timeval *time) { return (double)time->tv_sec + (double)time->tv_usec / 1e6; }

static double wall_now(void) {
  struct timespec now;
  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_now(bool in_children) {
  struct rusage usage;
  (void)getrusage(in_children ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
  return seconds_of(&usage.ru_utime) + seconds_of(&usage.ru_stime);
}

static int64_t peak_now(bool in_children) {
  struct rusage usage;
  (void)getrusage(in_children ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage);
  return (int64_t)usage.ru_maxrss * 1024;
}

static void measure(const struct task *task, struct message *message) {
  const struct bench_stage *stage = task->stage;
  struct bench_work work = {.input = task->input, .error = {LUMOS_DONE, ""}};
  message->good = stage->prepare == NULL || stage->prepare(&work);
  double wall = wall_now();
  double cpu = cpu_now(stage->in_children);
  message->good = message->good && stage->run(&work);
  message->sample = (struct bench_sample){wall_now() - wall, cpu_now(stage->in_children) - cpu,
                                          peak_now(stage->in_children), work.handled};
  message->error = work.error;
  /* What was made is left to the end of the process. */
}

static bool read_all(int descriptor, void *bytes, size_t length) {
  size_t got = 0;
  while (got < length) {
    ssize_t count = read(descriptor, (char *)bytes + got, length - got);
    if (count <= 0) {
      return false;
    }
    got += (size_t)count;
  }
  return true;
}

/* False: the process ended before it told anything. */
static bool apart(const struct task *task, struct message *message) {
  int ends[2];
  if (pipe(ends) != 0) {
    return false;
  }
  pid_t child = fork();
  if (child == 0) {
    if (task->stage != NULL) {
      measure(task, message);
    } else {
      message->good = bench_make_streams(task->input, &message->size, &message->error);
    }
    _exit(write(ends[1], message, sizeof *message) == (ssize_t)sizeof *message ? 0 : 1);
  }
  (void)close(ends[1]);
  bool told = child > 0 && read_all(ends[0], message, sizeof *message);
  (void)close(ends[0]);
  if (child > 0) {
    (void)waitpid(child, NULL, 0);
  }
  return told;
}

static bool checked(const struct task *task, struct message *message, struct lumos_error *error) {
  const char *name = task->stage == NULL ? "streams" : task->stage->name;
  if (!apart(task, message)) {
    return lumos_fail(error, "%s: the process that ran it ended early", name);
  }
  return message->good || lumos_fail(error, "%s: %s", name, message->error.text);
}

bool bench_measure(const struct bench_stage *stage, const struct bench_input *input, struct bench_sample *sample,
                   struct lumos_error *error) {
  struct message message = {.good = false};
  bool good = checked(&(struct task){stage, input}, &message, error);
  *sample = message.sample;
  return good;
}

bool bench_prepare(const struct bench_input *input, struct bench_size *size, struct lumos_error *error) {
  struct message message = {.good = false};
  bool good = checked(&(struct task){NULL, input}, &message, error);
  *size = message.size;
  return good;
}
