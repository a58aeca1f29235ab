#!/usr/bin/env bash
# Usage: gpu_script.sh <scripts/gpu.sh>. Without a GPU it must say so before anything is built; its steps stay under nine
# minutes together.
set -uo pipefail
script=$1
fail() { echo "gpu_script: $1" >&2; exit 1; }

at_most=$("$script" --plan | sed -n 's/.*at most *\([0-9]*\) s/\1/p')
[[ $at_most =~ ^[0-9]+$ ]] || fail "no sum in the plan"
((at_most <= 540)) || fail "$at_most s are more than nine minutes"

"$script" --nonsense 2>/dev/null
[[ $? -eq 2 ]] || fail "an unknown argument is a usage error"

empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
for tool in bash dirname head; do ln -s "$(command -v $tool)" "$empty/$tool"; done
message=$(PATH=$empty "$script" --results "$empty/results" 2>&1)
[[ $? -eq 3 ]] || fail "without a GPU it must exit with 3"
[[ $message == *"no NVIDIA GPU"* ]] || fail "it must say why: $message"
[[ ! -e $empty/results ]] || fail "it must leave nothing behind"
