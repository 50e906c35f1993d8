/* The script is several files, one a concept, that see each other's names: on the page they are one strict function, so
 * one element and one digest. SHA-256 from libmd; base64 as RFC 4648 has it, with padding. */
#include "report/text/script.h"

#include "report/text/template.h"
#include <sha2.h>
#include <string.h>
#include <strings.h>

static void put_base64(struct lumos_text *out, const uint8_t *bytes, size_t length) {
  enum { PADDING = 64 };
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=";
  for (size_t i = 0; i < length; i += 3) {
    size_t left = length - i < 3 ? length - i : 3;
    uint32_t group = (uint32_t)bytes[i] << 16;
    group |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
    group |= left > 2 ? bytes[i + 2] : 0;
    for (size_t letter = 0; letter < 4; letter++) {
      size_t symbol = letter <= left ? group >> (18 - 6 * letter) & 63 : PADDING;
      lumos_text_char(out, letters[symbol]);
    }
  }
}

void report_put_script_digest(struct lumos_text *out, const char *bytes, size_t length) {
  uint8_t digest[SHA256_DIGEST_LENGTH];
  SHA2_CTX context;
  SHA256Init(&context);
  SHA256Update(&context, (const uint8_t *)bytes, length);
  SHA256Final(digest, &context);
  lumos_text_put(out, "sha256-");
  put_base64(out, digest, sizeof digest);
}

static bool stands_at(const char *text, const char *bytes, size_t left) {
  size_t length = strlen(text);
  return left >= length && strncasecmp(bytes, text, length) == 0;
}

bool report_script_check(const char *name, const char *bytes, size_t length, struct lumos_error *error) {
  for (size_t i = 0; i < length; i++) {
    if (bytes[i] == '<' && (stands_at("</script", bytes + i, length - i) ||
                            stands_at("<script", bytes + i, length - i) || stands_at("<!--", bytes + i, length - i))) {
      return lumos_fail(error, "%s: byte %zu: \"%.*s\" would end the script early; write it in two pieces", name, i, 4,
                        bytes + i);
    }
    if (bytes[i] == '\0' || bytes[i] == '\r') {
      return lumos_fail(error, "%s: byte %zu: a %s; keep the file as text with line feeds", name, i,
                        bytes[i] == '\0' ? "NUL" : "carriage return");
    }
  }
  return true;
}

/* In the order in which they run: each uses the values of those before it, script-page.js starts them all. */
static const char *const script_files[] = {
    "script-elements.js", "script-numbers.js",  "script-tasks.js", "script-columns.js", "script-view.js",
    "script-colours.js",  "script-search.js",   "script-route.js", "script-paint.js",   "script-fold.js",
    "script-axis.js",     "script-describe.js", "script-link.js",  "script-hint.js",    "script-pin.js",
    "script-pointer.js",  "script-timeline.js", "script-graph.js", "script-tables.js",  "script-terms.js",
    "script-page.js",
};

static bool add_file(const char *folder, const char *name, struct lumos_text *out, struct lumos_error *error) {
  struct report_source source;
  if (!report_template_load(folder, name, &source, error)) {
    return false;
  }
  bool fits = report_script_check(name, source.bytes, source.length, error);
  lumos_text_add(out, source.bytes, source.length);
  lumos_text_char(out, '\n');
  report_template_release(&source);
  return fits;
}

bool report_script_load(const char *folder, struct lumos_text *out, struct lumos_error *error) {
  lumos_text_put(out, "(() => {\n'use strict';\n");
  for (size_t i = 0; i < sizeof script_files / sizeof script_files[0]; i++) {
    if (!add_file(folder, script_files[i], out, error)) {
      return false;
    }
  }
  lumos_text_put(out, "})();");
  return true;
}
