#pragma once
#include <cstdint>
#include <optional>

#include "costmodel/spec/scenario.h"
#include "costmodel/spec/verdict.h"
#include "costmodel/units/quantity.h"
#include "validator/executor/device/view.h"

namespace hexaplan::cli {

/// The device whose memory is the host's.
inline constexpr const char* kHostDevice = "cpu";

/// Bytes that new tensors may take on this host: what the kernel calls available, within the limit of the
/// control group. 0 when the host does not say.
[[nodiscard]] costmodel::Bytes free_host_memory();

/// Bytes that one rank of `stage` takes at its peak on a host that computes in `element`: the tensors of the
/// estimate's ledger, each in the elements that the CPU device keeps its dtype in.
[[nodiscard]] costmodel::Bytes host_bytes(const costmodel::Scenario& scenario, int stage,
                                          validator::Element element);

/// Which ranks of a layout one host computes: consecutive ones.
struct HostRanks {
  std::int64_t first = 0, count = 1;
};
/// Refuses what takes more than `free`: rule "host-memory". Nothing when it fits, or `free` is 0.
[[nodiscard]] std::optional<costmodel::Rejected> too_large_for_host(const costmodel::Scenario& scenario,
                                                                    validator::Element element,
                                                                    const HostRanks& ranks,
                                                                    costmodel::Bytes free);

}  // namespace hexaplan::cli
