/* Hosts that keep time by NTP are off by tens to hundreds of microseconds; their quartz, off by 10 to 50 ppm by itself,
 * is disciplined to within some ppm. A profiler fits the device's clock to the host's a few times a second and is off
 * by up to 20 microseconds: real traces have kernels that start before their launch.
 */
#include "clocks.h"

#include "chance.h"

static const int64_t most_offset = 300000, most_drift_ppb = 10000, most_device_offset = 20000;

/* Places below the seed; a rank's or node's number follows. */
enum { PLACE_OFFSET = 0xC10C01, PLACE_DRIFT, PLACE_DEVICE };

/* A whole number from -most to most. */
static int64_t draw(const struct setup *setup, uint64_t kind, int number, int64_t most) {
  uint64_t place = chance_place(chance_place(setup->seed, kind), (uint64_t)number);
  return (int64_t)(chance_uniform(place) * (double)(2 * most + 1)) - most;
}

struct clock clock_of(const struct setup *setup, int rank) {
  if (!setup->mechanisms[MECHANISM_CLOCKS]) {
    return (struct clock){.device_offset = -setup->device_early};
  }
  int node = rank / setup->network.node_size;
  return (struct clock){
      .offset = draw(setup, PLACE_OFFSET, node, most_offset),
      .drift_ppb = draw(setup, PLACE_DRIFT, node, most_drift_ppb),
      .device_offset = draw(setup, PLACE_DEVICE, rank, most_device_offset) - setup->device_early,
  };
}

int64_t clock_host(const struct clock *clock, int64_t time) {
  /* Seconds and the rest apart: the product of drift and time may not fit. */
  static const int64_t second = 1000000000;
  int64_t gained = clock->drift_ppb * (time / second) + clock->drift_ppb * (time % second) / second;
  return time + clock->offset + gained;
}

int64_t clock_device(const struct clock *clock, int64_t time) { return clock_host(clock, time) + clock->device_offset; }
