#!/usr/bin/env bash
# find_package(hexaplan) from an installed prefix that was moved: examples/ is configured and built outside this repository
# and answers as it does inside; every installed header can be included.
#   library.sh <cmake> <build folder> <source folder> <C++ compiler> <C++ flags>
set -euo pipefail
cmake=$1 build=$2 source=$3 compiler=$4 flags=$5
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*" >&2
  cat "$folder/log" >&2
  exit 1
}

"$cmake" --install "$build" --prefix "$folder/usr" >"$folder/log" 2>&1 || fail "cmake --install"
mv "$folder/usr" "$folder/prefix" # nothing may remember where it was
cp -r "$source/examples" "$folder/examples"

# -O0: what is tested is that it builds.
"$cmake" -S "$folder/examples" -B "$folder/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags -O0" -DCMAKE_BUILD_TYPE=Debug >>"$folder/log" 2>&1 || fail "configuring examples/"
"$cmake" --build "$folder/build" >>"$folder/log" 2>&1 || fail "building examples/"

# Without the source tree's presets: what is found is the prefix's.
moved=(env -i "HOME=$folder")
same() {
  "$build/examples/$1" "${@:2}" >"$folder/inside" 2>>"$folder/log" || fail "$* in the build tree"
  "${moved[@]}" "$folder/build/$1" "${@:2}" >"$folder/outside" 2>>"$folder/log" || fail "$* with the installed library"
  diff "$folder/inside" "$folder/outside" >>"$folder/log" || fail "$1 answers differently with the installed library"
}
same estimate_layout llama-3.1-8b 16xH100 "tp2 pp2 zero1 sp" 8192 64
same search_layouts llama-3.1-8b 8xH100 4096 16
same step_program llama-3.2-1b 4xH100 "tp2 pp2 sp" 1024 8
mv "$folder/prefix/share/hexaplan/presets/gpus" "$folder/gpus"
if "${moved[@]}" "$folder/build/estimate_layout" llama-3.1-8b 16xH100 "tp2 pp2 zero1 sp" 8192 64 >/dev/null 2>&1; then
  fail "presets were not those of the prefix"
fi

# The executor's component, and every header.
mkdir "$folder/headers"
(cd "$folder/prefix/include/hexaplan" && find . -name '*.h' -printf '#include "%P"\n' | sort) >"$folder/headers/all.cpp"
[[ $(wc -l <"$folder/headers/all.cpp") -ge 200 ]] || fail "$(wc -l <"$folder/headers/all.cpp") headers"
if grep -rE '#include <(fmt|nlohmann|tbb|oneapi|Eigen|sqlite|CLI)' "$folder/prefix/include"; then
  fail "a header needs more than the standard library"
fi
echo 'int main() { return 0; }' >>"$folder/headers/all.cpp"
cat >"$folder/headers/CMakeLists.txt" <<'PROJECT'
cmake_minimum_required(VERSION 3.25)
project(headers LANGUAGES CXX)
find_package(hexaplan 0.1 REQUIRED COMPONENTS validator planner charts)
add_executable(headers all.cpp)
target_link_libraries(headers PRIVATE hexaplan::validator hexaplan::planner hexaplan::presets hexaplan::charts)
PROJECT
"$cmake" -S "$folder/headers" -B "$folder/headers/build" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags -O0" >>"$folder/log" 2>&1 || fail "configuring the headers"
"$cmake" --build "$folder/headers/build" >>"$folder/log" 2>&1 || fail "a header does not stand"

# A version that it is not, and a component that there is none of, are refused.
sed -i 's/hexaplan 0.1 REQUIRED COMPONENTS/hexaplan 7.0 REQUIRED COMPONENTS/' "$folder/headers/CMakeLists.txt"
if "$cmake" -S "$folder/headers" -B "$folder/headers/other" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null 2>&1; then
  fail "version 7.0 was found"
fi
sed -i 's/hexaplan 7.0 REQUIRED COMPONENTS/hexaplan 0.1 REQUIRED COMPONENTS nobody/' "$folder/headers/CMakeLists.txt"
if "$cmake" -S "$folder/headers" -B "$folder/headers/third" -G Ninja -DCMAKE_PREFIX_PATH="$folder/prefix" >/dev/null 2>&1; then
  fail "a component that does not exist was found"
fi
