/* The rows of one rank as HTA has them once it has loaded a file, and what its analyses share. */
#ifndef LUMOS_SIM_HTA_ROWS_H
#define LUMOS_SIM_HTA_ROWS_H

#include "sim/metrics.h"

enum hta_type { HTA_COMPUTATION, HTA_COMMUNICATION, HTA_MEMORY, HTA_OTHER, HTA_TYPES };

struct hta_class {
  lumos_string_id name;
  int64_t stream;
  uint8_t type; /* enum hta_type, by the name */
  bool work;    /* a kernel, copy or memset */
  bool host;    /* of the host, though it names a stream */
};

struct hta_row { /* microseconds */
  int64_t start, end;
  int64_t called;   /* start of its launch; LUMOS_ABSENT */
  int64_t enqueued; /* the same where the launch counts in the queue; LUMOS_ABSENT */
  int64_t place;    /* of that launch among all of them in the file */
  uint32_t class;
};

struct hta_interval {
  int64_t start, end;
};
LUMOS_VECTOR_TYPE(hta_intervals, struct hta_interval);

struct hta_rank {
  struct lumos_job *job;
  int32_t number;
  uint32_t index;
  LUMOS_VECTOR(struct hta_class) classes;
  LUMOS_VECTOR(struct hta_row) rows;          /* in file order */
  struct hta_intervals united[HTA_TYPES + 1]; /* the rows of each type, and then all, united where they touch */
  bool queue_pairs; /* every launch that counts in the queue has one row, and none two launches */
  int64_t extent;   /* from the first to the last start; LUMOS_ABSENT */
};

/* Read the rank of this index; `cut`: without the last step. False with an error where its text is damaged. */
bool hta_read(struct lumos_job *job, uint32_t rank, bool cut, struct hta_rank *out,
              struct lumos_error *error) LUMOS_MUST_CHECK;
void hta_free(struct hta_rank *rank);

/* The streams that rows may be on, ascending, and which of them each class is on. */
struct hta_streams {
  int64_t *numbers;
  size_t count;
  uint32_t *of_class;
};
void hta_find_streams(const struct hta_rank *rank, struct hta_streams *out);
void hta_free_streams(struct hta_streams *streams);

/* Something at a time: sorted by that, in the order that numpy gives what is equal. */
struct hta_placed {
  int64_t time;
  uint32_t item;
};
void hta_sort(struct hta_placed *items, size_t count);

/* The type that a name stands for, and what a type is called. */
enum hta_type hta_type_of(const char *name);
extern const char *const hta_type_names[HTA_TYPES];

/* Fills in rank->united. */
void hta_unite(struct hta_rank *rank);
int64_t hta_length(const struct hta_intervals *intervals);

/* For how long which types run at once: each has a bit, which is added at the start of its intervals and taken away at
 * their end. */
enum { HTA_LEVELS = 16, HTA_NONE = 8 }; /* the place of the sum 0 */
struct hta_levels {
  int64_t time[HTA_LEVELS];
  bool seen[HTA_LEVELS];
};
void hta_sweep(const struct hta_rank *rank, struct hta_levels *without_memory, struct hta_levels *with_memory);

/* What pandas makes of a part and a whole: rounded to `decimals` with halves to even, as doubles. Absent where it is no
 * number. */
struct lumos_decimal hta_rounded(double value, int decimals);
/* With 6 decimals, or fewer where they do not fit. */
struct lumos_decimal hta_number(double value);
/* The q-quantile of sorted values, between two by their distance. */
double hta_quantile(const int64_t *sorted, size_t count, double q);

/* Metrics of a rank. An absent value is not written. */
struct lumos_scope hta_scope(const struct hta_rank *rank);
struct lumos_scope hta_stream_scope(const struct hta_rank *rank, int64_t stream);
void hta_put(struct lumos_job *job, const char *name, const struct lumos_scope *scope, struct lumos_decimal value);
void hta_put_time(struct lumos_job *job, const char *name, const struct lumos_scope *scope, int64_t value);

/* The analyses. */
void hta_write_overlap(const struct hta_rank *rank, const struct hta_levels *levels);
void hta_write_kernels(const struct hta_rank *rank);
void hta_write_idle(const struct hta_rank *rank);
void hta_write_queue(const struct hta_rank *rank);

/* The temporal breakdown, in which one rank on which that tool fails takes the figures from all. */
struct hta_temporal_row {
  int32_t rank;
  int64_t idle, compute, whole;
};
struct hta_temporal {
  LUMOS_VECTOR(struct hta_temporal_row) rows;
  const char *failure; /* why; NULL: on no rank */
  int32_t failed;      /* the first such rank */
};
void hta_add_temporal(const struct hta_rank *rank, struct hta_temporal *temporal);
void hta_write_temporal(struct lumos_job *job, const struct hta_temporal *temporal);

/* Times by combination of types, a bit each, over all ranks. */
enum { HTA_COMBINATIONS = 8 };
struct hta_combinations {
  int64_t time[HTA_COMBINATIONS];
  bool seen[HTA_COMBINATIONS];
};
void hta_add_combinations(const struct hta_levels *levels, struct hta_combinations *sums);
void hta_write_combinations(struct lumos_job *job, bool memory, const struct hta_combinations *sums);

#endif
