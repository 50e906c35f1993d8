/* What is asked for, and how it is told. */
#include "rebuild/ask.h"

#include "base/ascii.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 }; /* of layers, ranks or micro-batches. Chosen: more than any job has */

/* A number from 1 on, up to a comma or the end. */
static bool read_number(const char **at, int32_t *value) {
  char *behind = NULL;
  long number = lumos_is_digit(**at) ? strtol(*at, &behind, 10) : 0;
  bool good = value != NULL && number >= 1 && number <= MOST && (*behind == '\0' || *behind == ',');
  if (good) {
    *value = (int32_t)number;
    *at = behind;
  }
  return good;
}

static bool read_split(struct lumos_rebuild *asked, const char *argument) {
  asked->split_count = 0;
  for (const char *at = argument; asked->split_count < LUMOS_MOST_STAGES; at++) {
    if (!read_number(&at, &asked->split[asked->split_count])) {
      return false;
    }
    asked->split_count++;
    if (*at == '\0') {
      return true;
    }
  }
  return false;
}

static const struct {
  const char *name;
  enum lumos_schedule schedule;
} schedules[] = {
    {"1f1b", LUMOS_1F1B}, {"gpipe", LUMOS_GPIPE}, {"interleaved", LUMOS_INTERLEAVED}, {"zb-h1", LUMOS_ZB_H1}};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

static bool read_schedule(struct lumos_rebuild *asked, const char *argument) {
  for (int i = 0; i < SCHEDULES; i++) {
    if (strcmp(argument, schedules[i].name) == 0) {
      asked->schedule = schedules[i].schedule;
      return true;
    }
  }
  return false;
}

static const char *name_of(enum lumos_schedule schedule) {
  int i = 0;
  while (i < SCHEDULES - 1 && schedules[i].schedule != schedule) {
    i++;
  }
  return schedules[i].name;
}

static const char *const recomputes[] = {
    [LUMOS_RECOMPUTE_FULL] = "full", [LUMOS_RECOMPUTE_NONE] = "none", [LUMOS_RECOMPUTE_SELECTIVE] = "selective"};

static bool read_recompute(struct lumos_rebuild *asked, const char *argument) {
  for (int i = LUMOS_RECOMPUTE_FULL; i <= LUMOS_RECOMPUTE_SELECTIVE; i++) {
    if (strcmp(argument, recomputes[i]) == 0) {
      asked->recompute = (enum lumos_recompute)i;
      return true;
    }
  }
  return false;
}

/* Those whose argument is a number; NULL: it is none of them. */
static int32_t *slot_of(struct lumos_rebuild *asked, const char *name) {
  return strcmp(name, "layers") == 0          ? &asked->layers
         : strcmp(name, "micro-batches") == 0 ? &asked->micro_batches
         : strcmp(name, "pp") == 0            ? &asked->stages
         : strcmp(name, "vp") == 0            ? &asked->chunks
         : strcmp(name, "dp") == 0            ? &asked->replicas
         : strcmp(name, "tp") == 0            ? &asked->shards
         : strcmp(name, "cp") == 0            ? &asked->contexts
         : strcmp(name, "ep") == 0            ? &asked->experts
         : strcmp(name, "bucket-mb") == 0     ? &asked->bucket_mb
                                              : NULL;
}

/* Those that are on or off; NULL: it is none of them. */
static enum lumos_switch *switch_of(struct lumos_rebuild *asked, const char *name) {
  return strcmp(name, "overlap-gradients") == 0       ? &asked->overlap_gradients
         : strcmp(name, "distributed-optimizer") == 0 ? &asked->distributed_optimizer
         : strcmp(name, "sequence-parallel") == 0     ? &asked->sequence_parallel
                                                      : NULL;
}

static bool read_switch(enum lumos_switch *value, const char *argument) {
  *value = strcmp(argument, "on") == 0 ? LUMOS_SWITCH_ON : strcmp(argument, "off") == 0 ? LUMOS_SWITCH_OFF : 0;
  return *value != 0;
}

static bool take(struct lumos_rebuild *asked, const char *name, const char *argument, const char **wanted) {
  if (strcmp(name, "schedule") == 0) {
    *wanted = "1f1b, gpipe, interleaved or zb-h1";
    return read_schedule(asked, argument);
  }
  if (strcmp(name, "recompute") == 0) {
    *wanted = "full, selective or none";
    return read_recompute(asked, argument);
  }
  if (strcmp(name, "split") == 0) {
    *wanted = "the layers of every stage, or chunk, such as 12,14,14,8";
    return read_split(asked, argument);
  }
  if (strcmp(name, "learn-from") == 0) {
    asked->learn_from = argument; /* read when there is a job */
    return true;
  }
  if (switch_of(asked, name) != NULL) {
    *wanted = "on or off";
    return read_switch(switch_of(asked, name), argument);
  }
  *wanted = "a whole number from 1 on";
  return read_number(&argument, slot_of(asked, name)) && *argument == '\0';
}

bool lumos_rebuild_ask(struct lumos_rebuild *asked, const char *name, const char *argument, struct lumos_error *error) {
  const char *wanted;
  return strcmp(name, "rebuild") == 0 || take(asked, name, argument, &wanted) ||
         lumos_fail(error, "--%s '%s' is not %s", name, argument, wanted);
}

/* One of two words, the first for 1; 0: not asked for. */
static void tell_word(struct lumos_text *text, const char *name, unsigned value, const char *first,
                      const char *second) {
  if (value != 0) {
    lumos_text_format(text, " --%s %s", name, value == 1 ? first : second);
  }
}

static void tell_number(struct lumos_text *text, const char *name, int32_t value) {
  if (value > 0) {
    lumos_text_format(text, " --%s %d", name, value);
  }
}

static void tell_text(struct lumos_text *text, const char *name, const char *value) {
  if (value != NULL) {
    lumos_text_format(text, " --%s '%s'", name, value);
  }
}

void rebuild_tell(const struct lumos_rebuild *asked, struct lumos_text *text) {
  lumos_text_put(text, "--rebuild");
  tell_number(text, "layers", asked->layers);
  tell_number(text, "micro-batches", asked->micro_batches);
  tell_number(text, "pp", asked->stages);
  tell_number(text, "vp", asked->chunks);
  tell_number(text, "dp", asked->replicas);
  tell_number(text, "tp", asked->shards);
  tell_number(text, "cp", asked->contexts);
  tell_number(text, "ep", asked->experts);
  tell_number(text, "bucket-mb", asked->bucket_mb);
  tell_text(text, "learn-from", asked->learn_from);
  tell_word(text, "sequence-parallel", asked->sequence_parallel, "on", "off");
  tell_word(text, "overlap-gradients", asked->overlap_gradients, "on", "off");
  tell_word(text, "distributed-optimizer", asked->distributed_optimizer, "on", "off");
  if (asked->schedule != 0) {
    lumos_text_format(text, " --schedule %s", name_of(asked->schedule));
  }
  if (asked->recompute != 0) {
    lumos_text_format(text, " --recompute %s", recomputes[asked->recompute]);
  }
  for (int32_t i = 0; i < asked->split_count; i++) {
    lumos_text_format(text, "%s%d", i == 0 ? " --split " : ",", asked->split[i]);
  }
}

bool rebuild_is_as_recorded(const struct lumos_rebuild *asked) {
  return asked->layers == 0 && asked->micro_batches == 0 && asked->stages == 0 && asked->replicas == 0 &&
         asked->shards == 0 && asked->recompute == 0 && asked->schedule == 0 && asked->chunks == 0 &&
         asked->split_count == 0 && asked->bucket_mb == 0 && asked->overlap_gradients == 0 &&
         asked->distributed_optimizer == 0 && asked->sequence_parallel == 0 && asked->contexts == 0 &&
         asked->experts == 0;
}
