/* The training program: a GPT, spread over the ranks as Megatron-LM does it, written as the calls that PyTorch would
 * make.
 *
 * Layers are dealt to stages (and chunks of stages) evenly, in order. The first stage embeds, the last has the head,
 * whose weights are the embedding's: both ranks reduce their gradient together.
 */
#ifndef EMULATOR_GPT_H
#define EMULATOR_GPT_H

#include "machine.h"

struct gpt;

/* The setup must outlive it. */
struct gpt *gpt_new(const struct setup *setup);
void gpt_free(struct gpt *gpt);

struct software gpt_software(struct gpt *gpt);
const struct communicator *gpt_communicators(const struct gpt *gpt, int *count);

/* Model FLOPs of one step of the whole job (forward and backward, without recomputation), by the closed formula: 3 * 2
 * * tokens * (layers * (4 * hidden * heads * head_dim + 2 * hidden * ffn) + hidden * vocabulary) + 3 * 2 * layers *
 * heads * head_dim * sequence^2 * sequences (causal attention counts half of it). */
double gpt_model_flops(const struct setup *setup);

#endif
