/* Blocks of instructions: three arrays that grow by doubling and are emptied, never given back, so that writing a block
 * costs no allocation after the first few. Messages lie in chunks, each twice as long as the one before: pointers to
 * them stay good.
 */
#include "program.h"
#include "memory.h"
#include <stdlib.h>

enum { FIRST_INSTRUCTIONS = 1024, FIRST_WORKS = 256, FIRST_MESSAGES = 32 };

void program_clear(struct program *program) {
  program->count = 0;
  program->work_count = 0;
  program->message_count = 0;
}

void program_free(struct program *program) {
  for (size_t i = 0; program->messages[i]; i++) /* the last is never reached: memory ends before */
    free(program->messages[i]);
  free(program->works);
  free(program->instructions);
  *program = (struct program){0};
}

/* The next instruction. Only what its kind reads is written: the rest is left as it was. */
static inline struct instruction *append(struct program *program, enum instruction_kind kind) {
  if (program->count == program->room) {
    program->room = program->room ? 2 * program->room : FIRST_INSTRUCTIONS;
    program->instructions = memory_grown(program->instructions, program->room, sizeof *program->instructions);
  }
  struct instruction *instruction = &program->instructions[program->count++];
  instruction->kind = (uint8_t)kind;
  return instruction;
}

void program_enter(struct program *program, enum frame frame, const char *name, struct op_facts facts) {
  struct instruction *enter = append(program, DO_ENTER);
  enter->frame = (uint8_t)frame;
  enter->name = name;
  enter->of.facts = facts;
}

void program_leave(struct program *program) { append(program, DO_LEAVE); }

void program_spend(struct program *program, int64_t ns) { append(program, DO_SPEND)->time = ns; }

void program_sleep(struct program *program, const char *name, int64_t ns) {
  struct instruction *sleep = append(program, DO_SLEEP);
  sleep->frame = FRAME_ANNOTATION;
  sleep->name = name;
  sleep->time = ns;
  sleep->of.facts = (struct op_facts){.sequence = -1};
}

void program_launch(struct program *program, enum call call, enum stream stream, struct work work) {
  if (program->work_count == program->work_room) {
    program->work_room = program->work_room ? 2 * program->work_room : FIRST_WORKS;
    program->works = memory_grown(program->works, program->work_room, sizeof *program->works);
  }
  struct instruction *launch = append(program, DO_LAUNCH);
  launch->call = (uint8_t)call;
  launch->stream = (uint8_t)stream;
  launch->of.work = (uint32_t)program->work_count;
  program->works[program->work_count++] = work;
}

void program_capture(struct program *program, size_t first, enum stream stream, uint32_t number) {
  struct graph graph = {.number = number};
  append(program, DO_LAUNCH_GRAPH); /* its place is the first: all that is kept moves behind it */
  struct instruction *at = &program->instructions[first], launch = program->instructions[program->count - 1];
  struct instruction held = *at;
  for (size_t i = first; i + 1 < program->count; i++) {
    struct instruction next = program->instructions[i + 1];
    if (held.kind == DO_LAUNCH || held.kind == DO_RECORD || held.kind == DO_WAIT) {
      graph.nodes += held.kind == DO_LAUNCH;
      at[++graph.length] = held;
    }
    held = next;
  }
  launch.call = CALL_GRAPH_LAUNCH;
  launch.stream = (uint8_t)stream;
  launch.of.graph = graph;
  *at = launch;
  program->count = first + graph.length + 1;
}

void program_record(struct program *program, enum call call, int event, enum stream stream) {
  struct instruction *record = append(program, DO_RECORD);
  record->call = (uint8_t)call;
  record->event = (uint16_t)event;
  record->stream = (uint8_t)stream;
}

void program_wait(struct program *program, enum stream stream, int event) {
  struct instruction *wait = append(program, DO_WAIT);
  wait->call = CALL_STREAM_WAIT;
  wait->event = (uint16_t)event;
  wait->stream = (uint8_t)stream;
}

void program_sync(struct program *program, enum instruction_kind kind, int event, enum stream stream) {
  struct instruction *sync = append(program, kind);
  sync->call = (uint8_t)(kind == DO_SYNC_EVENT    ? CALL_EVENT_SYNC
                         : kind == DO_SYNC_STREAM ? CALL_STREAM_SYNC
                                                  : CALL_DEVICE_SYNC);
  sync->event = (uint16_t)event;
  sync->stream = (uint8_t)stream;
}

void program_free_used(struct program *program, enum stream stream) {
  struct instruction *sync = append(program, DO_SYNC_STREAM);
  sync->call = CALL_FREE;
  sync->stream = (uint8_t)stream;
}

void program_query(struct program *program, int event) {
  struct instruction *query = append(program, DO_QUERY);
  query->call = CALL_EVENT_QUERY;
  query->event = (uint16_t)event;
}

void program_call(struct program *program, enum call call) { append(program, DO_CALL)->call = (uint8_t)call; }

void program_allocate(struct program *program, int64_t bytes) { append(program, DO_ALLOCATE)->time = bytes; }

void program_post(struct program *program, struct job job) { append(program, DO_POST)->of.job = job; }

void program_await(struct program *program) { append(program, DO_AWAIT); }

void program_mark(struct program *program, enum instruction_kind kind, int64_t number) {
  append(program, kind)->time = number;
}

const struct message *program_message(struct program *program, struct message message) {
  size_t chunk = 0, place = program->message_count++;
  size_t room = FIRST_MESSAGES;
  for (; place >= room; chunk++, room *= 2)
    place -= room;
  if (!program->messages[chunk])
    program->messages[chunk] = memory_new(room, sizeof message);
  program->messages[chunk][place] = message;
  return &program->messages[chunk][place];
}
