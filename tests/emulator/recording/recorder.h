/* What a profiler keeps of the recorded ranks while the machine runs, and the traces and the truth that are written of
 * it afterwards.
 *
 * kineto.c writes a rank's rows as Kineto does, with that host's and that device's clocks; truth.c writes truth.json.
 */
#ifndef EMULATOR_RECORDER_H
#define EMULATOR_RECORDER_H

#include "machine.h"

struct recorder;

struct recorder *recorder_new(const struct setup *setup, const struct communicator *communicators,
                              int communicator_count);
void recorder_free(struct recorder *recorder);

/* The witness of the run with the profiler, and of the one without (which keeps only steps). */
struct witness recorder_witness(struct recorder *recorder, bool profiled);

/* Write rankN.json.gz of every recorded rank, and truth.json, into setup->folder. False after a message on stderr. */
bool recorder_write(const struct recorder *recorder);

/* The job in one line, for a person. */
void recorder_tell(const struct recorder *recorder, FILE *file);

#endif
