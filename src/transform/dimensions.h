/* The shapes of ops when the model's sizes change.
 *
 * What a dimension is follows from what the tensor is: a tensor is laid against templates such as sequence x batch x
 * features, and takes the first in which every dimension is a size of the model, or a product of such. So a sequence
 * that is as long as the model is wide is told from it by its place. Of a matrix product the place of the tokens
 * decides: rows forward and of an input's gradient, the inner side of a weight's.
 */
#ifndef LUMOS_TRANSFORM_DIMENSIONS_H
#define LUMOS_TRANSFORM_DIMENSIONS_H

#include "transform/sides.h"
#include "transform/sizes.h"

#include "base/numbering.h"
#include "base/text.h"

enum { LUMOS_TERM_LETTERS = 13, LUMOS_MOST_TERMS = 16 };

struct lumos_term { /* a size, or a product of sizes, that a dimension may be */
  int64_t was, now;
  bool words; /* the vocabulary */
};

struct lumos_dimensions {
  struct lumos_term terms[LUMOS_TERM_LETTERS][LUMOS_MOST_TERMS];
  int counts[LUMOS_TERM_LETTERS];
  /* Of one dimension that is none of them and at least `least`: a stretch of the parameters, which grows as these
   * do. */
  int64_t least;
  double parameters;
  double of_layers;  /* the same of layers alone, for stretches that are too short for an embedding, of */
  int64_t embedding; /* so many parameters; INT64_MAX: not known */
  int64_t
      scatter; /* in how many parts the tokens of what is as wide as the model are, which were whole; 1: as they were */
  /* Of fully sharded replicas, whose stretches are of a layer, or of all else, which grows as `parameters` then: sizes of
   * those of a layer; NULL: replicas are not. */
  const struct lumos_numbering *units;
  struct lumos_term expert_weights; /* of all experts of a rank together, one of the two or three; was 0: they go as all
                                       parameters go */
  bool routes;   /* of work in which experts take part: matrices of as many columns as experts are no heads */
  bool apart;    /* gradients of experts were in rows of their own */
  double others; /* then: how many times as many parameters else there are */
  bool hidden;   /* the first feature is the model's */
  bool tokens;   /* there are other numbers of tokens */
};

void lumos_dimensions_open(struct lumos_dimensions *dimensions, const struct lumos_sizes *sizes);

/* Of work within a layer, where the vocabulary is no size. */
struct lumos_dimensions lumos_dimensions_of_layer(const struct lumos_dimensions *dimensions);

/* Of work in which experts take part, where rows are first of all those that these get, then a rank's part of tokens. */
struct lumos_dimensions lumos_dimensions_of_experts(const struct lumos_dimensions *dimensions);

/* May these be shapes of what tells tokens' experts: has a matrix as many rows, or columns, as there are experts? */
bool lumos_dimensions_route(const struct lumos_dimensions *dimensions, const char *shapes);

/* Writes the shapes that `op` has after the change, and a 0 behind them, to `out`. False: some tensor is of no known
 * form, and stays as it was. `shapes` and `dtypes` as recorded. `side` decides where a product's sizes do not say which
 * of them are tokens. O(length). */
bool lumos_dimensions_change(const struct lumos_dimensions *dimensions, const char *op, const char *shapes,
                             const char *dtypes, enum lumos_side side, struct lumos_text *out);

#endif
