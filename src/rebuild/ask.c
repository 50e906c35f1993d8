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
  bool good = number >= 1 && number <= MOST && (*behind == '\0' || *behind == ',');
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

static bool read_schedule(struct lumos_rebuild *asked, const char *argument) {
  asked->schedule = strcmp(argument, "1f1b") == 0 ? LUMOS_1F1B : strcmp(argument, "gpipe") == 0 ? LUMOS_GPIPE : 0;
  return asked->schedule != 0;
}

static int32_t *slot_of(struct lumos_rebuild *asked, const char *name) {
  const struct {
    const char *name;
    int32_t *slot;
  } slots[] = {{"layers", &asked->layers},
               {"micro-batches", &asked->micro_batches},
               {"pp", &asked->stages},
               {"dp", &asked->replicas}};
  size_t i = 0;
  while (i < sizeof slots / sizeof *slots && strcmp(slots[i].name, name) != 0) {
    i++;
  }
  return i < sizeof slots / sizeof *slots ? slots[i].slot : NULL;
}

bool lumos_rebuild_ask(struct lumos_rebuild *asked, const char *name, const char *argument, struct lumos_error *error) {
  int32_t *slot = slot_of(asked, name);
  const char *at = argument, *wanted = "a whole number from 1 on";
  bool good = true;
  if (slot != NULL) {
    good = read_number(&at, slot) && *at == '\0';
  } else if (strcmp(name, "schedule") == 0) {
    wanted = "1f1b or gpipe";
    good = read_schedule(asked, argument);
  } else if (strcmp(name, "split") == 0) {
    wanted = "the layers of every stage, such as 12,14,14,8";
    good = read_split(asked, argument);
  }
  return good || lumos_fail(error, "--%s '%s' is not %s", name, argument, wanted);
}

static void tell_number(struct lumos_text *text, const char *name, int32_t value) {
  if (value > 0) {
    lumos_text_format(text, " --%s %d", name, value);
  }
}

void rebuild_tell(const struct lumos_rebuild *asked, struct lumos_text *text) {
  lumos_text_put(text, "--rebuild");
  tell_number(text, "layers", asked->layers);
  tell_number(text, "micro-batches", asked->micro_batches);
  tell_number(text, "pp", asked->stages);
  tell_number(text, "dp", asked->replicas);
  if (asked->schedule != 0) {
    lumos_text_format(text, " --schedule %s", asked->schedule == LUMOS_GPIPE ? "gpipe" : "1f1b");
  }
  for (int32_t i = 0; i < asked->split_count; i++) {
    lumos_text_format(text, "%s%d", i == 0 ? " --split " : ",", asked->split[i]);
  }
}
