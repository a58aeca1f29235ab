#!/usr/bin/env python3
"""Numbers that papers state in their text, beside what is predicted: tests/golden/stated_numbers.json.

usage: stated_numbers.py build/release/hexaplan          writes the table of docs/accuracy.md
       stated_numbers.py build/release/hexaplan --check  exit code 1 when a prediction leaves what its source allows, or the table is stale

A row has `ask`, the words of `hexaplan estimate` (`dims`: layers, hidden, heads of a GPT, where no preset has them), and a `quantity`, computed from the answer by one of QUANTITIES. Predicted and stated may be `tolerance`
apart. Where they are further apart, `why` says what is known of it and `band` holds the ratio where it is: a band that is not needed fails, too. `above`: the source says "over", and the tolerance
is on that side alone; `most`: at most this.
"""
import json
import shlex
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "accuracy.md"
BEGIN, END = "<!-- table: stated_numbers.py -->\n", "\n<!-- end of stated numbers -->"
STEPS_PER_EPOCH = 68507  # arXiv:1909.08053 section 5.2
TABLE_MAY_MOVE = 0.02


@lru_cache(maxsize=None)
def answer(program: str, words: str, dims: tuple) -> dict:
    if dims:
        layers, hidden, heads = dims
        words += f' --model "layers={layers} hidden={hidden} heads={heads} ffn={4 * hidden} vocab=51200 gelu layer_norm norm_bias qkv_bias output_bias mlp_bias learned_positions tied max_positions=1024"'
    run = subprocess.run([program, "estimate", "--json", "--quiet", *shlex.split(words)], check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def states(found: dict) -> float:
    stage = found["memory"]["stages"][0]
    return (stage["parameters"] + stage["gradients"] + stage["optimizer"]) / 1e9


def rate(found: dict, flops_per_parameter: int) -> float:
    """TFLOP/s per GPU as papers count them: 6 per parameter and token, 8 where layers are computed twice."""
    tokens = found["throughput"]["tokens_per_second_per_gpu"]
    return flops_per_parameter * found["parameters"] * tokens / 1e12


QUANTITIES = {
    "states": states,
    "needed": lambda found: found["memory"]["needed_bytes"] / 2**30,
    "rate6": lambda found: rate(found, 6),
    "rate8": lambda found: rate(found, 8),
    "total8": lambda found: rate(found, 8) * found["gpus"] / 1e3,
    "epoch": lambda found: found["time"]["step_seconds"] * STEPS_PER_EPOCH / 86400,
}


def predicted(program: str, row: dict) -> float:
    def ask(words: str, dims: list) -> dict:
        return answer(program, words, tuple(dims))

    if row["quantity"] == "largest":
        answers = [ask(row["ask"], dims) for dims in row["ladder"]]
        if all(a["fits"] for a in answers) or not any(a["fits"] for a in answers):
            sys.exit(f"{row['id']}: its ladder ends too early")
        return max(a["parameters"] for a in answers if a["fits"]) / 1e9
    found = ask(row["ask"], row.get("dims", []))
    if row["quantity"] == "efficiency":
        return rate(found, 6) / rate(ask(row["baseline"], row.get("baseline_dims", [])), 6)
    return QUANTITIES[row["quantity"]](found)


def fault(row: dict, ratio: float) -> str:
    """Why the ratio of predicted to stated is not what the source allows; empty when it is."""
    low, high = 1 - row["tolerance"], 1 + row["tolerance"]
    if row.get("above"):
        low = 1
    if row.get("most"):
        low, high = 0, 1
    allowed = low <= ratio <= high
    if "band" not in row:
        return "" if allowed else f"allowed are {low:.2f} to {high:.2f}"
    if allowed:
        return "its band is not needed any more"
    low, high = row["band"]
    return "" if low <= ratio <= high else f"its band is {low} to {high}"


def number(value: float) -> str:
    return f"{value:.3g}" if value < 100 else f"{value:.4g}"


def line(row: dict, value: float) -> str:
    side = "at most " if row.get("most") else "above " if row.get("above") else ""
    stated = f"{side}{number(row['stated'])} {row['unit']}".strip()
    return f"| {row['claim']} | {stated} | {number(value)} | {value / row['stated']:.2f} | {row['source']} | {row.get('why', '')} |"


def table_in(page: str) -> list:
    return page.split(BEGIN)[1].split(END)[0].split("\n")


def same_but_for_small_moves(old: list, new: list) -> bool:
    """Predictions move a little with every change: the page is stale when claims differ or a ratio by more."""
    if len(old) != len(new):
        return False
    for a, b in zip(old, new):
        x, y = a.split(" | "), b.split(" | ")
        if a == b:
            continue
        if len(x) != len(y) or x[:2] != y[:2] or x[4:] != y[4:] or abs(float(x[3]) - float(y[3])) > TABLE_MAY_MOVE:
            return False
    return True


def main(program: str, check: bool) -> None:
    rows = json.loads((HERE / "stated_numbers.json").read_text(encoding="utf-8"))["rows"]
    table = ["| claim | stated | predicted | ratio | source | what is known of the difference |", "|---|---|---|---|---|---|"]
    faults = []
    for row in rows:
        value = predicted(program, row)
        table.append(line(row, value))
        wrong = fault(row, value / row["stated"])
        if wrong:
            faults.append(f"{row['id']}: {number(value)} {row['unit']} predicted, {number(row['stated'])} stated, ratio {value / row['stated']:.3f}; {wrong}")
    page = PAGE.read_text(encoding="utf-8")
    if not check:
        PAGE.write_text(page.split(BEGIN)[0] + BEGIN + "\n".join(table) + END + page.split(END)[1], encoding="utf-8")
    elif not same_but_for_small_moves(table_in(page), table):
        faults.append("the table of docs/accuracy.md is stale: run tests/golden/stated_numbers.py build/release/hexaplan")
    if faults:
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    main(sys.argv[1], check=len(sys.argv) == 3)
