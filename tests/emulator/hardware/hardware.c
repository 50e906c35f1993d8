/* One row a GPU, as it sits in its maker's eight-GPU server. Peaks are the data sheets'. The share of the arithmetic
 * peak is what the best of many shapes of matrix products was measured to reach, that of the memory's what a large
 * elementwise kernel reaches. Channels and their speed are those that NCCL settles on within such a server: 24 of 15 on
 * H100 make the 360 bytes a ns that a ring moves there.
 */
#include "hardware.h"
#include <stddef.h>
#include <string.h>

static const struct gpu gpus[] = {
    {.label = "h100",
     .name = "NVIDIA H100 80GB HBM3",
     .sms = 132,
     .major = 9,
     .minor = 0,
     .memory = 85028372480,
     .shared_memory = 233472,
     .flops = 989e3,
     .reached_flops = 0.803,
     .bandwidth = 3350,
     .reached_bandwidth = 0.90,
     .nvlink = 450,
     .nvlink_channels = 24,
     .channel_bandwidth = 15},
    {.label = "h200",
     .name = "NVIDIA H200",
     .sms = 132,
     .major = 9,
     .minor = 0,
     .memory = 150109880320,
     .shared_memory = 233472,
     .flops = 989e3,
     .reached_flops = 0.803,
     .bandwidth = 4800,
     .reached_bandwidth = 0.88,
     .nvlink = 450,
     .nvlink_channels = 24,
     .channel_bandwidth = 15},
    {.label = "a100",
     .name = "NVIDIA A100-SXM4-80GB",
     .sms = 108,
     .major = 8,
     .minor = 0,
     .memory = 85097971712,
     .shared_memory = 167936,
     .flops = 312e3,
     .reached_flops = 0.869,
     .bandwidth = 2040,
     .reached_bandwidth = 0.87,
     .nvlink = 300,
     .nvlink_channels = 24,
     .channel_bandwidth = 10},
    {.label = "b200",
     .name = "NVIDIA B200",
     .sms = 148,
     .major = 10,
     .minor = 0,
     .memory = 191503007744,
     .shared_memory = 233472,
     .flops = 2250e3,
     .reached_flops = 0.776,
     .bandwidth = 8000,
     .reached_bandwidth = 0.86,
     .nvlink = 900,
     .nvlink_channels = 32,
     .channel_bandwidth = 22.5},
};
enum { GPUS = sizeof gpus / sizeof *gpus };

const struct gpu *gpu_find(const char *label) {
  for (int i = 0; i < GPUS; i++) {
    if (strcmp(gpus[i].label, label) == 0) {
      return &gpus[i];
    }
  }
  return NULL;
}
