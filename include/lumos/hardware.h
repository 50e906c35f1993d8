/* What GPUs can do at most: dense peaks by number format, and the bandwidth of their memory, by the names that
 * recordings give them.
 *
 * The library brings a table of GPUs; a user's file adds to it and comes first. Such a file is a JSON object as the
 * table is one:
 *
 *   {"devices": [{"name": "H100 SXM", "match": ["NVIDIA H100 80GB HBM3*"], "architecture": "hopper", "sms": 132,
 *   "memory": 80, "memory_bandwidth": 3350, "link": 450, "network": 50, "host_link": 64, "best_product": 0.803,
 *   "peaks": {"bf16": 989, "fp8": 1979}}]}
 *
 * match: patterns of the recorded name, in which * stands for any text; without it, the name itself is the pattern.
 * architecture: volta, turing, ampere, ada, hopper, blackwell or cdna. sms: streaming multiprocessors or compute units.
 * memory: GiB. memory_bandwidth, link (to the other GPUs of its node, all links together), network (its network card)
 * and host_link (to the CPU's memory, by PCIe or NVLink-C2C): GB/s (10^9 bytes), one way. best_product: the share of
 * the bf16 peak that the best matrix product was measured to reach. peaks: TFLOP/s of fp64, fp32, tf32, fp16, bf16,
 * fp8, fp4, int8 without sparsity; what is left out is unknown. source: a text.
 */
#ifndef LUMOS_HARDWARE_H
#define LUMOS_HARDWARE_H

#include <lumos/error.h>

struct lumos_hardware;

/* The library's own table, and before it, where path is not NULL, that of a file. NULL where the file cannot be read or
 * is not such a table. */
struct lumos_hardware *lumos_hardware_read(const char *path, struct lumos_error *error) LUMOS_MUST_CHECK;
void lumos_hardware_free(struct lumos_hardware *hardware); /* NULL is allowed */

#endif
