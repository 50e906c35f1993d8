/* src/cost/hardware.json, compiled into the library. */
#ifndef LUMOS_COST_HARDWARE_TABLE_H
#define LUMOS_COST_HARDWARE_TABLE_H

extern const char lumos_hardware_table[]; /* NUL-terminated */

#endif
