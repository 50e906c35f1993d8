/* Memory: checked allocation, and an arena of chunks that double up to 1 MiB. */
#include <lumos/error.h>
#include <lumos/memory.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINE = 64, PAGE = 4096, LARGE = 2 * 1024 * 1024 };

/* Nothing is flushed or freed: what is written appears whole or not at all (output.h). */
void lumos_out_of_memory(size_t bytes) {
  char text[160];
  int length = snprintf(text, sizeof text,
                        "lumos: out of memory: the system refused %zu bytes more; give fewer ranks or steps, or use a "
                        "machine with more memory\n",
                        bytes);
  (void)!write(STDERR_FILENO, text, (size_t)length);
  _exit(LUMOS_UNUSABLE);
}

/* Arrays of a large page and more are better off in large pages: fewer faults on the way. Whole pages are named, the
 * first one with what malloc keeps before the memory, or its mapping would be two and grow by copying. A wish: nothing
 * depends on it. */
static void want_large_pages(void *memory, size_t bytes) {
  if (bytes >= LARGE) {
    uintptr_t start = (uintptr_t)memory & ~(uintptr_t)(PAGE - 1);
    uintptr_t end = ((uintptr_t)memory + bytes + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    (void)madvise((void *)start, end - start, MADV_HUGEPAGE);
  }
}

void *lumos_allocate(size_t size) {
  void *memory = malloc(size == 0 ? 1 : size);
  if (memory == NULL) {
    lumos_out_of_memory(size);
  }
  want_large_pages(memory, size);
  return memory;
}

void *lumos_allocate_zeroed(size_t count, size_t size) {
  bool empty = count == 0 || size == 0;
  void *memory = empty ? calloc(1, 1) : calloc(count, size);
  if (memory == NULL) {
    size_t bytes = 0;
    lumos_out_of_memory(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
  }
  return memory;
}

void *lumos_allocate_lines(size_t count, size_t size) {
  size_t bytes = 0;
  bool fits = !__builtin_mul_overflow(count, size, &bytes) && bytes <= SIZE_MAX - LINE;
  void *memory = fits ? aligned_alloc(LINE, bytes == 0 ? LINE : (bytes + LINE - 1) / LINE * LINE) : NULL;
  if (memory == NULL) {
    lumos_out_of_memory(fits ? bytes : SIZE_MAX);
  }
  want_large_pages(memory, bytes);
  return memory;
}

void *lumos_reallocate(void *memory, size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    lumos_out_of_memory(SIZE_MAX);
  }
  void *moved = realloc(memory, bytes == 0 ? 1 : bytes);
  if (moved == NULL) {
    lumos_out_of_memory(bytes);
  }
  want_large_pages(moved, bytes);
  return moved;
}

void *lumos_copied(const void *items, size_t count, size_t size) {
  void *copy = lumos_allocate(count * size);
  if (count > 0) {
    memcpy(copy, items, count * size);
  }
  return copy;
}

char *lumos_copied_text(const char *text) { return lumos_copied(text, strlen(text) + 1, 1); }

void lumos_release(void *from, void *to) {
  uintptr_t start = ((uintptr_t)from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
  uintptr_t end = (uintptr_t)to & ~(uintptr_t)(PAGE - 1);
  if (start < end) {
    (void)madvise((void *)start, end - start, MADV_DONTNEED);
  }
}

void *lumos_vector_grown(void *items, size_t needed, size_t *capacity, size_t item_size) {
  size_t larger = *capacity + *capacity / 2;
  size_t least = item_size < 256 ? 16 : 4;
  if (larger < least) {
    larger = least;
  }
  if (larger < needed) {
    larger = needed;
  }
  items = lumos_reallocate(items, larger, item_size);
  *capacity = larger;
  return items;
}

void lumos_vector_drop(void *items) { free(items); }

enum { ALIGNMENT = 16, FIRST_CHUNK = 16 * 1024, LARGEST_CHUNK = 1024 * 1024 };

struct chunk {
  struct chunk *previous;
  size_t size;
};

/* `place` and `room` describe what is left of the newest ordinary chunk. */
struct lumos_arena {
  struct chunk *chunks;
  char *place;
  size_t room;
  size_t next_chunk;
  size_t held;
};

static size_t chunk_header(void) { return (sizeof(struct chunk) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* A new chunk with `size` usable bytes, linked into the arena. */
static char *add_chunk(struct lumos_arena *arena, size_t size) {
  if (size > SIZE_MAX - chunk_header()) {
    lumos_out_of_memory(SIZE_MAX);
  }
  struct chunk *chunk = lumos_allocate(chunk_header() + size);
  chunk->previous = arena->chunks;
  chunk->size = size;
  arena->chunks = chunk;
  arena->held += chunk_header() + size;
  return (char *)chunk + chunk_header();
}

struct lumos_arena *lumos_arena_new(void) {
  struct lumos_arena *arena = lumos_allocate_zeroed(1, sizeof *arena);
  arena->next_chunk = FIRST_CHUNK;
  arena->held = sizeof *arena;
  return arena;
}

void lumos_arena_free(struct lumos_arena *arena) {
  if (arena == NULL) {
    return;
  }
  struct chunk *chunk = arena->chunks;
  while (chunk != NULL) {
    struct chunk *previous = chunk->previous;
    free(chunk);
    chunk = previous;
  }
  free(arena);
}

void *lumos_arena_take(struct lumos_arena *arena, size_t size) {
  if (size > SIZE_MAX - ALIGNMENT) {
    lumos_out_of_memory(SIZE_MAX);
  }
  size_t rounded = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  rounded = rounded == 0 ? ALIGNMENT : rounded;
  if (rounded > arena->room) {
    /* What is large gets a chunk of its own, so that the rest of the current one is not lost. */
    if (rounded > arena->next_chunk / 4) {
      return add_chunk(arena, rounded);
    }
    arena->place = add_chunk(arena, arena->next_chunk);
    arena->room = arena->next_chunk;
    arena->next_chunk = arena->next_chunk >= LARGEST_CHUNK ? LARGEST_CHUNK : arena->next_chunk * 2;
  }
  void *taken = arena->place;
  arena->place += rounded;
  arena->room -= rounded;
  return taken;
}

char *lumos_arena_copy(struct lumos_arena *arena, const char *text, size_t length) {
  if (length == SIZE_MAX) {
    lumos_out_of_memory(SIZE_MAX);
  }
  char *copy = lumos_arena_take(arena, length + 1);
  if (length > 0) {
    memcpy(copy, text, length);
  }
  copy[length] = '\0';
  return copy;
}

size_t lumos_arena_held(const struct lumos_arena *arena) { return arena->held; }
