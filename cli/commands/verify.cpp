#include "cli/commands/verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <random>
#include <string_view>

#include "cli/commands/host_memory.h"
#include "cli/commands/machines.h"
#include "cli/commands/question.h"
#include "cli/commands/ready_device.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/scenario/scenario_words.h"
#include "presets/validation/validation_list.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/step/run_steps.h"
#include "validator/executor/step/shrink.h"
#include "validator/executor/verify/layout_space.h"
#include "validator/executor/verify/step_record.h"

namespace hexaplan::cli {
namespace {

using costmodel::Scenario;

/// The profile that predicts the executor.
constexpr const char* kOwnProfile = "hexaplan";

std::optional<costmodel::Rejected> rejection(const Scenario& sc) {
  auto rejected = costmodel::first_rejection(sc);
  return rejected ? rejected : validator::first_not_executable(sc);
}

/// "hidden 16384 → 64", …: what is smaller than it was asked for.
std::vector<std::string> changes_between(const Scenario& asked, const Scenario& run) {
  std::vector<std::string> changes;
  const auto note = [&](std::string_view what, auto number) {
    if (number(asked) != number(run))
      changes.push_back(fmt::format("{} {} → {}", what, number(asked), number(run)));
  };
  note("dp", [](const Scenario& s) { return s.layout.dp; });
  note("layers", [](const Scenario& s) { return s.model.layers; });
  note("hidden", [](const Scenario& s) { return s.model.hidden; });
  note("heads", [](const Scenario& s) { return s.model.attention.heads; });
  note("kv heads", [](const Scenario& s) { return s.model.attention.kv_heads; });
  note("head dim", [](const Scenario& s) { return s.model.attention.head_dim; });
  note("ffn", [](const Scenario& s) { return s.model.mlp.ffn; });
  note("experts", [](const Scenario& s) { return s.model.moe.experts; });
  note("expert ffn", [](const Scenario& s) { return s.model.moe.expert_ffn; });
  note("shared ffn", [](const Scenario& s) { return s.model.moe.shared_ffn; });
  note("vocab", [](const Scenario& s) { return s.model.vocab; });
  note("sequence", [](const Scenario& s) { return s.recipe.sequence; });
  note("micro-batch", [](const Scenario& s) { return s.recipe.micro_batch; });
  note("global batch", [](const Scenario& s) { return s.recipe.global_batch; });
  return changes;
}

/// The scenario asked for; on one GPU per rank when no cluster is named. Random layouts bring their own
/// model.
Scenario ask_for_execution(const VerifyOptions& options) {
  presets::ScenarioRequest request;
  if (options.random > 0) {
    request.model = "llama-3.1-8b";
  } else {
    request = read_request(options.question);
  }
  request.framework = kOwnProfile;
  if (request.cluster.is_null()) request.cluster = stand_in_cluster(request.layout.layout.world_size());
  return resolve_request(request, options.question).scenario;
}

std::vector<Scenario> scenarios_of(const Scenario& asked, const VerifyOptions& options,
                                   VerifyReport& report) {
  if (options.random > 0)
    return validator::random_scenarios(asked, options.random, static_cast<std::uint64_t>(options.seed));
  report.rejected = rejection(asked);
  if (report.rejected) return {};
  const Scenario run = options.whole ? asked : validator::shrink(asked);
  report.changes = changes_between(asked, run);
  report.rejected = rejection(run);
  if (report.rejected) return {};
  return {run};
}

/// As many steps of the record as layouts are drawn, spread over all of it; which ones the seed says.
std::vector<validator::StepRecord> records_of(const VerifyOptions& options) {
  if (options.random == 0) return {};
  std::vector<validator::StepRecord> all = validator::read_records(presets::recorded_steps_file());
  std::vector<validator::StepRecord> drawn;
  std::mt19937_64 random{static_cast<std::uint64_t>(options.seed)};
  std::sample(all.begin(), all.end(), std::back_inserter(drawn), options.random, random);
  return drawn;
}

/// "3/240 --model …" in place of the line before, on a terminal.
class Progress {
 public:
  Progress(bool wanted, std::size_t total) : shown_{wanted && isatty(STDERR_FILENO) != 0}, total_{total} {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& words) {
    ++done_;
    if (shown_) fmt::print(stderr, "\r\x1b[K{}/{} {}", done_, total_, words);
  }

 private:
  bool shown_;
  std::size_t total_, done_ = 0;
};

}  // namespace

bool VerifyReport::equal() const {
  const auto is_equal = [](const validator::Verification& v) { return v.equal(); };
  return std::all_of(layouts.begin(), layouts.end(), is_equal) &&
         std::all_of(recorded.begin(), recorded.end(), is_equal);
}

VerifyReport run_verify(const VerifyOptions& options, bool progress) {
  VerifyReport report{
      .seed = options.seed, .rejected = {}, .changes = {}, .layouts = {}, .recorded = {}, .coverage = {}};
  const Scenario asked = ask_for_execution(options);
  const std::vector<Scenario> scenarios = scenarios_of(asked, options, report);
  if (options.coverage) {
    report.coverage = coverage_of(scenarios);
    return report;
  }
  static_cast<void>(ready_device(kHostDevice));
  validator::VerifyOptions how{.seed = static_cast<std::uint64_t>(options.seed)};
  how.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  validator::ThreadRanks ranks;
  const std::vector<validator::StepRecord> records = records_of(options);
  Progress line{progress, scenarios.size() + records.size()};
  const auto goes_on = [&](const std::vector<validator::Verification>& done) {
    return done.empty() || !options.first || done.back().equal();
  };
  for (std::size_t i = 0; i < scenarios.size() && goes_on(report.layouts); ++i) {
    line.show(presets::to_command_words(scenarios[i]));
    report.layouts.push_back(validator::verify(scenarios[i], how, ranks));
  }
  for (std::size_t i = 0; i < records.size() && goes_on(report.layouts) && goes_on(report.recorded); ++i) {
    line.show(records[i].words);
    const Scenario sc = presets::read_command_words(records[i].words, asked);
    report.recorded.push_back(validator::verify_record(sc, records[i], how, ranks));
  }
  return report;
}

}  // namespace hexaplan::cli
