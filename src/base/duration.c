/* Reading durations in integers: no time passes through a double. */
#include "base/duration.h"

#include <stddef.h>
#include <string.h>

static const struct {
  const char *name;
  int decimals; /* that a number of it may have */
} units[] = {{"ns", 0}, {"us", 3}, {"\xC2\xB5s", 3}, {"ms", 6}, {"s", 9}};

/* The unit at `text`, or -1. */
static int unit_at(const char *text) {
  for (int i = 0; i < (int)(sizeof units / sizeof units[0]); i++) {
    if (strncmp(text, units[i].name, strlen(units[i].name)) == 0) {
      return i;
    }
  }
  return -1;
}

static bool add_digit(int64_t *value, int digit) {
  return !__builtin_mul_overflow(*value, INT64_C(10), value) && !__builtin_add_overflow(*value, (int64_t)digit, value);
}

bool lumos_duration_read(const char **at, int64_t *nanoseconds) {
  static const char digits[] = "0123456789";
  size_t whole = strspn(*at, digits);
  const char *fraction = *at + whole + ((*at)[whole] == '.');
  size_t decimals = fraction > *at + whole ? strspn(fraction, digits) : 0;
  const char *end = fraction + decimals;
  int unit = unit_at(end);
  if (whole == 0 || unit < 0 || (fraction > *at + whole && decimals == 0) || decimals > (size_t)units[unit].decimals) {
    return false;
  }
  int64_t value = 0;
  for (size_t i = 0; i < whole; i++) {
    if (!add_digit(&value, (*at)[i] - '0')) {
      return false;
    }
  }
  for (size_t i = 0; i < (size_t)units[unit].decimals; i++) {
    if (!add_digit(&value, i < decimals ? fraction[i] - '0' : 0)) {
      return false;
    }
  }
  *at = end + strlen(units[unit].name);
  *nanoseconds = value;
  return true;
}
