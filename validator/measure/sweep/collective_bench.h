#pragma once
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "validator/executor/communicator/communicator.h"
#include "validator/executor/device/device.h"
#include "validator/measure/sweep/kernel_bench.h"
#include "validator/measure/sweep/point.h"

namespace hexaplan::validator {

/// Times of collectives over groups of a world, one or several at once. One object per rank; every rank makes
/// the same calls in the same order.
class CollectiveBench {
 public:
  CollectiveBench(Device& device, Communicator& world, const BenchOptions& options);

  /// Seconds per call, every sample that of the slowest rank of all groups; the same on all ranks. An Overlap
  /// point gives the time of its GEMM while the collective runs. Throws RankFault.
  [[nodiscard]] std::vector<double> measure(const Point& point);

 private:
  struct Buffers {
    Tensor in, out;
  };
  /// What a rank is part of.
  struct Groups {
    std::unique_ptr<Communicator> own;
    std::unique_ptr<Communicator> of_all;  // ranks that measure; nullptr: the world, or the one group
    bool measures = false;
  };
  using Shape = std::array<int, 3>;  // ranks, stride, groups
  [[nodiscard]] const Groups& groups_of(const Point& point);
  [[nodiscard]] Communicator& all_of(const Groups& groups, const Point& point);
  [[nodiscard]] Buffers allocate(const Point& point);
  [[nodiscard]] Work start(Communicator& group, const Point& point, const Buffers& buffers);
  void bring_together();
  [[nodiscard]] double call(Communicator& group, const Point& point, const Buffers& buffers, int repeats);
  [[nodiscard]] double multiply(const Point& point, int times);
  [[nodiscard]] int messages_beside(const Point& point, double once);
  [[nodiscard]] double overlapped(Communicator& group, const Point& point, const Buffers& buffers,
                                  int messages);
  [[nodiscard]] std::vector<double> sample(Communicator& group, const Point& point);

  Device& device_;
  Communicator& world_;
  BenchOptions options_;
  std::map<Shape, Groups> groups_;
  Communicator* all_ = nullptr;  // ranks that measure the point under way
  Tensor gemm_operands_, gemm_result_, meeting_;
};

}  // namespace hexaplan::validator
