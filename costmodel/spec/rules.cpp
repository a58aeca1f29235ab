// The table of rules a layout must pass before it is priced. Cheapest first; adding one is adding a row.
#include "costmodel/spec/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/spec/axes_text.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/spec/shard_sizes.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

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

/// For rules that end here: why is only worked out for those who ask.
template <class Make>
bool fails(Reason* why, const Make& make) {
  if (why != nullptr) *why = make();
  return false;
}

bool divides(std::string_view what, std::int64_t n, std::string_view axis, std::int64_t degree, Reason* why) {
  if (degree >= 1 && n % degree == 0) return true;
  return fails(why, [&] {
    return Reason{fmt::format("{} {} do not split over {}={}", n, what, axis, degree),
                  divisors_that_pass(axis, n, 1024)};
  });
}

bool degrees_are_positive(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  const std::array<std::pair<std::string_view, int>, 7> degrees = {{{"dp", l.dp},
                                                                    {"tp", l.tp},
                                                                    {"cp", l.cp},
                                                                    {"pp", l.pp},
                                                                    {"vpp", l.vpp},
                                                                    {"ep", l.ep},
                                                                    {"diloco", l.outer_replicas}}};
  for (const auto& row : degrees) {
    if (row.second >= 1) continue;
    return fails(why, [&] {
      return Reason{fmt::format("{}={} is not a degree", row.first, row.second),
                    fmt::format("use {}=1 or more", row.first)};
    });
  }
  return true;
}

/// What sizes are computed from and divided by.
bool dimensions_are_positive(const Scenario& sc, Reason* why) {
  const ModelSpec& m = sc.model;
  const AttentionSpec& a = m.attention;
  const bool attends = has_attention(m);
  const std::int64_t kv_heads = attends && a.kind == AttentionKind::Grouped ? a.kv_heads : 1;
  const std::int64_t top_k = m.is_moe() ? m.moe.top_k : 1;
  const std::array<std::pair<std::string_view, std::int64_t>, 9> dimensions = {
      {{"layers", m.layers},
       {"hidden size", m.hidden},
       {"vocabulary", m.vocab},
       {"attention heads", attends ? a.heads : 1},
       {"key-value heads", kv_heads},
       {"head size", attends ? a.head_dim : 1},
       {"experts per token", top_k},
       {"sequence", sc.recipe.sequence},
       {"micro-batch", sc.recipe.micro_batch}}};
  for (const auto& row : dimensions) {
    if (row.second >= 1) continue;
    return fails(why, [&] {
      return Reason{fmt::format("{} of {}: nothing to compute", row.first, row.second), "give 1 or more"};
    });
  }
  return true;
}

bool fills_the_cluster(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  if (l.world_size() == sc.cluster.gpus) return true;
  const std::int64_t model_ranks = l.ranks_per_dp();
  return fails(why, [&] {
    return Reason{
        fmt::format("{} = {} but the cluster has {} GPUs", axes_text(l), l.world_size(), sc.cluster.gpus),
        sc.cluster.gpus % model_ranks == 0
            ? fmt::format("use dp={}", sc.cluster.gpus / model_ranks)
            : fmt::format("{} = {} must divide {} GPUs", axes_text(l, false), model_ranks, sc.cluster.gpus)};
  });
}

bool heads_divide(const Scenario& sc, Reason* why) {
  return divides("attention heads", sc.model.attention.heads, "tp", sc.layout.tp, why);
}

bool kv_heads_divide(const Scenario& sc, Reason* why) {
  const std::int64_t kv = sc.model.attention.kv_heads, tp = sc.layout.tp;
  if (kv % tp == 0 || tp % kv == 0) return true;
  return fails(why, [&] {
    return Reason{fmt::format("{} key-value heads neither split over tp={} nor replicate evenly", kv, tp),
                  divisors_that_pass("tp", kv, 1024)};
  });
}

/// Kinds of which NVIDIA/Megatron-LM@d98e8a6 has nothing in megatron/core/ssm, nor has transformers v5.24.0 a
/// plan for their layers (base_model_tp_plan of configuration_{jamba,minimax,kimi_linear}.py).
bool is_never_cut(RecurrentKind kind) {
  return kind == RecurrentKind::Mamba1 || kind == RecurrentKind::Lightning ||
         kind == RecurrentKind::KimiDelta;
}

/// NVIDIA/Megatron-LM@d98e8a6 megatron/core/ssm/mamba_mixer.py, and transformer_config.py for the gated delta
/// net: every rank has whole heads and whole groups of keys. Where layers attend beside the recurrence
/// (Falcon-H1) nobody cuts either.
bool states_divide(const Scenario& sc, Reason* why) {
  const RecurrentSpec& r = sc.model.recurrent;
  const std::int64_t tp = sc.layout.tp;
  if (!sc.model.is_recurrent() || tp == 1) return true;
  if (r.beside_attention) {
    return fails(why, [] {
      return Reason{"attention and state-space layers beside each other are cut by no framework", "use tp=1"};
    });
  }
  if (is_never_cut(r.kind)) {
    return fails(why, [] {
      return Reason{"no framework cuts these recurrent layers over tensor-parallel ranks", "use tp=1"};
    });
  }
  return divides("heads of the recurrent layers", r.heads, "tp", tp, why) &&
         (r.groups == 0 || divides("groups of keys of the recurrent layers", r.groups, "tp", tp, why));
}

/// NVIDIA/Megatron-LM@d98e8a6 megatron/core/ssm/mamba_context_parallel.py: heads are exchanged for tokens,
/// and groups are repeated where there are fewer than ranks; the gated delta net repeats none
/// (transformer_config.py: linear_num_key_heads is a multiple of tp·cp).
bool states_divide_by_context(const Scenario& sc, Reason* why) {
  const RecurrentSpec& r = sc.model.recurrent;
  const std::int64_t cp = sc.layout.cp, tp = std::max(1, sc.layout.tp);
  if (!sc.model.is_recurrent() || cp == 1) return true;
  if (r.kind == RecurrentKind::KimiDelta) {  // fla.ops.cp hands states on, and NVIDIA-NeMo/Automodel uses it
    return fails(why, [] {
      return Reason{"states that context-parallel ranks hand on to each other are not modelled", "use cp=1"};
    });
  }
  if (r.beside_attention || r.kind == RecurrentKind::ShortConvolution || is_never_cut(r.kind)) {
    return fails(why, [] {
      return Reason{"no framework shares sequences of these recurrent layers", "use cp=1"};
    });
  }
  const std::int64_t groups = r.groups / tp;
  if (!divides("heads of the recurrent layers per tensor-parallel rank", r.heads / tp, "cp", cp, why))
    return false;
  const bool repeats = r.kind == RecurrentKind::Mamba2 && groups > 0 && groups < cp && cp % groups == 0;
  return repeats ||
         divides("groups of keys of the recurrent layers per tensor-parallel rank", groups, "cp", cp, why);
}

bool ffn_divides(const Scenario& sc, Reason* why) {
  const std::int64_t dense = sc.model.mlp.ffn, shared = sc.model.moe.shared_ffn, tp = sc.layout.tp;
  return (dense == 0 || divides("feed-forward columns", dense, "tp", tp, why)) &&
         (shared == 0 || divides("feed-forward columns of the shared experts", shared, "tp", tp, why));
}

bool layers_fill_the_stages(const Scenario& sc, Reason* why) {
  const std::int64_t chunks = chunk_positions(sc.layout.schedule, sc.layout.pp, chunks_per_stage(sc.layout));
  // Where embedding and output layer take a layer's place, the first and the last chunk may hold nothing
  // else; an even split puts two layers too few there (126 of Llama-3.1-405B over 16·8 chunks).
  const StageSplit split = sc.layout.split == StageSplit::Even ? sc.framework.even_split : sc.layout.split;
  const bool ends_count =
      split == StageSplit::EndsMinusOne || split == StageSplit::EmbeddingCounts || split == StageSplit::Even;
  const std::int64_t ends = ends_count && chunks > sc.layout.pp ? 2 : 0;
  if (sc.model.layers + ends >= chunks) return true;
  return fails(why, [&] {
    return Reason{
        fmt::format("{} layers leave some of pp·vpp = {} model chunks empty", sc.model.layers, chunks),
        fmt::format("use pp·vpp of at most {}", sc.model.layers)};
  });
}

bool explicit_split_adds_up(const Scenario& sc, Reason* why) {
  if (sc.layout.split != StageSplit::Explicit) return true;
  const auto& stages = sc.layout.stage_layers;
  const auto chunks = static_cast<std::size_t>(
      chunk_positions(sc.layout.schedule, sc.layout.pp, chunks_per_stage(sc.layout)));
  const std::int64_t sum = std::accumulate(stages.begin(), stages.end(), std::int64_t{0});
  const bool positive = std::all_of(stages.begin(), stages.end(), [](int n) { return n >= 0; });
  if (stages.size() == chunks && sum == sc.model.layers && positive) return true;
  return fails(why, [&] {
    return Reason{fmt::format("the stage split names {} chunks with {} layers; the layout has {} chunks and "
                              "the model {} layers",
                              stages.size(), sum, chunks, sc.model.layers),
                  "give one layer count per chunk, adding up to the model's layers"};
  });
}

/// A batch that divides and is near the asked one; where a pass alone takes more, less of a pass.
std::string batch_advice(const Scenario& sc) {
  const std::int64_t batch = sc.recipe.global_batch, dp = sc.layout.batch_ranks();
  const std::int64_t per_pass = std::max<std::int64_t>(1, sc.recipe.micro_batch * dp);
  if (per_pass <= batch) return fmt::format("use a global batch of {}", batch / per_pass * per_pass);
  if (dp > batch)
    return fmt::format("use a dp of at most {}", std::max<std::int64_t>(1, batch / sc.layout.outer_replicas));
  for (std::int64_t micro = batch / dp; micro > 1; --micro) {
    if (batch % (micro * dp) == 0) return fmt::format("use a micro-batch of {}", micro);
  }
  const std::int64_t near = batch / dp * dp;
  return near == batch ? "use a micro-batch of 1"
                       : fmt::format("use a micro-batch of 1 and a global batch of {}", near);
}

bool batch_divides(const Scenario& sc, Reason* why) {
  const std::int64_t per_pass = sc.recipe.micro_batch * sc.layout.batch_ranks();
  if (per_pass > 0 && sc.recipe.global_batch % per_pass == 0 && sc.recipe.global_batch >= per_pass)
    return true;
  return fails(why, [&] {
    const int replicas = sc.layout.outer_replicas;
    return Reason{fmt::format("global batch {} is not a multiple of micro-batch {} × dp {}{} = {}",
                              sc.recipe.global_batch, sc.recipe.micro_batch, sc.layout.dp,
                              replicas > 1 ? fmt::format(" × {} replicas (diloco)", replicas) : "", per_pass),
                  batch_advice(sc)};
  });
}

/// Largest tensor of a micro-batch in elements: hidden states, MLP, logits, or scores where they are stored.
double largest_tensor(const Scenario& sc) {
  const ModelSpec& m = sc.model;
  const bool stored = stores_scores(sc.recipe.attention);
  const std::int64_t scores = stored ? m.attention.heads * sc.recipe.sequence : 0;
  const std::int64_t width = std::max(
      {m.hidden, 2 * m.mlp.ffn, m.vocab, scores, 2 * m.moe.expert_ffn * m.moe.top_k, m.hidden * m.moe.top_k,
       m.attention.heads * std::max(m.attention.head_dim, m.attention.v_head_dim),
       projected_columns(m.recurrent, m.recurrent.heads, m.recurrent.groups)});
  return static_cast<double>(sc.recipe.micro_batch) * static_cast<double>(sc.recipe.sequence) *
         static_cast<double>(width);
}

/// Counts are 64-bit integers and doubles, which hold whole numbers up to 2^53; the order of a pipeline
/// counts its tasks in 32 bits.
bool counts_stay_in_range(const Scenario& sc, Reason* why) {
  constexpr double kMostElements = 9007199254740992.0;
  constexpr std::int64_t kMostTasks = 2147483647, kMostRank = 1'000'000;
  const double largest = largest_tensor(sc);
  if (largest > kMostElements) {
    return fails(why, [&] {
      return Reason{
          fmt::format("micro-batch {} × sequence {} makes a tensor of {:.2g} elements; more than 9e15 "
                      "are not counted",
                      sc.recipe.micro_batch, sc.recipe.sequence, largest),
          "use a smaller micro-batch or sequence"};
    });
  }
  const Layout& l = sc.layout;
  const std::int64_t per_stage = microbatches_per_step(sc);
  const std::int64_t most = kMostTasks / (std::int64_t{2} * chunks_per_stage(l));
  if (per_stage > most) {
    return fails(why, [&] {
      return Reason{fmt::format("{} micro-batches per step; more than {} are not ordered", per_stage, most),
                    "use a smaller global batch or a larger micro-batch"};
    });
  }
  if (sc.recipe.lora_rank <= kMostRank) return true;
  return fails(why, [&] {
    return Reason{fmt::format("adapters of rank {}, at most {} are counted", sc.recipe.lora_rank, kMostRank),
                  "use a rank below the hidden size"};
  });
}

bool sequence_divides(const Scenario& sc, Reason* why) {
  const std::int64_t cp = sc.layout.cp;
  const std::int64_t pieces = cp > 1 && sc.layout.context != ContextKind::AllToAll ? 2 * cp : cp;
  const std::int64_t local = sc.layout.sp ? sc.layout.tp : 1;
  if (sc.recipe.sequence % pieces == 0 && (sc.recipe.sequence / cp) % local == 0) return true;
  return fails(why, [&] {
    std::vector<std::string> parts;
    if (pieces > 1)
      parts.push_back(fmt::format("{} {}", pieces, pieces > cp ? "zig-zag chunks" : "parts of cp"));
    if (local > 1) parts.push_back(fmt::format("{} parts of tp", local));
    return Reason{
        fmt::format("sequence {} does not split into {}", sc.recipe.sequence, fmt::join(parts, " times ")),
        fmt::format("use a sequence that is a multiple of {}", pieces * local)};
  });
}

bool heads_share_keys(const Scenario& sc, Reason* why) {
  const AttentionSpec& a = sc.model.attention;
  const bool grouped = a.kind == AttentionKind::Grouped && a.kv_heads > 0;  // none: states alone
  if (!grouped || a.heads % a.kv_heads == 0) return true;
  return fails(why, [&] {
    return Reason{fmt::format("{} query heads do not share {} key-value heads evenly", a.heads, a.kv_heads),
                  "use a number of key-value heads that divides the heads"};
  });
}

/// A token goes to an expert once: no expert gets more than all tokens.
bool imbalance_is_possible(const Scenario& sc, Reason* why) {
  if (!sc.model.is_moe()) return true;
  const double most = static_cast<double>(sc.model.moe.experts) / static_cast<double>(sc.model.moe.top_k);
  if (sc.recipe.routing.imbalance <= most) return true;
  return fails(why, [&] {
    return Reason{fmt::format("no expert gets {:g} times the mean: {} of {} experts take every token",
                              sc.recipe.routing.imbalance, sc.model.moe.top_k, sc.model.moe.experts),
                  fmt::format("use a routing imbalance of at most {:g}", most)};
  });
}

bool ulysses_has_heads(const Scenario& sc, Reason* why) {
  if (sc.layout.cp == 1 || sc.layout.context != ContextKind::AllToAll) return true;
  return divides("attention heads per tensor-parallel rank", sc.model.attention.heads / sc.layout.tp, "cp",
                 sc.layout.cp, why);
}

bool experts_divide(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  if (!sc.model.is_moe()) {
    if (l.ep == 1 && l.etp == 0) return true;
    return fails(why, [&] {
      return l.ep != 1 ? Reason{fmt::format("ep={} but the model has no experts", l.ep), "use ep=1"}
                       : Reason{fmt::format("etp={} but the model has no experts", l.etp), "leave etp out"};
    });
  }
  if (!divides("experts", sc.model.moe.experts, "ep", l.ep, why)) return false;
  return divides("expert feed-forward columns", sc.model.moe.expert_ffn, "etp", l.expert_tensor(), why);
}

/// Neighbouring world ranks that differ in what stands before `axis` in the order alone.
std::int64_t ranks_inside(const Layout& l, Axis axis) {
  std::int64_t ranks = 1;
  for (auto at = l.order.begin(); at != l.order.end() && *at != axis; ++at) ranks *= degree_of(l, *at);
  return ranks;
}

bool experts_fill_the_stage(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  if (!sc.model.is_moe()) return true;
  const std::int64_t stage = static_cast<std::int64_t>(l.dp) * l.cp * l.tp;
  const std::int64_t cut = static_cast<std::int64_t>(l.ep) * l.expert_tensor();
  if (stage % cut == 0) return true;
  return fails(why, [&] {
    return Reason{fmt::format("ep·etp = {} does not divide the {} ranks (dp·cp·tp) of a stage", cut, stage),
                  fmt::format("use ep·etp of {}", std::gcd(stage, cut))};
  });
}

/// Groups are made of whole rows of neighbouring ranks of a stage.
bool expert_groups_tile_rows(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  if (!sc.model.is_moe()) return true;
  const std::int64_t etp = l.expert_tensor(), cut = l.ep * etp, row = ranks_inside(l, Axis::Pipeline);
  if (row % cut == 0 || (row % etp == 0 && cut % row == 0)) return true;
  return fails(why, [&] {
    return Reason{
        fmt::format("groups of ep·etp = {} ranks would end inside a row of {} neighbours of a stage", cut,
                    row),
        "put pp last in the order, or use ep·etp that divides the row"};
  });
}

bool shard_group_divides(const Scenario& sc, Reason* why) {
  const int group = sc.layout.sharding.group;
  if (group == 0 || (sc.layout.dp * sc.layout.cp) % group == 0) return true;
  return fails(why, [&] {
    return Reason{fmt::format("shard groups of {} ranks do not tile the {} data-parallel ranks (dp·cp)",
                              group, sc.layout.dp * sc.layout.cp),
                  divisors_that_pass("shard", std::int64_t{sc.layout.dp} * sc.layout.cp, 4096)};
  });
}

/// Data-parallel neighbours along the inner of the two axes.
int data_row(const Layout& l) {
  const auto before = [&](Axis axis) { return std::find(l.order.begin(), l.order.end(), axis); };
  return before(Axis::Data) < before(Axis::Context) ? l.dp : l.cp;
}
bool tiles(int row, int group) {
  return row % group == 0 || group % row == 0;
}

/// Groups are made of whole rows along the inner of the two axes.
bool shard_groups_tile_rows(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  const int group = l.sharding.group, row = data_row(l);
  if (group == 0 || tiles(row, group)) return true;
  return fails(why, [&] {
    return Reason{
        fmt::format("shard groups of {} ranks do not tile the {} data-parallel ranks (dp·cp) in rows of {}",
                    group, l.dp * l.cp, row),
        fmt::format("use shard groups that divide {} or are a multiple of it", row)};
  });
}

/// … and so are those that keep a second copy, of the ranks of a shard group.
bool secondary_groups_tile_rows(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  const int hpz = l.sharding.hpz, row = std::min(data_row(l), l.shard_ranks());
  if (hpz <= 1 || l.sharding.stage < 3 || tiles(row, hpz)) return true;
  return fails(why, [&] {
    return Reason{
        fmt::format(
            "secondary groups of {} ranks do not tile the {} ranks that share parameters in rows of {}", hpz,
            l.shard_ranks(), row),
        fmt::format("use an hpz that divides {} or is a multiple of it", row)};
  });
}

bool chunks_need_stages(const Scenario& sc, Reason* why) {
  if (sc.layout.vpp == 1 || sc.layout.pp > 1) return true;
  return fails(why, [&] {
    return Reason{fmt::format("vpp={} needs pipeline stages to interleave", sc.layout.vpp),
                  "use vpp=1 or pp=2 and more"};
  });
}

bool stages_pair_up(const Scenario& sc, Reason* why) {
  if (model_copies(sc.layout.schedule) == 1 || sc.layout.pp % 2 == 0) return true;
  return fails(why, [&] {
    return Reason{fmt::format("DualPipe mirrors the model on pairs of stages, pp={} is odd", sc.layout.pp),
                  fmt::format("use an even pp such as {}, or dualpipev", sc.layout.pp + 1)};
  });
}

/// Those of the precisions that the GPU has units for.
std::vector<std::string_view> with_units(std::span<const Precision> precisions, const GpuSpec& gpu) {
  std::vector<std::string_view> words;
  for (const Precision precision : precisions) {
    if (gpu.peak_of(precision).value() > 0) words.push_back(name_of(precision));
  }
  return words;
}

/// "t4 has no units for bf16, only for fp32 and fp16".
std::string missing_precision(Precision asked, const GpuSpec& gpu) {
  std::vector<Precision> all;
  for (const auto& row : kPrecisionNames) all.push_back(row.value);
  const std::vector<std::string_view> words = with_units(all, gpu);
  return fmt::format("{} has no units for {}, {}{}", gpu.name, name_of(asked),
                     words.empty() ? "nor for any precision" : "only for ", fmt::join(words, " and "));
}

/// Which of the precisions that any recipe can take the GPU has units for.
std::string advice_on_precision(const GpuSpec& gpu) {
  constexpr Precision kUsual[] = {Precision::Bf16, Precision::Fp16, Precision::Fp32};
  const std::vector<std::string_view> words = with_units(kUsual, gpu);
  return words.empty() ? "use another GPU: it has no rate of any precision"
                       : fmt::format("use {}", fmt::join(words, " or "));
}

bool gpu_has_the_precision(const Scenario& sc, Reason* why) {
  if (sc.cluster.gpu.peak_of(sc.recipe.precision).value() > 0) return true;
  return fails(why, [&] {
    return Reason{missing_precision(sc.recipe.precision, sc.cluster.gpu),
                  advice_on_precision(sc.cluster.gpu)};
  });
}

bool positions_reach(const Scenario& sc, Reason* why) {
  const std::int64_t rows = sc.model.max_positions;
  if (sc.model.positions != PositionKind::Learned || rows <= 0 || sc.recipe.sequence <= rows) return true;
  return fails(why, [&] {
    return Reason{fmt::format("a sequence of {} tokens, but the model has learned {} positions",
                              sc.recipe.sequence, rows),
                  fmt::format("use a sequence of at most {}, or a config with more positions", rows)};
  });
}

bool states_can_be_trained(const Scenario& sc, Reason* why) {
  const Recipe& r = sc.recipe;
  if (r.parameter_dtype != DType::Nf4 && r.gradient_dtype != DType::Nf4) return true;
  return fails(why, [] {
    return Reason{"4-bit values (nf4) take no updates: only frozen weights are kept in them",
                  "use fine-tune qlora, whose base is nf4"};
  });
}

/// "fp32 or bf16" of bits by DType.
std::string words_of_types(std::uint16_t types) {
  std::vector<std::string_view> words;
  for (const DType type : {DType::Fp32, DType::Bf16, DType::Fp16, DType::Fp8}) {
    if (has_bit(types, type)) words.push_back(name_of(type));
  }
  return fmt::format("{}", fmt::join(words, " or "));
}

/// 16 bits of another kind than the computation's: autograd makes no such gradients, and no framework casts
/// to them.
bool is_foreign(DType type, const Scenario& sc) {
  const DType computed = activation_dtype(sc.recipe.precision);
  return bits_per_element(type) == 16 && bits_per_element(computed) == 16 && type != computed &&
         !sc.framework.abilities.mixed_half_types;
}

/// Frameworks cast a model to the type that they compute in (deepspeedai/DeepSpeed@edaa722
/// deepspeed/runtime/engine.py _configure_distributed_model; NVIDIA/Megatron-LM
/// megatron/training/arguments.py params_dtype), or keep it in fp32.
bool parameters_have_a_type(const Scenario& sc, Reason* why) {
  if (!sc.recipe.parameter_dtype || !is_foreign(*sc.recipe.parameter_dtype, sc)) return true;
  return fails(why, [&] {
    const bool half = sc.recipe.parameter_dtype == DType::Fp16;
    return Reason{fmt::format("{0} computation reads {0} parameters, which nobody keeps in {1} for it",
                              half ? "bf16" : "fp16", half ? "fp16" : "bf16"),
                  half ? "use precision fp16, or parameters in bf16 or fp32"
                       : "use precision bf16, or parameters in fp16 or fp32"};
  });
}

/// NVIDIA/Megatron-LM@d98e8a6 megatron/core/distributed/distributed_data_parallel.py: buffers in fp32 or in
/// the parameters' type; deepspeedai/DeepSpeed@edaa722 deepspeed/runtime/config.py grad_accum_dtype: fp32,
/// fp16 or bf16; elsewhere what autograd makes.
bool gradients_have_a_type(const Scenario& sc, Reason* why) {
  const std::uint16_t types = sc.framework.abilities.gradients;
  if (!sc.recipe.gradient_dtype) return true;
  if (!has_bit(types, *sc.recipe.gradient_dtype)) {
    return fails(why, [&] {
      return Reason{fmt::format("{} does not accumulate gradients in that type", sc.framework.name),
                    fmt::format("use {}, or leave the type to the framework", words_of_types(types))};
    });
  }
  if (!is_foreign(*sc.recipe.gradient_dtype, sc)) return true;
  return fails(why, [&] {
    const bool half = sc.recipe.gradient_dtype == DType::Fp16;
    return Reason{fmt::format("{0} computation makes {0} gradients, which nobody accumulates in {1}",
                              half ? "bf16" : "fp16", half ? "fp16" : "bf16"),
                  half ? "use precision fp16, or gradients in bf16 or fp32"
                       : "use precision bf16, or gradients in fp16 or fp32"};
  });
}

bool moments_have_a_type(const Scenario& sc, Reason* why) {
  if (!sc.recipe.moment_dtype) return true;
  const FrameworkAbilities& can = sc.framework.abilities;
  const bool known = has_bit(can.moments, *sc.recipe.moment_dtype);
  if (known && sc.recipe.optimizer == Optimizer::AdamW) return true;
  return fails(why, [&] {
    if (known)
      return Reason{"only AdamW's moments have a type of their own",
                    "use optimizer adamw, or leave the type to the framework"};
    if (can.moments == 0)
      return Reason{fmt::format("{} keeps moments in its own type", sc.framework.name),
                    "leave the type to the framework"};
    return Reason{fmt::format("{} does not keep moments in that type", sc.framework.name),
                  fmt::format("use {}, or leave the type to the framework", words_of_types(can.moments))};
  });
}

/// huggingface/peft src/peft/tuners/tuners_utils.py, inject_adapter: "Target modules … not found".
bool adapters_find_layers(const Scenario& sc, Reason* why) {
  const bool query_value = trains_adapters(sc.recipe) && sc.recipe.fine_tune != FineTune::Ia3 &&
                           sc.recipe.lora_targets == AdapterTargets::QueryValue;
  const AttentionSpec& attention = sc.model.attention;
  if (!query_value || attention.kind != AttentionKind::Latent || attention.q_lora_rank == 0) return true;
  return fails(why, [&] {
    return Reason{
        fmt::format("{} has no q_proj and no v_proj that adapters could stand beside", sc.model.name),
        "use lora-targets attention or all-linear"};
  });
}

bool base_can_be_integers(const Scenario& sc, Reason* why) {
  if (sc.recipe.fine_tune != FineTune::Lora8bit || sc.framework.abilities.integer_base) return true;
  return fails(why, [&] {
    return Reason{fmt::format("{} has no matrices in 8 bits beside adapters", sc.framework.name),
                  "use framework hf-eager or hf-deepspeed (PEFT over bitsandbytes), or fine-tune lora or "
                  "qlora"};
  });
}

/// FSDP flattens parameters of one floating type (huggingface/peft#2833, bitsandbytes#1709,
/// hiyouga/LlamaFactory#3543, "wontfix"), and codes without their scales are no shards of a weight.
bool integers_stay_whole(const Scenario& sc, Reason* why) {
  const Layout& l = sc.layout;
  if (sc.recipe.fine_tune != FineTune::Lora8bit) return true;
  if (l.tp == 1 && (l.sharding.stage < 3 || l.shard_ranks() == 1)) return true;
  return fails(why, [] {
    return Reason{
        "bitsandbytes' matrices in 8 bits are whole on every rank: neither FSDP, ZeRO-3 nor tensor "
        "parallelism cuts them",
        "use tp=1 and ZeRO-2 or less, or fine-tune qlora"};
  });
}

bool modules_train_beside_adapters(const Scenario& sc, Reason* why) {
  const Recipe& r = sc.recipe;
  const bool biases = r.lora_bias != TrainedBiases::None, modules = r.saved_modules != SavedModules::None;
  const auto refused = [&](std::string reason, std::string advice) {
    return fails(why, [&] { return Reason{std::move(reason), std::move(advice)}; });
  };
  if (!biases && !modules) return true;
  if (biases && !trains_low_rank(r))
    return refused("biases train beside LoRA's matrices, and none are trained",
                   "use fine-tune lora, qlora or lora-8bit, or lora-bias none");
  if (!trains_adapters(r))
    return refused("modules are saved beside adapters, and none are trained",
                   "use fine-tune lora, qlora, lora-8bit or ia3, or saved-modules none");
  if (!sc.framework.abilities.saved_modules)
    return refused(fmt::format("{} trains nothing beside adapters", sc.framework.name),
                   "use framework hf-eager, hf-fsdp2 or hf-deepspeed (PEFT) or hexaplan, or lora-bias none "
                   "and saved-modules none");
  if (r.trainable_parameters > 0)
    return refused("a number of trained parameters does not say which of them are biases or modules",
                   "leave trainable_parameters out, or lora-bias none and saved-modules none");
  // PEFT's copy of one leaves the other as it was: another model than was asked for.
  if (modules && sc.model.tied_embeddings)
    return refused(fmt::format("the output layer of {} is its word table: a trained copy would part them",
                               sc.model.name),
                   "use saved-modules none, or a model with an output layer of its own");
  return true;
}

bool magnitudes_are_learned(const Scenario& sc, Reason* why) {
  if (!sc.recipe.dora) return true;
  if (!learns_magnitudes(sc.recipe)) {
    return fails(why, [] {
      return Reason{"DoRA learns magnitudes of what LoRA's matrices are added to, and none are trained",
                    "use fine-tune lora, qlora or lora-8bit, or dora false"};
    });
  }
  if (sc.framework.abilities.dora) return true;
  return fails(why, [&] {
    return Reason{fmt::format("{} has no DoRA", sc.framework.name),
                  "use framework hf-eager (PEFT), fsdp2 or ddp (torchtune), megatron (Megatron-Bridge) or "
                  "hexaplan, or dora false"};
  });
}

/// Hooks that update a parameter as soon as its gradient is there do so in every backward pass.
bool in_backward_has_one_microbatch(const Scenario& sc, Reason* why) {
  const std::int64_t per_pass = sc.recipe.micro_batch * sc.layout.batch_ranks();
  if (!sc.recipe.optimizer_in_backward || sc.recipe.global_batch <= per_pass) return true;
  return fails(why, [&] {
    return Reason{"an optimizer step inside backward would update in every micro-batch: it cannot accumulate",
                  fmt::format("use a global batch of {}, or optimizer_in_backward false", per_pass)};
  });
}

/// deepspeedai/DeepSpeed@edaa722 deepspeed/runtime/zero/stage_1_and_2.py refuses "Muon with reduce scatter"
/// beside an offloaded optimizer; nobody runs Newton-Schulz iterations, or projects gradients, on a host's
/// cores.
bool matrices_stay_on_the_gpu(const Scenario& sc, Reason* why) {
  const OptimizerTraits& traits = traits_of(sc.recipe.optimizer);
  if (!traits.by_matrix() || offloaded_update(sc.recipe) <= 0) return true;
  return fails(why, [&] {
    return Reason{traits.orthogonalises
                      ? "Muon orthogonalises whole matrices on the GPU: its update is not offloaded"
                  : traits.projects()
                      ? "gradients of whole matrices are projected on the GPU: the update is not offloaded"
                      : "gradients of whole matrices are preconditioned on the GPU: the update is not "
                        "offloaded",
                  "offload parameters or activations, or use AdamW"};
  });
}

/// "Cannot use LoRA with GaLore, APOLLO or BAdam together" (hiyouga/LLaMA-Factory@ff6d4d1
/// src/llamafactory/hparams/finetuning_args.py).
bool subspaces_have_matrices(const Scenario& sc, Reason* why) {
  const Recipe& r = sc.recipe;
  const bool projects = traits_of(r.optimizer).projects();
  if (!projects && r.projection_rank == 0 && r.projection_interval == 0) return true;
  if (!projects) {
    return fails(why, [] {
      return Reason{
          "the optimizer projects no gradients: there is no subspace whose rank or interval could be "
          "said",
          "use galore, galore-8bit, apollo or apollo-mini, or leave projection-rank and "
          "projection-interval out"};
    });
  }
  if (!sc.framework.abilities.low_rank) {
    return fails(why, [&] {
      return Reason{fmt::format("{} has no optimizer that projects gradients", sc.framework.name),
                    "use framework hf-eager, ddp or hexaplan, or another optimizer"};
    });
  }
  if (!trains_adapters(r)) return true;
  return fails(why, [] {
    return Reason{"gradients of whole matrices are projected, and adapters train none",
                  "use fine-tune full, or another optimizer"};
  });
}

/// No rank has a part of a matrix whose gradient is taken as a whole; updates in the backward pass are a
/// rank's own where frameworks have no hook between reduction and update.
bool gradients_are_whole(const Scenario& sc, const char* taken, const char* optimizers, Reason* why) {
  const Layout& l = sc.layout;
  const bool cut = l.sharding.stage >= 1 && l.shard_ranks() > 1;
  if (cut || l.tp > 1 || l.expert_tensor() > 1) {
    return fails(why, [&] {
      return Reason{fmt::format("gradients of whole matrices are {}, of which {} ranks have a part each",
                                taken, cut ? l.shard_ranks() : std::max(l.tp, l.expert_tensor())),
                    "use ddp with tp=1, or another optimizer"};
    });
  }
  if (!sc.recipe.optimizer_in_backward || l.dp * l.cp == 1 || sc.framework.abilities.layerwise_replicas)
    return true;
  return fails(why, [&] {
    return Reason{
        fmt::format("layer-wise {} run on one GPU, not between {} replicas", optimizers, l.dp * l.cp),
        "use optimizer_in_backward false, or dp=1"};
  });
}

/// Singular vectors, and norms of channels, of a part are not those of the matrix: "GaLore and APOLLO are
/// incompatible with DeepSpeed yet", "Distributed training does not support layer-wise GaLore"
/// (hiyouga/LLaMA-Factory@ff6d4d1 src/llamafactory/hparams/parser.py; huggingface/transformers@v5.24.0
/// src/transformers/trainer_optimizer.py _setup_low_rank_optimizer).
bool subspaces_are_of_whole_matrices(const Scenario& sc, Reason* why) {
  if (!traits_of(sc.recipe.optimizer).projects()) return true;
  return gradients_are_whole(sc, "projected", "GaLore and APOLLO", why);
}

/// Second moments of a part's rows and columns are not the matrix's (nikhilvyas/SOAP@a1e5535 README.md:
/// "distributed training" is to come; Distributed Shampoo's own ways to deal blocks out to ranks are not
/// planned).
bool preconditioners_are_of_whole_matrices(const Scenario& sc, Reason* why) {
  if (!traits_of(sc.recipe.optimizer).preconditions()) return true;
  return gradients_are_whole(sc, "preconditioned", "Shampoo and SOAP", why);
}

/// 16-bit products cannot be added to the fp32 statistics that SOAP makes (soap.py init_preconditioner,
/// update_preconditioner: lerp_ wants one type).
bool adds_to_fp32_statistics(const Scenario& sc) {
  const Recipe& r = sc.recipe;
  if (traits_of(r.optimizer).precondition != Precondition::Eigenbasis || sc.framework.master_parameters)
    return true;
  return r.parameter_dtype.value_or(DType::Fp32) == DType::Fp32;
}

/// What Shampoo and SOAP need of a recipe and a framework.
bool preconditioners_have_matrices(const Scenario& sc, Reason* why) {
  const Recipe& r = sc.recipe;
  const bool preconditions = traits_of(r.optimizer).preconditions();
  if (!preconditions && r.precondition_frequency == 0 && r.max_precondition_dim == 0) return true;
  if (!preconditions) {
    return fails(why, [] {
      return Reason{
          "the optimizer preconditions no gradients: there are no bases or roots whose frequency or longest "
          "side could be said",
          "use shampoo or soap, or leave precondition-frequency and max-precondition-dim out"};
    });
  }
  if (!sc.framework.abilities.preconditioned) {
    return fails(why, [&] {
      return Reason{fmt::format("{} has no optimizer that preconditions gradients by rows and columns",
                                sc.framework.name),
                    "use framework ddp, hf-eager or hexaplan, or another optimizer"};
    });
  }
  if (trains_adapters(r)) {
    return fails(why, [] {
      return Reason{"gradients of whole matrices are preconditioned, and adapters train none",
                    "use fine-tune full, or another optimizer"};
    });
  }
  if (adds_to_fp32_statistics(sc)) return true;
  return fails(why, [] {
    return Reason{"SOAP's statistics are fp32, to which it cannot add products of 16-bit gradients",
                  "use params-dtype fp32, or shampoo"};
  });
}

/// Replicas that never meet train models of their own; behind every step they meet in gradients for less.
/// What is said of outer steps has something to be said of.
bool outer_steps_are_said(const Scenario& sc, Reason* why) {
  const OuterSteps& outer = sc.recipe.outer;
  const int replicas = sc.layout.outer_replicas;
  if (replicas > 1 && !outer.taken()) {
    return fails(why, [&] {
      return Reason{fmt::format("{} replicas (diloco) train apart and never exchange anything", replicas),
                    "say outer-steps, such as 500, or leave diloco out and use data parallelism"};
    });
  }
  if (outer.every == 1) {
    return fails(why, [] {
      return Reason{
          "an outer step behind every step moves parameters as often as data parallelism moves "
          "gradients, and keeps two further states",
          "use outer-steps of 2 or more, or data parallelism (dp)"};
    });
  }
  if (!outer.taken() && outer != OuterSteps{}) {
    return fails(why, [] {
      return Reason{"no outer steps are taken whose gradients or states could lie or travel in another way",
                    "say outer-steps, or leave outer-dtype and outer-states out"};
    });
  }
  if (replicas > 1 || outer.dtype == DType::Fp32) return true;
  return fails(why, [] {
    return Reason{"one replica sends no outer gradients that could travel in another type",
                  "use diloco2 or more in the layout, or leave outer-dtype out"};
  });
}

/// Of outer steps: what they stand behind.
bool outer_steps_can_be_taken(const Scenario& sc, Reason* why) {
  if (!sc.recipe.outer.taken()) return true;
  if (!sc.framework.abilities.outer_steps) {
    return fails(why, [&] {
      return Reason{fmt::format("{} takes no outer steps", sc.framework.name),
                    "use framework fsdp2 (torchtitan with torchft) or hexaplan, or leave diloco and "
                    "outer-steps out"};
    });
  }
  if (!sc.recipe.optimizer_in_backward && offloaded_update(sc.recipe) <= 0 &&
      (sc.recipe.offload & kOffloadParameters) == 0)
    return true;
  return fails(why, [&] {
    return Reason{sc.recipe.optimizer_in_backward
                      ? "an outer step follows the optimizer's, which updates in backward have no end of"
                      : "an outer step moves parameters on the GPU, and the host has them or their update",
                  sc.recipe.optimizer_in_backward
                      ? "use optimizer_in_backward false"
                      : "use outer-states host instead of offloading the optimizer or parameters"};
  });
}

/// deepspeedai/DeepSpeed deepspeed/utils/groups.py _create_zero_param_parallel_group: the secondary groups
/// cut the ranks that share parameters.
bool secondary_partition_divides(const Scenario& sc, Reason* why) {
  const int hpz = sc.layout.sharding.hpz, ranks = sc.layout.shard_ranks();
  if (hpz <= 1 || sc.layout.sharding.stage < 3 || ranks % hpz == 0) return true;
  return fails(why, [&] {
    return Reason{
        fmt::format("{} ranks that share parameters do not split into secondary groups of {}", ranks, hpz),
        fmt::format("use an hpz that divides {}", ranks)};
  });
}

/// deepspeedai/DeepSpeed deepspeed/runtime/zero/partition_parameters.py _partition_param_sec makes the
/// secondary tensor on the device of offloaded parameters, which a disk is not ("NVME secondary param
/// offload" is marked as missing there).
bool secondary_partition_has_a_place(const Scenario& sc, Reason* why) {
  if (!secondary_on_host(sc) || sc.recipe.offload_device != OffloadDevice::Nvme) return true;
  return fails(why, [] {
    return Reason{"hpz keeps a second copy where parameters lie, and none on disks",
                  "offload parameters to the host's memory, or leave hpz out"};
  });
}

/// deepspeedai/DeepSpeed docs/_pages/config-json.md, offload_param: "only valid for stage 3"; PyTorch's
/// CPUOffload keeps sharded parameters.
bool offloaded_parameters_are_sharded(const Scenario& sc, Reason* why) {
  if ((sc.recipe.offload & kOffloadParameters) == 0 || sc.layout.sharding.stage >= 3) return true;
  return fails(why, [&] {
    return Reason{fmt::format("parameters are offloaded under ZeRO-3 only, not under ZeRO-{}",
                              sc.layout.sharding.stage),
                  "use zero3"};
  });
}

/// deepspeedai/DeepSpeed@edaa722 deepspeed/runtime/zero/config.py offload_ratio_check: "Partial offloading
/// only supported for ZeRO Stage 3."
bool offloaded_share_has_its_stage(const Scenario& sc, Reason* why) {
  const double share = offloaded_update(sc.recipe);
  const unsigned stages = sc.framework.abilities.partial_offload;
  if (share <= 0 || share >= 1 || has_bit(stages, sc.layout.sharding.stage)) return true;
  return fails(why, [&] {
    std::vector<std::string> words;
    for (int stage = 0; stage <= 3; ++stage) {
      if (has_bit(stages, stage)) words.push_back(fmt::format("zero{}", stage));
    }
    return Reason{fmt::format("{} offloads all of the optimizer's states under ZeRO-{}, or none",
                              sc.framework.name, sc.layout.sharding.stage),
                  fmt::format("use {}, or an offload-fraction of 1", fmt::join(words, " or "))};
  });
}

/// NVIDIA/Megatron-LM megatron/core/transformer/moe/token_dispatcher.py, preprocess: rows are as many as the
/// capacity says, permute() has one per token of the rank at most.
bool capacity_is_filled(const Scenario& sc, Reason* why) {
  if (!pads_experts(sc)) return true;
  const std::int64_t tokens = routed_tokens(sc);
  const std::int64_t capacity = expert_capacity(sc, tokens);
  if (capacity <= tokens) return true;
  return fails(why, [&] {
    return Reason{
        fmt::format("experts padded to {} rows cannot get them from the {} tokens that a rank routes",
                    capacity, tokens),
        fmt::format("use a capacity factor of at most {:g}, experts over experts per token",
                    static_cast<double>(sc.model.moe.experts) / static_cast<double>(sc.model.moe.top_k))};
  });
}

/// NVIDIA/Megatron-LM megatron/core/transformer/transformer_config.py: "Flex token dispatcher does not
/// support moe_pad_expert_input_to_capacity"; of its kernels HybridEP has learnt it since
/// (token_dispatcher.py, _HybridEPManager).
bool dispatcher_pads(const Scenario& sc, Reason* why) {
  if (!pads_experts(sc) || sc.recipe.execution.dispatcher != ExpertDispatcher::DeepEp) return true;
  return fails(why, [] {
    return Reason{"DeepEP sends the tokens that there are and pads no expert",
                  "use moe_dispatcher alltoall, or pad_to_capacity false"};
  });
}

/// Shards of FSDP2 are DTensors, on which transformers' and torch's Adafactor both raise (torch 2.15,
/// transformers 5.23; docs/formulas.md#M1).
bool shards_can_be_factored(const Scenario& sc, Reason* why) {
  const bool cut = sc.layout.sharding.stage >= 1 && sc.layout.shard_ranks() > 1;
  if (!cut || sc.framework.abilities.factored_shards || !traits_of(sc.recipe.optimizer).factored) return true;
  return fails(why, [&] {
    return Reason{fmt::format("Adafactor takes no step on the shards of {}", sc.framework.name),
                  "use another optimizer, or a framework whose shards are flat (fsdp1, deepspeed)"};
  });
}

bool sizes_can_be_said(const Scenario& sc, Reason* why) {
  if (sc.recipe.sizes == ZeroSizes{} || sc.framework.abilities.zero_sizes) return true;
  return fails(why, [&] {
    return Reason{fmt::format("{} has no sizes of ZeRO's buckets and gathers to say", sc.framework.name),
                  "leave them out, or use framework deepspeed or hf-deepspeed"};
  });
}

/// What other lengths leave behind in the allocator is known from measurements alone.
bool varying_lengths_are_known(const Scenario& sc, Reason* why) {
  if (sc.recipe.padding == BatchPadding::MaxLength || sc.framework.varying_reserved_ratio > 0) return true;
  return fails(why, [&] {
    return Reason{fmt::format("{} has no figures for batches whose length varies", sc.framework.name),
                  "use padding max_length, or another framework"};
  });
}

constexpr std::array kRules{
    Rule{"degrees-are-positive", RuleScope::Grid, nullptr, degrees_are_positive},
    Rule{"dimensions-are-positive", RuleScope::Grid, nullptr, dimensions_are_positive},
    Rule{"fills-the-cluster", RuleScope::Grid, &Layout::dp, fills_the_cluster},
    Rule{"gpu-has-the-precision", RuleScope::Grid, nullptr, gpu_has_the_precision},
    Rule{"states-can-be-trained", RuleScope::Grid, nullptr, states_can_be_trained},
    Rule{"parameters-have-a-type", RuleScope::Grid, nullptr, parameters_have_a_type},
    Rule{"gradients-have-a-type", RuleScope::Grid, nullptr, gradients_have_a_type},
    Rule{"moments-have-a-type", RuleScope::Grid, nullptr, moments_have_a_type},
    Rule{"adapters-find-layers", RuleScope::Grid, nullptr, adapters_find_layers},
    Rule{"subspaces-have-matrices", RuleScope::Grid, nullptr, subspaces_have_matrices},
    Rule{"preconditioners-have-matrices", RuleScope::Grid, nullptr, preconditioners_have_matrices},
    Rule{"outer-steps-are-said", RuleScope::Grid, nullptr, outer_steps_are_said},
    Rule{"outer-steps-can-be-taken", RuleScope::Grid, nullptr, outer_steps_can_be_taken},
    Rule{"base-can-be-integers", RuleScope::Grid, nullptr, base_can_be_integers},
    Rule{"magnitudes-are-learned", RuleScope::Grid, nullptr, magnitudes_are_learned},
    Rule{"modules-train-beside-adapters", RuleScope::Grid, nullptr, modules_train_beside_adapters},
    Rule{"zero-sizes-can-be-said", RuleScope::Grid, nullptr, sizes_can_be_said},
    Rule{"varying-lengths-are-known", RuleScope::Grid, nullptr, varying_lengths_are_known},
    Rule{"positions-reach", RuleScope::Grid, nullptr, positions_reach},
    Rule{"imbalance-is-possible", RuleScope::Grid, nullptr, imbalance_is_possible},
    Rule{"heads-divide-by-tp", RuleScope::Grid, &Layout::tp, heads_divide},
    Rule{"kv-heads-divide-by-tp", RuleScope::Grid, &Layout::tp, kv_heads_divide},
    Rule{"heads-share-keys", RuleScope::Grid, nullptr, heads_share_keys},
    Rule{"states-divide-by-tp", RuleScope::Grid, &Layout::tp, states_divide},
    Rule{"states-divide-by-cp", RuleScope::Grid, &Layout::cp, states_divide_by_context},
    Rule{"ffn-divides-by-tp", RuleScope::Grid, &Layout::tp, ffn_divides},
    Rule{"heads-divide-by-cp", RuleScope::Grid, &Layout::cp, ulysses_has_heads},
    Rule{"experts-divide-by-ep", RuleScope::Grid, &Layout::ep, experts_divide},
    Rule{"experts-fill-the-stage", RuleScope::Grid, &Layout::ep, experts_fill_the_stage},
    Rule{"dispatcher-pads", RuleScope::Grid, nullptr, dispatcher_pads},
    Rule{"layers-fill-the-stages", RuleScope::Stages, &Layout::pp, layers_fill_the_stages},
    Rule{"stage-split-adds-up", RuleScope::Stages, nullptr, explicit_split_adds_up},
    Rule{"chunks-need-stages", RuleScope::Stages, &Layout::vpp, chunks_need_stages},
    Rule{"stages-pair-up", RuleScope::Stages, &Layout::pp, stages_pair_up},
    Rule{"batch-divides", RuleScope::Batch, nullptr, batch_divides},
    Rule{"counts-stay-in-range", RuleScope::Batch, nullptr, counts_stay_in_range},
    Rule{"update-in-backward", RuleScope::Batch, nullptr, in_backward_has_one_microbatch},
    Rule{"sequence-divides", RuleScope::Sequence, &Layout::cp, sequence_divides},
    Rule{"capacity-is-filled", RuleScope::Sequence, nullptr, capacity_is_filled},
    Rule{"integers-stay-whole", RuleScope::Shards, nullptr, integers_stay_whole},
    Rule{"shard-group-divides", RuleScope::Shards, nullptr, shard_group_divides},
    Rule{"shards-can-be-factored", RuleScope::Shards, nullptr, shards_can_be_factored},
    Rule{"matrices-stay-on-the-gpu", RuleScope::Shards, nullptr, matrices_stay_on_the_gpu},
    Rule{"subspaces-are-of-whole-matrices", RuleScope::Shards, nullptr, subspaces_are_of_whole_matrices},
    Rule{"preconditioners-are-of-whole-matrices", RuleScope::Shards, nullptr,
         preconditioners_are_of_whole_matrices},
    Rule{"secondary-partition-divides", RuleScope::Shards, nullptr, secondary_partition_divides},
    Rule{"secondary-partition-has-a-place", RuleScope::Shards, nullptr, secondary_partition_has_a_place},
    Rule{"offload-needs-zero3", RuleScope::Shards, nullptr, offloaded_parameters_are_sharded},
    Rule{"offloaded-share-has-its-stage", RuleScope::Shards, nullptr, offloaded_share_has_its_stage},
    Rule{"expert-groups-tile-rows", RuleScope::Order, nullptr, expert_groups_tile_rows},
    Rule{"shard-groups-tile-rows", RuleScope::Order, nullptr, shard_groups_tile_rows},
    Rule{"secondary-groups-tile-rows", RuleScope::Order, nullptr, secondary_groups_tile_rows},
};
static_assert(std::is_sorted(kRules.begin(), kRules.end(),
                             [](const Rule& a, const Rule& b) { return a.scope < b.scope; }),
              "a search decides by scope and must find the same first rule");

}  // namespace

std::span<const Rule> layout_rules() {
  return kRules;
}

std::optional<Rejected> first_rejection(const Scenario& scenario) {
  for (const Rule& rule : kRules) {
    if (rule.passes(scenario, nullptr)) continue;
    Reason why;
    rule.passes(scenario, &why);
    return Rejected{std::string{rule.name}, std::move(why.reason), std::move(why.advice)};
  }
  return std::nullopt;
}

}  // namespace hexaplan::costmodel
