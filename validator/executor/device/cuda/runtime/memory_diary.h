#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "validator/executor/device/cuda/runtime/check.h"
#include "validator/executor/device/device_fact.h"

namespace hexaplan::validator::cuda {

/// What the GPU's free memory fell by between two moments, under the name of what happened in between. Other
/// processes count too: only an idle GPU tells the truth.
class MemoryDiary {
 public:
  /// With what the context took, where that is known.
  void context_made(std::optional<std::int64_t> bytes) {
    last_ = used_now();
    if (bytes) add("CUDA context", *bytes, true);
  }
  [[nodiscard]] bool knows_context() const {
    return std::any_of(entries_.begin(), entries_.end(), [](const DeviceFact& entry) { return entry.fixed; });
  }
  void note(std::string what) {
    const std::int64_t now = used_now();
    add(std::move(what), now - last_);
    last_ = now;
  }
  [[nodiscard]] const std::vector<DeviceFact>& entries() const { return entries_; }
  /// In use after the last entry.
  [[nodiscard]] std::int64_t last() const { return last_; }

  static std::int64_t used_now() {
    std::size_t free = 0, total = 0;
    HEXAPLAN_CUDA(cudaMemGetInfo(&free, &total));
    return static_cast<std::int64_t>(total - free);
  }

 private:
  void add(std::string what, std::int64_t bytes, bool fixed = false) {
    entries_.push_back(taken_memory(std::move(what), bytes, fixed));
  }
  std::vector<DeviceFact> entries_;
  std::int64_t last_ = 0;
};

}  // namespace hexaplan::validator::cuda
