#pragma once
#include <cstdint>
#include <vector>

namespace hexaplan::planner {

/// The global batch `asked` and those within `tolerance` (0..1) of it that are worth a search on `gpus`
/// GPUs: each divides over data-parallel sizes that `asked` does not, and none has the same with a batch
/// closer by. In ascending order.
[[nodiscard]] std::vector<std::int64_t> nearby_batches(std::int64_t asked, double tolerance,
                                                       std::int64_t gpus);

}  // namespace hexaplan::planner
