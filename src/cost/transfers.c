#include "cost/transfers.h"

#include "base/numbering.h"
#include "base/text.h"
#include "cost/contention.h"
#include "cost/sharing.h"
#include <math.h>
#include <string.h>

struct lumos_transfers {
  struct lumos_placing placing;
  struct lumos_links links;   /* as fitted */
  struct lumos_links sheet;   /* as the device's data sheet has them */
  struct lumos_links told;    /* the same, but for what a change of the network described */
  bool alone;                 /* fitted to kernels that wait and transfer, for want of transfers */
  bool between;               /* some were measured between nodes */
  struct lumos_numbering ops; /* names of operations */
  struct lumos_calibration calibration;
  LUMOS_VECTOR(struct lumos_transfer_shape) shapes; /* as those of calibration */
};

/* ---- Keys ---- */

static double model_time(const struct lumos_links *links, const struct lumos_transfer_shape *shape) {
  return lumos_nccl_time(links, lumos_transfer_form_of(shape->op), (double)shape->bytes, shape->size, shape->nodes);
}

static struct lumos_measured_shape keys_of(const struct lumos_transfers *transfers,
                                           const struct lumos_transfer_shape *shape) {
  uint64_t op = lumos_transfer_class(shape->op);
  return (struct lumos_measured_shape){.shape = (uint64_t)shape->bytes ^ op,
                                       .family = op ^ (uint64_t)(uint32_t)shape->size << 32U ^
                                                 (uint64_t)(uint32_t)shape->nodes << 20U,
                                       .class = op,
                                       .model = model_time(&transfers->links, shape)};
}

/* ---- What was measured ---- */

struct gathering {
  struct lumos_transfers *transfers;
  struct lumos_numbering families, shapes;
  struct lumos_observations observations;
};

static void observe(struct gathering *gathering, struct lumos_transfer_shape shape, int64_t ns) {
  struct lumos_transfers *transfers = gathering->transfers;
  if (shape.bytes == LUMOS_ABSENT || shape.bytes < 0 || shape.size < 2 || ns <= 0) {
    return;
  }
  struct lumos_measured_shape keys = keys_of(transfers, &shape);
  uint32_t family = lumos_number_of(&gathering->families, keys.family);
  /* Sizes of over 4 GB would share a number; then their median counts. */
  uint32_t number = lumos_number_of(&gathering->shapes,
                                    lumos_key_pair(family, (uint32_t)shape.bytes ^ (uint32_t)(shape.bytes >> 32)));
  if (number == transfers->shapes.count) {
    lumos_vector_push(&transfers->shapes, shape);
    lumos_vector_push(&transfers->calibration.shapes, keys);
  }
  lumos_vector_push(&gathering->observations, ((struct lumos_observation){number, ns}));
}

/* What they take alone: a model of links knows of nothing else that passes them. */
static void gather_transfers(struct gathering *gathering) {
  const struct lumos_job *job = gathering->transfers->placing.job;
  struct lumos_run *runs = lumos_measured_runs(job);
  struct lumos_slowed *slowed =
      lumos_slowed_transfers(&gathering->transfers->placing, &gathering->transfers->links, runs);
  free(runs);
  struct lumos_sharing sharing = lumos_sharing_of(&gathering->transfers->placing, slowed);
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    if (collective->transfer != LUMOS_ABSENT && collective->member_count > 0) {
      int64_t alone = llround((double)collective->transfer * lumos_slowed_speed(&sharing, slowed[c]));
      observe(gathering, lumos_transfer_shape_of(&gathering->transfers->placing, collective), alone);
    }
  }
  free(slowed);
}

/* Of a kernel whose members have no trace a part is waiting, and nobody knows how much: the shortest of its shape has
 * the least. */
static void gather_kernels(struct gathering *gathering) {
  const struct lumos_job *job = gathering->transfers->placing.job;
  for (uint32_t t = 0; t < job->tasks.count; t++) {
    const struct lumos_task *task = &job->tasks.items[t];
    if (lumos_is_communication(task->kind) && lumos_on_stream(job, task)) {
      observe(gathering, lumos_transfer_shape_of_kernel(&gathering->transfers->placing, t), task->dur);
    }
  }
  int64_t *least = lumos_allocate_zeroed(gathering->transfers->shapes.count, sizeof *least);
  for (size_t i = 0; i < gathering->observations.count; i++) {
    const struct lumos_observation *observation = &gathering->observations.items[i];
    int64_t *of = &least[observation->shape];
    *of = *of == 0 || observation->ns < *of ? observation->ns : *of;
  }
  for (size_t i = 0; i < gathering->observations.count; i++) {
    gathering->observations.items[i].ns = least[gathering->observations.items[i].shape];
  }
  free(least);
}

/* ---- Links fitted to it ---- */

static void join(const struct lumos_link *link, double *bandwidth, double *hop, double *pair, double *pair_latency) {
  if (link->p2p_bandwidth > 0 || link->bandwidth > 0) {
    *pair = link->p2p_bandwidth > 0 ? link->p2p_bandwidth : *pair * link->bandwidth / *bandwidth;
  }
  if (link->p2p_latency >= 0 || link->latency >= 0) {
    *pair_latency = link->p2p_latency >= 0 ? link->p2p_latency : fmax(*pair_latency + link->latency - *hop, 0);
  }
  *bandwidth = link->bandwidth > 0 ? link->bandwidth : *bandwidth;
  *hop = link->latency >= 0 ? link->latency : *hop;
}

static void describe(const struct lumos_network *network, struct lumos_links *links) {
  join(&network->intra, &links->within, &links->hop_within, &links->pair_within, &links->pair_latency_within);
  join(&network->inter, &links->between, &links->hop_between, &links->pair_between, &links->pair_latency_between);
}

struct fit {
  const struct lumos_transfers *transfers;
  bool pairs, between; /* which transfers show the two figures */
  double *bandwidth, *latency;
};

static bool shows(const struct fit *fit, const struct lumos_transfer_shape *shape) {
  bool pair = lumos_transfer_form_of(shape->op) == LUMOS_PAIRING;
  return pair == fit->pairs && (shape->nodes > 1) == fit->between;
}

/* Squares of errors by what is expected of them: a transfer lies 10 % off its model, and a link a factor of two off its
 * data sheet (chosen: so that one transfer already outweighs the data sheet). */
static double cost_of(const struct fit *fit, const struct lumos_links *links, double bandwidth, double latency) {
  const struct lumos_transfers *transfers = fit->transfers;
  static const double TRANSFER = 0.1, LINK = 0.7;
  double cost = (bandwidth * bandwidth + latency * latency) / (LINK * LINK);
  for (size_t i = 0; i < transfers->shapes.count; i++) {
    if (shows(fit, &transfers->shapes.items[i])) {
      double error =
          log(model_time(links, &transfers->shapes.items[i]) / transfers->calibration.shapes.items[i].measured);
      cost += error * error / (TRANSFER * TRANSFER);
    }
  }
  return cost;
}

/* Factors of both figures, by trying steps to all sides and halving them where none is better. */
static void fit_link(struct fit *fit, struct lumos_links *links) {
  static const double first = 0.64, last = 0.002, most = 4.7; /* logarithms of factors; a hundredfold is a failure */
  double bandwidth = *fit->bandwidth, latency = *fit->latency, x = 0, y = 0;
  double best = cost_of(fit, links, 0, 0);
  for (double step = first; step > last;) {
    static const double sides[4][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}};
    bool better = false;
    for (size_t i = 0; i < 4 && !better; i++) {
      double to_x = x + step * sides[i][0], to_y = y + step * sides[i][1];
      *fit->bandwidth = bandwidth * exp(to_x);
      *fit->latency = latency * exp(to_y);
      double cost = fabs(to_x) > most || fabs(to_y) > most ? INFINITY : cost_of(fit, links, to_x, to_y);
      better = cost < best;
      x = better ? to_x : x;
      y = better ? to_y : y;
      best = better ? cost : best;
    }
    step = better ? step : step / 2;
  }
  *fit->bandwidth = bandwidth * exp(x);
  *fit->latency = latency * exp(y);
}

/* NCCL's model is optimistic on any link: where nothing shows or tells of the network between nodes, rings are as much
 * slower there than the data sheet says as they are within. What is further off is another link than the data sheet's,
 * and says nothing of others. Nor do messages: of these too few sizes are recorded to tell bandwidth from latency. */
static void carry_over(struct lumos_transfers *transfers) {
  static const double LEAST = 0.8; /* chosen */
  struct lumos_links *links = &transfers->links;
  double share = links->within / transfers->told.within;
  bool shown = transfers->between || transfers->alone, told = transfers->told.between != transfers->sheet.between;
  if (!shown && !told && share >= LEAST && share <= 1 / LEAST) {
    links->between *= share;
  }
}

static void fit_links(struct lumos_transfers *transfers) {
  struct lumos_links *links = &transfers->links;
  struct fit fits[] = {{transfers, false, false, &links->within, &links->latency},
                       {transfers, false, true, &links->between, &links->hop_between},
                       {transfers, true, false, &links->pair_within, &links->pair_latency_within},
                       {transfers, true, true, &links->pair_between, &links->pair_latency_between}};
  for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
    fit_link(&fits[i], links);
  }
  carry_over(transfers);
  for (size_t i = 0; i < transfers->shapes.count; i++) {
    transfers->calibration.shapes.items[i].model = model_time(links, &transfers->shapes.items[i]);
  }
}

/* ---- All together ---- */

/* Of NCCL's model alone Echo found predictions 27 % off. Of what it says of two networks, or of two ways through one,
 * of which the trace fits one, that is too much. Chosen: from six emulated clusters of four kinds of GPU, recorded on
 * one node or two, it was 6.5 % off on two, four and eight (root mean square by time), and they follow the model's own
 * formulas. */
static const double OF_CONSTANTS = 0.27, OF_RATIO = 0.1;

static const struct lumos_device *device_of(const struct lumos_job *job, const struct lumos_hardware *hardware) {
  const struct lumos_device *device = NULL;
  for (size_t r = 0; r < job->ranks.count && hardware != NULL && device == NULL; r++) {
    device = lumos_hardware_find(hardware, lumos_string(job->strings, job->ranks.items[r].device_name));
  }
  return device;
}

struct lumos_transfers *lumos_transfers_fit(const struct lumos_job *job, const struct lumos_hardware *hardware,
                                            const struct lumos_nodes *nodes) {
  /* Where there are too few shapes to leave any out. Chosen, between what is said of constants and what shapes of one
   * family show. */
  const struct lumos_duration assumed[LUMOS_DURATION_SOURCES] = {
      [LUMOS_OF_FAMILY] = {.common = 0.05, .own = 0.1},
      [LUMOS_OF_MODEL] = {.common = 0.15, .own = 0.1},
      [LUMOS_OF_CONSTANTS] = {.common = OF_CONSTANTS, .own = 0.1}};
  struct lumos_transfers *transfers = lumos_allocate_zeroed(1, sizeof *transfers);
  transfers->placing = lumos_placing_of(job, nodes);
  struct gathering gathering = {.transfers = transfers};
  transfers->links = transfers->sheet = lumos_links_of(device_of(job, hardware));
  struct lumos_network told = lumos_told_network(job);
  describe(&told, &transfers->links);
  transfers->told = transfers->links;
  gather_transfers(&gathering);
  transfers->alone = transfers->shapes.count == 0;
  if (transfers->alone) {
    gather_kernels(&gathering);
  }
  lumos_calibration_observe(&transfers->calibration, &gathering.observations);
  for (size_t i = 0; i < transfers->shapes.count; i++) {
    transfers->between = transfers->between || transfers->shapes.items[i].nodes > 1;
  }
  fit_links(transfers);
  lumos_calibration_judge(&transfers->calibration, assumed);
  lumos_numbering_free(&gathering.families);
  lumos_numbering_free(&gathering.shapes);
  lumos_vector_free(&gathering.observations);
  return transfers;
}

void lumos_transfers_free(struct lumos_transfers *transfers) {
  if (transfers != NULL) {
    lumos_calibration_free(&transfers->calibration);
    lumos_vector_free(&transfers->shapes);
    lumos_placing_free(&transfers->placing);
    free(transfers);
  }
}

struct lumos_duration lumos_transfer_duration(const struct lumos_transfers *transfers,
                                              const struct lumos_transfer_shape *shape) {
  return lumos_calibrated_duration(&transfers->calibration, keys_of(transfers, shape));
}

/* ---- Changes ---- */

/* Another GPU's links are as much faster than the former as its data sheet says; the network between nodes stays. */
static struct lumos_links changed_links(const struct lumos_transfers *transfers, struct lumos_links links,
                                        const struct lumos_network *network, const struct lumos_device *device) {
  if (device != NULL) {
    struct lumos_links from = transfers->sheet, to = lumos_links_of(device);
    links.architecture = to.architecture;
    links.switched = to.switched;
    links.within *= to.within / from.within;
    links.pair_within *= to.pair_within / from.pair_within;
  }
  if (network != NULL) {
    describe(network, &links);
  }
  return links;
}

/* Bytes that would take so long. But for dents of trees a transfer never gets shorter with more. */
static int64_t bytes_of(const struct lumos_transfers *transfers, struct lumos_transfer_shape shape, int64_t ns) {
  int64_t low = 0, high = INT64_C(1) << 42;
  while (high - low > 1 + low / 1024) {
    shape.bytes = low + (high - low) / 2;
    if (lumos_transfer_duration(transfers, &shape).ns < (double)ns) {
      low = shape.bytes;
    } else {
      high = shape.bytes;
    }
  }
  return high;
}

/* Over nodes a ring gets as many network cards as it has members on one, and what trees and the switch reach depends on
 * whether there are two nodes or more. */
static bool takes_same_links(const struct lumos_transfer_shape *a, const struct lumos_transfer_shape *b) {
  bool alike = (lumos_transfer_form_of(a->op) == LUMOS_PAIRING) == (lumos_transfer_form_of(b->op) == LUMOS_PAIRING);
  bool within = a->nodes <= 1 && b->nodes <= 1;
  return alike && (within || (a->nodes > 1 && b->nodes > 1 && (a->nodes > 2) == (b->nodes > 2) &&
                              (a->size + a->nodes - 1) / a->nodes == (b->size + b->nodes - 1) / b->nodes));
}

static bool shows_links_of(const struct lumos_transfers *transfers, const struct lumos_transfer_shape *shape) {
  bool shown = false;
  for (size_t i = 0; i < transfers->shapes.count && !shown; i++) {
    shown = takes_same_links(&transfers->shapes.items[i], shape);
  }
  return shown;
}

struct lumos_duration lumos_transfer_changed(const struct lumos_transfers *transfers, int64_t ns,
                                             const struct lumos_transfer_shape *was,
                                             const struct lumos_transfer_shape *now,
                                             const struct lumos_network *network, const struct lumos_device *device) {
  struct lumos_transfer_shape from = *was, to = *now;
  if (from.bytes == LUMOS_ABSENT) {
    from.bytes = bytes_of(transfers, from, ns);
    to.bytes = to.bytes == LUMOS_ABSENT ? from.bytes : to.bytes;
  }
  bool same = from.bytes == to.bytes && from.size == to.size && from.nodes == to.nodes && strcmp(from.op, to.op) == 0;
  struct lumos_duration before = lumos_transfer_duration(transfers, &from);
  struct lumos_duration after = same ? before : lumos_transfer_duration(transfers, &to);
  struct lumos_duration changed = {.ns = (double)ns, .source = LUMOS_OF_SHAPE};
  if (!same) {
    changed = after;
    changed.ns = (double)ns * after.ns / before.ns;
  }
  if (to.nodes > 1 && from.nodes <= 1 && !transfers->between) { /* nothing shows the links that it now takes */
    changed.common = fmax(changed.common, OF_CONSTANTS);
  } else if (!takes_same_links(&from, &to) && !shows_links_of(transfers, &to)) {
    changed.common = hypot(changed.common, OF_RATIO);
  }
  if (network != NULL || device != NULL) {
    struct lumos_links links = changed_links(transfers, transfers->links, network, device);
    double factor = model_time(&links, &to) / model_time(&transfers->links, &to);
    const struct lumos_duration *error = &transfers->calibration.errors[LUMOS_OF_MODEL];
    if (fabs(factor - 1) > 1e-9) {
      changed.ns *= factor;
      changed.common = hypot(fmax(changed.common, error->common), OF_RATIO);
      changed.own = fmax(changed.own, error->own);
      changed.source = changed.source > LUMOS_OF_MODEL ? changed.source : LUMOS_OF_MODEL;
    }
  }
  return changed;
}

static double least_time(const struct lumos_transfers *transfers, const struct lumos_transfer_shape *shape) {
  struct lumos_transfer_shape known = *shape;
  known.bytes = known.bytes < 0 ? 0 : known.bytes;
  return model_time(&transfers->told, &known);
}

/* Were it as fast as the data sheet says, and all else waiting. Of unknown bytes there may be none. */
static double changed_least(const struct lumos_transfers *transfers, int64_t ns, double least,
                            const struct lumos_transfer_shape *was, const struct lumos_transfer_shape *now,
                            const struct lumos_network *network, const struct lumos_device *device) {
  struct lumos_links links = changed_links(transfers, transfers->told, network, device);
  struct lumos_transfer_shape to = *now;
  to.bytes = to.bytes < 0 ? 0 : to.bytes;
  double before = least_time(transfers, was);
  return (double)ns - least + (before > 0 ? least * model_time(&links, &to) / before : 0);
}

struct lumos_lone_duration lumos_transfer_changed_alone(const struct lumos_transfers *transfers, int64_t ns,
                                                        const struct lumos_transfer_shape *was,
                                                        const struct lumos_transfer_shape *now,
                                                        const struct lumos_network *network,
                                                        const struct lumos_device *device) {
  bool unknown = was->bytes == LUMOS_ABSENT;
  double most = unknown ? (double)ns : fmin(lumos_transfer_duration(transfers, was).ns, (double)ns);
  struct lumos_lone_duration changed = {
      .duration = lumos_transfer_changed(transfers, llround(most), was, now, network, device)};
  changed.duration.ns += (double)ns - most;
  if (!transfers->alone) {
    return changed;
  }
  double least = fmin(least_time(transfers, was), most), whole = changed.duration.ns,
         waits = changed_least(transfers, ns, least, was, now, network, device);
  /* As far between them as a transfer lies that is as many times longer than the one as it is shorter than the other:
   * links that are ten times slower than their data sheet are less likely than waiting. */
  double share = unknown || least <= 0 ? 0.5 : 1 / (sqrt(most / least) + 1);
  changed.duration.ns = waits + share * (whole - waits);
  changed.longer = fmax(whole, waits) - changed.duration.ns;
  changed.shorter = changed.duration.ns - fmin(whole, waits);
  /* How far shapes lie from each other is how long they wait; models are of the transfer alone. */
  double transfer = share * (whole - ((double)ns - most)) + (1 - share) * (waits - ((double)ns - least));
  double part = changed.duration.ns > 0 ? fmin(fmax(transfer / changed.duration.ns, 0), 1) : 1;
  changed.duration.common = part * fmin(changed.duration.common, OF_CONSTANTS);
  changed.duration.own = part * fmin(changed.duration.own, OF_CONSTANTS);
  return changed;
}

bool lumos_transfers_are_alone(const struct lumos_transfers *transfers) { return transfers->alone; }

const struct lumos_placing *lumos_transfers_placing(const struct lumos_transfers *transfers) {
  return &transfers->placing;
}
const struct lumos_links *lumos_transfers_links(const struct lumos_transfers *transfers) { return &transfers->links; }
const struct lumos_calibration *lumos_transfers_calibration(const struct lumos_transfers *transfers) {
  return &transfers->calibration;
}
