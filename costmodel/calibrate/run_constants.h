#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/framework_profile.h"

// What a cluster and a version of its software have of their own: the few constants that runs of one's own
// can correct (docs/calibration.md).
namespace hexaplan::costmodel {

enum class RunConstant : std::uint8_t {
  Products,   // rate of matrix products and attention: clocks under load, libraries
  Memory,     // rate of memory-bound kernels and the optimizer
  NodeLinks,  // rate of collectives inside a node
  Network,    // rate of collectives between nodes, and their latency
  Host,       // host time, of everything that takes any
  Exposed,    // the share of communication that the framework does not hide
  Reserved,   // what the caching allocator holds beyond live tensors
};
inline constexpr std::size_t kRunConstantCount = 7;

struct RunConstantRow {
  RunConstant constant;
  std::string_view key;   // of files: "products"
  std::string_view name;  // "rate of products and attention"
  bool of_framework;      // learned of one framework's runs, it holds for that framework
  double prior;           // standard deviation of ln(factor) from one cluster and version to another
};
/// In the order of the enum.
[[nodiscard]] const std::array<RunConstantRow, kRunConstantCount>& run_constants();

/// ln of a factor on each constant, in the order of the enum; 0: as the presets say.
using RunCorrections = std::array<double, kRunConstantCount>;
[[nodiscard]] constexpr double correction_of(const RunCorrections& corrections, RunConstant constant) {
  return corrections[static_cast<std::size_t>(constant)];
}

/// Multiplies the calibration's constants by their factors.
void correct(Calibration& calibration, const RunCorrections& corrections);
/// … the profile's. What hides nothing at all exposes no more than everything.
void correct(FrameworkProfile& profile, const RunCorrections& corrections);

}  // namespace hexaplan::costmodel
