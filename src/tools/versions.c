#include "tools/versions.h"

#include <cairo.h>
#include <cjson/cJSON.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

/* As pkg-config gave them; the build sets those that are there. */
#ifndef LUMOS_GRAPHVIZ_VERSION
#define LUMOS_GRAPHVIZ_VERSION "unknown"
#endif
#ifndef LUMOS_LIBMD_VERSION
#define LUMOS_LIBMD_VERSION "unknown"
#endif
#ifndef LUMOS_ISAL_VERSION
#define LUMOS_ISAL_VERSION "none: zlib inflates gzip"
#endif

static const char *zstd_version(void) {
#ifdef HAVE_ZSTD
  return ZSTD_versionString();
#else
  return "none: .zst is neither read nor written";
#endif
}

void tool_add_versions(struct lumos_text *out) {
  lumos_text_format(out, "  zlib %s\n", zlibVersion());
  lumos_text_format(out, "  ISA-L %s\n", LUMOS_ISAL_VERSION);
  lumos_text_format(out, "  zstd %s\n", zstd_version());
  lumos_text_format(out, "  cJSON %s\n", cJSON_Version());
  lumos_text_format(out, "  cairo %s\n", cairo_version_string());
  lumos_text_format(out, "  Graphviz %s\n", LUMOS_GRAPHVIZ_VERSION);
  lumos_text_format(out, "  libmd %s\n", LUMOS_LIBMD_VERSION);
}
