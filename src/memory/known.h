/* What of a step's memory is not known, and why. */
#ifndef LUMOS_MEMORY_KNOWN_H
#define LUMOS_MEMORY_KNOWN_H

#include "memory/walk.h"

/* Behind the walk. */
enum lumos_memory_state memory_state_of(const struct memory_walk *walk);

#endif
