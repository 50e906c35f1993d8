/* Jobs as streams: records in their order, and the count of them. */
#include <lumos/stream.h>

#include "stream/write.h"
#include <stdlib.h>

/* A run of records that lie in one array. */
static void put_records(struct lumos_writer *writer, enum lumos_record_kind kind, size_t first, size_t count) {
  size_t all = 0;
  char *items = lumos_part_items(writer->job, kind, PART_MAIN, &all);
  for (size_t i = first; i < first + count; i++) {
    struct lumos_record record = {{items + i * lumos_schema[kind].sizes[PART_MAIN]}};
    lumos_put_record(writer, kind, &record);
  }
}

static void put_tasks(struct lumos_writer *writer, size_t first, size_t count) {
  const struct lumos_job *job = writer->job;
  for (size_t i = first; i < first + count; i++) {
    struct lumos_task *task = &job->tasks.items[i];
    struct lumos_record record = {{
        task,
        task->timing == LUMOS_NONE ? NULL : &job->timings.items[task->timing],
        job->runs.count == 0 ? NULL : &job->runs.items[i],
        task->detail == LUMOS_NONE ? NULL : &job->details.items[task->detail],
    }};
    lumos_put_record(writer, RECORD_TASK, &record);
  }
}

static void put_foreign(struct lumos_writer *writer) {
  for (size_t i = 0; i < writer->job->foreign.count; i++) {
    lumos_string_id line = writer->job->foreign.items[i].line;
    lumos_text_add(writer->text, lumos_string(writer->job->strings, line),
                   lumos_string_length(writer->job->strings, line));
    lumos_text_char(writer->text, '\n');
  }
}

static void put_count(struct lumos_text *text, const char *type, size_t length, uint64_t count) {
  lumos_text_json_string(text, type, length);
  lumos_text_char(text, ':');
  lumos_text_integer(text, (int64_t)count);
  lumos_text_char(text, ',');
}

/* The last line: how many lines of each type there were, unknown types in the order of their first line. */
static void put_end(struct lumos_writer *writer) {
  const struct lumos_job *job = writer->job;
  lumos_text_put(writer->text, "{\"type\":\"end\",\"counts\":{");
  for (int kind = 0; kind < RECORD_END; kind++) {
    if (writer->counts[kind] > 0) {
      put_count(writer->text, lumos_schema[kind].name, strlen(lumos_schema[kind].name), writer->counts[kind]);
    }
  }
  uint64_t *foreign = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *foreign);
  for (size_t i = 0; i < job->foreign.count; i++) {
    foreign[job->foreign.items[i].type]++;
  }
  for (size_t i = 0; i < job->foreign.count; i++) {
    lumos_string_id type = job->foreign.items[i].type;
    if (foreign[type] > 0) {
      put_count(writer->text, lumos_string(job->strings, type), lumos_string_length(job->strings, type), foreign[type]);
      foreign[type] = 0;
    }
  }
  free(foreign);
  lumos_text_put(writer->text, "\"end\":1}}\n");
}

static void set_rank(struct lumos_writer *writer, int32_t rank) {
  char start[2 * LUMOS_DIGITS_WRITTEN];
  char *end = lumos_put_id(start, rank, 0) - sizeof "0\"" + 1;
  writer->rank = rank;
  writer->id_start_length = (size_t)(end - start);
  memcpy(writer->id_start, start, sizeof writer->id_start);
}

void lumos_stream_write(const struct lumos_job *job, struct lumos_text *text) {
  struct lumos_writer writer = {.job = job, .text = text};
  writer.strings = lumos_allocate_zeroed(lumos_strings_count(job->strings) + 1U, sizeof *writer.strings);
  writer.escaped = lumos_arena_new();
  struct lumos_record header = {{(void *)(uintptr_t)job}};
  lumos_put_record(&writer, RECORD_HEADER, &header);
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_rank *rank = &job->ranks.items[i];
    set_rank(&writer, rank->rank);
    put_records(&writer, RECORD_RANK, i, 1);
    put_records(&writer, RECORD_GROUP, rank->group_first, rank->group_count);
    put_records(&writer, RECORD_LANE, rank->lane_first, rank->lane_count);
    put_records(&writer, RECORD_SPAN, rank->span_first, rank->span_count);
    put_tasks(&writer, rank->task_first, rank->task_count);
  }
  put_records(&writer, RECORD_MEMORY, 0, job->memory.count);
  put_records(&writer, RECORD_DEP, 0, job->deps.count);
  put_records(&writer, RECORD_COLLECTIVE, 0, job->collectives.count);
  put_records(&writer, RECORD_MODEL, 0, job->models.count);
  put_records(&writer, RECORD_COMMON_ERROR, 0, job->common_errors.count);
  put_records(&writer, RECORD_PASS, 0, job->recorded_passes.count);
  put_records(&writer, RECORD_METRIC, 0, job->metrics.count);
  put_records(&writer, RECORD_NOTE, 0, job->notes.count);
  put_foreign(&writer);
  put_end(&writer);
  lumos_arena_free(writer.escaped);
  free(writer.strings);
}
