#pragma once
#include <filesystem>
#include <string>
#include <string_view>

namespace hexaplan::presets {

/// What a text looks like, by the words that its writer puts into each, and what reads it, for
/// InputProblem::hint: "it looks like the output of nvidia-smi topo -m, which 'hexaplan cluster import
/// topo.txt' reads". Empty where it looks like nothing known, or like what the caller reads itself (`own`: "a
/// table of nccl-tests"). What a training run logs presets/runs/run_log.h knows line by line.
[[nodiscard]] std::string reader_hint(std::string_view text, std::string_view file,
                                      std::string_view own = {});

/// Whether a file's beginning has lines that nccl-tests (or rccl-tests) print in front of their tables, and
/// none of its lines is one of a training step: a job that tests its network first logs a run. InputError
/// when it cannot be read.
[[nodiscard]] bool is_nccl_table(const std::filesystem::path& path);
/// The same of a text.
[[nodiscard]] bool is_nccl_text(std::string_view text);

}  // namespace hexaplan::presets
