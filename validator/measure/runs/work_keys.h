#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "costmodel/calibrate/measured_work.h"
#include "costmodel/compute/operation.h"
#include "costmodel/spec/scenario.h"

// By what measured work is recognised in a prediction: one rule for sums and for timelines.
namespace hexaplan::validator {

/// The kind of work that a rank of a device does for an operation; nothing for what the host does.
[[nodiscard]] std::optional<costmodel::WorkKind> work_kind_of(costmodel::OpKind kind);

/// Dimensions of a product in order, then the batch: a product and its two gradients share them.
using GemmKey = std::array<std::int64_t, 4>;
[[nodiscard]] GemmKey gemm_key_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch);

/// Kind and group of a message, and about its size.
struct MessageKey {
  costmodel::CollectiveKind kind = costmodel::CollectiveKind::AllReduce;
  std::int64_t ranks = 0;
  double bytes = 0;
  /// The same kind and ranks, and sizes within 1 %.
  [[nodiscard]] bool matches(const MessageKey& other) const;
};
/// Of a predicted collective; nothing for those of a part of a group that the layout does not know.
[[nodiscard]] std::optional<MessageKey> message_key_of(const costmodel::Scenario& scenario,
                                                       const costmodel::Operation& op);

/// Numbers of products and messages: the same for those that match.
class WorkKeys {
 public:
  [[nodiscard]] int of(const GemmKey& key);
  [[nodiscard]] int of(const MessageKey& key);

 private:
  std::map<GemmKey, int> gemms_;
  std::vector<std::pair<MessageKey, int>> messages_;
  int next_ = 0;
};

}  // namespace hexaplan::validator
