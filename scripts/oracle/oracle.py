#!/usr/bin/env python3
"""What PyTorch itself keeps, sends and computes in a training step, without a GPU: tests/golden/oracle/*.json.

    python3 -m venv venv && venv/bin/pip install -r scripts/oracle/requirements.txt
    venv/bin/python scripts/oracle/oracle.py [--check] [--group GROUP]... [--case TEXT [--alive]]

Models and states are fake tensors (shapes and types, no data), ranks a fake process group: live_bytes.py says what is seen
and what is not. Building and testing Hexaplan need none of this: tests/presets/frameworks/oracle_test.cpp and tests/presets/oracle read the files.
Groups of other versions run where they are named: PYTHONPATH with transformers 4.44 (requirements-4.44.txt) for hugging_face_4.
--check measures again and compares. --keep measures what the file does not have, whose versions stand with the case where they are others than the file's. --case: those whose name has TEXT, printed, nothing written; with --alive, what lives beside states at the peak of each phase: where a prediction is wrong, the tensors that it lacks or has too many of.
"""
import argparse
import gc
import importlib
import json
import pathlib
import sys
import time
import warnings
from importlib.metadata import PackageNotFoundError, version

warnings.filterwarnings("ignore")
FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "golden" / "oracle"
GROUPS = {"hugging_face": ["torch", "transformers", "peft"], "whole_steps": ["torch"], "compiled_layers": ["torch"],
          "answers": ["torch", "transformers", "peft"], "megatron_core": ["torch", "megatron-core"], "deepspeed_steps": ["torch", "transformers", "deepspeed"],
          "hugging_face_4": ["torch", "transformers"]}
OF_OTHER_VERSIONS = {"hugging_face_4"}  # run where they are named, with requirements of their own (requirements-4.44.txt)


def text_of(document):
    """JSON with one line per tensor, so that a difference between two versions is readable."""
    def dump(value, indent):
        pad = " " * indent
        flat = json.dumps(value)
        if len(flat) <= 170 or not isinstance(value, (dict, list)):
            return flat
        if isinstance(value, list):
            return "[\n" + ",\n".join(f"{pad} {dump(v, indent + 1)}" for v in value) + f"\n{pad}]"
        return "{\n" + ",\n".join(f"{pad} {json.dumps(k)}: {dump(v, indent + 1)}" for k, v in value.items()) + f"\n{pad}}}"
    return dump(document, 0) + "\n"


def measured(group, wanted, kept, done, own={}, alive=False):
    """Every case of the group, `kept` ones as they stand, others with what is `own` to them; `done` is told after each."""
    module = importlib.import_module(group)
    mode = importlib.import_module("live_bytes").LiveBytes if alive else None
    if mode is not None:
        mode.lists_alive = True
    out = []
    for name, case in module.cases().items():
        if wanted and wanted not in name:
            continue
        start = time.time()
        if mode is not None:
            mode.last = None  # a case of several ranks has no list, nor has it the one before's
        found = kept.get(name) or dict(name=name, **module.measure(case), **own)
        if mode is not None and mode.last is not None:
            found["alive"] = mode.last.alive_by_phase()
        out.append(found)
        gc.collect()
        if name not in kept:
            print(f"{group}: {name}: {time.time() - start:.1f} s", file=sys.stderr, flush=True)
            done(out)
    return out


def runs_here(group):
    """Whether the group's packages are installed; says which one is not."""
    for package in GROUPS[group]:
        try:
            version(package)
        except PackageNotFoundError:
            print(f"{group}: not run, no package {package} here", file=sys.stderr)
            return False
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--group", action="append", choices=GROUPS)
    parser.add_argument("--case")
    parser.add_argument("--alive", action="store_true")
    options = parser.parse_args()
    if options.alive and not options.case:
        parser.error("--alive needs --case: what it lists is printed, not written")
    FOLDER.mkdir(exist_ok=True)
    differ = False
    for group in options.group or [g for g in GROUPS if g not in OF_OTHER_VERSIONS and runs_here(g)]:
        path = FOLDER / f"{group}.json"
        versions = {p: version(p) for p in GROUPS[group]}

        def write(cases):
            path.write_text(text_of(dict(versions=versions, cases=cases)))

        if options.case:
            print(text_of(measured(group, options.case, {}, lambda _: None, alive=options.alive)), end="")
        elif options.check:
            same = path.read_text() == text_of(dict(versions=versions, cases=measured(group, None, {}, lambda _: None)))
            print(f"{path.name}: {'the same' if same else 'differs'}")
            differ |= not same
        else:
            known = json.loads(path.read_text()) if options.keep else dict(versions=versions, cases=[])
            own = {} if known["versions"] == versions else dict(versions=versions)
            versions = known["versions"]
            write(measured(group, None, {c["name"]: c for c in known["cases"]}, write, own))
    sys.exit(differ)


if __name__ == "__main__":
    main()
