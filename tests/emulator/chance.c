/* A place is a 64-bit number whose every bit depends on all that was mixed into it. The mixing is the one that ends
 * splitmix64: shifts and odd multiplications, each of which can be undone, so that different numbers at one place never
 * meet.
 */
#include "chance.h"

const double quantile_shares[QUANTILES] = {0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1};
enum { MEDIAN = QUANTILES / 2 };

/* The golden ratio's bits, added first: the mixing maps 0 to itself, and 0 is a seed that people choose. */
static const uint64_t golden = 0x9E3779B97F4A7C15u;

static uint64_t mixed(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}

uint64_t chance_place(uint64_t place, uint64_t number) { return mixed(mixed(place + golden) + number); }

double chance_uniform(uint64_t place) {
  /* Mixed with another constant than chance_place's, so that the number drawn here tells nothing of the places
   * below. */
  uint64_t bits = mixed(place ^ 0xD1B54A32D192ED03u);
  return (double)(bits >> 11) * 0x1p-53;
}

double spread_draw(const struct spread *spread, uint64_t place) {
  double share = chance_uniform(place);
  int i = 0;
  while (share >= quantile_shares[i + 1]) {
    i++;
  }
  /* A statement each: a compiler may fuse a product and a sum only within one, and that would change the last bit. */
  double part = (share - quantile_shares[i]) / (quantile_shares[i + 1] - quantile_shares[i]);
  double step = part * (spread->at[i + 1] - spread->at[i]);
  return spread->at[i] + step;
}

double spread_draw_wide(const struct spread *spread, double width, double least, uint64_t place) {
  double away = width * (spread_draw(spread, place) - spread->at[MEDIAN]);
  double drawn = spread->at[MEDIAN] + away;
  return drawn < least ? least : drawn;
}
