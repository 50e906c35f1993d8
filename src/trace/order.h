/* Sorting rows by their numbers: a stable merge sort that keeps the runs that are there, for rows come almost in order.
 */
#ifndef LUMOS_TRACE_ORDER_H
#define LUMOS_TRACE_ORDER_H

#include "trace/raw.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Must `a` stand before `b`? A strict weak order. */
typedef bool (*trace_before)(const void *rows, uint32_t a, uint32_t b);

/* Sort `items`. O(count log runs); needs room for as many again. */
void lumos_trace_sort(uint32_t *items, size_t count, trace_before before, const void *rows);

/* Fill trace->host_order: the rows of every lane, as they nest: by start, then the longer, then the outer class; equals
 * as recorded. */
void lumos_trace_order_host(struct trace *trace);
/* Put host rows where host_order says: those of a lane stand from its first place on, and host_order has no rows any
 * more. */
void lumos_trace_settle_host(struct trace *trace);
/* The same of device rows, by start, then end, then correlation; equals as recorded. */
void lumos_trace_settle_device(struct trace *trace);
/* Who walks over many settled rows gives so many of them back at once (lumos_release); fewer serve again as they
 * are. */
enum { TRACE_GIVEN_BACK_AT_ONCE = 32 * 1024 };
void lumos_trace_free_order(struct trace_order *order);

#endif
