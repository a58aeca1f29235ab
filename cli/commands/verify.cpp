#include "cli/commands/verify.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "cli/commands/machines.h"
#include "cli/commands/question.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/scenario/scenario_words.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/step/run_steps.h"
#include "validator/executor/step/shrink.h"
#include "validator/executor/verify/layout_space.h"

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

std::vector<Scenario> scenarios_of(const VerifyOptions& options, VerifyReport& report) {
  const Scenario asked = ask_for_execution(options);
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

}  // namespace

bool VerifyReport::equal() const {
  return std::all_of(layouts.begin(), layouts.end(),
                     [](const validator::Verification& v) { return v.equal(); });
}

VerifyReport run_verify(const VerifyOptions& options, bool progress) {
  VerifyReport report{.seed = options.seed, .rejected = {}, .changes = {}, .layouts = {}, .coverage = {}};
  const std::vector<Scenario> scenarios = scenarios_of(options, report);
  if (options.coverage) {
    report.coverage = coverage_of(scenarios);
    return report;
  }
  validator::VerifyOptions how{.seed = static_cast<std::uint64_t>(options.seed)};
  how.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  validator::ThreadRanks ranks;
  const bool line = progress && isatty(STDERR_FILENO) != 0;
  for (const Scenario& sc : scenarios) {
    if (line) {
      fmt::print(stderr, "\r\x1b[K{}/{} {}", report.layouts.size() + 1, scenarios.size(),
                 presets::to_command_words(sc));
    }
    report.layouts.push_back(validator::verify(sc, how, ranks));
    if (options.first && !report.layouts.back().equal()) break;
  }
  if (line) fmt::print(stderr, "\r\x1b[K");
  return report;
}

}  // namespace hexaplan::cli
