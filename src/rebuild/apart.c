#include "rebuild/apart.h"

#include "base/hash.h"
#include <math.h>
#include <stdlib.h>

static int64_t behind_end(const struct lumos_job *job, const struct lumos_collective *collective, uint32_t m) {
  uint32_t member = job->members.items[collective->member_first + m];
  int64_t residual = lumos_timing_of(job, member)->end_residual;
  return residual == LUMOS_ABSENT ? 0 : residual;
}

int64_t rebuild_apart_early(const struct rebuild_apart *apart, uint32_t collective) {
  const struct lumos_collective *record = &apart->job->collectives.items[collective];
  int64_t early = 0;
  for (uint32_t m = 0; m < record->member_count; m++) {
    int64_t before = -behind_end(apart->job, record, m);
    early = before > early ? before : early;
  }
  return early;
}

static uint64_t key_of(const struct lumos_collective *collective) {
  uint64_t op = lumos_hash_mix(collective->op, (uint64_t)collective->bytes);
  return lumos_hash_mix(op, lumos_key_pair((uint32_t)collective->size, collective->member_count));
}

static void add_members(struct rebuild_apart *apart, uint32_t c) {
  const struct lumos_collective *collective = &apart->job->collectives.items[c];
  int64_t early = rebuild_apart_early(apart, c);
  apart->family_of[c] = lumos_number_of(&apart->families, key_of(collective));
  for (uint32_t m = 0; m < collective->member_count; m++) {
    double behind = (double)(behind_end(apart->job, collective, m) + early);
    struct rebuild_behind member = {apart->family_of[c], behind / (double)collective->transfer};
    lumos_vector_push(&apart->members, member);
  }
}

static int by_family(const void *left, const void *right) {
  const struct rebuild_behind *a = left, *b = right;
  return a->family != b->family ? LUMOS_ORDER(a->family, b->family) : LUMOS_ORDER(a->share, b->share);
}

void rebuild_apart_find(struct rebuild_apart *apart, const struct lumos_job *job) {
  *apart = (struct rebuild_apart){.job = job};
  apart->family_of = lumos_allocate(job->collectives.count * sizeof *apart->family_of + 1);
  for (uint32_t c = 0; c < job->collectives.count; c++) {
    const struct lumos_collective *collective = &job->collectives.items[c];
    apart->family_of[c] = LUMOS_NONE;
    if (collective->rule == LUMOS_SYMMETRIC && collective->member_count > 1 && collective->transfer != LUMOS_ABSENT &&
        collective->transfer > 0) {
      add_members(apart, c);
    }
  }
  lumos_vector_sort(&apart->members, by_family);
  apart->first = lumos_allocate_zeroed(apart->families.keys.count + 1, sizeof *apart->first);
  for (size_t i = 0; i < apart->members.count; i++) {
    apart->first[apart->members.items[i].family + 1] = i + 1;
  }
}

void rebuild_apart_free(struct rebuild_apart *apart) {
  lumos_numbering_free(&apart->families);
  lumos_vector_free(&apart->members);
  free(apart->family_of);
  free(apart->first);
}

/* Of so many drawn from all members that were recorded, the mean of the largest. */
double rebuild_apart_last(const struct rebuild_apart *apart, uint32_t collective, int32_t count) {
  enum { LEAST = 32 }; /* chosen: the largest of few says little of how late the last of many is */
  uint32_t family = apart->family_of[collective];
  size_t first = family == LUMOS_NONE ? 0 : apart->first[family],
         members = family == LUMOS_NONE ? 0 : apart->first[family + 1] - first;
  double last = 0, below = 0;
  for (size_t i = 0; i < members && members >= LEAST; i++) {
    double up_to = pow((double)(i + 1) / (double)members, count);
    last += (up_to - below) * apart->members.items[first + i].share;
    below = up_to;
  }
  return last;
}
