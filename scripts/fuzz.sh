#!/usr/bin/env bash
# usage: scripts/fuzz.sh [--runs N] [--seconds S] [--keep] [READER…]
# Every reader of tests/fuzz/readers.cpp (or those named) under libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer,
# one per processor at a time: N runs each (default 100000) or S seconds, whichever ends first, from its corpus in the
# repository on. What it found before lies in build/fuzz/corpus and is built upon. An input that breaks a reader, takes 20 s
# or 4 GiB is left in build/fuzz/broken and named, and the script ends with 1. --keep adds inputs that reach new code and
# have at most 1 KiB to the repository's corpus. Needs Clang and its libFuzzer (scripts/setup.sh check).
set -euo pipefail
cd "$(dirname "$0")/.."

runs=100000 seconds=0 keep='' readers=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --runs) runs=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    --keep) keep=1 ;;
    -*) sed -n '2,7s/^# //p' "$0" >&2 && exit 2 ;;
    *) readers+=("$1") ;;
  esac
  shift
done

cmake --preset fuzz
cmake --build --preset fuzz
if ((${#readers[@]} == 0)); then
  for corpus in tests/fuzz/corpus/*/; do readers+=("$(basename "$corpus")"); done
fi
broken=build/fuzz/broken
rm -rf "$broken"

fuzz() {
  local reader=$1 found=build/fuzz/corpus/$1 log=build/fuzz/$1.log
  mkdir -p "$found" "$broken/$reader"
  if ! "build/fuzz/fuzz/fuzz_$reader" "$found" "tests/fuzz/corpus/$reader" -runs="$runs" -max_total_time="$seconds" \
    -max_len=65536 -len_control=20 -timeout=20 -rss_limit_mb=4096 -artifact_prefix="$broken/$reader/" >"$log" 2>&1; then
    echo "fuzz: $reader: broken by $(find "$broken/$reader" -type f | head -n 1), see $log" >&2
    return 1
  fi
  echo "$reader: $(grep -o 'Done .*' "$log"), $(grep -oE 'cov: [0-9]+' "$log" | tail -n 1), $(find "$found" -type f | wc -l) inputs"
}
export -f fuzz
export runs seconds broken
failed=
printf '%s\n' "${readers[@]}" | xargs -P "$(nproc)" -I{} bash -c 'fuzz {}' || failed=1

if [[ -n $keep ]]; then
  for reader in "${readers[@]}"; do
    small=build/fuzz/small/$reader
    rm -rf "$small"
    mkdir -p "$small"
    find "build/fuzz/corpus/$reader" -type f -size -1025c -exec cp -t "$small" {} +
    "build/fuzz/fuzz/fuzz_$reader" -merge=1 "tests/fuzz/corpus/$reader" "$small" >/dev/null 2>&1
  done
fi
[[ -z $failed ]]
