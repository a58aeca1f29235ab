#!/usr/bin/env bash
# `validate` as a job of two processes measures the step that was set: what 100 us more per message cost is counted by hand.
#   validate_cluster.sh <hexaplan> <simulated_gpu.so>
set -euo pipefail
# shellcheck source=tests/cli/simulated_cluster.sh
source "${BASH_SOURCE[0]%/*}/simulated_cluster.sh"
with_simulated_cluster "$1" "$2"
cat >model.json <<'JSON'
{"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 4, "num_attention_heads": 32, "num_key_value_heads": 8,
 "intermediate_size": 14336, "vocab_size": 32000, "max_position_embeddings": 8192}
JSON
# step <layout>: seconds as process 0 measured them
step() {
  run_job 2 2 1 validate --device cuda --model model.json --seq 1024 --global-batch 8 --layout "$1" --steps 2 --warmup 1 --json \
    --no-store --output result.json
  [[ ! -s out1 ]] || fail "process 1 speaks: $(cat out1)"
  python3 -c 'import json; print(json.load(open("result.json"))["scenarios"][0]["measured_step_seconds"])'
}

cluster="node_us=3"
near=$(step tp2)
cluster="node_us=103"
far=$(step tp2)
# All-reduces of two ranks, two rounds each: per micro-batch four of every layer, those of the embedding, of the gradient
# below the output layer and two of the loss; one of the step for norm and loss.
messages=$((8 * (4 * 4 + 1 + 1 + 2) + 1))
within "what the messages cost" "$(awk "BEGIN { print $far - $near }")" "$(awk "BEGIN { print $messages * 2 * 100e-6 }")" 1

# A slow GPU holds up the others: their step is its step.
cluster="node_us=0 node_GBps=1e6 slow=1 slowness=1.2"
slow=$(step dp2)
cluster="node_us=0 node_GBps=1e6"
within "a step at the pace of the slowest" "$slow" "$(awk "BEGIN { print 1.2 * $(step dp2) }")" 1
