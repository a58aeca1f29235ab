#!/usr/bin/env python3
"""One training step of a Llama in PyTorch, for holding Hexaplan's executor against it.

The same model, shapes and step as 'hexaplan validate --list NAME' runs: bf16 parameters, gradients added up in
fp32, AdamW on fp32 masters, gradient clipping, fused causal attention (SDPA), random tokens. Eager and compiled.
Median of the measured steps after warm-up, by CUDA events; peak of PyTorch's allocator. Any PyTorch from 2.1 on.
On the CPU, by its clock; '--dtype float32' steps plain fp32 parameters, as 'hexaplan run --dtype f32' does
(benchmarks/README.md).

    python3 benchmarks/pytorch_llama_step.py --list gpu --out pytorch.json
    python3 benchmarks/compare_with_pytorch.py ours.json pytorch.json
"""

import argparse
import gc
import json
import pathlib
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIP_NORM = 1.0
HAS_GQA = "enable_gqa" in (F.scaled_dot_product_attention.__doc__ or "")


class Norm(nn.Module):
    def __init__(self, width, epsilon):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.epsilon = epsilon

    def forward(self, x):
        if hasattr(F, "rms_norm"):  # from PyTorch 2.4 on
            return F.rms_norm(x, self.weight.shape, self.weight, self.epsilon)
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)).to(x.dtype) * self.weight


def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1)


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        h, self.heads, self.kv_heads = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"]
        self.head_dim = c.get("head_dim") or h // self.heads
        f, epsilon = c["intermediate_size"], c.get("rms_norm_eps", 1e-5)
        self.norm1, self.norm2 = Norm(h, epsilon), Norm(h, epsilon)
        self.qkv = nn.Linear(h, (self.heads + 2 * self.kv_heads) * self.head_dim, bias=False)
        self.out = nn.Linear(self.heads * self.head_dim, h, bias=False)
        self.gate_up = nn.Linear(h, 2 * f, bias=False)
        self.down = nn.Linear(f, h, bias=False)

    def attention(self, x, cos, sin):
        b, s, _ = x.shape
        sizes = [n * self.head_dim for n in (self.heads, self.kv_heads, self.kv_heads)]
        q, k, v = (t.view(b, s, -1, self.head_dim).transpose(1, 2) for t in self.qkv(x).split(sizes, dim=-1))
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if HAS_GQA:
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=self.heads != self.kv_heads)
        else:
            times = self.heads // self.kv_heads
            k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(o.transpose(1, 2).reshape(b, s, -1))

    def forward(self, x, cos, sin):
        x = x + self.attention(self.norm1(x), cos, sin)
        gate, up = self.gate_up(self.norm2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    """Returns the mean loss of a batch of tokens and targets."""

    def __init__(self, c, sequence, recompute):
        super().__init__()
        h = c["hidden_size"]
        self.embedding = nn.Embedding(c["vocab_size"], h)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c["num_hidden_layers"]))
        self.norm = Norm(h, c.get("rms_norm_eps", 1e-5))
        self.head = nn.Linear(h, c["vocab_size"], bias=False)
        if c.get("tie_word_embeddings"):
            self.head.weight = self.embedding.weight
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.normal_(p, std=0.02)
        d = self.layers[0].head_dim
        angle = torch.outer(torch.arange(sequence).float(), c.get("rope_theta", 1e4) ** (-torch.arange(0, d, 2).float() / d))
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)
        self.recomputed = {"none": 0, "full": len(self.layers)}.get(recompute)
        if self.recomputed is None:
            self.recomputed = int(recompute.removeprefix("layers="))

    def forward(self, tokens, targets):
        x = self.embedding(tokens)
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)
        for i, layer in enumerate(self.layers):
            if i < self.recomputed:
                x = torch.utils.checkpoint.checkpoint(layer, x, cos, sin, use_reentrant=False)
            else:
                x = layer(x, cos, sin)
        logits = self.head(self.norm(x))
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def adamw(parameters):
    """Fused where PyTorch has it: on the CPU from 2.4 on."""
    version = tuple(int(part) for part in torch.__version__.split(".")[:2])
    fused = parameters[0].is_cuda or version >= (2, 4)
    return torch.optim.AdamW(parameters, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1, fused=fused)


def backward(loss_of, batches):
    """Adds up the gradients of the mean loss, which it returns."""
    total = 0.0
    for tokens, targets in batches:
        loss = loss_of(tokens, targets) / len(batches)
        loss.backward()
        total = total + loss.detach()
    return total


class WideTraining:
    """fp32 parameters, their gradients and moments."""

    def __init__(self, model):
        self.parameters = list(model.parameters())
        self.optimizer = adamw(self.parameters)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def step(self, loss_of, batches):
        self.optimizer.zero_grad(set_to_none=False)
        total = backward(loss_of, batches)
        torch.nn.utils.clip_grad_norm_(self.parameters, CLIP_NORM)
        self.optimizer.step()
        return total


class Training:
    """bf16 parameters with fp32 gradients, masters and moments: 18 bytes per parameter, as the executor's."""

    def __init__(self, model):
        self.model = model
        self.parameters = list(model.parameters())
        self.masters = [p.detach().float().clone() for p in self.parameters]
        for master in self.masters:
            master.grad = torch.zeros_like(master)
        self.optimizer = adamw(self.masters)
        masters = dict(zip(self.parameters, self.masters))

        def add_up(p):
            masters[p].grad.add_(p.grad)
            p.grad = None

        self.hooks = [p.register_post_accumulate_grad_hook(add_up) for p in self.parameters]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Python's garbage collector does not see that hooks and the parameters that hold them refer to each other."""
        for hook in self.hooks:
            hook.remove()

    def step(self, loss_of, batches):
        for master in self.masters:
            master.grad.zero_()
        total = backward(loss_of, batches)
        torch.nn.utils.clip_grad_norm_(self.masters, CLIP_NORM)
        self.optimizer.step()
        with torch.no_grad():
            if hasattr(torch, "_foreach_copy_"):
                torch._foreach_copy_(self.parameters, self.masters)
            else:
                for parameter, master in zip(self.parameters, self.masters):
                    parameter.copy_(master)
        return total


def timed_steps(run, count, device):
    """Seconds of each of `count` steps, and the last loss."""
    seconds, loss = [], None
    for _ in range(count):
        if device == "cuda":
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            loss = run()
            end.record()
            torch.cuda.synchronize()
            seconds.append(begin.elapsed_time(end) * 1e-3)
        else:
            start = time.perf_counter()
            loss = run()
            seconds.append(time.perf_counter() - start)
    return seconds, float(loss)


def measure(scenario, mode, options):
    recipe, device = scenario["recipe"], options.device
    torch.manual_seed(1)
    dtype = getattr(torch, options.dtype)
    b, s, micro = recipe["micro_batch"], recipe["sequence"], recipe["global_batch"] // recipe["micro_batch"]
    with torch.device(device):
        model = Llama(scenario["config"], s, recipe.get("recompute", "none"))
    buffers = {name: t.clone() for name, t in model.named_buffers()}
    model = model.to(dtype)
    for name, t in buffers.items():  # angles stay in fp32
        setattr(model, name, t)
    vocab = scenario["config"]["vocab_size"]
    batches = [tuple(torch.randint(vocab, (2, b, s), device=device).unbind(0)) for _ in range(micro)]
    loss_of = torch.compile(model) if mode == "compiled" else model
    with WideTraining(model) if options.dtype == "float32" else Training(model) as training:
        started = time.perf_counter()
        timed_steps(lambda: training.step(loss_of, batches), options.warmup, device)
        warm = time.perf_counter() - started
        if device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        seconds, loss = timed_steps(lambda: training.step(loss_of, batches), options.steps, device)
    median = statistics.median(seconds)
    return {
        "outcome": "measured",
        "step_seconds": median,
        "samples_seconds": seconds,
        "warm_up_seconds": warm,
        "tokens_per_second": recipe["global_batch"] * s / median,
        "peak_bytes": torch.cuda.max_memory_allocated() if device == "cuda" else None,
        "loss": loss,
    }


def runnable(row, models):
    """The scenario as this script runs it, or None: dense, whole, on one GPU."""
    model = models.get(row["model"], row["model"]) if isinstance(row["model"], str) else row["model"]
    if row.get("solo") or row.get("layout", "dp1") != "dp1" or not isinstance(model, dict):
        return None
    recompute = row["recipe"].get("recompute", "none")
    if model.get("model_type") != "llama" or not (recompute in ("none", "full") or recompute.startswith("layers=")):
        return None
    return {"name": row["name"], "config": model, "recipe": row["recipe"]}


def read_scenarios(options):
    path = pathlib.Path(options.list)
    if not path.is_file():
        path = ROOT / "presets" / "validation" / f"{options.list}.json"
    if not path.is_file():
        sys.exit(f"--list: got {options.list!r}, expected a file or a list in presets/validation")
    document = json.loads(path.read_text())
    rows = [runnable(row, document.get("models", {})) for row in document["scenarios"]]
    rows = [row for row in rows if row is not None and (not options.only or row["name"] in options.only)]
    if not rows:
        sys.exit("--only: no dense scenario on one GPU has such a name")
    return rows


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--list", default="gpu", help="list of scenarios: name in presets/validation, or a file")
    parser.add_argument("--only", action="append", default=[], help="name of a scenario; may be given several times")
    parser.add_argument("--modes", default="eager,compiled", help="eager, compiled or both")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float32"), help="of the parameters")
    parser.add_argument("--threads", type=int, default=0, help="of the CPU. Default: PyTorch's own")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further one is started")
    parser.add_argument("--out", default="-", help="JSON file; rewritten after every scenario")
    return parser.parse_args()


def main():
    options = parse_arguments()
    modes = options.modes.split(",")
    if not set(modes) <= {"eager", "compiled"}:
        sys.exit(f"--modes: got {options.modes!r}, expected eager, compiled or both")
    cuda = options.device == "cuda"
    if options.threads:
        torch.set_num_threads(options.threads)
    result = {
        "schema": "hexaplan/pytorch/1",
        "torch": torch.__version__,
        "cuda": torch.version.cuda if cuda else None,
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "dtype": options.dtype,
        "threads": None if cuda else torch.get_num_threads(),
        "steps": options.steps,
        "warm_up": options.warmup,
        "runs": [],
    }
    begin = time.perf_counter()
    for scenario in read_scenarios(options):
        for mode in modes:
            if options.budget and time.perf_counter() - begin > options.budget:
                row = {"outcome": "not run", "reason": f"the budget of {options.budget:.0f} s was spent"}
            else:
                try:
                    row = measure(scenario, mode, options)
                except torch.cuda.OutOfMemoryError as error:
                    row = {"outcome": "out of memory", "reason": str(error).splitlines()[0]}
                except Exception as error:  # one scenario's failure is its row
                    row = {"outcome": "failed", "reason": f"{type(error).__name__}: {error}"[:500]}
            result["runs"].append({"name": scenario["name"], "mode": mode, **row})
            print(f"{scenario['name']}, {mode}: {row.get('step_seconds', row['outcome'])}", file=sys.stderr, flush=True)
            # The next one would find this one's memory taken: compiled graphs hold parameters, too.
            if hasattr(torch, "_dynamo"):
                torch._dynamo.reset()
            gc.collect()
            if cuda:
                torch.cuda.empty_cache()
            if options.out != "-":
                pathlib.Path(options.out).write_text(json.dumps(result, indent=1) + "\n")
    if options.out == "-":
        print(json.dumps(result, indent=1))
    return 0 if any(row["outcome"] == "measured" for row in result["runs"]) else 1


if __name__ == "__main__":
    import torch.utils.checkpoint

    sys.exit(main())
