/* What the files of the check share. */
#ifndef LUMOS_JOB_CHECK_H
#define LUMOS_JOB_CHECK_H

#include "job/schema.h"
#include <lumos/job.h>

struct lumos_check {
  const struct lumos_job *job;
  struct lumos_error *error;
  uint8_t *is_group;        /* for every string: is it the id of a group? */
  uint8_t *is_common_error; /* the same of common errors */
};

/* Fail with the name of a record (by id, or by its place) before the text; returns false. */
bool lumos_check_fail(const struct lumos_check *check, enum lumos_record_kind kind, size_t index, const char *format,
                      ...) LUMOS_FORMAT(4, 5);

/* Order and ranges, once every index is known to lie in its array. */
bool lumos_check_order(const struct lumos_check *check) LUMOS_MUST_CHECK;

/* What must hold between records, once order and ranges hold. */
bool lumos_check_relations(const struct lumos_check *check) LUMOS_MUST_CHECK;

#endif
