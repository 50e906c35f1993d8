/* Names by their hash in lower case. Most places of most texts begin none: a table by the first three bytes says so. */
#include "report/text/private_names.h"

#include "base/ascii.h"
#include <lumos/memory.h>
#include <lumos/strings.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
  LEAST = 3,  /* bytes: two letters stand everywhere */
  MOST = 255, /* no host or file has a longer name */
  FILTER = 4096,
};

struct report_private_names {
  struct lumos_strings *names;                  /* in lower case */
  LUMOS_VECTOR(enum report_private_kind) kinds; /* of name `id`: kinds.items[id - 1] */
  bool has_length[MOST + 1];
  bool begins[FILTER];       /* by the hash of three bytes: some name begins with them */
  bool first[UINT8_MAX + 1]; /* by a byte, upper or lower case: some name begins with it */
};

struct report_private_names *report_private_names_new(void) {
  struct report_private_names *names = lumos_allocate_zeroed(1, sizeof *names);
  names->names = lumos_strings_new();
  return names;
}

void report_private_names_free(struct report_private_names *names) {
  lumos_strings_free(names->names);
  lumos_vector_free(&names->kinds);
  free(names);
}

static char lower(char byte) { return (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte); }
static char upper(char byte) { return (char)(byte >= 'a' && byte <= 'z' ? byte & ~0x20 : byte); }

static size_t filter_of(const char *bytes) {
  size_t hash = 0;
  for (int i = 0; i < LEAST; i++) {
    hash = hash * 31 + (unsigned char)lower(bytes[i]);
  }
  return hash % FILTER;
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
  for (size_t i = 0; i < sizeof nobody / sizeof nobody[0]; i++) {
    if (strlen(nobody[i]) == length && strncasecmp(nobody[i], bytes, length) == 0) {
      return true;
    }
  }
  return length == 0;
}

/* The id of a name, or LUMOS_NO_STRING. */
static uint32_t id_of(const struct report_private_names *names, const char *bytes, size_t length) {
  char folded[MOST];
  if (length > MOST || !names->has_length[length]) {
    return LUMOS_NO_STRING;
  }
  for (size_t i = 0; i < length; i++) {
    folded[i] = lower(bytes[i]);
  }
  return lumos_interned(names->names, folded, length);
}

void report_private_names_add(struct report_private_names *names, const char *bytes, size_t length,
                              enum report_private_kind kind) {
  char folded[MOST];
  if (length < LEAST || length > MOST || says_nothing(bytes, length) ||
      id_of(names, bytes, length) != LUMOS_NO_STRING) {
    return;
  }
  for (size_t i = 0; i < length; i++) {
    folded[i] = lower(bytes[i]);
  }
  (void)lumos_intern(names->names, folded, length);
  lumos_vector_push(&names->kinds, kind);
  names->has_length[length] = true;
  names->begins[filter_of(bytes)] = true;
  names->first[(unsigned char)folded[0]] = true;
  names->first[(unsigned char)upper(folded[0])] = true;
}

size_t report_private_names_next(const struct report_private_names *names, const char *bytes, size_t length,
                                 size_t at) {
  while (at < length && !names->first[(unsigned char)bytes[at]]) {
    at++;
  }
  return at;
}

bool report_private_names_has(const struct report_private_names *names, const char *bytes, size_t length,
                              enum report_private_kind kind) {
  uint32_t id = id_of(names, bytes, length);
  return id != LUMOS_NO_STRING && names->kinds.items[id - 1] == kind;
}

/* Is it a whole word, and a user's name no part of a qualified one, as in aten::max? */
static bool stands(const char *bytes, size_t length, size_t at, struct report_private_name name) {
  size_t end = at + name.length;
  bool whole = end == length || !lumos_is_alphanumeric(bytes[end]) || !lumos_is_alphanumeric(bytes[end - 1]);
  bool qualified = name.kind == PRIVATE_USER && at >= 2 && bytes[at - 1] == ':' && bytes[at - 2] == ':';
  return whole && !qualified;
}

bool report_private_names_at(const struct report_private_names *names, const char *bytes, size_t length, size_t at,
                             struct report_private_name *name) {
  size_t most = length - at < MOST ? length - at : MOST;
  if (most < LEAST || (at > 0 && lumos_is_alphanumeric(bytes[at - 1]) && lumos_is_alphanumeric(bytes[at])) ||
      !names->begins[filter_of(bytes + at)]) {
    return false;
  }
  for (size_t size = most; size >= LEAST; size--) {
    uint32_t id = id_of(names, bytes + at, size);
    if (id != LUMOS_NO_STRING) {
      *name = (struct report_private_name){size, names->kinds.items[id - 1]};
      if (stands(bytes, length, at, *name)) {
        return true;
      }
    }
  }
  return false;
}
