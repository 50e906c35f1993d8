/* Ranks are compared two by two in the order of what is compared, so the one pass that each question takes finds what
 * differs. */
#include "job/belong.h"

#include "base/text.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const int64_t second = INT64_C(1000000000);

/* A rank and what it says of its job. */
struct claim {
  const struct lumos_job *job;
  const struct lumos_rank *rank;
  const char *source; /* the file that it comes from, "" where that is unknown */
  bool given;         /* somebody said which rank this is (lumos-parse --rank) */
  bool dated;         /* it says when it was recorded: */
  int64_t start, end;
};

LUMOS_VECTOR_TYPE(claim_list, struct claim);

static bool ranks_were_given(const struct lumos_job *job) {
  for (size_t i = 0; i < job->history.count; i++) {
    if (strstr(lumos_string(job->strings, job->history.items[i].args), "--rank") != NULL) {
      return true;
    }
  }
  return false;
}

static void add_claims(const struct lumos_job *job, struct claim_list *claims) {
  bool given = ranks_were_given(job);
  for (size_t i = 0; i < job->ranks.count; i++) {
    const struct lumos_rank *rank = &job->ranks.items[i];
    struct claim claim = {job, rank, lumos_string(job->strings, rank->source), given, false, 0, 0};
    claim.dated = lumos_rank_recorded(job, rank, &claim.start, &claim.end);
    lumos_vector_push(claims, claim);
  }
}

static int compare_ranks(const void *a, const void *b) {
  const struct claim *left = a, *right = b;
  int order = LUMOS_ORDER(left->rank->rank, right->rank->rank);
  return order != 0 ? order : strcmp(left->source, right->source);
}

static int compare_starts(const void *a, const void *b) {
  const struct claim *left = a, *right = b;
  int order = LUMOS_ORDER(left->start, right->start);
  return order != 0 ? order : compare_ranks(a, b);
}

static void sort(struct claim_list *claims, int (*compare)(const void *, const void *)) {
  lumos_vector_sort(claims, compare);
}

static bool are_distinct(const struct claim_list *claims, struct lumos_error *error) {
  for (size_t i = 1; i < claims->count; i++) {
    const struct claim *one = &claims->items[i - 1];
    const struct claim *other = &claims->items[i];
    if (one->rank->rank == other->rank->rank) {
      bool same = one->start == other->start && one->end == other->end;
      return lumos_fail(error, "rank %d is given twice (%s, %s)%s", one->rank->rank, one->source, other->source,
                        same ? ": the same recording; leave one out"
                             : "; a job has every rank once, number them with lumos-parse --rank");
    }
  }
  return true;
}

static bool are_of_one_world(const struct claim_list *claims, struct lumos_error *error) {
  const struct lumos_rank *known = NULL; /* a rank that knows the size of its world */
  for (size_t i = 0; i < claims->count; i++) {
    const struct lumos_rank *rank = claims->items[i].rank;
    if (rank->world == LUMOS_ABSENT_INT) {
      continue;
    }
    if (known != NULL && rank->world != known->world) {
      return lumos_fail(error, "rank %d is of a job of %d ranks, rank %d of one of %d; join ranks of one job only",
                        known->rank, known->world, rank->rank, rank->world);
    }
    known = rank;
  }
  return true;
}

/* What all ranks of a job have in common. */
static const struct shared_fact {
  const char *words; /* "rank 0 ran on X" */
  size_t offset;     /* of the string in struct lumos_rank */
} shared_facts[] = {
    {"on ", offsetof(struct lumos_rank, device_name)},
    {"with NCCL ", offsetof(struct lumos_rank, nccl)},
    {"as job ", offsetof(struct lumos_rank, job_name)},
    {"as version ", offsetof(struct lumos_rank, job_version)},
    {"in attempt ", offsetof(struct lumos_rank, job_attempt)},
};

static bool agree_on(const struct claim_list *claims, const struct shared_fact *fact, struct lumos_error *error) {
  const struct claim *known = NULL;
  const char *known_value = "";
  for (size_t i = 0; i < claims->count; i++) {
    const struct claim *claim = &claims->items[i];
    const lumos_string_id *id = (const void *)((const char *)claim->rank + fact->offset);
    const char *value = lumos_string(claim->job->strings, *id);
    if (claim->given || value[0] == '\0') {
      continue;
    }
    if (known != NULL && strcmp(value, known_value) != 0) {
      return lumos_fail(error,
                        "rank %d ran %s%s, rank %d %s%s: they are not of one job; keep them apart, or insist with "
                        "lumos-parse --rank",
                        known->rank->rank, fact->words, known_value, claim->rank->rank, fact->words, value);
    }
    known = claim;
    known_value = value;
  }
  return true;
}

/* One group's ranks, in the order of their numbers. */
struct membership {
  const struct lumos_job *job;
  const struct lumos_group *group;
};

LUMOS_VECTOR_TYPE(memberships, struct membership);

static const int32_t *members_of(const struct membership *one) {
  return one->job->group_ranks.items + one->group->member_first;
}

static bool is_alike(const struct membership *one, const struct membership *other) {
  size_t count = one->group->member_count;
  return count == other->group->member_count &&
         memcmp(members_of(one), members_of(other), count * sizeof(int32_t)) == 0;
}

static bool share_a_member(const struct membership *one, const struct membership *other) {
  uint32_t left = 0;
  uint32_t right = 0;
  while (left < one->group->member_count && right < other->group->member_count) {
    int32_t a = members_of(one)[left];
    int32_t b = members_of(other)[right];
    if (a == b) {
      return true;
    }
    left += a < b;
    right += b < a;
  }
  return false;
}

/* "group 0 of the ranks 0, 1" */
static void add_membership(struct lumos_text *text, const struct membership *one) {
  enum { RANKS_TOLD = 8 };
  lumos_text_format(text, "group %s of the ranks ", lumos_string(one->job->strings, one->group->id));
  for (uint32_t i = 0; i < one->group->member_count && i < RANKS_TOLD; i++) {
    lumos_text_format(text, "%s%d", i > 0 ? ", " : "", members_of(one)[i]);
  }
  lumos_text_put(text, one->group->member_count > RANKS_TOLD ? ", ..." : "");
}

static bool fail_groups(const struct membership *one, const struct membership *other, struct lumos_error *error) {
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  lumos_text_format(&text, "rank %d has a ", one->job->ranks.items[one->group->rank].rank);
  add_membership(&text, one);
  lumos_text_format(&text, ", rank %d a ", other->job->ranks.items[other->group->rank].rank);
  add_membership(&text, other);
  lumos_text_add(&text, "", 1);
  (void)lumos_fail(error, "%s: they are not of one job; keep them apart, or insist with lumos-parse --rank",
                   text.bytes);
  lumos_text_free(&text);
  return false;
}

/* A rank is in one group of a name: two that share it have the same members. `known`: those of that name that
 * differ. */
static bool add_group(struct memberships *known, const struct membership *added, struct lumos_error *error) {
  for (size_t i = 0; i < known->count; i++) {
    const struct membership *one = &known->items[i];
    if (strcmp(lumos_string(one->job->strings, one->group->id), lumos_string(added->job->strings, added->group->id)) !=
        0) {
      continue;
    }
    if (is_alike(one, added)) {
      return true;
    }
    if (share_a_member(one, added)) {
      return fail_groups(one, added, error);
    }
  }
  lumos_vector_push(known, *added);
  return true;
}

bool lumos_groups_agree(struct lumos_job *const *jobs, size_t count, struct lumos_error *error) {
  struct memberships known = {0};
  bool good = true;
  for (size_t i = 0; i < count && good; i++) {
    const struct lumos_job *job = jobs[i];
    bool given = ranks_were_given(job);
    for (size_t k = 0; k < job->groups.count && good && !given; k++) {
      const struct membership added = {job, &job->groups.items[k]};
      good = added.group->member_count == 0 || add_group(&known, &added, error);
    }
  }
  lumos_vector_free(&known);
  return good;
}

/* Of claims by their start: the first that was recorded more than `gap` after all before it, *before the last of those
 * to end. NULL: none. */
static const struct claim *find_gap(const struct claim_list *claims, bool given, int64_t gap,
                                    const struct claim **before) {
  const struct claim *last = NULL;
  for (size_t i = 0; i < claims->count; i++) {
    const struct claim *claim = &claims->items[i];
    if (!claim->dated || (claim->given && !given)) {
      continue;
    }
    if (last != NULL && claim->start - last->end > gap) {
      *before = last;
      return claim;
    }
    last = last == NULL || claim->end > last->end ? claim : last;
  }
  return NULL;
}

/* "3 hours": the largest unit of which there are two, rounded down. */
static void add_span(struct lumos_text *text, int64_t nanoseconds) {
  static const struct {
    int64_t seconds;
    const char *name;
  } units[] = {{86400, "days"}, {3600, "hours"}, {60, "minutes"}, {1, "seconds"}};
  size_t unit = 0;
  while (units[unit].seconds > 1 && nanoseconds / second < 2 * units[unit].seconds) {
    unit++;
  }
  lumos_text_format(text, "%" PRId64 " %s", nanoseconds / second / units[unit].seconds, units[unit].name);
}

/* "rank 1 was recorded 3 days after rank 0", with a NUL. */
static void describe_gap(struct lumos_text *text, const struct claim *before, const struct claim *after) {
  lumos_text_format(text, "rank %d was recorded ", after->rank->rank);
  add_span(text, after->start - before->end);
  lumos_text_format(text, " after rank %d", before->rank->rank);
  lumos_text_add(text, "", 1);
}

static bool were_recorded_together(struct claim_list *claims, struct lumos_error *error) {
  const struct claim *before = NULL;
  sort(claims, compare_starts);
  const struct claim *after = find_gap(claims, false, LUMOS_RUN_GAP, &before);
  if (after == NULL) {
    return true;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  describe_gap(&text, before, after);
  (void)lumos_fail(error, "%s: they are of two runs; join the ranks of one, or insist with lumos-parse --rank",
                   text.bytes);
  lumos_text_free(&text);
  return false;
}

bool lumos_ranks_belong(struct lumos_job *const *jobs, size_t count, struct lumos_error *error) {
  struct claim_list claims = {0};
  for (size_t i = 0; i < count; i++) {
    add_claims(jobs[i], &claims);
  }
  sort(&claims, compare_ranks);
  bool good = are_distinct(&claims, error) && are_of_one_world(&claims, error);
  for (size_t i = 0; i < sizeof shared_facts / sizeof *shared_facts && good; i++) {
    good = agree_on(&claims, &shared_facts[i], error);
  }
  good = good && were_recorded_together(&claims, error);
  lumos_vector_free(&claims);
  return good;
}

static const char missing_code[] = "parse.missing_ranks";
static const char apart_code[] = "parse.recorded_apart";

static void drop_old(struct lumos_job *job) {
  size_t kept = 0;
  for (size_t i = 0; i < job->notes.count; i++) {
    const char *code = lumos_string(job->strings, job->notes.items[i].code);
    if (strcmp(code, missing_code) != 0 && strcmp(code, apart_code) != 0) {
      job->notes.items[kept++] = job->notes.items[i];
    }
  }
  job->notes.count = kept;
}

static int32_t world_of(const struct lumos_job *job) {
  int32_t world = LUMOS_ABSENT_INT;
  for (size_t i = 0; i < job->ranks.count && world == LUMOS_ABSENT_INT; i++) {
    world = job->ranks.items[i].world;
  }
  return world;
}

/* Ranks [first, end) onto a list of ranges, of which the first few are told. */
static void add_range(struct lumos_text *text, size_t *ranges, int32_t first, int32_t end) {
  enum { RANGES_TOLD = 8 };
  if (first >= end || ++*ranges > RANGES_TOLD + 1) {
    return;
  }
  lumos_text_put(text, *ranges > 1 ? ", " : "");
  if (*ranges > RANGES_TOLD) {
    lumos_text_put(text, "...");
  } else if (first + 1 == end) {
    lumos_text_format(text, "%d", first);
  } else {
    lumos_text_format(text, "%d-%d", first, end - 1);
  }
}

/* Whoever gives one rank means that one; whoever gives several may have meant all. */
static void note_missing(struct lumos_job *job) {
  int32_t world = world_of(job);
  size_t count = job->ranks.count;
  if (world == LUMOS_ABSENT_INT || (size_t)world <= count || job->ranks.items[count - 1].rank >= world) {
    return;
  }
  struct lumos_text text = LUMOS_TEXT_BUFFER;
  size_t ranges = 0;
  int32_t next = 0;
  lumos_text_format(&text, "of the %d ranks of the job these are missing: ", world);
  for (size_t i = 0; i < count; i++) {
    add_range(&text, &ranges, next, job->ranks.items[i].rank);
    next = job->ranks.items[i].rank + 1;
  }
  add_range(&text, &ranges, next, world);
  lumos_text_add(&text, "", 1);
  lumos_job_note(job, missing_code, count > 1 ? LUMOS_WARNING : LUMOS_INFO, world - (int64_t)count, NULL, text.bytes,
                 "add their traces: waiting for a rank can be split from transfer only where its trace is present");
  lumos_text_free(&text);
}

static void note_apart(struct lumos_job *job) {
  struct claim_list claims = {0};
  const struct claim *before = NULL;
  add_claims(job, &claims);
  sort(&claims, compare_starts);
  const struct claim *after = find_gap(&claims, true, 0, &before);
  if (after != NULL) {
    struct lumos_text text = LUMOS_TEXT_BUFFER;
    describe_gap(&text, before, after);
    lumos_job_note(job, apart_code, LUMOS_WARNING, LUMOS_ABSENT, NULL, text.bytes,
                   find_gap(&claims, true, LUMOS_RUN_GAP, &before) != NULL
                       ? "--rank joined them; figures of the whole job hold only for ranks that ran together"
                       : "unless their clocks differ by that much, they did not run together, and figures of the whole "
                         "job do not hold");
    lumos_text_free(&text);
  }
  lumos_vector_free(&claims);
}

void lumos_note_belonging(struct lumos_job *job) {
  drop_old(job);
  note_missing(job);
  note_apart(job);
}
