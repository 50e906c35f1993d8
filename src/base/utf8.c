/* UTF-8 by the table of the Unicode standard (well-formed byte sequences): the second byte's range depends on the
 * first. */
#include "base/utf8.h"

static unsigned char byte_at(const char *bytes, size_t index) { return (unsigned char)bytes[index]; }

/* The number of bytes that a lead byte announces, 0 when it cannot lead. */
static size_t announced_length(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead < 0xC2) {
    return 0;
  }
  if (lead < 0xE0) {
    return 2;
  }
  if (lead < 0xF0) {
    return 3;
  }
  return lead < 0xF5 ? 4 : 0;
}

size_t lumos_utf8_character(const char *bytes, size_t length, uint32_t *point) {
  static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
  if (length == 0) {
    return 0;
  }
  unsigned char lead = byte_at(bytes, 0);
  size_t count = announced_length(lead);
  if (count <= 1) {
    *point = lead;
    return count;
  }
  if (count > length) {
    return 0;
  }
  uint32_t value = lead & (0x7FU >> count);
  for (size_t i = 1; i < count; i++) {
    unsigned char next = byte_at(bytes, i);
    if ((next & 0xC0U) != 0x80U) {
      return 0;
    }
    value = value << 6U | (next & 0x3FU);
  }
  if (value < smallest[count] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    return 0;
  }
  *point = value;
  return count;
}

bool lumos_utf8_valid(const char *bytes, size_t length) {
  size_t step = 1;
  uint32_t point = 0;
  for (size_t i = 0; i < length && step > 0; i += step) {
    step = byte_at(bytes, i) < 0x80 ? 1 : lumos_utf8_character(bytes + i, length - i, &point);
  }
  return step > 0;
}

size_t lumos_utf8_encode(uint32_t point, char *out) {
  if (point < 0x80) {
    out[0] = (char)point;
    return 1;
  }
  if (point < 0x800) {
    out[0] = (char)(0xC0U | point >> 6U);
    out[1] = (char)(0x80U | (point & 0x3FU));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = (char)(0xE0U | point >> 12U);
    out[1] = (char)(0x80U | (point >> 6U & 0x3FU));
    out[2] = (char)(0x80U | (point & 0x3FU));
    return 3;
  }
  out[0] = (char)(0xF0U | point >> 18U);
  out[1] = (char)(0x80U | (point >> 12U & 0x3FU));
  out[2] = (char)(0x80U | (point >> 6U & 0x3FU));
  out[3] = (char)(0x80U | (point & 0x3FU));
  return 4;
}

bool lumos_utf8_reorders(uint32_t point) {
  return point == 0x61C || point == 0x200E || point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

void lumos_utf8_make_printable(char *bytes, size_t length) {
  for (size_t i = 0; i < length;) {
    uint32_t point = 0;
    size_t count = lumos_utf8_character(bytes + i, length - i, &point);
    if (count == 0 || point < 0x20 || (point >= 0x7F && point < 0xA0) || lumos_utf8_reorders(point)) {
      count = count == 0 ? 1 : count;
      for (size_t k = 0; k < count; k++) {
        bytes[i + k] = '?';
      }
    }
    i += count;
  }
}
