#!/usr/bin/env bash
# calibrate refuses what it cannot measure: links of one GPU, ranks that are imagined, a cluster that is another one.
# Nothing is written.
#   calibrate_jobs.sh <hexaplan> <stand_in_gpus.so>
set -euo pipefail
# shellcheck source=tests/cli/stand_in_gpus.sh
source "${BASH_SOURCE[0]%/*}/stand_in_gpus.sh"
with_stand_in_gpus "$1" "$2"
cd "$folder"

# refused <exit code> <words> <variables of the environment…> -- <arguments…>
refused() {
  code=$1 words=$2
  shift 2
  environment=()
  while [[ $1 != -- ]]; do environment+=("$1") && shift; done
  shift
  found=0
  timeout 20 env "${environment[@]}" ./hexaplan calibrate --device cuda --budget 3 --store s.sqlite --out c.json "$@" \
    >out 2>err || found=$?
  if [[ $found -ne $code ]] || ! grep -q -- "$words" err; then
    echo "${environment[*]} $*: exit code $found, expected $code and '$words' in:" >&2
    cat err >&2
    exit 1
  fi
  if [[ -e c.json || -e s.sqlite ]]; then
    echo "${environment[*]} $*: wrote a file" >&2
    exit 1
  fi
}

torchrun=(RANK=1 WORLD_SIZE=2 LOCAL_RANK=1 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500)
slurm=(SLURM_PROCID=3 SLURM_NTASKS=16 SLURM_STEP_NUM_TASKS=16 SLURM_LOCALID=3 SLURM_JOB_ID=7 SLURM_STEP_NODELIST=node1 SLURM_JOB_NODELIST=node1)
refused 2 "ranks with links between them" "${torchrun[@]}" -- --ranks threads
refused 2 "ranks with links between them" "${torchrun[@]}" -- --ranks solo
refused 4 "process 3 of 16 that Slurm started, expected --ranks mpi or nccl" "${slurm[@]}" -- --device cpu
refused 4 "--rank, --world and --master belong together" HOME="$folder" -- --rank 1 --world 2
refused 4 "start the job again" RANK=1 WORLD_SIZE=two HOME="$folder" --
refused 2 "add --gpus N" HOME="$folder" -- --ranks nccl
refused 2 "at least two ranks" HOME="$folder" -- --ranks nccl --gpus 1
refused 2 "ranks with links between them" HOME="$folder" -- --ranks solo
