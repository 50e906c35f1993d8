/* Templates: recorded blocks that do the same at the same place of the program, as patterns for blocks that are built.
 *
 * Blocks are of one template when they are of one thread, phase, part and layer, stand at a place of the same kind
 * among micro-batches (the first, the last, one between), and put the same on streams in the same order. What varies
 * between them is how long things take. A built block is a copy of one of them, and which one is drawn: so what varies
 * together in the recording, along a block, from block to block of a pass, and on all ranks that take part in it,
 * varies together in what is built, and mean and spread are those that were recorded.
 */
#ifndef LUMOS_REBUILD_TEMPLATES_H
#define LUMOS_REBUILD_TEMPLATES_H

#include "rebuild/blocks.h"

struct rebuild_turn {
  uint32_t first; /* of its circle, in rebuild_templates.circle */
  uint32_t count; /* 0: what is drawn after it never leads back to it */
  uint32_t place; /* from `first` */
};

struct rebuild_templates {
  const struct rebuild_blocks *blocks;
  uint32_t count;
  uint32_t *of;               /* by block: its template */
  uint32_t *first;            /* by template, and one more */
  uint32_t *members;          /* blocks by template, of one in the order of time */
  uint32_t *next;             /* by block: the one of its template that is drawn after it */
  uint32_t *circle;           /* blocks that come again when one is drawn after the other, circle by circle */
  struct rebuild_turn *turns; /* by block: where in its circle it stands */
  uint8_t *standing;          /* by block: where its micro-batch stands among those of its step */
  int64_t *delays;            /* by task: rebuild_outside; NULL: nothing outside of the recording holds it */
  uint32_t *instead;          /* by block: the one that is built in its place (rebuild_learn); NULL: each itself */
  uint32_t learned,
      unlike; /* with that: blocks that are learned from, and those like none of them, which stay as recorded */
};

void rebuild_templates_make(struct rebuild_templates *templates, const struct rebuild_blocks *blocks);
void rebuild_templates_free(struct rebuild_templates *templates);

/* Do all steps but the first do the same? O(blocks x steps). */
bool rebuild_steps_alike(const struct rebuild_templates *templates);

/* A block of the template that `like` is of: `turns` steps further on, after the last from the first again, of steps
 * that differ among those that do the same, and of another micro-batch where that refers to the same blocks around it;
 * so what is built of one step is drawn from one step. Rather none that begins its thread. O(1) for what comes
 * again. */
uint32_t rebuild_draw(const struct rebuild_templates *templates, uint32_t like, uint32_t turns);

/* The block that one which was drawn is built of. O(1). */
static inline uint32_t rebuild_donor(const struct rebuild_templates *templates, uint32_t drawn) {
  return templates->instead == NULL ? drawn : templates->instead[drawn];
}

#endif
