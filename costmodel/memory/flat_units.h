#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/optimizer_states.h"
#include "costmodel/memory/quantised_blocks.h"
#include "costmodel/parameters/adapters.h"
#include "costmodel/parameters/parameter_names.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

// How Hexaplan's executor keeps parameters: those of a layer, the embedding or the head lie one behind the
// other in a flat buffer that is gathered, reduced and updated as one; dense ones and experts apart, because
// they have other replicas. A buffer that ranks share is padded so that all shards are equal.

/// One flat buffer on one rank, in elements.
struct FlatSizes {
  double elements = 0;                  // after TP and EP, before ZeRO
  double shards = 1;                    // ranks that cut it among them
  int stage = 0;                        // ZeRO stage; 0 where there is nobody to share with
  double summed_over_tensor_ranks = 0;  // gradients that add up over tp: sums_over_tensor_ranks
  /// Elements of each parameter of kv heads that tensor-parallel neighbours hold as well.
  std::vector<double> key_value_copies{};
  double between = 0;  // of the elements: room that matrices in 4 bits leave, each of which begins a block
  bool in_4_bits = false;
  bool expert = false;
  bool by_matrix = false;  // is_updated_by_matrix; what else a unit has lies in other buffers
  bool trained = true;     // has gradients and optimizer states
  double multiple = 1;     // of elements that a shard has: blocks of 8-bit states are not cut
  double norms = 0;        // numbers that the optimizer adds up over whole matrices
  FactoredSums factors{};  // Adafactor's, whole on every rank of the shard group
  double iteration_elements = 0, matrices = 0;  // what orthogonalising one needs beside it; how many
  double matrix_state_bytes = 0;                // SubspaceStates, or PreconditionerStates, of all matrices
  double matrix_update_bytes = 0;               // … what updating one of them needs beside it
  bool in_backward = false;  // updated as soon as its gradients are complete, which are freed then
  double secondary = 0;      // hpZ: ranks that cut a second copy among them, which backward gathers; 0: none
  bool quantised_gathers = false;      // qwZ: in 8 bits, but for those from the second copy
  double neighbours = 0;               // qgZ: ranks of a node that share it; 0: gradients are not quantised
  bool parameters_on_host = false;     // offloaded: on the device while a pass needs them
  double host_share = 0;               // of a shard's states, and of their update, that the host has
  [[nodiscard]] double shard() const;  // with its padding
  [[nodiscard]] double padded() const { return shard() * shards; }
  /// Elements of a shard whose states the host has: its first ones.
  [[nodiscard]] double on_host() const;
  /// True where gradients are made in a buffer of the pass.
  [[nodiscard]] bool opens() const { return trained && (stage >= 2 || in_backward); }
  /// qwZ: shards as they travel.
  [[nodiscard]] QuantisedShards gathered_codes() const { return {kGatheredBits, shard(), shards}; }
  /// qgZ: shards as neighbours exchange them, or, where a node has one rank, all do at once; sums of a node
  /// as nodes exchange them.
  [[nodiscard]] QuantisedShards exchanged_codes() const { return {kReducedBits, shard(), shards}; }
  [[nodiscard]] QuantisedShards node_codes() const { return {kReducedBits, shard(), shards / neighbours}; }
  /// Bytes beside the whole buffer while it is gathered in 8 bits: what is sent and received.
  [[nodiscard]] double gather_buffer_bytes() const {
    return quantised_gathers ? gathered_codes().bytes() : 0;
  }
  /// Bytes beside the whole buffer while it is reduced in 4 bits: what is sent, what is received, and fp32
  /// sums of a node's shards.
  [[nodiscard]] double reduction_buffer_bytes() const;
  /// True where passes make the parameters whole for as long as they need them.
  [[nodiscard]] bool gathers() const { return stage >= 3 || parameters_on_host; }
};

/// FinalNorm: where multi-token-prediction modules read what it makes, so that its backward waits for theirs.
enum class UnitRole : std::uint8_t { Layer, Embedding, Head, FinalNorm, TiedCopy };
/// Which flat buffer of its unit holds a parameter. The last stage keeps a copy of a tied word table, and
/// both gradients are added shard by shard: what else the embedding has lies in a buffer beside it.
/// Matrices that the optimizer takes one by one have other states than the rest, and lie apart from it; so do
/// adapters and what else trains beside what is frozen, and what is frozen in 4 bits.
enum class FlatKind : std::uint8_t {
  Dense,
  BesideTiedTable,
  DenseMatrices,
  Expert,
  ExpertMatrices,
  Adapter,
  In4Bits
};
inline constexpr std::array kFlatKinds{FlatKind::Dense,  FlatKind::BesideTiedTable, FlatKind::DenseMatrices,
                                       FlatKind::Expert, FlatKind::ExpertMatrices,  FlatKind::Adapter,
                                       FlatKind::In4Bits};
[[nodiscard]] constexpr bool holds_experts(FlatKind kind) {
  return kind == FlatKind::Expert || kind == FlatKind::ExpertMatrices;
}
[[nodiscard]] constexpr bool holds_matrices(FlatKind kind) {
  return kind == FlatKind::DenseMatrices || kind == FlatKind::ExpertMatrices;
}
/// True when what lies in such a buffer has gradients: all, or the adapters.
[[nodiscard]] constexpr bool is_trained(const Scenario& scenario, FlatKind kind) {
  return kind == FlatKind::Adapter || !adapters_are_operations(scenario);
}
[[nodiscard]] FlatKind flat_of(const Scenario& scenario, UnitRole role, const ParameterTensor& tensor);

struct UnitSizes {
  UnitRole role = UnitRole::Layer;
  std::vector<FlatSizes> flats;
};

/// Buffers of a layer of class `kind`.
[[nodiscard]] UnitSizes layer_unit(const Scenario& scenario, LayerClass kind);
/// Embedding, or final norm with the output layer. The copy that the last stage keeps of a word table, as
/// output layer of tied embeddings or for the look-ups of multi-token-prediction modules, is cut like the
/// embedding itself, so that their gradients can be added: a unit of its own.
[[nodiscard]] UnitSizes end_unit(const Scenario& scenario, UnitRole role);
/// Parameters of an end. Precondition: `role` is none of a layer.
[[nodiscard]] std::vector<ParameterTensor> end_parameters(const Scenario& scenario, UnitRole role);
/// Ends that the last stage holds, beside the embedding where it is the first stage as well.
[[nodiscard]] std::vector<UnitRole> last_stage_units(const Scenario& scenario);
/// What the last stage's copy of the word table is called.
[[nodiscard]] Parameter copied_table(const ModelSpec& model);
/// True when the backward pass of the embedding reads parameters, so that ZeRO-3 gathers them for it.
[[nodiscard]] constexpr bool embedding_backward_reads_parameters(const Scenario& scenario) {
  const bool trained = !adapters_are_operations(scenario) || trains_embedding(scenario.recipe);
  return scenario.model.embedding_norm && trained;
}
/// True when backward gathers parameters again that forward has gathered: of the output layer it follows at
/// once.
[[nodiscard]] constexpr bool backward_gathers(const Scenario& scenario, UnitRole role) {
  return role == UnitRole::Layer || role == UnitRole::FinalNorm ||
         (role == UnitRole::Embedding && embedding_backward_reads_parameters(scenario));
}
/// True when the last stage has a copy of the word table.
[[nodiscard]] bool copies_embedding(const Scenario& scenario);
/// True when one matrix is embedding and output layer on one stage.
[[nodiscard]] bool shares_embedding(const Scenario& scenario);

/// Layers of a stage, from its first on, whose activations are offloaded: at most so many.
[[nodiscard]] constexpr std::int64_t first_offloaded_layers(const Recipe& recipe) {
  if ((recipe.offload & kOffloadActivations) == 0) return 0;
  return recipe.offload_layers == 0 ? std::numeric_limits<std::int64_t>::max() : recipe.offload_layers;
}

/// Bytes of so many parameters of a flat buffer, the scales of those in 4 bits included.
[[nodiscard]] double parameter_bytes(const Scenario& scenario, const FlatSizes& flat, double elements);
/// States that the optimizer keeps of a flat buffer.
[[nodiscard]] KeptStates kept_states(const Scenario& scenario, const FlatSizes& flat);
/// Bytes beside the states while the optimizer updates one buffer of the unit: LAMB's directions and norms,
/// Adafactor's with its sums, the directions that Muon orthogonalises with what its products need, or what
/// GaLore, APOLLO, Shampoo and SOAP make of a matrix; parameters that the host has and the device updates.
[[nodiscard]] double update_buffer_bytes(const Scenario& scenario, const UnitSizes& unit);

/// Appends the padding of the shards of the flat buffers made of `tensors`, `count` times.
/// [docs/formulas.md#M1]
void append_shard_padding(const Scenario& scenario, const std::vector<UnitSizes>& units, int layer_class,
                          double count, TensorLedger& out);

}  // namespace hexaplan::costmodel
