/* The layers of a sequence, by hand: one letter a launch, the same letter for the same work. Every launch takes 10 ns
 * but those in capitals, which take 100. */
#include "program/recovery/layers.h"
#include "unit/unit.h"

enum { MOST = 512 };

struct hand {
  uint32_t symbols[MOST];
  int64_t weights[MOST];
  struct lumos_sequence sequence;
};

static const struct lumos_sequence *hand(struct hand *hand, const char *text) {
  uint32_t count = 0;
  for (; text[count] != '\0'; count++) {
    assert_true(count < MOST);
    hand->symbols[count] = (unsigned char)text[count];
    hand->weights[count] = text[count] >= 'A' && text[count] <= 'Z' ? 100 : 10;
  }
  hand->sequence = (struct lumos_sequence){.symbols = hand->symbols, .weights = hand->weights, .count = count};
  return &hand->sequence;
}

/* The sequence with its layers in brackets: "e[abc][abc]h"; as it is when there are none. */
static void found_in(const struct lumos_sequence *sequence, uint32_t wanted, char *shown) {
  struct lumos_layers layers = lumos_layers_find(sequence, wanted);
  uint32_t length = 0;
  for (uint32_t i = 0, k = 0; i <= sequence->count; i++) {
    if (layers.count > 0 && k <= layers.count && layers.starts[k] == i) {
      length += (uint32_t)snprintf(shown + length, 3, "%s%s", k > 0 ? "]" : "", k < layers.count ? "[" : "");
      k++;
    }
    if (i < sequence->count) {
      shown[length++] = (char)sequence->symbols[i];
    }
  }
  shown[length] = '\0';
  lumos_layers_free(&layers);
}

static void expect_wanted(const char *bracketed, uint32_t wanted) {
  char plain[MOST], shown[3 * MOST];
  uint32_t count = 0;
  for (const char *at = bracketed; *at != '\0'; at++) {
    plain[count] = *at;
    count += *at != '[' && *at != ']';
  }
  plain[count] = '\0';
  struct hand by;
  found_in(hand(&by, plain), wanted, shown);
  assert_string_equal(shown, bracketed);
}

static void expect(const char *bracketed) { expect_wanted(bracketed, 0); }

/* A norm, a product, attention (*) or an activation, a product: the halves are alike, and take as long. */
static void halves_with_and_without_attention_are_one_layer(void **state) {
  (void)state;
  static const char text[] = "xncccB*ccDancccBgccDancccB*ccDancccBgccDau";
  char shown[3 * MOST];
  uint8_t kinds[sizeof text];
  struct hand by;
  hand(&by, text);
  found_in(&by.sequence, 0, shown);
  assert_string_equal(shown, "x[ncccB*ccDa][ncccBgccDa][ncccB*ccDa][ncccBgccDa]u");
  for (size_t i = 0; i < sizeof text; i++) {
    kinds[i] = text[i] == '*'                     ? LUMOS_LAUNCH_ATTENTION
               : text[i] == 'B' || text[i] == 'D' ? LUMOS_LAUNCH_PRODUCT
                                                  : LUMOS_LAUNCH_OTHER;
  }
  by.sequence.kinds = kinds;
  by.sequence.products = 1; /* the pieces have two: they are layers that mix tokens by other means */
  found_in(&by.sequence, 0, shown);
  assert_string_equal(shown, "x[ncccB*ccDa][ncccBgccDa][ncccB*ccDa][ncccBgccDa]u");
  by.sequence.products = 3;
  found_in(&by.sequence, 4, shown); /* as many as are wanted */
  assert_string_equal(shown, "x[ncccB*ccDa][ncccBgccDa][ncccB*ccDa][ncccBgccDa]u");
  found_in(&by.sequence, 0, shown);
  assert_string_equal(shown, "x[ncccB*ccDancccBgccDa][ncccB*ccDancccBgccDa]u");
}

static void layers_lie_between_embedding_and_head(void **state) {
  (void)state;
  expect("xyz[aBcDefghij][aBcDefghij][aBcDefghij][aBcDefghij]uvw");
  expect("x[aBcDe][aBcDe]u");
  expect("xyz[aBcDe][aBcDe][aBcDe][aBcDe]uvw");
  expect("xyz[aBc][aBc][aBc][aBc]uvw");
  expect("[aBcDe][aBcDe][aBcDe]");
}

static void what_some_layers_lack_or_have_more_does_no_harm(void **state) {
  (void)state;
  expect("xy[aBcDefgh][aBcDefgh][aBcDegh][aBcDefgh]uv");
  expect("xy[aBcDefgh][aBcDqefgh][aBcDefgh][aBcDefgh]uv");
  expect("xy[aBcDefgh][aBcDefgh][aBcDrfgh][aBcDefgh]uv");
}

/* "b" comes twice a layer, "C" once: halves of a layer differ, layers do not. */
static void an_anchor_comes_once_a_layer(void **state) {
  (void)state;
  expect("x[abCbdefg][abCbdefg][abCbdefg]u");
  expect("x[aBcBdefg][aBcBdefg][aBcBdefg][aBcBdefg]u");
}

/* Layers in twos that are nearly alike are as many layers as there are, not half as many. */
static void more_and_shorter_layers_win(void **state) {
  (void)state;
  expect("x[aBcDefghijkl][aBcDefghijkm][aBcDefghijkl][aBcDefghijkm]u");
}

static void what_never_repeats_has_no_layers(void **state) {
  (void)state;
  expect("");
  expect("abc");
  expect("abcdefghijklm");
  expect("aBcDefghAijkBl");
}

/* Attention, and what follows it in the same layer, begin and end alike. */
static void halves_of_a_layer_are_no_layers(void **state) {
  (void)state;
  expect("epncGrsstascGdncGgcGdncGlmkxyz");
}

/* Less than 30 launches in 100, or 10 of 100 of the work, are no layers of the sequence. */
static void a_small_part_of_the_sequence_is_no_model(void **state) {
  (void)state;
  expect("abcdefghijklmnopqrstuvwxyz123456789_rsrsrs");
  expect("[abcde][abcde][abcde]XYZ");
  expect("abcdeabcdeabcdeKLMNOPQRSTUVWXYZ");
  expect("[abcde][abcde][abcde]fghijklmnopqrstuvwxyz0123456789#+-_"); /* 15 of 50 */
  expect("abcdeabcdeabcdefghijklmnopqrstuvwxyz0123456789#+-_*");      /* of 51 */
  expect("[abcde][abcde][abcde]KLMNOPQRSTUVW");                       /* 150 of 1450 */
  expect("abcdeabcdeabcdeKLMNOPQRSTUVWXY");                           /* of 1650 */
}

/* The same launches that do other work each time are stages of a network that narrows. */
static void layers_do_the_same_work(void **state) {
  (void)state;
  struct hand by;
  char shown[3 * MOST];
  const struct lumos_sequence *sequence = hand(&by, "xabcdeabcdeabcdeabcdeu");
  for (uint32_t i = 1; i + 1 < sequence->count; i++) {
    by.weights[i] = 1000 >> 2 * ((i - 1) / 5);
  }
  found_in(sequence, 0, shown);
  assert_string_equal(shown, "xabcdeabcdeabcdeabcdeu");
  for (uint32_t i = 1; i + 1 < sequence->count; i++) {
    by.weights[i] = 1000 + 100 * ((i - 1) / 5); /* kernels are not equally long in all layers */
  }
  found_in(sequence, 0, shown);
  assert_string_equal(shown, "x[abcde][abcde][abcde][abcde]u");
}

static void layers_of_other_work_are_none(void **state) {
  (void)state;
  struct hand by;
  char shown[3 * MOST];
  const struct lumos_sequence *sequence = hand(&by, "xabcdeabcdeu");
  for (uint32_t i = 1; i < 6; i++) {
    by.weights[i] = 30;
  }
  found_in(sequence, 0, shown);
  assert_string_equal(shown, "xabcdeabcdeu"); /* two, one of thrice the work */
  found_in(sequence, 2, shown);
  assert_string_equal(shown, "x[abcde][abcde]u"); /* but known to be two */
  sequence = hand(&by, "xabcdeabcdeabcdeabcdeabcdeu");
  for (uint32_t i = 1; i < 16; i++) {
    by.weights[i] = 100;
  }
  found_in(sequence, 0, shown);
  assert_string_equal(shown, "xabcdeabcdeabcdeabcdeabcdeu"); /* three alike, and two of a tenth */
}

/* A third off the median, which of two is the longer one: 75 and 50, or 80. */
static void layers_may_differ_by_a_third(void **state) {
  (void)state;
  struct hand by;
  char shown[3 * MOST];
  const struct lumos_sequence *sequence = hand(&by, "xabcdeabcdeu");
  for (int64_t weight = 15; weight <= 16; weight++) {
    for (uint32_t i = 1; i < 6; i++) {
      by.weights[i] = weight;
    }
    found_in(sequence, 0, shown);
    assert_string_equal(shown, weight == 15 ? "x[abcde][abcde]u" : "xabcdeabcdeu");
  }
}

/* One layer in four may be as long as it wants. */
static void one_slow_layer_is_a_layer(void **state) {
  (void)state;
  struct hand by;
  char shown[3 * MOST];
  const struct lumos_sequence *sequence = hand(&by, "xabcdeabcdeabcdeabcdeabcdeu");
  for (uint32_t i = 11; i < 16; i++) {
    by.weights[i] = 100;
  }
  found_in(sequence, 0, shown);
  assert_string_equal(shown, "x[abcde][abcde][abcde][abcde][abcde]u");
}

static void a_wanted_number_is_kept_to(void **state) {
  (void)state;
  expect_wanted("x[aBcDe][aBcDe][aBcDe][aBcDe]u", 4);
  expect_wanted("xaBcDeaBcDeaBcDeaBcDeu", 3);
  expect_wanted("xaBcDeaBcDeaBcDeaBcDeu", 400);
}

/* Work in another order each time agrees nowhere at the ends. Of layers whose number is known what lies between them is
 * enough; the last ends where two launches in a row are in no other. */
static void known_layers_need_no_ends_alike(void **state) {
  (void)state;
  expect_wanted("xBcdefBfedcBcdefBfedcBcdefBfedcuvw", 0);
  expect_wanted("x[Bcdef][Bfedc][Bcdef][Bfedc][Bcdef][Bfedc]uvw", 6);
  expect_wanted("x[Bcdef][Bfedc][Bcdef][Bfedc][Bcdef][Bfe]uvw", 6);
  expect_wanted("x[Bcdef][Bfedc][Bcdef][Bfedc][Bcdef][Bfude]vw", 6);
  expect_wanted("xBcdefBfedcBcdefuvw", 3);
}

/* A compiler gives buffers to and fro, so that a symbol stands in every other layer, and what lies between is the more
 * alike. */
static void symbols_of_every_other_layer_are_no_anchors(void **state) {
  (void)state;
  expect("e[abCd0fgHiJk1][abCd2fgHiJk3][abCd4fgHiJk5][abCd6fgHiJk3][abCd4fgHiJk5][abCd6fgHiJk3][abCd4fgHiJk5]["
         "abCd6fgHiJk7]"
         "uvwxyz");
}

static void a_known_layer_is_placed(void **state) {
  (void)state;
  struct hand by, of;
  uint32_t start, end;
  assert_true(lumos_layers_place(hand(&by, "xyzabcdefghuvw"), hand(&of, "abcdefgh"), &start, &end));
  assert_int_equal(start, 3);
  assert_int_equal(end, 11);
  assert_true(
      lumos_layers_place(hand(&by, "xyzabqcdfghuvw"), hand(&of, "abcdefgh"), &start, &end)); /* e lacks, q is more */
  assert_int_equal(start, 3);
  assert_int_equal(end, 11);
  assert_false(lumos_layers_place(hand(&by, "xyzabcuvw"), hand(&of, "abcdefgh"), &start, &end)); /* most lacks */
  assert_false(lumos_layers_place(hand(&by, ""), hand(&of, "abcdefgh"), &start, &end));
  assert_false(lumos_layers_place(hand(&by, "abc"), hand(&of, ""), &start, &end));
}

/* The first stage has the embedding, the last the head. */
static void stages_have_a_layer_in_common(void **state) {
  (void)state;
  struct hand by, of;
  uint32_t start, end;
  assert_true(lumos_layers_common(hand(&by, "xyzabcdefgh"), hand(&of, "abcdefghuvw"), &start, &end));
  assert_int_equal(start, 3);
  assert_int_equal(end, 11);
  assert_false(lumos_layers_common(hand(&by, "xyzabcd"), hand(&of, "efghuvw"), &start, &end));
  /* Half of the sequence must be common, or it is something else. */
  assert_false(lumos_layers_common(hand(&by, "12345678abcdefg"), hand(&of, "abcdefguvw"), &start, &end));
  assert_true(lumos_layers_common(hand(&by, "1234567abcdefg"), hand(&of, "abcdefguvw"), &start, &end));
  /* And most of the piece. */
  assert_false(lumos_layers_common(hand(&by, "a12b34c56d78"), hand(&of, "abcd"), &start, &end));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(halves_with_and_without_attention_are_one_layer),
      cmocka_unit_test(layers_lie_between_embedding_and_head),
      cmocka_unit_test(what_some_layers_lack_or_have_more_does_no_harm),
      cmocka_unit_test(an_anchor_comes_once_a_layer),
      cmocka_unit_test(more_and_shorter_layers_win),
      cmocka_unit_test(what_never_repeats_has_no_layers),
      cmocka_unit_test(halves_of_a_layer_are_no_layers),
      cmocka_unit_test(a_small_part_of_the_sequence_is_no_model),
      cmocka_unit_test(layers_do_the_same_work),
      cmocka_unit_test(layers_of_other_work_are_none),
      cmocka_unit_test(layers_may_differ_by_a_third),
      cmocka_unit_test(one_slow_layer_is_a_layer),
      cmocka_unit_test(a_wanted_number_is_kept_to),
      cmocka_unit_test(known_layers_need_no_ends_alike),
      cmocka_unit_test(symbols_of_every_other_layer_are_no_anchors),
      cmocka_unit_test(a_known_layer_is_placed),
      cmocka_unit_test(stages_have_a_layer_in_common),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
