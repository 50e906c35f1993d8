/* How inputs of JSON are mutated: by values, members, items and lines, so that what a mutation leaves is mostly JSON
 * that a reader goes deep into. Several texts may follow each other, parted by line ends or bytes 0, and bytes that are
 * no JSON are passed over. Names and values of the format are the words of the fuzzer's dictionary. Linked to the
 * fuzzers of such formats in the place of libFuzzer's own mutator, which does one in ten mutations.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libFuzzer's. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
int LLVMFuzzerInitialize(int *count, char ***arguments);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned int seed);

enum { MOST_WORDS = 512, WORD = 128, MOST_NODES = 8192, DEPTH = 64, SCRATCH = 1 << 16 };

static char words[MOST_WORDS][WORD]; /* of the dictionary */
static size_t word_count;

struct input {
  uint8_t *bytes;
  size_t size, most;
  uint64_t state; /* of chance */
};

static uint32_t pick(struct input *input, size_t below) {
  input->state = input->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(input->state >> 33) % (uint32_t)(below == 0 ? 1 : below);
}
#define PICK(input, list) (list)[pick(input, sizeof(list) / sizeof *(list))]

/* ---- The dictionary ---- */

static void read_word(const char *at) {
  char *word = words[word_count];
  size_t length = 0;
  for (at++; *at != '\0' && *at != '"' && length + 1 < WORD; at++) {
    if (at[0] == '\\' && at[1] == 'x' && isxdigit((unsigned char)at[2]) && isxdigit((unsigned char)at[3])) {
      const char digits[] = {at[2], at[3], '\0'};
      word[length++] = (char)strtol(digits, NULL, 16);
      at += 3;
    } else {
      at += at[0] == '\\' && at[1] != '\0';
      word[length++] = *at;
    }
  }
  word[length] = '\0';
  word_count += length > 0;
}

int LLVMFuzzerInitialize(int *count, char ***arguments) {
  for (int i = 1; i < *count; i++) {
    FILE *file = strncmp((*arguments)[i], "-dict=", 6) == 0 ? fopen((*arguments)[i] + 6, "re") : NULL;
    char line[1024];
    while (file != NULL && word_count < MOST_WORDS && fgets(line, sizeof line, file) != NULL) {
      const char *quote = line[0] == '#' ? NULL : strchr(line, '"');
      if (quote != NULL) {
        read_word(quote);
      }
    }
    if (file != NULL) {
      (void)fclose(file);
    }
  }
  return 0;
}

/* ---- What is there ---- */

struct node {
  size_t from;    /* its name's quote, where it is a member; else as `at` */
  size_t at, end; /* the value */
  char kind;      /* '{', '[', '"', '0' or 'w' */
};
static struct node nodes[MOST_NODES];
static uint32_t node_count;

static size_t behind_string(const uint8_t *bytes, size_t size, size_t at) {
  for (at++; at < size && bytes[at] != '"' && bytes[at] != '\n'; at++) {
    at += bytes[at] == '\\' && at + 1 < size;
  }
  return at < size ? at + 1 : size;
}

static size_t behind_word(const uint8_t *bytes, size_t size, size_t at) {
  while (at < size && (isalnum(bytes[at]) || bytes[at] == '+' || bytes[at] == '-' || bytes[at] == '.')) {
    at++;
  }
  return at;
}

static size_t behind_blank(const uint8_t *bytes, size_t size, size_t at) {
  while (at < size && (bytes[at] == ' ' || bytes[at] == '\t' || bytes[at] == '\r' || bytes[at] == '\n')) {
    at++;
  }
  return at;
}

/* Note the values from a byte on; of a long input what fits. */
static void scan(const uint8_t *bytes, size_t size, size_t at) {
  uint32_t open[DEPTH], depth = 0;
  size_t name = SIZE_MAX;
  node_count = 0;
  while (at < size && node_count < MOST_NODES) {
    uint8_t byte = bytes[at];
    struct node node = {name == SIZE_MAX ? at : name, at, at + 1, (char)byte};
    if (byte == '"') {
      node.end = behind_string(bytes, size, at);
      size_t colon = behind_blank(bytes, size, node.end);
      if (name == SIZE_MAX && colon < size && bytes[colon] == ':') {
        name = at;
        at = colon + 1;
        continue;
      }
    } else if (byte == '{' || byte == '[') {
      node.end = size; /* until it is closed */
      if (depth < DEPTH) {
        open[depth++] = node_count;
      }
    } else if (byte == '}' || byte == ']') {
      if (depth > 0) {
        nodes[open[--depth]].end = at + 1;
      }
    } else if (byte == '-' || isalnum(byte)) {
      node.kind = byte == '-' || isdigit(byte) ? '0' : 'w';
      node.end = behind_word(bytes, size, at);
    }
    if (strchr("{[\"0w", node.kind) != NULL && node.kind != '\0') {
      nodes[node_count++] = node;
      name = SIZE_MAX;
      at = node.kind == '{' || node.kind == '[' ? at + 1 : node.end;
    } else {
      at++;
    }
  }
}

/* One that is of one of these kinds; NULL: none was found. */
static const struct node *any(struct input *input, const char *kinds) {
  for (int tries = 0; tries < 32 && node_count > 0; tries++) {
    const struct node *node = &nodes[pick(input, node_count)];
    if (strchr(kinds, node->kind) != NULL) {
      return node;
    }
  }
  return NULL;
}

/* ---- Changes ---- */

/* Bytes [from, to) become others; nothing happens where there is no room. */
static void splice(struct input *input, size_t from, size_t to, const void *bytes, size_t length) {
  if (input->size - (to - from) + length <= input->most) {
    memmove(input->bytes + from + length, input->bytes + to, input->size - to);
    if (length > 0) {
      memcpy(input->bytes + from, bytes, length);
    }
    input->size += length - (to - from);
  }
}

static void splice_text(struct input *input, size_t from, size_t to, const char *text) {
  splice(input, from, to, text, strlen(text));
}

static uint8_t scratch[SCRATCH];

/* Bytes [from, to) of the input, in scratch; how many. */
static size_t copied(const struct input *input, size_t from, size_t to) {
  size_t length = to - from < SCRATCH ? to - from : SCRATCH;
  memcpy(scratch, input->bytes + from, length);
  return length;
}

static const char *number_text(struct input *input) {
  static const char *const telling[] = {"0",
                                        "-0",
                                        "1",
                                        "-1",
                                        "2",
                                        "3",
                                        "7",
                                        "8",
                                        "64",
                                        "100",
                                        "1000",
                                        "1024",
                                        "0.5",
                                        "-0.001",
                                        "1e3",
                                        "1e15",
                                        "1e300",
                                        "-1e300",
                                        "1e999",
                                        "1e-300",
                                        "1000000000",
                                        "1048577",
                                        "65536",
                                        "2147483647",
                                        "2147483648",
                                        "-2147483648",
                                        "4294967295",
                                        "4294967296",
                                        "999999999999",
                                        "4503599627370496",
                                        "9007199254740991",
                                        "9007199254740993",
                                        "-9007199254740991",
                                        "9223372036854775807",
                                        "9223372036854775808",
                                        "-9223372036854775808",
                                        "18446744073709551616",
                                        "9223372036854775.807",
                                        "-9223372036854775.808",
                                        "1e18",
                                        "00",
                                        "1.",
                                        "+1",
                                        "0x10"};
  return PICK(input, telling);
}

static const char *value_text(struct input *input) {
  static const char *const telling[] = {"null",
                                        "true",
                                        "false",
                                        "{}",
                                        "[]",
                                        "\"\"",
                                        "\"0\"",
                                        "\"-1\"",
                                        "\"1e9\"",
                                        "\"a\"",
                                        "NaN",
                                        "-inf",
                                        "Infinity",
                                        "[[]]",
                                        "[0,0]",
                                        "[1,2,3]",
                                        "[-1,9223372036854775807]",
                                        "[null,\"a\"]",
                                        "{\"\":{}}",
                                        "{\"a\":[1,{\"b\":2}]}",
                                        "\"\\u0000\"",
                                        "\"\\ud800\"",
                                        "\"\\u202e\"",
                                        "\"\xFF\"",
                                        "\"<b>&'\"",
                                        "\"2026-07-01\""};
  return pick(input, 2) == 0 ? number_text(input) : PICK(input, telling);
}

/* A word of the dictionary as a value or a member: closed, and with a value. */
static const char *whole_word(struct input *input, char out[2 * WORD + 128]) {
  char open[WORD];
  size_t depth = 0, length;
  bool quoted = false;
  (void)snprintf(out, WORD, "%s", words[pick(input, word_count)]);
  for (length = strlen(out); length > 0 && out[length - 1] == ','; length--) {
    out[length - 1] = '\0';
  }
  for (const char *at = out; *at != '\0'; at++) {
    at += *at == '\\' && at[1] != '\0';
    quoted ^= *at == '"';
    if (!quoted && (*at == '{' || *at == '[')) {
      open[depth++] = *at == '{' ? '}' : ']';
    } else if (!quoted && (*at == '}' || *at == ']') && depth > 0) {
      depth--;
    }
  }
  if (length > 0 && out[length - 1] == ':') {
    length += (size_t)snprintf(out + length, 128, "%s", value_text(input));
  }
  while (depth > 0) {
    out[length++] = open[--depth];
  }
  out[length] = '\0';
  return out;
}

static bool is_member(const char *text) {
  size_t end = behind_string((const uint8_t *)text, strlen(text), 0);
  return text[0] == '"' && text[end] == ':';
}

static void change_number(struct input *input) {
  const struct node *node = any(input, "0");
  if (node == NULL) {
    return;
  }
  char text[64];
  size_t length = node->end - node->at < 40 ? node->end - node->at : 40;
  memcpy(text, input->bytes + node->at, length);
  text[length] = '\0';
  switch (pick(input, 7)) {
    case 0:
      (void)snprintf(text, sizeof text, "%lld", (long long)(strtoull(text, NULL, 10) + pick(input, 5) - 2));
      break;
    case 1:
      (void)snprintf(text + length, sizeof text - length, "%s", pick(input, 2) == 0 ? "000" : "000000000");
      break;
    case 2:
      (void)snprintf(text + length, sizeof text - length, "%s", pick(input, 2) == 0 ? ".5" : "e2");
      break;
    case 3:
      splice_text(input, node->at, node->at + (text[0] == '-'), text[0] == '-' ? "" : "-");
      return;
    case 4: { /* that of another place */
      const struct node *other = any(input, "0");
      if (other != NULL) {
        splice(input, node->at, node->end, scratch, copied(input, other->at, other->end));
      }
      return;
    }
    default:
      (void)snprintf(text, sizeof text, "%s", number_text(input));
  }
  splice_text(input, node->at, node->end, text);
}

static void change_string(struct input *input) {
  static const char *const bytes[] = {"\xFF",
                                      "\xC0\xAF",
                                      "\xED\xA0\x80",
                                      "\xE2\x82",
                                      "\xF8\x88\x80\x80\x80",
                                      "\x80",
                                      "\x01",
                                      "\x7F",
                                      "\\u0000",
                                      "\\ud800",
                                      "\\udc00\\ud800",
                                      "\\x",
                                      "\\u12",
                                      "\"",
                                      "\\\"",
                                      "\\",
                                      "\n",
                                      "<b>",
                                      "</script>",
                                      "\xE2\x80\xAE",
                                      "\xF0\x9F\x98\x80",
                                      "0,1,...,7",
                                      "#",
                                      "/",
                                      " ",
                                      "%s"};
  const struct node *node = any(input, "\"");
  if (node == NULL || node->end - node->at < 2) {
    return;
  }
  size_t inside = node->at + 1 + pick(input, node->end - node->at - 1);
  switch (pick(input, 5)) {
    case 0:
      splice_text(input, node->at + 1, node->end - 1, "");
      break;
    case 1:
      memset(scratch, 'a' + (int)pick(input, 26), 1000);
      splice(input, inside, inside, scratch, pick(input, 2) == 0 ? 70 : 1000);
      break;
    case 2:
      if (word_count > 0) {
        splice_text(input, node->at + 1, node->end - 1, "");
        char text[2 * WORD + 128], plain[WORD];
        size_t length = 0;
        for (const char *at = whole_word(input, text); *at != '\0' && length + 1 < sizeof plain; at++) {
          if (strchr("\"{}[]:,", *at) == NULL) {
            plain[length++] = *at;
          }
        }
        splice(input, node->at + 1, node->at + 1, plain, length);
      }
      break;
    default:
      splice_text(input, inside, inside, PICK(input, bytes));
  }
}

static void change_value(struct input *input) {
  const struct node *node = any(input, "{[\"0w");
  if (node == NULL) {
    return;
  }
  const struct node *other = pick(input, 2) == 0 ? NULL : any(input, "{[\"0w");
  char text[2 * WORD + 128];
  if (other != NULL) {
    splice(input, node->at, node->end, scratch, copied(input, other->at, other->end));
  } else if (word_count > 0 && pick(input, 3) == 0 && !is_member(whole_word(input, text))) {
    splice_text(input, node->at, node->end, text);
  } else {
    splice_text(input, node->at, node->end, value_text(input));
  }
}

/* A member of the format, or of another place of the input, into an object; into a list a value. */
static void insert(struct input *input) {
  const struct node *node = any(input, pick(input, 4) == 0 ? "[" : "{");
  if (node == NULL) {
    return;
  }
  char text[2 * WORD + 128];
  size_t inside = node->at + 1, length = 0;
  const struct node *other = pick(input, 3) == 0 || word_count == 0 ? any(input, "{[\"0w") : NULL;
  if (other != NULL) {
    length = copied(input, other->from, other->end);
  } else if (word_count > 0) {
    for (int tries = 0; tries < 16 && is_member(whole_word(input, text)) != (node->kind == '{'); tries++) {
    }
    length = strlen(text);
    memcpy(scratch, text, length);
  }
  size_t next = behind_blank(input->bytes, input->size, inside);
  if (length < SCRATCH && next < input->size && input->bytes[next] != '}' && input->bytes[next] != ']') {
    scratch[length++] = ',';
  }
  splice(input, inside, inside, scratch, length);
}

static void rename_member(struct input *input) {
  const struct node *node = any(input, "{[\"0w");
  if (node == NULL || node->from == node->at) {
    return;
  }
  size_t end = behind_string(input->bytes, input->size, node->from);
  const struct node *other = pick(input, 2) == 0 ? any(input, "{[\"0w") : NULL;
  char text[2 * WORD + 128];
  if (other != NULL && other->from != other->at) {
    size_t other_end = behind_string(input->bytes, input->size, other->from);
    splice(input, node->from, end, scratch, copied(input, other->from, other_end));
  } else if (word_count > 0 && is_member(whole_word(input, text))) {
    splice(input, node->from, end, text, behind_string((const uint8_t *)text, strlen(text), 0));
  } else {
    splice_text(input, end - 1, end - 1, "x");
  }
}

static void drop(struct input *input) {
  const struct node *node = any(input, "{[\"0w");
  if (node == NULL) {
    return;
  }
  size_t from = node->from, end = behind_blank(input->bytes, input->size, node->end);
  if (end < input->size && input->bytes[end] == ',') {
    end++;
  } else {
    end = node->end;
    from -= from > 0 && input->bytes[from - 1] == ',';
  }
  splice(input, from, end, NULL, 0);
}

static void copy(struct input *input) {
  const struct node *node = any(input, "{[\"0w");
  if (node == NULL || node->end - node->from >= SCRATCH) {
    return;
  }
  size_t end = node->end;
  scratch[0] = ',';
  memcpy(scratch + 1, input->bytes + node->from, end - node->from);
  size_t length = 1 + end - node->from;
  for (uint32_t times = pick(input, 4) == 0 ? 20 : 1; times > 0; times--) {
    splice(input, end, end, scratch, length);
  }
}

static void swap(struct input *input) {
  const struct node *one = any(input, "{[\"0w"), *other = any(input, "{[\"0w");
  if (one == NULL || other->at == one->at) {
    return;
  }
  const struct node *first = one->at < other->at ? one : other, *second = first == one ? other : one;
  size_t length = second->end - second->at, between = second->at - first->end;
  if (first->end > second->at || second->end - first->at > SCRATCH) {
    return;
  }
  memcpy(scratch, input->bytes + second->at, length);
  memcpy(scratch + length, input->bytes + first->end, between);
  memcpy(scratch + length + between, input->bytes + first->at, first->end - first->at);
  memcpy(input->bytes + first->at, scratch, second->end - first->at);
}

static void nest(struct input *input) {
  const struct node *node = any(input, "{[\"0w");
  if (node == NULL) {
    return;
  }
  bool list = pick(input, 2) == 0;
  static const uint32_t depths[] = {1, 1, 2, 10, 63, 65, 300};
  const char *before = list ? "[" : "{\"a\":";
  for (uint32_t depth = PICK(input, depths), at = 0; at < depth; at++) {
    if (input->size + strlen(before) + 1 > input->most) {
      return;
    }
    size_t end = node->end + at * strlen(before);
    splice_text(input, end, end, list ? "]" : "}");
    splice_text(input, node->at, node->at, before);
  }
}

/* Drop a line, or put it in another place, or twice, or a cut behind a byte 0. */
static void change_lines(struct input *input) {
  uint8_t end = memchr(input->bytes, '\n', input->size) != NULL ? '\n' : '\0';
  size_t from = pick(input, input->size), to = from;
  while (from > 0 && input->bytes[from - 1] != end) {
    from--;
  }
  while (to < input->size && input->bytes[to] != end) {
    to++;
  }
  to += to < input->size;
  size_t length = copied(input, from, to);
  uint32_t choice = pick(input, 3);
  if (choice < 2) {
    splice(input, from, to, NULL, 0);
  }
  if (choice > 0 && input->size > 0) {
    size_t at = pick(input, input->size);
    while (at > 0 && input->bytes[at - 1] != end) {
      at--;
    }
    splice(input, at, at, scratch, length);
  }
}

static void change_bytes(struct input *input) {
  input->size = LLVMFuzzerMutate(input->bytes, input->size, input->most);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  static void (*const changes[])(struct input *) = {
      change_number, change_number, change_value,  change_value, insert,        insert,       rename_member, drop, copy,
      swap,          nest,          change_string, change_lines, change_string, change_lines, change_bytes};
  struct input input = {data, size, max_size, seed};
  for (uint32_t times = 1 + pick(&input, 4); times > 0; times--) {
    if (input.size == 0) {
      change_bytes(&input);
    }
    scan(data, input.size, input.size > SCRATCH && pick(&input, 2) == 0 ? pick(&input, input.size) : 0);
    if (node_count == 0) {
      change_bytes(&input);
    } else {
      PICK(&input, changes)(&input);
    }
  }
  return input.size;
}

/* A value of the one input becomes one of the other, or a member or item of the other is added. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *one, size_t one_size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t max_size, unsigned int seed) {
  struct input input = {out, one_size < max_size ? one_size : max_size, max_size, seed};
  memcpy(out, one, input.size);
  scan(other, other_size, 0);
  const struct node *taken = any(&input, "{[\"0w");
  if (taken == NULL) {
    return input.size;
  }
  bool member = pick(&input, 2) == 0;
  size_t from = member ? taken->from : taken->at, length = taken->end - from;
  if (length + 1 > SCRATCH) {
    return input.size;
  }
  memcpy(scratch, ",", 1);
  memcpy(scratch + 1, other + from, length);
  scan(out, input.size, 0);
  const struct node *place = any(&input, "{[\"0w");
  if (place != NULL && member) {
    splice(&input, place->end, place->end, scratch, length + 1);
  } else if (place != NULL) {
    splice(&input, place->at, place->end, scratch + 1, length);
  }
  return input.size;
}
