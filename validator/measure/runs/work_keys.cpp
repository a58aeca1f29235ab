#include "validator/measure/runs/work_keys.h"

#include <algorithm>
#include <cmath>

#include "costmodel/spec/rank_grid.h"

namespace hexaplan::validator {

using costmodel::OpKind;
using costmodel::WorkKind;

std::optional<WorkKind> work_kind_of(OpKind kind) {
  switch (kind) {
    case OpKind::Gemm:
    case OpKind::GroupedGemm:
      return WorkKind::Gemm;
    case OpKind::Attention:
      return WorkKind::Attention;
    case OpKind::MemoryBound:
    case OpKind::Scan:
      return WorkKind::MemoryBound;
    case OpKind::Collective:
      return WorkKind::Message;
    case OpKind::Copy:
      return WorkKind::Copy;
    default:
      return std::nullopt;
  }
}

GemmKey gemm_key_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch) {
  GemmKey key{m, n, k, batch};
  std::sort(key.begin(), key.begin() + 3);
  return key;
}

bool MessageKey::matches(const MessageKey& other) const {
  constexpr double kSizeTolerance = 0.01;
  return kind == other.kind && ranks == other.ranks &&
         std::abs(other.bytes - bytes) <= kSizeTolerance * std::max(other.bytes, bytes);
}

std::optional<MessageKey> message_key_of(const costmodel::Scenario& scenario,
                                         const costmodel::Operation& op) {
  if (op.kind != OpKind::Collective || op.group == costmodel::Group::ShardNode) return std::nullopt;
  const bool pair = op.collective == costmodel::CollectiveKind::SendRecv;
  return MessageKey{op.collective, pair ? 2 : costmodel::group_size(scenario.layout, op.group),
                    op.payload.value()};
}

int WorkKeys::of(const GemmKey& key) {
  const auto [found, added] = gemms_.try_emplace(key, next_);
  if (added) ++next_;
  return found->second;
}

int WorkKeys::of(const MessageKey& key) {
  const auto found = std::find_if(messages_.begin(), messages_.end(),
                                  [&](const auto& known) { return known.first.matches(key); });
  if (found != messages_.end()) return found->second;
  messages_.emplace_back(key, next_);
  return next_++;
}

}  // namespace hexaplan::validator
