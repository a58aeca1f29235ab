#include "presets/truth/row_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "presets/truth/row_words.h"

namespace hexaplan::presets {

using costmodel::Layout;
using costmodel::ScheduleKind;
using costmodel::StageSplit;
using costmodel::VocabParallel;

namespace {

struct ZeroMeaning {
  int stage;
  bool hybrid;
};
constexpr Named<ZeroMeaning> kZero[] = {
    {"", {0, false}},  {"unknown", {0, false}},  // no source with `unknown` states any sharding
    {"0", {0, false}}, {"1", {1, false}},         {"2", {2, false}},
    {"3", {3, false}}, {"fsdp-full", {3, false}}, {"fsdp-hybrid", {3, true}},
};
constexpr Named<ScheduleKind> kSchedules[] = {
    {"", ScheduleKind::OneFOneB},           {"none", ScheduleKind::OneFOneB},
    {"1f1b", ScheduleKind::OneFOneB},       {"interleaved", ScheduleKind::Interleaved},
    {"gpipe", ScheduleKind::GPipe},         {"zb-h1", ScheduleKind::ZbH1},
    {"zb-h2", ScheduleKind::Zb2p},          {"zb-v", ScheduleKind::Zbv},
    {"zb-2p", ScheduleKind::Zb2p},          {"vhalf", ScheduleKind::VHalf},
    {"vocab-1f1b", ScheduleKind::OneFOneB}, {"other", ScheduleKind::OneFOneB},
};
constexpr Named<VocabParallel> kVocabMethods[] = {
    {"", VocabParallel::LastStage},
    {"none", VocabParallel::LastStage},
    {"redis", VocabParallel::LastStage},
    // Algorithm 1 of arXiv:2411.05288 §4 ("Vocab-1") synchronises twice, algorithm 2 ("Vocab-2") once.
    {"vocab-1", VocabParallel::AllStagesTwoBarriers},
    {"vocab-2", VocabParallel::AllStagesOneBarrier},
    {"interlaced", VocabParallel::Interlaced},
};
// "custom" layouts are not given; those published count embedding and loss as a layer each.
constexpr Named<StageSplit> kStageLayouts[] = {
    {"", StageSplit::Even},
    {"uniform", StageSplit::Even},
    {"uneven", StageSplit::Even},
    {"ends-minus-one", StageSplit::EndsMinusOne},
    {"embedding-counts", StageSplit::EmbeddingCounts},
    {"custom", StageSplit::EmbeddingCounts},
};

/// Sharding of a row. DeepSpeed is there for ZeRO: Megatron-DeepSpeed's scripts
/// (bigscience-workshop/bigscience train/, ZERO_STAGE=1) shard the optimizer, and the memory of runs that do
/// not say so leaves no room for whole states (1.3 B parameters in 14.9 GiB).
ZeroMeaning zero_of(const TruthRow& row) {
  const bool deepspeed =
      row.framework_profile == "megatron-deepspeed" || row.framework_profile == "deepspeed";
  if (deepspeed && (row.zero == "unknown" || row.zero.empty())) return {1, false};
  return value_of_word(kZero, row.zero, "zero");
}

int degree(const std::optional<std::int64_t>& cell, std::string_view column, std::int64_t absent = 1) {
  const std::int64_t value = cell.value_or(absent);
  if (value < 1 || value > std::numeric_limits<int>::max())
    throw NoScenario{fmt::format("{} is {}", column, value)};
  return static_cast<int>(value);
}

/// Layers redistributed so that the stage with the output layer is not the slowest: a layer costs 72h + 12s
/// FLOPs per token and unit of b·s·h, the output layer 6V (arXiv:2411.05288 §3 and §6.1, "Redis").
std::vector<int> redistributed_layers(const TruthRow& row, int stages) {
  const auto layers = static_cast<int>(*row.layers);
  const double head = 6.0 * static_cast<double>(*row.vocab) /
                      (72.0 * static_cast<double>(*row.hidden) + 12.0 * static_cast<double>(*row.seq));
  int best_last = 0;
  double best_slowest = std::numeric_limits<double>::max();
  for (int last = 0; last <= layers / stages; ++last) {
    const int others_most = (layers - last + stages - 2) / (stages - 1);
    const double slowest = std::max<double>(others_most, last + head);
    if (slowest < best_slowest) best_slowest = slowest, best_last = last;
  }
  std::vector<int> result(static_cast<std::size_t>(stages), best_last);
  const int others = layers - best_last;
  for (int stage = 0; stage + 1 < stages; ++stage) {
    // What is left over goes late in the pipeline, where fewer micro-batches are in flight: published runs
    // need no more memory than without redistribution (arXiv:2411.05288 §6).
    const int from_the_end = stages - 2 - stage;
    result[static_cast<std::size_t>(stage)] =
        others / (stages - 1) + (from_the_end < others % (stages - 1) ? 1 : 0);
  }
  return result;
}

/// Unstated means tp, unless the experts cannot lie so on the ranks of a stage and can with whole experts:
/// the run then must have kept its experts whole. 0 = tp.
int expert_tensor_of(const TruthRow& row, const Layout& layout) {
  if (row.etp) return degree(row.etp, "etp");
  const std::int64_t stage_ranks = std::int64_t{layout.dp} * layout.cp * layout.tp;
  const bool cut_fits = stage_ranks % (std::int64_t{layout.ep} * layout.tp) == 0;
  return layout.ep > 1 && !cut_fits && stage_ranks % layout.ep == 0 ? 1 : 0;
}

void set_stages(const TruthRow& row, Layout& layout) {
  layout.split = value_of_word(kStageLayouts, row.stage_layout, "stage_layout");
  if (row.vocab_method != "redis" || layout.pp < 2 || layout.vpp > 1) return;
  layout.split = StageSplit::Explicit;
  layout.stage_layers = redistributed_layers(row, layout.pp);
}

}  // namespace

Layout layout_of(const TruthRow& row) {
  Layout layout;
  if (row.outer_replicas) layout.outer_replicas = degree(row.outer_replicas, "outer_replicas");
  layout.dp = degree(row.dp, "dp");
  layout.tp = degree(row.tp, "tp");
  layout.cp = degree(row.cp, "cp");
  layout.pp = degree(row.pp, "pp");
  layout.vpp = degree(row.vpp, "vpp");
  layout.ep = degree(row.ep, "ep");
  layout.etp = expert_tensor_of(row, layout);
  layout.sp = row.sp.value_or(false) && layout.tp > 1;
  const ZeroMeaning zero = zero_of(row);
  layout.sharding.stage = zero.stage;
  if (row.shard_size || zero.hybrid) {
    layout.sharding.group = degree(row.shard_size, "shard_size", row.gpus_per_node.value_or(8));
  }
  layout.schedule = value_of_word(kSchedules, row.schedule, "schedule");
  if (layout.vpp > 1 && layout.schedule == ScheduleKind::OneFOneB)
    layout.schedule = ScheduleKind::Interleaved;
  if (layout.vpp == 1 && layout.schedule == ScheduleKind::Interleaved)
    layout.schedule = ScheduleKind::OneFOneB;
  layout.vocab = value_of_word(kVocabMethods, row.vocab_method, "vocab_method");
  set_stages(row, layout);
  return layout;
}

}  // namespace hexaplan::presets
