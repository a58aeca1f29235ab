#include "tests/support/random_scenario.h"

#include <algorithm>
#include <initializer_list>
#include <numeric>

namespace hexaplan::support {
namespace {

using namespace costmodel;
using namespace costmodel::literals;

template <class T>
T one_of(std::initializer_list<T> values) {
  return *rc::gen::elementOf(std::vector<T>(values));
}
std::int64_t between(std::int64_t low, std::int64_t high) {
  return *rc::gen::inRange<std::int64_t>(low, high + 1);
}
bool chance(int percent) {
  return between(0, 99) < percent;
}
double real(double low, double high) {
  return low + (high - low) * static_cast<double>(between(0, 1000)) / 1000.0;
}

AttentionSpec grouped_attention(std::int64_t heads) {
  AttentionSpec a;
  a.heads = heads;
  a.kv_heads = chance(50) ? heads : heads / std::gcd(heads, one_of<std::int64_t>({2, 4, 8}));
  a.head_dim = one_of<std::int64_t>({64, 96, 128, 256});
  a.v_head_dim = a.head_dim;
  a.qkv_bias = chance(30);
  a.output_bias = chance(20);
  a.qk_norm = chance(20);
  if (chance(20)) {
    a.window = one_of<std::int64_t>({512, 1024, 4096});
    a.global_period = one_of<std::int64_t>({0, 2, 6});
  }
  return a;
}

MoeSpec random_moe(std::int64_t layers) {
  MoeSpec moe;
  moe.experts = one_of<std::int64_t>({8, 16, 64, 128});
  moe.top_k = one_of<std::int64_t>({1, 2, 4, 8});
  moe.expert_ffn = 256 * between(1, 16);
  moe.shared_ffn = chance(40) ? moe.expert_ffn * between(1, 2) : 0;
  moe.shared_gate = moe.shared_ffn > 0 && chance(50);
  moe.router_correction = chance(30);
  moe.first_k_dense = chance(30) ? std::min<std::int64_t>(layers - 1, between(0, 3)) : 0;
  moe.period = chance(80) ? 1 : 2;
  return moe;
}

Layout random_layout(const ModelSpec& model, int tp, int pp, int vpp) {
  Layout l;
  l.tp = tp;
  l.pp = pp;
  l.vpp = vpp;
  l.schedule = vpp > 1 ? ScheduleKind::Interleaved : one_of({ScheduleKind::OneFOneB, ScheduleKind::GPipe});
  l.dp = one_of({1, 2, 3, 4, 8, 16, 32});
  l.cp = one_of({1, 1, 1, 2, 4});
  l.context = one_of({ContextKind::Ring, ContextKind::AllGather, ContextKind::AllToAll});
  l.sp = tp > 1 && chance(70);
  l.sharding.stage = one_of({0, 1, 2, 3});
  if (l.sharding.stage > 0 && l.dp % 2 == 0 && chance(20)) l.sharding.group = l.dp * l.cp / 2;
  if (model.is_moe()) {
    l.etp = one_of({0, 1});
    for (const int ep : {8, 4, 2}) {
      if (chance(50) && l.dp * l.cp * l.tp % (ep * l.expert_tensor()) == 0) {
        l.ep = ep;
        break;
      }
    }
  }
  if (chance(20)) l.order = {Axis::Tensor, Axis::Data, Axis::Context, Axis::Pipeline};
  if (chance(20)) l.order = {Axis::Tensor, Axis::Context, Axis::Pipeline, Axis::Data};
  return l;
}

Recompute random_recompute(std::int64_t stage_layers) {
  Recompute r;
  r.mode = one_of({RecomputeMode::None, RecomputeMode::None, RecomputeMode::Selective,
                   RecomputeMode::SelectiveModules, RecomputeMode::Layers, RecomputeMode::Full});
  if (r.mode == RecomputeMode::Layers) r.layers = static_cast<int>(between(0, stage_layers));
  if (r.mode == RecomputeMode::SelectiveModules) r.modules = static_cast<std::uint16_t>(between(1, 255));
  return r;
}

Recipe random_recipe(const ModelSpec& model, const Layout& l) {
  Recipe r;
  r.sequence = 128 * l.cp * 2 * l.tp * between(1, 8);
  r.micro_batch = one_of<std::int64_t>({1, 1, 2, 3, 4});
  const std::int64_t microbatches = l.vpp > 1 ? l.pp * between(1, 4) : between(1, 24);
  r.global_batch = r.micro_batch * l.dp * microbatches;
  r.precision = one_of({Precision::Bf16, Precision::Bf16, Precision::Fp16, Precision::Fp8, Precision::Fp32});
  r.optimizer = one_of({Optimizer::AdamW, Optimizer::AdamW, Optimizer::AdamW8bit, Optimizer::Lion,
                        Optimizer::Sgd, Optimizer::Muon, Optimizer::Adafactor});
  r.recompute = random_recompute(model.layers / l.pp);
  r.attention = one_of({AttentionKernel::Flash, AttentionKernel::Flash, AttentionKernel::FusedSoftmax,
                        AttentionKernel::Unfused});
  r.cross_entropy =
      one_of({CrossEntropy::Default, CrossEntropy::Unfused, CrossEntropy::Fused, CrossEntropy::Chunked});
  r.dropout = chance(20) ? 0.1 : 0.0;
  if (model.is_moe() && chance(30)) {
    const double most = static_cast<double>(model.moe.experts) / static_cast<double>(model.moe.top_k);
    r.routing.imbalance = std::min(real(1, 2), most);
  }
  if (model.is_moe() && chance(30)) {
    r.routing.capacity_factor = real(0.5, 2);
    r.routing.pad_to_capacity = chance(50);
  }
  return r;
}

/// One copy of each tensor that backward reads, as fused kernels keep them: what the step program describes.
void keep_what_the_program_keeps(FrameworkProfile& f) {
  f.saved.fill({});
  for (const Saved once :
       {Saved::NormInput, Saved::NormOutput, Saved::QkNormInput, Saved::Query, Saved::Key, Saved::Value,
        Saved::AttentionOutput, Saved::LatentQuery, Saved::LatentKeyValue, Saved::LatentNormOutput,
        Saved::GateUp, Saved::ActivationOutput, Saved::ExpertInput, Saved::ExpertGateUp,
        Saved::ExpertActivation, Saved::SharedGateUp, Saved::SharedActivation})
    f.saved[static_cast<std::size_t>(once)].compute = 1;
  for (const Saved once : {Saved::NormStats, Saved::LogSumExp, Saved::RouterLogits})
    f.saved[static_cast<std::size_t>(once)].fp32 = 1;
  f.saved[static_cast<std::size_t>(Saved::RoutingMap)].fp32 = 2;
  f.weight_gradient_temporary_bytes = one_of({0.0, 2.0});
}

/// Copies of each saved tensor and passes of each elementwise step between what fused and eager frameworks
/// do.
FrameworkProfile random_framework() {
  FrameworkProfile f;
  f.name = "random";
  f.parameter_dtype = one_of({DType::Bf16, DType::Fp32});
  f.gradient_dtype = one_of({DType::Fp32, DType::Bf16});
  f.master_parameters = f.parameter_dtype == DType::Bf16;
  f.extra_gradient_copies = one_of({0.0, 1.0});
  f.shard_gradients_from_stage_2 = chance(80);
  f.vocab_multiple = one_of<std::int64_t>({1, 128});
  // Tensors behind these are kept in some cases alone (FrameworkProfile::saved_when).
  for (std::size_t i = 0; i <= static_cast<std::size_t>(Saved::LayerOutput); ++i) {
    f.saved[i].compute = static_cast<double>(between(0, 2));
    f.saved[i].fp32 = chance(20) ? 1 : 0;
  }
  // No framework gets by without what enters its norms.
  f.saved[static_cast<std::size_t>(Saved::NormInput)].compute = static_cast<double>(between(1, 2));
  f.gather_saved_inputs = chance(30);
  if (chance(50)) keep_what_the_program_keeps(f);
  f.logit_transient_fp32 = one_of({0.0, 1.0});
  f.fused_cross_entropy = chance(50);
  f.gradient_bucket_elements = one_of({0.0, 40e6});
  f.contiguous_gradient_buffer = chance(50);
  f.gather_prefetch_layers = one_of({0.0, 1.0, 2.0});
  f.reshard_after_forward = chance(80);
  for (ElementwiseRule& rule : f.elementwise) {
    rule.forward_passes = static_cast<double>(between(1, 4));
    rule.backward_passes = static_cast<double>(between(1, 6));
    rule.forward_kernels = rule.backward_kernels = static_cast<double>(between(1, 3));
  }
  f.kernel_launch = Seconds{real(0, 8e-6)};
  f.step_overhead = Seconds{real(0, 0.02)};
  f.gradient_overlap = one_of({GradientOverlap::None, GradientOverlap::Backward});
  f.parameter_gather_overlap = chance(50);
  f.tensor_overlap = real(0, 1);
  f.attention_entries = chance(25) ? 3 : 1;
  f.mlp_entries = chance(25) ? 2 : 1;
  f.whole_logits = chance(20);
  f.pipeline_overlap = real(0, 1);
  f.overlap_slowdown = real(1.0, 1.3);
  f.context = Bytes{real(0.3e9, 1e9)};
  f.communicator = Bytes{real(0, 0.1e9)};
  f.reserved_ratio = real(1.0, 1.2);
  return f;
}

}  // namespace

AttentionSpec latent_attention(std::int64_t heads) {
  AttentionSpec a;
  a.kind = AttentionKind::Latent;
  a.heads = a.kv_heads = heads;
  a.q_lora_rank = one_of<std::int64_t>({0, 768, 1536});
  a.kv_lora_rank = one_of<std::int64_t>({256, 512});
  a.qk_nope_dim = 128;
  a.qk_rope_dim = 64;
  a.head_dim = a.qk_nope_dim + a.qk_rope_dim;
  a.v_head_dim = 128;
  return a;
}

ModelSpec random_model(int heads_multiple, int layers_multiple) {
  ModelSpec m;
  m.name = "random";
  const std::int64_t heads = heads_multiple * between(1, std::max<std::int64_t>(1, 64 / heads_multiple));
  m.attention = chance(15) ? latent_attention(heads) : grouped_attention(heads);
  m.hidden = 128 * heads_multiple * between(1, 8);
  m.layers = layers_multiple * between(1, std::max<std::int64_t>(1, 64 / layers_multiple));
  m.vocab = between(1000, 260000);
  m.mlp.ffn = 128 * heads_multiple * between(1, 16);
  m.mlp.gated = chance(70);
  m.mlp.bias = chance(20);
  if (chance(35)) m.moe = random_moe(m.layers);
  m.norm = chance(70) ? NormKind::Rms : NormKind::Layer;
  m.norm_bias = m.norm == NormKind::Layer;
  m.norms_per_layer = one_of({2, 2, 2, 4});
  m.positions =
      one_of({PositionKind::Rotary, PositionKind::Rotary, PositionKind::Learned, PositionKind::Alibi});
  m.max_positions = 1 << 17;
  m.tied_embeddings = chance(30);
  return m;
}

ClusterSpec random_cluster(std::int64_t gpus) {
  ClusterSpec c;
  c.name = "random";
  c.gpu.name = "random";
  c.gpu.architecture = one_of<std::string>({"ampere", "hopper", "blackwell"});
  c.gpu.memory = Bytes{real(24e9, 192e9)};
  c.gpu.memory_bandwidth = BytesPerSecond{real(1e12, 8e12)};
  c.gpu.peak.fill(FlopsPerSecond{real(200e12, 2000e12)});
  c.gpu.peak_vector = FlopsPerSecond{real(20e12, 80e12)};
  c.gpu.sm_count = static_cast<int>(between(80, 160));
  c.gpu.pcie = 32_GBps;
  c.gpus = gpus;
  c.gpus_per_node = static_cast<int>(std::min<std::int64_t>(8, gpus));
  c.levels.push_back({.name = "inside",
                      .fabric = one_of({Fabric::NvSwitch, Fabric::NvLink, Fabric::Pcie}),
                      .ranks = c.gpus_per_node,
                      .bandwidth = BytesPerSecond{real(30e9, 900e9)},
                      .latency = Seconds{real(1e-6, 5e-6)},
                      .multicast = chance(50)});
  if (gpus > c.gpus_per_node) {
    c.levels.push_back({.name = "between",
                        .fabric = Fabric::Network,
                        .ranks = gpus,
                        .bandwidth = BytesPerSecond{real(3e9, 50e9)},
                        .latency = Seconds{real(3e-6, 10e-6)},
                        .multicast = false});
  }
  return c;
}

rc::Gen<Scenario> any_scenario() {
  return rc::gen::exec([] {
    const int tp = one_of({1, 1, 2, 4, 8});
    const int pp = one_of({1, 1, 2, 4, 8});
    const int vpp = pp > 1 && chance(30) ? one_of({2, 3}) : 1;
    Scenario s;
    s.model = random_model(std::max(tp, 4), pp * vpp);
    s.layout = random_layout(s.model, tp, pp, vpp);
    s.recipe = random_recipe(s.model, s.layout);
    s.cluster = random_cluster(s.layout.world_size());
    s.framework = random_framework();
    return s;
  });
}

rc::Gen<Calibration> any_calibration() {
  return rc::gen::exec([] {
    Calibration c;
    c.name = "random prior";
    for (GemmCurve& curve : c.gemm) {
      curve.share = real(0.3, 0.95);
      curve.k_half = real(16, 512);
      curve.quantisation = real(0, 1);
    }
    c.sustained = real(0.7, 1.0);
    c.memory.share = real(0.5, 0.95);
    c.launch_floor = Seconds{real(1e-6, 5e-6)};
    c.network.bandwidth_efficiency = real(0.5, 1.0);
    c.network.base_latency = Seconds{real(0, 20e-6)};
    c.network.hop_latency = Seconds{real(0, 5e-6)};
    return c;
  });
}

}  // namespace hexaplan::support
