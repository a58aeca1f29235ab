#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "costmodel/parameters/adapters.h"
#include "costmodel/parameters/parameter_names.h"
#include "costmodel/program/ops.h"
#include "costmodel/spec/framework_profile.h"
#include "costmodel/spec/layout.h"
#include "costmodel/spec/recipe.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

/// What is recomputed in backward.
enum class Recomputed : std::uint8_t {
  Nothing,
  Modules,     // what stands at sites of `Techniques::modules`
  Operators,   // all but attention and every second matrix (torchtitan's per-operator policy)
  Everything,  // the whole forward pass, from the layer's input on
};

/// What a framework keeps instead of what the derived backward reads (FrameworkProfile::saved).
struct Keeping {
  bool by_rules = false;  // otherwise what is read
  std::array<SavedRule, kSavedCount> of{};
  friend bool operator==(const Keeping&, const Keeping&) = default;
};
/// Linear layers that train beside frozen matrices.
struct Adapters {
  bool frozen = false;                          // the matrices themselves
  bool operations = false;                      // adapters_are_operations
  bool in_4_bits = false;                       // … are kept so, and written out to be read
  bool in_8_bits = false;                       // the matrices are, and are multiplied so
  bool scale = false;                           // IA³: no further matrices
  bool magnitudes = false;                      // learns_magnitudes
  double weight_bytes = 0, identity_bytes = 0;  // FrameworkProfile::dora_weight_bytes, dora_identity_bytes
  std::array<std::uint8_t, position(Parameter::Count)> layers{};  // beside a parameter
  std::array<bool, position(Parameter::Count)> keeps_input{};     // of a frozen matrix
  std::array<bool, position(Parameter::Count)> trained{};         // own_share
  /// True for parameters of the model that train beside them.
  [[nodiscard]] bool trains(const Weight& weight) const {
    return weight.adapter == AdapterSide::None && weight.first != Parameter::Count &&
           trained[position(weight.first)];
  }
  /// Layers beside a weight of the program.
  [[nodiscard]] int beside(const Weight& weight) const {
    if (weight.first == Parameter::Count) return 0;
    const int other = weight.last == Parameter::Count ? 0 : layers[position(weight.last)];
    return layers[position(weight.first)] + other;
  }
  /// Layers that a weight of the program holds, adapted or not.
  [[nodiscard]] static int all_in(const Weight& weight) {
    const std::int64_t other = weight.last == Parameter::Count ? 0 : linear_layers_in(weight.last);
    return static_cast<int>(linear_layers_in(weight.first) + other);
  }
  friend bool operator==(const Adapters&, const Adapters&) = default;
};

/// What the passes need to know of layout, recipe and framework profile; scenarios with equal techniques
/// share one compiled program.
struct Techniques {
  bool tensor = false;    // tensor parallelism over more than one rank
  bool sequence = false;  // … with sequence parallelism
  int context_ranks = 1;
  ContextKind context = ContextKind::Ring;
  bool exchanges_experts = false;      // expert parallelism over more than one rank
  bool cuts_experts = false;           // expert-tensor parallelism over more than one rank
  bool pads_experts = false;           // to their capacity
  bool sums_choices = false;           // ranks that share sequences add up the router's choices
  int loss_reductions = 2;             // messages of the vocabulary-parallel loss
  int loss_chunks = 1;                 // of tokens, whose logits are there one after the other
  bool quantises = false;              // operands of matrices in 8 or 4 bits
  bool scales_blocks = false;          // … in 8, with a scale per block: transposed, they are other numbers
  bool keeps_original_inputs = false;  // … where something else has them in backward
  bool stores_scores = false;          // attention does
  bool keeps_capped_scores = false;    // beside them, where a soft cap's derivative reads them
  bool drops_out = false;
  bool autocasts = false;  // 16-bit operators on fp32 parameters

  Recomputed recomputed = Recomputed::Nothing;
  std::uint16_t modules = 0;     // RecomputeModule bits
  bool splits_backward = false;  // weight gradients are tasks of their own

  // Habits of a framework.
  std::int16_t attention_entries = 1, mlp_entries = 1;  // messages that bring in a block's input
  bool gathers_inputs_again = true;       // SP: the gathered input of a matrix is not kept for its wgrad
  bool stops_recomputing_early = true;    // recomputation ends with the last value that backward reads
  bool separate_projections = false;      // queries, keys and values, gate and up are matrices of their own
  bool buffers_weight_gradients = false;  // before they are added to accumulated ones
  bool shares_gather_buffers = false;     // SP: gathered inputs arrive in a buffer that stays

  // Behind what differs oftener: variants are told apart in this order.
  Adapters adapters;
  Keeping keeps;
  friend bool operator==(const Techniques&, const Techniques&) = default;
};

/// What the scenario asks for and the replay of whole steps does not describe, or nothing. Layers are
/// described whatever is asked for.
[[nodiscard]] std::optional<std::string_view> first_gap(const Scenario& scenario);

/// Techniques of the scenario for a layer that is, or is not, among those recomputed as a whole.
[[nodiscard]] Techniques techniques_of(const Scenario& scenario, bool whole_layer_recomputed);
/// True where layers with a window keep something that others do not.
[[nodiscard]] bool keeps_masks(const Techniques& techniques);
/// `techniques` in a layer of class `kind`: without a window it has no mask to keep.
[[nodiscard]] Techniques of_layer(Techniques techniques, LayerClass kind);

}  // namespace hexaplan::costmodel::program
