/* Memory that is never NULL: where there is none left the program says so and ends with status 2. */
#ifndef EMULATOR_MEMORY_H
#define EMULATOR_MEMORY_H

#include <stddef.h>

void *memory_new(size_t count, size_t size); /* zeroed */
/* `items` with room for `count`; what is new is not set. */
void *memory_grown(void *items, size_t count, size_t size);

#endif
