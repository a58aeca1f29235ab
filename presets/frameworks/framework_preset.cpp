#include "presets/frameworks/framework_preset.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "costmodel/units/nearest_name.h"
#include "presets/catalog/catalog.h"
#include "presets/json/object_reader.h"
#include "presets/json/spec_names.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionLibrary;
using costmodel::Bytes;
using costmodel::DType;
using costmodel::Elementwise;
using costmodel::ElementwiseRule;
using costmodel::FrameworkProfile;
using costmodel::GradientOverlap;
using costmodel::Saved;
using costmodel::SavedRule;
using costmodel::Seconds;
using costmodel::StageSplit;

constexpr Named<GradientOverlap> kOverlapNames[] = {{"none", GradientOverlap::None},
                                                    {"last_microbatch", GradientOverlap::LastMicrobatch},
                                                    {"every_microbatch", GradientOverlap::EveryMicrobatch}};
constexpr Named<StageSplit> kSplitNames[] = {{"even", StageSplit::Even},
                                             {"ends_minus_one", StageSplit::EndsMinusOne},
                                             {"embedding_counts", StageSplit::EmbeddingCounts},
                                             {"compute_cost", StageSplit::ComputeCost}};

constexpr Named<AttentionLibrary> kLibraryNames[] = {
    {"vendor", AttentionLibrary::Vendor},
    {"flash-attention-2", AttentionLibrary::FlashAttention2},
    {"flash-attention-1", AttentionLibrary::FlashAttention1}};

template <class T>
using Member = T FrameworkProfile::*;

/// One field of the profile. A new field is one line in kFields.
struct Field {
  std::string_view key;
  std::variant<Member<bool>, Member<double>, Member<std::int64_t>, Member<DType>, Member<StageSplit>,
               Member<GradientOverlap>, Member<AttentionLibrary>, Member<Bytes>, Member<Seconds>>
      member;
  RealRange range = {0, 1e15};  // of numbers
};
using P = FrameworkProfile;
constexpr RealRange kStretch{1, 100};

constexpr Field kFields[] = {
    {"parameter_dtype", &P::parameter_dtype},
    {"gradient_dtype", &P::gradient_dtype},
    {"extra_gradient_copies", &P::extra_gradient_copies},
    {"gradient_copies_are_buckets", &P::gradient_copies_are_buckets},
    {"persistent_gradients", &P::persistent_gradients},
    {"master_parameters", &P::master_parameters},
    {"moment_dtype", &P::moment_dtype},
    {"shard_gradients_from_stage_2", &P::shard_gradients_from_stage_2},
    {"even_split", &P::even_split},
    {"vocab_multiple", &P::vocab_multiple, {1, 1e9}},
    {"quantized_input_bytes", &P::quantized_input_bytes},
    {"gather_saved_inputs", &P::gather_saved_inputs},
    {"full_recompute_keeps_attention", &P::full_recompute_keeps_attention},
    {"attention_adapters_only", &P::attention_adapters_only},
    {"logit_copies_compute", &P::logit_copies_compute},
    {"logit_copies_fp32", &P::logit_copies_fp32},
    {"logit_transient_fp32", &P::logit_transient_fp32},
    {"fused_logit_copies_fp32", &P::fused_logit_copies_fp32},
    {"fused_cross_entropy", &P::fused_cross_entropy},
    {"chunked_cross_entropy_fraction", &P::chunked_cross_entropy_fraction, kShare},
    {"loss_chunks", &P::loss_chunks},
    {"chunked_logits_complete", &P::chunked_logits_complete},
    {"gradient_bucket_elements", &P::gradient_bucket_elements},
    {"gradient_bucket_per_rank", &P::gradient_bucket_per_rank},
    {"contiguous_gradient_buffer", &P::contiguous_gradient_buffer},
    {"gather_prefetch_layers", &P::gather_prefetch_layers},
    {"gather_live_elements", &P::gather_live_elements},
    {"gather_bucket_elements", &P::gather_bucket_elements},
    {"gather_dtype", &P::gather_dtype},
    {"reduce_dtype", &P::reduce_dtype},
    {"reshard_after_forward", &P::reshard_after_forward},
    {"gather_ends_for_whole_step", &P::gather_ends_for_whole_step},
    {"optimizer_transient_bytes", &P::optimizer_transient_bytes},
    {"flat_optimizer_buffers", &P::flat_optimizer_buffers},
    {"flat_gather_copies", &P::flat_gather_copies},
    {"sp_gather_buffers", &P::sp_gather_buffers},
    {"sp_persistent_buffers", &P::sp_persistent_buffers},
    {"weight_gradient_temporary_bytes", &P::weight_gradient_temporary_bytes},
    {"placeholder_weight_gradients", &P::placeholder_weight_gradients},
    {"head_streams", &P::head_streams},
    {"attention_library", &P::attention_library},
    {"recompute_stops_early", &P::recompute_stops_early},
    {"expert_layer_overhead", &P::expert_layer_overhead},
    {"expert_overhead", &P::expert_overhead},
    {"gemm_kernels_forward", &P::gemm_kernels_forward},
    {"kernel_launch", &P::kernel_launch},
    {"layer_host_forward", &P::layer_host_forward},
    {"layer_host_backward", &P::layer_host_backward},
    {"pipeline_collective_host", &P::pipeline_collective_host},
    {"step_overhead", &P::step_overhead},
    {"microbatch_overhead", &P::microbatch_overhead},
    {"optimizer_passes_bytes", &P::optimizer_passes_bytes},
    {"whole_gradient_passes_bytes", &P::whole_gradient_passes_bytes},
    {"fused_weight_gradient", &P::fused_weight_gradient},
    {"gradient_overlap", &P::gradient_overlap},
    {"parameter_gather_overlap", &P::parameter_gather_overlap},
    {"zero2_gathers_layers", &P::zero2_gathers_layers},
    {"backward_gather_overlap", &P::backward_gather_overlap},
    {"gather_copy_bytes", &P::gather_copy_bytes},
    {"reduce_copy_bytes", &P::reduce_copy_bytes},
    {"gather_by_broadcasts", &P::gather_by_broadcasts},
    {"sharding_ends_overlap", &P::sharding_ends_overlap},
    {"gather_slice_host", &P::gather_slice_host},
    {"reduce_scatter_gradients", &P::reduce_scatter_gradients},
    {"tensor_overlap", &P::tensor_overlap, kShare},
    {"context_overlap", &P::context_overlap, kShare},
    {"pipeline_wait", &P::pipeline_wait},
    {"pipeline_overlap", &P::pipeline_overlap, kShare},
    {"pipeline_scatter_gather", &P::pipeline_scatter_gather},
    {"expert_overlap", &P::expert_overlap, kShare},
    {"expert_dispatch_merges_copies", &P::expert_dispatch_merges_copies},
    {"overlap_slowdown", &P::overlap_slowdown, kStretch},
    {"context", &P::context},
    {"communicator", &P::communicator},
    {"library_workspace", &P::library_workspace},
    {"unreclaimed_streams", &P::unreclaimed_streams},
    {"fresh_gradient_share", &P::fresh_gradient_share, kShare},
    {"time_residual", &P::time_residual},
    {"memory_residual", &P::memory_residual},
    {"reserved_ratio", &P::reserved_ratio, kStretch},
};

constexpr Named<Saved> kSavedNames[] = {
    {"norm_input", Saved::NormInput},
    {"norm_output", Saved::NormOutput},
    {"norm_stats", Saved::NormStats},
    {"qk_norm_input", Saved::QkNormInput},
    {"rope_input", Saved::RopeInput},
    {"query", Saved::Query},
    {"key", Saved::Key},
    {"value", Saved::Value},
    {"repeated_key_value", Saved::RepeatedKeyValue},
    {"log_sum_exp", Saved::LogSumExp},
    {"scores", Saved::Scores},
    {"scores_dropout", Saved::ScoresDropout},
    {"attention_output", Saved::AttentionOutput},
    {"residual_dropout", Saved::ResidualDropout},
    {"latent_query", Saved::LatentQuery},
    {"latent_key_value", Saved::LatentKeyValue},
    {"latent_norm_output", Saved::LatentNormOutput},
    {"gate_up", Saved::GateUp},
    {"activation_output", Saved::ActivationOutput},
    {"activation_inner", Saved::ActivationInner},
    {"router_logits", Saved::RouterLogits},
    {"routing_map", Saved::RoutingMap},
    {"expert_input", Saved::ExpertInput},
    {"expert_gate_up", Saved::ExpertGateUp},
    {"expert_activation", Saved::ExpertActivation},
    {"expert_output", Saved::ExpertOutput},
    {"shared_gate_up", Saved::SharedGateUp},
    {"shared_activation", Saved::SharedActivation},
    {"layer_output", Saved::LayerOutput},
};
static_assert(std::size(kSavedNames) == costmodel::kSavedCount);

constexpr Named<Elementwise> kElementwiseNames[] = {
    {"norm", Elementwise::Norm},
    {"residual_add", Elementwise::ResidualAdd},
    {"rope", Elementwise::Rope},
    {"qk_norm", Elementwise::QkNorm},
    {"bias_add", Elementwise::BiasAdd},
    {"repeat_key_value", Elementwise::RepeatKeyValue},
    {"softmax", Elementwise::Softmax},
    {"activation", Elementwise::Activation},
    {"router", Elementwise::Router},
    {"permute", Elementwise::Permute},
    {"cast", Elementwise::Cast},
    {"embedding", Elementwise::Embedding},
    {"cross_entropy", Elementwise::CrossEntropy},
    {"fused_cross_entropy", Elementwise::FusedCrossEntropy},
    {"unfused_norm", Elementwise::UnfusedNorm},
    {"score_dropout", Elementwise::ScoreDropout},
};
static_assert(std::size(kElementwiseNames) == costmodel::kElementwiseCount);

/// Key and member of a rule's numbers.
template <class Rule>
struct RulePart {
  std::string_view key;
  double Rule::*member;
};
constexpr RulePart<SavedRule> kSavedParts[] = {
    {"compute", &SavedRule::compute}, {"fp32", &SavedRule::fp32}, {"byte", &SavedRule::byte}};
constexpr RulePart<ElementwiseRule> kElementwiseParts[] = {
    {"forward_passes", &ElementwiseRule::forward_passes},
    {"backward_passes", &ElementwiseRule::backward_passes},
    {"forward_kernels", &ElementwiseRule::forward_kernels},
    {"backward_kernels", &ElementwiseRule::backward_kernels}};

// --- reading ---

void read_value(const ValueReader& value, RealRange, bool& into) {
  into = value.boolean();
}
void read_value(const ValueReader& value, RealRange range, double& into) {
  into = value.number(range);
}
void read_value(const ValueReader& value, RealRange range, std::int64_t& into) {
  into = value.integer({static_cast<std::int64_t>(range.low), static_cast<std::int64_t>(range.high)});
}
void read_value(const ValueReader& value, RealRange, DType& into) {
  into = value.choice(kDTypeNames);
}
void read_value(const ValueReader& value, RealRange, StageSplit& into) {
  into = value.choice(kSplitNames);
}
void read_value(const ValueReader& value, RealRange, GradientOverlap& into) {
  into = value.choice(kOverlapNames);
}
void read_value(const ValueReader& value, RealRange, AttentionLibrary& into) {
  into = value.choice(kLibraryNames);
}
void read_value(const ValueReader& value, RealRange, Bytes& into) {
  into = value.bytes();
}
void read_value(const ValueReader& value, RealRange, Seconds& into) {
  into = value.seconds();
}

constexpr RealRange kCopies{0, 1000};

template <class Rule, std::size_t Parts>
Rule read_rule(ObjectReader reader, const RulePart<Rule> (&parts)[Parts]) {
  Rule rule;
  for (const RulePart<Rule>& part : parts) {
    if (const auto number = reader.optional(part.key)) {
      rule.*part.member = number->number(kCopies);
    }
  }
  reader.finish();
  return rule;
}

/// A rule per name; one that is given replaces the whole rule, and parts left out of it are zero.
template <class E, class Rule, std::size_t Names, std::size_t Parts>
void read_rules(std::optional<ValueReader> value, const Named<E> (&names)[Names],
                const RulePart<Rule> (&parts)[Parts], std::array<Rule, Names>& rules) {
  if (!value) {
    return;
  }
  ObjectReader map = value->object();
  for (const Named<E>& row : names) {
    if (const auto entry = map.optional(row.name)) {
      rules[static_cast<std::size_t>(row.value)] = read_rule(entry->object(), parts);
    }
  }
  map.finish();
}

/// Sources name a field, a group ("saved") or one rule of it ("saved.scores").
void read_sources(ObjectReader& reader, const std::vector<std::string>& overridden, FrameworkPreset& preset) {
  std::erase_if(preset.sources, [&](const auto& source) {
    return std::find(overridden.begin(), overridden.end(), source.first) != overridden.end();
  });
  const auto value = reader.optional("sources");
  if (!value) {
    return;
  }
  std::vector<std::string_view> known = framework_fields();
  known.insert(known.end(), {"saved", "elementwise"});
  ObjectReader sources = value->object();
  for (const auto& [field, text] : sources.members()) {
    const std::string_view group = field.substr(0, field.find('.'));
    if (std::find(known.begin(), known.end(), group) == known.end()) {
      throw text.error("the source of a field of the profile",
                       did_you_mean(costmodel::nearest_name(group, known)));
    }
    std::erase_if(preset.sources, [&, name = field](const auto& source) { return source.first == name; });
    preset.sources.emplace_back(field, text.text());
  }
}

void read_field(const Field& field, const ValueReader& value, FrameworkProfile& profile) {
  std::visit([&](auto member) { read_value(value, field.range, profile.*member); }, field.member);
}

/// Reads the fields that are given and returns their keys.
std::vector<std::string> read_fields(ObjectReader& reader, FrameworkProfile& profile) {
  std::vector<std::string> given;
  for (const Field& field : kFields) {
    if (const auto value = reader.optional(field.key)) {
      given.emplace_back(field.key);
      read_field(field, *value, profile);
    }
  }
  return given;
}

FrameworkPreset read_chain(const std::filesystem::path& path, std::vector<std::string> chain);

FrameworkPreset read_parent(ObjectReader& reader, const std::vector<std::string>& chain) {
  const auto parent = reader.optional("inherits");
  if (!parent) {
    return {};
  }
  const std::string& name = parent->text();
  std::filesystem::path path;
  try {
    path = find_preset(PresetKind::Framework, name);
  } catch (const InputError& unknown) {
    throw parent->error(unknown.problem.expected, unknown.problem.hint);
  }
  if (std::find(chain.begin(), chain.end(), path.stem().string()) != chain.end()) {
    throw parent->error(fmt::format("a profile that does not come back to {}", path.stem().string()),
                        fmt::format("{} -> {}", fmt::join(chain, " -> "), path.stem().string()));
  }
  FrameworkPreset preset = read_chain(path, chain);
  preset.inherits = path.stem().string();
  return preset;
}

FrameworkPreset read_chain(const std::filesystem::path& path, std::vector<std::string> chain) {
  const JsonDocument document = read_json_file(path);
  ObjectReader reader{document};
  chain.push_back(path.stem().string());
  FrameworkPreset preset = read_parent(reader, chain);
  preset.profile.name = path.stem().string();
  if (const auto name = reader.optional("name"); name && name->text() != preset.profile.name) {
    throw name->error(in_quotes(preset.profile.name) + ", the name of the file");
  }
  preset.description = reader.required("description").text();
  const std::vector<std::string> overridden = read_fields(reader, preset.profile);
  read_rules(reader.optional("saved"), kSavedNames, kSavedParts, preset.profile.saved);
  read_rules(reader.optional("elementwise"), kElementwiseNames, kElementwiseParts,
             preset.profile.elementwise);
  read_sources(reader, overridden, preset);
  reader.finish();
  return preset;
}

// --- writing ---

JsonValue json_of(bool value) {
  return value;
}
JsonValue json_of(double value) {
  return value;
}
JsonValue json_of(std::int64_t value) {
  return value;
}
JsonValue json_of(DType value) {
  return name_in(kDTypeNames, value);
}
JsonValue json_of(StageSplit value) {
  return name_in(kSplitNames, value);
}
JsonValue json_of(GradientOverlap value) {
  return name_in(kOverlapNames, value);
}
JsonValue json_of(AttentionLibrary value) {
  return name_in(kLibraryNames, value);
}
JsonValue json_of(Bytes value) {
  return fmt::format("{} B", value.value());
}
JsonValue json_of(Seconds value) {
  return fmt::format("{} s", value.value());
}

template <class Rule, std::size_t Parts>
JsonValue json_of_rule(const RulePart<Rule> (&parts)[Parts], const Rule& rule) {
  JsonObject object;
  for (const RulePart<Rule>& part : parts) {
    if (const double number = rule.*part.member; number != 0) {
      object.emplace_back(part.key, number);
    }
  }
  return object;
}

template <class E, class Rule, std::size_t Names, std::size_t Parts>
JsonValue json_of_rules(const Named<E> (&names)[Names], const RulePart<Rule> (&parts)[Parts],
                        const std::array<Rule, Names>& rules) {
  JsonObject map;
  for (const Named<E>& row : names) {
    map.emplace_back(row.name, json_of_rule(parts, rules[static_cast<std::size_t>(row.value)]));
  }
  return map;
}

}  // namespace

FrameworkPreset read_framework_preset(const std::filesystem::path& path) {
  return read_chain(path, {});
}

FrameworkPreset find_framework_preset(std::string_view name) {
  return read_framework_preset(find_preset(PresetKind::Framework, name));
}

FrameworkProfile find_framework(std::string_view name) {
  return find_framework_preset(name).profile;
}

JsonValue to_json(const FrameworkProfile& profile) {
  JsonObject object = {{"name", profile.name}};
  for (const Field& field : kFields) {
    std::visit([&](auto member) { object.emplace_back(field.key, json_of(profile.*member)); }, field.member);
  }
  object.emplace_back("saved", json_of_rules(kSavedNames, kSavedParts, profile.saved));
  object.emplace_back("elementwise",
                      json_of_rules(kElementwiseNames, kElementwiseParts, profile.elementwise));
  return object;
}

std::vector<std::string_view> framework_fields() {
  std::vector<std::string_view> keys;
  for (const Field& field : kFields) {
    keys.push_back(field.key);
  }
  return keys;
}

}  // namespace hexaplan::presets
