#pragma once
#include "costmodel/units/quantity.h"
#include "validator/executor/communicator/nccl/nccl_functions.h"

namespace hexaplan::validator {

/// What NCCL does, among threads of one process on the host's memory: communicators that never block their
/// caller, streams that are worked off by threads of their own, messages that arrive in the order of their
/// communicator and under no tags. Streams are StreamHandle* (fake_stream.h). A null stream is the host's:
/// what is put there is under way until state() says that it is ready.
[[nodiscard]] const HexaplanNccl& fake_nccl();

/// From any of its marks to any other.
inline constexpr costmodel::Seconds kFakeMessageTime{0.25};

}  // namespace hexaplan::validator
