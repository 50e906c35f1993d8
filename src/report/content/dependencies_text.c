/* What the dependencies say: the finding, how to read the picture, and the table that adds up to the step. */
#include "report/content/dependencies.h"

#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

static const char *const part_names[CHAIN_PARTS] = {
    [CHAIN_COMPUTE] = "compute kernels",
    [CHAIN_COMMUNICATION] = "communication",
    [CHAIN_COPY] = "copies",
    [CHAIN_HOST] = "CPU work",
    [CHAIN_SILENT] = "CPU gaps",
    [CHAIN_LAG] = "launch latency and other gaps",
    [CHAIN_UNEXPLAINED] = "unexplained delay",
    [CHAIN_OUTSIDE] = "waiting for work outside the recording",
};

enum { TELLING_PART = 4 }; /* a lane with less than this of the step says little about it */

static int64_t length_of(const struct report_dependencies *dependencies) {
  return dependencies->chain.until - dependencies->chain.from;
}

const char *report_evidence_word(uint8_t evidence) {
  return evidence == LUMOS_UNEXPLAINED ? "unexplained" : lumos_evidence_name((enum lumos_evidence)evidence);
}

/* Without what all names of its kind begin with, and the arguments of a template: for a box. */
static const char *short_name(const char *name, size_t *length) {
  static const char *const prefixes[] = {"void ", "autograd::engine::evaluate_function: "};
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
    size_t skipped = strlen(prefixes[i]);
    if (*length > skipped && memcmp(name, prefixes[i], skipped) == 0) {
      name += skipped;
      *length -= skipped;
    }
  }
  const char *arguments = memchr(name, '<', *length);
  *length = arguments != NULL && arguments > name ? (size_t)(arguments - name) : *length;
  return name;
}

void report_put_dependency_name(const struct report_dependencies *dependencies,
                                const struct report_dependency_node *node, size_t limit, struct lumos_text *out) {
  const struct lumos_strings *strings = dependencies->job->strings;
  struct lumos_text others = LUMOS_TEXT_BUFFER;
  if (node->outside) {
    lumos_text_put(out, "outside the recording");
    return;
  }
  if (node->others > 0) {
    lumos_text_put(&others, " and ");
    report_put_counted(&others, node->others, "other");
  }
  size_t room = limit > others.length + 1 ? limit - others.length : 1;
  size_t length = lumos_string_length(strings, node->name);
  const char *name = lumos_string(strings, node->name);
  name = length > room ? short_name(name, &length) : name;
  report_put_cut(out, name, length, room);
  lumos_text_add(out, others.bytes, others.length);
  lumos_text_free(&others);
}

void report_put_dependency_place(const struct report_dependencies *dependencies,
                                 const struct report_dependency_node *node, struct lumos_text *out) {
  const struct lumos_job *job = dependencies->job;
  if (node->lane == LUMOS_NONE) {
    lumos_text_put(out, node->outside ? "" : "several lanes");
    return;
  }
  if (job->ranks.count > 1) {
    lumos_text_format(out, "rank %d, ", job->ranks.items[job->lanes.items[node->lane].rank].rank);
  }
  if (dependencies->roles != NULL) {
    report_put_lane_short(dependencies->roles, node->lane, out);
  } else {
    report_put_lane(out, job, node->lane);
  }
}

struct share {
  const char *name;
  int64_t time;
};

static int compare_shares(const void *left_item, const void *right_item) {
  const struct share *left = left_item, *right = right_item;
  return left->time != right->time ? LUMOS_ORDER(right->time, left->time) : strcmp(left->name, right->name);
}

/* The largest parts first, those under a hundredth together; returns how many there are. */
static size_t find_shares(const struct report_dependencies *dependencies, struct share shares[CHAIN_PARTS]) {
  enum { MOST = 3, PART = 100 };
  size_t named = 0;
  int64_t rest = 0;
  for (int i = 0; i < CHAIN_PARTS; i++) {
    shares[i] = (struct share){part_names[i], dependencies->parts[i]};
  }
  qsort(shares, CHAIN_PARTS, sizeof shares[0], compare_shares);
  while (named < MOST && shares[named].time > length_of(dependencies) / PART) {
    named++;
  }
  for (size_t i = named; i < CHAIN_PARTS; i++) {
    rest += shares[i].time;
  }
  if (rest > 0) {
    shares[named++] = (struct share){"all else", rest};
  }
  return named;
}

void report_put_dependencies_finding(const struct report_dependencies *dependencies, struct lumos_text *out) {
  if (!dependencies->known) {
    lumos_text_add(out, dependencies->problem.bytes, dependencies->problem.length);
    return;
  }
  struct share shares[CHAIN_PARTS];
  size_t count = find_shares(dependencies, shares);
  int64_t whole = length_of(dependencies);
  lumos_text_format(out, "Step %d takes ", dependencies->chain.step);
  report_put_time(out, whole);
  lumos_text_put(out, " in the simulation: ");
  for (size_t i = 0; i < count; i++) {
    lumos_text_put(out, i == 0 ? "" : i + 1 == count ? " and " : ", ");
    report_put_share(out, report_share(shares[i].time, whole));
    lumos_text_format(out, " %s%s", i == 0 ? "is " : "", shares[i].name);
  }
  if (dependencies->lanes > 1 && dependencies->busiest.time > whole / TELLING_PART) {
    const struct report_dependency_node place = {.lane = dependencies->busiest.lane};
    lumos_text_put(out, ". ");
    report_put_share(out, report_share(dependencies->busiest.time, whole));
    lumos_text_put(out, " of it is on ");
    report_put_dependency_place(dependencies, &place, out);
  }
  lumos_text_char(out, '.');
}

static bool any_alone(const struct report_collapse *collapse) {
  for (size_t i = 0; i < collapse->pieces.count; i++) {
    if (collapse->pieces.items[i].alone) {
      return true;
    }
  }
  return false;
}

/* "40 boxes hold the 4,524 tasks ..." */
/* What stands alone, and what does not. */
static void put_standing(const struct report_collapse *collapse, struct lumos_text *out) {
  if (collapse->first == 0) {
    lumos_text_put(out, "Ops and tasks of ");
    report_put_time(out, collapse->least);
    lumos_text_put(out, " or more have their own box. Shorter ones are");
    return;
  }
  lumos_text_put(out, "Ops and tasks longer than ");
  report_put_time(out, collapse->least - 1);
  lumos_text_put(out, " have their own box, and so do the first ");
  report_put_count(out, collapse->first);
  lumos_text_put(out, " of exactly that length. The others are");
}

static void put_collapse(const struct report_dependencies *dependencies, struct lumos_text *out) {
  const struct report_collapse *collapse = &dependencies->collapse;
  report_put_counted(out, dependencies->tasks, "task");
  lumos_text_put(out, dependencies->tasks == 1 ? " is on the critical path, on " : " are on the critical path, on ");
  report_put_counted(out, dependencies->lanes, "lane");
  if (collapse->least == 0) {
    lumos_text_put(out, ", each in a box of its own. ");
    return;
  }
  lumos_text_put(out, ", in ");
  report_put_count(out, (int64_t)dependencies->chain_nodes);
  lumos_text_put(out, dependencies->chain_nodes == 1 ? " box. " : " boxes. ");
  if (!any_alone(collapse)) {
    lumos_text_put(out, "All tasks are merged");
  } else {
    put_standing(collapse, out);
    lumos_text_put(out, " merged with their neighbors in time");
  }
  lumos_text_put(out, collapse->by_lane ? ", lane by lane. " : ", whatever their lanes. ");
}

static void put_neighbours(const struct report_dependencies *dependencies, struct lumos_text *out) {
  size_t shown = dependencies->edges.count + 1 - dependencies->chain_nodes;
  if (shown > 0) {
    lumos_text_put(out, "Beside it: ");
    report_put_counted(out, (int64_t)shown, "nearly critical constraint");
    lumos_text_put(out, ", with the slack. ");
  }
  if (dependencies->left_out > 0) {
    report_put_counted(out, dependencies->left_out, shown > 0 ? "more constraint" : "constraint");
    lumos_text_put(out, " with a slack of ");
    report_put_time(out, dependencies->left_out_slack);
    lumos_text_put(out, dependencies->left_out == 1 ? " is left out." : " or more are left out.");
  } else if (shown == 0) {
    lumos_text_put(out, "Nothing else held one of its tasks.");
  }
}

void report_put_dependencies_reading(const struct report_dependencies *dependencies, struct lumos_text *out) {
  if (dependencies->known) {
    put_collapse(dependencies, out);
    put_neighbours(dependencies, out);
  }
}

void report_put_dependencies_problem(const struct report_dependencies *dependencies, struct lumos_text *out) {
  static const char *const problems[] = {
      [LAYOUT_DONE] = "",
      [LAYOUT_TOO_LARGE] = "There is no picture: the graph is larger than a picture can be. Ask for fewer nodes.",
      [LAYOUT_TIMED_OUT] = "There is no picture: Graphviz took too long to lay it out. Ask for fewer nodes.",
      [LAYOUT_FAILED] = "There is no picture: Graphviz could not lay it out.",
      [LAYOUT_NOT_STARTED] = "There is no picture: the system did not start Graphviz.",
      [LAYOUT_NO_DESCRIPTORS] = "There is no picture: too many files were open."};
  if (dependencies->known) {
    lumos_text_put(out, problems[dependencies->outcome]);
  }
}

static void put_row(const struct report_dependencies *dependencies, const struct report_dependency_node *node,
                    struct report_table *table) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  report_put_dependency_name(dependencies, node, REPORT_LONG, &text);
  report_table_copy(table, &text);
  report_table_number(table, node->from - dependencies->chain.from);
  report_put_dependency_place(dependencies, node, &text);
  report_table_copy(table, &text);
  report_table_number(table, node->tasks);
  int64_t time = 0;
  for (int what = LUMOS_PATH_RUN; what <= LUMOS_PATH_OUTSIDE; what++) {
    report_table_number(table, node->time[what]);
    time += node->time[what];
  }
  report_table_number(table, report_share(time, table->whole));
  report_table_word(table, lumos_constraint_kind_name((enum lumos_constraint_kind)node->held.kind));
  report_table_word(table, report_evidence_word(node->held.evidence));
  lumos_text_free(&text);
}

void report_dependencies_table(const struct report_dependencies *dependencies, struct report_table *table) {
  static const struct report_column columns[] = {
      {"name", "box", NULL, COLUMN_NAME},
      {"from", "from", NULL, COLUMN_MS},
      {"place", "where", "lane", COLUMN_TEXT},
      {"tasks", "tasks", "task", COLUMN_COUNT},
      {"run", "running", NULL, COLUMN_MS},
      {"lag", "lag", "lag", COLUMN_MS},
      {"unexplained", "unexplained", "unexplained_lag", COLUMN_MS},
      {"outside", "outside", "boundary", COLUMN_MS},
      {"share", "share", NULL, COLUMN_BAR},
      {"held_by", "held by", "binding", COLUMN_TEXT},
      {"evidence", "evidence", "evidence", COLUMN_TEXT},
  };
  report_table_begin(table, "dependencies", columns, sizeof columns / sizeof columns[0]);
  if (!dependencies->known) {
    lumos_text_add(&table->caption, dependencies->problem.bytes, dependencies->problem.length);
    return;
  }
  table->whole = length_of(dependencies);
  table->told = true;
  report_put_dependencies_finding(dependencies, &table->finding);
  lumos_text_char(&table->finding, ' ');
  report_put_dependencies_reading(dependencies, &table->finding);
  lumos_text_put(
      &table->caption,
      "A row for every box of the critical path, in order of time. From: since the step began. Running, lag, "
      "unexplained and outside add up to the ");
  report_put_time(&table->caption, table->whole);
  lumos_text_format(&table->caption, " of step %d; share: of them", dependencies->chain.step);
  for (size_t i = 0; i < dependencies->chain_nodes; i++) {
    put_row(dependencies, &dependencies->nodes.items[i], table);
  }
}
