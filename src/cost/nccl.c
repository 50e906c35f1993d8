/* Latencies are in us and bandwidths in GB/s, as in NCCL's source, from which all figures are where nothing else is
 * said. Columns of protocols are LL, LL128, Simple; columns of spans one node, two, more.
 */
#include "cost/nccl.h"

#include <math.h>
#include <string.h>

enum protocol { LL, LL128, SIMPLE, PROTOCOLS };
enum algorithm { RING, TREE, SWITCH, ALGORITHMS }; /* SWITCH: NVLS, over nodes NVLS_TREE */
enum span { ONE_NODE, TWO_NODES, MORE_NODES, SPANS };
enum generation { VOLTA, AMPERE, HOPPER, BLACKWELL, GENERATIONS };

static const double base_latency[ALGORITHMS][PROTOCOLS] = {{6.6, 14, 8.4}, {6.8, 14, 8.4}, {0, 0, 0}};
static const double nvlink_latency[ALGORITHMS][PROTOCOLS] = {{.6, 1.9, 3.4}, {.6, 1.25, 4}, {0, 0, 25}};
static const double pci_latency[ALGORITHMS][PROTOCOLS] = {{1, 2.5, 5.7}, {1, 1.9, 4}, {0, 0, 0}};
static const double net_latency[ALGORITHMS][PROTOCOLS] = {{2.7, 4, 14}, {5, 8.5, 14}, {0, 0, 20.9}};
static const double net_overhead[PROTOCOLS] = {1, 1, 3}; /* of the CPU, for a step of a job on several nodes */

static const double ll_most[GENERATIONS] = {39, 87.7, 141, 282}; /* on one node */
static const double ll_most_between[SPANS] = {39, 39, 20.4};
static const double ring_ll128_most[GENERATIONS] = {20, 20, 36.7, 40}; /* of a channel, and so below */
static const double tree_most[GENERATIONS][SPANS] = {
    {26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}};
static const double tree_ll128_most[GENERATIONS][SPANS] = {
    {20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}};
static const double switch_tree_most[GENERATIONS][SPANS] = {{0, 0, 0}, {0, 0, 0}, {0, 57.7, 45.5}, {0, 96, 80}};
/* Channels of the switch's reduction, GB/s of each, and the share of it that counts; 0: it does not reduce. */
static const double switch_channels[GENERATIONS] = {0, 0, 16, 32};
static const double switch_channel[GENERATIONS] = {0, 0, 20, 20};
static const double switch_share[GENERATIONS] = {0, 0, .85, .74};
static const double ring_channels[GENERATIONS] = {24, 24, 24, 32}; /* within a node, as NCCL prints them */

/* What trees reach, by the power of two of the size over 64 bytes. */
enum { TREE_SIZES = 24 };
static const double tree_share[PROTOCOLS][TREE_SIZES] = {
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9}};

/* Of the links of a GPU, what NCCL's rings count: 20 of every 25 GB/s of NVLink. */
static const double RING_SHARE = 0.8;
/* Of the links of a GPU, what a pair was measured to reach (8 H200: 396 of 450 GB/s; PCIe 5: 55 of 63). */
static const double PAIR_SHARE = 0.88;

static enum generation generation_of(enum lumos_architecture architecture) {
  switch (architecture) {
    case LUMOS_VOLTA:
    case LUMOS_TURING:
      return VOLTA;
    case LUMOS_HOPPER:
      return HOPPER;
    case LUMOS_BLACKWELL:
      return BLACKWELL;
    default:
      return AMPERE;
  }
}

struct lumos_links lumos_links_of(const struct lumos_device *device) {
  /* Where nothing is known, a server of A100s (NVIDIA DGX A100 data sheet). A hop of 5 us between nodes: chosen, as of
   * InfiniBand with a switch. */
  enum { A100_LINK = 300, A100_NETWORK = 25, HOP = 5 };
  double link = device == NULL || !(device->link > 0) ? A100_LINK : device->link;
  double network = device == NULL || !(device->network > 0) ? A100_NETWORK : device->network;
  bool switched = device == NULL || !(device->host_link > 0) || link > device->host_link;
  const double(*within)[PROTOCOLS] = switched ? nvlink_latency : pci_latency;
  return (struct lumos_links){
      .architecture = device == NULL ? LUMOS_NO_ARCHITECTURE : device->architecture,
      .switched = switched,
      .within = RING_SHARE * link,
      .between = network,
      .latency = 1,
      .hop_between = HOP,
      .pair_within = PAIR_SHARE * link,
      .pair_between = network,
      .pair_latency_within = base_latency[RING][SIMPLE] + within[RING][SIMPLE],
      .pair_latency_between = base_latency[RING][SIMPLE] + net_latency[RING][SIMPLE] + HOP,
  };
}

enum lumos_transfer_form lumos_transfer_form_of(const char *op) {
  static const struct {
    const char *op;
    enum lumos_transfer_form form;
  } forms[] = {{"all_reduce", LUMOS_ALL_REDUCING},
               {"barrier", LUMOS_ALL_REDUCING},
               {"all_gather", LUMOS_GATHERING},
               {"reduce_scatter", LUMOS_GATHERING},
               {"broadcast", LUMOS_BROADCASTING},
               {"reduce", LUMOS_BROADCASTING},
               {"send", LUMOS_PAIRING},
               {"recv", LUMOS_PAIRING},
               {"send_recv", LUMOS_PAIRING}};
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (strcmp(forms[i].op, op) == 0) {
      return forms[i].form;
    }
  }
  return LUMOS_EXCHANGING;
}

struct ring { /* a communicator as the model sees it */
  const struct lumos_links *links;
  enum lumos_transfer_form form;
  double bytes, size, nodes, of_node; /* of_node: members on one node */
  enum generation generation;
  enum span span;
  double channels, bus; /* bus: GB/s of all channels */
};

static struct ring ring_of(const struct lumos_links *links, enum lumos_transfer_form form, double bytes, int32_t size,
                           int32_t nodes) {
  struct ring ring = {.links = links, .form = form, .bytes = bytes, .size = size, .nodes = nodes};
  ring.of_node = ceil(ring.size / ring.nodes);
  ring.generation = generation_of(links->architecture);
  ring.span = nodes == 1 ? ONE_NODE : nodes == 2 ? TWO_NODES : MORE_NODES;
  ring.channels = ring_channels[ring.generation];
  ring.bus = links->within;
  if (nodes > 1) { /* the network cards of all members of a node take part, with two channels each */
    ring.channels = fmin(ring.channels, 2 * ring.of_node);
    ring.bus = fmin(ring.bus, ring.of_node * links->between);
  }
  return ring;
}

static double steps_of(const struct ring *ring, double members) {
  return ring->form == LUMOS_ALL_REDUCING ? 2 * (members - 1) : ring->form == LUMOS_GATHERING ? members - 1 : members;
}

static double latency(const struct ring *ring, enum algorithm algorithm, enum protocol protocol) {
  const struct lumos_links *links = ring->links;
  double base = links->latency * base_latency[algorithm][protocol];
  double within = links->latency * (links->switched ? nvlink_latency : pci_latency)[algorithm][protocol];
  double between = 0;
  within += links->hop_within;
  if (ring->nodes > 1) {
    within = fmax(within, net_overhead[protocol]);
    between = links->latency * net_latency[algorithm == RING && ring->of_node <= 1 ? TREE : algorithm][protocol];
    between += (protocol == SIMPLE ? 2 : 1) * links->hop_between;
  }
  if (algorithm == TREE) {
    return base + 2 * ((ring->of_node - 1) * within + floor(log2(ring->nodes)) * between);
  }
  if (algorithm == SWITCH) {
    return base + within + 2 * floor(log2(ring->nodes)) * between;
  }
  if (ring->form == LUMOS_BROADCASTING) { /* its parts follow each other */
    return base + (ring->nodes > 1 ? between : within);
  }
  double hops = ring->nodes > 1 ? steps_of(ring, ring->nodes) : 0;
  double sum = base + (steps_of(ring, ring->size) - hops) * within + hops * between;
  bool plateau = ring->form == LUMOS_ALL_REDUCING && ring->nodes > 1 && protocol == SIMPLE &&
                 ring->bytes / (ring->channels * ring->size) >= 64;
  return plateau ? sum * (ring->generation == VOLTA ? 1.9 : 1.4) : sum;
}

static double ring_bandwidth(const struct ring *ring, enum protocol protocol) {
  double bus = ring->bus;
  if (protocol == LL) {
    bus = fmin(bus / 2, ring->nodes > 1 ? ll_most_between[ring->span] : ll_most[ring->generation]);
  } else if (protocol == LL128) {
    bus = fmin(.92 * bus, ring->channels * ring_ll128_most[ring->generation]);
  }
  return bus * ring->size / steps_of(ring, ring->size);
}

static double tree_bandwidth(const struct ring *ring, enum protocol protocol) {
  double bus = fmin(.92 * ring->bus, ring->channels * tree_most[ring->generation][ring->span]);
  if (protocol == LL) {
    bus = fmin(bus / 3.8, ring->nodes > 1 ? ll_most_between[ring->span] : ll_most[ring->generation]);
  } else if (protocol == LL128) {
    bus = fmin(bus * (ring->nodes > 1 ? 120. / 128 : 7. / 9),
               ring->channels * tree_ll128_most[ring->generation][ring->span]);
  }
  /* Between the powers of two the share changes evenly, where NCCL has steps: a ratio of two sizes must not jump. */
  double power = fmin(fmax(log2(fmax(ring->bytes, 1) / 64), 0), TREE_SIZES - 1);
  int low = (int)power, high = low + 1 < TREE_SIZES ? low + 1 : low;
  double share = tree_share[protocol][low] + (power - low) * (tree_share[protocol][high] - tree_share[protocol][low]);
  return bus / 2 * share;
}

/* The switch adds up from three members of a node on. */
static double switch_bandwidth(const struct ring *ring, enum protocol protocol) {
  double channels = switch_channels[ring->generation];
  if (protocol != SIMPLE || !(channels > 0) || ring->of_node <= 2 || !ring->links->switched) {
    return 0;
  }
  /* Of the links as they are, rather than as the table says: both scale. */
  double nominal = RING_SHARE * (ring->generation == BLACKWELL ? 900 : 450);
  double channel = switch_channel[ring->generation] * switch_share[ring->generation] * (channels - 1) / channels * 2 *
                   ring->links->within / nominal;
  if (ring->nodes > 1) {
    double between = ring->bus / channels * (ring->nodes <= 2 ? 2 : 1);
    channel = fmin(fmin(channel, between), switch_tree_most[ring->generation][ring->span]);
  }
  return channels * channel * ring->size / steps_of(ring, ring->size);
}

static double bandwidth(const struct ring *ring, enum algorithm algorithm, enum protocol protocol) {
  if (algorithm != RING && ring->form != LUMOS_ALL_REDUCING) {
    return 0;
  }
  return algorithm == RING   ? ring_bandwidth(ring, protocol)
         : algorithm == TREE ? tree_bandwidth(ring, protocol)
                             : switch_bandwidth(ring, protocol);
}

static double pair_time(const struct lumos_links *links, double bytes, int32_t nodes) {
  return nodes > 1 ? 1000 * links->pair_latency_between + bytes / links->pair_between
                   : 1000 * links->pair_latency_within + bytes / links->pair_within;
}

/* Every rank sends a part to each other; what stays within its node and what leaves it pass different links. */
static double exchange_time(const struct ring *ring) {
  double of_others = ring->bytes / ring->size;
  double inside = of_others * (ring->of_node - 1), outside = of_others * (ring->size - ring->of_node);
  double passing = fmax(inside / ring->links->within, outside / ring->links->between);
  return 1000 * latency(ring, RING, SIMPLE) + passing;
}

struct plan { /* what NCCL chooses */
  double time, latency;
  enum algorithm algorithm;
  enum protocol protocol;
};

static struct plan plan_of(const struct ring *ring) {
  struct plan best = {INFINITY, 0, RING, SIMPLE};
  for (int algorithm = RING; algorithm < ALGORITHMS; algorithm++) {
    for (int protocol = LL; protocol < PROTOCOLS; protocol++) {
      double speed = bandwidth(ring, (enum algorithm)algorithm, (enum protocol)protocol);
      if (speed > 0) {
        double start = 1000 * latency(ring, (enum algorithm)algorithm, (enum protocol)protocol);
        double time = start + ring->bytes / speed;
        best = time < best.time ? (struct plan){time, start, (enum algorithm)algorithm, (enum protocol)protocol} : best;
      }
    }
  }
  return best;
}

static struct ring ring_within(const struct lumos_links *links, enum lumos_transfer_form form, double bytes,
                               int32_t size, int32_t nodes) {
  size = size < 2 ? 2 : size;
  return ring_of(links, form, bytes, size, nodes < 1 ? 1 : nodes > size ? size : nodes);
}

double lumos_nccl_time(const struct lumos_links *links, enum lumos_transfer_form form, double bytes, int32_t size,
                       int32_t nodes) {
  if (form == LUMOS_PAIRING) {
    return pair_time(links, bytes, nodes);
  }
  struct ring ring = ring_within(links, form, bytes, size, nodes);
  return form == LUMOS_EXCHANGING ? exchange_time(&ring) : plan_of(&ring).time;
}

double lumos_nccl_latency(const struct lumos_links *links, enum lumos_transfer_form form, double bytes, int32_t size,
                          int32_t nodes) {
  if (form == LUMOS_PAIRING) {
    return pair_time(links, 0, nodes);
  }
  struct ring ring = ring_within(links, form, bytes, size, nodes);
  return form == LUMOS_EXCHANGING ? 1000 * latency(&ring, RING, SIMPLE) : plan_of(&ring).latency;
}

/* A message that has less than so many bytes for each thread of each channel takes fewer of them: NCCL's
 * LL_THREAD_THRESHOLD and the like, and the threads that it starts a channel with (src/enqueue.cc, src/include/comm.h).
 * In a ring LL asks for as many from each member. */
static const double thread_bytes[PROTOCOLS] = {8, 8, 64};
static const double channel_threads[PROTOCOLS] = {512, 640, 512};

double lumos_nccl_channels(const struct lumos_links *links, enum lumos_transfer_form form, double bytes, int32_t size,
                           int32_t nodes) {
  if (form == LUMOS_PAIRING || form == LUMOS_EXCHANGING) {
    return 0;
  }
  struct ring ring = ring_within(links, form, bytes, size, nodes);
  struct plan plan = plan_of(&ring);
  if (plan.algorithm == SWITCH) {
    return switch_channels[ring.generation];
  }
  double least = thread_bytes[plan.protocol] * channel_threads[plan.protocol];
  least *= plan.algorithm == RING && plan.protocol == LL ? ring.size : 1;
  return fmin(fmax(floor(bytes / least), 1), ring.channels);
}
