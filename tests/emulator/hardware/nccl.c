/* The model of NCCL's tuner: every algorithm with every protocol has a latency, made of steps within and between nodes,
 * and a bandwidth, made of channels; the least sum of latency and bytes / bandwidth is taken. Latencies in this file
 * are microseconds and bandwidths gigabytes a second, as NCCL prints them (a gigabyte a second is a byte a ns).
 *
 * LL sends a flag with every 4 bytes, so it is quick and slow; LL128 one with every 120; SIMPLE none, and synchronizes
 * by chunks.
 */
#include "nccl.h"
#include "hardware.h"
#include <math.h>
#include <stddef.h>

enum algorithm { RING, TREE, NVLS, NVLS_TREE, ALGORITHMS };
enum protocol { LL, LL128, SIMPLE, PROTOCOLS };
enum generation { VOLTA, AMPERE, HOPPER, BLACKWELL, GENERATIONS };
enum span { ONE_NODE, TWO_NODES, MORE_NODES, SPANS };

static const char *const algorithm_names[ALGORITHMS] = {"RING", "TREE", "NVLS", "NVLS_TREE"};
static const char *const protocol_names[PROTOCOLS] = {"LL", "LL128", "SIMPLE"};

static const double base_latency[ALGORITHMS][PROTOCOLS] = {[RING] = {6.6, 14, 8.4}, [TREE] = {6.8, 14, 8.4}};
static const double nvlink_latency[ALGORITHMS][PROTOCOLS] = {
    [RING] = {0.6, 1.9, 3.4}, [TREE] = {0.6, 1.25, 4}, [NVLS] = {0, 0, 25}, [NVLS_TREE] = {0, 0, 25}};
static const double network_latency[ALGORITHMS][PROTOCOLS] = {
    [RING] = {2.7, 4, 14}, [TREE] = {5, 8.5, 14}, [NVLS] = {0, 0, 18}, [NVLS_TREE] = {0, 0, 20.9}};
static const double network_overhead = 1; /* of the host, for every step within a node of a job on several */

/* Over several nodes LL is held back by the host, whatever the GPU. */
static const double ll_most[GENERATIONS] = {39, 87.7, 141, 282};
static const double ll_most_between_nodes[SPANS] = {39, 39, 20.4};
static const double ring_ll128_most[GENERATIONS] = {20, 20, 36.7, 40}; /* a channel, and so below */
static const double tree_ll128_most[GENERATIONS][SPANS] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
static const double tree_most[GENERATIONS][SPANS] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static const double nvls_tree_most[GENERATIONS][SPANS] = {[HOPPER] = {0, 57.7, 45.5}, [BLACKWELL] = {0, 96, 80}};

/* The switch reduces. 0 channels: it cannot. */
static const struct {
  int channels;
  double bandwidth, efficiency;
} nvls[GENERATIONS] = {[HOPPER] = {16, 20, 0.85}, [BLACKWELL] = {32, 20, 0.74}};

/* What trees reach of their bandwidth, by the power of two of the size over 64 bytes. */
enum { TREE_SIZES = 23 };
static const double tree_share[PROTOCOLS][TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}};

/* A message has so many bytes for every thread of every channel, or it uses fewer channels. */
static const int thread_bytes[PROTOCOLS] = {8, 8, 64};
static const int channel_threads[PROTOCOLS] = {512, 640, 512};

/* The communicator, as the model sees it. */
struct group {
  enum collective collective;
  int size, nodes, of_node; /* members; nodes; members on one node */
  enum generation generation;
  enum span span;
  int channels;
  double channel; /* bandwidth of one */
  double hop;     /* latency of the network */
};

static enum generation generation(const struct gpu *gpu) {
  return gpu->major >= 10 ? BLACKWELL : gpu->major == 9 ? HOPPER : gpu->major == 8 ? AMPERE : VOLTA;
}

static struct group group_of(const struct setup *setup, enum collective collective, int size, int nodes) {
  const struct gpu *gpu = setup->gpu;
  struct group group = {.collective = collective,
                        .size = size,
                        .nodes = nodes,
                        .of_node = (size + nodes - 1) / nodes,
                        .generation = generation(gpu),
                        .span = nodes == 1   ? ONE_NODE
                                : nodes == 2 ? TWO_NODES
                                             : MORE_NODES,
                        .channels = gpu->nvlink_channels,
                        .channel = gpu->channel_bandwidth,
                        .hop = (double)setup->network.nic_latency / 1000};
  if (nodes > 1) { /* every member's network card takes part, with two channels */
    double within = group.channels * group.channel, between = group.of_node * setup->network.nic_bandwidth;
    if (group.channels > 2 * group.of_node) {
      group.channels = 2 * group.of_node;
    }
    group.channel = (within < between ? within : between) / group.channels;
  }
  return group;
}

/* The steps of a ring. */
static int ring_steps(const struct group *group, int members) {
  switch (group->collective) {
    case ALL_REDUCE:
      return 2 * (members - 1);
    case ALL_GATHER:
    case REDUCE_SCATTER:
      return members - 1;
    default:
      return members;
  }
}

static int power_of_two(int64_t number) {
  int power = 0;
  while (number >>= 1) {
    power++;
  }
  return power;
}

static double latency(const struct group *group, enum algorithm algorithm, enum protocol protocol, int64_t bytes) {
  double within = nvlink_latency[algorithm][protocol], between = 0;
  if (group->nodes > 1) {
    within = fmax(within, protocol == SIMPLE ? 3 * network_overhead : network_overhead);
    between = network_latency[algorithm == RING && group->of_node == 1 ? TREE : algorithm][protocol];
    between += protocol == SIMPLE ? 2 * group->hop : group->hop;
  }
  double base = base_latency[algorithm][protocol];
  switch (algorithm) {
    case RING: {
      if (group->collective == BROADCAST) { /* chunks follow one another: the first one's way does not count */
        return base + (group->nodes > 1 ? between : within);
      }
      int hops = group->nodes > 1 ? ring_steps(group, group->nodes) : 0;
      double sum = base + (ring_steps(group, group->size) - hops) * within + hops * between;
      bool plateau = group->collective == ALL_REDUCE && group->nodes > 1 && protocol == SIMPLE &&
                     bytes / ((int64_t)group->channels * group->size) >= 64;
      return plateau ? sum * (group->generation >= AMPERE ? 1.4 : 1.9) : sum;
    }
    case TREE:
      return base + 2 * ((group->of_node - 1) * within + power_of_two(group->nodes) * between);
    case NVLS:
      return base + within + between;
    default:
      return base + within + 2 * power_of_two(group->nodes) * between;
  }
}

static double ring_bandwidth(const struct group *group, enum protocol protocol) {
  double bus = group->channels * group->channel;
  if (protocol == LL) {
    bus = fmin(bus / 2, group->nodes == 1 ? ll_most[group->generation] : ll_most_between_nodes[group->span]);
  }
  if (protocol == LL128) {
    bus = fmin(0.92 * bus, group->channels * ring_ll128_most[group->generation]);
  }
  return bus * group->size / ring_steps(group, group->size);
}

static double tree_bandwidth(const struct group *group, enum protocol protocol, int64_t bytes) {
  double bus =
      fmin(0.92 * group->channels * group->channel, group->channels * tree_most[group->generation][group->span]);
  if (protocol == LL) {
    bus = fmin(bus / 3.8, group->nodes == 1 ? ll_most[group->generation] : ll_most_between_nodes[group->span]);
  }
  if (protocol == LL128) {
    bus = fmin(bus * (group->nodes == 1 ? 7.0 / 9 : 120.0 / 128),
               group->channels * tree_ll128_most[group->generation][group->span]);
  }
  int power = power_of_two(bytes >> 6);
  return bus / 2 * (power < TREE_SIZES ? tree_share[protocol][power] : 1);
}

static double nvls_bandwidth(const struct group *group, enum algorithm algorithm) {
  int channels = nvls[group->generation].channels;
  double channel =
      nvls[group->generation].bandwidth * nvls[group->generation].efficiency * (channels - 1) / channels * 2;
  if (algorithm == NVLS_TREE) {
    double between = group->channels * group->channel / channels * (group->nodes == 2 ? 2 : 1);
    channel = fmin(fmin(channel, between), nvls_tree_most[group->generation][group->span]);
  }
  return channels * channel * group->size / ring_steps(group, group->size);
}

/* 0: cannot be. The switch's reduction is set up from three members of a node on; over nodes it needs trees, as the
 * networks emulated here do not reduce. For gathers and scatters it would need buffers that PyTorch does not
 * register. */
static double bandwidth(const struct group *group, enum algorithm algorithm, enum protocol protocol, int64_t bytes) {
  bool with_switch = protocol == SIMPLE && nvls[group->generation].channels > 0 && group->of_node > 2;
  if (algorithm == RING) {
    return ring_bandwidth(group, protocol);
  }
  if (group->collective != ALL_REDUCE) {
    return 0;
  }
  if (algorithm == TREE) {
    return tree_bandwidth(group, protocol, bytes);
  }
  return with_switch && (algorithm == NVLS) == (group->nodes == 1) ? nvls_bandwidth(group, algorithm) : 0;
}

static int channels(const struct group *group, enum algorithm algorithm, enum protocol protocol, int64_t bytes) {
  if (algorithm == NVLS || algorithm == NVLS_TREE) {
    return nvls[group->generation].channels;
  }
  int64_t least = (int64_t)channel_threads[protocol] * thread_bytes[protocol];
  if (algorithm == RING && protocol == LL) {
    least *= group->size;
  }
  int64_t filled = bytes / least;
  return filled < 1 ? 1 : filled < group->channels ? (int)filled : group->channels;
}

/* A pair: one hop, over NVLink at what one pair was measured to reach of it. */
static struct nccl_plan pair(const struct setup *setup, int64_t bytes, int nodes) {
  enum { LL_BYTES = 16384, CHANNEL_BYTES = 131072, CHANNELS_WITHIN = 16, CHANNELS_BETWEEN = 4 };
  struct group group = group_of(setup, SEND_RECEIVE, 2, nodes);
  enum protocol protocol = bytes <= LL_BYTES ? LL : SIMPLE;
  double speed = nodes > 1 ? setup->network.nic_bandwidth : 0.88 * setup->gpu->nvlink;
  double hop = nodes > 1 ? network_latency[RING][protocol] + group.hop : nvlink_latency[RING][protocol];
  if (protocol == LL) {
    speed /= 2;
  }
  int64_t wanted = (bytes + CHANNEL_BYTES - 1) / CHANNEL_BYTES, most = nodes > 1 ? CHANNELS_BETWEEN : CHANNELS_WITHIN;
  return (struct nccl_plan){.channels = (int)(wanted < 1      ? 1
                                              : wanted < most ? wanted
                                                              : most),
                            .latency = llround(1000 * (base_latency[RING][protocol] + hop)),
                            .transfer = llround((double)bytes / speed)};
}

/* Messages of every member to every other, all under way at once: what stays on a node and what leaves it pass
 * different links. A member takes up one peer after the other. */
static struct nccl_plan exchange(const struct setup *setup, int64_t bytes, int size, int nodes) {
  enum { CHANNEL_BYTES = 131072 };
  const double all_at_once = 0.8, turn = 0.8; /* of NVLink, as nccl-tests reach with all peers; us a peer */
  struct group group = group_of(setup, ALL_TO_ALL, size, nodes);
  double part = (double)bytes / size, within = part * (group.of_node - 1), between = part * (size - group.of_node);
  double passing = fmax(within / (all_at_once * setup->gpu->nvlink), between / setup->network.nic_bandwidth);
  double hop = nodes > 1 ? network_latency[RING][SIMPLE] + group.hop : nvlink_latency[RING][SIMPLE];
  int64_t wanted = (bytes + CHANNEL_BYTES - 1) / CHANNEL_BYTES;
  return (struct nccl_plan){.channels = (int)(wanted < 1                ? 1
                                              : wanted < group.channels ? wanted
                                                                        : group.channels),
                            .latency = llround(1000 * (base_latency[RING][SIMPLE] + hop + turn * (size - 2))),
                            .transfer = llround(passing)};
}

struct nccl_plan nccl_plan(const struct setup *setup, enum collective collective, int64_t bytes, int size, int nodes) {
  if (size < 2) {
    return (struct nccl_plan){.algorithm = algorithm_names[RING], .protocol = protocol_names[LL], .channels = 1};
  }
  if (collective == SEND_RECEIVE) {
    return pair(setup, bytes, nodes);
  }
  if (collective == ALL_TO_ALL) {
    return exchange(setup, bytes, size, nodes);
  }
  struct group group = group_of(setup, collective, size, nodes);
  struct nccl_plan best = {.algorithm = NULL};
  double least = INFINITY;
  for (enum algorithm algorithm = RING; algorithm < ALGORITHMS; algorithm++) {
    for (enum protocol protocol = LL; protocol < PROTOCOLS; protocol++) {
      double speed = bandwidth(&group, algorithm, protocol, bytes);
      if (speed <= 0) {
        continue;
      }
      double start = 1000 * latency(&group, algorithm, protocol, bytes), transfer = (double)bytes / speed;
      if (start + transfer >= least) {
        continue;
      }
      least = start + transfer;
      best = (struct nccl_plan){.algorithm = algorithm_names[algorithm],
                                .protocol = protocol_names[protocol],
                                .channels = channels(&group, algorithm, protocol, bytes),
                                .latency = llround(start),
                                .transfer = llround(transfer)};
    }
  }
  return best;
}
