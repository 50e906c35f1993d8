/* What a device task comes from: the op and the module of the model that it is work of.
 *
 * A launch lies in an op, the op in others and in modules. What runs going back lies in a node of autograd, whose
 * sequence number names the op whose gradient it is: such work counts for that op and its module, so that both passes
 * of a layer stand under one name and are told apart by their phase.
 */
#ifndef LUMOS_SIM_ORIGIN_H
#define LUMOS_SIM_ORIGIN_H

#include "base/numbering.h"
#include <lumos/job.h>

/* A module inside of others: its path is a way through a tree. Node 0 is the root, which is no module. */
struct lumos_module {
  uint32_t parent;
  lumos_string_id name;
};

/* Of a span: the innermost op around it, and the one that autograd counts; LUMOS_NO_STRING: none; LUMOS_NONE: not asked
 * yet. */
struct lumos_ops {
  lumos_string_id innermost, counted;
};

struct lumos_origins {
  const struct lumos_job *job;
  uint8_t *transparent;     /* by string: names of ops that wrap whole parts of a model */
  uint32_t *modules_of;     /* by span: the module around it, itself included; LUMOS_NONE: not asked yet */
  struct lumos_ops *ops_of; /* by span */
  LUMOS_VECTOR(struct lumos_module) modules;
  struct lumos_numbering numbering; /* of the modules' parents and names: index - 1 */
};

void lumos_origins_begin(struct lumos_origins *origins, const struct lumos_job *job);
void lumos_origins_free(struct lumos_origins *origins);

struct lumos_origin {
  lumos_string_id op; /* LUMOS_NO_STRING: none */
  uint32_t module;    /* 0: none */
};

/* The origin of what is launched within a span, and its op alone. Each span is looked at once. */
struct lumos_origin lumos_origin_of(struct lumos_origins *origins, uint32_t span);
lumos_string_id lumos_origin_op(struct lumos_origins *origins, uint32_t span);

/* The span in which a device task was launched, or LUMOS_NONE. */
uint32_t lumos_launch_span(const struct lumos_job *job, const struct lumos_task *task);

/* "GPTModel_0.TransformerLayer_3.MLP_3", as modules are named in each other; module is not 0. */
lumos_string_id lumos_module_path(const struct lumos_origins *origins, const struct lumos_job *job, uint32_t module);

#endif
