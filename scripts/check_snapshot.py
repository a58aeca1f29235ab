#!/usr/bin/env python3
"""usage: check_snapshot.py HEXAPLAN

Reads snapshots of `hexaplan estimate --memory-snapshot x.pickle` with what PyTorch itself reads them with (pickle,
torch.cuda._memory_viz): its summaries and its program of the trace can be made of every one, what the events leave is what
the segments hold, and the peaks are those that `estimate --allocator` prints.
"""

import json
import pathlib
import pickle
import subprocess
import sys
import tempfile

import torch.cuda._memory_viz as viewer

QUESTIONS = {
    "fsdp2, zero3": "--model llama-3.2-1b --cluster 4xa100 --layout zero3 --framework fsdp2 --seq 4096 --global-batch 8",
    "megatron, tp2 pp4": "--model llama-3.1-8b --cluster 32xh100 --layout 'tp2 pp4 sp zero1' --seq 8k --global-batch 64",
    "mixture of experts": "--model qwen3-30b-a3b --cluster 32xh100 --layout 'ep8 pp2 zero1' --seq 4k --global-batch 64",
    "out of memory": "--model llama-3.1-8b --cluster 2xa100 --layout dp2 --framework ddp --seq 8k --global-batch 64",
}


def check(snapshot: dict, stages: list) -> str:
    assert viewer.segsum(snapshot) and viewer.trace(snapshot) and viewer.trace_plot(snapshot)
    events = 0
    for device, stage in zip(range(len(snapshot["device_traces"])), stages, strict=True):
        alive, reserved, peak = {}, 0, 0
        for event in snapshot["device_traces"][device]:
            events += 1
            match event["action"]:
                case "alloc":
                    assert event["addr"] not in alive, event
                    alive[event["addr"]] = event["size"]
                case "free_completed":
                    assert alive.pop(event["addr"]) == event["size"], event
                case "segment_alloc" | "segment_map":
                    reserved += event["size"]
                    peak = max(peak, reserved)
                case "segment_free" | "segment_unmap":
                    reserved -= event["size"]
        segments = [s for s in snapshot["segments"] if s["device"] == device]
        assert reserved == sum(s["total_size"] for s in segments)
        held = {b["address"]: b["requested_size"] for s in segments for b in s["blocks"] if b["state"] != "inactive"}
        assert held == alive, "what events leave is not what segments hold"
        assert peak == stage["reserved_bytes"], (peak, stage)
    return f"{len(stages)} stages, {events} events"


def main() -> None:
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        for name, question in QUESTIONS.items():
            for settings in ("default", "expandable_segments:True"):
                path = pathlib.Path(folder) / "step.pickle"
                answer = subprocess.run(f"{program} estimate {question} --allocator {settings} --memory-snapshot {path} --json",
                                        shell=True, check=True, stdout=subprocess.PIPE)
                stages = json.loads(answer.stdout)["allocator"]["stages"]
                print(f"{name}, {settings}: {check(pickle.loads(path.read_bytes()), stages)}")


if __name__ == "__main__":
    main()
