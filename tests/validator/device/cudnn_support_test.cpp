// cuDNN says which attention graphs it takes on a GPU that need not be here (its heuristics, asked with the
// GPU's properties). Needs cuDNN and, without a driver, CUDA's stub of libcuda.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "presets/catalog/catalog.h"
#include "presets/models/find_model.h"
#include "validator/executor/device/cuda/attention_graph.h"
#include "validator/executor/device/cuda/attention_library.h"
#include "validator/executor/device/cuda/gpu_error.h"

namespace hexaplan::validator {
namespace {

using cuda::AttentionShape;

/// What differs between GPUs in cuDNN's description (CUDA C++ Programming Guide, table of technical
/// specifications per compute capability: shared memory; NVIDIA's data sheets: multiprocessors, memory).
struct Gpu {
  const char* name;
  int version;  // 900 = sm_90
  int multiprocessors, shared_memory_per_block;
  std::int64_t memory;
};
constexpr Gpu kGpus[] = {{"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 85899345920},
                         {"NVIDIA H200", 900, 132, 232448, 150754820096},
                         {"NVIDIA B200", 1000, 148, 232448, 193273528320}};
/// Turing has no bf16 matrix units: every answer has to be no.
constexpr Gpu kTooOld{"Tesla T4", 750, 40, 65536, 16106127360};

std::string json_of(const Gpu& gpu) {
  const auto field = [](const char* name, auto value) {
    return "\"" + std::string{name} + "\":" + std::to_string(value) + ",";
  };
  return "{" + field("cudaDeviceId", 0) + "\"deviceName\":\"" + gpu.name + "\"," +
         field("deviceVer", gpu.version) + field("driverVer", 13000) + field("isTccDriver", 0) +
         field("l2CacheSize", 41943040) + field("maxCtasPerSM", 32) + field("maxRegistersPerSM", 65536) +
         field("maxSharedMemoryPerBlock", 49152) +
         field("maxSharedMemoryPerBlockOptin", gpu.shared_memory_per_block) +
         field("maxThreadsPerBlock", 1024) + field("maxThreadsPerSM", 2048) +
         field("memClockRateKHz", 2619000) + field("multiProcessorCount", gpu.multiprocessors) +
         field("pciDeviceId", 0) + field("regsPerBlock", 65536) +
         field("reservedSharedMemoryPerBlock", 1024) + field("smClockRateKHz", 1410000) +
         field("supportCoopLaunch", 1) + field("totalGlobalMem", gpu.memory) + field("warpSize", 32) +
         "\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64]}";
}

/// Columns of one rank's joint projection, of which query, key and value are parts, as the layers hold them.
AttentionShape shape(std::int64_t heads, std::int64_t kv_heads, std::int64_t head_dim, std::int64_t seq_q,
                     std::int64_t seq_kv, bool causal, std::int64_t window = 0, std::int64_t batch = 1) {
  const std::int64_t joint = (heads + 2 * kv_heads) * head_dim;
  return {.batch = batch,
          .heads = heads,
          .kv_heads = kv_heads,
          .seq_q = seq_q,
          .seq_kv = seq_kv,
          .head_dim = head_dim,
          .v_head_dim = head_dim,
          .q_row = joint,
          .k_row = causal ? joint : 2 * kv_heads * head_dim,  // other ranks' keys and values travel alone
          .v_row = causal ? joint : 2 * kv_heads * head_dim,
          .o_row = heads * head_dim,
          .q_pitch = std::max(seq_q, seq_kv),
          .kv_pitch = std::max(seq_q, seq_kv),
          .window = window,
          .causal = causal};
}

/// What the executor runs of models (validator/executor/step/not_executable.cpp), as far as attention has to
/// do with it.
bool is_executed(const costmodel::ModelSpec& model) {
  return model.attention.kind == costmodel::AttentionKind::Grouped &&
         model.positions == costmodel::PositionKind::Rotary && model.norm == costmodel::NormKind::Rms &&
         model.norms_per_layer == 2 && model.mlp.activation == costmodel::Activation::Silu;
}

/// Every block that a scenario of the catalogue's models can need: sharded over 1 to 16 ranks of tensor
/// parallelism, whole or as steps of a ring, with each model's window.
std::set<AttentionShape> needed_shapes() {
  constexpr std::int64_t kSequence = 4096;
  std::set<AttentionShape> shapes;
  for (const std::string& name : presets::list_presets(presets::PresetKind::Model)) {
    const costmodel::ModelSpec model = presets::find_model(name);
    const costmodel::AttentionSpec& a = model.attention;
    if (!is_executed(model)) continue;
    for (const std::int64_t tp : {1, 2, 4, 8, 16}) {
      if (a.heads % tp != 0) continue;
      const std::int64_t heads = a.heads / tp, kv_heads = std::max<std::int64_t>(a.kv_heads / tp, 1);
      if (heads % kv_heads != 0) continue;
      shapes.insert(shape(heads, kv_heads, a.head_dim, kSequence, kSequence, true));
      shapes.insert(shape(heads, kv_heads, a.head_dim, kSequence / 2, kSequence, false));
      shapes.insert(shape(heads, kv_heads, a.head_dim, kSequence, kSequence / 2, false));
      if (a.window > 0)
        shapes.insert(shape(heads, kv_heads, a.head_dim, 2 * a.window, 2 * a.window, true, a.window));
    }
  }
  for (const std::int64_t sequence : {1024, 2048, 8192, 32768, 131072})
    shapes.insert(shape(32, 8, 128, sequence, sequence, true));
  shapes.insert(shape(32, 8, 128, 4096, 4096, true, 0, 4));
  return shapes;
}

std::string text_of(const AttentionShape& s, const Gpu& gpu) {
  return std::string{gpu.name} + ": heads " + std::to_string(s.heads) + "/" + std::to_string(s.kv_heads) +
         " of " + std::to_string(s.head_dim) + ", " + std::to_string(s.seq_q) + " × " +
         std::to_string(s.seq_kv) + (s.causal ? ", causal" : "") + ", window " + std::to_string(s.window);
}

class CudnnSupport : public testing::Test {
 protected:
  [[nodiscard]] std::size_t offers(const cuda::AttentionGraph& graph, const Gpu& gpu) const {
    try {
      return library_.offers(graph, json_of(gpu)).size();
    } catch (const GpuError& error) {
      // Some forms are refused while the graph is built.
      if (!error.call().code.starts_with("CUDNN_STATUS_NOT_SUPPORTED")) throw;
      return 0;
    }
  }
  AttentionLibrary& library_ = *hexaplan_cudnn()->library();
};

TEST_F(CudnnSupport, every_block_that_a_scenario_can_need_has_an_engine_forward_and_backward) {
  const std::set<AttentionShape> shapes = needed_shapes();
  EXPECT_GT(shapes.size(), 40U);
  for (const Gpu& gpu : kGpus) {
    for (const AttentionShape& s : shapes) {
      ASSERT_TRUE(has_graph(s));
      EXPECT_GE(offers(forward_graph(s), gpu), 1U) << "forward on " << text_of(s, gpu);
      EXPECT_GE(offers(backward_graph(s), gpu), 1U) << "backward on " << text_of(s, gpu);
    }
  }
}

/// A rank's own block, whose gradients nothing is added to.
TEST_F(CudnnSupport, gradients_of_causal_blocks_can_be_put_beside_each_other_as_projections_are) {
  for (const Gpu& gpu : kGpus) {
    for (AttentionShape s : needed_shapes()) {
      if (!s.causal) continue;
      s.dq_row = s.q_row, s.dk_row = s.k_row, s.dv_row = s.v_row;
      EXPECT_GE(offers(backward_graph(s), gpu), 1U) << text_of(s, gpu);
    }
  }
}

/// Where it is refused the device's own kernels run, with a warning.
TEST_F(CudnnSupport, heads_of_256_have_a_backward_on_hopper_alone) {
  const AttentionShape wide = shape(16, 16, 256, 4096, 4096, true);
  for (const Gpu& gpu : kGpus) {
    EXPECT_GE(offers(forward_graph(wide), gpu), 1U) << gpu.name;
    EXPECT_EQ(offers(backward_graph(wide), gpu) > 0, gpu.version == 900) << gpu.name;
  }
}

TEST_F(CudnnSupport, what_it_cannot_do_is_refused) {
  struct Row {
    const char* why;
    AttentionShape shape;
    Gpu gpu;
  };
  const Row rows[] = {
      {"no bf16 matrix units", shape(32, 8, 128, 4096, 4096, true), kTooOld},
      {"a head dimension that is no multiple of 8", shape(32, 8, 100, 4096, 4096, true), kGpus[1]},
      {"a head dimension above 256", shape(32, 8, 264, 4096, 4096, true), kGpus[1]},
  };
  for (const Row& row : rows) EXPECT_EQ(offers(backward_graph(row.shape), row.gpu), 0U) << row.why;
}

/// The ledger holds none of it: the report says it beside. Measured with cuDNN 9.19 on sm_90.
TEST_F(CudnnSupport, scratch_of_the_backward_is_that_of_all_heads_gradients_of_keys_and_values) {
  const AttentionShape s = shape(32, 8, 128, 8192, 8192, true);
  const std::vector<EngineOffer> found = library_.offers(backward_graph(s), json_of(kGpus[1]));
  ASSERT_FALSE(found.empty());
  const std::int64_t full_heads = 2 * 2 * s.heads * s.seq_kv * s.head_dim;
  EXPECT_NEAR(static_cast<double>(found.front().workspace_bytes), static_cast<double>(full_heads), 4096);
}

}  // namespace
}  // namespace hexaplan::validator
