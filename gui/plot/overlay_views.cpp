#include "gui/plot/overlay_views.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "gui/models/number_text.h"
#include "validator/measure/runs/lay_over.h"

namespace hexaplan::gui {
namespace {

using costmodel::Group;
using costmodel::MeasuredRun;
using costmodel::PlacedOperation;
using costmodel::WorkKind;
using validator::LaidRun;
using validator::OverlaidLane;
using validator::Overlay;

/// Streams beyond these share one lane.
constexpr std::size_t kMostStreamLanes = 6;

QString say(const char* text) {
  return QCoreApplication::translate("Overlay", text);
}

constexpr std::array kLaneNames{QT_TRANSLATE_NOOP("Overlay", "kernels"),
                                QT_TRANSLATE_NOOP("Overlay", "messages"),
                                QT_TRANSLATE_NOOP("Overlay", "copies")};

Ink inkOfGroup(Group group) {
  switch (group) {
    case Group::Tensor:
    case Group::ExpertTensor:
      return Ink::TensorParallel;
    case Group::Context:
      return Ink::ContextParallel;
    case Group::Expert:
      return Ink::ExpertParallel;
    case Group::Pipeline:
      return Ink::PipelineMessages;
    default:
      return Ink::DataParallel;
  }
}

Ink inkOfWork(WorkKind kind) {
  constexpr std::array<Ink, costmodel::kWorkKinds> kInksOfWork{Ink::Gemm, Ink::Attention, Ink::MemoryBound,
                                                               Ink::ExposedCommunication, Ink::Host};
  return kInksOfWork[static_cast<std::size_t>(kind)];
}

Ink inkOfOperation(const costmodel::Operation& op) {
  if (op.update) return Ink::OptimizerStep;
  switch (op.kind) {
    case costmodel::OpKind::Gemm:
    case costmodel::OpKind::GroupedGemm:
      return Ink::Gemm;
    case costmodel::OpKind::Attention:
      return Ink::Attention;
    case costmodel::OpKind::Collective:
      return inkOfGroup(op.group);
    case costmodel::OpKind::Copy:
      return Ink::Host;
    default:
      return Ink::MemoryBound;
  }
}

/// The run that a row belongs to; runs are in the order of their rows.
const LaidRun& runOf(const std::vector<LaidRun>& runs, std::size_t row) {
  const auto next = std::upper_bound(
      runs.begin(), runs.end(), row,
      [](std::size_t index, const LaidRun& run) { return index < static_cast<std::size_t>(run.first); });
  return *std::prev(next);
}

/// Which rows of which side the spans of a lane are.
struct LaneRows {
  enum class Side : std::uint8_t { Predicted, Measured, Difference } side = Side::Predicted;
  std::size_t work = 0;  // WorkLane
  std::vector<std::int32_t> rows;
};

/// What the spans of an overlay are called.
class OverlayWords {
 public:
  OverlayWords(std::shared_ptr<const Overlay> overlay, std::vector<LaneRows> lanes)
      : overlay_{std::move(overlay)}, lanes_{std::move(lanes)} {}

  [[nodiscard]] QString label(std::size_t lane, std::size_t span) const {
    const auto& [side, work, rows] = lanes_[lane];
    const auto row = static_cast<std::size_t>(rows[span]);
    const OverlaidLane& at = overlay_->lanes[work];
    if (side == LaneRows::Side::Predicted) return operation(at.operations[row]);
    if (side == LaneRows::Side::Measured) return matchedName(at, runOf(at.measured, row), at.kernels[row]);
    const LaidRun& run = at.measured[row];
    return run.partner < 0 ? QString{} : change(at.predicted[static_cast<std::size_t>(run.partner)], run);
  }

  [[nodiscard]] QString words(std::size_t lane, std::size_t span) const {
    const auto& [side, work, rows] = lanes_[lane];
    const auto row = static_cast<std::size_t>(rows[span]);
    const OverlaidLane& at = overlay_->lanes[work];
    if (side == LaneRows::Side::Predicted) return predictedWords(at, row);
    if (side == LaneRows::Side::Measured) return measuredWords(at, row);
    const LaidRun& run = at.measured[row];
    const MeasuredRun& first = at.kernels[static_cast<std::size_t>(run.first)];
    return matchedName(at, run, first) + u'\n' + bothTimes(at, run);
  }

 private:
  static QString seconds(double value) { return secondsText(costmodel::Seconds{value}); }
  static QString change(const LaidRun& predicted, const LaidRun& measured) {
    return changeText(predicted.busy, measured.busy);
  }
  [[nodiscard]] QString operation(const PlacedOperation& row) const {
    return utf8Text(overlay_->operations[static_cast<std::size_t>(row.operation)].name);
  }
  [[nodiscard]] QString kernel(const MeasuredRun& run) const {
    constexpr qsizetype kLongest = 120;
    if (run.name < 0) return say(QT_TRANSLATE_NOOP("Overlay", "kernel"));
    return QString::fromStdString(overlay_->names[static_cast<std::size_t>(run.name)]).left(kLongest);
  }
  /// The predicted operation, else the kernel.
  [[nodiscard]] QString matchedName(const OverlaidLane& at, const LaidRun& run,
                                    const MeasuredRun& first) const {
    if (run.partner < 0) return kernel(first);
    const LaidRun& ours = at.predicted[static_cast<std::size_t>(run.partner)];
    QString name = operation(at.operations[static_cast<std::size_t>(ours.first)]);
    if (ours.count > 1)
      name += QStringLiteral(" … ") +
              operation(at.operations[static_cast<std::size_t>(ours.first + ours.count - 1)]);
    return name;
  }
  [[nodiscard]] static QString bothTimes(const OverlaidLane& at, const LaidRun& measured) {
    if (measured.partner < 0)
      return say(QT_TRANSLATE_NOOP("Overlay", "measured %1; not in the prediction"))
          .arg(seconds(measured.busy));
    const LaidRun& ours = at.predicted[static_cast<std::size_t>(measured.partner)];
    return say(QT_TRANSLATE_NOOP("Overlay", "predicted %1, measured %2: %3"))
        .arg(seconds(ours.busy), seconds(measured.busy), change(ours, measured));
  }
  [[nodiscard]] static QString when(double begin, double end) {
    return say(QT_TRANSLATE_NOOP("Overlay", "from %1, for %2")).arg(seconds(begin), seconds(end - begin));
  }
  [[nodiscard]] QString predictedWords(const OverlaidLane& at, std::size_t row) const {
    const PlacedOperation& placed = at.operations[row];
    QString text = operation(placed);
    if (placed.microbatch >= 0)
      text += u'\n' + say(QT_TRANSLATE_NOOP("Overlay", "micro-batch %1")).arg(placed.microbatch);
    text += u'\n' + when(placed.begin.value(), placed.end.value());
    const LaidRun& run = runOf(at.predicted, row);
    if (run.partner < 0) return text + u'\n' + say(QT_TRANSLATE_NOOP("Overlay", "not in the trace"));
    return text + u'\n' + bothTimes(at, at.measured[static_cast<std::size_t>(run.partner)]);
  }
  [[nodiscard]] QString measuredWords(const OverlaidLane& at, std::size_t row) const {
    const MeasuredRun& run = at.kernels[row];
    const LaidRun& laid = runOf(at.measured, row);
    QString text = kernel(run) + u'\n' + when(run.begin, run.end);
    if (laid.partner >= 0) text += u'\n' + matchedName(at, laid, run);
    return text + u'\n' + bothTimes(at, laid);
  }

  std::shared_ptr<const Overlay> overlay_;
  std::vector<LaneRows> lanes_;
};

/// Makes lanes and, beside each, the rows that its spans are.
class OverlayLanes {
 public:
  explicit OverlayLanes(const Overlay& overlay) : overlay_{overlay} {}

  void add(std::size_t work) {
    const OverlaidLane& at = overlay_.lanes[work];
    if (at.operations.empty() && at.kernels.empty()) return;
    addPredicted(work, at);
    addMeasured(work, at);
    if (!at.predicted.empty() && !at.measured.empty()) addDifference(work, at);
  }

  std::vector<TimelineLane> lanes;
  std::vector<LaneRows> rows;

 private:
  void begin(std::size_t work, LaneRows::Side side, const QString& what, double weight) {
    lanes.push_back({.label = say(QT_TRANSLATE_NOOP("Overlay", "%1: %2")).arg(say(kLaneNames[work]), what),
                     .stage = static_cast<int>(work),
                     .weight = weight,
                     .spans = {}});
    rows.push_back({side, work, {}});
  }
  /// What begins before the span before it ended is cut: two of one lane never lie over each other.
  void put(double begin, double end, Ink ink, std::size_t row) {
    auto& spans = lanes.back().spans;
    if (!spans.empty()) begin = std::max(begin, spans.back().end);
    if (!(begin < end)) return;
    spans.push_back({.begin = begin, .end = end, .ink = ink});
    rows.back().rows.push_back(static_cast<std::int32_t>(row));
  }

  void addPredicted(std::size_t work, const OverlaidLane& at) {
    constexpr std::array kWays{QT_TRANSLATE_NOOP("Overlay", "predicted"),
                               QT_TRANSLATE_NOOP("Overlay", "predicted, data parallel"),
                               QT_TRANSLATE_NOOP("Overlay", "predicted, between stages")};
    for (std::size_t way = 0; way < kWays.size(); ++way) {
      bool begun = false;
      for (std::size_t i = 0; i < at.operations.size(); ++i) {
        const PlacedOperation& row = at.operations[i];
        const Ink ink = inkOfOperation(overlay_.operations[static_cast<std::size_t>(row.operation)]);
        if (wayOf(ink) != way) continue;
        if (!std::exchange(begun, true))
          begin(work, LaneRows::Side::Predicted, say(kWays[way]), way == 0 ? 2 : 1);
        put(row.begin.value(), row.end.value(), ink, i);
      }
    }
  }
  /// Messages of these run side by side: on streams of their own.
  [[nodiscard]] static std::size_t wayOf(Ink ink) {
    return ink == Ink::DataParallel ? 1 : ink == Ink::PipelineMessages ? 2 : 0;
  }

  /// A lane per stream, the busiest first.
  void addMeasured(std::size_t work, const OverlaidLane& at) {
    std::map<std::int64_t, double> busy;
    for (const MeasuredRun& run : at.kernels) busy[run.stream] += run.end - run.begin;
    std::vector<std::pair<std::int64_t, double>> streams(busy.begin(), busy.end());
    std::stable_sort(streams.begin(), streams.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    const std::size_t alone = streams.size() > kMostStreamLanes ? kMostStreamLanes - 1 : streams.size();
    std::map<std::int64_t, std::size_t> lane_of;
    for (std::size_t i = 0; i < streams.size(); ++i) lane_of[streams[i].first] = std::min(i, alone);
    for (std::size_t lane = 0; lane < std::min(streams.size(), alone + 1); ++lane) {
      begin(work, LaneRows::Side::Measured,
            lane < alone ? say(QT_TRANSLATE_NOOP("Overlay", "stream %1")).arg(streams[lane].first)
                         : say(QT_TRANSLATE_NOOP("Overlay", "other streams")),
            lane == 0 ? 2 : 1);
      for (std::size_t i = 0; i < at.kernels.size(); ++i) {
        if (lane_of[at.kernels[i].stream] == lane)
          put(at.kernels[i].begin, at.kernels[i].end, measuredInk(at, i), i);
      }
    }
  }

  [[nodiscard]] Ink measuredInk(const OverlaidLane& at, std::size_t row) const {
    const WorkKind kind = at.kernels[row].kind;
    const std::int32_t partner = runOf(at.measured, row).partner;
    if (kind != WorkKind::Message || partner < 0) return inkOfWork(kind);
    const LaidRun& ours = at.predicted[static_cast<std::size_t>(partner)];
    const PlacedOperation& placed = at.operations[static_cast<std::size_t>(ours.first)];
    return inkOfOperation(overlay_.operations[static_cast<std::size_t>(placed.operation)]);
  }

  void addDifference(std::size_t work, const OverlaidLane& at) {
    begin(work, LaneRows::Side::Difference, say(QT_TRANSLATE_NOOP("Overlay", "difference")), 1.5);
    for (std::size_t i = 0; i < at.measured.size(); ++i) {
      const LaidRun& run = at.measured[i];
      put(run.begin, run.end, differenceInk(at, run), i);
    }
  }
  [[nodiscard]] static Ink differenceInk(const OverlaidLane& at, const LaidRun& run) {
    if (run.partner < 0) return Ink::NotPredicted;
    const double predicted = at.predicted[static_cast<std::size_t>(run.partner)].busy;
    if (run.busy > predicted * (1 + kAsPredicted)) return Ink::Slower;
    return run.busy * (1 + kAsPredicted) < predicted ? Ink::Faster : Ink::AsPredicted;
  }

  const Overlay& overlay_;
};

constexpr std::array kOverlayInkNames{
    InkName{Ink::Gemm, QT_TRANSLATE_NOOP("Overlay", "products")},
    InkName{Ink::Attention, QT_TRANSLATE_NOOP("Overlay", "attention")},
    InkName{Ink::MemoryBound, QT_TRANSLATE_NOOP("Overlay", "memory-bound")},
    InkName{Ink::OptimizerStep, QT_TRANSLATE_NOOP("Overlay", "optimizer")},
    InkName{Ink::TensorParallel, QT_TRANSLATE_NOOP("Overlay", "tensor parallel")},
    InkName{Ink::ContextParallel, QT_TRANSLATE_NOOP("Overlay", "context parallel")},
    InkName{Ink::ExpertParallel, QT_TRANSLATE_NOOP("Overlay", "expert parallel")},
    InkName{Ink::PipelineMessages, QT_TRANSLATE_NOOP("Overlay", "between stages")},
    InkName{Ink::DataParallel, QT_TRANSLATE_NOOP("Overlay", "data parallel")},
    InkName{Ink::ExposedCommunication, QT_TRANSLATE_NOOP("Overlay", "other messages")},
    InkName{Ink::Host, QT_TRANSLATE_NOOP("Overlay", "copies")},
    InkName{Ink::Slower, QT_TRANSLATE_NOOP("Overlay", "slower than predicted")},
    InkName{Ink::Faster, QT_TRANSLATE_NOOP("Overlay", "faster than predicted")},
    InkName{Ink::AsPredicted, QT_TRANSLATE_NOOP("Overlay", "within 10 %")},
    InkName{Ink::NotPredicted, QT_TRANSLATE_NOOP("Overlay", "not in the prediction")}};

}  // namespace

std::shared_ptr<const TimelineData> timelineOf(const std::shared_ptr<const Overlay>& overlay) {
  OverlayLanes lanes{*overlay};
  for (std::size_t work = 0; work < validator::kWorkLanes; ++work) lanes.add(work);
  auto data = std::make_shared<TimelineData>();
  data->of_stages = false;
  data->lanes = std::move(lanes.lanes);
  data->end = std::max(overlay->predicted_step, overlay->measured_step);
  for (const TimelineLane& lane : data->lanes) {
    if (!lane.spans.empty()) data->end = std::max(data->end, lane.spans.back().end);
  }
  data->title = say(QT_TRANSLATE_NOOP("Overlay", "A measured step of %1 over a predicted one of %2."))
                    .arg(secondsText(costmodel::Seconds{overlay->measured_step}),
                         secondsText(costmodel::Seconds{overlay->predicted_step}));
  nameInks(*data, kOverlayInkNames, "Overlay");
  const auto words = std::make_shared<const OverlayWords>(overlay, std::move(lanes.rows));
  data->label = [words](std::size_t lane, std::size_t span) { return words->label(lane, span); };
  data->words = [words](std::size_t lane, std::size_t span) { return words->words(lane, span); };
  return data;
}

}  // namespace hexaplan::gui
