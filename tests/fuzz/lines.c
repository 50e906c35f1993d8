/* How inputs of lines are mutated: by whole lines and by numbers, so that what a mutation leaves is more often records
 * than broken JSON. Half of the mutations are libFuzzer's own. Linked to the fuzzers of streams and traces.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

static uint32_t pick(uint64_t *state, uint32_t below) {
  *state = *state * 6364136223846793005U + 1442695040888963407U;
  return (uint32_t)(*state >> 33) % (below == 0 ? 1 : below);
}

struct piece {
  size_t at, length;
};

/* The line around a random byte, with its line end. */
static struct piece line_at(const uint8_t *data, size_t size, size_t byte) {
  size_t at = byte;
  while (at > 0 && data[at - 1] != '\n') {
    at--;
  }
  const uint8_t *end = memchr(data + byte, '\n', size - byte);
  return (struct piece){at, (end == NULL ? size : (size_t)(end - data) + 1) - at};
}

/* Digits at or behind a random byte; length 0: none. */
static struct piece number_at(const uint8_t *data, size_t size, size_t byte) {
  while (byte < size && (data[byte] < '0' || data[byte] > '9')) {
    byte++;
  }
  struct piece number = {byte, 0};
  while (byte < size && data[byte] >= '0' && data[byte] <= '9') {
    byte++;
  }
  number.length = byte - number.at;
  return number;
}

/* Put `bytes` in the place of a piece; the new size, or the old one where there is no room. */
static size_t replace(uint8_t *data, size_t size, size_t max_size, struct piece piece, const uint8_t *bytes,
                      size_t length) {
  if (size - piece.length + length > max_size) {
    return size;
  }
  memmove(data + piece.at + length, data + piece.at + piece.length, size - piece.at - piece.length);
  memcpy(data + piece.at, bytes, length);
  return size - piece.length + length;
}

static size_t mutate_number(uint8_t *data, size_t size, size_t max_size, uint64_t *state) {
  static const char *const telling[] = {"0",
                                        "1",
                                        "2",
                                        "4294967295",
                                        "2147483647",
                                        "-1",
                                        "2147483648",
                                        "1000000000",
                                        "9007199254740991",
                                        "9007199254740992",
                                        "4503599627370496",
                                        "100",
                                        "999999999999",
                                        "-9007199254740991",
                                        "9223372036854775807"};
  struct piece number = number_at(data, size, pick(state, (uint32_t)size));
  if (number.length == 0) {
    return size;
  }
  if (pick(state, 2) == 0) { /* that of another place */
    uint8_t copy[24];
    struct piece other = number_at(data, size, pick(state, (uint32_t)size));
    size_t length = other.length < sizeof copy ? other.length : sizeof copy;
    memcpy(copy, data + other.at, length);
    return length == 0 ? size : replace(data, size, max_size, number, copy, length);
  }
  const char *text = telling[pick(state, sizeof telling / sizeof *telling)];
  return replace(data, size, max_size, number, (const uint8_t *)text, strlen(text));
}

/* Drop a line, or put it in another place, or twice. */
static size_t mutate_lines(uint8_t *data, size_t size, size_t max_size, uint64_t *state) {
  static uint8_t copy[1 << 16];
  struct piece line = line_at(data, size, pick(state, (uint32_t)size));
  size_t length = line.length < sizeof copy ? line.length : sizeof copy;
  uint32_t choice = pick(state, 3);
  memcpy(copy, data + line.at, length);
  if (choice < 2) {
    size = replace(data, size, max_size, line, copy, 0);
  }
  if (choice == 0 || size == 0) {
    return size;
  }
  struct piece other = line_at(data, size, pick(state, (uint32_t)size));
  other.length = 0;
  return replace(data, size, max_size, other, copy, length);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
  uint64_t state = seed;
  for (uint32_t times = 1 + pick(&state, 4); size > 0 && times > 0; times--) {
    switch (pick(&state, 4)) {
      case 0:
        size = mutate_lines(data, size, max_size, &state);
        break;
      case 1:
        size = mutate_number(data, size, max_size, &state);
        break;
      default:
        size = LLVMFuzzerMutate(data, size, max_size);
    }
  }
  return size;
}
