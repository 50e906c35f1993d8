/* Sends with their receives: the n-th of a group from one rank to another with the n-th that this one receives from it.
 *
 * Kernels are taken apart into what they send to, and receive from, each peer, for one kernel can carry several
 * transfers. Ranks do not begin to record at the same transfer, so the receives are slid along the sends until both
 * ends of every transfer meet: the receiver never ends before the sender has started, and, unless the message is so
 * small that it leaves at once, the sender not before the receiver has. Where several shifts do, that one is taken in
 * which the first of two kernels ends soonest after both had started: with several transfers in a kernel, the other can
 * end much later.
 *
 * Two kernels that share transfers, one way or both, are one match. A kernel with several transfers ends with the last
 * of them; when one of them is matched to nothing, it cannot be told what its end waits for.
 */
#include "graph/graph.h"

#include "graph/typical.h"
#include <stdlib.h>

enum {
  /* Slide, in transfers; transfers looked at to choose a shift, evenly over what overlaps; and those that must meet,
   * and be as large at both ends, at least. Chosen as in ends.c. */
  FARTHEST = 1000,
  COMPARED = 256,
  MOST_IN_HUNDRED = 90,
  /* Shifts are as good as each other when shares that meet differ by less. Chosen: half of what may miss. */
  AS_GOOD_IN_HUNDRED = 5,
  /* Bytes: buffers hold no more that nobody has received. Chosen: what NCCL buffers depends on its protocol and
   * settings. */
  MOST_EAGER = 1 << 20,
};

struct part {
  lumos_string_id group;
  int32_t source, destination; /* rank numbers */
  bool sends;
  int64_t start, end, bytes;
  uint32_t task;
};
LUMOS_VECTOR_TYPE(parts, struct part);

/* Two kernels that share a transfer. */
struct link {
  uint32_t low, high; /* tasks */
  int64_t bytes;      /* both ways */
  int32_t source;     /* rank number, where there is one transfer */
  bool left_at_once;  /* its sender did not wait */
};
LUMOS_VECTOR_TYPE(links, struct link);

/* A kernel's parts, and how many of them are matched. */
struct share {
  uint32_t parts, matched;
};

struct pairing {
  const struct lumos_job *job;
  struct parts parts;
  struct links links;
  struct share *shares; /* by task */
};

struct fit {
  int64_t shift, time; /* median of what there is for a transfer */
  int64_t met, compared;
};

/* The transfers of one channel, in order; what is received, or sent. */
struct side {
  const struct part *parts;
  int64_t count;
};

static int compare_parts(const void *left, const void *right) {
  const struct part *a = left, *b = right;
  return a->group != b->group               ? LUMOS_ORDER(a->group, b->group)
         : a->source != b->source           ? LUMOS_ORDER(a->source, b->source)
         : a->destination != b->destination ? LUMOS_ORDER(a->destination, b->destination)
         : a->sends != b->sends             ? LUMOS_ORDER(a->sends, b->sends)
         : a->end != b->end                 ? LUMOS_ORDER(a->end, b->end)
                                            : LUMOS_ORDER(a->task, b->task);
}

static void add_part(struct pairing *pairing, uint32_t task, int32_t peer, bool sends, int64_t bytes) {
  const struct lumos_job *job = pairing->job;
  int32_t rank = job->ranks.items[lumos_rank_of(job, &job->tasks.items[task])].rank;
  struct part part = {.group = lumos_graph_comm(job, task)->group,
                      .source = sends ? rank : peer,
                      .destination = sends ? peer : rank,
                      .sends = sends,
                      .start = lumos_graph_job_start(job, task),
                      .end = lumos_graph_job_end(job, task),
                      .bytes = bytes,
                      .task = task};
  lumos_vector_push(&pairing->parts, part);
  pairing->shares[task].parts++;
}

static void gather_parts(struct pairing *pairing, const struct lumos_matches *matches) {
  const struct lumos_job *job = pairing->job;
  for (uint32_t task = 0; task < job->tasks.count; task++) {
    const struct lumos_task *record = &job->tasks.items[task];
    const struct lumos_comm *comm = lumos_graph_comm(job, task);
    if (!lumos_is_communication(record->kind) || !lumos_on_stream(job, record) || matches->taken[task] ||
        !lumos_graph_is_transfer(lumos_graph_operation(job, comm))) {
      continue;
    }
    for (uint32_t i = comm->peer_first; i < comm->peer_first + comm->peer_count; i++) {
      const struct lumos_peer *peer = &job->peers.items[i];
      if (peer->send > 0) {
        add_part(pairing, task, peer->rank, true, peer->send);
      }
      if (peer->recv > 0) {
        add_part(pairing, task, peer->rank, false, peer->recv);
      }
    }
  }
  lumos_vector_sort(&pairing->parts, compare_parts);
}

/* How well their clocks agree: instants that lie no further apart may be in either order. */
static int64_t doubt_between(const struct lumos_job *job, const struct part *one, const struct part *other) {
  return lumos_graph_clock_doubt(job, one->task) + lumos_graph_clock_doubt(job, other->task) + LUMOS_TIMING_NOISE;
}

static bool left_at_once(const struct lumos_job *job, const struct part *send, const struct part *receive) {
  return send->end + doubt_between(job, send, receive) < receive->start;
}

static bool may_leave_at_once(const struct part *send) { return send->bytes <= MOST_EAGER; }

/* The most time that a transfer can have taken; of one that left at once, how long until it was received. */
static int64_t time_for(const struct part *send, const struct part *receive, bool early) {
  int64_t last_start = send->start > receive->start ? send->start : receive->start;
  int64_t first_end = send->end < receive->end ? send->end : receive->end;
  return early ? receive->end - send->end : llabs(first_end - last_start);
}

/* How sends and receives fit when receive i + shift is that of send i. False: they do not. */
static bool fit_at(const struct lumos_job *job, const struct side *sends, const struct side *receives, int64_t shift,
                   int64_t *values, struct fit *fit) {
  int64_t first = shift < 0 ? -shift : 0;
  int64_t end = sends->count < receives->count - shift ? sends->count : receives->count - shift;
  int64_t stride = (end - first + COMPARED - 1) / COMPARED;
  int64_t possible = 0;
  *fit = (struct fit){.shift = shift};
  for (int64_t i = first; i < end; i += stride) {
    const struct part *send = &sends->parts[i], *receive = &receives->parts[i + shift];
    bool early = left_at_once(job, send, receive);
    bool caused = receive->end + doubt_between(job, send, receive) >= send->start;
    possible += caused && send->bytes == receive->bytes && (!early || may_leave_at_once(send));
    fit->met += caused && !early;
    values[fit->compared++] = time_for(send, receive, early);
  }
  lumos_sort_times(values, (size_t)fit->compared);
  fit->time = lumos_percentile(values, (size_t)fit->compared, 50);
  return possible * 100 >= fit->compared * MOST_IN_HUNDRED;
}

/* More that meet is better; of those as good as each other, less time is. */
static bool is_better(const struct fit *fit, const struct fit *best) {
  int64_t met = fit->met * 100 / fit->compared, best_met = best->met * 100 / best->compared;
  if (llabs(met - best_met) >= AS_GOOD_IN_HUNDRED) {
    return met > best_met;
  }
  return fit->time < best->time;
}

/* False when they fit nowhere. */
static bool slide(const struct lumos_job *job, const struct side *sends, const struct side *receives, int64_t *shift) {
  int64_t shorter = sends->count < receives->count ? sends->count : receives->count;
  int64_t fewest = (shorter * 2 + 2) / 3;
  int64_t from = fewest - sends->count, to = receives->count - fewest;
  int64_t values[COMPARED];
  struct fit best = {0};
  for (int64_t at = from < -FARTHEST ? -FARTHEST : from; at <= to && at <= FARTHEST; at++) {
    struct fit fit;
    if (fit_at(job, sends, receives, at, values, &fit) && (best.compared == 0 || is_better(&fit, &best))) {
      best = fit;
    }
  }
  *shift = best.shift;
  return best.compared > 0;
}

static void add_link(struct pairing *pairing, const struct part *send, const struct part *receive) {
  struct link link = {.low = send->task < receive->task ? send->task : receive->task,
                      .high = send->task < receive->task ? receive->task : send->task,
                      .bytes = send->bytes,
                      .source = send->source,
                      .left_at_once = left_at_once(pairing->job, send, receive)};
  lumos_vector_push(&pairing->links, link);
  pairing->shares[send->task].matched++;
  pairing->shares[receive->task].matched++;
}

/* All parts of one group between a source and a destination: what is received comes first. */
static void match_channel(struct pairing *pairing, const struct part *parts, size_t count) {
  size_t received = 0;
  while (received < count && !parts[received].sends) {
    received++;
  }
  const struct side receives = {parts, (int64_t)received}, sends = {parts + received, (int64_t)(count - received)};
  int64_t shift = 0;
  if (receives.count == 0 || sends.count == 0 || parts[0].source == parts[0].destination ||
      !slide(pairing->job, &sends, &receives, &shift)) {
    return;
  }
  for (int64_t i = 0; i < sends.count; i++) {
    int64_t place = i + shift;
    if (place >= 0 && place < receives.count && sends.parts[i].bytes == receives.parts[place].bytes) {
      add_link(pairing, &sends.parts[i], &receives.parts[place]);
    }
  }
}

static void match_channels(struct pairing *pairing) {
  const struct part *parts = pairing->parts.items;
  for (size_t first = 0, end; first < pairing->parts.count; first = end) {
    for (end = first + 1; end < pairing->parts.count && parts[end].group == parts[first].group &&
                          parts[end].source == parts[first].source &&
                          parts[end].destination == parts[first].destination;) {
      end++;
    }
    match_channel(pairing, parts + first, end - first);
  }
}

static int compare_links(const void *left, const void *right) {
  const struct link *a = left, *b = right;
  return a->low != b->low     ? LUMOS_ORDER(a->low, b->low)
         : a->high != b->high ? LUMOS_ORDER(a->high, b->high)
                              : LUMOS_ORDER(a->source, b->source);
}

/* Each two kernels once. */
static void merge_links(struct pairing *pairing) {
  struct link *links = pairing->links.items;
  size_t count = pairing->links.count, kept = 0;
  if (count > 0) {
    qsort(links, count, sizeof *links, compare_links);
  }
  for (size_t i = 0; i < count; i++) {
    if (kept > 0 && links[kept - 1].low == links[i].low && links[kept - 1].high == links[i].high) {
      links[kept - 1].bytes = lumos_graph_bounded(links[kept - 1].bytes + links[i].bytes);
    } else {
      links[kept++] = links[i];
    }
  }
  pairing->links.count = kept;
}

static bool is_whole(const struct pairing *pairing, uint32_t task) {
  return pairing->shares[task].matched == pairing->shares[task].parts;
}

static bool is_single(const struct pairing *pairing, const struct link *link) {
  return pairing->shares[link->low].parts == 1 && pairing->shares[link->high].parts == 1;
}

static int compare_sizes(const void *left, const void *right) {
  const struct link *a = left, *b = right;
  return LUMOS_ORDER(a->bytes, b->bytes);
}

/* The size up to which messages leave their sender at once: the largest of which at least a tenth did. 0: none. */
static int64_t eager_limit(const struct pairing *pairing) {
  struct links singles = {0};
  for (size_t i = 0; i < pairing->links.count; i++) {
    if (is_single(pairing, &pairing->links.items[i])) {
      lumos_vector_push(&singles, pairing->links.items[i]);
    }
  }
  lumos_vector_sort(&singles, compare_sizes);
  int64_t limit = 0;
  for (size_t first = 0, end; first < singles.count; first = end) {
    size_t early = 0;
    for (end = first; end < singles.count && singles.items[end].bytes == singles.items[first].bytes; end++) {
      early += singles.items[end].left_at_once;
    }
    limit = early * 10 >= end - first ? singles.items[first].bytes : limit;
  }
  lumos_vector_free(&singles);
  return limit;
}

static void add_matches(const struct pairing *pairing, struct lumos_matches *matches) {
  int64_t limit = eager_limit(pairing);
  for (size_t i = 0; i < pairing->links.count; i++) {
    const struct link *link = &pairing->links.items[i];
    const uint32_t members[] = {link->low, link->high};
    bool eager = link->bytes <= limit;
    uint8_t rule = !is_single(pairing, link) ? LUMOS_BATCHED : eager ? LUMOS_ROOTED : LUMOS_PAIR;
    struct lumos_joined *match = lumos_graph_add_match(matches, members, 2, rule, LUMOS_BY_PAIR_ORDER);
    match->bytes = link->bytes;
    match->complete = is_whole(pairing, link->low) && is_whole(pairing, link->high);
    match->root = rule == LUMOS_ROOTED ? link->source : LUMOS_ABSENT_INT;
  }
}

static int compare_matches(const void *left, const void *right) {
  const struct lumos_joined *a = left, *b = right;
  return a->lowest != b->lowest ? LUMOS_ORDER(a->lowest, b->lowest) : LUMOS_ORDER(a->member_first, b->member_first);
}

void lumos_graph_match_pairs(const struct lumos_job *job, struct lumos_matches *matches) {
  struct pairing pairing = {.job = job};
  pairing.shares = lumos_allocate_zeroed(job->tasks.count, sizeof *pairing.shares);
  gather_parts(&pairing, matches);
  match_channels(&pairing);
  merge_links(&pairing);
  add_matches(&pairing, matches);
  lumos_vector_sort(&matches->items, compare_matches);
  free(pairing.shares);
  lumos_vector_free(&pairing.parts);
  lumos_vector_free(&pairing.links);
}
