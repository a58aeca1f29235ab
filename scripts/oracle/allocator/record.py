#!/usr/bin/env python3
"""What PyTorch's CUDA caching allocator answers, without a GPU: tests/golden/oracle/allocator.json.

    python3 -m venv venv && venv/bin/pip install --no-deps torch==2.15.0
    python3 scripts/oracle/allocator/record.py --torch venv/lib/python3*/site-packages/torch --cuda /usr/local/cuda-13.0 [--check]

The wheel's libc10_cuda.so is the allocator itself; fake_cuda.cpp gives it addresses instead of memory, drive.cpp calls
it. CUDA: the headers alone (any 13.x). Calls are drawn from the case's name, so that --check draws the same.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FILE = HERE.parents[2] / "tests" / "golden" / "oracle" / "allocator.json"
MIB = 1 << 20


def build(torch, cuda, folder):
    """The program that answers calls."""
    script = folder / "versions"
    script.write_text("libcudart.so.13 { global: *; };")
    compiler = os.environ.get("CXX", "c++")
    runtime = folder / "libcudart.so.13"
    subprocess.run([compiler, "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{cuda}/include", f"-Wl,-soname,{runtime.name}",
                    f"-Wl,--version-script={script}", str(HERE / "fake_cuda.cpp"), "-o", str(runtime)], check=True)
    (folder / "libnvidia-ml.so.1").symlink_to(runtime)
    program = folder / "drive"
    subprocess.run([compiler, "-std=c++20", "-O1", f"-I{torch}/include", f"-I{cuda}/include", str(HERE / "drive.cpp"), "-o", str(program),
                    f"-L{torch}/lib", "-lc10_cuda", "-lc10", str(runtime), f"-Wl,-rpath,{torch}/lib", f"-Wl,-rpath,{folder}"], check=True)
    return program


def answers(program, calls, settings, capacity):
    """[allocated, reserved] behind every call. Garbage is collected only where a share of the card is set: of twice the card one half."""
    collects = "garbage_collection_threshold" in settings
    environment = dict(os.environ, PYTORCH_ALLOC_CONF=settings, LD_LIBRARY_PATH=str(program.parent))
    if capacity:
        environment["FAKE_CUDA_MEMORY"] = str(capacity * (2 if collects else 1))
    text = "".join(" ".join(map(str, call)) + "\n" for call in calls)
    run = subprocess.run([str(program)] + (["0.5"] if collects else []), input=text, text=True, capture_output=True, env=environment, check=True)
    return [[int(number) for number in line.split()] for line in run.stdout.splitlines()]


def size(draw, most):
    kind = draw.random()
    if kind < 0.25:
        return draw.choice([1, 512, MIB, 2 * MIB, 5 * MIB, 10 * MIB, 16 * MIB, 64 * MIB])
    low, high = ((1, 4000), (1, MIB), (MIB, 10 * MIB), (10 * MIB, most))[draw.randrange(4)]
    return draw.randint(low, high)


def mixed(draw, count, streams, most):
    """Blocks of every size that come and go in any order, some of them used by other streams."""
    alive, calls = [], []
    for _ in range(count):
        kind = draw.random()
        if kind < 0.5 or not alive:
            tensor = len(calls)
            calls.append(["a", tensor, size(draw, most), draw.randrange(streams)])
            alive.append(tensor)
        elif kind < 0.56 and streams > 1:
            calls.append(["r", draw.choice(alive), draw.randrange(streams)])
        elif kind < 0.6 and streams > 1:
            calls.append(["c", draw.randrange(streams)])
        elif kind < 0.605:
            calls.append(["e"])
        else:
            calls.append(["f", alive.pop(draw.randrange(len(alive)))])
    return calls


def training(draw, layers, steps):
    """Layers that keep tensors and free others, backward that makes gradients, an optimizer whose states come with the first step."""
    calls = []

    def take(number):
        calls.append(["a", len(calls), number, 0])
        return calls[-1][1]

    def give(tensors):
        calls.extend(["f", tensor] for tensor in tensors)

    kept_sizes = [draw.randint(MIB // 4, 40 * MIB) for _ in range(4)]
    passing_sizes = [draw.randint(MIB // 4, 60 * MIB) for _ in range(3)]
    weights = [draw.randint(1000, 30 * MIB) for _ in range(3)]
    for number in weights * layers:
        take(number)
    for step in range(steps):
        kept = []
        for _ in range(layers):
            passing = [take(number) for number in passing_sizes]
            kept.append([take(number) for number in kept_sizes])
            give(passing)
        logits = take(300 * MIB)
        give([take(300 * MIB), logits])
        gradients = []
        for tensors in reversed(kept):
            passing = [take(number) for number in passing_sizes]
            gradients += [take(number) for number in weights]
            give(passing + tensors)
        if step == 0:
            for number in weights * layers:
                take(2 * number)
        give(gradients)
    return calls


CASES = {
    "one stream": ("", 0, lambda d: mixed(d, 300, 1, 100 * MIB)),
    "three streams": ("", 0, lambda d: mixed(d, 300, 3, 100 * MIB)),
    "out of memory": ("", 300 * MIB, lambda d: mixed(d, 300, 1, 60 * MIB)),
    "out of memory on three streams": ("", 500 * MIB, lambda d: mixed(d, 300, 3, 60 * MIB)),
    "expandable segments": ("expandable_segments:True", 0, lambda d: mixed(d, 300, 1, 100 * MIB)),
    "expandable segments on three streams": ("expandable_segments:True", 0, lambda d: mixed(d, 300, 3, 100 * MIB)),
    "expandable segments out of memory": ("expandable_segments:True", 300 * MIB, lambda d: mixed(d, 300, 2, 60 * MIB)),
    "max_split_size": ("max_split_size_mb:32", 0, lambda d: mixed(d, 300, 1, 100 * MIB)),
    "max_split_size out of memory": ("max_split_size_mb:32", 400 * MIB, lambda d: mixed(d, 300, 2, 100 * MIB)),
    "garbage collection": ("garbage_collection_threshold:0.5", 700 * MIB, lambda d: mixed(d, 300, 1, 60 * MIB)),
    "garbage collection and max_split_size": ("garbage_collection_threshold:0.6,max_split_size_mb:64", 700 * MIB, lambda d: mixed(d, 300, 2, 90 * MIB)),
    "roundup_power2_divisions": ("roundup_power2_divisions:4", 0, lambda d: mixed(d, 300, 1, 100 * MIB)),
    "a training step": ("", 0, lambda d: training(d, 6, 3)),
    "a training step, expandable segments": ("expandable_segments:True", 0, lambda d: training(d, 6, 3)),
    "a training step that runs out of memory": ("", 1500 * MIB, lambda d: training(d, 6, 3)),
}


def measured(program, name, case):
    """Calls and answers; a tensor that was not allocated is neither used nor freed, which drive.cpp passes over."""
    settings, capacity, calls_of = case
    calls = calls_of(random.Random(name))
    results = answers(program, calls, settings, capacity)
    failed = {call[1] for call, result in zip(calls, results) if result[0] < 0}
    return {"name": name, "settings": settings, "capacity": capacity,
            "calls": [call + result for call, result in zip(calls, results) if call[0] not in "fr" or call[1] not in failed]}


def text_of(document):
    cases = ",\n".join("{%s,\n\"calls\": [\n%s]}" % (", ".join(f"{json.dumps(k)}: {json.dumps(case[k])}" for k in ("name", "settings", "capacity")),
                                                    ",\n".join(json.dumps(call, separators=(",", ":")) for call in case["calls"])) for case in document["cases"])
    return f'{{"torch": {json.dumps(document["torch"])}, "cases": [\n{cases}]}}\n'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--torch", required=True, type=pathlib.Path)
    parser.add_argument("--cuda", required=True, type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    version = next(line.split("'")[1] for line in (options.torch / "version.py").read_text().splitlines() if line.startswith("__version__"))
    with tempfile.TemporaryDirectory() as folder:
        program = build(options.torch.resolve(), options.cuda, pathlib.Path(folder))
        document = {"torch": version, "cases": [measured(program, name, case) for name, case in CASES.items()]}
    if not options.check:
        FILE.write_text(text_of(document))
    elif json.loads(FILE.read_text()) != document:
        sys.exit(f"{FILE}: torch {version} answers otherwise")


if __name__ == "__main__":
    main()
