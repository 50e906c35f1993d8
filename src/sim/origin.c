/* Both questions are answered by a walk up from the launch: to the first module, or to the node of autograd that leads
 * to the forward pass. What it finds is kept for all spans on the way.
 */
#include "sim/origin.h"

#include "base/text.h"
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 1000 }; /* spans within spans. Chosen: it bounds the time; Python nests no more calls by default */

/* Checkpoints and compiled regions hold layers, not one op's work; what lies in them says more. */
static bool is_transparent(const char *name) {
  static const char *const wrappers[] = {"CheckpointFunction", "CompiledFunction", "Torch-Compiled Region"};
  for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
    if (strncmp(name, wrappers[i], strlen(wrappers[i])) == 0) {
      return true;
    }
  }
  return false;
}

void lumos_origins_begin(struct lumos_origins *origins, const struct lumos_job *job) {
  *origins = (struct lumos_origins){.job = job};
  uint32_t strings = lumos_strings_count(job->strings);
  origins->transparent = lumos_allocate_zeroed(strings + 1U, 1);
  for (uint32_t string = 1; string <= strings; string++) {
    origins->transparent[string] = is_transparent(lumos_string(job->strings, string));
  }
  origins->modules_of = lumos_allocate((job->spans.count + 1) * sizeof *origins->modules_of);
  memset(origins->modules_of, 0xFF, (job->spans.count + 1) * sizeof *origins->modules_of);
  origins->ops_of = lumos_allocate((job->spans.count + 1) * sizeof *origins->ops_of);
  memset(origins->ops_of, 0xFF, (job->spans.count + 1) * sizeof *origins->ops_of);
  lumos_vector_push(&origins->modules, ((struct lumos_module){0, LUMOS_NO_STRING}));
}

void lumos_origins_free(struct lumos_origins *origins) {
  free(origins->transparent);
  free(origins->modules_of);
  free(origins->ops_of);
  lumos_numbering_free(&origins->numbering);
  lumos_vector_free(&origins->modules);
}

/* ---- Modules ---- */

static uint32_t module_in(struct lumos_origins *origins, uint32_t parent, lumos_string_id name) {
  uint32_t module = lumos_number_of(&origins->numbering, lumos_key_pair(parent, name)) + 1;
  if (module == origins->modules.count) {
    lumos_vector_push(&origins->modules, ((struct lumos_module){parent, name}));
  }
  return module;
}

/* What a span is part of: work of the backward pass of the op whose gradient it is, all else of what it lies in. */
static uint32_t above(const struct lumos_span *span) {
  return span->forward != LUMOS_NONE ? span->forward : span->parent;
}

/* The module around a span. What is found is kept for all spans on the way up, so that each is looked at once. */
static uint32_t module_around(struct lumos_origins *origins, uint32_t span) {
  const struct lumos_span *spans = origins->job->spans.items;
  uint32_t way[DEEPEST];
  int length = 0;
  while (span != LUMOS_NONE && origins->modules_of[span] == LUMOS_NONE && length < DEEPEST) {
    way[length++] = span;
    span = above(&spans[span]);
  }
  uint32_t module = span == LUMOS_NONE || origins->modules_of[span] == LUMOS_NONE ? 0 : origins->modules_of[span];
  while (length > 0) {
    const struct lumos_span *record = &spans[way[--length]];
    module = record->kind == LUMOS_SPAN_MODULE ? module_in(origins, module, record->name) : module;
    origins->modules_of[way[length]] = module;
  }
  return module;
}

/* ---- Ops ---- */

/* An op that autograd counts, as seen from outside: aten::layer_norm, not the aten::native_layer_norm that shares its
 * number. */
static lumos_string_id outermost_name(const struct lumos_origins *origins, uint32_t span) {
  const struct lumos_span *spans = origins->job->spans.items;
  uint32_t outer = spans[span].parent;
  for (int depth = 0; depth < DEEPEST && outer != LUMOS_NONE && spans[outer].kind == LUMOS_SPAN_OP &&
                      spans[outer].sequence == spans[span].sequence && spans[outer].forward == LUMOS_NONE &&
                      !origins->transparent[spans[outer].name];
       depth++) {
    span = outer;
    outer = spans[outer].parent;
  }
  return origins->transparent[spans[span].name] ? LUMOS_NO_STRING : spans[span].name;
}

/* Where the way up ends: with a module, or with the node of autograd that leads to the forward pass. */
static struct lumos_ops ops_at_end(const struct lumos_origins *origins, uint32_t span) {
  bool back = span != LUMOS_NONE && origins->job->spans.items[span].forward != LUMOS_NONE;
  const struct lumos_span *spans = origins->job->spans.items;
  return back ? (struct lumos_ops){spans[span].name, outermost_name(origins, spans[span].forward)}
              : (struct lumos_ops){LUMOS_NO_STRING, LUMOS_NO_STRING};
}

static bool ends_way(const struct lumos_span *span) {
  return span->kind == LUMOS_SPAN_MODULE || span->forward != LUMOS_NONE;
}

/* As seen from a span, of which is known what is around it. */
static struct lumos_ops ops_in(const struct lumos_origins *origins, uint32_t span, struct lumos_ops around) {
  const struct lumos_span *record = &origins->job->spans.items[span];
  if (record->kind == LUMOS_SPAN_OP) {
    lumos_string_id counted = record->sequence != LUMOS_ABSENT ? outermost_name(origins, span) : LUMOS_NO_STRING;
    around.innermost = record->name;
    around.counted = counted != LUMOS_NO_STRING ? counted : around.counted;
  }
  return around;
}

static struct lumos_ops ops_of(struct lumos_origins *origins, uint32_t span) {
  const struct lumos_span *spans = origins->job->spans.items;
  uint32_t way[DEEPEST];
  int length = 0;
  while (span != LUMOS_NONE && origins->ops_of[span].innermost == LUMOS_NONE && !ends_way(&spans[span]) &&
         length < DEEPEST) {
    way[length++] = span;
    span = spans[span].parent;
  }
  bool known = span != LUMOS_NONE && origins->ops_of[span].innermost != LUMOS_NONE;
  struct lumos_ops ops = known ? origins->ops_of[span] : ops_at_end(origins, span);
  if (span != LUMOS_NONE && ends_way(&spans[span])) {
    origins->ops_of[span] = ops;
  }
  while (length > 0) {
    length--;
    ops = ops_in(origins, way[length], ops);
    origins->ops_of[way[length]] = ops;
  }
  return ops;
}

lumos_string_id lumos_origin_op(struct lumos_origins *origins, uint32_t span) {
  struct lumos_ops ops = ops_of(origins, span);
  return ops.counted == LUMOS_NO_STRING ? ops.innermost : ops.counted;
}

struct lumos_origin lumos_origin_of(struct lumos_origins *origins, uint32_t span) {
  return (struct lumos_origin){lumos_origin_op(origins, span), module_around(origins, span)};
}

uint32_t lumos_launch_span(const struct lumos_job *job, const struct lumos_task *task) {
  return task->call != LUMOS_NONE ? job->tasks.items[task->call].span : task->span;
}

lumos_string_id lumos_module_path(const struct lumos_origins *origins, const struct lumos_job *job, uint32_t module) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  uint32_t way[64];
  int length = 0;
  for (; module != 0; module = origins->modules.items[module].parent) {
    if (length < (int)(sizeof way / sizeof *way)) {
      way[length++] = module;
    }
  }
  while (length > 0) {
    const struct lumos_module *node = &origins->modules.items[way[--length]];
    lumos_text_put(&text, lumos_string(job->strings, node->name));
    lumos_text_put(&text, length > 0 ? "." : "");
  }
  lumos_string_id path = lumos_intern(job->strings, text.bytes, text.length);
  lumos_text_free(&text);
  return path;
}
