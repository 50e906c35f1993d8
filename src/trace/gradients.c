/* Which forward op a backward op belongs to: the last op that started before it with the same autograd sequence number,
 * on the thread that ran it forward. Ops that only look at the counter carry its next value too, but the op that makes
 * the node comes last.
 *
 * Every thread counts by itself, and a checkpoint computes its part again on the thread of the backward pass: then two
 * threads have used the same numbers. A backward op names the thread that it means by a number of PyTorch's own, which
 * no other row has; which thread that is, the numbers tell that both have in common.
 */
#include "trace/build.h"
#include <stdlib.h>

static int compare_gradients(const void *a, const void *b) {
  const struct trace_gradient *left = a, *right = b;
  return left->sequence != right->sequence ? LUMOS_ORDER(left->sequence, right->sequence)
         : left->start != right->start     ? LUMOS_ORDER(left->start, right->start)
                                           : LUMOS_ORDER(left->span, right->span);
}

/* A thread as backward ops name it, and a thread that ran ops forward. */
struct pairing {
  int64_t thread;
  uint32_t lane;
  int64_t shared; /* backward ops that the lane has a forward op for */
  int64_t latest; /* of these: where it was the last of all lanes */
};
typedef LUMOS_VECTOR(struct pairing) pairings;

/* The last forward op of a number that a lane has run so far. */
struct candidate {
  uint32_t lane, span;
};
typedef LUMOS_VECTOR(struct candidate) candidates;

static void put_forward(candidates *latest, uint32_t lane, uint32_t span) {
  size_t at = 0;
  while (at < latest->count && latest->items[at].lane != lane) {
    at++;
  }
  if (at == latest->count) {
    lumos_vector_push(latest, ((struct candidate){lane, span}));
  }
  latest->items[at].span = span;
}

static void count_pairing(pairings *found, int64_t thread, uint32_t lane, bool latest) {
  size_t at = 0;
  while (at < found->count && (found->items[at].thread != thread || found->items[at].lane != lane)) {
    at++;
  }
  if (at == found->count) {
    lumos_vector_push(found, ((struct pairing){thread, lane, 0, 0}));
  }
  found->items[at].shared++;
  found->items[at].latest += latest;
}

static void count_candidates(pairings *found, int64_t thread, const candidates *latest) {
  uint32_t last = 0;
  for (size_t i = 0; i < latest->count; i++) {
    last = latest->items[i].span > last ? latest->items[i].span : last;
  }
  for (size_t i = 0; i < latest->count; i++) {
    count_pairing(found, thread, latest->items[i].lane, latest->items[i].span == last);
  }
}

static int compare_pairings(const void *a, const void *b) {
  const struct pairing *left = a, *right = b;
  return left->shared != right->shared   ? LUMOS_ORDER(right->shared, left->shared)
         : left->latest != right->latest ? LUMOS_ORDER(right->latest, left->latest)
         : left->thread != right->thread ? LUMOS_ORDER(left->thread, right->thread)
                                         : LUMOS_ORDER(left->lane, right->lane);
}

/* The best pairing of each thread whose lane is no other's: `found` keeps those alone. */
static void choose_pairings(pairings *found) {
  lumos_vector_sort(found, compare_pairings);
  size_t kept = 0;
  for (size_t i = 0; i < found->count; i++) {
    bool taken = false;
    for (size_t j = 0; j < kept; j++) {
      taken = taken || found->items[j].thread == found->items[i].thread || found->items[j].lane == found->items[i].lane;
    }
    if (!taken) {
      found->items[kept++] = found->items[i];
    }
  }
  found->count = kept;
}

static uint32_t forward_of(const pairings *chosen, int64_t thread, const candidates *latest) {
  for (size_t i = 0; i < chosen->count; i++) {
    for (size_t j = 0; chosen->items[i].thread == thread && j < latest->count; j++) {
      if (latest->items[j].lane == chosen->items[i].lane) {
        return latest->items[j].span;
      }
    }
  }
  return LUMOS_NONE;
}

/* Goes through all numbers: counts who shares them, or, once that is known, sets `forward`. */
static void walk(struct trace_build *build, pairings *found, bool choosing) {
  candidates latest = {0};
  const struct trace_gradient *gradients = build->gradients.items;
  for (size_t i = 0; i < build->gradients.count; i++) {
    if (i == 0 || gradients[i].sequence != gradients[i - 1].sequence) {
      latest.count = 0;
    }
    struct lumos_span *span = &build->job->spans.items[gradients[i].span];
    if (gradients[i].forward_thread == 0) {
      put_forward(&latest, span->lane, gradients[i].span);
    } else if (choosing) {
      count_candidates(found, gradients[i].forward_thread, &latest);
    } else {
      span->forward = forward_of(found, gradients[i].forward_thread, &latest);
    }
  }
  lumos_vector_free(&latest);
}

void lumos_trace_pair_gradients(struct trace_build *build) {
  lumos_vector_sort(&build->gradients, compare_gradients);
  pairings found = {0};
  walk(build, &found, true);
  choose_pairings(&found);
  walk(build, &found, false);
  lumos_vector_free(&found);
  lumos_vector_free(&build->gradients);
}
