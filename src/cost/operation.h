/* How many floating-point operations an op does, and how many bytes it must move: from its name and the shapes of its
 * inputs.
 *
 * Multiplications and additions count one each, so a product of M x K and K x N is 2 M N K. Only matrix products,
 * convolutions and attention count; what else a model does is little beside them.
 */
#ifndef LUMOS_COST_OPERATION_H
#define LUMOS_COST_OPERATION_H

#include "cost/dtype.h"
#include "program/shapes.h"

enum lumos_operation_form {
  LUMOS_NO_OPERATION,
  LUMOS_PRODUCT,             /* ... x K, ... x K x N */
  LUMOS_LINEAR,              /* ... x K, N x K: the weight is transposed */
  LUMOS_LINEAR_BACKWARD,     /* of the op that the backward node names: the gradients of its input and its weight */
  LUMOS_WEIGHT_GRADIENT,     /* that of its weight alone, where the input's is another op's */
  LUMOS_ANY_LAYOUT,          /* M x K and K x N, either transposed, and M x N */
  LUMOS_ATTENTION_FORWARD,   /* query, key, value */
  LUMOS_ATTENTION_BACKWARD,  /* gradient of the output, query, key, value */
  LUMOS_CONVOLUTION,         /* input, weight */
  LUMOS_CONVOLUTION_BACKWARD /* gradient of the output, input, weight */
};

struct lumos_operation_rule {
  const char *name;
  enum lumos_operation_form form;
  int first, second, third; /* which inputs; of attention, which are query, key and value */
  int mask; /* of attention: the input that is a mask or bias; of a grouped product: where its groups end, so that
                               its shape does not say how many rows count; -1: there is none */
  bool heads_first; /* batch, heads, sequence, head_dim; else batch, sequence, heads, head_dim */
};

/* NULL: the op counts nothing. */
const struct lumos_operation_rule *lumos_operation_rule(const char *name);

struct lumos_op_cost {
  int64_t flops;       /* as it runs; LUMOS_ABSENT: unknown */
  int64_t model_flops; /* without what attention's backward pass computes again */
  int64_t bytes;       /* inputs and outputs, once each; LUMOS_ABSENT: unknown */
  /* Of a product: each of `batches` is rows x inner times inner x columns. Of attention: rows are the queries of a
   * sequence, columns its keys, inner the head's size, batches all heads of all sequences. 0: unknown */
  int64_t rows, inner, columns, batches;
  enum lumos_dtype dtype;
  /* attention of a sequence, or a rank's part of it, to itself, without a mask among the inputs: it may be causal, and
   * is half of that then, for each rank has as much of it */
  bool square;
};

/* What the model's inputs are like, as far as something else than attention shows it; LUMOS_ABSENT: unknown. */
struct lumos_tokens {
  int64_t sequence;    /* tokens in one */
  int64_t micro_batch; /* sequences in one */
  bool parted;         /* ranks have a part of each sequence, whose queries see the keys of all of it */
};

/* What the inputs of an op say; everything is unknown for forms that need another op's: a convolution's input does not
 * show its stride. Attention whose rule has the batch first may be recorded with the sequence first, as some frameworks
 * keep it: it is taken so where the tokens say so. */
struct lumos_op_cost lumos_operation_of(const struct lumos_operation_rule *rule, const char *shapes, const char *dtypes,
                                        const struct lumos_tokens *tokens);

/* Attention over sequences of several lengths, one behind the other: shapes do not say how long each is. */
bool lumos_operation_is_packed(const struct lumos_operation_rule *rule, const char *shapes);

/* A kernel that goes with a product or attention, but does not multiply: sums of parts, arguments, conversions. */
bool lumos_is_helper_kernel(const char *name);

/* Does the name of an attention's kernel say that it is causal? */
enum lumos_causal { LUMOS_CAUSAL_UNKNOWN, LUMOS_CAUSAL, LUMOS_NOT_CAUSAL, LUMOS_WINDOW /* a part of each row only */ };
enum lumos_causal lumos_causal_of_kernel(const char *name);

#endif
