#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that building and testing need. `scripts/setup.sh check` adds those of
# scripts/check.sh (clang-format, clang-tidy, shellcheck). Does nothing when all are installed already.
set -euo pipefail
cd "$(dirname "$0")/.."

lists=(packaging/apt-packages.txt)
[[ "${1:-}" == check ]] && lists+=(packaging/apt-packages-check.txt)
mapfile -t packages < <(cat "${lists[@]}")

if ! command -v apt-get >/dev/null; then
  echo "setup: no apt-get here; install what these name: ${packages[*]}" >&2
  exit 4
fi
# dpkg-query fails when it does not know one of the names, which also means: not installed.
status=$(dpkg-query -W -f '${db:Status-Status}\n' "${packages[@]}" 2>/dev/null) || status=missing
if ! grep -qv '^installed$' <<<"$status"; then
  exit 0
fi

as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "setup: neither root nor sudo; ask for: apt-get install ${packages[*]}" >&2
    exit 4
  fi
  as_root=(sudo)
fi
"${as_root[@]}" apt-get update
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
