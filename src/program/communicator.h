/* Who communicates in which groups, and what they use them for. */
#ifndef LUMOS_PROGRAM_COMMUNICATOR_H
#define LUMOS_PROGRAM_COMMUNICATOR_H

#include "program/axis.h"
#include "program/place.h"

enum program_use {
  USE_ALL_REDUCE,
  USE_REDUCE_SCATTER,
  USE_ALL_GATHER,
  USE_ALL_TO_ALL,
  USE_POINT_TO_POINT,
  USE_REST, /* broadcasts and the like */
  USES
};

struct program_counts {
  uint64_t of[USES][PLACES];
  uint64_t steps, gemms;   /* steps, and matrix products in forward passes, of every rank that takes part */
  int64_t largest[PLACES]; /* payload of a sum, in bytes; LUMOS_ABSENT: not known */
};

/* What one rank does in one group; where the group is not known, what it does on one stream, for libraries give each
 * communicator a stream of its own. */
struct program_channel {
  uint32_t rank, lane, group; /* indices; lane LUMOS_NONE where the group is known, and the other way round */
  uint32_t communicator;
  struct program_counts counts;
};

struct program_communicator {
  uint32_t group; /* LUMOS_NONE: no record tells of it */
  uint8_t role;   /* 0: not known */
  uint8_t axis;
  bool named;                      /* its name says the role */
  int32_t size;                    /* 0: not known */
  uint32_t rank_first, rank_count; /* numbers of its ranks, ascending, in `ranks`; count 0: not all are known */
  struct program_counts counts;
};

struct program_communication {
  const struct lumos_job *job;
  LUMOS_VECTOR(struct program_channel) channels; /* by rank */
  LUMOS_VECTOR(struct program_communicator) communicators;
  LUMOS_VECTOR(int32_t) ranks;
  uint32_t *channel_of_lane; /* LUMOS_NONE: none */
  uint32_t *channel_first;   /* by rank, and one more: its range of channels */
  bool has_attention;        /* anywhere */
  bool has_backward;
};

/* Gather the communication of all ranks at stage graph. O(tasks). */
void program_communication_gather(struct program_communication *all, const struct lumos_job *job);
void program_communication_free(struct program_communication *all);

/* The place of a rank (number) among the ranks of a communicator (index); -1: it is none of them, or they are not
 * known. O(log ranks). */
int32_t program_place_in(const struct program_communication *all, uint32_t index, int32_t number);

/* use.c: the role of a communicator by what is done in it; 0: not known. */
uint8_t program_role_of_use(const struct program_communication *all, const struct program_communicator *communicator);

#endif
