// What fine-tuning of adapters trains, keeps and sends.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "costmodel/compute/kernel_time.h"
#include "costmodel/compute/operations.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/parameters/trained_elements.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "presets/json/read_json.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/scenario_request.h"

namespace hexaplan::presets {
namespace {

using costmodel::DType;
using costmodel::FineTune;
using costmodel::Scenario;
using costmodel::TensorKind;

Scenario scenario(const std::string& model, FineTune tuned, const std::string& framework = "fsdp2",
                  const std::string& layout = "fsdp", std::int64_t rank = 16) {
  ScenarioRequest request;
  request.model = model;
  request.cluster = "8xH100";
  request.framework = framework;
  request.layout = parse_layout(layout, "layout");
  request.recipe = {.sequence = 4096, .global_batch = 8, .fine_tune = tuned};
  if (tuned != FineTune::Ia3 && tuned >= FineTune::Lora) request.recipe.lora_rank = rank;
  return resolve(request).scenario;
}

/// Parameters with gradients, in the whole model.
double trained(Scenario sc) {
  sc.layout = {};
  sc.cluster.gpus = 1;
  double sum = 0;
  std::vector<costmodel::ParameterTensor> ends;
  append_embedding_parameters(sc.model, ends);
  append_head_parameters(sc.model, false, ends);
  const costmodel::TrainedElements of_ends{sc, ends, false};
  for (const auto& tensor : ends) sum += of_ends.of(tensor, static_cast<double>(tensor.elements()));
  for (std::int64_t i = 0; i < sc.model.layers; ++i) {
    std::vector<costmodel::ParameterTensor> tensors;
    append_layer_parameters(sc.model, class_of_layer(sc.model, i), tensors);
    const costmodel::TrainedElements elements{sc, tensors, true};
    for (const auto& tensor : tensors) sum += elements.of(tensor, static_cast<double>(tensor.elements()));
  }
  return sum;
}

struct PublishedAdapters {
  const char* model;
  std::int64_t parameters;
};

/// What Hugging Face PEFT prints for LoraConfig(r=16, target_modules="all-linear")
/// (get_nb_trainable_parameters; counted by hand below for Llama-3.1-8B).
TEST(adapters, lora_trains_what_peft_counts) {
  // 32 layers × 16 × (q 4096+4096, k and v 4096+1024 each, o 4096+4096, gate, up and down 4096+14336 each)
  const std::int64_t by_hand = 32LL * 16 * (8192 + 2 * 5120 + 8192 + 3 * 18432);
  EXPECT_EQ(by_hand, 41'943'040);
  const PublishedAdapters rows[] = {{"llama-3.1-8b", by_hand},
                                    {"llama-3.1-70b", 207'093'760},
                                    {"qwen2.5-7b", 40'370'176},
                                    {"qwen2.5-32b", 134'217'728},
                                    // peft 0.21.2 over transformers 5.24.0, counted on the meta device
                                    {"llama-2-13b", 62'586'880},
                                    {"llama-3.2-1b", 11'272'192},
                                    {"mistral-7b", 41'943'040},
                                    {"mistral-nemo-12b", 57'016'320},
                                    {"gemma-7b", 50'003'968},
                                    {"gemma-2-9b", 54'018'048},
                                    {"qwen3-8b", 43'646'976},
                                    {"qwen3-32b", 134'217'728},
                                    {"opt-6.7b", 37'748'736},
                                    // one adapter beside qkv_proj, gate_up_proj, query_key_value, c_attn
                                    {"phi-3-mini", 25'165'824},
                                    {"phi-4", 55'705'600},
                                    {"pythia-6.9b", 33'554'432},
                                    {"bloom-7b1", 31'457'280},
                                    {"gpt2-xl", 19'660'800}};
  for (const auto& [model, parameters] : rows)
    EXPECT_EQ(trained(scenario(model, FineTune::Lora, "hf-eager", "ddp")), static_cast<double>(parameters))
        << model;
}

/// The same of LoraConfig(use_dora=True), peft 0.21.2 over transformers 5.24.0, counted on the meta device: a
/// magnitude beside every output of an adapted layer, of Llama-3.1-8B 32 × 43,008.
TEST(adapters, dora_trains_what_peft_counts) {
  const auto of = [](const char* model, costmodel::AdapterTargets targets) {
    Scenario sc = scenario(model, FineTune::Lora, "hf-eager", "ddp");
    sc.recipe.lora_targets = targets;
    sc.recipe.dora = true;
    return trained(sc);
  };
  struct Row {
    const char* model;
    double everywhere, queries_and_values;
  };
  for (const Row& row : {Row{"llama-3.1-8b", 41'943'040 + 32 * 43'008, 6'979'584},
                         {"qwen2.5-7b", 41'760'768, 5'160'960},
                         {"gemma-2-9b", 55'867'392, 9'203'712}}) {
    EXPECT_EQ(of(row.model, costmodel::AdapterTargets::AllLinear), row.everywhere) << row.model;
    EXPECT_EQ(of(row.model, costmodel::AdapterTargets::QueryValue), row.queries_and_values) << row.model;
  }
}

/// tests/golden/trained_oracle.py: what PEFT trains beside its adapters, biases and whole modules.
TEST(adapters, biases_and_modules_train_beside_them_as_peft_counts) {
  const JsonValue file =
      read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/adapters/trained.json").root;
  const auto word = [](const auto& words, const JsonValue& text) {
    return std::ranges::find_if(words,
                                [&](const auto& row) { return row.name == *text.get_if<std::string>(); })
        ->value;
  };
  int rows = 0;
  for (const JsonValue& row : *file.find("rows")->get_if<JsonArray>()) {
    const std::string& model = *row.find("model")->get_if<std::string>();
    Scenario sc =
        scenario(model, FineTune::Lora, "hf-eager", "ddp", *row.find("rank")->get_if<std::int64_t>());
    sc.recipe.lora_targets = word(kAdapterTargetNames, *row.find("targets"));
    sc.recipe.lora_bias = word(kLoraBiasNames, *row.find("bias"));
    sc.recipe.saved_modules = word(kSavedModulesNames, *row.find("saved"));
    const auto expected = static_cast<double>(*row.find("trained")->get_if<std::int64_t>());
    EXPECT_EQ(trained(sc), expected) << model << " row " << rows;
    ++rows;
  }
  EXPECT_GE(rows, 25);
}

/// Llama-3.1-8B in bf16 under PEFT, its output layer of 128,256 × 4,096 trained: the frozen one stays
/// (copies_saved_modules), and the copy has a parameter, a gradient and two moments in the loaded type. The
/// executor trains its own, with masters.
TEST(adapters, a_saved_module_has_states_of_its_own) {
  const double head = 128'256.0 * 4'096;
  const auto states = [](const char* framework, costmodel::SavedModules saved) {
    Scenario sc = scenario("llama-3.1-8b", FineTune::Lora, framework, "ddp");
    sc.recipe.saved_modules = saved;
    sc.layout = {}, sc.cluster.gpus = 1;
    std::vector<costmodel::ParameterTensor> ends;
    append_head_parameters(sc.model, false, ends);
    costmodel::TensorLedger ledger;
    append_state_entries(sc, ends, -1, 1, ledger);
    return size_of(ledger).value();
  };
  using costmodel::SavedModules;
  EXPECT_EQ(states("hf-eager", SavedModules::Head) - states("hf-eager", SavedModules::None),
            head * (2 + 2 + 4));
  EXPECT_EQ(states("hexaplan", SavedModules::Head) - states("hexaplan", SavedModules::None),
            head * (4 + 4 + 8));
}

TEST(adapters, what_trains_beside_them_is_refused_where_nothing_can) {
  const auto rule = [](const Scenario& sc) {
    const auto rejected = costmodel::first_rejection(sc);
    return rejected ? std::string{rejected->rule} : std::string{};
  };
  const auto asked = [](const char* model, FineTune tuned, const char* framework, bool bias) {
    Scenario sc = scenario(model, tuned, framework, "ddp");
    if (bias) sc.recipe.lora_bias = costmodel::TrainedBiases::All;
    if (!bias) sc.recipe.saved_modules = costmodel::SavedModules::Both;
    return sc;
  };
  const std::string refused = "modules-train-beside-adapters";
  EXPECT_EQ(rule(asked("llama-3.1-8b", FineTune::Lora, "hf-eager", true)), "");
  EXPECT_EQ(rule(asked("llama-3.1-8b", FineTune::Ia3, "hf-eager", false)), "");
  EXPECT_EQ(rule(asked("llama-3.1-8b", FineTune::Ia3, "hf-eager", true)), refused);
  EXPECT_EQ(rule(asked("llama-3.1-8b", FineTune::Full, "hf-eager", false)), refused);
  EXPECT_EQ(rule(asked("llama-3.1-8b", FineTune::Lora, "megatron", true)), refused);
  EXPECT_EQ(rule(asked("llama-3.2-1b", FineTune::Lora, "hf-eager", false)), refused) << "tied embeddings";
}

/// Per layer of Llama-3.1-8B: q, k and v 4096 + 6144, o 8192, gate and up 4096 + 28672, down 18432
/// (NVIDIA-NeMo/Megatron-Bridge lora.py: linear_qkv, linear_proj, linear_fc1, linear_fc2). The executor's
/// adapters stand beside each layer, whatever code the model has.
TEST(adapters, stand_beside_what_the_framework_has_packed) {
  const double packed = 32 * 16 * (10'240 + 8'192 + 32'768 + 18'432);
  EXPECT_EQ(trained(scenario("llama-3.1-8b", FineTune::Lora, "megatron", "ddp")), packed);
  for (const char* framework : {"hf-eager", "fsdp2", "hexaplan"})
    EXPECT_EQ(trained(scenario("llama-3.1-8b", FineTune::Lora, framework, "ddp")), 41'943'040.0) << framework;
  EXPECT_GT(trained(scenario("phi-3-mini", FineTune::Lora, "hexaplan", "ddp")), 25'165'824.0);
}

/// Queries and values alone: canonical LoRA under Megatron; beside packed layers the keys are adapted with
/// them. 32 layers of 3072 + 9216.
TEST(adapters, of_queries_and_values_cover_packed_keys_where_the_model_packs_them) {
  const auto of = [](const char* model, const char* framework) {
    Scenario sc = scenario(model, FineTune::Lora, framework, "ddp");
    sc.recipe.lora_targets = costmodel::AdapterTargets::QueryValue;
    return trained(sc);
  };
  EXPECT_EQ(of("llama-3.1-8b", "megatron"), of("llama-3.1-8b", "hf-eager"));
  EXPECT_EQ(of("phi-3-mini", "hf-eager"), 32.0 * 16 * (3'072 + 9'216));
}

/// One scale per output of k and v and per input of the last matrix: 32 × (1024 + 1024 + 14336).
TEST(adapters, ia3_trains_a_vector_for_keys_values_and_the_mlp) {
  EXPECT_EQ(trained(scenario("llama-3.1-8b", FineTune::Ia3)), 524'288.0);
}

TEST(adapters, a_rank_that_is_not_given_is_the_frameworks_and_said) {
  for (const auto& [framework, rank] : {std::pair{"hf-eager", 8}, {"megatron", 32}}) {
    ScenarioRequest request;
    request.model = "llama-3.1-8b", request.cluster = "1xH100", request.framework = framework;
    request.recipe = {.sequence = 4096, .global_batch = 1, .fine_tune = FineTune::Lora};
    const ResolvedScenario resolved = resolve(request);
    EXPECT_EQ(resolved.scenario.recipe.lora_rank, rank);
    EXPECT_EQ(resolved.notes, std::vector{fmt::format("LoRA rank not given: {} (default)", rank)});
  }
}

double bytes_of(const Scenario& sc, TensorKind kind) {
  double sum = 0;
  for (const auto& entry : build_ledger(sc, 0)) sum += entry.kind == kind ? entry.size().value() : 0;
  return sum;
}

/// Frozen weights in bf16, in frameworks that train fp32 ones as well; adapters in fp32 with fp32 states.
TEST(adapters, frozen_weights_have_16_bits_and_adapters_32) {
  for (const char* framework : {"hf-eager", "ddp", "fsdp2"}) {
    Scenario sc = scenario("llama-3.1-8b", FineTune::Lora, framework, "ddp");
    const double adapters = 41'943'040, base = 8'030'261'248;
    EXPECT_EQ(bytes_of(sc, TensorKind::Parameter), 2 * base + 4 * adapters) << framework;
    EXPECT_EQ(bytes_of(sc, TensorKind::OptimizerState), 8 * adapters) << framework;
    sc.recipe.parameter_dtype = DType::Fp32;
    EXPECT_EQ(bytes_of(sc, TensorKind::Parameter), 4 * (base + adapters)) << framework;
  }
}

double sent(const Scenario& sc, std::string_view name) {
  double sum = 0;
  for (const auto& op : step_operations(sc, 0))
    if (op.name == name) sum += op.payload.value() * op.count;
  return sum;
}

/// In fp32, whatever cuts the states: under FSDP as under DDP.
TEST(adapters, only_gradients_of_adapters_are_reduced) {
  for (const char* layout : {"ddp", "zero1", "fsdp"}) {
    EXPECT_EQ(sent(scenario("llama-3.1-8b", FineTune::Lora, "fsdp2", layout), "gradient.reduce"),
              4.0 * 41'943'040)
        << layout;
    EXPECT_EQ(sent(scenario("llama-3.1-8b", FineTune::Ia3, "fsdp2", layout), "gradient.reduce"),
              4.0 * 524'288)
        << layout;
  }
  EXPECT_EQ(sent(scenario("llama-3.1-8b", FineTune::Full), "gradient.reduce"), 4.0 * 8'030'261'248);
}

/// Llama-3.1-8B's word table and output layer, 128,256 × 4,096 each, beside fp32 adapters: DDP reduces each
/// gradient in its own type (torch/nn/parallel/distributed.py: buckets hold parameters of one dtype), which
/// is the loaded module's bf16 unless the recipe gives all gradients one; FSDP2 casts all to that of the
/// reduction.
TEST(adapters, gradients_of_whole_modules_are_reduced_in_their_own_type) {
  const double adapters = 41'943'040, modules = 2.0 * 128'256 * 4'096;
  struct Row {
    const char* layout;
    std::optional<DType> asked;
    double per_adapter, per_module;
  };
  for (const Row& row : {Row{"ddp", {}, 4, 2}, {"ddp", DType::Fp32, 4, 4}, {"fsdp", {}, 4, 4}}) {
    Scenario sc = scenario("llama-3.1-8b", FineTune::Lora, "hf-eager", row.layout);
    sc.recipe.saved_modules = costmodel::SavedModules::Both;
    sc.recipe.gradient_dtype = row.asked;
    EXPECT_EQ(sent(sc, "gradient.reduce"), row.per_adapter * adapters + row.per_module * modules)
        << row.layout << (row.asked ? " fp32" : "");
  }
}

/// Without units of their own both ends are the root's, whose gradient is cast and cut when the backward pass
/// has ended (tests/golden/oracle/whole_steps.json): in bf16, of those 128,256 × 4,096 that train.
TEST(adapters, a_root_unit_has_gradients_of_those_ends_that_train) {
  using costmodel::SavedModules;
  const auto unsharded = [](SavedModules saved) {
    Scenario sc = scenario("llama-3.1-8b", FineTune::Lora, "hf-eager", "fsdp");
    sc.recipe.saved_modules = saved;
    double elements = 0;
    for (const auto& entry : build_ledger(sc, 0)) {
      if (entry.name == "gradient.unsharded" && entry.alive == costmodel::kOptimizer &&
          entry.dtype == DType::Bf16)
        elements += entry.elements;
    }
    return elements;
  };
  const double end = 128'256.0 * 4'096;
  EXPECT_EQ(unsharded(SavedModules::None), 0);
  EXPECT_EQ(unsharded(SavedModules::Embedding), end);
  EXPECT_EQ(unsharded(SavedModules::Head), end);
  EXPECT_EQ(unsharded(SavedModules::Both), 2 * end);
}

/// Biases train where they stand, modules in a copy (huggingface/peft src/peft/utils/other.py,
/// ModulesToSaveWrapper); a frozen bias is not summed up in backward. GPT-J has an output bias of 50,400.
TEST(adapters, a_bias_of_the_output_layer_is_copied_with_its_module_alone) {
  using costmodel::SavedModules;
  using costmodel::TrainedBiases;
  struct Row {
    TrainedBiases biases;
    SavedModules saved;
    double copies;
    bool summed;
  };
  for (const Row& row : {Row{TrainedBiases::None, SavedModules::None, 1, false},
                         {TrainedBiases::All, SavedModules::None, 1, true},
                         {TrainedBiases::All, SavedModules::Embedding, 1, true},
                         {TrainedBiases::None, SavedModules::Embedding, 1, false},
                         {TrainedBiases::None, SavedModules::Head, 2, true}}) {
    Scenario sc = scenario("gpt-j-6b", FineTune::Lora, "hf-eager", "ddp");
    sc.recipe.lora_bias = row.biases;
    sc.recipe.saved_modules = row.saved;
    const auto at =
        fmt::format("bias {} saved {}", static_cast<int>(row.biases), static_cast<int>(row.saved));
    std::vector<costmodel::ParameterTensor> ends;
    append_head_parameters(sc.model, false, ends);
    costmodel::TensorLedger ledger;
    append_state_entries(sc, ends, -1, 1, ledger);
    double kept = 0;
    for (const auto& entry : ledger) {
      if (entry.name == "head.bias" && entry.kind == TensorKind::Parameter) kept += entry.elements;
    }
    EXPECT_EQ(kept, row.copies * 50'400) << at;
    std::vector<costmodel::Operation> operations;
    append_head_operations(sc, costmodel::local_dims(sc), operations);
    const auto sums = std::ranges::count_if(operations, [](const costmodel::Operation& op) {
      return op.name == "head.bias" && op.pass != costmodel::Pass::Forward;
    });
    EXPECT_EQ(sums > 0, row.summed) << at;
  }
}

/// Forward and backward: the base and the adapters in bf16; of QLoRA the layers' matrices in 4 bits and their
/// scales (4 bytes per 64 weights).
TEST(adapters, quantised_weights_are_gathered_as_they_are_kept) {
  const double adapters = 41'943'040, all = 8'030'261'248;
  const double matrices = 32.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3.0 * 4096 * 14336);
  const double ends = 2.0 * 128'256 * 4096 + 4096;  // which backward does not gather again
  EXPECT_EQ(sent(scenario("llama-3.1-8b", FineTune::Lora), "parameter.gather"),
            2 * (2 * (all + adapters) - ends));
  EXPECT_EQ(sent(scenario("llama-3.1-8b", FineTune::Qlora), "parameter.gather"),
            2 * (2 * (all - matrices + adapters) + matrices * (0.5 + 4.0 / 64)) - 2 * ends);
}

/// A byte for every element of the layers' matrices and four for every row of them, which bitsandbytes keeps
/// (Linear8bitLt: CB, SCB); what else there is stays in bf16.
TEST(adapters, bases_in_8_bits_have_a_scale_for_every_row) {
  const auto parameters = [](FineTune method) {
    return bytes_of(scenario("llama-3.1-8b", method, "hf-eager", "ddp"), TensorKind::Parameter);
  };
  const double matrices = 32.0 * (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3.0 * 4096 * 14336);
  const double rows = 32.0 * (4096 + 2 * 1024 + 4096 + 2 * 14336 + 4096);
  EXPECT_EQ(parameters(FineTune::Lora) - parameters(FineTune::Lora8bit), matrices - 4 * rows);
}

/// MatMul8bitLt has its operand in backward, which frozen weights otherwise need not: the inputs of q, k and
/// v, of gate and up, and of the MLP's second matrix; attention keeps its output in any case.
TEST(adapters, bases_in_8_bits_keep_inputs_of_their_products) {
  const auto kept = [](FineTune method) {
    return bytes_of(scenario("llama-3.1-8b", method, "hf-eager", "ddp"), TensorKind::Activation);
  };
  EXPECT_EQ(kept(FineTune::Lora8bit) - kept(FineTune::Lora), 32.0 * 4096 * 2 * (2 * 4096 + 14336));
}

/// Integers are multiplied forward, 16-bit floats backward; the rate is the datasheet's.
TEST(adapters, bases_in_8_bits_are_multiplied_as_integers_and_widened_for_backward) {
  const Scenario sc = scenario("llama-3.1-8b", FineTune::Lora8bit, "hf-eager", "ddp");
  std::vector<costmodel::Operation> operations;
  costmodel::append_layer_operations(sc, costmodel::local_dims(sc), costmodel::LayerClass{}, operations);
  double integers = 0, backward = 0, widened = 0;
  for (const costmodel::Operation& op : operations) {
    if (op.integers) integers += op.flops.value();
    if (op.name == "adapter.dequantise") widened += op.bytes.value();
    if (op.pass == costmodel::Pass::BackwardData && op.name == "mlp.down") backward += op.integers ? 1 : 0;
  }
  const double matrices = 2 * 4096 * 4096 + 2 * 4096 * 1024 + 3.0 * 4096 * 14336;
  EXPECT_EQ(integers, 2 * 4096 * matrices);
  EXPECT_EQ(widened, 7 * matrices);
  EXPECT_EQ(backward, 0);
  const costmodel::GemmShape down{4096, 4096, 14336, 1};
  const costmodel::Calibration none;
  EXPECT_LT(integer_gemm_time(down, sc.cluster.gpu, none),
            gemm_time(down, costmodel::Precision::Bf16, sc.cluster.gpu, none));
  costmodel::GpuSpec unknown = sc.cluster.gpu;
  unknown.peak_integer = {};
  EXPECT_EQ(integer_gemm_time(down, unknown, none),
            gemm_time(down, costmodel::Precision::Bf16, unknown, none));
}

/// PyTorch's flat parameters have one gradient for all of a unit.
TEST(adapters, flat_units_reduce_frozen_weights_of_layers_too) {
  const Scenario flat = scenario("llama-3.1-8b", FineTune::Lora, "fsdp1");
  EXPECT_GT(sent(flat, "gradient.reduce"), 4.0 * 6'900'000'000);
  EXPECT_EQ(sent(scenario("llama-3.1-8b", FineTune::Lora, "fsdp1", "ddp"), "gradient.reduce"),
            4.0 * 41'943'040);
}

/// Tried with torch 2.9.1, use_orig_params, two ranks over gloo, 4,096 frozen beside 256 trained weights in a
/// unit: a gradient of 4,352 elements behind no_sync, of 2,176 where it is reduced, none of a frozen root.
TEST(adapters, gradients_of_flat_units_have_room_for_their_frozen_weights) {
  const auto gradients = [](const char* framework, FineTune method) {
    Scenario sc = scenario("llama-3.1-8b", method, framework);
    sc.recipe.execution.reduction = costmodel::GradientReduction::Once;
    sc.recipe.global_batch = 32;
    return bytes_of(sc, TensorKind::Gradient);
  };
  const double layers = 6'979'588'096;  // frozen, in units of their own
  EXPECT_GT(gradients("fsdp1", FineTune::Lora), 2 * layers);
  EXPECT_LT(gradients("fsdp1", FineTune::Qlora), 1e9) << "weights in 4 bits have none";
  EXPECT_LT(gradients("fsdp2", FineTune::Lora), 1e9) << "gradients of parameters, one by one";
}

/// An 8-bit parameter is too coarse for an update: it has a master copy, 16-bit gradients, fp32 moments.
TEST(adapters, parameters_of_8_bits_keep_a_master_copy) {
  for (const char* framework : {"fsdp2", "megatron"}) {
    Scenario sc = scenario("llama-3.1-8b", FineTune::Pretrain, framework, "ddp");
    sc.recipe.parameter_dtype = DType::Fp8;
    const double all = 8'030'261'248;
    EXPECT_EQ(bytes_of(sc, TensorKind::Parameter), all) << framework;
    EXPECT_EQ(bytes_of(sc, TensorKind::OptimizerState), 12 * all) << framework;
    EXPECT_GE(bytes_of(sc, TensorKind::Gradient), 2 * all) << framework;
  }
}

std::string rule_of(const Scenario& sc) {
  const auto rejected = first_rejection(sc);
  return rejected ? rejected->rule : "";
}

/// What no program can run is refused, with the reason.
TEST(adapters, what_cannot_be_trained_so_is_refused) {
  Scenario sc = scenario("llama-3.1-8b", FineTune::Pretrain);
  EXPECT_EQ(rule_of(sc), "");
  sc.recipe.parameter_dtype = DType::Nf4;
  EXPECT_EQ(rule_of(sc), "states-can-be-trained");
  sc = scenario("llama-3.1-8b", FineTune::Pretrain);
  sc.recipe.optimizer_in_backward = true;
  EXPECT_EQ(rule_of(sc), "");
  sc.recipe.global_batch = 16;
  EXPECT_EQ(rule_of(sc), "update-in-backward");
  sc = scenario("llama-3.1-8b", FineTune::Pretrain);
  sc.recipe.offload = costmodel::kOffloadParameters;
  EXPECT_EQ(rule_of(sc), "");
  sc.layout.sharding.stage = 2;
  EXPECT_EQ(rule_of(sc), "offload-needs-zero3");
  sc = scenario("llama-3.1-8b", FineTune::Pretrain);
  sc.layout.etp = 2;
  EXPECT_EQ(rule_of(sc), "experts-divide-by-ep");
  sc = scenario("gpt2", FineTune::Pretrain, "fsdp2", "ddp");
  sc.recipe.sequence = 1024;
  EXPECT_EQ(rule_of(sc), "");
  sc.recipe.sequence = 1025;
  EXPECT_EQ(rule_of(sc), "positions-reach");
}

}  // namespace
}  // namespace hexaplan::presets
