/* The decoders. Which library inflates gzip is settled when lumos is built; both give the same bytes and the same faults. */
#include "base/inflate.h"

#include <limits.h>
#include <lumos/memory.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <string.h>
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* The libraries count in 32 bits. */
enum { LARGEST_STEP = 1 << 30 };

static uint32_t at_most_a_step(size_t count) { return count > LARGEST_STEP ? LARGEST_STEP : (uint32_t)count; }

#ifdef HAVE_ISAL

struct gzip {
  struct inflate_state state;
};

static struct gzip *gzip_new(void) {
  struct gzip *gzip = lumos_allocate(sizeof *gzip);
  isal_inflate_init(&gzip->state);
  gzip->state.crc_flag = ISAL_GZIP;
  return gzip;
}

static void gzip_restart(struct gzip *gzip) {
  isal_inflate_reset(&gzip->state);
  gzip->state.crc_flag = ISAL_GZIP;
}

static void gzip_free(struct gzip *gzip) { free(gzip); }

static enum lumos_step gzip_run(struct gzip *gzip, struct lumos_window *window, char *out, uint32_t capacity,
                                size_t *produced, const char **complaint) {
  struct inflate_state *state = &gzip->state;
  uint32_t offered = at_most_a_step(window->count);
  state->next_in = window->bytes;
  state->avail_in = offered;
  state->next_out = (uint8_t *)out;
  state->avail_out = capacity;
  int result = isal_inflate(state);
  window->bytes += offered - state->avail_in;
  window->count -= offered - state->avail_in;
  *produced = capacity - state->avail_out;
  if (result == ISAL_INCORRECT_CHECKSUM) {
    *complaint = "the checksum is wrong";
    return LUMOS_STEP_DAMAGED;
  }
  if (result < 0) {
    *complaint = "a block is invalid";
    return LUMOS_STEP_DAMAGED;
  }
  return state->block_state == ISAL_BLOCK_FINISH ? LUMOS_STEP_END : LUMOS_STEP_MORE;
}

#else

struct gzip {
  z_stream stream;
};

static struct gzip *gzip_new(void) {
  struct gzip *gzip = lumos_allocate_zeroed(1, sizeof *gzip);
  if (inflateInit2(&gzip->stream, 16 + MAX_WBITS) != Z_OK) {
    abort(); /* only when memory is refused */
  }
  return gzip;
}

static void gzip_restart(struct gzip *gzip) { (void)inflateReset(&gzip->stream); }

static void gzip_free(struct gzip *gzip) {
  (void)inflateEnd(&gzip->stream);
  free(gzip);
}

static enum lumos_step gzip_run(struct gzip *gzip, struct lumos_window *window, char *out, uint32_t capacity,
                                size_t *produced, const char **complaint) {
  z_stream *stream = &gzip->stream;
  uint32_t offered = at_most_a_step(window->count);
  stream->next_in = window->bytes;
  stream->avail_in = offered;
  stream->next_out = (Bytef *)out;
  stream->avail_out = capacity;
  int result = inflate(stream, Z_NO_FLUSH);
  window->bytes += offered - stream->avail_in;
  window->count -= offered - stream->avail_in;
  *produced = capacity - stream->avail_out;
  if (result == Z_STREAM_END) {
    return LUMOS_STEP_END;
  }
  if (result == Z_OK || result == Z_BUF_ERROR) {
    return LUMOS_STEP_MORE;
  }
  bool checksum = stream->msg != NULL && strstr(stream->msg, "check") != NULL;
  *complaint = checksum ? "the checksum is wrong" : "a block is invalid";
  return LUMOS_STEP_DAMAGED;
}

#endif

struct lumos_decoder {
  enum lumos_form form;
  struct gzip *gzip;
#ifdef HAVE_ZSTD
  ZSTD_DStream *zstd;
#endif
};

#ifdef HAVE_ZSTD

static enum lumos_step zstd_run(ZSTD_DStream *stream, struct lumos_window *window, char *out, size_t capacity,
                                size_t *produced, const char **complaint) {
  ZSTD_inBuffer in = {window->bytes, window->count, 0};
  ZSTD_outBuffer room = {out, capacity, 0};
  size_t result = ZSTD_decompressStream(stream, &room, &in);
  window->bytes += in.pos;
  window->count -= in.pos;
  *produced = room.pos;
  if (ZSTD_isError(result)) {
    *complaint = ZSTD_getErrorName(result);
    return LUMOS_STEP_DAMAGED;
  }
  return result == 0 ? LUMOS_STEP_END : LUMOS_STEP_MORE;
}

#endif

struct lumos_decoder *lumos_decoder_new(enum lumos_form form) {
  struct lumos_decoder decoder = {.form = form};
  switch (form) {
    case LUMOS_FORM_GZIP:
      decoder.gzip = gzip_new();
      break;
    case LUMOS_FORM_ZSTD:
#ifdef HAVE_ZSTD
      decoder.zstd = ZSTD_createDStream();
      if (decoder.zstd == NULL) {
        abort(); /* only when memory is refused */
      }
      break;
#else
      return NULL;
#endif
    default:
      return NULL;
  }
  struct lumos_decoder *kept = lumos_allocate(sizeof *kept);
  *kept = decoder;
  return kept;
}

void lumos_decoder_free(struct lumos_decoder *decoder) {
  if (decoder == NULL) {
    return;
  }
  if (decoder->gzip != NULL) {
    gzip_free(decoder->gzip);
  }
#ifdef HAVE_ZSTD
  (void)ZSTD_freeDStream(decoder->zstd);
#endif
  free(decoder);
}

void lumos_decoder_restart(struct lumos_decoder *decoder) {
  if (decoder->form == LUMOS_FORM_GZIP) {
    gzip_restart(decoder->gzip);
  }
#ifdef HAVE_ZSTD
  if (decoder->form == LUMOS_FORM_ZSTD) {
    (void)ZSTD_initDStream(decoder->zstd);
  }
#endif
}

enum lumos_step lumos_decoder_run(struct lumos_decoder *decoder, struct lumos_window *window, char *out,
                                  size_t capacity, size_t *produced, const char **complaint) {
#ifdef HAVE_ZSTD
  if (decoder->form == LUMOS_FORM_ZSTD) {
    return zstd_run(decoder->zstd, window, out, capacity, produced, complaint);
  }
#endif
  return gzip_run(decoder->gzip, window, out, at_most_a_step(capacity), produced, complaint);
}
