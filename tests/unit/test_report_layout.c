/* Layouts: what dot makes of small graphs, and engines that misbehave in every way that a process can. No outcome
 * depends on how fast the machine is: what must be in time gets minutes, what hangs would hang for ever. */
#include "unit.h"

#include "base/text.h"
#include "report/draw/layout.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { MINUTES = 300000, MOMENT = 50, WIDTH = 1000, HEIGHT = 400 };

static void add_node(struct report_layout_graph *graph, uint32_t column) {
  struct report_layout_node node = {WIDTH, HEIGHT, column};
  lumos_vector_push(&graph->nodes, node);
}

static void add_edge(struct report_layout_graph *graph, uint32_t from, uint32_t to) {
  struct report_layout_edge edge = {from, to, 1};
  lumos_vector_push(&graph->edges, edge);
}

/* 0 -> 1 -> 3, 0 -> 2 -> 3: a diamond. */
static struct report_layout_graph diamond(void) {
  struct report_layout_graph graph = {0};
  for (uint32_t i = 0; i < 4; i++) {
    add_node(&graph, i == 2 ? 1 : 0);
  }
  add_edge(&graph, 0, 1);
  add_edge(&graph, 0, 2);
  add_edge(&graph, 1, 3);
  add_edge(&graph, 2, 3);
  return graph;
}

static void free_graph(struct report_layout_graph *graph) {
  lumos_vector_free(&graph->nodes);
  lumos_vector_free(&graph->edges);
}

/* Open descriptors of this process. */
static int descriptors(void) { return unit_folder_count("/proc/self/fd"); }

/* An outcome that leaves neither a child nor a descriptor behind. */
static enum report_layout_outcome outcome_of(report_layout_engine *engine, int limit) {
  struct report_layout_graph graph = diamond();
  struct report_layout layout;
  int before = descriptors();
  enum report_layout_outcome outcome = report_layout_make(&graph, engine, limit, &layout);
  assert_int_equal(descriptors(), before);
  errno = 0;
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
  if (outcome != LAYOUT_DONE) {
    assert_null(layout.places);
    assert_int_equal(layout.points.count, 0);
  }
  report_layout_free(&layout);
  free_graph(&graph);
  return outcome;
}

static bool near(int32_t left, int32_t right) { return left - right <= 10 && right - left <= 10; }

/* On the border of a node, within a pixel. */
static bool on_border(struct report_point point, struct report_point corner) {
  bool across = point.x >= corner.x - 10 && point.x <= corner.x + WIDTH + 10;
  bool along = point.y >= corner.y - 10 && point.y <= corner.y + HEIGHT + 10;
  bool upright = near(point.x, corner.x) || near(point.x, corner.x + WIDTH);
  bool level = near(point.y, corner.y) || near(point.y, corner.y + HEIGHT);
  return (upright && along) || (level && across);
}

static void test_diamond(void **state) {
  (void)state;
  struct report_layout_graph graph = diamond();
  struct report_layout layout;
  assert_int_equal(report_layout_make(&graph, report_layout_graphviz, MINUTES, &layout), LAYOUT_DONE);
  const struct report_point *places = layout.places;
  assert_true(places[0].y + HEIGHT < places[1].y); /* time runs down */
  assert_int_equal(places[1].y, places[2].y);
  assert_true(places[1].y + HEIGHT < places[3].y);
  assert_int_equal(places[0].x, places[1].x); /* a column is straight */
  assert_int_equal(places[1].x, places[3].x);
  assert_true(places[2].x >= places[1].x + WIDTH || places[2].x + WIDTH <= places[1].x);
  for (size_t i = 0; i < graph.edges.count; i++) {
    size_t first = layout.edge_first[i];
    size_t count = layout.edge_first[i + 1] - first;
    assert_true(count >= 4 && count % 3 == 1);
    struct report_point start = layout.points.items[first];
    struct report_point end = layout.points.items[first + count - 1];
    assert_true(on_border(start, places[graph.edges.items[i].from]));
    assert_true(on_border(end, places[graph.edges.items[i].to]));
    assert_true(start.y < end.y);
  }
  report_layout_free(&layout);
  free_graph(&graph);
}

/* An edge against the order (the graph has a cycle) still runs from its source to its target. */
static void test_cycle(void **state) {
  (void)state;
  struct report_layout_graph graph = {0};
  add_node(&graph, 0);
  add_node(&graph, 0);
  add_edge(&graph, 0, 1);
  add_edge(&graph, 1, 0);
  struct report_layout layout;
  assert_int_equal(report_layout_make(&graph, report_layout_graphviz, MINUTES, &layout), LAYOUT_DONE);
  for (size_t i = 0; i < 2; i++) {
    size_t first = layout.edge_first[i];
    size_t last = layout.edge_first[i + 1] - 1;
    assert_true(on_border(layout.points.items[first], layout.places[i]));
    assert_true(on_border(layout.points.items[last], layout.places[1 - i]));
  }
  report_layout_free(&layout);
  free_graph(&graph);
}

/* A chain through five columns, half of the nodes, with shortcuts; every node of it with a neighbour that leads to
 * it. */
static struct report_layout_graph large(uint32_t nodes) {
  struct report_layout_graph graph = {0};
  uint32_t chain = nodes / 2;
  for (uint32_t i = 0; i < nodes; i++) {
    add_node(&graph, i < chain ? i / 3 % 5 : 5 + i % 3);
    if (i >= chain) {
      add_edge(&graph, i, i % chain);
    } else if (i > 0) {
      add_edge(&graph, i - 1, i);
      add_edge(&graph, i < 7 ? 0 : i - 7, i);
    }
  }
  return graph;
}

static void test_same_bytes(void **state) {
  (void)state;
  struct report_layout_graph graph = large(REPORT_LAYOUT_NODES);
  struct report_layout one;
  struct report_layout two;
  assert_int_equal(report_layout_make(&graph, report_layout_graphviz, MINUTES, &one), LAYOUT_DONE);
  assert_int_equal(report_layout_make(&graph, report_layout_graphviz, MINUTES, &two), LAYOUT_DONE);
  assert_int_equal(one.width, two.width);
  assert_int_equal(one.height, two.height);
  assert_memory_equal(one.places, two.places, graph.nodes.count * sizeof one.places[0]);
  assert_int_equal(one.points.count, two.points.count);
  assert_memory_equal(one.points.items, two.points.items, one.points.count * sizeof one.points.items[0]);
  for (size_t i = 0; i < graph.nodes.count; i++) {
    for (size_t k = 0; k < i; k++) {
      struct report_point a = one.places[i];
      struct report_point b = one.places[k];
      assert_true(a.x >= b.x + WIDTH || b.x >= a.x + WIDTH || a.y >= b.y + HEIGHT || b.y >= a.y + HEIGHT);
    }
  }
  report_layout_free(&one);
  report_layout_free(&two);
  free_graph(&graph);
}

static int never_called(const struct report_layout_graph *graph, int descriptor) {
  (void)graph;
  static const int32_t numbers[] = {1, 1};
  return write(descriptor, numbers, sizeof numbers) == sizeof numbers ? 0 : 1;
}

static void test_too_large(void **state) {
  (void)state;
  struct report_layout_graph graph = large(REPORT_LAYOUT_NODES + 1);
  struct report_layout layout;
  assert_int_equal(report_layout_make(&graph, never_called, MINUTES, &layout), LAYOUT_TOO_LARGE);
  report_layout_free(&layout);
  graph.nodes.count = 2;
  graph.edges.count = 0;
  for (int i = 0; i <= REPORT_LAYOUT_EDGES; i++) {
    add_edge(&graph, 0, 1);
  }
  assert_int_equal(report_layout_make(&graph, never_called, MINUTES, &layout), LAYOUT_TOO_LARGE);
  report_layout_free(&layout);
  free_graph(&graph);
}

static int hangs(const struct report_layout_graph *graph, int descriptor) {
  (void)graph;
  (void)descriptor;
  (void)signal(SIGTERM, SIG_IGN);
  while (pause() != 0) {
  }
  return 0;
}

/* The whole answer, but it stays. */
static int hangs_afterwards(const struct report_layout_graph *graph, int descriptor) {
  (void)report_layout_graphviz(graph, descriptor);
  (void)close(descriptor);
  return hangs(graph, descriptor);
}

static int aborts(const struct report_layout_graph *graph, int descriptor) {
  (void)report_layout_graphviz(graph, descriptor);
  abort();
}

static int crashes(const struct report_layout_graph *graph, int descriptor) {
  (void)report_layout_graphviz(graph, descriptor);
  (void)raise(SIGSEGV);
  return 0;
}

static int is_killed(const struct report_layout_graph *graph, int descriptor) {
  (void)report_layout_graphviz(graph, descriptor);
  (void)raise(SIGKILL);
  return 0;
}

static int fails(const struct report_layout_graph *graph, int descriptor) {
  (void)report_layout_graphviz(graph, descriptor);
  return 3;
}

static int says_nothing(const struct report_layout_graph *graph, int descriptor) {
  (void)graph;
  (void)descriptor;
  return 0;
}

static int writes(int descriptor, const void *bytes, size_t length) {
  struct lumos_text text = LUMOS_TEXT_TO(descriptor);
  lumos_text_add(&text, bytes, length);
  int status = lumos_text_flush(&text) ? 0 : 1;
  lumos_text_free(&text);
  return status;
}

static int garbage(const struct report_layout_graph *graph, int descriptor) {
  (void)graph;
  char bytes[4096];
  uint32_t random = 1;
  for (size_t i = 0; i < sizeof bytes; i++) {
    random = random * 1664525 + 1013904223;
    bytes[i] = (char)(random >> 24);
  }
  return writes(descriptor, bytes, sizeof bytes);
}

/* What dot answers, as bytes; the descriptor goes through a file of its own. */
static size_t good_answer(const struct report_layout_graph *graph, int32_t *numbers, size_t most) {
  FILE *file = tmpfile();
  if (file == NULL || report_layout_graphviz(graph, fileno(file)) != 0) {
    _exit(4);
  }
  rewind(file);
  size_t count = fread(numbers, sizeof numbers[0], most, file);
  (void)fclose(file);
  return count;
}

enum { MOST = 4096 };

static int half_an_answer(const struct report_layout_graph *graph, int descriptor) {
  int32_t numbers[MOST];
  return writes(descriptor, numbers, good_answer(graph, numbers, MOST) / 2 * sizeof numbers[0]);
}

static int a_byte_less(const struct report_layout_graph *graph, int descriptor) {
  int32_t numbers[MOST];
  return writes(descriptor, numbers, good_answer(graph, numbers, MOST) * sizeof numbers[0] - 1);
}

static int a_number_more(const struct report_layout_graph *graph, int descriptor) {
  int32_t numbers[MOST + 1];
  size_t count = good_answer(graph, numbers, MOST);
  numbers[count] = 0;
  return writes(descriptor, numbers, (count + 1) * sizeof numbers[0]);
}

/* Far more than any answer could hold: nobody must keep it all. */
static int floods(const struct report_layout_graph *graph, int descriptor) {
  (void)graph;
  static const char bytes[1 << 16];
  while (writes(descriptor, bytes, sizeof bytes) == 0) {
  }
  return 0;
}

static int spoilt(const struct report_layout_graph *graph, int descriptor, size_t at, int32_t number) {
  int32_t numbers[MOST];
  size_t count = good_answer(graph, numbers, MOST);
  numbers[at] = number;
  return writes(descriptor, numbers, count * sizeof numbers[0]);
}

/* width, height, x and y of four nodes, then the first edge's count and points. */
enum { AT_WIDTH = 0, AT_X = 2, AT_Y = 3, AT_COUNT = 10, AT_POINT = 11 };

static int no_width(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_WIDTH, 0);
}
static int vast(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_WIDTH, INT32_MAX);
}
static int left_of_all(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_X, -1);
}
static int below_all(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_Y, INT32_MAX);
}
static int two_points(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_COUNT, 2);
}
static int many_points(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_COUNT, INT32_MAX);
}
static int fewer_than_none(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_COUNT, -2);
}
static int far_away(const struct report_layout_graph *graph, int descriptor) {
  return spoilt(graph, descriptor, AT_POINT, INT32_MIN);
}
static int unspoilt(const struct report_layout_graph *graph, int descriptor) {
  int32_t numbers[MOST];
  return writes(descriptor, numbers, good_answer(graph, numbers, MOST) * sizeof numbers[0]);
}

/* An answer of its own, in which the first edge has `count` points and the others have none. */
static int first_edge(const struct report_layout_graph *graph, int descriptor, int32_t count) {
  int32_t numbers[MOST] = {5000, 5000};
  size_t at = 2 + 2 * graph->nodes.count;
  numbers[at] = count;
  at += graph->edges.count + 2 * (size_t)count;
  return writes(descriptor, numbers, at * sizeof numbers[0]);
}
static int four_points(const struct report_layout_graph *graph, int descriptor) {
  return first_edge(graph, descriptor, 4);
}
static int five_points(const struct report_layout_graph *graph, int descriptor) {
  return first_edge(graph, descriptor, 5);
}

static void test_hangs(void **state) {
  (void)state;
  assert_int_equal(outcome_of(hangs, MOMENT), LAYOUT_TIMED_OUT);
  assert_int_equal(outcome_of(hangs, 0), LAYOUT_TIMED_OUT);
  assert_int_equal(outcome_of(hangs, -1), LAYOUT_TIMED_OUT);
  assert_int_equal(outcome_of(hangs_afterwards, MOMENT), LAYOUT_TIMED_OUT);
}

static void test_crashes(void **state) {
  (void)state;
  assert_int_equal(outcome_of(aborts, MINUTES), LAYOUT_FAILED);
  assert_int_equal(outcome_of(crashes, MINUTES), LAYOUT_FAILED);
  assert_int_equal(outcome_of(is_killed, MINUTES), LAYOUT_FAILED);
  assert_int_equal(outcome_of(fails, MINUTES), LAYOUT_FAILED);
}

static void test_nonsense(void **state) {
  (void)state;
  static report_layout_engine *const engines[] = {
      says_nothing, garbage,   half_an_answer, a_byte_less, a_number_more, floods,          no_width,   vast,
      left_of_all,  below_all, two_points,     far_away,    many_points,   fewer_than_none, five_points};
  assert_int_equal(outcome_of(unspoilt, MINUTES), LAYOUT_DONE);
  assert_int_equal(outcome_of(four_points, MINUTES), LAYOUT_DONE);
  for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
    assert_int_equal(outcome_of(engines[i], MINUTES), LAYOUT_FAILED);
  }
}

/* A tool started with its standard descriptors closed gets a pipe with their numbers. */
static void test_closed_descriptors(void **state) {
  (void)state;
  int kept[3];
  for (int standard = 0; standard < 3; standard++) {
    kept[standard] = fcntl(standard, F_DUPFD_CLOEXEC, 10);
    assert_int_equal(close(standard), 0);
  }
  struct report_layout_graph graph = diamond();
  struct report_layout layout;
  enum report_layout_outcome outcome = report_layout_make(&graph, report_layout_graphviz, MINUTES, &layout);
  for (int standard = 0; standard < 3; standard++) {
    int open = fcntl(standard, F_GETFD);
    (void)dup2(kept[standard], standard);
    (void)close(kept[standard]);
    assert_int_equal(open, -1);
  }
  assert_int_equal(outcome, LAYOUT_DONE);
  report_layout_free(&layout);
  free_graph(&graph);
}

/* Speaks on all standard descriptors before it answers. */
static int talks(const struct report_layout_graph *graph, int descriptor) {
  static const char words[] = "the child speaks\n";
  bool silent = write(STDOUT_FILENO, words, sizeof words - 1) > 0 && write(STDERR_FILENO, words, sizeof words - 1) > 0;
  return silent ? report_layout_graphviz(graph, descriptor) : 5;
}

static void test_silence(void **state) {
  (void)state;
  int ends[2];
  assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  int kept[3];
  for (int standard = 1; standard < 3; standard++) {
    kept[standard] = fcntl(standard, F_DUPFD_CLOEXEC, 10);
    (void)dup2(ends[1], standard);
  }
  enum report_layout_outcome outcome = outcome_of(talks, MINUTES);
  for (int standard = 1; standard < 3; standard++) {
    (void)dup2(kept[standard], standard);
    (void)close(kept[standard]);
  }
  char byte = 0;
  assert_int_equal(read(ends[0], &byte, 1), -1);
  assert_int_equal(outcome, LAYOUT_DONE);
  (void)close(ends[0]);
  (void)close(ends[1]);
}

/* Where children are reaped by the system, their answers still count, and hanging ones are still ended. */
static void test_children_ignored(void **state) {
  (void)state;
  void (*before)(int) = signal(SIGCHLD, SIG_IGN);
  assert_int_equal(outcome_of(report_layout_graphviz, MINUTES), LAYOUT_DONE);
  assert_int_equal(outcome_of(hangs, MOMENT), LAYOUT_TIMED_OUT);
  assert_int_equal(outcome_of(half_an_answer, MINUTES), LAYOUT_FAILED);
  (void)signal(SIGCHLD, before);
}

static void test_no_descriptors(void **state) {
  (void)state;
  struct rlimit before;
  assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = {0, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  struct report_layout_graph graph = diamond();
  struct report_layout layout;
  enum report_layout_outcome outcome = report_layout_make(&graph, report_layout_graphviz, MINUTES, &layout);
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
  assert_int_equal(outcome, LAYOUT_NO_DESCRIPTORS);
  report_layout_free(&layout);
  free_graph(&graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_diamond),        cmocka_unit_test(test_cycle),
      cmocka_unit_test(test_same_bytes),     cmocka_unit_test(test_too_large),
      cmocka_unit_test(test_hangs),          cmocka_unit_test(test_crashes),
      cmocka_unit_test(test_nonsense),       cmocka_unit_test(test_closed_descriptors),
      cmocka_unit_test(test_silence),        cmocka_unit_test(test_children_ignored),
      cmocka_unit_test(test_no_descriptors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
