/* Fuzzer: any bytes as thresholds and, behind a byte 0, as a report, which is tested and its own baseline. Either is
 * refused with a reason, or every form that is written is UTF-8 and names as many metrics as there are thresholds;
 * against itself nothing regresses.
 */
#include "fuzz.h"

#include <lumos/gate.h>

static void expect_forms(const struct lumos_gate *gate) {
  for (int format = LUMOS_GATE_MARKDOWN; format <= LUMOS_GATE_JSON; format++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    lumos_gate_write(gate, (enum lumos_gate_format)format, &text);
    fuzz_expect_utf8(text.bytes, text.length, "a form of the gate");
    for (size_t i = 0; i < text.length; i++) {
      if ((unsigned char)text.bytes[i] < ' ' && text.bytes[i] != '\n') {
        fuzz_fail("no form holds control bytes", text.bytes);
      }
    }
    lumos_text_free(&text);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_error error = {LUMOS_DONE, ""};
  const uint8_t *end = size == 0 ? NULL : memchr(data, 0, size);
  size_t length = end == NULL ? size : (size_t)(end - data);
  struct fuzz_file file = fuzz_file(data, length);
  struct lumos_gate *gate = lumos_gate_open(file.path, &error);
  (void)close(file.descriptor);
  if (gate == NULL) {
    fuzz_expect_reason(&error);
    return 0;
  }
  size_t rest = end == NULL ? 0 : size - length - 1;
  char *report = fuzz_text(end == NULL ? data : end + 1, rest);
  (void)lumos_gate_is_report(report, rest);
  if (!lumos_gate_baseline(gate, report, &error) || !lumos_gate_test(gate, report, &error)) {
    fuzz_expect_reason(&error);
  }
  if (lumos_gate_decide(gate) == LUMOS_GATE_REGRESSION) {
    fuzz_fail("a job is no worse than itself", report);
  }
  expect_forms(gate);
  free(report);
  lumos_gate_close(gate);
  return 0;
}
