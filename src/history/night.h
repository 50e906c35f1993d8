/* A night: what the history reads of a report in JSON, or of its summary, and of the gate's document beside it. */
#ifndef LUMOS_HISTORY_NIGHT_H
#define LUMOS_HISTORY_NIGHT_H

#include "gate/gate.h"
#include <lumos/diagnosis.h>
#include <lumos/gate.h>
#include <lumos/memory.h>

enum history_series { HISTORY_STEP, HISTORY_COMMUNICATION, HISTORY_MFU, HISTORY_OVERHEAD, HISTORY_SERIES };
enum history_state { HISTORY_GOOD, HISTORY_BROKEN, HISTORY_FAILED };

/* Texts are in the history's arena, UTF-8 or not: they are escaped where they are written. */
struct history_night {
  const char *name;      /* of its files, without their endings */
  const char *folder;    /* in the history, or "" */
  const char *problem;   /* of a night without a report, or that failed again: what went wrong */
  const char *title;     /* of the report, or "" */
  const char *verdict;   /* its sentences */
  const char *regressed; /* what the gate found, in words, or "" */
  enum history_state state;
  enum lumos_cause cause; /* of the largest overhead; LUMOS_CAUSES: unknown */
  enum lumos_confidence confidence;
  int64_t day;                   /* since 1970-01-01: of its name, or else of the recording; LUMOS_ABSENT */
  int64_t forgotten;             /* the last day whose night was removed on purpose; LUMOS_ABSENT: none was */
  int64_t ranks, world;          /* with a trace, and of the job; LUMOS_ABSENT */
  double values[HISTORY_SERIES]; /* ns, or shares; NAN: unknown. Means as the gate's */
  double limits[HISTORY_SERIES]; /* beyond which the gate would have found a regression; NAN: no gate asked */
  bool has_page;                 /* its report is there */
  bool cut;                      /* broken, because a trace is cut or damaged: steps may lack work */
  bool failed_again;             /* there is one, but a later run of the night failed */
  bool has_gate;                 /* and so is what the gate found: */
  enum lumos_gate_verdict gate;
};

/* Names, folder and state stay; all else unknown. */
void history_night_clear(struct history_night *night);
/* A document with a NUL behind it. False: it is no report in JSON, or of another format. */
bool history_night_read(const char *document, struct lumos_arena *arena, struct history_night *night,
                        struct lumos_error *error) LUMOS_MUST_CHECK;
/* What lumos_gate_write wrote as JSON. */
bool history_night_read_gate(const char *path, struct lumos_arena *arena, struct history_night *night,
                             struct lumos_error *error) LUMOS_MUST_CHECK;

/* The day that a text begins with, as 2026-07-01; LUMOS_ABSENT: with none. */
int64_t history_day_of(const char *text);

#endif
