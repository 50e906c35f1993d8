/* What the models of src/cost say of shapes that were not recorded, for whoever holds them against published tables
 * (examples/paper).
 *
 *   model-tables STREAM products               the stream's matrix products in other shapes; a line of input: ROWS
 *     INNER COLUMNS
 *   model-tables STREAM gpu NAME               each of the stream's kernels on another GPU; no input
 *   model-tables STREAM transfers [NETWORK]    transfers in other shapes, over the network of a file; a line: OP BYTES
 *     RANKS NODES
 *
 * STREAM is of lumos-graph. Each answer is a line: ns, and the lowest and the highest of the range of 90 %, as ranges
 * have errors (src/sim/ranges.c). A product is predicted from the recorded one whose operations are nearest in number,
 * the first of several.
 */
#include "cost/kernel_cost.h"
#include "cost/kernels.h"
#include "cost/placing.h"
#include "cost/transfers.h"

#include <inttypes.h>
#include <lumos/job.h>
#include <lumos/stream.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double WITHIN_90 = 1.645; /* standard deviations to each side */

static void answer(const struct lumos_duration *found) {
  double factor = 1 + WITHIN_90 * hypot(found->common, found->own);
  (void)printf("%.0f %.0f %.0f\n", found->ns, found->ns / factor, found->ns * factor);
}

/* The product whose operations are nearest in number to these; NULL: there is none. */
static const struct lumos_kernel_cost *nearest(const struct lumos_kernel_costs *costs, double flops) {
  const struct lumos_kernel_cost *best = NULL;
  double least = INFINITY;
  for (size_t i = 0; i < costs->list.count; i++) {
    const struct lumos_kernel_cost *cost = &costs->list.items[i];
    double off = cost->rows > 0 ? fabs(log(flops / (double)cost->flops)) : INFINITY;
    best = off < least ? cost : best;
    least = fmin(off, least);
  }
  return best;
}

static bool answer_products(const struct lumos_job *job, const struct lumos_hardware *hardware) {
  struct lumos_kernel_costs costs;
  lumos_kernel_costs_find(job, &costs);
  struct lumos_kernels *kernels = lumos_kernels_fit(job, hardware);
  struct lumos_resized now = {.batches = 1};
  bool good = true;
  while (good && scanf("%" SCNd64 " %" SCNd64 " %" SCNd64, &now.rows, &now.inner, &now.columns) == 3) {
    double flops = 2 * (double)now.rows * (double)now.inner * (double)now.columns;
    const struct lumos_kernel_cost *from = nearest(&costs, flops);
    good = from != NULL;
    if (good) {
      now.flops = flops / (double)from->flops;
      struct lumos_duration found = lumos_kernel_resized(kernels, from->task, &now);
      answer(&found);
    }
  }
  lumos_kernels_free(kernels);
  lumos_vector_free(&costs.list);
  return good;
}

static bool answer_gpu(const struct lumos_job *job, const struct lumos_hardware *hardware, const char *name) {
  const struct lumos_device *device = lumos_hardware_named(hardware, name);
  struct lumos_kernels *kernels = lumos_kernels_fit(job, hardware);
  for (uint32_t t = 0; device != NULL && t < job->tasks.count; t++) {
    if (lumos_on_stream(job, &job->tasks.items[t])) {
      struct lumos_duration found = lumos_kernel_on(kernels, t, device);
      answer(&found);
    }
  }
  lumos_kernels_free(kernels);
  return device != NULL;
}

/* What the transfer of this operation took whose bytes are nearest in number; 0: there is none. */
static int64_t nearest_transfer(const struct lumos_job *job, const struct lumos_transfers *transfers,
                                const struct lumos_transfer_shape *to, struct lumos_transfer_shape *shape) {
  double least = INFINITY;
  int64_t ns = 0;
  for (size_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    struct lumos_transfer_shape found = lumos_transfer_shape_of(lumos_transfers_placing(transfers), collective);
    bool same = found.bytes > 0 && strcmp(found.op, to->op) == 0;
    double off = same ? fabs(log((double)to->bytes / (double)found.bytes)) : INFINITY;
    if (off < least) {
      least = off;
      *shape = found;
      ns = collective->transfer;
    }
  }
  return ns;
}

static bool answer_transfers(struct lumos_job *job, const struct lumos_hardware *hardware, const char *file,
                             struct lumos_error *error) {
  struct lumos_network network = lumos_network_unknown;
  if (file != NULL && !lumos_network_read(file, &network, error)) {
    return false;
  }
  if (file != NULL) {
    lumos_tell_network(job, &network);
  }
  struct lumos_nodes nodes = lumos_nodes_of(job, NULL);
  struct lumos_transfers *transfers = lumos_transfers_fit(job, hardware, &nodes);
  char op[32];
  struct lumos_transfer_shape now = {.op = op};
  bool good = true;
  while (good && scanf("%31s %" SCNd64 " %" SCNd32 " %" SCNd32, op, &now.bytes, &now.size, &now.nodes) == 4) {
    struct lumos_transfer_shape was;
    int64_t ns = nearest_transfer(job, transfers, &now, &was);
    good = ns > 0;
    if (good) {
      struct lumos_duration found = lumos_transfer_changed(transfers, ns, &was, &now, NULL, NULL);
      answer(&found);
    }
  }
  lumos_transfers_free(transfers);
  return good;
}

int main(int argc, char **argv) {
  struct lumos_error error = {LUMOS_DONE, ""};
  const struct lumos_read_options reading = {0};
  const char *what = argc > 2 ? argv[2] : "";
  struct lumos_job *job = argc > 2 ? lumos_streams_open((const char *const *)argv + 1, 1, &reading, &error) : NULL;
  struct lumos_hardware *hardware = job == NULL ? NULL : lumos_hardware_read(NULL, &error);
  bool good = hardware != NULL;
  if (good && strcmp(what, "products") == 0) {
    good = answer_products(job, hardware);
  } else if (good && strcmp(what, "gpu") == 0 && argc > 3) {
    good = answer_gpu(job, hardware, argv[3]);
  } else if (good && strcmp(what, "transfers") == 0) {
    good = answer_transfers(job, hardware, argc > 3 ? argv[3] : NULL, &error);
  } else {
    good = false;
  }
  if (!good) {
    (void)fprintf(stderr, "model-tables: %s\n",
                  error.text[0] != '\0' ? error.text : "STREAM products|gpu NAME|transfers [NETWORK]");
  }
  lumos_hardware_free(hardware);
  lumos_job_free(job);
  return good ? 0 : LUMOS_UNUSABLE;
}
