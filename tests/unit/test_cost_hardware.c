/* GPUs by the names that recordings give them. */
#include "cost/hardware.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void expect(const struct lumos_hardware *hardware, const char *recorded, const char *name,
                   enum lumos_dtype dtype, double tflops, double bandwidth) {
  const struct lumos_device *device = lumos_hardware_find(hardware, recorded);
  if (device == NULL) {
    fail_msg("%s is unknown", recorded);
    return;
  }
  assert_string_equal(device->name, name);
  assert_true(device->peaks[dtype] == tflops * 1000 && device->bandwidth == bandwidth);
}

static void recorded_names_are_found(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_hardware *hardware = lumos_hardware_read(NULL, &error);
  assert_non_null(hardware);
  expect(hardware, "NVIDIA H100 80GB HBM3", "H100 SXM", LUMOS_BF16, 989, 3350);
  expect(hardware, "NVIDIA H100 PCIe", "H100 PCIe", LUMOS_BF16, 756, 2000);
  expect(hardware, "NVIDIA A100-PG509-200", "A100 SXM 40 GB", LUMOS_TF32, 156, 1555);
  expect(hardware, "NVIDIA A100-SXM4-80GB", "A100 SXM 80 GB", LUMOS_FP16, 312, 2039);
  expect(hardware, "Tesla V100-SXM2-16GB", "V100 SXM2", LUMOS_FP32, 15.7, 900);
  expect(hardware, "Tesla V100-DGXS-32GB", "V100 SXM2", LUMOS_FP16, 125, 900);
  expect(hardware, "Tesla V100-PCIE-32GB", "V100 PCIe", LUMOS_FP16, 112, 900);
  expect(hardware, "NVIDIA H20", "H20", LUMOS_BF16, 148, 4000);
  expect(hardware, "NVIDIA H200", "H200", LUMOS_FP8, 1979, 4800);
  expect(hardware, "NVIDIA B200", "B200", LUMOS_BF16, 2250, 8000);
  expect(hardware, "NVIDIA GB200", "GB200", LUMOS_BF16, 2500, 8000);
  expect(hardware, "AMD Instinct MI300X VF", "MI300X", LUMOS_BF16, 1307.4, 5300);
  expect(hardware, "AMD Instinct MI250X", "MI250X", LUMOS_FP16, 191.5, 1638.4);
  expect(hardware, "NVIDIA GeForce RTX 4090", "RTX 4090", LUMOS_BF16, 165.2, 1008);
  assert_null(lumos_hardware_find(hardware, "NVIDIA A1000"));
  assert_null(lumos_hardware_find(hardware, "NVIDIA A100"));
  assert_null(lumos_hardware_find(hardware, ""));
  /* A V100 has no bfloat16. */
  assert_true(lumos_hardware_find(hardware, "Tesla V100-SXM2-16GB")->peaks[LUMOS_BF16] == 0);
  lumos_hardware_free(hardware);
}

static void a_file_comes_first(void **state) {
  (void)state;
  struct lumos_error error = {0};
  char path[] = "/tmp/lumos-hardware-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  static const char table[] =
      "{\"devices\": [{\"name\": \"X\", \"match\": [\"NVIDIA H100*\", \"X?\"], \"peaks\": "
      "{\"bf16\": 1.5}, \"source\": \"a guess\"}, {\"name\": \"Y 1\", \"memory_bandwidth\": 7}]}";
  assert_int_equal(write(descriptor, table, sizeof table - 1), sizeof table - 1);
  struct lumos_hardware *hardware = lumos_hardware_read(path, &error);
  assert_non_null(hardware);
  expect(hardware, "NVIDIA H100 80GB HBM3", "X", LUMOS_BF16, 1.5, 0);
  expect(hardware, "Y 1", "Y 1", LUMOS_BF16, 0, 7); /* its name is its pattern */
  expect(hardware, "NVIDIA H200", "H200", LUMOS_BF16, 989, 4800);
  lumos_hardware_free(hardware);
  (void)close(descriptor);
  (void)unlink(path);
  assert_null(lumos_hardware_read("/nowhere/table.json", &error));
  assert_non_null(strstr(error.text, "table.json"));
}

/* Of a table whose peak and bandwidth are these: what is wrong. */
static void what_no_gpu_does_is_refused(void **state) {
  (void)state;
  static const struct {
    const char *peak, *bandwidth, *says;
  } tables[] = {
      {"1e-300", "1", "bf16 is not a number from 0.001 to 1000000; write it in TFLOP/s"},
      {"5e-324", "1", "bf16 is"},
      {"0.00099", "1", "bf16 is"},
      {"0", "1", "bf16 is"},
      {"-989", "1", "bf16 is"},
      {"1e999", "1", "bf16 is"},
      {"989e12", "1", "bf16 is"},
      {"\"989\"", "1", "bf16 is"},
      {"989", "1e-300", "memory_bandwidth is not a number from 0.001 to 1000000; write it in GB/s"},
      {"989", "-1e999", "memory_bandwidth is"},
      {"0.001", "1000000", NULL},
  };
  char path[] = "/tmp/lumos-hardware-XXXXXX";
  int descriptor = mkstemp(path);
  assert_true(descriptor >= 0);
  for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
    struct lumos_error error = {0};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    (void)fprintf(file, "{\"devices\": [{\"name\": \"X\", \"memory_bandwidth\": %s, \"peaks\": {\"bf16\": %s}}]}",
                  tables[i].bandwidth, tables[i].peak);
    (void)fclose(file);
    struct lumos_hardware *hardware = lumos_hardware_read(path, &error);
    bool good = tables[i].says == NULL;
    if ((hardware != NULL) != good ||
        (!good && (strstr(error.text, tables[i].says) == NULL || strncmp(error.text, path, strlen(path)) != 0))) {
      fail_msg("%s and %s: %s", tables[i].peak, tables[i].bandwidth, error.text);
    }
    lumos_hardware_free(hardware);
  }
  (void)close(descriptor);
  (void)unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_names_are_found),
      cmocka_unit_test(a_file_comes_first),
      cmocka_unit_test(what_no_gpu_does_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
