/* Gathering the private names of a job, and taking them out of its strings. */
#include "report/text/privacy.h"

#include "base/ascii.h"
#include "report/text/location.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_ADDRESS = 64 }; /* bytes of a user, and of a host */

static const char *const shown_as[] = {
    [PRIVATE_HOST] = "(host)", [PRIVATE_USER] = "(user)", [PRIVATE_INPUT] = "an input file"};

static bool is_address(char byte) { return lumos_is_alphanumeric(byte) || byte == '.' || byte == '-' || byte == '_'; }
/* Accounts also have letters beyond ASCII. */
static bool is_account(char byte) { return is_address(byte) || (unsigned char)byte >= 0x80; }

/* A host and, of "node17.cluster.example", the first label. */
static void add_host(struct report_private_names *names, const char *bytes, size_t length) {
  report_private_names_add(names, bytes, length, PRIVATE_HOST);
  const char *dot = memchr(bytes, '.', length);
  if (dot != NULL) {
    report_private_names_add(names, bytes, (size_t)(dot - bytes), PRIVATE_HOST);
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
static void add_host_in_name(struct report_private_names *names, const char *bytes, size_t length) {
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
    add_host(names, bytes + first, pid - 1 - first);
  }
}

static void add_input(struct report_private_names *names, const struct lumos_job *job, lumos_string_id id) {
  const char *bytes = lumos_string(job->strings, id);
  report_private_names_add(names, bytes, lumos_string_length(job->strings, id), PRIVATE_INPUT);
  add_host_in_name(names, bytes, lumos_string_length(job->strings, id));
}

/* What lumos-parse says of a file that it has left out begins with the file's name, whatever that is. */
static void add_left_out(struct report_private_names *names, const struct lumos_job *job,
                         const struct lumos_note *note) {
  const char *text = lumos_string(job->strings, note->text);
  const char *behind = strstr(text, " was left out: ");
  if (behind != NULL && strcmp(lumos_string(job->strings, note->code), "parse.not_a_trace") == 0) {
    report_private_names_add(names, text, (size_t)(behind - text), PRIVATE_INPUT);
    add_host_in_name(names, text, (size_t)(behind - text));
  }
}

/* Notes also name other traces: words that end like a trace's name. */
static void add_inputs_in_note(struct report_private_names *names, const struct lumos_job *job, lumos_string_id id) {
  static const char *const endings[] = {".json", ".json.gz", ".json.zst", ".jsonl"};
  const char *at = lumos_string(job->strings, id);
  while (*at != '\0') {
    size_t length = strcspn(at, " \t\n\"'(),:;");
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
      size_t ending = strlen(endings[i]);
      if (length > ending && strncasecmp(at + length - ending, endings[i], ending) == 0) {
        report_private_names_add(names, at, length, PRIVATE_INPUT);
        add_host_in_name(names, at, length);
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

/* Does this look like the name of a host in a network, as in an e-mail address? */
static bool is_domain(const char *bytes, size_t length) {
  static const char *const top[] = {"ai",       "cloud", "com", "corp",  "edu", "gov", "int",
                                    "internal", "io",    "lan", "local", "mil", "net", "org"};
  const char *dot = memrchr(bytes, '.', length);
  size_t behind = dot == NULL ? length : (size_t)(dot + 1 - bytes);
  for (size_t i = 0; i < sizeof top / sizeof top[0]; i++) {
    if (strlen(top[i]) == length - behind && strncasecmp(top[i], bytes + behind, length - behind) == 0) {
      return true;
    }
  }
  return false;
}

/* "user@host" around an at sign, of a host that is known or looks like one. */
static bool address_around(const struct report_private_names *names, const char *bytes, size_t length, size_t sign,
                           struct address *address) {
  size_t user = sign;
  size_t end = sign + 1;
  while (user > 0 && sign - user < MOST_ADDRESS && is_account(bytes[user - 1])) {
    user--;
  }
  while (end < length && end - sign <= MOST_ADDRESS && is_address(bytes[end])) {
    end++;
  }
  while (end > sign + 1 && !lumos_is_alphanumeric(bytes[end - 1])) {
    end--; /* the sentence's full stop */
  }
  *address = (struct address){user, sign + 1, end};
  size_t host = end - sign - 1;
  return user < sign && host > 0 &&
         (report_private_names_has(names, bytes + sign + 1, host, PRIVATE_HOST) || is_domain(bytes + sign + 1, host));
}

static void add_users(struct report_private_names *names, const char *bytes, size_t length) {
  if (memchr(bytes, '@', length) == NULL && !report_location_possible(bytes, length)) {
    return;
  }
  for (size_t at = 0; at < length; at++) {
    struct report_location path;
    struct address address;
    if (bytes[at] == '@' && address_around(names, bytes, length, at, &address)) {
      report_private_names_add(names, bytes + address.user, at - address.user, PRIVATE_USER);
      add_host(names, bytes + address.host, address.end - address.host);
    } else if (report_location_at(bytes, length, at, &path)) {
      size_t first = 0;
      size_t size = 0;
      for (size_t next = path.first; report_location_user(bytes, &path, &next, &first, &size);) {
        const char *space = memchr(bytes + first, ' ', size);
        report_private_names_add(names, bytes + first, size, PRIVATE_USER);
        report_private_names_add(names, bytes + first, space == NULL ? 0 : (size_t)(space - bytes) - first,
                                 PRIVATE_USER);
      }
      at = path.end - 1;
    }
  }
}

struct report_private_names *report_private_names_of(const struct lumos_job *job) {
  struct report_private_names *names = report_private_names_new();
  for (size_t i = 0; i < job->ranks.count; i++) {
    lumos_string_id host = job->ranks.items[i].host;
    add_host(names, lumos_string(job->strings, host), lumos_string_length(job->strings, host));
    add_input(names, job, job->ranks.items[i].source);
  }
  for (size_t i = 0; i < job->inputs.count; i++) {
    add_input(names, job, job->inputs.items[i]);
  }
  for (size_t i = 0; i < job->notes.count; i++) {
    add_left_out(names, job, &job->notes.items[i]);
    add_inputs_in_note(names, job, job->notes.items[i].text);
    add_inputs_in_note(names, job, job->notes.items[i].cure);
  }
  for (uint32_t id = 1; id <= lumos_strings_count(job->strings); id++) {
    add_users(names, lumos_string(job->strings, id), lumos_string_length(job->strings, id));
  }
  return names;
}

/* An address that begins here, with a user whom no list of names need know: short, or called like everybody. */
static bool address_at(const struct report_private_names *names, const char *bytes, size_t length, size_t at,
                       struct address *address) {
  if (!is_account(bytes[at]) || (at > 0 && is_account(bytes[at - 1]))) {
    return false;
  }
  size_t sign = at;
  while (sign < length && sign - at <= MOST_ADDRESS && is_account(bytes[sign])) {
    sign++;
  }
  return sign < length && bytes[sign] == '@' && address_around(names, bytes, length, sign, address) &&
         address->user == at;
}

void report_privacy_put(const struct report_private_names *names, const char *bytes, size_t length,
                        struct lumos_text *out) {
  bool addresses = memchr(bytes, '@', length) != NULL;
  bool paths = report_location_possible(bytes, length);
  size_t copied = 0;
  for (size_t at = 0; at < length;) {
    struct report_location path;
    struct report_private_name name;
    struct address address;
    if (!addresses && !paths) {
      at = report_private_names_next(names, bytes, length, at);
      if (at == length) {
        break;
      }
    }
    if (addresses && address_at(names, bytes, length, at, &address)) {
      lumos_text_add(out, bytes + copied, at - copied);
      lumos_text_format(out, "%s@%s", shown_as[PRIVATE_USER], shown_as[PRIVATE_HOST]);
      at = copied = address.end;
    } else if (report_private_names_at(names, bytes, length, at, &name)) {
      lumos_text_add(out, bytes + copied, at - copied);
      lumos_text_put(out, shown_as[name.kind]);
      at = copied = at + name.length;
    } else if (paths && report_location_at(bytes, length, at, &path)) {
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
  for (size_t i = 0; !kept[id] && i < lumos_string_length(job->strings, id); i++) {
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
  struct report_private_names *names = report_private_names_of(job);
  bool *kept = keywords(job);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (uint32_t id = 1; id <= lumos_strings_count(job->strings); id++) {
    const char *bytes = lumos_string(job->strings, id);
    size_t length = lumos_string_length(job->strings, id);
    if (kept[id]) {
      continue;
    }
    text.length = 0;
    report_privacy_put(names, bytes, length, &text);
    if (text.length != length || (length > 0 && memcmp(text.bytes, bytes, length) != 0)) {
      lumos_strings_replace(view, id, text.bytes == NULL ? "" : text.bytes, text.length);
    }
  }
  lumos_text_free(&text);
  free(kept);
  report_private_names_free(names);
  return view;
}
