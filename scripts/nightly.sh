#!/usr/bin/env bash
# usage: scripts/nightly.sh [--minutes N] [--tsan]
# What takes too long for every change, or needs what a build does not: hostile inputs drawn anew for N minutes (default 30),
# with a seed of the day that is printed; the installed transformers against the committed steps, and the parameters of 40
# random configurations of every model_type ($PYTHON, default python3, with torch and transformers); whether the tests notice
# a wrong program (scripts/mutate.sh); with --tsan ranks of threads under ThreadSanitizer as well; last, what the tests of
# costmodel and planner cover. Uses build/release, build/mutants and build/coverage.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=30 tsan=
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes) minutes=$2 && shift ;;
    --tsan) tsan=1 ;;
    *) sed -n '2,7s/^# //p' "$0" >&2; exit 2 ;;
  esac
  shift
done

cmake --preset release
cmake --build build/release --target hostile_input_test
end=$(($(date +%s) + 60 * minutes))
seed=${HEXAPLAN_FUZZ_SEED:-$(date +%y%j)00}
while (($(date +%s) < end)); do
  echo "hostile inputs: HEXAPLAN_FUZZ_SEED=$seed HEXAPLAN_FUZZ_CASES=20000"
  HEXAPLAN_FUZZ_SEED=$seed HEXAPLAN_FUZZ_CASES=20000 build/release/tests/hostile_input_test --gtest_brief=1
  seed=$((seed + 1))
done
python=${PYTHON:-python3}
if "$python" -c 'import torch, transformers' 2>/dev/null; then
  "$python" tests/golden/transformers_oracle.py --check
  cmake --build build/release --target hexaplan
  program=$(find build/release -name hexaplan -type f -perm -u+x | head -1)
  "$python" tests/golden/transformers_oracle.py --hexaplan "$program"
  "$python" tests/golden/parameters_oracle.py --check
  "$python" tests/golden/parameters_oracle.py --hexaplan "$program" --configs 40 --seed "$(date +%y%j)"
else
  echo "transformers: not checked, $python has no torch and transformers" >&2
fi
scripts/mutate.sh
if [[ -n $tsan ]]; then cmake --workflow --preset tsan; fi
scripts/coverage.sh
