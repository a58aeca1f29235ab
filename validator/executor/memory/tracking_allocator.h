#pragma once
#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/dtype.h"
#include "validator/executor/memory/step_place.h"

namespace hexaplan::validator {

/// Under what name, kind and storage type an allocation stands in the cost model's ledger.
struct TensorLabel {
  std::string_view name;  // "attention.query"; static storage
  costmodel::TensorKind kind = costmodel::TensorKind::Transient;
  costmodel::DType dtype = costmodel::DType::Bf16;
};

/// Live bytes of one name and kind.
struct LiveTensor {
  std::string_view name;
  costmodel::TensorKind kind = costmodel::TensorKind::Transient;
  std::int64_t bytes = 0;
};
using BytesByKind = std::array<std::int64_t, costmodel::kTensorKinds>;

/// Live bytes after one allocation or release, in the order in which they happened.
struct MemorySample {
  double seconds = 0;  // since the allocator was made
  BytesByKind live{};
};

/// An allocation that the limit refuses.
class OutOfMemory : public std::runtime_error, public PlacedError {
 public:
  OutOfMemory(const TensorLabel& label, std::int64_t requested, std::int64_t live, std::int64_t limit);
  /// Says what it was for, unless that is known already.
  void place_in(StepPlace where);
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
  [[nodiscard]] std::string_view tensor() const { return name_; }
  [[nodiscard]] costmodel::TensorKind kind() const { return kind_; }
  [[nodiscard]] std::int64_t requested_bytes() const { return requested_; }
  [[nodiscard]] std::int64_t live_bytes() const { return live_; }
  [[nodiscard]] std::int64_t limit_bytes() const { return limit_; }

 private:
  std::string_view name_;
  costmodel::TensorKind kind_;
  std::int64_t requested_, live_, limit_;
  std::string text_;
};

/// Accounts for every byte of one rank in the *ledger's* storage type: a run in float64 stores 8 bytes where
/// the ledger names bf16, and counts 2. One rank's thread uses it; it takes no lock.
class TrackingAllocator {
 public:
  TrackingAllocator();

  /// Refuse what would lift live bytes above `bytes`; 0 = no limit.
  void set_limit(std::int64_t bytes) { limit_ = bytes; }
  /// Keep a sample per change, for the report. Off: peaks only.
  void keep_timeline(bool keep) { keeps_timeline_ = keep; }

  /// Bytes that `elements` of the label's storage type take. Half bytes round up.
  [[nodiscard]] static std::int64_t ledger_bytes(const TensorLabel& label, std::int64_t elements);
  /// Throws OutOfMemory and changes nothing when the limit forbids it.
  void allocated(const TensorLabel& label, std::int64_t elements);
  void released(const TensorLabel& label, std::int64_t elements);
  /// The same bytes under another name or kind. Both labels have storage types of one size.
  void relabelled(const TensorLabel& from, const TensorLabel& to, std::int64_t elements);

  /// What follows belongs to this instant of the step: each has a peak of its own.
  void enter(costmodel::Instant instant);

  [[nodiscard]] std::int64_t live_bytes() const { return total_; }
  [[nodiscard]] const BytesByKind& live_by_kind() const { return live_; }
  [[nodiscard]] std::vector<LiveTensor> live_tensors() const;
  [[nodiscard]] std::int64_t peak_bytes() const { return peak_; }
  /// By kind at the moment of the peak (the first, where several are equal).
  [[nodiscard]] const BytesByKind& peak_by_kind() const { return peak_by_kind_; }
  /// The peak of what was allocated while the step was at `instant`.
  [[nodiscard]] const BytesByKind& peak_at(costmodel::Instant instant) const {
    return instants_[costmodel::index_of(instant)].live;
  }
  /// What was alive at the peak, largest first.
  [[nodiscard]] std::vector<LiveTensor> peak_tensors() const;
  [[nodiscard]] const std::vector<MemorySample>& timeline() const { return timeline_; }
  /// The peak starts again from what is alive now; the timeline is emptied.
  void reset_peak();

 private:
  struct InstantPeak {
    std::int64_t total = 0;
    BytesByKind live{};
  };
  void change(const TensorLabel& label, std::int64_t bytes);
  void note_peaks();
  void sample();

  std::vector<LiveTensor> tensors_;  // one per (name, kind): some dozens, found by comparing pointers
  std::vector<LiveTensor> at_peak_;
  BytesByKind live_{}, peak_by_kind_{};
  std::int64_t total_ = 0, peak_ = 0, limit_ = 0;
  std::array<InstantPeak, costmodel::kInstants> instants_{};
  costmodel::Instant instant_ = costmodel::kIdle;
  bool keeps_timeline_ = false;
  double started_ = 0;
  std::vector<MemorySample> timeline_;
};

}  // namespace hexaplan::validator
