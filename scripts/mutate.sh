#!/usr/bin/env bash
# usage: scripts/mutate.sh [--only REGEX] [--jobs N] [--built] [--all]
# Do the tests notice a wrong program? Builds once with HEXAPLAN_MUTATIONS into build/mutants, then makes one place at a time
# wrong (scripts/mutants.txt, costmodel/units/mutation.h) and says which tests notice: `hexaplan verify --random 120` (which
# also runs 120 recorded steps), a quarter of the recorded steps, the laws of the step program, the tests of prices, schedules
# and steps, steps of PyTorch and PEFT.
# Fails when more than two of forty go unnoticed, or when verify alone notices fewer than 75 % of the wrong counts. The first
# test that notices is enough; --all asks all of them. --built: build/mutants is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

only=. jobs=$(nproc) built='' all=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --only) only=$2 && shift ;;
    --jobs) jobs=$2 && shift ;;
    --built) built=1 ;;
    --all) all=1 ;;
    *) sed -n '2,8s/^# //p' "$0" >&2; exit 2 ;;
  esac
  shift
done

prices=(collective_laws_test kernel_laws_test communication_test costmodel_kernel_time_test schedule_test step_test)
if [[ -z $built ]]; then
  cmake --preset release -B build/mutants -DHEXAPLAN_MUTATIONS=ON -DHEXAPLAN_GUI=OFF -DHEXAPLAN_BENCHMARKS=OFF \
    -DHEXAPLAN_PCH=ON -DHEXAPLAN_UNITY=ON
  cmake --build build/mutants --target hexaplan step_witness_test program_laws_test validator_proofs_test "${prices[@]}"
fi

# detect <name>: fails when the tests of that name notice. A mutant may also make them wait for ever.
detect() {
  local tests=build/mutants/tests
  export RC_PARAMS="seed=2024 max_success=300 max_discard_ratio=50"
  case $1 in
    verify) timeout 300 build/mutants/hexaplan verify --random 120 --first --quiet ;;
    witness) timeout 300 $tests/step_witness_test --gtest_brief=1 --gtest_filter='validator/*/0:validator/*/1:validator/*/2' ;;
    program) timeout 300 $tests/program_laws_test --gtest_brief=1 ;;
    numbers) timeout 300 $tests/validator_proofs_test --gtest_brief=1 --gtest_filter="$NUMBERS" ;;
    prices) for test in $PRICES; do timeout 300 "$tests/$test" --gtest_brief=1 || return 1; done ;;
  esac
}
detectors="verify witness program prices numbers"

# notice <id> <what>: a line "id what verify=yes witness=no …".
notice() {
  local line="$1 $2"
  for detector in $DETECTORS; do
    if HEXAPLAN_MUTANT=$1 detect "$detector" >/dev/null 2>&1; then
      line+=" $detector=no"
    else
      line+=" $detector=yes"
      [[ -n $ALL ]] || break
    fi
  done
  echo "$line" | tee -a "$RESULTS" >&2
}
export -f detect notice
export NUMBERS='steps/golden_step.*:steps/golden_outer_steps.*:models/steps_of_peft.*:finite_differences.*:large_logits.*'
export ALL=$all DETECTORS=$detectors PRICES="${prices[*]}" RESULTS=build/mutants/noticed.txt

for detector in $detectors; do
  detect "$detector" >build/mutants/unchanged.txt 2>&1 || {
    tail -n 20 build/mutants/unchanged.txt >&2
    echo "mutate: $detector fails without a mutant" >&2
    exit 1
  }
done
: >"$RESULTS"
# shellcheck disable=SC2016  # expanded by the inner shell
grep -v '^#' scripts/mutants.txt | grep -E -- "$only" | xargs -P "$jobs" -L 1 bash -c 'notice "$0" "$1"'

awk '
  { total++; if (/=yes/) noticed++; else missed = missed "\n  " $1 }
  $2 == "count" { counts++; if (/verify=yes/) verified++ }
  { printf "%-50s %-7s", $1, $2; for (i = 3; i <= NF; i++) { split($i, word, "="); printf " %-8s", word[2] == "yes" ? word[1] : "" } print "" }
  END {
    printf "%d of %d noticed; verify alone: %d of %d counts\n", noticed, total, verified, counts
    if (missed != "") print "not noticed:" missed
    exit !(noticed * 40 >= total * 38 && verified * 4 >= counts * 3)
  }' "$RESULTS"
