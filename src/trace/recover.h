/* Where reading goes on behind damage. */
#ifndef LUMOS_TRACE_RECOVER_H
#define LUMOS_TRACE_RECOVER_H

#include "trace/window.h"

enum trace_landing {
  TRACE_NOWHERE = 0,       /* the text ends before anything that can be read */
  TRACE_AT_EVENT = 1U,     /* a whole event */
  TRACE_AT_LIST_END = 2U,  /* the bracket behind the list of events */
  TRACE_AT_MEMBER = 4U,    /* a member of the envelope that we know: a bracket before it is lost */
  TRACE_AT_LIST = 8U,      /* the member traceEvents */
  TRACE_AT_OTHER = 16U,    /* a bracket with an object behind it: another list of events */
  TRACE_AT_TEXT_END = 32U, /* the brace that ends the envelope, nothing behind it */
};

struct trace_search {
  unsigned goals; /* landings that are wanted */
  bool in_object; /* the list of events is a member of an object */
  bool cut;       /* the text ends within an event, so brackets at its end are that event's */
};

/* From *cursor on; the cursor is moved to what was found. O(bytes): a place that looks like an event is read, at most
 * LUMOS_JSON_DEPTH times over. */
enum trace_landing lumos_trace_find(struct trace_window *window, const char **cursor,
                                    const struct trace_search *search);

/* Can the list of events end with the bracket at `place`, as far as what follows says? What comes later may still belie
 * it. */
bool lumos_trace_may_end_list(const struct trace_window *window, const char *place, bool in_object);

/* Does the metadata text in [begin, end) hold the list of events? Then the end of what holds it is lost. */
bool lumos_trace_holds_list(const char *begin, const char *end);
/* The first member of the envelope that we know in it, or its end. */
const char *lumos_trace_known_member(const char *begin, const char *end);

/* Does something that begins at `start` and fills a window of TRACE_WINDOW_BYTES hold a whole event? Then its own end
 * is lost, and to wait for it would take the rest of the text. */
bool lumos_trace_swallows_events(const struct trace_window *window, const char *start);

#endif
