#include "costmodel/step/outer_operations.h"

#include <algorithm>

#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/outer_states.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/optimizer_operations.h"

namespace hexaplan::costmodel {
namespace {

constexpr double kFp32Bytes = bytes_per_element(DType::Fp32);

/// A step's share of what is done once in an outer step.
double of_every_step(const Scenario& sc) {
  return 1.0 / static_cast<double>(sc.recipe.outer.every);
}

/// Parameter by parameter (meta-pytorch/torchft@73dafea torchft/local_sgd.py _allreduce_per_param), in types
/// that no kernel adds up by exchanging parts and gathering their sums (torchft/collectives.py
/// allreduce_quantized).
void append_message(const Scenario& sc, CollectiveKind kind, double messages, double bytes,
                    std::vector<Operation>& out) {
  out.push_back({.name = "outer.gradient_reduce",
                 .kind = OpKind::Collective,
                 .pass = Pass::Step,
                 .count = messages * of_every_step(sc),
                 .collective = kind,
                 .group = Group::Outer,
                 .payload = Bytes{bytes / messages},
                 .formula = "C14"});
}

/// Bytes that an outer step reads and writes per parameter: the difference is made and divided by the number
/// of replicas, cast where it travels in another type; momentum and copy are read and written, and the
/// parameters written.
double outer_traffic(const Scenario& sc) {
  const StateTypes types = state_types(sc);
  const double parameter = types.master ? kFp32Bytes : bytes_per_element(types.parameter);
  const double narrow = bytes_per_element(sc.recipe.outer.dtype);
  const bool travels = sc.layout.outer_replicas > 1;
  const bool cast = travels && sc.recipe.outer.dtype != DType::Fp32;
  const double difference = parameter + kFp32Bytes + kFp32Bytes;
  const double mean = (travels ? 2 * kFp32Bytes : 0) + (cast ? 2 * (kFp32Bytes + narrow) : 0);
  const double states = 4 * kFp32Bytes + kFp32Bytes;  // two of them, and the gradient
  return difference + mean + states + parameter + (types.master ? bytes_per_element(types.parameter) : 0);
}

void append_outer_copy(const Scenario& sc, std::string_view name, double bytes, std::vector<Operation>& out) {
  out.push_back({.name = name,
                 .kind = OpKind::Copy,
                 .pass = Pass::Step,
                 .count = of_every_step(sc),
                 .on_disk = sc.recipe.offload_device == OffloadDevice::Nvme,
                 .payload = Bytes{bytes},
                 .formula = "T18"});
}

}  // namespace

void append_outer_messages(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  const double elements = updated_elements(sc, p.trained);
  if (!sc.recipe.outer.taken() || sc.layout.outer_replicas == 1 || elements <= 0) return;
  const DType dtype = sc.recipe.outer.dtype;
  const double bytes = elements * bytes_per_element(dtype), messages = std::max(1.0, p.tensors);
  if (bits_per_element(dtype) >= 16)
    return append_message(sc, CollectiveKind::AllReduce, messages, bytes, out);
  append_message(sc, CollectiveKind::AllToAll, messages, bytes, out);
  append_message(sc, CollectiveKind::AllGather, messages, bytes, out);
}

void append_outer_update(const Scenario& sc, const StageParameters& p, std::vector<Operation>& out) {
  const double elements = updated_elements(sc, p.trained);
  if (!sc.recipe.outer.taken() || elements <= 0) return;
  out.push_back({.name = "outer.update",
                 .kind = OpKind::MemoryBound,
                 .pass = Pass::Step,
                 .bytes = Bytes{elements * outer_traffic(sc)},
                 .update = true,
                 .count = of_every_step(sc),
                 .formula = "T18"});
  const double on_host = elements * outer_states_on_host(sc.recipe.outer) * kFp32Bytes;
  if (on_host <= 0 || sc.framework.replays_parameters) return;  // unit by unit: unit_operations.cpp
  append_outer_copy(sc, "outer.to_device", on_host, out);
  append_outer_copy(sc, "outer.to_host", on_host, out);
}

std::optional<OuterStep> outer_step(const Scenario& sc, const Calibration& calibration) {
  if (!sc.recipe.outer.taken()) return std::nullopt;
  const auto stages = plan_stages(sc);
  const ModelParameters model{sc, stages};
  const Pricer pricer{sc, calibration};
  const auto times = static_cast<double>(sc.recipe.outer.every);
  OuterStep longest;
  for (const StagePlan& stage : stages) {
    const StageParameters parameters = model.of(stage);
    std::vector<Operation> messages, update;
    append_outer_messages(sc, parameters, messages);
    append_outer_update(sc, parameters, update);
    OuterStep here;
    for (const Operation& op : messages) {
      here.messages += pricer.time_of(op) * times;
      if (op.collective != CollectiveKind::AllGather) here.payload += op.payload * (op.count * times);
    }
    for (const Operation& op : update) here.update += pricer.time_of(op) * times;
    if (here.total() > longest.total()) longest = here;
  }
  return longest;
}

}  // namespace hexaplan::costmodel
