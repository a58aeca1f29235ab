#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "costmodel/units/quantity.h"
#include "validator/executor/device/device.h"
#include "validator/measure/sweep/plan.h"
#include "validator/measure/sweep/point.h"

namespace hexaplan::validator {

/// What the matrix products and attentions of a calibration are issued as.
inline constexpr IssuedFlops kCalibrating{.operation = "calibrate"};

/// How a point is repeated. A sample is as many executions in a row as last `shortest_sample`, at least
/// `least_repeats`, by the marks of the device's stream; the median of `samples` counts. A sample of several
/// milliseconds hides what a stream takes to begin with the first of them.
struct BenchOptions {
  costmodel::Bytes memory;  // most that one point may read and write: three arenas of this size are taken
  int warmups = 2, samples = 10;
  int least_repeats = 2;
  costmodel::Seconds shortest_sample{5e-3};
  costmodel::Seconds sustained{1.0};  // how long a GEMM runs before its sustained rate is read
};

/// Times of single operations on one device. Operands are noise, never zeros, and each execution takes others
/// than the one before, so that they come from memory as they do in a step.
class KernelBench {
 public:
  /// Throws OutOfMemory.
  KernelBench(Device& device, const BenchOptions& options);

  /// Rates of one GEMM, attention and copy, each grown until launching it matters little or the memory ends:
  /// enough to plan with.
  [[nodiscard]] RoughRates probe();
  /// Seconds per execution, every sample. Precondition: a kernel's point within the memory, in a precision of
  /// the device. Throws UnsupportedProduct.
  [[nodiscard]] std::vector<double> measure(const Point& point);
  /// Of the device while the last sample of the last point ran.
  [[nodiscard]] const std::optional<DeviceState>& state() const { return state_; }
  /// Whether any operand or result is one: what was measured would be arithmetic on rubbish.
  [[nodiscard]] bool holds_not_a_number();

 private:
  /// Noise that operands are cut from, one behind the other and round again.
  class Arena {
   public:
    /// `element`: what it holds instead of what the device computes in where the ledger has `dtype`.
    Arena(Device& device, costmodel::DType dtype, costmodel::Bytes bytes, std::uint64_t seed,
          std::optional<Element> element = {});
    [[nodiscard]] View take(std::int64_t rows, std::int64_t cols);
    [[nodiscard]] const View& whole() const { return view_; }

   private:
    Tensor tensor_;
    View view_;
    std::int64_t next_ = 0;
  };
  using Call = std::function<void()>;

  [[nodiscard]] Call prepare(const Point& point);
  [[nodiscard]] Call prepare_gemm(const Point& point);
  [[nodiscard]] Call prepare_grouped_gemm(const Point& point);
  [[nodiscard]] Call prepare_attention(const Point& point);
  [[nodiscard]] Call prepare_memory_step(const Point& point);
  [[nodiscard]] Call prepare_adamw(std::int64_t elements);
  [[nodiscard]] Call prepare_loss_gradient(std::int64_t rows, std::int64_t cols);
  [[nodiscard]] costmodel::Seconds probe_time(const Point& point);
  [[nodiscard]] double seconds_of(const Call& call, int repeats, bool last = false);
  [[nodiscard]] std::vector<double> sample(const Call& call);
  [[nodiscard]] std::vector<double> sample_sustained(const Call& call);

  Device& device_;
  BenchOptions options_;
  Arena inputs_, results_, wide_;  // bf16, bf16, fp32 in the ledger's terms
  std::optional<Arena> narrow_;    // E4m3, where the device multiplies it
  Tensor positions_;
  std::optional<DeviceState> state_;
};

}  // namespace hexaplan::validator
