/* The figures are those of an eight-GPU H100 job with compiled kernels, an eager H100 job, and A100 and V100 jobs where
 * these have finer clocks; spreads are quantiles of what was seen at one place of the program against that place's
 * median, so that structure is not taken for noise. What no trace shows is marked as assumed.
 */
#include "irregularities.h"

/* Quantiles:                             0    0.01   0.05   0.25  0.5  0.75   0.95   0.99   1 */
#define GEMM_LONG                                                   \
  {                                                                 \
    { 0.980, 0.985, 0.989, 0.9955, 1, 1.0045, 1.0125, 1.035, 1.06 } \
  }
#define GEMM_SHORT                                              \
  {                                                             \
    { 0.940, 0.955, 0.969, 0.988, 1, 1.012, 1.033, 1.09, 1.14 } \
  }
#define ATTENTION_LONG                                           \
  {                                                              \
    { 0.940, 0.955, 0.968, 0.990, 1, 1.010, 1.030, 1.052, 1.08 } \
  }
#define ATTENTION_SHORT                                          \
  {                                                              \
    { 0.850, 0.860, 0.875, 0.960, 1, 1.040, 1.110, 1.190, 1.25 } \
  }
#define MEMORY_LONG                                                 \
  {                                                                 \
    { 0.965, 0.973, 0.9815, 0.9925, 1, 1.0075, 1.020, 1.052, 1.22 } \
  }
#define MEMORY_SHORT                                            \
  {                                                             \
    { 0.880, 0.910, 0.937, 0.977, 1, 1.023, 1.065, 1.17, 1.95 } \
  }
#define TRANSFER                                                \
  {                                                             \
    { 0.960, 0.965, 0.975, 0.990, 1, 1.010, 1.030, 1.06, 1.25 } \
  } /* assumed: skew and waiting hide it in traces */

/* Kernels that compete for SMs suffer more regularly than those that compete for memory, of which half hardly
 * suffer. */
#define SHARES_SMS                              \
  {                                             \
    { 0, 0, 0, 0.30, 0.85, 1.5, 2.5, 3.2, 3.8 } \
  }
#define SHARES_MEMORY                     \
  {                                       \
    { 0, 0, 0, 0, 0.4, 1.4, 3.8, 5.5, 8 } \
  }

const struct irregularities irregularities = {
    .call = {[CALL_LAUNCH] = {{3000, 3200, 3500, 4200, 5000, 6200, 9000, 15000, 40000}},
             [CALL_LAUNCH_EXC] = {{4200, 4600, 5100, 5900, 6500, 7300, 9400, 11500, 40000}},
             [CALL_LAUNCH_DRIVER] = {{3600, 3900, 4250, 5200, 6000, 7000, 10500, 17600, 40000}},
             [CALL_LAUNCH_EX] = {{3200, 3800, 4200, 5000, 6000, 7500, 10300, 18600, 40000}},
             [CALL_LAUNCH_NCCL] = {{4500, 5300, 5900, 7500, 9300, 11200, 15700, 19100, 35000}},
             [CALL_MEMCPY] = {{4200, 4600, 5100, 6200, 7000, 8800, 17000, 27400, 60000}},
             [CALL_MEMSET] = {{1900, 2050, 2250, 2900, 3400, 4300, 9500, 11700, 30000}},
             [CALL_EVENT_RECORD] = {{260, 290, 330, 430, 530, 780, 1700, 2200, 9000}},
             [CALL_EVENT_RECORD_FLAGS] = {{430, 460, 520, 680, 930, 1600, 2750, 3200, 15000}},
             [CALL_STREAM_WAIT] = {{380, 420, 470, 630, 800, 1050, 2000, 3600, 9000}},
             [CALL_EVENT_QUERY] = {{230, 250, 290, 370, 460, 900, 2100, 2650, 6000}},
             [CALL_EVENT_SYNC] = {{1200, 1400, 1700, 2100, 2600, 3300, 5500, 8000,
                                   20000}}, /* assumed, as the next two */
             [CALL_STREAM_SYNC] = {{1400, 1600, 1900, 2500, 3000, 3900, 6500, 9500, 25000}},
             [CALL_DEVICE_SYNC] = {{1800, 2000, 2400, 3000, 3800, 5000, 8500, 12000, 30000}},
             [CALL_IS_CAPTURING] = {{230, 236, 242, 255, 320, 530, 1250, 1750, 8400}},
             [CALL_CAPTURE_INFO] = {{270, 300, 335, 450, 660, 970, 1200, 1500, 14000}},
             [CALL_CAPTURE_INFO_3] = {{180, 185, 190, 240, 420, 640, 840, 970, 2000}},
             [CALL_FIND_FUNCTION] = {{94, 111, 137, 190, 315, 480, 610, 670, 710}},
             [CALL_GRAPH_LAUNCH] = {{5200, 5600, 6200, 7400, 8600, 10200, 15000, 22000, 50000}}, /* without its nodes */
             [CALL_MALLOC] = {{60e3, 70e3, 90e3, 150e3, 250e3, 400e3, 700e3, 1.2e6, 3e6}}, /* assumed, as the next */
             [CALL_FREE] = {{40e3, 50e3, 70e3, 120e3, 200e3, 350e3, 600e3, 1e6, 2e6}}},
    .op_cost = {{0.25, 0.3, 0.4, 0.7, 1, 1.9, 5, 9, 12}},
    /* Assumed, but for how often it takes 1 ms or more: gaps of that length are seen in one of 30 steps of a rank of
     * the H100 job, once or twice a step in the A100 and V100 jobs. */
    .data_stall = {{40e3, 50e3, 60e3, 90e3, 150e3, 350e3, 1.2e6, 4e6, 10e6}},
    .sleep = {{0.80, 0.85, 0.90, 0.96, 1, 1.05, 1.15, 1.25, 1.4}}, /* assumed */
    .host_ratio = {{0.60, 0.62, 0.70, 0.91, 1, 1.09, 1.40, 2.3, 8.5}},
    .host_stretch = {{0.80, 0.84, 0.90, 0.97, 1, 1.04, 1.2, 1.6, 1.75}},
    .host_step = {{0.89, 0.90, 0.92, 0.967, 1, 1.034, 1.085, 1.12, 1.15}},
    .pause = {{150e3, 180e3, 200e3, 280e3, 400e3, 650e3, 1.4e6, 2e6, 4e6}}, /* from few cases, and so its interval */
    .hand_over = {{60e3, 70e3, 80e3, 130e3, 177e3, 220e3, 285e3, 326e3, 500e3}},
    .hand_back = {{10e3, 12e3, 18e3, 30e3, 45e3, 70e3, 130e3, 250e3, 500e3}}, /* assumed */
    /* Launches of two to five thousand nodes take 6 to 9 ms, and the first starts up to 3 ms before they return. */
    .graph_node = 2000,
    .graph_start = 0.55,
    .graph_ratio = {{0.90, 0.92, 0.945, 0.98, 1, 1.025, 1.08, 1.16, 1.5}},
    /* Of six like copies five took some us, and one 3.4 ms; the device began 4 to 5 us behind what calls take. */
    .staging = {{1.2e6, 1.4e6, 1.8e6, 2.6e6, 3.4e6, 4.0e6, 5.0e6, 6.0e6, 8e6}},
    .staging_share = 1.0 / 6,
    .pause_interval = 100e6,
    .stretch_length = 512,
    .profiled_frame_begin = 400,
    .profiled_frame_end = 400,
    /* Of calls that a library makes one behind the other the second begins 0.13 to 0.16 us behind the first's end at
     * the earliest, launches included: what else recording takes lies inside, where the lengths above have it. */
    .profiled_call = 150,
    .profiled_python_begin = 60,
    .profiled_python_inside = 50,
    .profiled_python_end = 60,
    .profiled_python_walk = 1300,
    .profiled_ratio = {{0.5, 0.55, 0.65, 0.85, 1, 1.2, 1.6, 2.5, 6}}, /* assumed */
    .recording_lead = {{38e3, 39e3, 42e3, 50e3, 69e3, 86e3, 146e3, 150e3, 152e3}},
    .recording_row = {{130, 200, 270, 500, 720, 820, 870, 1000, 1030}},

    .launch_delay = {{-800, -450, -100, 750, 1300, 1650, 2200, 2700, 4500}},
    .staged = {{3600, 3700, 3850, 4150, 4500, 4850, 5300, 5700, 6200}},
    .task_gap = {{900, 980, 1060, 1310, 1540, 2050, 2620, 3050, 3500}},
    .event_delay = {{500, 600, 900, 2000, 2500, 2800, 11000, 23000, 26000}},
    .graph_edge = {{1000, 1060, 1180, 1500, 1850, 2250, 2700, 2900, 3000}},
    .sm_turn = {{3600, 3700, 3800, 4300, 4800, 5600, 7500, 9000, 12000}}, /* assumed */
    .sync_return = {{3000, 3500, 4500, 6000, 7500, 9500, 14000, 25000, 60000}},

    .kernel_long = {[WORK_GEMM] = GEMM_LONG,
                    [WORK_ATTENTION] = ATTENTION_LONG,
                    [WORK_ELEMENTWISE] = MEMORY_LONG,
                    [WORK_NORM] = MEMORY_LONG,
                    [WORK_REDUCTION] = MEMORY_LONG,
                    [WORK_OPTIMIZER] = MEMORY_LONG,
                    [WORK_EMBEDDING] = MEMORY_LONG,
                    [WORK_COPY_TO_DEVICE] = MEMORY_LONG,
                    [WORK_COPY_TO_HOST] = MEMORY_LONG,
                    [WORK_COPY_ON_DEVICE] = MEMORY_LONG,
                    [WORK_MEMSET] = MEMORY_LONG,
                    [WORK_COLLECTIVE] = TRANSFER,
                    [WORK_P2P] = TRANSFER},
    .kernel_short = {[WORK_GEMM] = GEMM_SHORT,
                     [WORK_ATTENTION] = ATTENTION_SHORT,
                     [WORK_ELEMENTWISE] = MEMORY_SHORT,
                     [WORK_NORM] = MEMORY_SHORT,
                     [WORK_REDUCTION] = MEMORY_SHORT,
                     [WORK_OPTIMIZER] = MEMORY_SHORT,
                     [WORK_EMBEDDING] = MEMORY_SHORT,
                     [WORK_COPY_TO_DEVICE] = MEMORY_SHORT,
                     [WORK_COPY_TO_HOST] = MEMORY_SHORT,
                     [WORK_COPY_ON_DEVICE] = MEMORY_SHORT,
                     [WORK_MEMSET] = MEMORY_SHORT,
                     [WORK_COLLECTIVE] = TRANSFER,
                     [WORK_P2P] = TRANSFER},
    .short_kernel = 10000,
    .chip = {{0.9950, 0.9955, 0.9967, 0.9987, 1, 1.0013, 1.0033, 1.0045, 1.005}},
    .kernel_step = {{0.990, 0.991, 0.9935, 0.9973, 1, 1.0027, 1.0066, 1.0095, 1.011}},
    .contention = {[WORK_GEMM] = SHARES_SMS,
                   [WORK_ATTENTION] = SHARES_SMS,
                   [WORK_ELEMENTWISE] = SHARES_MEMORY,
                   [WORK_NORM] = SHARES_MEMORY,
                   [WORK_REDUCTION] = SHARES_MEMORY,
                   [WORK_OPTIMIZER] = SHARES_MEMORY,
                   [WORK_EMBEDDING] = SHARES_MEMORY},
    .throttle_time = 5e6, /* assumed, as the next two */
    .throttle_from = 0.6,
    .throttle_most = 0.04,

    .skew = {{0.10, 0.123, 0.228, 0.545, 1, 1.835, 4.39, 8.1, 9}},
    .skew_start = 1000,
    .skew_share = 0.035,
    .skew_most = 0.7,
    .eager_bytes = 65536, /* assumed */
};
