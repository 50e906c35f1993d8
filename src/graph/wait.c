/* Host waits: what a waiting call waits for, and what of its time that does not explain.
 *
 * A stream synchronisation waits for the last task enqueued on its stream before it, a device synchronisation for the
 * last on every stream, an event synchronisation for what preceded the record, a blocking copy for its own task. The
 * residual is what remains after the later of its own start and the awaited end. A call that returned before the
 * awaited end contradicts the rule and keeps its measured length.
 *
 * Most traces do not name the stream. It is then inferred: the stream of the thread's last launch, if that was a copy
 * and ended within the reaction window of the return, for who reads on waits for what was copied; else of the streams
 * whose work was over when the call returned the one that finished last, if that was within the window; else the
 * stream of the thread's last launch. What was inferred is stored as a host_wait edge, so that it can be told from what
 * was recorded (lumos_job_rewind takes the lane back with it).
 */
#include "graph/graph.h"

#include "graph/typical.h"

/* What became of the host waits of a rank. */
struct outcome {
  int64_t inferred, unknown, contradicted;
};

static bool is_host_wait(const struct lumos_detail *detail) {
  return detail->wait.on != 0 && detail->event_op != LUMOS_EVENT_WAIT;
}

uint32_t lumos_graph_last_over(const struct lumos_rank_graph *graph, int64_t at, int64_t done) {
  uint32_t latest = LUMOS_NONE;
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    uint32_t lane = graph->rank->lane_first + i;
    if (graph->job->lanes.items[lane].kind != LUMOS_STREAM) {
      continue;
    }
    uint32_t last = lumos_graph_last_enqueued(graph, lane, at);
    if (last == LUMOS_NONE || lumos_graph_device_end(graph, last) > done) {
      continue;
    }
    if (latest == LUMOS_NONE || lumos_graph_device_end(graph, last) > lumos_graph_device_end(graph, latest)) {
      latest = last;
    }
  }
  return latest;
}

static uint32_t before_record(const struct lumos_rank_graph *graph, uint32_t call, int64_t start) {
  const struct lumos_event_record *record = lumos_graph_seen_record(graph, call, start);
  if (record == NULL || record->lane == LUMOS_NONE) {
    return LUMOS_NONE;
  }
  return lumos_graph_last_enqueued(graph, record->lane, record->effect);
}

static uint32_t recorded_target(const struct lumos_rank_graph *graph, uint32_t call, const struct lumos_wait *wait) {
  int64_t start = lumos_graph_task(graph, call)->start;
  switch ((enum lumos_wait_on)wait->on) {
    case LUMOS_WAIT_SELF:
      return graph->launched[call - graph->first];
    case LUMOS_WAIT_DEVICE:
      return lumos_graph_last_over(graph, start, INT64_MAX);
    case LUMOS_WAIT_STREAM:
      return wait->lane == LUMOS_NONE ? LUMOS_NONE : lumos_graph_last_enqueued(graph, wait->lane, start);
    case LUMOS_WAIT_EVENT:
      return before_record(graph, call, start);
  }
  return LUMOS_NONE;
}

void lumos_graph_recorded_waits(struct lumos_rank_graph *graph) {
  for (uint32_t i = 0; i < graph->rank->task_count; i++) {
    const struct lumos_detail *detail = lumos_detail_of(graph->job, lumos_graph_task(graph, graph->first + i));
    if (is_host_wait(detail)) {
      graph->awaited[i] = recorded_target(graph, graph->first + i, &detail->wait);
    }
  }
}

/* How long after the end of the awaited task a call returns at most: the window, or twice the 90th percentile of
 * waits that did block. Chosen: calls may react more slowly than streams, of which the window is measured. */
static int64_t return_window(const struct lumos_rank_graph *graph) {
  LUMOS_VECTOR(int64_t) latencies = {0};
  for (uint32_t i = 0; i < graph->rank->task_count; i++) {
    uint32_t call = graph->first + i, awaited = graph->awaited[i];
    if (awaited == LUMOS_NONE) {
      continue;
    }
    int64_t over = lumos_graph_device_end(graph, awaited), returned = lumos_graph_call_end(graph->job, call);
    if (over > lumos_graph_task(graph, call)->start && over <= returned) {
      lumos_vector_push(&latencies, returned - over);
    }
  }
  int64_t window = LUMOS_REACTION_WINDOW;
  if (latencies.count >= LUMOS_ENOUGH_SAMPLES) {
    lumos_sort_times(latencies.items, latencies.count);
    int64_t twice = 2 * lumos_percentile(latencies.items, latencies.count, 90);
    if (twice > window) {
      window = twice;
    }
  }
  lumos_vector_free(&latencies);
  return window;
}

/* The last task that the call can have waited for on one of the streams, LUMOS_NONE where no stream fits. */
static uint32_t infer_target(const struct lumos_rank_graph *graph, uint32_t call, uint32_t last_lane, int64_t window) {
  int64_t start = lumos_graph_task(graph, call)->start, returned = lumos_graph_call_end(graph->job, call);
  uint32_t last = last_lane == LUMOS_NONE ? LUMOS_NONE : lumos_graph_last_enqueued(graph, last_lane, start);
  int64_t since = last == LUMOS_NONE ? -1 : returned - lumos_graph_device_end(graph, last);
  if (since >= 0 && since <= window && lumos_graph_task(graph, last)->kind == LUMOS_COPY) {
    return last;
  }
  uint32_t best = lumos_graph_last_over(graph, start, returned);
  if (best != LUMOS_NONE && returned - lumos_graph_device_end(graph, best) <= window) {
    return best;
  }
  return since < 0 ? LUMOS_NONE : last;
}

static void store_inferred(struct lumos_rank_graph *graph, uint32_t call, uint32_t target) {
  struct lumos_job *job = graph->job;
  job->details.items[job->tasks.items[call].detail].wait.lane = job->tasks.items[target].lane;
  graph->awaited[call - graph->first] = target;
  struct lumos_dep edge = lumos_dep_empty;
  edge.src = target;
  edge.dst = call;
  edge.kind = LUMOS_HOST_WAIT;
  edge.from = LUMOS_END;
  edge.to = LUMOS_END;
  edge.lag = 0;
  edge.evidence = LUMOS_INFERRED;
  edge.mode = LUMOS_RUN_TIME;
  lumos_vector_push(&graph->deps, edge);
}

/* Does the trace leave open what the call waits for? */
static bool is_unknown(const struct lumos_detail *detail) {
  return (detail->wait.on == LUMOS_WAIT_STREAM && detail->wait.lane == LUMOS_NONE) ||
         (detail->wait.on == LUMOS_WAIT_EVENT && detail->wait.record == LUMOS_NONE &&
          detail->event_id == LUMOS_NO_STRING);
}

static void settle(struct lumos_rank_graph *graph, uint32_t call, struct outcome *outcome) {
  struct lumos_job *job = graph->job;
  struct lumos_wait *wait = &job->details.items[job->tasks.items[call].detail].wait;
  uint32_t awaited = graph->awaited[call - graph->first];
  if (awaited == LUMOS_NONE) {
    outcome->unknown += is_unknown(&job->details.items[job->tasks.items[call].detail]);
    return;
  }
  int64_t start = job->tasks.items[call].start, end = lumos_graph_call_end(job, call);
  int64_t over = lumos_graph_device_end(graph, awaited);
  if (over > end) {
    outcome->contradicted++;
  } else {
    wait->residual = end - (over > start ? over : start);
  }
}

static void settle_thread(struct lumos_rank_graph *graph, const struct lumos_lane *lane, int64_t window,
                          struct outcome *outcome) {
  uint32_t last_lane = LUMOS_NONE; /* of the thread's last launch */
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    uint32_t launched = graph->launched[task - graph->first];
    const struct lumos_detail *detail = lumos_detail_of(graph->job, lumos_graph_task(graph, task));
    if (is_host_wait(detail)) {
      if (detail->wait.on == LUMOS_WAIT_STREAM && detail->wait.lane == LUMOS_NONE) {
        uint32_t target = infer_target(graph, task, last_lane, window);
        if (target != LUMOS_NONE) {
          store_inferred(graph, task, target);
          outcome->inferred++;
        }
      }
      settle(graph, task, outcome);
    }
    if (launched != LUMOS_NONE) {
      last_lane = lumos_graph_task(graph, launched)->lane;
    }
  }
}

static void note(struct lumos_rank_graph *graph, const struct outcome *outcome) {
  static const char cure[] = "record with torch.profiler's _ExperimentalConfig(enable_cuda_sync_events=True)";
  if (outcome->inferred > 0) {
    lumos_graph_note(
        graph, "graph.inferred_waits", outcome->inferred,
        "synchronizations do not name their stream; Lumos inferred it from the work that ended before they returned",
        cure);
  }
  if (outcome->unknown > 0) {
    lumos_graph_note(graph, "graph.unknown_waits", outcome->unknown,
                     "synchronizations do not say what they wait for; they keep their measured length", cure);
  }
  if (outcome->contradicted > 0) {
    lumos_graph_note(graph, "graph.contradicted_waits", outcome->contradicted,
                     "synchronizations returned before the work that they should wait for had ended; they keep their "
                     "measured length",
                     NULL);
  }
}

void lumos_graph_host_waits(struct lumos_rank_graph *graph) {
  struct outcome outcome = {0};
  int64_t window = return_window(graph);
  for (uint32_t i = 0; i < graph->rank->lane_count; i++) {
    const struct lumos_lane *lane = &graph->job->lanes.items[graph->rank->lane_first + i];
    if (lane->kind == LUMOS_THREAD) {
      settle_thread(graph, lane, window, &outcome);
    }
  }
  note(graph, &outcome);
}
