/* Fuzzer: compressed (or any) bytes through lumos_input_read. Whatever the sizes of the reads, the same bytes come out, no read
 * writes beyond its room, and zlib agrees where the bytes are gzip.
 */
#include "fuzz.h"

#include <zlib.h>

enum { MOST_OUT = 1 << 18, GUARD = 64, GUARD_BYTE = 0x5A, LONGEST_MATCH = 258 };

struct outcome {
  char *bytes; /* MOST_OUT of them */
  size_t length;
  bool complete; /* to the end, without a fault */
  struct lumos_error error;
};

static void expect_guard(const char *guard) {
  for (size_t i = 0; i < GUARD; i++) {
    if (guard[i] != GUARD_BYTE) {
      fuzz_fail("a read stays within its room", "the bytes behind it were changed");
    }
  }
}

/* Read on to the end, a fault, or MOST_OUT bytes, `step` at a time. */
static void read_all(const char *path, size_t step, struct outcome *outcome) {
  static char room[(1 << 16) + GUARD];
  struct lumos_input *input = lumos_input_open(path, &outcome->error);
  if (input == NULL) { /* of a form that lumos does not read */
    fuzz_expect_reason(&outcome->error);
    return;
  }
  char peeked[LUMOS_INPUT_PEEK];
  size_t peek = lumos_input_peek(input, peeked, step < sizeof peeked ? step : sizeof peeked);
  int64_t count = 1;
  while (count > 0 && outcome->length + step <= MOST_OUT) {
    memset(room + step, GUARD_BYTE, GUARD);
    count = lumos_input_read(input, room, step, &outcome->error);
    expect_guard(room + step);
    memcpy(outcome->bytes + outcome->length, room, count > 0 ? (size_t)count : 0);
    outcome->length += count > 0 ? (size_t)count : 0;
  }
  outcome->complete = count == 0;
  if (peek > outcome->length || memcmp(peeked, outcome->bytes, peek) != 0) {
    fuzz_fail("reads deliver again what a peek has shown", "they differ");
  }
  if (count < 0) {
    fuzz_expect_reason(&outcome->error);
  }
  lumos_input_close(input);
}

/* The same from zlib: members in a row are one text. */
static void inflate_all(const uint8_t *data, size_t size, struct outcome *outcome) {
  z_stream stream = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)size};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) {
    abort();
  }
  int result = Z_OK;
  while (result == Z_OK && stream.avail_in > 0 && outcome->length < MOST_OUT) {
    stream.next_out = (Bytef *)outcome->bytes + outcome->length;
    stream.avail_out = (uInt)(MOST_OUT - outcome->length);
    result = inflate(&stream, Z_NO_FLUSH);
    outcome->length = MOST_OUT - stream.avail_out;
    if (result == Z_STREAM_END && stream.avail_in > 0) {
      result = inflateReset(&stream);
    }
  }
  outcome->complete = result == Z_STREAM_END;
  (void)inflateEnd(&stream);
}

static void expect_prefix(const struct outcome *one, const struct outcome *other, const char *property) {
  size_t common = one->length < other->length ? one->length : other->length;
  if (memcmp(one->bytes, other->bytes, common) != 0 ||
      (one->complete && other->complete && one->length != other->length)) {
    fuzz_fail(property, "they differ");
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static char rooms[3][MOST_OUT];
  struct fuzz_file file = fuzz_file(data, size);
  struct outcome large = {.bytes = rooms[0]};
  struct outcome small = {.bytes = rooms[1]};
  read_all(file.path, 1 << 16, &large);
  read_all(file.path, size < 4096 ? 13 : 4099, &small);
  expect_prefix(&large, &small, "the size of the reads changes nothing");
  size_t apart = large.length > small.length ? large.length - small.length : small.length - large.length;
  bool whole = large.length + (1 << 16) <= MOST_OUT && small.length + (1 << 16) <= MOST_OUT;
  if (whole && (large.complete != small.complete || apart > (large.complete ? 0 : LONGEST_MATCH))) {
    fuzz_fail("the size of the reads changes nothing, but for a match's length before damage", small.error.text);
  }
  if (size > 2 && data[0] == 0x1F && data[1] == 0x8B) {
    struct outcome other = {.bytes = rooms[2]};
    inflate_all(data, size, &other);
    expect_prefix(&large, &other, "zlib inflates to the same bytes");
  }
  (void)close(file.descriptor);
  return 0;
}
