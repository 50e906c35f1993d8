/* What the files that read values share. */
#ifndef LUMOS_STREAM_VALUES_H
#define LUMOS_STREAM_VALUES_H

#include "stream/reader.h"

/* The value at the cursor is not what its field holds; returns false. */
bool lumos_fail_value(struct lumos_reader *reader, const struct lumos_field *field, const char *cursor,
                      const char *expected);

/* values.c */
lumos_value_reader lumos_read_string;
lumos_value_reader lumos_read_integer;
lumos_value_reader lumos_read_small;
lumos_value_reader lumos_read_any_task;
lumos_value_reader lumos_read_collective_id;
lumos_value_reader lumos_read_decimal;
lumos_value_reader lumos_read_epoch;
lumos_value_reader lumos_read_format;
lumos_value_reader lumos_read_lane;
lumos_value_reader lumos_read_millionths;
lumos_value_reader lumos_read_name;
lumos_value_reader lumos_read_ordinal;
lumos_value_reader lumos_read_origin;
lumos_value_reader lumos_read_own_reference;
lumos_value_reader lumos_read_rank;
lumos_value_reader lumos_read_stage;
lumos_value_reader lumos_read_window;

/* lists.c */
lumos_value_reader lumos_read_ranks;
lumos_value_reader lumos_read_members;
lumos_value_reader lumos_read_peers;
lumos_value_reader lumos_read_history;
lumos_value_reader lumos_read_counts;

#endif
