#pragma once
#include <algorithm>
#include <cassert>
#include <cstdint>

#include "validator/executor/device/cpu/kernels/matrix.h"
#include "validator/executor/device/cpu/thread_team.h"

// How operations are cut for threads: by their shapes alone, so that whatever a kernel's numbers depend on is
// the same on any number of threads.

namespace hexaplan::validator {

/// Numbers of a piece of what is read once: some ten microseconds of work.
inline constexpr std::int64_t kNumbersOfPiece = std::int64_t{1} << 15;

/// Calls run(first, count) for pieces of `count` things of which `at_once` make a piece.
template <class Run>
void in_pieces(ThreadTeam& team, std::int64_t all, std::int64_t at_once, const Run& run) {
  team.for_each((all + at_once - 1) / at_once,
                [&](std::int64_t piece) { run(piece * at_once, std::min(at_once, all - piece * at_once)); });
}

/// … of rows of `cols` numbers.
template <class Run>
void by_rows(ThreadTeam& team, std::int64_t rows, std::int64_t cols, const Run& run) {
  in_pieces(team, rows, std::max<std::int64_t>(1, kNumbersOfPiece / std::max<std::int64_t>(1, cols)), run);
}

/// … of columns of `rows` numbers, for sums over rows: at least so many that a piece reads whole cache lines.
template <class Run>
void by_columns(ThreadTeam& team, std::int64_t rows, std::int64_t cols, const Run& run) {
  constexpr std::int64_t kColumns = 64;
  const std::int64_t times = kNumbersOfPiece / std::max<std::int64_t>(1, rows * kColumns);
  in_pieces(team, cols, kColumns * std::max<std::int64_t>(1, times), run);
}

template <class T>
[[nodiscard]] kernels::Matrix<T> rows_of(const kernels::Matrix<T>& m, std::int64_t first,
                                         std::int64_t count) {
  return m.block(first, count, 0, m.cols);
}
template <class T>
[[nodiscard]] kernels::Matrix<T> columns_of(const kernels::Matrix<T>& m, std::int64_t first,
                                            std::int64_t count) {
  return m.block(0, m.rows, first, count);
}
/// Numbers [first, first + count) of a matrix without gaps, in order, as one row.
template <class T>
[[nodiscard]] kernels::Matrix<T> run_of(const kernels::Matrix<T>& m, std::int64_t first, std::int64_t count) {
  return {m.data + first, 1, count, count};
}
template <class First, class... More>
[[nodiscard]] bool without_gaps(const First& first, const More&... more) {
  const auto whole = [](const auto& m) { return m.rows <= 1 || m.stride == m.cols; };
  return whole(first) && (whole(more) && ...);
}

/// Calls run(parts…) for the same parts of matrices of one shape, for what looks at one number at a time.
template <class Run, class First, class... More>
void by_numbers(ThreadTeam& team, const Run& run, const First& first, const More&... more) {
  assert(((first.rows == more.rows && first.cols == more.cols) && ...));
  if (without_gaps(first, more...)) {
    in_pieces(team, first.rows * first.cols, kNumbersOfPiece, [&](std::int64_t begin, std::int64_t count) {
      run(run_of(first, begin, count), run_of(more, begin, count)...);
    });
  } else {
    by_rows(team, first.rows, first.cols, [&](std::int64_t begin, std::int64_t count) {
      run(rows_of(first, begin, count), rows_of(more, begin, count)...);
    });
  }
}

}  // namespace hexaplan::validator
