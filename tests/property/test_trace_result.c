/* Property: one damage to a trace changes what is said of the job by no more than the damaged event is worth. The first
 * step begins where it began, no step takes in another's work, what is no damage changes no byte, and whatever changes
 * has a note that warns.
 *
 * LUMOS_SEED chooses other places, LUMOS_WAYS how many ways to damage each trace (36).
 */
#include "base/input.h"
#include "property/damage.h"
#include "unit/trace_text.h"
#include <cjson/cJSON.h>

enum { STEPS = 4096, SLACK = 8 };

/* What a parse says. */
struct result {
  struct lumos_job *job;
  char *text;   /* the stream */
  int64_t base; /* absolute */
  int64_t warnings;
  int64_t work[STEPS]; /* tasks of each step */
  int64_t shortest;    /* mark of a step */
};

static void parse_text(const char *text, size_t length, struct result *result) {
  static const struct lumos_trace_options plain = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_text stream = LUMOS_TEXT_BUFFER;
  *result = (struct result){.job = parse_named("rank0.json", text, length, &plain, &error), .shortest = INT64_MAX};
  if (result->job == NULL || !lumos_job_check(result->job, &error)) {
    fail_msg("%s", error.text);
    return; /* fail_msg does not */
  }
  const struct lumos_job *job = result->job;
  lumos_stream_write(job, &stream);
  lumos_text_add(&stream, "", 1);
  result->text = stream.bytes;
  result->base = job->epoch + job->ranks.items[0].base;
  for (size_t i = 0; i < job->notes.count; i++) {
    result->warnings += job->notes.items[i].level != LUMOS_INFO;
  }
  for (size_t i = 0; i < job->tasks.count; i++) {
    int32_t step = job->tasks.items[i].step;
    if (step >= 0 && step < STEPS) {
      result->work[step]++;
    }
  }
  for (size_t i = 0; i < job->spans.count; i++) {
    const struct lumos_span *span = &job->spans.items[i];
    if (span->kind == LUMOS_SPAN_STEP && span->dur < result->shortest) {
      result->shortest = span->dur;
    }
  }
}

static void free_result(struct result *result) {
  lumos_job_free(result->job);
  free(result->text);
}

static bool is_mark(const struct document *document, size_t event) {
  static const char prefix[] = "\"ProfilerStep#";
  struct piece name = {NULL, 0};
  if (event < document->count) {
    name = value_of(&document->events[event], "\"name\"");
  }
  return name.length >= sizeof prefix && memcmp(name.bytes, prefix, sizeof prefix - 1) == 0;
}

/* Does the damage hit a mark? It takes its event and at most a neighbour. */
static bool hits_mark(const struct document *document, const struct damaged *damaged) {
  size_t first = damaged->event > 0 ? damaged->event - 1 : 0;
  return is_mark(document, first) || is_mark(document, damaged->event) || is_mark(document, damaged->event + 1);
}

/* Is there an event of some length before this one? */
static bool has_work(const struct document *document, size_t event) {
  for (size_t i = 0; i < event; i++) {
    if (value_of(&document->events[i], "\"dur\"").bytes != NULL) {
      return true;
    }
  }
  return false;
}

static bool is_valid(const char *text) {
  cJSON *parsed = cJSON_Parse(text);
  cJSON_Delete(parsed);
  return parsed != NULL;
}

static void fail_round(const char *name, const struct damaged *damaged, const char *what, int64_t is, int64_t was) {
  fail_msg("%s: %s at event %zu, byte %zu: %s: %" PRId64 ", without it %" PRId64, name, damage_name(damaged->kind),
           damaged->event, damaged->whole, what, is, was);
}

static void compare(const char *name, const struct document *document, const struct damaged *damaged,
                    const struct result *whole, const struct result *result) {
  bool cut = damaged->kind == DAMAGE_CUT;
  bool harmless = damaged->kind == DAMAGE_CRLF || damaged->kind == DAMAGE_BOM;
  if (harmless && strcmp(whole->text, result->text) != 0) {
    fail_round(name, damaged, "what is no damage changes the stream", 1, 0);
  }
  if (cut && find_note(result->job, "parse.truncated") == NULL) {
    fail_round(name, damaged, "a cut without a note", 0, 1);
  }
  bool same_clock = !cut && damaged->kind != DAMAGE_METADATA; /* which hold what times count from */
  if (same_clock && !hits_mark(document, damaged) && llabs(result->base - whole->base) > whole->shortest / 20) {
    fail_round(name, damaged, "the first step begins elsewhere", result->base, whole->base);
  }
  bool marked = find_note(result->job, "parse.no_steps") == NULL; /* else all is one step, and said to be */
  for (size_t step = 0; step < STEPS; step++) {
    if (marked && whole->shortest != INT64_MAX && result->work[step] > whole->work[step] + SLACK && !cut) {
      fail_round(name, damaged, "a step has more work than it had", result->work[step], whole->work[step]);
    }
  }
  bool changed = result->base != whole->base || result->job->tasks.count != whole->job->tasks.count;
  bool two_halves_fit = damaged->kind == DAMAGE_HOLE;
  if (changed && result->warnings <= whole->warnings && !two_halves_fit && !is_valid(damaged->text)) {
    fail_round(name, damaged, "a change without a warning", result->warnings, whole->warnings);
  }
}

static void damage_trace(const char *name, char *text, size_t length) {
  uint64_t seed = chosen_seed();
  for (const char *place = name; *place != '\0'; place++) {
    seed = seed * 31 + (unsigned char)*place;
  }
  struct document document = take_apart(text, length);
  struct result whole;
  parse_text(text, length, &whole);
  for (int way = 0; way < chosen_ways(); way++) {
    enum damage kind = (enum damage)(way % DAMAGES);
    if (kind == DAMAGE_CUT_GZIP || kind == DAMAGE_MEMBERS) {
      continue; /* of the file, not of the text */
    }
    struct damaged damaged;
    struct result result;
    damage(&document, kind, &seed, &damaged);
    if (kind == DAMAGE_CUT && !has_work(&document, damaged.event)) {
      free(damaged.text);
      continue; /* what is left of it is no trace */
    }
    parse_text(damaged.text, damaged.length, &result);
    compare(name, &document, &damaged, &whole, &result);
    free_result(&result);
    free(damaged.text);
  }
  free_result(&whole);
  free_document(&document);
}

/* A trace of four steps and a backlog, whose every mark, launch and kernel is lost in turn. */
static char *small_trace(size_t *length) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(
      &text, "{\"baseTimeNanoseconds\":1751410836000000000,\n\"traceEvents\":[\n" KERNEL("backlog", 7, 5, 900, 105));
  for (int step = 0; step < 4; step++) {
    int at = 1000 + 1000 * step;
    lumos_text_format(&text,
                      ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#%d\",\"pid\":1,\"tid\":10,"
                      "\"ts\":%d,\"dur\":%d}",
                      step + 7, at, 995);
    for (int i = 0; i < 9; i++) {
      int id = 10 + 10 * step + i;
      int start = at + 20 + 100 * i;
      lumos_text_format(
          &text,
          ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":10,\"ts\":%d,"
          "\"dur\":40},\n{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
          "\"tid\":10,\"ts\":%d,\"dur\":9,\"args\":{\"correlation\":%d}},\n{\"ph\":\"X\",\"cat\":\"kernel\","
          "\"name\":\"gemm\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":30,\"args\":{\"device\":0,\"stream\":7,"
          "\"correlation\":%d}}",
          start, start + 10, id, start + 20, id);
    }
  }
  lumos_text_put(&text, ",\n" OP("tail", 6000, 5) "]}");
  *length = text.length;
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

static void every_event_of_a_small_trace(void **state) {
  (void)state;
  size_t length = 0;
  char *text = small_trace(&length);
  struct document document = take_apart(text, length);
  struct result whole;
  parse_text(text, length, &whole);
  assert_int_equal(whole.shortest, 995000);
  for (size_t event = 0; event + 1 < document.count; event++) {
    struct damaged damaged = {.kind = DAMAGE_HOLE, .event = event};
    struct result result;
    const char *end = document.events[event].bytes + document.events[event].length;
    splice(&document, &damaged, end - 1, end, "", 0); /* the event's last brace */
    parse_text(damaged.text, damaged.length, &result);
    compare("small", &document, &damaged, &whole, &result);
    free_result(&result);
    free(damaged.text);
  }
  free_result(&whole);
  free_document(&document);
}

static char *text_of_file(const char *folder, const char *name, size_t *length) {
  struct lumos_error error = {LUMOS_DONE, ""};
  char *path = unit_path(folder, name);
  char *text = lumos_input_slurp(path, (size_t)1 << 28U, length, &error);
  free(path);
  return text;
}

static void the_examples(void **state) {
  (void)state;
  const char *source = getenv("LUMOS_SOURCE");
  static const char *const names[] = {"examples/traces/rank0.json.gz", "examples/traces/rank1.json.gz"};
  for (size_t i = 0; i < 2; i++) {
    size_t length = 0;
    char *text = text_of_file(source != NULL ? source : "../..", names[i], &length);
    assert_non_null(text);
    damage_trace(names[i], text, length);
  }
}

static void public_traces(void **state) {
  (void)state;
  static const char *const names[] = {
      "kineto-tb-old-format/gpu_metrics_input.json.gz",
      "ao-ep-moe-2xB200/syncless_ep_moe_fwd.json.gz",
      "hta-cuda-sync-A100/alexnet-benchmark_result_2869224_1695835535_trace.json.gz",
  };
  const char *folder = getenv("LUMOS_TRACES");
  size_t found = 0;
  for (size_t i = 0; i < sizeof names / sizeof *names && folder != NULL; i++) {
    size_t length = 0;
    char *text = text_of_file(folder, names[i], &length);
    if (text != NULL) {
      found++;
      damage_trace(names[i], text, length);
    }
  }
  if (found == 0) {
    print_message("SKIPPED: the public traces are not here (LUMOS_TRACES)\n");
    skip();
  }
}

int main(void) {
  print_message("seed %" PRIu64 ", %d ways to damage each trace\n", chosen_seed(), chosen_ways());
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_event_of_a_small_trace),
      cmocka_unit_test(the_examples),
      cmocka_unit_test(public_traces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
