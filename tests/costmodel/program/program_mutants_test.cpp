// Do the laws notice a wrong program? Each mutant breaks one rule, habit or pass; the comparisons with
// today's functions must tell it from the program as it is in at least one of a few scenarios.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "costmodel/program/compile.h"
#include "presets/scenario/scenario_request.h"
#include "tests/costmodel/program/today.h"

namespace hexaplan::costmodel::program {
namespace {

/// `narrow`: attention and the exchange of tokens need most, not the MLP.
Scenario scenario_of(Layout layout, RecomputeMode recompute, bool experts, bool narrow = false) {
  Scenario sc;
  sc.model = {.name = "small", .layers = 8, .hidden = 1024, .vocab = 32000};
  sc.model.attention = {.heads = 16, .kv_heads = 8, .head_dim = 64, .v_head_dim = 64};
  sc.model.mlp = {.ffn = 2752};
  if (experts) sc.model.moe = {.experts = 16, .top_k = 2, .expert_ffn = 512, .shared_ffn = 512};
  if (narrow) {
    sc.model.mlp.ffn = sc.model.moe.expert_ffn = sc.model.moe.shared_ffn = 64;
    sc.model.attention.kv_heads = sc.model.attention.heads;
    sc.model.attention.head_dim = sc.model.attention.v_head_dim = 256;
    sc.model.vocab = 512;
  }
  sc.framework = presets::look_up_framework("hexaplan");
  sc.layout = layout;
  sc.recipe.sequence = 2048;
  sc.recipe.micro_batch = 1;
  sc.recipe.global_batch = layout.dp * 8;
  sc.recipe.recompute.mode = recompute;
  return sc;
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> out;
    for (const RecomputeMode recompute :
         {RecomputeMode::None, RecomputeMode::Selective, RecomputeMode::Full}) {
      out.push_back(scenario_of({.dp = 2}, recompute, false));
      out.push_back(
          scenario_of({.dp = 2, .tp = 2, .pp = 2, .schedule = ScheduleKind::ZbH1}, recompute, false));
      out.push_back(scenario_of({.dp = 2, .tp = 2, .cp = 3, .pp = 2, .sp = true}, recompute, false));
      out.push_back(scenario_of({.dp = 2, .cp = 2, .context = ContextKind::AllGather}, recompute, false));
      out.push_back(scenario_of(
          {.dp = 4, .tp = 4, .pp = 2, .ep = 2, .etp = 2, .sp = true, .schedule = ScheduleKind::Zbv},
          recompute, true));
    }
    const Layout ring{.dp = 2, .cp = 2}, experts{.dp = 4, .tp = 2, .ep = 2, .etp = 2, .sp = true};
    out.push_back(scenario_of(ring, RecomputeMode::Full, false, true));
    out.push_back(scenario_of({.dp = 2}, RecomputeMode::Full, false, true));
    out.push_back(scenario_of(experts, RecomputeMode::Full, true, true));
    return out;
  }();
  return all;
}

/// What the comparisons say, empty where the program is right.
std::string first_difference(std::span<const PassRow> passes) {
  for (const Scenario& sc : scenarios()) {
    const LayerClass kind{.moe = sc.model.is_moe()};
    for (const std::string& difference :
         {layer_difference(sc, kind, passes), end_difference(sc, passes), replay_difference(sc, passes)}) {
      if (!difference.empty()) return difference;
    }
  }
  return {};
}

/// Changes every operation of a kind.
template <class Change>
Program with_changed(Program p, Kind kind, const Change& change) {
  for (Op& op : p.ops) {
    if (op.kind == kind) change(op);
  }
  return p;
}
void drop_last_result(Op& op) {
  IdList<6> fewer;
  for (std::size_t i = 0; i + 1 < op.writes.size(); ++i) fewer.push_back(op.writes[i]);
  op.writes = fewer;
}

struct Mutant {
  const char* name;
  const char* behind;                             // the pass that it follows, or takes the place of
  Program (*change)(Program, const Techniques&);  // nothing: the pass is left out
};
using T = const Techniques&;
const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all{
      {"activation_back_forgets_its_input", "differentiate",
       [](Program p, T) {
         return with_changed(std::move(p), Kind::GatedActivationBack,
                             [](Op& op) { op.reads.remove(op.reads[1]); });
       }},
      {"norm_back_forgets_its_statistics", "differentiate",
       [](Program p, T) {
         return with_changed(std::move(p), Kind::NormBack,
                             [](Op& op) { op.reads.remove(op.reads[op.reads.size() - 1]); });
       }},
      {"attention_back_has_no_sum_of_queries", "differentiate",
       [](Program p, T t) {
         if (t.context_ranks > 1) return p;
         return with_changed(std::move(p), Kind::AttendBack, drop_last_result);
       }},
      {"attention_back_does_not_read_the_keys", "differentiate",
       [](Program p, T) {
         return with_changed(std::move(p), Kind::AttendBack, [](Op& op) { op.reads.remove(op.reads[0]); });
       }},
      {"residual_add_takes_a_buffer", "expert parallelism",
       [](Program p, T) { return with_changed(std::move(p), Kind::Add, [](Op& op) { op.in_place = 0; }); }},
      {"rope_takes_a_buffer", "expert parallelism",
       [](Program p, T) { return with_changed(std::move(p), Kind::Rope, [](Op& op) { op.in_place = 0; }); }},
      {"partial_sums_take_a_buffer", "tensor parallelism",
       [](Program p, T) {
         return with_changed(std::move(p), Kind::AllReduce, [](Op& op) { op.in_place = 0; });
       }},
      {"gradients_are_not_reduced_where_the_region_is_entered", "differentiate",
       [](Program p, T) {
         std::erase_if(p.ops,
                       [](const Op& op) { return op.site == Site::MlpEnter && op.phase == Phase::Backward; });
         return p;
       }},
      {"the_loss_is_not_reduced", "tensor parallelism",
       [](Program p, T) {
         std::erase_if(p.ops, [](const Op& op) { return op.site == Site::LossReduce; });
         return p;
       }},
      {"sequence_parallelism_is_left_out", "sequence parallelism", nullptr},
      {"weight_gradients_are_not_late", "late weight gradients", nullptr},
      {"inputs_are_not_gathered_again", "gather again", nullptr},
      {"nothing_is_recomputed", "recompute", nullptr},
      {"recomputed_values_are_freed_at_once", "recompute",
       [](Program p, T) {
         for (Value& value : p.values) value.held = false;
         return p;
       }},
      {"the_backward_is_not_split", "split backward", nullptr},
      {"weight_gradients_read_what_backward_overwrites", "split backward",
       [](Program p, T) {
         for (const Op& copy : std::vector<Op>{p.ops}) {
           if (copy.kind != Kind::Copy) continue;
           for (Op& op : p.ops) std::replace(op.reads.begin(), op.reads.end(), copy.writes[0], copy.reads[0]);
         }
         std::erase_if(p.ops, [](const Op& op) { return op.kind == Kind::Copy; });
         return p;
       }},
      {"no_block_arrives_around_the_ring", "context parallelism",
       [](Program p, T) { return with_changed(std::move(p), Kind::SendRecv, drop_last_result); }},
      {"the_ring_is_one_message_short", "differentiate",
       [](Program p, T) { return with_changed(std::move(p), Kind::SendRecv, [](Op& op) { --op.times; }); }},
      {"gradients_of_token_copies_stay", "differentiate",
       [](Program p, T) {
         return with_changed(std::move(p), Kind::AllToAll,
                             [](Op& op) { op.times = op.phase == Phase::Forward ? op.times : 0; });
       }},
      {"rows_are_sorted_without_a_list", "differentiate",
       [](Program p, T) {
         p = with_changed(std::move(p), Kind::Regroup, drop_last_result);
         return with_changed(std::move(p), Kind::Ungroup, drop_last_result);
       }},
      {"expert_ranks_exchange_nothing", "expert parallelism", nullptr},
      {"the_router_is_differentiated_late", "late weight gradients",
       [](Program p, T) {
         const auto router = [](const Op& op) {
           return op.site == Site::Router && op.phase == Phase::Backward && op.kind == Kind::MatmulWeight;
         };
         const auto at = std::find_if(p.ops.begin(), p.ops.end(), router);
         if (at != p.ops.end()) std::rotate(at, at + 1, p.ops.end());
         return p;
       }},
      {"a_weight_gradient_is_made_for_the_wrong_matrix", "differentiate",
       [](Program p, T) {
         return with_changed(std::move(p), Kind::MatmulWeight, [](Op& op) { op.weight = 1; });
       }},
  };
  return all;
}

std::vector<PassRow> passes_with(const Mutant& mutant) {
  std::vector<PassRow> out;
  for (const PassRow& pass : all_passes()) {
    const bool here = pass.name == mutant.behind;
    if (!here || mutant.change != nullptr) out.push_back(pass);
    if (here && mutant.change != nullptr) out.push_back({mutant.name, pass.applies, mutant.change});
  }
  return out;
}

TEST(program_mutants, the_program_as_it_is_agrees_in_every_scenario) {
  EXPECT_EQ(first_difference(all_passes()), "");
}

class ProgramMutants : public testing::TestWithParam<Mutant> {};
TEST_P(ProgramMutants, are_noticed) {
  const std::vector<PassRow> passes = passes_with(GetParam());
  EXPECT_NE(first_difference(passes), "");
}
void PrintTo(const Mutant& mutant, std::ostream* out) {
  *out << mutant.name;
}
INSTANTIATE_TEST_SUITE_P(costmodel, ProgramMutants, testing::ValuesIn(mutants()),
                         [](const testing::TestParamInfo<Mutant>& which) {
                           return std::string{which.param.name};
                         });

}  // namespace
}  // namespace hexaplan::costmodel::program
