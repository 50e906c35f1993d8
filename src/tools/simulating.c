#include "tools/simulating.h"

#include <lumos/hta.h>
#include <string.h>

static bool is_off(const struct tool_simulating *simulating) {
  return simulating->opportunities != NULL && strcmp(simulating->opportunities, "off") == 0;
}

bool tool_simulating_check(const struct tool_simulating *simulating, struct lumos_error *error) {
  const char *given = simulating->opportunities;
  return given == NULL || is_off(simulating) || strcmp(given, "on") == 0 ||
         lumos_fail(error, "option --opportunities: '%s' is neither on nor off", given);
}

bool tool_simulate(struct lumos_job *job, enum lumos_model model, const struct tool_simulating *simulating,
                   struct lumos_error *error) {
  const struct lumos_simulation simulation = {
      .model = model, .hardware = simulating->hardware, .opportunities = !is_off(simulating)};
  return lumos_simulate_as(job, &simulation, error) && (!simulating->hta || lumos_hta(job, error));
}
