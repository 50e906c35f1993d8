#include "rebuild/attention.h"

#include "cost/kernel_cost.h"
#include "cost/operation.h"
#include "rebuild/again.h"
#include "rebuild/weights.h"
#include <stdlib.h>
#include <string.h>

enum launch { WORK = 1, COPY = 2, PRODUCT = 4, ATTENTION = 8 }; /* added up */

struct search {
  const struct lumos_job *job;
  uint8_t *again;    /* by task: rebuild_find_again */
  uint8_t *launches; /* by task of a thread: enum launch */
  uint8_t *holds;    /* by span: what is launched within */
  uint8_t *found;    /* by task of a thread */
};

/* A pass of a thread through a layer, and core attention in it. */
struct pass {
  const struct lumos_lane *lane;
  const struct lumos_task *like; /* NULL: none yet */
  uint32_t first, last;          /* launches; LUMOS_NONE: none yet */
  bool open;                     /* no product came behind it */
};

/* ---- what is launched ---- */

/* A conversion of a product's inputs belongs to that. */
static bool copies(const struct lumos_job *job, uint32_t span) {
  const char *name = span == LUMOS_NONE ? "" : lumos_string(job->strings, job->spans.items[span].name);
  bool plain = strcmp(name, "aten::copy_") == 0;
  for (; plain && span != LUMOS_NONE; span = job->spans.items[span].parent) {
    plain = strcmp(lumos_string(job->strings, job->spans.items[span].name), "aten::_to_copy") != 0;
  }
  return plain;
}

static uint8_t launch_of(const struct lumos_job *job, uint32_t t) {
  const struct lumos_task *task = &job->tasks.items[t];
  if (lumos_is_product(task->kind) && !lumos_is_helper_kernel(lumos_string(job->strings, task->name))) {
    return rebuild_is_product(job, t) ? PRODUCT : ATTENTION;
  }
  return copies(job, job->tasks.items[task->call].span) ? COPY : WORK;
}

static void find_launches(struct search *search) {
  const struct lumos_job *job = search->job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    uint32_t call = job->tasks.items[t].call;
    uint8_t launch = call == LUMOS_NONE ? 0 : launch_of(job, t);
    if (launch != 0) {
      search->launches[call] |= launch;
      for (uint32_t s = job->tasks.items[call].span; s != LUMOS_NONE; s = job->spans.items[s].parent) {
        search->holds[s] |= launch;
      }
    }
  }
}

/* ---- where it begins and ends ---- */

/* The outermost span around a task in which nothing but that is launched; LUMOS_NONE: there is none. */
static uint32_t span_with_only(const struct search *search, uint32_t t, unsigned what) {
  uint32_t found = LUMOS_NONE;
  for (uint32_t s = search->job->tasks.items[t].span; s != LUMOS_NONE && (search->holds[s] & ~what) == 0;
       s = search->job->spans.items[s].parent) {
    found = s;
  }
  return found;
}

static bool is_within(const struct search *search, uint32_t t, uint32_t span) {
  uint32_t s = search->job->tasks.items[t].span;
  while (s != LUMOS_NONE && s != span) {
    s = search->job->spans.items[s].parent;
  }
  return s != LUMOS_NONE;
}

static uint32_t first_within(const struct search *search, const struct pass *pass, uint32_t t, unsigned what) {
  uint32_t span = span_with_only(search, t, what);
  while (span != LUMOS_NONE && t > pass->lane->task_first && is_within(search, t - 1, span)) {
    t--;
  }
  return t;
}

static uint32_t last_within(const struct search *search, const struct pass *pass, uint32_t t, unsigned what) {
  uint32_t span = span_with_only(search, t, what), end = pass->lane->task_first + pass->lane->task_count;
  while (span != LUMOS_NONE && t + 1 < end && is_within(search, t + 1, span)) {
    t++;
  }
  return t;
}

static bool is_of_pass(const struct pass *pass, const struct lumos_task *task) {
  const struct lumos_task *like = pass->like;
  return like != NULL && like->step == task->step && like->phase == task->phase &&
         like->micro_batch == task->micro_batch && like->layer == task->layer;
}

/* The copy that is launched next before a task, or behind it, of the same pass; LUMOS_NONE: something else is. */
static uint32_t next_copy(const struct search *search, const struct pass *pass, uint32_t t, bool behind) {
  uint32_t first = pass->lane->task_first, end = first + pass->lane->task_count;
  do {
    if (t == (behind ? end - 1 : first)) {
      return LUMOS_NONE;
    }
    t = behind ? t + 1 : t - 1;
    if (!is_of_pass(pass, &search->job->tasks.items[t])) {
      return LUMOS_NONE;
    }
  } while (search->launches[t] == 0);
  return search->launches[t] == COPY ? t : LUMOS_NONE;
}

static void mark(const struct search *search, const struct pass *pass) {
  enum { ALL_BUT_PRODUCTS = WORK | COPY | ATTENTION };
  if (pass->like == NULL || pass->first == LUMOS_NONE) {
    return;
  }
  uint32_t first = first_within(search, pass, pass->first, ALL_BUT_PRODUCTS);
  uint32_t last = last_within(search, pass, pass->last, ALL_BUT_PRODUCTS), copy;
  bool forward = pass->like->phase == LUMOS_FORWARD;
  while (forward && (copy = next_copy(search, pass, first, false)) != LUMOS_NONE) {
    first = first_within(search, pass, copy, COPY);
  }
  while (forward && (copy = next_copy(search, pass, last, true)) != LUMOS_NONE) {
    last = last_within(search, pass, copy, COPY);
  }
  memset(search->found + first, 1, last + 1 - first);
}

/* ---- all together ---- */

/* Batches that experts multiply come behind attention, and on the way back before it. */
static void attend(struct pass *pass, uint32_t t) {
  bool first = pass->first == LUMOS_NONE || (!pass->open && pass->like->phase == LUMOS_BACKWARD);
  if (first || pass->open) {
    pass->first = first ? t : pass->first;
    pass->last = t;
    pass->open = true;
  }
}

static void search_thread(const struct search *search, const struct lumos_lane *lane) {
  struct pass pass = {.lane = lane};
  for (uint32_t t = lane->task_first; t < lane->task_first + lane->task_count; t++) {
    const struct lumos_task *task = &search->job->tasks.items[t];
    bool passes = task->phase == LUMOS_FORWARD || task->phase == LUMOS_BACKWARD;
    bool says = passes && task->part == LUMOS_PART_LAYER && (search->launches[t] & (PRODUCT | ATTENTION)) != 0;
    if (!says || search->again[t]) {
      continue;
    }
    if (!is_of_pass(&pass, task)) {
      mark(search, &pass);
      pass = (struct pass){lane, task, LUMOS_NONE, LUMOS_NONE, false};
    }
    if ((search->launches[t] & PRODUCT) != 0) {
      pass.open = false;
    } else {
      attend(&pass, t);
    }
  }
  mark(search, &pass);
}

uint8_t *rebuild_find_attention(const struct lumos_job *job) {
  struct search search = {.job = job,
                          .again = rebuild_find_again(job),
                          .launches = lumos_allocate_zeroed(job->tasks.count + 1, 1),
                          .holds = lumos_allocate_zeroed(job->spans.count + 1, 1),
                          .found = lumos_allocate_zeroed(job->tasks.count + 1, 1)};
  find_launches(&search);
  for (size_t l = 0; l < job->lanes.count; l++) {
    if (job->lanes.items[l].kind == LUMOS_THREAD) {
      search_thread(&search, &job->lanes.items[l]);
    }
  }
  free(search.again);
  free(search.launches);
  free(search.holds);
  return search.found;
}
