/* Writes JSON text into a file, compressed or not: numbers and strings printed into one large buffer. */
#ifndef EMULATOR_WRITER_H
#define EMULATOR_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WRITER_BUFFER = 1 << 18 };
struct writer;

/* NULL after a message on stderr. */
struct writer *writer_open(const char *folder, const char *name, bool compressed);
/* False after a message on stderr: not everything was written. */
bool writer_close(struct writer *writer);

void put_bytes(struct writer *writer, const char *bytes, size_t length);
void put_text(struct writer *writer, const char *text);
void put_integer(struct writer *writer, int64_t number);
void put_number(struct writer *writer, const char *key, int64_t number); /* behind a text */
void put_unsigned(struct writer *writer, uint64_t number);
void put_string(struct writer *writer, const char *text); /* quoted */
void put_microseconds(struct writer *writer, int64_t ns); /* with three decimals; what is negative is 0, as in Kineto */
void put_millionths(struct writer *writer, int64_t millionths);
/* numerator / denominator with six decimals, rounded; 0 if one of them is not positive. */
void put_ratio(struct writer *writer, double numerator, double denominator);

/* A literal, without a search for its end. */
#define PUT(writer, literal) put_bytes(writer, "" literal, sizeof(literal) - 1)

#endif
