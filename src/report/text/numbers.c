/* Numbers as a reader sees them: decimal arithmetic on integers, the same bytes under any locale. */
#include "report/text/numbers.h"

#include <lumos/job.h>
#include <string.h>

#define NO_BREAK_SPACE "\xC2\xA0"
#define EN_DASH "\xE2\x80\x93"
#define MINUS "\xE2\x88\x92"
#define MICRO "\xC2\xB5"

int64_t report_share(int64_t part, int64_t whole) {
  if (part == LUMOS_ABSENT || whole == LUMOS_ABSENT || whole <= 0) {
    return LUMOS_ABSENT;
  }
  /* Scale both down until the product fits; a share has six digits, and this keeps more than twelve. */
  while (part > INT64_MAX / 2000000 || part < -(INT64_MAX / 2000000)) {
    part /= 2;
    whole /= 2;
  }
  if (whole == 0) {
    return LUMOS_ABSENT;
  }
  int64_t doubled = part * 2000000 / whole;
  return doubled < 0 ? (doubled - 1) / 2 : (doubled + 1) / 2;
}

static void put_grouped(struct lumos_text *text, uint64_t value) {
  char digits[32];
  char *end = digits + sizeof digits;
  char *start = end;
  int written = 0;
  do {
    if (written > 0 && written % 3 == 0) {
      *--start = ',';
    }
    *--start = (char)('0' + value % 10);
    value /= 10;
    written++;
  } while (value > 0);
  lumos_text_add(text, start, (size_t)(end - start));
}

static uint64_t power_of_ten(int exponent) {
  uint64_t power = 1;
  while (exponent-- > 0) {
    power *= 10;
  }
  return power;
}

static uint64_t magnitude_of(int64_t value) { return value < 0 ? 0 - (uint64_t)value : (uint64_t)value; }

/* magnitude / 10^exponent, rounded to `decimals` (at most `exponent`), as units of 10^-decimals. */
static uint64_t rounded(uint64_t magnitude, int exponent, int decimals) {
  uint64_t divisor = power_of_ten(exponent - decimals);
  return magnitude / divisor + (magnitude % divisor >= divisor - divisor / 2 ? 1 : 0);
}

static void put_units(struct lumos_text *text, uint64_t units, int decimals) {
  uint64_t one = power_of_ten(decimals);
  put_grouped(text, units / one);
  if (decimals > 0) {
    lumos_text_char(text, '.');
    uint64_t fraction = units % one;
    for (uint64_t digit = one / 10; digit > 0; digit /= 10) {
      lumos_text_char(text, (char)('0' + fraction / digit % 10));
    }
  }
}

void report_put_fixed(struct lumos_text *text, int64_t value, int exponent, int decimals) {
  if (value == LUMOS_ABSENT) {
    lumos_text_put(text, EN_DASH);
    return;
  }
  uint64_t units = rounded(magnitude_of(value), exponent, decimals);
  if (value < 0 && units > 0) {
    lumos_text_put(text, MINUS);
  }
  put_units(text, units, decimals);
}

struct unit {
  const char *name;
  int exponent; /* of its size in the base unit */
};

/* Decimals, at most `most`, with which `magnitude` / 10^exponent has three digits once it is rounded: 9.996 is 10.0. */
static int decimals_for(uint64_t magnitude, int exponent, int most) {
  enum { THREE_DIGITS = 1000 };
  int decimals = most < exponent ? most : exponent;
  while (decimals > 0 && rounded(magnitude, exponent, decimals) >= THREE_DIGITS) {
    decimals--;
  }
  return decimals;
}

/* In the largest unit that leaves a digit before the point once it is rounded: 999.5 of a unit are 1 of the next.
 * `more` decimals than usual. */
static void put_scaled(struct lumos_text *text, uint64_t magnitude, const struct unit *units, size_t count, int more) {
  size_t chosen = 0;
  for (size_t i = 1; i < count; i++) {
    uint64_t one = power_of_ten(units[i].exponent);
    if (magnitude >= one - power_of_ten(units[i - 1].exponent) / 2) {
      chosen = i;
      magnitude = magnitude < one ? one : magnitude;
    }
  }
  int exponent = units[chosen].exponent;
  int decimals = decimals_for(magnitude, exponent, 2) + more;
  decimals = decimals < exponent ? decimals : exponent;
  put_units(text, rounded(magnitude, exponent, decimals), decimals);
  lumos_text_put(text, NO_BREAK_SPACE);
  lumos_text_put(text, units[chosen].name);
}

static const struct unit time_units[] = {{"ns", 0}, {MICRO "s", 3}, {"ms", 6}, {"s", 9}};
static const struct unit byte_units[] = {{"B", 0}, {"kB", 3}, {"MB", 6}, {"GB", 9}, {"TB", 12}};

static void put_time(struct lumos_text *text, int64_t nanoseconds, int more) {
  if (nanoseconds == LUMOS_ABSENT) {
    lumos_text_put(text, EN_DASH);
    return;
  }
  if (nanoseconds < 0) {
    lumos_text_put(text, MINUS);
  }
  put_scaled(text, magnitude_of(nanoseconds), time_units, sizeof time_units / sizeof time_units[0], more);
}

void report_put_time(struct lumos_text *text, int64_t nanoseconds) { put_time(text, nanoseconds, 0); }

static bool same_text(int64_t left, int64_t right, int more) {
  struct lumos_text texts[2] = {LUMOS_TEXT_BUFFER, LUMOS_TEXT_BUFFER};
  put_time(&texts[0], left, more);
  put_time(&texts[1], right, more);
  bool same = texts[0].length == texts[1].length && memcmp(texts[0].bytes, texts[1].bytes, texts[0].length) == 0;
  lumos_text_free(&texts[0]);
  lumos_text_free(&texts[1]);
  return same;
}

void report_put_time_beside(struct lumos_text *text, int64_t nanoseconds, int64_t other) {
  enum { MOST = 2 }; /* what differs by less than one in 10^4 is the same to a reader */
  int more = 0;
  while (more < MOST && nanoseconds != other && same_text(nanoseconds, other, more)) {
    more++;
  }
  more = nanoseconds != other && same_text(nanoseconds, other, more) ? 0 : more;
  put_time(text, nanoseconds, more);
}

void report_put_tick(struct lumos_text *text, int64_t nanoseconds, int64_t distance) {
  const struct unit *unit = &time_units[0];
  for (size_t i = 1; i < sizeof time_units / sizeof time_units[0]; i++) {
    unit = magnitude_of(distance) >= power_of_ten(time_units[i].exponent) ? &time_units[i] : unit;
  }
  report_put_fixed(text, nanoseconds, unit->exponent, 0);
  if (nanoseconds != 0) {
    lumos_text_put(text, NO_BREAK_SPACE);
    lumos_text_put(text, unit->name);
  }
}

void report_put_bytes(struct lumos_text *text, int64_t bytes) {
  if (bytes == LUMOS_ABSENT) {
    lumos_text_put(text, EN_DASH);
    return;
  }
  if (bytes < 0) {
    lumos_text_put(text, MINUS);
  }
  put_scaled(text, magnitude_of(bytes), byte_units, sizeof byte_units / sizeof byte_units[0], 0);
}

/* Millionths as per cent: 10^-4 of a per cent are the units. */
static void put_percent(struct lumos_text *text, int64_t millionths, int most) {
  enum { EXPONENT = 4 };
  if (millionths == LUMOS_ABSENT) {
    lumos_text_put(text, EN_DASH);
    return;
  }
  uint64_t magnitude = magnitude_of(millionths);
  if (magnitude == 0) {
    lumos_text_char(text, '0');
  } else {
    if (millionths < 0) {
      lumos_text_put(text, MINUS);
    }
    int decimals = decimals_for(magnitude, EXPONENT, most);
    uint64_t units = rounded(magnitude, EXPONENT, decimals);
    if (units == 0) {
      lumos_text_char(text, '<');
      units = 1;
    }
    put_units(text, units, decimals);
  }
  lumos_text_put(text, NO_BREAK_SPACE "%");
}

void report_put_share(struct lumos_text *text, int64_t millionths) { put_percent(text, millionths, 1); }

void report_put_fine_share(struct lumos_text *text, int64_t millionths) { put_percent(text, millionths, 2); }

void report_put_count(struct lumos_text *text, int64_t count) {
  if (count == LUMOS_ABSENT) {
    lumos_text_put(text, EN_DASH);
    return;
  }
  if (count < 0) {
    lumos_text_put(text, MINUS);
  }
  put_grouped(text, magnitude_of(count));
}

void report_put_counted(struct lumos_text *text, int64_t count, const char *noun) {
  report_put_count(text, count);
  lumos_text_put(text, NO_BREAK_SPACE);
  lumos_text_put(text, noun);
  if (count != 1) {
    lumos_text_char(text, 's');
  }
}

void report_put_time_range(struct lumos_text *text, int64_t low, int64_t high) {
  report_put_time_beside(text, low, high);
  lumos_text_put(text, " to ");
  report_put_time_beside(text, high, low);
}

void report_put_part(struct lumos_text *text, int64_t part, int64_t whole, const char *nouns) {
  report_put_count(text, part == LUMOS_ABSENT ? 0 : part);
  lumos_text_put(text, " of ");
  report_put_count(text, whole);
  lumos_text_put(text, NO_BREAK_SPACE);
  lumos_text_put(text, nouns);
}
