/* What a step waits for, on jobs worked out on paper: the boxes, the arrows beside them, the sentence, the table that
 * adds up, and a page that stays whole whatever becomes of the layout. */
#include "sim_jobs.h"

#include "report/content/content.h"
#include "report/draw/look.h"
#include "report/forms/page.h"
#include <lumos/sim.h>
#include <signal.h>

/* A job whose stream order binds B by 4 ns: its launch call ends at 95, 2 ns later it could start; A ends at 100, 1 ns
 * later it does.
 *
 *   t1  launchA 0-10, launchB 10-95
 *   s7  A: launch 10 + 2 = 12, ends 100.  B: behind A 100 + 1 = 101, ends 111.
 */
/* clang-format off */
#define BESIDE(start, residual) JOB_TEXT_HEADER \
    "{'type':'rank','rank':0,'window':[0,200],'base':0," JOB_TEXT_COVERAGE "}\n" \
    "{'type':'lane','rank':0,'lane':'t1','kind':'thread','native':'1'}\n" \
    "{'type':'lane','rank':0,'lane':'s7','kind':'stream','native':'7'}\n" \
    "{'type':'task','id':'0:0','rank':0,'lane':'t1','seq':0,'kind':'launch','name':'launchA','start':0,'dur':10,'lag':0,'step':1}\n" \
    "{'type':'task','id':'0:1','rank':0,'lane':'t1','seq':1,'kind':'launch','name':'launchB','start':10,'dur':85,'lag':0,'step':1}\n" \
    "{'type':'task','id':'0:2','rank':0,'lane':'s7','seq':0,'kind':'gemm','name':'A','start':12,'dur':88,'lag':0,'gap':0,'step':1," \
    "'call':'0:0','launch_lag':2,'residual':0}\n" \
    "{'type':'task','id':'0:3','rank':0,'lane':'s7','seq':1,'kind':'norm','name':'B','start':" #start ",'dur':10,'lag':0,'gap':1,'step':1," \
    "'call':'0:1','launch_lag':2,'residual':" #residual "}\n" \
    "{'type':'dep','at':0,'dst':'0:0','kind':'boundary','from':'start','to':'start','lag':0,'evidence':'recorded','mode':'fixed'}\n"
static const char beside_job[] = BESIDE(101, 0);
/* B starts 5 later than any rule says. */
static const char late_beside_job[] = BESIDE(106, 5);
/* clang-format on */

/* A job with its dependencies. */
struct shown {
  struct lumos_job *job;
  struct report_content content;
};

static struct shown *show(const char *text, const struct lumos_report_options *options) {
  struct shown *shown = lumos_allocate(sizeof *shown);
  struct lumos_error error = {0};
  shown->job = job_from_text(text);
  if (!lumos_simulate(shown->job, &error) || !report_content_read(shown->job, options, &shown->content, &error)) {
    fail_msg("%s", error.text);
  }
  report_dependencies_settle(&shown->content.dependencies);
  assert_true(shown->content.dependencies.known);
  return shown;
}

static void forget(struct shown *shown) {
  report_content_free(&shown->content);
  lumos_job_free(shown->job);
  free(shown);
}

static const struct lumos_report_options plain;

struct expected_node {
  const char *name;
  int64_t tasks, from, run, lag, unexplained, lead;
  enum lumos_constraint_kind held_by;
};

static void check_chain(const struct shown *shown, const struct expected_node *expected, size_t count) {
  const struct report_dependencies *dependencies = &shown->content.dependencies;
  assert_int_equal(dependencies->chain_nodes, count);
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    const struct report_dependency_node *node = &dependencies->nodes.items[i];
    assert_string_equal(lumos_string(shown->job->strings, node->name), expected[i].name);
    assert_int_equal(node->tasks, expected[i].tasks);
    assert_int_equal(node->from, expected[i].from);
    assert_int_equal(node->time[LUMOS_PATH_RUN], expected[i].run);
    assert_int_equal(node->time[LUMOS_PATH_LAG], expected[i].lag);
    assert_int_equal(node->time[LUMOS_PATH_UNEXPLAINED], expected[i].unexplained);
    assert_int_equal(node->time[LUMOS_PATH_OUTSIDE], 0);
    int64_t lead = node->lead[LUMOS_PATH_LAG] + node->lead[LUMOS_PATH_UNEXPLAINED];
    assert_int_equal(lead, expected[i].lead);
    assert_int_equal(node->held.kind, expected[i].held_by);
    assert_false(node->neighbour);
    sum += node->until - node->from;
    if (i > 0) {
      const struct report_dependency_edge *edge = &dependencies->edges.items[i - 1];
      assert_true(edge->binding);
      assert_int_equal(edge->from, i - 1);
      assert_int_equal(edge->to, i);
      assert_int_equal(edge->kind, expected[i].held_by);
    }
  }
  assert_int_equal(sum, dependencies->chain.until - dependencies->chain.from);
}

#define CHECK_CHAIN(shown, ...)                                       \
  do {                                                                \
    const struct expected_node expected[] = {__VA_ARGS__};            \
    check_chain(shown, expected, sizeof expected / sizeof *expected); \
  } while (0)

static void check_text(struct lumos_text *text, const char *expected) {
  struct lumos_text spaced = LUMOS_TEXT_BUFFER; /* no-break spaces as plain ones */
  for (size_t i = 0; i < text->length; i++) {
    bool no_break = i + 1 < text->length && text->bytes[i] == '\xC2' && text->bytes[i + 1] == '\xA0';
    lumos_text_add(&spaced, no_break ? " " : &text->bytes[i], 1);
    i += no_break;
  }
  lumos_text_char(&spaced, '\0');
  assert_string_equal(spaced.bytes, expected);
  lumos_text_free(&spaced);
  lumos_text_free(text);
}

/* The chain of sim_jobs.h's first job: launch0 10, 2 to K0, K0 100, 4 by the event and 1 unexplained to K1, K1 50, 2 to
 * K3, K3 30. */
static void boxes_and_arrows_add_up_to_the_step(void **state) {
  (void)state;
  struct shown *shown = show(streams_job, &plain);
  CHECK_CHAIN(shown, {"launch0", 1, 0, 10, 0, 0, 0, LUMOS_HELD_BY_BOUNDARY},
              {"K0", 1, 10, 100, 2, 0, 2, LUMOS_HELD_BY_LAUNCH}, {"K1", 1, 112, 50, 4, 1, 5, LUMOS_HELD_BY_EVENT},
              {"K3", 1, 167, 30, 2, 0, 2, LUMOS_HELD_BY_STREAM});
  const struct report_dependencies *dependencies = &shown->content.dependencies;
  /* launch1 could come 90 later, launch3 117: more than a tenth of 199. */
  assert_int_equal(dependencies->nodes.count, 4);
  assert_int_equal(dependencies->edges.count, 3);
  assert_int_equal(dependencies->left_out, 2);
  assert_int_equal(dependencies->left_out_slack, 90);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_dependencies_finding(dependencies, &text);
  /* Of 199: K0 and K1 150, K3 30, launch0 10, lags 8; s7 has 102. */
  check_text(&text,
             "Step 1 takes 199 ns in the simulation: 75.4 % is compute kernels, 15.1 % copies, 5.0 % CPU work and "
             "4.5 % all else. 51.3 % of it is on compute 7.");
  report_put_dependencies_reading(dependencies, &text);
  check_text(
      &text,
      "4 tasks are on the critical path, on 3 lanes, each in a box of its own. 2 constraints with a slack of 90 ns or "
      "more are left out.");
  forget(shown);
}

/* In the job of two ranks the last member is C1: launchB 10, 1 to B, B 90, 2 to C1, from whose start the transfer of 40
 * runs, as C0, which ends 1 later than that, as recorded. */
static void a_chain_leads_through_the_last_rank(void **state) {
  (void)state;
  struct shown *shown = show(ranks_job, &plain);
  CHECK_CHAIN(shown, {"launchB", 1, 0, 10, 0, 0, 0, LUMOS_HELD_BY_BOUNDARY},
              {"B", 1, 10, 90, 1, 0, 1, LUMOS_HELD_BY_LAUNCH}, {"C1", 1, 101, 0, 2, 0, 2, LUMOS_HELD_BY_STREAM},
              {"C0", 1, 103, 40, 0, 1, 0, LUMOS_HELD_BY_COLLECTIVE});
  assert_int_equal(shown->content.dependencies.parts[CHAIN_COMMUNICATION], 40);
  assert_int_equal(shown->content.dependencies.parts[CHAIN_UNEXPLAINED], 1);
  forget(shown);
}

static void what_nearly_bound_stands_beside_the_chain(void **state) {
  (void)state;
  struct shown *shown = show(beside_job, &plain);
  CHECK_CHAIN(shown, {"launchA", 1, 0, 10, 0, 0, 0, LUMOS_HELD_BY_BOUNDARY},
              {"A", 1, 10, 88, 2, 0, 2, LUMOS_HELD_BY_LAUNCH}, {"B", 1, 100, 10, 1, 0, 1, LUMOS_HELD_BY_STREAM});
  const struct report_dependencies *dependencies = &shown->content.dependencies;
  assert_int_equal(dependencies->nodes.count, 4);
  const struct report_dependency_node *node = &dependencies->nodes.items[3];
  assert_true(node->neighbour);
  assert_string_equal(lumos_string(shown->job->strings, node->name), "launchB");
  assert_int_equal(node->slack, 4);
  assert_int_equal(node->tasks, 1);
  const struct report_dependency_edge *edge = &dependencies->edges.items[2];
  assert_false(edge->binding);
  assert_int_equal(edge->from, 3);
  assert_int_equal(edge->to, 2);
  assert_int_equal(edge->kind, LUMOS_HELD_BY_LAUNCH);
  assert_int_equal(edge->slack, 4);
  assert_int_equal(edge->count, 1);
  assert_int_equal(dependencies->left_out, 0);
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_dependencies_reading(dependencies, &text);
  check_text(&text, "3 tasks are on the critical path, on 2 lanes, each in a box of its own. Beside it: 1 "
                    "nearly critical constraint, with the "
                    "slack. ");
  forget(shown);
}

/* An arrow is called unexplained where most of it is. */
static void evidence_is_that_of_most_of_the_time(void **state) {
  (void)state;
  struct shown *shown = show(beside_job, &plain);
  assert_int_equal(shown->content.dependencies.edges.items[1].evidence, LUMOS_RECORDED);
  forget(shown);
  shown = show(late_beside_job, &plain);
  CHECK_CHAIN(shown, {"launchA", 1, 0, 10, 0, 0, 0, LUMOS_HELD_BY_BOUNDARY},
              {"A", 1, 10, 88, 2, 0, 2, LUMOS_HELD_BY_LAUNCH}, {"B", 1, 100, 10, 1, 5, 6, LUMOS_HELD_BY_STREAM});
  assert_int_equal(shown->content.dependencies.edges.items[1].evidence, LUMOS_UNEXPLAINED);
  forget(shown);
}

/* Half of the nodes, rounded up, are the chain's: its four tasks on three lanes fit in 4; in 3 with K1 and K3, one
 * after the other on a lane, as one; in 2 neither by lane (there are three) nor otherwise (K0, the longest, stands
 * between others), so all are gathered. */
static void the_limit_holds(void **state) {
  (void)state;
  for (int32_t nodes = 1; nodes <= 12; nodes++) {
    struct lumos_report_options options = {.graph_nodes = nodes};
    struct shown *shown = show(streams_job, &options);
    const struct report_dependencies *dependencies = &shown->content.dependencies;
    assert_true(dependencies->nodes.count <= (size_t)nodes);
    assert_int_equal(dependencies->chain_nodes, nodes <= 4 ? 1 : nodes <= 6 ? 3 : 4);
    assert_int_equal(dependencies->tasks, 4);
    int64_t sum = 0;
    for (size_t row = 0; row < report_table_rows(&shown->content.tables[TABLE_DEPENDENCIES]); row++) {
      for (size_t column = 4; column < 8; column++) {
        sum += report_table_value(&shown->content.tables[TABLE_DEPENDENCIES], row, column);
      }
    }
    assert_int_equal(sum, 199);
    forget(shown);
  }
}

static void check_refused(const struct lumos_report_options *options, const char *message) {
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(streams_job);
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  assert_true(lumos_simulate(job, &error));
  assert_false(lumos_report(job, options, &page, &error));
  assert_string_equal(error.text, message);
  assert_int_equal(page.length, 0);
  lumos_text_free(&page);
  lumos_job_free(job);
}

static void what_is_not_there_is_refused(void **state) {
  (void)state;
  check_refused(&(struct lumos_report_options){.has_step = true, .step = 7}, "there is no step 7: the only one is 1");
  check_refused(&(struct lumos_report_options){.graph_nodes = 501},
                "a dependency graph of 501 nodes: choose from 1 to 500");
  check_refused(&(struct lumos_report_options){.graph_nodes = -1},
                "a dependency graph of -1 nodes: choose from 1 to 500");
}

static int32_t chosen(const int64_t *ends, size_t count, const struct lumos_report_options *options) {
  struct report_boundaries steps = {0};
  for (size_t i = 0; i < count; i++) {
    struct report_boundary step = {(int32_t)i + 1, i == 0 ? 0 : ends[i - 1], ends[i]};
    lumos_vector_push(&steps, step);
  }
  struct report_boundary step = {.step = -1};
  bool found = report_chain_step(&steps, options, false, &step);
  lumos_vector_free(&steps);
  return found ? step.step : -1;
}

static void the_step_nearest_to_the_mean_is_shown(void **state) {
  (void)state;
  /* 100, 30, 50: the mean is 60. */
  assert_int_equal(chosen((int64_t[]){100, 130, 180}, 3, &plain), 3);
  /* 80, 100, 140, 130: the first does not count, and the mean of the others is 123; with it, 112. */
  assert_int_equal(chosen((int64_t[]){80, 180, 320, 450}, 4, &plain), 4);
  /* Two steps are equally near: the later, also where the mean is not a whole number. */
  assert_int_equal(chosen((int64_t[]){100, 180}, 2, &plain), 2);
  assert_int_equal(chosen((int64_t[]){100, 181}, 2, &plain), 2);
  assert_int_equal(chosen((int64_t[]){80, 181}, 2, &plain), 2);
  /* 10, 11, 12, 13, 14: the mean is 12; 13 is within its rounding, 14 is not. */
  assert_int_equal(chosen((int64_t[]){10, 21, 33, 46, 60}, 5, &plain), 4);
  /* A step that takes no time has no chain and does not count. */
  assert_int_equal(chosen((int64_t[]){90, 90, 200}, 3, &plain), 3);
  assert_int_equal(chosen((int64_t[]){0, 0}, 2, &plain), -1);
  assert_int_equal(chosen(NULL, 0, &plain), -1);
  assert_int_equal(chosen((int64_t[]){100, 130, 180}, 3, &(struct lumos_report_options){.has_step = true, .step = 2}),
                   2);
}

/* A stream whose simulated times were edited: what held its tasks is not known, and the page says so. */
static void edited_times_have_no_chain(void **state) {
  (void)state;
  struct lumos_error error = {0};
  struct lumos_job *job = job_from_text(streams_job);
  assert_true(lumos_simulate(job, &error));
  job->runs.items[task_named(job, "K3")].start += 1;
  lumos_job_forget_run(job); /* as whoever changes them does */
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  assert_true(lumos_report(job, &plain, &page, &error));
  lumos_text_char(&page, '\0');
  assert_non_null(strstr(page.bytes, "What held the tasks is not known: task 0:12: its simulated times are not those"));
  assert_null(strstr(page.bytes, "The chain as a table"));
  assert_non_null(strstr(page.bytes, "</html>"));
  lumos_text_free(&page);
  lumos_job_free(job);
}

static int hangs(const struct report_layout_graph *graph, int descriptor) {
  (void)graph;
  (void)descriptor;
  while (pause() != 0) {
  }
  return 0;
}

static int crashes(const struct report_layout_graph *graph, int descriptor) {
  (void)graph;
  (void)descriptor;
  (void)raise(SIGSEGV);
  return 0;
}

/* The page with the dependencies laid out by this engine; NUL-terminated. */
static struct lumos_text page_with(report_layout_engine *engine, int limit) {
  struct shown *shown = show(streams_job, &plain);
  struct report_content *content = &shown->content;
  struct lumos_error error = {0};
  report_dependencies_free(&content->dependencies);
  const struct report_dependencies_source source = {
      content->job, content->bindings, NULL, &content->timelines.steps, content->options, &content->timelines.roles};
  assert_true(report_dependencies_read(&source, &content->dependencies, &error));
  report_dependencies_lay_out(&content->dependencies, engine, limit);
  report_dependencies_settle(&content->dependencies);
  struct lumos_text page = LUMOS_TEXT_BUFFER;
  assert_true(report_page_write(content, &page, &error));
  lumos_text_char(&page, '\0');
  forget(shown);
  return page;
}

static void the_page_is_whole_whatever_the_engine_does(void **state) {
  (void)state;
  static const char to_table[] = "<a href=\"#table-dependencies\">";
  static const char picture[] = "aria-label=\"Picture: what the step waits for\"";
  struct lumos_text good = page_with(report_layout_graphviz, 300000);
  assert_non_null(strstr(good.bytes, picture));
  assert_null(strstr(good.bytes, to_table));
  struct lumos_text failed[] = {page_with(hangs, 50), page_with(crashes, 300000)};
  const char *const reasons[] = {"Graphviz took too long", "Graphviz could not lay it out"};
  for (size_t i = 0; i < 2; i++) {
    assert_null(strstr(failed[i].bytes, picture));
    assert_non_null(strstr(failed[i].bytes, reasons[i]));
    assert_non_null(strstr(failed[i].bytes, to_table));
    /* All else is the same, byte for byte. */
    const char *after = strstr(good.bytes, "<summary>Critical path, box by box</summary>");
    const char *same = strstr(failed[i].bytes, "<summary>Critical path, box by box</summary>");
    assert_string_equal(after, same);
    size_t before = (size_t)(strstr(good.bytes, "<section class=\"drill\"") - good.bytes);
    assert_memory_equal(good.bytes, failed[i].bytes, before);
    lumos_text_free(&failed[i]);
  }
  lumos_text_free(&good);
}

/* Boxes stand where the layout puts them, and every arrow that was routed is drawn. */
static void the_scene_has_a_box_for_every_node(void **state) {
  (void)state;
  struct shown *shown = show(beside_job, &plain);
  const struct report_dependencies *dependencies = &shown->content.dependencies;
  struct report_scene scene;
  assert_true(report_dependencies_scene(dependencies, 1, &scene));
  size_t boxes = 0;
  size_t curves = 0;
  size_t papers = 0;
  for (size_t i = 0; i < scene.marks.count; i++) {
    const struct report_mark *mark = &scene.marks.items[i];
    bool box = mark->kind == MARK_BOX && i > 0 && mark[-1].kind == MARK_GROUP && mark[-1].css != NULL;
    if (box) {
      assert_int_equal(mark->x, dependencies->layout.places[boxes].x);
      assert_int_equal(mark->y, dependencies->layout.places[boxes].y);
      assert_int_equal(mark->width, REPORT_DEPENDENCY_WIDTH);
      assert_true(mark->height >= REPORT_DEPENDENCY_HEIGHT);
    }
    boxes += box;
    curves += mark->kind == MARK_CURVE;
    if (mark->kind == MARK_BOX && mark->paint == PAINT_PAPER) { /* keeps arrows out of the label that follows */
      const struct report_mark *text = mark + 1;
      int32_t width = report_text_width(text->style, scene.texts.bytes + text->text_first, text->text_length);
      int32_t before = text->anchor == ANCHOR_END ? width : text->anchor == ANCHOR_MIDDLE ? width / 2 : 0;
      assert_int_equal(text->kind, MARK_TEXT);
      assert_in_range(text->x - before, mark->x, mark->x + mark->width - width);
      assert_in_range(text->y, mark->y + 85, mark->y + mark->height - 15);
      papers++;
    }
    assert_false(papers > 0 && mark->kind == MARK_CURVE); /* labels are painted last */
  }
  assert_true(papers >= 2); /* of the launch and the order; of the neighbour, where there is room */
  assert_int_equal(boxes, 4);
  assert_int_equal(curves, 3 + 6); /* of the graph; of the legend */
  report_scene_free(&scene);
  forget(shown);
}

/* What of a box is painted is its time: areas have the ratios of times; and a box stands for a view of the timeline. */
static void areas_are_times(void **state) {
  (void)state;
  struct shown *shown = show(streams_job, &plain);
  const struct report_dependencies *dependencies = &shown->content.dependencies;
  struct report_scene scene;
  assert_true(report_dependencies_scene(dependencies, 1, &scene));
  double areas[4] = {0};
  size_t boxes = 0;
  for (size_t i = 1; i < scene.marks.count; i++) {
    const struct report_mark *group = &scene.marks.items[i - 1], *area = &scene.marks.items[i + 1];
    if (group->kind == MARK_GROUP && group->css != NULL) {
      assert_int_equal(area->paint, PAINT_RULE);
      areas[boxes++] = (double)area->width * area->height;
    }
  }
  assert_int_equal(boxes, 4); /* launch0 10, K0 100, K1 50, K3 30 */
  for (size_t i = 0; i < boxes; i++) {
    double time = (double)report_dependency_time(&dependencies->nodes.items[i]);
    assert_true(areas[i] > 0.97 * areas[1] * time / 100 && areas[i] < 1.03 * areas[1] * time / 100);
  }
  lumos_text_char(&scene.texts, '\0');
  char view[80];
  const struct report_dependency_node *k0 = &dependencies->nodes.items[1];
  (void)snprintf(view, sizeof view, "t=%lldns-%lldns&task=0:%u", (long long)(k0->from - dependencies->chain.from),
                 (long long)(k0->until - dependencies->chain.from), shown->job->tasks.items[k0->task].id);
  assert_non_null(strstr(scene.texts.bytes, view));
  report_scene_free(&scene);
  forget(shown);
}

/* The critical path as legs: the thread to the end of the launch, stream after stream; without gaps, as long as the
 * step. K0 is on one, K1 and K3 on the other. */
static void legs_are_the_chain(void **state) {
  (void)state;
  struct shown *shown = show(streams_job, &plain);
  const struct report_routes *routes = &shown->content.timelines.routes;
  const struct report_chain *chain = &shown->content.dependencies.chain;
  assert_int_equal(routes->of.count, 1);
  assert_int_equal(routes->joined, 0);
  const struct report_leg *legs = routes->legs.items;
  assert_int_equal(routes->legs.count, 3);
  assert_int_equal(legs[0].from, chain->from);
  assert_int_equal(legs[routes->legs.count - 1].to, chain->until);
  size_t at = 0;
  for (size_t i = 0; i < chain->parts.count; i++) { /* every part lies in a leg of its task's lane */
    const struct lumos_path_part *part = &chain->parts.items[i];
    at += part->from >= legs[at].to;
    assert_true(part->from >= legs[at].from && part->to <= legs[at].to);
    assert_int_equal(legs[at].lane, shown->job->tasks.items[part->task].lane);
    assert_true(at == 0 || legs[at].from == legs[at - 1].to);
  }
  assert_int_equal(at, 2);
  assert_int_equal(legs[1].entry.kind, LUMOS_HELD_BY_LAUNCH);
  assert_int_equal(legs[2].entry.kind, LUMOS_HELD_BY_EVENT);
  forget(shown);
}

/* Of a chain in two columns one arrow leads from the right of the last box of the first column to the left of the first
 * box of the second; the others stay in their columns. */
static void an_arrow_crosses_to_the_next_column(void **state) {
  (void)state;
  struct shown *shown = show(streams_job, &plain);
  const struct report_dependencies *dependencies = &shown->content.dependencies;
  struct report_scene scene;
  assert_true(report_dependencies_scene(dependencies, 2, &scene));
  int32_t lefts[4] = {0};
  size_t boxes = 0, crossing = 0;
  for (size_t i = 1; i < scene.marks.count; i++) {
    const struct report_mark *group = &scene.marks.items[i - 1];
    if (group->kind == MARK_GROUP && group->css != NULL && boxes < 4) {
      lefts[boxes++] = scene.marks.items[i].x;
    }
  }
  assert_int_equal(boxes, 4);
  assert_true(lefts[3] > lefts[0] + REPORT_DEPENDENCY_WIDTH);
  for (size_t i = 0; i < scene.marks.count; i++) {
    const struct report_mark *mark = &scene.marks.items[i];
    if (mark->kind == MARK_CURVE) {
      const struct report_point *points = &scene.points.items[mark->point_first];
      crossing += points[0].x == lefts[0] + REPORT_DEPENDENCY_WIDTH && points[mark->point_count - 1].x == lefts[3];
    }
  }
  assert_int_equal(crossing, 1);
  report_scene_free(&scene);
  forget(shown);
}

/* C1 takes none of the chain's time: it is there because the others wait for its start. */
static void the_last_member_is_called_so(void **state) {
  (void)state;
  struct shown *shown = show(ranks_job, &plain);
  struct report_scene scene;
  assert_true(report_dependencies_scene(&shown->content.dependencies, 1, &scene));
  lumos_text_char(&scene.texts, '\0');
  assert_non_null(strstr(scene.texts.bytes, "arrives last \xC2\xB7 rank 1, "));
  assert_null(strstr(scene.texts.bytes, "arrives last \xC2\xB7 rank 0"));
  report_scene_free(&scene);
  forget(shown);
}

/* "43,345,330.11 ms" takes more room than "0.10 ms". */
static void times_have_room(void **state) {
  (void)state;
  struct shown *shown = show(beside_job, &plain);
  struct report_dependencies *dependencies = &shown->content.dependencies;
  const int64_t half_a_day = INT64_C(43345330000000);
  for (size_t i = 0; i < dependencies->chain_nodes; i++) {
    dependencies->nodes.items[i].from += half_a_day;
  }
  dependencies->chain.until += half_a_day;
  struct report_scene scene;
  assert_true(report_dependencies_scene(dependencies, 1, &scene));
  int32_t origin = 0;
  size_t times = 0;
  for (size_t i = 0; i < scene.marks.count; i++) {
    const struct report_mark *mark = &scene.marks.items[i];
    origin = mark->kind == MARK_GROUP && mark->css == NULL ? mark->x : origin;
    if (mark->kind == MARK_TEXT && mark->anchor == ANCHOR_END && mark->x < 0) {
      int32_t width = report_text_width(mark->style, scene.texts.bytes + mark->text_first, mark->text_length);
      assert_true(origin + mark->x >= width);
      times++;
    }
  }
  assert_int_equal(times, 3);
  report_scene_free(&scene);
  forget(shown);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(boxes_and_arrows_add_up_to_the_step),
      cmocka_unit_test(a_chain_leads_through_the_last_rank),
      cmocka_unit_test(what_nearly_bound_stands_beside_the_chain),
      cmocka_unit_test(evidence_is_that_of_most_of_the_time),
      cmocka_unit_test(the_limit_holds),
      cmocka_unit_test(what_is_not_there_is_refused),
      cmocka_unit_test(the_step_nearest_to_the_mean_is_shown),
      cmocka_unit_test(edited_times_have_no_chain),
      cmocka_unit_test(the_page_is_whole_whatever_the_engine_does),
      cmocka_unit_test(the_scene_has_a_box_for_every_node),
      cmocka_unit_test(times_have_room),
      cmocka_unit_test(areas_are_times),
      cmocka_unit_test(an_arrow_crosses_to_the_next_column),
      cmocka_unit_test(legs_are_the_chain),
      cmocka_unit_test(the_last_member_is_called_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
