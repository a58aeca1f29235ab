#pragma once
#include "costmodel/spec/scenario.h"

namespace hexaplan::costmodel {

/// Llama-3-8B on 16 made-up GPUs: tp2 pp2 dp4, one micro-batch of 8,192 tokens.
inline Scenario example_scenario() {
  Scenario sc;
  sc.model = {.name = "example", .layers = 32, .hidden = 4096, .vocab = 128256};
  sc.model.attention = {.heads = 32, .kv_heads = 8, .head_dim = 128, .v_head_dim = 128};
  sc.model.mlp = {.ffn = 14336};
  sc.recipe = {.sequence = 8192, .micro_batch = 1, .global_batch = 64};
  sc.cluster.name = "16 GPUs";
  sc.cluster.gpu.name = "made-up";
  sc.cluster.gpu.architecture = "hopper";
  sc.cluster.gpu.memory = Bytes{85e9};
  sc.cluster.gpu.memory_bandwidth = BytesPerSecond{3.35e12};
  sc.cluster.gpu.peak.fill(FlopsPerSecond{989e12});
  sc.cluster.gpu.peak_vector = FlopsPerSecond{67e12};
  sc.cluster.gpu.sm_count = 132;
  sc.cluster.gpus = 16;
  sc.cluster.gpus_per_node = 8;
  sc.cluster.levels = {{.name = "nvlink",
                        .fabric = Fabric::NvSwitch,
                        .ranks = 8,
                        .bandwidth = BytesPerSecond{450e9},
                        .latency = Seconds{1e-6}},
                       {.name = "network",
                        .fabric = Fabric::Network,
                        .ranks = 16,
                        .bandwidth = BytesPerSecond{50e9},
                        .latency = Seconds{5e-6}}};
  sc.layout = {.dp = 4, .tp = 2, .pp = 2, .sp = true};
  sc.layout.sharding.stage = 1;
  sc.framework.name = "example";
  for (const Saved tensor : {Saved::NormInput, Saved::NormOutput, Saved::Query, Saved::Key, Saved::Value,
                             Saved::AttentionOutput, Saved::GateUp, Saved::ActivationOutput}) {
    sc.framework.saved[static_cast<std::size_t>(tensor)].compute = 1;
  }
  sc.framework.saved[static_cast<std::size_t>(Saved::LogSumExp)].fp32 = 1;
  for (ElementwiseRule& rule : sc.framework.elementwise) rule = {2, 3, 1, 1};
  return sc;
}

/// 64 experts over its two nodes.
inline Scenario example_of_experts() {
  Scenario sc = example_scenario();
  sc.model.moe = {.experts = 64, .top_k = 8, .expert_ffn = 1024};
  sc.layout = {.dp = 16, .ep = 16};
  sc.layout.sharding.stage = 1;
  sc.recipe.global_batch = 16;
  return sc;
}

}  // namespace hexaplan::costmodel
