#include "presets/runs/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "presets/json/read_text_file.h"
#include "presets/runs/log_fields.h"

namespace hexaplan::presets {
namespace {

/// A kind of text that people have of a run, a machine or a plan, and what reads it.
struct FileKind {
  std::string_view title;    // "a table of nccl-tests"
  std::string_view command;  // of Hexaplan, FILE in the place of its name; empty: nothing reads it
  std::string_view instead;  // then: what is read in its place
};

/// Where the words of a sign stand.
enum class Stand : std::uint8_t {
  Anywhere,
  First,      // in the text, behind blanks
  LineStart,  // of some line, behind blanks and what mpirun --tag-output puts in front: "[1,0]<stdout>:"
};

/// Words that stand in every text of a kind, near its beginning, and in none of the kinds below.
struct Sign {
  std::string_view words;
  Stand stand;
  FileKind kind;
};

constexpr std::string_view kReadsRates = "hexaplan calibrate --from FILE --cluster CLUSTER";
constexpr std::string_view kReadsMachines = "hexaplan cluster import FILE";
constexpr std::string_view kReadsScenarios = "hexaplan estimate --scenario FILE";
constexpr std::string_view kReadsScripts = "hexaplan estimate --from FILE --cluster CLUSTER";
constexpr std::string_view kReadsModels = "hexaplan estimate --model FILE --cluster CLUSTER";
constexpr std::string_view kXmlOfGpus = "'hexaplan cluster import' reads what nvidia-smi -q -x prints";
constexpr std::string_view kReadsRuns = "hexaplan measure import FILE";
constexpr std::string_view kMemoryOfRun =
    "'hexaplan measure import' reads what nvidia-smi --query-gpu=utilization.gpu,memory.used,power.draw,"
    "clocks.current.sm --format=csv -l 1 logs";

constexpr std::string_view kNcclTable = "a table of nccl-tests";

constexpr Sign kSigns[] = {
    // NVIDIA/nccl-tests@a0b82b2 src/common.cu; rccl-tests print the same. Their units alone, "(GB/s)", stand
    // in other logs, too.
    {"# nccl-tests version", Stand::LineStart, {kNcclTable, kReadsRates, {}}},
    {"# Collective test starting:", Stand::LineStart, {kNcclTable, kReadsRates, {}}},
    {"# nThread ", Stand::LineStart, {kNcclTable, kReadsRates, {}}},
    {"# Using devices", Stand::LineStart, {kNcclTable, kReadsRates, {}}},
    {"<nvidia_smi_log", Stand::Anywhere, {"the output of nvidia-smi -q -x", kReadsMachines, {}}},
    {"==NVSMI LOG==", Stand::Anywhere, {"the output of nvidia-smi -q", {}, kXmlOfGpus}},
    {"| NVIDIA-SMI ", Stand::Anywhere, {"the table of nvidia-smi", {}, kXmlOfGpus}},
    {"utilization.gpu", Stand::Anywhere, {"a log of nvidia-smi --query-gpu", kReadsRuns, {}}},
    {"memory.used", Stand::Anywhere, {"a log of nvidia-smi --query-gpu", kReadsRuns, {}}},
    {"# gpu ", Stand::First, {"a log of nvidia-smi dmon", {}, kMemoryOfRun}},
    {"CPU Affinity", Stand::Anywhere, {"the output of nvidia-smi topo -m", kReadsMachines, {}}},
    {"CA type:", Stand::Anywhere, {"the output of ibstat", kReadsMachines, {}}},
    {"NodeName=", Stand::Anywhere, {"the output of scontrol show node", kReadsMachines, {}}},
    // Scenarios stand inside.
    {"hexaplan/project/", Stand::Anywhere, {"a project of hexaplan-gui", kReadsScenarios, {}}},
    {"hexaplan/scenario/", Stand::Anywhere, {"a scenario", kReadsScenarios, {}}},
    {"\"model_type\"", Stand::Anywhere, {"the config.json of a model", kReadsModels, {}}},
    {"case_id,", Stand::First, {"a table of measurements", "hexaplan accuracy FILE", {}}},
    {"#!", Stand::First, {"a script", kReadsScripts, {}}},
};

constexpr std::string_view kSpaces = " \t\r\n";
/// Launchers and modules print first.
constexpr std::size_t kBeginning = 262'144;

bool is_at_line_start(std::string_view text, std::size_t at) {
  const std::size_t newline = text.substr(0, at).rfind('\n');
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  std::string_view front = text.substr(begin, at - begin);
  const std::size_t tag = front.find(">:");
  if (front.starts_with('[') && tag != std::string_view::npos) front.remove_prefix(tag + 2);
  return front.find_first_not_of(kSpaces) == std::string_view::npos;
}

bool stands_in(std::string_view text, const Sign& sign) {
  if (sign.stand == Stand::First) return text.starts_with(sign.words);
  std::size_t at = text.find(sign.words);
  while (sign.stand == Stand::LineStart && at != std::string_view::npos && !is_at_line_start(text, at))
    at = text.find(sign.words, at + 1);
  return at != std::string_view::npos;
}

bool speaks_of_steps(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (format_of_step_line(text.substr(0, end))) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

const FileKind* kind_of_text(std::string_view text) {
  text = text.substr(0, kBeginning);
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  const auto found = std::find_if(std::begin(kSigns), std::end(kSigns),
                                  [&](const Sign& sign) { return stands_in(text, sign); });
  return found == std::end(kSigns) ? nullptr : &found->kind;
}

}  // namespace

bool is_nccl_text(std::string_view text) {
  const FileKind* kind = kind_of_text(text);
  return kind != nullptr && kind->title == kNcclTable && !speaks_of_steps(text);
}

bool is_nccl_table(const std::filesystem::path& path) {
  return is_nccl_text(read_text_file(path));
}

std::string reader_hint(std::string_view text, std::string_view file, std::string_view own) {
  const FileKind* kind = kind_of_text(text);
  if (kind == nullptr || kind->title == own) return {};
  if (kind->command.empty())
    return fmt::format("it looks like {}, which nothing reads; {}", kind->title, kind->instead);
  std::string command{kind->command};
  command.replace(command.find("FILE"), 4, file);
  return fmt::format("it looks like {}, which '{}' reads", kind->title, command);
}

}  // namespace hexaplan::presets
