/* Kernel breakdown: for how long which types ran, and kernels by name. */
#include "sim/hta/rows.h"

#include "base/text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void hta_add_combinations(const struct hta_levels *levels, struct hta_combinations *sums) {
  for (int level = 1; level < HTA_COMBINATIONS; level++) {
    sums->time[level] += levels->time[level + HTA_NONE];
    sums->seen[level] = sums->seen[level] || levels->seen[level + HTA_NONE];
  }
}

static lumos_string_id name_combination(struct lumos_job *job, int combination) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  for (int type = HTA_COMPUTATION; type <= HTA_MEMORY; type++) {
    if ((combination >> type & 1) != 0) {
      lumos_text_put(&text, text.length > 0 ? " overlapping " : "");
      lumos_text_put(&text, hta_type_names[type]);
    }
  }
  lumos_string_id id = lumos_intern(job->strings, text.bytes, text.length);
  lumos_text_free(&text);
  return id;
}

void hta_write_combinations(struct lumos_job *job, bool memory, const struct hta_combinations *sums) {
  int64_t whole = 0;
  for (int i = 1; i < HTA_COMBINATIONS; i++) {
    whole += sums->time[i];
  }
  for (int i = 1; i < HTA_COMBINATIONS; i++) {
    if (sums->seen[i]) {
      struct lumos_scope scope = lumos_everywhere;
      scope.kind = name_combination(job, i);
      hta_put_time(job, memory ? "hta_kernel_type_time" : "hta_kernel_type_time_no_memory", &scope, sums->time[i]);
      hta_put(job, memory ? "hta_kernel_type_pctg" : "hta_kernel_type_pctg_no_memory", &scope,
              hta_rounded((double)sums->time[i] / (double)whole * 100, 1));
    }
  }
}

/* Values that are given one by one. */
struct kernel {
  lumos_string_id name;
  int64_t sum, max, min, count;
  double mean, squares; /* of the values so far; squares of their distances from the mean */
  uint8_t type;
};

static void add_value(struct kernel *kernel, int64_t value) {
  double before = kernel->mean;
  kernel->max = kernel->count == 0 || value > kernel->max ? value : kernel->max;
  kernel->min = kernel->count == 0 || value < kernel->min ? value : kernel->min;
  kernel->count++;
  kernel->sum += value;
  kernel->mean += ((double)value - before) / (double)kernel->count;
  kernel->squares += ((double)value - kernel->mean) * ((double)value - before);
}

static void put_kernel(const struct hta_rank *rank, enum hta_type type, const struct kernel *kernel) {
  struct lumos_job *job = rank->job;
  struct lumos_scope scope = hta_scope(rank);
  scope.kind = lumos_intern_text(job->strings, hta_type_names[type]);
  scope.name = kernel->name;
  double deviation = kernel->count > 1 ? sqrt(kernel->squares / (double)(kernel->count - 1)) : 0;
  hta_put_time(job, "hta_kernel_sum", &scope, kernel->sum);
  hta_put_time(job, "hta_kernel_max", &scope, kernel->max);
  hta_put_time(job, "hta_kernel_min", &scope, kernel->min);
  hta_put(job, "hta_kernel_mean", &scope, hta_number((double)kernel->sum / (double)kernel->count));
  hta_put(job, "hta_kernel_stddev", &scope, hta_number(deviation));
}

struct named {
  const char *name;
  uint32_t class;
};

static int compare_named(const void *a, const void *b) {
  const struct named *left = a, *right = b;
  return strcmp(left->name, right->name);
}

struct kernel_list {
  struct kernel *items; /* by name */
  size_t count;
};

/* Every name once, with what its rows last. */
static struct kernel_list sum_names(const struct hta_rank *rank) {
  size_t classes = rank->classes.count;
  struct named *named = lumos_allocate(classes * sizeof *named);
  uint32_t *kernel_of = lumos_allocate(classes * sizeof *kernel_of);
  struct kernel_list kernels = {lumos_allocate_zeroed(classes, sizeof *kernels.items), 0};
  for (size_t i = 0; i < classes; i++) {
    named[i] = (struct named){lumos_string(rank->job->strings, rank->classes.items[i].name), (uint32_t)i};
  }
  qsort(named, classes, sizeof *named, compare_named);
  for (size_t i = 0; i < classes; i++) {
    const struct hta_class *class = &rank->classes.items[named[i].class];
    if (i == 0 || strcmp(named[i - 1].name, named[i].name) != 0) {
      kernels.items[kernels.count++] = (struct kernel){.name = class->name, .type = class->type};
    }
    kernel_of[named[i].class] = (uint32_t)kernels.count - 1;
  }
  for (size_t i = 0; i < rank->rows.count; i++) {
    const struct hta_row *row = &rank->rows.items[i];
    add_value(&kernels.items[kernel_of[row->class]], row->end - row->start);
  }
  free(named);
  free(kernel_of);
  return kernels;
}

/* By descending sum; to that end numpy sorts what it has turned around, and turns it around again. */
static void rank_by_sum(struct kernel **kernels, size_t count) {
  struct hta_placed *placed = lumos_allocate((count + 1) * sizeof *placed);
  struct kernel **ranked = lumos_allocate((count + 1) * sizeof(struct kernel *));
  for (size_t i = 0; i < count; i++) {
    placed[i] = (struct hta_placed){kernels[count - 1 - i]->sum, (uint32_t)(count - 1 - i)};
  }
  hta_sort(placed, count);
  for (size_t i = 0; i < count; i++) {
    ranked[i] = kernels[placed[count - 1 - i].item];
  }
  memcpy(kernels, ranked, count * sizeof(struct kernel *));
  free(placed);
  free(ranked);
}

static int compare_times(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return LUMOS_ORDER(left, right);
}

/* Put those first, of names by descending sum, that are told: of the first ten those whose running sum is within the
 * quantile, and all whose sum is negative. Returns how many these are. */
static size_t put_told_first(struct kernel **ranked, size_t count) {
  enum { TOLD = 10 }; /* names: HTA's num_kernels */
  int64_t running[TOLD];
  int64_t *sorted = lumos_allocate(count * sizeof *sorted);
  struct kernel **rest = lumos_allocate(count * sizeof(struct kernel *));
  size_t told = 0;
  size_t left = 0;
  for (size_t i = 0; i < count; i++) {
    sorted[i] = ranked[i]->sum + (i > 0 ? sorted[i - 1] : 0);
  }
  memcpy(running, sorted, sizeof running);
  qsort(sorted, count, sizeof *sorted, compare_times);
  double most = hta_quantile(sorted, count, 0.8);
  for (size_t i = 0; i < count; i++) {
    bool tells = ranked[i]->sum < 0 || (i < TOLD && (double)running[i] <= most);
    *(tells ? &ranked[told] : &rest[left]) = ranked[i];
    told += tells;
    left += !tells;
  }
  memcpy(ranked + told, rest, left * sizeof(struct kernel *));
  free(rest);
  free(sorted);
  return told;
}

static struct kernel sum_of(lumos_string_id name, struct kernel *const *kernels, size_t count) {
  struct kernel sum = {.name = name};
  for (size_t i = 0; i < count; i++) {
    add_value(&sum, kernels[i]->sum);
  }
  return sum;
}

/* So many names that those with the least time are one, and every statistic is one of sums. */
static void put_sums(const struct hta_rank *rank, enum hta_type type, struct kernel **ranked, size_t count) {
  lumos_string_id others = lumos_intern_text(rank->job->strings, "others");
  size_t told = put_told_first(ranked, count);
  for (size_t i = 0; i < told; i++) {
    if (ranked[i]->name == others) { /* a kernel that is called so is one of them */
      struct kernel *kernel = ranked[i];
      memmove(&ranked[i], &ranked[i + 1], (told - i - 1) * sizeof(struct kernel *));
      ranked[--told] = kernel;
      break;
    }
  }
  for (size_t i = 0; i < told; i++) {
    struct kernel sum = sum_of(ranked[i]->name, &ranked[i], 1);
    put_kernel(rank, type, &sum);
  }
  if (told < count) {
    struct kernel rest = sum_of(others, ranked + told, count - told);
    put_kernel(rank, type, &rest);
  }
}

static void write_type(const struct hta_rank *rank, enum hta_type type, const struct kernel_list *kernels,
                       struct kernel **ranked) {
  enum { SUMMED_ABOVE = 10 }; /* names: HTA's num_kernels */
  size_t count = 0;
  for (size_t i = 0; i < kernels->count; i++) {
    if (kernels->items[i].type == type && kernels->items[i].count > 0) {
      ranked[count++] = &kernels->items[i];
    }
  }
  rank_by_sum(ranked, count);
  if (count > SUMMED_ABOVE) {
    put_sums(rank, type, ranked, count);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    put_kernel(rank, type, ranked[i]);
  }
}

void hta_write_kernels(const struct hta_rank *rank) {
  struct kernel_list kernels = sum_names(rank);
  struct kernel **ranked = lumos_allocate(kernels.count * sizeof(struct kernel *));
  for (int type = HTA_COMPUTATION; type <= HTA_MEMORY; type++) {
    write_type(rank, (enum hta_type)type, &kernels, ranked);
  }
  free(ranked);
  free(kernels.items);
}
