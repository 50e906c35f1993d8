/* Runtime rows have a clock of their own. In some traces it runs a few tens of microseconds beside that of the ops, so
 * that calls lie across the borders of ops. The shift that lets most calls fit between two neighbouring borders is
 * where the clocks agree.
 */
#include "trace/clock.h"
#include "trace/order.h"
#include <stdlib.h>

enum {
  FARTHEST_SHIFT = 1000000, /* ns */
  LEAST_MISFITS = 4,        /* fewer prove nothing about a clock: they are repaired one by one */
  MOST_CALLS = 8192,        /* calls that vote: more would not change the result */
  GAPS_EACH_SIDE = 32,
};

typedef LUMOS_VECTOR(int64_t) borders_list;

/* From offset `at` on, one call more (or less) fits. */
struct vote {
  int64_t at;
  int change;
};

typedef LUMOS_VECTOR(struct vote) votes_list;

/* The starts and ends of a lane's ops in order, from a walk down the rows as they nest. */
static void find_borders(const struct trace *trace, const uint32_t *rows, size_t count, borders_list *borders) {
  borders_list open = {0};
  borders->count = 0;
  for (size_t i = 0; i < count; i++) {
    const struct trace_host *row = &trace->host.items[rows[i]];
    if (row->class != TRACE_OP) {
      continue;
    }
    while (open.count > 0 && open.items[open.count - 1] <= row->start) {
      lumos_vector_push(borders, open.items[--open.count]);
    }
    int64_t outer = open.count > 0 ? open.items[open.count - 1] : INT64_MAX;
    lumos_vector_push(borders, row->start);
    lumos_vector_push(&open, row->end < outer ? row->end : outer);
  }
  while (open.count > 0) {
    lumos_vector_push(borders, open.items[--open.count]);
  }
  lumos_vector_free(&open);
}

/* Borders up to the last that is no later than `time`; `from` is where to start looking. */
static size_t borders_until(const borders_list *borders, size_t from, int64_t time) {
  while (from < borders->count && borders->items[from] <= time) {
    from++;
  }
  return from;
}

/* The offsets that bring `call` between borders[gap - 1] and borders[gap], as [low, high]; false when it is too long
 * for that. */
static bool gap_offsets(const borders_list *borders, size_t gap, const struct trace_host *call, int64_t *low,
                        int64_t *high) {
  *low = gap == 0 ? -FARTHEST_SHIFT : borders->items[gap - 1] - call->start;
  *high = gap == borders->count ? FARTHEST_SHIFT : borders->items[gap] - call->end;
  *low = *low < -FARTHEST_SHIFT ? -FARTHEST_SHIFT : *low;
  *high = *high > FARTHEST_SHIFT ? FARTHEST_SHIFT : *high;
  return *low <= *high;
}

static void vote_for_gaps(const borders_list *borders, size_t gap, const struct trace_host *call, votes_list *votes) {
  size_t first = gap > GAPS_EACH_SIDE ? gap - GAPS_EACH_SIDE : 0;
  size_t last = borders->count - gap > GAPS_EACH_SIDE ? gap + GAPS_EACH_SIDE : borders->count;
  for (size_t i = first; i <= last; i++) {
    int64_t low = 0;
    int64_t high = 0;
    if (gap_offsets(borders, i, call, &low, &high)) {
      lumos_vector_push(votes, ((struct vote){low, 1}));
      lumos_vector_push(votes, ((struct vote){high + 1, -1}));
    }
  }
}

struct survey {
  int64_t calls, misfits; /* calls of some length, and those that lie across a border as recorded */
  int64_t low, high;      /* offsets at which all that fit still fit */
};

/* Walk all calls beside the borders of their lanes. With `votes`, every `stride`th call votes. */
static struct survey survey_calls(const struct trace *trace, votes_list *votes, size_t stride) {
  struct survey survey = {0, 0, -FARTHEST_SHIFT, FARTHEST_SHIFT};
  borders_list borders = {0};
  size_t number = 0;
  for (size_t lane = 0; lane < trace->lanes.count; lane++) {
    const uint32_t *rows = trace->host_order.rows + trace->host_order.first[lane];
    size_t count = trace->host_order.first[lane + 1] - trace->host_order.first[lane];
    find_borders(trace, rows, count, &borders);
    size_t gap = 0;
    for (size_t i = 0; i < count && borders.count > 0; i++) {
      const struct trace_host *row = &trace->host.items[rows[i]];
      if (row->class != TRACE_CALL || row->start == row->end) {
        continue;
      }
      int64_t low = 0;
      int64_t high = 0;
      gap = borders_until(&borders, gap, row->start);
      bool fits = gap_offsets(&borders, gap, row, &low, &high) && low <= 0 && high >= 0;
      survey.calls++;
      survey.misfits += !fits;
      survey.low = fits && low > survey.low ? low : survey.low;
      survey.high = fits && high < survey.high ? high : survey.high;
      if (votes != NULL && number++ % stride == 0) {
        vote_for_gaps(&borders, gap, row, votes);
      }
    }
  }
  lumos_vector_free(&borders);
  return survey;
}

static int compare_votes(const void *a, const void *b) {
  const struct vote *left = a, *right = b;
  return left->at != right->at ? (left->at > right->at) - (left->at < right->at) : left->change - right->change;
}

/* The interval of offsets with the most votes; of several the one nearest to 0. Its votes, and those for 0 in *now. */
static int64_t count_votes(votes_list *votes, int64_t *low, int64_t *high, int64_t *now) {
  lumos_vector_sort(votes, compare_votes);
  int64_t best = 0;
  int64_t nearest = INT64_MAX;
  int64_t sum = 0;
  for (size_t i = 0; i + 1 < votes->count; i++) {
    sum += votes->items[i].change;
    int64_t first = votes->items[i].at;
    int64_t last = votes->items[i + 1].at - 1;
    if (last < first) {
      continue;
    }
    int64_t distance = first > 0 ? first : last < 0 ? -last : 0;
    *now = distance == 0 ? sum : *now;
    if (sum > best || (sum == best && distance < nearest)) {
      best = sum;
      nearest = distance;
      *low = first;
      *high = last;
    }
  }
  return best;
}

static void move_calls(struct trace *trace, int64_t offset) {
  for (size_t i = 0; i < trace->host.count; i++) {
    struct trace_host *row = &trace->host.items[i];
    if (row->class == TRACE_CALL) {
      row->start += offset;
      row->end += offset;
    }
  }
}

/* Choose the offset by vote; true when it leaves at most half the misfits. */
static bool choose_offset(const struct trace *trace, const struct survey *survey, struct trace_shift *shift) {
  votes_list votes = {0};
  size_t stride = (size_t)(survey->calls / MOST_CALLS) + 1;
  int64_t voters = (survey->calls + (int64_t)stride - 1) / (int64_t)stride;
  int64_t low = 0;
  int64_t high = 0;
  int64_t now = 0;
  (void)survey_calls(trace, &votes, stride);
  int64_t best = count_votes(&votes, &low, &high, &now);
  lumos_vector_free(&votes);
  if (2 * (voters - best) > voters - now) {
    return false;
  }
  shift->offset = low + (high - low) / 2;
  shift->doubt = (high - low + 1) / 2;
  return shift->offset != 0;
}

void lumos_trace_shift_calls(struct trace *trace, struct trace_shift *shift) {
  lumos_trace_order_host(trace);
  struct survey survey = survey_calls(trace, NULL, 1);
  *shift = (struct trace_shift){
      .known = survey.calls > 0,
      .doubt = (survey.high - survey.low + 1) / 2,
      .before = survey.misfits,
      .after = survey.misfits,
  };
  if (survey.misfits >= LEAST_MISFITS && choose_offset(trace, &survey, shift)) {
    move_calls(trace, shift->offset);
    lumos_trace_order_host(trace);
    shift->after = survey_calls(trace, NULL, 1).misfits;
  }
}
