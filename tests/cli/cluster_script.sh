#!/usr/bin/env bash
# scripts/cluster.sh and gpu.sh, rehearsed on GPUs and links that are not there, leave everything that they are for.
#   cluster_script.sh <scripts> <build folder> [layouts]   without layouts a small part
set -euo pipefail
scripts=$1 build=$2
shift 2
fail() {
  echo "cluster_script: $1" >&2
  exit 1
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/model.json" <<'JSON'
{"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 4, "num_attention_heads": 16, "num_key_value_heads": 8,
 "intermediate_size": 5632, "vocab_size": 32000, "max_position_embeddings": 8192}
JSON

left() { # left <folder> <file…>: each is there and holds something
  local in=$1 file
  shift
  for file in "$@"; do [[ -s $in/$file ]] || fail "no $file in $(ls "$in")"; done
}
layouts=(--layout "tp2 dp2")
for layout in "$@"; do layouts+=(--layout "$layout"); done
"$scripts/cluster.sh" --rehearse --prebuilt "$build" --results "$folder/cluster" --model "$folder/model.json" "${layouts[@]}" \
  >"$folder/out" 2>&1 || fail "$(cat "$folder/out" "$folder"/cluster/*.log)"
left "$folder/cluster" calibration.json measurements.sqlite validation-1.json validation-1.html history.sqlite backends.txt calibrate.log
grep -q 'Slowest: rank 3 on .*5.0 % over the median' "$folder/cluster/calibrate.log" || fail "the slow GPU is not named"
ls "$folder"/cluster/*.[1-3].log 2>/dev/null && fail "processes beside the first wrote"
python3 - "$folder"/cluster/validation-*.json <<'PYTHON'
import json, sys
for file in sys.argv[1:]:
    for row in json.load(open(file))["scenarios"]:
        error = row["step"]["error"]
        assert abs(error) < 0.25, (file, row["name"], error)
PYTHON

"$scripts/gpu.sh" --simulate --thorough --prebuilt "$build" --results "$folder/gpu" >"$folder/out" 2>&1 ||
  fail "$(cat "$folder/out" "$folder"/gpu/*.log)"
left "$folder/gpu" calibration.json validation.html validation.json steps.txt calibration-spread.txt
grep -q 'largest 0.[0-9]%' "$folder/gpu/calibration-spread.txt" || fail "a clock that is set differs: $(cat "$folder/gpu/calibration-spread.txt")"
for step in sanitizer ncu; do
  grep -q "^$step.*skipped: there is no GPU" "$folder/gpu/steps.txt" || fail "$step: $(cat "$folder/gpu/steps.txt")"
done
# What is compared is a step that was set by the same curves: dense scenarios on one GPU agree, and mixtures of experts, whose
# tokens go to experts in turn, come near on one GPU.
python3 - "$folder/gpu/validation.json" <<'PYTHON'
import json, sys
rows = {row["name"]: row["step"]["error"] for row in json.load(open(sys.argv[1]))["scenarios"]}
assert len(rows) == 26, len(rows)
for name, error in rows.items():
    if name.startswith(("8b, 4", "8b, 8", "1b", "13b", "70b")):
        assert abs(error) < 0.06, (name, error)
    if name == "mixtral, 1 layer":
        assert abs(error) < 0.15, (name, error)
PYTHON
