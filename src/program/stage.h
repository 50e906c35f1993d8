/* In which order pipeline stages follow each other, from the first transfers of each step. */
#ifndef LUMOS_PROGRAM_STAGE_H
#define LUMOS_PROGRAM_STAGE_H

#include "program/communicator.h"

/* What a rank's transfers say of its stage. Before anybody has gone backward activations travel forward, so a rank that
 * receives before it sends is behind the one it receives from, and one that sends first is the first stage. */
struct program_stage_signs {
  uint32_t first, behind; /* steps in which it was so */
  int32_t from;           /* rank number of the stage before; -1: not known, or not always the same */
  int32_t own, own_from;  /* numbers within the pipeline's group, its own and that of the stage before; -1: not known */
  int32_t highest;        /* such number that it has communicated with, itself included; -1: not known */
  bool takes_part;
};

/* Of every rank; the caller frees. `pipelines`: by communicator, is it one of a pipeline? O(tasks log tasks). */
struct program_stage_signs *program_stage_signs(const struct program_communication *all, const bool *pipelines);

#endif
