#!/usr/bin/env bash
# `calibrate --device cuda` on a GPU with a clock of its own finds the curves that the clock goes by, fp8's apart.
#   calibrate_simulated.sh <hexaplan> <simulated_gpu.so>
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/lib/hexaplan"
# The program looks for modules beside itself.
ln "$1" "$folder/hexaplan" 2>/dev/null || cp "$1" "$folder/hexaplan"
cp "$2" "$folder/lib/hexaplan/hexaplan_cuda.so"
calibration=$folder/h100.json

fail() {
  echo "$*" >&2
  exit 1
}
calibrate() {
  "$folder/hexaplan" calibrate --device cuda --gpus 1 --quick --quiet --json --store "$folder/store.sqlite" \
    --out "$calibration" >"$folder/out"
}
said() { grep -q "$1" "$folder/out" || fail "no $1 in: $(cat "$folder/out")"; }
# fitted <name> <least> <most>
fitted() {
  grep -A1 "\"name\": \"$1\"" "$folder/out" | awk -F'[:,]' -v name="$1" -v least="$2" -v most="$3" '
    /"value"/ { found = 1; if ($2 < least || $2 > most) { print name " is" $2; exit 1 } }
    END { if (!found) { print name " was not fitted"; exit 1 } }' >&2 || fail "expected $1 in $2 to $3"
}

calibrate
said '"gpu": "h100-80-sxm"' # by the device's own name
said '"kind": "gemm fp8"'
said '"kind": "sustained gemm fp8"'
fitted gemm.share 0.71 0.79               # 0.75
fitted gemm.fp8.share 0.57 0.63           # 0.6
fitted sustained 0.88 0.92                # 0.9
fitted gemm.fp8.sustained_ratio 0.93 0.97 # 0.95
# Clocks beside the points: the sustained product's are held back by power.
python3 - "$folder/out" <<'PYTHON' || fail "clocks: $(cat "$folder/out")"
import json, sys
clocks = {row["kind"]: row for row in json.load(open(sys.argv[1]))["clocks"]}
assert clocks["memory-bound"]["median_mhz"] == 1980 and clocks["memory-bound"]["most_watts"] == 520, clocks
assert abs(clocks["sustained gemm"]["lowest_mhz"] - 1782) < 1 and clocks["sustained gemm"]["most_watts"] == 698, clocks
PYTHON
awk '/"fp8": \{/ { inside = 1 } inside && /"source"/ { print; exit }' "$calibration" | grep -q '"measured on cuda:0 NVIDIA H100' ||
  fail "the curve of fp8 does not say that it was measured here"

calibrate
said '"measured": 0,' # all of it is in the store
said '"lowest_mhz": 1782' # with its clocks

estimate=(estimate --model llama-3.1-8b --cluster 8xH100 --layout tp8 --precision fp8 --quiet --json)
"$folder/hexaplan" "${estimate[@]}" --calibration "$calibration" >"$folder/with" || fail "it cannot be read back"
"$folder/hexaplan" "${estimate[@]}" >"$folder/without"
if diff -q <(grep step_seconds "$folder/with") <(grep step_seconds "$folder/without") >/dev/null; then
  fail "the calibration makes no difference"
fi

# One rank of eight with an expert each: counts of rows that others would send are copies of its own, and rows are computed.
cat >"$folder/list.json" <<'JSON'
{"schema": "hexaplan/validation-list/1", "scenarios": [{"name": "experts", "use": "held-out", "layout": "ep8 dp8 zero1", "solo": true,
 "model": {"model_type": "mixtral", "hidden_size": 4096, "num_hidden_layers": 2, "num_attention_heads": 32, "num_key_value_heads": 8,
 "intermediate_size": 14336, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000, "max_position_embeddings": 32768},
 "recipe": {"sequence": 4096, "micro_batch": 1, "global_batch": 16, "recompute": "none"}}]}
JSON
"$folder/hexaplan" validate --list "$folder/list.json" --device cuda --calibration "$calibration" --no-store --quiet --json >"$folder/out"
python3 - "$folder/out" <<'PYTHON' || fail "a mixture's step on one rank: $(cat "$folder/out")"
import json, sys
step = json.load(open(sys.argv[1]))["scenarios"][0]["step"]
assert abs(step["predicted"] / step["measured"] - 1) < 0.12, step
PYTHON
