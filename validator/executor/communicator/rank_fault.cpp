#include "validator/executor/communicator/rank_fault.h"

#include <fmt/format.h>

#include "validator/executor/communicator/traffic.h"

namespace hexaplan::validator {
namespace {

std::string first_line(const Fault& fault) {
  if (fault.place) return fmt::format("rank {}: {}", fault.rank, fault.reason);
  const LastCall& call = fault.call;
  const char* const when = call.inside ? "in" : "after";
  const std::string where = !call.answered           ? "at a place unknown"
                            : call.operation.empty() ? "before its first communication"
                                                     : fmt::format("{} {}", when, describe(call));
  return fmt::format("rank {} {}: {}", fault.rank, where, fault.reason);
}

}  // namespace

void LastCall::begin(const Call& call, std::string_view kind) {
  operation = call.operation;
  what = kind;
  layer = call.layer;
  microbatch = call.microbatch;
  inside = true;
  ++calls;
}

std::string name_of(FaultCause cause) {
  constexpr const char* kNames[] = {"threw", "timed out", "died", "mismatch"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::string describe(const LastCall& call) {
  std::string text = fmt::format("{} ({})", call.operation, call.what);
  if (call.layer >= 0) text += fmt::format(", layer {}", call.layer);
  if (call.microbatch >= 0) text += fmt::format(", micro-batch {}", call.microbatch);
  return text;
}

std::optional<StepPlace> place_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PlacedError& placed) {
    return placed.place();
  } catch (...) {
    return std::nullopt;
  }
}

RankFault::RankFault(Fault what_is_known)
    : std::runtime_error{first_line(what_is_known)}, fault{std::move(what_is_known)} {}

}  // namespace hexaplan::validator
