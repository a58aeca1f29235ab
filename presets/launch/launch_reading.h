#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/spec/scenario.h"
#include "presets/launch/launch_config.h"
#include "presets/launch/maxtext_plan.h"

namespace hexaplan::presets {

/// GaLore and APOLLO in files of trainers. Unset: the trainer's default.
struct SubspaceReading {
  bool galore = false, apollo = false;  // LLaMA-Factory's switches, which have defaults of their own
  bool by_matrix = false;               // APOLLO scales whole matrices
  bool layerwise = false;
  std::optional<std::int64_t> rank, interval;
};

/// What trainers above Hugging Face's Trainer say in parts.
struct TrainerReading {
  bool trl = false;  // a setting of TRL's own, not of the Trainer it stands on
  bool adapters = false, four_bits = false, eight_bits = false, double_quantization = false;
  bool dora = false;
  std::int64_t rank = 0;
  std::int64_t alpha = 0;            // of adapters; 0: not said
  double dropout = 0;                // in front of adapters
  std::vector<std::string> targets;  // modules; empty: not said
  std::vector<std::string> saved;    // … that train as a whole beside adapters
  costmodel::TrainedBiases bias = costmodel::TrainedBiases::None;
  std::optional<costmodel::DType> weights;
  bool pure_bf16 = false, tf32 = false;
  std::optional<bool> checkpoints;                // activations are recomputed
  bool chunked_loss = false, other_loss = false;  // other_loss: one that TRL computes from all logits
  bool deepspeed = false, fsdp = false, offload = false, hybrid = false;
  bool whole = false;                     // FSDP that shards nothing (NO_SHARD): data parallelism
  int fsdp_version = 0;                   // 0: not said
  bool accelerate_fsdp = false;           // accelerate's own configuration says that FSDP shards
  std::optional<bool> cut_cross_entropy;  // the plugin does it unless it is told otherwise
  bool reshard = true;
  SubspaceReading subspaces;
  bool reduces_every_micro_batch = false;  // otherwise accelerate's no_sync: FSDP reduces in the last one
};

/// What somebody's launch files say, gathered setting by setting, in any order. Begins as the framework's own
/// defaults.
struct LaunchReading {
  costmodel::Scenario plan;
  std::int64_t gpus = 0, gpus_per_node = 0, nodes = 0;  // 0: not said
  bool dp_said = false;

  // What several settings say together; settle_reading() puts it into the plan.
  std::int64_t accumulation = 0;    // micro-batches per step and rank
  std::int64_t local_batch = 0;     // torchtitan: sequences per step or micro-batch and rank
  std::int64_t pipeline_batch = 0;  // torchtitan: of one micro-batch in a pipeline
  std::int64_t pass_tokens = 0;     // torchtitan since 2026: of one pass of a data-parallel rank; 0: not said
  std::int64_t step_tokens = 0;     // … of a step of all ranks; -1: one micro-batch of each
  std::int64_t pipeline_passes = 1;
  bool whole_graphs = true;    // … forward and backward are one CUDA graph, where they can be
  bool compiles_model = true;  // torchtitan: what is compiled is more than the loss
  bool cuts_sequences = true;  // torchtitan: sequence parallelism beside tensor parallelism
  std::string assets;          // the folder that a hub's files were copied to
  std::int64_t steps = 0, samples = 0;
  std::int64_t replicas = 0, shards = 0;  // of the sharded state; shards: -1 = what is left of the ranks
  bool distributed_optimizer = false, fsdp = false, overlaps_gradients = false;
  std::optional<bool> overlap_comm;          // DeepSpeed's
  std::vector<std::string> left_to_trainer;  // settings of DeepSpeed that are "auto"
  std::int64_t named_layers = 0;             // of the user's model or one that the files name; 0: of neither
  std::int64_t named_hidden = 0;             // … its hidden size
  std::string strategy;                      // what is sharded, in the framework's word
  std::string stage_text;                    // --pipeline-model-parallel-layout
  std::int64_t virtual_layers = 0, layers_per_stage = 0;
  bool counts_embedding = false, counts_loss = false;
  std::string granularity, method;  // of recomputation
  std::int64_t recompute_count = 0;
  bool checkpoints_on_host = false;  // DeepSpeed's cpu_checkpointing: where layers are checkpointed
  bool half = false, brain = false, brain_said = false;  // fp16, bf16
  bool graphs_whole_step = false;                        // CUDA graphs of whole iterations
  bool fp8 = false, fp4 = false;
  std::string fp8_recipe;
  bool gradients_in_fp32 = false, gradients_in_bf16 = false;
  std::optional<costmodel::DType> first_moment, second_moment;
  std::optional<bool> fused_loss;
  bool no_bias = false, qkv_bias = false, gated = false, quick_gate = false, squared_relu = false,
       no_gelu_fusion = false;
  std::optional<double> attention_dropout, hidden_dropout;
  std::string layer_experts;                           // --moe-layer-freq
  std::string windowed;                                // --window-attn-skip-freq
  bool query_rank_said = false;                        // of latent attention, also that it has none
  std::optional<double> yarn_mscale, yarn_mscale_all;  // as config.json of DeepSeek has them
  std::optional<costmodel::ExpertDispatcher> dispatcher, flex_dispatcher;
  Mesh mesh{};              // MaxText; -1: what is left
  double device_batch = 0;  // MaxText: sequences of a pass per device
  std::int64_t shared_experts = 0;
  std::string decoder_block;
  bool drops_out = true;  // MaxText's switch of dropout
  std::string tokenizer;
  bool says_model = false;  // dimensions of the model are in the file

  TrainerReading trainer;

  std::string model_name;      // as a hub or a preset names it
  std::string family, flavor;  // torchtitan's two words for it
  std::string gpu;             // type, where something names one
  std::vector<std::string> notes;
};

/// The plan that a framework runs when its file says nothing.
[[nodiscard]] LaunchReading begin_reading(Launcher launcher);
/// Puts together what settings said in parts. `gpus` has to be set where it is known: sizes of groups follow
/// from it.
void settle_reading(LaunchReading& reading, Launcher launcher);

}  // namespace hexaplan::presets
