/* What a job already does, so that nobody is advised to begin with it: read off the names of its kernels, and off the
 * shapes and formats that were recorded. */
#ifndef LUMOS_REPORT_PRACTICE_H
#define LUMOS_REPORT_PRACTICE_H

#include "cost/dtype.h"
#include "report/content/facts.h"

/* Times: of kernels and copies in steps that count, ns, added up over ranks. */
struct report_practice {
  int64_t time[LUMOS_TASK_KINDS];
  int64_t compiled[LUMOS_TASK_KINDS];     /* in kernels that torch.compile made */
  int64_t formats[LUMOS_DTYPES];          /* GEMMs, by what they multiply; LUMOS_NO_DTYPE: unknown */
  int64_t sized, aligned;                 /* GEMMs of known sizes; of sizes that are all multiples of 64 */
  int64_t again;                          /* GEMMs that compute again what the forward pass did */
  int64_t gemm_peak, attention_peak;      /* millionths of the peak that they reach; LUMOS_ABSENT */
  int64_t fused_attention, old_attention; /* old: FlashAttention-2 on a GPU for which there is a newer one */
  int64_t fused_optimizer;
  int64_t fused_embedding;
  int64_t conversions;                   /* elementwise kernels that copy or convert */
  int64_t of_loss;                       /* reductions */
  int64_t pageable, within;              /* copies from or to memory that is not pinned; within a GPU */
  int64_t replayed;                      /* kernels that CUDA graphs launch */
  bool edited;                           /* the job was changed: a late rank may be so by that */
  bool launches_nothing;                 /* the job was changed so that no call launches kernels any more */
  bool assumes_graphs;                   /* the job was changed so that they launch each pass */
  int64_t single[LUMOS_OTHER_PHASE + 1]; /* kernels that are launched one by one, by phase */
  int64_t of_zero_grad;                  /* memsets */
  int64_t overlapped, exposed; /* communication beside computation and not, of a mean step; waiting in neither */
  int64_t late_cpu, late_gpu;  /* what ranks are late by for their threads, and for their kernels */
  int64_t blocked;             /* what threads wait for GPUs within forward and backward passes */
  int64_t best_product;        /* millionths of the peak: the best known of this GPU; LUMOS_ABSENT */
  bool has_fp8;                /* of the GPU */
  bool has_replicas, shards_optimizer, narrow_gradients; /* narrow: reduced in 16 bits or less */
  bool gathers;                                          /* replicas gather parameters that they shard */
  bool hides_gradients, balances_stages;                 /* the simulation was asked, and found nothing to gain */
};

/* What needs shapes is read where `with_shapes` asks for it, for that takes another walk over the job. */
void report_practice_read(const struct report_facts *facts, bool with_shapes, struct report_practice *practice);

/* At least as many per cent of the whole, and there is some. */
static inline bool report_practice_most(int64_t part, int64_t whole, int per_cent) {
  return whole > 0 && part > 0 && (__int128)part * 100 >= (__int128)whole * per_cent;
}

#endif
