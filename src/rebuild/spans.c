#include "rebuild/spans.h"

#include <stdlib.h>

struct copy {     /* of a recorded span, the last that was built */
  uint32_t built; /* handle */
  uint32_t block; /* the last one in which it has a task, from 1; 0: it was never built */
};

struct rebuild_spans {
  const struct lumos_job *from;
  struct lumos_builder *builder;
  struct copy *copies;           /* by recorded span */
  uint32_t *last, *end;          /* by recorded lane: the last block on it, and the recorded task behind that */
  uint32_t block, before, first; /* the one at hand, the one before it on its thread, the first of the rank at hand */
  struct lumos_built_rank rank;
  LUMOS_VECTOR(uint32_t) missing;
};

struct rebuild_spans *rebuild_spans_new(const struct lumos_job *from, struct lumos_builder *builder) {
  struct rebuild_spans *spans = lumos_allocate_zeroed(1, sizeof *spans);
  spans->from = from;
  spans->builder = builder;
  spans->copies = lumos_allocate_zeroed(from->spans.count, sizeof *spans->copies);
  spans->last = lumos_allocate_zeroed(from->lanes.count, sizeof *spans->last);
  spans->end = lumos_allocate_zeroed(from->lanes.count, sizeof *spans->end);
  return spans;
}

void rebuild_spans_free(struct rebuild_spans *spans) {
  if (spans != NULL) {
    free(spans->copies);
    free(spans->last);
    free(spans->end);
    lumos_vector_free(&spans->missing);
    free(spans);
  }
}

void rebuild_spans_begin_rank(struct rebuild_spans *spans, struct lumos_built_rank rank) {
  spans->rank = rank;
  spans->first = spans->block + 1;
}

void rebuild_spans_begin_block(struct rebuild_spans *spans, const struct rebuild_block *block) {
  spans->before = spans->end[block->lane] == block->first ? spans->last[block->lane] : 0;
  spans->last[block->lane] = ++spans->block;
  spans->end[block->lane] = block->first + block->count;
}

static bool is_kept(const struct lumos_span *span) {
  return span->kind == LUMOS_SPAN_OP || span->kind == LUMOS_SPAN_MODULE;
}

static bool is_there(const struct rebuild_spans *spans, uint32_t span, uint32_t block) {
  return block >= spans->first && spans->copies[span].block == block;
}

/* Of the rank at hand; of an op that is done again and again the last. */
static struct lumos_built_span forward_of(const struct rebuild_spans *spans, uint32_t forward) {
  bool there = forward != LUMOS_NONE && spans->copies[forward].block >= spans->first;
  return (struct lumos_built_span){there ? spans->copies[forward].built : LUMOS_NONE};
}

struct lumos_built_span rebuild_span_of(struct rebuild_spans *spans, uint32_t span) {
  struct lumos_built_span parent = {LUMOS_NONE};
  spans->missing.count = 0;
  for (; span != LUMOS_NONE; span = spans->from->spans.items[span].parent) {
    if (!is_kept(&spans->from->spans.items[span])) {
      continue;
    }
    bool now = is_there(spans, span, spans->block);
    if (!now && !is_there(spans, span, spans->before)) {
      lumos_vector_push(&spans->missing, span);
      continue;
    }
    spans->copies[span].block = spans->block;
    parent.number = parent.number == LUMOS_NONE ? spans->copies[span].built : parent.number;
    if (now) {
      break; /* what is around it is, too */
    }
  }
  while (spans->missing.count > 0) {
    uint32_t next = spans->missing.items[--spans->missing.count];
    parent = lumos_build_span(spans->builder, next, spans->rank, parent,
                              forward_of(spans, spans->from->spans.items[next].forward));
    spans->copies[next] = (struct copy){parent.number, spans->block};
  }
  return parent;
}
