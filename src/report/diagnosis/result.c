/* Reading the result of a job. */
#include "report/diagnosis/result.h"

void report_result_read(const struct lumos_job *job, struct report_result *result) {
  *result = (struct report_result){.job = job};
  report_facts_read(job, &result->facts);
  report_opportunities_read(&result->facts, &result->opportunities);
  lumos_diagnose(job, &result->diagnosis);
}

void report_result_free(struct report_result *result) {
  lumos_diagnosis_free(&result->diagnosis);
  report_opportunities_free(&result->opportunities);
  report_facts_free(&result->facts);
}
