"""What the tests share. They need nothing but Python's own library; pandas, mypy and transformers are used where they are."""

import json
import os
import subprocess
from pathlib import Path

import hexaplan

REPOSITORY = Path(__file__).parents[2]
#: The command of the package: the program of the build tree, or of the installed wheel.
PROGRAM = Path(hexaplan.__file__).parent / "bin" / "hexaplan"


def run_command(*words, exit_code=0):
    """What the command prints; fails unless it exits with `exit_code`."""
    environment = {name: value for name, value in os.environ.items() if name != "HEXAPLAN_PRESETS"}
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, env=environment)
    assert done.returncode == exit_code, f"exit {done.returncode}: {words}: {done.stderr}"
    return done.stdout if exit_code == 0 else done.stderr


def command_json(*words):
    return json.loads(run_command(*words, "--json"))


def without_missing(value, pattern):
    """`value` without the None of fields that `pattern`, JSON, does not have."""
    if isinstance(value, dict):
        return {k: without_missing(v, pattern.get(k)) for k, v in value.items() if v is not None or k in pattern}
    if isinstance(value, list) and isinstance(pattern, list) and len(value) == len(pattern):
        return [without_missing(v, p) for v, p in zip(value, pattern)]
    return value
