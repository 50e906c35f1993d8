/* truth.json: what really happened, one object. Times are job time in nanoseconds from the start of the job, as no
 * rank's clock shows it; all are integers. A table is {"columns": [names], "rows": [[values]]}.
 *
 *   version        1
 *   arguments      the command line without the folder
 *   seed           as a string, for it has 64 bits
 *   configuration  model, parallel, machine; mechanisms: those that are on; scale: factors other than 1; record: what
 *                  traces hold; slow_devices, slow_hosts: [rank, factor]. Where they are asked for, slow_links: [rank,
 *                  the other or the same, factor]; slow_data: [rank, ns]; stage_layers; read_back
 *   world          ranks
 *   epoch          job time 0, nanoseconds since 1970, a string
 *   clocks         table, a row a rank: rank, offset_ns, drift_ppb, device_offset_ns. Job time t is in the rank's trace
 *                  t + offset_ns + drift_ppb * t / 10^9 after the epoch (whole seconds of t and the rest multiplied
 *                  apart, each cut to whole ns), on device rows plus device_offset_ns
 *   windows        table, a row a recorded rank: rank, start, stop of the recording. A trace has the device rows that
 *                  lie between them as its clocks show it; `collectives` and `recorded` are of these
 *   model_flops    of one step of the whole job: forward and backward, without recomputation
 *   peak_flops     of a GPU, in a nanosecond
 *   step_columns   the columns of the rows of `ranks` below
 *   steps          a step each: step (its number in the traces), profiled and unprofiled: of the recorded run, and of
 *                  the same job run without the profiler. Each has
 *     start, end       from the latest end of device work of step k-1 over all ranks to that of step k
 *     executed_flops   what all kernels did, recomputation included
 *     mfu              model_flops / (end - start) / world / peak_flops
 *     bubble           share of all ranks' step time that is bubble
 *     bubble_ratio     bubble in proportion to the rest of the step time
 *     stage_bubble     `bubble` by pipeline stage
 *     ranks            a row a rank. start, end: of the rank's own step, by its own device work; then its parts, which
 *                      sum to it: compute (alone), overlapped (compute and communication), transfer (communication
 *                      alone, bytes move), waiting (a collective within a stage waits for a member), bubble (what waits
 *                      is point-to-point or a collective of several stages), copy (copies and memsets, alone), idle;
 *                      host_start, host_end: of the step's mark on the main thread
 *   With --graphs a node of a graph is known by the correlation that it shares with all others of its launch, and by
 *     its
 *   place in the graph: columns `node`, `nodes`, `from_node` and `to_node` stand last in the tables below (the lower
 *     half
 *   of its `graph node id`; 0: of no graph).
 *   With --sm-queue `tasks` has a last column `ready`: when the task could have started as far as all but SMs goes.
 *   collectives    table of those with a recorded rank's kernel in its trace: communicator (the process group's name),
 *                  op, sequence (of the communicator, or between the two of a pair), step, bytes, source, destination
 *                  (ranks of a pair, else -1), begin, end (of the transfer, from the last start on), and by member:
 *                  ranks, starts, ends, correlations of their kernels (of a batched pair's, which share kernels, `ends`
 *                  is when the member's own part was over)
 *   phases, parts  what the numbers in `tasks` mean
 *   recorded       a recorded rank each: rank;
 *     tasks            table of its device work: correlation, phase, micro_batch, layer (-1: none), part
 *     edges            table of waits between streams that came about: from, to (correlations of device work, both
 *                      recorded; of what `to` waits for on one stream only the latest), binding (1: without the wait,
 *                      everything before it as it was, `to` would have been ready earlier. It is ready when its launch,
 *                      its stream and its waits allow; it starts then, or when SMs are free for it)
 *     counts           kernels, communication (of them), copies, memsets, launched_before (without a call in the trace)
 */
#include "rows.h"

#include "gpt.h"
#include "hardware.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

/* ---- pieces ---- */

static void put_named(struct writer *out, const char *key, const char *text) {
  put_text(out, key);
  put_string(out, text);
}

static void put_flag(struct writer *out, const char *key, bool flag) {
  put_text(out, key);
  put_text(out, flag ? "true" : "false");
}

static void put_share(struct writer *out, const char *key, double numerator, double denominator) {
  put_text(out, key);
  put_ratio(out, numerator, denominator);
}

/* A whole number of any size. */
static void put_whole(struct writer *out, const char *key, double number) {
  char text[400];
  snprintf(text, sizeof text, "%.0f", number);
  put_text(out, key);
  put_text(out, text);
}

static void put_separator(struct writer *out, bool first) { put_text(out, first ? "\n" : ",\n"); }

/* ---- configuration ---- */

static void put_model(struct writer *out, const struct model *model) {
  put_number(out, "\"model\": {\"layers\": ", model->layers);
  put_number(out, ", \"hidden\": ", model->hidden);
  put_number(out, ", \"ffn\": ", model->ffn);
  put_number(out, ", \"heads\": ", model->heads);
  put_number(out, ", \"head_dim\": ", model->head_dim);
  put_number(out, ", \"sequence\": ", model->sequence);
  put_number(out, ", \"vocabulary\": ", model->vocabulary);
  if (model->experts > 0) {
    put_number(out, ", \"experts\": ", model->experts);
    put_number(out, ", \"top_k\": ", model->top_k);
  }
  put_number(out, ", \"micro_batch\": ", model->micro_batch);
  put_number(out, ", \"micro_batches\": ", model->micro_batches);
}

static void put_parallel(struct writer *out, const struct parallelism *parallel) {
  put_number(out, "},\n\"parallel\": {\"tensor\": ", parallel->tensor);
  put_number(out, ", \"context\": ", parallel->context);
  put_number(out, ", \"pipeline\": ", parallel->pipeline);
  put_number(out, ", \"data\": ", parallel->data);
  if (parallel->expert > 1) {
    put_number(out, ", \"expert\": ", parallel->expert);
  }
  put_number(out, ", \"chunks\": ", parallel->chunks);
  put_named(out, ", \"schedule\": ", setup_schedule_name(parallel->schedule));
  put_flag(out, ", \"sequence_parallel\": ", parallel->sequence_parallel);
  put_flag(out, ", \"distributed_optimizer\": ", parallel->distributed_optimizer);
  put_flag(out, ", \"fsdp\": ", parallel->fully_sharded);
  put_named(out, ", \"recompute\": ", setup_recompute_name(parallel->recompute));
  put_flag(out, ", \"overlap_gradients\": ", parallel->overlap_gradients);
  put_flag(out, ", \"batched_p2p\": ", parallel->batched_p2p);
  put_number(out, ", \"bucket_bytes\": ", parallel->bucket_bytes);
}

static void put_machine(struct writer *out, const struct setup *setup) {
  put_named(out, "},\n\"machine\": {\"gpu\": ", setup->gpu->name);
  put_number(out, ", \"node_size\": ", setup->network.node_size);
  put_share(out, ", \"nic_bandwidth\": ", setup->network.nic_bandwidth, 1);
  put_number(out, ", \"nic_latency\": ", setup->network.nic_latency);
  put_number(out, ", \"queue_depth\": ", setup->queue_depth);
  put_share(out, ", \"contention_compute\": ", setup->contention_compute, 1);
  put_share(out, ", \"contention_transfer\": ", setup->contention_transfer, 1);
  put_share(out, ", \"jitter\": ", setup->jitter, 1);
}

static void put_factors(struct writer *out, const char *key, const double *factors, int ranks) {
  put_text(out, key);
  bool first = true;
  for (int rank = 0; rank < ranks; rank++) {
    if (factors != NULL && factors[rank] != 1) {
      put_number(out, first ? "[" : ", [", rank);
      put_share(out, ", ", factors[rank], 1);
      PUT(out, "]");
      first = false;
    }
  }
  PUT(out, "]");
}

static void put_stage_layers(struct writer *out, const struct setup *setup) {
  for (int stage = 0; setup->stage_layers != NULL && stage < setup->parallel.pipeline; stage++) {
    put_number(out, stage == 0 ? "\"stage_layers\": [" : ", ", setup->stage_layers[stage]);
  }
  put_text(out, setup->stage_layers != NULL ? "],\n" : "");
}

static void put_slow(struct writer *out, const struct setup *setup) {
  bool first = true;
  for (int i = 0; i < setup->slow_link_count; i++) {
    put_number(out, i == 0 ? "\"slow_links\": [[" : ", [", setup->slow_links[i].ranks[0]);
    put_number(out, ", ", setup->slow_links[i].ranks[1]);
    put_share(out, ", ", setup->slow_links[i].factor, 1);
    PUT(out, "]");
  }
  put_text(out, setup->slow_link_count > 0 ? "],\n" : "");
  for (int rank = 0; setup->slow_data != NULL && rank < setup_ranks(setup); rank++) {
    if (setup->slow_data[rank] > 0) {
      put_number(out, first ? "\"slow_data\": [[" : ", [", rank);
      put_number(out, ", ", setup->slow_data[rank]);
      PUT(out, "]");
      first = false;
    }
  }
  put_text(out, first ? "" : "],\n");
}

/* Those that are not as they are by default. */
static void put_options(struct writer *out, const struct setup *setup) {
  if (setup->graphs != GRAPHS_OFF) {
    put_named(out, "\"graphs\": ", setup_graphs_name(setup->graphs));
    PUT(out, ",\n");
  }
  if (setup->form != FORM_2026) {
    put_named(out, "\"form\": ", setup_form_name(setup->form));
    PUT(out, ",\n");
  }
  put_text(out, setup->sm_queue ? "\"sm_queue\": true,\n" : "");
  put_text(out, setup->parallel.prepares_inputs ? "\"prepares_inputs\": true,\n" : "");
  put_text(out, setup->scarce_memory ? "\"scarce_memory\": true,\n" : "");
  put_text(out, setup->pageable ? "\"pageable\": true,\n" : "");
  put_text(out, setup->unseen ? "\"unseen\": true,\n" : "");
  put_stage_layers(out, setup);
  put_slow(out, setup);
  if (setup->read_back > 0) {
    put_number(out, "\"read_back\": ", setup->read_back);
    PUT(out, ",\n");
  }
  if (setup->sample > 1) {
    put_number(out, "\"sample\": ", setup->sample);
    PUT(out, ",\n");
  }
}

static void put_changes(struct writer *out, const struct setup *setup) {
  bool first = true;
  PUT(out, "},\n\"mechanisms\": [");
  for (int i = 0; i < MECHANISMS; i++) {
    if (setup->mechanisms[i]) {
      put_named(out, first ? "" : ", ", setup_mechanism_name((enum mechanism)i));
      first = false;
    }
  }
  first = true;
  PUT(out, "],\n\"scale\": {");
  for (int i = 0; i < SCALED; i++) {
    if (setup->scale[i] != 1) {
      put_named(out, first ? "" : ", ", setup_scaled_name((enum scaled)i));
      put_share(out, ": ", setup->scale[i], 1);
      first = false;
    }
  }
  first = true;
  PUT(out, "},\n");
  put_options(out, setup);
  PUT(out, "\"left_out\": [");
  for (int i = 0; i < LEFT_OUT; i++) {
    if (setup->leave_out[i]) {
      put_named(out, first ? "" : ", ", setup_left_out_name((enum left_out)i));
      first = false;
    }
  }
  for (int i = 0; i < setup->leave_out_op_count; i++) {
    put_named(out, first ? "" : ", ", setup->leave_out_ops[i]);
    first = false;
  }
  first = true;
  PUT(out, "],\n\"fused\": [");
  for (int i = 0; i < LEFT_OUT; i++) {
    if (setup->fuse[i]) {
      put_named(out, first ? "" : ", ", setup_left_out_name((enum left_out)i));
      first = false;
    }
  }
  put_factors(out, "],\n\"slow_devices\": [", setup->slow_device, setup_ranks(setup));
  put_factors(out, ",\n\"slow_hosts\": [", setup->slow_host, setup_ranks(setup));
  first = true;
  PUT(out, ",\n\"record\": [");
  for (int i = 0; i < RECORDED; i++) {
    if ((setup->recorded & 1U << i) != 0) {
      put_named(out, first ? "" : ", ", setup_recorded_name(i));
      first = false;
    }
  }
  put_number(out, "],\n\"warmup\": ", setup->warmup);
  put_number(out, ", \"steps\": ", setup->steps);
}

static void put_configuration(struct writer *out, const struct setup *setup) {
  PUT(out, ",\n\"configuration\": {");
  put_model(out, &setup->model);
  put_parallel(out, &setup->parallel);
  put_machine(out, setup);
  put_changes(out, setup);
  PUT(out, "}");
}

static void put_clocks(struct writer *out, const struct setup *setup) {
  PUT(out, ",\n\"clocks\": {\"columns\": [\"rank\", \"offset_ns\", \"drift_ppb\", \"device_offset_ns\"], \"rows\": [");
  for (int rank = 0; rank < setup_ranks(setup); rank++) {
    struct clock clock = clock_of(setup, rank);
    put_number(out, rank == 0 ? "\n[" : ",\n[", rank);
    put_number(out, ", ", clock.offset);
    put_number(out, ", ", clock.drift_ppb);
    put_number(out, ", ", clock.device_offset);
    PUT(out, "]");
  }
  PUT(out, "]}");
}

static void put_windows(struct writer *out, const struct recorder *recorder) {
  PUT(out, ",\n\"windows\": {\"columns\": [\"rank\", \"start\", \"stop\"], \"rows\": [");
  bool first = true;
  for (int i = 0; i < recorder->recorded; i++) {
    const struct rank_rows *rows = &recorder->rows[i];
    if (rows->stop != INT64_MAX) {
      put_number(out, first ? "\n[" : ",\n[", rows->rank);
      put_number(out, ", ", rows->start);
      put_number(out, ", ", rows->stop);
      PUT(out, "]");
      first = false;
    }
  }
  PUT(out, "]}");
}

/* ---- steps ---- */

/* A run's steps by step and rank. */
struct steps {
  const struct step_record *records;
  int first, count, ranks;
  uint32_t *at; /* [count][ranks]: index into the records, or NONE */
};

static struct steps steps_of(const struct recorder *recorder, int run) {
  const struct step_record *items = recorder->steps[run].items;
  size_t count = recorder->steps[run].count;
  int first = INT32_MAX, last = INT32_MIN;
  for (size_t i = 0; i < count; i++) {
    first = items[i].step < first ? items[i].step : first;
    last = items[i].step > last ? items[i].step : last;
  }
  struct steps steps = {items, first, count > 0 ? last - first + 1 : 0, recorder->ranks, NULL};
  size_t places = (size_t)steps.count * (size_t)steps.ranks;
  steps.at = memory_new(places, sizeof *steps.at);
  for (size_t i = 0; i < places; i++) {
    steps.at[i] = NONE;
  }
  for (uint32_t i = 0; i < count; i++) {
    steps.at[(size_t)(items[i].step - first) * (size_t)steps.ranks + (size_t)items[i].rank] = i;
  }
  return steps;
}

static const struct step_record *step_at(const struct steps *steps, int step, int rank) {
  int row = step - steps->first;
  if (row < 0 || row >= steps->count) {
    return NULL;
  }
  uint32_t index = steps->at[(size_t)row * (size_t)steps->ranks + (size_t)rank];
  return index == NONE ? NULL : &steps->records[index];
}

/* When the last rank was done with it; before the first step, when the first rank began. */
static int64_t end_of(const struct steps *steps, int step) {
  bool before = step < steps->first;
  int64_t end = before ? INT64_MAX : INT64_MIN;
  for (int rank = 0; rank < steps->ranks; rank++) {
    const struct step_record *record = step_at(steps, before ? steps->first : step, rank);
    if (record != NULL) {
      end = before ? (record->start < end ? record->start : end) : record->end > end ? record->end : end;
    }
  }
  return end == INT64_MAX || end == INT64_MIN ? 0 : end;
}

static void put_rank_steps(struct writer *out, const struct steps *steps, int step) {
  PUT(out, ", \"ranks\": [");
  bool first = true;
  for (int rank = 0; rank < steps->ranks; rank++) {
    const struct step_record *record = step_at(steps, step, rank);
    if (record == NULL) {
      continue;
    }
    put_number(out, first ? "\n[" : ",\n[", rank);
    first = false;
    put_number(out, ", ", record->start);
    put_number(out, ", ", record->end);
    for (int activity = 0; activity < ACTIVITIES; activity++) {
      put_number(out, ", ", record->activity[activity]);
    }
    put_number(out, ", ", record->host_start);
    put_number(out, ", ", record->host_end);
    PUT(out, "]");
  }
  PUT(out, "]");
}

/* Bubble and whole step time, summed over the ranks of a stage, or of all (-1). */
static void sum_bubble(const struct setup *setup, const struct steps *steps, int step, int stage, double sums[2]) {
  sums[0] = sums[1] = 0;
  for (int rank = 0; rank < steps->ranks; rank++) {
    const struct step_record *record = step_at(steps, step, rank);
    if (record != NULL && (stage < 0 || setup_coordinates(setup, rank).stage == stage)) {
      sums[0] += (double)record->activity[ACTIVITY_BUBBLE];
      sums[1] += (double)(record->end - record->start);
    }
  }
}

static void put_run(struct writer *out, const struct setup *setup, const struct steps *steps, int step) {
  double executed = 0, sums[2];
  int64_t start = end_of(steps, step - 1), end = end_of(steps, step);
  for (int rank = 0; rank < steps->ranks; rank++) {
    const struct step_record *record = step_at(steps, step, rank);
    executed += record != NULL ? record->flops : 0;
  }
  put_number(out, "{\"start\": ", start);
  put_number(out, ", \"end\": ", end);
  put_whole(out, ", \"executed_flops\": ", executed);
  put_share(out, ", \"mfu\": ", gpt_model_flops(setup), (double)(end - start) * steps->ranks * setup->gpu->flops);
  sum_bubble(setup, steps, step, -1, sums);
  put_share(out, ", \"bubble\": ", sums[0], sums[1]);
  put_share(out, ", \"bubble_ratio\": ", sums[0], sums[1] - sums[0]);
  PUT(out, ", \"stage_bubble\": [");
  for (int stage = 0; stage < setup->parallel.pipeline; stage++) {
    sum_bubble(setup, steps, step, stage, sums);
    put_share(out, stage == 0 ? "" : ", ", sums[0], sums[1]);
  }
  PUT(out, "]");
  put_rank_steps(out, steps, step);
  PUT(out, "}");
}

/* The recorded steps are those behind the warm-up. */
static void put_steps(struct writer *out, const struct recorder *recorder) {
  static const char *const runs[RUNS] = {[PROFILED] = ", \"profiled\": ", [UNPROFILED] = ",\n\"unprofiled\": "};
  const struct setup *setup = recorder->setup;
  struct steps steps[RUNS] = {steps_of(recorder, PROFILED), steps_of(recorder, UNPROFILED)};
  PUT(out,
      ",\n\"step_columns\": [\"rank\", \"start\", \"end\", \"compute\", \"overlapped\", \"transfer\", \"waiting\", "
      "\"bubble\", \"copy\", \"idle\", \"host_start\", \"host_end\"],\n\"steps\": [");
  for (int i = 0; i < setup->steps && setup->warmup + i < steps[PROFILED].count; i++) {
    int step = steps[PROFILED].first + setup->warmup + i;
    put_separator(out, i == 0);
    put_number(out, "{\"step\": ", step);
    for (int run = 0; run < RUNS; run++) {
      if (steps[run].count > 0) {
        put_text(out, runs[run]);
        put_run(out, setup, &steps[run], step);
      }
    }
    PUT(out, "}");
  }
  PUT(out, "]");
  for (int run = 0; run < RUNS; run++) {
    free(steps[run].at);
  }
}

/* ---- collectives ---- */

static bool has_graphs(const struct recorder *recorder) { return recorder->setup->graphs != GRAPHS_OFF; }

static void put_times(struct writer *out, const char *key, const int64_t *times, size_t count) {
  put_text(out, key);
  for (size_t i = 0; i < count; i++) {
    put_number(out, i == 0 ? "" : ", ", times[i]);
  }
}

static void put_transfer(struct writer *out, const struct recorder *recorder, const struct transfer_row *row) {
  static const char *const ops[COLLECTIVES] = {
      [ALL_REDUCE] = "all_reduce", [ALL_GATHER] = "all_gather",     [REDUCE_SCATTER] = "reduce_scatter",
      [BROADCAST] = "broadcast",   [SEND_RECEIVE] = "send_receive", [ALL_TO_ALL] = "all_to_all"};
  put_named(out, "[", recorder->communicators[row->communicator].name);
  put_named(out, ", ", ops[row->collective]);
  put_number(out, ", ", row->sequence);
  put_number(out, ", ", row->step);
  put_number(out, ", ", row->bytes);
  put_number(out, ", ", row->source);
  put_number(out, ", ", row->destination);
  put_number(out, ", ", row->begin);
  put_number(out, ", ", row->end);
  PUT(out, ", [");
  for (size_t i = 0; i < row->members; i++) {
    put_number(out, i == 0 ? "" : ", ", recorder->member_ranks.items[row->first + i]);
  }
  put_times(out, "], [", recorder->member_starts.items + row->first, row->members);
  put_times(out, "], [", recorder->member_ends.items + row->first, row->members);
  PUT(out, "], [");
  for (size_t i = row->first; i < row->first + row->members; i++) {
    put_number(out, i == row->first ? "" : ", ",
               recorder->member_correlations.items[i] - recorder->member_nodes.items[i]);
  }
  PUT(out, "]");
  if (has_graphs(recorder)) {
    PUT(out, ", [");
    for (size_t i = row->first; i < row->first + row->members; i++) {
      put_number(out, i == row->first ? "" : ", ", recorder->member_nodes.items[i]);
    }
    PUT(out, "]");
  }
  PUT(out, "]");
}

/* A recorded rank's trace has its kernel. */
static bool transfer_is_shown(const struct recorder *recorder, const struct transfer_row *row,
                              const struct table *shown) {
  for (size_t i = row->first; i < row->first + row->members; i++) {
    int place = recorder->place[recorder->member_ranks.items[i]];
    if (place >= 0 && table_find(&shown[place], recorder->member_correlations.items[i]) != NONE) {
      return true;
    }
  }
  return false;
}

static void put_collectives(struct writer *out, const struct recorder *recorder) {
  PUT(out,
      ",\n\"collectives\": {\"columns\": [\"communicator\", \"op\", \"sequence\", \"step\", \"bytes\", \"source\", "
      "\"destination\", \"begin\", \"end\", \"ranks\", \"starts\", \"ends\", \"correlations\"");
  put_text(out, has_graphs(recorder) ? ", \"nodes\"], \"rows\": [" : "], \"rows\": [");
  struct table *shown = memory_new((size_t)recorder->recorded, sizeof *shown);
  for (int i = 0; i < recorder->recorded; i++) {
    shown[i] = device_table(&recorder->rows[i]);
  }
  bool first = true;
  for (size_t i = 0; i < recorder->transfers.count; i++) {
    const struct transfer_row *row = &recorder->transfers.items[i];
    if (transfer_is_shown(recorder, row, shown)) {
      put_separator(out, first);
      put_transfer(out, recorder, row);
      first = false;
    }
  }
  for (int i = 0; i < recorder->recorded; i++) {
    free(shown[i].rows);
  }
  free(shown);
  PUT(out, "]}");
}

/* ---- recorded ranks ---- */

static void put_tasks(struct writer *out, const struct rank_rows *rows, const struct order *order,
                      const struct setup *setup) {
  bool graphs = setup->graphs != GRAPHS_OFF;
  PUT(out, ",\n\"tasks\": {\"columns\": [\"correlation\", \"phase\", \"micro_batch\", \"layer\", \"part\"");
  put_text(out, graphs ? ", \"node\"" : "");
  put_text(out, setup->sm_queue ? ", \"ready\"], \"rows\": [" : "], \"rows\": [");
  bool first = true;
  for (uint32_t i = 0; i < order->device.count; i++) {
    if (order->device.rows[i] == NONE) {
      continue;
    }
    const struct device_row *row = &rows->device.items[order->device.rows[i]];
    put_number(out, first ? "\n[" : ",\n[", launch_of(row));
    put_number(out, ", ", row->phase);
    put_number(out, ", ", row->micro_batch);
    put_number(out, ", ", row->layer);
    put_number(out, ", ", row->part);
    if (graphs) {
      put_number(out, ", ", row->node);
    }
    if (setup->sm_queue) {
      put_number(out, ", ", row->ready);
    }
    PUT(out, "]");
    first = false;
  }
  PUT(out, "]}");
}

static void put_edges(struct writer *out, const struct rank_rows *rows, const struct order *order, bool graphs) {
  PUT(out, ",\n\"edges\": {\"columns\": [\"from\", \"to\", \"binding\"");
  put_text(out, graphs ? ", \"from_node\", \"to_node\"], \"rows\": [" : "], \"rows\": [");
  bool first = true;
  for (size_t i = 0; i < rows->edges.count; i++) {
    const struct edge_row *edge = &rows->edges.items[i];
    uint32_t from_row = table_find(&order->device, edge->from), to_row = table_find(&order->device, edge->to);
    if (from_row == NONE || to_row == NONE) {
      continue;
    }
    const struct device_row *from = &rows->device.items[from_row], *to = &rows->device.items[to_row];
    put_number(out, first ? "\n[" : ",\n[", launch_of(from));
    put_number(out, ", ", launch_of(to));
    put_text(out, edge->binding ? ", 1" : ", 0");
    if (graphs) {
      put_number(out, ", ", from->node);
      put_number(out, ", ", to->node);
    }
    PUT(out, "]");
    first = false;
  }
  PUT(out, "]}");
}

static void put_counts(struct writer *out, const struct recorder *recorder, const struct rank_rows *rows,
                       const struct order *order) {
  int64_t kinds[WORK_KINDS] = {0}, all = 0, before = 0;
  for (uint32_t i = 0; i < order->device.count; i++) {
    if (order->device.rows[i] != NONE) {
      const struct device_row *row = &rows->device.items[order->device.rows[i]];
      const struct shape *shape = pool_at(&recorder->shapes, row->shape);
      kinds[shape->kind]++;
      all++;
      before += table_find(&order->calls, launch_of(row)) == NONE;
    }
  }
  int64_t copies = kinds[WORK_COPY_TO_DEVICE] + kinds[WORK_COPY_TO_HOST] + kinds[WORK_COPY_ON_DEVICE];
  put_number(out, ",\n\"counts\": {\"kernels\": ", all - copies - kinds[WORK_MEMSET]);
  put_number(out, ", \"communication\": ", kinds[WORK_COLLECTIVE] + kinds[WORK_P2P]);
  put_number(out, ", \"copies\": ", copies);
  put_number(out, ", \"memsets\": ", kinds[WORK_MEMSET]);
  put_number(out, ", \"launched_before\": ", before);
  PUT(out, "}");
}

static void put_recorded(struct writer *out, const struct recorder *recorder) {
  PUT(out, ",\n\"phases\": [\"forward\", \"backward\", \"weight\", \"optimizer\", \"other\"],\n"
           "\"parts\": [\"embedding\", \"layer\", \"head\", \"optimizer\", \"other\"],\n\"recorded\": [");
  for (int i = 0; i < recorder->recorded; i++) {
    const struct rank_rows *rows = &recorder->rows[i];
    struct order order = order_of(rows);
    put_separator(out, i == 0);
    put_number(out, "{\"rank\": ", rows->rank);
    put_counts(out, recorder, rows, &order);
    put_tasks(out, rows, &order, recorder->setup);
    put_edges(out, rows, &order, has_graphs(recorder));
    PUT(out, "}");
    order_free(&order);
  }
  PUT(out, "]");
}

bool truth_write(const struct recorder *recorder) {
  const struct setup *setup = recorder->setup;
  struct writer *out = writer_open(setup->folder, "truth.json", false);
  if (out == NULL) {
    return false;
  }
  PUT(out, TRUTH_BEGINNING);
  put_string(out, setup->arguments != NULL ? setup->arguments : "");
  PUT(out, ",\n\"seed\": \"");
  put_unsigned(out, setup->seed);
  PUT(out, "\"");
  put_configuration(out, setup);
  put_number(out, ",\n\"world\": ", recorder->ranks);
  put_number(out, ",\n\"epoch\": \"", CLOCK_EPOCH);
  PUT(out, "\"");
  put_clocks(out, setup);
  put_windows(out, recorder);
  put_whole(out, ",\n\"model_flops\": ", gpt_model_flops(setup));
  put_share(out, ",\n\"peak_flops\": ", setup->gpu->flops, 1);
  put_steps(out, recorder);
  put_collectives(out, recorder);
  put_recorded(out, recorder);
  PUT(out, "}\n");
  return writer_close(out);
}

/* Mean over the recorded steps. */
static double mean_step_time(const struct recorder *recorder, const struct steps *steps) {
  if (steps->count == 0) {
    return 0;
  }
  int first = steps->first + recorder->setup->warmup;
  int64_t length = end_of(steps, first + recorder->setup->steps - 1) - end_of(steps, first - 1);
  return (double)length / recorder->setup->steps;
}

void truth_tell(const struct recorder *recorder, FILE *file) {
  const struct setup *setup = recorder->setup;
  double times[RUNS];
  for (int run = 0; run < RUNS; run++) {
    struct steps steps = steps_of(recorder, run);
    times[run] = mean_step_time(recorder, &steps);
    free(steps.at);
  }
  double work = (double)recorder->ranks * setup->gpu->flops;
  fprintf(file, "%d %s, %d recorded: a step takes %.3f ms", recorder->ranks, recorder->ranks == 1 ? "rank" : "ranks",
          recorder->recorded, times[PROFILED] / 1e6);
  if (times[UNPROFILED] > 0) {
    fprintf(file, ", %.3f ms without the profiler", times[UNPROFILED] / 1e6);
  }
  fprintf(file, "; MFU %.1f %%\n", times[PROFILED] > 0 ? 100 * gpt_model_flops(setup) / times[PROFILED] / work : 0);
}
