#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "costmodel/compute/operation.h"
#include "costmodel/spec/local_dims.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel::program {

/// Emits forward and backward of each step of a layer in one place, so that they cannot drift apart. Sizes
/// are those of one rank and one micro-batch; `elements` are in the activation dtype.
/// Lifetime: scenario, dims and the list outlive the builder.
class OperationBuilder {
 public:
  OperationBuilder(const Scenario& scenario, const LocalDims& dims, std::vector<Operation>& out);

  /// Steps that follow run again in backward when the recipe recomputes one of `modules`
  /// (RecomputeModule bits).
  void in_modules(std::uint16_t modules) { modules_ = modules; }
  /// Linear layers that follow are not quantised (output layer, router).
  void keep_wide(bool wide) { quantizes_ = !wide && is_quantized(sc_.recipe.precision); }
  /// Nothing that follows runs again where the framework ends a full recompute early.
  void end_of_saved_tensors() { past_saved_tensors_ = sc_.framework.recompute_stops_early; }

  /// A matrix on `tokens` rows, with the casts of a quantised recipe before it.  [docs/formulas.md#T1]
  void linear(std::string_view name, std::int64_t tokens, std::int64_t inputs, std::int64_t outputs);
  /// One such matrix per expert, `tokens` spread evenly over the `experts` of the rank.
  void grouped(std::string_view name, std::int64_t tokens, std::int64_t experts, std::int64_t inputs,
               std::int64_t outputs);
  /// The next matrix reads what the one before did, cast once for both where it is cast before a gather.
  void same_input();
  /// The gradient of the next matrix's result is gathered, after it is cast.
  void gathered_gradient() { gradient_share_ = share_of_gathered(); }
  /// A memory-bound step over `elements`, as the framework's rule reads and writes them.
  /// [docs/formulas.md#T3]
  void elementwise(std::string_view name, Elementwise step, double elements);
  /// Core attention, with or without a window, by the kernel of the recipe.  [docs/formulas.md#T2]
  void attention(bool windowed);

  /// A collective of the forward pass and the one that answers it in backward. Both move `elements`, as
  /// CollectiveKind counts its payload, `count` times; nothing in a group of one.
  void collective(std::string_view name, CollectiveKind forward, CollectiveKind backward, Group group,
                  double elements, double count = 1);
  /// A collective of one pass alone.
  void add_collective(std::string_view name, Pass pass, CollectiveKind kind, Group group, double elements,
                      double count = 1);
  /// A collective of the forward pass over 32-bit integers.
  void integers(std::string_view name, CollectiveKind kind, Group group, double elements);
  /// Token copies to the ranks of their experts, or back; the opposite way in backward.
  void exchange_tokens(std::string_view name, double elements);
  /// All-gather of a sequence-parallel input before a column-parallel linear layer. Backward gathers the
  /// input once more for the weight gradient (unless kept) and scatters the input's gradient
  /// (arXiv:2205.05198 §4.2.2).
  /// `times`: linear layers that bring the same input in by themselves.
  void enter_tensor_parallel(std::string_view name, double times = 1);
  /// Sum of a row-parallel layer's partial outputs: scattered over the sequence, or whole on every rank.
  void leave_tensor_parallel(std::string_view name);

 private:
  /// Of the tokens, those that a rank casts before a sequence-parallel gather.
  [[nodiscard]] double share_of_gathered() const;
  /// Elements that are gathered, counted as those of activations.
  [[nodiscard]] double gathered(double elements) const;
  [[nodiscard]] bool recomputes(double operator_policy_threshold) const;
  [[nodiscard]] bool recomputes_as_matmul();
  [[nodiscard]] double main_gradient_bytes() const;
  void memory_bound(std::string_view name, Elementwise step, double forward_elements,
                    double backward_elements);
  void quantize(std::int64_t tokens, std::int64_t inputs, std::int64_t outputs, std::int64_t experts);
  void gemms(std::string_view name, OpKind kind, GemmShape shape);
  void gemms(std::string_view name, OpKind kind, GemmShape shape, Flops flops);
  void accumulate_gradient(const GemmShape& shape);
  void flash(bool windowed);
  void merge_ring_pieces(double merges);
  void stored_scores();
  void score_gemms(std::string_view name, GemmShape shape);

  const Scenario& sc_;
  const LocalDims& d_;
  std::vector<Operation>& out_;
  double element_;  // bytes of an activation
  bool trains_weights_;
  bool quantizes_;
  bool matmul_parity_ = false;
  bool past_saved_tensors_ = false;
  double input_share_ = 1, gradient_share_ = 1;  // of the next matrix's tokens, cast by this rank
  std::uint16_t modules_ = 0;
};

}  // namespace hexaplan::costmodel::program
