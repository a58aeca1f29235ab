#!/usr/bin/env bash
# Packs what Hexaplan is built from (headers, CMake files, the few libraries) out of this machine's Debian or Ubuntu
# packages into one folder, for machines without network and packages: there
#     cmake --preset gpu -DCMAKE_PREFIX_PATH=<folder>/usr        (scripts/gpu.sh does it)
# Usage: scripts/bundle-dependencies.sh [FOLDER]                 default: build/bundle
set -euo pipefail
cd "$(dirname "$0")/.."
bundle=${1:-build/bundle}

# Packages with development files, and what their shared libraries are in.
packages=(libfmt-dev libcli11-dev nlohmann-json3-dev libeigen3-dev libtbb-dev libsqlite3-dev libgtest-dev libgmock-dev
          libprotozero-dev librapidcheck-dev libtomlplusplus-dev libyaml-cpp-dev)
patterns=('libfmt[0-9]*' 'libtbb[0-9]*' 'libtbbmalloc*' 'libtbbbind*' 'libsqlite3-0' 'libyaml-cpp[0-9]*'
          'libtomlplusplus[0-9]*' zlib1g)

if ! command -v dpkg-query >/dev/null; then
  echo "bundle-dependencies: needs a Debian or Ubuntu machine that has the packages (scripts/setup.sh)" >&2
  exit 4
fi
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
done
if ((${#missing[@]} > 0)); then
  echo "bundle-dependencies: not installed: ${missing[*]}; run scripts/setup.sh first" >&2
  exit 4
fi
mapfile -t libraries < <(dpkg-query -W -f '${binary:Package} ${db:Status-Status}\n' "${patterns[@]}" 2>/dev/null |
                         sed -n 's/ installed$//p')

rm -rf "$bundle"
mkdir -p "$bundle"
# Documentation, manual pages and sources of test frameworks stay behind.
dpkg-query -L "${packages[@]}" "${libraries[@]}" | grep -E '^/usr/(include|lib|share/(cmake|eigen3|nlohmann_json|pkgconfig))/' |
  sort -u | while read -r file; do
    [[ -d $file && ! -L $file ]] && continue
    mkdir -p "$bundle$(dirname "$file")"
    cp -P --preserve=timestamps "$file" "$bundle$file"
  done
printf '%s\n' "${packages[@]}" "${libraries[@]}" | xargs dpkg-query -W >"$bundle/PACKAGES"
echo "bundle-dependencies: $(du -sh "$bundle" | cut -f1) in $bundle ($(wc -l <"$bundle/PACKAGES") packages)"
