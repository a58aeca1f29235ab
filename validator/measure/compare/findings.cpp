#include "validator/measure/compare/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "costmodel/units/format_units.h"

namespace hexaplan::validator {
namespace {

using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::Seconds;

/// Steps closer than this to their prediction have no cause.
constexpr double kAsPredicted = 0.03;
/// Of the step: less is not worth a sentence.
constexpr double kWorthSaying = 0.01;
constexpr std::size_t kMostCauses = 3;
/// Of the step, waiting for launches: beyond what marks and hand-overs leave.
constexpr double kHostBound = 0.05;
/// Over its curve, of a message; over the median, of a rank; over the prediction, of a GPU's memory.
constexpr double kSlowMessage = 0.25, kSlowRank = 0.05, kMoreMemory = 0.05;

constexpr std::string_view kWaiting = "waiting for launches";

/// Time that a step is made of.
struct Part {
  std::string name;
  double predicted = 0, measured = 0;
  [[nodiscard]] double longer() const { return measured - predicted; }
};

Part group_sum(const ComparedRank& rank, TermGroup group, std::string_view without) {
  Part sum;
  for (const ComparedTerm& term : rank.terms) {
    if (term.group != group || term.name == without) continue;
    sum.predicted += term.predicted;
    sum.measured += term.measured;
  }
  return sum;
}

/// Kinds of kernels and what is exposed of messages: they add up to the step without what the host takes
/// before and after it. Messages inside passes are what phases take beyond their kernels.
std::vector<Part> step_parts_of(const ComparedRank& rank) {
  std::vector<Part> parts;
  double exposed_predicted = 0, exposed_measured = 0;
  for (const ComparedTerm& term : rank.terms) {
    const bool exposed = term.group == TermGroup::Phase &&
                         (term.name == "reduction and gathering" || term.name == "waiting for other stages");
    if (exposed) exposed_predicted += term.predicted, exposed_measured += term.measured;
    if (exposed || term.group == TermGroup::Kind) parts.push_back({term.name, term.predicted, term.measured});
  }
  const Part phases = group_sum(rank, TermGroup::Phase, {}), kinds = group_sum(rank, TermGroup::Kind, {});
  if (kinds.measured > 0) {
    parts.push_back({"messages within passes", phases.predicted - exposed_predicted - kinds.predicted,
                     phases.measured - exposed_measured - kinds.measured});
  }
  return parts;
}

void add_causes(const ValidatedScenario& s, std::vector<std::string>& out) {
  const double longer = s.step->measured - s.step->predicted;
  if (std::abs(longer) <= kAsPredicted * s.step->predicted) return;
  std::vector<Part> parts = step_parts_of(s.ranks.front());
  std::erase_if(parts, [&](const Part& part) {
    return part.longer() * longer <= 0 || std::abs(part.longer()) < kWorthSaying * s.step->measured;
  });
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return std::abs(a.longer()) > std::abs(b.longer()); });
  if (parts.size() > kMostCauses) parts.resize(kMostCauses);
  const char* const how = longer > 0 ? "longer" : "shorter";
  std::string text =
      fmt::format("the step is {} ({}) {} than predicted", format_duration(Seconds{std::abs(longer)}),
                  format_percent(std::abs(longer) / s.step->predicted), how);
  if (parts.empty()) text += ", which no single kind of kernel or message explains";
  for (const Part& part : parts) {
    text += fmt::format("{} {} {} ({})", &part == &parts.front() ? ":" : ",", part.name,
                        format_duration(Seconds{std::abs(part.longer())}),
                        part.predicted > 0 ? format_percent(std::abs(part.longer()) / part.predicted)
                                           : std::string{"nothing was predicted"});
  }
  out.push_back(std::move(text));
}

void add_host(const ValidatedScenario& s, std::vector<std::string>& out) {
  for (const ComparedTerm& term : s.ranks.front().terms) {
    if (term.group != TermGroup::Kind || term.name != kWaiting || term.measured <= 0) continue;
    const double share = term.measured / s.measured_step.value();
    out.push_back(share >= kHostBound
                      ? fmt::format("host-bound: the device waits {} of the step for launches; larger "
                                    "micro-batches make kernels longer",
                                    format_percent(share))
                      : fmt::format("not host-bound: the device waits {} of the step for launches",
                                    format_percent(share)));
  }
}

void add_messages(const ValidatedScenario& s, std::vector<std::string>& out) {
  for (const ComparedTerm& term : s.ranks.front().terms) {
    const bool slow = term.group == TermGroup::Communication && term.predicted > 0 &&
                      term.measured > (1 + kSlowMessage) * term.predicted &&
                      term.measured - term.predicted > kWorthSaying * s.step->measured;
    if (!slow) continue;
    std::string text = fmt::format("{}: {} over its curve, waiting for other ranks included", term.name,
                                   format_percent(term.measured / term.predicted - 1));
    if (term.bus_rate > 0) text += fmt::format("; {:.4g} GB/s on the bus", term.bus_rate / 1e9);
    out.push_back(std::move(text));
  }
}

/// Stages compute unlike things: a rank is held against those of its own.
void add_slow_rank(const ValidatedScenario& s, std::vector<std::string>& out) {
  if (s.solo) return;
  const auto slowest =
      std::max_element(s.all_ranks.begin(), s.all_ranks.end(),
                       [](const auto& a, const auto& b) { return a.computing < b.computing; });
  if (slowest == s.all_ranks.end() || slowest->computing <= Seconds{}) return;
  std::vector<Seconds> of_stage;
  for (const RankSummary& rank : s.all_ranks) {
    if (rank.stage == slowest->stage) of_stage.push_back(rank.computing);
  }
  std::sort(of_stage.begin(), of_stage.end());
  const double over = slowest->computing / of_stage[(of_stage.size() - 1) / 2] - 1;
  if (!(over > kSlowRank)) return;
  out.push_back(fmt::format(
      "rank {} on {} holds the others up: it computes {} longer than the median rank of its stage",
      slowest->rank, slowest->host, format_percent(over)));
}

void add_device_state(const ValidatedScenario& s, std::vector<std::string>& out) {
  double clock = 0;
  for (const DeviceFact& fact : s.facts) {
    if (fact.name == "SM clock") clock = fact.value;
  }
  for (const DeviceFact& fact : s.facts) {
    if (fact.name != "clocks held back by" || fact.text == "nothing") continue;
    out.push_back(fmt::format("clocks are held back by {}{}", fact.text,
                              clock > 0 ? fmt::format(": {:.0f} MHz", clock) : std::string{}));
  }
  for (const ComparedRank& rank : s.ranks) {
    for (const ComparedTerm& term : rank.terms) {
      const bool more = term.group == TermGroup::Memory && term.name.starts_with("device: ") &&
                        term.measured > (1 + kMoreMemory) * term.predicted;
      if (!more) continue;
      out.push_back(fmt::format("rank {}: {} hold {} more than predicted", rank.rank, term.name.substr(8),
                                costmodel::format_binary(costmodel::Bytes{term.measured - term.predicted})));
    }
  }
}

}  // namespace

std::vector<std::string> findings(const ValidatedScenario& scenario) {
  std::vector<std::string> out;
  if (!scenario.step || scenario.ranks.empty()) return out;
  add_causes(scenario, out);
  add_host(scenario, out);
  add_messages(scenario, out);
  add_slow_rank(scenario, out);
  add_device_state(scenario, out);
  return out;
}

}  // namespace hexaplan::validator
