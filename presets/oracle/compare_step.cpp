#include "presets/oracle/compare_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>
#include <utility>

#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/model_flops.h"
#include "costmodel/step/step_counts.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {
namespace {

using costmodel::Bytes;
using costmodel::CollectiveCount;
using costmodel::CollectiveKind;
using costmodel::DType;
using costmodel::Group;
using costmodel::Instant;
using costmodel::Layout;
using costmodel::Pass;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::TensorEntry;
using costmodel::TensorKind;
using costmodel::TensorLedger;

/// Counts are exact; statistics of a few bytes are kept that no formula has; what an operation takes beside
/// its tensors is known to about a hundredth.
constexpr double kCountTolerance = 1e-9, kKeptTolerance = 1e-3, kPeakTolerance = 1e-2;

// --- which part of a layer a tensor belongs to ---

constexpr std::string_view kWeightsPart = "weights", kNormInputsPart = "norm inputs",
                           kNormOutputsPart = "norm outputs", kStatisticsPart = "statistics",
                           kAttentionPart = "attention", kMlpPart = "mlp", kExpertsPart = "experts",
                           kAdaptersPart = "adapters", kCheckpointPart = "checkpoint", kOtherPart = "other";
constexpr std::string_view kParameterCast = "cast of a parameter";

/// By the name of the ledger.
std::string_view part_of(const TensorEntry& e) {
  struct Row {
    std::string_view starts, part;
  };
  constexpr Row kRows[] = {{"parameter.cast", kWeightsPart},
                           {"layer.", kNormInputsPart},
                           {"norm.input", kNormInputsPart},
                           {"norm.output", kNormOutputsPart},
                           {"norm.stats", kStatisticsPart},
                           {"attention.log_sum_exp", kStatisticsPart},
                           {"attention.qk_norm.stats", kStatisticsPart},
                           {"attention.", kAttentionPart},
                           {"mlp.", kMlpPart},
                           {"moe.", kExpertsPart},
                           {"adapter.", kAdaptersPart}};
  if (e.formula == "M3") return kCheckpointPart;
  const auto* const row =
      std::ranges::find_if(kRows, [&](const Row& r) { return e.name.starts_with(r.starts); });
  return row == std::end(kRows) ? kOtherPart : row->part;
}

constexpr std::int64_t kMostStatistics = 65536;  // elements: a few numbers per token

/// By the module and the operation that made it. Types tell parts apart where not all are fp32.
std::string_view part_of(const KeptTensor& t, const KeptScale& scale) {
  const std::string_view module = t.module;
  const auto in = [&](std::string_view text) { return module.find(text) != std::string_view::npos; };
  const auto by = [&](std::string_view text) { return t.operation == text; };
  const bool statistics = by("rsqrt") || (by("native_layer_norm") && t.elements <= kMostStatistics);
  const bool of_heads = t.dtype == "fp32" && t.elements < scale.hidden_states;  // a number per token and head
  if (by(kParameterCast)) return kWeightsPart;
  if (statistics || (of_heads && (by("_scaled_dot_product_flash_attention_for_cpu") || by("new_empty"))))
    return kStatisticsPart;
  const bool wide = t.dtype == "fp32" && !scale.fp32;
  if (in("lora_") || (in("_proj") && wide) || in("base_layer")) return kAdaptersPart;
  constexpr std::array<std::string_view, 17> kReadHidden{"wq",
                                                         "wk",
                                                         "wv",
                                                         "w1",
                                                         "w3",
                                                         "q_proj",
                                                         "k_proj",
                                                         "v_proj",
                                                         "c_attn",
                                                         "query_key_value",
                                                         "gate_proj",
                                                         "up_proj",
                                                         "c_fc",
                                                         "fc1",
                                                         "dense_h_to_4h",
                                                         "q_a_proj",
                                                         "kv_a_proj_with_mqa"};
  const bool reads_hidden = std::ranges::any_of(kReadHidden, [&](auto end) { return module.ends_with(end); });
  if (by("_to_copy") && reads_hidden && t.elements == scale.hidden_states && t.dtype == "bf16")
    return kNormOutputsPart;
  if (in("experts") || module.ends_with("mlp.gate")) return kExpertsPart;
  if (by("wait_tensor")) return kNormOutputsPart;  // gathered
  if (by("mm") && module.ends_with("wo"))
    return kNormInputsPart;  // to which a compiled norm adds the residual
  if (in("q_norm") || in("k_norm") || in("kv_a_layernorm")) return kAttentionPart;
  if (in("norm") || in("ln_"))
    return wide && (by("_to_copy") || by("mul") || by("sub")) ? kNormInputsPart : kNormOutputsPart;
  if (in("attn") || in("attention")) return kAttentionPart;
  return in("mlp") || in("feed_forward") || in("fc1") || in("activation_fn") ? kMlpPart : kNormInputsPart;
}

/// Types are told apart by their size: fp16 counts as bf16, integers as fp32 or bytes.
std::string_view type_of(DType type) {
  return type == DType::Fp32 ? "fp32" : type == DType::Int8 ? "byte" : "bf16";
}
std::string_view type_of(std::string_view type) {
  return type == "bool" || type == "uint8" ? "byte" : type == "int64" || type == "int32" ? "fp32" : type;
}

/// A module inside its layer: "mlp.up_proj" of "model.layers.*.mlp.up_proj".
std::string module_in_layer(const std::string& module) {
  const std::size_t star = module.find('*');
  if (star == std::string::npos) return module;
  return star + 2 < module.size() ? module.substr(star + 2) : "layer";
}

/// Equal tensors become one with their number.
void add(KeptParts& parts, std::string_view part, std::string_view type, NamedTensor tensor) {
  KeptPart& into = parts[fmt::format("{} {}", part, type)];
  into.size += tensor.size;
  const auto same = std::ranges::find_if(into.tensors, [&](const NamedTensor& other) {
    return other.name == tensor.name && other.dtype == tensor.dtype && other.elements == tensor.elements;
  });
  if (same == into.tensors.end()) {
    into.tensors.push_back(std::move(tensor));
  } else {
    same->count += tensor.count;
    same->size += tensor.size;
  }
}

/// Sums are whole bytes until they are divided, so that equal ones stay equal.
KeptParts per_layer(KeptParts parts, double layers) {
  for (auto& [name, part] : parts) {
    part.size = part.size / layers;
    for (NamedTensor& tensor : part.tensors) {
      tensor.count /= layers;
      tensor.size = tensor.size / layers;
    }
  }
  return parts;
}

// --- numbers side by side ---

ComparedNumber number(ComparedGroup group, std::string what, double predicted, double measured,
                      double tolerance) {
  return {.group = group,
          .what = std::move(what),
          .predicted = predicted,
          .measured = measured,
          .tolerance = tolerance,
          .predictions = {},
          .measurements = {}};
}

void append(ComparedNumbers& to, ComparedNumbers what) {
  std::ranges::move(what, std::back_inserter(to));
}

/// Without DDP's buckets, which belong to no parameter.
Bytes sum_of(const TensorLedger& ledger, TensorKind kind, Instant instant) {
  Bytes sum;
  for (const TensorEntry& e : ledger) {
    if (e.kind == kind && (e.alive & instant) != 0 && e.name != "gradient.bucket") sum += e.size();
  }
  return sum;
}

/// Live tensors at `instant`, without what kernels and communicators take for themselves.
Bytes live(const TensorLedger& ledger, Instant instant) {
  Bytes sum;
  for (const TensorEntry& e : ledger) {
    const bool unseen = e.kind == TensorKind::Communication || e.kind == TensorKind::Overhead ||
                        e.name == "library.workspace";
    if ((e.alive & instant) != 0 && !unseen) sum += e.size();
  }
  return sum;
}

/// Live tensors while backward is in its last layer: those of kBackward with the gradients of the other
/// layers in place of what they kept.
Bytes live_in_last_layer(const TensorLedger& ledger) {
  Bytes sum = live(ledger, costmodel::kBackward);
  for (const TensorEntry& e : ledger) {
    if (e.layer_class < 0 || e.count <= 1) continue;
    const Bytes others = e.size() * ((e.count - 1) / e.count);
    const bool in_backward = (e.alive & costmodel::kBackward) != 0;
    if (e.kind == TensorKind::Activation && in_backward) sum -= others;
    if (e.kind == TensorKind::Gradient && !in_backward && (e.alive & costmodel::kOptimizer) != 0)
      sum += others;
  }
  return sum;
}

std::string_view name_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "all_reduce";
    case CollectiveKind::AllGather:
      return "all_gather";
    case CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    default:
      return "other";
  }
}

std::int64_t ranks_of(Group group, const Layout& l) {
  switch (group) {
    case Group::Tensor:
      return l.tp;
    case Group::Shard:
      return l.shard_ranks();
    case Group::Replica:
      return std::int64_t{l.dp} * l.cp / l.shard_ranks();
    default:
      return std::int64_t{l.dp} * l.cp;
  }
}

std::string message(std::string_view phase, std::string_view kind, std::int64_t ranks) {
  return fmt::format("{} {} over {}", phase, kind, ranks);
}

ComparedNumbers compare_states(const TensorLedger& ledger, const FrameworkStep& step) {
  const auto row = [&](const char* what, TensorKind kind, Instant instant, Bytes measured) {
    return number(ComparedGroup::States, what, sum_of(ledger, kind, instant).value(), measured.value(),
                  kKeptTolerance);
  };
  return {row("parameters", TensorKind::Parameter, costmodel::kIdle, step.parameter_bytes),
          row("gradients", TensorKind::Gradient, costmodel::kOptimizer, step.gradient_bytes),
          row("optimizer", TensorKind::OptimizerState, costmodel::kIdle, step.optimizer_bytes)};
}

/// Class by class, and the sum over all layers.
ComparedNumbers compare_layers(const Scenario& sc, const TensorLedger& ledger, const FrameworkStep& step) {
  std::map<int, std::vector<KeptTensor>> measured;
  for (const KeptTensor& t : step.kept) {
    if (t.layer && *t.layer < sc.model.layers)
      measured[costmodel::index_of(costmodel::class_of_layer(sc.model, *t.layer))].push_back(t);
  }
  ComparedNumbers rows;
  ComparedNumber sum = number(ComparedGroup::Kept, "", 0, 0, kKeptTolerance);
  const std::array<int, costmodel::kLayerClasses> layers =
      costmodel::layers_by_class(sc.model, 0, sc.model.layers);
  for (int c = 0; c < costmodel::kLayerClasses; ++c) {
    const int count = layers[static_cast<std::size_t>(c)];
    if (count == 0) continue;
    const KeptScale scale{.hidden_states = sc.recipe.micro_batch * sc.recipe.sequence * sc.model.hidden,
                          .checkpointed = sc.recipe.recompute.mode == RecomputeMode::Full,
                          .fp32 = sc.recipe.precision == costmodel::Precision::Fp32,
                          .layers = static_cast<double>(count)};
    for (ComparedNumber& row : compare_kept(kept_parts(ledger, count, c), kept_parts(measured[c], scale))) {
      row.layer_class = c;
      row.layers = count;
      sum.predicted += row.predicted * count;
      sum.measured += row.measured * count;
      rows.push_back(std::move(row));
    }
  }
  rows.insert(rows.begin(), std::move(sum));
  return rows;
}

}  // namespace

std::string_view name_of(ComparedGroup group) {
  constexpr std::string_view kNames[] = {
      "parameters", "trained parameters", "flops", "states", "peak", "kept", "calls", "bytes"};
  return kNames[static_cast<std::size_t>(group)];
}

double ComparedNumber::error() const {
  const double base = of != 0 ? of : measured;
  return base != 0 ? (predicted - measured) / base : predicted == 0 ? 0 : 1;
}
bool ComparedNumber::holds() const {
  return std::abs(error()) <= tolerance;
}

KeptParts kept_parts(std::span<const KeptTensor> tensors, const KeptScale& scale) {
  KeptParts parts;
  for (const KeptTensor& t : tensors) {
    const bool checkpoint = scale.checkpointed && t.operation != kParameterCast;
    const std::string_view part = checkpoint ? kCheckpointPart : part_of(t, scale);
    add(parts, part, type_of(std::string_view{t.dtype}),
        {.name = fmt::format("{} ({})", module_in_layer(t.module), t.operation),
         .dtype = t.dtype,
         .elements = static_cast<double>(t.elements),
         .count = static_cast<double>(t.count),
         .size = t.size()});
  }
  return per_layer(std::move(parts), scale.layers);
}

KeptParts kept_parts(const TensorLedger& ledger, double layers, int layer_class) {
  KeptParts parts;
  for (const TensorEntry& e : ledger) {
    const bool kept = e.kind == TensorKind::Activation || e.name == "parameter.cast";
    const bool asked = layer_class < 0 || e.layer_class == layer_class;
    if (!kept || !asked || (e.alive & costmodel::kInPasses) != costmodel::kInPasses)
      continue;  // not those that forward alone has
    add(parts, part_of(e), type_of(e.dtype),
        {.name = std::string{e.name},
         .dtype = std::string{name_in(kDTypeNames, e.dtype)},
         .elements = e.elements,
         .count = e.count,
         .size = e.size()});
  }
  return per_layer(std::move(parts), layers);
}

ComparedNumbers compare_kept(const KeptParts& predicted, const KeptParts& measured) {
  std::set<std::string> names;
  Bytes layer;
  for (const auto& [name, part] : predicted) names.insert(name);
  for (const auto& [name, part] : measured) {
    names.insert(name);
    layer += part.size;
  }
  ComparedNumbers rows;
  for (const std::string& name : names) {
    const auto at = [&](const KeptParts& parts) {
      return parts.contains(name) ? parts.at(name) : KeptPart{};
    };
    KeptPart ours = at(predicted), theirs = at(measured);
    ComparedNumber row =
        number(ComparedGroup::Kept, name, ours.size.value(), theirs.size.value(), kKeptTolerance);
    row.of = layer.value();
    row.predictions = std::move(ours.tensors);
    row.measurements = std::move(theirs.tensors);
    rows.push_back(std::move(row));
  }
  return rows;
}

ComparedNumbers compare_peaks(const TensorLedger& ledger, const InstantPeaks& peaks, BackwardOf backward) {
  ComparedNumbers rows;
  Bytes most, predicted;
  for (int i = 0; i < costmodel::kInstants; ++i) {
    const Instant instant = costmodel::instant_at(i);
    predicted = std::max(predicted, live(ledger, instant));
    const auto& peak = peaks[static_cast<std::size_t>(i)];
    if (!peak) continue;
    most = std::max(most, *peak);
    const bool deep = instant == costmodel::kBackward && backward == BackwardOf::AllLayers;
    const Bytes ours =
        deep ? std::max(live(ledger, instant), live_in_last_layer(ledger)) : live(ledger, instant);
    rows.push_back(number(ComparedGroup::Peak, std::string{costmodel::name_of(instant)}, ours.value(),
                          peak->value(), kPeakTolerance));
  }
  rows.insert(rows.begin(), number(ComparedGroup::Peak, "", predicted.value(), most.value(), kPeakTolerance));
  return rows;
}

ComparedNumbers compare_messages(const Scenario& sc, std::span<const SentMessages> messages) {
  struct Both {
    double predicted = 0, measured = 0;
  };
  const bool again = sc.recipe.recompute.mode != RecomputeMode::None;
  std::map<std::string, Both> calls, bytes;
  bool uncounted = false;
  for (const SentMessages& row : messages) {
    const bool tensor = again && row.group == sc.layout.tp && sc.layout.tp > 1;
    const std::string name = message(tensor ? "step" : row.phase, row.kind, row.group);
    if (row.calls) calls[name].measured += static_cast<double>(*row.calls);
    uncounted |= !row.calls;
    bytes[name].measured += static_cast<double>(row.bytes);
  }
  for (const CollectiveCount& row : costmodel::count_step(sc, 0).collectives) {
    if (row.operation.starts_with("loss.")) continue;  // inside an operation of DTensor's, which no mode sees
    const bool tensor = again && row.group == Group::Tensor;
    const std::string name = message(tensor                      ? "step"
                                     : row.pass == Pass::Forward ? "forward"
                                                                 : "backward",
                                     name_of(row.kind), ranks_of(row.group, sc.layout));
    calls[name].predicted += row.messages;
    bytes[name].predicted += row.bytes.value();
  }
  ComparedNumbers rows;
  for (const auto& [group, sums] :
       {std::pair{ComparedGroup::Calls, &calls}, std::pair{ComparedGroup::CallBytes, &bytes}}) {
    if (group == ComparedGroup::Calls && uncounted) continue;
    for (const auto& [name, both] : *sums)
      rows.push_back(number(group, name, both.predicted, both.measured, kCountTolerance));
  }
  return rows;
}

double parameters_of(const costmodel::ModelSpec& model) {
  std::vector<costmodel::ParameterTensor> tensors;
  costmodel::append_embedding_parameters(model, tensors);
  costmodel::append_head_parameters(model, false, tensors);
  for (std::int64_t i = 0; i < model.layers; ++i)
    costmodel::append_layer_parameters(model, costmodel::class_of_layer(model, i), tensors);
  double sum = 0;
  for (const costmodel::ParameterTensor& t : tensors) sum += static_cast<double>(t.elements());
  return sum;
}

double trained_parameters(const TensorLedger& ledger) {
  double trained = 0;
  for (const TensorEntry& e : ledger)
    trained +=
        e.kind == TensorKind::Gradient && (e.alive & costmodel::kOptimizer) != 0 ? e.elements * e.count : 0;
  return trained;
}

ComparedNumbers compare_step(const Scenario& sc, const FrameworkStep& step) {
  const TensorLedger ledger = costmodel::build_ledger(sc, 0);
  const bool adapters = costmodel::trains_adapters(sc.recipe);
  ComparedNumbers rows;
  if (adapters) {
    rows.push_back(number(ComparedGroup::TrainedParameters, "", trained_parameters(ledger),
                          static_cast<double>(step.trained_parameters), kCountTolerance));
  } else {
    rows.push_back(number(ComparedGroup::Parameters, "", parameters_of(sc.model),
                          static_cast<double>(step.parameters), kCountTolerance));
  }
  if (step.flops) {
    rows.push_back(number(ComparedGroup::Flops, "",
                          costmodel::model_flops_per_step(sc, costmodel::AttentionFlops::Full).value(),
                          step.flops->value(), kCountTolerance));
  }
  append(rows, compare_states(ledger, step));
  append(rows, compare_peaks(ledger, step.peaks, BackwardOf::AllLayers));
  append(rows, compare_layers(sc, ledger, step));
  if (sc.layout.world_size() > 1) append(rows, compare_messages(sc, step.messages));
  return rows;
}

}  // namespace hexaplan::presets
