#include "planner/search/search_rules.h"

#include <fmt/format.h>

#include <vector>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

/// What a split deals out in equal parts: layers, and the two ends where they count as layers. (Megatron-LM
/// megatron/core/transformer/transformer_block.py get_num_layers_to_build: asserts that the layers, with
/// account_for_embedding_in_pipeline_split and account_for_loss_in_pipeline_split the ends too, divide by
/// chunks. Stages of one chunk may be listed.)
std::int64_t parts_to_deal(const Scenario& sc) {
  const StageSplit split = sc.layout.split == StageSplit::Even ? sc.framework.even_split : sc.layout.split;
  const bool ends = split == StageSplit::EmbeddingCounts || split == StageSplit::EndsMinusOne;
  return sc.model.layers + (ends ? 2 : 0);
}

bool layers_split_evenly(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  const int chunks = chunk_positions(l.schedule, l.pp, chunks_per_stage(l));
  if (sc.framework.abilities.unequal_stages || chunks == l.pp || l.split == StageSplit::Explicit) return true;
  const std::int64_t parts = parts_to_deal(sc);
  if (parts % chunks == 0) return true;
  if (why != nullptr) {
    const std::string over = fmt::format("the {} chunks of pp={} vpp={}", chunks, l.pp, chunks / l.pp);
    const char* ends = parts == sc.model.layers ? "" : " and the two ends";
    *why = {fmt::format("{} layers{} do not split over {}", sc.model.layers, ends, over),
            fmt::format("use pp·vpp that divides {}", parts)};
  }
  return false;
}

std::vector<Rule> make_rules() {
  const auto layout = layout_rules();
  std::vector<Rule> rules{layout.begin(), layout.end()};
  rules.push_back({"layers-split-evenly", RuleScope::Stages, &Layout::vpp, layers_split_evenly});
  return rules;
}

}  // namespace

std::span<const Rule> search_rules() {
  static const std::vector<Rule> rules = make_rules();
  return rules;
}

}  // namespace hexaplan::planner
