#include "rebuild/weights.h"

#include "cost/operation.h"
#include <stdlib.h>
#include <string.h>

struct scan {
  const struct lumos_job *job;
  enum rebuild_weights how;
  uint8_t *launches; /* by task on a thread: enum launch */
  uint8_t *weights, *cuts;
};
enum launch { NOTHING, WORK, PRODUCT };

/* What runs in a row on a thread for one node of autograd. */
struct node {
  uint32_t span; /* LUMOS_NONE: none */
  uint32_t first, end;
  uint32_t products, last_product; /* how many it launches, and the last launch */
};

static bool has_prefix(const struct lumos_job *job, uint32_t span, const char *prefix) {
  const char *name = lumos_string(job->strings, job->spans.items[span].name);
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* The gradients of both factors of a batch of products are those of inputs. */
bool rebuild_is_product(const struct lumos_job *job, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t];
  if (task->kind != LUMOS_GEMM || lumos_is_helper_kernel(lumos_string(job->strings, task->name))) {
    return false;
  }
  uint32_t span = task->call == LUMOS_NONE ? LUMOS_NONE : job->tasks.items[task->call].span;
  for (; span != LUMOS_NONE; span = job->spans.items[span].parent) {
    if (has_prefix(job, span, "aten::bmm") || has_prefix(job, span, "aten::baddbmm")) {
      return false;
    }
  }
  return true;
}

static void find_launches(struct scan *scan) {
  const struct lumos_job *job = scan->job;
  scan->launches = lumos_allocate_zeroed(job->tasks.count, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    if (call != LUMOS_NONE && scan->launches[call] != PRODUCT) {
      scan->launches[call] = rebuild_is_product(job, t) ? PRODUCT : WORK;
    }
  }
}

static bool works_back(const struct lumos_task *task) {
  return task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
}

uint32_t rebuild_node_around(const struct lumos_job *job, uint32_t t) {
  uint32_t span = job->tasks.items[t].span;
  while (span != LUMOS_NONE && !has_prefix(job, span, "autograd::engine::evaluate_function: ")) {
    span = job->spans.items[span].parent;
  }
  return span;
}

static struct node node_at(const struct scan *scan, uint32_t first, uint32_t end) {
  struct node node = {rebuild_node_around(scan->job, first), first, first, 0, first};
  while (node.end < end && rebuild_node_around(scan->job, node.end) == node.span) {
    node.products += scan->launches[node.end] == PRODUCT;
    node.last_product = scan->launches[node.end] == PRODUCT ? node.end : node.last_product;
    node.end++;
  }
  return node;
}

/* The op that the node's own op calls, around a task; LUMOS_NONE: there is none. */
static uint32_t op_within(const struct lumos_job *job, const struct node *node, uint32_t t) {
  uint32_t op = LUMOS_NONE, below = LUMOS_NONE;
  for (uint32_t span = job->tasks.items[t].span; span != node->span && span != LUMOS_NONE;
       span = job->spans.items[span].parent) {
    op = below == LUMOS_NONE ? span : below;
    below = span;
  }
  return op;
}

/* Behind what the node does for one launch. */
static uint32_t end_of_op(const struct scan *scan, const struct node *node, uint32_t launch) {
  uint32_t op = op_within(scan->job, node, launch), t = launch + 1;
  while (t < node->end && op != LUMOS_NONE && op_within(scan->job, node, t) == op) {
    t++;
  }
  return t;
}

/* The second of two products, with what comes between it and what was launched before. */
static void mark_product(const struct scan *scan, const struct node *node) {
  uint32_t from = node->last_product;
  while (from > node->first && scan->launches[from - 1] == NOTHING) {
    from--;
  }
  from = end_of_op(scan, node, from - 1);
  uint32_t end = end_of_op(scan, node, node->last_product);
  for (uint32_t t = from < node->last_product ? from : node->last_product; t < end; t++) {
    scan->weights[t] = 1;
  }
}

static bool accumulates(const struct lumos_job *job, const struct node *node) {
  return node->span != LUMOS_NONE &&
         strstr(lumos_string(job->strings, job->spans.items[node->span].name), "AccumulateGrad") != NULL;
}

static void scan_thread(const struct scan *scan, const struct lumos_lane *lane) {
  uint32_t end = lane->task_first + lane->task_count;
  bool after = false; /* the node before had the product of a weight */
  struct node node;
  for (uint32_t t = lane->task_first; t < end; t = node.end) {
    node = node_at(scan, t, end);
    bool back = works_back(&scan->job->tasks.items[node.last_product]) && node.span != LUMOS_NONE;
    if (back && after && accumulates(scan->job, &node)) {
      memset(scan->weights + node.first, scan->how == REBUILD_WEIGHTS_PART, node.end - node.first);
      continue;
    }
    if (after && scan->how == REBUILD_WEIGHTS_JOIN) {
      scan->cuts[node.first] = 1;
    }
    after = back && node.products == (scan->how == REBUILD_WEIGHTS_PART ? 2 : 1);
    if (after && scan->how == REBUILD_WEIGHTS_PART) {
      mark_product(scan, &node);
    }
  }
}

uint8_t *rebuild_find_weights(const struct lumos_job *job, enum rebuild_weights how, uint8_t *cuts) {
  struct scan scan = {job, how, NULL, lumos_allocate_zeroed(job->tasks.count, 1), cuts};
  find_launches(&scan);
  for (size_t l = 0; l < job->lanes.count && how != REBUILD_WEIGHTS_STAY; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      scan_thread(&scan, &job->lanes.items[l]);
    }
  }
  free(scan.launches);
  return scan.weights;
}
