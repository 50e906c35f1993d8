/* Passes and their layers in jobs by hand. What a thread launches is written as letters, one a launch: e embeds, G
 * multiplies, A attends, n norms, a adds, o updates parameters, z sets to memory zero, S sends, R receives, B does
 * both, C sums up over ranks, D in a group of its own, U gathers, V spreads sums, on a stream of its own. In time the
 * launches of all threads follow each other as they are written; what runs back begins at '<', on a thread of its own,
 * and ends at '>'. '|' begins the next step.
 */
#include "unit/graph_job.h"

#include <lumos/program.h>

enum { MOST = 400, LAUNCH = 1000 };

struct hand {
  struct lumos_job *job;
  uint32_t main, back, compute, other, spread; /* lanes */
  uint32_t tasks[MOST], calls[MOST];           /* by letter, in order */
  uint32_t count;
};

static const struct kernel {
  char letter;
  uint8_t kind;
  const char *name;
  int64_t dur;
} kernels[] = {
    {'e', LUMOS_EMBEDDING, "embedding", 500},
    {'G', LUMOS_GEMM, "gemm", 5000},
    {'A', LUMOS_ATTENTION, "attention", 4000},
    {'n', LUMOS_NORM, "norm", 800},
    {'a', LUMOS_ELEMENTWISE, "add", 700},
    {'g', LUMOS_ELEMENTWISE, "gelu", 600},
    {'h', LUMOS_REDUCTION, "loss", 400},
    {'o', LUMOS_OPTIMIZER, "adam", 3000},
    {'z', LUMOS_MEMSET, "memset", 300},
    {'S', LUMOS_P2P, "send", 900},
    {'R', LUMOS_P2P, "recv", 900},
    {'B', LUMOS_P2P, "send_recv", 900},
    {'C', LUMOS_COLLECTIVE, "all_reduce", 900},
    {'D', LUMOS_COLLECTIVE, "all_reduce", 900},
    {'U', LUMOS_COLLECTIVE, "all_gather", 900},
    {'V', LUMOS_COLLECTIVE, "reduce_scatter", 900},
};

static const struct kernel *kernel_of(char letter) {
  for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
    if (kernels[i].letter == letter) {
      return &kernels[i];
    }
  }
  fail_msg("no kernel is called '%c'", letter);
  return NULL;
}

static bool is_letter(char c) { return strchr("<>| ", c) == NULL; }

static bool goes_back(const char *text, size_t at) {
  bool back = false;
  for (size_t i = 0; i < at; i++) {
    back = text[i] == '<' || (back && text[i] != '>');
  }
  return back;
}

static int32_t step_at(const char *text, size_t at) {
  int32_t step = 0;
  for (size_t i = 0; i < at; i++) {
    step += text[i] == '|';
  }
  return step;
}

/* Calls of one thread. */
static void add_calls(struct hand *hand, const char *text, bool back) {
  uint32_t n = 0;
  for (size_t i = 0; text[i] != '\0'; i++) {
    if (!is_letter(text[i])) {
      continue;
    }
    if (goes_back(text, i) == back) {
      uint32_t call = add_launch(hand->job, back ? hand->back : hand->main, LAUNCH * ((int64_t)i + 1), LAUNCH / 2);
      hand->job->tasks.items[call].step = step_at(text, i);
      hand->calls[n] = call;
    }
    n++;
  }
  hand->count = n;
}

static bool communicates(char letter) { return strchr("SRBCDUV", letter) != NULL; }

static uint32_t lane_of(const struct hand *hand, char letter) {
  return letter == 'V' ? hand->spread : communicates(letter) ? hand->other : hand->compute;
}

static void add_device_work(struct hand *hand, const char *text, uint32_t lane) {
  int64_t free_at = 0;
  uint32_t n = 0;
  for (size_t i = 0; text[i] != '\0'; i++) {
    if (!is_letter(text[i])) {
      continue;
    }
    const struct kernel *kernel = kernel_of(text[i]);
    if (lane_of(hand, text[i]) == lane) {
      int64_t start = LAUNCH * ((int64_t)i + 1) + LAUNCH;
      start = start > free_at ? start : free_at;
      uint32_t task = add_task(hand->job, lane, (enum lumos_task_kind)kernel->kind, kernel->name, start, kernel->dur);
      hand->job->tasks.items[task].call = hand->calls[n];
      hand->job->tasks.items[task].step = step_at(text, i);
      if (communicates(text[i])) {
        detail(hand->job, task)->comm.op = word(hand->job, kernel->name);
        detail(hand->job, task)->comm.group = kernel->letter == 'D' ? word(hand->job, "data") : LUMOS_NO_STRING;
      }
      hand->tasks[n] = task;
      free_at = start + kernel->dur;
    }
    n++;
  }
}

enum thread_name { UNNAMED, NAMED };

/* NAMED: the thread that works back has autograd's name. The rank is one stage of a pipeline of so many. */
static void recover(struct hand *hand, const char *text, enum thread_name named, int32_t stage, int32_t stages) {
  *hand = (struct hand){.job = new_job()};
  uint32_t rank = add_rank(hand->job, 0);
  hand->main = add_thread(hand->job, rank, "1");
  hand->back = add_thread(hand->job, rank, "2");
  hand->compute = add_stream(hand->job, rank, "7");
  hand->other = add_stream(hand->job, rank, "9");
  hand->spread = add_stream(hand->job, rank, "11");
  hand->job->ranks.items[rank].has_parallel = true;
  hand->job->ranks.items[rank].parallel.pp = stage;
  lumos_vector_push(&hand->job->models, lumos_model_description_empty);
  hand->job->models.items[0].sizes.pp = stages;
  if (named == NAMED) {
    hand->job->lanes.items[hand->back].name = word(hand->job, "thread 2 (pt_autograd_0)");
  }
  add_calls(hand, text, false);
  add_calls(hand, text, true);
  add_device_work(hand, text, hand->compute);
  add_device_work(hand, text, hand->other);
  add_device_work(hand, text, hand->spread);
  struct lumos_error error = {0};
  if (!lumos_job_arrange(hand->job, &error) || !lumos_program_recover(hand->job, &error)) {
    fail_msg("%s", error.text);
  }
}

enum field { PHASE, MICRO_BATCH, LAYER };

/* By letter, spaces where the text has other signs: phase F, B, W, O or '.', micro-batch or layer as a digit or '-'. */
static void show(const struct hand *hand, const char *text, enum field field, char *shown) {
  static const char phases[] = {'?', 'F', 'B', 'W', 'O', '.'}, digits[] = "0123456789";
  uint32_t n = 0;
  size_t i = 0;
  for (; text[i] != '\0'; i++) {
    if (!is_letter(text[i])) {
      shown[i] = ' ';
      continue;
    }
    const struct lumos_task *task = &hand->job->tasks.items[hand->tasks[n++]];
    int32_t number = field == MICRO_BATCH ? task->micro_batch : task->layer;
    assert_true(number == LUMOS_ABSENT_INT || (number >= 0 && number < 10));
    if (field == PHASE) {
      shown[i] = phases[task->phase];
    } else {
      shown[i] = '-';
      if (number != LUMOS_ABSENT_INT) {
        shown[i] = digits[number];
      }
    }
  }
  shown[i] = '\0';
}

static void expect_stage(const char *text, enum thread_name named, int32_t stage, int32_t stages, const char *phases,
                         const char *micro_batches, const char *layers) {
  struct hand hand;
  char shown[MOST];
  recover(&hand, text, named, stage, stages);
  show(&hand, text, PHASE, shown);
  assert_string_equal(shown, phases);
  show(&hand, text, MICRO_BATCH, shown);
  assert_string_equal(shown, micro_batches);
  show(&hand, text, LAYER, shown);
  assert_string_equal(shown, layers);
  lumos_job_free(hand.job);
}

static void expect(const char *text, enum thread_name named, const char *phases, const char *micro_batches,
                   const char *layers) {
  expect_stage(text, named, 0, 1, phases, micro_batches, layers);
}

static void a_step_goes_forward_back_and_updates(void **state) {
  (void)state;
  expect("enGGgnGGgnGGgGh<hGGgGGnaGgGGnaGgGGnae>oo", NAMED, /**/
         "FFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBB OO",        /**/
         "000000000000000 000000000000000000000 --",        /**/
         "-000011112222-- --222222111111000000- --");
}

/* A thread without a name works back when it launches products, many in a row, while the program's own is silent. */
static void threads_need_no_names(void **state) {
  (void)state;
  expect("enGGgnGGgnGGgGh<hGGgGGnaGgGGnaGgGGnae>oo", UNNAMED, /**/
         "FFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBB OO",          /**/
         "000000000000000 000000000000000000000 --",          /**/
         "-000011112222-- --222222111111000000- --");
}

/* Eight in a row; seven may be anything. */
static void a_thread_works_back_that_launches_eight_in_a_row(void **state) {
  (void)state;
  expect("enGGgnGGgGh<GhgaGnAG>oo", UNNAMED, /**/
         "FFFFFFFFFFF BBBBBBBB OO",          /**/
         "00000000000 00000000 --",          /**/
         "-00001111-- -------- --");
  expect("enGGgnGGgGh<GhgaGnA>oo", UNNAMED, /**/
         "........... ??????? OO",          /**/
         "----------- ------- --",          /**/
         "-00001111-- ------- --");
}

static void expect_phases(const char *text, const char *phases) {
  struct hand hand;
  char shown[MOST];
  recover(&hand, text, NAMED, 0, 1);
  show(&hand, text, PHASE, shown);
  assert_string_equal(shown, phases);
  lumos_job_free(hand.job);
}

/* The longest takes 28.7 us: 1.2 us is no twentieth of it, and belongs to what is around; 2 us is a pass. */
static void less_than_a_twentieth_is_no_pass(void **state) {
  (void)state;
  expect_phases("enGGgnGGgGh<hGGgGGnaGgGGnae>nh<hGGgGGnaGgGGnae>oo", /**/
                "FFFFFFFFFFF BBBBBBBBBBBBBBB BB BBBBBBBBBBBBBBB OO");
  expect_phases("enGGgnGGgGh<hGGgGGnaGgGGnae>nhn<hGGgGGnaGgGGnae>oo", /**/
                "FFFFFFFFFFF BBBBBBBBBBBBBBB FFF BBBBBBBBBBBBBBB OO");
}

/* Work back that goes on after a word of the program's own thread is for the same micro-batch: nothing ran forward and
 * nothing was received in between. On a stage, what is received in between is another one's. */
static void work_back_goes_on_after_an_interruption(void **state) {
  (void)state;
  struct hand hand;
  char shown[MOST];
  const char *interrupted = "enGGgnGGgGh<hGGgGGnaGgGGnae>nh<hGGgGGnaGgGGnae>enGGgnGGgGh<hGGgGGnaGgGGnae>oo";
  recover(&hand, interrupted, NAMED, 0, 1);
  show(&hand, interrupted, MICRO_BATCH, shown);
  assert_string_equal(shown, "00000000000 000000000000000 00 000000000000000 11111111111 111111111111111 --");
  assert_int_equal(hand.job->models.items[0].micro_batches, 2);
  lumos_job_free(hand.job);
  const char *received = "enGGgnGGgSenGGgnGGgSR<GGgGGnaGgGGnae>nR<GGgGGnaGgGGnae>oo";
  recover(&hand, received, NAMED, 0, 2);
  show(&hand, received, MICRO_BATCH, shown);
  assert_string_equal(shown, "000000000011111111110 00000000000000 01 11111111111111 --");
  lumos_job_free(hand.job);
}

/* They begin anew with every update. */
static void micro_batches_take_turns(void **state) {
  (void)state;
  expect("enGGgnGGgGh<hGGgGGnaGgGGnae>enGGgnGGgGh<hGGgGGnaGgGGnae>oo|enGGgnGGgGh<hGGgGGnaGgGGnae>oo", NAMED,
         "FFFFFFFFFFF BBBBBBBBBBBBBBB FFFFFFFFFFF BBBBBBBBBBBBBBB OO FFFFFFFFFFF BBBBBBBBBBBBBBB OO",
         "00000000000 000000000000000 11111111111 111111111111111 -- 00000000000 000000000000000 --",
         "-00001111-- --111111000000- -00001111-- --111111000000- -- -00001111-- --111111000000- --");
}

/* With every update, even within a step. */
static void an_update_begins_a_round(void **state) {
  (void)state;
  expect("enGGgnGGgGh<hGGgGGnaGgGGnae>ooenGGgnGGgGh<hGGgGGnaGgGGnae>oo", NAMED, /**/
         "FFFFFFFFFFF BBBBBBBBBBBBBBB OOFFFFFFFFFFF BBBBBBBBBBBBBBB OO",        /**/
         "00000000000 000000000000000 --00000000000 000000000000000 --",        /**/
         "-00001111-- --111111000000- ---00001111-- --111111000000- --");
}

/* Gradients set to zero are the optimizer's, and begin no step's counting anew. */
static void zeroing_is_the_optimizers(void **state) {
  (void)state;
  expect("zzenGGgnGGgGh<hGGgGGnaGgGGnae>enGGgnGGgGh<hGGgGGnaGgGGnae>oo", NAMED,
         "OOFFFFFFFFFFF BBBBBBBBBBBBBBB FFFFFFFFFFF BBBBBBBBBBBBBBB OO",
         "--00000000000 000000000000000 11111111111 111111111111111 --",
         "---00001111-- --111111000000- -00001111-- --111111000000- --");
}

/* One layer repeats nothing, but lies between the first of three norms and the third; with work done again, too. */
static void one_layer_lies_between_its_norms(void **state) {
  (void)state;
  expect("enGgggAgGanGgGanGh<hGGnGGgGGnaGGgAgggGGnae>oo", NAMED, /**/
         "FFFFFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBBBB OO",        /**/
         "000000000000000000 00000000000000000000000 --",        /**/
         "-00000000000000--- ----000000000000000000- --");
  expect("eanGgggAgGanGgGanGh<hGGnanGgggAgGanGgGaGGgGGnaGGgAgggGGnae>oo", NAMED, /**/
         "FFFFFFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB OO",        /**/
         "0000000000000000000 00000000000000000000000000000000000000 --",        /**/
         "--00000000000000--- ----000000000000000000000000000000000- --");
}

/* Without attention, with more norms, or where something multiplies before the first, nothing says that it is a
 * layer. */
static void what_lies_between_other_norms_is_no_layer(void **state) {
  (void)state;
  static const char *const texts[] = {
      "enGhhghGhhanGgGanGh<hGGnGGgGGnaGGhhghhGhGhnae>oo", "enGgggAgGanGgGananGh<hGGnanGGgGGnaGGgAgggGGnae>oo",
      "eGnGgggAgGanGgGanGh<hGGnGGgGGnaGGgAgggGGnaGe>oo", "enGgggAgGanGgGanh<hnGGgGGnaGGgAgggGGnae>oo",
      "enGghAhgGhhanGAanGh<hGGnGAnaGGghAhgGhGnae>oo"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct hand hand;
    recover(&hand, texts[i], NAMED, 0, 1);
    for (uint32_t k = 0; k < hand.count; k++) {
      if (hand.job->tasks.items[hand.tasks[k]].layer != LUMOS_ABSENT_INT) {
        fail_msg("%s: launch %u", texts[i], k);
      }
    }
    lumos_job_free(hand.job);
  }
}

/* Sums that only the last pass back has, and sums where forward shares nothing, are of no layer. */
static void gradients_in_buckets_are_of_no_layer(void **state) {
  (void)state;
  expect("enGGgnGGgGh<hGGgGGnaGgGGnae>enGGgnGGgGh<hGGgGGnaCGgGGnaCe>oo", NAMED,
         "FFFFFFFFFFF BBBBBBBBBBBBBBB FFFFFFFFFFF BBBBBBBBBBBBBBBBB OO",
         "00000000000 000000000000000 11111111111 11111111111111111 --",
         "-00001111-- --111111000000- -00001111-- --111111-000000-- --");
  expect("enGGgnGGgGh<hGGgGGnCaGgGGnCae>oo", NAMED, "FFFFFFFFFFF BBBBBBBBBBBBBBBBB OO",
         "00000000000 00000000000000000 --", "-00001111-- --11111-100000-0- --");
}

/* Though they run where layers share, too: those that some passes lack, and those of another group. */
static void gradients_among_sums_of_layers_are_of_no_layer(void **state) {
  (void)state;
  expect("enGGCgnGGCgGh<hGGgGGCnaGgGGCnae>enGGCgnGGCgGh<hGGgGGCnaUGgGGCnaUe>oo", NAMED,
         "FFFFFFFFFFFFF BBBBBBBBBBBBBBBBB FFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBB OO",
         "0000000000000 00000000000000000 1111111111111 1111111111111111111 --",
         "-0000011111-- --11111110000000- -0000011111-- --1111111-0000000-- --");
  expect("enGGCganGGCgaGh<hGGgGGCnaDGgGGCnaDe>oo", NAMED, /**/
         "FFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBB OO",        /**/
         "000000000000000 0000000000000000000 --",        /**/
         "-000000111111-- --1111111-0000000-- --");
}

/* Sums that some layers lack are no layer's. */
static void sums_of_some_layers_are_of_none(void **state) {
  (void)state;
  expect("enGGCgnGGgnGGCgGh<hGGgGGnaGgGGnaGgGGnae>oo", NAMED, /**/
         "FFFFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBB OO",        /**/
         "00000000000000000 000000000000000000000 --",        /**/
         "-000-01111222-2-- --222222111111000000- --");
}

/* What tensor-parallel layers share they share in both directions. */
static void sums_of_every_layer_are_its_own(void **state) {
  (void)state;
  expect("enGGCgnGGCgGh<hGGgGGCnaGgGGCnae>oo", NAMED, /**/
         "FFFFFFFFFFFFF BBBBBBBBBBBBBBBBB OO",        /**/
         "0000000000000 00000000000000000 --",        /**/
         "-0000011111-- --11111110000000- --");
}

/* Parameters gathered layer by layer have their gradients summed up and spread layer by layer, wherever; sums that do
 * not come as often are those of buckets. */
static void gathered_layers_spread_their_sums(void **state) {
  (void)state;
  expect("eUnGGgUnGGgUnGGgGh<hGGUgGGnaVUgGGnaVUgGGnaVe>oo", NAMED, /**/
         "FFFFFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBBBBBB OO",        /**/
         "000000000000000000 0000000000000000000000000 --",        /**/
         "-000001111122222-- ---222222211111110000000- --");
  expect("eUnGGgUnGGgUnGGgGh<hGGUgGGnaUgGGnaVUgGGnaVe>oo", NAMED, /**/
         "FFFFFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBBBBB OO",        /**/
         "000000000000000000 000000000000000000000000 --",        /**/
         "-000001111122222-- ---222222111111-000000-- --");
}

/* The second of three stages: each pass receives before and sends behind. */
static void transfers_serve_a_pass(void **state) {
  (void)state;
  expect_stage("RnGGgnGGgS R<GgGGnaGgGGna>S RnGGgnGGgS R<GgGGnaGgGGna>S oo", NAMED, 1, 3,
               "FFFFFFFFFF B BBBBBBBBBBBB B FFFFFFFFFF B BBBBBBBBBBBB B OO",
               "0000000000 0 000000000000 0 1111111111 1 111111111111 1 --",
               "-22223333- - 333333222222 - -22223333- - 333333222222 - --");
}

/* In one kernel with the next receive, most of them: the three that send alone are not those of the three passes
 * forward. */
static void transfers_both_ways_serve_what_is_sent(void **state) {
  (void)state;
  expect_stage("RnGGgnGGgS RnGGgnGGgB <GgGGnaGgGGna>B nGGgnGGgB <GgGGnaGgGGna>S R<GgGGnaGgGGna>S oo", NAMED, 1, 3,
               "FFFFFFFFFF FFFFFFFFFF  BBBBBBBBBBBB B FFFFFFFFF  BBBBBBBBBBBB B B BBBBBBBBBBBB B OO",
               "0000000000 1111111111  000000000000 0 222222222  111111111111 1 2 222222222222 2 --",
               "-22223333- -22223333-  333333222222 - 22223333-  333333222222 - - 333333222222 - --");
}

/* A zero-bubble schedule computes the gradients of weights behind, as many products as before. */
static void weights_that_are_put_off_have_layers(void **state) {
  (void)state;
  expect_stage("RnGGgnGGgS R<gGGnagGGnaGGGG>S RnGGgnGGgS R<gGGnagGGnaGGGG>S oo", NAMED, 1, 3,
               "FFFFFFFFFF B BBBBBBBBBBWWWW B FFFFFFFFFF B BBBBBBBBBBWWWW B OO",
               "0000000000 0 00000000000000 0 1111111111 1 11111111111111 1 --",
               "-22223333- - 33333222223322 - -22223333- - 33333222223322 - --");
}

/* Only pipelines do so. */
static void nothing_is_put_off_on_one_stage(void **state) {
  (void)state;
  expect("nGGgnGGgh<gGGnagGGnaGGGG>oo", NAMED, /**/
         "FFFFFFFFF BBBBBBBBBBBBBB OO",        /**/
         "000000000 00000000000000 --",        /**/
         "00001111- 1111100000---- --");
}

/* The sums of a bucket that was full before the first product are of the weights, and of the micro-batch whose products
 * follow. */
static void sums_go_with_the_weights_behind_them(void **state) {
  (void)state;
  expect_stage("RnGGgnGGgS R<gGGnagGGna>S RnGGgnGGgS R<gGGnagGGna>S<GGGGCGCGCGG>oo", NAMED, 1, 3,
               "FFFFFFFFFF B BBBBBBBBBB B FFFFFFFFFF B BBBBBBBBBB B WWWWWWWWWWW OO",
               "0000000000 0 0000000000 0 1111111111 1 1111111111 1 00001111111 --",
               "-22223333- - 3333322222 - -22223333- - 3333322222 - 3322-3-3-22 --");
  expect_stage("RnGGgnGGgS R<gGGnagGGnaGGGG>S RnGGgnGGgS R<gGGnagGGnaCGCGCGG>S oo", NAMED, 1, 3,
               "FFFFFFFFFF B BBBBBBBBBBWWWW B FFFFFFFFFF B BBBBBBBBBBWWWWWWW B OO",
               "0000000000 0 00000000000000 0 1111111111 1 11111111111111111 1 --",
               "-22223333- - 33333222223322 - -22223333- - 3333322222-3-3-22 - --");
}

/* Nothing goes back and nothing is updated: no phase; layers where there is an embedding or a head beside them. */
static void inference_stays_other(void **state) {
  (void)state;
  expect("enGGgnGGgnGGgGh", NAMED, /**/
         "...............",        /**/
         "---------------",        /**/
         "-000011112222--");
  expect("nGGgnGGgnGGg", NAMED, "............", "------------",
         "------------"); /* the same again and again is no model */
}

/* Where less than two multiply, whatever repeats is no layer. */
static void layers_multiply(void **state) {
  (void)state;
  expect("enGagnGagnGagGh<hGGgaanaGgaanaGgaanae>oo", NAMED, /**/
         "FFFFFFFFFFFFFFF BBBBBBBBBBBBBBBBBBBBB OO",        /**/
         "000000000000000 000000000000000000000 --",        /**/
         "--------------- --------------------- --");
  expect("enagnagnagGh<hGgaagaagaae>oo", NAMED, /**/
         "FFFFFFFFFFFF BBBBBBBBBBBB OO",        /**/
         "000000000000 000000000000 --",        /**/
         "------------ ------------ --");
}

/* Calls belong to what they launch. */
static void what_a_thread_does_belongs_to_what_it_launches(void **state) {
  (void)state;
  static const char text[] = "enGGgnGGgnGGgGh<hGGgGGnaGgGGnaGgGGnae>oo";
  struct hand hand;
  recover(&hand, text, NAMED, 0, 1);
  for (uint32_t i = 0; i < hand.count; i++) {
    const struct lumos_task *call = &hand.job->tasks.items[hand.calls[i]],
                            *task = &hand.job->tasks.items[hand.tasks[i]];
    assert_int_equal(call->phase, task->phase);
    assert_int_equal(call->micro_batch, task->micro_batch);
    assert_int_equal(call->layer, task->layer);
    assert_int_equal(call->part, task->part);
  }
  lumos_job_free(hand.job);
}

/* Work whose call was not recorded is the end of a step, as it is where a step was recorded whole. */
static void what_was_launched_before_the_recording_is_like_a_later_step(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0), thread = add_thread(job, rank, "1"), stream = add_stream(job, rank, "7");
  uint32_t launches[4];
  for (uint32_t i = 0; i < 4; i++) {
    launches[i] = add_launch(job, thread, 10000 + LAUNCH * i, LAUNCH / 2);
  }
  uint32_t before = add_task(job, stream, LUMOS_OPTIMIZER, "adam", 0, 1000);
  job->tasks.items[before].step = LUMOS_ABSENT_INT;
  for (uint32_t i = 0; i < 4; i++) {
    uint32_t task = add_task(job, stream, i == 3 ? LUMOS_OPTIMIZER : LUMOS_ELEMENTWISE, i == 3 ? "adam" : "add",
                             11000 + LAUNCH * i, 500);
    job->tasks.items[task].call = launches[i];
  }
  struct lumos_error error = {0};
  assert_true(lumos_job_arrange(job, &error) && lumos_program_recover(job, &error));
  assert_int_equal(job->tasks.items[before].phase, LUMOS_OPTIMIZER_PHASE);
  lumos_job_free(job);
}

static void an_empty_rank_is_no_harm(void **state) {
  (void)state;
  struct lumos_job *job = new_job();
  uint32_t rank = add_rank(job, 0);
  (void)add_thread(job, rank, "1");
  struct lumos_error error = {0};
  assert_true(lumos_job_arrange(job, &error) && lumos_program_recover(job, &error));
  assert_int_equal(job->models.count, 0);
  lumos_job_free(job);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_goes_forward_back_and_updates),
      cmocka_unit_test(threads_need_no_names),
      cmocka_unit_test(a_thread_works_back_that_launches_eight_in_a_row),
      cmocka_unit_test(less_than_a_twentieth_is_no_pass),
      cmocka_unit_test(micro_batches_take_turns),
      cmocka_unit_test(work_back_goes_on_after_an_interruption),
      cmocka_unit_test(zeroing_is_the_optimizers),
      cmocka_unit_test(gradients_in_buckets_are_of_no_layer),
      cmocka_unit_test(sums_of_every_layer_are_its_own),
      cmocka_unit_test(gradients_among_sums_of_layers_are_of_no_layer),
      cmocka_unit_test(gathered_layers_spread_their_sums),
      cmocka_unit_test(one_layer_lies_between_its_norms),
      cmocka_unit_test(what_lies_between_other_norms_is_no_layer),
      cmocka_unit_test(transfers_serve_a_pass),
      cmocka_unit_test(weights_that_are_put_off_have_layers),
      cmocka_unit_test(transfers_both_ways_serve_what_is_sent),
      cmocka_unit_test(sums_go_with_the_weights_behind_them),
      cmocka_unit_test(an_update_begins_a_round),
      cmocka_unit_test(sums_of_some_layers_are_of_none),
      cmocka_unit_test(nothing_is_put_off_on_one_stage),
      cmocka_unit_test(inference_stays_other),
      cmocka_unit_test(layers_multiply),
      cmocka_unit_test(what_a_thread_does_belongs_to_what_it_launches),
      cmocka_unit_test(what_was_launched_before_the_recording_is_like_a_later_step),
      cmocka_unit_test(an_empty_rank_is_no_harm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
