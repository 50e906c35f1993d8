/* The buffer is handed to zlib whole. An error is kept until the file is closed, so that no caller has to look
 * before. */
#include "writer.h"

#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { BUFFER = WRITER_BUFFER, MARGIN = 64 }; /* a number fits the margin */

struct writer {
  gzFile file;
  char *path;
  bool failed;
  int reason; /* of the failure, as errno has it */
  size_t used;
  char buffer[BUFFER + MARGIN];
};

struct writer *writer_open(const char *folder, const char *name, bool compressed) {
  struct writer *writer = memory_new(1, sizeof *writer);
  size_t room = strlen(folder) + strlen(name) + 2;
  char *path = memory_new(room, 1);
  snprintf(path, room, "%s/%s", folder, name);
  writer->file = gzopen(path, compressed ? "wb4" : "wbT");
  if (writer->file == NULL) {
    fprintf(stderr, "emulated-cluster: %s: %s\n", path, strerror(errno));
    free(path);
    free(writer);
    return NULL;
  }
  gzbuffer(writer->file, BUFFER);
  writer->path = path;
  return writer;
}

static void flush(struct writer *writer) {
  unsigned length = (unsigned)writer->used;
  errno = 0;
  if (length > 0 && !writer->failed && gzwrite(writer->file, writer->buffer, length) != (int)length) {
    writer->failed = true;
    writer->reason = errno;
  }
  writer->used = 0;
}

bool writer_close(struct writer *writer) {
  flush(writer);
  bool written = gzclose(writer->file) == Z_OK && !writer->failed;
  if (!written) {
    int reason = writer->failed ? writer->reason : errno;
    fprintf(stderr, "emulated-cluster: %s: it could not be written whole: %s\n", writer->path, strerror(reason));
  }
  free(writer->path);
  free(writer);
  return written;
}

void put_bytes(struct writer *writer, const char *bytes, size_t length) {
  if (writer->used > BUFFER) { /* a number may have ended in the margin */
    flush(writer);
  }
  while (length > BUFFER - writer->used) {
    size_t part = BUFFER - writer->used;
    memcpy(writer->buffer + writer->used, bytes, part);
    writer->used += part;
    bytes += part;
    length -= part;
    flush(writer);
  }
  memcpy(writer->buffer + writer->used, bytes, length);
  writer->used += length;
}

void put_text(struct writer *writer, const char *text) { put_bytes(writer, text, strlen(text)); }

/* Room for a number, which is printed in place. */
static char *room(struct writer *writer) {
  if (writer->used >= BUFFER) {
    flush(writer);
  }
  return writer->buffer + writer->used;
}

static char *print(char *at, uint64_t number, int least_digits) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (count < least_digits) {
    digits[count++] = '0';
  }
  while (count > 0) {
    *at++ = digits[--count];
  }
  return at;
}

static void printed(struct writer *writer, const char *end) { writer->used = (size_t)(end - writer->buffer); }

void put_unsigned(struct writer *writer, uint64_t number) {
  char *at = room(writer);
  printed(writer, print(at, number, 1));
}

static char *print_sign(char *at, int64_t number, uint64_t *size) {
  *size = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
  if (number < 0) {
    *at++ = '-';
  }
  return at;
}

void put_integer(struct writer *writer, int64_t number) {
  uint64_t size = 0;
  char *at = print_sign(room(writer), number, &size);
  printed(writer, print(at, size, 1));
}

void put_number(struct writer *writer, const char *key, int64_t number) {
  put_text(writer, key);
  put_integer(writer, number);
}

void put_microseconds(struct writer *writer, int64_t ns) {
  uint64_t time = ns > 0 ? (uint64_t)ns : 0;
  char *at = print(room(writer), time / 1000, 1);
  *at++ = '.';
  printed(writer, print(at, time % 1000, 3));
}

void put_millionths(struct writer *writer, int64_t millionths) {
  uint64_t size = 0;
  char *at = print_sign(room(writer), millionths, &size);
  at = print(at, size / 1000000, 1);
  *at++ = '.';
  printed(writer, print(at, size % 1000000, 6));
}

void put_ratio(struct writer *writer, double numerator, double denominator) {
  put_millionths(writer, denominator > 0 && numerator > 0 ? (int64_t)(numerator / denominator * 1e6 + 0.5) : 0);
}

void put_string(struct writer *writer, const char *text) {
  PUT(writer, "\"");
  for (;;) {
    size_t plain = 0;
    while (text[plain] != '"' && text[plain] != '\\' && (unsigned char)text[plain] >= ' ') {
      plain++;
    }
    put_bytes(writer, text, plain);
    text += plain;
    if (*text == '\0') {
      break;
    }
    if (*text == '"' || *text == '\\') {
      char escape[2] = {'\\', *text};
      put_bytes(writer, escape, 2);
    } else {
      static const char hex[] = "0123456789abcdef";
      char escape[6] = {'\\', 'u', '0', '0', hex[(unsigned char)*text >> 4], hex[*text & 15]};
      put_bytes(writer, escape, 6);
    }
    text++;
  }
  PUT(writer, "\"");
}
