/* The ops of a step in the order in which threads begin them. */
#ifndef LUMOS_MEMORY_ORDER_H
#define LUMOS_MEMORY_ORDER_H

#include "memory/lifetimes.h"

/* Fills ops, of the last step of the rank that has a backward pass, outer ops before inner ones. */
void memory_order_ops(struct memory_step *memory);

#endif
