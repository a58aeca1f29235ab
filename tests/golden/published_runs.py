#!/usr/bin/env python3
"""Writes presets/published/runs.json: the published runs that answers name as their evidence, taken from tests/golden/rows.

usage: published_runs.py          writes the file
       published_runs.py --check  exit code 1 when the file is not what it would write

One run stands for all of a source that share GPU type, framework, model, number of GPUs and techniques: the one with the most tokens per second. Runs that their source calls disturbed are left out.
"""
import csv
import json
import sys
from pathlib import Path

from technique_evidence import TECHNIQUES, number

HERE = Path(__file__).resolve().parent
FILE = HERE.parents[1] / "presets" / "published" / "runs.json"
SAME = ("source_file", "gpu", "framework_profile", "model_name", "arch", "layers", "hidden", "n_gpus")


def rate(row: dict) -> float:
    return number(row, "global_batch") * number(row, "seq") / float(row["measured_step_seconds"])


def content() -> str:
    groups = {}
    for table in sorted((HERE / "rows").glob("*.csv")):
        for row in csv.DictReader(open(table, encoding="utf-8")):
            if row["scoreable_time"] not in ("1", "true", "True") or not float(row["measured_step_seconds"] or 0):
                continue
            row["techniques"] = " ".join(name for name, uses in TECHNIQUES.items() if uses(row))
            groups.setdefault(tuple(row[c] for c in SAME) + (row["techniques"],), []).append(row)
    chosen = []
    for rows in groups.values():
        best = max(rows, key=rate)
        chosen.append({**best, "runs": str(len(rows))})
    columns = [c for c in chosen[0] if any(row[c] for row in chosen) and c not in ("family", "confidence", "weight", "rank_group", "techniques")]
    lines = [json.dumps([row[c] for c in columns], ensure_ascii=False) for row in chosen]
    head = json.dumps(columns)
    return '{\n "schema": "hexaplan/published-runs/1",\n "source": "tests/golden/rows, chosen by tests/golden/published_runs.py; each row\'s source: tests/golden/README.md",\n' f' "columns": {head},\n "runs": [\n  ' + ",\n  ".join(lines) + "\n ]\n}\n"


def main(arguments: list) -> None:
    if arguments == ["--check"]:
        if not FILE.exists() or FILE.read_text(encoding="utf-8") != content():
            sys.exit("presets/published/runs.json is not up to date: run tests/golden/published_runs.py")
    elif arguments:
        sys.exit(__doc__)
    else:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(content(), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
