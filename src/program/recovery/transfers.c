/* Sends and receives to the passes they are for: a send to the pass that made what it sends, a receive to the pass that
 * needs it.
 *
 * Where kernels send or receive alone, every stream holds those of one direction and one neighbour, in the order of the
 * passes: the n-th of a round is that of the n-th forward, or backward, pass that has something to send, or to receive,
 * if there are as many and each send comes behind, each receive before its pass. Of two stages with several chunks each
 * a stream holds those of both phases. Where some kernels of a stream do both, those that do one are not all, and are
 * not counted.
 *
 * Otherwise a transfer is taken for a send of the first pass since the transfer before that has something to send, if
 * there is one: the last stage keeps what it made forward, the first what it made backward. One kernel that does both
 * is a send.
 */
#include "program/recovery/recovery.h"

#include <stdlib.h>

enum direction { EITHER, SENDS, RECEIVES };

struct transfer {
  uint32_t lane, element;
  uint8_t direction;
};

struct transfers {
  const struct lumos_recovery *recovery;
  struct lumos_program *program;
  LUMOS_VECTOR(struct transfer) found; /* of a round */
  LUMOS_VECTOR(uint32_t) passes;       /* that may be theirs */
};

static bool is_working(const struct lumos_pass *pass) {
  return pass->phase == LUMOS_FORWARD || pass->phase == LUMOS_BACKWARD;
}

/* Has the pass a neighbour to send to, or to receive from? */
static bool has_neighbour(const struct transfers *transfers, const struct lumos_pass *pass, bool sends) {
  const struct lumos_recovery *recovery = transfers->recovery;
  int32_t stage = transfers->program->stage;
  if ((pass->phase == LUMOS_FORWARD) == sends) {
    return stage != recovery->stages - 1 || pass->chunk != recovery->chunks - 1;
  }
  return stage != 0 || pass->chunk != 0;
}

static uint8_t direction_of(const struct lumos_program *program, const struct lumos_element *element) {
  lumos_string_id op = lumos_detail_of(program->job, lumos_element_task(program, element))->comm.op;
  if (element->says == LUMOS_SAYS_SEND ||
      (op != LUMOS_NO_STRING && op == lumos_interned(program->job->strings, "send", 4))) {
    return SENDS;
  }
  bool receives = op != LUMOS_NO_STRING && op == lumos_interned(program->job->strings, "recv", 4);
  return element->says == LUMOS_SAYS_RECEIVE || receives ? RECEIVES : EITHER;
}

static bool is_open(const struct lumos_program *program, uint32_t element) {
  return program->elements.items[element].pass == LUMOS_NONE &&
         lumos_element_task(program, &program->elements.items[element])->kind == LUMOS_P2P;
}

/* ---- one direction a stream ---- */

static int compare_transfers(const void *left, const void *right) {
  const struct transfer *a = left, *b = right;
  return a->lane != b->lane             ? LUMOS_ORDER(a->lane, b->lane)
         : a->direction != b->direction ? LUMOS_ORDER(a->direction, b->direction)
                                        : LUMOS_ORDER(a->element, b->element);
}

/* The passes of a phase (0: of both), from `first` on and in its round, that have something to send or receive. */
static void list_passes(struct transfers *transfers, size_t first, uint8_t phase, bool sends) {
  const struct lumos_program *program = transfers->program;
  transfers->passes.count = 0;
  for (size_t p = first; p < program->passes.count; p++) {
    const struct lumos_pass *pass = &program->passes.items[p], *start = &program->passes.items[first];
    if (pass->step != start->step || pass->round != start->round) {
      return;
    }
    if (is_working(pass) && (phase == 0 || pass->phase == phase) && has_neighbour(transfers, pass, sends)) {
      lumos_vector_push(&transfers->passes, (uint32_t)p);
    }
  }
}

/* Which phase a transfer serves by the stage of the one peer that the trace names; 0: that does not tell. With two
 * stages it never does. */
static uint8_t phase_by_peer(const struct transfers *transfers, const struct transfer *transfer) {
  const struct lumos_recovery *recovery = transfers->recovery;
  const struct lumos_program *program = transfers->program;
  const struct lumos_comm *comm =
      &lumos_detail_of(recovery->job, lumos_element_task(program, &program->elements.items[transfer->element]))->comm;
  uint32_t peer = comm->peer_count == 1
                      ? lumos_job_rank(recovery->job, recovery->job->peers.items[comm->peer_first].rank)
                      : LUMOS_NONE;
  if (peer == LUMOS_NONE || recovery->stages < 3) {
    return 0;
  }
  int32_t stage = recovery->programs[peer].stage, next = (program->stage + 1) % recovery->stages;
  bool before = (stage + 1) % recovery->stages == program->stage;
  return stage != next && !before                            ? 0
         : (stage == next) == (transfer->direction == SENDS) ? LUMOS_FORWARD
                                                             : LUMOS_BACKWARD;
}

/* How far apart transfers and passes are, in launches; -1: they are not each other's. */
static int64_t distance(const struct transfers *transfers, const struct transfer *group, size_t count) {
  int64_t sum = 0;
  for (size_t i = 0; i < count && transfers->passes.count == count; i++) {
    const struct lumos_pass *pass = &transfers->program->passes.items[transfers->passes.items[i]];
    int64_t apart = group[i].direction == SENDS ? (int64_t)group[i].element - pass->first - pass->count
                                                : (int64_t)pass->first - group[i].element;
    if (apart < 0) {
      return -1;
    }
    sum += apart;
  }
  return transfers->passes.count == count ? sum : -1;
}

/* Which passes the group's are: of the phase that fits; of the nearer one where both do; else of both in turn (0),
 * which two stages alone do that go through several chunks: each is before the other and behind it. -1: of none. */
static int phase_of_group(struct transfers *transfers, size_t first, const struct transfer *group, size_t count) {
  static const uint8_t phases[] = {0, LUMOS_FORWARD, LUMOS_BACKWARD};
  int64_t apart[sizeof phases];
  for (size_t i = 0; i < sizeof phases; i++) {
    list_passes(transfers, first, phases[i], group->direction == SENDS);
    apart[i] = distance(transfers, group, count);
  }
  int64_t forward = apart[1], backward = apart[2];
  if (forward < 0 && backward < 0) {
    return apart[0] < 0 ? -1 : 0;
  }
  uint8_t phase = phase_by_peer(transfers, group);
  bool is_forward = phase == 0 ? backward < 0 || (forward >= 0 && forward < backward) : phase == LUMOS_FORWARD;
  return (is_forward ? forward : backward) < 0 ? -1 : is_forward ? LUMOS_FORWARD : LUMOS_BACKWARD;
}

static void match_group(struct transfers *transfers, size_t first, const struct transfer *group, size_t count) {
  int phase = phase_of_group(transfers, first, group, count);
  if (phase < 0) {
    return;
  }
  list_passes(transfers, first, (uint8_t)phase, group->direction == SENDS);
  for (size_t i = 0; i < count; i++) {
    transfers->program->elements.items[group[i].element].pass = transfers->passes.items[i];
  }
}

/* The transfers in elements [from, to), of the round that begins with pass `first`. */
static void match_round(struct transfers *transfers, size_t first, uint32_t from, uint32_t to) {
  const struct lumos_program *program = transfers->program;
  transfers->found.count = 0;
  for (uint32_t i = from; i < to; i++) {
    if (is_open(program, i)) {
      uint8_t direction = direction_of(program, &program->elements.items[i]);
      uint32_t lane = lumos_element_task(program, &program->elements.items[i])->lane;
      lumos_vector_push(&transfers->found, ((struct transfer){.lane = lane, .element = i, .direction = direction}));
    }
  }
  struct transfer *found = transfers->found.items;
  if (transfers->found.count > 0) {
    qsort(found, transfers->found.count, sizeof *found, compare_transfers);
  }
  uint32_t mixed = LUMOS_NONE; /* a lane some of whose kernels do both */
  for (size_t i = 0, end = 0; i < transfers->found.count; i = end) {
    for (end = i; end < transfers->found.count && found[end].lane == found[i].lane &&
                  found[end].direction == found[i].direction;) {
      end++;
    }
    mixed = found[i].direction == EITHER ? found[i].lane : mixed;
    if (found[i].lane != mixed) {
      match_group(transfers, first, found + i, end - i);
    }
  }
}

/* Where the round of pass `first` ends; what precedes its first working pass in its step belongs to it. */
static size_t end_of_round(const struct lumos_program *program, size_t *first) {
  const struct lumos_pass *passes = program->passes.items;
  while (*first < program->passes.count && !is_working(&passes[*first])) {
    (*first)++;
  }
  size_t end = *first;
  while (end < program->passes.count && passes[end].step == passes[*first].step &&
         passes[end].round == passes[*first].round) {
    end++;
  }
  return end;
}

static void match_rounds(struct transfers *transfers) {
  const struct lumos_program *program = transfers->program;
  uint32_t from = 0, count = (uint32_t)program->elements.count;
  for (size_t first = 0, end = 0; (end = end_of_round(program, &first)) > first; first = end) {
    const struct lumos_pass *last = &program->passes.items[end - 1];
    uint32_t to = last->first + last->count;
    while (to < count && lumos_element_task(program, &program->elements.items[to])->step == last->step &&
           (is_open(program, to) || program->passes.items[end < program->passes.count ? end : end - 1].first > to)) {
      to++;
    }
    match_round(transfers, first, from, to);
    from = to;
  }
}

/* ---- by neighbourhood ---- */

/* Does the element compute for a pass that may need something of others? Weight gradients do not. */
static bool is_needing(const struct lumos_program *program, uint32_t element) {
  uint32_t pass = program->elements.items[element].pass;
  return pass != LUMOS_NONE && program->passes.items[pass].phase != LUMOS_WEIGHT &&
         !lumos_is_communication(lumos_element_task(program, &program->elements.items[element])->kind);
}

/* The pass from `from` on; `ahead` is where the last search ended, so that all of them together go through the elements
 * once. */
static uint32_t next_pass(const struct lumos_program *program, uint32_t from, uint32_t *ahead, int32_t step) {
  *ahead = *ahead < from ? from : *ahead;
  while (*ahead < program->elements.count && !is_needing(program, *ahead)) {
    (*ahead)++;
  }
  if (*ahead == program->elements.count) {
    return LUMOS_NONE;
  }
  uint32_t pass = program->elements.items[*ahead].pass;
  const struct lumos_pass *of = &program->passes.items[pass];
  return of->step == step && is_working(of) ? pass : LUMOS_NONE;
}

static void match_neighbours(struct transfers *transfers) {
  struct lumos_program *program = transfers->program;
  struct lumos_element *elements = program->elements.items;
  uint32_t previous = LUMOS_NONE, sender = LUMOS_NONE; /* the last pass; the first since the last transfer that sends */
  uint32_t ahead = 0;
  for (uint32_t i = 0; i < program->elements.count; i++) {
    int32_t step = lumos_element_task(program, &elements[i])->step;
    if (!is_open(program, i)) {
      if (elements[i].pass != LUMOS_NONE && is_working(&program->passes.items[elements[i].pass])) {
        previous = elements[i].pass;
        bool gone = sender == LUMOS_NONE || program->passes.items[sender].step != step;
        bool sends = has_neighbour(transfers, &program->passes.items[previous], true);
        sender = !gone ? sender : sends ? previous : LUMOS_NONE;
      }
      continue;
    }
    bool receives = direction_of(program, &elements[i]) == RECEIVES;
    uint32_t next = next_pass(program, i, &ahead, step);
    bool known = previous != LUMOS_NONE && program->passes.items[previous].step == step;
    elements[i].pass = (receives || sender == LUMOS_NONE) && next != LUMOS_NONE ? next
                       : sender != LUMOS_NONE                                   ? sender
                       : known                                                  ? previous
                                                                                : LUMOS_NONE;
    sender = receives ? sender : LUMOS_NONE;
  }
}

void lumos_program_transfers(struct lumos_recovery *recovery, struct lumos_program *program) {
  struct transfers transfers = {.recovery = recovery, .program = program};
  match_rounds(&transfers);
  match_neighbours(&transfers);
  lumos_vector_free(&transfers.found);
  lumos_vector_free(&transfers.passes);
}
