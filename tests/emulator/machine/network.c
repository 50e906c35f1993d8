/* Members that meet, and what they move. A communicator's n-th collective is that of every member's n-th call; a pair
 * is the n-th send from one rank to another with the n-th receive. The transfer begins when the last kernel has
 * started; its latency passes at full speed, its bytes at a speed that the other transfers on its links and the kernels
 * beside it decide.
 */
#include "machine_state.h"
#include "nccl.h"
#include <stdlib.h>
#include <string.h>

/* ---- communicators ---- */

int network_member(const struct communicator *communicator, int rank) {
  int low = 0, high = communicator->size - 1;
  while (low <= high) {
    int middle = (low + high) / 2;
    if (communicator->ranks[middle] == rank)
      return middle;
    if (communicator->ranks[middle] < rank)
      low = middle + 1;
    else
      high = middle - 1;
  }
  return -1;
}

static int node_of(const struct machine *machine, int rank) { return rank / machine->setup->network.node_size; }

/* A member's neighbours in the ring are on its node if any member is, and on others if any is. */
static uint8_t links_of(const struct machine *machine, const struct communicator *communicator, int member) {
  unsigned links = 0;
  for (int i = 0; i < communicator->size; i++)
    if (i != member)
      links |= node_of(machine, communicator->ranks[i]) == node_of(machine, communicator->ranks[member])
                   ? NVLINK_OUT | NVLINK_IN
                   : NIC_OUT | NIC_IN;
  return (uint8_t)links;
}

void network_start(struct machine *machine) {
  machine->free_pairs = machine->free_exchanges = NOBODY;
  machine->groups = memory_new((size_t)machine->communicator_count, sizeof *machine->groups);
  for (int i = 0; i < machine->communicator_count; i++) {
    const struct communicator *communicator = &machine->communicators[i];
    struct group *group = &machine->groups[i];
    group->flights = group->free_flights = NOBODY;
    group->launched = memory_new((size_t)communicator->size, sizeof *group->launched);
    group->links = memory_new((size_t)communicator->size, sizeof *group->links);
    int stage = setup_coordinates(machine->setup, communicator->ranks[0]).stage;
    for (int member = 0; member < communicator->size; member++) {
      group->links[member] = links_of(machine, communicator, member);
      group->spans_stages |= setup_coordinates(machine->setup, communicator->ranks[member]).stage != stage;
    }
  }
}

void network_free(struct machine *machine) {
  for (int i = 0; i < machine->communicator_count; i++) {
    free(machine->groups[i].launched);
    free(machine->groups[i].links);
  }
  for (uint32_t i = 0; i < machine->flight_count; i++) {
    free(machine->flights[i]->starts);
    free(machine->flights[i]->ends);
    free(machine->flights[i]->correlations);
    free(machine->flights[i]->nodes);
    free(machine->flights[i]->streams);
    free(machine->flights[i]->finished);
    free(machine->flights[i]);
  }
  free(machine->groups);
  free(machine->flights);
  free(machine->exchanges);
  free(machine->channels);
  free(machine->plans);
  lookup_free(&machine->channel_index);
  lookup_free(&machine->plan_index);
}

/* ---- flights ---- */

static uint32_t *free_list(struct machine *machine, int communicator, bool pair) {
  return pair ? &machine->free_pairs : &machine->groups[communicator].free_flights;
}

static struct flight *flight_made(struct machine *machine, int members) {
  if (machine->flight_count == machine->flight_room) {
    machine->flight_room = machine->flight_room ? 2 * machine->flight_room : 256;
    machine->flights = memory_grown(machine->flights, machine->flight_room, sizeof(struct flight *));
  }
  struct flight *flight = memory_new(1, sizeof *flight);
  flight->index = machine->flight_count;
  flight->actor = machine->first_flight + flight->index;
  flight->starts = memory_new((size_t)members, sizeof *flight->starts);
  flight->ends = memory_new((size_t)members, sizeof *flight->ends);
  flight->correlations = memory_new((size_t)members, sizeof *flight->correlations);
  flight->nodes = memory_new((size_t)members, sizeof *flight->nodes);
  flight->streams = memory_new((size_t)members, sizeof *flight->streams);
  flight->finished = memory_new((size_t)members, sizeof *flight->finished);
  machine->flights[machine->flight_count++] = flight;
  alarms_add(&machine->alarms, 1);
  return flight;
}

static struct flight *flight_new(struct machine *machine, int communicator, bool pair, int members) {
  uint32_t *list = free_list(machine, communicator, pair);
  struct flight *flight;
  if (*list != NOBODY) {
    flight = machine->flights[*list];
    *list = flight->next;
  } else {
    flight = flight_made(machine, members);
  }
  flight->next = NOBODY;
  flight->communicator = communicator;
  flight->pair = pair;
  flight->free = false;
  flight->members = members;
  flight->arrived = 0;
  memset(flight->starts, -1, (size_t)members * sizeof *flight->starts);
  memset(flight->finished, 0, (size_t)members * sizeof *flight->finished);
  return flight;
}

static void flight_free(struct machine *machine, struct flight *flight) {
  uint32_t *list = free_list(machine, flight->communicator, flight->pair);
  flight->free = true;
  flight->next = *list;
  *list = flight->index;
}

/* ---- launches ---- */

struct channel_key {
  int communicator, source, destination;
};

static bool same_channel(const void *owner, uint32_t index, const void *sought) {
  const struct channel *channel = &((const struct machine *)owner)->channels[index];
  const struct channel_key *key = sought;
  return channel->communicator == key->communicator && channel->source == key->source &&
         channel->destination == key->destination;
}

static struct channel *channel_of(struct machine *machine, struct channel_key key) {
  uint64_t hash =
      chance_place(chance_place((uint64_t)key.communicator, (uint64_t)key.source), (uint64_t)key.destination);
  uint32_t index = lookup_find(&machine->channel_index, hash, same_channel, machine, &key);
  if (index == NOBODY) {
    if (machine->channel_count == machine->channel_room) {
      machine->channel_room = machine->channel_room ? 2 * machine->channel_room : 64;
      machine->channels = memory_grown(machine->channels, machine->channel_room, sizeof *machine->channels);
    }
    index = machine->channel_count++;
    machine->channels[index] =
        (struct channel){key.communicator, key.source, key.destination, .first = NOBODY, .last = NOBODY};
    lookup_add(&machine->channel_index, hash, index);
  }
  return &machine->channels[index];
}

/* The first pair that waits for this side, or a new one that waits for the other. */
static uint32_t pair_launched(struct machine *machine, int communicator, int rank, const struct p2p *part) {
  struct channel_key key = {communicator, part->send ? rank : part->peer, part->send ? part->peer : rank};
  struct channel *channel = channel_of(machine, key);
  if (channel->first != NOBODY && channel->receiver_ahead == part->send) {
    struct flight *flight = machine->flights[channel->first];
    channel->first = flight->next;
    if (flight->bytes != part->bytes)
      machine_fail(machine,
                   "communicator %s: message %lld from rank %d to rank %d has %lld bytes at one end, %lld at the other",
                   machine->communicators[communicator].name, (long long)flight->sequence, key.source, key.destination,
                   (long long)flight->bytes, (long long)part->bytes);
    return flight->index;
  }
  struct flight *flight = flight_new(machine, communicator, true, 2);
  bool within = node_of(machine, key.source) == node_of(machine, key.destination);
  flight->collective = SEND_RECEIVE;
  flight->sequence = ++channel->sequence;
  flight->bytes = part->bytes;
  flight->pair_ranks[0] = key.source;
  flight->pair_ranks[1] = key.destination;
  flight->pair_links[0] = within ? NVLINK_OUT : NIC_OUT;
  flight->pair_links[1] = within ? NVLINK_IN : NIC_IN;
  flight->ranks = flight->pair_ranks;
  flight->links = flight->pair_links;
  if (channel->first == NOBODY)
    channel->first = flight->index;
  else
    machine->flights[channel->last]->next = flight->index;
  channel->last = flight->index;
  channel->receiver_ahead = !part->send;
  return flight->index;
}

static uint32_t exchange_new(struct machine *machine) {
  uint32_t index = machine->free_exchanges;
  if (index != NOBODY) {
    machine->free_exchanges = machine->exchanges[index].next_free;
    return index;
  }
  if (machine->exchange_count == machine->exchange_room) {
    machine->exchange_room = machine->exchange_room ? 2 * machine->exchange_room : 256;
    machine->exchanges = memory_grown(machine->exchanges, machine->exchange_room, sizeof *machine->exchanges);
  }
  return machine->exchange_count++;
}

void network_skip(struct machine *machine, const struct device *device, int communicator) {
  machine->groups[communicator].launched[network_member(&machine->communicators[communicator], device->rank)]++;
}

uint32_t network_launch(struct machine *machine, const struct device *device, const struct work *work) {
  const struct message *message = work->message;
  int member = network_member(&machine->communicators[message->communicator], device->rank);
  if (member < 0) {
    machine_fail(machine, "rank %d communicates in %s, of which it is no member", device->rank,
                 machine->communicators[message->communicator].name);
    return 0;
  }
  if (message->collective != SEND_RECEIVE)
    return (uint32_t)++machine->groups[message->communicator].launched[member];
  uint32_t exchange = exchange_new(machine);
  for (int i = 0; i < message->parts; i++)
    machine->exchanges[exchange].flights[i] =
        pair_launched(machine, message->communicator, device->rank, &message->part[i]);
  return exchange;
}

/* ---- speed ---- */

static void settle(const struct machine *machine, struct flight *flight) {
  int64_t from = flight->settled > flight->bytes_from ? flight->settled : flight->bytes_from;
  if (machine->now > from)
    flight->left -= (double)(machine->now - from) * flight->rate;
  if (flight->left < 0)
    flight->left = 0;
  flight->settled = machine->now;
}

static void set_end(struct machine *machine, struct flight *flight) {
  flight->rate = 1;
  if (has(machine, MECHANISM_SHARED_LINKS))
    flight->rate /= flight->load;
  if (has(machine, MECHANISM_CONTENTION))
    flight->rate /= 1 + machine->setup->contention_transfer * flight->computing / flight->members;
  int64_t from = machine->now > flight->bytes_from ? machine->now : flight->bytes_from;
  alarm_set(&machine->alarms, flight->actor, from + whole_ns(flight->left / flight->rate));
}

void network_computes(struct machine *machine, struct device *device, int change) {
  if (!has(machine, MECHANISM_CONTENTION))
    return;
  for (uint32_t i = 0; i < device->passage_count; i++) {
    struct flight *flight = device->passages[i].flight;
    settle(machine, flight);
    flight->computing += change;
    set_end(machine, flight);
  }
}

static uint32_t busiest(const struct device *device, unsigned links) {
  uint32_t most = 0;
  for (int link = 0; link < LINKS; link++)
    if (links & 1U << link && device->load[link] > most)
      most = device->load[link];
  return most;
}

static uint32_t busiest_of_all(const struct machine *machine, const struct flight *flight) {
  uint32_t most = 1;
  for (int i = 0; i < flight->members; i++) {
    uint32_t load = busiest(&machine->devices[flight->ranks[i]], flight->links[i]);
    if (load > most)
      most = load;
  }
  return most;
}

static void set_load(struct machine *machine, struct flight *flight, uint32_t load) {
  if (flight->load == load)
    return;
  settle(machine, flight);
  flight->load = load;
  set_end(machine, flight);
}

/* One more or less on these links of a device. */
static void count_load(struct device *device, unsigned links, int change) {
  for (int link = 0; link < LINKS; link++)
    if (links & 1U << link)
      device->load[link] += (uint32_t)change;
}

/* The loads on these links have risen or fallen: what else passes them goes slower, or perhaps faster. */
static void share_links(struct machine *machine, struct device *device, const struct flight *changed, unsigned links,
                        bool risen) {
  if (!has(machine, MECHANISM_SHARED_LINKS))
    return;
  for (uint32_t i = 0; i < device->passage_count; i++) {
    struct flight *other = device->passages[i].flight;
    if (other == changed || !(device->passages[i].links & links))
      continue;
    uint32_t load = busiest(device, device->passages[i].links & links);
    if (risen && load > other->load)
      set_load(machine, other, load);
    else if (!risen && load < other->load)
      set_load(machine, other, busiest_of_all(machine, other));
  }
}

/* ---- transfers ---- */

static uint64_t place_of(const struct machine *machine, const struct flight *flight) {
  uint64_t place = chance_place(machine->network_place, (uint64_t)flight->communicator);
  if (flight->pair)
    place = chance_place(place, (uint64_t)flight->ranks[0] << 32 | (uint64_t)flight->ranks[1]);
  return chance_place(place, (uint64_t)flight->sequence);
}

static bool same_plan(const void *owner, uint32_t index, const void *sought) {
  const struct plan *plan = &((const struct machine *)owner)->plans[index], *key = sought;
  return plan->collective == key->collective && plan->size == key->size && plan->nodes == key->nodes &&
         plan->bytes == key->bytes;
}

static struct plan plan_of(struct machine *machine, const struct flight *flight) {
  const struct communicator *communicator = &machine->communicators[flight->communicator];
  struct plan key = {.collective = flight->collective,
                     .size = flight->pair ? 2 : communicator->size,
                     .nodes = flight->pair ? 1 + (flight->pair_links[0] == NIC_OUT) : communicator->nodes,
                     .bytes = flight->bytes};
  uint64_t hash = chance_place((uint64_t)key.collective << 48 | (uint64_t)key.nodes << 24 | (uint64_t)key.size,
                               (uint64_t)key.bytes);
  uint32_t index = lookup_find(&machine->plan_index, hash, same_plan, machine, &key);
  if (index != NOBODY)
    return machine->plans[index];
  if (machine->plan_count == machine->plan_room) {
    machine->plan_room = machine->plan_room ? 2 * machine->plan_room : 64;
    machine->plans = memory_grown(machine->plans, machine->plan_room, sizeof *machine->plans);
  }
  struct nccl_plan plan = nccl_plan(machine->setup, (enum collective)key.collective, key.bytes, key.size, key.nodes);
  key.latency = plan.latency;
  key.transfer = plan.transfer;
  machine->plans[machine->plan_count] = key;
  lookup_add(&machine->plan_index, hash, machine->plan_count++);
  return key;
}

static bool has_member(const struct machine *machine, const struct flight *flight, int rank) {
  if (flight->pair)
    return flight->ranks[0] == rank || flight->ranks[1] == rank;
  return network_member(&machine->communicators[flight->communicator], rank) >= 0;
}

/* All go at the speed of the slowest link. */
static double slowest_link(const struct machine *machine, const struct flight *flight) {
  double slowest = 1;
  for (int i = 0; i < machine->setup->slow_link_count; i++) {
    const struct slow_link *link = &machine->setup->slow_links[i];
    if (link->factor > slowest && has_member(machine, flight, link->ranks[0]) &&
        has_member(machine, flight, link->ranks[1]))
      slowest = link->factor;
  }
  return slowest;
}

/* How much longer than planned. */
static double transfer_factor(const struct machine *machine, const struct flight *flight) {
  const struct spread *spread = &irregularities.kernel_long[flight->pair ? WORK_P2P : WORK_COLLECTIVE];
  return machine->scale_transfer[flight->collective] * slowest_link(machine, flight) *
         ratio(machine, MECHANISM_KERNEL_JITTER, spread, place_of(machine, flight), CHANCE_TRANSFER);
}

static int64_t skew(const struct machine *machine, const struct flight *flight, int member) {
  if (!has(machine, MECHANISM_COLLECTIVE_SKEW))
    return 0;
  double length = (double)(machine->now - flight->begin);
  uint64_t place = chance_place(chance_place(place_of(machine, flight), CHANCE_SKEW), (uint64_t)member);
  double drawn = spread_draw_wide(&irregularities.skew, machine->setup->jitter, 0, place);
  double time = drawn * ((double)irregularities.skew_start + irregularities.skew_share * length);
  double most = (double)irregularities.skew_start + irregularities.skew_most * length;
  return whole_ns(time < most ? time : most);
}

static void set_waiting(const struct machine *machine, struct device *device, const struct stream_state *stream,
                        const struct flight *flight) {
  uint32_t bit = stream_bit(stream_number(device, stream));
  bool pipeline = flight->pair || machine->groups[flight->communicator].spans_stages;
  uint32_t *waiting = pipeline ? &device->waiting_pipeline : &device->waiting_group;
  bool waits = stream->parts_left > 0 && stream->parts_moving == 0;
  *waiting = waits ? *waiting | bit : *waiting & ~bit;
}

/* A kernel ends when its last part has. */
static void part_over(struct machine *machine, struct stream_state *stream, int64_t end) {
  if (stream->parts_end < end)
    stream->parts_end = end;
  if (--stream->parts_left == 0)
    alarm_set(&machine->alarms, stream->actor, stream->parts_end);
}

static void passage_add(struct device *device, struct flight *flight, uint8_t links) {
  if (device->passage_count == device->passage_room) {
    device->passage_room = device->passage_room ? 2 * device->passage_room : 8;
    device->passages = memory_grown(device->passages, device->passage_room, sizeof *device->passages);
  }
  device->passages[device->passage_count++] = (struct passage){flight, links};
}

static void passage_remove(struct device *device, const struct flight *flight) {
  uint32_t i = 0;
  while (device->passages[i].flight != flight)
    i++;
  device->passages[i] = device->passages[--device->passage_count];
}

static void transfer_begin(struct machine *machine, struct flight *flight) {
  struct plan plan = plan_of(machine, flight);
  double factor = transfer_factor(machine, flight);
  flight->begin = flight->settled = machine->now;
  flight->bytes_from = machine->now + whole_ns((double)plan.latency * factor);
  flight->left = (double)plan.transfer * factor;
  flight->computing = 0;
  for (int i = 0; i < flight->members; i++) {
    struct device *device = &machine->devices[flight->ranks[i]];
    struct stream_state *stream = &device->streams[flight->streams[i]];
    activity_advance(machine, device);
    flight->computing += device->computing != 0;
    passage_add(device, flight, flight->links[i]);
    count_load(device, flight->links[i], 1);
    share_links(machine, device, flight, flight->links[i], true);
    if (device->passage_count == 1)
      device_speed(machine, device);
    if (!flight->finished[i]) {
      stream->parts_moving++;
      set_waiting(machine, device, stream, flight);
    }
  }
  flight->load = busiest_of_all(machine, flight);
  set_end(machine, flight);
}

static void tell(const struct machine *machine, const struct flight *flight) {
  if (!machine->witness->transfer)
    return;
  struct transfer_record record = {.communicator = flight->communicator,
                                   .collective = (enum collective)flight->collective,
                                   .sequence = flight->sequence,
                                   .bytes = flight->bytes,
                                   .source = flight->pair ? flight->ranks[0] : -1,
                                   .destination = flight->pair ? flight->ranks[1] : -1,
                                   .members = flight->members,
                                   .ranks = flight->ranks,
                                   .starts = flight->starts,
                                   .ends = flight->ends,
                                   .correlations = flight->correlations,
                                   .nodes = flight->nodes,
                                   .step = flight->step,
                                   .begin = flight->begin,
                                   .end = machine->now};
  machine->witness->transfer(machine->witness->self, &record);
}

static void unlink_flight(struct machine *machine, const struct flight *flight) {
  if (flight->pair)
    return;
  uint32_t *link = &machine->groups[flight->communicator].flights;
  while (*link != flight->index)
    link = &machine->flights[*link]->next;
  *link = flight->next;
}

void network_transfer_end(struct machine *machine, struct flight *flight) {
  for (int i = 0; i < flight->members; i++) {
    struct device *device = &machine->devices[flight->ranks[i]];
    struct stream_state *stream = &device->streams[flight->streams[i]];
    activity_advance(machine, device);
    passage_remove(device, flight);
    count_load(device, flight->links[i], -1);
    if (device->passage_count == 0)
      device_speed(machine, device);
    if (flight->finished[i])
      continue;
    flight->ends[i] = machine->now + skew(machine, flight, i);
    stream->parts_moving--;
    part_over(machine, stream, flight->ends[i]);
    set_waiting(machine, device, stream, flight);
  }
  for (int i = 0; i < flight->members; i++)
    share_links(machine, &machine->devices[flight->ranks[i]], flight, flight->links[i], false);
  tell(machine, flight);
  unlink_flight(machine, flight);
  flight_free(machine, flight);
}

/* ---- arrivals ---- */

static void member_arrives(struct machine *machine, struct flight *flight, int member, const struct device *device,
                           const struct stream_state *stream) {
  flight->starts[member] = machine->now;
  flight->correlations[member] = stream->command.correlation;
  flight->nodes[member] = stream->command.node;
  flight->streams[member] = (uint8_t)stream_number(device, stream);
  if (flight->arrived++ == 0)
    flight->step = stream->command.step;
}

static void arrive_in_collective(struct machine *machine, struct device *device, struct stream_state *stream,
                                 const struct message *message) {
  const struct communicator *communicator = &machine->communicators[message->communicator];
  struct group *group = &machine->groups[message->communicator];
  struct flight *flight = NULL;
  for (uint32_t i = group->flights; i != NOBODY && !flight; i = machine->flights[i]->next)
    if (machine->flights[i]->sequence == stream->command.match)
      flight = machine->flights[i];
  if (!flight) {
    flight = flight_new(machine, message->communicator, false, communicator->size);
    flight->collective = message->collective;
    flight->sequence = stream->command.match;
    flight->bytes = message->bytes;
    flight->ranks = communicator->ranks;
    flight->links = group->links;
    flight->next = group->flights;
    group->flights = flight->index;
  } else if (flight->collective != message->collective || flight->bytes != message->bytes) {
    machine_fail(machine, "communicator %s: call %lld is %s of %lld bytes on one rank, %s of %lld on rank %d",
                 communicator->name, (long long)flight->sequence,
                 machine_collective_name((enum collective)flight->collective), (long long)flight->bytes,
                 machine_collective_name((enum collective)message->collective), (long long)message->bytes,
                 device->rank);
    return;
  }
  stream->parts_left = 1;
  member_arrives(machine, flight, network_member(communicator, device->rank), device, stream);
  set_waiting(machine, device, stream, flight);
  if (flight->arrived == flight->members)
    transfer_begin(machine, flight);
}

/* A small message is on its way when its sender has written it. */
static void leave_early(struct machine *machine, struct flight *flight, struct stream_state *stream) {
  double latency = (double)plan_of(machine, flight).latency * transfer_factor(machine, flight);
  flight->finished[0] = true;
  flight->ends[0] = machine->now + whole_ns(latency);
  part_over(machine, stream, flight->ends[0]);
}

static void arrive_in_pairs(struct machine *machine, struct device *device, struct stream_state *stream,
                            const struct message *message) {
  struct exchange exchange = machine->exchanges[stream->command.match];
  machine->exchanges[stream->command.match].next_free = machine->free_exchanges;
  machine->free_exchanges = stream->command.match;
  stream->parts_left = (uint8_t)message->parts;
  for (int i = 0; i < message->parts; i++) {
    const struct p2p *part = &message->part[i];
    struct flight *flight = machine->flights[exchange.flights[i]];
    member_arrives(machine, flight, part->send ? 0 : 1, device, stream);
    if (part->send && part->bytes < irregularities.eager_bytes)
      leave_early(machine, flight, stream);
    set_waiting(machine, device, stream, flight);
    if (flight->arrived == 2)
      transfer_begin(machine, flight);
  }
}

void network_arrive(struct machine *machine, struct device *device, struct stream_state *stream,
                    const struct work *work) {
  stream->parts_moving = 0;
  stream->parts_end = machine->now;
  if (work->message->collective == SEND_RECEIVE)
    arrive_in_pairs(machine, device, stream, work->message);
  else
    arrive_in_collective(machine, device, stream, work->message);
}
