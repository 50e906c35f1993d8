/* How ranks are spread: for every axis the group of each rank, then the sizes of the axes, which must multiply to the
 * world, then coordinates. What contradicts itself is left out, with a note.
 */
#include <lumos/program.h>

#include "base/text.h"
#include "program/communicator.h"
#include "program/stage.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The axes that multiply to the world; experts lie within the others. */
static const enum program_axis product_axes[] = {AXIS_TENSOR, AXIS_PIPELINE, AXIS_DATA, AXIS_CONTEXT};
enum { PRODUCT_AXES = sizeof product_axes / sizeof *product_axes };

/* Instead of a communicator: the rank has several along this axis. */
static const uint32_t SEVERAL = LUMOS_NONE - 1;

struct spread {
  struct lumos_job *job;
  struct program_communication all;
  struct program_stage_signs *signs; /* by rank */
  uint32_t *communicator[AXES];      /* by rank: its communicator along the axis, SEVERAL, or LUMOS_NONE */
  int32_t world;                     /* 0: not known */
  int32_t sizes[AXES];               /* 0: not known */
  bool seen[AXES];                   /* something goes on along it */
  bool named;                        /* names of groups tell of some axis */
  bool undecided;                    /* there is communication whose purpose is not known */
  struct lumos_text evidence[AXES];
  struct lumos_text contradiction;
};

/* --- Groups --- */

/* Two streams on which a rank sends and receives are of one pipeline. */
static bool of_one_pipeline(const struct program_communicator *one, const struct program_communicator *other) {
  return one->group == LUMOS_NONE && other->group == LUMOS_NONE && one->axis == AXIS_PIPELINE;
}

/* Along this axis the rank's communicator is this one. A second, different one is a contradiction, unless a name says
 * the first and use the second. Gradients may be summed in two groups one after the other, of shards and of replicas:
 * which is which use does not say. */
static void put_rank(struct spread *spread, uint32_t rank, uint32_t communicator, enum program_axis axis) {
  const struct program_communicator *communicators = spread->all.communicators.items;
  uint32_t *slot = &spread->communicator[axis][rank];
  if (*slot == LUMOS_NONE) {
    *slot = communicator;
  } else if (*slot == SEVERAL || (axis == AXIS_DATA && *slot != communicator && !communicators[*slot].named &&
                                  !communicators[communicator].named)) {
    *slot = SEVERAL;
  } else if (*slot != communicator && communicators[*slot].named == communicators[communicator].named &&
             !of_one_pipeline(&communicators[*slot], &communicators[communicator]) &&
             spread->contradiction.length == 0) {
    lumos_text_format(&spread->contradiction, "rank %d has two groups that both seem to be %s-parallel",
                      (int)spread->job->ranks.items[rank].rank,
                      lumos_role_name((enum lumos_role)program_role_of_axis(axis)));
  }
}

static void put_ranks(struct spread *spread, uint32_t index) {
  const struct program_communicator *communicator = &spread->all.communicators.items[index];
  enum program_axis axis = (enum program_axis)communicator->axis;
  for (uint32_t i = 0; i < communicator->rank_count; i++) {
    uint32_t rank = lumos_job_rank(spread->job, spread->all.ranks.items[communicator->rank_first + i]);
    if (rank != LUMOS_NONE) {
      put_rank(spread, rank, index, axis);
    }
  }
  if (communicator->rank_count == 0 && communicator->group != LUMOS_NONE) {
    put_rank(spread, spread->job->groups.items[communicator->group].rank, index, axis);
  }
}

/* Named ones first, for they come first as evidence. */
static void put_communicators(struct spread *spread, bool named) {
  for (uint32_t i = 0; i < spread->all.communicators.count; i++) {
    const struct program_communicator *communicator = &spread->all.communicators.items[i];
    if (communicator->named == named && communicator->axis != AXIS_NONE) {
      put_ranks(spread, i);
    }
  }
  for (size_t i = 0; i < spread->all.channels.count; i++) {
    const struct program_channel *channel = &spread->all.channels.items[i];
    const struct program_communicator *communicator = &spread->all.communicators.items[channel->communicator];
    if (communicator->named == named && communicator->axis != AXIS_NONE) {
      put_rank(spread, channel->rank, channel->communicator, (enum program_axis)communicator->axis);
    }
  }
}

static enum program_axis axis_of_role(uint8_t role) {
  for (int axis = 0; axis < AXES_IN_STREAM; axis++) {
    if (program_role_of_axis((enum program_axis)axis) == role) {
      return (enum program_axis)axis;
    }
  }
  return AXIS_NONE;
}

/* Roles by use, for groups whose names say nothing. Pipelines first: what two of their stages sum is no gradient of
 * theirs all, but that of an embedding that they share. */
static void infer_roles(struct spread *spread) {
  struct program_communication *all = &spread->all;
  for (size_t i = 0; i < all->communicators.count; i++) {
    struct program_communicator *communicator = &all->communicators.items[i];
    if (communicator->role == 0) {
      communicator->role = program_role_of_use(all, communicator);
      communicator->axis = (uint8_t)axis_of_role(communicator->role);
    }
  }
}

/* Is a rank of it a stage of the same pipeline as the next? */
static bool within_one_pipeline(const struct spread *spread, const struct program_communicator *communicator) {
  const int32_t *ranks = spread->all.ranks.items + communicator->rank_first;
  uint32_t count = communicator->rank_count;
  for (uint32_t i = 0; count > 1 && i < count; i++) {
    uint32_t rank = lumos_job_rank(spread->job, ranks[i]);
    uint32_t pipeline = rank == LUMOS_NONE ? LUMOS_NONE : spread->communicator[AXIS_PIPELINE][rank];
    if (pipeline < SEVERAL && program_place_in(&spread->all, pipeline, ranks[(i + 1) % count]) >= 0) {
      return true;
    }
  }
  return false;
}

static void drop_shared_embeddings(struct spread *spread) {
  for (size_t i = 0; i < spread->all.communicators.count; i++) {
    struct program_communicator *communicator = &spread->all.communicators.items[i];
    if (!communicator->named && communicator->role == LUMOS_DATA && within_one_pipeline(spread, communicator)) {
      communicator->role = LUMOS_OTHER_ROLE;
      communicator->axis = AXIS_NONE;
    }
  }
}

static void put_pipelines(struct spread *spread) {
  for (uint32_t i = 0; i < spread->all.communicators.count; i++) {
    if (spread->all.communicators.items[i].axis == AXIS_PIPELINE) {
      put_ranks(spread, i);
    }
  }
}

static void clear(struct spread *spread) {
  for (int axis = 0; axis < AXES; axis++) {
    memset(spread->communicator[axis], 0xFF, (spread->job->ranks.count + 1) * sizeof(uint32_t));
  }
  spread->contradiction.length = 0;
}

static void find_groups(struct spread *spread) {
  infer_roles(spread);
  put_pipelines(spread);
  drop_shared_embeddings(spread);
  clear(spread);
  put_communicators(spread, true);
  put_communicators(spread, false);
  for (size_t i = 0; i < spread->all.communicators.count; i++) {
    const struct program_communicator *communicator = &spread->all.communicators.items[i];
    uint64_t used = 0;
    for (int use = 0; use < USES; use++) {
      for (int place = 0; place < PLACES; place++) {
        used += communicator->counts.of[use][place];
      }
    }
    spread->named = spread->named || (communicator->named && communicator->axis != AXIS_NONE);
    spread->undecided = spread->undecided || (used > 0 && communicator->role == 0);
  }
}

/* --- Sizes --- */

/* What is done along an axis, in words. */
static const char *use_in_words(enum program_axis axis) {
  static const char *const words[AXES] = {
      [AXIS_TENSOR] = "activations are reduced within forward passes",
      [AXIS_PIPELINE] = "activations are sent from stage to stage",
      [AXIS_DATA] = "gradients are reduced in or after backward passes",
      [AXIS_CONTEXT] = "layers send to each other in forward and backward passes",
      [AXIS_EXPERT] = "layers exchange all-to-all in forward and backward passes",
      [AXIS_REPLICATE] = "gradients are reduced in or after backward passes",
      [AXIS_SHARD] = "gradients are reduced in or after backward passes",
  };
  return words[axis];
}

static const char *plural(int64_t count) { return count == 1 ? "" : "s"; }

static void write_evidence(struct spread *spread, const struct program_communicator *communicator,
                           enum program_axis axis) {
  const struct lumos_job *job = spread->job;
  if (spread->evidence[axis].length > 0) {
    return;
  }
  if (communicator != NULL && communicator->named) {
    lumos_text_format(&spread->evidence[axis], "names: %s of %d rank%s",
                      lumos_string(job->strings, job->groups.items[communicator->group].name), (int)communicator->size,
                      plural(communicator->size));
  } else {
    lumos_text_format(&spread->evidence[axis], "communication: %s", use_in_words(axis));
  }
}

/* The size that the groups along an axis have; they must agree. */
static void size_of_groups(struct spread *spread, enum program_axis axis) {
  for (uint32_t rank = 0; rank < spread->job->ranks.count; rank++) {
    uint32_t index = spread->communicator[axis][rank];
    const struct program_communicator *communicator = index < SEVERAL ? &spread->all.communicators.items[index] : NULL;
    if (index == LUMOS_NONE) {
      continue;
    }
    spread->seen[axis] = true;
    write_evidence(spread, communicator, axis);
    if (communicator == NULL || communicator->size == 0) {
      continue;
    }
    if (spread->sizes[axis] != 0 && spread->sizes[axis] != communicator->size && spread->contradiction.length == 0) {
      lumos_text_format(&spread->contradiction, "%s-parallel groups have both %d and %d ranks",
                        lumos_role_name((enum lumos_role)program_role_of_axis(axis)), (int)spread->sizes[axis],
                        (int)communicator->size);
    }
    spread->sizes[axis] = communicator->size;
  }
}

/* Shards and replicas together are the data-parallel axis, where that has no group of its own. */
static void unite_data(struct spread *spread) {
  int64_t replicas = spread->sizes[AXIS_REPLICATE] == 0 ? 1 : spread->sizes[AXIS_REPLICATE];
  int64_t shards = spread->sizes[AXIS_SHARD] == 0 ? 1 : spread->sizes[AXIS_SHARD];
  bool parts = spread->sizes[AXIS_REPLICATE] != 0 || spread->sizes[AXIS_SHARD] != 0;
  if (spread->sizes[AXIS_DATA] != 0 || !parts || replicas * shards > INT32_MAX) {
    return;
  }
  spread->sizes[AXIS_DATA] = (int32_t)(replicas * shards);
  spread->seen[AXIS_DATA] = true;
  spread->evidence[AXIS_DATA].length = 0;
  lumos_text_format(&spread->evidence[AXIS_DATA], "names: %" PRId64 " replicas of %" PRId64 " shards", replicas,
                    shards);
}

/* The stages that transfers name by their number in the group. */
static void size_of_numbered_stages(struct spread *spread) {
  int32_t highest = -1;
  for (uint32_t rank = 0; rank < spread->job->ranks.count; rank++) {
    highest = spread->signs[rank].highest > highest ? spread->signs[rank].highest : highest;
  }
  bool whole = spread->world == (int32_t)spread->job->ranks.count;
  if (spread->sizes[AXIS_PIPELINE] == 0 && highest > 0 && whole) {
    spread->sizes[AXIS_PIPELINE] = highest + 1;
  }
}

static int64_t known_product(const struct spread *spread) {
  int64_t product = 1;
  for (int i = 0; i < PRODUCT_AXES; i++) {
    int32_t size = spread->sizes[product_axes[i]];
    product = size > 0 && product <= INT32_MAX ? product * size : product;
  }
  return product;
}

/* "tp 2 x dp 4" of what is known already. */
static void write_product(const struct spread *spread, struct lumos_text *text) {
  const char *between = "";
  for (int i = 0; i < PRODUCT_AXES; i++) {
    if (spread->sizes[product_axes[i]] > 0) {
      lumos_text_format(text, "%s%s %d", between, program_axis_name(product_axes[i]),
                        (int)spread->sizes[product_axes[i]]);
      between = " x ";
    }
  }
}

/* Give the axis what the others leave of the world. */
static void take_rest(struct spread *spread, enum program_axis axis, int32_t size, const char *others) {
  struct lumos_text *evidence = &spread->evidence[axis];
  if (evidence->length == 0) {
    lumos_text_put(evidence, "communication: none that fits");
  }
  lumos_text_format(evidence, "; the job has %d rank%s%s%s", (int)spread->world, plural(spread->world),
                    *others == '\0' ? "" : " / ", others);
  spread->sizes[axis] = size;
}

/* Of the axes without a size, the one that the rest of the world must belong to; AXIS_NONE: there may be several. */
static enum program_axis open_axis(const struct spread *spread) {
  static const enum program_axis axes[] = {AXIS_TENSOR, AXIS_PIPELINE, AXIS_DATA};
  enum program_axis open = AXIS_NONE;
  int count = 0;
  for (int i = 0; i < 3; i++) {
    if (spread->seen[axes[i]] && spread->sizes[axes[i]] == 0) {
      open = axes[i];
      count++;
    }
  }
  if (count == 0 && spread->named && spread->sizes[AXIS_DATA] == 0) {
    return AXIS_DATA; /* gradients may not have been summed while it was recorded; layers always communicate */
  }
  return count == 1 && (!spread->undecided || open == AXIS_DATA || spread->sizes[AXIS_DATA] > 0) ? open : AXIS_NONE;
}

/* The axes without a size: one takes all that the others leave, the rest are 1. */
static void take_rests(struct spread *spread, enum program_axis open, int32_t rest) {
  struct lumos_text others = LUMOS_TEXT_BUFFER;
  write_product(spread, &others);
  lumos_text_char(&others, '\0');
  for (int i = 0; i < 3; i++) {
    enum program_axis axis = product_axes[i];
    if (spread->sizes[axis] == 0) {
      take_rest(spread, axis, axis == open ? rest : 1, others.bytes);
    }
  }
  lumos_text_free(&others);
}

static void divide_world(struct spread *spread) {
  int64_t product = known_product(spread);
  if (spread->world % product != 0) {
    lumos_text_put(&spread->contradiction, "they give ");
    write_product(spread, &spread->contradiction);
    lumos_text_format(&spread->contradiction, ", which does not divide the %d ranks of the job", (int)spread->world);
    return;
  }
  int32_t rest = (int32_t)(spread->world / product);
  enum program_axis open = rest > 1 ? open_axis(spread) : AXIS_NONE;
  if (rest == 1 || open != AXIS_NONE) {
    take_rests(spread, open, rest);
  }
}

/* tp x pp x dp (x cp) must be the world. */
static void check_product(struct spread *spread) {
  bool known = spread->sizes[AXIS_TENSOR] > 0 && spread->sizes[AXIS_PIPELINE] > 0 && spread->sizes[AXIS_DATA] > 0;
  if (spread->contradiction.length == 0 && known && known_product(spread) != spread->world) {
    lumos_text_put(&spread->contradiction, "they give ");
    write_product(spread, &spread->contradiction);
    lumos_text_format(&spread->contradiction, ", but the job has %d ranks", (int)spread->world);
  }
}

static bool communicates(const struct spread *spread) {
  for (int axis = 0; axis < AXES; axis++) {
    if (spread->seen[axis]) {
      return true;
    }
  }
  return false;
}

static void find_sizes(struct spread *spread) {
  for (int axis = 0; axis < AXES; axis++) {
    size_of_groups(spread, (enum program_axis)axis);
  }
  unite_data(spread);
  size_of_numbered_stages(spread);
  if (spread->contradiction.length == 0 && spread->world > 0 && (spread->world == 1 || communicates(spread))) {
    divide_world(spread);
    check_product(spread);
  }
}

/* --- Coordinates --- */

/* The place of a rank in its communicator along an axis; -1: not known. */
static int32_t place_in(const struct spread *spread, enum program_axis axis, uint32_t rank) {
  uint32_t index = spread->communicator[axis][rank];
  return index < SEVERAL ? program_place_in(&spread->all, index, spread->job->ranks.items[rank].rank) : -1;
}

static bool is_in_row(const struct spread *spread, const struct program_communicator *communicator) {
  const int32_t *ranks = spread->all.ranks.items + communicator->rank_first;
  bool row = communicator->rank_count == 0 || ranks[0] % spread->sizes[AXIS_EXPERT] == 0;
  for (uint32_t i = 1; i < communicator->rank_count; i++) {
    row = row && ranks[i] == ranks[i - 1] + 1;
  }
  return row;
}

/* Do ranks of a stage in a row share experts? Beside shared tensors others may: some group has to show it. */
static bool are_in_rows(const struct spread *spread) {
  int64_t experts = spread->sizes[AXIS_EXPERT], stage = 1;
  bool shown = spread->sizes[AXIS_TENSOR] == 1;
  for (int i = 0; i < PRODUCT_AXES; i++) {
    int32_t size = product_axes[i] == AXIS_PIPELINE ? 1 : spread->sizes[product_axes[i]];
    stage = size > 0 && stage <= INT32_MAX ? stage * size : stage;
  }
  bool rows = experts > 0 && stage % experts == 0;
  for (uint32_t rank = 0; rank < spread->job->ranks.count && rows; rank++) {
    uint32_t index = spread->communicator[AXIS_EXPERT][rank];
    if (index < SEVERAL) {
      rows = is_in_row(spread, &spread->all.communicators.items[index]);
      shown = shown || spread->all.communicators.items[index].rank_count > 0;
    }
  }
  return rows && shown;
}

/* Ranks are numbered tensor first, then context, data, pipeline, as Megatron-LM does, and those of a stage in a row
 * share experts: a place by number alone. -1: an axis between is not known. */
static int32_t place_by_number(const struct spread *spread, enum program_axis axis, int32_t number) {
  int32_t tensor = spread->sizes[AXIS_TENSOR];
  int32_t data = spread->sizes[AXIS_DATA];
  int32_t context = spread->sizes[AXIS_CONTEXT] > 0 ? spread->sizes[AXIS_CONTEXT] : 1;
  bool known = tensor > 0 && data > 0 && spread->sizes[AXIS_PIPELINE] > 0;
  if (!known || known_product(spread) != spread->world) {
    return -1;
  }
  return axis == AXIS_TENSOR     ? number % tensor
         : axis == AXIS_CONTEXT  ? number / tensor % context
         : axis == AXIS_DATA     ? number / tensor / context % data
         : axis == AXIS_PIPELINE ? number / tensor / context / data
         : axis == AXIS_EXPERT   ? number % spread->sizes[AXIS_EXPERT]
                                 : -1;
}

static int32_t data_place(const struct spread *spread, uint32_t rank) {
  int32_t replica = place_in(spread, AXIS_REPLICATE, rank);
  int32_t shard = place_in(spread, AXIS_SHARD, rank);
  int32_t shards = spread->sizes[AXIS_SHARD] == 0 ? 1 : spread->sizes[AXIS_SHARD];
  if (replica < 0 && shard < 0) {
    return place_in(spread, AXIS_DATA, rank);
  }
  bool whole = (replica >= 0 || spread->sizes[AXIS_REPLICATE] == 0) && (shard >= 0 || spread->sizes[AXIS_SHARD] == 0);
  return whole ? (replica < 0 ? 0 : replica) * shards + (shard < 0 ? 0 : shard) : -1;
}

/* Where the group along an axis is not known: by number, if that agrees with all groups that are. */
static bool numbers_agree(const struct spread *spread) {
  for (uint32_t rank = 0; rank < spread->job->ranks.count; rank++) {
    int32_t number = spread->job->ranks.items[rank].rank;
    for (int i = 0; i < PRODUCT_AXES; i++) {
      enum program_axis axis = product_axes[i];
      int32_t place = axis == AXIS_DATA ? data_place(spread, rank) : place_in(spread, axis, rank);
      int32_t expected = place_by_number(spread, axis, number);
      if (expected < 0 || (place >= 0 && place != expected)) {
        return false;
      }
    }
  }
  return true;
}

static void set_place(struct spread *spread, uint32_t rank, enum program_axis axis, int32_t place) {
  struct lumos_rank *of = &spread->job->ranks.items[rank];
  if (place >= 0 && (spread->sizes[axis] == 0 || place < spread->sizes[axis])) {
    *program_axis_slot(&of->parallel, axis) = place;
    of->has_parallel = true;
  }
}

static void place_along(struct spread *spread, enum program_axis axis, bool by_number) {
  for (uint32_t rank = 0; rank < spread->job->ranks.count; rank++) {
    int32_t place = axis == AXIS_DATA ? data_place(spread, rank) : place_in(spread, axis, rank);
    place = spread->sizes[axis] == 1 ? 0 : place;
    place = place < 0 && by_number ? place_by_number(spread, axis, spread->job->ranks.items[rank].rank) : place;
    set_place(spread, rank, axis, place);
  }
}

/* --- Stages --- */

/* A rank's place in its pipeline, by what is known best; -1: not known. */
static int32_t stage_place(const struct spread *spread, uint32_t rank, bool by_number) {
  int32_t place = place_in(spread, AXIS_PIPELINE, rank);
  place = place < 0 ? spread->signs[rank].own : place;
  return place < 0 && by_number ? place_by_number(spread, AXIS_PIPELINE, spread->job->ranks.items[rank].rank) : place;
}

enum direction { DIRECTION_UNKNOWN, DIRECTION_ALONG, DIRECTION_AGAINST, DIRECTION_NEITHER, DIRECTIONS };

/* Do activations go along the places in the pipeline or against them, as this rank shows? */
static enum direction direction_of(const struct spread *spread, uint32_t rank, int32_t place) {
  const struct program_stage_signs *signs = &spread->signs[rank];
  int32_t last = spread->sizes[AXIS_PIPELINE] - 1;
  if (signs->first > signs->behind) { /* it is the first stage */
    return place == 0 ? DIRECTION_ALONG : place == last ? DIRECTION_AGAINST : DIRECTION_NEITHER;
  }
  uint32_t pipeline = spread->communicator[AXIS_PIPELINE][rank];
  int32_t from = pipeline < SEVERAL ? program_place_in(&spread->all, pipeline, signs->from) : -1;
  from = from < 0 ? signs->own_from : from;
  return signs->behind <= signs->first || from < 0 ? DIRECTION_UNKNOWN
         : from == place - 1                       ? DIRECTION_ALONG
         : from == place + 1                       ? DIRECTION_AGAINST
                                                   : DIRECTION_NEITHER;
}

/* Nearly all ranks must agree; where none shows a direction, the order of numbers is that of stages. */
static enum direction direction_of_all(const struct spread *spread, bool by_number) {
  uint64_t counts[DIRECTIONS] = {0};
  for (uint32_t rank = 0; rank < spread->job->ranks.count; rank++) {
    int32_t place = stage_place(spread, rank, by_number);
    counts[place < 0 ? DIRECTION_UNKNOWN : direction_of(spread, rank, place)]++;
  }
  uint64_t judged = counts[DIRECTION_ALONG] + counts[DIRECTION_AGAINST] + counts[DIRECTION_NEITHER];
  return counts[DIRECTION_ALONG] * 10 >= judged * 9     ? DIRECTION_ALONG
         : counts[DIRECTION_AGAINST] * 10 >= judged * 9 ? DIRECTION_AGAINST
                                                        : DIRECTION_NEITHER;
}

static void place_stages(struct spread *spread, bool by_number) {
  int32_t last = spread->sizes[AXIS_PIPELINE] - 1;
  enum direction direction = last > 0 ? direction_of_all(spread, by_number) : DIRECTION_ALONG;
  for (uint32_t rank = 0; last >= 0 && rank < spread->job->ranks.count; rank++) {
    int32_t place = last == 0 ? 0 : stage_place(spread, rank, by_number);
    if (direction != DIRECTION_NEITHER) {
      set_place(spread, rank, AXIS_PIPELINE, place < 0 || direction == DIRECTION_ALONG ? place : last - place);
    }
  }
}

/* --- All of it --- */

static void begin(struct spread *spread, struct lumos_job *job) {
  *spread = (struct spread){.job = job, .contradiction = LUMOS_TEXT_BUFFER};
  for (int axis = 0; axis < AXES; axis++) {
    spread->communicator[axis] = lumos_reallocate(NULL, job->ranks.count + 1, sizeof(uint32_t));
    spread->evidence[axis] = LUMOS_TEXT_BUFFER;
  }
  clear(spread);
  int32_t world = job->ranks.count == 0 ? LUMOS_ABSENT_INT : job->ranks.items[0].world;
  spread->world = world == LUMOS_ABSENT_INT ? 0 : world;
  program_communication_gather(&spread->all, job);
}

static void finish(struct spread *spread) {
  for (int axis = 0; axis < AXES; axis++) {
    free(spread->communicator[axis]);
    lumos_text_free(&spread->evidence[axis]);
  }
  lumos_text_free(&spread->contradiction);
  program_communication_free(&spread->all);
  free(spread->signs);
}

static void forget(struct lumos_job *job) {
  for (size_t i = 0; i < job->ranks.count; i++) {
    job->ranks.items[i].has_parallel = false;
    job->ranks.items[i].parallel = lumos_rank_empty.parallel;
  }
  for (size_t i = 0; i < job->groups.count; i++) {
    job->groups.items[i].role = 0;
  }
}

static void write_roles(const struct spread *spread) {
  for (size_t i = 0; i < spread->all.communicators.count; i++) {
    const struct program_communicator *communicator = &spread->all.communicators.items[i];
    if (communicator->group != LUMOS_NONE) {
      spread->job->groups.items[communicator->group].role = communicator->role;
    }
  }
}

static void find_signs(struct spread *spread) {
  bool *pipelines = lumos_allocate_zeroed(spread->all.communicators.count + 1, sizeof *pipelines);
  for (size_t i = 0; i < spread->all.communicators.count; i++) {
    pipelines[i] = spread->all.communicators.items[i].role == LUMOS_PIPELINE;
  }
  spread->signs = program_stage_signs(&spread->all, pipelines);
  free(pipelines);
}

static void write_sizes(const struct spread *spread) {
  struct lumos_job *job = spread->job;
  for (int axis = 0; axis < AXES_IN_STREAM; axis++) {
    if (spread->sizes[axis] == 0) {
      continue;
    }
    if (job->models.count == 0) {
      lumos_vector_push(&job->models, lumos_model_description_empty);
    }
    struct lumos_model_description *model = &job->models.items[0];
    *program_axis_slot(&model->sizes, (enum program_axis)axis) = spread->sizes[axis];
    *program_axis_evidence(&model->evidence, (enum program_axis)axis) =
        lumos_intern(job->strings, spread->evidence[axis].bytes, spread->evidence[axis].length);
  }
}

static void write_contradiction(struct spread *spread) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_put(&text, "the parallel layout of the ranks is unknown, because process groups contradict each other: ");
  lumos_text_add(&text, spread->contradiction.bytes, spread->contradiction.length);
  lumos_text_char(&text, '\0');
  lumos_job_note(spread->job, "graph.parallel", LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes, NULL);
  lumos_text_free(&text);
}

bool lumos_program_parallel(struct lumos_job *job, struct lumos_error *error) {
  struct spread spread;
  (void)error;
  forget(job);
  begin(&spread, job);
  find_groups(&spread);
  find_signs(&spread);
  find_sizes(&spread);
  write_roles(&spread);
  if (spread.contradiction.length > 0) {
    write_contradiction(&spread);
  } else {
    bool by_number = numbers_agree(&spread);
    write_sizes(&spread);
    place_along(&spread, AXIS_TENSOR, by_number);
    place_along(&spread, AXIS_DATA, by_number);
    place_along(&spread, AXIS_CONTEXT, by_number);
    place_along(&spread, AXIS_EXPERT, by_number && are_in_rows(&spread));
    place_stages(&spread, by_number);
  }
  finish(&spread);
  return true;
}
