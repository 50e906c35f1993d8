/* See machine.h. The rules of time, which are all there is to this machine:
 *   a kernel starts a little after its launch returns, after what its stream ran before, and after what its stream was told to wait for;
 *   a collective's members end together, once the last of them has started and the data have been moved;
 *   a synchronisation returns a little after the work that it waits for.
 */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *items, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity) {
    return items;
  }
  *capacity = *capacity == 0 ? 1024 : *capacity * 2;
  items = realloc(items, *capacity * size);
  if (items == NULL) {
    fputs("example-generator: out of memory\n", stderr);
    exit(1);
  }
  return items;
}

/* SplitMix64: small, public domain, the same everywhere. */
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

int64_t varied(struct rank *rank, int64_t ns, int percent) {
  int64_t reach = ns * percent / 100;
  return ns - reach + (int64_t)(next_random(&rank->random) % (uint64_t)(2 * reach + 1));
}

void rank_begin(struct rank *rank, int number, uint64_t seed, int64_t start) {
  *rank =
      (struct rank){.number = number, .random = seed * 1000003 + (uint64_t)number, .next_external = 1, .next_flow = 1};
  rank->clock[MAIN_THREAD] = rank->clock[BACKWARD_THREAD] = start;
  rank->next_correlation = 4200 + 17 * number;
  rank->next_sequence = 301;
}

void rank_free(struct rank *rank) {
  for (size_t i = 0; i < rank->host_count; i++) {
    free((char *)rank->host[i].inputs);
  }
  for (size_t i = 0; i < rank->device_count; i++) {
    if (rank->device[i].kind == COLLECTIVE) {
      free((struct message *)rank->device[i].message);
    }
  }
  free(rank->host);
  free(rank->device);
}

void spend(struct rank *rank, int64_t ns) { rank->clock[rank->thread] += varied(rank, ns, 15); }

/* The id of the innermost open operator; annotations do not count. 0: there is none. */
static int innermost(const struct rank *rank) {
  for (int depth = rank->depth[rank->thread]; depth > 0; depth--) {
    const struct host_row *row = &rank->host[rank->open[rank->thread][depth - 1]];
    if (row->category == CPU_OP) {
      return row->external;
    }
  }
  return 0;
}

static int add_row(struct rank *rank, enum category category, const char *name) {
  rank->host = grown(rank->host, rank->host_count, &rank->host_capacity, sizeof *rank->host);
  rank->host[rank->host_count] =
      (struct host_row){.category = category, .thread = rank->thread, .name = name, .start = rank->clock[rank->thread]};
  return (int)rank->host_count++;
}

static int begin_row(struct rank *rank, enum category category, const char *name) {
  int row = add_row(rank, category, name);
  rank->host[row].external = rank->next_external++;
  if (rank->depth[rank->thread] == DEEPEST) {
    fprintf(stderr, "example-generator: %s nests too deep\n", name);
    exit(1);
  }
  rank->open[rank->thread][rank->depth[rank->thread]++] = row;
  spend(rank, 1600);
  return row;
}

int begin_op(struct rank *rank, const char *name, const char *inputs, ...) {
  int row = begin_row(rank, CPU_OP, name);
  if (inputs != NULL) {
    char text[512];
    va_list arguments;
    va_start(arguments, inputs);
    vsnprintf(text, sizeof text, inputs, arguments);
    va_end(arguments);
    rank->host[row].inputs = strdup(text);
  }
  return row;
}

int begin_annotation(struct rank *rank, const char *name) { return begin_row(rank, USER_ANNOTATION, name); }

void end(struct rank *rank) {
  spend(rank, 700);
  int row = rank->open[rank->thread][--rank->depth[rank->thread]];
  rank->host[row].end = rank->clock[rank->thread];
  spend(rank, 900);
}

void leaf(struct rank *rank, const char *name, int64_t ns) {
  begin_op(rank, name, NULL);
  spend(rank, ns);
  end(rank);
}

static int begin_call(struct rank *rank, enum category category, const char *name, int cbid) {
  int row = add_row(rank, category, name);
  rank->host[row].external = innermost(rank);
  rank->host[row].cbid = cbid;
  rank->host[row].correlation = rank->next_correlation;
  rank->next_correlation += 3;
  return row;
}

static int whole_call(struct rank *rank, enum category category, const char *name, int cbid, int64_t ns) {
  int row = begin_call(rank, category, name, cbid);
  spend(rank, ns);
  rank->host[row].end = rank->clock[rank->thread];
  spend(rank, 600);
  return row;
}

void call(struct rank *rank, const char *name, int cbid, int64_t ns) { whole_call(rank, CUDA_RUNTIME, name, cbid, ns); }

static struct device_row *queue(struct rank *rank, enum device_kind kind, enum stream stream, int call_row) {
  rank->device = grown(rank->device, rank->device_count, &rank->device_capacity, sizeof *rank->device);
  struct device_row *row = &rank->device[rank->device_count++];
  *row = (struct device_row){.kind = kind, .stream = stream, .call = call_row};
  return row;
}

static int flow_call(struct rank *rank, enum category category, const char *name, int cbid, int64_t ns) {
  int row = whole_call(rank, category, name, cbid, ns);
  rank->host[row].starts_flow = true;
  return row;
}

void launch(struct rank *rank, const struct kernel *kernel, int64_t work, int64_t blocks) {
  int row = flow_call(rank, CUDA_RUNTIME, "cudaLaunchKernel", 211, 4300);
  struct device_row *device = queue(rank, KERNEL, COMPUTE_STREAM, row);
  device->kernel = kernel;
  device->work = varied(rank, work, 2);
  device->blocks = blocks;
}

void launch_collective(struct rank *rank, const struct kernel *kernel, int64_t transfer,
                       const struct message *message) {
  int row = flow_call(rank, CUDA_DRIVER, "cuLaunchKernelEx", 652, 7200);
  struct device_row *device = queue(rank, COLLECTIVE, COMMUNICATION_STREAM, row);
  device->kernel = kernel;
  device->work = transfer;
  device->blocks = 24;
  device->message = message;
}

static void copy(struct rank *rank, enum device_kind kind, int64_t bytes) {
  int row = flow_call(rank, CUDA_RUNTIME, "cudaMemcpyAsync", 41, 6100);
  struct device_row *device = queue(rank, kind, COMPUTE_STREAM, row);
  device->work = 1400 + bytes / 22;
  device->bytes = bytes;
}

void copy_to_device(struct rank *rank, int64_t bytes) { copy(rank, COPY_TO_DEVICE, bytes); }
void copy_to_host(struct rank *rank, int64_t bytes) { copy(rank, COPY_TO_HOST, bytes); }

int record_event(struct rank *rank, enum stream stream) {
  int row = whole_call(rank, CUDA_RUNTIME, "cudaEventRecord", 135, 800);
  queue(rank, RECORD, stream, row);
  return (int)rank->device_count - 1;
}

void wait_event(struct rank *rank, enum stream stream, int event) {
  int row = flow_call(rank, CUDA_RUNTIME, "cudaStreamWaitEvent", 147, 900);
  queue(rank, WAIT, stream, row)->event = event;
}

static void begin_sync(struct rank *rank, const char *name, int cbid, enum device_kind kind) {
  int row = begin_call(rank, CUDA_RUNTIME, name, cbid);
  rank->host[row].starts_flow = true;
  queue(rank, kind, COMPUTE_STREAM, row);
}

void begin_stream_sync(struct rank *rank) { begin_sync(rank, "cudaStreamSynchronize", 131, STREAM_SYNC); }
void begin_device_sync(struct rank *rank) { begin_sync(rank, "cudaDeviceSynchronize", 165, CONTEXT_SYNC); }

void end_sync(struct rank *rank) {
  const struct device_row *sync = &rank->device[rank->device_count - 1];
  struct host_row *row = &rank->host[sync->call];
  int64_t shortest = row->start + varied(rank, 4200, 15);
  int64_t awaited = sync->end + varied(rank, 3600, 20);
  row->end = awaited > shortest ? awaited : shortest;
  rank->clock[rank->thread] = row->end;
  spend(rank, 600);
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t latest_stream(const struct rank *rank) {
  int64_t latest = 0;
  for (int stream = 0; stream < STREAMS; stream++) {
    latest = later(latest, rank->stream_free[stream]);
  }
  return latest;
}

/* When a piece of work may start: launched, its stream free, its barrier passed. */
static int64_t earliest_start(struct rank *rank, const struct device_row *row) {
  int64_t launched = rank->host[row->call].end + varied(rank, 1700, 25);
  int64_t freed = rank->stream_free[row->stream] + varied(rank, 1000, 15);
  int64_t passed = rank->stream_barrier[row->stream] + varied(rank, 2000, 15);
  return later(launched, later(freed, passed));
}

/* Settle everything up to the next collective, which is returned; NULL when nothing is left. */
static struct device_row *settle_own(struct rank *rank) {
  for (; rank->settled < rank->device_count; rank->settled++) {
    struct device_row *row = &rank->device[rank->settled];
    int64_t *stream_free = &rank->stream_free[row->stream];
    int64_t *barrier = &rank->stream_barrier[row->stream];
    switch (row->kind) {
      case COLLECTIVE:
        return row;
      case RECORD:
        row->start = row->end = later(*stream_free, *barrier);
        break;
      case WAIT:
        *barrier = later(*barrier, rank->device[row->event].end);
        break;
      case STREAM_SYNC:
        row->end = *stream_free;
        break;
      case CONTEXT_SYNC:
        row->end = latest_stream(rank);
        break;
      default:
        row->start = earliest_start(rank, row);
        row->end = *stream_free = row->start + row->work;
    }
  }
  return NULL;
}

/* Give a collective its times on every rank. */
static void settle_collective(struct rank ranks[RANKS], struct device_row *members[RANKS]) {
  int64_t last_arrival = 0;
  for (int r = 0; r < RANKS; r++) {
    members[r]->start = earliest_start(&ranks[r], members[r]);
    last_arrival = later(last_arrival, members[r]->start);
  }
  int64_t common_end = last_arrival + varied(&ranks[0], members[0]->work, 3);
  for (int r = 0; r < RANKS; r++) {
    members[r]->end = common_end + varied(&ranks[r], 1500, 100);
    ranks[r].stream_free[members[r]->stream] = members[r]->end;
    ranks[r].settled++;
  }
}

void machine_settle(struct rank ranks[RANKS]) {
  struct device_row *members[RANKS];
  int waiting;
  do {
    waiting = 0;
    for (int r = 0; r < RANKS; r++) {
      members[r] = settle_own(&ranks[r]);
      waiting += members[r] != NULL;
    }
    if (waiting == RANKS) {
      settle_collective(ranks, members);
    } else if (waiting > 0) {
      fputs("example-generator: a collective that not every rank has joined\n", stderr);
      exit(1);
    }
  } while (waiting > 0);
}
