/* Communication by operation and group size. */
#include "report/content/tables.h"

#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

/* Operations are about a dozen; a stream that names more is shown what is left in one row. */
enum { MOST_ROWS = 100 };

/* One kind of communication: all kernels of an operation over groups of one size. */
struct communication {
  lumos_string_id op;
  int64_t size; /* ranks of the group; LUMOS_ABSENT: unknown */
  int64_t kernels, joined;
  int64_t total;
  int64_t labelled[LUMOS_INCONCLUSIVE + 1]; /* GPU time by label; [0]: without one */
  int64_t bytes;                            /* of the kernels that name their bytes; LUMOS_ABSENT: none does */
};
LUMOS_VECTOR_TYPE(communications, struct communication);

/* Where to find what a kernel belongs to. */
struct index {
  const struct lumos_job *job;
  uint32_t *collective_of; /* by task */
  uint32_t *group_of;      /* by the string id of the group's id */
};

static uint32_t *absent_indices(size_t count) {
  uint32_t *indices = lumos_allocate((count + 1) * sizeof *indices);
  memset(indices, 0xFF, (count + 1) * sizeof *indices);
  return indices;
}

static struct index make_index(const struct lumos_job *job) {
  struct index index = {.job = job};
  index.collective_of = absent_indices(job->tasks.count);
  index.group_of = absent_indices((size_t)lumos_strings_count(job->strings) + 1);
  for (uint32_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    for (uint32_t member = 0; member < collective->member_count; member++) {
      index.collective_of[job->members.items[collective->member_first + member]] = i;
    }
  }
  for (uint32_t i = 0; i < job->groups.count; i++) {
    index.group_of[job->groups.items[i].id] = i;
  }
  return index;
}

static const struct lumos_comm *comm_of(const struct lumos_job *job, const struct lumos_task *task) {
  const struct lumos_comm *comm = task->detail == LUMOS_NONE ? NULL : &job->details.items[task->detail].comm;
  return comm != NULL && comm->op != LUMOS_NO_STRING ? comm : NULL;
}

static int64_t size_of(const struct index *index, const struct lumos_comm *comm,
                       const struct lumos_collective *collective) {
  uint32_t group = comm == NULL ? LUMOS_NONE : index->group_of[comm->group];
  if (group != LUMOS_NONE) {
    return index->job->groups.items[group].size;
  }
  return collective != NULL ? collective->size : LUMOS_ABSENT;
}

/* The row of an operation and a size, made when it is new. */
static struct communication *row_of(struct communications *rows, lumos_string_id op, int64_t size) {
  for (size_t i = 0; i < rows->count; i++) {
    if (rows->items[i].op == op && rows->items[i].size == size) {
      return &rows->items[i];
    }
  }
  if (rows->count >= MOST_ROWS && op != LUMOS_NO_STRING) {
    return row_of(rows, LUMOS_NO_STRING, LUMOS_ABSENT);
  }
  struct communication row = {.op = op, .size = size, .bytes = LUMOS_ABSENT};
  lumos_vector_push(rows, row);
  return &rows->items[rows->count - 1];
}

static void add_kernel(const struct index *index, uint32_t number, struct communications *rows) {
  const struct lumos_job *job = index->job;
  const struct lumos_task *task = &job->tasks.items[number];
  const struct lumos_comm *comm = comm_of(job, task);
  uint32_t found = index->collective_of[number];
  const struct lumos_collective *collective = found == LUMOS_NONE ? NULL : &job->collectives.items[found];
  lumos_string_id op = comm != NULL ? comm->op : collective != NULL ? collective->op : LUMOS_NO_STRING;
  struct communication *row = row_of(rows, op, size_of(index, comm, collective));
  int64_t weight = lumos_task_weight(job, task), time = report_product(task->dur, weight);
  row->kernels += weight;
  row->total = report_sum(row->total, time);
  row->bytes = report_sum(row->bytes, report_product(comm != NULL ? comm->bytes : LUMOS_ABSENT, weight));
  row->joined += collective != NULL ? weight : 0;
  uint8_t label = collective != NULL && collective->label <= LUMOS_INCONCLUSIVE ? collective->label : 0;
  row->labelled[label] = report_sum(row->labelled[label], time);
}

static int compare_rows(const void *left, const void *right, void *context) {
  const struct communication *a = left, *b = right;
  if (a->total != b->total) {
    return a->total > b->total ? -1 : 1;
  }
  int order = strcmp(lumos_string(context, a->op), lumos_string(context, b->op));
  return order != 0 ? order : a->size < b->size ? -1 : a->size > b->size;
}

/* "arrival skew, 96.1 %": the label of most of the time, and its share of the time that has one. */
static void put_label(const struct communication *row, struct lumos_text *out) {
  int64_t whole = 0;
  int most = 0;
  for (int label = LUMOS_TRANSFERS; label <= LUMOS_INCONCLUSIVE; label++) {
    whole = report_sum(whole, row->labelled[label]);
    most = most == 0 || row->labelled[label] > row->labelled[most] ? label : most;
  }
  if (whole <= 0) {
    return;
  }
  size_t start = out->length;
  lumos_text_put(out, lumos_label_name((enum lumos_label)most));
  for (size_t i = start; i < out->length; i++) {
    if (out->bytes[i] == '_') {
      out->bytes[i] = ' ';
    }
  }
  lumos_text_put(out, ", ");
  report_put_share(out, report_share(row->labelled[most], whole));
}

static void put_row(const struct lumos_job *job, const struct communication *row, int64_t total,
                    struct report_table *table) {
  if (row->op == LUMOS_NO_STRING) {
    report_table_word(table, "(other, or not recorded)");
  } else {
    report_table_string(table, job->strings, row->op);
  }
  report_table_number(table, row->size);
  report_table_number(table, row->kernels);
  report_table_number(table, row->joined);
  report_table_number(table, row->bytes);
  report_table_number(table, row->total);
  report_table_number(table, report_share(row->total, total));
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  put_label(row, &text);
  report_table_copy(table, &text);
  lumos_text_free(&text);
}

static void put_collectives_finding(const struct lumos_job *job, struct lumos_text *out) {
  struct report_coverage coverage = report_coverage_of(job);
  if (coverage.collectives == LUMOS_ABSENT || coverage.collectives == 0) {
    lumos_text_put(out, "No communication kernel was recorded");
    return;
  }
  report_put_part(out, coverage.joined, coverage.collectives, "communication kernels");
  lumos_text_put(out, lumos_job_weight(job) > 1 ? " joined across ranks"
                                                : " joined: their other ranks are not in the traces");
}

void report_table_collectives(const struct lumos_job *job, struct report_table *table) {
  static const struct report_column columns[] = {
      {"op", "operation", NULL, COLUMN_NAME},
      {"ranks", "ranks", NULL, COLUMN_COUNT},
      {"kernels", "kernels", NULL, COLUMN_COUNT},
      {"joined", "joined", "joined", COLUMN_COUNT},
      {"bytes", "bytes, every kernel", NULL, COLUMN_BYTES},
      {"total", "GPU time", "gpu_time", COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},
      {"label", "label", "label", COLUMN_TEXT},
  };
  report_table_begin(table, "collectives", columns, sizeof columns / sizeof columns[0]);
  struct index index = make_index(job);
  struct communications rows = {0};
  int64_t total = 0;
  for (uint32_t i = 0; i < job->tasks.count; i++) {
    const struct lumos_task *task = &job->tasks.items[i];
    if (task->kind == LUMOS_COLLECTIVE || task->kind == LUMOS_P2P) {
      add_kernel(&index, i, &rows);
      total = report_sum(total, report_product(task->dur, lumos_task_weight(job, task)));
    }
  }
  lumos_vector_sort_by(&rows, compare_rows, job->strings);
  lumos_text_put(&table->caption, "Communication by operation and size of its group. Share: of the ");
  table->whole = total;
  put_collectives_finding(job, &table->finding);
  report_put_time(&table->caption, total);
  lumos_text_put(&table->caption, " of communication kernels, waiting included, summed over streams and ranks. Label: "
                                  "that of most of the joined time, and its share of it. A dash: unknown");
  report_put_which_durations(job, &table->caption);
  for (size_t i = 0; i < rows.count; i++) {
    put_row(job, &rows.items[i], total, table);
  }
  lumos_vector_free(&rows);
  free(index.collective_of);
  free(index.group_of);
}
