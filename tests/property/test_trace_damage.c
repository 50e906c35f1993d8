/* Property: of a damaged trace, all events are kept but the damaged one and at most its neighbour, each with its own
 * values, and what is lost is counted where it lies; --strict fails wherever something is counted. Traces of many forms
 * are damaged in many ways at random places; which events must be kept is known from the undamaged text, which is read
 * here without the reader's code.
 *
 * LUMOS_SEED chooses other places, LUMOS_WAYS how many ways to damage each trace (36).
 */
#include "property/damage.h"
#include "trace/scan.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <sys/mman.h>
#include <zlib.h>

enum { MOST_EVENTS = 400 };

/* ---- What must be kept ---- */

/* One event as a row: what every reader has to make of it. */
struct record {
  size_t event;
  char *name;
  int64_t start, end;
  int64_t correlation; /* LUMOS_ABSENT */
};

struct records {
  struct record *items;
  size_t count;
};

struct expected {
  struct records host, device;
  int64_t unread; /* rows of categories that nobody knows */
};

static void add_record(struct records *records, struct record record) {
  records->items = realloc(records->items, (records->count + 1) * sizeof *records->items);
  assert_non_null(records->items);
  records->items[records->count++] = record;
}

static void free_records(struct records *records) {
  for (size_t i = 0; i < records->count; i++) {
    free(records->items[i].name);
  }
  free(records->items);
}

/* Microseconds in decimal to nanoseconds; half a nanosecond and more counts as one. */
static int64_t nanoseconds(const struct piece *value) {
  const char *place = value->bytes + (*value->bytes == '"');
  bool negative = *place == '-';
  int64_t whole = 0;
  int64_t rest = 0;
  for (place += negative; *place >= '0' && *place <= '9'; place++) {
    whole = whole * 10 + (*place - '0');
  }
  const char *digit = *place == '.' ? place + 1 : place;
  int64_t unit = 1000;
  for (; *digit >= '0' && *digit <= '9' && unit > 1; digit++, unit /= 10) {
    rest = rest * 10 + (*digit - '0');
  }
  rest = rest * unit + (*digit >= '5' && *digit <= '9' && unit == 1);
  int64_t all = whole * 1000 + rest;
  return negative ? -all : all;
}

static char *decoded(const struct piece *value) {
  cJSON *string = cJSON_ParseWithLength(value->bytes, value->length);
  assert_true(cJSON_IsString(string));
  char *copy = strdup(string->valuestring);
  assert_non_null(copy);
  cJSON_Delete(string);
  return copy;
}

static bool is_one_of(const struct piece *value, const char *const *texts) {
  for (; *texts != NULL; texts++) {
    if (is_text(value, *texts)) {
      return true;
    }
  }
  return false;
}

static void expect_event(struct expected *expected, size_t index, const struct piece *event) {
  static const char *const hosts[] = {
      "\"cpu_op\"",          "\"cuda_runtime\"", "\"cuda_driver\"", "\"python_function\"",
      "\"user_annotation\"", "\"Operator\"",     "\"Runtime\"",     NULL};
  static const char *const calls[] = {"\"cuda_runtime\"", "\"cuda_driver\"", "\"Runtime\"", NULL};
  static const char *const devices[] = {
      "\"kernel\"", "\"gpu_memcpy\"", "\"gpu_memset\"", "\"Kernel\"", "\"Memcpy\"", "\"Memset\"", NULL};
  struct piece phase = value_of(event, "\"ph\"");
  struct piece category = value_of(event, "\"cat\"");
  bool host = is_one_of(&category, hosts);
  bool device = is_one_of(&category, devices);
  if (!is_text(&phase, "\"X\"") || (!host && !device)) {
    return;
  }
  struct piece name = value_of(event, "\"name\"");
  struct piece start = value_of(event, "\"ts\"");
  struct piece duration = value_of(event, "\"dur\"");
  struct record record = {index, decoded(&name), nanoseconds(&start), nanoseconds(&duration), LUMOS_ABSENT};
  record.end += record.start;
  struct piece arguments = value_of(event, "\"args\"");
  if (arguments.bytes != NULL && (device || is_one_of(&category, calls))) {
    struct piece correlation = value_of(&arguments, "\"correlation\"");
    if (correlation.bytes != NULL) {
      char digits[24];
      (void)snprintf(digits, sizeof digits, "%.*s", (int)correlation.length, correlation.bytes);
      record.correlation = strtoll(digits + (*digits == '"'), NULL, 10);
    }
  }
  static const char module[] = "nn.Module: ";
  if (is_text(&category, "\"python_function\"") && strncmp(record.name, module, strlen(module)) == 0) {
    memmove(record.name, record.name + strlen(module), strlen(record.name + strlen(module)) + 1);
  }
  add_record(device ? &expected->device : &expected->host, record);
}

/* ---- What is kept ---- */

struct outcome {
  struct lumos_strings *strings;
  struct trace trace;
  struct lumos_error error;
  bool good;
};

static void read_bytes(const void *bytes, size_t length, size_t window, bool strictly, struct outcome *outcome) {
  int descriptor = memfd_create("damaged", MFD_CLOEXEC);
  assert_true(descriptor >= 0);
  for (size_t written = 0; written < length;) {
    ssize_t count = write(descriptor, (const char *)bytes + written, length - written);
    assert_true(count > 0);
    written += (size_t)count;
  }
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  const struct trace_scan_options options = {.stacks = true, .strict = strictly, .window = window};
  *outcome = (struct outcome){.strings = lumos_strings_new()};
  lumos_trace_init(&outcome->trace, outcome->strings);
  struct lumos_input *input = lumos_input_open(path, &outcome->error);
  assert_non_null(input);
  outcome->good = lumos_trace_scan(&outcome->trace, input, "t", &options, &outcome->error);
  lumos_input_close(input);
  (void)close(descriptor);
}

static void free_outcome(struct outcome *outcome) {
  lumos_trace_clear(&outcome->trace);
  lumos_strings_free(outcome->strings);
}

/* Rows of categories that nobody knows, which are compared by their number. */
static int64_t unknown_rows(const struct trace *trace) {
  int64_t count = 0;
  for (size_t i = 0; i < trace->categories.count; i++) {
    const struct trace_category *category = &trace->categories.items[i];
    count += category->class != TRACE_OVERLAY ? category->left + category->kept : 0;
  }
  return count;
}

static struct records kept_rows(const struct outcome *outcome, bool device) {
  const struct trace *trace = &outcome->trace;
  struct records records = {NULL, 0};
  for (size_t i = 0; i < (device ? trace->device.count : trace->host.count); i++) {
    struct record record = {.correlation = LUMOS_ABSENT};
    lumos_string_id name = LUMOS_NO_STRING;
    if (device) {
      const struct trace_device *row = &trace->device.items[i];
      record = (struct record){0, NULL, row->start, row->end, row->correlation};
      name = row->name;
      if (row->class == TRACE_UNKNOWN) {
        continue;
      }
    } else {
      const struct trace_host *row = &trace->host.items[i];
      record = (struct record){0, NULL, row->start, row->end, row->class == TRACE_CALL ? row->key : LUMOS_ABSENT};
      name = row->name;
      if (row->other) {
        continue;
      }
    }
    record.name = strdup(lumos_string(outcome->strings, name));
    add_record(&records, record);
  }
  return records;
}

/* As one text, gzip in so many members, the last of them without its last `cut` bytes. */
static unsigned char *pack(const char *text, size_t length, size_t members, size_t cut, size_t *packed_length) {
  size_t capacity = length + length / 100 + 1000 * members;
  unsigned char *packed = malloc(capacity);
  assert_non_null(packed);
  *packed_length = 0;
  for (size_t i = 0; i < members; i++) {
    size_t begin = length / members * i;
    size_t end = i + 1 == members ? length : length / members * (i + 1);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)(text + begin),
                       .avail_in = (uInt)(end - begin),
                       .next_out = packed + *packed_length,
                       .avail_out = (uInt)(capacity - *packed_length)};
    assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    *packed_length += stream.total_out;
    assert_int_equal(deflateEnd(&stream), Z_OK);
  }
  *packed_length -= cut;
  return packed;
}

/* How much of the text another reader of gzip finds in cut bytes. */
static size_t whole_text(const unsigned char *packed, size_t packed_length, size_t length) {
  unsigned char *text = malloc(length);
  assert_non_null(text);
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)packed,
                     .avail_in = (uInt)packed_length,
                     .next_out = text,
                     .avail_out = (uInt)length};
  assert_int_equal(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  (void)inflate(&stream, Z_SYNC_FLUSH);
  size_t whole = stream.total_out;
  assert_int_equal(inflateEnd(&stream), Z_OK);
  free(text);
  return whole;
}

/* ---- The comparison ---- */

struct round {
  const char *trace;
  const struct document *document;
  const struct expected *expected;
  struct damaged damaged;
  bool *lost;   /* [event]: no row of it was found */
  bool altered; /* the damaged event is there with other values */
  struct outcome *outcome;
};

static void fail_round(const struct round *round, const char *what) {
  const struct damaged *damaged = &round->damaged;
  size_t from = damaged->whole > 60 ? damaged->whole - 60 : 0;
  const struct trace_places *skipped = &round->outcome->trace.skipped;
  fail_msg("%s: %s at byte %zu, event %zu of %zu: %s; %" PRId64 " places, the first %" PRIu64 "-%" PRIu64
           " (%s)\n%.200s",
           round->trace, damage_name(damaged->kind), damaged->whole, damaged->event, round->document->count, what,
           skipped->count, skipped->first[0].begin, skipped->first[0].end,
           skipped->count > 0 && skipped->first[0].what != NULL ? skipped->first[0].what : "", damaged->text + from);
}

static bool is_cut(const struct round *round) {
  return round->damaged.kind == DAMAGE_CUT || round->damaged.kind == DAMAGE_CUT_GZIP;
}

static bool may_be_lost(const struct round *round, size_t event) {
  size_t hit = round->damaged.event;
  return is_cut(round) ? event >= hit : hit < round->document->count && event + 1 >= hit && event <= hit + 1;
}

static bool same_record(const struct record *a, const struct record *b) {
  return a->start == b->start && a->end == b->end && a->correlation == b->correlation && strcmp(a->name, b->name) == 0;
}

/* Is this row one that was expected from `e` on, with nothing missing before it but what may be lost? */
static bool comes_next(const struct round *round, const struct records *expected, size_t e, const struct record *row) {
  while (e < expected->count && !same_record(&expected->items[e], row) &&
         may_be_lost(round, expected->items[e].event)) {
    e++;
  }
  return e < expected->count && same_record(&expected->items[e], row);
}

/* What was read so far. */
static struct {
  size_t texts, kept, touched; /* kept: rows of events, all of those that no damage touched among them */
} tally;

/* Every expected row is there, in its order, or may be lost; nothing else is there but the damaged event, altered. */
static void compare_rows(struct round *round, const struct records *expected, const struct records *kept) {
  size_t k = 0;
  for (size_t e = 0; e < expected->count; e++) {
    const struct record *wanted = &expected->items[e];
    if (k < kept->count && same_record(wanted, &kept->items[k])) {
      tally.kept++;
      k++;
      continue;
    }
    tally.touched++;
    if (!may_be_lost(round, wanted->event)) {
      fail_round(round, "an event is lost that was not damaged, or changed");
    }
    if (wanted->event == round->damaged.event && k < kept->count && !is_cut(round) &&
        !comes_next(round, expected, e + 1, &kept->items[k])) {
      round->altered = true;
      k++;
    } else {
      round->lost[wanted->event] = true;
    }
  }
  if (k != kept->count) {
    fail_round(round, "a row is there that was not recorded");
  }
}

/* Bytes of the damaged text that the event stood in, with what is around it. */
static void event_range(const struct round *round, size_t event, uint64_t *begin, uint64_t *end) {
  const struct document *document = round->document;
  size_t first = event > 0 ? event - 1 : event;
  size_t last = event + 1 < document->count ? event + 1 : event;
  const struct piece *behind = &document->events[last];
  *begin =
      (uint64_t)(document->events[first].bytes - document->text) + (first < event ? document->events[first].length : 0);
  *end = (uint64_t)(behind->bytes - document->text) + (last == event ? behind->length + 64 : 0);
  int64_t growth = round->damaged.growth;
  uint64_t shrunk = growth < 0 ? (uint64_t)-growth : 0; /* where exactly is not asked */
  *begin -= *begin < shrunk ? *begin : shrunk;
  *end += growth > 0 ? (uint64_t)growth : 0;
}

static bool is_told(const struct round *round, size_t event) {
  const struct trace *trace = &round->outcome->trace;
  const struct trace_places *const told[] = {&trace->skipped, &trace->lost, &trace->replaced};
  uint64_t begin = 0;
  uint64_t end = 0;
  event_range(round, event, &begin, &end);
  for (size_t i = 0; i < 3; i++) {
    for (int64_t k = 0; k < told[i]->count && k < TRACE_PLACES; k++) {
      if (told[i]->first[k].begin < end && told[i]->first[k].end >= begin) {
        return true;
      }
    }
  }
  return (trace->truncated && trace->cut_event < end) || unknown_rows(trace) > round->expected->unread;
}

/* Can the damage not be seen at all, such as a word more in a name? */
static bool is_valid(const char *text) {
  cJSON *parsed = cJSON_Parse(text);
  cJSON_Delete(parsed);
  return parsed != NULL;
}

/* What is lost is counted, where it lies and near the damage; what is whole is not. */
static void check_accounts(struct round *round) {
  const struct trace *trace = &round->outcome->trace;
  size_t hit = round->damaged.event;
  size_t lost = 0;
  for (size_t i = 0; i < round->document->count; i++) {
    lost += round->lost[i];
    bool halves_may_fit = round->damaged.kind == DAMAGE_HOLE;
    if (round->lost[i] && !is_told(round, i) && !(halves_may_fit && is_valid(round->damaged.text))) {
      fail_round(round, "an event is lost without a word");
    }
  }
  if (!is_cut(round) && lost > 2) {
    fail_round(round, "one damage takes more than an event and its neighbour");
  }
  if (round->altered && trace->skipped.count + trace->replaced.count + trace->lost.count == 0 &&
      !is_valid(round->damaged.text)) {
    fail_round(round, "an event is changed without a word");
  }
  if (trace->skipped.count > 3 || trace->replaced.count > 1 || trace->lost.count > 1) {
    fail_round(round, "one damage counts as many");
  }
  for (int64_t i = 0; hit < round->document->count && i < trace->skipped.count; i++) {
    uint64_t begin = 0;
    uint64_t behind = 0;
    uint64_t ignored = 0;
    event_range(round, hit > 0 ? hit - 1 : hit, &begin, &ignored);
    event_range(round, hit + 1 < round->document->count ? hit + 1 : hit, &ignored, &behind);
    if (trace->skipped.first[i].begin < begin ||
        (trace->skipped.first[i].end > behind && hit + 2 < round->document->count)) {
      fail_round(round, "a place is told that is far from the damage");
    }
  }
}

/* What must hold for a kind alone. */
static void check_kind(const struct round *round) {
  const struct trace *trace = &round->outcome->trace;
  size_t lost = 0;
  for (size_t i = 0; i < round->document->count; i++) {
    lost += round->lost[i];
  }
  int64_t told = trace->skipped.count + trace->replaced.count + trace->lost.count;
  switch (round->damaged.kind) {
    case DAMAGE_MEMBERS:
    case DAMAGE_CRLF:
    case DAMAGE_BOM:
      if (lost > 0 || told > 0 || trace->truncated) {
        fail_round(round, "no damage is taken for one");
      }
      break;
    case DAMAGE_TRAILING:
      if (lost > 0 || trace->skipped.count != 1) {
        fail_round(round, "text behind the end is not told as such");
      }
      break;
    case DAMAGE_CUT:
    case DAMAGE_CUT_GZIP:
      if (!trace->truncated || trace->skipped.count > 0) {
        fail_round(round, "a cut is not told as such");
      }
      break;
    case DAMAGE_STRAY_BETWEEN:
      if (lost > 0 || trace->skipped.count == 0 || trace->truncated) {
        fail_round(round, "text between events costs one");
      }
      break;
    case DAMAGE_METADATA:
      if (lost > 0 || (trace->truncated && !round->damaged.behind) || trace->second_events > 0) {
        fail_round(round, "damaged metadata cost an event");
      }
      break;
    case DAMAGE_UTF8:
      if (lost > 0 || trace->skipped.count > 0 || trace->truncated) {
        fail_round(round, "a name that is no UTF-8 costs an event");
      }
      break;
    default:
      if (trace->truncated) {
        fail_round(round, "the end is lost");
      }
  }
}

/* The text as it is: every row, and not a word. */
static void check_undamaged(const char *name, const struct document *document, struct expected *expected) {
  struct outcome outcome;
  struct round round = {.trace = name, .document = document, .expected = expected, .outcome = &outcome};
  round.damaged = (struct damaged){.event = document->count + 1, .text = document->text};
  read_bytes(document->text, document->length, 0, true, &outcome);
  if (!outcome.good) {
    fail_msg("%s: %s", name, outcome.error.text);
  }
  struct records host = kept_rows(&outcome, false);
  struct records device = kept_rows(&outcome, true);
  compare_rows(&round, &expected->host, &host);
  compare_rows(&round, &expected->device, &device);
  expected->unread = unknown_rows(&outcome.trace);
  free_records(&host);
  free_records(&device);
  free_outcome(&outcome);
}

static void print_tally(const char *of) {
  print_message("%zu damaged texts of %s: %zu rows intact, %zu damaged, 0 of the intact ones lost\n", tally.texts, of,
                tally.kept, tally.touched);
  memset(&tally, 0, sizeof tally);
}

static void run_round(const char *name, const struct document *document, const struct expected *expected,
                      enum damage kind, uint64_t *seed) {
  static const size_t windows[] = {0, 64 * 1024, 16 * 1024};
  struct round round = {.trace = name, .document = document, .expected = expected};
  struct outcome outcome;
  round.outcome = &outcome;
  damage(document, kind, seed, &round.damaged);
  round.lost = calloc(document->count + 1, sizeof *round.lost);
  assert_non_null(round.lost);
  size_t window = windows[below(seed, 3)];
  unsigned char *packed = NULL;
  const void *bytes = round.damaged.text;
  size_t length = round.damaged.length;
  if (kind == DAMAGE_MEMBERS || kind == DAMAGE_CUT_GZIP) {
    size_t full = 0;
    bool cut = kind == DAMAGE_CUT_GZIP;
    packed = pack(round.damaged.text, round.damaged.length, cut ? 1 : 1 + below(seed, 6), 0, &full);
    bytes = packed;
    length = cut ? full - 9 - below(seed, full / 2) : full;
    if (cut) { /* the first event that is not whole */
      size_t whole = whole_text(packed, length, document->length);
      const char *end = document->text + whole;
      round.damaged.whole = whole;
      round.damaged.event = 0;
      while (round.damaged.event < document->count &&
             document->events[round.damaged.event].bytes + document->events[round.damaged.event].length <= end) {
        round.damaged.event++;
      }
    }
  }
  read_bytes(bytes, length, window, false, &outcome);
  assert_true(outcome.good);
  struct records host = kept_rows(&outcome, false);
  struct records device = kept_rows(&outcome, true);
  tally.texts++;
  compare_rows(&round, &expected->host, &host);
  compare_rows(&round, &expected->device, &device);
  check_accounts(&round);
  check_kind(&round);
  const struct trace *trace = &outcome.trace;
  bool told = trace->skipped.count + trace->replaced.count + trace->lost.count > 0 || trace->truncated;
  struct outcome strict;
  read_bytes(bytes, length, window, true, &strict);
  bool harmless = kind == DAMAGE_MEMBERS || kind == DAMAGE_CRLF || kind == DAMAGE_BOM;
  if (strict.good && trace->recognised && (told || !is_valid(round.damaged.text))) {
    fail_round(&round, "--strict lets it pass");
  }
  if (!strict.good && harmless) {
    fail_round(&round, "--strict fails where nothing is wrong");
  }
  assert_true(strict.good || strict.error.status == LUMOS_CHECK_FAILED);
  free_outcome(&strict);
  free_outcome(&outcome);
  free_records(&host);
  free_records(&device);
  free(round.lost);
  free(round.damaged.text);
  free(packed);
}

/* ---- The traces ---- */

/* Of a long list of events some hundred in a row, somewhere in it; the rest of the text stays. */
static struct document shortened(struct document *document, uint64_t *seed) {
  size_t count = document->count < MOST_EVENTS ? document->count : MOST_EVENTS;
  size_t first = below(seed, document->count - count + 1);
  while (first + count < document->count && value_of(&document->events[first], "\"dur\"").bytes == NULL) {
    first++;
  }
  const struct piece *last_kept = &document->events[first + count - 1];
  const struct piece *last = &document->events[document->count - 1];
  const char *tail = last->bytes + last->length;
  size_t head_length = (size_t)(document->events[0].bytes - document->text);
  size_t kept_length = (size_t)(last_kept->bytes + last_kept->length - document->events[first].bytes);
  size_t tail_length = document->length - (size_t)(tail - document->text);
  size_t length = head_length + kept_length + tail_length;
  char *text = malloc(length + 1);
  assert_non_null(text);
  memcpy(text, document->text, head_length);
  memcpy(text + head_length, document->events[first].bytes, kept_length);
  memcpy(text + head_length + kept_length, tail, tail_length);
  text[length] = '\0';
  free_document(document);
  return take_apart(text, length);
}

/* Damage the trace (whose text is taken over) in all ways. */
static void damage_trace(const char *name, char *text, size_t length) {
  uint64_t seed = chosen_seed();
  for (const char *place = name; *place != '\0'; place++) {
    seed = seed * 31 + (unsigned char)*place;
  }
  struct document whole = take_apart(text, length);
  assert_true(whole.count > 0);
  struct document document = shortened(&whole, &seed);
  struct expected expected = {{NULL, 0}, {NULL, 0}, 0};
  for (size_t i = 0; i < document.count; i++) {
    expect_event(&expected, i, &document.events[i]);
  }
  if (expected.host.count + expected.device.count == 0) {
    fail_msg("%s: no rows among the events from %.100s on", name, document.events[0].bytes);
  }
  check_undamaged(name, &document, &expected);
  for (int way = 0; way < chosen_ways(); way++) {
    run_round(name, &document, &expected, (enum damage)(way % DAMAGES), &seed);
  }
  free_records(&expected.host);
  free_records(&expected.device);
  free_document(&document);
}

static char *unpacked(const char *path, size_t *length) {
  gzFile file = gzopen(path, "rb");
  if (file == NULL) {
    return NULL;
  }
  size_t room = 1 << 20;
  char *text = malloc(room + 1);
  if (text == NULL) {
    abort();
  }
  *length = 0;
  int count = 0;
  while ((count = gzread(file, text + *length, (unsigned)(room - *length))) > 0) {
    *length += (size_t)count;
    if (*length == room) {
      room *= 2;
      char *larger = realloc(text, room + 1);
      if (larger == NULL) {
        abort();
      }
      text = larger;
    }
  }
  text[*length] = '\0';
  assert_int_equal(gzclose(file), Z_OK);
  return text;
}

static char *own_example(const char *name, size_t *length) {
  const char *source = getenv("LUMOS_SOURCE");
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/examples/traces/%s", source != NULL ? source : "../..", name);
  char *text = unpacked(path, length);
  assert_non_null(text);
  return text;
}

static void the_examples(void **state) {
  (void)state;
  static const char *const names[] = {"rank0.json.gz", "rank1.json.gz"};
  for (size_t i = 0; i < 2; i++) {
    size_t length = 0;
    char *text = own_example(names[i], &length);
    damage_trace(names[i], text, length);
  }
}

/* The same events in another layout: `print` writes the whole document. */
static void in_another_layout(const char *name, bool bare, bool compact) {
  size_t length = 0;
  char *text = own_example("rank0.json.gz", &length);
  cJSON *trace = cJSON_Parse(text);
  assert_non_null(trace);
  const cJSON *printed = bare ? cJSON_GetObjectItemCaseSensitive(trace, "traceEvents") : trace;
  char *again = compact ? cJSON_PrintUnformatted(printed) : cJSON_Print(printed);
  assert_non_null(again);
  cJSON_Delete(trace);
  free(text);
  damage_trace(name, again, strlen(again));
}

static void other_layouts(void **state) {
  (void)state;
  in_another_layout("compact", false, true);
  in_another_layout("indented", false, false);
  in_another_layout("bare", true, true);
  in_another_layout("bare and indented", true, false);
}

/* Names that look like JSON, keys in another order for every event, objects among the arguments. */
static char *odd_trace(int variant, uint64_t *seed) {
  static const char *const names[] = {"void f<(lambda()#1)>{x}",
                                      "{\\\"ph\\\": \\\"X\\\"}",
                                      "]},\\n{",
                                      "a \\\\",
                                      "\\\"quoted\\\" [1, 2",
                                      "aten::mm",
                                      "\xC3\xA9t\xC3\xA9 \xF0\x9F\x98\x80"};
  static const char *const arguments[] = {"{}", "{\"correlation\": 7, \"x\": {\"name\": \"y\", \"id\": [{}]}}",
                                          "{\"name\": \"z\", \"Input Dims\": [[2, 3], []]}", "null"};
  static const char *const formats[] = {"{\"ph\": \"X\", \"cat\": \"%s\", \"name\": \"%s %d\", \"pid\": 1, \"tid\": 2, "
                                        "\"ts\": %d.%03d, \"dur\": 5, \"args\": %s}",
                                        "{\"cat\": \"%s\", \"name\": \"%s %d\", \"ph\": \"X\", \"pid\": 1, \"tid\": 2, "
                                        "\"ts\": %d.%03d, \"dur\": 0, \"args\": %s}"};
  size_t room = 1 << 20;
  char *text = malloc(room);
  assert_non_null(text);
  int at = snprintf(text, room, variant < 2 ? "{\"traceEvents\": [" : "[");
  for (int i = 0; i < 300; i++) {
    at += snprintf(text + at, room - (size_t)at, "%s", i == 0 ? "" : variant == 0 ? ", " : ",\n  ");
    at += snprintf(text + at, room - (size_t)at, formats[variant % 2], below(seed, 2) == 0 ? "cpu_op" : "cuda_runtime",
                   CHOOSE(seed, names), i, 10 * i, i, CHOOSE(seed, arguments));
  }
  (void)snprintf(text + at, room - (size_t)at,
                 variant < 2 ? "], \"own\": {\"x\": []}, \"baseTimeNanoseconds\": 5}" : "]");
  return text;
}

static void odd_names_and_orders(void **state) {
  (void)state;
  static const char *const names[] = {"odd", "odd, category first", "odd, bare", "odd, bare, category first"};
  for (int variant = 0; variant < 4; variant++) {
    uint64_t seed = chosen_seed();
    char *text = odd_trace(variant, &seed);
    damage_trace(names[variant], text, strlen(text));
  }
  print_tally("own traces");
}

static void the_public_traces(void **state) {
  (void)state;
  static const char *const names[] = {
      "nanogpt-8xH100-ddp/Baseline-12-11-220ff-rank6-chrome-trace.json.gz",
      "megatron-tp2-V100/rank0-9c44bd29b3f0_1375.1724066820235157909.pt.trace.json.gz",
      "dlrm-8xV100/worker0_step_12.1694128201545.pt.trace.json.gz",
      "hta-cuda-sync-A100/alexnet-benchmark_result_2869224_1695835535_trace.json.gz",
      "hta-nccl-params-A100/nccl_data.json.gz",
      "ao-vit-cudagraph-A100/bfloat16.json.gz",
      "ao-ep-moe-2xB200/syncless_ep_moe_fwd.json.gz",
      "tracelens-qwen-H100-vs-MI300/mi300-Qwen_Qwen1.5-0.5B-Chat__1016005.json.gz",
      "hta-epoch-float-ts-V100/rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz",
      "kineto-tb-old-format/gpu_metrics_input.json.gz",
  };
  const char *folder = getenv("LUMOS_TRACES");
  size_t found = 0;
  for (size_t i = 0; folder != NULL && i < sizeof names / sizeof *names; i++) {
    char path[4096];
    size_t length = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    char *text = unpacked(path, &length);
    if (text != NULL) {
      found++;
      damage_trace(names[i], text, length);
    }
  }
  print_tally("public traces");
  if (found == 0) {
    print_message("SKIPPED: the public traces are not here (LUMOS_TRACES)\n");
    skip();
  }
}

int main(void) {
  print_message("seed %" PRIu64 ", %d ways to damage each trace\n", chosen_seed(), chosen_ways());
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_examples),
      cmocka_unit_test(other_layouts),
      cmocka_unit_test(odd_names_and_orders),
      cmocka_unit_test(the_public_traces),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
