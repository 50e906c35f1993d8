/* emulated-cluster: run GPT training on a modelled cluster, twice, with the profiler and without, and write the traces
 * and the truth.
 *
 * The run is a process of its own. This one only waits for it, and removes what is left of it: so nothing is left,
 * however it ends, by a signal, without memory, or killed by the system.
 */
#include "gpt.h"
#include "output.h"
#include "recorder.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

static bool complain(const char *what, const char *why) {
  fprintf(stderr, "emulated-cluster: %s: %s\n", what, why);
  return false;
}

/* What was printed arrived. */
static bool is_said(void) {
  errno = 0;
  return (fflush(stdout) == 0 && !ferror(stdout)) || complain("standard output", strerror(errno != 0 ? errno : EIO));
}

/* Signals that end a program, to which it may answer. */
static sigset_t endings(void) {
  sigset_t set;
  sigemptyset(&set);
  static const int numbers[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    sigaddset(&set, numbers[i]);
  }
  return set;
}

/* ---- the run ---- */

/* Nobody ends it while files change places. */
static bool commit(const struct output *output) {
  sigset_t held = endings(), before;
  sigprocmask(SIG_BLOCK, &held, &before);
  bool good = output_commit(output);
  sigprocmask(SIG_SETMASK, &before, NULL);
  return good;
}

/* Runs differ only in the profiler: everything random belongs to its place. The first, of which nothing is recorded but
 * its steps, may be left out. */
static bool run(const struct setup *setup, const struct output *output) {
  struct gpt *trainings[2] = {gpt_new(setup), gpt_new(setup)};
  int count = 0;
  const struct communicator *communicators = gpt_communicators(trainings[0], &count);
  struct recorder *recorder = recorder_new(setup, communicators, count);
  bool good = true;
  for (int profiled = setup->once; profiled < 2 && good; profiled++) {
    struct software software = gpt_software(trainings[profiled]);
    struct witness witness = recorder_witness(recorder, profiled == 1);
    good = machine_run(setup, &software, communicators, count, profiled == 1, &witness);
  }
  good = good && recorder_write(recorder);
  if (good && !setup->quiet) {
    recorder_tell(recorder, stdout);
    good = is_said();
  }
  good = good && commit(output);
  recorder_free(recorder);
  gpt_free(trainings[0]);
  gpt_free(trainings[1]);
  return good;
}

/* ---- the process that waits ---- */

/* Passes signals on to the run until it ends, the last of them in *passed; returns how it did, as waitpid has it. */
static int wait_for(pid_t process, int *passed) {
  sigset_t watched = endings();
  int status = 0;
  sigaddset(&watched, SIGCHLD);
  while (waitpid(process, &status, WNOHANG) == 0) {
    siginfo_t signal_info;
    int number = sigwaitinfo(&watched, &signal_info);
    if (number > 0 && number != SIGCHLD) {
      kill(process, number);
      *passed = number;
    }
  }
  return status;
}

/* The signal that ended the run ends this process too if it came from outside; a limit that the run itself has met is
 * an error. */
static bool tell_signal(int number, int passed, const sigset_t *mask) {
  sigset_t outside = endings();
  sigdelset(&outside, SIGXCPU);
  sigdelset(&outside, SIGXFSZ);
  if (number == passed || sigismember(&outside, number) == 1) {
    (void)signal(number, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    raise(number);
  }
  return complain("the run was ended", number == SIGKILL ? "killed; memory may have run out" : strsignal(number));
}

/* In the run's process, returns when that is over; in the other, when all is. */
static bool run_apart(const struct setup *setup) {
  struct output output;
  sigset_t held = endings(), mask;
  sigaddset(&held, SIGCHLD);
  (void)signal(SIGCHLD, SIG_DFL);
  sigprocmask(SIG_BLOCK, &held, &mask);
  bool good = output_open(&output, setup->folder);
  pid_t waiting = getpid(), process = good ? fork() : -1;
  if (process == 0) {
#ifdef __linux__
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    sigprocmask(SIG_SETMASK, &mask, NULL);
    struct setup inside = *setup;
    inside.folder = output.temporary;
    good = getppid() == waiting && run(&inside, &output);
    free(output.temporary);
    return good;
  }
  if (good && process < 0) {
    good = complain("no process for the run", strerror(errno));
  }
  int passed = 0, status = good ? wait_for(process, &passed) : 0;
  output_close(&output);
  if (WIFSIGNALED(status)) {
    return tell_signal(WTERMSIG(status), passed, &mask);
  }
  return good && WEXITSTATUS(status) == 0;
}

int main(int argc, char **argv) {
  struct setup setup;
  bool done = false;
  bool good = setup_read(&setup, argc, argv, &done) && (done ? is_said() : run_apart(&setup));
  setup_free(&setup);
  return good ? 0 : 2;
}
