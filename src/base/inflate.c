/* The decoders. Which library inflates gzip is settled when lumos is built. Both give the same bytes of a sound file.
 * Of a damaged one both give all bytes before the damage, but for a match's length, and name the damage; behind it,
 * until it is noticed, come bytes that mean nothing, and ISA-L notices later than zlib: it takes a block whose codes
 * are incomplete, and how much it makes of that depends on the room it gets. */
#include "base/inflate.h"

#include <limits.h>
#include <lumos/memory.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* The libraries count in 32 bits. */
enum { LARGEST_STEP = 1 << 30 };

static uint32_t at_most_a_step(size_t count) { return count > LARGEST_STEP ? LARGEST_STEP : (uint32_t)count; }

#ifdef HAVE_ISAL

enum { LONGEST_MATCH = 258 };

struct gzip {
  struct inflate_state state;
  const char *complaint; /* damage was met, and is told when all before it has been given */
};

static struct gzip *gzip_new(void) {
  struct gzip *gzip = lumos_allocate(sizeof *gzip);
  isal_inflate_init(&gzip->state);
  gzip->state.crc_flag = ISAL_GZIP;
  gzip->complaint = NULL;
  return gzip;
}

static void gzip_restart(struct gzip *gzip) {
  gzip->complaint = NULL;
  isal_inflate_reset(&gzip->state);
  gzip->state.crc_flag = ISAL_GZIP;
}

static void gzip_free(struct gzip *gzip) { free(gzip); }

/* After damage. The library inflates ahead of a small room into a buffer of its own, and what that holds is still good;
 * but when it meets a match that cannot be, it has already counted its bytes, which are anything. */
static void gzip_fail(struct gzip *gzip, int result, size_t *produced) {
  struct inflate_state *state = &gzip->state;
  size_t held = (size_t)(state->tmp_out_valid - state->tmp_out_processed);
  size_t doubtful = result == ISAL_INCORRECT_CHECKSUM ? 0 : LONGEST_MATCH;
  size_t of_held = doubtful < held ? doubtful : held;
  size_t of_produced = doubtful - of_held < *produced ? doubtful - of_held : *produced;
  state->tmp_out_valid -= (int32_t)of_held;
  *produced -= of_produced;
  gzip->complaint = result == ISAL_INCORRECT_CHECKSUM ? "the checksum is wrong" : "a block is invalid";
}

/* Give what the library still holds, then tell the damage. */
static enum lumos_decoder_step gzip_drain(struct gzip *gzip, char *out, size_t capacity, size_t *produced,
                                          const char **complaint) {
  struct inflate_state *state = &gzip->state;
  size_t held = (size_t)(state->tmp_out_valid - state->tmp_out_processed);
  size_t room = capacity - *produced;
  size_t count = held < room ? held : room;
  memcpy(out + *produced, state->tmp_out_buffer + state->tmp_out_processed, count);
  state->tmp_out_processed += (int32_t)count;
  *produced += count;
  *complaint = gzip->complaint;
  return count < held ? LUMOS_STEP_MORE : LUMOS_STEP_DAMAGED;
}

static enum lumos_decoder_step gzip_run(struct gzip *gzip, struct lumos_window *window, char *out, uint32_t capacity,
                                        size_t *produced, const char **complaint) {
  struct inflate_state *state = &gzip->state;
  uint32_t offered = at_most_a_step(window->count);
  *produced = 0;
  if (gzip->complaint != NULL) {
    return gzip_drain(gzip, out, capacity, produced, complaint);
  }
  state->next_in = window->bytes;
  state->avail_in = offered;
  state->next_out = (uint8_t *)out;
  state->avail_out = capacity;
  int result = isal_inflate(state);
  window->bytes += offered - state->avail_in;
  window->count -= offered - state->avail_in;
  *produced = capacity - state->avail_out;
  if (result < 0) {
    gzip_fail(gzip, result, produced);
    return gzip_drain(gzip, out, capacity, produced, complaint);
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
    lumos_out_of_memory(sizeof *gzip); /* the only thing that can go wrong; and as much at least */
  }
  return gzip;
}

static void gzip_restart(struct gzip *gzip) { (void)inflateReset(&gzip->stream); }

static void gzip_free(struct gzip *gzip) {
  (void)inflateEnd(&gzip->stream);
  free(gzip);
}

static enum lumos_decoder_step gzip_run(struct gzip *gzip, struct lumos_window *window, char *out, uint32_t capacity,
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
  size_t wanted; /* bytes that zstd asks for next */
  bool filled;   /* the last call left no room, and there may be more to take */
#endif
};

#ifdef HAVE_ZSTD

/* A call that meets damage drops what it has inflated itself. So none gets more than the rest of a block (what zstd
 * asks for, less the next block's header), nor anything new before all that is ready has been taken: then nothing is
 * lost whatever the room. */
enum { ZSTD_BLOCK_HEADER = 3 };

static size_t zstd_offer(size_t wanted) { return wanted > ZSTD_BLOCK_HEADER ? wanted - ZSTD_BLOCK_HEADER : wanted; }

static size_t zstd_step(struct lumos_decoder *decoder, ZSTD_outBuffer *room, ZSTD_inBuffer *in) {
  if (decoder->filled) {
    ZSTD_inBuffer nothing = {NULL, 0, 0};
    size_t result = ZSTD_decompressStream(decoder->zstd, room, &nothing);
    decoder->filled = room->pos == room->size;
    if (room->pos > 0 || result == 0 || ZSTD_isError(result)) {
      return result;
    }
  }
  size_t result = ZSTD_decompressStream(decoder->zstd, room, in);
  decoder->filled = room->pos == room->size;
  return result;
}

static enum lumos_decoder_step zstd_run(struct lumos_decoder *decoder, struct lumos_window *window, char *out,
                                        size_t capacity, size_t *produced, const char **complaint) {
  size_t offer = zstd_offer(decoder->wanted);
  ZSTD_inBuffer in = {window->bytes, window->count < offer ? window->count : offer, 0};
  ZSTD_outBuffer room = {out, capacity, 0};
  size_t result = zstd_step(decoder, &room, &in);
  decoder->wanted = result == 0 ? 1 : result;
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
        lumos_out_of_memory(ZSTD_DStreamInSize());
      }
      decoder.wanted = ZSTD_initDStream(decoder.zstd);
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
    decoder->wanted = ZSTD_initDStream(decoder->zstd);
    decoder->filled = false;
  }
#endif
}

enum lumos_decoder_step lumos_decoder_run(struct lumos_decoder *decoder, struct lumos_window *window, char *out,
                                          size_t capacity, size_t *produced, const char **complaint) {
#ifdef HAVE_ZSTD
  if (decoder->form == LUMOS_FORM_ZSTD) {
    return zstd_run(decoder, window, out, capacity, produced, complaint);
  }
#endif
  return gzip_run(decoder->gzip, window, out, at_most_a_step(capacity), produced, complaint);
}
