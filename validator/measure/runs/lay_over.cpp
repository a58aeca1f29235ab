#include "validator/measure/runs/lay_over.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "validator/measure/runs/work_keys.h"

namespace hexaplan::validator {

using costmodel::MeasuredRun;
using costmodel::MeasuredStep;
using costmodel::PlacedOperation;
using costmodel::WorkKind;

namespace {

/// Of what has no shape to be known by.
constexpr int kNoKey = -1;

/// Something that runs, on either side.
struct Timed {
  double begin, end;
  WorkKind kind;
  int key;
};

/// Runs of one side, and the key of each.
struct Side {
  std::vector<LaidRun> runs;
  std::vector<int> keys;
};

bool is_anchor(WorkKind kind) {
  return kind == WorkKind::Gemm || kind == WorkKind::Message || kind == WorkKind::Copy;
}

Side runs_of(const std::vector<Timed>& rows) {
  Side side;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Timed& row = rows[i];
    const bool goes_on = !side.runs.empty() && !is_anchor(row.kind) && side.runs.back().kind == row.kind;
    if (!goes_on) {
      side.runs.push_back({.begin = row.begin,
                           .end = row.end,
                           .kind = row.kind,
                           .first = static_cast<std::int32_t>(i),
                           .count = 0});
      side.keys.push_back(row.key);
    }
    LaidRun& run = side.runs.back();
    run.end = std::max(run.end, row.end);
    run.busy += row.end - row.begin;
    ++run.count;
  }
  return side;
}

void join(Side& a, std::size_t i, Side& b, std::size_t j) {
  a.runs[i].partner = static_cast<std::int32_t>(j);
  b.runs[j].partner = static_cast<std::int32_t>(i);
}

/// The nth of a key is the nth of that key.
void join_by_keys(Side& predicted, Side& measured) {
  std::map<int, std::vector<std::size_t>> waiting;
  for (std::size_t i = 0; i < predicted.runs.size(); ++i) {
    if (predicted.keys[i] != kNoKey) waiting[predicted.keys[i]].push_back(i);
  }
  std::map<int, std::size_t> taken;
  for (std::size_t j = 0; j < measured.runs.size(); ++j) {
    const auto found = waiting.find(measured.keys[j]);
    if (measured.keys[j] == kNoKey || found == waiting.end()) continue;
    std::size_t& next = taken[measured.keys[j]];
    if (next < found->second.size()) join(predicted, found->second[next++], measured, j);
  }
}

std::vector<std::size_t> attentions_of(const Side& side) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < side.runs.size(); ++i) {
    if (side.runs[i].kind == WorkKind::Attention) found.push_back(i);
  }
  return found;
}

bool has_partner(const Side& side) {
  return std::any_of(side.runs.begin(), side.runs.end(), [](const LaidRun& run) { return run.partner >= 0; });
}

/// Only where something else was recognised: attention alone tells no model from another.
void join_attentions(Side& predicted, Side& measured) {
  const std::vector<std::size_t> ours = attentions_of(predicted), theirs = attentions_of(measured);
  if (ours.size() != theirs.size() || !has_partner(measured)) return;
  for (std::size_t i = 0; i < ours.size(); ++i) join(predicted, ours[i], measured, theirs[i]);
}

/// From two runs on, one side's and the other's, for as long as they are of the same kind and nothing that is
/// recognised otherwise comes: runs of a kind never follow each other.
void join_from(Side& predicted, std::size_t i, Side& measured, std::size_t j) {
  for (; i < predicted.runs.size() && j < measured.runs.size(); ++i, ++j) {
    const LaidRun &theirs = measured.runs[j], &ours = predicted.runs[i];
    if (is_anchor(theirs.kind) || theirs.kind != ours.kind || theirs.partner >= 0 || ours.partner >= 0)
      return;
    join(predicted, i, measured, j);
  }
}

/// What runs before everything that was recognised, and behind each of it.
void join_between(Side& predicted, Side& measured) {
  if (has_partner(measured)) join_from(predicted, 0, measured, 0);
  for (std::size_t j = 0; j < measured.runs.size(); ++j) {
    const LaidRun& run = measured.runs[j];
    if (run.partner < 0 || run.kind == WorkKind::MemoryBound) continue;
    join_from(predicted, static_cast<std::size_t>(run.partner) + 1, measured, j + 1);
  }
}

void join_lane(OverlaidLane& lane, const std::vector<Timed>& operations, const std::vector<Timed>& kernels) {
  Side predicted = runs_of(operations), measured = runs_of(kernels);
  join_by_keys(predicted, measured);
  join_attentions(predicted, measured);
  join_between(predicted, measured);
  lane.predicted = std::move(predicted.runs);
  lane.measured = std::move(measured.runs);
}

WorkLane lane_of(WorkKind kind) {
  if (kind == WorkKind::Message) return WorkLane::Messages;
  return kind == WorkKind::Copy ? WorkLane::Copies : WorkLane::Compute;
}

class Matcher {
 public:
  Matcher(const costmodel::Scenario& scenario, Overlay& overlay) : scenario_{scenario}, overlay_{overlay} {}

  void take(const std::vector<PlacedOperation>& placed) {
    for (const PlacedOperation& row : placed) {
      const costmodel::Operation& op = overlay_.operations[static_cast<std::size_t>(row.operation)];
      const auto kind = work_kind_of(op.kind);
      if (!kind) continue;  // the host's
      const auto lane = static_cast<std::size_t>(lane_of(*kind));
      predicted_[lane].push_back({row.begin.value(), row.end.value(), *kind, key_of(op)});
      overlay_.lanes[lane].operations.push_back(row);
    }
  }

  void take(const MeasuredStep& step) {
    for (const MeasuredRun& run : step.runs) {
      const auto lane = static_cast<std::size_t>(lane_of(run.kind));
      measured_[lane].push_back({run.begin, run.end, run.kind, key_of(step, run)});
      overlay_.lanes[lane].kernels.push_back(run);
    }
  }

  void match() {
    for (std::size_t lane = 0; lane < kWorkLanes; ++lane)
      join_lane(overlay_.lanes[lane], predicted_[lane], measured_[lane]);
    overlay_.matched = matched_share();
  }

 private:
  [[nodiscard]] int key_of(const costmodel::Operation& op) {
    if (work_kind_of(op.kind) == WorkKind::Gemm)
      return keys_.of(gemm_key_of(op.gemm.m, op.gemm.n, op.gemm.k, op.gemm.batch));
    const auto message = message_key_of(scenario_, op);
    return message ? keys_.of(*message) : kNoKey;
  }
  [[nodiscard]] int key_of(const MeasuredStep& step, const MeasuredRun& run) {
    if (run.shape < 0) return kNoKey;
    const auto shape = static_cast<std::size_t>(run.shape);
    if (run.kind == WorkKind::Gemm) {
      const costmodel::MeasuredGemm& gemm = step.gemms[shape];
      return keys_.of(gemm_key_of(gemm.m, gemm.n, gemm.k, gemm.batch));
    }
    const costmodel::MeasuredMessage& message = step.messages[shape];
    return keys_.of(MessageKey{message.kind, message.ranks, message.bytes});
  }

  [[nodiscard]] double matched_share() const {
    double all = 0, matched = 0;
    for (std::size_t lane = 0; lane < kWorkLanes; ++lane) {
      for (const LaidRun& run : overlay_.lanes[lane].measured) {
        const bool known = measured_[lane][static_cast<std::size_t>(run.first)].key != kNoKey;
        if (!known) continue;
        all += run.busy;
        if (run.partner >= 0) matched += run.busy;
      }
    }
    return all > 0 ? matched / all : 0;
  }

  const costmodel::Scenario& scenario_;
  Overlay& overlay_;
  WorkKeys keys_;
  std::array<std::vector<Timed>, kWorkLanes> predicted_, measured_;
};

}  // namespace

Overlay lay_over(const costmodel::Scenario& scenario, costmodel::StageOperations predicted,
                 double predicted_step, MeasuredStep measured) {
  Overlay overlay{.operations = std::move(predicted.operations),
                  .predicted_step = predicted_step,
                  .measured_step = measured.seconds};
  Matcher matcher{scenario, overlay};
  for (const auto* placed : {&predicted.computes, &predicted.messages, &predicted.copies})
    matcher.take(*placed);
  matcher.take(measured);
  matcher.match();
  overlay.names = std::move(measured.names);
  return overlay;
}

}  // namespace hexaplan::validator
