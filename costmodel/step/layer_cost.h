#pragma once
#include <array>
#include <cstddef>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/communication/collective_time.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Time of one pass over something, by cause. Communication is what stays exposed.
struct PassCost {
  Seconds gemm, attention, memory_bound, launch;
  Seconds tensor, context, expert;
  Seconds offload;  // copies to or from the host
  [[nodiscard]] constexpr Seconds compute() const { return gemm + attention + memory_bound + launch; }
  [[nodiscard]] constexpr Seconds total() const { return compute() + tensor + context + expert + offload; }
  PassCost& operator+=(const PassCost& other);
  friend PassCost operator*(PassCost cost, double factor);
};

/// Forward, backward and recomputation of one layer (or of the embedding or the head) for one micro-batch.
struct LayerCost {
  PassCost forward, backward, recomputed;
  Seconds
      weight_gradient;  // share of backward that only makes weight gradients (zero-bubble schedules delay it)
  Flops flops, recomputed_flops;
  LayerCost& operator+=(const LayerCost& other);
  friend LayerCost operator*(LayerCost cost, double factor);
  [[nodiscard]] constexpr Seconds total() const {
    return forward.total() + backward.total() + recomputed.total();
  }
};

/// What the host does for one pass.
struct HostWork {
  Seconds issuing;  // launches, modules, autograd
  Seconds moving;   // data of collectives between nodes (NCCL's proxy threads), while it issues nothing
  /// How much later than the device it is done; negative: how far it gets ahead.
  [[nodiscard]] constexpr Seconds behind(const PassCost& device) const {
    return issuing - (device.total() - moving);
  }
};

/// Operations with what each takes by itself. Of collectives that is known where the ranks' places are: zero.
struct TimedOperations {
  std::vector<Operation> operations;
  std::vector<Seconds> times;
};

/// Prices operations for one scenario; placements of the groups are looked up once.
class Pricer {
 public:
  Pricer(const Scenario& scenario, const Calibration& calibration);
  /// Device time of one operation run `op.count` times, nothing hidden.
  [[nodiscard]] Seconds time_of(const Operation& op) const;
  [[nodiscard]] Seconds collective(CollectiveKind kind, Bytes payload, Group group) const;
  [[nodiscard]] const GroupPlacement& placement_of(Group group) const {
    return placements_[static_cast<std::size_t>(group)];
  }
  /// Neighbours in the pipeline lie in different nodes.
  [[nodiscard]] bool pipeline_crosses_network() const { return pipeline_crosses_network_; }
  /// Host time of a collective beyond its launch, in runs whose pipeline crosses nodes.
  [[nodiscard]] Seconds collective_host(const Operation& op) const;
  /// The same for every placement of the groups.
  [[nodiscard]] TimedOperations timed(std::vector<Operation> operations) const;
  /// Everything that runs for one micro-batch; `forward_host` and `backward_host` are spent beside launches.
  [[nodiscard]] LayerCost price(const TimedOperations& timed, Seconds forward_host = {},
                                Seconds backward_host = {}) const;

 private:
  [[nodiscard]] double merged_share(const Operation& op) const;
  [[nodiscard]] bool gathers_tokens(const Operation& op) const;
  [[nodiscard]] Seconds gathered_tokens(const Operation& op) const;
  [[nodiscard]] bool crosses_network(Group group) const;
  [[nodiscard]] Seconds host_time(const Operation& op) const;
  [[nodiscard]] Seconds exposed(const TimedOperations& timed, std::size_t at, Seconds time) const;
  void add(const Operation& op, Seconds time, PassCost& cost, HostWork& host) const;
  void hide_ring(PassCost& cost) const;
  static void hide_copies(PassCost& cost);
  static void wait_for_host(LayerCost& cost, const HostWork& forward, const HostWork& backward);

  const Scenario& scenario_;
  const Calibration& calibration_;
  double slowest_;  // time of the slowest GPU over a usual one's
  std::array<GroupPlacement, kGroupCount> placements_;
  std::array<Seconds, kGroupCount> collective_host_{};  // of one call, all members together
  double tensor_overlap_, host_share_;
  bool tensor_backward_overlap_;
  bool tensor_crosses_network_ = false, pipeline_crosses_network_ = false;
};

}  // namespace hexaplan::costmodel
