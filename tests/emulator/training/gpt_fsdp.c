/* Fully sharded replicas (--fsdp), as PyTorch's fully_shard spreads a model over them: each has a share of every
 * parameter, and of its gradient and what the optimizer keeps of it. Layers are units, and all else is another, the
 * root: a unit's parameters are gathered before each of its passes, and forgotten behind it, but for the root's, which
 * stay from the forward pass to the end of the backward one. Behind its backward pass a unit's gradients are summed,
 * and each replica keeps its share of the sum.
 *
 * The main thread gathers a layer ahead only because it is ahead of its device; in the backward pass the next layer's
 * parameters are asked for before the layer at hand runs. No more than two layers are gathered at once: to gather the
 * next, the one before must have been split into its parameters.
 */
#include "gpt_state.h"
#include <stdlib.h>

enum {
  NS_HOOK = 9000,    /* of Python, around all that a unit does at once */
  NS_TENSORS = 6000, /* lists of a unit's tensors for one kernel */
  UNIT_EVENTS = BUCKET_EVENTS / 2
};

/* Units lie as gradients come: the last layer first, the root behind all. */
static int unit_at(const struct block *to, int place) { return to->chunk->layers - 1 - place; }

static int root_of(const struct block *to) { return to->chunk->layers; }

static int gathered(int unit) { return EVENT_BUCKET + unit % UNIT_EVENTS; }

static int reduced(int unit) { return EVENT_BUCKET + UNIT_EVENTS + unit % UNIT_EVENTS; }

static int64_t elements_of(const struct block *to, int unit) {
  int64_t shares = to->setup->parallel.data;
  return (to->chunk->buckets[unit] + shares - 1) / shares * shares;
}

static struct block labelled(const struct block *to, int unit) {
  struct block own = *to;
  bool root = unit == root_of(to);
  own.label.part = root ? PART_EMBEDDING : PART_LAYER;
  own.label.layer = (int16_t)(root ? -1 : to->chunk->first_layer + to->chunk->layers - 1 - unit);
  return own;
}

static void unit_enter(const struct block *to, enum unit_span span, int unit) {
  annotate(to, to->gpt->unit_names[span][unit]);
  spend(to, NS_HOOK);
}

static void run_on(const struct block *to, enum stream stream, const char *op, enum kernel kernel, int64_t elements) {
  struct work work = kernels_run(to->setup, kernel, elements, 0);
  op_enter_with(to, op, (struct op_facts){.elements = elements, .sequence = -1});
  spend(to, NS_TENSORS);
  launch_on(to, stream, &work);
  spend(to, NS_LINE);
  op_leave(to);
}

static int before_in_forward(const struct block *to, int unit) {
  return unit == unit_at(to, 0) ? root_of(to) : unit + 1;
}

/* Labelled as what asks for it. */
static void gather(const struct block *to, int unit) {
  int64_t elements = elements_of(to, unit);
  unit_enter(to, SPAN_GATHER, unit);
  op_enter(to, "fsdp::all_gather_copy_in", NULL);
  hold_bytes(to, 2 * elements / to->setup->parallel.data); /* the share, cast, until it is copied to its place */
  run_on(to, STREAM_GATHER, "aten::_foreach_copy_", KERNEL_SHARE_CAST, elements / to->setup->parallel.data);
  hold_bytes(to, 2 * elements);
  op_leave(to);
  release_bytes(to, 2 * elements / to->setup->parallel.data);
  collective_start_from(to, STREAM_GATHER, STREAM_DATA, message_of(to, ROLE_DATA, ALL_GATHER, elements, false),
                        gathered(unit));
  op_leave(to);
}

/* What was gathered becomes the unit's parameters. In the forward pass the copy may run while the next is gathered, so
 * what was gathered is held until the next unit's has come. */
static void open_unit(const struct block *from, int unit, bool forward) {
  struct block to = labelled(from, unit);
  if (forward && unit != root_of(&to)) {
    event_wait(&to, STREAM_GATHER, EVENT_SPLIT);
    release_bytes(&to, 2 * elements_of(&to, before_in_forward(&to, unit)));
  }
  hold_bytes(&to, 2 * elements_of(&to, unit));
  unit_enter(&to, SPAN_SPLIT, unit);
  event_wait(&to, STREAM_COMPUTE, gathered(unit));
  run_on(&to, STREAM_COMPUTE, "fsdp::split_with_sizes_copy", KERNEL_SPLIT, elements_of(&to, unit));
  op_leave(&to);
  if (!forward)
    release_bytes(&to, 2 * elements_of(&to, unit));
  if (forward && unit == unit_at(&to, to.chunk->layers - 1))
    return; /* nothing is gathered behind the last layer */
  event_record(&to, EVENT_SPLIT, STREAM_COMPUTE);
  if (!forward)
    event_wait(&to, STREAM_GATHER, EVENT_SPLIT);
}

static void before_forward(const struct block *from, int unit) {
  const struct block own = labelled(from, unit), *to = &own;
  nest(to, INSIDE_PYTHON); /* no gradients are recorded */
  unit_enter(to, SPAN_FORWARD, unit);
  if (unit == root_of(to)) { /* the optimizer has written the parameters */
    event_record(to, EVENT_UPDATED, STREAM_COMPUTE);
    event_wait(to, STREAM_GATHER, EVENT_UPDATED);
  }
  gather(to, unit);
  open_unit(to, unit, true);
  op_leave(to);
  unnest(to);
}

void fsdp_forward(const struct block *to) {
  if (to->setup->parallel.fully_sharded)
    before_forward(to, root_of(to));
}

void fsdp_layer_forward(const struct block *to, int place) {
  if (!to->setup->parallel.fully_sharded)
    return;
  before_forward(to, unit_at(to, place));
  node_forward(to, &gpt_layer_nodes[NODE_UNIT], shape(to, SHAPE_HIDDEN_SHARD));
  op_leave(to);
}

void fsdp_layer_leave(const struct block *to, int place) {
  if (to->setup->parallel.fully_sharded)
    release_bytes(to, 2 * elements_of(to, unit_at(to, place)));
}

/* What was gathered last. */
void fsdp_leave(const struct block *to) {
  if (to->setup->parallel.fully_sharded)
    release_bytes(to, 2 * elements_of(to, unit_at(to, to->chunk->layers - 1)));
}

static void prefetch(const struct block *to, int place) {
  if (place < 0)
    return;
  unit_enter(to, SPAN_PREFETCH, unit_at(to, place));
  gather(to, unit_at(to, place));
  op_leave(to);
}

void fsdp_backward(const struct block *to) {
  if (!to->setup->parallel.fully_sharded)
    return;
  const struct block own = labelled(to, root_of(to));
  unit_enter(&own, SPAN_BACKWARD, root_of(to));
  prefetch(&own, to->chunk->layers - 1);
  op_leave(&own);
}

void fsdp_layer_backward(const struct block *to, int place) {
  if (!to->setup->parallel.fully_sharded)
    return;
  const struct block own = labelled(to, unit_at(to, place));
  unit_enter(&own, SPAN_BACKWARD, unit_at(to, place));
  open_unit(&own, unit_at(to, place), false);
  prefetch(&own, place - 1);
  op_leave(&own);
}

/* In float32, of parameters or their gradients. */
static int64_t share_of(const struct block *to, int unit) {
  return 4 * elements_of(to, unit) / to->setup->parallel.data;
}

/* Of weights alone: those of biases and norms are never counted. */
static void release_gradients(const struct block *to, int unit) {
  if (unit == root_of(to)) {
    release_weight(to, LINEAR_HEAD);
    return;
  }
  for (int linear = 0; linear < LAYER_LINEARS; linear++)
    release_weight(to, (enum linear)linear);
}

/* The copy into one tensor waits for the sum before it, whose memory it may take. */
static void reduce(const struct block *from, int unit) {
  struct block to = labelled(from, unit);
  int64_t elements = elements_of(&to, unit);
  unit_enter(&to, SPAN_REDUCE, unit);
  release_bytes(&to, 2 * elements); /* the unit's parameters */
  if (unit > 0) {
    event_wait(&to, STREAM_COMPUTE, EVENT_REDUCED);
    release_bytes(&to, 4 * elements_of(&to, unit - 1));
  }
  hold_bytes(&to, 4 * elements);
  run_on(&to, STREAM_COMPUTE, "fsdp::chunk_cat", KERNEL_CHUNKS, elements);
  release_gradients(&to, unit);
  hold_bytes(&to, share_of(&to, unit));
  event_record(&to, EVENT_CHUNKS, STREAM_COMPUTE);
  event_wait(&to, STREAM_REDUCE, EVENT_CHUNKS);
  collective_start_from(&to, STREAM_REDUCE, STREAM_DATA, message_of(&to, ROLE_DATA, REDUCE_SCATTER, elements, true),
                        reduced(unit));
  event_wait(&to, STREAM_REDUCE, reduced(unit));
  if (unit != root_of(&to))
    event_record(&to, EVENT_REDUCED, STREAM_REDUCE);
  if (to.micro_batch > 0) {
    run_on(&to, STREAM_REDUCE, "aten::add_", KERNEL_SHARE_ADD, elements / to.setup->parallel.data);
    release_bytes(&to, share_of(&to, unit));
  }
  op_leave(&to);
}

void fsdp_layer_reduce(const struct block *to, int place) {
  if (!to->setup->parallel.fully_sharded)
    return;
  node_backward(to, &gpt_layer_nodes[NODE_UNIT], NODE_UNIT, shape(to, SHAPE_HIDDEN_SHARD));
  reduce(to, unit_at(to, place));
  node_leave_backward(to);
}

void fsdp_reduce(const struct block *to) {
  if (!to->setup->parallel.fully_sharded)
    return;
  reduce(to, root_of(to));
  event_record(to, EVENT_SUMMED, STREAM_REDUCE);
  event_wait(to, STREAM_COMPUTE, EVENT_SUMMED);
  release_bytes(to, 4 * elements_of(to, root_of(to)));
}

/* ---- shares ---- */

/* Before the first step there are the parameters; before the others' passes the gradients go. */
void fsdp_begin(const struct block *from) {
  struct block to = *from;
  to.chunk = from->plan->chunks;
  if (!to.setup->parallel.fully_sharded)
    return;
  for (int unit = 0; unit <= root_of(&to); unit++) {
    if (to.step == 0)
      hold_bytes(&to, share_of(&to, unit));
    else
      release_bytes(&to, share_of(&to, unit));
  }
}

/* The optimizer makes a mean and a mean square in its first step. */
void fsdp_update(const struct block *from) {
  struct block to = *from;
  to.chunk = from->plan->chunks;
  for (int unit = 0; to.setup->parallel.fully_sharded && to.step == 0 && unit <= root_of(&to); unit++)
    for (int i = 0; i < 2; i++)
      hold_bytes(&to, share_of(&to, unit));
}

/* ---- names ---- */

void gpt_name_units(struct gpt *gpt) {
  static const struct {
    const char *name, *of_layer;
  } spans[UNIT_SPANS] = {
      [SPAN_FORWARD] = {"FSDP::pre_forward", "FSDP::pre_forward (layers.%d)"},
      [SPAN_BACKWARD] = {"FSDP::pre_backward", "FSDP::pre_backward (layers.%d)"},
      [SPAN_GATHER] = {"FSDP::all_gather", "FSDP::all_gather (layers.%d)"},
      [SPAN_SPLIT] = {"FSDP::all_gather_copy_out", "FSDP::all_gather_copy_out (layers.%d)"},
      [SPAN_PREFETCH] = {"FSDP::backward_prefetch", "FSDP::backward_prefetch for layers.%d"},
      [SPAN_REDUCE] = {"FSDP::post_backward_reduce", "FSDP::post_backward_reduce (layers.%d)"},
  };
  int layers = gpt->setup->model.layers;
  for (int span = 0; span < UNIT_SPANS; span++) {
    gpt->unit_names[span] = memory_new((size_t)layers + 1, sizeof *gpt->unit_names[span]);
    for (int unit = 0; unit < layers; unit++)
      gpt->unit_names[span][unit] = gpt_keep(gpt, spans[span].of_layer, layers - 1 - unit);
    gpt->unit_names[span][layers] = spans[span].name;
  }
}

void gpt_free_units(struct gpt *gpt) {
  for (int span = 0; span < UNIT_SPANS; span++)
    free(gpt->unit_names[span]);
}
