#include "costmodel/step/largest.h"

#include <algorithm>
#include <array>

#include "costmodel/compute/operations.h"
#include "costmodel/spec/stage_plan.h"
#include "costmodel/step/layer_cost.h"
#include "costmodel/step/step_operations.h"

namespace hexaplan::costmodel {
namespace {

/// Keeps the first `most` in the order of `larger`.
template <class T, class Larger>
void keep_largest(std::vector<T>& items, std::size_t most, Larger larger_first) {
  const std::size_t kept = std::min(most, items.size());
  std::partial_sort(items.begin(), items.begin() + static_cast<std::ptrdiff_t>(kept), items.end(),
                    larger_first);
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(kept), items.end());
}

/// What issuing collectives costs the host, by pass.
using CollectiveHost = std::array<PricedOperation, 4>;

void append_priced(const std::vector<Operation>& operations, double copies, double recomputed,
                   const Pricer& pricer, std::vector<PricedOperation>& out, CollectiveHost& host) {
  if (copies <= 0) return;
  for (const Operation& op : operations) {
    const double runs = (only_recomputes(op) ? 0 : 1) + (op.recomputed ? recomputed : 0);
    PricedOperation priced{.operation = op, .runs = copies * runs, .once = pricer.time_of(op)};
    priced.per_step = priced.runs * priced.once;
    out.push_back(priced);
    const Seconds issuing = pricer.collective_host(op);
    if (issuing <= Seconds{}) continue;
    PricedOperation& of_pass = host[static_cast<std::size_t>(op.pass)];
    of_pass.runs += priced.runs * op.count;
    of_pass.per_step += priced.runs * issuing;
  }
}

void append_host(CollectiveHost& host, std::vector<PricedOperation>& out) {
  for (std::size_t pass = 0; pass < host.size(); ++pass) {
    PricedOperation& calls = host[pass];
    if (calls.per_step <= Seconds{}) continue;
    calls.operation = {.name = "collective.host", .pass = static_cast<Pass>(pass), .formula = "T4"};
    calls.once = calls.per_step / calls.runs;
    out.push_back(calls);
  }
}

}  // namespace

std::vector<TensorEntry> largest_tensors(const Scenario& sc, int stage, Instant instant, std::size_t most) {
  TensorLedger ledger = build_ledger(sc, stage);
  std::erase_if(ledger, [&](const TensorEntry& entry) { return (entry.alive & instant) == 0; });
  keep_largest(ledger, most, [](const TensorEntry& a, const TensorEntry& b) { return b.size() < a.size(); });
  return ledger;
}

std::vector<PricedOperation> largest_operations(const Scenario& sc, const Calibration& calibration, int stage,
                                                std::size_t most) {
  const Pricer pricer{sc, calibration};
  const StagePlan plan = plan_stages(sc)[static_cast<std::size_t>(stage)];
  const double microbatches = static_cast<double>(microbatches_per_step(sc)) / plan.copies;
  std::vector<PricedOperation> priced;
  CollectiveHost host;
  for (int c = 0; c < kLayerClasses; ++c) {
    const int layers = plan.layers[static_cast<std::size_t>(c)];
    if (layers == 0) continue;
    append_priced(layer_operations(sc, layer_class_at(sc.model, c)), layers * microbatches,
                  plan.recomputed_share(static_cast<std::size_t>(c)), pricer, priced, host);
  }
  if (plan.embedding > 0)
    append_priced(embedding_operations(sc), plan.embedding * microbatches, 1, pricer, priced, host);
  if (plan.head > 0) append_priced(head_operations(sc), plan.head * microbatches, 1, pricer, priced, host);
  append_priced(step_operations(sc, stage), 1, 1, pricer, priced, host);
  append_host(host, priced);
  keep_largest(priced, most,
               [](const PricedOperation& a, const PricedOperation& b) { return b.per_step < a.per_step; });
  return priced;
}

}  // namespace hexaplan::costmodel
