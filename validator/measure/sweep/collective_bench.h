#pragma once
#include <memory>
#include <vector>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/device/device.h"
#include "validator/measure/sweep/kernel_bench.h"
#include "validator/measure/sweep/point.h"

namespace hexaplan::validator {

/// Times of collectives over groups of the first ranks of a world. One object per rank; every rank makes the
/// same calls in the same order.
class CollectiveBench {
 public:
  CollectiveBench(Device& device, Communicator& world, const BenchOptions& options);

  /// Seconds per call, every sample that of the slowest rank; the same on all ranks. An Overlap point gives
  /// the time of its GEMM while the collective runs. Throws RankFault.
  [[nodiscard]] std::vector<double> measure(const Point& point);

 private:
  struct Buffers {
    Tensor in, out;
  };
  [[nodiscard]] Communicator& group_of(int ranks);
  [[nodiscard]] Buffers allocate(const Point& point);
  [[nodiscard]] Work start(Communicator& group, const Point& point, const Buffers& buffers);
  [[nodiscard]] double call(Communicator& group, const Point& point, const Buffers& buffers, int repeats);
  [[nodiscard]] double multiply(const Point& point, int times);
  [[nodiscard]] int messages_beside(Communicator& group, const Point& point, double once);
  [[nodiscard]] double overlapped(Communicator& group, const Point& point, const Buffers& buffers,
                                  int messages);
  [[nodiscard]] std::vector<double> sample(Communicator& group, const Point& point);

  Device& device_;
  Communicator& world_;
  BenchOptions options_;
  std::vector<std::pair<int, std::unique_ptr<Communicator>>> groups_;
  Tensor gemm_operands_, gemm_result_;
};

}  // namespace hexaplan::validator
