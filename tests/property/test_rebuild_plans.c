/* Drawn configurations of recorded jobs with shards, stages, replicas and shared experts: each is refused with what to
 * do, or its plan is one that a cluster could carry out; and no plan is that lacks a collective, or a rank. The jobs are
 * those of the emulated cluster. */
#include "unit/stream_unit.h"

#include "rebuild/legal.h"
#include "rebuild/replan.h"
#include "rebuild/unison.h"
#include "sim/engine.h"
#include <stdlib.h>

enum {
  FEW = 400,
  MANY = 1000,
  BUILT = 10,
  LAYERS = 4
}; /* configurations, with LUMOS_DRAWN many; BUILT: of these, as whole jobs, and simulated */

static const char *const recordings[] = {
    "--tp 2 --pp 2 --dp 2",
    "--tp 2 --pp 2 --dp 2 --schedule zb-h1",
    "--tp 2 --pp 2 --dp 2 --schedule interleaved --vp 2",
    "--pp 2 --dp 2 --batched-p2p off --distributed-optimizer on",
    "--tp 2 --pp 2 --sequence-parallel on",
    "--cp 2 --pp 2 --dp 2 --distributed-optimizer on",
    "--experts 8 --ep 2 --pp 2 --dp 4",
    "--experts 8 --ep 2 --tp 2 --sequence-parallel on --pp 2 --dp 2",
    "--experts 8 --ep 4 --cp 2 --pp 2 --dp 2",
    "--tp 2 --dp 2", /* transfers between stages are supplied by what builds jobs */
};
enum { RECORDINGS = sizeof recordings / sizeof *recordings, PLANNED = RECORDINGS - 1 };

static uint64_t state;

static int32_t draw(int32_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return below > 0 ? (int32_t)((uint32_t)(state >> 33U) % (uint32_t)below) : 0;
}

static void run(const char *command) {
  if (system(command) != 0) { /* NOLINT(cert-env33-c): a tool of this build */
    fail_msg("fails: %s", command);
  }
}

static void record(const char *folder, int i) {
  const char *bin = getenv("LUMOS_BIN");
  char command[1024];
  if (bin == NULL) {
    skip();
  }
  (void)snprintf(
      command, sizeof command,
      "cd '%s' && '%s/emulated-cluster' --quiet --plain --seed 7 --steps 2 --layers %d --hidden 128 --heads 2 "
      "--seq 128 --vocab 1024 --micro-batches 4 %s job%d && '%s/lumos-parse' job%d/rank*.json 2>message | "
      "'%s/lumos-graph' -o graph%d 2>message",
      folder, bin, LAYERS, recordings[i], i, bin, i, bin, i);
  run(command);
}

static struct lumos_job *open_graph(const char *folder, int i) {
  struct lumos_error error = {0};
  char path[512];
  (void)snprintf(path, sizeof path, "%s/graph%d", folder, i);
  const char *const paths[] = {path};
  struct lumos_read_options options = {0};
  struct lumos_job *job = lumos_streams_open(paths, 1, &options, &error);
  if (job == NULL) {
    fail_msg("%s", error.text);
  }
  return job;
}

/* ---- configurations ---- */

/* One in five asks for what may not be. */
static struct lumos_rebuild draw_configuration(void) {
  static const enum lumos_schedule schedules[] = {LUMOS_1F1B, LUMOS_GPIPE, LUMOS_INTERLEAVED, LUMOS_ZB_H1};
  static const int32_t replicas[] = {1, 2, 3, 8, 1000};
  struct lumos_rebuild asked = {.schedule = schedules[draw(4)], .stages = 1 + draw(5), .chunks = 1};
  bool wild = draw(5) == 0;
  if (asked.schedule == LUMOS_INTERLEAVED) {
    asked.stages += asked.stages == 1 && !wild;
    asked.chunks = 2 + draw(2);
  }
  asked.layers = asked.stages * asked.chunks * (1 + draw(2)) + (wild ? draw(3) : 0);
  asked.micro_batches =
      asked.schedule == LUMOS_INTERLEAVED ? asked.stages * (1 + draw(2)) + (wild ? draw(2) : 0) : 1 + draw(9);
  asked.replicas = replicas[draw(5)];
  for (int32_t s = 0; s < asked.stages && asked.chunks == 1 && draw(3) == 0; s++) {
    asked.split[s] = 1;
    asked.split_count = s + 1;
  }
  if (asked.split_count == asked.stages) {
    asked.split[draw(asked.stages)] += asked.layers - asked.stages;
  } else {
    asked.split_count = 0;
  }
  return asked;
}

/* What the recording has two of, if nothing else is asked for. */
static int32_t ranks_of(int32_t asked, int recording, const char *option) {
  return asked > 0 ? asked : strstr(recordings[recording], option) != NULL ? 2 : 1;
}

static bool may_be(const struct lumos_rebuild *asked, int recording) {
  bool turns = asked->schedule != LUMOS_INTERLEAVED || (asked->stages > 1 && asked->micro_batches % asked->stages == 0);
  int32_t stage =
      ranks_of(asked->shards, recording, "--tp") * ranks_of(asked->contexts, recording, "--cp") * asked->replicas;
  bool shared = asked->experts == 0 || stage % asked->experts == 0;
  int32_t chunks = asked->stages * asked->chunks;
  return turns && shared && chunks > 0 && (asked->split_count > 0 || asked->layers % chunks == 0);
}

static void tell(const struct lumos_rebuild *asked, int recording, const char *what) {
  fail_msg("%s: --tp %d --cp %d --ep %d --layers %d --pp %d --dp %d --micro-batches %d --vp %d, schedule %d, %d in "
           "--split: %s",
           recordings[recording], asked->shards, asked->contexts, asked->experts, asked->layers, asked->stages,
           asked->replicas, asked->micro_batches, asked->chunks, (int)asked->schedule, asked->split_count, what);
}

/* ---- plans ---- */

static bool is_legal(const struct rebuild_plan *plan, const struct rebuild_templates *templates,
                     struct lumos_error *error) {
  return rebuild_check_plan(plan, templates, error) && rebuild_check_unison(plan, templates, error);
}

/* Does an item begin a collective of several ranks? */
static bool communicates(const struct rebuild_templates *templates, const struct rebuild_item *item) {
  const struct rebuild_blocks *blocks = templates->blocks;
  const struct rebuild_block *block = &blocks->items.items[item->like];
  for (uint32_t i = 0; i < block->device_count; i++) {
    if (blocks->job->tasks.items[blocks->devices[block->device_first + i]].kind == LUMOS_COLLECTIVE) {
      return true;
    }
  }
  return false;
}

/* A rank of several shards, all of which every layer communicates with, that loses one such piece. */
static void none_is_legal_that_lacks_a_collective(struct rebuild_plan *plan,
                                                  const struct rebuild_templates *templates) {
  struct lumos_error error = {0};
  struct rebuild_rank *rank = &plan->ranks.items[draw((int32_t)plan->ranks.count)];
  for (size_t i = 0; i < rank->items.count && plan->model.sizes.tp > 1; i++) {
    if (rank->items.items[i].micro_batch >= 0 && rank->items.items[i].layer >= 0 &&
        communicates(templates, &rank->items.items[i])) {
      memmove(rank->items.items + i, rank->items.items + i + 1,
              (rank->items.count - i - 1) * sizeof *rank->items.items);
      rank->items.count--;
      assert_false(is_legal(plan, templates, &error));
      return;
    }
  }
}

static void none_is_legal_that_lacks_a_rank(struct rebuild_plan *plan, const struct rebuild_templates *templates) {
  struct lumos_error error = {0};
  lumos_vector_free(&plan->ranks.items[plan->ranks.count - 1].items);
  plan->ranks.count--;
  assert_false(is_legal(plan, templates, &error));
}

/* Blocks of a job, cut as ZB-H1 needs them, or else. */
struct cut {
  struct rebuild_blocks blocks;
  struct rebuild_templates templates;
};

/* Of ranks that share sequences or experts other numbers are asked for, too. */
static struct lumos_rebuild draw_for(int recording) {
  static const int32_t numbers[] = {0, 1, 2, 4, 8};
  struct lumos_rebuild asked = draw_configuration();
  asked.contexts = strstr(recordings[recording], "--cp") != NULL ? numbers[draw(5)] : 0;
  asked.experts = strstr(recordings[recording], "--ep") != NULL ? numbers[1 + draw(4)] : 0;
  asked.shards = asked.experts > 0 && strstr(recordings[recording], "--tp") != NULL ? numbers[1 + draw(3)] : 0;
  return asked;
}

static void check(struct cut cuts[2], int recording) {
  const struct lumos_rebuild asked = draw_for(recording);
  const struct rebuild_templates *templates = &cuts[asked.schedule == LUMOS_ZB_H1].templates;
  struct rebuild_plan plan;
  struct lumos_error error = {0};
  bool planned = rebuild_replan(&plan, templates, &asked, false, &error);
  if (planned != may_be(&asked, recording)) {
    tell(&asked, recording, planned ? "is planned, and should be refused" : error.text);
  }
  if (planned && !is_legal(&plan, templates, &error)) {
    tell(&asked, recording, error.text);
  }
  if (planned && draw(2) == 0) {
    none_is_legal_that_lacks_a_collective(&plan, templates);
  } else if (planned) {
    none_is_legal_that_lacks_a_rank(&plan, templates);
  }
  rebuild_plan_free(&plan);
}

static void check_recording(const char *folder, int recording) {
  struct lumos_job *job = open_graph(folder, recording);
  bool apart = strstr(recordings[recording], "zb-h1") != NULL;
  struct cut cuts[2];
  rebuild_blocks_cut(&cuts[0].blocks, job, apart ? REBUILD_WEIGHTS_JOIN : REBUILD_WEIGHTS_STAY, false);
  rebuild_blocks_cut(&cuts[1].blocks, job, apart ? REBUILD_WEIGHTS_STAY : REBUILD_WEIGHTS_PART, false);
  for (int i = 0; i < 2; i++) {
    rebuild_templates_make(&cuts[i].templates, &cuts[i].blocks);
  }
  const int configurations = getenv("LUMOS_DRAWN") != NULL ? MANY : FEW;
  for (int i = 0; i < configurations / PLANNED; i++) {
    check(cuts, recording);
  }
  for (int i = 0; i < 2; i++) {
    rebuild_templates_free(&cuts[i].templates);
    rebuild_blocks_free(&cuts[i].blocks);
  }
  lumos_job_free(job);
}

/* Whatever is planned is carried out to its end. */
static void build(const char *folder, int recording) {
  struct lumos_rebuild asked = draw_for(recording);
  asked.micro_batches = asked.micro_batches > asked.stages ? asked.stages : asked.micro_batches; /* few tasks */
  asked.replicas = 1 + draw(2);
  asked.shards = asked.shards > 2 ? 2 : asked.shards; /* as many as heads */
  struct lumos_job *job = open_graph(folder, recording);
  struct lumos_error error = {0};
  bool built = lumos_rebuild(job, &asked, &error), run = false;
  if (built) {
    const struct lumos_sim_options options = {.model = LUMOS_MODEL_LUMOS};
    struct lumos_run *runs = lumos_allocate(job->tasks.count * sizeof *runs);
    run = lumos_engine_run(job, &options, runs, &error);
    free(runs);
  }
  if (built != may_be(&asked, recording) || built != run) {
    tell(&asked, recording, error.text);
  }
  lumos_job_free(job);
}

static void every_configuration_is_legal_or_refused(void **context) {
  (void)context;
  char folder[] = "/tmp/lumos-plans-XXXXXX", command[64];
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < RECORDINGS; i++) {
    record(folder, i);
  }
  for (int i = 0; i < PLANNED; i++) {
    check_recording(folder, i);
  }
  for (int i = 0; i < BUILT; i++) {
    build(folder, i % RECORDINGS);
  }
  (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
  run(command);
}

int main(void) {
  const char *seed = getenv("LUMOS_SEED");
  state = seed ? strtoull(seed, NULL, 10) : 19;
  print_message("seed %llu\n", (unsigned long long)state);
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_configuration_is_legal_or_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
