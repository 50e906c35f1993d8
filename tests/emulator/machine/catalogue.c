/* The distinct pieces of work. A job launches millions of kernels of some hundred kinds: a command names its work by a
 * number, and keeps only the label, which differs from launch to launch.
 */
#include "machine_state.h"
#include <stdlib.h>
#include <string.h>

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static uint64_t message_hash(const struct message *message) {
  uint64_t hash = chance_place((uint64_t)message->communicator, message->collective);
  hash = chance_place(hash, (uint64_t)message->bytes);
  hash = chance_place(hash, (uint64_t)message->elements_in);
  for (int i = 0; i < message->parts; i++)
    hash = chance_place(hash, 2 * (uint64_t)message->part[i].peer + message->part[i].send);
  return hash;
}

static bool same_message(const void *owner, uint32_t index, const void *key) {
  const struct message *a = ((const struct catalogue *)owner)->messages[index], *b = key;
  if (a->communicator != b->communicator || a->collective != b->collective || a->float32 != b->float32 ||
      a->integers != b->integers || a->elements_in != b->elements_in || a->elements_out != b->elements_out ||
      a->inner[0] != b->inner[0] || a->inner[1] != b->inner[1] || a->bytes != b->bytes || a->root != b->root ||
      a->split != b->split || a->parts != b->parts)
    return false;
  for (int i = 0; i < a->parts; i++)
    if (a->part[i].peer != b->part[i].peer || a->part[i].send != b->part[i].send ||
        a->part[i].bytes != b->part[i].bytes)
      return false;
  return true;
}

static uint32_t add_message(struct catalogue *catalogue, const struct message *message) {
  uint64_t hash = message_hash(message);
  uint32_t index = lookup_find(&catalogue->message_index, hash, same_message, catalogue, message);
  if (index != NOBODY)
    return index;
  if (catalogue->message_count == catalogue->message_room) {
    catalogue->message_room = catalogue->message_room ? 2 * catalogue->message_room : 64;
    catalogue->messages = memory_grown(catalogue->messages, catalogue->message_room, sizeof(struct message *));
  }
  struct message *copy = memory_new(1, sizeof *copy);
  *copy = *message;
  catalogue->messages[catalogue->message_count] = copy;
  lookup_add(&catalogue->message_index, hash, catalogue->message_count);
  return catalogue->message_count++;
}

/* What is looked for. */
struct work_key {
  const struct work *work;
  uint32_t message;
};

static uint64_t work_hash(const struct work_key *key) {
  const struct work *work = key->work;
  uint64_t hash = chance_place((uint64_t)(uintptr_t)work->name, key->message);
  hash = chance_place(hash, (uint64_t)work->duration);
  hash = chance_place(hash, (uint64_t)work->bytes ^ bits_of(work->flops));
  return chance_place(hash, (uint64_t)work->grid[0] << 8 ^ work->kind);
}

static bool same_work(const void *owner, uint32_t index, const void *sought) {
  const struct catalogue *catalogue = owner;
  const struct work_key *key = sought;
  const struct work *a = &catalogue->works[index], *b = key->work;
  return a->name == b->name && catalogue->message_of[index] == key->message && a->kind == b->kind &&
         a->fills_device == b->fills_device && a->free_sms == b->free_sms && a->registers == b->registers &&
         a->shared_memory == b->shared_memory && a->threads == b->threads && a->grid[0] == b->grid[0] &&
         a->grid[1] == b->grid[1] && a->grid[2] == b->grid[2] && a->duration == b->duration &&
         a->last_wave == b->last_wave && a->bytes == b->bytes && bits_of(a->flops) == bits_of(b->flops);
}

uint32_t catalogue_add(struct catalogue *catalogue, const struct work *work) {
  struct work_key key = {work, work->message ? add_message(catalogue, work->message) : NOBODY};
  uint64_t hash = work_hash(&key);
  uint32_t index = lookup_find(&catalogue->work_index, hash, same_work, catalogue, &key);
  if (index != NOBODY)
    return index;
  if (catalogue->count == catalogue->room) {
    catalogue->room = catalogue->room ? 2 * catalogue->room : 256;
    catalogue->works = memory_grown(catalogue->works, catalogue->room, sizeof *catalogue->works);
    catalogue->message_of = memory_grown(catalogue->message_of, catalogue->room, sizeof *catalogue->message_of);
  }
  struct work *copy = &catalogue->works[catalogue->count];
  *copy = *work;
  copy->label = (struct label){0};
  copy->message = work->message ? catalogue->messages[key.message] : NULL;
  catalogue->message_of[catalogue->count] = key.message;
  lookup_add(&catalogue->work_index, hash, catalogue->count);
  return catalogue->count++;
}

void catalogue_free(struct catalogue *catalogue) {
  for (uint32_t i = 0; i < catalogue->message_count; i++)
    free(catalogue->messages[i]);
  free(catalogue->messages);
  free(catalogue->works);
  free(catalogue->message_of);
  lookup_free(&catalogue->work_index);
  lookup_free(&catalogue->message_index);
}
