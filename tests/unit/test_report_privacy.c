/* What a report that is handed on does not show, and what it must leave alone. */
#include "report/text/privacy.h"
#include "report_job.h"
#include "unit.h"

#include <stdlib.h>

struct pair {
  const char *recorded, *shown;
};

static char *shown_by(const struct report_private_names *names, const char *text) {
  struct lumos_text out = LUMOS_TEXT_BUFFER;
  report_privacy_put(names, text, strlen(text), &out);
  lumos_text_char(&out, '\0');
  return out.bytes;
}

static void expect_shown(const struct lumos_job *job, const struct pair *pairs, size_t count) {
  struct report_private_names *names = report_private_names_of(job);
  for (size_t i = 0; i < count; i++) {
    char *shown = shown_by(names, pairs[i].recorded);
    if (strcmp(shown, pairs[i].shown) != 0) {
      fail_msg("'%s' is shown as '%s', not as '%s'", pairs[i].recorded, shown, pairs[i].shown);
    }
    free(shown);
  }
  report_private_names_free(names);
}
#define EXPECT_SHOWN(job, pairs) expect_shown((job), (pairs), sizeof(pairs) / sizeof(pairs)[0])

/* A job whose strings are these, and nothing else that is private. */
static struct lumos_job *job_of(const char *const *texts, size_t count) {
  struct lumos_job *job = lumos_job_new();
  for (size_t i = 0; i < count; i++) {
    (void)lumos_intern_text(job->strings, texts[i]);
  }
  return job;
}

static void paths_lose_their_folders(void **state) {
  (void)state;
  static const struct pair pairs[] = {
      {"/opt/x/train.py(12): f", "train.py(12): f"},
      {"/opt/my project (v2)/a, b/train.py(12): f", "train.py(12): f"},
      {"/opt/x/train.py(12)", "train.py(12)"},
      {"in /opt/x/train.py, line 3", "in train.py, line 3"},
      {"in /opt/x/train.py:3", "in train.py:3"},
      {"open(\"/opt/my project/the data.bin\", 'rb')", "open(\"the data.bin\", 'rb')"},
      {"'/opt/x/y' and '/opt/x/z w'", "'y' and 'z w'"},
      {"copy /opt/a/x.py to /opt/b/y.py", "copy x.py to y.py"},
      {"/opt/my project/train.py and more", "train.py and more"},
      {"/opt/x/train.py and/or others", "train.py and/or others"},
      {"PATH=/usr/bin:/opt/x/bin", "PATH=bin:bin"},
      {"/opt/x/folder/", "folder/"},
      {"//server/share/x.bin", "x.bin"},
      {"file:///opt/x/y.py", "y.py"},
      {"at file://node/opt/x/y.py:7", "at y.py:7"},
      {"~/x/train.py", "train.py"},
      {"~someone/x/train.py", "train.py"},
      {"C:\\work\\my job\\train.py(12): f", "train.py(12): f"},
      {"in C:\\x\\train.py", "in train.py"},
      {"D:/x/train.py", "train.py"},
      {"file:///C:/x/train.py", "train.py"},
      {"\\\\server\\share\\x\\train.py", "train.py"},
      {"--scale name~/opt/x/k=2", "--scale name~k=2"},
      {"cc -I/opt/x/include -L/opt/x/lib", "cc -Iinclude -Llib"},
      {"../../x/y/train.py(12): f", "train.py(12): f"},
      {"in ./x/train.py", "in train.py"},
      {"cp /opt/x/a ../y/b ~/c", "cp a b c"},
      {"in /opt/my run (copy)/out", "in out"},
      {"\xE6\x96\x87/opt/x/y", "\xE6\x96\x87y"},
      {"/opt/x/\xE6\x96\x87.py", "\xE6\x96\x87.py"},
  };
  struct lumos_job *job = lumos_job_new();
  EXPECT_SHOWN(job, pairs);
  lumos_job_free(job);
}

static const char *const no_paths[] = {
    "",
    "/",
    "//",
    "// a comment",
    "/* a comment */",
    "/layer1",
    "a/b",
    "user1 of 1234",
    "a./b/c",
    "..",
    "...",
    "wait.../x",
    "all-reduce/x/y",
    "1/2",
    "0/0 of 12/15 steps",
    "and/or",
    "aten::div",
    "aten::div/true_divide",
    "aten::max",
    "at::native::max_pool",
    "aten::conv2d/weight/grad",
    "torch/nn/modules/module.py(1511): _call_impl",
    "nn.Module: Linear_0",
    "<built-in method max of type object at 0x7f>",
    "std::__detail::_Hash<int>::~_Hash()",
    "Foo::operator/(Foo const&) const",
    "s3://bucket/folder/file",
    "https://pytorch.org/docs/stable",
    "model://layers/0/attention",
    "hub:layers/0",
    "Torch-Compiled Region: 0/0",
    "ProfilerStep#12",
    "float32",
    "[\"float\",\"c10::BFloat16\"]",
    "[[2,1024],[1024,4096]]",
    "void at::native::vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long, ncclWork*)",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_128x128_32x4_nn_align8>(Params)",
    "triton_poi_fused_add_max_0",
    "Memcpy DtoH (Device -> Pinned)",
    "forward@module",
    "sm90@3",
    "a \\ b",
    "name~a/b.*",
    "\xC2\xB5s/step",
    "C: 12 %",
    "x:/",
    "~",
    "~/",
};

/* Slashes, colons, tildes and backslashes that are no paths; with users and a host about whose names are common
 * words. */
static void names_stay(void **state) {
  (void)state;
  static const char *const about[] = {"/home/user1/x", "/home/1234/x", "/home/max/x",
                                      "/home/root/x",  "/home/li/x",   "/home/torch/x"};
  struct lumos_job *job = job_of(about, sizeof about / sizeof about[0]);
  job->ranks.count = 0;
  uint32_t rank = add_rank(job, 0);
  job->ranks.items[rank].host = lumos_intern_text(job->strings, "localhost");
  struct report_private_names *names = report_private_names_of(job);
  for (size_t i = 0; i < sizeof no_paths / sizeof no_paths[0]; i++) {
    char *shown = shown_by(names, no_paths[i]);
    assert_string_equal(shown, no_paths[i]);
    free(shown);
  }
  report_private_names_free(names);
  lumos_job_free(job);
}

static void users_are_nobody(void **state) {
  (void)state;
  static const char *const texts[] = {"/home/alice/x.py(1): f",
                                      "/nfs/users/bob/x",
                                      "/Users/carol/x",
                                      "C:\\Users\\Dave Doe\\x.py(2): g",
                                      "~erin/x",
                                      "/tmp/torchinductor_frank/ab/x.py",
                                      "thread grace@node-a.cluster.internal",
                                      "/home/heidi.h",
                                      "src/home/ivan/x.py",
                                      "/home/judy"};
  static const struct pair pairs[] = {
      {"alice", "(user)"},
      {"by alice, for bob.", "by (user), for (user)."},
      {"alice's run of carol_v2", "(user)'s run of (user)_v2"},
      {"/home/alice", "(user)"},
      {"Dave Doe, Dave", "(user), (user)"},
      {"../../home/erin", "(user)"},
      {"x/home/erin/y", "x/home/(user)/y"},
      {"frank's cache", "(user)'s cache"},
      {"grace@elsewhere", "(user)@elsewhere"},
      {"judy", "(user)"},
      {"alicea xalice alice2", "alicea xalice alice2"},
      {"heidi.h", "heidi.h"}, /* a file that lies in the home folder of all */
      {"ivan", "ivan"},       /* a folder of the project */
      {"ns::alice::f", "ns::alice::f"},
  };
  struct lumos_job *job = job_of(texts, sizeof texts / sizeof texts[0]);
  EXPECT_SHOWN(job, pairs);
  lumos_job_free(job);
}

static void hosts_and_traces_are_hidden(void **state) {
  (void)state;
  static const struct pair pairs[] = {
      {"python 1234 alice@gpu-node-17", "python 1234 (user)@(host)"},
      {"by alice", "by (user)"},
      {"on GPU-Node-17.cluster.example:", "on (host):"},
      {"gpu-node-17_1", "(host)_1"},
      {"gpu-node-171 xgpu-node-17", "gpu-node-171 xgpu-node-17"},
      {"rank 0: gpu-node-17_4242.1.pt.trace.json.gz is cut", "rank 0: an input file is cut"},
      {"on ip-10-0-0-5", "on (host)"},
      {"ip-10-0-0-5.local", "(host)"},
      {"9c44bd29b3f0", "(host)"},
      {"left out: notes-of-alice.json (no events)", "left out: an input file (no events)"},
      {"tcp://gpu-node-17:29500", "tcp://(host):29500"},
      {"mallory@example.org.", "(user)@(host)."},
      {"max@gpu-node-17, by li@gpu-node-17", "(user)@(host), by (user)@(host)"},
      {"zo\xC3\xAB@gpu-node-17", "(user)@(host)"},
      {"left out: plan of hers (copy), 2.txt", "left out: an input file"},
      {"next to run-of-peggy.json.gz", "next to an input file"}, /* only the cure of a note names it */
  };
  static const char *const texts[] = {"python 1234 alice@gpu-node-17", "ask mallory@example.org."};
  struct lumos_job *job = job_of(texts, sizeof texts / sizeof texts[0]);
  uint32_t rank = add_rank(job, 0);
  job->ranks.items[rank].host = lumos_intern_text(job->strings, "gpu-node-17.cluster.example");
  job->ranks.items[rank].source = lumos_intern_text(job->strings, "gpu-node-17_4242.1.pt.trace.json.gz");
  const char *inputs[] = {"ip-10-0-0-5.local_21147.1698.pt.trace.json.gz", "rank1-9c44bd29b3f0_1376.17.pt.trace.json"};
  lumos_job_history(job, "lumos-parse", "", inputs, 2);
  lumos_job_note(job, "parse.truncated", LUMOS_WARNING, LUMOS_ABSENT, NULL, "notes-of-alice.json (no events) is cut",
                 NULL);
  lumos_job_note(job, "parse.not_a_trace", LUMOS_WARNING, LUMOS_ABSENT, NULL,
                 "plan of hers (copy), 2.txt was left out: it is not JSON", NULL);
  lumos_job_note(job, "parse.missing_ranks", LUMOS_WARNING, LUMOS_ABSENT, NULL, "a rank's trace is missing",
                 "add it next to run-of-peggy.json.gz");
  EXPECT_SHOWN(job, pairs);
  lumos_job_free(job);
}

/* The view changes what is private and nothing else; a user who is called like a metric takes none away. */
static void the_view_keeps_ids(void **state) {
  (void)state;
  static const char *const texts[] = {"/home/boundary/x.py(1): f", "aten::mm", "boundary"};
  struct lumos_job *job = job_of(texts, sizeof texts / sizeof texts[0]);
  add_metric(job, "boundary", 0, 0, LUMOS_METRIC_SIMULATED, 1, 0);
  uint32_t other = lumos_intern_text(job->strings, "boundary of all");
  struct lumos_strings *view = report_privacy_strings(job);
  assert_int_equal(lumos_strings_count(view), lumos_strings_count(job->strings));
  assert_string_equal(lumos_string(view, lumos_interned(job->strings, texts[0], strlen(texts[0]))), "x.py(1): f");
  uint32_t same = lumos_interned(job->strings, "aten::mm", 8);
  assert_ptr_equal(lumos_string(view, same), lumos_string(job->strings, same));
  assert_int_equal(lumos_interned(view, "aten::mm", 8), same);
  assert_string_equal(lumos_string(view, job->metrics.items[0].name), "boundary");
  assert_string_equal(lumos_string(view, other), "(user) of all");
  assert_int_equal(lumos_string_length(view, other), 13);
  assert_string_equal(lumos_string(job->strings, other), "boundary of all");
  lumos_strings_free(view);
  lumos_job_free(job);
}

/* Bytes that nobody wrote by hand, at every length: no read beyond the end (under a sanitizer), and no endless work. */
static void hostile_texts(void **state) {
  (void)state;
  static const char *const pieces[] = {"/",     "\\", "~", "C:", "file:/", "\"",   "'",  "(12", ")",  "@", "home/",
                                       "alice", " ",  ".", ":",  "a",      "\xFF", "\n", "//",  "..", ",", "é"};
  static const char *const texts[] = {"/home/alice/x"};
  struct lumos_job *job = job_of(texts, 1);
  struct report_private_names *names = report_private_names_of(job);
  uint32_t random = 1;
  for (int round = 0; round < 20000; round++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    for (int i = 0; i < 12; i++) {
      random = random * 1664525U + 1013904223U;
      lumos_text_put(&text, pieces[(random >> 16U) % (sizeof pieces / sizeof pieces[0])]);
    }
    char *exact = lumos_allocate(text.length); /* no NUL behind it */
    memcpy(exact, text.bytes, text.length);
    report_privacy_put(names, exact, text.length, &out);
    if (out.length > 0) {
      lumos_text_char(&out, '\0');
      assert_null(strstr(out.bytes, "/home/alice/"));
    }
    free(exact);
    lumos_text_free(&text);
    lumos_text_free(&out);
  }
  for (size_t piece = 0; piece < sizeof pieces / sizeof pieces[0]; piece++) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    struct lumos_text out = LUMOS_TEXT_BUFFER;
    while (text.length < 1000000) {
      lumos_text_put(&text, pieces[piece]);
      lumos_text_put(&text, piece % 2 == 0 ? "/" : " /a");
    }
    report_privacy_put(names, text.bytes, text.length, &out);
    lumos_text_free(&text);
    lumos_text_free(&out);
  }
  report_private_names_free(names);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths_lose_their_folders), cmocka_unit_test(names_stay),
      cmocka_unit_test(users_are_nobody),         cmocka_unit_test(hosts_and_traces_are_hidden),
      cmocka_unit_test(the_view_keeps_ids),       cmocka_unit_test(hostile_texts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
