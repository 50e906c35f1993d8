/* The diagnosis of each compared job, in words. */
#ifndef LUMOS_COMPARE_DIAGNOSES_H
#define LUMOS_COMPARE_DIAGNOSES_H

#include "base/text.h"
#include <lumos/compare.h>

/* "Diagnosis of A: ...", once lumos_comparison_diagnose was called. Not escaped. */
void compare_put_diagnosis(const struct lumos_comparison *comparison, int side, struct lumos_text *out);
static inline bool compare_is_diagnosed(const struct lumos_comparison *comparison, int side) {
  const struct lumos_compared_diagnosis *diagnosis = &comparison->diagnoses[side];
  return diagnosis->problem != LUMOS_NO_STRING || diagnosis->grade != LUMOS_NO_STRING;
}

#endif
