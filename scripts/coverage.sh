#!/usr/bin/env bash
# usage: scripts/coverage.sh
# Lines and branches of costmodel/ and planner/ that each room's own tests reach: a table by folder. Uses build/coverage.
# Branches are gcov's, those that only an exception takes included; headers are left out (every source has its own copy).
set -euo pipefail
cd "$(dirname "$0")/.."
readonly build=build/coverage rooms=(costmodel planner)

cmake --preset coverage >/dev/null
targets=()
for room in "${rooms[@]}"; do
  for folder in tests/"$room"/*/; do targets+=("${folder}all"); done
done
cmake --build "$build" --target "${targets[@]}"

# Sums "Lines executed:81.70% of 200" over the sources of a room, by folder.
table() { # <room>, gcov's words on stdin
  awk -v room="$1" '
    /^$/ { mine = 0 }
    /^File / { split($0, quoted, "\047"); folder = "/" quoted[2]; mine = folder ~ /\.cpp$/
               sub(".*/" room "/", "", folder); sub("/.*", "", folder) }
    mine && /^Lines executed:/ { add("lines") }
    mine && /^Taken at least once:/ { add("branches") }
    function add(what,   share) { split(substr($0, index($0, ":") + 1), share, "% of ")
      hit[folder, what] += share[1] * share[2] / 100; of[folder, what] += share[2]; folders[folder]
      hit["all", what] += share[1] * share[2] / 100; of["all", what] += share[2] }
    function percent(place, what) { return of[place, what] > 0 ? 100 * hit[place, what] / of[place, what] : 0 }
    END {
      for (f in folders) printf "%-12s %-14s %6.1f %% of %5d lines   %6.1f %% of %5d branches\n", room, f,
        percent(f, "lines"), of[f, "lines"], percent(f, "branches"), of[f, "branches"] | "sort"
      close("sort")
      printf "%-12s %-14s %6.1f %% of %5d lines   %6.1f %% of %5d branches\n", room, "(all)",
        percent("all", "lines"), of["all", "lines"], percent("all", "branches"), of["all", "branches"] }'
}

reports=()
for room in "${rooms[@]}"; do
  find "$build" -name '*.gcda' -delete # also what listing the tests ran
  ctest --test-dir "$build" -R "^$room\." -j "$(nproc)" --output-on-failure | tail -3
  reports+=("$(find "$build/$room" -name '*.gcno' -print0 | xargs -0 gcov --no-output --branch-probabilities 2>/dev/null | table "$room")")
done
printf '%s\n' "${reports[@]}"
