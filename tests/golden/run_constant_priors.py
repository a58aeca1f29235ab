#!/usr/bin/env python3
"""Prints how far the constants that `calibrate --from-runs` learns differ between published sources: the priors of costmodel/calibrate/run_constants.cpp.

usage: run_constant_priors.py build/release/hexaplan

A kind is a source's runs on one GPU type with one framework; it has constants of its own, drawn from a normal distribution about the presets'. The widths are those that make all residuals likeliest (expectation
maximisation over kinds with at least three configurations, at most ten of which count in full; residuals are Student's with four degrees of freedom and scale 0.1). Then again without each source.
"""
import json
import math
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCALE, FREEDOM = 0.1, 4
LEAST, MOST, FULL = 3, 60, 10
PASSES, TRUST_PASSES = 25, 8
START = {"products": 0.1, "memory": 0.15, "node_links": 0.3, "network": 0.4, "host": 0.5, "exposed": 0.4}


def inverse(matrix: list) -> list:
    n = len(matrix)
    rows = [list(row) + [float(i == j) for j in range(n)] for i, row in enumerate(matrix)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(n):
            if r != i:
                rows[r] = [x - rows[r][i] * y for x, y in zip(rows[r], rows[i])]
    return [row[n:] for row in rows]


def posterior(runs: list, widths: list) -> tuple:
    """Mean and covariance of a kind's constants; runs: (residual, slopes)."""
    share = min(1, FULL / len(runs)) / SCALE**2
    trust = [1.0] * len(runs)
    size = range(len(widths))
    for _ in range(TRUST_PASSES):
        normal = [[(1 / widths[a] ** 2 if a == b else 0) + sum(t * share * s[a] * s[b] for t, (_, s) in zip(trust, runs)) for b in size] for a in size]
        right = [sum(t * share * s[a] * r for t, (r, s) in zip(trust, runs)) for a in size]
        spread = inverse(normal)
        mean = [sum(x * y for x, y in zip(row, right)) for row in spread]
        trust = [(FREEDOM + 1) / (FREEDOM + ((r - sum(x * y for x, y in zip(mean, s))) / SCALE) ** 2) for r, s in runs]
    return mean, spread


def likeliest_widths(kinds: list, passes: int) -> list:
    widths = list(START.values())
    for _ in range(passes):
        found = [posterior(runs, widths) for runs in kinds]
        widths = [math.sqrt(sum(mean[i] ** 2 + spread[i][i] for mean, spread in found) / len(found)) for i in range(len(widths))]
    return widths


def main() -> None:
    tables = sorted(str(p) for p in (HERE / "rows").glob("*.csv"))
    answer = json.loads(subprocess.run([sys.argv[1], "accuracy", "--few-shot", "--rows", "--json", *tables], check=True, capture_output=True, text=True).stdout)
    kinds = defaultdict(list)
    for row in answer["configurations"]:
        kinds[row["source"], row["kind"]].append((row["residual"], [row["slopes"][name] for name in START]))
    kinds = {key: runs[:: max(1, len(runs) // MOST)] for key, runs in kinds.items() if len(runs) >= LEAST}
    print(f"{len(kinds)} kinds:", dict(zip(START, (round(w, 3) for w in likeliest_widths(list(kinds.values()), PASSES)))))
    for source in sorted({key[0] for key in kinds}):
        widths = likeliest_widths([runs for key, runs in kinds.items() if key[0] != source], PASSES)
        print(f"without {source}:", dict(zip(START, (round(w, 3) for w in widths))))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
