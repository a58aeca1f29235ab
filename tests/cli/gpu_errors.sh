#!/usr/bin/env bash
# A call of a GPU that fails ends the run with one line that names the call, the code, the rank and what to do about it.
#   gpu_errors.sh <hexaplan> <simulated_gpu.so>
set -euo pipefail
# shellcheck source=tests/cli/simulated_cluster.sh
source "${BASH_SOURCE[0]%/*}/simulated_cluster.sh"
with_simulated_cluster "$1" "$2"
cat >model.json <<'JSON'
{"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 2, "num_attention_heads": 8, "num_key_value_heads": 8,
 "intermediate_size": 2816, "vocab_size": 32000, "max_position_embeddings": 8192}
JSON
run=(run --device cuda --model model.json --seq 512 --global-batch 2 --steps 1 --no-store --noise)
said() { # said <call> <code> <rank> <words of the hint> <output>
  local words
  for words in "$1 failed with $2" "rank $3" "$4"; do
    [[ $5 == *"$words"* ]] || fail "$1 with $2: no '$words' in: $5"
  done
}
# fails <call> <code> <words of the hint>: of the GPU
fails() {
  local output
  if output=$(HEXAPLAN_SIMULATED="fails=$1:$2" timeout 60 ./hexaplan "${run[@]}" --layout dp1 2>&1); then fail "$1 did not fail"; fi
  said "$1" "$2" 0 "$3" "$output"
}
fails open cudaErrorInvalidDevice "CUDA_VISIBLE_DEVICES"
fails allocate cudaErrorMemoryAllocation "other processes may hold memory"
fails gemm cudaErrorLaunchFailure "Xid messages"
fails gemm CUBLAS_STATUS_ARCH_MISMATCH "sm_80 or newer"
fails attention CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED "install all of libcudnn"
fails copy cudaErrorECCUncorrectable "take it out of service"
fails copy cudaErrorPeerAccessUnsupported "NCCL_P2P_DISABLE=1"

# Of NCCL, in process 1 of two: process 0 speaks for both.
cluster="fails=all_reduce:ncclSystemError failing=1"
if (run_job 2 2 1 "${run[@]}" --ranks nccl --layout tp2 --timeout 20) 2>/dev/null; then fail "all_reduce did not fail"; fi
said all_reduce ncclSystemError 1 "NCCL_SOCKET_IFNAME" "$(cat err0 err1)"
