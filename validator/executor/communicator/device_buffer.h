#pragma once
#include "validator/executor/communicator/buffer.h"
#include "validator/executor/device/view.h"

namespace hexaplan::validator {

/// The buffer as its device sees it: one row. Precondition: a type that devices store (fp64, fp32, bf16,
/// int32).
[[nodiscard]] View view_of(const Buffer& buffer);
/// The same of memory that is only read.
[[nodiscard]] View view_of(const ConstBuffer& buffer);

}  // namespace hexaplan::validator
