#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/runs/device_trace.h"
#include "presets/runs/nvtx_payload.h"

namespace hexaplan::presets {

/// A range of NVTX that marks a step: "iteration 12", "Step_3", "ProfilerStep#7".
struct StepName {
  std::string word;                    // "iteration", in lower case
  std::optional<std::int64_t> number;  // nothing: the range does not say which
};
[[nodiscard]] std::optional<StepName> step_name(std::string_view text);

/// Input dimensions as emit_nvtx writes them behind an operator's name ("aten::mm, seq = 3, sizes = [[4, 8],
/// [8, 2]]"; pytorch/pytorch torch/csrc/profiler/util.cpp getNvtxStr).
[[nodiscard]] std::vector<std::vector<std::int64_t>> input_dims_of_range(std::string_view text);

/// A range in microseconds.
struct NvtxRange {
  std::int64_t thread = 0;
  double start = 0, end = 0;
};

/// What the ranges of one process say.
class ProcessRanges {
 public:
  struct Product {
    NvtxRange range;
    TraceGemm gemm;
  };
  struct NcclCall {
    NvtxRange range;
    std::string name;  // "AllReduce"
    NcclPayload payload;
  };

  void add(const NvtxRange& range, std::string_view text, const std::optional<NcclPayload>& payload);
  /// Sorts what was added.
  void finish();

  [[nodiscard]] const std::vector<Product>& products() const { return products_; }
  /// The steps that the program marked: by the word whose ranges take longest, or from one update of the
  /// optimizer to the next.
  [[nodiscard]] std::vector<TraceStep> steps() const;
  /// What NCCL was asked for by the launch of a kernel: the call around it, or the calls of a group since the
  /// launch before. Nothing where no range tells.
  [[nodiscard]] std::optional<TraceMessage> message(const NvtxRange& launch, double launch_before) const;
  /// Of the largest communicator that was made.
  [[nodiscard]] std::optional<std::int64_t> rank() const { return rank_; }
  [[nodiscard]] std::optional<std::int64_t> world_size() const { return world_size_; }

 private:
  struct MarkedStep {
    NvtxRange range;
    StepName name;
  };
  struct Communicator {
    std::size_t number;  // from 1, in the order in which ranges name them
    std::optional<std::int64_t> ranks;
  };
  [[nodiscard]] TraceMessage message_of(const std::vector<const NcclCall*>& calls) const;

  std::vector<Product> products_;
  std::vector<NcclCall> calls_;
  std::vector<MarkedStep> steps_;
  std::vector<NvtxRange> updates_;  // of the optimizer
  std::map<std::uint64_t, Communicator> communicators_;
  std::optional<std::int64_t> rank_, world_size_;
};

}  // namespace hexaplan::presets
