/* The command line, read by one table of options; what does not go together is refused here, so that nobody else has to
 * check. */
#include "setup.h"

#include "hardware.h"
#include "memory.h"
#include "nccl_version.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 16384, MOST_LAYERS = 4096, MOST_SIZE = 1 << 20, MOST_STEPS = 1000, MOST_FACTOR = 1000000 };
static const double most_elements = (double)((int64_t)1 << 39); /* of a tensor, and parameters of a rank */

/* ---- names ---- */

static const char *const mechanism_names[MECHANISMS] = {
    [MECHANISM_HOST] = "host",
    [MECHANISM_HOST_JITTER] = "host-jitter",
    [MECHANISM_LATENCY] = "latency",
    [MECHANISM_KERNEL_JITTER] = "kernel-jitter",
    [MECHANISM_VARIETY] = "variety",
    [MECHANISM_WAVES] = "waves",
    [MECHANISM_LAUNCH_QUEUE] = "launch-queue",
    [MECHANISM_CONTENTION] = "contention",
    [MECHANISM_FREE_SMS] = "free-sms",
    [MECHANISM_SHARED_LINKS] = "shared-links",
    [MECHANISM_THROTTLE] = "throttle",
    [MECHANISM_COLLECTIVE_SKEW] = "collective-skew",
    [MECHANISM_PROFILER] = "profiler",
    [MECHANISM_CLOCKS] = "clocks",
};

static const char *const schedule_names[SCHEDULES] = {
    [SCHEDULE_1F1B] = "1f1b",
    [SCHEDULE_GPIPE] = "gpipe",
    [SCHEDULE_INTERLEAVED] = "interleaved",
    [SCHEDULE_ZERO_BUBBLE] = "zb-h1",
};

static const char *const scaled_names[SCALED] = {
    [SCALED_HOST] = "host",
    [SCALED_DEVICE] = "device",
    [SCALED_COMMUNICATION] = "communication",
    [SCALED_GEMM] = "gemm",
    [SCALED_ATTENTION] = "attention",
    [SCALED_ELEMENTWISE] = "elementwise",
    [SCALED_NORM] = "norm",
    [SCALED_REDUCTION] = "reduction",
    [SCALED_OPTIMIZER] = "optimizer",
    [SCALED_EMBEDDING] = "embedding",
    [SCALED_COPY] = "copy",
    [SCALED_MEMSET] = "memset",
    [SCALED_ALL_REDUCE] = "all-reduce",
    [SCALED_ALL_GATHER] = "all-gather",
    [SCALED_REDUCE_SCATTER] = "reduce-scatter",
    [SCALED_BROADCAST] = "broadcast",
    [SCALED_P2P] = "p2p",
    [SCALED_ALL_TO_ALL] = "all-to-all",
    [SCALED_PART_EMBEDDING] = "part-embedding",
    [SCALED_PART_HEAD] = "part-head",
    [SCALED_PART_OPTIMIZER] = "part-optimizer",
};

static const char *const left_out_names[LEFT_OUT] = {
    [LEFT_OUT_ELEMENTWISE] = "elementwise", [LEFT_OUT_NORM] = "norm",
    [LEFT_OUT_REDUCTION] = "reduction",     [LEFT_OUT_OPTIMIZER] = "optimizer",
    [LEFT_OUT_EMBEDDING] = "embedding",     [LEFT_OUT_COPY] = "copy",
    [LEFT_OUT_MEMSET] = "memset",           [LEFT_OUT_ALL_REDUCE] = "all-reduce",
    [LEFT_OUT_GRADIENTS] = "gradients",
};

static const char *const recorded_names[RECORDED] = {"shapes", "sync", "stacks", "annotations", "collectives"};

static const char *const graphs_names[GRAPHS] = {"off", "layers", "passes"};

static const char *const form_names[FORMS] = {"2026", "2024", "2022", "cuda"};

static const char *const switch_names[] = {"off", "on"};
static const char *const recompute_names[RECOMPUTES] = {"none", "full", "selective"};

const char *setup_mechanism_name(enum mechanism mechanism) { return mechanism_names[mechanism]; }
const char *setup_schedule_name(enum schedule schedule) { return schedule_names[schedule]; }
const char *setup_form_name(enum form form) { return form_names[form]; }
const char *setup_graphs_name(enum graphs graphs) { return graphs_names[graphs]; }
const char *setup_recompute_name(enum recompute recompute) { return recompute_names[recompute]; }
const char *setup_recorded_name(int bit) { return recorded_names[bit]; }
const char *setup_scaled_name(enum scaled scaled) { return scaled_names[scaled]; }
const char *setup_left_out_name(enum left_out left_out) { return left_out_names[left_out]; }

/* Published models: what --model sets. */
static const struct preset {
  const char *name;
  int layers, hidden, heads, sequence, vocabulary;
} presets[] = {
    {"gpt3-125m", 12, 768, 12, 2048, 51200},   {"gpt3-1.3b", 24, 2048, 16, 2048, 51200},
    {"gpt3-6.7b", 32, 4096, 32, 2048, 51200},  {"gpt3-13b", 40, 5120, 40, 2048, 51200},
    {"gpt3-175b", 96, 12288, 96, 2048, 51200},
};

/* ---- the table of options ---- */

/* Options about a rank, each given for as many as are so. */
enum slow { SLOW_DEVICE, SLOW_HOST, SLOW_LINK, SLOW_DATA, SLOW };

struct reading {
  struct setup *setup;
  const char *ranks, *stage_layers; /* as given: read when their number is known */
  struct of_ranks {
    const struct option *option;
    const char *texts[MOST_SLOW];
    int count;
  } slow[SLOW];
};

struct option {
  const char *name, *argument, *help;
  bool (*read)(const struct option *option, struct reading *reading, const char *text);
  size_t offset;            /* in struct setup; of an option about a rank: enum slow */
  double least, most;       /* of a number */
  const char *const *names; /* of a choice */
  int name_count;
};

static bool complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static bool complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("emulated-cluster: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  return false;
}

/* " from 1 to 64" behind what is wanted, where it has limits. */
static const char *limits(const struct option *option, char *room, size_t size) {
  room[0] = '\0';
  if (option->most > option->least) {
    snprintf(room, size, " from %.10g to %.10g", option->least, option->most);
  }
  return room;
}

static bool refuse(const struct option *option, const char *text) {
  char room[64];
  return complain("--%s %s: %s%s is wanted; see --help", option->name, text, option->argument,
                  limits(option, room, sizeof room));
}

/* Digits up to `end`, and nothing else: no sign, no blank. */
static bool whole(const char *text, const char *end, int64_t *value) {
  enum { MOST_DIGITS = 15 };
  int64_t sum = 0;
  bool good = text < end && end - text <= MOST_DIGITS;
  for (; good && text < end; text++) {
    good = *text >= '0' && *text <= '9';
    sum = sum * 10 + (*text - '0');
  }
  *value = sum;
  return good;
}

/* A decimal number without a sign. */
static bool number(const char *text, double *value) {
  char *end = NULL;
  errno = 0;
  *value = strtod(text, &end);
  return ((*text >= '0' && *text <= '9') || *text == '.') && text[strspn(text, "0123456789.eE+-")] == '\0' &&
         *end == '\0' && errno == 0;
}

static bool number_within(const char *text, double least, double most, double *value) {
  return number(text, value) && *value >= least && *value <= most;
}

static void *field(const struct option *option, struct reading *reading) {
  return (char *)reading->setup + option->offset;
}

static bool read_integer(const struct option *option, struct reading *reading, const char *text) {
  int64_t value = 0;
  if (!whole(text, text + strlen(text), &value) || (double)value < option->least || (double)value > option->most) {
    return refuse(option, text);
  }
  *(int *)field(option, reading) = (int)value;
  return true;
}

static bool read_real(const struct option *option, struct reading *reading, const char *text) {
  double value = 0;
  if (!number_within(text, option->least, option->most, &value)) {
    return refuse(option, text);
  }
  *(double *)field(option, reading) = value;
  return true;
}

/* In a unit of which so many make one of the option's. */
static bool read_units(const struct option *option, struct reading *reading, const char *text, double units) {
  double value = 0;
  if (!number_within(text, option->least, option->most, &value)) {
    return refuse(option, text);
  }
  *(int64_t *)field(option, reading) = llround(value * units);
  return true;
}

static bool read_mega(const struct option *option, struct reading *reading, const char *text) {
  return read_units(option, reading, text, 1e6);
}

static bool read_microseconds(const struct option *option, struct reading *reading, const char *text) {
  return read_units(option, reading, text, 1e3);
}

static bool read_seed(const struct option *option, struct reading *reading, const char *text) {
  char *end = NULL;
  errno = 0;
  unsigned long long value = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || errno != 0) {
    return refuse(option, text);
  }
  reading->setup->seed = value;
  return true;
}

static int index_of(const char *const *names, int count, const char *text, size_t length) {
  for (int i = 0; i < count; i++) {
    if (strlen(names[i]) == length && strncmp(names[i], text, length) == 0) {
      return i;
    }
  }
  return -1;
}

static bool read_switch(const struct option *option, struct reading *reading, const char *text) {
  int found = index_of(option->names, option->name_count, text, strlen(text));
  if (found < 0) {
    return refuse(option, text);
  }
  *(bool *)field(option, reading) = found == 1;
  return true;
}

/* One of the names, by its number. */
static bool read_choice(const struct option *option, struct reading *reading, const char *text) {
  int found = index_of(option->names, option->name_count, text, strlen(text));
  if (found < 0) {
    return refuse(option, text);
  }
  *(int *)field(option, reading) = found;
  return true;
}

static bool read_schedule(const struct option *option, struct reading *reading, const char *text) {
  int found = index_of(schedule_names, SCHEDULES, text, strlen(text));
  if (found < 0) {
    return refuse(option, text);
  }
  reading->setup->parallel.schedule = (enum schedule)found;
  return true;
}

static bool read_model(const struct option *option, struct reading *reading, const char *text) {
  for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
    if (strcmp(presets[i].name, text) == 0) {
      struct model *model = &reading->setup->model;
      model->layers = presets[i].layers;
      model->hidden = presets[i].hidden;
      model->heads = presets[i].heads;
      model->sequence = presets[i].sequence;
      model->vocabulary = presets[i].vocabulary;
      return true;
    }
  }
  return refuse(option, text);
}

static bool read_gpu(const struct option *option, struct reading *reading, const char *text) {
  const struct gpu *gpu = gpu_find(text);
  if (gpu == NULL) {
    return refuse(option, text);
  }
  reading->setup->gpu = gpu;
  return true;
}

static bool read_nccl(const struct option *option, struct reading *reading, const char *text) {
  const struct nccl_version *version = nccl_version_find(text);
  if (version == NULL) {
    return refuse(option, text);
  }
  reading->setup->nccl = version;
  return true;
}

/* The words of a list, one after the other. */
static const char *next_word(const char **rest, size_t *length) {
  const char *word = *rest;
  *length = strcspn(word, ",");
  *rest = word[*length] == ',' ? word + *length + 1 : NULL;
  return word;
}

/* --without A,B switches these off; --only A,B all others; --ideal everything. */
static bool read_mechanisms(const struct option *option, struct reading *reading, const char *text) {
  bool only = strcmp(option->name, "only") == 0;
  bool *mechanisms = reading->setup->mechanisms;
  for (int i = 0; only && i < MECHANISMS; i++) {
    mechanisms[i] = false;
  }
  for (const char *rest = text; rest != NULL;) {
    size_t length = 0;
    const char *word = next_word(&rest, &length);
    int found = index_of(mechanism_names, MECHANISMS, word, length);
    if (found < 0) {
      return complain("--%s: no mechanism is called '%.*s'; see --help", option->name, (int)length, word);
    }
    mechanisms[found] = only;
  }
  return true;
}

static bool read_ideal(const struct option *option, struct reading *reading, const char *text) {
  (void)option;
  (void)text;
  memset(reading->setup->mechanisms, 0, sizeof reading->setup->mechanisms);
  return true;
}

static bool read_record(const struct option *option, struct reading *reading, const char *text) {
  unsigned recorded = 0;
  for (const char *rest = text; rest != NULL;) {
    size_t length = 0;
    const char *word = next_word(&rest, &length);
    int found = index_of(recorded_names, RECORDED, word, length);
    if (found >= 0) {
      recorded |= 1U << found;
    } else if (length == 3 && strncmp(word, "all", length) == 0) {
      recorded = (1U << RECORDED) - 1;
    } else if (length != 4 || strncmp(word, "none", length) != 0) {
      return refuse(option, text);
    }
  }
  reading->setup->recorded = recorded;
  return true;
}

/* Factors for one thing multiply. */
static bool multiply(const struct option *option, const char *text, double factor, double *product) {
  *product *= factor;
  return *product <= option->most ||
         complain("--%s %s: with those before it, more than %.10g", option->name, text, option->most);
}

static bool read_scale(const struct option *option, struct reading *reading, const char *text) {
  const char *equals = strchr(text, '=');
  double factor = 0;
  int found = equals == NULL ? -1 : index_of(scaled_names, SCALED, text, (size_t)(equals - text));
  if (found < 0 || !number_within(equals + 1, option->least, option->most, &factor)) {
    return refuse(option, text);
  }
  return multiply(option, text, factor, &reading->setup->scale[found]);
}

static bool is_op(const char *word, size_t length) { return length >= 3 && strncmp(word, "op=", 3) == 0; }

static bool leave_out_op(const struct option *option, struct setup *setup, const char *word, size_t length) {
  if (length == 3 || setup->leave_out_op_count == MOST_LEFT_OUT_OPS) {
    return complain("--%s: ops have names, and at most %d of them can be left out", option->name, MOST_LEFT_OUT_OPS);
  }
  char *kept = memory_new(length + 1, 1);
  memcpy(kept, word, length);
  setup->leave_out_ops[setup->leave_out_op_count++] = kept;
  return true;
}

static bool read_left_out(const struct option *option, struct reading *reading, const char *text) {
  for (const char *rest = text; rest != NULL;) {
    size_t length = 0;
    const char *word = next_word(&rest, &length);
    int found = index_of(left_out_names, LEFT_OUT, word, length);
    if (found >= 0) {
      reading->setup->leave_out[found] = true;
    } else if (is_op(word, length)) {
      if (!leave_out_op(option, reading->setup, word, length)) {
        return false;
      }
    } else {
      return complain("--%s: no work that can be left out is called '%.*s'; see --help", option->name, (int)length,
                      word);
    }
  }
  return true;
}

static bool read_fused(const struct option *option, struct reading *reading, const char *text) {
  for (const char *rest = text; rest != NULL;) {
    size_t length = 0;
    const char *word = next_word(&rest, &length);
    int found = index_of(left_out_names, LEFT_OUT_EMBEDDING + 1, word, length);
    if (found < 0) {
      return complain("--%s: no kernels that can be fused are called '%.*s'; see --help", option->name, (int)length,
                      word);
    }
    reading->setup->fuse[found] = true;
  }
  return true;
}

static bool read_contention(const struct option *option, struct reading *reading, const char *text) {
  const char *comma = strchr(text, ',');
  char first[32];
  double compute = 0, transfer = 0;
  snprintf(first, sizeof first, "%.*s", comma == NULL ? 0 : (int)(comma - text), text);
  if (comma == NULL || comma - text >= (int)sizeof first ||
      !number_within(first, option->least, option->most, &compute) ||
      !number_within(comma + 1, option->least, option->most, &transfer)) {
    return refuse(option, text);
  }
  reading->setup->contention_compute = compute;
  reading->setup->contention_transfer = transfer;
  return true;
}

/* Read when the number of ranks is known. */
static bool read_ranks(const struct option *option, struct reading *reading, const char *text) {
  (void)option;
  reading->ranks = text;
  return true;
}

static bool read_stage_layers(const struct option *option, struct reading *reading, const char *text) {
  (void)option;
  reading->stage_layers = text;
  return true;
}

static bool read_slow(const struct option *option, struct reading *reading, const char *text) {
  struct of_ranks *slow = &reading->slow[option->offset];
  if (slow->count == MOST_SLOW) {
    return complain("--%s: at most %d times", option->name, MOST_SLOW);
  }
  slow->option = option;
  slow->texts[slow->count++] = text;
  return true;
}

static bool read_flag(const struct option *option, struct reading *reading, const char *text) {
  (void)text;
  *(bool *)field(option, reading) = true;
  return true;
}

#define AT(member) offsetof(struct setup, member)
static const struct option options[] = {
    {NULL, "The model", NULL, NULL, 0, 0, 0, NULL, 0},
    {"model", "NAME", "gpt3-125m, gpt3-1.3b, gpt3-6.7b, gpt3-13b or gpt3-175b; what follows changes it", read_model, 0,
     0, 0, NULL, 0},
    {"layers", "N", "transformer layers (4)", read_integer, AT(model.layers), 1, MOST_LAYERS, NULL, 0},
    {"hidden", "N", "(2048)", read_integer, AT(model.hidden), 8, MOST_SIZE, NULL, 0},
    {"ffn", "N", "(4 x hidden)", read_integer, AT(model.ffn), 8, MOST_SIZE, NULL, 0},
    {"heads", "N", "(hidden / 128)", read_integer, AT(model.heads), 1, MOST_SIZE, NULL, 0},
    {"head-dim", "N", "(hidden / heads)", read_integer, AT(model.head_dim), 1, MOST_SIZE, NULL, 0},
    {"seq", "N", "tokens in a sequence (2048)", read_integer, AT(model.sequence), 1, MOST_SIZE, NULL, 0},
    {"vocab", "N", "(51200)", read_integer, AT(model.vocabulary), 1, MOST_SIZE, NULL, 0},
    {"experts", "N", "feed-forward blocks of a layer, of which a token takes --top-k; 0: one for all (0)", read_integer,
     AT(model.experts), 0, 4096, NULL, 0},
    {"top-k", "N", "experts that a token takes (2)", read_integer, AT(model.top_k), 1, 64, NULL, 0},
    {"micro-batch", "N", "sequences in a micro-batch (1)", read_integer, AT(model.micro_batch), 1, 4096, NULL, 0},
    {"micro-batches", "N", "of one replica in a step (4)", read_integer, AT(model.micro_batches), 1, 16384, NULL, 0},
    {NULL, "How it is spread", NULL, NULL, 0, 0, 0, NULL, 0},
    {"tp", "N", "tensor-parallel ranks (1)", read_integer, AT(parallel.tensor), 1, 64, NULL, 0},
    {"pp", "N", "pipeline stages (1)", read_integer, AT(parallel.pipeline), 1, 256, NULL, 0},
    {"dp", "N", "data-parallel replicas (1)", read_integer, AT(parallel.data), 1, MOST_RANKS, NULL, 0},
    {"cp", "N", "context-parallel ranks, each with a part of every sequence (1)", read_integer, AT(parallel.context), 1,
     64, NULL, 0},
    {"ep", "N", "ranks in a row that share --experts (1)", read_integer, AT(parallel.expert), 1, MOST_RANKS, NULL, 0},
    {"stage-layers", "LIST", "layers of each stage, such as 6,4,4,2, in place of --layers", read_stage_layers, 0, 0, 0,
     NULL, 0},
    {"vp", "N", "model chunks of a stage, with --schedule interleaved (1)", read_integer, AT(parallel.chunks), 1, 64,
     NULL, 0},
    {"schedule", "NAME", "1f1b, gpipe, interleaved or zb-h1 (1f1b)", read_schedule, 0, 0, 0, NULL, 0},
    {"sequence-parallel", "on|off", "(off)", read_switch, AT(parallel.sequence_parallel), 0, 0, switch_names, 2},
    {"distributed-optimizer", "on|off", "(off)", read_switch, AT(parallel.distributed_optimizer), 0, 0, switch_names,
     2},
    {"fsdp", "on|off", "replicas have shares of parameters, gathered layer by layer for each pass (off)", read_switch,
     AT(parallel.fully_sharded), 0, 0, switch_names, 2},
    {"recompute", "none|full|selective", "layers in the backward pass, or their core attention alone (none)",
     read_choice, AT(parallel.recompute), 0, 0, recompute_names, RECOMPUTES},
    {"overlap-gradients", "on|off", "reduce gradients during the last backward pass (on)", read_switch,
     AT(parallel.overlap_gradients), 0, 0, switch_names, 2},
    {"batched-p2p", "on|off", "a send and a receive side by side are one kernel (on)", read_switch,
     AT(parallel.batched_p2p), 0, 0, switch_names, 2},
    {"bucket-mb", "MB", "of gradients reduced at once (100)", read_mega, AT(parallel.bucket_bytes), 0.001, 1e6, NULL,
     0},
    {"graphs", "off|layers|passes", "captured: a layer's kernels, or a pass's, are launched by one call (off)",
     read_choice, AT(graphs), 0, 0, graphs_names, GRAPHS},
    {"prepare", "on|off", "inputs are masked on the copy stream: a memset and a kernel (off)", read_switch,
     AT(parallel.prepares_inputs), 0, 0, switch_names, 2},
    {"pageable", "on|off", "copies from and to the host pass through their calls (off)", read_switch, AT(pageable), 0,
     0, switch_names, 2},
    {"scarce-memory", "on|off", "the allocator waits, and frees memory, before logits; no row tells of the wait (off)",
     read_switch, AT(scarce_memory), 0, 0, switch_names, 2},
    {NULL, "The machine", NULL, NULL, 0, 0, 0, NULL, 0},
    {"gpu", "NAME", "a100, h100, h200 or b200 (h100)", read_gpu, 0, 0, 0, NULL, 0},
    {"nccl", "VERSION", "2.17.1, 2.28.9 or 2.29.7 (2.28.9)", read_nccl, 0, 0, 0, NULL, 0},
    {"node-size", "N", "GPUs in a node (8)", read_integer, AT(network.node_size), 1, 1024, NULL, 0},
    {"nic-bandwidth", "GB/s", "of a GPU between nodes, one direction (50)", read_real, AT(network.nic_bandwidth), 0.001,
     1e5, NULL, 0},
    {"nic-latency", "US", "of a hop between nodes (5)", read_microseconds, AT(network.nic_latency), 0, 1e6, NULL, 0},
    {"queue-depth", "N", "launches that a stream holds (1020)", read_integer, AT(queue_depth), 1, 1 << 20, NULL, 0},
    {"sm-queue", "on|off", "communication starts when all its blocks can, a stream's next kernel first (off)",
     read_switch, AT(sm_queue), 0, 0, switch_names, 2},
    {"contention", "C,T", "a kernel takes C longer beside a transfer, that T longer (0.4,0.1)", read_contention, 0, 0,
     10, NULL, 0},
    {"without", "LIST", "mechanisms that are switched off (below)", read_mechanisms, 0, 0, 0, NULL, 0},
    {"only", "LIST", "all others are", read_mechanisms, 0, 0, 0, NULL, 0},
    {"ideal", NULL, "all are", read_ideal, 0, 0, 0, NULL, 0},
    {"jitter", "X", "how wide everything irregular is, 1 as measured (1)", read_real, AT(jitter), 0, 100, NULL, 0},
    {"seed", "N", "another run of the same job, any number below 2^64 (1)", read_seed, 0, 0, 0, NULL, 0},
    {NULL, "A change, to be compared with a prediction of it", NULL, NULL, 0, 0, 0, NULL, 0},
    {"scale", "WHAT=X", "its time X times as long (below); repeated, factors multiply", read_scale, 0, 0, MOST_FACTOR,
     NULL, 0},
    {"leave-out", "LIST", "work of these kinds (below) or ops, as op=NAME, is not done", read_left_out, 0, 0, 0, NULL,
     0},
    {"fuse", "LIST", "kernels of these kinds (elementwise to embedding, below) in a row are one", read_fused, 0, 0, 0,
     NULL, 0},
    {"straggler", "RANK=X", "a rank whose kernels take X times as long; up to 64 of them", read_slow, SLOW_DEVICE,
     0.001, MOST_FACTOR, NULL, 0},
    {"slow-host", "RANK=X", "a rank whose host work does; up to 64 of them", read_slow, SLOW_HOST, 0.001, MOST_FACTOR,
     NULL, 0},
    {"slow-link", "LINK=X", "a rank, or two (1-3): transfers and groups with it, with both, do; up to 64", read_slow,
     SLOW_LINK, 1, MOST_FACTOR, NULL, 0},
    {"slow-data", "RANK=MS", "a rank that waits so long for the data of each step; up to 64", read_slow, SLOW_DATA,
     0.001, MOST_FACTOR, NULL, 0},
    {"read-back", "N", "values of each layer's output that the host reads, forward (0)", read_integer, AT(read_back), 0,
     1000, NULL, 0},
    {NULL, "What is recorded", NULL, NULL, 0, 0, 0, NULL, 0},
    {"warmup", "N", "steps before the recording (2)", read_integer, AT(warmup), 1, MOST_STEPS, NULL, 0},
    {"steps", "N", "recorded steps (3)", read_integer, AT(steps), 1, MOST_STEPS, NULL, 0},
    {"record", "LIST", "shapes, sync, stacks, annotations, collectives, or all, none (shapes,annotations,collectives)",
     read_record, 0, 0, 0, NULL, 0},
    {"memory", "on|off", "memory events, as by profile_memory (off)", read_switch, AT(memory), 0, 0, switch_names, 2},
    {"form", "NAME", "2026; 2024: collectives without numbers; 2022: none; cuda: no ops (2026)", read_choice, AT(form),
     0, 0, form_names, FORMS},
    {"once", NULL, "not without the profiler, too: in half of the time; the truth has no steps without it", read_flag,
     AT(once), 0, 0, NULL, 0},
    {"unseen", "on|off", "work launched before the recording is not in it, and awaited in its first step (off)",
     read_switch, AT(unseen), 0, 0, switch_names, 2},
    {"sample", "N", "one kernel of so many is recorded (1)", read_integer, AT(sample), 1, 1000, NULL, 0},
    {"device-early", "US", "device rows stand so much too early (0)", read_microseconds, AT(device_early), 0, 1e6, NULL,
     0},
    {"ranks", "LIST", "whose traces are written: all, none, 0,3,8-11 (all)", read_ranks, 0, 0, 0, NULL, 0},
    {"plain", NULL, "rankN.json, not compressed", read_flag, AT(plain), 0, 0, NULL, 0},
    {"quiet", NULL, "no summary", read_flag, AT(quiet), 0, 0, NULL, 0},
};
#undef AT
enum { OPTIONS = sizeof options / sizeof *options };

/* ---- help ---- */

static void list_names(const char *title, const char *const *names, int count) {
  int column = printf("\n%s:", title);
  for (int i = 0; i < count; i++) {
    if (column + (int)strlen(names[i]) > 100) {
      column = printf("\n   ") - 1;
    }
    column += printf(" %s", names[i]);
  }
  putchar('\n');
}

static void help(void) {
  puts("Usage: emulated-cluster [OPTION...] FOLDER\n\n"
       "Runs GPT training on a cluster that does not exist, and writes into FOLDER what a profiler would have recorded "
       "of each\n"
       "rank (rankN.json.gz, as PyTorch's Kineto) and what really happened (truth.json). The same options give the "
       "same bytes.\n\n"
       "FOLDER is made where it is not there. It gets all files at once, when the run is over, or none. Those of an "
       "earlier\n"
       "emulated run in it, rankN.json, rankN.json.gz and truth.json, are replaced or removed. Files of these names "
       "that "
       "no\n"
       "emulated run wrote are never touched: where there are any, nothing is run. Exit status: 0, or 2 after a "
       "message.\n\n"
       "N is a whole number, X a decimal one. At most 16384 ranks (--tp times --cp times --pp times --dp), 2^20 of\n"
       "--heads times --head-dim, 2^39 elements in a tensor, 2^39 parameters in a rank, 104 days in a job.");
  for (int i = 0; i < OPTIONS; i++) {
    if (options[i].name == NULL) {
      printf("\n%s:\n", options[i].argument);
      continue;
    }
    char left[64];
    snprintf(left, sizeof left, "--%s %s", options[i].name, options[i].argument != NULL ? options[i].argument : "");
    char range[64];
    bool limited = *limits(&options[i], range, sizeof range) != '\0';
    printf("  %-32s %s%s%s\n", left, options[i].help, limited ? ";" : "", range);
  }
  puts("  --help, --version");
  list_names("Mechanisms", mechanism_names, MECHANISMS);
  list_names("What can be scaled", scaled_names, SCALED);
  list_names("What can be left out", left_out_names, LEFT_OUT);
  puts("\nExamples:\n"
       "  emulated-cluster --tp 2 --pp 2 --dp 2 --layers 8 --record all traces\n"
       "  emulated-cluster --model gpt3-175b --tp 8 --pp 8 --dp 8 --micro-batches 16 --ranks 0,8,448 traces\n"
       "  emulated-cluster --dp 4 --scale gemm=0.5 traces-with-faster-gemm");
}

/* ---- ranks ---- */

int setup_ranks(const struct setup *setup) {
  return setup->parallel.tensor * setup->parallel.context * setup->parallel.pipeline * setup->parallel.data;
}

struct coordinates setup_coordinates(const struct setup *setup, int rank) {
  const struct parallelism *parallel = &setup->parallel;
  return (struct coordinates){.tensor = rank % parallel->tensor,
                              .context = rank / parallel->tensor % parallel->context,
                              .data = rank / parallel->tensor / parallel->context % parallel->data,
                              .stage = rank / parallel->tensor / parallel->context / parallel->data};
}

int setup_rank_at(const struct setup *setup, struct coordinates at) {
  const struct parallelism *parallel = &setup->parallel;
  return ((at.stage * parallel->data + at.data) * parallel->context + at.context) * parallel->tensor + at.tensor;
}

int setup_stage_layers(const struct setup *setup, int stage) {
  return setup->stage_layers != NULL ? setup->stage_layers[stage] : setup->model.layers / setup->parallel.pipeline;
}

static bool choose_ranks(struct setup *setup, const char *text) {
  int ranks = setup_ranks(setup);
  if (strcmp(text, "none") == 0) {
    return true;
  }
  if (strcmp(text, "all") == 0) {
    memset(setup->record_rank, 1, (size_t)ranks * sizeof *setup->record_rank);
    return true;
  }
  for (const char *rest = text; rest != NULL;) {
    size_t length = 0;
    const char *word = next_word(&rest, &length);
    const char *end = word + length, *dash = memchr(word, '-', length);
    int64_t first = 0, last = 0;
    if (!whole(word, dash == NULL ? end : dash, &first) || !whole(dash == NULL ? word : dash + 1, end, &last)) {
      return complain("--ranks %s: all, none, or a list such as 0,3,8-11 is wanted", text);
    }
    if (last < first || last >= ranks) {
      return complain("--ranks %s: the ranks are 0 to %d", text, ranks - 1);
    }
    memset(setup->record_rank + first, 1, (size_t)(last - first + 1) * sizeof *setup->record_rank);
  }
  return true;
}

/* What an option says of a rank, RANK=AMOUNT, or of the link of two, RANK-RANK=AMOUNT. */
static bool read_of_ranks(const struct setup *setup, const struct option *option, const char *text, int64_t ranks[2],
                          double *amount) {
  const char *equals = strchr(text, '='), *dash = option->offset == SLOW_LINK ? strchr(text, '-') : NULL;
  if (equals == NULL || !number_within(equals + 1, option->least, option->most, amount)) {
    return refuse(option, text);
  }
  dash = dash != NULL && dash < equals ? dash : NULL;
  if (!whole(text, dash != NULL ? dash : equals, &ranks[0]) ||
      !whole(dash != NULL ? dash + 1 : text, equals, &ranks[1])) {
    return refuse(option, text);
  }
  return (ranks[0] < setup_ranks(setup) && ranks[1] < setup_ranks(setup)) ||
         complain("--%s %s: the ranks are 0 to %d", option->name, text, setup_ranks(setup) - 1);
}

static bool slow_down(struct setup *setup, const struct option *option, const char *text) {
  int64_t ranks[2] = {0, 0};
  double amount = 0;
  if (!read_of_ranks(setup, option, text, ranks, &amount)) {
    return false;
  }
  switch ((enum slow)option->offset) {
    case SLOW_DEVICE:
      return multiply(option, text, amount, &setup->slow_device[ranks[0]]);
    case SLOW_HOST:
      return multiply(option, text, amount, &setup->slow_host[ranks[0]]);
    case SLOW_LINK:
      setup->slow_links[setup->slow_link_count++] = (struct slow_link){{(int)ranks[0], (int)ranks[1]}, amount};
      break;
    case SLOW_DATA:
      setup->slow_data[ranks[0]] = llround(amount * 1e6);
      break;
    case SLOW:
      break;
  }
  return true;
}

/* ---- what goes together ---- */

static bool divides(const char *what, int64_t amount, const char *by, int64_t share) {
  return amount % share == 0 ||
         complain("%s (%lld) must be a multiple of %s (%lld)", what, (long long)amount, by, (long long)share);
}

static bool fill_in(struct model *model) {
  model->heads = model->heads > 0 ? model->heads : model->hidden < 128 ? 1 : model->hidden / 128;
  model->head_dim = model->head_dim > 0 ? model->head_dim : model->hidden / model->heads;
  model->ffn = model->ffn > 0 ? model->ffn : 4 * model->hidden;
  return model->head_dim > 0 || complain("--heads: more than --hidden; say --head-dim");
}

/* No GPU holds tensors near these limits: they keep bytes and blocks countable. */
static bool check_sizes(const struct setup *setup) {
  const struct model *model = &setup->model;
  double tensor = setup->parallel.tensor, width = (double)model->heads * model->head_dim, hidden = model->hidden;
  double tokens = (double)model->micro_batch * model->sequence, vocabulary = model->vocabulary / tensor;
  double blocks = model->experts > 0 ? (double)model->experts / setup->parallel.expert : 1 / tensor;
  double chosen = model->experts > 0 ? model->top_k : 1;
  double widest = fmax(fmax(hidden, vocabulary), fmax(3 * width, model->ffn) / tensor);
  widest = fmax(chosen * fmax(hidden, model->ffn / tensor), fmax(widest, model->experts));
  double layer = hidden * (4 * width / tensor + blocks * 2.0 * model->ffn + model->experts);
  int layers = 0;
  for (int stage = 0; stage < setup->parallel.pipeline; stage++) {
    layers = layers < setup_stage_layers(setup, stage) ? setup_stage_layers(setup, stage) : layers;
  }
  double parameters = layers * layer + 2 * hidden * vocabulary;
  if (width > MOST_SIZE) {
    return complain("--heads times --head-dim (%.0f): at most %d", width, MOST_SIZE);
  }
  if (tokens * widest > most_elements) {
    return complain(
        "a micro-batch's largest tensor has %.4g elements of one rank: at most %.4g; fewer --micro-batch, --seq, "
        "--hidden, --ffn or --vocab, or more --tp",
        tokens * widest, most_elements);
  }
  return parameters <= most_elements ||
         complain(
             "one rank has %.4g parameters: at most %.4g; fewer --layers, --hidden, --ffn or --vocab, or more --tp or "
             "--pp",
             parameters, most_elements);
}

static bool leaves_out(const struct setup *setup) {
  bool any = setup->leave_out_op_count > 0;
  for (int i = 0; i < LEFT_OUT; i++) {
    any = any || setup->leave_out[i] || setup->fuse[i];
  }
  return any;
}

/* A number for each stage; together they are the model's layers. */
static bool choose_stage_layers(struct setup *setup, const char *text) {
  int stages = setup->parallel.pipeline;
  if (text == NULL) {
    return true;
  }
  setup->stage_layers = memory_new((size_t)stages, sizeof *setup->stage_layers);
  setup->model.layers = 0;
  bool good = setup->parallel.chunks == 1;
  const char *rest = text;
  for (int stage = 0; good && stage < stages; stage++) {
    size_t length = 0;
    int64_t layers = 0;
    const char *word = rest != NULL ? next_word(&rest, &length) : "";
    good = whole(word, word + length, &layers) && layers > 0 && layers <= MOST_LAYERS - setup->model.layers;
    setup->stage_layers[stage] = (int)layers;
    setup->model.layers += (int)layers;
  }
  return (good && rest == NULL) ||
         complain("--stage-layers %s: a number for each of %d stages is wanted, at most %d together, without --vp",
                  text, stages, MOST_LAYERS);
}

/* Each rank of a context group has two pieces of a sequence, an early and a late one, so that attention is as much for
 * all. */
static bool check_sequence(const struct setup *setup) {
  const struct parallelism *parallel = &setup->parallel;
  int64_t parts = parallel->sequence_parallel ? parallel->tensor : 1;
  return parallel->context == 1
             ? divides("--seq", setup->model.sequence, "--tp", parts)
             : divides("--seq", setup->model.sequence, parts > 1 ? "2 times --cp times --tp" : "2 times --cp",
                       2 * parallel->context * parts);
}

/* The tokens of a rank go to all experts alike. */
static bool check_experts(const struct setup *setup) {
  const struct model *model = &setup->model;
  const struct parallelism *parallel = &setup->parallel;
  if (model->experts == 0) {
    return parallel->expert == 1 || complain("--ep: with --experts");
  }
  if (parallel->fully_sharded || setup->graphs != GRAPHS_OFF) {
    return complain("--experts: without --fsdp and --graphs");
  }
  if (parallel->tensor > 1 && !parallel->sequence_parallel) {
    return complain("--experts: with --tp, --sequence-parallel on, too, as Megatron-LM demands");
  }
  if (setup->gpu->major < 9) {
    return complain("--experts: with --gpu h100, h200 or b200, for which PyTorch has grouped products");
  }
  return (model->top_k <= model->experts ||
          complain("--top-k (%d): at most --experts (%d)", model->top_k, model->experts)) &&
         divides("--experts", model->experts, "--ep", parallel->expert) &&
         divides("--tp times --cp times --dp", (int64_t)parallel->tensor * parallel->context * parallel->data, "--ep",
                 parallel->expert) &&
         divides("--micro-batch times --seq times --top-k",
                 (int64_t)model->micro_batch * model->sequence * model->top_k, "--tp times --cp times --ep",
                 (int64_t)parallel->tensor * parallel->context * parallel->expert);
}

static bool check(struct setup *setup) {
  struct model *model = &setup->model;
  const struct parallelism *parallel = &setup->parallel;
  int64_t ranks = (int64_t)parallel->tensor * parallel->context * parallel->pipeline * parallel->data;
  if (ranks > MOST_RANKS) {
    return complain("%lld ranks: at most %d", (long long)ranks, MOST_RANKS);
  }
  if (!fill_in(model)) {
    return false;
  }
  bool interleaved = parallel->schedule == SCHEDULE_INTERLEAVED;
  if (interleaved != (parallel->chunks > 1) || (interleaved && parallel->pipeline == 1)) {
    return complain(
        "--schedule interleaved goes with --vp of at least 2 and --pp of at least 2, and no other schedule with --vp");
  }
  bool alone = parallel->pipeline == 1 && parallel->schedule != SCHEDULE_ZERO_BUBBLE;
  if (parallel->fully_sharded &&
      (!alone || parallel->data == 1 || parallel->distributed_optimizer || setup->graphs != GRAPHS_OFF)) {
    return complain("--fsdp: with --dp of at least 2, and without --pp, zb-h1, --distributed-optimizer and --graphs");
  }
  if (setup->memory &&
      ((parallel->fully_sharded && parallel->tensor > 1) || parallel->recompute == RECOMPUTE_SELECTIVE ||
       parallel->schedule == SCHEDULE_ZERO_BUBBLE || parallel->context > 1 || model->experts > 0 ||
       setup->graphs != GRAPHS_OFF || leaves_out(setup))) {
    return complain("--memory: without --fsdp beside --tp, --recompute selective, --schedule zb-h1, --cp, --experts, "
                    "--graphs, --leave-out and --fuse");
  }
  if (parallel->context > 1 && (parallel->fully_sharded || setup->graphs != GRAPHS_OFF)) {
    return complain("--cp: without --fsdp and --graphs");
  }
  if (!check_experts(setup)) {
    return false;
  }
  if (setup->graphs != GRAPHS_OFF && leaves_out(setup)) {
    return complain("--leave-out, --fuse: not with --graphs, whose work is captured as it is");
  }
  if (setup->graphs != GRAPHS_OFF && setup->read_back > 0) {
    return complain("--read-back: not with --graphs, in which the host reads nothing");
  }
  return check_sizes(setup) &&
         (setup->stage_layers != NULL ||
          divides("--layers", model->layers, "--pp times --vp", (int64_t)parallel->pipeline * parallel->chunks)) &&
         divides("--heads", model->heads, "--tp", parallel->tensor) &&
         divides("--ffn", model->ffn, "--tp", parallel->tensor) &&
         divides("--vocab", model->vocabulary, "--tp", parallel->tensor) &&
         divides("--hidden", model->hidden, "--tp", parallel->tensor) && check_sequence(setup) &&
         (!interleaved || divides("--micro-batches", model->micro_batches, "--pp", parallel->pipeline));
}

/* ---- reading ---- */

static void defaults(struct setup *setup) {
  *setup = (struct setup){
      .model = {.layers = 4,
                .hidden = 2048,
                .sequence = 2048,
                .vocabulary = 51200,
                .top_k = 2,
                .micro_batch = 1,
                .micro_batches = 4},
      .parallel = {.tensor = 1,
                   .pipeline = 1,
                   .data = 1,
                   .context = 1,
                   .expert = 1,
                   .chunks = 1,
                   .overlap_gradients = true,
                   .batched_p2p = true,
                   .bucket_bytes = 100000000},
      .gpu = gpu_find("h100"),
      .nccl = nccl_version_find("2.28.9"),
      .network = {.node_size = 8, .nic_bandwidth = 50, .nic_latency = 5000},
      .queue_depth = 1020,
      .contention_compute = 0.4,
      .contention_transfer = 0.1,
      .jitter = 1,
      .sample = 1,
      .seed = 1,
      .warmup = 2,
      .steps = 3,
      .recorded = RECORD_SHAPES | RECORD_ANNOTATIONS | RECORD_COLLECTIVES,
  };
  for (int i = 0; i < MECHANISMS; i++) {
    setup->mechanisms[i] = true;
  }
  for (int i = 0; i < SCALED; i++) {
    setup->scale[i] = 1;
  }
}

static const struct option *find_option(const char *name, size_t length) {
  for (int i = 0; i < OPTIONS; i++) {
    if (options[i].name != NULL && strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0) {
      return &options[i];
    }
  }
  return NULL;
}

/* One option, as --name value or --name=value; *at moves past it. */
static bool read_option(struct reading *reading, int count, char **arguments, int *at) {
  const char *name = arguments[*at] + 2;
  size_t length = strcspn(name, "=");
  const struct option *option = find_option(name, length);
  if (strncmp(arguments[*at], "--", 2) != 0 || option == NULL) {
    return complain("there is no option %s; see --help", arguments[*at]);
  }
  const char *text = name[length] == '=' ? name + length + 1 : NULL;
  if (option->argument == NULL && text != NULL) {
    return complain("--%s takes no argument", option->name);
  }
  if (option->argument != NULL && text == NULL) {
    if (++*at >= count) {
      return complain("--%s: %s is wanted; see --help", option->name, option->argument);
    }
    text = arguments[*at];
  }
  ++*at;
  return option->read(option, reading, text);
}

/* The options as given, without the folder and those that change no byte of the truth. */
static char *join(int count, char **arguments, const char *folder) {
  size_t room = 1;
  for (int i = 1; i < count; i++) {
    room += strlen(arguments[i]) + 1;
  }
  char *text = memory_new(room, 1), *end = text;
  for (int i = 1; i < count; i++) {
    bool kept = arguments[i] != folder && strcmp(arguments[i], "--quiet") != 0;
    if (kept) {
      end += snprintf(end, room - (size_t)(end - text), "%s%s", end == text ? "" : " ", arguments[i]);
    }
  }
  return text;
}

static bool set_ranks(struct setup *setup, const struct reading *reading) {
  size_t ranks = (size_t)setup_ranks(setup);
  setup->record_rank = memory_new(ranks, sizeof *setup->record_rank);
  setup->slow_device = memory_new(ranks, sizeof *setup->slow_device);
  setup->slow_host = memory_new(ranks, sizeof *setup->slow_host);
  setup->slow_data = memory_new(ranks, sizeof *setup->slow_data);
  for (size_t i = 0; i < ranks; i++) {
    setup->slow_device[i] = 1;
    setup->slow_host[i] = 1;
  }
  bool good = choose_ranks(setup, reading->ranks);
  for (int kind = 0; kind < SLOW; kind++) {
    const struct of_ranks *slow = &reading->slow[kind];
    for (int i = 0; good && i < slow->count; i++) {
      good = slow_down(setup, slow->option, slow->texts[i]);
    }
  }
  return good;
}

bool setup_read(struct setup *setup, int count, char **arguments, bool *done) {
  struct reading reading = {.setup = setup, .ranks = "all"};
  defaults(setup);
  *done = false;
  for (int at = 1; at < count;) {
    if (strcmp(arguments[at], "--help") == 0 || strcmp(arguments[at], "--version") == 0) {
      *done = true;
      if (arguments[at][2] == 'h') {
        help();
      } else {
        puts("emulated-cluster 1");
      }
      return true;
    }
    if (arguments[at][0] == '-') {
      if (!read_option(&reading, count, arguments, &at)) {
        return false;
      }
    } else if (setup->folder != NULL) {
      return complain("one folder is wanted, not '%s' and '%s'", setup->folder, arguments[at]);
    } else {
      setup->folder = arguments[at++];
    }
  }
  if (setup->folder == NULL) {
    return complain("a folder for the traces is wanted; see --help");
  }
  setup->arguments = join(count, arguments, setup->folder);
  return choose_stage_layers(setup, reading.stage_layers) && check(setup) && set_ranks(setup, &reading);
}

void setup_free(struct setup *setup) {
  free(setup->record_rank);
  free(setup->slow_device);
  free(setup->slow_host);
  free(setup->slow_data);
  free(setup->stage_layers);
  for (int i = 0; i < setup->leave_out_op_count; i++) {
    free(setup->leave_out_ops[i]);
  }
  free((char *)(uintptr_t)setup->arguments);
}
