/* The rules, an op a row, and the arithmetic of each form. */
#include "cost/operation.h"

#include <lumos/job.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#define PRODUCT_OP(name, first, second) {name, LUMOS_PRODUCT, first, second, 0, -1, false}
#define HEADS_FIRST(name, mask) {name, LUMOS_ATTENTION_FORWARD, 0, 1, 2, mask, true}
#define SEQUENCE_FIRST(name, mask) {name, LUMOS_ATTENTION_FORWARD, 0, 1, 2, mask, false}
#define HEADS_FIRST_BACK(name, mask) {name, LUMOS_ATTENTION_BACKWARD, 1, 2, 3, mask, true}
#define SEQUENCE_FIRST_BACK(name, mask) {name, LUMOS_ATTENTION_BACKWARD, 1, 2, 3, mask, false}

static const struct lumos_operation_rule rules[] = {
    PRODUCT_OP("aten::mm", 0, 1),
    PRODUCT_OP("aten::bmm", 0, 1),
    PRODUCT_OP("aten::mv", 0, 1),
    PRODUCT_OP("aten::_int_mm", 0, 1),
    PRODUCT_OP("aten::_scaled_mm", 0, 1),
    {"aten::_grouped_mm", LUMOS_PRODUCT, 0, 1, 0, 2, false},
    {"aten::_scaled_grouped_mm", LUMOS_PRODUCT, 0, 1, 0, 4, false},
    PRODUCT_OP("aten::addmm", 1, 2),
    PRODUCT_OP("aten::addmm_", 1, 2),
    PRODUCT_OP("aten::_addmm_activation", 1, 2),
    PRODUCT_OP("aten::addmv", 1, 2),
    PRODUCT_OP("aten::baddbmm", 1, 2),
    PRODUCT_OP("aten::baddbmm_", 1, 2),
    {"aten::linear", LUMOS_LINEAR, 0, 1, 0, -1, false},
    {"LinearWithGradAccumulationAndAsyncCommunication", LUMOS_LINEAR, 0, 1, 0, -1, false},
    {"LinearWithGradAccumulationAndAsyncCommunicationBackward", LUMOS_WEIGHT_GRADIENT, 0, 0, 0, -1, false},
    {"LinearWithFrozenWeight", LUMOS_LINEAR, 0, 1, 0, -1, false},
    {"_Linear", LUMOS_LINEAR, 1, 0, 0, -1, false},
    {"_LinearBackward", LUMOS_LINEAR_BACKWARD, 0, 0, 0, -1, false},
    {"_LayerNormLinear", LUMOS_LINEAR, 0, 3, 0, -1, false},
    {"_LayerNormLinearBackward", LUMOS_LINEAR_BACKWARD, 0, 0, 0, -1, false},
    {"tex_ts::te_gemm_ts", LUMOS_ANY_LAYOUT, 0, 5, 10, -1, false},
    HEADS_FIRST("aten::scaled_dot_product_attention", 3),
    HEADS_FIRST("aten::_scaled_dot_product_flash_attention", -1),
    HEADS_FIRST("aten::_scaled_dot_product_efficient_attention", 3),
    HEADS_FIRST("aten::_scaled_dot_product_cudnn_attention", 3),
    HEADS_FIRST_BACK("aten::_scaled_dot_product_flash_attention_backward", -1),
    HEADS_FIRST_BACK("aten::_scaled_dot_product_efficient_attention_backward", 4),
    HEADS_FIRST_BACK("aten::_scaled_dot_product_cudnn_attention_backward", 8),
    SEQUENCE_FIRST("aten::_flash_attention_forward", -1),
    SEQUENCE_FIRST("aten::_efficient_attention_forward", 3),
    SEQUENCE_FIRST_BACK("aten::_flash_attention_backward", -1),
    SEQUENCE_FIRST_BACK("aten::_efficient_attention_backward", 4),
    SEQUENCE_FIRST("FlashAttnFunc", -1),
    SEQUENCE_FIRST("flash_attn::_flash_attn_forward", -1),
    SEQUENCE_FIRST_BACK("flash_attn::_flash_attn_backward", -1),
    SEQUENCE_FIRST("flash_attn_3::fwd", -1),
    SEQUENCE_FIRST("flash_attn_3::_flash_attn_forward", -1),
    SEQUENCE_FIRST_BACK("flash_attn_3::bwd", -1),
    SEQUENCE_FIRST_BACK("flash_attn_3::_flash_attn_backward", -1),
    {"aten::convolution", LUMOS_CONVOLUTION, 0, 1, 0, -1, false},
    {"aten::convolution_backward", LUMOS_CONVOLUTION_BACKWARD, 0, 1, 2, -1, false},
};
/* clang-format on */

const struct lumos_operation_rule *lumos_operation_rule(const char *name) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    if (strcmp(rules[i].name, name) == 0) {
      return &rules[i];
    }
  }
  return NULL;
}

/* ---- Numbers that may be unknown, or more than fit ---- */

static const int64_t MOST = INT64_C(1) << 52;

static int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  if (a == LUMOS_ABSENT || b == LUMOS_ABSENT || __builtin_mul_overflow(a, b, &product) || product > MOST) {
    return LUMOS_ABSENT;
  }
  return product;
}

static int64_t plus(int64_t a, int64_t b) {
  return a == LUMOS_ABSENT || b == LUMOS_ABSENT || a + b > MOST ? LUMOS_ABSENT : a + b;
}

static int64_t elements(const struct program_dimensions *input) {
  int64_t product = input->count > 0 ? 1 : LUMOS_ABSENT;
  for (int i = 0; i < input->count; i++) {
    product = times(product, input->of[i]);
  }
  return product;
}

static int64_t last(const struct program_dimensions *input) { return input->of[input->count - 1]; }

/* ---- Forms ---- */

struct inputs {
  const struct program_dimensions *first, *second, *third;
  int size; /* bytes of an element of the first; 0: unknown */
};

static int64_t bytes_of(const struct inputs *inputs, int64_t count) {
  return inputs->size > 0 ? times(count, inputs->size) : LUMOS_ABSENT;
}

/* rows x inner times inner x columns; `rows` with all batches, `weights` the elements of the second. */
static void multiply(const struct inputs *inputs, int64_t rows, int64_t inner, int64_t columns, int64_t weights,
                     struct lumos_op_cost *result) {
  bool batched = inputs->second->count > 2 && inputs->second->of[0] > 0 && rows > 0;
  result->batches = batched ? inputs->second->of[0] : 1;
  result->rows = rows > 0 ? rows / result->batches : 0;
  result->inner = inner;
  result->columns = columns;
  result->flops = times(times(2, times(rows, inner)), columns);
  result->model_flops = result->flops;
  result->bytes = bytes_of(inputs, plus(plus(times(rows, inner), weights), times(rows, columns)));
}

static void count_product(const struct inputs *inputs, struct lumos_op_cost *result) {
  const struct program_dimensions *a = inputs->first, *b = inputs->second;
  int64_t inner = b->count > 1 ? b->of[b->count - 2] : b->count == 1 ? b->of[0] : 0;
  bool batched = b->count < 3 || a->count == b->count;
  if (a->count < 1 || b->count < 1 || last(a) != inner || inner == 0 || !batched) {
    return;
  }
  int64_t count = elements(a);
  multiply(inputs, count == LUMOS_ABSENT ? count : count / inner, inner, b->count > 1 ? last(b) : 1, elements(b),
           result);
}

static void count_linear(const struct inputs *inputs, struct lumos_op_cost *result) {
  const struct program_dimensions *x = inputs->first, *weight = inputs->second;
  if (x->count < 1 || weight->count != 2 || last(x) != last(weight) || last(x) == 0) {
    return;
  }
  int64_t count = elements(x);
  multiply(inputs, count == LUMOS_ABSENT ? count : count / last(x), last(x), weight->of[0], elements(weight), result);
}

/* In M x K, K x N and M x N each size occurs twice. */
static void count_any_layout(const struct inputs *inputs, struct lumos_op_cost *result) {
  const struct program_dimensions *a = inputs->first, *b = inputs->second, *out = inputs->third;
  if (a->count < 2 || b->count < 2 || out->count < 2 || last(out) == 0) {
    return;
  }
  int64_t size = elements(out);
  int64_t rows = size == LUMOS_ABSENT ? size : size / last(out);
  int64_t count = elements(b);
  /* The second operand is the one with as many rows or columns as the output has rows. */
  if (rows <= 0 || count == LUMOS_ABSENT || count % rows != 0 || elements(a) != times(count / rows, last(out))) {
    return;
  }
  multiply(inputs, rows, count / rows, last(out), elements(a), result);
}

/* Is it sequence, batch, heads, head_dim, and not batch, sequence, heads, head_dim? */
static bool is_sequence_first(const struct program_dimensions *q, const struct lumos_tokens *tokens) {
  return tokens->sequence != tokens->micro_batch && q->of[0] == tokens->sequence && q->of[1] == tokens->micro_batch;
}

/* Two products forward, of as many heads as the queries have: keys and values may have fewer, which several share.
 * Backward, four are gradients, and one is computed again. */
static void count_attention(const struct lumos_operation_rule *rule, const struct inputs *inputs,
                            const struct lumos_tokens *tokens, struct lumos_op_cost *result) {
  const struct program_dimensions *q = inputs->first, *k = inputs->second, *v = inputs->third;
  if (q->count != 4 || k->count != 4 || v->count != 4) {
    return;
  }
  int heads = rule->heads_first ? 1 : 2;
  bool swapped = !rule->heads_first && is_sequence_first(q, tokens);
  int sequence = rule->heads_first ? 2 : swapped ? 0 : 1;
  int64_t squares = times(times(q->of[swapped ? 1 : 0], q->of[heads]), times(q->of[sequence], k->of[sequence]));
  int64_t scores = times(times(2, squares), q->of[3]); /* query times key */
  int64_t values = times(times(2, squares), v->of[3]);
  int64_t once = plus(scores, values);
  int64_t moved = plus(plus(elements(q), elements(k)), plus(elements(v), elements(q)));
  bool back = rule->form == LUMOS_ATTENTION_BACKWARD;
  result->model_flops = back ? times(2, once) : once;
  result->flops = back ? plus(times(2, once), scores) : once;
  result->bytes = bytes_of(inputs, back ? times(2, moved) : moved);
  result->rows = back ? k->of[sequence] : q->of[sequence]; /* what blocks are of */
  result->columns = back ? q->of[sequence] : k->of[sequence];
  result->inner = q->of[3];
  result->batches = times(q->of[swapped ? 1 : 0], q->of[heads]);
  bool part = tokens->parted && q->of[sequence] > 0 && k->of[sequence] % q->of[sequence] == 0;
  result->square = (part || q->of[sequence] == k->of[sequence]) && q->of[sequence] > 1;
}

/* Every element of the output takes as many products as a filter has weights; where it is the input that is spread over
 * the output, every element of the input does. Backward, the gradients of both are as much each. */
static void count_convolution_backward(const struct program_dimensions *output, const struct program_dimensions *input,
                                       const struct program_dimensions *weight, int size,
                                       struct lumos_op_cost *result) {
  int64_t weights = elements(weight);
  if (input->count < 3 || weight->count != input->count || output->count != input->count || weights == LUMOS_ABSENT ||
      weight->of[0] <= 0) {
    return;
  }
  bool spread = output->of[1] != weight->of[0] && input->of[1] == weight->of[0];
  result->flops = times(times(4, elements(spread ? input : output)), weights / weight->of[0]);
  result->model_flops = result->flops;
  int64_t moved = plus(plus(elements(input), weights), elements(output));
  result->bytes = size > 0 ? times(2 * (int64_t)size, moved) : LUMOS_ABSENT;
}

static struct inputs read_inputs(const struct lumos_operation_rule *rule, const char *shapes, const char *dtypes,
                                 struct program_dimensions all[SHAPE_INPUTS], struct lumos_op_cost *result) {
  struct inputs inputs = {&all[rule->first], &all[rule->second], &all[rule->third], 0};
  *result = (struct lumos_op_cost){.flops = LUMOS_ABSENT, .model_flops = LUMOS_ABSENT, .bytes = LUMOS_ABSENT};
  program_shape_read(shapes, all);
  result->dtype = lumos_dtype_recorded(dtypes, rule->first, &inputs.size);
  return inputs;
}

struct lumos_op_cost lumos_operation_of(const struct lumos_operation_rule *rule, const char *shapes, const char *dtypes,
                                        const struct lumos_tokens *tokens) {
  struct program_dimensions all[SHAPE_INPUTS];
  struct lumos_op_cost result;
  struct inputs inputs = read_inputs(rule, shapes, dtypes, all, &result);
  switch (rule->form) {
    case LUMOS_PRODUCT:
      if (rule->mask < 0 || all[rule->mask].count == 0) {
        count_product(&inputs, &result);
      }
      break;
    case LUMOS_LINEAR:
      count_linear(&inputs, &result);
      break;
    case LUMOS_ANY_LAYOUT:
      count_any_layout(&inputs, &result);
      break;
    case LUMOS_ATTENTION_FORWARD:
    case LUMOS_ATTENTION_BACKWARD:
      count_attention(rule, &inputs, tokens, &result);
      result.square = result.square && (rule->mask < 0 || all[rule->mask].count == 0);
      break;
    case LUMOS_CONVOLUTION_BACKWARD:
      count_convolution_backward(inputs.first, inputs.second, inputs.third, inputs.size, &result);
      break;
    default:
      break;
  }
  return result;
}

bool lumos_operation_is_packed(const struct lumos_operation_rule *rule, const char *shapes) {
  struct program_dimensions all[SHAPE_INPUTS];
  if (rule->form != LUMOS_ATTENTION_FORWARD) {
    return false;
  }
  program_shape_read(shapes, all);
  return all[rule->first].count == 3 && all[rule->second].count == 3;
}

/* ---- Kernels ---- */

bool lumos_is_helper_kernel(const char *name) {
  static const char *const parts[] = {"splitKreduce",     "reduce_1Block_kernel",
                                      "gemm_args_kernel", "epilogue::impl::globalKernel",
                                      "convert_dq",       "ConvertdQ",
                                      "dot_do_o",         "BwdPreprocess"};
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (strstr(name, parts[i]) != NULL) {
      return true;
    }
  }
  return false;
}

/* Behind the first template argument, which may have its own: the next one. */
static const char *second_argument(const char *text) {
  int depth = 0;
  for (; *text != '\0' && depth >= 0; text++) {
    depth += *text == '<' || *text == '(';
    depth -= *text == '>' || *text == ')';
    if (*text == ',' && depth == 0) {
      return text + 1 + strspn(text + 1, " ");
    }
  }
  return NULL;
}

/* FlashAttention-2's templates say whether they drop out, are causal, and look at a window. */
enum lumos_causal lumos_causal_of_kernel(const char *name) {
  static const struct {
    const char *name;
    bool drops_out;
  } templates[] = {{"flash_fwd_kernel<", true},
                   {"flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<", true},
                   {"flash_fwd_splitkv_kernel<", false}};
  for (size_t i = 0; i < sizeof templates / sizeof *templates; i++) {
    const char *found = strstr(name, templates[i].name);
    const char *at = found == NULL ? NULL : second_argument(found + strlen(templates[i].name));
    at = at != NULL && templates[i].drops_out ? second_argument(at) : at;
    const char *window = at == NULL ? NULL : second_argument(at);
    if (window != NULL) {
      bool causal = strncmp(at, "true", 4) == 0;
      bool told = causal || strncmp(at, "false", 5) == 0;
      bool local = strncmp(window, "true", 4) == 0 && !causal;
      return !told ? LUMOS_CAUSAL_UNKNOWN : local ? LUMOS_WINDOW : causal ? LUMOS_CAUSAL : LUMOS_NOT_CAUSAL;
    }
  }
  return LUMOS_CAUSAL_UNKNOWN;
}
