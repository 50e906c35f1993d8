#include <lumos/models.h>

#include "cost/kernels.h"
#include "cost/transfers.h"
#include <lumos/hardware.h>
#include <math.h>

static int by_size(const void *left, const void *right) {
  const double *a = left, *b = right;
  return LUMOS_ORDER(*a, *b);
}

/* The error that at least so many hundredths of the errors do not exceed. */
static double percentile(const double *sorted, size_t count, size_t percent) {
  return count == 0 ? -1 : sorted[(count * percent + 99) / 100 - 1];
}

/* The shapes of one kind: those of a class alone, or all but those; NULL: all. */
static void add_row(struct lumos_models_check *check, const char *kind, const struct lumos_calibration *calibration,
                    const uint64_t *only, const uint64_t * not ) {
  struct lumos_models_row row = {.kind = kind};
  LUMOS_VECTOR(double) errors = {0};
  for (size_t i = 0; i < calibration->shapes.count; i++) {
    const struct lumos_measured_shape *shape = &calibration->shapes.items[i];
    if ((only != NULL && shape->class != *only) || (not != NULL && shape->class == *not )) {
      continue;
    }
    row.kernels += shape->count;
    row.shapes++;
    if (shape->left_out_source == LUMOS_OF_FAMILY || shape->left_out_source == LUMOS_OF_MODEL) {
      lumos_vector_push(&errors, fabs(shape->left_out / shape->measured - 1));
    }
  }
  lumos_vector_sort(&errors, by_size);
  row.left_out = (int64_t)errors.count;
  row.median = percentile(errors.items, errors.count, 50);
  row.ninetieth = percentile(errors.items, errors.count, 90);
  if (row.shapes > 0) {
    check->rows[check->count++] = row;
  }
  lumos_vector_free(&errors);
}

bool lumos_models_check(const struct lumos_job *job, const char *hardware, struct lumos_models_check *check,
                        struct lumos_error *error) {
  struct lumos_hardware *table = lumos_hardware_read(hardware, error);
  *check = (struct lumos_models_check){0};
  if (table == NULL) {
    return false;
  }
  struct lumos_kernels *kernels = lumos_kernels_fit(job, table);
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_transfers *transfers = lumos_transfers_fit(job, table, &nodes);
  for (int kind = LUMOS_GEMM; kind <= LUMOS_EMBEDDING; kind++) {
    add_row(check, lumos_task_kind_name((enum lumos_task_kind)kind),
            lumos_kernels_calibration(kernels, (enum lumos_task_kind)kind), NULL, NULL);
  }
  const uint64_t pairs = lumos_transfer_class("send_recv");
  add_row(check, "collective", lumos_transfers_calibration(transfers), NULL, &pairs);
  add_row(check, "p2p", lumos_transfers_calibration(transfers), &pairs, NULL);
  lumos_transfers_free(transfers);
  lumos_kernels_free(kernels);
  lumos_hardware_free(table);
  return true;
}
