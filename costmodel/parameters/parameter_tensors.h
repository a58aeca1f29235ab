#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "costmodel/spec/layout.h"
#include "costmodel/spec/model_spec.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// How tensor parallelism cuts a parameter.
enum class Cut : std::uint8_t {
  Replicated,    // norms, router, MLA down-projections
  Column,        // output dimension over tp
  Row,           // input dimension over tp
  KeyValue,      // column, by kv heads: replicated tp/kv_heads times when tp > kv_heads
  Vocabulary,    // padded rows over tp
  ExpertColumn,  // output dimension over etp, experts over ep
  ExpertRow,     // input dimension over etp, experts over ep
  ExpertReplicated,
};

/// What IA³ learns a scale for beside a matrix.
enum class Ia3Scale : std::uint8_t { None, Outputs, Inputs };

/// One parameter of the unsharded model: `count` identical tensors of rows × cols (cols == 1: a vector).
struct ParameterTensor {
  std::string_view name;   // "attention.query.weight"; static storage
  std::int64_t rows = 0;   // output features
  std::int64_t cols = 1;   // input features
  std::int64_t count = 1;  // experts
  Cut cut = Cut::Replicated;
  int parts = 1;  // linear layers whose outputs it holds together: key and value, gate and up
  Ia3Scale ia3 = Ia3Scale::None;
  bool matrix = true;  // takes part in GEMMs; lookup tables and vectors do not (and get no Muon)
  /// Whole on every rank, but applied inside the tensor-parallel region: a rank sees what its heads make of
  /// it, so that gradients add up over tensor-parallel ranks.
  bool inside_region = false;
  bool adapter = false;  // trained beside frozen matrices (adapters.h)
  [[nodiscard]] std::int64_t elements() const { return rows * cols * count; }
};

/// Upper bound of tensors in one layer or end; callers may keep them in a fixed array.
inline constexpr int kMaxLayerTensors = 40;

/// Appends the parameters of one layer of class `kind`.  [docs/formulas.md#P1]
void append_layer_parameters(const ModelSpec& model, LayerClass kind, std::vector<ParameterTensor>& out);
/// Word embedding, position table, embedding norm: what the first stage holds besides its layers.
void append_embedding_parameters(const ModelSpec& model, std::vector<ParameterTensor>& out);
/// Final norm and output layer: what the last stage holds besides its layers. With tied embeddings the output
/// layer has no parameters of its own unless `first_stage_elsewhere` (separates_ends: the last stage keeps a
/// copy).
void append_head_parameters(const ModelSpec& model, bool first_stage_elsewhere,
                            std::vector<ParameterTensor>& out);

/// The same of the scenario's last stage, which has a table of its own for the look-ups of
/// multi-token-prediction modules unless it is the first stage, or the table is the output layer
/// (NVIDIA/Megatron-LM megatron/core/models/gpt/gpt_model.py: self.mtp_process makes an embedding).
void append_last_stage_parameters(const Scenario& scenario, std::vector<ParameterTensor>& out);

/// What one multi-token-prediction module holds besides its transformer layer (which is of the last layer's
/// class): two norms, the projection 2h -> h and a final norm. Embedding and output layer are the main
/// model's. [arXiv:2412.19437 §2.2]
void append_mtp_parameters(const ModelSpec& model, std::vector<ParameterTensor>& out);

/// Elements of `tensor` on one rank: cut over tp, ep, etp; vocabulary padded. Uneven cuts round up.
[[nodiscard]] std::int64_t elements_on_rank(const ParameterTensor& tensor, const ModelSpec& model,
                                            const Layout& layout, std::int64_t vocab_multiple);
/// Elements of one parameter of the framework's modules, unsharded: of one linear layer, one expert.
[[nodiscard]] constexpr double elements_of_module(const ParameterTensor& t) {
  return static_cast<double>(t.rows * t.cols) / t.parts;
}
/// True for tensors whose replicas are counted over expert_data() instead of dp·cp.
[[nodiscard]] constexpr bool is_expert(const ParameterTensor& t) {
  return t.cut >= Cut::ExpertColumn;
}
/// True for what weight decay acts on: matrices and tables, not vectors.
[[nodiscard]] constexpr bool decays(const ParameterTensor& tensor) {
  return tensor.cols > 1 || tensor.matrix || tensor.adapter;
}
/// True where tensor-parallel ranks hold other rows of one matrix.
[[nodiscard]] constexpr bool cuts_rows(Cut cut) {
  return cut == Cut::Column || cut == Cut::KeyValue || cut == Cut::Vocabulary || cut == Cut::ExpertColumn;
}
/// … other columns of one matrix.
[[nodiscard]] constexpr bool cuts_columns(Cut cut) {
  return cut == Cut::Row || cut == Cut::ExpertRow;
}

/// True when tensor-parallel ranks each have a part of the gradient of something that all of them hold: of
/// their tokens (sequence parallelism), or of their heads.
[[nodiscard]] constexpr bool sums_over_tensor_ranks(const ParameterTensor& t, const Layout& layout) {
  return t.cut == Cut::Replicated && layout.tp > 1 && (layout.sp || t.inside_region);
}

/// Exact totals of the whole model, as the published checkpoints count them.
struct ParameterCount {
  std::int64_t total = 0;      // tied embeddings once; without MTP modules
  std::int64_t embedding = 0;  // word embedding (and position table)
  std::int64_t head = 0;       // output layer; 0 when tied
  std::int64_t active = 0;     // used per token: top-k and shared experts only
  std::int64_t mtp = 0;        // multi-token-prediction modules, not in total
};
[[nodiscard]] ParameterCount count_parameters(const ModelSpec& model);

}  // namespace hexaplan::costmodel
