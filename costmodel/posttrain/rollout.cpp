#include "costmodel/posttrain/rollout.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "costmodel/compute/kernel_time.h"
#include "costmodel/compute/operations.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/posttrain/kv_cache.h"
#include "costmodel/posttrain/response_lengths.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/step_parts.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::costmodel {
namespace {

/// "CUDA graphs can take additional 1~3 GiB memory per GPU" (vllm-project/vllm vllm/worker/model_runner.py);
/// outside of gpu_memory_utilization, and never put to sleep (verl docs/perf/perf_tuning.rst). The lower end:
/// batch sizes share one memory pool.
constexpr Bytes kGraphs{1073741824.0};
/// vLLM pads the vocabulary to a multiple of this (vllm/model_executor/layers/vocab_parallel_embedding.py
/// DEFAULT_VOCAB_PADDING_SIZE).
constexpr std::int64_t kVocabMultiple = 64;
/// Batch sizes above this that vLLM captures are multiples of it (vllm/config: 1, 2, 4, then every 8th); a
/// batch runs as the next captured one.
constexpr std::int64_t kCaptured = 8;

/// 8-bit weights on a GPU without units for them are widened as they are read, and multiplied in 16 bits
/// (vllm-project/vllm vllm/model_executor/layers/quantization/utils/marlin_utils_fp8.py
/// prepare_fp8_layer_for_marlin; docs/features/quantization: W8A16 on Turing and Ampere).
bool widens_weights(const RolloutEngine& engine, const GpuSpec& gpu) {
  return engine.weights == DType::Fp8 && gpu.peak_of(Precision::Fp8).value() <= 0;
}

/// One engine as a scenario: `micro` sequences of `sequence` new tokens.
Scenario engine_scenario(const PostTraining& question, const ClusterSpec& cluster, std::int64_t sequence,
                         std::int64_t micro) {
  const RolloutEngine& engine = question.engine;
  Scenario sc{.model = question.actor().model,
              .recipe = {.sequence = sequence, .micro_batch = micro, .global_batch = micro},
              .cluster = cluster,
              .layout = {.tp = engine.tp},
              .framework = engine.framework};
  sc.model.mtp_layers = 0;
  const bool in_8_bits = engine.weights == DType::Fp8 && !widens_weights(engine, cluster.gpu);
  sc.recipe.precision = in_8_bits ? Precision::Fp8 : Precision::Bf16;
  sc.recipe.execution.graphs = CudaGraphs::FullIteration;
  return sc;
}

/// The layers' matrices have the engine's type; embedding, norms and output layer 16 bits (vLLM's
/// quantisation leaves the lm_head, as checkpoints in fp8 do).
Bytes weight_bytes(const Scenario& sc, DType type) {
  std::vector<ParameterTensor> tensors;
  double bytes = 0;
  const auto add = [&](bool in_layer, double count) {
    for (const ParameterTensor& tensor : tensors) {
      const DType stored = in_layer && tensor.matrix ? type : DType::Bf16;
      bytes += count * bytes_per_element(stored) *
               static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, kVocabMultiple));
    }
    tensors.clear();
  };
  for (std::int64_t layer = 0; layer < sc.model.layers; ++layer) {
    append_layer_parameters(sc.model, class_of_layer(sc.model, layer), tensors);
    add(true, 1);
  }
  append_embedding_parameters(sc.model, tensors);
  append_head_parameters(sc.model, false, tensors);
  add(false, 1);
  return Bytes{bytes};
}

/// Weights of experts that no token of the batch chose are not read: of E experts, draws of `copies` at
/// random leave E·(1 − 1/E)^copies alone.
Bytes unread_experts(const Scenario& sc, DType type) {
  const MoeSpec& moe = sc.model.moe;
  if (!sc.model.is_moe()) return {};
  const auto experts = static_cast<double>(moe.experts);
  const double copies = static_cast<double>(sc.recipe.micro_batch * sc.recipe.sequence * moe.top_k);
  std::vector<ParameterTensor> tensors;
  double elements = 0;
  for (std::int64_t layer = 0; layer < sc.model.layers; ++layer) {
    tensors.clear();
    append_layer_parameters(sc.model, class_of_layer(sc.model, layer), tensors);
    for (const ParameterTensor& tensor : tensors) {
      if (is_expert(tensor) && tensor.count > 1)
        elements += static_cast<double>(elements_on_rank(tensor, sc.model, sc.layout, 1));
    }
  }
  return Bytes{elements * bytes_per_element(type) * std::pow(1 - 1 / experts, copies)};
}

/// An engine's weights have its type for good: training alone casts them anew.
void leave_weights(TimedOperations& work) {
  for (std::size_t i = 0; i < work.operations.size(); ++i) {
    if (work.operations[i].name == kWeightCast) work.times[i] = {};
  }
}

void narrow_weights(DType type, const Pricer& pricer, TimedOperations& work) {
  for (std::size_t i = 0; i < work.operations.size(); ++i) {
    Operation& op = work.operations[i];
    if (op.kind != OpKind::Gemm && op.kind != OpKind::GroupedGemm) continue;
    op.gemm.narrow_bytes = bytes_per_element(type);
    work.times[i] = pricer.time_of(op);
  }
}

/// A forward pass of the whole engine; the output layer sees `last` of the pass's tokens.
Seconds forward_pass(const RolloutEngine& engine, const Scenario& sc, const Calibration& calibration,
                     double last) {
  const std::vector<StagePlan> plan = plan_stages(sc);
  const Pricer pricer{sc, calibration};
  LayerWork work = work_of_layers(sc, local_dims(sc), pricer, used_classes(plan));
  for (TimedOperations& layer : work.layers) {
    leave_weights(layer);
    if (widens_weights(engine, sc.cluster.gpu)) narrow_weights(engine.weights, pricer, layer);
  }
  const LayerTotals totals = totals_of(price_layers(work, sc.framework, pricer));
  return stage_totals(totals, plan.front()).forward - (1 - last) * totals.head.forward;
}

std::int64_t captured_batch(std::int64_t batch) {
  if (batch <= 2) return batch;
  return batch <= 4 ? 4 : ceil_div(batch, kCaptured) * kCaptured;
}

/// Prices decode steps; a batch size is priced once.
class DecodeClock {
 public:
  DecodeClock(const PostTraining& question, const ClusterSpec& cluster, const Calibration& calibration)
      : question_{question}, cluster_{cluster}, calibration_{calibration} {}

  [[nodiscard]] Seconds step(std::int64_t batch, double context) {
    return weights(captured_batch(batch)) + cache(batch, context);
  }

 private:
  [[nodiscard]] Seconds weights(std::int64_t batch) {
    const auto found = priced_.find(batch);
    if (found != priced_.end()) return found->second;
    const Scenario sc = engine_scenario(question_, cluster_, 1, batch);
    const BytesPerSecond rate = calibration_.memory.share * cluster_.gpu.memory_bandwidth;
    const Seconds time = forward_pass(question_.engine, sc, calibration_, 1) -
                         unread_experts(sc, question_.engine.weights) / rate;
    return priced_[batch] = larger(Seconds{}, time);
  }

  /// Reading the cache, or computing with it where that takes longer (MLA).
  [[nodiscard]] Seconds cache(std::int64_t batch, double context) const {
    const ModelSpec& model = question_.actor().model;
    const int tp = question_.engine.tp;
    const auto sequences = static_cast<double>(batch);
    const Bytes bytes = sequences * cache_of_sequence(model, question_.engine.cache, tp, context);
    const auto bf16 = static_cast<std::size_t>(Precision::Bf16);
    const FlopsPerSecond rate =
        calibration_.gemm[bf16].share * calibration_.sustained * cluster_.gpu.peak[bf16];
    return larger(memory_bound_time(bytes, cluster_.gpu, calibration_),
                  sequences * cached_attention_flops(model, tp, context) / rate);
  }

  const PostTraining& question_;
  const ClusterSpec& cluster_;
  const Calibration& calibration_;
  std::map<std::int64_t, Seconds> priced_;
};

/// Continuous batching: what ends makes room for the next that waits (arXiv:2309.06180 §4.3).
class ContinuousBatch {
 public:
  ContinuousBatch(std::vector<std::int64_t> lengths, double prompt, std::int64_t together)
      : lengths_{std::move(lengths)}, prompt_{prompt} {
    while (running() < together && admit()) {
    }
  }
  [[nodiscard]] bool done() const { return ends_.empty(); }
  [[nodiscard]] std::int64_t running() const { return static_cast<std::int64_t>(ends_.size()); }
  /// Steps until the next one ends.
  [[nodiscard]] std::int64_t until_next() const { return ends_.top().step - step_; }
  /// Mean tokens of a running sequence over these steps.
  [[nodiscard]] double context(std::int64_t steps) const {
    return tokens_ / static_cast<double>(running()) + static_cast<double>(steps) / 2;
  }
  void advance(std::int64_t steps) {
    step_ += steps;
    tokens_ += static_cast<double>(running() * steps);
    while (!ends_.empty() && ends_.top().step == step_) {
      tokens_ -= prompt_ + static_cast<double>(ends_.top().length);
      ends_.pop();
      admit();
    }
  }

 private:
  struct End {
    std::int64_t step, length;
    bool operator>(const End& other) const { return step > other.step; }
  };
  bool admit() {
    if (next_ == lengths_.size()) return false;
    const std::int64_t length = lengths_[next_++];
    ends_.push({step_ + length, length});
    tokens_ += prompt_;
    return true;
  }

  std::vector<std::int64_t> lengths_;
  double prompt_;
  std::size_t next_ = 0;
  std::int64_t step_ = 0;
  double tokens_ = 0;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

/// Prompts one after the other, as many at once as the engine takes.
Seconds prefill_time(const PostTraining& question, const ClusterSpec& cluster, std::int64_t prompts,
                     const Calibration& calibration) {
  const auto length = std::max<std::int64_t>(1, std::llround(question.batch.prompt.mean));
  const std::int64_t at_once =
      std::min(prompts, std::max<std::int64_t>(1, question.engine.batched_tokens / length));
  const Seconds pass = forward_pass(question.engine, engine_scenario(question, cluster, length, at_once),
                                    calibration, 1.0 / static_cast<double>(length));
  return pass * (static_cast<double>(prompts) / static_cast<double>(at_once));
}

void decode(const PostTraining& question, const ClusterSpec& cluster, const Calibration& calibration,
            Generation& out) {
  DecodeClock clock{question, cluster, calibration};
  ContinuousBatch batch{response_lengths(question.batch.response, out.responses), question.batch.prompt.mean,
                        out.together};
  double sequences = 0;
  while (!batch.done()) {
    const std::int64_t steps = batch.until_next();
    out.decode += static_cast<double>(steps) * clock.step(batch.running(), batch.context(steps));
    out.decode_steps += steps;
    sequences += static_cast<double>(steps * batch.running());
    batch.advance(steps);
  }
  out.mean_batch = sequences / static_cast<double>(out.decode_steps);
}

}  // namespace

EngineMemory engine_memory(const PostTraining& question, const ClusterSpec& cluster) {
  const RolloutEngine& engine = question.engine;
  const Scenario sc = engine_scenario(question, cluster, engine.batched_tokens, 1);
  const LocalDims d = local_dims(sc);
  const std::int64_t experts = d.top_k * (d.expert_up + d.expert_act) + d.shared_up + d.shared_act;
  const std::int64_t widest =
      std::max({d.q + d.k + d.v + d.o + d.q_latent + d.kv_latent, d.mlp_up + d.mlp_act, experts});
  // Beside it the residual stream before and after.
  const double layer =
      static_cast<double>(d.tokens * (2 * d.hidden + widest)) * bytes_per_element(DType::Bf16);
  // Logits in fp32 and their probabilities (vllm/v1/sample/sampler.py).
  const double sampler =
      static_cast<double>(engine.max_sequences * sc.model.vocab) * 2 * bytes_per_element(DType::Fp32);
  return {
      .weights = weight_bytes(sc, engine.weights), .activations = Bytes{layer + sampler}, .graphs = kGraphs};
}

Generation generate(const PostTraining& question, const ClusterSpec& cluster, Bytes cache,
                    const Calibration& calibration) {
  const RolloutBatch& batch = question.batch;
  const RolloutEngine& engine = question.engine;
  const ModelSpec& model = question.actor().model;
  Generation out;
  out.engines = cluster.gpus / engine.tp;
  out.responses = ceil_div(batch.sequences(), out.engines);
  // The state of a recurrent layer is no token's.
  out.token = cache_of_sequence(model, engine.cache, engine.tp, 1) -
              cache_of_sequence(model, engine.cache, engine.tp, 0);
  out.cache = cache;
  const Bytes mean = cache_of_sequence(model, engine.cache, engine.tp, batch.mean());
  const double fit = cache / mean;
  out.cached_tokens = fit * batch.mean();
  out.together = std::clamp<std::int64_t>(static_cast<std::int64_t>(fit), 1,
                                          std::min(engine.max_sequences, out.responses));
  const std::int64_t prompts = engine.prefix_caching ? ceil_div(batch.prompts, out.engines) : out.responses;
  out.prefill = prefill_time(question, cluster, prompts, calibration);
  decode(question, cluster, calibration, out);
  return out;
}

Seconds decode_step_time(const PostTraining& question, const ClusterSpec& cluster,
                         const Calibration& calibration, std::int64_t batch, double context) {
  return DecodeClock{question, cluster, calibration}.step(batch, context);
}

}  // namespace hexaplan::costmodel
