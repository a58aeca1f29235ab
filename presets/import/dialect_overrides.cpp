#include "presets/import/dialect_overrides.h"

#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_words.h"

namespace hexaplan::presets {

namespace {

using V = const ValueReader&;
using R = LaunchReading&;

// --- Megatron-Bridge: v0.6.0 src/megatron/bridge/training/config.py, scripts/training/run_recipe.py ---

/// "bf16_with_fp8_current_scaling_mixed" (training/mixed_precision.py).
void read_precision_recipe(V v, R r) {
  const std::string& name = v.text();
  const auto says = [&](const char* part) { return name.find(part) != std::string::npos; };
  r.half = name.starts_with("fp16");
  r.brain = name.starts_with("bf16") || says("_bf16_");
  r.gradients_in_fp32 = !r.half;
  r.fp8 = says("fp8");
  r.fp4 = says("nvfp4");
  r.fp8_recipe = says("mxfp8")                             ? "mxfp8"
                 : says("subchannel") || says("blockwise") ? "blockwise"
                 : says("delayed")                         ? "delayed"
                                                           : "tensorwise";
}

/// "llama3_8b_pretrain_config": the model is what stands before the size and behind it.
void read_recipe_name(V v, R r) {
  std::string name = v.text();
  for (const char* ending : {"_pretrain", "_sft", "_peft", "_finetune", "_config"}) {
    if (const std::size_t at = name.find(ending); at != std::string::npos) name.resize(at);
  }
  for (char& c : name) c = c == '_' ? '-' : c;
  r.model_name = name;
  r.notes.push_back("of " + v.text() +
                    " only what such recipes begin with is read (recipes/common.py): give the file that has "
                    "it, too, or what a run of it writes (run_config.yaml), for its degrees and lengths");
}
void read_hub_model(V v, R r) {
  r.model_name = v.text();
}

/// Bridge's files say types as the classes that stand for them.
template <auto moment>
void read_moment_type(V v, R r) {
  constexpr FrameworkWord<costmodel::DType> kTypes[] = {{costmodel::DType::Fp32, "torch.float32"},
                                                        {costmodel::DType::Bf16, "torch.bfloat16"},
                                                        {costmodel::DType::Fp16, "torch.float16"},
                                                        {costmodel::DType::Fp8, "torch.uint8"}};
  r.*moment = meaning_of(kTypes, v);
}
/// The optimizer's own gradients and parameters: types other than fp32 have no word.
void read_state_type(V v, R r) {
  if (v.text() != "torch.float32")
    r.notes.push_back("states of the optimizer in " + v.text() + " have no word: fp32 is planned");
}
void read_outer_sharding(V v, R r) {
  if (v.text() != "no_shard")
    r.notes.push_back("what replicas of a sharded state shard (" + v.text() +
                      ") has no word: nothing is planned");
}

constexpr ForeignSetting kBridgeMore[] = {
    {"optimizer.exp_avg_dtype", read_moment_type<&LaunchReading::first_moment>},
    {"optimizer.exp_avg_sq_dtype", read_moment_type<&LaunchReading::second_moment>},
    {"optimizer.exp_avg_dtype._target_", read_moment_type<&LaunchReading::first_moment>},
    {"optimizer.exp_avg_sq_dtype._target_", read_moment_type<&LaunchReading::second_moment>},
    {"optimizer.main_grads_dtype._target_", read_state_type},
    {"optimizer.main_params_dtype._target_", read_state_type},
    {"ddp.outer_dp_sharding_strategy", read_outer_sharding},
    {"model.bf16", read_flag<&LaunchReading::brain>},
    {"model.fp16", read_flag<&LaunchReading::half>},
    {"model.fp8", [](V v, R r) { r.fp8 = !v.text().empty(); }},
    {"model.fp8_recipe", [](V v, R r) { r.fp8_recipe = v.text(); }},
    {"model.fp4", [](V v, R r) { r.fp4 = !v.text().empty(); }},
    {"model.moe_token_drop_policy", read_drop_policy},
    {"mixed_precision", read_precision_recipe},
    {"ddp.grad_reduce_in_fp32", read_flag<&LaunchReading::gradients_in_fp32>},
    {"dist.use_megatron_fsdp", [](V v, R r) { r.fsdp = r.fsdp || v.boolean(); }},
    {"dist.use_torch_fsdp2",
     [](V v, R r) {
       if (!v.boolean()) return;
       r.fsdp = true;
       r.strategy = "optim_grads_params";
     }},
    {"model.account_for_embedding_in_pipeline_split", read_flag<&LaunchReading::counts_embedding>},
    {"model.account_for_loss_in_pipeline_split", read_flag<&LaunchReading::counts_loss>},
    {"model.activation_func._target_",
     [](V v, R r) {
       for (const LaunchField& field : bridge_model_fields()) {
         if (field.keys[static_cast<std::size_t>(Launcher::Bridge)] == "model.activation_func")
           field.read(v, r);
       }
     }},
    {"model.activation_func._call_", nullptr},
    {"model.attention_backend._call_", nullptr},
    {"model.attention_backend._name_", nullptr},
    {"train.train_samples",
     [](V v, R r) {
       r.samples = v.integer({1, 1'000'000'000'000});
     }},
    {"comm_overlap.tp_comm_overlap",
     [](V v, R r) {
       if (v.boolean()) r.plan.recipe.execution.tensor_overlap = true;
     }},
    {"comm_overlap.overlap_grad_reduce", read_flag<&LaunchReading::overlaps_gradients>},
    {"comm_overlap.overlap_moe_expert_parallel_comm",
     [](V v, R r) {
       if (v.boolean()) r.plan.recipe.execution.expert_overlap = true;
     }},
    {"model.hf_model_id", read_hub_model},
    {"tokenizer.tokenizer_model",
     [](V v, R r) {
       if (r.model_name.empty()) r.model_name = v.text();
     }},
    {"dataset.sequence_length", nullptr},
    // Options of run_recipe.py.
    {"recipe", read_recipe_name},
    {"model", read_hub_model},
    {"max_steps", [](V v, R r) { r.steps = v.integer(kCount); }},
    {"ms", [](V v, R r) { r.steps = v.integer(kCount); }},
    {"gb", [](V v, R r) { r.plan.recipe.global_batch = v.integer(kPositive); }},
    {"mb", [](V v, R r) { r.plan.recipe.micro_batch = v.integer(kPositive); }},
    {"sl", [](V v, R r) { r.plan.recipe.sequence = v.integer(kPositive); }},
    {"tp", read_degree<&costmodel::Layout::tp>},
    {"pp", read_degree<&costmodel::Layout::pp>},
    {"cp", read_degree<&costmodel::Layout::cp>},
    {"vp", read_degree<&costmodel::Layout::vpp>},
    {"ep", read_degree<&costmodel::Layout::ep>},
    {"etp", read_degree<&costmodel::Layout::etp>},
    {"global_batch_size", [](V v, R r) { r.plan.recipe.global_batch = v.integer(kPositive); }},
    {"micro_batch_size", [](V v, R r) { r.plan.recipe.micro_batch = v.integer(kPositive); }},
    {"seq_length", [](V v, R r) { r.plan.recipe.sequence = v.integer(kPositive); }},
    {"tensor_model_parallel_size", read_degree<&costmodel::Layout::tp>},
    {"pipeline_model_parallel_size", read_degree<&costmodel::Layout::pp>},
    {"context_parallel_size", read_degree<&costmodel::Layout::cp>},
    {"virtual_pipeline_model_parallel_size", read_degree<&costmodel::Layout::vpp>},
    {"expert_model_parallel_size", read_degree<&costmodel::Layout::ep>},
    {"expert_tensor_parallel_size", read_degree<&costmodel::Layout::etp>},
};
constexpr WordlessSetting kBridgeWordless[] = {
    {"model.pipeline_model_parallel_layout.*",
     "layers of stages as lists: say them as stages=… in the layout"},
    {"model.num_layers_in_*_pipeline_stage", "layers of one stage: say them as stages=… in the layout"},
    {"model.fine_grained_activation_offloading",
     "activations of some modules in host memory: say --offload activations for all of them"},
    {"model.delay_wgrad_compute", "weight gradients behind communication"},
    {"model.defer_embedding_wgrad_compute", "deferred weight gradients of the embedding"},
    {"model.hierarchical_context_parallel_sizes", "context parallelism on two levels"},
    {"model.fp32_residual_connection", "a residual stream in fp32"},
    {"model.experimental_attention_variant", "layers that are not attention, or sparse attention"},
    {"model.is_hybrid_model", "layers that are not attention"},
    {"model.hybrid_*", "layers that are not attention"},
    {"model.fp8_param", "parameters gathered in fp8"},
    {"mixed_precision.fp8_param*", "parameters gathered in fp8"},
    {"mixed_precision.first_last_layers_bf16", "first and last layers in 16 bits"},
    {"optimizer.use_layer_wise_distributed_optimizer", "an optimizer cut by layers"},
    {"ddp.nccl_ub", "communication buffers registered with NCCL"},
    {"ddp.fsdp_double_buffer", "double buffers of FSDP"},
    {"ddp.bucket_size", "sizes of buckets: the profile's are planned"},
    {"peft.*", "details of adapters"},
    {"comm_overlap.*", "what runs beside what"},
    {"num_nodes", "nodes"},
};
constexpr std::string_view kBridgeIgnored[] = {
    "rng.*",
    "rerun_state_machine.*",
    "optimizer_config_override_provider.*",
    "validation.*",
    "scheduler.*",
    "logger.*",
    "profiling.*",
    "straggler.*",
    "nvrx_straggler.*",
    "ft.*",
    "tensor_inspect.*",
    "inprocess_restart.*",
    "env_vars.*",
    "tokenizer.*",
    "checkpoint.*",
    "dataset.*",
    "dist.*",
    "train.*",
    "ddp.*",
    "optimizer.*",
    "mixed_precision.*",
    "model.*_func",
    "model.*_func._*",
    "model.*init_method*",
    "model.params_dtype*",
    "model.pipeline_dtype*",
    "model.autocast_dtype*",
    "model.*_fusion",
    "model.*fused_*",
    "model.tp_comm_*",
    "model.fp8_*",
    "model.fp4_*",
    "model.tp_only_amax_red",
    "model.first_last_layers_bf16",
    "model.num_layers_at_*",
    "model.mamba_*",
    "model.linear_*",
    "model.dsa_*",
    "model.inference_*",
    "model.kitchen_*",
    "model.use_kitchen*",
    "model.cuda_graph_*",
    "model.cpu_offloading_*",
    "model.moe_*",
    "model.mtp_*",
    "model.mup_*",
    "model.use_*",
    "model.qk_clip*",
    "model.transformer_*",
    "model.*_p2p_*",
    "model.microbatch_group_size_per_vp_stage",
    "model.deallocate_pipeline_outputs",
    "model.variable_seq_lengths",
    "model.parallel_output",
    "model.perform_initialization",
    "model.scatter_embedding_sequence_parallel",
    "model.attention_softmax_in_fp32",
    "model.barrier_with_L1_time",
    "model.calculate_per_token_loss",
    "model.heterogeneous_block_specs",
    "model.hetereogenous_dist_checkpoint",
    "model.min_offloaded_tensor_size",
    "model.offload_modules",
    "model.activation_offload_fraction",
    "model.*_for_prefill",
    "model.mlp_chunks_for_training",
    "model.config_logger_dir",
    "model.clone_scatter_output_in_embedding",
    "model.disable_*",
    "model.batch_invariant_mode",
    "model.flash_decode",
    "model.test_mode",
    "model.*_weight_remat_size",
    "model.tensor_parallel_num_weight_shards",
    "model.expert_tensor_parallel_num_weight_shards",
    "model.wgrad_deferral_limit",
    "model.cache_mla_latents",
    "model.mla_down_proj_fusion",
    "model.apply_query_key_layer_scaling",
    "model.apply_residual_connection_post_layernorm",
    "model.memory_efficient_layer_norm",
    "model.persist_layer_norm",
    "model.hf_model_revision",
    "model.restore_modelopt_state",
    "model.activation_func_fp8_input_store",
    "model.attention_output_gate",
    "model.cross_entropy_fusion_impl",
    "model.del*_offload_*",
    "model.dense_grouped_gemm",
    "model.enable_cuda_graph",
    "model.external_cuda_graph",
    "model.ep_overlap_early_attn_memory_release",
    "model.fp16_lm_cross_entropy",
    "model.high_priority_a2a_comm_stream",
    "model.log_max_attention_logit",
    "model.overlap_dispatch_backward_with_experts_wgrad",
    "model.qk_l2_norm",
    "model.init_model_with_meta_device",
    "model.generation_config*",
    "model.enable_autocast",
    "model.deterministic_mode",
    "mode",
    "dataset",
    "lr",
    "min_lr",
    "warmup_iters",
    "save_dir",
    "load_dir",
    "save_interval",
    "pretrained_checkpoint",
};

// --- MaxText: src/maxtext/configs/base.yml ---

constexpr ForeignSetting kMaxTextMore[] = {
    {"global_parameter_scale",
     [](V v, R r) {
       if (v.integer({1, 1'000'000}) > 1)
         r.notes.emplace_back("global_parameter_scale is not read: the model is planned in its base size");
     }},
};
constexpr WordlessSetting kMaxTextWordless[] = {
    {"*_context_usp_ulysses_parallelism", "context parallelism by heads"},
    {"*_sequence_parallelism", "a sequence axis"},
    {"*_fsdp_transpose_parallelism", "a second axis that shards parameters"},
    {"*_context_autoregressive_parallelism", "an axis of inference"},
    {"*_autoregressive_parallelism", "an axis of inference"},
    {"*_diloco_parallelism", "DiLoCo"},
    {"enable_diloco", "DiLoCo"},
    {"pipeline_parallel_layers", "layers outside the pipeline"},
    {"pipeline_fsdp_ag_*", "parameters gathered once per step"},
    {"pipeline_delay_activation_forwarding", "messages between stages beside computation"},
    {"scan_layers", "layers as one loop"},
    {"sliding_window_size", "the sliding window: its layers follow from the decoder block"},
    {"attention_sink", "sinks"},
    {"attn_logits_soft_cap", "soft-capped attention scores"},
    {"final_logits_soft_cap", "soft-capped logits"},
    {"enable_rampup_batch_size", "batches that grow"},
    {"use_batch_split_schedule", "exchanges of tokens beside another part of the batch"},
    {"use_ring_of_experts", "tokens gathered instead of exchanged"},
    {"use_sft", "fine-tuning: say --fine-tune full"},
    {"use_indexer", "sparse attention"},
    {"custom_mesh_and_rule", "another mesh"},
    {"compile_topology*", "machines to compile for"},
};
constexpr std::string_view kMaxTextIgnored[] = {
    "run_name",
    "base_output_directory",
    "*checkpoint*",
    "load_*",
    "save_*",
    "lora_*",
    "hf_*",
    "force_unroll",
    "reuse_example_batch",
    "metrics_file",
    "gcs_metrics",
    "*wandb*",
    "constant_bound_config",
    "matmul_precision",
    "activations_in_float32",
    "replicate_quant_scale",
    "quant_*",
    "quantize_*",
    "kv_quant_*",
    "model_call_mode",
    "use_qwix_quantization",
    "use_manual_quantization",
    "*_calibration_method",
    "quantization_local_shard_count",
    "weight_sparsity_*",
    "te_comm_gemm_overlap",
    "dense_init_scale",
    "attention_output_dim",
    "global_head_dim",
    "global_num_kv_heads",
    "mlp_activations_limit",
    "logits_dot_in_fp32",
    "cast_logits_to_fp32",
    "float32_*",
    "mla_*",
    "mtp_loss_scaling_factor",
    "mtp_eval_target_module",
    "megablox",
    "sparse_matmul",
    "*_tile_*",
    "use_tokamax*",
    "use_gmm_v2",
    "merge_gating_gmm",
    "routed_bias_update_rate",
    "rope_*",
    "beta_fast",
    "beta_slow",
    "mscale",
    "max_position_embeddings",
    "adam_*",
    "muon_*",
    "mu_dtype",
    "learning_rate*",
    "lr_*",
    "warmup_*",
    "wsd_*",
    "gradient_clipping_threshold",
    "dataset_*",
    "packing",
    "num_epoch",
    "tokenizer_*",
    "tokenize_*",
    "grain_*",
    "olmo_*",
    "*_split",
    "*_columns",
    "*_column",
    "add_bos",
    "add_eos",
    "use_truncation",
    "enable_data_shuffling",
    "data_shuffle_seed",
    "init_weights_seed",
    "log_*",
    "profile*",
    "skip_*",
    "upload_*",
    "dump_*",
    "enable_goodput*",
    "monitor_*",
    "enable_tensorboard",
    "jax_*",
    "max_inflight_computations",
    "eval_*",
    "sa_*",
    "local_sa_*",
    "decode*",
    "prefill*",
    "max_prefill_*",
    "prompt",
    "inference_*",
    "vllm_*",
    "rl_*",
    "managed_*",
    "enable_nnx",
    "pure_nnx*",
    "hardware",
    "num_slices",
    "shard_mode",
    "mesh_axes",
    "logical_axis_rules",
    "data_sharding",
    "sharding_tolerance",
    "allow_split_physical_axes",
    "optimize_mesh_for_tpu_v6e",
    "use_iota_embed",
    "max_corpus_chars",
    "expansion_factor_real_data",
    "override_*",
    "scan_pipeline_*",
    "scan_layers_per_stage",
    "set_remat_policy_*",
    "param_scan_axis",
    "context_parallel_load_balance",
    "context_parallel_reorder_strategy",
    "max_segments_per_seq",
    "use_chat_template",
    "chat_template*",
    "stack_trace_*",
    "collect_stack_trace",
    "enable_*checkpoint*",
    "local_checkpoint_*",
    "async_checkpointing",
    "checkpoint_period",
    "remat_policy_for_vit",
    "tensors_*",
    "normalize_embedding_logits",
    "head_dim",
};

constexpr Dialect kOverrideDialects[] = {
    {Launcher::Bridge, kBridgeMore, kBridgeWordless, kBridgeIgnored, false},
    {Launcher::MaxText, kMaxTextMore, kMaxTextWordless, kMaxTextIgnored, false, false, true},
};

}  // namespace

std::span<const Dialect> override_dialects() {
  return kOverrideDialects;
}

}  // namespace hexaplan::presets
