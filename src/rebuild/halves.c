#include "rebuild/halves.h"

#include "cost/operation.h"
#include "program/shapes.h"
#include "rebuild/again.h"
#include "rebuild/weights.h"
#include "transform/experts.h"
#include <stdlib.h>
#include <string.h>

/* What a thread launches that says something, in order. */
enum what { PRODUCT = 1, ATTENTION, LOOK_UP, INPUT };

struct event {
  uint32_t launch, kernel; /* tasks */
  uint32_t node;           /* span in the recording: the node of autograd around the launch; LUMOS_NONE */
  uint8_t what;
  bool forward;
  bool weight; /* a product of the backward pass: for the gradient of a weight */
  bool paired; /* its node, of a linear layer, has two products */
  bool whole;  /* its node is the backward pass of a compiled function that attends: of several layers, it may be */
};
LUMOS_VECTOR_TYPE(events, struct event);

struct node {
  uint32_t products;
  bool attends;
};

struct search {
  struct rebuild_ends *ends;
  const struct lumos_job *job, *from;
  const uint32_t *likes;
  uint32_t *kernels;  /* by task on a thread: what it launches that says something; LUMOS_NONE */
  uint8_t *whats;     /* ... enum what */
  uint8_t *again;     /* by task of the recording: the backward pass computes it again */
  struct node *nodes; /* by span of the recording: of its backward pass */
  struct events events;
  int64_t tokens;  /* of a micro-batch; 0: not known */
  size_t products; /* of a layer's forward pass, of the last that was looked at */
  size_t before;   /* of them, those before attention */
  bool experts;    /* they are the feed-forward blocks, of which each rank has whole ones */
};

/* ---- events ---- */

static uint8_t what_is(const struct search *search, uint32_t t) {
  const struct lumos_task *task = &search->job->tasks.items[t];
  uint32_t like = search->likes[t];
  if (like == LUMOS_NONE || lumos_is_communication(task->kind)) {
    return 0;
  }
  const char *name = lumos_string(search->from->strings, search->from->tasks.items[like].name);
  if (lumos_is_copy(task->kind)) {
    return strncmp(name, "Memcpy HtoD", strlen("Memcpy HtoD")) == 0 ? INPUT : 0;
  }
  bool product = task->kind == LUMOS_GEMM && !lumos_is_helper_kernel(name);
  if (task->part == LUMOS_PART_EMBEDDING && !(product && task->phase == LUMOS_BACKWARD)) {
    return LOOK_UP; /* a compiled backward pass may end with the first layer's products */
  }
  return product ? rebuild_is_product(search->from, like) ? PRODUCT : ATTENTION
                 : (task->kind == LUMOS_ATTENTION) * ATTENTION;
}

static void find_kernels(struct search *search) {
  const struct lumos_job *job = search->job;
  search->kernels = lumos_allocate(job->tasks.count * sizeof *search->kernels);
  search->whats = lumos_allocate_zeroed(job->tasks.count, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    search->kernels[t] = LUMOS_NONE;
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    uint8_t what = call == LUMOS_NONE ? 0 : what_is(search, t);
    if (what != 0 && search->kernels[call] == LUMOS_NONE) {
      search->kernels[call] = t;
      search->whats[call] = what;
    }
  }
}

static uint32_t span_of(const struct search *search, uint32_t t) {
  return search->likes[t] == LUMOS_NONE ? LUMOS_NONE : search->from->tasks.items[search->likes[t]].span;
}

/* Of passes through parts of the model, and what is loaded for them. */
static bool counts(const struct lumos_task *task, uint8_t what) {
  return what == INPUT ? task->phase == LUMOS_FORWARD && task->micro_batch != LUMOS_ABSENT_INT
                       : task->part != 0 && (task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD);
}

static bool goes_forward(const struct search *search, uint32_t like) {
  return search->from->tasks.items[like].phase == LUMOS_FORWARD || search->again[like] != 0;
}

static bool is_again(const struct search *search, const struct event *event) {
  return event->forward && search->job->tasks.items[event->launch].phase == LUMOS_BACKWARD;
}

static void list_events(struct search *search, const struct lumos_lane *lane) {
  search->events.count = 0;
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &search->job->tasks.items[t];
    uint8_t what = search->whats[t];
    if (what != 0 && search->likes[t] != LUMOS_NONE && counts(task, what)) {
      uint32_t node = rebuild_node_around(search->from, search->likes[t]);
      struct event event = {.launch = t,
                            .kernel = search->kernels[t],
                            .node = node,
                            .what = what,
                            .forward = goes_forward(search, search->likes[t])};
      lumos_vector_push(&search->events, event);
    }
  }
}

/* Attention alone that is computed again lies in the midst of a pass back, whose ends are the same without. */
static void leave_out_attention(struct search *search) {
  struct event *events = search->events.items;
  size_t kept = 0;
  for (size_t first = 0, end; first < search->events.count; first = end) {
    bool multiplies = false, again = is_again(search, &events[first]);
    for (end = first; end < search->events.count && is_again(search, &events[end]) == again; end++) {
      multiplies = multiplies || events[end].what != ATTENTION;
    }
    for (size_t i = first; i < end && (multiplies || !again); i++) {
      events[kept++] = events[i];
    }
  }
  search->events.count = kept;
}

/* Does the product sum over tokens? Where features are as many as tokens that does not show. */
static bool sums_tokens(const struct search *search, const struct event *event, bool otherwise) {
  struct program_dimensions inputs[SHAPE_INPUTS];
  uint32_t span = span_of(search, event->launch);
  const struct lumos_span *op = span == LUMOS_NONE ? NULL : &search->from->spans.items[span];
  const struct lumos_operation_rule *rule = op == NULL || op->shapes == LUMOS_NO_STRING
                                                ? NULL
                                                : lumos_operation_rule(lumos_string(search->from->strings, op->name));
  if (rule == NULL || rule->form != LUMOS_PRODUCT) {
    return otherwise;
  }
  program_shape_read(lumos_string(search->from->strings, op->shapes), inputs);
  const struct program_dimensions *a = &inputs[rule->first], *b = &inputs[rule->second];
  bool inner = a->count == 2 && b->count == 2 && a->of[1] == search->tokens;
  bool outer = a->count == 2 && b->count == 2 && a->of[0] == search->tokens;
  return inner != outer ? inner : otherwise;
}

/* What nodes of the recording hold: a built pass may take its layers from several. */
static void count_nodes(struct search *search) {
  const struct lumos_job *from = search->from;
  search->nodes = lumos_allocate_zeroed(from->spans.count + 1, sizeof *search->nodes);
  for (uint32_t t = 0; t < from->tasks.count; t++) {
    const struct lumos_task *task = &from->tasks.items[t];
    bool counted = lumos_on_stream(from, task) && task->call != LUMOS_NONE && !goes_forward(search, task->call);
    uint32_t node = counted ? rebuild_node_around(from, task->call) : LUMOS_NONE;
    if (node != LUMOS_NONE) {
      search->nodes[node].attends |= task->kind == LUMOS_ATTENTION;
      search->nodes[node].products +=
          task->kind == LUMOS_GEMM && !lumos_is_helper_kernel(lumos_string(from->strings, task->name));
    }
  }
}

/* The node of a linear layer multiplies twice, first for its input; in one that holds more, as compilers make, inputs
 * and weights take turns where sizes do not show which it is. */
static void find_weights(struct search *search) {
  struct event *events = search->events.items;
  uint32_t last_node = LUMOS_NONE;
  bool last = true; /* for a weight */
  for (size_t i = 0; i < search->events.count; i++) {
    struct event *event = &events[i];
    const struct node none = {0}, *node = event->node == LUMOS_NONE ? &none : &search->nodes[event->node];
    event->paired = node->products == 2;
    event->whole = node->attends && node->products > 2 && !event->forward;
    if (event->what == PRODUCT && !event->forward) {
      bool turn = (event->node == last_node || event->whole) && !last;
      event->weight = node->products > 2 || event->node == LUMOS_NONE ? sums_tokens(search, event, turn) : turn;
      last = event->weight;
      last_node = event->node;
    }
  }
}

static bool same_run(const struct search *search, size_t a, size_t b) {
  const struct event *events = search->events.items;
  const struct lumos_task *one = &search->job->tasks.items[events[a].launch];
  const struct lumos_task *other = &search->job->tasks.items[events[b].launch];
  if (events[a].whole || events[b].whole) {
    return events[a].whole && events[b].whole && one->step == other->step && one->micro_batch == other->micro_batch;
  }
  return (events[a].what == INPUT) == (events[b].what == INPUT) && events[a].forward == events[b].forward &&
         one->step == other->step && one->part == other->part && one->micro_batch == other->micro_batch &&
         one->layer == other->layer;
}

/* ---- where an op ends ---- */

static bool is_around(const struct search *search, uint32_t span, uint32_t t) {
  uint32_t at = span_of(search, t);
  while (at != LUMOS_NONE && at != span) {
    at = search->from->spans.items[at].parent;
  }
  return at != LUMOS_NONE;
}

/* The outermost op around an event that is about no other one. */
static uint32_t op_of(const struct search *search, size_t i) {
  const struct event *events = search->events.items;
  uint32_t found = LUMOS_NONE;
  for (uint32_t span = span_of(search, events[i].launch); span != LUMOS_NONE;
       span = search->from->spans.items[span].parent) {
    bool shared = (i > 0 && is_around(search, span, events[i - 1].launch)) ||
                  (i + 1 < search->events.count && is_around(search, span, events[i + 1].launch));
    if (shared) {
      break;
    }
    found = search->from->spans.items[span].kind == LUMOS_SPAN_OP ? span : found;
  }
  return found;
}

static uint32_t end_of(const struct search *search, size_t i) {
  uint32_t t = search->events.items[i].launch, op = op_of(search, i);
  const struct lumos_lane *lane = &search->job->lanes.items[search->job->tasks.items[t].lane];
  while (op != LUMOS_NONE && t + 1 < lane->task_first + lane->task_count && is_around(search, op, t + 1)) {
    t++;
  }
  return t;
}

static void add_end(struct search *search, enum rebuild_end_of of, size_t i, size_t beside) {
  const struct event *event = &search->events.items[i];
  struct rebuild_end end = {.of = (uint8_t)of,
                            .forward = event->forward,
                            .after = end_of(search, i),
                            .kernel = event->kernel,
                            .place = 2 * (uint64_t)event->kernel};
  if (of == REBUILD_INPUT && i + 1 < search->events.count) {
    end.place = 2 * (uint64_t)event[1].kernel - 1; /* before what is done with it */
  }
  end.beside = beside == i ? end.after : end_of(search, beside);
  lumos_vector_push(&search->ends->items, end);
}

/* The task before the op; LUMOS_NONE: the thread begins with it. */
static uint32_t before_op(const struct search *search, size_t i) {
  uint32_t t = search->events.items[i].launch, op = op_of(search, i);
  const struct lumos_lane *lane = &search->job->lanes.items[search->job->tasks.items[t].lane];
  while (op != LUMOS_NONE && t > lane->task_first && is_around(search, op, t - 1)) {
    t--;
  }
  return t > lane->task_first ? t - 1 : LUMOS_NONE;
}

/* What event `needing` needs is asked for before event i, and has come by then, or, where that is another one, behind
 * event i. */
static void add_begin(struct search *search, size_t i, size_t needing) {
  const struct event *event = &search->events.items[i];
  uint32_t before = before_op(search, i);
  struct rebuild_end begin = {.of = REBUILD_BEGIN,
                              .forward = event->forward,
                              .after = before,
                              .kernel = search->events.items[needing].kernel,
                              .beside = needing == i ? before : end_of(search, i),
                              .place = 2 * (uint64_t)event->kernel - 1};
  if (before == LUMOS_NONE) {
    search->ends->unbegun++;
  } else {
    lumos_vector_push(&search->ends->items, begin);
  }
}

/* ---- passes through a layer, or an end of the model ---- */

enum { NO_EVENT = -1 };

/* The first, or the last, of a kind from `first` to before `end`. */
static int64_t find(const struct search *search, int64_t first, int64_t end, uint8_t what, bool last) {
  int64_t found = NO_EVENT;
  for (int64_t i = first; i < end && (last || found == NO_EVENT); i++) {
    found = search->events.items[i].what == what ? i : found;
  }
  return found;
}

static size_t count_products(const struct search *search, int64_t first, int64_t end) {
  size_t products = 0;
  for (int64_t i = first; i < end; i++) {
    products += search->events.items[i].what == PRODUCT;
  }
  return products;
}

/* What the backward pass computes again may end before the layer does. */
static void look_forward(struct search *search, int64_t first, int64_t end) {
  bool again = search->job->tasks.items[search->events.items[first].launch].phase != LUMOS_FORWARD;
  int64_t attention = find(search, first, end, ATTENTION, true);
  int64_t output = attention == NO_EVENT ? NO_EVENT : find(search, attention, end, PRODUCT, false);
  int64_t last = find(search, first, end, PRODUCT, true);
  size_t products = count_products(search, first, end);
  bool whole = output != NO_EVENT && last > output && find(search, first, attention, PRODUCT, false) != NO_EVENT;
  search->products = again ? search->products : products;
  search->before = again || !whole ? search->before : count_products(search, first, attention);
  search->ends->unknown += !whole && !again;
  int64_t begin = find(search, first, end, PRODUCT, false);
  if (begin != NO_EVENT) {
    add_begin(search, (size_t)begin, (size_t)begin);
  }
  if (output != NO_EVENT && (whole || again)) {
    add_end(search, REBUILD_HALF, (size_t)output, (size_t)output);
    if (search->experts) {
      return;
    }
    begin = find(search, output + 1, end, PRODUCT, false);
    if (begin != NO_EVENT) {
      add_begin(search, (size_t)begin, (size_t)begin);
    }
  }
  if (whole && (!again || products == search->products)) {
    add_end(search, REBUILD_HALF, (size_t)last, (size_t)last);
  }
}

/* The last product for the gradient of an input from `first` to before `end`. */
static int64_t last_of_inputs(const struct search *search, int64_t first, int64_t end) {
  int64_t i = end - 1;
  while (i >= first && (search->events.items[i].what != PRODUCT || search->events.items[i].weight)) {
    i--;
  }
  return i < first ? NO_EVENT : i;
}

/* With the product for the weight of the same linear layer, where that comes next: it needs the layer's input again. */
static void add_input(struct search *search, int64_t i) {
  bool beside = search->events.items[i].paired && (size_t)i + 1 < search->events.count &&
                search->events.items[i + 1].paired && search->events.items[i + 1].weight &&
                same_run(search, (size_t)i, (size_t)i + 1);
  bool head = search->job->tasks.items[search->events.items[i].launch].part == LUMOS_PART_HEAD;
  if (beside || head) { /* the head's node may have been cut by a change before */
    add_begin(search, (size_t)i, (size_t)i + beside);
  }
  search->ends->unbegun += !beside && !head;
  add_end(search, REBUILD_HALF, (size_t)i, (size_t)i + beside);
}

static void look_back(struct search *search, int64_t first, int64_t end) {
  int64_t attention = find(search, first, end, ATTENTION, false);
  int64_t output = attention == NO_EVENT ? NO_EVENT : last_of_inputs(search, first, attention);
  int64_t before = output == NO_EVENT ? NO_EVENT : last_of_inputs(search, first, output);
  int64_t last = attention == NO_EVENT ? NO_EVENT : last_of_inputs(search, attention, end);
  if (before == NO_EVENT || last == NO_EVENT) {
    search->ends->unknown++;
    return;
  }
  int64_t begin = find(search, first, end, PRODUCT, false);
  if (!search->experts) {
    add_begin(search, (size_t)begin, (size_t)begin);
    add_input(search, before);
  }
  for (begin = before + 1; search->events.items[begin].what != PRODUCT || search->events.items[begin].weight;) {
    begin++; /* at `output` at last */
  }
  add_begin(search, (size_t)begin, (size_t)begin);
  add_input(search, last);
}

/* What looks words up goes back where their gradients are added up; before that all of them are needed. */
static void look_back_embedding(struct search *search, int64_t first, int64_t end) {
  int64_t found = first;
  for (int64_t i = end - 1; i >= first; i--) {
    uint32_t span = span_of(search, search->events.items[i].launch);
    const char *op =
        span == LUMOS_NONE ? "" : lumos_string(search->from->strings, search->from->spans.items[span].name);
    found = strstr(op, "embedding") != NULL ? i : found;
  }
  add_begin(search, (size_t)found, (size_t)found);
}

static bool is_of_input(const struct search *search, int64_t i) {
  return search->events.items[i].what == PRODUCT && !search->events.items[i].weight;
}

/* The n-th product for the gradient of an input, counted from 1, from `first` to before `end`. */
static int64_t of_inputs(const struct search *search, int64_t first, int64_t end, size_t n) {
  for (int64_t i = first; i < end; i++) {
    n -= is_of_input(search, i);
    if (n == 0) {
      return i;
    }
  }
  return NO_EVENT;
}

/* A compiled backward pass has no borders but attention, behind which come as many products for inputs as lie before it
 * forward, and before which those of the layer's other products; before the first of all come those of the head. One
 * that holds more, as it computes again what it needs, is not known. */
static void look_back_whole(struct search *search, int64_t first, int64_t end) {
  enum { MOST_OF_HEAD = 1 };
  size_t behind = search->products - search->before;
  for (int64_t from = first, attention, next; from < end; from = next) {
    attention = find(search, from, end, ATTENTION, false);
    if (attention == NO_EVENT) {
      return;
    }
    for (next = attention; next < end && search->events.items[next].what == ATTENTION;) {
      next++;
    }
    int64_t output = last_of_inputs(search, from, attention);
    int64_t before = output == NO_EVENT ? NO_EVENT : last_of_inputs(search, from, output);
    int64_t last = search->before == 0 ? NO_EVENT : of_inputs(search, next, end, search->before);
    size_t count = 0;
    for (int64_t i = from; i < attention; i++) {
      count += is_of_input(search, i);
    }
    int64_t head = from == first && count > behind ? of_inputs(search, from, attention, count - behind) : NO_EVENT;
    bool more = from == first ? count < behind || count > behind + MOST_OF_HEAD : count != behind + search->before;
    if (before == NO_EVENT || last == NO_EVENT || more) {
      search->ends->unknown++;
      return;
    }
    if (head != NO_EVENT) {
      add_input(search, head);
    }
    add_input(search, before);
    add_input(search, last);
  }
}

static void look_at(struct search *search, int64_t first, int64_t end) {
  const struct event *event = &search->events.items[first];
  uint8_t part = search->job->tasks.items[event->launch].part;
  bool embeds = part == LUMOS_PART_EMBEDDING;
  int64_t last = find(search, first, end, embeds ? LOOK_UP : PRODUCT, !embeds); /* words are looked up first */
  if (event->what == INPUT) {
    add_end(search, REBUILD_INPUT, (size_t)end - 1, (size_t)end - 1);
  } else if (event->whole) {
    search->ends->unbegun++;
    look_back_whole(search, first, end);
  } else if (part == LUMOS_PART_LAYER) {
    (event->forward ? look_forward : look_back)(search, first, end);
  } else if (part == LUMOS_PART_HEAD && !event->forward) {
    int64_t input = last_of_inputs(search, first, end);
    if (input != NO_EVENT) {
      add_input(search, input);
    }
  } else if (embeds && !event->forward) {
    look_back_embedding(search, first, end);
  } else if (last != NO_EVENT && event->forward && (embeds || part == LUMOS_PART_HEAD)) {
    if (!embeds) {
      add_begin(search, (size_t)last, (size_t)last);
    }
    add_end(search, embeds ? REBUILD_EMBEDDING : REBUILD_LOGITS, (size_t)last, (size_t)last);
  }
}

static int by_place(const void *left, const void *right) {
  const struct rebuild_end *a = left, *b = right;
  return LUMOS_ORDER(a->place, b->place);
}

void rebuild_ends_find(struct rebuild_ends *ends, const struct lumos_job *built, const struct lumos_job *from,
                       const uint32_t *likes) {
  struct search search = {.ends = ends, .job = built, .from = from, .likes = likes};
  const struct lumos_model_description *model = from->models.count > 0 ? &from->models.items[0] : NULL;
  bool sized = model != NULL && model->sequence > 0 && model->micro_batch > 0;
  search.tokens = sized ? (int64_t)model->sequence * model->micro_batch : 0;
  *ends = (struct rebuild_ends){0};
  search.experts = lumos_experts_are_whole(from);
  search.again = rebuild_find_again(from);
  find_kernels(&search);
  count_nodes(&search);
  for (size_t l = 0; l < built->lanes.count; l++) {
    if (built->lanes.items[l].kind == LUMOS_THREAD) {
      list_events(&search, &built->lanes.items[l]);
      leave_out_attention(&search);
      find_weights(&search);
      for (size_t first = 0, end; first < search.events.count; first = end) {
        for (end = first + 1; end < search.events.count && same_run(&search, first, end);) {
          end++;
        }
        look_at(&search, (int64_t)first, (int64_t)end);
      }
    }
  }
  lumos_vector_sort(&ends->items, by_place);
  lumos_vector_free(&search.events);
  free(search.again);
  free(search.nodes);
  free(search.kernels);
  free(search.whats);
}
