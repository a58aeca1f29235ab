#!/usr/bin/env bash
# usage: scripts/nightly.sh [--minutes N] [--tsan]
# What takes too long for every change, or needs what a build does not: hostile inputs drawn anew for N minutes (default 30),
# with a seed of the day that is printed; every reader under libFuzzer, $HEXAPLAN_FUZZ_RUNS runs each (default 10^7, an hour at most); laws
# over ten times as many random scenarios; what nvcc makes of the CUDA kernels, interpreted on all shapes, where nvcc is; the
# installed transformers against the committed steps, and the parameters of 40 random configurations of every model_type, and
# what PyTorch keeps of layers and steps where peft is there, too ($PYTHON, default python3, with torch and transformers);
# what `import` reads of Python configurations against running them, where $BRIDGE and $TORCHTITAN name checkouts of
# Megatron-Bridge and torchtitan; 500 exported plans by the frameworks' own readers, where $MEGATRON, $CORE (Megatron-LM of
# Bridge's submodule), $NANOTRON, $TITAN_TOML (torchtitan v0.2.2) and $MAXTEXT name checkouts and DeepSpeed, TRL, Axolotl and
# LLaMA-Factory are installed; binary traces by Perfetto's own schema, where its Python package is, and predicted snapshots by
# PyTorch's own tools; whether the tests notice a wrong program (scripts/mutate.sh); the planner in a page against the command
# (web/test.sh), and axe-core's rules for it, where $AXE names an axe.min.js or pip reaches one; scripts/gpu.sh and cluster.sh
# on simulated GPUs; packages in empty roots; the Python module as `pip install .` makes it; every test under ASan+UBSan; with
# --tsan ranks of threads under ThreadSanitizer as well; last, what the tests of costmodel and planner cover. Uses
# build/release, build/web, build/axe, build/mutants, build/asan and build/coverage.
set -euo pipefail
cd "$(dirname "$0")/.."

minutes=30 tsan=
while [[ $# -gt 0 ]]; do
  case $1 in
    --minutes) minutes=$2 && shift ;;
    --tsan) tsan=1 ;;
    *) sed -n '2,16s/^# //p' "$0" >&2; exit 2 ;;
  esac
  shift
done

cmake --preset release
cmake --build build/release --target hostile_input_test hostile_runs_test
end=$(($(date +%s) + 60 * minutes))
seed=${HEXAPLAN_FUZZ_SEED:-$(date +%y%j)00}
while (($(date +%s) < end)); do
  echo "hostile inputs: HEXAPLAN_FUZZ_SEED=$seed HEXAPLAN_FUZZ_CASES=20000"
  HEXAPLAN_FUZZ_SEED=$seed HEXAPLAN_FUZZ_CASES=20000 build/release/tests/hostile_input_test --gtest_brief=1
  HEXAPLAN_FUZZ_SEED=$seed HEXAPLAN_FUZZ_CASES=20000 build/release/tests/hostile_runs_test --gtest_brief=1
  seed=$((seed + 1))
done
scripts/fuzz.sh --runs "${HEXAPLAN_FUZZ_RUNS:-10000000}" --seconds 3600
# Laws over ten times as many random scenarios.
cmake --preset release -DHEXAPLAN_CASES=20000
cmake --build build/release
ctest --preset release -L property --timeout 7200
cmake --preset release -UHEXAPLAN_CASES
if cmake --build build/release --target help | grep -q ptx_kernels_test; then
  cmake --build build/release --target ptx_kernels_test
  HEXAPLAN_EVERY_SHAPE=1 build/release/tests/ptx_kernels_test --gtest_brief=1
else
  echo "PTX of the kernels: not interpreted, no nvcc here" >&2
fi
python=${PYTHON:-python3}
if "$python" -c 'import torch, transformers' 2>/dev/null; then
  "$python" tests/golden/transformers_oracle.py --check
  "$python" tests/golden/dropout_oracle.py --check
  cmake --build build/release --target hexaplan
  program=$(find build/release -name hexaplan -type f -perm -u+x | head -1)
  "$python" tests/golden/transformers_oracle.py --hexaplan "$program"
  "$python" tests/golden/parameters_oracle.py --check
  if "$python" -c 'import peft' 2>/dev/null; then
    "$python" scripts/oracle/oracle.py --check
    cmake --build build/release --target oracle_command_test
    HEXAPLAN_TORCH_PYTHON=$(command -v "$python") build/release/tests/oracle_command_test --gtest_brief=1
    if "$python" -c 'import bitsandbytes' 2>/dev/null; then
      "$python" tests/golden/nf4_oracle.py --check
      "$python" tests/golden/adapters_oracle.py --check
    fi
  fi
  torch=$("$python" -c 'import torch, pathlib; print(pathlib.Path(torch.__file__).parent)')
  if [[ -e $torch/lib/libc10_cuda.so && -e ${CUDA_HOME:-/usr/local/cuda}/include/cuda.h ]]; then
    "$python" scripts/oracle/allocator/record.py --torch "$torch" --cuda "${CUDA_HOME:-/usr/local/cuda}" --check
  else
    echo "the caching allocator: not checked, it needs PyTorch's CUDA wheel and CUDA's headers" >&2
  fi
  "$python" tests/golden/parameters_oracle.py --hexaplan "$program" --configs 40 --seed "$(date +%y%j)"
else
  echo "transformers: not checked, $python has no torch and transformers" >&2
fi
cmake --build build/release --target hexaplan simulated_gpu
if "$python" -c 'import torch' 2>/dev/null; then "$python" scripts/check_snapshot.py build/release/hexaplan; fi
if [[ -d ${BRIDGE:-} ]]; then "$python" tests/golden/bridge_recipes.py "$BRIDGE" build/release/hexaplan; fi
if [[ -d ${TORCHTITAN:-} ]]; then "$python" tests/golden/torchtitan_configs.py "$TORCHTITAN" build/release/hexaplan; fi
# Plans as the frameworks read them (docs/export.md).
exports() { "$python" scripts/check_exports.py --plans 500 --seed "$(date +%y%j)" "$@"; }
if [[ -d ${MEGATRON:-} ]]; then exports --megatron "$MEGATRON"; fi
if [[ -d ${BRIDGE:-} && -d ${CORE:-} ]]; then exports --bridge "$BRIDGE" --core "$CORE"; fi
if [[ -d ${NANOTRON:-} ]]; then exports --nanotron "$NANOTRON"; fi
if [[ -d ${TITAN_TOML:-} ]]; then exports --torchtitan "$TITAN_TOML"; fi
if [[ -d ${MAXTEXT:-} ]]; then exports --maxtext "$MAXTEXT"; fi
for package in deepspeed trl axolotl llamafactory; do
  if "$python" -c "import $package" 2>/dev/null; then exports "--$package"; fi
done
scripts/packages.sh || [[ $? == 4 ]] # 4: no other root can be entered here, as it says
tests/cli/cluster_script.sh scripts build/release "tp2 pp2" "tp2 sp dp2 zero1" "tp4" "dp4" "cp2 dp2" "pp4"
if "$python" -c 'import perfetto.protos.perfetto.trace.perfetto_trace_pb2' 2>/dev/null; then
  "$python" scripts/check_perfetto.py build/release/hexaplan
fi
scripts/mutate.sh
if command -v em++ >/dev/null && command -v node >/dev/null; then
  cmake --build build/release --target hexaplan
  cmake --workflow --preset web
  # axe-core, of $AXE or of the Python package that carries it (no browser, no Playwright: the file alone is needed).
  axe=${AXE:-}
  if [[ -z $axe ]] && "$python" -m pip install --quiet --no-deps --upgrade --target build/axe axe-playwright-python; then
    axe=$(find "$PWD/build/axe" -name axe.min.js | head -1)
  fi
  [[ -n $axe ]] || echo "axe-core's rules: not checked, AXE names no axe.min.js and pip reaches no index" >&2
  AXE=$axe web/test.sh build/web build/release/hexaplan
else
  echo "the page: not built, no Emscripten here (apt-get install emscripten node-acorn chromium)" >&2
fi
# A wheel in an environment of its own, which sees the interpreter's transformers and torch where it has them.
if "$python" -m venv --clear --system-site-packages build/wheel && build/wheel/bin/python -m pip install --quiet '.[frames]'; then
  for test in python/tests/test_*.py; do build/wheel/bin/python -B "$test"; done
else
  echo "the Python module: not installed, $python makes no environment or pip reaches no index" >&2
fi
cmake --workflow --preset asan # every test; CI runs a sample of those on many cases
if [[ -n $tsan ]]; then cmake --workflow --preset tsan; fi
scripts/coverage.sh
