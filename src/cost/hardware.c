/* Reading tables of GPUs: the library's own, and a user's before it. */
#include "cost/hardware.h"

#include "base/nearest.h"
#include "base/object.h"
#include "base/text.h"
#include "cost/hardware_table.h"
#include <fnmatch.h>
#include <lumos/memory.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_PATTERNS = 64 };
static const char EXAMPLE[] =
    "{\"devices\": [{\"name\": \"NVIDIA X1\", \"peaks\": {\"bf16\": 989}, \"memory_bandwidth\": 3350}]}";

struct lumos_hardware {
  struct lumos_arena *arena;
  LUMOS_VECTOR(struct lumos_device) devices;
};

static const char *copy(struct lumos_hardware *hardware, const char *text) {
  return lumos_arena_copy(hardware->arena, text, strlen(text));
}

/* From the thousandth of a unit to a million, which no GPU is beyond: what is, is an error in typing or of a unit. */
static bool read_number(const char *path, const char *device, const cJSON *member, const char *unit, double *number,
                        struct lumos_error *error) {
  bool good = cJSON_IsNumber(member) && member->valuedouble >= 1e-3 && member->valuedouble <= 1e6;
  *number = good ? member->valuedouble : 0;
  return good || lumos_fail(error, "%s: %.60s: %.60s is not a number from 0.001 to 1000000; write it in %s", path,
                            device, member->string, unit);
}

static bool read_peaks(const char *path, const cJSON *peaks, struct lumos_device *device, struct lumos_error *error) {
  if (!cJSON_IsObject(peaks)) {
    return lumos_fail(error, "%s: %.60s: peaks is not an object; write one such as {\"bf16\": 989}", path,
                      device->name);
  }
  for (const cJSON *peak = peaks->child; peak != NULL; peak = peak->next) {
    enum lumos_dtype dtype = lumos_dtype_find(peak->string);
    double number = 0;
    if (dtype == LUMOS_NO_DTYPE) {
      return lumos_fail(error,
                        "%s: %.60s: peaks has no %.60s; give fp64, fp32, tf32, fp16, bf16, fp8, fp4, int8, or some of "
                        "them",
                        path, device->name, peak->string);
    }
    if (!read_number(path, device->name, peak, "TFLOP/s", &number, error)) {
      return false;
    }
    device->peaks[dtype] = number * 1000;
  }
  return true;
}

static bool read_patterns(struct lumos_hardware *hardware, const char *path, const cJSON *match,
                          struct lumos_device *device, struct lumos_error *error) {
  int count = cJSON_IsArray(match) ? cJSON_GetArraySize(match) : 0;
  if (count < 1 || count > MOST_PATTERNS) {
    return lumos_fail(error, "%s: %.60s: match is not a list of 1 to %d patterns", path, device->name,
                      (int)MOST_PATTERNS);
  }
  const char **patterns = lumos_arena_take(hardware->arena, (size_t)count * sizeof *patterns);
  int read = 0;
  for (const cJSON *pattern = match->child; pattern != NULL; pattern = pattern->next) {
    if (!cJSON_IsString(pattern) || pattern->valuestring[0] == '\0') {
      return lumos_fail(error, "%s: %.60s: match holds something that is not text", path, device->name);
    }
    patterns[read++] = copy(hardware, pattern->valuestring);
  }
  device->patterns = patterns;
  device->pattern_count = count;
  return true;
}

static bool read_architecture(const char *path, const cJSON *member, struct lumos_device *device,
                              struct lumos_error *error) {
  static const char *const names[LUMOS_ARCHITECTURES] = {"",    "volta",  "turing",    "ampere",
                                                         "ada", "hopper", "blackwell", "cdna"};
  for (int i = 1; cJSON_IsString(member) && i < LUMOS_ARCHITECTURES; i++) {
    if (strcmp(member->valuestring, names[i]) == 0) {
      device->architecture = (enum lumos_architecture)i;
      return true;
    }
  }
  return lumos_fail(error, "%s: %.60s: architecture is not one of volta, turing, ampere, ada, hopper, blackwell, cdna",
                    path, device->name);
}

static bool read_member(struct lumos_hardware *hardware, const char *path, const cJSON *member,
                        struct lumos_device *device, struct lumos_error *error) {
  const struct {
    const char *name, *unit;
    double *number;
  } numbers[] = {{"memory_bandwidth", "GB/s", &device->bandwidth},
                 {"memory", "GiB", &device->memory},
                 {"host_link", "GB/s", &device->host_link},
                 {"link", "GB/s", &device->link},
                 {"network", "GB/s", &device->network},
                 {"sms", "SMs", &device->sms},
                 {"best_product", "shares of the peak", &device->best_product}};
  if (strcmp(member->string, "name") == 0 || strcmp(member->string, "source") == 0) {
    return true;
  }
  if (strcmp(member->string, "match") == 0) {
    return read_patterns(hardware, path, member, device, error);
  }
  if (strcmp(member->string, "architecture") == 0) {
    return read_architecture(path, member, device, error);
  }
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(member->string, numbers[i].name) == 0) {
      return read_number(path, device->name, member, numbers[i].unit, numbers[i].number, error);
    }
  }
  if (strcmp(member->string, "peaks") == 0) {
    return read_peaks(path, member, device, error);
  }
  return lumos_fail(error,
                    "%s: %.60s: a device has no %.60s; give name, match, architecture, sms, memory, memory_bandwidth, "
                    "link, network, host_link, best_product, peaks, source",
                    path, device->name, member->string);
}

static bool read_device(struct lumos_hardware *hardware, const char *path, const cJSON *object,
                        struct lumos_error *error) {
  struct lumos_device device = {0};
  const cJSON *name = cJSON_IsObject(object) ? cJSON_GetObjectItemCaseSensitive(object, "name") : NULL;
  if (name == NULL || !cJSON_IsString(name) || name->valuestring[0] == '\0') {
    return lumos_fail(error, "%s: device %zu has no name", path, hardware->devices.count + 1);
  }
  device.name = copy(hardware, name->valuestring);
  const char **own = lumos_arena_take(hardware->arena, sizeof *own);
  *own = device.name;
  device.patterns = own;
  device.pattern_count = 1;
  for (const cJSON *member = object->child; member != NULL; member = member->next) {
    if (!read_member(hardware, path, member, &device, error)) {
      return false;
    }
  }
  lumos_vector_push(&hardware->devices, device);
  return true;
}

static bool read_table(struct lumos_hardware *hardware, const char *path, const cJSON *document,
                       struct lumos_error *error) {
  const cJSON *devices = cJSON_GetObjectItemCaseSensitive(document, "devices");
  bool good =
      cJSON_IsArray(devices) || lumos_fail(error, "%s: is not a table of GPUs; write one such as %s", path, EXAMPLE);
  for (const cJSON *device = good && devices != NULL ? devices->child : NULL; good && device != NULL;
       device = device->next) {
    good = read_device(hardware, path, device, error);
  }
  return good;
}

static bool read_file(struct lumos_hardware *hardware, const char *path, struct lumos_error *error) {
  cJSON *document = lumos_object_read(path, "a table of GPUs", EXAMPLE, error);
  bool good = document != NULL && read_table(hardware, path, document, error);
  cJSON_Delete(document);
  return good;
}

static bool read_own(struct lumos_hardware *hardware, struct lumos_error *error) {
  cJSON *document = cJSON_Parse(lumos_hardware_table);
  bool good = read_table(hardware, "the library's own table", document, error);
  cJSON_Delete(document);
  return good;
}

struct lumos_hardware *lumos_hardware_read(const char *path, struct lumos_error *error) {
  struct lumos_hardware *hardware = lumos_allocate_zeroed(1, sizeof *hardware);
  hardware->arena = lumos_arena_new();
  if ((path != NULL && !read_file(hardware, path, error)) || !read_own(hardware, error)) {
    lumos_hardware_free(hardware);
    return NULL;
  }
  return hardware;
}

void lumos_hardware_free(struct lumos_hardware *hardware) {
  if (hardware != NULL) {
    lumos_vector_free(&hardware->devices);
    lumos_arena_free(hardware->arena);
    free(hardware);
  }
}

const struct lumos_device *lumos_hardware_find(const struct lumos_hardware *hardware, const char *name) {
  for (size_t i = 0; i < hardware->devices.count; i++) {
    const struct lumos_device *device = &hardware->devices.items[i];
    if (strcmp(device->name, name) == 0) {
      return device;
    }
    for (int p = 0; p < device->pattern_count; p++) {
      if (fnmatch(device->patterns[p], name, FNM_NOESCAPE) == 0) {
        return device;
      }
    }
  }
  return NULL;
}

const struct lumos_device *lumos_hardware_named(const struct lumos_hardware *hardware, const char *name) {
  for (size_t i = 0; i < hardware->devices.count; i++) {
    if (strcasecmp(hardware->devices.items[i].name, name) == 0) {
      return &hardware->devices.items[i];
    }
  }
  return lumos_hardware_find(hardware, name);
}

size_t lumos_hardware_beginning(const struct lumos_hardware *hardware, const char *name, struct lumos_text *names) {
  size_t count = 0;
  for (size_t i = 0; i < hardware->devices.count; i++) {
    const char *own = hardware->devices.items[i].name;
    if (*name != '\0' && strncasecmp(own, name, strlen(name)) == 0) {
      lumos_text_format(names, "%s%s", count++ > 0 ? ", " : "", own);
    }
  }
  return count;
}

void lumos_hardware_offer(const struct lumos_hardware *hardware, struct lumos_nearest *nearest) {
  for (size_t i = 0; i < hardware->devices.count; i++) {
    lumos_nearest_offer(nearest, hardware->devices.items[i].name);
  }
}
