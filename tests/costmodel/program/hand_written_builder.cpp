#include "tests/costmodel/program/hand_written_builder.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "costmodel/memory/saved_rule.h"

namespace hexaplan::costmodel::program {
namespace {

std::int64_t alignment_of(std::int64_t a, std::int64_t b) {
  return std::gcd(std::gcd(a, b), std::int64_t{8});
}

/// Weights are gathered, and cast for a quantised recipe, in every micro-batch.
bool gathers_weights_by_layer(const Scenario& sc) {
  return sc.layout.sharding.stage >= 3;
}

/// False for sharded parameters: the gradient goes into the reduce buffer and is added to a shard only. One
/// rank's shard is all of it, which products add to where they do so at all.
bool adds_to_main_gradient(const Scenario& sc) {
  const bool whole_shard = sc.layout.shard_ranks() == 1 && sc.framework.weight_gradient_temporary_bytes == 0;
  return whole_shard || sc.layout.sharding.stage < (sc.framework.zero2_gathers_layers ? 2 : 3);
}

}  // namespace

OperationBuilder::OperationBuilder(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out)
    : sc_{sc},
      d_{d},
      out_{out},
      element_{bytes_per_element(activation_dtype(sc.recipe.precision))},
      trains_weights_{!trains_adapters(sc.recipe)},
      quantizes_{is_quantized(sc.recipe.precision)} {}

void OperationBuilder::linear(std::string_view name, std::int64_t tokens, std::int64_t inputs,
                              std::int64_t outputs) {
  quantize(tokens, inputs, outputs, 1);
  if (quantizes_) input_share_ = gradient_share_ = 1;
  gemms(name, OpKind::Gemm, {tokens, outputs, inputs, 1});
}

void OperationBuilder::same_input() {
  if (quantizes_ && sc_.layout.sp) input_share_ = 0;
}

double OperationBuilder::share_of_gathered() const {
  return quantizes_ && sc_.layout.sp ? 1.0 / sc_.layout.tp : 1.0;
}

double OperationBuilder::gathered(double elements) const {
  return quantizes_ ? elements * sc_.framework.quantized_input_bytes / element_ : elements;
}

void OperationBuilder::grouped(std::string_view name, std::int64_t tokens, std::int64_t experts,
                               std::int64_t inputs, std::int64_t outputs) {
  if (tokens <= 0 || experts <= 0) return;
  quantize(tokens, inputs, outputs, experts);
  const Flops of_all_tokens{2.0 * static_cast<double>(tokens) * static_cast<double>(outputs * inputs)};
  gemms(name, OpKind::GroupedGemm, {(tokens + experts - 1) / experts, outputs, inputs, experts},
        of_all_tokens);
}

void OperationBuilder::elementwise(std::string_view name, Elementwise step, double elements) {
  memory_bound(name, step, elements, elements);
}

void OperationBuilder::memory_bound(std::string_view name, Elementwise step, double forward_elements,
                                    double backward_elements) {
  const ElementwiseRule& rule = elementwise_rule(sc_, step);
  Operation op{.name = name, .kind = OpKind::MemoryBound, .precision = sc_.recipe.precision, .formula = "T3"};
  op.bytes = Bytes{forward_elements * element_ * rule.forward_passes};
  op.kernels = rule.forward_kernels;
  op.recomputed = recomputes(0);
  if (op.bytes.value() > 0) out_.push_back(op);
  op.pass = Pass::BackwardData;
  op.recomputed = false;
  op.bytes = Bytes{backward_elements * element_ * rule.backward_passes};
  op.kernels = rule.backward_kernels;
  if (op.bytes.value() > 0) out_.push_back(op);
}

void OperationBuilder::collective(std::string_view name, CollectiveKind forward, CollectiveKind backward,
                                  Group group, double elements, double count) {
  add_collective(name, Pass::Forward, forward, group, elements, count);
  add_collective(name, Pass::BackwardData, backward, group, elements, count);
}

void OperationBuilder::add_collective(std::string_view name, Pass pass, CollectiveKind kind, Group group,
                                      double elements, double count) {
  if (group_size(sc_.layout, group) <= 1 || elements <= 0 || count <= 0) return;
  Operation op{.name = name, .kind = OpKind::Collective, .pass = pass, .formula = "C1"};
  op.recomputed = pass == Pass::Forward && recomputes(0);
  op.kernels = 1;
  op.count = count;
  op.collective = kind;
  op.group = group;
  op.payload = Bytes{elements * element_};
  out_.push_back(op);
}

void OperationBuilder::integers(std::string_view name, CollectiveKind kind, Group group, double elements) {
  add_collective(name, Pass::Forward, kind, group, elements * bytes_per_element(DType::Int32) / element_);
}

void OperationBuilder::exchange_tokens(std::string_view name, double elements) {
  const std::size_t first = out_.size();
  collective(name, CollectiveKind::AllToAll, CollectiveKind::AllToAll, Group::Expert, elements);
  for (std::size_t i = first; i < out_.size(); ++i)
    out_[i].copies = static_cast<double>(d_.sent_copies) / static_cast<double>(d_.router_tokens);
}

void OperationBuilder::enter_tensor_parallel(std::string_view name, double times) {
  const auto stream = static_cast<double>(d_.tokens * d_.hidden);
  if (!sc_.layout.sp) {
    add_collective(name, Pass::BackwardData, CollectiveKind::AllReduce, Group::Tensor, stream, times);
    return;
  }
  input_share_ = share_of_gathered();
  add_collective(name, Pass::Forward, CollectiveKind::AllGather, Group::Tensor, gathered(stream), times);
  add_collective(name, Pass::BackwardData, CollectiveKind::ReduceScatter, Group::Tensor, stream, times);
  if (!sc_.framework.gather_saved_inputs && trains_weights_) {
    add_collective(name, Pass::BackwardWeight, CollectiveKind::AllGather, Group::Tensor, gathered(stream),
                   times);
  }
}

void OperationBuilder::leave_tensor_parallel(std::string_view name) {
  const auto stream = static_cast<double>(d_.tokens * d_.hidden);
  if (sc_.layout.sp) {
    add_collective(name, Pass::Forward, CollectiveKind::ReduceScatter, Group::Tensor, stream);
    // Both backward products read it, along either side; blocks with a scale each cannot be transposed.
    const Precision of = sc_.recipe.precision;
    const bool twice = quantizes_ && (of == Precision::Mxfp8 || of == Precision::Fp8Block);
    add_collective(name, Pass::BackwardData, CollectiveKind::AllGather, Group::Tensor, gathered(stream),
                   twice ? 2 : 1);
  } else {
    add_collective(name, Pass::Forward, CollectiveKind::AllReduce, Group::Tensor, stream);
  }
}

void OperationBuilder::attention(bool windowed) {
  in_modules(kRecomputeCoreAttention);
  stores_scores(sc_.recipe.attention) ? stored_scores() : flash(windowed);
  in_modules(0);
}

bool OperationBuilder::recomputes(double operator_policy_threshold) const {
  const Recompute& recompute = sc_.recipe.recompute;
  switch (recompute.mode) {
    case RecomputeMode::Full:
    case RecomputeMode::Layers:
      return !past_saved_tensors_;
    case RecomputeMode::Selective:
      return (modules_ & kRecomputeCoreAttention) != 0;
    case RecomputeMode::SelectiveModules:
      return (modules_ & recompute.modules) != 0;
    case RecomputeMode::SelectiveOperators:
      return operator_policy_threshold <= 0;
    case RecomputeMode::None:
      break;
  }
  return false;
}

/// Casts for an fp8 or fp4 linear layer: its input, in backward its output's gradient, and its weight: read
/// in 16 bits, written as it is and transposed; once per step, or whenever FSDP has gathered it.
void OperationBuilder::quantize(std::int64_t tokens, std::int64_t inputs, std::int64_t outputs,
                                std::int64_t experts) {
  if (!quantizes_) return;
  memory_bound("quantize", Elementwise::Cast, static_cast<double>(tokens * inputs) * input_share_,
               static_cast<double>(tokens * outputs) * gradient_share_);
  Operation weight{.name = "quantize.weight",
                   .kind = OpKind::MemoryBound,
                   .precision = sc_.recipe.precision,
                   .formula = "T3"};
  weight.kernels = 1;
  weight.count = gathers_weights_by_layer(sc_) ? 1.0 : 1.0 / static_cast<double>(microbatches_per_step(sc_));
  weight.bytes = Bytes{static_cast<double>(inputs * outputs * experts) * (2 + 2 * 1)};
  out_.push_back(weight);
}

void OperationBuilder::gemms(std::string_view name, OpKind kind, GemmShape shape) {
  gemms(name, kind, shape, shape.flops());
}

void OperationBuilder::gemms(std::string_view name, OpKind kind, GemmShape shape, Flops flops) {
  Operation op{.name = name, .kind = kind, .precision = sc_.recipe.precision, .gemm = shape, .formula = "T1"};
  op.gemm.alignment = alignment_of(shape.n, shape.k);
  op.flops = flops;
  op.kernels = sc_.framework.gemm_kernels_forward;
  op.recomputed = recomputes(1) || recomputes_as_matmul();
  out_.push_back(op);
  op.recomputed = false;
  op.pass = Pass::BackwardData;
  op.gemm = {shape.m, shape.k, shape.n, shape.batch, 0, op.gemm.alignment};
  out_.push_back(op);
  if (!trains_weights_) return;
  op.pass = Pass::BackwardWeight;
  op.gemm = {shape.n, shape.k, shape.m, shape.batch, 0, op.gemm.alignment};
  const bool adds = adds_to_main_gradient(sc_);
  const bool apart = sc_.framework.weight_gradient_temporary_bytes > 0;
  if (adds && !apart) op.gemm.accumulate_bytes = 2 * main_gradient_bytes();
  out_.push_back(op);
  if (adds && apart) accumulate_gradient(shape);
}

/// torchtitan's per-operator policy recomputes every second matmul.
bool OperationBuilder::recomputes_as_matmul() {
  if (sc_.recipe.recompute.mode != RecomputeMode::SelectiveOperators) return false;
  matmul_parity_ = !matmul_parity_;
  return !matmul_parity_;
}

/// Weight gradient made in a buffer of its own, then added to the main gradient: read it, read and write
/// the main one.
void OperationBuilder::accumulate_gradient(const GemmShape& shape) {
  Operation op{.name = "gradient.accumulate",
               .kind = OpKind::MemoryBound,
               .pass = Pass::BackwardWeight,
               .formula = "T3"};
  op.bytes = Bytes{static_cast<double>(shape.n * shape.k * shape.batch) *
                   (sc_.framework.weight_gradient_temporary_bytes + 2 * main_gradient_bytes())};
  out_.push_back(op);
}

double OperationBuilder::main_gradient_bytes() const {
  const FrameworkProfile& f = sc_.framework;
  const bool in_fp16 =
      sc_.recipe.precision == Precision::Fp16 && f.master_parameters && !f.widens_fp16_gradients;
  return bytes_per_element(sc_.recipe.gradient_dtype.value_or(in_fp16 ? DType::Fp16 : f.gradient_dtype));
}

void OperationBuilder::flash(bool windowed) {
  Operation op{.name = "attention.core",
               .kind = OpKind::Attention,
               .precision = sc_.recipe.precision,
               .formula = "T2"};
  // A ring attends to one rank's keys at a time.
  const bool ring = sc_.layout.cp > 1 && sc_.layout.context == ContextKind::Ring;
  const std::int64_t pieces = ring ? sc_.layout.cp : 1;
  const auto share = static_cast<double>(pieces);
  AttentionShape& shape = op.attention;
  op.count = share;
  shape = {.batch = d_.micro_batch,
           .heads = d_.heads,
           .kv_heads = d_.kv_heads,
           .seq_q = d_.local_sequence,
           .seq_kv = d_.sequence / pieces,
           .head_dim = sc_.model.attention.head_dim,
           .v_head_dim = sc_.model.attention.v_head_dim,
           .window = windowed ? sc_.model.attention.window : 0,
           .causal = true,
           .dropout = sc_.recipe.dropout > 0,
           .pairs = (windowed ? d_.windowed_pairs : d_.attention_pairs) / share,
           .unmasked = windowed ? 0 : 1 - 1 / share,  // of a ring's pieces the own one is causal
           .library = attention_library(sc_)};
  op.flops = Flops{2.0 * share * shape.pairs * static_cast<double>(shape.heads * shape.batch) *
                   static_cast<double>(shape.head_dim + shape.v_head_dim)};
  op.recomputed = recomputes(1);
  out_.push_back(op);
  op.pass = Pass::BackwardData;
  op.recomputed = false;
  op.flops = op.flops * 2.5;
  op.kernels = 3;
  out_.push_back(op);
  if (ring) merge_ring_pieces(share - 1);
}

/// Each further piece of a ring is added to the output in fp32 by the two log-sum-exps, and its gradients
/// to those of queries, keys and values: read the piece, read and write the sum (Transformer Engine
/// context_parallel.py, flash_attn_fwd_out_correction).
void OperationBuilder::merge_ring_pieces(double merges) {
  Operation op{.name = "attention.merge", .kind = OpKind::MemoryBound, .count = merges, .formula = "T3"};
  const double bytes = element_ + 8;
  op.bytes = Bytes{static_cast<double>(d_.tokens * d_.o) * bytes};
  op.recomputed = recomputes(1);
  out_.push_back(op);
  op.pass = Pass::BackwardData;
  op.recomputed = false;
  op.bytes = Bytes{static_cast<double>(d_.tokens * (d_.q + d_.k + d_.v)) * bytes};
  out_.push_back(op);
}

void OperationBuilder::stored_scores() {
  const std::int64_t batch = d_.micro_batch * d_.heads;
  const auto elements = static_cast<double>(batch * d_.local_sequence * d_.sequence);
  score_gemms("attention.scores", {d_.local_sequence, d_.sequence, sc_.model.attention.head_dim, batch});
  // Scaling, masking and softmax one by one, on Perlmutter's A100 (DebarghaG/estimate-train-time@1ac4d5e):
  // 10 passes forward and 24 backward, where the fused kernel has 2 and 3.
  constexpr double kUnfusedOverFused = 5;
  const bool taken = batch % 4 == 0 && d_.local_sequence % 4 == 0 && d_.sequence % 4 == 0 &&
                     d_.sequence > 16 && d_.sequence <= 4096;
  const bool fused = sc_.recipe.attention == AttentionKernel::FusedSoftmax && taken;
  const std::size_t first = out_.size();
  elementwise("attention.softmax", Elementwise::Softmax, elements * (fused ? 1.0 : kUnfusedOverFused));
  for (std::size_t i = first; i < out_.size() && !fused; ++i) out_[i].kernels *= kUnfusedOverFused;
  if (sc_.recipe.dropout > 0) elementwise("attention.dropout", Elementwise::ScoreDropout, elements);
  score_gemms("attention.values", {d_.local_sequence, sc_.model.attention.v_head_dim, d_.sequence, batch});
}

void OperationBuilder::score_gemms(std::string_view name, GemmShape shape) {
  Operation op{
      .name = name, .kind = OpKind::Gemm, .precision = sc_.recipe.precision, .gemm = shape, .formula = "T1"};
  if (is_quantized(op.precision)) op.precision = Precision::Bf16;
  op.gemm.alignment = alignment_of(shape.n, shape.k);
  op.flops = shape.flops();
  op.recomputed = recomputes(1);
  out_.push_back(op);
  op.recomputed = false;
  op.pass = Pass::BackwardData;
  out_.push_back(op);
  out_.push_back(op);  // gradients of both operands
}

}  // namespace hexaplan::costmodel::program
