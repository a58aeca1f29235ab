#include "presets/runs/nvtx_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include "costmodel/units/parse_number.h"
#include "presets/json/utf8.h"
#include "presets/runs/trace_builder.h"

namespace hexaplan::presets {
namespace {

using costmodel::CollectiveKind;

/// What programs call a range around a step, in lower case and without what stands before its number.
constexpr std::string_view kStepWords[] = {
    "profilerstep",  "step",          "iteration",   "iter",        "train step",         "train_step",
    "training step", "training_step", "train iter",  "train_iter",  "training iteration", "global step",
    "global_step",   "batch",         "train batch", "train_batch", "training_batch"};

/// torch.optim names the range of an update "Optimizer.step#AdamW.step" (torch/optim/optimizer.py).
constexpr std::string_view kUpdate = "Optimizer.step#";

bool earlier(const NvtxRange& a, const NvtxRange& b) {
  return std::tie(a.thread, a.start) < std::tie(b.thread, b.start);
}

}  // namespace

std::optional<StepName> step_name(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  if (text.size() > kLongest) return std::nullopt;
  const std::size_t digits = text.find_last_not_of("0123456789") + 1;
  const std::size_t word = text.find_last_not_of(" _#:=-", digits == 0 ? 0 : digits - 1) + 1;
  StepName name{lower(text.substr(0, word)), {}};
  if (std::find(std::begin(kStepWords), std::end(kStepWords), name.word) == std::end(kStepWords))
    return std::nullopt;
  if (digits < text.size()) {
    name.number = costmodel::parse_number<std::int64_t>(text.substr(digits));
    if (!name.number) return std::nullopt;
  }
  return name;
}

std::vector<std::vector<std::int64_t>> input_dims_of_range(std::string_view text) {
  constexpr std::string_view kSizes = ", sizes = [";
  constexpr std::size_t kMostInputs = 64, kMostInputDims = 64;
  std::vector<std::vector<std::int64_t>> inputs;
  const std::size_t at = text.find(kSizes);
  if (at == std::string_view::npos) return inputs;
  std::string_view left = text.substr(at + kSizes.size());
  int depth = 1;
  while (!left.empty() && depth > 0) {
    const char c = left.front();
    if (c >= '0' && c <= '9') {
      const std::size_t length = std::min(left.find_first_not_of("0123456789"), left.size());
      const auto dim = costmodel::parse_number<std::int64_t>(left.substr(0, length));
      if (!dim || inputs.empty() || inputs.back().size() >= kMostInputDims) return {};
      inputs.back().push_back(*dim);
      left.remove_prefix(length);
      continue;
    }
    if (c == '[') {
      // A list of tensors as an input: none of a product has one.
      if (++depth > 2 || inputs.size() >= kMostInputs) return {};
      inputs.emplace_back();
    } else if (c == ']') {
      --depth;
    } else if (c != ',' && c != ' ') {
      return {};
    }
    left.remove_prefix(1);
  }
  return depth == 0 ? inputs : std::vector<std::vector<std::int64_t>>{};
}

void ProcessRanges::add(const NvtxRange& range, std::string_view text,
                        const std::optional<NcclPayload>& payload) {
  constexpr std::string_view kNccl = "nccl";
  if (text.starts_with("aten::")) {
    const std::string_view name = text.substr(0, text.find(','));
    auto gemm = product_of_operator(name, input_dims_of_range(text));
    if (gemm && products_.size() < kMostTraceKernels) products_.push_back({range, std::move(*gemm)});
  } else if (text.starts_with(kNccl)) {
    if (!payload) return;
    Communicator& group =
        communicators_.try_emplace(payload->communicator, Communicator{communicators_.size() + 1, {}})
            .first->second;
    if (payload->ranks) group.ranks = payload->ranks;
    if (payload->ranks && payload->rank && *payload->ranks > world_size_.value_or(0)) {
      world_size_ = payload->ranks;
      rank_ = payload->rank;
    }
    if (payload->bytes && calls_.size() < kMostTraceKernels)
      calls_.push_back({range, std::string{text.substr(kNccl.size())}, *payload});
  } else if (text.starts_with(kUpdate)) {
    updates_.push_back(range);
  } else if (auto name = step_name(text)) {
    steps_.push_back({range, std::move(*name)});
  }
}

void ProcessRanges::finish() {
  std::sort(calls_.begin(), calls_.end(),
            [](const NcclCall& a, const NcclCall& b) { return earlier(a.range, b.range); });
  std::sort(updates_.begin(), updates_.end(),
            [](const NvtxRange& a, const NvtxRange& b) { return a.start < b.start; });
  std::sort(steps_.begin(), steps_.end(),
            [](const MarkedStep& a, const MarkedStep& b) { return a.range.start < b.range.start; });
}

std::vector<TraceStep> ProcessRanges::steps() const {
  std::map<std::pair<std::string, std::int64_t>, double> lengths;  // by word and thread
  for (const MarkedStep& step : steps_)
    lengths[{step.name.word, step.range.thread}] += step.range.end - step.range.start;
  std::vector<TraceStep> steps;
  std::int64_t next = 0;
  if (!lengths.empty()) {
    const auto longest = std::max_element(lengths.begin(), lengths.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const MarkedStep& step : steps_) {
      if (std::pair{step.name.word, step.range.thread} != longest->first) continue;
      next = step.name.number.value_or(next + 1);
      steps.push_back({next, step.range.start, step.range.end - step.range.start});
    }
    return steps;
  }
  for (std::size_t i = 1; i < updates_.size(); ++i)
    steps.push_back({++next, updates_[i - 1].end, updates_[i].end - updates_[i - 1].end});
  return steps;
}

std::optional<TraceMessage> ProcessRanges::message(const NvtxRange& launch, double launch_before) const {
  const auto behind =
      std::upper_bound(calls_.begin(), calls_.end(), launch,
                       [](const NvtxRange& at, const NcclCall& call) { return earlier(at, call.range); });
  std::vector<const NcclCall*> calls;
  for (auto call = behind; call != calls_.begin();) {
    --call;
    if (call->range.thread != launch.thread || call->range.start <= launch_before) break;
    calls.push_back(&*call);
    if (launch.start <= call->range.end) break;  // it lies in this call
  }
  if (calls.empty()) return std::nullopt;
  return message_of(calls);
}

TraceMessage ProcessRanges::message_of(const std::vector<const NcclCall*>& calls) const {
  const NcclCall& first = *calls.front();
  const Communicator& group = communicators_.at(first.payload.communicator);
  TraceMessage message{.kind = first.name,
                       .group = fmt::format("communicator {}", group.number),
                       .ranks = group.ranks.value_or(0)};
  double sent = 0, received = 0;
  std::optional<std::int64_t> peer;
  bool several = false;
  for (const NcclCall* call : calls) {
    (call->name == "Recv" ? received : sent) += *call->payload.bytes;
    if (call->name != "Send" && call->name != "Recv") continue;
    several = several || (peer && call->payload.peer != peer && call->name == first.name);
    if (call->name == first.name) peer = call->payload.peer;
  }
  message.bytes = std::max(sent, received);
  // PyTorch's all-to-all is a group of sends to, and receives from, everybody.
  if (peer) message.kind = several ? "AllToAll" : "SendRecv";
  if (peer && !several) message.ranks = 2;
  if (peer) return message;
  // NCCL says what one rank gives or gets (src/collectives.cc); nccl-tests count the whole tensor.
  const auto kind = collective_of(message);
  const bool of_one_rank = kind == CollectiveKind::AllGather || kind == CollectiveKind::ReduceScatter ||
                           kind == CollectiveKind::AllToAll;
  if (of_one_rank) message.bytes *= static_cast<double>(message.ranks);
  return message;
}

}  // namespace hexaplan::presets
