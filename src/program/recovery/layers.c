/* The layers of a pass: an anchor that comes once a layer, and how far the sequence repeats around it.
 *
 * Every symbol that occurs several times may be an anchor. It is one when what lies between its occurrences is the same
 * each time, as a bag of symbols: a symbol that comes twice in a layer fails, for the halves of a layer differ. The
 * layers reach as far to the left of the first anchor as what stands there also stands to the left of the second, and
 * to the right of the last as far as it also does behind the last but one. Of anchors that explain as much the one with
 * most occurrences wins.
 *
 * Where it is known how many layers there are, and no anchor is found so, the ends may be whatever they are: compilers
 * fuse what stands there with the embedding and the head.
 *
 * Where the first layer begins the others begin, too: the place is carried over by comparing symbol by symbol, skipping
 * what only one of them has.
 */
#include "program/recovery/layers.h"

#include <stdlib.h>
#include <string.h>

enum {
  CANDIDATES = 64,          /* anchors that are tried, the most work between their occurrences first */
  SKIPPED = 8,              /* symbols in a row that only one of two layers has, at most */
  RESUMED = 3,              /* symbols that must agree behind them */
  COVERED_IN_HUNDRED = 10,  /* of the work, at least: the head of a small model takes most of it; */
  LAUNCHED_IN_HUNDRED = 30, /* and of the launches */
  MANY = 4,                 /* wanted layers, that show by what lies between them */
  WORK_WITHIN = 3           /* a layer's work differs from the median by at most one part in so many... */
};
static const double most_layers = 0.75; /* ...in at least this share of the layers */
static const double least_even = 0.7;   /* of the symbols of neighbouring pieces are shared */
static const double most_around = 1.5;  /* periods that are alike beyond the anchors, on both sides */
static const double most_lost = 0.9;

struct search {
  const struct lumos_sequence *sequence;
  uint32_t wanted; /* layers; 0: any number */
  uint32_t kinds;  /* symbols are numbered anew, densely from 0 */
  uint32_t *dense; /* [count] */
  uint32_t *first; /* [kinds + 1]: the occurrences of symbol k are places[first[k] .. first[k + 1]) */
  uint32_t *places;
  uint32_t *left, *right; /* [kinds]: bags, all zero between uses */
  bool loose;             /* the ends need not be alike */
};

/* ---- numbering ---- */

static int compare_numbers(const void *left, const void *right) {
  uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
  return LUMOS_ORDER(a, b);
}

static uint32_t place_of(const uint32_t *sorted, uint32_t count, uint32_t value) {
  uint32_t low = 0;
  for (uint32_t high = count; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    if (sorted[middle] < value) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void number(struct search *search) {
  uint32_t count = search->sequence->count;
  uint32_t *sorted = lumos_allocate(count * sizeof *sorted);
  memcpy(sorted, search->sequence->symbols, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare_numbers);
  for (uint32_t i = 0; i < count; i++) {
    if (i == 0 || sorted[i] != sorted[search->kinds - 1]) {
      sorted[search->kinds++] = sorted[i];
    }
  }
  search->dense = lumos_allocate(count * sizeof *search->dense);
  search->first = lumos_allocate_zeroed((size_t)search->kinds + 2, sizeof *search->first);
  for (uint32_t i = 0; i < count; i++) {
    search->dense[i] = place_of(sorted, search->kinds, search->sequence->symbols[i]);
    search->first[search->dense[i] + 2]++;
  }
  free(sorted);
  for (uint32_t k = 2; k < search->kinds + 2; k++) {
    search->first[k] += search->first[k - 1];
  }
  search->places = lumos_allocate(count * sizeof *search->places);
  for (uint32_t i = 0; i < count; i++) {
    search->places[search->first[search->dense[i] + 1]++] = i;
  }
  search->left = lumos_allocate_zeroed(search->kinds, sizeof *search->left);
  search->right = lumos_allocate_zeroed(search->kinds, sizeof *search->right);
}

/* ---- comparing ---- */

/* What two pieces share, in symbols, whatever their order. */
static uint32_t shared(struct search *search, uint32_t from, uint32_t middle, uint32_t to) {
  uint32_t common = 0;
  for (uint32_t i = from; i < middle; i++) {
    search->left[search->dense[i]]++;
  }
  for (uint32_t i = middle; i < to; i++) {
    uint32_t *left = &search->left[search->dense[i]];
    common += *left > 0;
    *left -= *left > 0;
  }
  for (uint32_t i = from; i < middle; i++) {
    search->left[search->dense[i]] = 0;
  }
  return common;
}

/* Of two places that stand for the same, walk on in one direction (1 or -1) while the symbols agree, skipping a few
 * that only one side has. Both stop before a place of their own, so that none is ever compared with itself. */
struct walk {
  int64_t a, b; /* the last places that agreed */
};

struct path { /* of a walk */
  const struct lumos_sequence *sequence;
  int step;
  int64_t end_a, end_b; /* the first place that is not looked at */
};

static bool is_on(int64_t place, int64_t end, int step) { return step > 0 ? place < end : place > end; }

static bool agrees(const struct path *path, int64_t a, int64_t b) {
  for (int i = 0; i < RESUMED; i++, a += path->step, b += path->step) {
    if (!is_on(a, path->end_a, path->step) || !is_on(b, path->end_b, path->step) ||
        path->sequence->symbols[a] != path->sequence->symbols[b]) {
      return false;
    }
  }
  return true;
}

static bool resume(const struct path *path, int64_t *a, int64_t *b) {
  for (int skipped = 1; skipped <= SKIPPED; skipped++) {
    for (int of_a = 0; of_a <= skipped; of_a++) {
      int64_t next_a = *a + (int64_t)of_a * path->step, next_b = *b + (int64_t)(skipped - of_a) * path->step;
      if (agrees(path, next_a, next_b)) {
        *a = next_a;
        *b = next_b;
        return true;
      }
    }
  }
  return false;
}

static struct walk walk(const struct path *path, int64_t a, int64_t b) {
  struct walk walk = {.a = a, .b = b};
  a += path->step;
  b += path->step;
  while (is_on(a, path->end_a, path->step) && is_on(b, path->end_b, path->step)) {
    if (path->sequence->symbols[a] != path->sequence->symbols[b] && !resume(path, &a, &b)) {
      return walk;
    }
    walk.a = a;
    walk.b = b;
    a += path->step;
    b += path->step;
  }
  return walk;
}

/* ---- an anchor ---- */

struct anchor {
  const uint32_t *places;
  uint32_t count;
  uint32_t before, behind; /* the first layer begins here; the last ends before this */
  int64_t covered;         /* weight of the layers */
  double score;
};

static int64_t weight_of(const struct lumos_sequence *sequence, uint32_t from, uint32_t to) {
  int64_t sum = 0;
  for (uint32_t i = from; i < to; i++) {
    sum += sequence->weights[i];
  }
  return sum;
}

/* How alike what lies between the occurrences is, from 0 to 1. */
static double evenness(struct search *search, const struct anchor *anchor) {
  uint64_t common = 0, most = 0;
  for (uint32_t i = 0; i + 2 < anchor->count; i++) {
    uint32_t from = anchor->places[i], middle = anchor->places[i + 1], to = anchor->places[i + 2];
    common += shared(search, from, middle, to);
    most += to - middle > middle - from ? to - middle : middle - from;
  }
  return most == 0 ? 1 : (double)common / (double)most;
}

static int compare_weights(const void *left, const void *right) {
  int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
  return LUMOS_ORDER(a, b);
}

/* Layers are the same work again and again; blocks of a network that narrows are not, though they launch the same.
 * Piece i is [starts[i], starts[i + 1]). Where it is known how many layers there are, a pass may take longer over some,
 * beside transfers. */
static bool is_same_work(const struct search *search, const uint32_t *starts, uint32_t pieces) {
  const struct lumos_sequence *sequence = search->sequence;
  if (search->wanted != 0) {
    return true;
  }
  int64_t *sorted = lumos_allocate(pieces * sizeof *sorted);
  for (uint32_t i = 0; i < pieces; i++) {
    sorted[i] = weight_of(sequence, starts[i], starts[i + 1]);
  }
  qsort(sorted, pieces, sizeof *sorted, compare_weights);
  int64_t median = sorted[pieces / 2];
  uint32_t near = 0;
  for (uint32_t i = 0; i < pieces; i++) {
    near += llabs(sorted[i] - median) <= median / WORK_WITHIN;
  }
  free(sorted);
  return near >= most_layers * pieces;
}

/* Attention and feed-forward begin alike and may take as long: where every other piece attends, and the others are no
 * larger than a feed-forward block, two are a layer. Layers that mix tokens by other means have both. */
static bool is_half(const struct search *search, const struct anchor *anchor) {
  const struct lumos_sequence *sequence = search->sequence;
  bool before = false;
  for (uint32_t k = 0; k + 1 < anchor->count && sequence->kinds != NULL; k++) {
    uint32_t counts[3] = {0};
    for (uint32_t i = anchor->places[k]; i < anchor->places[k + 1]; i++) {
      counts[sequence->kinds[i]]++;
    }
    bool attends = counts[LUMOS_LAUNCH_ATTENTION] > 0;
    if ((k > 0 && attends == before) || (!attends && counts[LUMOS_LAUNCH_PRODUCT] > sequence->products)) {
      return false;
    }
    before = attends;
  }
  return sequence->kinds != NULL && anchor->count > 2 && anchor->count != search->wanted;
}

/* How far the layers reach on either side; false: not even once round, or half round again and more: then what is alike
 * goes on where the symbol does not come, as one that a compiler made for every other layer alone. */
static bool reach(const struct search *search, struct anchor *anchor) {
  const struct lumos_sequence *sequence = search->sequence;
  const uint32_t *places = anchor->places;
  uint32_t last = anchor->count - 1;
  struct path back = {.sequence = sequence, .step = -1, .end_a = -1, .end_b = places[0]};
  struct path on = {.sequence = sequence, .step = 1, .end_a = sequence->count, .end_b = places[last]};
  int64_t earliest = walk(&back, places[0], places[1]).a, latest = walk(&on, places[last], places[last - 1]).a;
  int64_t period = places[1] - places[0];
  int64_t around = (places[0] - earliest) + 1 + (latest - places[last]);
  anchor->before = (uint32_t)earliest;
  anchor->behind = (uint32_t)latest + 1;
  anchor->covered = weight_of(sequence, anchor->before, anchor->behind);
  return (search->loose || (double)around >= least_even * (double)period) &&
         (double)around < most_around * (double)period;
}

/* Layer k begins where the first does: carried over from the first anchor to the k-th. */
static uint32_t border(const struct search *search, const struct anchor *anchor, uint32_t k) {
  const struct lumos_sequence *sequence = search->sequence;
  int64_t from = anchor->places[0], to = anchor->places[k];
  int64_t least = (int64_t)anchor->places[k - 1] + 1;
  struct path path = {.sequence = sequence, .step = -1, .end_a = (int64_t)anchor->before - 1, .end_b = least - 1};
  struct walk back = walk(&path, from, to);
  int64_t start = back.b - (back.a - anchor->before); /* what does not agree is taken to be as long */
  return (uint32_t)(start < least ? least : start);
}

/* Where in [from, end) two symbols in a row stand that nothing before `layer` has; `end`: nowhere. */
static uint32_t known_until(const struct search *search, uint32_t layer, uint32_t from, uint32_t end) {
  uint32_t unknown = 0;
  for (uint32_t i = from; i < end; i++) {
    bool known = search->places[search->first[search->dense[i]]] < layer;
    unknown = known ? 0 : unknown + 1;
    if (unknown == 2) {
      return i - 1;
    }
  }
  return end;
}

/* The last layer ends where the last but one does. */
static uint32_t last_border(const struct search *search, const struct anchor *anchor, uint32_t last_start) {
  int64_t from = anchor->places[anchor->count - 2], to = anchor->places[anchor->count - 1];
  struct path path = {.sequence = search->sequence, .step = 1, .end_a = last_start, .end_b = search->sequence->count};
  struct walk on = walk(&path, from, to);
  int64_t end = on.b + (last_start - 1 - on.a) + 1;
  int64_t most = search->sequence->count;
  end = end > most ? most : end;
  return search->loose ? known_until(search, last_start, (uint32_t)to + 1, (uint32_t)end) : (uint32_t)end;
}

/* How alike two layers are, from 0 to 1: there is one piece alone between their anchors, and nothing to compare it
 * with. */
static double evenness_of_two(struct search *search, const struct anchor *anchor) {
  uint32_t middle = border(search, anchor, 1), end = last_border(search, anchor, middle);
  uint32_t first = middle - anchor->before, second = end - middle;
  return (double)shared(search, anchor->before, middle, end) / (first > second ? first : second);
}

static bool try_anchor(struct search *search, uint32_t symbol, struct anchor *anchor) {
  *anchor = (struct anchor){.places = search->places + search->first[symbol],
                            .count = search->first[symbol + 1] - search->first[symbol]};
  if (search->wanted != 0 && anchor->count != search->wanted) {
    return false;
  }
  double even = evenness(search, anchor);
  if (even < least_even || !is_same_work(search, anchor->places, anchor->count - 1) || is_half(search, anchor) ||
      !reach(search, anchor)) {
    return false;
  }
  if (anchor->count == 2) {
    even = evenness_of_two(search, anchor);
  }
  anchor->score = (double)anchor->covered * even;
  return even >= least_even;
}

/* Twice as many layers may explain a little less: the same layers with something of their own. An odd one more may
 * not. */
static bool is_better(const struct anchor *a, const struct anchor *b) {
  if (a->count >= 2 * b->count) {
    return a->score >= most_lost * b->score;
  }
  if (b->count >= 2 * a->count) {
    return a->score * most_lost > b->score;
  }
  return a->score > b->score;
}

struct candidate {
  int64_t weight;
  uint32_t symbol;
};

static int compare_candidates(const void *left, const void *right) {
  const struct candidate *a = left, *b = right;
  return a->weight != b->weight ? LUMOS_ORDER(b->weight, a->weight) : LUMOS_ORDER(a->symbol, b->symbol);
}

/* Symbols that occur several times, those first that carry most work. */
static uint32_t list_candidates(const struct search *search, struct candidate *candidates) {
  uint32_t count = 0;
  for (uint32_t k = 0; k < search->kinds; k++) {
    struct candidate candidate = {.symbol = k};
    for (uint32_t i = search->first[k]; i < search->first[k + 1]; i++) {
      candidate.weight += search->sequence->weights[search->places[i]];
    }
    if (search->first[k + 1] - search->first[k] >= 2) {
      candidates[count++] = candidate;
    }
  }
  qsort(candidates, count, sizeof *candidates, compare_candidates);
  return count < CANDIDATES ? count : CANDIDATES;
}

static bool best_anchor(struct search *search, struct anchor *best) {
  struct candidate *candidates = lumos_allocate(search->kinds * sizeof *candidates);
  uint32_t count = list_candidates(search, candidates);
  bool found = false;
  for (uint32_t i = 0; i < count; i++) {
    struct anchor anchor;
    if (try_anchor(search, candidates[i].symbol, &anchor) && (!found || is_better(&anchor, best))) {
      *best = anchor;
      found = true;
    }
  }
  free(candidates);
  const struct lumos_sequence *sequence = search->sequence;
  return found && best->covered >= weight_of(sequence, 0, sequence->count) / 100 * COVERED_IN_HUNDRED &&
         (best->behind - best->before) * UINT64_C(100) >= (uint64_t)sequence->count * LAUNCHED_IN_HUNDRED;
}

static struct lumos_layers borders(const struct search *search, const struct anchor *anchor) {
  struct lumos_layers layers = {.count = anchor->count,
                                .starts = lumos_allocate(((size_t)anchor->count + 1) * sizeof *layers.starts)};
  layers.starts[0] = anchor->before;
  for (uint32_t k = 1; k < anchor->count; k++) {
    layers.starts[k] = border(search, anchor, k);
  }
  layers.starts[anchor->count] = last_border(search, anchor, layers.starts[anchor->count - 1]);
  return layers;
}

struct lumos_layers lumos_layers_find(const struct lumos_sequence *sequence, uint32_t wanted) {
  struct lumos_layers layers = {0};
  if (sequence->count < 4) {
    return layers;
  }
  struct search search = {.sequence = sequence, .wanted = wanted};
  number(&search);
  struct anchor anchor = {0};
  bool found = best_anchor(&search, &anchor);
  if (!found && wanted >= MANY) {
    search.loose = true;
    found = best_anchor(&search, &anchor);
  }
  if (found) {
    layers = borders(&search, &anchor);
    if (!is_same_work(&search, layers.starts, layers.count)) {
      lumos_layers_free(&layers);
    }
  }
  free(search.dense);
  free(search.first);
  free(search.places);
  free(search.left);
  free(search.right);
  return layers;
}

void lumos_layers_free(struct lumos_layers *layers) {
  free(layers->starts);
  *layers = (struct lumos_layers){0};
}

/* ---- a layer that is known ---- */

enum { MOST_CELLS = 1 << 22 }; /* of the table of common subsequences */

/* Where in `a` the longest common subsequence with `b` starts at the latest and ends at the earliest; how long it
 * is. */
static uint32_t common_part(const struct lumos_sequence *a, const struct lumos_sequence *b, uint32_t *start,
                            uint32_t *end) {
  size_t rows = (size_t)a->count + 1, columns = (size_t)b->count + 1;
  *start = *end = 0;
  if (a->count == 0 || b->count == 0 || rows > MOST_CELLS / columns) {
    return 0;
  }
  uint32_t *left = lumos_allocate_zeroed(rows * columns, sizeof *left); /* length of what is common from here on */
  for (size_t i = rows - 1; i-- > 0;) {
    for (size_t k = columns - 1; k-- > 0;) {
      uint32_t down = left[(i + 1) * columns + k], right = left[i * columns + k + 1];
      left[i * columns + k] = a->symbols[i] == b->symbols[k] ? left[(i + 1) * columns + k + 1] + 1
                              : down > right                 ? down
                                                             : right;
    }
  }
  uint32_t length = left[0];
  while (length > 0 && left[((size_t)*start + 1) * columns] == length) {
    (*start)++;
  }
  for (size_t i = 0, k = 0; i + 1 < rows && k + 1 < columns;) {
    if (a->symbols[i] == b->symbols[k]) {
      *end = (uint32_t)++i;
      k++;
    } else if (left[i * columns + k + 1] >= left[(i + 1) * columns + k]) {
      k++;
    } else {
      i++;
    }
  }
  free(left);
  return length;
}

bool lumos_layers_place(const struct lumos_sequence *sequence, const struct lumos_sequence *layer, uint32_t *start,
                        uint32_t *end) {
  uint32_t length = common_part(sequence, layer, start, end);
  return length > 0 && *end > *start && length >= least_even * layer->count;
}

bool lumos_layers_common(const struct lumos_sequence *sequence, const struct lumos_sequence *other, uint32_t *start,
                         uint32_t *end) {
  uint32_t length = common_part(sequence, other, start, end);
  return length > 0 && *end > *start && length >= least_even * (*end - *start) && length * 2 >= sequence->count;
}
