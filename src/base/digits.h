/* Decimal digits eight at a time, for the loops that read and write millions of numbers: one word holds eight bytes of
 * text, and a multiplication joins neighbours, pairs, and fours.
 */
#ifndef LUMOS_BASE_DIGITS_H
#define LUMOS_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

enum {
  LUMOS_DIGITS_READ = 16,    /* the most that are read at once; as many bytes must be readable */
  LUMOS_DIGITS_WRITTEN = 24, /* room that writing takes; the largest number has 20 digits */
};

/* The digit 0 in each of eight bytes. */
#define LUMOS_EIGHT_ZEROS (UINT64_MAX / 255 * '0')

/* The eight bytes as a number, the first one lowest. */
static inline uint64_t lumos_load_eight(const char *bytes) {
  uint64_t eight = 0;
  memcpy(&eight, bytes, sizeof eight);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  eight = __builtin_bswap64(eight);
#endif
  return eight;
}

static inline void lumos_store_eight(char *bytes, uint64_t eight) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  eight = __builtin_bswap64(eight);
#endif
  memcpy(bytes, &eight, sizeof eight);
}

/* The number that the digits at the front of eight bytes make, and how many they are. */
static inline __attribute__((always_inline)) unsigned lumos_digits_of_eight(uint64_t eight, uint64_t *value) {
  static const uint64_t each = UINT64_MAX / 255;
  uint64_t digits = eight ^ each * '0'; /* a digit's byte is its value, all else 10 or more */
  uint64_t others = ((digits + each * 0x76) | digits) & each * 0x80; /* exact up to the first byte that is no digit */
  unsigned count = others == 0 ? 8 : (unsigned)__builtin_ctzll(others) >> 3U;
  digits = count == 0 ? 0 : digits << (64 - 8 * count); /* zeros in front */
  digits = (digits * 10 + (digits >> 8U)) & UINT64_C(0x00FF00FF00FF00FF);
  digits = (digits * 100 + (digits >> 16U)) & UINT64_C(0x0000FFFF0000FFFF);
  *value = (digits * 10000 + (digits >> 32U)) & UINT64_C(0xFFFFFFFF);
  return count;
}

/* The number at `place`, up to LUMOS_DIGITS_READ digits of it; returns how many there were. */
static inline __attribute__((always_inline)) unsigned lumos_digits_read(const char *place, uint64_t *value) {
  static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  unsigned count = lumos_digits_of_eight(lumos_load_eight(place), value);
  if (count == 8) {
    uint64_t rest = 0;
    unsigned more = lumos_digits_of_eight(lumos_load_eight(place + 8), &rest);
    *value = *value * powers[more] + rest;
    count += more;
  }
  return count;
}

/* The eight digits of a number below 10^8, zeros in front, the first one lowest. */
static inline uint64_t lumos_eight_digits(uint32_t value) {
  uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32U;
  uint64_t hundreds = (fours * 10486 >> 20U) & UINT64_C(0x0000007F0000007F); /* divided by 100 */
  uint64_t pairs = hundreds | (fours - hundreds * 100) << 16U;
  uint64_t tens = (pairs * 103 >> 10U) & UINT64_C(0x000F000F000F000F); /* divided by 10 */
  return tens | (pairs - tens * 10) << 8U;
}

/* The digits of a number below 10^8, without zeros in front. */
static inline char *lumos_digits_write_first(char *out, uint32_t value) {
  if (value < 10) {
    *out = (char)('0' + value);
    return out + 1;
  }
  uint64_t digits = lumos_eight_digits(value);
  unsigned zeros = (unsigned)__builtin_ctzll(digits) >> 3U;
  lumos_store_eight(out, (digits | LUMOS_EIGHT_ZEROS) >> 8 * zeros);
  return out + 8 - zeros;
}

static inline char *lumos_digits_write_more(char *out, uint32_t value) {
  lumos_store_eight(out, lumos_eight_digits(value) | LUMOS_EIGHT_ZEROS);
  return out + 8;
}

/* Write a number; returns the place behind it. LUMOS_DIGITS_WRITTEN bytes are overwritten. */
static inline char *lumos_digits_write(char *out, uint64_t value) {
  static const uint64_t eight = 100000000; /* digits have this many numbers */
  if (value < eight) {
    return lumos_digits_write_first(out, (uint32_t)value);
  }
  uint64_t above = value / eight;
  if (above < eight) {
    out = lumos_digits_write_first(out, (uint32_t)above);
  } else {
    out = lumos_digits_write_first(out, (uint32_t)(above / eight));
    out = lumos_digits_write_more(out, (uint32_t)(above % eight));
  }
  return lumos_digits_write_more(out, (uint32_t)(value % eight));
}

/* The same for a number of either sign: one byte more. */
static inline char *lumos_integer_write(char *out, int64_t value) {
  *out = '-';
  return lumos_digits_write(out + (value < 0), value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

#endif
