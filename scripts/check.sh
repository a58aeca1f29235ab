#!/usr/bin/env bash
# Everything a change must pass, cheapest first: format, scripts, clang-tidy on every source, tests under
# ASan+UBSan (a sample of those that run the same code on many cases), then the optimised build and all tests. The last
# thing printed is ctest's summary.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s  [%d:%02d]\n' "$1" $((SECONDS / 60)) $((SECONDS % 60)); }

# A hundred test programs twice, one time with debug information: lld links them in a quarter of the time.
if command -v ld.lld >/dev/null; then export LDFLAGS=-fuse-ld=lld; fi

step "clang-format"
scripts/lint.sh format
step "shellcheck"
scripts/lint.sh shell
step "clang-tidy on every source"
scripts/lint.sh tidy
step "tests under AddressSanitizer and UndefinedBehaviorSanitizer"
cmake --workflow --preset asan-sample
step "optimised build"
module=()
if interpreter=$(scripts/python.sh); then
  module=(-DHEXAPLAN_PYTHON=ON "-DPython_EXECUTABLE=$interpreter")
else
  echo "check: without the Python module and its tests" >&2
fi
# clang-tidy has read the benchmarks; they are built in the nightly.
cmake --preset release -DHEXAPLAN_BENCHMARKS=OFF -DHEXAPLAN_WERROR=ON -DHEXAPLAN_PCH=ON -DHEXAPLAN_UNITY=ON "${module[@]}"
cmake --build --preset release
if ((${#module[@]} > 0)); then scripts/lint.sh python; fi
step "all tests"
ctest --preset release
