#include "cost/network.h"

#include "base/object.h"
#include <lumos/job.h>
#include <math.h>
#include <string.h>

enum { MOST_GPUS = 1 << 20 /* in a node */ };

/* A bandwidth of none is none, a latency of none is good. Beyond a million it is an error in typing or of a unit. */
static bool read_number(const char *path, const char *link, const cJSON *member, bool latency, double *number,
                        struct lumos_error *error) {
  double value = cJSON_IsNumber(member) ? member->valuedouble : -1;
  bool good = isfinite(value) && value <= 1e6 && value >= (latency ? 0 : 1e-3);
  *number = value;
  return good || lumos_fail(error, "%s: %s: %.60s is not a number from %s to 1000000; write it in %s", path, link,
                            member->string, latency ? "0" : "0.001", latency ? "microseconds" : "GB/s");
}

static bool read_link(const char *path, const cJSON *object, struct lumos_link *link, struct lumos_error *error) {
  const struct {
    const char *name;
    bool latency;
    double *number;
  } numbers[] = {{"bandwidth_gbps", false, &link->bandwidth},
                 {"latency_us", true, &link->latency},
                 {"p2p_bandwidth_gbps", false, &link->p2p_bandwidth},
                 {"p2p_latency_us", true, &link->p2p_latency}};
  enum { NUMBERS = sizeof numbers / sizeof *numbers };
  if (!cJSON_IsObject(object)) {
    return lumos_fail(error, "%s: %s is not an object; write one such as {\"bandwidth_gbps\": 50}", path,
                      object->string);
  }
  for (const cJSON *member = object->child; member != NULL; member = member->next) {
    size_t i = 0;
    while (i < NUMBERS && strcmp(member->string, numbers[i].name) != 0) {
      i++;
    }
    if (i == NUMBERS) {
      return lumos_fail(error,
                        "%s: %s has no %.60s; give bandwidth_gbps, latency_us, p2p_bandwidth_gbps, p2p_latency_us, or "
                        "some of them",
                        path, object->string, member->string);
    }
    if (!read_number(path, object->string, member, numbers[i].latency, numbers[i].number, error)) {
      return false;
    }
  }
  return true;
}

static bool read_member(const char *path, const cJSON *member, struct lumos_network *network,
                        struct lumos_error *error) {
  if (strcmp(member->string, "intra") == 0 || strcmp(member->string, "inter") == 0) {
    return read_link(path, member, strcmp(member->string, "intra") == 0 ? &network->intra : &network->inter, error);
  }
  if (strcmp(member->string, "node_size") != 0) {
    return lumos_fail(error, "%s: a network has no %.60s; give node_size, intra, inter", path, member->string);
  }
  double size = cJSON_IsNumber(member) ? member->valuedouble : 0;
  network->node_size = size >= 1 && size <= MOST_GPUS ? (int32_t)size : 0;
  return (network->node_size > 0 && network->node_size == size) ||
         lumos_fail(error, "%s: node_size is not a whole number from 1 to %d", path, (int)MOST_GPUS);
}

const struct lumos_network lumos_network_unknown = {LUMOS_ABSENT_INT, {-1, -1, -1, -1}, {-1, -1, -1, -1}};

static bool read_members(const char *path, const cJSON *document, struct lumos_network *network,
                         struct lumos_error *error) {
  bool good = document != NULL;
  for (const cJSON *member = good ? document->child : NULL; good && member != NULL; member = member->next) {
    good = read_member(path, member, network, error);
  }
  return good;
}

bool lumos_network_read(const char *path, struct lumos_network *network, struct lumos_error *error) {
  *network = lumos_network_unknown;
  cJSON *document = lumos_object_read(
      path, "a network", "{\"node_size\": 8, \"inter\": {\"bandwidth_gbps\": 50, \"latency_us\": 5}}", error);
  bool good = read_members(path, document, network, error);
  cJSON_Delete(document);
  return good;
}

bool lumos_network_add(const char *text, struct lumos_network *network) {
  struct lumos_error error = {0};
  struct lumos_network read = *network;
  cJSON *document = cJSON_Parse(text);
  bool good = cJSON_IsObject(document) && read_members("", document, &read, &error);
  *network = good ? read : *network;
  cJSON_Delete(document);
  return good;
}

/* "{"bandwidth_gbps": 50, "latency_us": 5}" */
static void put_link(const char *name, const struct lumos_link *link, const char *before, struct lumos_text *out) {
  const struct {
    const char *name;
    double value;
    bool known;
  } numbers[] = {{"bandwidth_gbps", link->bandwidth, link->bandwidth > 0},
                 {"latency_us", link->latency, link->latency >= 0},
                 {"p2p_bandwidth_gbps", link->p2p_bandwidth, link->p2p_bandwidth > 0},
                 {"p2p_latency_us", link->p2p_latency, link->p2p_latency >= 0}};
  bool any = false;
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i].known) {
      if (any) {
        lumos_text_put(out, ", ");
      } else {
        lumos_text_format(out, "%s\"%s\": {", before, name);
      }
      lumos_text_format(out, "\"%s\": %.15g", numbers[i].name, numbers[i].value);
      any = true;
    }
  }
  lumos_text_put(out, any ? "}" : "");
}

void lumos_network_put(const struct lumos_network *network, struct lumos_text *out) {
  size_t first = out->length + 1;
  lumos_text_char(out, '{');
  if (network->node_size != LUMOS_ABSENT_INT) {
    lumos_text_format(out, "\"node_size\": %d", (int)network->node_size);
  }
  put_link("intra", &network->intra, out->length > first ? ", " : "", out);
  put_link("inter", &network->inter, out->length > first ? ", " : "", out);
  lumos_text_char(out, '}');
}
