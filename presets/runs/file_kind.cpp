#include "presets/runs/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "presets/json/read_text_file.h"

namespace hexaplan::presets {
namespace {

/// A kind of text that people have of a run, a machine or a plan, and what reads it.
struct FileKind {
  std::string_view title;    // "a table of nccl-tests"
  std::string_view command;  // of Hexaplan, FILE in the place of its name; empty: nothing reads it
  std::string_view instead;  // then: what is read in its place
};

/// Words that stand in every text of a kind, near its beginning, and in none of the kinds below.
struct Sign {
  std::string_view words;
  bool first;  // nothing but blanks stands in front of them
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
    // NVIDIA/nccl-tests@a0b82b2 src/common.cu; rccl-tests print the same.
    {"# nccl-tests version", false, {kNcclTable, kReadsRates, {}}},
    {"# Collective test starting:", false, {kNcclTable, kReadsRates, {}}},
    {"# nThread ", false, {kNcclTable, kReadsRates, {}}},
    {"(GB/s)", false, {kNcclTable, kReadsRates, {}}},
    {"<nvidia_smi_log", false, {"the output of nvidia-smi -q -x", kReadsMachines, {}}},
    {"==NVSMI LOG==", false, {"the output of nvidia-smi -q", {}, kXmlOfGpus}},
    {"| NVIDIA-SMI ", false, {"the table of nvidia-smi", {}, kXmlOfGpus}},
    {"utilization.gpu", false, {"a log of nvidia-smi --query-gpu", kReadsRuns, {}}},
    {"memory.used", false, {"a log of nvidia-smi --query-gpu", kReadsRuns, {}}},
    {"# gpu ", true, {"a log of nvidia-smi dmon", {}, kMemoryOfRun}},
    {"CPU Affinity", false, {"the output of nvidia-smi topo -m", kReadsMachines, {}}},
    {"CA type:", false, {"the output of ibstat", kReadsMachines, {}}},
    {"NodeName=", false, {"the output of scontrol show node", kReadsMachines, {}}},
    // Scenarios stand inside.
    {"hexaplan/project/", false, {"a project of hexaplan-gui", kReadsScenarios, {}}},
    {"hexaplan/scenario/", false, {"a scenario", kReadsScenarios, {}}},
    {"\"model_type\"", false, {"the config.json of a model", kReadsModels, {}}},
    {"case_id,", true, {"a table of measurements", "hexaplan accuracy FILE", {}}},
    {"#!", true, {"a script", kReadsScripts, {}}},
};

constexpr std::string_view kSpaces = " \t\r\n";
/// Launchers and modules print first.
constexpr std::size_t kBeginning = 262'144;

const FileKind* kind_of_text(std::string_view text) {
  text = text.substr(0, kBeginning);
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  const auto found = std::find_if(std::begin(kSigns), std::end(kSigns), [&](const Sign& sign) {
    return sign.first ? text.starts_with(sign.words) : text.find(sign.words) != std::string_view::npos;
  });
  return found == std::end(kSigns) ? nullptr : &found->kind;
}

}  // namespace

bool is_nccl_text(std::string_view text) {
  const FileKind* kind = kind_of_text(text);
  return kind != nullptr && kind->title == kNcclTable;
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
