/* What the parts of a comparison are called. */
#ifndef LUMOS_COMPARE_WORDS_H
#define LUMOS_COMPARE_WORDS_H

#include <stdint.h>

#define COMPARE_WAITING "waiting for other ranks"

/* Of a kind of work on a GPU (enum lumos_task_kind), in the plural; 0: idle. */
const char *compare_kind_words(uint8_t kind);
/* Of a phase: "forward pass"; 0: "". */
const char *compare_phase_words(uint8_t phase);

#endif
