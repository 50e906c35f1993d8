/* What the tools that change a graph share: the options that say how, and the changes in the order given (but for
 * --unprofiled). To add a what-if: a row here.
 */
#ifndef LUMOS_TOOLS_TRANSFORMING_H
#define LUMOS_TOOLS_TRANSFORMING_H

#include "tools/tool.h"
#include <lumos/rebuild.h>
#include <lumos/transform.h>

struct tool_transforming {
  struct lumos_option_list changes; /* in the order given */
};

/* X(target, letter, name, argument, function of transform.h, help); no function: see rebuild.h. */
#define TOOL_TRANSFORMS(X, target)                                                                                     \
  X(target, 's', "scale", "SELECTOR=FACTOR", lumos_transform_scale,                                                    \
    "Multiply the durations of the selected tasks. SELECTOR is host, device, or terms joined by commas that must "     \
    "all hold: kind=NAME (gemm attention elementwise norm reduction optimizer embedding copy memset "                  \
    "collective p2p communication op launch sync event alloc other), name~REGEX (POSIX extended), op=NAME, "           \
    "module=NAME, phase=NAME, layer=N, micro_batch=N, stage=N, rank=N, group=NAME; 'not ' before a term reverses it. " \
    "FACTOR is a decimal of at least 0, after the last '='. Changes can be given several times and apply in "          \
    "order.")                                                                                                          \
  X(target, 0, "remove", "SELECTOR", lumos_transform_remove,                                                           \
    "Remove the selected tasks: kernels with their launches, and with ops that have no other work. What waited for "   \
    "them waits for what came before them.")                                                                           \
  X(target, 0, "fuse", "SELECTOR", lumos_transform_fuse,                                                               \
    "Fuse selected kernels that follow each other on a stream, without a wait in between, into one kernel with one "   \
    "launch. Where shapes were recorded, it saves what one writes and the next reads.")                                \
  X(target, 0, "straggler", "RANK=FACTOR", lumos_transform_straggler,                                                  \
    "Let the kernels of one rank take FACTOR times as long; its communication and copies do not.")                     \
  X(target, 0, "jitter", "SIGMA", lumos_transform_jitter,                                                              \
    "Let the duration of every kernel vary by itself, with this standard deviation as a share of it, such as 0.05. "   \
    "The range of each predicted time then holds what the variation does.")                                            \
  X(target, 0, "launch", "HOW", lumos_transform_launch,                                                                \
    "HOW is graph: the CPU launches every pass as one CUDA graph, and spends no time between its launches.")           \
  X(target, 0, "unprofiled", NULL, lumos_transform_unprofiled,                                                         \
    "Remove the profiler overhead on threads, as far as the recording shows it, so that the prediction is of the job " \
    "without the profiler. Applies before all other changes, wherever it stands.")                                     \
  X(target, 0, "gpu", "NAME", lumos_transform_gpu,                                                                     \
    "Run the same program on another GPU, such as H200: kernels, copies and communication within nodes are "           \
    "re-estimated. NAME@FILE takes NAME from FILE, a table of GPUs as of lumos-sim --hardware.")                       \
  X(target, 0, "network", "FILE", lumos_transform_network,                                                             \
    "Run over another network: re-estimate communication. FILE is a JSON object with any of node_size (GPUs in a "     \
    "node), intra and inter (within and between nodes), each with any of bandwidth_gbps (GB/s of bus bandwidth per "   \
    "GPU), latency_us, p2p_bandwidth_gbps, p2p_latency_us. Applies before a rebuild, wherever it stands, but behind "  \
    "--gpu.")                                                                                                          \
  TOOL_SIZES(X, target)                                                                                                \
  TOOL_REBUILDS(X, target)

#define TOOL_SIZES(X, target)                                                                                         \
  X(target, 0, "hidden", "N", lumos_transform_sizes,                                                                  \
    "Let the model have N hidden features: kernels and communication are re-estimated from recorded shapes. ffn and " \
    "heads keep their ratio to it unless they are given, too.")                                                       \
  X(target, 0, "ffn", "N", lumos_transform_sizes, "The same with N features within the feed-forward block.")          \
  X(target, 0, "heads", "N", lumos_transform_sizes,                                                                   \
    "The same with N attention heads, larger or smaller ones unless head-dim is given, too.")                         \
  X(target, 0, "kv-heads", "N", lumos_transform_sizes, "The same with N key-value heads.")                            \
  X(target, 0, "head-dim", "N", lumos_transform_sizes, "The same with N features per attention head.")                \
  X(target, 0, "seq", "N", lumos_transform_sizes, "The same with sequences of N tokens.")                             \
  X(target, 0, "micro-batch", "N", lumos_transform_sizes, "The same with N sequences in a micro-batch.")              \
  X(target, 0, "vocab", "N", lumos_transform_sizes, "The same with a vocabulary of N.")

#define TOOL_REBUILDS(X, target)                                                                                       \
  X(target, 0, "rebuild", NULL, NULL,                                                                                  \
    "Rebuild the job from its recorded blocks, in the recorded configuration. How far its steps are off the measured " \
    "ones that they are drawn from, rebuild_error, is the error to expect of other configurations.")                   \
  X(target, 0, "learn-from", "SELECTOR", NULL,                                                                         \
    "Rebuild from a part of the recorded blocks: those whose CPU tasks SELECTOR takes all. The others are built like " \
    "them, so that the rebuild error shows how well a part predicts the whole.")                                       \
  X(target, 0, "layers", "N", NULL, "Rebuild the model with N layers.")                                                \
  X(target, 0, "micro-batches", "N", NULL, "Rebuild with N micro-batches per replica and step.")                       \
  X(target, 0, "pp", "N", NULL, "Rebuild with N pipeline stages.")                                                     \
  X(target, 0, "schedule", "NAME", NULL,                                                                               \
    "Rebuild with this order of passes: 1f1b, gpipe, interleaved or zb-h1; by default the recorded one.")              \
  X(target, 0, "vp", "N", NULL, "Rebuild with N chunks of layers per stage, in an interleaved schedule.")              \
  X(target, 0, "split", "N,N...", NULL,                                                                                \
    "Rebuild with so many layers in each stage, or chunk; by default all have as many.")                               \
  X(target, 0, "tp", "N", NULL, "Rebuild with N tensor-parallel ranks, with recorded shapes.")                         \
  X(target, 0, "cp", "N", NULL, "Rebuild with N context-parallel ranks, where several were recorded.")                 \
  X(target, 0, "ep", "N", NULL, "Rebuild with N expert-parallel ranks, where several were recorded.")                  \
  X(target, 0, "sequence-parallel", "on|off", NULL,                                                                    \
    "Rebuild with each tensor-parallel rank having a part of the sequence between the halves of layers, or all of "    \
    "it.")                                                                                                             \
  X(target, 0, "recompute", "full|selective|none", NULL,                                                               \
    "Rebuild with layers computed again in the backward pass, with their core attention alone, or with nothing.")      \
  X(target, 0, "dp", "N", NULL, "Rebuild with N data-parallel replicas.")                                              \
  X(target, 0, "bucket-mb", "MB", NULL, "Rebuild with gradients reduced in buckets of MB (10^6 bytes).")               \
  X(target, 0, "overlap-gradients", "on|off", NULL,                                                                    \
    "Rebuild with each bucket of gradients reduced as soon as it is full (on), or after the last backward pass "       \
    "(off).")                                                                                                          \
  X(target, 0, "distributed-optimizer", "on|off", NULL,                                                                \
    "Rebuild with each replica updating its share of the parameters (on), or all of them (off).")

#define TOOL_TRANSFORMING_ROW(target, letter, name, argument, function, help) \
  {LUMOS_OPTION_LIST, letter, name, argument, &(target)->changes, help},
/* The rows, each with a comma behind it, for a `struct tool_transforming *`. */
#define TOOL_TRANSFORMING_OPTIONS(target) TOOL_TRANSFORMS(TOOL_TRANSFORMING_ROW, target)

/* Is any change asked for? */
bool tool_transforming_asked(const struct tool_transforming *transforming);

/* Bring the job to stage transform, with the changes that are asked for. */
bool tool_transforming_apply(struct lumos_job *job, const struct tool_transforming *transforming,
                             struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
