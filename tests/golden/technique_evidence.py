#!/usr/bin/env python3
"""Prints the table of costmodel/step/technique_evidence.cpp: how many published runs use a technique, and how far predictions of their steps are off.

usage: technique_evidence.py build/release/hexaplan          prints it
       technique_evidence.py build/release/hexaplan --check  exit code 1 when the source has other counts, or spreads more than 0.01 away

Runs of one configuration count once, by their mean ln(measured / predicted); an error beyond a factor of 2 counts as 2. Runs that their source calls disturbed do not count.
"""
import csv
import json
import math
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABLE = HERE.parents[1] / "costmodel" / "step" / "technique_evidence.cpp"
SPREAD_MAY_MOVE = 0.01
FEW_CONFIGURATIONS = 20
WORST = math.log(2)
SHORT_CONTEXT = 8192


def number(row: dict, column: str) -> int:
    return int(float(row[column] or 1))


TECHNIQUES = {
    "ContextParallel": lambda r: number(r, "cp") > 1 and number(r, "seq") <= SHORT_CONTEXT,
    "LongContextParallel": lambda r: number(r, "cp") > 1 and number(r, "seq") > SHORT_CONTEXT,
    "ExpertParallel": lambda r: number(r, "ep") > 1,
    "Interleaved": lambda r: number(r, "vpp") > 1,
    "ZeroBubble": lambda r: r["schedule"] in ("zb-h1", "zb-h2", "zb-2p", "zb-v", "vhalf"),
    "DualPipe": lambda r: r["schedule"].startswith("dualpipe"),
    "VocabularyParallel": lambda r: r["vocab_method"] in ("vocab-1", "vocab-2", "interlaced"),
    "UnevenStages": lambda r: r["stage_layout"] in ("uneven", "custom", "ends-minus-one", "embedding-counts"),
    "Zero2": lambda r: r["zero"] == "2",
    "Zero3": lambda r: r["zero"] in ("3", "fsdp-full"),
    "HybridSharding": lambda r: r["zero"] == "fsdp-hybrid",
    "Offload": lambda r: r["offload"] not in ("", "none", "0"),
    "SelectiveRecompute": lambda r: r["recompute_norm"].startswith("selective") or r["recompute_modules"] != "",
    "NarrowTypes": lambda r: r["precision_norm"].startswith(("fp8", "mxfp8", "nvfp4")),
    "ManyGpus": lambda r: number(r, "n_gpus") > 512,
}


def count(program: str) -> dict:
    """Technique -> runs, configurations, sources, spread."""
    tables = sorted(str(p) for p in (HERE / "rows").glob("*.csv"))
    rows = {r["case_id"]: r for t in tables for r in csv.DictReader(open(t, encoding="utf-8"))}
    answer = json.loads(subprocess.run([program, "accuracy", "--rows", "--json", *tables], check=True, capture_output=True, text=True).stdout)
    families = defaultdict(list)
    for row in answer["rows"]:
        time = row.get("time")
        if time and time.get("predicted") and not time.get("disturbed"):
            families[row["family"]].append((math.log(time["measured"] / time["predicted"]), rows[row["case_id"]], row["source"]))
    found = {}
    for name, uses in {"All": lambda r: True, **TECHNIQUES}.items():
        errors, runs, sources = [], 0, set()
        for members in families.values():
            used = [(error, source) for error, row, source in members if uses(row)]
            if used:
                runs += len(used)
                sources |= {source for _, source in used}
                errors.append(min(WORST, abs(sum(error for error, _ in used) / len(used))))
        spread = math.sqrt(sum(e * e for e in errors) / len(errors)) if errors else 0
        found[name] = (runs, len(errors), len(sources), spread)
    few = [spread for _, configurations, _, spread in found.values() if 0 < configurations < FEW_CONFIGURATIONS]
    found["Unmeasured"] = (0, 0, 0, math.sqrt(sum(spread * spread for spread in few) / len(few)))
    return found


def written() -> dict:
    """What the source has; of all runs and of unmeasured techniques the spread alone."""
    source = TABLE.read_text(encoding="utf-8")
    rows = {name: (int(runs), int(configurations), int(sources), float(spread))
            for name, runs, configurations, sources, spread in re.findall(r'\{Technique::(\w+), "[^"]*", (\d+), (\d+), (\d+), ([\d.]+)\}', source)}
    for name in ("All", "Unmeasured"):
        rows[name] = (0, 0, 0, float(re.search(rf"kSpread(?:Of)?{name} = ([\d.]+)", source).group(1)))
    return rows


def main(program: str, check: bool) -> None:
    now, before = count(program), written()
    if not check:
        for name, (runs, configurations, sources, spread) in now.items():
            print(f"{name}: runs {runs}, configurations {configurations}, sources {sources}, spread {spread:.3f}")
        return
    for name, row in now.items():
        counts = row[:3] if name in TECHNIQUES else (0, 0, 0)
        if before.get(name, ())[:3] != counts or abs(before[name][3] - row[3]) > SPREAD_MAY_MOVE:
            sys.exit(f"{TABLE.name} is stale in {name}: has {before.get(name)}, {row} are counted; run tests/golden/technique_evidence.py build/release/hexaplan")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    main(sys.argv[1], check=len(sys.argv) == 3)
