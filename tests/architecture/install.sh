#!/usr/bin/env bash
# `cmake --install` after any build that has the command, also one without the window: what is installed runs from where it
# lies, once and whole.   install.sh <cmake> <build folder>
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$folder/log" >&2
  exit 1
}

"$1" --install "$2" --prefix "$folder/usr" >"$folder/log" 2>&1 || fail "cmake --install"
twice=$(grep -E '^-- (Installing|Up-to-date)' "$folder/log" | sed 's/^-- [^:]*: //' | grep -v '/$' | sort | uniq -d | while read -r f; do
  if [[ -f $f ]]; then echo "$f"; fi
done)
[[ -z $twice ]] || fail "installed twice: $twice"
mv "$folder/usr" "$folder/moved" # nothing may remember the prefix
hexaplan=(env -i "HOME=$folder" "$folder/moved/bin/hexaplan")
"${hexaplan[@]}" --version >>"$folder/log" 2>&1 || fail "--version"
models=$("${hexaplan[@]}" presets list models --json | grep -c '"name"') || fail "presets list"
[[ $models -ge 50 ]] || fail "$models models found"
"${hexaplan[@]}" estimate --model llama-3.1-8b --cluster 8xH100 --layout fsdp --json >/dev/null 2>>"$folder/log" || fail "estimate"
# Reaches the installed script, which this "Python" cannot run.
"${hexaplan[@]}" oracle --model gpt2 --seq 64 --python /bin/false >>"$folder/log" 2>&1 && fail "oracle without Python"
grep -q '/bin/false: got exit code 1' "$folder/log" || fail "oracle does not find its script"
for file in share/man/man1/hexaplan.1 share/bash-completion/completions/hexaplan share/zsh/site-functions/_hexaplan \
  share/fish/vendor_completions.d/hexaplan.fish; do
  [[ -s $folder/moved/$file ]] || fail "$file is missing"
done
if [[ ! -x $2/hexaplan-gui && -e $folder/moved/share/applications ]]; then fail "a window's entry without the window"; fi
if find "$folder/moved/share/hexaplan" -type d -empty | grep -q .; then fail "empty folders"; fi
