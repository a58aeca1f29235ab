#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

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

/// Copies of a value that a framework keeps for backward, by type.
struct KeptCopies {
  std::uint8_t compute = 1, fp32 = 0;
  bool apart = false;  // in a buffer of its own, without what stands beside it
  friend auto operator<=>(const KeptCopies&, const KeptCopies&) = default;
};
/// What a framework keeps otherwise than the derived backward reads it (FrameworkProfile::saved).
struct Keeping {
  KeptCopies norm_input, norm_output, query_key_norm_input, attention_output;
  std::uint8_t layer_output = 0;  // further copies
  bool repeats_keys = false;      // keys and values once per query head, instead of themselves
  bool gate_activation = false;   // what the gate made, beside its product
  bool expert_output = true;      // what experts made, before it is weighted
  friend auto operator<=>(const Keeping&, const Keeping&) = default;
};

/// What the passes need to know of layout, recipe and framework profile; scenarios with equal techniques
/// share one compiled program.
struct Techniques {
  bool tensor = false;    // tensor parallelism over more than one rank
  bool sequence = false;  // … with sequence parallelism
  int context_ranks = 1;
  ContextKind context = ContextKind::Ring;
  bool exchanges_experts = false;  // expert parallelism over more than one rank
  bool cuts_experts = false;       // expert-tensor parallelism over more than one rank
  bool sums_choices = false;       // ranks that share sequences add up the router's choices
  int loss_reductions = 2;         // messages of the vocabulary-parallel loss
  bool quantises = false;          // operands of matrices in 8 or 4 bits

  // Habits of a framework.
  bool gathers_inputs_again = true;       // SP: the gathered input of a matrix is not kept for its wgrad
  bool stops_recomputing_early = true;    // recomputation ends with the last value that backward reads
  bool buffers_weight_gradients = false;  // before they are added to accumulated ones
  bool shares_gather_buffers = false;     // SP: gathered inputs arrive in a buffer that stays
  Keeping keeps;

  Recomputed recomputed = Recomputed::Nothing;
  std::uint16_t modules = 0;     // RecomputeModule bits
  bool splits_backward = false;  // weight gradients are tasks of their own
  friend auto operator<=>(const Techniques&, const Techniques&) = default;
};

/// What the scenario asks for and the program does not describe, or nothing.
[[nodiscard]] std::optional<std::string_view> first_gap(const Scenario& scenario);

/// Techniques of the scenario for a layer that is, or is not, among those recomputed as a whole.
[[nodiscard]] Techniques techniques_of(const Scenario& scenario, bool whole_layer_recomputed);

}  // namespace hexaplan::costmodel::program
