#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/scenario.h"
#include "presets/oracle/framework_step.h"

namespace hexaplan::presets {

/// What is compared, in the order of answers.
enum class ComparedGroup : std::uint8_t {
  Parameters,         // of the model
  TrainedParameters,  // of the rank
  Flops,              // of the step, attention in full
  States,             // bytes of the rank: parameters, gradients, the optimizer's
  Peak,               // bytes alive: most of all, and at each instant
  Kept,               // bytes for backward per layer, by part and type
  Calls,              // collectives by pass, kind and ranks
  CallBytes,          // … what they carry
};
/// "parameters", "trained parameters", "flops", "states", "peak", "kept", "calls", "bytes".
[[nodiscard]] std::string_view name_of(ComparedGroup group);

/// A tensor, or `count` equal ones, as one side names it.
struct NamedTensor {
  std::string name, dtype;
  double elements = 0, count = 0;
  costmodel::Bytes size;
};

/// One number that was predicted, and the framework's.
struct ComparedNumber {
  ComparedGroup group = ComparedGroup::Parameters;
  std::string what;  // "backward", "attention bf16"; empty: the group as a whole
  double predicted = 0, measured = 0;
  /// How far apart they may be: a share of `of`, or of `measured` where that is 0.
  double tolerance = 0, of = 0;
  int layer_class = -1, layers = 0;                    // of ComparedGroup::Kept
  std::vector<NamedTensor> predictions, measurements;  // tensors per layer that make them up
  /// Predicted over measured, less 1; a share of `of` where that is not 0.
  [[nodiscard]] double error() const;
  [[nodiscard]] bool holds() const;
};
using ComparedNumbers = std::vector<ComparedNumber>;

/// Tensors of a layer that are kept, by the part that they belong to and their type: "attention bf16".
struct KeptPart {
  costmodel::Bytes size;
  std::vector<NamedTensor> tensors;
};
using KeptParts = std::map<std::string, KeptPart>;

/// Tells tensors of a framework's layers apart.
struct KeptScale {
  std::int64_t hidden_states = 0;  // elements of the residual stream of a micro-batch
  bool checkpointed = false;       // layers run again: they keep their input
  bool fp32 = false;               // throughout, whose tensors no cast tells apart
  double layers = 1;               // whose tensors are given
};
/// Of tensors inside layers.
[[nodiscard]] KeptParts kept_parts(std::span<const KeptTensor> tensors, const KeptScale& scale);
/// What the ledger keeps between forward and backward, over `layers`; layer_class -1: of all classes.
[[nodiscard]] KeptParts kept_parts(const costmodel::TensorLedger& ledger, double layers,
                                   int layer_class = -1);

/// Part by part; tolerances are shares of all that the framework keeps of a layer.
[[nodiscard]] ComparedNumbers compare_kept(const KeptParts& predicted, const KeptParts& measured);
/// What stands against PyTorch's peak in backward: kBackward, which is the first layer's; or that and the
/// last layer's, when every other layer has its gradients in place of what it kept, in models as deep as they
/// are.
enum class BackwardOf : std::uint8_t { FirstLayer, AllLayers };
/// At every instant that was seen, and over all of them. What kernels and communicators take for themselves
/// is on neither side.
[[nodiscard]] ComparedNumbers compare_peaks(const costmodel::TensorLedger& ledger, const InstantPeaks& peaks,
                                            BackwardOf backward = BackwardOf::FirstLayer);
/// Calls and bytes. What runs again is forward's to Hexaplan and backward's to PyTorch: messages of tensor
/// parallelism are added up there.
[[nodiscard]] ComparedNumbers compare_messages(const costmodel::Scenario& scenario,
                                               std::span<const SentMessages> messages);

/// The whole step of rank 0 beside the prediction of `scenario`.
[[nodiscard]] ComparedNumbers compare_step(const costmodel::Scenario& scenario, const FrameworkStep& step);

/// Parameters of the model, and those that the rank of this ledger has gradients of.
[[nodiscard]] double parameters_of(const costmodel::ModelSpec& model);
[[nodiscard]] double trained_parameters(const costmodel::TensorLedger& ledger);

}  // namespace hexaplan::presets
