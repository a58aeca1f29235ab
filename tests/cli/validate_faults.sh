#!/usr/bin/env bash
# A validation that is killed or stopped keeps every scenario that it has told of.
#   validate_faults.sh <hexaplan> killed|interrupted|terminated
set -euo pipefail
hexaplan=$1
fault=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
store=(--store "$folder/store.sqlite")

fail() {
  echo "$fault: $*" >&2
  exit 1
}
"$hexaplan" validate --list cpu --steps 6 --warmup 0 "${store[@]}" --json --html "$folder/page.html" \
  --output "$folder/out.json" 2>"$folder/err" &
process=$!
for _ in $(seq 600); do
  grep -qs '^2/7 ' "$folder/err" && break
  sleep 0.05
done
code=0
expected=137
case $fault in
  killed) kill -KILL "$process" ;;
  interrupted) kill -INT "$process" && expected=130 ;;
  terminated) kill -TERM "$process" && expected=143 ;;
esac
wait "$process" || code=$?
[[ $code -eq $expected ]] || fail "exit code $code instead of $expected: $(cat "$folder/err")"

told=$(grep -c '^[1-7]/7 .*measured' "$folder/err")
[[ $told -ge 2 ]] || fail "nothing was told: $(cat "$folder/err")"
title=$("$hexaplan" runs list "${store[@]}" | tail -n +2)
[[ $(wc -l <<<"$title") -eq 1 ]] || fail "not one record: $title"
[[ $title =~ list\ cpu:\ ([1-7])\ of\ 7\ scenarios\ measured,\ (.*) ]] || fail "the history says $title"
[[ ${BASH_REMATCH[1]} -ge $told ]] || fail "told of $told scenarios, kept ${BASH_REMATCH[1]}"
how=${BASH_REMATCH[2]}
"$hexaplan" runs show 1 "${store[@]}" | grep -q 'full recompute' || fail "the second scenario is not in the record"

# Both files are whole, and say how it ended.
grep -q '</html>' "$folder/page.html" || fail "the page is not whole"
[[ $(tail -c 2 "$folder/out.json") == '}' ]] || fail "the output is not whole"
[[ $(grep -c '"outcome": "measured"' "$folder/out.json") -ge $told ]] || fail "the output lacks a scenario"
grep -q '"complete": false' "$folder/out.json" || fail "the output does not say that it is unfinished"
if [[ $fault == killed ]]; then
  [[ $how == unfinished* ]] || fail "the history says $how"
  grep -q '"its turn did not come"' "$folder/out.json" || fail "$(cat "$folder/out.json")"
else
  by=Ctrl-C
  [[ $fault == terminated ]] && by=SIGTERM
  [[ $how == "stopped by $by"* ]] || fail "the history says $how"
  grep -q "\"stopped by $by\"" "$folder/out.json" || fail "the output does not say why scenarios are missing"
  grep -q "stopped by $by after" "$folder/page.html" || fail "the page does not say that it was stopped"
  grep -q "hexaplan: stopped by $by; " "$folder/err" || fail "$(cat "$folder/err")"
fi
# Nothing lies beside them.
others=$(find "$folder" -type f ! -name store.sqlite ! -name page.html ! -name out.json ! -name err)
[[ -z $others ]] || fail "left behind: $others"
echo "$fault: $title"
