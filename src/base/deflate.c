/* zlib, without a name or a time in the header, so that the bytes depend on the text alone. */
#include "base/deflate.h"

#include <limits.h>
#include <lumos/memory.h>
#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 6, GZIP_WINDOW = 15 + 16, MEMORY = 8, PIECE = 64 * 1024 };

struct lumos_deflater {
  z_stream state;
  struct lumos_text *out;
};

struct lumos_deflater *lumos_deflater_new(struct lumos_text *out) {
  struct lumos_deflater *deflater = lumos_allocate_zeroed(1, sizeof *deflater);
  deflater->out = out;
  if (deflateInit2(&deflater->state, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
    lumos_out_of_memory(sizeof *deflater); /* the only thing that can go wrong; and as much at least */
  }
  return deflater;
}

static void run(struct lumos_deflater *deflater, int flush) {
  int status = Z_OK;
  do {
    deflater->state.next_out = (Bytef *)lumos_text_room(deflater->out, PIECE);
    deflater->state.avail_out = PIECE;
    status = deflate(&deflater->state, flush);
    deflater->out->length += PIECE - deflater->state.avail_out;
  } while (deflater->state.avail_in > 0 || (flush == Z_FINISH && status == Z_OK));
}

void lumos_deflater_add(struct lumos_deflater *deflater, const char *bytes, size_t length) {
  while (length > 0) {
    size_t piece = length < INT_MAX ? length : INT_MAX;
    deflater->state.next_in = (z_const Bytef *)bytes;
    deflater->state.avail_in = (uInt)piece;
    run(deflater, Z_NO_FLUSH);
    bytes += piece;
    length -= piece;
  }
}

void lumos_deflater_finish(struct lumos_deflater *deflater) {
  run(deflater, Z_FINISH);
  (void)deflateEnd(&deflater->state);
  free(deflater);
}
