#include "costmodel/spec/rules.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/estimate.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

TEST(rules, accept_the_example) {
  EXPECT_FALSE(first_rejection(example_scenario()).has_value());
}

// Llama-3.1-405B over 16 stages of 8 chunks: embedding and output layer take a layer's place each.
TEST(rules, the_first_and_the_last_of_several_chunks_may_hold_the_ends_alone) {
  Scenario s = example_scenario();
  s.layout.schedule = ScheduleKind::Interleaved;
  s.layout.vpp = 8;  // 16 chunks
  for (const StageSplit split : {StageSplit::Even, StageSplit::EmbeddingCounts, StageSplit::EndsMinusOne}) {
    s.layout.split = split;
    s.model.layers = 14;
    EXPECT_FALSE(first_rejection(s).has_value());
    const std::vector<int> layers = chunk_layers(s);
    EXPECT_EQ(layers.front(), 0);
    EXPECT_EQ(layers.back(), 0);
    EXPECT_EQ(layers[1], 1);
    s.model.layers = 13;
    EXPECT_TRUE(first_rejection(s).has_value());
  }
}

TEST(rules, experts_are_padded_up_to_all_tokens_of_a_rank) {
  Scenario s = example_of_experts();
  s.recipe.routing = {.capacity_factor = 8, .pad_to_capacity = true};  // experts over experts per token
  EXPECT_FALSE(first_rejection(s).has_value());
  s.recipe.routing.capacity_factor = 8.001;
  EXPECT_TRUE(first_rejection(s).has_value());
  s.recipe.routing.pad_to_capacity = false;  // nothing to fill
  EXPECT_FALSE(first_rejection(s).has_value());
}

TEST(rules, gradients_have_the_types_that_the_framework_lists) {
  Scenario s = example_scenario();
  for (const DType type : {DType::Fp32, DType::Bf16}) {
    s.recipe.gradient_dtype = type;
    EXPECT_FALSE(first_rejection(s).has_value());
  }
  s.recipe.gradient_dtype = DType::Fp8;
  EXPECT_TRUE(first_rejection(s).has_value());
  s.framework.abilities.gradients |= 1U << static_cast<unsigned>(DType::Fp8);
  EXPECT_FALSE(first_rejection(s).has_value());
  s.recipe.gradient_dtype = DType::Fp16;
  EXPECT_TRUE(first_rejection(s).has_value());
  s.recipe.precision = Precision::Fp16;
  EXPECT_FALSE(first_rejection(s).has_value());
}

/// All of them, none, or a share where the framework can.
TEST(rules, a_share_of_the_optimizer_is_offloaded_under_the_stages_that_the_framework_lists) {
  Scenario s = example_scenario();
  s.framework.abilities.partial_offload = 0b1000;
  s.recipe.offload = kOffloadOptimizer;
  s.layout.sharding.stage = 1;
  EXPECT_FALSE(first_rejection(s).has_value());
  s.recipe.offload_fraction = 0.5;
  EXPECT_TRUE(first_rejection(s).has_value());
  s.layout.sharding.stage = 3;
  EXPECT_FALSE(first_rejection(s).has_value());
}

TEST(rules, each_rejection_names_its_rule_shows_its_numbers_and_says_what_would_pass) {
  struct Case {
    const char* rule;
    std::function<void(Scenario&)> change;
    const char* reason;
    const char* advice;
  };
  const Case cases[] = {
      {"degrees-are-positive", [](Scenario& s) { s.layout.tp = 0; }, "tp=0 is not a degree",
       "use tp=1 or more"},
      {"dimensions-are-positive", [](Scenario& s) { s.model.attention.kv_heads = 0; },
       "key-value heads of 0: nothing to compute", "give 1 or more"},
      {"counts-stay-in-range",
       [](Scenario& s) {
         s.recipe.micro_batch = 1'000'000'000;
         s.recipe.global_batch = 4'000'000'000;
       },
       "micro-batch 1000000000 × sequence 8192 makes a tensor of 1.1e+18 elements; more than 9e15 are not "
       "counted",
       "use a smaller micro-batch or sequence"},
      {"counts-stay-in-range", [](Scenario& s) { s.recipe.global_batch = std::int64_t{1} << 40; },
       "274877906944 micro-batches per step; more than 1073741823 are not ordered",
       "use a smaller global batch or a larger micro-batch"},
      {"counts-stay-in-range", [](Scenario& s) { s.recipe.lora_rank = 1'000'000'000; },
       "adapters of rank 1000000000, at most 1000000 are counted", "use a rank below the hidden size"},
      {"fills-the-cluster", [](Scenario& s) { s.layout.dp = 2; },
       "dp·tp·cp·pp = 8 but the cluster has 16 GPUs", "use dp=4"},
      {"heads-divide-by-tp", [](Scenario& s) { s.model.attention.heads = 31; },
       "31 attention heads do not split over tp=2", "use tp=1 or 31"},
      {"kv-heads-divide-by-tp", [](Scenario& s) { s.model.attention.kv_heads = 5; },
       "5 key-value heads neither split over tp=2 nor replicate evenly", "use tp=1 or 5"},
      {"heads-share-keys", [](Scenario& s) { s.model.attention.kv_heads = 12; },
       "32 query heads do not share 12 key-value heads evenly",
       "use a number of key-value heads that divides the heads"},
      {"imbalance-is-possible",
       [](Scenario& s) {
         s.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 64};
         s.recipe.routing.imbalance = 5;
       },
       "no expert gets 5 times the mean: 2 of 8 experts take every token",
       "use a routing imbalance of at most 4"},
      {"ffn-divides-by-tp", [](Scenario& s) { s.model.mlp.ffn = 33; },
       "33 feed-forward columns do not split over tp=2", "use tp=1, 3, 11 or 33"},
      {"ffn-divides-by-tp",
       [](Scenario& s) { s.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 64, .shared_ffn = 33}; },
       "33 feed-forward columns of the shared experts do not split over tp=2", "use tp=1, 3, 11 or 33"},
      {"layers-fill-the-stages", [](Scenario& s) { s.model.layers = 1; },
       "1 layers leave some of pp·vpp = 2 model chunks empty", "use pp·vpp of at most 1"},
      {"stage-split-adds-up",
       [](Scenario& s) {
         s.layout.split = StageSplit::Explicit;
         s.layout.stage_layers = {16, 15};
       },
       "the stage split names 2 chunks with 31 layers; the layout has 2 chunks and the model 32 layers",
       "give one layer count per chunk, adding up to the model's layers"},
      {"batch-divides", [](Scenario& s) { s.recipe.global_batch = 66; },
       "global batch 66 is not a multiple of micro-batch 1 × dp 4 = 4", "use a global batch of 64"},
      {"batch-divides",
       [](Scenario& s) {
         s.recipe.global_batch = 24;
         s.recipe.micro_batch = 4096;
       },
       "global batch 24 is not a multiple of micro-batch 4096 × dp 4 = 16384", "use a micro-batch of 6"},
      {"batch-divides",
       [](Scenario& s) {
         s.recipe.global_batch = 6;
         s.recipe.micro_batch = 2;
       },
       "global batch 6 is not a multiple of micro-batch 2 × dp 4 = 8",
       "use a micro-batch of 1 and a global batch of 4"},
      {"batch-divides", [](Scenario& s) { s.recipe.global_batch = 3; },
       "global batch 3 is not a multiple of micro-batch 1 × dp 4 = 4", "use a dp of at most 3"},
      {"sequence-divides", [](Scenario& s) { s.recipe.sequence = 8191; },
       "sequence 8191 does not split into 2 parts of tp", "use a sequence that is a multiple of 2"},
      {"experts-divide-by-ep", [](Scenario& s) { s.layout.ep = 2; }, "ep=2 but the model has no experts",
       "use ep=1"},
      {"capacity-is-filled",
       [](Scenario& s) {
         s.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 64};
         s.recipe.routing = {.capacity_factor = 4.5, .pad_to_capacity = true};
       },
       "experts padded to 4608 rows cannot get them from the 4096 tokens that a rank routes",
       "use a capacity factor of at most 4, experts over experts per token"},
      {"dispatcher-pads",
       [](Scenario& s) {
         s.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 64};
         s.recipe.routing = {.capacity_factor = 1, .pad_to_capacity = true};
         s.recipe.execution.dispatcher = ExpertDispatcher::DeepEp;
       },
       "DeepEP sends the tokens that there are and pads no expert",
       "use moe_dispatcher alltoall, or pad_to_capacity false"},
      {"shard-group-divides", [](Scenario& s) { s.layout.sharding.group = 3; },
       "shard groups of 3 ranks do not tile the 4 data-parallel ranks (dp·cp)", "use shard=1, 2 or 4"},
      {"secondary-groups-tile-rows",
       [](Scenario& s) {
         s.cluster.gpus = 24;
         s.layout.dp = 3, s.layout.cp = 2, s.layout.sharding.stage = 3, s.layout.sharding.hpz = 3;
         s.recipe.global_batch = 72;
       },
       "secondary groups of 3 ranks do not tile the 6 ranks that share parameters in rows of 2",
       "use an hpz that divides 2 or is a multiple of it"},
      {"shard-groups-tile-rows",
       [](Scenario& s) {
         s.cluster.gpus = 24;
         s.layout.dp = 3, s.layout.cp = 2, s.layout.sharding.group = 3;
         s.recipe.global_batch = 72;
       },
       "shard groups of 3 ranks do not tile the 6 data-parallel ranks (dp·cp) in rows of 2",
       "use shard groups that divide 2 or are a multiple of it"},
      {"expert-groups-tile-rows",
       [](Scenario& s) {
         s.cluster.gpus = 12;
         s.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 64};
         s.layout.dp = 3, s.layout.cp = 2, s.layout.tp = 1, s.layout.ep = 2;
         s.layout.order = {Axis::Data, Axis::Tensor, Axis::Pipeline, Axis::Context};
         s.recipe.global_batch = 72;
       },
       "groups of ep·etp = 2 ranks would end inside a row of 3 neighbours of a stage",
       "put pp last in the order, or use ep·etp that divides the row"},
      {"stages-pair-up",
       [](Scenario& s) {
         s.layout.pp = 1, s.layout.dp = 8;
         s.layout.schedule = ScheduleKind::DualPipe;
       },
       "DualPipe mirrors the model on pairs of stages, pp=1 is odd",
       "use an even pp such as 2, or dualpipev"},
      {"parameters-have-a-type", [](Scenario& s) { s.recipe.parameter_dtype = DType::Fp16; },
       "bf16 computation reads bf16 parameters, which nobody keeps in fp16 for it",
       "use precision fp16, or parameters in bf16 or fp32"},
      {"parameters-have-a-type",
       [](Scenario& s) {
         s.recipe.precision = Precision::Fp16;
         s.recipe.parameter_dtype = DType::Bf16;
       },
       "fp16 computation reads fp16 parameters, which nobody keeps in bf16 for it",
       "use precision bf16, or parameters in fp16 or fp32"},
      {"gradients-have-a-type", [](Scenario& s) { s.recipe.gradient_dtype = DType::Fp8; },
       "example does not accumulate gradients in that type",
       "use fp32 or bf16 or fp16, or leave the type to the framework"},
      {"gradients-have-a-type", [](Scenario& s) { s.recipe.gradient_dtype = DType::Fp16; },
       "bf16 computation makes bf16 gradients, which nobody accumulates in fp16",
       "use precision fp16, or gradients in bf16 or fp32"},
      {"magnitudes-are-learned",
       [](Scenario& s) {
         s.framework.abilities.dora = true;
         s.recipe.dora = true;
         s.recipe.fine_tune = FineTune::Ia3;
       },
       "DoRA learns magnitudes of what LoRA's matrices are added to, and none are trained",
       "use fine-tune lora, qlora or lora-8bit, or dora false"},
      {"magnitudes-are-learned",
       [](Scenario& s) {
         s.recipe.dora = true;
         s.recipe.fine_tune = FineTune::Lora;
       },
       "example has no DoRA",
       "use framework hf-eager (PEFT), fsdp2 or ddp (torchtune), megatron (Megatron-Bridge) or hexaplan, or "
       "dora false"},
      {"modules-train-beside-adapters",
       [](Scenario& s) {
         s.recipe.lora_bias = TrainedBiases::All;
         s.recipe.fine_tune = FineTune::Ia3;
       },
       "biases train beside LoRA's matrices, and none are trained",
       "use fine-tune lora, qlora or lora-8bit, or lora-bias none"},
      {"modules-train-beside-adapters", [](Scenario& s) { s.recipe.saved_modules = SavedModules::Head; },
       "modules are saved beside adapters, and none are trained",
       "use fine-tune lora, qlora, lora-8bit or ia3, or saved-modules none"},
      {"modules-train-beside-adapters",
       [](Scenario& s) {
         s.recipe.fine_tune = FineTune::Lora;
         s.recipe.saved_modules = SavedModules::Head;
       },
       "example trains nothing beside adapters",
       "use framework hf-eager, hf-fsdp2 or hf-deepspeed (PEFT) or hexaplan, or lora-bias none and "
       "saved-modules none"},
      {"base-can-be-integers", [](Scenario& s) { s.recipe.fine_tune = FineTune::Lora8bit; },
       "example has no matrices in 8 bits beside adapters",
       "use framework hf-eager or hf-deepspeed (PEFT over bitsandbytes), or fine-tune lora or qlora"},
      {"zero-sizes-can-be-said", [](Scenario& s) { s.recipe.sizes.reuse = 0; },
       "example has no sizes of ZeRO's buckets and gathers to say",
       "leave them out, or use framework deepspeed or hf-deepspeed"},
      {"offloaded-share-has-its-stage",
       [](Scenario& s) {
         s.framework.abilities.partial_offload = 0b1000;
         s.layout.sharding.stage = 2;
         s.recipe.offload = kOffloadOptimizer;
         s.recipe.offload_fraction = 0.5;
       },
       "example offloads all of the optimizer's states under ZeRO-2, or none",
       "use zero3, or an offload-fraction of 1"},
      {"gpu-has-the-precision", [](Scenario& s) { s.cluster.gpu.peak.fill(FlopsPerSecond{}); },
       "made-up has no units for bf16, nor for any precision",
       "use another GPU: it has no rate of any precision"},
      {"gpu-has-the-precision",
       [](Scenario& s) {
         s.recipe.precision = Precision::Bf16;
         s.cluster.gpu.peak.fill(FlopsPerSecond{});
         s.cluster.gpu.peak[static_cast<std::size_t>(Precision::Fp16)] = FlopsPerSecond{1e14};
         s.cluster.gpu.peak[static_cast<std::size_t>(Precision::Fp32)] = FlopsPerSecond{1e13};
       },
       "made-up has no units for bf16, only for fp32 and fp16", "use fp16 or fp32"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.rule);
    Scenario scenario = example_scenario();
    c.change(scenario);
    const auto rejected = first_rejection(scenario);
    ASSERT_TRUE(rejected.has_value());
    EXPECT_EQ(rejected->rule, c.rule);
    EXPECT_EQ(rejected->reason, c.reason);
    EXPECT_EQ(rejected->advice, c.advice);
  }
}

}  // namespace
}  // namespace hexaplan::costmodel
