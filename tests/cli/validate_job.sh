#!/usr/bin/env bash
# `validate` as a job of four processes runs several scenarios one after the other, as often as it is asked to, and all of them
# those of process 0: its plans, its files, its budget.
#   validate_job.sh <hexaplan> <simulated_gpu.so>
set -euo pipefail
# shellcheck source=tests/cli/simulated_cluster.sh
source "${BASH_SOURCE[0]%/*}/simulated_cluster.sh"
with_simulated_cluster "$1" "$2"
cat >model.json <<'JSON'
{"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 8,
 "intermediate_size": 2816, "vocab_size": 32000, "max_position_embeddings": 8192}
JSON
question=(--model model.json --cluster 2x2xH100+ib400 --seq 512 --global-batch 8)
validate=(validate --device cuda --steps 1 --warmup 0 --no-store --json --timeout 20)
cluster="node_us=3"
# outcomes: of process 0, one a line
outcomes() {
  python3 -c 'import json; [print(row["outcome"], row["reason"] if row["reason"] else "") for row in json.load(open("out0"))["scenarios"]]'
}
all_measured() { # all_measured <scenarios> <what>
  [[ $(outcomes | grep -c '^measured') -eq $1 ]] || fail "$2: $(outcomes; cat err?)"
  for rank in 1 2 3; do [[ ! -s out$rank ]] || fail "process $rank speaks: $(cat out$rank)"; done
}

./hexaplan estimate --framework hexaplan "${question[@]}" --layout dp4 --save-scenario a.json >/dev/null
./hexaplan estimate --framework hexaplan "${question[@]}" --layout "tp2 dp2" --save-scenario b.json >/dev/null
for round in 1 2 3 4 5 6 7 8 9 10; do
  run_job 4 2 1 "${validate[@]}" --scenario a.json --scenario b.json
  all_measured 2 "round $round of two scenarios"
  run_job 4 2 1 "${validate[@]}" --top 2 "${question[@]}"
  all_measured 2 "round $round of the two best plans"
done

# A calibration that only process 0 sees makes other plans the best; all run those.
mkdir hidden
run_job 4 2 1 calibrate --device cuda --cluster 2x2xH100+ib400 --quiet --store s.sqlite --out own.json --budget 3
mv own.json hidden/own.json
of_first=(--calibration hidden/own.json)
run_job 4 2 1 "${validate[@]}" --top 2 "${question[@]}"
all_measured 2 "plans by a file of process 0"
of_first=()
run_job 4 2 1 "${validate[@]}" --top 1 "${question[@]}" --budget 1000
all_measured 1 "within the budget"

# What process 0 cannot use ends all, with its words.
if (run_job 4 2 1 "${validate[@]}" --top 2 --model model.json --cluster 2x2xH100+ib400 --seq 512 --global-batch 8 --fabric none.json) 2>err; then
  fail "a file that is not there was used"
fi
for rank in 0 1 2 3; do grep -q 'none.json' "err$rank" || fail "process $rank: $(cat "err$rank")"; done
