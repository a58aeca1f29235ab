#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "planner/problem/problem.h"

namespace hexaplan::cli {

/// Reads the lists that restrict a search. InputError names the flag.
[[nodiscard]] planner::SearchSpace read_space(const std::vector<DimensionText>& dimensions);

/// A note for each value of the lists that the framework does not have.
[[nodiscard]] std::vector<std::string> words_beyond(const planner::SearchSpace& space,
                                                    const costmodel::FrameworkProfile& framework);

/// A note for what the framework has and its profile does not describe, so that the default space lacks it;
/// `ask` are the words by which the caller would have it looked at.
[[nodiscard]] std::vector<std::string> axes_left_out(const planner::SearchSpace& space,
                                                     const costmodel::FrameworkProfile& framework,
                                                     std::string_view ask);

/// Whole numbers of a list: "8", "1,2,4", "1..8" (each), "1,4..6". InputError names `flag`.
[[nodiscard]] std::vector<std::int64_t> read_numbers(std::string_view text, std::string_view flag,
                                                     std::int64_t least, std::int64_t most);
/// GPU counts: as above, but "64..1024" doubles: 64, 128, 256, 512, 1024.
[[nodiscard]] std::vector<std::int64_t> read_gpu_counts(std::string_view text, std::string_view flag);
/// Words between commas.
[[nodiscard]] std::vector<std::string> read_words(std::string_view text, std::string_view flag);

/// "90%", "90 %", "0.9": a share in [0, 1]. InputError names `flag`.
[[nodiscard]] double read_share(std::string_view text, std::string_view flag);
/// A number >= 0. InputError names `flag`.
[[nodiscard]] double read_amount(std::string_view text, std::string_view flag, std::string_view expected);

}  // namespace hexaplan::cli
