/* regcomp writes repetitions out (a+ is aa*, a{9} is nine copies) and follows every way to match nothing; where they
 * stand within each other both multiply, so that 20 bytes can take minutes and all memory. So an expression is weighed
 * first: every repetition adds the weight of what it repeats, as often as it does, and what is too heavy or too deep is
 * refused.
 */
#include "transform/expression.h"

#include "base/ascii.h"
#include <string.h>

/* More than a name of a kernel needs. A * or a + weighs as four copies, as measured. */
enum { HEAVIEST = 400, DEEPEST = 20, OPEN_COPIES = 4 };

/* What stands behind a bracket so far: its weight, and that of its last part, which a repetition would repeat. */
struct group {
  size_t before, last;
};

struct scales {
  struct group groups[DEEPEST + 1];
  int depth;
  size_t added; /* by repetitions */
  bool refers_back;
};

static void add_part(struct scales *scales, size_t weight) {
  struct group *group = &scales->groups[scales->depth];
  group->before += group->last;
  group->last = weight;
}

static void repeat(struct scales *scales, size_t copies) {
  struct group *group = &scales->groups[scales->depth];
  if (group->last > HEAVIEST || copies > HEAVIEST) {
    scales->added = HEAVIEST + 1;
    return;
  }
  size_t weight = group->last > 0 ? group->last : 1; /* where it repeats nothing, it may stand for itself */
  scales->added += weight * (copies - 1);
  group->last = weight * copies;
}

/* The last byte of the bracket expression that begins at `text`, or of the text. */
static const char *bracket_end(const char *text) {
  const char *at = text + 1;
  at += *at == '^';
  at += *at == ']'; /* as the first it is a member */
  while (*at != '\0' && *at != ']') {
    bool class = at[0] == '[' && at[1] != '\0' && strchr(":.=", at[1]) != NULL;
    const char *end = class ? strstr(at + 2, (const char[]){at[1], ']', '\0'}) : NULL;
    at = end != NULL ? end + 2 : at + 1;
  }
  return *at == ']' ? at : at - 1;
}

/* How many copies the interval at `text`, such as {2,5}, makes; 0: it is none. */
static size_t interval_copies(const char *text) {
  const char *at = text + 1;
  size_t least = 0;
  size_t most = 0;
  for (; lumos_is_digit(*at); at++) {
    least = least > HEAVIEST ? least : least * 10 + (size_t)(*at - '0');
  }
  if (*at == ',') {
    const char *second = ++at;
    for (; lumos_is_digit(*at); at++) {
      most = most > HEAVIEST ? most : most * 10 + (size_t)(*at - '0');
    }
    most = at == second ? least + OPEN_COPIES : most;
  }
  size_t copies = most > least ? most : least;
  return *at != '}' || at == text + 1 ? 0 : copies < 2 ? 2 : copies;
}

/* Weigh what begins at `text`; returns its last byte, or NULL when the brackets are too deep. */
static const char *weigh_part(struct scales *scales, const char *text) {
  const struct group *group = &scales->groups[scales->depth];
  size_t copies = *text == '{' ? interval_copies(text) : *text == '?' ? 2 : OPEN_COPIES;
  switch (*text) {
    case '(':
      if (scales->depth == DEEPEST) {
        return NULL;
      }
      scales->groups[++scales->depth] = (struct group){0, 0};
      return text;
    case ')':
      scales->depth -= scales->depth > 0;
      add_part(scales, group->before + group->last + 1);
      return text;
    case '*':
    case '?':
    case '+':
    case '{':
      if (copies > 0) {
        repeat(scales, copies);
        return *text == '{' ? strchr(text, '}') : text;
      }
      break;
    case '[':
      text = bracket_end(text);
      break;
    case '\\':
      text += text[1] != '\0';
      scales->refers_back |= *text >= '1' && *text <= '9';
      break;
    default:
      break;
  }
  add_part(scales, 1);
  return text;
}

static bool is_light(struct scales *scales, const char *text) {
  for (; text != NULL && *text != '\0' && scales->added <= HEAVIEST; text++) {
    text = weigh_part(scales, text);
    if (text == NULL) {
      return false;
    }
  }
  return scales->added <= HEAVIEST;
}

bool lumos_expression_compile(regex_t *regex, const char *text, struct lumos_error *error) {
  struct scales scales = {.depth = 0};
  if (!is_light(&scales, text)) {
    return lumos_fail(
        error,
        "'%.200s' is too large an expression: its repetitions repeat too much, or its brackets are over %d "
        "deep; make it simpler",
        text, DEEPEST);
  }
  if (scales.refers_back) {
    return lumos_fail(error, "'%.200s' refers back to what it has matched, which POSIX extended expressions cannot",
                      text);
  }
  int code = regcomp(regex, text, REG_EXTENDED | REG_NOSUB);
  if (code != 0) {
    char reason[128];
    (void)regerror(code, regex, reason, sizeof reason);
    return lumos_fail(error, "'%s' is not a POSIX extended regular expression: %s", text, reason);
  }
  return true;
}
