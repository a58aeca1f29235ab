#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/oracle/compare_step.h"

namespace hexaplan::report {

enum class OracleLineKind : std::uint8_t { Head, Number, Tensor };

/// A line of the table that shows a framework's step beside its prediction.
struct OracleLine {
  OracleLineKind kind = OracleLineKind::Number;
  bool differs = false;  // by more than it may
  std::string what, predicted, measured, difference, share;
};

/// Totals, then instants, layers and messages, each in the order of their differences. Below a part of a
/// layer that differs stand the tensors that one side has and the other has not.
[[nodiscard]] std::vector<OracleLine> oracle_lines(const costmodel::Scenario& scenario,
                                                   const presets::ComparedNumbers& numbers);

/// One sentence: how many numbers agree, and which one is furthest off.
[[nodiscard]] std::string oracle_verdict(const presets::ComparedNumbers& numbers);
[[nodiscard]] bool all_hold(const presets::ComparedNumbers& numbers);

/// What is said of a class of layers: "layer x 32", "layer with experts x 26".
[[nodiscard]] std::string layers_text(const costmodel::Scenario& scenario,
                                      const presets::ComparedNumber& number);

}  // namespace hexaplan::report
