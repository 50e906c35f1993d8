/* Fuzzer: compressed (or any) bytes through lumos_input_read. Whatever the sizes of the reads, the same bytes come out,
 * no read writes beyond its room, and of gzip nothing is lost that zlib gives.
 */
#include "fuzz.h"

#include <zlib.h>

enum { MOST_OUT = 1 << 18, GUARD = 64, GUARD_BYTE = 0x5A, LONGEST_MATCH = 258 };

struct outcome {
  char *bytes; /* MOST_OUT of them */
  size_t length;
  bool whole;    /* read on to the end or a fault, not only until MOST_OUT */
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
    outcome->whole = true;
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
  outcome->whole = count <= 0;
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

/* Nothing that zlib gives is lost. More may come: zlib refuses a block of incomplete codes at its header, others only
 * where a code is missing. */
static void expect_all_of_zlib(const struct outcome *ours, const struct outcome *zlib) {
  expect_prefix(ours, zlib, "zlib inflates to the same bytes");
  if (ours->whole && zlib->length > ours->length + LONGEST_MATCH) {
    fuzz_fail("all that zlib gives is delivered, but for a match's length before damage", ours->error.text);
  }
  if (ours->whole && zlib->complete && !ours->complete) {
    fuzz_fail("what zlib finds sound is sound", ours->error.text);
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
  bool gzip = size > 2 && data[0] == 0x1F && data[1] == 0x8B;
  if (large.whole && small.whole &&
      (large.complete != small.complete || (large.length != small.length && (large.complete || !gzip)))) {
    fuzz_fail("the size of the reads changes nothing", small.error.text);
  }
  if (gzip) {
    struct outcome zlib = {.bytes = rooms[2]};
    inflate_all(data, size, &zlib);
    expect_all_of_zlib(&large, &zlib);
    expect_all_of_zlib(&small, &zlib);
  }
  (void)close(file.descriptor);
  return 0;
}
