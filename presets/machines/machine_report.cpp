#include "presets/machines/machine_report.h"

#include <utility>

#include "presets/machines/machine_lines.h"
#include "presets/runs/file_kind.h"

namespace hexaplan::presets {
namespace {

struct ToolRow {
  MachineTool tool;
  std::string_view command;
  std::string_view sign;  // stands in every output of it, and in none of those below
};
constexpr ToolRow kTools[] = {{MachineTool::NvidiaSmi, "nvidia-smi -q -x", "<nvidia_smi_log"},
                              {MachineTool::Slurm, "scontrol show node", "NodeName="},
                              {MachineTool::Ibstat, "ibstat", "CA '"},
                              {MachineTool::Topology, "nvidia-smi topo -m", "GPU0"}};

}  // namespace

std::string_view command_of(MachineTool tool) {
  for (const ToolRow& row : kTools) {
    if (row.tool == tool) return row.command;
  }
  return {};
}

MachineTool tool_of(std::string_view text, const std::string& file) {
  for (const ToolRow& row : kTools) {
    if (text.find(row.sign) != std::string_view::npos) return row.tool;
  }
  InputProblem problem = machine_error(file, 1, text.substr(0, text.find('\n')),
                                       "the output of nvidia-smi topo -m, nvidia-smi -q -x, ibstat or "
                                       "scontrol show node")
                             .problem;
  problem.hint = reader_hint(text, file);
  throw InputError{std::move(problem)};
}

}  // namespace hexaplan::presets
