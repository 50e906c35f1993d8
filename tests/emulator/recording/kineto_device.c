/* Rows of the device: kernels with the shape of their launch, copies, memsets, and the images of annotations. */
#include "hardware.h"
#include "kineto.h"

static void put_list(struct writer *out, const char *key, int a, int b, int c) {
  put_number(out, key, a);
  put_number(out, ", ", b);
  put_number(out, ", ", c);
  PUT(out, "]");
}

/* In percent, as Kineto estimates it: what registers, threads and shared memory allow, or the grid, if that is less. Kineto takes
 * no more than 48 KiB of shared memory for possible, and writes 0 for all that have more. */
static int occupancy_of(const struct gpu *gpu, const struct shape *shape, double blocks_per_sm, int warps) {
  enum { REGISTERS = 65536, WARPS = 64, BLOCKS = 32, USUAL_SHARED_MEMORY = 49152, RESERVED_SHARED_MEMORY = 1024 };
  if (shape->shared_memory > USUAL_SHARED_MEMORY) {
    return 0;
  }
  int registers_of_warp = (shape->registers * 32 + 255) / 256 * 256;
  int warps_by_registers = registers_of_warp > 0 ? REGISTERS / registers_of_warp / 4 * 4 : WARPS;
  int64_t limits[] = {warps_by_registers / warps, WARPS / warps,
                      gpu->shared_memory / (shape->shared_memory + RESERVED_SHARED_MEMORY)};
  double blocks = BLOCKS;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    blocks = (double)limits[i] < blocks ? (double)limits[i] : blocks;
  }
  blocks = blocks_per_sm < blocks ? blocks_per_sm : blocks;
  return (int)(blocks * warps * 100 / WARPS + 0.5);
}

/* A number that Kineto holds in single precision. */
static void put_single(struct writer *out, const char *key, double value) {
  put_text(out, key);
  put_ratio(out, (double)(float)value, 1);
}

static void put_kernel(const struct trace *trace, const struct device_row *row, const struct shape *shape) {
  struct writer *out = trace->out;
  const struct gpu *gpu = trace->recorder->setup->gpu;
  double blocks = (double)shape->grid[0] * shape->grid[1] * shape->grid[2] / gpu->sms;
  int warps = shape->threads > 32 ? (shape->threads + 31) / 32 : 1;
  put_number(out, "      \"queued\": 0, \"device\": ", trace->device);
  put_number(out, ", \"context\": 1,      \"stream\": ", stream_number(row->stream));
  put_number(out, ", \"correlation\": ", row->correlation);
  put_number(out, ",      \"registers per thread\": ", shape->registers);
  put_number(out, ",      \"shared memory\": ", shape->shared_memory);
  put_single(out, ",      \"blocks per SM\": ", blocks);
  put_single(out, ",      \"warps per SM\": ", blocks * warps);
  put_list(out, ",      \"grid\": [", shape->grid[0], shape->grid[1], shape->grid[2]);
  put_list(out, ",      \"block\": [", shape->threads, 1, 1);
  put_number(out, ",      \"est. achieved occupancy %\": ", occupancy_of(gpu, shape, blocks, warps));
  PUT(out, ",      \"graph id\": 0, \"graph node id\": 0");
  uint32_t op = table_find(&trace->order.frames, row->op);
  if (op != NONE && tells_message(trace, frame_at(trace, op)) && tells_collectives(trace)) {
    put_message(trace, message_at(trace, frame_at(trace, op)->message), trace->links[op].sequence);
  }
}

static void put_copy(const struct trace *trace, const struct device_row *row, const struct shape *shape) {
  struct writer *out = trace->out;
  put_number(out, "      \"device\": ", trace->device);
  put_number(out, ", \"context\": 1,      \"stream\": ", stream_number(row->stream));
  put_number(out, ", \"correlation\": ", row->correlation);
  put_number(out, ",      \"bytes\": ", shape->bytes);
  if (row->end > row->start) {
    PUT(out, ", \"memory bandwidth (GB/s)\": ");
    put_ratio(out, (double)shape->bytes, (double)(row->end - row->start));
  }
  PUT(out, ",      \"graph id\": 0, \"graph node id\": 0");
}

void kineto_put_device(const struct trace *trace, const struct device_row *row) {
  static const struct {
    const char *category, *name;
  } copies[WORK_KINDS] = {
      [WORK_COPY_TO_DEVICE] = {"gpu_memcpy", "Memcpy HtoD (Pinned -> Device)"},
      [WORK_COPY_TO_HOST] = {"gpu_memcpy", "Memcpy DtoH (Device -> Pinned)"},
      [WORK_COPY_ON_DEVICE] = {"gpu_memcpy", "Memcpy DtoD (Device -> Device)"},
      [WORK_MEMSET] = {"gpu_memset", "Memset (Device)"},
  };
  const struct shape *shape = pool_at(&trace->recorder->shapes, row->shape);
  bool is_copy = copies[shape->kind].name != NULL;
  int stream = stream_number(row->stream);
  int64_t start = device_time(trace, row->start);
  put_row_start(trace->out, is_copy ? copies[shape->kind].category : "kernel",
                is_copy ? copies[shape->kind].name : name_at(trace, shape->name), trace->device, stream, start,
                device_time(trace, row->end) - start);
  if (table_find(&trace->order.calls, row->correlation) != NONE) {
    put_external(trace, row->op);
  }
  (is_copy ? put_copy : put_kernel)(trace, row, shape);
  put_row_end(trace->out);
  put_flow(trace->out, false, "ac2g", row->correlation, trace->device, stream, start);
}

/* The device's images of annotations, one a stream. Kineto draws them a nanosecond wider on either side. */
void kineto_put_device_annotations(const struct trace *trace) {
  for (uint32_t i = 0; i < trace->order.frames.count; i++) {
    uint32_t row = trace->order.frames.rows[i];
    if (row == NONE || frame_at(trace, row)->frame != FRAME_ANNOTATION) {
      continue;
    }
    for (int stream = 0; stream < STREAMS; stream++) {
      const struct span *span = &trace->spans[(size_t)trace->links[row].annotation * STREAMS + (size_t)stream];
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
