/* Fuzzer: any bytes as nights of a history, parted by bytes 0: a report, what its gate found, the next night's report
 * and so on. What is no report is refused with a reason. All of them become a page, which is UTF-8 and whole, whatever
 * they hold.
 */
#include "history/history.h"
#include "fuzz.h"

enum { MOST_NIGHTS = 40 };

static void read_gate(struct lumos_nights *history, const char *bytes, struct history_night *night) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct fuzz_file file = fuzz_file(bytes, strlen(bytes));
  if (!history_night_read_gate(file.path, history->arena, night, &error)) {
    fuzz_expect_reason(&error);
  }
  (void)close(file.descriptor);
}

static void read_night(struct lumos_nights *history, const char *bytes, struct history_night *night) {
  struct lumos_error error = {LUMOS_DONE, ""};
  history_night_clear(night);
  if (!history_night_read(bytes, history->arena, night, &error)) {
    fuzz_expect_reason(&error);
    history_night_clear(night);
    night->state = HISTORY_BROKEN;
    night->problem = lumos_arena_copy(history->arena, error.text, strlen(error.text));
  }
}

/* The name of the first half of the nights is a date, with gaps. */
static const char *name_of(const struct lumos_nights *history, size_t number) {
  char name[32];
  (void)snprintf(name, sizeof name, number < MOST_NIGHTS / 2 ? "2026-07-%02zu" : "night %zu",
                 number + (number > 4 ? 4 : 1));
  return lumos_arena_copy(history->arena, name, strlen(name));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct lumos_error error = {LUMOS_DONE, ""};
  struct lumos_nights *history = lumos_allocate_zeroed(1, sizeof *history);
  history->arena = lumos_arena_new();
  const char *bytes = lumos_arena_copy(history->arena, size == 0 ? "" : (const char *)data, size), *end = bytes + size;
  for (bool more = true; more && history->nights.count < MOST_NIGHTS;) {
    struct history_night night = {.name = name_of(history, history->nights.count), .folder = "", .has_page = true};
    night.day = history_day_of(night.name);
    read_night(history, bytes, &night);
    bytes += strlen(bytes) + 1;
    if (bytes < end && night.state == HISTORY_GOOD) {
      read_gate(history, bytes, &night);
      bytes += strlen(bytes) + 1;
    }
    lumos_vector_push(&history->nights, night);
    more = bytes < end;
  }
  history_settle(history);
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  const struct lumos_nights_options options = {.title = NULL};
  if (!lumos_nights_page(history, &options, &page, &error)) {
    fuzz_fail("every history has a page", error.text);
  }
  fuzz_expect_utf8(page.bytes, page.length, "the page");
  if (page.length < 8 || memcmp(page.bytes + page.length - 8, "</html>\n", 8) != 0) {
    fuzz_fail("the page is whole", "");
  }
  lumos_text_free(&page);
  lumos_nights_free(history);
  return 0;
}
