#!/usr/bin/env bash
# Everything that needs a GPU, in one go and in under nine minutes on one H100 or H200: builds, runs the GPU tests,
# calibrates, validates a list of scenarios, does the same step in PyTorch, and leaves one folder to commit.
#
#   scripts/gpu.sh                      results/<gpu>-<date>/
#   scripts/gpu.sh --prebuilt build/gpu   what is built there already
#   scripts/gpu.sh --rehearse --prebuilt build/release   the same steps on the CPU device, with small models
#   scripts/gpu.sh --simulate --prebuilt build/release   the same list on a GPU that is not there, with a clock of its own
#
#   scripts/gpu.sh --thorough           beyond nine minutes: the tests under compute-sanitizer, a second calibration and how far
#                                       it is from the first, memory-bound kernels under ncu; what is not installed is said
#
#   --results DIR   where to leave what was measured     --list NAME   scenarios (default gpu; rehearsal: cpu)
#   --check         only whether there is a GPU          --plan        only the steps and their seconds
#
# Needs no network. Where fmt, CLI11, Eigen, oneTBB, nlohmann-json, SQLite or GoogleTest are not installed: run
# scripts/bundle-dependencies.sh on a machine that has them and bring build/bundle along (or set HEXAPLAN_BUNDLE).
# Exit: 0 all steps succeeded or were skipped for a stated reason, 1 a step failed, 2 usage, 3 no GPU.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# What each step is given, in seconds: 535 in all without --thorough. What a step leaves goes to those after it.
steps=(build tests calibrate validate pytorch)
declare -A given=([build]=185 [tests]=80 [calibrate]=105 [validate]=100 [pytorch]=65
  [sanitizer]=900 [again]=110 [ncu]=180)

usage() { echo "gpu.sh: $1; see the head of scripts/gpu.sh" >&2; exit 2; }
prebuilt='' results='' list='' rehearse='' simulate='' only='' thorough=''
while (($# > 0)); do
  case $1 in
    --prebuilt | --results | --list)
      [[ -n ${2:-} ]] || usage "$1 needs a value"
      declare "${1#--}=$2"
      shift
      ;;
    --rehearse) rehearse=1 ;;
    --thorough)
      thorough=1
      steps+=(sanitizer again ncu)
      ;;
    --simulate) simulate=1 ;;
    --check | --plan) only=$1 ;;
    *) usage "unknown argument '$1'" ;;
  esac
  shift
done

gpu_name() {
  nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1
}
print_plan() {
  local sum=0
  for step in "${steps[@]}"; do
    printf '  %-10s %4d s\n' "$step" "${given[$step]}"
    sum=$((sum + given[$step]))
  done
  printf '  %-10s %4d s\n' "at most" "$sum"
}
[[ $only == --plan ]] && { print_plan; exit 0; }

device=cuda gpu=cpu
list=${list:-${rehearse:+cpu}}
list=${list:-gpu}
if [[ -n $rehearse ]]; then
  device=cpu
  [[ -n $prebuilt ]] || usage "--rehearse needs --prebuilt"
elif [[ -n $simulate ]]; then
  gpu=simulated
  [[ -e $prebuilt/tests/simulated_gpu.so ]] || usage "--simulate needs --prebuilt with the target simulated_gpu"
  stage=$(mktemp -d)
  trap 'rm -rf "$stage"' EXIT
  mkdir -p "$stage/lib/hexaplan"
  cp "$prebuilt/hexaplan" "$stage/hexaplan"
  cp "$prebuilt/tests/simulated_gpu.so" "$stage/lib/hexaplan/hexaplan_cuda.so"
  prebuilt=$stage
  export HEXAPLAN_SIMULATED="sustained=1"
else
  gpu=$(gpu_name)
  if [[ -z $gpu ]]; then
    echo "gpu.sh: no NVIDIA GPU here (nvidia-smi shows none). It needs one GPU with 80 GB; 'scripts/gpu.sh --rehearse" \
      "--prebuilt build/release' runs the same steps on the CPU." >&2
    exit 3
  fi
fi
[[ $only == --check ]] && { echo "$gpu"; exit 0; }

slug=$(tr '[:upper:] ' '[:lower:]-' <<<"${gpu#NVIDIA }")
results=${results:-results/$slug-$(date -u +%Y-%m-%d)}
mkdir -p "$results"
results=$(cd "$results" && pwd)
build=${prebuilt:-build/gpu}
bundle=${HEXAPLAN_BUNDLE:-build/bundle}
if [[ -d $bundle/usr ]]; then
  bundle=$(cd "$bundle" && pwd)
  LD_LIBRARY_PATH=$(printf '%s:' "$bundle"/usr/lib/*-linux-gnu)${LD_LIBRARY_PATH:-}
  export LD_LIBRARY_PATH
else
  bundle=
fi
export XDG_DATA_HOME=$results/data  # the history and what calibrate measures stay with the results

left_over=0 failures=0
: >"$results/steps.txt"
# run_step NAME COMMAND…: within its seconds and those that are left over; output to NAME.log; tells how it went.
run_step() {
  local name=$1 limit=$((given[$1] + left_over)) begin=$SECONDS code
  shift
  printf '%-10s at most %3d s … ' "$name" "$limit"
  timeout --kill-after=5 "$limit" "$@" >"$results/$name.log" 2>&1
  code=$?
  local took=$((SECONDS - begin))
  left_over=$((limit - took > 0 ? limit - took : 0))
  local how="done"
  case $code in
    0) ;;
    77) how="skipped: $(tail -n 1 "$results/$name.log")" ;;
    124 | 137) how="ran out of time" ;;
    *) how="failed with $code, see $name.log" ;;
  esac
  [[ $code -eq 0 || $code -eq 77 ]] || failures=$((failures + 1))
  printf '%3d s, %s\n' "$took" "$how"
  printf '%s\t%s s of %s s\t%s\n' "$name" "$took" "$limit" "$how" >>"$results/steps.txt"
  return "$code"
}

build_all() {
  local generator=(-G Ninja)
  command -v ninja >/dev/null || generator=(-G "Unix Makefiles")
  # The architecture that is here alone: a third of the time.
  local capability
  capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
  cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DHEXAPLAN_CUDA=ON -DHEXAPLAN_GUI=OFF \
    -DHEXAPLAN_BENCHMARKS=OFF -DHEXAPLAN_MPI=OFF -DCMAKE_CUDA_ARCHITECTURES="${capability}-real" \
    ${bundle:+-DCMAKE_PREFIX_PATH="$bundle/usr"} &&
    cmake --build "$build" --parallel "$(nproc)" --target hexaplan gpu_tests
}
test_all() {
  local programs=() failed=0 program
  for program in "$build"/tests/gpu_*_test; do [[ -x $program ]] && programs+=("$program"); done
  ((${#programs[@]} > 0)) || { echo "no GPU tests were built in $build"; return 77; }
  # Tests skip where the device cannot start; here that is a fault.
  awk '$1 == "cuda" && $3 != "ready" || $1 == "cuda:"' "$results/backends.txt" | grep . && return 1
  # Whole programs: under ctest every case is a process that opens the GPU anew, which takes longer than it computes.
  for program in "${programs[@]}"; do
    echo "${program##*/}"
    local log=$results/${program##*/}.log
    "$program" --gtest_brief=1 >"$log" 2>&1 || failed=1
    tail -n 20 "$log"
    # Programs whose modules do not load skip every test.
    ! grep -q '\[  PASSED  \] 0 tests' "$log" || failed=1
  done
  return "$failed"
}
calibrate_here() {
  "$build/hexaplan" calibrate --quick ${rehearse:+--budget 5} ${simulate:+--budget 10} --device "$device" --store "$results/measurements.sqlite" \
    --out "$results/calibration.json"
}
validate_here() {
  local curves=()
  [[ -s $results/calibration.json ]] && curves=(--calibration "$results/calibration.json")
  "$build/hexaplan" validate --list "$list" --device "$device" "${curves[@]}" --budget $((validate_seconds * 8 / 10)) \
    --html "$results/validation.html" --json --output "$results/validation.json" &&
    "$build/hexaplan" runs show 1 >"$results/validation.txt"
}
pytorch_here() {
  [[ -z $simulate ]] || { echo "PyTorch has no simulated GPU"; return 77; }
  python3 -c 'import torch' 2>/dev/null || { echo "python3 has no torch here"; return 77; }
  # What compares best: few scenarios, each eager and compiled.
  local only=(--only "8b, 8 layers, 8k" --only "8b, 8 layers, 4k" --only "1b, 8 layers, micro-batch 4")
  [[ -n $rehearse ]] && only=(--only "one rank")
  python3 benchmarks/pytorch_llama_step.py --list "$list" "${only[@]}" --device "$device" --budget $((pytorch_seconds * 6 / 10)) \
    --out "$results/pytorch.json" &&
    python3 benchmarks/compare_with_pytorch.py "$results/validation.json" "$results/pytorch.json" \
      >"$results/pytorch.md"
}
# Tests of the GPU under memcheck: a tenth of their speed.
sanitize_all() {
  [[ -z $rehearse$simulate ]] || { echo "there is no GPU to look into"; return 77; }
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not installed"; return 77; }
  local program failed=0
  for program in "$build"/tests/gpu_*_test; do
    [[ -x $program ]] || continue
    echo "${program##*/}"
    compute-sanitizer --tool memcheck --error-exitcode 9 "$program" --gtest_brief=1 >"$results/sanitizer-${program##*/}.log" 2>&1 || failed=1
    tail -n 5 "$results/sanitizer-${program##*/}.log"
  done
  return "$failed"
}
# What a second calibration says otherwise than the first: what of an error is the machine's own.
calibrate_again() {
  "$build/hexaplan" calibrate --quick ${rehearse:+--budget 5} ${simulate:+--budget 10} --device "$device" --again --store "$results/again.sqlite" \
    --out "$results/calibration-again.json" && rm -f "$results"/again.sqlite*
  [[ -s $results/calibration.json && -s $results/calibration-again.json ]] || return 1
  python3 - "$results/calibration.json" "$results/calibration-again.json" <<'PYTHON' | tee "$results/calibration-spread.txt"
import json, sys

def numbers(value, path=""):
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in ("fit", "machine", "source", "date", "sources"):
                yield from numbers(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from numbers(part, f"{path}[{i}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)

first, second = (dict(numbers(json.load(open(name)))) for name in sys.argv[1:3])
rows = sorted(((abs(second[key] / value - 1), key, value, second[key]) for key, value in first.items()
               if value and key in second), reverse=True)
changes = [row[0] for row in rows]
print(f"{len(rows)} constants in both calibrations: median change {changes[len(changes) // 2]:.1%}, largest {changes[0]:.1%}")
for change, key, one, two in rows[:15]:
    print(f"{change:8.1%}  {key}: {one:g}, then {two:g}")
PYTHON
}
# Bytes that memory-bound kernels move and how long they take, of one step of a small model.
profile_kernels() {
  [[ -z $rehearse$simulate ]] || { echo "there is no GPU to look into"; return 77; }
  command -v ncu >/dev/null || { echo "ncu is not installed"; return 77; }
  ncu --csv --kernel-name-base demangled --kernel-name 'regex:norm|rope|activation|elementwise|softmax|cross_entropy|update|embedding|copy' \
    --launch-count 200 --metrics gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum,dram__throughput.avg.pct_of_peak_sustained_elapsed \
    "$build/hexaplan" run --device cuda --model llama-3.2-1b --seq 2k --global-batch 1 --layout dp1 --steps 1 --noise --no-store \
    >"$results/ncu.csv" && grep -c gpu__time_duration "$results/ncu.csv"
}
# Steps run in shells of their own, so that a time-out ends all that they started.
export -f build_all test_all calibrate_here validate_here pytorch_here sanitize_all calibrate_again profile_kernels
export build bundle device list results rehearse simulate

echo "$gpu → $results"
print_plan
if [[ -n $prebuilt ]]; then
  left_over=0
elif ! run_step build bash -c build_all; then
  tail -n 20 "$results/build.log" >&2
  exit 1
fi
"$build/hexaplan" backends >"$results/backends.txt" 2>&1
nvidia-smi >"$results/nvidia-smi.txt" 2>&1 || rm -f "$results/nvidia-smi.txt"
[[ -n $rehearse$simulate ]] || run_step tests bash -c test_all
run_step calibrate bash -c calibrate_here
export validate_seconds=$((given[validate] + left_over))
run_step validate bash -c validate_here
export pytorch_seconds=$((given[pytorch] + left_over))
run_step pytorch bash -c pytorch_here
if [[ -n $thorough ]]; then
  run_step sanitizer bash -c sanitize_all
  run_step again bash -c calibrate_again
  run_step ncu bash -c profile_kernels
fi

echo "$((SECONDS)) s in all; results in $results"
((failures == 0))
