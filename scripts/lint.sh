#!/usr/bin/env bash
# scripts/lint.sh format           clang-format check of every C++ file; `format --fix` rewrites them
# scripts/lint.sh tidy [FILE…]     clang-tidy on every source of the rooms, or on these alone
# scripts/lint.sh python           clang-tidy on the Python module, as build/release compiled it
# scripts/lint.sh shell            shellcheck of our scripts
set -euo pipefail
cd "$(dirname "$0")/.."

git_here() { git -c safe.directory='*' "$@"; }

cpp_files() {
  git_here ls-files --cached --others --exclude-standard '*.h' '*.cpp' '*.cu' '*.cuh' | while read -r file; do
    if [[ -e $file ]]; then echo "$file"; fi
  done
}

check_format() {
  local mode=(--dry-run --Werror)
  [[ "${1:-}" == --fix ]] && mode=(-i)
  cpp_files | xargs -r clang-format "${mode[@]}"
  echo "clang-format: $(cpp_files | wc -l) files"
}

# run_tidy <build folder> <clang-tidy's arguments…>, files on stdin: all of them, in parallel; what is found is printed.
run_tidy() {
  local build=$1
  shift
  # shellcheck disable=SC2016  # expanded by the inner shell
  xargs -P "$(nproc)" -n 1 bash -c '
    report=$(clang-tidy -p "${@:1:$#-1}" --extra-arg=-Wno-unknown-warning-option --quiet "${!#}" 2>/dev/null) ||
      { echo "${report:-clang-tidy failed on ${!#} without a finding (it may have crashed: run it on that file)}"; exit 1; }' \
    _ "$build" "$@"
}

# All sources, those of a room at once: nearly all of the time goes into headers, and this reads them once for a room.
# That makes the whole tree cheaper than its changed files one by one, so nobody has to know what changed.
check_all() {
  local rooms='(costmodel|charts|presets|planner|report|validator|cli|gui|benchmarks)/.*\.(h|cpp)$'
  cmake --preset tidy >/dev/null
  if [[ -d build/tidy/gui ]]; then cp gui/.clang-tidy build/tidy/gui/; fi # its unity files lie there
  sed -n 's/^ *"file": "\(.*\)".*/\1/p' build/tidy/compile_commands.json | grep -vE '_autogen/|/\.rcc/|empty\.cpp$' |
    run_tidy build/tidy "--header-filter=$rooms" --checks=-bugprone-suspicious-include
  echo "clang-tidy: all sources, $(grep -c '"file"' build/tidy/compile_commands.json) compilations, ${SECONDS} s"
}

check_files() {
  cmake --preset dev >/dev/null
  printf '%s\n' "$@" | run_tidy build/dev
  echo "clang-tidy: $# files"
}

check_python() {
  printf '%s\n' python/*.cpp | run_tidy build/release
  echo "clang-tidy: the Python module"
}

case "${1:-}" in
  format) check_format "${2:-}" ;;
  tidy) if [[ $# -gt 1 ]]; then check_files "${@:2}"; else check_all; fi ;;
  python) check_python ;;
  shell) shellcheck scripts/*.sh .ci/run && echo "shellcheck: ok" ;;
  *) sed -n '2,5s/^# //p' "$0" >&2; exit 2 ;;
esac
