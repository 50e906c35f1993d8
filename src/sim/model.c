/* The models by name, and what each leaves out. */
#include "sim/model.h"

#include "base/text.h"
#include <string.h>

static const struct lumos_model_rules models[LUMOS_MODELS] = {
    [LUMOS_MODEL_LUMOS] = {"lumos", true, true, true},
    /* dPRO (MLSys 2022): ops of a worker in order, joined over workers by their collectives. */
    [LUMOS_MODEL_DPRO] = {"dpro", false, false, true},
    /* Daydream (USENIX ATC 2020): one worker's calls, its streams, and its synchronisations. */
    [LUMOS_MODEL_DAYDREAM] = {"daydream", false, true, false},
};

const struct lumos_model_rules *lumos_model_rules(enum lumos_model model) { return &models[model]; }

const char *lumos_model_name(enum lumos_model model) { return models[model].name; }

bool lumos_model_find(const char *name, enum lumos_model *model) {
  for (int i = 0; i < LUMOS_MODELS; i++) {
    if (strcmp(models[i].name, name) == 0) {
      *model = (enum lumos_model)i;
      return true;
    }
  }
  return false;
}

static const char option[] = "--model ";

void lumos_model_write(struct lumos_job *job, enum lumos_model model, const char *hardware) {
  struct lumos_text args = LUMOS_TEXT_BUFFER;
  if (model != LUMOS_MODEL_LUMOS) {
    lumos_text_format(&args, "%s%s", option, lumos_model_name(model));
  }
  if (hardware != NULL) {
    lumos_text_format(&args, "%s--hardware %s", args.length > 0 ? " " : "", hardware);
  }
  lumos_text_char(&args, '\0');
  lumos_job_history(job, "lumos-sim", args.bytes, NULL, 0);
  lumos_text_free(&args);
}

enum lumos_model lumos_model_of(const struct lumos_job *job) {
  enum lumos_model model = LUMOS_MODEL_LUMOS;
  for (size_t i = 0; i < job->history.count; i++) {
    const struct lumos_history *entry = &job->history.items[i];
    const char *args = lumos_string(job->strings, entry->args);
    if (strcmp(lumos_string(job->strings, entry->tool), "lumos-sim") == 0) {
      char name[16] = "";
      bool told = strncmp(args, option, strlen(option)) == 0;
      size_t length = told ? strcspn(args + strlen(option), " ") : sizeof name;
      if (length < sizeof name) {
        memcpy(name, args + strlen(option), length);
      }
      told = lumos_model_find(name, &model);
      model = told ? model : LUMOS_MODEL_LUMOS;
    }
  }
  return model;
}
