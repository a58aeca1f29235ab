#include "planner/explain/explain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace hexaplan::planner {
namespace {

using namespace costmodel;

struct TimeTerm {
  std::string_view name;
  Seconds StepTime::*seconds;
};
constexpr std::array kTimeTerms{
    TimeTerm{"gemm", &StepTime::gemm},
    TimeTerm{"attention", &StepTime::attention},
    TimeTerm{"memory bound", &StepTime::memory_bound},
    TimeTerm{"recompute", &StepTime::recompute},
    TimeTerm{"launch", &StepTime::launch},
    TimeTerm{"tensor parallel", &StepTime::tensor_parallel},
    TimeTerm{"context parallel", &StepTime::context_parallel},
    TimeTerm{"expert parallel", &StepTime::expert_parallel},
    TimeTerm{"pipeline p2p", &StepTime::pipeline_p2p},
    TimeTerm{"bubble", &StepTime::bubble},
    TimeTerm{"data parallel", &StepTime::data_parallel},
    TimeTerm{"optimizer", &StepTime::optimizer},
    TimeTerm{"host", &StepTime::host},
};
static_assert(sizeof(StepTime) == kTimeTerms.size() * sizeof(Seconds), "every cause is listed");

constexpr std::array<std::string_view, kTensorKinds> kMemoryTerms{
    "parameters", "gradients", "optimizer states", "activations",
    "logits",     "transient", "communication",    "overhead"};

void sort_by_difference(std::vector<Term>& terms) {
  std::stable_sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
}

MemoryBreakdown fullest(const Estimate& estimate) {
  return estimate.stages[static_cast<std::size_t>(estimate.peak_stage)].on_device();
}

}  // namespace

Explanation explain(const Estimate& a, const Estimate& b) {
  Explanation out{.stage_a = a.peak_stage, .stage_b = b.peak_stage};
  for (const auto& [name, seconds] : kTimeTerms) {
    out.time.push_back({name, (a.time.*seconds).value(), (b.time.*seconds).value()});
  }
  const MemoryBreakdown of_a = fullest(a), of_b = fullest(b);
  for (std::size_t kind = 0; kind < kMemoryTerms.size(); ++kind) {
    const auto tensor = static_cast<TensorKind>(kind);
    out.memory.push_back({kMemoryTerms[kind], of_a.of(tensor).value(), of_b.of(tensor).value()});
  }
  sort_by_difference(out.time);
  sort_by_difference(out.memory);
  return out;
}

}  // namespace hexaplan::planner
