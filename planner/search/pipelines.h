#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::planner {

/// By n: the first n layers of each chunk of a stage. Only where some choice recomputes a number of layers.
using LayersByCount = std::vector<costmodel::LayersByClass>;

/// Stages with equal content, which differ in memory only by their micro-batches in flight.
struct StageGroup {
  costmodel::StagePlan plan;
  LayersByCount first;
  std::vector<int> members;
  friend bool operator==(const StageGroup&, const StageGroup&) = default;
};

/// How a pipeline deals the model's layers, nothing recomputed.
struct Pipeline {
  std::vector<StageGroup> groups;
  std::size_t plan = 0;  // pipelines of as many stages with equal groups, embedding and head share it
  int least_chunk = 0, most_chunk = 0;  // layers of the smallest and of the largest chunk
  bool separates_ends = false;
  bool chunks_differ = false;
  bool refinable = false;  // can_be_refined
};

/// What a stage runs before its first backward pass. Of a group: of the member that runs most.
struct WarmUp {
  struct Forwards {
    costmodel::StagePlan chunk;
    LayersByCount first;
    int count = 0;
  };
  std::vector<Forwards> chunks;  // those alike are one
  int layers = 0;                // that run, all forward passes together
};
using WarmUps = std::vector<WarmUp>;  // by stage group

/// Pipelines of one hardware option, which do not depend on how the other ranks are dealt: units share them.
/// For any thread. Scenarios that ask have the degree, the schedule, chunks and split of the pipeline, and
/// recompute nothing.
class Pipelines {
 public:
  /// A pipeline degree and an option of those in a Space, by their positions.
  struct Key {
    std::uint16_t pp = 0, option = 0;
    friend auto operator<=>(const Key&, const Key&) = default;  // NOLINT(modernize-use-nullptr)
  };
  /// `counts_layers`: whether some choice recomputes a number of layers.
  explicit Pipelines(bool counts_layers) : counts_layers_{counts_layers} {}

  [[nodiscard]] const Pipeline& of(const costmodel::Scenario& scenario, Key key);
  /// Micro-batches in flight by stage group: the most of its members.
  [[nodiscard]] const std::vector<double>& in_flight(const costmodel::Scenario& scenario, Key key);
  [[nodiscard]] const WarmUps& warm_ups(const costmodel::Scenario& scenario, Key key);

 private:
  template <class Made>
  using By = std::map<std::pair<Key, std::int64_t>, std::unique_ptr<const Made>>;  // and micro-batches
  template <class Made, class Make>
  const Made& known(By<Made>& made, Key key, std::int64_t microbatches, const Make& make);
  [[nodiscard]] std::vector<StageGroup> groups_of(const costmodel::Scenario& scenario) const;
  [[nodiscard]] WarmUps make_warm_ups(const costmodel::Scenario& scenario, const Pipeline& pipe,
                                      int microbatches) const;

  const bool counts_layers_;
  std::mutex mutex_;
  std::map<Key, std::unique_ptr<const Pipeline>> pipelines_;
  By<std::vector<double>> in_flight_;
  By<WarmUps> warm_ups_;
};

}  // namespace hexaplan::planner
