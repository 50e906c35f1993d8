/* Random numbers that belong to a place, not to an order of drawing: a seed and a place give one number, whatever else
 * is drawn. So a run with the profiler and one without, or a run with one thing changed, differ in nothing but that
 * thing.
 *
 * No function of the mathematics library is used: the same bytes come out on every machine.
 */
#ifndef EMULATOR_CHANCE_H
#define EMULATOR_CHANCE_H

#include <stdint.h>

/* Mix a number into a place. */
uint64_t chance_place(uint64_t place, uint64_t number);

/* Uniform in [0, 1), 53 bits. */
double chance_uniform(uint64_t place);

/* A distribution by its quantiles, linear in between: the way measured figures are given. */
enum { QUANTILES = 9 };
extern const double quantile_shares[QUANTILES]; /* 0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1 */
struct spread {
  double at[QUANTILES]; /* ascending */
};
double spread_draw(const struct spread *spread, uint64_t place);

/* As spread_draw, but `width` times as far from the median; at least `least`. */
double spread_draw_wide(const struct spread *spread, double width, double least, uint64_t place);

#endif
