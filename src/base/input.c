/* Bytes in: a window over the file, a decoder behind it, and the rules for what may follow a compressed member.
 *
 * Data before a fault are always delivered first; the fault is kept and told by the next call. So a cut trace still
 * gives every event that it holds.
 */
#include "base/input.h"

#include "base/inflate.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <lumos/memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 256 * 1024, PIPE_BYTES = 1024 * 1024, MAGIC_BYTES = 4 };

struct lumos_input {
  char *name; /* for messages */
  int descriptor;
  bool is_standard;
  bool at_end; /* of the file */
  bool inside; /* a compressed member */
  bool failed;
  struct lumos_error failure;
  char fault[96]; /* what of it */
  enum lumos_form form;
  struct lumos_decoder *decoder;
  uint64_t consumed; /* bytes of the file that were read */
  uint64_t member;   /* where in it the member in work begins */
  uint64_t size;
  uint64_t delivered; /* inflated bytes */
  struct lumos_window window;
  unsigned char *buffer;
  char peeked[LUMOS_INPUT_PEEK]; /* inflated bytes that a peek took: [peek_first, peek_end) are still to be delivered */
  size_t peek_first;
  size_t peek_end;
};

/* Keep the fault for this and all later calls. */
static int64_t keep_failure(struct lumos_input *input, const char *what, const char *cure) {
  input->failed = true;
  (void)snprintf(input->fault, sizeof input->fault, "%s", what);
  (void)lumos_fail(&input->failure, "%s: byte %" PRIu64 ": %s; %s", input->name, input->delivered, what, cure);
  return -1;
}

static int64_t tell_failure(const struct lumos_input *input, struct lumos_error *error) {
  *error = input->failure;
  return -1;
}

/* One read(2) that survives signals; 0 at the end. */
static ssize_t read_some(struct lumos_input *input, void *room, size_t capacity) {
  for (;;) {
    ssize_t count = read(input->descriptor, room, capacity);
    if (count >= 0) {
      input->consumed += (uint64_t)count;
      input->at_end = count == 0;
      return count;
    }
    if (errno != EINTR) {
      (void)keep_failure(input, strerror(errno), "the file cannot be read");
      return -1;
    }
  }
}

/* At least `wanted` bytes in the window, unless the file ends before. False when reading fails. */
static bool fill_window(struct lumos_input *input, size_t wanted) {
  struct lumos_window *window = &input->window;
  if (window->count >= wanted) {
    return true;
  }
  memmove(input->buffer, window->bytes, window->count);
  window->bytes = input->buffer;
  while (window->count < wanted && !input->at_end) {
    ssize_t count = read_some(input, window->bytes + window->count, WINDOW_BYTES - window->count);
    if (count < 0) {
      return false;
    }
    window->count += (size_t)count;
  }
  return true;
}

static bool starts_with(const struct lumos_window *window, const char *magic, size_t length) {
  return window->count >= length && memcmp(window->bytes, magic, length) == 0;
}

static enum lumos_form form_of(const struct lumos_window *window) {
  if (starts_with(window, "\x1F\x8B", 2)) {
    return LUMOS_FORM_GZIP;
  }
  bool skippable = window->count >= MAGIC_BYTES && (window->bytes[0] & 0xF0U) == 0x50 &&
                   memcmp(window->bytes + 1, "\x2A\x4D\x18", 3) == 0;
  return skippable || starts_with(window, "\x28\xB5\x2F\xFD", 4) ? LUMOS_FORM_ZSTD : LUMOS_FORM_PLAIN;
}

/* Containers that hold files instead of being one: what to do with them. Their magic stands in the inflated text, at
 * this offset. */
static bool refuse_container(const struct lumos_input *input, struct lumos_error *error) {
  static const struct {
    size_t offset;
    const char *magic, *what, *cure;
  } rows[] = {
      {0, "PK\x03\x04", "a zip archive", "unpack it (unzip) and name the files in it"},
      {0, "PK\x05\x06", "an empty zip archive", "name the files themselves"},
      {257, "ustar", "a tar archive", "unpack it (tar -xf) and name the files in it"},
      {0, "7z\xBC\xAF\x27\x1C", "a 7z archive", "unpack it (7z x) and name the files in it"},
      {0, "\xFD\x37zXZ", "compressed with xz", "unpack it first (unxz)"},
      {0, "BZh", "compressed with bzip2", "unpack it first (bunzip2)"},
      {0, "\x04\x22\x4D\x18", "compressed with lz4", "unpack it first (unlz4)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    size_t length = strlen(rows[i].magic);
    if (input->peek_end >= rows[i].offset + length &&
        memcmp(input->peeked + rows[i].offset, rows[i].magic, length) == 0) {
      return lumos_fail(error, "%s: is %s; %s", input->name, rows[i].what, rows[i].cure);
    }
  }
  return true;
}

/* Open the descriptor and learn what kind of file it is. */
static bool open_file(struct lumos_input *input, const char *path, struct lumos_error *error) {
  input->descriptor = input->is_standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (input->descriptor < 0) {
    return lumos_fail(error, "%s: cannot open: %s", path, strerror(errno));
  }
  struct stat about;
  if (fstat(input->descriptor, &about) != 0) {
    return lumos_fail(error, "%s: cannot open: %s", input->name, strerror(errno));
  }
  if (S_ISDIR(about.st_mode)) {
    return lumos_fail(error, "%s: is a directory; name a file in it", input->name);
  }
  if (S_ISFIFO(about.st_mode)) { /* a larger pipe, so that the tools on both sides seldom wait for each other. A wish */
    (void)fcntl(input->descriptor, F_SETPIPE_SZ, PIPE_BYTES);
  }
  if (S_ISREG(about.st_mode) && about.st_size > 0) {
    input->size = (uint64_t)about.st_size;
  }
  return true;
}

/* Read the first bytes and choose the decoder. */
static bool recognise(struct lumos_input *input, struct lumos_error *error) {
  if (!fill_window(input, MAGIC_BYTES)) {
    (void)tell_failure(input, error);
    return false;
  }
  input->form = form_of(&input->window);
  input->decoder = lumos_decoder_new(input->form);
  if (input->form != LUMOS_FORM_PLAIN && input->decoder == NULL) {
    return lumos_fail(error,
                      "%s: is compressed with zstd, which this lumos was built without; unpack it first (zstd -d)",
                      input->name);
  }
  input->inside = input->decoder != NULL;
  (void)lumos_input_peek(input, NULL, 0);
  return true;
}

struct lumos_input *lumos_input_open(const char *path, struct lumos_error *error) {
  struct lumos_input *input = lumos_allocate_zeroed(1, sizeof *input);
  input->is_standard = strcmp(path, "-") == 0;
  const char *name = input->is_standard ? "standard input" : path;
  size_t name_size = strlen(name) + 1;
  input->name = memcpy(lumos_allocate(name_size), name, name_size);
  input->descriptor = -1;
  input->buffer = lumos_allocate(WINDOW_BYTES);
  input->window.bytes = input->buffer;
  if (!open_file(input, path, error) || !recognise(input, error) || !refuse_container(input, error)) {
    lumos_input_close(input);
    return NULL;
  }
  return input;
}

void lumos_input_close(struct lumos_input *input) {
  if (input == NULL) {
    return;
  }
  if (!input->is_standard && input->descriptor >= 0) {
    (void)close(input->descriptor);
  }
  lumos_decoder_free(input->decoder);
  free(input->buffer);
  free(input->name);
  free(input);
}

static int64_t read_plain(struct lumos_input *input, char *bytes, size_t capacity) {
  struct lumos_window *window = &input->window;
  if (window->count == 0) {
    ssize_t count = input->at_end ? 0 : read_some(input, bytes, capacity);
    return count;
  }
  size_t count = window->count < capacity ? window->count : capacity;
  memcpy(bytes, window->bytes, count);
  window->bytes += count;
  window->count -= count;
  return (int64_t)count;
}

/* Where in the file the window begins. */
static uint64_t place_of(const struct lumos_input *input) { return input->consumed - input->window.count; }

static void begin_member(struct lumos_input *input) {
  lumos_decoder_restart(input->decoder);
  input->inside = true;
  input->member = place_of(input);
}

/* After a member: 1 when another one follows, 0 at the end of the file, -1 when something else follows. Zero bytes are
 * the padding that tape and block devices leave behind gzip; they mean nothing. */
static int next_compressed_member(struct lumos_input *input) {
  struct lumos_window *window = &input->window;
  for (;;) {
    if (!fill_window(input, MAGIC_BYTES)) {
      return -1;
    }
    if (window->count == 0) {
      return 0;
    }
    if (input->form != LUMOS_FORM_GZIP || window->bytes[0] != 0) {
      break;
    }
    window->bytes++;
    window->count--;
  }
  if (form_of(window) != input->form) {
    (void)keep_failure(input, "something that is not compressed follows the compressed data",
                       "all before it was read; the file may be damaged");
    return -1;
  }
  begin_member(input);
  return 1;
}

static int64_t read_compressed(struct lumos_input *input, char *bytes, size_t capacity) {
  for (;;) {
    if (!input->inside) {
      int more = next_compressed_member(input);
      if (more <= 0) {
        return more;
      }
    }
    size_t produced = 0;
    size_t before = input->window.count;
    const char *complaint = NULL;
    enum lumos_decoder_step step =
        lumos_decoder_run(input->decoder, &input->window, bytes, capacity, &produced, &complaint);
    if (step == LUMOS_STEP_DAMAGED) {
      input->delivered += produced;
      (void)keep_failure(input, complaint, "the compressed data are damaged, copy or record the file again");
      input->delivered -= produced;
    }
    input->inside = step != LUMOS_STEP_END;
    if (produced > 0 || input->failed) {
      return produced > 0 ? (int64_t)produced : -1;
    }
    if (step != LUMOS_STEP_MORE) {
      continue;
    }
    if (input->window.count > 0 && input->window.count == before) {
      return keep_failure(input, "the decoder stands still", "the compressed data are damaged");
    }
    if (!fill_window(input, 1)) {
      return -1;
    }
    if (input->window.count == 0) {
      return keep_failure(input, "the compressed data end too early", "the file is cut, copy or record it again");
    }
  }
}

static int64_t read_inflated(struct lumos_input *input, char *bytes, size_t capacity, struct lumos_error *error) {
  if (input->failed) {
    return tell_failure(input, error);
  }
  int64_t count =
      input->form == LUMOS_FORM_PLAIN ? read_plain(input, bytes, capacity) : read_compressed(input, bytes, capacity);
  if (count < 0) {
    return tell_failure(input, error);
  }
  input->delivered += (uint64_t)count;
  return count;
}

/* A header as gzip writes it: three fixed bytes, flags that exist, a level and a system that do. */
static bool begins_gzip(const unsigned char *bytes) {
  return bytes[0] == 0x1F && bytes[1] == 0x8B && bytes[2] == 8 && bytes[3] < 0x20 &&
         (bytes[8] == 0 || bytes[8] == 2 || bytes[8] == 4) && (bytes[9] <= 13 || bytes[9] == 255);
}

bool lumos_input_resume(struct lumos_input *input) {
  enum { HEADER = 10, READ_AHEAD = 16 };
  struct lumos_window *window = &input->window;
  if (!input->failed || input->form != LUMOS_FORM_GZIP) {
    return false;
  }
  size_t before = (size_t)(window->bytes - input->buffer);
  before = before < READ_AHEAD ? before : READ_AHEAD; /* the decoder may have looked at more than it used */
  window->bytes -= before;
  window->count += before;
  while (fill_window(input, HEADER) && window->count >= HEADER) {
    while (window->count >= HEADER && (!begins_gzip(window->bytes) || place_of(input) <= input->member)) {
      window->bytes++;
      window->count--;
    }
    if (window->count >= HEADER) {
      begin_member(input);
      input->failed = false;
      return true;
    }
  }
  return false;
}

size_t lumos_input_peek(struct lumos_input *input, char *bytes, size_t capacity) {
  struct lumos_error ignored; /* a failure is kept for the next read */
  while (input->peek_end < sizeof input->peeked) {
    int64_t count =
        read_inflated(input, input->peeked + input->peek_end, sizeof input->peeked - input->peek_end, &ignored);
    if (count <= 0) {
      break;
    }
    input->peek_end += (size_t)count;
  }
  size_t count = input->peek_end < capacity ? input->peek_end : capacity;
  if (count > 0) {
    memcpy(bytes, input->peeked, count);
  }
  return count;
}

int64_t lumos_input_read(struct lumos_input *input, char *bytes, size_t capacity, struct lumos_error *error) {
  if (capacity == 0) {
    return input->failed ? tell_failure(input, error) : 0;
  }
  size_t waiting = input->peek_end - input->peek_first;
  if (waiting == 0) {
    return read_inflated(input, bytes, capacity, error);
  }
  size_t count = waiting < capacity ? waiting : capacity;
  memcpy(bytes, input->peeked + input->peek_first, count);
  input->peek_first += count;
  return (int64_t)count;
}

const char *lumos_input_fault(const struct lumos_input *input) { return input->failed ? input->fault : NULL; }

char *lumos_input_slurp(const char *path, size_t limit, size_t *length, struct lumos_error *error) {
  struct lumos_input *input = lumos_input_open(path, error);
  if (input == NULL) {
    return NULL;
  }
  size_t capacity = 64 * 1024;
  size_t filled = 0;
  char *bytes = lumos_allocate(capacity);
  int64_t count = 0;
  while ((count = lumos_input_read(input, bytes + filled, capacity - filled - 1, error)) > 0) {
    filled += (size_t)count;
    if (filled > limit) {
      (void)lumos_fail(error, "%s: is larger than %zu bytes, too large for such a document", input->name, limit);
      count = -1;
      break;
    }
    if (filled + 1 == capacity) {
      capacity *= 2;
      bytes = lumos_reallocate(bytes, capacity, 1);
    }
  }
  lumos_input_close(input);
  if (count < 0) {
    free(bytes);
    return NULL;
  }
  bytes[filled] = '\0';
  *length = filled;
  return bytes;
}

void lumos_input_progress(const struct lumos_input *input, uint64_t *consumed, uint64_t *size) {
  *consumed = input->consumed - input->window.count;
  *size = input->size;
}
