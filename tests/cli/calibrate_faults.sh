#!/usr/bin/env bash
# A calibration that is killed, interrupted or out of disk keeps what it measured, and the next call goes on.
#   calibrate_faults.sh <hexaplan> killed|interrupted|full
set -euo pipefail
hexaplan=$1
fault=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
arguments=(calibrate --gpus 1 --quiet --store "$folder/store.sqlite" --out "$folder/cpu.json")

fail() {
  echo "$fault: $*" >&2
  exit 1
}
# Points that a short call finds in the store.
stored() {
  "$hexaplan" "${arguments[@]}" --budget 1 --json | sed -n 's/.*"taken_from_store": \([0-9]*\).*/\1/p'
}

code=0
case $fault in
  full)
    # 100 blocks of 1 KiB per file: the store's log outgrows them.
    (ulimit -f 100 && exec "$hexaplan" "${arguments[@]}" --budget 8) 2>"$folder/err" || code=$?
    [[ $code -eq 4 ]] || fail "exit code $code instead of 4: $(cat "$folder/err")"
    grep -q 'what was added before is kept' "$folder/err" || fail "$(cat "$folder/err")"
    ;;
  *)
    "$hexaplan" "${arguments[@]}" --budget 20 2>"$folder/err" &
    process=$!
    # Until the first measurement is in the store, whatever else the machine does.
    for _ in $(seq 300); do
      grep -aqs 'launch' "$folder"/store.sqlite* && break
      sleep 0.1
    done
    sleep 1
    if [[ $fault == killed ]]; then
      kill -KILL "$process"
      wait "$process" || code=$?
      [[ $code -eq 137 ]] || fail "exit code $code instead of 137"
    else
      # Jobs of a script ignore SIGINT; SIGTERM takes the same way.
      kill -TERM "$process"
      wait "$process" || code=$?
      [[ $code -eq 143 ]] || fail "exit code $code instead of 143"
      grep -q 'the same command goes on' "$folder/err" || fail "$(cat "$folder/err")"
    fi
    ;;
esac
[[ ! -e $folder/cpu.json ]] || fail "a calibration was written from a part of the plan"
found=$(stored)
[[ ${found:-0} -gt 0 ]] || fail "nothing was kept"
[[ -s $folder/cpu.json ]] || fail "the next call wrote no calibration"
echo "$fault: $found points kept"
