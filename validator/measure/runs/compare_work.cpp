#include "validator/measure/runs/compare_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "costmodel/step/largest.h"
#include "costmodel/units/format_units.h"
#include "validator/measure/runs/work_keys.h"

namespace hexaplan::validator {
namespace {

using costmodel::CollectiveKind;
using costmodel::MeasuredGemm;
using costmodel::MeasuredMessage;
using costmodel::MeasuredWork;
using costmodel::PricedOperation;
using costmodel::WorkKind;

constexpr std::size_t kNamesShown = 4;

std::string_view word_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "all_reduce";
    case CollectiveKind::AllGather:
      return "all_gather";
    case CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    case CollectiveKind::AllToAll:
      return "all_to_all";
    case CollectiveKind::SendRecv:
      return "send_recv";
    default:
      return "broadcast";
  }
}

/// One side or both of what is compared.
struct MatchedSides {
  ComparedOperation operation;
  std::vector<std::string_view> names;
};

void add_name(std::vector<std::string_view>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", names[i]);
  return names.size() > kNamesShown ? text + ", …" : text;
}

void finish(std::vector<ComparedOperation>& operations, MatchedSides pair) {
  pair.operation.name = joined(pair.names);
  operations.push_back(std::move(pair.operation));
}

MatchedSides& gemm_pair(std::map<GemmKey, MatchedSides>& pairs, const GemmKey& key) {
  MatchedSides& pair = pairs[key];
  pair.operation.kind = WorkKind::Gemm;
  pair.operation.flops = 2.0 * static_cast<double>(key[0]) * static_cast<double>(key[1]) *
                         static_cast<double>(key[2]) * static_cast<double>(key[3]);
  pair.operation.shape = key[3] == 1 ? fmt::format("{} x {} x {}", key[0], key[1], key[2])
                                     : fmt::format("{} of {} x {} x {}", key[3], key[0], key[1], key[2]);
  return pair;
}

void compare_gemms(const std::vector<PricedOperation>& predicted, const MeasuredWork& measured,
                   std::vector<ComparedOperation>& operations) {
  std::map<GemmKey, MatchedSides> pairs;
  for (const PricedOperation& priced : predicted) {
    if (work_kind_of(priced.operation.kind) != WorkKind::Gemm) continue;
    const costmodel::GemmShape& shape = priced.operation.gemm;
    MatchedSides& pair = gemm_pair(pairs, gemm_key_of(shape.m, shape.n, shape.k, shape.batch));
    pair.operation.predicted += priced.per_step.value();
    pair.operation.predicted_runs += priced.runs;
    add_name(pair.names, priced.operation.name);
  }
  for (const MeasuredGemm& gemm : measured.gemms) {
    MatchedSides& pair = gemm_pair(pairs, gemm_key_of(gemm.m, gemm.n, gemm.k, gemm.batch));
    pair.operation.measured += gemm.seconds;
    pair.operation.measured_runs += gemm.runs;
  }
  for (auto& [key, pair] : pairs) finish(operations, std::move(pair));
}

using MessagePair = std::pair<MessageKey, MatchedSides>;

MatchedSides& message_pair(std::vector<MessagePair>& pairs, const MessageKey& key) {
  const auto found = std::find_if(pairs.begin(), pairs.end(),
                                  [&](const MessagePair& other) { return other.first.matches(key); });
  if (found != pairs.end()) return found->second;
  MatchedSides& pair = pairs.emplace_back(key, MatchedSides{}).second;
  pair.operation.kind = WorkKind::Message;
  pair.operation.shape = fmt::format("{} of {} over {}", word_of(key.kind),
                                     costmodel::format_binary(costmodel::Bytes{key.bytes}), key.ranks);
  return pair;
}

void compare_messages(const costmodel::Scenario& scenario, const std::vector<PricedOperation>& predicted,
                      const MeasuredWork& measured, std::vector<ComparedOperation>& operations) {
  std::vector<MessagePair> pairs;
  for (const PricedOperation& priced : predicted) {
    const auto key = message_key_of(scenario, priced.operation);
    if (!key) continue;
    MatchedSides& pair = message_pair(pairs, *key);
    pair.operation.predicted += priced.per_step.value();
    pair.operation.predicted_runs += priced.runs;
    add_name(pair.names, priced.operation.name);
  }
  for (const MeasuredMessage& message : measured.messages) {
    MatchedSides& pair = message_pair(pairs, {message.kind, message.ranks, message.bytes});
    pair.operation.measured += message.seconds;
    pair.operation.measured_runs += message.runs;
  }
  for (auto& [key, pair] : pairs) finish(operations, std::move(pair));
}

double matched_share(const std::vector<ComparedOperation>& operations) {
  double all = 0, matched = 0;
  for (const ComparedOperation& operation : operations) {
    all += operation.measured;
    if (operation.predicted_runs > 0) matched += operation.measured;
  }
  return all > 0 ? matched / all : 0;
}

}  // namespace

std::optional<int> stage_of_rank(const costmodel::Scenario& scenario, std::optional<std::int64_t> rank) {
  if (!rank || *rank < 0 || *rank >= scenario.layout.world_size()) return std::nullopt;
  const auto at = costmodel::coordinates_of(scenario.layout, *rank);
  return static_cast<int>(at[static_cast<std::size_t>(costmodel::Axis::Pipeline)]);
}

ComparedWork compare_work(const costmodel::Scenario& scenario, const costmodel::Calibration& calibration,
                          int stage, const MeasuredWork& measured) {
  const std::vector<PricedOperation> predicted =
      costmodel::largest_operations(scenario, calibration, stage, std::numeric_limits<std::int32_t>::max());
  ComparedWork work{.measured = measured.seconds};
  for (const PricedOperation& priced : predicted) {
    const auto kind = work_kind_of(priced.operation.kind);
    if (kind) work.predicted[static_cast<std::size_t>(*kind)] += priced.per_step.value();
  }
  compare_gemms(predicted, measured, work.operations);
  compare_messages(scenario, predicted, measured, work.operations);
  work.matched = matched_share(work.operations);
  std::stable_sort(work.operations.begin(), work.operations.end(), [](const auto& a, const auto& b) {
    return std::abs(a.measured - a.predicted) > std::abs(b.measured - b.predicted);
  });
  return work;
}

}  // namespace hexaplan::validator
