#!/usr/bin/env python3
"""Table 'measured / predicted' in Markdown, from what hugging_face_steps.py wrote on one GPU.

    python3 benchmarks/compare_with_hugging_face.py build/release/hexaplan hugging_face.json --gpu H100

With --at-most it fails where a mean error is above the percentages given for step, allocated and reserved memory.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

from compare_with_pytorch import milliseconds, read

SCHEMA = "hexaplan/hugging-face/1"


def question(run, config, gpu):
    """The flags of 'hexaplan estimate' for a measured run."""
    micro, batch = run["microbatches"], run["batch"]
    flags = ["--model", str(config), "--cluster", f"1x{gpu}", "--framework", "hf-eager", "--layout", "dp1",
             "--seq", str(run["sequence"]), "--micro-batch", str(batch), "--global-batch", str(batch * micro),
             "--attention", "flash" if run["attention"] == "sdpa" else "unfused", "--recompute", run["recompute"],
             "--padding", "max_length"]
    if not run["adapters"]:  # frozen weights have the computation's type, adapters PEFT's
        states = "bf16" if run["weights"] == "bf16" else "fp32"
        flags += ["--params-dtype", states, "--grad-dtype", states]
    else:
        flags += ["--fine-tune", "lora", "--lora-rank", str(run.get("lora_rank", 16)), "--lora-targets",
                  run["adapters"].removeprefix("lora-").replace("all", "all-linear")]
    return flags


def predicted(program, run, gpu):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder) / "config.json"
        config.write_text(json.dumps(run["config"]))
        made = subprocess.run([program, "estimate", "--json", *question(run, config, gpu)], capture_output=True, text=True)
    if made.returncode:
        return None, made.stderr.strip().splitlines()[0]
    answer = json.loads(made.stdout)
    stage = answer["memory"]["stages"][0]
    return dict(step=answer["time"]["step_seconds"], allocated=stage["allocated"], reserved=stage["reserved"],
                interval=answer["time"]["interval_seconds"]), None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("program")
    parser.add_argument("measured", type=pathlib.Path)
    parser.add_argument("--gpu", default="H100")
    parser.add_argument("--at-most", type=float, nargs=3, default=[math.inf] * 3, metavar=("STEP", "ALLOCATED", "RESERVED"))
    options = parser.parse_args()
    document = read(options.measured, SCHEMA)
    print(f"{document['device']}, PyTorch {document['torch']}, transformers {document['transformers']}; predicted / measured.\n")
    print("| case | step | predicted / measured | allocated | predicted / measured | reserved | predicted / measured |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    logs = {"step": [], "allocated": [], "reserved": []}
    for run in document["runs"]:
        if run["outcome"] != "measured":
            print(f"| {run['name']} | {run['outcome']} | | | | | |")
            continue
        answer, problem = predicted(options.program, run, options.gpu)
        if problem:
            print(f"| {run['name']} | {problem} | | | | | |")
            continue
        cells = [run["name"]]
        for kind, measured, text in (("step", run["step_seconds"], milliseconds(run["step_seconds"])),
                                     ("allocated", run["allocated_bytes"], f"{run['allocated_bytes'] / 1e9:.2f} GB"),
                                     ("reserved", run["reserved_bytes"], f"{run['reserved_bytes'] / 1e9:.2f} GB")):
            ratio = answer[kind] / measured
            logs[kind].append(abs(math.log(ratio)))
            cells += [text, f"{ratio:.3f}"]
        print("| " + " | ".join(cells) + " |")
    if not logs["step"]:
        print("\nNo run was measured and predicted.")
        return 1
    too_large = False
    for (kind, values), limit in zip(logs.items(), options.at_most):
        mean = 100 * (math.exp(statistics.mean(values)) - 1)
        too_large |= mean > limit
        print(f"\n{kind}: mean error {mean:.1f} %, worst {100 * (math.exp(max(values)) - 1):.1f} %, {len(values)} runs.")
    return int(too_large)


if __name__ == "__main__":
    sys.exit(main())
