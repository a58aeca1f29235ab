#include <algorithm>
#include <cstddef>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/saved_tensors.h"

namespace hexaplan::costmodel {
namespace {

void add_copies(std::string_view name, DType dtype, double elements, double copies, const TensorEntry& like,
                TensorLedger& out) {
  if (copies <= 0 || elements <= 0) return;
  TensorEntry entry = like;
  entry.name = name;
  entry.dtype = dtype;
  entry.elements = elements;
  entry.count = like.count * copies;
  out.push_back(entry);
}

/// Copies in the compute dtype of a GEMM input under fp8/fp4: the quantised copy replaces it, except where
/// another operation keeps it anyway (attention reads its own output in backward).
bool replaced_by_quantized(const SavedTensor& tensor, const Recipe& recipe) {
  return tensor.gemm_input && is_quantized(recipe.precision) && tensor.id != Saved::AttentionOutput;
}

/// Share of a saved tensor that a layer with frozen weights keeps: the input of a linear layer is there for
/// its weight gradient, which only layers with an adapter have. Of the norms' outputs one feeds the
/// attention and one the MLP; the attention's output is kept by the attention itself. Products with 4-bit
/// weights keep their input all the same (bitsandbytes autograd/_functions.py MatMul4Bit).
double trained_share(const SavedTensor& tensor, const Scenario& sc) {
  const bool frozen = sc.recipe.fine_tune >= FineTune::Lora && sc.recipe.fine_tune != FineTune::Qlora;
  const bool everywhere =
      !sc.framework.attention_adapters_only && sc.recipe.lora_targets == AdapterTargets::AllLinear;
  if (!frozen || everywhere || !tensor.gemm_input || tensor.id == Saved::AttentionOutput) return 1;
  if (tensor.id == Saved::NormOutput) return 0.5;
  const bool of_attention = tensor.id == Saved::LatentNormOutput;
  const bool adapts_attention = sc.recipe.lora_targets != AdapterTargets::Mlp;
  return of_attention == adapts_attention ? 1 : 0;
}

}  // namespace

void append_saved_entries(const Scenario& sc, const LocalDims& dims, LayerClass kind, double count,
                          TensorLedger& out) {
  const SavedContext context{sc.model, sc.recipe, sc.framework, dims, kind, adapter_rank(sc)};
  const DType compute = activation_dtype(sc.recipe.precision);
  const TensorEntry like{.name = {},
                         .formula = "M2",
                         .kind = TensorKind::Activation,
                         .alive = kInPasses,
                         .layer_class = static_cast<std::int8_t>(index_of(kind)),
                         .count = count};
  for (const SavedTensor& tensor : saved_tensors()) {
    const SavedRule rule = saved_rule(sc, tensor.id);
    const double kept = kept_share(tensor, sc.recipe) * trained_share(tensor, sc);
    if (kept <= 0 || (rule.compute <= 0 && rule.fp32 <= 0 && rule.byte <= 0)) continue;
    const double elements = static_cast<double>(tensor.elements(context)) * kept;
    const bool quantized = replaced_by_quantized(tensor, sc.recipe);
    add_copies(tensor.name, compute, elements, quantized ? 0 : rule.compute, like, out);
    add_copies(tensor.name, DType::Fp8, elements,
               quantized ? rule.compute * sc.framework.quantized_input_bytes : 0, like, out);
    add_copies(tensor.name, DType::Fp32, elements, rule.fp32, like, out);
    add_copies(tensor.name, DType::Int8, elements, rule.byte, like, out);
  }
}

void append_checkpoint_entry(const Scenario& sc, const LocalDims& dims, LayerClass kind, double count,
                             TensorLedger& out) {
  // DeepSpeed cuts the inputs of checkpointed layers and nothing else (deepspeed/runtime/
  // activation_checkpointing/checkpointing.py partition_activations); sequence parallelism has cut them.
  const double partition = sc.layout.partition_activations && !sc.layout.sp ? 1.0 / sc.layout.tp : 1.0;
  out.push_back({.name = "layer.input",
                 .formula = "M3",
                 .kind = TensorKind::Activation,
                 .dtype = casts_automatically(sc) ? DType::Fp32 : activation_dtype(sc.recipe.precision),
                 .alive = kInPasses,
                 .layer_class = static_cast<std::int8_t>(index_of(kind)),
                 .elements = static_cast<double>(dims.sp_tokens * dims.hidden) * partition,
                 .count = count});
}

}  // namespace hexaplan::costmodel
