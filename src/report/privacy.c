/* Gathering the private names of a job, and taking them out of its strings. */
#include "report/privacy.h"

#include "base/ascii.h"
#include "report/location.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  LEAST = 3,  /* bytes of a private name: two letters stand everywhere */
  MOST = 255, /* no host or file has a longer one */
  MOST_ADDRESS = 64,
  FILTER = 4096,
};

enum word_kind { HOST, USER, INPUT };
static const char *const shown_as[] = {[HOST] = "(host)", [USER] = "(user)", [INPUT] = "(input)"};

struct report_privacy {
  struct lumos_strings *words;        /* in lower case */
  LUMOS_VECTOR(enum word_kind) kinds; /* of word `id`: kinds.items[id - 1] */
  bool has_length[MOST + 1];
  bool begins[FILTER]; /* by the hash of three bytes: some word begins with them */
};

static bool is_word(char byte) { return lumos_is_letter(byte) || lumos_is_digit(byte); }
static bool is_address(char byte) { return is_word(byte) || byte == '.' || byte == '-' || byte == '_'; }

static char lower(char byte) { return (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte); }

static size_t filter_of(const char *bytes) {
  size_t hash = 0;
  for (int i = 0; i < LEAST; i++) {
    hash = hash * 31 + (unsigned char)lower(bytes[i]);
  }
  return hash % FILTER;
}

static bool is_listed(const char *const *list, size_t count, const char *bytes, size_t length) {
  for (size_t i = 0; i < count; i++) {
    if (strlen(list[i]) == length && strncasecmp(list[i], bytes, length) == 0) {
      return true;
    }
  }
  return false;
}

/* Words that name machines and accounts everywhere, or operations in every trace. */
static bool says_nothing(const char *bytes, size_t length) {
  static const char *const nobody[] = {"add",      "adam",    "admin",     "all",    "aten",
                                       "backward", "batch",   "bench",     "cat",    "cluster",
                                       "code",     "compute", "conda",     "conv",   "copy",
                                       "cpu",      "cuda",    "data",      "debug",  "demo",
                                       "dev",      "div",     "docker",    "event",  "exp",
                                       "forward",  "gather",  "gemm",      "git",    "gpu",
                                       "guest",    "head",    "host",      "idle",   "job",
                                       "jovyan",   "kernel",  "lane",      "launch", "layer",
                                       "linear",   "local",   "localhost", "log",    "loss",
                                       "lumos",    "main",    "master",    "max",    "mean",
                                       "memory",   "min",     "mlp",       "model",  "mul",
                                       "nccl",     "node",    "norm",      "nvidia", "optimizer",
                                       "other",    "profile", "public",    "python", "rank",
                                       "reduce",   "root",    "run",       "runner", "self",
                                       "server",   "shared",  "sim",       "split",  "standard input",
                                       "step",     "stream",  "sub",       "sum",    "sync",
                                       "task",     "test",    "thread",    "torch",  "trace",
                                       "train",    "triton",  "ubuntu",    "user",   "users",
                                       "view",     "wait",    "work",      "worker", "workspace"};
  while (length > 0 && (lumos_is_digit(bytes[length - 1]) || bytes[length - 1] == '-' || bytes[length - 1] == '_')) {
    length--; /* node17, rank-3; numbers */
  }
  return length == 0 || is_listed(nobody, sizeof nobody / sizeof nobody[0], bytes, length);
}

/* The id of a word, or LUMOS_NO_STRING. */
static uint32_t word_of(const struct report_privacy *privacy, const char *bytes, size_t length) {
  char folded[MOST];
  if (length > MOST || !privacy->has_length[length]) {
    return LUMOS_NO_STRING;
  }
  for (size_t i = 0; i < length; i++) {
    folded[i] = lower(bytes[i]);
  }
  return lumos_interned(privacy->words, folded, length);
}

static void add_word(struct report_privacy *privacy, const char *bytes, size_t length, enum word_kind kind) {
  char folded[MOST];
  if (length < LEAST || length > MOST || says_nothing(bytes, length) ||
      word_of(privacy, bytes, length) != LUMOS_NO_STRING) {
    return;
  }
  for (size_t i = 0; i < length; i++) {
    folded[i] = lower(bytes[i]);
  }
  (void)lumos_intern(privacy->words, folded, length);
  lumos_vector_push(&privacy->kinds, kind);
  privacy->has_length[length] = true;
  privacy->begins[filter_of(bytes)] = true;
}

/* A host and, of "node17.cluster.example", the first label. */
static void add_host(struct report_privacy *privacy, const char *bytes, size_t length) {
  add_word(privacy, bytes, length, HOST);
  const char *dot = memchr(bytes, '.', length);
  if (dot != NULL) {
    add_word(privacy, bytes, (size_t)(dot - bytes), HOST);
  }
}

static size_t digits_before(const char *bytes, size_t end) {
  size_t first = end;
  while (first > 0 && lumos_is_digit(bytes[first - 1])) {
    first--;
  }
  return first;
}

/* The profiler names files HOST_PID.TIME.pt.trace.json; people put "rank3-" before it. */
static void add_host_in_name(struct report_privacy *privacy, const char *bytes, size_t length) {
  static const char ending[] = ".pt.trace.json";
  const char *found = memmem(bytes, length, ending, sizeof ending - 1);
  if (found == NULL) {
    return;
  }
  size_t time = digits_before(bytes, (size_t)(found - bytes));
  size_t pid = time > 0 && bytes[time - 1] == '.' ? digits_before(bytes, time - 1) : 0;
  if (pid < 2 || bytes[pid - 1] != '_') {
    return;
  }
  size_t first = 0;
  if (strncasecmp(bytes, "rank", 4) == 0) {
    size_t number = bytes[4] == '-' || bytes[4] == '_' ? 5 : 4;
    size_t behind = number;
    while (lumos_is_digit(bytes[behind])) {
      behind++;
    }
    first = behind > number && (bytes[behind] == '-' || bytes[behind] == '_') ? behind + 1 : 0;
  }
  if (first < pid - 1) {
    add_host(privacy, bytes + first, pid - 1 - first);
  }
}

static void add_input(struct report_privacy *privacy, const struct lumos_job *job, lumos_string_id id) {
  const char *bytes = lumos_string(job->strings, id);
  add_word(privacy, bytes, lumos_string_length(job->strings, id), INPUT);
  add_host_in_name(privacy, bytes, lumos_string_length(job->strings, id));
}

/* Notes also name traces that could not be used: words that end like a trace's name. */
static void add_inputs_in_note(struct report_privacy *privacy, const struct lumos_job *job, lumos_string_id id) {
  static const char *const endings[] = {".json", ".json.gz", ".json.zst", ".jsonl"};
  const char *at = lumos_string(job->strings, id);
  while (*at != '\0') {
    size_t length = strcspn(at, " \t\n\"'(),:;");
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
      size_t ending = strlen(endings[i]);
      if (length > ending && strncasecmp(at + length - ending, endings[i], ending) == 0) {
        add_word(privacy, at, length, INPUT);
        add_host_in_name(privacy, at, length);
      }
    }
    at += length;
    at += strspn(at, " \t\n\"'(),:;");
  }
}

struct address {
  size_t user, host; /* where they begin */
  size_t end;        /* of the host */
};

static bool is_host(const struct report_privacy *privacy, const char *bytes, size_t length) {
  uint32_t word = word_of(privacy, bytes, length);
  return word != LUMOS_NO_STRING && privacy->kinds.items[word - 1] == HOST;
}

/* Does this look like the name of a host in a network, as in an e-mail address? */
static bool is_domain(const char *bytes, size_t length) {
  static const char *const top[] = {"ai",       "cloud", "com", "corp",  "edu", "gov", "int",
                                    "internal", "io",    "lan", "local", "mil", "net", "org"};
  const char *dot = memrchr(bytes, '.', length);
  size_t behind = dot == NULL ? length : (size_t)(dot + 1 - bytes);
  return is_listed(top, sizeof top / sizeof top[0], bytes + behind, length - behind);
}

/* "user@host" around an at sign, of a host that is known or looks like one. */
static bool address_around(const struct report_privacy *privacy, const char *bytes, size_t length, size_t sign,
                           struct address *address) {
  size_t user = sign;
  size_t end = sign + 1;
  while (user > 0 && sign - user < MOST_ADDRESS && is_address(bytes[user - 1])) {
    user--;
  }
  while (end < length && end - sign <= MOST_ADDRESS && is_address(bytes[end])) {
    end++;
  }
  while (end > sign + 1 && !is_word(bytes[end - 1])) {
    end--; /* the sentence's full stop */
  }
  *address = (struct address){user, sign + 1, end};
  size_t host = end - sign - 1;
  return user < sign && host > 0 && (is_host(privacy, bytes + sign + 1, host) || is_domain(bytes + sign + 1, host));
}

static void add_users(struct report_privacy *privacy, const char *bytes, size_t length) {
  for (size_t at = 0; at < length; at++) {
    struct report_location path;
    struct address address;
    if (bytes[at] == '@' && address_around(privacy, bytes, length, at, &address)) {
      add_word(privacy, bytes + address.user, at - address.user, USER);
      add_host(privacy, bytes + address.host, address.end - address.host);
    } else if (report_location_at(bytes, length, at, &path)) {
      size_t first = 0;
      size_t size = 0;
      for (size_t next = path.first; report_location_user(bytes, &path, &next, &first, &size);) {
        const char *space = memchr(bytes + first, ' ', size);
        add_word(privacy, bytes + first, size, USER);
        add_word(privacy, bytes + first, space == NULL ? 0 : (size_t)(space - bytes) - first, USER);
      }
      at = path.end - 1;
    }
  }
}

struct report_privacy *report_privacy_new(const struct lumos_job *job) {
  struct report_privacy *privacy = lumos_allocate_zeroed(1, sizeof *privacy);
  privacy->words = lumos_strings_new();
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_string_id host = job->ranks.items[i].host;
    add_host(privacy, lumos_string(job->strings, host), lumos_string_length(job->strings, host));
    add_input(privacy, job, job->ranks.items[i].source);
  }
  for (size_t i = 0; i < job->inputs.count; i++) {
    add_input(privacy, job, job->inputs.items[i]);
  }
  for (size_t i = 0; i < job->notes.count; i++) {
    add_inputs_in_note(privacy, job, job->notes.items[i].text);
    add_inputs_in_note(privacy, job, job->notes.items[i].cure);
  }
  for (uint32_t id = 1; id <= lumos_strings_count(job->strings); id++) {
    add_users(privacy, lumos_string(job->strings, id), lumos_string_length(job->strings, id));
  }
  return privacy;
}

void report_privacy_free(struct report_privacy *privacy) {
  lumos_strings_free(privacy->words);
  lumos_vector_free(&privacy->kinds);
  free(privacy);
}

/* A private name stands somewhere as a word, or several. */
struct found {
  size_t length;
  enum word_kind kind;
};

/* Is it a whole word, and a user's name no part of a qualified one, as in aten::max? */
static bool stands(const char *bytes, size_t length, size_t at, struct found found) {
  size_t end = at + found.length;
  bool whole = end == length || !is_word(bytes[end]) || !is_word(bytes[end - 1]);
  bool qualified = found.kind == USER && at >= 2 && bytes[at - 1] == ':' && bytes[at - 2] == ':';
  return whole && !qualified;
}

/* The longest private name at `at`. */
static bool find_word(const struct report_privacy *privacy, const char *bytes, size_t length, size_t at,
                      struct found *found) {
  size_t most = length - at < MOST ? length - at : MOST;
  if (most < LEAST || (at > 0 && is_word(bytes[at - 1]) && is_word(bytes[at])) ||
      !privacy->begins[filter_of(bytes + at)]) {
    return false;
  }
  for (size_t size = most; size >= LEAST; size--) {
    uint32_t word = word_of(privacy, bytes + at, size);
    if (word != LUMOS_NO_STRING) {
      *found = (struct found){size, privacy->kinds.items[word - 1]};
      if (stands(bytes, length, at, *found)) {
        return true;
      }
    }
  }
  return false;
}

void report_privacy_put(const struct report_privacy *privacy, const char *bytes, size_t length,
                        struct lumos_text *out) {
  size_t copied = 0;
  for (size_t at = 0; at < length;) {
    struct report_location path;
    struct found found;
    if (find_word(privacy, bytes, length, at, &found)) {
      lumos_text_add(out, bytes + copied, at - copied);
      lumos_text_put(out, shown_as[found.kind]);
      at = copied = at + found.length;
    } else if (report_location_at(bytes, length, at, &path)) {
      lumos_text_add(out, bytes + copied, at - copied);
      at = copied = path.name;
    } else {
      at++;
    }
  }
  lumos_text_add(out, bytes + copied, length - copied);
}

static void keep(const struct lumos_job *job, lumos_string_id id, bool *kept) {
  const char *bytes = lumos_string(job->strings, id);
  for (size_t i = 0; i < lumos_string_length(job->strings, id); i++) {
    if (!is_address(bytes[i])) {
      return;
    }
  }
  kept[id] = true;
}

/* The strings that the report compares with its own words. */
static bool *keywords(const struct lumos_job *job) {
  bool *kept = lumos_allocate_zeroed((size_t)lumos_strings_count(job->strings) + 1, sizeof *kept);
  for (size_t i = 0; i < job->metrics.count; i++) {
    keep(job, job->metrics.items[i].name, kept);
    keep(job, job->metrics.items[i].unit, kept);
    keep(job, job->metrics.items[i].of, kept);
  }
  for (size_t i = 0; i < job->notes.count; i++) {
    keep(job, job->notes.items[i].code, kept);
  }
  for (size_t i = 0; i < job->history.count; i++) {
    keep(job, job->history.items[i].tool, kept);
    keep(job, job->history.items[i].version, kept);
  }
  return kept;
}

struct lumos_strings *report_privacy_strings(const struct lumos_job *job) {
  struct lumos_strings *view = lumos_strings_view(job->strings);
  struct report_privacy *privacy = report_privacy_new(job);
  bool *kept = keywords(job);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (uint32_t id = 1; id <= lumos_strings_count(job->strings); id++) {
    const char *bytes = lumos_string(job->strings, id);
    size_t length = lumos_string_length(job->strings, id);
    text.length = 0;
    report_privacy_put(privacy, bytes, length, &text);
    if (!kept[id] && (text.length != length || memcmp(text.bytes, bytes, length) != 0)) {
      lumos_strings_replace(view, id, text.bytes == NULL ? "" : text.bytes, text.length);
    }
  }
  lumos_text_free(&text);
  free(kept);
  report_privacy_free(privacy);
  return view;
}
