/* A program without some of its work (--leave-out). A block is written as ever, then what is left out is taken from it:
 *
 * - a launch of such work; - an op, or an annotation, that launches nothing else, and one that is named: all of it,
 * with the ops, the records and
 *   the waits inside;
 * - the Python time before either: what the thread spends between it and what comes before, but for the first that an
 * op
 *   around them spends, which is that op's own;
 * - a wait of a thread or a stream for a record that is left out, with the op that does nothing else: nobody waits for
 *   work that nobody began;
 * - a frame of Python in which nothing is left.
 *
 * Of kernels that are fused (--fuse) the first stays, and takes the time of all of them; the others are left out.
 *
 * A skip stands in its stead and keeps its places, so that all that stays draws the chances that it draws in the whole
 * program.
 */
#include "gpt_state.h"
#include <stdlib.h>
#include <string.h>

/* A frame that is open while a block is read. */
struct reading {
  size_t begin;
  bool named;        /* is an op that is left out, or in one */
  bool loses, keeps; /* holds work that is left out, work that stays */
};

struct leaving {
  bool (*unrecorded)[MOST_EVENTS]; /* of a rank: the event's latest record was left out */
  /* Of the block at hand. */
  struct program *program;
  bool *unrecorded_here; /* its rank's */
  bool *gone;            /* of an instruction */
  size_t gone_room;
  struct reading *open;
  int depth, room;
  int64_t run[STREAMS]; /* --fuse: the work that began the stream's run of such kernels; -1: none is open */
};

void gpt_make_leaving(struct gpt *gpt) {
  bool any = gpt->setup->leave_out_op_count > 0;
  for (int i = 0; i < LEFT_OUT; i++)
    any |= gpt->setup->leave_out[i] || gpt->setup->fuse[i];
  if (!any)
    return;
  gpt->leaving = memory_new(1, sizeof *gpt->leaving);
  gpt->leaving->unrecorded = memory_new((size_t)setup_ranks(gpt->setup), sizeof *gpt->leaving->unrecorded);
}

void gpt_free_leaving(struct gpt *gpt) {
  if (!gpt->leaving)
    return;
  free(gpt->leaving->unrecorded);
  free(gpt->leaving->gone);
  free(gpt->leaving->open);
  free(gpt->leaving);
}

/* ---- which work ---- */

/* By kind of work; LEFT_OUT: not by kind alone. */
static const uint8_t kinds[WORK_KINDS] = {
    [WORK_GEMM] = LEFT_OUT,
    [WORK_ATTENTION] = LEFT_OUT,
    [WORK_ELEMENTWISE] = LEFT_OUT_ELEMENTWISE,
    [WORK_NORM] = LEFT_OUT_NORM,
    [WORK_REDUCTION] = LEFT_OUT_REDUCTION,
    [WORK_OPTIMIZER] = LEFT_OUT_OPTIMIZER,
    [WORK_EMBEDDING] = LEFT_OUT_EMBEDDING,
    [WORK_COPY_TO_DEVICE] = LEFT_OUT_COPY,
    [WORK_COPY_TO_HOST] = LEFT_OUT_COPY,
    [WORK_COPY_ON_DEVICE] = LEFT_OUT_COPY,
    [WORK_MEMSET] = LEFT_OUT_MEMSET,
    [WORK_COLLECTIVE] = LEFT_OUT,
    [WORK_P2P] = LEFT_OUT,
};

static bool is_of_kind(const struct setup *setup, const struct instruction *launch, const struct work *work) {
  if (work->kind == WORK_COLLECTIVE) {
    enum collective collective = (enum collective)work->message->collective;
    bool reduces = launch->stream == STREAM_DATA || launch->stream == STREAM_EXPERT_DATA;
    bool gradients = reduces && work->label.phase != PHASE_OTHER && collective != ALL_GATHER;
    return (collective == ALL_REDUCE && setup->leave_out[LEFT_OUT_ALL_REDUCE]) ||
           (gradients && setup->leave_out[LEFT_OUT_GRADIENTS]);
  }
  return kinds[work->kind] != LEFT_OUT && setup->leave_out[kinds[work->kind]];
}

static bool is_left_out_op(const struct setup *setup, const struct instruction *enter) {
  for (int i = 0; enter->frame == FRAME_OP && i < setup->leave_out_op_count; i++)
    if (strcmp(setup->leave_out_ops[i] + strlen("op="), enter->name) == 0)
      return true;
  return false;
}

/* ---- what goes ---- */

static bool is_python(const struct instruction *instruction) {
  return (instruction->kind == DO_ENTER || instruction->kind == DO_LEAVE) &&
         (instruction->frame == FRAME_PYTHON || instruction->frame == FRAME_MODULE);
}

static void take_out(struct leaving *leaving, size_t first, size_t last) {
  for (size_t i = first; i <= last; i++) {
    const struct instruction *instruction = &leaving->program->instructions[i];
    leaving->gone[i] = true;
    if (instruction->kind == DO_RECORD)
      leaving->unrecorded_here[instruction->event] = true;
  }
}

/* The instruction before, past frames of Python; -1: none. */
static int64_t before(const struct leaving *leaving, size_t at) {
  int64_t i = (int64_t)at - 1;
  while (i >= 0 && is_python(&leaving->program->instructions[i]))
    i--;
  return i;
}

static void take_out_time_before(const struct leaving *leaving, size_t at) {
  const struct instruction *instructions = leaving->program->instructions;
  int64_t spent = before(leaving, at);
  if (spent < 0 || instructions[spent].kind != DO_SPEND)
    return;
  int64_t around = before(leaving, (size_t)spent);
  if (around >= 0 && instructions[around].kind != DO_ENTER)
    leaving->gone[spent] = true;
}

static bool opens_work(const struct leaving *leaving, size_t begin) {
  return !is_python(&leaving->program->instructions[begin]);
}

static void enter(struct leaving *leaving, size_t at) {
  if (leaving->depth == leaving->room) {
    leaving->room = leaving->room ? 2 * leaving->room : 64;
    leaving->open = memory_grown(leaving->open, (size_t)leaving->room, sizeof *leaving->open);
  }
  bool named = leaving->depth > 0 && leaving->open[leaving->depth - 1].named;
  leaving->open[leaving->depth++] = (struct reading){.begin = at, .named = named};
}

/* What was opened in another block is no op. */
static void leave(struct leaving *leaving, size_t at) {
  struct instruction *instructions = leaving->program->instructions;
  instructions[at].frame = FRAME_PYTHON;
  if (leaving->depth == 0)
    return;
  struct reading closed = leaving->open[--leaving->depth];
  instructions[at].frame = instructions[closed.begin].frame;
  if ((closed.loses || closed.named) && !closed.keeps && opens_work(leaving, closed.begin)) {
    take_out(leaving, closed.begin, at);
    take_out_time_before(leaving, closed.begin);
  }
  if (leaving->depth > 0) {
    leaving->open[leaving->depth - 1].loses |= closed.loses;
    leaving->open[leaving->depth - 1].keeps |= closed.keeps;
  }
}

/* Is a launch or a wait the thread's own, in no op? */
static bool is_alone(const struct leaving *leaving) {
  for (int i = leaving->depth; i-- > 0;)
    if (leaving->program->instructions[leaving->open[i].begin].frame == FRAME_OP)
      return false;
  return true;
}

static void lose(struct leaving *leaving, size_t at) {
  leaving->gone[at] = true;
  if (is_alone(leaving))
    take_out_time_before(leaving, at);
  if (leaving->depth > 0)
    leaving->open[leaving->depth - 1].loses = true;
}

static void keep(const struct leaving *leaving) {
  if (leaving->depth > 0)
    leaving->open[leaving->depth - 1].keeps = true;
}

/* A pair's other side would wait for ever. */
static bool is_left_out(const struct leaving *leaving, const struct setup *setup, const struct instruction *launch) {
  const struct work *work = &leaving->program->works[launch->of.work];
  bool named = leaving->depth > 0 && leaving->open[leaving->depth - 1].named;
  return work->kind != WORK_P2P && (named || is_of_kind(setup, launch, work));
}

/* ---- what is fused ---- */

static void end_runs(struct leaving *leaving) {
  for (int stream = 0; stream < STREAMS; stream++)
    leaving->run[stream] = -1;
}

/* Goes the launch, its kernel into the one that began the run? Nothing moves less for that. */
static bool is_fused(struct leaving *leaving, const struct setup *setup, const struct instruction *launch) {
  struct work *work = &leaving->program->works[launch->of.work];
  int64_t *run = &leaving->run[launch->stream];
  bool fuses = kinds[work->kind] != LEFT_OUT && setup->fuse[kinds[work->kind]];
  if (!fuses || *run < 0) {
    *run = fuses ? (int64_t)launch->of.work : -1;
    return false;
  }
  struct work *first = &leaving->program->works[*run];
  first->duration += work->duration;
  first->bytes += work->bytes;
  first->flops += work->flops;
  first->last_wave = work->last_wave;
  first->free_sms = work->free_sms;
  first->fills_device |= work->fills_device;
  return true;
}

static void read(struct leaving *leaving, const struct setup *setup, size_t at) {
  const struct instruction *instruction = &leaving->program->instructions[at];
  switch ((enum instruction_kind)instruction->kind) {
    case DO_ENTER:
      enter(leaving, at);
      if (is_left_out_op(setup, instruction))
        leaving->open[leaving->depth - 1].named = true;
      break;
    case DO_LEAVE:
      leave(leaving, at);
      break;
    case DO_LAUNCH:
      if (is_left_out(leaving, setup, instruction) || is_fused(leaving, setup, instruction))
        lose(leaving, at);
      else
        keep(leaving);
      break;
    case DO_LAUNCH_GRAPH: /* not beside graphs (setup.c) */
      keep(leaving);
      break;
    case DO_RECORD:
      end_runs(leaving);
      leaving->unrecorded_here[instruction->event] = false;
      break;
    case DO_WAIT:
    case DO_SYNC_EVENT:
    case DO_QUERY:
      end_runs(leaving);
      if (leaving->unrecorded_here[instruction->event])
        lose(leaving, at);
      break;
    case DO_ALLOCATE: /* not beside what is left out (setup.c) */
    case DO_SLEEP:
    case DO_POST:
    case DO_AWAIT:
    case DO_SYNC_DEVICE:
    case DO_STEP:
    case DO_PROFILE:
      end_runs(leaving);
      keep(leaving);
      break;
    case DO_SYNC_STREAM:
      end_runs(leaving);
      break;
    case DO_SPEND:
    case DO_CALL:
    case DO_SKIP:
      break;
  }
}

/* Frames of Python that have lost something and have nothing left but frames. */
static void take_out_frames(struct leaving *leaving) {
  const struct instruction *instructions = leaving->program->instructions;
  leaving->depth = 0;
  for (size_t i = 0; i < leaving->program->count; i++) {
    if (instructions[i].kind == DO_ENTER) {
      enter(leaving, i);
      leaving->open[leaving->depth - 1].loses = leaving->gone[i];
    }
    bool stays = !leaving->gone[i] && !is_python(&instructions[i]);
    if (leaving->depth == 0)
      continue;
    struct reading *around = &leaving->open[leaving->depth - 1];
    around->keeps |= stays;
    around->loses |= leaving->gone[i];
    if (instructions[i].kind != DO_LEAVE)
      continue;
    struct reading closed = *around;
    if (closed.loses && !closed.keeps)
      take_out(leaving, closed.begin, i);
    if (--leaving->depth > 0) {
      leaving->open[leaving->depth - 1].loses |= closed.loses;
      leaving->open[leaving->depth - 1].keeps |= closed.keeps;
    }
  }
}

/* ---- what stands in its stead ---- */

static bool is_call(const struct instruction *instruction) {
  switch ((enum instruction_kind)instruction->kind) {
    case DO_LAUNCH:
    case DO_LAUNCH_GRAPH:
    case DO_RECORD:
    case DO_WAIT:
    case DO_SYNC_EVENT:
    case DO_SYNC_STREAM:
    case DO_SYNC_DEVICE:
    case DO_QUERY:
    case DO_CALL:
      return true;
    case DO_ENTER:
    case DO_LEAVE:
    case DO_SPEND:
    case DO_ALLOCATE: /* not beside what is left out (setup.c) */
    case DO_SLEEP:
    case DO_POST:
    case DO_AWAIT:
    case DO_STEP:
    case DO_PROFILE:
    case DO_SKIP:
      break;
  }
  return false;
}

/* The ops that a run of skips passes through. */
struct passing {
  int depth;
  const char *name; /* of the outermost, or of the last */
};

static void pass_frame(struct passing *passing, const struct instruction *instruction) {
  if (is_python(instruction))
    return;
  if (instruction->kind == DO_LEAVE)
    passing->depth--;
  else if (instruction->kind == DO_ENTER && passing->depth++ == 0 && instruction->frame == FRAME_OP)
    passing->name = instruction->name;
}

static void add_to_skip(struct instruction *skip, const struct instruction *instruction, const struct work *work) {
  struct skipped *skipped = &skip->of.skipped;
  skipped->instructions += !is_python(instruction);
  skipped->frames += instruction->kind == DO_ENTER;
  skipped->calls += is_call(instruction);
  if (work && work->kind == WORK_COLLECTIVE)
    skipped->communicator = work->message->communicator;
}

/* A skip ends with a collective: it names one. */
static void close_up(const struct leaving *leaving) {
  struct program *program = leaving->program;
  struct passing passing = {0};
  struct instruction *skip = NULL;
  size_t count = 0;
  for (size_t i = 0; i < program->count; i++) {
    struct instruction instruction = program->instructions[i];
    if (!leaving->gone[i]) {
      program->instructions[count++] = instruction;
      passing = (struct passing){0};
      skip = NULL;
      continue;
    }
    if (!skip) {
      skip = &program->instructions[count++];
      *skip = (struct instruction){.kind = DO_SKIP, .of.skipped = {.communicator = -1}};
    }
    pass_frame(&passing, &instruction);
    skip->name = passing.name;
    add_to_skip(skip, &instruction, instruction.kind == DO_LAUNCH ? &program->works[instruction.of.work] : NULL);
    if (skip->of.skipped.communicator >= 0)
      skip = NULL;
  }
  program->count = count;
}

void gpt_leave_out(const struct gpt *gpt, int rank, struct program *program) {
  struct leaving *leaving = gpt->leaving;
  if (!leaving)
    return;
  if (leaving->gone_room < program->room) {
    leaving->gone_room = program->room;
    leaving->gone = memory_grown(leaving->gone, leaving->gone_room, sizeof *leaving->gone);
  }
  for (size_t i = 0; i < program->count; i++)
    leaving->gone[i] = false;
  leaving->program = program;
  leaving->unrecorded_here = leaving->unrecorded[rank];
  leaving->depth = 0;
  end_runs(leaving);
  for (size_t i = 0; i < program->count; i++)
    read(leaving, gpt->setup, i);
  take_out_frames(leaving);
  close_up(leaving);
}
