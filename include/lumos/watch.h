/* How a caller learns how far long work is. The library reports; it never shows anything itself. */
#ifndef LUMOS_WATCH_H
#define LUMOS_WATCH_H

#include <stddef.h>
#include <stdint.h>

enum lumos_watch_unit { LUMOS_WATCH_BYTES, LUMOS_WATCH_TASKS, LUMOS_WATCH_CONFIGURATIONS, LUMOS_WATCH_NOTHING };

/* `look` is called when a piece of work begins and now and then while it goes on: what it is (of reading: the base name
 * of the file, else "graph", "simulation", "sweep" or "report"; valid during the call), how much of it is done, and of how much
 * (0: unknown). The work may begin anew: two runs of the simulator are two pieces. Calls come from the caller's
 * thread. */
struct lumos_watcher {
  void (*look)(void *context, const char *work, enum lumos_watch_unit unit, uint64_t done, uint64_t total);
  void *context; /* look NULL: nobody watches */
};

static inline void lumos_watch(const struct lumos_watcher *watcher, const char *work, enum lumos_watch_unit unit,
                               uint64_t done, uint64_t total) {
  if (watcher->look != NULL) {
    watcher->look(watcher->context, work, unit, done, total);
  }
}

#endif
