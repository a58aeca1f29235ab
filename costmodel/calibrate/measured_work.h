#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/program/collective_kind.h"

namespace hexaplan::costmodel {

// What a rank was measured to do, in the words of the operation list, whoever measured it: read by presets,
// compared by validator.

/// What a rank's time goes into, kernel by kernel, whatever runs at the same time.
enum class WorkKind : std::uint8_t { Gemm, Attention, MemoryBound, Message, Copy };
inline constexpr std::size_t kWorkKinds = 5;
/// "products", "attention", "memory-bound", "messages", "copies".
[[nodiscard]] constexpr std::string_view name_of(WorkKind kind) {
  constexpr std::array<std::string_view, kWorkKinds> kNames = {"products", "attention", "memory-bound",
                                                               "messages", "copies"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// Products of one shape: C[m,n] = A[m,k]·B[k,n], `batch` at once. Seconds and runs are per step.
struct MeasuredGemm {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  double runs = 0, seconds = 0;
};
/// Messages of one kind and size over groups of so many ranks.
struct MeasuredMessage {
  CollectiveKind kind = CollectiveKind::AllReduce;
  std::int64_t ranks = 0;
  double bytes = 0;  // of the full tensor
  double runs = 0, seconds = 0;
};

/// What one rank of a run spent its steps on.
struct MeasuredWork {
  std::array<double, kWorkKinds> seconds{};  // by WorkKind
  std::vector<MeasuredGemm> gemms;
  std::vector<MeasuredMessage> messages;
};

/// Something that ran on one stream of a rank's device. Seconds from the begin of the step.
struct MeasuredRun {
  double begin = 0, end = 0;
  WorkKind kind = WorkKind::MemoryBound;
  std::int32_t shape = -1;  // of a product: index into `gemms`; of a message: into `messages`; -1: not said
  std::int32_t name = -1;   // of the kernel: index into `names`; -1: not kept
  std::int64_t stream = 0;
};

/// One step of a rank, kernel by kernel.
struct MeasuredStep {
  std::int64_t iteration = 0;
  double seconds = 0;
  std::vector<MeasuredRun> runs;          // by begin
  std::vector<MeasuredGemm> gemms;        // shapes: their runs and seconds are 0
  std::vector<MeasuredMessage> messages;  // the same
  std::vector<std::string> names;
};

}  // namespace hexaplan::costmodel
