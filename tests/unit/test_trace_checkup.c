/* What --check finds: recordings made of parts that can be left out, so that every gap is there once and gone once, and
 * all of their combinations, over which recording more must never lower the grade.
 */
#include "trace_text.h"
#include <lumos/checkup.h>

/* The parts of a recording; all of them: nothing is missing. */
enum part {
  CPU = 1 << 0,       /* ops and marks of the host */
  CUDA = 1 << 1,      /* calls and device tasks */
  STEPS = 1 << 2,     /* marks */
  SEVERAL = 1 << 3,   /* two steps instead of one */
  SYNC = 1 << 4,      /* which event a stream waits for */
  SHAPES = 1 << 5,    /* of operands */
  ARGUMENTS = 1 << 6, /* of collectives */
  GRAPH = 1 << 7,     /* node ids of a graph's kernels */
  WORLD = 1 << 8,     /* how many ranks there are */
  PEER = 1 << 9,      /* the other rank's trace */
  ALL = (1 << 10) - 1,
  STACKS = 1 << 10, /* options of single tests */
  LONELY = 1 << 11, /* one stream, no collective, no graph, a world of one */
  QUEUED = 1 << 12, /* a kernel and a collective from before the recording for each that was launched within it */
  HIP = 1 << 13,    /* ROCm's names of calls */
  UNSEEN = 1 << 14, /* sync events that name no event */
  IDLE = 1 << 15,   /* a stream without work waits, too, of which there is no row */
};

static void put_event(struct lumos_text *text, const char *category, const char *name, int thread, int ts, int dur,
                      const char *arguments) {
  lumos_text_format(
      text, ",\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"args\":{%s}}",
      category, name, strcmp(category, "kernel") == 0 ? 0 : 1, thread, ts, dur, arguments);
}

static void put_call(struct lumos_text *text, int parts, const char *name, int correlation, int ts) {
  char full[64];
  char arguments[64];
  (void)snprintf(full, sizeof full, "%s%s", (parts & HIP) != 0 ? "hip" : "cuda", name);
  (void)snprintf(arguments, sizeof arguments, "\"correlation\":%d", correlation);
  put_event(text, "cuda_runtime", full, 10, ts, 5, arguments);
}

static void put_kernel(struct lumos_text *text, const char *name, int stream, int correlation, int ts,
                       const char *more) {
  char arguments[512];
  (void)snprintf(arguments, sizeof arguments, "\"device\":0,\"stream\":%d,\"correlation\":%d%s", stream, correlation,
                 more);
  put_event(text, "kernel", name, stream, ts, 20, arguments);
}

#define GROUP                                                                                                         \
  ",\"Collective name\":\"allreduce\",\"In msg nelems\":8,\"Out msg nelems\":8,\"Group size\":2,\"dtype\":\"Float\"," \
  "\"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\""

/* A row of cuda_sync; `named` is what UNSEEN leaves out. */
static void put_sync(struct lumos_text *text, int parts, const char *kind, int correlation, int ts, const char *named) {
  char arguments[256];
  if ((parts & (SYNC | UNSEEN)) != 0) {
    (void)snprintf(arguments, sizeof arguments, "\"cuda_sync_kind\":\"%s\",\"correlation\":%d,\"device\":0%s", kind,
                   correlation, (parts & UNSEEN) != 0 ? "" : named);
    put_event(text, "cuda_sync", kind, 20, ts, 1, arguments);
  }
}

/* Three waits: of a stream for an event, of the host for an event and for a stream. */
static void put_waits(struct lumos_text *text, int parts, int at, int id) {
  char event[96];
  (void)snprintf(event, sizeof event, ",\"stream\":20,\"wait_on_stream\":7,\"wait_on_cuda_event_record_corr_id\":%d",
                 id);
  put_call(text, parts, "EventRecord", id, at);
  put_call(text, parts, "StreamWaitEvent", id + 1, at + 10);
  put_sync(text, parts, "Stream Wait Event", id + 1, at + 10, event);
  put_call(text, parts, "EventSynchronize", id + 2, at + 20);
  put_sync(text, parts, "Event Sync", id + 2, at + 20, event);
  put_call(text, parts, "StreamSynchronize", id + 3, at + 30);
  put_sync(text, parts, "Stream Sync", id + 3, at + 30, ",\"stream\":7");
  if ((parts & IDLE) != 0) {
    put_call(text, parts, "StreamWaitEvent", id + 4, at + 40);
  }
}

static void put_device_work(struct lumos_text *text, int parts, int at, int id) {
  put_call(text, parts, "LaunchKernel", id + 1, at + 20);
  put_kernel(text, "ampere_sgemm_128x64_tn", 7, id + 1, at + 40, "");
  put_waits(text, parts, at + 300, id + 10);
  if ((parts & LONELY) != 0) {
    return;
  }
  put_call(text, parts, "LaunchKernel", id + 4, at + 110);
  put_kernel(text, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, id + 4, at + 120,
             (parts & CPU) != 0 && (parts & ARGUMENTS) != 0 ? GROUP : "");
  if ((parts & QUEUED) != 0) {
    put_kernel(text, "ampere_sgemm_128x64_tn", 7, 1, 2, "");
    put_kernel(text, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 20, 2, 4, "");
  }
  put_call(text, parts, "GraphLaunch", id + 5, at + 150);
  put_kernel(text, "replayed", 7, id + 5, at + 160, (parts & GRAPH) != 0 ? ",\"graph node id\":3" : "");
  put_kernel(text, "replayed", 7, id + 5, at + 190, (parts & GRAPH) != 0 ? ",\"graph node id\":4" : "");
}

static void put_step(struct lumos_text *text, int parts, int number) {
  int at = 100 + number * 1000;
  char mark[32];
  (void)snprintf(mark, sizeof mark, "ProfilerStep#%d", number + 5);
  if ((parts & CPU) != 0) {
    if ((parts & STEPS) != 0) {
      put_event(text, "user_annotation", mark, 10, at, 900, "");
    }
    put_event(text, "cpu_op", "aten::mm", 10, at + 10, 85, (parts & SHAPES) != 0 ? "\"Input Dims\":[[2,3],[3,4]]" : "");
    put_event(text, "cpu_op", "record_param_comms", 10, at + 100, 40, "");
  }
  if ((parts & STACKS) != 0) {
    put_event(text, "python_function", "train.py(3): step", 10, at + 5, 800, "");
  }
  if ((parts & CUDA) != 0) {
    put_device_work(text, parts, at, 100 + number * 100);
  }
}

/* The trace of one rank, up to its closing brackets. */
static char *trace_of(int parts, int rank) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  int world = (parts & LONELY) != 0 ? 1 : 2;
  lumos_text_put(&text, "{\"schemaVersion\":1,");
  if ((parts & WORLD) != 0) {
    lumos_text_format(&text, "\"distributedInfo\":{\"rank\":%d,\"world_size\":%d},", rank, world);
  }
  lumos_text_put(
      &text, "\"traceEvents\":[{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"tid\":0,\"args\":{\"name\":\"p\"}}");
  for (int step = 0; step < ((parts & SEVERAL) != 0 ? 2 : 1); step++) {
    put_step(&text, parts, step);
  }
  put_event(&text, "user_annotation", "the end", 10, 9000, 1, "");
  lumos_text_add(&text, "", 1);
  return text.bytes;
}

/* Parse the traces of `count` ranks; they are closed here. */
static struct lumos_job *parse_ranks(char *const *texts, int count) {
  static const struct lumos_trace_options plain = {.steps = LUMOS_STEPS_COMPLETE};
  struct lumos_error error = {LUMOS_DONE, ""};
  char *folder = unit_folder_new();
  for (int rank = 0; rank < count; rank++) {
    char name[16];
    (void)snprintf(name, sizeof name, "rank%d.json", rank);
    char *path = unit_path(folder, name);
    char *closed = NULL;
    assert_true(asprintf(&closed, "%s]}", texts[rank]) > 0);
    unit_write_file(path, closed, strlen(closed));
    free(closed);
    free(path);
  }
  const char *const paths[] = {folder};
  struct lumos_job *job = lumos_trace_parse(paths, 1, &plain, &error);
  if (job == NULL) {
    fail_msg("%s", error.text);
  }
  assert_true(lumos_job_check(job, &error));
  unit_folder_remove(folder);
  return job;
}

static struct lumos_checkup checkup_of(int parts) {
  struct lumos_checkup checkup;
  char *texts[] = {trace_of(parts, 0), trace_of(parts, 1)};
  struct lumos_job *job = parse_ranks(texts, (parts & PEER) != 0 ? 2 : 1);
  lumos_checkup_take(job, &checkup);
  lumos_job_free(job);
  free(texts[0]);
  free(texts[1]);
  return checkup;
}

/* NULL: none of this code. */
static const struct lumos_checkup_row *find(const struct lumos_checkup *checkup, const char *code) {
  for (size_t i = 0; i < checkup->count; i++) {
    if (strcmp(checkup->findings[i].code, code) == 0) {
      return &checkup->findings[i];
    }
  }
  return NULL;
}

static void expect(const struct lumos_checkup *checkup, const char *code, int have, int of, enum lumos_grade grade) {
  const struct lumos_checkup_row *finding = find(checkup, code);
  if (finding == NULL || finding->have != have || finding->of != of || finding->grade != grade) {
    fail_msg("%s: expected %d of %d, grade %s; found %d of %d, grade %s", code, have, of, lumos_grade_name(grade),
             finding != NULL ? (int)finding->have : -1, finding != NULL ? (int)finding->of : -1,
             finding != NULL ? lumos_grade_name(finding->grade) : "none");
    return; /* fail_msg does not */
  }
  assert_int_equal(finding->cost != NULL, finding->cure != NULL);
  assert_true(grade == LUMOS_GRADE_A || finding->cost != NULL);
}

static void a_full_recording_lacks_nothing(void **state) {
  (void)state;
  struct lumos_checkup checkup = checkup_of(ALL | STACKS);
  assert_int_equal(checkup.grade, LUMOS_GRADE_A);
  for (size_t i = 0; i < checkup.count; i++) {
    assert_null(checkup.findings[i].cost);
  }
  expect(&checkup, "device_work", 2, 2, LUMOS_GRADE_A);
  expect(&checkup, "launches", 16, 16, LUMOS_GRADE_A);
  expect(&checkup, "ops", 8, 16, LUMOS_GRADE_A); /* graphs are launched outside of ops */
  expect(&checkup, "steps", 2, 2, LUMOS_GRADE_A);
  expect(&checkup, "ranks", 2, 2, LUMOS_GRADE_A);
  expect(&checkup, "sync_events", 12, 12, LUMOS_GRADE_A);
  expect(&checkup, "collective_arguments", 4, 4, LUMOS_GRADE_A);
  expect(&checkup, "shapes", 4, 4, LUMOS_GRADE_A);
  expect(&checkup, "graph_nodes", 8, 8, LUMOS_GRADE_A);
  expect(&checkup, "stacks", 2, 2, LUMOS_GRADE_A);
  assert_int_equal(checkup.count, 10);
  assert_int_equal(checkup.ranks, 2);
  assert_int_equal(checkup.world, 2);
  assert_int_equal(checkup.steps, 2);
  assert_int_equal(checkup.device_tasks, 16);
  assert_int_equal(checkup.streams, 4);
  assert_int_equal(checkup.communication, 4);
  assert_int_equal(checkup.threads, 2);
  assert_int_equal(checkup.duration, 8901000);
}

/* Each part left out, the rest recorded: its row, and the grade of the whole. */
static void each_gap_is_found_by_its_count(void **state) {
  (void)state;
  static const struct {
    const char *code;
    int without, have, of;
    enum lumos_grade grade;
  } gaps[] = {
      {"device_work", CUDA, 0, 2, LUMOS_GRADE_D},  {"ops", CPU, 0, 8, LUMOS_GRADE_C},
      {"steps", STEPS, 0, 2, LUMOS_GRADE_C},       {"steps", SEVERAL, 1, 2, LUMOS_GRADE_B},
      {"ranks", PEER, 1, 2, LUMOS_GRADE_C},        {"world", WORLD, 0, 2, LUMOS_GRADE_C},
      {"sync_events", SYNC, 0, 12, LUMOS_GRADE_C}, {"collective_arguments", ARGUMENTS, 0, 4, LUMOS_GRADE_C},
      {"shapes", SHAPES, 0, 4, LUMOS_GRADE_B},     {"graph_nodes", GRAPH, 0, 8, LUMOS_GRADE_B},
  };
  for (size_t i = 0; i < sizeof gaps / sizeof *gaps; i++) {
    /* without the host's marks there is one step, and all of its work counts as that */
    struct lumos_checkup checkup = checkup_of(ALL & ~gaps[i].without);
    int of = gaps[i].without == CPU ? 16 : gaps[i].of;
    expect(&checkup, gaps[i].code, gaps[i].have, of, gaps[i].grade);
    assert_int_equal(checkup.grade, gaps[i].grade);
    assert_true(lumos_is_gap(find(&checkup, gaps[i].code)));
  }
}

/* Stacks slow the host: their absence has a price, but is none that lowers the grade. */
static void stacks_are_optional(void **state) {
  (void)state;
  struct lumos_checkup checkup = checkup_of(ALL);
  expect(&checkup, "stacks", 0, 2, LUMOS_GRADE_A);
  assert_non_null(find(&checkup, "stacks")->cost);
  assert_int_equal(checkup.grade, LUMOS_GRADE_A);
}

static void what_has_no_use_is_not_asked_for(void **state) {
  (void)state;
  struct lumos_checkup checkup = checkup_of(CPU | CUDA | STEPS | SEVERAL | SHAPES | WORLD | LONELY);
  assert_int_equal(checkup.grade, LUMOS_GRADE_A);
  static const char *const codes[] = {"ranks",       "world", "sync_events", "collective_arguments",
                                      "graph_nodes", "files", "events"};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    assert_null(find(&checkup, codes[i]));
  }
}

/* What was launched before the recording has no arguments, whatever the options: only that it is so is a gap. */
static void work_from_before_the_recording_is_one_gap(void **state) {
  (void)state;
  struct lumos_checkup checkup = checkup_of(ALL | QUEUED);
  expect(&checkup, "launches", 16, 24, LUMOS_GRADE_B);
  expect(&checkup, "collective_arguments", 4, 8, LUMOS_GRADE_A);
  assert_int_equal(find(&checkup, "collective_arguments")->before, 4);
  expect(&checkup, "shapes", 4, 4, LUMOS_GRADE_A);
  assert_int_equal(checkup.grade, LUMOS_GRADE_B);
}

/* Sync events that name nothing were recorded: the cure is not to switch them on. */
static void sync_events_without_an_event_are_told_apart(void **state) {
  (void)state;
  struct lumos_checkup none = checkup_of(ALL & ~SYNC);
  struct lumos_checkup unseen = checkup_of((ALL & ~SYNC) | UNSEEN);
  expect(&unseen, "sync_events", 0, 12, LUMOS_GRADE_B);
  assert_string_not_equal(find(&none, "sync_events")->cure, find(&unseen, "sync_events")->cure);
}

/* Where waits have rows, one without a row is of a stream without work: nothing waits. Where none has, nothing tells
 * them apart. */
static void waits_of_streams_without_work_are_not_asked_for(void **state) {
  (void)state;
  struct lumos_checkup recorded = checkup_of(ALL | IDLE);
  expect(&recorded, "sync_events", 12, 12, LUMOS_GRADE_A);
  struct lumos_checkup unseen = checkup_of((ALL & ~SYNC) | UNSEEN | IDLE);
  expect(&unseen, "sync_events", 0, 12, LUMOS_GRADE_B);
  struct lumos_checkup none = checkup_of((ALL & ~SYNC) | IDLE);
  expect(&none, "sync_events", 0, 16, LUMOS_GRADE_C);
}

/* ROCm's profiler has no such rows: there is nothing to switch on. */
static void what_a_device_cannot_record_has_no_cure(void **state) {
  (void)state;
  struct lumos_checkup checkup = checkup_of((ALL & ~(SYNC | GRAPH)) | HIP);
  expect(&checkup, "sync_events", 0, 12, LUMOS_GRADE_C);
  expect(&checkup, "graph_nodes", 0, 8, LUMOS_GRADE_B);
  assert_memory_equal(find(&checkup, "sync_events")->cure, "none:", 5);
  assert_memory_equal(find(&checkup, "graph_nodes")->cure, "none:", 5);
}

/* One rank recorded with an option, the other without. */
static void parts_are_counted_over_all_ranks(void **state) {
  (void)state;
  struct lumos_checkup checkup;
  char *texts[] = {trace_of(ALL, 0), trace_of(ALL & ~(SYNC | SHAPES | ARGUMENTS | GRAPH), 1)};
  struct lumos_job *job = parse_ranks(texts, 2);
  lumos_checkup_take(job, &checkup);
  expect(&checkup, "sync_events", 6, 12, LUMOS_GRADE_B);
  expect(&checkup, "collective_arguments", 2, 4, LUMOS_GRADE_B);
  expect(&checkup, "graph_nodes", 4, 8, LUMOS_GRADE_B);
  expect(&checkup, "shapes", 2, 4, LUMOS_GRADE_A); /* ops without shapes are common where others have them */
  lumos_job_free(job);
  free(texts[0]);
  free(texts[1]);
}

static void damage_is_a_gap(void **state) {
  (void)state;
  static const char invalid[] = ",\n{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n\",\"pid\":1,\"tid\":10,\"ts\":8000}";
  struct lumos_checkup checkup;
  char *whole = trace_of(ALL & ~PEER, 0);
  char *texts[] = {NULL};
  assert_true(asprintf(&texts[0], "%s%s", whole, invalid) > 0);
  struct lumos_job *job = parse_ranks(texts, 1);
  lumos_checkup_take(job, &checkup);
  expect(&checkup, "events", (int)checkup.events, (int)checkup.events + 1, LUMOS_GRADE_B);
  assert_null(find(&checkup, "files"));
  lumos_job_free(job);
  struct lumos_error error = {LUMOS_DONE, ""};
  static const struct lumos_trace_options plain = {.steps = LUMOS_STEPS_COMPLETE};
  job = parse_named("rank0.json", whole, strlen(whole), &plain, &error); /* never closed */
  assert_non_null(job);
  lumos_checkup_take(job, &checkup);
  expect(&checkup, "files", 0, 1, LUMOS_GRADE_B);
  lumos_job_free(job);
  free(whole);
  free(texts[0]);
}

/* clang-format off */
static void take(struct lumos_checkup *checkup, const char *text, struct lumos_job **job) {
  *job = parse_good(text, NULL);
  lumos_checkup_take(*job, checkup);
}

/* Marks in which nothing happens are marks: to call profiler.step() is not the cure. */
static void idle_marks_are_no_missing_marks(void **state) {
  (void)state;
  struct lumos_job *job;
  struct lumos_checkup checkup;
  take(&checkup, TRACE(ANNOTATION("ProfilerStep#3", 0, 4) "," OP("a", 5, 1)), &job);
  assert_true(checkup.idle_steps);
  assert_int_equal(checkup.steps, 0);
  expect(&checkup, "steps", 0, 2, LUMOS_GRADE_C);
  assert_non_null(strstr(find(&checkup, "steps")->cost, "inside the step marks"));
  lumos_job_free(job);
}

/* What few have is missing. */
static void some_is_not_enough(void **state) {
  (void)state;
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  struct lumos_job *job;
  struct lumos_checkup checkup;
  lumos_text_put(&text, "{\"traceEvents\":[" OP("tail", 90000, 1));
  for (int i = 0; i < 256; i++) {
    put_event(&text, "cpu_op", "aten::mm", 10, 100 * i, 50, i < 32 ? "\"Input Dims\":[[2,3],[3,4]]" : "");
    put_call(&text, 0, "LaunchKernel", i + 1, 100 * i + 10);
    put_kernel(&text, "ampere_sgemm_128x64_tn", 7, i + 1, 100 * i + 30, "");
  }
  lumos_text_put(&text, "]}");
  lumos_text_add(&text, "", 1);
  take(&checkup, text.bytes, &job);
  expect(&checkup, "shapes", 32, 256, LUMOS_GRADE_B);
  expect(&checkup, "ops", 256, 256, LUMOS_GRADE_A);
  assert_null(find(&checkup, "calls"));
  lumos_job_free(job);
  lumos_text_free(&text);
}

/* A kernel whose call is lost is counted, and rows that nobody knows are named. */
static void what_is_lost_or_unknown_is_told(void **state) {
  (void)state;
  struct lumos_job *job;
  struct lumos_checkup checkup;
  take(&checkup, TRACE(OP("aten::mm", 0, 9) "," CALL("cudaLaunchKernel", 1, 1, 2) "," KERNEL("k", 7, 1, 20, 2) ","
                       KERNEL("odd", 7, 0, 30, 2) "," EVENT("novel", "n", 10, 40, 2, "") ","
                       EVENT("xpu_sync", "n", 10, 40, 2, "")), &job);
  expect(&checkup, "calls", 1, 2, LUMOS_GRADE_B);
  expect(&checkup, "categories", 5, 6, LUMOS_GRADE_B);
  expect(&checkup, "unread_rows", 5, 6, LUMOS_GRADE_B);
  assert_string_equal(find(&checkup, "unread_rows")->names, "xpu_sync");
  assert_string_equal(find(&checkup, "categories")->names, "novel");
  lumos_job_free(job);
  take(&checkup, TRACE(OP("aten::mm", 0, 9) "," EVENT("mtia_insight", "n", 10, 40, 2, "")), &job);
  expect(&checkup, "device_work", 0, 1, LUMOS_GRADE_D);
  assert_memory_equal(find(&checkup, "device_work")->cure, "none:", 5);
  assert_string_equal(find(&checkup, "device_work")->names, "mtia_insight");
  lumos_job_free(job);
}

/* Damaged metadata are no events. */
static void damaged_metadata_are_told_apart(void **state) {
  (void)state;
  struct lumos_job *job;
  struct lumos_checkup checkup;
  take(&checkup, "{\"deviceProperties\":[{\"id\":}],\"traceEvents\":[" OP("a", 1, 1) "]}", &job);
  expect(&checkup, "metadata", 0, 1, LUMOS_GRADE_B);
  assert_null(find(&checkup, "events"));
  lumos_job_free(job);
}

/* clang-format on */

/* Of CUDA's activities alone, without even the calls. */
static void a_device_without_a_host_is_half_a_job(void **state) {
  (void)state;
  struct lumos_checkup checkup;
  struct lumos_job *job = parse_good(TRACE(KERNEL("ampere_sgemm_128x64_tn", 7, 1, 10, 5)), NULL);
  lumos_checkup_take(job, &checkup);
  expect(&checkup, "launches", 0, 1, LUMOS_GRADE_D);
  assert_null(find(&checkup, "ops"));
  assert_null(find(&checkup, "stacks"));
  assert_int_equal(checkup.grade, LUMOS_GRADE_D);
  lumos_job_free(job);
}

static void without_work_there_is_nothing_to_analyse(void **state) {
  (void)state;
  struct lumos_checkup checkup = checkup_of(STEPS);
  assert_int_equal(checkup.grade, LUMOS_GRADE_F);
}

/* Every set of parts, and every part that can be added to it: 5120 pairs. */
static void recording_more_never_lowers_the_grade(void **state) {
  (void)state;
  static enum lumos_grade grades[ALL + 1];
  for (int parts = 0; parts <= ALL; parts++) {
    grades[parts] = checkup_of(parts).grade;
  }
  for (int parts = 0; parts <= ALL; parts++) {
    for (int part = 1; part <= ALL; part <<= 1) {
      if (grades[parts | part] > grades[parts]) {
        fail_msg("the recording 0x%x has grade %s, and with 0x%x grade %s", (unsigned)parts,
                 lumos_grade_name(grades[parts]), (unsigned)part, lumos_grade_name(grades[parts | part]));
      }
    }
  }
  assert_int_equal(grades[0], LUMOS_GRADE_F);
  assert_int_equal(grades[ALL], LUMOS_GRADE_A);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_full_recording_lacks_nothing),
      cmocka_unit_test(each_gap_is_found_by_its_count),
      cmocka_unit_test(stacks_are_optional),
      cmocka_unit_test(what_has_no_use_is_not_asked_for),
      cmocka_unit_test(work_from_before_the_recording_is_one_gap),
      cmocka_unit_test(sync_events_without_an_event_are_told_apart),
      cmocka_unit_test(waits_of_streams_without_work_are_not_asked_for),
      cmocka_unit_test(what_a_device_cannot_record_has_no_cure),
      cmocka_unit_test(parts_are_counted_over_all_ranks),
      cmocka_unit_test(damage_is_a_gap),
      cmocka_unit_test(idle_marks_are_no_missing_marks),
      cmocka_unit_test(some_is_not_enough),
      cmocka_unit_test(what_is_lost_or_unknown_is_told),
      cmocka_unit_test(damaged_metadata_are_told_apart),
      cmocka_unit_test(a_device_without_a_host_is_half_a_job),
      cmocka_unit_test(without_work_there_is_nothing_to_analyse),
      cmocka_unit_test(recording_more_never_lowers_the_grade),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
