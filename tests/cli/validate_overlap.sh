#!/usr/bin/env bash
# What the executor hides behind its passes, and what it waits for, is what the profile `hexaplan` says: on a slow network the
# predicted step is the measured one within 5 %, whatever the layout sends.
#   validate_overlap.sh <hexaplan> <simulated_gpu.so>
set -euo pipefail
# shellcheck source=tests/cli/simulated_cluster.sh
source "${BASH_SOURCE[0]%/*}/simulated_cluster.sh"
with_simulated_cluster "$1" "$2"
cat >model.json <<'JSON'
{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 32, "num_key_value_heads": 8,
 "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 8192}
JSON
# A product takes as long beside a message as alone: what is hidden is free.
cluster="node_us=3 node_GBps=300 network_us=15 network_GBps=40 beside=1 sustained=1"
run_job 4 2 1 calibrate --device cuda --cluster 2x2xH100+ib400 --quiet --store s.sqlite --out c.json --budget 15
layouts=("dp4" "dp4 zero1" "tp2 dp2" "tp2 sp dp2 zero1" "tp2 dp2 zero2" "dp4 zero2" "dp4 zero3" "tp2 cp2" "cp4")
words=()
for layout in "${layouts[@]}"; do
  ./hexaplan estimate --framework hexaplan --model model.json --cluster 2x2xH100+ib400 --seq 2048 --global-batch 16 \
    --layout "$layout" --save-scenario "$layout.json" >/dev/null
  words+=(--scenario "$layout.json")
done
of_first=(--calibration c.json)
run_job 4 2 1 validate --device cuda "${words[@]}" --steps 2 --warmup 1 --no-store --json --output result.json
python3 - <<'PYTHON' || exit 1
import json
rows = json.load(open("result.json"))["scenarios"]
assert len(rows) == 9, [row["reason"] for row in rows]
wrong = []
for row in rows:
    print(row["name"], row["step"]["predicted"], row["step"]["measured"], row["step"]["error"])
    for term in row["ranks"][0]["terms"]:
        if term["group"] in ("phase", "messages"):
            print("   ", term["name"], term["predicted"], term["measured"], term["error"])
    if abs(row["step"]["error"]) > 0.05:
        wrong.append((row["name"], row["step"]["error"]))
assert not wrong, wrong
PYTHON
