#include "tests/fuzz/readers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/calibration/fabric/read_fabric.h"
#include "presets/calibration/fabric/read_nccl_tests.h"
#include "presets/calibration/read_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/gpus/gpu_preset.h"
#include "presets/import/import_plan.h"
#include "presets/json/input_error.h"
#include "presets/machines/machine_report.h"
#include "presets/models/model_text.h"
#include "presets/models/read_model_config.h"
#include "presets/posttrain/post_training_request.h"
#include "presets/runs/gpu_log.h"
#include "presets/runs/kineto_trace.h"
#include "presets/runs/memory_snapshot.h"
#include "presets/runs/nsight_export.h"
#include "presets/runs/run_log.h"
#include "presets/runs/trace_profile.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/scenario_page.h"
#include "presets/scenario/scenario_request.h"
#include "presets/truth/csv.h"
#include "presets/truth/truth_row.h"
#include "presets/weights/safetensors.h"

namespace hexaplan::fuzz {
namespace {

namespace fs = std::filesystem;
using presets::InputError;

/// A file for readers that open one, in memory where the system keeps a folder there.
class ReadFile {
 public:
  explicit ReadFile(std::string_view text) {
    std::ofstream file{path(), std::ios::binary | std::ios::trunc};
    if (!file.write(text.data(), std::ssize(text))) throw std::logic_error{"no file for what is read"};
  }
  ~ReadFile() {
    std::error_code ignored;
    fs::remove(path(), ignored);
  }
  ReadFile(const ReadFile&) = delete;
  ReadFile& operator=(const ReadFile&) = delete;
  [[nodiscard]] static const fs::path& path() {
    static const fs::path path = (fs::exists("/dev/shm") ? fs::path{"/dev/shm"} : fs::temp_directory_path()) /
                                 fmt::format("hexaplan-fuzz-{}", getpid());
    return path;
  }
};

template <auto read>
void as_file(std::string_view text) {
  const ReadFile file{text};
  static_cast<void>(read(ReadFile::path()));
}

void config(std::string_view text) {
  static_cast<void>(costmodel::count_parameters(presets::model_from_config_text(text, "config.json")));
}

void scenario(std::string_view text) {
  const presets::ScenarioRequest request =
      presets::read_scenario(presets::parse_scenario_document(text, "plan.json"));
  static_cast<void>(presets::to_json(request));
}

void posttrain(std::string_view text) {
  static_cast<void>(presets::read_post_training(presets::parse_json(text, "plan.json")));
}

/// A line each: layout, cluster, model in words.
void words(std::string_view text) {
  const auto line = [&text] {
    const std::string_view first = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), first.size() + 1));
    return std::string{first};
  };
  static_cast<void>(presets::to_layout_text(presets::parse_layout(line(), "layout")));
  static_cast<void>(presets::parse_cluster_request(line()));
  static_cast<void>(costmodel::count_parameters(presets::parse_model_text(line(), "model")));
}

void rows(std::string_view text) {
  static_cast<void>(presets::read_truth_rows(presets::parse_csv(text, "rows.csv")));
}

void nccl_tests(std::string_view text) {
  static_cast<void>(presets::parse_nccl_tests(text, "nccl.log"));
}

void machine(std::string_view text) {
  const std::string file = "report.txt";
  switch (presets::tool_of(text, file)) {
    case presets::MachineTool::Topology:
      static_cast<void>(presets::read_topology(text, file));
      break;
    case presets::MachineTool::NvidiaSmi:
      static_cast<void>(presets::read_nvidia_smi(text, file));
      break;
    case presets::MachineTool::Ibstat:
      static_cast<void>(presets::read_ibstat(text, file));
      break;
    case presets::MachineTool::Slurm:
      static_cast<void>(presets::read_slurm_nodes(text, file));
      break;
  }
}

void log(std::string_view text) {
  static_cast<void>(presets::launch_script_of(presets::parse_run_log(text, "run.log")));
}

void gpu_log(std::string_view text) {
  static_cast<void>(presets::parse_gpu_log(text, "smi.csv"));
}

presets::TraceProfile read_trace(const fs::path& path) {
  return presets::profile_of(presets::read_kineto_trace(path));
}

presets::SafetensorsFile read_weights(const fs::path& path) {
  return presets::SafetensorsFile{path};
}

auto read_nsight(const fs::path& path) {
  return presets::read_nsight_export(path);
}

/// Files whose ending says what they are written in.
template <const char* const& name>
void launch_file(std::string_view text) {
  static_cast<void>(presets::import_plan({{name, std::string{text}}}, "8xH100"));
}
constexpr const char* kShell = "run.sh";
constexpr const char* kYaml = "run.yaml";
constexpr const char* kToml = "run.toml";
constexpr const char* kJson = "run.json";
constexpr const char* kPython = "run.py";

constexpr Reader kReaders[] = {
    {"config", config},
    {"scenario", scenario},
    {"posttrain", posttrain},
    {"words", words},
    {"gpu", as_file<presets::read_gpu_preset>},
    {"framework", as_file<presets::read_framework_preset>},
    {"calibration", as_file<presets::read_calibration>},
    {"fabric", as_file<presets::read_own_fabric>},
    {"rows", rows},
    {"nccl_tests", nccl_tests},
    {"machine", machine},
    {"log", log},
    {"gpu_log", gpu_log},
    {"trace", as_file<read_trace>},
    {"snapshot", as_file<presets::read_memory_snapshot>},
    {"nsight", as_file<read_nsight>},
    {"weights", as_file<read_weights>},
    {"import_shell", launch_file<kShell>},
    {"import_yaml", launch_file<kYaml>},
    {"import_toml", launch_file<kToml>},
    {"import_json", launch_file<kJson>},
    {"import_python", launch_file<kPython>},
};

}  // namespace

std::span<const Reader> readers() {
  return kReaders;
}

void read_or_refuse(const Reader& reader, std::string_view text) {
  try {
    reader.read(text);
  } catch (const InputError& error) {
    const std::string_view line = error.what();
    if (line.empty() || line.find('\n') != std::string_view::npos)
      throw std::logic_error{fmt::format("{}: an error of one line, got \"{}\"", reader.name, line)};
  } catch (const std::exception& error) {
    throw std::logic_error{fmt::format("{}: {}", reader.name, error.what())};
  }
}

}  // namespace hexaplan::fuzz
