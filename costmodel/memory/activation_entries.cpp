#include "costmodel/memory/layer_ledger.h"

namespace hexaplan::costmodel {

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
