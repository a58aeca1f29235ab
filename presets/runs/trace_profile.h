#pragma once
#include <array>
#include <vector>

#include "presets/runs/device_trace.h"

namespace hexaplan::presets {

/// Kernels of one kind, per step.
struct KindShare {
  double seconds = 0;  // sum of their durations; kernels of several streams run at the same time
  double count = 0;
};

/// Messages that are alike, per step.
struct MessageShare {
  TraceMessage message;
  double count = 0, seconds = 0;
  double median = 0;  // seconds of one
  /// Bytes per second that a link of the ring carries, as nccl-tests count it (doc/PERFORMANCE.md); 0: size
  /// or ranks are not known.
  double bus_bandwidth = 0;
};

/// Products of one shape, per step.
struct GemmShare {
  TraceGemm gemm;
  double count = 0, seconds = 0;
  double median = 0;  // seconds of one
  double rate = 0;    // FLOP/s of the median
};

/// What the steps of one rank's trace spend their time on; seconds per step.
struct TraceProfile {
  std::size_t steps = 0;  // 0: no ProfilerStep; the whole trace counts as one
  double step = 0;
  double busy = 0;              // anything runs
  double exposed_messages = 0;  // messages run and nothing computes
  double exposed_copies = 0;    // copies alone
  [[nodiscard]] double idle() const { return step - busy; }
  std::array<KindShare, kKernelKinds> kinds;
  std::vector<MessageShare> messages;  // longest first
  std::vector<GemmShare> gemms;        // longest first
  double known_gemms = 0;              // seconds of products whose shapes are recorded
};

/// Sums a trace up over its steps. A kernel belongs to the step in which it begins; what begins before the
/// first or after the last counts for none.
[[nodiscard]] TraceProfile profile_of(const DeviceTrace& trace);

}  // namespace hexaplan::presets
