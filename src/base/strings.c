/* Interning: an open-addressing table of (hash, id) pairs with linear probing; the bytes lie in an arena.
 *
 * The hash mixes eight bytes at a time by a 64x64->128 bit product. Its seed is random, so that no crafted trace can
 * make every name collide; ids follow the order of arrival, so nothing visible depends on the seed.
 */
#include <lumos/strings.h>

#include <lumos/memory.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct entry {
  const char *bytes;
  size_t length;
};

struct slot {
  uint32_t hash;
  uint32_t id; /* 0: free */
};

/* Names come again and again: by their length and both ends most are found without looking at all of them. */
enum { RECENT = 1024 };

struct lumos_strings {
  struct lumos_arena *bytes;
  LUMOS_VECTOR(struct entry) entries; /* entries.items[id]; the first one stands for LUMOS_NO_STRING */
  struct slot *slots;
  size_t mask; /* number of slots (a power of two) - 1 */
  uint64_t seed;
  uint32_t recent[RECENT]; /* ids; LUMOS_NO_STRING: none */
};

enum { FIRST_SLOTS = 1024 };

static uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ typedef unsigned __int128 wide;
  wide product = (wide)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64U);
}

static uint64_t load_eight(const char *bytes) {
  uint64_t word = 0;
  memcpy(&word, bytes, sizeof word);
  return word;
}

static uint32_t load_four(const char *bytes) {
  uint32_t word = 0;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* All of at most eight bytes as a number; loads may overlap, since the length is hashed too. */
static uint64_t load_rest(const char *bytes, size_t length) {
  if (length >= 4) {
    return (uint64_t)load_four(bytes) << 32U | load_four(bytes + length - 4);
  }
  if (length == 0) {
    return 0;
  }
  uint64_t first = (unsigned char)bytes[0];
  uint64_t middle = (unsigned char)bytes[length / 2];
  uint64_t last = (unsigned char)bytes[length - 1];
  return first << 16U | middle << 8U | last;
}

static uint32_t hash_of(uint64_t seed, const char *bytes, size_t length) {
  static const uint64_t odd_constant = 0x9E3779B97F4A7C15U;
  uint64_t state = seed ^ length;
  while (length > 8) {
    state = mix(state ^ load_eight(bytes), odd_constant);
    bytes += 8;
    length -= 8;
  }
  state = mix(state ^ load_rest(bytes, length), seed | 1U);
  return (uint32_t)(state ^ state >> 32U);
}

/* Where among the recent ones a text of at least eight bytes stands, if it does. */
static size_t recent_place(const char *bytes, size_t length) {
  uint64_t ends = load_eight(bytes) + load_eight(bytes + length - 8) * 3 + length;
  return (size_t)((ends * UINT64_C(0x9E3779B97F4A7C15)) >> 54U);
}
_Static_assert(RECENT == 1U << 10U, "as many as ten bits tell apart");

static bool is_text(const struct lumos_strings *strings, uint32_t id, const char *text, size_t length) {
  const struct entry *entry = &strings->entries.items[id];
  return entry->length == length && memcmp(entry->bytes, text, length) == 0;
}

struct lumos_strings *lumos_strings_new(void) {
  struct lumos_strings *strings = lumos_allocate_zeroed(1, sizeof *strings);
  strings->bytes = lumos_arena_new();
  strings->slots = lumos_allocate_zeroed(FIRST_SLOTS, sizeof *strings->slots);
  strings->mask = FIRST_SLOTS - 1;
  if (getentropy(&strings->seed, sizeof strings->seed) != 0) {
    strings->seed = (uint64_t)(uintptr_t)strings->slots;
  }
  lumos_vector_push(&strings->entries, ((struct entry){"", 0}));
  return strings;
}

void lumos_strings_free(struct lumos_strings *strings) {
  if (strings == NULL) {
    return;
  }
  lumos_arena_free(strings->bytes);
  lumos_vector_free(&strings->entries);
  free(strings->slots);
  free(strings);
}

/* The slot that holds the text, or the free slot where it belongs. */
static struct slot *find_slot(const struct lumos_strings *strings, uint32_t hash, const char *text, size_t length) {
  for (size_t place = hash & strings->mask;; place = (place + 1) & strings->mask) {
    struct slot *slot = &strings->slots[place];
    if (slot->id == LUMOS_NO_STRING) {
      return slot;
    }
    if (slot->hash == hash) {
      const struct entry *entry = &strings->entries.items[slot->id];
      if (entry->length == length && (length == 0 || memcmp(entry->bytes, text, length) == 0)) {
        return slot;
      }
    }
  }
}

static void double_slots(struct lumos_strings *strings) {
  size_t old_count = strings->mask + 1;
  struct slot *old = strings->slots;
  size_t mask = old_count * 2 - 1;
  struct slot *slots = lumos_allocate_zeroed(mask + 1, sizeof *slots);
  for (size_t i = 0; i < old_count; i++) {
    if (old[i].id != LUMOS_NO_STRING) {
      size_t place = old[i].hash & mask;
      while (slots[place].id != LUMOS_NO_STRING) {
        place = (place + 1) & mask;
      }
      slots[place] = old[i];
    }
  }
  free(old);
  strings->slots = slots;
  strings->mask = mask;
}

static uint32_t intern(struct lumos_strings *strings, const char *text, size_t length) {
  uint32_t hash = hash_of(strings->seed, text, length);
  struct slot *slot = find_slot(strings, hash, text, length);
  if (slot->id != LUMOS_NO_STRING) {
    return slot->id;
  }
  if (strings->entries.count > UINT32_MAX) {
    (void)fputs("lumos: out of string ids\n", stderr); /* needs 2^32 distinct names: more than any memory holds */
    abort();
  }
  uint32_t id = (uint32_t)strings->entries.count;
  *slot = (struct slot){hash, id};
  lumos_vector_push(&strings->entries, ((struct entry){lumos_arena_copy(strings->bytes, text, length), length}));
  if (strings->entries.count > strings->mask / 2) {
    double_slots(strings);
  }
  return id;
}

uint32_t lumos_intern(struct lumos_strings *strings, const char *text, size_t length) {
  if (length < 8) {
    return intern(strings, text, length);
  }
  uint32_t *recent = &strings->recent[recent_place(text, length)];
  if (!is_text(strings, *recent, text, length)) {
    *recent = intern(strings, text, length);
  }
  return *recent;
}

uint32_t lumos_intern_text(struct lumos_strings *strings, const char *text) {
  return lumos_intern(strings, text, strlen(text));
}

uint32_t lumos_interned(const struct lumos_strings *strings, const char *text, size_t length) {
  return find_slot(strings, hash_of(strings->seed, text, length), text, length)->id;
}

const char *lumos_string(const struct lumos_strings *strings, uint32_t id) {
  return id < strings->entries.count ? strings->entries.items[id].bytes : "";
}

size_t lumos_string_length(const struct lumos_strings *strings, uint32_t id) {
  return id < strings->entries.count ? strings->entries.items[id].length : 0;
}

uint32_t lumos_strings_count(const struct lumos_strings *strings) { return (uint32_t)(strings->entries.count - 1); }

struct lumos_strings *lumos_strings_copied(const struct lumos_strings *strings) {
  struct lumos_strings *copy = lumos_strings_new();
  for (uint32_t id = 1; id <= lumos_strings_count(strings); id++) {
    (void)lumos_intern(copy, lumos_string(strings, id), lumos_string_length(strings, id));
  }
  return copy;
}

struct lumos_strings *lumos_strings_view(const struct lumos_strings *strings) {
  struct lumos_strings *view = lumos_allocate_zeroed(1, sizeof *view);
  *view = (struct lumos_strings){.bytes = lumos_arena_new(), .mask = strings->mask, .seed = strings->seed};
  view->slots = lumos_allocate((strings->mask + 1) * sizeof *view->slots);
  memcpy(view->slots, strings->slots, (strings->mask + 1) * sizeof *view->slots);
  for (size_t i = 0; i < strings->entries.count; i++) {
    lumos_vector_push(&view->entries, strings->entries.items[i]);
  }
  return view;
}

void lumos_strings_replace(struct lumos_strings *view, uint32_t id, const char *text, size_t length) {
  if (id != LUMOS_NO_STRING && id < view->entries.count) {
    const struct entry *before = &view->entries.items[id];
    if (before->length >= 8) {
      view->recent[recent_place(before->bytes, before->length)] = LUMOS_NO_STRING;
    }
    view->entries.items[id] = (struct entry){lumos_arena_copy(view->bytes, text, length), length};
  }
}
