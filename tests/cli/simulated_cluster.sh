# shellcheck shell=bash disable=SC2154
# with_simulated_cluster <hexaplan> <simulated_gpu.so>: works in a folder, removed at the end, that holds the program with
# modules of GPUs and links that are not there (simulated_cluster.h).
# run_job <processes> <per host> <gpus per process> <arguments…>: as torchrun starts them; out0, err0, … and data0, … are
# what each wrote; fails when one fails. The words in `cluster` say what is simulated, those in `of_first` are arguments of
# process 0 alone.
with_simulated_cluster() {
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  mkdir -p "$folder/lib/hexaplan"
  ln "$1" "$folder/hexaplan" 2>/dev/null || cp "$1" "$folder/hexaplan"
  cp "$2" "$folder/lib/hexaplan/hexaplan_cuda.so"
  ln -s hexaplan_cuda.so "$folder/lib/hexaplan/hexaplan_nccl.so"
  cd "$folder" || exit 1
}

of_first=()
run_job() {
  local processes=$1 per_host=$2 gpus=$3 rank pids=() code=0 words
  shift 3
  rm -rf meeting out? err? data?
  mkdir meeting
  local port=$((20000 + RANDOM % 10000))
  for ((rank = processes - 1; rank >= 0; rank--)); do
    words=("$@")
    [[ $rank -ne 0 ]] || words+=("${of_first[@]}")
    RANK=$rank WORLD_SIZE=$processes LOCAL_RANK=$((rank % per_host)) LOCAL_WORLD_SIZE=$per_host GROUP_RANK=$((rank / per_host)) \
      MASTER_ADDR=127.0.0.1 MASTER_PORT=$port XDG_DATA_HOME=$PWD/data$rank \
      HEXAPLAN_SIMULATED="folder=$PWD/meeting per_node=$((per_host * gpus)) $cluster" \
      timeout 60 ./hexaplan "${words[@]}" >"out$rank" 2>"err$rank" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || code=$?; done
  [[ $code -eq 0 ]] || fail "exit code $code of '$*': $(cat err?)"
}

fail() {
  echo "$*" >&2
  exit 1
}
# within <what> <found> <expected> <percent>
within() {
  awk -v what="$1" -v found="$2" -v expected="$3" -v percent="$4" 'BEGIN {
    if (found == "" || found < expected * (1 - percent / 100) || found > expected * (1 + percent / 100)) {
      print what " is " found ", expected " expected " to " percent " %"; exit 1 } }' >&2 || exit 1
}
