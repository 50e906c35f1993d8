/* Templates and their matching. */
#include "transform/dimensions.h"

#include "base/ascii.h"
#include "cost/operation.h"
#include "program/shapes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Terms ---- */

/* F features of an activation, one side of a weight; T tokens of a micro-batch; S of a sequence; B sequences; H heads;
 * D one head's features; X batch x heads; 1 one; E experts, O those of a rank; K those that a token takes; P pieces of
 * a sequence, of which each rank that shares it has two; L their length; in templates n: any number, which stays. */
static const char letters[LUMOS_TERM_LETTERS + 1] = "FTSBHDX1EKPLO";

static int number_of(char letter) { return (int)(strchr(letters, letter) - letters); }

static void add_term(struct lumos_dimensions *dimensions, char letter, struct lumos_term term,
                     struct lumos_term shards) {
  int number = number_of(letter);
  bool fits = term.was > 0 && term.now > 0 && term.was % shards.was == 0 && term.now % shards.now == 0;
  if (fits && dimensions->counts[number] < LUMOS_MOST_TERMS) {
    dimensions->terms[number][dimensions->counts[number]++] =
        (struct lumos_term){term.was / shards.was, term.now / shards.now, term.words};
  }
}

/* The product of up to three sizes times `factor`, on a shard; nothing where one is unknown or it does not divide. */
static void add(struct lumos_dimensions *dimensions, char letter, const struct lumos_sizes *sizes, const int *of,
                int64_t factor, struct lumos_term shards) {
  __int128 was = factor, now = factor;
  bool words = of[0] == LUMOS_VOCABULARY;
  for (; *of >= 0; of++) {
    if (sizes->was[*of] == LUMOS_ABSENT) {
      return;
    }
    was *= sizes->was[*of];
    now *= sizes->now[*of];
  }
  if (was <= INT64_MAX && now <= INT64_MAX) {
    add_term(dimensions, letter, (struct lumos_term){(int64_t)was, (int64_t)now, words}, shards);
  }
}

/* Queries, keys and values of one product: heads + 2 kv_heads, each of head_dim. */
static void add_queries_keys_values(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes,
                                    struct lumos_term shards) {
  const int64_t *was = sizes->was, *now = sizes->now;
  if (was[LUMOS_HEADS] == LUMOS_ABSENT || was[LUMOS_KV_HEADS] == LUMOS_ABSENT || was[LUMOS_HEAD_DIM] == LUMOS_ABSENT) {
    return;
  }
  add_term(dimensions, 'F',
           (struct lumos_term){.was = (was[LUMOS_HEADS] + 2 * was[LUMOS_KV_HEADS]) * was[LUMOS_HEAD_DIM],
                               .now = (now[LUMOS_HEADS] + 2 * now[LUMOS_KV_HEADS]) * now[LUMOS_HEAD_DIM]},
           shards);
}

#define SIZES(...) \
  (const int[]) { __VA_ARGS__, -1 }

static void add_features(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes,
                         struct lumos_term shards) {
  const struct lumos_term one = {.was = 1, .now = 1}, block = sizes->whole_experts ? one : shards;
  bool undivided = sizes->whole_experts && shards.was > 1; /* the blocks are: they come with what is whole */
  if (!undivided) {
    add(dimensions, 'F', sizes, SIZES(LUMOS_FFN), 1, block);
  }
  add(dimensions, 'F', sizes, SIZES(LUMOS_HEADS, LUMOS_HEAD_DIM), 1, shards);
  add_queries_keys_values(dimensions, sizes, shards);
  add(dimensions, 'F', sizes, SIZES(LUMOS_KV_HEADS, LUMOS_HEAD_DIM), 1, shards);
  if (sizes->ffn_matrices > 2 && !undivided) {
    add(dimensions, 'F', sizes, SIZES(LUMOS_FFN), 2, block); /* the gate beside it */
  }
  add(dimensions, 'F', sizes, SIZES(LUMOS_VOCABULARY), 1, shards);
}

/* What is predicted of a sequence begins with its second token. */
static void add_shifted(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes) {
  const int64_t *was = sizes->was, *now = sizes->now;
  if (was[LUMOS_SEQUENCE] == LUMOS_ABSENT || was[LUMOS_MICRO_BATCH] == LUMOS_ABSENT) {
    return;
  }
  const struct lumos_term one = {.was = 1, .now = 1};
  const struct lumos_term batch = {.was = was[LUMOS_MICRO_BATCH], .now = now[LUMOS_MICRO_BATCH]};
  const struct lumos_term sequence = {.was = was[LUMOS_SEQUENCE] - 1, .now = now[LUMOS_SEQUENCE] - 1};
  add_term(dimensions, 'S', sequence, one);
  add_term(dimensions, 'T', (struct lumos_term){.was = sequence.was * batch.was, .now = sequence.now * batch.now}, one);
  add_term(dimensions, 'T',
           (struct lumos_term){.was = was[LUMOS_SEQUENCE] * batch.was - 1, .now = now[LUMOS_SEQUENCE] * batch.now - 1},
           one);
  dimensions->tokens = was[LUMOS_SEQUENCE] != now[LUMOS_SEQUENCE] || batch.was != batch.now;
}

/* Tokens: a rank's, those between halves of layers, and, of keys and values that were gathered, all. */
static void add_tokens(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes) {
  const struct lumos_term whole = {.was = 1, .now = 1}, own = {.was = sizes->contexts_were, .now = sizes->contexts};
  const struct lumos_term parts = {.was = own.was * sizes->parts_were, .now = own.now * sizes->parts};
  const struct lumos_term pieces = {.was = 2 * own.was, .now = 2 * own.now};
  const struct lumos_term all[] = {own, parts, whole};
  const bool there[] = {true, sizes->parts_were > 1, own.was > 1};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (there[i]) {
      add(dimensions, 'T', sizes, SIZES(LUMOS_MICRO_BATCH, LUMOS_SEQUENCE), 1, all[i]);
      add(dimensions, 'S', sizes, SIZES(LUMOS_SEQUENCE), 1, all[i]);
    }
  }
  if (own.was > 1) {
    add_term(dimensions, 'P', pieces, whole);
    add(dimensions, 'L', sizes, SIZES(LUMOS_SEQUENCE), 1, pieces);
  }
}

/* Each token has as many rows as it takes experts; of these rows those come last that are. */
static void add_experts(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes) {
  const struct lumos_term one = {.was = 1, .now = 1};
  struct lumos_term own = {.was = sizes->contexts_were, .now = sizes->contexts};
  if (sizes->whole_experts) {
    own.was *= sizes->shards_were;
    own.now *= sizes->shards;
  }
  if (sizes->experts > 0) {
    const struct lumos_term owners = {.was = sizes->owners_were, .now = sizes->owners};
    add_term(dimensions, 'E', (struct lumos_term){.was = sizes->experts, .now = sizes->experts}, one);
    add_term(dimensions, 'O', (struct lumos_term){.was = sizes->experts, .now = sizes->experts}, owners);
    add_term(dimensions, 'K', (struct lumos_term){.was = sizes->chosen, .now = sizes->chosen}, one);
    add(dimensions, 'T', sizes, SIZES(LUMOS_MICRO_BATCH, LUMOS_SEQUENCE), sizes->chosen, own);
    dimensions->apart = sizes->owners_were > 1 || sizes->shards_were > 1;
    __int128 all = (__int128)sizes->was[LUMOS_HIDDEN] * sizes->was[LUMOS_FFN] * sizes->experts;
    bool apart = sizes->whole_experts && sizes->shards_were != sizes->shards;
    if ((owners.was != owners.now || apart) && all < INT64_MAX) {
      dimensions->expert_weights =
          (struct lumos_term){.was = (int64_t)all / owners.was, .now = (int64_t)all / owners.now};
      dimensions->others = (double)sizes->shards_were / (double)sizes->shards;
    }
  }
}

static void find_embedding(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes) {
  if (sizes->was[LUMOS_VOCABULARY] != LUMOS_ABSENT && sizes->was[LUMOS_HIDDEN] != LUMOS_ABSENT) {
    dimensions->embedding = sizes->was[LUMOS_VOCABULARY] * sizes->was[LUMOS_HIDDEN] / sizes->shards_were;
  }
}

void lumos_dimensions_open(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes) {
  const struct lumos_term one = {.was = 1, .now = 1};
  const struct lumos_term shards = {.was = sizes->shards_were, .now = sizes->shards};
  *dimensions = (struct lumos_dimensions){
      .least = INT64_MAX, .parameters = 1, .of_layers = 1, .embedding = INT64_MAX, .scatter = 1};
  dimensions->scatter = sizes->parts_were == 1 ? sizes->parts : 1;
  add(dimensions, 'F', sizes, SIZES(LUMOS_HIDDEN), 1, one);
  dimensions->hidden = dimensions->counts[number_of('F')] > 0;
  for (struct lumos_term of = shards;; of = one) { /* what tensor parallelism divides, then what it leaves whole */
    add_features(dimensions, sizes, of);
    add(dimensions, 'H', sizes, SIZES(LUMOS_HEADS), 1, of);
    add(dimensions, 'H', sizes, SIZES(LUMOS_KV_HEADS), 1, of);
    add(dimensions, 'X', sizes, SIZES(LUMOS_MICRO_BATCH, LUMOS_HEADS), 1, of);
    add(dimensions, 'X', sizes, SIZES(LUMOS_MICRO_BATCH, LUMOS_KV_HEADS), 1, of);
    if (of.was == 1) {
      break;
    }
  }
  add(dimensions, 'F', sizes, SIZES(LUMOS_HEAD_DIM), 1, one);
  add_tokens(dimensions, sizes);
  add(dimensions, 'B', sizes, SIZES(LUMOS_MICRO_BATCH), 1, one);
  add(dimensions, 'D', sizes, SIZES(LUMOS_HEAD_DIM), 1, one);
  add(dimensions, 'D', sizes, SIZES(LUMOS_HEAD_DIM), 1,
      (struct lumos_term){.was = 2, .now = 2}); /* that rotate by pairs */
  add_shifted(dimensions, sizes);
  find_embedding(dimensions, sizes);
  add_experts(dimensions, sizes);
  add(dimensions, '1', sizes, SIZES(-1), 1, one);
}

struct lumos_dimensions lumos_dimensions_of_layer(const struct lumos_dimensions *dimensions) {
  struct lumos_dimensions result = *dimensions;
  int number = number_of('F');
  result.counts[number] = 0;
  for (int i = 0; i < dimensions->counts[number]; i++) {
    if (!dimensions->terms[number][i].words) {
      result.terms[number][result.counts[number]++] = dimensions->terms[number][i];
    }
  }
  return result;
}

static const struct lumos_term *find_from(const struct lumos_dimensions *dimensions, char letter, int first,
                                          int64_t size, int skipped) {
  int number = number_of(letter);
  const struct lumos_term *found = NULL;
  for (int i = first; i < dimensions->counts[number]; i++) {
    const struct lumos_term *term = &dimensions->terms[number][i];
    if (term->was == size) {
      found = term;
      if (skipped-- == 0) {
        return term;
      }
    }
  }
  return found;
}

static const struct lumos_term *find(const struct lumos_dimensions *dimensions, char letter, int64_t size,
                                     int skipped) {
  return find_from(dimensions, letter, 0, size, skipped);
}

static bool is(const struct lumos_dimensions *dimensions, char letter, int64_t size) {
  return find(dimensions, letter, size, 0) != NULL;
}

/* Terms from that one on, where they can be, into as many parts as sequences. */
static void divide(struct lumos_dimensions *dimensions, char letter, int first) {
  int number = number_of(letter);
  for (int i = first; i < dimensions->counts[number]; i++) {
    struct lumos_term *term = &dimensions->terms[number][i];
    term->now /= term->now % dimensions->scatter == 0 ? dimensions->scatter : 1;
  }
}

bool lumos_dimensions_route(const struct lumos_dimensions *dimensions, const char *shapes) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  program_shape_read(shapes, inputs);
  bool routes = false;
  for (int i = 0; i < SHAPE_INPUTS; i++) {
    const int64_t *of = inputs[i].of;
    bool matrix = inputs[i].count == 2 && is(dimensions, 'E', of[0]) != is(dimensions, 'E', of[1]);
    bool tokens = inputs[i].count == 3 && is(dimensions, 'S', of[0]) && is(dimensions, 'E', of[2]);
    routes = routes || matrix || tokens;
  }
  return routes;
}

struct lumos_dimensions lumos_dimensions_of_experts(const struct lumos_dimensions *dimensions) {
  struct lumos_dimensions result = *dimensions;
  int number = number_of('T'), count = dimensions->counts[number];
  for (int i = 0; i < count; i++) { /* the other way round: rows were added last, parts of tokens behind all of them */
    result.terms[number][i] = dimensions->terms[number][count - 1 - i];
  }
  result.routes = true;
  if (dimensions->scatter > 1) { /* of rows that experts get ranks have their parts already */
    divide(&result, 'T', 1);
    divide(&result, 'S', 0);
    result.scatter = 1;
  }
  return result;
}

/* ---- Templates ---- */

enum { SMALL = 16 }; /* elements: counts, flags, scalars; and copies of a weight in one tensor */

/* By the number of dimensions, the likeliest first; of whole numbers, which are tokens and places, others. */
/* clang-format off */
static const char *const forms[][34] = {
    {NULL},
    {"F", "T", "S", "H", "X", "B", "D", "1", "E", "O", NULL},
    {"FF", "TF", "FT", "BS", "SB", "SD", "TH", "HT", "T1", "1T", "F1", "1F", "SS", "BF", "BH", "SH", "HS", "B1", "S1",
     "H1", "11", "TE", "TK", "EF", "FE", "ET", "nF", NULL},
    {"SBF", "BSF", "SB1", "BS1", "XSD", "XDS", "XSS", "BHS", "BSH", "THD", "TH1", "HSD", "1TF", "1TH", "S1D", "1SD",
     "BSS", "1SS", "S1F", "T1F", "111", "OFF", "TKF", "TK1", "TKE", "ETK", "EKT", "nFF", NULL},
    {"BHSD", "SBHD", "BSHD", "S11D", "11SD", "1S1D", "BHSS", "B1SS", "11SS", "BHS1", "SBH1", "BSH1", "B11S", "SB1D",
     "BS1D", NULL},
    {"PLBHD", NULL},
};
/* clang-format on */
static const char *const whole[][12] = {{NULL},
                                        {"T", "S", "B", "F", "1", "E", "O", "P", NULL},
                                        {"BS", "SB", "T1", "1T", "SS", "TK", "TE", "ET", NULL},
                                        {"TKE", "ETK", "EKT", NULL},
                                        {NULL},
                                        {NULL}};

/* The vocabulary is one side of the embedding and of the head, whose other side is the model's features: with anything
 * else it is what the head makes of tokens. */
static bool is_no_weight(const struct lumos_dimensions *dimensions, const char *form,
                         const struct program_dimensions *from) {
  bool wrong = false;
  for (int i = 0; i < 2 && strcmp(form, "FF") == 0; i++) {
    const struct lumos_term *term = find(dimensions, 'F', from->of[i], 0);
    const struct lumos_term *other = find(dimensions, 'F', from->of[1 - i], 0);
    wrong |= term != NULL && term->words && dimensions->hidden && other != &dimensions->terms[number_of('F')][0];
  }
  return wrong;
}

/* Two sides of a weight that are equal are different sizes where there are two such: as many heads x head_dim as
 * hidden. */
static bool take(const struct lumos_dimensions *dimensions, const char *form, int first_feature,
                 const struct program_dimensions *from, struct program_dimensions *to) {
  struct program_dimensions result = *from;
  if (is_no_weight(dimensions, form, from)) {
    return false;
  }
  for (int i = 0; i < from->count; i++) {
    int seen = 0;
    for (int k = 0; k < i; k++) {
      seen += form[k] == form[i] && from->of[k] == from->of[i];
    }
    int first = form[i] == 'F' ? first_feature : 0;
    const struct lumos_term *term = form[i] == 'n' ? NULL : find_from(dimensions, form[i], first, from->of[i], seen);
    bool stays = form[i] == 'n' && (from->of[i] <= SMALL || !dimensions->tokens); /* it may count tokens */
    if (term == NULL && !stays) {
      return false;
    }
    result.of[i] = term == NULL ? from->of[i] : term->now;
  }
  *to = result;
  return true;
}

/* A weight as one row of numbers, or a stretch of several. Where experts change otherwise than all else only theirs do,
 * and of buffers of gradients, which are filled anew, what clears them. */
static bool take_flat(const struct lumos_dimensions *dimensions, bool clears, const struct program_dimensions *from,
                      struct program_dimensions *to) {
  int number = number_of('F');
  if (dimensions->expert_weights.was > 0) {
    const struct lumos_term *weights = &dimensions->expert_weights;
    bool of_experts = from->of[0] > 0 && from->of[0] % weights->was == 0;
    to->of[0] = of_experts && clears ? from->of[0] / weights->was * weights->now : from->of[0];
    if (of_experts || fabs(dimensions->others - 1) < 1e-9) {
      return true;
    }
  }
  for (int i = 0; i < dimensions->counts[number]; i++) {
    for (int k = 0; k < dimensions->counts[number]; k++) {
      const struct lumos_term *a = &dimensions->terms[number][i], *b = &dimensions->terms[number][k];
      if (i != k && (__int128)a->was * b->was == from->of[0] && (__int128)a->now * b->now <= INT64_MAX) {
        to->of[0] = a->now * b->now;
        return true;
      }
    }
  }
  const struct lumos_numbering *units = dimensions->units;
  bool of_layer = units != NULL ? lumos_known_number(units, (uint64_t)from->of[0]) != LUMOS_NO_NUMBER
                                : from->of[0] < dimensions->embedding;
  double factor = units == NULL && dimensions->expert_weights.was > 0 && dimensions->apart ? dimensions->others
                  : of_layer                                                               ? dimensions->of_layers
                                                                                           : dimensions->parameters;
  double changed = (double)from->of[0] * factor;
  if (from->of[0] >= dimensions->least && changed < (double)(INT64_C(1) << 52)) {
    to->of[0] = (int64_t)(changed + 0.5);
    return true;
  }
  return false;
}

static bool is_small(const struct program_dimensions *tensor) {
  int64_t product = 1;
  for (int i = 0; i < tensor->count && product <= SMALL; i++) {
    product *= tensor->of[i] > SMALL ? SMALL + 1 : tensor->of[i];
  }
  return product <= SMALL;
}

/* What the op says of its inputs, which how they look does not. */
struct inputs {
  bool whole;                           /* all tokens, though others have a part of them */
  const char *matrix;                   /* what two dimensions are first of all: a weight, or tokens */
  const char *forms[SHAPE_INPUTS];      /* NULL: as they look */
  struct program_dimensions product[2]; /* of a matrix product: what its sides become; count 0: as they look */
  int sides[2];                         /* which inputs those are */
  int first_feature;                    /* the first term that features may be */
  bool clears;                          /* what it is given */
};

static bool change_tensor(const struct lumos_dimensions *dimensions, const struct inputs *inputs, const char *form,
                          bool numbers, const struct program_dimensions *from, struct program_dimensions *to) {
  int first_feature = inputs->first_feature;
  bool routes = dimensions->routes && from->count == 2; /* there may be as many heads as experts */
  *to = *from;
  if (routes && (take(dimensions, "TE", 0, from, to) || take(dimensions, "ET", 0, from, to))) {
    return true;
  }
  if (form != NULL && (int)strlen(form) == from->count && take(dimensions, form, first_feature, from, to)) {
    return true;
  }
  const char *const *likely = numbers ? whole[from->count] : forms[from->count];
  for (; *likely != NULL; likely++) {
    if (take(dimensions, *likely, first_feature, from, to)) {
      return true;
    }
  }
  return is_small(from) || (from->count == 1 && take_flat(dimensions, inputs->clears, from, to));
}

/* ---- Ops ---- */

/* Rows, inner and columns together: both sides have the same inner, and of two features of one size the second is
 * another. */
static void read_product(const struct lumos_dimensions *dimensions, const struct lumos_operation_rule *rule,
                         const struct program_dimensions *all, enum lumos_side side, struct inputs *inputs) {
  const struct program_dimensions *a = &all[rule->first], *b = &all[rule->second];
  if (a->count != 2 || b->count != 2 || a->of[1] != b->of[0]) {
    return;
  }
  const struct program_dimensions sides = {3, {a->of[0], a->of[1], b->of[1]}};
  bool rows = is(dimensions, 'T', a->of[0]), inner = is(dimensions, 'T', a->of[1]);
  bool gradient = inner && (!rows || side == LUMOS_OF_WEIGHT); /* of a weight */
  const char *routes = is(dimensions, 'E', a->of[0])   ? "ETF" /* the product that tells tokens' experts */
                       : is(dimensions, 'E', a->of[1]) ? "TEF"
                       : is(dimensions, 'E', b->of[1]) ? "TFE"
                                                       : NULL;
  struct program_dimensions now;
  if ((routes != NULL && take(dimensions, routes, 0, &sides, &now)) ||
      take(dimensions, gradient ? "FTF" : "TFF", 0, &sides, &now) ||
      (rows && inner && take(dimensions, gradient ? "TFF" : "FTF", 0, &sides, &now))) {
    inputs->sides[0] = rule->first;
    inputs->sides[1] = rule->second;
    inputs->product[0] = (struct program_dimensions){2, {now.of[0], now.of[1]}};
    inputs->product[1] = (struct program_dimensions){2, {now.of[1], now.of[2]}};
  }
}

/* Activation functions are within the feed-forward block, whose shard may be as wide as the model. */
static bool is_activation(const char *op) {
  static const char *const names[] = {"gelu", "silu", "relu", "swiglu", "geglu"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcasestr(op, names[i]) != NULL) {
      return true;
    }
  }
  return false;
}

/* Ops of weights and their gradients: copies to another format, sums, what starts or scales them, and look-ups. */
static bool is_of_weights(const char *op) {
  static const char *const names[] = {"copy", "clone", "accumulate", "foreach", "embedding", "index_select"};
  size_t length = strlen(op);
  bool of_weights = length > 0 && op[length - 1] == '_';
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    of_weights = of_weights || strcasestr(op, names[i]) != NULL;
  }
  return of_weights && strncmp(op, "triton", 6) != 0; /* whose names list what was fused */
}

static struct inputs read_inputs(const struct lumos_dimensions *dimensions, const char *op, const char *shapes,
                                 enum lumos_side side) {
  const struct lumos_operation_rule *rule = lumos_operation_rule(op);
  struct inputs inputs = {.whole = rule != NULL || strcasestr(op, "embedding") != NULL,
                          .matrix = is_of_weights(op) ? "FF" : "TF",
                          .first_feature = dimensions->hidden && is_activation(op),
                          .clears = strcmp(op, "aten::zero_") == 0};
  struct program_dimensions all[SHAPE_INPUTS];
  if (rule == NULL) {
    return inputs;
  }
  program_shape_read(shapes, all);
  if (rule->form == LUMOS_PRODUCT) {
    read_product(dimensions, rule, all, side, &inputs);
    if (rule->mask >= 0) { /* where each expert's rows end; there may be as many heads, or sequences */
      inputs.forms[rule->mask] = "O";
      inputs.forms[rule->second] = all[rule->second].count == 3 ? "OFF" : NULL;
    }
  } else if (rule->form == LUMOS_LINEAR && all[rule->first].count == 2) {
    inputs.forms[rule->first] = "TF";
  } else if (rule->form == LUMOS_ATTENTION_FORWARD || rule->form == LUMOS_ATTENTION_BACKWARD) {
    const int of[] = {rule->first, rule->second, rule->third};
    for (int i = 0; i < 3; i++) {
      bool batch_first = is(dimensions, 'B', all[of[i]].of[0]);
      inputs.forms[of[i]] = rule->heads_first ? "BHSD" : batch_first ? "BSHD" : "SBHD";
    }
  }
  return inputs;
}

/* Of a product, what its sides become; NULL: as they look. */
static const struct program_dimensions *side_of(const struct inputs *inputs, int input) {
  for (int i = 0; i < 2; i++) {
    if (inputs->product[i].count > 0 && inputs->sides[i] == input) {
      return &inputs->product[i];
    }
  }
  return NULL;
}

/* Is a part of the vocabulary as wide as the model? Of layers' work it is no size. */
static bool may_be_words(const struct lumos_dimensions *dimensions) {
  int number = number_of('F');
  bool may = false;
  for (int i = 1; i < dimensions->counts[number]; i++) {
    const struct lumos_term *term = &dimensions->terms[number][i];
    may = may || (term->words && term->was == dimensions->terms[number][0].was);
  }
  return may;
}

/* Rows of tokens as wide as the model are divided among ranks, but those that experts get, which are already; *to is
 * their shape. `matrix`: what two dimensions are
 * first of all. */
static void scatter(const struct lumos_dimensions *dimensions, const char *matrix,
                    const struct program_dimensions *from, struct program_dimensions *to) {
  int last = from->count - 1;
  const struct lumos_term *features = &dimensions->terms[number_of('F')][0];
  struct program_dimensions unused;
  bool weight = last == 1 && strcmp(matrix, "FF") == 0 && take(dimensions, "FF", 0, from, &unused);
  if (!dimensions->hidden || last < 1 || from->of[last] != features->was || weight || may_be_words(dimensions)) {
    return;
  }
  for (int i = 0; i < last; i++) {
    bool tokens = last == 1 ? is(dimensions, 'T', from->of[i]) : is(dimensions, 'S', from->of[i]);
    tokens = tokens || (last > 1 && is(dimensions, 'T', from->of[i]));
    if (tokens && to->of[i] == from->of[i] && to->of[i] % dimensions->scatter == 0) {
      to->of[i] /= dimensions->scatter;
      return;
    }
  }
}

/* ---- Texts ---- */

/* Is the next of the dtypes at *at, which moves behind it, one of whole numbers? */
static bool next_is_whole(const char **at) {
  const char *start = strchr(*at, '"');
  const char *end = start == NULL ? NULL : strchr(start + 1, '"');
  if (end == NULL) {
    return false;
  }
  *at = end + 1;
  return memmem(start, (size_t)(end - start), "long", 4) != NULL ||
         memmem(start, (size_t)(end - start), "int", 3) != NULL;
}

/* The numbers up to the closing bracket, at which *at then is; false: more than fit, or something else. */
static bool read_tensor(const char **at, struct program_dimensions *tensor) {
  const char *text = *at;
  tensor->count = 0;
  while (lumos_is_digit(*text)) {
    char *behind = NULL;
    long long size = strtoll(text, &behind, 10);
    if (tensor->count == SHAPE_DIMENSIONS) {
      return false;
    }
    tensor->of[tensor->count++] = size;
    text = behind + strspn(behind, ", ");
  }
  *at = *text == ']' ? text : *at;
  return *text == ']';
}

static void put_tensor(const struct program_dimensions *tensor, struct lumos_text *out) {
  for (int i = 0; i < tensor->count; i++) {
    lumos_text_format(out, "%s%lld", i == 0 ? "" : ", ", (long long)tensor->of[i]);
  }
}

bool lumos_dimensions_change(const struct lumos_dimensions *dimensions, const char *op, const char *shapes,
                             const char *dtypes, enum lumos_side side, struct lumos_text *out) {
  struct inputs inputs = read_inputs(dimensions, op, shapes, side);
  int depth = 0, input = -1;
  bool known = true, numbers = false;
  for (const char *at = shapes; *at != '\0';) {
    struct program_dimensions tensor, changed;
    bool opens = *at == '[';
    depth += opens - (*at == ']');
    if (opens && depth == 2) {
      input++;
      numbers = next_is_whole(&dtypes);
    }
    lumos_text_char(out, *at++);
    if (opens && lumos_is_digit(*at)) {
      const char *form = input >= 0 && input < SHAPE_INPUTS && depth == 2 ? inputs.forms[input] : NULL;
      if (read_tensor(&at, &tensor)) {
        form = form == NULL && tensor.count == 2 && !numbers ? inputs.matrix : form;
        form = form == NULL && tensor.count == 3 && side == LUMOS_OF_WEIGHT ? "OFF" : form;
        const struct program_dimensions *known_as = depth == 2 ? side_of(&inputs, input) : NULL;
        known = (known_as != NULL || change_tensor(dimensions, &inputs, form, numbers, &tensor, &changed)) && known;
        if (dimensions->scatter > 1 && !inputs.whole && inputs.first_feature == 0 && depth == 2 && !numbers) {
          scatter(dimensions, inputs.matrix, &tensor, &changed);
        }
        put_tensor(known_as != NULL ? known_as : &changed, out);
      } else {
        known = false;
      }
    }
  }
  lumos_text_char(out, '\0');
  return known;
}
