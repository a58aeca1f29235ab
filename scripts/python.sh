#!/usr/bin/env bash
# scripts/python.sh: makes the environment build/venv with what the Python module is built and tested with, and prints its
# interpreter, for cmake -DHEXAPLAN_PYTHON=ON -DPython_EXECUTABLE=…. Fails, and says why, where Python, its headers or pip's index
# are missing.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-/usr/bin/python3}
venv=$PWD/build/venv
packages=('nanobind>=2.4' pandas mypy typing-extensions)

fail() {
  echo "python: $*" >&2
  exit 4
}
[[ -x $(command -v "$python") ]] || fail "no $python; install python3-dev and python3-venv, or set PYTHON"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
[[ -f $headers/Python.h ]] || fail "no headers of $python; install python3-dev"
[[ -x $venv/bin/python ]] || "$python" -m venv "$venv" >&2 || fail "$python makes no environment; install python3-venv"
if ! "$venv/bin/python" -c 'import nanobind, pandas, mypy, typing_extensions' 2>/dev/null; then
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}" >&2 || fail "pip cannot install ${packages[*]}"
fi
echo "$venv/bin/python"
