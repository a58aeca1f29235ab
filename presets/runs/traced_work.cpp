#include "presets/runs/traced_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "costmodel/units/format_units.h"

namespace hexaplan::presets {

using costmodel::MeasuredRun;
using costmodel::MeasuredStep;
using costmodel::WorkKind;

namespace {

constexpr double kSecondsOfTick = 1e-6;

/// Which of the prediction's kinds of work a kernel belongs to.
WorkKind work_kind_of(KernelKind kind) {
  switch (kind) {
    case KernelKind::Gemm:
      return WorkKind::Gemm;
    case KernelKind::Attention:
      return WorkKind::Attention;
    case KernelKind::Collective:
      return WorkKind::Message;
    case KernelKind::Copy:
      return WorkKind::Copy;
    default:
      return WorkKind::MemoryBound;
  }
}

/// Shapes beyond these are not looked for in the prediction: no model has so many.
constexpr std::size_t kMostShapes = 1000;

/// A message of known kind and size; runs and seconds are left open.
std::optional<costmodel::MeasuredMessage> shape_of(const TraceMessage& message) {
  const auto kind = collective_of(message);
  if (!kind || message.bytes <= 0) return std::nullopt;
  const std::int64_t ranks = *kind == costmodel::CollectiveKind::SendRecv ? 2 : message.ranks;
  return costmodel::MeasuredMessage{.kind = *kind, .ranks = ranks, .bytes = message.bytes};
}

/// Makes a step of a trace, and of each shape one entry.
class StepBuilder {
 public:
  StepBuilder(const DeviceTrace& trace, const TraceStep& step)
      : trace_{trace}, start_{step.start}, message_shapes_(trace.messages.size(), kNotLooked) {
    step_.iteration = step.iteration;
    step_.seconds = step.duration * kSecondsOfTick;
    step_.names = trace.names;
  }

  void add(const TraceKernel& kernel) {
    MeasuredRun run{.begin = (kernel.start - start_) * kSecondsOfTick,
                    .end = (kernel.start + kernel.duration - start_) * kSecondsOfTick,
                    .kind = work_kind_of(kernel.kind),
                    .name = kernel.name,
                    .stream = trace_.streams[static_cast<std::size_t>(kernel.stream)]};
    if (run.kind == WorkKind::Message) run.shape = message_shape(kernel.message);
    if (run.kind == WorkKind::Gemm) {
      if (goes_on(kernel)) {
        step_.runs[last_product_].end = run.end;
        return;
      }
      run.shape = gemm_shape(kernel.operation);
      last_product_ = step_.runs.size();
      operation_ = kernel.operation;
    }
    step_.runs.push_back(run);
  }

  MeasuredStep take() { return std::move(step_); }

 private:
  static constexpr std::int32_t kNotLooked = -2;

  /// Another kernel of the product before: split along k, and then summed.
  [[nodiscard]] bool goes_on(const TraceKernel& kernel) const {
    return kernel.operation >= 0 && kernel.operation == operation_ && last_product_ + 1 == step_.runs.size();
  }

  std::int32_t gemm_shape(std::int64_t operation) {
    const auto found = trace_.gemms.find(operation);
    if (found == trace_.gemms.end()) return -1;
    const auto [index, added] =
        gemm_shapes_.try_emplace(found->second, static_cast<std::int32_t>(step_.gemms.size()));
    const TraceGemm& gemm = found->second;
    if (added) step_.gemms.push_back({.m = gemm.m, .n = gemm.n, .k = gemm.k, .batch = gemm.batch});
    return index->second;
  }

  std::int32_t message_shape(std::int32_t message) {
    if (message < 0) return -1;
    std::int32_t& shape = message_shapes_[static_cast<std::size_t>(message)];
    if (shape != kNotLooked) return shape;
    const auto known = shape_of(trace_.messages[static_cast<std::size_t>(message)]);
    shape = known ? static_cast<std::int32_t>(step_.messages.size()) : -1;
    if (known) step_.messages.push_back(*known);
    return shape;
  }

  const DeviceTrace& trace_;
  double start_;
  MeasuredStep step_;
  std::map<TraceGemm, std::int32_t> gemm_shapes_;
  std::vector<std::int32_t> message_shapes_;
  std::size_t last_product_ = 0;
  std::int64_t operation_ = -1;
};

/// The whole trace as one step.
TraceStep whole_of(const DeviceTrace& trace) {
  TraceStep step{.start = trace.kernels.front().start};
  for (const TraceKernel& kernel : trace.kernels)
    step.duration = std::max(step.duration, kernel.start + kernel.duration - step.start);
  return step;
}

/// Of median length, among those in which something ran; a trace that is cut off may lack the end of its
/// last.
TraceStep median_step(const DeviceTrace& trace) {
  const auto runs_in = [&](const TraceStep& step) {
    const auto first =
        std::lower_bound(trace.kernels.begin(), trace.kernels.end(), step.start,
                         [](const TraceKernel& kernel, double time) { return kernel.start < time; });
    return first != trace.kernels.end() && first->start < step.start + step.duration;
  };
  std::vector<TraceStep> steps = trace.steps;
  if (trace.cut_off && steps.size() > 1) steps.pop_back();
  std::erase_if(steps, [&](const TraceStep& step) { return step.duration <= 0 || !runs_in(step); });
  if (steps.empty()) return whole_of(trace);
  const auto middle = steps.begin() + static_cast<std::ptrdiff_t>((steps.size() - 1) / 2);
  std::nth_element(steps.begin(), middle, steps.end(),
                   [](const TraceStep& a, const TraceStep& b) { return a.duration < b.duration; });
  return *middle;
}

/// How to record more.
struct RecordingAdvice {
  std::string_view mark_steps, record_shapes;
};
constexpr std::array kRecordingAdvice = {  // by Profiler
    RecordingAdvice{"call prof.step() after each", "record_shapes=True"},
    RecordingAdvice{"torch.cuda.nvtx.range(f\"iteration {i}\") around each",
                    "torch.autograd.profiler.emit_nvtx(record_shapes=True), or nsys profile "
                    "--pytorch=autograd-shapes-nvtx"}};

}  // namespace

costmodel::MeasuredWork work_of(const TraceProfile& profile) {
  costmodel::MeasuredWork work;
  for (std::size_t i = 0; i < kKernelKinds; ++i)
    work.seconds[static_cast<std::size_t>(work_kind_of(static_cast<KernelKind>(i)))] +=
        profile.kinds[i].seconds;
  for (const GemmShare& share : profile.gemms) {
    if (work.gemms.size() < kMostShapes)
      work.gemms.push_back(
          {share.gemm.m, share.gemm.n, share.gemm.k, share.gemm.batch, share.count, share.seconds});
  }
  for (const MessageShare& share : profile.messages) {
    auto message = shape_of(share.message);
    if (!message || work.messages.size() >= kMostShapes) continue;
    message->runs = share.count;
    message->seconds = share.seconds;
    work.messages.push_back(*message);
  }
  return work;
}

costmodel::MeasuredStep typical_step(const DeviceTrace& trace) {
  const TraceStep step = median_step(trace);
  StepBuilder builder{trace, step};
  for (const TraceKernel& kernel : trace.kernels) {
    if (kernel.start >= step.start && kernel.start <= step.start + step.duration) builder.add(kernel);
  }
  return builder.take();
}

std::vector<std::string> notes_of(const DeviceTrace& trace, const TraceProfile& profile) {
  std::vector<std::string> notes = trace.notes;
  const RecordingAdvice& advice = kRecordingAdvice[static_cast<std::size_t>(trace.profiler)];
  if (trace.cut_off) notes.emplace_back("the file ends in the middle: what is whole is read");
  if (!trace.on_device)
    notes.emplace_back("no device in it: operators of the CPU, each less those that it calls");
  const bool marked = std::any_of(trace.steps.begin(), trace.steps.end(),
                                  [](const TraceStep& step) { return step.duration > 0; });
  if (!marked)
    notes.push_back(
        fmt::format("no step marked in it: the whole trace counts as one step ({})", advice.mark_steps));
  const KindShare& gemms = profile.kinds[static_cast<std::size_t>(KernelKind::Gemm)];
  if (gemms.count > 0 && profile.known_gemms < 0.5 * gemms.seconds)
    notes.push_back(
        fmt::format("shapes are recorded for {} of the time of products ({}; compiled and Transformer "
                    "Engine's kernels have none)",
                    costmodel::format_percent(gemms.seconds > 0 ? profile.known_gemms / gemms.seconds : 0),
                    advice.record_shapes));
  return notes;
}

}  // namespace hexaplan::presets
