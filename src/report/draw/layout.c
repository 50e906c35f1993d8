/* The parent's side of a layout: start the child, read its answer until the limit, see it gone, and believe nothing
 * that it says before it is checked. */
#include "report/draw/layout.h"

#include "base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  EDGE_POINTS = 1 + 3 * 400, /* at most, of one edge */
  LARGEST = 100000000,       /* of a length */
  PIECE = 1 << 16,
};

static int64_t now(void) {
  struct timespec time;
  (void)clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

/* Milliseconds until the deadline, for poll(2); at least 0. */
static int until(int64_t deadline) {
  int64_t left = deadline - now();
  return left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left;
}

/* The child's descriptors: the answer above the standard ones, and those silent; the tool's own may be closed, so that
 * the pipe may have got one of their numbers. */
static int settle_descriptors(int descriptor) {
  int answer = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  (void)close(descriptor);
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard = STDIN_FILENO; standard <= STDERR_FILENO; standard++) {
    if (nowhere < 0) {
      (void)close(standard);
    } else if (nowhere != standard) {
      (void)dup2(nowhere, standard);
    }
  }
  if (nowhere > STDERR_FILENO) { /* Graphviz may need it */
    (void)close(nowhere);
  }
  return answer;
}

/* The child dies with its parent, by the system's own rules for signals, leaves no core, and does not use the processor
 * for much longer than the limit, even when the parent is stopped. */
static void settle_process(pid_t parent, int limit) {
  for (int number = 1; number < NSIG; number++) {
    (void)signal(number, SIG_DFL);
  }
  sigset_t none;
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
  (void)prctl(PR_SET_DUMPABLE, 0);
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    _exit(1);
  }
  rlim_t seconds = (rlim_t)(limit < 0 ? 0 : limit) / 1000 + 1;
  (void)setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
}

/* Start the engine, with its answer from work->descriptor; else work->outcome says why not. */
static void start(const struct report_layout_graph *graph, report_layout_engine *engine, int limit,
                  struct report_layout_work *work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    work->outcome = LAYOUT_NO_DESCRIPTORS;
    return;
  }
  pid_t parent = getpid();
  pid_t child = fork();
  if (child == 0) {
    settle_process(parent, limit);
    (void)close(ends[0]);
    _exit(engine(graph, settle_descriptors(ends[1])));
  }
  (void)close(ends[1]);
  if (child < 0) {
    (void)close(ends[0]);
    work->outcome = LAYOUT_NOT_STARTED;
    return;
  }
  work->descriptor = ends[0];
  work->child = child;
}

/* The most that an answer can hold. */
static size_t most_bytes(const struct report_layout_graph *graph) {
  size_t numbers = 2 + 2 * graph->nodes.count + graph->edges.count * (1 + 2 * (size_t)EDGE_POINTS);
  return numbers * sizeof(int32_t);
}

static enum report_layout_outcome read_answer(int descriptor, int64_t deadline, size_t most, struct lumos_text *bytes) {
  for (;;) {
    struct pollfd wait = {.fd = descriptor, .events = POLLIN};
    int ready = poll(&wait, 1, until(deadline));
    if (ready == 0) {
      return LAYOUT_TIMED_OUT;
    }
    char *room = lumos_text_room(bytes, PIECE);
    ssize_t got = ready < 0 ? -1 : read(descriptor, room, PIECE);
    if (got == 0) {
      return LAYOUT_DONE;
    }
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return LAYOUT_FAILED;
    }
    bytes->length += got < 0 ? 0 : (size_t)got;
    if (bytes->length > most) {
      return LAYOUT_FAILED;
    }
  }
}

/* Wait for the child's end; `child` is 0 when it is gone. It has closed its side, so that it should be about to go:
 * there is no event to sleep on, a short nap does. Where somebody else has reaped it (SIGCHLD may be ignored), its
 * answer has to speak for itself. */
static enum report_layout_outcome wait_for(pid_t *child, int64_t deadline) {
  for (;;) {
    int status = 0;
    pid_t gone = waitpid(*child, &status, WNOHANG);
    if (gone == *child) {
      *child = 0;
      return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? LAYOUT_DONE : LAYOUT_FAILED;
    }
    if (gone < 0 && errno != EINTR) {
      *child = 0;
      return errno == ECHILD ? LAYOUT_DONE : LAYOUT_FAILED;
    }
    if (until(deadline) == 0) {
      return LAYOUT_TIMED_OUT;
    }
    (void)poll(NULL, 0, 1);
  }
}

/* Nothing that a process does keeps it alive after this. One that is gone already must not be shot at: its number may
 * be another's. */
static void end(pid_t child) {
  if (waitpid(child, NULL, WNOHANG) != 0) {
    return;
  }
  (void)kill(child, SIGKILL);
  while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
  }
}

/* The numbers of an answer, one after the other. */
struct answer {
  const char *bytes;
  size_t length, at;
};

static bool take(struct answer *answer, int32_t least, int32_t most, int32_t *number) {
  if (answer->length - answer->at < sizeof *number) {
    return false;
  }
  memcpy(number, answer->bytes + answer->at, sizeof *number);
  answer->at += sizeof *number;
  return *number >= least && *number <= most;
}

static bool take_point(struct answer *answer, int32_t width, int32_t height, struct report_point *point) {
  return take(answer, 0, width, &point->x) && take(answer, 0, height, &point->y);
}

/* Every node lies inside of the picture. */
static bool take_places(struct answer *answer, const struct report_layout_graph *graph, struct report_layout *layout) {
  for (size_t i = 0; i < graph->nodes.count; i++) {
    const struct report_layout_node *node = &graph->nodes.items[i];
    if (!take_point(answer, layout->width - node->width, layout->height - node->height, &layout->places[i])) {
      return false;
    }
  }
  return true;
}

/* Every curve is a start and three points for each piece, inside of the picture. */
static bool take_edges(struct answer *answer, const struct report_layout_graph *graph, struct report_layout *layout) {
  for (size_t i = 0; i < graph->edges.count; i++) {
    int32_t count = 0;
    layout->edge_first[i] = layout->points.count;
    if (!take(answer, 0, EDGE_POINTS, &count) || (count != 0 && (count < 4 || count % 3 != 1))) {
      return false;
    }
    for (int32_t k = 0; k < count; k++) {
      struct report_point point;
      if (!take_point(answer, layout->width, layout->height, &point)) {
        return false;
      }
      lumos_vector_push(&layout->points, point);
    }
  }
  layout->edge_first[graph->edges.count] = layout->points.count;
  return true;
}

static bool understand(const struct lumos_text *bytes, const struct report_layout_graph *graph,
                       struct report_layout *layout) {
  struct answer answer = {bytes->bytes, bytes->length, 0};
  layout->places = lumos_allocate_zeroed(graph->nodes.count + 1, sizeof layout->places[0]);
  layout->edge_first = lumos_allocate_zeroed(graph->edges.count + 1, sizeof layout->edge_first[0]);
  return take(&answer, 1, LARGEST, &layout->width) && take(&answer, 1, LARGEST, &layout->height) &&
         take_places(&answer, graph, layout) && take_edges(&answer, graph, layout) && answer.at == answer.length;
}

void report_layout_begin(const struct report_layout_graph *graph, report_layout_engine *engine, int limit,
                         struct report_layout_work *work) {
  *work = (struct report_layout_work){.descriptor = -1, .limit = limit, .outcome = LAYOUT_FAILED};
  if (graph->nodes.count > REPORT_LAYOUT_NODES || graph->edges.count > REPORT_LAYOUT_EDGES) {
    work->outcome = LAYOUT_TOO_LARGE;
    return;
  }
  start(graph, engine, limit, work);
}

enum report_layout_outcome report_layout_finish(struct report_layout_work *work,
                                                const struct report_layout_graph *graph, struct report_layout *layout) {
  *layout = (struct report_layout){0};
  if (work->child == 0) {
    return work->outcome;
  }
  struct lumos_text bytes = LUMOS_TEXT_BUFFER;
  int64_t deadline = now() + work->limit;
  enum report_layout_outcome outcome = read_answer(work->descriptor, deadline, most_bytes(graph), &bytes);
  (void)close(work->descriptor);
  if (outcome == LAYOUT_DONE) {
    outcome = wait_for(&work->child, deadline);
  }
  if (work->child > 0) {
    end(work->child);
    work->child = 0;
  }
  if (outcome == LAYOUT_DONE && !understand(&bytes, graph, layout)) {
    outcome = LAYOUT_FAILED;
  }
  lumos_text_free(&bytes);
  if (outcome != LAYOUT_DONE) {
    report_layout_free(layout);
  }
  return outcome;
}

enum report_layout_outcome report_layout_make(const struct report_layout_graph *graph, report_layout_engine *engine,
                                              int limit, struct report_layout *layout) {
  struct report_layout_work work;
  report_layout_begin(graph, engine, limit, &work);
  return report_layout_finish(&work, graph, layout);
}

void report_layout_free(struct report_layout *layout) {
  free(layout->places);
  free(layout->edge_first);
  lumos_vector_free(&layout->points);
  *layout = (struct report_layout){0};
}
