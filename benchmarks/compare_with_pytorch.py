#!/usr/bin/env python3
"""Table 'ours / PyTorch' in Markdown, from what 'hexaplan validate --json' and pytorch_llama_step.py wrote on one GPU.

    python3 benchmarks/compare_with_pytorch.py ours.json pytorch.json
"""

import json
import pathlib
import sys

GIB = 2**30


def read(path, schema):
    document = json.loads(pathlib.Path(path).read_text())
    if document.get("schema") != schema:
        sys.exit(f"{path}: got schema {document.get('schema')!r}, expected {schema!r}")
    return document


def milliseconds(seconds):
    return "–" if seconds is None else f"{seconds * 1e3:.1f} ms"


def gib(number):
    return "–" if number is None else f"{number / GIB:.2f} GiB"


def times(ours, theirs):
    return "–" if not ours or not theirs else f"{theirs / ours:.2f}"


def figures(row):
    """Step and peak of a scenario of ours; a step that was not compared is told by 'measured_seconds'."""
    if row["outcome"] != "measured":
        return None, None
    return row.get("measured_step_seconds"), row["memory"]["measured"] if row.get("memory") else None


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    ours, theirs = read(sys.argv[1], "hexaplan/validation/1"), read(sys.argv[2], "hexaplan/pytorch/1")
    runs = {(run["name"], run["mode"]): run for run in theirs["runs"]}
    head = ["scenario", "ours", "PyTorch eager", "PyTorch compiled", "compiled / ours", "our memory", "eager", "compiled"]
    print(f"Device {theirs['device']}, PyTorch {theirs['torch']}; median of {theirs['steps']} steps after "
          f"{theirs['warm_up']}; memory: peak that the step allocates.\n")
    print("| " + " | ".join(head) + " |\n|---" + "|---:" * (len(head) - 1) + "|")
    compared = 0
    for row in ours["scenarios"]:
        if not any(name == row["name"] for name, _ in runs):
            continue
        step, peak = figures(row)
        eager, compiled = (runs.get((row["name"], mode), {}) for mode in ("eager", "compiled"))
        cells = [row["name"], milliseconds(step) if step else row["outcome"]]
        cells += [milliseconds(r.get("step_seconds")) if "step_seconds" in r else r.get("outcome", "–") for r in (eager, compiled)]
        cells += [times(step, compiled.get("step_seconds")), gib(peak), gib(eager.get("peak_bytes")), gib(compiled.get("peak_bytes"))]
        print("| " + " | ".join(cells) + " |")
        compared += bool(step and (eager.get("step_seconds") or compiled.get("step_seconds")))
    print(f"\nCompiled / ours above 1: ours is faster. {compared} scenarios were measured on both sides.")
    return 0 if compared else 1


if __name__ == "__main__":
    sys.exit(main())
