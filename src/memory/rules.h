/* What ops of PyTorch allocate, and what autograd keeps of them: a row an op. */
#ifndef LUMOS_MEMORY_RULES_H
#define LUMOS_MEMORY_RULES_H

#include <stdint.h>

/* The new tensor of an op, by its inputs. */
enum memory_output {
  OUTPUT_CALLS,     /* what the ops inside it make */
  OUTPUT_NONE,      /* none: it works in place, or on the CPU */
  OUTPUT_VIEW,      /* the first input's memory, as many numbers */
  OUTPUT_PART,      /* the first input's memory, fewer numbers */
  OUTPUT_SPREAD,    /* the first input's memory, the same numbers again and again */
  OUTPUT_INNER,     /* as large as the first input of the copy or fill inside it says */
  OUTPUT_LIKE,      /* all inputs, each spread over the others; their highest format */
  OUTPUT_FIRST,     /* as the first input */
  OUTPUT_TRUTH,     /* the same numbers as OUTPUT_LIKE, a byte each */
  OUTPUT_PRODUCT,   /* rows x columns of two matrices, or of stacks of them */
  OUTPUT_GROUPED,   /* rows of the first matrix x columns of one of a stack */
  OUTPUT_SUMMED,    /* of the second and third input, a product */
  OUTPUT_NORM,      /* the first input, and mean and deviation of each row */
  OUTPUT_ROOT,      /* the first input, and one number for each row */
  OUTPUT_ATTENTION, /* the first input, and one number for each row */
  OUTPUT_ROWS,      /* one number for each row of the first input */
  OUTPUT_ONE,       /* one number */
  OUTPUT_WORDS,     /* the second input x the width of the first */
  OUTPUT_GATHERED,  /* for each number of the listed inputs the first input without its first dimension */
  OUTPUT_JOINED,    /* all inputs behind one another */
  OUTPUT_SECOND,    /* as the second input */
  OUTPUT_SORTED,    /* the first input, and as many integers */
  OUTPUT_GRADIENTS, /* the first three inputs behind the first: of attention */
  OUTPUT_NORM_BACK, /* the second input, and its width twice */
  OUTPUT_TAKEN,     /* what the parameter's gradient, which comes next, is */
  OUTPUT_OWN,       /* the first input, which is new: of a row alone nothing, for it is a part of some buffer */
  OUTPUT_LISTS,     /* all parameters: an op on lists of them */
  OUTPUT_ASSUMED    /* of no known rule: as OUTPUT_LIKE where it calls no other */
};

/* What is kept for the backward pass. */
enum memory_keep {
  KEEP_FIRST = 1 << 0,
  KEEP_SECOND = 1 << 1,
  KEEP_THIRD = 1 << 2,
  KEEP_OUTPUT = 1 << 3,
  KEEP_OTHERS = 1 << 4,    /* of two factors each that the other's gradient needs */
  KEEP_STATISTICS = 1 << 5 /* the small outputs beside the first */
};

struct memory_rule {
  const char *op;
  uint8_t output, keep;
};

/* The rule of an op; NULL: it is none of PyTorch's. */
const struct memory_rule *memory_rule_of(const char *op);

#endif
