/* bench STAGES LABEL SCALE RUNS BIN WORK TRACE...: measures stages (reading, behind, peers, joined by a +) on one input
 * and writes a line of JSON for each. Called by run.sh, which says what the fields mean. bench repeat TRACE BYTES:
 * writes a trace of that length made of this one. For count.sh, which counts instructions: bench streams WORK TRACE...
 * makes the streams that stages read; bench prepare STAGE WORK TRACE... and bench run STAGE WORK TRACE... are a stage
 * without and with its run, in this process; bench kind says what it was built with.
 *
 * Runs go round: each stage once, then all again, so that a load that comes and goes meets all of them.
 */
#include "bench.h"

#include "base/text.h"
#include "tools/tool.h"
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 99, MOST_STAGES = 32 };

struct result {
  bool measured;
  double wall[MOST_RUNS], cpu[MOST_RUNS];
  double wall_median, cpu_median, cpu_least;
  int64_t peak, handled;
};

static int compare_seconds(const void *left, const void *right) {
  double a = *(const double *)left;
  double b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(double *seconds, size_t count) {
  qsort(seconds, count, sizeof *seconds, compare_seconds);
  return count % 2 == 1 ? seconds[count / 2] : (seconds[count / 2 - 1] + seconds[count / 2]) / 2;
}

/* The stages of the floor added up, in CPU seconds; 0: there is none, or it was not measured. */
static double floor_of(const struct bench_stage *stage, const struct result *results) {
  double sum = 0;
  for (size_t f = 0; f < BENCH_FLOORS && stage->floors[f] != NULL; f++) {
    for (size_t i = 0; i < bench_stage_count; i++) {
      if (strcmp(bench_stages[i].name, stage->floors[f]) == 0) {
        if (!results[i].measured) {
          return 0;
        }
        sum += results[i].cpu_median;
      }
    }
  }
  return sum;
}

static void put_floor(struct lumos_text *out, const struct bench_stage *stage, double ratio) {
  lumos_text_put(out, ",\"floor\":\"");
  for (size_t f = 0; f < BENCH_FLOORS && stage->floors[f] != NULL; f++) {
    lumos_text_format(out, "%s%s", f == 0 ? "" : "+", stage->floors[f]);
  }
  lumos_text_format(out, "\",\"ratio\":%.3f", ratio);
}

static void put_line(struct lumos_text *out, const struct bench_input *input, const struct bench_size *size, size_t s,
                     const struct result *results, size_t runs) {
  const struct bench_stage *stage = &bench_stages[s];
  const struct result *result = &results[s];
  double wall = result->wall_median;
  double cpu = result->cpu_median;
  double handled = stage->by_tasks ? (double)size->tasks : (double)result->handled / 1e6;
  double floor = floor_of(stage, results);
  lumos_text_put(out, "{\"stage\":");
  lumos_text_json_string(out, stage->name, strlen(stage->name));
  lumos_text_put(out, ",\"input\":");
  lumos_text_json_string(out, input->label, strlen(input->label));
  lumos_text_format(out, ",\"scale\":%lld,\"bytes\":%lld,\"tasks\":%lld,\"string_bytes\":%lld,\"runs\":%zu",
                    (long long)input->scale, (long long)size->bytes, (long long)size->tasks, (long long)size->strings,
                    runs);
  lumos_text_format(
      out,
      ",\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"cpu_least\":%.6f,\"rate\":%.3f,\"cpu_rate\":%.3f,\"rate_unit\":\"%s\"",
      wall, cpu, result->cpu_least, handled / (wall > 0 ? wall : 1e-9), handled / (cpu > 0 ? cpu : 1e-9),
      stage->by_tasks ? "tasks/s" : "MB/s");
  if (floor > 0) {
    put_floor(out, stage, cpu / floor);
  }
  lumos_text_format(out, ",\"peak_rss\":%lld,\"bytes_per_task\":%.1f}\n", (long long)result->peak,
                    (double)result->peak / (double)(size->tasks > 0 ? size->tasks : 1));
}

static bool measure_all(const struct bench_input *input, struct result *results, size_t runs,
                        struct lumos_error *error) {
  for (size_t run = 0; run < runs; run++) {
    for (size_t s = 0; s < bench_stage_count; s++) {
      struct bench_sample sample;
      if (!bench_possible(&bench_stages[s], input)) {
        continue;
      }
      if (!bench_measure(&bench_stages[s], input, &sample, error)) {
        return false;
      }
      results[s].measured = true;
      results[s].wall[run] = sample.wall;
      results[s].cpu[run] = sample.cpu;
      results[s].peak = sample.peak > results[s].peak ? sample.peak : results[s].peak;
      results[s].handled = sample.handled;
    }
  }
  for (size_t s = 0; s < bench_stage_count; s++) {
    results[s].wall_median = median(results[s].wall, runs);
    results[s].cpu_median = median(results[s].cpu, runs);
    results[s].cpu_least = results[s].cpu[0]; /* they are sorted now */
  }
  return true;
}

static int fail(const struct lumos_error *error) {
  (void)fprintf(stderr, "bench: %s\n", error->text);
  return 1;
}

/* "reading+peers" as numbers; 0: a word is none of the groups. */
static unsigned groups_of(const char *text) {
  static const char *const names[] = {"reading", "behind", "peers"}; /* as enum bench_group counts them */
  unsigned groups = 0;
  while (*text != '\0') {
    size_t length = strcspn(text, "+");
    unsigned group = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
      group |= strlen(names[i]) == length && memcmp(names[i], text, length) == 0 ? 1U << i : 0;
    }
    if (group == 0) {
      return 0;
    }
    groups |= group;
    text += length + (text[length] == '+');
  }
  return groups;
}

static int measure(const struct bench_input *input, const char *asked) {
  static struct result results[MOST_STAGES];
  long count = strtol(asked, NULL, 10);
  size_t runs = count < 1 ? 1 : count > MOST_RUNS ? MOST_RUNS : (size_t)count;
  struct bench_size size = {0};
  struct lumos_error error = {LUMOS_DONE, ""};
  if (!bench_prepare(input, &size, &error) || !measure_all(input, results, runs, &error)) {
    return fail(&error);
  }
  struct lumos_text out = LUMOS_TEXT_TO(STDOUT_FILENO);
  for (size_t s = 0; s < bench_stage_count; s++) {
    if (results[s].measured) {
      put_line(&out, input, &size, s, results, runs);
    }
  }
  bool written = lumos_text_flush(&out);
  lumos_text_free(&out);
  return written ? 0 : 1;
}

static int repeat(const char *path, const char *bytes) {
  struct lumos_error error = {LUMOS_DONE, ""};
  return bench_repeat(path, strtoll(bytes, NULL, 10), STDOUT_FILENO, &error) ? 0 : fail(&error);
}

static int make_streams(const struct bench_input *input) {
  struct bench_size size = {0};
  struct lumos_error error = {LUMOS_DONE, ""};
  return bench_prepare(input, &size, &error) ? 0 : fail(&error);
}

/* What it makes is left to the end of the process, as in bench_measure. */
static int once(const struct bench_input *input, const char *name, bool run) {
  struct bench_work work = {.input = input, .error = {LUMOS_DONE, ""}};
  for (size_t s = 0; s < bench_stage_count; s++) {
    const struct bench_stage *stage = &bench_stages[s];
    if (strcmp(stage->name, name) == 0) {
      bool good = (stage->prepare == NULL || stage->prepare(&work)) && (!run || stage->run(&work));
      return good ? 0 : fail(&work.error);
    }
  }
  (void)lumos_fail(&work.error, "no stage is called '%s'", name);
  return fail(&work.error);
}

/* bench streams WORK TRACE..., bench prepare STAGE WORK TRACE..., bench run STAGE WORK TRACE... */
static int count(int argc, char **argv) {
  bool streams = strcmp(argv[1], "streams") == 0;
  int first = streams ? 2 : 3;
  const struct bench_input input = {.groups = BENCH_READING | BENCH_BEHIND,
                                    .label = "",
                                    .bin = "",
                                    .work = argv[first],
                                    .paths = (const char *const *)(argv + first + 1),
                                    .count = (size_t)(argc - first - 1)};
  return streams ? make_streams(&input) : once(&input, argv[2], strcmp(argv[1], "run") == 0);
}

static bool is_counting(int argc, char **argv) {
  return (argc >= 4 && strcmp(argv[1], "streams") == 0) ||
         (argc >= 5 && (strcmp(argv[1], "prepare") == 0 || strcmp(argv[1], "run") == 0));
}

int main(int argc, char **argv) {
  tool_keep_memory();
  if (argc == 2 && strcmp(argv[1], "kind") == 0) {
    return printf("compiler %s, C library %s\n", __VERSION__, gnu_get_libc_version()) > 0 ? 0 : 1;
  }
  if (is_counting(argc, argv)) {
    return count(argc, argv);
  }
  if (argc == 4 && strcmp(argv[1], "repeat") == 0) {
    return repeat(argv[2], argv[3]);
  }
  if (argc < 8 || groups_of(argv[1]) == 0 || bench_stage_count > MOST_STAGES) {
    (void)fputs("Usage: bench STAGES LABEL SCALE RUNS BIN WORK TRACE...\n       bench repeat TRACE BYTES\n"
                "       bench streams WORK TRACE...\n       bench prepare|run STAGE WORK TRACE...\n       bench kind\n",
                stderr);
    return 2;
  }
  const struct bench_input input = {.groups = groups_of(argv[1]),
                                    .label = argv[2],
                                    .scale = strtoll(argv[3], NULL, 10),
                                    .bin = argv[5],
                                    .work = argv[6],
                                    .paths = (const char *const *)(argv + 7),
                                    .count = (size_t)argc - 7};
  return measure(&input, argv[4]);
}
