#!/usr/bin/env bash
# What every process of a job runs to measure a cluster: calibrates all GPUs and the links between them, then validates layouts
# over them, and leaves one folder to commit. One process per GPU, started by srun, torchrun or mpirun (docs/cluster.md):
#
#   srun --ntasks-per-node=8 --gpus-per-node=8 scripts/cluster.sh --cluster 8x8xH100+ib400
#   torchrun --nproc-per-node 8 --no-python scripts/cluster.sh --model llama-3.1-8b --layout 'tp2 dp4'
#   scripts/cluster.sh --rehearse --prebuilt build/release      four processes on GPUs and links that are not there
#
#   --prebuilt DIR    where the program was built, seen by all processes (default build/gpu)
#   --results DIR     where to leave what was measured, written by process 0 alone (default results/cluster-<job>)
#   --cluster C       what the job runs on: nodes and network (default: the nodes of the job, the GPU's usual network)
#   --budget SECONDS  of the calibration (default 600)           --master HOST:PORT   where the launcher does not say it
#   --model M --layout L…   validated (default: llama-3.1-8b; the planner's five best plans). --layout may be repeated
#   --plan            only the steps
# Exit: 0 all steps succeeded, 1 a step failed, 2 usage.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

usage() { echo "cluster.sh: $1; see the head of scripts/cluster.sh" >&2; exit 2; }
prebuilt=build/gpu results='' cluster='' budget=600 model=llama-3.1-8b master='' rehearse='' plan='' layouts=()
while (($# > 0)); do
  case $1 in
    --prebuilt | --results | --cluster | --budget | --model | --master)
      [[ -n ${2:-} ]] || usage "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    --layout)
      [[ -n ${2:-} ]] || usage "$1 needs a value"
      layouts+=("$2")
      shift
      ;;
    --rehearse) rehearse=1 ;;
    --plan) plan=1 ;;
    *) usage "unknown argument '$1'" ;;
  esac
  shift
done
program=$prebuilt/hexaplan
if [[ -n $plan ]]; then
  echo "  calibrate  $budget s, every GPU and the links between them → calibration.json, measurements.sqlite"
  echo "  validate   ${#layouts[@]} layouts of $model, or the planner's five best → validation-N.json and .html"
  exit 0
fi
[[ -x $program ]] || usage "no program at $program: build it where all processes see it, and name its folder with --prebuilt"

# Four processes on two hosts, as torchrun would start them, on the simulated GPUs of the tests.
if [[ -n $rehearse ]]; then
  simulated=$prebuilt/tests/simulated_gpu.so
  [[ -e $simulated ]] || usage "--rehearse needs $simulated: build the target simulated_gpu"
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  mkdir -p "$stage/lib/hexaplan" "$stage/meeting"
  cp "$program" "$stage/hexaplan"
  cp "$simulated" "$stage/lib/hexaplan/hexaplan_cuda.so"
  ln -s hexaplan_cuda.so "$stage/lib/hexaplan/hexaplan_nccl.so"
  export HEXAPLAN_SIMULATED="folder=$stage/meeting per_node=2 beside=1.2 sustained=1 slow=3 slowness=1.05"
  export MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + RANDOM % 10000)) WORLD_SIZE=4 LOCAL_WORLD_SIZE=2
  words=(--prebuilt "$stage" --results "${results:-results/cluster-rehearsal}" --cluster "${cluster:-2x2xH100+ib400}" --budget 5 --model "$model")
  ((${#layouts[@]} > 0)) || layouts=("tp2 dp2" "tp2 pp2")
  for layout in "${layouts[@]}"; do words+=(--layout "$layout"); done
  pids=() code=0
  for rank in 3 2 1 0; do
    RANK=$rank LOCAL_RANK=$((rank % 2)) GROUP_RANK=$((rank / 2)) "$PWD/scripts/cluster.sh" "${words[@]}" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || code=1; done
  exit "$code"
fi

# Which process this is: launchers in the order in which the program looks at them.
rank=${RANK:-${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-${SLURM_PROCID:-0}}}}
run_id=${TORCHELASTIC_RUN_ID:-}
[[ $run_id == none ]] && run_id= # torchrun without --rdzv-id
results=${results:-results/cluster-${SLURM_JOB_ID:-${run_id:-$(date -u +%Y-%m-%d)}}}
mkdir -p "$results"
job=(--device cuda --timeout 300 ${master:+--master "$master"})
say() { if [[ $rank -eq 0 ]]; then echo "$*"; fi; }

failures=0
# run_step NAME COMMAND…: output of process 0 to NAME.log, of others to NAME.RANK.log, which goes when it is empty.
run_step() {
  local name=$1 log begin=$SECONDS code=0
  shift
  log=$results/$name.log
  [[ $rank -eq 0 ]] || log=$results/$name.$rank.log
  "$@" >"$log" 2>&1 || code=$?
  [[ -s $log ]] || rm -f "$log"
  [[ $code -eq 0 ]] || failures=$((failures + 1))
  say "$name: $((SECONDS - begin)) s$([[ $code -eq 0 ]] || echo ", failed with $code, see $log")"
}

if [[ $rank -eq 0 ]]; then
  "$program" backends >"$results/backends.txt" 2>&1
  nvidia-smi topo -m >"$results/topology.txt" 2>&1 || rm -f "$results/topology.txt"
fi
# What an earlier job left is not this job's, should this one measure nothing.
[[ $rank -eq 0 ]] && rm -f "$results/calibration.json"
run_step calibrate "$program" calibrate "${job[@]}" --budget "$budget" ${cluster:+--cluster "$cluster"} \
  --store "$results/measurements.sqlite" --out "$results/calibration.json"

# Process 0 plans and predicts for all: others, which may see its files late or not at all, need none.
question=(--model "$model" --seq 4k "${job[@]}" ${cluster:+--cluster "$cluster"} --store "$results/history.sqlite")
[[ $rank -eq 0 && -s $results/calibration.json ]] && question+=(--calibration "$results/calibration.json")
# validate N WORDS…: files are process 0's.
validate() {
  local number=$1
  shift
  local files=()
  if [[ $rank -eq 0 ]]; then files=(--html "$results/validation-$number.html" --json --output "$results/validation-$number.json"); fi
  run_step "validate-$number" "$program" validate "${question[@]}" "$@" "${files[@]}"
}
if ((${#layouts[@]} == 0)); then
  validate 1 --top 5 --global-batch 256
else
  for i in "${!layouts[@]}"; do validate "$((i + 1))" --layout "${layouts[$i]}" --global-batch 16; done
fi
say "results in $results"
((failures == 0))
