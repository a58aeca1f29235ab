#include "gui/plot/simulation_views.h"

#include <QCoreApplication>
#include <algorithm>
#include <array>

#include "costmodel/simulate/critical_path.h"
#include "costmodel/simulate/simulation.h"

namespace hexaplan::gui {
namespace {

using costmodel::Span;
using costmodel::SpanKind;
using costmodel::Stream;

struct KindRow {
  SpanKind kind;
  const char* name;
  Ink ink;  // of communication: of its hidden part
};
constexpr std::array<KindRow, costmodel::kSpanKinds> kKinds{{
    {SpanKind::Forward, QT_TRANSLATE_NOOP("SpanKind", "forward"), Ink::Forward},
    {SpanKind::Backward, QT_TRANSLATE_NOOP("SpanKind", "backward"), Ink::Backward},
    {SpanKind::BackwardInput, QT_TRANSLATE_NOOP("SpanKind", "backward, inputs"), Ink::BackwardInput},
    {SpanKind::BackwardWeight, QT_TRANSLATE_NOOP("SpanKind", "backward, weights"), Ink::BackwardWeight},
    {SpanKind::Recompute, QT_TRANSLATE_NOOP("SpanKind", "recomputation"), Ink::Recompute},
    {SpanKind::Collective, QT_TRANSLATE_NOOP("SpanKind", "collectives of layers"), Ink::HiddenCommunication},
    {SpanKind::SendForward, QT_TRANSLATE_NOOP("SpanKind", "activations sent"), Ink::HiddenCommunication},
    {SpanKind::SendBackward, QT_TRANSLATE_NOOP("SpanKind", "gradients sent"), Ink::HiddenCommunication},
    {SpanKind::GradientReduce, QT_TRANSLATE_NOOP("SpanKind", "gradient reduction"), Ink::HiddenCommunication},
    {SpanKind::ParameterGather, QT_TRANSLATE_NOOP("SpanKind", "parameter gathering"),
     Ink::HiddenCommunication},
    {SpanKind::Optimizer, QT_TRANSLATE_NOOP("SpanKind", "optimizer"), Ink::OptimizerStep},
    {SpanKind::Host, QT_TRANSLATE_NOOP("SpanKind", "host"), Ink::Host},
    {SpanKind::OuterReduce, QT_TRANSLATE_NOOP("SpanKind", "outer gradients"), Ink::OuterGradients},
}};
constexpr std::array<const char*, costmodel::kStreams> kStreamNames{
    QT_TRANSLATE_NOOP("Stream", "compute"), QT_TRANSLATE_NOOP("Stream", "layers' comm."),
    QT_TRANSLATE_NOOP("Stream", "messages"), QT_TRANSLATE_NOOP("Stream", "data parallel")};

TimelineSpan plain(const Span& span) {
  const auto kind = static_cast<std::size_t>(span.kind);
  return {span.begin.value(), span.end.value(), span.microbatch,
          span.chunk,         kKinds[kind].ink, static_cast<std::uint8_t>(kind)};
}

/// Cuts communication where compute begins and ends: what runs beside compute is hidden, the rest exposed.
/// Outer steps, which nothing runs beside, stay whole.
void appendCut(const Span& span, const std::vector<Span>& compute, std::size_t& next,
               std::vector<TimelineSpan>& out) {
  TimelineSpan part = plain(span);
  if (part.ink != Ink::HiddenCommunication) return out.push_back(part);  // of an ink of its own
  const double end = part.end;
  const auto add = [&](double until, Ink ink) {
    if (until <= part.begin) return;
    part.end = until;
    part.ink = ink;
    out.push_back(part);
    part.begin = until;
  };
  while (next < compute.size() && compute[next].end.value() <= part.begin) ++next;
  for (std::size_t i = next; i < compute.size() && compute[i].begin.value() < end; ++i) {
    add(std::min(compute[i].begin.value(), end), Ink::ExposedCommunication);
    add(std::min(compute[i].end.value(), end), Ink::HiddenCommunication);
  }
  add(end, Ink::ExposedCommunication);
}

/// Whether `next` goes on where `part` of the same span ended.
bool continues(const TimelineSpan& part, const TimelineSpan& next) {
  return part.end == next.begin && part.ink == next.ink && part.what == next.what &&
         part.microbatch == next.microbatch && part.chunk == next.chunk;
}

/// Neighbouring parts of one span with one ink become one again.
void joinParts(std::vector<TimelineSpan>& spans) {
  std::size_t kept = 0;
  for (const TimelineSpan& span : spans) {
    if (kept > 0 && continues(spans[kept - 1], span)) {
      spans[kept - 1].end = span.end;
    } else {
      spans[kept++] = span;
    }
  }
  spans.resize(kept);
}

/// Collectives that compute waits for stand in its own lane as well: what is left of the gaps is bubble.
void fillWaits(const costmodel::StageTimeline& stage, TimelineLane& compute) {
  const auto& spans = stage.streams[static_cast<std::size_t>(Stream::Compute)];
  std::vector<TimelineSpan> waits;
  std::size_t next = 0;
  for (const Span& span : stage.streams[static_cast<std::size_t>(Stream::Collectives)]) {
    appendCut(span, spans, next, waits);
  }
  std::erase_if(waits, [](const TimelineSpan& part) { return part.ink != Ink::ExposedCommunication; });
  joinParts(waits);
  const auto middle = static_cast<std::ptrdiff_t>(compute.spans.size());
  compute.spans.insert(compute.spans.end(), waits.begin(), waits.end());
  std::inplace_merge(compute.spans.begin(), compute.spans.begin() + middle, compute.spans.end(),
                     [](const TimelineSpan& a, const TimelineSpan& b) { return a.begin < b.begin; });
}

TimelineLane laneOf(const costmodel::StageTimeline& stage, int number, std::size_t stream) {
  const auto& compute = stage.streams[static_cast<std::size_t>(Stream::Compute)];
  const bool computes = stream == static_cast<std::size_t>(Stream::Compute);
  TimelineLane lane;
  lane.label = QCoreApplication::translate("Stream", kStreamNames[stream]);
  lane.stage = number;
  lane.idle_is_bubble = computes;
  lane.weight = computes ? 2 : 1;
  lane.spans.reserve(stage.streams[stream].size());
  std::size_t next = 0;
  for (const Span& span : stage.streams[stream]) {
    if (computes) {
      lane.spans.push_back(plain(span));
    } else {
      appendCut(span, compute, next, lane.spans);
    }
  }
  if (computes) {
    fillWaits(stage, lane);
  } else {
    joinParts(lane.spans);
  }
  return lane;
}

constexpr std::array kInkNames{
    InkName{Ink::Forward, QT_TRANSLATE_NOOP("Timeline", "forward")},
    InkName{Ink::Backward, QT_TRANSLATE_NOOP("Timeline", "backward")},
    InkName{Ink::BackwardWeight, QT_TRANSLATE_NOOP("Timeline", "backward, weights")},
    InkName{Ink::Recompute, QT_TRANSLATE_NOOP("Timeline", "recomputation")},
    InkName{Ink::OptimizerStep, QT_TRANSLATE_NOOP("Timeline", "optimizer")},
    InkName{Ink::OuterGradients, QT_TRANSLATE_NOOP("Timeline", "outer gradients")},
    InkName{Ink::Host, QT_TRANSLATE_NOOP("Timeline", "host")},
    InkName{Ink::HiddenCommunication, QT_TRANSLATE_NOOP("Timeline", "communication beside compute")},
    InkName{Ink::ExposedCommunication, QT_TRANSLATE_NOOP("Timeline", "exposed communication")},
    InkName{Ink::Bubble, QT_TRANSLATE_NOOP("Timeline", "bubble")}};

/// The critical path, by lanes.
std::vector<TimelineData::PathBox> boxesOf(const std::vector<costmodel::PathPart>& path,
                                           const costmodel::Simulation& simulation) {
  std::vector<TimelineData::PathBox> boxes;
  boxes.reserve(path.size());
  std::vector<std::array<int, costmodel::kStreams>> lane_of(simulation.stages.size());
  int lane = -1;
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    for (std::size_t stream = 0; stream < costmodel::kStreams; ++stream) {
      const bool drawn = stream == 0 || !simulation.stages[s].streams[stream].empty();
      lane_of[s][stream] = drawn ? ++lane : lane;
    }
  }
  for (const costmodel::PathPart& part : path) {
    boxes.push_back(
        {.lane = lane_of[static_cast<std::size_t>(part.stage)][static_cast<std::size_t>(part.stream)],
         .begin = part.span.begin.value(),
         .end = part.span.end.value(),
         .what = part.waiting ? -1 : static_cast<int>(part.span.kind)});
  }
  return boxes;
}

}  // namespace

std::shared_ptr<const TimelineData> timelineOf(const costmodel::Simulation& simulation) {
  auto data = std::make_shared<TimelineData>();
  data->end = simulation.total.value();
  for (const KindRow& row : kKinds) data->names.push_back(QCoreApplication::translate("SpanKind", row.name));
  for (std::size_t s = 0; s < simulation.stages.size(); ++s) {
    const costmodel::StageTimeline& stage = simulation.stages[s];
    for (std::size_t stream = 0; stream < stage.streams.size(); ++stream) {
      if (stream > 0 && stage.streams[stream].empty()) continue;
      data->lanes.push_back(laneOf(stage, static_cast<int>(s), stream));
    }
  }
  for (const TimelineLane& lane : data->lanes) {
    if (!lane.spans.empty()) data->end = std::max(data->end, lane.spans.back().end);
  }
  nameInks(*data, kInkNames, "Timeline");
  const std::vector<costmodel::PathPart> path = costmodel::critical_path(simulation);
  data->path = boxesOf(path, simulation);
  data->path_times = costmodel::times_of(path);
  return data;
}

MemoryCurveData memoryCurveOf(const costmodel::Simulation& simulation, int stage, costmodel::Bytes usable,
                              costmodel::Bytes device) {
  const costmodel::StageTimeline& timeline = simulation.stages[static_cast<std::size_t>(stage)];
  MemoryCurveData curve;
  curve.stage = QCoreApplication::translate("MemoryCurve", "stage %1").arg(stage);
  curve.end = simulation.total.value();
  curve.outside = timeline.outside.value();
  curve.usable = usable.value();
  curve.device = device.value();
  curve.samples.reserve(timeline.memory.size());
  for (const costmodel::MemoryPoint& point : timeline.memory) {
    curve.samples.push_back(
        {point.at.value(), point.activations.value(), (point.allocated - point.activations).value()});
  }
  return curve;
}

}  // namespace hexaplan::gui
