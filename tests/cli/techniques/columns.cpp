// What the cost model and the executor say of a technique.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "costmodel/program/not_modelled.h"
#include "costmodel/spec/rules.h"
#include "presets/json/input_error.h"
#include "tests/cli/techniques/techniques.h"
#include "tests/support/emulated_device.h"
#include "tests/support/knob_turns.h"
#include "validator/executor/backends/backends.h"
#include "validator/executor/communicator/threads/thread_ranks.h"
#include "validator/executor/device/cpu/cpu_device.h"
#include "validator/executor/step/run_steps.h"
#include "validator/executor/step/shrink.h"
#include "validator/executor/verify/verify.h"

namespace hexaplan::tests {
namespace {

using costmodel::KnobNote;
using costmodel::Rejected;
using costmodel::Scenario;

/// Made small, on as few ranks as still train that way.
Scenario small(const Technique& technique, const Scenario& scenario) {
  constexpr std::int64_t kFewest = 4, kMost = 64;
  for (std::int64_t ranks = kFewest; ranks < kMost; ranks *= 2) {
    Scenario smaller = validator::shrink(scenario, ranks);
    if (technique.used_by(smaller)) return smaller;
  }
  return validator::shrink(scenario, kMost);
}

presets::CalibratedScenario under_own_profile(presets::CalibratedScenario found) {
  found.scenario.framework = presets::look_up_framework("hexaplan");
  return found;
}

/// Notes of `now` that `before` has not.
std::vector<std::string> added(const std::vector<KnobNote>& before, const std::vector<KnobNote>& now) {
  std::vector<std::string> notes;
  for (const KnobNote& note : now) {
    if (std::ranges::find(before, note) == before.end()) notes.push_back(note.effect);
  }
  return notes;
}

/// More apart than compilers round.
bool differ(const std::vector<double>& a, const std::vector<double>& b) {
  const auto close = [](double x, double y) {
    return std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y));
  };
  return !std::ranges::equal(a, b, close);
}

/// Bytes and messages are what an execution shows; its times are those of this machine.
bool same_counts(const AnswerNumbers& a, const AnswerNumbers& b) {
  return !differ(a.memory, b.memory) && !differ(a.messages, b.messages);
}

/// The scenario that the executor runs for a technique, or why there is none.
struct Execution {
  std::optional<Scenario> scenario;
  std::string reason;
};
Execution execution_of(const Technique& technique) {
  const presets::CalibratedScenario with = under_own_profile(technique.with);
  std::optional<Rejected> rejected = costmodel::first_rejection(with.scenario);
  if (!rejected) rejected = validator::first_not_executable(with.scenario);
  if (rejected) return {{}, rejected->reason};
  const presets::CalibratedScenario without = under_own_profile(technique.without);
  const auto useless = added(words_without_effect(without.scenario), words_without_effect(with.scenario));
  if (!useless.empty()) return {{}, useless.front()};
  const bool both = !validator::first_not_executable(without.scenario);
  const Answer before = answer_to(without), after = answer_to(with);
  if (both && !before.rejected && same_counts(before.numbers, after.numbers))
    return {{}, "the executor does the same with and without it"};
  return {small(technique, with.scenario), {}};
}

std::vector<std::string_view> moved(const AnswerNumbers& before, const AnswerNumbers& after) {
  std::vector<std::string_view> kinds;
  if (differ(before.memory, after.memory)) kinds.push_back("memory");
  if (differ(before.messages, after.messages)) kinds.push_back("messages");
  if (differ(before.time, after.time)) kinds.push_back("time");
  if (differ(before.bill, after.bill)) kinds.push_back("bill");
  return kinds;
}

}  // namespace

Cell priced(const Technique& technique) {
  const Answer before = answer_to(technique.without), after = answer_to(technique.with);
  if (after.rejected) return {"refused", {after.rejected->reason}};
  Cell cell{{}, added(not_modelled(before.scenario), not_modelled(after.scenario))};
  for (std::string& note : cell.notes) note = "not in the numbers: " + note;
  for (const std::string_view kind : moved(before.numbers, after.numbers))
    cell.text += (cell.text.empty() ? "" : ", ") + std::string{kind};
  if (cell.text.empty()) cell.text = cell.notes.empty() ? kAcceptedOnly : "not modelled";
  return cell;
}

Cell executed(const Technique& technique) {
  const Execution execution = execution_of(technique);
  if (!execution.scenario) return {"no", {execution.reason}};
  validator::VerifyOptions how;
  how.make_device = [](int /*rank*/) { return validator::make_cpu_device(validator::Element::F64); };
  validator::ThreadRanks ranks;
  const validator::Verification result = validator::verify(*execution.scenario, how, ranks);
  if (result.equal() && result.compared > 0) return {"yes", {}};
  return {std::string{kDiffers}, {result.fault.empty() ? result.mismatches.front().what : result.fault}};
}

Cell written_for_cuda(const Technique& technique) {
  const Execution execution = execution_of(technique);
  if (!execution.scenario) return {"no", {}};
  const auto elements = validator::elements_of_device("cuda");
  const validator::Element planned =
      validator::planned_element(costmodel::activation_dtype(execution.scenario->recipe.precision));
  if (std::ranges::find(elements, planned) == elements.end())
    return {"no", {fmt::format("the CUDA device does not compute in {}", validator::name_of(planned))}};
  validator::RunOptions options;
  options.make_device = [planned](int /*rank*/) { return make_emulated_device(planned); };
  validator::ThreadRanks ranks;
  const validator::ExecutionReport report = validator::run_steps(*execution.scenario, options, ranks);
  const bool ran = report.steps.size() == 1 && std::isfinite(report.steps.front().gradient_norm);
  return {std::string{ran ? "yes" : kDoesNotRun}, {}};
}

}  // namespace hexaplan::tests
