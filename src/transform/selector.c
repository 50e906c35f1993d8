/* Selectors: terms joined by commas, every one a filter over all tasks.
 *
 * A comma separates only where another term follows it, so that names and expressions may hold commas:
 * "name~foo<int, 4>,rank=0" has two terms. A term is asked once for every distinct name or span, not for every task.
 */
#include "transform/selector.h"

#include "base/ascii.h"
#include "base/text.h"
#include "job/names.h"
#include "transform/expression.h"
#include <stdlib.h>
#include <string.h>

enum term_kind {
  TERM_HOST,
  TERM_DEVICE,
  TERM_KIND,
  TERM_NAME,
  TERM_OP,
  TERM_MODULE,
  TERM_PHASE,
  TERM_LAYER,
  TERM_MICRO_BATCH,
  TERM_STAGE,
  TERM_RANK,
  TERM_GROUP,
  TERM_KINDS
};

static const struct {
  const char *head;
  bool valued; /* something follows */
} heads[TERM_KINDS] = {{"host", false},        {"device", false}, {"kind=", true},  {"name~", true},
                       {"op=", true},          {"module=", true}, {"phase=", true}, {"layer=", true},
                       {"micro_batch=", true}, {"stage=", true},  {"rank=", true},  {"group=", true}};

static const char NOT[] = "not "; /* before a term: what it does not choose */
enum { NOT_LENGTH = sizeof NOT - 1 };

struct term {
  enum term_kind kind;
  bool negated;
  char *value;    /* what follows the head; NUL-terminated, ours */
  uint64_t kinds; /* TERM_KIND: bits by enum lumos_task_kind ("other" is two) */
  int32_t number; /* TERM_LAYER, TERM_MICRO_BATCH, TERM_STAGE, TERM_RANK; of TERM_PHASE its enum lumos_phase */
  regex_t regex;  /* TERM_NAME */
};

struct lumos_selector {
  LUMOS_VECTOR(struct term) terms;
};

/* --- Reading --- */

/* How long the "not " is that begins here; 0: there is none. */
static size_t negation_at(const char *text, size_t length) {
  return length >= NOT_LENGTH && memcmp(text, NOT, NOT_LENGTH) == 0 ? NOT_LENGTH : 0;
}

/* The kind of the term that begins here, or TERM_KINDS. */
static enum term_kind head_at(const char *text, size_t length) {
  size_t negation = negation_at(text, length);
  text += negation;
  length -= negation;
  for (enum term_kind kind = TERM_HOST; kind < TERM_KINDS; kind++) {
    size_t head = strlen(heads[kind].head);
    bool fits = length >= head && memcmp(text, heads[kind].head, head) == 0;
    if (fits && (heads[kind].valued || length == head || text[head] == ',')) {
      return kind;
    }
  }
  return TERM_KINDS;
}

static size_t term_length(const char *text, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (text[i] == ',' && head_at(text + i + 1, length - i - 1) != TERM_KINDS) {
      return i;
    }
  }
  return length;
}

/* " gemm attention ... other"; both others have one name. */
static void put_kinds(struct lumos_text *text) {
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    if (kind != LUMOS_OTHER_DEVICE) {
      lumos_text_char(text, ' ');
      lumos_text_put(text, lumos_task_kind_name((enum lumos_task_kind)kind));
    }
  }
  lumos_text_put(text, " and communication");
  lumos_text_char(text, '\0');
}

static bool read_kind(struct term *term, struct lumos_error *error) {
  if (strcmp(term->value, "communication") == 0) {
    term->kinds = (uint64_t)1 << LUMOS_COLLECTIVE | (uint64_t)1 << LUMOS_P2P;
  }
  for (int kind = 1; kind < LUMOS_TASK_KINDS; kind++) {
    if (strcmp(lumos_task_kind_name((enum lumos_task_kind)kind), term->value) == 0) {
      term->kinds |= (uint64_t)1 << kind;
    }
  }
  if (term->kinds == 0) {
    struct lumos_text kinds = LUMOS_TEXT_BUFFER;
    put_kinds(&kinds);
    (void)lumos_fail(error, "no task has the kind '%s'; kinds are%s", term->value, kinds.bytes);
    lumos_text_free(&kinds);
  }
  return term->kinds != 0;
}

static bool read_number(struct term *term, struct lumos_error *error) {
  const char *head = heads[term->kind].head;
  char *end = NULL;
  long value = strtol(term->value, &end, 10);
  bool number = lumos_is_digit(term->value[0]) && *end == '\0' && value <= INT32_MAX;
  term->number = number ? (int32_t)value : 0;
  return number || lumos_fail(error, "'%s' is not a number; give one after %s, such as %s3", term->value, head, head);
}

static bool read_phase(struct term *term, struct lumos_error *error) {
  int phase = lumos_names_find(&lumos_phase_names, term->value, strlen(term->value));
  term->number = phase;
  return phase > 0 ||
         lumos_fail(error, "'%s' is not a phase; phases are forward backward weight optimizer other", term->value);
}

static bool read_value(struct term *term, struct lumos_error *error) {
  if (heads[term->kind].valued && term->value[0] == '\0') {
    return lumos_fail(error, "nothing follows '%s' in the selector", heads[term->kind].head);
  }
  switch (term->kind) {
    case TERM_KIND:
      return read_kind(term, error);
    case TERM_LAYER:
    case TERM_MICRO_BATCH:
    case TERM_STAGE:
    case TERM_RANK:
      return read_number(term, error);
    case TERM_PHASE:
      return read_phase(term, error);
    case TERM_NAME:
      return lumos_expression_compile(&term->regex, term->value, error);
    default:
      return true;
  }
}

static bool read_term(struct lumos_selector *selector, const char *text, size_t length, struct lumos_error *error) {
  size_t negation = negation_at(text, length);
  struct term term = {.kind = head_at(text, length), .negated = negation > 0};
  if (term.kind == TERM_KINDS || (!heads[term.kind].valued && length > negation + strlen(heads[term.kind].head))) {
    return lumos_fail(error,
                      "'%.*s' is not a selector; use host, device, kind=NAME, name~REGEX, op=NAME, module=NAME, "
                      "phase=NAME, layer=N, micro_batch=N, stage=N, rank=N or group=NAME, joined by commas, 'not ' "
                      "before what is left out",
                      (int)(length > 200 ? 200 : length), text);
  }
  size_t head = negation + strlen(heads[term.kind].head);
  term.value = lumos_allocate(length - head + 1);
  memcpy(term.value, text + head, length - head);
  term.value[length - head] = '\0';
  if (!read_value(&term, error)) {
    free(term.value);
    return false;
  }
  lumos_vector_push(&selector->terms, term);
  return true;
}

struct lumos_selector *lumos_selector_parse(const char *text, size_t length, struct lumos_error *error) {
  struct lumos_selector *selector = lumos_allocate_zeroed(1, sizeof *selector);
  for (size_t at = 0; at <= length;) {
    size_t term = term_length(text + at, length - at);
    if (!read_term(selector, text + at, term, error)) {
      lumos_selector_free(selector);
      return NULL;
    }
    at += term + 1;
  }
  return selector;
}

void lumos_selector_free(struct lumos_selector *selector) {
  if (selector == NULL) {
    return;
  }
  for (size_t i = 0; i < selector->terms.count; i++) {
    free(selector->terms.items[i].value);
    if (selector->terms.items[i].kind == TERM_NAME) {
      regfree(&selector->terms.items[i].regex);
    }
  }
  lumos_vector_free(&selector->terms);
  free(selector);
}

bool lumos_selector_takes_lags(const struct lumos_selector *selector) {
  for (size_t i = 0; i < selector->terms.count; i++) {
    if (selector->terms.items[i].kind == TERM_HOST && !selector->terms.items[i].negated) {
      return true;
    }
  }
  return false;
}

/* --- Filtering --- */

enum answer { UNASKED, NO, YES };

static void filter_names(const struct lumos_job *job, const struct term *term, uint8_t *chosen) {
  uint8_t *answers = lumos_allocate_zeroed(lumos_strings_count(job->strings) + (size_t)1, 1);
  for (size_t t = 0; t < job->tasks.count; t++) {
    lumos_string_id name = job->tasks.items[t].name;
    if (chosen[t] && answers[name] == UNASKED) {
      answers[name] = regexec(&term->regex, lumos_string(job->strings, name), 0, NULL, 0) == 0 ? YES : NO;
    }
    chosen[t] &= answers[name] == YES;
  }
  free(answers);
}

/* Is the span a module of that name, with or without what PyTorch writes before it? */
static bool is_module(const struct lumos_job *job, const struct lumos_span *span, const char *name) {
  static const char before[] = "nn.Module: ";
  const char *recorded = lumos_string(job->strings, span->name);
  bool prefixed = strncmp(recorded, before, sizeof before - 1) == 0;
  return span->kind == LUMOS_SPAN_MODULE &&
         (strcmp(recorded, name) == 0 || (prefixed && strcmp(recorded + sizeof before - 1, name) == 0));
}

/* Is a span inside such a module, or the gradient of what is? Backward ops name the forward op. */
static bool inside_module(const struct lumos_job *job, const char *name, uint32_t span, bool backward) {
  const struct lumos_span *spans = job->spans.items;
  size_t steps = 0; /* a ring of spans ends */
  for (uint32_t s = span; s != LUMOS_NONE && steps <= job->spans.count; s = spans[s].parent, steps++) {
    if (is_module(job, &spans[s], name) ||
        (backward && spans[s].forward != LUMOS_NONE && inside_module(job, name, spans[s].forward, false))) {
      return true;
    }
  }
  return false;
}

static void filter_modules(const struct lumos_job *job, const struct term *term, uint8_t *chosen) {
  uint8_t *answers = lumos_allocate_zeroed(job->spans.count, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool launched = task->call != LUMOS_NONE && lumos_timing_of(job, t)->origin != LUMOS_FREE;
    uint32_t spans[] = {task->span, launched ? job->tasks.items[task->call].span : LUMOS_NONE};
    bool inside = false;
    for (size_t i = 0; i < 2 && chosen[t] && !inside; i++) {
      if (spans[i] != LUMOS_NONE && answers[spans[i]] == UNASKED) {
        answers[spans[i]] = inside_module(job, term->value, spans[i], true) ? YES : NO;
      }
      inside = spans[i] != LUMOS_NONE && answers[spans[i]] == YES;
    }
    chosen[t] &= inside;
  }
  free(answers);
}

/* Is a span, or one around it, an op of that name? Answers are left behind, so that every span is asked once; a ring of
 * spans ends where it meets its own NO. */
static bool inside_op(const struct lumos_job *job, lumos_string_id name, uint8_t *answers, uint32_t span) {
  const struct lumos_span *spans = job->spans.items;
  uint32_t s = span;
  while (s != LUMOS_NONE && answers[s] == UNASKED) {
    answers[s] = spans[s].kind == LUMOS_SPAN_OP && spans[s].name == name ? YES : NO;
    if (answers[s] == YES) {
      break;
    }
    s = spans[s].parent;
  }
  if (s == LUMOS_NONE || answers[s] == NO) {
    return false;
  }
  for (uint32_t inner = span; inner != s; inner = spans[inner].parent) {
    answers[inner] = YES;
  }
  return true;
}

static void filter_ops(const struct lumos_job *job, const struct term *term, uint8_t *chosen) {
  lumos_string_id name = lumos_interned(job->strings, term->value, strlen(term->value));
  uint8_t *answers = lumos_allocate_zeroed(job->spans.count, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool launched = task->call != LUMOS_NONE && lumos_timing_of(job, t)->origin != LUMOS_FREE;
    uint32_t call_span = launched ? job->tasks.items[task->call].span : LUMOS_NONE;
    if (chosen[t]) {
      chosen[t] = name != LUMOS_NO_STRING &&
                  (inside_op(job, name, answers, task->span) || inside_op(job, name, answers, call_span));
    }
  }
  free(answers);
}

/* The group's id, the name that the id adds "@RANK" to, or its description. */
static bool is_group(const struct lumos_job *job, const struct lumos_group *group, const char *value) {
  const char *id = lumos_string(job->strings, group->id);
  size_t length = strlen(value);
  bool by_id = strncmp(id, value, length) == 0 &&
               (id[length] == '\0' || (id[length] == '@' && strchr(id + length + 1, '@') == NULL));
  return by_id || strcmp(lumos_string(job->strings, group->name), value) == 0;
}

static void filter_groups(const struct lumos_job *job, const struct term *term, uint8_t *chosen) {
  uint8_t *answers = lumos_allocate_zeroed(lumos_strings_count(job->strings) + (size_t)1, 1);
  for (size_t i = 0; i < job->groups.count; i++) {
    if (is_group(job, &job->groups.items[i], term->value)) {
      answers[job->groups.items[i].id] = YES;
    }
  }
  for (size_t t = 0; t < job->tasks.count; t++) {
    chosen[t] &= answers[lumos_detail_of(job, &job->tasks.items[t])->comm.group] == YES;
  }
  free(answers);
}

static bool holds(const struct lumos_job *job, const struct term *term, const struct lumos_task *task) {
  switch (term->kind) {
    case TERM_HOST:
      return !lumos_on_stream(job, task);
    case TERM_DEVICE:
      return lumos_on_stream(job, task);
    case TERM_KIND:
      return (term->kinds >> task->kind & 1) != 0;
    case TERM_PHASE:
      return task->phase == term->number;
    case TERM_LAYER:
      return task->layer == term->number;
    case TERM_MICRO_BATCH:
      return task->micro_batch == term->number;
    case TERM_STAGE: {
      const struct lumos_rank *rank = &job->ranks.items[lumos_rank_of(job, task)];
      return rank->has_parallel && rank->parallel.pp == term->number;
    }
    default:
      return job->ranks.items[lumos_rank_of(job, task)].rank == term->number;
  }
}

static void filter(const struct lumos_job *job, const struct term *term, uint8_t *chosen) {
  switch (term->kind) {
    case TERM_NAME:
      filter_names(job, term, chosen);
      break;
    case TERM_OP:
      filter_ops(job, term, chosen);
      break;
    case TERM_MODULE:
      filter_modules(job, term, chosen);
      break;
    case TERM_GROUP:
      filter_groups(job, term, chosen);
      break;
    default:
      for (size_t t = 0; t < job->tasks.count; t++) {
        chosen[t] &= holds(job, term, &job->tasks.items[t]);
      }
  }
}

static void leave_out(const struct lumos_job *job, const struct term *term, uint8_t *chosen) {
  uint8_t *out = lumos_copied(chosen, job->tasks.count, 1);
  filter(job, term, out);
  for (size_t t = 0; t < job->tasks.count; t++) {
    chosen[t] &= !out[t];
  }
  free(out);
}

/* --- Collectives: one chosen member chooses all, and through batched kernels those of the other pairs --- */

static uint32_t find_set(uint32_t *parents, uint32_t c) {
  while (parents[c] != c) {
    c = parents[c] = parents[parents[c]];
  }
  return c;
}

/* Collectives that share a member are one set. */
static uint32_t *join_collectives(const struct lumos_job *job) {
  uint32_t *parents = lumos_allocate(job->collectives.count * sizeof *parents);
  uint32_t *seen_in = lumos_allocate(job->tasks.count * sizeof *seen_in);
  for (size_t t = 0; t < job->tasks.count; t++) {
    seen_in[t] = LUMOS_NONE;
  }
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    parents[c] = c;
    for (uint32_t m = 0; m < collective->member_count; m++) {
      uint32_t member = job->members.items[collective->member_first + m];
      if (seen_in[member] == LUMOS_NONE) {
        seen_in[member] = c;
      } else {
        parents[find_set(parents, c)] = find_set(parents, seen_in[member]);
      }
    }
  }
  free(seen_in);
  return parents;
}

static void choose_whole_collectives(const struct lumos_job *job, uint8_t *chosen) {
  uint32_t *sets = join_collectives(job);
  uint8_t *touched = lumos_allocate_zeroed(job->collectives.count, 1);
  for (int pass = 0; pass < 2; pass++) { /* first find the sets that are touched, then choose all of them */
    for (uint32_t c = 0; c < job->collectives.count; c++) {
      const struct lumos_collective *collective = &job->collectives.items[c];
      uint8_t *set = &touched[find_set(sets, c)];
      for (uint32_t m = 0; m < collective->member_count; m++) {
        uint8_t *member = &chosen[job->members.items[collective->member_first + m]];
        if (pass == 0) {
          *set |= *member;
        } else {
          *member |= *set;
        }
      }
    }
  }
  free(touched);
  free(sets);
}

size_t lumos_selector_apply(const struct lumos_selector *selector, const struct lumos_job *job, uint8_t *chosen) {
  for (size_t t = 0; t < job->tasks.count; t++) {
    chosen[t] = 1;
  }
  for (size_t i = 0; i < selector->terms.count; i++) {
    const struct term *term = &selector->terms.items[i];
    if (term->negated) {
      leave_out(job, term, chosen);
    } else {
      filter(job, term, chosen);
    }
  }
  choose_whole_collectives(job, chosen);
  size_t count = 0;
  for (size_t t = 0; t < job->tasks.count; t++) {
    count += chosen[t];
  }
  return count;
}
