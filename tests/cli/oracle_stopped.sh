#!/usr/bin/env bash
# Ctrl-C and SIGTERM while PyTorch works: the exit code says so, and nothing runs on.   oracle_stopped.sh <hexaplan>
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$folder/log" >&2
  exit 1
}
cat >"$folder/python" <<EOF
#!/bin/sh
sleep 300 &
echo \$\$ \$! >"$folder/pids"
wait
EOF
chmod +x "$folder/python"

for signal in "INT 130 Ctrl-C" "TERM 143 SIGTERM"; do
  read -r name code word <<<"$signal"
  rm -f "$folder/pids"
  # A shell's background jobs ignore SIGINT; this one shall not.
  env --default-signal=INT "$1" oracle --model gpt2 --quiet --python "$folder/python" >"$folder/log" 2>&1 &
  program=$!
  for _ in $(seq 200); do
    if [[ -s $folder/pids ]]; then break; fi
    sleep 0.05
  done
  [[ -s $folder/pids ]] || fail "Python was not started"
  kill "-$name" $program
  got=0
  wait $program || got=$?
  [[ $got == "$code" ]] || fail "SIG$name: exit code $got"
  grep -q "stopped by $word" "$folder/log" || fail "no word of $word"
  sleep 0.2
  read -ra pids <"$folder/pids"
  for pid in "${pids[@]}"; do
    if kill -0 "$pid" 2>/dev/null && ! grep -q '^State:.*Z' "/proc/$pid/status"; then fail "process $pid runs on"; fi
  done
done
