/* Templates from a part of what was recorded: a block that is left out is built like one that is not. How far the
 * recorded configuration then is off shows what templates are worth where nothing was recorded. */
#ifndef LUMOS_REBUILD_LEARN_H
#define LUMOS_REBUILD_LEARN_H

#include "rebuild/templates.h"
#include <lumos/error.h>

/* Learn from blocks of whose threads a selector takes all tasks (lumos_selector_parse). Each other block gets an
 * instance of the same work in templates->instead: preferably of its step and rank, of its layer and micro-batch where
 * these are learned from at all. False: it is no selector, or takes nothing. O(tasks + blocks). */
bool rebuild_learn(struct rebuild_templates *templates, const char *selector,
                   struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
