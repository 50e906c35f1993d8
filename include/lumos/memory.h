/* Memory: an arena with a clear owner for what lives as long as a job, vectors for what grows.
 *
 * When the system refuses memory these functions write "lumos: out of memory" with the bytes that were asked for to
 * standard error, and end the process with status LUMOS_UNUSABLE (error.h): the one place where the library does that,
 * because no caller can do anything sensible. Files stay whole (base/output.h). Sizes that come from input are checked
 * by the reader before they get here.
 */
#ifndef LUMOS_MEMORY_H
#define LUMOS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* For whoever has memory from elsewhere, such as from another library. */
void lumos_out_of_memory(size_t bytes) __attribute__((noreturn));

/* malloc, realloc and zeroed calloc that never return NULL. lumos_allocate(0) gives a unique pointer. */
void *lumos_allocate(size_t size);
void *lumos_allocate_zeroed(size_t count, size_t size);
/* The same of things that are whole cache lines (64 bytes), each of which then lies in as few as it can. */
void *lumos_allocate_lines(size_t count, size_t size);
void *lumos_reallocate(void *memory, size_t count, size_t size);
/* A copy of an array in memory of its own; `items` may be NULL where there are none. */
void *lumos_copied(const void *items, size_t count, size_t size);
/* A copy of a text, to be freed. */
char *lumos_copied_text(const char *text);

/* Give the system back the pages that lie wholly in [from, to), a piece of allocated memory whose bytes nobody will
 * read again. */
void lumos_release(void *from, void *to);

/* A bump arena: many small things of one life, freed at once. */
struct lumos_arena;
struct lumos_arena *lumos_arena_new(void);
void lumos_arena_free(struct lumos_arena *arena); /* NULL is allowed */
/* `size` bytes aligned to 16, not zeroed; valid until the arena is freed. */
void *lumos_arena_take(struct lumos_arena *arena, size_t size);
/* A NUL-terminated copy of `length` bytes. */
char *lumos_arena_copy(struct lumos_arena *arena, const char *text, size_t length);
/* Bytes that the arena holds from the system. */
size_t lumos_arena_held(const struct lumos_arena *arena);

/* A typed growing array. Declare with  LUMOS_VECTOR(struct lumos_task) tasks; zero-initialize, free with
 *                                      lumos_vector_free. */
#define LUMOS_VECTOR(type) \
  struct {                 \
    type *items;           \
    size_t count;          \
    size_t capacity;       \
  }

/* The same as a named struct type: LUMOS_VECTOR_TYPE(lumos_steps_list, struct lumos_step); */
#define LUMOS_VECTOR_TYPE(name, type) \
  struct name {                       \
    type *items;                      \
    size_t count;                     \
    size_t capacity;                  \
  }

/* Room for `extra` more items (amortised doubling). */
#define lumos_vector_reserve(vector, extra)                                                              \
  ((vector)->capacity - (vector)->count >= (size_t)(extra)                                               \
       ? (void)0                                                                                         \
       : (void)((vector)->items = lumos_vector_grown((vector)->items, (vector)->count + (size_t)(extra), \
                                                     &(vector)->capacity, sizeof *(vector)->items)))

/* Append a copy of an item: lumos_vector_push(&tasks, task). */
#define lumos_vector_push(vector, item) \
  (lumos_vector_reserve((vector), 1), (void)((vector)->items[(vector)->count++] = (item)))

/* Sort the items with qsort, or with qsort_r and what it hands to `compare`. LUMOS_ORDER is what `compare` says of two
 * numbers of one type: negative, 0 or positive. It reads each twice. */
#define lumos_vector_sort(vector, compare) \
  ((vector)->count < 2 ? (void)0 : qsort((vector)->items, (vector)->count, sizeof *(vector)->items, (compare)))
#define lumos_vector_sort_by(vector, compare, context) \
  ((vector)->count < 2 ? (void)0                       \
                       : qsort_r((vector)->items, (vector)->count, sizeof *(vector)->items, (compare), (context)))
#define LUMOS_ORDER(a, b) (((a) > (b)) - ((a) < (b)))

/* Give back the room behind the items. */
#define lumos_vector_fit(vector)                                                                          \
  ((void)((vector)->items = lumos_reallocate((vector)->items, (vector)->count, sizeof *(vector)->items)), \
   (void)((vector)->capacity = (vector)->count))

/* Free the items and make the vector empty again. */
#define lumos_vector_free(vector) \
  (lumos_vector_drop((vector)->items), (vector)->items = NULL, (vector)->count = (vector)->capacity = 0)

/* Implementation of the macros above. */
void *lumos_vector_grown(void *items, size_t needed, size_t *capacity, size_t item_size);
void lumos_vector_drop(void *items);

#endif
