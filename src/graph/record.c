/* Which record a wait sees: the latest of its event that took effect before the wait.
 *
 * What names an event is its recorded id; a record without one takes the id of the first wait that names it as its
 * record, or is an event of its own. The stream on which a record stands is recorded with it, else with the wait that
 * names it.
 */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

static uint64_t event_of_id(lumos_string_id id) { return (UINT64_C(1) << 32) | id; }

static int by_task(const void *left, const void *right) {
  const struct lumos_event_record *a = left, *b = right;
  return LUMOS_ORDER(a->task, b->task);
}

static int by_event(const void *left, const void *right) {
  const struct lumos_event_record *a = left, *b = right;
  return a->event != b->event     ? LUMOS_ORDER(a->event, b->event)
         : a->effect != b->effect ? LUMOS_ORDER(a->effect, b->effect)
                                  : by_task(left, right);
}

/* The record made by this call; NULL: it makes none. */
static struct lumos_event_record *record_of(const struct lumos_event_records *records, uint32_t call) {
  struct lumos_event_record key = {.task = call};
  if (call == LUMOS_NONE || records->count == 0) {
    return NULL;
  }
  return bsearch(&key, records->items, records->count, sizeof key, by_task);
}

static void add_records(struct lumos_rank_graph *graph) {
  const struct lumos_job *job = graph->job;
  for (uint32_t task = graph->first; task < graph->first + graph->rank->task_count; task++) {
    const struct lumos_detail *detail = lumos_detail_of(job, &job->tasks.items[task]);
    if (detail->event_op == LUMOS_EVENT_RECORD) {
      bool named = detail->event_id != LUMOS_NO_STRING;
      struct lumos_event_record record = {named ? event_of_id(detail->event_id) : task, lumos_graph_call_end(job, task),
                                          task, detail->event_lane};
      lumos_vector_push(&graph->records_by_task, record);
    }
  }
}

/* Let waits that name their record say what the record does not. */
static void name_records(struct lumos_rank_graph *graph) {
  for (uint32_t task = graph->first; task < graph->first + graph->rank->task_count; task++) {
    const struct lumos_detail *detail = lumos_detail_of(graph->job, lumos_graph_task(graph, task));
    struct lumos_event_record *record =
        detail->wait.on == 0 ? NULL : record_of(&graph->records_by_task, detail->wait.record);
    if (record == NULL) {
      continue;
    }
    if (record->event == record->task && detail->event_id != LUMOS_NO_STRING) {
      record->event = event_of_id(detail->event_id);
    }
    if (record->lane == LUMOS_NONE) {
      record->lane = detail->wait.lane;
    }
  }
}

void lumos_graph_find_records(struct lumos_rank_graph *graph) {
  add_records(graph);
  name_records(graph);
  size_t count = graph->records_by_task.count;
  lumos_vector_reserve(&graph->records_by_event, count);
  graph->records_by_event.count = count;
  if (count > 0) {
    memcpy(graph->records_by_event.items, graph->records_by_task.items, count * sizeof *graph->records_by_task.items);
    qsort(graph->records_by_event.items, count, sizeof *graph->records_by_event.items, by_event);
  }
}

const struct lumos_event_record *lumos_graph_seen_record(const struct lumos_rank_graph *graph, uint32_t wait,
                                                         int64_t at) {
  const struct lumos_detail *detail = lumos_detail_of(graph->job, lumos_graph_task(graph, wait));
  const struct lumos_event_record *named = record_of(&graph->records_by_task, detail->wait.record);
  if (named == NULL && detail->event_id == LUMOS_NO_STRING) {
    return NULL;
  }
  uint64_t event = named != NULL ? named->event : event_of_id(detail->event_id);
  size_t low = 0, high = graph->records_by_event.count; /* how many lie before or at (event, at) */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const struct lumos_event_record *record = &graph->records_by_event.items[middle];
    if (record->event < event || (record->event == event && record->effect <= at)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  const struct lumos_event_record *latest = low == 0 ? NULL : &graph->records_by_event.items[low - 1];
  return latest != NULL && latest->event == event ? latest : NULL;
}
