/* GPU time by layer: forward and backward, compute and communication; beside the layers embedding, head, optimizer, and
 * what belongs to none.
 *
 * A layer's time is the mean over the steps of the ranks that run it, so that a layer of which more ranks were recorded
 * is no longer than its neighbour. Shares are of all GPU time of the steps.
 */
#ifndef LUMOS_REPORT_LAYERS_H
#define LUMOS_REPORT_LAYERS_H

#include "report/content/facts.h"
#include "report/content/table.h"
#include "report/draw/scene.h"

/* In the order in which rows stand. */
enum report_place {
  PLACE_EMBEDDING,
  PLACE_LAYER,
  PLACE_HEAD,
  PLACE_OPTIMIZER,
  PLACE_PASS, /* of a pass, but of no layer: sends and receives between stages, sums of gradients */
  PLACE_NONE, /* what was not recovered */
  PLACES
};

enum report_work { WORK_FORWARD, WORK_BACKWARD, WORK_WEIGHT, WORK_OTHER, WORKS };

struct report_layer {
  enum report_place place;
  int32_t layer;                                       /* PLACE_LAYER */
  int64_t compute[WORKS], communication[WORKS], total; /* sums */
  int64_t ranks, rank_steps;                           /* that run it; 0: none does */
  uint32_t last_rank;                                  /* while it is read */
};
LUMOS_VECTOR_TYPE(report_layer_list, struct report_layer);

struct report_layers {
  const struct lumos_job *job;
  struct report_layer_list list; /* by place, then layer; every place but PLACE_LAYER once */
  size_t layers;                 /* of them, from list.items[1] on */
  int64_t whole, rank_steps;     /* all GPU time of the steps that count, and of how many steps of ranks it is */
  int64_t median;                /* of the layers' times in a step; LUMOS_ABSENT */
  bool weight;                   /* some work computes weight gradients apart */
};

/* No layers: none was recovered. */
void report_layers_read(const struct report_facts *facts, struct report_layers *layers);
void report_layers_free(struct report_layers *layers);

/* The mean over the steps of its ranks. */
int64_t report_layer_mean(const struct report_layer *layer, int64_t sum);
/* How much longer it takes than the median layer, in millionths of that. LUMOS_ABSENT: it is no layer. */
int64_t report_layer_excess(const struct report_layers *layers, const struct report_layer *layer);

/* There is at least one. */
const struct report_layer *report_longest_layer(const struct report_layers *layers);

/* "24 layers take 1.23 ms of GPU time each in a step (median), up to 1.80 ms (layer 17, 46 % more); ..." */
void report_put_layers_finding(const struct report_layers *layers, struct lumos_text *out);
void report_put_layers_reading(const struct report_layers *layers, struct lumos_text *out);
void report_layers_table(const struct report_layers *layers, struct report_table *table);
/* "embedding", "layer 7" */
void report_put_place(const struct report_layer *layer, struct lumos_text *out);

/* False: there is nothing to show; the scene is not begun. */
bool report_layers_scene(const struct report_layers *layers, struct report_scene *scene);
void report_layers_paints(const struct report_layers *layers, bool shown[PAINT_COUNT]);

#endif
