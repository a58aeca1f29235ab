#!/usr/bin/env python3
"""Training steps of transformers' models on a GPU: seconds, allocated and reserved bytes.

The same models and steps as scripts/oracle/hugging_face.py runs without data (whose peaks hold no rounding, no workspaces
and no fragmentation), here with PyTorch's real allocator and clocks. Random weights and tokens, fused AdamW, gradients set
to None. Median of the measured steps by CUDA events, peaks of the allocator over them, what the driver counts beside it.

    python3 benchmarks/hugging_face_steps.py --out hugging_face.json
    python3 benchmarks/hugging_face_steps.py --only "llama-3-8b" --trace traces     # a profile of one more step each
    python3 benchmarks/compare_with_hugging_face.py build/release/hexaplan hugging_face.json --gpu H200
"""

import argparse
import gc
import json
import os
import pathlib
import statistics
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts" / "oracle"))
import hugging_face as oracle  # noqa: E402
from transformers import __version__ as transformers_version  # noqa: E402

SCHEMA = "hexaplan/hugging-face/1"
# Whole published models beside the slices of larger ones, whose depth the case gives.
WHOLE = {
    "llama-3.2-1b": (16, dict(model_type="llama", hidden_size=2048, intermediate_size=8192, num_attention_heads=32,
                              num_key_value_heads=8, head_dim=64, vocab_size=128256, tie_word_embeddings=True)),
    "llama-3.2-3b": (28, dict(model_type="llama", hidden_size=3072, intermediate_size=8192, num_attention_heads=24,
                              num_key_value_heads=8, head_dim=128, vocab_size=128256, tie_word_embeddings=True)),
    "qwen3-0.6b": (28, dict(model_type="qwen3", hidden_size=1024, intermediate_size=3072, num_attention_heads=16,
                            num_key_value_heads=8, head_dim=128, vocab_size=151936, tie_word_embeddings=True,
                            use_sliding_window=False)),
    "qwen2.5-1.5b": (28, dict(model_type="qwen2", hidden_size=1536, intermediate_size=8960, num_attention_heads=12,
                              num_key_value_heads=2, vocab_size=151936, tie_word_embeddings=True,
                              use_sliding_window=False)),
}
oracle.MODELS.update({name: fields for name, (_, fields) in WHOLE.items()})


def cases():
    """In order of what is told: a budget that ends early leaves out the last ones."""
    out = {}

    def add(model, layers=None, batch=1, sequence=4096, weights="bf16", attention="sdpa", recompute="none", adapters=None,
            microbatches=1):
        layers = layers or WHOLE[model][0]
        words = [model, f"{layers} layers", f"b{batch}", f"s{sequence}", weights, attention]
        words += [recompute] if recompute != "none" else []
        words += [adapters] if adapters else []
        words += [f"{microbatches} micro-batches"] if microbatches > 1 else []
        out[", ".join(words)] = dict(model=model, layers=layers, batch=batch, sequence=sequence, weights=weights,
                                     attention=attention, recompute=recompute, adapters=adapters,
                                     microbatches=microbatches)

    add("llama-3-8b", 4)
    add("llama-3-8b", 4, weights="autocast")
    add("llama-3-8b", 4, attention="eager", sequence=2048)
    add("llama-3-8b", 8, batch=2, recompute="full")
    add("llama-3.2-1b", batch=2)
    add("llama-3.2-1b", batch=4, recompute="full")
    add("llama-3.2-1b", batch=1, sequence=1024, microbatches=4)
    add("llama-3.2-1b", weights="autocast", sequence=2048)
    add("llama-3.2-3b", recompute="full", batch=2)
    add("llama-3-8b", 32, adapters="lora-all", recompute="full", batch=2)
    add("llama-3-8b", 32, adapters="lora-qv", sequence=2048)
    add("qwen3-0.6b", batch=2)
    add("qwen3-0.6b", batch=1, sequence=512)
    add("qwen2.5-1.5b", sequence=4096)
    add("qwen2.5-7b", 4)
    add("qwen3-8b", 4)
    add("qwen3-30b-a3b", 3)
    add("mixtral-8x7b", 2, sequence=4096)
    add("moonlight-16b-a3b", 3)
    add("gemma-3-1b", 26, batch=1, sequence=2048)
    add("gpt2-xl", 24, batch=4, sequence=1024)
    add("olmo-2-7b", 4)
    add("pythia-6.9b", 4)
    add("phi-3-mini", 8)
    add("llama-3-8b", 4, sequence=16384)
    add("llama-3-8b", 4, batch=4, sequence=2048, weights="autocast", recompute="full")
    add("llama-2-7b", 6, batch=2, sequence=2048)
    add("gemma-2-9b", 4, sequence=2048, attention="eager")
    return out


class Steps:
    def __init__(self, case, device):
        self.case, self.device = case, device
        self.config = oracle.config_of(case, case["layers"])
        self.model = oracle.trained(oracle.made(case, self.config, device), case)
        self.trained = [p for p in self.model.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(self.trained, fused=True)
        self.ids = torch.randint(self.config.vocab_size, (case["batch"], case["sequence"]), device=device)

    def __call__(self):
        for _ in range(self.case["microbatches"]):
            out = oracle.forward(self.case, self.model, self.ids, self.device)
            loss = out.loss
            del out  # Trainer.compute_loss hands on the loss alone
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def timed(steps, count):
    """Seconds of each step on the device, and of the host until it has launched it."""
    seconds, host, loss = [], [], None
    for _ in range(count):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        torch.cuda.synchronize()
        started = time.perf_counter()
        begin.record()
        loss = steps()
        end.record()
        host.append(time.perf_counter() - started)
        torch.cuda.synchronize()
        seconds.append(begin.elapsed_time(end) * 1e-3)
    return seconds, host, float(loss)


def busy(steps, trace):
    """Calls and microseconds of every kernel of one step by its name; a trace where asked."""
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=trace is not None) as profiler:
        with torch.profiler.record_function("ProfilerStep#1"):
            steps()
            torch.cuda.synchronize()
    if trace:
        profiler.export_chrome_trace(str(trace))
    kernels = {}
    for event in profiler.key_averages():
        if str(event.device_type).endswith("CUDA") and event.self_device_time_total > 0:
            kernels[event.key[:160]] = [event.count, round(event.self_device_time_total, 1)]
    return kernels


def measure(name, case, options):
    device = options.device
    cuda = device == "cuda"
    steps = Steps(case, device)
    row = dict(case, parameters=sum(p.numel() for p in steps.model.parameters()), trained=sum(p.numel() for p in steps.trained),
               config=steps.config.to_diff_dict())
    if not cuda:
        return dict(row, outcome="ran", loss=float(steps()))
    started = time.perf_counter()
    timed(steps, options.warmup)
    row["warm_up_seconds"] = time.perf_counter() - started
    torch.cuda.reset_peak_memory_stats()
    row["between_steps_bytes"] = torch.cuda.memory_allocated()
    seconds, host, loss = timed(steps, options.steps)
    free, total = torch.cuda.mem_get_info()
    stats = torch.cuda.memory_stats()
    row.update(outcome="measured", step_seconds=statistics.median(seconds), samples_seconds=seconds,
               host_seconds=statistics.median(host), allocated_bytes=torch.cuda.max_memory_allocated(),
               reserved_bytes=torch.cuda.max_memory_reserved(), requested_bytes=stats.get("requested_bytes.all.peak"),
               retries=stats["num_alloc_retries"], driver_bytes=total - free, loss=loss)
    if options.kernels or options.trace:
        trace = None
        if options.trace:
            options.trace.mkdir(parents=True, exist_ok=True)
            trace = options.trace / (name.replace(", ", "_").replace(" ", "-") + ".json.gz")
        row["kernels"] = busy(steps, trace)
    return row


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", action="append", default=[], help="words of a case's name; may be given several times")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=2)
    parser.add_argument("--kernels", action="store_true", help="every kernel of one step, by name")
    parser.add_argument("--trace", type=pathlib.Path, help="folder for a Chrome trace of one step of each case")
    parser.add_argument("--budget", type=float, default=0, help="seconds after which no further case is started")
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("hugging_face.json"), help="rewritten after every case")
    return parser.parse_args()


def main():
    options = parse_arguments()
    chosen = {n: c for n, c in cases().items() if not options.only or any(word in n for word in options.only)}
    if not chosen:
        sys.exit("--only: no case has such a name; --list prints them")
    if options.list:
        print("\n".join(chosen))
        return 0
    cuda = options.device == "cuda"
    result = dict(schema=SCHEMA, torch=torch.__version__, cuda=torch.version.cuda, transformers=transformers_version,
                  device=torch.cuda.get_device_name() if cuda else "cpu", steps=options.steps, warm_up=options.warmup,
                  allocator=os.environ.get("PYTORCH_CUDA_ALLOC_CONF", ""), runs=[])
    begin = time.perf_counter()
    for name, case in chosen.items():
        if options.budget and time.perf_counter() - begin > options.budget:
            row = dict(case, outcome="not run", reason=f"the budget of {options.budget:.0f} s was spent")
        else:
            try:
                row = measure(name, case, options)
            except torch.cuda.OutOfMemoryError as error:
                row = dict(case, outcome="out of memory", reason=str(error).splitlines()[0])
            except Exception as error:  # one case's failure is its row
                row = dict(case, outcome="failed", reason=f"{type(error).__name__}: {error}"[:500])
        result["runs"].append(dict(name=name, **row))
        print(f"{name}: {row.get('step_seconds', row['outcome'])}", row.get("reason", ""), file=sys.stderr, flush=True)
        gc.collect()
        if cuda:
            torch.cuda.empty_cache()
        options.out.write_text(json.dumps(result) + "\n")
    return 0 if any(row["outcome"] in ("measured", "ran") for row in result["runs"]) else 1


if __name__ == "__main__":
    sys.exit(main())
