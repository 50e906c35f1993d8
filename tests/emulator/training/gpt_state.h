/* What the files of the training program share: the facts of a job that are worked out once (groups, kernels, shapes,
 * plans of the stages), and the block that is being written.
 *
 * A rank's own state is two counters. All else that a block needs follows from the rank, the step and the pass,
 * autograd numbers included: a job of hundreds of ranks costs hardly more memory than one.
 */
#ifndef EMULATOR_GPT_STATE_H
#define EMULATOR_GPT_STATE_H

#include "gpt.h"
#include "kernels.h"
#include "memory.h"
#include "schedule.h"

/* Groups of ranks, by what they are for. */
enum role {
  ROLE_WORLD,
  ROLE_DATA_AND_CONTEXT,
  ROLE_DATA,
  ROLE_CONTEXT,
  ROLE_MODEL,
  ROLE_TENSOR,
  ROLE_PIPELINE,
  ROLE_EMBEDDING,
  ROLE_EXPERT,
  ROLE_EXPERT_MODEL, /* all that has parts of one model's experts */
  ROLE_EXPERT_DATA,  /* those with the same experts */
  ROLES
};

/* Matrix products: the linear layers, each with its three products. The first micro-batch writes the weight's gradient,
 * the others add to it. */
enum linear {
  LINEAR_QKV,
  LINEAR_PROJECTION,
  LINEAR_FC1,
  LINEAR_FC2,
  LAYER_LINEARS,
  LINEAR_HEAD = LAYER_LINEARS,
  LINEAR_ROUTER, /* to experts, each of which has the two of a feed-forward block */
  LINEARS
};
enum product { PRODUCT_FORWARD, PRODUCT_INPUT, PRODUCT_WEIGHT, PRODUCT_WEIGHT_ADDED, PRODUCTS };
struct product_work {
  struct work works[2];
  int count;
};

/* All other kernels of a layer. */
enum layer_piece {
  PIECE_NORM_1,
  PIECE_NORM_2,
  PIECE_CAST_QKV, /* in the order of enum linear */
  PIECE_CAST_PROJECTION,
  PIECE_CAST_FC1,
  PIECE_CAST_FC2,
  PIECE_ROTARY,
  PIECE_HEADS_COPY, /* queries, keys, values or the attention's output into another layout */
  PIECE_ATTENTION,
  PIECE_DROPOUT_ADD,
  PIECE_GELU,
  PIECE_DROPOUT_BACKWARD,
  PIECE_GELU_BACKWARD,
  PIECE_NORM_BACKWARD_INPUT,
  PIECE_NORM_BACKWARD_WEIGHT,
  PIECE_RESIDUAL_ADD,
  PIECE_ROTARY_BACKWARD,
  PIECE_QKV_CONCATENATE,
  PIECE_ATTENTION_DOT,
  PIECE_ATTENTION_BACKWARD,
  PIECE_ATTENTION_CONVERT,
  PIECE_BIAS_QKV, /* gradients of biases, in the order of enum linear */
  PIECE_BIAS_PROJECTION,
  PIECE_BIAS_FC1,
  PIECE_BIAS_FC2,
  PIECE_WRITE_QKV, /* small gradients into the buffer: written by the first micro-batch, added by the others */
  PIECE_WRITE_PROJECTION,
  PIECE_WRITE_FC1,
  PIECE_WRITE_FC2,
  PIECE_WRITE_NORM,
  PIECE_ADD_QKV,
  PIECE_ADD_PROJECTION,
  PIECE_ADD_FC1,
  PIECE_ADD_FC2,
  PIECE_ADD_NORM,
  PIECE_KEYS_COPY, /* keys or values of the whole sequence, into another layout or order */
  PIECE_CAST_ROUTER,
  PIECE_CAST_EXPERTS, /* of one of their two weights; and its gradient into the buffer */
  PIECE_WRITE_EXPERTS,
  PIECE_ADD_EXPERTS,
  PIECE_TOP,
  PIECE_SCORES,
  PIECE_SCORES_BACKWARD,
  PIECE_SCATTER,
  PIECE_COUNT,
  PIECE_EXPERT_GELU,
  PIECE_EXPERT_GELU_BACKWARD,
  PIECE_PERMUTE,
  PIECE_SORT_CHUNKS,
  PIECE_UNPERMUTE,
  PIECE_UNPERMUTE_BACKWARD,
  LAYER_PIECES
};
struct layer_kernels {
  struct product_work products[LAYER_LINEARS][PRODUCTS], router[PRODUCTS];
  struct work pieces[LAYER_PIECES];
};

/* And of the model's two ends. */
enum end_piece {
  PIECE_EMBEDDING,
  PIECE_EMBEDDING_COPY,
  PIECE_EMBEDDING_SORT,
  PIECE_EMBEDDING_BACKWARD,
  PIECE_EMBEDDING_ADD,
  PIECE_FINAL_NORM,
  PIECE_CAST_HEAD,
  PIECE_LOGITS_TO_FLOAT,
  PIECE_LOGITS_MAX,
  PIECE_LOGITS_EXP,
  PIECE_LOGITS_SUM,
  PIECE_LOSS_GATHER,
  PIECE_LOSS_LOG,
  PIECE_LOSS_MEAN,
  PIECE_LOSS_SCALE,
  PIECE_LOSS_FILL,
  PIECE_LOSS_DIVIDE,
  PIECE_SOFTMAX_BACKWARD,
  PIECE_LOGITS_TO_BFLOAT,
  PIECE_FINAL_NORM_BACKWARD_INPUT,
  PIECE_FINAL_NORM_BACKWARD_WEIGHT,
  PIECE_FINAL_NORM_WRITE,
  PIECE_FINAL_NORM_ADD,
  END_PIECES
};
struct end_kernels {
  struct product_work products[PRODUCTS]; /* of the logits */
  struct work pieces[END_PIECES];
};

/* Inputs of ops, as shape recording has them: one text each, NULL where shapes are not recorded. */
enum linear_shape {
  SHAPE_FUNCTION, /* of the autograd function */
  SHAPE_CAST,
  SHAPE_WEIGHT, /* and of its transpose the dimensions and strides */
  SHAPE_WEIGHT_GRADIENT,
  SHAPE_GRADIENT,      /* of the output */
  SHAPE_GRADIENT_ROWS, /* as a matrix, and of its transpose the dimensions and strides */
  LINEAR_SHAPES
};
/* Of the products of experts' weights. */
enum grouped_shape { SHAPE_GROUPED, SHAPE_GROUPED_INPUT, SHAPE_GROUPED_WEIGHT, GROUPED_SHAPES };
/* Of the ops of a product; of two matrices nothing is viewed. */
enum product_shape { SHAPE_MATMUL, SHAPE_VIEW, SHAPE_MM, SHAPE_UNSAFE_VIEW, PRODUCT_SHAPES };
enum shape {
  SHAPE_HIDDEN,       /* the whole activation */
  SHAPE_HIDDEN_SHARD, /* this rank's rows of it where sequences are parallel, else the whole */
  SHAPE_HIDDEN_SUM,
  SHAPE_NORM,
  SHAPE_NORM_BACKWARD,
  SHAPE_QKV,
  SHAPE_QKV_SPLIT,
  SHAPE_QKV_SUM,
  SHAPE_QKV_PARTS,
  SHAPE_QKV_CAT,
  SHAPE_HEADS, /* of queries, keys or values */
  SHAPE_HEADS_COPY,
  SHAPE_KEYS_COPY,   /* keys or values of the whole sequence */
  SHAPE_KEYS_SELECT, /* put in order: pieces of it come by rank */
  SHAPE_CONTEXT,     /* what attention gives */
  SHAPE_CONTEXT_COPY,
  SHAPE_ROTARY,
  SHAPE_CORE,
  SHAPE_ATTENTION, /* of the autograd function */
  SHAPE_ATTENTION_FORWARD,
  SHAPE_ATTENTION_BACKWARD,
  SHAPE_DROPOUT_ADD,
  SHAPE_ADD,
  SHAPE_FFN,
  SHAPE_FFN_SUM,
  SHAPE_GELU,
  SHAPE_ROWS, /* tokens, one below the other; of experts, once for each that takes it */
  SHAPE_EXPERT_ROWS,
  SHAPE_TOP,
  SHAPE_TOP_BACKWARD,
  SHAPE_SCORES,
  SHAPE_SCORES_SCATTER,
  SHAPE_COUNT,
  SHAPE_COUNTS,
  SHAPE_PERMUTE,
  SHAPE_SORT_CHUNKS,
  SHAPE_EXPERT_FFN,
  SHAPE_UNPERMUTE,
  SHAPE_TOKENS,
  SHAPE_EMBEDDING,
  SHAPE_EMBEDDING_SELECT,
  SHAPE_EMBEDDING_COPY,
  SHAPE_EMBEDDING_GRADIENT, /* of the output */
  SHAPE_EMBEDDING_BACKWARD,
  SHAPE_EMBEDDING_WEIGHT, /* its gradient */
  SHAPE_LOGITS_TO_FLOAT,
  SHAPE_LOGITS_FLOAT,
  SHAPE_LOGITS_TO_BFLOAT,
  SHAPE_LOGITS_SUM,
  SHAPE_LOGITS_SCALE,
  SHAPE_LOSS,
  SHAPE_LOSS_OF_LOGITS,
  SHAPE_LOSS_DIVIDE,
  SHAPE_SCALAR,
  SHAPE_SCALAR_DIVIDE,
  SHAPE_LISTS, /* of many tensors */
  SHAPE_LIST_CAT,
  SHAPES
};

/* What an autograd node is called by the three ops that show it. A function is written in Python: it makes its node
 * even where gradients are not recorded, and records none of what it does. */
struct node_names {
  const char *forward, *evaluate, *backward;
  const char *forward_method, *backward_method; /* of a function, else NULL */
};
#define NODE(op, node) .forward = (op), .evaluate = "autograd::engine::evaluate_function: " node, .backward = (node)
#define FUNCTION(name, file, forward_line, backward_line)                            \
  NODE(name, name "Backward"), .forward_method = file "(" forward_line "): forward", \
                               .backward_method = file "(" backward_line "): backward"
/* Differentiable ops of a layer, in forward order: each makes a node, which takes an autograd number. */
enum layer_node {
  NODE_UNIT, /* of fully sharded replicas: behind its backward the layer's gradients are summed */
  NODE_CHECKPOINT,
  NODE_NORM_1,
  NODE_QKV,
  NODE_SPLIT,
  NODE_ROTARY_QUERY,
  NODE_ROTARY_KEY,
  NODE_CORE_CHECKPOINT,
  NODE_ATTENTION,
  NODE_CONTEXT,
  NODE_PROJECTION,
  NODE_PROJECTION_REDUCE,
  NODE_DROPOUT_ADD_1,
  NODE_NORM_2,
  NODE_FC1,
  NODE_GELU,
  NODE_FC2,
  NODE_FC2_REDUCE,
  NODE_ROUTER, /* in place of these where there are experts */
  NODE_TOP,
  NODE_SCORES,
  NODE_SCATTER,
  NODE_PERMUTE,
  NODE_DISPATCH,
  NODE_SORT_CHUNKS,
  NODE_EXPERTS_FC1,
  NODE_EXPERTS_GELU,
  NODE_EXPERTS_FC2,
  NODE_SORT_BACK,
  NODE_COMBINE,
  NODE_UNPERMUTE,
  NODE_DROPOUT_ADD_2,
  LAYER_NODES
};
/* And of the ends: the embedding's before those of the layers, the head's behind. */
enum end_node {
  NODE_EMBEDDING,
  NODE_EMBEDDING_REDUCE,
  NODE_EMBEDDING_COPY,
  FIRST_LAYER_NODE,
  NODE_FINAL_NORM = 0,
  NODE_LOGITS,
  NODE_LOGITS_TO_FLOAT,
  NODE_LOSS,
  NODE_LOSS_MEAN,
  NODE_LOSS_SCALE,
  HEAD_NODES
};

/* Modules of the model, of which each layer, or each chunk, has one or several. */
enum module {
  MODULE_DATA_PARALLEL,
  MODULE_PRECISION,
  MODULE_GPT,
  MODULE_EMBEDDING,
  MODULE_WORDS,
  MODULE_BLOCK,
  MODULE_CHECKPOINT, /* around a layer of fully sharded replicas that is computed again */
  MODULE_LAYER,
  MODULE_NORM,
  MODULE_ATTENTION,
  MODULE_CORE,
  MODULE_MLP,
  MODULE_COLUMN,
  MODULE_ROW,
  MODULE_MOE,
  MODULE_ROUTER,
  MODULE_EXPERTS,
  MODULES
};
enum { MODULE_NAME = 48, MOST_CALLERS = 3 };

/* Which numbers nodes take, counted from the first of their layer or end: those that are not there take none. Of what
 * will be computed again only functions take some. */
enum numbering {
  NUMBERS_EMBEDDING,
  NUMBERS_LAYER,             /* nothing of it will be computed again */
  NUMBERS_CHECKPOINTED,      /* all of it will be */
  NUMBERS_CORE_CHECKPOINTED, /* its core attention will be */
  NUMBERS_CORE,              /* that, in the backward pass */
  NUMBERS_HEAD,
  NUMBERINGS
};
struct numbers {
  int place[LAYER_NODES], count;
};

/* A chunk's parameters in the order in which their gradients come: the tied head's weight, the final norm, the layers
 * from the last to the first, the embedding. A slot is a parameter, or a norm's weight and bias. */
enum layer_slot {
  SLOT_FC2_BIAS,
  SLOT_FC2,
  SLOT_FC1_BIAS,
  SLOT_FC1,
  SLOT_ROUTER,
  SLOT_NORM_2,
  SLOT_PROJECTION_BIAS,
  SLOT_PROJECTION,
  SLOT_QKV_BIAS,
  SLOT_QKV,
  SLOT_NORM_1,
  LAYER_SLOTS
};
enum { SLOT_HEAD, SLOT_FINAL_NORM, FIRST_LAYER_SLOT };

/* A model chunk of a stage. */
struct chunk {
  int first_layer, layers;
  bool embeds, has_head;
  int64_t parameters;        /* of one rank of the stage */
  int64_t expert_parameters; /* of them those of experts that other ranks do not have */
  int bucket_count;
  int64_t *buckets;   /* parameters of each */
  int expert_buckets; /* of them, the last ones: of those parameters */
  int first_bucket;   /* counted through the stage's chunks */
  int *closes;        /* [slots]: the bucket that is complete with this slot's gradient, or -1 */
};
int chunk_slots(const struct chunk *chunk);

/* Sends and receives that are issued together: as one kernel where they are batched, else each has its own exchange. */
enum { SEND = 1, TO_NEXT = 2 };
struct exchange {
  int after;  /* the pass that it follows, -1: none */
  int before; /* the pass that waits for its end; their count: the step's end */
  uint8_t count;
  uint8_t parts[MOST_P2P]; /* bits above */
  int passes[MOST_P2P];    /* that make what is sent, that need what is received */
};

/* What all ranks of a stage do in a step. */
struct plan {
  struct pass *passes;
  int count;
  struct chunk *chunks;
  int64_t parameters,
      shared_parameters; /* of one rank; those of them that every tensor rank has: norms and biases of the output */
  struct exchange *exchanges; /* by `after` */
  int exchange_count;
  int *posts, *wait_starts,
      /* exchanges after pass i: posts[i + 1] up to posts[i + 2]; before it: waits[wait_starts[i]] up to [i + 1] */
      *waits;
  int *forward_at, *backward_at; /* [chunk * micro-batches + micro-batch]: index of the pass */
  int64_t *numbers, *recomputed; /* autograd's count before pass i since the step began, [count]: of a step; on the main
                                    thread, and on the autograd thread, which computes layers again */
};

/* An activation through the tensor group. */
enum { TENSOR_COLLECTIVES = REDUCE_SCATTER + 1 }; /* ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER */
struct tensor_collective {
  struct message message;
  struct work work;
};

/* What a unit of fully sharded replicas does, as annotations name it. */
enum unit_span { SPAN_FORWARD, SPAN_BACKWARD, SPAN_GATHER, SPAN_SPLIT, SPAN_PREFETCH, SPAN_REDUCE, UNIT_SPANS };

struct progress {
  int step, position; /* 0: the step's begin, then its passes, then its end */
};

struct gpt {
  const struct setup *setup;
  int64_t tokens; /* of a micro-batch, on one rank */
  struct communicator *communicators;
  int communicator_count;
  int (*roles)[ROLES];          /* of a rank: communicators, -1: none, or nobody else in it */
  struct layer_kernels *layers; /* [layers of the model] */
  struct end_kernels ends;
  struct tensor_collective (*tensor_collectives)[TENSOR_COLLECTIVES]; /* [communicator] */
  const char *linear_shapes[LINEARS][LINEAR_SHAPES], *product_shapes[LINEARS][PRODUCTS][PRODUCT_SHAPES];
  const char *gradient_shapes[LAYER_SLOTS], *shapes[SHAPES];
  const char *grouped_shapes[2][GROUPED_SHAPES]; /* up and down */
  const char **step_names;                       /* ProfilerStep#N */
  const char **unit_names[UNIT_SPANS];        /* [layers + 1], of which the last is the root; where they are sharded */
  char (*module_names[MODULES])[MODULE_NAME]; /* nn.Module: TransformerLayer_N; only where stacks are recorded */
  char *strings;                              /* that all of these lie in */
  size_t string_length, string_room;
  struct plan *plans; /* [stage] */
  struct numbers numbers[NUMBERINGS];
  struct progress *progress;
  struct leaving *leaving; /* NULL: nothing is left out */
};

/* gpt_groups.c, gpt_kernels.c, gpt_plan.c: fill their part, and free it. */
void gpt_make_groups(struct gpt *gpt);
void gpt_free_groups(struct gpt *gpt);
void gpt_make_kernels(struct gpt *gpt);
void gpt_free_kernels(struct gpt *gpt);
void gpt_name_units(struct gpt *gpt); /* gpt_fsdp.c; behind the room for texts */
void gpt_free_units(struct gpt *gpt);
const char *gpt_keep(struct gpt *gpt, const char *format, ...); /* a text among gpt->strings */
void gpt_describe(struct gpt *gpt);                             /* gpt_shapes.c: the inputs of ops */
void gpt_make_tensor_collectives(struct gpt *gpt);              /* gpt_messages.c; behind the groups */
void gpt_make_plans(struct gpt *gpt);
void gpt_free_plans(struct gpt *gpt);
void gpt_make_numbers(struct gpt *gpt); /* gpt_numbers.c; behind the plans, which it completes */
void gpt_make_leaving(struct gpt *gpt); /* gpt_left_out.c */
void gpt_free_leaving(struct gpt *gpt);
void gpt_leave_out(const struct gpt *gpt, int rank, struct program *program); /* a block that is written to its end */
void gpt_make_modules(struct gpt *gpt);                                       /* gpt_python.c */
void gpt_free_modules(struct gpt *gpt);
int64_t gpt_numbers_of(const struct gpt *gpt, const struct chunk *chunk); /* that its forward pass takes */
enum numbering gpt_forward_numbering(const struct setup *setup);          /* of layers */

/* Of one rank's weight (gpt_plan.c). */
int64_t gpt_linear_inputs(const struct setup *setup, enum linear linear);
int64_t gpt_linear_outputs(const struct setup *setup, enum linear linear);
/* Of a sequence, on one rank. */
int gpt_sequence(const struct setup *setup);
/* Tokens of a micro-batch on a rank between the halves of a layer, which experts take. */
int64_t gpt_shard_tokens(const struct setup *setup);
/* Experts of a layer on one rank, and the tokens that they get together, each as often as it takes an expert. */
int gpt_experts(const struct setup *setup);
int64_t gpt_expert_rows(const struct setup *setup);
/* Do other ranks have the same experts than have the rest? No tensor group divides experts. */
bool gpt_experts_apart(const struct setup *setup);
/* The group that sums gradients, and has shares of parameters: all ranks with the same part of the model. */
enum role gpt_gradient_role(const struct setup *setup);
/* Over how many ranks norms and dropouts are spread: the tensor group where sequences are parallel, else 1. */
int gpt_sequence_shards(const struct setup *setup);

/* Events of a rank. A stream's two serve one collective after another; exchanges and buckets, of which several are
 * under way, go round. */
enum {
  EVENT_STREAMS = STREAM_CONTEXT + 1,             /* those that have events of their own kinds */
  EVENT_READY = 0,                                /* + stream: its input is there */
  EVENT_DONE = EVENT_STREAMS,                     /* + stream: the work is done */
  EVENT_FUTURE = EVENT_DONE + EVENT_STREAMS,      /* + stream: the same, for those who hold its future */
  EVENT_NCCL_FREE = EVENT_FUTURE + EVENT_STREAMS, /* + stream: NCCL's own beside it came so far; and that one's mark */
  EVENT_NCCL_DONE = EVENT_NCCL_FREE + EVENT_STREAMS,
  EVENT_INPUT = EVENT_NCCL_DONE + EVENT_STREAMS, /* a micro-batch's data is on the device */
  EVENT_EXCHANGE,
  EXCHANGE_EVENTS = 64,
  EVENT_BUCKET = EVENT_EXCHANGE + EXCHANGE_EVENTS,
  BUCKET_EVENTS = 128,
  EVENT_UPDATED = EVENT_BUCKET + BUCKET_EVENTS, /* of fully sharded replicas: the optimizer has updated its share */
  EVENT_SPLIT,                                  /* what was gathered is split */
  EVENT_CHUNKS,                                 /* gradients are in order */
  EVENT_REDUCED,                                /* they are summed */
  EVENT_SUMMED,                                 /* and added to those before */
  EVENT_EXPERTS,                                /* the five kinds above of the two streams about experts */
  EVENTS = EVENT_EXPERTS + 10
};
/* Of a kind above, that of a stream. */
static inline int stream_event(int kind, enum stream stream) {
  return stream <= STREAM_CONTEXT ? kind + (int)stream
                                  : EVENT_EXPERTS + kind / EVENT_STREAMS * 2 + (int)stream - STREAM_EXPERT;
}
_Static_assert((int)EVENTS <= (int)MOST_EVENTS, "a rank has no more events");

/* What a backward pass computes: zero-bubble schedules do the weights' apart. */
enum gradients { GRADIENTS_ALL, GRADIENTS_INPUT, GRADIENTS_WEIGHT };

/* Which op is open in which, and what that means for ops inside: whether they are marked with the autograd number that
 * their thread takes next, as those are that the dispatcher sees before autograd does, and whether Python calls them.
 * Python's frames that end with an op are counted with it: those around it, and those within. */
enum { INSIDE_AUTOGRAD = 1, INSIDE_PYTHON = 2, MOST_NESTED = 64 };
struct nesting {
  int64_t next_number;
  int depth;
  uint8_t inside[MOST_NESTED], around[MOST_NESTED], within[MOST_NESTED];
};

/* One block being written. */
struct block {
  const struct gpt *gpt;
  const struct setup *setup;
  const struct plan *plan;
  struct program *program;
  struct nesting *nesting;
  int rank;
  struct coordinates at;
  struct label label; /* of the work that is launched */
  const struct layer_kernels *kernels;
  int64_t pass_number;       /* autograd number of the forward pass's first node */
  int64_t recomputed_number; /* the same of what the backward pass computes again */
  int64_t number;            /* of the layer's or end's at hand */
  const struct numbers *numbers;
  enum thread forward_thread; /* that made the nodes at hand */
  bool casts;                 /* weights are cast before their first use in a step */
  bool stacks;                /* Python frames are recorded */
  bool captured;              /* what is written will be in a graph */
  enum gradients gradients;
  int step, micro_batch;
  const struct chunk *chunk;
  int place;      /* of the layer at hand in its chunk; -1: the head */
  int first_slot; /* of that layer */
};

/* gpt_ops.c: ops as PyTorch nests them. */
void spend(const struct block *to, int64_t ns);
void python_enter(const struct block *to, const char *name); /* a function of Python that takes its time */
void python_leave(const struct block *to);
/* An event of PyTorch's. */
void event_record(const struct block *to, int event, enum stream stream);
void event_wait(const struct block *to, enum stream stream, int event);
void nest(const struct block *to, int inside); /* until `unnest`, what is written is inside that */
void unnest(const struct block *to);
/* All of these end with op_leave. */
void annotate(const struct block *to, const char *name);
void annotate_message(const struct block *to, const char *name, const struct message *message);
void op_enter(const struct block *to, const char *name, const char *inputs);
void op_enter_with(const struct block *to, const char *name, struct op_facts facts);
void record_enter(const struct block *to, const char *name,
                  const struct message *message); /* no op, but a row like one */
void op_leave(const struct block *to);
void op_view(const struct block *to, const char *name, const char *inputs); /* an op that launches nothing */
void op_run(const struct block *to, const char *name, const char *inputs, const struct work *work);
/* Of a vector of float32. */
void op_run_vector(const struct block *to, const char *name, int64_t elements, const struct work *work);
/* An op that only hands on to another. */
void op_run_inside(const struct block *to, const char *outer, const char *name, const char *inputs,
                   const struct work *work);
void launch(const struct block *to, const struct work *work); /* on the compute stream */
void launch_on(const struct block *to, enum stream stream, const struct work *work);
static inline const char *shape(const struct block *to, enum shape which) { return to->gpt->shapes[which]; }
/* Between ops. */
enum {
  NS_LINE = 2600,  /* of Python */
  NS_CALL = 5000,  /* of a module */
  NS_PYTHON = 2000 /* of a function */
};
void node_forward(const struct block *to, const struct node_names *names, const char *inputs);
void node_backward(const struct block *to, const struct node_names *names, int node, const char *inputs);
void node_leave_backward(const struct block *to);
void scalar_read(const struct block *to); /* by the host, which waits for the compute stream */
void multiply(const struct block *to, const struct product_work *product, const char *const *shapes, bool of_matrices);

#define ENGINE_CALL "torch/autograd/graph.py(814): _engine_run_backward"
#define ENGINE "<built-in method run_backward of torch._C._EngineBase object at 0x7f4f85497ec0>"

/* gpt_python.c: frames of Python, nested as all others are, but seen only where stacks are recorded. */
void frame_enter(const struct block *to, const char *name);
void frame_leave(const struct block *to);
void frame_touch(const struct block *to, const char *name);               /* enters and leaves at once */
void module_enter(const struct block *to, enum module module, int which); /* the which-th of its class in the layer */
void module_leave(const struct block *to);
/* The frames through which Python calls an op, and a function of autograd; their number. */
int callers_enter(const struct block *to, const char *op);
int function_enter(const struct block *to);

/* gpt_messages.c: communication. Nothing happens where the rank is alone in the group. */
bool has_group(const struct block *to, enum role role);
struct message message_of(const struct block *to, enum role role, enum collective collective, int64_t elements,
                          bool float32);
void collective_start(const struct block *to, enum stream stream, struct message message, int done_event);
/* Its input is not from the compute stream, but from another. */
void collective_start_from(const struct block *to, enum stream input, enum stream stream, struct message message,
                           int done_event);
void collective_wait(const struct block *to, enum role role, int done_event);
void collective_run(const struct block *to, enum stream stream, struct message message); /* start and wait */
/* Of an activation over the tensor group. */
void tensor_start(const struct block *to, enum collective collective);
void tensor_wait(const struct block *to);
void tensor_run(const struct block *to, enum collective collective);
/* Of keys, values, or their gradients, over the context group. */
void context_run(const struct block *to, enum collective collective);
/* Of tokens, over the ranks that share experts; and of how many there are for each expert. */
void expert_exchange(const struct block *to);
void expert_counts(const struct block *to);
void exchanges_start(const struct block *to, int after);
void exchanges_wait(const struct block *to, int before);

extern const struct node_names gpt_layer_nodes[LAYER_NODES];

/* gpt_layer.c: layers by their place in the chunk, and what the ends have in common with them. */
struct linear_use {
  enum linear linear;
  int node;
  bool column;             /* column-parallel: spreads its output over the group; else row-parallel */
  const struct work *cast; /* of the weight */
  const struct work *add;  /* backward: the sum of what comes to its input from elsewhere, too; NULL: nothing does */
};
void layer_forward(struct block *to, int place);
void layer_backward(struct block *to, int place);
void linear_forward(const struct block *to, const struct linear_use *use, const struct product_work *products);
void linear_backward(const struct block *to, const struct linear_use *use, const struct product_work *products);
void linear_weight(const struct block *to, const struct linear_use *use, const struct product_work *products);
void norm_forward(const struct block *to, const struct node_names *names, int which, const struct work *work);
void norm_backward(const struct block *to, const struct node_names *names, int node, const struct work *input,
                   const struct work *weight, const struct work *add);
void reduce_forward(const struct block *to);
void node_run(const struct block *to, enum layer_node node, enum shape inputs, enum layer_piece piece);
void reduce_backward(const struct block *to, int node);
/* The engine's end of a parameter's gradient; work NULL: the product has added it already. */
void gradient_accumulate(const struct block *to, int slot, const char *gradient, const struct work *work);

/* gpt_experts.c: in place of a layer's feed-forward block. */
static inline bool has_experts(const struct block *to) { return to->setup->model.experts > 0; }
void experts_forward(const struct block *to);
void experts_backward(const struct block *to);
void experts_weight(const struct block *to); /* what the backward pass has put off */

/* gpt_graphs.c: what is written from one of the first two up to `graph_leave` is captured, where setup says so of
 * layers, or of passes. */
struct capture {
  bool is_on;
  size_t first; /* instruction */
};
struct capture graph_forward(struct block *to, enum graphs what);
struct capture graph_backward(struct block *to, enum graphs what);
void graph_leave(struct block *to, const struct capture *capture);

/* gpt_ends.c */
void input_load(struct block *to);
void embedding_forward(struct block *to);
void embedding_backward(struct block *to);
void final_norm_forward(struct block *to);
void head_forward(struct block *to); /* up to the loss of each token */
void loss_forward(const struct block *to);
void head_backward(struct block *to);

/* gpt_tensors.c: what the allocator holds; nothing happens where that is not recorded. */
enum tensor_size {
  TENSOR_HIDDEN,       /* of the rank's rows, where sequences are parallel */
  TENSOR_HIDDEN_WHOLE, /* of all of the group's */
  TENSOR_MASK,         /* of a dropout: a byte a number */
  TENSOR_ROW_NUMBERS,  /* a float32 for each token */
  TENSOR_QKV,          /* queries, keys and values */
  TENSOR_HEADS,        /* one of them, or what attention gives */
  TENSOR_HEADS_FLOAT,
  TENSOR_HEAD_NUMBERS, /* a float32 for each token and head */
  TENSOR_FFN,
  TENSOR_LOGITS,
  TENSOR_LOGITS_FLOAT,
  TENSOR_SIZES
};
void hold(const struct block *to, enum tensor_size tensor);
void release(const struct block *to, enum tensor_size tensor);
void hold_bytes(const struct block *to, int64_t bytes);
void release_bytes(const struct block *to, int64_t bytes);
/* What autograd would keep, where it does not, since a checkpoint computes it again. */
void release_unkept(const struct block *to, enum tensor_size tensor);
void hold_output(const struct block *to, enum linear linear);
void hold_input_gradient(const struct block *to, enum linear linear); /* of all rows */
void hold_weight(const struct block *to, enum linear linear);         /* as large as it, in the working precision */
void release_weight(const struct block *to, enum linear linear);
void release_linear(const struct block *to, enum linear linear); /* the output's gradient, and the kept input */
void hold_libraries(const struct block *to);

/* gpt_held.c: what is held for each parameter. Nothing happens where replicas are fully sharded. */
void held_begin(const struct block *to);                        /* of a step */
void held_gradient(const struct block *to, enum linear linear); /* it is in the buffer */
void held_copies(const struct block *to);                       /* behind all passes */
void held_update(const struct block *to);                       /* by the optimizer */
void held_exchange(const struct block *to, const struct exchange *exchange, bool done);

/* gpt_fsdp.c: nothing happens where replicas are not fully sharded. */
void fsdp_forward(const struct block *to); /* before the model's forward pass, and before a layer's */
void fsdp_layer_forward(const struct block *to, int place);
void fsdp_layer_leave(const struct block *to, int place); /* behind its forward pass */
void fsdp_leave(const struct block *to);                  /* behind the model's */
void fsdp_backward(const struct block *to);               /* the same of backward passes */
void fsdp_layer_backward(const struct block *to, int place);
void fsdp_layer_reduce(const struct block *to, int place); /* behind them */
void fsdp_reduce(const struct block *to);
void fsdp_begin(const struct block *from); /* of a step: what the allocator holds of shares */
void fsdp_update(const struct block *from);

/* gpt_optimizer.c */
/* A parameter's gradient is there: if it is the last micro-batch's, and completes a bucket, that is reduced. */
void gradient_ready(const struct block *to, int slot);
void gradients_clear(const struct block *to);
void gradients_finish(const struct block *to); /* all that is reduced after the backward passes */
void optimizer_step(const struct block *to);
int64_t owned_parameters(const struct block *to); /* that the rank updates: all, or its share */

#endif
