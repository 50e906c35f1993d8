/* Gradients put into buckets, and how recorded buckets were filled, worked out on paper. */
#include "unit/unit.h"

#include "rebuild/buckets.h"

enum { MOST = 8, MB = 1000000 };

struct gradients {
  struct rebuild_gradient items[MOST];
  size_t count;
};

/* Of so many MB, of 4 bytes a number, in one layer; 0 ends the list. */
static struct gradients gradients_of(const int64_t *megabytes) {
  struct gradients gradients = {.count = 0};
  for (; megabytes[gradients.count] != 0; gradients.count++) {
    gradients.items[gradients.count] = (struct rebuild_gradient){.after = (uint32_t)gradients.count,
                                                                 .layer = 3,
                                                                 .part = LUMOS_PART_LAYER,
                                                                 .elements = megabytes[gradients.count] * MB / 4};
  }
  return gradients;
}

static struct rebuild_filling filling_up_to(int64_t megabytes, bool before) {
  return (struct rebuild_filling){
      .bucket_bytes = megabytes * MB, .before = before, .megatron = true, .overlaps = true, .replicas = 2};
}

static void expect(const struct rebuild_filling *filling, const struct gradients *gradients, const int64_t *megabytes) {
  struct rebuild_buckets buckets = {0};
  size_t i = 0;
  rebuild_buckets_fill(filling, gradients->items, gradients->count, &buckets);
  for (; megabytes[i] != 0; i++) {
    assert_true(i < buckets.count);
    assert_int_equal(buckets.items[i].bytes, megabytes[i] * MB);
  }
  assert_int_equal(buckets.count, i);
  lumos_vector_free(&buckets);
}

#define LIST(...) ((const int64_t[]){__VA_ARGS__, 0})

static void buckets_are_closed_when_they_are_full(void **state) {
  (void)state;
  struct gradients gradients = gradients_of(LIST(40, 40, 40, 10, 80, 20));
  struct rebuild_filling filling = filling_up_to(60, false);
  expect(&filling, &gradients, LIST(80, 130, 20));
  filling.before = true;
  expect(&filling, &gradients, LIST(40, 40, 50, 80, 20));
}

/* A stage with layers 4 and 5, and 0 and 1: each of these chunks has buckets of its own. */
static void chunks_share_no_bucket(void **state) {
  (void)state;
  static const int32_t layers[] = {LUMOS_ABSENT_INT, 5, 4, 1, 0, LUMOS_ABSENT_INT};
  struct gradients gradients = gradients_of(LIST(1, 2, 4, 8, 16, 32));
  struct rebuild_filling filling = filling_up_to(1000, false);
  for (size_t i = 0; i < gradients.count; i++) {
    gradients.items[i].layer = layers[i];
  }
  expect(&filling, &gradients, LIST(7, 56));
}

/* Of weights that the embedding and the head share there is one gradient, which is there with the embedding's. */
static void what_is_shared_counts_once(void **state) {
  (void)state;
  struct gradients gradients = gradients_of(LIST(30, 5, 30));
  struct rebuild_filling filling = filling_up_to(1000, false);
  gradients.items[0].part = LUMOS_PART_HEAD;
  gradients.items[2].part = LUMOS_PART_EMBEDDING;
  filling.tied = true;
  expect(&filling, &gradients, LIST(35));
  filling.tied = false;
  expect(&filling, &gradients, LIST(65));
}

/* Weights of a layer come behind the embedding's where they are put off, and stand in buckets before it: 40 of a layer
 * are there first, then the embedding, then 40 more. The bucket of the embedding is full with the embedding, that of
 * the layer later. */
static void the_embedding_stands_last(void **state) {
  (void)state;
  struct gradients gradients = gradients_of(LIST(40, 100, 40));
  struct rebuild_filling filling = filling_up_to(80, false);
  gradients.items[1].part = LUMOS_PART_EMBEDDING;
  gradients.items[1].layer = LUMOS_ABSENT_INT;
  expect(&filling, &gradients, LIST(100, 80));
  struct rebuild_buckets buckets = {0};
  rebuild_buckets_fill(&filling, gradients.items, gradients.count, &buckets);
  assert_int_equal(buckets.items[0].after, 1);
  assert_int_equal(buckets.items[1].after, 2);
  lumos_vector_free(&buckets);
}

static void find(struct rebuild_filling *filling, const struct gradients *gradients, const int64_t *megabytes) {
  int64_t recorded[MOST];
  size_t count = 0;
  for (; megabytes[count] != 0; count++) {
    recorded[count] = megabytes[count] * MB + 512; /* padded */
  }
  const struct rebuild_recorded_buckets buckets = {recorded, NULL, count, 0};
  rebuild_filling_find(filling, gradients->items, gradients->count, &buckets);
}

/* 80 and 40 show a limit above 40 and up to 80: five of 40 come to 80, 80 and 40. */
static void recorded_buckets_show_their_limit(void **state) {
  (void)state;
  struct gradients three = gradients_of(LIST(40, 40, 40)), five = gradients_of(LIST(40, 40, 40, 40, 40));
  struct rebuild_filling filling = filling_up_to(0, false);
  find(&filling, &three, LIST(80, 40));
  assert_true(filling.bucket_bytes > 40 * MB && filling.bucket_bytes <= 80 * MB);
  assert_false(filling.before);
  expect(&filling, &five, LIST(80, 80, 40));
  /* 20 is closed, though 40 alone is not: before it held more than 50. */
  struct gradients uneven = gradients_of(LIST(20, 40, 10, 20, 40));
  filling = filling_up_to(0, false);
  find(&filling, &uneven, LIST(20, 50, 20, 40));
  assert_true(filling.before);
  assert_true(filling.bucket_bytes >= 50 * MB && filling.bucket_bytes < 60 * MB);
}

/* What is known stands, as far as the recording does not show otherwise; a single bucket shows none, and Megatron-LM's
 * is larger: 160 MB. */
static void what_recorded_buckets_do_not_show_stays(void **state) {
  (void)state;
  struct gradients three = gradients_of(LIST(40, 40, 40));
  struct rebuild_filling filling = filling_up_to(70, false);
  find(&filling, &three, LIST(80, 40));
  assert_int_equal(filling.bucket_bytes, 70 * MB);
  filling = filling_up_to(130, false);
  find(&filling, &three, LIST(80, 40));
  assert_true(filling.bucket_bytes > 40 * MB && filling.bucket_bytes <= 80 * MB);
  filling = filling_up_to(0, false);
  find(&filling, &three, LIST(120));
  assert_int_equal(filling.bucket_bytes, 0);
  struct gradients five = gradients_of(LIST(40, 40, 40, 40, 40));
  expect(&filling, &five, LIST(160, 40));
}

/* Sizes of a model that was made twice as wide: what a bucket of several gradients holds is an estimate, as the 90 for
 * twice 20 is, and so is the sum; the others show that a bucket is closed before it holds more than it may, for 10
 * stand alone. Gradients are of two or four bytes a number. */
static void resized_buckets_show_their_habit(void **state) {
  (void)state;
  struct gradients gradients = gradients_of(LIST(10, 60, 10, 60, 20, 20));
  struct rebuild_filling filling = filling_up_to(0, false);
  find(&filling, &gradients, LIST(10, 60, 10, 60, 90));
  assert_false(filling.before);
  filling = filling_up_to(0, false);
  filling.resized = true;
  find(&filling, &gradients, LIST(10, 60, 10, 60, 90));
  assert_true(filling.before);
  const struct rebuild_gradient gradient = {.elements = 100};
  const int64_t sums[] = {1700, 3100, 4200};
  const int64_t bytes[] = {200, 400, 400};
  for (int i = 0; i < 3; i++) {
    filling = (struct rebuild_filling){.recorded_bytes = sums[i], .recorded_elements = 1000, .resized = true};
    assert_int_equal(rebuild_gradient_bytes(&filling, &gradient), bytes[i]);
  }
}

/* Which of the gradients are of experts: the second and the fourth. */
static struct gradients gradients_with_experts(void) {
  struct gradients gradients = gradients_of(LIST(30, 40, 50, 40, 20));
  gradients.items[1].of_experts = gradients.items[3].of_experts = true;
  return gradients;
}

static void experts_have_buckets_of_their_own(void **state) {
  (void)state;
  struct gradients gradients = gradients_with_experts();
  struct rebuild_filling filling = filling_up_to(60, false);
  expect(&filling, &gradients, LIST(70, 90, 20)); /* where others have the same ones */
  struct rebuild_buckets buckets = {0};
  filling.of = REBUILD_FILL_OTHERS;
  expect(&filling, &gradients, LIST(80, 20));
  filling.of = REBUILD_FILL_EXPERTS;
  expect(&filling, &gradients, LIST(80));
  rebuild_buckets_fill(&filling, gradients.items, gradients.count, &buckets);
  assert_true(buckets.items[0].of_experts);
  assert_int_equal(buckets.items[0].after, 3);
  lumos_vector_free(&buckets);
}

/* Others come to 80 and 20 with every limit above 30 and up to 80; that experts' stand alone says that it is 40 at
 * most. */
static void both_kinds_of_buckets_show_the_limit(void **state) {
  (void)state;
  struct gradients gradients = gradients_with_experts();
  static const int64_t others[] = {80 * MB, 20 * MB}, experts[] = {40 * MB, 40 * MB};
  const struct rebuild_recorded_buckets recorded = {others, experts, 2, 2};
  struct rebuild_filling filling = filling_up_to(0, false);
  filling.of = REBUILD_FILL_OTHERS;
  rebuild_filling_find(&filling, gradients.items, gradients.count, &recorded);
  assert_true(filling.bucket_bytes > 30 * MB && filling.bucket_bytes <= 40 * MB);
  assert_int_equal(filling.of, REBUILD_FILL_OTHERS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(buckets_are_closed_when_they_are_full),
      cmocka_unit_test(chunks_share_no_bucket),
      cmocka_unit_test(what_is_shared_counts_once),
      cmocka_unit_test(the_embedding_stands_last),
      cmocka_unit_test(recorded_buckets_show_their_limit),
      cmocka_unit_test(what_recorded_buckets_do_not_show_stays),
      cmocka_unit_test(resized_buckets_show_their_habit),
      cmocka_unit_test(experts_have_buckets_of_their_own),
      cmocka_unit_test(both_kinds_of_buckets_show_the_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
