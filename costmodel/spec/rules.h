#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "costmodel/spec/scenario.h"
#include "costmodel/spec/verdict.h"

namespace hexaplan::costmodel {

/// Why a layout breaks a rule, with the numbers, and what would pass.
struct Reason {
  std::string reason, advice;
};

/// What a rule reads, in the order in which a search decides it: a rule is asked once per choice of its
/// scope. Each scope may read those above it. Model, cluster and framework are always there.
enum class RuleScope : std::uint8_t {
  Grid,      // dp, tp, cp with its kind, pp, ep, etp; precision
  Stages,    // schedule, vpp, stage split
  Batch,     // micro-batch
  Sequence,  // sp
  Shards,    // ZeRO stage and shard group
  Order,     // in which axes number the ranks
};

/// One row of the table of rules that a layout must pass before it is priced.
struct Rule {
  std::string_view name;  // stable: "heads-divide-by-tp"
  RuleScope scope = RuleScope::Grid;
  int Layout::*axis = nullptr;  // the degree that it is about; null when it is about none
  /// True when the scenario passes; otherwise fills `why` if it is given.
  bool (*passes)(const Scenario& scenario, Reason* why) = nullptr;
};

/// By scope, within one cheapest first.
[[nodiscard]] std::span<const Rule> layout_rules();

/// The first rule that the layout breaks, or nothing.
[[nodiscard]] std::optional<Rejected> first_rejection(const Scenario& scenario);

}  // namespace hexaplan::costmodel
