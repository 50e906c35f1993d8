/* The doctor: what was counted (tally.c) meets a table that says what each gap costs and how to record it.
 *
 * To add a finding: a tally, and a row here and in the table of lumos-parse.1.
 */
#include <lumos/checkup.h>

#include "trace/tally.h"
#include <stddef.h>

/* What a missing part means. */
struct meaning {
  enum lumos_grade grade;
  const char *cost, *cure;
};

struct row {
  const char *code, *name, *unit;
  size_t tally;   /* its offset in struct trace_tallies */
  int64_t enough; /* percent, from which on nothing is missing */
  struct meaning absent, partial;
};

#define TALLY(member) offsetof(struct trace_tallies, member)
#define ACTIVITIES "profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], ...)"
#define NOTHING \
  { LUMOS_GRADE_A, NULL, NULL }

/* clang-format off */
static const struct row rows[] = {
    {"device_work", "GPU work", "ranks", TALLY(device), 100,
     {LUMOS_GRADE_D, "only the CPU side of the steps is known", ACTIVITIES},
     {LUMOS_GRADE_C, "only the CPU side of the others is known", ACTIVITIES " on every rank"}},
    {"device_work", "GPU work", "ranks", TALLY(unread_device), 100,
     {LUMOS_GRADE_D, "only the CPU side of the steps is known; GPU work may be in rows of unknown categories",
      "none: this version cannot read these categories yet"},
     {LUMOS_GRADE_C, "only the CPU side of the others is known; GPU work may be in rows of unknown categories",
      "none: this version cannot read these categories yet"}},
    {"launches", "launches", "kernels and copies", TALLY(launches), 90,
     {LUMOS_GRADE_D, "GPU work cannot be tied to the CPU's calls", ACTIVITIES},
     {LUMOS_GRADE_B, "what launched the others is unknown, mostly in the first step",
      "torch.cuda.synchronize() before the profiler.step() that starts the recording; or more steps"}},
    {"ops", "ops", "launches", TALLY(ops), 50,
     {LUMOS_GRADE_C, "no kernel can be attributed to what the model did", ACTIVITIES},
     {LUMOS_GRADE_B, "the others cannot be attributed to what the model did", ACTIVITIES " on every rank"}},
    {"calls", "calls", "launches", TALLY(calls), 100,
     {LUMOS_GRADE_B, "their launch time is unknown", "a PyTorch that records driver calls (Triton launches through them), and a file without damage"},
     {LUMOS_GRADE_B, "the others' launch time is unknown",
      "a PyTorch that records driver calls (Triton launches through them), and a file without damage"}},
    {"steps", "steps", "needed", TALLY(steps), 100,
     {LUMOS_GRADE_C, "the whole recording counts as one step, the profiler's own start included",
      "profile(schedule=schedule(wait=10, warmup=3, active=3, repeat=1), ...) and profiler.step() after every step"},
     {LUMOS_GRADE_B, "one step shows no variation, so a difference may be chance",
      "profile(schedule=schedule(wait=10, warmup=3, active=3, repeat=1), ...) and profiler.step() after every step"}},
    {"steps", "steps", "needed", TALLY(idle_steps), 100,
     {LUMOS_GRADE_C, "no work lies inside the step marks, so the whole recording counts as one step",
      "profiler.step() on the thread that works, after every step; or record the work's activities, too"},
     NOTHING},
    {"ranks", "ranks", "", TALLY(ranks), 100,
     NOTHING,
     {LUMOS_GRADE_C, "waiting for a missing rank cannot be split from transfer",
      "profiler.export_chrome_trace(f\"rank{rank}.json.gz\") on every rank; name all files at once"}},
    {"world", "world size", "ranks", TALLY(world), 100,
     {LUMOS_GRADE_C, "how many ranks are missing here, and which, is unknown",
      "start the profiler after torch.distributed.init_process_group(...)"},
     {LUMOS_GRADE_B, "the others may belong to another job",
      "start the profiler after torch.distributed.init_process_group(...) on every rank"}},
    {"sync_events", "sync events", "waits", TALLY(sync), 90,
     {LUMOS_GRADE_C, "delays that one stream causes on another stay unexplained",
      "profile(experimental_config=torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True), ...)"},
     {LUMOS_GRADE_B, "what the others wait for is unknown, and their delays stay unexplained",
      "enable_cuda_sync_events=True on every rank; where it was on, a newer PyTorch loses fewer of them"}},
    {"sync_events", "sync events", "waits", TALLY(sync_hip), 90,
     {LUMOS_GRADE_C, "delays that one stream causes on another stay unexplained", "none: the profiler of ROCm has no such rows"},
     {LUMOS_GRADE_B, "what the others wait for is unknown, and their delays stay unexplained",
      "none: the profiler of ROCm has few such rows"}},
    {"collective_arguments", "collective arguments", "communication kernels", TALLY(communication), 90,
     {LUMOS_GRADE_C, "waiting cannot be split from transfer, no bandwidth",
      "PyTorch 2.2 or later, with ProfilerActivity.CPU among the activities, records them by itself"},
     {LUMOS_GRADE_B, "in the others waiting cannot be split from transfer",
      "PyTorch 2.2 or later records them for NCCL's kernels; kernels of other libraries have none"}},
    {"shapes", "shapes", "matrix products", TALLY(shapes), 50,
     {LUMOS_GRADE_B, "kernels of one name and different sizes look the same", "profile(record_shapes=True, ...)"},
     {LUMOS_GRADE_B, "of the others, kernels of one name and different sizes look the same",
      "profile(record_shapes=True, ...) on every rank; compiled code has them for graphs' inputs alone"}},
    {"graph_nodes", "graph node ids", "kernels of CUDA graphs", TALLY(graphs), 90,
     {LUMOS_GRADE_B, "their ops are found by name and position alone",
      "CUDA 12 or later and a PyTorch of 2026 or later record them by themselves"},
     {LUMOS_GRADE_B, "the others' ops are found by name and position alone",
      "CUDA 12 or later and a PyTorch of 2026 or later record them by themselves, on every rank"}},
    {"graph_nodes", "graph node ids", "kernels of HIP graphs", TALLY(graphs_hip), 90,
     {LUMOS_GRADE_B, "their ops are found by name and position alone", "none: the profiler of ROCm has no such ids"},
     {LUMOS_GRADE_B, "the others' ops are found by name and position alone",
      "none: the profiler of ROCm has few such ids"}},
    {"files", "whole files", "ranks", TALLY(files), 100,
     {LUMOS_GRADE_B, "everything after the cut is lost", "let the export end before the job does, and copy the file again"},
     {LUMOS_GRADE_B, "everything after the cut is lost", "let the export end before the job does, and copy the file again"}},
    {"events", "readable events", "events", TALLY(events), 100,
     {LUMOS_GRADE_B, "what they recorded is lost", "newer versions of PyTorch write valid JSON"},
     {LUMOS_GRADE_B, "what the others recorded is lost", "newer versions of PyTorch write valid JSON"}},
    {"categories", "known categories", "events", TALLY(categories), 100,
     {LUMOS_GRADE_B, "what the others are is unknown", "none: a later Lumos may know these categories"},
     {LUMOS_GRADE_B, "what the others are is unknown", "none: a later Lumos may know these categories"}},
    {"unread_rows", "rows that are read", "events", TALLY(unread), 100,
     {LUMOS_GRADE_B, "what they alone show is missing", "none: a later Lumos may read these categories"},
     {LUMOS_GRADE_B, "what the others alone show is missing", "none: a later Lumos may read these categories"}},
    {"metadata", "readable metadata", "ranks", TALLY(metadata), 100,
     {LUMOS_GRADE_B, "rank, world, device or time may be guessed", "newer versions of PyTorch write valid JSON"},
     {LUMOS_GRADE_B, "rank, world, device or time of the others may be guessed", "newer versions of PyTorch write valid JSON"}},
    {"stacks", "Python stacks", "ranks", TALLY(python), 100,
     {LUMOS_GRADE_A, "kernels show their op, not their source line", "profile(with_stack=True, ...); slows the CPU"},
     {LUMOS_GRADE_A, "the others' kernels show their op, not their source line",
      "profile(with_stack=True, ...) on every rank; slows the CPU"}},
};
/* clang-format on */
_Static_assert(sizeof rows / sizeof *rows <= LUMOS_CHECKUP_ROWS, "raise LUMOS_CHECKUP_ROWS");

static const struct meaning *meaning_of(const struct row *row, const struct trace_tally *tally) {
  static const struct meaning nothing_missing = NOTHING;
  int64_t possible = tally->of - tally->before;
  if (tally->have == 0) {
    return tally->tried ? &row->partial : &row->absent;
  }
  return tally->have * 100 >= possible * row->enough ? &nothing_missing : &row->partial;
}

static const char *names_of(const struct row *row, const struct trace_tallies *tallies) {
  if (row->tally == TALLY(categories)) {
    return tallies->unknown_names;
  }
  return row->tally == TALLY(unread) || row->tally == TALLY(unread_device) ? tallies->unread_names : NULL;
}

static void judge(struct lumos_checkup *checkup, const struct trace_tallies *tallies) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const struct row *row = &rows[i];
    const struct trace_tally *tally = (const struct trace_tally *)(const void *)((const char *)tallies + row->tally);
    if (tally->of <= tally->before) {
      continue;
    }
    const struct meaning *meaning = meaning_of(row, tally);
    checkup->findings[checkup->count++] =
        (struct lumos_checkup_row){row->code,     row->name,      row->unit,     tally->have,   tally->of,
                                   tally->before, meaning->grade, meaning->cost, meaning->cure, names_of(row, tallies)};
    checkup->grade = meaning->grade > checkup->grade ? meaning->grade : checkup->grade;
  }
}

void lumos_checkup_take(const struct lumos_job *job, struct lumos_checkup *checkup) {
  struct trace_tallies tallies;
  *checkup = (struct lumos_checkup){.grade = job->tasks.count > 0 ? LUMOS_GRADE_A : LUMOS_GRADE_F};
  lumos_trace_tally(job, checkup, &tallies);
  judge(checkup, &tallies);
}

static const struct {
  const char *name, *meaning;
} grades[] = {
    [LUMOS_GRADE_A] = {"A", "nothing is missing that the analysis can use"},
    [LUMOS_GRADE_B] = {"B", "the whole step is known, some details are not"},
    [LUMOS_GRADE_C] = {"C", "a part of the step must be guessed"},
    [LUMOS_GRADE_D] = {"D", "the GPU side or the CPU side of the job is missing"},
    [LUMOS_GRADE_F] = {"F", "there is nothing to analyze"},
};

const char *lumos_grade_name(enum lumos_grade grade) { return grades[grade].name; }
const char *lumos_grade_meaning(enum lumos_grade grade) { return grades[grade].meaning; }
