/* The recorded shapes of the ops that tell what a model is like: each distinct one once, with how often it occurs. */
#ifndef LUMOS_PROGRAM_SHAPES_H
#define LUMOS_PROGRAM_SHAPES_H

#include <lumos/job.h>

/* What the inputs of an op are. */
enum program_op {
  OP_NONE,
  OP_ATTENTION_HEADS_FIRST,    /* query, key, value: batch, heads, sequence, head_dim */
  OP_ATTENTION_SEQUENCE_FIRST, /* batch, sequence, heads, head_dim; or tokens, heads, head_dim */
  OP_SOFTMAX,                  /* batch, heads, sequence, sequence, of attention that is not fused */
  OP_PRODUCT,                  /* rows x inner, inner x columns */
  OP_PRODUCT_AND_SUM,          /* bias; rows x inner, inner x columns */
  OP_EMBEDDING,                /* vocabulary x hidden; indices */
  OP_NORM,                     /* ... x hidden */
  OP_FUSED_EMBEDDING,          /* compiled: an embedding is among its inputs */
  OP_FUSED_NORM,
  OP_LOSS /* rows x vocabulary */
};

enum { SHAPE_INPUTS = 12, SHAPE_DIMENSIONS = 5 }; /* as many as anything here asks for */

struct program_dimensions {
  int count; /* 0: no tensor, or one of more dimensions than fit */
  int64_t of[SHAPE_DIMENSIONS];
};

struct program_shape {
  lumos_string_id name, shapes;
  uint8_t op;
  uint64_t count; /* spans, of all ranks, outside of backward passes */
  struct program_dimensions inputs[SHAPE_INPUTS];
};
LUMOS_VECTOR_TYPE(program_shapes, struct program_shape);

/* Gather them, by op, then name, then most frequent first. O(spans). The caller frees the vector. */
void program_shapes_gather(const struct lumos_job *job, struct program_shapes *shapes);

/* The inputs that a text such as "[[8, 16], [16, 4], []]" lists. */
void program_shape_read(const char *text, struct program_dimensions inputs[SHAPE_INPUTS]);

#endif
