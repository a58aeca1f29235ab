#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/step/execution.h"
#include "presets/json/utf8.h"
#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

using costmodel::DType;
using costmodel::Optimizer;
using costmodel::Precision;
using costmodel::RecomputeMode;
using costmodel::Scenario;

namespace {

using S = const Scenario&;
using V = const ValueReader&;
using R = LaunchReading&;

// --- the step ---

constexpr FrameworkWord<DType> kMomentTypes[] = {
    {DType::Fp32, "fp32"}, {DType::Bf16, "bf16"}, {DType::Fp16, "fp16"}, {DType::Fp8, "fp8"}};
JsonValue moment_type(S s) {
  return s.recipe.moment_dtype ? word_of(kMomentTypes, *s.recipe.moment_dtype) : JsonValue{};
}
bool half(S s) {
  return costmodel::activation_dtype(s.recipe.precision) != DType::Fp32;
}
JsonValue torch_dtype(S s) {
  return word_of(kTorchTypes, costmodel::activation_dtype(s.recipe.precision));
}
JsonValue fp8_recipe(S s) {
  constexpr FrameworkWord<Precision> kWords[] = {
      {Precision::Fp8, "tensorwise"}, {Precision::Fp8Block, "blockwise"}, {Precision::Mxfp8, "mxfp8"}};
  return word_of(kWords, s.recipe.precision);
}
/// Those of releases before v0.2.1 behind those of v0.2.2 (torchtitan/components/quantization).
constexpr FrameworkWord<Precision> kConverters[] = {{Precision::Fp8, "quantize.linear.float8"},
                                                    {Precision::Mxfp8, "quantize.linear.mx"},
                                                    {Precision::Fp8, "float8"},
                                                    {Precision::Mxfp8, "mx"}};
JsonValue converters(S s) {
  const JsonValue word = word_of(kConverters, s.recipe.precision);
  return word.is_null() ? word : JsonValue{JsonArray{word}};
}
JsonValue offload_device(S s, costmodel::OffloadTarget target) {
  return only_if(offloads(s, target),
                 s.recipe.offload_device == costmodel::OffloadDevice::Cpu ? "cpu" : "nvme");
}

/// Without it stage 3 ends in an error (v0.19.6 deepspeed/runtime/zero/stage3.py, _configure_tensor_swapping;
/// partition_parameters.py); the folder is the one of DeepSpeed's own examples.
JsonValue nvme_folder(S s, costmodel::OffloadTarget target) {
  return only_if(offloads(s, target) && s.recipe.offload_device == costmodel::OffloadDevice::Nvme,
                 "/local_nvme");
}

constexpr FrameworkWord<costmodel::CudaGraphs> kGraphWords[] = {
    {costmodel::CudaGraphs::None, "none"},
    {costmodel::CudaGraphs::Partial, "transformer_engine"},
    {costmodel::CudaGraphs::FullIteration, "local"}};
JsonValue cuda_graphs(S s) {
  return word_of(kGraphWords, s.recipe.execution.graphs);
}

// --- recomputation ---

RecomputeMode mode(S s) {
  return s.recipe.recompute.mode;
}
JsonValue granularity(S s) {
  // Without a list of modules it would be core attention's.
  if (mode(s) == RecomputeMode::SelectiveModules && core_modules(s) == 0) return {};
  constexpr FrameworkWord<RecomputeMode> kWords[] = {{RecomputeMode::Full, "full"},
                                                     {RecomputeMode::Layers, "full"},
                                                     {RecomputeMode::Selective, "selective"},
                                                     {RecomputeMode::SelectiveModules, "selective"}};
  return word_of(kWords, mode(s));
}
JsonValue recompute_method(S s) {
  constexpr FrameworkWord<RecomputeMode> kWords[] = {{RecomputeMode::Full, "uniform"},
                                                     {RecomputeMode::Layers, "block"}};
  return word_of(kWords, mode(s));
}
JsonValue recompute_layers(S s) {
  if (mode(s) == RecomputeMode::Full) return 1;
  // One number for all stages: the largest keeps to every stage's memory.
  const std::vector<int>& stages = s.recipe.recompute.stage_layers;
  const int layers =
      stages.empty() ? s.recipe.recompute.layers : *std::max_element(stages.begin(), stages.end());
  return only_if(mode(s) == RecomputeMode::Layers, layers);
}
constexpr FrameworkWord<std::uint16_t> kModuleWords[] = {
    {costmodel::kRecomputeCoreAttention, "core_attn"},
    {costmodel::kRecomputeNorm, "layernorm"},
    {costmodel::kRecomputeMlaUpProjection, "mla_up_proj"},
    {costmodel::kRecomputeMlp, "mlp"},
    {costmodel::kRecomputeMoe, "moe"},
    {costmodel::kRecomputeMoeActivation, "moe_act"},
    {costmodel::kRecomputeSharedExperts, "shared_experts"}};
JsonValue recompute_modules(S s) {
  const std::uint16_t modules = core_modules(s);
  if (mode(s) != RecomputeMode::SelectiveModules || modules == 0) return {};
  JsonArray list;
  for (const auto& row : kModuleWords) {
    if ((modules & row.value) != 0) list.emplace_back(row.word);
  }
  return list;
}
JsonValue checkpoint_mode(S s) {
  constexpr FrameworkWord<RecomputeMode> kWords[] = {{RecomputeMode::None, "none"},
                                                     {RecomputeMode::Full, "full"},
                                                     {RecomputeMode::SelectiveOperators, "selective"}};
  return word_of(kWords, mode(s));
}

// --- optimizers ---

constexpr FrameworkWord<Optimizer> kMegatronOptimizers[] = {{Optimizer::AdamW, "adam"},
                                                            {Optimizer::Sgd, "sgd"}};
JsonValue megatron_optimizer(S s) {
  return word_of(kMegatronOptimizers, s.recipe.optimizer);
}
constexpr FrameworkWord<Optimizer> kNanotronOptimizers[] = {{Optimizer::AdamW, "adamW"},
                                                            {Optimizer::Sgd, "sgd"}};
JsonValue nanotron_optimizer(S s) {
  return word_of(kNanotronOptimizers, s.recipe.optimizer);
}
constexpr FrameworkWord<Optimizer> kTorchOptimizers[] = {{Optimizer::AdamW, "AdamW"}};
JsonValue torch_optimizer(S s) {
  return word_of(kTorchOptimizers, s.recipe.optimizer);
}
constexpr FrameworkWord<Optimizer> kDeepSpeedOptimizers[] = {{Optimizer::AdamW, "AdamW"},
                                                             {Optimizer::Lion, "Lion"},
                                                             {Optimizer::Lamb, "Lamb"},
                                                             {Optimizer::Sgd, "SGD"},
                                                             {Optimizer::Muon, "Muon"}};
JsonValue deepspeed_optimizer(S s) {
  return word_of(kDeepSpeedOptimizers, s.recipe.optimizer);
}

/// Names as DeepSpeed compares them, in small letters (deepspeedai/DeepSpeed@1b88ac3
/// deepspeed/runtime/config.py, DEEPSPEED_OPTIMIZERS; engine.py, _configure_basic_optimizer), and of classes
/// that stand behind them.
struct DeepSpeedOptimizer {
  std::string_view name;
  Optimizer optimizer;
  const char* not_planned = nullptr;  // what it does beside
};
constexpr const char* kOneBit = "sends compressed gradients after its warm-up, which is not modelled";
constexpr DeepSpeedOptimizer kDeepSpeedNames[] = {{"adamw", Optimizer::AdamW},
                                                  {"adam", Optimizer::AdamW},
                                                  {"fusedadam", Optimizer::AdamW},
                                                  {"cpuadam", Optimizer::AdamW},
                                                  {"deepspeedcpuadam", Optimizer::AdamW},
                                                  {"torchadam", Optimizer::AdamW},
                                                  {"muadam", Optimizer::AdamW},
                                                  {"muadamw", Optimizer::AdamW},
                                                  {"onebitadam", Optimizer::AdamW, kOneBit},
                                                  {"zerooneadam", Optimizer::AdamW, kOneBit},
                                                  {"lion", Optimizer::Lion},
                                                  {"fusedlion", Optimizer::Lion},
                                                  {"deepspeedcpulion", Optimizer::Lion},
                                                  {"lamb", Optimizer::Lamb},
                                                  {"fusedlamb", Optimizer::Lamb},
                                                  {"onebitlamb", Optimizer::Lamb, kOneBit},
                                                  {"sgd", Optimizer::Sgd},
                                                  {"musgd", Optimizer::Sgd},
                                                  {"muon", Optimizer::Muon}};

// --- as they are read ---

constexpr IntegerRange kBatchRange{1, 1'000'000'000};

/// Megatron-LM's own capture takes layers, or with its scope the whole iteration (settle_reading).
void read_graphs(V v, R r) {
  using costmodel::CudaGraphs;
  const CudaGraphs graphs = meaning_of(kGraphWords, v);
  r.plan.recipe.execution.graphs = graphs == CudaGraphs::None ? graphs : CudaGraphs::Partial;
}
void read_graph_scope(V v, R r) {
  const auto take = [&](const ValueReader& one) {
    r.graphs_whole_step = r.graphs_whole_step || one.text() == "full_iteration";
  };
  if (v.json().get_if<JsonArray>() == nullptr) return take(v);
  for (const ValueReader& element : v.elements()) take(element);
}
void read_converters(V v, R r) {
  const auto take = [&](const std::string& name) {
    const auto row = std::find_if(std::begin(kConverters), std::end(kConverters),
                                  [&](const auto& each) { return each.word == name; });
    if (row != std::end(kConverters)) {
      r.plan.recipe.precision = row->value;
    } else if (!name.empty()) {
      r.notes.push_back("the converter " + name + " has no word here: nothing is planned for it");
    }
  };
  if (v.json().get_if<JsonArray>() != nullptr) {
    for (const ValueReader& element : v.elements()) take(element.text());
    return;
  }
  // A command separates them by commas.
  const std::string& names = v.text();
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    take(names.substr(begin, end - begin));
    begin = end + 1;
  }
}
void read_deepspeed_optimizer(V v, R r) {
  const std::string name = lower(v.text());
  for (const DeepSpeedOptimizer& row : kDeepSpeedNames) {
    if (row.name != name) continue;
    r.plan.recipe.optimizer = row.optimizer;
    if (row.not_planned != nullptr) r.notes.push_back(v.text() + " " + row.not_planned);
    return;
  }
  throw v.error("an optimizer that is modelled (Adam, AdamW, Lion, Lamb, SGD, Muon): AdamW is planned");
}
void read_modules(V v, R r) {
  std::uint16_t modules = 0;
  const auto add = [&](const ValueReader& one) {
    modules = static_cast<std::uint16_t>(modules | meaning_of(kModuleWords, one));
  };
  if (v.json().get_if<JsonArray>() == nullptr) {
    add(v);
  } else {
    for (const ValueReader& element : v.elements()) add(element);
  }
  r.plan.recipe.recompute.modules = modules;
}
template <std::optional<double> LaunchReading::*chance>
void read_dropout(V v, R r) {
  r.*chance = v.number(kShare);
}

// DeepSpeed's sizes, in elements: its files write them as 5e8, too.
template <std::optional<std::int64_t> costmodel::ZeroSizes::*size>
JsonValue zero_size(S s) {
  const std::optional<std::int64_t>& said = s.recipe.sizes.*size;
  return said ? JsonValue{*said} : JsonValue{};
}
template <std::optional<std::int64_t> costmodel::ZeroSizes::*size>
void read_zero_size(V v, R r) {
  r.plan.recipe.sizes.*size = static_cast<std::int64_t>(v.number({0, 1e18}));
}
template <std::optional<std::int64_t> costmodel::ZeroSizes::*size>
constexpr LaunchField zero_size_field(std::string_view key) {
  return {zero_size<size>, {kNone, kNone, kNone, key}, read_zero_size<size>};
}

// Keys: Megatron-LM, nanotron, torchtitan, DeepSpeed, Megatron-Bridge, MaxText; their sources stand in
// launch_formats().
constexpr LaunchField kRecipeSettings[] = {
    // The step.
    {[](S s) -> JsonValue { return s.recipe.global_batch; },
     {"--global-batch-size", kNone, "training.global_batch_size", "train_batch_size",
      "train.global_batch_size"},
     [](V v, R r) {
       r.plan.recipe.global_batch = v.integer({-1, kBatchRange.high});
     }},
    {[](S s) -> JsonValue { return s.recipe.micro_batch; },
     {"--micro-batch-size", "tokens.micro_batch_size", kNone, "train_micro_batch_size_per_gpu",
      "train.micro_batch_size"},
     [](V v, R r) { r.plan.recipe.micro_batch = v.integer(kBatchRange); }},
    {[](S s) -> JsonValue {
       return s.layout.pp > 1 ? s.recipe.global_batch / s.layout.dp : s.recipe.micro_batch;
     },
     {kNone, kNone, "training.local_batch_size"},
     [](V v, R r) { r.local_batch = v.integer(kBatchRange); }},
    {[](S s) -> JsonValue { return costmodel::microbatches_per_step(s); },
     {kNone, "tokens.batch_accumulation_per_replica", kNone, "gradient_accumulation_steps"},
     [](V v, R r) { r.accumulation = v.integer(kBatchRange); }},
    {[](S s) -> JsonValue { return s.recipe.sequence; },
     {"--seq-length", "tokens.sequence_length", "training.seq_len", kNone, "model.seq_length",
      "max_target_length"},
     [](V v, R r) { r.plan.recipe.sequence = v.integer(kBatchRange); }},
    {optimizer_steps,
     {"--train-iters", "tokens.train_steps", "training.steps", kNone, "train.train_iters", "steps"},
     [](V v, R r) { r.steps = v.integer(kCount); }},
    {[](S s) { return when(half(s) && s.recipe.precision != Precision::Fp16); },
     {"--bf16", kNone, kNone, kNone, "mixed_precision.bf16"},
     read_flag<&LaunchReading::brain>},
    {[](S s) { return when(s.recipe.precision == Precision::Fp16); },
     {"--fp16", kNone, kNone, kNone, "mixed_precision.fp16"},
     read_flag<&LaunchReading::half>},
    {[](S s) { return only_if(!fp8_recipe(s).is_null(), "hybrid"); },
     {"--fp8-format", kNone, kNone, kNone, "mixed_precision.fp8"},
     [](V v, R r) { r.fp8 = !v.text().empty(); }},
    {fp8_recipe,
     {"--fp8-recipe", kNone, kNone, kNone, "mixed_precision.fp8_recipe"},
     [](V v, R r) { r.fp8_recipe = v.text(); }},
    {[](S s) { return only_if(s.recipe.precision == Precision::Nvfp4, "e2m1"); },
     {"--fp4-format", kNone, kNone, kNone, "mixed_precision.fp4"},
     [](V v, R r) { r.fp4 = !v.text().empty(); }},
    {torch_dtype,
     {kNone, "model.dtype", "training.mixed_precision_param"},
     [](V v, R r) {
       const DType type = meaning_of(kTorchTypes, v);
       r.brain = type == DType::Bf16;
       r.half = type == DType::Fp16;
     }},
    {converters, {kNone, kNone, "model.converters"}, read_converters},
    {[](S s) { return when(half(s) && s.recipe.precision != Precision::Fp16); },
     {kNone, kNone, kNone, "bf16.enabled"},
     read_flag<&LaunchReading::brain>},
    {[](S s) { return when(s.recipe.precision == Precision::Fp16); },
     {kNone, kNone, kNone, "fp16.enabled"},
     read_flag<&LaunchReading::half>},
    {[](S s) { return when(half(s) && gradient_dtype(s) == DType::Fp32); },
     {"--accumulate-allreduce-grads-in-fp32"},
     read_flag<&LaunchReading::gradients_in_fp32>},
    {[](S s) { return when(gradient_dtype(s) == DType::Bf16); },
     {"--grad-reduce-in-bf16"},
     read_flag<&LaunchReading::gradients_in_bf16>},
    {[](S s) -> JsonValue { return half(s) && gradient_dtype(s) == DType::Fp32; },
     {kNone, "optimizer.accumulate_grad_in_fp32"},
     read_flag<&LaunchReading::gradients_in_fp32>},
    {[](S s) {
       constexpr FrameworkWord<DType> kWords[] = {
           {DType::Fp32, "fp32"}, {DType::Bf16, "bf16"}, {DType::Fp16, "fp16"}};
       return word_of(kWords, gradient_dtype(s));
     },
     {kNone, kNone, kNone, "data_types.grad_accum_dtype"},
     [](V v, R r) {
       constexpr FrameworkWord<DType> kWords[] = {
           {DType::Fp32, "fp32"}, {DType::Bf16, "bf16"}, {DType::Fp16, "fp16"}};
       r.plan.recipe.gradient_dtype = meaning_of(kWords, v);
     }},
    {[](S s) { return only_if(gradient_dtype(s) == DType::Fp32, "float32"); },
     {kNone, kNone, "training.mixed_precision_reduce"},
     [](V v, R r) { r.plan.recipe.gradient_dtype = meaning_of(kTorchTypes, v); }},
    {megatron_optimizer,
     {"--optimizer"},
     [](V v, R r) { r.plan.recipe.optimizer = meaning_of(kMegatronOptimizers, v); }},
    {nanotron_optimizer,
     {kNone, "optimizer.optimizer_factory.name"},
     [](V v, R r) { r.plan.recipe.optimizer = meaning_of(kNanotronOptimizers, v); }},
    {torch_optimizer,
     {kNone, kNone, "optimizer.name"},
     [](V v, R r) { r.plan.recipe.optimizer = meaning_of(kTorchOptimizers, v); }},
    {deepspeed_optimizer, {kNone, kNone, kNone, "optimizer.type"}, read_deepspeed_optimizer},
    {[](S s) { return when(s.recipe.optimizer_in_backward); },
     {kNone, kNone, "optimizer.early_step_in_backward"},
     [](V v, R r) { r.plan.recipe.optimizer_in_backward = v.boolean(); }},
    {[](S s) -> JsonValue { return std::min(s.layout.sharding.stage, 1); },
     {kNone, "optimizer.zero_stage"},
     [](V v, R r) {
       r.plan.layout.sharding.stage = v.small_integer({0, 1});
     }},
    // DeepSpeed's own ways of sharding.
    {[](S s) -> JsonValue { return s.layout.sharding.stage; },
     {kNone, kNone, kNone, "zero_optimization.stage"},
     [](V v, R r) {
       r.plan.layout.sharding.stage = v.small_integer({0, 3});
       r.trainer.deepspeed = true;
     }},
    // Written also where it is what DeepSpeed would take, which depends on the stage.
    {[](S s) { return only_if(s.layout.sharding.stage > 0, costmodel::overlaps_gradients(s)); },
     {kNone, kNone, kNone, "zero_optimization.overlap_comm"},
     [](V v, R r) { r.overlap_comm = v.boolean(); }},
    {[](S s) { return only_if(s.layout.sharding.hpz > 1, s.layout.sharding.hpz); },
     {kNone, kNone, kNone, "zero_optimization.zero_hpz_partition_size"},
     [](V v, R r) {
       const int size = v.small_integer(kDegreeRange);
       r.plan.layout.sharding.hpz = size > 1 ? size : 0;
     }},
    {[](S s) { return when(s.layout.sharding.quantized_weights); },
     {kNone, kNone, kNone, "zero_optimization.zero_quantized_weights"},
     [](V v, R r) { r.plan.layout.sharding.quantized_weights = v.boolean(); }},
    {[](S s) { return when(s.layout.sharding.quantized_gradients); },
     {kNone, kNone, kNone, "zero_optimization.zero_quantized_gradients"},
     [](V v, R r) { r.plan.layout.sharding.quantized_gradients = v.boolean(); }},
    zero_size_field<&costmodel::ZeroSizes::reduce_bucket>("zero_optimization.reduce_bucket_size"),
    zero_size_field<&costmodel::ZeroSizes::prefetch>("zero_optimization.stage3_prefetch_bucket_size"),
    zero_size_field<&costmodel::ZeroSizes::live>("zero_optimization.stage3_max_live_parameters"),
    zero_size_field<&costmodel::ZeroSizes::reuse>("zero_optimization.stage3_max_reuse_distance"),
    zero_size_field<&costmodel::ZeroSizes::persistent>(
        "zero_optimization.stage3_param_persistence_threshold"),
    zero_size_field<&costmodel::ZeroSizes::update_group>("zero_optimization.sub_group_size"),
    {[](S s) { return offload_device(s, costmodel::kOffloadOptimizer); },
     {kNone, kNone, kNone, "zero_optimization.offload_optimizer.device"},
     read_offload_device<costmodel::kOffloadOptimizer>},
    {[](S s) { return nvme_folder(s, costmodel::kOffloadOptimizer); },
     {kNone, kNone, kNone, "zero_optimization.offload_optimizer.nvme_path"}},
    {[](S s) { return offload_device(s, costmodel::kOffloadParameters); },
     {kNone, kNone, kNone, "zero_optimization.offload_param.device"},
     read_offload_device<costmodel::kOffloadParameters>},
    {[](S s) { return nvme_folder(s, costmodel::kOffloadParameters); },
     {kNone, kNone, kNone, "zero_optimization.offload_param.nvme_path"}},
    {[](S s) { return when(offloads(s, costmodel::kOffloadOptimizer)); },
     {"--optimizer-cpu-offload", kNone, kNone, kNone, "optimizer.optimizer_cpu_offload"},
     read_offload<costmodel::kOffloadOptimizer>},
    {[](S s) {
       return only_if(offloads(s, costmodel::kOffloadOptimizer) && s.recipe.offload_fraction < 1,
                      s.recipe.offload_fraction);
     },
     {"--optimizer-offload-fraction", kNone, kNone, "zero_optimization.offload_optimizer.ratio"},
     [](V v, R r) { r.plan.recipe.offload_fraction = v.number(kShare); }},
    {[](S s) { return when(offloads(s, costmodel::kOffloadOptimizer) || s.recipe.moment_dtype); },
     {"--use-precision-aware-optimizer", kNone, kNone, kNone, "optimizer.use_precision_aware_optimizer"}},
    {moment_type, {"--exp-avg-dtype"}, [](V v, R r) { r.first_moment = meaning_of(kMomentTypes, v); }},
    {moment_type, {"--exp-avg-sq-dtype"}, [](V v, R r) { r.second_moment = meaning_of(kMomentTypes, v); }},
    {[](S s) { return only_if(offloads_counted_layers(s), s.recipe.offload_layers); },
     {kNone, kNone, kNone, kNone, "model.cpu_offloading_num_layers"},
     read_offloaded_layers},
    {cuda_graphs, {"--cuda-graph-impl"}, read_graphs},
    {[](S s) {
       return only_if(s.recipe.execution.graphs == costmodel::CudaGraphs::FullIteration, "full_iteration");
     },
     {"--cuda-graph-scope"},
     read_graph_scope},
    // validate_args asks for it: nothing looks at numbers inside the graph.
    {[](S s) { return when(s.recipe.execution.graphs == costmodel::CudaGraphs::FullIteration); },
     {"--no-check-for-nan-in-loss-and-grad"}},
    {[](S s) { return when(offloads(s, costmodel::kOffloadParameters)); },
     {kNone, kNone, "training.enable_cpu_offload"},
     read_offload<costmodel::kOffloadParameters>},
    // Memory against time.
    {granularity,
     {"--recompute-granularity", kNone, kNone, kNone, "model.recompute_granularity"},
     [](V v, R r) { r.granularity = v.text(); }},
    {recompute_method,
     {"--recompute-method", kNone, kNone, kNone, "model.recompute_method"},
     [](V v, R r) { r.method = v.text(); }},
    {recompute_layers,
     {"--recompute-num-layers", kNone, kNone, kNone, "model.recompute_num_layers"},
     [](V v, R r) { r.recompute_count = v.integer(kCount); }},
    {recompute_modules,
     {"--recompute-modules", kNone, kNone, kNone, "model.recompute_modules"},
     read_modules},
    {[](S s) { return when(s.layout.partition_activations); },
     {"--distribute-saved-activations", kNone, kNone, "activation_checkpointing.partition_activations",
      "model.distribute_saved_activations"},
     [](V v, R r) { r.plan.layout.partition_activations = v.boolean(); }},
    // It moves the inputs of checkpointed layers, and nothing where none is checkpointed (v0.19.6
    // deepspeed/runtime/activation_checkpointing/checkpointing.py, CheckpointFunction).
    {[](S s) { return when(offloads(s, costmodel::kOffloadActivations) && mode(s) != RecomputeMode::None); },
     {kNone, kNone, kNone, "activation_checkpointing.cpu_checkpointing"},
     read_flag<&LaunchReading::checkpoints_on_host>},
    {[](S s) -> JsonValue { return mode(s) == RecomputeMode::Full; },
     {kNone, "parallelism.recompute_layer"},
     [](V v, R r) { r.granularity = v.boolean() ? "full" : ""; }},
    {checkpoint_mode,
     {kNone, kNone, "activation_checkpoint.mode"},
     [](V v, R r) { r.granularity = v.text(); }},
    {[](S s) { return only_if(mode(s) == RecomputeMode::SelectiveOperators, "op"); },
     {kNone, kNone, "activation_checkpoint.selective_ac_option"},
     [](V v, R r) { r.method = text_in(v); }},
    // "local" wants layers without Transformer Engine beside it.
    {[](S s) -> JsonValue {
       return stores_scores(s.recipe.attention) ? "unfused" : word_of(kCoreBackends, core_backend(s));
     },
     {"--attention-backend"},
     [](V v, R r) { r.plan.recipe.attention = meaning_of(kCoreBackends, v); }},
    {[](S s) { return when(costmodel::fuses_cross_entropy(s)); },
     {"--cross-entropy-loss-fusion"},
     read_flag<&LaunchReading::fused_loss>},
    {[](S s) -> JsonValue { return s.recipe.dropout; },
     {"--attention-dropout", kNone, kNone, kNone, "model.attention_dropout"},
     read_dropout<&LaunchReading::attention_dropout>},
    {[](S s) -> JsonValue { return s.recipe.dropout; },
     {"--hidden-dropout", kNone, kNone, kNone, "model.hidden_dropout"},
     read_dropout<&LaunchReading::hidden_dropout>},
};

}  // namespace

std::span<const LaunchField> launch_recipe_fields() {
  return kRecipeSettings;
}

}  // namespace hexaplan::presets
