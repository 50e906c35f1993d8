/* Where in a training step a rank launches something: in the forward passes, in a backward pass, or behind all of
 * them. */
#ifndef LUMOS_PROGRAM_PLACE_H
#define LUMOS_PROGRAM_PLACE_H

#include <lumos/job.h>

enum program_place { PLACE_FORWARD, PLACE_BACKWARD, PLACE_END, PLACES };

struct program_step {
  int32_t step;
  int64_t last_backward; /* start of the last host task within a backward pass; INT64_MIN: there is none */
};

struct program_places {
  const struct lumos_job *job;
  uint8_t *backward;                       /* by span: 1 no, 2 yes, it or a span around it is of a backward pass */
  uint8_t *names;                          /* by string: 1: ops of this name are */
  int32_t *threads;                        /* by lane: above 0, it runs backward passes alone */
  uint32_t rank;                           /* whose steps these are */
  LUMOS_VECTOR(struct program_step) steps; /* ascending */
  bool has_backward;                       /* in any step */
};

void program_places_begin(struct program_places *places, const struct lumos_job *job);
void program_places_free(struct program_places *places);
/* Is the span, or one around it, of a backward pass? All calls together are O(spans). */
bool program_span_in_backward(struct program_places *places, uint32_t span);
/* Look at one rank (index). O(its tasks). */
void program_places_of_rank(struct program_places *places, uint32_t rank);
/* Of what this device task's call does, on that rank; PLACES where it is not known. */
enum program_place program_place_of(const struct program_places *places, const struct lumos_task *task);

#endif
