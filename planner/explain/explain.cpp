#include "planner/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "costmodel/memory/memory_kinds.h"
#include "costmodel/step/time_causes.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

void sort_by_difference(std::vector<Term>& terms) {
  std::stable_sort(terms.begin(), terms.end(), [](const Term& x, const Term& y) {
    return std::abs(x.difference()) > std::abs(y.difference());
  });
}

MemoryBreakdown fullest(const Estimate& estimate) {
  return estimate.peak().on_device();
}

}  // namespace

Explanation explain(const Estimate& a, const Estimate& b) {
  Explanation out{.stage_a = a.peak_stage, .stage_b = b.peak_stage};
  for (const TimeCause& cause : kTimeCauses) {
    out.time.push_back(
        {cause.key, cause.name, (a.time.*cause.member).value(), (b.time.*cause.member).value()});
  }
  const MemoryBreakdown of_a = fullest(a), of_b = fullest(b);
  for (const MemoryKind& row : kMemoryKinds)
    out.memory.push_back({row.key, row.name, of_a.of(row.kind).value(), of_b.of(row.kind).value()});
  sort_by_difference(out.time);
  sort_by_difference(out.memory);
  return out;
}

}  // namespace hexaplan::planner
