/* Roles from what ran: threads by what recorders and autograd call things, streams by the work that takes longest. */
#include "report/content/lane_roles.h"

#include "report/text/names.h"
#include "report/text/numbers.h"
#include <stdlib.h>
#include <string.h>

struct role_name {
  const char *brief, *full;
};

static const struct role_name role_names[ROLE_LAST + 1] = {
    [ROLE_MAIN] = {"CPU main", "CPU main"},
    [ROLE_AUTOGRAD] = {"CPU autograd", "CPU autograd"},
    [ROLE_THREAD] = {"CPU", "CPU"},
    [ROLE_COMPUTE] = {"compute", "compute"},
    [ROLE_COPIES] = {"copies", "copies"},
    [ROLE_COMMUNICATION] = {"communication", "communication"},
    [ROLE_AXIS + LUMOS_TENSOR] = {"TP communication", "tensor-parallel communication"},
    [ROLE_AXIS + LUMOS_PIPELINE] = {"PP communication", "pipeline-parallel communication"},
    [ROLE_AXIS + LUMOS_DATA] = {"DP communication", "data-parallel communication"},
    [ROLE_AXIS + LUMOS_EXPERT] = {"EP communication", "expert-parallel communication"},
    [ROLE_AXIS + LUMOS_CONTEXT] = {"CP communication", "context-parallel communication"},
    [ROLE_AXIS + LUMOS_OTHER_ROLE] = {"communication", "communication"},
};

/* --- Streams --- */

static bool has_rank(const struct lumos_job *job, const struct lumos_group *group, int32_t number) {
  for (uint32_t i = 0; i < group->member_count; i++) {
    if (job->group_ranks.items[group->member_first + i] == number) {
      return true;
    }
  }
  return false;
}

/* The role of the group of that name in which a rank is; 0: not known. */
static uint8_t role_of_group(const struct lumos_job *job, lumos_string_id id, int32_t number) {
  for (size_t i = 0; i < job->groups.count; i++) {
    const struct lumos_group *group = &job->groups.items[i];
    if (group->id == id && has_rank(job, group, number)) {
      return group->role;
    }
  }
  return 0;
}

/* A lane stays with few groups: the last one is mostly the next one. */
struct group_search {
  const struct lumos_job *job;
  int32_t rank;
  lumos_string_id id;
  uint8_t role;
};

static enum report_lane_role role_of_task(struct group_search *search, const struct lumos_task *task) {
  if (!lumos_is_communication(task->kind)) {
    return lumos_is_copy(task->kind) ? ROLE_COPIES : ROLE_COMPUTE;
  }
  lumos_string_id group = lumos_detail_of(search->job, task)->comm.group;
  if (group != search->id) {
    search->id = group;
    search->role = group == LUMOS_NO_STRING ? 0 : role_of_group(search->job, group, search->rank);
  }
  return search->role == 0 ? ROLE_COMMUNICATION : (enum report_lane_role)(ROLE_AXIS + search->role);
}

/* The role whose work takes longest; communication along several axes, longer than all else only together, is just
 * communication. */
static enum report_lane_role role_of_stream(const struct lumos_job *job, const struct lumos_lane *lane) {
  int64_t times[ROLE_LAST + 1] = {0};
  struct group_search search = {.job = job, .rank = job->ranks.items[lane->rank].rank};
  for (uint32_t task = lane->task_first; task < lane->task_first + lane->task_count; task++) {
    const struct lumos_task *record = &job->tasks.items[task];
    enum report_lane_role role = role_of_task(&search, record);
    times[role] = report_sum(times[role], record->dur > 0 ? report_bounded(record->dur) : 0);
  }
  int64_t all = 0;
  int longest = ROLE_COMMUNICATION;
  for (int role = ROLE_COMMUNICATION; role <= ROLE_LAST; role++) {
    all = report_sum(all, times[role]);
    longest = times[role] > times[longest] ? role : longest;
  }
  int other = times[ROLE_COPIES] > times[ROLE_COMPUTE] ? ROLE_COPIES : ROLE_COMPUTE;
  if (all <= times[other]) {
    return (enum report_lane_role)other;
  }
  return times[longest] > all / 2 ? (enum report_lane_role)longest : ROLE_COMMUNICATION;
}

/* --- Threads --- */

/* A thread that runs backward does so from its first tasks on; to look further would cost more than it tells. */
static bool runs_autograd(const struct lumos_job *job, const struct lumos_lane *lane) {
  enum { LOOKED_AT = 2000 };
  static const char prefix[] = "autograd::";
  const char *name = lumos_string(job->strings, lane->name);
  if (name != NULL && strstr(name, "autograd") != NULL) {
    return true;
  }
  for (uint32_t i = 0; i < lane->task_count && i < LOOKED_AT; i++) {
    const char *task = lumos_string(job->strings, job->tasks.items[lane->task_first + i].name);
    if (task != NULL && strncmp(task, prefix, sizeof prefix - 1) == 0) {
      return true;
    }
  }
  return false;
}

/* The main thread has its process's number, as Linux has it; where none has, it is the one with most tasks. */
static uint32_t main_thread(const struct lumos_job *job, const struct lumos_rank *rank) {
  uint32_t most = LUMOS_NONE;
  for (uint32_t i = rank->lane_first; i < rank->lane_first + rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[i];
    if (lane->kind == LUMOS_STREAM || lane->task_count == 0) {
      continue;
    }
    if (lane->native != LUMOS_NO_STRING && lane->native == lane->process) {
      return i;
    }
    most = most == LUMOS_NONE || lane->task_count > job->lanes.items[most].task_count ? i : most;
  }
  return most;
}

static void read_rank(struct report_lane_roles *roles, const struct lumos_rank *rank) {
  const struct lumos_job *job = roles->job;
  uint32_t main = main_thread(job, rank);
  uint32_t counts[ROLE_LAST + 1] = {0};
  for (uint32_t i = rank->lane_first; i < rank->lane_first + rank->lane_count; i++) {
    const struct lumos_lane *lane = &job->lanes.items[i];
    if (lane->task_count > 0) {
      roles->of[i] = (uint8_t)(lane->kind == LUMOS_STREAM ? role_of_stream(job, lane)
                               : i == main                ? ROLE_MAIN
                               : runs_autograd(job, lane) ? ROLE_AUTOGRAD
                                                          : ROLE_THREAD);
      counts[roles->of[i]]++;
    }
  }
  for (uint32_t i = rank->lane_first; i < rank->lane_first + rank->lane_count; i++) {
    roles->has_alike[i] = counts[roles->of[i]] > 1;
  }
}

void report_lane_roles_read(const struct lumos_job *job, struct report_lane_roles *roles) {
  *roles = (struct report_lane_roles){.job = job};
  roles->of = lumos_allocate_zeroed(job->lanes.count + 1, sizeof roles->of[0]);
  roles->has_alike = lumos_allocate_zeroed(job->lanes.count + 1, sizeof roles->has_alike[0]);
  for (size_t i = 0; i < job->ranks.count; i++) {
    read_rank(roles, &job->ranks.items[i]);
  }
}

void report_lane_roles_free(struct report_lane_roles *roles) {
  free(roles->of);
  free(roles->has_alike);
  *roles = (struct report_lane_roles){0};
}

/* --- Words --- */

/* "s7", "t1382": its name is a letter and a number. */
static bool has_number(const struct lumos_job *job, const struct lumos_lane *lane) {
  const char *name = lumos_string(job->strings, lane->lane);
  size_t length = lumos_string_length(job->strings, lane->lane);
  char letter = lane->kind == LUMOS_STREAM ? 's' : 't';
  return length >= 2 && name[0] == letter && strspn(name + 1, "-0123456789") == length - 1;
}

/* Its number alone. */
static void report_put_lane_number(struct lumos_text *out, const struct lumos_job *job, uint32_t lane) {
  enum { MOST = 8, KEPT = 6 };
  const struct lumos_lane *record = &job->lanes.items[lane];
  const char *name = lumos_string(job->strings, record->lane);
  size_t length = lumos_string_length(job->strings, record->lane);
  if (!has_number(job, record)) {
    report_put_cut(out, name, length, MOST * 2);
  } else if (length - 1 > MOST) {
    lumos_text_put(out, "\xE2\x80\xA6");
    lumos_text_put(out, name + length - KEPT);
  } else {
    lumos_text_put(out, name + 1);
  }
}

void report_put_lane(struct lumos_text *out, const struct lumos_job *job, uint32_t lane) {
  const struct lumos_lane *record = &job->lanes.items[lane];
  if (has_number(job, record)) {
    lumos_text_put(out, record->kind == LUMOS_STREAM ? "stream " : "thread ");
  }
  report_put_lane_number(out, job, lane);
}

void report_put_lane_short(const struct report_lane_roles *roles, uint32_t lane, struct lumos_text *out) {
  const struct role_name *name = &role_names[roles->of[lane]];
  if (name->brief == NULL) {
    report_put_lane(out, roles->job, lane);
    return;
  }
  lumos_text_put(out, name->brief);
  if (roles->has_alike[lane] || roles->of[lane] == ROLE_THREAD) {
    lumos_text_char(out, ' ');
    report_put_lane_number(out, roles->job, lane);
  }
}

void report_put_lane_full(const struct report_lane_roles *roles, uint32_t lane, struct lumos_text *out) {
  const struct role_name *name = &role_names[roles->of[lane]];
  if (name->full != NULL) {
    lumos_text_put(out, name->full);
    lumos_text_put(out, " (");
  }
  report_put_lane(out, roles->job, lane);
  lumos_text_put(out, name->full != NULL ? ")" : "");
}
