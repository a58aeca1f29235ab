#pragma once
#include <string>
#include <vector>

#include "costmodel/spec/cluster_spec.h"
#include "presets/calibration/fabric/read_nccl_tests.h"
#include "validator/measure/fit/fit_collectives.h"

namespace hexaplan::cli {

/// What keeps a table of nccl-tests from being one of `cluster`.
struct NcclMismatch {
  std::string value, expected;  // as of an InputProblem; empty: nothing
  [[nodiscard]] bool any() const { return !expected.empty(); }
};
/// Other GPUs, more ranks or more hosts than the cluster has, and several hosts whose ranks cannot be spread
/// evenly over a node's GPUs: not as many on each, or a number that does not divide these. A device that no
/// preset names passes.
[[nodiscard]] NcclMismatch mismatch_of(const presets::NcclTest& test, const costmodel::ClusterSpec& cluster);

/// Every time of a table as a sample; precondition: nothing mismatches, out of place and in place apart.
/// Hosts that gave fewer ranks than a node of `cluster` has GPUs are as many nodes: their ranks lie apart.
[[nodiscard]] std::vector<validator::CollectiveSample> samples_of(const presets::NcclTest& test,
                                                                  const costmodel::ClusterSpec& cluster);

}  // namespace hexaplan::cli
