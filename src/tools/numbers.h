/* Whole numbers in the values of options. */
#ifndef LUMOS_TOOLS_NUMBERS_H
#define LUMOS_TOOLS_NUMBERS_H

#include <lumos/memory.h>
#include <stdbool.h>
#include <stdint.h>

/* A whole number of at most `most`, from *at on, which moves behind it; -1: there is none. */
int32_t tool_number_read(const char **at, int32_t most);

LUMOS_VECTOR_TYPE(tool_numbers, int32_t);
/* "0,2-5": numbers of at most 2^20, onto the end of `numbers`; false where the text is no such list. */
bool tool_numbers_read(const char *text, struct tool_numbers *numbers) __attribute__((warn_unused_result));

#endif
