/* Property: what is written reads back in the same bytes, whatever the order of its lines; ranks join to the same bytes
 * in whatever order and grouping.
 *
 * Random jobs are filled by the schema's tables, so that every field takes part.
 */
#include "job/own.h"
#include "job/schema.h"
#include "unit/stream_unit.h"

enum { TRIALS = 150, RANKS = 4, MOST_RECORDS = 4096 };

static uint64_t random_state;

static uint64_t pick(uint64_t bound) { /* 0 .. bound - 1; xorshift */
  random_state ^= random_state << 13U;
  random_state ^= random_state >> 7U;
  random_state ^= random_state << 17U;
  return (random_state >> 11U) % bound;
}

static bool maybe(void) { return pick(2) == 0; }

static lumos_string_id any_string(struct lumos_job *job) {
  static const char *const strings[] = {"",
                                        "a",
                                        "aten::mm",
                                        "void f<float, 4>(int*)",
                                        "\"quoted\" \\ back",
                                        "\x1b[0m",
                                        "\n\t\r\b\f",
                                        "h\xC3\xA9llo \xF0\x9F\x98\x80",
                                        "</script><!--",
                                        "0",
                                        "17"};
  return lumos_intern_text(job->strings, strings[pick(sizeof strings / sizeof *strings)]);
}

static int64_t any_number(uint8_t least) {
  static const int64_t edge = (INT64_C(1) << 53U) - 1;
  int64_t number = pick(8) == 0 ? edge : (int64_t)pick(UINT64_C(1) << pick(40));
  return least == LEAST_ONE ? (number == 0 ? 1 : number) : least == LEAST_ANY && maybe() ? -number : number;
}

static struct lumos_decimal any_decimal(uint8_t least) {
  struct lumos_decimal decimal = {(int64_t)pick(1000000000), (int)pick(7)};
  while (decimal.decimals > 0 && decimal.units % 10 == 0) {
    decimal.decimals--;
    decimal.units /= 10;
  }
  decimal.units = least == LEAST_ANY && maybe() ? -decimal.units : decimal.units;
  return decimal;
}

/* Where references of a rank's records may point: indices in the job's arrays. */
struct reach {
  uint32_t lane_first, lane_count;     /* its lanes */
  uint32_t stream_first, stream_count; /* its streams */
  uint32_t span_first, span_count;
  uint32_t call_first, call_count;   /* tasks on its threads */
  uint32_t group_first, group_count; /* of the whole job */
};

static void fill(struct lumos_job *job, const struct reach *reach, const struct lumos_field *fields, size_t count,
                 const struct lumos_record *record);

static uint32_t any_index(uint32_t first, uint32_t count) {
  return count == 0 ? LUMOS_NONE : first + (uint32_t)pick(count);
}

static void fill_peers(struct lumos_job *job, uint32_t *range) {
  range[0] = (uint32_t)job->peers.count;
  range[1] = (uint32_t)pick(3);
  for (uint32_t i = 0; i < range[1]; i++) {
    struct lumos_peer peer = {(int32_t)pick(9), any_number(LEAST_ZERO), any_number(LEAST_ZERO)};
    lumos_vector_push(&job->peers, peer);
  }
}

/* What a reference of this kind may name. */
static uint32_t any_reference(const struct lumos_job *job, const struct reach *reach, enum lumos_field_kind kind) {
  switch (kind) {
    case FIELD_LANE:
      return any_index(reach->stream_first, reach->stream_count);
    case FIELD_SPAN:
      return any_index(reach->span_first, reach->span_count);
    case FIELD_TASK:
      return any_index(reach->call_first, reach->call_count);
    default: {
      uint32_t group = any_index(reach->group_first, reach->group_count);
      return group == LUMOS_NONE ? LUMOS_NO_STRING : job->groups.items[group].id;
    }
  }
}

static void fill_slot(struct lumos_job *job, const struct reach *reach, const struct lumos_field *field, void *slot) {
  switch (field->kind) {
    case FIELD_INTEGER:
    case FIELD_INSTANT:
      *(int64_t *)slot = field->kind == FIELD_INSTANT ? (int64_t)pick(1000000) : any_number(field->least);
      break;
    case FIELD_WINDOW:
      ((int64_t *)slot)[0] = -(int64_t)pick(1000);
      ((int64_t *)slot)[1] = (int64_t)pick(1000);
      break;
    case FIELD_SMALL:
      *(int32_t *)slot = (int32_t)pick(1000) + (field->least == LEAST_ONE);
      break;
    case FIELD_DECIMAL:
      *(struct lumos_decimal *)slot = any_decimal(field->least);
      break;
    case FIELD_MILLIONTHS:
      *(int32_t *)slot = (int32_t)pick(1000001);
      break;
    case FIELD_STRING:
      *(lumos_string_id *)slot = any_string(job);
      break;
    case FIELD_UNKNOWN:
      *(lumos_string_id *)slot =
          lumos_intern_text(job->strings, maybe() ? "\"new\":[1,{\"a\":null}]" : "\"n\":1,\"m\":\"\\u00e9\"");
      break;
    case FIELD_NAME:
      *(uint8_t *)slot = (uint8_t)(1 + pick(field->names->count - 1));
      break;
    case FIELD_LANE:
    case FIELD_SPAN:
    case FIELD_TASK:
    case FIELD_GROUP:
      *(uint32_t *)slot = any_reference(job, reach, field->kind);
      break;
    case FIELD_ORIGIN:
      *(int32_t *)slot = (int32_t)pick(9);
      ((uint32_t *)slot)[1] = (uint32_t)pick(100);
      break;
    case FIELD_PEERS:
      fill_peers(job, slot);
      break;
    default:
      break;
  }
}

static void fill_object(struct lumos_job *job, const struct reach *reach, const struct lumos_field *object,
                        const struct lumos_record *record) {
  if (!object->required && maybe()) {
    return;
  }
  if (object->flag != 0) {
    *((bool *)record->parts[object->part] + object->flag) = true;
  }
  fill(job, reach, object->members, object->member_count, record);
}

/* Required fields, and some of the others that the job's stage may have. */
static void fill(struct lumos_job *job, const struct reach *reach, const struct lumos_field *fields, size_t count,
                 const struct lumos_record *record) {
  for (size_t i = 0; i < count; i++) {
    const struct lumos_field *field = &fields[i];
    bool chosen = field->required || (field->kind == FIELD_UNKNOWN ? pick(8) == 0 : maybe());
    if (record->parts[field->part] == NULL || field->by > (uint8_t)job->stage) {
      continue;
    }
    if (field->kind == FIELD_OBJECT) {
      fill_object(job, reach, field, record);
    } else if (chosen) {
      fill_slot(job, reach, field, lumos_slot(record, field));
    }
  }
}

static void fill_record(struct lumos_job *job, const struct reach *reach, enum lumos_record_kind kind, void *main) {
  struct lumos_record record = {{main}};
  fill(job, reach, lumos_schema[kind].fields, lumos_schema[kind].count, &record);
}

static void add_group(struct lumos_job *job, uint32_t rank, const char *name) {
  struct reach nothing = {0};
  struct lumos_group group = lumos_group_empty;
  group.rank = rank;
  fill_record(job, &nothing, RECORD_GROUP, &group);
  group.id = lumos_intern_text(job->strings, name);
  group.size = 1 + (int32_t)pick(2);
  group.member_first = (uint32_t)job->group_ranks.count;
  group.member_count = maybe() ? 0 : (uint32_t)group.size;
  for (uint32_t i = 0; i < group.member_count; i++) {
    lumos_vector_push(&job->group_ranks, (int32_t)pick(2));
  }
  lumos_vector_push(&job->groups, group);
}

static void add_lanes(struct lumos_job *job, uint32_t rank, struct reach *reach) {
  uint32_t threads = 1 + (uint32_t)pick(3);
  reach->lane_first = (uint32_t)job->lanes.count;
  reach->lane_count = threads + (uint32_t)pick(3);
  reach->stream_first = reach->lane_first + threads;
  reach->stream_count = reach->lane_count - threads;
  for (uint32_t i = 0; i < reach->lane_count; i++) {
    char name[32];
    struct lumos_lane lane = lumos_lane_empty;
    fill_record(job, reach, RECORD_LANE, &lane);
    (void)snprintf(name, sizeof name, "%s%u", i < threads ? "t" : "s", i);
    lane.rank = rank;
    lane.lane = lumos_intern_text(job->strings, name);
    lane.kind = i < threads ? LUMOS_THREAD : LUMOS_STREAM;
    lane.native = lumos_intern_text(job->strings, name + 1);
    lumos_vector_push(&job->lanes, lane);
  }
}

static void add_spans(struct lumos_job *job, uint32_t rank, struct reach *reach) {
  reach->span_first = (uint32_t)job->spans.count;
  for (uint64_t left = pick(8); left > 0; left--) {
    struct lumos_span span = lumos_span_empty;
    fill_record(job, reach, RECORD_SPAN, &span); /* parents are earlier spans */
    span.rank = rank;
    span.id = 3 * reach->span_count;
    span.lane = maybe() ? LUMOS_NONE : any_index(reach->lane_first, reach->lane_count);
    lumos_vector_push(&job->spans, span);
    reach->span_count++;
  }
}

static void add_task(struct lumos_job *job, struct reach *reach, uint32_t lane, uint32_t seq, uint32_t id) {
  bool stream = job->lanes.items[lane].kind == LUMOS_STREAM;
  struct lumos_task task = lumos_task_empty;
  struct lumos_timing timing = lumos_timing_empty;
  struct lumos_run run = lumos_run_empty;
  struct lumos_detail detail = lumos_detail_empty;
  bool detailed = maybe();
  bool timed = maybe() || (stream && job->stage >= LUMOS_STAGE_GRAPH);
  struct lumos_record record = {{&task, timed ? &timing : NULL, &run, detailed ? &detail : NULL}};
  fill(job, reach, lumos_schema[RECORD_TASK].fields, lumos_schema[RECORD_TASK].count, &record);
  task.id = id;
  task.lane = lane;
  task.seq = seq;
  task.kind = (uint8_t)(stream ? 1 + pick(LUMOS_OTHER_DEVICE) : LUMOS_OP + pick(LUMOS_TASK_KINDS - LUMOS_OP));
  task.lag = stream ? -(int64_t)pick(9) : (int64_t)pick(9);
  task.call = stream ? task.call : LUMOS_NONE;
  timing.origin = (uint8_t)(job->stage < LUMOS_STAGE_GRAPH || !stream ? 0
                            : task.call != LUMOS_NONE                 ? LUMOS_LAUNCHED
                                                                      : LUMOS_BEFORE_RECORDING + pick(3));
  bool host = !stream;
  detail.own_lag = host && detail.own_lag != LUMOS_ABSENT ? (int64_t)pick((uint64_t)task.lag + 1) : LUMOS_ABSENT;
  detail.own_dur = host && detail.own_dur != LUMOS_ABSENT ? (int64_t)pick((uint64_t)task.dur + 1) : LUMOS_ABSENT;
  if (detailed) {
    const struct lumos_task *previous = job->tasks.count == 0 ? NULL : &job->tasks.items[job->tasks.count - 1];
    detail.first_segment = previous != NULL && previous->lane == lane ? (uint32_t)job->tasks.count - 1 : LUMOS_NONE;
    if (stream) {
      detail.event_op = 0;
      detail.event_id = LUMOS_NO_STRING;
      detail.event_lane = LUMOS_NONE;
      detail.wait = lumos_detail_empty.wait;
    }
    *lumos_task_detail(job, &task) = detail;
  }
  if (timed) {
    *lumos_task_timing(job, &task) = timing;
  }
  lumos_vector_push(&job->tasks, task);
  if (job->stage >= LUMOS_STAGE_SIM) {
    lumos_vector_push(&job->runs, run);
  }
}

static void add_tasks(struct lumos_job *job, struct reach *reach) {
  uint32_t spread = maybe() ? 1 : 1 + (uint32_t)pick(1000000);
  uint32_t id = 0;
  reach->call_first = (uint32_t)job->tasks.count;
  for (uint32_t lane = reach->lane_first; lane < reach->lane_first + reach->lane_count; lane++) {
    uint32_t seq = 0;
    for (uint64_t left = pick(6); left > 0; left--) {
      seq += 1 + (uint32_t)pick(3);
      add_task(job, reach, lane, seq, id++ * spread);
      reach->call_count += lane < reach->stream_first;
    }
  }
}

static void add_rank(struct lumos_job *job, int32_t number) {
  static const char *const groups[] = {"dp", "dp@1", "0", "tp"};
  struct reach reach = {0};
  struct lumos_rank rank = lumos_rank_empty;
  uint32_t index = (uint32_t)job->ranks.count;
  fill_record(job, &reach, RECORD_RANK, &rank);
  rank.rank = number;
  rank.world = RANKS;
  rank.clock.drift_ppb %= 100000000; /* as far as a clock may be off */
  rank.device_name = maybe() ? LUMOS_NO_STRING : lumos_intern_text(job->strings, "H100");
  rank.nccl = maybe() ? LUMOS_NO_STRING : lumos_intern_text(job->strings, "2.28.9");
  rank.job_name = maybe() ? LUMOS_NO_STRING : lumos_intern_text(job->strings, "gpt");
  rank.job_version = maybe() ? LUMOS_NO_STRING : lumos_intern_text(job->strings, "7");
  rank.job_attempt = maybe() ? LUMOS_NO_STRING : lumos_intern_text(job->strings, "2");
  lumos_vector_push(&job->ranks, rank);
  if (index == 0) {
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
      if (maybe()) {
        add_group(job, index, groups[i]);
      }
    }
  }
  reach.group_count = (uint32_t)job->groups.count;
  add_lanes(job, index, &reach);
  add_spans(job, index, &reach);
  add_tasks(job, &reach);
}

static void add_scope(struct lumos_job *job, struct lumos_scope *scope) {
  scope->task = any_index(0, (uint32_t)job->tasks.count);
  scope->group = LUMOS_NO_STRING;
  scope->lane = maybe() ? LUMOS_NONE : any_index(0, (uint32_t)job->lanes.count);
  if (scope->lane != LUMOS_NONE) {
    scope->rank = job->ranks.items[job->lanes.items[scope->lane].rank].rank;
  }
}

static void add_notes(struct lumos_job *job) {
  struct reach nothing = {0};
  for (uint64_t left = pick(6); left > 0; left--) {
    struct lumos_note note = lumos_note_empty;
    fill_record(job, &nothing, RECORD_NOTE, &note);
    note.code = lumos_intern_text(job->strings, maybe() ? "parse.a" : "parse.b");
    add_scope(job, &note.scope);
    lumos_vector_push(&job->notes, note);
  }
  for (uint64_t left = pick(3); left > 0; left--) {
    struct lumos_foreign foreign = {
        lumos_intern_text(job->strings, "cloud"),
        lumos_intern_text(job->strings, maybe() ? "{\"type\":\"cloud\"}" : "{ \"a\":1,\"type\":\"cloud\"}")};
    lumos_vector_push(&job->foreign, foreign);
  }
}

/* What graph and sim add beside the fields. */
static void add_later_records(struct lumos_job *job) {
  struct reach nothing = {0};
  uint32_t tasks = (uint32_t)job->tasks.count;
  for (uint64_t left = tasks < 2 ? 0 : pick(5); left > 0; left--) {
    struct lumos_dep dep = lumos_dep_empty;
    fill_record(job, &nothing, RECORD_DEP, &dep);
    bool boundary = dep.kind == LUMOS_BOUNDARY;
    dep.dst = (uint32_t)pick(tasks);
    dep.src = boundary ? LUMOS_NONE : (dep.dst + 1 + (uint32_t)pick(tasks - 1)) % tasks;
    dep.at = boundary ? (int64_t)pick(100) : LUMOS_ABSENT;
    lumos_vector_push(&job->deps, dep);
  }
  for (uint32_t i = 0; i < tasks; i++) {
    if (!lumos_is_communication(job->tasks.items[i].kind) || maybe()) {
      continue;
    }
    struct lumos_collective collective = lumos_collective_empty;
    fill_record(job, &nothing, RECORD_COLLECTIVE, &collective);
    collective.id = i;
    collective.member_first = (uint32_t)job->members.count;
    collective.member_count = 1;
    lumos_vector_push(&job->members, i);
    lumos_vector_push(&job->collectives, collective);
  }
  if (maybe()) {
    struct lumos_model_description model = lumos_model_description_empty;
    fill_record(job, &nothing, RECORD_MODEL, &model);
    int32_t *const sizes[] = {&model.sizes.tp, &model.sizes.pp, &model.sizes.dp, &model.sizes.cp, &model.sizes.ep};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) { /* above all coordinates */
      *sizes[i] += *sizes[i] == LUMOS_ABSENT_INT ? 0 : 1000;
    }
    lumos_vector_push(&job->models, model);
  }
  for (uint64_t left = pick(3); left > 0; left--) {
    struct lumos_memory_event event = lumos_memory_event_empty;
    fill_record(job, &nothing, RECORD_MEMORY, &event);
    lumos_vector_push(&job->memory, event);
  }
  for (uint64_t left = job->stage < LUMOS_STAGE_TRANSFORM ? 0 : pick(3); left > 0; left--) {
    struct lumos_recorded_pass pass = lumos_recorded_pass_empty;
    fill_record(job, &nothing, RECORD_PASS, &pass);
    lumos_vector_push(&job->recorded_passes, pass);
  }
  for (uint64_t left = pick(5); left > 0; left--) {
    struct lumos_metric metric = lumos_metric_empty;
    fill_record(job, &nothing, RECORD_METRIC, &metric);
    metric.high = metric.low.units == LUMOS_ABSENT ? metric.low : metric.value;
    add_scope(job, &metric.scope);
    lumos_vector_push(&job->metrics, metric);
  }
}

static struct lumos_job *random_job(enum lumos_stage stage, int32_t first_rank, int32_t ranks) {
  struct lumos_error error = {0};
  struct lumos_job *job = lumos_job_new();
  job->stage = stage;
  job->epoch = (int64_t)pick(1000000);
  lumos_job_history(job, "lumos-parse", maybe() ? "" : "--stacks", (const char *const[]){maybe() ? "a" : "b"}, 1);
  for (int32_t i = 0; i < ranks; i++) {
    add_rank(job, first_rank + i);
  }
  add_notes(job);
  if (stage >= LUMOS_STAGE_GRAPH) {
    add_later_records(job);
  }
  bool arranged = lumos_job_arrange(job, &error);
  lumos_job_take_old(job, false); /* a reader does, where no task says what is its own */
  if (!arranged || !lumos_job_check(job, &error)) {
    fail_msg("no valid job: %s", error.text);
  }
  return job;
}

/* The text with the lines of ranks shuffled: what stands behind them keeps its order. */
static char *shuffled(const char *text) {
  const char *lines[MOST_RECORDS];
  size_t lengths[MOST_RECORDS];
  size_t count = 0;
  const char *rest = text + strcspn(text, "\n") + 1;
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  lumos_text_add(&out, text, (size_t)(rest - text));
  while (strncmp(rest, "{\"type\":\"rank\"", 14) == 0 || strncmp(rest, "{\"type\":\"group\"", 15) == 0 ||
         strncmp(rest, "{\"type\":\"lane\"", 14) == 0 || strncmp(rest, "{\"type\":\"span\"", 14) == 0 ||
         strncmp(rest, "{\"type\":\"task\"", 14) == 0) {
    assert_true(count < MOST_RECORDS);
    lines[count] = rest;
    lengths[count] = strcspn(rest, "\n") + 1;
    rest += lengths[count++];
  }
  for (size_t left = count; left > 0; left--) {
    size_t chosen = pick(left);
    lumos_text_add(&out, lines[chosen], lengths[chosen]);
    lines[chosen] = lines[left - 1];
    lengths[chosen] = lengths[left - 1];
  }
  lumos_text_put(&out, rest);
  lumos_text_char(&out, '\0');
  return out.bytes;
}

static void written_and_read_is_the_same(void **state) {
  (void)state;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    random_state = trial * 0x9E3779B97F4A7C15U;
    struct lumos_job *job = random_job((enum lumos_stage)(1 + trial % 4), (int32_t)pick(3), 1 + (int32_t)pick(3));
    char *text = stream_text(job);
    char *mixed = shuffled(text);
    struct lumos_job *again = stream_good(text);
    struct lumos_job *sorted = stream_good(mixed);
    expect_stream(again, text);
    expect_stream(sorted, text);
    lumos_job_free(sorted);
    lumos_job_free(again);
    lumos_job_free(job);
    free(mixed);
    free(text);
  }
}

static void join(struct lumos_job **jobs, size_t *count) {
  struct lumos_error error = {0};
  struct lumos_job *joined = lumos_job_join(jobs, *count, &error);
  if (joined == NULL || !lumos_job_check(joined, &error)) {
    fail_msg("not joined: %s", error.text);
  }
  jobs[0] = joined;
  *count = 1;
}

/* Ranks of one job in random order, some joined, written and read before the others come. */
static char *joined_somehow(char *const texts[RANKS]) {
  struct lumos_job *jobs[RANKS];
  size_t count = 0;
  size_t order[RANKS] = {0, 1, 2, 3};
  for (size_t left = RANKS; left > 0; left--) {
    size_t chosen = pick(left);
    jobs[count++] = stream_good(texts[order[chosen]]);
    order[chosen] = order[left - 1];
    if (maybe()) {
      join(jobs, &count);
      char *text = stream_text(jobs[0]);
      lumos_job_free(jobs[0]);
      jobs[0] = stream_good(text);
      free(text);
    }
  }
  join(jobs, &count);
  char *text = stream_text(jobs[0]);
  lumos_job_free(jobs[0]);
  return text;
}

static void ranks_join_to_the_same_bytes(void **state) {
  (void)state;
  for (uint64_t trial = 1; trial <= TRIALS; trial++) {
    char *texts[RANKS];
    random_state = trial * 0x9E3779B97F4A7C15U;
    for (int32_t rank = 0; rank < RANKS; rank++) {
      struct lumos_job *job = random_job(LUMOS_STAGE_PARSE, rank, 1);
      texts[rank] = stream_text(job);
      lumos_job_free(job);
    }
    char *expected = joined_somehow(texts);
    for (int again = 0; again < 3; again++) {
      char *text = joined_somehow(texts);
      if (strcmp(text, expected) != 0) {
        fail_msg("trial %llu: joins differ:\n%s\n%s", (unsigned long long)trial, expected, text);
      }
      free(text);
    }
    free(expected);
    for (int32_t rank = 0; rank < RANKS; rank++) {
      free(texts[rank]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(written_and_read_is_the_same),
      cmocka_unit_test(ranks_join_to_the_same_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
