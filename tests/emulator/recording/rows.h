/* What the recorder keeps, for those who write it: rows of the recorded ranks in the order in which they ended, steps
 * of all ranks, transfers. Names are kept once, by number; descriptions of kernels and messages too.
 */
#ifndef EMULATOR_ROWS_H
#define EMULATOR_ROWS_H

#include "clocks.h"
#include "memory.h"
#include "recorder.h"
#include "writer.h"

#define NONE UINT32_MAX

/* An array that grows. */
#define ROWS(type)      \
  struct {              \
    type *items;        \
    size_t count, room; \
  }

/* Different things, each kept once and known by its number: strings, or structures whose gaps are zero. */
struct pool {
  ROWS(char) bytes;
  ROWS(size_t) starts;
  uint32_t *slots; /* hash table: index + 1 */
  size_t slot_count;
};
uint32_t pool_add(struct pool *pool, const void *item, size_t size); /* of a string: with its end */
const void *pool_at(const struct pool *pool, uint32_t index);        /* until the next is added */
void pool_free(struct pool *pool);

/* The parts of struct work that a trace tells. */
struct shape {
  int64_t bytes; /* of a copy or memset, else 0 */
  uint32_t name;
  int32_t kind, registers, shared_memory, threads, grid[3];
};

struct frame_row {
  int64_t start, end, sequence;
  uint32_t name, number, inputs, message; /* inputs, message: NONE if not recorded */
  uint8_t thread, frame, forward_thread;
};

struct call_row {
  int64_t start, end;
  uint32_t op, correlation, awaited, nodes;
  uint16_t event;
  uint8_t thread, call, stream, awaited_stream;
};

struct device_row {
  int64_t ready, start, end, sequence;
  uint32_t correlation, graph, node, op, shape, message; /* correlation: its number (machine.h) */
  int16_t micro_batch, layer;
  uint8_t stream, phase, part;
};

/* A stream has come to an event's record. */
struct reach_row {
  int64_t time;
  uint32_t correlation;
  uint8_t stream;
};

/* The allocator holds so much from then on. */
struct memory_row {
  int64_t time, bytes, allocated;
  uint8_t thread;
};

struct edge_row {
  uint32_t from, to;
  bool binding;
}; /* by their numbers */

/* One recorded rank. Rows begin within the window in job time, but for Python frames, which it cuts. Of the device's
 * the trace has those that lie within Kineto's window as the device's clock shows them (is_shown); the others only
 * count. */
struct rank_rows {
  int rank;
  struct clock clock;
  int64_t start, stop; /* the window: from the profiler's start to its stop */
  ROWS(struct frame_row) frames;
  ROWS(struct call_row) calls;
  ROWS(struct device_row) device;
  ROWS(struct reach_row) reaches; /* where synchronisation is recorded */
  ROWS(struct edge_row) edges;
  ROWS(struct memory_row) memory;
  int64_t *p2p_before; /* point-to-point kernels before the window, by communicator */
};

/* Members are in the recorder's columns, from `first` on. */
struct transfer_row {
  int communicator, source, destination, step;
  uint8_t collective;
  int64_t sequence, bytes, begin, end;
  size_t first, members;
};

enum { PROFILED, UNPROFILED, RUNS };

struct recorder {
  const struct setup *setup;
  const struct communicator *communicators;
  int communicator_count, ranks, recorded;
  int *place; /* of a rank: index into rows, or -1 */
  struct rank_rows *rows;
  struct pool names, shapes, messages;
  ROWS(struct transfer_row) transfers;
  ROWS(int) member_ranks;
  ROWS(int64_t) member_starts;
  ROWS(int64_t) member_ends;
  ROWS(uint32_t) member_correlations;
  ROWS(uint32_t) member_nodes;
  ROWS(struct step_record) steps[RUNS]; /* of all ranks */
  struct run {
    struct recorder *recorder;
    int number;
  } runs[RUNS]; /* what witnesses point to */
};

/* That its row shows: of the call that launched it. */
static inline uint32_t launch_of(const struct device_row *row) { return row->correlation - row->node; }

static inline int64_t node_id(uint32_t graph, uint32_t node) { return ((int64_t)graph << 32U) + node; }

/* A rank's rows in order: a table by correlation and one by frame number, which is the order of the frames' starts. */
struct table {
  uint32_t first, count;
  uint32_t *rows; /* NONE where there is none */
};
struct order {
  struct table device, calls,
      reaches;         /* by correlation, all over the same range; of device and reaches those that are shown */
  struct table frames; /* by number */
};
struct order order_of(const struct rank_rows *rows);
void order_free(struct order *order);
/* The first of its tables alone. */
struct table device_table(const struct rank_rows *rows);
/* Something of the device from `start` to `end`. */
bool is_shown(const struct rank_rows *rows, int64_t start, int64_t end);
uint32_t table_find(const struct table *table, uint32_t key);

/* A rank's place in the group; of who is not in it, the last. */
int communicator_place(const struct communicator *communicator, int rank);

bool kineto_write(const struct recorder *recorder, const struct rank_rows *rows);
bool truth_write(const struct recorder *recorder);
void truth_tell(const struct recorder *recorder, FILE *file);

/* `items` with room for more, and *room set. */
void *grown(void *items, size_t *room, size_t size);
#define PUSH(rows, ...)                                                       \
  do {                                                                        \
    if ((rows).count == (rows).room) {                                        \
      (rows).items = grown((rows).items, &(rows).room, sizeof *(rows).items); \
    }                                                                         \
    (rows).items[(rows).count++] = (__VA_ARGS__);                             \
  } while (0)

#endif
