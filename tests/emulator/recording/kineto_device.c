/* Rows of the device: kernels with the shape of their launch, copies, memsets, and the images of annotations. */
#include "hardware.h"
#include "kineto.h"

static void put_list(struct writer *out, const char *key, int a, int b, int c) {
  put_number(out, key, a);
  put_number(out, ", ", b);
  put_number(out, ", ", c);
  PUT(out, "]");
}

/* ---- occupancy ---- */

/* What of an SM limits how many blocks of a kernel are on it at once, as NVIDIA's calculator has it for the devices
 * that are emulated. */
enum { LIMIT_WARPS, LIMIT_REGISTERS, LIMIT_SHARED_MEMORY, LIMIT_BLOCKS, LIMIT_BARRIERS, LIMITS };
struct occupancy {
  int64_t limits[LIMITS], registers, shared_memory; /* registers and shared memory: that a block is given */
  int64_t blocks;
};

/* Registers are given to warps, in each quarter of the SM. Kineto takes no more than 48 KiB of shared memory for
 * possible, and so no block of a kernel that has more. */
static struct occupancy occupancy_of(const struct gpu *gpu, const struct shape *shape, int warps) {
  enum {
    REGISTERS = 65536,
    REGISTERS_AT_ONCE = 256,
    QUARTERS = 4,
    WARPS = 64,
    BLOCKS = 32,
    BARRIERS = 2 * BLOCKS,
    USUAL_SHARED_MEMORY = 49152,
    RESERVED_SHARED_MEMORY = 1024,
    SHARED_MEMORY_AT_ONCE = 128
  };
  int64_t of_warp = ((int64_t)shape->registers * 32 + REGISTERS_AT_ONCE - 1) / REGISTERS_AT_ONCE * REGISTERS_AT_ONCE;
  int64_t warps_by_registers = of_warp > 0 ? REGISTERS / QUARTERS / of_warp * QUARTERS : 0;
  struct occupancy occupancy = {
      .registers = of_warp * warps,
      .shared_memory = (shape->shared_memory + RESERVED_SHARED_MEMORY + SHARED_MEMORY_AT_ONCE - 1) /
                       SHARED_MEMORY_AT_ONCE * SHARED_MEMORY_AT_ONCE,
      .limits = {[LIMIT_WARPS] = WARPS / warps,
                 [LIMIT_REGISTERS] = of_warp > 0 ? warps_by_registers / warps : INT32_MAX,
                 [LIMIT_BLOCKS] = BLOCKS,
                 [LIMIT_BARRIERS] = BARRIERS},
      .blocks = BLOCKS,
  };
  if (shape->shared_memory <= USUAL_SHARED_MEMORY) {
    occupancy.limits[LIMIT_SHARED_MEMORY] = gpu->shared_memory / occupancy.shared_memory;
  }
  for (int i = 0; i < LIMITS; i++) {
    occupancy.blocks = occupancy.limits[i] < occupancy.blocks ? occupancy.limits[i] : occupancy.blocks;
  }
  return occupancy;
}

/* In percent: what the limits allow, or the grid, if that is less. */
static int64_t percent_of(const struct occupancy *occupancy, double blocks_per_sm, int threads) {
  enum { THREADS_OF_SM = 2048 };
  double blocks = blocks_per_sm < (double)occupancy->blocks ? blocks_per_sm : (double)occupancy->blocks;
  return (int64_t)(blocks * threads * 100 / THREADS_OF_SM + 0.5);
}

static void put_occupancy(struct writer *out, const struct occupancy *occupancy) {
  static const char *const names[LIMITS] = {"WARPS", "REGS", "SMEM", "BLOCKS", "BARRIERS"};
  static const struct {
    int limit;
    const char *key;
  } keys[LIMITS] = {{LIMIT_REGISTERS, "\", \"blockLimitRegs\": "},
                    {LIMIT_SHARED_MEMORY, ", \"blockLimitSharedMem\": "},
                    {LIMIT_WARPS, ", \"blockLimitWarps\": "},
                    {LIMIT_BLOCKS, ", \"blockLimitBlocks\": "},
                    {LIMIT_BARRIERS, ", \"blockLimitBarriers\": "}};
  put_number(out, ",      \"occupancy\": {\"activeBlocksPerMultiprocessor\": ", occupancy->blocks);
  PUT(out, ", \"limitingFactors\": \"");
  for (int i = 0, written = 0; i < LIMITS; i++) {
    if (occupancy->limits[i] == occupancy->blocks) {
      put_text(out, written++ > 0 ? "|" : "");
      put_text(out, names[i]);
    }
  }
  for (int i = 0; i < LIMITS; i++) {
    put_number(out, keys[i].key, occupancy->limits[keys[i].limit]);
  }
  put_number(out, ", \"allocatedRegistersPerBlock\": ", occupancy->registers);
  put_number(out, ", \"allocatedSharedMemPerBlock\": ", occupancy->shared_memory);
  PUT(out, "}");
}

/* ---- rows ---- */

/* A number that Kineto holds in single precision. */
static void put_single(struct writer *out, const char *key, double value) {
  put_text(out, key);
  put_ratio(out, (double)(float)value, 1);
}

/* A node's id has its graph's above its own. */
static void put_graph(struct writer *out, const struct device_row *row) {
  put_number(out, ",      \"graph id\": ", row->graph);
  put_number(out, ", \"graph node id\": ", node_id(row->graph, row->node));
}

static void put_kernel(const struct trace *trace, const struct device_row *row, const struct shape *shape) {
  struct writer *out = trace->out;
  const struct gpu *gpu = trace->recorder->setup->gpu;
  double blocks = (double)shape->grid[0] * shape->grid[1] * shape->grid[2] / gpu->sms;
  int warps = shape->threads > 32 ? (shape->threads + 31) / 32 : 1;
  put_number(out, "      \"queued\": 0, \"device\": ", trace->device);
  put_number(out, ", \"context\": 1,      \"stream\": ", stream_number(row->stream));
  put_number(out, ", \"correlation\": ", launch_of(row));
  put_number(out, ",      \"registers per thread\": ", shape->registers);
  put_number(out, ",      \"shared memory\": ", shape->shared_memory);
  put_single(out, ",      \"blocks per SM\": ", blocks);
  put_single(out, ",      \"warps per SM\": ", blocks * warps);
  put_list(out, ",      \"grid\": [", shape->grid[0], shape->grid[1], shape->grid[2]);
  put_list(out, ",      \"block\": [", shape->threads, 1, 1);
  const struct occupancy occupancy = occupancy_of(gpu, shape, warps);
  put_number(out, ",      \"est. achieved occupancy %\": ", percent_of(&occupancy, blocks, shape->threads));
  if (is_new(trace)) {
    put_occupancy(out, &occupancy);
    put_graph(out, row);
  }
  uint32_t op = table_find(&trace->order.frames, row->op);
  if (op != NONE && tells_message(trace, frame_at(trace, op)) && tells_collectives(trace)) {
    put_message(trace, message_at(trace, frame_at(trace, op)->message), trace->links[op].sequence);
  }
}

static void put_copy(const struct trace *trace, const struct device_row *row, const struct shape *shape) {
  struct writer *out = trace->out;
  put_number(out, "      \"device\": ", trace->device);
  put_number(out, ", \"context\": 1,      \"stream\": ", stream_number(row->stream));
  put_number(out, ", \"correlation\": ", launch_of(row));
  put_number(out, ",      \"bytes\": ", shape->bytes);
  if (row->end > row->start) {
    PUT(out, ", \"memory bandwidth (GB/s)\": ");
    put_ratio(out, (double)shape->bytes, (double)(row->end - row->start));
  }
  if (is_new(trace)) {
    put_graph(out, row);
  }
}

void kineto_put_device(const struct trace *trace, const struct device_row *row) {
  static const struct {
    const char *category, *name, *pageable;
  } copies[WORK_KINDS] = {
      [WORK_COPY_TO_DEVICE] = {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", "Memcpy HtoD (Pageable -> Device)"},
      [WORK_COPY_TO_HOST] = {"gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", "Memcpy DtoH (Device -> Pageable)"},
      [WORK_COPY_ON_DEVICE] = {"gpu_memcpy", "Memcpy DtoD (Device -> Device)", NULL},
      [WORK_MEMSET] = {"gpu_memset", "Memset (Device)", NULL},
  };
  const struct shape *shape = pool_at(&trace->recorder->shapes, row->shape);
  bool is_copy = copies[shape->kind].name != NULL;
  int stream = stream_number(row->stream);
  int64_t start = device_time(trace, row->start);
  const char *name = !is_copy                                                           ? name_at(trace, shape->name)
                     : trace->recorder->setup->pageable && copies[shape->kind].pageable ? copies[shape->kind].pageable
                                                                                        : copies[shape->kind].name;
  put_row_start(trace->out, is_copy ? copies[shape->kind].category : "kernel", name, trace->device, stream, start,
                device_time(trace, row->end) - start);
  if (table_find(&trace->order.calls, launch_of(row)) != NONE) {
    put_external(trace, row->op);
  }
  (is_copy ? put_copy : put_kernel)(trace, row, shape);
  put_row_end(trace->out);
  put_flow(trace->out, false, "ac2g", launch_of(row), trace->device, stream, start);
}

/* The device's images of annotations, stream by stream, and the later ones first, as a hash table has them. Kineto
 * draws them a nanosecond wider on either side. */
void kineto_put_device_annotations(const struct trace *trace) {
  for (int stream = 0; stream < WORKING_STREAMS; stream++) {
    for (uint32_t i = trace->order.frames.count; i > 0; i--) {
      uint32_t row = trace->order.frames.rows[i - 1];
      if (row == NONE || frame_at(trace, row)->frame != FRAME_ANNOTATION) {
        continue;
      }
      const struct span *span = &trace->spans[(size_t)trace->links[row].annotation * WORKING_STREAMS + (size_t)stream];
      if (span->first > span->last) {
        continue;
      }
      int64_t start = device_time(trace, span->first);
      put_row_start(trace->out, "gpu_user_annotation", name_at(trace, frame_at(trace, row)->name), trace->device,
                    stream_number(stream), start - 1, device_time(trace, span->last) - start + 2);
      put_number(trace->out, "\"External id\": ", trace->links[row].id);
      put_row_end(trace->out);
    }
  }
}
