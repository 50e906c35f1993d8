#include "cost/kernels.h"

#include "base/numbering.h"
#include "cost/contention.h"
#include "cost/kernel_cost.h"
#include "cost/moved.h"
#include "cost/operation.h"
#include "cost/roofline.h"
#include <math.h>
#include <string.h>

enum class { OTHER, PRODUCT, ATTENTION, MOVING };

struct work { /* of a task on a stream */
  uint8_t class;
  bool shaped;     /* its shape is recorded */
  uint32_t floor;  /* of its family: index + 1 in floors; 0: the job's */
  uint8_t output;  /* of a product: what moves of its result's element, in elements of its inputs */
  uint32_t family; /* as its calibration names it, */
  uint64_t key;    /* and its shape */
  struct lumos_product_shape shape;
};

struct line { /* the smallest and the largest shape of a family that moves */
  double least, most, least_ns, most_ns;
};

struct lumos_kernels {
  const struct lumos_job *job;
  const struct lumos_device **devices; /* by rank */
  uint32_t *work_of;                   /* by task: index + 1 */
  LUMOS_VECTOR(struct work) works;
  LUMOS_VECTOR(double) floors; /* ns */
  double floor;                /* ns: what no kernel of the job is shorter than */
  struct lumos_calibration calibrations[LUMOS_TASK_KINDS];
};

static enum class class_of(uint8_t kind) {
  switch (kind){
    case LUMOS_GEMM : return PRODUCT; case LUMOS_ATTENTION : return ATTENTION; case LUMOS_ELEMENTWISE : case
    LUMOS_NORM : case LUMOS_REDUCTION : case LUMOS_OPTIMIZER : case LUMOS_EMBEDDING : return MOVING;
    default : return OTHER;
  }
}

static const struct lumos_device *device_of(const struct lumos_kernels *kernels, uint32_t task) {
  return kernels->devices[lumos_rank_of(kernels->job, &kernels->job->tasks.items[task])];
}

const struct lumos_device *lumos_kernels_device(const struct lumos_kernels *kernels, uint32_t rank) {
  return kernels->devices[rank];
}

const struct lumos_calibration *lumos_kernels_calibration(const struct lumos_kernels *kernels,
                                                          enum lumos_task_kind kind) {
  return &kernels->calibrations[kind];
}

static double time_of(const struct lumos_device *device, const struct work *work, struct lumos_tile tile) {
  switch (work->class) {
    case PRODUCT:
      return lumos_product_time(device, &work->shape, tile);
    case ATTENTION:
      return lumos_attention_time(device, &work->shape);
    default:
      return lumos_moving_time(device, work->shape.bytes);
  }
}

/* A kernel whose time was modelled before has the name, but not the tile, of what was recorded. */
static struct lumos_tile tile_of(const struct lumos_kernels *kernels, const struct lumos_task *task) {
  return task->dur_source == LUMOS_MODELLED ? (struct lumos_tile){0, 0}
                                            : lumos_tile_of_kernel(lumos_string(kernels->job->strings, task->name));
}

/* ---- What kernels do ---- */

struct gathering {
  struct lumos_kernels *kernels;
  const double *speeds; /* by task: beside communication */
  struct lumos_numbering families, shapes[LUMOS_TASK_KINDS];
  struct lumos_observations observations[LUMOS_TASK_KINDS];
  LUMOS_VECTOR(struct line) lines;  /* by family */
  LUMOS_VECTOR(uint32_t) family_of; /* by work; LUMOS_NONE: none */
};

static uint64_t mixed(uint64_t hash, uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 29U;
}

/* A measured time of a shape of a family: what it takes alone, for no model knows what runs beside it. */
static void observe(struct gathering *gathering, uint32_t task, const struct work *work, uint32_t family,
                    uint64_t shape) {
  struct lumos_kernels *kernels = gathering->kernels;
  const struct lumos_task *of = &kernels->job->tasks.items[task];
  const struct lumos_device *device = device_of(kernels, task);
  if (device == NULL || of->dur <= 0) {
    return;
  }
  uint64_t key = mixed(mixed(mixed(0, family), shape), lumos_key_pair((uint32_t)work->class, of->kind));
  uint32_t number = lumos_number_of(&gathering->shapes[of->kind], key);
  struct lumos_calibration *calibration = &kernels->calibrations[of->kind];
  if (number == calibration->shapes.count) {
    double model = kernels->floor + time_of(device, work, tile_of(kernels, of));
    lumos_vector_push(&calibration->shapes,
                      ((struct lumos_measured_shape){
                          .shape = shape, .family = family, .class = (uint64_t)work->shape.dtype, .model = model}));
  }
  int64_t alone = llround(fmax((double)of->dur * gathering->speeds[task], 1));
  lumos_vector_push(&gathering->observations[of->kind], ((struct lumos_observation){number, alone}));
}

static void add_work(struct gathering *gathering, uint32_t task, struct work work, uint32_t family, uint64_t shape) {
  struct lumos_kernels *kernels = gathering->kernels;
  work.family = family;
  work.key = shape;
  lumos_vector_push(&kernels->works, work);
  lumos_vector_push(&gathering->family_of, family);
  kernels->work_of[task] = (uint32_t)kernels->works.count;
  if (work.shaped) {
    observe(gathering, task, &work, family, shape);
  }
}

/* Elements of both inputs and of the result, as many as it moves in theirs; 0: not known. */
static double elements_of(const struct lumos_product_shape *shape, int output) {
  double rows = (double)shape->rows, inner = (double)shape->inner, columns = (double)shape->columns;
  return (double)shape->batches * (rows * inner + inner * columns + rows * columns * output);
}

static void widen_output(struct work *work, const char *kernel) {
  work->output = work->class == PRODUCT ? (uint8_t)lumos_output_of_kernel(kernel) : 1;
  double narrow = elements_of(&work->shape, 1);
  work->shape.bytes *= narrow > 0 ? elements_of(&work->shape, work->output) / narrow : 1;
}

static void add_products(struct gathering *gathering) {
  struct lumos_kernels *kernels = gathering->kernels;
  const struct lumos_job *job = kernels->job;
  struct lumos_kernel_costs costs;
  lumos_kernel_costs_find(job, &costs);
  for (size_t i = 0; i < costs.list.count; i++) {
    const struct lumos_kernel_cost *cost = &costs.list.items[i];
    const struct lumos_task *task = &job->tasks.items[cost->task];
    enum class class = class_of(task->kind);
    if (cost->helper || (class != PRODUCT && class != ATTENTION)) {
      continue;
    }
    enum lumos_dtype dtype = (enum lumos_dtype)cost->dtype;
    enum lumos_dtype named = lumos_dtype_of_kernel(lumos_string(job->strings, task->name));
    dtype = named != LUMOS_NO_DTYPE && (dtype == LUMOS_NO_DTYPE || dtype == LUMOS_FP32) ? named : dtype;
    struct work work = {.class = (uint8_t) class,
                        .shaped = true,
                        .shape = {.rows = cost->rows,
                                  .inner = cost->inner,
                                  .columns = cost->columns,
                                  .batches = cost->batches,
                                  .flops = (double)cost->flops,
                                  .bytes = cost->bytes == LUMOS_ABSENT ? 0 : (double)cost->bytes,
                                  .dtype = dtype}};
    widen_output(&work, lumos_string(job->strings, task->name));
    uint32_t op = job->spans.items[cost->span].name;
    uint32_t family = lumos_number_of(&gathering->families, lumos_key_pair(task->name, op));
    uint64_t shape = mixed(mixed(mixed((uint64_t)cost->flops, (uint64_t)cost->rows), (uint64_t)cost->inner),
                           mixed(mixed(0, (uint64_t)cost->columns), (uint64_t)cost->batches));
    if (cost->rows == 0) { /* one of several kernels of its op: its share of the operations follows its own time */
      work.shaped = false;
    }
    add_work(gathering, cost->task, work, family, shape);
  }
  lumos_vector_free(&costs.list);
}

static void add_line(struct gathering *gathering, uint32_t family, double bytes, double ns) {
  while (gathering->lines.count <= family) {
    lumos_vector_push(&gathering->lines, ((struct line){0}));
  }
  struct line *line = &gathering->lines.items[family];
  if (!(line->most > 0) || bytes > line->most) {
    line->most = bytes;
    line->most_ns = ns;
  }
  if (!(line->least > 0) || bytes < line->least || (!(bytes > line->least) && ns < line->least_ns)) {
    line->least = bytes;
    line->least_ns = ns;
  }
}

static void add_moving(struct gathering *gathering) {
  struct lumos_kernels *kernels = gathering->kernels;
  const struct lumos_job *job = kernels->job;
  struct lumos_numbering of_op = {0}; /* kernels of one name in one op */
  uint32_t *numbers = lumos_allocate(job->tasks.count * sizeof *numbers);
  uint32_t *spans = lumos_allocate(job->tasks.count * sizeof *spans);
  uint32_t *counts = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *counts); /* by number */
  uint32_t *of_span = lumos_allocate_zeroed(job->spans.count + 1, sizeof *of_span);
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    bool moves = class_of(task->kind) == MOVING && lumos_on_stream(job, task);
    spans[t] = moves ? lumos_shaped_op(job, task) : LUMOS_NONE;
    if (spans[t] != LUMOS_NONE) {
      numbers[t] = lumos_number_of(&of_op, lumos_key_pair(spans[t], task->name));
      counts[numbers[t]]++;
      of_span[spans[t]]++;
    }
  }
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    /* Of an op whose kernels do several things, its inputs do not say what each of them moves. */
    if (spans[t] == LUMOS_NONE || of_span[spans[t]] != counts[numbers[t]]) {
      continue;
    }
    const struct lumos_task *task = &job->tasks.items[t];
    const struct lumos_span *span = &job->spans.items[spans[t]];
    const char *op = lumos_string(job->strings, span->name);
    struct lumos_traffic traffic =
        lumos_bytes_moved((enum lumos_task_kind)task->kind, op, lumos_string(job->strings, span->shapes),
                          lumos_string(job->strings, span->dtypes));
    double bytes = (traffic.read + traffic.written) / counts[numbers[t]];
    if (bytes > 0) {
      struct work work = {.class = MOVING, .shaped = true, .shape = {.bytes = bytes}};
      uint32_t family = lumos_number_of(&gathering->families, lumos_key_pair(task->name, span->name));
      uint64_t shape = mixed(lumos_key_pair(span->shapes, span->dtypes), counts[numbers[t]]);
      add_work(gathering, t, work, family, shape);
      add_line(gathering, family, bytes, (double)task->dur * gathering->speeds[t]);
    }
  }
  free(counts);
  free(of_span);
  lumos_numbering_free(&of_op);
  free(numbers);
  free(spans);
}

/* ---- Floors ---- */

static int by_size(const void *left, const void *right) {
  const int64_t *a = left, *b = right;
  return LUMOS_ORDER(*a, *b);
}

/* One kernel in fifty is shorter: what lies there is start and end of a kernel that moves next to nothing. Not more
 * than 5 us, which is a job without short kernels. */
static double floor_of(const struct lumos_job *job) {
  enum { ONE_IN = 50, MOST = 5000, USUAL = 2000 };
  LUMOS_VECTOR(int64_t) times = {0};
  for (size_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (class_of(task->kind) == MOVING && task->dur > 0) {
      lumos_vector_push(&times, task->dur);
    }
  }
  lumos_vector_sort(&times, by_size);
  size_t at = times.count / ONE_IN;
  double floor = times.count == 0 ? USUAL : (double)times.items[at];
  lumos_vector_free(&times);
  return fmin(floor, MOST);
}

/* Where a family has shapes of several sizes, the line through the smallest and the largest shows what it takes to move
 * nothing. */
static void find_floors(struct gathering *gathering) {
  enum { APART = 4 }; /* times as large. Chosen */
  struct lumos_kernels *kernels = gathering->kernels;
  for (size_t i = 0; i < gathering->family_of.count; i++) {
    struct work *work = &kernels->works.items[i];
    uint32_t family = gathering->family_of.items[i];
    if (work->class != MOVING || family >= gathering->lines.count) {
      continue;
    }
    const struct line *line = &gathering->lines.items[family];
    double floor = kernels->floor;
    if (line->least > 0 && line->most >= APART * line->least) {
      double slope = (line->most_ns - line->least_ns) / (line->most - line->least);
      floor = fmin(fmax(line->least_ns - slope * line->least, 0), line->least_ns);
    }
    lumos_vector_push(&kernels->floors, floor);
    work->floor = (uint32_t)kernels->floors.count;
  }
}

/* ---- All together ---- */

struct lumos_kernels *lumos_kernels_fit(const struct lumos_job *job, const struct lumos_hardware *hardware) {
  /* Where there are too few shapes to leave any out. Chosen; of constants as what single ratios were found to be off
   * (SimAI: up to 25 %). */
  static const struct lumos_duration assumed[LUMOS_DURATION_SOURCES] = {
      [LUMOS_OF_FAMILY] = {.common = 0.05, .own = 0.1},
      [LUMOS_OF_MODEL] = {.common = 0.15, .own = 0.15},
      [LUMOS_OF_CONSTANTS] = {.common = 0.25, .own = 0.2}};
  struct lumos_kernels *kernels = lumos_allocate_zeroed(1, sizeof *kernels);
  double *speeds = lumos_measured_speeds(job);
  struct gathering gathering = {.kernels = kernels, .speeds = speeds};
  kernels->job = job;
  kernels->devices = lumos_allocate_zeroed(job->ranks.count + 1, sizeof(const struct lumos_device *));
  kernels->work_of = lumos_allocate_zeroed(job->tasks.count + 1, sizeof *kernels->work_of);
  for (size_t r = 0; r < job->ranks.count; r++) {
    kernels->devices[r] = lumos_hardware_find(hardware, lumos_string(job->strings, job->ranks.items[r].device_name));
  }
  kernels->floor = floor_of(job);
  add_products(&gathering);
  add_moving(&gathering);
  find_floors(&gathering);
  for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
    lumos_calibration_observe(&kernels->calibrations[kind], &gathering.observations[kind]);
    lumos_calibration_judge(&kernels->calibrations[kind], assumed);
    lumos_numbering_free(&gathering.shapes[kind]);
    lumos_vector_free(&gathering.observations[kind]);
  }
  free(speeds);
  lumos_numbering_free(&gathering.families);
  lumos_vector_free(&gathering.lines);
  lumos_vector_free(&gathering.family_of);
  return kernels;
}

void lumos_kernels_free(struct lumos_kernels *kernels) {
  if (kernels != NULL) {
    for (int kind = 0; kind < LUMOS_TASK_KINDS; kind++) {
      lumos_calibration_free(&kernels->calibrations[kind]);
    }
    lumos_vector_free(&kernels->works);
    lumos_vector_free(&kernels->floors);
    free(kernels->devices);
    free(kernels->work_of);
    free(kernels);
  }
}

static double floor_under(const struct lumos_kernels *kernels, const struct work *work, int64_t dur) {
  double floor = work != NULL && work->floor != 0 ? kernels->floors.items[work->floor - 1] : kernels->floor;
  return fmin(floor, (double)dur);
}

/* ---- Another GPU ---- */

static double ratio_of(double from, double to) { return from > 0 && to > 0 ? from / to : 1; }

/* To and from the CPU's memory by their link, else within the GPU's. */
static double copy_factor(const char *name, const struct lumos_device *from, const struct lumos_device *to) {
  bool by_link = strstr(name, "HtoD") != NULL || strstr(name, "DtoH") != NULL || strstr(name, "HostToDevice") != NULL ||
                 strstr(name, "DeviceToHost") != NULL;
  return by_link ? ratio_of(from->host_link, to->host_link) : ratio_of(from->bandwidth, to->bandwidth);
}

/* Of SMs of one architecture, whose arithmetic goes with their number and clock; others cannot be compared. */
static double cores_ratio(const struct lumos_device *from, const struct lumos_device *to) {
  static const double ALIKE =
      1.4; /* an A10's SM has 2.4 times the arithmetic of an A100's, an H20's 1.1 times an H100's */
  double own = from->sms > 0 ? from->peaks[LUMOS_FP32] / from->sms : 0;
  double other = to->sms > 0 ? to->peaks[LUMOS_FP32] / to->sms : 0;
  bool alike = from->architecture == to->architecture && from->architecture != LUMOS_NO_ARCHITECTURE && own > 0 &&
               other > 0 && own / other < ALIKE && other / own < ALIKE;
  return alike ? ratio_of(from->peaks[LUMOS_FP32], to->peaks[LUMOS_FP32]) : ratio_of(from->bandwidth, to->bandwidth);
}

static double factor_without_shape(const struct lumos_kernels *kernels, const struct lumos_task *task,
                                   const struct lumos_device *from, const struct lumos_device *to) {
  const char *name = lumos_string(kernels->job->strings, task->name);
  if (lumos_is_copy(task->kind)) {
    return copy_factor(name, from, to);
  }
  enum class class = class_of(task->kind);
  if ((class == PRODUCT || class == ATTENTION) && !lumos_is_helper_kernel(name)) {
    enum lumos_dtype dtype = lumos_dtype_of_kernel(name);
    return ratio_of(lumos_reached_peak(from, dtype), lumos_reached_peak(to, dtype));
  }
  double by_memory = ratio_of(from->bandwidth, to->bandwidth);
  /* Some of these wait for memory, others for SMs (moving_factor). */
  bool either = task->kind == LUMOS_ELEMENTWISE || task->kind == LUMOS_NORM;
  return either ? sqrt(by_memory * cores_ratio(from, to)) : by_memory;
}

/* Two libraries' kernels: what the best products of nine GPUs of two vendors reach of their peaks (0.51 to 0.87) has,
 * as a logarithm, a standard deviation of 0.17. Of other kinds nothing is published, so they have it, too; but
 * attention, whose kernels are written for each vendor by other people, is known to reach between a fifth (Triton's on
 * MI300X) and three quarters of a peak (FlashAttention-3 on H100): anything between on either GPU is a standard
 * deviation of 0.54, by which it may take 1.72 times as long. */
static const double OTHER_LIBRARY[] = {[OTHER] = 0.17, [PRODUCT] = 0.17, [ATTENTION] = 0.72, [MOVING] = 0.17};

static bool same_library(const struct lumos_device *from, const struct lumos_device *to) {
  return (from->architecture == LUMOS_CDNA) == (to->architecture == LUMOS_CDNA);
}

/* Of another GPU's kernels only data sheets tell, and which kernels its libraries choose nobody knows. In common: of
 * products, from the spread of what the best reach on GPUs of one vendor (0.73 to 0.87); of attention, as
 * FlashAttention-2 and 3 reach between a third and three quarters of one GPU's peak; the rest chosen. With another
 * vendor's GPU also what its libraries do otherwise. By kernel: on this GPU shapes lie so far from their model, as
 * leaving them out shows; on the other one they lie as far, and nothing says that they do so in the same way. But it is
 * the same work on both: no more than twice as long or half, nine times in ten. */
static struct lumos_duration error_of(const struct lumos_kernels *kernels, uint32_t task,
                                      const struct lumos_device *from, const struct lumos_device *to, bool shaped) {
  static const double common[] = {[OTHER] = 0.25, [PRODUCT] = 0.08, [ATTENTION] = 0.3, [MOVING] = 0.06};
  enum { UNSHAPED = 2, GPUS = 2 }; /* where the shape is not known, twice as far off. Chosen */
  static const double MOST = 0.42; /* log(2) / 1.645. Chosen */
  uint8_t kind = kernels->job->tasks.items[task].kind;
  enum class class = class_of(kind);
  double off = class == OTHER ? common[OTHER] : kernels->calibrations[kind].off;
  return (struct lumos_duration){
      .common = hypot((shaped ? 1 : UNSHAPED) * common[class], same_library(from, to) ? 0 : OTHER_LIBRARY[class]),
      .own = fmin(sqrt(GPUS) * off, MOST),
      .source = shaped ? LUMOS_OF_MODEL : LUMOS_OF_CONSTANTS};
}

/* A kernel that leaves memory idle on its own GPU waits for its SMs, and more bandwidth does not help it; less does
 * harm, once its bytes take longer. Recorded on an H100 and an H200 (examples/pairs): elementwise kernels and norms
 * that moved over nine tenths of the data sheet's bandwidth took 0.69 to 0.74 times as long there, as the bandwidths
 * say (0.70); those that moved under three quarters 0.92 to 1.0 times, sums 0.78 to 1.0; between, both. In the own
 * error: half the way between the two. More bytes than memory gives are not its bytes. */
static double moving_factor(const struct lumos_device *from, const struct lumos_device *to, double bytes, double ns,
                            bool again, double *unsure) {
  static const double IDLE = 0.75, BUSY = 0.9, IMPOSSIBLE = 1.15;
  double by_memory = ratio_of(from->bandwidth, to->bandwidth), by_cores = cores_ratio(from, to);
  double busy = ns > 0 && from->bandwidth > 0 ? bytes / from->bandwidth / ns : 1;
  double bound = fmax(fmin((busy - IDLE) / (BUSY - IDLE), 1), 0);
  bool known = busy <= IMPOSSIBLE && !again;
  *unsure = (known ? 2 * bound * (1 - bound) : 0.5 * (1 - bound)) * fabs(log(by_memory / by_cores));
  bound = known && by_memory < by_cores ? bound : 1;
  double least = ns > 0 ? lumos_moving_time(to, bytes) / ns : 0;
  double factor = exp(bound * log(by_memory) + (1 - bound) * log(by_cores));
  /* by_memory >= by_cores: memory becomes what it waits for, or stays it */
  return by_memory >= by_cores && known ? fmax(fmin(factor, least), by_cores) : factor;
}

/* PyTorch's own softmax goes over a long row two or three times. */
static bool rereads(const struct lumos_job *job, const struct lumos_task *task) {
  uint32_t span = lumos_shaped_op(job, task);
  const char *op = span == LUMOS_NONE ? "" : lumos_string(job->strings, job->spans.items[span].name);
  return strncmp(op, "aten::", 6) == 0 && strstr(op, "softmax") != NULL;
}

struct lumos_duration lumos_kernel_on(const struct lumos_kernels *kernels, uint32_t task,
                                      const struct lumos_device *to) {
  static const struct lumos_tile any = {0, 0};
  const struct lumos_task *of = &kernels->job->tasks.items[task];
  const struct lumos_device *from = device_of(kernels, task);
  const struct work *work = kernels->work_of[task] == 0 ? NULL : &kernels->works.items[kernels->work_of[task] - 1];
  struct lumos_duration found = error_of(kernels, task, from, to, work != NULL);
  double floor = floor_under(kernels, work, of->dur), unsure = 0;
  double factor = work == NULL            ? factor_without_shape(kernels, of, from, to)
                  : work->class == MOVING ? moving_factor(from, to, work->shape.bytes, (double)of->dur - floor,
                                                          rereads(kernels->job, of), &unsure)
                                          : ratio_of(time_of(to, work, any), time_of(from, work, any));
  found.own = hypot(found.own, unsure);
  found.ns = floor + ((double)of->dur - floor) * factor;
  return found;
}

/* ---- Another shape ---- */

static struct lumos_product_shape resized(const struct work *work, const struct lumos_resized *now) {
  const struct lumos_product_shape *shape = &work->shape;
  struct lumos_product_shape result = *shape;
  result.rows = now->rows;
  result.inner = now->inner;
  result.columns = now->columns;
  result.batches = now->batches;
  result.flops *= now->flops;
  double were = elements_of(shape, work->output), are = elements_of(&result, work->output);
  result.bytes *=
      work->class == PRODUCT && were > 0 && are > 0 ? are / were : now->bytes; /* an op's shapes are of its inputs */
  return result;
}

/* What is calibrated on shapes of this kind, of the work as recorded and as resized. */
static struct lumos_duration calibrated(const struct lumos_kernels *kernels, uint32_t task, const struct work *work,
                                        struct lumos_tile tile, uint64_t key) {
  return lumos_calibrated_duration(
      &kernels->calibrations[kernels->job->tasks.items[task].kind],
      (struct lumos_measured_shape){.shape = key,
                                    .family = work->family,
                                    .class = (uint64_t)work->shape.dtype,
                                    .model = kernels->floor + time_of(device_of(kernels, task), work, tile)});
}

/* Without a model: the time above the floor goes with what it multiplies or moves. */
static struct lumos_duration scaled(const struct lumos_kernels *kernels, uint32_t task, double factor, double floor,
                                    bool assumed) {
  const struct lumos_task *of = &kernels->job->tasks.items[task];
  enum lumos_duration_source source = assumed ? LUMOS_OF_CONSTANTS : LUMOS_OF_FAMILY;
  struct lumos_duration found = kernels->calibrations[of->kind].errors[source];
  found.ns = floor + ((double)of->dur - floor) * factor;
  found.source = source;
  return found;
}

/* Clocks follow the load: the less of the step other kernels have, the slower products are. From one recording to the
 * next, 54 of an H100 and 23 of an H200 (as of examples/pairs), the same model lies off by so much more or less: a
 * standard deviation. */
static const double OTHER_LOAD = 0.025;

struct lumos_duration lumos_kernel_resized(const struct lumos_kernels *kernels, uint32_t task,
                                           const struct lumos_resized *now) {
  static const struct lumos_tile any = {0, 0};
  const struct lumos_task *of = &kernels->job->tasks.items[task];
  const struct work *work = kernels->work_of[task] == 0 ? NULL : &kernels->works.items[kernels->work_of[task] - 1];
  bool multiplies = work != NULL && work->class != MOVING;
  if (work == NULL || !work->shaped || device_of(kernels, task) == NULL) {
    return scaled(kernels, task, multiplies ? now->flops : now->bytes, floor_under(kernels, work, of->dur),
                  now->assumed);
  }
  struct work after = *work;
  after.shape = resized(work, now);
  struct lumos_duration before = calibrated(kernels, task, work, tile_of(kernels, of), work->key);
  struct lumos_duration found = calibrated(kernels, task, &after, any, 0);
  found.ns = (double)of->dur * found.ns / before.ns;
  found.common = work->class == PRODUCT ? hypot(found.common, OTHER_LOAD) : found.common;
  return found;
}
