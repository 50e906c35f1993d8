/* A job made out of pieces of another one: another order, other numbers of ranks, layers or micro-batches.
 *
 * Every record is like one of the job that it is taken from, but for what is given here. What is built is known by
 * handles, in whatever order it is built; indices, ids, seq and order are found at the end. What a task refers to is
 * never copied: as long as it is not given anew it is an open port, and no job with open ports leaves the builder.
 */
#ifndef LUMOS_JOB_BUILDER_H
#define LUMOS_JOB_BUILDER_H

#include <lumos/error.h>
#include <lumos/job.h>

struct lumos_builder;

/* Handles; those of one kind mean nothing to another. */
struct lumos_built_rank {
  uint32_t number;
};
struct lumos_built_lane {
  uint32_t number;
};
struct lumos_built_span {
  uint32_t number; /* LUMOS_NONE: none */
};
struct lumos_built_task {
  uint32_t number; /* LUMOS_NONE: none */
};

/* `from`, of stage graph or later, must outlive the builder. */
struct lumos_builder *lumos_builder_new(const struct lumos_job *from);
/* Before the first task: so many records will come, about, so that there is room for all of them at once. */
struct lumos_builder_counts {
  size_t tasks, details, timings, spans;
};
void lumos_builder_expect(struct lumos_builder *builder, const struct lumos_builder_counts *counts);
void lumos_builder_free(struct lumos_builder *builder); /* NULL is allowed; a job that was not finished is gone */

/* A rank like rank `like` of `from` (index), with another number; it has the lanes that it is given. */
struct lumos_built_rank lumos_build_rank(struct lumos_builder *builder, uint32_t like, int32_t number);
/* Its coordinates, and how many ranks the job has. */
void lumos_build_coordinates(struct lumos_builder *builder, struct lumos_built_rank rank,
                             const struct lumos_parallel *parallel, int32_t world);
/* How many ranks of the job it stands for, itself included: others do the same. */
void lumos_build_represents(struct lumos_builder *builder, struct lumos_built_rank rank, int32_t represents);
/* A group like group `like`, of these ranks (numbers, ascending); `rank`: the lowest that is built. */
void lumos_build_group(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank, const int32_t *ranks,
                       uint32_t count);
/* Another id for the last group, the decimal number `id`. Returns it, for tasks that communicate in it. */
lumos_string_id lumos_build_group_id(struct lumos_builder *builder, uint32_t id);
struct lumos_built_lane lumos_build_lane(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank);
/* A lane of another rank whose tasks come onto this one. */
void lumos_build_lane_for(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank,
                          struct lumos_built_lane lane);
struct lumos_built_span lumos_build_span(struct lumos_builder *builder, uint32_t like, struct lumos_built_rank rank,
                                         struct lumos_built_span parent, struct lumos_built_span forward);
/* Its one input, in place of `like`'s, a row of `count` numbers. */
void lumos_build_stretch(struct lumos_builder *builder, struct lumos_built_span span, int64_t count);

/* A task behind those that the lane has. Own times as given; what is explained of them in `like` is not copied. Where a
 * call of `like` names a lane (its event's, or the one it waits for), it is the lane of this rank that is like that. It
 * has no measured start, and `from` names `like`. */
struct lumos_built_task lumos_build_task(struct lumos_builder *builder, uint32_t like, struct lumos_built_lane lane,
                                         struct lumos_times own, int32_t step);
void lumos_build_span_of(struct lumos_builder *builder, struct lumos_built_task task, struct lumos_built_span span);
/* Of another micro-batch and layer than `like`. What event a call speaks of is then told by the record alone. */
void lumos_build_place(struct lumos_builder *builder, struct lumos_built_task task, int32_t micro_batch, int32_t layer);

/* Of another phase than `like`. */
void lumos_build_phase(struct lumos_builder *builder, struct lumos_built_task task, uint8_t phase);

/* Its start is later than all that holds it says, by so much. */
void lumos_build_residual(struct lumos_builder *builder, struct lumos_built_task task, int64_t residual);
/* Its end is later by so much than that of its collective, and then so many times as far from that. Returns how far. */
int64_t lumos_build_end(struct lumos_builder *builder, struct lumos_built_task task, int64_t later, double factor);

/* In which group it communicates: what lumos_build_group_id returned, or none. What told its communicator, its place in
 * that and its peers no longer does. */
void lumos_build_comm_group(struct lumos_builder *builder, struct lumos_built_task task, lumos_string_id group);
/* Communicator `id`, in which it is operation `seq`. */
void lumos_build_communicator(struct lumos_builder *builder, struct lumos_built_task task, uint32_t id, int64_t seq);
/* A rank (a number) that it sends to and receives from, behind those that it has been given; no other task is given one
 * meanwhile. */
void lumos_build_peer(struct lumos_builder *builder, struct lumos_built_task task, const struct lumos_peer *peer);

/* Ports. How a task comes to its stream: `call` as origin has it (stream.h), none where it needs none. */
void lumos_build_origin(struct lumos_builder *builder, struct lumos_built_task task, enum lumos_task_origin origin,
                        struct lumos_built_task call);
/* A call's first segment, and the record that a call waits for; none: it has none. */
void lumos_build_segment(struct lumos_builder *builder, struct lumos_built_task call, struct lumos_built_task first);
void lumos_build_record(struct lumos_builder *builder, struct lumos_built_task wait, struct lumos_built_task record);
/* A dep like dep `like` of `from` between other tasks; of a boundary `src` is none, and `at` its instant. */
void lumos_build_dep(struct lumos_builder *builder, uint32_t like, struct lumos_built_task src, int64_t at,
                     struct lumos_built_task dst);
/* The same, of a hand-over whose thread goes on so much later. */
void lumos_build_hand_over(struct lumos_builder *builder, uint32_t like, struct lumos_built_task src, int64_t lag,
                           struct lumos_built_task dst);
/* `task` waits for SMs while the stream of `occupant` is occupied, as that one itself holds it up, until `share` of its
 * time is left, in millionths (LUMOS_RESOURCE). It stands so long (ns) behind kernels before that one, too;
 * LUMOS_ABSENT: for as long as there are any. */
struct lumos_dep lumos_dep_of_room(const struct lumos_job *job, uint32_t occupant, int32_t share, int64_t behind,
                                   uint32_t task);
/* Such a dep, which is like none of `from`. */
void lumos_build_room(struct lumos_builder *builder, struct lumos_built_task occupant, int32_t share, int64_t behind,
                      struct lumos_built_task task);
/* A collective like collective `like`, of `size` ranks, in the group of its first member; the members that are
 * there. */
void lumos_build_collective(struct lumos_builder *builder, uint32_t like, const struct lumos_built_task *members,
                            uint32_t count, int32_t size);
/* A task like a member of a collective that is in none here. */
void lumos_build_alone(struct lumos_builder *builder, struct lumos_built_task task);

/* What the last collective transfers takes, in ns: another time than `like`'s, modelled. */
void lumos_build_transfer(struct lumos_builder *builder, int64_t transfer);
/* What it moves, another number of bytes than `like`. */
void lumos_build_bytes(struct lumos_builder *builder, int64_t bytes);

/* The rule of the last collective, and its root: the number of a rank, or LUMOS_ABSENT_INT. */
void lumos_build_rule(struct lumos_builder *builder, enum lumos_rule rule, int32_t root);

/* An error that what is built has in common (lumos_job_common_error); its id. */
lumos_string_id lumos_build_common_error(struct lumos_builder *builder, const char *id, const char *name, int32_t sigma,
                                         const char *source);
/* How wrong the last collective's transfer may be: by itself (ns, one sigma), and with all that share the common error
 * (LUMOS_NO_STRING: none). */
void lumos_build_transfer_error(struct lumos_builder *builder, int64_t error, lumos_string_id common);

/* What is trained and how it is spread, in place of what `from` says. */
void lumos_build_model(struct lumos_builder *builder, const struct lumos_model_description *model);

/* The job, at stage transform and edited, in order and checked; the builder is empty afterwards, and can only be freed.
 * NULL with an error that names what `from` calls the task whose port is open, or what lumos_job_check finds.
 * O(records log records). */
struct lumos_job *lumos_builder_finish(struct lumos_builder *builder, struct lumos_error *error) LUMOS_MUST_CHECK;

#endif
