/* What is trained, from shapes: attention says heads, head_dim, sequence and micro-batch; the embedding's weight
 * vocabulary and hidden; matrix products between known widths the rest. Widths that tensor parallelism cuts are
 * multiplied back. A model without attention is not described, and what shapes leave open stays absent.
 */
#include <lumos/program.h>

#include "base/text.h"
#include "program/shapes.h"
#include <inttypes.h>

/* Of the attention that most layers have, on one rank. Counts may be of several ranks and steps, like all counts
 * here. */
struct attention {
  const struct program_shape *shape; /* NULL: there is none */
  uint64_t count;
  int64_t batch, sequence; /* 0: not known */
  int64_t keys;            /* of the sequence, where queries may be a rank's part of it; 0: not known */
  int64_t tokens;
  int64_t heads, kv_heads, head_dim; /* kv_heads, head_dim 0: not known */
};

struct sheet {
  struct lumos_job *job;
  struct lumos_model_description *model;
  struct program_shapes shapes;
  struct attention attention;
  int64_t hidden; /* 0: not known */
  int64_t shards; /* of tensor parallelism; 0: not known */
};

/* --- Writing down --- */

static void put_dimensions(struct lumos_text *text, const struct program_dimensions *input) {
  for (int i = 0; i < input->count; i++) {
    lumos_text_format(text, "%s%" PRId64, i == 0 ? " [" : ", ", input->of[i]);
  }
  lumos_text_put(text, input->count > 0 ? "]" : "");
}

/* A value, and the op that shows it, with two of its inputs from `input` on. */
static void put_value(struct sheet *sheet, int32_t *slot, lumos_string_id *evidence, int64_t value, bool sharded,
                      const struct program_shape *shape, int input) {
  int64_t shards = sharded ? sheet->shards : 1; /* 0: how many there are is not known */
  if (value < 1 || value > INT32_MAX || shards < 1 || value * shards > INT32_MAX) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "shapes: %s", lumos_string(sheet->job->strings, shape->name));
  put_dimensions(&text, &shape->inputs[input]);
  put_dimensions(&text, &shape->inputs[input + 1]);
  if (sharded && sheet->shards > 1) {
    lumos_text_format(&text, " x tp %" PRId64, sheet->shards);
  }
  *slot = (int32_t)(value * shards);
  *evidence = lumos_intern(sheet->job->strings, text.bytes, text.length);
  lumos_text_free(&text);
}

#define PUT(sheet, field, value, sharded, shape, input) \
  put_value(sheet, &(sheet)->model->field, &(sheet)->model->evidence.field, value, sharded, shape, input)

/* --- Attention --- */

enum { MOST_HEADS = 1 << 16 }; /* no model comes near; all their divisors are tried */

static bool read_attention(const struct program_shape *shape, struct attention *attention) {
  const struct program_dimensions *query = &shape->inputs[0];
  const struct program_dimensions *key = &shape->inputs[1];
  bool heads_first = shape->op == OP_ATTENTION_HEADS_FIRST;
  *attention = (struct attention){.shape = shape, .count = shape->count};
  if (shape->op == OP_SOFTMAX && query->count == 4 && query->of[2] == query->of[3] && query->of[2] > 1) {
    attention->batch = query->of[0];
    attention->heads = query->of[1];
    attention->sequence = attention->keys = query->of[2];
  } else if ((heads_first || shape->op == OP_ATTENTION_SEQUENCE_FIRST) && query->count == 4 && key->count == 4) {
    attention->batch = query->of[0];
    attention->heads = query->of[heads_first ? 1 : 2];
    attention->kv_heads = key->of[heads_first ? 1 : 2];
    attention->sequence = query->of[heads_first ? 2 : 1];
    attention->keys = key->of[heads_first ? 2 : 1];
    attention->head_dim = query->of[3];
  } else if (shape->op == OP_ATTENTION_SEQUENCE_FIRST && query->count == 3 && key->count == 3) {
    attention->tokens = query->of[0];
    attention->heads = query->of[1];
    attention->kv_heads = key->of[1];
    attention->head_dim = query->of[2];
  } else {
    return false;
  }
  int64_t of_batches = 0;
  if (__builtin_mul_overflow(attention->batch, attention->sequence, &of_batches)) {
    return false;
  }
  attention->tokens = attention->tokens == 0 ? of_batches : attention->tokens;
  return attention->heads > 0 && attention->tokens > 0 && attention->heads <= MOST_HEADS &&
         attention->kv_heads <= MOST_HEADS && attention->head_dim <= INT32_MAX;
}

static bool same_heads(const struct attention *one, const struct attention *other) {
  return one->heads == other->heads && one->kv_heads == other->kv_heads && one->head_dim == other->head_dim;
}

/* Is a part nearly all? */
static bool dominates(uint64_t part, uint64_t all) { return part * 5 >= all * 4; }

/* The most frequent shape of the first op in the table's order that is there. If layers differ in their heads there is
 * no saying which are the model's; if only batches differ, their sizes are left out. */
static void find_attention(struct sheet *sheet) {
  struct attention most = {.shape = NULL};
  struct attention other;
  uint64_t all = 0;
  uint64_t same = 0;
  for (size_t i = 0; i < sheet->shapes.count; i++) {
    const struct program_shape *shape = &sheet->shapes.items[i];
    if ((most.shape != NULL && most.shape->name != shape->name) || !read_attention(shape, &other)) {
      continue;
    }
    most = most.shape == NULL ? other : most;
    all += shape->count;
    same += same_heads(&most, &other) ? shape->count : 0;
  }
  if (most.shape == NULL || !dominates(same, all)) {
    return;
  }
  sheet->attention = most;
  if (!dominates(most.count, all)) {
    sheet->attention.batch = sheet->attention.sequence = sheet->attention.keys = sheet->attention.tokens = 0;
  }
  PUT(sheet, heads, most.heads, true, most.shape, 0);
  PUT(sheet, head_dim, most.head_dim, false, most.shape, 0);
}

/* --- Matrix products --- */

/* How often rows of all tokens go from one width to another; *shape: the most frequent such op. */
static uint64_t products(const struct sheet *sheet, int64_t inner, int64_t columns,
                         const struct program_shape **shape) {
  uint64_t count = 0;
  for (size_t i = 0; i < sheet->shapes.count; i++) {
    const struct program_shape *at = &sheet->shapes.items[i];
    if (at->op != OP_PRODUCT && at->op != OP_PRODUCT_AND_SUM) {
      continue;
    }
    const struct program_dimensions *left = &at->inputs[at->op == OP_PRODUCT_AND_SUM];
    const struct program_dimensions *right = left + 1;
    if (left->count == 2 && right->count == 2 && left->of[1] == inner && right->of[0] == inner &&
        right->of[1] == columns && (sheet->attention.tokens == 0 || left->of[0] == sheet->attention.tokens)) {
      *shape = *shape == NULL ? at : *shape;
      count += at->count;
    }
  }
  return count;
}

static bool has_product(const struct sheet *sheet, int64_t inner, int64_t columns) {
  const struct program_shape *shape = NULL;
  return products(sheet, inner, columns, &shape) > 0;
}

/* The next product of all tokens from `*place` on: its widths. False: there is none. */
static bool next_product(const struct sheet *sheet, size_t *place, int64_t *inner, int64_t *columns) {
  for (; *place < sheet->shapes.count; ++*place) {
    const struct program_shape *at = &sheet->shapes.items[*place];
    const struct program_dimensions *left = &at->inputs[at->op == OP_PRODUCT_AND_SUM];
    bool product = at->op == OP_PRODUCT || at->op == OP_PRODUCT_AND_SUM;
    if (product && left->count == 2 && left[1].count == 2) {
      *inner = left->of[1];
      *columns = left[1].of[1];
      ++*place;
      return true;
    }
  }
  return false;
}

/* --- Hidden --- */

/* The embedding with most rows: others are of positions or kinds of tokens. */
static const struct program_shape *largest_embedding(const struct sheet *sheet) {
  const struct program_shape *largest = NULL;
  for (size_t i = 0; i < sheet->shapes.count; i++) {
    const struct program_shape *shape = &sheet->shapes.items[i];
    if (shape->op == OP_EMBEDDING && shape->inputs[0].count == 2 &&
        (largest == NULL || shape->inputs[0].of[0] > largest->inputs[0].of[0])) {
      largest = shape;
    }
  }
  return largest;
}

/* The width of most norms, but for those of single heads. */
static const struct program_shape *usual_norm(const struct sheet *sheet, int64_t *width) {
  const struct program_shape *usual = NULL;
  for (size_t i = 0; i < sheet->shapes.count; i++) {
    const struct program_shape *shape = &sheet->shapes.items[i];
    const struct program_dimensions *input = &shape->inputs[0];
    if (shape->op == OP_NORM && input->count > 1 && input->of[input->count - 1] != sheet->attention.head_dim &&
        (usual == NULL || shape->count > usual->count)) {
      usual = shape;
      *width = input->of[input->count - 1];
    }
  }
  return usual;
}

/* Do queries, keys and values of all heads come from this width, and does attention's output go back to it? */
static bool is_around_attention(const struct sheet *sheet, int64_t width) {
  const struct attention *attention = &sheet->attention;
  int64_t heads = attention->heads * attention->head_dim;
  return has_product(sheet, heads, width) &&
         (has_product(sheet, width, heads) ||
          has_product(sheet, width, heads + 2 * attention->kv_heads * attention->head_dim));
}

/* The width around attention. Where it is that of all heads together, as in most models, a feed-forward block lies
 * around that width, too, so it is looked at first. */
static const struct program_shape *around_attention(const struct sheet *sheet, int64_t *width) {
  int64_t heads = sheet->attention.heads * sheet->attention.head_dim;
  int64_t inner = 0;
  int64_t columns = 0;
  const struct program_shape *shape = NULL;
  *width = is_around_attention(sheet, heads) ? heads : 0;
  for (size_t place = 0; *width == 0 && next_product(sheet, &place, &inner, &columns);) {
    *width = inner == heads && is_around_attention(sheet, columns) ? columns : 0;
  }
  return *width > 0 && products(sheet, heads, *width, &shape) > 0 ? shape : NULL;
}

static void find_hidden(struct sheet *sheet) {
  int64_t width = 0;
  const struct program_shape *norm = usual_norm(sheet, &width);
  const struct program_shape *embedding = largest_embedding(sheet);
  if (embedding != NULL && (norm == NULL || width == embedding->inputs[0].of[1])) {
    sheet->hidden = embedding->inputs[0].of[1];
    PUT(sheet, hidden, sheet->hidden, false, embedding, 0);
  } else if (norm != NULL) {
    sheet->hidden = width;
    PUT(sheet, hidden, width, false, norm, 0);
  } else if (sheet->attention.head_dim > 0) {
    const struct program_shape *product = around_attention(sheet, &width);
    if (product != NULL) {
      sheet->hidden = width;
      PUT(sheet, hidden, width, false, product, product->op == OP_PRODUCT_AND_SUM);
    }
  }
}

/* --- Heads of keys and values --- */

/* Libraries may repeat keys and values for all heads of queries; what they are projected to is not repeated. */
static void find_kv_heads(struct sheet *sheet) {
  const struct attention *attention = &sheet->attention;
  const struct program_shape *shape = NULL;
  int64_t heads = attention->heads * attention->head_dim;
  if (attention->kv_heads > 0 && attention->kv_heads < attention->heads) {
    if (attention->kv_heads > 1 || sheet->shards == 1) { /* one may be a copy on every shard */
      PUT(sheet, kv_heads, attention->kv_heads, true, attention->shape, 0);
    }
    return;
  }
  for (int64_t kv = attention->heads; attention->head_dim > 0 && sheet->hidden > 0 && kv > 0; kv--) {
    int64_t width = kv * attention->head_dim;
    uint64_t alone = kv == attention->heads ? 3 : 2; /* of queries, too */
    if (attention->heads % kv != 0) {
      continue;
    }
    shape = NULL;
    bool fused = products(sheet, sheet->hidden, heads + 2 * width, &shape) * 2 >= attention->count;
    if (!fused) {
      shape = NULL;
      fused = products(sheet, sheet->hidden, width, &shape) >= alone * attention->count;
    }
    if (fused && shape != NULL && (kv > 1 || sheet->shards == 1)) {
      PUT(sheet, kv_heads, kv, true, shape, shape->op == OP_PRODUCT_AND_SUM);
      return;
    }
  }
}

/* --- Feed-forward --- */

/* Do queries, keys and values come from one product that is as wide as the feed-forward block? */
static bool is_width_of_attention(const struct sheet *sheet, int64_t width, uint64_t layers) {
  const struct attention *attention = &sheet->attention;
  const struct program_shape *shape = NULL;
  int64_t kv = attention->kv_heads > 0 ? attention->kv_heads : attention->heads;
  int64_t queries = attention->heads * attention->head_dim;
  uint64_t outputs = queries == sheet->hidden ? layers : 0; /* products of the same shape behind attention */
  return width == (attention->heads + 2 * kv) * attention->head_dim &&
         products(sheet, sheet->hidden, queries, &shape) <= outputs;
}

/* Beside a gate, hidden goes to that width twice as often as it comes back, or to twice the width. */
static void find_ffn_matrices(struct sheet *sheet, int64_t width, uint64_t back) {
  const struct program_shape *there = NULL;
  const struct program_shape *wide = NULL;
  uint64_t up = products(sheet, sheet->hidden, width, &there);
  up -= up >= back && is_width_of_attention(sheet, width, back) ? back : 0;
  uint64_t both = width <= INT32_MAX ? products(sheet, sheet->hidden, 2 * width, &wide) : 0;
  if (up == back || up == 2 * back) {
    PUT(sheet, ffn_matrices, up == back ? 2 : 3, false, there, there->op == OP_PRODUCT_AND_SUM);
  } else if (up == 0 && both == back) {
    PUT(sheet, ffn_matrices, 3, false, wide, wide->op == OP_PRODUCT_AND_SUM);
  }
}

/* The width from which every layer comes back to hidden but the attention's, and to which hidden goes, once or, with a
 * gate, twice as wide. */
static void find_ffn(struct sheet *sheet) {
  const struct attention *attention = &sheet->attention;
  const struct program_shape *best = NULL;
  int64_t inner = 0;
  int64_t columns = 0;
  int64_t width = 0;
  uint64_t most = 0;
  for (size_t place = 0; sheet->hidden > 0 && next_product(sheet, &place, &inner, &columns);) {
    const struct program_shape *shape = NULL;
    if (columns != sheet->hidden || inner == attention->heads * attention->head_dim) {
      continue;
    }
    uint64_t count = products(sheet, inner, columns, &shape);
    bool there = has_product(sheet, sheet->hidden, inner) ||
                 (inner <= INT32_MAX && has_product(sheet, sheet->hidden, 2 * inner));
    if (there && count * 2 >= attention->count && count > most) {
      most = count;
      best = shape;
      width = inner;
    }
  }
  if (best != NULL) {
    PUT(sheet, ffn, width, true, best, best->op == OP_PRODUCT_AND_SUM);
    find_ffn_matrices(sheet, width, most);
  }
}

/* --- Vocabulary --- */

/* An embedding that a compiler fused with other work is the input with most rows of hidden. */
static const struct program_shape *fused_embedding(const struct sheet *sheet, int *input, int64_t *rows) {
  const struct program_shape *found = NULL;
  for (size_t i = 0; i < sheet->shapes.count; i++) {
    const struct program_shape *shape = &sheet->shapes.items[i];
    for (int at = 0; shape->op == OP_FUSED_EMBEDDING && at + 1 < SHAPE_INPUTS; at++) {
      const struct program_dimensions *dimensions = &shape->inputs[at];
      if (dimensions->count == 2 && dimensions->of[1] == sheet->hidden && dimensions->of[0] > *rows &&
          dimensions->of[0] != sheet->attention.tokens && dimensions->of[0] > sheet->hidden) {
        *rows = dimensions->of[0];
        *input = at;
        found = shape;
      }
    }
  }
  return found;
}

static void find_vocabulary(struct sheet *sheet) {
  const struct program_shape *embedding = largest_embedding(sheet);
  int input = 0;
  int64_t rows = 0;
  if (embedding != NULL && embedding->inputs[0].of[1] == sheet->hidden) {
    rows = embedding->inputs[0].of[0];
    /* Where the head's weight is a shard of the embedding's, the embedding is none. */
    bool whole = sheet->shards > 1 && rows % sheet->shards == 0 && !has_product(sheet, sheet->hidden, rows) &&
                 has_product(sheet, sheet->hidden, rows / sheet->shards);
    PUT(sheet, vocabulary, rows, !whole, embedding, 0);
    return;
  }
  embedding = sheet->hidden > 0 && sheet->shards == 1 ? fused_embedding(sheet, &input, &rows) : NULL;
  if (embedding != NULL) {
    PUT(sheet, vocabulary, rows, false, embedding, input);
    return;
  }
  for (size_t i = 0; sheet->shards == 1 && i < sheet->shapes.count; i++) {
    const struct program_shape *shape = &sheet->shapes.items[i];
    if (shape->op == OP_LOSS && shape->inputs[0].count == 2 && shape->inputs[0].of[0] == sheet->attention.tokens) {
      PUT(sheet, vocabulary, shape->inputs[0].of[1], false, shape, 0);
      return;
    }
  }
}

/* --- Sequence and micro-batch --- */

static void put_batch(struct sheet *sheet, int64_t batch, int64_t sequence, const struct program_shape *shape,
                      int input) {
  PUT(sheet, micro_batch, batch, false, shape, input);
  PUT(sheet, sequence, sequence, false, shape, input);
}

/* The indices of an embedding that are all tokens: batch, sequence. */
static const struct program_shape *token_indices(const struct sheet *sheet) {
  for (size_t i = 0; i < sheet->shapes.count; i++) {
    const struct program_shape *shape = &sheet->shapes.items[i];
    const struct program_dimensions *indices = &shape->inputs[1];
    int64_t tokens = 0;
    if (shape->op == OP_EMBEDDING && indices->count == 2 &&
        !__builtin_mul_overflow(indices->of[0], indices->of[1], &tokens) && tokens == sheet->attention.tokens) {
      return shape;
    }
  }
  return NULL;
}

/* A norm's input that is all tokens as one batch. */
static const struct program_shape *one_batch(const struct sheet *sheet) {
  for (size_t i = 0; i < sheet->shapes.count; i++) {
    const struct program_shape *shape = &sheet->shapes.items[i];
    const struct program_dimensions *input = &shape->inputs[0];
    bool norm = shape->op == OP_FUSED_NORM || shape->op == OP_NORM;
    if (norm && input->count == 3 && input->of[0] == 1 && input->of[1] == sheet->attention.tokens) {
      return shape;
    }
  }
  return NULL;
}

/* Of ranks that have a part of each sequence those show all of it that gather keys and values; others pass them on. */
static void find_parted_batch(struct sheet *sheet, int64_t contexts) {
  const struct attention *attention = &sheet->attention;
  int64_t all = 0;
  if (attention->batch > 0 && !__builtin_mul_overflow(attention->sequence, contexts, &all) && all == attention->keys) {
    put_batch(sheet, attention->batch, attention->keys, attention->shape, 0);
  }
}

/* A stage behind the first one has no indices; of two numbers the sequence is then the larger one, for a micro-batch of
 * more sequences than one of them has tokens would be of no language model. */
static bool is_swapped(const struct attention *attention, const struct program_shape *indices) {
  if (indices != NULL) {
    return indices->inputs[1].of[0] == attention->sequence && indices->inputs[1].of[1] == attention->batch;
  }
  return attention->shape->op == OP_ATTENTION_SEQUENCE_FIRST && attention->sequence == attention->keys &&
         attention->sequence < attention->batch;
}

/* Indices come first: some attention is given the sequence before the batch. Attention over packed sequences knows
 * tokens only. */
static void find_batch(struct sheet *sheet) {
  const struct attention *attention = &sheet->attention;
  const struct program_shape *indices = token_indices(sheet);
  bool parted = sheet->model->sizes.cp != LUMOS_ABSENT_INT && sheet->model->sizes.cp > 1;
  if (parted || attention->tokens == 0) {
    find_parted_batch(sheet, parted ? sheet->model->sizes.cp : 0);
    return;
  }
  bool swapped = is_swapped(attention, indices);
  if (attention->batch > 0 && swapped && indices == NULL) {
    put_batch(sheet, attention->sequence, attention->batch, attention->shape, 0);
  } else if (attention->batch > 0 && !swapped) {
    put_batch(sheet, attention->batch, attention->sequence, attention->shape, 0);
  } else if (indices != NULL) {
    put_batch(sheet, indices->inputs[1].of[0], indices->inputs[1].of[1], indices, 0);
  } else if (one_batch(sheet) != NULL) {
    put_batch(sheet, 1, attention->tokens, one_batch(sheet), 0);
  }
}

/* --- All of it --- */

/* On how many ranks a layer's width lies: 1 where nobody communicates. */
static int64_t shards_of(const struct lumos_job *job) {
  if (job->models.count > 0 && job->models.items[0].sizes.tp != LUMOS_ABSENT_INT) {
    return job->models.items[0].sizes.tp;
  }
  for (size_t i = 0; i < job->tasks.count; i++) {
    if (lumos_is_communication(job->tasks.items[i].kind)) {
      return 0;
    }
  }
  return 1;
}

static void describe(struct sheet *sheet) {
  find_attention(sheet);
  if (sheet->attention.shape != NULL) {
    find_hidden(sheet);
    find_kv_heads(sheet);
    find_ffn(sheet);
    find_vocabulary(sheet);
    find_batch(sheet);
  }
}

/* Forget what shapes had said before. */
static struct lumos_model_description without_shapes(const struct lumos_job *job) {
  struct lumos_model_description model = lumos_model_description_empty;
  if (job->models.count > 0) {
    const struct lumos_model_description *old = &job->models.items[0];
    model.layers = old->layers;
    model.evidence.layers = old->evidence.layers;
    model.micro_batches = old->micro_batches;
    model.evidence.micro_batches = old->evidence.micro_batches;
    model.sizes = old->sizes;
    model.evidence.tp = old->evidence.tp;
    model.evidence.pp = old->evidence.pp;
    model.evidence.dp = old->evidence.dp;
    model.evidence.cp = old->evidence.cp;
    model.evidence.ep = old->evidence.ep;
  }
  return model;
}

bool lumos_program_model(struct lumos_job *job, struct lumos_error *error) {
  struct lumos_model_description model = without_shapes(job);
  struct sheet sheet = {.job = job, .model = &model, .shards = shards_of(job)};
  (void)error;
  program_shapes_gather(job, &sheet.shapes);
  describe(&sheet);
  if (sheet.attention.shape != NULL && job->models.count == 0) {
    lumos_vector_push(&job->models, model);
  } else if (job->models.count > 0) {
    job->models.items[0] = model;
  }
  lumos_vector_free(&sheet.shapes);
  return true;
}
