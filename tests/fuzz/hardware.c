/* Fuzzer: any bytes as a table of GPUs. It is refused with a reason, or every device of it has figures that a GPU can
 * have, and is found by its name, by the beginning of that, and by whatever its patterns fit.
 */
#include "cost/hardware.h"
#include "fuzz.h"

#include "base/nearest.h"
#include <cjson/cJSON.h>

static void expect_figure(double figure, double least, double most, const char *name) {
  if (figure != 0 && !(figure >= least && figure <= most)) {
    fuzz_fail("figures are those of a GPU", name);
  }
}

static void expect_device(const struct lumos_device *device) {
  expect_figure(device->bandwidth, 1e-3, 1e6, device->name);
  expect_figure(device->host_link, 1e-3, 1e6, device->name);
  expect_figure(device->link, 1e-3, 1e6, device->name);
  expect_figure(device->network, 1e-3, 1e6, device->name);
  expect_figure(device->memory, 1e-3, 1e6, device->name);
  expect_figure(device->sms, 1e-3, 1e6, device->name);
  expect_figure(device->best_product, 1e-3, 1e6, device->name);
  for (int i = 0; i < LUMOS_DTYPES; i++) {
    expect_figure(device->peaks[i], 1, 1e9, device->name);
  }
  if (device->pattern_count < 1 || device->architecture < 0 || device->architecture >= LUMOS_ARCHITECTURES) {
    fuzz_fail("a device has a pattern, and an architecture that is known", device->name);
  }
}

/* Every name that the text, which was accepted, gives. */
static void expect_found(const struct lumos_hardware *hardware, const char *text) {
  cJSON *document = cJSON_Parse(text);
  const cJSON *device = NULL;
  cJSON_ArrayForEach(device, cJSON_GetObjectItemCaseSensitive(document, "devices")) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(device, "name"));
    struct lumos_text names = LUMOS_TEXT_BUFFER;
    if (name == NULL || lumos_hardware_find(hardware, name) == NULL || lumos_hardware_named(hardware, name) == NULL ||
        lumos_hardware_beginning(hardware, name, &names) == 0) {
      fuzz_fail("a device of the table is found by its name", name == NULL ? "none" : name);
    }
    expect_device(lumos_hardware_find(hardware, name));
    lumos_text_free(&names);
  }
  cJSON_Delete(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const others[] = {"NVIDIA H100 80GB HBM3", "a100", "", "no such GPU"};
  struct lumos_error error = {LUMOS_DONE, ""};
  struct fuzz_file file = fuzz_file(data, size);
  struct lumos_hardware *hardware = lumos_hardware_read(file.path, &error);
  (void)close(file.descriptor);
  if (hardware == NULL) {
    fuzz_expect_reason(&error);
    return 0;
  }
  char *text = fuzz_text(data, size);
  expect_found(hardware, text);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    const struct lumos_device *device = lumos_hardware_named(hardware, others[i]);
    struct lumos_nearest nearest = {.word = others[i]};
    lumos_hardware_offer(hardware, &nearest);
    if (device != NULL) {
      expect_device(device);
    }
  }
  free(text);
  lumos_hardware_free(hardware);
  return 0;
}
