#!/usr/bin/env bash
# `calibrate` as a job of several processes finds the links that were set, the slowdown of products beside messages and the
# GPU that is slow; one process alone writes.
#   calibrate_cluster.sh <hexaplan> <simulated_gpu.so>
set -euo pipefail
# shellcheck source=tests/cli/simulated_cluster.sh
source "${BASH_SOURCE[0]%/*}/simulated_cluster.sh"
with_simulated_cluster "$1" "$2"
links="node_us=3 node_GBps=300 network_us=15 network_GBps=40 contention=0.1 pairs=0.8 exchange=0.7 beside=1.25"
cluster="$links slow=3 slowness=1.1"
calibrate=(calibrate --device cuda --cluster 2x2xH100+ib400 --quiet --json --store s.sqlite --out c.json)

# line <kind> <ranks> <member> [<stride>]: of the collectives that process 0 tells
line() {
  python3 -c 'import json, sys
kind, ranks, member, stride = sys.argv[1:]
rows = json.load(open("out0"))["collectives"]
print(*[r[member] for r in rows if (r["kind"], r["ranks"], r["stride"]) == (kind, int(ranks), int(stride))])' "$1" "$2" "$3" "${4:-1}"
}
fitted() {
  python3 -c 'import json, sys
print(*[n["value"] for n in json.load(open("out0"))["fitted"] if n["name"] == sys.argv[1]])' "$1"
}
network() {
  python3 -c 'import json, sys; print(json.load(open("out0"))["network"][sys.argv[1]])' "$1"
}
count() {
  python3 -c 'import json, sys; print(json.load(open("out0"))[sys.argv[1]])' "$1"
}
# A pipeline between hosts, two of whose stages' GPUs share the cards, takes longer by what was found.
predictions_take_shares() {
  python3 -c 'import json
c = json.load(open("c.json"))
for name in ("contention_per_doubling", "pair_share", "exchange_share"): del c["fabric"]["network"][name]
json.dump(c, open("without.json", "w"))'
  local calibration steps=()
  for calibration in c without; do
    ./hexaplan estimate --model llama-3.1-8b --cluster 2x2xH100+ib400 --layout 'tp2 pp2' --seq 8192 --global-batch 8 \
      --framework hexaplan --calibration $calibration.json --quiet --json >estimate
    steps+=("$(grep -m 1 '"step_seconds"' estimate | tr -dc '0-9.')")
  done
  awk -v with="${steps[0]}" -v without="${steps[1]}" 'BEGIN { exit !(with > without) }' ||
    fail "a pipeline takes ${steps[0]} s, ${steps[1]} s without what was found"
}
# A ring of n ranks: all-reduce 2(n-1) rounds of a share of the payload, gathers n-1. Between hosts NCCL's own model, over two
# cards per host beside each other, or one card per ring where all GPUs of a host are in rings of their own.
links() {
  within "latency of two ranks' all-reduce" "$(line all_reduce 2 latency_seconds)" 6e-6 3
  within "rate of two ranks' all-reduce" "$(line all_reduce 2 bytes_per_second)" 300e9 3
  within "latency of two ranks' all-gather" "$(line all_gather 2 latency_seconds)" 3e-6 3
  within "rate of two ranks' messages" "$(line send_recv 2 bytes_per_second)" 300e9 3
  [[ $(line all_reduce 2 groups) -eq 2 ]] || fail "pairs of neighbours are not measured on all hosts at once"
  within "rate of four ranks' messages" "$(line send_recv 4 bytes_per_second)" 32e9 3
  within "rate of four ranks' all-to-all" "$(line all_to_all 4 bytes_per_second)" 56e9 3
  within "rate of two pairs between hosts at once" "$(line send_recv 2 bytes_per_second 2)" 28.8e9 3
  # Of the card's 50 GB/s; and what every step between hosts adds to NCCL's own.
  within "the network's share" "$(network bandwidth_efficiency)" 0.8 3
  within "the network's latency per step" "$(network hop_latency_seconds)" 15e-6 3
  within "what a card loses to a second ring" "$(network contention_per_doubling)" 0.1 3
  within "the share of pairs" "$(network pair_share)" 0.8 3
  within "the share of all-to-alls" "$(network exchange_share)" 0.7 3
  predictions_take_shares
  grep -q '"measured on cuda:0 NVIDIA H100' c.json || fail "no calibration was written"
  for rank in 1 2 3; do
    if [[ -s out$rank || -e data$rank ]]; then fail "process $rank wrote: $(ls -d out$rank data$rank)"; fi
  done
}

run_job 4 2 1 "${calibrate[@]}" --budget 50 # one process per GPU, two per host
links
within "a product beside a message" "$(fitted overlap_slowdown)" 1.25 3
python3 - <<'PYTHON'
import json
devices = json.load(open("out0"))["devices"]
assert [round(d["slowness"], 2) for d in devices] == [1, 1, 1, 1.1], devices
PYTHON
grep -q 'Slowest: rank 3 on .*10.0 % over the median' out0 || fail "the slow GPU is not named: $(cat out0)"

rm s.sqlite
cluster="$links"
run_job 2 1 2 "${calibrate[@]}" --budget 45 --gpus 2 # one process per host
links
# On a busy machine the budget may end before the last points: the next job measures those and no others.
measured=$(count measured) left_out=$(count left_out)
run_job 2 1 2 "${calibrate[@]}" --budget 45 --gpus 2
[[ $(count taken_from_store) -eq $measured ]] || fail "of $measured points $(count taken_from_store) came from the store"
[[ $(count measured) -le $left_out ]] || fail "$(count measured) points were measured again, $left_out were left out"

# A job that cannot be one calibration, or loses a process, says so and writes nothing.
rm -f c.json
cluster="other=1"
if (run_job 2 2 1 "${calibrate[@]}" --cluster 2xH100 --budget 4) 2>err; then fail "two types of GPUs are one calibration"; fi
grep -q 'rank 1 on .* is NVIDIA A100-SXM4-80GB, bfloat16, rank 0 on .* is NVIDIA H100' err0 || fail "$(cat err0)"
if (run_job 2 2 1 "${calibrate[@]}" --budget 4) 2>err; then fail "two GPUs are a cluster of four"; fi
grep -q 'expected the 2 h100-80-sxm of the job' err0 || fail "$(cat err0)"
[[ ! -e c.json ]] || fail "a calibration was written"
