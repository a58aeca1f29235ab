#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/rank_grid.h"

namespace hexaplan::validator {

inline constexpr int kCollectiveKinds = 6;
/// "all-reduce", "send/recv", …
[[nodiscard]] std::string_view name_of(costmodel::CollectiveKind kind);

/// What one call of a communicator belongs to: what a fault report names and what the counts are kept under.
struct Call {
  std::string_view operation;  // name in the operation list, "attention.qkv"; static storage
  /// Type that the operation list counts the payload in. The elements themselves may be wider: a float64
  /// proof of a bf16 step counts bf16.
  costmodel::DType dtype = costmodel::DType::Bf16;
  int layer = -1;       // -1: of no layer
  int microbatch = -1;  // -1: of no micro-batch
  costmodel::Pass pass = costmodel::Pass::Forward;
};

/// Messages and bytes in the convention of costmodel::Operation: one message per call and rank; bytes of the
/// full tensor (the input of reduce-scatter, the output of all-gather, what a rank hands to all-to-all), for
/// SendRecv the bytes sent.
struct TrafficCount {
  std::int64_t messages = 0;
  costmodel::Bytes bytes;
  costmodel::Seconds time;  // host time inside the calls, waiting for others included
  /// Of those that a device with streams timed: from the moment at which this rank was ready until all had
  /// theirs, on the device's clock.
  std::int64_t timed = 0;
  costmodel::Bytes timed_bytes;
  costmodel::Seconds device_time;
  TrafficCount& operator+=(const TrafficCount& other);
};
struct TrafficRow {
  std::string_view operation;
  costmodel::Pass pass = costmodel::Pass::Forward;
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  costmodel::Group group = costmodel::Group::World;
  TrafficCount count;
};

/// Everything that one rank communicated, over all of its communicators.
class Traffic {
 public:
  /// How long a message took on the device; may wait for its end.
  using Timing = std::function<costmodel::Seconds()>;

  /// `timing`: where the device timed this message. It is asked when times are read.
  void add(const Call& call, costmodel::CollectiveKind kind, costmodel::Group group,
           const TrafficCount& count, Timing timing = {});
  void clear() {
    rows_.clear();
    timings_.clear();
  }
  /// Waits for the device and adds up what it timed until now.
  void settle();
  /// One row per operation, pass, kind and group, in order of first use.
  [[nodiscard]] const std::vector<TrafficRow>& rows() const { return rows_; }
  [[nodiscard]] TrafficCount of(costmodel::CollectiveKind kind, costmodel::Group group) const;
  [[nodiscard]] TrafficCount of(std::string_view operation, costmodel::Pass pass) const;

 private:
  struct Timed {
    std::size_t row = 0;
    costmodel::Bytes bytes;
    Timing timing;
  };
  std::vector<TrafficRow> rows_;
  std::vector<Timed> timings_;  // not yet in the rows
};

}  // namespace hexaplan::validator
