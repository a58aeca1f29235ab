#include "costmodel/compute/operations.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/saved_rule.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/program/sizes.h"
#include "costmodel/program/variants.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/units/ceil_div.h"

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

/// Adapters that stand beside a weight of the program.
std::int64_t adapters_of_weight(const Scenario& sc, const Weight& weight) {
  const auto beside = [&](Parameter parameter) {
    return adapters_beside(sc, name_of(parameter), linear_layers_in(parameter));
  };
  return beside(weight.first) + (weight.last == Parameter::Count ? 0 : beside(weight.last));
}

/// Memory-bound work on `elements` numbers, as a rule of the framework's profile prices them.
struct Pointwise {
  std::string_view name;
  Elementwise rule;
  double elements;
  Pass pass;
  bool recomputed = false;
  double times = 1;    // that it runs
  double split = 1;    // passes and kernels for each of the rule's, where operations run one by one
  double tensors = 1;  // that the elements lie in, each with kernels of its own
};

/// Puts numbers to steps.
class Writer {
 public:
  Writer(const Scenario& sc, const LocalDims& d, LayerClass kind, std::vector<Operation>& out)
      : sc_{sc},
        d_{d},
        kind_{kind},
        out_{out},
        sizes_{sizes_of(sc, d)},
        mean_rank_{trains_adapters(sc.recipe) ? mean_adapter_rank(sc) : 0} {}

  void write(const Step& step) {
    // Frozen weights have no gradients; those of adapters are written with the products beside them.
    const bool stands_for_adapters = trains_adapters(sc_.recipe) && !adapters_are_operations(sc_);
    if (step.pass == Pass::BackwardWeight && stands_for_adapters && !trains(step.weight)) return;
    switch (step.price) {
      case Price::Matrix:
        return matrix(step);
      case Price::Attention:
        return stores_scores(sc_.recipe.attention) ? stored_scores(step) : flash(step);
      case Price::MergeBlocks:
        return merge_blocks(step);
      case Price::ScaleColumns:
        return scale_columns(step);
      case Price::RowNorms:
        return measure_rows(step);
      case Price::Dequantise:
        return dequantise(step, static_cast<double>(of(step.weight.out) * of(step.weight.in)));
      case Price::Traffic:
        return traffic(step);
      case Price::Kernel:
        return kernel(step);
      case Price::Message:
        return message(step);
    }
  }

 private:
  /// True for a weight of the model that trains beside adapters.
  [[nodiscard]] bool trains(const Weight& weight) const {
    return weight.first != Parameter::Count && own_share(sc_, name_of(weight.first)) > 0;
  }
  [[nodiscard]] std::int64_t of(Width width) const { return static_cast<std::int64_t>(sizes_.of(width)); }
  [[nodiscard]] std::int64_t of(Rows rows) const { return static_cast<std::int64_t>(sizes_.of(rows)); }
  [[nodiscard]] double elements(Shape shape) const { return sizes_.elements(shape); }
  [[nodiscard]] Precision wide_precision() const {
    return is_quantized(sc_.recipe.precision) ? Precision::Bf16 : sc_.recipe.precision;
  }

  [[nodiscard]] double main_gradient_bytes() const {
    if (has_fp16_gradients(sc_)) return bytes_per_element(DType::Fp16);
    return bytes_per_element(sc_.recipe.gradient_dtype.value_or(sc_.framework.gradient_dtype));
  }
  /// Of what attention and the router do beside their products: recomputed by operator in any case.
  [[nodiscard]] bool recomputes_beside(const Step& step) const {
    const bool by_operator = sc_.recipe.recompute.mode == RecomputeMode::SelectiveOperators;
    return step.recomputed || (by_operator && step.pass == Pass::Forward);
  }

  void matrix(const Step& step);
  void cut(const Step& step, Operation& op) const;
  void shape_adapter(const Step& step, Operation& op) const;
  void dequantise(const Step& step, double weights);
  void multiply_in_8_bits(const Step& step, Operation& op);
  void integer_traffic(std::string_view name, const Step& step, double bytes, double kernels);
  void adapters(const Step& step, const GemmShape& product);
  void adapter_product(std::string_view name, const Step& step, GemmShape shape, Pass pass, double kernels);
  void adapter_traffic(std::string_view name, const Step& step, double elements);
  void scale_columns(const Step& step);
  void measure_rows(const Step& step);
  void dora(const Step& step, const GemmShape& product, double layers);
  void accumulate_gradient(double elements);
  void cast_weight(double elements);
  void autocast_weight(const Step& step, double elements);
  void adapter_casts(const Step& step, Elementwise rule, double elements, double layers);
  [[nodiscard]] Precision adapter_precision() const;
  void flash(const Step& step);
  void repeat_keys(const Step& step);
  void stored_scores(const Step& step);
  void score_gemms(std::string_view name, GemmShape shape, const Step& step);
  void merge_blocks(const Step& step);
  void traffic(const Step& step);
  void loop_over_blocks(const Step& step, Operation& op) const;
  void kernel(const Step& step);
  void elementwise(const Pointwise& work);
  void message(const Step& step);

  const Scenario& sc_;
  const LocalDims& d_;
  LayerClass kind_;
  std::vector<Operation>& out_;
  Sizes sizes_;
  double mean_rank_;  // of adapters
};

/// A matrix on rows of tokens, or one per expert of the rank with the tokens spread evenly over them.
/// [docs/formulas.md#T1]
void Writer::matrix(const Step& step) {
  const bool grouped = step.rows == Rows::ExpertRows;
  const std::int64_t experts = grouped ? d_.experts_local : 1, all = of(step.rows);
  if (grouped && (all <= 0 || experts <= 0)) return;
  const std::int64_t m = grouped ? ceil_div(all, experts) : all;  // the fullest expert's
  const std::int64_t n = of(step.weight.out), k = of(step.weight.in);
  const auto weights = static_cast<double>(n * k * experts);
  if (step.quantised && step.pass == Pass::Forward) cast_weight(weights);
  if (casts_automatically(sc_)) autocast_weight(step, weights);
  Operation op{.name = name_of(step.site, step.weight),
               .kind = grouped ? OpKind::GroupedGemm : OpKind::Gemm,
               .pass = step.pass,
               .recomputed = step.recomputed,
               .precision = step.quantised ? sc_.recipe.precision : wide_precision(),
               .gemm = {m, n, k, experts},
               .formula = "T1"};
  if (step.kind == Kind::MatmulData) op.gemm = {m, k, n, experts};
  if (step.kind == Kind::MatmulWeight) op.gemm = {n, k, m, experts};
  op.gemm.alignment = alignment_of(n, k);
  op.flops = Flops{2.0 * static_cast<double>(all) * static_cast<double>(n) * static_cast<double>(k)};
  op.kernels = sc_.framework.gemm_kernels_forward;
  if (step.chunks > 1) cut(step, op);
  if (step.weight.adapter != AdapterSide::None) shape_adapter(step, op);
  const bool accumulates = step.kind == Kind::MatmulWeight && adds_to_main_gradient(sc_);
  const bool apart = sc_.framework.weight_gradient_temporary_bytes > 0;
  if (accumulates && !apart) op.gemm.accumulate_bytes = 2 * main_gradient_bytes();
  const bool adapted = trains_adapters(sc_.recipe) && row_of(step.site).block != Block::Head &&
                       !adapters_are_operations(sc_) && !is_expert_parameter(sc_, name_of(step.weight.first));
  if (adapted && sc_.recipe.fine_tune == FineTune::Qlora) dequantise(step, weights);
  if (adapted && sc_.recipe.fine_tune == FineTune::Lora8bit) {
    multiply_in_8_bits(step, op);
  } else {
    out_.push_back(op);
  }
  if (adapted) adapters(step, {m, n, k, experts});
  if (accumulates && apart) accumulate_gradient(weights);
}

/// The product for one chunk of the tokens after the other.
void Writer::cut(const Step& step, Operation& op) const {
  const std::int64_t rows = of(Rows::LossChunk);
  (step.kind == Kind::MatmulWeight ? op.gemm.k : op.gemm.m) = rows;
  op.count = step.chunks;
}

/// Adapters that share their input have one first product, and a second product each. What is added to what
/// stands there reads it.
void Writer::shape_adapter(const Step& step, Operation& op) const {
  op.formula = "T12";
  if (step.weight.adapter == AdapterSide::Up)
    op.kernels = static_cast<double>(adapters_of_weight(sc_, step.weight));
  const bool adds = step.kind == Kind::AddMatmul ||
                    (step.kind == Kind::MatmulData && step.weight.adapter == AdapterSide::Down);
  if (adds) op.gemm.accumulate_bytes = sizes_.activation_bytes;
}

/// 4-bit weights are written out in the compute type before every product (arXiv:2305.14314 equation 5).
void Writer::dequantise(const Step& step, double weights) {
  const bool scales_first = sc_.recipe.double_quantization && !sc_.framework.reads_scales_in_place;
  const double kept = sc_.recipe.fine_tune == FineTune::Lora8bit ? bytes_per_element(DType::Int8)
                                                                 : nf4_bytes_per_element(sc_.recipe);
  out_.push_back({.name = "adapter.dequantise",
                  .kind = OpKind::MemoryBound,
                  .pass = step.pass,
                  .recomputed = step.recomputed,
                  .bytes = Bytes{weights * (kept + sizes_.activation_bytes)},
                  .kernels = scales_first ? 2.0 : 1.0,
                  .formula = "T12"});
}

void Writer::integer_traffic(std::string_view name, const Step& step, double bytes, double kernels) {
  out_.push_back({.name = name,
                  .kind = OpKind::MemoryBound,
                  .pass = step.pass,
                  .recomputed = step.recomputed,
                  .bytes = Bytes{bytes},
                  .kernels = kernels,
                  .formula = "T12"});
}

/// LLM.int8() (arXiv:2208.07339 §3), layer by layer, as bitsandbytes@95f9af3 has it: forward quantises rows
/// of the operand, multiplies integers, scales the sums, and adds the product of the few columns that hold
/// outliers; backward writes the weight out in 16 bits for an ordinary product. Bytes per element are those
/// of its operators (bitsandbytes/backends/cuda/ops.py, backends/default/ops.py, read), an estimate: nobody
/// has measured them here.
void Writer::multiply_in_8_bits(const Step& step, Operation& op) {
  // Operand: cast to fp16, magnitudes, compared with the threshold, asked twice for outliers, quantised.
  constexpr double kQuantise = 4 + 4 + 3 + 2 + 3, kQuantiseKernels = 7;
  // Sums of 32 bits: 2 bytes more are written, read and scaled to fp16, cast.
  constexpr double kScale = 2 + 6 + 4, kScaleKernels = 2;
  // Of outliers: result read and written, columns of both operands picked, those of the weight widened.
  constexpr double kOutliers = 4, kOutlierKernels = 5;
  // Weight: codes to 16 bits, times scales of its rows.
  constexpr double kWiden = 3 + 4, kWidenKernels = 2;
  const double layers = Adapters::all_in(step.weight);
  const auto experts = static_cast<double>(op.gemm.batch);
  const double m = static_cast<double>(op.gemm.m), n = static_cast<double>(op.gemm.n),
               k = static_cast<double>(op.gemm.k);
  if (step.pass != Pass::Forward) {  // m × n by the weight's n × k: op.gemm is {m, k, n}
    integer_traffic("adapter.dequantise", step, kWiden * n * k * experts, kWidenKernels * layers);
    out_.push_back(op);
    return;
  }
  integer_traffic("adapter.quantise", step, kQuantise * m * k * layers * experts, kQuantiseKernels * layers);
  op.integers = true;
  out_.push_back(op);
  integer_traffic("adapter.rescale", step, kScale * m * n * experts, kScaleKernels * layers);
  integer_traffic("adapter.outliers", step, kOutliers * m * n * experts, kOutlierKernels * layers);
}

/// What PEFT runs beside a frozen product of m tokens, `product.k` inputs and `product.n` outputs: LoRA's two
/// narrow products and their sum with the frozen one, with both gradients in backward; IA3's scaling.
/// [docs/formulas.md#T12]
void Writer::adapters(const Step& step, const GemmShape& product) {
  // q_proj and v_proj alone: the keys' outputs, which one product has in it, are left out.
  const bool without_keys = sc_.recipe.lora_targets == AdapterTargets::QueryValue &&
                            !packed_layers(sc_).attention &&
                            step.weight.last == Parameter::AttentionKeyValueWeight;
  const std::int64_t m = product.m, k = product.k, experts = product.batch;
  const std::int64_t n = product.n - (without_keys ? d_.k : 0);
  const auto outputs = static_cast<double>(m * n * experts), inputs = static_cast<double>(m * k * experts);
  const bool forward = step.pass == Pass::Forward;
  if (sc_.recipe.fine_tune == FineTune::Ia3) {
    const auto keys = static_cast<double>(m * (d_.k + d_.v));
    if (step.site == Site::Qkv) adapter_traffic("adapter.scale", step, keys);
    if (step.site == Site::Down || step.site == Site::ExpertDown)
      adapter_traffic("adapter.scale", step, inputs);
    return;
  }
  const std::int64_t count = adapters_of_weight(sc_, step.weight);
  if (count == 0) return;
  const std::int64_t rank = std::max<std::int64_t>(1, std::llround(mean_rank_)), wide = rank * count;
  const auto kernels = static_cast<double>(count);
  adapter_casts(step, Elementwise::AdapterInput, inputs * kernels, kernels);
  adapter_casts(step, Elementwise::AdapterOutput, outputs, kernels);
  if (learns_magnitudes(sc_.recipe)) dora(step, {m, n, k, experts}, kernels);
  if (forward) {
    adapter_product("adapter.down", step, {m, wide, k, experts}, Pass::Forward, kernels);
    adapter_product("adapter.up", step, {m, n, rank, experts}, Pass::Forward, kernels);
    return adapter_traffic("adapter.add", step, outputs);
  }
  adapter_product("adapter.up", step, {m, rank, n, experts}, Pass::BackwardData, kernels);
  adapter_product("adapter.up", step, {n, rank, m, experts}, Pass::BackwardWeight, kernels);
  adapter_product("adapter.down", step, {m, k, wide, experts}, Pass::BackwardData, kernels);
  adapter_product("adapter.down", step, {wide, k, m, experts}, Pass::BackwardWeight, kernels);
  adapter_traffic("adapter.add", step, inputs);
}

/// What the framework runs for each adapted layer beside its products and the sum.
void Writer::adapter_casts(const Step& step, Elementwise rule, double elements, double layers) {
  elementwise({.name = "adapter.cast",
               .rule = rule,
               .elements = elements,
               .pass = step.pass,
               .recomputed = step.recomputed,
               .tensors = layers});
}

Precision Writer::adapter_precision() const {
  const bool wide = sc_.framework.adapter_products_as_kept && !casts_automatically(sc_) &&
                    state_types(sc_).parameter == DType::Fp32;
  return wide ? Precision::Fp32 : wide_precision();
}

void Writer::adapter_product(std::string_view name, const Step& step, GemmShape shape, Pass pass,
                             double kernels) {
  shape.alignment = alignment_of(shape.n, shape.k);
  out_.push_back({.name = name,
                  .kind = shape.batch > 1 ? OpKind::GroupedGemm : OpKind::Gemm,
                  .pass = pass,
                  .recomputed = step.recomputed,
                  .precision = adapter_precision(),
                  .gemm = shape,
                  .flops = shape.flops(),
                  .kernels = kernels,
                  .formula = "T12"});
}

/// Read the product and what is scaled or added, write the result.
void Writer::adapter_traffic(std::string_view name, const Step& step, double elements) {
  out_.push_back({.name = name,
                  .kind = OpKind::MemoryBound,
                  .pass = step.pass,
                  .recomputed = step.recomputed,
                  .bytes = Bytes{3 * elements * sizes_.activation_bytes},
                  .formula = "T12"});
}

/// DoRA's columns are divided by lengths, too.
void Writer::scale_columns(const Step& step) {
  const double times = step.weight.adapter == AdapterSide::Magnitude ? 2 : 1;
  adapter_traffic("adapter.scale", step, times * elements(step.payload));
}

/// The executor copies the frozen matrix, adds B·A to it and reads its rows: in fp32, in place.
/// [docs/formulas.md#T12]
void Writer::measure_rows(const Step& step) {
  const std::int64_t n = of(step.payload.width), k = of(step.weight.in);
  adapter_product("adapter.row_norms", step, {n, k, of(Width::AdapterRank), 1}, Pass::Forward, 1);
  out_.back().gemm.accumulate_bytes = bytes_per_element(DType::Fp32);
  const double fp32 = 5 * bytes_per_element(DType::Fp32);  // written; scaled and normalised, read and written
  out_.push_back({.name = "adapter.row_norms",
                  .kind = OpKind::MemoryBound,
                  .pass = step.pass,
                  .recomputed = step.recomputed,
                  .bytes = Bytes{static_cast<double>(n * k) * (sizes_.activation_bytes + fp32)},
                  .kernels = 3,
                  .formula = "T12"});
}

/// What DoRA adds to LoRA beside a frozen product: B·A and the lengths of the sum's rows, forward alone, and
/// the scaling of columns, whose two operands both have gradients.
void Writer::dora(const Step& step, const GemmShape& product, double layers) {
  const auto experts = static_cast<double>(product.batch);
  const auto outputs = static_cast<double>(product.n), inputs = static_cast<double>(product.k);
  elementwise({.name = "adapter.magnitude",
               .rule = Elementwise::DoraOutput,
               .elements = static_cast<double>(product.m) * outputs * experts,
               .pass = step.pass,
               .recomputed = step.recomputed,
               .tensors = layers});
  if (step.pass != Pass::Forward) return;
  const std::int64_t rank = std::max<std::int64_t>(1, std::llround(mean_rank_));
  const double identity = sc_.framework.dora_identity_bytes;
  if (identity > 0) {
    out_.push_back({.name = "adapter.row_norms",
                    .kind = OpKind::MemoryBound,
                    .pass = step.pass,
                    .recomputed = step.recomputed,
                    .bytes = Bytes{identity * inputs * inputs * layers * experts},
                    .kernels = 2 * layers,
                    .formula = "T12"});
    const std::int64_t wide = rank * static_cast<std::int64_t>(layers);
    adapter_product("adapter.row_norms", step, {product.k, wide, product.k, product.batch}, Pass::Forward,
                    layers);
  }
  adapter_product("adapter.row_norms", step, {product.n, product.k, rank, product.batch}, Pass::Forward,
                  layers);
  if (quantises_base(sc_.recipe)) dequantise(step, outputs * inputs * experts);
  elementwise({.name = "adapter.row_norms",
               .rule = Elementwise::DoraWeight,
               .elements = outputs * inputs * experts,
               .pass = step.pass,
               .recomputed = step.recomputed,
               .tensors = layers});
}

/// A weight gradient made in a buffer of its own is added to the main one: read it, read and write the main
/// one.
void Writer::accumulate_gradient(double elements) {
  const double bytes = sc_.framework.weight_gradient_temporary_bytes + 2 * main_gradient_bytes();
  out_.push_back({.name = "gradient.accumulate",
                  .kind = OpKind::MemoryBound,
                  .pass = Pass::BackwardWeight,
                  .bytes = Bytes{elements * bytes},
                  .formula = "T3"});
}

/// The weight of a quantised matrix, read in 16 bits, written as it is and transposed: once per step, or
/// whenever FSDP has gathered it; never where it is frozen in 8 bits (NeMo's fp8_params in MLPerf's LoRA).
void Writer::cast_weight(double elements) {
  if (trains_adapters(sc_.recipe) && state_types(sc_).frozen == DType::Fp8) return;
  const double each_step = 1.0 / static_cast<double>(microbatches_per_step(sc_));
  out_.push_back({.name = kWeightCast,
                  .kind = OpKind::MemoryBound,
                  .precision = sc_.recipe.precision,
                  .bytes = Bytes{elements * (2 + 2 * 1)},
                  .count = gathers_weights_by_layer(sc_) ? 1.0 : each_step,
                  .formula = "T3"});
}

/// torch.autocast: read in fp32 and written in 16 bits for the forward product, which autograd answers with
/// the gradient the other way round.
void Writer::autocast_weight(const Step& step, double elements) {
  if (step.pass == Pass::BackwardData) return;
  elementwise({.name = "autocast.weight",
               .rule = Elementwise::WeightCast,
               .elements = elements,
               .pass = step.pass,
               .recomputed = step.recomputed});
}

/// Core attention in one kernel; a ring attends to one rank's keys at a time.  [docs/formulas.md#T2]
void Writer::flash(const Step& step) {
  repeat_keys(step);
  const bool ring = sc_.layout.cp > 1 && sc_.layout.context == ContextKind::Ring;
  const std::int64_t pieces = ring ? sc_.layout.cp : 1;
  const auto share = static_cast<double>(pieces);
  const AttentionSpec& a = sc_.model.attention;
  const bool forward = step.pass == Pass::Forward;
  Operation op{.name = row_of(step.site).name,
               .kind = OpKind::Attention,
               .pass = step.pass,
               .recomputed = step.recomputed,
               .precision = sc_.recipe.precision,
               .count = share,
               .formula = "T2"};
  op.attention = {.batch = d_.micro_batch,
                  .heads = d_.heads,
                  .kv_heads = d_.kv_heads,
                  .seq_q = d_.local_sequence,
                  .seq_kv = d_.sequence / pieces,
                  .head_dim = a.head_dim,
                  .v_head_dim = a.v_head_dim,
                  .window = kind_.windowed ? a.window : 0,
                  .causal = true,
                  .dropout = sc_.recipe.dropout > 0,
                  .pairs = (kind_.windowed ? d_.windowed_pairs : d_.attention_pairs) / share,
                  // Of a ring's pieces the own one is causal.
                  .unmasked = kind_.windowed ? 0 : 1 - 1 / share,
                  .library = attention_library(sc_)};
  op.flops = Flops{kind_.windowed ? sizes_.windowed_flops : sizes_.attention_flops};
  if (!forward) op.flops = op.flops * kAttentionBackwardFlops;
  if (!forward) op.kernels = 3;
  out_.push_back(op);
}

/// Eager attention reads keys and values expanded to all heads that share them.
void Writer::repeat_keys(const Step& step) {
  const bool latent = sc_.model.attention.kind == AttentionKind::Latent;
  if (latent || d_.heads <= d_.kv_heads) return;
  elementwise({.name = "attention.repeat_kv",
               .rule = Elementwise::RepeatKeyValue,
               .elements = static_cast<double>(d_.tokens * (d_.q + d_.o)),
               .pass = step.pass,
               .recomputed = recomputes_beside(step)});
}

/// Megatron's kernel takes up to 4,096 keys, and groups of four of a rank's sequences and heads
/// (NVIDIA/Megatron-LM megatron/core/fusions/fused_softmax.py is_kernel_available); what it does not take
/// goes through PyTorch's operations.
bool fused_softmax_takes(std::int64_t batch, std::int64_t queries, std::int64_t keys) {
  constexpr std::int64_t kFewest = 16, kMost = 4096, kGroup = 4;
  return keys > kFewest && keys <= kMost && keys % kGroup == 0 && queries % kGroup == 0 &&
         batch % kGroup == 0;
}

void Writer::stored_scores(const Step& step) {
  repeat_keys(step);
  const std::int64_t batch = d_.micro_batch * d_.heads;
  const auto scores = static_cast<double>(batch * d_.local_sequence * d_.sequence);
  const AttentionSpec& a = sc_.model.attention;
  score_gemms("attention.scores", {d_.local_sequence, d_.sequence, a.head_dim, batch}, step);
  // Scaling, masking and softmax one by one, on Perlmutter's A100 (DebarghaG/estimate-train-time@1ac4d5e):
  // 10 passes forward and 24 backward, where the fused kernel has 2 and 3.
  constexpr double kUnfusedOverFused = 5;
  const bool fused = sc_.recipe.attention == AttentionKernel::FusedSoftmax &&
                     fused_softmax_takes(batch, d_.local_sequence, d_.sequence);
  const bool recomputed = recomputes_beside(step);
  elementwise({.name = "attention.softmax",
               .rule = Elementwise::Softmax,
               .elements = scores,
               .pass = step.pass,
               .recomputed = recomputed,
               .split = fused ? 1 : kUnfusedOverFused});
  if (sc_.recipe.dropout > 0)
    elementwise({.name = "attention.dropout",
                 .rule = Elementwise::ScoreDropout,
                 .elements = scores,
                 .pass = step.pass,
                 .recomputed = recomputed});
  score_gemms("attention.values", {d_.local_sequence, a.v_head_dim, d_.sequence, batch}, step);
}

/// Two products of the same size answer one: a gradient for each operand.
void Writer::score_gemms(std::string_view name, GemmShape shape, const Step& step) {
  Operation op{.name = name,
               .kind = OpKind::Gemm,
               .pass = step.pass,
               .recomputed = step.recomputed,
               .precision = wide_precision(),
               .gemm = shape,
               .formula = "T1"};
  op.gemm.alignment = alignment_of(shape.n, shape.k);
  op.flops = shape.flops();
  for (int i = 0; i < (step.pass == Pass::Forward ? 1 : 2); ++i) out_.push_back(op);
}

/// Each further piece of a ring is added to the output in fp32 by the two log-sum-exps, and its gradients
/// to those of queries, keys and values: read the piece, read and write the sum (Transformer Engine
/// context_parallel.py, flash_attn_fwd_out_correction).
void Writer::merge_blocks(const Step& step) {
  const bool ring = sc_.layout.context == ContextKind::Ring;
  if (!ring || stores_scores(sc_.recipe.attention)) return;
  const std::int64_t width = step.pass == Pass::Forward ? d_.o : d_.q + d_.k + d_.v;
  out_.push_back({.name = row_of(step.site).name,
                  .kind = OpKind::MemoryBound,
                  .pass = step.pass,
                  .recomputed = step.recomputed,
                  .bytes = Bytes{static_cast<double>(d_.tokens * width) * (sizes_.activation_bytes + 8)},
                  .count = static_cast<double>(sc_.layout.cp - 1),
                  .formula = "T3"});
}

void Writer::traffic(const Step& step) {
  const bool of_weight = step.kind == Kind::LookupBack || step.kind == Kind::BiasWeight;
  if (of_weight && trains_adapters(sc_.recipe) && !trains(step.weight)) return;
  double counted = 0;
  for (std::size_t i = 0; i < step.counted; ++i) counted += elements(step.shapes[i]);
  Elementwise rule = step.rule;
  std::string_view name = row_of(step.site).name;
  if (rule == Elementwise::Norm && !sc_.recipe.fused_norm) rule = Elementwise::UnfusedNorm;
  if (rule == Elementwise::CrossEntropy && fuses_cross_entropy(sc_)) rule = Elementwise::FusedCrossEntropy;
  if (rule == Elementwise::Cast) name = "quantize";
  if (rule == Elementwise::Router) name = "moe.route";
  const bool recomputed = rule == Elementwise::Router ? recomputes_beside(step) : step.recomputed;
  const bool of_loss = rule == Elementwise::CrossEntropy || rule == Elementwise::FusedCrossEntropy;
  if (of_loss && gathers_logits(sc_)) counted *= sc_.layout.tp;
  elementwise({.name = name,
               .rule = rule,
               .elements = counted / step.chunks,
               .pass = step.pass,
               .recomputed = recomputed,
               .times = static_cast<double>(step.chunks)});
  if (step.both) elementwise({.name = name, .rule = rule, .elements = counted, .pass = Pass::BackwardData});
}

/// Kernels that answer a call: of fla-org/flash-linear-attention@bc3b101 and state-spaces/mamba@e9594ce.
double kernels_of(Kind kind) {
  switch (kind) {
    case Kind::StateOperands:
    case Kind::StateOperandsBack:
      return 3;
    case Kind::DeltaRule:
      return 4;
    case Kind::DeltaRuleBack:
      return 9;
    case Kind::StateSpace:
      return 6;
    case Kind::StateSpaceBack:
      return 16;
    case Kind::ChannelOperands:  // eager: the gate's eight, two norms, a sigmoid
    case Kind::ChannelOperandsBack:
      return 11;
    case Kind::ChannelDeltaRule:
      return 5;
    case Kind::ChannelDeltaRuleBack:
      return 9;
    case Kind::ConvolveBack:
      return 2;
    default:
      return 1;
  }
}

/// Lightning attention runs eagerly, a loop over blocks of a sequence: in each four products, six times or
/// plus, two exponents, and two answers to most. A slice's gradient is as large as what it was cut from, zero
/// but for the slice, and is added to the others' (pytorch/pytorch aten/src/ATen/native/TensorShape.cpp,
/// slice_backward): written, read with the sum, and the sum written.
void Writer::loop_over_blocks(const Step& step, Operation& op) const {
  constexpr double kForward = 12, kBackward = 30, kSliceTraffic = 4;
  const auto blocks = static_cast<double>(d_.chunks) / static_cast<double>(d_.micro_batch);
  op.kernels = blocks * (step.kind == Kind::Lightning ? kForward : kBackward);
  if (step.kind == Kind::LightningBack)
    op.bytes += Bytes{blocks * kSliceTraffic * sizes_.bytes({Rows::Tokens, Width::StateMixed})};
}

/// [docs/formulas.md#T15]
void Writer::kernel(const Step& step) {
  double bytes = 0;
  for (std::size_t i = 0; i < step.operands; ++i)
    bytes += step.moved[i].times * sizes_.bytes(step.moved[i].shape);
  const Work work = row_of(step.kind).work;
  const double flops = work == Work::Scan           ? sizes_.scan_flops
                       : work == Work::ScanBackward ? sizes_.scan_back_flops
                                                    : 0;
  out_.push_back({.name = row_of(step.site).name,
                  .kind = flops > 0 ? OpKind::Scan : OpKind::MemoryBound,
                  .pass = step.pass,
                  .recomputed = step.recomputed,
                  .precision = wide_precision(),
                  .flops = Flops{flops},
                  .bytes = Bytes{bytes},
                  .by_elements = step.kind == Kind::SelectiveScan || step.kind == Kind::SelectiveScanBack,
                  .kernels = kernels_of(step.kind),
                  .formula = "T15"});
  if (step.kind == Kind::Lightning || step.kind == Kind::LightningBack) loop_over_blocks(step, out_.back());
}

/// [docs/formulas.md#T3]
void Writer::elementwise(const Pointwise& work) {
  const ElementwiseRule& of = elementwise_rule(sc_, work.rule);
  const bool forward = work.pass == Pass::Forward;
  const double passes = (forward ? of.forward_passes : of.backward_passes) * work.split;
  if (work.elements * passes <= 0) return;
  out_.push_back({.name = work.name,
                  .kind = OpKind::MemoryBound,
                  .pass = work.pass,
                  .recomputed = work.recomputed,
                  .precision = sc_.recipe.precision,
                  .bytes = Bytes{work.elements * sizes_.activation_bytes * passes},
                  .kernels = (forward ? of.forward_kernels : of.backward_kernels) * work.split * work.tensors,
                  .count = work.times,
                  .formula = "T3"});
}

void Writer::message(const Step& step) {
  if (step.site == Site::LossReduce && gathers_logits(sc_)) return;
  const CollectiveKind kind = *row_of(step.kind).message;
  const bool of_tokens = kind == CollectiveKind::AllToAll && step.group == Group::Expert;
  const Bytes payload{sizes_.bytes(step.payload)};
  if (payload <= Bytes{}) return;
  // Of a token: one per chosen expert that takes it, and the padding that comes with it.
  const double copies = of_tokens ? sizes_.of(Rows::Sent) / static_cast<double>(d_.router_tokens) : 0;
  out_.push_back({.name = row_of(step.site).name,
                  .kind = OpKind::Collective,
                  .pass = step.pass,
                  .recomputed = step.recomputed,
                  .count = static_cast<double>(step.times),
                  .collective = kind,
                  .group = step.group,
                  .copies = copies,
                  .payload = payload,
                  .formula = "C1"});
}

/// Steps of a part of the scenario's model, recomputed as far as the recipe says.
const std::vector<Step>& compiled_steps(const Scenario& sc, Part part, LayerClass kind) {
  const bool recomputed = sc.recipe.recompute.of_layers() && (part == Part::Layer || part == Part::Mtp);
  return variant_of(sc, part, kind, techniques_of(sc, recomputed)).steps;
}

}  // namespace

void append_operations(const Scenario& sc, const LocalDims& d, LayerClass kind, std::span<const Step> steps,
                       std::vector<Operation>& out) {
  Writer writer{sc, d, kind, out};
  for (const Step& step : steps) writer.write(step);
}

}  // namespace hexaplan::costmodel::program

namespace hexaplan::costmodel {

namespace {

/// deepspeedai/DeepSpeed deepspeed/runtime/activation_checkpointing/checkpointing.py gathers what
/// partition_activations has cut before a layer runs again (gather_partitioned_activations).
void append_checkpoint_gather(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out) {
  if (!sc.recipe.recompute.of_layers() || !program::cuts_checkpoints(sc)) return;
  out.push_back(
      {.name = "checkpoint.gather",
       .kind = OpKind::Collective,
       .pass = Pass::BackwardData,
       .recomputed = true,
       .collective = CollectiveKind::AllGather,
       .group = Group::Tensor,
       .payload = Bytes{static_cast<double>(d.sp_tokens * d.hidden) *
                        bytes_per_element(casts_automatically(sc) ? DType::Fp32
                                                                  : activation_dtype(sc.recipe.precision))},
       .formula = "C1"});
}

}  // namespace

void append_layer_operations(const Scenario& sc, const LocalDims& d, LayerClass kind,
                             std::vector<Operation>& out) {
  append_checkpoint_gather(sc, d, out);
  if (kind.mtp)
    program::append_operations(sc, d, kind, program::compiled_steps(sc, program::Part::Mtp, kind), out);
  program::append_operations(sc, d, kind, program::compiled_steps(sc, program::Part::Layer, kind), out);
  if (kind.mtp) append_head_operations(sc, d, out);
}

void append_embedding_operations(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out) {
  program::append_operations(sc, d, {}, program::compiled_steps(sc, program::Part::Embedding, {}), out);
}

namespace {

/// A vocabulary cut over the stages: every stage needs the last layer's output, whole, and has a part of its
/// gradient (arXiv:2411.05288 §4, steps C1 and C2), once per micro-batch whatever the vocabulary. Counted for
/// a whole model, of which a stage takes its share as of everything else in the head.
void append_vocabulary_messages(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out) {
  if (sc.layout.vocab == VocabParallel::LastStage || sc.layout.pp < 2) return;
  const double element = bytes_per_element(activation_dtype(sc.recipe.precision));
  Operation message{.name = "head.broadcast",
                    .kind = OpKind::Collective,
                    .count = static_cast<double>(sc.layout.pp),
                    .collective = CollectiveKind::Broadcast,
                    .group = Group::Pipeline,
                    .payload = Bytes{static_cast<double>(d.sp_tokens * d.hidden) * element},
                    .formula = "C1"};
  out.push_back(message);
  message.name = "head.reduce";
  message.pass = Pass::BackwardData;
  message.collective = CollectiveKind::AllReduce;
  out.push_back(message);
}

/// Whole rows of logits on every tensor-parallel rank; the gradient is cut without a message.
void append_logits_gather(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out) {
  if (!gathers_logits(sc)) return;
  const double logits = static_cast<double>(d.tokens * d.vocab) * sc.layout.tp;
  out.push_back({.name = "head.gather_logits",
                 .kind = OpKind::Collective,
                 .collective = CollectiveKind::AllGather,
                 .group = Group::Tensor,
                 .payload = Bytes{logits * bytes_per_element(activation_dtype(sc.recipe.precision))},
                 .formula = "C1"});
}

}  // namespace

void append_head_operations(const Scenario& sc, const LocalDims& d, std::vector<Operation>& out) {
  if (runs_final_norm_apart(sc))
    program::append_operations(sc, d, {}, program::compiled_steps(sc, program::Part::FinalNorm, {}), out);
  append_vocabulary_messages(sc, d, out);
  program::append_operations(sc, d, {}, program::compiled_steps(sc, program::Part::Head, {}), out);
  append_logits_gather(sc, d, out);
}

int operations_of_sharding(const Scenario& sc) {
  const bool adds = program::adds_to_main_gradient(sc);
  if (program::gathers_weights_by_layer(sc)) return adds ? 3 : 2;
  return adds ? 0 : 1;
}

}  // namespace hexaplan::costmodel
