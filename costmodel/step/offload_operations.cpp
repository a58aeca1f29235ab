#include "costmodel/step/offload_operations.h"

#include <algorithm>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/optimizer_states.h"
#include "costmodel/program/working_sets.h"
#include "costmodel/spec/chunk_order.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/optimizer_operations.h"
#include "costmodel/step/step_operations.h"

namespace hexaplan::costmodel {
namespace {

void append_copy(std::string_view name, Pass pass, double bytes, bool on_disk, std::vector<Operation>& out) {
  if (bytes <= 0) return;
  out.push_back({.name = name,
                 .kind = OpKind::Copy,
                 .pass = pass,
                 .on_disk = on_disk,
                 .payload = Bytes{bytes},
                 .formula = "T11"});
}

/// Share of the layers that keep their input alone.
double checkpointed_share(const Scenario& sc) {
  const Recompute& recompute = sc.recipe.recompute;
  if (recompute.mode == RecomputeMode::Full) return 1;
  if (recompute.mode != RecomputeMode::Layers) return 0;
  const Layout& l = sc.layout;
  const int chunks = chunks_per_stage(l);
  const double per_chunk = static_cast<double>(sc.model.layers) / chunk_positions(l.schedule, l.pp, chunks);
  if (recompute.stage_layers.empty()) return std::min(1.0, recompute.layers / per_chunk);
  double sum = 0;
  for (const int layers : recompute.stage_layers) sum += layers * chunks;
  return std::min(1.0, sum / (static_cast<double>(sc.model.layers) * model_copies(l.schedule)));
}

/// Bytes of host memory that the CPU reads and writes per parameter: the fp32 gradient, master and moments,
/// and the copy in the type that goes back to the GPU.
double host_bytes_per_parameter(const Scenario& sc) {
  const double fp32 = bytes_per_element(DType::Fp32);
  const double moment = bytes_per_element(sc.recipe.moment_dtype.value_or(DType::Fp32));
  const OptimizerTraits traits = traits_in(sc, sc.recipe.optimizer);
  return fp32 + 2 * (fp32 + moment * traits.moments) + bytes_per_element(gathered_dtype(sc));
}

}  // namespace

void append_activation_copies(const Scenario& sc, const LocalDims& dims, LayerClass kind,
                              std::vector<Operation>& out) {
  if ((sc.recipe.offload & kOffloadActivations) == 0) return;
  TensorLedger saved, checkpoint;
  program::append_kept_values(sc, dims, kind, saved);
  append_checkpoint_entry(sc, dims, kind, 1, checkpoint);
  const double share = checkpointed_share(sc);
  const double kept = size_of(saved).value() * (1 - share) + size_of(checkpoint).value() * share;
  const double bytes =
      kept * offloaded_layers(sc.recipe, static_cast<double>(sc.model.layers) / sc.layout.pp);
  append_copy("activation.to_host", Pass::Forward, bytes, false, out);
  append_copy("activation.to_device", Pass::BackwardData, bytes, false, out);
}

void append_parameter_loads(const Scenario& sc, double forward, double backward,
                            std::vector<Operation>& out) {
  if ((sc.recipe.offload & kOffloadParameters) == 0) return;
  const bool on_disk = sc.recipe.offload_device == OffloadDevice::Nvme;
  append_copy("parameter.to_device", Pass::Forward, forward, on_disk, out);
  append_copy("parameter.to_device", Pass::BackwardData, backward, on_disk, out);
}

void append_gradient_copies(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  const double elements = updated_elements(sc, p.trained) * offloaded_update(sc.recipe);
  const bool every_pass = sc.layout.sharding.stage >= 2;
  append_copy("gradient.to_host", every_pass ? Pass::BackwardWeight : Pass::Step,
              elements * bytes_per_reduced_gradient(sc), false, out);
}

void append_cpu_update(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  const double elements = updated_elements(sc, p.trained) * offloaded_update(sc.recipe);
  if (elements <= 0) return;
  out.push_back({.name = "optimizer.host_update",
                 .kind = OpKind::HostUpdate,
                 .pass = Pass::Step,
                 .bytes = Bytes{elements * host_bytes_per_parameter(sc)},
                 .on_disk = sc.recipe.offload_device == OffloadDevice::Nvme,
                 .formula = "T11"});
}

void append_host_update(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  append_cpu_update(sc, p, out);
  if ((sc.recipe.offload & kOffloadParameters) != 0) return;  // they stay where they are
  const double elements = updated_elements(sc, p.trained) * offloaded_update(sc.recipe);
  append_copy("parameter.to_device", Pass::Step, elements * bytes_per_element(gathered_dtype(sc)), false,
              out);
}

}  // namespace hexaplan::costmodel
