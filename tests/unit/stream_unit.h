/* Helpers of the stream's tests: streams from and to text, and a stream in which every record type and every field
 * occurs. */
#ifndef LUMOS_TESTS_STREAM_UNIT_H
#define LUMOS_TESTS_STREAM_UNIT_H

#include "base/input.h"
#include "base/text.h"
#include "unit.h"
#include <lumos/stream.h>
#include <sys/mman.h>

/* Read a stream that lies in memory, as from a file called "job.jsonl". */
static inline struct lumos_job *stream_from(const char *bytes, size_t length, bool edited, struct lumos_error *error) {
  char path[64];
  int descriptor = memfd_create("stream", 0);
  assert_true(descriptor >= 0);
  for (size_t done = 0; done < length;) {
    ssize_t written = write(descriptor, bytes + done, length - done);
    assert_true(written > 0);
    done += (size_t)written;
  }
  (void)snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  struct lumos_input *input = lumos_input_open(path, error);
  assert_non_null(input);
  struct lumos_read_options options = {.edited = edited};
  struct lumos_job *job = lumos_stream_read(input, "job.jsonl", &options, error);
  lumos_input_close(input);
  (void)close(descriptor);
  return job;
}

/* The same for a text that must be good. */
static inline struct lumos_job *stream_good(const char *text) {
  struct lumos_error error = {0};
  struct lumos_job *job = stream_from(text, strlen(text), false, &error);
  if (job == NULL) {
    fail_msg("refused: %s", error.text);
    abort();
  }
  return job;
}

/* The job as a stream; the caller frees. */
static inline char *stream_text(const struct lumos_job *job) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_stream_write(job, &text);
  lumos_text_char(&text, '\0');
  return text.bytes;
}

/* The job must be written as `expected`. */
static inline void expect_stream(const struct lumos_job *job, const char *expected) {
  char *text = stream_text(job);
  if (strcmp(text, expected) != 0) {
    size_t same = 0;
    while (text[same] == expected[same]) {
      same++;
    }
    size_t from = same < 60 ? 0 : same - 60;
    fail_msg("streams differ at byte %zu:\nwritten  ...%.160s\nexpected ...%.160s", same, text + from, expected + from);
  }
  free(text);
}

/* A text with the first occurrence of one part replaced; the caller frees. */
static inline char *with_change(const char *text, const char *old, const char *new) {
  struct lumos_text changed = LUMOS_TEXT_BUFFER;
  const char *place = strstr(text, old);
  if (place == NULL) {
    fail_msg("the text has no %s", old);
    abort(); /* not reached, but compilers do not know */
  }
  lumos_text_add(&changed, text, (size_t)(place - text));
  lumos_text_put(&changed, new);
  lumos_text_put(&changed, place + strlen(old));
  lumos_text_char(&changed, '\0');
  return changed.bytes;
}

/* Reading `text` must fail, with a message that holds `expected`. */
static inline void expect_refused(const char *text, bool edited, const char *expected) {
  struct lumos_error error = {0};
  struct lumos_job *job = stream_from(text, strlen(text), edited, &error);
  if (job != NULL) {
    fail_msg("accepted, where \"%s\" was expected", expected);
  }
  assert_int_equal(error.status, LUMOS_UNUSABLE);
  if (strstr(error.text, expected) == NULL) {
    fail_msg("expected \"%s\", got \"%s\"", expected, error.text);
  }
}

#define FULL_HEADER                                                                                               \
  "{\"type\":\"lumos\",\"format\":1,\"stage\":\"sim\",\"epoch\":\"1700000000000000000\",\"history\":["            \
  "{\"tool\":\"lumos-parse\",\"version\":\"0.1.0\",\"args\":\"--steps 2\",\"inputs\":[\"a.json\",\"b.json\"]},"   \
  "{\"tool\":\"lumos-transform\",\"version\":\"0.1.0\",\"args\":\"\",\"inputs\":[]}],\"edited\":2,\"later\":[1,{" \
  "\"x\":null}]}\n"
#define FULL_RANK0                                                                                                     \
  "{\"type\":\"rank\",\"rank\":0,\"world\":2,\"represents\":4,\"from\":1,\"parallel\":{\"tp\":0,\"pp\":1,\"dp\":2,"    \
  "\"cp\":3,\"ep\":4},\"host\":\"node \\\"7\\\"\",\"source\":\"a.json\",\"device\":{\"name\":\"NVIDIA "                \
  "H100\",\"sms\":132,"                                                                                                \
  "\"memory\":85899345920},\"versions\":{\"cuda\":\"12.4\",\"hip\":\"6.4.43483\",\"nccl\":\"2.21\",\"torch\":\"2.6\"}" \
  ",\"job\":{\"name\":\"gpt\",\"version\":\"7\",\"attempt\":\"2\"},\"window\":[-5,9000],"                              \
  "\"base\":0,\"coverage\":{\"events\":9,\"device_tasks\":2,\"launched\":1,\"opped\":1,\"before_recording\":1,"        \
  "\"crossing\":0,\"skipped\":3,\"repaired\":0,\"collectives\":1,\"joined\":1},\"runtime_offset\":-40,"                \
  "\"runtime_doubt\":12,\"unprofiled\":{\"steps\":3,\"dur\":24000},\"profiler\":{\"before_op\":500,\"after_op\":150,"  \
  "\"after_call\":0,\"least\":0.5},\"clock\":{\"device_offset\":7,\"offset\":-3,"                                      \
  "\"drift_ppb\":12,\"error\":900,"                                                                                    \
  "\"evidence\":\"collectives\"},\"later\":{\"a\":[]}}\n"
#define FULL_GROUP                                                    \
  "{\"type\":\"group\",\"id\":\"tp@0\",\"rank\":0,\"name\":\"tensor " \
  "group\",\"role\":\"tensor\",\"size\":2,\"ranks\":[0,1],"           \
  "\"x\":1}\n"
#define FULL_LANES0                                                                                            \
  "{\"type\":\"lane\",\"rank\":0,\"lane\":\"p77.t9\",\"kind\":\"thread\",\"native\":\"9\",\"process\":\"77\"," \
  "\"name\":\"main\",\"x\":1}\n"                                                                               \
  "{\"type\":\"lane\",\"rank\":0,\"lane\":\"t10\",\"kind\":\"thread\",\"native\":\"10\"}\n"                    \
  "{\"type\":\"lane\",\"rank\":0,\"lane\":\"s7\",\"kind\":\"stream\",\"native\":\"7\",\"queue_depth\":1020}\n"
#define FULL_SPANS                                                                                                    \
  "{\"type\":\"span\",\"id\":\"0:0\",\"rank\":0,\"lane\":\"p77.t9\",\"kind\":\"step\",\"name\":\"ProfilerStep#2\","   \
  "\"start\":0,\"dur\":8000}\n"                                                                                       \
  "{\"type\":\"span\",\"id\":\"0:3\",\"rank\":0,\"lane\":\"p77.t9\",\"kind\":\"op\",\"name\":\"aten::mm\",\"start\":" \
  "10,"                                                                                                               \
  "\"dur\":500,\"parent\":\"0:0\",\"sequence\":41,\"shapes\":\"[[8, 8]]\",\"dtypes\":\"[\\\"float\\\"]\"}\n"          \
  "{\"type\":\"span\",\"id\":\"0:4\",\"rank\":0,\"kind\":\"annotation\",\"name\":\"MmBackward\\n\\u001b\",\"start\":" \
  "600,"                                                                                                              \
  "\"dur\":0,\"parent\":\"0:0\",\"forward\":\"0:3\",\"x\":\"\\u00e9\"}\n"
#define FULL_TASKS0                                                                                                    \
  "{\"type\":\"task\",\"id\":\"0:0\",\"rank\":0,\"lane\":\"p77.t9\",\"seq\":0,\"kind\":\"op\",\"name\":\"aten::mm\","  \
  "\"start\":10,\"dur\":20,\"lag\":0,\"step\":2,\"span\":\"0:3\",\"phase\":\"forward\",\"micro_batch\":0,\"layer\":"   \
  "11,"                                                                                                                \
  "\"part\":\"layer\"}\n"                                                                                              \
  "{\"type\":\"task\",\"id\":\"0:1\",\"rank\":0,\"lane\":\"p77.t9\",\"seq\":1,\"kind\":\"launch\","                    \
  "\"name\":\"cudaLaunchKernel\",\"start\":30,\"dur\":8,\"lag\":0,\"step\":2,\"span\":\"0:3\"}\n"                      \
  "{\"type\":\"task\",\"id\":\"0:7\",\"rank\":0,\"lane\":\"p77.t9\",\"seq\":5,\"kind\":\"launch\","                    \
  "\"name\":\"cudaLaunchKernel\",\"start\":40,\"dur\":8,\"own_dur\":6,\"lag\":2,\"own_lag\":0,\"step\":2,\"span\":"    \
  "\"0:3\",\"first_segment\":\"0:"                                                                                     \
  "1\"}\n"                                                                                                             \
  "{\"type\":\"task\",\"id\":\"0:2\",\"rank\":0,\"lane\":\"p77.t9\",\"seq\":6,\"kind\":\"event\","                     \
  "\"name\":\"cudaEventRecord\",\"start\":50,\"dur\":2,\"lag\":2,\"step\":2,\"event\":{\"op\":\"record\",\"lane\":"    \
  "\"s7\","                                                                                                            \
  "\"id\":\"12\",\"y\":2},\"x\":1}\n"                                                                                  \
  "{\"type\":\"task\",\"id\":\"0:3\",\"rank\":0,\"lane\":\"t10\",\"seq\":0,\"kind\":\"sync\","                         \
  "\"name\":\"cudaEventSynchronize\",\"start\":60,\"dur\":900,\"lag\":0,\"step\":2,\"wait\":{\"on\":\"event\","        \
  "\"lane\":\"s7\",\"record\":\"0:2\",\"residual\":3}}\n"                                                              \
  "{\"type\":\"task\",\"id\":\"0:6\",\"rank\":0,\"lane\":\"t10\",\"seq\":1,\"kind\":\"other\",\"name\":\"free\","      \
  "\"start\":960,\"dur\":1,\"lag\":0}\n"                                                                               \
  "{\"type\":\"task\",\"id\":\"0:4\",\"rank\":0,\"lane\":\"s7\",\"seq\":0,\"kind\":\"other\",\"name\":\"before\","     \
  "\"start\":-5,\"dur\":10,\"lag\":0,\"origin\":\"before_recording\",\"residual\":-5,\"sim_start\":-5,\"sim_dur\":10}" \
  "\n"                                                                                                                 \
  "{\"type\":\"task\",\"id\":\"0:5\",\"rank\":0,\"lane\":\"s7\",\"seq\":1,\"kind\":\"collective\","                    \
  "\"name\":\"ncclDevKernel_AllReduce\",\"start\":60,\"dur\":800,\"lag\":-1,\"gap\":4,\"step\":2,\"span\":\"0:3\","    \
  "\"origin\":\"launched\",\"call\":\"0:7\",\"launch_lag\":12,\"launch_from\":\"start\",\"comm\":{\"op\":\"all_"       \
  "reduce\",\"group\":\"tp@0\","                                                                                       \
  "\"id\":\"0xabc\",\"seq\":3,\"peers\":[{\"rank\":1,\"send\":64,\"recv\":0},{\"rank\":0,\"send\":0,\"recv\":64}],"    \
  "\"bytes\":4096,\"dtype\":\"bf16\"},\"bytes\":8192,\"flops\":100,\"occupancy\":0.25,\"residual\":6,"                 \
  "\"end_residual\":-7,\"from\":\"1:0\",\"was\":801,\"dur_source\":\"scaled\",\"dur_error\":0.125,"                    \
  "\"common_error\":\"gpu.copy\",\"sim_start\":61,"                                                                    \
  "\"sim_dur\":799}\n"
#define FULL_RANK1                                                                                                     \
  "{\"type\":\"rank\",\"rank\":1,\"window\":[0,8000],\"base\":0,\"coverage\":{\"events\":1,\"device_tasks\":1,"        \
  "\"launched\":0,\"opped\":0,\"before_recording\":1,\"crossing\":0,\"skipped\":0,\"repaired\":0}}\n"                  \
  "{\"type\":\"lane\",\"rank\":1,\"lane\":\"s7\",\"kind\":\"stream\",\"native\":\"7\"}\n"                              \
  "{\"type\":\"task\",\"id\":\"1:0\",\"rank\":1,\"lane\":\"s7\",\"seq\":0,\"kind\":\"collective\","                    \
  "\"name\":\"ncclDevKernel_AllReduce\",\"dur\":790,\"lag\":0,\"origin\":\"before_recording\",\"comm\":{\"op\":\"all_" \
  "reduce\",\"group\":\"tp@0\"}}\n"
#define FULL_REST                                                                                                      \
  "{\"type\":\"dep\",\"at\":-5,\"dst\":\"0:4\",\"kind\":\"boundary\",\"from\":\"end\",\"to\":\"start\",\"lag\":0,"     \
  "\"evidence\":\"recorded\",\"mode\":\"fixed\"}\n"                                                                    \
  "{\"type\":\"dep\",\"src\":\"0:0\",\"dst\":\"0:3\",\"kind\":\"handover\",\"from\":\"end\",\"to\":\"start\",\"lag\":" \
  "-2,"                                                                                                                \
  "\"covers\":30,\"evidence\":\"inferred\",\"mode\":\"run_time\",\"x\":[\"{\"]}\n"                                     \
  "{\"type\":\"collective\",\"id\":\"c:4\",\"op\":\"all_reduce\",\"rule\":\"symmetric\",\"group\":\"tp@0\",\"root\":"  \
  "1,"                                                                                                                 \
  "\"members\":[\"0:5\",\"1:0\"],\"size\":2,\"bytes\":4096,\"transfer\":790,\"transfer_error\":12,\"common_error\":"   \
  "\"gpu.copy\","                                                                                                      \
  "\"matched\":\"comms_id\",\"was\":1580,\"dur_source\":\"scaled\",\"x\":1}\n"                                         \
  "{\"type\":\"model\",\"layers\":24,\"hidden\":2048,\"heads\":16,\"kv_heads\":4,\"head_dim\":128,\"ffn\":8192,"       \
  "\"ffn_matrices\":3,"                                                                                                \
  "\"sequence\":4096,\"vocabulary\":51200,\"micro_batch\":1,\"micro_batches\":8,\"parallel\":{\"tp\":1,\"pp\":2,"      \
  "\"dp\":3,\"cp\":4,\"ep\":5,\"z\":0},\"recorded\":{\"ranks\":9,\"layers\":8,\"micro_batches\":7,"                    \
  "\"tp\":6,\"pp\":5,\"dp\":4,\"cp\":3,\"ep\":2},\"evidence\":{\"layers\":\"a\",\"hidden\":\"b\",\"heads\":\"c\","     \
  "\"kv_heads\":"                                                                                                      \
  "\"d\","                                                                                                             \
  "\"head_dim\":\"e\",\"ffn\":\"f\",\"ffn_matrices\":\"p\",\"sequence\":\"g\",\"vocabulary\":\"h\",\"micro_batch\":"   \
  "\"i\",\"micro_batches\":"                                                                                           \
  "\"j\","                                                                                                             \
  "\"tp\":\"k\",\"pp\":\"l\",\"dp\":\"m\",\"cp\":\"n\",\"ep\":\"o\"},\"x\":1}\n"                                       \
  "{\"type\":\"common_error\",\"id\":\"gpu.copy\",\"name\":\"copies on another GPU\",\"sigma\":0.125,\"up\":0,"        \
  "\"source\":\"leave-one-out over 7 sizes\",\"x\":1}\n"                                                               \
  "{\"type\":\"pass\",\"rank\":3,\"stage\":1,\"step\":2,\"phase\":\"forward\",\"micro_batch\":5,\"chunk\":1,"          \
  "\"track\":2,\"start\":40,\"dur\":7,\"x\":1}\n"                                                                      \
  "{\"type\":\"metric\",\"name\":\"step_time\",\"value\":8000,\"unit\":\"ns\",\"scope\":{},\"source\":\"measured\"}\n" \
  "{\"type\":\"metric\",\"name\":\"occupancy\",\"value\":-0.5,\"unit\":\"share\",\"scope\":{\"rank\":0,\"step\":2,"    \
  "\"lane\":\"s7\",\"kind\":\"gemm\",\"group\":\"tp@0\",\"layer\":11,\"task\":\"0:5\",\"y\":2},\"source\":"            \
  "\"predicted\","                                                                                                     \
  "\"of\":\"step_time\",\"low\":-1.000001,\"high\":12.5,\"x\":1}\n"                                                    \
  "{\"type\":\"note\",\"code\":\"parse.skipped_events\",\"level\":\"warning\",\"text\":\"3 rows have no duration.\","  \
  "\"count\":3,\"scope\":{\"rank\":0},\"cure\":\"record again\",\"x\":1}\n"                                            \
  "{\"type\":\"note\",\"code\":\"sim.something\",\"level\":\"info\",\"text\":\"\"}\n"                                  \
  "{\"type\":\"cloud\",\"shape\" : [1.50, null, {\"a\":\"\\u0041\"}]}\n"                                               \
  "{\"type\":\"rain\"}\n"                                                                                              \
  "{\"type\":\"cloud\"}\n"
#define FULL_END                                                                                                       \
  "{\"type\":\"end\",\"counts\":{\"lumos\":1,\"rank\":2,\"group\":1,\"lane\":4,\"span\":3,\"task\":9,\"dep\":2,"       \
  "\"collective\":1,\"model\":1,\"common_error\":1,\"pass\":1,\"metric\":2,\"note\":2,\"cloud\":2,\"rain\":1,\"end\":" \
  "1}}\n"

/* Every record type, every field, absent ones, unknown fields outside and inside of objects, unknown types. */
static const char full_stream[] =
    FULL_HEADER FULL_RANK0 FULL_GROUP FULL_LANES0 FULL_SPANS FULL_TASKS0 FULL_RANK1 FULL_REST FULL_END;

#endif
