/* Where reading goes on behind damage. */
#ifndef LUMOS_TRACE_RECOVER_H
#define LUMOS_TRACE_RECOVER_H

#include "trace/window.h"

enum trace_landing {
  TRACE_NOWHERE,     /* the text ends before anything that can be read */
  TRACE_AT_EVENT,    /* a whole event */
  TRACE_AT_LIST_END, /* the bracket behind the list of events */
  TRACE_AT_MEMBER,   /* a member of the envelope: the bracket before it is lost */
};

struct trace_search {
  bool in_object; /* the list of events is a member of an object */
  bool cut;       /* the text ends within an event, so brackets at its end are that event's */
};

/* From *cursor on; the cursor is moved to what was found. O(bytes): a place that looks like an event is read, at most
 * LUMOS_JSON_DEPTH times over. */
enum trace_landing lumos_trace_find_event(struct trace_window *window, const char **cursor,
                                          const struct trace_search *search);

/* In the metadata: to the next member that we know, or to the end of the text. `events`: traceEvents is still to come. */
void lumos_trace_find_member(struct trace_window *window, const char **cursor, bool events);

/* Does what follows the bracket at `place` say that it does not end the list of events? */
bool lumos_trace_is_stray_bracket(const struct trace_window *window, const char *place, bool in_object);

/* Does something that begins at `start` and fills a window of TRACE_WINDOW_BYTES hold a whole event? Then its own end is lost, and
 * to wait for it would take the rest of the text. */
bool lumos_trace_swallows_events(const struct trace_window *window, const char *start);

#endif
