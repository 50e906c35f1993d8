/* Round distances. */
#include "report/draw/ticks.h"

int64_t report_tick_distance(int64_t span) {
  int64_t power = 1;
  while (power <= span / 120) {
    power *= 10;
  }
  return power * 12 > span ? power : power * 24 > span ? power * 2 : power * 60 > span ? power * 5 : power * 10;
}
