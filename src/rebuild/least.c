#include "rebuild/least.h"

#include "program/sharded.h"
#include "rebuild/strip.h"
#include <lumos/memory.h>
#include <stdlib.h>

/* ---- how long blocks keep a stream busy ---- */

/* The stream of each rank on which most is computed; LUMOS_NONE: none. */
static uint32_t *find_main(const struct lumos_job *job) {
  uint32_t *main = lumos_allocate(job->ranks.count * sizeof *main + 1);
  int64_t *most = lumos_allocate_zeroed(job->ranks.count + 1, sizeof *most);
  for (size_t r = 0; r < job->ranks.count; r++) {
    main[r] = LUMOS_NONE;
  }
  for (uint32_t l = 0; l < job->lanes.count; l++) {
    const struct lumos_lane *lane = &job->lanes.items[l];
    int64_t sum = 0;
    for (uint32_t t = lane->task_first; lane->kind == LUMOS_STREAM && t < lane->task_first + lane->task_count; t++) {
      sum += lumos_is_compute(job->tasks.items[t].kind) ? lumos_own_times(job, t).dur : 0;
    }
    if (sum > most[lane->rank]) {
      most[lane->rank] = sum;
      main[lane->rank] = l;
    }
  }
  free(most);
  return main;
}

/* Some divisions of gradients go where other replicas sum them, or none. */
static bool may_divide(const struct lumos_job *job, const struct lumos_task *task) {
  bool back = task->phase == LUMOS_BACKWARD || task->phase == LUMOS_WEIGHT;
  return back && rebuild_divides(job, task);
}

/* Kernels that every such configuration has. */
static bool stays(const struct lumos_job *job, const struct lumos_task *task, enum rebuild_counts counts) {
  bool product = task->kind == LUMOS_GEMM || task->kind == LUMOS_ATTENTION;
  return product || (counts == REBUILD_COUNTS_KERNELS && lumos_is_compute(task->kind) && !may_divide(job, task));
}

/* By task: those kernels, their calls, and the ops that make these calls. What threads do else may be there for
 * communication that goes, and how long they pause depends on what they wait for. The caller frees it. */
static uint8_t *find_counted(const struct lumos_job *job, enum rebuild_counts counts, const uint8_t *left_out) {
  uint8_t *counted = lumos_allocate_zeroed(job->tasks.count + 1, 1), *of_share = program_find_shares(job);
  uint8_t *ops = lumos_allocate_zeroed(job->spans.count + 1, 1);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    counted[t] |= lumos_on_stream(job, task) && stays(job, task, counts) && !of_share[t] && !left_out[t];
    if (counted[t] && lumos_on_stream(job, task) && task->call != LUMOS_NONE) {
      uint32_t op = job->tasks.items[task->call].span;
      counted[task->call] = 1;
      ops[op == LUMOS_NONE ? job->spans.count : op] = 1;
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    counted[t] |= task->kind == LUMOS_OP && task->span != LUMOS_NONE && ops[task->span];
  }
  free(ops);
  free(of_share);
  return counted;
}

static int64_t host_time(const struct rebuild_blocks *blocks, const struct rebuild_block *block,
                         const uint8_t *counted) {
  int64_t sum = 0;
  for (uint32_t t = block->first; t < block->first + block->count; t++) {
    int64_t dur = lumos_own_times(blocks->job, t).dur;
    sum += counted[t] && dur > 0 ? dur : 0;
  }
  return sum;
}

struct rebuild_busy *rebuild_busy_find(const struct rebuild_blocks *blocks, const struct rebuild_contended *contended,
                                       enum rebuild_counts counts, const uint8_t *left_out) {
  const struct lumos_job *job = blocks->job;
  struct rebuild_busy *busy = lumos_allocate_zeroed(blocks->items.count + 1, sizeof *busy);
  uint8_t *counted = find_counted(job, counts, left_out);
  uint32_t *main = find_main(job);
  for (size_t b = 0; b < blocks->items.count; b++) {
    const struct rebuild_block *block = &blocks->items.items[b];
    busy[b].host = host_time(blocks, block, counted);
    for (uint32_t i = 0; i < block->device_count; i++) {
      uint32_t t = blocks->devices[block->device_first + i];
      if (job->tasks.items[t].lane == main[block->rank] && counted[t]) {
        busy[b].stream += (int64_t)((double)lumos_own_times(job, t).dur * rebuild_contended_speed(contended, job, t));
      }
    }
  }
  free(main);
  free(counted);
  return busy;
}

/* ---- how long a step takes for it ---- */

enum { FORTH, BACK, WAYS };

struct pass {
  uint32_t left; /* items that are not done */
  int64_t end;   /* of those that are */
};

struct front {      /* of a rank in a step */
  size_t next, end; /* items */
  int64_t now;
  struct rebuild_busy busy; /* so far */
};

struct carrying {
  const struct rebuild_plan *plan;
  const struct rebuild_templates *templates;
  const struct rebuild_busy *busy;
  bool waits;          /* passes wait for those that send to them */
  size_t columns;      /* pipelines */
  struct pass *passes; /* by column, chunk in the order of the model, micro-batch and way */
  size_t pass_count;
  struct front *fronts; /* by rank */
};

/* As ranks of the first stage are numbered. */
static size_t column_of(const struct rebuild_plan *plan, const struct rebuild_rank *rank) {
  struct lumos_parallel first = rank->at;
  first.pp = 0;
  return (size_t)rebuild_number_at(&plan->model.sizes, &first);
}

static int32_t chunk_of(const struct rebuild_plan *plan, const struct rebuild_rank *rank,
                        const struct rebuild_item *item) {
  return item->chunk * plan->pipeline.stages + rank->at.pp;
}

static struct pass *pass_at(const struct carrying *carrying, size_t column, int32_t chunk, int32_t micro_batch,
                            int way) {
  const struct rebuild_pipeline *pipeline = &carrying->plan->pipeline;
  size_t all = (size_t)pipeline->stages * (size_t)pipeline->chunks;
  bool none = chunk < 0 || (size_t)chunk >= all || micro_batch < 0 || micro_batch >= pipeline->micro_batches;
  size_t at =
      ((column * all + (size_t)chunk) * (size_t)pipeline->micro_batches + (size_t)micro_batch) * WAYS + (size_t)way;
  return none ? NULL : &carrying->passes[at];
}

/* The pass that an item is of, but for gradients of weights that are put off: nothing waits for these. NULL: none. */
static struct pass *pass_of(const struct carrying *carrying, const struct rebuild_rank *rank,
                            const struct rebuild_item *item) {
  if (item->phase != LUMOS_FORWARD && item->phase != LUMOS_BACKWARD) {
    return NULL;
  }
  return pass_at(carrying, column_of(carrying->plan, rank), chunk_of(carrying->plan, rank, item), item->micro_batch,
                 item->phase == LUMOS_FORWARD ? FORTH : BACK);
}

/* The one that sends to it. */
static const struct pass *pass_before(const struct carrying *carrying, const struct rebuild_rank *rank,
                                      const struct rebuild_item *item) {
  bool forth = item->phase == LUMOS_FORWARD;
  return pass_at(carrying, column_of(carrying->plan, rank), chunk_of(carrying->plan, rank, item) + (forth ? -1 : 1),
                 item->micro_batch, forth ? FORTH : BACK);
}

static int64_t least_share(int32_t one, int32_t other) {
  int64_t share = LUMOS_WHOLE_SHARE;
  share = one > 0 && one < share ? one : share;
  return other > 0 && other < share ? other : share;
}

static struct rebuild_busy time_of(const struct carrying *carrying, const struct rebuild_item *item) {
  if (item->again) { /* of what is put in to be computed again a part goes (again.h) */
    return (struct rebuild_busy){0, 0};
  }
  uint32_t drawn = rebuild_draw(carrying->templates, item->like, item->turns);
  struct rebuild_busy busy = carrying->busy[rebuild_donor(carrying->templates, drawn)];
  /* Which of its kernels go by the one and which by the other does not matter for the least. */
  int64_t share = least_share(item->kernels, item->transfers);
  busy.stream = (int64_t)((__int128)busy.stream * share / LUMOS_WHOLE_SHARE);
  return busy;
}

/* Items until one waits for another rank. False: there were none. */
static bool go_on(const struct carrying *carrying, size_t r) {
  const struct rebuild_rank *rank = &carrying->plan->ranks.items[r];
  struct front *front = &carrying->fronts[r];
  size_t first = front->next;
  for (; front->next < front->end; front->next++) {
    const struct rebuild_item *item = &rank->items.items[front->next];
    struct pass *pass = pass_of(carrying, rank, item);
    /* What only asks for a transfer need not wait for it. */
    bool waits = carrying->waits && pass != NULL && item->exchange == 0;
    const struct pass *before = waits ? pass_before(carrying, rank, item) : NULL;
    if (before != NULL && before->left > 0) {
      break;
    }
    if (before != NULL && before->end > front->now) {
      front->now = before->end;
    }
    struct rebuild_busy took = time_of(carrying, item);
    front->now += took.stream;
    front->busy.stream += took.stream;
    front->busy.host += took.host;
    if (pass != NULL) {
      pass->left--;
      pass->end = front->now;
    }
  }
  return front->next > first;
}

static void open_step(const struct carrying *carrying, int32_t step) {
  for (size_t p = 0; p < carrying->pass_count; p++) {
    carrying->passes[p] = (struct pass){0, 0};
  }
  for (size_t r = 0; r < carrying->plan->ranks.count; r++) {
    const struct rebuild_rank *rank = &carrying->plan->ranks.items[r];
    size_t first = 0, end;
    while (first < rank->items.count && rank->items.items[first].step != step) {
      first++;
    }
    for (end = first; end < rank->items.count && rank->items.items[end].step == step; end++) {
      struct pass *pass = pass_of(carrying, rank, &rank->items.items[end]);
      if (pass != NULL) {
        pass->left++;
      }
    }
    carrying->fronts[r] = (struct front){first, end, 0, {0, 0}};
  }
}

/* LUMOS_ABSENT: ranks wait for each other for ever. */
static int64_t carry_out(const struct carrying *carrying, int32_t step) {
  size_t ranks = carrying->plan->ranks.count;
  int64_t least = 0;
  open_step(carrying, step);
  for (bool going = true; going;) {
    going = false;
    for (size_t r = 0; r < ranks; r++) {
      going |= go_on(carrying, r);
    }
  }
  for (size_t r = 0; r < ranks; r++) {
    const struct front *front = &carrying->fronts[r];
    if (front->next < front->end) {
      return LUMOS_ABSENT;
    }
    /* Other stages wait for it before they begin, so only their work is known to be within their step. */
    int64_t own = carrying->plan->ranks.items[r].at.pp == 0 ? front->now : front->busy.stream;
    own = own > front->busy.host ? own : front->busy.host;
    least = own > least ? own : least;
  }
  return least;
}

/* Ranks of other columns are those of a plan that is not whole. */
static bool is_whole(const struct rebuild_plan *plan, size_t columns) {
  for (size_t r = 0; r < plan->ranks.count; r++) {
    const struct rebuild_rank *rank = &plan->ranks.items[r];
    if (rank->at.tp < 0 || rank->at.pp < 0 || rank->at.dp < 0 || rank->at.tp >= plan->model.sizes.tp ||
        column_of(plan, rank) >= columns) {
      return false;
    }
  }
  return plan->ranks.count > 0 && !plan->recorded;
}

int64_t rebuild_least(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                      const struct rebuild_busy *busy) {
  const struct rebuild_pipeline *pipeline = &plan->pipeline;
  size_t columns = 0;
  for (size_t r = 0; r < plan->ranks.count; r++) {
    size_t column = plan->recorded ? 0 : column_of(plan, &plan->ranks.items[r]);
    columns = column >= columns ? column + 1 : columns;
  }
  if (!is_whole(plan, columns)) {
    return LUMOS_ABSENT;
  }
  /* Transfers that the recording does not couple do not couple what is built. */
  bool waits = !lumos_job_has_note(templates->blocks->job, "graph.uncoupled_collectives");
  struct carrying carrying = {plan, templates, busy, waits, columns, .pass_count = columns * WAYS};
  carrying.pass_count *= (size_t)pipeline->stages * (size_t)pipeline->chunks * (size_t)pipeline->micro_batches;
  carrying.passes = lumos_allocate_zeroed(carrying.pass_count + 1, sizeof *carrying.passes);
  carrying.fronts = lumos_allocate_zeroed(plan->ranks.count, sizeof *carrying.fronts);
  struct rebuild_steps recorded;
  rebuild_steps_list(&recorded, templates->blocks);
  int64_t sum = 0;
  size_t steps = rebuild_steps_built(&recorded);
  for (size_t i = 1; i < steps && sum != LUMOS_ABSENT; i++) {
    int64_t least = carry_out(&carrying, rebuild_step_at(&recorded, i));
    sum = least == LUMOS_ABSENT ? LUMOS_ABSENT : sum + least;
  }
  lumos_vector_free(&recorded);
  free(carrying.passes);
  free(carrying.fronts);
  return sum == LUMOS_ABSENT || steps < 2 ? LUMOS_ABSENT : sum / (int64_t)(steps - 1);
}
