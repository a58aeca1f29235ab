#include "presets/truth/scenario_of_row.h"

#include <gtest/gtest.h>

#include "costmodel/spec/optimizer_traits.h"

namespace hexaplan::presets {
namespace {

using costmodel::AttentionKernel;
using costmodel::DType;
using costmodel::PositionKind;
using costmodel::RecomputeMode;
using costmodel::Scenario;
using costmodel::ScheduleKind;
using costmodel::StageSplit;

/// A dense Llama on one H100 node; every test changes what it is about.
TruthRow plain_row() {
  TruthRow row;
  row.case_id = "X-1";
  row.arch = "llama";
  row.layers = 32, row.hidden = 4096, row.ffn = 11008, row.heads = 32, row.vocab = 32000, row.seq = 4096;
  row.gpu = "h100-80-sxm";
  row.n_gpus = 8, row.gpus_per_node = 8;
  row.tp = 2, row.pp = 2, row.dp = 2, row.micro_batch = 1, row.global_batch = 16;
  row.zero = "1", row.schedule = "1f1b", row.stage_layout = "uniform";
  row.framework_profile = "megatron", row.precision_norm = "bf16", row.params_dtype = "bf16",
  row.grad_dtype = "fp32";
  row.optimizer_norm = "adamw", row.attention = "flash", row.recompute_norm = "none",
  row.finetune = "pretrain";
  return row;
}

Scenario scenario_of(const TruthRow& row) {
  RowScenario result = RowInterpreter{}.scenario_of(row);
  if (const auto* none = std::get_if<NoScenario>(&result)) {
    ADD_FAILURE() << none->reason;
    return {};
  }
  return std::get<Scenario>(std::move(result));
}
std::string reason_of(const TruthRow& row) {
  const RowScenario result = RowInterpreter{}.scenario_of(row);
  const auto* none = std::get_if<NoScenario>(&result);
  return none == nullptr ? "scored" : none->reason;
}

TEST(scenario_of_row, takes_model_machines_layout_and_recipe) {
  const Scenario s = scenario_of(plain_row());
  EXPECT_EQ(s.model.layers, 32);
  EXPECT_EQ(s.model.attention.head_dim, 128);
  EXPECT_EQ(s.cluster.gpu.name, "h100-80-sxm");
  EXPECT_EQ(s.layout.world_size(), 8);
  EXPECT_EQ(s.layout.sharding.stage, 1);
  EXPECT_EQ(s.recipe.gradient_dtype, DType::Fp32);
  EXPECT_EQ(s.framework.name, "megatron");
}

TEST(scenario_of_row, architecture_fills_what_the_row_leaves_open) {
  TruthRow row = plain_row();
  row.arch = "gpt";
  Scenario s = scenario_of(row);
  EXPECT_EQ(s.model.positions, PositionKind::Learned);
  EXPECT_TRUE(s.model.tied_embeddings);
  EXPECT_TRUE(s.model.mlp.bias);
  EXPECT_FALSE(s.model.mlp.gated);
  row.tied_embeddings = false, row.learned_positions = false, row.gated_mlp = true, row.linear_bias = false;
  s = scenario_of(row);
  EXPECT_EQ(s.model.positions, PositionKind::Rotary);
  EXPECT_FALSE(s.model.tied_embeddings);
  EXPECT_FALSE(s.model.mlp.bias);
  EXPECT_TRUE(s.model.mlp.gated);
}

TEST(scenario_of_row, latent_attention_adds_the_rotary_part_to_the_query_heads) {
  TruthRow row = plain_row();
  row.arch = "deepseek", row.head_dim = 128, row.q_lora_rank = 1536, row.kv_lora_rank = 512;
  row.n_experts = 256, row.top_k = 8, row.moe_ffn = 2048, row.shared_experts = 1.5, row.first_k_dense = 3,
  row.dense_ffn = 18432;
  const Scenario s = scenario_of(row);
  EXPECT_EQ(s.model.attention.head_dim, 192);
  EXPECT_EQ(s.model.attention.v_head_dim, 128);
  EXPECT_EQ(s.model.moe.shared_ffn, 3072);
  EXPECT_EQ(s.model.mlp.ffn, 18432);
  EXPECT_EQ(s.model.moe.first_k_dense, 3);
}

TEST(scenario_of_row, the_engine_and_its_time_choose_the_profile) {
  struct Case {
    const char *profile, *engine, *era, *expected;
  };
  for (const Case& c :
       {Case{"nanotron", "nanotron-polling", "2024-12", "nanotron-polling"},
        Case{"nanotron", "nanotron", "2024-12", "nanotron"},
        Case{"megatron", "megatron-core", "2022-08", "megatron-2022"},
        Case{"megatron", "megatron-core", "2023", "megatron-2023"},
        Case{"megatron", "megatron-core", "24.07", "megatron"},
        Case{"megatron", "megatron-core", "mlperf-v4.0", "megatron"},
        Case{"megatron", "megatron-lm", "2021-04", "megatron-2022"},
        Case{"megatron", "megatron-lm", "2024-10", "megatron-2023"},
        Case{"megatron", "megatron-lm", "2026", "megatron"},
        Case{"megatron", "an engine of tomorrow", "", "megatron"},
        Case{"megatron", "aleph-alpha-scaling", "2023-11", "megatron-aleph-alpha"},
        Case{"fsdp2", "kempnerforge", "", "fsdp2-kempnerforge"},
        Case{"fsdp2", "nemo-automodel", "2026", "fsdp2"}, Case{"maxtext", "maxtext", "2025", "maxtext"},
        Case{"maxtext", "paxml", "2024", "paxml"}, Case{"hf", "hf-trainer", "2026", "hf-eager"}}) {
    TruthRow row = plain_row();
    row.framework_profile = c.profile, row.engine = c.engine, row.engine_era = c.era;
    EXPECT_EQ(scenario_of(row).framework.name, c.expected) << c.engine << ' ' << c.era;
  }
}

TEST(scenario_of_row, a_gpu_below_its_power_is_the_one_with_the_limit) {
  TruthRow row = plain_row();
  row.gpu = "b200";
  EXPECT_EQ(scenario_of(row).cluster.gpu.name, "b200");
  row.power_limited = true;
  EXPECT_EQ(scenario_of(row).cluster.gpu.name, "b200-750w");
  row.gpu = "h200";
  EXPECT_EQ(scenario_of(row).cluster.gpu.name, "h200") << "nobody says how low";
}

TEST(scenario_of_row, the_era_chooses_the_generation_of_flash_attention) {
  using costmodel::AttentionLibrary;
  struct Case {
    const char *profile, *engine, *era;
    AttentionLibrary expected;
  };
  for (const Case& c : {Case{"ddp", "flash-attention-training", "2022", AttentionLibrary::FlashAttention1},
                        Case{"fsdp1", "llm-foundry", "2023", AttentionLibrary::FlashAttention1},
                        Case{"fsdp1", "fms-fsdp", "2024", AttentionLibrary::FlashAttention2},
                        Case{"fsdp1", "an engine of tomorrow", "", AttentionLibrary::FlashAttention2},
                        Case{"other", "internevo", "2023-11", AttentionLibrary::FlashAttention2},
                        Case{"megatron", "megatron-lm", "2022-05", AttentionLibrary::FlashAttention1},
                        Case{"megatron", "megatron-lm", "2026", AttentionLibrary::Vendor}}) {
    TruthRow row = plain_row();
    row.framework_profile = c.profile, row.engine = c.engine, row.engine_era = c.era;
    EXPECT_EQ(scenario_of(row).framework.attention_library, c.expected) << c.engine << ' ' << c.era;
  }
}

TEST(scenario_of_row, products_with_4_bit_weights_kept_their_inputs_until_bitsandbytes_freed_them) {
  struct Case {
    const char *engine, *era;
    bool keeps;
  };
  for (const Case& c :
       {Case{"lit-gpt", "2023", true}, Case{"lit-gpt", "2023-10", true}, Case{"litgpt", "2024", true},
        Case{"litgpt", "2025", false}, Case{"torchtune", "2024", false},
        Case{"hf-transformers", "2025", false}, Case{"an engine of tomorrow", "", false}}) {
    TruthRow row = plain_row();
    row.framework_profile = "ddp", row.engine = c.engine, row.engine_era = c.era;
    EXPECT_EQ(scenario_of(row).framework.four_bit_keeps_inputs, c.keeps) << c.engine << ' ' << c.era;
  }
}

TEST(scenario_of_row, deepspeed_ran_transformers_layers_before_there_were_ligers_kernels) {
  TruthRow row = plain_row();
  row.framework_profile = "deepspeed", row.engine = "deepspeed", row.arch = "llama";
  row.engine_era = "2023-11";
  EXPECT_EQ(scenario_of(row).framework.name, "hf-deepspeed");
  for (const char* era : {"2024-10", "2026", ""}) {
    row.engine_era = era;
    EXPECT_EQ(scenario_of(row).framework.name, "deepspeed") << era;
  }
  row.engine_era = "2021", row.arch = "gpt";  // Megatron's code of the ZeRO papers
  EXPECT_EQ(scenario_of(row).framework.name, "deepspeed");
}

TEST(scenario_of_row, automodel_has_a_profile_for_models_with_experts) {
  TruthRow row = plain_row();
  row.framework_profile = "fsdp2", row.engine = "nemo-automodel";
  row.arch = "moe-llama", row.n_experts = 8, row.top_k = 2;
  EXPECT_EQ(scenario_of(row).framework.name, "fsdp2-automodel");
}

TEST(scenario_of_row, what_ran_beside_what_is_part_of_the_recipe) {
  TruthRow row = plain_row();
  EXPECT_EQ(scenario_of(row).recipe.execution, costmodel::Execution{}) << "empty: as the framework does";
  row.tp_comm_overlap = true, row.pipeline_overlap = false, row.dp_overlap = true, row.ep_overlap = true;
  row.compile = true, row.cuda_graphs = "full_iteration", row.moe_dispatcher = "deepep";
  row.dropout = 0.25;
  const costmodel::Recipe recipe = scenario_of(row).recipe;
  EXPECT_EQ(recipe.execution, (costmodel::Execution{.tensor_overlap = true,
                                                    .pipeline_overlap = false,
                                                    .data_overlap = true,
                                                    .expert_overlap = true,
                                                    .compiled = true,
                                                    .graphs = costmodel::CudaGraphs::FullIteration,
                                                    .dispatcher = costmodel::ExpertDispatcher::DeepEp}));
  EXPECT_EQ(recipe.dropout, 0.25);
}

TEST(scenario_of_row, torchtitan_compiles_16_bits_where_the_row_says_so_alone) {
  TruthRow row = plain_row();
  row.framework_profile = "fsdp2", row.engine = "torchtitan";
  EXPECT_EQ(scenario_of(row).recipe.execution.compiled, false);
  row.compile = true;
  EXPECT_EQ(scenario_of(row).recipe.execution.compiled, true);
  row.compile = {}, row.precision_norm = "fp8";
  EXPECT_EQ(scenario_of(row).recipe.execution.compiled, std::nullopt);
  row.engine = "kempnerforge", row.precision_norm = "bf16";
  EXPECT_EQ(scenario_of(row).recipe.execution.compiled, std::nullopt);
}

TEST(scenario_of_row, adapters_over_a_base_of_four_bits_are_qlora) {
  TruthRow row = plain_row();
  row.finetune = "adapter", row.base_dtype = "bf16";
  EXPECT_EQ(scenario_of(row).recipe.fine_tune, costmodel::FineTune::Lora);
  row.base_dtype = "nf4";
  EXPECT_EQ(scenario_of(row).recipe.fine_tune, costmodel::FineTune::Qlora);
  EXPECT_FALSE(scenario_of(row).recipe.double_quantization);
  row.base_dtype = "nf4-dq";
  EXPECT_EQ(scenario_of(row).recipe.fine_tune, costmodel::FineTune::Qlora);
  EXPECT_TRUE(scenario_of(row).recipe.double_quantization);
}

TEST(scenario_of_row, adapters_stand_where_the_engines_recipes_put_them) {
  TruthRow row = plain_row();
  row.finetune = "lora";
  EXPECT_EQ(scenario_of(row).recipe.lora_targets, costmodel::AdapterTargets::Attention);
  row.framework_profile = "ddp", row.engine = "litgpt";
  EXPECT_EQ(scenario_of(row).recipe.lora_targets, costmodel::AdapterTargets::QueryValue);
  row.framework_profile = "fsdp2", row.engine = "nemo-automodel";
  EXPECT_EQ(scenario_of(row).recipe.lora_targets, costmodel::AdapterTargets::AllLinear);
}

TEST(scenario_of_row, nanotrons_machines_have_the_network_that_was_measured_on_them) {
  TruthRow row = plain_row();
  row.n_gpus = 16, row.dp = 4, row.network_kind = "efa", row.node_nic_gbps = 3200;
  EXPECT_TRUE(scenario_of(row).cluster.levels.back().name.starts_with("efa4"));
  row.framework_profile = "nanotron", row.engine = "nanotron";
  EXPECT_TRUE(scenario_of(row).cluster.levels.back().name.starts_with("efa-nanotron4"));
}

TEST(scenario_of_row, a_base_of_8_bits_under_adapters_is_frozen_in_them) {
  TruthRow row = plain_row();
  row.base_dtype = "fp8";
  EXPECT_EQ(scenario_of(row).recipe.parameter_dtype, DType::Bf16) << "not fine-tuned";
  row.finetune = "lora";
  EXPECT_EQ(scenario_of(row).recipe.parameter_dtype, DType::Fp8);
}

TEST(scenario_of_row, the_network_is_what_its_column_says) {
  TruthRow row = plain_row();
  row.n_gpus = 16, row.dp = *row.dp * 4, row.gpus_per_node = 8, row.node_nic_gbps = 800;
  row.global_batch = *row.global_batch * 4;
  for (const auto& [word, level] : {std::pair{"efa", "efa"}, std::pair{"omnipath", "omni-path"},
                                    std::pair{"roce", "roce"}, std::pair{"ib", "ib"}}) {
    row.network_kind = word;
    EXPECT_TRUE(scenario_of(row).cluster.levels.back().name.starts_with(level)) << word;
  }
}

TEST(scenario_of_row, sharding_words) {
  struct Case {
    std::string word;
    int stage, group;
  };
  for (const Case& c :
       {Case{"unknown", 0, 0}, Case{"2", 2, 0}, Case{"fsdp-full", 3, 0}, Case{"fsdp-hybrid", 3, 8}}) {
    TruthRow row = plain_row();
    row.zero = c.word;
    const Scenario s = scenario_of(row);
    EXPECT_EQ(s.layout.sharding.stage, c.stage) << c.word;
    EXPECT_EQ(s.layout.sharding.group, c.group) << c.word;
  }
}

TEST(scenario_of_row, experts_stay_whole_where_cutting_them_over_tp_leaves_no_room) {
  TruthRow row = plain_row();
  row.arch = "moe-llama", row.n_experts = 8, row.top_k = 2;
  row.tp = 2, row.pp = 1, row.dp = 4, row.ep = 4;
  EXPECT_EQ(scenario_of(row).layout.expert_tensor(), 2);
  row.ep = 8;
  EXPECT_EQ(scenario_of(row).layout.expert_tensor(), 1);
}

TEST(scenario_of_row, deepspeed_shards_the_optimizer_where_a_row_does_not_say) {
  TruthRow row = plain_row();
  row.framework_profile = "megatron-deepspeed", row.zero = "unknown";
  EXPECT_EQ(scenario_of(row).layout.sharding.stage, 1);
  row.zero = "0";
  EXPECT_EQ(scenario_of(row).layout.sharding.stage, 0);
}

TEST(scenario_of_row, preconditioners_have_the_frequency_and_the_side_that_a_row_states) {
  TruthRow row = plain_row();
  row.framework_profile = "ddp", row.zero = "0";
  row.tp = row.pp = row.dp = 1, row.n_gpus = row.gpus_per_node = 1, row.global_batch = 1;
  row.optimizer_norm = "shampoo";
  EXPECT_EQ(scenario_of(row).recipe.optimizer, costmodel::Optimizer::Shampoo);
  EXPECT_EQ(costmodel::precondition_frequency(scenario_of(row).recipe), 100);
  row.precondition_frequency = 50, row.max_precondition_dim = 1024;
  EXPECT_EQ(scenario_of(row).recipe.precondition_frequency, 50);
  EXPECT_EQ(costmodel::max_precondition_dim(scenario_of(row).recipe), 1024);
}

/// jiaweizzhao/GaLore@2cc66f8 scripts/single_gpu/llama_7b.sh.
TEST(scenario_of_row, subspaces_have_the_rank_and_interval_that_a_row_states) {
  TruthRow row = plain_row();
  row.framework_profile = "hf-eager", row.zero = "0";
  row.tp = row.pp = row.dp = 1, row.n_gpus = row.gpus_per_node = 1, row.global_batch = 1;
  row.optimizer_norm = "galore-8bit";
  EXPECT_EQ(scenario_of(row).recipe.optimizer, costmodel::Optimizer::Galore8bit);
  EXPECT_EQ(costmodel::projection_interval(scenario_of(row).recipe), 200);
  row.projection_rank = 1024, row.projection_interval = 500;
  EXPECT_EQ(scenario_of(row).recipe.projection_rank, 1024);
  EXPECT_EQ(costmodel::projection_interval(scenario_of(row).recipe), 500);
}

TEST(scenario_of_row, gradients_that_a_row_does_not_state) {
  TruthRow row = plain_row();
  row.grad_dtype = "unknown";
  EXPECT_EQ(scenario_of(row).recipe.gradient_dtype, DType::Bf16);
  row.zero = "0";
  EXPECT_EQ(scenario_of(row).recipe.gradient_dtype, std::nullopt);
  row.precision_norm = "fp16", row.params_dtype = "fp16";
  EXPECT_EQ(scenario_of(row).recipe.gradient_dtype, DType::Fp16) << "Megatron-LM sums in fp32 in bf16 alone";
  row.framework_profile = "other";
  EXPECT_EQ(scenario_of(row).recipe.gradient_dtype, std::nullopt);
}

TEST(scenario_of_row, gpt_of_megatron_drops_out) {
  TruthRow row = plain_row();
  EXPECT_EQ(scenario_of(row).recipe.dropout, 0.0);
  row.arch = "gpt";
  EXPECT_EQ(scenario_of(row).recipe.dropout, 0.1);
}

TEST(scenario_of_row, unfused_norms_keep_more) {
  TruthRow row = plain_row();
  const auto norm_input = [&] {
    return scenario_of(row).framework.saved[static_cast<std::size_t>(costmodel::Saved::NormInput)];
  };
  EXPECT_EQ(norm_input().compute, 1);
  row.fused_norm = false;
  EXPECT_EQ(norm_input().fp32, 1);
}

TEST(scenario_of_row, the_first_algorithm_of_vocabulary_parallelism_synchronises_twice) {
  TruthRow row = plain_row();
  row.vocab_method = "vocab-1";
  EXPECT_EQ(scenario_of(row).layout.vocab, costmodel::VocabParallel::AllStagesTwoBarriers);
  row.vocab_method = "vocab-2";
  EXPECT_EQ(scenario_of(row).layout.vocab, costmodel::VocabParallel::AllStagesOneBarrier);
}

TEST(scenario_of_row, layers_left_over_by_redistribution_go_late) {
  TruthRow row = plain_row();
  row.vocab_method = "redis", row.vocab = 131072, row.hidden = 3072, row.seq = 2048, row.pp = 8, row.dp = 1,
  row.tp = 1;
  const std::vector<int> layers = scenario_of(row).layout.stage_layers;
  ASSERT_EQ(layers.size(), 8U);
  EXPECT_EQ(layers[0], 4);
  EXPECT_EQ(layers[6], 5);
}

TEST(scenario_of_row, more_chunks_than_one_are_interleaved) {
  TruthRow row = plain_row();
  row.vpp = 2;
  EXPECT_EQ(scenario_of(row).layout.schedule, ScheduleKind::Interleaved);
}

TEST(scenario_of_row, redistributed_layers_relieve_the_stage_with_the_output_layer) {
  TruthRow row = plain_row();
  row.vocab_method = "redis", row.stage_layout = "custom", row.vocab = 256000;
  const Scenario s = scenario_of(row);
  ASSERT_EQ(s.layout.split, StageSplit::Explicit);
  ASSERT_EQ(s.layout.stage_layers.size(), 2U);
  EXPECT_EQ(s.layout.stage_layers[0] + s.layout.stage_layers[1], 32);
  EXPECT_LT(s.layout.stage_layers[1], s.layout.stage_layers[0]);
}

TEST(scenario_of_row, stored_scores_of_gpt_went_through_the_fused_softmax_of_megatron) {
  TruthRow row = plain_row();
  row.attention = "unfused";
  EXPECT_EQ(scenario_of(row).recipe.attention, AttentionKernel::Unfused);
  row.arch = "gpt";
  EXPECT_EQ(scenario_of(row).recipe.attention, AttentionKernel::FusedSoftmax);
}

TEST(scenario_of_row, an_unstated_loss_is_that_of_the_engine_and_its_time) {
  using costmodel::CrossEntropy;
  struct Case {
    const char *engine, *era;
    CrossEntropy expected;
  };
  for (const Case& c :
       {Case{"megatron-bridge", "26.02", CrossEntropy::Fused},
        Case{"megatron-core", "25.02", CrossEntropy::Fused},
        Case{"megatron-core", "mlperf-v5.1", CrossEntropy::Fused},
        Case{"megatron-core", "24.07", CrossEntropy::Default},
        Case{"megatron-core", "", CrossEntropy::Default}, Case{"llm.c", "2024", CrossEntropy::Fused},
        Case{"torchtitan", "2025-06", CrossEntropy::Fused},
        Case{"torchtitan", "2024-12", CrossEntropy::Default},
        Case{"megatron-lm", "2026", CrossEntropy::Default}}) {
    TruthRow row = plain_row();
    row.compile = true;
    row.engine = c.engine, row.engine_era = c.era;
    EXPECT_EQ(scenario_of(row).recipe.cross_entropy, c.expected) << c.engine << ' ' << c.era;
    row.ce_kind = "chunked";
    EXPECT_EQ(scenario_of(row).recipe.cross_entropy, CrossEntropy::Chunked) << "as the row says";
  }
  TruthRow eager = plain_row();
  eager.engine = "torchtitan", eager.engine_era = "2025-06", eager.compile = false;
  EXPECT_EQ(scenario_of(eager).recipe.cross_entropy, CrossEntropy::Default);
}

TEST(scenario_of_row, an_unstated_attention_kernel_is_that_of_its_time) {
  TruthRow row = plain_row();
  row.attention = "unknown";
  EXPECT_EQ(scenario_of(row).recipe.attention, AttentionKernel::Flash);
  row.framework_profile = "megatron-deepspeed";
  EXPECT_EQ(scenario_of(row).recipe.attention, AttentionKernel::FusedSoftmax);
}

TEST(scenario_of_row, recompute_words) {
  TruthRow row = plain_row();
  row.recompute_norm = "selective-modules", row.recompute_modules = "layernorm;moe_act";
  EXPECT_EQ(scenario_of(row).recipe.recompute.modules,
            costmodel::kRecomputeNorm | costmodel::kRecomputeMoeActivation);
  row.recompute_norm = "block-N", row.recompute_layers = 3;
  EXPECT_EQ(scenario_of(row).recipe.recompute.mode, RecomputeMode::Layers);
  EXPECT_EQ(scenario_of(row).recipe.recompute.layers, 3);
}

struct Unusable {
  std::string name;
  void (*change)(TruthRow&);
  std::string reason;
};
class UnusableRow : public testing::TestWithParam<Unusable> {};
TEST_P(UnusableRow, has_a_reason) {
  TruthRow row = plain_row();
  GetParam().change(row);
  EXPECT_EQ(reason_of(row), GetParam().reason);
}
INSTANTIATE_TEST_SUITE_P(
    table, UnusableRow,
    testing::Values(
        Unusable{"architecture", [](TruthRow& r) { r.arch = "t5"; }, "architecture 't5' is not modelled"},
        Unusable{"no_layers", [](TruthRow& r) { r.layers.reset(); }, "layers is not given"},
        Unusable{"zero_heads", [](TruthRow& r) { r.heads = 0; }, "heads is 0"},
        Unusable{"unknown_gpu", [](TruthRow& r) { r.gpu = "unknown"; }, "the GPU type is not known"},
        Unusable{"unknown_precision", [](TruthRow& r) { r.precision_norm = "unknown"; },
                 "precision_norm is 'unknown'"},
        Unusable{"unknown_recompute", [](TruthRow& r) { r.recompute_norm = "unknown"; },
                 "recompute_norm is 'unknown'"},
        Unusable{"unreadable_cell", [](TruthRow& r) { r.problem = "tp is 'x', not a number"; },
                 "tp is 'x', not a number"}),
    [](const auto& row) { return row.param.name; });

TEST(scenario_of_row, sizes_that_are_too_much_together_are_named) {
  const auto reason_of = [](const auto& change) {
    TruthRow row = plain_row();
    change(row);
    const RowScenario result = RowInterpreter{}.scenario_of(row);
    const auto* none = std::get_if<NoScenario>(&result);
    return none == nullptr ? std::string{} : none->reason;
  };
  EXPECT_EQ(reason_of([](TruthRow& r) { r.heads = 8192; }),
            "8192 heads of a hidden size of 4096: no element per head");
  EXPECT_EQ(reason_of([](TruthRow& r) { r.hidden = 1'000'000'000; }).substr(0, 10), "a model of");
  EXPECT_EQ(reason_of([](TruthRow& r) { r.tp = r.pp = r.dp = 1'000'000; }),
            "a layout of 1e+18 ranks, at most 1e+07");
  EXPECT_EQ(
      reason_of([](TruthRow& r) { r.global_batch.reset(), r.micro_batch = r.grad_accum = 1'000'000'000; }),
      "a global batch of 2e+18 sequences, at most 1e+09");
}

}  // namespace
}  // namespace hexaplan::presets
