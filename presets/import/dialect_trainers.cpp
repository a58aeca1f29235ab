// Hugging Face's Trainer, TRL and accelerate; Axolotl; LLaMA-Factory: what exports do not write.
#include "presets/import/dialect_trainers.h"

#include <algorithm>

#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_words.h"
#include "presets/launch/trainer_plan.h"

namespace hexaplan::presets {

namespace {

using V = const ValueReader&;
using R = LaunchReading&;

constexpr IntegerRange kLengths{1, 1'000'000'000};

void read_length(V v, R r) {
  r.plan.recipe.sequence = v.integer(kLengths);
}
/// A setting of TRL's own, which a script on the Trainer alone does not have.
void is_trl(V, R r) {
  r.trainer.trl = true;
}
void read_mixed_precision(V v, R r) {
  constexpr FrameworkWord<int> kTypes[] = {{0, "no"}, {1, "bf16"}, {2, "fp16"}, {3, "fp8"}};
  const int type = meaning_of(kTypes, v);
  r.brain = r.brain || type == 1 || type == 3;
  r.half = r.half || type == 2;
  r.fp8 = r.fp8 || type == 3;
  r.brain_said = true;
}
/// torch.compile's backend; "no": eager.
void read_dynamo(V v, R r) {
  if (v.text() != "no" && v.text() != "NO") r.plan.recipe.execution.compiled = true;
}

// --- TRL and the Trainer: trl v1.16.0 trl/trainer/*_config.py, transformers v5.23.0 training_args.py ---

constexpr ForeignSetting kTrlMore[] = {
    // PEFT's adapter_config.json: LoraConfig.save_pretrained (peft 0.21.2 src/peft/tuners/lora/config.py).
    {"peft_type",
     [](V v, R r) {
       constexpr FrameworkWord<bool> kTypes[] = {{true, "LORA"}};
       r.trainer.adapters = meaning_of(kTypes, v);
     }},
    {"base_model_name_or_path", [](V v, R r) { r.model_name = v.text(); }},
    {"r", [](V v, R r) { r.trainer.rank = v.integer(kLengths); }},
    {"target_modules", [](V v, R r) { r.trainer.targets = module_names_in(v); }},
    {"modules_to_save", [](V v, R r) { r.trainer.saved = module_names_in(v); }},
    {"bias", [](V v, R r) { r.trainer.bias = meaning_of(kPeftBiases, v); }},
    {"max_seq_length", read_length},
    {"block_size", read_length},
    {"model_max_length", read_length},
    {"activation_checkpointing", read_flag<&TrainerReading::checkpoints>},
    {"use_liger_kernel", read_chunked_loss},
    {"use_liger", read_chunked_loss},
    {"loss_type",
     [](V v, R r) {
       is_trl(v, r);
       r.trainer.other_loss = v.text() != "nll" && v.text() != "chunked_nll";
     }},
    {"torch_dtype",
     [](V v, R r) {
       if (v.json() != JsonValue{"auto"}) r.trainer.weights = meaning_of(kTorchTypes, v);
     }},
    {"packing", is_trl},
    {"padding_free", is_trl},
    {"completion_only_loss", is_trl},
    {"assistant_only_loss", is_trl},
    {"dataset_text_field", is_trl},
    {"fsdp_config.reshard_after_forward", read_reshard},
    {"fsdp_config.activation_checkpointing", read_flag<&TrainerReading::checkpoints>},
    {"fsdp_config.transformer_layer_cls_to_wrap", nullptr},
    {"fsdp_transformer_layer_cls_to_wrap", nullptr},
};
constexpr WordlessSetting kTrlWordless[] = {
    {"auto_find_batch_size", "a batch that is halved until it fits"},
    {"lora_target_parameters", "adapters beside parameters that are no linear layer"},
    {"target_parameters", "adapters beside parameters that are no linear layer"},
    {"rank_pattern*", "ranks that differ between layers"},
    {"layers_to_transform", "adapters beside some of the layers"},
    {"exclude_modules", "layers without adapters among those that are named"},
    {"trainable_token_indices*", "rows of the word table that are trained"},
    {"gradient_checkpointing_kwargs.every_n_layers", "checkpoints of every n-th layer"},
    {"activation_checkpointing_kwargs.*", "which layers are checkpointed, and where their inputs are held"},
    {"neftune_noise_alpha", "noise on the embeddings"},
    {"fsdp_config.min_num_params", "units by size: one per layer is planned"},
    {"ddp_bucket_cap_mb", "sizes of buckets: the profile's are planned"},
    {"torch_empty_cache_steps", "the cache emptied between steps"},
    {"parallelism_config.*", "degrees that accelerate cuts the model by"},
    {"freeze*", "parts that are not trained"},
};
constexpr std::string_view kTrlIgnored[] = {
    "output_dir",
    "overwrite_output_dir",
    "do_*",
    "eval*",
    "per_device_eval_batch_size",
    "num_train_epochs",
    "learning_rate",
    "lr_*",
    "warmup*",
    "weight_decay",
    "adam_*",
    "max_grad_norm",
    "label_smoothing_factor",
    "log*",
    "report_to",
    "run_name",
    "save_*",
    "load_best_model_at_end",
    "metric_for_best_model",
    "greater_is_better",
    "seed",
    "data_seed",
    "dataset*",
    "data_*",
    "dataloader_*",
    "remove_unused_columns",
    "ddp_*",
    "deepspeed",
    "push_to_hub*",
    "hub_*",
    "resume_from_checkpoint",
    "tokenizer*",
    "chat_template*",
    "eos_token",
    "pad_token",
    "trust_remote_code",
    "model_revision",
    "use_fast_tokenizer",
    "lora_task_type",
    "use_rslora",
    "task_type",
    "inference_mode",
    "init_lora_weights",
    "alpha_pattern*",
    "fan_in_fan_out",
    "peft_version",
    "bnb_4bit_*",
    "accelerator_config*",
    "torch_compile_*",
    "gradient_checkpointing_kwargs.use_reentrant",
    "train_file",
    "validation_*",
    "preprocessing_num_workers",
    "overwrite_cache",
    "config_name",
    "cache_dir",
    "streaming",
    "shuffle*",
    "truncation_mode",
    "max_train_samples",
    "max_eval_samples",
    "group_by_length",
    "length_column_name",
    "fsdp_config.*",
    "project*",
    "trackio*",
    "include_*",
    "average_tokens_across_devices",
    "use_cpu",
    "debug",
    "local_rank",
    "use_cache",
    "disable_tqdm",
    "prediction_loss_only",
    "attn_implementation_*",
};

// --- accelerate: v1.15.0 commands/config/config_args.py, commands/launch.py ---

constexpr ForeignSetting kAccelerateMore[] = {
    {"compute_environment", nullptr},
    {"distributed_type",
     [](V v, R r) {
       if (v.text() == "FSDP") r.trainer.fsdp = r.trainer.accelerate_fsdp = true;
     }},
    {"use_fsdp",
     [](V v, R r) {
       read_fsdp(v, r);
       r.trainer.accelerate_fsdp = r.trainer.fsdp;
     }},
    {"dynamo_backend", read_dynamo},
    {"dynamo_config.dynamo_backend", read_dynamo},
    {"use_deepspeed", read_flag<&TrainerReading::deepspeed>},
    {"mixed_precision", read_mixed_precision},
    {"num_processes",
     [](V v, R r) {
       if (r.gpus == 0) r.gpus = v.integer(kDegreeRange);
     }},
    {"num_machines", [](V v, R r) { r.nodes = v.integer(kDegreeRange); }},
    {"deepspeed_config.zero_stage",
     [](V v, R r) {
       r.plan.layout.sharding.stage = v.small_integer({0, 3});
       r.trainer.deepspeed = true;
     }},
    {"deepspeed_config.offload_optimizer_device", read_offload_device<costmodel::kOffloadOptimizer>},
    {"deepspeed_config.offload_param_device", read_offload_device<costmodel::kOffloadParameters>},
    {"deepspeed_config.gradient_accumulation_steps",
     [](V v, R r) {
       if (r.accumulation == 0) r.accumulation = v.integer(kLengths);
     }},
    {"fsdp_config.fsdp_version", read_fsdp_version},
    {"fsdp_config.fsdp_sharding_strategy", read_reshard},
    {"fsdp_config.fsdp_reshard_after_forward", read_reshard},
    {"fsdp_config.fsdp_offload_params", read_flag<&TrainerReading::offload>},
    {"fsdp_config.fsdp_activation_checkpointing",
     [](V v, R r) {
       if (v.boolean()) r.trainer.checkpoints = true;
     }},
    {"fsdp_config.fsdp_auto_wrap_policy", nullptr},
    {"fsdp_config.fsdp_transformer_layer_cls_to_wrap", nullptr},
    {"parallelism_config.parallelism_config_tp_size", read_degree<&costmodel::Layout::tp>},
    {"parallelism_config.parallelism_config_cp_size", read_degree<&costmodel::Layout::cp>},
    {"parallelism_config.parallelism_config_dp_shard_size",
     [](V v, R r) { r.shards = v.integer(kDegreeRange); }},
    {"parallelism_config.parallelism_config_dp_replicate_size",
     [](V v, R r) { r.replicas = v.integer(kDegreeRange); }},
};
constexpr WordlessSetting kAccelerateWordless[] = {
    {"fsdp_config.fsdp_min_num_params", "units by size: one per layer is planned"},
    {"fsdp_config.fsdp_forward_prefetch", "gathers ahead of the forward: the profile says whether"},
    {"fsdp_config.fsdp_backward_prefetch*", "gathers ahead of the backward: the profile says whether"},
    {"dynamo_config.*", "details of compilation"},
    {"fp8_config.*", "details of fp8"},
    {"megatron_lm_config.*", "Megatron-LM inside accelerate: import its own arguments"},
    {"parallelism_config.*", "degrees that accelerate cuts the model by"},
};
constexpr std::string_view kAccelerateIgnored[] = {
    "fsdp_config.*",
    "deepspeed_config.*",
    "machine_rank",
    "main_process_*",
    "main_training_function",
    "rdzv_backend",
    "same_network",
    "use_cpu",
    "debug",
    "downcast_bf16",
    "enable_cpu_affinity",
    "gpu_ids",
    "tpu_*",
    "mpirun_config*",
    "deepspeed_*",
    "compute_*",
};

// --- Axolotl: v0.19.0 src/axolotl/utils/schemas ---

/// Extensions by the paths of their classes. CutCrossEntropyPlugin's own arguments have cut_cross_entropy
/// true (src/axolotl/integrations/cut_cross_entropy/args.py); Liger's say nothing until they are set.
void read_plugins(V v, R r) {
  const auto take = [&](const std::string& path) {
    const std::string name =
        path.substr(path.find_last_of('.') == std::string::npos ? 0 : path.find_last_of('.') + 1);
    if (name == "CutCrossEntropyPlugin") {
      r.trainer.cut_cross_entropy = r.trainer.cut_cross_entropy.value_or(true);
    } else if (name != "LigerPlugin") {
      r.notes.push_back("the plugin " + name + " has no word here: nothing is planned for it");
    }
  };
  if (v.json().get_if<JsonArray>() == nullptr) return take(v.text());
  for (const ValueReader& element : v.elements()) take(element.text());
}

constexpr ForeignSetting kAxolotlMore[] = {
    {"optim_args.rank", [](V v, R r) { r.trainer.subspaces.rank = v.integer(kLengths); }},
    {"optim_args.update_proj_gap", [](V v, R r) { r.trainer.subspaces.interval = v.integer(kLengths); }},
    {"optim_args.scale_type", [](V v, R r) { r.trainer.subspaces.by_matrix = v.text() == "tensor"; }},
    {"max_packed_sequence_len", read_length},
    {"flash_attention",
     [](V v, R r) {
       if (v.boolean()) r.plan.recipe.attention = costmodel::AttentionKernel::FlashAttention2;
     }},
    {"sdp_attention", nullptr},
    {"xformers_attention", nullptr},
    {"flex_attention", nullptr},
    {"eager_attention",
     [](V v, R r) {
       if (v.boolean()) r.plan.recipe.attention = costmodel::AttentionKernel::Unfused;
     }},
    {"liger_fused_linear_cross_entropy", read_chunked_loss},
    {"cut_cross_entropy", [](V v, R r) { r.trainer.cut_cross_entropy = v.boolean(); }},
    {"plugins", read_plugins},
    {"fsdp", read_fsdp},
    {"fsdp_version", read_fsdp_version},
    {"fsdp_config.fsdp_version", read_fsdp_version},
    {"fsdp_config.fsdp_offload_params", read_flag<&TrainerReading::offload>},
    {"fsdp_config.fsdp_sharding_strategy", read_reshard},
    {"fsdp_config.fsdp_reshard_after_forward", read_reshard},
    {"fsdp_config.activation_checkpointing", read_flag<&TrainerReading::checkpoints>},
    {"fsdp_config.fsdp_activation_checkpointing", read_flag<&TrainerReading::checkpoints>},
    {"fsdp_config.fsdp_auto_wrap_policy", nullptr},
    {"fsdp_config.transformer_layer_cls_to_wrap", nullptr},
    {"fsdp_config.fsdp_transformer_layer_cls_to_wrap", nullptr},
    {"tensor_parallel_size", read_degree<&costmodel::Layout::tp>},
    {"context_parallel_size", read_degree<&costmodel::Layout::cp>},
    {"sequence_parallel_degree", read_degree<&costmodel::Layout::cp>},
    {"bfloat16", read_flag<&LaunchReading::brain>},
    {"float16",
     [](V v, R r) {
       r.half = v.boolean();
       if (r.half) r.brain = false;
     }},
};
constexpr WordlessSetting kAxolotlWordless[] = {
    {"lora_*_kernel", "adapters' products in fused kernels"},
    {"lora_target_parameters", "adapters beside parameters that are no linear layer"},
    {"unfrozen_parameters*", "parameters that are trained, where most are not"},
    {"peft_layers*", "adapters beside some of the layers"},
    {"selective_checkpointing*", "operations that checkpoints keep"},
    {"quantize_moe_experts", "experts that are parameters, quantised: planned in 16 bits"},
    {"layer_offloading", "parameters of layers in host memory"},
    {"tiled_mlp*", "MLPs in pieces of the sequence"},
    {"liger_*", "fused kernels of norms, RoPE and gates"},
    {"relora*", "ReLoRA"},
    {"torchao*", "quantisation by torchao"},
    {"qat.*", "quantisation-aware training"},
    {"rl",
     "a loss on preferences or rewards: a step of supervised fine-tuning is planned; hexaplan posttrain "
     "plans "
     "DPO, PPO and GRPO"},
    {"pad_to_sequence_len", "padding: full sequences are planned"},
    {"embeddings_skip_upcast", "the type of the embeddings"},
};
constexpr std::string_view kAxolotlIgnored[] = {
    "optim_args.*",
    "accelerator_config*",
    "model_type",
    "tokenizer*",
    "processor_type",
    "is_*_derived_model",
    "trust_remote_code",
    "strict",
    "datasets*",
    "dataset_*",
    "test_datasets*",
    "pretraining_dataset*",
    "chat_template*",
    "default_system_message",
    "val_set_size",
    "output_dir",
    "adapter_model",
    "lora_model_dir",
    "lora_fan_in_fan_out",
    "lora_on_cpu",
    "peft_use_rslora",
    "loraplus_*",
    "sample_packing*",
    "eval_*",
    "evals_per_epoch",
    "saves_per_epoch",
    "save_*",
    "wandb*",
    "mlflow*",
    "comet*",
    "use_tensorboard",
    "num_epochs",
    "lr_*",
    "learning_rate",
    "weight_decay",
    "adam_*",
    "max_grad_norm",
    "warmup_*",
    "cosine_*",
    "train_on_inputs",
    "group_by_length",
    "gradient_checkpointing_kwargs*",
    "early_stopping_patience",
    "resume_from_checkpoint",
    "auto_resume_from_checkpoints",
    "local_rank",
    "logging_steps",
    "debug",
    "deepspeed",
    "special_tokens*",
    "tokens*",
    "hub_*",
    "push_*",
    "seed",
    "shuffle*",
    "dataloader_*",
    "loss_watchdog*",
    "gc_steps",
    "ddp*",
    "fsdp_config.*",
    "s2_attention",
    "eot_tokens*",
    "bnb_config_kwargs*",
    "torch_compile_*",
    "excess_length_strategy",
    "batch_flattening",
    "streaming*",
    "use_kernels",
    "base_model_config",
    "model_config.*",
    "flash_attn_*",
};

// --- LLaMA-Factory: v0.9.5 src/llamafactory/hparams ---

template <const char* const& usual>
void read_usual_word(V v, R r) {
  if (v.text() != usual) r.notes.push_back(v.pointer() + " " + v.text() + ": planned as " + usual);
}
constexpr const char* kEveryLayer = "all";
constexpr const char* kShorterSide = "std";
constexpr const char* kAtRandom = "random";

constexpr ForeignSetting kLlamaFactoryMore[] = {
    {"galore_target", read_usual_word<kEveryLayer>},
    {"galore_proj_type", read_usual_word<kShorterSide>},
    {"apollo_target", read_usual_word<kEveryLayer>},
    {"apollo_proj_type", read_usual_word<kShorterSide>},
    {"apollo_proj", read_usual_word<kAtRandom>},
    {"gradient_checkpointing", read_flag<&TrainerReading::checkpoints>},
    {"quantization_method", nullptr},
    {"fsdp_config.transformer_layer_cls_to_wrap", nullptr},
    {"stage",
     [](V v, R r) {
       if (v.text() != "sft" && v.text() != "pt")
         r.notes.push_back("stage " + v.text() +
                           ": a step of supervised fine-tuning is planned; hexaplan posttrain plans DPO, PPO "
                           "and GRPO");
     }},
};
constexpr WordlessSetting kLlamaFactoryWordless[] = {
    {"use_unsloth*", "Unsloth's kernels"},
    {"use_badam", "BAdam"},
    {"badam_*", "BAdam"},
    {"use_muon", "Muon on the matrices: say --optimizer muon"},
    {"upcast_layernorm", "norms in fp32"},
    {"upcast_lmhead_output", "logits in fp32"},
    {"shift_attn", "attention in shifted groups"},
    {"freeze_*", "parts that are not trained"},
    {"mixture_of_depths", "layers that tokens skip"},
    {"neftune_noise_alpha", "noise on the embeddings"},
    {"use_llama_pro", "new layers that alone are trained"},
    {"rope_scaling", "the scaling of RoPE"},
};
constexpr std::string_view kLlamaFactoryIgnored[] = {
    "accelerator_config*",
    "output_dir",
    "overwrite_*",
    "do_*",
    "eval*",
    "per_device_eval_batch_size",
    "predict_*",
    "num_train_epochs",
    "learning_rate",
    "galore_scale",
    "apollo_scale_front",
    "lr_*",
    "warmup*",
    "weight_decay",
    "adam_*",
    "max_grad_norm",
    "log*",
    "plot_loss",
    "report_to",
    "run_name",
    "save_*",
    "seed",
    "dataset*",
    "media_dir",
    "template",
    "max_samples",
    "val_size",
    "preprocessing_*",
    "dataloader_*",
    "ddp_*",
    "deepspeed",
    "resume_from_checkpoint",
    "trust_remote_code",
    "use_rslora",
    "loraplus_*",
    "pissa_*",
    "create_new_adapter",
    "quantization_type",
    "quantization_device_map",
    "packing",
    "neat_packing",
    "train_on_prompt",
    "mask_history",
    "streaming",
    "buffer_size",
    "mix_strategy",
    "interleave_probs",
    "cache_dir",
    "tokenized_path",
    "hf_hub_token",
    "use_reentrant_gc",
    "use_fast_tokenizer",
    "flash_attn_*",
    "pref_*",
    "include_*",
    "push_to_hub*",
    "hub_*",
    "swanlab_*",
    "use_swanlab",
    "image_*",
    "video_*",
    "audio_*",
    "enable_thinking",
    "fsdp_config.*",
    "low_cpu_mem_usage",
    "remove_unused_columns",
    "ignore_data_skip",
    "load_best_model_at_end",
    "metric_for_best_model",
    "greater_is_better",
    "torch_compile_*",
};

constexpr Dialect kDialects[] = {
    {Launcher::Trl, kTrlMore, kTrlWordless, kTrlIgnored, false},
    {Launcher::Axolotl, kAxolotlMore, kAxolotlWordless, kAxolotlIgnored, false},
    {Launcher::LlamaFactory, kLlamaFactoryMore, kLlamaFactoryWordless, kLlamaFactoryIgnored, false},
    {Launcher::Trl, kAccelerateMore, kAccelerateWordless, kAccelerateIgnored, false, true},
};

}  // namespace

std::span<const Dialect> trainer_dialects() {
  return kDialects;
}

}  // namespace hexaplan::presets
