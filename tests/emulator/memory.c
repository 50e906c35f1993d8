/* Nothing is tidied up before the end: main.c does that, in a process that has what it needs. */
#include "memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *given(void *items) {
  if (items == NULL) {
    fputs("emulated-cluster: out of memory: fewer ranks, layers, micro-batches or steps need less\n", stderr);
    exit(2);
  }
  return items;
}

void *memory_new(size_t count, size_t size) { return given(calloc(count > 0 ? count : 1, size)); }

void *memory_grown(void *items, size_t count, size_t size) {
  return given(count <= SIZE_MAX / size ? realloc(items, count * size) : NULL);
}
