// The step program against the executor, which neither reads it nor the functions that it is held against in
// tests/costmodel/program: bytes allocated, FLOPs issued and messages sent of every rank.
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/program/count.h"
#include "costmodel/program/layer_program.h"
#include "costmodel/program/replay.h"
#include "costmodel/program/replay_memory.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"
#include "tests/validator/step/layout_cases.h"
#include "tests/validator/step/tiny_scenario.h"

namespace hexaplan::tests {
namespace {

using namespace costmodel;
using Totals = std::map<std::string, double>;  // by operation, pass and what else tells rows apart

std::string row_name(std::string_view operation, Pass pass) {
  return std::string{operation} + " pass " + std::to_string(static_cast<int>(pass));
}
std::string message_name(std::string_view operation, Pass pass, CollectiveKind kind, Group group) {
  return row_name(operation, pass) + " kind " + std::to_string(static_cast<int>(kind)) + " group " +
         std::to_string(static_cast<int>(group));
}

/// FLOPs and messages of one stage and step, by the step program.
class ProgramTotals {
 public:
  ProgramTotals(const Scenario& sc, int stage) : sc_{sc}, sizes_{program::sizes_of(sc, local_dims(sc))} {
    const Layout& l = sc.layout;
    const std::vector<int> counts = chunk_layers(sc);
    for (int c = 0; c < chunks_per_stage(l); ++c) {
      int recomputed = recomputed_layers(sc.recipe.recompute, static_cast<std::size_t>(stage));
      const auto place = static_cast<std::size_t>(chunk_position(l.schedule, l.pp, {stage, c}));
      std::int64_t layer = 0;
      for (std::size_t i = 0; i < place; ++i) layer += counts[i];
      const auto microbatches = static_cast<int>(microbatches_per_step(sc));
      const auto [first, end] = microbatches_of_chunk(l.schedule, microbatches, c);
      times_ = end - first;
      if (place == 0) add(program::forward_embedding(sc.model), false);
      for (int i = 0; i < counts[place]; ++i)
        add(program::forward_layer(sc.model, class_of_layer(sc.model, layer++)), recomputed-- > 0);
      if (place + 1 == counts.size()) add(program::forward_head(sc.model, true), false);
    }
  }
  [[nodiscard]] const Totals& flops() const { return flops_; }
  [[nodiscard]] const Totals& messages() const { return messages_; }

 private:
  void add(program::Program forward, bool recomputed) {
    const program::Program p = program::compile(std::move(forward), program::techniques_of(sc_, recomputed));
    const program::Counts counts = program::count(p, sizes_);
    for (std::size_t site = 0; site < counts.sites.size(); ++site)
      add_flops(program::kSites[site].name, counts.sites[site]);
    add_flops("adapter.down", counts.adapters[position(program::AdapterSide::Down)]);
    add_flops("adapter.up", counts.adapters[position(program::AdapterSide::Up)]);
    add_flops("adapter.row_norms", counts.adapters[position(program::AdapterSide::Sum)]);
    for (const program::CountedMessage& m : counts.messages) {
      const std::string row = message_name(program::row_of(m.site).name, m.pass, m.kind, m.group);
      messages_[row + " messages"] += times_ * m.times;
      messages_[row + " bytes"] += times_ * m.times * m.payload.value();
    }
  }

  void add_flops(std::string_view name, const program::Counts::OfSite& of) {
    for (const Pass pass : {Pass::Forward, Pass::BackwardData, Pass::BackwardWeight}) {
      const double recomputed = pass == Pass::Forward ? of.recomputed.value() : 0;
      const double flops = of.passes[position(pass)].value() + recomputed;
      if (flops > 0) flops_[row_name(name, pass)] += times_ * flops;
    }
  }

  const Scenario& sc_;
  program::Sizes sizes_;
  double times_ = 0;  // micro-batches that cross the chunk that is added
  Totals flops_, messages_;
};

Totals executed_flops(const validator::RankReport& rank) {
  Totals out;
  for (const auto& o : rank.operations) {
    if (o.flops.value() > 0) out[row_name(o.name, o.pass)] += o.flops.value();
  }
  return out;
}
/// Of the passes; messages between stages, of parameters and gradients are the schedule's.
Totals executed_messages(const validator::RankReport& rank) {
  std::set<std::string_view> of_program;
  for (const program::SiteRow& site : program::kSites) of_program.insert(site.name);
  Totals out;
  for (const auto& t : rank.traffic) {
    if (!of_program.contains(t.operation)) continue;
    const std::string row = message_name(t.operation, t.pass, t.kind, t.group);
    out[row + " messages"] += static_cast<double>(t.count.messages);
    out[row + " bytes"] += t.count.bytes.value();
  }
  return out;
}

class StepProgramExecuted : public testing::TestWithParam<LayoutCase> {};

TEST_P(StepProgramExecuted, is_what_every_rank_allocates_computes_and_sends) {
  const Scenario sc = GetParam().scenario();
  ASSERT_FALSE(program::first_gap(sc).has_value()) << *program::first_gap(sc);
  const program::StepReplay replay{sc};
  const TinyRun run = run_tiny(sc, 1);
  ASSERT_EQ(run.report.ranks.size(), static_cast<std::size_t>(sc.layout.world_size()));
  for (const validator::RankReport& rank : run.report.ranks) {
    SCOPED_TRACE("rank " + std::to_string(rank.rank) + ", stage " + std::to_string(rank.stage));
    const ReplayedMemory memory = replay.stage(rank.stage);
    for (const MemoryKind& kind : kMemoryKinds) {
      EXPECT_EQ(static_cast<double>(rank.memory.peak_by_kind[static_cast<std::size_t>(kind.kind)]),
                memory.peak().of(kind.kind).value())
          << kind.name << " at " << name_of(memory.peak_instant);
    }
    const ProgramTotals totals{sc, rank.stage};
    EXPECT_EQ(executed_flops(rank), totals.flops());
    EXPECT_EQ(executed_messages(rank), totals.messages());
  }
}
INSTANTIATE_TEST_SUITE_P(validator, StepProgramExecuted, testing::ValuesIn(layout_cases()),
                         [](const testing::TestParamInfo<LayoutCase>& which) { return which.param.name; });

}  // namespace
}  // namespace hexaplan::tests
