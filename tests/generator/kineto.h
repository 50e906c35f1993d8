/* Writes one rank's rows as Kineto does: the same keys in the same order, pretty-printed the same way. */
#ifndef GENERATOR_KINETO_H
#define GENERATOR_KINETO_H

#include "machine.h"
#include <stdio.h>

void kineto_write(const struct rank *rank, FILE *out);

#endif
