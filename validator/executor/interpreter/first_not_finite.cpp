#include "validator/executor/interpreter/first_not_finite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

namespace hexaplan::validator {
namespace {

namespace program = costmodel::program;
using program::Kind;

/// Numbers that come to the host at a time.
constexpr std::int64_t kChunk = std::int64_t{1} << 20;

/// A row that sees no key has a log-sum-exp of −∞, one without columns such a maximum.
bool may_be_minus_infinity(Kind kind) {
  constexpr std::array kKinds{Kind::Attend, Kind::AttendBlocks, Kind::LossMaxima};
  return std::find(kKinds.begin(), kKinds.end(), kind) != kKinds.end();
}

/// What stays of an operation's results: blocks of a ring have room of their own beside them, which they fill
/// in part.
std::size_t results_of(const program::Op& op) {
  const bool block = op.kind == Kind::AttendBlocks || op.kind == Kind::AttendBlocksBack;
  return block ? costmodel::position(op.in_place) : op.writes.size();
}

int depth_of(const Operation& o) {
  const auto layers = static_cast<int>(o.model().layers);
  const int unit = o.weights.unit->index();
  const int from_below = unit >= 0 ? unit + 1 : unit == UnitPlan::kEmbedding ? 0 : layers + 1;
  return o.op.phase == program::Phase::Forward ? from_below : layers + 1 - from_below;
}

const char* pass_words(const program::Op& op) {
  if (op.recomputed) return "recomputation";
  return op.phase == program::Phase::Forward ? "forward" : "backward";
}

std::string unit_words(int unit) {
  if (unit >= 0) return fmt::format("layer {}", unit);
  if (unit == UnitPlan::kFinalNorm) return "the final norm";
  return unit == UnitPlan::kEmbedding ? "the embedding" : "the output layer";
}

}  // namespace

StepPlace place_of(const Operation& o) {
  const int unit = o.weights.unit->index();
  return {.text = fmt::format("{} of {} ({}, micro-batch {})", o.name(), unit_words(unit), pass_words(o.op),
                              o.rank.microbatch),
          .operation = std::string{o.name()},
          .layer = std::max(unit, -1),
          .microbatch = o.rank.microbatch};
}

void FirstNotFinite::look(const Operation& o, std::size_t at) {
  NotFiniteOrigin here{.microbatch = o.rank.microbatch,
                       .phase = static_cast<int>(o.op.phase),
                       .depth = depth_of(o),
                       .op = static_cast<int>(at)};
  if (found_ && *found_ < here) return;
  if (!writes_not_finite(o)) return;
  here.place = place_of(o);
  if (o.op.weight >= 0 && holds_not_finite(o.rank.device, o.weight(), false))
    here.place.text += ", whose parameters were not finite before";
  found_ = std::move(here);
}

bool FirstNotFinite::writes_not_finite(const Operation& o) {
  const bool minus = may_be_minus_infinity(o.op.kind);
  for (std::size_t i = 0; i < results_of(o.op); ++i) {
    const program::ValueId id = o.op.writes[i];
    const program::Type type = o.program().of(id).shape.type;
    if (type == program::Type::Int32 || type == program::Type::Byte) continue;
    if (holds_not_finite(o.rank.device, o.frame.view(id), minus)) return true;
  }
  const bool adds_to_gradient = o.op.kind == Kind::MatmulWeight;
  return adds_to_gradient && o.op.weight >= 0 && holds_not_finite(o.rank.device, o.weight_gradient(), false);
}

bool FirstNotFinite::holds_not_finite(Device& device, const View& view, bool may_be_minus_infinity) {
  if (view.data == nullptr || view.elements() == 0 || view.element == Element::I32) return false;
  const auto wrong = [&](double value) {
    const bool allowed = may_be_minus_infinity && value == -std::numeric_limits<double>::infinity();
    return !std::isfinite(value) && !allowed;
  };
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, kChunk / view.cols);
  for (std::int64_t row = 0; row < view.rows; row += rows_at_once) {
    const View part = view.row_range(row, std::min(rows_at_once, view.rows - row));
    values_.resize(static_cast<std::size_t>(part.elements()));
    device.download(values_, part);
    if (std::any_of(values_.begin(), values_.end(), wrong)) return true;
  }
  return false;
}

std::optional<int> rank_of_earliest(Communicator& world, const std::optional<NotFiniteOrigin>& mine) {
  using Order = std::array<int, 4>;
  Order order{};
  if (mine) order = {mine->microbatch, mine->phase, mine->depth, mine->op};
  const auto bytes = std::as_bytes(std::span{order});
  std::optional<std::pair<Order, int>> earliest;
  int rank = 0;
  for (const std::vector<std::byte>& theirs :
       world.gather_bytes(mine ? bytes : std::span<const std::byte>{})) {
    if (theirs.size() == sizeof order) {
      std::memcpy(order.data(), theirs.data(), sizeof order);
      if (!earliest || order < earliest->first) earliest = {order, rank};
    }
    ++rank;
  }
  return earliest ? std::optional{earliest->second} : std::nullopt;
}

}  // namespace hexaplan::validator
