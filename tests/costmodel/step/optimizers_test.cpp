// Optimizers differ in what they keep, in what they move, and those that take matrices in what they multiply.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/spec/optimizer_traits.h"
#include "costmodel/spec/rules.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/optimizer_operations.h"
#include "tests/costmodel/step/example_scenario.h"

namespace hexaplan::costmodel {
namespace {

constexpr Optimizer kAll[] = {Optimizer::AdamW, Optimizer::AdamW8bit, Optimizer::Adafactor, Optimizer::Lion,
                              Optimizer::Sgd,   Optimizer::Muon,      Optimizer::Lamb};
constexpr Optimizer kProjecting[] = {Optimizer::Galore, Optimizer::Galore8bit, Optimizer::Apollo,
                                     Optimizer::ApolloMini};

Scenario with(Optimizer optimizer) {
  Scenario sc = example_scenario();
  sc.recipe.optimizer = optimizer;
  return sc;
}

const Operation* find(const std::vector<Operation>& operations, std::string_view name) {
  const auto found = std::find_if(operations.begin(), operations.end(),
                                  [&](const Operation& op) { return op.name == name; });
  return found == operations.end() ? nullptr : &*found;
}

TEST(optimizers, take_times_of_their_own) {
  std::set<double> seen;
  for (const Optimizer optimizer : kAll)
    seen.insert(estimate_step(with(optimizer), {}).time.optimizer.value());
  // In one kernel Lion and SGD with momentum read and write the same: gradient, parameter, one moment.
  EXPECT_EQ(seen.size(), std::size(kAll) - 1);
  seen.clear();
  for (const Optimizer optimizer : kAll) {
    Scenario sc = with(optimizer);
    sc.framework.foreach_sgd = true;
    seen.insert(estimate_step(sc, {}).time.optimizer.value());
  }
  EXPECT_EQ(seen.size(), std::size(kAll));
}

/// pytorch/pytorch torch/optim/sgd.py _multi_tensor_sgd in fp32: the moment times a number (8), plus the
/// gradient (12), off the parameter (12).
TEST(optimizers, sgd_in_three_kernels_moves_the_moment_five_times) {
  Scenario sc = with(Optimizer::Sgd);
  sc.layout.sharding = {};
  sc.recipe.precision = Precision::Fp32;
  sc.framework.gradient_dtype = DType::Fp32;
  const double adamw = 4 + 8 + 16;
  EXPECT_NEAR(update_traffic_ratio(sc, Optimizer::Sgd), 20 / adamw, 1e-12);
  sc.framework.foreach_sgd = true;
  EXPECT_NEAR(update_traffic_ratio(sc, Optimizer::Sgd), 32 / adamw, 1e-12);
  EXPECT_NEAR(update_traffic_ratio(sc, Optimizer::Lion), 20 / adamw, 1e-12);
}

/// An update reads and writes every state, and reads the gradient: nobody's takes fewer bytes than that.
TEST(optimizers, updates_move_at_least_the_bytes_of_their_states_twice) {
  for (const Optimizer optimizer : kAll) {
    for (const int stage : {0, 1}) {
      for (const DType gradient : {DType::Fp32, DType::Bf16}) {
        for (const bool master : {true, false}) {
          Scenario sc = with(optimizer);
          sc.layout = {.dp = 16};
          sc.layout.sharding.stage = stage;
          sc.recipe.gradient_dtype = gradient;
          sc.framework.master_parameters = master;
          double states = 0, gradients = 0;
          for (const TensorEntry& entry : build_ledger(sc, 0)) {
            if (entry.kind == TensorKind::OptimizerState) states += entry.size().value();
            if (entry.kind == TensorKind::Gradient && (entry.alive & kOptimizer) != 0)
              gradients += entry.size().value() / (stage >= 1 ? 16 : 1);
          }
          double moved = 0;
          for (const Operation& op : step_operations(sc, 0))
            moved += op.update ? op.bytes.value() * op.count : 0;
          EXPECT_GE(moved, (2 * states + gradients) * (1 - 1e-9))
              << "optimizer " << static_cast<int>(optimizer) << " ZeRO-" << stage << " master " << master;
        }
      }
    }
  }
}

TEST(optimizers, move_what_their_update_reads_and_writes) {
  struct Case {
    Optimizer optimizer;
    double bytes;  // per parameter: gradient 4, master read and written and its 16-bit copy 10, states
  };
  const double adamw = 4 + 10 + 16;
  for (const Case& c :
       {Case{Optimizer::AdamW, adamw}, Case{Optimizer::Lion, 4 + 10 + 8}, Case{Optimizer::Sgd, 4 + 10 + 8},
        Case{Optimizer::Lamb, adamw + 16}, Case{Optimizer::AdamW8bit, 4 + 10 + 4 * (1 + 4.0 / 256)},
        Case{Optimizer::Adafactor, 4 + 10 + 44}}) {
    Scenario sc = with(c.optimizer);
    sc.layout.sharding = {};
    EXPECT_NEAR(update_traffic_ratio(sc, c.optimizer), c.bytes / adamw, 1e-12);
  }
  // Of flat shards: a moment of their own, and squares that are read once.
  Scenario flat = with(Optimizer::Adafactor);
  flat.layout.sharding = {.stage = 1};
  ASSERT_GT(flat.layout.shard_ranks(), 1);
  EXPECT_NEAR(update_traffic_ratio(flat, Optimizer::Adafactor), (4 + 10 + 8 + 40) / adamw, 1e-12);
}

/// DeepSeek-V3 (arXiv:2412.19437 section 3.3.3) keeps both moments in bf16.
TEST(optimizers, moments_of_another_type_take_their_bytes_in_memory_and_traffic) {
  Scenario sc = with(Optimizer::AdamW);
  sc.layout = {.dp = 16};
  sc.framework.optimizer_passes_bytes = 34;
  for (const DType type : {DType::Bf16, DType::Fp8})
    sc.framework.abilities.moments =
        static_cast<std::uint16_t>(sc.framework.abilities.moments | 1U << static_cast<unsigned>(type));
  const auto bytes = [&] { return estimate_step(sc, {}).stages[0].at_peak.optimizer.value(); };
  const auto update = [&] {
    const std::vector<Operation> operations = step_operations(sc, 0);
    return find(operations, "optimizer.update")->bytes.value();
  };
  const double parameters = bytes() / 12, moved = update() / parameters;
  EXPECT_NEAR(moved, 34, 1e-9);
  sc.recipe.moment_dtype = DType::Bf16;
  EXPECT_NEAR(bytes() / parameters, 8, 1e-9);
  EXPECT_NEAR(update() / parameters, moved - 8, 1e-9);
  sc.recipe.moment_dtype = DType::Fp8;
  EXPECT_NEAR(bytes() / parameters, 6, 1e-9);
  EXPECT_NEAR(update() / parameters, moved - 12, 1e-9);
}

TEST(optimizers, moments_are_refused_in_types_that_a_framework_has_not_and_beside_other_optimizers) {
  Scenario sc = with(Optimizer::AdamW);
  sc.recipe.moment_dtype = DType::Bf16;
  const auto rule = [&] { return first_rejection(sc).value_or(Rejected{}).rule; };
  EXPECT_EQ(rule(), "moments-have-a-type");
  sc.framework.abilities.moments = 1U << static_cast<unsigned>(DType::Bf16);
  EXPECT_EQ(rule(), "");
  sc.recipe.optimizer = Optimizer::Lion;
  EXPECT_EQ(rule(), "moments-have-a-type");
}

TEST(optimizers, adafactor_is_refused_on_shards_that_it_cannot_factor) {
  Scenario sc = with(Optimizer::Adafactor);
  sc.layout.sharding = {.stage = 1};
  const auto rule = [&] { return first_rejection(sc).value_or(Rejected{}).rule; };
  EXPECT_EQ(rule(), "");
  sc.framework.abilities.factored_shards = false;
  EXPECT_EQ(rule(), "shards-can-be-factored");
  sc.layout.sharding = {};
  EXPECT_EQ(rule(), "");
}

TEST(optimizers, muons_update_stays_on_the_gpu) {
  Scenario sc = with(Optimizer::Muon);
  sc.layout.sharding = {.stage = 3};
  sc.recipe.offload = kOffloadParameters;
  const auto rule = [&] { return first_rejection(sc).value_or(Rejected{}).rule; };
  EXPECT_EQ(rule(), "");
  sc.recipe.offload = kOffloadOptimizer;
  EXPECT_EQ(rule(), "matrices-stay-on-the-gpu");
  sc.recipe.optimizer = Optimizer::Lamb;
  EXPECT_EQ(rule(), "");
}

TEST(optimizers, muon_multiplies_what_its_paper_says) {
  // One 4096 x 14336 matrix: five times X.Xt (2 m m n), its square (2 m m m) and the product with X (2 m m
  // n).
  const double m = 4096, n = 14336;
  EXPECT_EQ(newton_schulz_flops(n, m), 5 * (2 * m * m * n + 2 * m * m * m + 2 * m * m * n));
  EXPECT_EQ(newton_schulz_flops(m, n), newton_schulz_flops(n, m));
}

TEST(optimizers, muon_orthogonalises_every_matrix_of_the_layers_once_over_the_shard_group) {
  Scenario sc = with(Optimizer::Muon);
  sc.layout = {.dp = 16};
  const auto flops_of = [&] {
    const std::vector<Operation> operations = step_operations(sc, 0);
    return find(operations, "optimizer.newton_schulz")->flops.value();
  };
  const double d = 4096, kv = 1024, f = 14336;
  const double layer = 2 * newton_schulz_flops(d, d) + 2 * newton_schulz_flops(kv, d) +
                       2 * newton_schulz_flops(f, d) + newton_schulz_flops(d, f);
  EXPECT_NEAR(flops_of() / (32 * layer), 1, 1e-12);
  sc.layout.sharding.stage = 1;
  EXPECT_NEAR(flops_of() / (32 * layer), 1.0 / 16, 1e-12);
  const std::vector<Operation> sharded = step_operations(sc, 0);
  const Operation* gather = find(sharded, "optimizer.gather_matrices");
  ASSERT_NE(gather, nullptr);
  const double matrices = 32 * (2 * d * d + 2 * kv * d + 3 * f * d);
  EXPECT_NEAR(gather->payload.value() * gather->count, 2 * matrices, 1);  // bf16
}

TEST(optimizers, lamb_sums_two_norms_per_parameter_over_the_shard_group) {
  Scenario sc = with(Optimizer::Lamb);
  sc.layout = {.dp = 16};
  EXPECT_EQ(find(step_operations(sc, 0), "optimizer.norms"), nullptr);
  sc.layout.sharding.stage = 1;
  const std::vector<Operation> sharded = step_operations(sc, 0);
  const Operation* norms = find(sharded, "optimizer.norms");
  ASSERT_NE(norms, nullptr);
  // Two norms, query, key and value, output, gate and up, and down of 32 layers; embedding, norm, output
  // layer.
  EXPECT_EQ(norms->payload.value(), (32 * 7 + 3) * 2 * 4);
}

double states_of(const Scenario& sc, std::string_view name) {
  double bytes = 0;
  for (const TensorEntry& entry : build_ledger(sc, 0)) {
    if (entry.kind == TensorKind::OptimizerState && entry.name == name)
      bytes += entry.elements * bytes_per_element(entry.dtype);
  }
  return bytes;
}

TEST(optimizers, adafactor_keeps_a_number_per_row_and_column_of_what_a_rank_holds) {
  Scenario sc = with(Optimizer::Adafactor);
  sc.layout = {};
  const double master_of_up = 4.0 * 2 * 14336 * 4096;
  // Gate and up are matrices of their own.
  EXPECT_EQ(states_of(sc, "mlp.gate_up.weight"), master_of_up + 4.0 * 2 * (14336 + 4096));
  EXPECT_EQ(states_of(sc, "mlp.down.weight"), master_of_up / 2 + 4.0 * (14336 + 4096));
  EXPECT_EQ(states_of(sc, "norm1.weight"), 4.0 * 4096 * 2);
  sc.layout = {.tp = 2};
  EXPECT_EQ(states_of(sc, "mlp.gate_up.weight"), master_of_up / 2 + 4.0 * 2 * (7168 + 4096));
  EXPECT_EQ(states_of(sc, "mlp.down.weight"), master_of_up / 4 + 4.0 * (7168 + 4096));
}

TEST(optimizers, adafactor_does_not_factor_flat_shards) {
  Scenario sc = with(Optimizer::Adafactor);
  sc.layout = {.dp = 8};
  sc.layout.sharding.stage = 1;
  const double elements = 14336.0 * 4096 / 8;
  EXPECT_EQ(states_of(sc, "mlp.down.weight"), 4 * elements + 4 * elements);
}

TEST(optimizers, muon_leaves_embeddings_vectors_and_output_layer_to_adamw) {
  const auto states = [](Optimizer optimizer) {
    const Scenario sc = with(optimizer);
    double bytes = 0;
    for (const TensorEntry& entry : build_ledger(sc, 0)) {
      if (entry.kind == TensorKind::OptimizerState && entry.name.find("embedding") != std::string_view::npos)
        bytes += entry.size().value();
    }
    return bytes;
  };
  EXPECT_GT(states(Optimizer::Muon), 0);
  EXPECT_EQ(states(Optimizer::Muon), states(Optimizer::AdamW));
}

/// Between replicas of whole matrices, in bf16 without a master copy.
Scenario projecting(Optimizer optimizer) {
  Scenario sc = with(optimizer);
  sc.layout = {.dp = 16};
  sc.framework.abilities.low_rank = true;
  sc.framework.master_parameters = false;
  return sc;
}

/// arXiv:2403.03507 table 1 (cited from memory, as the other; the code was read): mr + 2nr numbers of an m ×
/// n matrix, m ≤ n, at rank r. The implementation of APOLLO keeps its random matrix as well
/// (apollo_torch/random_projector.py), which table 1 of arXiv:2412.05270 makes again from its seed, and the
/// length of the last step.
TEST(optimizers, subspaces_take_what_their_tables_say) {
  struct Case {
    Optimizer optimizer;
    double (*bytes)(double m, double n);
  };
  for (const Case& c :
       {Case{Optimizer::Galore, [](double m, double n) { return 2.0 * (128 * m + 2 * 128 * n); }},
        Case{Optimizer::Galore8bit,
             [](double m, double n) { return 2.0 * 128 * m + 2 * 128 * n * (1 + 4.0 / 256); }},
        Case{Optimizer::Apollo, [](double m, double n) { return 2.0 * (128 * m + 2 * 128 * n) + 4; }},
        Case{Optimizer::ApolloMini, [](double m, double n) { return 2.0 * (m + 2 * n) + 4; }}}) {
    const Scenario sc = projecting(c.optimizer);
    EXPECT_EQ(states_of(sc, "mlp.down.weight"), c.bytes(4096, 14336));
    // Gate and up are matrices of their own, and so are keys and values.
    EXPECT_EQ(states_of(sc, "mlp.gate_up.weight"), 2 * c.bytes(4096, 14336));
    EXPECT_EQ(states_of(sc, "attention.key_value.weight"), 2 * c.bytes(1024, 4096));
    const double beside = c.optimizer == Optimizer::Galore8bit ? 2 * (1 + 4.0 / 256) : 4;
    EXPECT_EQ(states_of(sc, "embedding.word.weight"), 128256.0 * 4096 * beside);
    EXPECT_EQ(states_of(sc, "norm1.weight"), 4096 * beside);
  }
}

TEST(optimizers, subspaces_have_no_more_dimensions_than_their_matrix) {
  Scenario sc = projecting(Optimizer::Galore);
  sc.recipe.projection_rank = 2048;
  EXPECT_EQ(states_of(sc, "attention.key_value.weight"), 2 * 2.0 * (1024 * 1024 + 2 * 1024 * 4096));
  sc.recipe.projection_rank = 1;
  EXPECT_EQ(states_of(sc, "mlp.down.weight"), 2.0 * (4096 + 2 * 14336));
}

/// A product with the subspace in every step, and for GaLore one back; of its decomposition a share of every
/// step.
TEST(optimizers, gradients_are_projected_in_every_step_and_decomposed_once_in_an_interval) {
  const double d = 4096, kv = 1024, f = 14336, r = 128;
  const double layer = 2 * r * (2 * d * d + 2 * kv * d + 3 * f * d);
  const auto svd = [](double m, double n) { return 6 * n * m * m + 20 * m * m * m; };
  for (const Optimizer optimizer : kProjecting) {
    Scenario sc = projecting(optimizer);
    const double rank = optimizer == Optimizer::ApolloMini ? 1 : r;
    const std::vector<Operation> operations = step_operations(sc, 0);
    EXPECT_NEAR(find(operations, "optimizer.project")->flops.value() / (32 * layer * rank / r), 1, 1e-12);
    const bool galore = traits_of(optimizer).subspace == Subspace::Singular;
    EXPECT_EQ(find(operations, "optimizer.project_back") != nullptr, galore);
    EXPECT_EQ(find(operations, "optimizer.random_subspace") == nullptr, galore);
    if (!galore) continue;
    EXPECT_EQ(find(operations, "optimizer.project_back")->flops,
              find(operations, "optimizer.project")->flops);
    const Operation* decomposition = find(operations, "optimizer.svd");
    const double of_all = 32 * (2 * svd(d, d) + 2 * svd(kv, d) + 3 * svd(d, f));
    const double at_full_rate = decomposition->count * decomposition->gemm.flops().value();
    EXPECT_NEAR(at_full_rate * 0.06 * 200 / of_all, 1, 1e-12);
    sc.recipe.projection_interval = 50;
    EXPECT_NEAR(find(step_operations(sc, 0), "optimizer.svd")->count / decomposition->count, 4, 1e-9);
  }
}

/// torch.linalg.svd of one fp32 matrix: a copy of 16-bit gradients, the one that is overwritten, and as many
/// left and fewer right vectors.
TEST(optimizers, decompositions_need_room_for_one_matrix) {
  const auto transient = [](const Scenario& sc) {
    double bytes = 0;
    for (const TensorEntry& entry : build_ledger(sc, 0)) {
      if (entry.name == "optimizer.projection") bytes += entry.size().value();
    }
    return bytes;
  };
  const double matrix = 4096.0 * 14336;
  EXPECT_EQ(transient(projecting(Optimizer::Galore)), 4 * (3 * matrix + 4096.0 * 4096));
  // The step before and behind its factor, what is projected, and its step with the denominator.
  EXPECT_EQ(transient(projecting(Optimizer::Apollo)), 2 * (2 * matrix + 3 * 128 * 14336.0));
  EXPECT_EQ(transient(projecting(Optimizer::AdamW)), 0);
}

TEST(optimizers, subspaces_are_refused_where_there_is_no_gradient_of_a_whole_matrix) {
  struct Case {
    const char* rule;
    void (*change)(Scenario&);
  };
  for (const Case& c :
       {Case{"", [](Scenario&) {}}, Case{"", [](Scenario& sc) { sc.layout = {.dp = 4, .pp = 4}; }},
        Case{"", [](Scenario& sc) { sc.layout = {.dp = 8, .cp = 2}; }},
        Case{"", [](Scenario& sc) { sc.recipe.fine_tune = FineTune::Full; }},
        Case{"subspaces-are-of-whole-matrices", [](Scenario& sc) { sc.layout = {.dp = 8, .tp = 2}; }},
        Case{"subspaces-are-of-whole-matrices", [](Scenario& sc) { sc.layout.sharding.stage = 1; }},
        Case{"subspaces-are-of-whole-matrices",
             [](Scenario& sc) {
               sc.recipe.global_batch = 16;
               sc.recipe.optimizer_in_backward = true;
             }},
        Case{"matrices-stay-on-the-gpu", [](Scenario& sc) { sc.recipe.offload = kOffloadOptimizer; }},
        Case{"subspaces-have-matrices", [](Scenario& sc) { sc.recipe.fine_tune = FineTune::Lora; }},
        Case{"subspaces-have-matrices", [](Scenario& sc) { sc.framework.abilities.low_rank = false; }}}) {
    for (const Optimizer optimizer : kProjecting) {
      Scenario sc = projecting(optimizer);
      c.change(sc);
      EXPECT_EQ(first_rejection(sc).value_or(Rejected{}).rule, c.rule);
    }
  }
  Scenario one = projecting(Optimizer::Galore);
  one.layout = {};
  one.cluster.gpus = one.recipe.global_batch = 1;
  one.recipe.optimizer_in_backward = true;
  EXPECT_EQ(first_rejection(one).value_or(Rejected{}).rule, "");
  Scenario idle = projecting(Optimizer::AdamW);
  idle.recipe.projection_interval = 50;
  EXPECT_EQ(first_rejection(idle).value_or(Rejected{}).rule, "subspaces-have-matrices");
}

/// Between replicas of whole matrices, in fp32.
Scenario preconditioning(Optimizer optimizer) {
  Scenario sc = with(optimizer);
  sc.layout = {.dp = 16};
  sc.framework.abilities.preconditioned = true;
  sc.framework.master_parameters = false;
  sc.framework.parameter_dtype = DType::Fp32;
  sc.framework.gradient_dtype = DType::Fp32;
  return sc;
}

/// Two moments; SOAP's statistics and bases of both sides but those that are too long, Shampoo's statistics
/// and roots of blocks, as triangles with their diagonal.
TEST(optimizers, second_moments_of_rows_and_columns_take_their_bytes) {
  const double d = 4096, kv = 1024, f = 14336;
  const auto moments = [](double m, double n) { return 2 * m * n * 4; };
  const auto soap = [](double side) { return 2 * side * side * 4; };
  const auto shampoo = [](double side) { return side * (side + 1) * 4; };
  const Scenario bases = preconditioning(Optimizer::Soap);
  EXPECT_EQ(states_of(bases, "mlp.down.weight"), moments(d, f) + soap(d));  // 14,336 is longer than 10,000
  EXPECT_EQ(states_of(bases, "attention.output.weight"), moments(d, d) + 2 * soap(d));
  // Keys and values, gate and up are matrices of their own.
  EXPECT_EQ(states_of(bases, "attention.key_value.weight"), 2 * (moments(kv, d) + soap(kv) + soap(d)));
  EXPECT_EQ(states_of(bases, "embedding.word.weight"), moments(128256, d));
  EXPECT_EQ(states_of(bases, "norm1.weight"), 2 * d * 4);
  const Scenario roots = preconditioning(Optimizer::Shampoo);
  // 8,192 and 6,144 of 14,336, each beside all 4,096.
  EXPECT_EQ(states_of(roots, "mlp.down.weight"),
            moments(d, f) + 2 * shampoo(d) + shampoo(8192) + shampoo(f - 8192));
  EXPECT_EQ(states_of(roots, "attention.output.weight"), moments(d, d) + 2 * shampoo(d));
}

TEST(optimizers, longest_sides_that_are_preconditioned_can_be_said) {
  Scenario sc = preconditioning(Optimizer::Soap);
  sc.recipe.max_precondition_dim = 2048;
  const double moments = 2.0 * 1024 * 4096 * 4;
  EXPECT_EQ(states_of(sc, "attention.key_value.weight"), 2 * (moments + 2.0 * 1024 * 1024 * 4));
  EXPECT_EQ(states_of(sc, "attention.output.weight"), 2.0 * 4096 * 4096 * 4);
  sc.recipe.optimizer = Optimizer::Shampoo;
  // Blocks of 1,024 × 2,048, two of each, and 2,048 × 2,048, four.
  EXPECT_EQ(states_of(sc, "attention.key_value.weight"),
            2 * (moments + 4 * (2 * 1024.0 * 1025 + 2 * 2048.0 * 2049)));
  EXPECT_EQ(states_of(sc, "attention.output.weight"), 2.0 * 4096 * 4096 * 4 + 4 * 4 * 2 * 2048.0 * 2049);
}

/// Of every m × n matrix with both sides: 2mn(m + n) FLOPs for what is added to second moments, as many to
/// precondition by roots, four times as many in and out of bases; decompositions once in so many steps.
TEST(optimizers, gradients_are_preconditioned_in_every_step_and_sides_decomposed_once_in_a_while) {
  const double d = 4096, kv = 1024, f = 14336;
  const auto both = [](double m, double n) { return 2 * m * n * (m + n); };
  const auto cube = [](double n) { return n * n * n; };
  const double attention = 2 * both(d, d) + 2 * both(kv, d);
  struct Case {
    Optimizer optimizer;
    const char* applied;
    double times;
    const char* decomposed;
    double layer, per_cube, cubes, frequency;
  };
  const double of_attention = 4 * cube(d) + 2 * (cube(kv) + cube(d));
  for (const Case& c :
       {Case{Optimizer::Soap, "optimizer.rotate", 4, "optimizer.qr", attention + 3 * 2 * f * d * d,
             8.0 / 3 / 0.1 + 3 * 2, of_attention + 3 * cube(d), 10},
        Case{Optimizer::Shampoo, "optimizer.precondition", 1, "optimizer.eigenvectors",
             attention + 3 * (2 * f * d * d + 2 * d * (8192.0 * 8192 + 6144.0 * 6144)), 9 / 0.03 + 2,
             of_attention + 3 * (2 * cube(d) + cube(8192) + cube(6144)), 100}}) {
    Scenario sc = preconditioning(c.optimizer);
    const std::vector<Operation> operations = step_operations(sc, 0);
    EXPECT_NEAR(find(operations, "optimizer.second_moments")->flops.value() / (32 * c.layer), 1, 1e-12);
    EXPECT_NEAR(find(operations, c.applied)->flops.value() / (32 * c.layer * c.times), 1, 1e-12);
    const Operation* decomposition = find(operations, c.decomposed);
    EXPECT_EQ(decomposition->precision, Precision::Fp32);
    const double at_full_rate = decomposition->count * decomposition->gemm.flops().value();
    EXPECT_NEAR(at_full_rate * c.frequency / (32 * c.cubes * c.per_cube), 1, 1e-12);
    sc.recipe.precondition_frequency = 1;
    EXPECT_NEAR(find(step_operations(sc, 0), c.decomposed)->count / decomposition->count, c.frequency, 1e-9);
  }
}

/// Of Shampoo three lists of all matrices of a rank, and four squares of the longest side; of SOAP one
/// matrix.
TEST(optimizers, preconditioning_needs_room) {
  const auto transient = [](const Scenario& sc) {
    double bytes = 0;
    for (const TensorEntry& entry : build_ledger(sc, 0)) {
      if (entry.name == "optimizer.preconditioning") bytes += entry.size().value();
    }
    return bytes;
  };
  const double d = 4096, f = 14336;
  EXPECT_EQ(transient(preconditioning(Optimizer::Soap)), 4 * (4 * d * f + d * d));
  const double matrices = 32 * (2 * d * d + 2 * 1024 * d + 3 * f * d);
  EXPECT_EQ(transient(preconditioning(Optimizer::Shampoo)), 4 * (3 * matrices + 4 * 8192.0 * 8192));
  EXPECT_EQ(transient(preconditioning(Optimizer::AdamW)), 0);
}

TEST(optimizers, preconditioning_is_refused_where_there_is_no_gradient_of_a_whole_matrix) {
  struct Case {
    const char* rule;
    void (*change)(Scenario&);
  };
  for (const Case& c :
       {Case{"", [](Scenario&) {}}, Case{"", [](Scenario& sc) { sc.layout = {.dp = 4, .pp = 4}; }},
        Case{"", [](Scenario& sc) { sc.recipe.fine_tune = FineTune::Full; }},
        Case{"preconditioners-are-of-whole-matrices", [](Scenario& sc) { sc.layout = {.dp = 8, .tp = 2}; }},
        Case{"preconditioners-are-of-whole-matrices", [](Scenario& sc) { sc.layout.sharding.stage = 1; }},
        Case{"matrices-stay-on-the-gpu", [](Scenario& sc) { sc.recipe.offload = kOffloadOptimizer; }},
        Case{"preconditioners-have-matrices", [](Scenario& sc) { sc.recipe.fine_tune = FineTune::Lora; }},
        Case{"preconditioners-have-matrices",
             [](Scenario& sc) { sc.framework.abilities.preconditioned = false; }}}) {
    for (const Optimizer optimizer : {Optimizer::Soap, Optimizer::Shampoo}) {
      Scenario sc = preconditioning(optimizer);
      c.change(sc);
      EXPECT_EQ(first_rejection(sc).value_or(Rejected{}).rule, c.rule);
    }
  }
  // "expected dtype float for `end` but got dtype c10::BFloat16": tried with soap.py.
  Scenario narrow = preconditioning(Optimizer::Soap);
  narrow.recipe.parameter_dtype = DType::Bf16;
  EXPECT_EQ(first_rejection(narrow).value_or(Rejected{}).rule, "preconditioners-have-matrices");
  narrow.recipe.optimizer = Optimizer::Shampoo;
  EXPECT_EQ(first_rejection(narrow).value_or(Rejected{}).rule, "");
  for (std::int64_t Recipe::*idle : {&Recipe::precondition_frequency, &Recipe::max_precondition_dim}) {
    Scenario sc = preconditioning(Optimizer::AdamW);
    sc.recipe.*idle = 50;
    EXPECT_EQ(first_rejection(sc).value_or(Rejected{}).rule, "preconditioners-have-matrices");
  }
}

/// Experts that are one parameter are no linear layers (transformers 5).
TEST(optimizers, experts_that_are_parameters_have_no_subspaces) {
  Scenario sc = projecting(Optimizer::Galore);
  sc.model.moe = {.experts = 8, .top_k = 2, .expert_ffn = 1024};
  const double adamw = 8.0 * 1024 * 4096 * 4;
  EXPECT_EQ(states_of(sc, "moe.experts.down.weight"), 8 * 2.0 * (128 * 1024 + 2 * 128 * 4096));
  sc.framework.experts_are_parameters = true;
  EXPECT_EQ(states_of(sc, "moe.experts.down.weight"), adamw);
}

}  // namespace
}  // namespace hexaplan::costmodel
