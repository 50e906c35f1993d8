/* A history in words: what is shown, not escaped. */
#ifndef LUMOS_HISTORY_WORDS_H
#define LUMOS_HISTORY_WORDS_H

#include "history/history.h"

const char *history_series_words(enum history_series series); /* "Step time" */
bool history_lower_is_worse(enum history_series series);
/* "CPU-bound"; of LUMOS_CAUSES "". */
const char *history_cause_words(enum lumos_cause cause);
/* A time or a share, or a dash. */
void history_put_value(struct lumos_text *out, enum history_series series, double value);
/* In ns, or millionths; LUMOS_ABSENT. */
int64_t history_whole(enum history_series series, double value);

/* "Step time rose from 42.1 ms to 47.6 ms on 2026-07-11", and whether that is for the worse. */
void history_put_change(struct lumos_text *out, const struct history_job *job, enum history_series series,
                        const struct history_change *change);
bool history_change_is_worse(enum history_series series, const struct history_change *change);
/* "The difference is 5.50 ms (13.1 %) ± 400 µs (95 % interval). Its first night is between 2026-07-10 and 2026-07-12
 * (95 %). ..." */
void history_put_doubt(struct lumos_text *out, const struct history_job *job, enum history_series series,
                       const struct history_change *change);

/* What happened in a night: "regression: step time +12.9 %", "broken: ...", "failed: ...", "neutral", or nothing. */
void history_put_result(struct lumos_text *out, const struct history_night *night);
/* The page's first sentence, and what else there is to say of all jobs. */
void history_put_verdict(struct lumos_text *out, const struct lumos_nights *history);
void history_put_counts(struct lumos_text *out, const struct lumos_nights *history);

#endif
