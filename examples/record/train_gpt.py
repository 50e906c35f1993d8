"""A small GPT, or another model of the transformers library, trained on random tokens, to record traces of it: of one size, or of pairs.

    python3 train_gpt.py --record traces                                  one process
    torchrun --nproc-per-node 2 train_gpt.py --record traces              data-parallel, a process a GPU
    python3 train_gpt.py --layers 8 --hidden 1024 --bf16                  without a recording: step times alone
    python3 train_gpt.py --transformers llama --record traces             the library's own model, with random weights

On the first GPU that is there, else on the CPU. The last line that rank 0 prints is a JSON object: every option, the size of the job and
the mean time of a step without the profiler.
"""

import argparse
import contextlib
import json
import os
import time

import torch
import torch.distributed
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from lumos_record import Recorder

OPTIONS = (
    # name, default, help
    ("layers", 4, "transformer layers"),
    ("hidden", 512, "width of the model"),
    ("heads", 8, "attention heads"),
    ("kv-heads", 0, "heads of keys and values; 0: as many as attention heads"),
    ("ffn", 0, "width within the feed-forward part; 0: four times the hidden width"),
    ("sequence", 256, "tokens of a sequence"),
    ("vocabulary", 8192, "different tokens"),
    ("micro-batch", 4, "sequences of a micro-batch, on each rank"),
    ("micro-batches", 1, "micro-batches of a step, on each rank"),
    ("iterations", 0, "steps to train; 0: as many as are recorded, or 16"),
    ("wait", 10, "steps before the profiler starts"),
    ("warmup", 3, "steps that the profiler sees and throws away"),
    ("steps", 3, "steps that are recorded"),
    ("shards", 1, "compute what one rank computes where tensor parallelism cuts the model in so many; nothing is communicated"),
    ("seed", 1, "of the weights and the tokens"),
)
FLAGS = (
    ("bf16", "compute in bfloat16, weights in float32"),
    ("bf16-weights", "weights and optimizer state in bfloat16, too"),
    ("fused", "the optimizer's fused kernels"),
    ("compile", "torch.compile the model (PyTorch 2)"),
    ("graphs", "launch the model's kernels as CUDA graphs, forward and backward"),
    ("recompute", "keep the input of each layer alone, and compute the rest again in the backward pass"),
    ("stacks", "record Python functions and modules, too"),
    ("memory", "record allocations, too"),
    ("no-shapes", "record without sizes"),
    ("no-sync", "record without synchronisation events"),
    ("hold-gc", "no garbage collection while steps are timed or recorded"),
    ("cpu", "train on the CPU even where there is a GPU"),
)


class Attention(nn.Module):
    def __init__(self, hidden, heads, kv_heads, width):
        super().__init__()
        self.heads, self.kv_heads, self.width = heads, kv_heads, width
        self.input = nn.Linear(hidden, (heads + 2 * kv_heads) * width)
        self.output = nn.Linear(heads * width, hidden)

    def forward(self, x):
        batch, sequence, _ = x.shape
        widths = [heads * self.width for heads in (self.heads, self.kv_heads, self.kv_heads)]
        q, k, v = (part.view(batch, sequence, -1, self.width).transpose(1, 2) for part in self.input(x).split(widths, dim=-1))
        if self.kv_heads != self.heads:
            k, v = (part.repeat_interleave(self.heads // self.kv_heads, dim=1) for part in (k, v))
        return self.output(attend(q, k, v).transpose(1, 2).reshape(batch, sequence, -1))


def attend(q, k, v):
    """Causal attention, by PyTorch's own kernel where it has one (since 2.0)."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    later = torch.ones(q.shape[-2], q.shape[-2], dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(later, float("-inf")).softmax(-1) @ v


class Block(nn.Module):
    def __init__(self, options):
        super().__init__()
        hidden, ffn, shards = options.hidden, options.ffn // options.shards, options.shards
        self.norm1 = nn.LayerNorm(hidden)
        self.attention = Attention(hidden, options.heads // shards, options.kv_heads // shards, hidden // options.heads)
        self.norm2 = nn.LayerNorm(hidden)
        self.mlp = nn.Sequential(nn.Linear(hidden, ffn), nn.GELU(), nn.Linear(ffn, hidden))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    """Token and position embeddings, blocks, a head that predicts the next token; forward gives the loss."""

    def __init__(self, options):
        super().__init__()
        hidden = options.hidden
        self.tokens = nn.Embedding(options.vocabulary // options.shards, hidden)
        self.positions = nn.Embedding(options.sequence, hidden)
        self.blocks = nn.ModuleList(Block(options) for _ in range(options.layers))
        self.recompute = options.recompute
        self.norm = nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, options.vocabulary // options.shards, bias=False)

    def forward(self, tokens, targets):
        x = self.tokens(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute and self.training else block(x)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


class Transformers(nn.Module):
    """A causal language model of the transformers library, in the sizes asked for; forward gives the loss."""

    def __init__(self, options):
        super().__init__()
        from transformers import AutoConfig, AutoModelForCausalLM

        shards = options.shards
        config = AutoConfig.for_model(options.transformers, vocab_size=options.vocabulary // shards, hidden_size=options.hidden,
                                      intermediate_size=options.ffn // shards, num_hidden_layers=options.layers,
                                      num_attention_heads=options.heads // shards, num_key_value_heads=options.kv_heads // shards,
                                      head_dim=options.hidden // options.heads, max_position_embeddings=options.sequence, use_cache=False)
        self.model = AutoModelForCausalLM.from_config(config)
        if options.recompute:
            self.model.gradient_checkpointing_enable()

    def forward(self, tokens, targets):
        logits = self.model(input_ids=tokens).logits
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def train_step(model, optimizer, batches, options, device):
    """Gradients of all micro-batches, summed over the ranks once, behind the last."""
    optimizer.zero_grad(set_to_none=True)
    for i, tokens in enumerate(batches):
        last = i + 1 == len(batches)
        with contextlib.nullcontext() if last or not hasattr(model, "no_sync") else model.no_sync():
            with torch.autocast(device.type, dtype=torch.bfloat16, enabled=options.bf16):
                loss = model(tokens[:, :-1], tokens[:, 1:])
            (loss / len(batches)).backward()
    optimizer.step()


def build(options, device, world):
    torch.manual_seed(options.seed)  # the same weights on every rank
    model = (Transformers if options.transformers else GPT)(options).to(device, torch.bfloat16 if options.bf16_weights else None)
    if options.compile:
        model = torch.compile(model)
    if options.graphs:
        model = graphed(model, options, device)
    if world > 1:
        model = nn.parallel.DistributedDataParallel(model, device_ids=[device.index] if device.type == "cuda" else None)
    return model, torch.optim.AdamW(model.parameters(), lr=3e-4, **({"fused": True} if options.fused else {}))


def graphed(model, options, device):
    """The model, its forward and backward pass captured once and launched as two graphs from then on."""
    tokens = torch.zeros((options.micro_batch, options.sequence), dtype=torch.long, device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=options.bf16, cache_enabled=False):
        return torch.cuda.make_graphed_callables(model, (tokens, tokens.clone()))


def loader(options, device, rank, iterations):
    """A step's micro-batches; new ones every step, from the host, as a loader of real data gives them."""
    random = torch.Generator().manual_seed(options.seed + 1 + rank)
    shape = (options.micro_batches, options.micro_batch, options.sequence + 1)
    for _ in range(iterations):
        batch = torch.randint(options.vocabulary // options.shards, shape, generator=random)
        yield (batch.pin_memory() if device.type == "cuda" else batch).to(device, non_blocking=True)


def timed(model, optimizer, options, device, rank):
    """Train without a recording; the mean time of a step over the second half, in nanoseconds."""
    iterations = options.iterations or 16
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    clock = 0
    for i, batches in enumerate(loader(options, device, rank, iterations)):
        if i == iterations // 2:
            wait()
            clock = time.perf_counter_ns()
        train_step(model, optimizer, batches, options, device)
    wait()
    return (time.perf_counter_ns() - clock) // (iterations - iterations // 2)


def recorded(model, optimizer, options, device, rank):
    """Train with a recording; the mean time of a step before it, in nanoseconds."""
    iterations = options.iterations or options.wait + options.warmup + options.steps
    recorder = Recorder(options.record, wait=options.wait, warmup=options.warmup, steps=options.steps,
                        shapes=not options.no_shapes, sync=not options.no_sync, stacks=options.stacks,
                        memory=options.memory, hold_gc=options.hold_gc)
    with recorder:
        for batches in recorder.steps_of(loader(options, device, rank, iterations)):
            train_step(model, optimizer, batches, options, device)
    return recorder.unprofiled_step_ns


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a small GPT, and record traces of it.")
    for name, default, text in OPTIONS:
        parser.add_argument(f"--{name}", type=int, default=default, metavar="N", help=f"{text} (default {default})")
    for name, text in FLAGS:
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument("--transformers", default="", metavar="NAME", help="a model of the transformers library, llama for one, in place of the GPT")
    parser.add_argument("--record", metavar="FOLDER", help="where the traces go, rankN.json.gz")
    options = parser.parse_args()
    options.ffn = options.ffn or 4 * options.hidden
    options.kv_heads = options.kv_heads or options.heads
    if options.hidden % options.heads != 0:
        parser.error("--hidden must be a multiple of --heads")
    for name in ("heads", "kv_heads", "ffn", "vocabulary"):
        if options.shards < 1 or getattr(options, name) % options.shards != 0:
            parser.error(f"--shards must divide {getattr(options, name)}, the number of --{name.replace('_', '-')}")
    if options.compile and not hasattr(torch, "compile"):
        parser.error("--compile wants PyTorch 2")
    if options.heads % options.kv_heads != 0:
        parser.error("--heads must be a multiple of --kv-heads")
    return options


def main():
    options = parse_arguments()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    gpu = torch.cuda.is_available() and not options.cpu
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if gpu else torch.device("cpu")
    if gpu:
        torch.cuda.set_device(device)
    if world > 1:
        torch.distributed.init_process_group("nccl" if gpu else "gloo")
    model, optimizer = build(options, device, world)
    step = (recorded if options.record else timed)(model, optimizer, options, device, rank)
    memory = torch.cuda.memory_stats(device) if gpu else {}
    if rank == 0:
        facts = {name: value for name, value in vars(options).items() if name not in ("record", "cpu")}
        facts.update(ranks=world, device=torch.cuda.get_device_name(device) if gpu else "cpu",
                     torch=str(torch.__version__), unprofiled_step_ns=step,
                     peak_allocated_bytes=memory.get("allocated_bytes.all.peak"),
                     peak_reserved_bytes=memory.get("reserved_bytes.all.peak"))
        print(json.dumps(facts))
    if world > 1:
        torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
