// The table of rules a layout must pass before it is priced. Cheapest first; adding one is adding a row.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <string_view>

#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"

namespace hexaplan::costmodel {
namespace {

struct Reason {
  std::string reason;
  std::string advice;
};
using Check = std::optional<Reason> (*)(const Scenario&);
struct Rule {
  std::string_view name;
  Check check;
};

/// "1, 2, 4 and 8 do": the divisors of `n` up to `limit`.
std::string divisors_that_pass(std::string_view axis, std::int64_t n, std::int64_t limit) {
  std::vector<std::int64_t> divisors;
  for (std::int64_t d = 1; d <= std::min(n, limit); ++d) {
    if (n % d == 0) divisors.push_back(d);
  }
  if (divisors.size() > 8) divisors.erase(divisors.begin(), divisors.end() - 8);
  std::string list;
  for (std::size_t i = 0; i < divisors.size(); ++i) {
    list += fmt::format("{}{}", i == 0 ? "" : i + 1 == divisors.size() ? " or " : ", ", divisors[i]);
  }
  return fmt::format("use {}={}", axis, list);
}

std::optional<Reason> divides(std::string_view what, std::int64_t n, std::string_view axis,
                              std::int64_t degree) {
  if (degree >= 1 && n % degree == 0) return std::nullopt;
  return Reason{fmt::format("{} {} do not split over {}={}", n, what, axis, degree),
                divisors_that_pass(axis, n, 1024)};
}

std::optional<Reason> degrees_are_positive(const Scenario& sc) {
  const Layout& l = sc.layout;
  const std::array<std::pair<std::string_view, int>, 6> degrees = {
      {{"dp", l.dp}, {"tp", l.tp}, {"cp", l.cp}, {"pp", l.pp}, {"vpp", l.vpp}, {"ep", l.ep}}};
  for (const auto& [name, degree] : degrees) {
    if (degree < 1)
      return Reason{fmt::format("{}={} is not a degree", name, degree),
                    fmt::format("use {}=1 or more", name)};
  }
  return std::nullopt;
}

std::optional<Reason> fills_the_cluster(const Scenario& sc) {
  const Layout& l = sc.layout;
  if (l.world_size() == sc.cluster.gpus) return std::nullopt;
  const std::int64_t model_ranks = static_cast<std::int64_t>(l.tp) * l.cp * l.pp;
  const std::string advice =
      sc.cluster.gpus % model_ranks == 0
          ? fmt::format("use dp={}", sc.cluster.gpus / model_ranks)
          : fmt::format("tp·cp·pp = {} must divide {} GPUs", model_ranks, sc.cluster.gpus);
  return Reason{fmt::format("dp·tp·cp·pp = {} but the cluster has {} GPUs", l.world_size(), sc.cluster.gpus),
                advice};
}

std::optional<Reason> heads_divide(const Scenario& sc) {
  return divides("attention heads", sc.model.attention.heads, "tp", sc.layout.tp);
}

std::optional<Reason> kv_heads_divide(const Scenario& sc) {
  const std::int64_t kv = sc.model.attention.kv_heads, tp = sc.layout.tp;
  if (kv % tp == 0 || tp % kv == 0) return std::nullopt;
  return Reason{fmt::format("{} key-value heads neither split over tp={} nor replicate evenly", kv, tp),
                divisors_that_pass("tp", kv, 1024)};
}

std::optional<Reason> ffn_divides(const Scenario& sc) {
  if (sc.model.mlp.ffn == 0) return std::nullopt;
  return divides("feed-forward columns", sc.model.mlp.ffn, "tp", sc.layout.tp);
}

std::optional<Reason> layers_fill_the_stages(const Scenario& sc) {
  const std::int64_t chunks = chunk_positions(sc.layout.schedule, sc.layout.pp, chunks_per_stage(sc.layout));
  // Where embedding and output layer take a layer's place, the first and the last chunk may hold nothing
  // else.
  const bool ends_count =
      sc.layout.split == StageSplit::EndsMinusOne || sc.layout.split == StageSplit::EmbeddingCounts;
  const std::int64_t ends = ends_count && chunks > sc.layout.pp ? 2 : 0;
  if (sc.model.layers + ends >= chunks) return std::nullopt;
  return Reason{
      fmt::format("{} layers leave some of pp·vpp = {} model chunks empty", sc.model.layers, chunks),
      fmt::format("use pp·vpp of at most {}", sc.model.layers)};
}

std::optional<Reason> explicit_split_adds_up(const Scenario& sc) {
  if (sc.layout.split != StageSplit::Explicit) return std::nullopt;
  const auto& stages = sc.layout.stage_layers;
  const auto chunks = static_cast<std::size_t>(
      chunk_positions(sc.layout.schedule, sc.layout.pp, chunks_per_stage(sc.layout)));
  const std::int64_t sum = std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
  const bool positive = std::all_of(stages.begin(), stages.end(), [](int n) { return n >= 0; });
  if (stages.size() == chunks && sum == sc.model.layers && positive) return std::nullopt;
  return Reason{
      fmt::format(
          "the stage split names {} chunks with {} layers; the layout has {} chunks and the model {} layers",
          stages.size(), sum, chunks, sc.model.layers),
      "give one layer count per chunk, adding up to the model's layers"};
}

std::optional<Reason> batch_divides(const Scenario& sc) {
  const std::int64_t per_pass = sc.recipe.micro_batch * sc.layout.dp;
  if (per_pass > 0 && sc.recipe.global_batch % per_pass == 0 && sc.recipe.global_batch >= per_pass)
    return std::nullopt;
  return Reason{
      fmt::format("global batch {} is not a multiple of micro-batch {} × dp {} = {}", sc.recipe.global_batch,
                  sc.recipe.micro_batch, sc.layout.dp, per_pass),
      fmt::format("use a global batch of {}",
                  std::max<std::int64_t>(1, sc.recipe.global_batch / std::max<std::int64_t>(1, per_pass)) *
                      per_pass)};
}

std::optional<Reason> sequence_divides(const Scenario& sc) {
  const std::int64_t cp = sc.layout.cp;
  const std::int64_t pieces = cp > 1 && sc.layout.context != ContextKind::AllToAll ? 2 * cp : cp;
  const std::int64_t local = sc.layout.sp ? sc.layout.tp : 1;
  if (sc.recipe.sequence % pieces == 0 && (sc.recipe.sequence / cp) % local == 0) return std::nullopt;
  return Reason{fmt::format("sequence {} does not split into {} zig-zag chunks and tp={} parts",
                            sc.recipe.sequence, pieces, local),
                fmt::format("use a sequence that is a multiple of {}", pieces * local)};
}

std::optional<Reason> ulysses_has_heads(const Scenario& sc) {
  if (sc.layout.cp == 1 || sc.layout.context != ContextKind::AllToAll) return std::nullopt;
  return divides("attention heads per tensor-parallel rank", sc.model.attention.heads / sc.layout.tp, "cp",
                 sc.layout.cp);
}

std::optional<Reason> experts_divide(const Scenario& sc) {
  const Layout& l = sc.layout;
  if (!sc.model.is_moe()) {
    if (l.ep == 1) return std::nullopt;
    return Reason{fmt::format("ep={} but the model has no experts", l.ep), "use ep=1"};
  }
  if (auto reason = divides("experts", sc.model.moe.experts, "ep", l.ep)) return reason;
  return divides("expert feed-forward columns", sc.model.moe.expert_ffn, "etp", l.expert_tensor());
}

std::optional<Reason> experts_fill_the_stage(const Scenario& sc) {
  const Layout& l = sc.layout;
  if (!sc.model.is_moe()) return std::nullopt;
  const std::int64_t stage = static_cast<std::int64_t>(l.dp) * l.cp * l.tp;
  const std::int64_t cut = static_cast<std::int64_t>(l.ep) * l.expert_tensor();
  if (stage % cut == 0) return std::nullopt;
  return Reason{fmt::format("ep·etp = {} does not divide the {} ranks (dp·cp·tp) of a stage", cut, stage),
                fmt::format("use ep·etp of {}", std::gcd(stage, cut))};
}

std::optional<Reason> shard_group_divides(const Scenario& sc) {
  const int group = sc.layout.sharding.group;
  if (group == 0 || (sc.layout.dp * sc.layout.cp) % group == 0) return std::nullopt;
  return Reason{fmt::format("shard groups of {} ranks do not tile the {} data-parallel ranks (dp·cp)", group,
                            sc.layout.dp * sc.layout.cp),
                divisors_that_pass("shard", std::int64_t{sc.layout.dp} * sc.layout.cp, 4096)};
}

std::optional<Reason> chunks_need_stages(const Scenario& sc) {
  if (sc.layout.vpp == 1 || sc.layout.pp > 1) return std::nullopt;
  return Reason{fmt::format("vpp={} needs pipeline stages to interleave", sc.layout.vpp),
                "use vpp=1 or pp=2 and more"};
}

std::optional<Reason> stages_pair_up(const Scenario& sc) {
  if (model_copies(sc.layout.schedule) == 1 || sc.layout.pp % 2 == 0) return std::nullopt;
  return Reason{
      fmt::format("DualPipe mirrors the model on pairs of stages, pp={} is odd", sc.layout.pp),
      fmt::format("use pp={} or {}, or dualpipev", std::max(2, sc.layout.pp - 1), sc.layout.pp + 1)};
}

std::optional<Reason> gpu_has_the_precision(const Scenario& sc) {
  if (sc.cluster.gpu.peak_of(sc.recipe.precision).value() > 0) return std::nullopt;
  return Reason{fmt::format("{} has no units for this GEMM precision", sc.cluster.gpu.name),
                "use bf16, fp16 or fp32"};
}

constexpr std::array kRules{
    Rule{"degrees-are-positive", degrees_are_positive},
    Rule{"fills-the-cluster", fills_the_cluster},
    Rule{"heads-divide-by-tp", heads_divide},
    Rule{"kv-heads-divide-by-tp", kv_heads_divide},
    Rule{"ffn-divides-by-tp", ffn_divides},
    Rule{"layers-fill-the-stages", layers_fill_the_stages},
    Rule{"stage-split-adds-up", explicit_split_adds_up},
    Rule{"batch-divides", batch_divides},
    Rule{"sequence-divides", sequence_divides},
    Rule{"heads-divide-by-cp", ulysses_has_heads},
    Rule{"experts-divide-by-ep", experts_divide},
    Rule{"experts-fill-the-stage", experts_fill_the_stage},
    Rule{"shard-group-divides", shard_group_divides},
    Rule{"chunks-need-stages", chunks_need_stages},
    Rule{"stages-pair-up", stages_pair_up},
    Rule{"gpu-has-the-precision", gpu_has_the_precision},
};

}  // namespace

std::optional<Rejected> first_rejection(const Scenario& scenario) {
  for (const Rule& rule : kRules) {
    if (auto found = rule.check(scenario)) {
      return Rejected{std::string{rule.name}, std::move(found->reason), std::move(found->advice)};
    }
  }
  return std::nullopt;
}

}  // namespace hexaplan::costmodel
