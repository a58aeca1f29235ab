#include "presets/import/dialect.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>

#include "presets/import/dialect_overrides.h"
#include "presets/import/dialect_trainers.h"
#include "presets/import/shell_expression.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

namespace {

using V = const ValueReader&;
using R = LaunchReading&;

// --- Megatron-LM: core_v0.15.3 megatron/training/arguments.py ---

/// Deprecated names of --cuda-graph-impl local and transformer_engine.
void read_captured_layers(V v, R r) {
  if (v.boolean()) r.plan.recipe.execution.graphs = costmodel::CudaGraphs::Partial;
}

constexpr ForeignSetting kMegatronMore[] = {
    {"--num-layers-per-virtual-pipeline-stage",
     [](V v, R r) {
       r.virtual_layers = v.integer({1, 10'000});
     }},
    {"--recompute-activations",
     [](V v, R r) {
       if (v.boolean()) r.granularity = "selective";
     }},
    {"--checkpoint-activations",
     [](V v, R r) {
       if (v.boolean()) r.granularity = "full";
     }},
    {"--train-samples",
     [](V v, R r) {
       r.samples = v.integer({1, 1'000'000'000'000});
     }},
    {"--account-for-embedding-in-pipeline-split", read_flag<&LaunchReading::counts_embedding>},
    {"--account-for-loss-in-pipeline-split", read_flag<&LaunchReading::counts_loss>},
    {"--use-torch-fsdp2",
     [](V v, R r) {
       r.fsdp = v.boolean();
       r.strategy = "optim_grads_params";
     }},
    {"--use-flash-attn", nullptr},
    {"--cross-entropy-fusion-impl", nullptr},
    {"--tokenizer-type", [](V v, R r) { r.tokenizer = v.text(); }},
    {"--tokenizer-model",
     [](V v, R r) {
       if (v.text().find('/') != std::string::npos) r.model_name = v.text();
     }},
    {"--padded-vocab-size",
     [](V v, R r) {
       r.plan.model.vocab = v.integer({1, 1'000'000'000});
     }},
    {"--moe-token-drop-policy", read_drop_policy},
    {"--moe-shared-expert-overlap", nullptr},
    {"--rampup-batch-size", nullptr},
    // An argument since core_v0.16.0.
    {"--cpu-offloading", nullptr},  // with its number of layers
    {"--cpu-offloading-num-layers", read_offloaded_layers},
    {"--use-precision-aware-optimizer", nullptr},  // with the types of the moments
    {"--enable-cuda-graph", read_captured_layers},
    {"--external-cuda-graph", read_captured_layers},
};
constexpr WordlessSetting kMegatronWordless[] = {
    {"--defer-embedding-wgrad-compute", "deferred weight gradients of the embedding"},
    {"--decoder-first-pipeline-num-layers", "layers of the first stage: say them as stages=… in the layout"},
    {"--decoder-last-pipeline-num-layers", "layers of the last stage: say them as stages=… in the layout"},
    {"--main-grads-dtype", "the type of the optimizer's own gradients"},
    {"--main-params-dtype", "the type of the optimizer's own parameters"},
    {"--moe-enable-deepep", "another exchange of tokens between experts' ranks"},
    {"--delay-wgrad-compute", "weight gradients behind communication"},
    {"--hierarchical-context-parallel-sizes", "context parallelism on two levels"},
    {"--fp8-param-gather", "parameters gathered in fp8"},
    {"--fine-grained-activation-offloading",
     "activations of some modules in host memory: say --offload activations for all of them"},
    {"--calculate-per-token-loss", "the loss weighted by token"},
    {"--nccl-ub", "communication buffers registered with NCCL"},
    {"--hybrid-*", "layers that are not attention"},
    {"--spec", "another layer than the usual one"},
    {"--vision-*", "a vision tower"},
};
constexpr std::string_view kMegatronIgnored[] = {
    "--lr*",
    "--tp-comm-overlap-*",
    "--min-lr",
    "--weight-decay*",
    "--adam-*",
    "--clip-grad",
    "--init-method*",
    "--seed",
    "--save*",
    "--load*",
    "--data-*",
    "--mock-data",
    "--split",
    "--num-workers",
    "--tokenizer*",
    "--vocab-file",
    "--merge-file",
    "--log-*",
    "--tensorboard*",
    "--wandb*",
    "--eval-*",
    "--exit-*",
    "--ckpt-*",
    "--auto-detect-ckpt-format",
    "--no-load*",
    "--no-save*",
    "--use-checkpoint*",
    "--finetune",
    "--distributed-*",
    "--transformer-impl",
    "--use-mcore-models",
    "--attention-softmax-in-fp32",
    "--no-masked-softmax-fusion",
    "--no-gradient-accumulation-fusion",
    "--no-bias-*-fusion",
    "--bias-*-fusion",
    "--apply-*",
    "--no-rope-fusion",
    "--timing-*",
    "--profile*",
    "--use-pytorch-profiler",
    "--record-memory*",
    "--memory-snapshot*",
    "--manual-gc*",
    "--check-for-*",
    "--no-check-for-*",
    "--train-data-path",
    "--valid-data-path",
    "--test-data-path",
    "--per-split-data-args-path",
    "--reset-*",
    "--eod-*",
    "--no-create-attention-mask*",
    "--create-attention-mask*",
    "--dataloader-*",
    "--num-dataset-builder-threads",
    "--skip-train",
    "--skip-casting-dtype-for-param-pattern",
    "--override-opt*",
    "--decay*",
    "--loss-scale*",
    "--initial-loss-scale",
    "--hysteresis",
    "--moe-z-loss-coeff",
    "--moe-input-jitter-eps",
    "--moe-per-layer-logging",
    "--moe-router-dtype",
    "--moe-router-bias-update-rate",
    "--moe-permute-fusion",
    "--moe-router-fusion",
    "--moe-grouped-gemm",
    "--enable-experimental",
    "--use-rotary-position-embeddings",
    "--no-position-embedding",
    "--mscale*",
    "--dist-ckpt*",
    "--async-save",
    "--non-persistent*",
    "--sgd-momentum",
    "--mtp-loss-scaling-factor",
    "--fp8-amax*",
    "--fp8-margin",
    "--fp8-interval",
    "--overlap-param-gather-with-optimizer-step",
    "--ddp-*",
    "--high-priority-stream-groups",
    "--inference-*",
    "--no-one-logger",
    "--one-logger*",
    "--app-tag*",
    "--rerun-mode",
    "--enable-ft-package",
    "--local-rank",
    "--te-rng-tracker",
    "--cpu-offloading-*",
    "--cuda-graph-*",
    "--cross-entropy-fusion*",
    "--hf-*",
    "--trust-remote-code",
    "--sft*",
    "--no-mmap-bin-files",
    "--num-ckpt*",
    "--rotary-dim",
};

// --- nanotron: 19f88fb src/nanotron/config/config.py ---

constexpr ForeignSetting kNanotronMore[] = {
    {"model.model_config.head_dim",
     [](V v, R r) {
       r.plan.model.attention.head_dim = v.integer({1, 1'000'000});
     }},
    {"tokenizer.tokenizer_name_or_path", [](V v, R r) { r.model_name = v.text(); }},
};
constexpr WordlessSetting kNanotronWordless[] = {
    {"model.model_config.rope_scaling*", "the scaling of RoPE"},
    {"parallelism.tp_recompute_allgather",
     "gathered inputs of tensor-parallel layers: the profile says whether they are kept"},
    {"optimizer.optimizer_factory.fused*", "the optimizer's kernel"},
};
constexpr std::string_view kNanotronIgnored[] = {
    "checkpoints.*",
    "data_stages.*",
    "general.*",
    "logging.*",
    "tokenizer.*",
    "profiler.*",
    "lighteval.*",
    "s3_upload.*",
    "optimizer.learning_rate_scheduler.*",
    "optimizer.clip_grad",
    "optimizer.weight_decay*",
    "optimizer.optimizer_factory.*",
    "tokens.limit_*",
    "tokens.val_check_interval",
    "model.init_method*",
    "model.ddp_bucket_cap_mb",
    "model.model_config.*_token_id",
    "model.model_config.hidden_act",
    "model.model_config.initializer_range",
    "model.model_config.use_cache",
    "model.model_config.pretraining_tp",
    "model.model_config.pad_token_id",
    "model.model_config.attn_pdrop",
    "model.model_config._*",
    "metrics_logging.*",
};

// --- torchtitan: v0.2.2 torchtitan/config/job_config.py ---

constexpr IntegerRange kTokens{1, 1'000'000'000'000};
constexpr FrameworkWord<costmodel::ExpertDispatcher> kTorchtitanDispatchers[] = {
    {costmodel::ExpertDispatcher::AllToAll, "standard"},
    {costmodel::ExpertDispatcher::DeepEp, "deepep"},
    {costmodel::ExpertDispatcher::HybridEp, "hybridep"}};
template <costmodel::Precision precision>
void read_conversion(V /*value*/, R r) {
  r.plan.recipe.precision = precision;
}
/// Names of torchtitan's linear layers (torchtitan/components/lora.py: the last part of a module's name).
void read_torchtitan_targets(V v, R r) {
  using costmodel::AdapterTargets;
  std::vector<std::string> names;
  for (const ValueReader& element : v.elements()) names.push_back(element.text());
  const bool mlp = std::any_of(names.begin(), names.end(),
                               [](const std::string& name) { return name == "w1" || name == "w13"; });
  const bool attention = std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return name == "wq" || name == "wkv" || name == "wqkv";
  });
  r.plan.recipe.lora_targets = mlp && attention ? AdapterTargets::AllLinear
                               : mlp            ? AdapterTargets::Mlp
                                                : AdapterTargets::Attention;
}

/// What Python files have and TOML had not: torchtitan@b5bcd76
/// torchtitan/config/configs.py, trainer.py.
constexpr ForeignSetting kTorchtitanMore[] = {
    {"hf_assets_path", read_assets},
    {"training.max_context_length", [](V v, R r) { r.plan.recipe.sequence = v.integer(kTokens); }},
    {"training.num_tokens_per_microbatch_per_dp_rank", [](V v, R r) { r.pass_tokens = v.integer(kTokens); }},
    {"training.num_tokens_per_train_step",
     [](V v, R r) {
       r.step_tokens = v.integer({-1, kTokens.high});
     }},
    {"training.disable_cuda_graphs", [](V v, R r) { r.whole_graphs = !v.boolean(); }},
    {"training.dtype",
     [](V v, R r) {
       if (v.text() == "bfloat16") r.plan.recipe.parameter_dtype = costmodel::DType::Bf16;
     }},
    {"optimizer.implementation",
     [](V v, R r) {
       if (v.text() == "fused_opt_states_bf16") r.plan.recipe.moment_dtype = costmodel::DType::Bf16;
     }},
    {"parallelism.num_pp_microbatches",
     [](V v, R r) {
       r.pipeline_passes = v.integer({1, 1'000'000});
     }},
    {"parallelism.enable_sequence_parallel", read_flag<&LaunchReading::cuts_sequences>},
    {"compile.enable_async_tensor_parallel",
     [](V v, R r) { r.plan.recipe.execution.tensor_overlap = v.boolean(); }},
    {"compile.components",
     [](V v, R r) {
       const auto components = v.elements();
       r.compiles_model = std::any_of(components.begin(), components.end(),
                                      [](const ValueReader& each) { return each.text() == "model"; });
     }},
    {"loss.num_chunks",
     [](V v, R r) {
       if (v.integer({1, 1'000'000}) > 1) r.plan.recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
     }},
    {"converters.Float8LinearConverter", read_conversion<costmodel::Precision::Fp8>},
    {"converters.MXFP8LinearConverter", read_conversion<costmodel::Precision::Mxfp8>},
    {"converters.NVFP4LinearConverter", read_conversion<costmodel::Precision::Nvfp4>},
    {"converters.LoRAConverter",
     [](V, R r) {
       r.plan.recipe.fine_tune = costmodel::FineTune::Lora;
       r.plan.recipe.lora_rank = 8;  // the class's default, torchtitan/components/lora.py
     }},
    {"converters.LoRAConverter.rank",
     [](V v, R r) {
       r.plan.recipe.lora_rank = v.integer({1, 1'000'000});
     }},
    {"converters.LoRAConverter.alpha",
     [](V v, R r) {
       r.plan.recipe.lora_alpha = static_cast<std::int64_t>(v.number({1, 1e9}));
     }},
    {"converters.LoRAConverter.target_modules", read_torchtitan_targets},
    {"model_spec.moe_comm_backend",
     [](V v, R r) { r.plan.recipe.execution.dispatcher = meaning_of(kTorchtitanDispatchers, v); }},
    {"model_spec.tp_gemm_backend",
     [](V v, R r) {
       if (v.text() == "dist_gemm") r.plan.recipe.execution.tensor_overlap = true;
     }},
    {"activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", nullptr},
    {"parallelism.disable_loss_parallel", nullptr},
    {"training.compile",
     [](V v, R r) {
       if (v.boolean()) r.plan.recipe.execution.compiled = true;
     }},
};
constexpr WordlessSetting kTorchtitanWordless[] = {
    {"parallelism.expert_parallel_comm_backend", "another exchange of tokens between experts' ranks"},
    {"parallelism.module_fqns_per_model_part",
     "layers of every pipeline stage: say them as stages=… in the layout"},
    {"parallelism.enable_compiled_autograd", "compiled autograd"},
    {"quantize.linear.float8.enable_fsdp_float8_all_gather", "parameters gathered in fp8"},
    {"converters.*.enable_fsdp_float8_all_gather", "parameters gathered in fp8"},
    {"converters.*GroupedExpertsConverter", "experts' products alone in another precision"},
    {"converters.*.fqns", "products of some modules alone in another precision"},
    {"model_spec.attn_backend", "another kernel of attention: flash attention is planned"},
    {"model_spec.num_mtp_layers", "prediction modules: say them with --model \"NAME mtp_layers=1\""},
    {"model_spec.non_blocking_capacity_factor", "a capacity of the experts"},
    {"parallelism.enable_fsdp_symm_mem", "FSDP's messages through symmetric memory"},
    {"float8.*", "details of fp8"},
};
constexpr std::string_view kTorchtitanIgnored[] = {
    "job.*",
    "compile.*",
    "profiling.*",
    "metrics.*",
    "lr_scheduler.*",
    "checkpoint.*",
    "comm.*",
    "debug.*",
    "experimental.*",
    "validation.*",
    "optimizer.lr",
    "optimizer.eps",
    "optimizer.beta*",
    "optimizer.weight_decay",
    "training.dataset*",
    "training.max_norm",
    "training.seed",
    "training.deterministic",
    "training.gc_*",
    "model.tokenizer_path",
    "model.print_after_conversion",
    "model.norm_type",
    "quantize.*",
    "fault_tolerance.*",
    "memory_estimation.*",
    "activation_checkpoint.early_stop",
    "activation_checkpoint.preserve_rng_state",
    "activation_checkpoint.determinism_check",
    "training.data*",
    "activation_checkpoint",
    "activation_checkpoint.*",
    "converters.*",
    "dataloader.*",
    "dump_folder",
    "loss.*",
    "model_spec.*",
    "optimizer.*",
    "override.*",
    "parallelism.context_parallel_load_balancer",
    "parallelism.spmd_backend",
    "profiler.*",
    "tokenizer.*",
    "validator.*",
};

// --- DeepSpeed: v0.19.6 deepspeed/runtime/config.py, runtime/zero/config.py ---

constexpr ForeignSetting kDeepSpeedMore[] = {
    {"zero_optimization.cpu_offload", read_offload<costmodel::kOffloadOptimizer>},
    {"bfloat16.enabled", read_flag<&LaunchReading::brain>},
};
constexpr WordlessSetting kDeepSpeedWordless[] = {
    // As the profile has them when they are on.
    {"zero_optimization.contiguous_gradients", "gradients that stay where autograd put them: not modelled",
     true},
    {"zero_optimization.reduce_scatter", "gradients reduced to every rank: not modelled", true},
    {"zero_optimization.offload_*.pin_memory", "host memory that is not pinned: not modelled", true},
    {"zero_optimization.mics_*", "replicas of the sharded state (MiCS): say them as hsdp8 in the layout"},
    {"zero_optimization.round_robin_gradients",
     "ranks that copy gradients to the host in turn: all at once is planned, with and without"},
    {"zero_optimization.use_multi_rank_bucket_allreduce", "a reduction per rank: not modelled", true},
    {"zero_optimization.allgather_partitions", "parameters broadcast after the update: not modelled", true},
    {"zero_optimization.stage3_model_persistence_threshold",
     "a limit of what the persistence threshold keeps whole"},
    {"zero_optimization.stage3_module_granularity_threshold", "modules that are gathered together"},
    {"zero_optimization.stage3_use_all_reduce_for_fetch_params", "parameters gathered by all-reduce", false},
    {"zero_optimization.stage3_allgather_sequential", "parameters gathered one by one", false},
    {"zero_optimization.zero_quantized_nontrainable_weights", "frozen weights kept in 8 bits", false},
    {"zero_optimization.zeropp_loco_param.*", "LoCo's buffers of quantisation errors"},
    {"communication_data_type", "the type of reductions"},
    {"compile.*", "DeepCompile"},
    {"sparse_attention.*", "sparse attention"},
    {"compression_training.*", "quantised and pruned weights"},
};
constexpr std::string_view kDeepSpeedIgnored[] = {
    "optimizer.params.*",
    "scheduler.*",
    "gradient_clipping",
    "steps_per_print",
    "wall_clock_breakdown",
    "fp16.*",
    "bf16.*",
    "prescale_gradients",
    "gradient_predivide_factor",
    "zero_optimization.offload_*",
    // Parameters are gathered in place, by one all_gather_into_tensor of all of them
    // (deepspeed/runtime/utils.py all_gather_dp_groups).
    "zero_optimization.allgather_bucket_size",
    "zero_optimization.load_from_fp32_weights",
    // Consolidated when it is saved.
    "zero_optimization.stage3_gather_16bit_weights_on_model_save",
    "zero_optimization.stage3_gather_fp16_weights_on_model_save",
    "zero_optimization.memory_efficient_linear",
    "zero_optimization.override_module_apply",
    "zero_optimization.pipeline_loading_checkpoint",
    "zero_optimization.enable_sanity_checks",
    "zero_optimization.elastic_checkpoint",
    "zero_optimization.ignore_unused_parameters",
    "zero_optimization.log_trace_cache_warnings",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer",
    "tensorboard.*",
    "wandb.*",
    "csv_monitor.*",
    "comms_logger.*",
    "flops_profiler.*",
    "monitor_config.*",
    "checkpoint.*",
    "dump_state",
    "aio.*",
    "autotuning.*",
    "activation_checkpointing.*",
    "data_efficiency.*",
    "amp.*",
    "seed",
    "disable_allgather",
    "elasticity.*",
};

constexpr Dialect kPretraining[] = {
    {Launcher::Megatron, kMegatronMore, kMegatronWordless, kMegatronIgnored, true},
    {Launcher::Nanotron, kNanotronMore, kNanotronWordless, kNanotronIgnored, false},
    {Launcher::Torchtitan, kTorchtitanMore, kTorchtitanWordless, kTorchtitanIgnored, false},
    {Launcher::DeepSpeed, kDeepSpeedMore, kDeepSpeedWordless, kDeepSpeedIgnored, false, true},
};

}  // namespace

std::span<const Dialect> dialects() {
  static const std::vector<Dialect> all = [] {
    std::vector<Dialect> every{std::begin(kPretraining), std::end(kPretraining)};
    every.insert(every.end(), trainer_dialects().begin(), trainer_dialects().end());
    every.insert(every.end(), override_dialects().begin(), override_dialects().end());
    return every;
  }();
  return all;
}

KeyMeaning meaning_of_key(const Dialect& dialect, std::string_view key) {
  for (const LaunchField& field : launch_fields()) {
    if (field.keys[static_cast<std::size_t>(dialect.launcher)] == key)
      return {.kind = KeyMeaning::Kind::Read, .read = field.read, .reads_null = field.reads_null};
  }
  for (const ForeignSetting& row : dialect.more) {
    if (row.key == key) return {.kind = KeyMeaning::Kind::Read, .read = row.read};
  }
  for (const WordlessSetting& row : dialect.wordless) {
    if (matches_pattern(key, row.key))
      return {.kind = KeyMeaning::Kind::Wordless, .why = row.why, .usual = row.usual};
  }
  for (const std::string_view pattern : dialect.ignored) {
    if (matches_pattern(key, pattern)) return {.kind = KeyMeaning::Kind::Ignored};
  }
  return {};
}

const Dialect* dialect_of(const std::vector<Setting>& settings) {
  const Dialect* best = nullptr;
  std::size_t most = 0;
  for (const Dialect& dialect : dialects()) {
    const auto known =
        static_cast<std::size_t>(std::count_if(settings.begin(), settings.end(), [&](const Setting& s) {
          return meaning_of_key(dialect, s.key).kind == KeyMeaning::Kind::Read;
        }));
    if (known > most) {
      most = known;
      best = &dialect;
    }
  }
  return best;
}

}  // namespace hexaplan::presets
