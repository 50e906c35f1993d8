/* zlib and libzstd, without a name, a time or a length in the header, so that the bytes depend on the text alone. */
#include "base/deflate.h"

#include "base/text.h"
#include <limits.h>
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

enum { LEVEL = 6, GZIP_WINDOW = 15 + 16, MEMORY = 8, PIECE = 64 * 1024 };

struct lumos_deflater {
  enum lumos_form form;
  z_stream gzip;
#ifdef HAVE_ZSTD
  ZSTD_CCtx *zstd;
#endif
  struct lumos_text out;
};

enum lumos_form lumos_form_of_name(const char *path) {
  size_t length = strlen(path);
  if (length > 3 && strcmp(path + length - 3, ".gz") == 0) {
    return LUMOS_FORM_GZIP;
  }
  return length > 4 && strcmp(path + length - 4, ".zst") == 0 ? LUMOS_FORM_ZSTD : LUMOS_FORM_PLAIN;
}

#ifdef HAVE_ZSTD

/* Of all that can go wrong with sound parameters only memory is left. */
static size_t zstd_good(size_t result) {
  if (ZSTD_isError(result)) {
    lumos_out_of_memory(ZSTD_CStreamOutSize());
  }
  return result;
}

static void zstd_begin(struct lumos_deflater *deflater) {
  deflater->zstd = ZSTD_createCCtx();
  if (deflater->zstd == NULL) {
    lumos_out_of_memory(ZSTD_CStreamOutSize());
  }
  (void)zstd_good(ZSTD_CCtx_setParameter(deflater->zstd, ZSTD_c_checksumFlag, 1)); /* so that damage shows */
}

static void zstd_run(struct lumos_deflater *deflater, const char *bytes, size_t length, ZSTD_EndDirective directive) {
  ZSTD_inBuffer in = {bytes, length, 0};
  size_t held = 0;
  do {
    ZSTD_outBuffer room = {lumos_text_room(&deflater->out, PIECE), PIECE, 0};
    held = zstd_good(ZSTD_compressStream2(deflater->zstd, &room, &in, directive));
    deflater->out.length += room.pos;
  } while (in.pos < in.size || (directive == ZSTD_e_end && held > 0));
}

#endif

static void gzip_run(struct lumos_deflater *deflater, int flush) {
  int status = Z_OK;
  do {
    deflater->gzip.next_out = (Bytef *)lumos_text_room(&deflater->out, PIECE);
    deflater->gzip.avail_out = PIECE;
    status = deflate(&deflater->gzip, flush);
    deflater->out.length += PIECE - deflater->gzip.avail_out;
  } while (deflater->gzip.avail_in > 0 || (flush == Z_FINISH && status == Z_OK));
}

static void gzip_add(struct lumos_deflater *deflater, const char *bytes, size_t length) {
  while (length > 0) {
    size_t piece = length < INT_MAX ? length : INT_MAX;
    deflater->gzip.next_in = (z_const Bytef *)bytes;
    deflater->gzip.avail_in = (uInt)piece;
    gzip_run(deflater, Z_NO_FLUSH);
    bytes += piece;
    length -= piece;
  }
}

struct lumos_deflater *lumos_deflater_new(enum lumos_form form, int descriptor) {
#ifndef HAVE_ZSTD
  if (form == LUMOS_FORM_ZSTD) {
    return NULL;
  }
#endif
  struct lumos_deflater *deflater = lumos_allocate_zeroed(1, sizeof *deflater);
  deflater->form = form;
  deflater->out = LUMOS_TEXT_TO(descriptor);
#ifdef HAVE_ZSTD
  if (form == LUMOS_FORM_ZSTD) {
    zstd_begin(deflater);
    return deflater;
  }
#endif
  if (deflateInit2(&deflater->gzip, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK) {
    lumos_out_of_memory(sizeof *deflater); /* the only thing that can go wrong; and as much at least */
  }
  return deflater;
}

int lumos_deflater_add(struct lumos_deflater *deflater, const char *bytes, size_t length) {
#ifdef HAVE_ZSTD
  if (deflater->form == LUMOS_FORM_ZSTD) {
    zstd_run(deflater, bytes, length, ZSTD_e_continue);
    return deflater->out.failure;
  }
#endif
  gzip_add(deflater, bytes, length);
  return deflater->out.failure;
}

int lumos_deflater_finish(struct lumos_deflater *deflater) {
#ifdef HAVE_ZSTD
  if (deflater->form == LUMOS_FORM_ZSTD) {
    zstd_run(deflater, NULL, 0, ZSTD_e_end);
  } else {
    gzip_run(deflater, Z_FINISH);
  }
#else
  gzip_run(deflater, Z_FINISH);
#endif
  return lumos_text_flush(&deflater->out) ? 0 : deflater->out.failure;
}

void lumos_deflater_free(struct lumos_deflater *deflater) {
  if (deflater == NULL) {
    return;
  }
#ifdef HAVE_ZSTD
  (void)ZSTD_freeCCtx(deflater->zstd);
#endif
  if (deflater->form != LUMOS_FORM_ZSTD) {
    (void)deflateEnd(&deflater->gzip);
  }
  lumos_text_free(&deflater->out);
  free(deflater);
}
