#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace hexaplan::presets {

/// A kind of text that people have of a run, a machine or a plan, and what reads it.
struct FileKind {
  std::string_view title;    // "a table of nccl-tests"
  std::string_view command;  // of Hexaplan, FILE in the place of its name; empty: nothing reads it
  std::string_view instead;  // then: what is read in its place
};

/// What a text looks like, by the words that its writer puts into each; nothing for others, and for what a
/// training run logs, which presets/runs/run_log.h knows line by line.
[[nodiscard]] const FileKind* kind_of_text(std::string_view text);
/// The same as a sentence for InputProblem::hint: "'hexaplan cluster import topo.txt' reads what nvidia-smi
/// topo -m prints"; empty where it looks like nothing known.
[[nodiscard]] std::string reader_hint(std::string_view text, std::string_view file);

}  // namespace hexaplan::presets
