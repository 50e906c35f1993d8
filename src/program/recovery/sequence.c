/* What a rank's program launched, in order, each with a symbol that is the same wherever the same work is done.
 *
 * A symbol stands for the operators around the call, from the outermost on, and the kernel. Of matrix products and
 * attention the kernel's name is left out: libraries choose another one for the same work. A kernel that only adds up
 * the parts of a split product is no element of its own. Communication is told apart by its stream and operation
 * alone: NCCL's algorithm is in its kernels' names.
 */
#include "program/recovery/recovery.h"

#include "base/hash.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  uint64_t hash; /* 0: free */
  uint32_t symbol;
};

struct lumos_symbols {
  const struct lumos_job *job;
  struct entry *entries;
  size_t capacity, count;
  uint8_t *says;      /* by string, as a span's name: what it says + 1; 0: not looked at */
  uint8_t *convolves; /* by string, as an operator's name: does it? + 1; 0: not looked at */
  uint8_t *parts;     /* by string, as a kernel's name: does it add up parts? + 1; 0: not looked at */
};

struct lumos_symbols *lumos_symbols_new(const struct lumos_job *job) {
  struct lumos_symbols *symbols = lumos_allocate(sizeof *symbols);
  size_t strings = (size_t)lumos_strings_count(job->strings) + 1;
  *symbols = (struct lumos_symbols){
      .job = job,
      .capacity = 1024,
      .entries = lumos_allocate_zeroed(1024, sizeof(struct entry)),
      .says = lumos_allocate_zeroed(strings, 1),
      .convolves = lumos_allocate_zeroed(strings, 1),
      .parts = lumos_allocate_zeroed(strings, 1),
  };
  return symbols;
}

void lumos_symbols_free(struct lumos_symbols *symbols) {
  free(symbols->entries);
  free(symbols->says);
  free(symbols->convolves);
  free(symbols->parts);
  free(symbols);
}

static struct entry *find(struct entry *entries, size_t capacity, uint64_t hash) {
  size_t place = hash & (capacity - 1);
  while (entries[place].hash != 0 && entries[place].hash != hash) {
    place = (place + 1) & (capacity - 1);
  }
  return &entries[place];
}

static void grow(struct lumos_symbols *symbols) {
  size_t capacity = symbols->capacity * 2;
  struct entry *entries = lumos_allocate_zeroed(capacity, sizeof *entries);
  for (size_t i = 0; i < symbols->capacity; i++) {
    if (symbols->entries[i].hash != 0) {
      *find(entries, capacity, symbols->entries[i].hash) = symbols->entries[i];
    }
  }
  free(symbols->entries);
  symbols->entries = entries;
  symbols->capacity = capacity;
}

/* From 1 on. */
static uint32_t symbol_of(struct lumos_symbols *symbols, uint64_t hash) {
  hash += hash == 0;
  struct entry *entry = find(symbols->entries, symbols->capacity, hash);
  if (entry->hash == 0) {
    *entry = (struct entry){.hash = hash, .symbol = (uint32_t)++symbols->count};
    if (symbols->count * 2 > symbols->capacity) {
      grow(symbols);
      return (uint32_t)symbols->count;
    }
  }
  return entry->symbol;
}

/* ---- what names say ---- */

static bool holds(const char *name, const char *word) {
  for (size_t length = strlen(word); *name != '\0'; name++) {
    size_t i = 0;
    while (i < length && tolower((unsigned char)name[i]) == word[i]) {
      i++;
    }
    if (i == length) {
      return true;
    }
  }
  return false;
}

/* An operator of autograd's works backward, those of sends and receives tell which; of annotations the word does. */
static uint8_t said_by_name(const char *name, uint8_t kind) {
  if (strncmp(name, "c10d::recv", 10) == 0 || strncmp(name, "nccl:recv", 9) == 0) {
    return LUMOS_SAYS_RECEIVE;
  }
  if (strncmp(name, "c10d::send", 10) == 0 || strncmp(name, "nccl:send", 9) == 0) {
    return LUMOS_SAYS_SEND;
  }
  if (kind == LUMOS_SPAN_OP) {
    bool back = strncmp(name, "autograd::engine::", 18) == 0 || strstr(name, "Backward") != NULL;
    return back ? LUMOS_BACKWARD : 0;
  }
  if (kind != LUMOS_SPAN_ANNOTATION || strncmp(name, "nccl:", 5) == 0) {
    return 0;
  }
  return holds(name, "zero_grad")   ? LUMOS_SAYS_ZERO
         : holds(name, "optimizer") ? LUMOS_OPTIMIZER_PHASE
         : holds(name, "backward")  ? LUMOS_BACKWARD
         : holds(name, "forward")   ? LUMOS_FORWARD
                                    : 0;
}

static uint8_t says(struct lumos_symbols *symbols, const struct lumos_span *span) {
  uint8_t *said = &symbols->says[span->name];
  if (*said == 0) {
    *said = (uint8_t)(said_by_name(lumos_string(symbols->job->strings, span->name), span->kind) + 1);
  }
  return (uint8_t)(*said - 1);
}

static bool convolves(struct lumos_symbols *symbols, const struct lumos_span *op) {
  uint8_t *known = &symbols->convolves[op->name];
  if (*known == 0) {
    *known = holds(lumos_string(symbols->job->strings, op->name), "convolution") ? 2 : 1;
  }
  return *known == 2;
}

/* ---- the operators around a call ---- */

struct around {
  uint64_t hash; /* 0: not looked at; else of the operators from the outermost to this span, or 1: there is none */
  uint8_t says;
  bool convolves;
};

struct spans {
  struct lumos_symbols *symbols;
  const struct lumos_rank *rank;
  struct around *around; /* by span - rank->span_first */
  LUMOS_VECTOR(uint32_t) open;
};

static struct around around(struct spans *spans, uint32_t span) {
  const struct lumos_span *all = spans->symbols->job->spans.items;
  struct around outer = {.hash = 1};
  spans->open.count = 0;
  for (; span != LUMOS_NONE; span = all[span].parent) {
    const struct around *known = &spans->around[span - spans->rank->span_first];
    if (known->hash != 0) {
      outer = *known;
      break;
    }
    lumos_vector_push(&spans->open, span);
  }
  while (spans->open.count > 0) {
    span = spans->open.items[--spans->open.count];
    uint8_t said = says(spans->symbols, &all[span]);
    outer.says = said != 0 ? said : outer.says;
    if (all[span].kind == LUMOS_SPAN_OP) {
      outer.convolves |= convolves(spans->symbols, &all[span]);
      outer.hash = lumos_hash_mix(outer.hash, all[span].name);
      outer.hash += outer.hash < 2 ? 2 : 0;
    }
    spans->around[span - spans->rank->span_first] = outer;
  }
  return outer;
}

/* Libraries split a product and add up the parts in a kernel of its own. */
static bool adds_up_parts(struct lumos_symbols *symbols, lumos_string_id kernel) {
  uint8_t *known = &symbols->parts[kernel];
  if (*known == 0) {
    const char *name = lumos_string(symbols->job->strings, kernel);
    *known = holds(name, "splitk") && holds(name, "reduce") ? 2 : 1;
  }
  return *known == 2;
}

static uint32_t symbol(struct spans *spans, const struct lumos_task *task, uint64_t hash) {
  const struct lumos_job *job = spans->symbols->job;
  if (lumos_is_communication(task->kind)) {
    const struct lumos_comm *comm = &lumos_detail_of(job, task)->comm;
    return symbol_of(
        spans->symbols,
        lumos_hash_mix(lumos_hash_mix(lumos_hash_mix(2, task->kind), job->lanes.items[task->lane].native), comm->op));
  }
  bool chosen = task->kind == LUMOS_GEMM || task->kind == LUMOS_ATTENTION;
  return symbol_of(spans->symbols, lumos_hash_mix(lumos_hash_mix(hash, task->kind), chosen ? 0 : task->name));
}

static int compare_elements(const void *left, const void *right) {
  const struct lumos_element *a = left, *b = right;
  return a->at != b->at ? LUMOS_ORDER(a->at, b->at) : LUMOS_ORDER(a->task, b->task);
}

static int64_t call_start(const struct lumos_job *job, uint32_t call) {
  uint32_t first = lumos_detail_of(job, &job->tasks.items[call])->first_segment;
  return job->tasks.items[first == LUMOS_NONE ? call : first].start;
}

void lumos_program_sequence(struct lumos_program *program, struct lumos_symbols *symbols) {
  const struct lumos_job *job = program->job;
  const struct lumos_rank *rank = &job->ranks.items[program->rank];
  struct spans spans = {
      .symbols = symbols, .rank = rank, .around = lumos_allocate_zeroed(rank->span_count, sizeof(struct around))};
  for (uint32_t i = 0; i < rank->task_count; i++) {
    const struct lumos_task *task = &job->tasks.items[rank->task_first + i];
    if (task->call == LUMOS_NONE || !lumos_on_stream(job, task)) {
      continue;
    }
    const struct lumos_task *call = &job->tasks.items[task->call];
    struct around outer = around(&spans, call->span);
    bool part = adds_up_parts(symbols, task->name);
    struct lumos_element element = {.at = call_start(job, task->call),
                                    .task = rank->task_first + i,
                                    .thread = call->lane,
                                    .symbol = part ? 0 : symbol(&spans, task, outer.hash),
                                    .pass = LUMOS_NONE,
                                    .layer = LUMOS_NO_LAYER,
                                    .convolves = outer.convolves,
                                    .says = outer.says};
    lumos_vector_push(&program->elements, element);
  }
  lumos_vector_sort(&program->elements, compare_elements);
  free(spans.around);
  lumos_vector_free(&spans.open);
}
