#pragma once
#include <cstdint>
#include <string_view>

#include "validator/executor/interpreter/frame.h"
#include "validator/executor/parallel/attention_blocks.h"
#include "validator/executor/parallel/data.h"

namespace hexaplan::validator {

/// Parameters and gradients that a program's weights stand for: a unit's, and those of the output layer and
/// of the word table where another unit has them (tied embeddings, multi-token-prediction modules).
struct Weights {
  struct Elsewhere {
    const Unit* unit = nullptr;
    std::string_view name{};
  };
  const Unit* unit = nullptr;
  Elsewhere output_layer{}, words{};

  [[nodiscard]] View value(const costmodel::program::Weight& weight) const;
  [[nodiscard]] View gradient(const Rank& rank, const costmodel::program::Weight& weight) const;
  /// True where the gradient counts as zeros and holds anything: the caller overwrites all of it.
  [[nodiscard]] bool take_zeros(const costmodel::program::Weight& weight) const;
  /// Writes out what is kept in 4 bits.
  void dequantise(const Rank& rank, const costmodel::program::Weight& weight, const View& out) const;
  /// The second matrices of the adapters beside a weight: each makes some columns of what the layer makes
  /// from as many columns of the hidden values as it has.
  struct AdapterPart {
    std::string_view first;               // name of the matrix before it
    const LocalTensor* matrix = nullptr;  // its values and its gradient are not there at the same time
    std::int64_t first_output = 0, first_hidden = 0;
    std::int64_t first_adapted = 0;  // among the outputs that have adapters
  };
  [[nodiscard]] std::vector<AdapterPart> adapter_parts(const costmodel::program::Weight& weight) const;
  [[nodiscard]] View value(costmodel::Parameter parameter) const {
    return value(costmodel::program::Weight{.first = parameter});
  }
};

/// What a micro-batch reads beside hidden states. Rows: the rank's tokens.
struct MicroBatch {
  View positions, ids, targets;
  View loss;               // 1 × 1: gains loss_factor·Σ −log p(target)
  double loss_factor = 0;  // 1/tokens of the global batch, times the loss scale
};

/// One operation that is about to run on one rank.
struct Operation {
  Rank& rank;
  Frame& frame;
  const Weights& weights;
  const MicroBatch& batch;
  const costmodel::program::Op& op;

  [[nodiscard]] const costmodel::program::Program& program() const { return frame.runnable().program; }
  [[nodiscard]] const costmodel::program::Value& read_value(std::size_t i) const {
    return program().of(op.reads[i]);
  }
  /// The i-th operand, or result.
  [[nodiscard]] View in(std::size_t i) const { return frame.view(op.reads[i]); }
  [[nodiscard]] View out(std::size_t i) const { return frame.view(op.writes[i]); }
  [[nodiscard]] const costmodel::program::Weight& weight_of() const {
    return program().weights[costmodel::position(op.weight)];
  }
  /// Empty where the operation has none (OLMo's norms); written out where it is kept in 4 bits.
  [[nodiscard]] View weight() const {
    if (op.weight < 0) return {};
    const std::size_t last = op.reads.size() - 1;
    const bool wide =
        op.reads.size() > 0 && read_value(last).tensor == costmodel::program::Tensor::WideWeight;
    return wide ? frame.matrix(op.reads[last]) : weights.value(weight_of());
  }
  [[nodiscard]] View weight_gradient() const {
    return op.weight < 0 ? View{} : weights.gradient(rank, weight_of());
  }
  /// What is added to what the weight makes, and its gradient; empty where the model has none.
  [[nodiscard]] View bias() const { return op.bias < 0 ? View{} : weights.value(bias_of()); }
  [[nodiscard]] View bias_gradient() const {
    return op.bias < 0 ? View{} : weights.gradient(rank, bias_of());
  }
  [[nodiscard]] const costmodel::program::Weight& bias_of() const {
    return program().weights[costmodel::position(op.bias)];
  }
  [[nodiscard]] const costmodel::ModelSpec& model() const { return rank.scenario.model; }
  [[nodiscard]] std::string_view name() const { return costmodel::program::name_of(program(), op); }
  [[nodiscard]] IssuedFlops issue() const { return {name(), op.pass}; }
  [[nodiscard]] Call call(costmodel::DType dtype) const { return rank.call(name(), op.pass, dtype); }
  [[nodiscard]] Call call() const { return rank.call(name(), op.pass); }
  /// Results that add to what is there have it as first operand; the others follow behind it.
  [[nodiscard]] bool accumulates() const { return op.in_place > 0; }
};

/// Runs operations of one kind.
using Runner = void (*)(const Operation&);

// Runners by what they need; `run_phase` has the table.

void run_norm(const Operation& o);
void run_norm_back(const Operation& o);
void run_matmul(const Operation& o);
void run_dequantise(const Operation& o);
void run_add_matmul(const Operation& o);
void run_matmul_data(const Operation& o);
void run_matmul_weight(const Operation& o);
void run_activation(const Operation& o);
void run_activation_back(const Operation& o);
void run_bias_add(const Operation& o);
void run_bias_weight(const Operation& o);
void run_grouped_bias_add(const Operation& o);
void run_grouped_bias_weight(const Operation& o);
void run_scale(const Operation& o);
void run_row_norms(const Operation& o);
void run_scale_columns(const Operation& o);
void run_scale_columns_back(const Operation& o);
void run_clip(const Operation& o);
void run_clip_back(const Operation& o);
void run_soft_cap(const Operation& o);
void run_soft_cap_back(const Operation& o);
void run_gate_rows(const Operation& o);
void run_gate_rows_back(const Operation& o);
void run_pointwise(const Operation& o);
void run_pointwise_back(const Operation& o);
void run_add(const Operation& o);
void run_copy(const Operation& o);
void run_join_columns(const Operation& o);
void run_join_row_norms(const Operation& o);
void run_split_columns(const Operation& o);
void run_lookup(const Operation& o);
void run_lookup_back(const Operation& o);
void run_loss_maxima(const Operation& o);
void run_loss_sums(const Operation& o);
void run_loss_gradient(const Operation& o);

void run_dropout(const Operation& o);
void run_dropout_back(const Operation& o);
/// Core attention as three steps: products of queries and keys, their softmax, products with values.
void attend_with_scores(const Operation& o, const QueryKeyValue& in);
void attend_with_scores_back(const Operation& o, const QueryKeyValue& in, const View& d_output,
                             const QueryKeyValue& d, const View& workspace);

void run_qk_norm(const Operation& o);
void run_qk_norm_back(const Operation& o);
void run_separate(const Operation& o);
void run_separate_back(const Operation& o);
void run_expand_keys(const Operation& o);
void run_expand_keys_back(const Operation& o);
void run_sink_weight(const Operation& o);
void run_rope(const Operation& o);
void run_rope_back(const Operation& o);
void run_attend(const Operation& o);
void run_attend_delta(const Operation& o);
void run_attend_back(const Operation& o);
void run_attend_blocks(const Operation& o);
void run_attend_blocks_back(const Operation& o);
void run_send_recv_back(const Operation& o);
void run_head_exchange(const Operation& o);
void run_add_keys(const Operation& o);
/// One round of the forward ring, and what it brought: a program has both once, for all rounds.
void pass_on_keys(const Operation& o, int step);
void attend_to_passed(const Operation& o, int step);
/// Keys and values of `operand` at this rank's place among everybody's.
[[nodiscard]] View pack_own_keys(const Rank& rank, const View& operand, const View& everybodys);

void run_all_reduce(const Operation& o);
void run_all_gather(const Operation& o);
void run_reduce_scatter(const Operation& o);
void run_all_to_all(const Operation& o);

void run_route(const Operation& o);
void run_route_back(const Operation& o);
void run_count_choices(const Operation& o);
void run_gather_counts(const Operation& o);
void run_permute(const Operation& o);
void run_permute_back(const Operation& o);
void run_regroup(const Operation& o);
void run_ungroup(const Operation& o);
void run_unpermute(const Operation& o);
void run_unpermute_back(const Operation& o);
void run_scale_copies(const Operation& o);

}  // namespace hexaplan::validator
