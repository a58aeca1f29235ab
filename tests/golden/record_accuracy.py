#!/usr/bin/env python3
"""Writes tests/golden/accuracy_recorded.json (errors of this build on the golden rows, limits of the test) and the tables of docs/accuracy.md.

usage: record_accuracy.py build/release/hexaplan

Not needed for build or test. Run it when a change makes one source better and another worse, and say so in the CHANGELOG.
"""
import json
import subprocess
import sys
from pathlib import Path

import stated_numbers

HERE = Path(__file__).resolve().parent
# Room for another compiler's rounding and for a row that changes sides of a threshold.
RELATIVE, ABSOLUTE = 1.02, 0.002


def worst_allowed(name: str, value: float) -> float:
    if name == "oom":  # share of right answers
        return 1 - ((1 - value) * RELATIVE + ABSOLUTE)
    return value * RELATIVE + ABSOLUTE


def limits(scores: dict, few_shot: bool = False) -> dict:
    """Figure -> recorded value and limit, over the kinds of score that have rows. Draws of a few runs scatter too much for limits by source."""
    found = {}
    if scores["time"]["rows"]:
        found["time"] = scores["time"]["macro_mean_abs_error"]
        found["families"] = scores["families"]["typical_error"]
    if few_shot:
        found.update({f"few_shot.{shots['runs']}": shots["after"] for shots in scores["few_shot"]})
    for kind, memory in scores["memory"].items():
        if memory["rows"]:
            found[f"memory.{kind}"] = memory["macro_mean_abs_error"]
    if scores["oom"]["rows"]:
        found["oom"] = scores["oom"]["accuracy"]
    return {name: {"recorded": round(value, 5), "limit": round(worst_allowed(name, value), 5)} for name, value in found.items()}


def percent(scores: dict, figure: str = "macro_mean_abs_error") -> str:
    return f"{100 * scores[figure]:.1f} %" if scores["rows"] else ""


def table(answer: dict) -> str:
    """Markdown, one line per source and one for all."""
    lines = ["| source | rows | T | within 10 % | in 90 % interval | noise floor | after 1 run | after 3 | step time | bias | allocated | reserved | device | fits or not | ranking regret |",
             "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for name, scores in [(s["source"], s) for s in answer["sources"]] + [("**all sources**", answer)]:
        time, memory, oom, ranking = scores["time"], scores["memory"], scores["oom"], scores["ranking"]
        rows = max(time["rows"], oom["rows"], *(memory[kind]["rows"] for kind in memory))
        regret = f"{100 * ranking['mean_regret']:.1f} %" if ranking["groups"] else ""
        families = scores["families"]
        once = [percent(families, f) for f in ("typical_error", "within_10_percent", "covered_by_90_percent_interval")]
        floor = percent(families, "noise_floor") if families["families_measured_again"] else ""
        after = {shots["runs"]: f"{100 * shots['after']:.1f} %" for shots in scores["few_shot"]}
        cells = [name, str(rows), *once, floor, after.get(1, ""), after.get(3, ""), percent(time), percent(time, "bias"), *(percent(memory[k]) for k in ("allocated", "reserved", "device")),
                 percent(oom, "accuracy"), regret]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_table(page: Path, text: str) -> None:
    begin, end = "<!-- table: record_accuracy.py -->\n", "\n<!-- end -->"
    old = page.read_text(encoding="utf-8")
    head, rest = old.split(begin)
    page.write_text(head + begin + text + end + rest.split(end)[1], encoding="utf-8")


def main(program: str) -> None:
    tables = sorted(str(path) for path in (HERE / "rows").glob("*.csv"))
    answer = json.loads(subprocess.run([program, "accuracy", "--few-shot", "--json", *tables], check=True, capture_output=True).stdout)
    recorded = {
        "schema": "hexaplan/accuracy-recorded/1",
        "rows_scored_at_least": answer["time"]["rows"] + answer["oom"]["rows"],
        "all": limits(answer, few_shot=True),
        "sources": {scores["source"]: limits(scores) for scores in answer["sources"] if limits(scores)},
    }
    write_table(HERE.parents[1] / "docs" / "accuracy.md", table(answer))
    (HERE / "accuracy_recorded.json").write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
    stated_numbers.main(program, check=False)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
