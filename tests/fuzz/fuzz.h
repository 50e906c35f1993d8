/* What the fuzzers share: bytes as a file that the library can open, streams in and out, and how a finding is told.
 *
 * Every fuzzer is one file with LLVMFuzzerTestOneInput in it. libFuzzer drives it (cmake -DLUMOS_FUZZ=ON with clang),
 * and replay.c runs it over its corpus in every build.
 */
#ifndef LUMOS_TESTS_FUZZ_H
#define LUMOS_TESTS_FUZZ_H

#include "base/input.h"
#include "base/text.h"
#include <lumos/stream.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property that does not hold. */
static inline void fuzz_fail(const char *property, const char *detail) {
  (void)fprintf(stderr, "the property does not hold: %s\n%s\n", property, detail);
  abort();
}

/* A file in memory; `path` opens it while the descriptor is open. */
struct fuzz_file {
  int descriptor;
  char path[64];
};

static inline struct fuzz_file fuzz_file(const void *bytes, size_t size) {
  struct fuzz_file file = {.descriptor = memfd_create("fuzz", MFD_CLOEXEC)};
  size_t written = 0;
  while (file.descriptor >= 0 && written < size) {
    ssize_t count = write(file.descriptor, (const char *)bytes + written, size - written);
    if (count <= 0) {
      abort();
    }
    written += (size_t)count;
  }
  (void)snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
  return file;
}

/* The bytes as a text, to be freed. */
static inline char *fuzz_text(const void *bytes, size_t size) {
  char *text = malloc(size + 1);
  if (text == NULL) {
    abort();
  }
  if (size > 0) {
    memcpy(text, bytes, size);
  }
  text[size] = '\0';
  return text;
}

/* A refusal says why. */
static inline void fuzz_expect_reason(const struct lumos_error *error) {
  if (error->status == LUMOS_DONE || error->text[0] == '\0') {
    fuzz_fail("a failure has a status and a text", error->text);
  }
}

static inline struct lumos_job *fuzz_read(const void *bytes, size_t size, bool edited) {
  struct fuzz_file file = fuzz_file(bytes, size);
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_input *input = lumos_input_open(file.path, &error);
  const struct lumos_read_options options = {.edited = edited};
  struct lumos_job *job = input == NULL ? NULL : lumos_stream_read(input, "s", &options, &error);
  if (job == NULL) {
    fuzz_expect_reason(&error);
  }
  lumos_input_close(input);
  (void)close(file.descriptor);
  return job;
}

static inline struct lumos_text fuzz_written(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_stream_write(job, &text);
  return text;
}

static inline void fuzz_expect_same(const struct lumos_text *one, const struct lumos_text *other,
                                    const char *property) {
  if (one->length != other->length || (one->length > 0 && memcmp(one->bytes, other->bytes, one->length) != 0)) {
    (void)fprintf(stderr, "%.*s\n--- and\n%.*s\n", (int)one->length, one->bytes, (int)other->length, other->bytes);
    fuzz_fail(property, "see above");
  }
}

/* No byte of it is other than UTF-8: told by code that is not the library's. */
static inline void fuzz_expect_utf8(const char *bytes, size_t length, const char *where) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  for (size_t i = 0; i < length;) {
    unsigned char lead = (unsigned char)bytes[i];
    size_t count = lead < 0x80 ? 1 : lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    uint32_t point = count == 1 ? lead : lead & (0x7FU >> count);
    bool good = lead < 0x80 || (lead >= 0xC0 && lead < 0xF8);
    for (size_t k = 1; k < count; k++) {
      unsigned char next = i + k < length ? (unsigned char)bytes[i + k] : 0;
      good = good && (next & 0xC0U) == 0x80;
      point = point << 6U | (next & 0x3FU);
    }
    if (!good || point < least[count] || point > 0x10FFFF || (point >= 0xD800 && point < 0xE000)) {
      fuzz_fail("what is written is UTF-8", where);
    }
    i += count;
  }
}

/* The job passes its checks, and its stream reads back to the same bytes. */
static inline void fuzz_expect_sound(const struct lumos_job *job) {
  struct lumos_error error = {LUMOS_DONE, ""};
  if (!lumos_job_check(job, &error)) {
    fuzz_fail("a job passes its checks", error.text);
  }
  struct lumos_text text = fuzz_written(job);
  struct lumos_job *again = fuzz_read(text.bytes, text.length, false);
  if (again == NULL) {
    (void)fprintf(stderr, "%.*s", (int)text.length, text.bytes);
    fuzz_fail("what is written can be read", "see above");
  }
  struct lumos_text second = fuzz_written(again);
  fuzz_expect_same(&text, &second, "a stream written, read and written is the same bytes");
  lumos_text_free(&second);
  lumos_text_free(&text);
  lumos_job_free(again);
}

#endif
