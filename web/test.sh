#!/usr/bin/env bash
# web/test.sh BUILD HEXAPLAN: the page in BUILD (build/web) answers as the command HEXAPLAN does, and works in a browser. Needs node;
# the part in the browser is left out, and says so, without Chromium; so are axe-core's rules where AXE names no axe.min.js.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
page=$(realpath "$1/hexaplan.html")
core=$(realpath "$1/core.js")
hexaplan=$(realpath "$2")

size=$(stat -c %s "$page")
((size <= 2621440)) || { echo "$page has $size bytes, more than 2.5 MiB"; exit 1; }
node "$here/parity.js" "$core" "$hexaplan"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
[[ -n $browser ]] || { echo "no Chromium: the page was not opened"; exit 0; }
node "$here/browser.js" "$browser" "$page" "$hexaplan"
