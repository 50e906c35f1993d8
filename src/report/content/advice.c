/* Each piece of advice has a condition: that the job does not do so already. Where it does, the advice is what is
 * left. */
#include "report/content/advice.h"

#include "report/text/numbers.h"
#include <string.h>

/* Chosen: from here on a job does something, and from there on there is nothing left of it to do; per cent of the
 * time. */
enum { SOME = 20, MOST = 50, ALMOST_ALL = 90 };

/* ---- CUDA graphs ---- */

static int64_t launched_singly(const struct report_practice *practice) {
  int64_t single = 0;
  for (int phase = 0; phase <= LUMOS_OTHER_PHASE; phase++) {
    single = report_sum(single, practice->single[phase]);
  }
  return single;
}

bool report_practice_uses_graphs(const struct report_practice *practice) {
  return practice->assumes_graphs ||
         report_practice_most(practice->replayed, report_sum(practice->replayed, launched_singly(practice)), SOME);
}

/* Of the kernels that no graph launches, most are of this phase. */
static int phase_outside_graphs(const struct report_practice *practice) {
  int most = 0;
  for (int phase = 1; phase <= LUMOS_OTHER_PHASE; phase++) {
    most = practice->single[phase] > practice->single[most] ? phase : most;
  }
  return most;
}

void report_put_graphs_advice(const struct report_practice *practice, struct lumos_text *out) {
  if (practice->launches_nothing) {
    lumos_text_put(out, "Do less on the CPU");
    return;
  }
  if (practice->assumes_graphs) {
    lumos_text_put(out, "Do less on the CPU between the captured passes");
    return;
  }
  if (!report_practice_uses_graphs(practice) && practice->blocked > 0) {
    lumos_text_put(out, "Remove synchronizations from the passes and capture them in CUDA graphs");
    return;
  }
  static const char *const outside[LUMOS_OTHER_PHASE + 1] = {
      [LUMOS_FORWARD] = "Capture the rest of the forward pass in CUDA graphs",
      [LUMOS_BACKWARD] = "Capture the rest of the backward pass in CUDA graphs",
      [LUMOS_WEIGHT] = "Capture the weight gradients in CUDA graphs",
      [LUMOS_OPTIMIZER_PHASE] = "Capture the optimizer in CUDA graphs, too (capturable=True)",
  };
  const char *rest = report_practice_uses_graphs(practice) ? outside[phase_outside_graphs(practice)]
                                                           : "Capture the step in CUDA graphs";
  lumos_text_put(out, rest != NULL ? rest : "Capture the rest of the step in CUDA graphs");
}

/* ---- Kinds of work ---- */

typedef void advising(const struct report_practice *practice, struct lumos_text *out);

static void put(struct lumos_text *out, const char *text) { lumos_text_put(out, text); }

static bool compiles(const struct report_practice *practice, enum lumos_task_kind kind, int per_cent) {
  return report_practice_most(practice->compiled[kind], practice->time[kind], per_cent);
}

static bool compiles_any(const struct report_practice *practice) {
  return compiles(practice, LUMOS_ELEMENTWISE, SOME) || compiles(practice, LUMOS_NORM, SOME) ||
         compiles(practice, LUMOS_REDUCTION, SOME);
}

static void advise_cpu(const struct report_practice *practice, struct lumos_text *out) {
  bool graphs = report_practice_uses_graphs(practice);
  if (practice->launches_nothing) {
    put(out, "Do less on the CPU: the change left no launches.");
  } else if (graphs) {
    report_put_graphs_advice(practice, out);
    put(out, ", or fuse small kernels.");
  } else if (compiles_any(practice)) {
    put(out, "Launch less from the CPU: capture the step in CUDA graphs (torch.compile, mode=\"reduce-overhead\").");
  } else {
    put(out, "Launch less from the CPU: capture the step in CUDA graphs, compile it with torch.compile, or fuse small "
             "kernels.");
  }
}

static void advise_launches(const struct report_practice *practice, struct lumos_text *out) {
  if (report_practice_uses_graphs(practice)) {
    report_put_graphs_advice(practice, out);
    put(out, ".");
  } else {
    put(out, "Launch fewer, larger kernels, or replay them from CUDA graphs.");
  }
}

/* ", at 84.5 % of peak" */
static void put_reached(int64_t peak, struct lumos_text *out) {
  if (peak != LUMOS_ABSENT && peak > 0) {
    put(out, ", at ");
    report_put_share(out, peak);
    put(out, " of peak");
  }
}

/* Nearly what the best product on this GPU reaches, so that other sizes would not help. */
static bool reaches_best(const struct report_practice *practice) {
  enum { GOOD = 700000 }; /* millionths of the peak; chosen, for GPUs whose best is not known */
  int64_t best = practice->best_product;
  return practice->gemm_peak >= (best != LUMOS_ABSENT ? best / 100 * ALMOST_ALL : GOOD);
}

static const char *format_of_most(const struct report_practice *practice) {
  int most = LUMOS_NO_DTYPE;
  for (int dtype = LUMOS_NO_DTYPE + 1; dtype < LUMOS_DTYPES; dtype++) {
    most = practice->formats[dtype] > practice->formats[most] || most == LUMOS_NO_DTYPE ? dtype : most;
  }
  return lumos_dtype_name((enum lumos_dtype)most);
}

static int64_t wide_gemms(const struct report_practice *practice) {
  const int64_t *formats = practice->formats;
  return report_sum(report_sum(formats[LUMOS_FP64], formats[LUMOS_FP32]), formats[LUMOS_TF32]);
}

bool report_practice_multiplies_wide(const struct report_practice *practice) {
  return report_practice_most(wide_gemms(practice), practice->time[LUMOS_GEMM], MOST);
}

static void advise_gemm(const struct report_practice *practice, struct lumos_text *out) {
  const int64_t *formats = practice->formats;
  int64_t all = practice->time[LUMOS_GEMM];
  int64_t wide = wide_gemms(practice);
  int64_t narrow = report_sum(report_sum(formats[LUMOS_FP8], formats[LUMOS_FP4]), formats[LUMOS_INT8]);
  if (all == 0 || report_practice_most(formats[LUMOS_NO_DTYPE], all, MOST)) {
    put(out, "Use tensor cores better: fp16 or bf16 (fp8 where the GPU has it), sizes in multiples of 64, larger "
             "micro-batches.");
    return;
  }
  if (report_practice_most(wide, all, SOME)) {
    put(out, report_practice_multiplies_wide(practice)
                 ? "Multiply in bf16 or fp16 instead of fp32 or TF32."
                 : "Multiply in bf16 or fp16 everywhere: some GEMMs still use fp32 "
                   "or TF32.");
    return;
  }
  if (report_practice_most(practice->sized - practice->aligned, practice->sized, SOME)) {
    put(out, "Make the sizes of all GEMMs multiples of 64.");
    return;
  }
  bool larger = !reaches_best(practice), narrower = practice->has_fp8 && narrow == 0;
  bool less = report_practice_most(practice->again, all, SOME / 2);
  const char *ways[3];
  int count = 0;
  ways[count] = "larger micro-batches";
  count += larger;
  ways[count] = "fp8";
  count += narrower;
  ways[count] = "recomputing less";
  count += less;
  put(out, count > 0 ? "Try " : "Multiply less");
  for (int i = 0; i < count; i++) {
    lumos_text_format(out, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", ways[i]);
  }
  lumos_text_format(out, ": GEMMs already run in %s", format_of_most(practice));
  put_reached(practice->gemm_peak, out);
  put(out, ".");
}

static void advise_attention(const struct report_practice *practice, struct lumos_text *out) {
  int64_t all = practice->time[LUMOS_ATTENTION];
  if (!report_practice_most(practice->fused_attention, all, MOST)) {
    put(out, "Use a fused attention kernel: FlashAttention, or scaled_dot_product_attention.");
    return;
  }
  bool old = report_practice_most(practice->old_attention, all, MOST);
  put(out, old ? "Use FlashAttention-3 or cuDNN\xE2\x80\x99s attention, which are made for this GPU: it now runs "
                 "FlashAttention-2"
               : "Attend to fewer tokens, such as in windows: attention kernels are fused already");
  put_reached(practice->attention_peak, out);
  put(out, ".");
}

/* Elementwise work, norms and reductions: torch.compile fuses them. */
static bool put_compiled(const struct report_practice *practice, enum lumos_task_kind kind, struct lumos_text *out) {
  bool all = compiles(practice, kind, ALMOST_ALL), most = compiles(practice, kind, MOST);
  bool of_others = !most && compiles_any(practice);
  if (most) {
    put(out, all ? "Move fewer bytes, such as in narrower formats: torch.compile already fuses these kernels."
                 : "Look for graph breaks: torch.compile already fuses most of this time.");
  } else if (of_others) {
    put(out, "Look for graph breaks: torch.compile is used already, but fuses less than half of this time.");
  }
  return most || of_others;
}

static void advise_elementwise(const struct report_practice *practice, struct lumos_text *out) {
  bool converts = report_practice_most(practice->conversions, practice->time[LUMOS_ELEMENTWISE], MOST);
  if (converts && !compiles(practice, LUMOS_ELEMENTWISE, MOST)) {
    put(out, "Convert and copy less, which most of it is: keep weights in the format that GEMMs read");
    put(out, compiles_any(practice) ? "." : ", or compile with torch.compile.");
  } else if (!put_compiled(practice, LUMOS_ELEMENTWISE, out)) {
    put(out, "Fuse elementwise kernels with torch.compile.");
  }
}

static void advise_norm(const struct report_practice *practice, struct lumos_text *out) {
  if (!put_compiled(practice, LUMOS_NORM, out)) {
    put(out, "Fuse normalization with its neighbors (torch.compile, Transformer Engine).");
  }
}

static void advise_reduction(const struct report_practice *practice, struct lumos_text *out) {
  bool of_loss = report_practice_most(practice->of_loss, practice->time[LUMOS_REDUCTION], MOST);
  if (of_loss && !compiles(practice, LUMOS_REDUCTION, MOST)) {
    put(out, "Fuse the loss with the output head (a chunked cross entropy): most of it is the softmax of the loss.");
  } else if (!put_compiled(practice, LUMOS_REDUCTION, out)) {
    put(out, "Fuse reductions with the work before them (torch.compile).");
  }
}

static void advise_optimizer(const struct report_practice *practice, struct lumos_text *out) {
  bool fused = report_practice_most(practice->fused_optimizer, practice->time[LUMOS_OPTIMIZER], MOST);
  bool shard = practice->has_replicas && !practice->shards_optimizer;
  if (!fused) {
    put(out, shard ? "Use a fused optimizer (fused=True), or shard it over replicas."
                   : "Use a fused optimizer (fused=True).");
  } else {
    put(out, shard ? "Shard the optimizer over replicas: it is fused already."
                   : "Keep the optimizer\xE2\x80\x99s state in fewer bytes: it is fused already.");
  }
}

static void advise_embedding(const struct report_practice *practice, struct lumos_text *out) {
  put(out, report_practice_most(practice->fused_embedding, practice->time[LUMOS_EMBEDDING], MOST)
               ? "Look up each row once, or shard embedding tables further: lookups are fused already."
               : "Fuse or shard embedding tables, and look up each row once.");
}

static void advise_copies(const struct report_practice *practice, struct lumos_text *out) {
  int64_t all = practice->time[LUMOS_COPY];
  put(out, all == 0 || report_practice_most(practice->pageable, all, SOME)
               ? "Pin CPU memory, copy with non_blocking=True, and keep data on the GPU."
           : report_practice_most(practice->within, all, MOST)
               ? "Avoid clones and concatenations: most of it is copied within the GPU."
               : "Keep data on the GPU, or copy on a stream of its own: memory is pinned already.");
}

static bool overlaps_most(const struct report_practice *practice) {
  return report_practice_most(practice->overlapped, report_sum(practice->overlapped, practice->exposed), MOST);
}

static void advise_communication(const struct report_practice *practice, struct lumos_text *out) {
  if (overlaps_most(practice)) {
    put(out, "Send fewer bytes, or use faster links: most communication is overlapped already.");
    return;
  }
  bool reduces = practice->has_replicas && !practice->shards_optimizer && !practice->hides_gradients;
  put(out, "Overlap communication with computation");
  put(out, reduces && practice->gathers ? ": tune the bucket size and prefetching."
           : reduces                    ? ": tune the bucket size."
           : practice->gathers          ? ": tune prefetching."
                                        : ", or send fewer bytes.");
}

/* For threads or kernels alone where they make up almost all of the delays. */
static void advise_stragglers(const struct report_practice *practice, struct lumos_text *out) {
  int64_t all = report_sum(practice->late_cpu, practice->late_gpu);
  put(out, practice->edited ? "Even out the work of ranks."
           : report_practice_most(practice->late_cpu, all, ALMOST_ALL)
               ? "Even out the ranks\xE2\x80\x99 CPUs: the same work and CPU cores for each."
           : report_practice_most(practice->late_gpu, all, ALMOST_ALL)
               ? "Even out the ranks\xE2\x80\x99 GPUs: the same work, clocks and power limits for each."
               : "Even out ranks: the same work, GPU clocks and CPU cores for each.");
}

static void advise_memsets(const struct report_practice *practice, struct lumos_text *out) {
  put(out, report_practice_most(practice->of_zero_grad, practice->time[LUMOS_MEMSET], SOME)
               ? "Let gradients go instead of clearing them: zero_grad(set_to_none=True)."
               : "Clear fewer buffers: allocate those that are written whole with torch.empty.");
}

static void advise_others(const struct report_practice *practice, struct lumos_text *out) {
  put(out, compiles(practice, LUMOS_OTHER_DEVICE, MOST) ? "Replace the longest of these kernels: torch.compile already "
                                                          "fuses most of this time."
                                                        : "Fuse or replace the longest of these kernels.");
}

static const struct {
  const char *kind;
  advising *advise;
} kinds[] = {
    {"host", advise_cpu},
    {"launch", advise_launches},
    {"communication", advise_communication},
    {"stragglers", advise_stragglers},
    {"gemm", advise_gemm},
    {"attention", advise_attention},
    {"elementwise", advise_elementwise},
    {"norm", advise_norm},
    {"reduction", advise_reduction},
    {"optimizer", advise_optimizer},
    {"embedding", advise_embedding},
    {"copy", advise_copies},
    {"memset", advise_memsets},
    {"other", advise_others},
};

bool report_put_advice(const struct report_practice *practice, const char *kind, struct lumos_text *out) {
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    if (strcmp(kind, kinds[i].kind) == 0) {
      kinds[i].advise(practice, out);
      return true;
    }
  }
  return false;
}

/* ---- Groups ---- */

static void add_time(int64_t *sum, int64_t time, bool counts) {
  *sum = counts && time > 0 ? report_sum(*sum, time) : *sum;
}

/* Does a group's communication do that? */
static bool group_does(const struct lumos_job *job, const struct lumos_group *group, const char *op) {
  for (size_t i = 0; i < job->collectives.count; i++) {
    const struct lumos_collective *collective = &job->collectives.items[i];
    if (collective->group == group->id && collective->op != LUMOS_NO_STRING &&
        strcmp(lumos_string(job->strings, collective->op), op) == 0) {
      return true;
    }
  }
  return false;
}

/* Do ranks wait for each other in it for longer than bytes take? */
static bool group_waits(const struct lumos_job *job, const struct lumos_group *group) {
  int64_t wait = 0, transfer = 0;
  for (size_t i = 0; i < job->metrics.count; i++) {
    const struct lumos_metric *metric = &job->metrics.items[i];
    const char *name = lumos_string(job->strings, metric->name);
    bool here = metric->scope.group == group->id && metric->value.decimals == 0;
    add_time(&wait, metric->value.units, here && strcmp(name, "collective_wait") == 0);
    add_time(&transfer, metric->value.units, here && strcmp(name, "collective_transfer") == 0);
  }
  return wait > transfer;
}

static void advise_replicas(const struct report_practice *practice, bool shards, struct lumos_text *out) {
  if (practice->hides_gradients || overlaps_most(practice)) {
    put(out,
        "Accumulate gradients over more micro-batches, or reduce them in fewer bytes: there is no more to overlap.");
  } else {
    put(out, "Overlap gradient communication with the backward pass: tune ");
    put(out, shards ? "prefetching" : "bucket_cap_mb");
    put(out, ", or accumulate over more micro-batches.");
  }
}

void report_put_group_advice(const struct report_practice *practice, const struct lumos_job *job,
                             const struct lumos_group *group, struct lumos_text *out) {
  int role = group == NULL ? 0 : group->role;
  bool scatters = group != NULL && group_does(job, group, "reduce_scatter"); /* sequence parallelism, or shards */
  if (role == LUMOS_DATA) {
    advise_replicas(practice, scatters, out);
  } else if (role == LUMOS_EXPERT && group_waits(job, group)) {
    put(out, "Balance tokens over experts: ranks wait for each other for longer than the all-to-all takes.");
  } else if (role == LUMOS_PIPELINE && group_waits(job, group)) {
    put(out, practice->balances_stages
                 ? "Use more micro-batches: stages wait for each other for longer than transfers take."
                 : "Balance the stages: they wait for each other for longer than transfers take.");
  } else if (role == LUMOS_TENSOR) {
    put(out, overlaps_most(practice) ? "Use a smaller tensor-parallel size: most communication is overlapped already."
             : scatters ? "Overlap tensor-parallel communication (async TP), or use a smaller tensor-parallel size."
                        : "Overlap tensor-parallel communication (sequence parallelism, async TP), or use a smaller "
                          "tensor-parallel size.");
  } else if (overlaps_most(practice)) {
    put(out, "Send fewer bytes, or use faster links: most communication is overlapped already.");
  } else {
    put(out, role == LUMOS_PIPELINE  ? "Overlap sends and receives with computation."
             : role == LUMOS_EXPERT  ? "Overlap the all-to-all with computation."
             : role == LUMOS_CONTEXT ? "Overlap context-parallel exchanges with attention."
                                     : "Overlap this communication with computation.");
  }
}

/* ---- Changes ---- */

static void make_graphs(const struct report_practice *practice, struct lumos_text *out) {
  if (report_practice_uses_graphs(practice)) {
    report_put_graphs_advice(practice, out);
    put(out, ".");
  } else {
    put(out, practice->blocked > 0 ? "Remove synchronizations from the passes, then capture each in a CUDA graph"
                                   : "Capture each pass in a CUDA graph");
    put(out, compiles_any(practice) ? ": mode=\"reduce-overhead\" of torch.compile, or torch.cuda.graph."
                                    : ": torch.compile with mode=\"reduce-overhead\", or torch.cuda.graph.");
  }
}

static void fuse_neighbors(const struct report_practice *practice, struct lumos_text *out) {
  put(out, compiles_any(practice)
               ? "Look for graph breaks between neighboring kernels: torch.compile is used already."
               : "Compile the model with torch.compile, or use fused kernels for neighboring small ones.");
}

static void speed_up_network(const struct report_practice *practice, struct lumos_text *out) {
  put(out, practice->narrow_gradients || !practice->has_replicas
               ? "Use faster links between the GPUs, or send less: shard the model along fewer ranks."
               : "Use faster links between the GPUs, or send less: reduce gradients in bf16, or shard the model along "
                 "fewer ranks.");
}

static void speed_up_rank(const struct report_practice *practice, struct lumos_text *out) {
  int64_t all = report_sum(practice->late_cpu, practice->late_gpu);
  if (practice->edited) {
    put(out, "Make the slow rank as fast as similar ranks, or give it less work.");
    return;
  }
  put(out, "Speed up the slow rank: compare its ");
  put(out, report_practice_most(practice->late_cpu, all, ALMOST_ALL)   ? "CPU and input pipeline"
           : report_practice_most(practice->late_gpu, all, ALMOST_ALL) ? "GPU clocks, power limit and input sizes"
                                                                       : "CPU, GPU clocks and input pipeline");
  put(out, " with those of a similar rank.");
}

static void overlap_gradients(const struct report_practice *practice, struct lumos_text *out) {
  put(out, "Overlap gradient reduction with the last backward pass: ");
  put(out, practice->gathers || practice->shards_optimizer
               ? "backward prefetching in FSDP, overlap_grad_reduce in Megatron-LM."
               : "smaller buckets in DDP, overlap_grad_reduce in Megatron-LM.");
}

static void balance_stages(const struct report_practice *practice, struct lumos_text *out) {
  (void)practice;
  put(out,
      "Even out the stages: divide the slowest one\xE2\x80\x99s output head, embedding or layers over more ranks.");
}

static void move_layers(const struct report_practice *practice, struct lumos_text *out) {
  (void)practice;
  put(out, "Move layers from the slowest stage to the others, as far as whole layers allow.");
}

static const struct {
  const char *change;
  advising *advise;
} changes[] = {
    {"cuda_graphs", make_graphs},        {"fused_kernels", fuse_neighbors},
    {"fused_launches", fuse_neighbors},  {"faster_network", speed_up_network},
    {"no_straggler", speed_up_rank},     {"overlapped_gradients", overlap_gradients},
    {"balanced_stages", balance_stages}, {"moved_layers", move_layers},
};

bool report_put_change_advice(const struct report_practice *practice, const char *change, struct lumos_text *out) {
  for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
    if (strcmp(change, changes[i].change) == 0) {
      changes[i].advise(practice, out);
      return true;
    }
  }
  return false;
}
