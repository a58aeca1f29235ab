#include "presets/published/published_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "costmodel/step/estimate.h"
#include "costmodel/units/format_units.h"
#include "presets/calibration/find_calibration.h"
#include "presets/catalog/catalog.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/object_reader.h"
#include "presets/scenario/layout_text.h"
#include "presets/truth/scenario_of_row.h"

namespace hexaplan::presets {
namespace {

namespace fs = std::filesystem;
using costmodel::Scenario;
using costmodel::TechniqueEvidence;
using costmodel::TechniqueSet;

constexpr std::string_view kSchemas[] = {"hexaplan/published-runs/1"};

/// A run of the file with what its distance is made of.
struct KnownRun {
  TruthRow row;
  std::string citation;
  std::int64_t runs = 1;
  std::optional<Scenario> scenario;  // nothing: it cannot be said here
  TechniqueSet techniques = 0;
};
using KnownRuns = std::vector<KnownRun>;

/// The rows of the file as a table of text cells.
CsvTable table_of(const JsonDocument& document) {
  ObjectReader reader{document};
  (void)reader.required("schema").choice_index(kSchemas);
  (void)reader.required("source").text();
  CsvTable table{.file = document.file, .header = {}, .rows = {}, .lines = {}};
  for (const ValueReader& column : reader.required("columns").elements())
    table.header.push_back(column.text());
  for (const ValueReader& run : reader.required("runs").elements()) {
    std::vector<std::string> cells;
    for (const ValueReader& cell : run.elements()) cells.push_back(cell.text());
    if (cells.size() != table.header.size()) throw run.error(fmt::format("{} cells", table.header.size()));
    table.rows.push_back(std::move(cells));
    table.lines.push_back(table.rows.size());
  }
  reader.finish();
  return table;
}

std::int64_t whole(const std::string& text) {
  std::int64_t value = 1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

KnownRuns read_runs(const fs::path& path) {
  const CsvTable table = table_of(read_json_file(path));
  const std::size_t source = table.column("source"), runs = table.column("runs");
  std::vector<TruthRow> rows = read_truth_rows(table);
  RowInterpreter interpreter;
  KnownRuns known;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    KnownRun run{.row = std::move(rows[i]),
                 .citation = table.rows[i][source],
                 .runs = whole(table.rows[i][runs]),
                 .scenario = {},
                 .techniques = 0};
    if (RowScenario found = interpreter.scenario_of(run.row); std::holds_alternative<Scenario>(found)) {
      run.scenario = std::move(std::get<Scenario>(found));
      run.techniques = costmodel::techniques_used(*run.scenario);
    }
    known.push_back(std::move(run));
  }
  return known;
}

/// "megatron-2022" and "megatron" are of one family.
std::string_view family_of(std::string_view framework) {
  const std::string_view first = framework.substr(0, framework.find('-'));
  return first.substr(0, first.find_first_of("0123456789"));
}

double doublings(double a, double b) {
  return std::abs(std::log2(std::max(a, 1.0) / std::max(b, 1.0)));
}

double doublings(std::int64_t a, std::int64_t b) {
  return doublings(static_cast<double>(a), static_cast<double>(b));
}

double model_size(const Scenario& s) {
  return static_cast<double>(s.model.layers) * static_cast<double>(s.model.hidden) *
         static_cast<double>(s.model.hidden);
}

/// The distance of evidence_for.
double distance_to(const KnownRun& run, const Scenario& asked, TechniqueSet techniques) {
  constexpr double kOtherGpu = 1, kOtherArchitecture = 3, kOtherFramework = 0.5, kOtherFamily = 2;
  constexpr double kTechnique = 1, kScale = 0.5, kSplit = 0.25;
  const Scenario& other = *run.scenario;
  const costmodel::GpuSpec &a = asked.cluster.gpu, &b = other.cluster.gpu;
  double distance = a.name == b.name ? 0 : a.architecture == b.architecture ? kOtherGpu : kOtherArchitecture;
  const std::string_view mine = without_version(asked.framework.name),
                         its = without_version(other.framework.name);
  distance += mine == its ? 0 : family_of(mine) == family_of(its) ? kOtherFramework : kOtherFamily;
  for (const TechniqueEvidence& row : costmodel::technique_evidence()) {
    if (contains(techniques, row.technique) != contains(run.techniques, row.technique))
      distance += kTechnique;
  }
  distance += kScale * (doublings(asked.cluster.gpus, other.cluster.gpus) +
                        doublings(model_size(asked), model_size(other)) +
                        doublings(asked.recipe.sequence, other.recipe.sequence));
  return distance + kSplit * (doublings(std::int64_t{asked.layout.tp}, std::int64_t{other.layout.tp}) +
                              doublings(std::int64_t{asked.layout.pp}, std::int64_t{other.layout.pp}));
}

/// The run beside its prediction; nothing where a rule rejects it.
std::optional<PublishedRun> published(const KnownRun& run) {
  const Scenario& scenario = *run.scenario;
  const costmodel::Estimate estimate =
      costmodel::estimate_step(scenario, find_calibration(scenario.cluster).calibration);
  const double step = run.row.measured_step_seconds.value_or(0);
  if (estimate.stages.empty() || step <= 0) return std::nullopt;
  const double tokens = static_cast<double>(scenario.recipe.global_batch * scenario.recipe.sequence);
  return PublishedRun{
      .id = run.row.case_id,
      .source = run.citation,
      .gpu = scenario.cluster.gpu.name,
      .framework = scenario.framework.name,
      .model = run.row.model_name,
      .layout = to_layout_text(scenario.layout),
      .gpus = scenario.cluster.gpus,
      .runs = run.runs,
      .measured = costmodel::Seconds{step},
      .predicted = estimate.time.total(),
      .tokens_per_second_per_gpu = tokens / step / static_cast<double>(scenario.cluster.gpus)};
}

/// The runs of a file; predictions are made when somebody asks, and kept.
class Library {
 public:
  explicit Library(KnownRuns runs) : runs_{std::move(runs)} {}
  [[nodiscard]] const KnownRuns& runs() const { return runs_; }
  /// `run` is one of runs().
  [[nodiscard]] std::optional<PublishedRun> predicted(const KnownRun& run) {
    const std::lock_guard lock{mutex_};
    const auto [at, is_new] = predicted_.try_emplace(&run);
    if (is_new) at->second = published(run);
    return at->second;
  }

 private:
  KnownRuns runs_;
  std::mutex mutex_;
  std::map<const KnownRun*, std::optional<PublishedRun>> predicted_;
};

/// Of the first folder of presets that has any; read once.
std::shared_ptr<Library> library() {
  static std::mutex mutex;
  static std::map<fs::path, std::shared_ptr<Library>> read;
  for (const fs::path& root : preset_roots()) {
    const fs::path path = root / "published" / "runs.json";
    std::error_code ignored;
    if (!fs::is_regular_file(path, ignored)) continue;
    const std::lock_guard lock{mutex};
    std::shared_ptr<Library>& known = read[path];
    if (known == nullptr) known = std::make_shared<Library>(read_runs(path));
    return known;
  }
  return std::make_shared<Library>(KnownRuns{});
}

std::string runs_text(std::int64_t runs) {
  return fmt::format("{} run{}", runs, runs == 1 ? "" : "s");
}

}  // namespace

Evidence evidence_for(const Scenario& scenario, std::size_t count) {
  const auto known = library();
  const TechniqueSet used = costmodel::techniques_used(scenario);
  Evidence evidence;
  for (const TechniqueEvidence& row : costmodel::technique_evidence()) {
    if (contains(used, row.technique)) evidence.techniques.push_back({row, 0});
  }
  std::vector<std::pair<double, const KnownRun*>> near;
  for (const KnownRun& run : known->runs()) {
    if (!run.scenario) continue;
    near.emplace_back(distance_to(run, scenario, used), &run);
    if (without_version(run.scenario->framework.name) == without_version(scenario.framework.name))
      evidence.runs_with_framework += run.runs;
    if (run.scenario->cluster.gpu.name != scenario.cluster.gpu.name) continue;
    evidence.runs_on_gpu += run.runs;
    for (TechniqueSupport& support : evidence.techniques) {
      if (contains(run.techniques, support.evidence.technique)) support.runs_on_gpu += run.runs;
    }
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [distance, run] : near) {
    if (evidence.nearest.size() >= count) break;
    auto found = known->predicted(*run);
    if (!found) continue;
    found->distance = distance;
    evidence.nearest.push_back(std::move(*found));
  }
  return evidence;
}

std::vector<std::string> evidence_lines(const Evidence& evidence, const Scenario& scenario) {
  std::vector<std::string> lines;
  if (!evidence.nearest.empty()) {
    const PublishedRun& run = evidence.nearest.front();
    lines.push_back(
        fmt::format("nearest published run: {} on {} {}, {}, {}: {} measured, {} predicted ({}); {}",
                    run.model.empty() ? run.id : run.model, run.gpus, run.gpu, run.framework, run.layout,
                    costmodel::format_duration(run.measured), costmodel::format_duration(run.predicted),
                    costmodel::format_signed_percent(run.error()), run.source));
  }
  const std::string& gpu = scenario.cluster.gpu.name;
  std::string supported, nobody;
  const auto append = [](std::string& text, const std::string& more) {
    text += (text.empty() ? "" : ", ") + more;
  };
  if (evidence.runs_on_gpu == 0) append(nobody, "on " + gpu);
  if (evidence.runs_with_framework == 0) append(nobody, "with " + scenario.framework.name);
  for (const auto& [row, on_gpu] : evidence.techniques) {
    if (row.runs == 0) {
      append(nobody, fmt::format("with {}", row.name));
      continue;
    }
    append(supported, fmt::format("{}: {}", row.name, runs_text(row.runs)));
    if (on_gpu > 0) {
      append(supported, fmt::format("{} on {}", on_gpu, gpu));
    } else if (evidence.runs_on_gpu > 0) {
      append(nobody, fmt::format("with {} on {}", row.name, gpu));
    }
  }
  if (!supported.empty()) lines.push_back("published with " + supported);
  if (!nobody.empty()) lines.push_back("nobody is known to have published a run " + nobody);
  return lines;
}

}  // namespace hexaplan::presets
